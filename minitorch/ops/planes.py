"""Planes, the last dimensions of images: reading and adding elements by their index in them."""

from __future__ import annotations

import math
from typing import Any

from minitorch.backend import Array
from minitorch.layout import laid_out, suggested_format
from minitorch.ops.declaration import declare
from minitorch.tensor import Tensor

Ints = tuple[int, ...]


def like_images(xp: Any, result: Array, self: Array) -> Array:
    """The channels last if `self` has images with the channels last; of volumes these ops don't keep that."""
    return laid_out(xp, result, suggested_format(self)) if self.ndim == 4 else result


def gather_planes(values: Tensor, index: Tensor, n: int) -> Tensor:
    planes = [values.flatten(-n), index.flatten(-n)]
    return planes[0].gather(-1, planes[1]).reshape(index.shape)


@declare(
    upcast=True,
    promotion="keep",
    promoted=("self",),
    variants="",
    derivatives={"self": lambda grad, index, n: gather_planes(grad, index, n)},
)
def scatter_planes(xp: Any, self: Array, index: Array, shape: Ints, n: int) -> Array:
    """Adds every element at its index in the plane of the last n dimensions."""
    planes = math.prod(shape[:-n])
    result = xp.zeros((planes, math.prod(shape[-n:])), self.dtype)
    if self.size:
        xp.add.at(result, (xp.arange(planes)[:, None], index.reshape(planes, -1)), self.reshape(planes, -1))
    return result.reshape(shape)
