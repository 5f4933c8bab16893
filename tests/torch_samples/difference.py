"""What differs between two results: one of torch, one of minitorch."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch
from tests.torch_samples.samples import DTYPES, OutOfScopeError, torch

TOLERANCES = {  # relative to an element, and to the largest element
    "float32": (2e-5, 1e-5),
    "float64": (1e-9, 1e-9),
    "complex64": (2e-5, 2e-5),
    "complex128": (1e-9, 1e-9),
    "bfloat16": (1.7e-2, 1e-2),
    "float16": (2e-3, 2e-3),
}


def difference(
    expected: Any, result: Any, where: str = "result", *, values: bool = True, strides: bool = True
) -> str | None:
    """The first difference, in words: of type, shape, dtype, strides, requires_grad or numbers; None if none."""
    if isinstance(expected, torch.Tensor):
        return _of_tensors(expected, result, where, values, strides)
    if isinstance(expected, (tuple, list)) and not isinstance(expected, torch.Size):
        names = [type(each).__name__.removesuffix("_out") for each in (expected, result)]
        if names[0] != names[1] or len(expected) != len(result):
            return f"{where}: {names[0]} of {len(expected)} expected, got {names[1]}"
        for number, pair in enumerate(zip(expected, result, strict=True)):
            if found := difference(*pair, f"{where}[{number}]", values=values, strides=strides):
                return found
        return None
    if isinstance(expected, dict):
        if list(expected) != list(result):
            return f"{where}: the keys {list(expected)} expected, got {list(result)}"
        for key, value in expected.items():
            if found := difference(value, result[key], f"{where}[{key!r}]", values=values, strides=strides):
                return found
        return None
    if isinstance(expected, float) and isinstance(result, float):
        close = np.isclose(expected, result, 1e-5, 0, equal_nan=True)
        return None if close else f"{where}: {expected} expected, got {result}"
    same = str(expected) == str(result) if isinstance(expected, torch.dtype) else expected == result
    return None if same else f"{where}: {expected!r} expected, got {result!r}"


def _of_tensors(expected: Any, result: Any, where: str, values: bool, strides: bool) -> str | None:
    if expected.layout is not torch.strided or expected.dtype not in DTYPES:
        raise OutOfScopeError(str(expected.dtype))
    if not isinstance(result, minitorch.Tensor):
        return f"{where}: a tensor expected, got {type(result).__name__}"
    for name in ("dtype", "shape", "requires_grad"):
        one, other = (str(getattr(each, name)) for each in (expected, result))
        if one != other:
            return f"{where}: {name} {one} expected, got {other}"
    if strides and expected.numel() and expected.stride() != result.stride():
        return f"{where}: strides {expected.stride()} expected, got {result.stride()} (shape {tuple(expected.shape)})"
    if not values:
        return None
    one, other = _numbers(expected), _numbers(result)
    relative, absolute = TOLERANCES.get(str(expected.dtype).removeprefix("torch."), (0, 0))
    with np.errstate(all="ignore"):
        finite = np.abs(one[np.isfinite(one)])
        close = np.isclose(one, other, relative, absolute * max(1, finite.max(initial=0)), equal_nan=True)
    if close.all():
        return None
    at = tuple(map(int, np.argwhere(~close)[0]))
    return f"{where}: {one[at]} expected, got {other[at]} at {at}, {(~close).sum()} of {close.size} differ"


def _numbers(tensor: Any) -> Any:
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
