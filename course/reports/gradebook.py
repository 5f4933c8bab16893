"""The gradebook: for each student and chapter the one file that counts, and what is deducted because it is late."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from course.grading.report import Report, Result
from course.grading.student import passed_over, students_of

ATTEMPTS = ("best", "last", "first")


@dataclass(frozen=True)
class Rules:
    """Which of a student's files for one chapter counts, what lateness costs, and who is expected to hand in.

    `attempts` is one of `ATTEMPTS`. Each day begun after `due` costs `late_penalty` percent of the points that the file
    earned, `late_cap` percent at most. `roster` has the names of the class, and `assignment` the chapter that is
    due, if the grade is of one.
    """

    attempts: str = "best"
    due: datetime | None = None
    late_penalty: float = 0.0
    late_cap: float = 100.0
    roster: tuple[str, ...] = ()
    assignment: str = ""

    def days_late(self, result: Result) -> int:
        """The days begun between the deadline and the time at which a file was handed in; 0 if it is in time."""
        if self.due is None or not result.submitted_at:
            return 0
        return max(0, math.ceil((datetime.fromisoformat(result.submitted_at) - self.due) / timedelta(days=1)))

    def deducted(self, result: Result) -> float:
        """The points that a result loses because its file was handed in late."""
        return round(result.score * min(self.late_cap, self.late_penalty * self.days_late(result)) / 100, 2)


@dataclass(frozen=True)
class Entry:
    """A row of the gradebook.

    Attributes:
        student: as the file's path says.
        result: the one that counts.
        others: the student's other files for the same chapter, in the order in which they were handed in.
        penalty: the points that are deducted from the result's score.
        is_listed: whether the student is on the list of the class, or there is none.
        folder: the name of the file's folder, where that might be the student's and the file's own was taken instead.
    """

    student: str
    result: Result
    others: tuple[Result, ...] = ()
    penalty: float = 0.0
    folder: str = ""
    is_listed: bool = True

    @property
    def score(self) -> float:
        """The points that count."""
        return self.result.score - self.penalty

    @property
    def is_scored(self) -> bool:
        """Whether it has a score: a rejected file earns 0 of its chapter, and one not graded waits for its grade."""
        return self.result.status != "not graded" and bool(self.result.chapter)

    @property
    def note(self) -> str:
        """What a teacher should know: why there is no grade, which files don't count, and where the name is from."""
        is_untouched = bool(self.result.items) and all(item.status == "skipped" for item in self.result.items)
        others = [f"not counted: {each.path} ({_outcome(each)})" for each in self.others]
        name = self.student.rpartition("/")[2]
        alike = f"several folders are called {name}, and each counts as one student's" if self.is_namesake else ""
        after = f"named after the file; the folder is {self.folder}" if self.folder else ""
        unknown = "" if self.is_listed else "not on the roster"
        notes = ["nothing answered" * is_untouched, self.result.reason, *others, alike, after, unknown]
        return "; ".join(filter(None, notes))

    @property
    def is_namesake(self) -> bool:
        """Whether others have the student's name, so that the folder above is part of it."""
        return "/" in self.student


def entries(report: Report, chapters: Collection[str], rules: Rules, one_student: bool = False) -> list[Entry]:
    """The gradebook's rows, in the order in which the report names them first.

    A rejected file is an attempt only if the student has no other file for that chapter. Exercises that moved to
    another chapter are graded there too; that result counts unless the student handed in that chapter's own notebook.

    Args:
        report: with the chapters of rejected files, see `course.grading.assigned`.
        chapters: all that there are.
        rules: which file counts.
        one_student: all files are the same person's, whatever they are called.
    """
    files: dict[tuple[str, ...], list[Result]] = {}
    students = students_of((result.path for result in report.submissions), chapters, rules.roster)
    folders = {} if one_student else passed_over(students, chapters)
    for result in report.submissions:
        student = "" if one_student else students[result.path]
        is_known = result.chapter and (student or one_student)
        files.setdefault((student, result.chapter or "") if is_known else (student, "", result.path), []).append(result)
    return [_entry(student, results, rules, folders) for (student, *_), results in files.items()]


def _entry(student: str, results: list[Result], rules: Rules, folders: Mapping[str, str]) -> Entry:
    ordered = sorted(results, key=lambda each: (each.submitted_at, each.path))
    for is_attempt in (_is_of_its_own, lambda each: each.status != "rejected", lambda each: True):
        if attempts := [each for each in ordered if is_attempt(each)]:
            break
    counts = attempts[-1 if rules.attempts == "last" else 0]
    if rules.attempts == "best":
        counts = max(attempts, key=lambda each: (each.status == "graded", each.score - rules.deducted(each)))
    others = tuple(each for each in ordered if each is not counts)
    return Entry(student, counts, others, rules.deducted(counts), folders.get(counts.path, ""))


def _is_of_its_own(result: Result) -> bool:
    return result.status != "rejected" and not result.path.endswith(f"#{result.chapter}")


def _outcome(result: Result) -> str:
    points = f"{result.score} of {result.max_score} points" if result.status == "graded" else result.status
    return ", ".join(filter(None, [points, result.submitted_at]))


def in_utc(moment: datetime | str | None) -> str:
    """A moment as nbgrader's exports write it, 2026-11-28 08:00:00 in UTC; empty for none."""
    if not moment:
        return ""
    read = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return str(read.astimezone(UTC).replace(tzinfo=None))
