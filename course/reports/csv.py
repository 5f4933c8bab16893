"""The gradebook as a table in CSV: the columns that `nbgrader export` writes, then the status, the file and the reason.

https://nbgrader.readthedocs.io/en/stable/api/high_level_api.html, and nbgrader/plugins/export.py for the columns.
"""

import csv
import io
import re
from collections.abc import Iterable
from datetime import datetime

from course.checks.printable import clean
from course.reports.gradebook import Entry, in_utc

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
    "status",
    "file",
    "reason",
]
# https://owasp.org/www-community/attacks/CSV_Injection: what begins a formula, and after what a cell may begin, since a
# program that splits at another character than the comma sees cells where we wrote none.
_FORMULA = re.compile(r"(?:^|(?<=[,;|\t\r\n\"']))(?=\s*[=+\-@＝＋－＠])|^(?=[\t\r\n])")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def to_csv(rows: Iterable[Entry], due: datetime | None = None) -> str:
    """The gradebook as CSV. A score that the machine owes stays empty: a gap is no 0, and `reason` says what it is."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in rows:
        result = entry.result
        row = {
            "assignment": result.chapter or "",
            "duedate": in_utc(due),
            "timestamp": in_utc(result.submitted_at),
            "student_id": entry.student,
            "max_score": str(float(result.max_score)) if result.max_score else "",
            "status": result.status,
            "file": result.path,
            "reason": clean(entry.note),
        }
        if entry.is_scored:
            scores = (result.score, entry.penalty, entry.score)
            row |= zip(("raw_score", "late_submission_penalty", "score"), map(str, map(float, scores)), strict=True)
        writer.writerow([harmless(row.get(name, "")) for name in COLUMNS])
    return text.getvalue()


def harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe stands wherever one could begin. Numbers stay."""
    return cell if _NUMBER.fullmatch(cell) else _FORMULA.sub("'", cell)
