"""A matrix as the list of its elements that are not zero. https://pytorch.org/docs/stable/sparse.html#sparse-coo-docs

The values are an ordinary tensor, and everything here is made of ordinary operations on them. So gradients follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.dispatch.declaration import composite
from minitorch.dispatch.errors import cannot_cast
from minitorch.dispatch.promotion import is_number
from minitorch.dtypes import bool_, can_cast, get_default_dtype, int64
from minitorch.dtypes import dtype as DType
from minitorch.layout import layout, sparse_coo, sparse_csr
from minitorch.ops.creation.data import as_tensor
from minitorch.ops.indexing.joining import cat, stack
from minitorch.ops.pointwise.arithmetic import add
from minitorch.ops.pointwise.division import div
from minitorch.ops.reduction.counting import searchsorted, unique
from minitorch.printing import _contents as contents
from minitorch.size import Size
from minitorch.sparse.matrix import SparseMatrix
from minitorch.tensor import Tensor

_WIDTH = 80
_FUNCTIONS: dict[str, tuple[str, str]] = {
    "add": ("add", ""),
    "sub": ("sub", ""),
    "subtract": ("sub", ""),
    "mul": ("mul", "mul"),
    "div": ("div", "__rtruediv__"),
    "true_divide": ("div", "__rtruediv__"),
    "floor_divide": ("floor_divide", "__rfloordiv__"),
    "pow": ("pow", "__rpow__"),
}
"""What a function of two operands is called if the first is sparse, and if only the second is: nothing for a sum."""
_OF_ONE = ("abs", "absolute", "sum")
"""Functions of one sparse matrix."""


class SparseTensor(SparseMatrix):
    """A sparse matrix: `_indices()` (2, n) and `_values()` (n). Elements named twice are added up.

    It is not a Tensor: what it can do is here. Gradients go to the values, and from `to_sparse` to the dense matrix.
    """

    layout: layout = sparse_coo
    is_sparse = True

    def __init__(self, indices: Tensor, values: Tensor, shape: Sequence[int], coalesced: bool, made_by: str) -> None:
        self._at, self._numbers = indices, values
        self.shape, self._coalesced, self._made_by = Size(shape), coalesced, made_by

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
        width = max(self.shape[1], 1)
        places, number = unique(self._places(), return_inverse=True)
        values = self._numbers.new_zeros(len(places)).index_add(0, number, self._numbers)
        indices = stack([places // width, places % width])
        return SparseTensor(indices, values, self.shape, True, "CoalesceBackward0")

    def to_dense(self) -> Tensor:
        rows, columns = self._at.unbind()
        result: Tensor = self._numbers.new_zeros(self.shape).index_put((rows, columns), self._numbers, accumulate=True)
        return result

    to_sparse_csr: Callable[[SparseTensor], Any]
    """The same matrix row by row, each place named once; see `csr`."""

    def t(self) -> SparseTensor:
        """The transpose. Its elements lie column by column, so that it is not coalesced."""
        return SparseTensor(self._at.flip(0), self._numbers, self.shape[::-1], False, "TBackward0")

    def detach(self) -> SparseTensor:
        return SparseTensor(self._at, self._numbers.detach(), self.shape, self._coalesced, "")

    def add(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        """The sum with `alpha` times another sparse matrix, coalesced if both are.

        Raises RuntimeError for other shapes, and for a dense matrix, which has to come first.
        """
        return self._merged(other, alpha, "AddBackward0")

    def sub(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        """The difference, as `add` gives the sum."""
        return self._merged(other, -alpha, "SubBackward0")

    def _merged(self, other: Any, alpha: Any, made_by: str) -> SparseTensor:
        if not isinstance(other, SparseTensor):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        if self.shape != other.shape:
            raise RuntimeError(
                f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != {list(other.shape)}"
            )
        kind = add(self._numbers[:0], other._numbers[:0], alpha=alpha).dtype
        is_coalesced = self._coalesced and other._coalesced
        if is_coalesced:
            places, number = unique(cat([self._places(), other._places()]), return_inverse=True)
        else:
            places, number = _in_turn(self._places(), other._places())
        ours, theirs = number[: self._nnz()], number[self._nnz() :]
        numbers = self._numbers.new_zeros(len(places), dtype=kind).index_add(0, ours, self._numbers.to(kind))
        numbers = numbers.index_add(0, theirs, other._numbers.to(kind) * alpha)
        width = max(self.shape[1], 1)
        return SparseTensor(stack([places // width, places % width]), numbers, self.shape, is_coalesced, made_by)

    def abs(self) -> SparseTensor:
        """The size of every element; coalesced."""
        of = self.coalesce()
        return of._with_values(of._numbers.abs(), "AbsBackward0")

    def sum(self, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
        """The sum of all elements. Raises NotImplementedError for one dimension: it would be a sparse vector."""
        if keepdim or (dim is not None and (isinstance(dim, int) or {each % 2 for each in dim} != {0, 1})):
            raise NotImplementedError("sum: only the sum of all elements of a sparse matrix is supported")
        total: Tensor = self._numbers.sum(dtype=dtype)
        return total

    def mul(self, other: Any) -> SparseTensor:
        """Every element times a number, or times the element of a dense or sparse matrix in its place.

        A dense one may be broadcast. Of two coalesced ones the result has the places that both list. Raises
        RuntimeError for other shapes.
        """
        if isinstance(other, SparseTensor):
            return self._intersected(other)
        if isinstance(other, Tensor) and other.dim():
            other = other.broadcast_to(self.shape)[tuple(self._at)]
        return self._with_values(self._numbers * other, "MulBackward0")

    def _intersected(self, other: SparseTensor) -> SparseTensor:
        """Element by element in the places of the matrix that isn't coalesced, if there is one."""
        if self.shape != other.shape:
            raise RuntimeError(
                "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of "
                "sparse dimensions, and shape of sparse dimensions"
            )
        one, two = (self, other) if other._coalesced or not self._coalesced else (other, self)
        two = two.coalesce()
        places, theirs = one._places(), two._places()
        if not len(theirs):  # nothing is found in it
            return SparseTensor(one._at[:, :0], one._numbers[:0] * two._numbers, self.shape, True, "MulBackward0")
        where = searchsorted(theirs, places).clamp(max=len(theirs) - 1)
        found = theirs[where] == places
        if one._coalesced:
            at, numbers, where = one._at[:, found], one._numbers[found], where[found]
            return SparseTensor(at, numbers * two._numbers[where], self.shape, True, "MulBackward0")
        return one._with_values((one._numbers * two._numbers[where]).masked_fill(~found, 0), "MulBackward0")

    def _places(self) -> Tensor:
        """One number for each place, in the order of a coalesced matrix."""
        rows, columns = self._at.unbind()
        return rows * max(self.shape[1], 1) + columns

    def div(self, other: Any, *, rounding_mode: str | None = None) -> SparseTensor:
        """Every element divided by a number, or a tensor of no dimensions. Raises RuntimeError for other tensors."""
        of = self.coalesce() if rounding_mode else self
        numbers = div(of._numbers, _divisor("division", other), rounding_mode=rounding_mode)
        return of._with_values(numbers, "DivBackward1" if rounding_mode else "DivBackward0")

    def floor_divide(self, other: Any) -> SparseTensor:
        """`div` rounded down."""
        return self.div(_divisor("floor division", other), rounding_mode="floor")

    def pow(self, exponent: Any) -> SparseTensor:
        """Every element to the power of a number other than 0, in the elements' type; coalesced."""
        if isinstance(exponent, (Tensor, SparseTensor)):
            raise _cant_run("pow.Tensor_Tensor")
        if exponent == 0:
            message = "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense"
            raise RuntimeError(message)
        of = self.coalesce()
        numbers = of._numbers**exponent
        if not can_cast(numbers.dtype, of.dtype):
            raise cannot_cast(numbers.dtype, of.dtype)
        return of._with_values(numbers, "PowBackward0")

    __add__, subtract, __sub__, absolute, __abs__ = add, sub, sub, abs, abs
    multiply = __mul__ = __rmul__ = mul
    true_divide = divide = __truediv__ = div
    __floordiv__, __pow__ = floor_divide, pow

    def __rtruediv__(self, other: Any) -> Any:
        """Raises RuntimeError, or NotImplementedError for a number: there is no dense result."""
        raise _cant_run("reciprocal") if is_number(other) else _no_divisor("division", self)

    def __rfloordiv__(self, other: Any) -> Any:
        """Raises RuntimeError."""
        raise _no_divisor("floor division", self)

    def __rpow__(self, other: Any) -> Any:
        """Raises NotImplementedError."""
        raise _cant_run("pow.Scalar" if is_number(other) else "pow.Tensor_Tensor")

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """torch.mul, torch.abs and others are the methods and operators of the same name."""
        if function.__name__ in _OF_ONE and args:
            return getattr(args[0], function.__name__)(*args[1:], **kwargs or {})
        forms = _FUNCTIONS.get(function.__name__)
        if forms is None or len(args) < 2:
            return NotImplemented
        if isinstance(args[0], cls):
            return getattr(args[0], forms[0])(*args[1:], **kwargs or {})
        return getattr(args[1], forms[1])(args[0]) if forms[1] else NotImplemented

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
            size = "" if tensor.numel() else f", size={tuple(tensor.shape)}"
            return f"{name}=tensor({contents(tensor.detach(), len(name) + 15)}{size}),"

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


