"""Are the gradients right? A comparison with finite differences.

For each output and each input, gradcheck builds the Jacobian twice: numerically, one column for each element of the
input that it moves by ±eps, and analytically, one row for each element of the output whose gradient alone it sends
backwards. A complex output counts as two real ones; the gradient for a complex input is ∂/∂x + i·∂/∂y.
The two Jacobians are built in `jacobians`.
Source: https://pytorch.org/docs/stable/notes/gradcheck.html
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minitorch.autograd import gradcheck_fast
from minitorch.autograd.jacobians import (
    Function,
    GradcheckError,
    Tolerances,
    _analytical,
    _as_tuple,
    _check_reentrant,
    _differentiable,
    _mismatch,
    _numerical,
)
from minitorch.autograd.passes import grad
from minitorch.interop import from_numpy
from minitorch.tensor import Tensor, make_tensor


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
        tolerances = Tolerances(eps, atol, rtol, nondet_tol, check_grad_dtypes)
        if fast_mode:
            gradcheck_fast.check(func, given, tolerances)
        else:
            _check_jacobians(func, given, variables, outputs, tolerances)
        if any(_gradients_of_zero(outputs, variables)):
            raise GradcheckError("backward not multiplied by grad_output")
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
    tolerances: Tolerances,
) -> None:
    eps, atol, rtol, nondet_tol, check_dtypes = tolerances
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
    zeros = [make_tensor(each.device.xp.zeros_like(each._array), each.dtype, each.device) for each in outputs]
    for result in grad(outputs, variables, zeros, retain_graph=True, allow_unused=True):
        yield result is not None and bool(result.any())
