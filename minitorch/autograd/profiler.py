"""What ran, and how long: every op, every node of a backward pass, and the parts of a program that it names.

A recording is a layer around the ops of its thread (`minitorch.dispatch.layers`), and an observer of the engine.
Source: https://pytorch.org/docs/stable/autograd.html#profiler
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from minitorch.autograd import engine
from minitorch.autograd.node import Gradients, Node
from minitorch.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg
from minitorch.dispatch import layers
from minitorch.dispatch.apply import apply_in_place
from minitorch.dispatch.op import Op

__all__ = ["profile", "record_function"]

F = TypeVar("F", bound=Callable[..., Any])


class ProfilerState(threading.local):
    """The one recording of a thread, if any: its events, whether they keep shapes, and those under way."""

    def __init__(self) -> None:
        self.events: list[FunctionEvent] | None = None
        self.record_shapes = False
        self.open: list[FunctionEvent] = []  # the innermost last
        self.observe: Any = None


_state = ProfilerState()


def begin(name: str, inputs: Any = (), is_user_annotation: bool = False) -> FunctionEvent | None:
    """Opens an event inside the one that is open; None while this thread records nothing."""
    if _state.events is None:
        return None
    parent = _state.open[-1] if _state.open else None
    shapes = [_shape(each) for each in inputs] if _state.record_shapes else []
    event = FunctionEvent(len(_state.events), name, threading.get_native_id(), parent, shapes, is_user_annotation)
    _state.events.append(event)
    _state.open.append(event)
    event.time_range.start = time.perf_counter_ns() / 1000
    return event


def end(event: FunctionEvent | None) -> None:
    """Closes an event."""
    if event is not None:
        event.time_range.end = time.perf_counter_ns() / 1000
        _state.open.pop()
        if event.cpu_parent is not None:
            event.cpu_parent.cpu_children.append(event)


def _shape(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [_shape(each) for each in value if hasattr(each, "shape")]
    return list(getattr(value, "shape", ()))


def _timed(op: Op, args: Sequence[Any], below: layers.Below) -> Any:
    """The layer: an event around an op."""
    event = begin(f"aten::{op.aten_name(args)}{'_' if below is apply_in_place else ''}", args)
    try:
        return below(op, args)
    finally:
        end(event)


def _observe(thread: int, node: Node, run: engine.Compute, grads: Any) -> Gradients:
    if thread != threading.get_ident():
        return run(grads)
    outer = begin(f"autograd::engine::evaluate_function: {node.name()}")
    inner = begin(node.name(), grads)
    try:
        return run(grads)
    finally:
        end(inner)
        end(outer)


def start(record_shapes: bool) -> None:
    """Begins to record this thread. Raises RuntimeError if that has begun already."""
    if _state.events is not None:
        raise RuntimeError("Profiler is already enabled on this thread")
    _state.record_shapes = record_shapes
    layers.push(_timed)
    _state.observe = functools.partial(_observe, threading.get_ident())
    engine.OBSERVERS.append(_state.observe)
    _state.events = []


def stop() -> EventList:
    """Ends the recording, and gives what was recorded."""
    recorded, _state.events = _state.events or [], None
    layers.remove(_timed)
    engine.OBSERVERS.remove(_state.observe)
    now = time.perf_counter_ns() / 1000
    for event in recorded:
        event.time_range.end = event.time_range.end or now
    return EventList(recorded)


class record_function:
    """Names a part of the program in a profile: as a context manager, or as the decorator of a function.

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.profiler.record_function.html
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self.event = begin(self.name, is_user_annotation=True)
        return self

    def __exit__(self, *error: object) -> None:
        end(self.event)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


class profile:
    """Records what runs inside the block. Raises NotImplementedError for what it can't record: memory, stacks, FLOPs.

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.profiler.profile.html
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
    ) -> None:
        refuse(
            use_cuda=use_cuda,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
        )
        self.enabled, self.record_shapes = enabled, record_shapes
        self.function_events: EventList | None = None

    def __enter__(self) -> profile:
        if self.enabled:
            start(self.record_shapes)
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            self.function_events = stop()

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)

    __repr__ = __str__

    def table(self, **options: Any) -> str:
        """The events as a table: see `EventList.table`."""
        return self._events().table(**options)

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """The events added up by name."""
        return self._events().key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        return self._events().total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events in the format of chrome://tracing and Perfetto."""
        self._events().export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events without what they enclose, in microseconds."""
        return self._events().self_cpu_time_total


def refuse(**arguments: Any) -> None:
    """Raises NotImplementedError for arguments that are given and not supported."""
    for name, value in arguments.items():
        if value:
            raise NotImplementedError(f"profile: {name} is not supported")


class emit_nvtx:
    """Marks for NVIDIA's profilers. Raises NotImplementedError."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        raise NotImplementedError("emit_nvtx: minitorch emits no marks for NVIDIA's profilers; use profile()")
