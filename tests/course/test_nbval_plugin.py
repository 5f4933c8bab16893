"""`pytest --nbval` as a learner or a CI service calls it: it judges the answers, whatever else the file says."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest

from course.files import CODE, Course
from course.learner import practice
from course.nbval_exercises import _cell
from tests.course.test_core import CHAPTER as CORE
from tests.course.test_core import RIGHT as RIGHT_CORE
from tests.course.test_core import filled
from tests.course.test_credit import ROWS

CHAPTER = "01_fixture"
DAMAGED = f"{CHAPTER} (1)"
RIGHT = "def contiguous_strides(size):\n    return tuple(int(np.prod(size[d + 1:])) for d in range(len(size)))"
WRONG = "def contiguous_strides(size):\n    return tuple(1 for _ in size)"
ENDS = "def contiguous_strides(size):\n    import os; os._exit(0)"
PREDICT, STRIDES, MEAN, STEP = EXERCISES = (
    "predict_strides (1 point)",
    "contiguous_strides (3 points)",
    "running_mean (2 points)",
    "smallest_step (2 points)",
)


@dataclass
class Case:
    """What a CI service shows of a test."""

    outcome: str
    said: str
    summary: str = ""
    properties: dict[str, str] = field(default_factory=dict)


@dataclass
class Run:
    """What came of a run of pytest: its tests by file, and by name."""

    printed: str
    files: dict[str, dict[str, Case]]
    properties: dict[str, str]

    def of(self, file: str) -> list[str]:
        """The outcomes of the exercises in a notebook of the fixture."""
        return [self.files[file][name].outcome for name in EXERCISES]


def nbval(root: Path, *arguments: str, ended: int, **variables: str) -> Run:
    report = root / "report.xml"
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--nbval", "--junit-xml", report, "-p", "no:cacheprovider", *arguments],
        cwd=root,
        env={**environment, "PYTHONPATH": str(CODE), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ended, done.stdout + done.stderr
    (suite,) = ElementTree.parse(report).iter("testsuite")
    files: dict[str, dict[str, Case]] = {}
    for case in suite.iter("testcase"):
        file = case.get("classname", "").removesuffix(".ipynb").rpartition(".")[2]
        told = next((each for each in case if each.tag != "properties"), None)
        said = "" if told is None else (told.text if told.tag == "failure" else told.get("message")) or ""
        summary = "" if told is None else told.get("message") or ""
        found = Case("passed" if told is None else told.tag, said, summary, properties(case))
        assert files.setdefault(file, {}).setdefault(case.get("name", ""), found) is found, "one test twice"
    return Run(done.stdout, files, properties(suite))


def properties(element: ElementTree.Element) -> dict[str, str]:
    return {each.get("name", ""): each.get("value", "") for each in element.findall("properties/property")}


def pretend(notebook: Any) -> Any:
    """Mark every cell so that plain nbval would pass it: skipped, saved with its own outputs, never run."""
    notebook.metadata["kernelspec"] = {"name": "nosuchkernel", "display_name": "none", "language": "perl"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata["tags"] = ["raises-exception", "nbval-skip", "nbval-ignore-output"]
            cell.source += "\n# NBVAL_SKIP"
            cell.outputs, cell.execution_count = [], None
            if cell.metadata.get("minitorch", {}).get("role") == "check":
                cell.source = "pass"
    return notebook


@pytest.fixture(scope="module")
def root(
    course: Course, core_course: Course, submission: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with copies of two courses, in which notebooks were answered and handed in."""
    root = tmp_path_factory.mktemp("nbval")
    shutil.copytree(course.root, root / "course")
    shutil.copytree(core_course.root, root / "core")
    folder = root / "course" / "handed_in"
    folder.mkdir()
    made = {
        "solved": submission(solved=True, contiguous_strides=RIGHT.replace("return", "display(1); print(2); return")),
        "unsolved": submission(),
        "pretending": pretend(
            submission(solved=True, contiguous_strides=WRONG, predict_strides="prediction = (12, 4, 1)")
        ),
        "harming": submission(solved=True, contiguous_strides=ENDS, predict_strides="x = 1\nprediction = (12,"),
        "empty": submission(solved=True),
        "endless": submission(predict_strides="while True: pass", running_mean="running_mean = len"),
    }
    made["empty"].cells = [c for c in made["empty"].cells if c.metadata.get("minitorch", {}).get("role") != "solution"]
    for name, notebook in made.items():
        nbformat.write(notebook, folder / f"{name}.ipynb")
    (folder / "deep.ipynb").write_text("[" * 200_000)
    (folder / f"{DAMAGED}.ipynb").write_text("{")
    (root / "course" / "exercises" / "broken.ipynb").write_text("{")
    nbformat.write(
        submission(contiguous_strides=RIGHT, running_mean="running_mean = len"),
        root / "course" / "exercises" / f"{CHAPTER}.ipynb",
    )
    nbformat.write(
        filled(core_course, core_strides=RIGHT_CORE, core_tensor=ROWS), root / "core" / "exercises" / f"{CORE}.ipynb"
    )
    return root


