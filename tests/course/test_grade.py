"""What scores, what does not, and what each submission is told. Most submissions are graded in one run."""

import json
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.files import Course, write_atomically
from course.grading import compare, packages
from course.grading.grade import grade, practise
from course.grading.packages import Kits
from course.grading.pool import Pool
from course.grading.reference import Draw, Reference
from course.grading.report import Report, Result
from course.grading.runner import Outcome, Task
from course.grading.score import score
from course.grading.submission import Submission
from course.sandbox import launch
from course.sandbox.launch import Limits, cgroup

pytestmark = pytest.mark.turns(8, together=True)

CHAPTER = "01_fixture"
NAMES = ["predict_strides", "contiguous_strides", "running_mean", "smallest_step"]
RIGHT_STRIDES = """def contiguous_strides(size):
    return tuple(int(np.prod(size[d + 1:])) for d in range(len(size)))"""
WRONG_STRIDES = "def contiguous_strides(size):\n    return tuple(1 for _ in size)"
FAKE = """from IPython.display import display
def contiguous_strides(size):
    values = {"size": {"kind": "none"}, "strides": {"kind": "none"}}
    display({"application/vnd.minitorch.check+json": {"version": 1, "values": values}}, raw=True)
    return (1,) * len(size)
display({"application/vnd.minitorch.check+json": {"version": 1, "values": {}}}, raw=True)"""
NAMELESS = """class Kind(type):
    @property
    def __name__(cls): raise SystemExit
class Mine(metaclass=Kind): pass
def contiguous_strides(size): return Mine()"""
LATE = """def smallest_step():
    return 23
import time
while True: time.sleep(1)"""
DEAF = """def contiguous_strides(size):
    import time
    while True:
        try:
            while True: time.sleep(1)
        except BaseException: pass"""


def submissions(make: Callable[..., Any]) -> dict[str, Any]:
    """Every kind of submission that one run grades, by name."""
    made = {
        "unsolved": make(),
        "solved": make(solved=True),
        "one_solved": make(contiguous_strides=RIGHT_STRIDES),
        "printing": make(contiguous_strides='print("here")\n' + RIGHT_STRIDES.replace("return", 'print("x"); return')),
        "raises": make(solved=True, predict_strides="1 / 0", contiguous_strides="def f(:"),
        "marks": make(
            solved=True, predict_strides="# NBVAL_SKIP\nprediction = 1", running_mean="'''\n# NBVAL_SKIP\n'''\n1/0"
        ),
        "fake": make(solved=True, contiguous_strides=FAKE),
        "nameless": make(
            contiguous_strides=NAMELESS, running_mean="def running_mean(x):\n    return type('x' * 9**8, (), {})()"
        ),
        "dies": make(
            solved=True,
            predict_strides="import os; os._exit(0)",
            contiguous_strides="def contiguous_strides(size):\n    import os; os._exit(0)",
        ),
        "quits": make(
            solved=True,
            predict_strides="import sys; sys.exit(0)",
            contiguous_strides="def contiguous_strides(size):\n    exit()",
        ),
        "loops": make(
            solved=True,
            predict_strides="import time\nwhile True: time.sleep(1)",
            contiguous_strides=DEAF,
            smallest_step=LATE,
        ),
        "kills_its_parent": make(
            solved=True,
            predict_strides="import os, signal; os.kill(os.getppid(), signal.SIGKILL)\nwhile True: pass",
            running_mean="def running_mean(x):\n    import os\n    os.kill(os.getppid(), 9)\n    while True: pass",
        ),
        "wrong": make(
            solved=True,
            predict_strides="prediction = (12, 3, 1)",
            contiguous_strides=WRONG_STRIDES,
            running_mean="def running_mean(values):\n    return (np.cumsum(values) / np.arange(1, 6))[:, None]",
            smallest_step="def smallest_step():\n    return undefined",
        ),
    }
    for cell in made[
        "wrong"
    ].cells:  # a wrong answer, saved with its own output, and unmarked so that nothing is compared
        if cell.cell_type == "code":
            cell.metadata["tags"] = ["raises-exception", "nbval-skip", "nbval-ignore-output"]
            cell.outputs, cell.execution_count = [], None
    made["no_checks"] = make(contiguous_strides=WRONG_STRIDES)
    made["no_checks"].cells = [
        c for c in made["no_checks"].cells if c.metadata.get("minitorch", {}).get("role") != "check"
    ][::-1]
    edited = made["edited_checks"] = make(contiguous_strides=WRONG_STRIDES, predict_strides="prediction = 0")
    for cell in edited.cells:
        if cell.metadata.get("minitorch", {}).get("role") in ("check", "setup"):
            cell.source = "pass"
        elif cell.metadata.get("minitorch", {}).get("role") == "task":
            cell.metadata["minitorch"]["points"] = cell.metadata["nbgrader"]["points"] = 100
    edited.metadata["kernelspec"] = {"name": "nosuchkernel", "display_name": "none", "language": "perl"}
    shuffled = made["cells_moved"] = make(solved=True)
    shuffled.cells = [
        c for c in reversed(shuffled.cells) if c.metadata.get("nbgrader", {}).get("grade_id") != "smallest_step"
    ]
    extra = nbformat.v4.new_code_cell(
        RIGHT_STRIDES, metadata={"nbgrader": {"grade_id": "contiguous_strides", "solution": True}}
    )
    unknown = nbformat.v4.new_code_cell(
        "import os; os._exit(1)", metadata={"nbgrader": {"grade_id": "of_another_course"}}
    )
    shuffled.cells += [extra, unknown]
    return made


