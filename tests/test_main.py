"""`python -m minitorch script.py`: PyTorch programs run with minitorch, in the processes that they start too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minitorch import installing, torch_finder
from minitorch.version import __version__


def ran(folder: Path, script: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    if script is not None:
        (folder / "script.py").write_text(script)
    command = [sys.executable, "-m", "minitorch", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120, check=False)


def test_torch_is_minitorch_and_the_arguments_are_the_scripts_own(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("import torch.nn.functional as F\nfrom torch.nn import Linear\n")
    script = """
import sys
import torch, torch.nn.functional as F, beside
from torch.utils.data import DataLoader
import minitorch
if __name__ == "__main__":
    print(sys.argv, torch is minitorch, beside.F is F, beside.Linear is minitorch.nn.Linear, DataLoader.__module__)
    print(__file__, sys.modules["__main__"].torch is torch)

def annotated(x: torch.Tensor): ...
print(annotated.__annotations__["x"] is torch.Tensor)  # no string: the script imports nothing from __future__
"""
    result = ran(tmp_path, script, "script.py", "--lr", "1")
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "['script.py', '--lr', '1'] True True True torch.utils.data.dataloader",
        "script.py True",
        "True",
    ]


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_processes_that_the_script_starts_run_minitorch_too(tmp_path: Path, method: str) -> None:
    if method not in __import__("multiprocessing").get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    script = f"""
import multiprocessing, sys
from pathlib import Path
import torch

def work(queue, tensor):
    queue.put((Path(torch.__file__).parent.name, str(type(tensor)), tensor.sum().item(), "torch._C" in sys.modules))

if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    queue = context.Queue()
    process = context.Process(target=work, args=(queue, torch.ones(3)))
    process.start()
    print(queue.get(timeout=60))
    process.join()
    data = torch.utils.data.TensorDataset(torch.arange(6.0))
    loader = torch.utils.data.DataLoader(data, 2, num_workers=2, multiprocessing_context={method!r})
    print([batch.tolist() for batch, in loader])
"""
    result = ran(tmp_path, script, "script.py")
    assert result.stdout.splitlines() == [
        "('minitorch', \"<class 'torch.Tensor'>\", 3.0, False)",
        "[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]",
    ], result.stderr


NAMES = """
import inspect, pickle
import torch
from torch import distributions, nn, optim

class Double(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: 2 * x)
    backward = staticmethod(lambda ctx, grad: 2 * grad)

x = torch.ones(2, requires_grad=True)
classes = [
    *(torch.Tensor, torch.device, torch.dtype, torch.Size, torch.Generator, torch.finfo, torch.layout, torch.Stream),
    *(nn.Linear, nn.Parameter, nn.RNNBase, nn.ModuleList, nn.MultiheadAttention, nn.utils.rnn.PackedSequence),
    *(optim.SGD, optim.lr_scheduler.StepLR, distributions.Normal, distributions.AffineTransform),
    *(distributions.constraints.Constraint, torch.utils.data.DataLoader, torch.linalg.LinAlgError),
    *(torch.autograd.Function, torch.autograd.detect_anomaly, torch.OutOfMemoryError, type(x.max(0))),
    *(type((x * 2).grad_fn), type(Double.apply(x).grad_fn), type((x * 2).grad_fn.next_functions[0][0])),
]
for each in classes:
    print(each, each.__module__, each.__qualname__)
print([each.__name__ for each in (torch, nn, nn.functional, torch.linalg, torch.utils.data.dataloader)])
print(type(x).__module__, nn.functional.relu.__module__, repr(Double.apply(x).grad_fn).partition(" at ")[0])
layers = nn.Sequential(nn.Linear(2, 3), nn.LSTM(3, 2))
things = [layers, torch.float32, torch.Size([1]), torch.device("cpu"), x.detach(), nn.Parameter(x.detach()), optim.SGD]
things += [torch.Tensor, nn.functional.relu, torch.add, distributions.Normal(0.0, 1.0), optim.lr_scheduler.StepLR]
for each in things:
    written = pickle.dumps(each)
    print(repr(pickle.loads(written)).partition(" at ")[0], b"minitorch" in written)
try:
    torch.linalg.inv(torch.zeros(2, 2))
except torch.linalg.LinAlgError as error:
    print(repr(pickle.loads(pickle.dumps(error))))
