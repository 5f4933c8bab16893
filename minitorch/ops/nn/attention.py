"""Attention (Vaswani et al. 2017): softmax(Q Kᵀ / √d) V.

Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch import autocast
from minitorch.dispatch.declaration import composite
from minitorch.dtypes import C_NAMES, bool_, float32
from minitorch.ops.indexing.joining import cat
from minitorch.ops.linalg.matmul import linear
from minitorch.ops.nn.dropout import dropout
from minitorch.ops.nn.padding import pad
from minitorch.tensor import Tensor


@composite(autocast="lower", variants="function", namespace="nn.functional")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query keyᵀ · scale + mask) value: (…, L, E), (…, S, E), (…, S, Ev) → (…, L, Ev); scale is 1/√E.

    `attn_mask` broadcasts to (…, L, S): added if floating, else True keeps a pair. `is_causal` keeps key j for query i
    where j ≤ i; `enable_gqa` repeats the heads of key and value. Raises RuntimeError for shapes or dtypes that don't
    fit together, and for a mask with `is_causal` where PyTorch has no fused kernel.
    Vaswani et al. 2017, https://arxiv.org/abs/1706.03762
    """
    arrays = query._array, key._array, value._array
    if min(len(arrays[0].shape), len(arrays[1].shape), len(arrays[2].shape)) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if not query._dtype is key._dtype is value._dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {C_NAMES[query.dtype.name]} "
            f"key.dtype: {C_NAMES[key.dtype.name]} and value.dtype: {C_NAMES[value.dtype.name]} instead."
        )
    if attn_mask is not None and attn_mask.dtype not in (bool_, float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{C_NAMES[attn_mask.dtype.name]} and  query.dtype: {C_NAMES[query.dtype.name]} instead."
        )
    if enable_gqa:
        if query.shape[-3] % key.shape[-3] or query.shape[-3] % value.shape[-3]:
            raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    fused = dropout_p == 0 and _is_fused(*arrays, attn_mask)
    if is_causal and attn_mask is not None and not fused:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if is_causal:
        past = query.new_ones((query.shape[-2], key.shape[-2]), dtype=bool_).tril()
        hidden = 0 if attn_mask is None or attn_mask.dtype is bool_ else -math.inf
        attn_mask = past if attn_mask is None else attn_mask.masked_fill(~past, hidden)
    return (_fused if fused else _attention)(query, key, value, attn_mask, dropout_p, scale)


def _is_fused(query: Array, key: Array, value: Array, mask: Tensor | None) -> bool:
    """Whether PyTorch has one kernel for it, on the CPU its flash attention, rather than a row of ops."""
    return (
        query.ndim == key.ndim == value.ndim == 4
        and query.shape[:2] == key.shape[:2] == value.shape[:2]
        and query.shape[-1] == value.shape[-1]
        and 0 not in (query.shape[-2], key.shape[-2])
        and query.strides[-1] == key.strides[-1] == value.strides[-1] == query.itemsize
        and (mask is None or (mask.dim() in (2, 4) and not mask.requires_grad))
    )


def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, scale: float | None
) -> Tensor:
    kind = query._dtype
    if kind.is_low_precision:
        query, key, value = query.float(), key.float(), value.float()
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    # Half of the scale on either side keeps the products small.
    root = math.sqrt(abs(scale))
    scores = (query * math.copysign(root, scale)) @ (key * root).transpose(-2, -1)
    hidden = None
    if attn_mask is not None:
        if attn_mask.dtype is bool_:
            attn_mask = query.new_zeros(attn_mask.shape).masked_fill(~attn_mask, -math.inf)
        hidden = (attn_mask == -math.inf).all(-1, keepdim=True)  # queries that may look nowhere, which get zeros
        scores = scores + attn_mask.to(query.dtype).masked_fill(hidden, 0.0)
    weights = scores.softmax(-1)
    if hidden is not None:
        weights = weights.masked_fill(hidden, 0.0)
    return (dropout(weights, dropout_p) @ value).to(kind)


_fused = autocast.one_kernel(_attention)


