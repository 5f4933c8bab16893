"""Ops that read and write along one dimension, at indices: gather and scatter, index_select and index_add, and kin.

`gather` reads self[…, index[…, i, …], …]; the `index_…` ops take whole slices, at a vector of indices.
Source: https://pytorch.org/docs/stable/generated/torch.Tensor.scatter_.html
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array, Number
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dispatch.apply import in_place_of, write_out
from minitorch.dispatch.declaration import METHODS, OPS, composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.overlap import NO_SOURCE
from minitorch.dispatch.overriding import announced
from minitorch.dispatch.promotion import is_number
from minitorch.dtypes import FROM_NUMPY, int32, int64, type_name
from minitorch.kernels.accumulation import add_at, combine_at, flat_places
from minitorch.ops.views.broadcasting import broadcast_shapes
from minitorch.scalars import to_scalar
from minitorch.size import check_dim
from minitorch.tensor import Tensor, holds_somewhere

BOTH = "function method inplace"
ALL = "function method inplace out"


def _check_index(name: str, index: Array) -> None:
    if FROM_NUMPY[index.dtype] not in (int64, int32) and index.size:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def _check_fits(name: str, self: Array, dim: int, index: Array, src: Array | None = None) -> None:
    """Raises RuntimeError unless index has self's number of dimensions and is nowhere larger, but along `dim`."""
    if index.size == 0:
        return
    for which, other in (("input" if name == "gather" else "self", self), ("src", src)):
        if other is not None and max(index.ndim, 1) != max(other.ndim, 1):
            if which == "src" and 0 < other.ndim < index.ndim and not _larger(index, self, other, dim):
                check_dim(other.ndim, other.ndim)  # PyTorch asks for its size there first
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {which} tensor")
    wrong = _larger(index, self, src, dim)
    beyond = ""
    if src is not None:
        beyond = f" and to be no larger size than src {list(src.shape)}"
    if wrong:
        where = f"Size does not match at dimension {wrong[0]} expected" if name == "gather" else "Expected"
        raise RuntimeError(
            f"{where} index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension "
            f"{dim}{beyond}"
        )


def _larger(index: Array, self: Array, src: Array | None, dim: int) -> list[int]:
    """The dimensions in which index is larger than src, or than self but along `dim`."""
    wrong = [d for d, (size, most) in enumerate(zip(index.shape, self.shape, strict=False)) if d != dim and size > most]
    if src is not None:
        wrong += [d for d, (size, most) in enumerate(zip(index.shape, src.shape or (1,), strict=False)) if size > most]
    return wrong


def _places(xp: Any, self: Array, dim: int, index: Array) -> tuple[Array, ...]:
    """The NumPy index of the elements that `index` means: itself along `dim`, its own position along the others."""
    size = self.shape[dim] if self.ndim else 1
    if index.size:
        low, high = int(index.min()), int(index.max())
        if low < 0 or high >= size:
            raise RuntimeError(
                f"index {low if low < 0 else high} is out of bounds for dimension {dim} with size {size}"
            )
    grid = list(xp.ogrid[tuple(slice(size) for size in index.shape)])
    grid[dim] = index
    return tuple(grid)


def _corner(src: Array, index: Array) -> Array:
    """The part of src that index covers."""
    return src[tuple(slice(size) for size in index.shape)]


@declare(
    keyword_only="sparse_grad",
    overlap=(NO_SOURCE,),
    variants="function method out",
    row_major=True,
    derivatives={"self": lambda grad, self, dim, index: grad.new_zeros(self.shape).scatter_add(dim, index, grad)},
)
def gather(xp: Any, self: Array, dim: int, index: Array, sparse_grad: bool = False) -> Array:
    """The elements at `index` along `dim`: result[i, j] = input[index[i, j], j] for dim 0.

    The result has the shape of `index`, which is int64. Raises RuntimeError for an index of another number of
    dimensions, out of range, or larger than the input in other dimensions, or of another dtype; NotImplementedError for
    `sparse_grad`.
    """
    if sparse_grad:
        raise NotImplementedError("gather(): sparse_grad=True is not supported: there are no sparse gradients")
    _check_index("gather", index)
    dim = check_dim(dim, self.ndim)
    _check_fits("gather", self, dim, index)
    if not index.size:
        return xp.empty(index.shape, self.dtype)
    if not self.ndim or not index.ndim:
        return self.reshape(-1)[_places(xp, self.reshape(-1), 0, index.reshape(-1))].reshape(index.shape)
    places = _places(xp, self, dim, index)
    # One index into the flattened tensor is found in half the time of several.
    return self.reshape(-1).take(flat_places(xp, self.shape, places)) if self.flags.c_contiguous else self[places]


def _flat(*arrays: Array) -> list[Array]:
    """0-dim arrays as vectors, through which they can be written."""
    return [each.reshape(1) if each.ndim == 0 else each for each in arrays]


