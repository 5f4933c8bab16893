"""The frequencies of a transform's elements, and the order in which zero stands in the middle.

Source: https://pytorch.org/docs/stable/fft.html#helper-functions
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite
from minitorch.dispatch.errors import not_implemented
from minitorch.dtypes import dtype as DType
from minitorch.ops.creation.factory import CANNOT_CREATE, default, tensor_of
from minitorch.ops.fft.forms import Sizes, _ints
from minitorch.ops.indexing.rearranging import roll
from minitorch.size import each_dim, is_whole
from minitorch.tensor import Tensor

_public = composite(variants="function", namespace="fft")


def _kind(name: str, dtype: DType | None, n: int) -> Any:
    """The element type of n frequencies, or of half as many. Raises for arguments of other types."""
    if not is_whole(n):
        raise TypeError(f"fft_{name}(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    kind = default(dtype)
    if kind.kind not in "fc" and kind != "bfloat16":
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if kind.kind == "c":
        raise not_implemented("arange_cpu", kind.name)
    return kind


def _scaled(xp: Any, numbers: Array, kind: Any, length: float) -> Array:
    factor = xp.asarray(1 / length if length else math.inf, kind)
    return xp.multiply(numbers.astype(kind), factor)


@_public
@tensor_of
def fftfreq(xp: Any, dtype: DType | None, n: int, d: float = 1.0) -> Array:
    """The frequencies of the n elements of `fft`, of a signal with a sample every d: 0, 1, …, −2, −1, over n·d."""
    kind = _kind("fftfreq", dtype, n)
    if n < 0:
        raise RuntimeError(CANNOT_CREATE.format(n, [n]))
    numbers = xp.arange(n)
    return _scaled(xp, xp.where(numbers < (n + 1) // 2, numbers, numbers - n), kind, n * d)


@_public
@tensor_of
def rfftfreq(xp: Any, dtype: DType | None, n: int, d: float = 1.0) -> Array:
    """The frequencies of the n/2 + 1 elements of `rfft`: 0, 1, …, n/2, over n·d."""
    kind = _kind("rfftfreq", dtype, n)
    return _scaled(xp, xp.arange(int(n / 2) + 1), kind, n * d)


def _shifted(input: Tensor, dim: Sizes, up: int) -> Tensor:
    dims = _ints(dim)
    dims = tuple(range(input.dim())) if dims is None else each_dim(dims, input.dim())
    return roll(input, [(input.shape[each] + up) // 2 for each in dims], dims)


@composite(variants="function", namespace="fft", named="fft_fftshift")
def fftshift(input: Tensor, dim: Sizes = None) -> Tensor:
    """The elements of a transform in the order of their frequencies, negative ones first."""
    return _shifted(input, dim, 0)


@composite(variants="function", namespace="fft", named="fft_ifftshift")
def ifftshift(input: Tensor, dim: Sizes = None) -> Tensor:
    """The inverse of `fftshift`: negative frequencies go behind the others; of the same shape and dtype."""
    return _shifted(input, dim, 1)
