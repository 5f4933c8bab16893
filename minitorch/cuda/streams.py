"""Streams and events: queues of a GPU's work, and moments in them.

A simulated GPU does all work at once, so a stream is empty whenever one looks, and events measure the host's time.
Source: https://pytorch.org/docs/stable/cuda.html#streams-and-events
"""

from __future__ import annotations

import itertools
import time
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from minitorch import streams
from minitorch.cuda.selection import index_of, library_of_gpus, set_device
from minitorch.devices import device as Device
from minitorch.devices import gpu

HIGHEST, LOWEST = -3, 0


class Stream(streams.Stream):
    """A queue of a GPU's work; as a context manager, the current one. Raises RuntimeError without a GPU.

    Work of a lower `priority` is done first; what is out of range becomes the nearest that there is. The stream with
    the `stream_id` 0 is the GPU's default one.
    """

    device_type = 1  # PyTorch's number of CUDA

    def __init__(self, device: Any = None, priority: int = 0, *, stream_id: int | None = None) -> None:
        try:
            index = index_of(device)
        except AssertionError:
            raise RuntimeError("torch.cuda.Stream requires CUDA support") from None
        self.device: Device = gpu(index)
        self.priority = max(HIGHEST, min(priority, LOWEST))
        self.device_index = index
        self.stream_id = next(_numbers) if stream_id is None else stream_id
        library = library_of_gpus()
        self._queue = library.new_stream(index, self.priority) if self.stream_id else library.default_stream()
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
            with library_of_gpus().on(self.device_index):
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

    @property
    def cuda_stream(self) -> int:
        """CUDA's address of it: 0 of the default stream; of a simulated GPU its number."""
        return self.stream_id if self._queue is None else int(self._queue.ptr)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_index, self.stream_id) == (other.device_index, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device_index, self.stream_id))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


_numbers = itertools.count(1)


class Event(streams.Event):
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
        self._device: Device | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Mark this moment of a stream, by default the current one."""
        stream = stream or current_stream()
        stream.synchronize()
        self._device = stream.device
        self._at = time.perf_counter()

    @property
    def device(self) -> Device | None:
        """The device of the stream that it marks; None before it is recorded."""
        return self._device

    def __repr__(self) -> str:
        return "<torch.cuda.Event uninitialized>" if self._at is None else f"<torch.cuda.Event {id(self):#x}>"

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
    return _streams.setdefault(index, [Stream(index, stream_id=0)])[0]


def current_stream(device: Any = None) -> Stream:
    """The stream that a GPU's work is put into now."""
    default_stream(device)
    return _streams[index_of(device)][-1]


def set_stream(stream: Stream) -> None:
    """Put later work of the stream's GPU into it, and make that GPU the current one."""
    default_stream(stream.device)
    _streams[stream.device_index][1:] = [stream]
    set_device(stream.device_index)


class StreamContext:
    """A context whose work is put into a stream, whose GPU is the current one; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        self._entered = ExitStack()
        if self.stream is None:
            return
        default_stream(self.stream.device)
        entered, library = _streams[self.stream.device_index], library_of_gpus()
        with ExitStack() as stack:
            entered.append(self.stream)
            stack.callback(entered.pop)
            stack.enter_context(library.on(self.stream.device_index))
            stack.enter_context(library.using(self.stream._queue))
            self._entered = stack.pop_all()

    def __exit__(self, *error: object) -> None:
        self._entered.close()


def stream(stream: Stream | None) -> StreamContext:
    """A context whose work is put into a stream, whose GPU is the current one; None changes nothing."""
    return StreamContext(stream)


def is_current_stream_capturing() -> bool:
    """Whether the work put into the current stream is captured in a graph: never."""
    return False
