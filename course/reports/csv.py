"""A grade as a table in CSV, with the columns that `nbgrader export` writes.

https://nbgrader.readthedocs.io/en/stable/api/high_level_api.html, and nbgrader/plugins/export.py for the columns.
"""

import csv
import io
import re
from pathlib import PurePosixPath

from course.grading.report import Report, Result

COLUMNS = [
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
]
# https://owasp.org/www-community/attacks/CSV_Injection: what begins a formula, and after what a cell may begin, since a
# program that splits at another character than the comma sees cells where we wrote none.
_FORMULA = re.compile(r"(?:^|(?<=[,;|\t\r\n\"']))(?=\s*[=+\-@＝＋－＠])|^(?=[\t\r\n])")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def to_csv(report: Report) -> str:
    """The report as CSV, a row for each submission. Scores stay empty where there is none: a gap is no 0."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in report.submissions:
        row = {"assignment": result.chapter or "", "student_id": student_of(result)}
        if result.status == "graded":
            points = str(float(result.score))
            row |= {"raw_score": points, "late_submission_penalty": "0.0", "score": points}
            row["max_score"] = str(float(result.max_score))
        writer.writerow([harmless(row.get(name, "")) for name in COLUMNS])
    return text.getvalue()


def student_of(result: Result) -> str:
    """Whose submission it is, by its path: the file's name, or the nearest folder that is not named as the chapter.

    `class/ann.ipynb`, `class/ann/06_topic.ipynb` and nbgrader's `submitted/ann/06_topic/06_topic.ipynb` are ann's.
    """
    path = PurePosixPath(result.path)
    names = [path.stem, *(folder.name for folder in path.parents)]
    return next((name for name in names if name and name != result.chapter), "")


def harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe stands wherever one could begin. Numbers stay."""
    return cell if _NUMBER.fullmatch(cell) else _FORMULA.sub("'", cell)
