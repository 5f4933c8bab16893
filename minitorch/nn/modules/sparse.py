"""Embeddings. Source: https://pytorch.org/docs/stable/nn.html#sparse-layers"""

from __future__ import annotations

from dataclasses import InitVar
from typing import Any

from minitorch import Tensor, empty, no_grad
from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.layer import Layer, layer
from minitorch.nn.modules.utils import changed
from minitorch.nn.parameter import Parameter


class _Table(Layer):
    """A table of vectors; the row `padding_idx` is zero at first and isn't trained."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    _padding = "Padding_idx"  # what errors call it

    def __post_init__(self, _weight: Tensor | None, _freeze: bool, device: Any, dtype: Any) -> None:
        if self.padding_idx is not None:
            if not -self.num_embeddings <= self.padding_idx < self.num_embeddings:
                raise AssertionError(f"{self._padding} must be within num_embeddings")
            self.padding_idx %= self.num_embeddings
        shape = (self.num_embeddings, self.embedding_dim)
        if _weight is None:
            self.weight = Parameter(empty(shape, device=device, dtype=dtype), requires_grad=not _freeze)
            self.reset_parameters()
        elif tuple(_weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draws new vectors from the standard normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def extra_repr(self) -> str:
        shown = changed(self, padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, sparse=False)
        return f"{self.num_embeddings}, {self.embedding_dim}{shown}"


@layer
class Embedding(_Table):
    """Indices (…) → vectors (…, embedding_dim)."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None = None
    max_norm: float | None = None
    norm_type: float = 2.0
    scale_grad_by_freq: bool = False
    sparse: bool = False
    _weight: InitVar[Tensor | None] = None
    _freeze: InitVar[bool] = False
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An Embedding of given vectors (num_embeddings, embedding_dim)."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


@layer
class EmbeddingBag(_Table):
    """The sum, mean or maximum (`mode`) of the embeddings of each bag of indices: (N, L) → (N, embedding_dim).

    Or 1-D indices and the `offsets` (N,) where bags begin. `weight` (num_embeddings, embedding_dim) starts standard
    normal; `per_sample_weights` of the indices' shape are for sums alone. Raises ValueError or RuntimeError for other
    shapes, IndexError or RuntimeError for an index out of range.
    """

    num_embeddings: int
    embedding_dim: int
    max_norm: float | None = None
    norm_type: float = 2.0
    scale_grad_by_freq: bool = False
    mode: str = "mean"
    sparse: bool = False
    _weight: InitVar[Tensor | None] = None
    include_last_offset: bool = False
    padding_idx: int | None = None
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None
    _padding = "padding_idx"

    def __post_init__(self, _weight: Tensor | None, device: Any, dtype: Any) -> None:
        super().__post_init__(_weight, False, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """An EmbeddingBag of given vectors (num_embeddings, embedding_dim)."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        bag = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag

    def extra_repr(self) -> str:
        shown = changed(self, max_norm=None, norm_type=2, scale_grad_by_freq=False)
        padding = changed(self, padding_idx=None)
        return f"{self.num_embeddings}, {self.embedding_dim}{shown}, mode={self.mode!r}{padding}"
