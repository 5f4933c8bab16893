"""Draws of categories with given probabilities."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from minitorch.arrays.loops import on_cpu
from minitorch.dtypes import type_name
from minitorch.kernels.sampling.arithmetic import Array
from minitorch.kernels.sampling.continuous import exponential_
from minitorch.kernels.sampling.fill import is_floating, uniform_float64
from minitorch.random import Generator

MAX_CATEGORIES: Final = 2**24
FEW: Final = 32  # categories that are compared with the samples of many rows faster than each row is searched


def multinomial(probabilities: Array, num_samples: int, replacement: bool, generator: Generator) -> Array:
    """Indices of `num_samples` categories for each row of non-negative weights: (n,) → (k,), (m, n) → (m, k), int64.

    Without replacement, and for one sample: the categories with the largest p/q, q exponentially distributed, in
    falling order. These are the Gumbel-top-k of ln p (Kool et al. 2019, https://arxiv.org/abs/1903.06059).
    With replacement: the first category up to which the weights' share of their sum is at least a uniform number.
    Equal scores keep their order; PyTorch's topk leaves it open, which shows in 16-bit types.
    Raises RuntimeError for another shape or dtype, too many or too few samples, and rows that are no weights.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.multinomial.html
    """
    one_by_one = check(probabilities, num_samples, replacement)
    if probabilities.ndim == 2 and len(probabilities) == 0:
        return np.empty((0, num_samples), np.int64)
    if one_by_one:
        rows = np.atleast_2d(probabilities)
        indices = _with_replacement(rows, uniform_float64(generator, len(rows) * num_samples).reshape(len(rows), -1))
        return indices.reshape(*probabilities.shape[:-1], num_samples)
    scores = np.empty_like(probabilities)
    exponential_(scores, generator)
    scores = (probabilities / scores).astype(np.float64)
    if num_samples == 1:
        return np.asarray(np.argmax(scores, axis=-1, keepdims=True))
    return _largest(scores, num_samples)


def _largest(scores: Array, count: int) -> Array:
    """Indices of the largest scores of each row, in falling order; of equal ones the first comes first."""
    if 4 * count < scores.shape[-1]:
        last = np.partition(scores, -count, axis=-1)[..., -count, np.newaxis]
        found = scores >= last
        if np.count_nonzero(found) == scores.size // scores.shape[-1] * count:  # no other is as large as the last one
            places = np.nonzero(found)[-1].reshape(*scores.shape[:-1], count)
            return np.take_along_axis(places, _largest(scores[found].reshape(places.shape), count), -1)
    return np.argsort(-scores, axis=-1, kind="stable")[..., :count]


def _with_replacement(rows: Array, uniform: Array) -> Array:
    indices = np.zeros(uniform.shape, np.int64)
    choose(np, indices, rows.astype(np.float64 if rows.dtype == np.float64 else np.float32, copy=False), uniform)
    return indices


@on_cpu("draws")
def choose(xp: Any, indices: Array, weights: Array, uniform: Array) -> None:
    """Writes where the weights' share of their sum reaches each of a row's uniform numbers, into zeros."""
    shares = xp.cumsum(weights, axis=-1)
    shares /= shares[:, -1:]
    if shares.shape[1] > min(len(weights), FEW + 1000 // uniform.shape[1]):
        for into, share, numbers in zip(indices, shares.astype(np.float64), uniform, strict=True):
            into[...] = xp.searchsorted(share, numbers)
    else:
        for share in shares.T:
            indices += share[:, np.newaxis] < uniform


def check(probabilities: Array, num_samples: int, replacement: bool) -> bool:
    """Whether the samples are drawn one by one. Raises for what is refused."""
    if probabilities.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not is_floating(probabilities.dtype):
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {type_name(probabilities)}"
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > probabilities.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if probabilities.shape[-1] > MAX_CATEGORIES:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if probabilities.ndim == 1 or len(probabilities):
        _check_weights(probabilities)
    return replacement and num_samples > 1


def _check_weights(probabilities: Array) -> None:
    if not np.all((probabilities >= 0) & (probabilities < np.inf)):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not np.all(np.any(probabilities > 0, axis=-1)):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
