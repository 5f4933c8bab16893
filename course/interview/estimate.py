"""A kind of estimate: numbers drawn from a seed, a formula, and how close is close enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.interview.quantities import shown

Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Estimate:
    """A kind of estimate.

    `asks` is the task, with the drawn numbers in braces. `answer` is in `unit`; an answer within `tolerance` of it (a
    share of it) is right. `formula` is how it's found, with the numbers in braces.
    """

    name: str
    chapter: str
    asks: str
    choices: Mapping[str, tuple[Any, ...]]
    answer: Callable[[Numbers], float]
    unit: str
    formula: str
    tolerance: float = 0.1

    def drawn(self, rng: np.random.Generator) -> dict[str, Any]:
        """Numbers for one task."""
        return {name: values[int(rng.integers(len(values)))] for name, values in self.choices.items()}

    def task(self, numbers: Numbers) -> str:
        """What is asked, and how close an answer has to be."""
        close = f"within {100 * self.tolerance:.0f} %" if self.tolerance else "exactly"
        return f"{self.asks.format(**numbers)} Answer in {self.unit}, {close}."

    def is_close(self, given: float, numbers: Numbers) -> bool:
        """Whether an answer is close enough."""
        right = self.answer(numbers)
        return abs(given - right) <= max(self.tolerance, 1e-9) * abs(right)

    def off(self, given: float, numbers: Numbers) -> str:
        """By how much a wrong answer is wrong: a factor is what was forgotten; empty where no factor says it."""
        share = given / self.answer(numbers)
        if share >= 1.5:
            return f"{shown(round(share, 1))} times too large"
        if 0 < share <= 1 / 1.5:
            return f"{shown(round(1 / share, 1))} times too small"
        percent = round(100 * abs(share - 1))
        return f"{percent} % too {'large' if share > 1 else 'small'}" if share > 0 and percent else ""

    def says(self, numbers: Numbers) -> str:
        """The answer, and how to find it."""
        return f"{self.formula.format(**numbers)} = {self.amount(self.answer(numbers))}"

    def amount(self, value: float) -> str:
        """A value with its unit, as a sentence says it."""
        return f"{shown(value)} {'million' if self.unit == 'millions' else self.unit.partition(' (')[0]}"
