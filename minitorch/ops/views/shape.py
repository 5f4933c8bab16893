"""Ops that look at all elements of a tensor in another shape or order: views, which share its memory.

Source: https://pytorch.org/docs/stable/tensor_view.html
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.arrays import Array, Dims, Shape
from minitorch.autograd.differentiable import UNTRACKED
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.bits import CONJUGATE, NEGATIVE
from minitorch.dispatch import declaration
from minitorch.dispatch.declaration import composite, declare
from minitorch.dtypes import SCALAR_TYPES, type_name
from minitorch.dtypes import dtype as DType
from minitorch.layout import contiguous_stride
from minitorch.size import check_dim, checked_ints, each_dim
from minitorch.tensor import Tensor


def checked_dims(dim: Any, ndim: int) -> Shape:
    """One dim or several, counted from the front. Raises IndexError out of range, RuntimeError for one given twice."""
    dims = each_dim(dim, ndim) if isinstance(dim, (tuple, list)) else (check_dim(dim, ndim),)
    for i, d in enumerate(dims):
        if d in dims[:i]:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims


def strided(xp: Any, array: Array, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Array:
    """The memory from the array's first element on, or `offset` bytes further, with another shape and other strides (in
    bytes).
    """
    if offset:
        array = xp.lib.stride_tricks.as_strided(array, (2,), (offset,))[1:]
    return xp.lib.stride_tricks.as_strided(array, shape, strides)


def inferred_shape(size: Shape, numel: int) -> Shape:
    """`size` with its -1 replaced by what makes it hold `numel` elements. Raises RuntimeError when nothing does."""
    if -1 in size:
        unknown = size.index(-1)
        known = math.prod(size[:unknown] + size[unknown + 1 :])
        if size.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        if known > 0 and numel % known == 0:
            return (*size[:unknown], numel // known, *size[unknown + 1 :])
        if known == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size "
                "-1 can be any value and is ambiguous"
            )
    for wrong in size:
        if wrong < -1:
            raise RuntimeError(f"invalid shape dimension {wrong} at index {size.index(wrong)} of shape {list(size)}")
    if -1 in size or math.prod(size) != numel:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")
    return size


def view_strides(shape: Shape, strides: Shape, new_shape: Shape, itemsize: int) -> Shape | None:
    """The strides with which memory of this shape and strides can be seen as `new_shape`; None if it needs a copy.

    Dimensions that lie in memory one behind the other merge to one run, and consecutive new dimensions have to fill it.
    """
    if not shape:
        return (itemsize,) * len(new_shape)
    if 0 in shape:
        return strides if shape == new_shape else tuple([step * itemsize for step in contiguous_stride(new_shape)])
    result: list[int] = []
    left = list(new_shape)
    step, run = strides[-1], 1
    for dim in range(len(shape) - 1, -1, -1):
        run *= shape[dim]
        if dim and (shape[dim - 1] == 1 or strides[dim - 1] == run * step):
            continue
        filled = 1
        while left and (filled < run or left[-1] == 1):
            result.append(filled * step)
            filled *= left.pop()
        if filled != run:
            return None
        step, run = strides[dim - 1], 1
    return None if left else tuple(reversed(result))


def viewed(xp: Any, array: Array, shape: Shape) -> Array | None:
    """The same memory in another shape; None where that needs a copy."""
    if array.size and array.flags.c_contiguous and 1 not in array.shape:
        return array.reshape(shape)
    strides = view_strides(array.shape, array.strides, shape, array.itemsize)
    return None if strides is None else strided(xp, array, shape, strides)


def _seen(xp: Any, array: Array, shape: Shape) -> Array:
    seen = viewed(xp, array, shape)
    if seen is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return seen


@declaration.view(
    variants="", node="ViewBackward0", derivatives={"self": lambda grad, self_shape: grad.reshape(self_shape)}
)
def view_as_shape(xp: Any, self: Array, shape: Shape) -> Array:
    return _seen(xp, self, inferred_shape(shape, self.size))


@declaration.view(
    variants="", node="ReshapeAliasBackward0", derivatives={"self": lambda grad, self_shape: grad.reshape(self_shape)}
)
def reshape_alias(xp: Any, self: Array, shape: Shape) -> Array:
    return viewed(xp, self, shape)


@declare(variants="", derivatives={"self": lambda grad, self_shape: grad.reshape(self_shape)})
def unsafe_view(xp: Any, self: Array, shape: Shape) -> Array:
    """Takes over the memory of a tensor that nobody else knows: no view, as far as autograd is concerned."""
    return _seen(xp, self, tuple(shape))


def view_as_dtype(self: Tensor, dtype: DType) -> Tensor:
    """The bytes read as another dtype: no gradient goes through it."""
    for bit, kind in ((CONJUGATE, "conjugate view tensors"), (NEGATIVE, "tensors with negative bit set")):
        if self._bits & bit:
            raise RuntimeError(f"torch.Tensor.view is not supported for {kind} when converting to a different dtype.")
    array, ratio = self._array, dtype.itemsize // self._dtype.itemsize
    meant = f"to view {type_name(self)} as {SCALAR_TYPES[dtype.name]} (different element sizes)"
    if dtype.itemsize != self._dtype.itemsize and array.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 {meant}")
    if ratio > 1:
        if array.shape[-1] % ratio:
            raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {meant}, but got {array.shape[-1]}")
        if self.storage_offset() % ratio:
            raise RuntimeError(
                f"self.storage_offset() must be divisible by {ratio} {meant}, but got {self.storage_offset()}"
            )
    if dtype.itemsize != self._dtype.itemsize and self.stride(-1) != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {meant}, but got {self.stride(-1)}")
    if ratio > 1:
        for dim, stride in enumerate(self.stride()[:-1]):
            if stride % ratio:
                raise RuntimeError(f"self.stride({dim}) must be divisible by {ratio} {meant}, but got {stride}")
    view = self._alias()
    view._array, view._dtype = array.view(dtype.numpy), dtype
    if grad_mode.inference:
        view._counter = UNTRACKED
    return view


@composite(variants="method")
def view(input: Tensor, *size: Any, dtype: DType | None = None) -> Tensor:
    """The same memory in another shape, one size of which may be -1; or its bytes read as another dtype.

    Raises RuntimeError where the strides allow no such view.
    """
    if dtype is None and len(size) == 1 and isinstance(size[0], DType):
        dtype = size[0]
    return view_as_shape(input, checked_ints("view", size)) if dtype is None else view_as_dtype(input, dtype)


@composite()
def reshape(input: Tensor, *args: Any, shape: Any = None) -> Tensor:
    """The elements in another shape: a view where the strides allow it, otherwise a copy."""
    size = inferred_shape(checked_ints("reshape", args if shape is None else (shape,), name="shape"), input._array.size)
    array = input._array
    if array.flags.c_contiguous:
        return view_as_shape(input, size)
    if view_strides(array.shape, array.strides, size, array.itemsize) is not None:
        return reshape_alias(input, size)
    return unsafe_view(input.contiguous(), size)


@composite(variants="method")
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of `other`. Raises RuntimeError where strides or number of elements forbid it."""
    return view_as_shape(input, other._array.shape)


