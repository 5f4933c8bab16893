"""What ran, and how long: every op's kernel, every node of a backward pass, and the parts of a program that it names.

While nothing is recorded, ops know nothing of it: a recording puts kernels that take the time in the place of the ops'
own, and takes them away at the end. The time of an op is its kernel's; what Python does around it counts for whatever
encloses the op. Source: https://pytorch.org/docs/stable/autograd.html#profiler
"""

from __future__ import annotations

import functools
import importlib
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from minitorch.autograd import engine
from minitorch.autograd.node import Gradients, Node
from minitorch.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg
from minitorch.dispatch.declaration import OPS

__all__ = ["profile", "record_function"]

F = TypeVar("F", bound=Callable[..., Any])


class Recording(threading.local):
    """The events that are under way in a thread, the innermost last."""

    def __init__(self) -> None:
        self.open: list[FunctionEvent] = []


class _State:
    """The one recording of the process, if any: where finished events go, and whether they keep shapes."""

    def __init__(self) -> None:
        self.events: list[FunctionEvent] | None = None
        self.record_shapes = False
        self.kernels: dict[str, Any] = {}


_threads = Recording()
_state = _State()


def begin(name: str, inputs: Any = (), is_user_annotation: bool = False) -> FunctionEvent | None:
    """Opens an event inside the one that is open in this thread; None while nothing is recorded."""
    if _state.events is None:
        return None
    parent = _threads.open[-1] if _threads.open else None
    shapes = [_shape(each) for each in inputs] if _state.record_shapes else []
    event = FunctionEvent(len(_state.events), name, threading.get_native_id(), parent, shapes, is_user_annotation)
    _state.events.append(event)
    _threads.open.append(event)
    event.time_range.start = time.perf_counter_ns() / 1000
    return event


def end(event: FunctionEvent | None) -> None:
    """Closes an event."""
    if event is not None:
        event.time_range.end = time.perf_counter_ns() / 1000
        _threads.open.pop()
        if event.cpu_parent is not None:
            event.cpu_parent.cpu_children.append(event)


def _shape(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [_shape(each) for each in value if hasattr(each, "shape")]
    return list(getattr(value, "shape", ()))


def _timed(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    def timed(xp: Any, *values: Any) -> Any:
        event = begin(name, values)
        try:
            return kernel(xp, *values)
        finally:
            end(event)

    return timed


def _observe(node: Node, run: engine.Compute, grads: Any) -> Gradients:
    outer = begin(f"autograd::engine::evaluate_function: {node.name()}")
    inner = begin(node.name(), grads)
    try:
        return run(grads)
    finally:
        end(inner)
        end(outer)


def start(record_shapes: bool) -> None:
    """Begins to record, in all threads. Raises RuntimeError if that has begun already."""
    if _state.events is not None:
        raise RuntimeError("Profiler is already enabled on this thread")
    importlib.import_module("minitorch.ops.layer_table")  # otherwise these ops would come when first used
    _state.record_shapes = record_shapes
    _state.kernels = {name: op.kernel for name, op in OPS.items()}
    for op in OPS.values():
        op.kernel = _timed(f"aten::{op.name}", op.kernel)  # type: ignore[assignment]
    engine.OBSERVERS.append(_observe)
    _state.events = []


def stop() -> EventList:
    """Ends the recording, and gives what was recorded."""
    recorded, _state.events = _state.events or [], None
    engine.OBSERVERS.remove(_observe)
    for name, kernel in _state.kernels.items():
        OPS[name].kernel = kernel
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
