"""What the learner wrote of mytorch beside the exercises: the texts in `my/written/`, which passed their tests."""

from collections.abc import Mapping
from pathlib import Path

from course.files import Course
from course.learner import practice
from course.source import definitions


def graded(course: Course) -> dict[str, str]:
    """By part, the exercise that asks for it."""
    return {part: exercise.name for exercise in practice.exercises(course) for part in exercise.kind.parts}


def free(course: Course, files: Mapping[str, str]) -> list[str]:
    """The definitions of a package that no exercise asks for."""
    asked = graded(course)
    return [
        part
        for part in definitions.names(files)
        if not any(f"{part}.".startswith(f"{other}.") or f"{other}.".startswith(f"{part}.") for other in asked)
    ]


def path(course: Course, part: str) -> Path:
    """Where the learner's text of a definition is kept."""
    return course.mine / "written" / f"{part.partition('.')[2].replace(':', '.')}.py"


def texts(course: Course, files: Mapping[str, str]) -> dict[str, str]:
    """The texts that are kept, by definition."""
    if not (course.mine / "written").is_dir():
        return {}
    kept = {part: path(course, part) for part in definitions.names(files)}
    return {part: file.read_text(encoding="utf-8") for part, file in kept.items() if file.exists()}
