"""Points for a submission, from what came of its exercises."""

import re

from course.authoring.notebook import tasks
from course.grading import credit, runner
from course.grading.reference import Reference
from course.grading.report import Item
from course.grading.submission import Submission
from course.kinds import kind_of

_UNDEFINED = re.compile(r"\bNameError: name '(\w+)' is not defined")


def score(submission: Submission, reference: Reference, outcomes: dict[str, runner.Outcome]) -> list[Item]:
    """Points come from explicit passes, of the exercise's check or of it with a part alone, and from nothing else."""
    items = []
    kinds = {name: kind_of(about) for name, about in tasks(reference.notebook).items()}
    owned = {name: kind.parts for name, kind in kinds.items()}

    def verdict(key: str, name: str) -> tuple[str, str]:
        status, message = reference.verdict(key, outcomes[key])
        unknown = _UNDEFINED.search(message)
        return status, message + (submission.about_undefined(unknown[1], name, owned) if unknown else "")

    for name, about in tasks(reference.notebook).items():
        if name in outcomes:
            status, message = verdict(name, name)
        elif name in submission.answered:
            status, message = submission.untried(name)
        elif name in submission.solutions:
            status, message = "skipped", "not solved yet"
        else:
            status, message = "missing", "the solution cell is not in the notebook"
        item = Item(name, about["points"] if status == "passed" else 0, about["points"], status, message)
        for share in kinds[name].shares:
            key, each = credit.key(name, share.parts), (status, message)
            if key in outcomes:
                each = verdict(key, name)
            elif name in submission.answered and status != "passed":
                each = submission.untried(name, share.parts)
            item.parts.append(credit.earned(share, *each))
        if status in ("failed", "error", "timeout") and item.parts:
            item.points, item.message = sum(part.points for part in item.parts), credit.told(item.parts, message)
        items.append(item)
    return items
