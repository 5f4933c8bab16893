"""What a split function does besides computing is what eager mode does: errors, warnings, frames, memory."""

from __future__ import annotations

import gc
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch._dynamo.stack import VERSION
from minitorch._dynamo.testing import CompileCounter

pytestmark = pytest.mark.skipif(sys.version_info[:2] != VERSION, reason="capture reads the bytecode of Python 3.11")


def called(x: Any) -> Any:
    y = x * 2
    int("no number")
    return y


def compared(x: Any) -> Any:
    y = x * 2
    if y > 0:
        return y
    return x


def after(x: Any) -> Any:
    y = x * 2
    print("before")
    try:
        y = y.view(7, 7)
    except ValueError:
        return y
    return y


def stored(x: Any) -> Any:
    y = x * 2
    y.T.shape.attribute = 3
    return y


def line_of(function: Callable[[Any], Any]) -> tuple[Any, ...]:
    """The error of a function, and the position in this file where it is raised."""
    with pytest.raises((ValueError, RuntimeError, AttributeError)) as raised:
        function(torch.ones(2))
    here = [each for each in traceback.extract_tb(raised.value.__traceback__) if each.filename == __file__]
    return type(raised.value), str(raised.value), here[-1].lineno, here[-1].colno, here[-1].end_colno


@pytest.mark.parametrize("function", [called, compared, after, stored], ids=lambda each: each.__name__)
def test_an_error_names_the_line_of_the_user(function: Callable[[Any], Any]) -> None:
    assert line_of(torch.compile(function)) == line_of(function)


def test_a_warning_names_the_line_of_the_user() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        warnings.warn("careful", stacklevel=1)
        return y + 1

    found = []
    for each in (function, torch.compile(function)):
        with pytest.warns(UserWarning, match="careful") as caught:
            each(torch.ones(2))
        found.append((caught[0].filename, caught[0].lineno))
    assert found[0] == found[1]


class Base:
    """A class whose method another one extends."""

    def method(self, x: Any) -> Any:
        print("base")
        return x + 1


class Derived(Base):
    """The other one."""

    def method(self, x: Any) -> Any:
        y = x * 2
        return super().method(y) * 3


def test_functions_that_look_at_their_frame_are_not_split() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        print("here")
        return sorted(locals())

    assert torch.compile(function)(torch.ones(2)) == ["x", "y"]
    assert torch.compile(Derived().method)(torch.ones(1)).item() == 9


def test_thousands_of_breaks_do_not_nest() -> None:
    def function(x: Any) -> Any:
        while x.sum() < 3000:
            x = x + 1
        return x

    counter = CompileCounter()
    assert torch.compile(function, backend=counter)(torch.zeros(1)).item() == 3000
    assert counter.frame_count == 2


@pytest.mark.turns(8)
def test_no_tensor_of_a_call_outlives_it() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        kept.append(weakref.ref(y))
        return y + 1

    kept: list[Any] = []
    x = torch.ones(3)
    kept.append(weakref.ref(x))
    compiled = torch.compile(function)
    compiled(x)
    del x
    gc.collect()
    assert [each() for each in kept] == [None, None]
    assert compiled(torch.ones(1)).item() == 3


def closure(x: Any) -> Any:
    total = x * 0

    def add(y: Any, *, scale: Any = 2) -> Any:
        nonlocal total
        total = total + y * scale
        return total

    print(add(x))
    add(x + 1, scale=3)
    print(add.__kwdefaults__)
    return total, add(x)


def deleted(x: Any) -> Any:
    y = x + 1
    del x
    print("deleted")
    try:
        return x  # noqa: F821 - deleted on purpose
    except UnboundLocalError as error:
        return str(error), y


def named(x: Any) -> Any:
    y, *rest = (x + 1, x + 2, 3)
    print(f"{len(rest)} {rest[1]:>3}")
    return {"y": y, "rest": rest}


def chained(x: Any) -> Any:
    return 0 < x.sum() < 10 and not x.max() > 5


def asserted(x: Any) -> Any:
    assert x.sum() > 0, "negative"
    return x * 2


def interrupted(x: Any) -> Any:
    for scale in (1, 2, 3):
        x = x * scale
        if x.sum() > 20:
            break
    else:
        return x - 1
    return x


def lazily(x: Any) -> Any:
    total = x * 0
    for y in (x * i for i in range(4)):
        x = x + y
        total = total + x.add_(1)
    return total, sum(x.mul_(2) for _ in range(2)), [*(x - i for i in range(2))]


def fails_late(x: Any) -> Any:
    count = iter([0, 1, 2])
    for y in (x / i for i in (1, 2)):
        print(y, next(count))
    return list(enumerate(x + i for i in range(2)))


@pytest.mark.parametrize(
    "function",
    [lazily, fails_late, closure, deleted, named, chained, asserted, interrupted],
    ids=lambda each: each.__name__,
)
def test_results_and_output_are_those_of_eager_mode(function: Callable[[Any], Any], capsys: Any) -> None:
    found = []
    for each in (function, torch.compile(function, backend="eager")):
        results = []
        for value in (2.0, 0.5, 9.0, -1.0):
            try:
                results.append(repr(each(torch.full((2,), value))))
            except AssertionError as error:
                results.append(str(error))
        found.append((results, capsys.readouterr().out))
    assert found[0] == found[1]
