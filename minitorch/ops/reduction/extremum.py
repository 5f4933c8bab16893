"""The largest and smallest elements, and where they are.

NaN counts as larger and as smaller than everything, so it is the result where there is one. Of several equal elements
the first one's index is returned.
Source: https://pytorch.org/docs/stable/generated/torch.max.html
"""

from __future__ import annotations

from typing import Any

from minitorch import return_types
from minitorch.arrays import Array, Dims
from minitorch.dispatch.apply import write_out
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.op import CASTS
from minitorch.dtypes import FROM_NUMPY, SCALAR_TYPES
from minitorch.ops.naming import called
from minitorch.ops.reduction.sums import dims_of, unreduced
from minitorch.size import check_dim
from minitorch.tensor import Tensor, holds_somewhere

_KERNELS = {
    "max": "max_all",
    "min": "min_all",
    "amax": "max_values_cpu",
    "amin": "min_values_cpu",
    "aminmax": "aminmax_cpu",
}
"""What PyTorch calls the kernels that refuse complex numbers."""


def _check(name: str, self: Array, dim: Dims) -> None:
    """Raises where there is no element to choose, or no order among them."""
    is_complex = FROM_NUMPY[self.dtype].is_complex
    if is_complex and name.startswith("arg"):
        raise RuntimeError(f"{name}(): does not support complex input")
    _check_sizes(name, self, dim)
    if is_complex and name in ("max", "min") and dim is not None:
        raise RuntimeError(f"{name}(): does not support complex input")
    if is_complex and name == "aminmax" and dim is not None and not self.ndim:
        raise RuntimeError(f"aminmax not implemented for {SCALAR_TYPES[self.dtype.name]}")
    if is_complex and (self.size or name == "aminmax"):
        raise not_implemented(_KERNELS[name], self.dtype.name)


def _check_sizes(name: str, self: Array, dim: Dims) -> None:
    if self.dtype == "bool" and name.startswith("arg"):
        raise RuntimeError(f"{name}(): does not support bool input")
    if dim is None:
        if not self.size and name.startswith("arg"):
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        if not self.size:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
                if name != "aminmax"
                else "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            )
        return
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    for d, as_given in zip(dims_of(dim, self.ndim), given, strict=False):  # a number has no dimensions
        if not self.shape[d]:
            named = name if name == "aminmax" else f"{name}()"
            shown = as_given if name in ("amax", "amin") else d
            raise IndexError(f"{named}: Expected reduction dim {shown} to have non-zero size.")


def _equals(self: Tensor, value: Tensor) -> Tensor:
    """Where self is the value that was chosen, NaN being equal to NaN."""
    mask: Tensor = self.eq(value)
    return mask | (self.isnan() & value.isnan()) if holds_somewhere(value.isnan()) else mask


