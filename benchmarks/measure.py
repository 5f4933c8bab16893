"""Timing several implementations of one thing so that their ratio can be trusted on a busy machine."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

ROUNDS = 15
SECONDS_A_ROUND = 0.03


def interleaved(actions: Mapping[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Seconds of the processor a call, one figure a round.

    In each round all take their turn, so that a slow moment slows them all.
    """
    repeats = {name: _repeats(action) for name, action in actions.items()}
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(ROUNDS):
        for name, action in actions.items():
            start = time.process_time()
            for _ in range(repeats[name]):
                action()
            seconds[name].append((time.process_time() - start) / repeats[name])
    return seconds


def _repeats(action: Callable[[], Any]) -> int:
    action()  # the first call pays for lazy imports
    return max(1, round(SECONDS_A_ROUND / max(_processor_seconds(action), 1e-7)))


def least_seconds(actions: Mapping[str, Callable[[], Any]], seconds: float = 0.2) -> dict[str, float]:
    """The least processor time of a call, for each of several actions in turn, in about `seconds` for each."""
    best = {name: _processor_seconds(action) for name, action in actions.items()}  # imports and caches are paid for
    spent = 0.0
    for _ in range(100):
        for name, action in actions.items():
            taken = _processor_seconds(action)
            best[name] = min(best[name], taken)
            spent += taken
        if spent > seconds * len(actions):
            break
    return best


def _processor_seconds(action: Callable[[], Any]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def ratio(seconds: list[float], reference: list[float]) -> float:
    """The median over the rounds of time ÷ the reference's time."""
    return statistics.median(own / other for own, other in zip(seconds, reference, strict=True))


_IMPORT = """
import json, sys, time, psutil
memory = psutil.Process().memory_info
before = memory().rss
start = time.perf_counter()
__import__(sys.argv[1])
seconds = time.perf_counter() - start
print(json.dumps([seconds, (memory().rss - before) / 2**20]))
"""


def import_cost(module: str, runs: int = 7) -> tuple[float, float]:
    """Milliseconds and MiB (resident) that importing a module costs a fresh interpreter: medians over `runs`."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _IMPORT, module]
    results = []
    for _ in range(runs + 1):  # the first run compiles, as it does once on every machine
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        results.append(json.loads(done.stdout))
    del results[0]
    return statistics.median(each[0] for each in results) * 1e3, statistics.median(each[1] for each in results)


_PEAK = """
import pathlib, sys
import benchmarks
from benchmarks.networks import PROGRAMS
library = __import__(sys.argv[1])

def memory(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 2**10

if sys.argv[1] == "torch":
    library.set_num_threads(1)
before = memory("VmRSS")
program = {name: program for name, _, program in PROGRAMS}[sys.argv[2]](library)
pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew: what initialization took does not count
for _ in range(3):
    program()
print(memory("VmHWM") - before)
"""


def peak_memory(library: str, name: str) -> float:
    """MiB that a program of `networks` has resident at its peak, parameters included, the library not. On Linux."""
    command = [sys.executable, "-c", _PEAK, library, name]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
