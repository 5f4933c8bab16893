"""The debug round."""

from __future__ import annotations

import io
import itertools
import re
import tokenize
from pathlib import Path

import numpy as np
import pytest

from course.files import Course
from course.interview import faults, history, judged, rounds, schedule
from course.interview.bank import Bank
from course.interview.fault import Fault
from course.interview.history import Answer, History, Item
from course.interview.interview import Interview
from course.interview.prompts import Edit
from course.interview.scope import PROFILES, Plan
from course.interview.serving_faults import SERVING
from course.interview.tuning_faults import TUNING
from course.site.lessons import slug
from tests.course.interview.holding import NOON, Time, talked


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
