"""Which of a notebook's cells are an answer, and what is said about them."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner
from nbformat.v4 import new_code_cell

from course.__main__ import main
from course.files import Course
from course.grading.find import content, notebooks
from course.grading.intake import outline_of
from course.grading.merge import chapter_of, solutions_of
from course.grading.submission import RejectedError, Submission

NAME = "running_mean"
RIGHT = "def running_mean(x):\n    return x"


@pytest.fixture
def merged(course: Course, submission: Callable[..., Any]) -> Callable[..., Submission]:
    """Merges the learner's notebook in which the answer of `running_mean` consists of these cells."""

    def merge(*texts: str, **about: Any) -> Submission:
        notebook = submission()
        place, cell = next((i, c) for i, c in enumerate(notebook.cells) if c.get("id") == NAME)
        cells = []
        for text in texts:
            each = copy.deepcopy(cell)
            each.source = text
            for key, value in about.items():
                each.metadata[key] = value
            cells.append(each)
        notebook.cells[place : place + 1] = cells
        reference = nbformat.read(course.solutions / "01_fixture.ipynb", as_version=4)
        return solutions_of(notebook, outline_of(reference))

    return merge


@pytest.mark.parametrize(
    ("cells", "expected", "note"),
    [
        (["1 / 0\ndef running_mean(x): return 0", RIGHT], RIGHT, "2 cells, joined in order but for 1 earlier draft"),
        (["def running_mean(x:", RIGHT], RIGHT, "2 cells, joined in order but for 1 earlier draft"),
        ([RIGHT, "def running_mean(x:"], RIGHT, "2 cells, joined in order but for 1 earlier draft"),
        ([RIGHT, RIGHT, RIGHT], RIGHT, "3 cells, joined in order but for 2 earlier drafts"),
        (["y = 1", RIGHT], f"y = 1\n\n{RIGHT}", "2 cells, joined in order"),
        (
            ["K = 1\ndef running_mean(x): return 0", f"{RIGHT} * K"],
            f"K = 1\ndef running_mean(x): return 0\n\n{RIGHT} * K",
            "2 cells, joined in order",
        ),
        (
            ["K = 1\ndef running_mean(x): return 0", f"K = 2\n{RIGHT} * K"],
            f"K = 2\n{RIGHT} * K",
            "2 cells, joined in order but for 1 earlier draft",
        ),
        ([RIGHT, "running_mean(1)"], f"{RIGHT}\n\nrunning_mean(1)", "2 cells, joined in order"),
        (["y = (", "z = )"], "y = (\n\nz = )", "2 cells, joined in order"),
    ],
)
def test_of_several_cells_the_later_definition_counts(
    merged: Callable[..., Submission], cells: list[str], expected: str, note: str
) -> None:
    made = merged(*cells)
    assert (made.solutions[NAME], made.notes) == (expected, [f"{NAME}: {note}"])


def test_carriage_returns_end_lines(merged: Callable[..., Submission]) -> None:
    assert merged(RIGHT.replace("\n", "\r")).solutions[NAME] == RIGHT
    assert merged(RIGHT.replace("\n", "\r\n")).solutions[NAME] == RIGHT


@pytest.mark.parametrize("lost", [{}, {"grade_id": None}, {"grade": False}, "x", None])
def test_an_answer_whose_metadata_are_lost_is_found_by_its_id(merged: Callable[..., Submission], lost: Any) -> None:
    made = merged(RIGHT, nbgrader=lost, minitorch=lost)
    assert (made.solutions[NAME], made.answered) == (RIGHT, [NAME])


def test_another_grade_id_is_not_overruled_by_the_cells_id(merged: Callable[..., Submission]) -> None:
    assert NAME not in merged(RIGHT, nbgrader={"grade_id": "elsewhere"}).solutions


def in_added_cells(notebook: Any, *texts: str, keeps: bool = True) -> Any:
    """The notebook with cells that the learner added below the one for the answer, which may be gone."""
    place = next(i for i, cell in enumerate(notebook.cells) if cell.get("id") == NAME)
    notebook.cells[place + keeps : place + 1] = map(new_code_cell, texts)
    return notebook


