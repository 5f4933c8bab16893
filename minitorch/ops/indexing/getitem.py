"""`x[...]` and `x[...] = v`: views for ints, slices, None and Ellipsis; copies for index tensors and masks.

Source: https://pytorch.org/docs/stable/tensor_indexing.html
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from types import EllipsisType, NoneType
from typing import Any

from minitorch.arrays import Array
from minitorch.devices import cpu
from minitorch.dispatch.batched import Batched
from minitorch.dispatch.declaration import METHODS, OPS, declare
from minitorch.dispatch.iteration import broadcast_strides
from minitorch.dispatch.op import Op
from minitorch.dispatch.overlap import NO_SOURCE, arrays
from minitorch.dispatch.overriding import announced
from minitorch.dispatch.promotion import fits, is_number
from minitorch.dtypes import FROM_NUMPY, INTEGER, bool_, finfo, float16, int32, int64, type_name, uint8
from minitorch.kernels.accumulation import add_at
from minitorch.layout import memory_order, ordered_strides, restrided, strides_of
from minitorch.ops.creation.data import as_tensor
from minitorch.ops.indexing.masks import NO_PLACES, check_mask, mask_of_bytes
from minitorch.ops.naming import called
from minitorch.ops.views.shape import alias, strided, unsqueeze, view_as_shape, viewed
from minitorch.ops.views.slicing import select, slice_
from minitorch.tensor import Tensor, make_tensor

Indices = Sequence[Tensor | None]
_ELSEWHERE = "indices should be either on cpu or on the same device as the indexed tensor ({})"
_INDEXES: dict[str, Any] = {
    "from_cpu": ("indices",),
    "elsewhere": {"indices": lambda self: _ELSEWHERE.format(self.device)},
    "no_elements": NO_PLACES,
}
"""Options of ops with indices: they may lie on the CPU though they index a tensor on a GPU, and may be masks."""


def _numpy_index(xp: Any, self: Array, indices: Sequence[Array | None]) -> tuple[Any, ...]:
    """The index for NumPy, whose advanced indexing is PyTorch's. Raises IndexError for what can't index self."""
    index, dim = list[Any](), 0
    indexed: list[int] = []
    for each in indices:
        if each is None:
            index.append(slice(None))
            dim += 1
            continue
        kind = FROM_NUMPY[each.dtype]
        if kind is uint8:
            each = mask_of_bytes(each)
        elif kind not in (bool_, int32, int64):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        width = each.ndim if each.dtype == bool else 1
        if dim + width > self.ndim:
            raise IndexError(
                f"too many indices for tensor of dimension {self.ndim} (got {sum(_width(i) for i in indices)})"
            )
        if each.dtype == bool:
            for offset, size in enumerate(each.shape):
                if size != self.shape[dim + offset]:
                    raise IndexError(
                        f"The shape of the mask {list(each.shape)} at index {offset} does not match the shape of the "
                        f"indexed tensor {list(self.shape)} at index {dim + offset}"
                    )
        indexed += self.shape[dim : dim + width]
        dim += width
        index.append(each)
    if not self.size:  # then PyTorch asks only that nothing is taken from an empty dimension
        if 0 in indexed and not any(
            0 in shape for each in indices if each is not None for shape in _index_shapes(each)
        ):
            raise IndexError("index is out of bounds for dimension with size 0")
        index = [each if isinstance(each, slice) or each.dtype == bool else xp.zeros_like(each) for each in index]
    return tuple(index)


def _width(index: Array | None) -> int:
    return index.ndim if index is not None and index.dtype in ("bool", "uint8") else 1


def _index_shapes(index: Array) -> list[tuple[int, ...]]:
    """The shapes of the index tensors that an index stands for: a mask for one of each dimension."""
    return [(int((index != 0).sum()),)] * index.ndim if index.dtype in ("bool", "uint8") else [index.shape]


def _fault(xp: Any, self: Array, indices: Sequence[Array | None]) -> IndexError:
    """Why these can't index self together: their shapes, or the first index that is out of bounds.

    PyTorch counts the dimensions that are indexed, and no others.
    """
    shapes = [shape for each in indices if each is not None for shape in _index_shapes(each)]
    try:
        common = xp.broadcast_shapes(*shapes)
    except ValueError:
        told = ", ".join(str(list(each)) for each in shapes)
        return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {told}")
    faults, dim, number = [], 0, 0
    for each in indices:
        if each is not None and each.dtype not in ("bool", "uint8"):
            size = self.shape[dim]
            index = xp.broadcast_to(each, common).reshape(-1)
            if (places := xp.flatnonzero((index < -size) | (index >= size))).size:
                faults.append((int(places[0]), number, int(index[places[0]]), size))
        number += 0 if each is None else _width(each)
        dim += _width(each)
    _, number, wrong, size = min(faults)
    return IndexError(f"index {wrong} is out of bounds for dimension {number} with size {size}")


@declare(
    **_INDEXES,
    variants="",
    derivatives={
        "self": lambda grad, self_shape, indices: index_put(grad.new_zeros(self_shape), indices, grad, accumulate=True)
    },
)
def index_(xp: Any, self: Array, indices: Sequence[Array | None]) -> Array:
    """The elements at the indices, one index tensor for each dimension, or None for all of a dimension."""
    places = _numpy_index(xp, self, indices)
    try:
        if len(places) == 1 and places[0].dtype != bool:
            result = xp.take(self, places[0], axis=0)  # several times faster than self[...]
        else:
            result = xp.asarray(self[places], order="C")
    except IndexError:
        raise _fault(xp, self, indices) from None
    in_rows = all(each is None or each.flags.c_contiguous for each in (self, *indices))
    if result.ndim < 2 or (result.size and in_rows and 1 not in result.shape):
        return result
    sources = _read_strides(xp, self, places, result.shape)
    return restrided(xp, result, ordered_strides(result.shape, memory_order(result.shape, sources), result.itemsize))


def _read_strides(xp: Any, self: Array, places: tuple[Any, ...], shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The strides with which self and the index tensors are read, one for each dimension of the result."""
    spread: list[Any] = []  # masks as the index tensors that they stand for
    for each in places:
        spread += [each] if isinstance(each, slice) or each.dtype != bool else list(xp.argwhere(each).T)
    indexed = [dim for dim, each in enumerate(spread) if not isinstance(each, slice)]
    rest = [step for dim, step in enumerate(strides_of(self)) if dim not in indexed]
    width = len(shape) - len(rest)
    first = indexed[0] if indexed[-1] - indexed[0] == len(indexed) - 1 else 0
    strides = [(*rest[:first], *(0,) * width, *rest[first:])]
    inner = shape[first : first + width]
    if 0 in inner and all(size == 1 for size in (*shape[:first], *shape[first + width :])):
        return []  # all have one shape: then, without elements, they are contiguous
    for dim in indexed:  # each is seen in as many dimensions as the result has
        index = strided(xp, spread[dim], inner, broadcast_strides(spread[dim], inner))
        index = viewed(xp, index, (*(1,) * first, *inner, *(1,) * (len(shape) - first - width)))
        strides.append(broadcast_strides(index, shape))
    return strides


