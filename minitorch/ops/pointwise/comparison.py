"""Ops that answer with booleans, and logic on them.

Source: https://pytorch.org/docs/stable/torch.html#comparison-ops
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array, BoolArray, Number
from minitorch.dispatch.declaration import composite, declare, pointwise, zero_gradient
from minitorch.dispatch.errors import no_data, not_implemented
from minitorch.dispatch.out_types import BOOL_ALONE
from minitorch.dtypes import COMPLEX, FLOATING, bool_, type_name
from minitorch.layout import empty_as
from minitorch.tensor import Tensor


def compares(**options: Any) -> Callable[[Any], Callable[..., Any]]:
    """Declares a comparison. In place it leaves zeros and ones, whose gradient is zero."""

    def generate(kernel: Any) -> Callable[..., Any]:
        def node(self: Any, other: Any) -> str:
            return f"{kernel.__name__.capitalize()}Backward{int(isinstance(other, Tensor))}"

        return pointwise(
            upcast=False, derivatives={"self": zero_gradient, "other": zero_gradient}, node=node, **options
        )(kernel)

    return generate


@compares(operators="__eq__")
def eq(xp: Any, self: Array, other: Array | Number) -> BoolArray:
    """self = other. https://pytorch.org/docs/stable/generated/torch.eq.html"""
    return xp.equal(self, other)


@compares(operators="__ne__", aliases="not_equal")
def ne(xp: Any, self: Array, other: Array | Number) -> BoolArray:
    """self ≠ other. https://pytorch.org/docs/stable/generated/torch.ne.html"""
    return xp.not_equal(self, other)


def _ordered(self: Array, kernel: str) -> Array:
    if self.dtype.kind == "c":
        raise not_implemented(kernel, self.dtype.name)
    return self


@compares(operators="__lt__", aliases="less")
def lt(xp: Any, self: Array, other: Array | Number) -> BoolArray:
    """self < other. https://pytorch.org/docs/stable/generated/torch.lt.html"""
    return xp.less(_ordered(self, "lt_cpu"), other)


@compares(operators="__le__", aliases="less_equal")
def le(xp: Any, self: Array, other: Array | Number) -> BoolArray:
    """self ≤ other. https://pytorch.org/docs/stable/generated/torch.le.html"""
    return xp.less_equal(_ordered(self, "le_cpu"), other)


@compares(operators="__gt__", aliases="greater")
def gt(xp: Any, self: Array, other: Array | Number) -> BoolArray:
    """self > other. https://pytorch.org/docs/stable/generated/torch.gt.html"""
    return xp.greater(_ordered(self, "gt_cpu"), other)


@compares(operators="__ge__", aliases="greater_equal")
def ge(xp: Any, self: Array, other: Array | Number) -> BoolArray:
    """self ≥ other. https://pytorch.org/docs/stable/generated/torch.ge.html"""
    return xp.greater_equal(_ordered(self, "ge_cpu"), other)


# Kinds of numbers.


@declare(elementwise=True)
def isnan(xp: Any, self: Array) -> BoolArray:
    """Whether x is not a number."""
    return xp.isnan(self) if self.dtype.kind not in "biu" else xp.zeros_like(self, "bool")


@declare(elementwise=True)
def isinf(xp: Any, self: Array) -> BoolArray:
    """Whether x is infinite."""
    return xp.isinf(self) if self.dtype.kind not in "biu" else xp.zeros_like(self, "bool")


@declare()
def isfinite(xp: Any, self: Array) -> BoolArray:
    """Whether x is neither infinite nor NaN."""
    return xp.isfinite(self) if self.dtype.kind not in "biu" else xp.ones_like(self, "bool")


def _check_real(self: Array, function: str) -> None:
    if self.dtype.kind == "c":
        raise RuntimeError(f"{function} does not support complex inputs.")


@declare(out_type=BOOL_ALONE, elementwise=True, variants="function method out")
def isposinf(xp: Any, self: Array) -> BoolArray:
    """Whether x is ∞."""
    _check_real(self, "isposinf")
    return self == float("inf")


@declare(out_type=BOOL_ALONE, elementwise=True, variants="function method out")
def isneginf(xp: Any, self: Array) -> BoolArray:
    """Whether x is −∞."""
    _check_real(self, "isneginf")
    return self == float("-inf")


