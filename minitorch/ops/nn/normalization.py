"""Normalization: (x − mean) / √(variance + eps) · weight + bias over some of the dimensions.

Batch, layer, group and instance norm differ in those dimensions alone, so they share one kernel.
Source: https://pytorch.org/docs/stable/nn.functional.html#convolution-functions
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.arrays import Array, Shape
from minitorch.autograd.engine import sum_to_size
from minitorch.autograd.grad_mode import no_grad
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dispatch import layers
from minitorch.dispatch.batched import Batched
from minitorch.dispatch.common_device import differs
from minitorch.dispatch.declaration import composite, private
from minitorch.dispatch.errors import floating, not_implemented
from minitorch.dtypes import FLOATING, finfo, float32
from minitorch.kernels.normalization import normalized, scale_into
from minitorch.layout import suggested_format
from minitorch.ops.indexing.joining import cat
from minitorch.ops.linalg.norms import vector_norm
from minitorch.ops.nn.normalization_gradients import (
    BATCH,
    GROUP,
    LAYER,
    Over,
    laid_out_like,
    normalize_over_backward,
    standardize_with_backward,
)
from minitorch.ops.pointwise.division import div
from minitorch.size import checked_ints
from minitorch.tensor import Tensor


def _gradients(
    grad: Tensor, self: Tensor, weight: Tensor | None, others: Sequence[Tensor], over: Over
) -> tuple[Tensor, Tensor, Tensor]:
    bias = others[0] if others and over.node == LAYER else None
    of_self, of_weight, of_bias = normalize_over_backward(grad, self, weight, bias, over)
    if over.node == GROUP and grad_mode.enabled:  # which PyTorch composes: the bias's gradient depends on no input
        of_bias = sum_to_size(grad.reshape(over.shape), over.weight_shape).flatten()
    return of_self, of_weight, of_bias


@private(
    promoted=("self",),  # the result has its type, also where weight and bias are float32 beside two-byte floats
    node=lambda self, weight, bias, others, over: over.node,
    derivatives={"self, weight, bias": _gradients},
)
def normalize_over(
    xp: Any, self: Array, weight: Array | None, bias: Array | None, others: Sequence[Array], over: Over
) -> Array:
    """(x − mean) / √(variance + eps) · weight + bias.

    The `others` are what PyTorch's node keeps besides, so that it notices when they change.
    """
    if not self.size:
        return xp.zeros(self.shape, self.dtype)
    weight, bias = (None if each is None else each.reshape(over.weight_shape) for each in (weight, bias))
    result = normalized(xp, self.reshape(over.shape), weight, bias, over.axes, over.eps)
    return laid_out_like(xp, result.reshape(self.shape), self, over.node)


def _check_types(kernel: str, input: Tensor, *parameters: Tensor | None) -> None:
    """Raises RuntimeError for parameters of another type than the input, NotImplementedError unless that is a real
    floating point type; float32 goes with two-byte floats.
    """
    if not _are_mixed(input, *parameters):
        floating(input._array, kernel)


def _are_mixed(input: Tensor, *parameters: Tensor | None) -> bool:
    """Whether float32 parameters go with an input of two-byte floats. Raises RuntimeError for any other two types."""
    kinds = {each.dtype for each in parameters if each is not None}
    if kinds <= {input.dtype}:
        return False
    if kinds != {float32}:
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if not input.dtype.is_low_precision:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    return True


@composite(variants="function", namespace="nn.functional", autocast_on_gpu="float32")
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """(x − mean) / √(var + eps) · weight + bias over the last dimensions, which must be `normalized_shape`.

    Weight and bias have that shape or are None; var is the biased variance. Returns a tensor of the shape and dtype of
    `input`. Raises RuntimeError for other shapes or mixed dtypes, TypeError for a `normalized_shape` that is an int.
    Ba et al. 2016, https://arxiv.org/abs/1607.06450
    """
    mixed = _are_mixed(input, weight, bias)
    normalized = _check_normalized_shape("layer_norm", input, normalized_shape, weight, bias)
    if not mixed:
        floating(input._array, "LayerNormKernelImpl")
    shape = tuple(input.shape)
    leading = len(shape) - len(normalized)
    over = Over(shape, tuple(range(leading, len(shape))), (1,) * leading + normalized, eps, LAYER)
    return normalize_over(input, weight, bias, () if bias is None else (bias,), over)


def _check_normalized_shape(
    function: str, input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None = None
) -> Shape:
    if isinstance(normalized_shape, int):
        raise TypeError(f"{function}(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    normalized = checked_ints(function, (normalized_shape,), 2, "normalized_shape")
    if not normalized:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and tuple(each.shape) != normalized:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(each.shape)} "
                f"and normalized_shape = {list(normalized)}"
            )
    if tuple(input.shape)[-len(normalized) :] != normalized or input.dim() < len(normalized):
        star = "*" if function == "rms_norm" else "*, "  # as PyTorch words it
        expected = star + ", ".join(map(str, normalized))
        raise RuntimeError(
            f"Given normalized_shape={list(normalized)}, expected input with shape [{expected}], but got input of "
            f"size{list(input.shape)}"
        )
    return normalized


@composite(variants="function", namespace="nn.functional", autocast_on_gpu="float32")
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """x / √(mean(x²) + eps) · weight over the last dimensions. eps is by default that of the type computed in.

    Raises NotImplementedError for integers.
    """
    normalized = _check_normalized_shape("rms_norm", input, normalized_shape, weight)
    if input.dtype.category < FLOATING:
        raise not_implemented("rms_norm", input.dtype.name)
    dims = list(range(input.dim() - len(normalized), input.dim()))
    wide = input.float() if input.dtype.is_low_precision else input
    if eps is None:
        eps = finfo(wide.dtype).eps
    result = wide * (wide.pow(2).mean(dims, keepdim=True) + eps).rsqrt()
    return (result if weight is None else result * weight).type_as(input)


@composite(variants="function", namespace="nn.functional", autocast_on_gpu="float32")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """(x − mean) / √(var + eps) · weight + bias over each of `num_groups` groups of the channels of (N, C, …).

    Weight and bias are (C,) or None. Returns a tensor of the shape and dtype of `input`. Raises RuntimeError unless the
    groups divide C, and for other shapes or mixed dtypes. Wu and He 2018, https://arxiv.org/abs/1803.08494
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    channels = input.shape[1]
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and tuple(each.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(each.shape)} and input of shape {list(input.shape)}"
            )
    _check_types("GroupNormKernelImpl", input, weight, bias)
    shape = (input.shape[0], num_groups, channels // num_groups, *input.shape[2:])
    _check_several(list(input.shape), math.prod(shape[2:]) * input.shape[0])
    weight_shape = (1, num_groups, channels // num_groups, *[1] * (input.dim() - 2))
    input = input.contiguous(memory_format=suggested_format(input._array))
    over = Over(shape, tuple(range(2, len(shape))), weight_shape, eps, GROUP)
    return normalize_over(input, weight, bias, (), over)


def _check_several(size: Any, count: int) -> None:
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


@composite(variants="function", namespace="nn.functional")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x − mean) / √(var + eps) · weight + bias for every channel of (N, C, …).

    In training mean and biased var are those over the batch, and the running statistics (C,) move towards mean and
    unbiased var by `momentum`; else these are used. Returns a tensor of the shape of `input`. Raises ValueError for a
    single value a channel in training or an eps that is too small, RuntimeError for other numbers of channels.
    Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167
    """
    channels = input.shape[1] if input.dim() > 1 else 0
    floating(input._array, "batch_norm")
    if training:
        _check_several(input.shape, input.numel() // max(channels, 1))
    if eps < 0 or (training and not eps):
        bound = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {bound}, but got {eps}")
    given = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, each in given.items():
        if each is not None and each.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {each.numel()}")
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    for name in ("weight", "bias", "running_mean", "running_var"):  # before the running statistics move
        each = given[name]
        if each is not None and each._device is not input._device:
            raise differs(name, each._device, input._device)
    _check_types("batch_norm", input, running_mean, running_var, weight, bias)
    if not input.numel():
        result = input.clone() if weight is None else input.clone() * weight[0]
        return result if bias is None else result + bias[0]
    dims = (0, *range(2, input.dim()))
    weight_shape = (1, channels, *[1] * (input.dim() - 2))
    if not training:
        if running_mean is None:
            raise RuntimeError("running_mean must be defined in evaluation mode")
        return standardize_with(input, weight, bias, running_mean, running_var, weight_shape, eps)
    if running_mean is not None:
        _move_towards(running_mean, lambda images: images.mean(dims), input, momentum)
    if running_var is not None:
        _move_towards(running_var, lambda images: images.var(dims), input, momentum)
    statistics = tuple(each for each in (running_mean, running_var) if each is not None)
    return normalize_over(input, weight, bias, statistics, Over(tuple(input.shape), dims, weight_shape, eps, BATCH))


def _move_towards(running: Tensor, statistic: Callable[[Tensor], Tensor], input: Tensor, momentum: float) -> None:
    """Updates a running statistic. PyTorch's kernel does it, so that its version stays, and an earlier pass valid."""
    with no_grad():
        moved = running * (1 - momentum) + statistic(input.to(running.dtype)) * momentum
        if isinstance(moved, Batched):
            running.copy_(moved)
        else:
            running._put(moved._array)
            if layers.count and layers.stack.overwriting is not None:
                layers.stack.overwriting(running, moved)


@private(
    format_from=("self",),
    promoted=("self",),
    node=BATCH,
    derivatives={
        "self, weight, bias": lambda grad, self, weight, running_mean, running_var, weight_shape, eps: (
            standardize_with_backward(grad, self, weight, running_mean, running_var, weight_shape, eps)
        )
    },
)
def standardize_with(
    xp: Any,
    self: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    weight_shape: Shape,
    eps: float,
) -> Array:
    """(x − running mean) / √(running variance + eps) · weight + bias."""
    scale = 1 / xp.sqrt(running_var.astype(self.dtype) + self.dtype.type(eps))
    if weight is not None:
        scale *= weight
    shift = -running_mean * scale if bias is None else bias - running_mean * scale
    result = xp.empty_like(self)
    scale_into(xp, result, self, scale.reshape(weight_shape), shift.reshape(weight_shape))
    return result


@composite(variants="function", namespace="nn.functional")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x − mean) / √(var + eps) · weight + bias for every channel of every element of a batch (N, C, …).

    With `use_input_stats=False`, mean and var are the running statistics (C,). Returns a tensor of the shape of
    `input`. Raises ValueError for a single spatial element. Ulyanov et al. 2016, https://arxiv.org/abs/1607.08022
    """
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    images, channels = input.shape[:2]

    def repeated(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor.repeat(images)

    # Every image's channels are channels of one image.
    mean, var = repeated(running_mean), repeated(running_var)
    one = input.contiguous().view(1, images * channels, *input.shape[2:])
    result = batch_norm(one, mean, var, repeated(weight), repeated(bias), use_input_stats, momentum, eps)
    with no_grad():
        for running, updated in ((running_mean, mean), (running_var, var)):
            if running is not None and updated is not None and use_input_stats:
                running.copy_(updated.view(images, channels).mean(0))
    return result.view(*input.shape)


@composite(variants="function", namespace="nn.functional")
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + α · mean of x² over `size` neighbouring channels)ᵝ for (N, C, …), of the same shape.

    Raises ValueError for less than 3 dimensions. Krizhevsky et al. 2012
    """
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.dim()} dimensions)"
        )
    if not input.numel():
        return input
    squares = input * input
    before, after = size // 2, (size - 1) // 2
    channels = input.shape[1]
    sides = [squares.new_zeros((input.shape[0], count, *input.shape[2:])) for count in (before, after)]
    wide = cat([sides[0], squares, sides[1]], 1)
    total = sum(wide.narrow(1, offset, channels) for offset in range(size))
    mean = total / size if total.is_floating_point() else total.div(size, rounding_mode="trunc")
    return input / (mean * alpha + k) ** beta


@composite(variants="function", namespace="nn.functional")
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """x / max(‖x‖ₚ, eps) along `dim`, of the shape and dtype of `input`."""
    return div(input, vector_norm(input, p, dim, True).clamp_min(eps).expand_as(input), out=out)
