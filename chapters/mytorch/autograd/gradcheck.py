"""gradcheck: compare backward formulas with derivatives that are measured by small steps."""

# 07b · Vector–Jacobian products
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import float64, stack
from ..creation import new, zeros, zeros_like
from ..dispatch import Function
from ..tensor import Tensor, on_host
from .engine import as_list, grad
from .grad_mode import enable_grad, no_grad


class GradcheckError(RuntimeError):
    """A backward formula and the measured derivative differ."""


def numerical_jacobian(function: Function, inputs: list[Any], place: int, eps: float) -> Tensor:
    """Measure the Jacobian of a function's result with respect to the input at `place`, by central differences."""
    x, rows = inputs[place], []
    with no_grad():
        for element in range(x.numel()):
            sides = []
            for step in (eps, -eps):
                moved = x.clone().reshape(-1)
                moved[element] += step
                sides.append(function(*inputs[:place], moved.reshape(x.shape), *inputs[place + 1 :]).reshape(-1))
            rows.append((sides[0] - sides[1]) / (2 * eps))
    return stack(rows)


def analytical_jacobian(function: Function, inputs: list[Any], place: int) -> Tensor:
    """Compute the same matrix from the backward formulas: one backward pass per element of the result."""
    x, result, columns = inputs[place], function(*inputs), []
    for element in range(result.numel()):
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        found = None
        if result.requires_grad:
            (found,) = grad(result, x, chosen.reshape(result.shape), retain_graph=True, allow_unused=True)
        columns.append((zeros_like(x) if found is None else found).detach().reshape(-1))
    return stack(columns, 1)


def gradcheck(function: Function, inputs: Any, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3) -> bool:
    """Check the backward formulas against measured derivatives, for each result and each input that requires grad."""
    inputs = as_list(inputs)
    checked = [place for place, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        found = "but none of them have requires_grad=True."
        raise ValueError(f"gradcheck expects at least one input tensor to require gradient, {found}")
    for place in checked:
        if inputs[place].dtype is not float64:
            kind = "double precision floating point or complex"
            fear = f"This check will likely fail if all the inputs are not of {kind}. "
            warnings.warn(f"Input #{place} requires gradient and is not a {kind}. {fear}", stacklevel=2)
    for number in range(len(as_tensors(function(*inputs)))):
        for place in checked:
            compare(function, inputs, number, place, eps, atol, rtol)
    return True


def compare(function: Function, inputs: Any, number: int, place: int, eps: float, atol: float, rtol: float) -> None:
    """Compare the two Jacobians of the result `as_tensors(function(*inputs))[number]` for the input at `place`."""

    def one_result(*changed: Any) -> Tensor:
        return as_tensors(function(*changed))[number]

    measured = numerical_jacobian(one_result, inputs, place, eps)
    computed = analytical_jacobian(one_result, inputs, place)
    if not np.allclose(on_host(computed), on_host(measured), rtol, atol):
        jacobians = f"numerical:{measured}\nanalytical:{computed}\n"
        raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\n{jacobians}")


def gradgradcheck(function: Function, inputs: Any, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3) -> bool:
    """Run `gradcheck` on the gradients themselves, which checks second derivatives."""
    inputs = as_list(inputs)
    wanted = [place for place, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def first_derivatives(*changed: Any) -> tuple[Tensor, ...]:
        watched = [x.requires_grad_() if place in wanted and x.is_leaf else x for place, x in enumerate(changed)]
        with enable_grad():
            total = sum((result * weight for result, weight in weighted(function(*watched))), start=0.0)
            found = grad(total, [watched[place] for place in wanted], create_graph=True, allow_unused=True)
        return tuple(zeros_like(watched[place]) if g is None else g for place, g in zip(wanted, found, strict=True))

    return gradcheck(first_derivatives, inputs, eps, atol, rtol)


def weighted(results: Any) -> list[tuple[Tensor, float]]:
    """Sum each result with a weight of its own, so that no two contributions cancel."""
    pairs = []
    for number, result in enumerate(as_tensors(results), 1):
        weights = new(np.linspace(1.0, 2.0, result.numel()).reshape(result.shape), result.device)
        pairs.append(((result * weights).sum(), float(number)))
    return pairs


def as_tensors(results: Any) -> list[Tensor]:
    """The floating-point tensors among a function's results."""
    found = results if isinstance(results, (tuple, list)) else [results]
    return [x for x in found if isinstance(x, Tensor) and x.is_floating_point()]
