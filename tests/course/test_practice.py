"""The learner's side: the verdict, the solution kept, hints, progress, reset, and the package on the learner's code."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner
from nbclient import NotebookClient

from course.__main__ import main
from course.files import CODE, Course
from course.learner import practice, progress

CHAPTER = "01_fixture"
RIGHT_STRIDES = """def contiguous_strides(size):
    return tuple(int(np.prod(size[d + 1:])) for d in range(len(size)))"""


def command(course: Course, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["--root", str(course.root), *arguments], env={"COLUMNS": "150"})
    return result.exit_code, result.output


def run_as_learner(course: Course, notebook: Any, **variables: str) -> Any:
    """Run the notebook as JupyterLab does: in its folder, with a history, and without the grader's seed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(CODE), str(course.root)))}
    environment.pop("MINITORCH_COURSE_SEED", None)
    environment |= variables
    NotebookClient(notebook, allow_errors=True).execute(cwd=str(course.exercises), env=environment)
    return notebook


def verdicts(notebook: Any) -> dict[str, str]:
    return {
        cell.metadata["minitorch"]["exercise"]: output.data["text/plain"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    }


def test_the_verdict_and_the_solution_kept(own_course: Course, submission: Callable[..., Any]) -> None:
    notebook = submission(
        contiguous_strides=RIGHT_STRIDES,
        predict_strides="prediction = (12, 4, 1)",
        running_mean="def running_mean(values):\n    return values * 2",
    )
    notebook.cells[-1].source += "  # changed"
    notebook.cells.insert(2, nbformat.v4.new_code_cell("def contiguous_strides(size):\n    return 'a first attempt'"))
    shown = verdicts(run_as_learner(own_course, notebook))
    assert set(shown) == {"contiguous_strides", "predict_strides", "running_mean"}
    assert shown["contiguous_strides"] == (
        "✓ Right (contiguous_strides). Kept in my/contiguous_strides.py; it stands for toy.layout:contiguous_strides."
    )
    assert shown["predict_strides"] == (
        "✗ Not yet.\nThese are the strides of the array before it was transposed.\nprediction: not the right value"
    )
    assert shown["running_mean"].startswith(
        "✗ Not yet.\nrunning mean: array float64 (5,) as expected, but 5 of 5 values"
    )
    assert [path.name for path in own_course.mine.iterdir()] == ["contiguous_strides.py"]
    assert (own_course.mine / "contiguous_strides.py").read_text() == RIGHT_STRIDES + "\n"


def test_the_verdict_stands_before_the_values(own_course: Course, submission: Callable[..., Any]) -> None:
    notebook = run_as_learner(own_course, submission(predict_strides="prediction = (12, 4, 1)"))
    outputs = next(
        [output.data["text/plain"] for output in cell.outputs]
        for cell in notebook.cells
        if cell.metadata.get("minitorch", {}) == {"role": "check", "exercise": "predict_strides"}
    )
    assert [text.partition(" ")[0].partition(":")[0] for text in outputs] == ["✗", "prediction"]


def test_what_is_not_answered_yet_is_said_without_a_traceback(
    own_course: Course, submission: Callable[..., Any]
) -> None:
    half = (
        "def contiguous_strides(size):\n    return helper(size)\n\ndef helper(size):\n    raise NotImplementedError()"
    )
    notebook = run_as_learner(own_course, submission(contiguous_strides=half))
    said = {
        cell.id: output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    }
    assert {error.ename for error in said.values()} == {"NotAnsweredError"}
    assert {name: error.traceback for name, error in said.items()} == {
        "predict_strides": ["Not answered yet: your code goes into this cell."],
        "predict_strides-check": [
            "✗ Not answered yet: write your answer into the cell above, run that cell, then this one."
        ],
        "contiguous_strides-check": ["Not answered yet: helper still raises NotImplementedError."],
        "smallest_step-check": [
            "✗ Not answered yet: write your answer into the cell above, run that cell, then this one."
        ],
    }
    assert verdicts(notebook) == {"running_mean": "✗ Not answered yet: this is the code that was given."}


def test_the_stub_that_ran_is_not_answered_yet(own_course: Course, submission: Callable[..., Any]) -> None:
    notebook = run_as_learner(own_course, submission())
    (error,) = next(cell.outputs for cell in notebook.cells if cell.id == "predict_strides-check")
    assert error.traceback == [
        "✗ Not answered yet: write your answer into the cell above, run that cell, then this one."
    ]


def test_what_an_answer_raises_is_shown_as_ever(own_course: Course, submission: Callable[..., Any]) -> None:
    notebook = run_as_learner(own_course, submission(predict_strides="prediction = 1 / 0"))
    (error,) = next(cell.outputs for cell in notebook.cells if cell.id == "predict_strides")
    assert error.ename == "ZeroDivisionError" and len(error.traceback) > 2


@pytest.mark.turns(8)
def test_what_passes_in_the_terminal_counts_as_it_does_in_jupyterlab(
    own_course: Course, submission: Callable[..., Any], tmp_path: Path
) -> None:
    notebook = submission(contiguous_strides=RIGHT_STRIDES, predict_strides="prediction = (12, 4, 1)")
    elsewhere = tmp_path / f"{CHAPTER}.ipynb"
    nbformat.write(notebook, elsewhere)
    command(own_course, "check", str(elsewhere))
    assert not own_course.mine.exists()
    nbformat.write(notebook, own_course.exercises / elsewhere.name)
    command(own_course, "check", str(own_course.exercises / elsewhere.name))
    assert [path.name for path in own_course.mine.glob("*.py")] == ["contiguous_strides.py"]
    assert practice.solution_path(own_course, "contiguous_strides").read_text() == RIGHT_STRIDES + "\n"
    nbformat.write(submission(solved=True), own_course.exercises / elsewhere.name)
    command(own_course, "grade", str(own_course.exercises / elsewhere.name))
    assert command(own_course, "next") == (0, "Every exercise is done.\n")


def test_checking_a_chapter_tells_of_a_notebook_that_is_not_saved(own_course: Course) -> None:
    assert command(own_course, "check", "01")[1].splitlines()[-1] == (
        "Not answered yet in the saved notebook. If you have written an answer, save it."
    )
    solve(own_course, "contiguous_strides", RIGHT_STRIDES)
    assert command(own_course, "check", "01")[1].splitlines()[-1] == (
        "Solved in JupyterLab, but not in the saved notebook: contiguous_strides. Save it."
    )


def test_no_verdict_in_a_grade(own_course: Course, submission: Callable[..., Any]) -> None:
    notebook = run_as_learner(own_course, submission(solved=True), MINITORCH_COURSE_SEED="20260101")
    assert verdicts(notebook) == {}
    assert not own_course.mine.exists()


def test_no_verdict_where_the_solutions_are(own_course: Course, submission: Callable[..., Any]) -> None:
    solved = submission(solved=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(CODE), str(own_course.root)))}
    NotebookClient(solved).execute(cwd=str(own_course.solutions), env=environment)
    assert verdicts(solved) == {}
    assert not own_course.mine.exists()


