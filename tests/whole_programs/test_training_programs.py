"""The programs in `programs/`, unchanged, on PyTorch and on minitorch: they print the same numbers."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
TOLERANCE = {"mixed_precision": 1e-2}  # bfloat16 keeps three digits
USUAL_TOLERANCE = 1e-3


@pytest.mark.turns(2)
@pytest.mark.needs("torch")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_trains_with_pytorchs_numbers(program: Path) -> None:
    actual = subprocess.run(
        [sys.executable, "-m", "minitorch", str(program)], capture_output=True, text=True, check=False
    )
    assert actual.returncode == 0, actual.stderr
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(program))  # in this process, where torch is loaded once for all
    expected = printed.getvalue()
    assert NUMBER.sub("#", actual.stdout) == NUMBER.sub("#", expected)
    numbers = list(map(float, NUMBER.findall(expected)))
    assert len(numbers) >= 5
    tolerance = TOLERANCE.get(program.stem, USUAL_TOLERANCE)
    assert list(map(float, NUMBER.findall(actual.stdout))) == pytest.approx(numbers, rel=tolerance, abs=1e-6)
