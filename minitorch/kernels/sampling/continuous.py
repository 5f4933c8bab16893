"""Uniform, exponential, Cauchy and log-normal numbers: a uniform (or normal) number put through a formula."""

from __future__ import annotations

import numpy as np

from minitorch.dtypes import c_type_name, type_name
from minitorch.kernels.sampling.arithmetic import Array, elementary, multiply_add
from minitorch.kernels.sampling.fill import (
    as_real,
    convert,
    fill,
    is_floating,
    limits,
    require_floating,
    uniform_float32,
    uniform_float64,
)
from minitorch.kernels.sampling.normal import standard_normal
from minitorch.random import Generator


def uniform_(array: Array, generator: Generator, low: float = 0.0, high: float = 1.0) -> None:
    """Fill with numbers uniform in [low, high): low + (high − low)·u.

    u has 24 bits, in float64 53. The parts of complex numbers are drawn independently.
    Raises RuntimeError when low > high, or when a bound or their distance does not fit the dtype; NotImplementedError
    for integers.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.uniform_.html
    """
    if array.dtype.kind == "c":
        array = as_real(array)
    require_floating(array.dtype, "check_uniform_bounds")
    smallest, largest = limits(array.dtype)
    for bound, value in (("from", low), ("to", high)):
        if not smallest <= value <= largest:
            raise RuntimeError(f"{bound} is out of bounds for {c_type_name(array)}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{type_name(array)}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )
    real, uniform = (np.float64, uniform_float64) if array.dtype == np.float64 else (np.float32, uniform_float32)
    values = uniform(generator, array.size)
    if (low, high) != (0, 1) or array.dtype.itemsize == 2:
        bottom, top = real(low), real(high)
        values = convert(multiply_add(values, top - bottom, bottom), array.dtype)
        if array.dtype.itemsize == 2:
            bottom, top = convert(np.array([bottom, top]), array.dtype)
        values[values == top] = bottom  # rounding may reach the bound that is excluded
    fill(array, values)


def exponential_(array: Array, generator: Generator, lambd: float = 1.0) -> None:
    """Fill with numbers of density λ exp(−λx): −ln(1 − u)/λ.

    Raises RuntimeError unless λ > 0 and the dtype is floating point.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.exponential_.html
    """
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if array.size and not is_floating(array.dtype):
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {type_name(array)}"
        )
    fill(array, -1 / lambd * elementary("log1p", -uniform_float64(generator, array.size), array.dtype))


def cauchy_(array: Array, generator: Generator, median: float = 0.0, sigma: float = 1.0) -> None:
    """Fill with Cauchy numbers: median + σ tan π(u − ½).

    Raises RuntimeError unless σ > 0 and the dtype is floating point.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.cauchy_.html
    """
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if not is_floating(array.dtype):
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {c_type_name(array)}"
        )
    tangent = elementary("tan", np.pi * (uniform_float64(generator, array.size) - 0.5), array.dtype)
    fill(array, multiply_add(tangent, np.float64(sigma), np.float64(median)))


def log_normal_(array: Array, generator: Generator, mean: float = 1.0, std: float = 2.0) -> None:
    """Fill with numbers whose logarithm is normal with the given mean and standard deviation.

    Raises RuntimeError unless std > 0, NotImplementedError for a dtype that isn't floating point.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.log_normal_.html
    """
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if array.size:
        require_floating(array.dtype, "log_normal_cpu")
        normal = multiply_add(standard_normal(generator, array.size), np.float64(std), np.float64(mean))
        fill(array, np.exp(normal))
