"""How a float32 number becomes a bfloat16: the upper half of its bits stays, and there are two ways to round."""

# 22 · Mixed precision
from __future__ import annotations

from typing import Any

import numpy as np

from .. import bfloat16, randint
from ..tensor import Tensor, from_array


def cut(array: Any, extra: Any) -> Any:
    """A float32 array as bfloat16: add `extra` to the bits of each number, then drop the lower 16."""
    bits = (array.view(np.uint32) + np.asarray(extra, np.uint32)) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(bfloat16.numpy)


def nearest(x: Tensor) -> Tensor:
    """A float32 tensor in bfloat16, rounded as `x.bfloat16()` does (NaN aside): to the nearest, ties to even."""
    is_odd = x.array.view(np.uint32) >> 16 & 1  # the last bit that stays
    return from_array(cut(x.array, is_odd + np.uint32(0x7FFF)))


def stochastic_round(x: Tensor) -> Tensor:
    """A float32 tensor in bfloat16, rounded up or down at random, the nearer the likelier: right on average."""
    extra = randint(0, 2**16, x.shape, device=x.device)
    return from_array(cut(x.array, extra.array.astype(np.uint32)))
