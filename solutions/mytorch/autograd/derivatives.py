"""The derivatives of the operations of chapters 02 to 05. The engine sums gradients of inputs that were broadcast."""

# 06 · The computation graph
from __future__ import annotations

from typing import Any

import numpy as np

from .. import views
from ..creation import zeros_like
from ..devices import bring
from ..dispatch import operation
from ..gathering import gather, scatter, scatter_add
from ..indexing import index, index_put, unindex
from ..joining import flip, split, tril, triu
from ..reduction import cumsum
from ..strides import Ints, normalize_dims, strided
from ..tensor import Tensor
from .recording import derivative

# Arithmetic
derivative("add", x=lambda g: g, y=lambda g: g)
derivative("sub", x=lambda g: g, y=lambda g: -g)
derivative("mul", x=lambda g, y: g * y, y=lambda g, x: g * x)
derivative("div", x=lambda g, y: g / y, y=lambda g, x, y: -g * x / (y * y))
derivative("neg", x=lambda g: -g)
derivative(
    "pow",
    x=lambda g, x, exponent: g * exponent * x ** (exponent - 1),
    exponent=lambda g, x, result: g * result * (x.log() if isinstance(x, Tensor) else np.log(x)),
)
derivative("remainder", x=lambda g: g, y=lambda g, x, y: -g * (x / y).floor())
derivative("reciprocal", x=lambda g, result: -g * result * result)

# Functions of one number
derivative("exp", x=lambda g, result: g * result)
derivative("log", x=lambda g, x: g / x)
derivative("log1p", x=lambda g, x: g / (x + 1))
derivative("sqrt", x=lambda g, result: g / (result * 2))
derivative("rsqrt", x=lambda g, result: g * -0.5 * result * result * result)
derivative("sin", x=lambda g, x: g * x.cos())
derivative("cos", x=lambda g, x: -g * x.sin())
derivative("tanh", x=lambda g, result: g * (1 - result * result))
derivative("sigmoid", x=lambda g, result: g * result * (1 - result))
derivative("abs", x=lambda g, x: g * x.sign())
for _step in ("sign", "floor", "ceil", "round"):
    derivative(_step, x=lambda g: zeros_like(g))

# Choices. Of two equal numbers each gets half.
derivative("maximum", x=lambda g, x, y: g * first_wins(x, y), y=lambda g, x, y: g * first_wins(y, x))
derivative("minimum", x=lambda g, x, y: g * first_wins(y, x), y=lambda g, x, y: g * first_wins(x, y))
derivative("clamp", x=lambda g, x, min, max: g * inside(x, min, max))
derivative("where", x=lambda g, condition: g * condition, y=lambda g, condition: g * ~condition)
derivative("masked_fill", x=lambda g, mask: g.masked_fill(mask, 0.0), value=lambda g, mask: g.masked_fill(~mask, 0.0))


def first_wins(x: Tensor, y: Tensor) -> Tensor:
    """1 where x is larger, 0 where y is, 0.5 where they are equal."""
    return (x > y).to(x.dtype) + (x == y).to(x.dtype) * 0.5


def inside(x: Tensor, low: float | None, high: float | None) -> Tensor:
    """1 from `low` to `high`, bounds included, and 0 beyond."""
    result = x == x
    if low is not None:
        result = result & (x >= low)
    return result.to(x.dtype) if high is None else (result & (x <= high)).to(x.dtype)


# Reductions
derivative("cumsum", x=lambda g, dim: flip(cumsum(flip(g, (dim,)), dim), (dim,)))


def spread(g: Tensor, x_shape: Ints, dim: Any, keepdim: bool) -> Tensor:
    """The gradient of a sum: each element that went into it gets the whole."""
    if not keepdim and dim is not None:
        for each in sorted(normalize_dims(dim, len(x_shape))):
            g = g.unsqueeze(each)
    return g.expand(x_shape)


