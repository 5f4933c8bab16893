"""`course interview`: what it draws, its rounds, the clock, what is kept, and what is exported."""

from __future__ import annotations

import html
import io
import itertools
import json
import math
import re
import threading
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import ipywidgets
import numpy as np
import pytest
import yaml
from click.testing import CliRunner, Result
from rich.console import Console

import minitorch as torch
from course.__main__ import main
from course.files import CODE, Course
from course.grading.bundle import bundle
from course.grading.pool import Pool
from course.interview import (
    asking,
    calibration,
    estimates,
    faults,
    formulas,
    history,
    judged,
    nearness,
    notebook,
    predictions,
    programs,
    quantities,
    record,
    rounds,
    schedule,
    tasks,
    terminal,
    twins,
    verdicts,
)
from course.interview import bank as banks
from course.interview import export as export_module
from course.interview import screen as screens
from course.interview import summary as summaries
from course.interview.asking import SURE
from course.interview.bank import Bank
from course.interview.cards import Card, Point
from course.interview.clock import Clock, Watch
from course.interview.export import export
from course.interview.fault import Fault
from course.interview.history import Answer, History, Item
from course.interview.interview import Interview
from course.interview.prompts import Choose, Edit, Say, Tick, Wait, Write
from course.interview.scope import ALSO, OFTEN, PROFILES, UNASKED, Plan
from course.interview.serving_faults import SERVING
from course.interview.tuning_faults import TUNING
from course.site.lessons import Question, key, slug

NOON = 1_800_000_000.0


class Time:
    """A clock that moves when told to, and by `each` at each reading. The interview saves it every `every` seconds."""

    def __init__(self, each: float = 0.0, every: float = 3600.0) -> None:
        self.at, self.each, self.every = 0.0, each, every

    def ticks(self) -> float:
        self.at += self.each
        return self.at

    @property
    def clock(self) -> Clock:
        return Clock(lambda: NOON + self.at, self.ticks, self.every)


@pytest.fixture(scope="module")
def bank() -> Bank:
    return Bank(Course(CODE))


@pytest.fixture
def course(tmp_path: Path, bank: Bank, monkeypatch: pytest.MonkeyPatch) -> Course:
    """The course with an empty `my`. Its cards are read once for all tests, which takes a second."""
    for folder in ("notebooks", "exercises", "solutions"):
        (tmp_path / folder).symlink_to(CODE / folder)
    for module in (terminal, notebook):
        monkeypatch.setattr(module, "Bank", lambda course: of_course(bank, course))
    return Course(tmp_path)


def of_course(bank: Bank, course: Course) -> Bank:
    own = Bank.__new__(Bank)
    own.__dict__.update(bank.__dict__, course=course)
    return own


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grades by text: all points for the course's solution, none for anything else. Grading takes ten seconds."""

    def check(judge: judged.Judge, answer: str, tell: judged.Tell = str) -> judged.Verdict:
        tell("comparing texts")
        is_right = answer.strip() == judge._solution.strip()
        points = judge._asked.points
        return judged.Verdict(points * is_right, points, "" if is_right else "Something is wrong.")

    monkeypatch.setattr(judged.Judge, "_prepare", lambda judge: None)
    monkeypatch.setattr(judged.Judge, "check", check)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(terminal, "clock", made.clock)
    return made


def hold(course: Course, *options: str, replies: str = "") -> Result:
    return CliRunner().invoke(main, ["--root", str(course.root), "interview", *options], input=replies)


def kept(course: Course) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((course.mine / "interview" / "history.json").read_text())
    return read


# The bank


def test_a_question_has_three_points_a_proof_and_a_topic(bank: Bank) -> None:
    for card in bank.of("question"):
        assert len(card.points) == 3 and all(point.text for point in card.points), card.words
        assert card.topics, card.words
        assert bank.proofs(card), card.words
        assert all(proof.printed or proof.source for proof in bank.proofs(card))


def test_a_question_says_what_it_is_about(bank: Bank, course: Course) -> None:
    """*Why column, then row?* is a riddle without the heading above it; that of a myth would tell the answer."""
    name = next(name for name, card in bank.cards.items() if card.words == "Why column, then row?")
    shown, _ = talked(
        bank, course, Item("explain", [name], 1), lambda each: [True] * 3 if isinstance(each, Tick) else 0
    )
    assert "· Tensor parallelism: column, then row*\n" in shown[0].text
    asked = bank.of("question")
    assert not any("myth" in card.section.lower() for card in asked)
    assert sum(bool(card.section) for card in asked) > 0.7 * len(asked)


def test_no_answer_stands_in_quotation_marks(bank: Bank) -> None:
    quoted = [card.words for card in bank.of("question") if re.fullmatch('"[^"]*"', card.points[0].text)]
    assert quoted == []


def test_every_question_of_the_lessons_is_a_card(bank: Bank) -> None:
    asked = [
        words
        for lesson in bank.lessons.values()
        for cell in lesson.cells
        if cell.cell_type == "markdown"
        for words in re.findall(r"^\*\*Interview · (.+)\*\*$", cell.source, re.MULTILINE)
    ]
    assert len(asked) > 170
    assert [card.words for card in bank.of("question")] == asked


def test_each_lesson_has_five_rapid_fire_lines(bank: Bank) -> None:
    by_chapter = {chapter: [card for card in bank.of("line") if card.chapter == chapter] for chapter in bank.lessons}
    assert {chapter: len(lines) for chapter, lines in by_chapter.items() if len(lines) != 5} == {}
    for card in bank.of("line"):
        assert card.words.endswith("?") and card.points[0].text and "](" not in card.points[0].text, card.words


def test_each_myth_is_asked(bank: Bank) -> None:
    """A question of the bank asks about each wrong statement of the notes, wherever the course refutes it."""
    asked = {(card.chapter, card.words) for card in bank.of("question")}
    found = banks.myths(bank.places)
    assert len(found) >= 26
    for myth, places in found.items():
        for place in places:
            assert place["questions"], myth
            assert {(place["chapter"], words) for words in place["questions"]} <= asked, myth


def test_the_whiteboard_opens_exercises_that_are_there(bank: Bank) -> None:
    assert {card.words for card in bank.of("whiteboard")} == set(banks.WHITEBOARD)


def test_each_problem_of_the_whiteboard_has_a_topic_to_read(bank: Bank) -> None:
    assert [card.words for card in bank.of("whiteboard") if not card.topic] == []


def test_every_predict_exercise_is_a_card(bank: Bank) -> None:
    kinds = {card.words: card.about.kind.name for card in bank.of("predict")}
    assert len(kinds) >= 26 and set(kinds.values()) == {"predict"}


def test_every_card_leads_to_a_chapter_that_is_there_or_planned(bank: Bank) -> None:
    planned = yaml.safe_load((CODE / "notebooks" / "chapters.yml").read_text())
    keys = {str(key(chapter)) for chapter in planned}
    assert {str(key(card.chapter)) for card in bank.cards.values()} <= keys


@pytest.mark.parametrize(
    ("answer", "labels"),
    [
        (
            "- *Thirty seconds:* A.\n- *Longer:* B.\n- *They ask next:* C? D.\n- *The trap:* E.\n- *Proof:* x.",
            "A. C? D. E.",
        ),
        ("- *Thirty seconds:* A.\n- *Longer:* B.\n- *The trap:* E. *Proof:* x.", "A. B. E."),
        ("- *Thirty seconds:* A. B.\n  goes on. *They ask next:* C?", "A. B. goes on. C?"),
        ("- *Thirty seconds:* A. B. C. D.", "A. B. C. D."),
    ],
)
def test_three_points_come_of_any_answer(answer: str, labels: str) -> None:
    found = banks.points(Question("06_x", "Q?", answer))
    assert len(found) == 3 and " ".join(point.text for point in found) == labels


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("A port's logits differ from the original's. How do you find the bug?", "miss or hide the cause"),
        ("Your server's KV cache is full. What do you do?", "miss or hide the cause"),
        ("How do you find a word's nearest neighbours?", "often get wrong"),
        ("What goes wrong in a ring cache?", "often get wrong"),
    ],
)
def test_the_trap_of_a_symptom_is_a_step_that_misses_its_cause(words: str, wanted: str) -> None:
    assert wanted in rounds._follow_up(Point("The trap", "E."), words)


def test_a_rapid_fire_line_can_be_understood_without_the_line_before(bank: Bank) -> None:
    sequel = re.compile(r"^(And|Does that|Is that|Does it|Is it|Which of six)\b|\bthat number\b|\babove\b")
    assert [card.words for card in bank.of("line") if sequel.search(f"{card.words} {card.points[0].text}")] == []


def test_a_predict_exercise_asks_for_one_value(bank: Bank) -> None:
    """The round reads one line, `prediction = …`; an exercise that wants a function can't be answered there."""
    asked = {card.about.name: card.about for card in bank.of("predict")}
    assert len(asked) >= 25
    assert {"training_predict_numbers", "dtypes_predict_promotion"}.isdisjoint(asked)
    assert [name for name, each in asked.items() if "prediction" not in each.check] == []


# What is drawn


def cards_of(*topics: str) -> dict[str, Card]:
    return {name: Card(name, "line", f"{name[0]}_x", name, (Point("Answer", "A."),), topic=name[0]) for name in topics}


def orders(
    chosen: Iterable[Card], past: list[Answer], cards: dict[str, Card], seeds: int, most: int = 0
) -> list[list[str]]:
    """The names of the cards in the orders of so many seeds, two hours after noon."""
    return [
        [card.name for card in schedule.order(chosen, past, cards, NOON + 7200, np.random.default_rng(seed), most)]
        for seed in range(seeds)
    ]


def test_what_rests_comes_last() -> None:
    cards = cards_of("a1", "a2", "b1", "b2", "c1")
    past = [Answer("a1", "rapid", NOON, 1.0), Answer("b1", "rapid", NOON, 0.0)]
    assert {drawn[-1] for drawn in orders(cards.values(), past, cards, 50)} == {"a1"}  # right two hours ago
    assert {drawn[-1] for drawn in orders(cards.values(), past, cards, 50, most=1)} == {"a1"}


def test_weak_topics_come_more_often_and_not_always() -> None:
    """In the half of the draws that looks at answers, a card of a topic with a miss counts 4/3, one with a hit 2/3."""
    cards = cards_of("a1", "a2", "b1", "b2", "c1")
    past = [Answer("a1", "rapid", NOON, 1.0), Answer("b1", "rapid", NOON, 0.0)]
    firsts = [drawn[0] for drawn in orders([cards[name] for name in ("a2", "b2", "c1")], past, cards, 1800)]
    expected = {"a2": 500, "c1": 600, "b2": 700}  # 1/2 · 1/3 + 1/2 · (2/9, 3/9, 4/9); a standard deviation is 20
    assert {name: abs(firsts.count(name) - count) < 70 for name, count in expected.items()} == dict.fromkeys(
        expected, True
    )


def test_what_was_wrong_comes_back_soon_and_leaves_half_of_the_places() -> None:
    """Of 100 cards 50 were wrong: 10 of 20 places are nearly all theirs, and of the other 10 about half."""
    cards = cards_of(*(f"{place:02} {kind}" for place in range(50) for kind in ("wrong", "new")))
    past = [Answer(name, "rapid", NOON, 0.0) for name in cards if "wrong" in name]
    wrong = [sum("wrong" in name for name in drawn[:20]) for drawn in orders(cards.values(), past, cards, 200)]
    assert 14 < np.mean(wrong) < 16 and max(wrong) < 20
    one = [Answer("07 wrong", "rapid", NOON, 0.0)]  # weighs 133 among 99 others of 1
    where = [drawn.index("07 wrong") for drawn in orders(cards.values(), one, cards, 200)]
    assert 170 < sum(place < 6 for place in where) < 198  # 1 − (99/232)³ is 92 %; with a weight like others', 6 %


@pytest.mark.parametrize("most", [1, 2])
def test_no_chapter_has_more_than_its_share_of_a_round(most: int) -> None:
    cards = cards_of(*(f"{chapter}{place}" for chapter in "abcd" for place in range(5)))
    past = [Answer(name, "rapid", NOON, 0.0) for name in cards if name[0] == "a"]
    for drawn in orders(cards.values(), past, cards, 30, most):
        first = [name[0] for name in drawn[: 4 * most]]
        assert {chapter: first.count(chapter) for chapter in "abcd"} == dict.fromkeys("abcd", most)
    alone = orders([cards[name] for name in cards if name[0] == "a"], past, cards, 1, most)
    assert len(alone[0]) == 5  # where there is only one chapter


