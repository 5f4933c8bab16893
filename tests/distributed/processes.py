"""Running one program in several processes, under PyTorch or under minitorch."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
SECONDS = 120
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def interpreter(library: str) -> list[str]:
    return [sys.executable, *(["-m", "minitorch"] if library == "minitorch" else [])]


def run(library: str, program: str, processes: int, *arguments: str, **environment: str) -> list[list[str]]:
    """The lines that each of the ranks 0 … `processes` − 1 prints; they find each other by the file that STORE names.

    All have to end well, but for torch's, which may be aborted at the very end, when its threads are left over.
    """
    command = [*interpreter(library), str(PROGRAMS / program), *arguments]
    with tempfile.TemporaryDirectory(prefix="minitorch-distributed-") as folder:
        common = {
            **os.environ,
            **ONE_THREAD,
            **environment,
            "STORE": os.path.join(folder, "store"),
            "WORLD_SIZE": str(processes),
        }
        started = [
            subprocess.Popen(
                command,
                env={**common, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(processes)
        ]
        try:
            ended = [process.communicate(timeout=SECONDS) for process in started]
        finally:
            for process in started:
                process.kill()
    for process, (output, errors) in zip(started, ended, strict=True):
        left_over = library == "torch" and errors.rstrip().endswith("terminate called without an active exception")
        assert process.returncode == 0 or left_over, output + errors
    return [output.splitlines() for output, _ in ended]
