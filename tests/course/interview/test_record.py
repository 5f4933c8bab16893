"""The record, what is read before it is judged, and confidence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course.files import Course
from course.interview import asking, calibration, history, judged, record, rounds, tasks, terminal
from course.interview.bank import Bank
from course.interview.history import Answer, History, Item
from course.interview.interview import Interview
from course.interview.prompts import Choose, Edit, Rate, Say, Tick, Wait, Write
from course.interview.scope import Plan
from tests.course.interview.holding import NOON, Time, drawn_of, hold, of_course, talked


def solved(score: float, took: float | None, at: float = 0.0) -> Answer:
    stated = None if took is None else 720.0
    return Answer("e-llama_gqa", "whiteboard", NOON + at, score, None, took, False, None, took, stated)


def test_the_record_says_which_problem_was_solved_in_which_time(bank: Bank) -> None:
    answers = [solved(0.6, 800.0), solved(1.0, 655.0, 1.0), solved(1.0, None, 2.0), Answer("r-x", "rapid", NOON, 0.5)]
    told = record.record(bank, answers).splitlines()
    name = rounds.title(bank, bank.cards["e-llama_gqa"]).removeprefix("the exercise ")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in told if line.startswith("|")]
    assert [[row[0], *row[2:]] for row in cells[2:5]] == [
        [name, "14 min of 12", "60 %"],
        ["", "11 min of 12", "full marks"],
        ["", "no clock", "full marks"],
    ]
    assert cells[-2:] == [["Rapid fire", "1", "0", "50 %"], ["Whiteboard", "3", "0", "87 %"]]
    assert record.time(solved(1.0, 40.0)) == "40 s of 12 min"


@pytest.mark.usefixtures("graded")
def test_the_time_at_the_whiteboard_is_kept_and_shown(course: Course, time: Time) -> None:
    past = History(history.folder(course) / "history.json")
    past.open = history.Open(1, 45, True, [Item("whiteboard", ["e-interview_linear"], 1)], began=NOON)
    past.save()
    interview = Interview(of_course(Bank(course), course), past, time.clock)
    talk, sent, shown = interview.talk(), None, []
    try:
        while True:
            shown.append(talk.send(sent))
            match shown[-1]:
                case Edit(_, path):
                    time.at += 300  # the questions that follow don't count
                    path.write_text(tasks.solution_of(course, Bank(course).cards["e-interview_linear"].about))
                    sent = 0
                case Tick(_, points):
                    time.at += 100
                    sent = [True] * len(points)
                case Wait(_, does):
                    sent = does(str)
                case Choose():
                    sent = 0
                case _:
                    sent = None
    except StopIteration:
        pass
    (answer,) = history.read(course).answers
    stated = Bank(course).cards["e-interview_linear"].about.minutes
    assert (answer.score, answer.took, answer.stated) == (1.0, 300.0, 60.0 * stated)
    assert f"100 %, 5 min of {stated}" in "".join(prompt.text for prompt in shown if isinstance(prompt, Say))
    done = hold(course, "--history")
    assert re.search(rf"\d{{4}}-\d\d-\d\d +5 min of {stated} +full marks", done.output), done.output
    assert hold(course, "--history", "--new").exit_code == 2


def test_there_is_a_record_before_the_first_interview(course: Course) -> None:
    assert hold(course, "--history").output.strip() == "No interview yet."
    assert not course.mine.exists()


def test_a_round_that_is_asked_for_is_held_even_if_the_minutes_are_short(bank: Bank, tmp_path: Path) -> None:
    interview = drawn_of(bank, tmp_path, Plan(("whiteboard", "design"), 20, 1))
    opened = interview.history.open
    assert opened is not None and {item.round for item in opened.items} == {"whiteboard", "design"}
    assert opened.minutes >= interview._minutes(opened.items)
    if opened.minutes > 20:
        assert opened.note == "With an item of each round, that is more than 20 minutes."


def test_what_is_left_out_of_a_plan_is_said(bank: Bank, tmp_path: Path) -> None:
    opened = drawn_of(bank, tmp_path, Plan(topics=("SwiGLU",), seed=1)).history.open
    assert opened is not None
    missing = [each.title for name, each in rounds.ROUNDS.items() if name not in {item.round for item in opened.items}]
    assert missing and opened.note.startswith("Left out, as there is nothing to ask about that: ")
    assert all(title in opened.note for title in missing)
    for seed in range(20):
        opened = drawn_of(bank, tmp_path, Plan(seed=seed)).history.open
        assert opened is not None
        held = {item.round for item in opened.items}
        assert ("Design is left out for want of time" in opened.note) == ("design" not in held)


def test_a_note_is_said_when_the_interview_begins(course: Course, time: Time) -> None:
    done = hold(course, "--topic", "SwiGLU", "--seed", "1")
    assert "Left out, as there is nothing to ask about that" in " ".join(done.output.split())


def test_what_was_not_asked_is_said_at_the_end(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "clock", Time(each=10).clock)
    done = hold(course, "--round", "rapid", "--minutes", "1", "--seed", "1", replies="5\n1\n" * 3)
    assert "The minutes were over before all was asked of: Rapid fire." in done.output


def test_what_was_read_is_said_before_the_verdict_and_can_be_changed(bank: Bank, course: Course) -> None:
    (card,) = [card for card in bank.of("estimate") if card.words == "the first loss"]
    right = card.about.answer(card.about.drawn(np.random.default_rng(1)))
    typed, sures = iter(["1,5", f"{right:.4f} nats"]), iter([len(asking.SURE), 4])
    shown, (answer,) = talked(
        bank, course, Item("estimate", [card.name], 1), lambda each: next(typed if isinstance(each, Write) else sures)
    )
    assert [each.text for each in shown if isinstance(each, Choose)] == [
        "I read **1.5 nats**. How sure are you?",
        f"I read **{right:.3g} nats**. How sure are you?",
    ]
    assert [each.text for each in shown if isinstance(each, Write)][1] == "What do you mean?"
    assert (answer.score, answer.sure) == (1.0, 90)


@pytest.mark.usefixtures("graded")
def test_a_prediction_is_repeated_before_the_verdict(bank: Bank, course: Course) -> None:
    typed = iter(["8, 7, …", "8 7 16 16 5"])
    item = Item("predict", ["e-tune_predict_signal"], 1)
    shown, (answer,) = talked(bank, course, item, lambda each: next(typed) if isinstance(each, Write) else 0)
    assert "leaves values open: write each of them. `None` says" in shown[1].text
    assert shown[2].text == "I read **`[8, 7, 16, 16, 5]`**. How sure are you?" and answer.score == 1.0


def test_a_letter_is_no_value_of_a_program(bank: Bank, course: Course) -> None:
    typed = iter(["a", "None"])
    item = Item("predict", ["p-a column minus a row"], 1)
    shown, (answer,) = talked(bank, course, item, lambda each: next(typed) if isinstance(each, Write) else 0)
    assert "`a` is a word, and a number is asked for" in shown[1].text
    assert shown[-1].text.startswith("**Passed.** It is `") and answer.score == 0.0


@pytest.mark.usefixtures("graded")
def test_where_known_mistakes_explain_everything_no_check_is_asked(
    bank: Bank, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(judged.Judge, "check")
    replies: dict[type, Any] = {Write: "[3, 3, 3, 0, 1]", Rate: 4}
    shown, (answer,) = talked(
        bank, course, Item("predict", ["e-moe_predict_gradients"], 7), lambda each: replies[type(each)]
    )
    assert shown[-1].text.startswith("**4 of 5 values are right.**") and answer.right is False
    assert answer.score == pytest.approx(4 / 5)


def test_the_curve_and_the_brier_score() -> None:
    given = [(90, True), (90, True), (90, False), (10, False), (50, True)]
    found = calibration.levels(given)
    assert [(level.sure, level.right, level.asked) for level in found] == [(10, 0, 1), (50, 1, 1), (90, 2, 3)]
    assert found[-1].share == pytest.approx(200 / 3)
    assert calibration.brier(given) == pytest.approx((0.01 + 0.01 + 0.81 + 0.01 + 0.25) / 5)
    assert calibration.brier([(50, True), (50, False)]) == 0.25
    *lines, legend = calibration.bars(found).splitlines()
    assert [line.split("%")[0].strip() for line in lines] == ["10", "50", "90"] and legend.strip().startswith(
        "│ stands"
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([(90, False), (90, False), (90, True)], "you are overconfident"),
        ([(90, True)], "1 answer is too few to tell"),
        ([(90, False), (90, True)], "2 answers are too few to tell"),  # 40 points off, and the deviation is 21
        ([(70, True)] * 9, "9 answers are too few to tell"),  # 30 points off, and the deviation is 15.3
        ([(70, True)] * 10, "you are underconfident"),  # the deviation is 14.5
        ([(10, True), (30, True)], "underconfident"),
        ([(50, True), (50, False)], "your confidence fits"),
    ],
)
def test_the_verdict(given: list[tuple[int, bool]], told: str) -> None:
    assert told in calibration.verdict(given)


def test_confidence_is_compared_with_the_thirty_second_answer_alone(bank: Bank, course: Course) -> None:
    card = next(each for each in bank.of("question") if each.points[0].label == "Thirty seconds")
    for ticks, right in (([True, False, False], True), ([False, True, True], False)):
        replies: dict[type, Any] = {Tick: ticks, Rate: 4}
        _, (answer,) = talked(
            bank,
            course,
            Item("explain", [card.name], 1),
            lambda each, r=replies: r.get(type(each), 0),
        )
        assert calibration.pairs([answer]) == [(90, right)]
        assert answer.score == pytest.approx(sum(ticks) / 3)
