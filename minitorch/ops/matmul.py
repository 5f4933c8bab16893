"""Matrix products.

Source: https://pytorch.org/docs/stable/torch.html#blas-and-lapack-operations
"""

from __future__ import annotations

from math import prod
from typing import Any

from minitorch.backend import Array
from minitorch.dtypes import C_NAMES
from minitorch.ops.apply import write_out
from minitorch.ops.declaration import KEEP, composite, declare
from minitorch.ops.errors import broadcast_clash
from minitorch.ops.pointwise import conj
from minitorch.sampling.fill import NAMES
from minitorch.tensor import Tensor

Number = Any


def type_name(array: Array) -> str:
    """PyTorch's name of an element type in errors, such as "Float"."""
    return NAMES[array.dtype].scalar


def c_type_name(array: Array) -> str:
    """PyTorch's other name of an element type, as C++ has it: "float"."""
    return C_NAMES[array.dtype.name]


def product(xp: Any, a: Array, b: Array) -> Array:
    """a @ b for matrices or batches of matrices; two-byte floats are summed in float32."""
    if a.dtype.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    if a.dtype.itemsize == 2 and a.dtype.kind != "i":
        return product(xp, a.astype("f4"), b.astype("f4")).astype(a.dtype)
    if a.ndim == b.ndim == 2:
        return xp.dot(a, b)
    return xp.matmul(for_blas(xp, a), for_blas(xp, b))


def for_blas(xp: Any, matrices: Array) -> Array:
    """The same matrices where BLAS can read them, in rows or in columns: NumPy multiplies others element by element."""
    row, column = matrices.strides[-2:]
    rows, columns = matrices.shape[-2:]
    item = matrices.itemsize
    if (column == item and row >= columns * item) or (row == item and column >= rows * item):
        return matrices
    return xp.ascontiguousarray(matrices)


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
    variants="",
    node="MmBackward0",
    derivatives={
        "grad_": lambda grad, right: mm(grad, right),
        "right": lambda grad, grad_: mm(conj(grad.t()), grad_),
    },
)
def mm_left_backward(xp: Any, grad_: Array, right: Array, transposed: bool) -> Array:
    """grad @ rightᴴ, laid out as the left factor: a transposed weight's then becomes its `.grad` without a copy."""
    return product(xp, right.conj(), grad_.T).T if transposed else product(xp, grad_, right.conj().T)


@declare(
    variants="",
    node="MmBackward0",
    derivatives={
        "grad_": lambda grad, left: mm(left, grad),
        "left": lambda grad, grad_: mm(grad_, conj(grad.t())),
    },
)
def mm_right_backward(xp: Any, grad_: Array, left: Array, transposed: bool) -> Array:
    """leftᴴ @ grad, laid out as the right factor is."""
    return product(xp, grad_.T, left.conj()).T if transposed else product(xp, left.conj().T, grad_)


def left_gradient(grad: Tensor, shape: tuple[int, ...], stride: tuple[int, ...], right: Tensor) -> Tensor:
    return mm_left_backward(grad, right, is_transposed(shape, stride))


def right_gradient(grad: Tensor, shape: tuple[int, ...], stride: tuple[int, ...], left: Tensor) -> Tensor:
    return mm_right_backward(grad, left, is_transposed(shape, stride))


@declare(
    variants="function method out",
    derivatives={
        "self": lambda grad, self_shape, self_stride, mat2: left_gradient(grad, self_shape, self_stride, mat2),
        "mat2": lambda grad, mat2_shape, mat2_stride, self: right_gradient(grad, mat2_shape, mat2_stride, self),
    },
)
def mm(xp: Any, self: Array, mat2: Array) -> Array:
    """The product of two matrices, (n, m) @ (m, p). https://pytorch.org/docs/stable/generated/torch.mm.html"""
    check_matrix("self", self)
    check_matrix("mat2", mat2)
    check_product(self, mat2)
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_type_name(self)} != {c_type_name(mat2)}"
        )
    return product(xp, self, mat2)