def _masked(grad: Tensor, indices: Indices, accumulate: bool) -> Tensor:
    return grad if accumulate else index_put(grad, indices, grad.new_zeros(()))


def _fills_mask(indices: Sequence[Array | None], values: Array, accumulate: bool) -> bool:
    """Whether with these arguments `index_put` writes one number where one mask is true."""
    given = [each.dtype for each in indices if each is not None]
    return not accumulate and values.size == 1 and len(given) == 1 and given[0] in ("bool", "uint8")


def _one_number(args: Sequence[Any]) -> tuple[Op, Sequence[Any]] | None:
    """What `index_put` of one number where a mask is true amounts to, for those who look at what it writes to."""
    self, indices, values = args[:3]
    if not _fills_mask(*map(arrays, args[1:])):
        return None
    return OPS["fill_where"], (self, next(each for each in indices if each is not None), values)


@declare(
    overlap=(NO_SOURCE,),
    **_INDEXES,
    redirect=_one_number,
    on_expanded=("index_put_", "tensor[indices] = tensor"),
    variants="function method inplace",
    edits=True,
    elementwise=True,
    derivatives={"self": _masked, "values": lambda grad, indices: index_(grad, indices)},
    autocast_on_gpu="widest",
)
def index_put(xp: Any, self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> Array:
    """Self with `values` at the indices, or added there. Raises IndexError for what doesn't fit. https://pytorch.org/docs/stable/generated/torch.Tensor.index_put_.html"""
    if not self.ndim:
        raise IndexError(f"too many indices for tensor of dimension 0 (got {len(indices)})")
    places = _numpy_index(xp, self, indices)
    if _fills_mask(indices, values, accumulate):
        check_mask("masked_fill_", next(each for each in indices if each is not None))
        OPS["fill_where"].kernel(xp, self, _whole_mask(places, self.ndim), values.reshape(()))
        return self
    try:
        if self.dtype != values.dtype:
            _check_broadcast(values.shape, self[places].shape)
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {type_name(self)} for the "
                f"destination and {type_name(values)} for the source."
            )
        if accumulate:
            add_at(xp, self, places, values)
        else:
            self[places] = values
    except IndexError:
        raise _fault(xp, self, indices) from None
    except (ValueError, TypeError):
        _check_broadcast(values.shape, self[places].shape)
        raise
    return self


