"""Sliding blocks of images as the columns of a matrix, and their sum back into images.

Source: https://pytorch.org/docs/stable/generated/torch.nn.Unfold.html and Fold.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.backend import Array
from minitorch.ops.correlation import add_windows, padded, windows
from minitorch.ops.declaration import composite, declare
from minitorch.ops.errors import not_implemented
from minitorch.tensor import Tensor

Pair = tuple[int, int]


def _check_dtype(array: Array, kernel: str) -> None:
    if array.dtype.kind in "iu":
        raise not_implemented(kernel, array.dtype.name)


@declare(
    variants="",
    node="Im2ColBackward0",
    derivatives={
        "self": lambda grad, self_shape, kernel, dilation, padding, stride: col2im(
            grad, self_shape[-2:], kernel, dilation, padding, stride
        )
    },
)
def im2col(xp: Any, self: Array, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Array:
    """(N, C, H, W) → (N, C · ∏ kernel, blocks), with or without N."""
    _check_dtype(self, "im2col_out_cpu")
    batch = self[None] if self.ndim == 3 else self
    seen = windows(xp, padded(xp, batch, padding), kernel, stride, dilation)
    columns = xp.empty(seen.shape, self.dtype)
    columns[...] = seen
    return columns.reshape(*self.shape[:-3], self.shape[-3] * math.prod(kernel), math.prod(seen.shape[4:]))


@declare(
    variants="",
    node="Col2ImBackward0",
    derivatives={
        "self": lambda grad, kernel, dilation, padding, stride: im2col(grad, kernel, dilation, padding, stride)
    },
)
def col2im(xp: Any, self: Array, size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Array:
    """(N, C · ∏ kernel, blocks) → (N, C, *size), with or without N."""
    _check_dtype(self, "col2im_out_cpu")
    batch = self[None] if self.ndim == 2 else self
    count, channels = len(batch), batch.shape[1] // math.prod(kernel)
    blocks = _blocks(size, kernel, dilation, padding, stride)
    (height, width), (top, left) = size, padding
    result = xp.zeros((count, channels, height + 2 * top, width + 2 * left), self.dtype)
    add_windows(xp, result, batch.reshape(count, channels, *kernel, *blocks), stride, dilation)
    inside = xp.ascontiguousarray(result[:, :, top : top + height, left : left + width])
    return inside.reshape(*self.shape[:-2], channels, height, width)


def _blocks(size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> list[int]:
    """How many blocks there are along each dimension."""
    every = zip(size, kernel, dilation, padding, stride, strict=True)
    return [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, d, p, t in every]


def _pair(value: Any, name: str) -> Pair:
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(pair)}")
    return pair


def _geometry(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Pair, Pair, Pair, Pair]:
    kernel, spread = _pair(kernel_size, "kernel_size"), _pair(dilation, "dilation")
    pads, steps = _pair(padding, "padding"), _pair(stride, "stride")
    for what, stem, pair, least in (
        ("kernel size should be greater than zero", "kernel", kernel, 1),
        ("dilation should be greater than zero", "dilation", spread, 1),
        ("padding should be non-negative", "pad", pads, 0),
        ("stride should be greater than zero", "stride", steps, 1),
    ):
        if min(pair) < least:
            raise RuntimeError(f"{what}, but got {stem}_height: {pair[0]} {stem}_width: {pair[1]}")
    return kernel, spread, pads, steps


@composite(variants="function", namespace="nn.functional")
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """(N, C, H, W) → (N, C · ∏ kernel_size, blocks): the blocks that a convolution's kernel sees, a column each.

    Raises RuntimeError for sizes that leave no block.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.unfold.html
    """
    kernel, spread, pads, steps = _geometry(kernel_size, dilation, padding, stride)
    if input.dim() not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    size = (input.shape[-2], input.shape[-1])
    blocks = _blocks(size, kernel, spread, pads, steps)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {size}, kernel_size={kernel}, dilation={spread}, padding={pads}, "
            f"calculated shape of the array of sliding blocks as ({blocks[0]}, {blocks[1]}), but its components must "
            "be at least one."
        )
    return im2col(input, kernel, spread, pads, steps)


@composite(variants="function", namespace="nn.functional")
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """(N, C · ∏ kernel_size, blocks) → (N, C, *output_size): the blocks added up where `unfold` takes them from.

    Raises RuntimeError where the numbers of rows and blocks don't fit the sizes.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.fold.html
    """
    size = _pair(output_size, "output_size")
    kernel, spread, pads, steps = _geometry(kernel_size, dilation, padding, stride)
    if input.dim() not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    rows, columns = input.shape[-2:]
    if rows % math.prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size={kernel}."
        )
    high, wide = _blocks(size, kernel, spread, pads, steps)
    if columns != high * wide:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={spread}, padding={pads}, stride={steps}, "
            f"expected size of input's dimension 2 to match the calculated number of sliding blocks {high} * {wide} = "
            f"{high * wide}, but got input.size(2)={columns}."
        )
    return col2im(input, size, kernel, spread, pads, steps)