def test_hints_come_one_at_a_time(own_course: Course) -> None:
    hints = [
        "Which entry is right?",
        "By how many values should the first sum be divided?",
        "`np.arange(1, n + 1)` counts them.",
    ]
    for number, hint in enumerate(hints, 1):
        assert command(own_course, "hint", "running_mean") == (0, f"Hint {number} of 3: {hint}\n")
    assert command(own_course, "hint", "running_mean") == (
        0,
        "\n\n".join(["That was the last hint. All of them:", *hints]) + "\n",
    )
    assert practice.hints_given(own_course) == {"running_mean": 3}
    code, output = command(own_course, "hint", "nothing")
    assert (code, "no exercise is called 'nothing'" in output) == (1, True)
    code, output = command(own_course, "hint", "01")
    assert (code, output.startswith("Error: no exercise is called '01'; chapter 01 has predict_strides, ")) == (1, True)


def solve(course: Course, name: str, text: str) -> Path:
    course.mine.mkdir(exist_ok=True)
    path = practice.solution_path(course, name)
    path.write_text(text)
    return path


def test_progress_and_next(own_course: Course) -> None:
    assert command(own_course, "next") == (0, f"predict_strides (1 point) in exercises/{CHAPTER}.ipynb\n")
    solve(own_course, "predict_strides", "prediction = (12, 1, 4)")
    solve(own_course, "contiguous_strides", RIGHT_STRIDES)
    assert command(own_course, "next")[1].startswith("running_mean (2 points)")
    assert command(own_course, "hint", "running_mean")[0] == 0
    code, output = command(own_course, "progress")
    assert (code, [line.rstrip() for line in output.splitlines()[:2]]) == (
        0,
        ["01 fixture ███░░░ 4/8", "all ███░░░ 4/8 points"],
    )
    for name in ("01", CHAPTER, f"exercises/{CHAPTER}.ipynb"):
        code, output = command(own_course, "progress", name)
        assert (code, [row.split() for row in output.splitlines()[1:] if row.strip()]) == (
            0,
            [
                ["✓", "predict_strides", "1/1", "0/3"],
                ["✓", "contiguous_strides", "3/3", "0/3"],
                ["contiguous_strides"],  # the part that it is about
                ["running_mean", "–/2", "1/3"],
                ["smallest_step", "–/2", "0/3"],
            ],
        )
    for name in ("running_mean", "smallest_step"):
        solve(own_course, name, "x = 1")
    assert command(own_course, "next") == (0, "Every exercise is done.\n")