@pytest.fixture(scope="module")
def local(root: Path) -> Run:
    """All but the endless answer, on a learner's machine."""
    return nbval(root, "course/handed_in", "course/exercises", "--ignore-glob=*/endless.ipynb", ended=1)


@pytest.fixture(scope="module")
def in_ci(root: Path, local: Run) -> Run:
    """Two notebooks in two processes; what is not answered is allowed."""
    paths = (
        "course/handed_in/endless.ipynb",
        "course/handed_in/unsolved.ipynb",
        f"course/handed_in/{DAMAGED}.ipynb",
        "core/exercises",
    )
    options = ("--nbval-cell-timeout=10", "-n2", "-o", "allow_unsolved=true")
    return nbval(root, *options, *paths, ended=1, CI="true", GITHUB_STEP_SUMMARY=str(root / "summary.md"))


@pytest.mark.turns(8)
def test_each_exercise_is_one_test_and_what_it_prints_costs_nothing(local: Run) -> None:
    assert list(local.files["solved"]) == list(EXERCISES)
    assert set(local.of("solved")) == {"passed"}


@pytest.mark.turns(8)
def test_what_is_not_answered_fails_in_words(local: Run) -> None:
    said = {"unsolved": "not answered yet", "empty": "the solution cell is not in the notebook"}
    for name, words in said.items():
        cases = local.files[name].values()
        assert {(case.outcome, case.said) for case in cases} == {("failure", words)}
        assert len(cases) == len(EXERCISES)


def test_a_wrong_answer_fails_in_words_whatever_the_file_says(local: Run) -> None:
    cases = local.files["pretending"]
    assert local.of("pretending") == ["failure", "failure", "passed", "passed"]
    assert "at [0]: expected " in cases[STRIDES].said
    assert "These are the strides of the array before it was transposed." in cases[PREDICT].said


def test_an_answer_that_ends_python_or_is_none_costs_no_other_exercise(local: Run) -> None:
    cases = local.files["harming"]
    assert local.of("harming") == ["failure", "failure", "passed", "passed"]
    assert cases[PREDICT].said == ("the solution cell: SyntaxError: '(' was never closed (line 2: `prediction = (12,`)")
    assert cases[STRIDES].said == "the cell ended the Python process"


def test_a_file_that_is_no_notebook_fails_alone(local: Run) -> None:
    for name in ("broken", "deep", DAMAGED):
        ((title, case),) = local.files[name].items()
        assert (title, case.outcome) == ("rejected", "failure")
        assert case.said.startswith("not a valid notebook: ")


