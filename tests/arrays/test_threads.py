"""`set_num_threads` sets the threads of NumPy's BLAS, and `get_num_threads` says how many these are."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import minitorch
from minitorch.arrays import threads

PROGRAM = """
import os, minitorch
print(minitorch.get_num_threads())
minitorch.set_num_threads(3)
print(minitorch.get_num_threads())
minitorch.ones(600, 600) @ minitorch.ones(600, 600)
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(threads._openblas("get_num_threads") is None, reason="NumPy uses another BLAS here")
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads as Linux lists them")
def test_the_library_starts_the_threads_that_are_asked_for() -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert printed.stdout.split() == ["1", "3", "3"]


def test_another_library_is_said_to_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_openblas", lambda name: None)
    with pytest.warns(UserWarning, match="set_num_threads changes nothing"):
        minitorch.set_num_threads(4)
    assert minitorch.get_num_threads() == 1
