"""Parts of mytorch whose reference an archive for students leaves out, since a teacher grades them.

In such an archive `solutions/withheld.json` names them, each with its exercise. Its reference raises in their place.
Wherever it is used the learner's answers stand for them: those kept in `my/`, else those in the notebooks.
"""

import ast
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from course.files import Course
from course.learner import practice
from course.parsed import parsed
from course.source import parts
from course.source.assemble import Files, as_of, assemble, load
from course.source.core_exercises import absent

FILE = "withheld.json"
_YOURS = "is yours to write: exercise"


def chosen(course: Course, chapters: Iterable[str]) -> dict[str, str]:
    """The parts of the core exercises of these chapters (their keys), each with its exercise.

    Raises:
        LookupError: a chapter has no such exercise.
    """
    found: dict[str, str] = {}
    exercises = practice.exercises(course)
    for number in chapters:
        core = {part: each.name for each in exercises if str(each.key) == number for part in each.kind.parts}
        if not core:
            raise LookupError(f"chapter {number!r} has no exercise about a part of mytorch")
        found |= core
    return found


def without(files: Files, withheld: Mapping[str, str]) -> tuple[Files, list[str]]:
    """A package in which parts raise NotImplementedError, with the exercise that asks for them.

    Returns:
        The files, and the parts that are in them all the same: the package cannot be imported without.
    """
    whys = {part: f"{parts.short(part)} {_YOURS} {name}" for part, name in withheld.items()}
    ways = [_raising, _returning_what_raises]  # the second for what is called while the package is imported
    tried, blamed = dict.fromkeys(withheld, 0), ""
    while True:
        made = dict(files)
        for part in withheld:
            if tried[part] < len(ways):
                made[parts.file_of(made, part)] = ways[tried[part]](made, part, whys[part])
        try:
            load(made)
        except Exception as error:
            blamed = next((part for part, why in whys.items() if why == str(error)), blamed)
            if not blamed or tried[blamed] == len(ways):
                raise
            tried[blamed] += 1
        else:
            return made, [part for part in withheld if tried[part] == len(ways)]


def of(course: Course) -> dict[str, str]:
    """The parts that this copy of the course lacks, each with its exercise."""
    path = course.solutions / FILE
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def waits(message: str) -> bool:
    """Whether an exercise could not be checked because it needs a part that is not written yet."""
    return message.startswith("NotImplementedError: ") and _YOURS in message


def completed(course: Course, files: Files) -> Files:
    """The reference of a course, with the learner's answers for what is withheld, as far as there are any."""
    withheld = of(course)
    if not withheld:
        return files
    answers: dict[str, str] = {}
    for exercise in practice.exercises(course):
        if exercise.name in withheld.values():
            text = _answer(course, exercise)
            if all(parts.defines(text, part) for part in exercise.kind.parts):
                seen = as_of(files, exercise.key)
                around = [seen[parts.file_of(seen, part)] for part in exercise.kind.parts]
                whole = parts.with_imports(text, exercise.setup, around)
                answers |= {part: whole for part in exercise.kind.parts if part in withheld}
    return assemble(files, None, answers)


def _answer(course: Course, exercise: practice.Exercise) -> str:
    """What the learner has written for an exercise; the stub defines its parts, too, and says nothing new."""
    kept, notebook = practice.solution_path(course, exercise.name), course.exercises / f"{exercise.chapter}.ipynb"
    if kept.exists():
        return kept.read_text(encoding="utf-8")
    text = _cell(notebook, exercise.name)
    return "" if text.strip() == exercise.stub.strip() else text


def _cell(notebook: Path, exercise: str) -> str:
    try:
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == exercise:
                return "".join(cell["source"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        pass  # the learner's file may hold anything
    return ""


def _raising(files: Files, part: str, why: str) -> str:
    return _stubbed(files, part, f"raise NotImplementedError({why!r})", why)


def _returning_what_raises(files: Files, part: str, why: str) -> str:
    return _stubbed(files, part, f"return lambda *arguments, **named: {_throwing(why)}", why)


def _stubbed(files: Files, part: str, body: str, why: str) -> str:
    name, path = parts.file_of(files, part), part.partition(":")[2]
    node = parsed(parts.text_of(files, part, decorators=False)).body[0]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # derivative("mul", x=lambda ...)
        raises = parsed(_throwing(why)).body[0]
        assert isinstance(raises, ast.Expr)
        for keyword in node.value.keywords:
            if isinstance(keyword.value, ast.Lambda):
                keyword.value.body = raises.value
        return parts.replaced(files[name], path, ast.unparse(node))
    return absent(files, part).replace("raise NotImplementedError()", body)


def _throwing(why: str) -> str:
    return f"(_ for _ in ()).throw(NotImplementedError({why!r}))"
