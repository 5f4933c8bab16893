"""Reading and writing along one dimension, at the places that a tensor of indices names; and what is made of it."""

# 04 · Broadcasting, indexing and joining
from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from . import amax, amin, argmax, argmin, argsort, int32, int64, views
from .checks import refuse
from .dispatch import Function, checked, method
from .indexing import check_range
from .strides import normalize_dim
from .tensor import Tensor, on_host


def check_index(name: str, x: Tensor, dim: int, index: Tensor, *src: Any) -> None:
    """Refuse what `gather` and its opposites can't follow, in PyTorch's words."""
    dim = normalize_dim(dim, x.ndim)
    refuse(index.dtype not in (int64, int32), f"{name}(): Expected dtype int32/int64 for index")
    kind = "self" if src else "input"
    refuse(index.ndim != x.ndim, f"Index tensor must have the same number of dimensions as {kind} tensor")
    if src and isinstance(src[0], Tensor):
        check_source(x, index, src[0])
    check_lengths(x, dim, index, *src)
    check_range(on_host(index), 0, x.shape[dim], dim, RuntimeError)


def check_source(x: Tensor, index: Tensor, src: Tensor) -> None:
    """Refuse a source of another type, or of another number of dimensions."""
    refuse(src.dtype is not x.dtype, "scatter(): Expected self.dtype to be equal to src.dtype")
    refuse(src.ndim != index.ndim, "Index tensor must have the same number of dimensions as src tensor")


def check_lengths(x: Tensor, dim: int, index: Tensor, src: Any = None) -> None:
    """Refuse an index that is longer than `x` along another dimension than `dim`, or longer than the source."""
    found = f"index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension {dim}"
    for each, length in enumerate(index.shape):
        too_long = each != dim and length > x.shape[each]
        refuse(src is None and too_long, f"Size does not match at dimension {each} expected {found}")
        if isinstance(src, Tensor) and (too_long or length > src.shape[each]):
            raise RuntimeError(f"Expected {found} and to be no larger size than src {list(src.shape)}")
        refuse(too_long, f"Expected {found}")


@checked(partial(check_index, "gather"))
def gather(x: Any, dim: int, index: Any) -> Any:
    """Along `dim`, the element that `index` names; along the others, the place itself."""
    return x[along(dim, index)]


@checked(partial(check_index, "scatter"))
def scatter(x: Any, dim: int, index: Any, src: Any) -> Any:
    """The opposite of `gather`, into a copy of `x`: result[i][index[i][j][k]][k] = src[i][j][k], for dim 1."""
    result = x.copy()
    result[along(dim, index)] = src if not np.ndim(src) else src[tuple(map(slice, index.shape))]
    return result


@checked(partial(check_index, "scatter"))
def scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
    """As `scatter`, but adds, into a copy of `x`: result[i][index[i][j][k]][k] += src[i][j][k], for dim 1."""
    result = x.copy()
    np.add.at(result, along(dim, index), src[tuple(map(slice, index.shape))])
    return result


def along(dim: int, index: Any) -> tuple[Any, ...]:
    """The index of NumPy that means `gather`: `index` itself along `dim`, and 0, 1, 2 … along the others."""
    whole: list[Any] = []
    for each, length in enumerate(index.shape):
        shape = [1] * index.ndim
        shape[each] = length
        whole.append(np.arange(length, like=index).reshape(shape))
    whole[normalize_dim(dim, index.ndim)] = index
    return tuple(whole)


Tensor.scatter_ = views.in_place(scatter, "scatter_")
Tensor.scatter_add_ = views.in_place(scatter_add, "scatter_add_")


class Found(NamedTuple):
    """Elements, and where along the dimension they are."""

    values: Tensor
    indices: Tensor


@method
def max(x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element; along a dimension, the largest ones and where they are; beside a tensor, as `maximum`."""
    return extreme(x, dim, keepdim, amax, argmax, "max")


@method
def min(x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element, as for `max`."""
    return extreme(x, dim, keepdim, amin, argmin, "min")


def extreme(x: Tensor, dim: Any, keepdim: bool, value: Function, place: Function, name: str) -> Any:
    """What `max` and `min` have in common. The values are gathered, so that their gradient goes to one place each."""
    if dim is None:
        if not x.numel():
            wanted = "Specify the reduction dim with the 'dim' argument."
            raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. {wanted}")
        return value(x)
    if isinstance(dim, Tensor):
        return getattr(x, f"{name}imum")(dim)
    where = place(x, dim, True)
    found = gather(x, dim, where) if x.ndim else x, where
    return Found(*(found if keepdim else (views.unshared(views.squeeze(each, dim)) for each in found)))


@method
def sort(x: Tensor, dim: int = -1, descending: bool = False) -> Found:
    """The elements in order along a dimension, and where each came from. Equal elements keep their order."""
    order = argsort(x, dim, descending)
    return Found(gather(x, dim, order), order)


@method
def topk(x: Tensor, k: int, dim: int = -1) -> Found:
    """The k largest elements along a dimension, the largest first, and where they are."""
    dim = normalize_dim(dim, x.ndim)
    refuse(not 0 <= k <= x.shape[dim], "selected index k out of range")
    first = tuple(views.slice(each, dim, 0, k) for each in sort(x, dim, descending=True))
    return Found(*(views.unshared(views.contiguous(each)) for each in first))
