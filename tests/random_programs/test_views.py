"""Random programs of views, memory formats, writes and reads do the same in PyTorch and in minitorch.

300 programs are run, the same ones every time; `RANDOM_PROGRAMS=20000 pytest tests/random_programs` runs that many,
other ones every time.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.random_programs.drawing import Draw
from tests.random_programs.examples import COUNT, DERANDOMIZE
from tests.random_programs.views import program

torch = pytest.importorskip("torch", reason="the expected values are torch's")


@settings(max_examples=COUNT, derandomize=DERANDOMIZE, suppress_health_check=list(HealthCheck), database=None)
@given(st.data())
def test_programs_of_views_and_writes(data: st.DataObject) -> None:
    program(Draw(lambda choices: data.draw(st.sampled_from(choices))), torch, steps=14)
