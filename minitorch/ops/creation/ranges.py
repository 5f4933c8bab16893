"""Numbers at equal distances: arange, range, linspace, logspace.

Source: https://pytorch.org/docs/stable/torch.html#creation-ops
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from minitorch import dtypes
from minitorch.arrays import Array
from minitorch.dtypes import C_NAMES, FLOATING, SCALAR_TYPES, dtype, float32, float64, get_default_dtype, int64
from minitorch.kernels.sampling.fill import not_implemented
from minitorch.ops.creation.factory import Number, factory, python_number
from minitorch.scalars import check_int, to_scalar
from minitorch.size import is_whole
from minitorch.tensor import Tensor


def _inferred(numbers: Sequence[Number]) -> dtype:
    return int64 if all(isinstance(each, int) for each in numbers) else get_default_dtype()


@factory
def arange(
    xp: Any,
    dtype: dtype | None,
    *args: Number,
    start: Number | None = None,
    end: Number | None = None,
    step: Number | None = None,
) -> Array:
    """arange(start=0, end, step=1): start + i·step for i < ⌈(end − start)/step⌉; int64 when all three are ints.

    Raises RuntimeError for a step of 0 or of the wrong sign, ValueError for NaN or infinite bounds, NotImplementedError
    for complex numbers or bools.
    """
    named = {name: each for name, each in (("start", start), ("end", end), ("step", step)) if each is not None}
    start, end, step = (_real("arange", name, value) for name, value in _range_arguments(args, named).items())
    kind = dtype or _inferred((start, end, step))
    if kind is dtypes.bool_ or kind.is_complex:
        raise not_implemented(kind.numpy, "arange_cpu")
    _check_range(start, end, step)
    if kind is int64:
        start, end, step = (to_scalar(each, int64) for each in (start, end, step))
        if step == 0:
            raise ValueError("step must be nonzero")
    return _stepped(xp, start, step, math.ceil((end - start) / step), kind)


@factory
def range(xp: Any, dtype: dtype | None, start: Number = 0, end: Number = None, step: Number = 1) -> Array:
    """range(start=0, end, step=1): arange that includes `end`; never of integers unless asked. Deprecated.

    https://pytorch.org/docs/stable/generated/torch.range.html
    """
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=4,
    )
    start, end, step = (_real("range", *each) for each in (("start", start), ("end", end), ("step", step)))
    _check_range(start, end, step)
    kind = dtype or get_default_dtype()
    if kind.category < FLOATING:
        start, end, step = int(start), int(end), int(step)
    return _stepped(xp, start, step, math.floor((end - start) / step) + 1, kind)


def _range_arguments(args: tuple[Number, ...], named: dict[str, Number]) -> dict[str, Number]:
    names = ("end",) if len(args) == 1 and "end" not in named else ("start", "end", "step")
    if len(args) > 3 or (not args and "end" not in named):
        raise TypeError(f"arange() received an invalid combination of arguments - got ({len(args)} numbers)")
    given = dict(zip(names, args, strict=False)) | named
    return {"start": given.get("start", 0), "end": given["end"], "step": given.get("step", 1)}


def _real(function: str, name: str, value: Any) -> Any:
    number = python_number(value)
    if hasattr(number, "dtype"):
        number = number.item()
    check_int(number)
    if isinstance(number, complex):
        return to_scalar(number, float64)
    if not isinstance(number, (int, float)):
        raise TypeError(f"{function}(): argument '{name}' (position 1) must be Number, not {type(value).__name__}")
    return number


def _check_range(start: float, end: float, step: float) -> None:
    if not (step < 0 or step > 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _stepped(xp: Any, start: Number, step: Number, count: int, kind: dtype) -> Array:
    counted = int64 if kind.category < FLOATING else float32 if kind.is_low_precision else float64
    start, step = to_scalar(start, counted), to_scalar(step, counted)
    if counted is int64 and step:
        return xp.arange(start, start + step * count, step).astype(kind.numpy, copy=False)  # which wraps around
    return (start + step * xp.arange(count, dtype="float64")).astype(kind.numpy)


@factory
def linspace(xp: Any, dtype: dtype | None, start: Number, end: Number, steps: int) -> Array:
    """linspace(start, end, steps): start + i·(end − start)/(steps − 1), the second half counted from `end`.

    https://pytorch.org/docs/stable/generated/torch.linspace.html
    """
    start, end = _ends("linspace", start, end, steps)
    kind = _linspace_type("linspace", dtype, start, end)
    return _spaced(xp, start, end, steps, kind).astype(kind.numpy)


@factory
def logspace(xp: Any, dtype: dtype | None, start: Number, end: Number, steps: int, base: float = 10.0) -> Array:
    """logspace(start, end, steps, base=10): base to the power of linspace.

    https://pytorch.org/docs/stable/generated/torch.logspace.html
    """
    start, end = _ends("logspace", start, end, steps)
    kind = _linspace_type("logspace", dtype, start, end)
    exponents = _spaced(xp, start, end, steps, float32 if kind.is_low_precision else kind)
    return xp.power(base, exponents.astype("complex128" if kind.is_complex else "float64")).astype(kind.numpy)


def _ends(name: str, start: Number, end: Number, steps: Any) -> tuple[Number, Number]:
    """Both ends as numbers. Raises TypeError unless `steps` is an int."""
    if not is_whole(steps):
        given = ", ".join(type(each).__name__ for each in (start, end, steps))
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({given}), but expected "
            "(Number start, Number end, int steps, ...)"
        )
    dims = [(which, each.dim()) for which, each in (("start", start), ("end", end)) if isinstance(each, Tensor)]
    wrong = " and ".join(f"{which} with {dim} dimension(s)" for which, dim in dims if dim)
    if wrong:
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {wrong}.")
    start, end = python_number(start), python_number(end)
    check_int(start)
    check_int(end)
    return start, end


def _linspace_type(name: str, requested: dtype | None, start: Number, end: Number) -> dtype:
    if requested is dtypes.bool_:
        raise not_implemented(requested.numpy, f"{name}_cpu")
    inferred = get_default_dtype()
    if isinstance(start, complex) or isinstance(end, complex):
        inferred = inferred.to_complex()
        if requested is not None and not requested.is_complex:
            raise RuntimeError(
                f"torch.{name}(): inferred dtype {C_NAMES[inferred.name]} can't be safely cast to passed dtype "
                f"{SCALAR_TYPES[requested.name]}"
            )
    return requested or inferred


def _spaced(xp: Any, start: Number, end: Number, steps: int, kind: dtype) -> Array:
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    number = (kind if kind.category >= FLOATING else float64).numpy.type
    start, end = number(to_scalar(start, kind)), number(to_scalar(end, kind))
    step = (end - start) / number(max(steps - 1, 1))
    index = xp.arange(steps).astype(number)
    half = steps // 2
    return (
        xp.concatenate([start + step * index[:half], end - step * index[: steps - half][::-1]])
        if steps > 1
        else start + index
    )
