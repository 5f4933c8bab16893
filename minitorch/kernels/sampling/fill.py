"""What all samplers share: uniform numbers, the order in which they go into memory, and what a dtype can hold."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from minitorch.arrays.loops import on_cpu
from minitorch.arrays.quiet import quiet
from minitorch.dtypes import DTYPES, SCALAR_TYPES, finfo
from minitorch.kernels.sampling.arithmetic import Array
from minitorch.random import Generator

_FLOATS = [each for each in DTYPES if each.is_floating_point]
DIGITS: Final = {each.numpy: 1 - round(math.log2(finfo(each).eps)) for each in _FLOATS}
"""The bits of a floating point type's mantissa: it has all integers up to this power of 2."""
LARGEST: Final = {each.numpy: finfo(each).max for each in _FLOATS}


def limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The smallest and the largest number of a real dtype."""
    if is_floating(dtype):
        return -LARGEST[dtype], LARGEST[dtype]
    return (0, 1) if dtype == np.bool_ else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def is_floating(dtype: np.dtype[Any]) -> bool:
    return dtype in DIGITS


def require_floating(dtype: np.dtype[Any], kernel: str) -> None:
    """Raises NotImplementedError, worded as PyTorch's dispatcher does, unless `dtype` is a real floating point type."""
    if not is_floating(dtype):
        raise not_implemented(dtype, kernel)


def not_implemented(dtype: np.dtype[Any], kernel: str) -> NotImplementedError:
    return NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_TYPES[dtype.name]}'")


MANY: Final = 1024
"""From how many numbers on a loop is asked for: fewer are drawn in the time that asking takes."""


def drawn(generator: Generator, count: int, dtype: Any) -> Array:
    """`count` uniform numbers of a dtype, or uint32 draws."""
    out = np.empty(count, dtype)
    draw(np, out, generator)
    return out


@on_cpu("draws")
def draw(xp: Any, out: Array, generator: Generator) -> None:
    """Fills a contiguous array with uniform numbers, or with draws if it is uint32."""
    if out.dtype == np.float32:
        np.multiply(generator.bits(out.size, 24).astype(np.float32), np.float32(2**-24), out)
    elif out.dtype == np.float64:
        np.multiply(generator.bits(out.size, 53), 2.0**-53, out)
    else:
        out[...] = generator.bits(out.size, 32)


def uniform_float32(generator: Generator, count: int) -> Array:
    """`count` float32 numbers in [0, 1): the lowest 24 bits of a draw, over 2²⁴."""
    if count < MANY:
        return generator.bits(count, 24).astype(np.float32) * np.float32(2**-24)
    return drawn(generator, count, np.float32)


def uniform_float64(generator: Generator, count: int) -> Array:
    """`count` float64 numbers in [0, 1): the lowest 53 bits of a 64-bit draw, over 2⁵³."""
    if count < MANY:
        return generator.bits(count, 53) * 2.0**-53
    return drawn(generator, count, np.float64)


def fill(array: Array, values: Array) -> None:
    """Put `values` (1-D, one for each element) into `array`, first the elements that lie first in memory.

    That is the order in which PyTorch's TensorIterator visits a tensor that is only written.
    Raises RuntimeError when several elements share their memory.
    """
    if values.dtype != array.dtype:
        values = convert(values, array.dtype)
    if array.flags.c_contiguous:
        array.reshape(-1)[:] = values
        return
    view = in_memory(array)
    view[...] = values.reshape(view.shape)


def in_memory(array: Array) -> Array:
    """A view whose first elements are those that lie first in memory. Raises as `fill` does."""
    if array.size and any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    return array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))


def convert(values: Array, dtype: np.dtype[Any]) -> Array:
    """`values` in another dtype, rounded twice, by way of float32, on the way to a 16-bit floating point type."""
    if values.dtype == dtype:
        return values
    if dtype == np.float32 and np.maximum.reduce(np.abs(values), None, initial=0) < LARGEST[dtype]:
        return values.astype(dtype)
    with quiet():  # what is too large becomes infinite
        if dtype.itemsize == 2 and is_floating(dtype):
            values = values.astype(np.float32)
        return values.astype(dtype)


def as_real(array: Array) -> Array:
    """A view of a complex array of shape (…) as its real and imaginary parts (…, 2)."""
    return array[..., np.newaxis].view(array.real.dtype)