@pytest.mark.turns(8)
def test_what_is_asked_in_two_words_or_more_alike_is_known_as_the_same(bank: Bank) -> None:
    """Weighed by how rare they are, twins share half of their words; these pairs do, too, and ask something else."""
    others = {
        "Does a tensor that is saved and loaded keep `requires_grad`?",
        "Are batch norm's running statistics parameters?",
        "What should the loss be before the first step?",
        "Does `torch.compile` use this graph?",
        "What does the padding of a max pool contain?",
        'What does `torch.device("cuda")` mean?',
        "`torch.Tensor` or `torch.tensor`?",
        "Why save the optimizer, and what is in its `state_dict`?",
        "What is in an ONNX file?",
    }
    cards = [card for kind in ("question", "line") for card in bank.of(kind)]
    words = {card: set(re.findall(r"[a-z0-9_]+", card.words.lower())) - _COMMON for card in cards}
    count = Counter(word for each in words.values() for word in each)

    def rare(chosen: Iterable[str]) -> float:
        return sum(math.log(len(cards) / count[word]) for word in chosen)

    pairs = itertools.combinations(cards, 2)
    alike = [(a, b) for a, b in pairs if rare(words[a] & words[b]) >= 0.5 * rare(words[a] | words[b])]
    assert [(a.words, b.words) for a, b in alike if twins.family(a) != twins.family(b) and a.words not in others] == []


_COMMON = {
    *(
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "did",
        "do",
        "does",
        "each",
        "for",
        "from",
        "has",
        "have",
    ),
    *("how", "if", "in", "is", "it", "its", "many", "much", "not", "of", "on", "one", "or", "take", "takes", "than"),
    *("that", "the", "them", "there", "they", "this", "to", "what", "when", "where", "which", "who", "why", "with"),
    *("you", "your"),
}


def test_twins_are_cards(bank: Bank) -> None:
    asked = Counter(card.words for card in bank.cards.values())
    assert set(twins.FAMILIES) <= set(asked)
    assert min(Counter(twins.family(card) for card in bank.cards.values() if card.words in twins.FAMILIES).values()) > 1


@pytest.mark.parametrize("profile", ["", "language-models", "systems"])
def test_no_interview_asks_the_same_twice(bank: Bank, tmp_path: Path, profile: str) -> None:
    for seed in range(60):
        interview = drawn_of(bank, tmp_path, Plan(profile=profile, seed=seed))
        assert interview.history.open is not None
        asked = [twins.family(bank.cards[name]) for item in interview.history.open.items for name in item.cards]
        assert len(set(asked)) == len(asked), seed


def test_who_has_answered_a_question_is_not_asked_its_twin() -> None:
    one, other = (Card(words, "question", "24b_x", words) for words in list(twins.FAMILIES)[1:3])
    last, cards = Card("last", "question", "24b_x", "last"), {}
    cards = {card.name: card for card in (one, other, last)}
    given = [Answer(one.name, "explain", NOON, 1.0)]
    for seed in range(20):
        order = schedule.order([one, other, last], given, cards, NOON + 60, np.random.default_rng(seed))
        assert order[0] == last


def test_a_bad_round_does_not_decide_the_next_interview(bank: Bank, tmp_path: Path) -> None:
    """All that was asked of two chapters went wrong, and the next interview is about many chapters all the same."""
    past = History(tmp_path / "history.json")
    missed = [card for card in bank.cards.values() if card.chapter[:3] in ("14_", "22_")]
    past.answers = [Answer(card.name, card.kind, NOON - 7200, 0.0) for card in missed]
    again = 0
    for seed in range(20):
        Interview(bank, past, Time().clock).draw(Plan(("rapid", "explain"), 20, seed))
        asked_of = {
            kind: [bank.cards[name].chapter for item in past.open.items if item.round == kind for name in item.cards]
            for kind in ("rapid", "explain")
            if past.open
        }
        assert len(set(asked_of["explain"])) == len(asked_of["explain"]) >= 4
        assert len(set(asked_of["rapid"])) >= 5 and max(map(asked_of["rapid"].count, asked_of["rapid"])) <= 2
        again += len({"14", "22"} & {chapter[:2] for chapter in asked_of["explain"]})
    assert 12 <= again < 40  # 2 of 40 are theirs by chance, 40 was what a sorted order gave them


@pytest.mark.parametrize(
    ("scores", "hours"),
    [
        ([1], 24),
        ([1, 1], 72),
        ([1] * 3, 168),
        ([1, 1, 0], 1),
        ([1, 0, 1], 24),
        ([1] * 9, 840),
        ([2 / 3], 24),
        ([1 / 3], 1),
    ],
)
def test_a_card_rests_longer_each_time_it_is_right_and_an_hour_if_not(scores: list[float], hours: int) -> None:
    answers = [Answer("a", "rapid", NOON + place, score) for place, score in enumerate(scores)]
    assert schedule.due(answers) == NOON + len(scores) - 1 + hours * 3600


def test_the_same_seed_draws_the_same(bank: Bank, tmp_path: Path) -> None:
    drawn = []
    for seed in (3, 3, 4):
        interview = Interview(bank, History(tmp_path / "history.json"), Time().clock)
        interview.draw(Plan(seed=seed))
        assert interview.history.open is not None
        drawn.append(interview.history.open.items)
    assert drawn[0] == drawn[1] != drawn[2]


def _has_room(interview: Interview, seed: int) -> bool:
    """Whether this seed's whiteboard problem leaves the time for a design question."""
    interview.draw(Plan(seed=seed))
    assert interview.history.open is not None
    problem = next(item for item in interview.history.open.items if item.round == "whiteboard")
    return interview._minutes([problem]) <= 45 - 24


def test_a_whole_interview_has_every_round_and_fits_its_minutes(bank: Bank, tmp_path: Path) -> None:
    interview = Interview(bank, History(tmp_path / "history.json"), Time().clock)
    seed = next(seed for seed in range(50) if _has_room(interview, seed))
    interview.draw(Plan(seed=seed))
    assert interview.history.open is not None
    items = interview.history.open.items
    assert list(dict.fromkeys(item.round for item in items)) == list(rounds.ROUNDS)
    assert sum(item.round == "debug" for item in items) == 1
    names = [name for item in items for name in item.cards]
    assert len(set(names)) == len(names)


# In the terminal


def test_rapid_fire_asks_says_the_answer_and_sums_up(course: Course, time: Time) -> None:
    done = hold(course, "--round", "rapid", "--minutes", "1", "--seed", "1", replies="5\n1\n1\n2\n3\n1\n")
    assert done.exit_code == 0, done.output
    assert "Rapid fire · 3 of 3 · 20 s" in done.output
    assert "│ " not in done.output.partition("How it went")[0]
    assert re.search(r"Rapid fire +67 %", done.output)
    assert "50 % sure on average, and right in 67 %" in done.output
    answers = kept(course)["answers"]
    assert [(each["sure"], each["score"]) for each in answers] == [(90, 1.0), (10, 0.0), (50, 1.0)]
    assert kept(course)["open"] is None


def test_the_summary_says_of_each_item_what_was_asked_what_it_earned_and_what_to_read(bank: Bank) -> None:
    cards = [bank.of("line")[0], *(bank.cards[f"e-{name}"] for name in ("llama_sampler", "llama_gqa"))]
    answers = [
        Answer(card.name, kind, NOON, score, late=score == 0.6)
        for card, kind, score in zip(cards, ("rapid", "whiteboard", "whiteboard"), (0.0, 0.6, 1.0), strict=True)
    ]
    _, _, head, _, *lines = summaries.table(bank, answers).splitlines()
    assert head == "| asked | earned | read |"
    sampling = "[chapter 24b](24b_llama.ipynb#Sampling%3A-temperature%2C-top-k%2C-top-p)"
    assert [[cell.strip() for cell in line.strip("|").split(" |")] for line in lines[:5]] == [
        ["**Rapid fire**", "**0 %**", ""],
        [cards[0].words, "0 %", bank.reading(cards[0])],
        ["**Whiteboard**", "**80 %**", ""],
        [rounds.title(bank, cards[1]), "60 %, late", f"*Sampling: temperature, top-k, top-p* in {sampling}"],
        [rounds.title(bank, cards[2]), "100 %", ""],
    ]
    assert lines[-1] == "What earned less than two thirds of its points comes again soon."
    assert "comes again" not in summaries.table(bank, answers[-1:])


def test_a_sign_of_the_question_does_not_break_the_summarys_table(bank: Bank) -> None:
    card = replace(bank.of("line")[0], words="What is p(y | x)?")
    own = Bank.__new__(Bank)
    own.__dict__.update(bank.__dict__, cards={card.name: card})
    assert r"| What is p(y \| x)? | 100 % |" in summaries.table(own, [Answer(card.name, "rapid", NOON, 1.0)])


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


# The rounds, without a terminal


def talked(bank: Bank, course: Course, item: Item, reply: Callable[[Any], Any]) -> tuple[list[Any], list[Answer]]:
    """Everything that a round shows, and its answers; `reply` answers what it asks."""
    own, time = of_course(bank, course), Time()
    watch = Watch(time.clock, rounds.ROUNDS[item.round].seconds, True)
    cards = [bank.cards[name] for name in item.cards]
    talk = rounds.ROUNDS[item.round].talk(asking.Asking(own, item, cards, watch, time.clock))
    shown, sent = [], None
    try:
        while True:
            shown.append(talk.send(sent))
            match shown[-1]:
                case Say():
                    sent = None
                case Wait(_, does):
                    sent = does(str)
                case asked:
                    sent = reply(asked)
    except StopIteration as end:
        return shown, end.value


def test_explain_asks_the_follow_up_and_the_trap_before_it_says_them(bank: Bank, course: Course) -> None:
    card = next(
        each for each in bank.of("question") if each.words == "float16 or bfloat16?" and each.chapter[:2] == "22"
    )

    def reply(prompt: Any) -> Any:
        if isinstance(prompt, Tick):
            return [True, False, True]
        return 4 if prompt.options == asking.SURE else len(prompt.options) - 1

    shown, answers = talked(bank, course, Item("explain", [card.name], 1), reply)
    texts = [prompt.text for prompt in shown]
    assert "When does bfloat16 cause trouble?" in texts[1] and "something small is added" not in "".join(texts[:3])
    assert "trap" in texts[2]
    assert [point.partition(":*")[0] for point in shown[3].points] == ["*Thirty seconds", "*They ask next", "*The trap"]
    assert "torch.finfo" in texts[-2] and "65,504" not in texts[-2] and "6.6e+04" in texts[-2]
    assert (answers[0].score, answers[0].sure) == (2 / 3, 90)


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda each: each.name)
def test_a_prediction_is_compared_with_what_the_program_gives(bank: Bank, course: Course, program: Any) -> None:
    name = f"p-{program.name}"
    right = programs.run(program.drawn(np.random.default_rng(5)))
    wrong = "torch.int8" if right.startswith("torch.") else "17.25"
    for given, score in ((right, 1.0), (wrong, 0.0)):
        replies = {Write: given, Choose: 2}
        shown, (answer,) = talked(bank, course, Item("predict", [name], 5), lambda each, r=replies: r[type(each)])
        assert (answer.score, answer.sure) == (score, 50)
        assert shown[-1].text.startswith("**Right" if score else f"**No: it is `{right}`")


@pytest.mark.needs("torch")
@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda each: each.name)
def test_a_program_gives_the_same_on_pytorch(program: Any) -> None:
    seen = set()
    for seed in range(12):
        text = program.drawn(np.random.default_rng(seed))
        theirs = text.replace("import minitorch as torch", "import torch").replace("from minitorch", "from torch")
        assert programs.same(programs.run(text), programs.run(theirs)), text
        seen.add(programs.run(text))
    assert len(seen) > 1


@pytest.mark.parametrize(
    ("given", "right", "same"),
    [
        ("[2, 3]", "[2, 3]", True),
        ("(2,3)", "[2, 3]", True),
        ("2 3", "[2, 3]", True),
        ("torch.float32", "torch.float32", True),
        ("float32", "torch.float32", True),
        ("'float32'", "torch.float32", True),
        ("0.10", "0.1", True),
        ("3", "3", True),
        ("3.0", "3", True),
        ("[3, 2]", "[2, 3]", False),
        ("23", "[2, 3]", False),
        ("float16", "torch.float32", False),
        ("", "0", False),
        ("torch.Size([2, 3])", "[2, 3]", True),
        ("tensor(2.)", "2", True),
        ("tensor(3.)", "2", False),
    ],
)
def test_how_a_prediction_may_be_written(given: str, right: str, same: bool) -> None:
    assert programs.same(given, right) is same


@pytest.mark.turns(8)
def test_a_predict_exercise_is_judged_as_always(bank: Bank, course: Course) -> None:
    item = Item("predict", ["e-gpus_predict_pass"], 7)
    replies: dict[type, Any] = {Write: "[2, 2, 6, 12]", Choose: 4}
    shown, (answer,) = talked(bank, course, item, lambda each: replies[type(each)])
    assert "meter.calls" in shown[0].text and "points" not in shown[0].text
    assert "calls: you said `2`, it is `0`. The replicas run, not the meter itself" in shown[-1].text
    assert (answer.score, answer.sure, answer.right) == (0.0, 90, False)  # none of the four is right


