"""Chapter 08 of mytorch against minitorch: what is recorded and played, and what simplifying leaves."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitorch

part = pytest.mark.part
graph = "mytorch.graph:"
recorder = "mytorch.graph:Recorder."


def numbers(*size: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.2, 2.0, size).astype(np.float32)


def slope(torch: ModuleType, x: Any) -> Any:
    x = x.detach().requires_grad_()
    return torch.autograd.grad((x * x).exp().sum(), [x])[0]


WEIGHT = numbers(3, 3, seed=9)
FUNCTIONS: dict[str, Callable[[ModuleType, Any], Any]] = {
    "arithmetic": lambda torch, x: (x + 1) * x - x / 2,
    "weights": lambda torch, x: (x @ torch.tensor(WEIGHT)).tanh(),
    "same twice": lambda torch, x: (x * 2).exp() + (x * 2).exp(),
    "constants": lambda torch, x: x * (torch.tensor(WEIGHT).exp().sum() * 2),
    "not used": lambda torch, x: (x.exp(), x.sin())[1],
    "views": lambda torch, x: x.t()[1:, ::2].reshape(-1).unsqueeze(0),
    "indices": lambda torch, x: x[[0, 1, 1]] + x[x.argmax(1) * 0],
    "joined": lambda torch, x: torch.cat([x, x * 2, x], 1) + torch.stack([x.sum(0), x.mean(0)]).sum(),
    "several results": lambda torch, x: (x * 2, [x, x.sum()], 3),
    "the input": lambda torch, x: x,
    "nothing of the input": lambda torch, x: torch.tensor(WEIGHT) * 2,
    "backward": slope,
    "types": lambda torch, x: (x.double() * 1, (x > 1).float() * True, x * 1.0, x * 1),
}


def flat(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [number for each in result for number in flat(each)]
    return [(result.dtype.itemsize, result.tolist())] if hasattr(result, "tolist") else [result]


@part(recorder + "note", graph + "run", recorder + "symbol", recorder + "know", graph + "key", graph + "trace")
@part(graph + "fold_constants", graph + "share_equal", graph + "drop_unused", graph + "rebuilt", graph + "replace")
@pytest.mark.parametrize("simplified", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_trace_plays_the_function_on_other_numbers(mytorch: ModuleType, name: str, simplified: bool) -> None:
    traced = mytorch.graph.trace(lambda x: FUNCTIONS[name](mytorch, x), mytorch.tensor(numbers(3, 3)))
    traced = mytorch.graph.simplify(traced) if simplified else traced
    other = numbers(3, 3, seed=1)
    expected = flat(FUNCTIONS[name](minitorch, minitorch.tensor(other)))
    for (size, found), (wanted_size, wanted) in zip(
        (
            each if isinstance(each, tuple) else (0, each)
            for each in flat(mytorch.graph.run(traced, mytorch.tensor(other)))
        ),
        (each if isinstance(each, tuple) else (0, each) for each in expected),
        strict=True,
    ):
        assert size == wanted_size
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def operations(traced: Any) -> list[str]:
    return [step.op.name for step in traced.steps]


def program(mytorch: ModuleType) -> Any:
    weights = mytorch.tensor([1.0, 2.0])

    def function(x: Any) -> Any:
        scale = weights.exp() * 2
        left = (x * scale).tanh()
        x.sum()
        return left * ((x * scale).tanh() + 1)

    return mytorch.graph.trace(function, mytorch.ones(3, 2))


@part(recorder + "note", graph + "fold_constants", graph + "share_equal", graph + "drop_unused", graph + "signature")
def test_nine_steps_become_four(mytorch: ModuleType) -> None:
    steps = program(mytorch)
    assert operations(steps) == ["exp", "mul", "mul", "tanh", "sum", "mul", "tanh", "add", "mul"]
    folded = mytorch.graph.fold_constants(steps)
    assert operations(folded) == ["mul", "tanh", "sum", "mul", "tanh", "add", "mul"]
    shared = mytorch.graph.share_equal(folded)
    assert operations(shared) == ["mul", "tanh", "sum", "add", "mul"]
    assert operations(mytorch.graph.drop_unused(shared)) == ["mul", "tanh", "add", "mul"]
    assert operations(mytorch.graph.drop_unused(steps)) == ["exp", "mul", "mul", "tanh", "mul", "tanh", "add", "mul"]
    assert len(steps.steps) == 9


@part(graph + "share_equal", graph + "signature")
def test_steps_that_look_alike_are_not_shared(mytorch: ModuleType) -> None:
    one, other = mytorch.tensor([1.0]), mytorch.tensor([1.0])
    traced = mytorch.graph.trace(
        lambda x: [x * 1, x * 1.0, x * True, x * one, x * other, x.sum(0), x.sum(1), x[0], x[1:], x[:1]],
        mytorch.ones(2, 2),
    )
    assert len(mytorch.graph.share_equal(traced).steps) == len(traced.steps)
    twice = mytorch.graph.trace(lambda x: [x * one, x * one, x[1:], x[1:]], mytorch.ones(2))
    assert operations(mytorch.graph.share_equal(twice)) == ["mul", "slice"]


@part(recorder + "note", graph + "tracer")
def test_a_write_is_refused_and_the_recorder_stops_listening(mytorch: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="a trace can't follow a write: copy_"):
        mytorch.graph.trace(lambda x: x.mul_(2), mytorch.ones(2))
    assert mytorch.graph.RECORDERS == []
    x = mytorch.ones(2)
    x.mul_(2)
    assert x.tolist() == [2.0, 2.0]


@part(graph + "run")
def test_a_run_takes_as_many_inputs_as_the_trace_and_records_nothing(mytorch: ModuleType) -> None:
    traced = mytorch.graph.trace(lambda x, y: x * y, mytorch.ones(1), mytorch.ones(1))
    result = mytorch.graph.run(traced, mytorch.ones(1, requires_grad=True), mytorch.ones(1))
    assert not result.requires_grad
    with pytest.raises(ValueError, match="zip"):
        mytorch.graph.run(traced, mytorch.ones(1))


def test_a_graph_is_printed_step_by_step(mytorch: ModuleType) -> None:
    traced = mytorch.graph.trace(lambda x: (x * 2 + mytorch.ones(2)).sum(), mytorch.ones(2))
    lines = ["inputs (%0)", "%1 = mul(%0, 2)", "%2 = add(%1, constant(2,))", "%3 = sum(%2, None, False)", "return %3"]
    assert repr(traced).splitlines() == lines
