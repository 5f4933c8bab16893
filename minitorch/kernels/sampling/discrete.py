"""Integers, permutations, coin flips and what is made of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from minitorch.arrays.loops import on_cpu
from minitorch.dtypes import C_NAMES, SCALAR_TYPES
from minitorch.kernels.sampling.arithmetic import Array
from minitorch.kernels.sampling.fill import (
    DIGITS,
    convert,
    drawn,
    fill,
    is_floating,
    limits,
    not_implemented,
    uniform_float32,
    uniform_float64,
)
from minitorch.random import Generator

INT64_MIN: Final = -(2**63)
FEW: Final = 500  # elements that are exchanged in turn faster than all at once
WIDE: Final = 2**28  # ranges from here on take 64 bits, so that the remainder stays close to uniform
RANDPERM_LIMIT: Final = (2**32 - 1) // 20  # from here on PyTorch shuffles by another algorithm


def random_(array: Array, generator: Generator, low: int | None = None, high: int | None = None) -> None:
    """Fill with integers uniform in [low, high): low + r mod (high − low), with r of 32 bits, or 64 for a range ≥ 2²⁸.

    Without `high` the last value is the largest of the dtype; of a floating point type, the last to which all integers
    are exact. Without both bounds `low` is 0. `random_(array, generator, -2**63)` draws any int64.
    Raises RuntimeError when low ≥ high or when a bound does not fit the dtype, NotImplementedError for other dtypes;
    warns where a floating point type can't hold every integer of the range.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.random_.html
    """
    fill(array, integers(array.dtype, array.size, generator.bits, low, high))


def integers(
    dtype: np.dtype[Any], count: int, bits: Callable[[int, int], Array], low: int | None, high: int | None
) -> Array:
    """What `random_` fills an array with; `bits(count, width)` draws on the device where it lies."""
    if low is not None and (high is not None or low != INT64_MIN):
        low, high = _range(dtype, low, high)
        draws = bits(count, 64 if high - low >= WIDE else 32)
        draws %= draws.dtype.type(high - low)
        values: Array = draws.astype(np.int64) + np.int64(low)
        return values
    if not count:
        return np.empty(0)
    return (_random_full if low is None else _random_int64)(dtype, count, bits)


def _random_full(dtype: np.dtype[Any], count: int, bits: Callable[[int, int], Array]) -> Array:
    if dtype.kind == "c":
        raise not_implemented(dtype, "random_kernel_cpu")
    last = 2 ** DIGITS[dtype] if is_floating(dtype) else int(limits(dtype)[1])
    return bits(count, 64 if dtype in (np.int64, np.float64) else 32) % np.uint64(last + 1)


def _random_int64(dtype: np.dtype[Any], count: int, bits: Callable[[int, int], Array]) -> Array:
    if dtype.kind == "c" or dtype in (np.float16, np.bool_):
        raise not_implemented(dtype, "random_full_64_bits_range_kernel_cpu")
    if dtype != np.int64 and not is_floating(dtype):
        raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
    return bits(count, 64).view(np.int64)


def _range(dtype: np.dtype[Any], low: int, high: int | None) -> tuple[int, int]:
    """The bounds that are drawn between: a floating point type moves them inwards to numbers that it can hold."""
    if dtype.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    digits, floating = DIGITS.get(dtype, 0), is_floating(dtype)
    if floating and high is not None and -(2**digits) < low < high < 2**digits:
        return low, high  # the dtype holds all of these exactly
    smallest, largest = limits(dtype)
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if floating:
        low = _raised(dtype, low)
        if high is None:
            high = min(2**digits, 2**63 - 1) + 1
            if low >= high - 1:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, "
                    f"but got from={low} > to_inc={high - 1}"
                )
        else:
            high = _lowered(dtype, high)
            if low >= high:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                    f"but got from={low} >= to={high}"
                )
    elif high is None:
        high = int(largest) + 1
    for bound, value in (("from", low), ("to - 1", high - 1)):
        if not smallest <= value <= largest:
            raise RuntimeError(f"{bound} is out of bounds for {C_NAMES[dtype.name]}")
        if floating and abs(value) > 2**digits:
            warnings.warn(
                f"{bound} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                f"{C_NAMES[dtype.name]} can support discrete uniform distribution only within this range. This warning "
                "will become an error in version 1.7 release, please fix the code in advance",
                stacklevel=4,
            )
    return low, high


def _as_stored(dtype: np.dtype[Any], value: int) -> int:
    """An integer after a round trip through `dtype`; what no int64 can hold comes back as the smallest, as on x86."""
    stored = float(convert(np.array(value), dtype))
    return int(stored) if abs(stored) < 2**63 else INT64_MIN


def _raised(dtype: np.dtype[Any], low: int) -> int:
    """`low`, or the next number of `dtype` above where low + 1 would be stored as less than low."""
    stored = _as_stored(dtype, low + 1)
    return stored + _spacing(dtype, low + 1) if stored < low else low


def _lowered(dtype: np.dtype[Any], high: int) -> int:
    """`high`, or the next number of `dtype` below where high − 1 would be stored as high or more."""
    stored = _as_stored(dtype, high - 1)
    return stored - _spacing(dtype, high - 1) if stored >= high else high


def _spacing(dtype: np.dtype[Any], value: int) -> int:
    """The distance between neighbouring numbers of `dtype` at `value`."""
    return 1 << abs(value).bit_length() - DIGITS[dtype]


def randperm(n: int, generator: Generator, dtype: Any = np.int64) -> Array:
    """A permutation of 0 … n − 1: each position i from the first on is exchanged with one of i … n − 1 (Fisher-Yates).

    Raises RuntimeError when n is negative or too large for the dtype, NotImplementedError for bool, complex and more
    than two hundred million elements.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.randperm.html
    """
    dtype = np.dtype(dtype)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    check_randperm(n, dtype)
    if n >= RANDPERM_LIMIT:
        raise NotImplementedError(f"randperm: n must be less than {RANDPERM_LIMIT}")
    numbers = np.arange(n)
    if n > 1:
        exchange(np, numbers, drawn(generator, n - 1, np.uint32))
    return convert(numbers, dtype)


def randperm_(array: Array, generator: Generator, n: int) -> None:
    """Fill with a permutation: see `randperm`."""
    array[...] = randperm(n, generator, array.dtype)


@on_cpu("draws")
def exchange(xp: Any, numbers: Array, draws: Array) -> None:
    """Exchanges 0 … n − 1, each position i in turn with i + draws[i] mod (n − i)."""
    partners = numbers.copy()
    partners[:-1] += (draws % np.arange(numbers.size, 1, -1, dtype=draws.dtype)).astype(np.int64)
    numbers[...] = (_exchanged if numbers.size > FEW else _exchanged_in_turn)(partners)


def _exchanged_in_turn(partners: Array) -> Array:
    """0 … n − 1 after each position i in turn was exchanged with partners[i]."""
    numbers = list(range(len(partners)))
    for i, partner in enumerate(partners.tolist()):
        numbers[i], numbers[partner] = numbers[partner], numbers[i]
    return np.array(numbers, np.int64)


def _exchanged(partners: Array) -> Array:
    """What `_exchanged_in_turn` gives, for partners[i] ≥ i, found without a loop over the turns.

    In its turn, i gets what its partner holds: what the visitor before i had left there, or where there was none, the
    partner's own number. And what i held itself was left there by its last visitor; following these back, in steps that
    double, leads to the one that held its own number.
    """
    positions = np.arange(len(partners))
    last = positions.copy()
    last[partners] = positions  # of several visitors of a position, the last one stays
    held, rest = last.copy(), np.flatnonzero(last[partners] != positions)
    before = np.full(len(partners), -1)  # who came before to the same partner: found from the last on
    while rest.size:
        visited = partners[rest]
        later = last[visited]
        last[visited] = rest
        is_last = last[visited] == rest
        before[later.compress(is_last)] = rest.compress(is_last)  # `compress` is four times faster than [is_last]
        rest = rest.compress(~is_last)
    alone = np.flatnonzero(partners == positions)
    held[alone] = np.where(before[alone] < 0, alone, before[alone])
    while not np.array_equal(further := held[held], held):
        held = further
    return np.where(before < 0, partners, held[before])


def check_randperm(n: int, dtype: np.dtype[Any]) -> None:
    """Raises where n − 1 doesn't fit the dtype."""
    if dtype.kind in "iu" and n - 1 > limits(dtype)[1]:
        raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
    if dtype in (np.float16, np.float32, np.float64) and n > 2 ** DIGITS[dtype] + 1:
        written = "2049" if dtype == np.float16 else f"2^{DIGITS[dtype]}+1"
        raise RuntimeError(f"n cannot be greater than {written} for {SCALAR_TYPES[dtype.name]} type.")
    if dtype == np.bool_ or dtype.kind == "c":
        raise not_implemented(dtype, "randperm")