def test_next_goes_on_in_the_chapter_that_was_worked_on_last(own_course: Course, core_course: Course) -> None:
    shutil.copy(core_course.pristine / "06_core.ipynb", own_course.pristine)
    first, later = (
        [each for each in practice.exercises(own_course) if each.chapter == chapter] for chapter in (CHAPTER, "06_core")
    )
    assert progress.following(own_course) == first[0]
    os.utime(solve(own_course, first[0].name, "prediction = 1"), (1, 1))
    assert progress.following(own_course) == first[1]
    os.utime(solve(own_course, later[0].name, "def strides(size): pass"), (2, 2))
    assert progress.following(own_course) == later[1]
    os.utime(solve(own_course, first[1].name, RIGHT_STRIDES), (3, 3))
    assert progress.following(own_course) == first[2]


def test_reset_gives_a_cell_back_and_keeps_a_copy(own_course: Course, submission: Callable[..., Any]) -> None:
    path = own_course.exercises / f"{CHAPTER}.ipynb"
    mine = submission(running_mean="mine = 1", predict_strides="mine = 2")
    mine.cells.append(nbformat.v4.new_code_cell("notes", id="notes"))
    nbformat.write(mine, path)
    solve(own_course, "running_mean", "mine = 1\n")
    before = path.read_text()
    code, output = command(own_course, "reset", "running_mean")
    assert (code, output) == (
        0,
        f"kept a copy: my/backups/{CHAPTER}-1.ipynb\nkept a copy: my/backups/running_mean-1.py\n",
    )
    assert (own_course.mine / "backups" / f"{CHAPTER}-1.ipynb").read_text() == before
    assert (own_course.mine / "backups" / "running_mean-1.py").read_text() == "mine = 1\n"
    assert not (own_course.mine / "running_mean.py").exists()
    sources = {cell.id: cell.source for cell in nbformat.read(path, as_version=4).cells}
    assert sources["running_mean"] == "def running_mean(values):\n    return np.cumsum(values) / len(values)"
    assert (sources["predict_strides"], sources["notes"]) == ("mine = 2", "notes")
    assert command(own_course, "reset", f"exercises/{CHAPTER}.ipynb") == (
        0,
        f"kept a copy: my/backups/{CHAPTER}-2.ipynb\n",
    )
    assert path.read_text() == (own_course.pristine / path.name).read_text()
    assert command(own_course, "reset", "nothing")[0] == 1


@pytest.fixture
def wrong_part(own_course: Course) -> Course:
    """A learner whose strides are all 100, with a test of the package and a script that use them."""
    solve(
        own_course, "contiguous_strides", "def contiguous_strides(size):\n    return (100,) * np.ndim(np.empty(size))"
    )
    (own_course.root / "test_toy.py").write_text(
        "from toy.layout import contiguous_strides, offset\n"
        "def test_offset(): assert offset((2, 2), (1, 0)) == 2\n"
        "def test_mine(): assert contiguous_strides((2, 2)) == (100, 100)\n"
    )
    (own_course.root / "script.py").write_text("import sys, toy.layout as t; print(t.offset((2, 2), (1, 1)), sys.argv)")
    return own_course


def course_mine(course: Course, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(CODE), str(course.root)))}
    call = [sys.executable, "-m", "course", "mine", *arguments]
    return subprocess.run(call, cwd=course.root, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.turns(8)
def test_the_packages_tests_run_on_the_learners_code(wrong_part: Course) -> None:
    done = course_mine(wrong_part, "-q", "-p", "no:cacheprovider", "test_toy.py")
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "assert 100 == 2" in done.stdout
    done = course_mine(wrong_part, "-p", "no:cacheprovider", "test_toy.py")
    assert "your parts: toy.layout:contiguous_strides" in done.stdout


def test_a_script_runs_on_the_learners_code(wrong_part: Course) -> None:
    done = course_mine(wrong_part, "script.py", "--option")
    assert (done.returncode, done.stdout) == (0, "200 ['script.py', '--option']\n")


@pytest.mark.turns(8)
def test_a_kept_solution_that_raises_is_named(wrong_part: Course) -> None:
    path = solve(wrong_part, "contiguous_strides", "def contiguous_strides(size): return 1\nundefined")
    done = course_mine(wrong_part, "script.py")
    assert done.returncode == 1
    assert f"{path}: NameError: name 'undefined' is not defined" in done.stderr
    done = course_mine(wrong_part, "test_toy.py")
    assert done.returncode == 4
    assert f"{path}: NameError" in done.stderr


def test_hints_are_json_a_person_can_read(own_course: Course) -> None:
    practice.next_hint(own_course, "smallest_step")
    assert json.loads((own_course.mine / "hints.json").read_text()) == {"smallest_step": 1}
