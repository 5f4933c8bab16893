"""A matrix row by row: the elements that are not zero, their columns, and where each row begins.

As in `coo`, gradients go to the values. Source: https://pytorch.org/docs/stable/sparse.html#sparse-csr-tensor
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.dispatch.declaration import composite
from minitorch.dtypes import bool_, get_default_dtype, int64
from minitorch.dtypes import dtype as DType
from minitorch.layout import layout, sparse_coo, sparse_csr
from minitorch.ops.creation.data import as_tensor
from minitorch.ops.indexing.joining import stack
from minitorch.printing import _append_suffixes as appended
from minitorch.printing import _contents as contents
from minitorch.size import Size
from minitorch.sparse.coo import SparseTensor
from minitorch.sparse.matrix import SparseMatrix
from minitorch.tensor import Tensor
from minitorch.warn_once import warn_once

_BETA = (
    "Sparse CSR tensor support is in beta state. If you miss a functionality in the sparse tensor support, please "
    "submit a feature request to https://github.com/pytorch/pytorch/issues."
)
_FUNCTIONS = ("abs", "matmul", "mm", "mul", "mv", "neg", "sum")
"""The functions that are the methods of the same name."""


class SparseCsrTensor(SparseMatrix):
    """A sparse matrix (m, n): row i has the listed elements from `crow_indices()[i]` to `crow_indices()[i + 1]`.

    It is not a Tensor: what it can do is here. Gradients go to the values; those of a dense matrix, from
    `to_sparse_csr`, are zero where it isn't listed, where PyTorch has what a dense product would give.
    """

    layout: layout = sparse_csr
    is_sparse, is_sparse_csr = False, True

    def __init__(self, begins: Tensor, columns: Tensor, values: Tensor, shape: Sequence[int], made_by: str) -> None:
        self._begins, self._columns, self._numbers = begins, columns, values
        self.shape, self._made_by = Size(shape), made_by
        warn_once(_BETA)

    def numel(self) -> int:
        """How many elements the dense matrix has."""
        return self.shape.numel()

    def crow_indices(self) -> Tensor:
        """Where each row begins in the lists, and the end of the last: (m + 1) of int64."""
        return self._begins

    def col_indices(self) -> Tensor:
        """The column of each listed element: (nnz) of int64."""
        return self._columns

    def values(self) -> Tensor:
        """The listed elements: (nnz)."""
        return self._numbers

    def to_sparse_coo(self) -> SparseTensor:
        """The same matrix with the row of each element."""
        rows = self._begins.new_tensor(range(self.shape[0])).repeat_interleave(self._begins.diff())
        return SparseTensor(stack([rows, self._columns]), self._numbers, self.shape, True, "ToSparseBackward0")

    def to_sparse(self, sparse_dim: int | None = None, *, layout: Any = None) -> Any:
        """In coordinates, or itself where `layout` is its own. Raises NotImplementedError for any other."""
        if layout is sparse_csr:
            return self
        if layout not in (None, sparse_coo) or sparse_dim not in (None, 2):
            raise NotImplementedError(
                "to_sparse: only matrices with the layouts sparse_coo and sparse_csr are supported"
            )
        return self.to_sparse_coo()

    def to_sparse_csr(self) -> SparseCsrTensor:
        return self

    def to_dense(self) -> Tensor:
        return self.to_sparse_coo().to_dense()

    def detach(self) -> SparseCsrTensor:
        return self._with(Tensor.detach, "")

    def clone(self) -> SparseCsrTensor:
        lists = (self._begins.clone(), self._columns.clone(), self._numbers.clone())
        return SparseCsrTensor(*lists, self.shape, "CloneBackward0")

    def abs(self) -> SparseCsrTensor:
        return self._with(Tensor.abs, "AbsBackward0")

    def neg(self) -> SparseCsrTensor:
        return self._with(Tensor.neg, "NegBackward0")

    def sum(self, *, dtype: DType | None = None) -> Tensor:
        """The sum of all elements."""
        total: Tensor = self._numbers.sum(dtype=dtype)
        return total

    def mul(self, number: Any) -> SparseCsrTensor:
        """Every element times a number. Raises NotImplementedError for a matrix."""
        if isinstance(number, (Tensor, SparseTensor, SparseCsrTensor)) and number.dim():
            raise NotImplementedError("mul: a sparse CSR matrix can be multiplied by a number only")
        return self._with(lambda values: values * number, "MulBackward0")

    def matmul(self, other: Tensor) -> Tensor:
        """The product with a dense matrix or vector. Raises RuntimeError for sizes that don't fit."""
        rows, columns = self.shape
        if other.dim() == 1 and len(other) != columns:
            raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({len(other)})")
        if other.shape[0] != columns:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({rows}x{columns} and {other.shape[0]}x{other.shape[1]})"
            )
        return self.to_sparse_coo() @ other

    mm = mv = __matmul__ = matmul
    __abs__, __neg__, __mul__, __rmul__ = abs, neg, mul, mul

    def __len__(self) -> int:
        return self.shape[0]

    def _with(self, function: Callable[[Tensor], Tensor], made_by: str) -> SparseCsrTensor:
        """Other elements in the same places."""
        return SparseCsrTensor(self._begins, self._columns, function(self._numbers), self.shape, made_by)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """torch.matmul, torch.abs and others are the methods of the same name."""
        if function.__name__ not in _FUNCTIONS or not isinstance(args[0], cls):
            return NotImplemented
        return getattr(args[0], function.__name__)(*args[1:], **kwargs or {})

    def __repr__(self) -> str:
        def shown(name: str, tensor: Tensor) -> str:
            size = "" if tensor.numel() else f", size={tuple(tensor.shape)}"
            return f"{name}=tensor({contents(tensor.detach(), len(name) + 15)}{size})"

        lists = {"crow_indices": self._begins, "col_indices": self._columns, "values": self._numbers}
        suffixes = [f"device='{self.device}'"] if self.device.type != "cpu" else []
        suffixes += [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
        if self.dtype not in (get_default_dtype(), get_default_dtype().to_complex(), int64, bool_):
            suffixes.append(f"dtype={self.dtype}")
        suffixes.append(f"layout={self.layout}")
        if self.requires_grad:
            suffixes.append(f"grad_fn=<{self._made_by}>")
        return appended("tensor(" + f",\n{' ' * 7}".join(shown(*each) for each in lists.items()), suffixes, 7)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseCsrTensor:
    """The matrix whose row i has `values[crow_indices[i] : crow_indices[i + 1]]` in the columns of the same place.

    By default it has as many columns as these need. Raises RuntimeError for indices that describe no matrix, always:
    `check_invariants` changes nothing. Raises NotImplementedError for batches, and for `requires_grad`: give it values
    that require a gradient. https://pytorch.org/docs/stable/generated/torch.sparse_csr_tensor.html
    """
    if requires_grad:
        raise NotImplementedError("sparse_csr_tensor: requires_grad is not supported; the values may require one")
    begins, columns = (as_tensor(each, device=device).to(int64) for each in (crow_indices, col_indices))
    numbers = as_tensor(values, dtype=dtype, device=device)
    if not begins.dim() == columns.dim() == numbers.dim() == 1 or (size is not None and len(size) != 2):
        raise NotImplementedError("sparse_csr_tensor: only matrices are supported: three lists")
    shape = size if size is not None else (len(begins) - 1, int(columns.max()) + 1 if len(columns) else 0)
    steps = begins.diff()
    if (
        len(begins) != shape[0] + 1
        or int(begins[0])
        or int(begins[-1]) != len(columns)
        or len(columns) != len(numbers)
        or bool((steps < 0).any())
        or bool(((columns < 0) | (columns >= shape[1])).any())
    ):
        raise RuntimeError(
            f"sparse_csr_tensor: the indices describe no matrix of size {tuple(shape)}: crow_indices must begin "
            "with 0, not fall, have a number for each row and one more, and end with the number of values"
        )
    return SparseCsrTensor(begins, columns, numbers, shape, "")


@composite(variants="method")
def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> SparseCsrTensor:
    """The elements of a dense matrix that are not zero, row by row. Raises NotImplementedError for a batch.

    https://pytorch.org/docs/stable/generated/torch.Tensor.to_sparse_csr.html
    """
    if input.dim() != 2 or dense_dim not in (None, 0):
        raise NotImplementedError("to_sparse_csr: only matrices are supported")
    rows, columns = input.detach().nonzero().unbind(1)
    return SparseCsrTensor(_begins(rows, input.shape[0]), columns, input[rows, columns], input.shape, _MADE_BY)


_MADE_BY = "ToSparseCsrBackward0"


def from_coo(matrix: SparseTensor) -> SparseCsrTensor:
    """A matrix in coordinates, row by row."""
    of = matrix.coalesce()
    rows, columns = of.indices().unbind()
    return SparseCsrTensor(_begins(rows, of.shape[0]), columns, of.values(), of.shape, _MADE_BY)


SparseTensor.to_sparse_csr = from_coo


def _begins(rows: Tensor, count: int) -> Tensor:
    """Where each row begins in a list that is in order, and the end."""
    ends: Tensor = rows.bincount(minlength=count).cumsum(0)
    padded = ends.new_zeros(count + 1)
    padded[1:] = ends
    return padded
