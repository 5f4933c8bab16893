"""Arithmetic, element by element.

Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.apply import function_of
from minitorch.dispatch.declaration import METHODS, OPS, composite, pointwise
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.formulas import passed_on
from minitorch.dispatch.iteration import arranged
from minitorch.dispatch.out_types import SAME_TYPE
from minitorch.dtypes import COMPLEX, FLOATING, FROM_NUMPY, bool_, from_numpy_dtype
from minitorch.layout import kept_order
from minitorch.scalars import to_scalar
from minitorch.tensor import Tensor

Number = Any


def conj(value: Any) -> Any:
    """The complex conjugate of a tensor or a number; real values are their own."""
    if isinstance(value, Tensor):
        return value.conj() if value._dtype.category == COMPLEX else value
    return value.conjugate()


def _scaled(grad: Any, alpha: Any) -> Any:
    """The gradient of alpha · x in x."""
    return grad if alpha == 1 else grad * conj(alpha)


def check_factor(name: str, factor: Number, kind: str) -> None:
    """Raises RuntimeError for a factor of a higher kind than the array, whose kind is NumPy's, and for a bool."""
    if kind in "biu" and not isinstance(factor, int):
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if kind != "c" and isinstance(factor, complex):
        raise RuntimeError(f"For non-complex input tensors, argument {name} must not be a complex number.")
    if kind != "b" and factor is True:
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")


def times(factor: Number, array: Array | Number, like: Array | Number) -> Any:
    """The second operand times `alpha`. Raises RuntimeError where alpha is of a higher kind than the numbers.

    In complex numbers 1 changes something too: (∞ + 0i)(1 + 0i) = ∞ + NaN i.
    """
    dtype = (array if hasattr(array, "dtype") else like).dtype
    kind = dtype.kind
    if kind != "c" and factor.__class__ is int and factor == 1:
        return array
    check_factor("alpha", factor, kind)
    factor = to_scalar(factor, FROM_NUMPY[dtype])
    if kind == "c" and not hasattr(array, "dtype"):
        array = dtype.type(array)
    return array & factor if kind == "b" else array * factor


@pointwise(
    keyword_only="alpha",
    number_first="alpha",
    takes_sparse=True,
    takes_numbers=True,
    operators="__add__ __radd__ __iadd__",
    derivatives={"self": passed_on, "other": lambda grad, alpha: grad if alpha == 1 else grad * conj(alpha)},
)
def add(xp: Any, self: Array | Number, other: Array | Number, alpha: Number = 1) -> Array:
    """self + alpha · other."""
    return xp.add(self, times(alpha, other, self))


TWO_BOOLS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
    "instead."
)


def _check_not_bool(self: Any, other: Any, alpha: Number = 1) -> None:
    bools = [isinstance(each, bool) or (isinstance(each, Tensor) and each._dtype is bool_) for each in (self, other)]
    if all(bools):
        raise RuntimeError(TWO_BOOLS)
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


def _subtract(xp: Any, left: Array | Number, right: Array | Number) -> Array:
    try:
        return xp.subtract(left, right)
    except TypeError:
        raise RuntimeError(TWO_BOOLS) from None


@pointwise(
    keyword_only="alpha",
    number_first="alpha",
    takes_sparse=True,
    takes_numbers=True,
    operators="__sub__ __isub__",
    aliases="subtract",
    check=_check_not_bool,
    derivatives={"self": passed_on, "other": lambda grad, alpha: -_scaled(grad, alpha)},
)
def sub(xp: Any, self: Array | Number, other: Array | Number, alpha: Number = 1) -> Array:
    """self − alpha · other. Raises RuntimeError for bool."""
    return _subtract(xp, self, times(alpha, other, self))


@pointwise(
    keyword_only="alpha",
    order=lambda op, xp, args, result: arranged(op, xp, args[1::-1], result),
    check=_check_not_bool,
    variants="function",
    node=lambda self, other, alpha: f"RsubBackward{int(not isinstance(other, Tensor))}",
    derivatives={"self": lambda grad, alpha: -_scaled(grad, alpha), "other": passed_on},
)
def rsub(xp: Any, self: Array | Number, other: Array | Number, alpha: Number = 1) -> Array:
    """other − alpha · self. PyTorch has no page about it."""
    return _subtract(xp, other, times(alpha, self, other))


@composite(variants="method")
def __rsub__(input: Tensor, other: Any) -> Any:  # noqa: N807
    return rsub(input, other) if isinstance(other, (int, float, complex, Tensor)) else NotImplemented