def _scatter_into(xp: Any, name: str, self: Array, dim: int, index: Array, src: Array, add: bool) -> Array:
    _check_index(name, index)
    if FROM_NUMPY[self.dtype] is not FROM_NUMPY[src.dtype]:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    dim = check_dim(dim, self.ndim)
    _check_fits(name, self, dim, index, src)
    if index.size:
        target, index, src = _flat(self, index, src)
        places = _places(xp, target, dim, index)
        if add:
            add_at(xp, target, places, _corner(src, index))
        else:
            target[places] = _corner(src, index)
    return self


def _gathered(grad: Tensor, dim: int, index: Tensor, src_shape: tuple[int, ...]) -> Tensor:
    """What each element of src contributed: zero for those that index doesn't cover."""
    taken = grad.gather(dim, index)
    if index._array.shape == src_shape:
        return taken
    whole = grad.new_zeros(src_shape)
    whole[tuple(slice(size) for size in index._array.shape)] = taken
    return whole


@declare(
    overlap=(NO_SOURCE,),
    variants="",
    edits=True,
    node="ScatterBackward0",
    derivatives={"self": lambda grad, dim, index: scatter_value(grad, dim, index, 0), "src": _gathered},
)
def scatter_src(xp: Any, self: Array, dim: int, index: Array, src: Array) -> Array:
    return _scatter_into(xp, "scatter", self, dim, index, src, add=False)


@declare(
    overlap=(NO_SOURCE,),
    variants="",
    edits=True,
    node="ScatterBackward1",
    derivatives={"self": lambda grad, dim, index: scatter_value(grad, dim, index, 0)},
)
def scatter_value(xp: Any, self: Array, dim: int, index: Array, value: Number) -> Array:
    _check_index("scatter", index)
    dim = check_dim(dim, self.ndim)
    _check_fits("scatter", self, dim, index)
    if index.size:
        target, index = _flat(self, index)
        places = _places(xp, target, dim, index)
        target[places] = to_scalar(value, FROM_NUMPY[self.dtype])
    return self


@declare(
    overlap=(NO_SOURCE,),
    variants=ALL,
    edits=True,
    derivatives={"self": lambda grad: grad, "src": _gathered},
    autocast_on_gpu="widest",
)
def scatter_add(xp: Any, self: Array, dim: int, index: Array, src: Array) -> Array:
    """Adds `src` to the elements at `index` along `dim`. https://pytorch.org/docs/stable/generated/torch.Tensor.scatter_add_.html"""
    return _scatter_into(xp, "scatter_add", self, dim, index, src, add=True)


_REDUCTIONS = {"sum": "add", "prod": "multiply", "mean": "add", "amax": "maximum", "amin": "minimum"}


def reduce_at(xp: Any, target: Array, places: tuple[Any, ...], src: Array, reduce: str, include_self: bool) -> None:
    """Folds `src` into the target's elements at the places, which may repeat."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if reduce in ("amax", "amin") and target.dtype.kind == "c":
        raise not_implemented(f"scatter_gather_tensor_cpu_reduce_{reduce}", target.dtype.name)
    if not include_self:
        low, high = _limits(xp, target)
        start = {"prod": 1, "amax": low, "amin": high}.get(reduce, 0)
        target[places] = start
    combine_at(xp, getattr(xp, _REDUCTIONS[reduce]), target, places, src)
    if reduce == "mean":
        count = xp.full(target.shape, 1 if include_self else 0)
        xp.add.at(count, places, 1)
        count = xp.maximum(count, 1).astype(target.dtype)
        target[...] = target // count if target.dtype.kind in "iu" else target / count


def _limits(xp: Any, array: Array) -> tuple[Any, Any]:
    """The least and the largest number of an array's type."""
    if array.dtype.kind in "iu":
        return xp.iinfo(array.dtype).min, xp.iinfo(array.dtype).max
    return (False, True) if array.dtype.kind == "b" else (-xp.inf, xp.inf)


def _refuse(grad: Tensor, message: str) -> Tensor:
    raise RuntimeError(message)


@declare(variants="", node="torch::autograd::Error", derivatives={"self": _refuse})
def once(xp: Any, self: Array, message: str) -> Array:
    """The same elements, which can't be differentiated."""
    return self


