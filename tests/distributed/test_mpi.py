"""The backend "mpi". PyTorch's wheels have none: what a rank should get follows from the collectives' definitions."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from tests.conftest import mpiexec
from tests.distributed.processes import ONE_THREAD, PROGRAMS


@pytest.mark.needs("mpi")
def test_three_processes() -> None:
    command = [str(mpiexec()), "-n", "3", sys.executable, "-m", "minitorch", str(PROGRAMS / "mpi.py")]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120, env={**os.environ, **ONE_THREAD}
    )
    results = {int(line[0]): ast.literal_eval(line[2:]) for line in ended.stdout.splitlines()}
    everywhere = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    for rank in range(3):
        assert results[rank] == [
            "mpi",
            3,
            [3.0, 6.0, 9.0, 12.0],
            [1.0, 2.0, 3.0, 4.0],
            [2.0, 3.0, 4.0, 5.0],
            [0.0, 6.0, 24.0, 60.0],
            [True, False],
            [0.0, 18.0, 72.0, 180.0] if rank == 0 else None,
            everywhere,
            everywhere if rank == 0 else [[0.0, 0.0]] * 3,
            [2.0 * rank, 2.0 * rank + 1],
            [6.0 * rank, 6.0 * rank + 3],
            [2.0 * rank + 10 * sender + i for sender in range(3) for i in range(2)],
            [True] * 3,
            *([[0, 5.0]] if rank == 1 else []),
            [{"rank": each} for each in range(3)],
            rank == 2,
            *([[2.0] * 4] if rank < 2 else []),
            [[2.0, 2.0]],
        ]
