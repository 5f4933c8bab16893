"""Products of matrices, and of batches of matrices.

Source: https://pytorch.org/docs/stable/torch.html#blas-and-lapack-operations
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array, Number
from minitorch.dispatch.declaration import declare
from minitorch.dispatch.overlap import ANY_SOURCE, ANY_TARGET
from minitorch.dtypes import FROM_NUMPY, c_type_name, type_name
from minitorch.kernels.matrix_product import product, product_in_single
from minitorch.ops.pointwise.arithmetic import conj
from minitorch.scalars import to_scalar
from minitorch.tensor import Tensor


def check_product(mat1: Array, mat2: Array) -> None:
    """Raises RuntimeError unless mat1 @ mat2 exists."""
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({mat1.shape[0]}x{mat1.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})"
        )


def check_matrix(name: str, array: Array) -> None:
    if array.ndim != 2:
        raise RuntimeError(f"{name} must be a matrix")


def scaled(value: Any, factor: Any) -> Any:
    return value if factor.__class__ is int and factor == 1 else value * factor


def is_transposed(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether a matrix lies in memory column by column."""
    return stride[0] == 1 and stride[1] == shape[0]


@declare(
    saves_all=True,
    autocast="lower",
    variants="",
    node="MmBackward0",
    derivatives={"grad_": lambda grad, right: mm(grad, right), "right": lambda grad, grad_: mm(conj(grad.t()), grad_)},
)
def mm_left_backward(xp: Any, grad_: Array, right: Array, transposed: bool) -> Array:
    """grad @ rightᴴ, laid out as the left factor: a transposed weight's then becomes its `.grad` without a copy."""
    return product(xp, right.conj(), grad_.T).T if transposed else product(xp, grad_, right.conj().T)


@declare(
    saves_all=True,
    autocast="lower",
    variants="",
    node="MmBackward0",
    derivatives={"grad_": lambda grad, left: mm(left, grad), "left": lambda grad, grad_: mm(grad_, conj(grad.t()))},
)
def mm_right_backward(xp: Any, grad_: Array, left: Array, transposed: bool) -> Array:
    """leftᴴ @ grad, laid out as the right factor is."""
    return product(xp, grad_.T, left.conj()).T if transposed else product(xp, left.conj().T, grad_)


def left_gradient(grad: Tensor, shape: tuple[int, ...], stride: tuple[int, ...], right: Tensor) -> Tensor:
    return mm_left_backward(grad, right, is_transposed(shape, stride))


def right_gradient(grad: Tensor, shape: tuple[int, ...], stride: tuple[int, ...], left: Tensor) -> Tensor:
    return mm_right_backward(grad, left, is_transposed(shape, stride))


@declare(
    autocast="lower",
    variants="function method out",
    derivatives={
        "self": lambda grad, self_shape, self_stride, mat2: left_gradient(grad, self_shape, self_stride, mat2),
        "mat2": lambda grad, mat2_shape, mat2_stride, self: right_gradient(grad, mat2_shape, mat2_stride, self),
    },
)
def mm(xp: Any, self: Array, mat2: Array) -> Array:
    """The product of two matrices, (n, m) @ (m, p)."""
    check_matrix("self", self)
    check_matrix("mat2", mat2)
    check_product(self, mat2)
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_type_name(self)} != {c_type_name(mat2)}"
        )
    return product(xp, self, mat2)


