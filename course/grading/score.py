"""Points for a submission, from what came of its exercises."""

import re
from collections.abc import Set

from course.checks import credit
from course.grading import runner
from course.grading.reference import Reference
from course.grading.report import Item
from course.grading.submission import Submission
from course.source.kinds import kind_of

_UNDEFINED = re.compile(r"\bNameError: name '(\w+)' is not defined")
_AT_ODDS = "right beside the reference's other parts, but not together with your own"


def score(
    submission: Submission, reference: Reference, outcomes: dict[str, runner.Outcome], at_odds: Set[str] = frozenset()
) -> list[Item]:
    """Points come from explicit passes, of the exercise's check or of it with a part alone, and from nothing else.

    Args:
        submission: what was answered.
        reference: what is right.
        outcomes: what came of the exercises, and of the parts that were tried alone.
        at_odds: of these the parts that are right alone, and not with each other.
    """
    items = []
    kinds = {name: kind_of(about) for name, about in reference.tasks.items()}
    owned = {name: kind.parts for name, kind in kinds.items()}

    def verdict(key: str, name: str) -> tuple[str, str]:
        status, message = reference.verdict(key, outcomes[key])
        unknown = _UNDEFINED.search(message)
        return status, message + (submission.about_undefined(unknown[1], name, owned) if unknown else "")

    for name, about in reference.tasks.items():
        if name in outcomes:
            status, message = verdict(name, name)
        elif name in submission.answered:
            status, message = submission.untried(name)
        elif name in submission.solutions:
            status, message = "skipped", "not solved yet"
        else:
            status, message = "missing", "the solution cell is not in the notebook"
        item = Item(name, about["points"] if status == "passed" else 0, about["points"], status, message)
        item.code = submission.solutions[name] if name in submission.answered else ""
        if status == "failed" and (points := int(reference.share(name, outcomes[name]) * item.max_points)):
            item.points, item.message = points, f"{message}\nThat is worth {points} of {item.max_points} points."
        for share in kinds[name].shares:
            key, each = credit.key(name, share.parts), (status, message)
            if key in at_odds:
                each = "failed", _AT_ODDS
            elif key in outcomes:
                each = verdict(key, name)
            elif name in submission.answered and status != "passed":
                each = submission.untried(name, share.parts)
            item.parts.append(credit.earned(share, *each))
        if status in ("failed", "error", "timeout") and item.parts:
            item.points, item.message = sum(part.points for part in item.parts), credit.told(item.parts, message)
        items.append(item)
    return items
