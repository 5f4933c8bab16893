"""Programs that start processes of their own, unchanged, on PyTorch and on minitorch: they print the same numbers."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys

import pytest

from tests.distributed.processes import ONE_THREAD, PROGRAMS, SECONDS, interpreter

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


TRIES = {"minitorch": 1, "torch": 6}
"""PyTorch's processes abort at their end now and then: "terminate called without an active exception"."""


def check_same(actual: list[str], expected: list[str]) -> None:
    assert len(expected) >= 6
    assert [NUMBER.sub("#", line) for line in actual] == [NUMBER.sub("#", line) for line in expected]
    numbers, others = ([float(each) for line in texts for each in NUMBER.findall(line)] for texts in (actual, expected))
    assert numbers == pytest.approx(others, rel=1e-4)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("program", ["ddp_tutorial.py", "all_reduce_sgd.py"])
def test_spawned_processes(program: str) -> None:
    ours, theirs = (
        lines([*interpreter(library), str(PROGRAMS / program), str(free_port())], tries)
        for library, tries in TRIES.items()
    )
    check_same(ours, theirs)


@pytest.mark.needs("torch")
def test_processes_of_the_launcher() -> None:
    options = ["--standalone", "--nproc-per-node=2", str(PROGRAMS / "distributed_sampler.py")]
    ours, theirs = (
        lines([sys.executable, "-m", f"{library}.distributed.run", *options], tries) for library, tries in TRIES.items()
    )
    check_same(ours, theirs)
