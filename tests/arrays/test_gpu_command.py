"""`make gpu`: what it says without a GPU, and that its programs run on one, here simulated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minitorch
from benchmarks import gpu
from minitorch.cuda import simulate

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("simulated", ["", "2"])
def test_without_a_gpu_it_says_so_and_fails(simulated: str) -> None:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "" if not simulated else "0,1"}
    if simulated:
        environment["MINITORCH_SIMULATED_GPUS"] = simulated
    command = [sys.executable, "-m", "benchmarks.gpu"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "make gpu: there is no GPU here, or no CuPy that finds it (pip install cupy-cuda12x)\n"


def test_its_programs_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "milliseconds", lambda torch, action: (action(), 1.5)[1])
    monkeypatch.setattr(gpu, "pytorch", lambda: None)
    simulate(1)
    try:
        lines: Any = gpu.figures(lambda size: 1)
        assert minitorch.cuda.max_memory_allocated() > 2**26
    finally:
        simulate(0)
    assert len(lines) == 2 + len(gpu.WORKLOADS)
    assert lines[2] == "| matrix product, 1 × 1 | 1.50 ms | not measured |  |"
