"""A grade as the `results.json` of a Gradescope autograder.

The fields: https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
"""

import json
from collections.abc import Sequence
from typing import Any

from course.grading.report import Result
from course.reports.gradebook import Entry


class NotGradedError(ValueError):
    """A submission could not be graded; Gradescope would take any results file for its score."""


def to_gradescope(rows: Sequence[Entry], seed: int) -> str:
    """One student's gradebook as JSON: each chapter counts once, whatever was handed in.

    Raises:
        NotGradedError: the machine could not grade a notebook. Without a results file Gradescope says that the
            autograder failed, which is so.
    """
    for result in (each for row in rows for each in (row.result, *row.others)):
        if result.status == "not graded":
            raise NotGradedError(f"{result.path}: {result.reason}")
    results = {
        "score": sum(row.score for row in rows),
        "execution_time": round(sum(each.seconds for row in rows for each in (row.result, *row.others))),
        "output": "\n".join(map(_summary, rows)),
        "output_format": "text",
        "visibility": "visible",
        "extra_data": {"seed": seed},
        "tests": [test for number, row in enumerate(rows, 1) for test in _tests(number, row.result)],
    }
    return json.dumps(results, indent=1, ensure_ascii=False) + "\n"


def _summary(row: Entry) -> str:
    result = row.result
    points = f"{row.score:g} of {result.max_score} points" if result.status == "graded" else result.status
    late = f", {row.penalty:g} deducted because it is late" if row.penalty else ""
    return f"{result.path}: {points}{late}" + f" ({row.note})" * bool(row.note)


def _tests(number: int, result: Result) -> list[dict[str, Any]]:
    if result.status != "graded":
        about = {"score": 0, "max_score": result.max_score, "status": "failed", "name": result.path}
        shown = {"output": result.reason, "output_format": "text", "visibility": "visible"}
        return [{**about, **shown, "number": str(number)}]
    return [
        {
            "score": item.points,
            "max_score": item.max_points,
            "status": "passed" if item.status == "passed" else "failed",
            "name": f"{result.chapter}: {item.grade_id}",
            "number": f"{number}.{place}",
            "output": item.message or "right",
            "output_format": "text",
            "visibility": "visible",
        }
        for place, item in enumerate(result.items, 1)
    ]
