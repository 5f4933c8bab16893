"""What a compiled function does beside computing happens in every call, as in eager mode."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import minitorch
import minitorch as torch
from minitorch._dynamo.stack import VERSION
from minitorch._dynamo.testing import CompileCounter

log: list[Any] = []
state: dict[str, Any] = {"n": 0}
SCALE = 2.0


class Box:
    """An object with an attribute that functions read and write."""

    value = 1.0

    def __init__(self) -> None:
        self.seen = 0


box = Box()


def append(x: Any) -> Any:
    log.append(len(log))
    return x + len(log)


def count(x: Any) -> Any:
    state["n"] += 1
    return x * state["n"]


def assign(x: Any) -> Any:
    box.seen += 1
    return x + box.seen


def draw(x: Any) -> Any:
    return x * random.random()


def say(x: Any) -> Any:
    y = x + 1
    print("sum", y.sum().item())
    return y


def branch(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x - 1


def read(x: Any) -> Any:
    return x * x.sum().item()


def loop(x: Any) -> Any:
    while x.abs().max() < 100:
        x = x * 3
    return x


def masked(x: Any) -> Any:
    return x[x > 0].sum()


def data(x: Any) -> Any:
    return torch.tensor(x.tolist()) + 1


def reseeded(x: Any) -> Any:
    torch.manual_seed(0)
    return x + torch.rand(3)


def hooked(x: Any) -> Any:
    y = (x * 1.0).requires_grad_()
    y.register_hook(log.append)
    y.sum().backward()
    return y.grad


def caught(x: Any) -> Any:
    try:
        return x.view(7, 11)
    except RuntimeError:
        return x + 1


def iterated(x: Any) -> Any:
    return next(source) + x


def outer(x: Any) -> Any:
    global SCALE
    SCALE += 1.0
    return x * SCALE


source = iter([])  # type: ignore[var-annotated]

EFFECTS: list[Callable[[Any], Any]] = [
    *(append, count, assign, draw, say, branch, read, loop, masked, data, reseeded, hooked, caught, iterated, outer)
]


def observed(function: Callable[[Any], Any], capsys: Any) -> list[str]:
    """Everything that three calls do, as text."""
    global source, SCALE
    log.clear()
    state["n"], box.seen, source, SCALE = 0, 0, iter(range(9)), 2.0
    random.seed(0)
    torch.manual_seed(1)
    seen = []
    for value in (1.0, -2.0, 1.0):
        x = torch.tensor([value, 2.0, -0.5])
        seen.append(f"{function(x)} {x} {len(log)} {state} {box.seen} {SCALE} {random.random()} {torch.rand(1)}")
    return [*seen, capsys.readouterr().out]


@pytest.mark.parametrize("function", EFFECTS, ids=lambda each: each.__name__)
def test_effects_happen_in_every_call(function: Callable[[Any], Any], capsys: Any) -> None:
    torch._dynamo.reset()
    assert observed(torch.compile(function), capsys) == observed(function, capsys)


CHANGES: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "a global": (lambda x: x * state["n"], lambda: state.update(n=state["n"] + 1)),
    "an attribute": (lambda x: x + box.seen, lambda: setattr(box, "seen", box.seen + 1)),
    "an attribute of the class": (lambda x: x + box.value, lambda: setattr(Box, "value", Box.value + 1)),
    "the default dtype": (
        lambda x: x + torch.ones(3),
        lambda: torch.set_default_dtype(torch.float64 if torch.get_default_dtype() is torch.float32 else torch.float32),
    ),
    "the grad mode": (lambda x: x * weight, lambda: torch.set_grad_enabled(not torch.is_grad_enabled())),
    "a read of the grad mode": (
        lambda x: x * 2 if torch.is_grad_enabled() else x,
        lambda: torch.set_grad_enabled(not torch.is_grad_enabled()),
    ),
    "an outer tensor": (lambda x: x * weight, lambda: weight.data.add_(1)),
    "the requires_grad of an outer tensor": (
        lambda x: x * 2 if weight.requires_grad else x,
        lambda: weight.requires_grad_(not weight.requires_grad),
    ),
    "a list outside": (lambda x: x * len(log), lambda: log.append(1)),
    "the training mode": (lambda x: module(x), lambda: module.train(not module.training)),
    "a submodule": (lambda x: nested(x), lambda: nested.append(torch.nn.Tanh())),
    "a hook": (lambda x: module(x), lambda: module.register_forward_hook(lambda m, a, result: result + 1)),
    "a hook of all modules": (lambda x: module(x), lambda: hooks.append(everywhere(lambda m, a, r: r + 1))),
    "a method": (lambda x: x + box.seen + weight, lambda: setattr(Box, "seen", property(lambda self: 5))),
}

weight = torch.ones(3, requires_grad=True)
module = torch.nn.Dropout(0.0)
nested = torch.nn.Sequential(torch.nn.ReLU())
hooks: list[Any] = []
everywhere = torch.nn.modules.module.register_module_forward_hook


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_function_reads_is_guarded(name: str) -> None:
    function, change = CHANGES[name]
    log.clear()
    state["n"], box.seen = 1, 1
    compiled = torch.compile(function, backend=(counter := CompileCounter()))
    x = torch.tensor([1.0, -2.0, 3.0])
    try:
        for _ in range(3):
            for _ in range(2):
                assert repr(compiled(x)) == repr(function(x))
            change()
        assert counter.frame_count or sys.version_info[:2] != VERSION
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        module._forward_hooks.clear()
        Box.value = 1.0
        if isinstance(vars(Box).get("seen"), property):
            del Box.seen
        while hooks:
            hooks.pop().remove()


def test_capture_draws_no_random_numbers_and_replay_draws_those_of_eager_mode() -> None:
    def noisy(x: Any) -> Any:
        return torch.nn.functional.dropout(x, 0.5) + torch.rand(4)

    compiled = torch.compile(noisy)
    results = []
    for function in (noisy, compiled):
        torch.manual_seed(3)
        results.append([function(torch.ones(4)).tolist() for _ in range(3)])
    assert results[0] == results[1]


def test_results_alias_what_they_alias_in_eager_mode() -> None:
    compiled = torch.compile(lambda x, xs: (x, x.view(-1), xs, [x + 1]))
    x, xs = torch.ones(2), [1, 2]
    for _ in range(2):
        same, view, passed, fresh = compiled(x, xs)
        assert same is x
        assert view._base is x
        assert passed is xs
        assert fresh is not compiled(x, xs)[3]


def test_an_error_is_that_of_eager_mode_and_the_grad_mode_is_restored() -> None:
    def fails(x: Any, i: Any) -> Any:
        with torch.no_grad():
            return x[i] * 2

    compiled = torch.compile(fails)
    assert compiled(torch.ones(3), torch.tensor([1])).tolist() == [2.0]
    with pytest.raises(IndexError):
        compiled(torch.ones(3), torch.tensor([7]))
    assert minitorch.is_grad_enabled()


def test_a_subclass_elsewhere_changes_nothing_and_a_mode_sees_every_operation() -> None:
    class Meters(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs or {})

    class Seen(torch.overrides.TorchFunctionMode):
        names: ClassVar[list[str]] = []

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    compiled = torch.compile(lambda x: (x * 2).exp().sum())
    assert type(torch.ones(3).as_subclass(Meters) + 1) is Meters
    assert type(compiled(torch.ones(3)).as_subclass(Meters)) is Meters
    x = torch.ones(3, requires_grad=True)
    assert type(compiled(x).grad_fn).__name__ == "CompiledFunctionBackward"
    assert type(compiled(torch.ones(3).as_subclass(Meters))) is Meters
    with Seen():
        compiled(torch.ones(3))
    assert Seen.names == ["ones", "mul", "exp", "sum"]
