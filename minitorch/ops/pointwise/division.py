"""Quotients, exact and rounded, and what is left of a division, element by element.

Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array, Number
from minitorch.arrays.blocks import in_blocks
from minitorch.dispatch.apply import function_of
from minitorch.dispatch.declaration import METHODS, OPS, composite, pointwise
from minitorch.dispatch.errors import no_derivative, not_implemented
from minitorch.layout import kept_order
from minitorch.ops.pointwise.arithmetic import conj
from minitorch.tensor import Tensor


@pointwise(
    exact=("other",),
    takes_numbers=True,
    promotion="to float",
    operators="__truediv__ __itruediv__",
    node="DivBackward0",
    derivatives={
        "self": lambda grad, other: grad / conj(other),
        "other": lambda grad, self, other: -grad * conj(true_divide(self, other) / other),
    },
)
def true_divide(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """self / other; of integers in the default dtype."""
    return xp.true_divide(self, other)


@composite(variants="method")
def __rtruediv__(input: Tensor, other: Any) -> Any:  # noqa: N807
    """other · (1 / self), in two roundings as PyTorch does it."""
    known = isinstance(other, (int, float, complex)) or hasattr(other, "__array__")
    return input.reciprocal() * other if known else NotImplemented


METHODS["__rdiv__"] = __rtruediv__  # its name in Python 2

over_number: Callable[[Tensor, float], Tensor] = function_of(
    OPS["true_divide"].twin("DivBackward1", {"self": lambda grad, other: grad / conj(other)}, saves_number=True),
    with_out=False,
)
"""The quotient by a number as PyTorch's own functions call it: an overload that the operators don't use."""


def _check_divisor(xp: Any, self: Array | Number, other: Array | Number, kernel: str) -> None:
    """Raises RuntimeError where integers are divided by zero, NotImplementedError for bool."""
    kind = (self if hasattr(self, "dtype") else other).dtype
    if kind.kind in "bc":
        raise not_implemented(kernel, kind.name)
    if kind.kind in "iu" and not xp.all(other) and not (hasattr(self, "size") and self.size == 0):
        raise RuntimeError("ZeroDivisionError")


@pointwise(
    exact=("other",),
    takes_numbers=True,
    operators="__floordiv__ __rfloordiv__ __ifloordiv__",
    node="torch::autograd::NotImplemented",
    derivatives={"self, other": no_derivative("floor_divide")},
)
def floor_divide(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """⌊self / other⌋. Raises RuntimeError for integers over 0."""
    _check_divisor(xp, self, other, "div_floor_cpu")
    return _by_quotient(xp, xp.floor_divide, self, other)


_ROUNDED: dict[str, Any] = {
    "self": lambda grad, other: grad.new_zeros(grad.shape),
    "other": lambda grad, self, other: grad.new_zeros(grad.shape),
}
"""A quotient that is rounded has slope 0. PyTorch keeps its arguments all the same."""


@pointwise(
    upcast=False,
    exact=("other",),
    takes_numbers=True,
    variants="inplace out",
    node="DivBackward2",
    derivatives=_ROUNDED,
)
def _div_trunc(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """self / other, rounded towards zero."""
    _check_divisor(xp, self, other, "div_trunc_cpu")
    kind = (self if hasattr(self, "ndim") else other).dtype
    if kind.kind in "iu":
        return (self - xp.fmod(self, other)) // other
    return xp.trunc(xp.true_divide(self, other)).astype(kind, copy=False)  # of a two-byte float and a number, a float32


@pointwise(exact=("other",), takes_numbers=True, variants="inplace out", node="DivBackward2", derivatives=_ROUNDED)
def _div_floor(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """⌊self / other⌋, with gradient zero."""
    _check_divisor(xp, self, other, "div_floor_cpu")
    return _by_quotient(xp, xp.floor_divide, self, other)


@composite(aliases="divide")
def div(input: Tensor, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other, as it is or rounded: "trunc" towards zero, "floor" down; of the shape that both broadcast to.

    Unrounded, integers give the default dtype. Raises RuntimeError for another `rounding_mode`.
    """
    function = {None: true_divide, "trunc": _div_trunc, "floor": _div_floor}[_checked_mode(rounding_mode)]
    result: Tensor = function(input, other) if out is None else function(input, other, out=out)
    return result


