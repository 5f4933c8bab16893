"""Batches of sequences of different length: padded, or packed without padding. In PyTorch it is `nn.utils.rnn`."""

# 15 · Recurrent networks
from __future__ import annotations

from typing import Any, NamedTuple

from .. import Tensor, cat, full, index_select, stack, tensor
from ..checks import refuse


class PackedSequence(NamedTuple):
    """Sequences step by step, longest first: in `data` come all first elements, then all second ones, and so on."""

    data: Tensor
    batch_sizes: Tensor  # how many sequences are longer than t
    sorted_indices: Tensor | None = None  # where each came from
    unsorted_indices: Tensor | None = None  # from the sorted order to the given one


def pad_sequence(sequences: list[Tensor], batch_first: bool = False, padding_value: float = 0.0) -> Tensor:
    """Sequences (Tₙ, …) in one batch (T, N, …), or (N, T, …), filled up to the longest."""
    longest = max(len(each) for each in sequences)
    return stack([filled_up(each, longest, padding_value) for each in sequences], 0 if batch_first else 1)


def filled_up(x: Tensor, length: int, value: float) -> Tensor:
    """The tensor with rows of one number added at its end."""
    return cat([x, full((length - len(x), *x.shape[1:]), value, dtype=x.dtype, device=x.device)])


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """The rows of a padded batch (T, N, …), or (N, T, …), that belong to its sequences."""
    batch = input if batch_first else input.transpose(0, 1)
    counts = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    found = f"{len(counts)} (batch_size={len(batch)})"
    refuse(len(counts) != len(batch), f"Expected `len(lengths)` to be equal to batch_size, but got {found}")
    found = "an element in 'lengths' that is <= 0"
    refuse(min(counts) <= 0, f"Length of all samples has to be greater than 0, but found {found}")
    order = back = None
    if not enforce_sorted:
        order = tensor(counts).argsort(descending=True)
        back = order.argsort()
        batch, counts = index_select(batch, 0, order), sorted(counts, reverse=True)
    rule = "array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False`"
    advice = "to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX"
    refuse(counts != sorted(counts, reverse=True), f"`lengths` {rule} {advice} exportability.")
    sizes = [sum(count > step for count in counts) for step in range(counts[0])]
    return PackedSequence(cat([batch[:size, step] for step, size in enumerate(sizes)]), tensor(sizes), order, back)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The padded batch (T, N, …), or (N, T, …), and the lengths of its sequences."""
    sizes = sequence.batch_sizes.tolist()
    rows = [filled_up(part, sizes[0], padding_value) for part in sequence.data.split(sizes)]
    batch, lengths = stack(rows, 1), tensor([sum(size > n for size in sizes) for n in range(sizes[0])])
    if sequence.unsorted_indices is not None:
        batch = index_select(batch, 0, sequence.unsorted_indices)
        lengths = index_select(lengths, 0, sequence.unsorted_indices)
    return batch if batch_first else batch.transpose(0, 1), lengths
