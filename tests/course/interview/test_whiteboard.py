"""What the whiteboard asks, its hints and questions; and the open designs."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course.files import CODE, Course
from course.interview import bank as banks
from course.interview import history, rounds, tasks
from course.interview.bank import Bank
from course.interview.history import History, Item
from course.interview.interview import Interview
from course.interview.prompts import Choose, Edit, Say, Speak, Tick, Write
from course.interview.scope import PROFILES, Plan
from course.site.lessons import slug
from tests.course.interview.holding import NOON, Time, at, drawn_of, hold, in_terminal, talked


@pytest.mark.usefixtures("graded")
def test_a_whiteboard_problem_is_followed_by_its_cost_and_two_questions(bank: Bank, course: Course) -> None:
    card = bank.cards["e-align_distill"]
    solution = tasks.solution_of(bank.course, card.about)

    def reply(prompt: Any) -> Any:
        if isinstance(prompt, Edit):
            prompt.path.write_text(solution)
        return [True, False, True] if isinstance(prompt, Tick) else 0

    shown, (answer,) = talked(bank, course, Item("whiteboard", [card.name], 3), reply)
    edit, cost, first, second, tick, *_, verdict = shown
    assert "3 min of the time are for questions about your answer" in edit.text
    assert "in time and memory" in cost.text
    nexts = ["Why T²?", "Forward or reverse?", "What if the tokenizers differ?"]
    drawn = [each for each in nexts if each in first.text or each in second.text]
    assert len(drawn) == 2 and drawn[0] in first.text and "shrinks like 1/T²" not in first.text + second.text
    assert tick.points[0].startswith("*Cost:* O(N·V) time") and [each for each in nexts if each in tick.points[1]]
    assert "Of the 3 questions about it you answered 2; " in verdict.text and "score is **92 %**" in verdict.text
    assert answer.score == pytest.approx(0.75 + 0.25 * 2 / 3)
    seeds = (np.random.default_rng(seed) for seed in range(9))
    others = {tuple(each.text for each in rounds._rungs(card.points, [], rng)) for rng in seeds}
    assert len(others) == 3


def test_an_older_exercise_says_what_to_build_and_hints_say_how(bank: Bank) -> None:
    """No formula stands in the statement or the stub; the notebook's task and its docstrings are the first hint."""
    older = [card.about for card in bank.of("whiteboard") if card.chapter[:2] < "26"]
    assert len(older) >= 19 and {*tasks.statements()} <= {each.name for each in older}
    for exercise in older:
        said, stub = tasks.asked(bank.course, exercise), tasks.stub_of(exercise)
        assert not re.search(r"[√Σσ]|\bexp\(|\blog\(|\\frac|min\(1|mean\)|β₁|\* cos|sin\b", f"{said}\n{stub}"), (
            exercise.name
        )
        if exercise.name in tasks.statements():
            assert len(said.split()) < (140 if exercise.name == "attention_heads" else 190) and '"""' not in stub
            *first, _, _, _ = tasks.hints_of(bank.course, exercise)
            repeats = exercise.name == "shards_build_mlp"  # the notebook says there what the interviewer has said
            assert repeats is not any(exercise.stub.strip() in each for each in first)
            compile(stub, exercise.name, "exec")


@pytest.mark.usefixtures("graded")
def test_a_hint_costs_a_tenth(bank: Bank, course: Course) -> None:
    card = bank.cards["e-memory_int8"]
    solution = tasks.solution_of(bank.course, card.about)

    def reply(prompt: Any) -> Any:
        if not isinstance(prompt, Edit):
            return [True] * 3 if isinstance(prompt, Tick) else 0
        assert prompt.hints == tuple(tasks.hints_of(bank.course, card.about)) and "a tenth of the score" in prompt.text
        prompt.path.write_text(solution)
        return 2

    shown, (answer,) = talked(bank, course, Item("whiteboard", [card.name], 3), reply)
    assert answer.score == pytest.approx(0.75 * 0.8 + 0.25)
    assert "worth 100 %, less 20 % for 2 hints." in shown[-1].text and "Your score is **85 %**." in shown[-1].text


