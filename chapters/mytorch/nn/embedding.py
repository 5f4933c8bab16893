"""Embeddings: a table with a vector for each word, and how its gradient finds the rows that were used."""

# 13 · Embeddings
from __future__ import annotations

from typing import Any

import numpy as np

from .. import Tensor, empty
from ..autograd.recording import derivative
from ..dispatch import operation
from ..settings import FROM_NUMPY, TYPE_NAMES
from .init import normal_
from .module import Module
from .parameter import Parameter
from .words import unusual


@operation
def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """The rows of a table that `input` names: (...) and (rows, width) to (..., width). Arrays, here."""
    check_rows(input, weight, padding_idx)
    return weight[input]


derivative(
    "embedding",
    weight=lambda g, input, weight_shape, padding_idx: embedding_backward(g, input, weight_shape[0], padding_idx),
)


@operation
def embedding_backward(g: Any, indices: Any, rows: int, padding_idx: int | None) -> Any:
    """The gradient of a table: for each of its `rows` rows, the sum over the places that used it."""
    result = np.zeros_like(g, shape=(rows, g.shape[-1]))
    np.add.at(result, indices, g)
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


def without_padding(g: Tensor, indices: Tensor, rows: int, padding_idx: int | None) -> Tensor:
    """The rows of `g` at the indices; zeros for padding."""
    found = embedding(indices, g)
    return found if padding_idx is None else found.masked_fill(indices.eq(padding_idx % rows).unsqueeze(-1), 0.0)


derivative("embedding_backward", g=without_padding)


def check_rows(input: Any, weight: Any, padding_idx: int | None) -> None:
    """Refuse indices that name no row, in PyTorch's words."""
    check_padding(padding_idx, len(weight))
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype not in (np.int64, np.int32):
        raise wrong_type(input.dtype)
    if input.size and not (input.min() >= 0 and input.max() < len(weight)):
        raise IndexError("index out of range in self")


def wrong_type(dtype: Any) -> RuntimeError:
    """PyTorch's error for indices of NumPy's type `dtype`."""
    found = f"torch.{TYPE_NAMES[FROM_NUMPY[dtype].name]}Tensor instead (while checking arguments for embedding)"
    wanted = "one of the following scalar types: Long, Int"
    return RuntimeError(f"Expected tensor for argument #1 'indices' to have {wanted}; but got {found}")


def check_padding(padding_idx: int | None, rows: int) -> None:
    """Refuse a row of padding that the table doesn't have."""
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")


class Embedding(Module):
    """A table of vectors, looked up by number: (...) to (..., embedding_dim); that of `padding_idx` stays zeros."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        super().__init__()
        check_padding(padding_idx, num_embeddings)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = Parameter(empty(num_embeddings, embedding_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx] = 0

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """Create a layer from an existing table of shape (rows, width). With `freeze=True`, it receives no gradient."""
        layer = cls.__new__(cls)
        Module.__init__(layer)
        check_padding(padding_idx, len(embeddings))
        layer.num_embeddings, layer.embedding_dim = embeddings.shape
        layer.padding_idx = None if padding_idx is None else padding_idx % len(embeddings)
        layer.weight = Parameter(embeddings, requires_grad=not freeze)
        return layer

    def forward(self, input: Tensor) -> Tensor:
        return embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}{unusual(self, {'padding_idx': None})}"