@composite(variants="method")
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of `other`: a view where the strides allow it, otherwise a copy.

    Raises RuntimeError for another number of elements.
    """
    return reshape(input, other._array.shape)


@composite()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, (*,) → (n,): a view where the tensor is contiguous, otherwise a copy.

    https://pytorch.org/docs/stable/generated/torch.ravel.html
    """
    return view_as_shape(input.contiguous(), (-1,))


@composite()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merges the dimensions from `start_dim` to `end_dim`: (a, b, c) → (a, b · c) for 1 to 2.

    Returns a view where strides allow it. Raises RuntimeError for a start after the end.
    """
    shape = input._array.shape
    start, end = check_dim(start_dim, len(shape)), check_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, 1)
    if start == end:
        return input
    return reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Splits one dimension into several: (n, a · b) → (n, a, b) for sizes (a, b), one of which may be −1.

    Returns a view. Raises RuntimeError for sizes whose product is another.
    """
    shape = input._array.shape
    dim = check_dim(dim, len(shape))
    sizes = checked_ints("unflatten", (sizes,), 2, "sizes")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not shape:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    product = math.prod(sizes)
    if product != shape[dim] and (-1 not in sizes or not product or shape[dim] % abs(product)):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in "
            "the input tensor"
        )
    return view_as_shape(input, (*shape[:dim], *inferred_shape(sizes, shape[dim]), *shape[dim + 1 :]))


