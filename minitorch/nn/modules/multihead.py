"""Attention with several heads. PyTorch has the class in `nn.modules.activation`, which gets it from here.

Source: https://pytorch.org/docs/stable/nn.html#transformer-layers
"""

from __future__ import annotations

from dataclasses import InitVar
from typing import Any

from minitorch import Tensor
from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.layer import Layer, layer
from minitorch.nn.modules.linear import NonDynamicallyQuantizableLinear, parameter


@layer
class MultiheadAttention(Layer, shown=""):
    """softmax(Q Kᵀ / √d) V in `num_heads` subspaces at once, d = embed_dim / num_heads, joined by a linear layer.

    Query (L, N, E), key (S, N, kdim) and value (S, N, vdim) → (L, N, E) and the weights (N, L, S), averaged over heads,
    or None without `need_weights`; (N, L, E) with `batch_first`, or without N. `attn_mask` (L, S) or (N · heads, L, S)
    and `key_padding_mask` (N, S) are added, or True where attention is forbidden. Raises ValueError for sizes that
    aren't positive, AssertionError for heads that don't divide E and for shapes that don't fit, RuntimeError for masks.
    Vaswani et al. 2017, https://arxiv.org/abs/1706.03762
    """

    embed_dim: int
    num_heads: int
    dropout: float = 0.0
    bias: InitVar[bool] = True
    add_bias_kv: InitVar[bool] = False
    add_zero_attn: bool = False
    kdim: int | None = None
    vdim: int | None = None
    batch_first: bool = False
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def __post_init__(self, bias: bool, add_bias_kv: bool, device: Any, dtype: Any) -> None:
        size, heads = self.embed_dim, self.num_heads
        if size <= 0 or heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={size} and num_heads={heads} instead"
            )
        self.kdim = size if self.kdim is None else self.kdim
        self.vdim = size if self.vdim is None else self.vdim
        self._qkv_same_embed_dim = together = self.kdim == self.vdim == size
        self.head_dim = size // heads
        if self.head_dim * heads != size:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def register(name: str, shape: tuple[int, ...], present: bool) -> None:
            self.register_parameter(name, parameter(shape, present, device, dtype))

        register("q_proj_weight", (size, size), not together)
        register("k_proj_weight", (size, self.kdim), not together)
        register("v_proj_weight", (size, self.vdim), not together)
        register("in_proj_weight", (3 * size, size), together)
        register("in_proj_bias", (3 * size,), bias)
        self.out_proj = NonDynamicallyQuantizableLinear(size, size, bias, device=device, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            setattr(self, name, parameter((1, 1, size), add_bias_kv, device, dtype))
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The output, and with `need_weights` how much each query looked at each key, averaged over the heads."""
        swaps = self.batch_first and query.dim() == 3
        if swaps:
            turned = {id(each): each.transpose(0, 1) for each in (query, key, value)}  # the same stay the same
            query, key, value = (turned[id(each)] for each in (query, key, value))
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(0, 1) if swaps else output), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one for queries (N, L, E), and its kind: None where there is none, 1 for that of the keys
        (N, L) alone, 2 for one that has become (N, heads, L, L). Bools are joined by or, numbers added up.

        https://pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2


MultiheadAttention.__module__ = "minitorch.nn.modules.activation"  # where pickles of PyTorch's have it
