"""Random programs that autograd records do the same in PyTorch and in minitorch: values, gradients, history, refusals.

How many are run, see `test_views.py`.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.random_programs.autograd import program
from tests.random_programs.drawing import Draw
from tests.random_programs.examples import COUNT, DERANDOMIZE

torch = pytest.importorskip("torch", reason="the expected values are torch's")


@settings(max_examples=COUNT, derandomize=DERANDOMIZE, suppress_health_check=list(HealthCheck), database=None)
@given(st.data())
def test_programs_that_autograd_records(data: st.DataObject) -> None:
    program(Draw(lambda choices: data.draw(st.sampled_from(choices))), torch, steps=14)
