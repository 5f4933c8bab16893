"""What a profile holds: events, their sums by name, and their table.

Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.profiler_util.EventList
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


def format_time(microseconds: float) -> str:
    """A time with the unit that suits it."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"


def _share(part: float, whole: float) -> str:
    return f"{part * 100 / whole:.2f}%" if whole else "NaN"


class Interval:
    """From when to when an event lasted, in microseconds."""

    def __init__(self) -> None:
        self.start = 0.0
        self.end = 0.0

    def elapsed_us(self) -> float:
        return self.end - self.start


class Times:
    """The times of an event or of several, in microseconds. No device but the CPU is measured."""

    cpu_time_total: float
    self_cpu_time_total: float
    count: int
    device_time_total = self_device_time_total = device_time = 0.0
    cuda_time_total = self_cuda_time_total = cuda_time = 0.0

    @property
    def cpu_time(self) -> float:
        """The time of one call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)


class FunctionEvent(Times):
    """One call: when, in which thread, inside what, and of what shapes its inputs were."""

    count = 1

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        cpu_parent: FunctionEvent | None,
        input_shapes: list[Any],
        is_user_annotation: bool,
    ) -> None:
        self.id, self.thread, self.trace_name = id, thread, name
        self.name = "ProfilerStep*" if name.startswith("ProfilerStep#") else name  # steps add up
        self.cpu_parent, self.input_shapes, self.is_user_annotation = cpu_parent, input_shapes, is_user_annotation
        self.cpu_children: list[FunctionEvent] = []
        self.time_range = Interval()

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.cpu_time_total - sum(each.cpu_time_total for each in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[each.id for each in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes}>"
        )


class FunctionEventAvg(Times):
    """Calls of one name, added up."""

    def __init__(self, key: str, events: Iterable[Times], like: FunctionEvent | None = None) -> None:
        events = list(events)
        self.key = key
        self.count = sum(each.count for each in events)
        self.cpu_time_total = sum(each.cpu_time_total for each in events)
        self.self_cpu_time_total = sum(each.self_cpu_time_total for each in events)
        self.input_shapes = [] if like is None else like.input_shapes
        self.cpu_parent = None if like is None else like.cpu_parent
        self.is_user_annotation = like is not None and like.is_user_annotation

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes or ''}>"
        )


class EventList(list[Any]):
    """Events, or sums of them."""

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events without what they enclose, in microseconds."""
        return sum((each.self_cpu_time_total for each in self), 0.0)

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events added up by name, or by name and shapes of the inputs."""
        if group_by_stack_n or group_by_overload_name:
            name = "group_by_stack_n" if group_by_stack_n else "group_by_overload_name"
            raise NotImplementedError(f"key_averages: {name} is not supported")
        groups: dict[tuple[str, str], list[FunctionEvent]] = {}
        for each in self:
            groups.setdefault((each.key, str(each.input_shapes) * group_by_input_shapes), []).append(each)
        averages = EventList(FunctionEventAvg(key, events, events[0]) for (key, _), events in groups.items())
        if not group_by_input_shapes:
            for average in averages:
                average.input_shapes = []
        return averages

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        return FunctionEventAvg("Total", self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A line for each event, the largest first if `sort_by` names one of their times, such as "cpu_time_total".

        `row_limit=-1` shows all. `time_unit` is "s", "ms" or "us", by default what suits each time.
        """
        if not self:
            return ""
        events = self if sort_by is None else sorted(self, key=lambda each: getattr(each, sort_by), reverse=True)
        total = self.self_cpu_time_total
        headers = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
        widths = [_width((each.key for each in self), max_name_column_width), *[12] * 6]
        if any(each.input_shapes for each in self):
            headers.append("Input Shapes")
            widths.append(_width((str(each.input_shapes) for each in self), max_shapes_column_width))
        rows: list[list[str]] = []
        for each in events:
            if len(rows) == row_limit:
                break
            if top_level_events_only and each.cpu_parent is not None:
                continue
            own, whole, mean = each.self_cpu_time_total, each.cpu_time_total, each.cpu_time
            rows.append(
                [
                    _cut(each.key, max_name_column_width),
                    _share(own, total),
                    _with_unit(own, time_unit),
                    _share(whole, total),
                    _with_unit(whole, time_unit),
                    _with_unit(mean, time_unit),
                    str(each.count),
                    _cut(str(each.input_shapes), max_shapes_column_width),
                ][: len(headers)]
            )
        line = "".join("-" * width + "  " for width in widths)
        above = []
        if header is not None:
            above += ["=" * (len(line) - 2), header]
        if top_level_events_only:
            above += ["=" * (len(line) - 2), "This report only display top-level ops statistics"]
        lines = [_row(each, widths) for each in rows]
        end = f"Self CPU time total: {_with_unit(total, time_unit)}"
        return "\n".join([*above, line, _row(headers, widths), line, *lines, line, end, ""])

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events in the format of chrome://tracing and Perfetto."""
        events = [
            {
                "ph": "X",
                "cat": "user_annotation" if each.is_user_annotation else "cpu_op",
                "name": each.trace_name,
                "pid": os.getpid(),
                "tid": each.thread,
                "ts": each.time_range.start,
                "dur": each.time_range.elapsed_us(),
                "args": {"External id": each.id, "Input Dims": each.input_shapes},
            }
            for each in self
        ]
        import json

        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": events}, file)


def _width(texts: Iterable[str], most: int | None) -> int:
    width = max(map(len, texts)) + 4
    return width if most is None else min(width, most)


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) < width - 3 else text[: width - 3] + "..."


def _with_unit(microseconds: float, unit: str | None) -> str:
    divisor = {"s": 1e6, "ms": 1e3, "us": 1.0}.get(unit or "")
    return format_time(microseconds) if divisor is None else f"{microseconds / divisor:.3f}{unit}"


def _row(cells: list[str], widths: list[int]) -> str:
    return "".join(f"{cell:>{width}}  " for cell, width in zip(cells, widths, strict=True))
