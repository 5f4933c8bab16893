"""Ops that read and write where a mask is True, and those that find where that is.

Source: https://pytorch.org/docs/stable/generated/torch.Tensor.masked_fill_.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array, Number
from minitorch.dispatch.apply import in_place_of
from minitorch.dispatch.declaration import METHODS, OPS, composite, declare
from minitorch.dispatch.errors import broadcast_clash
from minitorch.dispatch.overlap import ANY_SOURCE, NO_SOURCE
from minitorch.dispatch.overriding import announced
from minitorch.dtypes import C_NAMES, COMPLEX, FROM_NUMPY, INTEGER, bool_, type_name
from minitorch.layout import restrided
from minitorch.ops.views.broadcasting import broadcast_shapes
from minitorch.scalars import to_scalar
from minitorch.tensor import Tensor
from minitorch.warn_once import warn_once

NO_PLACES = (
    "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct data-independent "
    "implementation does not exist. This implementation returns a fake value, assuming all elements of the tensor are "
    "non-zero. To enable this registration, please set 'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' "
    "to True."
)
"""What the error says where elements of the meta device decide which places are taken."""


def mask_of_bytes(array: Array) -> Array:
    """The mask that an index of uint8 is, which PyTorch had before it had booleans."""
    warn_once("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
    return array.astype(bool)


def check_mask(name: str, mask: Array) -> None:
    kind = FROM_NUMPY[mask.dtype]
    if kind is not bool_:
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {C_NAMES[kind.name]}")


def _check_shapes(mask: tuple[int, ...], values: tuple[int, ...]) -> None:
    """Raises RuntimeError for shapes that don't broadcast. It names the mask first, as PyTorch does."""
    clash = broadcast_clash(mask, values)
    if clash is not None:
        raise clash


def _widened(input: Tensor, mask: Tensor) -> Tensor:
    _check_shapes(mask._array.shape, input._array.shape)
    shape = broadcast_shapes(input._array.shape, mask._array.shape)
    return input if shape == input._array.shape else input.expand(shape)


def _check_covers(target: Tensor, mask: Tensor) -> None:
    shape = broadcast_shapes(target._array.shape, mask._array.shape)
    if shape != target._array.shape:
        raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}")


@declare(
    on_expanded=("masked_fill_", "tensor[mask] = scalar"),
    written_value="value",
    from_cpu=("value",),
    elsewhere={
        "mask": lambda self, mask: (
            f"expected self and mask to be on the same device, but got mask on {mask.device} and self on {self.device}"
        )
    },
    variants="",
    node=lambda self, mask, value: "MaskedFillBackward1" if isinstance(value, Tensor) else "MaskedFillBackward0",
    edits=True,
    derivatives={"self": lambda grad, mask: grad.masked_fill(mask, 0), "value": lambda grad, mask: (grad * mask).sum()},
)
def fill_where(xp: Any, self: Array, mask: Array, value: Array | Number) -> Array:
    check_mask("masked_fill_", mask)
    if hasattr(value, "ndim") and value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    kind = FROM_NUMPY[self.dtype]
    if not hasattr(value, "ndim"):
        value = to_scalar(value, kind)
    elif kind.category == INTEGER or (value.dtype.kind == "c" and kind.category < COMPLEX):
        value = to_scalar(value.item(), kind)
    xp.copyto(self, value, where=mask, casting="unsafe")
    return self


@composite()
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with one number where the mask is True; mask, bool, and input are broadcast to one shape.

    https://pytorch.org/docs/stable/generated/torch.Tensor.masked_fill_.html
    """
    return fill_where(_widened(input, mask), mask, value)


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Writes one number, or a 0-d tensor, where the mask is True; the mask, of bools, is broadcast to this shape.

    Returns the tensor itself. Raises RuntimeError for a mask of another dtype, and for one that doesn't fit.
    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.masked_fill_.html
    """
    _check_covers(self, mask)
    return in_place_of(OPS["fill_where"])(self, mask, value)


@declare(
    overlap=(NO_SOURCE,),
    variants="function method out",
    derivatives={
        "self": lambda grad, self, mask: grad.new_zeros(broadcast_shapes(self.shape, mask.shape)).masked_scatter(
            mask, grad
        )
    },
)
def masked_select(xp: Any, self: Array, mask: Array) -> Array:
    """The elements where the mask is True, as a vector."""
    if mask.dtype != "bool":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    _check_shapes(mask.shape, self.shape)
    self, mask = xp.broadcast_arrays(self, mask)
    return xp.asarray(self[mask])


@declare(
    overlap=(ANY_SOURCE,),
    variants="",
    edits=True,
    node="MaskedScatterBackward0",
    derivatives={
        "self": lambda grad, mask: grad.masked_fill(mask, 0),
        "source": lambda grad, mask, source_shape: _taken(grad, mask, source_shape),
    },
)
def scatter_where(xp: Any, self: Array, mask: Array, source: Array) -> Array:
    if mask.dtype != "bool":
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {type_name(mask)}")
    if self.dtype != source.dtype:
        one, other = (type_name(each) for each in (self, source))
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got{one} and {other}")
    mask = xp.broadcast_to(mask, self.shape)
    count = int(mask.sum())
    if source.size < count:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    self[mask] = source.reshape(-1)[:count]
    return self


def _taken(grad: Tensor, mask: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient of a source whose first elements went where the mask is True."""
    if grad.is_meta:
        return grad.new_empty(shape)
    taken = masked_select(grad, mask)
    flat = taken.new_zeros(math.prod(shape))
    flat[: taken.numel()] = taken
    return flat.reshape(shape)


@composite()
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the elements of `source`, one after the other, where the mask is True.

    https://pytorch.org/docs/stable/generated/torch.Tensor.masked_scatter_.html
    """
    return scatter_where(_widened(input, mask), mask, source)


def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Writes the elements of `source`, one after the other, where the mask, of bools, is True.

    Returns the tensor itself. Raises RuntimeError for a mask of another dtype or one that doesn't fit, and for a
    `source` of another dtype or with too few elements.
    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.masked_scatter_.html
    """
    _check_covers(self, mask)
    return in_place_of(OPS["scatter_where"])(self, mask, source)


METHODS["masked_fill_"] = announced(masked_fill_)
METHODS["masked_scatter_"] = announced(masked_scatter_)


@declare(variants="", aten="nonzero", no_elements=NO_PLACES)
def places_of_nonzero(xp: Any, self: Array) -> Array:
    if not self.ndim:
        return xp.zeros((0, 1 if self != 0 else 0), xp.int64).T
    places = xp.stack(xp.nonzero(self))  # a dimension's indices lie together
    return restrided(xp, places.T, (places.itemsize, places.itemsize * places.shape[1]))


@composite(variants="function method out")
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements, a row each; or as a tuple with a vector for each dimension."""
    if as_tuple:
        return places_of_nonzero(input if input.dim() else input.reshape(1)).unbind(1)
    return places_of_nonzero(input)


@composite()
def argwhere(input: Tensor) -> Tensor:
    """The indices of the nonzero elements, a row each."""
    return places_of_nonzero(input)
