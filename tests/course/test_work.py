"""A limit of work is kept or not, whatever the machine does meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from course import check
from course.authoring.source import SourceError, read_exercises
from tests.course.test_source import CHECK, GOOD, MUTANT, source_of


def test_calls_and_their_work_are_counted() -> None:
    total = check.Counted(sum, lambda values, start=0: len(values))
    assert (total([1, 2]), total([3], start=4)) == (3, 7)
    assert (total.calls, total.work) == (2, 3)
    each = check.Counted(max)
    each([1, 2])
    assert (each.calls, each.work) == (1, 1)


@pytest.mark.parametrize(
    ("spent", "said"),
    [
        (8, "8, which is less than the 9 that it takes"),
        (9, "at most 10"),
        (10, "at most 10"),
        (11, "11, which is more than 10"),
    ],
)
def test_all_that_keep_a_limit_show_the_same(spent: int, said: str) -> None:
    assert check.within(spent, 10, 9) == said


def test_the_check_of_a_timed_exercise_counts(tmp_path: Path) -> None:
    more = f'\n# %% mutant="area"\n{MUTANT.replace("Circumference", "Again")}def area(radius):\n    return radius\n'
    text = GOOD.replace('kind="build" points=2 replaces="shapes:area"', 'kind="timed" points=2') + more
    with pytest.raises(SourceError, match=r"shows with check\.within what its answer spends"):
        read_exercises(source_of(tmp_path, text))
    (tmp_path / "counted").mkdir()
    counted = "f = check.Counted(pow)\ncheck.show({'area': area(f), 'calls': check.within(f.calls, 1)})"
    (exercise,) = read_exercises(source_of(tmp_path / "counted", text.replace(CHECK, counted))).exercises
    assert "which are counted" in exercise.kind.where()