def shared(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient in equal parts to all elements that are the result."""
    mask = _equals(self, result)
    return grad.new_zeros(self.shape).masked_fill(mask, grad / mask.sum())


def _shared_along(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    mask = self.eq(unreduced(result, self.shape, dim, keepdim))
    return unreduced(grad, self.shape, dim, keepdim) * mask / mask.sum(dim, keepdim=True)


def to_the_chosen(grad: Tensor, self_shape: tuple[int, ...], dim: int, result1: Tensor, keepdim: bool) -> Tensor:
    """The gradient of a reduction that chose one element along `dim`, at `result1`: all of it goes there."""
    if not self_shape:
        return grad
    if not keepdim:
        grad, result1 = grad.unsqueeze(dim), result1.unsqueeze(dim)
    return grad.new_zeros(self_shape).scatter(dim, result1, grad)


def all_to_the_chosen(grad: Tensor, self_shape: tuple[int, ...], dim: int, result1: Tensor) -> Tensor:
    """The same for ops that keep the dimension."""
    return to_the_chosen(grad, self_shape, dim, result1, True)


def chosen(xp: Any, self: Array, indices: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The elements at indices that were found along `dim` (and still have it), and the indices."""
    values = xp.take_along_axis(self, indices, axis=dim)
    if keepdim:
        return values, indices
    return xp.asarray(values.squeeze(dim), order="C"), xp.asarray(indices.squeeze(dim), order="C")


def _extreme_along(xp: Any, name: str, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    _check(name, self, dim)
    dim = check_dim(dim, self.ndim)
    if not self.ndim:
        return self.copy(), xp.zeros((), xp.int64)
    find = xp.argmax if name == "max" else xp.argmin
    return chosen(xp, self, xp.expand_dims(find(self, axis=dim), dim), dim, keepdim)


def _extreme(name: str) -> Any:
    """The function `max` or `min`: of all elements, along a dimension, or of two tensors."""
    node, pairwise = name.capitalize(), f"{name}imum"

    @declare(variants="", node=f"{node}Backward1", derivatives={"self": shared})
    def of_all(xp: Any, self: Array) -> Array:
        _check(name, self, None)
        return getattr(xp, name)(self)

    @declare(
        variants="", node=f"{node}Backward0", outputs=getattr(return_types, name), derivatives={"self": to_the_chosen}
    )
    def along(xp: Any, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        return _extreme_along(xp, name, self, dim, keepdim)

    @composite()
    @called(
        name,
        f"The {'largest' if name == 'max' else 'smallest'} element; along `dim` a named tuple (values, indices); with "
        f"another tensor, `{pairwise}`.",
    )
    def extreme(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
        two = isinstance(dim, Tensor) or other is not None
        if two:
            result = getattr(input, pairwise)(dim if other is None else other)
        else:
            result = of_all(input) if dim is None else along(input, dim, keepdim)
        if out is None:
            return result
        return write_out(pairwise if two or dim is None else name, out, result, CASTS if two or dim is None else "")

    return extreme


max, min = _extreme("max"), _extreme("min")


def _extremes(name: str) -> Any:
    """The function `amax` or `amin`, whose gradient is shared by equal elements."""
    which = "largest" if name == "amax" else "smallest"

    @declare(row_major=True, variants="function method out", derivatives={"self": _shared_along})
    @called(name, f"The {which} elements along `dim`; equal ones share the gradient.")
    def extremes(xp: Any, self: Array, dim: Dims = (), keepdim: bool = False) -> Array:
        _check(name, self, None if dim in ((), []) else dim)
        return getattr(xp, name[1:])(self, axis=dims_of(dim, self.ndim), keepdims=keepdim)

    return extremes


amax, amin = _extremes("amax"), _extremes("amin")


def _aminmax_backward(
    grads: Any, self: Tensor, result0: Tensor, result1: Tensor, dim: int | None, keepdim: bool
) -> Tensor:
    parts = [
        _shared_along(grad, self, result, dim, keepdim)
        for grad, result in zip(grads, (result0, result1), strict=True)
        if grad is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@declare(
    keyword_only="dim",
    row_major=True,
    variants="function method out",
    outputs=return_types.aminmax,
    derivatives={"self": _aminmax_backward},
)
def aminmax(xp: Any, self: Array, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    """The smallest and the largest elements."""
    _check("aminmax", self, dim)
    axes = dims_of(dim, self.ndim)
    return xp.min(self, axis=axes, keepdims=keepdim), xp.max(self, axis=axes, keepdims=keepdim)


def _place(name: str) -> Any:
    """The function `argmax` or `argmin`."""

    @declare(variants="function method out")
    @called(name, f"Where along `dim` the {'largest' if name == 'argmax' else 'smallest'} element is.")
    def place(xp: Any, self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
        _check(name, self, dim)
        find = getattr(xp, name)
        if dim is None or not self.ndim:
            places = find(self)
            return xp.full((1,) * self.ndim, places) if keepdim else places
        along = check_dim(dim, self.ndim)
        places = find(self, axis=along)
        return xp.expand_dims(places, along) if keepdim else places

    return place


argmax, argmin = _place("argmax"), _place("argmin")
