"""How samples become a batch: what they are made of is stacked, their structure stays.

Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.default_collate
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from minitorch import Tensor, as_tensor, float64, stack
from minitorch.utils.data.dataset import Rows

np_str_obj_array_pattern = re.compile("[SaUO]")
"""The kinds of NumPy's types whose arrays don't become tensors: strings and objects."""
CollateMap = dict[Any, Callable[..., Any]]

_ERROR = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_collate(batch: Any) -> Any:
    """A batch out of a list of samples: tensors and arrays are stacked, numbers become a tensor (floats float64).

    Strings stay a list. Mappings, named tuples and sequences are batched part by part, tuples as lists.

    Raises TypeError for other types, RuntimeError for sequences of unequal lengths.
    """
    if isinstance(batch, Rows):
        return list(batch.tensors)
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """default_collate with functions of the user: `collate_fn_map` says by type what makes a batch of leaves."""
    first = batch[0]
    kind = type(first)
    functions = collate_fn_map or {}
    function = functions.get(kind) or next((f for types, f in functions.items() if isinstance(first, types)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        parts = {key: collate([each[key] for each in batch], collate_fn_map=collate_fn_map) for key in first}
        return _like_mapping(first, parts)
    if isinstance(first, Sequence):
        columns = _columns(batch)
        if hasattr(first, "_fields"):
            return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in columns))
        return _like_sequence(first, [collate(column, collate_fn_map=collate_fn_map) for column in columns])
    raise TypeError(_ERROR.format(kind))


def _columns(batch: Any) -> list[tuple[Any, ...]]:
    if any(len(each) != len(batch[0]) for each in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    return list(zip(*batch, strict=True))


def _like_mapping(original: Any, parts: dict[Any, Any]) -> Any:
    """The parts in a mapping of the original's type and with its attributes, or else in a dict."""
    try:
        if isinstance(original, MutableMapping):
            clone = copy.copy(original)
            clone.update(parts)
            return clone
        return type(original)(parts)
    except TypeError:
        return parts


def _like_sequence(original: Any, parts: list[Any]) -> Any:
    """The parts in a sequence of the original's type and with its attributes, or else (as for tuples) in a list."""
    if isinstance(original, tuple):
        return parts
    try:
        if isinstance(original, MutableSequence):
            clone = copy.copy(original)
            for index, part in enumerate(parts):
                clone[index] = part
            return clone
        return type(original)(parts)
    except TypeError:
        return parts


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """The tensors stacked along a new first dimension."""
    return stack(batch)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """The arrays, as tensors, stacked. Raises TypeError for arrays of strings or objects."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(_ERROR.format(batch[0].dtype))
    return collate([as_tensor(each) for each in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return as_tensor(list(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return as_tensor(list(batch), dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return as_tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return batch


default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_convert(data: Any) -> Any:
    """A single sample with its NumPy arrays and numbers made tensors; all else, and the structure, stays.

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.default_convert
    """
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    return mapped(default_convert, data)


def mapped(function: Callable[[Any], Any], data: Any) -> Any:
    """A mapping, a named tuple or a sequence with the function of its parts; all else as it is."""
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: function(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(function, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [function(each) for each in data])
    return data
