"""The list of a class: who handed in nothing gets a row, and who isn't on the list a note."""

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from course.grading.report import Result
from course.grading.student import plain
from course.reports.gradebook import Entry

COLUMN = "student_id"


def read_roster(path: Path) -> list[str]:
    """The names in a file: a line each, or in a `.csv` the column `student_id`, else the first, below its head.

    Raises:
        ValueError: the file has no names.
        OSError: it cannot be read.
    """
    text = path.read_text(encoding="utf-8-sig")
    cells = [[line] for line in text.splitlines()]
    if path.suffix.lower() == ".csv":
        head, *rows = csv.reader(io.StringIO(text)) if text else [[]]
        place = head.index(COLUMN) if COLUMN in head else 0
        cells = [row[place : place + 1] for row in rows]
    names = [name for row in cells for cell in row if (name := cell.strip())]
    if not names:
        raise ValueError("it names nobody")
    return list(dict.fromkeys(names))


def with_roster(
    rows: Sequence[Entry], roster: Collection[str], assignment: str, points: Mapping[str, int]
) -> list[Entry]:
    """The gradebook's rows, and one for each name on the list that has none.

    Args:
        rows: of what was handed in.
        roster: the names of the class; if there are none, nothing changes.
        assignment: the chapter of which those who handed in nothing earn 0; empty if the grade is of several.
        points: of each chapter.
    """
    listed, found = {*map(plain, roster)}, {_name(row) for row in rows}
    nothing = Result("", assignment or None, "missing", "nothing handed in", max_score=points.get(assignment, 0))
    noted = [replace(row, is_listed=not listed or _name(row) in listed) for row in rows]
    return noted + [Entry(name, nothing) for name in roster if plain(name) not in found]


def _name(row: Entry) -> str:
    return plain(PurePosixPath(row.student).name)
