"""What runs in the judge's sandbox: it reads what learners' processes said, and compares the values that they showed.

In its answer, all that comes from the learner has a known type and a limited length.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from course.checks import bundle
from course.checks.printable import MAX_MESSAGE
from course.grading.serve import serve

LIMITS = {"AS": 2 << 30, "CPU": 20, "CORE": 0, "FSIZE": 0}
"""Of the process that reads one message, by the names of `resource`."""
PHASES = ("setup", "solution", "check", "ended")
_MAX_WRONG = 20_000  # characters about values that differ


@dataclass(frozen=True)
class Heard:
    """A message of a learner's process. `wrong` says what differs from the expected values; empty if nothing does.

    `share` of the points is earned all the same (`bundle.share`).
    """

    nonce: str
    phase: str
    error: str = ""
    called: bool | None = None
    wrong: str | None = None
    shown: tuple[Any, ...] = ()
    used: tuple[str, ...] = ()
    share: float = 0.0


def hear(line: bytes, expected: bundle.Bundle | None, keep: bool = False) -> Heard | None:
    """Read a message and compare what it shows with the expected values; None if it is no message.

    With `keep`, which is for text that no learner wrote, all that it shows is given back.
    """
    try:
        said = json.loads(line)
        nonce, phase, error, called = said["nonce"], said["phase"], said.get("error"), said.get("called")
    except (ValueError, RecursionError, MemoryError, KeyError, TypeError, AttributeError):
        return None
    if not (isinstance(nonce, str) and phase in PHASES):
        return None
    error = error[:MAX_MESSAGE] if isinstance(error, str) else ""
    heard = Heard(nonce[:100], phase, error, called if isinstance(called, bool) else None)
    shown = said.get("shown")
    if not isinstance(shown, list):
        return heard
    if keep:
        return replace(heard, shown=tuple(shown), used=tuple(said.get("used", ())))
    if expected is None:
        return heard
    if len(shown) != 1:
        return replace(heard, wrong=f"the check showed {'more than one bundle' if shown else 'no bundle'} of values")
    wrong = bundle.difference(expected, shown[0])[:_MAX_WRONG]
    return replace(heard, wrong=wrong, share=bundle.share(expected, shown[0]))


def answer(expected: bundle.Bundle | None, line: bytes) -> dict[str, Any] | None:
    """Read a message, in a fork of the judge's process."""
    heard = hear(line, expected)
    return {name: value for name, value in vars(heard).items() if name not in ("shown", "used")} if heard else None


if __name__ == "__main__":
    serve(lambda first: answer, LIMITS)
