"""The cross-entropy of a linear layer.

Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.linear_cross_entropy.html
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from minitorch.autograd.function import Function, once_differentiable
from minitorch.dispatch.declaration import composite
from minitorch.dtypes import float32, int64
from minitorch.ops.activation.softmax import log_softmax
from minitorch.ops.creation.filled import full_like, zeros_like
from minitorch.ops.indexing.joining import cat
from minitorch.ops.linalg.matmul import linear
from minitorch.ops.loss.cross_entropy import cross_entropy
from minitorch.tensor import Tensor


@composite(variants="function", namespace="nn.functional")
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of what a linear layer with weight (C, …, in) makes of (N, in), or of (in,).

    `options`, a LinearCrossEntropyOptions, divide the batch to save memory; that serves class indices without label
    smoothing, and is left out with a warning for anything else. Raises RuntimeError for shapes that don't fit.
    """
    classes, *features = _check(input, linear_weight, linear_bias)
    shape = (*input.shape[:-1], classes, *features)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if options is not None:
        if not features and reduction in _CHUNKED and label_smoothing == 0 and target.dtype is int64:
            ignored = -100 if ignore_index is None else ignore_index
            return _in_chunks(input, linear_weight, target, linear_bias, weight, reduction, ignored, options)
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
            f"label_smoothing == 0, target.dtype == int64, out_features == (). Got reduction={reduction!r}, "
            f"label_smoothing={label_smoothing}, target.dtype={target.dtype}, out_features={tuple(features)}, "
            f"tracing=False, linear_bias.shape={None if linear_bias is None else tuple(linear_bias.shape)}.",
            stacklevel=2,
        )
    rows = math.prod((classes, *features))
    bias = None if linear_bias is None else linear_bias.reshape(rows)
    logits = linear(input, linear_weight.reshape(rows, -1), bias).reshape(shape)
    return cross_entropy(
        logits,
        target,
        weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )


def _check(input: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[int, ...]:
    """The layer's output shape: the classes, and the dimensions of the loss."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {weight.dim()}")
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    outputs = tuple(weight.shape[:-1])
    if bias is not None and tuple(bias.shape) != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {tuple(bias.shape)}")
    if len(outputs) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    return outputs


_CHUNKED = ("mean", "sum", "none")


def _in_chunks(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    options: Any,
) -> Tensor:
    kind = input.dtype
    sums_in = options._sums_in(kind)
    if sums_in is not kind and not (kind.is_low_precision and sums_in is float32):
        raise RuntimeError(
            "linear_cross_entropy supports float32 acc_dtype with float16/bfloat16 inputs, but got "
            f"{sums_in} acc_dtype and {kind} inputs."
        )
    batched = input.dim() == 2
    if not batched:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    kept = target != ignore_index
    factors = kept.to(sums_in)
    if weight is not None:
        factors = factors * weight.to(sums_in)[target.where(kept, 0)]
    if reduction == "mean":
        factors = factors / factors.sum()
    rows = options._rows(len(input), input.shape[1], len(linear_weight), kind)
    losses = _Chunked.apply(
        input, linear_weight, linear_bias, target.where(kept, 0), factors, rows, reduction, options.allow_retain_graph
    )
    return losses if batched or reduction != "none" else losses.squeeze(0)


class _Chunked(Function):
    """Σ factors · (log Σ exp logits − logits[target]), or its terms. A sum computes its gradients in the forward pass,
    where the logits are.
    """

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        linear_weight: Tensor,
        linear_bias: Tensor | None,
        target: Tensor,
        factors: Tensor,
        rows: int,
        reduction: str,
        allow_retain_graph: bool,
    ) -> Tensor:
        ctx.arguments, ctx.gradients = (input, linear_weight, linear_bias, target), None
        ctx.factors, ctx.rows, ctx.allow_retain_graph = factors, rows, allow_retain_graph
        ctx.summed = reduction != "none"
        needed = ctx.needs_input_grad[:3] if ctx.summed else (False, False, False)
        losses, ctx.gradients = _walk(ctx.arguments, factors, rows, needed)
        return (losses.sum() if ctx.summed else losses).to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        if not ctx.summed:
            _, gradients = _walk(ctx.arguments, ctx.factors * grad, ctx.rows, ctx.needs_input_grad[:3])
            return *gradients, None, None, None, None, None
        if ctx.gradients is None:
            raise RuntimeError(
                "linear_cross_entropy chunked backward called twice; retain_graph=True / double backward are not "
                "supported."
            )
        gradients = ctx.gradients
        if not ctx.allow_retain_graph:
            ctx.gradients = None
        return *(None if each is None else each * grad for each in gradients), None, None, None, None, None


def _walk(
    arguments: tuple[Tensor, Tensor, Tensor | None, Tensor], factors: Tensor, rows: int, needed: Sequence[bool]
) -> tuple[Tensor, list[Tensor | None]]:
    """The terms of the loss, and the gradients of their sum by those of input, weight and bias that need one."""
    input, linear_weight, linear_bias, target = arguments
    kind = factors.dtype
    weight, bias = (None if each is None else each.to(kind) for each in (linear_weight, linear_bias))
    sums = [
        zeros_like(each, dtype=kind) if need and each is not None else None
        for each, need in zip(arguments[:3], needed, strict=True)
    ]
    by_input, by_weight, by_bias = sums
    losses = [factors[:0]]
    for start in range(0, len(input), rows):
        chunk = slice(start, start + rows)
        x, classes, factor = input[chunk].to(kind), target[chunk].unsqueeze(1), factors[chunk].unsqueeze(1)
        logarithms = log_softmax(linear(x, weight, bias), 1)
        losses.append(-(logarithms.gather(1, classes) * factor).squeeze(1))
        if not any(needed):
            continue
        by_logits = logarithms.exp().scatter_add(1, classes, full_like(factor, -1.0)) * factor
        if by_input is not None:
            by_input[chunk] = by_logits @ weight
        if by_weight is not None:
            by_weight += by_logits.t() @ x
        if by_bias is not None:
            by_bias += by_logits.sum(0)
    return cat(losses), [None if each is None else each.to(input.dtype) for each in sums]
