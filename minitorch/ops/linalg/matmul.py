"""matmul, the product that takes vectors, matrices and batches, and linear, which layers are made of.

Both are made of other products, and so are their gradients: `matrix_products.py` has those of `mm` and `bmm`,
`vector_products.py` those of `dot` and `mv`.
Source: https://pytorch.org/docs/stable/torch.html#blas-and-lapack-operations
"""

from __future__ import annotations

from math import prod

from minitorch.dispatch.apply import write_out
from minitorch.dispatch.declaration import METHODS, NAMESPACES, composite
from minitorch.dispatch.errors import broadcast_clash
from minitorch.ops.linalg.matrix_products import addmm, bmm, mm
from minitorch.ops.linalg.vector_products import dot, mv
from minitorch.ops.views.broadcasting import broadcast_shapes
from minitorch.ops.views.shape import unsafe_view
from minitorch.tensor import Tensor


@composite(autocast="lower")
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """(…, n, m) @ (…, m, p) → (…, n, p), or of vectors (m,); batches broadcast. Raises RuntimeError for other sizes."""
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
    if m == n == 3 and len(input) != len(other):  # a batch of one is a matrix, if it needs a gradient
        input, other = (x.squeeze(0) if len(x) == 1 and x.requires_grad else x for x in (input, other))
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
    rows = large.reshape(prod(large.shape[:-1]), large.shape[-1])
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
    batch = broadcast_shapes(batch1, batch2)
    count = prod(batch)
    left = input.expand(*batch, rows, inside).reshape(count, rows, inside)
    right = other.unsqueeze(1) if other.dim() == 1 else other
    right = right.expand(*batch, *right.shape[-2:]).reshape(count, *right.shape[-2:])
    kept = ([rows] if input.dim() > 1 else []) + ([columns] if other.dim() > 1 else [])
    return unsafe_view(bmm(left, right), (*batch, *kept))


NAMESPACES["linalg"]["matmul"] = matmul


@composite(variants="", operators="__matmul__", asks=False)
def matmul_operator(self: Tensor, other: Tensor) -> Tensor:
    """self @ other."""
    return METHODS["matmul"](self, other) if isinstance(other, Tensor) else NotImplemented


@composite(autocast="lower", variants="function out", namespace="nn.functional")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weightᵀ + bias: (…, in_features) → (…, out_features)."""
    if not isinstance(input, Tensor):
        raise TypeError(f"linear(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not input._array.ndim or not weight._array.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.dim()}D and {weight.dim()}D"
        )
    if bias is None or weight._array.ndim != 2:
        result = matmul(input, weight.t())
        return result if bias is None else result + bias
    ndim = input._array.ndim
    if ndim == 2:
        return addmm(bias, input, weight.t())
    if input.is_contiguous() and ndim:
        rows = addmm(bias, input.view(prod(input.shape[:-1]), input.shape[-1]), weight.t())
        return rows.view(*input.shape[:-1], weight.shape[0])
    return matmul(input, weight.t()) + bias
