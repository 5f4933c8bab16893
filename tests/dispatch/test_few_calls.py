"""How many Python functions an op goes through: few hops are what makes small ops fast, and the library readable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import minitorch
from benchmarks.frames import TARGETS, calls_before_first_op, programs


def calls_of(run: Callable[[], Any]) -> int:
    """The Python functions called by the second run: the first may load and cache things."""
    run()
    count = 0

    def observe(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(observe)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count - 1  # `run` itself


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_an_op_and_its_backward_pass_are_a_handful_of_calls(shape: tuple[int, ...]) -> None:
    x = minitorch.ones(shape, requires_grad=True)
    square = x * x
    losses = iter([(x * x).sum(), (x * x).sum()])
    assert calls_of(lambda: x * x) <= 10
    assert calls_of(lambda: square.sum()) <= 12
    assert calls_of(lambda: next(losses).backward()) <= 63  # the second of them adds to a gradient that is there


def test_random_numbers_are_a_handful_of_calls() -> None:
    assert calls_of(lambda: minitorch.randn(2, 3)) <= 16


@pytest.mark.parametrize("name", TARGETS)
def test_a_composite_function_reaches_its_first_op_in_a_few_calls(name: str) -> None:
    assert len(calls_before_first_op(programs()[name])) <= TARGETS[name]


def test_a_wrong_dim_has_a_short_traceback() -> None:
    with pytest.raises(IndexError) as caught:
        minitorch.nn.functional.softmax(minitorch.ones(2, 3), 5)
    assert len(caught.traceback) <= 8  # the test, and seven of the library
