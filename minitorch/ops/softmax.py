"""Softmax and what is made with it.

The kernels go through the rows in blocks that stay in the processor's cache; each has its derivative as a second op.
Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from minitorch.backend import Array
from minitorch.ops.declaration import composite, declare
from minitorch.ops.errors import check_dim, floating
from minitorch.tensor import Tensor

BLOCK = 2**16
"""How many elements are worked on at once: 256 KiB of float32."""


def _blocks(xp: Any, first: Array, *others: Array) -> Iterator[tuple[Array, ...]]:
    """The same rows of several arrays, a block at a time; on a GPU all at once."""
    rows = len(first)
    step = max(BLOCK // max(first.shape[-1], 1), 1) if xp.__name__ == "numpy" else max(rows, 1)
    for start in range(0, rows, step):
        yield tuple(each[start : start + step] for each in (first, *others))


def _rows(array: Array, dim: int) -> Array:
    """The array with `dim` last and all others flattened into one."""
    if dim != array.ndim - 1:
        array = array.swapaxes(dim, -1)
    return array.reshape(-1, array.shape[-1])


def _by_rows(xp: Any, dim: int, compute: Any, *arrays: Array, name: str = "softmax") -> Array:
    """Has `compute(xp, out, *arrays)` write its result for each block of rows along `dim`."""
    first = arrays[0]
    dim = check_dim(dim, first.ndim)
    if not first.ndim:
        return _by_rows(xp, 0, compute, *(each.reshape(1) for each in arrays), name=name).reshape(())
    if first.size or first.dtype.kind == "c":
        floating(first, f"{name}_lastdim_kernel_impl" if dim == first.ndim - 1 else "softmax_kernel_impl")
    if dim == first.ndim - 1 or first.size == 0:
        out = xp.empty(first.shape, first.dtype)
        if first.size:
            for block in _blocks(xp, _rows(out, dim), *(_rows(each, dim) for each in arrays)):
                compute(xp, -1, *block)
        return out
    out = xp.empty(first.shape, first.dtype)
    compute(xp, dim, out, *arrays)
    return out


def _softmax_block(xp: Any, axis: int, out: Array, x: Array) -> None:
    xp.subtract(x, x.max(axis=axis, keepdims=True), out=out)
    xp.exp(out, out=out)
    out *= 1 / out.sum(axis=axis, keepdims=True)


def _log_softmax_block(xp: Any, axis: int, out: Array, x: Array) -> None:
    xp.subtract(x, x.max(axis=axis, keepdims=True), out=out)
    out -= xp.log(xp.exp(out).sum(axis=axis, keepdims=True))


def _log_softmax_block_of(kind: Any) -> Any:
    """For a two-byte type, to which PyTorch rounds the sums of its rows and their logarithms."""

    def compute(xp: Any, axis: int, out: Array, x: Array) -> None:
        xp.subtract(x, x.max(axis=axis, keepdims=True), out=out)
        sums = xp.exp(out).sum(axis=axis, keepdims=True).astype(kind).astype("float32")
        out -= xp.log(sums).astype(kind)

    return compute


def _softmax_backward_block(xp: Any, axis: int, out: Array, grad: Array, y: Array) -> None:
    xp.multiply(grad, y, out=out)
    xp.subtract(grad, out.sum(axis=axis, keepdims=True), out=out)
    out *= y


def _log_softmax_backward_block(xp: Any, axis: int, out: Array, grad: Array, y: Array) -> None:
    xp.exp(y, out=out)
    out *= grad.sum(axis=axis, keepdims=True)
    xp.subtract(grad, out, out=out)


@declare(
    promotion="keep",
    upcast=True,
    variants="",
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
    return _by_rows(xp, dim, _softmax_backward_block, grad_output, output)


@declare(
    promotion="keep",
    upcast=True,
    variants="",
    derivatives={
        "grad_output": lambda grad, output, dim: grad - (grad * output.exp()).sum(dim, keepdim=True),
        "output": lambda grad, grad_output, output, dim: -grad * output.exp() * grad_output.sum(dim, keepdim=True),
    },
)
def log_softmax_backward(xp: Any, grad_output: Array, output: Array, dim: int) -> Array:
    """grad − exp(y) Σ grad."""
    return _by_rows(xp, dim, _log_softmax_backward_block, grad_output, output)


@declare(
    promotion="keep",
    upcast=True,
    variants="",
    node="SoftmaxBackward0",
    derivatives={"self": lambda grad, result, dim: softmax_backward(grad, result, dim)},
)
def _softmax(xp: Any, self: Array, dim: int) -> Array:
    return _by_rows(xp, dim, _softmax_block, self)


@declare(
    promotion="keep",
    variants="",
    node="LogSoftmaxBackward0",
    derivatives={"self": lambda grad, result, dim: log_softmax_backward(grad, result, dim)},
)
def _log_softmax(xp: Any, self: Array, dim: int) -> Array:
    kind = self.dtype
    if kind not in ("float16", "bfloat16"):
        return _by_rows(xp, dim, _log_softmax_block, self, name="log_softmax")
    compute = _log_softmax_block_of(kind) if dim in (-1, self.ndim - 1) else _log_softmax_block
    return _by_rows(xp, dim, compute, self.astype("float32"), name="log_softmax").astype(kind)


@composite(variants="function method out")
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """exp(xᵢ) / Σ exp(xⱼ) along `dim`. https://pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html"""
    return _softmax(input if dtype is None else input.to(dtype), dim)


@composite(variants="function method out")
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """xᵢ − ln Σ exp(xⱼ) along `dim`.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.log_softmax.html
    """
    return _log_softmax(input if dtype is None else input.to(dtype), dim)


def _implicit_dim(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    """The dimension that old programs mean when they name none."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def _functional(name: str, function: Any, sign: int = 1) -> None:
    def implicit(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
        chosen = _implicit_dim(name, input, dim, _stacklevel)
        if not hasattr(chosen, "__index__"):
            kind = type(chosen).__name__
            raise TypeError(f"{function.__name__}(): argument 'dim' (position 1) must be int, not {kind}")
        result: Tensor = function(input if sign == 1 else -input, chosen, dtype)
        return result

    implicit.__name__, implicit.__doc__ = name, function.__doc__
    composite(variants="function", namespace="nn.functional")(implicit)


_functional("softmax", softmax)
_functional("log_softmax", log_softmax)
_functional("softmin", softmax, sign=-1)


@composite(variants="function", namespace="nn.functional")
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """softmax((logits + g)/tau) with Gumbel noise g; with `hard` its largest as one-hot, with the soft gradient.

    `eps` has no effect. Jang et al. 2017, https://arxiv.org/abs/1611.01144
    https://pytorch.org/docs/stable/generated/torch.nn.functional.gumbel_softmax.html
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
