"""The formats of a report, each read by a parser of somebody else's, with what a learner may write into it."""

import codecs
import csv
import html.parser
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from course.__main__ import main
from course.checks.bundle import bundle, difference, known_mistakes
from course.checks.credit import Part, told
from course.checks.printable import MAX_MESSAGE, clean
from course.files import Course
from course.grading.assigned import with_assignments
from course.grading.report import Item, Report, Result
from course.reports.csv import COLUMNS, harmless, to_csv
from course.reports.feedback import Difference, TaskText, feedback, tasks_of
from course.reports.gradebook import Entry, Rules, entries
from course.reports.gradescope import NotGradedError, to_gradescope
from course.reports.html import page_names, write_html
from course.reports.junit import to_junit
from course.reports.overview import learners
from course.reports.table import Targets, print_report, progress, write_reports

CHAPTER = "01_fixture"
HOSTILE = "\x1b[31m</pre><script>alert(1)</script>\u202e&amp;\x07\x00\ud800\ufffe]]>{{ 7 * 7 }}"
SHOWN = "</pre><script>alert(1)</script>\\u202e&amp;\\x07\\x00\\ud800\\ufffe]]>{{ 7 * 7 }}"
CODE_OF_ANN = "def running_mean(values):\n    return '</pre><script>alert(2)</script>'"
MISTAKE = "These are the strides of the array before it was transposed."


@pytest.fixture
def report() -> Report:
    items = [
        Item("predict_strides", 0, 1, "failed", f"{MISTAKE}\nprediction: not the right value"),
        Item("contiguous_strides", 3, 3, "passed", ""),
        Item("running_mean", 0, 2, "error", f"the solution cell: ValueError: {HOSTILE}", code=CODE_OF_ANN),
        Item("smallest_step", 0, 2, "skipped", "not solved yet"),
    ]
    return Report(
        5,
        [
            Result("class/ann/01_fixture.ipynb", CHAPTER, "graded", "", 3, 8, 2.25, "", "2026-11-28T08:00:00Z", items),
            Result("class/=SUM(A1).ipynb", CHAPTER, "graded", "one\tnote", 0, 8, 1.0),
            Result("class/eve.ipynb", None, "rejected", f"not a valid notebook: {HOSTILE}"),
        ],
    )


def rows_of(report: Report, rules: Rules | None = None, one_student: bool = False) -> list[Entry]:
    chapters = {"00_old": 9, CHAPTER: 8}
    return entries(with_assignments(report, chapters), chapters, rules or Rules(), one_student)


def said(expected: Any, actual: Any) -> str:
    return difference(bundle({"x": expected}, 1e-5, 1e-6, False), bundle({"x": actual}, 1e-5, 1e-6, False))


@pytest.mark.parametrize(
    ("expected", "actual", "wanted"),
    [
        (5, 1, Difference("x", "5", "1")),
        ("yes, got it", "no", Difference("x", "string 'yes", "it', got string 'no'")),  # a comma of the expected text
        ([1, [2, 3]], [1, [2, 4]], Difference("x", "3", "4", "[1][1]")),
        ({"a": 1.5}, {"a": 2.5}, Difference("x", "1.5", "2.5", "['a']")),
        (np.ones(2), np.ones((2, 1)), Difference("x", "array float64 (2,)", "array float64 (2, 1)")),
        (None, np.ones(1), Difference("x", "None", "array float64 (1,)")),
        (
            np.array([[1.0, 2.0]]),
            np.array([[1.0, 3.0]]),
            Difference("x", "2.0", "3.0", "[0, 1]", "array float64 (1, 2)", "1 of 2 values differ"),
        ),
        (
            [np.zeros(2)],
            [np.array([0, np.nan])],
            Difference("x", "0.0", "nan", "[0][1]", "array float64 (2,)", "1 of 2 values differ"),
        ),
    ],
)
def test_what_differs_is_read_from_the_message(expected: Any, actual: Any, wanted: Difference) -> None:
    assert feedback(Item("e", 0, 1, "failed", said(expected, actual)), {}).told[0].differences == [wanted]


def test_a_tensor_in_a_list_is_shown_over_several_lines() -> None:
    (found,) = feedback(Item("e", 0, 1, "failed", said([np.eye(2)], [np.eye(2), 1])), {}).told[0].differences
    assert found.expected == "[array float64 (2, 2)\n  [[1, 0],\n   [0, 1]]]"
    assert found.got.endswith(", 1]")


