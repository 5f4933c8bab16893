"""Which of several equal elements is chosen: the one that torch chooses on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch", reason="the expected choices are torch's")

SELECTIONS: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: x.sort().indices,
    "sort descending": lambda x: x.sort(descending=True).indices,
    "sort stable": lambda x: x.sort(stable=True).indices,
    "sort rows": lambda x: x.sort(dim=0).indices,
    "argsort": lambda x: x.argsort(),
    "topk 1": lambda x: x.topk(1).indices,
    "topk half": lambda x: x.topk(max(1, x.shape[-1] // 2)).indices,
    "topk smallest": lambda x: x.topk(max(1, x.shape[-1] // 3), largest=False).indices,
    "topk all": lambda x: x.topk(x.shape[-1]).indices,
    "topk unsorted": lambda x: x.topk(max(1, x.shape[-1] // 2), sorted=False).indices,
    "topk rows": lambda x: x.topk(1, dim=0).indices,
    "kthvalue first": lambda x: x.kthvalue(1).indices,
    "kthvalue middle": lambda x: x.kthvalue((x.shape[-1] + 1) // 2).indices,
    "kthvalue last": lambda x: x.kthvalue(x.shape[-1]).indices,
    "median": lambda x: x.median(-1).indices,
    "mode": lambda x: x.nan_to_num().mode().indices,  # torch's own depends on where a NaN happens to be
}


def rows(size: int, seed: int) -> Any:
    """Three rows with about three elements of each value, a NaN among them."""
    random = np.random.default_rng(seed)
    data = random.integers(0, max(2, size // 3), (3, size)).astype("float32")
    data[0, random.integers(size)] = np.nan
    return data


@pytest.mark.parametrize("name", SELECTIONS)
def test_the_choice_among_equal_elements_is_torchs(name: str) -> None:
    select = SELECTIONS[name]
    for size in (1, 2, 3, 4, 5, 8, 13, 16, 17, 20, 33, 100, 257):
        for seed in range(4):
            data = rows(size, seed)
            for kind in ("float32", "int64"):
                data = np.nan_to_num(data) if kind == "int64" else data
                theirs, ours = (lib.from_numpy(data.astype(kind)) for lib in (torch, minitorch))
                assert select(ours).tolist() == select(theirs).tolist(), (size, seed, kind)


def test_in_large_tensors_equal_elements_keep_their_order() -> None:
    x = minitorch.zeros(5000)
    assert x.sort().indices.tolist() == list(range(5000))
    assert x.topk(100).indices.tolist() == list(range(100))
