"""Arithmetic, element by element.

Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

from typing import Any

from minitorch.backend import Array
from minitorch.dtypes import INTEGER, bool_, complex128, float64
from minitorch.layout import kept_order
from minitorch.ops.blocks import in_blocks, over_rows
from minitorch.ops.declaration import METHODS, composite, pointwise
from minitorch.ops.errors import no_derivative, not_implemented
from minitorch.tensor import Tensor

Number = Any


def conj(value: Any) -> Any:
    """The complex conjugate of a tensor or a number; real values are their own."""
    if isinstance(value, Tensor):
        return value.conj() if value._dtype.is_complex else value
    return value.conjugate()


def _scaled(value: Any, alpha: Any) -> Any:
    return value if alpha == 1 else value * alpha


def times(factor: Number, array: Array | Number, like: Array | Number) -> Any:
    """The second operand times `alpha`. Raises RuntimeError where alpha is of a higher kind than the numbers."""
    if factor.__class__ is int and factor == 1:
        return array
    kind = (array if hasattr(array, "dtype") else like).dtype.kind
    if kind in "biu" and not isinstance(factor, int):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if kind != "c" and isinstance(factor, complex):
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if kind != "b" and factor is True:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if kind == "b":
        return array & bool(factor)
    return array * (factor % 256 if kind == "u" else factor)  # uint8 wraps around


@pointwise(
    operators="__add__ __radd__ __iadd__",
    derivatives={"self": lambda grad: grad, "other": lambda grad, alpha: _scaled(grad, conj(alpha))},
)
def add(xp: Any, self: Array | Number, other: Array | Number, *, alpha: Number = 1) -> Array:
    """self + alpha · other. https://pytorch.org/docs/stable/generated/torch.add.html"""
    return xp.add(self, other if alpha.__class__ is int and alpha == 1 else times(alpha, other, self))


_TWO_BOOLS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
    "instead."
)


def _check_not_bool(self: Any, other: Any, alpha: Number = 1) -> None:
    bools = [isinstance(each, bool) or (isinstance(each, Tensor) and each._dtype is bool_) for each in (self, other)]
    if all(bools):
        raise RuntimeError(_TWO_BOOLS)
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


def _subtract(xp: Any, left: Array | Number, right: Array | Number) -> Array:
    try:
        if left.__class__ is right.__class__ and left.ndim > 2:
            return over_rows(xp, xp.subtract, left, right)
        return xp.subtract(left, right)
    except TypeError:
        raise RuntimeError(_TWO_BOOLS) from None


@pointwise(
    operators="__sub__ __isub__",
    aliases="subtract",
    check=_check_not_bool,
    derivatives={"self": lambda grad: grad, "other": lambda grad, alpha: -_scaled(grad, conj(alpha))},
)
def sub(xp: Any, self: Array | Number, other: Array | Number, *, alpha: Number = 1) -> Array:
    """self − alpha · other. Raises RuntimeError for bool. https://pytorch.org/docs/stable/generated/torch.sub.html"""
    return _subtract(xp, self, times(alpha, other, self))


@pointwise(
    check=_check_not_bool,
    variants="function",
    node=lambda self, other, alpha: f"RsubBackward{int(not isinstance(other, Tensor))}",
    derivatives={"self": lambda grad, alpha: -_scaled(grad, conj(alpha)), "other": lambda grad: grad},
)
def rsub(xp: Any, self: Array | Number, other: Array | Number, *, alpha: Number = 1) -> Array:
    """other − alpha · self."""
    return _subtract(xp, other, times(alpha, self, other))


@composite(variants="method")
def __rsub__(input: Tensor, other: Any) -> Any:  # noqa: N807
    return rsub(input, other) if isinstance(other, (int, float, complex, Tensor)) else NotImplemented


