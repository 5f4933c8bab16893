"""Sliding blocks of images as the columns of a matrix, and their sum back into images.

Source: https://pytorch.org/docs/stable/generated/torch.nn.Unfold.html and Fold.html
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.kernels.convolution.im2col import add_windows, padded, take_windows
from minitorch.size import checked_ints
from minitorch.tensor import Tensor

Pair = tuple[int, int]


class Blocks(NamedTuple):
    """Where the blocks lie: heights and widths."""

    kernel: Pair
    dilation: Pair
    padding: Pair
    stride: Pair

    def counts(self, size: Any) -> tuple[int, ...]:
        """How many blocks there are along each dimension."""
        every = zip(size, *self, strict=True)
        return tuple((s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, d, p, t in every)


@declare(
    variants="",
    node="Im2ColBackward0",
    derivatives={"self": lambda grad, self_shape, blocks: col2im(grad, self_shape[-2:], blocks)},
)
def im2col(xp: Any, self: Array, blocks: Blocks) -> Array:
    """(N, C, H, W) → (N, C · ∏ kernel, blocks), with or without N."""
    if self.dtype.kind in "iu":
        raise not_implemented("im2col", self.dtype.name)
    kernel, dilation, padding, stride = blocks
    batch = self[None] if self.ndim == 3 else self
    found = blocks.counts(self.shape[-2:])
    columns = xp.empty((*batch.shape[:2], *kernel, *found), self.dtype)
    take_windows(xp, columns, padded(xp, batch, padding), kernel, found, stride, dilation)
    return columns.reshape(*self.shape[:-3], self.shape[-3] * math.prod(kernel), math.prod(found))


@declare(variants="", node="Col2ImBackward0", derivatives={"self": lambda grad, blocks: im2col(grad, blocks)})
def col2im(xp: Any, self: Array, size: Pair, blocks: Blocks) -> Array:
    """(N, C · ∏ kernel, blocks) → (N, C, *size), with or without N."""
    if self.dtype.kind in "iu":
        raise not_implemented("col2im", self.dtype.name)
    kernel, dilation, padding, stride = blocks
    batch = self[None] if self.ndim == 2 else self
    count, channels = len(batch), batch.shape[1] // math.prod(kernel)
    (height, width), (top, left) = size, padding
    result = xp.zeros((count, channels, height + 2 * top, width + 2 * left), self.dtype)
    add_windows(xp, result, batch.reshape(count, channels, *kernel, *blocks.counts(size)), stride, dilation)
    inside = xp.ascontiguousarray(result[:, :, top : top + height, left : left + width])
    return inside.reshape(*self.shape[:-2], channels, height, width)


def _pair(value: Any, name: str) -> Pair:
    pair = checked_ints("im2col", value if isinstance(value, (tuple, list)) else (value, value), 0, name)
    if len(pair) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(pair)}")
    return pair


def _blocks(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Blocks:
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    blocks = Blocks(*(_pair(value, name) for name, value in given.items()))
    for what, stem, pair, least in (
        ("kernel size should be greater than zero", "kernel", blocks.kernel, 1),
        ("dilation should be greater than zero", "dilation", blocks.dilation, 1),
        ("padding should be non-negative", "pad", blocks.padding, 0),
        ("stride should be greater than zero", "stride", blocks.stride, 1),
    ):
        if min(pair) < least:
            raise RuntimeError(f"{what}, but got {stem}_height: {pair[0]} {stem}_width: {pair[1]}")
    return blocks


@composite(variants="function", namespace="nn.functional")
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """(N, C, H, W) → (N, C · ∏ kernel_size, blocks): the blocks that a convolution's kernel sees, a column each.

    Raises RuntimeError for sizes that leave no block.
    """
    blocks = _blocks(kernel_size, dilation, padding, stride)
    if input.dim() not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    size = (input.shape[-2], input.shape[-1])
    high, wide = blocks.counts(size)
    if min(high, wide) < 1:
        raise RuntimeError(
            f"Given input with spatial size {size}, kernel_size={blocks.kernel}, dilation={blocks.dilation}, "
            f"padding={blocks.padding}, calculated shape of the array of sliding blocks as ({high}, {wide}), but its "
            "components must be at least one."
        )
    return im2col(input, blocks)


@composite(variants="function", namespace="nn.functional")
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """(N, C · ∏ kernel_size, blocks) → (N, C, *output_size): the blocks added up where `unfold` takes them from.

    Raises RuntimeError where the numbers of rows and blocks don't fit the sizes.
    """
    size = _pair(output_size, "output_size")
    blocks = _blocks(kernel_size, dilation, padding, stride)
    if input.dim() not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    rows, columns = input.shape[-2:]
    if rows % math.prod(blocks.kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size={blocks.kernel}."
        )
    high, wide = blocks.counts(size)
    if columns != high * wide:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={blocks.kernel}, dilation={blocks.dilation}, "
            f"padding={blocks.padding}, stride={blocks.stride}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {high} * {wide} = {high * wide}, but got input.size(2)={columns}."
        )
    return col2im(input, size, blocks)