@declare(
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
def addmm(xp: Any, self: Array, mat1: Array, mat2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """β self + α mat1 @ mat2. https://pytorch.org/docs/stable/generated/torch.addmm.html"""
    if mat1.ndim != 2:
        raise RuntimeError(f"mat1 must be a matrix, got {mat1.ndim}-D tensor")
    if mat2.ndim != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {mat2.ndim}-D tensor")
    check_product(mat1, mat2)
    check_expands(self, (mat1.shape[0], mat2.shape[1]))
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {type_name(mat1)} and {type_name(mat2)}")
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {type_name(self)} and {type_name(mat2)}")
    return plus(self, product(xp, mat1, mat2), beta, alpha)


def plus(self: Array, product: Array, beta: Number, alpha: Number) -> Array:
    """β self + α product, in the memory of the product. With β = 0, NaN and infinity in `self` are ignored."""
    if alpha != 1:
        product *= product.dtype.type(alpha)
    if beta == 1:
        product += self
    elif beta != 0:
        product += self * self.dtype.type(beta)
    return product


def check_expands(array: Array, shape: tuple[int, ...]) -> None:
    """Raises RuntimeError unless an array can be expanded to a shape."""
    if array.ndim > len(shape):
        raise RuntimeError(
            f"expand({{{list(array.shape)}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) must "
            "be greater "
            f"or equal to the number of dimensions in the tensor ({array.ndim})"
        )
    missing = len(shape) - array.ndim
    for dim in range(len(shape) - 1, missing - 1, -1):
        size = array.shape[dim - missing]
        if size not in (1, shape[dim]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[dim]}) must match the existing size ({size}) at "
                "non-singleton "
                f"dimension {dim}.  Target sizes: {list(shape)}.  Tensor sizes: {list(array.shape)}"
            )


