"""Programs that start processes of their own, unchanged, on PyTorch and on minitorch: they print the same numbers."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributed.processes import ONE_THREAD, PROGRAMS, SECONDS, interpreter

LESSONS = Path(__file__).parents[2] / "notebooks/files"
NUMBER = re.compile(r"-?\d+\.\d+")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def lines(command: list[str], tries: int = 1) -> list[str]:
    """What the processes print, sorted: they print at the same time, but each all at once: its output is buffered."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | ONE_THREAD
    for _ in range(tries):
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS, env=environment)
        if ended.returncode == 0:
            return sorted(ended.stdout.splitlines())
    raise AssertionError(ended.stdout + ended.stderr)


TRIES = {"minitorch": 1, "torch": 12}
"""PyTorch's processes abort at their end now and then: "terminate called without an active exception". On a
busy machine, every second try did."""


def launched(script: Path) -> tuple[list[str], list[str]]:
    """What two processes of the launcher print, minitorch's and PyTorch's."""
    options = ["--standalone", "--nproc-per-node=2", str(script)]
    ours, theirs = (
        lines([sys.executable, "-m", f"{library}.distributed.run", *options], tries) for library, tries in TRIES.items()
    )
    return ours, theirs


def check_same(actual: list[str], expected: list[str]) -> None:
    assert len(expected) >= 6
    assert [NUMBER.sub("#", line) for line in actual] == [NUMBER.sub("#", line) for line in expected]
    numbers, others = ([float(each) for line in texts for each in NUMBER.findall(line)] for texts in (actual, expected))
    assert numbers == pytest.approx(others, rel=1e-4)


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
@pytest.mark.parametrize("program", ["ddp_tutorial.py", "all_reduce_sgd.py"])
def test_spawned_processes(program: str) -> None:
    ours, theirs = (
        lines([*interpreter(library), str(PROGRAMS / program), str(free_port())], tries)
        for library, tries in TRIES.items()
    )
    check_same(ours, theirs)


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
def test_processes_of_the_launcher() -> None:
    check_same(*launched(PROGRAMS / "distributed_sampler.py"))


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
@pytest.mark.parametrize("script", ["two_ranks.py", "two_shards.py", "groups.py"])
def test_scripts_of_the_lessons(script: str) -> None:
    ours, theirs = launched(LESSONS / script)
    assert ours == theirs and len(ours) >= 3