def test_the_points_are_in_the_report_and_on_the_terminal(local: Run) -> None:
    assert local.files["solved"][STRIDES].properties == {"points": "3", "max_points": "3"}
    assert local.files["pretending"][STRIDES].properties == {"points": "0", "max_points": "3"}
    solved, pretending, harming, in_exercises = 8, 4, 4, 3
    points, most = solved + pretending + harming + in_exercises, 7 * 8  # also those of the damaged one
    assert local.properties == {"points": str(points), "max_points": str(most)}
    assert f"\ncourse/exercises/{CHAPTER}.ipynb: 3 of 8 points\n" in local.printed
    assert f"\ncourse/handed_in/{DAMAGED}.ipynb: 0 of 8 points\n" in local.printed
    assert "\n1 chapter not begun: 0 of 8 points\n" in local.printed
    assert "unsolved.ipynb: 0 of" not in local.printed
    assert f"\n{points} of {most} points\n" in local.printed


def test_what_passes_in_the_exercises_counts_as_in_jupyterlab(local: Run, root: Path) -> None:
    course = Course(root / "course")
    kept = [exercise.name for exercise in practice.exercises(course) if practice.is_kept(course, exercise)]
    assert kept == ["contiguous_strides"]
    assert practice.solution_path(course, "contiguous_strides").read_text() == RIGHT + "\n"


@pytest.mark.turns(8)
def test_in_ci_nothing_is_kept(in_ci: Run, root: Path) -> None:
    assert in_ci.files[CORE]["core_strides (4 points)"].outcome == "passed"
    assert not (root / "core" / "my").exists()


def test_what_is_not_answered_may_be_allowed_and_what_is_wrong_may_not(in_ci: Run) -> None:
    assert in_ci.of("endless") == ["failure", "skipped", "failure", "skipped"]
    cases = in_ci.files["endless"]
    assert (cases[PREDICT].said, cases[STRIDES].said) == (
        "the solution cell: stopped after 10 seconds",
        "not answered yet",
    )
    assert cases[STRIDES].properties == {"points": "0", "max_points": "3"}


def test_a_part_that_is_right_earns_its_points(in_ci: Run) -> None:
    case = in_ci.files[CORE]["core_tensor (2 points)"]
    said = "Tensor.describe: the cell does not define describe\nRight: Tensor.rows (1 of 2 points)."
    assert (case.outcome, case.said) == ("failure", said)
    assert case.properties == {
        "points": "1",
        "max_points": "2",
        "points/Tensor.rows": "1",
        "max_points/Tensor.rows": "1",
        "points/Tensor.describe": "0",
        "max_points/Tensor.describe": "1",
    }


def test_processes_add_up_their_points(in_ci: Run) -> None:
    assert in_ci.properties == {"points": "5", "max_points": "32"}
    assert f"\ncore/exercises/{CORE}.ipynb: 5 of 8 points\n" in in_ci.printed


def test_a_service_sums_a_failure_up_in_one_line(in_ci: Run) -> None:
    """A service sets CI, and then pytest's summary and JUnit's attribute would hold all lines of a message."""
    first = "Tensor.describe: the cell does not define describe"
    assert in_ci.files[CORE]["core_tensor (2 points)"].summary == f"Failed: {first}"
    assert f"::core_tensor (2 points) - Failed: {first}\n" in in_ci.printed
    _, summary = in_ci.printed.split("short test summary info")
    assert not [line for line in summary.splitlines() if not line.startswith((" ==", "==", "FAILED ", "SKIPPED "))]


def test_a_message_is_no_markup_in_githubs_table() -> None:
    assert _cell({"f": "a | b", "g": "<img> [x](y) `z`"}) == (r"`f`: a \| b<br>`g`: &lt;img&gt; \[x\](y) \`z\`")


