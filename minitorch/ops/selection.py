"""Choosing between numbers: clamp, maximum and minimum, where, interpolation, and signs.

Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.backend import Array
from minitorch.dtypes import C_NAMES, FLOATING, FROM_NUMPY, bool_, finfo, from_numpy_dtype, scalar_type, uint8
from minitorch.layout import copy_in, kept_order, preserve_format
from minitorch.ops.blocks import choose, clipped
from minitorch.ops.creation import scalar_tensor
from minitorch.ops.declaration import METHODS, composite, pointwise
from minitorch.ops.errors import no_derivative, not_implemented
from minitorch.ops.pointwise import conj
from minitorch.tensor import Tensor

Number = Any


def _inside(self: Tensor, min: Any, max: Any) -> Any:
    """Where clamping leaves a number as it is."""
    if min is None:
        return self <= max
    return self >= min if max is None else (self >= min) & (self <= max)


def _below(self: Tensor, min: Any, max: Any) -> Any:
    return self < min if max is None else (self < min) & (min < max)


def _above(self: Tensor, min: Any, max: Any) -> Any:
    return self > max if min is None else (self > max) | (max < min)


def _clamp_node(self: Any, min: Any, max: Any) -> str:
    return f"ClampBackward{0 if isinstance(min, Tensor) or isinstance(max, Tensor) else 1}"


@pointwise(
    aliases="clip",
    node=_clamp_node,
    derivatives={
        "self": lambda grad, self, min, max: grad.where(_inside(self, min, max), 0),
        "min": lambda grad, self, min, max: grad.where(_below(self, min, max), 0),
        "max": lambda grad, self, min, max: grad.where(_above(self, min, max), 0),
    },
)
def clamp(xp: Any, self: Array, min: Array | Number | None = None, max: Array | Number | None = None) -> Array:
    """min(max(self, min), max); a bound that is None doesn't bind. NaN stays.

    https://pytorch.org/docs/stable/generated/torch.clamp.html
    """
    _refuse_complex(self, "clamp")
    numbers = not isinstance(min, xp.ndarray) and not isinstance(max, xp.ndarray)
    if self.dtype == "bool" and (numbers or (min is not None and max is not None)):
        suffix = f"{'_min' * (max is None)}{'_max' * (min is None)}{'_scalar' * numbers}_cpu"
        raise not_implemented(f"clamp{suffix}", "bool")
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if numbers:
        return clipped(xp, self, min, max)
    result = self if min is None else xp.maximum(self, min)
    return result if max is None else xp.minimum(result, max)


@pointwise(
    derivatives={
        "self": lambda grad, self, min: grad.where(self >= min, 0),
        "min": lambda grad, self, min: grad.where(self < min, 0),
    },
    node=lambda self, min: f"ClampMinBackward{int(isinstance(min, Tensor))}",
)
def clamp_min(xp: Any, self: Array, min: Array | Number) -> Array:
    """max(self, min)."""
    _refuse_complex(self, "clamp")
    return xp.maximum(self, min) if isinstance(min, xp.ndarray) else clipped(xp, self, min, None)


@pointwise(
    derivatives={
        "self": lambda grad, self, max: grad.where(self <= max, 0),
        "max": lambda grad, self, max: grad.where(self > max, 0),
    },
    node=lambda self, max: f"ClampMaxBackward{int(isinstance(max, Tensor))}",
)
def clamp_max(xp: Any, self: Array, max: Array | Number) -> Array:
    """min(self, max)."""
    _refuse_complex(self, "clamp")
    return xp.minimum(self, max) if isinstance(max, xp.ndarray) else clipped(xp, self, None, max)


def _unless(loses: Tensor, ties: Tensor, grad: Tensor) -> Any:
    """The gradient that goes to one of two numbers: nothing where it loses, half where the two are equal."""
    return (grad / 2).where(ties, grad).masked_fill(loses, 0)


@pointwise(
    variants="function method out",
    derivatives={
        "self": lambda grad, self, other: _unless(self < other, self == other, grad),
        "other": lambda grad, self, other: _unless(self > other, self == other, grad),
    },
)
def maximum(xp: Any, self: Array, other: Array) -> Array:
    """The larger of the two; NaN where one is. https://pytorch.org/docs/stable/generated/torch.maximum.html"""
    _refuse_complex(self, "maximum")
    return xp.maximum(self, other)


