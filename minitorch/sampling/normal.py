"""Normal numbers. Which of PyTorch's two ways is taken depends on how many there are and how they lie in memory."""

from __future__ import annotations

from typing import Final

import numpy as np

from minitorch.random import Generator
from minitorch.sampling.arithmetic import Array, elementary, multiply_add
from minitorch.sampling.box_muller import box_muller
from minitorch.sampling.fill import as_real, fill, require_floating, uniform_float32, uniform_float64

GROUP: Final = 16  # numbers transformed together: the j-th with the (j + 8)-th
BLOCK: Final = 512 * GROUP  # small enough that the intermediate arrays stay in the processor's cache


def normal_(array: Array, generator: Generator, mean: float = 0.0, std: float = 1.0) -> None:
    """Fill with numbers of density exp(−½((x − mean)/std)²)/(std √2π).

    Real and imaginary parts of complex numbers have the variance std²/2 each.
    Raises RuntimeError when std is negative, NotImplementedError for a dtype that is not floating point.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.normal_.html
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if array.size == 0:
        return
    if array.dtype.kind == "c":
        array, std = as_real(array), std / 2**0.5
    require_floating(array.dtype, "normal_kernel_cpu")
    if array.size < GROUP or not array.flags.c_contiguous:
        fill(array, multiply_add(standard_normal(generator, array.size), std, mean))
    elif array.dtype == np.float64:
        fill(array, multiply_add(_grouped_float64(generator, array.size), std, mean))
    else:
        fill(array, multiply_add(_grouped_float32(generator, array.size, array.dtype.itemsize == 2), std, mean))


def normal(mean: Array | float, std: Array | float, generator: Generator) -> Array:
    """An array of normal numbers whose mean and standard deviation vary: z·std + mean, z standard normal, broadcast.

    Its dtype is that of `mean` where that is an array, else that of `std`.
    Raises RuntimeError for a negative std, NotImplementedError for integers.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.normal.html
    """
    like = mean if isinstance(mean, np.ndarray) else std
    if not isinstance(like, np.ndarray):
        raise TypeError("normal: one of mean and std must be an array")
    array = np.empty(np.broadcast_shapes(np.shape(mean), np.shape(std)), like.dtype)
    if not isinstance(std, np.ndarray):
        normal_(array, generator, 0.0, std)
    else:
        if std.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.size and not np.all(std >= 0):
            raise RuntimeError("normal expects all elements of std >= 0.0")
        normal_(array, generator)
        array *= std.astype(array.dtype)
    array += np.asarray(mean).astype(array.dtype)
    return array


def standard_normal(generator: Generator, count: int) -> Array:
    """`count` standard normal numbers, float64, one after the other.

    A pair of uniform numbers gives a pair of normal ones, √(−2 ln(1 − u₂)) · (cos 2πu₁, sin 2πu₁) (Box and Muller 1958,
    doi:10.1214/aoms/1177706645). What is left of the last pair waits in the generator for the next call.
    """
    waiting = [] if generator.next_normal is None else [generator.next_normal]
    pairs = (count - len(waiting) + 1) // 2
    u1, u2 = uniform_float64(generator, 2 * pairs).reshape(pairs, 2).T
    radius = np.sqrt(-2 * elementary("log1p", -u2, u2.dtype))
    angle = 2 * np.pi * u1
    values = np.empty((pairs, 2))
    values[:, 0], values[:, 1] = radius * np.cos(angle), radius * np.sin(angle)
    values = np.concatenate([waiting, values.ravel()])
    generator.next_normal = float(values[count]) if len(values) > count else None
    return values[:count]


def _grouped_float32(generator: Generator, count: int, is_low_precision: bool) -> Array:
    """At least 16 float32 numbers in groups of 16. A last group that isn't full is drawn anew, and reaches back.

    For the 16-bit types nothing is drawn that isn't used; for float32 the rest of the last group is drawn in vain.
    """
    values = np.empty(count, np.float32)
    whole, rest = count - count % GROUP, count % GROUP
    for start in range(0, whole, BLOCK):
        block = values[start : min(start + BLOCK, whole)]
        _transform_float32(uniform_float32(generator, block.size), block)
    if rest:
        if not is_low_precision:
            generator.random(rest)
        _transform_float32(uniform_float32(generator, GROUP), values[-GROUP:])
    return values


def _transform_float32(uniform: Array, out: Array) -> None:
    u1, u2 = uniform.reshape(-1, 2, GROUP // 2).transpose(1, 0, 2)
    groups = out.reshape(-1, 2, GROUP // 2)
    groups[:, 0], groups[:, 1] = box_muller(1 - u1, u2)


def _grouped_float64(generator: Generator, count: int) -> Array:
    """The same in float64, with the ordinary functions."""
    values = np.empty(count)
    whole, rest = count - count % GROUP, count % GROUP
    _transform_float64(uniform_float64(generator, whole), values[:whole])
    if rest:
        generator.random64(rest)
        _transform_float64(uniform_float64(generator, GROUP), values[-GROUP:])
    return values


def _transform_float64(uniform: Array, out: Array) -> None:
    u1, u2 = uniform.reshape(-1, 2, GROUP // 2).transpose(1, 0, 2).reshape(2, -1)
    radius, angle = np.sqrt(-2 * elementary("log", 1 - u1, u1.dtype)), 2 * np.pi * u2
    groups = out.reshape(-1, 2, GROUP // 2)
    groups[:, 0] = (radius * np.cos(angle)).reshape(-1, GROUP // 2)
    groups[:, 1] = (radius * np.sin(angle)).reshape(-1, GROUP // 2)
