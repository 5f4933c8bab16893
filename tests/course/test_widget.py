"""What the welcome notebook shows of the progress: bars, or a table where there are no widgets."""

import sys
from collections.abc import Iterator
from typing import Any

import IPython.display
import pytest
from rich.console import Console

from course import package, practice, widget
from course.files import CODE, Course
from course.grade import Item, Report, Result
from course.progress import table, table_of
from course.report import print_report

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def mine(own_course: Course, monkeypatch: pytest.MonkeyPatch) -> Iterator[Course]:
    """A course of which two exercises are done."""
    monkeypatch.setenv("MINITORCH_COURSE_ROOT", str(own_course.root))
    monkeypatch.delenv(package.VARIABLE, raising=False)
    own_course.mine.mkdir(exist_ok=True)
    for name in ("predict_strides", "contiguous_strides"):
        practice.solution_path(own_course, name).write_text("x = 1\n")
    yield own_course


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(IPython.display, "publish_display_data", found.append)
    return found


def test_bars_and_the_table_beside_them(mine: Course, shown: list[dict[str, Any]]) -> None:
    import ipywidgets

    widget.progress()
    (data,) = shown
    assert "2 of 4" in data["text/plain"] and "4 of 8" in data["text/plain"]
    assert data["text/plain"].endswith("Next: running_mean in exercises/01_fixture.ipynb\n")
    assert data[VIEW]["model_id"]
    total, rows, following, again = widget._Bars(mine, ipywidgets).children
    label, bar, points = rows.children[0].children
    assert (label.value, bar.value, bar.max, points.value) == ("01 fixture", 4, 8, "4/8")
    assert (total.value, following.value[:18]) == ("<b>4 of 8 points</b>, 2 of 4 exercises", "Next: running_mean")
    for name in ("running_mean", "smallest_step"):
        practice.solution_path(mine, name).write_text("x = 1\n")
    again.click()
    assert rows.children[0].children[1].bar_style == "success"
    assert following.value == "Every exercise is done."


def test_the_table_alone_where_there_are_no_widgets(
    mine: Course, shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    widget.progress()
    assert shown == [{"text/plain": widget.as_text(mine)}]


def test_in_a_notebook_the_table_is_text_and_nothing_is_displayed_beside_it(
    mine: Course, shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    widget.progress()
    (data,) = shown
    assert "4 of 8" in data["text/plain"]


def test_a_build_counts_nothing(mine: Course, shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(package.VARIABLE, str(mine.reference))
    widget.progress()
    assert shown == [{"text/plain": "Run this cell to see your progress."}]


def test_tables_fit_80_columns() -> None:
    """Of the whole course, with everything done; nothing that tells an exercise is cut."""
    course = Course(CODE)
    exercises = practice.exercises(course)
    shown = Console(width=80)
    with shown.capture() as capture, pytest.MonkeyPatch.context() as patch:
        patch.setattr(practice, "is_kept", lambda *_: True)
        shown.print(table(course))
        for chapter in {each.chapter for each in exercises}:
            shown.print(table_of(course, chapter))
        items = [Item(each.name, 0, each.points, "failed", "x: expected 1, got 2") for each in exercises]
        print_report(Report(1, [Result("a.ipynb", "01", "graded", items=items)]), shown)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    for each in exercises:
        assert sum(each.name in line for line in lines) >= 2, each.name
    assert "…" not in capture.get()