@declaration.view(variants="", derivatives={"self": lambda grad: grad})
def alias(xp: Any, self: Array) -> Array:
    return self[...]


@declaration.view(
    derivatives={
        "self": lambda grad, self_shape: grad if grad._array.shape == self_shape else grad.reshape(self_shape)
    },
    node=lambda self, dim: f"SqueezeBackward{0 if dim is None else 2 if isinstance(dim, (tuple, list)) else 1}",
)
def squeeze(xp: Any, self: Array, dim: Dims = None) -> Array:
    """Without dimensions of size 1: all of them, or those among `dim`. https://pytorch.org/docs/stable/generated/torch.squeeze.html"""
    if dim is None:
        return self.squeeze()
    dims = checked_dims(dim, self.ndim)
    return self.squeeze(tuple(d for d in dims if d < self.ndim and self.shape[d] == 1))


@declaration.view(derivatives={"self": lambda grad, dim: squeeze(grad, dim)})
def unsqueeze(xp: Any, self: Array, dim: int) -> Array:
    """With a new dimension of size 1 at `dim`. https://pytorch.org/docs/stable/generated/torch.unsqueeze.html"""
    dim = check_dim(dim, self.ndim + 1)
    shape = (*self.shape[:dim], 1, *self.shape[dim:])
    if self.size and self.flags.c_contiguous and 1 not in self.shape:
        return self.reshape(shape)
    step = self.itemsize if dim == self.ndim else self.shape[dim] * self.strides[dim]
    return strided(xp, self, shape, (*self.strides[:dim], step, *self.strides[dim:]))


@composite(variants="function")
def atleast_1d(*tensors: Any) -> Any:
    """A view with at least one dimension: () → (1,). Several tensors, or a sequence of them, return a tuple.

    https://pytorch.org/docs/stable/generated/torch.atleast_1d.html
    """
    return _each(tensors, lambda x: x if x.dim() else reshape(x, 1))


@composite(variants="function")
def atleast_2d(*tensors: Any) -> Any:
    """A view with at least two dimensions: () → (1, 1), (n,) → (1, n). Several tensors, or a sequence, return a tuple.

    https://pytorch.org/docs/stable/generated/torch.atleast_2d.html
    """
    return _each(tensors, lambda x: x if x.dim() > 1 else unsqueeze(x, 0) if x.dim() else reshape(x, 1, 1))


@composite(variants="function")
def atleast_3d(*tensors: Any) -> Any:
    """A view with at least three dimensions: () → (1, 1, 1), (n,) → (1, n, 1), (n, m) → (n, m, 1).

    Several return a tuple.

    https://pytorch.org/docs/stable/generated/torch.atleast_3d.html
    """
    return _each(tensors, _with_three_dims)


def _with_three_dims(x: Tensor) -> Tensor:
    match x.dim():
        case 0:
            return reshape(x, 1, 1, 1)
        case 1:
            return unsqueeze(unsqueeze(x, 0), -1)
        case 2:
            return unsqueeze(x, -1)
        case _:
            return x


def _each(tensors: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    elif len(tensors) == 1:
        return change(tensors[0])
    return tuple(change(each) for each in tensors)