@pytest.fixture(scope="module")
def report(course: Course, submission: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("submissions")
    for name, notebook in submissions(submission).items():
        nbformat.write(notebook, folder / f"{name}.ipynb")
    (folder / "conftest.py").write_text("raise SystemExit('a conftest was run')")
    (folder / "no_notebook.ipynb").write_text("these are not the bytes")
    (folder / "truncated.ipynb").write_text((folder / "solved.ipynb").read_text()[:2000])
    (folder / "a_list.ipynb").write_text("[1, 2]")
    with (folder / "huge.ipynb").open("wb") as file:
        file.truncate(100 << 20)
    other = submission()
    other.metadata["minitorch"]["chapter"] = "77_elsewhere"
    nbformat.write(other, folder / "other_chapter.ipynb")
    del other.metadata["minitorch"]
    other.cells = [cell for cell in other.cells if cell.cell_type == "markdown"]  # by its answers it would be known
    nbformat.write(other, folder / "foreign.ipynb")
    nbformat.write(nbformat.v4.new_notebook(), folder / "without_cells.ipynb")
    (folder / ".hidden").mkdir()
    nbformat.write(other, folder / ".hidden" / "checkpoint.ipynb")
    return grade([folder, folder / "missing.ipynb"], course, jobs=2, limits=Limits(cell_seconds=10))


@pytest.fixture
def result(report: Report) -> Callable[[str], Result]:
    by_name = {Path(result.path).stem: result for result in report.submissions}
    return by_name.__getitem__


def statuses(result: Result) -> list[str]:
    assert result.status == "graded", result.reason
    assert [item.grade_id for item in result.items] == NAMES
    assert result.score == sum(item.points for item in result.items)
    assert all(item.points == (item.max_points if item.status == "passed" else 0) for item in result.items)
    assert result.max_score == 8
    return [item.status for item in result.items]


def messages(result: Result) -> list[str]:
    return [item.message for item in result.items]


def test_the_unsolved_notebook_scores_0_and_the_reference_everything(result: Callable[[str], Result]) -> None:
    assert statuses(result("unsolved")) == ["skipped"] * 3 + ["skipped"]
    assert set(messages(result("unsolved"))) == {"not solved yet"}
    assert result("unsolved").score == 0
    assert statuses(result("solved")) == ["passed"] * 4
    assert (result("solved").score, result("solved").reason) == (8, "")


def test_one_exercise_counts_without_the_others(result: Callable[[str], Result]) -> None:
    assert statuses(result("one_solved")) == ["skipped", "passed", "skipped", "skipped"]
    assert result("one_solved").score == 3


def test_a_leftover_print_costs_nothing(result: Callable[[str], Result]) -> None:
    assert statuses(result("printing"))[1] == "passed"


def test_a_solution_that_raises_stops_no_other(result: Callable[[str], Result]) -> None:
    assert statuses(result("raises")) == ["error", "error", "passed", "passed"]
    assert messages(result("raises"))[0] == (
        "the solution cell: ZeroDivisionError: division by zero (line 1 of your answer: `1 / 0`)"
    )
    assert messages(result("raises"))[1].startswith("the solution cell: SyntaxError: ")


def test_marks_in_the_learners_text_skip_nothing(result: Callable[[str], Result]) -> None:
    assert statuses(result("marks")) == ["error", "passed", "error", "passed"]
    told = "Your `prediction` is an int; the check then failed with TypeError: 'int' object is not iterable"
    assert messages(result("marks"))[0] == told
    assert messages(result("marks"))[2] == (
        "the solution cell: ZeroDivisionError: division by zero (line 4 of your answer: `1/0`)"
    )


def test_a_wrong_answer_with_its_own_output_scores_0_and_says_why(result: Callable[[str], Result]) -> None:
    assert statuses(result("wrong")) == ["failed", "failed", "failed", "error"]
    prediction, strides, mean, step = messages(result("wrong"))
    assert prediction.splitlines() == [
        "These would be the strides of a contiguous array of the new shape; a transpose copies nothing.",
        "prediction: 1 of 3 are right",
    ]
    assert re.fullmatch(r"strides: at \[0\]: expected \d+, got 1", strides)
    assert mean == "running mean: expected array float64 (5,), got array float64 (5, 1)"
    assert step == "NameError: name 'undefined' is not defined (line 2 of your answer: `return undefined`)"


def test_the_name_of_a_type_is_the_learners_too(result: Callable[[str], Result]) -> None:
    _, strides, mean, _ = messages(result("nameless"))
    assert strides.startswith("TypeError: ")
    assert mean.startswith("Your `running_mean` gave a xxx")


def test_a_forged_bundle_scores_0(result: Callable[[str], Result]) -> None:
    assert statuses(result("fake")) == ["passed", "failed", "passed", "passed"]
    assert messages(result("fake"))[1].startswith("strides: ")


def test_check_cells_of_the_submission_do_not_matter(result: Callable[[str], Result]) -> None:
    assert statuses(result("no_checks")) == ["skipped", "failed", "skipped", "skipped"]
    assert statuses(result("edited_checks")) == ["error", "failed", "skipped", "skipped"]


def test_moved_missing_split_and_unknown_cells(result: Callable[[str], Result]) -> None:
    assert statuses(result("cells_moved")) == ["passed", "passed", "passed", "missing"]
    assert messages(result("cells_moved"))[3] == "the solution cell is not in the notebook"
    assert result("cells_moved").reason == (
        "contiguous_strides: 2 cells, joined in order but for 1 earlier draft; "
        "1 code cell that the learner added not run"
    )


def test_a_dead_kernel_costs_only_the_exercise_that_killed_it(result: Callable[[str], Result]) -> None:
    assert statuses(result("dies")) == ["error", "error", "passed", "passed"]
    assert messages(result("dies"))[:2] == [
        "the solution cell: the cell ended the Python process",
        "the cell ended the Python process",
    ]
    assert statuses(result("quits")) == ["error", "error", "passed", "passed"]


def test_an_endless_loop_is_stopped_and_costs_only_its_exercise(result: Callable[[str], Result]) -> None:
    assert statuses(result("loops")) == ["timeout", "timeout", "passed", "timeout"]
    assert messages(result("loops"))[:2] == ["the solution cell: stopped after 10 seconds", "stopped after 10 seconds"]


def test_an_exercise_that_would_kill_its_parent_costs_only_itself(result: Callable[[str], Result]) -> None:
    """Its parent is the first process of a namespace, which no signal from there reaches."""
    assert statuses(result("kills_its_parent")) == ["timeout", "passed", "timeout", "passed"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_notebook", "not a valid notebook: "),
        ("truncated", "not a valid notebook: "),
        ("a_list", "not a valid notebook: "),
        ("huge", "100 MiB is too large: a notebook has at most 20 MiB"),
        ("other_chapter", "chapter '77_elsewhere' has no reference here"),
        ("foreign", "not a notebook of this course: its metadata name no chapter"),
        ("without_cells", "the notebook has no cells"),
        ("missing", "no such file"),
    ],
)
def test_what_is_no_submission_is_rejected_with_the_reason(
    result: Callable[[str], Result], name: str, reason: str
) -> None:
    assert result(name).status == "rejected"
    assert result(name).reason.startswith(reason)
    assert (result(name).score, result(name).items) == (0, [])


