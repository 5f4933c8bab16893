"""What the learner's notebook says about an answer, at once: right, or what is wrong and what is right already.

It is for practice: no grade reads it. But it gives the same credit.
"""

from collections.abc import Callable

from course.checks import bundle, credit
from course.checks.bundle import Bundle
from course.learner.practice import Exercise

Shown = tuple[list[Bundle], str]
"""What a check showed, and what it raised."""


def wrong(exercise: Exercise, shown: Shown, text: str, alone: Callable[[list[str]], Shown]) -> str:
    """What is wrong with an answer; empty if nothing is.

    Args:
        exercise: whose check ran.
        shown: what it showed.
        text: the learner's cell.
        alone: runs the check with only these of the exercise's parts the learner's.
    """
    status, message = _judged(exercise, shown)
    kind = exercise.kind
    if status == "passed" or not kind.shares:
        return message
    parts = []
    for share in kind.shares:
        judged = credit.untried(text, exercise.stub, share.parts)
        if not judged[0]:
            judged = _judged(exercise, alone(share.parts))
        parts.append(credit.earned(share, *judged))
    return credit.told(parts, message)


def _judged(exercise: Exercise, shown: Shown) -> tuple[str, str]:
    bundles, error = shown
    if error or not bundles:
        return "error", error or "the check showed no values"
    differs = bundle.difference(exercise.expected, bundles[0])
    return "failed" if differs else "passed", differs
