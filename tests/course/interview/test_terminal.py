"""An interview in the terminal: its clock, interruptions and what is kept."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import click
import pytest

from course.files import Course
from course.interview import history, terminal
from course.interview.bank import Bank
from course.interview.history import Answer, History, Item
from course.interview.interview import Interview
from course.interview.prompts import Say
from course.interview.scope import Plan
from tests.course.interview.holding import NOON, Time, hold, kept


def test_rapid_fire_asks_says_the_answer_and_sums_up(course: Course, time: Time) -> None:
    done = hold(course, "--round", "rapid", "--minutes", "1", "--seed", "1", replies="5\n1\n1\n2\n\n3\n1\n")
    assert done.exit_code == 0, done.output
    assert "Rapid fire · 3 of 3 · 20 s" in done.output
    assert "│ " not in done.output.partition("How it went")[0]
    assert re.search(r"Rapid fire +67 %", done.output)
    assert "50 % sure on average, and right in 67 %" in done.output
    answers = kept(course)["answers"]
    assert [(each["sure"], each["score"]) for each in answers] == [(90, 1.0), (10, 0.0), (50, 1.0)]
    assert kept(course)["open"] is None


def test_a_verdict_can_be_read_before_the_next_item_begins(course: Course, time: Time) -> None:
    replies = "1e30\n3\n\n" * 2
    done = hold(course, "--round", "estimate", "--minutes", "4", "--seed", "1", replies=replies)
    assert done.output.count("Enter: go on") == 2 and kept(course)["open"] is None
    assert re.search(r"No\..*Enter: go on.*Estimate · 2 of 2.*No\..*Enter: go on.*How it went", done.output, re.DOTALL)


def test_a_late_answer_is_marked(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "clock", Time(each=15).clock)
    done = hold(course, "--round", "rapid", "--minutes", "1", "--seed", "1", replies="5\n1\n" * 3)
    first = kept(course)["answers"][0]
    assert (first["seconds"], first["late"]) == (15.0, False)
    monkeypatch.setattr(terminal, "clock", Time(each=30).clock)
    done = hold(course, "--round", "rapid", "--minutes", "1", "--seed", "1", replies="5\n1\n" * 3)
    assert "30 s, late: 20 s are allowed" in done.output
    assert kept(course)["answers"][-1]["late"] is True


def test_the_interview_ends_when_its_minutes_are_over(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "clock", Time(each=10).clock)  # an item takes three readings
    hold(course, "--round", "rapid", "--minutes", "1", "--seed", "1", replies="5\n1\n" * 3)
    assert len(kept(course)["answers"]) == 2 and kept(course)["open"] is None


def test_without_a_clock_nothing_is_timed(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "clock", Time(each=1000).clock)
    done = hold(course, "--round", "rapid", "--minutes", "1", "--no-clock", replies="5\n1\n" * 3)
    before = done.output.partition("How it went")[0]
    assert not re.search(r"\d+ (s|min)\b", before), before
    assert len(kept(course)["answers"]) == 3
    assert {(each["seconds"], each["late"]) for each in kept(course)["answers"]} == {(None, False)}


def test_a_round_that_was_interrupted_goes_on(course: Course, time: Time) -> None:
    first = hold(course, "--round", "rapid", "--minutes", "1", "--seed", "1", replies="5\n1\n3\n")
    assert first.output.rstrip().endswith(terminal.STOPPED)
    opened = kept(course)["open"]
    assert opened["done"] == 1 and len(kept(course)["answers"]) == 1
    second = hold(course, replies="5\n1\n" * 2)
    assert "This interview goes on: 1 of 3 done. Seed 1." in second.output
    assert "Rapid fire · 2 of 3" in second.output
    asked = [each["card"] for each in kept(course)["answers"]]
    assert [history.seal(each) for each in asked] == [item["cards"][0] for item in opened["items"]]
    assert kept(course)["open"] is None


def test_an_interruption_gives_no_time_back(course: Course, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = click.prompt

    def slow(*args: Any, **options: Any) -> Any:
        time.at += 90
        return prompt(*args, **options)

    monkeypatch.setattr(click, "prompt", slow)
    first = hold(course, "--round", "estimate", "--minutes", "4", "--seed", "1", replies="9\n")
    assert "Estimate · 1 of 2 · 120 s · 4 min left" in first.output
    opened = history.read(course).open
    assert opened is not None and opened.spent == 180 and opened.elapsed == 0
    second = hold(course, replies="9\n3\n\n")
    assert "Estimate · 1 of 2 · 120 s · 60 s left" in second.output
    (answer,) = kept(course)["answers"]
    assert answer["seconds"] == 360 and answer["late"] and kept(course)["open"] is None


def until_asked(interview: Interview) -> Any:
    """The conversation at its first question."""
    talk = interview.talk()
    while isinstance(next(talk), Say):
        pass
    return talk


def test_a_killed_terminal_gives_no_time_back(course: Course) -> None:
    """Nothing is written when a process is killed, so the time before has to be in a file by then."""
    time = Time(every=0.01)
    killed = Interview(Bank(course), history.read(course), time.clock)
    killed.draw(Plan(("estimate",), 4, 1))
    before = set(threading.enumerate())
    asked = until_asked(killed)
    (keeper,) = set(threading.enumerate()) - before
    time.at = 50
    for _ in range(1000):
        opened = history.read(course).open
        if opened and opened.spent == 50:
            break
        threading.Event().wait(0.01)
    killed.left_alone.set()
    keeper.join()  # or it would write what it is writing with the time after
    time.at += 86400
    again = Interview(Bank(course), history.read(course), time.clock)
    talk = until_asked(again)
    assert again.watch is not None and again.watch.running == 50 and again.left == 240 - 50
    asked.close()
    talk.close()


def test_another_items_time_does_not_count(course: Course, time: Time) -> None:
    """The file of the time says which item it is about. One that can't be read counts for nothing."""
    hold(course, "--round", "rapid", "--minutes", "1", "--seed", "1", replies="5\n1\n")
    path, about = course.mine / "interview" / "clock.json", {"began": NOON, "done": 1, "spent": 7.0}
    for text, spent in ((json.dumps(about), 7), (json.dumps({**about, "done": 0}), 0), ("{", 0), ("[]", 0)):
        path.write_text(text)
        opened = history.read(course).open
        assert opened is not None and opened.spent == spent, text


