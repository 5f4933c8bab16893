"""Operations that work on each element by itself."""

# 02 · Tensors and storage
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .dispatch import Function, Operation, method
from .promotion import result_type
from .settings import bfloat16, bool_, dtype, float16, float32, settings
from .tensor import Tensor, from_array


def pointwise(
    kernel: Function, name: str, *, floating: bool = False, wide: bool = False, apart: tuple[str, ...] = ()
) -> Operation:
    """Declare an operation on elements. Its operands are first brought to the type in which they meet.

    Args:
        floating: computes with floating-point numbers: integers become the default type.
        wide: where that type is float16 or bfloat16, computes in float32 and rounds once (`widened`).
        apart: the parameters that don't count for the type. Of these, booleans keep their own.
    """
    return Operation(kernel, partial(run_in_common_type, floating=floating, wide=wide, apart=apart), name)


def run_in_common_type(
    op: Operation, args: tuple[Any, ...], floating: bool, wide: bool, apart: tuple[str, ...]
) -> Tensor:
    """Convert the operands, then call the kernel on their arrays."""
    named = list(zip(op.parameters, args, strict=True))
    common = result_type(*(arg for name, arg in named if name not in apart and arg is not None))
    if floating and not common.is_floating_point:
        common = settings.default_dtype
    if wide and common in (float16, bfloat16):
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    masks = {name for name, arg in named if name in apart and getattr(arg, "dtype", None) is bool_}
    return from_array(op.kernel(*(arg.array if name in masks else convert(arg, common) for name, arg in named)))


def widened(operands: tuple[Any, ...], common: dtype) -> tuple[Any, Any]:
    """Two operands in float32, rounded to a 16-bit type first, but for a second one without dimensions.

    So a product takes a number as it is: 70000 is too large for float16, and 0.5 * 70000 isn't.
    """
    x, y = operands
    second = convert(y, common if getattr(y, "ndim", 0) else float32)
    return convert(x, common).astype(np.float32), second.astype(np.float32)


def convert(operand: Any, to: dtype) -> Any:
    """A tensor as an array of type `to`, a number as NumPy's. What doesn't fit wraps around: 300 is 44 as uint8."""
    if isinstance(operand, Tensor):
        return operand.array.astype(to.numpy, copy=False)
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
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{np.ndim(value)} dimension(s)."
        )
    return np.where(mask, value, x)


pointwise_float = partial(pointwise, floating=True)

add = pointwise(lambda x, y: np.add(x, y), "add")
sub = pointwise(lambda x, y: np.subtract(x, y), "sub")
mul = pointwise(lambda x, y: np.multiply(x, y), "mul", wide=True)
div = pointwise_float(lambda x, y: np.divide(x, y), "div", wide=True)
floor_divide = pointwise(lambda x, y: whole_quotient(x, y), "floor_divide", wide=True)
remainder = pointwise(lambda x, y: np.remainder(x, y), "remainder")
pow = pointwise(lambda x, exponent: power(x, exponent), "pow")
maximum = pointwise(lambda x, y: np.maximum(x, y), "maximum")
minimum = pointwise(lambda x, y: np.minimum(x, y), "minimum")

neg = pointwise(lambda x: np.negative(x), "neg")
abs = pointwise(lambda x: np.abs(x), "abs")
sign = pointwise(lambda x: np.sign(x), "sign")
floor = pointwise(lambda x: np.floor(x), "floor")
ceil = pointwise(lambda x: np.ceil(x), "ceil")
round = pointwise(lambda x: np.round(x), "round")
exp = pointwise_float(lambda x: np.exp(x), "exp")
log = pointwise_float(lambda x: np.log(x), "log")
log1p = pointwise_float(lambda x: np.log1p(x), "log1p")
sqrt = pointwise_float(lambda x: np.sqrt(x), "sqrt")
rsqrt = pointwise_float(lambda x: 1 / np.sqrt(x), "rsqrt")
reciprocal = pointwise_float(lambda x: 1 / x, "reciprocal")
sin = pointwise_float(lambda x: np.sin(x), "sin")
cos = pointwise_float(lambda x: np.cos(x), "cos")
tanh = pointwise_float(lambda x: np.tanh(x), "tanh")
sigmoid = pointwise_float(lambda x: 1 / (1 + np.exp(-x)), "sigmoid")

eq = pointwise(lambda x, y: np.equal(x, y), "eq")
ne = pointwise(lambda x, y: np.not_equal(x, y), "ne")
lt = pointwise(lambda x, y: np.less(x, y), "lt")
le = pointwise(lambda x, y: np.less_equal(x, y), "le")
gt = pointwise(lambda x, y: np.greater(x, y), "gt")
ge = pointwise(lambda x, y: np.greater_equal(x, y), "ge")
isnan = pointwise(lambda x: np.isnan(x), "isnan")
isfinite = pointwise(lambda x: np.isfinite(x), "isfinite")
bitwise_and = pointwise(lambda x, y: np.bitwise_and(x, y), "bitwise_and")
bitwise_or = pointwise(lambda x, y: np.bitwise_or(x, y), "bitwise_or")
bitwise_xor = pointwise(lambda x, y: np.bitwise_xor(x, y), "bitwise_xor")
bitwise_not = pointwise(lambda x: np.invert(x), "bitwise_not")

where = pointwise(lambda condition, x, y: np.where(condition, x, y), "where", apart=("condition",))
Tensor.where = lambda x, condition, y: where(condition, x, y)
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
for _name, _op in OPERATORS.items():
    setattr(Tensor, f"__{_name}__", _op)
    setattr(Tensor, f"__r{_name}__", reflected(_op))
Tensor.__rmul__ = mul
Tensor.__rtruediv__ = lambda x, number: mul(reciprocal(x), number)  # rounded twice, as in PyTorch
for _op in (eq, ne, lt, le, gt, ge, neg, abs):
    setattr(Tensor, f"__{_op.name}__", _op)
Tensor.add, Tensor.sub = scaled(add), scaled(sub)
Tensor.__invert__ = bitwise_not
Tensor.__array_ufunc__ = None  # NumPy's arrays leave `array * tensor` to the tensor
