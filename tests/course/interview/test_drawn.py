"""What an interview draws, in which order and how often."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from course.interview import bank as banks
from course.interview import rounds, schedule, twins
from course.interview.bank import Bank
from course.interview.cards import Card, Point
from course.interview.history import Answer, History
from course.interview.interview import Interview
from course.interview.scope import PROFILES, Plan
from tests.course.interview.holding import NOON, Time, asked, drawn_of


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
        "`to(device)` or `.cuda()`?",
        "`torch.Tensor` or `torch.tensor`?",
        "Why save the optimizer, and what is in its `state_dict`?",
        "What is in an ONNX file?",
        "How do you export a language model with a KV cache?",
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


def test_what_follows_a_whiteboard_problem_and_its_twin_are_asked_somewhere(bank: Bank) -> None:
    rungs = {banks.split(point.text)[0] for card in bank.of("whiteboard") for point in card.points}
    assert set(twins.RUNGS) <= rungs
    assert set(twins.RUNGS.values()) <= {card.words for card in bank.cards.values()}


@pytest.mark.parametrize("profile", ["", *PROFILES])
@pytest.mark.parametrize("screen", [False, True])
def test_no_interview_asks_the_same_twice(bank: Bank, tmp_path: Path, profile: str, screen: bool) -> None:
    for seed in range(40):
        interview = drawn_of(bank, tmp_path, Plan(profile=profile, seed=seed, screen=screen))
        assert interview.history.open is not None
        found = [twins.family(bank.cards[name]) for item in interview.history.open.items for name in item.cards]
        assert len(set(found)) == len(found), seed


def test_a_screen_of_few_questions_asks_none_twice(bank: Bank, tmp_path: Path) -> None:
    """Both are about one topic, and its questions fill the minutes."""
    plan = Plan(screen=True, minutes=240, topics=("A2.7",), seed=1)
    twins_of = ("What are vanishing and exploding gradients", "Why do gradients vanish or explode in an RNN?")
    found = [card.words for card in asked(drawn_of(bank, tmp_path, plan), "explain") if card.words.startswith(twins_of)]
    assert len(found) == 1


def test_what_a_screen_asked_does_not_follow_its_problem(bank: Bank) -> None:
    """The questions about ZeRO's problem ask for its stages, which is a question of the lesson as well."""
    card = bank.cards["e-shards_zero"]
    (zero,) = (each for each in bank.cards.values() if each.words.startswith("ZeRO 1, 2 and 3"))
    for every, expected in (([card], 3), ([card, zero], 1)):
        nexts = {
            banks.split(point.text)[0]
            for seed in range(30)
            for point in rounds._rungs(card.points, every, np.random.default_rng(seed))
            if point.label == "They ask next"
        }
        assert len(nexts) == expected


def test_who_has_answered_a_question_is_not_asked_its_twin() -> None:
    one, other = (Card(words, "question", "24b_x", words) for words in list(twins.FAMILIES)[:2])
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
