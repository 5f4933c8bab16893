"""Profiles: what is recorded, how it is added up and printed, and that nothing of it is left afterwards."""

from __future__ import annotations

import importlib
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitorch
from minitorch.autograd import engine
from minitorch.dispatch import layers
from minitorch.profiler import ProfilerActivity, profile
from tests.same import attempt, same


def module(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.profiler")


def cpu(torch: Any) -> Any:
    return [module(torch).ProfilerActivity.CPU]


def step(torch: Any) -> None:
    x = torch.ones(3, 4, requires_grad=True)
    with module(torch).record_function("forward"):
        y = (x.exp() * x).sum()
    y.backward()


@same
def test_ops_and_nodes_of_a_step(torch: Any) -> Any:
    """PyTorch also lists ops that an op is composed of; those that both list ran as often, in as many shapes."""
    with module(torch).profile(activities=cpu(torch), record_shapes=True) as prof:
        step(torch)
    names = ["forward", "aten::exp", "aten::sum", "ExpBackward0", "MulBackward0", "SumBackward0"]
    names += [f"autograd::engine::evaluate_function: {name}" for name in names[3:]]
    names.append("torch::autograd::AccumulateGrad")
    counts = {each.key: each.count for each in prof.key_averages()}
    shapes = {each.key: each.input_shapes for each in prof.key_averages(group_by_input_shape=True)}
    return [counts[name] for name in names], shapes["aten::exp"], shapes["forward"]


def test_events_are_nested_as_the_calls() -> None:
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        step(minitorch)
    events = {each.name: each for each in prof.events()}
    inside = {"aten::exp": "forward", "MulBackward0": "autograd::engine::evaluate_function: MulBackward0"}
    for name, around in inside.items():
        outer, inner = events[around], events[name]
        assert inner.cpu_parent is outer
        assert inner in outer.cpu_children
        assert outer.time_range.start <= inner.time_range.start <= inner.time_range.end <= outer.time_range.end
    assert events["forward"].cpu_parent is None
    for each in events.values():
        within = sum(child.cpu_time_total for child in each.cpu_children)
        assert each.self_cpu_time_total == pytest.approx(each.cpu_time_total - within)
        assert each.cpu_time_total >= each.self_cpu_time_total >= 0


def test_averages_add_up() -> None:
    with profile() as prof:
        for _ in range(3):
            minitorch.ones(4) * 2
    (product,) = [each for each in prof.key_averages() if each.key == "aten::mul"]
    events = [each for each in prof.events() if each.name == "aten::mul"]
    assert product.count == len(events) == 3
    assert product.cpu_time_total == pytest.approx(sum(each.cpu_time_total for each in events))
    assert product.cpu_time == pytest.approx(product.cpu_time_total / 3)
    total = prof.events().total_average()
    assert total.self_cpu_time_total == pytest.approx(prof.events().self_cpu_time_total)


NUMBER = re.compile(r" +\d+\.\d+(us|ms|s|%)")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sort_by": "cpu_time_total", "row_limit": 1},
        {"header": "A header", "time_unit": "us"},
        {"max_name_column_width": 20, "top_level_events_only": True},
    ],
    ids=str,
)
@same
def test_tables(torch: Any, options: dict[str, Any]) -> Any:
    """Without ops, both libraries record the same; but for the times, the tables are equal to the last blank."""
    record_function = module(torch).record_function
    with module(torch).profile(activities=cpu(torch)) as prof:
        for _ in range(2):
            with record_function("a part of the program with a long name, longer than the column"):
                with record_function("inner"):
                    sum(range(100))
                sum(range(1000))
    table = prof.key_averages().table(**options)
    total = re.compile(r"(Self CPU time total:) [0-9.]+(us|ms)")
    return NUMBER.sub(lambda found: "#".rjust(len(found[0])), total.sub(r"\1", table))


def test_the_table_shows_shapes_and_is_sorted() -> None:
    with profile(record_shapes=True) as prof:
        minitorch.ones(2, 3) @ minitorch.ones(3, 4)
        minitorch.ones(5) + 1
    averages = prof.key_averages(group_by_input_shape=True)
    table = averages.table(sort_by="self_cpu_time_total")
    assert "Input Shapes" in table
    assert "[[2, 3], [3, 4]]" in table
    shown = [line.split()[0] for line in table.splitlines() if line.strip().startswith("aten::")]
    by_time = sorted(averages, key=lambda each: -each.self_cpu_time_total)
    assert shown == [each.key for each in by_time]