@pytest.mark.usefixtures("graded")
def test_a_prediction_of_several_values_says_which_are_wrong_and_why(bank: Bank, course: Course) -> None:
    replies: dict[type, Any] = {Write: "[3, 3, 3, 1, 1]", Choose: 4}
    item = Item("predict", ["e-moe_predict_gradients"], 7)
    shown, (answer,) = talked(bank, course, item, lambda each: replies[type(each)])
    assert "rounded up as in Megatron" in shown[0].text
    heading, _, *lines = shown[-1].text.strip().splitlines()
    assert heading == "**3 of 5 values are right.**" and answer.score == pytest.approx(3 / 5)
    assert calibration.pairs([answer]) == [(90, False)]
    assert lines[:2] == ["- ✓ experts: `3`", "- ✓ rows, chosen logits: `3`"]
    assert lines[2].startswith("- ✗ rows, all logits: you said `3`, it is `6`. A softmax over all logits has each of")
    assert lines[3] == "- ✗ rows, k = 1: you said `1`, it is `0`."  # no known mistake predicts a 1


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("tune_predict_signal", "[8, 7, 16, 16]", "There are 4 values, and 5 are asked for."),
        ("tune_predict_signal", "8", "There is a single value, and 5 are asked for."),
        ("tune_predict_signal", "[8, 7, 16, 16, 4]", ""),
        ("attention_predict_changes", "[4, 6]", ""),  # how many rows change is the question
        ("align_predict_clip", "[1, 4]", ""),
    ],
)
def test_a_prediction_with_too_few_values_is_counted(bank: Bank, name: str, given: str, said: str) -> None:
    assert predictions.miscounted(bank.course, bank.cards[f"e-{name}"].about, given) == said


def test_a_prediction_that_is_nearly_right_is_counted_and_earns_something(bank: Bank, course: Course) -> None:
    """Where A is 0, the gradient is 0 too: seven of eight yes-or-no answers are right."""
    name, card = next((name, card) for name, card in bank.cards.items() if card.words == "align_predict_clip")
    solution = predictions._prediction(tasks.solution_of(course, card.about))
    replies = iter(["4", str(solution[:-1])])
    shown, (answer,) = talked(
        bank, course, Item("predict", [name], 1), lambda each: next(replies) if isinstance(each, Write) else 3
    )
    assert "There is a single value, and a list is asked for." in shown[1].text
    assert "7 of 8 answers are right." in shown[-1].text and "gradient 0" not in shown[-1].text.partition("`")[0]
    assert answer.score == pytest.approx((7 / 8) ** 2) and answer.right is False


@pytest.mark.usefixtures("graded")
def test_a_prediction_with_too_few_values_is_asked_for_once_more(bank: Bank, course: Course) -> None:
    given = iter(["[8, 7, 16, 16]", "[8, 7, 16, 16, 5]"])
    item = Item("predict", ["e-tune_predict_signal"], 1)
    _, (answer,) = talked(bank, course, item, lambda each: next(given) if isinstance(each, Write) else 0)
    assert answer.score == 1.0 and not list(given)


@pytest.mark.usefixtures("graded")
def test_a_prediction_whose_values_are_right_needs_no_check(
    bank: Bank, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(judged.Judge, "check")
    replies: dict[type, Any] = {Write: "(3, 3.0, 6, 0, 1)", Choose: 4}
    item = Item("predict", ["e-moe_predict_gradients"], 7)
    shown, (answer,) = talked(bank, course, item, lambda each: replies[type(each)])
    assert (
        shown[-1].text.startswith("**Right.**") and answer.score == 1.0 and calibration.pairs([answer]) == [(90, True)]
    )


def test_the_solution_of_each_prediction_is_right_value_by_value(bank: Bank) -> None:
    """Of those of several values; three others ask for a word, a number or a set, which isn't compared by places."""
    several = {}
    for card in bank.of("predict"):
        right = predictions._prediction(tasks.solution_of(bank.course, card.about))
        several[card.words] = predictions.values(bank.course, card.about, repr(right))
        assert all(each.is_right and not each.says for each in several[card.words]), card.words
    assert sum(map(bool, several.values())) >= 27 and several["align_predict_clip"] == []
    assert [each.name for each in several["data_predict_shares"]] == ["value 1", "value 2", "value 3"]
    assert [each.name for each in several["settings_predict_types"]] == [*"abcdef"]


@pytest.mark.usefixtures("graded")
def test_a_prediction_that_is_judged_as_a_whole_ends_with_the_solution(bank: Bank, course: Course) -> None:
    replies: dict[type, Any] = {Write: "[1, 4]", Choose: 4}
    item = Item("predict", ["e-align_predict_clip"], 7)
    shown, (answer,) = talked(bank, course, item, lambda each: replies[type(each)])
    assert shown[-1].text.startswith("**Not right.** Something") and "prediction = [1, 4, 8]" in shown[-1].text
    assert answer.score == 0.0


@pytest.mark.parametrize("given", ["[3, 3, 6, 0]", "7", "f(x)", "{'a': 1}", "[3, 3"])
def test_what_has_not_as_many_values_is_judged_as_a_whole(bank: Bank, given: str) -> None:
    exercise = bank.cards["e-moe_predict_gradients"].about
    assert predictions.values(bank.course, exercise, given) == []


@pytest.mark.parametrize("passed", [" None", "pass"])
def test_none_passes_on_a_prediction(bank: Bank, course: Course, passed: str) -> None:
    item = Item("predict", ["e-moe_predict_gradients"], 7)
    shown, (answer,) = talked(bank, course, item, lambda each: passed if isinstance(each, Write) else 4)
    assert shown[-1].text.startswith("**Passed.**") and "prediction = [" in shown[-1].text
    assert (answer.score, answer.sure) == (0.0, None)


@pytest.mark.turns(8)
def test_a_right_function_counts_beside_a_wrong_one(bank: Bank, course: Course) -> None:
    """The shards of a fused weight take its rows as they come; the block and its width are right."""
    exercise = bank.cards["e-decoder_swiglu"].about
    solution = tasks.solution_of(course, exercise)
    answer = f"""{solution[: solution.index("def shards")]}
def shards(w_in, w_down, ways):
    return list(zip(np.split(w_in, ways), np.split(w_down, ways, axis=1)))
"""

    def reply(prompt: Any) -> Any:
        if isinstance(prompt, Edit):
            prompt.path.write_text(answer)
        return [False] * 3 if isinstance(prompt, Tick) else 0

    shown, (given,) = talked(bank, course, Item("whiteboard", ["e-decoder_swiglu"], 5), reply)
    told = next(each.text for each in shown if isinstance(each, Say) and "of 3 points" in each.text)
    assert told.startswith("**2 of 3 points.** `swiglu` and `hidden_width` are right, ")
    assert told.partition(" are right, ")[2].partition("\n")[0].startswith("`shards` not yet.")
    assert given.score == pytest.approx(0.75 * 2 / 3)


def test_functions_that_have_their_points_are_not_counted_again(
    bank: Bank, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judged.Judge, "_prepare", lambda judge: None)
    verdict = judged.Verdict(1, 2, "one: wrong\nRight: two (1 of 2 points).", {"one": False, "two": True})
    monkeypatch.setattr(judged.Judge, "check", lambda *_: verdict)
    item = Item("whiteboard", ["e-memory_int8"], 3)
    shown, (answer,) = talked(bank, course, item, lambda each: [True] * 3 if isinstance(each, Tick) else 0)
    told = next(each.text for each in shown if isinstance(each, Say) and "1 of 2 points.**" in each.text)
    assert "not yet" not in told and answer.score == pytest.approx(0.75 / 2 + 0.25)


def test_compared_values_of_a_verdict_stand_as_they_are() -> None:
    """And what is known about a mistake is a sentence of its own; a single line that is neither stays one."""
    message = "one: Divide first.\na step: expected [tensor (2,)\n[1, *2*]], got 3\ntwo: ValueError: no\nRight: three."
    told = verdicts.laid_out(message, ["Divide first."])
    assert told.split("\n\n") == [
        "one: Divide first.",
        "```text\na step: expected [tensor (2,)\n[1, *2*]], got 3\ntwo: ValueError: no\n```",
        "Right: three.",
    ]
    assert verdicts.laid_out("NameError: no such name", ["Divide first."]) == "NameError: no such name"


@pytest.mark.parametrize("answer", ["def one(): return 1\ndef two(", "def one(): return 1", "one = two = 1"])
def test_an_answer_without_each_function_has_no_right_part(answer: str) -> None:
    both = "def one(): return 1\ndef two(): return 2"
    assert judged._mixed(both, both, answer) == {}
    assert judged._mixed("def one(): ...", both, both) == {}


def test_a_function_is_checked_with_the_solutions_others_and_its_own_helpers() -> None:
    stub = "def one(): ...\ndef two(): ..."
    solution = "def help(): return 0\ndef more(): return 9\ndef one(): return help() + 1\ndef two(): return 2"
    mixed = judged._mixed(stub, solution, "def help(): return 5\ndef one(): return help()\ndef two(): return 7")
    made = {name: faults.load(text) for name, text in mixed.items()}
    assert list(made) == ["one", "two"] and (made["one"].one(), made["one"].two()) == (5, 2)
    assert (made["two"].two(), made["two"].help(), made["two"].more()) == (7, 5, 9)


@pytest.mark.turns(8)
def test_a_whiteboard_answer_is_graded_on_fresh_inputs(bank: Bank, course: Course) -> None:
    name = "init_softmax"
    exercise = bank.cards[f"e-{name}"].about
    reference = next(
        cell.source for cell in banks._read(CODE / "solutions" / f"{exercise.chapter}.ipynb").cells if cell.id == name
    )

    def reply(prompt: Any) -> Any:
        if not isinstance(prompt, Edit):
            return [True] * 3 if isinstance(prompt, Tick) else 0
        assert prompt.path.read_text().strip() == tasks.bare(exercise.stub).strip()
        prompt.path.write_text(reference)
        return 0

    shown, (answer,) = talked(bank, course, Item("whiteboard", [f"e-{name}"], 11), reply)
    assert answer.score == 1.0 and f"**{exercise.points} of {exercise.points} points.**" in shown[-1].text
    assert not (history.folder(course) / f"{name}.py").exists()  # the next time begins anew


@pytest.mark.turns(8)
def test_the_judges_own_runs_are_done_before_the_check_and_functions_are_said(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solution and the known wrong answers run while the answer is written, and once for all that is checked."""
    own: list[int] = []
    run_own = Pool.run_own
    monkeypatch.setattr(Pool, "run_own", lambda pool, runs, *args: own.append(len(runs)) or run_own(pool, runs, *args))
    exercise = bank.cards["e-memory_int8"].about
    solution = tasks.solution_of(bank.course, exercise)
    heard: list[str] = []
    with judged.Judge(bank.course, exercise, 4) as judge:
        judge._thread.join()
        assert sum(own) > len(tasks.known_mistakes(bank.course, exercise))
        before = len(own)
        verdict = judge.check(solution.replace(".round()", ".floor()"), heard.append)
        assert judge.check(solution).points == exercise.points and not sum(own[before:])
    assert verdict.parts == {"quantize": False, "__init__": True}
    assert heard == ["running your answer"] + [
        f"running {name} with the solution's other functions" for name in ("quantize", "__init__")
    ]


def test_a_judge_that_is_left_ends_its_runs(bank: Bank) -> None:
    with judged.Judge(bank.course, bank.cards["e-memory_int8"].about, 4) as judge:
        folder = judge._folder
        assert folder.exists()
    assert not folder.exists() and not judge._thread.is_alive()


def test_a_terminal_counts_the_seconds_of_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says what is being done; in a file, that stands on lines of its own."""

    def does(tell: Callable[[str], None]) -> int:
        tell("running step alone")
        return 7

    assert "Checking …\n  running step alone …\n" in in_terminal(Wait("Checking …", does))
    seconds = itertools.count()
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(seconds))
    written = io.StringIO()
    assert terminal.answered(Wait("Checking …", does), Console(file=written, force_terminal=True, width=60)) == 7
    *_, last = re.findall(r"Checking … \d+ s.*", written.getvalue())
    assert re.match(r"Checking … [1-9]\d* s", last) and "alone" not in last


def test_a_notebook_says_what_a_check_is_doing(course: Course) -> None:
    room = at(course, Item("estimate", ["n-the-first-loss"], 1))
    shown: list[str] = []

    def does(tell: Callable[[str], None]) -> int:
        shown.append(room.asked.value)
        tell("running a < b alone")
        shown.append(room.asked.value)
        return 7

    assert room._wait(Wait("Checking …", does)) == 7
    assert "Checking … <span" in shown[0] and "running a &lt; b alone <span" in shown[1]
    assert 'class="left since"' in shown[1] and not room.asked.value


@pytest.mark.parametrize("last", ["", "NameError: name 'torch' is not defined"])
@pytest.mark.parametrize(
    "message",
    [
        "quantize: NameError: name 'torch' is not defined",
        "ModuleNotFoundError: minitorch is out of reach in this exercise",
    ],
)
def test_an_answer_that_lacks_a_name_is_handed_back_once(
    bank: Bank, course: Course, monkeypatch: pytest.MonkeyPatch, last: str, message: str
) -> None:
    verdicts = iter([judged.Verdict(0, 3, message), judged.Verdict(2, 3, last)])
    monkeypatch.setattr(judged.Judge, "_prepare", lambda judge: None)
    monkeypatch.setattr(judged.Judge, "check", lambda *_: next(verdicts))
    item = Item("whiteboard", ["e-memory_int8"], 3)
    shown, (answer,) = talked(bank, course, item, lambda each: [True] * 3 if isinstance(each, Tick) else 0)
    first, again = (each for each in shown if isinstance(each, Edit))
    assert again.text.startswith("Your answer needs `torch`, which isn't there. Besides Python's own names")
    assert "`Linear`" in again.text and "`quantize`" not in again.text and first.path == again.path
    assert answer.score == pytest.approx(0.75 * 2 / 3 + 0.25) and list(verdicts) == []


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("split_heads: NameError: name 'torch' is not defined (line 3)", "torch"),
        ("ModuleNotFoundError: No module named 'jax.numpy'", "jax.numpy"),
        ("ImportError: cannot import name 'scan' from 'mytorch'", "scan"),
        ("ModuleNotFoundError: torch.nn is out of reach in this exercise: write it yourself", "torch.nn"),
        ("UnboundLocalError: cannot access local variable 'm'", ""),
        ("m: 1.0 instead of 2.0", ""),
    ],
)
def test_which_name_an_answer_lacks(message: str, name: str) -> None:
    assert tasks.missing(message) == name


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("import torch", "import minitorch as torch"),
        ("import torch, math  # as always", "import minitorch as torch, math  # as always"),
        ("    import torch.nn", "    import minitorch as torch"),
        ("import torch as t", "import minitorch as t"),
        ("import torch.nn.functional as F", "import minitorch.nn.functional as F"),
        ("from torch import Tensor, nn", "from minitorch import Tensor, nn"),
        ("from torch.nn import functional as F", "from minitorch.nn import functional as F"),
        ("import torchvision", "import torchvision"),
        ("from .torch import x", "from .torch import x"),
        ("x = torch.ones(2)", "x = torch.ones(2)"),
    ],
)
def test_an_import_of_torch_brings_minitorch(line: str, ours: str) -> None:
    assert tasks.with_our_torch(f"a = 1\n{line}\nb = 2") == f"a = 1\n{ours}\nb = 2"
    theirs = ours.replace("minitorch", "mytorch")
    assert tasks.with_our_torch(f"a = 1\n{line}\nb = 2", "mytorch") == f"a = 1\n{theirs}\nb = 2"


