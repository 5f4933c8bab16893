"""Attention: each position takes what it needs from the others."""

# 14 · Attention
from __future__ import annotations

import math
from typing import Any

from .. import Tensor, dtype, empty, float32, ones, softmax, zeros
from ..dispatch import Function, composite
from ..settings import bool_ as boolean
from . import activation as activations
from .dropout import Dropout, dropout
from .init import constant_, xavier_uniform_
from .linear import Linear, linear
from .module import Module
from .normalization import LayerNorm
from .parameter import Parameter


@composite
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query keyᵀ · scale + mask) value: (..., L, E), (..., S, E) and (..., S, V) to (..., L, V)."""
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    if attn_mask is None or is_causal:
        weights = softmax(scores, -1)
    else:  # some rows may be -inf throughout
        nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
        weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


def additive(mask: Tensor, dtype: dtype) -> Tensor:
    """A mask to be added to scores of this type: of a boolean one, 0 where it is True and -inf elsewhere."""
    if mask.dtype is not boolean:
        return mask.to(dtype)
    return zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)


def check_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    """Refuse what can't attend, in PyTorch's words."""
    names = {"float32": "float", "float64": "double", "float16": "c10::Half", "int64": "long int", "int32": "int"}
    q, k, v = (names.get(each.dtype.name, each.dtype.name) for each in (query, key, value))
    if min(query.ndim, key.ndim, value.ndim) < 2:
        found = f"but got query.dim: {query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        raise RuntimeError(f"Expected query, key, and value to all be  at least 2 dimensional, {found}")
    if not q == k == v:
        found = f"query.dtype: {q} key.dtype: {k} and value.dtype: {v}"
        raise RuntimeError(f"Expected query, key, and value to have the same dtype, but got {found} instead.")
    if attn_mask is not None and attn_mask.dtype not in (boolean, float32, query.dtype):
        wanted, mask = "to be bool or float or to match query dtype", attn_mask.dtype.name
        found = f"attn_mask.dtype: {names.get(mask, mask)} and  query.dtype: {q}"
        raise RuntimeError(f"Expected attn_mask dtype {wanted}, but got {found} instead.")
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Each position's width in equal parts, one for each head: (N, L, E) to (N, heads, L, E / heads)."""
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """The opposite: (N, heads, L, D) to (N, L, heads · D)."""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


class MultiheadAttention(Module):
    """Attention in several subspaces at once: `num_heads` heads, each as wide as embed_dim / num_heads."""

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, *, batch_first: bool = False
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
        self.register_parameter("in_proj_bias", Parameter(empty(3 * embed_dim)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
        xavier_uniform_(self.in_proj_weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """(L, N, E), or (N, L, E) with `batch_first`, or (L, E), to the same; and weights, averaged over the heads."""
        batched, inputs = query.ndim == 3, (query, key, value)
        if not batched:
            inputs = tuple(each.unsqueeze(0) for each in inputs)
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            inputs = tuple(each.transpose(0, 1) for each in inputs)
        mask = self.merged(attn_mask, key_padding_mask, inputs[0].dtype)
        output, weights = self.attend(*inputs, mask, need_weights)
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            return output.squeeze(0), None if weights is None else weights.squeeze(0)
        return (output if self.batch_first else output.transpose(0, 1)), weights

    def merged(self, attn_mask: Tensor | None, padding: Tensor | None, dtype: dtype) -> Tensor | None:
        """Both masks as one that is added to scores (N, heads, L, S), or None."""
        masks = []
        if attn_mask is not None:
            shape = (1, 1) if attn_mask.ndim == 2 else (-1, self.num_heads)
            masks.append(attn_mask.reshape(*shape, *attn_mask.shape[-2:]))
        if padding is not None:
            masks.append(padding.reshape(padding.shape[0], 1, 1, -1))
        added: list[Any] = [additive(~mask if mask.dtype is boolean else mask, dtype) for mask in masks]
        return sum(added[1:], added[0]) if added else None

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The output (N, L, E), and the weights of each head (N, heads, L, S) if they are needed, else None."""
        weights_in = self.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        projected = map(linear, (query, key, value), weights_in, biases)
        q, k, v = (split_heads(each, self.num_heads) for each in projected)
        p = self.dropout if self.training else 0.0
        if not need_weights:
            return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
        return self.out_proj(merge_heads(weights @ v)), weights


class TransformerEncoderLayer(Module):
    """Attention, then two linear layers, each added to its input; a norm is before (`norm_first`) or after it."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Function = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        self.norm_first = norm_first
        self.norm1, self.norm2 = (LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(2))
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = getattr(activations, activation) if isinstance(activation, str) else activation

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None
    ) -> Tensor:
        """The same shape as `src`; masks as for `MultiheadAttention`."""

        def attend(x: Tensor) -> Tensor:
            return self.dropout1(self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0])

        def feed_forward(x: Tensor) -> Tensor:
            return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        if self.norm_first:
            x = src + attend(self.norm1(src))
            return x + feed_forward(self.norm2(x))
        x = self.norm1(src + attend(src))
        return self.norm2(x + feed_forward(x))


# 22b · Where the memory goes
from functools import reduce

from .. import cat, maximum

Partial = tuple[Tensor, Tensor, Tensor]
"""Attention to some keys: each row's largest score m, its sum l of exp(score - m), and o, the values so weighted."""


def attend(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Partial:
    """Attention to these keys; where `is_causal`, of query i to keys 0 to i."""
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        seen = ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    m = scores.detach().amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


def merge(one: Partial, other: Partial) -> Partial:
    """Attention to the keys of both."""
    m = maximum(one[0], other[0])
    this, that = (one[0] - m).exp(), (other[0] - m).exp()
    return m, one[1] * this + other[1] * that, one[2] * this + other[2] * that


def tiled_attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False, tile: int = 128) -> Tensor:
    """softmax(query keyᵀ / √E) value, with at most `tile` by `tile` scores at a time."""
    pairs, rows = list(zip(key.split(tile, -2), value.split(tile, -2), strict=True)), []
    for top, queries in enumerate(query.split(tile, -2)):
        seen = pairs[: top + 1] if is_causal else pairs
        parts = (attend(queries, *pair, is_causal and left == top) for left, pair in enumerate(seen))
        _, total, output = reduce(merge, parts)
        rows.append(output / total)
    return cat(rows, -2)
