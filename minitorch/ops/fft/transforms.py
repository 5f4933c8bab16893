"""The three transforms that all others are made of: complex to complex, real to complex, complex to real.

Each goes over several dimensions; `normalization` says whether the result is divided by the square root of the number
of elements, by the number itself, or by nothing. An unscaled transform and its inverse are adjoint, hence the formulas.
Source: https://pytorch.org/docs/stable/fft.html
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.quiet import quiet
from minitorch.dispatch.declaration import declare
from minitorch.dtypes import type_name
from minitorch.layout import ordered_strides, restrided
from minitorch.ops.nn.padding import constant_pad
from minitorch.ops.views.complex import real
from minitorch.tensor import Tensor

Ints = tuple[int, ...]
UNSCALED, BY_ROOT, BY_COUNT = range(3)
_FORWARD, _INVERSE = ("backward", "ortho", "forward"), ("forward", "ortho", "backward")
"""What NumPy calls these, by direction: the one that is scaled by the number of elements."""


def _arranged(xp: Any, result: Array, source: Array, dim: Ints, keep_last: bool = False) -> Array:
    """The result as PyTorch's lies in memory: first the other dimensions, then the transformed ones, both by strides.

    With `keep_last` the last transformed dimension stays the last.
    """

    def stride(axis: int) -> int:
        return -int(source.strides[axis])

    kept = dim[-1:] if keep_last else ()
    order = sorted(set(range(source.ndim)) - set(dim), key=stride)
    order += [*sorted(dim[: len(dim) - len(kept)], key=stride), *kept]
    return restrided(xp, result, ordered_strides(result.shape, order[::-1], result.itemsize))


@declare(
    variants="",
    node="FftC2CBackward0",
    derivatives={"self": lambda grad, dim, normalization, forward: c2c(grad, dim, normalization, not forward)},
)
def c2c(xp: Any, self: Array, dim: Ints, normalization: int, forward: bool) -> Array:
    """The transform of complex numbers, or its inverse."""
    if not dim:
        return self.copy()
    names, transform = (_FORWARD, xp.fft.fftn) if forward else (_INVERSE, xp.fft.ifftn)
    with quiet():  # as in slogdet
        result = transform(self, axes=dim, norm=names[normalization])
    return _arranged(xp, result, self, dim)


def _r2c_backward(grad: Tensor, self: Tensor, dim: Ints, normalization: int, onesided: bool) -> Tensor:
    """The real part of the inverse transform, where the half that was left out counts as zeros."""
    last = dim[-1]
    missing = self.shape[last] - grad.shape[last]
    if onesided and missing:
        grad = constant_pad(grad, tuple((0, missing if axis == last else 0) for axis in range(grad.dim())), 0)
    return real(c2c(grad, dim, normalization, False))


@declare(variants="", node="FftR2CBackward0", derivatives={"self": _r2c_backward})
def r2c(xp: Any, self: Array, dim: Ints, normalization: int, onesided: bool) -> Array:
    """The transform of real numbers: all of it, or the half of the last dimension that the other half mirrors."""
    if self.dtype.kind == "c":
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {type_name(self)}")
    transform = xp.fft.rfftn if onesided else xp.fft.fftn
    with quiet():
        result = transform(self, axes=dim, norm=_FORWARD[normalization])
    return _arranged(xp, result, self, dim, keep_last=True)


def _c2r_backward(grad: Tensor, dim: Ints, normalization: int) -> Tensor:
    """The transform, of which those elements count twice that stood for their mirror images too."""
    gradient: Tensor = r2c(grad, dim, normalization, True)
    mirrored = grad.shape[dim[-1]] - gradient.shape[dim[-1]]
    if mirrored > 0:
        gradient.narrow(dim[-1], 1, mirrored).mul_(2)
    return gradient


@declare(variants="", node="FftC2RBackward0", derivatives={"self": _c2r_backward})
def c2r(xp: Any, self: Array, dim: Ints, normalization: int, last_dim_size: int) -> Array:
    """The inverse of a transform of real numbers, given by half of its last dimension."""
    others, last = dim[:-1], dim[-1:]
    with quiet():
        if others:
            self = _arranged(xp, xp.fft.ifftn(self, axes=others, norm=_INVERSE[normalization]), self, others)
        result = xp.fft.irfftn(self, s=(last_dim_size,), axes=last, norm=_INVERSE[normalization])
    return _arranged(xp, result, self, last)
