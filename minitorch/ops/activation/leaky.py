"""ReLUs that leak: below 0 they have a slope, which is fixed, learned or random.

Source: https://pytorch.org/docs/stable/nn.functional.html#non-linear-activation-functions
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.apply import in_place_of
from minitorch.dispatch.declaration import NAMESPACES, OPS, composite, declare, flat, pointwise
from minitorch.dispatch.derived import derived
from minitorch.dispatch.errors import floating, not_implemented
from minitorch.dispatch.iteration import like_first
from minitorch.dtypes import FLOATING, FROM_NUMPY, type_name
from minitorch.kernels import sampling
from minitorch.ops.activation.common import activation
from minitorch.ops.random.in_place import draw
from minitorch.random import Generator
from minitorch.scalars import to_scalar
from minitorch.tensor import Tensor


@pointwise(
    saves_all=True,
    variants="",
    derivatives={
        "grad_output": lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope),
        "self": flat,
    },
)
def leaky_relu_backward(xp: Any, grad_output: Array, self: Array, negative_slope: float) -> Array:
    """grad_output where self > 0, else negative_slope · grad_output."""
    return xp.where(self > 0, grad_output, grad_output * negative_slope)


def _gradient_of_result(grad: Tensor, result: Tensor, negative_slope: float) -> Tensor:
    if negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This "
            "is caused by calling in-place forward function with a negative slope, please call out-of-place version "
            "instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place "
            "leakRelu backward calculation with negative slope"
        )
    return leaky_relu_backward(grad, result, negative_slope)


@activation(
    twin="LeakyReluBackward1",
    in_place_derivatives={"self": _gradient_of_result},
    derivatives={"self": lambda grad, self, negative_slope: leaky_relu_backward(grad, self, negative_slope)},
)
def leaky_relu(xp: Any, self: Array, negative_slope: float = 0.01) -> Array:
    """x for x > 0, else negative_slope · x. https://pytorch.org/docs/stable/generated/torch.nn.functional.leaky_relu.html"""
    floating(self, "leaky_relu_cpu")
    negative_slope = to_scalar(negative_slope, FROM_NUMPY[self.dtype])
    if 0 < negative_slope <= 1:
        return xp.maximum(self, self * negative_slope)
    return xp.where(self > 0, self, self * negative_slope)


def _prelu_weight(input: Tensor, weight: Tensor) -> Tensor:
    """The slopes in a shape that broadcasts along the channels of the input."""
    channels = input.size(1) if input.dim() > 1 else 1
    if weight.numel() != 1 and not input.dim():
        raise RuntimeError("Not allow zero-dim input tensor.")
    if weight.numel() not in (1, channels):
        raise RuntimeError(
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{weight.numel()} and channel size = {channels}."
        )
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.dim() == input.dim():
        return weight
    return weight.reshape([1, -1] + [1] * (input.dim() - 2)) if input.dim() > 1 else weight.reshape([1] * input.dim())