@pytest.mark.turns(8)
def test_the_mistake_and_the_hints_of_the_exercise(course: Course, report: Report) -> None:
    tasks = tasks_of(course)
    wrong, right, error, skipped = (feedback(item, tasks) for item in report.submissions[0].items)
    assert [(told.mistakes, told.text) for told in wrong.told] == [([MISTAKE], "prediction: not the right value")]
    assert wrong.title == "Exercise 1 · What are the strides?"
    assert wrong.hints[0] == "What are they before the transpose?"
    assert (right.hints, right.told[0].text, right.verdict) == ([], "", "Right")
    assert error.told[0].text == f"the solution cell: ValueError: {SHOWN}"
    assert (skipped.told[0].text, len(skipped.hints)) == ("", 3)


def test_of_many_values_three_are_shown_and_the_mistake_stands_first() -> None:
    expected, actual = ({f"v{n}": n + add for n in range(5)} for add in (0, 1))
    right, wrong = (bundle(values, 0, 0, False) for values in (expected, actual))
    known = known_mistakes(right, [("You started at 1.", wrong)], "")
    message = difference({**right, "mistakes": known}, wrong)
    assert message.split("\n") == [
        "You started at 1.", "v0: expected 0, got 1", "v1: expected 1, got 2", "v2: expected 2, got 3", "and 2 more",
    ]  # fmt: skip
    (told,) = feedback(Item("e", 0, 1, "failed", message), {"e": TaskText("", mistakes=["You started at 1."])}).told
    assert (told.mistakes, [each.name for each in told.differences], told.text) == (
        ["You started at 1."], ["v0", "v1", "v2"], "and 2 more",
    )  # fmt: skip


def test_each_part_has_its_own_feedback() -> None:
    parts = [
        Part(["m:f"], 2, 2, "passed", ""),
        Part(["m:g"], 0, 1, "failed", f"{MISTAKE}\nx: expected 1, got 2"),
    ]
    item = Item("e", 2, 3, "error", told(parts, ""), parts)
    assert item.message == f"g: {MISTAKE}\nx: expected 1, got 2\nRight: f (2 of 3 points)."
    right, wrong = feedback(item, {"e": TaskText("", mistakes=[MISTAKE])}).told
    assert (right.part, wrong.part, wrong.mistakes) == (parts[0], parts[1], [MISTAKE])
    assert wrong.differences == [Difference("x", "1", "2")]


def test_text_is_cut_at_the_stated_length() -> None:
    assert clean("x" * MAX_MESSAGE) == "x" * MAX_MESSAGE
    assert clean("x" * (MAX_MESSAGE + 5)) == "x" * MAX_MESSAGE + "… (5 more characters)"
    assert clean("\x1b]0;title\x07a\x1b[1;31mb\x1b[0m") == "ab"


def test_junit_as_another_parser_reads_it(report: Report) -> None:
    junitparser = pytest.importorskip("junitparser", reason="pip install junitparser")
    read = junitparser.JUnitXml.fromstring(to_junit(report).encode())
    assert (read.tests, read.failures, read.errors, read.skipped) == (5, 1, 2, 1)
    suites = list(read)
    assert [suite.name for suite in suites] == [result.path for result in report.submissions]
    assert {each.name: each.value for each in suites[0].properties()} == {
        "assignment": CHAPTER, "score": "3", "max_score": "8", "submitted_at": "2026-11-28T08:00:00Z",
    }  # fmt: skip
    cases = {case.name: case for suite in suites for case in suite}
    assert isinstance(cases["predict_strides"].result[0], junitparser.Failure)
    assert cases["contiguous_strides"].is_passed and cases["smallest_step"].is_skipped
    assert cases["running_mean"].result[0].text == f"the solution cell: ValueError: {SHOWN}"
    assert cases["rejected"].result[0].message.startswith("not a valid notebook: ")
    read.update_statistics()  # its own count
    assert (read.tests, read.failures, read.errors, read.skipped) == (5, 1, 2, 1)


def test_the_gradebook_has_nbgraders_columns_and_no_formulas(report: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(rows_of(report)))))
    assert list(rows[0]) == COLUMNS
    assert [row["student_id"] for row in rows] == ["ann", "'=SUM(A1)", "eve"]
    assert [(row["score"], row["max_score"]) for row in rows] == [("3.0", "8.0"), ("0.0", "8.0"), ("", "")]
    assert (rows[0]["assignment"], rows[0]["timestamp"]) == (CHAPTER, "2026-11-28 08:00:00")
    assert (rows[2]["status"], rows[2]["reason"][:20]) == ("rejected", "not a valid notebook")


@pytest.mark.parametrize("begin", ["", " ", "\u3000", "\t", "a;", "a, ", 'a"', "a'", "a\n", "a|"])
@pytest.mark.parametrize("formula", [*"=+-@＝＋－＠"])
def test_no_cell_begins_a_formula_at_whatever_a_spreadsheet_splits(begin: str, formula: str) -> None:
    """OWASP's list; the cells are those of a program that splits at any of its separators and trims them."""
    cells = re.split(r"[,;|\t\r\n\"]", harmless(f"{begin}{formula}cmd|' /C calc'!A0"))
    assert not [cell for cell in cells if cell.strip().startswith(tuple("=+-@＝＋－＠"))], cells


def test_what_is_no_formula_stays_in_the_gradebook() -> None:
    for cell in ("3.0", "-2.5", "+4", "0", "1=2", "ann-lee", "2026-11-28 08:00:00", "a; b, c"):
        assert harmless(cell) == cell
    assert [harmless(f"{first}1")[0] for first in "\t\r\n"] == ["'"] * 3


def handed_in(path: str, score: int, at: str, status: str = "graded") -> Result:
    chapter = CHAPTER if status == "graded" else None
    return Result(path, chapter, status, "" if chapter else "broken", score, 8 if chapter else 0, submitted_at=at)


ROUNDS = [
    handed_in("ann/01_fixture.ipynb", 5, "2026-12-01T10:00:00Z"),
    handed_in("ann/01_fixture (1).ipynb", 8, "2026-12-03T09:00:00Z"),
    handed_in("ann/01_fixture (2).ipynb", 4, "2026-12-04T09:00:00Z"),
    handed_in("ann/01_fixture (3).ipynb", 0, "2026-12-05T09:00:00Z", "rejected"),
]


@pytest.mark.parametrize(("attempts", "score"), [("best", 8), ("last", 4), ("first", 5)])
def test_a_student_has_one_row_for_a_chapter(attempts: str, score: int) -> None:
    """Whatever the order in the report is; a file that is rejected is no attempt beside those that are not."""
    for results in (ROUNDS, ROUNDS[::-1]):
        (row,) = rows_of(Report(5, results), Rules(attempts))
        assert (row.student, row.score, len(row.others)) == ("ann", score, 3)
        assert row.note.endswith("not counted: ann/01_fixture (3).ipynb (rejected, 2026-12-05T09:00:00Z)")


def test_two_students_of_one_name_have_a_row_each_and_a_note() -> None:
    paths = {"ann/01_fixture.ipynb": 8, "group2/ann/01_fixture.ipynb": 3}
    rows = rows_of(Report(5, [handed_in(path, score, "") for path, score in paths.items()]))
    assert [(row.student, row.score, row.others) for row in rows] == [("ann", 8, ()), ("group2/ann", 3, ())]
    assert rows[1].note == "several folders are called ann, and each counts as one student's"


def test_a_row_that_is_named_after_its_file_says_whose_the_folder_is() -> None:
    paths = ["dan/my graph.ipynb", "hal/graph of hal.ipynb", "class/fay.ipynb", "class/gus.ipynb"]
    rows = rows_of(Report(5, [handed_in(path, 8, "") for path in paths]))
    assert [row.student for row in rows] == ["my graph", "graph of hal", "fay", "gus"]
    notes = [f"named after the file; the folder is {name}" for name in ("dan", "hal")]
    assert [row.note for row in rows] == [*notes, "", ""]
    assert [row["reason"] for row in csv.DictReader(io.StringIO(to_csv(rows)))] == [*notes, "", ""]


