"""The gradients of normalizations, and these gradients' gradients.

With x̂ = (x − mean) · s, s = 1 / √(variance + eps), and P(u) = u − mean(u) − x̂ · mean(u · x̂), those of x̂ · weight + bias
are s · P(grad · weight) for x, Σ grad · x̂ for the weight, and Σ grad for the bias.
Source: Ioffe, Szegedy 2015, "Batch Normalization", https://arxiv.org/abs/1502.03167
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from minitorch.autograd.engine import sum_to_size
from minitorch.backend import Array
from minitorch.dtypes import FROM_NUMPY
from minitorch.layout import contiguous_format, laid_out, suggested_format
from minitorch.ops.declaration import declare
from minitorch.ops.reduction import add_up
from minitorch.tensor import Tensor

Shape = tuple[int, ...]
Three = tuple[Tensor, Tensor, Tensor]

BATCH, LAYER, GROUP = (f"Native{kind}NormBackward0" for kind in ("Batch", "Layer", "Group"))

_BLOCK = 2**17
"""Elements worked on at once: their intermediate results stay in the processor's cache."""


def blocks(xp: Any, shape: Shape, axes: Shape) -> Iterator[slice]:
    """Parts of the first dimension that are normalized independently; all of it where it is one of the axes."""
    size = math.prod(shape)
    if not size or 0 in axes or xp.__name__ != "numpy":
        return iter([slice(None)])
    step = max(_BLOCK * shape[0] // size, 1)
    return (slice(start, start + step) for start in range(0, shape[0], step))


def _mean(xp: Any, x: Array, axes: Shape) -> Array:
    total = add_up(xp, x, axes, True, FROM_NUMPY[x.dtype])
    return xp.true_divide(total, math.prod(x.shape[axis] for axis in axes), dtype=x.dtype)


def _mean_product(xp: Any, x: Array, y: Array, axes: Shape) -> Array:
    """The mean of x · y; over trailing dimensions as inner products of rows, which don't store it."""
    kept = x.ndim - len(axes)
    if min(axes, default=0) < kept or not (x.flags.c_contiguous and y.flags.c_contiguous):
        return _mean(xp, x * y, axes)
    count = math.prod(x.shape[kept:])
    total = x.reshape(-1, 1, count) @ y.reshape(-1, count, 1)
    return (total / x.dtype.type(count)).reshape(*x.shape[:kept], *(1,) * len(axes))


def standardized(
    xp: Any, x: Array, axes: Shape, eps: float, node: str, kept: Any = None, out: Array | None = None
) -> tuple[Array, Array]:
    """(x − mean) / √(variance + eps) and 1 / √(variance + eps).

    With a two-byte type `kept`, mean and root are rounded to it, as they are where PyTorch keeps them in this type; in
    batch norms of bfloat16 the sum that the variance is made of, too.
    """

    def rounded(statistic: Array) -> Array:
        return statistic.astype(kept).astype(x.dtype)

    mean = _mean(xp, x, axes)
    centred = xp.subtract(x, mean, out=out)
    variance = _mean_product(xp, centred, centred, axes)
    if node == BATCH and kept == "bfloat16":
        count = x.dtype.type(math.prod(x.shape[axis] for axis in axes))
        variance = rounded(variance * count) / count
    scale = 1 / xp.sqrt(variance + x.dtype.type(eps))
    if kept is not None:
        centred += mean - rounded(mean)
        scale = rounded(scale)
    centred *= scale
    return centred, scale


def laid_out_like(xp: Any, result: Array, self: Array, node: str) -> Array:
    """With the channels last if `self` has them last, but from layer norms, for which no dimension is of channels."""
    return laid_out(xp, result, contiguous_format if node == LAYER else suggested_format(self))


def _given(grads: Sequence[Tensor | None], like: Tensor, shape: Shape, weight_shape: Shape) -> list[Tensor]:
    """The gradients of a gradient's three parts in the shapes that are computed in, zeros for those that lack."""
    zero = like.new_zeros(())
    shapes = (shape, weight_shape, weight_shape)
    pairs = zip(grads, shapes, strict=True)
    return [zero.expand(size) if each is None else each.reshape(size) for each, size in pairs]


def _as_weight(grad: Tensor, weight: Tensor | None, weight_shape: Shape) -> Tensor | None:
    return None if weight is None else sum_to_size(grad, weight_shape).reshape(weight.shape)


def _second(
    grads: Sequence[Tensor | None],
    grad_output: Tensor,
    self: Tensor,
    weight: Tensor | None,
    shape: Shape,
    axes: Shape,
    weight_shape: Shape,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The gradients of grad_output, self and weight, by the chain rule through x̂, s and P."""
    of_self, of_weight, of_bias = _given(grads, self, shape, weight_shape)
    x, grad = self.reshape(shape), grad_output.reshape(shape)
    centred = x - x.mean(axes, keepdim=True)
    scale = ((centred * centred).mean(axes, keepdim=True) + eps).rsqrt()
    normal = centred * scale

    def along(u: Tensor) -> Tensor:
        return (u * normal).mean(axes, keepdim=True)

    def projected(u: Tensor) -> Tensor:
        return u - u.mean(axes, keepdim=True) - normal * along(u)

    factor = 1 if weight is None else weight.reshape(weight_shape)
    weighted, slope = grad * factor, projected(of_self) * scale
    through_normal = of_weight * grad - scale * (of_self * along(weighted) + weighted * along(of_self))
    of_x = scale * (projected(through_normal) - normal * (weighted * slope).mean(axes, keepdim=True))
    of_grad = factor * slope + of_weight * normal + of_bias
    return of_grad.reshape(self.shape), of_x.reshape(self.shape), _as_weight(grad * slope, weight, weight_shape)


@declare(
    upcast=True,
    promotion="keep",
    variants="",
    node=lambda grad_output, self, weight, bias, shape, axes, weight_shape, eps, node, kept: node.replace(
        "Backward", "BackwardBackward"
    ),
    derivatives={
        "grad_output, self, weight": lambda grads, grad_output, self, weight, shape, axes, weight_shape, eps: _second(
            grads, grad_output, self, weight, shape, axes, weight_shape, eps
        ),
        "bias": lambda: None,
    },
)
def normalize_over_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    weight: Array | None,
    bias: Array | None,
    shape: Shape,
    axes: Shape,
    weight_shape: Shape,
    eps: float,
    node: str,
    kept: Any,
) -> tuple[Array, Array, Array]:
    """The gradients of input, weight and bias; it reads the input again rather than keep the normalized one."""
    x, grad, result = self.reshape(shape), grad_output.reshape(shape), xp.empty(shape, grad_output.dtype)
    shared = tuple(d for d, size in enumerate(weight_shape) if size == 1 and shape[d] != 1)
    kind = FROM_NUMPY[grad.dtype]
    of_weight: Any = 0
    of_bias: Any = 0
    for block in blocks(xp, shape, axes):
        normal, scale = standardized(xp, x[block], axes, eps, node, kept)
        part, into = grad[block], result[block]
        of_weight = of_weight + add_up(xp, xp.multiply(part, normal, out=into), shared, False, kind)
        of_bias = of_bias + add_up(xp, part, shared, False, kind)
        if weight is not None:
            part = xp.multiply(part, weight.reshape(weight_shape), out=into)
        slope = _mean_product(xp, part, normal, axes)
        normal *= slope
        normal += _mean(xp, part, axes)
        xp.subtract(part, normal, out=into)
        into *= scale
    of_weight = of_weight.reshape(-1 if weight is None else weight.shape)
    of_bias = of_bias.reshape(-1 if bias is None else bias.shape)
    return laid_out_like(xp, result.reshape(self.shape), self, node), of_weight, of_bias


def _second_with(
    grads: Sequence[Tensor | None],
    grad_output: Tensor,
    self: Tensor,
    weight: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    weight_shape: Shape,
    eps: float,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The gradients of grad_output, self and weight, where mean and variance are given numbers."""
    of_self, of_weight, of_bias = _given(grads, self, tuple(self.shape), weight_shape)
    scale = (running_var + eps).rsqrt().reshape(weight_shape)
    slope = of_self * scale
    normal = (self - running_mean.reshape(weight_shape)) * scale
    of_grad = slope * (1 if weight is None else weight.reshape(weight_shape)) + of_weight * normal + of_bias
    of_input = None if grads[1] is None else of_weight * grad_output * scale
    return of_grad, of_input, _as_weight(grad_output * slope, weight, weight_shape)


@declare(
    format_from=("self",),
    upcast=True,
    promotion="keep",
    variants="",
    node="NativeBatchNormBackwardBackward0",
    derivatives={
        "grad_output, self, weight": (
            lambda grads, grad_output, self, weight, running_mean, running_var, weight_shape, eps: _second_with(
                grads, grad_output, self, weight, running_mean, running_var, weight_shape, eps
            )
        ),
    },
)
def standardize_with_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    weight: Array | None,
    running_mean: Array,
    running_var: Array,
    weight_shape: Shape,
    eps: float,
) -> tuple[Array, Array, Array]:
    """The gradients of input, weight and bias, where mean and variance are given numbers."""
    over, kind = (0, *range(2, self.ndim)), FROM_NUMPY[grad_output.dtype]
    scale = (1 / xp.sqrt(running_var + running_var.dtype.type(eps))).reshape(weight_shape)
    normal = self - running_mean.reshape(weight_shape)
    normal *= scale
    normal *= grad_output
    of_weight, of_bias = (add_up(xp, each, over, False, kind) for each in (normal, grad_output))
    return grad_output * (scale if weight is None else scale * weight.reshape(weight_shape)), of_weight, of_bias
