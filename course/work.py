"""Count work: a check passes the expensive operation to the answer and shows whether it was used within a limit.

Counting is more robust than the alternatives. CPU times vary by a factor of two on a loaded machine, so a limit that
fails no correct answer would let slow ones pass. A counting array stops counting after `np.asarray`, and does not see
loops over lists. An operation that only the check provides is counted exactly, and gives the same number everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Counted:
    """A function whose calls are counted, and the work of each; call it as the function.

    Args:
        function: does the work.
        work: gives the work of a call from its arguments; 1 for each if left out.
    """

    def __init__(self, function: Callable[..., Any], work: Callable[..., int] = lambda *_, **__: 1) -> None:
        self._function, self._work = function, work
        self.calls = self.work = 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        self.work += int(self._work(*arguments, **named))
        return self._function(*arguments, **named)


def within(spent: int, most: int, least: int = 1) -> str:
    """What a check shows of a number of calls, or of their work: the same for all that keep the limit.

    Args:
        spent: the number.
        most: the limit.
        least: what every correct answer needs; less than that means that the operation was bypassed.
    """
    if spent < least:
        return f"{spent}, which is less than the {least} that it takes"
    return f"at most {most}" if spent <= most else f"{spent}, which is more than {most}"