def test_what_cases_are_worth() -> None:
    """A property counts only beside a right result, a list of numbers is one value, and another form is none."""
    expected = bundle(
        {"a": {"loss": 1.0, "is kept": True}, "b": [1, 2, 3], "c": (2.0, "x"), "d": True}, 1e-6, 0.0, False
    )

    def shares(**values: Any) -> list[float]:
        said = {"nonce": "n", "phase": "check", "shown": [bundle(values, 1e-6, 0.0, False)]}
        return nearness.shares(expected, json.dumps(said).encode())

    assert shares(a={"loss": 1.0, "is kept": True}, b=[1, 2, 3], c=(2.0, "x"), d=True) == [1, 1, 1, 1]
    assert shares(a={"loss": 1.0, "is kept": False}, b=[1, 2, 4], c=(3.0, "x"), d=False) == [0.5, 0, 0.5, 0]
    assert shares(a={"loss": 2.0, "is kept": True}, b=[1, 2], c=(2.0,), d=True) == [0, 0, 0, 1]
    assert shares(a=1.0) == [0, 0, 0, 0]
    assert nearness.shares(expected, b"no message") == nearness.shares(None, b"") == []
    assert nearness.score([1, 0.5]) == 0.5625 and nearness.score([]) == 0
    assert nearness.told([1, 1, 0.5, 0]) == "Of the 4 cases, 2 are right and 1 in part."
    assert nearness.told([1, 0]) == "Of the 2 cases, 1 is right." and nearness.told([0, 0]) == nearness.told([1]) == ""


def test_a_property_that_does_not_hold_is_said_in_words_and_once() -> None:
    wrong = "at ['the reference is frozen']: at [0]: expected boolean True, got boolean False"
    told = verdicts.laid_out(f"loss: {wrong}\none pair: {wrong}\nand 2 more", [])
    assert told.splitlines()[1] == "loss, one pair: this should hold: the reference is frozen (its part 1)"
    other = verdicts.laid_out("two: at ['it grew']: expected boolean False, got boolean True", [])
    assert other == "two: this should not hold: it grew"


def test_a_class_gives_way_to_the_methods_that_are_asked_for(bank: Bank) -> None:
    asked = bank.cards["e-memory_int8"].about
    text = (
        "x = 1\nclass Int8Linear(Module):\n    def __init__(self, layer):\n        pass\n    def forward(self): pass\n"
    )
    assert tasks.unwrapped(text, asked) == "x = 1\ndef __init__(self, layer):\n    pass\n"
    for other in (text.replace("Int8Linear", "Other"), text.replace("__init__", "init"), "class Int8Linear(\n"):
        assert tasks.unwrapped(other, asked) == other


def test_an_answer_may_begin_as_candidates_begin(bank: Bank) -> None:
    asked = bank.cards["e-align_dpo"].about
    answer = f"import torch\nimport torch.nn.functional as F\n\n\n{tasks.solution_of(bank.course, asked)}"
    with judged.Judge(bank.course, asked, 3) as judge:
        verdict = judge.check(answer)
    assert verdict.points == verdict.of > 0, verdict.message


def test_an_answer_for_mytorch_may_use_torch_and_stand_in_its_class(bank: Bank) -> None:
    asked = bank.cards["e-memory_int8"].about
    answer = """import torch
from torch import nn
import torch.nn.functional as F


def quantize(x, dim=-1):
    with torch.no_grad():
        rows = x.abs() if dim is not None else x.abs().flatten()
        largest = rows.amax(dim if dim is not None else 0, keepdim=True).clamp(min=1e-12)
        scale = largest / 127 if dim is not None else (largest / 127).reshape([1] * x.ndim)
        return (x / scale).round().clamp(-127, 127).to(torch.int8), scale


class Int8Linear(nn.Module):
    \"\"\"A layer.\"\"\"

    def __init__(self, layer):
        super().__init__()
        weight, scale = quantize(layer.weight)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())

    def forward(self, x):
        return F.linear(x, self.weight.float() * self.scale, self.bias)
"""
    with judged.Judge(bank.course, asked, 3) as judge:
        verdict = judge.check(answer)
    assert verdict.points == verdict.of > 0, verdict.message


def test_an_answer_with_one_slip_earns_most_of_it_and_nonsense_nearly_nothing(bank: Bank) -> None:
    """Label smoothing weighs log σ(x) of the lead twice, where the second should be log σ(−x)."""
    asked = bank.cards["e-align_dpo"].about
    solution = tasks.solution_of(bank.course, asked)
    slip = solution.replace("F.logsigmoid(-beta * lead)", "F.logsigmoid(beta * lead)")
    nonsense = "def dpo_loss(policy, *_, **__):\n    return policy.sum() * 0, policy.detach() * 0"
    assert slip != solution
    with judged.Judge(bank.course, asked, 3) as judge:
        one, other = judge.check(slip), judge.check(nonsense)
    assert one.points == other.points == 0
    assert other.score < 0.2 < 0.6 < one.score < 1 and one.cases.startswith("Of the 10 cases, 8 are right")


def test_what_is_imported_is_said(bank: Bank) -> None:
    assert tasks.whose(bank.cards["e-align_dpo"].about) == "`torch`, `F`, `np` and `math` are imported. "
    assert tasks.whose(bank.cards["e-shards_build_mlp"].about) == "`np` is imported. "
    assert tasks.whose(bank.cards["e-features_lora"].about).startswith("You write ")


def test_the_names_in_scope_are_those_of_the_module_or_of_the_notebook(bank: Bank) -> None:
    of_module = tasks.in_scope(bank.course, bank.cards["e-features_lora"].about)
    assert {"Parameter", "empty", "zeros", "copy", "linear", "draw", "no_grad"} <= {
        *of_module
    } and "np" not in of_module
    of_notebook = tasks.in_scope(bank.course, bank.cards["e-serve_schedule"].about)
    assert {"Request", "np", "torch", "Counter"} <= {*of_notebook} and not {"check", "annotations"} & {*of_notebook}


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
    assert "Of the 3 questions about it you answered 2." in verdict.text
    assert answer.score == pytest.approx(0.75 + 0.25 * 2 / 3)
    others = {tuple(each.text for each in rounds._rungs(card.points, np.random.default_rng(seed))) for seed in range(9)}
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
            assert len(said.split()) < 190 and '"""' not in stub
            first, *others = tasks.hints_of(bank.course, exercise)
            assert exercise.stub.strip() in first and others == exercise.hints
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

    _, (answer,) = talked(bank, course, Item("whiteboard", [card.name], 3), reply)
    assert answer.score == pytest.approx(0.75 * 0.8 + 0.25)


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
        if isinstance(prompt, Tick):
            return [True] * 3
        fix = "fix it, for half of what it adds"
        return prompt.options.index(fix) if fix in prompt.options else 0

    shown, (answer,) = talked(bank, course, Item("whiteboard", [card.name], 3), reply)
    told = [each.text for each in shown if isinstance(each, Say) and "points.**" in each.text]
    assert f"**0 of {points} points.**" in told[0] and f"**{points} of {points} points.**" in told[1]
    assert any("your program is worth 50%" in each.text for each in shown if isinstance(each, Say))
    assert answer.score == pytest.approx(0.75 / 2 + 0.25) and not list(answers)


def test_a_hint_is_shown_while_one_writes(tmp_path: Path) -> None:
    shown = in_terminal(Edit("Write it.", tmp_path / "it.py", hints=("Look.", "Think.")), replies="h\nhint\nh\n\n")
    assert "Hint 1 of 2. Look." in shown and "Hint 2 of 2. Think." in shown
    assert shown.count("h for a hint") == 2  # there is no third


def test_a_file_that_is_as_it_was_is_handed_in_by_a_second_enter(tmp_path: Path) -> None:
    (path := tmp_path / "it.py").write_text("pass\n")
    assert in_terminal(Edit("Write it.", path), replies="\n\n").count("Nothing in the file has changed yet.") == 1


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
        assert [point.label for point in card.points] == ["Cost"] + 3 * ["They ask next"], card.words
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
        assert past.open
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


def test_a_design_is_asked_changed_and_judged_by_its_points(bank: Bank, course: Course) -> None:
    name = f"d-{slug('Give a language model tools')}"
    count = len(bank.cards[name].points)
    shown, (answer,) = talked(
        bank,
        course,
        Item("design", [name], 1),
        lambda each: [True, True] + [False] * (count - 2) if isinstance(each, Tick) else 3,
    )
    sure, change, ticks = shown
    assert (
        "refund up to 100 dollars" in sure.text and "20 steps" not in sure.text and "Prompt injection" not in sure.text
    )
    assert change.text.startswith("They ask next: **Each step is right in 95 of 100 cases.")
    assert "idempotency" in " ".join(ticks.points)
    assert (answer.score, answer.sure) == (pytest.approx(2 / count), 70)


def test_a_long_problem_is_asked_of_somebody_who_has_the_time(bank: Bank, tmp_path: Path) -> None:
    past = History(tmp_path / "history.json")
    Interview(bank, past, Time().clock).draw(Plan(("whiteboard",), topics=("prefix cache",), seed=1))
    assert past.open and [each.cards for each in past.open.items] == [["e-serve_prefix"]]
    assert past.open.minutes == 38


def test_what_is_weakest_is_named_by_the_chapter_that_was_asked(bank: Bank) -> None:
    """A topic of chapters 11 and 22 that was missed in 22 isn't called by its heading in 11."""
    card = next(card for card in bank.of("question") if card.chapter[:3] == "22_")
    card = replace(card, topic="A.cudnn", section="")
    own = Bank.__new__(Bank)
    own.__dict__.update(bank.__dict__, cards={card.name: card})
    told = summaries.weakest(own, [Answer(card.name, "explain", NOON, 0.0, 50, 1.0, False)])
    assert told.count("\n- ") == 1 and "(22_" in told and "(11_" not in told


def test_a_miss_counts_for_one_section(bank: Bank) -> None:
    card = next(card for card in bank.of("predict") if card.words == "backward_predict_detached_write")
    assert len(card.topics) == 5 and card.topic == "D4"  # D4 and C.variable list one question each, and D4 comes first
    told = summaries.weakest(bank, [Answer(card.name, "predict", NOON, 0.0)])
    assert told.count("\n- ") == 1 and told.endswith(": 0 % of the points of the only answer")
    assert "*In-place writes in the graph* in [chapter 07]" in told


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ([0.0], "0 % of the points of the only answer"),
        ([1 / 3], ""),  # one point of three is no clear miss
        ([1 / 3, 2 / 3], "50 % of the points of 2 answers"),
        ([2 / 3, 2 / 3], ""),
        ([0.0, 1.0, 1.0], ""),
    ],
)
def test_a_topic_is_weak_after_several_answers_or_a_clear_miss(bank: Bank, scores: list[float], told: str) -> None:
    card = next(card for card in bank.of("question") if card.topic == "A.moe")
    past = [Answer(card.name, "explain", NOON + at, score) for at, score in enumerate(scores)]
    assert told in summaries.weakest(bank, past) and bool(told) == bool(summaries.weakest(bank, past))


