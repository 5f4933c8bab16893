"""What all samplers share: uniform numbers, the order in which they go into memory, and what errors say of a dtype."""

from __future__ import annotations

import sys
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

from minitorch.random import Generator
from minitorch.sampling.arithmetic import Array


class Name(NamedTuple):
    """A dtype in PyTorch's errors: as ScalarType and C++ type; mantissa bits and range of the floating point ones."""

    scalar: str
    c: str
    digits: int = 0
    largest: float = 0.0


NAMES: Final[dict[np.dtype[Any], Name]] = {
    np.dtype(np.bool_): Name("Bool", "bool"),
    np.dtype(np.uint8): Name("Byte", "unsigned char"),
    np.dtype(np.int8): Name("Char", "signed char"),
    np.dtype(np.int16): Name("Short", "short int"),
    np.dtype(np.int32): Name("Int", "int"),
    np.dtype(np.int64): Name("Long", "long"),
    np.dtype(np.float16): Name("Half", "c10::Half", 11, 65504.0),
    np.dtype(ml_dtypes.bfloat16): Name("BFloat16", "c10::BFloat16", 8, (2 - 2**-7) * 2.0**127),
    np.dtype(np.float32): Name("Float", "float", 24, (2 - 2**-23) * 2.0**127),
    np.dtype(np.float64): Name("Double", "double", 53, sys.float_info.max),
    np.dtype(np.complex64): Name("ComplexFloat", "c10::complex<float>"),
    np.dtype(np.complex128): Name("ComplexDouble", "c10::complex<double>"),
}


def limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The smallest and the largest number of a real dtype."""
    if is_floating(dtype):
        return -NAMES[dtype].largest, NAMES[dtype].largest
    return (0, 1) if dtype == np.bool_ else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def is_floating(dtype: np.dtype[Any]) -> bool:
    return NAMES[dtype].digits > 0


def require_floating(dtype: np.dtype[Any], kernel: str) -> None:
    """Raises NotImplementedError, worded as PyTorch's dispatcher does, unless `dtype` is a real floating point type."""
    if not is_floating(dtype):
        raise not_implemented(dtype, kernel)


def not_implemented(dtype: np.dtype[Any], kernel: str) -> NotImplementedError:
    return NotImplementedError(f"\"{kernel}\" not implemented for '{NAMES[dtype].scalar}'")


def uniform_float32(generator: Generator, count: int) -> Array:
    """`count` float32 numbers in [0, 1): the lowest 24 bits of a draw, over 2²⁴."""
    return generator.bits(count, 24).astype(np.float32) * np.float32(2**-24)


def uniform_float64(generator: Generator, count: int) -> Array:
    """`count` float64 numbers in [0, 1): the lowest 53 bits of a 64-bit draw, over 2⁵³."""
    return generator.bits(count, 53) * 2.0**-53


def fill(array: Array, values: Array) -> None:
    """Put `values` (1-D, one for each element) into `array`, first the elements that lie first in memory.

    That is the order in which PyTorch's TensorIterator visits a tensor that is only written.
    Raises RuntimeError when several elements share their memory.
    """
    values = convert(values, array.dtype)
    if array.flags.c_contiguous:
        array.reshape(-1)[:] = values
        return
    if any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    in_memory = array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))
    in_memory[...] = values.reshape(in_memory.shape)


def convert(values: Array, dtype: np.dtype[Any]) -> Array:
    """`values` in another dtype, rounded twice, by way of float32, on the way to a 16-bit floating point type."""
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore"):  # what is too large becomes infinite
        if dtype.itemsize == 2 and is_floating(dtype):
            values = values.astype(np.float32)
        return values.astype(dtype)


def as_real(array: Array) -> Array:
    """A view of a complex array of shape (…) as its real and imaginary parts (…, 2)."""
    return array[..., np.newaxis].view(array.real.dtype)
