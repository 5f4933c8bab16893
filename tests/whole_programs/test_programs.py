"""Whole PyTorch programs, unchanged, on PyTorch and on minitorch."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NUMBER = re.compile(r"\d+\.\d+")


def run(script: str, *interpreter_options: str) -> str:
    command = [sys.executable, *interpreter_options, str(HERE / script)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.turns(8)
@pytest.mark.needs("torch")
def test_digits_mlp_trains_with_pytorchs_numbers() -> None:
    expected, actual = run("digits_mlp.py"), run("digits_mlp.py", "-m", "minitorch")
    assert NUMBER.sub("#", actual) == NUMBER.sub("#", expected)  # the same lines, the model's repr among them
    losses = list(map(float, NUMBER.findall(actual)))[:-1]
    assert len(losses) == 10
    assert losses == pytest.approx(list(map(float, NUMBER.findall(expected)))[:-1], rel=1e-4)


def test_digits_mlp_reaches_95_percent() -> None:
    accuracy = float(NUMBER.findall(run("digits_mlp.py", "-m", "minitorch"))[-1])
    assert accuracy >= 0.95


def test_a_missing_script_is_said() -> None:
    command = [sys.executable, "-m", "minitorch", "no_such_script.py"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "no such script: no_such_script.py" in result.stderr
