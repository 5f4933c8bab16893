"""Dividing arguments among GPUs, and joining results.

Source: https://pytorch.org/docs/stable/nn.functional.html#dataparallel-functions-multi-gpu-distributed
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from minitorch import Tensor, cat
from minitorch.devices import device as Device


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_asdict") and hasattr(value, "_fields")


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """What each GPU gets of a nest of tensors: its piece along `dim` of each tensor; the rest goes to all.

    A tensor that is shorter than the number of GPUs gives as many pieces as it can, and so does the whole.
    """
    if isinstance(inputs, Tensor):
        pieces = inputs.chunk(len(target_gpus), dim)
        return tuple(piece.to(Device(gpu)) for piece, gpu in zip(pieces, target_gpus, strict=False))
    if _is_namedtuple(inputs):
        columns = zip(*(scatter(each, target_gpus, dim) for each in inputs), strict=False)
        return [type(inputs)(*column) for column in columns]
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(each, target_gpus, dim) for each in inputs), strict=False))
    if isinstance(inputs, list) and inputs:
        return [list(column) for column in zip(*(scatter(each, target_gpus, dim) for each in inputs), strict=False)]
    if isinstance(inputs, dict) and inputs:
        columns = zip(*(scatter(each, target_gpus, dim) for each in inputs.values()), strict=False)
        return [type(inputs)(zip(inputs, column, strict=True)) for column in columns]
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """`scatter` of positional and of named arguments; the shorter of both is filled up with nothing."""
    scattered = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    scattered += [() for _ in range(len(named) - len(scattered))]
    named += [{} for _ in range(len(scattered) - len(named))]
    return tuple(scattered), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of all GPUs on one device, tensors joined along `dim`, and numbers stacked to a vector.

    Raises AssertionError for tensors of the CPU, ValueError for dicts of different sizes.
    """
    first = outputs[0]
    where = Device("cpu") if target_device == -1 else Device(target_device)
    if isinstance(first, Tensor):
        if any(each.is_cpu for each in outputs):
            raise AssertionError("Gather function not implemented for CPU tensors")
        if dim == 0 and all(each.dim() == 0 for each in outputs):
            warnings.warn(
                "Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and "
                "return a vector.",
                stacklevel=2,
            )
            outputs = [each.reshape(1) for each in outputs]
        return cat([each.to(where) for each in outputs], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(first) == len(each) for each in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([each[key] for each in outputs], target_device, dim)) for key in first)
    columns = [gather(list(column), target_device, dim) for column in zip(*outputs, strict=True)]
    return type(first)(*columns) if _is_namedtuple(first) else type(first)(columns)
