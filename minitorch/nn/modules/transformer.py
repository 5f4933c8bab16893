"""Stacks of transformer layers (Vaswani et al. 2017).

Source: https://pytorch.org/docs/stable/nn.html#transformer-layers
"""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

from minitorch import Tensor, full, is_grad_enabled
from minitorch.backends import mha
from minitorch.dtypes import bool_
from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.container import ModuleList
from minitorch.nn.modules.module import Module
from minitorch.nn.modules.normalization import LayerNorm
from minitorch.nn.modules.transformer_layers import (
    Activation,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
    _get_activation_fn,  # noqa: F401 - programs import it from here, as from PyTorch's
)


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _is_causal(mask: Tensor | None, is_causal: bool | None, input: Tensor, batch_first: bool) -> bool:
    """Whether a mask is the causal one for the length of `input`, unless the caller says."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    length = input.shape[1 if batch_first and input.dim() == 3 else 0]
    causal = Transformer.generate_square_subsequent_mask(length, mask.device, mask.dtype)
    return mask.shape == causal.shape and bool(mask.eq(causal).all())


def _why_padding_stays(layer: Module) -> str:
    """What keeps PyTorch from leaving out padding in stacks of this layer; empty where nothing does."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        "norm_first was True": layer.norm_first,
        "self_attn.batch_first was not True(use batch_first for better inference performance)": (
            not attention.batch_first
        ),
        "self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        "self_attn was passed bias=False": attention.in_proj_bias is None,
        "activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        "norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        "self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((f"encoder_layer.{reason}" for reason, applies in reasons.items() if applies), "")


class TransformerEncoder(Module):
    """A stack of encoder layers: (S, N, E) → (S, N, E), or batch first as the layer is.

    `src_key_padding_mask` (N, S) is True at padding, `mask` (S, S). In eval mode, without gradients, and with the
    padding at the ends of the sequences, PyTorch leaves out the padding and returns zeros in its places, unless
    `enable_nested_tensor=False`. So does this class.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _why_padding_stays(encoder_layer)
        if enable_nested_tensor and reason:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}", stacklevel=2
            )
            self.use_nested_tensor = False

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        causal = _is_causal(mask, is_causal, src, self.layers[0].self_attn.batch_first)
        padding = src_key_padding_mask if mask is None and self._leaves_out(src, src_key_padding_mask) else None
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if padding is not None:
            src = src.masked_fill(_is_masked(padding).unsqueeze(-1), 0)
        return src if self.norm is None else self.norm(src)

    def _leaves_out(self, src: Tensor, padding: Tensor | None) -> bool:
        if not (self.use_nested_tensor and mha.get_fastpath_enabled()):
            return False
        if self.layers[0].training or src.dim() != 3 or padding is None:
            return False
        masked = _is_masked(padding)
        if self.mask_check and bool((masked[:, :-1] & ~masked[:, 1:]).any()):
            return False
        weights = self.layers[0].parameters()
        return not (is_grad_enabled() and (src.requires_grad or any(each.requires_grad for each in weights)))


def _is_masked(mask: Tensor) -> Tensor:
    """A mask of floats, −∞ where nothing may look, as one of bools."""
    return mask if mask.dtype is bool_ else mask != 0


class TransformerDecoder(Module):
    """A stack of decoder layers: a target (T, N, E) and the encoder's output (S, N, E) → (T, N, E), or batch first."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt, self.layers[0].self_attn.batch_first)
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encoder and decoder: a source (S, N, E) and a target (T, N, E) → (T, N, E), E being `d_model`, or batch first.

    Masks (S, S), (T, T), (T, S) are added or True where attention is forbidden; padding masks (N, S) and (N, T) are
    True at padding. Raises RuntimeError for another batch size or width. Vaswani et al. 2017,
    https://arxiv.org/abs/1706.03762
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
            device, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            self.encoder: Any = TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, norm())
        else:
            self.encoder = custom_encoder
        if custom_decoder is None:
            self.decoder: Any = TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, norm())
        else:
            self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask: −∞ above the diagonal, 0 elsewhere."""
        return full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
