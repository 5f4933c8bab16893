"""Streams and events: queues of a GPU's work, and moments in them.

A simulated GPU does all work at once, so a stream is empty whenever one looks, and events measure the host's time.
Source: https://pytorch.org/docs/stable/cuda.html#streams-and-events
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from minitorch.cuda.selection import index_of, library_of_gpus
from minitorch.devices import device as Device
from minitorch.devices import gpu

HIGHEST, LOWEST = -3, 0


class Stream:
    """A queue of a GPU's work; as a context manager, the current one. Raises RuntimeError without a GPU.

    Work of a lower `priority` is done first; what is out of range becomes the nearest that there is.
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        try:
            index = index_of(device)
        except AssertionError:
            raise RuntimeError("torch.cuda.Stream requires CUDA support") from None
        self.device: Device = gpu(index)
        self.priority = max(HIGHEST, min(priority, LOWEST))
        self._queue = library_of_gpus().new_stream(index, self.priority)
        self._entered: list[AbstractContextManager[None]] = []

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest and the highest priority."""
        return LOWEST, HIGHEST

    def __enter__(self) -> Stream:
        self._entered.append(stream(self))
        self._entered[-1].__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)

    def synchronize(self) -> None:
        """Wait until its work is done."""
        if self._queue is not None:
            self._queue.synchronize()

    def query(self) -> bool:
        """Whether its work is done."""
        return True if self._queue is None else bool(self._queue.done)

    def record_event(self, event: Event | None = None) -> Event:
        """Mark this moment of the queue."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work wait for an event."""
        event.synchronize()

    def wait_stream(self, stream: Stream) -> None:
        """Let later work wait for what another stream has been given."""
        stream.synchronize()

    def __repr__(self) -> str:
        return (
            f"<torch.cuda.Stream device={self.device} cuda_stream={0 if self._queue is None else self._queue.ptr:#x}>"
        )


class Event:
    """A moment in a GPU's work, for which the processor waits when it is recorded. Raises RuntimeError without a GPU.

    Raises NotImplementedError for one that several processes see, and for one outside of a captured graph.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        if interprocess or external:
            raise NotImplementedError("Event: interprocess and external are not supported")
        try:
            library_of_gpus()
        except AssertionError:
            raise RuntimeError("Tried to instantiate dummy base class Event") from None
        self._enable_timing = enable_timing
        self._at: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Mark this moment of a stream, by default the current one."""
        (stream or current_stream()).synchronize()
        self._at = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream wait for this moment."""

    def query(self) -> bool:
        """Whether the moment has come."""
        return True

    def synchronize(self) -> None:
        """Wait for the moment."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another. Raises ValueError or RuntimeError if they don't know the time."""
        if not (self._enable_timing and end_event._enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return 1000 * (end_event._at - self._at)


_streams: dict[int, list[Stream]] = {}


def default_stream(device: Any = None) -> Stream:
    """The stream that a GPU's work is in unless another is chosen."""
    index = index_of(device)
    return _streams.setdefault(index, [Stream(index)])[0]


def current_stream(device: Any = None) -> Stream:
    """The stream that a GPU's work is put into now."""
    default_stream(device)
    return _streams[index_of(device)][-1]


def set_stream(stream: Stream) -> None:
    """Put later work of the stream's GPU into it."""
    default_stream(stream.device)
    _streams[index_of(stream.device)][1:] = [stream]


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """A context whose work is put into a stream; None changes nothing."""
    if stream is None:
        yield
        return
    default_stream(stream.device)
    streams = _streams[index_of(stream.device)]
    streams.append(stream)
    try:
        with library_of_gpus().using(stream._queue):
            yield
    finally:
        streams.pop()
