"""Collectives, point to point and groups, against PyTorch's Gloo backend: three processes, one line a question."""

from __future__ import annotations

import pytest

from tests.distributed.processes import run


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
def test_collectives_like_torch() -> None:
    expected = run("torch", "collectives.py", 3)
    actual = run("minitorch", "collectives.py", 3)
    for theirs, ours in zip(expected, actual, strict=True):
        differing = [(line, other) for line, other in zip(theirs, ours, strict=True) if line != other]
        assert not differing, "\n".join(f"{line}\n  {other}" for line, other in differing)


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
@pytest.mark.parametrize("processes", [3, 4])
def test_sums_have_the_same_bits(processes: int) -> None:
    assert run("minitorch", "summation.py", processes) == run("torch", "summation.py", processes)


def test_on_simulated_gpus_as_on_the_cpu() -> None:
    expected = run("minitorch", "on_gpus.py", 3, "cpu")
    assert run("minitorch", "on_gpus.py", 3, MINITORCH_SIMULATED_GPUS="3") == expected
    assert [line.split()[0] for line in expected[0]][:3] == ["all_reduce", "average", "async"]
