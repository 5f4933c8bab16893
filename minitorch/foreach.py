"""Functions of lists of tensors, such as `torch._foreach_mul_(parameters, 0.9)`.

PyTorch keeps them private, though optimizers and averages of weights that people publish call them. There one kernel
runs for the whole list; here the function of one tensor runs for each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import minitorch
from minitorch.tensor import Tensor

_IN_BOTH_FORMS = (
    "abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp expm1 floor frac lerp "
    "lgamma log log10 log1p log2 maximum minimum mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan "
    "tanh trunc"
)
NAMES = frozenset(f"{_IN_BOTH_FORMS} {_IN_BOTH_FORMS.replace(' ', '_ ')}_ clone copy_ max norm zero_".split())
"""The names without `_foreach_`."""


@functools.cache
def function_of(name: str) -> Callable[..., Any]:
    """The function `_foreach_{name}`, which returns a tuple, or in place the list."""
    if name not in NAMES:
        raise AttributeError(f"module 'torch' has no attribute '_foreach_{name}'")
    of_one = _of_one(name)

    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("addc") and len(args) == 3:
            *args, kwargs["value"] = args  # type: ignore[assignment]
        count = _count(name, (self, *args))
        rows = zip(*(_column(each, count) for each in (self, *args)), strict=False)
        options = {key: iter(_column(each, count)) for key, each in kwargs.items()}
        results = [of_one(*row, **{key: next(each) for key, each in options.items()}) for row in rows]
        return self if name.endswith("_") else tuple(results)

    function.__name__ = function.__qualname__ = f"_foreach_{name}"
    return function


def _of_one(name: str) -> Callable[..., Any]:
    """The function of one tensor."""
    if name == "norm":
        return minitorch.linalg.vector_norm
    if name in ("maximum_", "minimum_"):  # which tensors have no methods for
        return lambda self, other: self.copy_(getattr(minitorch, name[:-1])(self, minitorch.as_tensor(other)))
    if name in ("maximum", "minimum"):
        return lambda self, other: getattr(minitorch, name)(self, minitorch.as_tensor(other))
    of_one: Callable[..., Any] = getattr(Tensor if name.endswith("_") else minitorch, name)
    return of_one


def _count(name: str, arguments: Sequence[Any]) -> int:
    """How many tensors there are. Raises RuntimeError for none."""
    for each in arguments:
        if isinstance(each, (list, tuple)):
            if not each:
                raise RuntimeError("Tensor list must have at least one tensor.")
            return len(each)
    kinds = ", ".join(type(each).__name__ for each in arguments)
    raise TypeError(f"_foreach_{name}() received an invalid combination of arguments - got ({kinds})")


def _column(value: Any, count: int) -> Any:
    """One argument for each of the tensors. Raises RuntimeError for a list of another length."""
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {count} and {len(value)}"
                if isinstance(value[0], Tensor)
                else "Tensor list must have same number of elements as scalar list."
            )
        return value
    if isinstance(value, Tensor) and value.dim():
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {value.dim()} dimensions and {value.numel()} elements."
        )
    return repeat(value, count)
