"""The arguments of convolutions: padding by name, an int for each dimension, and what PyTorch refuses, in its order.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/Convolution.cpp
"""

from __future__ import annotations

from typing import Any

from minitorch.dtypes import c_type_name, type_name
from minitorch.tensor import Tensor

Ints = tuple[int, ...]


def as_batch(name: str, input: Tensor, n: int) -> Tensor:
    """The input with a batch dimension. Raises RuntimeError unless it is one image, or several."""
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    return input if input.dim() == n + 2 else input.unsqueeze(0)


def check_bias_type(input: Tensor, bias: Tensor | None) -> None:
    """Raises RuntimeError unless the bias has the type of the input."""
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(
            f"Input type ({c_type_name(input._array)}) and bias type ({c_type_name(bias._array)}) should be the same"
        )


def check_weight(weight: Tensor, groups: int) -> None:
    """Raises RuntimeError for a weight without spatial dimensions, or no groups."""
    if weight.dim() < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def expanded(value: Any, n: int, name: str, weight: Tensor) -> Ints:
    """An int for each of the n dimensions, or a sequence of one or n ints. The weight must have as many dimensions."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    values = values * n if len(values) == 1 else values
    if len(values) != weight.dim() - 2:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {weight.dim() - 2} values to match the "
            f"convolution dimensions, but got {name}={list(values)}"
        )
    return values


def check_geometry(stride: Ints, padding: Ints, dilation: Ints, extra: Ints = ()) -> None:
    """Raises RuntimeError for negative paddings and dilations, and for strides that don't go on."""
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(e < 0 for e in extra):
        raise RuntimeError("negative output_padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d < 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")


def check_sizes(input: Tensor, weight: Tensor, bias: Tensor | None, groups: int, transposed: bool) -> None:
    """Raises RuntimeError where input, weight, bias and groups don't fit together."""
    shape = list(weight.shape)
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
    sizes = list(input.shape)
    channels = shape[0] if transposed else shape[1] * groups
    if sizes[1] != channels:
        kind = "transposed=1, weight of size" if transposed else f"groups={groups}, weight of size"
        raise RuntimeError(
            f"Given {kind} {shape}, expected input{sizes} to have {channels} channels, but got {sizes[1]} channels "
            "instead"
        )
    outputs = shape[1] * groups if transposed else shape[0]
    if bias is not None and list(bias.shape) != [outputs]:
        kind = "transposed=1, weight of size" if transposed else "weight of size"
        raise RuntimeError(
            f"Given {kind} {shape}, expected bias to be 1-dimensional with {outputs} elements, but got bias of size "
            f"{list(bias.shape)} instead"
        )


def check_types(input: Tensor, weight: Tensor) -> None:
    """Raises RuntimeError unless the weight has the type of the input."""
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {type_name(input._array)} but found {type_name(weight._array)}")


def padded_by_name(
    input: Tensor, weight: Tensor, padding: str, stride: Any, dilation: Any, groups: int
) -> tuple[Tensor, Ints]:
    """The input and the padding that "same" and "valid" stand for; where "same" is uneven, one more zero at the end."""
    n = input.dim() - 2
    if padding == "valid":
        return input, (0,) * n
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    check_weight(weight, groups)
    if weight.dim() != input.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight{list(weight.shape)}, "
            f"but got {input.dim()}-dimensional input of size {list(input.shape)} instead"
        )
    for name, values in (("stride", stride), ("dilation", dilation)):
        if isinstance(values, (tuple, list)) and len(values) not in (1, n):
            raise RuntimeError(f"{name} cannot broadcast to {n} dimensions")
    if any(each != 1 for each in expanded(stride, n, "stride", weight)):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    kernel, dilation = weight.shape[2:], expanded(dilation, n, "dilation", weight)
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if any(each % 2 for each in total):
        from minitorch.nn import functional as F

        ends = [end for each in reversed(total) for end in (0, each % 2)]
        input = F.pad(input, ends)
    return input, tuple(each // 2 for each in total)
