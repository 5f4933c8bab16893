"""What ran in a learner's kernel, and which of it is the answer to an exercise: the last attempt, also a broken one."""

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import FrameType, FunctionType
from typing import Any

from course.learner.practice import Exercise
from course.source.cells import syntax_error
from course.source.kinds import Kind
from course.source.parts import held, short

CHANGED = "The cell with your answer has changed since it ran, or has not run yet. Run it, then this one."
_APART = (
    "The result isn't connected to the inputs: `detach`, `item`, NumPy or `no_grad` on the way from them to it cut the "
    "graph."
)
on_screen: dict[str, str] = {}
"""By exercise, what stands in the cell for its answer when its check begins, where JupyterLab says so."""


@dataclass
class CellRun:
    """A cell that ran: its text, its id where the front end gives one, when it began, and what it raised."""

    text: str
    cell: str = ""
    at: float = field(default_factory=time.time)
    error: BaseException | None = None


def attempt(exercise: Exercise, runs: Iterable[CellRun], since: float = 0.0) -> CellRun | None:
    """The last run of the cell for an exercise's answer, or else of a cell that could be one, however it ended.

    Args:
        exercise: which.
        runs: what ran, in order.
        since: when the exercise was reset; earlier runs don't count.
    """
    found = [run for run in runs if run.at > since]
    own = [run for run in found if run.cell == exercise.cell]
    if own:
        return own[-1]
    parts = set(map(short, exercise.kind.parts))
    whole = (run for run in reversed(found) if _could_answer(exercise.kind, run.text))
    return next(whole, None) or next((run for run in reversed(found) if parts & held(run.text)), None)


def trouble(kind: Kind, run: CellRun) -> str:
    """Why an attempt is no answer, although what ran before it may still be there; empty if it may be one."""
    if error := syntax_error(run.text):
        return f"The cell with your answer is not valid Python: {error}. Fix it and run it, then this one."
    if run.error is not None and kind.must_run:
        told = f"{type(run.error).__name__}: {run.error}".rstrip(": ")
        return f"The cell with your answer stopped with {told}. Fix it and run it, then this one."
    names = [] if kind.parts else kind.names  # of parts, what is there is graded
    if missing := [f"`{name}`" for name in names if not re.search(rf"\b{re.escape(name)}\b", run.text)]:
        return f"The cell with your answer does not define {', '.join(missing)}. Fix it and run it, then this one."
    return ""


def _could_answer(kind: Kind, text: str) -> bool:
    """Whether a cell defines what is asked for, or would if it were Python."""
    if not syntax_error(text):
        return kind.is_answered_by(text)
    names = [re.escape(name) for name in (*map(short, kind.parts), *kind.names)]
    return any(re.search(rf"^((async\s+)?def|class)\s+{name}\b|^{name}\s*[:=]", text, re.MULTILINE) for name in names)


def setup_missing(exercise: Exercise, runs: Iterable[CellRun]) -> list[str]:
    """The setup cells of an exercise's notebook that have not run."""
    texts = {run.text for run in runs}
    return [text for text in exercise.setup if text not in texts]


def gave(names: Mapping[str, Any], check: Callable[[], object]) -> str:
    """What the learner's functions returned last and their values are, as the beginning of a sentence.

    Args:
        names: what the check takes of the answer.
        check: runs the check once more, whatever it raises.
    """
    codes = {value.__code__: name for name, value in names.items() if isinstance(value, FunctionType)}
    found = {name: ("is", value) for name, value in names.items() if not callable(value)}

    def note(frame: FrameType, event: str, value: Any) -> None:
        if event == "return" and frame.f_code in codes:
            found[codes[frame.f_code]] = ("gave", value)

    sys.setprofile(note)
    try:
        check()
    finally:
        sys.setprofile(None)
    return " and ".join(f"your `{name}` {verb} {_article(value)}" for name, (verb, value) in found.items())


def failed(gave: str, error: str) -> str:
    """What to say where a check could not work with an answer."""
    begun = f"{gave[0].upper()}{gave[1:]}; the check then" if gave else "The check of your answer"
    apart = f"\n{_APART}" if "does not require grad and does not have a grad_fn" in error else ""
    empty = (
        "\nA function that doesn't `return` anything gives None."
        if "` gave None" in gave and "'NoneType'" in error
        else ""
    )
    return f"{begun} failed with {error}{apart}{empty}"


def _article(value: Any) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in {*'aeiou'} else 'a'} {name}"