@pytest.mark.usefixtures("graded")
def test_an_answer_may_be_fixed_for_half_of_what_that_adds(bank: Bank, course: Course) -> None:
    card = bank.cards["e-memory_int8"]
    solution = tasks.solution_of(bank.course, card.about)
    answers = iter([solution.replace(".round()", ".floor()"), solution])
    points = card.about.points

    def reply(prompt: Any) -> Any:
        if isinstance(prompt, Edit):
            prompt.path.write_text(next(answers))
            return 0
        if isinstance(prompt, Speak | Tick):
            return [True] * 3 if isinstance(prompt, Tick) else ""
        fix = "fix it, for half of what it adds"
        return prompt.options.index(fix) if fix in prompt.options else 0

    shown, (answer,) = talked(bank, course, Item("whiteboard", [card.name], 3), reply)
    told = [each.text for each in shown if isinstance(each, Say) and "points.**" in each.text]
    assert f"**0 of {points} points.**" in told[0] and f"**{points} of {points} points.**" in told[1]
    assert "Your score is **25 %**." in told[0]
    assert "so your program is worth 50 %" in told[1] and "Your score is **62 %**." in told[1]
    assert answer.score == pytest.approx(0.75 / 2 + 0.25) and not list(answers)


def test_a_hint_is_shown_while_one_writes(tmp_path: Path) -> None:
    shown = in_terminal(Edit("Write it.", tmp_path / "it.py", hints=("Look.", "Think.")), replies="h\nhint\nh\n\n")
    assert "Hint 1 of 2. Look." in shown and "Hint 2 of 2. Think." in shown
    assert shown.count("h for a hint") == 2  # there is no third


def test_a_file_that_is_as_it_was_is_handed_in_by_a_second_enter(tmp_path: Path) -> None:
    (path := tmp_path / "it.py").write_text("pass\n")
    assert in_terminal(Edit("Write it.", path), replies="\n\n").count("Nothing in the file has changed yet.") == 1


def test_what_may_be_typed_is_said_once_more(tmp_path: Path) -> None:
    shown = in_terminal(Edit("Write it.", tmp_path / "it.py", hints=("Look.",)), replies="1\nh\n2\n\n")
    assert shown.count("Type Enter alone, h or e.") == 1 and shown.count("Type Enter alone or e.") == 1
    assert "write a number from 1 to 2" in in_terminal(Choose("", ("go on", "show it")), replies="\n1\n")


def test_points_may_be_named_without_spaces() -> None:
    for given in ("13", "1 3", "1, 3"):
        assert "rite numbers from" not in in_terminal(Tick("Which?", ("a", "b", "c")), replies=f"{given}\n\n")


def test_no_point_at_all_takes_a_second_enter_or_the_word() -> None:
    tick = Tick("Which?", ("a", "b", "c"))
    assert in_terminal(tick, replies="\n\n").count("None of them?") == 1
    assert "None of them?" not in in_terminal(tick, replies="none\n")
    assert in_terminal(tick, replies="\n1 3\n").count("their numbers") == 2


def test_in_a_notebook_a_button_tells_the_next_hint(course: Course) -> None:
    room = at(course, Item("whiteboard", ["e-memory_int8"], 1))
    count = len(tasks.hints_of(course, room.interview.bank.cards["e-memory_int8"].about))
    (row,) = (each for each in room.answer.children if getattr(each, "children", None))
    check, hint = row.children
    for at_hint in range(1, count + 1):
        assert not hint.disabled
        hint.click()
        assert f"Hint {at_hint} of {count}" in room.asked.value
    assert hint.disabled and check.description == "Check it"


@pytest.mark.usefixtures("graded")
def test_what_is_no_value_is_asked_again(bank: Bank, course: Course) -> None:
    lines = iter(["no idea", "bfloat16, float32", "[3, 3, 6, 1, 1]"])
    item = Item("predict", ["e-moe_predict_gradients"], 7)
    shown, _ = talked(bank, course, item, lambda each: next(lines) if isinstance(each, Write) else 4)
    assert [each.again for each in shown[:3]] == [False, True, True]
    assert "`no` is a word, and numbers are asked for" in shown[1].text and "4 of 5 values are right" in shown[-1].text


def test_every_problem_is_followed_by_its_cost_and_what_they_ask_next(bank: Bank) -> None:
    """Its cost and three questions, whose answers a question mark ends: below it in its notebook, or in a file."""
    cards = bank.of("whiteboard")
    below = [card for card in cards if "they ask next" in card.about.below]
    assert len(below) >= 23 and {card.chapter[:2] for card in below} == {"26", "27", "28", "29"}
    assert {*tasks.follow_ups()} == {card.words for card in cards if card not in below}
    for card in cards:
        assert [point.label for point in card.points][:4] == ["Cost"] + 3 * ["They ask next"], card.words
        text = banks.plain(tasks.follow_ups().get(card.words) or card.about.below)
        for point in card.points[1:]:
            asked, answer = banks.split(point.text)
            assert f'*{asked}* "' in text and answer, point.text


