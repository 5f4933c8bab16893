"""The interview in a notebook."""

from __future__ import annotations

import html
import re
from typing import Any

import ipywidgets
import numpy as np
import pytest

from course.files import Course
from course.interview import asking, faults, history, notebook, rounds
from course.interview.bank import Bank
from course.interview.history import Item
from course.interview.scope import Plan
from tests.course.interview.holding import Time, at, hold, kept


def buttons(box: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for child in getattr(box, "children", ()):
        if isinstance(child, ipywidgets.Button):
            found[child.description] = child
        found |= buttons(child)
    return found


def test_the_notebook_holds_the_same_rounds(course: Course) -> None:
    time = Time()
    room = notebook.room_for(course, ipywidgets, Plan(("rapid",), 1, 1), time.clock)
    for place, level in enumerate((4, 0, 2)):
        assert "Rapid fire" in room.said.value and f"{place + 1} of 3" in room.said.value
        assert "How sure" in room.asked.value and "animation-duration: 20s" in room.clock.value
        buttons(room.answer)[asking.SURE[level]].click()
        assert "Were you right?" in room.asked.value and not room.clock.value
        buttons(room.answer)["yes" if place != 1 else "no"].click()
        if place == 1:
            assert "It is taught in" in room.said.value
            buttons(room.answer)["Go on"].click()
    assert "How it went" in room.said.value and "right in 67 %" in room.said.value
    told = "10 % sure, 0 of 1 right; 50 % sure, 1 of 1 right; 90 % sure, 1 of 1 right."
    assert f'<img alt="How often you were right, by how sure you were: {told}"' in room.said.value
    assert "│" not in room.said.value
    assert [(each["sure"], each["score"]) for each in kept(course)["answers"]] == [(90, 1.0), (10, 0.0), (50, 1.0)]
    buttons(room.answer)["Another interview"].click()
    assert "Begin" in buttons(room.answer)


def test_the_notebook_goes_on_where_the_terminal_stopped(course: Course, time: Time) -> None:
    hold(course, "--round", "rapid", "--minutes", "1", "--seed", "1", replies="5\n1\n")
    room = notebook.room_for(course, ipywidgets)
    assert "This interview goes on: 1 of 3 done" in room.said.value


@pytest.mark.turns(8)
def test_the_notebook_ticks_writes_and_edits(course: Course, bank: Bank) -> None:
    room = notebook.room_for(course, ipywidgets, clock=Time().clock)
    toggles = list(room.answer.children[1].children)
    assert [each.description for each in toggles] == [each.title for each in rounds.ROUNDS.values()]
    past = room.interview.history
    names = [f"f-{name}" for name in ("mask-polarity", "label-shift", "softmax-twice", "no-zero-grad")]
    asked = next(card for card in bank.of("question") if card.chapter[:2] == "22")
    items = [Item("explain", [asked.name], 1), Item("estimate", ["n-the-first-loss"], 1), Item("debug", names, 1)]
    past.open = history.Open(1, 45, False, items)
    room = notebook.Room(room.interview, ipywidgets)
    assert not room.clock.value
    room.answer.children[0].value = "bfloat16 has the exponent of float32"
    buttons(room.answer)["I have answered"].click()
    assert "You wrote <code>bfloat16 has the exponent" in room.said.value
    buttons(room.answer)[asking.SURE[1]].click()
    while "I have answered" in buttons(room.answer):
        buttons(room.answer)["I have answered"].click()
    room.answer.children[0].value = True
    buttons(room.answer)["Done"].click()
    ticked = re.findall("<li>([✓✗])", room.said.value)
    assert ticked == ["✓", "✗", "✗"]
    buttons(room.answer)["go on"].click()
    room.answer.children[0].value = "9.99"
    buttons(room.answer)["Answer"].click()
    buttons(room.answer)[asking.SURE[4]].click()
    buttons(room.answer)["Go on"].click()
    field = room.answer.children[1]
    chosen = [faults.named(name[2:].replace("-", " ").replace("zero grad", "zero_grad")) for name in names]
    assert field.value == faults.spelled(faults.planted(chosen), np.random.default_rng(1))
    field.value = faults.clean()
    buttons(room.answer)["Check it"].click()
    assert "4 of 4 faults fixed" in room.said.value
    buttons(room.answer)["Go on"].click()
    assert "4 of 4 faults fixed" not in room.said.value and "How it went" in room.said.value
    assert [each.score for each in past.answers] == [1 / 3, 0.0, *[0.75] * 4], (
        "without a test for a fault its quarter is lost"
    )


def test_a_build_asks_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(notebook.package, "is_learners", lambda: False)
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.publish_display_data", shown.append)
    notebook.show()
    assert list(shown[0]) == ["text/plain"]


def test_in_a_notebook_the_question_stays_until_the_next(course: Course) -> None:
    room = notebook.room_for(course, ipywidgets, Plan(("rapid",), 1, 1), Time().clock)
    first = room.asked.value.partition("<strong>")[2].partition("</strong>")[0]
    buttons(room.answer)[asking.SURE[4]].click()
    assert first in room.said.value and room.said.value.count("1 of 3") == 1
    buttons(room.answer)["yes"].click()
    assert first not in room.said.value and "2 of 3" in room.said.value
    buttons(room.answer)[asking.SURE[4]].click()
    assert "1 of 3" not in room.said.value and room.said.value.count("2 of 3") == 1


def type_line(room: notebook.Room, text: str) -> None:
    room.answer.children[0].value = text
    buttons(room.answer)["Answer"].click()


def test_in_a_notebook_a_verdict_is_read_before_the_next_item_begins(course: Course) -> None:
    time = Time()
    room = notebook.room_for(course, ipywidgets, clock=time.clock)
    items = [Item("estimate", ["n-the-first-loss"], 1), Item("estimate", ["n-work-of-a-convolution"], 1)]
    room.interview.history.open = history.Open(1, 45, True, items)
    room = notebook.Room(room.interview, ipywidgets)
    type_line(room, "9.99")
    buttons(room.answer)[asking.SURE[2]].click()
    assert "<strong>No.</strong>" in room.said.value and "2 of 2" not in room.said.value
    assert "<code>9.99</code>" in room.said.value and asking.SURE[2] in room.said.value
    assert kept(course)["open"]["done"] == 1
    watch = room.interview.watch
    assert watch is not None and watch.running is None and not room.clock.value
    buttons(room.answer)["Go on"].click()
    assert "2 of 2" in room.said.value and "9.99" not in room.said.value and room.clock.value


def test_in_a_notebook_a_line_that_is_no_number_is_shown_as_typed_and_can_be_mended(course: Course) -> None:
    room = at(course, Item("estimate", ["n-the-first-loss"], 1))
    type_line(room, "2*64*1024")
    assert "<code>2*64*1024</code> isn't one number" in html.unescape(room.asked.value)
    assert room.answer.children[0].value == "2*64*1024"
    type_line(room, "2.08")
    assert "isn't one number" not in html.unescape(room.said.value)


def test_in_a_notebook_a_file_is_saved_while_it_is_written(course: Course) -> None:
    item = Item("whiteboard", ["e-init_softmax"], 1)
    room = at(course, item)
    room.answer.children[1].value = "half = 1"
    assert at(course, item).answer.children[1].value == "half = 1"


def test_in_a_notebook_a_reload_gives_no_time_back(course: Course) -> None:
    time = Time()
    room = notebook.room_for(course, ipywidgets, Plan(("whiteboard",), 15, 1), time.clock)
    time.at += 300
    room.answer.children[1].value += "x = 1"
    again = notebook.room_for(course, ipywidgets, clock=time.clock)
    watch = again.interview.watch
    assert watch is not None and watch.running == 300 and again.interview.left == 600


def test_in_a_notebook_the_clock_of_a_cell_that_was_run_again_stands_still(course: Course) -> None:
    first = notebook.room_for(course, ipywidgets, Plan(("rapid",), 1, 1), Time().clock)
    again = notebook.room_for(course, ipywidgets, clock=Time().clock)
    assert first.interview.left_alone.is_set() and not again.interview.left_alone.is_set()


@pytest.mark.turns(8)
def test_in_a_notebook_what_another_editor_saved_is_not_lost(course: Course) -> None:
    names = [f"f-{name}" for name in ("mask-polarity", "label-shift", "softmax-twice", "no-zero-grad")]
    room = at(course, Item("debug", names, 1))
    path = course.mine / "interview/training.py"
    path.write_text("import copy\n", encoding="utf-8")
    field = room.answer.children[1]
    field.value += "x"
    assert path.read_text(encoding="utf-8") == field.value == "import copy\n"
    path.write_text(faults.clean(), encoding="utf-8")
    buttons(room.answer)["Check it"].click()
    assert "4 of 4 faults fixed" in room.said.value


@pytest.mark.usefixtures("graded")
def test_in_a_notebook_a_complaint_about_a_file_goes_once_it_was_mended(course: Course) -> None:
    room = at(course, Item("whiteboard", ["e-init_softmax"], 1))
    room.answer.children[1].value = "broken("
    buttons(room.answer)["Check it"].click()
    assert "isn't valid Python yet" in html.unescape(room.asked.value)
    room.answer.children[1].value = "whole = 1"
    buttons(room.answer)["Check it"].click()
    while "I have answered" in buttons(room.answer):
        buttons(room.answer)["I have answered"].click()
    buttons(room.answer)["Done"].click()
    assert "points" in room.said.value and "isn't valid Python yet" not in html.unescape(
        room.said.value + room.asked.value
    )
