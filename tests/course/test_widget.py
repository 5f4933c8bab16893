"""What the welcome notebook shows of the progress: bars, or a table where there are no widgets."""

import re
import sys
from collections.abc import Iterator
from typing import Any

import IPython.display
import nbformat
import pytest
from rich.console import Console

from course import variables, widget
from course.files import CODE, Course
from course.grading.report import Item, Report, Result
from course.learner import practice
from course.learner.progress import table, table_of
from course.reports.table import print_report

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def mine(own_course: Course, monkeypatch: pytest.MonkeyPatch) -> Iterator[Course]:
    """A course of which two exercises are done."""
    monkeypatch.setenv("MINITORCH_COURSE_ROOT", str(own_course.root))
    monkeypatch.delenv(variables.MYTORCH, raising=False)
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
    assert "4/8 points" in data["text/plain"]
    assert data["text/plain"].endswith("Next: running_mean in exercises/01_fixture.ipynb\n")
    assert data[VIEW]["model_id"]
    total, following, again, rows, package_map = widget._Bars(mine, ipywidgets).children
    assert package_map.value == ""  # this course has no mytorch
    label, bar, points = rows.children[0].children
    assert (label.value, bar.value, bar.max, points.value) == ("01 fixture", 4, 8, "4/8")
    assert (total.value, following.value[:18]) == ("<b>4 of 8 points</b>", "Next: running_mean")
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
    assert "4/8 points" in data["text/plain"]


def test_the_map_shows_what_is_the_learners(own_core_course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    import ipywidgets

    monkeypatch.setenv("MINITORCH_COURSE_ROOT", str(own_core_course.root))
    monkeypatch.delenv(variables.MYTORCH, raising=False)
    shown = widget._Bars(own_core_course, ipywidgets)
    said = [shown.map.value]
    exercise = next(each for each in practice.exercises(own_core_course) if each.kind.parts)
    cells = nbformat.read(own_core_course.solutions / f"{exercise.chapter}.ipynb", as_version=4).cells
    answer = next(c.source for c in cells if c.metadata.get("nbgrader", {}).get("grade_id") == exercise.name)
    practice.keep(own_core_course, exercise, answer)
    shown.fill()
    said.append(shown.map.value)
    assert re.match(r"<p>None of the \d+ definitions of mytorch is yours yet", said[0])
    assert re.match(rf"<p>{len(exercise.kind.parts)} of \d+ definitions of mytorch are yours", said[1])
    assert all("<code>course write</code>" in text for text in said)
    images = [text.partition("<img ")[2] for text in said]
    assert not images[0] and images[1], "a map is drawn once something is the learner's"
    assert "<details><summary>A map of mytorch</summary><" in said[1]


def test_a_build_counts_nothing(mine: Course, shown: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variables.MYTORCH, str(mine.reference))
    widget.progress()
    assert shown == [{"text/plain": "Run this cell to see your progress."}]


def test_chapters_that_are_not_begun_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    import ipywidgets

    course = Course(CODE)
    every = practice.exercises(course)
    chapters = list(dict.fromkeys(each.chapter for each in every))
    done = {each.name for each in every if each.chapter in chapters[:1]}
    monkeypatch.delenv(variables.MYTORCH, raising=False)
    monkeypatch.setattr(practice, "is_kept", lambda _, exercise: exercise.name in done)
    folded = f"{len(chapters) - 2} chapters not begun"
    first, *others, last, _ = widget.as_text(course).splitlines()
    assert re.findall(r"(\d\d[a-z]?) [a-z ]+ [█░]{6}", first) == [name.partition("_")[0] for name in chapters[:2]]
    assert [line.strip() for line in others] == [folded] and f"/{sum(each.points for each in every)} points" in last
    rows = widget._Bars(course, ipywidgets).rows.children
    assert len(rows) == 3 and rows[-1].value == folded


def test_the_progress_of_the_whole_course_is_one_screen() -> None:
    """Of a terminal as it opens: 80 columns, 24 lines, one of them for the prompt. No chapter is left out."""
    course = Course(CODE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(practice, "is_kept", lambda *_: True)
        lines = widget.as_text(course, 80).splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    numbers = [name.partition("_")[0] for name in dict.fromkeys(each.chapter for each in practice.exercises(course))]
    assert sorted(re.findall(r"(\d\d[a-z]?) [a-z ]+ █{6}", "\n".join(lines))) == numbers
    assert f"{(points := sum(each.points for each in practice.exercises(course)))}/{points} points" in lines[-2]


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
