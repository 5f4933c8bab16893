"""The cross-entropy of a linear layer.

Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.linear_cross_entropy.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.ops.declaration import composite
from minitorch.ops.loss_classification import cross_entropy
from minitorch.ops.matmul import linear
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

    Raises RuntimeError for shapes that don't fit, and NotImplementedError for `options`, which divide the batch to save
    memory.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.linear_cross_entropy.html
    """
    if options is not None:
        raise NotImplementedError("linear_cross_entropy: options are not supported")
    classes, *features = _check(input, linear_weight, linear_bias)
    shape = (*input.shape[:-1], classes, *features)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
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