@pointwise(
    exact=("other",),
    operators="__mul__ __rmul__ __imul__",
    aliases="multiply",
    derivatives={
        "self": lambda grad, other: grad * conj(other),
        "other": lambda grad, self: grad * conj(self),
    },
)
def mul(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """self · other. https://pytorch.org/docs/stable/generated/torch.mul.html"""
    if self.__class__ is other.__class__ and self.ndim > 2:
        return over_rows(xp, xp.multiply, self, other)
    return xp.multiply(self, other)


@pointwise(
    exact=("other",),
    promotion="to float",
    operators="__truediv__ __itruediv__",
    node="DivBackward0",
    derivatives={
        "self": lambda grad, other: grad / conj(other),
        "other": lambda grad, self, other: -grad * conj(true_divide(self, other) / other),
    },
)
def true_divide(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """self / other; of integers in the default dtype. https://pytorch.org/docs/stable/generated/torch.true_divide.html"""
    return xp.true_divide(self, other)


@composite(variants="method")
def __rtruediv__(input: Tensor, other: Any) -> Any:  # noqa: N807
    """other · (1 / self), in two roundings as PyTorch does it."""
    known = isinstance(other, (int, float, complex)) or hasattr(other, "__array__")
    return input.reciprocal() * other if known else NotImplemented


METHODS["__rdiv__"] = __rtruediv__  # its name in Python 2


def _check_divisor(xp: Any, self: Array | Number, other: Array | Number, kernel: str) -> None:
    """Raises RuntimeError where integers are divided by zero, NotImplementedError for bool."""
    kind = (self if hasattr(self, "dtype") else other).dtype
    if kind.kind in "bc":
        raise not_implemented(kernel, kind.name)
    if kind.kind in "iu" and not xp.all(other) and not (hasattr(self, "size") and self.size == 0):
        raise RuntimeError("ZeroDivisionError")


@pointwise(
    exact=("other",),
    operators="__floordiv__ __rfloordiv__ __ifloordiv__",
    node="torch::autograd::NotImplemented",
    derivatives={"self, other": no_derivative("floor_divide")},
)
def floor_divide(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """⌊self / other⌋. Raises RuntimeError for integers over 0.

    https://pytorch.org/docs/stable/generated/torch.floor_divide.html
    """
    _check_divisor(xp, self, other, "div_floor_cpu")
    return _by_quotient(xp, xp.floor_divide, self, other)


_ROUNDED: dict[str, Any] = {
    "self": lambda grad, other: grad.new_zeros(grad.shape),
    "other": lambda grad, self, other: grad.new_zeros(grad.shape),
}
"""A quotient that is rounded has slope 0. PyTorch keeps its arguments all the same."""


@pointwise(upcast=False, exact=("other",), variants="inplace out", node="DivBackward2", derivatives=_ROUNDED)
def _div_trunc(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """self / other, rounded towards zero."""
    _check_divisor(xp, self, other, "div_trunc_cpu")
    kind = (self if hasattr(self, "ndim") else other).dtype
    if kind.kind in "iu":
        return (self - xp.fmod(self, other)) // other
    return xp.trunc(xp.true_divide(self, other)).astype(kind, copy=False)  # of a two-byte float and a number, a float32


@pointwise(exact=("other",), variants="inplace out", node="DivBackward2", derivatives=_ROUNDED)
def _div_floor(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """⌊self / other⌋, with gradient zero."""
    _check_divisor(xp, self, other, "div_floor_cpu")
    return _by_quotient(xp, xp.floor_divide, self, other)


@composite(aliases="divide")
def div(input: Tensor, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other, as it is or rounded: "trunc" towards zero, "floor" down.

    https://pytorch.org/docs/stable/generated/torch.div.html
    """
    function = {None: true_divide, "trunc": _div_trunc, "floor": _div_floor}[_checked_mode(rounding_mode)]
    result: Tensor = function(input, other) if out is None else function(input, other, out=out)
    return result


@composite(variants="method", aliases="divide_")
def div_(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Divides this tensor in place. https://pytorch.org/docs/stable/generated/torch.Tensor.div_.html"""
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
    """self − other · ⌊self / other⌋, with the sign of `other`. Raises RuntimeError for integers modulo 0.

    https://pytorch.org/docs/stable/generated/torch.remainder.html
    """
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
    """self − other · trunc(self / other), with the sign of self. Raises RuntimeError for integers modulo 0.

    https://pytorch.org/docs/stable/generated/torch.fmod.html
    """
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

    def divide(x: Array, y: Array) -> Array:
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

    return in_blocks(xp, divide, xp.asarray(self, kind), xp.asarray(other, kind))


def _pow_grad_self(grad: Tensor, self: Any, exponent: Any) -> Any:
    """d(xʸ)/dx = y xʸ⁻¹, and 0 for y = 0 also where x = 0."""
    if not isinstance(exponent, Tensor):
        return grad.new_zeros(grad.shape) if exponent == 0 else grad * conj(_scaled(self.pow(exponent - 1), exponent))
    slope = exponent * (self ** (exponent - 1))
    return (grad * conj(slope)).masked_fill(exponent == 0, 0)


def _pow_grad_exponent(grad: Tensor, self: Any, exponent: Any, result: Tensor) -> Any:
    """d(xʸ)/dy = xʸ ln x, and 0 for x = 0 where y ≥ 0."""
    if isinstance(self, Tensor):
        self = self.to(result._dtype)
        logarithm = self.log()
    else:  # whose logarithm isn't rounded to a two-byte float
        self = result.new_tensor(self, dtype=None if result._dtype.is_complex else float64)
        logarithm = self.log().item()
    steep = grad * conj(result * logarithm)
    nonnegative = exponent.real >= 0 if exponent._dtype.is_complex else exponent >= 0
    return steep.masked_fill((self == 0) & nonnegative, 0)


_NEGATIVE_POWER = "Integers to negative integer powers are not allowed."


def _check_exponent(self: Any, exponent: Any) -> None:
    if isinstance(self, Tensor) and self._dtype.category == INTEGER and isinstance(exponent, int) and exponent < 0:
        raise RuntimeError(_NEGATIVE_POWER)


def _pow_node(self: Any, exponent: Any) -> str:
    return f"PowBackward{0 if not isinstance(exponent, Tensor) else 1 if isinstance(self, Tensor) else 2}"


@pointwise(
    operators="__pow__ __rpow__ __ipow__",
    upcast=False,
    check=lambda self, exponent: _check_exponent(self, exponent),
    node=_pow_node,
    derivatives={"self": _pow_grad_self, "exponent": _pow_grad_exponent},
)
def pow(xp: Any, self: Array | Number, exponent: Array | Number) -> Array:
    """self to the power of exponent. Raises RuntimeError for integers to a negative number.

    https://pytorch.org/docs/stable/generated/torch.pow.html
    """
    dtype = (self if hasattr(self, "dtype") else exponent).dtype
    steps = dtype == "bfloat16" and (isinstance(exponent, xp.ndarray) or exponent != -0.5)  # rounded at every step
    if steps or dtype not in ("float16", "bfloat16"):
        return _power(xp, self, exponent)
    wide = [each.astype("float32") if hasattr(each, "dtype") else each for each in (self, exponent)]
    return _power(xp, *wide).astype(dtype)


def _power(xp: Any, self: Any, exponent: Any) -> Array:
    kind = (self if hasattr(self, "dtype") else exponent).dtype.kind
    if isinstance(exponent, xp.ndarray):
        if kind == "i":
            return _integer_power(xp, self, exponent)
        if kind == "b":
            raise not_implemented("pow", "bool")
        power = xp.power(self, exponent)
        return power if isinstance(self, xp.ndarray) else xp.asarray(power, order="C")
    if kind in "iu":
        if exponent < 0:
            raise RuntimeError(_NEGATIVE_POWER)
    elif kind == "b":
        return self.copy() if exponent else xp.ones_like(self)
    elif exponent == 0.5:
        return xp.sqrt(self)
    elif exponent == -1:
        return xp.reciprocal(self)
    elif exponent == -0.5:
        return xp.reciprocal(xp.sqrt(self))
    elif exponent == -2:
        return xp.reciprocal(xp.square(self))
    if exponent == 2:
        return xp.square(self)
    if exponent == 3:
        return self * self * self
    return xp.power(self, exponent)


def _integer_power(xp: Any, self: Array | Number, exponent: Array) -> Array:
    """Integers to the power of integers: to a negative one 0, but for ±1."""
    result = xp.power(self, xp.abs(exponent))
    return xp.where((exponent < 0) & (xp.abs(self) != 1), xp.asarray(0, result.dtype), result)


@composite()
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """pow in double precision. https://pytorch.org/docs/stable/generated/torch.float_power.html"""
    wide = complex128 if any(_is_complex(each) for each in (input, exponent)) else float64
    input, exponent = (each.to(wide) if isinstance(each, Tensor) else each for each in (input, exponent))
    result: Tensor = pow(input, exponent) if out is None else pow(input, exponent, out=out)
    return result


@composite(variants="method")
def float_power_(input: Tensor, exponent: Any) -> Tensor:
    """float_power in place. Raises RuntimeError unless this tensor is double."""
    wide = complex128 if any(_is_complex(each) for each in (input, exponent)) else float64
    if input._dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {input._dtype.name} but the operation's result requires dtype "
            f"{wide.name}"
        )
    result: Tensor = METHODS["pow_"](input, exponent)
    return result


def _is_complex(value: Any) -> bool:
    return value._dtype.is_complex if isinstance(value, Tensor) else isinstance(value, complex)


@composite()
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input². https://pytorch.org/docs/stable/generated/torch.square.html"""
    result: Tensor = pow(input, 2) if out is None else pow(input, 2, out=out)
    return result


@composite(variants="method")
def square_(input: Tensor) -> Tensor:
    """Squares this tensor in place."""
    result: Tensor = METHODS["pow_"](input, 2)
    return result


def _neg_kind(self: Array) -> None:
    if self.dtype == "bool":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )


@pointwise(operators="__neg__", aliases="negative", upcast=False, derivatives={"self": lambda grad: -grad})
def neg(xp: Any, self: Array) -> Array:
    """−self. Raises RuntimeError for bool. https://pytorch.org/docs/stable/generated/torch.neg.html"""
    _neg_kind(self)
    return xp.negative(self)


@composite(operators="__pos__")
def positive(input: Tensor) -> Tensor:
    """The tensor itself. Raises RuntimeError for bool."""
    if input._dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@pointwise(operators="__abs__", aliases="absolute", derivatives={"self": lambda grad, self: grad * self.sgn()})
def abs(xp: Any, self: Array) -> Array:
    """|self|, real for complex numbers. https://pytorch.org/docs/stable/generated/torch.abs.html"""
    if self.dtype == "bool":
        raise not_implemented("abs_cpu", "bool")
    return xp.abs(self)


_real_abs_ = METHODS["abs_"]


@composite(variants="method", aliases="absolute_")
def abs_(self: Tensor) -> Tensor:
    """Overwrites the elements with their absolute values. Raises RuntimeError for complex ones, whose own are real."""
    if self._dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    result: Tensor = _real_abs_(self)
    return result
