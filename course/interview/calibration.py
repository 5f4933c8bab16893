"""How sure somebody was against how often they were right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from course.image import Picture
from course.interview import quantities
from course.interview.history import Answer
from course.interview.schedule import ENOUGH

LEVELS = (10, 30, 50, 70, 90)
"""What can be said to "how sure are you?", in percent."""


_SHARE = re.compile(r"0?[.,]\d+|1[.,]0+")


def percent(text: str) -> int:
    """How sure somebody is, in percent, as people type it: `85`, `85 %`, `0.85`, `9/10`, `fifty-fifty`.

    Raises:
        ValueError: it is no percentage, or can be read in two ways.
    """
    given = text.strip().lower()
    if given in ("50/50", "50-50", "fifty-fifty", "fifty fifty"):
        return 50
    is_share = _SHARE.fullmatch(given)
    value = 100 * float(given.replace(",", ".")) if is_share else quantities.number(given, "percent")
    if not 0 <= value <= 100:
        raise ValueError(f"{value:g} % isn't between 0 and 100 %")
    if 0 < value < 10 and not is_share and not re.search(r"%|per|pct|/|of|in", given):
        raise ValueError(f"{value:g} may be {value:g} % or {10 * value:g} %: write the sign")
    return round(value)


@dataclass(frozen=True)
class Level:
    """All answers of which somebody was equally sure: how many, and how many of them were right."""

    sure: int
    right: int
    asked: int

    @property
    def share(self) -> float:
        """The share of right ones, in percent."""
        return 100 * self.right / self.asked


def levels(pairs: Iterable[tuple[int, bool]]) -> list[Level]:
    """From pairs (sure, right): a level for each percentage that was said, from low to high."""
    given = list(pairs)
    sures = sorted({sure for sure, _ in given})
    return [
        Level(sure, sum(right for each, right in given if each == sure), sum(each == sure for each, _ in given))
        for sure in sures
    ]


def pairs(answers: Iterable[Answer]) -> list[tuple[int, bool]]:
    """(sure, right) of each answer for which somebody said how sure they were."""
    return [
        (each.sure, each.score >= ENOUGH if each.right is None else each.right)
        for each in answers
        if each.sure is not None
    ]


def brier(pairs: Iterable[tuple[int, bool]]) -> float:
    """The mean squared distance of the probabilities from 1 (right) or 0 (wrong): 0 is best, 0.25 is 50 % each time."""
    given = list(pairs)
    return sum((sure / 100 - right) ** 2 for sure, right in given) / len(given)


def verdict(pairs: Iterable[tuple[int, bool]]) -> str:
    """What the numbers mean, in a sentence.

    Somebody whose percentages are correct is off by chance; two standard deviations of that say nothing about them.
    """
    given = list(pairs)
    said, was = (sum(each[place] for each in given) / len(given) for place in (0, 1))
    apart = said - 100 * was
    mean = f"{said:.0f} % sure on average, and right in {100 * was:.0f} %"
    if abs(apart) < 10:
        return f"{mean}: your confidence fits."
    deviation = 100 * sum(sure / 100 * (1 - sure / 100) for sure, _ in given) ** 0.5 / len(given)
    if abs(apart) <= 2 * deviation:
        return f"{mean}: {'1 answer is' if len(given) == 1 else f'{len(given)} answers are'} too few to tell."
    return f"{mean}: {'you are overconfident' if apart > 0 else 'you are underconfident'}."


def bars(found: Iterable[Level], width: int = 30) -> str:
    """A line of text for each level: a bar for the share that was right, and a mark at the percentage that was said."""
    lines = []
    for level in found:
        bar = ["█" if place < round(width * level.share / 100) else "·" for place in range(width)]
        bar[min(width - 1, round(width * level.sure / 100))] = "│"
        lines.append(f"{level.sure:3} % sure  {''.join(bar)}  {level.right} of {level.asked} right")
    return "\n".join([*lines, f"{'':12}│ stands at what you said, the bar at how many were right"])


def curve(found: Sequence[Level]) -> Picture:
    """A point for each level: how many were right, over what was said, and how far that is from the diagonal."""
    from course.pictures.theme import COLOURS, QUIET, axes, publish, styled  # the terminal needs no matplotlib

    with styled():
        panel = axes(5, 3.4)
        panel.set(xlabel="how sure you were (%)", ylabel="right (%)", xticks=LEVELS, xlim=(-10, 110), ylim=(-10, 110))
        panel.plot([0, 100], [0, 100], color=QUIET, linestyle=":", marker="")
        panel.annotate("as sure as right", (100, 100), (6, 0), textcoords="offset points", va="center_baseline")
        for each in found:
            panel.plot([each.sure] * 2, [each.sure, each.share], color=COLOURS["result"], marker="")
            panel.plot(each.sure, each.share, color=COLOURS["result"], marker="o")
            above = each.share >= each.sure  # the number stands where the diagonal doesn't
            where: Any = {"xytext": (-7, 6) if above else (7, -6), "ha": "right" if above else "left"}
            words = f"{each.right} of {each.asked}"
            panel.annotate(words, (each.sure, each.share), textcoords="offset points", va="center_baseline", **where)
    told = "; ".join(f"{each.sure} % sure, {each.right} of {each.asked} right" for each in found)
    return publish(panel, f"How often you were right, by how sure you were: {told}.")
