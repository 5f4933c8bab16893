"""Streams and events of simulated GPUs, and copies into arrays that are given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import minitorch
from minitorch.arrays import simulated
from minitorch.cuda import Event, Stream, current_stream, default_stream, simulate


@pytest.fixture(autouse=True)
def two_gpus() -> Iterator[None]:
    simulate(2)
    yield
    simulate(0)


def test_priorities_are_those_that_there_are() -> None:
    assert Stream.priority_range() == (0, -3)
    assert [Stream(priority=each).priority for each in (0, -1, -3, -9, 5)] == [0, -1, -3, -3, 0]


def test_a_stream_is_the_current_one_inside() -> None:
    one, other = Stream(), Stream(device=1)
    with one, other:
        assert current_stream(0) is one
        assert current_stream() is current_stream(1) is other
        with one:
            assert current_stream() is one
        assert current_stream() is other
    assert current_stream() is default_stream()
    assert current_stream(1) is default_stream(1)


def test_events_measure_time_in_order() -> None:
    first, second, silent = Event(enable_timing=True), Event(enable_timing=True), Event()
    with pytest.raises(ValueError, match="must be recorded before"):
        first.elapsed_time(second)
    first.record()
    minitorch.ones(100, 100, device="cuda").sum()
    second.record(Stream())
    assert first.elapsed_time(second) > 0
    assert second.elapsed_time(first) < 0
    silent.record()
    assert silent.query()
    with pytest.raises(ValueError, match="enable_timing=True"):
        first.elapsed_time(silent)
    for options in ({"interprocess": True}, {"external": True}):
        with pytest.raises(NotImplementedError):
            Event(**options)


def test_a_copy_goes_where_it_is_told() -> None:
    array = simulated.xp.arange(6).reshape(2, 3)
    for out in (np.empty((2, 3), "int64"), np.empty((3, 2), "int64").T):
        assert array.get(out=out) is out
        assert out.tolist() == [[0, 1, 2], [3, 4, 5]]
    out = np.zeros((2, 3), "int64")
    assert simulated.xp.asnumpy(array, out=out) is out
    assert out[1, 2] == 5
    for wrong, error in (
        (np.empty((2, 3)), TypeError),
        (np.empty((3, 2), "int64"), ValueError),
        (np.empty((2, 6), "int64")[:, ::2], RuntimeError),
        ([0], TypeError),
    ):
        with pytest.raises(error):
            array.get(out=wrong)