def scatter_reduce_backward(
    grad: Tensor,
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
    name: str = "scatter_reduce",
) -> tuple[Tensor, Tensor]:
    """The gradients of self and src, by what `reduce` does with them. `name` is for the error."""
    covered = scatter_value(grad.new_ones(grad.shape), dim, index, 0)
    if reduce == "sum":
        of_self, of_src = grad, grad.gather(dim, index)
    elif reduce == "mean":
        ones = src.new_ones(src.shape)
        count = scatter_add(grad.new_ones(grad.shape) if include_self else grad.new_zeros(grad.shape), dim, index, ones)
        count = count.masked_fill(count.eq(0), 1)
        of_self, of_src = grad / count, (grad / count).gather(dim, index)
    elif reduce == "prod":
        nonzero = self.masked_fill(self.eq(0), 1)
        of_self = grad * scatter_reduce(nonzero, dim, index, src, "prod", include_self=include_self) / nonzero
        is_zero = src.eq(0)
        zeros = scatter_add(self.new_zeros(self.shape), dim, index, is_zero.to(self.dtype)).gather(dim, index)
        # The product of the other factors of each place: by division, unless it is the only zero there.
        alone = is_zero & zeros.eq(1)
        without = scatter_reduce(self, dim, index, src.masked_fill(alone, 1), "prod", include_self=include_self)
        quotients = result.gather(dim, index) / src.masked_fill(is_zero, 1)
        of_src = grad.gather(dim, index) * without.gather(dim, index).where(alone, quotients)
        if grad_mode.enabled and holds_somewhere(zeros > 1):
            called = "source" if name == "index_reduce" else "src"
            of_src = once(
                of_src,
                f"{name}(): Double backward is unsupported for {called} when >1 zeros in {called} are scattered to the "
                "same position in self",
            )
    else:
        is_self, is_src = self.eq(result), src.eq(result.gather(dim, index))
        count = scatter_add(is_self.to(grad.dtype), dim, index, is_src.to(grad.dtype))
        shared = grad / count
        of_self, of_src = is_self * shared, is_src * shared.gather(dim, index)
    return (of_self if include_self else of_self * covered), of_src


@declare(
    keyword_only="include_self",
    overlap=(NO_SOURCE,),
    variants=ALL,
    edits=True,
    derivatives={
        "self, src": lambda grad, self, dim, index, src, reduce, include_self, result: scatter_reduce_backward(
            grad, self, dim, index, src, reduce, include_self, result
        )
    },
)
def scatter_reduce(
    xp: Any, self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool = True
) -> Array:
    """Folds `src` into the elements at `index` along `dim`: "sum", "prod", "mean", "amax" or "amin".

    https://pytorch.org/docs/stable/generated/torch.Tensor.scatter_reduce_.html
    """
    _check_index("scatter_reduce", index)
    if self.dtype != src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    dim = check_dim(dim, self.ndim)
    _check_fits("scatter_reduce", self, dim, index, src)
    if index.size:
        target, index, src = _flat(self, index, src)
        reduce_at(xp, target, _places(xp, target, dim, index), _corner(src, index), reduce, include_self)
    return self


def _scatter(in_place: bool) -> Any:
    """`scatter` has a form for a tensor and one for a number, and an old argument `reduce`."""
    of_src = in_place_of(OPS["scatter_src"]) if in_place else scatter_src
    of_value = in_place_of(OPS["scatter_value"]) if in_place else scatter_value
    folding = in_place_of(OPS["scatter_reduce"]) if in_place else scatter_reduce

    def compute(input: Tensor, dim: int, index: Tensor, given: Any, reduce: str | None) -> Any:
        if reduce is None:
            return of_value(input, dim, index, given) if is_number(given) else of_src(input, dim, index, given)
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        if is_number(given):
            given = input.new_full(index.shape, given)
        return folding(input, dim, index, given, "sum" if reduce == "add" else "prod")

    def scatter(
        input: Tensor,
        dim: int,
        index: Tensor,
        src: Any = None,
        *,
        value: Any = None,
        reduce: str | None = None,
        out: Tensor | None = None,
    ) -> Any:
        """Writes `src`, a tensor or number, to the elements at `index` along `dim`.

        For dim 0, result[index[i, j], j] = src[i, j], in the shape and dtype of `input`. Raises RuntimeError for an
        index out of range or larger than `src`, another dtype, and an unknown `reduce`.
        https://pytorch.org/docs/stable/generated/torch.Tensor.scatter_.html
        """
        result = compute(input, dim, index, value if src is None else src, reduce)
        return result if out is None else write_out("scatter", out, result)

    return scatter


scatter = composite()(_scatter(in_place=False))
METHODS["scatter_"] = announced(_scatter(in_place=True))


@composite()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """`gather`, after broadcasting all dimensions but `dim`; without `dim`, from the flattened tensor.

    `indices` are int64, and the result has their shape. Raises RuntimeError for another dtype or number of dimensions.
    https://pytorch.org/docs/stable/generated/torch.take_along_dim.html
    """
    if indices._dtype is not int64:
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long but got " + type_name(indices))
    if dim is None:
        return gather(input.view(-1), 0, indices.view(-1), out=out)
    if input.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    input.size(dim := check_dim(dim, input.dim()))  # which a number doesn't have
    shapes = (tuple(1 if d == dim else n for d, n in enumerate(each._array.shape)) for each in (input, indices))
    common = list(broadcast_shapes(*shapes))
    sizes = [[*common[:dim], each._array.shape[dim], *common[dim + 1 :]] for each in (input, indices)]
    places = indices.remainder(input.size(dim)) if input.size(dim) else indices
    return gather(input.expand(sizes[0]), dim, places.expand(sizes[1]), out=out)