def bernoulli_(array: Array, generator: Generator, p: Array | float = 0.5) -> None:
    """Fill with ones, each with probability p, and zeros: 1 where u < p.

    u has 53 bits for a number p and for a float64 array, which is broadcast; 24 bits for an array of another dtype.
    Raises RuntimeError when p isn't in [0, 1], NotImplementedError for complex elements or integer probabilities.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.bernoulli_.html
    """
    if not isinstance(p, np.ndarray):
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        if array.size:
            if array.dtype.kind == "c":
                raise not_implemented(array.dtype, "bernoulli_scalar_cpu_")
            fill(array, uniform_float64(generator, array.size) < p)
        return
    if array.size == 0:
        return
    if array.dtype.kind == "c":
        raise not_implemented(array.dtype, "bernoulli_tensor_cpu_self_")
    if not is_floating(p.dtype):
        raise not_implemented(p.dtype, "bernoulli_tensor_cpu_p_")
    if not np.all((p >= 0) & (p <= 1)):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  "
            "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    uniform = np.empty_like(array, np.float64 if p.dtype == np.float64 else np.float32)
    fill(uniform, (uniform_float64 if p.dtype == np.float64 else uniform_float32)(generator, array.size))
    array[...] = uniform < np.broadcast_to(p, array.shape).astype(uniform.dtype)


def dropout_mask(array: Array, generator: Generator, p: float, fused: bool = True) -> None:
    """Fill with what dropout multiplies by: 0 with probability p, else 1/(1 − p). Nothing is drawn for p = 0 and p = 1.

    `fused` makes a difference on GPUs only, where dropout of single elements has a kernel of its own.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.dropout.html
    """
    if p in (0, 1):
        array[...] = 1 - p
        return
    bernoulli_(array, generator, 1 - p)
    working = np.dtype(np.float64 if array.dtype == np.float64 else np.float32)
    array *= convert(working.type(1) / np.asarray(1 - p, working), array.dtype)


def geometric_(array: Array, generator: Generator, p: float) -> None:
    """Fill with the number of trials up to the first success of probability p: ⌈ln u / ln(1 − p)⌉.

    Raises RuntimeError unless 0 < p < 1, NotImplementedError for bool and complex.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.geometric_.html
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if array.size:
        if array.dtype == np.bool_ or array.dtype.kind == "c":
            raise not_implemented(array.dtype, "geometric_cpu")
        fill(array, np.ceil(np.log(uniform_float64(generator, array.size)) / np.log1p(-p)))
