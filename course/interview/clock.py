"""Time, so that tests can have their own."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Clock:
    """`now` is the time of day, in seconds since 1970; `ticks` only ever goes forward.

    An interview writes every `every` seconds how long its item has taken: a kill gives back no more than these.
    """

    now: Callable[[], float] = field(default=time.time)
    ticks: Callable[[], float] = field(default=time.monotonic)
    every: float = 5.0


class Watch:
    """Measures one answer. One that isn't timed measures nothing."""

    def __init__(self, clock: Clock, allowed: float, timed: bool, spent: float = 0.0) -> None:
        self.clock, self.allowed, self.timed = clock, allowed, timed
        self.began = clock.ticks() - spent
        self.seconds: float | None = None

    def stop(self) -> None:
        """The answer was given."""
        if self.timed and self.seconds is None:
            self.seconds = round(self.clock.ticks() - self.began, 1)

    @property
    def running(self) -> float | None:
        """The seconds so far; None without a clock, and once the answer was given."""
        return self.clock.ticks() - self.began if self.timed and self.seconds is None else None

    @property
    def late(self) -> bool:
        """Whether the answer took longer than is allowed."""
        return self.seconds is not None and self.seconds > self.allowed

    def said(self) -> str:
        """How long it took, for the learner; empty without a clock."""
        if self.seconds is None:
            return ""
        if self.late:  # rounded up, or 20.3 s would be "20 s, late: 20 s are allowed"
            return f"{spoken(self.seconds, math.ceil)}, late: {spoken(self.allowed)} are allowed"
        return spoken(self.seconds)


def spoken(seconds: float, whole: Callable[[float], int] = round) -> str:
    """150 s, or 15 min."""
    return f"{whole(seconds)} s" if seconds < 180 else f"{whole(seconds / 60)} min"
