"""How samples become a batch."""

# 18 · Data
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ... import Tensor, as_tensor, float64, stack, tensor


def default_collate(batch: Sequence[Any]) -> Any:
    """A batch with the structure of a sample: dicts and sequences are batched part by part."""
    first = batch[0]
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, (str, bytes)) or not isinstance(first, Sequence):
        return collate_leaves(batch)
    if any(len(each) != len(first) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(column) for column in zip(*batch, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


def collate_leaves(batch: Sequence[Any]) -> Any:
    """Tensors and arrays stacked, numbers as one tensor, strings as they are."""
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return stack([as_tensor(each) for each in batch])
    if isinstance(first, (int, float, np.number, np.bool_)):
        return tensor(batch, dtype=float64 if isinstance(first, float) else None)
    found = first.dtype if isinstance(first, np.ndarray) else type(first)
    wanted = "tensors, numpy arrays, numbers, dicts or lists"
    raise TypeError(f"default_collate: batch must contain {wanted}; found {found}")
