"""Jacobians of functions of tensors, by finite differences and by backward passes, for `gradcheck` to compare.

Source: https://pytorch.org/docs/stable/notes/gradcheck.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from minitorch.autograd.passes import grad
from minitorch.bits import resolved
from minitorch.tensor import Tensor, make_tensor

Function = Callable[..., Any]


class Tolerances(NamedTuple):
    """How far the elements are moved, and how far results may be apart."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_dtypes: bool


class GradcheckError(RuntimeError):
    """The gradients are wrong; the message holds both Jacobians."""

    __module__ = "minitorch.autograd.gradcheck"  # where programs and pickles look for it


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, Tensor) else tuple(value)


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(each for each in _as_tuple(outputs) if isinstance(each, Tensor) and each.requires_grad)


def _check_reentrant(one: Any, two: Any, nondet_tol: float) -> None:
    if one.size and not np.abs(one - two).max() <= nondet_tol:
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            "different values, although analytical gradient matches numerical gradient."
            f"The tolerance for nondeterminism was {nondet_tol}."
        )


def _mismatch(i: int, j: int, part: str, numerical: Any, analytical: Any) -> str:
    prefix = f"While considering the {part} part of complex outputs only, " if part else ""
    return (
        f"{prefix}Jacobian mismatch for output {i} with respect to input {j},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


def _slopes(
    func: Function,
    inputs: tuple[Any, ...],
    variable: Tensor,
    index: Any,
    step: Any,
    eps: float,
    wanted: Callable[[Tensor], bool],
) -> list[Any]:
    """How much each wanted output, as a vector, changes by `eps` of the elements at `index` of an input."""

    def values_at(elements: Any) -> list[Any]:
        with variable.device.active():
            variable._array[index] = elements
        outputs = [each for each in _as_tuple(func(*inputs)) if isinstance(each, Tensor) and wanted(each)]
        return [np.array(each.device.backend.to_host(each._elements)).reshape(-1) for each in outputs]

    step = resolved(variable.device.xp, variable.device.xp.asarray(step), variable._bits) if variable._bits else step
    with variable.device.active():
        original = variable._array[index].copy()
        forth, back = original + step, original - step
    ahead, behind = values_at(forth), values_at(back)
    with variable.device.active():
        variable._array[index] = original
    return [(a - b) / (2 * eps) for a, b in zip(ahead, behind, strict=True)]


def _numerical(
    func: Function, inputs: tuple[Any, ...], variable: Tensor, eps: float, wanted: Callable[[Tensor], bool]
) -> Iterator[tuple[Any, Any]]:
    """For each wanted output its Jacobian of shape (elements of `variable`, elements of the output), for the real and
    for the imaginary part (None where there is none)."""
    complex_input = variable.dtype.is_complex
    rows: list[list[Any]] = []
    imaginary_rows: list[list[Any]] = []
    for index in np.ndindex(tuple(variable.shape)):
        rows.append(_slopes(func, inputs, variable, index, eps, eps, wanted))
        if complex_input:
            imaginary_rows.append(_slopes(func, inputs, variable, index, 1j * eps, eps, wanted))
    outputs = [each for each in _as_tuple(func(*inputs)) if isinstance(each, Tensor) and wanted(each)]
    for number, output in enumerate(outputs):
        along_x = _stacked([row[number] for row in rows], variable, output)
        along_y = _stacked([row[number] for row in imaginary_rows], variable, output) if complex_input else 0
        if np.iscomplexobj(along_x):
            yield (
                along_x.real + (1j * along_y.real if complex_input else 0),
                along_x.imag + (1j * along_y.imag if complex_input else 0),
            )
        else:
            yield along_x + (1j * along_y if complex_input else 0), None


def _stacked(rows: list[Any], variable: Tensor, output: Tensor) -> Any:
    return np.stack(rows) if rows else np.zeros((variable.numel(), output.numel()))


def _analytical(output: Tensor, variables: list[Tensor], check_dtypes: bool) -> Iterator[Any]:
    """For each variable the Jacobians of the output's real and imaginary part, as one array of shape (1 or 2, elements
    of the variable, elements of the output)."""
    units = (1, 1j) if output.dtype.is_complex else (1,)
    jacobians = []
    for each in variables:
        shape = (len(units), each.numel(), output.numel())
        jacobians.append(np.zeros(shape, each.dtype.numpy))
    for half, unit in enumerate(units):
        for column in range(output.numel()):
            weight = np.zeros(tuple(output.shape), output.dtype.numpy)
            weight.reshape(-1)[column] = unit
            weights = make_tensor(output.device.backend.from_host(weight), output.dtype, output.device)
            for jacobian, result in zip(jacobians, _gradients(output, variables, weights, check_dtypes), strict=True):
                jacobian[half, :, column] = result
    return iter(jacobians)


def _gradients(output: Tensor, variables: list[Tensor], weights: Tensor, check_dtypes: bool) -> Iterator[Any]:
    """The gradients of the variables as vectors, for these weights of the output's elements."""
    results = grad(output, variables, weights, retain_graph=True, allow_unused=True)
    for variable, result in zip(variables, results, strict=True):
        if result is None:
            yield np.zeros(variable.numel(), variable.dtype.numpy)
            continue
        if result.shape != variable.shape:
            raise GradcheckError("Analytical gradient has incorrect size")
        if check_dtypes and result.dtype is not variable.dtype:
            raise GradcheckError("Gradient has dtype mismatch")
        yield np.asarray(result.device.backend.to_host(result._elements)).reshape(-1)
