"""Operations that work on each element by itself."""

# 02b · Types and dispatch
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .dispatch import Function, Operation, method
from .promotion import result_type
from .settings import dtype, float32, settings
from .tensor import Tensor, extend, from_array


class Pointwise(Operation):
    """An operation on elements, in the type that its operands promote to; the parameters in `apart` don't count."""

    elementwise = True

    def __init__(
        self,
        kernel: Function,
        name: str,
        parameters: str = "",
        *,
        floating: bool = False,
        wide: bool = False,
        apart: tuple[str, ...] = (),
    ) -> None:
        super().__init__(kernel, run_in_common_type, name)
        if parameters:  # those of one of NumPy's functions, whose names for them aren't PyTorch's
            self.parameters, self.__doc__ = tuple(parameters.split()), None
        self.floating, self.wide, self.apart = floating, wide, apart


def run_in_common_type(op: Pointwise, args: tuple[Any, ...]) -> Tensor:
    """Convert the operands, then call the kernel on their arrays."""
    counted = [x for name, x in zip(op.parameters, args, strict=True) if not (x is None or name in op.apart)]
    common = result_type(*counted)
    if op.floating and not common.is_floating_point:
        common = settings.default_dtype
    if op.wide and common.itemsize == 2 and common.is_floating_point:
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    arrays = [x.array if getattr(x, "dtype", None) is common else convert(x, common) for x in args]
    return from_array(op.kernel(*arrays))


def widened(operands: tuple[Any, ...], common: dtype) -> tuple[Any, Any]:
    """Two operands in float32, rounded to a 16-bit type first; not so a second one without dimensions (0.5 * 70000)."""
    x, y = operands
    second = convert(y, common if getattr(y, "ndim", 0) else float32)
    return convert(x, common).astype(np.float32), second.astype(np.float32)


def convert(operand: Any, to: dtype) -> Any:
    """A tensor as an array of type `to`, a number as NumPy's. What doesn't fit wraps around: 300 is 44 as uint8."""
    if isinstance(operand, Tensor):
        return operand.array.astype(to.numpy, copy=False)
    if isinstance(operand, float) and to.is_floating_point:
        return to.numpy.type(operand)
    return operand if operand is None else np.asarray(operand).astype(to.numpy)[()]


def power(x: Any, exponent: Any) -> Any:
    """x to the power of the exponent. Raises RuntimeError for integers to a negative power."""
    if np.result_type(x).kind == "i" and np.any(exponent < 0):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return np.power(x, exponent)


def whole_quotient(x: Any, y: Any) -> Any:
    """The quotient rounded down. Raises RuntimeError for integers over 0; floating-point numbers give inf or nan."""
    if np.result_type(y).kind in "iu" and np.any(y == 0):
        raise RuntimeError("ZeroDivisionError")
    return np.floor_divide(x, y)


def fill_where(x: Any, mask: Any, value: Any) -> Any:
    """The elements, with one value where the mask is True. Raises RuntimeError for several values."""
    if np.ndim(value):
        found = f"tensor with {np.ndim(value)} dimension(s)."
        raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got {found}")
    return np.where(mask, value, x)


pointwise, pointwise_float = Pointwise, partial(Pointwise, floating=True)

# A kernel's parameters are the operation's, for keyword arguments and derivatives. NumPy's functions get names here.

add = pointwise(np.add, "add", "x y")
sub = pointwise(np.subtract, "sub", "x y")
mul = pointwise(np.multiply, "mul", "x y", wide=True)
div = pointwise_float(np.divide, "div", "x y", wide=True)
floor_divide = pointwise(whole_quotient, "floor_divide", wide=True)
remainder = pointwise(np.remainder, "remainder", "x y")
pow = pointwise(power, "pow")
maximum = pointwise(np.maximum, "maximum", "x y")
minimum = pointwise(np.minimum, "minimum", "x y")

neg = pointwise(np.negative, "neg", "x")
abs = pointwise(np.abs, "abs", "x")
sign = pointwise(np.sign, "sign", "x")
floor = pointwise(np.floor, "floor", "x")
ceil = pointwise(np.ceil, "ceil", "x")
round = pointwise(np.round, "round", "x")
exp = pointwise_float(np.exp, "exp", "x")
log = pointwise_float(np.log, "log", "x")
log1p = pointwise_float(np.log1p, "log1p", "x")
sqrt = pointwise_float(np.sqrt, "sqrt", "x")
rsqrt = pointwise_float(lambda x: 1 / np.sqrt(x), "rsqrt")
reciprocal = pointwise_float(lambda x: 1 / x, "reciprocal")
sin = pointwise_float(np.sin, "sin", "x")
cos = pointwise_float(np.cos, "cos", "x")
tanh = pointwise_float(np.tanh, "tanh", "x")
sigmoid = pointwise_float(lambda x: 1 / (1 + np.exp(-x)), "sigmoid")

eq = pointwise(np.equal, "eq", "x y")
ne = pointwise(np.not_equal, "ne", "x y")
lt = pointwise(np.less, "lt", "x y")
le = pointwise(np.less_equal, "le", "x y")
gt = pointwise(np.greater, "gt", "x y")
ge = pointwise(np.greater_equal, "ge", "x y")
isnan = pointwise(np.isnan, "isnan", "x")
isfinite = pointwise(np.isfinite, "isfinite", "x")
bitwise_and = pointwise(np.bitwise_and, "bitwise_and", "x y")
bitwise_or = pointwise(np.bitwise_or, "bitwise_or", "x y")
bitwise_xor = pointwise(np.bitwise_xor, "bitwise_xor", "x y")
bitwise_not = pointwise(np.invert, "bitwise_not", "x")

where = pointwise(np.where, "where", "condition x y", apart=("condition",))
masked_fill = pointwise(fill_where, "masked_fill", apart=("mask", "value"))
clamp = pointwise(lambda x, min=None, max=None: np.clip(x, min, max), "clamp")


@method
def square(x: Tensor) -> Tensor:
    """x * x."""
    return mul(x, x)


def reflected(op: Operation) -> Function:
    """The operation with its operands exchanged, for `2 - x`."""
    return lambda y, x: op(x, y)


def scaled(op: Operation) -> Function:
    """The operation with PyTorch's `alpha`: `x.add(y, alpha=2)` is x + 2 * y."""

    def call(x: Any, y: Any, *, alpha: Any = 1) -> Tensor:
        if isinstance(alpha, float) and not result_type(x, y).is_floating_point:
            raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
        return op(x, y if alpha == 1 else y * alpha)

    return call


OPERATORS = {"add": add, "sub": sub, "mul": mul, "truediv": div, "floordiv": floor_divide, "mod": remainder, "pow": pow}
OPERATORS |= {"and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor}

extend(
    Tensor,
    **{f"__{name}__": op for name, op in OPERATORS.items()},
    **{f"__r{name}__": reflected(op) for name, op in OPERATORS.items()},
    **{f"__{op.name}__": op for op in (eq, ne, lt, le, gt, ge, neg, abs)},
    add=scaled(add),
    sub=scaled(sub),
    where=lambda x, condition, y: where(condition, x, y),
    __invert__=bitwise_not,
    __array_ufunc__=None,  # NumPy's arrays leave `array * tensor` to the tensor
)
extend(Tensor, __rmul__=mul, __rtruediv__=lambda x, number: mul(reciprocal(x), number))  # rounded twice, as in PyTorch