def test_folders_are_searched_but_for_hidden_ones(report: Report) -> None:
    assert not any("checkpoint" in result.path for result in report.submissions)
    assert len(report.submissions) == 17 + 7  # a conftest.py is nobody's


PART = {
    "type": "object",
    "additionalProperties": False,
    "required": ["names", "points", "max_points", "status", "message"],
    "properties": {
        "names": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "points": {"type": "integer", "minimum": 0},
        "max_points": {"type": "integer", "minimum": 1},
        "status": {"enum": ["passed", "failed", "error", "timeout", "missing", "skipped"]},
        "message": {"type": "string"},
    },
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["schema_version", "seed", "submissions", "redrawn"],
    "properties": {
        "schema_version": {"const": 1},
        "seed": {"type": "integer"},
        "redrawn": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["exercise", "seed", "reason"],
                "properties": {
                    "exercise": {"type": "string"},
                    "seed": {"type": "integer"},
                    "reason": {"type": "string"},
                },
            },
        },
        "submissions": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["path", "chapter", "status", "reason", "score", "max_score", "seconds", "digest", "items"],
                "properties": {
                    "path": {"type": "string"},
                    "chapter": {"type": ["string", "null"]},
                    "status": {"enum": ["graded", "not graded", "rejected"]},
                    "reason": {"type": "string"},
                    "score": {"type": "integer", "minimum": 0},
                    "max_score": {"type": "integer", "minimum": 0},
                    "seconds": {"type": "number", "minimum": 0},
                    "digest": {"type": "string", "pattern": "^([0-9a-f]{64})?$"},
                    "submitted_at": {"type": "string", "format": "date-time"},
                    "items": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["grade_id", "points", "max_points", "status", "message", "parts", "code"],
                            "properties": {
                                "grade_id": {"type": "string"},
                                "points": {"type": "integer", "minimum": 0},
                                "max_points": {"type": "integer", "minimum": 1},
                                "status": {"enum": ["passed", "failed", "error", "timeout", "missing", "skipped"]},
                                "message": {"type": "string"},
                                "parts": {"type": "array", "items": PART},
                                "code": {"type": "string"},
                            },
                        },
                    },
                },
            },
        },
    },
}


