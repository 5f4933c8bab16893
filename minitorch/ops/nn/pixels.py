"""Channels traded for resolution and back, and channels dealt out among groups.

Source: https://pytorch.org/docs/stable/nn.functional.html#vision-functions
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import NAMESPACES, declare


@declare(variants="function", derivatives={"self": lambda grad, upscale_factor: pixel_unshuffle(grad, upscale_factor)})
def pixel_shuffle(xp: Any, self: Array, upscale_factor: int) -> Array:
    """(…, C · r², H, W) → (…, C, H · r, W · r): every r² channels become the pixels of r × r blocks.

    Raises RuntimeError for less than 3 dimensions, an r that isn't positive, or channels that r² doesn't divide.
    Shi et al. 2016, https://arxiv.org/abs/1609.05158
    https://pytorch.org/docs/stable/generated/torch.nn.functional.pixel_shuffle.html
    """
    _check("pixel_shuffle", self, upscale_factor, "upscale_factor")
    r, (*batch, channels, height, width) = upscale_factor, self.shape
    if channels % r**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r**2}"
        )
    n = len(batch)
    parts = self.reshape(*batch, channels // r**2, r, r, height, width)
    parts = parts.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return parts.copy().reshape(*batch, channels // r**2, height * r, width * r)


@declare(
    variants="function", derivatives={"self": lambda grad, downscale_factor: pixel_shuffle(grad, downscale_factor)}
)
def pixel_unshuffle(xp: Any, self: Array, downscale_factor: int) -> Array:
    """(…, C, H · r, W · r) → (…, C · r², H, W): the pixels of every r × r block become r² channels.

    Raises RuntimeError for less than 3 dimensions, an r that isn't positive, or a height or width that it doesn't
    divide. Shi et al. 2016, https://arxiv.org/abs/1609.05158
    https://pytorch.org/docs/stable/generated/torch.nn.functional.pixel_unshuffle.html
    """
    _check("pixel_unshuffle", self, downscale_factor, "downscale_factor")
    r, (*batch, channels, height, width) = downscale_factor, self.shape
    for name, size, dim in (("height", height, -2), ("width", width, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})={size} is "
                f"not divisible by {r}"
            )
    n = len(batch)
    parts = self.reshape(*batch, channels, height // r, r, width // r, r)
    parts = parts.transpose(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return parts.copy().reshape(*batch, channels * r**2, height // r, width // r)


def _check(name: str, array: Array, factor: int, what: str) -> None:
    if not isinstance(factor, int):
        raise TypeError(f"{name}(): argument '{what}' (position 2) must be int, not {type(factor).__name__}")
    if array.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {array.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {what}, but got {factor}")


@declare(
    format_from=("self",),
    variants="function",
    derivatives={"self": lambda grad, self_shape, groups: channel_shuffle(grad, self_shape[1] // groups)},
)
def channel_shuffle(xp: Any, self: Array, groups: int) -> Array:
    """(N, C, …) with the channels of `groups` groups dealt out in turn: the first of each, the second of each, …

    Returns a tensor of the same shape. Raises RuntimeError for less than 3 dimensions, and for groups that don't divide
    C. Zhang et al. 2018, https://arxiv.org/abs/1707.01083
    https://pytorch.org/docs/stable/generated/torch.nn.functional.channel_shuffle.html
    """
    if self.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    count, channels, *size = self.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    return self.reshape(count, groups, channels // groups, *size).swapaxes(1, 2).copy().reshape(self.shape)


for _function in (pixel_shuffle, pixel_unshuffle, channel_shuffle):
    NAMESPACES["nn.functional"][_function.__name__] = _function