def test_three_weak_topics_are_listed_and_of_equals_the_last(bank: Bank) -> None:
    cards = list({bank.place(card): card for card in bank.of("question") if card.section}.values())[:5]
    past = [Answer(card.name, "explain", NOON + at, 0.0) for at, card in enumerate(cards)]
    past.append(Answer(cards[0].name, "explain", NOON + 9, 0.0))
    lines = summaries.weakest(bank, past).splitlines()[2:]
    wanted = [cards[0], cards[4], cards[3]]  # two misses, then one each
    assert [line.rpartition(":")[0] for line in lines] == [f"- {bank.reading(card)}" for card in wanted]


def test_the_sections_to_read_are_in_the_lessons(bank: Bank) -> None:
    listed = {name for card in bank.cards.values() for name in (card.words, getattr(card.about, "name", ""))}
    assert {*bank.sections} <= listed
    for card in bank.cards.values():
        chapter, heading = bank.place(card)
        if heading or card.kind in ("question", "whiteboard", "predict", "program", "fault", "estimate"):
            text = "\n".join(cell.source for cell in bank.lessons[chapter].cells if cell.cell_type == "markdown")
            assert re.search(rf"^#+ {re.escape(heading)}$", text, re.MULTILINE), (card.name, heading)


def test_a_missed_line_about_language_models_names_a_section(bank: Bank) -> None:
    """A whole chapter is an hour, and the line was twenty seconds."""
    scope = bank.scope("language-models")
    cards = [card for card in bank.of("line") if scope.holds(card) and card.words not in UNASKED]
    unplaced = [card.name for card in cards if not bank.place(card)[1]]
    assert len(cards) > 70 and len(unplaced) <= len(cards) // 8, unplaced


@pytest.mark.parametrize(
    ("name", "chapter", "heading"),
    [
        ("f-dropout-while-answering", "12_norm_dropout_and_modes", "Modes"),
        ("e-llama_sampler", "24b_llama", "Sampling: temperature, top-k, top-p"),
        ("e-llama_gqa", "24b_llama", "Swap 4: grouped-query attention"),
        ("e-serve_bpe", "27_whiteboard_serving", "Byte-pair encoding (BPE)"),
        ("f-nucleus-too-small", "24b_llama", "Sampling: temperature, top-k, top-p"),
        ("n-noise-of-an-evaluation", "28_whiteboard_alignment", "The standard error of a benchmark"),
    ],
)
def test_an_item_is_read_about_in_its_own_section(bank: Bank, name: str, chapter: str, heading: str) -> None:
    assert bank.place(bank.cards[name]) == (chapter, heading)


def test_a_whiteboard_problem_has_the_minutes_that_its_notebook_states(bank: Bank, course: Course) -> None:
    allowed = {card.words: rounds.ROUNDS["whiteboard"].allowed([card]) for card in bank.of("whiteboard")}
    stated = {}
    for path in sorted(course.pristine.glob("*_whiteboard_*.ipynb")):
        for cell in banks._read(path).cells:
            found = re.search(
                r"^\*(\d+) minutes · \d+ points?\b.* · a hint: .*hint\(\"(\w+)\"\)", cell.source, re.MULTILINE
            )
            stated |= {found[2]: int(found[1])} if found else {}
    assert len(stated) == 14 + 13 + 14 + 12
    asked = {name: minutes for name, minutes in stated.items() if name in allowed}
    assert len(asked) >= 23 and asked == {name: (allowed[name] - 180) / 60 for name in asked}
    assert {allowed[name] for name in allowed if name not in asked} <= {60.0 * minutes for minutes in range(5, 26)}


@pytest.mark.parametrize(
    ("names", "minutes"), [(("debug",), 20), (("rapid",), 2), (("rapid", "debug"), 22), (("whiteboard",), 15)]
)
def test_rounds_alone_are_as_long_as_in_a_whole_interview(
    bank: Bank, tmp_path: Path, names: tuple[str, ...], minutes: int
) -> None:
    plan = Plan(names, seed=1, topics=("SwiGLU",) if names == ("whiteboard",) else ())
    opened = drawn_of(bank, tmp_path, plan).history.open
    assert opened is not None and opened.minutes == minutes
    assert [item.round for item in opened.items].count("debug") == ("debug" in names)
    assert drawn_of(bank, tmp_path, Plan(names, 60, 1)).history.open.minutes == 60  # type: ignore[union-attr]


@pytest.mark.usefixtures("graded")
def test_the_summary_calls_an_exercise_by_its_title(course: Course, time: Time) -> None:
    past = History(history.folder(course) / "history.json")
    past.open = history.Open(1, 45, True, [Item("predict", ["e-moe_predict_gradients"], 1)], began=NOON)
    past.save()
    done = hold(course, replies="[1, 1, 1, 1, 1]\n3\n\n")
    shown = " ".join(done.output.partition("How it went")[2].split())
    assert "the exercise Who gets a gradient?" in shown and "The router's gradient in" in shown
    assert "moe_predict" not in shown


def test_what_was_written_in_a_round_that_was_interrupted_is_still_there(bank: Bank, course: Course) -> None:
    path = history.folder(course) / "training.py"
    item = Item("debug", [f"f-{name}" for name in ("mask-polarity", "label-shift", "softmax-twice", "no-zero-grad")], 1)

    def stops(prompt: Edit) -> None:
        prompt.path.write_text("half = 'mended'")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        talked(bank, course, item, stops)
    seen = []

    def goes_on(prompt: Edit) -> None:
        seen.append(prompt.path.read_text())

    talked(bank, course, item, goes_on)
    assert seen == ["half = 'mended'"] and not path.exists()


@pytest.mark.turns(8)
def test_a_debug_round_scores_what_is_mended_and_what_tests_see(bank: Bank, course: Course) -> None:
    names = ["mask polarity", "label shift", "mean of means", "graphs kept"]
    item = Item("debug", [f"f-{each.replace(' ', '-')}" for each in names], 1)

    def mend(prompt: Edit) -> None:
        assert prompt.path.read_text() == faults.spelled(
            faults.planted(map(faults.named, names)), np.random.default_rng(1)
        )
        assert "with that fault alone" in prompt.text  # together, 1.27 at least and 0.67 would contradict each other
        for symptom in (faults.named(name).symptom for name in names):
            assert symptom in prompt.text
        left = faults.planted([faults.named("graphs kept")])
        tests = (
            "\n\ndef test_copying_costs():\n    rows = torch.arange(LENGTH)[None] % TOKENS\n"
            "    assert loss_of(lambda tokens: torch.eye(TOKENS)[tokens] * 30, rows) > 1\n"
            "\n\ndef test_nothing():\n    assert TOKENS == 8\n"
            "\n\ndef test_too_strict():\n    assert TOKENS == 9\n"
        )
        prompt.path.write_text(left + tests)

    shown, answers = talked(bank, course, item, mend)
    assert [answer.score for answer in answers] == [0.75, 1.0, 0.75, 0.0]  # a test for the label shift alone
    assert "3 of 4 faults fixed" in shown[-1].text
    assert "Faults that a test of yours sees: 1. Tests that see none" in shown[-1].text
    assert "since they also pass with each of the faults: `test_nothing`" in shown[-1].text
    assert "Tests that fail on your own program: `test_too_strict`" in shown[-1].text
    assert shown[-1].text.count(" No test of yours sees it.") == 2
    assert "`no_graph_outlives_its_step`" in shown[-1].text


