"""Reading and writing along one dimension, at the places that a tensor of indices names; and what is made of it."""

# 04 · Broadcasting, indexing and joining
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import views
from .dispatch import Function, Operation, layer, method, operation
from .indexing import check_range
from .reduction import amax, amin, argmax, argmin, argsort
from .settings import int32, int64
from .strides import normalize_dim
from .tensor import Tensor, on_host


@operation
def gather(x: Any, dim: int, index: Any) -> Any:
    """Along `dim`, the element that `index` names; along the others, the place itself.

    For three dimensions and dim 1: result[i][j][k] = x[i][index[i][j][k]][k]. The result has the
    shape of `index`, which may be shorter than `x` along the other dimensions. Here `x` and `index`
    are NumPy arrays, and so is the result; `along(dim, index)` is the index to use.
    """
    return x[along(dim, index)]


@operation
def scatter(x: Any, dim: int, index: Any, src: Any) -> Any:
    """The opposite of `gather`, into a copy of `x`: result[i][index[i][j][k]][k] = src[i][j][k], for dim 1."""
    result = x.copy()
    result[along(dim, index)] = src if not np.ndim(src) else src[tuple(map(slice, index.shape))]
    return result


@operation
def scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
    """As `scatter`, but adds, into a copy of `x`: result[i][index[i][j][k]][k] += src[i][j][k], for dim 1.

    All of them are added where several go to one place. `src` may be larger than `index`: what lies
    beyond its shape is not used. (All are NumPy arrays here.)
    """
    result = x.copy()
    np.add.at(result, along(dim, index), src[tuple(map(slice, index.shape))])
    return result


def along(dim: int, index: Any) -> tuple[Any, ...]:
    """The index of NumPy that means `gather`: `index` itself along `dim`, and 0, 1, 2 … along the others.

    The numbers of another dimension d have the shape of `index` along d, and the length 1 along all
    others, so that they are broadcast against `index`. A negative `dim` counts from the back.
    (`np.arange(n, like=index)` makes the numbers where `index` lies.)
    """
    whole: list[Any] = []
    for each, length in enumerate(index.shape):
        shape = [1] * index.ndim
        shape[each] = length
        whole.append(np.arange(length, like=index).reshape(shape))
    whole[normalize_dim(dim, index.ndim)] = index
    return tuple(whole)


@layer
def check_index(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
    """Refuse what `gather` and its opposites can't follow, in PyTorch's words."""
    if op.name in ("gather", "scatter", "scatter_add"):
        x, dim, index, *src = args
        dim = normalize_dim(dim, x.ndim)
        if index.dtype not in (int64, int32):
            raise RuntimeError(f"{op.name.removesuffix('_add')}(): Expected dtype int32/int64 for index")
        if index.ndim != x.ndim:
            kind = "self" if src else "input"
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {kind} tensor")
        if src and isinstance(src[0], Tensor):
            check_source(x, index, src[0])
        check_lengths(x, dim, index, *src)
        check_range(on_host(index), 0, x.shape[dim], dim, RuntimeError)
    return below(op, args)


def check_source(x: Tensor, index: Tensor, src: Tensor) -> None:
    """Refuse a source of another type, or of another number of dimensions."""
    if src.dtype is not x.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if src.ndim != index.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")


def check_lengths(x: Tensor, dim: int, index: Tensor, src: Any = None) -> None:
    """Refuse an index that is longer than `x` along another dimension than `dim`, or longer than the source."""
    found = f"index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension {dim}"
    for each, length in enumerate(index.shape):
        too_long = each != dim and length > x.shape[each]
        if src is None and too_long:
            raise RuntimeError(f"Size does not match at dimension {each} expected {found}")
        if isinstance(src, Tensor) and (too_long or length > src.shape[each]):
            raise RuntimeError(f"Expected {found} and to be no larger size than src {list(src.shape)}")
        if too_long:
            raise RuntimeError(f"Expected {found}")


Tensor.scatter_ = views.in_place(scatter, "scatter_")
Tensor.scatter_add_ = views.in_place(scatter_add, "scatter_add_")


class Found(NamedTuple):
    """Elements, and where along the dimension they are."""

    values: Tensor
    indices: Tensor


@method
def max(x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element; along a dimension, the pair of the largest elements and where they are.

    With a tensor in place of a dimension: the larger of each two elements.
    """
    return extreme(x, dim, keepdim, amax, argmax, "max")


@method
def min(x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element; along a dimension, the pair of the smallest elements and where they are."""
    return extreme(x, dim, keepdim, amin, argmin, "min")


def extreme(x: Tensor, dim: Any, keepdim: bool, value: Function, place: Function, name: str) -> Any:
    """What `max` and `min` have in common. The values are gathered, so that their gradient goes to one place each."""
    if dim is None:
        if not x.numel():
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        return value(x)
    if isinstance(dim, Tensor):
        return getattr(x, f"{name}imum")(dim)
    where = place(x, dim, True)
    values = gather(x, dim, where) if x.ndim else x
    return Found(
        *((values, where) if keepdim else (views.unshared(views.squeeze(each, dim)) for each in (values, where)))
    )


@method
def sort(x: Tensor, dim: int = -1, descending: bool = False) -> Found:
    """The elements in order along a dimension, and where each came from. Equal elements keep their order."""
    order = argsort(x, dim, descending)
    return Found(gather(x, dim, order), order)


@method
def topk(x: Tensor, k: int, dim: int = -1) -> Found:
    """The k largest elements along a dimension, the largest first, and where they are.

    Raises:
        RuntimeError: there are fewer than k.
    """
    dim = normalize_dim(dim, x.ndim)
    if not 0 <= k <= x.shape[dim]:
        raise RuntimeError("selected index k out of range")
    first = tuple(views.slice(each, dim, 0, k) for each in sort(x, dim, descending=True))
    return Found(*(views.unshared(views.contiguous(each)) for each in first))
