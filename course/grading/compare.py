"""What runs in the judge's sandbox: it reads what learners' processes said, and compares the values that they showed.

A request is a line `{"token", "size", "expected", "alone"}` and then `size` bytes, which a learner may have written.
Each is read in a fork of this process, so that nothing of it meets the next one. The answer is a line
`{"token", "heard"}`, in which all that comes from the learner has a known type and a limited length.
"""

import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass, replace
from typing import Any

from course.grading import bundle
from course.reports.printable import MAX_MESSAGE
from course.sandbox import confine

LIMITS = {"AS": 2 << 30, "CPU": 20, "CORE": 0, "FSIZE": 0}
"""Of the process that reads one message, by the names of `resource`."""
PHASES = ("setup", "solution", "check", "ended")
_MAX_WRONG = 20_000  # characters about values that differ


@dataclass(frozen=True)
class Heard:
    """A message of a learner's process. `wrong` says what differs from the expected values; empty if nothing does."""

    nonce: str
    phase: str
    error: str = ""
    called: bool | None = None
    wrong: str | None = None
    shown: tuple[Any, ...] = ()


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
        return replace(heard, shown=tuple(shown))
    if expected is None:
        return heard
    if len(shown) != 1:
        return replace(heard, wrong=f"the check showed {'more than one bundle' if shown else 'no bundle'} of values")
    return replace(heard, wrong=bundle.difference(expected, shown[0])[:_MAX_WRONG])


def main() -> None:
    """Serve until the requests end."""
    requests, answers = sys.stdin.buffer, os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    confine.die_with_parent()
    confine.hide()  # what forks from this process cannot look into it
    os.write(answers, b"{}\n")
    os.dup2(nothing, 2)  # until here, standard error says why the sandbox does not work
    os.close(nothing)
    while header := requests.readline():
        request = json.loads(header)
        line = requests.read(request["size"])
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.close(0)  # the next requests are not for this process
                confine.limit(LIMITS)
                heard = hear(line, request["expected"])
                told = heard and {name: value for name, value in vars(heard).items() if name != "shown"}
                answer = {"token": request["token"], "heard": told}
                _write(answers, json.dumps(answer).encode() + b"\n")
                os._exit(0)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        if request["alone"]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)  # all processes but this one and the namespace's first
        if status:
            _write(answers, json.dumps({"token": request["token"], "heard": None}).encode() + b"\n")


def _write(file: int, text: bytes) -> None:
    while text:
        text = text[os.write(file, text) :]


if __name__ == "__main__":
    main()
