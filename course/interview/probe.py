"""What a function of a debug round's program gives for random inputs, so that two programs can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import minitorch as torch
from course.interview.fault import Program

Run = Callable[[Program, np.random.Generator], Any]


@dataclass(frozen=True)
class Probe:
    """A look at one function of a program.

    `inputs` says in words what the function gets. `run` draws these inputs and returns what came of them: tensors,
    numbers, strings and truth values, in lists and dicts. Tensors and floats may be apart by `tolerance`, as a share of
    the largest value.
    """

    function: str
    inputs: str
    run: Run
    tolerance: float = 0.01


def probe(function: str, inputs: str, tolerance: float = 0.01) -> Callable[[Run], Probe]:
    """Make a probe of the function below."""
    return lambda run: Probe(function, inputs, run, tolerance)


@contextmanager
def replaced(program: Program, **functions: Any) -> Iterator[None]:
    """A program in which other functions stand for these, until the block ends."""
    before = {name: getattr(program, name) for name in functions}
    program.__dict__.update(functions)
    try:
        yield
    finally:
        program.__dict__.update(before)


def weighted(model: Any, rng: np.random.Generator) -> Any:
    """A model with random weights that depend on the names of its parameters and not on the order of its modules."""
    with torch.no_grad():
        for _, each in sorted(model.named_parameters()):
            each.copy_(normal(rng, *each.shape) * 0.5)
    return model


def normal(rng: np.random.Generator, *shape: int) -> Any:
    """A tensor of this shape, normally distributed."""
    return torch.tensor(rng.normal(size=shape).astype(np.float32))


def tokens(rng: np.random.Generator, low: int, high: int, *shape: int) -> Any:
    """A tensor of tokens from `low` to `high` - 1."""
    return torch.tensor(rng.integers(low, high, size=shape))


def flat(model: Any) -> Any:
    """All weights of a model in one vector."""
    return torch.cat([each.detach().flatten() for _, each in sorted(model.named_parameters())]).clone()
