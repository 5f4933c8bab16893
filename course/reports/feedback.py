"""What a learner reads about one exercise: the values that differ, which mistake it looks like, and the hints.

It is read from the grade's messages and from the notebooks as built, so that a saved report is enough to make it.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.checks import credit, mistakes
from course.checks.credit import Part
from course.checks.printable import clean
from course.files import Course, damaged
from course.grading.report import Item

_COUNTED = re.compile(
    r"(?P<expected>.+) as expected, but (?P<wrong>\d+) of (?P<all>\d+) values differ; "
    r"(?:first difference at (?P<where>\[.*?\]): )?expected (?P<first>.*), got (?P<got>.*)",
    re.DOTALL,
)
_PLAIN = re.compile(r"expected (?P<expected>.*?), got (?P<got>.*)", re.DOTALL)
_INSIDE = re.compile(r"at (\[.*?\]): ")
_STATUSES = {
    "passed": "Right",
    "failed": "Not yet",
    "error": "It stopped with an error",
    "timeout": "It ran too long",
    "missing": "Not in the notebook",
    "skipped": "Not solved yet",
}


@dataclass(frozen=True)
class Difference:
    """A value that differs: what was expected, what came, and where."""

    name: str
    expected: str
    got: str
    where: str = ""
    like: str = ""  # shape, dtype and device, where they are right
    count: str = ""


@dataclass(frozen=True)
class TaskText:
    """What the notebook as built says about an exercise."""

    title: str
    hints: list[str] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)
    chapter: str = ""
    points: int = 0


@dataclass(frozen=True)
class Told:
    """What a message says of an exercise or of one of its parts: known mistakes, values that differ, other text."""

    mistakes: list[str]
    differences: list[Difference]
    text: str
    part: Part | None = None


@dataclass(frozen=True)
class Feedback:
    """One exercise on a learner's page."""

    item: Item
    title: str
    verdict: str
    told: list[Told]
    hints: list[str]


def feedback(item: Item, tasks: dict[str, TaskText]) -> Feedback:
    """What to tell about an exercise, or about each of its parts where the message does."""
    task = tasks.get(item.grade_id, TaskText(item.grade_id))
    each: list[Item | Part] = [item]
    if item.parts and credit.told(item.parts, "") == item.message:
        each = [*item.parts]
    return Feedback(
        item=item,
        title=task.title,
        verdict=_STATUSES.get(item.status, item.status),
        told=[_told(it, task) for it in each],
        hints=[] if item.status in ("passed", "missing") else task.hints,
    )


def verdict_of(part: Part) -> str:
    """A part's name and verdict."""
    return f"{credit.name(part)}: {_STATUSES.get(part.status, part.status).lower()}"


def _told(it: Item | Part, task: TaskText) -> Told:
    """What a message says. What it says in other words than values stays text."""
    found, message = mistakes.told(clean(it.message), task.mistakes)
    values, more = re.fullmatch(r"(.*?)(?:\n(and \d+ more))?", message, re.DOTALL).groups("")  # type: ignore[union-attr]
    differences = _differences(values) if it.status == "failed" and values else []
    text = more if differences else message
    return Told(found, differences, "" if it.status == "skipped" else text, it if isinstance(it, Part) else None)


def tasks_of(course: Course) -> dict[str, TaskText]:
    """The exercises of the notebooks as built, by name; none where there are no notebooks."""
    return {name: task for path in sorted(course.pristine.glob("*.ipynb")) for name, task in _tasks(path)}


def points_of(course: Course) -> dict[str, int]:
    """The points of each chapter."""
    points: dict[str, int] = {}
    for task in tasks_of(course).values():
        points[task.chapter] = points.get(task.chapter, 0) + task.points
    return points


def titles_of(course: Course) -> dict[str, str]:
    """The titles of the notebooks as built, by chapter."""
    found = {}
    for path in sorted(course.pristine.glob("*.ipynb")):
        first = "".join(_cells(path)[0]["source"])
        found[path.stem] = first.partition("\n")[0].lstrip("# ").removeprefix("Exercises · ")
    return found


def _cells(path: Path) -> list[dict[str, Any]]:
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["cells"])
    except (ValueError, LookupError, TypeError) as error:
        raise damaged(path) from error


def _tasks(path: Path) -> list[tuple[str, TaskText]]:
    abouts = [(cell["metadata"].get("minitorch", {}), "".join(cell["source"])) for cell in _cells(path)]
    return [
        (
            about["exercise"],
            TaskText(
                title=text.partition("\n")[0].lstrip("# "),
                hints=about["hints"],
                mistakes=[each["says"] for each in about["mutants"]],
                chapter=path.stem,
                points=about["points"],
            ),
        )
        for about, text in abouts
        if about.get("role") == "task"
    ]


def _differences(message: str) -> list[Difference]:
    """The values that a message of `bundle.difference` names; none if a line of it says something else."""
    found: list[Difference] = []
    for line in re.split(r"\n(?! )", message):  # a line that is indented goes on with the value before it
        name, _, text = line.partition(": ")
        places = []
        while inside := _INSIDE.match(text):
            places.append(inside[1])
            text = text[inside.end() :]
        if many := _COUNTED.fullmatch(text):
            where = "".join([*places, many["where"] or ""])
            count = f"{many['wrong']} of {many['all']} values differ"
            found.append(Difference(name, many["first"], many["got"], where, many["expected"], count))
        elif one := _PLAIN.fullmatch(text):
            found.append(Difference(name, one["expected"], one["got"], "".join(places)))
        else:
            return []
    return found
