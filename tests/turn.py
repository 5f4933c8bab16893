"""What takes too long for each commit runs in turn, by the number of commits; `make test TURN=all` runs everything."""

import os
from collections.abc import Sequence
from typing import TypeVar

Case = TypeVar("Case")


def this_turn() -> int | None:
    """Which turn it is, as the variable MINITORCH_TURN says; None where all of them are."""
    turn = os.environ.get("MINITORCH_TURN", "all")
    return None if turn in ("", "all") else int(turn)


def in_turn(cases: Sequence[Case], turns: int, turn: int | None) -> list[Case]:
    """Those of this turn, or all of them where none is named. After so many `turns` each had its own."""
    return [case for place, case in enumerate(cases) if turn is None or place % turns == turn % turns]