def _prelu_gradients(grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    positive = self >= 0  # here, as in PyTorch, 0 is among them
    return grad_output.where(positive, grad_output * weight), (grad_output * self).masked_fill(positive, 0)


@pointwise(
    saves_all=True,
    format_from=("self",),
    variants="",
    derivatives=derived("grad_output, self, weight", _prelu_gradients, zeros=True),
)
def prelu_kernel_backward(xp: Any, grad_output: Array, self: Array, weight: Array) -> tuple[Array, Array]:
    """grad_output, or below 0 weight · grad_output, for the input; for the weight, below 0 self · grad_output."""
    positive, zero = self > 0, self.dtype.type(0)
    return xp.where(positive, grad_output, grad_output * weight), xp.where(positive, zero, grad_output * self)


@pointwise(
    order=like_first,
    variants="",
    node="PreluKernelBackward0",
    derivatives={"self, weight": lambda grad, self, weight: prelu_kernel_backward(grad, self, weight)},
)
def _prelu(xp: Any, self: Array, weight: Array) -> Array:
    floating(self, "prelu_cpu")
    if (weight > 0).all() and (weight <= 1).all():
        return xp.maximum(self, self * weight)
    return xp.where(self > 0, self, self * weight)


@composite(autocast="lower")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x for x > 0, else weight · x, in the shape of `input`; the weight has shape (C,), or one element for all.

    Raises RuntimeError for a weight of another size or dtype. He et al. 2015, https://arxiv.org/abs/1502.01852
    https://pytorch.org/docs/stable/generated/torch.nn.functional.prelu.html
    """
    if not isinstance(weight, Tensor):
        raise TypeError(f"prelu(): argument 'weight' (position 2) must be Tensor, not {type(weight).__name__}")
    if input._dtype is not weight._dtype:
        one, other = (type_name(each) for each in (input, weight))
        raise RuntimeError(f"prelu: Type promoting not supported. Got {one} and {other}")
    return _prelu(input, _prelu_weight(input, weight))


functional_prelu = composite(variants="function", namespace="nn.functional")(prelu)


@declare(variants="")
def rrelu_slopes(
    xp: Any, self: Array, lower: float, upper: float, training: bool, generator: Generator | None
) -> Array:
    """1 for x > 0; below, in training a number uniform in [lower, upper), else the middle of the two."""
    if not training:
        if FROM_NUMPY[self.dtype].category != FLOATING:
            raise not_implemented("leaky_relu_cpu", self.dtype.name)
        one, middle = (xp.asarray(slope, self.dtype) for slope in (1, (lower + upper) / 2))
        return xp.where(xp.asarray(self > 0, order="C"), one, middle)
    slopes = xp.ones(self.shape, self.dtype)
    if self.dtype not in ("bfloat16", "float32", "float64"):
        raise not_implemented("rrelu_with_noise_out_cpu", self.dtype.name)
    leaks = self <= 0
    if not xp.is_host:  # on a GPU a number is drawn for each element
        drawn = draw(xp, xp.empty(self.shape, self.dtype), sampling.uniform_, generator, lower, upper)
        return xp.where(leaks, drawn, slopes)
    # On the CPU a number is drawn only where one is needed, and always in double precision.
    slopes[leaks] = draw(xp, xp.empty(int(leaks.sum())), sampling.uniform_, generator, lower, upper)
    return slopes


@pointwise(
    saves_all=True,
    variants="",
    promoted=("grad_output", "slopes"),
    derivatives={"grad_output": lambda grad, slopes: grad * slopes, "self": flat},
)
def rrelu_with_noise_backward(xp: Any, grad_output: Array, self: Array, slopes: Array) -> Array:
    return grad_output * slopes


@pointwise(
    row_major=True,
    variants="",
    node="RreluWithNoiseBackward0",
    derivatives={"self": lambda grad, self, slopes: rrelu_with_noise_backward(grad, self, slopes)},
)
def _rrelu(xp: Any, self: Array, slopes: Array) -> Array:
    return xp.asarray(self, order="C") * slopes


_rrelu_in_place = in_place_of(
    OPS["_rrelu"].twin(
        "RreluWithNoiseBackward1",
        {"self": lambda grad, result, slopes: rrelu_with_noise_backward(grad, result, slopes)},
    )
)


def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
    *,
    inplace: bool = False,
) -> Tensor:
    """x for x > 0, else a · x: in training with a uniform in [lower, upper) for each element, else (lower + upper)/2.

    Returns a tensor of the shape and dtype of `input`. Raises RuntimeError for bounds that aren't finite or in order.
    Xu et al. 2015, https://arxiv.org/abs/1505.00853
    https://pytorch.org/docs/stable/generated/torch.nn.functional.rrelu.html
    """
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    slopes = rrelu_slopes(input, lower, upper, training, generator)
    return (_rrelu_in_place if inplace else _rrelu)(input, slopes)


def rrelu_(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """`rrelu` in place: overwrites `input`, and returns it, with its shape and dtype.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.rrelu.html
    """
    return rrelu(input, lower, upper, training, generator, inplace=True)


def functional_rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    return rrelu(input, lower, upper, training, inplace=inplace)


functional_rrelu.__name__, functional_rrelu.__doc__ = "rrelu", rrelu.__doc__
NAMESPACES["torch"].update({"rrelu": rrelu, "rrelu_": rrelu_})
NAMESPACES["nn.functional"].update({"rrelu": functional_rrelu, "rrelu_": rrelu_})