def share(g: Tensor, x: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The gradient of an extreme value: shared out equally among the elements that are equal to it."""
    chosen = (x == spread(result, x.shape, dim, keepdim)).to(x.dtype)
    return spread(g, x.shape, dim, keepdim) * chosen / chosen.sum(dim, keepdim=True)


def product_rule(g: Tensor, x: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The gradient of a product of numbers other than 0: the product without each of them."""
    return spread(g * result, x.shape, dim, keepdim) / x


derivative("sum", x=spread)
derivative("amax", x=share)
derivative("amin", x=share)
derivative("prod", x=product_rule)
derivative("matmul", x=lambda g, x, y: matmul_grad_x(g, x, y), y=lambda g, x, y: matmul_grad_y(g, x, y))


def matmul_grad_x(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The gradient of `x @ y` with respect to x, from the product's gradient g. Of two matrices: g @ yᵀ."""
    if x.ndim == 1 and y.ndim == 1:
        return g * y
    if y.ndim == 1:
        return g.unsqueeze(-1) * y
    if x.ndim == 1:
        return (y @ g.unsqueeze(-1)).squeeze(-1)
    return g @ y.mT


def matmul_grad_y(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The gradient of `x @ y` with respect to y: xᵀ @ g of two matrices. Else as in `matmul_grad_x`."""
    if x.ndim == 1 and y.ndim == 1:
        return g * x
    if x.ndim == 1:
        return x.unsqueeze(-1) * g.unsqueeze(-2)
    if y.ndim == 1:
        return (x.mT @ g.unsqueeze(-1)).squeeze(-1)
    return x.mT @ g


# Copies
derivative("clone", x=lambda g: g)
derivative("_to_copy", x=lambda g: g)  # the engine converts it back
derivative("to_device", x=lambda g, x_device: g.to(x_device))

# Views: the gradient goes where the element came from
derivative("view", x=lambda g, x_shape: g.reshape(x_shape))
derivative("squeeze", x=lambda g, x_shape: g.reshape(x_shape))
derivative("unsqueeze", x=lambda g, x_shape: g.reshape(x_shape))
derivative("transpose", x=lambda g, dim0, dim1: g.transpose(dim0, dim1))
derivative("permute", x=lambda g, dims: g.permute(inverse(dims)))
derivative("expand", x=lambda g: g)  # the engine sums it
derivative("slice", x=lambda g, x_shape, dim, start, end, step: slice_backward(g, x_shape, dim, start, end, step))
derivative("slice_backward", g=lambda g, dim, start, end, step: views.slice(g, dim, start, end, step))
derivative(
    "as_strided",
    x=lambda g, x_shape, size, stride, storage_offset: as_strided_backward(g, x_shape, size, stride, storage_offset),
)
derivative("as_strided_backward", g=lambda g, size, stride, offset: g.contiguous().as_strided(size, stride, offset))


def inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The order that undoes a permutation."""
    positive = [dim % len(dims) for dim in dims]
    return tuple(positive.index(place) for place in range(len(dims)))


@operation
def slice_backward(g: Any, size: tuple[int, ...], dim: int, start: int, end: int, step: int) -> Any:
    """Zeros of shape `size` with `g` at the places of a slice."""
    result = np.zeros_like(g, shape=size)
    result[(slice(None),) * (dim % len(size)) + (slice(start, end, step),)] = g
    return result


def select_backward(g: Tensor, x_shape: Ints, dim: int, index: int) -> Tensor:
    """Zeros of shape `x_shape` with `g` at one place along a dimension."""
    dim, index = dim % len(x_shape), index % x_shape[dim]
    return slice_backward(g.unsqueeze(dim), x_shape, dim, index, index + 1, 1)


derivative("select", x=select_backward)


@operation
def as_strided_backward(g: Any, shape: Ints, size: Ints, stride: Ints, offset: int | None) -> Any:
    """Zeros of a contiguous tensor's shape, with `g` added at the places that a strided view of its storage reads."""
    result = np.zeros_like(g, shape=(int(np.prod(shape)),))
    visited = strided(np.arange(result.shape[0]), size, stride, offset or 0)
    np.add.at(result, np.asarray(visited), g)
    return result.reshape(shape)


# Places. `zeros_like(g.sum())` is a zero of the type of g, on its device
derivative("index", x=lambda g, x_shape, indices: unindex(g, x_shape, bring(indices, g.device)))
derivative("unindex", grad=lambda g, indices: index(g, indices))
derivative(
    "index_put",
    x=lambda g, indices: index_put(g, indices, zeros_like(g.sum())),
    values=lambda g, indices: index(g, indices),
)
derivative("gather", x=lambda g, x_shape, dim, index: scatter_add(zeros_like(g.sum()).expand(x_shape), dim, index, g))
derivative("scatter_add", x=lambda g: g, src=lambda g, src_shape, dim, index: gathered(g, dim, index, src_shape))
derivative(
    "scatter",
    x=lambda g, dim, index: scatter(g, dim, index, 0.0),
    src=lambda g, src_shape, dim, index: gathered(g, dim, index, src_shape),
)


def gathered(g: Tensor, dim: int, index: Tensor, size: tuple[int, ...]) -> Tensor:
    """The gradient of what was scattered: what is at the places it went to, and 0 for what lay beyond the index."""
    grad = gather(g, dim, index)
    for each, length in enumerate(size):
        if grad.shape[each] != length:
            whole = (*grad.shape[:each], length, *grad.shape[each + 1 :])
            grad = slice_backward(grad, whole, each, 0, grad.shape[each], 1)
    return grad


# Joining
derivative("cat", tensors=lambda g, tensors_shape, dim: list(split(g, [shape[dim] for shape in tensors_shape], dim)))
derivative("flip", x=lambda g, dims: flip(g, dims))
derivative("tril", x=lambda g, diagonal: tril(g, diagonal))
derivative("triu", x=lambda g, diagonal: triu(g, diagonal))