def test_reading_a_verdict_takes_no_time_of_the_next_item(
    course: Course, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = click.prompt

    def slow(*args: Any, **options: Any) -> Any:
        time.at += 90 if "go on" in args[0] else 0
        return prompt(*args, **options)

    monkeypatch.setattr(click, "prompt", slow)
    hold(course, "--round", "estimate", "--minutes", "4", "--seed", "1", replies="9\n3\n")
    opened = history.read(course).open
    assert opened is not None and (opened.done, opened.spent) == (1, 0)


@pytest.mark.turns(8)
@pytest.mark.usefixtures("graded")
def test_an_open_interview_does_not_name_what_is_asked(course: Course, time: Time) -> None:
    """The names of the faults say what is wrong with the program."""
    hold(course, "--round", "debug", "--round", "whiteboard", "--seed", "1")
    text = (course.mine / "interview" / "history.json").read_text()
    named = [name for card in Bank(course).of("fault") for name in (card.name, card.about.name) if name in text]
    assert named == [] and len(json.loads(text)["open"]["items"]) >= 2
    again = hold(course)
    assert "has four faults" in " ".join((hold(course, replies="\n\n\n\n\n\n\n1\n\n").output + again.output).split())


def test_a_history_with_names_goes_on_and_loses_them(course: Course, time: Time) -> None:
    """Histories of earlier versions have the names of the cards."""
    path = course.mine / "interview" / "history.json"
    items = [
        {"round": "estimate", "cards": [name], "seed": 1} for name in ("n-the-first-loss", "n-work-of-a-convolution")
    ]
    opened = {
        "seed": 1,
        "minutes": 45,
        "clock": True,
        "items": items,
        "done": 0,
        "elapsed": 0.0,
        "began": NOON,
        "spent": 3.0,
    }
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": 1, "answers": [], "open": opened}))
    done = hold(course, replies="9\n3\n\n")
    assert "Estimate · 1 of 2" in done.output and "Estimate · 2 of 2" in done.output
    (answer,) = kept(course)["answers"]
    assert answer["card"] == "n-the-first-loss" and answer["seconds"] == 3
    assert "n-work-of-a-convolution" not in path.read_text()


def test_an_open_interview_stays_unless_another_is_asked_for(course: Course, time: Time) -> None:
    hold(course, "--round", "rapid", "--minutes", "1", "--seed", "1")
    again = hold(course, "--round", "estimate")
    assert "An interview is open, and goes on." in again.output and "Rapid fire · 1 of 3" in again.output
    other = hold(course, "--round", "estimate", "--minutes", "2", "--new")
    assert "Estimate · 1 of 1" in other.output
    assert [item["round"] for item in kept(course)["open"]["items"]] == ["estimate"]


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "{",
        "[]",
        '{"version": 2, "answers": [], "open": null}',
        '{"version": 1, "answers": [{"card": "x"}], "open": null}',
        '{"version": 1, "answers": [{"card": "x", "round": "rapid", "when": "now", "score": 1}], "open": null}',
        '{"version": 1, "answers": [{"card": "x", "round": "rapid", "when": 1, "score": 7}], "open": null}',
        '{"version": 1, "answers": [], "open": {"seed": 1}}',
        '{"version": 1, "answers": [], "open": {"seed": 1, "minutes": 1, "clock": true, "items": [], "done": 3}}',
        '{"version": 1, "answers": [], "open": {"seed": 1, "minutes": 1, "clock": true, "items": '
        '[{"round": "rapid", "cards": [], "seed": 1}], "done": 0}}',
    ],
)
def test_a_damaged_history_is_set_aside_and_said(course: Course, time: Time, damaged: str) -> None:
    path = course.mine / "interview" / "history.json"
    path.parent.mkdir(parents=True)
    path.write_text(damaged)
    done = hold(course, "--round", "rapid", "--minutes", "1", replies="5\n1\n" * 3)
    assert done.exit_code == 0, done.output
    assert "is damaged. It was moved to my/backups/history-1.json; a new one begins." in done.output.replace("\n", " ")
    assert (course.mine / "backups" / "history-1.json").read_text() == damaged
    assert len(kept(course)["answers"]) == 3


