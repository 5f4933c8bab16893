"""The inputs of checks tell known mistakes from right answers, whatever the seed.

Each turn runs one exercise in 32, on a seed that no turn before it had (`make test TURN=7`), and each night
as many are run on two hundred. All of them, on many seeds: `python -m course.authoring.draws`.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from course.authoring.draws import exercises, faults
from course.files import CODE, Course
from tests.turn import in_turn, this_turn

TURN = this_turn() or 0
TURNS, SEEDS = 32, int(os.environ.get("MINITORCH_SEEDS", "1"))
CHECK = re.compile(r'^# %% check="(\w+)"', re.MULTILINE)
EVERY = [
    (path, name)
    for path in sorted((CODE / "chapters").glob("*/exercises.py"))
    for name in CHECK.findall(path.read_text(encoding="utf-8"))
]
WEAK = """
# %% setup=true
from course import check

# %% [markdown] exercise="larger" kind="build" points=1
# ### Exercise 1 · The larger one
# Give the larger of two numbers.

# %% solution="larger"
def larger(a, b):
    ### BEGIN SOLUTION
    return max(a, b)
    ### END SOLUTION

# %% check="larger"
a, b = check.rng().integers(0, 3, 2).tolist()
check.show({"of two": larger(a, b), "again": larger(a, b), "the second": b})

# %% [markdown] hint="larger"
# One.

# %% [markdown] hint="larger"
# Two.

# %% [markdown] hint="larger"
# Three.

# %% mutant="larger"
# The first
# It is the first.
def larger(a, b):
    return a

# %% mutant="larger"
# The sum
# It is larger than both.
def larger(a, b):
    return a + b + 1
"""


@pytest.mark.parametrize(
    ("path", "name"),
    [pytest.param(path, name, id=name) for path, name in in_turn(EVERY, TURNS, TURN)],
)
def test_no_draw_lets_a_mistake_pass_or_the_reference_fail(path: Path, name: str) -> None:
    chosen = [name for each in exercises(path) if each == name]
    seeds = range(SEEDS * TURN, SEEDS * (TURN + 1))
    assert list(faults(Course(CODE), path, chosen, seeds)) == []


@pytest.mark.turns(8)
def test_the_seeds_on_which_a_mistake_passes_are_found_and_values_that_tell_the_same(tmp_path: Path) -> None:
    path = tmp_path / "chapters" / "01_weak" / "exercises.py"
    path.parent.mkdir(parents=True)
    path.write_text(WEAK.lstrip(), encoding="utf-8")
    seeds = range(20)
    drawn = {seed: np.random.default_rng(seed).integers(0, 3, 2).tolist() for seed in seeds}
    hidden = {seed for seed, (a, b) in drawn.items() if a >= b}
    assert 0 < len(hidden) < len(seeds)
    found = {(fault.seed, fault.what) for fault in faults(Course(tmp_path), path, ["larger"], seeds, twins=True)}
    twins = (seeds[0], "'again' and 'of two' are equal in every run")
    assert found == {twins} | {(seed, "mutant 'The first' passes") for seed in hidden}
