"""Products with vectors.

Source: https://pytorch.org/docs/stable/torch.html#blas-and-lapack-operations
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.backend import Array
from minitorch.dtypes import type_name
from minitorch.ops.declaration import KEEP, composite, declare
from minitorch.ops.iteration import combined
from minitorch.ops.matrix_products import check_expands, mm, plus, product, product_in_single, scaled
from minitorch.ops.pointwise import conj
from minitorch.tensor import Tensor

Number = Any


@declare(
    variants="function method out",
    derivatives={
        "self": lambda grad, vec: grad.outer(conj(vec)),
        "vec": lambda grad, self: mv(conj(self.t()), grad),
    },
)
def mv(xp: Any, self: Array, vec: Array) -> Array:
    """The product of a matrix and a vector, (n, m) @ (m). https://pytorch.org/docs/stable/generated/torch.mv.html"""
    if not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    _check_mv(xp, xp.empty(0, vec.dtype), self, vec, 0)
    return product(xp, self, vec[:, None])[:, 0]


@declare(
    variants="function method inplace out",
    derivatives={
        "self": lambda grad, beta: scaled(grad, beta),
        "mat": lambda grad, vec, alpha: scaled(grad.outer(conj(vec)), alpha),
        "vec": lambda grad, mat, alpha: scaled(mv(conj(mat.t()), grad), alpha),
    },
)
def addmv(xp: Any, self: Array, mat: Array, vec: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """β self + α mat @ vec. https://pytorch.org/docs/stable/generated/torch.addmv.html"""
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
)
def dot(xp: Any, self: Array, tensor: Array) -> Array:
    """Σ selfᵢ · tensorᵢ of two vectors. https://pytorch.org/docs/stable/generated/torch.dot.html"""
    _check_dot(self, tensor)
    return product(xp, self[None], tensor[:, None])[0, 0]


@declare(
    variants="function method out",
    derivatives={"self": lambda grad, other: conj(grad) * other, "other": lambda grad, self: grad * self},
)
def vdot(xp: Any, self: Array, other: Array) -> Array:
    """Σ conj(selfᵢ) · otherᵢ of two vectors. https://pytorch.org/docs/stable/generated/torch.vdot.html"""
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
            "of "
            f"elements, but got {self.size} and {other.size} elements respectively"
        )


@composite(variants="function method out", aliases="ger")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """inputᵢ · vec2ⱼ. https://pytorch.org/docs/stable/generated/torch.outer.html"""
    for name, each in (("self", input), ("vec2", vec2)):
        if each.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {each.dim()}-D")
    return input.reshape(-1, 1) * vec2


@declare(
    promotion=KEEP,
    variants="function method inplace out",
    derivatives={
        "self": lambda grad, beta: scaled(grad, beta),
        "vec1": lambda grad, vec2, alpha: scaled(mv(grad, conj(vec2)), alpha),
        "vec2": lambda grad, vec1, alpha: scaled(mv(grad.t(), conj(vec1)), alpha),
    },
)
def addr(xp: Any, self: Array, vec1: Array, vec2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """β input + α vec1 ⊗ vec2. https://pytorch.org/docs/stable/generated/torch.addr.html"""
    for name, each in (("vec1", vec1), ("vec2", vec2)):
        if each.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {each.ndim}-D")
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if self.dtype.kind in "biu" and isinstance(factor, float):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    check_expands(self, (vec1.size, vec2.size))
    return combined(xp, plus(self, vec1[:, None] * vec2, beta, alpha), (self, vec1[:, None], vec2))


@composite(variants="function method out")
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Σₖ input[…, k] · other[…, k]; with a 0-dim tensor, the product.

    https://pytorch.org/docs/stable/generated/torch.inner.html
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
    return product.view(*input.shape[:-1], *other.shape[:-1])
