"""What takes too long for each commit runs in turn: `make test TURN=7`, or the variable MINITORCH_TURN."""

import os
from collections.abc import Sequence
from typing import TypeVar

Case = TypeVar("Case")


def this_turn() -> int | None:
    """Which turn it is, if one is named."""
    turn = os.environ.get("MINITORCH_TURN", "")
    return int(turn) if turn else None


def in_turn(cases: Sequence[Case], turns: int, turn: int | None) -> list[Case]:
    """Those of this turn, or all of them where none is named. After so many `turns` each had its own."""
    return [case for place, case in enumerate(cases) if turn is None or place % turns == turn % turns]