def test_the_questions_about_an_answer_count_within_the_time(course: Course, time: Time) -> None:
    past = History(history.folder(course) / "history.json")
    past.open = history.Open(1, 45, True, [Item("whiteboard", ["e-align_dpo"], 1)], began=NOON)
    past.save()
    done = hold(course, replies="\n")
    assert "Whiteboard · 1 of 1 · 15 min" in done.output


@pytest.mark.parametrize("profile", ["", *PROFILES])
def test_the_problems_of_an_interview_fit_into_its_time(bank: Bank, tmp_path: Path, profile: str) -> None:
    """A problem of at most 25 minutes and 3 for its questions; the others shrink around it, and a screen's too."""
    for seed in range(30):
        past = History(tmp_path / "history.json")
        for screen in (False, True):
            Interview(bank, past, Time().clock).draw(Plan(profile=profile, seed=seed, screen=screen))
            assert past.open
            taken = [
                (each.round, rounds.ROUNDS[each.round].allowed([bank.cards[name] for name in each.cards]) / 60)
                for each in past.open.items
            ]
            written = [minutes for name, minutes in taken if name == "whiteboard"]
            assert sum(minutes for _, minutes in taken) <= past.open.minutes
            assert 12 <= sum(written) <= 33 if screen else len(written) == 1 and written[0] <= 28


