"""A design is judged by a simulator: every limit is kept, and the cost is near that of the cheapest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from course import check
from course.source.exercises import SourceError, read_exercises
from tests.course.test_source import CHECK, GOOD, MUTANT, source_of

OPTIONS: dict[str, list[Any]] = {"cars": [1, 2, 3, 20, 23, 24], "size": ["small", "large"]}


def simulate(cars: int, size: str) -> tuple[dict[str, bool], float]:
    """Cars for 40 people who may not arrive in small ones; 20 large cars are the cheapest."""
    return {"seats": cars * (5 if size == "large" else 2) >= 40, "comfort": size == "large"}, 10.0 * cars


def shown(**decisions: Any) -> dict[str, Any]:
    return check.design(decisions, OPTIONS, simulate)


def test_designs_that_are_near_enough_show_what_the_cheapest_does() -> None:
    kept = {"seats": True, "comfort": True}
    assert shown(cars=20, size="large") == {"not among the options": [], "limits": kept, "cost": 200}
    assert shown(cars=23, size="large") == shown(cars=20, size="large")  # 1.15 times as much


def test_a_design_that_costs_more_shows_its_own_cost() -> None:
    assert shown(cars=24, size="large")["cost"] == 240


def test_a_design_that_breaks_a_limit_shows_which_and_its_own_cost() -> None:
    found = shown(cars=23, size="small")
    assert (found["limits"], found["cost"]) == ({"seats": True, "comfort": False}, 230)
    assert shown(cars=3, size="large")["limits"] == {"seats": False, "comfort": True}


@pytest.mark.parametrize(
    ("decisions", "wrong"),
    [
        ({"cars": 20}, ["size"]),
        ({"cars": 21, "size": "large"}, ["cars"]),
        ({"cars": 20, "size": "large", "colour": "red"}, ["colour"]),
        ({}, ["cars", "size"]),
    ],
)
def test_decisions_that_are_no_options_are_named(decisions: dict[str, Any], wrong: list[str]) -> None:
    assert shown(**decisions) == {"not among the options": wrong, "limits": {}, "cost": None}


class Equal(float):
    """Equal to whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = float.__hash__


class Says(dict[str, Any]):
    """Gives other values one by one than as keywords."""

    def get(self, name: str, default: object = None) -> Any:
        return OPTIONS[name][-1]


def test_only_options_are_simulated_whatever_a_decision_pretends_to_be() -> None:
    assert shown(cars=Equal(0.1), size=Equal(0.0)) == shown(cars=24, size="large")
    assert check.design(Says(cars=0.1, size="large"), OPTIONS, simulate) == shown(cars=24, size="large")


def test_the_check_of_a_design_lets_the_simulator_judge(tmp_path: Path) -> None:
    more = f'\n# %% mutant="area"\n{MUTANT.replace("Circumference", "Again")}def area(radius):\n    return radius\n'
    text = GOOD.replace('kind="build" points=2 replaces="shapes:area"', 'kind="design" points=2') + more
    with pytest.raises(SourceError, match=r"shows what check\.design says of its decisions"):
        read_exercises(source_of(tmp_path, text))
    (tmp_path / "judged").mkdir()
    judged = text.replace(CHECK, 'check.show(check.design({"r": area(2)}, {"r": [1]}, lambda r: ({}, r)))')
    (exercise,) = read_exercises(source_of(tmp_path / "judged", judged)).exercises
    assert exercise.kind.where() == " · every limit kept, at most 1.15 times the cheapest"
