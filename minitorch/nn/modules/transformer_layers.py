"""The layers of transformers (Vaswani et al. 2017). PyTorch has them in `nn.modules.transformer`, with their stacks.

Source: https://pytorch.org/docs/stable/nn.html#transformer-layers
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from minitorch.nn import functional as F
from minitorch.nn.modules.activation import GELU, ReLU
from minitorch.nn.modules.dropout import Dropout
from minitorch.nn.modules.layer import Declared
from minitorch.nn.modules.linear import Linear
from minitorch.nn.modules.multihead import MultiheadAttention
from minitorch.nn.modules.normalization import LayerNorm
from minitorch.tensor import Tensor

Activation = str | Callable[[Tensor], Tensor]


def _get_activation_fn(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _is_relu_or_gelu(activation: Callable[[Tensor], Tensor]) -> int:
    """1 for ReLU, 2 for GELU, else 0: PyTorch's numbers, which stand in pickled layers."""
    if activation is F.relu or isinstance(activation, ReLU):
        return 1
    return 2 if activation is F.gelu or isinstance(activation, GELU) else 0


class _Layer(Declared):
    """What encoder and decoder layers share: a feed-forward block, norms, and residual connections."""

    attentions: ClassVar[tuple[str, ...]]
    self_attn: MultiheadAttention
    norm_first: bool
    activation: Callable[[Tensor], Tensor]
    linear1: Linear
    linear2: Linear

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        options = {"bias": bias, "batch_first": batch_first, **where}
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, **options))
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)
        self.norm_first = norm_first
        blocks = range(1, len(self.attentions) + 2)
        for number in blocks:
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, **where))
        for number in blocks:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _get_activation_fn(activation)
        if len(self.attentions) == 1:
            self.activation_relu_or_gelu = _is_relu_or_gelu(self.activation)

    def _residual(self, x: Tensor, number: int, block: Callable[[Tensor], Tensor]) -> Tensor:
        """x + block(x), normalized before or after."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        if self.norm_first:
            return x + dropout(block(norm(x)))
        return norm(x + dropout(block(x)))

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer, attentions=("self_attn",)):
    """x + attention(x), then x + W₂ act(W₁ x), each followed by a LayerNorm: (S, N, E) → the same.

    With `norm_first` the norms come first. With `batch_first` (N, S, E). Masks are as in MultiheadAttention. Vaswani et
    al. 2017,
    https://arxiv.org/abs/1706.03762
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]

        return self._residual(self._residual(src, 1, attend), 2, self._feed_forward)


class TransformerDecoderLayer(_Layer, attentions=("self_attn", "multihead_attn")):
    """x + attention(x), x + attention(x, memory), x + W₂ act(W₁ x), each with a LayerNorm: (T, N, E) → the same.

    With `batch_first` (N, T, E). Masks are as in MultiheadAttention. Vaswani et al. 2017,
    https://arxiv.org/abs/1706.03762
    """

    multihead_attn: MultiheadAttention

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]

        def look(x: Tensor) -> Tensor:
            return self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal
            )[0]

        x = self._residual(self._residual(tgt, 1, attend), 2, look)
        return self._residual(x, 3, self._feed_forward)


for _class in (TransformerEncoderLayer, TransformerDecoderLayer):
    _class.__module__ = "minitorch.nn.modules.transformer"  # where pickles of PyTorch's have it