@same
def test_schedules(torch: Any) -> Any:
    arguments = [
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1},
        {"wait": 0, "warmup": 1, "active": 1},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first": 2, "skip_first_wait": 1},
    ]
    schedules = [module(torch).schedule(**each) for each in arguments]
    wrong = attempt(lambda: module(torch).schedule(wait=-1, warmup=0, active=1))
    return [[each(number).name for number in range(20)] for each in schedules], wrong


@pytest.mark.parametrize("steps", [3, 5, 12])
@same
def test_traces_of_a_schedule(torch: Any, steps: int) -> Any:
    seen: list[Any] = []

    def ready(prof: Any) -> None:
        names = [each.name for each in prof.events()]
        seen.append((prof.step_num, [name for name in names if name in ("aten::exp", "ProfilerStep*")]))

    plan = module(torch).schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    with module(torch).profile(activities=cpu(torch), schedule=plan, on_trace_ready=ready) as prof:
        for _ in range(steps):
            torch.ones(2).exp()
            prof.step()
    return seen


@same
def test_the_profile_of_autograd(torch: Any) -> Any:
    with torch.autograd.profiler.profile() as prof:
        torch.ones(2).exp()
    (exp,) = [each for each in prof.function_events if each.name == "aten::exp"]
    return exp.count, prof.self_cpu_time_total > 0, "aten::exp" in str(prof)


def test_a_profile_that_is_not_enabled() -> None:
    with minitorch.autograd.profiler.profile(enabled=False) as prof:
        assert minitorch.autograd.profiler.begin("anything") is None
    with pytest.raises(RuntimeError, match="didn't finish running"):
        prof.key_averages()


@same
def test_decorated_functions(torch: Any) -> Any:
    @module(torch).record_function("named")
    def function(x: Any) -> Any:
        return x.exp()

    outside = function(torch.ones(1))
    with module(torch).profile(activities=cpu(torch)) as prof:
        function(torch.ones(1))
        function(torch.ones(1))
    return [each.count for each in prof.key_averages() if each.key == "named"], outside


def test_chrome_trace(tmp_path: Path) -> None:
    with profile(record_shapes=True, on_trace_ready=module(minitorch).tensorboard_trace_handler(str(tmp_path))) as prof:
        step(minitorch)
    prof.export_chrome_trace(str(tmp_path / "again.json"))
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    for file in files:
        events = {each["name"]: each for each in json.loads(file.read_text())["traceEvents"]}
        forward, exp = events["forward"], events["aten::exp"]
        assert forward["cat"] == "user_annotation" and exp["cat"] == "cpu_op"
        assert forward["ts"] <= exp["ts"] and exp["ts"] + exp["dur"] <= forward["ts"] + forward["dur"]
        assert exp["args"]["Input Dims"] == [[3, 4]]


def in_a_thread(run: Callable[[], Any]) -> None:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


@same
def test_another_thread_is_not_recorded(torch: Any) -> Any:
    def elsewhere() -> None:
        with module(torch).record_function("elsewhere"):
            step(torch)

    with module(torch).profile(activities=cpu(torch)) as prof:
        in_a_thread(elsewhere)
        torch.ones(2).cos()
    return [each.key for each in prof.key_averages() if each.key in ("aten::exp", "aten::cos", "elsewhere")]


def test_two_threads_are_recorded_apart() -> None:
    counts = []

    def recorded() -> None:
        with profile() as prof:
            step(minitorch)
        counts.append({each.key: each.count for each in prof.key_averages()})

    with profile() as prof:
        in_a_thread(recorded)
        step(minitorch)
    counts.append({each.key: each.count for each in prof.key_averages()})
    assert counts[0] == counts[1]
    assert counts[0]["MulBackward0"] == 1


@same
def test_writes_have_names_of_their_own(torch: Any) -> Any:
    with module(torch).profile(activities=cpu(torch)) as prof:
        torch.ones(2).add_(1)
        torch.add(torch.ones(2), 1, out=torch.empty(2))
    return [each.name for each in prof.events() if "add" in each.name]


def test_nothing_is_left() -> None:
    observers = list(engine.OBSERVERS)

    def fails() -> None:
        with profile() as prof:
            assert layers.count == len(layers.stack.layers) == 1
            with pytest.raises(RuntimeError, match="Profiler is already enabled"), profile():
                pass
            prof.step()
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fails()
    assert layers.count == len(layers.stack.layers) == 0
    assert observers == engine.OBSERVERS


@same
def test_what_is_not_there(torch: Any) -> Any:
    unused = module(torch).profile(activities=cpu(torch))
    return attempt(unused.key_averages), attempt(unused.events)


def test_what_is_refused() -> None:
    for name in ("profile_memory", "with_stack", "with_flops", "with_modules"):
        with pytest.raises(NotImplementedError, match=name):
            profile(**{name: True})
