"""The teacher's overview: who has which points for which exercise, what the class finds hard, and which file counts."""

from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from course.files import Course
from course.grading.report import Item, Report, Result
from course.reports.gradebook import Rules, entries
from course.reports.html import write_html
from tests.course.in_browser import new_page

CHAPTERS = ["01_fixture", "02_other"]


def result(student: str, chapter: str, at: str, *items: tuple[str, int, int, str]) -> Result:
    made = [Item(name, points, most, status, "") for name, points, most, status in items]
    scores = sum(item.points for item in made), sum(item.max_points for item in made)
    return Result(f"{student}/{chapter}.ipynb", chapter, "graded", "", *scores, submitted_at=at, items=made)


REPORT = Report(
    7,
    [
        result("ann", "01_fixture", "2026-12-01T08:00:00Z", ("first", 1, 1, "passed"), ("second", 0, 3, "timeout")),
        result("bob", "01_fixture", "2026-12-02T08:00:00Z", ("first", 1, 1, "passed"), ("second", 3, 3, "passed")),
        result("cat", "01_fixture", "2026-12-01T08:00:00Z", ("first", 0, 1, "skipped"), ("second", 2, 3, "failed")),
        result("dan", "02_other", "2026-12-01T08:00:00Z", ("third", 2, 2, "passed")),
        Result("eve/01_fixture.ipynb", "01_fixture", "rejected", "the file is empty", max_score=4),
        Result("fay/02_other.ipynb", "02_other", "not graded", "no memory", max_score=2),
        Result("ann/01_fixture (1).ipynb", "01_fixture", "rejected", "a link"),
    ],
)
RULES = Rules("best", datetime(2026, 12, 1, 12, tzinfo=UTC), 25)


class Tables(HTMLParser):
    """The sections of a page by their headings: rows of texts of cells; and the other texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.notes: dict[str, str] = {}
        self._tag = self._heading = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self._tag = tag if tag in ("h2", "th", "td", "p") else self._tag
        if tag == "tr":
            self.rows.setdefault(self._heading, []).append([])
        if tag in ("th", "td"):
            self.rows[self._heading][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._tag = "" if tag == self._tag else self._tag

    def handle_data(self, data: str) -> None:
        if self._tag == "h2":
            self._heading = data
        elif self._tag in ("th", "td"):
            self.rows[self._heading][-1][-1] += f" {data.strip()}"
        elif self._tag == "p":
            self.notes[self._heading] = self.notes.get(self._heading, "") + data


@pytest.fixture
def overview(course: Course, tmp_path: Path) -> Path:
    return write_html(REPORT, entries(REPORT, CHAPTERS, RULES), RULES, tmp_path, course)


def test_learners_and_exercises(overview: Path) -> None:
    tables = Tables(overview.read_text(encoding="utf-8"))
    first, other = (name for name in tables.rows if name not in ("Learners", ""))
    rows = {cells[0].strip(): [" ".join(cell.split()) for cell in cells[1:]] for cells in tables.rows[first]}
    assert rows["learner"] == ["points", "first", "second", "handed in (UTC)", "note"]
    assert rows["ann"][:3] == ["1 /4", "1", "0 timeout"]
    assert rows["ann"][4] == "not counted: ann/01_fixture (1).ipynb (rejected)"
    assert rows["bob"][:4] == ["3 /4 −1 late", "1", "3", "2026-12-02 08:00:00"]  # a quarter of 4
    assert rows["cat"][:3] == ["2 /4", "0 skipped", "2 failed"]
    assert rows["eve"] == ["rejected", "–", "–", "", "the file is empty"]
    assert rows["mean"][:3] == ["2.0/4", "0.7/1", "1.7/3"]  # of the three with a grade
    assert rows["solved by"][1:3] == ["2/3", "1/3"]
    assert "Less than half of the learners handed in a notebook of 02_other" in tables.notes[other]
    assert "Less than half" not in tables.notes.get(first, "")
    totals = {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in tables.rows["Learners"]}
    assert (totals["bob"], totals["dan"]) == (["1", "3/4", "75 %", "0", ""], ["1", "2/2", "100 %", "0", ""])
    assert totals["eve"] == ["0", "0/4", "0 %", "1", "01_fixture: the file is empty"]  # the maximum stays
    assert totals["fay"] == ["0", "0/0", "–", "1", "02_other: no memory"]  # the machine's fault costs nobody points


@pytest.mark.turns(8)
@pytest.mark.needs("browser")
def test_a_long_path_in_a_note_is_not_cut_off(course: Course, tmp_path: Path) -> None:
    folder = "a_folder_with_a_long_name/" * 3
    results = [replace(each, path=f"{folder}{each.path}") for each in REPORT.submissions]
    report = replace(REPORT, submissions=results)
    overview = write_html(report, entries(report, CHAPTERS, RULES), RULES, tmp_path, course)
    with new_page() as page:
        page.goto(overview.as_uri())
        over = page.locator(".wide").first.evaluate("each => each.scrollWidth - each.clientWidth")
        assert over <= 0


@pytest.mark.turns(8)
@pytest.mark.needs("browser")
def test_a_click_on_a_column_sorts_by_it(overview: Path) -> None:
    with new_page() as page:
        page.goto(overview.as_uri())
        names = page.locator(".sortable").first.locator("tbody th")
        points = page.get_by_role("button", name="points").first
        assert names.all_text_contents() == ["ann", "bob", "cat", "eve"]
        points.click()
        assert names.all_text_contents() == ["eve", "ann", "cat", "bob"]  # whoever has no grade is first or last
        points.click()
        assert names.all_text_contents() == ["bob", "cat", "ann", "eve"]
