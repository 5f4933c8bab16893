"""Arithmetic, element by element."""

from __future__ import annotations

from typing import Any

from minitorch.backend import Array
from minitorch.ops.declaration import pointwise

Number = Any


def conj(value: Any) -> Any:
    """The complex conjugate of a tensor or a number; real values are their own."""
    return value.conj() if hasattr(value, "_array") and value._dtype.is_complex else value


def _scaled(value: Any, alpha: Any) -> Any:
    return value if alpha == 1 else value * alpha


@pointwise(
    operators="__add__ __radd__ __iadd__",
    derivatives={"self": lambda grad: grad, "other": lambda grad, alpha: _scaled(grad, alpha)},
)
def add(xp: Any, self: Array | Number, other: Array | Number, *, alpha: Number = 1) -> Array:
    """self + alpha · other. https://pytorch.org/docs/stable/generated/torch.add.html"""
    return xp.add(self, _scaled(other, alpha))


@pointwise(
    operators="__mul__ __rmul__ __imul__",
    aliases="multiply",
    derivatives={
        "self": lambda grad, other: grad * conj(other),
        "other": lambda grad, self: grad * conj(self),
    },
)
def mul(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """self · other. https://pytorch.org/docs/stable/generated/torch.mul.html"""
    return xp.multiply(self, other)
