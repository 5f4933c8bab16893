"""What a grade says: the result of each exercise, submission by submission, and the JSON that keeps it."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from course.checks.credit import Part

SCHEMA_VERSION = 1


@dataclass
class Item:
    """The result of one exercise. `status`: passed, failed, error, timeout, missing or skipped.

    `parts`: what each part earned, where they are scored one by one. `code`: the answer, empty where there is none.
    """

    grade_id: str
    points: int
    max_points: int
    status: str
    message: str
    parts: list[Part] = field(default_factory=list)
    code: str = ""


@dataclass
class Result:
    """The result of one submission. `status`: graded, not graded (a fault of the machine) or rejected.

    `digest` is the SHA-256 of the file that was graded, `submitted_at` when it was written: ISO 8601, in UTC.
    """

    path: str
    chapter: str | None = None
    status: str = "rejected"
    reason: str = ""
    score: int = 0
    max_score: int = 0
    seconds: float = 0.0
    digest: str = ""
    submitted_at: str = ""
    items: list[Item] = field(default_factory=list)


@dataclass(frozen=True)
class Redrawn:
    """An exercise whose first inputs did not serve: the seed of those that were drawn again, and why."""

    exercise: str
    seed: int
    reason: str


@dataclass
class Report:
    """A whole run of the grader."""

    seed: int
    submissions: list[Result]
    redrawn: list[Redrawn] = field(default_factory=list)

    def to_json(self) -> str:
        """The report in the versioned format of docs/grading.md."""
        return json.dumps({"schema_version": SCHEMA_VERSION, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """The report that `to_json` wrote.

        Raises:
            ValueError: it is of another format.
        """
        try:
            read = json.loads(text)
            results = [Result(**{**each, "items": [*map(_item, each["items"])]}) for each in read["submissions"]]
            if read["schema_version"] == SCHEMA_VERSION:
                redrawn = [Redrawn(**each) for each in read.get("redrawn", [])]
                return cls(int(read["seed"]), results, redrawn)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError("not a report of `course grade`") from error
        raise ValueError(f"a report of version {read['schema_version']}, not {SCHEMA_VERSION}")


def _item(read: dict[str, Any]) -> Item:
    """Reports of older versions have no `parts` and no `code`."""
    return Item(**{**read, "parts": [Part(**each) for each in read.get("parts", [])]})