@pytest.mark.parametrize(
    ("percent", "cap", "score", "deducted"),
    [(10, 100, 6.4, 1.6), (40, 100, 5, 0), (40, 20, 6.4, 1.6)],  # 8 points a day and 21 hours late, or 5 in time
)
def test_lateness_costs_by_the_day_begun(percent: float, cap: float, score: float, deducted: float) -> None:
    due = datetime(2026, 12, 1, 12, tzinfo=UTC)
    (row,) = rows_of(Report(5, ROUNDS), Rules("best", due, percent, cap))
    assert (row.score, row.penalty) == (pytest.approx(score), deducted)
    (cells,) = csv.DictReader(io.StringIO(to_csv([row], due)))
    assert (cells["duedate"], cells["late_submission_penalty"]) == ("2026-12-01 12:00:00", str(float(deducted)))
    assert float(cells["raw_score"]) - deducted == pytest.approx(float(cells["score"])) == pytest.approx(score)


def test_a_rejected_file_is_known_by_its_name() -> None:
    results = [handed_in("ann/01_fixture (2).ipynb", 0, "", "rejected"), handed_in("b.ipynb", 0, "", "rejected")]
    known, unknown = rows_of(Report(5, results))
    assert (known.student, known.result.chapter, known.result.max_score) == ("ann", CHAPTER, 8)
    assert (unknown.student, unknown.result.chapter, unknown.result.max_score) == ("b", None, 0)


def test_a_row_says_that_nothing_was_answered() -> None:
    for statuses, note in (("skipped", "skipped"), "nothing answered"), (("skipped", "failed"), ""):
        items = [Item(f"e{place}", 0, 4, status, "") for place, status in enumerate(statuses)]
        (row,) = rows_of(Report(5, [Result("ann.ipynb", CHAPTER, "graded", "", 0, 8, items=items)]))
        assert row.note == note


def test_a_rejected_file_scores_0_and_one_that_the_machine_could_not_grade_waits() -> None:
    """The sums of the column and those of the overview's table of learners are the same."""
    chapter, other = (f"ann/{name}.ipynb" for name in (CHAPTER, "00_old"))
    faults = [Result(chapter, CHAPTER, "rejected", "broken"), Result(other, "00_old", "not graded", "no memory")]
    rows = rows_of(Report(5, [*faults, handed_in("bob/01_fixture.ipynb", 5, "")]))
    cells = list(csv.DictReader(io.StringIO(to_csv(rows))))
    wanted = [("ann", "0.0", "8.0"), ("ann", "", "9.0"), ("bob", "5.0", "8.0")]
    assert [(each["student_id"], each["score"], each["max_score"]) for each in cells] == wanted
    assert [(each.name, each.score, each.most) for each in learners(rows)] == [("ann", 0, 8), ("bob", 5, 8)]


def test_what_moved_to_another_chapter_does_not_outdo_its_own_notebook() -> None:
    moved = handed_in(f"ann/00_old.ipynb#{CHAPTER}", 8, "2026-12-09T00:00:00Z")
    (row,) = rows_of(Report(5, [moved, ROUNDS[0]]), Rules("last"))
    assert (row.student, row.score) == ("ann", 5)


def test_nobodys_points_go_to_somebody_with_a_folder() -> None:
    """The gradebook names students as `course.grading.student` does, which looks at all paths of the grade."""
    results = [handed_in("bob/01_fixture.ipynb", 8, ""), handed_in("ann/bob.ipynb", 1, "")]
    assert [(row.student, row.score) for row in rows_of(Report(5, results))] == [("bob", 8), ("ann", 1)]


def test_files_of_nobody_stay_apart() -> None:
    assert len(rows_of(Report(5, [handed_in(f"{CHAPTER}.ipynb", 1, ""), handed_in(f"/{CHAPTER}.ipynb", 2, "")]))) == 2


def test_gradescope_counts_a_chapter_once() -> None:
    results = [handed_in(f"{place}/01_fixture.ipynb", score, "") for place, score in (("a", 3), ("b", 8), ("c", 8))]
    made = json.loads(to_gradescope(rows_of(Report(5, results), one_student=True), 5))
    assert made["score"] == 8
    assert "not counted: c/01_fixture.ipynb (8 of 8 points)" in made["output"]