@pytest.mark.turns(8)
def test_a_repair_that_hides_the_symptom_is_named(bank: Bank, course: Course) -> None:
    """The temperature counts twice: in the softmax, and again as an exponent."""
    names = ["temperature after top-p", "no stop at END"]
    item = Item("debug", [f"f-{slug(each)}" for each in names], 1)

    def mend(prompt: Edit) -> None:
        twice = faults.clean("serving").replace(", 0.0), 1, generator", ", 0.0) ** (1 / temperature), 1, generator")
        prompt.path.write_text(twice)

    shown, answers = talked(bank, course, item, mend)
    assert [answer.score for answer in answers] == [0.0, 0.75]
    assert "1 of 2 faults fixed" in shown[-1].text
    told = "The symptom is gone, but `choose` gives other results than the correct program for random logits at other"
    assert told in shown[-1].text and "✓ *no stop at END.*" in shown[-1].text


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import os\nos._exit(3)", "the program ended the process"),
        ("x = (", "SyntaxError: '(' was never closed (training.py, line 1)"),
        ("while True:\n    pass", "stopped after 3 seconds"),
    ],
)
def test_a_program_that_breaks_is_told_so(
    tmp_path: Path, text: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "while" in text:
        monkeypatch.setattr(judged, "SECONDS", 3)
    path = tmp_path / "training.py"
    path.write_text(text)
    assert judged.mended(path, ["label shift"], 1).complaints == {"label shift": told}


def test_debug_draws_four_faults_that_do_not_hide_each_other(bank: Bank) -> None:
    seen = set()
    for seed in range(20):
        drawn = bank.of("fault")
        order = schedule.shuffled(drawn, [1.0] * len(drawn), np.random.default_rng(seed))
        for group in rounds.ROUNDS["debug"].groups(order):
            chosen = [card.about for card in group]
            assert len(chosen) == 4 and not {each.hidden_by for each in chosen} & {each.name for each in chosen}
            faults.planted(chosen)  # of one program
            seen.add(chosen[0].program)
    assert seen == {*faults.PROGRAMS}


@pytest.mark.parametrize("profile", ["", *PROFILES])
def test_two_interviews_in_a_row_share_one_fault_at_most(bank: Bank, tmp_path: Path, profile: str) -> None:
    """However the first went, and whether the second comes in ten minutes or after a day."""
    scope = bank.scope(profile)
    assert sum(scope.holds(card) for card in bank.of("fault")) >= 8
    rng = np.random.default_rng(0)
    time, past, before = Time(), History(tmp_path / "history.json"), set[str]()
    for seed in range(12):
        interview = Interview(bank, past, time.clock)
        interview.draw(Plan(("debug",), profile=profile, seed=seed))
        (drawn,) = past.open.items if past.open else []
        assert len(before & {*drawn.cards}) <= 1
        before = {*drawn.cards}
        past.answers += [
            Answer(name, "debug", NOON + time.at, float(rng.choice([0.0, 0.75, 1.0]))) for name in drawn.cards
        ]
        time.at += float(rng.choice([600, 4000, 90_000]))


def test_the_program_that_answers_is_asked_about_by_its_own_name(bank: Bank, course: Course) -> None:
    names = ["RoPE offset", "padding mask inverted", "nucleus too small", "any for all"]
    item = Item("debug", [f"f-{slug(each)}" for each in names], 1)

    def mend(prompt: Edit) -> None:
        assert prompt.path.name == "serving.py" and "continues prompts" in prompt.text
        assert "`generate(Model(), [[3, 4, 5], [6, 7]], 8)` then gives two answers" in prompt.text
        left = faults.planted([faults.named("any for all")])
        test = (
            "\n\ndef test_padding():\n    model = Model().eval()\n    ids, real = padded([[3, 4], [5, 6, 7]])\n"
            "    beside = model(ids, real, [Cache() for _ in model.blocks])[0, -1]\n"
            "    alone = model(ids[:1, 1:], real[:1, 1:], [Cache() for _ in model.blocks])[0, -1]\n"
            "    assert (beside - alone).abs().max() < 1e-4\n"
        )
        prompt.path.write_text(left + test)

    shown, answers = talked(bank, course, item, mend)
    assert [answer.score for answer in answers] == [0.75, 1.0, 0.75, 0.0]
    assert "`an_answer_ends_by_itself`: beside an answer that ended, five tokens were wanted" in shown[-1].text


def test_the_program_that_tunes_is_asked_about_and_tests_see_its_faults(bank: Bank, course: Course) -> None:
    names = ["gradients cleared too often", "validation shuffled", "padding marked", "the end ignored"]
    item = Item("debug", [f"f-{slug(each)}" for each in names], 1)

    def mend(prompt: Edit) -> None:
        assert prompt.path.name == "tuning.py" and "tunes a small language model" in prompt.text
        left = faults.planted([faults.named("the end ignored")])
        tests = (
            "\n\ndef test_the_first_batch_counts():\n    moved = []\n    for seed in (0, 1):\n"
            "        torch.manual_seed(0)\n        model = Model().eval()\n"
            "        group = [collate(examples(4, each)) for each in (seed, 2)]\n"
            "        step(model, torch.optim.SGD(model.parameters(), lr=0.1), group)\n"
            "        moved.append(model.head.weight.detach())\n"
            "    one, other = moved\n    torch.manual_seed(0)\n    before = Model().head.weight.detach()\n"
            "    one, other = one - before, other - before\n"
            "    assert (one / one.norm() - other / other.norm()).norm() > 1e-3\n"
            "\n\ndef test_the_hardest_is_the_hardest():\n    model, _, hardest = train(1)\n"
            "    losses = [evaluate(model, [collate([each])])[0] for each in [hardest, *examples(60, 1)]]\n"
            "    assert losses[0] > max(losses) - 1e-3\n"
        )
        prompt.path.write_text(left + tests)

    shown, answers = talked(bank, course, item, mend)
    assert [answer.score for answer in answers] == [1.0, 1.0, 1.0, 0.0]  # alone, a loss has no padding in it
    assert "Faults that a test of yours sees: 3." in shown[-1].text
    assert (
        "`the_end_of_an_answer_counts`: with uniform logits, the END of an answer has a loss of 0.00" in shown[-1].text
    )


# Estimates


@pytest.mark.parametrize("estimate", estimates.ESTIMATES, ids=lambda each: each.name)
def test_an_estimate_is_right_within_its_tolerance(bank: Bank, course: Course, estimate: Any) -> None:
    name = next(card.name for card in bank.of("estimate") if card.about is estimate)
    numbers = estimate.drawn(np.random.default_rng(9))
    right, close = estimate.answer(numbers), estimate.tolerance
    for given, score in ((right * (1 + 0.9 * close), 1.0), (right * (1 + 1.1 * close) + (not close), 0.0)):
        sign = " %" if estimate.unit in ("percent", "points") else ""
        replies = iter(["about many", f"{given:.10g}{sign}"])
        shown, (answer,) = talked(
            bank, course, Item("estimate", [name], 9), lambda each, r=replies: next(r) if isinstance(each, Write) else 3
        )
        assert (answer.score, answer.sure) == (score, 70)
        assert "isn't one number" in shown[1].text
        assert (f"within {close:.0%}" if close else "exactly") in shown[0].text
        assert shown[-1].text.startswith("**Close enough" if score else "**No")


@pytest.mark.parametrize(
    ("factor", "told"),
    [
        (64, "64 times too large"),
        (2.6, "2.6 times too large"),
        (1 / 2, "2 times too small"),
        (1 / 64, "64 times too small"),
        (1.3, "30 % too large"),
        (0.8, "20 % too small"),
        (1.001, ""),
        (-1, ""),
        (0, ""),
    ],
)
def test_a_wrong_estimate_says_by_how_much(factor: float, told: str) -> None:
    """64 times too large is a forgotten division by 64 GPUs."""
    estimate = next(each for each in estimates.ESTIMATES if each.name == "time of a batch of rollouts")
    numbers = estimate.drawn(np.random.default_rng(9))
    assert estimate.off(factor * estimate.answer(numbers), numbers) == told


def test_there_are_thirty_estimates_or_more_and_seeds_draw_other_numbers() -> None:
    assert len(estimates.ESTIMATES) >= 30
    for each in estimates.ESTIMATES:
        tasks = {each.task(each.drawn(np.random.default_rng(seed))) for seed in range(10)}
        assert len(tasks) > 2 and not any(
            "{" in task or "{" in each.formula.format(**each.drawn(np.random.default_rng(0))) for task in tasks
        )


def measured(name: str) -> tuple[dict[str, Any], float]:
    """Small numbers for an estimate, and what they come to when it is really done."""
    nn = torch.nn
    match name:
        case "memory of training with Adam":
            layer = nn.Linear(1000, 1000, bias=False).bfloat16()
            moments = [torch.zeros(1000, 1000) for _ in range(3)]
            layer.weight.grad = torch.zeros_like(layer.weight)
            every = [layer.weight, layer.weight.grad, *moments]
            return {"billions": 1e-3}, sum(each.untyped_storage().nbytes() for each in every) / 1e9
        case "a key-value cache":
            numbers = {"layers": 2, "heads": 3, "width": 8, "batch": 4, "length": 5}
            caches = [torch.zeros(2, 4, 3, 5, 8, dtype=torch.float16) for _ in range(2)]
            return numbers, sum(each.untyped_storage().nbytes() for each in caches) / 1e9
        case "memory of attention weights":
            scores = torch.zeros(2, 3, 7, 7)
            return {"batch": 2, "heads": 3, "length": 7}, scores.untyped_storage().nbytes() / 1e6
        case "parameters of a convolution":
            layer = nn.Conv2d(5, 7, 3)
            return {"inputs": 5, "outputs": 7, "size": 3}, sum(each.numel() for each in layer.parameters())
        case "work of a convolution":
            windows = nn.Unfold(3, padding=1)(torch.zeros(1, 5, 8, 8))  # each of them meets each filter
            return {"inputs": 5, "outputs": 7, "side": 8}, 7 * windows.numel() / 1e6
        case "parameters of transformer blocks":
            block = nn.TransformerEncoderLayer(16, 2, 64)
            weights = sum(each.numel() for name, each in block.named_parameters() if each.dim() == 2)
            return {"layers": 3, "width": 16}, 3 * weights / 1e6
        case "parameters of LoRA":
            down, up = nn.Linear(16, 4, bias=False), nn.Linear(4, 16, bias=False)
            return {"rank": 4, "matrices": 3, "width": 16}, 3 * (down.weight.numel() + up.weight.numel()) / 1e6
        case "the first loss":
            loss = nn.functional.cross_entropy(torch.zeros(4, 65), torch.arange(4))
            return {"tokens": 65}, loss.item()
        case "workers of a loader":
            busy = next(n for n in range(1, 99) if 350 / n <= 30)
            return {"load": 350, "step": 30}, busy
        case "traffic of an all-reduce":
            parts, sent = 4, 0.0  # a ring: each of 3 + 3 rounds sends a quarter of the numbers
            for _ in range(2 * (parts - 1)):
                sent += 100 / parts * 4
            return {"gpus": parts, "millions": 100, "type": "float32"}, sent
        case "work of training":  # GPT-3: 175 billion, 300 billion tokens, 3.15e23 operations in its paper
            return {"billions": 175, "tokens": 300, "gpus": 1000, "speed": 100}, 3.15e23 / 1e17 / 86400
        case "speed of decoding":
            return {"billions": 7, "type": "bfloat16", "bandwidth": 1400}, 100.0
        case "active parameters of a mixture of experts":  # Mixtral 8x7B: 12.9 of its 46.7 billion, in its paper
            expert = 3 * 4096 * 14336 / 1e6
            rest = 46.7 - 32 * 8 * expert / 1e3
            return {"layers": 32, "experts": 8, "millions": expert, "rest": rest, "chosen": 2}, 12.9e3
        case "speed of training at an MFU":  # PaLM 540B: 238.3 thousand a second on 6,144 chips, 45.7 % in its paper
            return {"billions": 540, "peak": 275, "share": 45.7}, 238_300 / 6144
        case "the batch at which decoding is bound by arithmetic":
            arithmetic = (each for each in range(1, 999) if 2 * each / 312e12 >= 2 / 2e12)
            return {"peak": 312, "bandwidth": 2000}, next(arithmetic)
        case "memory of the caches of a service":  # every 0.2 s a request arrives; how many are there at time 99?
            there = sum(0.2 * each <= 99 < 0.2 * each + 4 for each in range(999))
            numbers = {"rate": 5, "seconds": 4, "length": 500, "kb": 32}
            return numbers, there * torch.zeros(500, 32_000, dtype=torch.int8).untyped_storage().nbytes() / 1e9
        case "time of a prefill":  # a layer's weights meet each token in a multiplication and an addition
            layer, tokens = nn.Linear(20, 50, bias=False), torch.zeros(3, 20)
            work = 2 * sum(tokens[0].numel() for _ in range(layer(tokens).numel()))
            return {"length": 3, "billions": layer.weight.numel() / 1e9, "gpus": 2, "speed": 5}, work / 1e13
        case "tokens of a pass with drafts":  # each way in which 3 drafts can be accepted
            chance, mean = 0.8, 0.0
            for accepted in itertools.product((True, False), repeat=3):
                likely = math.prod(chance if each else 1 - chance for each in accepted)
                mean += likely * (1 + len(list(itertools.takewhile(bool, accepted))))
            return {"drafts": 3, "chance": chance}, mean
        case "bubble of a pipeline":
            busy = {(stage, stage + batch) for stage in range(4) for batch in range(6)}
            ends = 1 + max(at for _, at in busy)
            return {"stages": 4, "batches": 6}, 100 * (1 - len(busy) / (4 * ends))
        case "time between checkpoints":
            lost = {t / 10: 2 / (t / 10) + t / 20 / (8 * 60) for t in range(1, 3000)}
            return {"hours": 8, "minutes": 2}, min(lost, key=lost.__getitem__)
        case "memory of a vector index":
            size = torch.zeros(100, 8, dtype=torch.int8).untyped_storage().nbytes()
            return {"millions": 100 / 1e6, "width": 8, "type": "int8"}, size / 1e9
        case "cost of a million tokens":  # 3,600,000 tokens an hour
            return {"dollars": 3.6, "rate": 1000}, 1.0
        case "the best size for a budget":  # Chinchilla, in its paper: 70 billion parameters and 1.4 trillion tokens
            return {"budget": 588}, 70e9
        case "memory of logits":
            return {"batch": 2, "length": 3, "tokens": 65}, torch.zeros(2, 3, 65).untyped_storage().nbytes() / 1e9
        case "a model in few bits":
            packed, scales = np.zeros(1024 // 2, np.uint8), np.zeros(1024 // 64, np.float16)
            return {"billions": 1024 / 1e9, "bits": 4, "group": 64}, (packed.nbytes + scales.nbytes) / 1e9
        case "success of an agent":
            rolls = list(itertools.product(range(10), repeat=3))  # nine of ten are right
            return {"steps": 3, "share": 90}, 100 * sum(all(roll) for roll in rolls) / len(rolls)
        case "prompt tokens of an agent":
            return {"calls": 5, "first": 100, "last": 300}, sum((100, 150, 200, 250, 300)) / 1e6
        case "time of a batch of rollouts":
            replies = [[5 for _ in range(8)] for _ in range(4)]
            return {"group": 8, "prompts": 4, "length": 5, "gpus": 2, "rate": 10}, sum(map(sum, replies)) / 20
        case "noise of an evaluation":
            wins = np.random.default_rng(0).binomial(400, 0.7, 200_000)
            return {"share": 70, "tasks": 400}, float(100 * (wins / 400).std())
        case "work of k-means":
            points, centres = torch.zeros(6, 3), torch.zeros(4, 3)
            squares = (points[:, None] - centres) ** 2
            return {"rounds": 2, "points": 6, "width": 3, "clusters": 4}, 2 * squares.numel() / 1e6
        case "precision at a base rate":  # of 100,000 payments 100 are fraud
            return {"each": 1000, "recall": 80, "false": 1}, 100 * 80 / (80 + 999)
    raise AssertionError(name)


def test_each_job_has_estimates_of_its_own(bank: Bank) -> None:
    counts = {name: sum(map(bank.scope(name).holds, bank.of("estimate"))) for name in PROFILES}
    assert counts["language-models"] >= 22 and min(counts.values()) >= 3, counts


@pytest.mark.parametrize("estimate", estimates.ESTIMATES, ids=lambda each: each.name)
def test_a_formula_gives_what_is_measured(estimate: Any) -> None:
    numbers, right = measured(estimate.name)
    assert set(numbers) == set(estimate.choices)
    assert math.isclose(estimate.answer(numbers), right, rel_tol=0.01)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12.5", 12.5),
        ("1,664", 1664),
        ("3e9", 3e9),
        ("2 million", 2e6),
        ("16 GB", 16),
        ("$0.50", 0.5),
        ("1_000", 1000),
        (".5", 0.5),
        ("7k", 7000),
        ("~35", 35),
        ("about 35 tokens/s", 35),
    ],
)
def test_how_a_number_may_be_written(text: str, value: float) -> None:
    assert quantities.number(text) == value


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("85 million", "millions", 85),
        ("0.5 billion", "millions", 500),
        ("85M", "millions", 85),
        ("85", "millions", 85),
        ("0.1 TB", "GB (10⁹ bytes)", 100),
        ("2 GiB", "MB (10⁶ bytes)", 2**31 / 1e6),
        ("112", "GB (10⁹ bytes)", 112),
        ("2 million", "parameters", 2e6),
        ("5.5 nats", "nats", 5.5),
        ("1.5e8", "millions", 150),
        ("151e6", "millions", 151),
        ("0.15B", "millions", 150),
        ("1.5e2", "millions", 150),
        ("1.12e11", "GB (10⁹ bytes)", 112),
        ("2 hours", "days", 1 / 12),
        ("2 weeks", "days", 14),
        ("3", "days", 3),
        ("432000 s", "days", 5),
        ("600 million bytes", "GB (10⁹ bytes)", 0.6),
        ("4.3e10 bytes", "GB (10⁹ bytes)", 43),
        ("0.6 gigabytes", "GB (10⁹ bytes)", 0.6),
        ("roughly 43,2", "GB (10⁹ bytes)", 43.2),
        ("2 × 10^9 bytes", "GB (10⁹ bytes)", 2),
        ("1.5x10⁸", "millions", 150),
        ("1,664", "millions", 1664),
        ("368,640,000", "millions", 368.64),
        ("3.16e9 parameters", "millions", 3160),
        ("3.16 bn", "millions", 3160),
        ("128 gbit", "GB (10⁹ bytes)", 16),
        ("128000 mbytes", "GB (10⁹ bytes)", 128),
        ("128 G", "GB (10⁹ bytes)", 128),
        ("30 minutes", "hours", 0.5),
        ("12 ms", "seconds", 0.012),
        ("12 µs", "seconds", 12e-6),
        ("35 tokens/s", "tokens a second", 35),
        ("~550 tok/s", "tokens a second", 550),
        ("2k tok/s", "tokens a second", 2000),
        ("~7.1B params", "millions", 7100),
        ("740 mil", "millions", 740),
        ("0.5 MB per token", "MB (10⁶ bytes)", 0.5),
        ("$0.052 / M tokens", "dollars", 0.052),
        ("0.052 $ per million", "dollars", 0.052),
        ("83¢", "dollars", 0.83),
        ("83 cents per million tokens", "dollars", 0.83),
        ("2 million dollars", "dollars", 2e6),
    ],
)
def test_a_number_may_have_a_unit_of_another_size(text: str, unit: str, value: float) -> None:
    assert math.isclose(quantities.number(text, unit), value)


@pytest.mark.parametrize(
    ("text", "unit", "word"),
    [
        ("3.16 bilion", "millions", "bilion"),
        ("30 minuts", "hours", "minuts"),
        ("30 m", "hours", "m"),
        ("3 GB", "days", "gb"),
        ("5 parsecs", "GB (10⁹ bytes)", "parsecs"),
        ("550 tok/s", "GB (10⁹ bytes)", "tok"),
        ("2 million tokens", "GB (10⁹ bytes)", "tokens"),
        ("550 tok/s", "hours", "tok"),
        ("5 €", "dollars", "€"),
        ("83 cents", "GB (10⁹ bytes)", "cents"),
    ],
)
def test_a_unit_that_nobody_knows_is_asked_again(text: str, unit: str, word: str) -> None:
    with pytest.raises(ValueError, match=f"I don't know the unit `{word}`"):
        quantities.number(text, unit)


@pytest.mark.parametrize(
    ("given", "place"),
    [("1", 0), ("2", 1), ("y", 0), ("yes", 0), ("No", 1), (" n ", 1), ("", None), ("3", None), ("x", None)],
)
def test_an_option_may_be_named_by_its_number_or_its_first_letters(given: str, place: int | None) -> None:
    if place is None:
        with pytest.raises(click.BadParameter, match="a number from 1 to 2, or the first letters"):
            terminal.picked(given, ("yes", "no"))
    else:
        assert terminal.picked(given, ("yes", "no")) == place


def test_letters_that_fit_several_options_name_none() -> None:
    with pytest.raises(click.BadParameter):
        terminal.picked("s", ("sure", "so so"))
    assert [terminal.picked(given, SURE) for given in ("90 %", "90%", "30", "5", "even")] == [4, 4, 1, 4, 2]
    with pytest.raises(click.BadParameter, match="a number from 1 to 5"):
        terminal.picked("60 %", SURE)
    assert terminal.picked("3", ("10 %", "30 %", "50 %")) == 2  # the third, not the one that begins with it


@pytest.mark.parametrize("text", ["900/26", "2 * 7", "2×7", "10^9 / 2", "3 + 4", "", "many"])
def test_a_calculation_is_no_answer(text: str) -> None:
    with pytest.raises(ValueError, match="isn't one number"):
        quantities.number(text)


# The record, and what of a plan can't be held


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


# What is read before it is judged


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
    replies: dict[type, Any] = {Write: "[3, 3, 3, 0, 1]", Choose: 4}
    shown, (answer,) = talked(
        bank, course, Item("predict", ["e-moe_predict_gradients"], 7), lambda each: replies[type(each)]
    )
    assert shown[-1].text.startswith("**4 of 5 values are right.**") and answer.right is False
    assert answer.score == pytest.approx(4 / 5)


# Confidence


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


# Exports


def test_anki_gets_a_line_a_note(bank: Bank, tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    count = export(bank, path)
    head, notes = (
        [line for line in path.read_text().splitlines() if line.startswith("#") is is_head] for is_head in (True, False)
    )
    assert head[:2] == ["#separator:tab", "#html:true"] and "#guid column:1" in head and "#tags column:4" in head
    assert count == len(notes) == len(bank.of("question")) + len(bank.of("line"))
    fields = [note.split("\t") for note in notes]
    assert {len(each) for each in fields} == {4}
    assert len({each[0] for each in fields}) == count
    assert all(front and back and tag.startswith("chapter-") for _, front, back, tag in fields)


def test_markup_of_a_question_cannot_break_the_card() -> None:
    card = Card("q", "line", "06_x", "Is `a<b>`\t*so*?", (Point("Answer", "No: `<script>`."),))
    from course.interview.export import anki

    assert anki([card]).splitlines()[-1] == (
        "q\tIs <code>a&lt;b&gt;</code> <em>so</em>?\tNo: <code>&lt;script&gt;</code>.\tchapter-06"
    )


def test_the_page_has_each_question_once_and_prints(bank: Bank, tmp_path: Path) -> None:
    path = tmp_path / "questions.html"
    count = export(bank, path)
    text = path.read_text()
    assert text.count("<section>") + text.count("<dt>") == count
    assert "@media print" in text and "<script" not in text and "http" not in text
    for title in bank.titles.values():
        assert title.split("`")[0] in text


def test_the_command_exports(course: Course) -> None:
    done = hold(course, "--export", str(course.root / "q.txt"))
    assert re.search(r"q\.txt: \d+ cards", done.output) and (course.root / "q.txt").exists()
    assert not course.mine.exists()


# In a notebook


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


# What somebody stumbled on who held one


def in_terminal(prompt: Any, width: int = 80, replies: str = "1\n") -> str:
    """What a terminal shows of a prompt."""

    @click.command()
    def ask() -> None:
        terminal.answered(prompt, Console(width=width))

    result = CliRunner().invoke(ask, input=replies)
    assert result.exception is None, result.output
    return result.output


def test_a_long_line_of_a_proof_is_set_in_where_it_goes_on() -> None:
    code = "def f(value):\n    trace.append((names.get(value), {name: each.grad for each, name in names.items()}))"
    lines = [line.rstrip() for line in in_terminal(Say(f"```python\n{code}\n```"), width=60).splitlines()]
    begin = next(place for place, line in enumerate(lines) if "trace" in line)
    assert lines[begin].startswith("     trace") and lines[begin + 1].startswith(13 * " ")
    assert words("".join(lines)) == words(code.replace("\n", "")) and max(map(len, lines)) <= 60


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_no_answer_of_rapid_fire_vanishes(bank: Bank, course: Course) -> None:
    """`1.` is the beginning of a list in Markdown, and an empty list shows nothing."""
    for card in bank.of("line"):
        shown, _ = talked(bank, course, Item("rapid", [card.name], 1), lambda _: 0)
        answer = card.points[0].text
        assert words(in_terminal(shown[-1]))[:1] == words(answer)[:1], answer
        if re.fullmatch(r"\d+\.", answer):
            assert f"<p>{answer}</p>" in notebook._html(shown[-1].text)


def test_options_are_not_broken_at_the_edge_of_a_terminal() -> None:
    shown = in_terminal(Choose("Sure?", asking.SURE)).splitlines()
    assert [f"{place} {each}" for place, each in enumerate(asking.SURE, 1)] == shown[2:7]
    assert "1 yes  2 no" in in_terminal(Choose("Right?", ("yes", "no")))


def test_the_label_of_a_line_has_no_colon_behind_an_equals_sign() -> None:
    assert "prediction = " in in_terminal(Write("What is it?", "prediction ="))
    assert "value: " in in_terminal(Write("What is it?", "value"))


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"$\eta_t = \frac12 (\eta_0 - \eta_{min})$", "η_t = 1/2 (η_0 - η_min)"),
        (r"$1 + \cos \frac{\pi t}{T}$", "1 + cos ((π t)/T)"),
        (r"$\ln \frac{a}{b}$", "ln (a/b)"),
        (r"$\log \frac{e^{x_i}}{\sum_j e^{x_j}}$", "log ((e^(x_i))/(Σ_j e^(x_j)))"),
        (r"$1/\sqrt{\text{in\_features}}$, $\sqrt d$", "1/√in_features, √d"),
        (r"$2 / (1 - \beta_2)$ and $v^\top J$", "2 / (1 - β_2) and vᵀ J"),
        (r"$\sqrt{\hat v}$ and $\hat{m}_t$", "√(v\u0302) and m\u0302_t"),
        ("`$a$`", "$a$"),
    ],
)
def test_a_formula_is_plain_text(latex: str, text: str) -> None:
    assert text in in_terminal(Say(latex))
    assert text in notebook._html(latex)
    assert text in re.sub("<.*?>", "", export_module._inline(latex))


def test_nothing_that_is_asked_shows_latex(bank: Bank) -> None:
    told = [tasks.task_of(bank.course, card.about) for kind in ("whiteboard", "predict") for card in bank.of(kind)]
    told += [hint for card in bank.of("whiteboard") for hint in tasks.hints_of(bank.course, card.about)]
    told += tasks.statements().values()
    told += [point.text for card in bank.of("question") for point in card.points]
    left = [text for text in told if re.search(r"\$[^$\n]+\$|\\[a-z]{2,}", without_code(text))]
    assert left == []


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", formulas.plain(text), flags=re.DOTALL)


def test_a_slip_of_the_pen_is_said_before_it_counts(bank: Bank, course: Course) -> None:
    item = Item("debug", [f"f-{name}" for name in ("mask-polarity", "label-shift", "softmax-twice", "no-zero-grad")], 1)
    texts = ["def broken(:", faults.clean()]
    asked: list[str] = []

    def write(prompt: Edit) -> None:
        asked.append(prompt.text)
        prompt.path.write_text(texts[len(asked) - 1])

    _, answers = talked(bank, course, item, write)
    assert len(asked) == 2 and "isn't valid Python yet: `SyntaxError: " in asked[1]
    assert [answer.score for answer in answers] == [0.75] * 4, "fixed, without tests"


@pytest.mark.usefixtures("graded")
def test_what_was_written_is_kept(bank: Bank, course: Course) -> None:
    item = Item("whiteboard", ["e-init_softmax"], 1)

    def write_x(prompt: Edit) -> None:
        prompt.path.write_text("x = 1")

    shown, (answer,) = talked(bank, course, item, lambda each: write_x(each) if isinstance(each, Edit) else 0)
    assert answer.score == 0.0 and "`my/backups/init_softmax-1.py`" in shown[-2].text
    assert (course.mine / "backups/init_softmax-1.py").read_text() == "x = 1"
    assert "`init_softmax` in `exercises/10_activations_and_initialization.ipynb`" in shown[-2].text


@pytest.mark.usefixtures("graded")
def test_a_whiteboard_says_what_is_written_and_where(bank: Bank, course: Course) -> None:
    shown, _ = talked(bank, course, Item("whiteboard", ["e-schedule_cosine"], 1), lambda _: None)
    assert "`CosineAnnealingLR._next`" in shown[0].text and "`mytorch.optim." in shown[0].text
    assert "shapes" not in shown[0].text


@pytest.mark.parametrize("program", faults.PROGRAMS)
def test_the_program_with_faults_does_not_say_where_they_are(program: str) -> None:
    assert "fault" not in faults.clean(program)


def test_in_a_notebook_the_question_stays_until_the_next(course: Course) -> None:
    room = notebook.room_for(course, ipywidgets, Plan(("rapid",), 1, 1), Time().clock)
    first = room.asked.value.partition("<strong>")[2].partition("</strong>")[0]
    buttons(room.answer)[asking.SURE[4]].click()
    assert first in room.said.value and room.said.value.count("1 of 3") == 1
    buttons(room.answer)["yes"].click()
    assert first not in room.said.value and "2 of 3" in room.said.value
    buttons(room.answer)[asking.SURE[4]].click()
    assert "1 of 3" not in room.said.value and room.said.value.count("2 of 3") == 1


def test_an_estimate_that_is_no_number_is_asked_once_more_in_short(bank: Bank, course: Course) -> None:
    replies = iter(["3 * 4", "14.5"])
    item = Item("estimate", ["n-work-of-a-convolution"], 3)
    shown, (answer,) = talked(bank, course, item, lambda each: next(replies) if isinstance(each, Write) else 4)
    assert "Conv2d" in shown[0].text and "`3 * 4` isn't one number" in shown[1].text and "Conv2d" not in shown[1].text
    assert shown[2].text == "I read **14.5 million**. How sure are you?" and answer.score == 1.0
    assert shown[-1].text.startswith("**Close enough.** 32 × 64 × 9 × 28² = 14.5 million.")


@pytest.mark.parametrize("passed", [" None", "pass"])
def test_none_passes_on_an_estimate(bank: Bank, course: Course, passed: str) -> None:
    replies = iter(["no idea", passed])
    shown, (answer,) = talked(bank, course, Item("estimate", ["n-work-of-a-convolution"], 3), lambda _: next(replies))
    assert "`None` says that you don't know" in shown[1].text
    assert shown[-1].text.startswith("**Passed.** It counts as not right. 32 × 64 × 9 × 28² = 14.5 million.")
    assert (answer.score, answer.sure) == (0.0, None)


