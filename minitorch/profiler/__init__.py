"""Profiles of programs that run in steps. Source: https://pytorch.org/docs/stable/profiler.html"""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from minitorch.autograd import profiler
from minitorch.autograd.profiler import record_function, refuse
from minitorch.autograd.profiler_util import EventList

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(Enum):
    """What can be recorded."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What a schedule says about a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded: the CPU's."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether a profiler can be used: True."""
    return True


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Steps in cycles: `wait` without recording, `warmup` to get ready, `active` recorded; `repeat` cycles, or no end.

    The first `skip_first` steps come before the first cycle, which doesn't wait if `skip_first_wait`.
    Source: https://pytorch.org/docs/stable/profiler.html#torch.profiler.schedule
    """

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        cycle, position = divmod(step, wait + warmup + active)
        if repeat > 0 and cycle >= repeat:
            return ProfilerAction.NONE
        if position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        is_last = position == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.RECORD

    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """An `on_trace_ready` that writes each trace to a file of its own in a folder.

    Source: https://pytorch.org/docs/stable/profiler.html#torch.profiler.tensorboard_trace_handler
    """
    if use_gzip:
        raise NotImplementedError("tensorboard_trace_handler: use_gzip is not supported")

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return handler


class profile:
    """Records what runs inside the block, or in those steps that `schedule` names: `step()` ends a step.

    `on_trace_ready(self)` is called when a recording ends. Raises NotImplementedError for what can't be recorded.
    Source: https://pytorch.org/docs/stable/profiler.html#torch.profiler.profile
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
    ) -> None:
        refuse(
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            use_cuda=use_cuda,
        )
        self.activities = supported_activities() if activities is None else set(activities)
        if ProfilerActivity.CUDA in self.activities:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.step_num = 0
        self.current_action = self._action()
        self._recorded: EventList | None = None
        self._step: record_function | None = None

    def _action(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begins with the first step."""
        if self.current_action in _RECORDING:
            profiler.start(self.record_shapes)
        self._name_step()

    def step(self) -> None:
        """Ends a step, and begins the next."""
        self._end_step()
        previous = self.current_action
        self.step_num += 1
        self.current_action = self._action()
        goes_on = self.current_action in _RECORDING
        if previous is ProfilerAction.RECORD_AND_SAVE or (previous is ProfilerAction.RECORD and not goes_on):
            self._save()
        if goes_on and previous is not ProfilerAction.RECORD:
            profiler.start(self.record_shapes)
        self._name_step()

    def stop(self) -> None:
        """Ends the last step."""
        self._end_step()
        if self.current_action in _RECORDING:
            self._save()

    def _save(self) -> None:
        self._recorded = profiler.stop()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _name_step(self) -> None:
        if self.schedule is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def events(self) -> EventList:
        """What the last recording holds."""
        if self._recorded is None:
            raise AssertionError("Profiler must be initialized before accessing events")
        return self._recorded

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events of the last recording, added up by name, or by name and shapes."""
        if self._recorded is None:
            raise AssertionError("Profiler must be initialized before getting key averages")
        return self._recorded.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the last recording in the format of chrome://tracing and Perfetto."""
        self.events().export_chrome_trace(path)
