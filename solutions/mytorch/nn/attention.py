"""Attention: each position takes what it needs from the others."""

# 14 · Attention
from __future__ import annotations

import math

from ..creation import empty, ones, zeros
from ..dispatch import Function
from ..settings import bool_ as boolean
from ..settings import dtype, float32
from ..tensor import Tensor
from . import activation as activations
from .activation import softmax
from .dropout import Dropout, dropout
from .init import constant_, xavier_uniform_
from .linear import Linear, linear
from .module import Module
from .normalization import LayerNorm
from .parameter import Parameter


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query keyᵀ · scale + mask) value: (..., L, E), (..., S, E) and (..., S, V) to (..., L, V).

    `scale` is 1/√E if it is None. A boolean mask, broadcast to (..., L, S), is True where a query may
    look; the other scores become -inf. A mask of numbers is added to the scores. `additive(mask, dtype)`
    turns either kind into numbers to add.
    With `is_causal`, query i may look at keys 0 to i: `ones(L, S, dtype=boolean, device=query.device).tril()`.
    A query whose scores are all -inf has weights of 0 and gradients of 0, not nan. The last step before
    the values is `dropout(weights, dropout_p)`.

    `check_attention(query, key, value, attn_mask, is_causal)` raises the errors.
    Source: Vaswani et al. 2017, arXiv:1706.03762
    """
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is None:
        return dropout(softmax(scores, -1), dropout_p) @ value
    scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


def additive(mask: Tensor, dtype: dtype) -> Tensor:
    """A mask to be added to scores of this type: of a boolean one, 0 where it is True and -inf elsewhere."""
    if mask.dtype is not boolean:
        return mask.to(dtype)
    result: Tensor = zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)
    return result


def check_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    """Refuse what can't attend, in PyTorch's words."""
    names = {"float32": "float", "float64": "double", "float16": "c10::Half", "int64": "long int", "int32": "int"}
    found = [names.get(each.dtype.name, each.dtype.name) for each in (query, key, value)]
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if len(set(found)) > 1:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {found[0]} key.dtype: "
            f"{found[1]} and value.dtype: {found[2]} instead."
        )
    if attn_mask is not None and attn_mask.dtype not in (boolean, float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{names.get(attn_mask.dtype.name, attn_mask.dtype.name)} and  query.dtype: {found[0]} instead."
        )
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Each position's width in equal parts, one for each head: (N, L, E) to (N, heads, L, E / heads).

    Head 0 gets the first numbers of each position.
    """
    result: Tensor = x.reshape(*x.shape[:2], heads, x.shape[2] // heads).transpose(1, 2)
    return result


def merge_heads(x: Tensor) -> Tensor:
    """The way back: (N, heads, L, D) to (N, L, heads · D)."""
    result: Tensor = x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)
    return result


class MultiheadAttention(Module):
    """Attention in several subspaces at once: `num_heads` heads, each as wide as embed_dim / num_heads.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, *, batch_first: bool = False
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
        self.in_proj_bias: Parameter | None
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
        """(L, N, E), or (N, L, E) with `batch_first`, or (L, E), to the same; and the weights, averaged over the heads.

        Boolean masks are True where a query may *not* look. `key_padding_mask` is (N, S), `attn_mask`
        (L, S) or (N · heads, L, S).
        """
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
        if attn_mask is not None:
            shape = (1, 1) if attn_mask.ndim == 2 else (-1, self.num_heads)
            attn_mask = attn_mask.reshape(*shape, *attn_mask.shape[-2:])
        if padding is not None:
            padding = padding.reshape(padding.shape[0], 1, 1, -1)
        merged = None
        for mask in (attn_mask, padding):
            if mask is not None:
                added = additive(~mask if mask.dtype is boolean else mask, dtype)
                merged = added if merged is None else merged + added
        return merged

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The output (N, L, E), and the weights of each head (N, heads, L, S) if they are needed, else None.

        Inputs are (N, L, E), (N, S, E), (N, S, E). `in_proj_weight` and `in_proj_bias` hold three linear
        maps, one above the other: for queries, keys and values (`chunk(3)` takes them apart; the bias may
        be None). The results are split into heads, the heads attend, are merged, and go through
        `out_proj`. The mask, if there is one, holds numbers that are added to the scores.
        In training, and only then, the weights are dropped with probability `self.dropout`.

        If no weights are needed, `scaled_dot_product_attention` does the middle. Otherwise compute them here,
        with no special care for a query that may look nowhere: its weights are nan, as in PyTorch.
        Return the weights as they are after dropout.
        """
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
    """A block of a transformer: attention, then two linear layers at each position; each is added to its input.

    With `norm_first` the input of both is normalized (as in GPT), otherwise the sum is (as in the first
    transformer).
    Source: https://pytorch.org/docs/stable/generated/torch.nn.TransformerEncoderLayer.html
    """

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
