"""What the functions of `tuning.py` give for random inputs."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np

import minitorch as torch
from course.interview.fault import Program
from course.interview.probe import Probe, flat, normal, probe, replaced, tokens, weighted


@probe("examples", "another seed")
def _examples(program: Program, rng: np.random.Generator) -> Any:
    return program.examples(20, int(rng.integers(2**31)))


@probe("collate", "random prompts and answers")
def _collated(program: Program, rng: np.random.Generator) -> Any:
    rows, marks = program.collate(_pairs(program, rng, [5, 2, 7]))
    return rows, marks.bool().tolist()


def _pairs(program: Program, rng: np.random.Generator, lengths: list[int]) -> list[tuple[list[int], list[int]]]:
    """Random prompts, each with an answer that has so many tokens before END."""
    return [
        (
            [*rng.integers(3, program.TOKENS, size=int(rng.integers(2, 6))).tolist(), program.ASK],
            [*rng.integers(3, program.TOKENS, size=length).tolist(), program.END],
        )
        for length in lengths
    ]


def _batch(program: Program, rng: np.random.Generator, lengths: list[int]) -> tuple[Any, Any]:
    """Random prompts and answers in one tensor, and a mask that is True at the tokens of answers."""
    pairs = _pairs(program, rng, lengths)
    size = max(len(prompt) + len(answer) for prompt, answer in pairs)
    rows = [prompt + answer + [program.PAD] * (size - len(prompt) - len(answer)) for prompt, answer in pairs]
    marks = [[len(prompt) <= at < len(prompt) + len(answer) for at in range(size)] for prompt, answer in pairs]
    return torch.tensor(rows), torch.tensor(marks)


@probe("Model", "random tokens")
def _logits(program: Program, rng: np.random.Generator) -> Any:
    return weighted(program.Model(), rng).eval()(tokens(rng, 0, program.TOKENS, 4, 9))


def _losses(program: Program, rng: np.random.Generator, has_ends: bool) -> Any:
    table = normal(rng, program.TOKENS, program.TOKENS)
    rows, marks = _batch(program, rng, [20, 4, 30])  # so long that each token is in them
    if not has_ends:
        rows = torch.where(rows == program.END, torch.full_like(rows, 5), rows)
    return program.losses(lambda ids: table[ids], rows, marks)


@probe("losses", "random logits and answers without END")
def _without_end(program: Program, rng: np.random.Generator) -> Any:
    return _losses(program, rng, False)


@probe("losses", "random logits and answers")
def _with_end(program: Program, rng: np.random.Generator) -> Any:
    return _losses(program, rng, True)


def _steps(program: Program, rng: np.random.Generator, groups: list[list[list[int]]], optimizer: Any) -> Any:
    """How steps on groups of batches move the weights; of each batch, the lengths of the answers."""
    model = weighted(program.Model(), rng).eval()
    made, found = optimizer(model.parameters()), [flat(model)]
    for group in groups:
        program.step(model, made, [_batch(program, rng, lengths) for lengths in group])
        found.append(flat(model))
    return [after - before for before, after in itertools.pairwise(found)]


@probe("step", "two steps on four batches with equally many tokens")
def _equal(program: Program, rng: np.random.Generator) -> Any:
    return _steps(program, rng, [[[4, 2]] * 4] * 2, lambda weights: torch.optim.SGD(weights, lr=0.1))


@probe("step", "groups of one, two and four batches with different numbers of tokens")
def _unequal(program: Program, rng: np.random.Generator) -> Any:
    groups = [[[3, 8]], [[1], [9, 7]], [[1], [2, 2], [9, 9, 9], [5]]]
    return _steps(program, rng, groups, lambda weights: torch.optim.SGD(weights, lr=0.1))


@probe("evaluate", "random weights and batches of three examples and of two")
def _means(program: Program, rng: np.random.Generator) -> Any:
    model = weighted(program.Model(), rng).train()
    found = program.evaluate(model, [_batch(program, rng, lengths) for lengths in ([4, 1, 6], [2, 9])])
    return {"a loss is": torch.tensor([float(each) for each in found]), "autograd is on:": torch.is_grad_enabled()}


def _trained(program: Program, epochs: int, **functions: Any) -> Any:
    """What `train` returns; and the examples that it made, the rows of each step with its mode, and those evaluated."""
    made: list[tuple[int, ...]] = []
    steps: list[tuple[bool, list[tuple[int, ...]]]] = []
    examples = program.examples

    def plain(rows: Any) -> list[tuple[int, ...]]:
        return [tuple(token for token in row if token != program.PAD) for row in rows.tolist()]

    def counted(count: int, seed: int) -> Any:
        found = examples(count, seed)
        made.extend((*prompt, *answer) for prompt, answer in found)
        return found

    def step(model: Any, optimizer: Any, group: Any) -> None:
        steps.append((model.training, [row for rows, _ in group for row in plain(rows)]))

    with replaced(program, examples=counted, step=step, **functions):
        return program.train(epochs=epochs), made, steps


def _made_up(model: Any, loader: Any) -> list[float]:
    """Instead of the losses of examples, numbers that depend on their tokens alone; PAD is 0."""
    return [float((row.float() * torch.arange(1, len(row) + 1)).sum().sin()) for rows, _ in loader for row in rows]


def _epoch(program: Program) -> Any:
    """Of one epoch: the examples that were made, those of each step, and those that were held out."""
    held_out = set[tuple[int, ...]]()

    def evaluate(model: Any, loader: Any) -> list[float]:
        held_out.update(tuple(token for token in row if token) for rows, _ in loader for row in rows.tolist())
        return _made_up(model, loader)

    _, made, steps = _trained(program, 1, evaluate=evaluate)
    return made, [rows for _, rows in steps], held_out


@probe("train", "an epoch, whose examples are noted")
def _seen(program: Program, rng: np.random.Generator) -> Any:
    made, steps, held_out = _epoch(program)
    used, there = Counter(row for rows in steps for row in rows), Counter(made)
    return {
        "the number of unused examples is": sum(row not in held_out for row in (there - used).elements()),
        "the number of examples that are used again is": (used - there).total(),
        "the number of examples in the largest step is": max(map(len, steps)),
    }


@probe("train", "held-out examples, which it compares with those learned from")
def _apart(program: Program, rng: np.random.Generator) -> Any:
    _, steps, held_out = _epoch(program)
    known = held_out & {row for rows in steps for row in rows}
    return {"there are more than 40:": len(held_out) > 40, "many are known:": len(known) > 0.1 * len(held_out)}


@probe("train", "known losses of the held-out examples")
def _hardest(program: Program, rng: np.random.Generator) -> Any:
    calls: list[list[float]] = []

    def evaluate(model: Any, loader: Any) -> list[float]:
        calls.append(_made_up(model, loader))
        return calls[-1]

    (_, history, (prompt, answer)), _, _ = _trained(program, 3, evaluate=evaluate)
    row, losses = torch.tensor([[*prompt, *answer]]), max(calls, key=len)
    return {
        "the mean is wrong by": torch.tensor([each - sum(losses) / len(losses) for each in history]),
        "the number of harder examples is": sum(each > _made_up(None, [(row, row)])[0] + 1e-6 for each in losses),
    }


@probe("train", "three epochs, whose modes are noted")
def _modes(program: Program, rng: np.random.Generator) -> Any:
    return {"`model.training` is": all(training for training, _ in _trained(program, 3)[2])}


TUNING: tuple[Probe, ...] = (
    _examples,
    _collated,
    _logits,
    _without_end,
    _with_end,
    _equal,
    _unequal,
    _means,
    _apart,
    _seen,
    _hardest,
    _modes,
)
