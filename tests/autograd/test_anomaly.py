"""Anomaly mode names the op whose backward failed, and where it was recorded, in PyTorch's words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from minitorch.autograd import engine
from tests.same import same


def leaf(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def told(torch: Any, action: Callable[[], Any], mode: Any = None) -> Any:
    """The warnings of a backward pass in anomaly mode, and its error. Of the stacks, the lines of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with mode or torch.autograd.set_detect_anomaly(True):
                result = action()
        except RuntimeError as error:
            result = str(error)
    messages = [str(each.message) for each in caught if each.category is UserWarning]
    return [without_the_library(each) for each in messages], result


def without_the_library(warning: str) -> str:
    """A warning without the library's own frames, and without the place in PyTorch's sources from which it warns."""
    warning = re.sub(r' +File "[^"]*/(site-packages/torch|minitorch)/.*\n.*\n', "", warning)
    return re.sub(r" \(Triggered internally at .*\)", "", warning).rstrip()


def zero_over_zero(x: Any) -> Any:
    return (x * 0).sqrt()


def fails(torch: Any, x: Any) -> Any:
    class Fails(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise RuntimeError("in backward")

    return Fails.apply(x)


def nan(torch: Any) -> None:
    zero_over_zero(leaf(torch)).log().sum().backward()


def nan_in_the_second_input(torch: Any) -> None:
    (torch.full((2,), float("inf")) * leaf(torch) * 0).sum().backward()


def error(torch: Any) -> None:
    fails(torch, leaf(torch)).sum().backward()


def modified(torch: Any) -> None:
    y = (leaf(torch) * 1).exp()
    out = (y * 2).sum()
    y.add_(1)
    out.backward()


def nan_from_a_hook(torch: Any) -> None:
    y = leaf(torch) * 2
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * float("nan"), None))
    y.sum().backward()


def in_the_second_derivative(torch: Any) -> None:
    x = leaf(torch)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    torch.autograd.grad(fails(torch, first * 2).sum(), x)


@pytest.mark.parametrize(
    "program",
    [nan, nan_in_the_second_input, error, modified, nan_from_a_hook, in_the_second_derivative],
    ids=lambda program: program.__name__,
)
@same
def test_what_is_told(torch: Any, program: Callable[[Any], None]) -> Any:
    return told(torch, lambda: program(torch))


@pytest.mark.parametrize("forward_in_the_mode", [True, False])
@same
def test_a_node_made_by_backward_tells_of_the_node_that_made_it(torch: Any, forward_in_the_mode: bool) -> Any:
    class Outer(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return fails(torch, grad)

    def run(x: Any, y: Any) -> None:
        y = Outer.apply(x) if y is None else y
        (first,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
        first.sum().backward()

    x = leaf(torch)
    y = None if forward_in_the_mode else Outer.apply(x)
    return told(torch, lambda: run(x, y))


@same
def test_without_a_forward_pass_in_the_mode(torch: Any) -> Any:
    y = fails(torch, leaf(torch)).sum()
    return told(torch, y.backward)


@same
def test_switches(torch: Any) -> Any:
    def now() -> Any:
        return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()

    seen = [now()]
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        seen.append(now())
        x = leaf(torch)
        (x * 0).sqrt().sum().backward()
        seen.append(x.grad)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.autograd.detect_anomaly():
                seen.append(now())
        seen += [str(each.message) for each in caught]
        seen.append(now())
    torch.autograd.set_detect_anomaly(True)
    seen.append(now())
    torch.set_anomaly_enabled(False)
    return [*seen, now()]


def test_metadata_holds_the_stack() -> None:
    with minitorch.autograd.set_detect_anomaly(True, check_nan=False):
        y = leaf(minitorch).exp()
    assert "y = leaf(minitorch).exp()" in y.grad_fn.metadata["traceback_"][-1]
    assert leaf(minitorch).exp().grad_fn.metadata == {}


def test_nothing_is_left_when_the_mode_ends() -> None:
    observers = list(engine.OBSERVERS)
    with minitorch.autograd.set_detect_anomaly(True), minitorch.autograd.set_detect_anomaly(True, check_nan=False):
        assert leaf(minitorch).exp().grad_fn.metadata
    assert not leaf(minitorch).exp().grad_fn.metadata
    assert observers == engine.OBSERVERS
