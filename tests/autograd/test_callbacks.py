"""`queue_callback`: functions that the engine calls when a backward pass ends."""

from __future__ import annotations

from typing import Any

import pytest

from minitorch.autograd import Variable


def order(torch: Any, variable: Any) -> list[str]:
    """In what order things happen: hooks in two passes, one inside the other, queue callbacks."""
    happened: list[str] = []
    engine = variable._execution_engine
    x = torch.ones(1, requires_grad=True)

    def inner(grad: Any) -> None:
        happened.append("hook of the inner pass")
        engine.queue_callback(lambda: happened.append("end of the inner pass"))

    def outer(grad: Any) -> None:
        happened.append(f"hook, x.grad is {x.grad}")
        engine.queue_callback(lambda: happened.append(f"end, x.grad is {x.grad}"))
        engine.queue_callback(lambda: engine.queue_callback(lambda: happened.append("a callback of a callback")))
        with torch.enable_grad():
            y = torch.ones(1, requires_grad=True) * 2
        y.register_hook(inner)
        y.backward()

    y = x * 2
    y.register_hook(outer)
    y.backward()
    happened.append("after")
    return happened


def test_called_at_the_end_of_the_pass() -> None:
    torch = pytest.importorskip("torch", reason="the expected order is torch's")
    import minitorch

    assert order(minitorch, Variable) == order(torch, torch.autograd.Variable)


def test_there_must_be_a_pass() -> None:
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        Variable._execution_engine.queue_callback(print)