# https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
TEXT, VISIBILITY = {"type": "string"}, {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
NUMBER = {"type": "number", "minimum": 0}
GRADESCOPE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "score": NUMBER,
        "execution_time": {"type": "integer"},
        "output": TEXT,
        "output_format": FORMAT,
        "test_output_format": FORMAT,
        "test_name_format": FORMAT,
        "visibility": VISIBILITY,
        "stdout_visibility": VISIBILITY,
        "extra_data": {"type": "object"},
        "leaderboard": {"type": "array"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "score": NUMBER,
                    "max_score": NUMBER,
                    "status": {"enum": ["passed", "failed"]},
                    "name": TEXT,
                    "name_format": FORMAT,
                    "number": TEXT,
                    "output": TEXT,
                    "output_format": FORMAT,
                    "tags": {"type": "array", "items": TEXT},
                    "visibility": VISIBILITY,
                    "extra_data": {"type": "object"},
                },
            },
        },
    },
}


def test_gradescope(report: Report) -> None:
    results = json.loads(to_gradescope(rows_of(report), report.seed))
    jsonschema.validate(results, GRADESCOPE)
    assert results["score"] == sum(test["score"] for test in results["tests"]) == 3
    assert results["tests"][1] | {"name": "", "output": ""} == {
        "score": 3,
        "max_score": 3,
        "status": "passed",
        "name": "",
        "number": "1.2",
        "output": "",
        "output_format": "text",
        "visibility": "visible",
    }
    assert results["tests"][0]["output"].startswith(MISTAKE)
    assert results["tests"][-1]["output"].startswith("not a valid notebook")
    report.submissions.append(Result("x.ipynb", CHAPTER, "not graded", "no kernel"))
    with pytest.raises(NotGradedError, match="no kernel"):
        to_gradescope(rows_of(report), report.seed)


