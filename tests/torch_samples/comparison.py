"""A call in both libraries: what it returns or raises, its gradients, and whether a difference is an exception."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch
from tests.torch_samples.difference import difference
from tests.torch_samples.samples import OutOfScopeError, torch, translated

Call = Callable[..., Any]


def outcome(library: Any, function: Call, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, Exception | None]:
    """What a call returns, or the exception it raises."""
    library.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs), None
        except Exception as error:
            return None, error


def first_line(error: Exception | None) -> str:
    return "no error" if error is None else f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def differing(found: Iterator[str | None], exceptions: dict[str, str], name: str) -> None:
    """Fails at the first difference; for an exception, where there is none."""
    reason = exceptions.get(name)
    first = None
    try:
        first = next(filter(None, found), None)
    except OutOfScopeError as error:
        pytest.fail(f"an expected value of torch's is out of scope ({error}): list it")
    if reason is None:
        assert first is None, first
    else:
        assert first is not None, f"{name} no longer differs: take it off the list ({reason})"


def gradients(
    roots: list[Any], own_roots: list[Any], inputs: list[Any], own_inputs: list[Any], create_graph: bool
) -> tuple[Any, Any, str | None]:
    """Both libraries' gradients, and what differs between them."""
    if not roots:
        return (), (), None
    torch.manual_seed(3)
    weights = [torch.randn_like(each) for each in roots]
    options = {"allow_unused": True, "create_graph": create_graph, "retain_graph": True}
    grads, error = outcome(torch, torch.autograd.grad, [roots, inputs, weights], options)
    own, own_error = outcome(minitorch, minitorch.autograd.grad, [own_roots, own_inputs, translated(weights)], options)
    if (error is None) != (own_error is None):
        return (), (), f"gradient: {first_line(error)} expected, got {first_line(own_error)}"
    if error is not None:
        return (), (), None
    # A gradient of zeros that is no tensor of numbers at all ("ZeroTensor") has to be written out to be compared.
    numbers = tuple(None if g is None else g + 0 if g._is_zerotensor() else g for g in grads)
    return grads, own, difference(numbers, tuple(own), "gradient", strides=False)  # which follow from the formula