def _times_conjugate(grad: Tensor, other: Any, memory: Array | None) -> Tensor:
    """grad · conj(other), written over the gradient if its memory is given."""
    factor = conj(other)
    if memory is None:
        return grad * factor
    if isinstance(factor, Tensor) and factor._dtype is grad._dtype and factor._array.shape == memory.shape:
        memory *= factor._elements
    elif factor.__class__ is float or factor.__class__ is int:
        memory *= factor
    else:
        return grad * factor
    return grad


@pointwise(
    exact=("other",),
    takes_numbers=True,
    operators="__mul__ __rmul__ __imul__",
    aliases="multiply",
    derivatives={
        "self": _times_conjugate,
        "other": lambda grad, self, memory: _times_conjugate(grad, self, memory),
    },
)
def mul(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """self · other."""
    return xp.multiply(self, other)


times_number: Callable[[Tensor, float], Tensor] = function_of(
    OPS["mul"].twin("MulBackward1", {"self": lambda grad, other: grad * conj(other)}, saves_number=True), with_out=False
)
"""The product with a number as PyTorch's own functions call it: an overload that the operators don't use."""


def _neg_kind(self: Array) -> None:
    if self.dtype == "bool":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )


@pointwise(
    out_type=SAME_TYPE, operators="__neg__", aliases="negative", upcast=False, derivatives={"self": lambda grad: -grad}
)
def neg(xp: Any, self: Array) -> Array:
    """−self. Raises RuntimeError for bool."""
    _neg_kind(self)
    return xp.negative(self)


@composite(operators="__pos__")
def positive(input: Tensor) -> Tensor:
    """The tensor itself. Raises RuntimeError for bool."""
    if input._dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@pointwise(
    out_type=SAME_TYPE,
    operators="__abs__",
    aliases="absolute",
    derivatives={"self": lambda grad, self: grad * self.sgn()},
)
def abs(xp: Any, self: Array) -> Array:
    """|self|, real for complex numbers. Raises NotImplementedError for bool."""
    if self.dtype == "bool":
        raise not_implemented("abs_cpu", "bool")
    return xp.abs(self)


_real_abs_ = METHODS["abs_"]


@composite(variants="method", aliases="absolute_")
def abs_(self: Tensor) -> Tensor:
    """Overwrites the elements with their absolute values. Raises RuntimeError for complex ones, whose own are real.

    Source: https://pytorch.org/docs/stable/generated/torch.abs.html
    """
    if self._dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    result: Tensor = _real_abs_(self)
    return result


@pointwise(
    keyword_only="value",
    number_first="value",
    derivatives={
        "self": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * conj(tensor2 * value),
        "tensor2": lambda grad, tensor1, value: grad * conj(tensor1 * value),
    },
    promoted=("self", "tensor1", "tensor2"),
    autocast_on_gpu="widest",
)
def addcmul(xp: Any, self: Array, tensor1: Array, tensor2: Array, value: Number = 1) -> Array:
    """self + value · tensor1 · tensor2. Raises NotImplementedError for bool."""
    if self.dtype == "bool":
        raise not_implemented("addcmul_cpu_out", "bool")
    product = tensor1 * tensor2
    return _sum(xp, self, product if value == 1 else to_scalar(value, FROM_NUMPY[self.dtype]) * product)


@pointwise(
    keyword_only="value",
    number_first="value",
    derivatives={
        "self": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * conj(value / tensor2),
        "tensor2": lambda grad, tensor1, tensor2, value: -grad * conj(value * tensor1 / (tensor2 * tensor2)),
    },
    promoted=("self", "tensor1", "tensor2"),
    check=lambda *args: _check_quotient(*args),
    autocast_on_gpu="widest",
)
def addcdiv(xp: Any, self: Array, tensor1: Array, tensor2: Array, value: Number = 1) -> Array:
    """self + value · tensor1 / tensor2. Raises RuntimeError for integers."""
    _check_quotient(self, tensor1, tensor2)
    quotient = tensor1 / tensor2
    return _sum(xp, self, quotient if value == 1 else to_scalar(value, FROM_NUMPY[self.dtype]) * quotient)


def _sum(xp: Any, self: Array, term: Array) -> Array:
    """self + term, in memory of the order of self where the shapes are the same."""
    if self.shape != term.shape or not self.ndim:
        return self + term
    return xp.add(self, term, out=xp.empty_like(self, order=kept_order(self)))


def _check_quotient(self: Any, tensor1: Any, tensor2: Any, value: Number = 1) -> None:
    if all(from_numpy_dtype(getattr(each, "_array", each).dtype).category < FLOATING for each in (tensor1, tensor2)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value "
            "* torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + "
            "value * tensor1 / tensor2), for all dtypes."
        )
