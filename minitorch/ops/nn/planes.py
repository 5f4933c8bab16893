"""Planes, the last dimensions of images: reading and adding elements by their index in them."""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import flat, private
from minitorch.layout import laid_out, suggested_format
from minitorch.tensor import Tensor


def like_images(xp: Any, result: Array, self: Array, n: int) -> Array:
    """The channels last if `self` has images (n = 2) with the channels last; of volumes these ops don't keep that."""
    return laid_out(xp, result, suggested_format(self)) if n == 2 and self.ndim == 4 else result


def gather_planes(values: Tensor, index: Tensor, n: int) -> Tensor:
    planes = [values.flatten(-n), index.flatten(-n)]
    return planes[0].gather(-1, planes[1]).reshape(index.shape)


@private(
    promoted=("grad_output",),
    node=lambda grad_output, index, self, n, pool: f"{pool}Pool{n}DBackwardBackward0",
    derivatives={"grad_output": lambda grad, index, n: gather_planes(grad, index, n), "self": flat},
)
def scatter_planes(xp: Any, grad_output: Array, index: Array, self: Array, n: int, pool: str) -> Array:
    """Adds every output's gradient at its index in the input's plane, that of the last n dimensions."""
    planes = math.prod(self.shape[:-n])
    result = xp.zeros((planes, math.prod(self.shape[-n:])), grad_output.dtype)
    if grad_output.size:
        rows = xp.arange(planes)[:, None], index.reshape(planes, -1)
        xp.add.at(result, rows, grad_output.reshape(planes, -1))
    return like_images(xp, result.reshape(self.shape), index, n)
