"""Random programs of views, memory formats, writes and reads do the same in PyTorch and in minitorch.

300 programs are run, the same ones every time; `RANDOM_PROGRAMS=20000 pytest tests/random_programs` runs that many,
other ones every time.
"""

from __future__ import annotations

import pytest

from tests.random_programs.drawing import Draw
from tests.random_programs.examples import of_random_programs
from tests.random_programs.views import program

torch = pytest.importorskip("torch", reason="the expected values are torch's")


@of_random_programs
def test_programs_of_views_and_writes(draw: Draw) -> None:
    program(draw, torch, steps=14)
