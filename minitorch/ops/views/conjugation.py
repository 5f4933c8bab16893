"""Complex conjugates, as views that leave the memory alone, and computed.

`bits` says what such views are. Source: https://pytorch.org/docs/stable/generated/torch.conj.html
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.bits import CONJUGATE, NEGATIVE
from minitorch.dispatch import reference
from minitorch.dispatch.declaration import METHODS, composite, pointwise, view
from minitorch.tensor import Tensor


@view(variants="", node="ConjBackward0", derivatives={"self": lambda grad: grad.conj()})
def conjugate_view(xp: Any, self: Array) -> Array:
    return self[...]


@view(variants="", node="NegViewBackward0", derivatives={"self": lambda grad: grad.neg()})
def negative_view(xp: Any, self: Array) -> Array:
    return self[...]


@composite()
def _conj(input: Tensor) -> Tensor:
    """A view of a complex tensor with the other conjugate bit. Raises RuntimeError for real ones."""
    if not input._dtype.is_complex:
        raise RuntimeError(f"_conj(): expected a complex tensor, but got {input._dtype}")
    result = conjugate_view(input)
    result._bits ^= CONJUGATE
    return result


@composite()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, a view of the same shape and dtype; a real tensor is its own."""
    return _conj(input) if input._dtype.is_complex else input


@composite()
def _neg_view(input: Tensor) -> Tensor:
    """The negative, as a view: the tensor with the other negative bit."""
    result = negative_view(input)
    result._bits ^= NEGATIVE
    return result


@composite()
def is_conj(input: Tensor) -> bool:
    """Whether the conjugate bit is set."""
    return bool(input._bits & CONJUGATE)


@composite()
def is_neg(input: Tensor) -> bool:
    """Whether the negative bit is set. https://pytorch.org/docs/stable/generated/torch.Tensor.is_neg.html"""
    return bool(input._bits & NEGATIVE)


@composite()
def resolve_conj(input: Tensor) -> Tensor:
    """A copy without bits if the conjugate bit is set, of the same shape and dtype, else the tensor itself."""
    return input.clone() if is_conj(input) else input


@composite()
def resolve_neg(input: Tensor) -> Tensor:
    """A copy without bits if the negative bit is set, of the same shape and dtype, else the tensor itself."""
    return input.clone() if is_neg(input) else input


@pointwise(derivatives={"self": lambda grad: grad.conj_physical()}, variants="inplace out")
def _conj_physical(xp: Any, self: Array) -> Array:
    return xp.conjugate(self)


METHODS["conj_physical_"] = METHODS.pop("_conj_physical_")
METHODS["conj_physical_"].__doc__ = reference.of_in_place("the complex conjugate.", "conj_physical", "function")


@composite()
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate, never put off, of the same shape and dtype; a real tensor is its own."""
    return input if out is None and not input._dtype.is_complex else _conj_physical(input, out=out)