@declare(
    variants="function method out",
    derivatives={
        "self": lambda grad, mat2: bmm(grad, conj(mat2.transpose(1, 2))),
        "mat2": lambda grad, self: bmm(conj(self.transpose(1, 2)), grad),
    },
)
def bmm(xp: Any, self: Array, mat2: Array) -> Array:
    """The products of two batches of matrices, (b, n, m) @ (b, m, p).

    https://pytorch.org/docs/stable/generated/torch.bmm.html
    """
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
    variants="function method inplace out",
    derivatives={
        "self": lambda grad, beta: scaled(grad, beta),
        "batch1": lambda grad, batch2, alpha: scaled(bmm(grad, conj(batch2.transpose(1, 2))), alpha),
        "batch2": lambda grad, batch1, alpha: scaled(bmm(conj(batch1.transpose(1, 2)), grad), alpha),
    },
)
def baddbmm(xp: Any, self: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """β self + α batch1 @ batch2. https://pytorch.org/docs/stable/generated/torch.baddbmm.html"""
    check_batches(batch1, batch2)
    check_expands(self, (batch1.shape[0], batch1.shape[1], batch2.shape[2]))
    return plus(self, product(xp, batch1, batch2), beta, alpha)


@declare(
    variants="function method inplace out",
    derivatives={
        "self": lambda grad, beta: scaled(grad, beta),
        "batch1": lambda grad, batch2, alpha: scaled(_each(grad, batch2).bmm(conj(batch2.transpose(1, 2))), alpha),
        "batch2": lambda grad, batch1, alpha: scaled(conj(batch1.transpose(1, 2)).bmm(_each(grad, batch1)), alpha),
    },
)
def addbmm(xp: Any, self: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """β self + α Σᵢ batch1ᵢ @ batch2ᵢ. https://pytorch.org/docs/stable/generated/torch.addbmm.html"""
    check_batches(batch1, batch2)
    check_expands(self, (batch1.shape[1], batch2.shape[2]))
    left = batch1.transpose(1, 0, 2).reshape(batch1.shape[1], -1)
    return plus(self, product(xp, left, batch2.reshape(left.shape[1], -1)), beta, alpha)


def _each(grad: Tensor, batch: Tensor) -> Tensor:
    return grad.unsqueeze(0).expand((batch.shape[0], *grad.shape))


@declare(
    variants="function method out",
    derivatives={
        "self": lambda grad, vec: grad.outer(conj(vec)),
        "vec": lambda grad, self: mv(conj(self.t()), grad),
    },
)
def mv(xp: Any, self: Array, vec: Array) -> Array:
    """The product of a matrix and a vector, (n, m) @ (m). https://pytorch.org/docs/stable/generated/torch.mv.html"""
    _check_mv(xp, vec[:0], self, vec, 0)
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
    return plus(self, product(xp, mat, vec[:, None])[:, 0], beta, alpha)


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
    _check_dot("dot", self, tensor)
    return product(xp, self[None], tensor[:, None])[0, 0]


@declare(
    variants="function method out",
    derivatives={"self": lambda grad, other: conj(grad) * other, "other": lambda grad, self: grad * self},
)
def vdot(xp: Any, self: Array, other: Array) -> Array:
    """Σ conj(selfᵢ) · otherᵢ of two vectors. https://pytorch.org/docs/stable/generated/torch.vdot.html"""
    _check_dot("vdot", self, other)
    return product(xp, xp.conj(self)[None] if self.dtype.kind == "c" else self[None], other[:, None])[0, 0]


def _check_dot(name: str, self: Array, other: Array) -> None:
    if self.ndim != 1 or other.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {other.ndim}D tensors")
    if self.dtype != other.dtype:
        raise RuntimeError(
            f"{name} : expected both vectors to have same dtype, but found {type_name(self)} and {type_name(other)}"
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
    return plus(self, vec1[:, None] * vec2, beta, alpha)


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
    product = mm(input.reshape(-1, size), other.reshape(-1, size).t())
    return product.view(*input.shape[:-1], *other.shape[:-1])


@declare(
    derivatives={"self": lambda grad, self_shape: grad.reshape(self_shape)}, variants="", node="UnsafeViewBackward0"
)
def unsafe_view(xp: Any, self: Array, size: tuple[int, ...]) -> Array:
    """A reshape of a result that nobody else sees, so that it need not count as a view."""
    return self.reshape(size)


@composite()
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product with NumPy's rules: vectors are rows or columns, leading dimensions are batches and broadcast.

    https://pytorch.org/docs/stable/generated/torch.matmul.html
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"matmul(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    if out is not None:
        return write_out("matmul", out, matmul(input, other))
    m, n = input._array.ndim, other._array.ndim
    if m == n == 2:
        return mm(input, other)
    if not m or not n:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D")
    if m == n == 1:
        return dot(input, other)
    if m == 2 and n == 1:
        return mv(input, other)
    if m == 1 and n == 2:
        return mm(input.unsqueeze(0), other).squeeze_(0)
    if _folds(input, other):
        return _folded(input, other)
    return _batched(input, other)


def _folds(input: Tensor, other: Tensor) -> bool:
    """Whether one product of matrices does it: the batch is on one side, and can be read as more rows."""
    small, large = (other, input) if input.dim() >= other.dim() else (input, other)
    if small.dim() > 2:
        return False
    if small.requires_grad:  # its gradient would otherwise be as large as the batch
        return True
    if input.dim() == 2:
        return False
    if large is other:
        large = large.transpose(-1, -2)
    strides, shape = large.stride(), large.shape
    return not large.numel() or all(strides[d] == strides[d + 1] * shape[d + 1] for d in range(len(shape) - 2))


def _folded(input: Tensor, other: Tensor) -> Tensor:
    swapped = input.dim() < other.dim()  # (B Aᵀ)ᵀ, so that the batch is on the left
    large, small = (other.transpose(-1, -2), input.t() if input.dim() == 2 else input) if swapped else (input, other)
    rows = large.reshape(-1, large.shape[-1])
    if small.dim() == 1:
        return unsafe_view(mv(rows, small), large.shape[:-1])
    result = unsafe_view(mm(rows, small), (*large.shape[:-1], small.shape[-1]))
    return result.transpose(-1, -2).contiguous() if swapped else result


def _batched(input: Tensor, other: Tensor) -> Tensor:
    rows, inside = (input.shape[-2] if input.dim() > 1 else 1), input.shape[-1]
    columns = other.shape[-1] if other.dim() > 1 else 1
    batch1, batch2 = tuple(input.shape[:-2]), tuple(other.shape[:-2])
    clash = broadcast_clash(batch1, batch2)
    if clash is not None:
        raise clash
    batch = _broadcast(batch1, batch2)
    count = prod(batch)
    left = input.expand(*batch, rows, inside).reshape(count, rows, inside)
    right = other.unsqueeze(1) if other.dim() == 1 else other
    right = right.expand(*batch, *right.shape[-2:]).reshape(count, *right.shape[-2:])
    kept = ([rows] if input.dim() > 1 else []) + ([columns] if other.dim() > 1 else [])
    return unsafe_view(bmm(left, right), (*batch, *kept))


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    length = max(len(a), len(b))
    a, b = (1,) * (length - len(a)) + a, (1,) * (length - len(b)) + b
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


@composite(variants="", operators="__matmul__")
def matmul_operator(self: Tensor, other: Tensor) -> Tensor:
    """self @ other."""
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


@composite(variants="function", namespace="nn.functional")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weightᵀ + bias: (…, in_features) → (…, out_features).

    https://pytorch.org/docs/stable/generated/torch.nn.functional.linear.html
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"linear(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if bias is None or weight._array.ndim != 2:
        result = matmul(input, weight.t())
        return result if bias is None else result + bias
    ndim = input._array.ndim
    if ndim == 2:
        return addmm(bias, input, weight.t())
    if input.is_contiguous() and ndim:
        rows = addmm(bias, input.view(-1, input.shape[-1]), weight.t())
        return rows.view(*input.shape[:-1], weight.shape[0])
    return matmul(input, weight.t()) + bias