def _whole_mask(places: tuple[Any, ...], ndim: int) -> Array:
    """The only mask of an index with one dimension for each that is left of a tensor from there on."""
    first, mask = next((dim, each) for dim, each in enumerate(places) if not isinstance(each, slice))
    return mask.reshape(*mask.shape, *(1,) * (ndim - first - mask.ndim))


def _check_broadcast(given: tuple[int, ...], place: tuple[int, ...]) -> None:
    missing = len(place) - len(given)
    if missing < 0 or any(size not in (1, wanted) for size, wanted in zip(given, place[missing:], strict=True)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast to indexing result of shape "
            f"{list(place)}"
        )


def _dims_taken(item: Any) -> int:
    """How many dimensions an item of an index takes up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return item.dim() if isinstance(item, Tensor) and item._dtype in (bool_, uint8) else 1


def _items(index: Any) -> Sequence[Any]:
    """The index as a sequence, one item a dimension. A list with slices or sequences in it is read as a tuple."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) <= 32:
        nested = (slice, list, tuple, range, Tensor, EllipsisType, NoneType)
        if any(isinstance(each, nested) for each in index):
            warnings.warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch "
                "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
                "x[torch.tensor(seq)], which will result either in an error or a different result",
                UserWarning,
                stacklevel=4,
            )
            return index
    return (index,)


def _item(item: Any, where: Tensor) -> Any:
    """Lists and arrays in an index become index tensors; anything else stays."""
    if isinstance(item, (int, slice, Tensor)) or item is None or item is Ellipsis:
        return item
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(item, (list, tuple, range)) or (hasattr(item, "__array__") and item.ndim):
        made = as_tensor(list(item) if isinstance(item, range) else item, device=where._device)
        return made if made.numel() and made._dtype in (bool_, uint8) else made.to(int64)
    if hasattr(item, "__index__"):
        return operator.index(item)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{_type_name(item)})"
    )