def _float_mask(mask: Tensor | None, name: str, like: Tensor) -> Tensor | None:
    """A mask to add to scores: −∞ where a boolean one is True."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype is not bool_:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return like.new_zeros(mask.shape).masked_fill_(mask, -math.inf)


def _projected(
    query: Tensor, key: Tensor, value: Tensor, in_proj_weight: Any, separate: Any, in_proj_bias: Tensor | None
) -> list[Tensor]:
    weights = in_proj_weight.chunk(3) if separate is None else separate
    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    if separate is None and query is key is value:  # one product, so that the gradient in the input is one, too
        return [each.contiguous() for each in linear(query, in_proj_weight, in_proj_bias).chunk(3, -1)]
    if separate is None and key is value:
        width = query.shape[-1]
        bias = None if in_proj_bias is None else in_proj_bias[width:]
        both = linear(key, in_proj_weight[width:], bias).chunk(2, -1)
        return [linear(query, weights[0], biases[0]), *(each.contiguous() for each in both)]
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]


@composite(variants="function", namespace="nn.functional")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention in several subspaces at once: (L, N, E), (S, N, E), (S, N, E) → (L, N, E) and the weights (N, L, S).

    Without N all are one dimension less; the weights are None without `need_weights`, and (N, heads, L, S) unless
    averaged. Raises AssertionError for widths and shapes that don't fit, RuntimeError for a mask of another shape,
    NotImplementedError for `static_k` and `static_v`. Vaswani et al. 2017, https://arxiv.org/abs/1706.03762
    """
    if static_k is not None or static_v is not None:
        raise NotImplementedError("multi_head_attention_forward: static_k and static_v are not supported")
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    batched = query.dim() == 3
    _check_dimensions(query.dim(), key, value, key_padding_mask, attn_mask)
    if not batched:
        query, key, value = (each.unsqueeze(1) for each in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    size = width // num_heads
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    if size * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if not use_separate_proj_weight and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, separate, in_proj_bias)
    if attn_mask is not None and key_padding_mask is not None and attn_mask.dtype is not key_padding_mask.dtype:
        warnings.warn(
            "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    mask = _float_mask(attn_mask, "attn_mask", q)
    if mask is not None:
        mask = _checked_mask(mask, batch * num_heads, length, key.shape[0])
    padding = _float_mask(key_padding_mask, "key_padding_mask", q)
    if padding is not None:
        for dim, wanted in enumerate((batch, key.shape[0])):
            if padding.shape[dim] != wanted:
                raise AssertionError(
                    f"Expected key_padded_mask.shape[{dim}] to be {wanted}, but got {padding.shape[dim]}"
                )

    def longer(each: Tensor | None) -> Tensor | None:
        return None if each is None else pad(each, (0, 1))

    if bias_k is not None and bias_v is not None:
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        mask, padding = longer(mask), longer(padding)
    q, k, v = (each.reshape(each.shape[0], batch * num_heads, size).transpose(0, 1) for each in (q, k, v))
    if add_zero_attn:
        zeros = k.new_zeros((batch * num_heads, 1, size))
        k, v = cat([k, zeros], 1), cat([v, zeros], 1)
        mask, padding = longer(mask), longer(padding)
    if padding is not None:
        columns = k.shape[1]
        spread = padding.view(batch, 1, 1, columns).expand(-1, num_heads, -1, -1)
        spread = spread.reshape(batch * num_heads, 1, columns)
        mask = spread if mask is None else mask + spread
    if need_weights:
        scores = (q * math.sqrt(1 / size)).bmm(k.transpose(-2, -1))
        weights = dropout((scores if mask is None else scores + mask).softmax(-1), dropout_p, training)
        output = weights.bmm(v)
    else:
        q, k, v = (each.unflatten(0, (batch, num_heads)) for each in (q, k, v))
        if mask is not None:
            mask = mask.expand(batch * num_heads, -1, -1).unflatten(0, (batch, num_heads)).to(q.dtype)
        output = scaled_dot_product_attention(q, k, v, mask, dropout_p if training else 0.0).flatten(0, 1)
    output = output.transpose(0, 1).reshape(length * batch, width)
    output = linear(output, out_proj_weight, out_proj_bias).view(length, batch, len(out_proj_weight))
    if not need_weights:
        return (output if batched else output.squeeze(1)), None
    weights = weights.view(batch, num_heads, length, weights.shape[-1])
    if average_attn_weights:
        weights = weights.mean(1)
    return (output, weights) if batched else (output.squeeze(1), weights.squeeze(0))


def _check_dimensions(
    n: int, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None
) -> None:
    kind = f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, expected"
    if not key.dim() == value.dim() == n:
        raise AssertionError(
            f"{kind} `key` and `value` to be {n}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(
            f"{kind} `key_padding_mask` to be `None` or {n - 1}-D but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
        )


def _checked_mask(mask: Tensor, heads: int, rows: int, columns: int) -> Tensor:
    expected = (rows, columns) if mask.dim() == 2 else (heads, rows, columns)
    if tuple(mask.shape) != expected:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask
