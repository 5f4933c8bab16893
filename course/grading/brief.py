"""Messages in which nothing stands that an answer chose.

A core exercise runs beside the reference of all other parts, so the error that an answer raises, and each value that it
shows, can carry that text to whoever reads the report, and into the next submission.
"""

from collections.abc import Mapping, Sequence

from course.checks import credit, mistakes
from course.checks.credit import Part
from course.grading.report import Item, Result
from course.grading.submission import Submission


def shorten(result: Result, submission: Submission, known: Mapping[str, Sequence[str]]) -> None:
    """Leave of a result's messages what the course says about a mistake, and what was found while the file was read.

    Args:
        result: is changed.
        submission: what was answered.
        known: what the course says about the known mistakes of each exercise.
    """
    found_before = {message for _, message in submission.idle.values()}
    for item in result.items:
        pieces: list[Item | Part] = [item, *item.parts]
        for each in pieces:
            is_safe = each.message in found_before or each.status in ("skipped", "missing")
            each.message = each.message if is_safe else "\n".join(mistakes.told(each.message, known[item.grade_id])[0])
        item.message = _of_parts(item)


def _of_parts(item: Item) -> str:
    return credit.told(item.parts, item.message) if item.parts and item.status != "passed" else item.message
