"""Is a formula right? Compare it with the slope that small steps measure."""

# 07 · Backward in depth
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..creation import new, zeros, zeros_like
from ..dispatch import Function
from ..joining import stack
from ..settings import float64
from ..tensor import Tensor, on_host
from .engine import as_list, grad
from .grad_mode import enable_grad, no_grad


class GradcheckError(RuntimeError):
    """A formula and the measured slope differ."""


def numerical_jacobian(function: Function, inputs: list[Any], place: int, eps: float) -> Tensor:
    """The derivatives of a function's result with respect to the input at `place`, measured.

    Each element of that input in turn is moved by `eps` to both sides while the others stay:
    (f(x + eps) - f(x - eps)) / 2 eps. Nothing is recorded, and the inputs themselves are not changed.

    Args:
        function: takes the inputs, returns one tensor.

    Returns:
        A matrix of the result's dtype: a row for each element of the input, a column for each element
        of the result.
    """
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
    """The same matrix from the formulas: one call, then a backward pass for each element of the result.

    A pass starts with 1 at its element and 0 at all others, and gives a column. All passes use the same
    graph. An input that the result doesn't depend on has zeros.

    Returns:
        A matrix of the input's dtype, shaped as that of `numerical_jacobian`.
    """
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
    """Whether the formulas of `function` agree with the measured slopes, for each input that requires a gradient.

    The inputs that require one should be float64: in float32 the difference of two results has hardly a
    digit left.

    Raises:
        GradcheckError: they differ by more than atol + rtol·|measured|; says for which output and input.
        ValueError: no input requires a gradient.
    """
    inputs = as_list(inputs)
    checked = [place for place, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for place in checked:
        if inputs[place].dtype is not float64:
            warnings.warn(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=2,
            )
    for number in range(len(as_tensors(function(*inputs)))):
        for place in checked:
            compare(function, inputs, number, place, eps, atol, rtol)
    return True


def compare(
    function: Function, inputs: list[Any], number: int, place: int, eps: float, atol: float, rtol: float
) -> None:
    """Compare the two Jacobians of one result and one input.

    Raises:
        GradcheckError: they differ.
    """

    def one_result(*changed: Any) -> Tensor:
        return as_tensors(function(*changed))[number]

    measured = numerical_jacobian(one_result, inputs, place, eps)
    computed = analytical_jacobian(one_result, inputs, place)
    if not np.allclose(on_host(computed), on_host(measured), rtol, atol):
        raise GradcheckError(
            f"Jacobian mismatch for output {number} with respect to input {place},\n"
            f"numerical:{measured}\nanalytical:{computed}\n"
        )


def gradgradcheck(function: Function, inputs: Any, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3) -> bool:
    """`gradcheck` of the gradients themselves: whether second derivatives are right."""
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
    """The sum of each result with a weight of its own, so that no two contributions cancel."""
    pairs = []
    for number, result in enumerate(as_tensors(results), 1):
        weights = new(np.linspace(1.0, 2.0, result.numel()).reshape(result.shape), result.device)
        pairs.append(((result * weights).sum(), float(number)))
    return pairs


def as_tensors(results: Any) -> list[Tensor]:
    """The floating-point tensors among a function's results."""
    found = results if isinstance(results, (tuple, list)) else [results]
    return [x for x in found if isinstance(x, Tensor) and x.is_floating_point()]
