"""Powers and roots, element by element.

Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array, Number
from minitorch.dispatch.declaration import METHODS, composite, pointwise
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.iteration import arranged, row_major
from minitorch.dispatch.op import Op
from minitorch.dtypes import INTEGER, complex128, float64
from minitorch.ops.pointwise.arithmetic import conj
from minitorch.tensor import Tensor


def _pow_grad_self(grad: Tensor, self: Any, exponent: Any) -> Any:
    """d(xʸ)/dx = y xʸ⁻¹, and 0 for y = 0 also where x = 0."""
    if not isinstance(exponent, Tensor):
        if exponent == 0:
            return grad.new_zeros(grad.shape)
        power = self.pow(exponent - 1)
        return grad * conj(power if exponent == 1 else power * exponent)
    slope = exponent * (self ** (exponent - 1))
    return (grad * conj(slope)).masked_fill(exponent == 0, 0)


def _pow_grad_exponent(grad: Tensor, self: Any, exponent: Any, result: Tensor) -> Any:
    """d(xʸ)/dy = xʸ ln x, and 0 for x = 0 where y ≥ 0."""
    if isinstance(self, Tensor):
        self = self.to(result._dtype)
        logarithm = self.log()
    else:  # whose logarithm isn't rounded to a two-byte float
        self = result.new_tensor(self, dtype=None if result._dtype.is_complex else float64, device="cpu")
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


def _pow_order(op: Op, xp: Any, args: Sequence[Any], result: Array) -> Array:
    """The powers of a number lie row by row."""
    return (arranged if isinstance(args[0], Tensor) else row_major)(op, xp, args, result)


@pointwise(
    order=_pow_order,
    number_is_parameter=True,
    operators="__pow__ __rpow__ __ipow__",
    check=lambda self, exponent: _check_exponent(self, exponent),
    node=_pow_node,
    derivatives={"self": _pow_grad_self, "exponent": _pow_grad_exponent},
    autocast_on_gpu="float32",
)
def pow(xp: Any, self: Array | Number, exponent: Array | Number) -> Array:
    """self to the power of exponent.

    Raises RuntimeError for integers to a negative number, NotImplementedError for bool to bool.
    """
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
        return _reciprocal(xp, self)
    elif exponent == -0.5:
        return _reciprocal(xp, xp.sqrt(self))
    elif exponent == -2:
        return _reciprocal(xp, xp.square(self))
    if exponent == 2:
        return xp.square(self)
    if exponent == 3:
        return self * self * self
    power = xp.power(self, exponent)
    return power if isinstance(exponent, complex) or exponent >= 0 else _with_pole(xp, self, power)


def _reciprocal(xp: Any, self: Array) -> Array:
    return _with_pole(xp, self, xp.reciprocal(self))


def _with_pole(xp: Any, self: Array, power: Array) -> Array:
    """A negative power, which is infinite for a complex zero: ∞ + NaN·i in PyTorch, NaN + NaN·i in NumPy."""
    return xp.where(self == 0, power.dtype.type(complex(xp.inf, xp.nan)), power) if power.dtype.kind == "c" else power


def _integer_power(xp: Any, self: Array | Number, exponent: Array) -> Array:
    """Integers to the power of integers: to a negative one 0, but for ±1."""
    result = xp.power(self, xp.abs(exponent))
    return xp.where((exponent < 0) & (xp.abs(self) != 1), xp.asarray(0, result.dtype), result)


@composite()
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """pow in double precision: a float64 or complex128 tensor of the shape that both broadcast to."""
    wide = complex128 if any(_is_complex(each) for each in (input, exponent)) else float64
    input, exponent = (each.to(wide) if isinstance(each, Tensor) else each for each in (input, exponent))
    result: Tensor = pow(input, exponent) if out is None else pow(input, exponent, out=out)
    return result


@composite(variants="method")
def float_power_(input: Tensor, exponent: Any) -> Tensor:
    """`float_power` in place: self ← self ^ exponent, and returns the tensor itself.

    Raises RuntimeError unless the dtype of this tensor is float64, or complex128 where one of both is complex.
    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.float_power_.html
    """
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
    """input², of the shape and dtype of `input`; of bools int64."""
    result: Tensor = pow(input, 2) if out is None else pow(input, 2, out=out)
    return result


@composite(variants="method")
def square_(input: Tensor) -> Tensor:
    """Squares this tensor in place: returns it, of the same shape and dtype.

    Source: https://pytorch.org/docs/stable/generated/torch.square.html
    """
    result: Tensor = METHODS["pow_"](input, 2)
    return result


@pointwise(promotion="to float", derivatives={"self": lambda grad, result: grad / (2 * conj(result))})
def sqrt(xp: Any, self: Array) -> Array:
    """√self; NaN for negative numbers."""
    return xp.sqrt(self)


@pointwise(
    promotion="to float",
    derivatives={"self": lambda grad, result: -0.5 * grad * conj(result.pow(3))},
    autocast_on_gpu="float32",
)
def rsqrt(xp: Any, self: Array) -> Array:
    """1/√self."""
    return 1 / xp.sqrt(self)


@pointwise(
    promotion="to float",
    derivatives={"self": lambda grad, result: -grad * conj(result * result)},
    autocast_on_gpu="float32",
)
def reciprocal(xp: Any, self: Array) -> Array:
    """1/self."""
    return _reciprocal(xp, self)
