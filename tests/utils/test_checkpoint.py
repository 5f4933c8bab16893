"""Checkpointed functions have the gradients of plain ones, and run twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.nn as nn
from minitorch.utils.checkpoint import checkpoint, checkpoint_sequential


def network() -> Any:
    minitorch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))


def inputs(requires_grad: bool = True) -> Any:
    return minitorch.from_numpy(np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)).requires_grad_(
        requires_grad
    )


def gradients(run: Any, requires_grad: bool = True) -> list[Any]:
    model, x = network(), inputs(requires_grad)
    minitorch.manual_seed(1)
    output = run(model, x)
    state = minitorch.rand(1).tolist()
    (output * output).sum().backward()
    return [output.tolist(), state, None if x.grad is None else x.grad.tolist()] + [
        None if each.grad is None else each.grad.tolist() for each in model.parameters()
    ]


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_gradients_are_those_without_checkpoint(use_reentrant: bool) -> None:
    plain = gradients(lambda model, x: model(x))
    assert gradients(lambda model, x: checkpoint(model, x, use_reentrant=use_reentrant)) == plain
    for segments in (1, 2, 3):
        split = gradients(lambda model, x, n=segments: checkpoint_sequential(model, n, x, use_reentrant=use_reentrant))
        assert split == plain


def test_inputs_need_no_gradient_when_not_reentrant() -> None:
    plain = gradients(lambda model, x: model(x), requires_grad=False)
    assert gradients(lambda model, x: checkpoint(model, x, use_reentrant=False), requires_grad=False) == plain


def test_autograd_grad_and_keywords() -> None:
    x = inputs()

    def function(x: Any, *, factor: float) -> Any:
        return (x * x).sum() * factor, x * 3

    value, other = checkpoint(function, x, factor=2.0, use_reentrant=False)
    (grad,) = minitorch.autograd.grad(value, x)
    np.testing.assert_allclose(grad.numpy(), 4 * x.detach().numpy(), 1e-6)
    assert other.requires_grad


def test_the_function_runs_again_in_backward() -> None:
    calls: list[bool] = []

    def function(x: Any) -> Any:
        calls.append(minitorch.is_grad_enabled())
        return x * x

    output = checkpoint(function, inputs(), use_reentrant=False)
    assert len(calls) == 1
    output.sum().backward()
    assert calls == [True, True]


def test_nothing_of_the_inside_is_kept() -> None:
    import weakref

    inside: list[Any] = []

    def function(x: Any) -> Any:
        middle = x.exp()
        inside.append(weakref.ref(middle))
        return middle.sin()

    output = checkpoint(function, inputs(), use_reentrant=False)
    assert inside[0]() is None
    assert output.requires_grad


def test_errors() -> None:
    x = inputs()
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(lambda x: x * 2, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(lambda x: x * 2, inputs(False), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: factor"):
        checkpoint(lambda x, factor: x * factor, x, factor=2, use_reentrant=True)
    with pytest.raises(NotImplementedError, match="debug"):
        checkpoint(lambda x: x * 2, x, debug=True, use_reentrant=False)
    with pytest.raises(NotImplementedError, match="create_graph"):
        checkpoint(lambda x: x * x, x, use_reentrant=False).sum().backward(create_graph=True)
