"""Compiled loops compute the bits of the kernels whose place they take."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from minitorch.arrays import loops
from tests.kernels.loop_results import results


@pytest.mark.turns(8)
@pytest.mark.needs("numba")
def test_loops_compute_the_bits_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, and in one that reads them from the cache and has three threads, where each is called."""
    with np.errstate(all="ignore"):  # minitorch's own filter is off here
        monkeypatch.setattr(loops, "mode", "0")
        expected = dict(results())
        monkeypatch.setattr(loops, "mode", "1")
        different = [label for label, array in results() if not np.array_equal(array, expected[label])]
    assert different == []

    done = run("1", IN_A_PROCESS)
    assert done == [digest(expected.values()), "compiled: 0", "not called:"]


def digest(arrays: Iterable[np.ndarray]) -> str:
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array))
    return whole.hexdigest()


IN_A_PROCESS = """
import sys
from tests.kernels.test_loops import digest, results
from minitorch.kernels.loops import threads
threads.PART = 16
threads.get_num_threads = lambda: 3
print(digest(array for _, array in results()))
modules = [vars(module) for name, module in sys.modules.items() if name.startswith("minitorch.kernels.loops.")]
loops = {name: each for module in modules for name, each in module.items() if name[0] == "_" and hasattr(each, "stats")}
print("compiled:", sum(sum(each.stats.cache_misses.values()) for each in loops.values()))
print("not called:", *(name for name, each in loops.items() if not each.signatures))
"""


def run(mode: str, program: str, **environment: str) -> list[str]:
    """The lines that a program prints in a process of its own."""
    environment = {**os.environ, "MINITORCH_LOOPS": mode, **environment}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return [line.strip() for line in done.stdout.splitlines()]


SHORT = """
import sys
import minitorch
from minitorch.arrays import loops

x = minitorch.ones(4, 4)
x.softmax(-1)
print("numba" in sys.modules)
loops.START = loops.LOAD = 5 * loops.CALL
for _ in range(5):
    y = x.softmax(-1)
print("numba" in sys.modules, y[0, 0].item(), loops.why_off())
"""


@pytest.mark.needs("numba")
def test_numba_is_imported_where_it_pays() -> None:
    assert run("", SHORT) == ["False", "True 0.25 None"]


def test_loops_are_switched_off() -> None:
    assert run("0", SHORT) == ["False", "False 0.25 MINITORCH_LOOPS is 0"]


def test_loops_that_cannot_be_kept_are_off(tmp_path: Path) -> None:
    """For compiling them in every process would take longer than they save."""
    tmp_path.joinpath("minitorch").touch()  # a file where the folder would be
    lines = run("", SHORT, XDG_CACHE_HOME=str(tmp_path))
    assert lines[1].startswith("False 0.25 ")


def test_a_changed_loop_is_not_read_from_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Numba looks at the file of a loop alone, and not at those from which it calls functions."""
    folders = []
    monkeypatch.setattr(loops, "FOLDER", str(tmp_path))
    for text in ("one", "other"):
        tmp_path.joinpath("inner.py").write_text(text)
        folders.append(loops.cache_folder.__wrapped__())
    assert folders[0] != folders[1]
