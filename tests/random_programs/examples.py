"""How many random programs are run: RANDOM_PROGRAMS new ones, reduced where one fails; or 300, always the same."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.random_programs.drawing import Draw

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "0"))


def of_random_programs(test: Callable[[Draw], None]) -> Callable[[], None]:
    """Makes a test of what a test does with one program."""
    if not COUNT:
        return lambda: _always_the_same(test)

    @settings(max_examples=COUNT, suppress_health_check=list(HealthCheck), database=None)
    @given(st.data())
    def new_ones(data: st.DataObject) -> None:
        test(Draw(lambda choices: data.draw(st.sampled_from(choices))))

    return new_ones


def _always_the_same(test: Callable[[Draw], None]) -> None:
    """Without hypothesis, whose programs depend on which modules are loaded."""
    for seed in range(300):
        test(Draw(random.Random(seed).choice))