@pytest.mark.parametrize("keeps", [True, False])
def test_an_answer_in_an_added_cell_counts_where_its_own_is_empty_or_gone(
    course: Course, submission: Callable[..., Any], keeps: bool
) -> None:
    outline = outline_of(nbformat.read(course.solutions / "01_fixture.ipynb", as_version=4))
    made = solutions_of(in_added_cells(submission(), "K = 1", RIGHT, keeps=keeps), outline)
    assert (made.solutions[NAME], made.answered) == (f"K = 1\n\n{RIGHT}", [NAME])
    assert made.notes == [
        f"{NAME}: its own cell is empty or gone, so what was added above its check counts",
        f"{NAME}: 2 cells, joined in order",
    ]
    for texts in (("K = 1",), ("def running_mean(x:",)):
        made = solutions_of(in_added_cells(submission(), *texts, keeps=keeps), outline)
        assert (made.answered, made.notes) == ([], ["1 code cell that the learner added not run"])
    own = solutions_of(in_added_cells(submission(running_mean=RIGHT), "running_mean = 5"), outline)
    assert (own.solutions[NAME], own.notes) == (RIGHT, ["1 code cell that the learner added not run"])


def test_an_answer_that_was_split_off_its_cell_is_joined_with_it(
    course: Course, submission: Callable[..., Any]
) -> None:
    outline = outline_of(nbformat.read(course.solutions / "01_fixture.ipynb", as_version=4))
    made = solutions_of(in_added_cells(submission(running_mean="K = 1"), RIGHT, "print(K)"), outline)
    assert (made.solutions[NAME], made.answered) == (f"K = 1\n\n{RIGHT}\n\nprint(K)", [NAME])
    assert made.notes[0] == f"{NAME}: its own cell does not answer it, so what was added above its check counts"
    assert len(made.notes) == 2  # what counts is not among the cells that were not run
    broken = solutions_of(in_added_cells(submission(running_mean="def running_mean(x:"), RIGHT), outline)
    assert broken.idle[NAME][0] == "error"  # as in a notebook, where it ran last
    lacking = solutions_of(in_added_cells(submission(running_mean="K = 1"), "print(K)"), outline)
    assert (lacking.solutions[NAME], lacking.notes) == ("K = 1", ["1 code cell that the learner added not run"])


def test_who_handed_in_the_lesson_is_told(course: Course, submission: Callable[..., Any]) -> None:
    notebook = submission()
    notebook.cells = [new_code_cell(RIGHT)]
    made = solutions_of(notebook, outline_of(nbformat.read(course.solutions / "01_fixture.ipynb", as_version=4)))
    assert made.notes[0] == "no cell for an answer is in it: the exercises are in exercises/01_fixture.ipynb"


def test_two_answers_in_one_cell_count_for_both(course: Course, submission: Callable[..., Any]) -> None:
    outline = outline_of(nbformat.read(course.solutions / "01_fixture.ipynb", as_version=4))
    both = f"{RIGHT}\n\ndef smallest_step(): return 1"
    for name, other in ((NAME, "smallest_step"), ("smallest_step", NAME)):
        made = solutions_of(submission(**{name: both}), outline)
        assert made.solutions[name] == made.solutions[other] == both
        assert made.answered == [each for each in outline.stubs if each in (name, other)]
        assert made.notes == [f"{other}: its own cell is empty or gone, so the answer in the cell of {name} counts"]
    wrong = solutions_of(submission(running_mean=both, smallest_step="def smallest_step(): return 2"), outline)
    assert (wrong.solutions["smallest_step"], wrong.notes) == ("def smallest_step(): return 2", [])
    outline.names["smallest_step"].append("running_mean")  # both ask for it, so nobody knows whose it is
    assert solutions_of(submission(running_mean=both), outline).answered == [NAME]


def test_the_chapter_is_that_of_the_answers_where_the_metadata_name_none(
    course: Course, submission: Callable[..., Any]
) -> None:
    outline = outline_of(nbformat.read(course.solutions / "01_fixture.ipynb", as_version=4))
    chapters = {"00_other": replace(outline, chapter="00_other", stubs={}, solutions={}), "01_fixture": outline}
    notebook = submission()
    del notebook.metadata["minitorch"]
    assert chapter_of(notebook, "ann", chapters) == "01_fixture"
    for cell in notebook.cells:
        cell.metadata = {}
    assert chapter_of(notebook, "ann", chapters) == "01_fixture"
    with pytest.raises(RejectedError, match="holds chapter 01_fixture"):
        chapter_of(notebook, "00_other", chapters)
    notebook.cells = [new_code_cell(RIGHT)]
    with pytest.raises(RejectedError, match="name no chapter"):
        chapter_of(notebook, "01_fixture", chapters)


def test_answers_are_found_by_the_checks_below_them_where_all_metadata_and_ids_are_lost(
    course: Course, submission: Callable[..., Any]
) -> None:
    notebook = submission(running_mean=RIGHT, predict_strides="prediction = (1,)")
    for number, cell in enumerate(notebook.cells):
        cell.metadata, cell.id = {}, f"new-{number}"
    made = solutions_of(notebook, outline_of(nbformat.read(course.solutions / "01_fixture.ipynb", as_version=4)))
    assert {name: made.solutions[name] for name in made.answered} == {
        NAME: RIGHT,
        "predict_strides": "prediction = (1,)",
    }