@composite(variants="method", aliases="divide_")
def div_(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """self ← self / other, rounded as `torch.div` rounds by `rounding_mode`; the shape and dtype stay.

    Returns the tensor itself. Raises RuntimeError for an unknown mode and for a result of another dtype.
    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.div_.html
    """
    names = {None: "true_divide_", "trunc": "_div_trunc_", "floor": "_div_floor_"}
    result: Tensor = METHODS[names[_checked_mode(rounding_mode)]](input, other)
    return result


def _checked_mode(rounding_mode: str | None) -> str | None:
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return rounding_mode


def _scalar_or_tensor(name: str) -> Any:
    """The node's name: PyTorch has one overload for numbers and one for tensors."""

    def node(self: Any, other: Any) -> str:
        return (
            f"{name}Backward{int(isinstance(other, Tensor))}"
            if isinstance(self, Tensor)
            else "torch::autograd::NotImplemented"
        )

    return node


@pointwise(
    operators="__mod__ __rmod__ __imod__",
    node=_scalar_or_tensor("Remainder"),
    derivatives={
        "self": lambda grad: grad,
        "other": lambda grad, self, other: -grad * self.div(other, rounding_mode="floor"),
    },
)
def remainder(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """self − other · ⌊self / other⌋, with the sign of `other`. Raises RuntimeError for integers modulo 0."""
    _check_divisor(xp, self, other, "remainder_cpu")
    rest = _by_quotient(xp, xp.remainder, self, other)
    return xp.where(rest == 0, xp.copysign(rest, self), rest) if rest.dtype.kind == "f" else rest


@pointwise(
    node=_scalar_or_tensor("Fmod"),
    derivatives={
        "self": lambda grad: grad,
        "other": lambda grad, self, other: -grad * self.div(other, rounding_mode="trunc"),
    },
)
def fmod(xp: Any, self: Array, other: Array | Number) -> Array:
    """self − other · trunc(self / other), with the sign of self. Raises RuntimeError for integers modulo 0."""
    _check_divisor(xp, self, other, "fmod_cpu")
    return _by_quotient(xp, xp.fmod, self, other)


_EXACT = 2.0**24


def _by_quotient(xp: Any, function: Any, self: Array | Number, other: Array | Number) -> Array:
    """`function`, one of floor_divide, remainder and fmod: of float32 ten times faster than NumPy's loop.

    The quotient is computed in float64. While it is below 2²⁴, it is rounded to an integer only if it is one, and its
    product with the divisor is exact; the rest is left to the function itself.
    """
    kind = (self if isinstance(self, xp.ndarray) else other).dtype
    if kind != "float32":
        return function(self, other)
    return _in_double(xp, function, xp.asarray(self, kind), xp.asarray(other, kind))


@in_blocks
def _in_double(xp: Any, function: Any, x: Array, y: Array) -> Array:
    wide, divisor = (each.astype("float64", order=kept_order(each)) for each in (x, y))
    quotient = wide / divisor
    whole = xp.trunc(quotient) if function is xp.fmod else xp.floor(quotient)
    if function is not xp.floor_divide:
        whole = xp.copysign(wide - whole * divisor, wide if function is xp.fmod else divisor)
    result = xp.asarray(whole.astype("float32"))
    inexact = ~(xp.abs(quotient) < _EXACT) | xp.isinf(y)
    if inexact.any():
        places = (xp.broadcast_to(each, result.shape)[inexact] for each in (x, y))
        result[inexact] = function(*places)
    return result
