"""Softmax and what is made with it.

Each has its derivative as a second op. The kernels go through the rows in blocks that stay in the processor's cache.
Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html
"""

from __future__ import annotations

import warnings
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite, private
from minitorch.dispatch.errors import floating
from minitorch.kernels import softmax as kernels
from minitorch.size import check_dim
from minitorch.tensor import Tensor


def _check(array: Array, dim: int, name: str) -> None:
    """Raises IndexError for a dimension that doesn't exist, NotImplementedError for elements that aren't floats."""
    last = check_dim(dim, array.ndim) == max(array.ndim, 1) - 1
    if array.size or array.dtype.kind == "c":
        floating(array, f"{name}_lastdim_kernel_impl" if last else f"{name}_kernel_impl")


@private(
    saves_all=True,
    derivatives={
        "grad_output": lambda grad, output, dim: softmax_backward(grad, output, dim),
        "output": lambda grad, grad_output, output, dim: (
            grad * (grad_output - (grad_output * output).sum(dim, keepdim=True))
            - grad_output * (grad * output).sum(dim, keepdim=True)
        ),
    },
)
def softmax_backward(xp: Any, grad_output: Array, output: Array, dim: int) -> Array:
    """y (grad − Σ grad · y)."""
    return kernels.by_rows(xp, dim, kernels.softmax_gradient, grad_output, output)


@private(
    saves_all=True,
    derivatives={
        "grad_output": lambda grad, output, dim: grad - (grad * output.exp()).sum(dim, keepdim=True),
        "output": lambda grad, grad_output, output, dim: -grad * output.exp() * grad_output.sum(dim, keepdim=True),
    },
)
def log_softmax_backward(xp: Any, grad_output: Array, output: Array, dim: int) -> Array:
    """grad − exp(y) Σ grad."""
    return kernels.by_rows(xp, dim, kernels.log_softmax_gradient, grad_output, output)


@private(derivatives={"self": lambda grad, result, dim: softmax_backward(grad, result, dim)})
def _softmax(xp: Any, self: Array, dim: int) -> Array:
    """exp(x) / Σ exp(x)."""
    _check(self, dim, "softmax")
    return kernels.by_rows(xp, dim, kernels.softmax, self)


@private(derivatives={"self": lambda grad, result, dim: log_softmax_backward(grad, result, dim)})
def _log_softmax(xp: Any, self: Array, dim: int) -> Array:
    """x − ln Σ exp(x)."""
    _check(self, dim, "log_softmax")
    return kernels.by_rows(xp, dim, kernels.log_softmax, self)


@composite(variants="function method out", autocast_on_gpu="float32 results")
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """exp(xᵢ) / Σ exp(xⱼ) along `dim`, in the shape of `input`.

    `dtype` is what the input is cast to first.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html
    """
    return _softmax(input if dtype is None else input.to(dtype), dim)


@composite(variants="function method out", autocast_on_gpu="float32 results")
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """xᵢ − ln Σ exp(xⱼ) along `dim`, in the shape of `input`, which is cast to `dtype` first.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.log_softmax.html
    """
    return _log_softmax(input if dtype is None else input.to(dtype), dim)


def _implicit_dim(name: str, input: Tensor, stacklevel: int) -> int:
    """The dimension that old programs mean when they name none."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def _functional(name: str, op: Any, function: Any, sign: int = 1) -> Any:
    """`softmax`, `log_softmax` and `softmin` in `nn.functional`, which guess the dimension if none is named."""

    def implicit(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
        if dim is None:
            dim = _implicit_dim(name, input, _stacklevel)
        if not hasattr(dim, "__index__"):
            kind = type(dim).__name__
            raise TypeError(f"{function.__name__}(): argument 'dim' (position 1) must be int, not {kind}")
        input = input if sign == 1 else -input
        return op(input if dtype is None else input.to(dtype), dim)

    implicit.__name__, implicit.__doc__ = name, function.__doc__
    return composite(variants="function", namespace="nn.functional", autocast_on_gpu="float32 results")(implicit)


functional_softmax = _functional("softmax", _softmax, softmax)
functional_log_softmax = _functional("log_softmax", _log_softmax, log_softmax)
softmin = _functional("softmin", _softmax, softmax, sign=-1)


@composite(variants="function", namespace="nn.functional")
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """softmax((logits + g)/tau) along `dim` with Gumbel noise g, in the shape of `logits`.

    With `hard`, the largest element as one-hot, with the gradient of the soft one.
    Jang et al. 2017, https://arxiv.org/abs/1611.01144
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -logits.new_empty(logits.shape).exponential_().log()
    soft: Tensor = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    largest = soft.max(dim, keepdim=True)[1]
    one_hot: Tensor = soft.new_zeros(soft.shape).scatter_(dim, largest, 1.0)
    return one_hot - soft.detach() + soft
