"""What is said at the end, and which sections are named."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from course.files import Course
from course.interview import bank as banks
from course.interview import history, rounds
from course.interview import summary as summaries
from course.interview.bank import Bank
from course.interview.history import Answer, History, Item
from course.interview.scope import Plan
from tests.course.interview.holding import NOON, Time, drawn_of, hold


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


def test_the_legend_says_what_counts_as_right(bank: Bank) -> None:
    """Four of five values are 80 % of the points, and still not right."""
    card = next(card for card in bank.of("predict") if card.words == "moe_predict_gradients")
    given = [Answer(card.name, "predict", NOON, 0.8, 75, right=False)]
    told = "\n".join(each.text for each in summaries.summary(bank, given, given))
    assert "0 of 1 right" in told and "and in *Predict* every value" in told


def test_a_sign_of_the_question_does_not_break_the_summarys_table(bank: Bank) -> None:
    card = replace(bank.of("line")[0], words="What is p(y | x)?")
    own = Bank.__new__(Bank)
    own.__dict__.update(bank.__dict__, cards={card.name: card})
    assert r"| What is p(y \| x)? | 100 % |" in summaries.table(own, [Answer(card.name, "rapid", NOON, 1.0)])


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


def test_whatever_was_missed_names_a_section(bank: Bank) -> None:
    """A whole chapter is an hour, and a rapid-fire line was twenty seconds."""
    assert [card.name for card in bank.cards.values() if not bank.place(card)[1]] == []


@pytest.mark.parametrize(
    ("name", "chapter", "heading"),
    [
        ("f-dropout-while-answering", "12_norm_dropout_and_modes", "Modes"),
        ("e-llama_sampler", "24b_llama", "Sampling: temperature, top-k, top-p"),
        ("e-llama_gqa", "24b_llama", "Swap 4: grouped-query attention"),
        ("e-serve_bpe", "27_whiteboard_serving", "Byte-pair encoding (BPE)"),
        ("f-nucleus-too-small", "24b_llama", "Sampling: temperature, top-k, top-p"),
        ("d-give-a-language-model-tools", "27_whiteboard_serving", "Prefix caching"),
        ("n-noise-of-an-evaluation", "28_whiteboard_alignment", "The standard error of a benchmark"),
    ],
)
def test_an_item_is_read_about_in_its_own_section(bank: Bank, name: str, chapter: str, heading: str) -> None:
    assert bank.place(bank.cards[name]) == (chapter, heading)


def test_a_question_below_the_lesson_is_read_about_there(bank: Bank) -> None:
    card = next(card for card in bank.of("question") if card.words == "How do you save a model that no rank has?")
    assert bank.place(card) == ("23b_shards", "Sharded checkpoints")


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
