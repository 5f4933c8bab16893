"""Bags of embeddings: rows of a table, picked by index and summed, averaged, or reduced to their largest elements.

Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.embedding_bag.html
"""

from __future__ import annotations

import math

from minitorch.autograd.grad_mode import no_grad
from minitorch.dispatch.declaration import composite
from minitorch.dispatch.one_node import one_node
from minitorch.dtypes import int32, int64, type_name
from minitorch.ops.creation.ranges import arange
from minitorch.ops.nn.embedding import _limited, embedding
from minitorch.tensor import Tensor


@composite(variants="function", namespace="nn.functional")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the embeddings in each bag: a row of a 2-D input, or from one offset to the next.

    Rows of `padding_idx` are left out; a bag without any is zero. `per_sample_weights` are factors, for sums.
    Raises ValueError and RuntimeError for arguments that don't fit, NotImplementedError for `sparse`.
    """
    _check(input, weight, mode, sparse, scale_grad_by_freq, per_sample_weights)
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        starts = arange(len(input), device=input.device) * input.shape[1]
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    else:
        starts = _starts(input, offsets, include_last_offset)
    if not input.is_meta and len(outside := ((input < 0) | (input >= len(weight))).nonzero()):
        at = int(outside[0])
        raise RuntimeError(
            f"Index {at} of input takes value {int(input[at])} which is not in the valid range [0, {len(weight)})"
        )
    if sparse:
        raise NotImplementedError("embedding_bag: sparse gradients are not supported")
    if max_norm is not None:
        _limited(weight, input, max_norm, norm_type)
    return _bags(weight, input, starts, scale_grad_by_freq, mode, per_sample_weights, padding_idx)


@one_node("EmbeddingBagBackward0", "weight, per_sample_weights")
def _bags(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: str,
    per_sample_weights: Tensor | None,
    padding_idx: int | None,
) -> Tensor:
    count = len(offsets)
    marks = indices.new_zeros(len(indices) + 1, dtype=int64)
    bag = marks.index_add(0, offsets, marks.new_ones(count))[:-1].cumsum(0) - 1
    rows = embedding(indices, weight, padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if padding_idx is not None and not rows.is_meta:
        kept = indices != padding_idx % len(weight)
        rows, bag = rows[kept], bag[kept]
    sizes = bag.new_zeros(count).index_add(0, bag, bag.new_ones(len(bag)))
    if mode == "max":
        return _largest(rows, bag, sizes)
    sums = rows.new_zeros((count, rows.shape[1])).index_add(0, bag, rows)
    return sums if mode == "sum" else sums / sizes.clamp_min(1).to(rows.dtype).unsqueeze(1)


def _largest(rows: Tensor, bag: Tensor, sizes: Tensor) -> Tensor:
    """Of every bag the largest elements, and of equal ones the first, which alone gets the gradient."""
    if not len(rows):
        return rows.new_zeros((len(sizes), rows.shape[1]))
    if rows.is_meta:
        return rows.gather(0, sizes.new_zeros((len(sizes), rows.shape[1])))
    starts = sizes.cumsum(0) - sizes
    with no_grad():
        apart = rows.new_full((len(sizes), int(sizes.max()), rows.shape[1]), -math.inf)
        apart[bag, arange(len(rows), device=rows.device) - starts[bag]] = rows
        chosen = starts.clamp_max(len(rows) - 1).unsqueeze(1) + apart.argmax(1)
    return rows.gather(0, chosen).masked_fill((sizes == 0).unsqueeze(1), 0)


def _check(
    input: Tensor, weight: Tensor, mode: str, sparse: bool, scale_grad_by_freq: bool, factors: Tensor | None
) -> None:
    if factors is not None and factors.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({factors.shape}) is not None, then it must have the same shape as "
            f"the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if factors is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if factors is not None and factors.dtype is not weight.dtype:
        kinds = [f"torch.{type_name(each._array)}Tensor" for each in (weight, factors)]
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type {kinds[0]} does not equal {kinds[1]} (while checking arguments for "
            "embedding_bag)"
        )


def _starts(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> Tensor:
    """Where each bag starts."""
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    for each in (input, offsets):
        if each.dtype not in (int32, int64):
            raise RuntimeError(
                "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
                f"got torch.{type_name(each._array)}Tensor instead (while checking arguments for embedding_bag)"
            )
    if include_last_offset and not len(offsets):
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if offsets.is_meta:
        return offsets[:-1] if include_last_offset else offsets
    if len(offsets) and int(offsets[0]):
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {int(offsets[0])}\n[ torch.{type_name(offsets._array)}Tensor{{}} ]"
        )
    if len(offsets) and int(offsets[-1]) > len(input):
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {len(input)} but got offsets[-1] of {int(offsets[-1])}"
        )
    return offsets[:-1] if include_last_offset else offsets
