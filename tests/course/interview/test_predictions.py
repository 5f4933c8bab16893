"""The rounds in which somebody explains and predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from course.files import Course
from course.interview import asking, calibration, judged, own_words, predictions, programs, tasks
from course.interview.bank import Bank
from course.interview.history import Item
from course.interview.prompts import Rate, Say, Speak, Tick, Write
from tests.course.interview.holding import talked


def test_explain_asks_the_follow_up_and_the_trap_before_it_says_them(bank: Bank, course: Course) -> None:
    card = next(
        each for each in bank.of("question") if each.words == "float16 or bfloat16?" and each.chapter[:2] == "22"
    )

    def reply(prompt: Any) -> Any:
        if isinstance(prompt, Tick):
            return [True, False, True]
        if isinstance(prompt, Speak):
            return ""
        return 4 if prompt.options == asking.SURE else len(prompt.options) - 1

    shown, answers = talked(bank, course, Item("explain", [card.name], 1), reply)
    texts = [prompt.text for prompt in shown]
    assert texts[0].endswith("**float16 or bfloat16?**\n\nThirty seconds, aloud.")
    assert "When does bfloat16 cause trouble?" in texts[2] and "something small is added" not in "".join(texts[:4])
    assert "trap" in texts[3]
    assert [point.partition(":*")[0] for point in shown[4].points] == ["*Thirty seconds", "*They ask next", "*The trap"]
    assert "torch.finfo" in texts[-2] and "65,504" not in texts[-2] and "6.6e+04" in texts[-2]
    assert (answers[0].score, answers[0].sure) == (2 / 3, 90)


def test_what_was_typed_of_an_answer_stands_beside_the_points(bank: Bank, course: Course) -> None:
    """Nobody remembers exactly what they said, so a rubric alone is graded kindly."""
    card = next(
        each for each in bank.of("question") if each.words == "float16 or bfloat16?" and each.chapter[:2] == "22"
    )
    said = iter(
        [
            "It has the range of float32: gradients don't underflow, so `no` loss scaling",
            "when something small is added",
            "",
        ]
    )

    def reply(prompt: Any) -> Any:
        match prompt:
            case Speak():
                return next(said)
            case Tick(points=points):
                return ["Compare it" in point for point in points]
        return 0

    shown, (answer,) = talked(bank, course, Item("explain", [card.name], 1), reply)
    (tick,) = (each for each in shown if isinstance(each, Tick))
    first, second, trap = tick.points
    assert tick.text.startswith("You wrote `` It has the range of float32: gradients don't")
    assert "**Compare it with your text.** It has *" in first and "You wrote" not in first
    assert "You wrote `when something small is added`.\\\n**Your text has none" in second and "They are *" in second
    assert "Your text" not in trap and "You wrote" not in trap
    assert answer.score == sum("Compare it" in each for each in tick.points) / 3


def test_whoever_passes_reads_the_answer_and_is_not_asked_how_sure(bank: Bank, course: Course) -> None:
    card = bank.of("question")[0]
    shown, (answer,) = talked(
        bank, course, Item("explain", [card.name], 1), lambda each: "Skip." if isinstance(each, Speak) else 0
    )
    assert [type(each) for each in shown[:2]] == [Speak, Say] and not any(isinstance(each, Tick) for each in shown)
    assert all(point.text in shown[1].text for point in card.points)
    assert (answer.score, answer.sure, answer.right) == (0.0, None, False)


def test_the_same_words_may_say_the_opposite_so_no_verdict_is_given() -> None:
    point = "A router saves FLOPs but not memory."
    told = own_words.beside(point, "The router saves memory, it costs FLOPs")
    assert told == "**Compare it with your text.** It has *router*, *saves*, *FLOPs*, *memory*."
    assert own_words.beside("Relying on temperature 0.", "greedy") == (
        "**Your text has none of these words.** They are *temperature*."
    )


@pytest.mark.parametrize(
    ("own", "has", "lacks"),
    [
        ("it overflowed, 1e9 KEYS", "*overflows* and *keys*", "*1,024*"),
        ("1024 values", "*1,024*", "*overflows*, *keys*"),
    ],
)
def test_other_forms_of_a_word_and_other_spellings_of_a_number_count(own: str, has: str, lacks: str) -> None:
    told = own_words.beside("The overflows of the 1,024 keys.", own)
    assert f"It has {has.replace(' and ', ', ')}." in told and f"It lacks {lacks}." in told


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda each: each.name)
def test_a_prediction_is_compared_with_what_the_program_gives(bank: Bank, course: Course, program: Any) -> None:
    name = f"p-{program.name}"
    right = programs.run(program.drawn(np.random.default_rng(5)))
    wrong = "torch.int8" if right.startswith("torch.") else "17.25"
    for given, score in ((right, 1.0), (wrong, 0.0)):
        replies = {Write: given, Rate: 2}
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
    replies: dict[type, Any] = {Write: "[2, 2, 6, 12]", Rate: 4}
    shown, (answer,) = talked(bank, course, item, lambda each: replies[type(each)])
    assert "meter.calls" in shown[0].text and "points" not in shown[0].text
    assert "calls: you said `2`, it is `0`. The replicas run, not the meter itself" in shown[-1].text
    assert (answer.score, answer.sure, answer.right) == (0.0, 90, False)  # none of the four is right


@pytest.mark.usefixtures("graded")
def test_a_prediction_of_several_values_says_which_are_wrong_and_why(bank: Bank, course: Course) -> None:
    replies: dict[type, Any] = {Write: "[3, 3, 3, 1, 1]", Rate: 4}
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
        ("tune_predict_signal", "[math.sqrt(64), 7, 16, 16, 4]", ""),
        ("attention_predict_changes", "[4, 6]", ""),  # how many rows change is the question
        ("align_predict_clip", "[1, 4]", ""),
    ],
)
def test_a_prediction_with_too_few_values_is_counted(bank: Bank, name: str, given: str, said: str) -> None:
    assert predictions.miscounted(bank.course, bank.cards[f"e-{name}"].about, given) == said


@pytest.mark.parametrize(
    ("given", "reasons"),
    [
        ([1, 4, 8], []),
        ([1, 2, 3, 4, 8], ["2 doesn't belong. The minimum undoes the clipping", "3 doesn't belong."]),
        ([1, 8], ["4 is missing. The clip at 0.8 works for negative advantages"]),
        (
            [1, 4, 6],
            ["6 doesn't belong. Between 0.8 and 1.2 nothing is clipped", "8 is missing. The gradient is a multiple"],
        ),
        ([4, 8], ["1 is missing. Token 1 has a positive advantage and a ratio above 1.2"]),
    ],
)
def test_a_prediction_of_which_order_does_not_count_says_why(bank: Bank, given: list[int], reasons: list[str]) -> None:
    told = predictions.astray(bank.course, bank.cards["e-align_predict_clip"].about, str(given))
    lines = told.splitlines()
    assert len(lines) == len(reasons) and all(r in line for r, line in zip(reasons, lines, strict=True)), told


def test_other_predictions_have_no_values_astray(bank: Bank) -> None:
    for name, given in (("e-memory_predict_bytes", "[1, 2]"), ("e-graph_predict_gradient", "'a'")):
        assert predictions.astray(bank.course, bank.cards[name].about, given) == ""


def test_what_explains_several_values_is_said_once() -> None:
    parts = [predictions.Value(f"value {place}", 1, 2, "Two.") for place in (1, 2)]
    first, second = predictions.told(parts).splitlines()
    assert first.endswith("it is `2`. Two.") and second.endswith("it is `2`.")


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
def test_a_prediction_with_too_few_or_too_many_values_is_asked_for_once_more(bank: Bank, course: Course) -> None:
    given = iter(["8", "[8, 7, 16, 16]", "[8, 7, 16, 16, 5, 12]", "[8, 7, 16, 16, 5]"])
    item = Item("predict", ["e-tune_predict_signal"], 1)
    shown, (answer,) = talked(bank, course, item, lambda each: next(given) if isinstance(each, Write) else 0)
    assert answer.score == 1.0 and not list(given)
    assert shown[3].text.startswith("There are 6 values, and 5 are asked for.")


@pytest.mark.usefixtures("graded")
def test_a_prediction_whose_values_are_right_needs_no_check(
    bank: Bank, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(judged.Judge, "check")
    replies: dict[type, Any] = {Write: "(3, 3.0, 6, 0, 1)", Rate: 4}
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
    replies: dict[type, Any] = {Write: "[1, 4]", Rate: 4}
    item = Item("predict", ["e-align_predict_clip"], 7)
    shown, (answer,) = talked(bank, course, item, lambda each: replies[type(each)])
    assert shown[-1].text.startswith("**Not right.** \n\n- ✗ 8 is missing.")
    assert "prediction = [1, 4, 8]" in shown[-1].text
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


def test_an_empty_line_is_no_prediction(bank: Bank, course: Course) -> None:
    program = programs.PROGRAMS[0]
    right = programs.run(program.drawn(np.random.default_rng(5)))
    lines = iter(["", "  ", right])
    item = Item("predict", [f"p-{program.name}"], 5)
    shown, (answer,) = talked(bank, course, item, lambda each: next(lines) if isinstance(each, Write) else 2)
    assert answer.score == 1.0 and [each.text for each in shown[1:3]] == ["The line is empty. Once more:"] * 2


def test_the_question_on_overflow_states_what_its_answer_counts(bank: Bank) -> None:
    card = next(card for card in bank.of("question") if card.words.startswith("Overflow in steps"))
    told = " ".join(point.text for point in card.points if point.label == "Thirty seconds")
    assert "12" in told and "of 12" in card.words
    for each in ("weights", "scale", "rate", "scheduler"):
        assert each in card.words and each in told
