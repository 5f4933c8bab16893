"""What could do an exercise is out of an answer's reach; what the reference needs and what is free are not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.files import CODE, Course
from course.grading.grade import grade
from course.notebooks.notebook import exercise_of, role

OUT = "is out of reach in this exercise: write it yourself"
BELOW = f"{OUT}; import it below your answer if you only compare with it"
LEAF = "torch.ones(2, requires_grad=True)"
FUSED = "torch.nn.utils.fusion.fuse_linear_bn_eval(torch.nn.Linear(2, 2).eval(), torch.nn.BatchNorm1d(2).eval())"
DELEGATIONS = {
    FUSED: f"RuntimeError: minitorch.nn.utils.fusion.fuse_linear_bn_eval {OUT}",
    f"{LEAF}.sum().backward()": f"RuntimeError: minitorch.autograd.passes.Tensor.backward {OUT}",
    f"torch.autograd.grad({LEAF}.sum(), {LEAF}, allow_unused=True)": "RuntimeError: "
    f"minitorch.autograd.passes.grad {OUT}",
    "saved(lambda x: (x * x).sum(), torch.ones(2), torch.ones(2))": "RuntimeError: "
    f"minitorch.autograd.functional.vhp {OUT}",
    f"torch.optim.SGD([{LEAF}], lr=0.1)": f"RuntimeError: minitorch.optim.sgd.SGD.__init__ {OUT}",
    "softmax_backward(torch.ones(2), torch.ones(2), -1)": "RuntimeError: "
    f"minitorch.ops.activation.softmax.softmax_backward {OUT}",
    "from course.interview import cards": f"ModuleNotFoundError: course.interview {BELOW}",
    "import minitorch.onnx": f"ModuleNotFoundError: minitorch.onnx {BELOW}",
    "import yaml": f"ModuleNotFoundError: yaml {BELOW}",
    "from sklearn.decomposition import PCA": f"ModuleNotFoundError: sklearn.decomposition {BELOW}",
    "__import__('importlib').import_module('sklearn.decomposition')": "ModuleNotFoundError: "
    f"sklearn.decomposition {BELOW}",
    "mytorch.ones(2)": f"RuntimeError: mytorch.ones {OUT}",
    "normalize([[3.0, 4.0]])": f"RuntimeError: sklearn.utils._param_validation.normalize {OUT}",
}
"""Each with what it says when the reference needs nothing. Three functions were imported before."""
FREE = [
    "torch.ones(2, 3).sum_to_size(1, 3)",
    "torch.nn.functional.softmax(torch.nn.Linear(2, 2)(torch.ones(1, 2)), -1)",
    "torch.nn.RNN(2, 3)(torch.ones(4, 2))",
    "torch.nn.init.kaiming_normal_(torch.zeros(2, 2)); torch.zeros_like(torch.ones(2)).repeat_interleave(2)",
    "torch.gradient(torch.arange(3.0)); torch.nn.ConvTranspose2d(1, 1, 2)(torch.ones(1, 1, 2, 2))",
    "torch.istft(torch.stft(torch.ones(16), 4, window=torch.ones(4), return_complex=True), 4, window=torch.ones(4))",
    "torch.einsum('ij,jk', torch.ones(2, 3), torch.ones(3, 2)); torch.linalg.svd(torch.ones(2, 2))",
    "str(torch.no_grad()(lambda: torch.ones(2) + 1)()); str(torch.ones(2, requires_grad=True) * 2)",
    "import copy, pickle; pickle.dumps(copy.deepcopy(torch.nn.Linear(2, 2)))",
    "import matplotlib.pyplot as plt; plt.plot([1, 2])",
    "import matplotlib_inline.backend_inline",
    "import pexpect",  # of `!echo`
    "import numpy.testing, json, fractions, IPython.display",
    "open('mine.py', 'w').write('x = 1'); sys.path.insert(0, ''); import mine",
]
SCRIPT = """
import json, os, sys, types
import IPython
from course.grading.reach import Reach, Record
reach = Reach()
import minitorch as torch
import minitorch.nn
from minitorch.autograd.functional import vhp as saved
from minitorch.ops.activation.softmax import softmax_backward
from sklearn.preprocessing import normalize
mytorch = sys.modules["mytorch"] = types.ModuleType("mytorch")
exec("def ones(count): return [1.0] * count", vars(mytorch))

def in_a_fork(text, needed, recorded):
    read, write = os.pipe()
    if os.fork() == 0:
        record, said = Record(reach), ""
        if needed is not None:
            reach.restrict(needed)
        sys.setprofile(record if recorded else None)
        try:
            exec(text, globals())
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        sys.setprofile(None)
        os.write(write, json.dumps([said, record.units()]).encode())
        os._exit(0)
    os.close(write)
    os.wait()
    with os.fdopen(read) as pipe:
        return json.loads(pipe.read())

found = {}
for text in json.loads(sys.argv[1]):
    told, used = in_a_fork(text, None, True)
    found[text] = [told, in_a_fork(text, [], False)[0], in_a_fork(text, used, False)[0]]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What each text says: alone, when nothing is needed, and when that is needed which it was seen to use."""
    environment = {**os.environ, "PYTHONPATH": str(CODE), "MPLBACKEND": "agg"}
    command = [sys.executable, "-c", SCRIPT, json.dumps([*DELEGATIONS, *FREE])]
    folder = tmp_path_factory.mktemp("reach")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.turns(8)
@pytest.mark.parametrize("text", DELEGATIONS)
def test_only_what_the_reference_needs_is_in_reach(said: dict[str, list[str]], text: str) -> None:
    assert said[text] == ["", DELEGATIONS[text], ""]


@pytest.mark.parametrize("text", FREE)
def test_what_is_free_is_always_in_reach(said: dict[str, list[str]], text: str) -> None:
    assert said[text] == ["", "", ""]


FOLDS = {
    "delegated": """
def folded(linear, bn):
    made = torch.nn.utils.fusion.fuse_linear_bn_eval(linear.eval(), bn)
    linear.train()
    return made
""",
    "by hand, and tried with autograd": """
def folded(linear, bn):
    scale = bn.weight.detach() / torch.sqrt(bn.running_var + bn.eps)
    old = torch.zeros_like(bn.running_mean) if linear.bias is None else linear.bias.detach()
    made = torch.nn.Linear(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
    made.load_state_dict({
        "weight": torch.einsum("o,oi->oi", scale, linear.weight.detach()),
        "bias": (old - bn.running_mean) * scale + bn.bias.detach(),
    })
    return made

folded(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3).eval())(torch.ones(1, 2)).sum().backward()
""",
}


@pytest.mark.turns(8)
def test_a_grade_tells_who_delegates_from_who_does_not(tmp_path: Path) -> None:
    items: dict[str, Any] = {}
    for name, text in FOLDS.items():
        notebook = nbformat.read(Course(CODE).pristine / "12_norm_dropout_and_modes.ipynb", as_version=4)
        for cell in notebook.cells:
            if role(cell) == "solution" and exercise_of(cell) == "norm_fold":
                cell.source = text
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    for submission in grade([tmp_path], Course(CODE), jobs=1, explain=False).submissions:
        (items[Path(submission.path).stem],) = [item for item in submission.items if item.grade_id == "norm_fold"]
    assert {name: item.points for name, item in items.items()} == dict(zip(FOLDS, (0, 2), strict=True))
    assert OUT in items["delegated"].message