@declare(
    keyword_only="beta",
    autocast="lower",
    overlap=(ANY_SOURCE,),
    variants="function method inplace out",
    derivatives={
        "self": lambda grad, beta: scaled(grad, beta),
        "mat1": lambda grad, mat1_shape, mat1_stride, mat2, alpha: scaled(
            left_gradient(grad, mat1_shape, mat1_stride, mat2), alpha
        ),
        "mat2": lambda grad, mat2_shape, mat2_stride, mat1, alpha: scaled(
            right_gradient(grad, mat2_shape, mat2_stride, mat1), alpha
        ),
    },
)
def addmm(xp: Any, self: Array, mat1: Array, mat2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """β self + α mat1 @ mat2: (n, m), (m, p) → (n, p), to which self broadcasts.

    Raises RuntimeError for other sizes or different dtypes.
    """
    if mat1.ndim != 2:
        raise RuntimeError(f"mat1 must be a matrix, got {mat1.ndim}-D tensor")
    if mat2.ndim != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {mat2.ndim}-D tensor")
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {type_name(self)} and {type_name(mat2)}")
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {type_name(mat1)} and {type_name(mat2)}")
    check_product(mat1, mat2)
    check_expands(self, (mat1.shape[0], mat2.shape[1]))
    return plus(self, product_in_single(xp, mat1, mat2), beta, alpha)


def plus(self: Array, product: Array, beta: Number, alpha: Number) -> Array:
    """β self + α product, in the memory of the product. With β = 0, NaN and infinity in `self` are ignored."""
    if alpha != 1:
        product *= product.dtype.type(to_scalar(alpha, FROM_NUMPY[product.dtype]))
    if beta == 1:
        product += self
    elif beta != 0:
        product += self * product.dtype.type(to_scalar(beta, FROM_NUMPY[product.dtype]))
    return product.astype(self.dtype, copy=False)


def check_expands(array: Array, shape: tuple[int, ...]) -> None:
    """Raises RuntimeError unless an array can be expanded to a shape."""
    if array.ndim > len(shape):
        raise RuntimeError(
            f"expand({{{list(array.shape)}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({array.ndim})"
        )
    missing = len(shape) - array.ndim
    for dim in range(len(shape) - 1, missing - 1, -1):
        size = array.shape[dim - missing]
        if size not in (1, shape[dim]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[dim]}) must match the existing size ({size}) at "
                f"non-singleton dimension {dim}.  Target sizes: {list(shape)}.  Tensor sizes: {list(array.shape)}"
            )


@declare(
    autocast="lower",
    variants="function method out",
    derivatives={
        "self": lambda grad, mat2: bmm(grad, conj(mat2.transpose(1, 2))),
        "mat2": lambda grad, self: bmm(conj(self.transpose(1, 2)), grad),
    },
)
def bmm(xp: Any, self: Array, mat2: Array) -> Array:
    """The products of two batches of matrices, (b, n, m) @ (b, m, p)."""
    check_batches(self, mat2)
    return product(xp, self, mat2)


def check_batches(batch1: Array, batch2: Array) -> None:
    """Raises RuntimeError unless batch1 @ batch2 exists."""
    if batch1.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if batch2.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    expected = [batch1.shape[0], batch1.shape[2]]
    if list(batch2.shape[:2]) != expected:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: "
            f"{list(batch2.shape[:2])}."
        )
    if batch1.dtype != batch2.dtype:
        raise RuntimeError(f"expected scalar type {type_name(batch1)} but found {type_name(batch2)}")


@declare(
    keyword_only="beta",
    autocast="lower",
    overlap=(ANY_TARGET, ANY_SOURCE),
    variants="function method inplace out",
    derivatives={
        "self": lambda grad, beta: scaled(grad, beta),
        "batch1": lambda grad, batch2, alpha: scaled(bmm(grad, conj(batch2.transpose(1, 2))), alpha),
        "batch2": lambda grad, batch1, alpha: scaled(bmm(conj(batch1.transpose(1, 2)), grad), alpha),
    },
)
def baddbmm(xp: Any, self: Array, batch1: Array, batch2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """β self + α batch1 @ batch2: (b, n, m), (b, m, p) → (b, n, p), to which self broadcasts.

    Raises RuntimeError for other sizes or different dtypes.
    """
    check_batches(batch1, batch2)
    check_expands(self, (batch1.shape[0], batch1.shape[1], batch2.shape[2]))
    return plus(self, product_in_single(xp, batch1, batch2), beta, alpha)


@declare(
    keyword_only="beta",
    autocast="lower",
    overlap=(ANY_SOURCE,),
    variants="function method inplace out",
    derivatives={
        "self": lambda grad, beta: scaled(grad, beta),
        "batch1": lambda grad, batch2, alpha: scaled(_each(grad, batch2).bmm(conj(batch2.transpose(1, 2))), alpha),
        "batch2": lambda grad, batch1, alpha: scaled(conj(batch1.transpose(1, 2)).bmm(_each(grad, batch1)), alpha),
    },
)
def addbmm(xp: Any, self: Array, batch1: Array, batch2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """β self + α Σᵢ batch1ᵢ @ batch2ᵢ: (b, n, m), (b, m, p) → (n, p), to which self broadcasts.

    Raises RuntimeError for other sizes or different dtypes.
    """
    check_batches(batch1, batch2)
    check_expands(self, (batch1.shape[1], batch2.shape[2]))
    count, rows, inner = batch1.shape
    left = batch1.transpose(1, 0, 2).reshape(rows, count * inner)
    right = batch2.reshape(count * inner, batch2.shape[2])
    return plus(self, product_in_single(xp, left, right), beta, alpha)


def _each(grad: Tensor, batch: Tensor) -> Tensor:
    return grad.unsqueeze(0).expand((batch.shape[0], *grad.shape))
