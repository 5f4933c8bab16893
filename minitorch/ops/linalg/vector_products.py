"""Products with vectors.

Source: https://pytorch.org/docs/stable/torch.html#blas-and-lapack-operations
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array, Number
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.iteration import combined
from minitorch.dispatch.op import CASTS, KEEP
from minitorch.dispatch.overlap import ANY_SOURCE, ANY_TARGET
from minitorch.dtypes import type_name
from minitorch.kernels.matrix_product import product, product_in_single
from minitorch.ops.linalg.common import check_float, check_same_type
from minitorch.ops.linalg.matrix_products import check_expands, mm, plus, scaled
from minitorch.ops.pointwise.arithmetic import check_factor, conj
from minitorch.size import check_dim
from minitorch.tensor import Tensor


@declare(
    variants="function method out",
    derivatives={"self": lambda grad, vec: grad.outer(conj(vec)), "vec": lambda grad, self: mv(conj(self.t()), grad)},
    autocast_on_gpu="lower",
)
def mv(xp: Any, self: Array, vec: Array) -> Array:
    """The product of a matrix and a vector, (n, m) @ (m,) → (n,).

    Raises RuntimeError for other sizes or numbers of dimensions, IndexError for a 0-d tensor.
    """
    if not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    _check_mv(xp, xp.empty(0, vec.dtype), self, vec, 0)
    return product(xp, self, vec[:, None])[:, 0]


@declare(
    keyword_only="beta",
    overlap=(ANY_TARGET, ANY_SOURCE),
    variants="function method inplace out",
    derivatives={
        "self": lambda grad, beta: scaled(grad, beta),
        "mat": lambda grad, vec, alpha: scaled(grad.outer(conj(vec)), alpha),
        "vec": lambda grad, mat, alpha: scaled(mv(conj(mat.t()), grad), alpha),
    },
    autocast_on_gpu="lower",
)
def addmv(xp: Any, self: Array, mat: Array, vec: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """β self + α mat @ vec: (n, m), (m,) → (n,), to which self broadcasts.

    Raises RuntimeError for other sizes or different dtypes.
    """
    _check_mv(xp, self, mat, vec, self.ndim)
    return plus(self, product_in_single(xp, mat, vec[:, None])[:, 0], beta, alpha)


def _check_mv(xp: Any, self: Array, mat: Array, vec: Array, ndim: int) -> None:
    if mat.ndim != 2 or vec.ndim != 1 or ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {max(ndim, 1)}, {mat.ndim}, {vec.ndim}")
    size = mat.shape[0] if self.ndim != ndim or ndim == 0 else self.shape[0]
    if mat.shape[1] != vec.shape[0] or size not in (1, mat.shape[0]):
        raise RuntimeError(
            f"size mismatch, got input ({size}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    if not mat.dtype == vec.dtype == self.dtype:
        names = ", ".join(map(type_name, (self, mat)))
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {names}, and {type_name(vec)}")


@declare(
    variants="function method out",
    derivatives={"self": lambda grad, tensor: grad * conj(tensor), "tensor": lambda grad, self: grad * conj(self)},
    autocast_on_gpu="widest",
)
def dot(xp: Any, self: Array, tensor: Array) -> Array:
    """Σ selfᵢ · tensorᵢ of two vectors."""
    _check_dot(self, tensor)
    return product(xp, self[None], tensor[:, None])[0, 0]


@declare(
    variants="function method out",
    derivatives={"self": lambda grad, other: conj(grad) * other, "other": lambda grad, self: grad * self},
    autocast_on_gpu="widest",
)
def vdot(xp: Any, self: Array, other: Array) -> Array:
    """Σ conj(selfᵢ) · otherᵢ of two vectors."""
    _check_dot(self, other)
    return product(xp, xp.conj(self)[None] if self.dtype.kind == "c" else self[None], other[:, None])[0, 0]


def _check_dot(self: Array, other: Array) -> None:
    if self.ndim != 1 or other.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {other.ndim}D tensors")
    if self.dtype != other.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {type_name(self)} and {type_name(other)}"
        )
    if self.shape != other.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{self.size}] and src [{other.size}] to have the same number "
            f"of elements, but got {self.size} and {other.size} elements respectively"
        )


@composite(out_type=CASTS, variants="function method out", aliases="ger")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """inputᵢ · vec2ⱼ: (n,), (m,) → (n, m). Raises RuntimeError for other numbers of dimensions."""
    for name, each in (("self", input), ("vec2", vec2)):
        if each.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {each.dim()}-D")
    return input.reshape(-1, 1) * vec2


@declare(
    keyword_only="beta",
    out_type=CASTS,
    promotion=KEEP,
    variants="function method inplace out",
    derivatives={
        "self": lambda grad, beta: scaled(grad, beta),
        "vec1": lambda grad, vec2, alpha: scaled(mv(grad, conj(vec2)), alpha),
        "vec2": lambda grad, vec1, alpha: scaled(mv(grad.t(), conj(vec1)), alpha),
    },
    autocast_on_gpu="lower",
)
def addr(xp: Any, self: Array, vec1: Array, vec2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """β input + α vec1 ⊗ vec2: (n,), (m,) → (n, m), to which input broadcasts.

    Raises RuntimeError for other dimensions.
    """
    for name, each in (("vec1", vec1), ("vec2", vec2)):
        if each.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {each.ndim}-D")
    for name, factor in (("beta", beta), ("alpha", alpha)):
        check_factor(name, factor, self.dtype.kind)
    check_expands(self, (vec1.size, vec2.size))
    return combined(xp, plus(self, vec1[:, None] * vec2, beta, alpha), (self, vec1[:, None], vec2))


@composite(variants="function method out", autocast_on_gpu="widest")
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Σₖ input[…, k] · other[…, k]: (*a, k), (*b, k) → (*a, *b); with a 0-d tensor, the product.

    Raises RuntimeError for different last sizes.
    """
    if not input.dim() or not other.dim():
        result = input * other
        return result
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    size = input.shape[-1]
    rows = [each.reshape(math.prod(each.shape[:-1]), size) for each in (input, other)]
    product = mm(rows[0], rows[1].t())
    return product.view((*input.shape[:-1], *other.shape[:-1]))


