"""Whether the values of a check depend on its fresh inputs, so that they cannot be sent without doing the exercise.

The learner's notebook holds what a correct answer shows for the practice seed, and whoever reads the check can draw its
numbers for any other seed. So a value counts as known if it is the same for every seed, or a linear function of one
number that was drawn. The rest of a check's values must differ from seed to seed, unless they are stored as a digest.
"""

import re
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from nbformat import NotebookNode

from course import variables
from course.files import Course
from course.grading.packages import Kits
from course.grading.pool import Pool
from course.grading.reference import Draw, Reference
from course.notebooks.notebook import exercise_of, role, tasks
from course.notebooks.notebook import reference as reference_notebook
from course.sandbox.launch import Limits
from course.source.exercises import read_exercises

SEEDS = (1, 20, 303, 4004, 50005)
_LEAST = 4  # different sets of values that these seeds have to give; two of them may meet by chance
_SECONDS, _WALL_SECONDS = 600, 3600
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_ON_EACH_SEED = """
import os
import numpy
from course import check

class Recorded(numpy.random.Generator):
    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name.startswith("_") or not callable(found):
            return found
        def recorded(*arguments, **named):
            values = found(*arguments, **named)
            drawn.extend(numpy.ravel(arguments[0] if values is None else values).tolist())
            return values
        return recorded

names, deliver, runs = dict(globals()), check.deliver, []
check.rng = lambda: Recorded(numpy.random.PCG64(check.seed()))
for seed in {seeds}:
    shown, drawn = [], []
    os.environ[{variable!r}], check.deliver = str(seed), shown.append
    exec({check!r}, dict(names))
    runs.append([shown[0]["values"], [float(each) for each in drawn if isinstance(each, (int, float))]])
deliver(runs)
"""
"""A check that runs another one with each of some seeds, and tells what it shows and which numbers it draws."""

Values = dict[str, Any]
"""Numbers and words by where they stand in a bundle."""


def known_in_advance(course: Course, path: Path) -> dict[str, str]:
    """The exercises of a source whose values could be sent without doing them, and why."""
    found = {}
    for name, runs in _runs(course, reference_notebook(read_exercises(path))).items():
        if isinstance(runs, str):
            found[name] = runs
        elif not all(value["kind"] == "secret" for value in runs[0][0].values()):
            left = _unknown([dict(_flat(values)) for values, _ in runs], [drawn for _, drawn in runs])
            different = [each for place, each in enumerate(left) if each not in left[:place]]
            if len(different) < _LEAST:
                found[name] = f"drawn numbers aside, {len(SEEDS)} seeds show {len(different)} sets of values"
    return found


def _runs(course: Course, notebook: NotebookNode) -> dict[str, list[Any] | str]:
    """The values that the check of each exercise shows and the numbers that it draws, by seed; or why it shows none."""
    solutions = {exercise_of(cell): cell.source for cell in notebook.cells if role(cell) == "solution"}
    nothing = {name: Draw(SEEDS[0], {}) for name in tasks(notebook)}
    with (
        tempfile.TemporaryDirectory(prefix="course-") as folder,
        Pool(Limits(), threading.Event(), 4, is_trusted=True) as pool,
    ):
        kits = Kits(Path(folder) / "kits", course, notebook)
        reference = Reference(notebook, kits, SEEDS[0], explain=False, draws=nothing)
        made = [reference.task(name, solutions[name]) for name in nothing]
        asked = [replace(each, check=_seeded(each.check)) for each in made]
        outcomes = pool.run_own(asked, _SECONDS, time.monotonic() + _WALL_SECONDS)
    return {
        name: each.heard.shown[0] if each.heard and each.heard.shown else each.message
        for name, each in outcomes.items()
    }


def _seeded(check: str) -> str:
    return _ON_EACH_SEED.format(seeds=SEEDS, variable=variables.SEED, check=check)


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers and words of some JSON by where they stand; so are names, and the numbers within a text."""
    if isinstance(value, (dict, list)):
        inner = [*value, *value.values()] if isinstance(value, dict) else value
        for index, each in enumerate(inner):
            yield from _flat(each, f"{place}/{index} of {len(inner)}")
    elif isinstance(value, str):
        yield place, _NUMBER.sub("#", value)
        for index, number in enumerate(_NUMBER.findall(value)):
            yield f"{place}#{index}", float(number)
    else:
        yield place, float(value) if isinstance(value, (int, float)) else value


def _unknown(shown: list[Values], drawn: list[list[float]]) -> list[Values]:
    """The values of each run without those that are known in advance."""
    draws = np.array([each[: min(map(len, drawn))] for each in drawn])
    places = [place for place in shown[0] if all(place in values for values in shown)]
    known = {place for place in places if _is_known([values[place] for values in shown], draws)}
    return [{place: value for place, value in values.items() if place not in known} for values in shown]


def _is_known(values: list[Any], draws: Any) -> bool:
    """Whether a value is the same in all runs, or lies on a line above one of the numbers that were drawn."""
    if all(value == values[0] for value in values):
        return True
    if not all(isinstance(value, float) and np.isfinite(value) for value in values) or not draws.size:
        return False
    steps, rises = draws[1:] - draws[0], np.array(values[1:]) - values[0]
    with np.errstate(all="ignore"):
        slopes = rises[:, None] / steps
    return bool(np.any(np.all(np.isclose(slopes, slopes[0], rtol=1e-4), axis=0)))