@declare()
def isreal(xp: Any, self: Array) -> BoolArray:
    """Whether the imaginary part is 0."""
    if self.dtype.kind == "c":
        return self.imag == 0
    result = empty_as(xp, self, xp.bool_)
    result[...] = True
    return result


@declare(out_type=BOOL_ALONE, elementwise=True, variants="function method out")
def signbit(xp: Any, self: Array) -> BoolArray:
    """Whether x has a minus sign, as −0 has. Raises NotImplementedError for complex numbers."""
    if self.dtype.kind == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return xp.signbit(self) if self.dtype.kind not in "biu" else self < 0


# Whole tensors.


def _check_tensors(function: str, input: Any, other: Any) -> None:
    for position, (name, each) in enumerate({"input": input, "other": other}.items(), 1):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(each).__name__}"
            )


def _check_same_dtype(input: Tensor, other: Tensor) -> None:
    if input._dtype is not other._dtype:
        names = [each.type().removeprefix("torch.").removesuffix("Tensor") for each in (input, other)]
        raise RuntimeError(f"{names[0]} did not match {names[1]}")


@composite()
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """|input − other| ≤ atol + rtol · |other|, or equal. Raises RuntimeError for different dtypes."""
    _check_tensors("isclose", input, other)
    _check_same_dtype(input, other)
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    result: Tensor = _is_close(input, other, rtol, atol, equal_nan)
    return result


@declare(variants="", elementwise=True)
def _is_close(xp: Any, self: Array, other: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    close = self == other
    if equal_nan and self.dtype.kind not in "biu":
        close = close | ((self != self) & (other != other))
    if rtol == 0 and atol == 0:
        return close
    if self.dtype.kind in "biu":
        self, other = self.astype("float64"), other.astype("float64")
    error = xp.abs(self - other)
    return close | (xp.isfinite(error) & (error <= atol + xp.abs(rtol * other)))


@composite()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close, see `isclose`."""
    _check_tensors("allclose", input, other)
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether shape and all elements are the same. Raises NotImplementedError for dtypes that can't be compared."""
    _check_tensors("equal", input, other)
    if input._device.type == "meta":
        raise no_data("equal")
    return input._array.shape == other._array.shape and bool((input == other).all())


@composite(variants="function")
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False, out: Tensor | None = None
) -> Tensor:
    """Whether each element is one of `test_elements`: a bool tensor of the shape of `elements`.

    Raises RuntimeError for bool and complex tensors.
    """
    for each in (elements, test_elements):
        if isinstance(each, Tensor) and (each._dtype is bool_ or each._dtype.is_complex):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {type_name(each)}")
    keywords = {} if out is None else {"out": out}
    result: Tensor
    if not isinstance(elements, Tensor):
        elements, test_elements = (test_elements == elements).any(), True
    if isinstance(test_elements, Tensor):
        result = _is_in(elements, test_elements, invert, **keywords)
    else:
        result = (ne if invert else eq)(elements, test_elements, **keywords)
    return result


@declare(variants="out", promotion="keep")
def _is_in(xp: Any, elements: Array, test_elements: Array, invert: bool) -> Array:
    return xp.isin(elements, test_elements, invert=invert)


# Logic on truth values: a number is true unless it is 0.


@pointwise(promotion="none", upcast=False)
def logical_and(xp: Any, self: Array, other: Array) -> BoolArray:
    """Both."""
    return xp.logical_and(_truth(self), _truth(other))


@pointwise(promotion="none", upcast=False)
def logical_or(xp: Any, self: Array, other: Array) -> BoolArray:
    """One or both."""
    return xp.logical_or(_truth(self), _truth(other))


@pointwise(promotion="none", upcast=False)
def logical_xor(xp: Any, self: Array, other: Array) -> BoolArray:
    """One, but not both."""
    return xp.logical_xor(_truth(self), _truth(other))


@pointwise(promotion="none", upcast=False)
def logical_not(xp: Any, self: Array) -> BoolArray:
    """Not."""
    return xp.logical_not(_truth(self))


def _truth(array: Array) -> Array:
    return array if array.dtype == "bool" else array != 0


@composite()
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not 0. Raises RuntimeError when there are several."""
    if input.numel() != 1:
        many = "no" if input.numel() == 0 else "more than one"
        raise RuntimeError(f"Boolean value of Tensor with {many} value{'s' * (many == 'no')} is ambiguous")
    return bool(input.item() != 0)


@composite()
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating point one."""
    return input._dtype.category == FLOATING


@composite()
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input._dtype.category == COMPLEX