def test_github_shows_the_points_in_a_runs_summary(in_ci: Run, root: Path) -> None:
    """Of wrong answers the name and the first line, in which nothing is markup."""
    lines = (root / "summary.md").read_text().splitlines()
    assert lines[:2] == ["| notebook | points | of | wrong |", "| --- | --- | --- | --- |"]
    core, damaged, endless, *rest = lines[2:]
    describe = "`core_tensor`: Tensor.describe: the cell does not define describe"
    assert core == f"| core/exercises/{CORE}.ipynb | 5 | 8 | {describe} |"
    assert damaged.startswith(f"| course/handed_in/{DAMAGED}.ipynb | 0 | 8 | `rejected`: not a valid notebook: ")
    assert endless.startswith(
        "| course/handed_in/endless.ipynb | 0 | 8 | "
        "`predict_strides`: the solution cell: stopped after 10 seconds<br>`running_mean`: "
    )
    assert rest == ["| 1 chapter not begun | 0 | 8 |  |", "| **all** | **5** | **32** |  |"]


def cells(*sources: str, shown: str = "") -> Any:
    """A notebook that was run, each of whose cells printed `shown`."""
    outputs = [nbformat.v4.new_output("stream", text=shown)] if shown else []
    made = [nbformat.v4.new_code_cell(source, execution_count=1, outputs=outputs) for source in sources]
    return nbformat.v4.new_notebook(cells=made)


@pytest.mark.turns(8)
def test_lessons_solutions_and_notebooks_of_others_are_compared_cell_by_cell(
    own_course: Course, submission: Callable[..., Any]
) -> None:
    (own_course.notebooks / f"{CHAPTER}.ipynb").rename(own_course.notebooks / "lesson.ipynb")
    (own_course.exercises / f"{CHAPTER}.ipynb").rename(own_course.exercises / "unsolved.ipynb")
    nbformat.write(cells("print(1)", shown="2\n"), own_course.root / "other.ipynb")
    nbformat.write(cells("import os; os._exit(0)", "1"), own_course.notebooks / "ending.ipynb")
    nbformat.write(submission(solved=True, contiguous_strides=WRONG), own_course.solutions / "wrong.ipynb")
    paths = ("other.ipynb", "notebooks", "solutions", "exercises")
    run = nbval(own_course.root, "--nbval-current-env", "--allow-unsolved", *paths, ended=1)
    assert [case.outcome for case in run.files["other"].values()] == ["failure"]
    assert [case.outcome for case in run.files["ending"].values()] == ["failure", "failure"]
    for name in ("lesson", CHAPTER):
        assert {case.outcome for case in run.files[name].values()} == {"passed"}
    (wrong,) = [case.said for case in run.files["wrong"].values() if case.outcome != "passed"]
    assert "strides: at [0]: expected 40, got 1" in wrong
    assert set(run.of("unsolved")) == {"skipped"}  # by the option; above it is the setting


def test_nothing_is_loaded_without_nbval(tmp_path: Path) -> None:
    text = "import sys\n\ndef test_it():\n    assert not [name for name in sys.modules if 'course.nbval' in name]\n"
    (tmp_path / "test_it.py").write_text(text)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", tmp_path], capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout
    assert "--nbval" not in done.stdout


def test_who_forgets_nbval_is_told(tmp_path: Path) -> None:
    notebook = tmp_path / "06_core.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), notebook)
    for argument in (tmp_path, notebook):
        command = [sys.executable, "-m", "pytest", "-q", argument]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "Notebooks are run and graded with --nbval: pytest --nbval exercises\n" in done.stdout


@pytest.mark.parametrize(("required", "outcome"), [("0", "skipped"), ("1", "error")])
def test_a_lesson_without_its_package_is_skipped_and_in_ci_fails(
    core_course: Course, tmp_path: Path, required: str, outcome: str
) -> None:
    shutil.copytree(core_course.root, tmp_path / "core")
    lesson = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    lesson.cells[0].metadata["tags"] = ["needs-json", "needs-no_such_package"]
    nbformat.write(lesson, tmp_path / "core" / "notebooks" / "99_lesson.ipynb")
    ran = nbval(tmp_path, "core/notebooks/99_lesson.ipynb", ended=int(required), MINITORCH_REQUIRE_ALL=required)
    (case,) = ran.files["99_lesson"].values()
    assert case.outcome == outcome
    if outcome == "skipped":
        assert case.said == "no_such_package is not installed: pip install 'minitorch-course[no_such_package]'"