def test_a_cell_that_is_no_longer_of_code_is_told(course: Course, submission: Callable[..., Any]) -> None:
    notebook = submission()
    cell = next(cell for cell in notebook.cells if cell.get("id") == NAME)
    cell.cell_type = "markdown"
    made = solutions_of(notebook, outline_of(nbformat.read(course.solutions / "01_fixture.ipynb", as_version=4)))
    assert NAME not in made.solutions
    assert made.notes == [f"{NAME}: its cell is not of code any more: turn it into one again"]


def test_empty_cells_are_not_counted(course: Course, submission: Callable[..., Any]) -> None:
    notebook = submission()
    notebook.cells += [new_code_cell(text) for text in ("", "\n  ", "x = 1")]
    reference = nbformat.read(course.solutions / "01_fixture.ipynb", as_version=4)
    made = solutions_of(notebook, outline_of(reference))
    assert made.notes == ["1 code cell that the learner added not run"]


def test_what_is_no_python_is_not_run(merged: Callable[..., Submission]) -> None:
    made = merged("x = 1\ny = = 2")
    assert made.answered == [NAME]
    assert made.untried(NAME) == ("error", "the solution cell: SyntaxError: invalid syntax (line 2: `y = = 2`)")
    assert merged("await x").untried(NAME) == merged("%time x = 1").untried(NAME) == ("", "")


def test_an_ending_in_capitals_is_found(tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "00_welcome.IPYNB").touch()
    assert notebooks([tmp_path]) == [tmp_path / "ann" / "00_welcome.IPYNB"]


def test_nobody_is_lost_whose_file_is_no_notebook(tmp_path: Path) -> None:
    files = ["ann/01_a.ipynb.txt", "ben/01_a.zip", "cem/01_a.html", "dev.tar.gz", "gus/01_a.docx", "hal/01_a.md"]
    others = [
        "eva/01_a.ipynb",
        "eva/01_a.zip",
        "eva/01_a.html",
        "eva/data.csv",
        "fay/01_a.ipynb",
        "fay.zip",
        "notes.txt",
    ]
    for name in files + others:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"any")
    found = {path.relative_to(tmp_path).as_posix() for path in notebooks([tmp_path])}
    assert found == {*files, "eva/01_a.ipynb", "fay/01_a.ipynb"}
    assert content(tmp_path / "ann" / "01_a.ipynb.txt") == b"any"
    for name, reason in (
        ("ben/01_a.zip", "an archive: unpack it"),
        ("cem/01_a.html", "hand in the file that ends with"),
        ("gus/01_a.docx", "hand in the file that ends with"),
    ):
        with pytest.raises(RejectedError, match=reason):
            content(tmp_path / name)


def test_a_learner_who_handed_in_another_file_or_folder_is_rejected_with_a_reason(tmp_path: Path) -> None:
    theirs = ["ann.ipynb", "ben/01_a.ipynb", "paul.py", "moe/src/homework.py"]
    others = ["ann.pdf", "ben/helper.py", "ben/src/more.py", "data/digits.csv", "README.md"]
    for name in theirs + others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).as_posix() for path in notebooks([tmp_path])]
    assert found == ["ann.ipynb", "ben/01_a.ipynb", "moe", "paul.py"]
    assert notebooks([tmp_path / "ben"]) == [tmp_path / "ben" / "01_a.ipynb"]
    with pytest.raises(RejectedError, match=r"^not a notebook: hand in the file that ends with \.ipynb$"):
        content(tmp_path / "paul.py")
    with pytest.raises(RejectedError, match=r"^a folder without a notebook: hand in the file"):
        content(tmp_path / "moe")


def test_a_learner_in_a_group_of_the_class_is_rejected_too(tmp_path: Path) -> None:
    theirs = ["monday/ann/01_a.ipynb", "monday/ben/work.ipynb", "monday/moe/work.pdf", "monday/paul.docx"]
    others = ["dan/01_a/01_a.ipynb", "dan/02_b/02_b.ipynb", "dan/src/helper.py", "monday/ann/src/helper.py"]
    for name in theirs + others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = {path.relative_to(tmp_path).as_posix() for path in notebooks([tmp_path])}
    assert found == {*theirs[:2], "monday/moe", "monday/paul.docx", *others[:2]}


def test_a_grade_of_nothing_is_an_error(course: Course, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["--root", str(course.root), "grade", str(tmp_path)])
    assert done.exit_code == 2
    assert f"there is no notebook (*.ipynb) in {tmp_path} or a folder below" in " ".join(done.output.split())
