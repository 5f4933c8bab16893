"""The arguments of convolutions: padding by name, an int for each dimension, and what PyTorch refuses.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/Convolution.cpp
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minitorch.arrays import Ints
from minitorch.dtypes import c_type_name, type_name
from minitorch.ops.nn.padding import pad
from minitorch.tensor import Tensor
from minitorch.warn_once import warn_once


class Geometry(NamedTuple):
    """Which elements meet: s, the padding and d of each dimension, and into how many groups the channels fall."""

    stride: Ints
    padding: Ints
    dilation: Ints
    groups: int


def as_batch(name: str, input: Tensor, n: int) -> Tensor:
    """The input with a batch dimension. Raises RuntimeError unless it is one image, or several."""
    dims = input._array.ndim
    if dims not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    return input if dims == n + 2 else input.unsqueeze(0)


def check_bias_type(input: Tensor, bias: Tensor | None) -> None:
    """Raises RuntimeError for a bias of another dtype than the input, which PyTorch looks at before all shapes."""
    if bias is not None and bias._dtype is not input._dtype:
        raise RuntimeError(
            f"Input type ({c_type_name(input._array)}) and bias type ({c_type_name(bias._array)}) should be the same"
        )


def check_weight(weight: Tensor, groups: int) -> None:
    """Raises RuntimeError for a weight without spatial dimensions, or no groups."""
    if weight._array.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def expanded(value: Any, n: int, name: str, weight: Tensor) -> Ints:
    """An int for each of the n dimensions, or a sequence of one or n ints. The weight must have as many dimensions."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    values = values * n if len(values) == 1 else values
    dims = weight._array.ndim - 2
    if len(values) != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the "
            f"convolution dimensions, but got {name}={list(values)}"
        )
    return values


def check(
    input: Tensor, weight: Tensor, bias: Tensor | None, geometry: Geometry, extra: Ints = (), transposed: bool = False
) -> None:
    """Raises RuntimeError where input, weight, bias and geometry don't fit together; `extra` is the output padding."""
    stride, padding, dilation, groups = geometry
    if bool in map(type, (groups, *stride[:1], *padding[:1], *extra[:1], *dilation[:1])):
        raise TypeError("the stride, padding and dilation of a convolution, and its groups, must be int, not bool")
    for values, least, fault in (
        (padding, 0, "negative padding is not supported"),
        (extra, 0, "negative output_padding is not supported"),
        (stride, 1, "non-positive stride is not supported"),
        (dilation, 0, "dilation should be greater than zero"),
        (dilation, 1, "non-positive dilation is not supported"),
    ):
        if min(values, default=least) < least:
            raise RuntimeError(fault)
    shape, sizes = list(weight._array.shape), list(input._array.shape)
    if len(shape) > 3 and 0 in shape[2:]:
        kernel = " kernel_height: {} kernel_width: {}" if len(shape) == 4 else ": {} x {} x {} (TxHxW)"
        raise RuntimeError("kernel size should be greater than zero, but got" + kernel.format(*shape[2:]))
    if shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{shape} instead"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{shape}] instead"
        )
    inside, outside = shape[1] * groups, shape[0]
    channels, outputs = (outside, inside) if transposed else (inside, outside)
    if sizes[1] != channels:
        kind = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {kind}, weight of size {shape}, expected input{sizes} to have {channels} channels, but got "
            f"{sizes[1]} channels instead"
        )
    if bias is not None and bias._array.shape != (outputs,):
        kind = "transposed=1, weight of size" if transposed else "weight of size"
        raise RuntimeError(
            f"Given {kind} {shape}, expected bias to be 1-dimensional with {outputs} elements, but got bias of size "
            f"{list(bias.shape)} instead"
        )
    _check_devices(input, weight, bias)
    if weight._dtype is not input._dtype:
        raise RuntimeError(f"expected scalar type {type_name(input._array)} but found {type_name(weight._array)}")


def _check_devices(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Raises RuntimeError for a weight or bias on another device than the input, or on a GPU of another type."""
    for name, each in (("weight", weight), ("bias", bias)):
        if each is None or (each._device is input._device and (each._dtype is input._dtype or not input.is_cuda)):
            continue
        fused = each is weight and not input.is_cuda
        mkldnn = " or input should be a MKLDNN tensor and weight is a dense tensor" if fused else ""
        raise RuntimeError(f"Input type ({input.type()}) and {name} type ({each.type()}) should be the same{mkldnn}")


def padded_by_name(input: Tensor, weight: Tensor, padding: str, stride: Any, dilation: Any) -> tuple[Tensor, Ints]:
    """The input and the padding that "same" and "valid" stand for; where "same" is uneven, one more zero at the end."""
    n = input.dim() - 2
    if padding == "valid":
        return input, (0,) * n
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if weight.dim() != input.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight{list(weight.shape)}, "
            f"but got {input.dim()}-dimensional input of size {list(input.shape)} instead"
        )
    if any(each != 1 for each in expanded(stride, n, "stride", weight)):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    kernel, dilation = weight.shape[2:], expanded(dilation, n, "dilation", weight)
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if any(each % 2 for each in total):
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created",
            stacklevel=5,
        )
        ends = [end for each in reversed(total) for end in (0, each % 2)]
        input = pad(input, ends)
    return input, tuple(each // 2 for each in total)
