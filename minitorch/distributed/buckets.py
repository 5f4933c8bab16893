"""Gradients that lie side by side, so that few large messages are sent and not many small ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minitorch
from minitorch.distributed.work import Work
from minitorch.futures import Future
from minitorch.layout import is_dense
from minitorch.tensor import Tensor

torch: Any = minitorch

FIRST_BUCKET_BYTES = 1 << 20
"""Small, so that the first reduction begins soon."""


def bucket_assignment(tensors: Sequence[Tensor], limits: Sequence[int]) -> list[list[int]]:
    """The indices of the tensors, divided into buckets: of one dtype, and closed when they reach their limit of bytes.

    The first bucket of a dtype has the first limit, and so on; the last limit is for all that follow.
    """
    closed: list[list[int]] = []
    opened: dict[Any, list[int]] = {}
    bytes_in: dict[Any, int] = {}
    limit_number: dict[Any, int] = {}
    for index, tensor in enumerate(tensors):
        key = tensor.dtype, tensor.device
        opened.setdefault(key, []).append(index)
        bytes_in[key] = bytes_in.get(key, 0) + tensor.numel() * tensor.element_size()
        number = limit_number.setdefault(key, 0)
        if bytes_in[key] >= limits[number]:
            closed.append(opened.pop(key))
            del bytes_in[key]
            limit_number[key] = min(number + 1, len(limits) - 1)
    return closed + list(opened.values())


class Bucket:
    """The gradients of some parameters, one after the other in `buffer`, and each as a view of it."""

    def __init__(self, indices: Sequence[int], parameters: Sequence[Tensor]) -> None:
        self.indices = list(indices)
        self.parameters = [parameters[index] for index in indices]
        first = self.parameters[0]
        self.buffer: Tensor = torch.zeros(
            sum(each.numel() for each in self.parameters), dtype=first.dtype, device=first.device
        )
        self.views = self.views_of(self.buffer)
        self.pending = 0
        self.reduction: Work | Future[Any] | None = None

    def views_of(self, buffer: Tensor) -> list[Tensor]:
        """The part of each parameter: laid out like it where it has no gaps."""
        pieces: Any = buffer.split([each.numel() for each in self.parameters])
        return [
            piece.as_strided(each.shape, each.stride()) if is_dense(each._array) else piece.view(each.shape)
            for each, piece in zip(self.parameters, pieces, strict=True)
        ]


class GradBucket:
    """What a communication hook gets: a bucket that is full."""

    def __init__(self, index: int, count: int, buffer: Tensor, bucket: Bucket) -> None:
        self._index = index
        self._count = count
        self._buffer = buffer
        self._bucket = bucket

    def index(self) -> int:
        """The bucket's number: they are reduced in this order."""
        return self._index

    def is_last(self) -> bool:
        """Whether it is the last one."""
        return self._index == self._count - 1

    def buffer(self) -> Tensor:
        """The gradients, one after the other."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Puts another tensor in the place of the buffer."""
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """The gradient of each parameter, as a view of the buffer."""
        return self._bucket.views_of(self._buffer)

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return self._bucket.parameters
