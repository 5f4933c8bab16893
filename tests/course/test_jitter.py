"""Jitter: other last digits, the same for the same inputs, and the cells that show them are listed."""

import subprocess
import sys

import nbformat
import numpy as np
import pytest
from click.testing import CliRunner
from nbformat.v4 import new_code_cell, new_output

from course.__main__ import main
from course.authoring.jitter import Jittered
from course.files import CODE, Course

NUMBERS = """
import sys
import numpy as np
a, b = (np.random.default_rng(0).normal(size=(2, 40, 40)) * 3).astype("f4")
plain, exact = np.matmul(a, b), np.matmul(a.astype("f8"), b.astype("f8"))
from course.authoring import jitter
jitter.install(int(sys.argv[1]))
import minitorch as torch
"""

ARE_MOVED = """
moved, size = np.matmul(a, b), np.sqrt(np.matmul(a.astype("f8") ** 2, b.astype("f8") ** 2))
assert moved.dtype == plain.dtype and 0.5 < (moved != plain).mean()
units = (moved - exact) / np.spacing(np.maximum(size, np.abs(exact)).astype("f4"))
assert 1.5 < np.abs(units).max() <= 2.5
for total in (np.sum(a), a.sum(), np.add.reduce(a, None)):
    assert total != np.float32(a.astype("f8").sum()), total
out = np.empty_like(a)
assert np.matmul(a, b, out=out) is out and (out == moved).all()
"""

ARE_THE_SAME = """
x, w = torch.tensor(a), torch.tensor(b)
assert (np.matmul(a, b) == np.einsum("ij,jk->ik", a, b)).all()
assert (np.matmul(a, b)[:3] == np.matmul(a[:3], b)).all()
assert ((x @ w).numpy() == np.matmul(a, b)).all()
"""

ARE_EXACT = """
whole = np.arange(1600, dtype="f4").reshape(40, 40) % 7
assert (np.matmul(whole, whole) == np.matmul(whole.astype("f8"), whole.astype("f8"))).all()
assert whole.sum() == whole.astype("f8").sum() and torch.tensor(whole).mean(0)[0] == np.float32(whole[:, 0].mean())
assert np.isinf(np.sum(np.float32([np.inf, 1]))) and np.isnan(np.sum(np.float32([np.nan, 1])))
assert np.matmul(a.astype("f8"), b.astype("f8")).tobytes() == exact.tobytes()
assert torch.ones(2, 3, device="meta").matmul(torch.ones(3, 4, device="meta")).shape == (2, 4)
"""


def printed(*texts: str, machine: int = 0) -> str:
    """What a program prints in a process of its own, since jitter stays."""
    command = [sys.executable, "-c", "\n".join(texts), str(machine)]
    return subprocess.run(command, cwd=CODE, check=True, capture_output=True, text=True).stdout


def test_inexact_results_are_moved_by_a_few_units_and_others_are_not() -> None:
    printed(NUMBERS, ARE_MOVED, ARE_THE_SAME, ARE_EXACT)


def test_machines_differ_and_each_is_the_same_every_time() -> None:
    show = "print(np.matmul(a, b).tobytes().hex())"
    first, again, other = (printed(NUMBERS, show, machine=machine) for machine in (1, 1, 2))
    assert first == again != other


@pytest.mark.filterwarnings("error")
def test_what_is_computed_beside_the_result_warns_of_nothing() -> None:
    """A product may note a division by 0 in its float64 kernel, and nothing in the float32 one."""

    def function(x: np.ndarray) -> np.ndarray:
        return x if x.dtype == np.float32 else x / (x - x)

    found = Jittered(function, lambda function, args, kwargs, result: np.abs(result), 3)(np.ones(2, "f4"))
    assert found.dtype == np.float32


def test_what_minitorch_is_silent_about_stays_silent() -> None:
    infinite = "import warnings\nwith warnings.catch_warnings(record=True) as caught:\n"
    infinite += "    torch.full((4, 4), torch.inf) @ torch.zeros(4, 4)\nprint(len(caught))"
    assert printed(NUMBERS, infinite).strip() == "0"


SHOWS = "import numpy as np\nfor n in (100, 200, 300): print((np.arange(n, dtype='f4') / 7).sum() * 1e4)"


@pytest.mark.turns(8)
def test_the_cells_that_show_it_are_listed(own_course: Course) -> None:
    command = ["--root", str(own_course.root), "build", "--jitter", "0"]
    path = own_course.notebooks / "01_fixture.ipynb"
    lesson = nbformat.read(path, as_version=4)
    text = "".join(f"{line}\n" for line in ("7071428.5", "28428571.4", "64071428.5"))
    output = new_output("stream", name="stdout", text=text)
    lesson.cells.append(new_code_cell(SHOWS, execution_count=99, outputs=[output]))
    nbformat.write(lesson, path)
    result = CliRunner().invoke(main, command)
    first, *lines = result.output.splitlines()
    assert (result.exit_code, first) == (1, f"notebooks/01_fixture.ipynb: cell {len(lesson.cells) - 1}")
    assert {line[0] for line in lines} == {"-", "+"}
    lesson.cells[-1].metadata["tags"] = ["last digits: it is about rounding"]
    nbformat.write(lesson, path)
    result = CliRunner().invoke(main, command)
    assert (result.exit_code, result.output) == (0, "No cell shows the last digits of sums and products.\n")
