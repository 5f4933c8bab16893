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


def start(library: str, program: str, processes: int, *arguments: str) -> list[subprocess.Popen[str]]:
    """Starts the program as ranks 0 … `processes` − 1, which find each other by the file that STORE names."""
    store = os.path.join(tempfile.mkdtemp(prefix="minitorch-distributed-"), "store")
    command = [*interpreter(library), str(PROGRAMS / program), *arguments]
    common = {**os.environ, **ONE_THREAD, "STORE": store, "WORLD_SIZE": str(processes)}
    return [
        subprocess.Popen(
            command,
            env={**common, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]


def run(library: str, program: str, processes: int, *arguments: str) -> list[list[str]]:
    """The lines that each rank prints. All have to end well."""
    started = start(library, program, processes, *arguments)
    try:
        ended = [process.communicate(timeout=SECONDS) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (output, errors) in zip(started, ended, strict=True):
        assert process.returncode == 0, output + errors
    return [output.splitlines() for output, _ in ended]
