"""The largest and smallest elements, and where they are.

NaN counts as larger and as smaller than everything, so it is the result where there is one. Of several equal elements
the first one's index is returned.
Source: https://pytorch.org/docs/stable/generated/torch.max.html
"""

from __future__ import annotations

from typing import Any

from minitorch import return_types
from minitorch.backend import Array
from minitorch.dtypes import FROM_NUMPY
from minitorch.ops.apply import write_out
from minitorch.ops.declaration import composite, declare
from minitorch.ops.errors import check_dim, not_implemented
from minitorch.ops.reduction import dims_of, unreduced
from minitorch.tensor import Tensor

Dims = Any


_KERNELS = {
    "amin": "min_values_cpu", "amax": "max_values_cpu", "aminmax": "aminmax_cpu", "min": "min_all", "max": "max_all",
}  # fmt: skip
"""How errors name the kernels."""


def _check(name: str, self: Array, dim: Dims) -> None:
    """Raises where there is no element to choose, or no order among them."""
    if FROM_NUMPY[self.dtype].is_complex:
        if name.startswith("arg") or (name in ("max", "min") and dim is not None):
            raise RuntimeError(f"{name}(): does not support complex input")
        raise not_implemented(_KERNELS[name], self.dtype.name)
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
    return mask | (self.isnan() & value.isnan()) if bool(value.isnan().any()) else mask


def shared(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient in equal parts to all elements that are the result."""
    mask = _equals(self, result)
    return grad.new_zeros(self.shape).masked_fill(mask, grad / mask.sum())


def _shared_along(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    mask = self.eq(unreduced(result, self.shape, dim, keepdim))
    return unreduced(grad, self.shape, dim, keepdim) * mask / mask.sum(dim, keepdim=True)


def selected_backward(grad: Tensor, shape: tuple[int, ...], dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    """The gradient of a reduction that chose one element along `dim`: all of it goes there."""
    if not shape:
        return grad
    if not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(shape).scatter(dim, indices, grad)


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


@declare(
    variants="",
    node="MaxBackward1",
    derivatives={"self": lambda grad, self, result: shared(grad, self, result)},
)
def max_of_all(xp: Any, self: Array) -> Array:
    _check("max", self, None)
    return xp.max(self)


@declare(
    variants="",
    node="MinBackward1",
    derivatives={"self": lambda grad, self, result: shared(grad, self, result)},
)
def min_of_all(xp: Any, self: Array) -> Array:
    _check("min", self, None)
    return xp.min(self)


@declare(
    variants="",
    node="MaxBackward0",
    outputs=return_types.max,
    derivatives={
        "self": lambda grad, self_shape, dim, keepdim, result1: selected_backward(
            grad, self_shape, dim, result1, keepdim
        )
    },
)
def max_along(xp: Any, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    return _extreme_along(xp, "max", self, dim, keepdim)


@declare(
    variants="",
    node="MinBackward0",
    outputs=return_types.min,
    derivatives={
        "self": lambda grad, self_shape, dim, keepdim, result1: selected_backward(
            grad, self_shape, dim, result1, keepdim
        )
    },
)
def min_along(xp: Any, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    return _extreme_along(xp, "min", self, dim, keepdim)


@composite()
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
    """The largest element; along `dim` a named tuple (values, indices); with another tensor, `maximum`.

    https://pytorch.org/docs/stable/generated/torch.max.html
    """
    if isinstance(dim, Tensor) or other is not None:
        return (
            input.maximum(dim if other is None else other)
            if out is None
            else write_out("maximum", out, input.maximum(dim))
        )
    result = max_of_all(input) if dim is None else max_along(input, dim, keepdim)
    return result if out is None else write_out("maximum" if dim is None else "max", out, result)


@composite()
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
    """The smallest element; along `dim` a named tuple (values, indices); with another tensor, `minimum`.

    https://pytorch.org/docs/stable/generated/torch.min.html
    """
    if isinstance(dim, Tensor) or other is not None:
        return (
            input.minimum(dim if other is None else other)
            if out is None
            else write_out("minimum", out, input.minimum(dim))
        )
    result = min_of_all(input) if dim is None else min_along(input, dim, keepdim)
    return result if out is None else write_out("minimum" if dim is None else "min", out, result)


@declare(
    row_major=True,
    variants="function method out",
    derivatives={"self": lambda grad, self, result, dim, keepdim: _shared_along(grad, self, result, dim, keepdim)},
)
def amax(xp: Any, self: Array, dim: Dims = (), keepdim: bool = False) -> Array:
    """The largest elements along `dim`; equal ones share the gradient. https://pytorch.org/docs/stable/generated/torch.amax.html"""
    _check("amax", self, None if dim in ((), []) else dim)
    return xp.max(self, axis=dims_of(dim, self.ndim), keepdims=keepdim)


@declare(
    row_major=True,
    variants="function method out",
    derivatives={"self": lambda grad, self, result, dim, keepdim: _shared_along(grad, self, result, dim, keepdim)},
)
def amin(xp: Any, self: Array, dim: Dims = (), keepdim: bool = False) -> Array:
    """The smallest elements along `dim`; equal ones share the gradient. https://pytorch.org/docs/stable/generated/torch.amin.html"""
    _check("amin", self, None if dim in ((), []) else dim)
    return xp.min(self, axis=dims_of(dim, self.ndim), keepdims=keepdim)


def _aminmax_backward(grads: Any, self: Tensor, low: Tensor, high: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    parts = [
        _shared_along(grad, self, result, dim, keepdim)
        for grad, result in zip(grads, (low, high), strict=True)
        if grad is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@declare(
    row_major=True,
    variants="",
    node="AminmaxBackward0",
    outputs=return_types.aminmax,
    derivatives={
        "self": lambda grads, self, result0, result1, dim, keepdim: _aminmax_backward(
            grads, self, result0, result1, dim, keepdim
        )
    },
)
def amin_and_amax(xp: Any, self: Array, dim: int | None, keepdim: bool) -> tuple[Array, Array]:
    _check("aminmax", self, dim)
    axes = dims_of(dim, self.ndim)
    return xp.min(self, axis=axes, keepdims=keepdim), xp.max(self, axis=axes, keepdims=keepdim)


@composite()
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """The smallest and the largest elements. https://pytorch.org/docs/stable/generated/torch.aminmax.html"""
    result = amin_and_amax(input, dim, keepdim)
    return result if out is None else write_out("aminmax", out, result)


@declare(variants="function method out")
def argmax(xp: Any, self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where along `dim` the largest element is. https://pytorch.org/docs/stable/generated/torch.argmax.html"""
    _check("argmax", self, dim)
    return _found(xp, xp.argmax, self, dim, keepdim)


@declare(variants="function method out")
def argmin(xp: Any, self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where along `dim` the smallest element is. https://pytorch.org/docs/stable/generated/torch.argmin.html"""
    _check("argmin", self, dim)
    return _found(xp, xp.argmin, self, dim, keepdim)


def _found(xp: Any, find: Any, self: Array, dim: int | None, keepdim: bool) -> Array:
    if dim is None or not self.ndim:
        places = find(self)
        return xp.full((1,) * self.ndim, places) if keepdim else places
    dim = check_dim(dim, self.ndim)
    places = find(self, axis=dim)
    return xp.expand_dims(places, dim) if keepdim else places