def test_the_report_is_of_the_stated_format(report: Report) -> None:
    jsonschema.validate(json.loads(report.to_json()), SCHEMA)


def test_the_command_and_that_a_seed_repeats_a_grade(
    course: Course, submission: Callable[..., Any], tmp_path: Path
) -> None:
    path, report = tmp_path / "mine.ipynb", tmp_path / "report.json"
    nbformat.write(submission(contiguous_strides=WRONG_STRIDES), path)
    command = ["--root", str(course.root), "grade", str(path), "--json", str(report), "--seed", "5"]
    written = []
    handler = signal.getsignal(signal.SIGTERM)
    for _ in range(2):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
        assert signal.getsignal(signal.SIGTERM) == handler  # a child of this process inherits it
        written.append(json.loads(report.read_text()))
        jsonschema.validate(written[-1], SCHEMA)
        written[-1]["submissions"][0]["seconds"] = 0
    assert written[0] == written[1]
    assert written[0]["seed"] == 5
    assert written[0]["submissions"][0]["chapter"] == CHAPTER
    for shown in ("mine.ipynb: graded, 0 of 8 points", "contiguous_strides", "seed 5", launch.description()):
        assert shown in done.output


def test_the_command_fails_when_something_could_not_be_graded(course: Course, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--root", str(course.root), "grade", str(tmp_path / "missing.ipynb")])
    assert result.exit_code == 1
    assert "rejected (no such file)" in result.output


def test_the_command_takes_a_chapter_and_says_at_once_that_a_folder_is_not_there(
    course: Course, tmp_path: Path
) -> None:
    def grade(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["--root", str(course.root), "grade", *arguments])
        return done.exit_code, done.output

    code, said = grade("01", "--csv", str(tmp_path / "book.csv"), "--html", str(tmp_path / "pages"))
    assert (code, "01_fixture.ipynb: graded, 0 of 8 points" in said) == (0, True), said
    assert f"written: {tmp_path / 'book.csv'}, {tmp_path / 'pages' / 'index.html'}\n" in said
    code, said = grade(str(tmp_path / "clas"))
    assert (code, f"no notebook, folder or chapter is called '{tmp_path / 'clas'}'" in said) == (2, True), said
    assert "'running_mean'; `course check` checks one exercise" in grade("running_mean")[1]
    assert "'runing_mean'; did you mean running_mean?" in grade("runing_mean")[1]


@pytest.mark.needs("bubblewrap")
def test_untrusted_submissions_are_graded_in_the_sandbox_alone(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.ipynb"
    nbformat.write(submission(contiguous_strides=RIGHT_STRIDES), path)
    command = ["--root", str(course.root), "grade", str(path), "--untrusted"]
    if not launch.trouble():
        done = CliRunner().invoke(main, command)
        assert (done.exit_code, "3 of 8 points" in done.output) == (0, True)
        assert "sandboxed with bubblewrap" in done.output and "trusted submissions only" not in done.output
    with monkeypatch.context() as patch:
        patch.setattr(cgroup, "available", lambda: False)
        patch.setattr(launch.os, "getuid", lambda: 0)
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 2 and "--untrusted needs a sandbox: root's processes" in done.output
    monkeypatch.setattr(launch, "_without_bubblewrap", launch._without_bubblewrap.__wrapped__)  # without its cache
    monkeypatch.setenv("PATH", str(tmp_path))
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2 and "--untrusted needs a sandbox: bubblewrap is not installed" in done.output
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: no permission' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2 and "bubblewrap cannot make a sandbox here: bwrap: no permission" in done.output
    done = CliRunner().invoke(main, command[:-1])
    assert (done.exit_code, "3 of 8 points" in done.output) == (0, True)
    assert "trusted submissions only" in done.output


def test_a_reference_that_fails_is_no_learners_fault(own_course: Course) -> None:
    path = own_course.solutions / f"{CHAPTER}.ipynb"
    submitted = own_course.root / "submitted.ipynb"
    submitted.write_text(path.read_text())
    write_atomically(path, path.read_text().replace("np.cumsum(values)", "np.nosuchfunction(values)"))
    (result,) = grade([submitted], own_course).submissions
    assert (result.status, result.score, result.items) == ("not graded", 0, [])
    assert result.reason.startswith("the reference could not be run: ")
    assert "nosuchfunction" in result.reason


def test_the_file_name_of_another_chapter(own_course: Course) -> None:
    write_atomically(own_course.solutions / "02_other.ipynb", (own_course.solutions / f"{CHAPTER}.ipynb").read_text())
    wrong = own_course.root / "02_other.ipynb"
    wrong.write_text((own_course.exercises / f"{CHAPTER}.ipynb").read_text())
    (result,) = grade([wrong], own_course).submissions
    assert (result.status, result.reason) == ("rejected", "the file is called 02_other, but holds chapter 01_fixture")


def test_check_needs_no_solutions(own_course: Course, submission: Callable[..., Any]) -> None:
    for path in own_course.solutions.iterdir():
        path.unlink()
    path = own_course.exercises / f"{CHAPTER}.ipynb"
    nbformat.write(submission(contiguous_strides=RIGHT_STRIDES, predict_strides="prediction = 1"), path)
    (result,) = practise([path], own_course).submissions
    assert statuses(result) == ["error", "passed", "skipped", "skipped"]
    assert [item.code for item in result.items] == ["prediction = 1", RIGHT_STRIDES, "", ""]


def test_an_unreadable_notebook_keeps_its_maximum(own_course: Course) -> None:
    path = own_course.exercises / f"{CHAPTER}.ipynb"
    most = practise([path], own_course).submissions[0].max_score
    path.write_text("{")
    told: list[int] = []
    graded = grade([path], own_course, keep=lambda report: told.extend(map(id, report.submissions)))
    assert {*told} <= {*map(id, graded.submissions)}  # the same objects, by which a progress bar knows what is new
    for report in (practise([path], own_course), graded):
        (result,) = report.submissions
        assert (result.status, result.chapter, result.score, result.max_score) == ("rejected", CHAPTER, 0, most)
        assert "not a valid notebook" in result.reason


SHOWN = {"version": 1, "rtol": 0, "atol": 0, "values": {"n": {"kind": "number", "data": 3}}}
WRONG = {**SHOWN, "values": {"n": {"kind": "number", "data": 4}}}


def shows(*bundles: Any, solution: str = "", called: bool | None = True) -> Outcome:
    """What comes of a check that shows these bundles where `SHOWN` is expected."""
    said = {"nonce": "", "phase": "check", "error": "", "called": called, "shown": bundles}
    return Outcome("shown", solution=solution, heard=compare.hear(json.dumps(said).encode(), SHOWN))


@pytest.fixture(scope="module")
def reference(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """One whose checks should show `SHOWN`, and call what the learner writes."""
    notebook = nbformat.read(course.solutions / f"{CHAPTER}.ipynb", as_version=4)
    kits = Kits(tmp_path_factory.mktemp("kits"), course, notebook)
    return Reference(notebook, kits, 1, draws={name: Draw(1, SHOWN, {name}) for name in NAMES})


@pytest.mark.parametrize(
    ("outcome", "status", "message"),
    [
        (shows(SHOWN), "passed", ""),
        (shows(SHOWN, solution="the solution cell: E"), "passed", ""),
        (shows(WRONG), "failed", "n: expected 3, got 4"),
        (shows(WRONG, solution="the solution cell: E"), "error", "the solution cell: E"),
        (shows(), "failed", "the check showed no bundle of values"),
        (shows(SHOWN, SHOWN), "failed", "the check showed more than one bundle of values"),
        (Outcome("error", "E: e", heard=shows(SHOWN).heard), "error", "E: e"),
        (Outcome("timeout", "stopped"), "timeout", "stopped"),
        (shows(SHOWN, called=None), "passed", ""),
        (shows(SHOWN, called=False), "failed", "the values are right, but the check did not call your function"),
        (shows(WRONG, called=False), "failed", "n: expected 3, got 4"),
        (Outcome("shown", heard=compare.Heard("", "check")), "error", "the check did not run"),
        *(
            (shows(forged), "failed", "the values shown are not of the course's format")
            for forged in (
                None,
                [],
                "x",
                {},
                {"values": SHOWN["values"]},
                {**SHOWN, "values": [1]},
                {**SHOWN, "values": {"n": 1}},
            )
        ),
        (
            shows({**SHOWN, "values": {"n": {"kind": "number", "data": [10**400]}}}),
            "failed",
            "the values shown are not of the course's format",
        ),
    ],
)
def test_points_come_from_one_explicit_pass_alone(
    reference: Reference, outcome: Outcome, status: str, message: str
) -> None:
    items = score(Submission(CHAPTER, dict.fromkeys(NAMES, "x = 1"), []), reference, {"running_mean": outcome})
    item = next(item for item in items if item.grade_id == "running_mean")
    assert (item.status, item.message, item.points) == (status, message, 2 if status == "passed" else 0)
    assert sum(item.points for item in items) == item.points


def test_a_fault_of_the_machine_is_told_from_the_learners(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat.write(submission(solved=True), tmp_path / "a.ipynb")
    monkeypatch.setattr(launch, "plain_environment", lambda folder: {"PYTHONHOME": "/nowhere"})
    report = grade([tmp_path / "a.ipynb"], course)
    assert [result.status for result in report.submissions] == ["not graded"]
    assert "could not be started: " in report.submissions[0].reason


def test_packages_that_cannot_be_made_are_no_learners_fault(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: Any) -> None:
        raise LookupError("no text of it was found")

    monkeypatch.setattr(packages.locate, "locate_all", fails)
    nbformat.write(submission(contiguous_strides=RIGHT_STRIDES), tmp_path / "a.ipynb")
    (result,) = grade([tmp_path / "a.ipynb"], course).submissions
    assert (result.status, result.reason) == (
        "not graded",
        "the reference could not be run: no text of it was found",
    )


def test_without_fork_each_exercise_has_a_process_of_its_own(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "can_nest", lambda: False)
    monkeypatch.setattr(launch, "can_fork", lambda: False)
    monkeypatch.setattr(packages, "_copy", without_forks(packages._copy))
    nbformat.write(submission(solved=True, running_mean="1 / 0"), tmp_path / "a.ipynb")
    (graded,) = grade([tmp_path / "a.ipynb"], course, explain=False).submissions
    assert statuses(graded) == ["passed", "passed", "error", "passed"]


def without_forks(copy: Callable[[Path, dict[str, Path]], None]) -> Callable[[Path, dict[str, Path]], None]:
    """What copies the packages, in which the process in the sandbox has no `os.fork`."""

    def copied(folder: Path, roots: dict[str, Path]) -> None:
        copy(folder, roots)
        path = folder / "course" / "grading" / "inside.py"
        path.write_text(path.read_text().replace("import os\n", "import os\n\ndel os.fork\n", 1))

    return copied


FORTRAN = """def contiguous_strides(size):
    return tuple(int(np.prod(size[:d])) for d in range(len(size)))"""


def test_an_exercise_alone_is_drawn_again_where_a_known_wrong_answer_looks_right(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another submission, which is wrong, brings it to light: who was lucky before is graded again."""
    nothing = "def contiguous_strides(size):\n    return (7,) * len(size)"
    for name, text in {"lucky": FORTRAN, "wrong": nothing}.items():
        nbformat.write(submission(solved=True, contiguous_strides=text), tmp_path / f"{name}.ipynb")
    really = Reference._run

    def run(self: Reference, runs: list[Task], pool: Pool) -> dict[str, Outcome]:
        """With the seed 5 the reference of `contiguous_strides` shows the values of its first mutant."""
        weak = [
            replace(each, solution=FORTRAN) if (each.exercise, each.seed) == ("contiguous_strides", 5) else each
            for each in runs
        ]
        return really(self, weak, pool)

    monkeypatch.setattr(Reference, "_run", run)
    report = grade([tmp_path / "lucky.ipynb", tmp_path / "wrong.ipynb"], course, seed=5)
    wrong = ["passed", "failed", "passed", "passed"]
    assert [statuses(result) for result in report.submissions] == [wrong, wrong]
    (again,) = report.redrawn
    assert (again.exercise, again.seed != 5) == ("contiguous_strides", True)
    assert again.reason == "the known mistake 'Walks from the left' shows the right values"
    assert Report.from_json(report.to_json()) == report
    alone = grade([tmp_path / "lucky.ipynb"], course, before=Report(5, [], report.redrawn))
    assert statuses(alone.submissions[0]) == wrong
