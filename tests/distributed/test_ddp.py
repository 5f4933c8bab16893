"""DistributedDataParallel: against PyTorch's, and against one process that has the whole batch."""

from __future__ import annotations

import re

import pytest

from tests.distributed.processes import run

NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
def test_ddp_like_torch() -> None:
    expected = run("torch", "ddp.py", 2)
    actual = run("minitorch", "ddp.py", 2)
    for theirs, ours in zip(expected, actual, strict=True):
        for line, other in zip(ours, theirs, strict=True):
            assert NUMBER.sub("#", line) == NUMBER.sub("#", other)
            numbers, others = (list(map(float, NUMBER.findall(each))) for each in (line, other))
            assert numbers == pytest.approx(others, rel=1e-4, abs=2e-4), line


def test_three_processes_train_as_one_does() -> None:
    (alone,) = run("minitorch", "regression.py", 1)
    for lines in run("minitorch", "regression.py", 3):
        for line, other in zip(lines, alone, strict=True):
            assert [float(word) for word in line.split()] == pytest.approx(list(map(float, other.split())), rel=1e-9)


@pytest.mark.parametrize("count", [2, 4])
def test_simulated_gpus_train_as_one_cpu_does(count: int) -> None:
    (alone,) = run("minitorch", "regression.py", 1)
    for lines in run("minitorch", "regression.py", count, MINITORCH_SIMULATED_GPUS=str(count)):
        for line, other in zip(lines, alone, strict=True):
            assert [float(word) for word in line.split()] == pytest.approx(list(map(float, other.split())), rel=1e-9)


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
def test_three_processes_train_as_pytorchs_do() -> None:
    for lines, expected in zip(run("minitorch", "regression.py", 3), run("torch", "regression.py", 3), strict=True):
        for line, other in zip(lines, expected, strict=True):
            assert [float(word) for word in line.split()] == pytest.approx(list(map(float, other.split())), rel=1e-9)


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
def test_zero_redundancy_optimizer_like_torch() -> None:
    assert run("minitorch", "zero.py", 2) == run("torch", "zero.py", 2)