def _bound(value: Any) -> int | None:
    if value is None or isinstance(value, int):
        return value
    if not hasattr(value, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return operator.index(value)


def _sliced(tensor: Tensor, dim: int, item: slice, always: bool) -> Tensor:
    """A slice of one dimension; the tensor itself where that is all of it, unless a view is wanted `always`."""
    start, end, step = _bound(item.start), _bound(item.stop), _bound(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step is not None and step < 0:
        raise ValueError("step must be greater than zero")
    if not tensor._array.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    size = tensor._array.shape[dim]
    whole = step in (None, 1) and (start is None or start == 0 or start <= -size) and (end is None or end >= size)
    return tensor if whole and not always else slice_(tensor, dim, start, end, step or 1)


def _selected(tensor: Tensor, dim: int, number: int, position: int) -> Tensor:
    if not tensor._array.ndim:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    size = tensor._array.shape[dim]
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of bounds for dimension {position} with size {size}")
    return select(tensor, dim, number)


def _resolve(input: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None]]:
    """Applies the ints, slices, None and Ellipsis of an index as views, and returns the index tensors that remain."""
    if isinstance(index, slice):
        return _sliced(input, 0, index, always=True), []
    if index.__class__ is int:
        return _selected(input, 0, index, 0), []
    items = [_item(each, input) for each in _items(index)]
    ndim, taken = input._array.ndim, sum(map(_dims_taken, items))
    if taken > ndim and (len(items) > 1 or isinstance(items[0], Tensor)):
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    result, dim, covered = input, 0, 0
    indices: list[Tensor | None] = []
    for position, item in enumerate(items):
        if item is None:
            result, dim = unsqueeze(result, dim), dim + 1
        elif item is Ellipsis:
            dim += ndim - taken
        elif isinstance(item, slice):
            result, dim = _sliced(result, dim, item, always=False), dim + 1
        elif isinstance(item, int) and not isinstance(item, bool):
            result = _selected(result, dim, item, position)
        elif (
            isinstance(item, Tensor)
            and not item._array.ndim
            and item._dtype.category == INTEGER
            and item._dtype is not uint8
            and not isinstance(item, Batched)  # each example has a number of its own
        ):
            result = _selected(result, dim, int(item.item()), position)
        else:
            if isinstance(item, bool) or (item._dtype in (bool_, uint8) and not item._array.ndim):
                result = unsqueeze(result, dim)
                item = make_tensor(input._device.xp.zeros(1 if item else 0, "int64"), int64, input._device)
            indices += [None] * (dim - covered) + [item]
            dim = covered = dim + (item._array.ndim if item._dtype in (bool_, uint8) else 1)
    return result, indices


def getitem(self: Tensor, index: Any) -> Tensor:
    result, indices = _resolve(self, index)
    if indices:
        return index_(result, indices)
    return alias(result) if result is self else result


def setitem(self: Tensor, index: Any, value: Any) -> None:
    if not isinstance(value, Tensor) and not is_number(value):
        raise TypeError(f"can't assign a {_type_name(value)} to a {self.type()}")
    if index is False:
        return
    if not isinstance(value, Tensor) and not (fits(value, self._dtype) and abs(value) <= _LARGE):
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        value = self.new_full((), value)  # which raises an error for a number that is too large
    part, indices = (unsqueeze(self, 0), []) if index is True else _resolve(self, index)
    if not indices:
        shape = part._array.shape
        if not isinstance(value, Tensor):  # a tensor is refused by expanded places; a number costs less
            part.fill_(part.new_full((), value) if 0 in part._array.strides else value)
        elif value._array.shape == shape:
            part.copy_(value)
        elif not value._array.ndim and value._device is cpu:
            part.fill_(value)
        else:
            source = _without_leading_ones(value)
            part.copy_(source if source._array.shape == shape else source.expand(shape))
        return
    if not isinstance(value, Tensor):
        value = self.new_full((), value)
    elif value._device is not part._device and not value._array.ndim:
        value = value.to(part._device)
    part.index_put_(indices, _without_leading_ones(value))


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _without_leading_ones(value: Tensor) -> Tensor:
    """Assignment ignores leading dimensions of size 1, so that there may be more of them than the place has."""
    shape = value._array.shape
    extra = next((dim for dim, size in enumerate(shape) if size != 1), len(shape))
    return view_as_shape(value, shape[extra:]) if extra else value


_LARGE = finfo(float16).max
METHODS["__getitem__"] = called("__getitem__")(announced(getitem))
METHODS["__setitem__"] = called("__setitem__")(announced(setitem))