class Page(html.parser.HTMLParser):
    """The text and the elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.elements, self.links = "", [], []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.turns(8)
def test_the_pages_show_a_learners_text_as_text(course: Course, report: Report, tmp_path: Path) -> None:
    overview = write_html(report, rows_of(report), Rules(), tmp_path, course)
    pages = {path.name: Page(path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()}
    assert not {"img", "iframe", "link"} & {tag for page in pages.values() for tag in page.elements}
    assert [name for name, page in pages.items() for tag in page.elements if tag == "script"] == [overview.name]
    learner = pages["ann-01_fixture.html"]
    for text in (
        "3 of 8 points",
        CODE_OF_ANN,
        "What are the strides?",
        MISTAKE,
        "What are they before",
        f"ValueError: {SHOWN}",
    ):
        assert text in learner.text, text
    assert learner.links == []
    assert sorted(pages[overview.name].links) == sorted(name for name in pages if name != overview.name)
    assert all((tmp_path / link).exists() for link in pages[overview.name].links)
    assert f"not a valid notebook: {SHOWN}" in pages["eve.html"].text


def test_pages_are_called_after_students_and_no_two_alike() -> None:
    paths = [
        "class/ann/01_fixture.ipynb",
        "class/ann/01_fixture (1).ipynb",
        "class/Ann.ipynb",
        "class/Änn.ipynb",
        "class/bob!=){.ipynb",
        "class/bob.ipynb",
        "index.ipynb",
        "../../etc/x.ipynb",
        "...ipynb",
        "ü" * 300 + ".ipynb",
        "01_fixture.ipynb",  # nobody's
    ]
    found = page_names(rows_of(Report(1, [Result(path, CHAPTER, "graded") for path in paths])))
    assert [found[path] for path in paths[:7]] == [
        "class-ann-01_fixture-2.html",  # of files that are equally good, the first counts
        "class-ann-01_fixture.html",
        "class-Ann-01_fixture-3.html",  # another student, whose name differs in a capital
        "Änn-01_fixture.html",
        "bob-01_fixture.html",
        "bob-01_fixture-2.html",
        "index-01_fixture.html",
    ]
    names = {unicodedata.normalize("NFD", name).casefold() for name in found.values()}
    assert len(names) == len(paths) and "index.html" not in names
    assert all("/" not in name and len(name.encode()) < 220 and not name.startswith(".") for name in found.values())
    assert page_names(rows_of(Report(1, [Result("index.ipynb")]))) == {"index.ipynb": "index-2.html"}


def test_the_command_writes_every_format_from_a_saved_report(course: Course, report: Report, tmp_path: Path) -> None:
    """`--resume` with nothing left to grade makes the other formats of an old report."""
    saved, empty = tmp_path / "report.json", tmp_path / "empty"
    report.submissions.pop()  # what was rejected would be looked at again, and isn't there
    saved.write_text(Report(5, report.submissions).to_json(), encoding="utf-8", errors="surrogatepass")
    empty.mkdir()
    files = {name: tmp_path / f"report.{name}" for name in ("junit", "csv", "gradescope", "html")}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    report.submissions[0].items[2].message = "clean"
    saved.write_text(report.to_json(), encoding="utf-8")
    command = ["--root", str(course.root), "grade", str(empty), "--json", str(saved), "--resume", *options]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert files["junit"].read_text() == to_junit(report)
    assert files["csv"].read_bytes().startswith(codecs.BOM_UTF8)  # by which Excel knows that it is UTF-8
    assert files["csv"].read_text(encoding="utf-8-sig") == to_csv(rows_of(report))
    assert json.loads(files["gradescope"].read_text())["score"] == 3
    assert (files["html"] / "index.html").exists()


def test_a_fault_of_the_machine_is_no_gradescope_result(course: Course, report: Report, tmp_path: Path) -> None:
    report.submissions[1].status = "not graded"
    with pytest.raises(NotGradedError):
        write_reports(report, course, Targets(csv=tmp_path / "book.csv", gradescope=tmp_path / "r.json"), Rules())
    assert [path.name for path in tmp_path.iterdir()] == ["book.csv"]


@pytest.mark.turns(8)
@pytest.mark.skipif(os.name == "nt", reason="terminals are POSIX's")
def test_a_bar_moves_on_a_terminal_and_elsewhere_each_submission_is_a_line(course: Course, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "course", "--root", str(course.root), "grade", str(tmp_path / "missing.ipynb")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"1 of 1: {tmp_path / 'missing.ipynb'}\n")
    assert f"{tmp_path / 'missing.ipynb'}: rejected (no such file)\n" in done.stdout
    terminal, end = os.openpty()
    shown = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=end, check=False, env={**os.environ, "TERM": "xterm"}
    )
    os.close(end)
    told = os.read(terminal, 10_000)
    assert (b"1/1" in told, b"1 of 1" in told, b"1/1" in shown.stdout) == (True, False, False)
    os.close(terminal)


def test_a_grade_that_goes_on_tells_what_is_new(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    held, *new, again = (Result(f"{name}.ipynb") for name in "abca")
    _, moved = progress([tmp_path / "b.ipynb", tmp_path / "c.ipynb"], Report(5, [held]))
    for submissions in ([held], [held, *new], [again, *new]):
        moved(Report(5, submissions))
    assert capsys.readouterr().err.splitlines() == [
        "2 of 3: b.ipynb",
        "3 of 3: c.ipynb",
        "3 of 3: a.ipynb",
    ]


def printed(report: Report, **options: Any) -> str:
    console = Console(width=80, file=io.StringIO())
    print_report(report, console, **options)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_a_class_is_printed_a_line_each_and_its_sums(report: Report) -> None:
    one = report.submissions[0]
    assert "│ contiguous_strides" in printed(Report(5, [one]))
    more = Result(
        "b.ipynb", one.chapter, "graded", score=8, max_score=8, items=[replace(one.items[0], status="failed")]
    )
    told = printed(Report(5, [one, one, more]))
    assert told.count("graded, 3 of 8 points") == 2
    assert "│ contiguous_strides" not in told
    assert "01_fixture: 3 graded, mean 4.7 and median 3 of 8 points\n" in told
    assert "  solved: predict_strides 0, contiguous_strides 2, " in told
    assert printed(Report(5, [one, more]), details=True).count("│ predict_strides") == 2


def test_late_files_and_what_that_costs_are_printed(report: Report) -> None:
    due = datetime(2026, 12, 1, 18, tzinfo=UTC)
    late = replace(report.submissions[0], submitted_at="2026-12-03T09:00:00+00:00")
    in_time = replace(late, submitted_at="2026-12-01T17:59:00+00:00")
    assert "points, 2 days late, −0.6 points\n" in printed(Report(5, [late]), rules=Rules(due=due, late_penalty=10))
    assert "points, 2 days late\n" in printed(Report(5, [late]), rules=Rules(due=due))
    assert "late" not in printed(Report(5, [in_time]), rules=Rules(due=due, late_penalty=10))
