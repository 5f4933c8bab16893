"""A grade as the `results.json` of a Gradescope autograder.

The fields: https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
"""

import json
from typing import Any

from course.grading.report import Report, Result


class NotGradedError(ValueError):
    """A submission could not be graded; Gradescope would take any results file for its score."""


def to_gradescope(report: Report) -> str:
    """The report of one student's submission, which may be several notebooks, as JSON.

    Raises:
        NotGradedError: the machine could not grade a notebook. Without a results file Gradescope says that the
            autograder failed, which is so.
    """
    for result in report.submissions:
        if result.status == "not graded":
            raise NotGradedError(f"{result.path}: {result.reason}")
    tests = [test for number, result in enumerate(report.submissions, 1) for test in _tests(number, result)]
    results = {
        "score": sum(result.score for result in report.submissions),
        "execution_time": round(sum(result.seconds for result in report.submissions)),
        "output": "\n".join(_summary(result) for result in report.submissions),
        "output_format": "text",
        "visibility": "visible",
        "extra_data": {"seed": report.seed},
        "tests": tests,
    }
    return json.dumps(results, indent=1, ensure_ascii=False) + "\n"


def _summary(result: Result) -> str:
    points = f"{result.score} of {result.max_score} points" if result.status == "graded" else result.status
    return f"{result.path}: {points}" + f" ({result.reason})" * bool(result.reason)


def _tests(number: int, result: Result) -> list[dict[str, Any]]:
    if result.status != "graded":
        about = {"score": 0, "max_score": 0, "status": "failed", "name": result.path, "output": result.reason}
        return [{**about, "number": str(number), "output_format": "text", "visibility": "visible"}]
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
