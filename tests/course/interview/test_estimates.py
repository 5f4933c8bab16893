"""The estimates, and how numbers may be written."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import click
import numpy as np
import pytest

import minitorch as torch
from course.files import Course
from course.interview import estimates, quantities, terminal
from course.interview.bank import Bank
from course.interview.estimate_mistakes import MISTAKES, mistake
from course.interview.history import Item
from course.interview.prompts import Write
from course.interview.scope import PROFILES
from tests.course.interview.holding import talked


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
        assert (f"within {100 * close:.0f} %" if close else "exactly") in shown[0].text
        right_told = "**Close enough" if close else "**Correct"
        assert shown[-1].text.startswith(right_told if score else "**No")


@pytest.mark.parametrize("estimate", estimates.ESTIMATES, ids=lambda each: each.name)
def test_a_usual_mistake_is_named_where_its_number_fits_no_other(estimate: Any) -> None:
    named = set()
    for seed in range(60):
        numbers = estimate.drawn(np.random.default_rng(seed))
        right = estimate.answer(numbers)
        assert mistake(estimate, right, numbers) == ""
        for sentence, formula in MISTAKES[estimate.name].items():
            told = mistake(estimate, formula(numbers, right), numbers)
            assert told in (sentence, "")
            named.add(told)
    assert set(MISTAKES[estimate.name]) <= named


def test_idle_over_working_time_is_not_the_share_of_a_bubble() -> None:
    """(p − 1) / m: Huang et al. 2019, https://arxiv.org/abs/1811.06965, give it as an overhead; 3 / 4 for 4 and 4."""
    bubble = next(each for each in estimates.ESTIMATES if each.name == "bubble of a pipeline")
    assert "idle time over working time" in mistake(bubble, 75.0, {"stages": 4, "batches": 4})


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


def test_there_are_forty_estimates_or_more_and_seeds_draw_other_numbers() -> None:
    assert len(estimates.ESTIMATES) >= 40
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
        case "memory of a rank under ZeRO":  # weight, gradient, master weight and moments of 8 ranks' 64 parameters
            bytes_of = {"weight": 2, "gradient": 2, "master": 4, "mean": 4, "square": 4}
            held = sum(each * (64 if name == "weight" else 64 // 8) for name, each in bytes_of.items())
            return {"billions": 64e-9, "gpus": 8, "stage": 2}, held / 1e9
        case "traffic of fully sharded training":  # two gathers and a reduce-scatter, each of 3 rounds of a quarter
            rounds = [quarter * size for size in (2, 2, 4) for quarter in 3 * [1000 / 4]]
            return {"billions": 1000 / 1e9, "gpus": 4, "type": "float32"}, sum(rounds) / 1e9
        case "traffic of tensor parallelism":
            return {"layers": 3, "width": 8, "gpus": 4, "tokens": 6}, 3 * 4 * sent_by_an_all_reduce(6 * 8, 4) / 1e9
        case "communication that isn't hidden":
            free = 0.0
            for bucket in range(1, 5):
                free = max(free, 120 * bucket / 4) + 150 / 4
            return {"backward": 120, "buckets": 4, "reduce": 150}, free - 120
        case "time between failures":
            fails = sorted((gpu / 256 + time) * 5 * 365.25 * 24 for gpu in range(256) for time in range(3))
            return {"years": 5, "gpus": 256}, float(np.diff(fails).mean())
        case "pause for a checkpoint":
            every = [torch.zeros(500, dtype=torch.bfloat16), *(torch.zeros(500) for _ in range(3))]
            size = sum(each.untyped_storage().nbytes() for each in every)
            return {"billions": 500 / 1e9, "machines": 2, "rate": 7}, size / 14e9
        case "utilization of a run":  # PaLM 540B, in its paper
            return {"billions": 540, "gpus": 6144, "seconds": 524_288 / (238_300 * 989 / 275)}, 45.7
        case "waiting for data":
            waited, free, at = 0.0, [0.0, 0.0, 0.0], 0.0
            for _ in range(3000):  # the worker that is free first makes the next batch
                ready = free.pop(0) + 600
                free.append(ready)
                waited, at = waited + max(0.0, ready - at), max(ready, at) + 50
            return {"load": 600, "workers": 3, "step": 50}, 100 * waited / at
        case "kernels that run faster than they are launched":
            ends, busy = 0.0, 0.0
            for launched in range(1, 3001):
                ends, busy = max(ends, 8.0 * launched) + 3, busy + 3
            return {"kernels": 3000, "launch": 8, "run": 3}, 100 * (1 - busy / ends)
        case "requests that fit beside the weights":
            left, fit = 0.9 * 80e9 - 14e9, 0
            while left >= 32e3 * 1000:
                left, fit = left - 32e3 * 1000, fit + 1
            return {"memory": 80, "weights": 14, "kb": 32, "length": 1000}, fit
    raise AssertionError(name)


def sent_by_an_all_reduce(count: int, ranks: int) -> int:
    """The bytes that a rank sends around a ring, until each has the sum of so many elements in 16 bits."""
    chunks = [{rank: {rank} for rank in range(ranks)} for _ in range(ranks)]  # whose summands each rank has, by chunk
    sent = 0
    for turn in range(2 * (ranks - 1)):
        sends = [((rank - turn) % ranks, rank) for rank in range(ranks)]
        for chunk, rank in sends:
            chunks[chunk][(rank + 1) % ranks] |= chunks[chunk][rank]
        sent += count // ranks * 2
    assert all(held == {*range(ranks)} for chunk in chunks for held in chunk.values())
    return sent


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
    assert terminal.picked("3", ("10 %", "30 %", "50 %")) == 2  # the third, not the one that begins with it


@pytest.mark.parametrize("text", ["900/26", "2 * 7", "2×7", "10^9 / 2", "3 + 4", "", "many"])
def test_a_calculation_is_no_answer(text: str) -> None:
    with pytest.raises(ValueError, match="isn't one number"):
        quantities.number(text)


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


def test_one_of_several_is_no_plural() -> None:
    asked = [each.task(each.drawn(np.random.default_rng(seed))) for each in estimates.ESTIMATES for seed in range(12)]
    assert [told for told in asked if re.search(r"(?<![\d.,-])\b1 [a-z]+s\b", told)] == []
