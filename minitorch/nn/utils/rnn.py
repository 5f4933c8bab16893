"""Batches of sequences of different length.

Source: https://pytorch.org/docs/stable/nn.html#utility-functions-in-other-modules
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from minitorch import Tensor, arange, as_tensor, cat, dtypes, empty_like, int64, stack, tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None


def _to(dtype: Any) -> Any:
    """A method that converts the data."""
    return lambda self: self.to(dtype)


class PackedSequence(_Packed):
    """The steps of several sequences one after the other: `data` has first all first elements, then all second ones.

    The sequences are sorted, longest first; `batch_sizes[t]` of them are longer than t.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes.device.type != "cpu":
            raise ValueError(f"batch_sizes should always be on CPU. Instead got {batch_sizes.device}")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with `data.to(…)`; itself where that changes nothing."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = (None if each is None else each.to(data.device) for each in self[2:])
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self) -> PackedSequence:
        return self.to("cpu")

    def cuda(self, device: Any = None) -> PackedSequence:
        return self.to("cuda" if device is None else device)

    double, float, half = map(_to, (dtypes.float64, dtypes.float32, dtypes.float16))
    long, int, short = map(_to, (dtypes.int64, dtypes.int32, dtypes.int16))
    char, byte = map(_to, (dtypes.int8, dtypes.uint8))

    def pin_memory(self) -> PackedSequence:
        indices = (None if each is None else each.pin_memory() for each in self[2:])
        return type(self)(self.data.pin_memory(), self.batch_sizes, *indices)

    def is_pinned(self) -> bool:
        return self.data.is_pinned()

    is_cuda = property(lambda self: self.data.is_cuda)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another."""
    if permutation is None:
        return None
    inverse = empty_like(permutation)
    inverse[permutation] = arange(permutation.numel(), device=permutation.device)
    return inverse


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs (T, N, …), or (N, T, …) with `batch_first`, of which sequence n is lengths[n] long.

    Unless `enforce_sorted`, the sequences are sorted here, and `sorted_indices` tells how.
    """
    lengths = as_tensor(lengths, dtype=int64, device="cpu")
    if lengths.dim() != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D cpu Long tensor"
        )
    order = None
    if not enforce_sorted:
        order = lengths.argsort(descending=True, stable=True)
        lengths = lengths[order]
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    sizes = lengths.tolist()
    if batch_first:
        input = input.transpose(0, 1)
    if len(sizes) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={input.shape[1]})"
        )
    if sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if sizes != sorted(sizes, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    counts = [sum(size > step for size in sizes) for step in range(sizes[0])]
    data = cat([rows[:count] for rows, count in zip(input, counts, strict=False)])  # a length may exceed T
    return PackedSequence(data, tensor(counts, dtype=int64, device="cpu"), order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch (T, N, …) and the lengths of its sequences."""
    counts = sequence.batch_sizes.tolist()
    length = len(counts)
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {length}"
            )
        length = total_length
    rows = []
    batch = counts[0]
    rest = tuple(sequence.data.shape[1:])
    for part in sequence.data.split(counts):
        missing = batch - part.shape[0]
        rows.append(cat([part, part.new_full((missing, *rest), padding_value)]) if missing else part)
    rows += [sequence.data.new_full((batch, *rest), padding_value)] * (length - len(counts))
    padded = stack(rows, 1 if batch_first else 0)
    lengths = tensor([sum(count > number for count in counts) for number in range(batch)], dtype=int64, device="cpu")
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """A batch (T, N, …) of sequences (Tₙ, …), filled up to the longest."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    listed = list(sequences)
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    length = max(each.shape[0] for each in listed)
    batch = (len(listed), length) if batch_first else (length, len(listed))
    result = listed[0].new_full((*batch, *listed[0].shape[1:]), padding_value)
    for number, each in enumerate(listed):
        start = 0 if padding_side == "right" else length - each.shape[0]
        row = result.select(0 if batch_first else 1, number)
        row.narrow(0, start, each.shape[0]).copy_(each)
    return result


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [each[:length] for each, length in zip(padded_sequences, lengths.tolist(), strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences (Tₙ, …)."""
    listed = list(sequences)
    return pack_padded_sequence(pad_sequence(listed), [each.shape[0] for each in listed], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