@pointwise(
    variants="function method out",
    derivatives={
        "self": lambda grad, self, other: _unless(self > other, self == other, grad),
        "other": lambda grad, self, other: _unless(self < other, self == other, grad),
    },
)
def minimum(xp: Any, self: Array, other: Array) -> Array:
    """The smaller of the two; NaN where one is. https://pytorch.org/docs/stable/generated/torch.minimum.html"""
    _refuse_complex(self, "minimum")
    return xp.minimum(self, other)


def _naming_types_as_c(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`clamp_` between numbers, whose error calls the target's type what it is called in C++."""

    @functools.wraps(method)
    def clamping(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        try:
            return method(self, *args, **kwargs)
        except RuntimeError as error:
            message, is_cast, _ = str(error).partition("can't be cast to the desired output type ")
            if not is_cast or any(isinstance(each, Tensor) for each in (*args, *kwargs.values())):
                raise
            raise RuntimeError(message + is_cast + C_NAMES[self._dtype.name]) from None

    return clamping


for _name in ("clamp_", "clip_", "clamp_min_", "clamp_max_"):
    METHODS[_name] = _naming_types_as_c(METHODS[_name])


def _refuse_complex(self: Array, function: str) -> None:
    if self.dtype.kind == "c":
        if function == "clamp":
            raise NotImplementedError("clamp is not supported for complex types")
        raise RuntimeError(f"{function} not implemented for complex tensors.")


@pointwise(
    variants="function method out",
    derivatives={
        "self": lambda grad, self, other: grad.masked_fill(~((self >= other) | other.isnan()), 0),
        "other": lambda grad, self, other: grad.masked_fill((self >= other) | other.isnan(), 0),
    },
)
def fmax(xp: Any, self: Array, other: Array) -> Array:
    """The larger of the two, or the one that is a number. https://pytorch.org/docs/stable/generated/torch.fmax.html"""
    _refuse_complex(self, "fmax")
    return xp.fmax(self, other)


@pointwise(
    variants="function method out",
    derivatives={
        "self": lambda grad, self, other: grad.masked_fill(~((self <= other) | other.isnan()), 0),
        "other": lambda grad, self, other: grad.masked_fill((self <= other) | other.isnan(), 0),
    },
)
def fmin(xp: Any, self: Array, other: Array) -> Array:
    """The smaller of the two, or the one that is a number. https://pytorch.org/docs/stable/generated/torch.fmin.html"""
    _refuse_complex(self, "fmin")
    return xp.fmin(self, other)


@pointwise(
    variants="out",
    upcast=False,
    promoted=("self", "other"),
    node="WhereBackward0",
    derivatives={
        "self": lambda grad, condition: _where(condition, grad, 0),
        "other": lambda grad, condition: _where(condition, 0, grad),
    },
)
def _where(xp: Any, condition: Array, self: Array | Number, other: Array | Number) -> Array:
    kind = (self if isinstance(self, xp.ndarray) else other).dtype
    self, other = xp.asarray(self, kind), xp.asarray(other, kind)
    return choose(xp, condition, self, other) if condition.dtype == bool else xp.where(condition, self, other)


@composite(variants="function")
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """`input` where the condition holds, else `other`; with the condition alone, the indices where it holds.

    Raises RuntimeError when the condition isn't of booleans. https://pytorch.org/docs/stable/generated/torch.where.html
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition._dtype is not bool_ and condition._dtype is not uint8:
        kind = condition.type().removeprefix("torch.").removesuffix("Tensor")
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {kind}")
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = scalar_tensor(input, dtype=scalar_type(input), device=condition._device)
        other = scalar_tensor(other, dtype=scalar_type(other), device=condition._device)
    return _where(condition, input, other) if out is None else _where(condition, input, other, out=out)


@composite(variants="method")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where the condition holds, else `other`. See `torch.where`."""
    if not isinstance(condition, Tensor):
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}")
    return where(condition, self, other)


METHODS["where"] = METHODS.pop("_where_method")


@pointwise(
    variants="function method inplace out",
    node=lambda self, end, weight: f"LerpBackward{int(isinstance(weight, Tensor))}",
    promotion="none",
    derivatives={
        "self": lambda grad, weight: grad * (1 - conj(weight)),
        "end": lambda grad, weight: grad * conj(weight),
        "weight": lambda grad, self, end: grad * conj(end - self),
    },
)
def lerp(xp: Any, self: Array, end: Array, weight: Array | Number) -> Array:
    """self + weight · (end − self), counted from the nearer end. Raises RuntimeError for different dtypes.

    https://pytorch.org/docs/stable/generated/torch.lerp.html
    """
    if getattr(weight, "ndim", 1) == 0:  # whose type doesn't count
        weight = weight.astype(self.dtype)
    for name, each in (("end", end), ("weight", weight)):
        if getattr(each, "dtype", self.dtype) != self.dtype:
            raise RuntimeError(f"expected dtype {_c_name(self)} for `{name}` but got dtype {_c_name(each)}")
    if self.dtype.kind in "biu":
        raise not_implemented(
            f"lerp_kernel_{'tensor' if isinstance(weight, xp.ndarray) else 'scalar'}", self.dtype.name
        )
    kind = self.dtype
    if kind.itemsize == 2:
        self, end = self.astype("float32"), end.astype("float32")
    distance = end - self
    if isinstance(weight, xp.ndarray):
        result = xp.where(xp.abs(weight) < 0.5, self + weight * distance, end - distance * (1 - weight))
    else:
        result = self + weight * distance if abs(weight) < 0.5 else end - distance * (1 - weight)
    return result.astype(kind, copy=False)


def _c_name(array: Array) -> str:
    names = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}
    names |= {"int64": "long int", "int32": "int"}
    names |= {"complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}
    return names.get(array.dtype.name, array.dtype.name)


@pointwise(
    derivatives={
        "self": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * conj(tensor2 * value),
        "tensor2": lambda grad, tensor1, value: grad * conj(tensor1 * value),
    },
    promoted=("self", "tensor1", "tensor2"),
)
def addcmul(xp: Any, self: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """self + value · tensor1 · tensor2. https://pytorch.org/docs/stable/generated/torch.addcmul.html"""
    if self.dtype == "bool":
        raise not_implemented("addcmul_cpu_out", "bool")
    if self.dtype.kind in "iu":
        value = int(value)
    product = tensor1 * tensor2
    return _sum(xp, self, product if value == 1 else value * product)


@pointwise(
    derivatives={
        "self": lambda grad: grad,
        "tensor1": lambda grad, tensor2, value: grad * conj(value / tensor2),
        "tensor2": lambda grad, tensor1, tensor2, value: -grad * conj(value * tensor1 / (tensor2 * tensor2)),
    },
    promoted=("self", "tensor1", "tensor2"),
    check=lambda *args: _check_quotient(*args),
)
def addcdiv(xp: Any, self: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """self + value · tensor1 / tensor2. Raises RuntimeError for integers.

    https://pytorch.org/docs/stable/generated/torch.addcdiv.html
    """
    _check_quotient(self, tensor1, tensor2)
    quotient = tensor1 / tensor2
    return _sum(xp, self, quotient if value == 1 else value * quotient)


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


# Signs.


def _zeros(grad: Tensor) -> Tensor:
    zeros: Tensor = grad.new_zeros(grad.shape)
    return zeros


@pointwise(derivatives={"self": _zeros})
def sign(xp: Any, self: Array) -> Array:
    """−1, 0 or 1. https://pytorch.org/docs/stable/generated/torch.sign.html"""
    if self.dtype.kind == "c":
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    return _direction(xp, self)


def _direction(xp: Any, self: Array) -> Array:
    """x/|x|; 0 for 0, and for a real NaN."""
    if self.dtype.kind == "b":
        return copy_in(xp, self, self.dtype, preserve_format)
    if self.dtype.kind == "c":
        size = xp.abs(self)
        return xp.where(size == 0, xp.zeros((), self.dtype), self / size)
    return xp.subtract((self > 0).view("int8"), (self < 0).view("int8")).astype(self.dtype)


def _sgn_gradient(grad: Tensor, self: Tensor, result: Tensor) -> Any:
    """Of x/|x|: what is left of the gradient across the direction of x, over |x|."""
    if not self._dtype.is_complex:
        return _zeros(grad)
    size = self.abs()
    across = (grad - grad.conj() * result * result) / 2
    return (across / size).masked_fill(size == 0, 0)


@pointwise(derivatives={"self": _sgn_gradient})
def sgn(xp: Any, self: Array) -> Array:
    """x/|x|, and 0 for 0: sign, for complex numbers too. https://pytorch.org/docs/stable/generated/torch.sgn.html"""
    return _direction(xp, self)


@pointwise(
    promotion="to float",
    node=lambda self, other: f"CopysignBackward{int(not isinstance(other, Tensor))}",
    derivatives={
        "self": lambda grad, self, result: (grad * (result / self)).masked_fill(self == 0, 0),
        "other": _zeros,
    },
)
def copysign(xp: Any, self: Array, other: Array | Number) -> Array:
    """|self| with the sign of `other`. https://pytorch.org/docs/stable/generated/torch.copysign.html"""
    return xp.copysign(self, other)


@pointwise(
    promotion="none",
    upcast=False,
    node="torch::autograd::NotImplemented",
    derivatives={"self, values": no_derivative("heaviside")},
)
def heaviside(xp: Any, self: Array, values: Array) -> Array:
    """0 for negative numbers, 1 for positive ones, `values` for 0. Raises RuntimeError for different dtypes.

    https://pytorch.org/docs/stable/generated/torch.heaviside.html
    """
    if self.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return xp.where(self == 0, values, (self > 0).astype(self.dtype))


@pointwise(upcast=False, derivatives={"self": lambda grad, self: grad.masked_fill(self.isinf() | self.isnan(), 0)})
def nan_to_num(
    xp: Any, self: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """NaN and infinities replaced: by 0 and the largest numbers unless others are given.

    https://pytorch.org/docs/stable/generated/torch.nan_to_num.html
    """
    if self.dtype.kind in "biu":
        return copy_in(xp, self, self.dtype, preserve_format)
    limits = finfo(FROM_NUMPY[self.dtype])
    posinf = limits.max if posinf is None else posinf
    neginf = limits.min if neginf is None else neginf
    if self.dtype.kind == "c":
        return xp.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)
    kind = self.dtype.type
    replaced = choose(xp, self != self, xp.asarray(nan or 0.0, self.dtype), self)
    if (posinf, neginf) == (limits.max, limits.min):
        return clipped(xp, replaced, kind(neginf), kind(posinf))
    replaced = choose(xp, self == xp.inf, xp.asarray(posinf, self.dtype), replaced)
    return choose(xp, self == -xp.inf, xp.asarray(neginf, self.dtype), replaced)


@pointwise(
    upcast=False,
    derivatives={"self": lambda grad, self, other: grad.masked_fill(self == other, 0), "other": _zeros},
)
def nextafter(xp: Any, self: Array, other: Array) -> Array:
    """The next number after self towards `other`. https://pytorch.org/docs/stable/generated/torch.nextafter.html"""
    if self.dtype.kind in "biu":
        raise not_implemented("nextafter_cpu", self.dtype.name)
    if not isinstance(other, xp.ndarray) or self.shape != other.shape:
        return xp.nextafter(self, other)
    # The bits of neighbouring numbers are neighbouring integers, but for zeros and NaN.
    bits = self.view(f"int{8 * self.dtype.itemsize}")
    outwards = ((other > self) == (self > 0)).view("int8")
    result = xp.asarray(bits + (outwards * xp.int8(2) - xp.int8(1))).view(self.dtype)
    special = (self == 0) | (self == other) | (self != self) | (other != other)
    result[special] = xp.nextafter(self[special], other[special])
    return result
