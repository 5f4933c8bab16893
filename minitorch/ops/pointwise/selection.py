"""Choosing between numbers: clamp, maximum and minimum, where, and interpolation.

Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array, Number
from minitorch.dispatch.declaration import METHODS, composite, pointwise
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.out_types import LIKE_INPUT, WHERE
from minitorch.dtypes import FLOATING, FROM_NUMPY, bool_, c_type_name, finfo, scalar_type, uint8
from minitorch.layout import copy_in, preserve_format
from minitorch.ops.creation.filled import scalar_tensor
from minitorch.ops.pointwise.arithmetic import conj
from minitorch.scalars import to_scalar
from minitorch.tensor import Tensor
from minitorch.warn_once import warn_once


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
    number_is_parameter=True,
    in_range=("min", "max"),
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

    Raises RuntimeError without a bound, NotImplementedError for complex numbers.
    """
    _refuse_complex(self, "clamp")
    numbers = not isinstance(min, xp.ndarray) and not isinstance(max, xp.ndarray)
    if self.dtype == "bool" and (numbers or (min is not None and max is not None)):
        raise not_implemented("clamp", "bool")
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if numbers and min is not None and max is not None:
        return xp.clip(self, min, max)
    result = self if min is None else xp.maximum(self, min)
    return result if max is None else xp.minimum(result, max)


@pointwise(
    number_is_parameter=True,
    in_range=("min",),
    derivatives={
        "self": lambda grad, self, min: grad.where(self >= min, 0),
        "min": lambda grad, self, min: grad.where(self < min, 0),
    },
    node=lambda self, min: f"ClampMinBackward{int(isinstance(min, Tensor))}",
)
def clamp_min(xp: Any, self: Array, min: Array | Number) -> Array:
    """max(self, min). PyTorch has no page about it."""
    _refuse_complex(self, "clamp")
    return xp.maximum(self, _in_range(min, self))


@pointwise(
    number_is_parameter=True,
    in_range=("max",),
    derivatives={
        "self": lambda grad, self, max: grad.where(self <= max, 0),
        "max": lambda grad, self, max: grad.where(self > max, 0),
    },
    node=lambda self, max: f"ClampMaxBackward{int(isinstance(max, Tensor))}",
)
def clamp_max(xp: Any, self: Array, max: Array | Number) -> Array:
    """min(self, max). PyTorch has no page about it."""
    _refuse_complex(self, "clamp")
    return xp.minimum(self, _in_range(max, self))


def _in_range(bound: Array | Number, self: Array) -> Any:
    return bound if hasattr(bound, "dtype") else to_scalar(bound, FROM_NUMPY[self.dtype])


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
    """The larger of the two; NaN where one is."""
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
    """The smaller of the two; NaN where one is."""
    _refuse_complex(self, "minimum")
    return xp.minimum(self, other)


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
    """The larger of the two, or the one that is a number."""
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
    """The smaller of the two, or the one that is a number."""
    _refuse_complex(self, "fmin")
    return xp.fmin(self, other)


@pointwise(
    out_type=WHERE,
    variants="out",
    upcast=False,
    promoted=("self", "other"),
    in_range=("self", "other"),
    derivatives={
        "self": lambda grad, condition: _where(condition, grad, 0),
        "other": lambda grad, condition: _where(condition, 0, grad),
    },
)
def _where(xp: Any, condition: Array, self: Array | Number, other: Array | Number) -> Array:
    kind = (self if isinstance(self, xp.ndarray) else other).dtype
    self, other = xp.asarray(self, kind), xp.asarray(other, kind)
    return xp.where(condition, self, other)


@composite(variants="function")
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """`input` where the condition holds, else `other`, of the shape that the three broadcast to, in the common dtype.

    With the condition alone, the indices where it holds, a tuple with a vector for each dimension.
    Raises RuntimeError when the condition isn't of booleans.
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    for position, (name, value) in enumerate((("input", input), ("other", other)), 2):
        if value is None:
            raise TypeError(f"where(): argument '{name}' (position {position}) must be Tensor, not NoneType")
    if condition._dtype is not bool_ and condition._dtype is not uint8:
        kind = condition.type().removeprefix("torch.").removesuffix("Tensor")
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {kind}")
    if condition._dtype is uint8:
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead."
        )
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = scalar_tensor(input, dtype=scalar_type(input), device=condition._device)
        other = scalar_tensor(other, dtype=scalar_type(other), device=condition._device)
    return _where(condition, input, other) if out is None else _where(condition, input, other, out=out)


@composite(variants="method")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where the condition holds, else `other`: `torch.where(condition, self, other)`.

    Returns a tensor of the shape that the three broadcast to, in the common dtype. Raises TypeError for a condition
    that is no tensor, RuntimeError for one that isn't of booleans.
    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.where.html
    """
    if not isinstance(condition, Tensor):
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}")
    return where(condition, self, other)


METHODS["where"] = METHODS.pop("_where_method")


@pointwise(
    number_is_parameter=True,
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
    """self + weight · (end − self), counted from the nearer end.

    Raises RuntimeError for different dtypes, NotImplementedError for integers and bools.
    """
    if getattr(weight, "ndim", 1) == 0:  # whose type doesn't count
        weight = weight.astype(self.dtype)
    for name, each in (("end", end), ("weight", weight)):
        if getattr(each, "dtype", self.dtype) != self.dtype:
            raise RuntimeError(f"expected dtype {c_type_name(self)} for `{name}` but got dtype {c_type_name(each)}")
    if self.dtype.kind in "biu":
        raise not_implemented(
            "lerp_kernel_tensor" if isinstance(weight, xp.ndarray) else "lerp_kernel_scalar", self.dtype.name
        )
    kind = self.dtype
    if kind.itemsize == 2:
        self, end = self.astype("float32"), end.astype("float32")
    weight = _in_range(weight, self)
    distance = end - self
    if isinstance(weight, xp.ndarray):
        result = xp.where(xp.abs(weight) < 0.5, self + weight * distance, end - distance * (1 - weight))
    else:
        result = self + weight * distance if abs(weight) < 0.5 else end - distance * (1 - weight)
    return result.astype(kind, copy=False)


@pointwise(
    unchanged=lambda args: args[0]._dtype.category < FLOATING,
    out_type=LIKE_INPUT,
    upcast=False,
    derivatives={"self": lambda grad, self: grad.masked_fill(self.isinf() | self.isnan(), 0)},
)
def nan_to_num(
    xp: Any, self: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """NaN and infinities replaced: by 0 and the largest numbers unless others are given."""
    if self.dtype.kind in "biu":
        return copy_in(xp, self, self.dtype, preserve_format)
    limits = finfo(FROM_NUMPY[self.dtype])
    posinf = limits.max if posinf is None else posinf
    neginf = limits.min if neginf is None else neginf
    if self.dtype.kind == "c":
        return xp.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)
    kind = self.dtype.type
    replaced = xp.where(self != self, xp.asarray(nan or 0.0, self.dtype), self)
    if (posinf, neginf) == (limits.max, limits.min):
        return xp.clip(replaced, kind(neginf), kind(posinf))
    replaced = xp.where(self == xp.inf, xp.asarray(posinf, self.dtype), replaced)
    return xp.where(self == -xp.inf, xp.asarray(neginf, self.dtype), replaced)
