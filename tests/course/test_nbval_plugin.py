"""`pytest --nbval` as a learner or a CI service calls it: it judges the answers, whatever else the file says."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest

from course.files import CODE, Course
from course.learner import practice

CHAPTER = "01_fixture"
RIGHT = "def contiguous_strides(size):\n    return tuple(int(np.prod(size[d + 1:])) for d in range(len(size)))"
WRONG = "def contiguous_strides(size):\n    return tuple(1 for _ in size)"
CHECKED = ("predict_strides (1 point)", "contiguous_strides (3 points)", "running_mean (2 points)")


def nbval(course: Course, *arguments: str, ended: int | None = None) -> dict[str, tuple[str, str]]:
    """What came of each cell, by file and name, and the words about it."""
    report = course.root / "report.xml"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--nbval", "--junit-xml", report, "-p", "no:cacheprovider", *arguments],
        cwd=course.root,
        env={**os.environ, "PYTHONPATH": str(CODE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended is None or done.returncode == ended, done.stdout + done.stderr
    cases: dict[str, tuple[str, str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.get("classname", "").removesuffix(".ipynb").rpartition(".")[2]
        outcome = next(iter(case), None)
        said = "" if outcome is None else (outcome.text or outcome.get("message") or "")
        cases[f"{file} {case.get('name')}"] = ("passed" if outcome is None else outcome.tag, said)
    return cases


def pretend(notebook: Any) -> Any:
    """Mark every cell so that plain nbval would pass it: skipped, saved with its own outputs, never run."""
    notebook.metadata["kernelspec"] = {"name": "nosuchkernel", "display_name": "none", "language": "perl"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata["tags"] = ["raises-exception", "nbval-skip", "nbval-ignore-output"]
            cell.source += "\n# NBVAL_SKIP"
            cell.outputs, cell.execution_count = [], None
    return notebook


@pytest.fixture(scope="module")
def cases(
    course: Course, submission: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, str]]:
    """A folder of submissions in a copy of the course, judged in one run."""
    own = Course(Path(shutil.copytree(course.root, tmp_path_factory.mktemp("nbval") / "course")))
    folder = own.root / "handed_in"
    folder.mkdir()
    made = {
        "solved": submission(solved=True),
        "unsolved": submission(),
        "showing": submission(solved=True, contiguous_strides=RIGHT.replace("return", "display(1); print(2); return")),
        "pretending": pretend(
            submission(solved=True, contiguous_strides=WRONG, predict_strides="prediction = (12, 4, 1)")
        ),
        "ending": submission(
            solved=True, contiguous_strides="def contiguous_strides(size):\n    import os; os._exit(0)"
        ),
        "empty": submission(solved=True),
        "no_python": submission(solved=True, contiguous_strides="x = 1\ndef contiguous_strides(size:\n    pass"),
    }
    made["empty"].cells = [c for c in made["empty"].cells if c.metadata.get("minitorch", {}).get("role") != "solution"]
    for cell in made["pretending"].cells:
        if cell.metadata.get("minitorch", {}).get("role") == "check":
            cell.source = "pass"
    for name, notebook in made.items():
        nbformat.write(notebook, folder / f"{name}.ipynb")
    (own.exercises / "broken.ipynb").write_text("{")
    (folder / "deep.ipynb").write_text("[" * 200_000)
    return nbval(own, "handed_in", "exercises/broken.ipynb", ended=1)


def test_right_answers_pass_and_what_they_print_costs_nothing(cases: dict[str, tuple[str, str]]) -> None:
    for name in ("solved", "showing"):
        outcomes = {case: outcome for case, (outcome, _) in cases.items() if case.startswith(name)}
        assert {f"{name} {checked}" for checked in CHECKED} < outcomes.keys()
        assert set(outcomes.values()) == {"passed"}


@pytest.mark.parametrize("name", ["unsolved", "empty"])
def test_what_is_not_answered_fails_without_a_traceback(cases: dict[str, tuple[str, str]], name: str) -> None:
    for checked in CHECKED:
        assert cases[f"{name} {checked}"] == ("failure", f"{checked}: not answered yet")


def test_a_wrong_answer_fails_in_words_whatever_the_file_says(cases: dict[str, tuple[str, str]]) -> None:
    outcome, said = cases["pretending contiguous_strides (3 points)"]
    assert outcome == "failure" and said.startswith("contiguous_strides (3 points): not yet\n")
    assert "expected 12, got 1" in said or "at [0]" in said
    outcome, said = cases["pretending predict_strides (1 point)"]
    assert outcome == "failure" and "These are the strides of the array before it was transposed." in said
    assert cases["pretending running_mean (2 points)"] == ("passed", "")


def test_an_answer_that_ends_python_costs_no_other_exercise(cases: dict[str, tuple[str, str]]) -> None:
    said = "contiguous_strides (3 points): the cell ended the Python process"
    assert cases["ending contiguous_strides (3 points)"] == ("failure", said)
    assert cases["ending running_mean (2 points)"] == ("passed", "")


def test_a_broken_file_fails_alone(cases: dict[str, tuple[str, str]]) -> None:
    outcome, said = cases["broken rejected"]
    assert outcome == "failure" and said.startswith("not a valid notebook")


def test_a_syntax_error_is_told_by_answer_and_check(cases: dict[str, tuple[str, str]]) -> None:
    said = "contiguous_strides (3 points): the solution cell: SyntaxError: '(' was never closed (line 2: "
    failed = {name: text for name, (outcome, text) in cases.items() if "no_python" in name and outcome != "passed"}
    assert len(failed) == 2 and "no_python contiguous_strides (3 points)" in failed
    assert all(text.startswith(said) for text in failed.values())


def test_no_file_breaks_the_collection(cases: dict[str, tuple[str, str]]) -> None:
    outcome, said = cases["deep rejected"]
    assert outcome == "failure" and said.startswith("not a valid notebook: ")


def test_what_is_stopped_fails_and_what_follows_is_judged(own_course: Course, submission: Callable[..., Any]) -> None:
    """nbval expects all cells after a timeout to fail, and counts them as passed, whatever they do."""
    notebook = submission(solved=True, predict_strides="while True: pass", running_mean="running_mean = len")
    nbformat.write(notebook, own_course.exercises / f"{CHAPTER}.ipynb")
    cases = nbval(own_course, "--nbval-cell-timeout=15", "exercises", ended=1)
    outcomes = [cases[f"{CHAPTER} {checked}"][0] for checked in CHECKED]
    assert outcomes == ["failure", "passed", "failure"]


def test_what_passes_in_the_exercises_counts_as_in_jupyterlab(
    own_course: Course, submission: Callable[..., Any]
) -> None:
    notebook = submission(solved=True, contiguous_strides=RIGHT, running_mean="running_mean = len")
    nbformat.write(notebook, own_course.exercises / f"{CHAPTER}.ipynb")
    nbval(own_course, "exercises", ended=1)
    kept = [exercise.name for exercise in practice.exercises(own_course) if practice.is_kept(own_course, exercise)]
    assert kept == ["predict_strides", "contiguous_strides", "smallest_step"]
    assert practice.solution_path(own_course, "contiguous_strides").read_text() == RIGHT + "\n"


def test_a_notebook_of_others_is_left_to_nbval(own_course: Course) -> None:
    cell = nbformat.v4.new_code_cell("print(1)", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("stream", text="2\n")]
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), own_course.root / "other.ipynb")
    assert nbval(own_course, "--nbval-current-env", "other.ipynb", ended=1)["other Cell 0"][0] == "failure"
    assert nbval(own_course, "notebooks", "solutions", ended=0)


def test_nothing_is_loaded_without_nbval(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n    assert 'course.nbval_plugin' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", tmp_path], capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout
