"""The bank: what of the course becomes a card."""

from __future__ import annotations

import re

import pytest
import yaml

from course.files import CODE, Course
from course.interview import bank as banks
from course.interview import rounds
from course.interview.bank import Bank
from course.interview.cards import Point
from course.interview.history import Item
from course.interview.prompts import Tick
from course.site.lessons import Question, key
from tests.course.interview.holding import talked


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


def test_a_short_answer_of_a_rapid_fire_line_has_a_reason(bank: Bank) -> None:
    """*Six.* teaches nothing to who said eight."""
    lines = bank.of("line")
    reasons = {card.words: card.about for card in lines if card.about}
    assert {*yaml.safe_load((CODE / "course" / "interview" / "reasons.yml").read_text())} == {*reasons}
    assert [card.words for card in lines if len(card.points[0].text.split()) <= 3 and not card.about] == []
    assert [each for each in reasons.values() if not each.endswith(".") or len(each.split()) > 40] == []


@pytest.mark.parametrize(("told", "says"), [(0, False), (1, True)])
def test_who_was_wrong_in_rapid_fire_hears_why(bank: Bank, course: Course, told: int, says: bool) -> None:
    (card,) = (each for each in bank.of("line") if each.words.startswith("How many batches does a loader request"))
    shown, _ = talked(bank, course, Item("rapid", [card.name], 1), lambda _: told)
    why = "**Why:** `prefetch_factor` counts the batches of each worker, so 2 · 3 are requested. It is taught in *"
    assert shown[-1].text.startswith(why) is says


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