def _in_turn(ours: Tensor, theirs: Tensor) -> tuple[Tensor, Tensor]:
    """The places of two lists, always the smaller of the two next ones, and one element for both where these are equal.

    Returns them, and the number of each of ours and each of theirs among them. Of lists that aren't in order, or that
    name a place twice, PyTorch makes the same.
    """
    lists = (ours.tolist(), theirs.tolist())
    places: list[int] = []
    numbers: tuple[list[int], list[int]] = ([], [])
    while next_ones := [mine[len(done)] for mine, done in zip(lists, numbers, strict=True) if len(done) < len(mine)]:
        place = min(next_ones)
        for mine, done in zip(lists, numbers, strict=True):
            if len(done) < len(mine) and mine[len(done)] == place:
                done.append(len(places))
        places.append(place)
    at = ours.new_tensor(places, dtype=int64)
    return at, ours.new_tensor([*numbers[0], *numbers[1]], dtype=int64)


def _divisor(what: str, other: Any) -> Any:
    """A number, or a tensor of no dimensions. Raises RuntimeError for other tensors."""
    if isinstance(other, (Tensor, SparseTensor)) and other.dim():
        raise _no_divisor(what, other)
    return other


def _no_divisor(what: str, other: Tensor | SparseTensor) -> RuntimeError:
    return RuntimeError(
        f"Sparse {what} requires a scalar or zero-dim dense tensor divisor (got shape {list(other.shape)} for divisor)"
    )


