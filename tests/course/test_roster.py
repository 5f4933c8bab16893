"""The list of a class in a grade: who handed in nothing, who isn't on it, and whose folder a file lies in."""

import csv
import io
from pathlib import Path

import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.files import Course
from course.grading.report import Report, Result
from course.grading.student import students_of
from course.reports.csv import to_csv
from course.reports.gradebook import Entry, Rules, entries
from course.reports.html import write_html
from course.reports.overview import learners
from course.reports.roster import read_roster, with_roster
from tests.course.test_overview import Tables

CHAPTER = "01_fixture"
POINTS = {CHAPTER: 8}
REPORT = Report(
    5,
    [
        Result("class/ann/01_fixture.ipynb", CHAPTER, "graded", "", 3, 8),
        Result("class/zoe/01_fixture.ipynb", CHAPTER, "graded", "", 8, 8),
        Result("class/cat.ipynb", CHAPTER, "rejected", "the file is empty", 0, 8),
    ],
)
CLASS = ("ann", "Bob Lee", "cat")


def rows_of(roster: tuple[str, ...], assignment: str) -> list[Entry]:
    return with_roster(entries(REPORT, POINTS, Rules(roster=roster)), roster, assignment, POINTS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("class.txt", "ann\n\n  Lee, Bob \nann\n"),
        ("class.csv", "student_id,score\nann,1\n\"Lee, Bob\",\n,3\n"),
        ("class.CSV", "\ufeffID;x,student_id\n7,ann\n8,\"Lee, Bob\"\n"),
        ("class.csv", "Student,ID\nann,7\n\"Lee, Bob\",8\n\n"),
    ],
)  # fmt: skip
def test_the_names_of_a_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_roster(tmp_path / name) == ["ann", "Lee, Bob"]


@pytest.mark.parametrize(("name", "text"), [("class.txt", "\n"), ("class.csv", ""), ("class.csv", "student_id\n")])
def test_a_file_that_names_nobody_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="names nobody"):
        read_roster(tmp_path / name)


def test_everybody_on_the_list_has_a_row_and_others_a_note() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(rows_of(CLASS, CHAPTER)))))
    assert [(row["student_id"], row["score"], row["reason"]) for row in rows] == [
        ("ann", "3.0", ""),
        ("zoe", "8.0", "not on the roster"),
        ("cat", "0.0", "the file is empty"),
        ("Bob Lee", "0.0", "nothing handed in"),
    ]
    assert (rows[3]["assignment"], rows[3]["max_score"], rows[3]["status"]) == (CHAPTER, "8.0", "missing")
    assert [row.note for row in rows_of((), CHAPTER)] == ["", "", "the file is empty"]


def test_without_an_assignment_nobody_owes_points_of_a_chapter() -> None:
    *_, bob = rows_of(CLASS, "")
    assert (bob.student, bob.result.chapter, bob.note) == ("Bob Lee", None, "nothing handed in")
    assert [(each.name, each.score, each.most) for each in learners([bob])] == [("Bob Lee", 0, 0)]


@pytest.mark.parametrize("assignment", [CHAPTER, ""])
def test_the_overview_shows_who_handed_in_nothing(course: Course, tmp_path: Path, assignment: str) -> None:
    overview = write_html(REPORT, rows_of(CLASS, assignment), Rules(), tmp_path, course)
    tables = Tables(overview.read_text(encoding="utf-8"))
    totals = {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in tables.rows["Learners"]}
    points = ["0/8", "0 %"] if assignment else ["0/0", "–"]
    reason = "01_fixture: nothing handed in" if assignment else "nothing handed in"
    assert totals["Bob Lee"] == ["0", *points, "1", reason]
    assert "Files without a chapter" not in tables.rows
    assert len([*tmp_path.glob("*.html")]) == 1 + len(REPORT.submissions)


def test_a_folder_that_is_called_like_a_student_is_theirs() -> None:
    paths = ["dan/my graph.ipynb", "dan/other.ipynb", "x/eve.ipynb"]
    assert list(students_of(paths, [CHAPTER]).values()) == ["my graph", "other", "eve"]
    assert list(students_of(paths, [CHAPTER], ["Dan", "eve"]).values()) == ["dan", "dan", "eve"]


@pytest.mark.turns(8)
def test_the_command_takes_a_list_for_the_gradebook_alone(course: Course, tmp_path: Path) -> None:
    saved, roster, book = tmp_path / "report.json", tmp_path / "class.txt", tmp_path / "book.csv"
    (tmp_path / "empty").mkdir()
    graded = [each for each in REPORT.submissions if each.status == "graded"]
    saved.write_text(Report(5, graded).to_json(), encoding="utf-8")
    roster.write_text("ann\nbob\n")
    command = ["--root", str(course.root), "grade", str(tmp_path / "empty"), "--json", str(saved), "--resume"]
    command += ["--assignment", CHAPTER, "--roster", str(roster)]
    refused = CliRunner().invoke(main, command)
    assert (refused.exit_code, "pass --csv or --html" in refused.output) == (2, True)
    done = CliRunner().invoke(main, [*command, "--csv", str(book)])
    assert done.exit_code == 0, done.output
    assert "zoe: not on the roster\nbob: nothing handed in\n" in done.output
    rows = list(csv.DictReader(io.StringIO(book.read_text(encoding="utf-8-sig"))))
    assert [row["student_id"] for row in rows] == ["ann", "zoe", "bob"]
