"""What functions of matrices share: how they are declared, what they refuse, and how their results lie in memory."""

from __future__ import annotations

import functools
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import declare
from minitorch.dtypes import FLOATING, FROM_NUMPY, type_name
from minitorch.layout import contiguous_format, laid_out
from minitorch.tensor import Tensor

linalg = functools.partial(declare, variants="function out", namespace="linalg", autocast="float32")
"""Declares an op of `torch.linalg`, which computes in float32 under autocast."""


def check_square(name: str, array: Any) -> None:
    if array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    rows, columns = array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")


def check_float(name: str, array: Array, two_bytes: bool = False) -> None:
    """Raises RuntimeError for integers, and for two-byte floats where a function doesn't take them."""
    kind = FROM_NUMPY[array.dtype]
    if kind.category < FLOATING or (kind.is_low_precision and not two_bytes):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {type_name(array)}")


def check_same_type(function: str, one: str, A: Array, two: str, B: Array) -> None:
    """Raises RuntimeError unless the two, which are called so, have one dtype."""
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{function}Expected {one} and {two} to have the same dtype, but found {one} of type {type_name(A)} and "
            f"{two} of type {type_name(B)} instead" + "." * (not function)
        )


def check_square_float(name: str, array: Array) -> None:
    check_square(name, array)
    check_float(name, array)


class LinAlgError(RuntimeError):
    """What factorizations raise that can't be completed."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"  # as PyTorch's calls itself
_LinAlgError = LinAlgError  # where pickles look for it

SINGULAR = "The solver failed because the input matrix is singular."
NOT_INVERTIBLE = (
    "The diagonal element {0} is zero, the inversion could not be completed because the input matrix is singular."
)
NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{0} is not positive-definite)."
)


def check_completed(function: str, fault: str, info: Any, error: type[Exception] = LinAlgError) -> None:
    """Raises an error for the first matrix whose `info`, an array or a tensor, isn't zero: {0} in `fault` stands for
    that number.
    """
    if isinstance(info, Tensor):
        while (value := getattr(info, "_value", None)) is not None:
            info = value  # of all examples of a `vmap`
        if info.is_meta:
            return
        info = info._device.backend.to_host(info._array)
    if not info.any():  # as of the meta device, whose arrays have no numbers to list
        return
    for number, place in enumerate(info.reshape(-1).tolist()):
        if place:
            where = f"(Batch element {number}): " if info.ndim else ""
            raise error(f"{function}: {where}{fault.format(place)}")


def svd_of(xp: Any, A: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    """U, S and Vᴴ. Raises LinAlgError where the algorithm doesn't converge, as for NaN."""
    try:
        u, s, vh = xp.linalg.svd(A, full_matrices=full_matrices)
    except xp.linalg.LinAlgError:
        raise _diverged(xp, "linalg.svd", A, "singular values") from None
    return u, s, vh


def eigh_of(xp: Any, A: Array, triangle: str = "L") -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors. Raises LinAlgError where the algorithm doesn't converge, as for NaN."""
    try:
        values, vectors = xp.linalg.eigh(A, triangle)
    except xp.linalg.LinAlgError:
        raise _diverged(xp, "linalg.eigh", A, "eigenvalues") from None
    return values, vectors


def _diverged(xp: Any, function: str, A: Array, what: str) -> LinAlgError:
    """PyTorch's error, for the first matrix that isn't finite. Of LAPACK's error codes it gives the usual one."""
    finite = xp.isfinite(A).all((-2, -1)).reshape(-1)
    place = int(finite.argmin())
    where = f"(Batch element {place}): " if A.ndim > 2 else ""
    reason = f"is ill-conditioned or has too many repeated {what} (error code: {min(A.shape[-2:]) - 1})"
    if what == "singular values" and xp.isnan(A.reshape(-1, *A.shape[-2:])[place]).any():
        reason = "contained non-finite values"
    return LinAlgError(f"{function}: {where}The algorithm failed to converge because the input matrix {reason}.")


def by_columns(xp: Any, matrices: Array) -> Array:
    """The same matrices with their columns in one piece, as LAPACK leaves them and PyTorch returns them."""
    return laid_out(xp, matrices.swapaxes(-1, -2).copy(), contiguous_format).swapaxes(-1, -2)


def copied_by_columns(x: Tensor) -> Tensor:
    """`by_columns` of a tensor."""
    return x.mT.clone(memory_format=contiguous_format).mT


def adjoint(x: Tensor) -> Tensor:
    transposed = x.transpose(-2, -1)
    return transposed.conj() if x.is_complex() else transposed
