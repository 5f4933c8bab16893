"""PyTorch's words for what is refused. Whoever finds the fault raises what one of these functions returns."""

# 03 · Views and layout
from __future__ import annotations

from typing import TYPE_CHECKING

from .settings import TYPE_NAMES, dtype

if TYPE_CHECKING:
    from .tensor import Tensor


def two_unknown() -> RuntimeError:
    """A shape has -1 in two places."""
    return RuntimeError("only one dimension can be inferred")


def below_minus_one(size: tuple[int, ...], place: int) -> RuntimeError:
    """The length at this place of a shape is -2 or less."""
    return RuntimeError(f"invalid shape dimension {size[place]} at index {place} of shape {list(size)}")


def any_length_fits(size: tuple[int, ...]) -> RuntimeError:
    """A shape has a -1 and a 0, and there are no elements: each length in place of the -1 would do."""
    why = "because the unspecified dimension size -1 can be any value and is ambiguous"
    return RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(size)} {why}")


def wrong_count(size: tuple[int, ...], count: int) -> RuntimeError:
    """No tensor of this shape has so many elements."""
    return RuntimeError(f"shape '{list(size)}' is invalid for input of size {count}")


def too_few_sizes(x: Tensor, size: tuple[int, ...]) -> RuntimeError:
    """`x` can't be expanded to a shape of fewer dimensions."""
    rule = f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({x.ndim})"
    call = f"expand({type_name(x.dtype)}{{{list(x.shape)}}}, size={list(size)})"
    return RuntimeError(f"{call}: the number of sizes provided {rule}")


def nothing_to_keep(dim: int) -> RuntimeError:
    """A new dimension can't be expanded to -1, which means its old length."""
    rule = "isn't allowed in a leading, non-existing dimension"
    return RuntimeError(f"The expanded size of the tensor (-1) {rule} {dim}")


def not_stretchable(x: Tensor, size: tuple[int, ...], dim: int) -> RuntimeError:
    """Dimension `dim` of the new shape differs from that of `x`, which isn't 1."""
    length = x.shape[dim - len(size) + x.ndim]
    sizes = f"Target sizes: {list(size)}.  Tensor sizes: {list(x.shape)}"
    rule = f"must match the existing size ({length}) at non-singleton dimension {dim}."
    return RuntimeError(f"The expanded size of the tensor ({size[dim]}) {rule}  {sizes}")


def shared_places() -> RuntimeError:
    """Several elements of the tensor that is written to are in one place."""
    found = "more than one element of the written-to tensor refers to a single memory location."
    advice = "Please clone() the tensor before performing the operation."
    return RuntimeError(f"unsupported operation: {found} {advice}")


def wrong_result(x: Tensor, result: Tensor) -> RuntimeError:
    """What is to be written into `x` has another shape."""
    return RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(result.shape)}")


def type_name(dtype: dtype) -> str:
    """The name of the class that tensors of this type once had, as the error of `expand` gives it."""
    name = TYPE_NAMES[dtype.name]
    return f"CPU{name}Type" if name in ("Bool", "BFloat16") else f"torch.{name}Tensor"


# 04 · Broadcasting, indexing and joining
def not_broadcastable(shapes: tuple[tuple[int, ...], ...], number: int, dim: int, result: list[int]) -> RuntimeError:
    """Dimension `dim`, below 0, of `shapes[number]` doesn't fit into the result so far."""
    shape = shapes[number]
    found = f"Mismatching argument at index {number} had {tuple(shape)}"
    told = f"{found}; but expected shape should be broadcastable to {result}"
    return RuntimeError(f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! {told}")


def operands_differ(a: tuple[int, ...], b: tuple[int, ...], dim: int) -> RuntimeError:
    """Two operands have different lengths, none of them 1, in dimension `dim`, below 0."""
    place = f"at non-singleton dimension {max(len(a), len(b)) + dim}"
    return RuntimeError(f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) {place}")


def nothing_to_stack() -> RuntimeError:
    """There are no tensors to stack."""
    return RuntimeError("stack expects a non-empty TensorList")


def unequal_to_stack(tensors: list[Tensor] | tuple[Tensor, ...], number: int) -> RuntimeError:
    """`tensors[number]` has another shape than the first tensor."""
    first, other = list(tensors[0].shape), list(tensors[number].shape)
    found = f"{first} at entry 0 and {other} at entry {number}"
    return RuntimeError(f"stack expects each tensor to be equal size, but got {found}")
