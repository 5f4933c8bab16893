"""Random programs that autograd records do the same in PyTorch and in minitorch: values, gradients, history, refusals.

How many are run, see `test_views.py`.
"""

from __future__ import annotations

import pytest

from tests.random_programs.autograd import program
from tests.random_programs.drawing import Draw
from tests.random_programs.examples import of_random_programs

torch = pytest.importorskip("torch", reason="the expected values are torch's")


@pytest.mark.turns(8)
@of_random_programs
def test_programs_that_autograd_records(draw: Draw) -> None:
    program(draw, torch, steps=14)
