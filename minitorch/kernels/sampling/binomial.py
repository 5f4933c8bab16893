"""Binomial numbers.

Below ten expected successes (or failures, where these are rarer) the trials between them are skipped by geometric
numbers. Otherwise it is transformed rejection, BTRS (Hörmann 1993, doi:10.1080/00949659308811496): of two uniform
numbers, u in [−½, ½) and v, the first proposes k = ⌊(2a/us + b) u + centre⌋, us = ½ − |u|, and the second decides. In
the middle, us ≥ 0.07, it accepts all up to a constant, elsewhere all up to the probability of k over that of proposing
it.

How many uniform numbers an element takes depends on their values, so that one element comes after the other. But in
transformed rejection every attempt takes two: where all elements of a block have the same parameters, all attempts are
decided at once, and the i-th that accepts is the i-th element's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from minitorch.dtypes import type_name
from minitorch.kernels.sampling.ahead import draw_ahead
from minitorch.kernels.sampling.arithmetic import Array
from minitorch.kernels.sampling.fill import is_floating, not_implemented
from minitorch.random import Generator

NOTHING, GEOMETRIC, TRANSFORMED = 0, 1, 2  # ways to draw an element's number
MIDDLE: Final = 0.07
IN_TABLE: Final = 2**14  # factorials

Acceptance = Callable[[int, float, float], bool]


def binomial(count: Array, prob: Array, generator: Generator) -> Array:
    """Binomial numbers: successes of `count` trials with probability `prob`, broadcast. float32 or float64.

    NaN where one of them is, and the other leaves it open; PyTorch doesn't come back from a `count` of NaN.
    Raises ValueError for integers, RuntimeError for unequal dtypes, NotImplementedError for 16-bit types.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.binomial.html
    """
    check(count, prob)
    if count.dtype not in (np.float32, np.float64):
        raise not_implemented(count.dtype, "binomial_cpu")
    count, prob = np.broadcast_arrays(count, prob)
    rarer = draw_ahead(_block, generator, count.ravel(), prob.ravel()).astype(count.dtype).reshape(count.shape)
    rarer[np.isnan(count) | np.isnan(prob)] = np.nan
    return np.where((count <= 0) | (prob <= 0), count.dtype.type(0), np.where(prob <= 0.5, rarer, count - rarer))


def check(count: Array, prob: Array) -> None:
    """Raises ValueError for integers, RuntimeError for unequal dtypes."""
    for name, array in (("count", count), ("prob", prob)):
        if not is_floating(array.dtype):
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {type_name(array)}")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {type_name(prob)} but expected {type_name(count)}")


class Functions(NamedTuple):
    """What a formula takes its functions from, so that it is the same for numbers and for arrays of them.

    `stored` rounds to what the dtype of the parameters can hold.
    """

    log: Callable[[Any], Any]
    stirling_rest: Callable[[Any], Any]
    stored: Callable[[Any], Any]


class BinomialParameters(NamedTuple):
    """What the numbers of n trials depend on, arrays with a number for each element.

    What is counted are successes or failures, whichever are rarer. The names up to `quick` say how they are drawn; the
    others are what `_accepts` needs: n, a, b and `centre` make the proposals, `scale` relates their density to the
    probabilities, and m is the k with the greatest.
    """

    way: Array
    log_failure: Array
    quick: Array
    n: Array
    a: Array
    b: Array
    centre: Array
    scale: Array
    odds: Array
    m: Array

    @classmethod
    def of(cls, n: Array, prob: Array) -> BinomialParameters:
        """Those of arrays of one dtype, in which is computed what PyTorch computes in it, and the rest in float64."""
        p = np.where(prob <= 0.5, prob, (1 - prob.astype(np.float64)).astype(prob.dtype))
        way = np.where(n * p >= 10, TRANSFORMED, GEOMETRIC) * ((n > 0) & (prob > 0) & (prob < 1))
        log_failure = np.log1p(-p.astype(np.float64)).astype(p.dtype)
        own = (n, p, n * p, np.sqrt(n * p * (1 - p)), p / (1 - p), np.floor((n + 1) * p), log_failure)
        n, p, mean, deviation, odds, m, log_failure = (each.astype(np.float64) for each in own)
        b = 1.15 + 2.53 * deviation
        return cls(
            way=way.astype(np.uint8),
            log_failure=log_failure,
            quick=0.92 - 4.2 / b,
            n=n,
            a=-0.0873 + 0.0248 * b + 0.01 * p,
            b=b,
            centre=mean + 0.5,
            scale=(2.83 + 5.1 / b) * deviation,
            odds=odds,
            m=m,
        )

    def greatest(self) -> Array:
        """The logarithm of the probability of m, as far as `_accepts` compares those of other k with it."""
        n, odds, m = self.n, self.odds, self.m
        return np.asarray(
            (m + 0.5) * np.log((m + 1) / (odds * (n - m + 1))) + stirling_rests(m) + stirling_rests(n - m)
        )


def _block(uniform: Array, count: Array, prob: Array) -> tuple[Array, int]:
    """Numbers for as many elements as the uniform numbers suffice for, and how many of these they took."""
    elements = BinomialParameters.of(count, prob)
    rounded = count.dtype == np.float32 and count.max() >= 2**24
    if elements.way[0] == TRANSFORMED and not rounded and np.all(count == count[0]) and np.all(prob == prob[0]):
        return _all_alike(uniform, elements)
    if count.min() >= 0 and count.max() < IN_TABLE and np.all(count == np.floor(count)):
        return _one_after_another(uniform, elements, _acceptance_by_table(elements))
    return _one_after_another(uniform, elements, _acceptance(elements, ROUNDED if rounded else OF_NUMBERS))


def _all_alike(uniform: Array, elements: BinomialParameters) -> tuple[Array, int]:
    """The numbers of elements that are all like the first one, and are drawn by transformed rejection."""
    quick, *first = (each[0] for each in (*elements[2:], elements.greatest()))
    pairs = uniform[: uniform.size // 2 * 2].reshape(-1, 2)
    u, v = pairs[:, 0] - 0.5, pairs[:, 1]
    k = _proposed(u, *first)
    accepted = (0.5 - np.abs(u) >= MIDDLE) & (v <= quick)
    open_ = np.flatnonzero(~accepted & (k >= 0) & (k <= first[0]))
    accepted[open_] = _accepts(OF_ARRAYS, u[open_], v[open_], k[open_], *first)
    chosen = np.flatnonzero(accepted)[: elements.n.size]
    return k[chosen], 2 * int(chosen[-1] + 1) if chosen.size else 0


def _acceptance(elements: BinomialParameters, functions: Functions) -> Acceptance:
    """Says of an element, u and v whether it accepts what they propose."""
    rows = np.stack((*elements[3:], elements.greatest()), axis=1)

    def accepts(element: int, u: float, v: float) -> bool:
        n, a, b, centre, *others = rows[element].tolist()
        us = 0.5 - abs(u)
        k = (2 * a / us + b) * u + centre if us else -1.0
        if not 0 <= k < math.inf or (k := functions.stored(math.floor(k))) > n:
            return False
        return bool(_accepts(functions, u, v or 2.0**-54, k, n, a, b, centre, *others))  # 0 has no logarithm

    return accepts


@cache
def _log_factorials() -> Array:
    return np.fromiter(map(math.lgamma, range(1, IN_TABLE + 1)), np.float64, IN_TABLE)


def _acceptance_by_table(elements: BinomialParameters) -> Acceptance:
    """The same for n < IN_TABLE, with logarithms of factorials from a table: faster, and the same mathematically."""
    n, log_odds = elements.n.astype(np.int64), np.log(elements.odds)
    m = np.where(elements.way == TRANSFORMED, elements.m, 0).astype(np.int64)
    log_factorial = _log_factorials()
    greatest = m * log_odds - log_factorial[m] - log_factorial[n - m]
    constants = (elements.a, elements.b, elements.centre, elements.scale, log_odds, greatest)
    rows, trials, table = np.stack(constants, axis=1), n.data, log_factorial.data

    def accepts(element: int, u: float, v: float) -> bool:
        a, b, centre, scale, log_odds, greatest = rows[element].tolist()
        us, n = 0.5 - abs(u), trials[element]
        k = math.floor((2 * a / us + b) * u + centre) if us else -1
        if not 0 <= k <= n:
            return False
        log_ratio = k * log_odds - table[k] - table[n - k] - greatest
        return v * scale <= (a / (us * us) + b) * math.exp(log_ratio)

    return accepts


def _one_after_another(uniform: Array, elements: BinomialParameters, accepts: Acceptance) -> tuple[Array, int]:
    draws, minus_logs = uniform.data, (-np.log(uniform)).data
    log_failure, quick, n = elements.log_failure.data, elements.quick.data, elements.n.data
    made: list[int] = []  # a geometric number's events; otherwise where the pair starts that was accepted
    used = 0
    try:
        for element, way in enumerate(elements.way.tobytes()):
            position = used
            if way == TRANSFORMED:
                limit = quick[element]
                while True:
                    u, v = draws[position], draws[position + 1]
                    if (v <= limit and MIDDLE <= u <= 1 - MIDDLE) or accepts(element, u - 0.5, v):
                        break
                    position += 2
                made.append(position)
                used = position + 2
            elif way == GEOMETRIC:
                failure, trials = log_failure[element], n[element]
                trials += minus_logs[position] // failure  # less the trials up to the next event, ⌈ln u / ln(1 − p)⌉
                while trials >= 0:
                    position += 1
                    trials += minus_logs[position] // failure
                made.append(position - used)
                used = position + 1
            else:
                made.append(0)
    except IndexError:  # the uniform numbers have run out: this element waits for the next block
        pass
    numbers = np.array(made, np.float64)
    chosen = np.flatnonzero(elements.way[: numbers.size] == TRANSFORMED)
    proposals = uniform[np.array(made, np.int64)[chosen]] - 0.5
    numbers[chosen] = _proposed(proposals, *(each[chosen] for each in elements[3:]))
    return numbers, used


def _proposed(u: Array, n: Any, a: Any, b: Any, centre: Any, *others: Any) -> Array:
    return np.asarray(np.floor((2 * a / (0.5 - np.abs(u)) + b) * u + centre))


def _accepts(
    functions: Functions, u: Any, v: Any, k: Any, n: Any, a: Any, b: Any, centre: Any, scale: Any, odds: Any, m: Any,
    greatest: Any,
) -> Any:  # fmt: skip
    """Whether v is at most the probability of k in [0, n], divided by that of its proposal."""
    log, stirling_rest, stored = functions
    us, rest = 0.5 - abs(u), stored(n - k)
    above, below = stored(rest + 1), stored(k + 1)
    log_ratio = (
        greatest
        + stored(n + 1) * log((n - m + 1) / above)
        + (k + 0.5) * log(odds * above / below)
        - stirling_rest(k)
        - stirling_rest(rest)
    )
    return log(v * scale / (a / (us * us) + b)) <= log_ratio


def _exact_stirling_rest(k: int) -> float:
    return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))


STIRLING_RESTS: Final = [_exact_stirling_rest(k) for k in range(10)]


def _stirling_rest(k: float) -> float:
    """ln k! − ((k + ½) ln(k + 1) − (k + 1) + ½ ln 2π), what Stirling's formula leaves out; a series from k = 10 on."""
    if k < 10:
        return STIRLING_RESTS[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def stirling_rests(k: Array) -> Array:
    """`_stirling_rest` of each."""
    square = (k + 1) * (k + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    return np.where(k < 10, np.take(STIRLING_RESTS, k.astype(np.int64), mode="clip"), series)


def _unchanged(value: Any) -> Any:
    return value


def _single(value: float) -> float:
    return float(np.float32(value))


OF_NUMBERS: Final = Functions(math.log, _stirling_rest, float)
ROUNDED: Final = Functions(math.log, _stirling_rest, _single)
OF_ARRAYS: Final = Functions(np.log, stirling_rests, _unchanged)
