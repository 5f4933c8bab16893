"""Binomial numbers."""

from __future__ import annotations

import numpy as np

from minitorch.random import Generator
from minitorch.sampling.arithmetic import Array
from minitorch.sampling.fill import NAMES, is_floating, not_implemented
from minitorch.sampling.rejection import binomial_sample


def binomial(count: Array, prob: Array, generator: Generator) -> Array:
    """Binomial numbers: successes of `count` trials with probability `prob`, broadcast. float32 or float64.

    Expected successes (or, for prob > ½, failures) below 10: trials between them are skipped by geometric numbers.
    Otherwise transformed rejection, algorithm BTRS (Hörmann 1993, doi:10.1080/00949659308811496).
    Raises ValueError for integers, RuntimeError for unequal dtypes, NotImplementedError for 16-bit types.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.binomial.html
    """
    for name, array in (("count", count), ("prob", prob)):
        if not is_floating(array.dtype):
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {NAMES[array.dtype].scalar}"
            )
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {NAMES[prob.dtype].scalar} but expected {NAMES[count.dtype].scalar}")
    if count.dtype not in (np.float32, np.float64):
        raise not_implemented(count.dtype, "binomial_cpu")
    count, prob = np.broadcast_arrays(count, prob)
    numbers = [binomial_sample(*each, generator) for each in zip(count.ravel(), prob.ravel(), strict=True)]
    return np.array(numbers, count.dtype).reshape(count.shape)