def test_a_history_is_written_whole_or_not_at_all(course: Course, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(course, "--round", "rapid", "--minutes", "1", replies="5\n1\n" * 3)
    before = kept(course)

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("course.files.os.replace", fails)
    done = hold(course, "--round", "rapid", "--minutes", "1", replies="5\n1\n" * 3)
    assert done.exit_code == 1 and "No space left on device" in done.output
    assert kept(course) == before
    assert [path.name for path in (course.mine / "interview").iterdir()] == ["history.json"]


def test_a_card_that_the_course_no_longer_has_is_passed_over(course: Course, time: Time) -> None:
    past = History(history.folder(course) / "history.json")
    items = [Item("rapid", ["r-99-gone"], 1), Item("gone", ["n-the-first-loss"], 1)]
    past.open = history.Open(1, 5, True, items, began=NOON)
    past.answers = [Answer("r-99-gone", "rapid", NOON - 1e6, 0.0)]
    past.save()
    done = hold(course)
    assert done.exit_code == 0 and "Nothing was asked." in done.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--round", "chess"], "there is no round 'chess'; the rounds are rapid, explain"),
        (["--export", "questions.doc"], ".txt is for Anki"),
        (["--export", "q.txt", "--profile", "systems"], "can't be combined with another option"),
    ],
)
def test_what_nobody_knows_is_refused(course: Course, options: list[str], said: str) -> None:
    done = hold(course, *options)
    assert done.exit_code == 2 and said in " ".join(done.output.replace("│", " ").split())
    assert not course.mine.exists()


def test_two_windows_lose_no_answer(bank: Bank, course: Course) -> None:
    path = history.folder(course) / "history.json"
    first = Interview(bank, history.read(course), Time().clock)
    first.draw(Plan(("rapid",), 1, 1))
    second = Interview(bank, history.read(course), Time().clock)
    for place, window in enumerate((first, first, second, first)):
        window.history.answers.append(Answer(f"card {place}", "rapid", NOON + place, 1.0))
        window.history.save()
    assert [each.card for each in history.read(course).answers] == [f"card {place}" for place in range(4)]
    assert second.history.open is not None and first.history.open is not None
    first.history.open.done = 2
    first.history.save()
    second.history.save()
    opened = json.loads(path.read_text())["open"]
    assert opened["done"] == 2
