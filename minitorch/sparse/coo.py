"""A matrix as the list of its elements that are not zero. https://pytorch.org/docs/stable/sparse.html#sparse-coo-docs

The values are an ordinary tensor, and everything here is made of ordinary operations on them. So gradients follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.devices import device as Device
from minitorch.dispatch.declaration import composite
from minitorch.dtypes import bool_, get_default_dtype, int64
from minitorch.dtypes import dtype as DType
from minitorch.layout import layout, sparse_coo
from minitorch.ops.creation.data import as_tensor
from minitorch.ops.indexing.joining import stack
from minitorch.ops.pointwise.arithmetic import add, sub
from minitorch.ops.reduction.counting import unique
from minitorch.printing import _contents as contents
from minitorch.size import Size
from minitorch.tensor import Tensor

_WIDTH = 80


class SparseTensor:
    """A sparse matrix: `_indices()` (2, n) and `_values()` (n). Elements named twice are added up.

    It is not a Tensor: what it can do is here. Gradients go to the values, and from `to_sparse` to the dense matrix.
    """

    layout: layout = sparse_coo
    is_sparse = True

    def __init__(self, indices: Tensor, values: Tensor, shape: Sequence[int], coalesced: bool, made_by: str) -> None:
        self._at, self._numbers = indices, values
        self.shape, self._coalesced, self._made_by = Size(shape), coalesced, made_by

    @property
    def dtype(self) -> DType:
        return self._numbers.dtype

    @property
    def device(self) -> Device:
        return self._numbers.device

    @property
    def requires_grad(self) -> bool:
        return self._numbers.requires_grad

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return 2

    def _nnz(self) -> int:
        """How many elements are listed."""
        return len(self._numbers)

    def _indices(self) -> Tensor:
        return self._at

    def _values(self) -> Tensor:
        return self._numbers

    def is_coalesced(self) -> bool:
        return self._coalesced

    def indices(self) -> Tensor:
        """Rows and columns, in order, (2, n) of int64. Raises RuntimeError before `coalesce()`."""
        return self._of_coalesced("indices", self._at)

    def values(self) -> Tensor:
        """The elements at the indices. Raises RuntimeError before `coalesce()`."""
        return self._of_coalesced("values", self._numbers)

    def _of_coalesced(self, what: str, tensor: Tensor) -> Tensor:
        if not self._coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")
        return tensor

    def coalesce(self) -> SparseTensor:
        """The same matrix with each place named once, row by row."""
        if self._coalesced:
            return self
        rows, columns = self._at.unbind()
        width = max(self.shape[1], 1)
        places, number = unique(rows * width + columns, return_inverse=True)
        values = self._numbers.new_zeros(len(places)).index_add(0, number, self._numbers)
        indices = stack([places // width, places % width])
        return SparseTensor(indices, values, self.shape, True, "CoalesceBackward0")

    def to_dense(self) -> Tensor:
        rows, columns = self._at.unbind()
        result: Tensor = self._numbers.new_zeros(self.shape).index_put((rows, columns), self._numbers, accumulate=True)
        return result

    def t(self) -> SparseTensor:
        """The transpose. Its elements lie column by column, so that it is not coalesced."""
        return SparseTensor(self._at.flip(0), self._numbers, self.shape[::-1], False, "TBackward0")

    def detach(self) -> SparseTensor:
        return SparseTensor(self._at, self._numbers.detach(), self.shape, self._coalesced, "")

    def __add__(self, other: Any) -> Tensor:
        """Raises RuntimeError: only a dense matrix and a sparse one can be added, in this order."""
        return add(self, other)

    def __sub__(self, other: Any) -> Tensor:
        """Raises RuntimeError, as `+` does."""
        return sub(self, other)

    def mul(self, other: Any) -> SparseTensor:
        """Every element times a number, or a tensor of no dimensions. Raises NotImplementedError for other tensors."""
        if isinstance(other, (Tensor, SparseTensor)) and other.dim():
            raise NotImplementedError("mul: only the product of a sparse matrix and a number is supported")
        return self._with_values(self._numbers * other, "MulBackward0")

    def div(self, other: Any) -> SparseTensor:
        """Every element divided by a number, or a tensor of no dimensions. Raises RuntimeError for other tensors."""
        if isinstance(other, (Tensor, SparseTensor)) and other.dim():
            raise RuntimeError(
                "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                f"{list(other.shape)} for divisor)"
            )
        return self._with_values(self._numbers / other, "DivBackward0")

    __mul__ = __rmul__ = mul
    __truediv__ = div

    def __neg__(self) -> SparseTensor:
        return self._with_values(-self._numbers, "NegBackward0")

    def _with_values(self, values: Tensor, made_by: str) -> SparseTensor:
        """Other elements in the same places."""
        return SparseTensor(self._at, values, self.shape, self._coalesced, made_by)

    def __matmul__(self, other: Tensor) -> Tensor:
        """The product with a dense matrix or vector."""
        if other.dim() == 1:
            return mm(self, other.unsqueeze(1)).squeeze(1)
        return mm(self, other)

    def __repr__(self) -> str:
        def shown(name: str, tensor: Tensor) -> str:
            return f"{name}=tensor({contents(tensor.detach(), len(name) + 15)}),"

        last = f"size={tuple(self.shape)}, nnz={self._nnz()}"
        if self.device.type != "cpu":
            last += f", device='{self.device}'"
        if self.dtype not in (get_default_dtype(), get_default_dtype().to_complex(), int64, bool_):
            last += f", dtype={self.dtype}"
        last += f", layout={self.layout}"
        if self.requires_grad:
            history = f"grad_fn=<{self._made_by}>"
            last += f", {history}" if len(last) + len(history) + 10 <= _WIDTH else f",\n{' ' * 7}{history}"
        return f"tensor({shown('indices', self._at)}\n{' ' * 7}{shown('values', self._numbers)}\n{' ' * 7}{last})"


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """The matrix with `values` (n) at `indices` (2, n), zero elsewhere; by default as small as these allow.

    Raises RuntimeError for indices out of range, always: `check_invariants` changes nothing. Raises NotImplementedError
    for other than matrices and for `requires_grad`: give it values that require a gradient.
    https://pytorch.org/docs/stable/generated/torch.sparse_coo_tensor.html
    """
    if requires_grad:
        raise NotImplementedError("sparse_coo_tensor: requires_grad is not supported; the values may require one")
    at = as_tensor(indices, device=device).to(int64)
    numbers = as_tensor(values, dtype=dtype, device=device)
    if at.dim() != 2 or at.shape[0] != 2 or numbers.dim() != 1 or (size is not None and len(size) != 2):
        raise NotImplementedError("sparse_coo_tensor: only matrices are supported: indices (2, n), values (n)")
    if at.shape[1] != len(numbers):
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {at.shape[1]}, nnz from values: "
            f"{len(numbers)}"
        )
    shape = tuple(size) if size is not None else tuple(int(each.max()) + 1 if len(each) else 0 for each in at)
    for dim, each in enumerate(at if len(numbers) else ()):
        if int(each.min()) < 0:
            raise RuntimeError(f"found negative index {int(each.min())} for dim {dim}")
        if int(each.max()) >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found index "
                f"{int(each.max())}"
            )
    return SparseTensor(at, numbers, shape, bool(is_coalesced), "SparseCooTensorWithDimsAndTensorsBackward0")


@composite(variants="method")
def to_sparse(
    input: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> SparseTensor:
    """The elements of a dense matrix that are not zero. Raises NotImplementedError for any other form of sparsity.

    https://pytorch.org/docs/stable/generated/torch.Tensor.to_sparse.html
    """
    other = blocksize is not None or dense_dim not in (None, 0) or sparse_dim not in (None, 2)
    if other or input.dim() != 2 or layout not in (None, sparse_coo):
        raise NotImplementedError("to_sparse: only matrices with the layout sparse_coo are supported")
    at = input.detach().nonzero().t()
    rows, columns = at.unbind()
    return SparseTensor(at, input[rows, columns], input.shape, True, "ToSparseBackward1")


def mm(mat1: SparseTensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix: (m, k) · (k, n) → (m, n). Gradients go to both.

    Σₖ mat1[i, k] · mat2[k, j]: each listed element adds its multiple of a row of `mat2` to a row of the result.
    https://pytorch.org/docs/stable/generated/torch.sparse.mm.html
    """
    if not isinstance(mat1, SparseTensor):
        raise NotImplementedError("sparse.mm: only the product of a sparse and a dense matrix is supported")
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {mat1.shape[1]}, got {mat2.shape[0]}")
    rows, columns = mat1._indices().unbind()
    products = mat1._values().unsqueeze(1) * mat2.index_select(0, columns)
    result: Tensor = mat2.new_zeros((mat1.shape[0], mat2.shape[1])).index_add(0, rows, products)
    return result
