"""What the teacher's overview shows: for each chapter the learners and their exercises, for each learner the sum."""

from collections.abc import Sequence
from dataclasses import dataclass

from course.grading.report import Item
from course.reports.gradebook import Entry


@dataclass(frozen=True)
class ChapterRows:
    """The gradebook's rows of one chapter. `is_unusual`: less than half of the learners handed it in."""

    name: str
    entries: list[Entry]
    is_unusual: bool

    @property
    def graded(self) -> list[Entry]:
        """The rows with a grade, which the means are of."""
        return [entry for entry in self.entries if entry.result.status == "graded"]

    @property
    def exercises(self) -> list[str]:
        """Their names, in order."""
        return list(dict.fromkeys(item.grade_id for entry in self.graded for item in entry.result.items))

    @property
    def mean(self) -> str:
        """Of the points that count."""
        return _mean([entry.score for entry in self.graded])

    @property
    def most(self) -> int:
        """The chapter's points."""
        return max((entry.result.max_score for entry in self.entries), default=0)

    def item(self, entry: Entry, exercise: str) -> Item | None:
        """What a learner's file has of an exercise; None without a grade."""
        return next((item for item in entry.result.items if item.grade_id == exercise), None)

    def mean_of(self, exercise: str) -> str:
        """Of an exercise's points."""
        return _mean([item.points for item in self._items(exercise)])

    def most_of(self, exercise: str) -> int:
        """An exercise's points."""
        return max(item.max_points for item in self._items(exercise))

    def solved(self, exercise: str) -> int:
        """How many learners' answers to an exercise are right."""
        return sum(item.status == "passed" for item in self._items(exercise))

    def _items(self, exercise: str) -> list[Item]:
        return [item for entry in self.graded if (item := self.item(entry, exercise))]


@dataclass(frozen=True)
class Learner:
    """What a learner has in all chapters, as the gradebook in CSV adds up."""

    name: str
    entries: list[Entry]

    @property
    def graded(self) -> list[Entry]:
        """The rows with a grade."""
        return [entry for entry in self.entries if entry.result.status == "graded"]

    @property
    def without(self) -> list[Entry]:
        """The rows without one."""
        return [entry for entry in self.entries if entry.result.status != "graded"]

    @property
    def score(self) -> float:
        """The sum of the points that count."""
        return sum(entry.score for entry in self._counted)

    @property
    def most(self) -> int:
        """What these chapters are worth."""
        return sum(entry.result.max_score for entry in self._counted)

    @property
    def share(self) -> float:
        """The mean over the chapters, each as a share of its points."""
        shares = [entry.score / entry.result.max_score for entry in self._counted if entry.result.max_score]
        return sum(shares) / (len(shares) or 1)

    @property
    def _counted(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.is_scored]


def chapters(rows: Sequence[Entry]) -> list[ChapterRows]:
    """The chapters that were handed in, in the course's order."""
    found: dict[str, list[Entry]] = {}
    for entry in rows:
        if entry.result.chapter:
            found.setdefault(entry.result.chapter, []).append(entry)
    learners = len({entry.student or entry.result.path for entry in rows})
    return [ChapterRows(name, found[name], 2 * len(found[name]) < learners) for name in sorted(found)]


def learners(rows: Sequence[Entry]) -> list[Learner]:
    """The learners, by name."""
    found: dict[str, list[Entry]] = {}
    for entry in rows:
        found.setdefault(entry.student or entry.result.path, []).append(entry)
    return [Learner(name, found[name]) for name in sorted(found)]


def _mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.1f}" if values else "–"
