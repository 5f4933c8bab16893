"""Normal numbers. Which of PyTorch's two ways is taken depends on how many there are and how they lie in memory."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from minitorch.arrays.loops import on_cpu
from minitorch.kernels.sampling.arithmetic import Array, elementary, multiply_add
from minitorch.kernels.sampling.box_muller import box_muller
from minitorch.kernels.sampling.fill import as_real, fill, require_floating, uniform_float32, uniform_float64
from minitorch.kernels.sampling.reserve import GROUP, fill_from_reserve
from minitorch.random import Generator, Source

FEW: Final = 1024  # numbers that come out of the generator's reserve
BLOCK: Final = 1024  # groups: few enough that the intermediate arrays stay in the processor's cache


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
    if array.dtype.char not in "fd":
        require_floating(array.dtype, "normal_kernel_cpu")
    if array.size < GROUP or not array.flags.c_contiguous:
        values = standard_normal(generator, array.size)
    elif array.size <= FEW and array.dtype.char == "f":
        values = array.reshape(-1)
        fill_from_reserve(values, generator)
        if mean == 0 and std == 1:
            return
    else:
        values = _grouped(array.dtype, generator, array.size)
    if std == 1:
        values += mean
    else:
        values = multiply_add(values, values.dtype.type(std), values.dtype.type(mean))
    fill(array, values)


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


def normal_sample(generator: Source) -> float:
    """One standard normal number.

    A pair of uniform numbers gives a pair of normal ones, √(−2 ln(1 − u₂)) · (cos 2πu₁, sin 2πu₁) (Box and Muller 1958,
    doi:10.1214/aoms/1177706645). The second waits in the generator for the next call.
    """
    value, generator.next_normal = generator.next_normal, None
    if value is None:
        u1, u2 = generator.uniform(), generator.uniform()
        radius, angle = math.sqrt(-2 * math.log1p(-u2)), 2 * math.pi * u1
        value, generator.next_normal = radius * math.cos(angle), radius * math.sin(angle)
    return value


def standard_normal(generator: Generator, count: int) -> Array:
    """`count` standard normal numbers, float64: what as many calls of `normal_sample` give."""
    waiting = [] if generator.next_normal is None else [generator.next_normal]
    pairs = (count - len(waiting) + 1) // 2
    uniform = uniform_float64(generator, 2 * pairs)
    if count < GROUP:
        for u1, u2 in uniform.reshape(pairs, 2).tolist():
            radius, angle = math.sqrt(-2 * math.log1p(-u2)), 2 * math.pi * u1
            waiting += radius * math.cos(angle), radius * math.sin(angle)
        generator.next_normal = waiting.pop() if len(waiting) > count else None
        return np.array(waiting)
    u1, u2 = uniform.reshape(pairs, 2).T
    values = np.empty((pairs, 2))
    values[:, 0], values[:, 1] = _box_muller_float64(elementary("log1p", -u2, u2.dtype), u1)
    values = np.concatenate([waiting, values.ravel()])
    generator.next_normal = float(values[count]) if len(values) > count else None
    return values[:count]


def _grouped(dtype: np.dtype[Any], generator: Generator, count: int) -> Array:
    """At least 16 standard normal numbers, float64 for a float64 dtype, else float32, made of groups of 16.

    The last group, where it isn't full, is drawn anew and reaches back. What it had drawn before is given up, but for
    the 16-bit types, which draw a group at a time.
    """
    uniform, transform = (
        (uniform_float64, _groups_float64) if dtype == np.float64 else (uniform_float32, _groups_float32)
    )
    rest = count % GROUP
    if rest == 0:
        return transform(uniform(generator, count))
    drawn = uniform(generator, GROUP + (count - rest if dtype.itemsize == 2 else count))
    values = transform(np.concatenate([drawn[: count - rest], drawn[-GROUP:]]))
    return np.concatenate([values[: count - GROUP], values[-GROUP:]])


def _groups_float32(uniform: Array) -> Array:
    normal_groups(np, uniform)
    return uniform


@on_cpu("draws")
def normal_groups(xp: Any, values: Array) -> None:
    """Overwrites groups of 16 uniform float32 numbers with normal ones: a group's first 8 and last 8 are pairs."""
    groups = values.reshape(-1, 2, GROUP // 2)
    for start in range(0, len(groups), BLOCK):
        u1, u2 = groups[start : start + BLOCK].swapaxes(0, 1)
        groups[start : start + BLOCK, 0], groups[start : start + BLOCK, 1] = box_muller(1 - u1, u2)


def _groups_float64(uniform: Array) -> Array:
    values = uniform.reshape(-1, 2, GROUP // 2)
    u1, u2 = values.swapaxes(0, 1)
    values[:, 0], values[:, 1] = _box_muller_float64(elementary("log", 1 - u1, u1.dtype), u2)
    return uniform


def _box_muller_float64(log: Array, u: Array) -> tuple[Array, Array]:
    radius, angle = np.sqrt(-2 * log), 2 * np.pi * u
    return radius * np.cos(angle), radius * np.sin(angle)
