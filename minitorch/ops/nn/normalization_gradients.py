"""The gradients of normalizations, and these gradients' gradients.

With x̂ = (x − mean) · s, s = 1 / √(variance + eps), and P(u) = u − mean(u) − x̂ · mean(u · x̂), those of x̂ · weight + bias
are s · P(grad · weight) for x, Σ grad · x̂ for the weight, and Σ grad for the bias.
Source: Ioffe, Szegedy 2015, "Batch Normalization", https://arxiv.org/abs/1502.03167
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minitorch.arrays import Array, Shape
from minitorch.autograd.engine import sum_to_size
from minitorch.dispatch.declaration import private
from minitorch.dispatch.derived import derived
from minitorch.dtypes import FROM_NUMPY
from minitorch.kernels.normalization import gradients
from minitorch.kernels.summation import add_up
from minitorch.layout import contiguous_format, laid_out, suggested_format
from minitorch.tensor import Tensor

Three = tuple[Tensor, Tensor, Tensor]

BATCH, LAYER, GROUP = (f"Native{kind}NormBackward0" for kind in ("Batch", "Layer", "Group"))


class Over(NamedTuple):
    """What is normalized: the `shape` that the input is seen in, over which `axes`, with weights of which shape; the
    eps that is added to the variance, and the name of the node, which tells the kind."""

    shape: Shape
    axes: Shape
    weight_shape: Shape
    eps: float
    node: str


def laid_out_like(xp: Any, result: Array, self: Array, node: str) -> Array:
    """With the channels last if `self` has them last, but from layer norms, for which no dimension is of channels."""
    return laid_out(xp, result, contiguous_format if node == LAYER else suggested_format(self))


def _summed(product: Tensor, weight: Tensor | None, weight_shape: Shape) -> Tensor:
    total = sum_to_size(product, weight_shape)
    return total.flatten() if weight is None else total.reshape(weight.shape)


def _gradients(grad_output: Tensor, self: Tensor, weight: Tensor | None, over: Over) -> Three:
    """`normalize_over_backward` in tensors."""
    shape, axes, weight_shape, eps, _ = over
    x, grad = self.reshape(shape), grad_output.reshape(shape)
    centred = x - x.mean(axes, keepdim=True)
    scale = ((centred * centred).mean(axes, keepdim=True) + eps).rsqrt()
    normal = centred * scale
    weighted = grad if weight is None else grad * weight.reshape(weight_shape)
    along = (weighted * normal).mean(axes, keepdim=True)
    of_self = scale * (weighted - weighted.mean(axes, keepdim=True) - normal * along)
    of_weight, of_bias = (_summed(each, weight, weight_shape) for each in (grad * normal, grad))
    return of_self.reshape(self.shape), of_weight, of_bias


@private(
    node=lambda grad_output, self, weight, bias, over: over.node.replace("Backward", "BackwardBackward"),
    derivatives={**derived("grad_output, self, weight", _gradients), "bias": lambda: None},
)
def normalize_over_backward(
    xp: Any, grad_output: Array, self: Array, weight: Array | None, bias: Array | None, over: Over
) -> tuple[Array, Array, Array]:
    """The gradients of input, weight and bias; it reads the input again rather than keep the normalized one."""
    shape, axes, weight_shape, eps, node = over
    x, grad = self.reshape(shape), grad_output.reshape(shape)
    factor = None if weight is None else weight.reshape(weight_shape)
    shared = tuple(d for d, size in enumerate(weight_shape) if size == 1 and shape[d] != 1)
    result, of_weight, of_bias = gradients(xp, grad, x, factor, axes, shared, eps)
    of_weight = of_weight.reshape(-1 if weight is None else weight.shape)
    of_bias = of_bias.reshape(-1 if bias is None else bias.shape)
    return laid_out_like(xp, result.reshape(self.shape), self, node), of_weight, of_bias


def _gradients_with(
    grad_output: Tensor,
    self: Tensor,
    weight: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    weight_shape: Shape,
    eps: float,
) -> Three:
    """`standardize_with_backward` in tensors."""
    scale = (running_var + eps).rsqrt().reshape(weight_shape)
    normal = (self - running_mean.reshape(weight_shape)) * scale
    of_self = grad_output * (scale if weight is None else scale * weight.reshape(weight_shape))
    of_weight, of_bias = (_summed(each, weight, weight_shape) for each in (grad_output * normal, grad_output))
    return of_self, of_weight, of_bias


@private(
    format_from=("self",),
    node="NativeBatchNormBackwardBackward0",
    derivatives=derived("grad_output, self, weight", _gradients_with),
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
