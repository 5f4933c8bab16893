"""Effects on Python objects: they happen in every call, in order, and no graph hides them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch._dynamo.stack import VERSION

pytestmark = pytest.mark.skipif(sys.version_info[:2] != VERSION, reason="capture reads the bytecode of Python 3.11")


class Box:
    """An object whose attributes functions assign."""

    def __init__(self) -> None:
        self.n = 0
        self.limited = 1

    @property
    def double(self) -> int:
        return self.n * 2

    @double.setter
    def double(self, value: int) -> None:
        self.n = value // 2


class Strict:
    """An object that decides itself what an assignment does."""

    n = 0

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value + 100)


class Counting(torch.nn.Module):
    """A module that counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.last: Any = None
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.last = x * self.weight
        self.mean = self.mean + x
        return self.last + self.mean + self.count


class World:
    """What functions can reach."""

    def __init__(self) -> None:
        self.box, self.strict, self.module = Box(), Strict(), Counting()
        self.twin = self.box
        self.log: list[Any] = [0]
        self.state: dict[str, Any] = {"n": 1, "log": self.log}

    def seen(self) -> str:
        """All of it as text."""
        parts = vars(self.box), vars(self.strict), self.module.count, self.module.mean, self.log, self.state
        return "; ".join(map(str, parts))


world = World()


def twins(x: Any) -> Any:
    world.box.n += 1
    return x + world.twin.n


def shared(x: Any) -> Any:
    world.log.append(len(world.state["log"]))
    return x * len(world.state["log"])


def swapped(x: Any) -> Any:
    world.log[0], world.state["n"] = world.state["n"], world.log[-1]
    world.log.insert(0, x.shape[0])
    return x + world.log.pop()


def updated(x: Any) -> Any:
    world.state.update(n=3, y=x.shape)
    world.state.setdefault("z", []).append(2)
    return x * world.state.pop("n"), world.state.get("n", 7)


def kept(x: Any) -> Any:
    y = [x * 2]
    world.log.append(y)
    y.append(x.shape[0])
    return y


def property_set(x: Any) -> Any:
    world.box.double = 8
    return x + world.box.n


def strict(x: Any) -> Any:
    world.strict.n = 5
    return x + world.strict.n


def moduled(x: Any) -> Any:
    return world.module(x) + world.module.count


def parameter(x: Any) -> Any:
    try:
        world.module.weight = x * 2
    except TypeError:
        world.log.append("refused")
    return x


def fails(x: Any) -> Any:
    world.box.n += 1
    y = torch.nn.functional.dropout(x, 0.5)[x.long()]
    world.log.append("never" if x.sum() > 9 else "always")
    return y


def writes_and_fails(x: Any) -> Any:
    world.log.append("first")
    x.add_(1)
    y = x[x.long()]
    world.log.append("second")
    return y


def deferred(x: Any) -> Any:
    world.log.append(1)
    print(len(world.log))
    world.log.append(2)
    return x + len(world.log)


FUNCTIONS = [
    *(
        twins,
        shared,
        swapped,
        updated,
        kept,
        property_set,
        strict,
        moduled,
        parameter,
        fails,
        writes_and_fails,
        deferred,
    )
]


def observed(function: Callable[[Any], Any], capsys: Any) -> list[str]:
    """What calls of a function give, print, raise and leave behind."""
    global world
    world = World()
    torch.manual_seed(0)
    found = []
    for value in (0.0, 1.0, 1.0, 5.0, 1.0):
        x = torch.full((3,), value)
        try:
            result = repr(function(x))
        except IndexError as error:
            result = f"IndexError: {error}"
        found.append(f"{result} {x} {world.seen()} {torch.rand(1)}")
    return [*found, capsys.readouterr().out]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore")
def test_effects_on_objects_are_those_of_eager_mode(function: Callable[[Any], Any], capsys: Any) -> None:
    assert observed(torch.compile(function, backend="eager"), capsys) == observed(function, capsys)


def test_lists_that_become_the_same_later_are_noticed() -> None:
    def function(x: Any, first: list[int], second: list[int]) -> Any:
        first.append(1)
        return x + len(second)

    compiled = torch.compile(function)
    x, xs = torch.zeros(1), [0]
    assert compiled(x, [0], [0]).item() == 1
    assert compiled(x, xs, xs).item() == 2
    assert compiled(x, [0], [0]).item() == 1


def test_closures_share_what_they_assign() -> None:
    total = 0

    def add(x: Any) -> Any:
        nonlocal total
        total += 1
        return x + total

    def read() -> int:
        return total

    def function(x: Any) -> Any:
        return add(x) * read()

    compiled = torch.compile(function, fullgraph=True)
    assert [compiled(torch.zeros(1)).item() for _ in range(3)] == [1.0, 4.0, 9.0]
    assert total == 3
