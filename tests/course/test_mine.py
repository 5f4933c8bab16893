"""`course mine`: minitorch's tests on the learner's parts, as far as the exercises ask for what they test."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course.files import CODE

RIGHT = """
def accumulate_grad(variable, grad, may_keep):
    if variable.grad is None:
        variable.grad = grad.clone()
    else:
        variable.grad.add_(grad)
"""


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
def test_a_right_answer_fails_no_test_of_the_part_that_it_replaces(tmp_path: Path) -> None:
    (tmp_path / "exercises" / ".pristine").mkdir(parents=True)
    shutil.copy(CODE / "exercises/.pristine/06_computation_graph.ipynb", tmp_path / "exercises" / ".pristine")
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "graph_repair_accumulation.py").write_text(RIGHT)
    tests = ["tests/autograd/test_engine.py", "-k", "later_gradients"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "course.learner.mine", *tests],
        cwd=CODE,
        env=os.environ | {"MINITORCH_COURSE_ROOT": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "your parts: minitorch.autograd.engine:accumulate_grad" in ran.stdout, ran.stdout + ran.stderr
    assert (ran.returncode, "1 passed" in ran.stdout) == (0, True), ran.stdout