def _cant_run(name: str) -> NotImplementedError:
    return NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend.")


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
) -> Any:
    """The elements of a dense matrix that are not zero, in coordinates or row by row.

    Raises NotImplementedError for any other form of sparsity. https://pytorch.org/docs/stable/generated/torch.Tensor.to_sparse.html
    """
    if layout is sparse_csr:
        return input.to_sparse_csr(dense_dim)
    other = blocksize is not None or dense_dim not in (None, 0) or sparse_dim not in (None, 2)
    if other or input.dim() != 2 or layout not in (None, sparse_coo):
        raise NotImplementedError("to_sparse: only matrices with the layouts sparse_coo and sparse_csr are supported")
    at = input.detach().nonzero().t()
    rows, columns = at.unbind()
    return SparseTensor(at, input[rows, columns], input.shape, True, "ToSparseBackward1")


def mm(mat1: SparseTensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix: (m, k) · (k, n) → (m, n). Gradients go to both.

    Σₖ mat1[i, k] · mat2[k, j]: each listed element adds its multiple of a row of `mat2` to a row of the result.
    https://pytorch.org/docs/stable/generated/torch.sparse.mm.html
    """
    if getattr(mat1, "layout", None) is sparse_csr:
        return mat1.matmul(mat2)  # type: ignore[attr-defined]
    if not isinstance(mat1, SparseTensor):
        raise NotImplementedError("sparse.mm: only the product of a sparse and a dense matrix is supported")
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {mat1.shape[1]}, got {mat2.shape[0]}")
    rows, columns = mat1._indices().unbind()
    products = mat1._values().unsqueeze(1) * mat2.index_select(0, columns)
    result: Tensor = mat2.new_zeros((mat1.shape[0], mat2.shape[1])).index_add(0, rows, products)
    return result


def sum(input: SparseTensor, dim: Any = None, dtype: DType | None = None) -> Tensor:
    """The sum of all elements of a sparse matrix. https://pytorch.org/docs/stable/generated/torch.sparse.sum.html"""
    return input.sum(dim, dtype=dtype)
