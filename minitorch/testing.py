"""Comparing results in tests. Source: https://pytorch.org/docs/stable/testing.html"""

from __future__ import annotations

import cmath
import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from minitorch import dtypes
from minitorch.interop import from_numpy
from minitorch.tensor import Tensor

__all__ = ["assert_close"]

Message = str | Callable[[str], str] | None

_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}
_NUMBERS = {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Refuses with an AssertionError what isn't |actual - expected| ≤ atol + rtol · |expected| everywhere.

    Compares tensors, NumPy's arrays, numbers, None, and sequences and mappings of them; the tolerances are those of the
    dtypes unless both are given. `msg` replaces the explanation of two values, or is a function of it.
    Raises TypeError for other objects, ValueError for one tolerance alone.
    https://pytorch.org/docs/stable/testing.html#torch.testing.assert_close
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    checked = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride()": check_stride}
    tolerances = None if rtol is None or atol is None else (rtol, atol)
    _Comparison(allow_subclasses, tolerances, equal_nan, checked, msg).compare(actual, expected, ())


@dataclasses.dataclass
class _Comparison:
    allow_subclasses: bool
    tolerances: tuple[float, float] | None
    """The relative and the absolute one; None: those of the dtypes."""
    equal_nan: bool
    checked: dict[str, bool]
    """Whether these attributes of tensors are compared."""
    msg: Message

    def compare(self, actual: Any, expected: Any, place: tuple[Any, ...]) -> None:
        """Compares two values, which stand at `place`: the indices and keys that lead there."""
        both = (actual, expected)
        if all(isinstance(each, Sequence) and not isinstance(each, str) for each in both):
            if len(actual) != len(expected):
                raise AssertionError(
                    f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{_at(place)}"
                )
            for index in range(len(actual)):
                self.compare(actual[index], expected[index], (*place, index))
        elif all(isinstance(each, Mapping) for each in both):
            self.compare_mappings(actual, expected, place)
        elif actual is None or expected is None:
            if actual is not expected:
                self.fail(f"None mismatch: {actual} is not {expected}", place)
        elif all(isinstance(each, bool | np.bool_) for each in both):
            if actual != expected:
                self.fail(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}", place)
        elif all(isinstance(each, int | float | complex | np.number) for each in both):
            numbers = [each.item() if isinstance(each, np.number) else each for each in both]
            self.compare_numbers(numbers[0], numbers[1], place)
        elif self.are_tensors(actual, expected):
            tensors = [from_numpy(each) if isinstance(each, np.ndarray) else each.detach() for each in both]
            self.compare_tensors(tensors[0], tensors[1], place)
        else:
            raise TypeError(
                f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
                + _at(place)
            )

    def are_tensors(self, actual: Any, expected: Any) -> bool:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        allowed = related if self.allow_subclasses else type(actual) is type(expected)
        return allowed and isinstance(actual, Tensor | np.ndarray)

    def compare_mappings(self, actual: Any, expected: Any, place: tuple[Any, ...]) -> None:
        missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or additional:
            raise AssertionError(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(additional)}{_at(place)}"
            )
        keys = list(actual)
        with contextlib.suppress(TypeError):  # keys of several types have no order
            keys.sort()
        for key in keys:
            self.compare(actual[key], expected[key], (*place, key))

    def compare_numbers(self, actual: Any, expected: Any, place: tuple[Any, ...]) -> None:
        if self.checked["dtype"] and type(actual) is not type(expected):
            self.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", place)
        if actual == expected or (self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
            return
        rtol, atol = self.tolerances or _tolerances(_NUMBERS[type(actual)], _NUMBERS[type(expected)])
        if not (cmath.isfinite(actual - expected) and abs(actual - expected) <= atol + rtol * abs(expected)):
            self.fail(_numbers_differ(actual, expected, rtol, atol), place)

    def compare_tensors(self, actual: Tensor, expected: Tensor, place: tuple[Any, ...]) -> None:
        values: list[tuple[str, Any, Any]] = [
            ("shape", actual.shape, expected.shape),
            ("layout", actual.layout, expected.layout),
            ("stride()", actual.stride(), expected.stride()),
            ("device", actual.device, expected.device),
            ("dtype", actual.dtype, expected.dtype),
        ]
        for name, one, other in values:
            if self.checked.get(name, True) and one != other:
                self.fail(f"The values for attribute '{name}' do not match: {one} != {other}.", place)
        rtol, atol = self.tolerances or _tolerances(actual.dtype, expected.dtype)
        if actual.dtype is not expected.dtype:
            common = dtypes.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(common), expected.to(common)
        if actual.dtype is dtypes.bool_ or not actual.dtype.is_signed:
            actual, expected = actual.to(dtypes.int64), expected.to(dtypes.int64)
        matches = actual.isclose(expected, rtol, atol, equal_nan=self.equal_nan)
        if not matches.all():
            self.fail(_tensors_differ(actual, expected, matches, rtol, atol), place)

    def fail(self, explanation: str, place: tuple[Any, ...]) -> NoReturn:
        text = explanation + _at(place)
        raise AssertionError(self.msg(text) if callable(self.msg) else self.msg or text)


def _at(place: tuple[Any, ...]) -> str:
    return "\n\nThe failure occurred for item " + "".join(f"[{each!r}]" for each in place) if place else ""


def _tolerances(*kinds: Any) -> tuple[float, float]:
    rtols, atols = zip(*(_TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds), strict=True)
    return max(rtols), max(atols)


def _title(what: str, rtol: float, atol: float) -> str:
    return f"{what} are not {'close' if rtol or atol else 'equal'}!\n\n"


def _bound(tolerance: float, rtol: float, atol: float) -> str:
    return f" (up to {tolerance} allowed)" if rtol or atol else ""


def _numbers_differ(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    absolute = abs(actual - expected)
    relative = absolute / abs(expected) if expected else float("inf")
    return (
        f"{_title('Scalars', rtol, atol)}Expected {expected} but got {actual}.\n"
        f"Absolute difference: {absolute}{_bound(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_bound(rtol, rtol, atol)}"
    )


def _tensors_differ(actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float) -> str:
    if matches.dim() == 0:
        return _numbers_differ(actual.item(), expected.item(), rtol, atol)
    absolute = (actual - expected).abs()
    relative = absolute / expected.abs()

    def greatest(name: str, differences: Tensor, tolerance: float) -> str:
        at = int(differences.masked_fill(matches, 0).argmax())
        index = tuple(int(each) for each in np.unravel_index(at, matches.shape))
        value = differences[index].item()
        return f"Greatest {name} difference: {value} at index {index}{_bound(tolerance, rtol, atol)}"

    count, total = int((~matches).sum()), matches.numel()
    return (
        f"{_title('Tensor-likes', rtol, atol)}Mismatched elements: {count} / {total} ({count / total:.1%})\n"
        f"{greatest('absolute', absolute, atol)}\n{greatest('relative', relative, rtol)}"
    )
