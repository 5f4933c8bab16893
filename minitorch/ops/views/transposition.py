"""The dimensions of a tensor in another order: views.

Source: https://pytorch.org/docs/stable/tensor_view.html
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array, Dims, Variadic
from minitorch.dispatch import declaration
from minitorch.dispatch.declaration import METHODS, composite
from minitorch.ops.views.shape import alias
from minitorch.size import check_dim, each_dim
from minitorch.tensor import Tensor


@declaration.view(derivatives={"self": lambda grad, dims: permute(grad, _inverse(dims))})
def permute(xp: Any, self: Array, dims: Variadic) -> Array:
    """The dimensions in another order: (a, b, c) → (c, a, b) for (2, 0, 1).

    Raises RuntimeError for another number of dimensions, and for one that is named twice.
    https://pytorch.org/docs/stable/generated/torch.permute.html
    """
    if len(dims) != self.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = each_dim(dims, self.ndim)
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return self.transpose(order)


def _inverse(dims: Sequence[int]) -> list[int]:
    inverse = [0] * len(dims)
    for position, dim in enumerate(dims):
        inverse[dim] = position
    return inverse


@declaration.view(
    aliases="swapaxes swapdims", derivatives={"self": lambda grad, dim0, dim1: transpose(grad, dim0, dim1)}
)
def transpose(xp: Any, self: Array, dim0: int, dim1: int) -> Array:
    """Two dimensions swapped. https://pytorch.org/docs/stable/generated/torch.transpose.html"""
    dim0, dim1 = check_dim(dim0, self.ndim), check_dim(dim1, self.ndim)
    return self.swapaxes(dim0, dim1) if self.ndim else self[...]


@declaration.view(derivatives={"self": lambda grad: t(grad)})
def t(xp: Any, self: Array) -> Array:
    """A matrix transposed, (n, m) → (m, n), a view; tensors of fewer dimensions as they are.

    Raises RuntimeError for more dimensions. https://pytorch.org/docs/stable/generated/torch.t.html
    """
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.transpose()


@composite()
def movedim(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """Moves dimensions: a view in which those of `source` stand at `destination`, and the others keep their order.

    Raises RuntimeError for different numbers of them, and for one that is named twice.
    """
    sources = source if isinstance(source, (tuple, list)) else (source,)
    destinations = destination if isinstance(destination, (tuple, list)) else (destination,)
    if len(sources) != len(destinations):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should contain the same "
            f"number of dims as destination ({list(destinations)} dims)"
        )
    ndim = input._array.ndim
    given = (("source", sources), ("destination", destinations))
    sources, destinations = (each_dim(dims, ndim) for _, dims in given)
    for (name, original), dims in zip(given, (sources, destinations), strict=True):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(original)})")
    if not ndim:
        return alias(input)
    rest = iter([d for d in range(ndim) if d not in sources])
    moved = dict(zip(destinations, sources, strict=True))
    return permute(input, [moved[d] if d in moved else next(rest) for d in range(ndim)])


@composite()
def moveaxis(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """`movedim` by NumPy's name: a view with the dimensions `source` at `destination`.

    https://pytorch.org/docs/stable/generated/torch.moveaxis.html
    """
    return movedim(input, source, destination)


@composite()
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped, and complex numbers conjugated: (…, n, m) → (…, m, n).

    Raises RuntimeError for a vector.
    """
    return _swapped_matrices(input, "adjoint()").conj()


def _swapped_matrices(input: Tensor, name: str) -> Tensor:
    if input._array.ndim == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose(input, -2, -1) if input._array.ndim else input


def _numpy_t(input: Tensor) -> Tensor:
    """All dimensions in reverse order, a view: (n, m) → (m, n). Warns for other numbers of dimensions than 0 and 2.

    Source: https://pytorch.org/docs/stable/tensors.html#torch.Tensor.T
    """
    if input._array.ndim not in (0, 2):
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            UserWarning,
            stacklevel=3,
        )
    return permute(input, tuple(range(input._array.ndim - 1, -1, -1)))


def _conjugate_t(input: Tensor) -> Tensor:
    """A matrix transposed, complex numbers conjugated: (n, m) → (m, n). Raises RuntimeError unless 0-d or 2-D.

    Source: https://pytorch.org/docs/stable/tensors.html#torch.Tensor.H
    """
    if input._array.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {input._array.ndim}-D tensor.")
    return adjoint(input)


def _transposed_matrices(input: Tensor) -> Tensor:
    """The last two dimensions swapped, a view: (…, n, m) → (…, m, n). Raises RuntimeError for a vector.

    Source: https://pytorch.org/docs/stable/tensors.html#torch.Tensor.mT
    """
    return _swapped_matrices(input, "mT")


def _adjoint_matrices(input: Tensor) -> Tensor:
    """`adjoint`: (…, n, m) → (…, m, n), complex numbers conjugated. Raises RuntimeError for a vector.

    Source: https://pytorch.org/docs/stable/tensors.html#torch.Tensor.mH
    """
    return _swapped_matrices(input, "mH").conj()


METHODS["T"] = property(_numpy_t)  # type: ignore[assignment]
METHODS["H"] = property(_conjugate_t)  # type: ignore[assignment]
METHODS["mT"] = property(_transposed_matrices)  # type: ignore[assignment]
METHODS["mH"] = property(_adjoint_matrices)  # type: ignore[assignment]