print(inspect.getsource(nn.Linear).partition(":")[0], torch.typename(layers), torch.log(torch.zeros(1)))
print(torch.compile(lambda x: x.sin() + 1, backend="eager")(torch.zeros(2)))
print(torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU())).graph)
"""


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
def test_names_are_torchs(tmp_path: Path) -> None:
    """Of modules, classes and functions: printed, pickled, and as `torch.compile` and `torch.fx` know them."""
    actual = ran(tmp_path, NAMES, "script.py")
    expected = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=True)
    assert actual.stdout.replace("<function add", "<built-in method add of type object").splitlines() == (
        expected.stdout.splitlines()
    ), actual.stderr


def test_errors_end_the_program(tmp_path: Path) -> None:
    result = ran(tmp_path, "import torch\ntorch.ones(2) + torch.ones(3)\n", "script.py")
    assert result.returncode == 1
    assert 'File "script.py", line 2, in <module>' in result.stderr
    assert "RuntimeError: The size of tensor a (2) must match the size of tensor b (3)" in result.stderr
    assert "No module named 'torch.nothing'" in ran(tmp_path, "import torch.nothing\n", "script.py").stderr
    missing = ran(tmp_path, None, "other.py")
    assert (missing.returncode, missing.stderr.strip()) == (1, "python -m minitorch: no such script: other.py")
    assert ran(tmp_path, None).returncode == 2


def test_a_module_runs_as_python_runs_one(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "part").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from pathlib import Path\nimport torch\nname = Path(torch.__file__).parent.name\n"
    )
    (package / "part" / "__init__.py").write_text("")
    (package / "part" / "__main__.py").write_text("from .. import name\nprint(name)\n")
    (package / "train.py").write_text("""
import sys
import torch
from torch import multiprocessing
from . import name

def work(rank): print(rank, "torch.nn" in sys.modules, name)

if __name__ == "__main__":
    print(name, __package__, __file__ == sys.argv[0], sys.argv[1:], flush=True)
    multiprocessing.spawn(work, nprocs=1)
""")
    result = ran(tmp_path, None, "-m", "package.train", "--lr", "1")
    assert result.stdout.splitlines() == ["minitorch package True ['--lr', '1']", "0 True minitorch"], result.stderr
    assert ran(tmp_path, None, "-m", "package.part").stdout == "minitorch\n"
    assert ran(tmp_path, None, "-m", "package.nothing").stderr.strip() == (
        "python -m minitorch: no such module: package.nothing"
    )
    assert ran(tmp_path, None, "-m").returncode == 2


VERSIONS = """
import importlib.metadata, torch, torch.nn as nn, minitorch
print(importlib.metadata.version("torch"), torch is minitorch, nn is minitorch.nn)
"""


def test_a_script_finds_the_distribution_torch(tmp_path: Path) -> None:
    assert ran(tmp_path, VERSIONS, "script.py").stdout == f"{__version__} True True\n"


def test_a_program_asks_for_it_by_an_import(tmp_path: Path) -> None:
    program = "import minitorch.as_torch" + VERSIONS
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == f"{__version__} True True\n"


def test_it_is_installed_and_uninstalled(tmp_path: Path) -> None:
    written = installing.install(tmp_path)
    found = subprocess.check_output(
        [sys.executable, "-c", VERSIONS], text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    assert found == f"{__version__} True True\n"
    with pytest.raises(FileExistsError, match=r"torch 2\.13\.0 is installed"):
        installing.install(tmp_path)
    assert sorted(installing.uninstall(tmp_path)) == sorted(written)
    assert list(tmp_path.iterdir()) == []


def test_another_torch_is_neither_shadowed_nor_removed(tmp_path: Path) -> None:
    info = tmp_path / "torch-2.13.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: torch\nVersion: 2.13.0\n")
    with pytest.raises(FileExistsError):
        installing.install(tmp_path)
    with pytest.raises(FileNotFoundError):
        installing.uninstall(tmp_path)
    assert list(tmp_path.iterdir()) == [info]


def test_torch_itself_was_imported_first() -> None:
    pytest.importorskip("torch", reason="torch is what was imported: pip install torch==2.13.0")
    with pytest.raises(ImportError, match="has been imported already"):
        torch_finder.redirect_imports()
