"""Are the gradients right? A comparison with finite differences.

For each output and each input, gradcheck builds the Jacobian twice: numerically, one column for each element of the
input that it moves by ±eps, and analytically, one row for each element of the output whose gradient alone it sends
backwards. A complex output counts as two real ones; the gradient for a complex input is ∂/∂x + i·∂/∂y.
Source: https://pytorch.org/docs/stable/notes/gradcheck.html
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minitorch.bits import resolved
from minitorch.tensor import Tensor, from_numpy, make_tensor

Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """The gradients are wrong; the message holds both Jacobians."""


def gradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func(*inputs)` are (f(x + eps) − f(x − eps)) / (2·eps), within atol + rtol·|numerical|.

    Checked are all outputs and all inputs that require grad; the inputs should be float64. The backward pass must also
    give the same twice (within `nondet_tol`), zero for zero, and cope with outputs whose gradient never arrives.
    `fast_mode` compares one number of each Jacobian instead of all its elements: see `gradcheck_fast`.
    On failure raises GradcheckError, a RuntimeError, or returns False if `raise_exception` is false. Raises ValueError
    when no input requires grad, RuntimeError for inputs whose elements overlap in memory.
    Source: https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html
    """
    _refuse(
        "gradcheck",
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad,
        check_backward_ad=not check_backward_ad,
        masked=masked,
    )
    given = _as_tuple(inputs)
    try:
        _check_inputs(given)
        outputs = _differentiable(func(*given))
        if not outputs:
            _check_constant(func, given, eps)
            return True
        variables = [each for each in given if isinstance(each, Tensor) and each.requires_grad]
        if fast_mode:
            from minitorch.autograd import gradcheck_fast

            gradcheck_fast.check(func, given, eps, atol, rtol, nondet_tol, check_grad_dtypes)
        else:
            _check_jacobians(func, given, variables, outputs, eps, atol, rtol, nondet_tol, check_grad_dtypes)
        _check_zero(outputs, variables)
        if check_undefined_grad:
            _check_missing(_differentiable(func(*given)), variables)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the second derivatives are right: a gradcheck of the gradients, as functions of inputs and grad_outputs.

    Without `grad_outputs`, these are random. Errors and the other arguments are gradcheck's.
    Source: https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradgradcheck.html
    """
    _refuse(
        "gradgradcheck",
        gen_non_contig_grad_outputs=gen_non_contig_grad_outputs,
        check_batched_grad=check_batched_grad,
        check_fwd_over_rev=check_fwd_over_rev,
        check_rev_over_rev=not check_rev_over_rev,
        masked=masked,
    )
    given = _as_tuple(inputs)
    if grad_outputs is None:
        weights = tuple(_random_like(each) for each in _differentiable(func(*given)))
    else:
        weights = _as_tuple(grad_outputs)

    def gradients(*arguments: Any) -> tuple[Tensor, ...]:
        from minitorch.autograd import grad

        positional, upstream = arguments[: len(given)], arguments[len(given) :]
        variables = [each for each in positional if isinstance(each, Tensor) and each.requires_grad]
        outputs = _differentiable(func(*positional))
        results = grad(outputs, variables, upstream, create_graph=True, allow_unused=True)
        return tuple(each for each in results if each is not None)

    return gradcheck(
        gradients,
        (*given, *weights),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        fast_mode=fast_mode,
    )


def _refuse(function: str, **arguments: Any) -> None:
    for name, value in arguments.items():
        if value:
            raise NotImplementedError(f"{function}: {name} is not supported")


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, Tensor) else tuple(value)


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple(each for each in _as_tuple(outputs) if isinstance(each, Tensor) and each.requires_grad)


def _random_like(tensor: Tensor) -> Tensor:
    drawn = np.random.default_rng(0).uniform(-1.0, 1.0, (2, *tensor.shape))
    values = drawn[0] + 1j * drawn[1] if tensor.dtype.is_complex else drawn[0]
    array = tensor.device.backend.from_host(np.asarray(values, tensor.dtype.numpy))
    return make_tensor(array, tensor.dtype, tensor.device).requires_grad_()


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    requiring = [(i, each) for i, each in enumerate(inputs) if isinstance(each, Tensor) and each.requires_grad]
    if not requiring:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for index, tensor in requiring:
        if tensor.dtype.to_real().itemsize < 8:
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
        if tensor.numel() and any(
            size > 1 and step == 0 for size, step in zip(tensor.shape, tensor.stride(), strict=True)
        ):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )


def _check_constant(func: Function, inputs: tuple[Any, ...], eps: float) -> None:
    for variable in inputs:
        if isinstance(variable, Tensor) and variable.requires_grad:
            for jacobian, _ in _numerical(func, inputs, variable, eps, lambda tensor: True):
                if jacobian.any():
                    raise GradcheckError("Numerical gradient for function expected to be zero")


def _check_jacobians(
    func: Function,
    inputs: tuple[Any, ...],
    variables: list[Tensor],
    outputs: tuple[Tensor, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    check_dtypes: bool,
) -> None:
    analytical = []
    for output in outputs:
        first = list(_analytical(output, variables, check_dtypes))
        for one, two in zip(first, _analytical(output, variables, check_dtypes), strict=True):
            _check_reentrant(one, two, nondet_tol)
        analytical.append(first)
    for j, variable in enumerate(variables):
        for i, (real, imaginary) in enumerate(_numerical(func, inputs, variable, eps, lambda each: each.requires_grad)):
            halves = [("real", real, analytical[i][j][0])]
            if imaginary is not None:
                halves.append(("imaginary", imaginary, analytical[i][j][1]))
            for part, numerical, exact in halves:
                if not np.allclose(exact, numerical, rtol, atol):
                    of_complex = "" if imaginary is None else part
                    raise GradcheckError(_mismatch(i, j, of_complex, from_numpy(numerical), from_numpy(exact)))


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

    def values() -> list[Any]:
        outputs = [each for each in _as_tuple(func(*inputs)) if isinstance(each, Tensor) and wanted(each)]
        return [np.array(each.device.backend.to_host(each._elements)).reshape(-1) for each in outputs]

    step = resolved(variable.device.xp, variable.device.xp.asarray(step), variable._bits) if variable._bits else step
    original = variable._array[index].copy()
    variable._array[index] = original + step
    ahead = values()
    variable._array[index] = original - step
    behind = values()
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
            weight = output.device.xp.zeros(tuple(output.shape), output.dtype.numpy)
            weight.reshape(-1)[column] = unit
            weights = make_tensor(weight, output.dtype, output.device)
            for jacobian, result in zip(jacobians, _gradients(output, variables, weights, check_dtypes), strict=True):
                jacobian[half, :, column] = result
    return iter(jacobians)


def _gradients(output: Tensor, variables: list[Tensor], weights: Tensor, check_dtypes: bool) -> Iterator[Any]:
    """The gradients of the variables as vectors, for these weights of the output's elements."""
    from minitorch.autograd import grad

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


def _check_zero(outputs: tuple[Tensor, ...], variables: list[Tensor]) -> None:
    if any(_gradients_of_zero(outputs, variables)):
        raise GradcheckError("backward not multiplied by grad_output")


def _check_missing(outputs: tuple[Tensor, ...], variables: list[Tensor]) -> None:
    """Leaves out one output after the other: the node that made it gets None for its gradient."""
    for left_out in range(len(outputs)) if len(outputs) > 1 else ():
        rest = outputs[:left_out] + outputs[left_out + 1 :]
        try:
            nonzero = any(_gradients_of_zero(rest, variables))
        except RuntimeError as error:
            raise GradcheckError("Expected backward function to handle undefined output grads.") from error
        if nonzero:
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
            )


def _gradients_of_zero(outputs: Sequence[Tensor], variables: list[Tensor]) -> Iterator[bool]:
    """For each variable, whether zero gradients of the outputs give it a gradient that isn't zero."""
    from minitorch.autograd import grad

    zeros = [make_tensor(each.device.xp.zeros_like(each._array), each.dtype, each.device) for each in outputs]
    for result in grad(outputs, variables, zeros, retain_graph=True, allow_unused=True):
        yield result is not None and bool(result._array.any())
