"""L D Lᴴ, the factors of symmetric and Hermitian matrices that needn't be definite, and what is solved with them.

Source: https://pytorch.org/docs/stable/linalg.html
"""

from __future__ import annotations

import functools
from typing import Any

from minitorch import return_types
from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import no_derivative, not_implemented
from minitorch.dispatch.formulas import NOT_IMPLEMENTED
from minitorch.dtypes import type_name
from minitorch.kernels.bunch_kaufman import factored, solved
from minitorch.ops.linalg.common import (
    by_columns,
    check_completed,
    check_float,
    check_same_type,
    check_square,
)
from minitorch.ops.random.in_place import is_meta
from minitorch.ops.views.broadcasting import broadcast_shapes
from minitorch.size import check_dim
from minitorch.tensor import Tensor

_op = functools.partial(declare, variants="function out", namespace="linalg", node=NOT_IMPLEMENTED)


@_op(
    keyword_only="hermitian",
    outputs=return_types.linalg_ldl_factor_ex,
    derivatives={"self": no_derivative("linalg_ldl_factor_ex")},
)
def ldl_factor_ex(
    xp: Any, self: Array, hermitian: bool = False, check_errors: bool = False
) -> tuple[Array, Array, Array]:
    """L and D of L D Lᵀ = A in one matrix, or of L D Lᴴ if A is Hermitian, from the lower triangle; rows; and info.

    (…, n, n) → (…, n, n); (…, n), int32, the rows swapped, from one, negative for a block of two rows of D; (…), the
    first zero pivot, from one, or 0.
    """
    _check("torch.linalg.ldl_factor_ex", self)
    LD = xp.empty(self.shape, self.dtype)
    pivots, info = (xp.empty(shape, "int32") for shape in (self.shape[:-1], self.shape[:-2]))
    for place in () if is_meta(self) else xp.ndindex(*self.shape[:-2]):
        LD[place], pivots[place], info[place] = factored(xp, self[place], hermitian)
    if check_errors:
        check_completed("torch.linalg.ldl_factor_ex", _FAULT, info, RuntimeError)
    return by_columns(xp, LD), pivots, info


@composite(variants="function out", namespace="linalg")
def ldl_factor(input: Tensor, *, hermitian: bool = False) -> Any:
    """`ldl_factor_ex` that raises RuntimeError where a pivot is zero: (…, n, n) → (…, n, n) and int32 pivots (…, n)."""
    LD, pivots, info = ldl_factor_ex(input, hermitian=hermitian)
    check_completed("torch.linalg.ldl_factor", _FAULT, info, RuntimeError)
    return return_types.linalg_ldl_factor(LD, pivots)


@_op(keyword_only="hermitian", derivatives={"LD, B": no_derivative("linalg_ldl_solve")})
def ldl_solve(xp: Any, LD: Array, pivots: Array, B: Array, hermitian: bool = False) -> Array:
    """The X with A X = B for the A that was factored: (…, n, n), int32 (…, n) and (…, n, k) → (…, n, k)."""
    check_dim(-2, B.ndim)
    _check("torch.linalg.ldl_solve", LD)
    n, (rows, columns) = LD.shape[-1], B.shape[-2:]
    if rows != n:
        raise RuntimeError(
            f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {n} by {n} but each b matrix is "
            f"{rows} by {columns}"
        )
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {type_name(pivots)}")
    check_same_type("", "b", B, "A", LD)
    batch = broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    LD, pivots, B = (
        xp.broadcast_to(each, (*batch, *each.shape[each.ndim - own :])) for each, own in ((LD, 2), (pivots, 1), (B, 2))
    )
    X = xp.empty(B.shape, B.dtype)
    for place in () if is_meta(B) else xp.ndindex(*batch):
        X[place] = solved(xp, LD[place], pivots[place], B[place], hermitian)
    return by_columns(xp, X)


_FAULT = "The pivot {0} is zero: D is exactly singular."


def _check(name: str, A: Array) -> None:
    check_square(name, A)
    check_float(name, A, two_bytes=True)
    if A.dtype.itemsize == 2:
        raise not_implemented("ldl_factor_kernel_cpu", A.dtype.name)