@composite(autocast="lower", variants="function out", namespace="linalg")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Σ conj(x) · y along `dim`, which is removed from the shape that both broadcast to.

    Raises RuntimeError if they don't, and for different dtypes or integers.
    """
    check_float("linalg.vecdot", x._array, two_bytes=True)
    check_same_type("linalg.vecdot: ", "x", x._array, "y", y._array)
    return x.vdot(y) if x.dim() == y.dim() == 1 else (x.conj() * y).sum(dim)


@declare(
    keyword_only="dim",
    variants="function out",
    namespace="linalg",
    row_major=True,
    derivatives={
        "self": lambda grad, other, dim: cross(conj(other), grad, dim=dim),
        "other": lambda grad, self, dim: cross(grad, conj(self), dim=dim),
    },
    autocast_on_gpu="widest",
)
def cross(xp: Any, self: Array, other: Array, dim: int = -1) -> Array:
    """The cross product along a dimension of size 3.

    Raises RuntimeError for other sizes and different dtypes, NotImplementedError for bools.
    """
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    check_dim(dim, self.ndim)
    if self.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[dim]} and {other.shape[dim]}"
        )
    if self.dtype == "bool":
        raise not_implemented("cross", "bool")
    if self.dtype != other.dtype:
        raise RuntimeError(f"expected scalar type {type_name(self)} but found {type_name(other)}")
    one, two = (xp.roll(self, shift, dim) for shift in (-1, -2))
    return one * xp.roll(other, -2, dim) - two * xp.roll(other, -1, dim)