def test_any_problem_of_up_to_25_minutes_can_come(bank: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the problem is, the others shrink around it, so that the debug round is still held in time."""
    scope, past = bank.scope("language-models"), History(tmp_path / "history.json")
    problems = [card for card in bank.of("whiteboard") if scope.holds(card) and card.about.minutes <= 25]
    assert {"serve_bpe", "decoder_moe", "llama_rope", "align_dpo"} <= {card.words for card in problems}
    for card in problems:
        with monkeypatch.context() as patch:
            patch.setitem(bank.cards, card.name, replace(card, weight=1e9))  # which comes first
            Interview(bank, past, Time().clock).draw(Plan(profile="language-models", seed=1))
        cards = {each.round: each.cards for each in past.open.items}
        assert [card.name] in [each.cards for each in past.open.items if each.round == "whiteboard"]
        assert 1 <= len(cards.get("debug", [])) <= 4, card.name  # there is time for a fault at least
        taken = [rounds.ROUNDS[each.round].allowed([bank.cards[x] for x in each.cards]) for each in past.open.items]
        assert sum(taken) <= 60 * past.open.minutes, card.name


def test_a_design_question_is_left_out_where_a_long_problem_takes_its_time(
    bank: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {}
    for name in ("serve_bpe", "align_dpo"):  # of 25 minutes, and of 12
        with monkeypatch.context() as patch:
            patch.setitem(bank.cards, f"e-{name}", replace(bank.cards[f"e-{name}"], weight=1e9))
            opened = drawn_of(bank, tmp_path, Plan(profile="language-models", seed=1)).history.open
        assert opened is not None
        held[name] = [item.round for item in opened.items].count("design")
    assert held == {"serve_bpe": 0, "align_dpo": 1}
    alone = drawn_of(bank, tmp_path, Plan(("design",), profile="language-models", seed=1)).history.open
    assert alone is not None and [item.round for item in alone.items] == ["design"] and alone.minutes == 8


@pytest.mark.parametrize("profile", PROFILES)
def test_each_job_has_design_questions_and_language_models_are_asked_about_agents(bank: Bank, profile: str) -> None:
    asked = [card for card in bank.of("design") if bank.scope(profile).holds(card)]
    agents = [card for card in asked if bank.scope(words=["agent"]).holds(card)]
    assert asked and (profile != "language-models" or (len(asked) >= 8 and len(agents) >= 4))


def test_a_design_has_a_rubric_and_a_condition_that_changes(bank: Bank) -> None:
    text = (CODE / "course" / "interview" / "open_designs.md").read_text(encoding="utf-8")
    assert len(bank.of("design")) == text.count("\n## ") >= 12
    for card in bank.of("design"):
        labels = [point.label for point in card.points]
        assert 7 <= len(labels) <= 8 and labels[-1] == "They ask next", card.words
        assert len(card.points) == len(
            re.findall(r"^- ", text.partition(f"## {card.words}\n")[2].partition("\n## ")[0], re.M)
        )
        assert all(rounds._follow_up(point, "") for point in card.points if point.label == "They ask next"), card.words


def test_the_numbers_of_the_designs_follow_from_what_is_asked(bank: Bank) -> None:
    def said(name: str) -> str:
        return " ".join(point.text for point in bank.cards[f"d-{slug(name)}"].points)

    users, tokens = 1000 / 30, 2 * 80 * 8 * 128 * 2
    flying, each = users * (300 / 20 + 1), 2150 * tokens
    serving = said("Serve a 70-billion-parameter model to 1,000 users")
    assert f"some {round(flying, -1):.0f} are in flight" in serving and f"{tokens / 1e6:.2f} MB" in serving
    assert f"about {round(flying * each / 1e9, -1):.0f} GB" in serving
    assert f"some {round((0.9 * 320e9 - 140e9) / each, -1):.0f} requests" in serving
    assert f"{math.ceil((140 + 150) / (4 * 3.35))} ms" in serving
    assert f"{users * 2000 * 140e9 / (0.5 * 990e12):.0f} GPUs at half" in serving
    run, rate = 6 * 70e9 * 1.4e12, 0.4 * 512 * 990e12
    training = said("Train a 70-billion-parameter model on 512 GPUs")
    assert f"{run / 1e23:.1f} · 10²³" in training and f"or {run / rate / 86400:.0f} days" in training
    assert f"every {5 * 365.25 / 512:.1f} days" in training and f"{16 * 70 / 512:.1f} GB each" in training
    agents = said("Find out whether an agent is good") + said("Give a language model tools")
    assert f"only {0.7**4:.0%}".replace("%", " %") in agents and f"{100 * math.sqrt(0.25 / 200):.1f} points" in agents
    assert f"= {0.95**20:.0%}".replace("%", " %") in agents
    assert f"{2 * 32 * 8 * 128 * 2 / 1e3:.0f} kB" in (
        long := said("Answer questions about documents of 200,000 tokens")
    )
    assert f"takes {200e3 * 2 * 32 * 8 * 128 * 2 / 1e9:.0f} GB" in long
    assert f"about {1e23 / 6 / 8e9 / 1e12:.1f} trillion" in said("Dense, or a mixture of experts?")
    assert f"are {512 * 6 / 60:.0f} GPU hours" in said("A run on 512 GPUs stands still")
    saving, best = said("Checkpoints of a terabyte"), math.sqrt(2 * 4 * 480)
    assert f"are {14 * 70} GB" in saving and f"so {12 * 70} GB suffice" in saving and f"= {best:.0f} minutes" in saving
    assert f"costs {100 * 4 / best:.1f} %" in saving and f"another {100 * best / 2 / 480:.1f} %" in saving
    assert f"the restarts {100 * 10 / 480:.1f} %" in saving and f"falls to {math.sqrt(2 * 2 / 60 * 480):.1f}" in saving
    assert f"minutes are {840 / (5.7 * 60):.1f} GB a second" in saving and f"gathers {2 * 70} GB" in saving
    assert f"shard of {840 / 512:.1f} GB" in saving


def test_a_design_is_asked_changed_and_judged_by_its_points(bank: Bank, course: Course) -> None:
    name = f"d-{slug('Give a language model tools')}"
    count = len(bank.cards[name].points)
    shown, (answer,) = talked(
        bank,
        course,
        Item("design", [name], 1),
        lambda each: [True, True] + [False] * (count - 2) if isinstance(each, Tick) else 3,
    )
    asks, sure, change, ticks = shown
    told = asks.text + sure.text
    assert "refund up to 100 dollars" in told and "20 steps" not in told and "Prompt injection" not in told
    assert change.text.startswith("They ask next: **Each step is right in 95 of 100 cases.")
    assert "idempotency" in " ".join(ticks.points)
    assert (answer.score, answer.sure) == (pytest.approx(2 / count), 70)


def test_a_long_problem_is_asked_of_somebody_who_has_the_time(bank: Bank, tmp_path: Path) -> None:
    past = History(tmp_path / "history.json")
    Interview(bank, past, Time().clock).draw(Plan(("whiteboard",), topics=("prefix cache",), seed=1))
    assert past.open and [each.cards for each in past.open.items] == [["e-serve_prefix"]]
    assert past.open.minutes == 38


@pytest.mark.usefixtures("graded")
def test_who_did_not_solve_a_whiteboard_problem_can_see_a_solution(bank: Bank, course: Course) -> None:
    shown, (answer,) = talked(
        bank, course, Item("whiteboard", ["e-init_softmax"], 11), lambda each: 1 if isinstance(each, Choose) else None
    )
    assert answer.score == 0.0 and shown[-2].options[:2] == ("go on", "show a solution")
    assert "np.exp(x - np.max(x" in shown[-1].text.replace("xp.", "np.") and "SOLUTION" not in shown[-1].text