def at(course: Course, *items: Item) -> notebook.Room:
    """The room of an interview of these items, without a clock."""
    room = notebook.room_for(course, ipywidgets, clock=Time().clock)
    room.interview.history.open = history.Open(1, 45, False, list(items))
    return notebook.Room(room.interview, ipywidgets)


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


@pytest.mark.parametrize(("seconds", "told"), [(20.0, "20 s"), (20.3, "21 s, late: 20 s are allowed")])
def test_nobody_is_late_by_a_time_that_is_allowed(seconds: float, told: str) -> None:
    time = Time()
    watch = Watch(time.clock, 20, timed=True)
    watch.seconds = seconds
    assert watch.said() == told


def test_how_sure_is_no_answer_to_yes_or_no() -> None:
    assert not [each for each in asking.SURE if {"yes", "no", "not"} & set(each.split())]


@pytest.mark.usefixtures("graded")
def test_parts_are_listed_with_commas(bank: Bank, course: Course) -> None:
    shown, _ = talked(bank, course, Item("whiteboard", ["e-init_softmax"], 1), lambda _: None)
    told = "You write `softmax`, `derivative.softmax`, `log_softmax` and `derivative.log_softmax` of"
    assert f"{told} `mytorch.nn.activation`; " in shown[0].text


# What an interview is about


def asked(interview: Interview, kind: str) -> list[Card]:
    """The cards of a round that an interview asks."""
    assert interview.history.open is not None
    return [
        interview.bank.cards[name] for item in interview.history.open.items if item.round == kind for name in item.cards
    ]


def drawn_of(bank: Bank, tmp_path: Path, plan: Plan) -> Interview:
    interview = Interview(bank, History(tmp_path / "history.json"), Time().clock)
    interview.draw(plan)
    return interview


def test_every_chapter_belongs_to_a_profile(bank: Bank) -> None:
    held = {each for _, chapters in PROFILES.values() for each in chapters.split()}
    assert {str(key(name)) for name in bank.titles} <= held


def test_interviews_about_language_models_ask_for_softmax_layer_norm_and_lora(bank: Bank) -> None:
    scope = bank.scope("language-models")
    held = [card for card in bank.cards.values() if scope.holds(card)]
    assert {"init_softmax", "norm_layer_norm", "features_lora"} <= {card.words for card in held}
    assert {each for words in ALSO.values() for each in words} <= {card.words for card in bank.cards.values()}
    of_others = [card for card in held if card.chapter[:2] in ("10", "12", "21", "29")]
    assert {card.words for card in of_others} == ALSO["language-models"]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_asks_about_its_chapters_alone(bank: Bank, tmp_path: Path, profile: str) -> None:
    interview = drawn_of(bank, tmp_path, Plan(profile=profile, seed=2))
    assert interview.history.open is not None
    cards = [bank.cards[name] for item in interview.history.open.items for name in item.cards]
    others = {card.words for card in cards if str(key(card.chapter)) not in PROFILES[profile][1].split()}
    assert others <= ALSO.get(profile, set())
    assert {item.round for item in interview.history.open.items} >= {"rapid", "explain", "whiteboard"}


def test_a_topic_is_found_by_the_words_that_people_say(bank: Bank, tmp_path: Path) -> None:
    plan = Plan(("explain", "whiteboard"), 300, 1, topics=("DPO",))
    interview = drawn_of(bank, tmp_path, plan)
    words = [card.words for card in asked(interview, "explain")]
    assert any("DPO" in each for each in words) and len(words) < 20
    assert [card.words for card in asked(interview, "whiteboard")] == ["align_dpo"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [("beam search", "serve_beam"), ("GQA", "llama_gqa"), ("BPE", "serve_bpe"), ("投机解码", "llama_speculative")],
)
def test_a_whiteboard_problem_is_found_by_its_usual_names(bank: Bank, tmp_path: Path, words: str, problem: str) -> None:
    interview = drawn_of(bank, tmp_path, Plan(("whiteboard",), 300, 1, topics=(words,)))
    assert problem in [card.words for card in asked(interview, "whiteboard")]


def test_what_a_task_names_of_the_notebooks_first_cells_is_shown(bank: Bank) -> None:
    exercise = bank.cards["e-serve_schedule"].about
    shown = tasks.definitions(exercise, tasks.task_of(bank.course, exercise))
    assert shown.startswith("@dataclass\nclass Request:") and "def pending" in shown


def test_the_minutes_go_to_the_rounds_that_have_something_to_ask(bank: Bank, tmp_path: Path) -> None:
    interview = drawn_of(bank, tmp_path, Plan(chapters=("24b",), seed=1))
    assert interview.history.open is not None
    items = interview.history.open.items
    assert not asked(interview, "debug") and all(
        str(key(bank.cards[name].chapter)) == "24b" for item in items for name in item.cards
    )
    whole = drawn_of(bank, tmp_path, Plan(seed=1))
    assert len(asked(interview, "explain")) > len(asked(whole, "explain"))


def test_a_screen_is_about_one_topic_at_the_whiteboard_too(bank: Bank, tmp_path: Path) -> None:
    found = set()
    for seed in range(40):
        interview = drawn_of(bank, tmp_path, Plan(screen=True, seed=seed))
        assert interview.history.open is not None and interview.history.open.minutes == 60
        questions, problems = asked(interview, "explain"), asked(interview, "whiteboard")
        (topic,) = {questions[0].topic} & problems[0].topics
        about = [topic in card.topics for card in questions]
        assert len(questions) >= 6 and about == sorted(about, reverse=True)  # it comes first, and then its chapter
        assert (
            all(about[6:]) and len({card.chapter for card, mine in zip(questions, about, strict=True) if not mine}) < 2
        )
        assert all(topic in card.topics for card in problems) and len(problems) in (1, 2)
        found.add(topic)
    assert len(found) >= 6


@pytest.mark.parametrize(("profile", "topics"), [("language-models", "A.moe A.llm"), ("systems", "")])
def test_screens_of_a_job_are_about_many_topics(bank: Bank, tmp_path: Path, profile: str, topics: str) -> None:
    """Also about one whose problem is of another chapter, as a mixture of experts, or that has a single question."""
    plans = [Plan(screen=True, profile=profile, seed=seed) for seed in range(80)]
    found = {asked(drawn_of(bank, tmp_path, plan), "explain")[0].topic for plan in plans}
    assert len(found) >= 5 and {*topics.split()} <= found
    assert any(topic.startswith("W.") for topic in found)  # of the whiteboard notebooks, most with a single question


def test_no_chapter_has_most_of_the_problems_of_systems_screens(bank: Bank, tmp_path: Path) -> None:
    plans = [Plan(screen=True, profile="systems", seed=seed) for seed in range(80)]
    problems = [asked(drawn_of(bank, tmp_path, plan), "whiteboard")[0] for plan in plans]
    chapters = [card.chapter.partition("_")[0] for card in problems]
    assert {"22b", "23", "23b", "27"} <= {*chapters} and all(chapters.count(each) <= 44 for each in chapters)


def test_a_screen_without_a_problem_of_its_topic_takes_the_chapters_or_any() -> None:
    questions = [Card(f"q{at}", "question", "08_x", "", topics=frozenset("t"), topic="t") for at in range(3)]
    here, there = Card("here", "whiteboard", "08_x", ""), Card("there", "whiteboard", "09_x", "")
    assert screens.concept(questions, [there, here]) == (questions, [here])
    assert screens.concept(questions, [there]) == (questions, [there])
    few = [Card("q0", "question", "08_x", ""), Card("q1", "question", "09_x", ""), Card("q2", "question", "08_x", "")]
    assert screens.concept(few, [there, here]) == ([few[0], few[2]], [here])


def test_what_is_asked_often_comes_first_more_often(bank: Bank) -> None:
    """Six of seven first draws are `often`'s if it is six times as likely as the other."""
    often, seldom = Card("often", "line", "14", "", weight=6.0), Card("seldom", "line", "08", "")
    firsts = [schedule.order([seldom, often], [], {}, NOON, np.random.default_rng(seed))[0].name for seed in range(700)]
    assert 560 < firsts.count("often") < 640  # 600, and a standard deviation of 9
    weights = {card.words: card.weight for card in bank.of("question")}
    assert weights["What was `Variable`?"] < weights["What is a guard, and why does `torch.compile` recompile?"]
    by_name = {card.words: card.weight for card in bank.of("whiteboard")}
    asked_of = {card.words: card.weight for card in bank.cards.values()}
    assert {asked_of.get(words) for words in UNASKED} == {0.05}  # each of them is in the bank
    assert {asked_of.get(words) for words in OFTEN} == {3.0}
    assert by_name["attention_scaled_dot_product"] == 19 and by_name["align_dpo"] == 12


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--profile", "robotics"], "there is no profile 'robotics'; the profiles are pytorch, language-models"),
        (["--chapter", "77"], "there is no chapter '77'"),
        (["--topic", "quaternions"], "the interview has nothing about 'quaternions'"),
        (["--topic", "DPO", "--round", "debug"], "these rounds have nothing to ask about that"),
        (["--screen", "--round", "rapid"], "--screen has rounds of its own"),
    ],
)
def test_what_an_interview_cannot_be_about_is_said(course: Course, options: list[str], told: str) -> None:
    done = CliRunner().invoke(main, ["--root", str(course.root), "interview", *options])
    assert done.exit_code == 2 and told in done.output
    assert not (course.mine / "interview" / "history.json").exists()


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


def test_confidence_is_compared_with_the_thirty_second_answer_alone(bank: Bank, course: Course) -> None:
    card = next(each for each in bank.of("question") if each.points[0].label == "Thirty seconds")
    for ticks, right in (([True, False, False], True), ([False, True, True], False)):
        replies: dict[type, Any] = {Tick: ticks, Choose: 4}
        _, (answer,) = talked(
            bank,
            course,
            Item("explain", [card.name], 1),
            lambda each, r=replies: 0 if isinstance(each, Choose) and each.options != asking.SURE else r[type(each)],
        )
        assert calibration.pairs([answer]) == [(90, right)]
        assert answer.score == pytest.approx(sum(ticks) / 3)


def test_an_empty_line_is_no_prediction(bank: Bank, course: Course) -> None:
    program = programs.PROGRAMS[0]
    right = programs.run(program.drawn(np.random.default_rng(5)))
    lines = iter(["", "  ", right])
    item = Item("predict", [f"p-{program.name}"], 5)
    shown, (answer,) = talked(bank, course, item, lambda each: next(lines) if isinstance(each, Write) else 2)
    assert answer.score == 1.0 and [each.text for each in shown[1:3]] == ["The line is empty. Once more:"] * 2


@pytest.mark.usefixtures("graded")
def test_who_did_not_solve_a_whiteboard_problem_can_see_a_solution(bank: Bank, course: Course) -> None:
    shown, (answer,) = talked(
        bank, course, Item("whiteboard", ["e-init_softmax"], 11), lambda each: 1 if isinstance(each, Choose) else None
    )
    assert answer.score == 0.0 and shown[-2].options[:2] == ("go on", "show a solution")
    assert "np.exp(x - np.max(x" in shown[-1].text.replace("xp.", "np.") and "SOLUTION" not in shown[-1].text


def test_other_names_of_a_program_are_not_taken_and_halves_go_together() -> None:
    for name in faults.PROGRAMS:
        tokens = list(tokenize.generate_tokens(io.StringIO(faults.clean(name)).readline))
        pairs = itertools.pairwise(tokens)
        used = {each.string for before, each in pairs if each.type == tokenize.NAME and before.string != "."}
        others = [other for each in used & faults._SPELLINGS.keys() for other in faults._SPELLINGS[each]]
        assert len({*others}) == len(others) and not {*others} & used
    for seed in range(20):
        text = faults.spelled(faults.clean("serving"), np.random.default_rng(seed))
        assert any(
            f"{one}, {two} = x[" in re.sub(r"\b(h|hidden)\[", "x[", text)
            for one, two in (("left", "right"), ("first", "second"), ("x1", "x2"))
        ), text


@pytest.mark.parametrize(("name", "planted"), [("serving", SERVING), ("tuning", TUNING)])
def test_the_other_programs_read_differently_and_compute_the_same(name: str, planted: tuple[Fault, ...]) -> None:
    texts = {faults.spelled(faults.clean(name), np.random.default_rng(seed)) for seed in range(6)}
    assert len(texts) == 6
    for text in sorted(texts)[:3]:
        program = faults.load(text)
        assert [fault.name for fault in planted if faults.complaint(fault, program)] == []


def test_the_debug_program_reads_differently_and_computes_the_same() -> None:
    source = faults.clean()
    texts = {faults.spelled(source, np.random.default_rng(seed)) for seed in range(6)}
    assert len(texts) == 6
    first = faults.load(source).train(2, 0)[2]
    for text in sorted(texts)[:2]:
        assert faults.load(text).train(2, 0)[2] == first
        assert all(faults.complaint(fault, faults.load(text)) == "" for fault in faults.FAULTS[:6])
