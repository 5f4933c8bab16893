"""A prediction of several values, value by value: what was said, what it is, and why, where that is known."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from course.files import Course
from course.interview import programs, tasks
from course.interview import values as typed
from course.interview.prompts import code
from course.learner.practice import Exercise
from course.parsed import parsed


@dataclass(frozen=True)
class Value:
    """One of several values."""

    name: str
    given: Any
    right: Any
    says: str = ""
    """Why it isn't what was said."""

    @property
    def is_right(self) -> bool:
        """Whether it was predicted."""
        return _same(self.given, self.right)


def values(course: Course, exercise: Exercise, given: str) -> list[Value]:
    """The values of a prediction beside the right ones.

    There are none if one value was asked for, if as many weren't given, or if the course has no solutions.
    """
    right, mine = _prediction(tasks.solution_of(course, exercise)), _literal(given)
    names, answers = _split(right), _split(mine)
    is_by_place = len(exercise.expected["values"]) in (1, len(names), sum(map(_size, names.values())))
    if len(names) < 2 or not is_by_place or list(names) != list(answers):
        return []
    known = [(_split(_prediction(source)), says) for source, says in tasks.known_mistakes(course, exercise)]
    known.sort(key=lambda each: sum(not _same(value, names.get(key)) for key, value in each[0].items()))
    labels = dict(zip(names, _labels(exercise) or names, strict=True))
    found = []
    for key, value in names.items():
        says = next((says for others, says in known if key in others and _same(others[key], answers[key])), "")
        is_right = _same(answers[key], value)
        found.append(Value(labels[key], answers[key], value, "" if is_right else says))
    return found


def astray(course: Course, exercise: Exercise, given: str) -> str:
    """What is wrong with a list of which a check makes a set: a line for each value too many, and each that is missing.

    Empty for any other prediction, and if the course has no solutions.
    """
    sets = (node for node in ast.walk(parsed(exercise.check)) if isinstance(node, ast.SetComp))
    wanted, mine = _prediction(tasks.solution_of(course, exercise)), _literal(given)
    is_set = any(ast.unparse(node.generators[0].iter) == "prediction" for node in sets)
    if not is_set or not isinstance(wanted, list) or not isinstance(mine, list):
        return ""
    right = set(wanted)
    wrong = [({*_prediction(source)} ^ right, says) for source, says in tasks.known_mistakes(course, exercise)]
    wrong.sort(key=lambda each: len(each[0]))
    lines, said = [], set[str]()
    for value in sorted({*mine} ^ right, key=str):
        says = next((says for values, says in wrong if value in values), "")
        what = "is missing" if value in right else "doesn't belong"
        lines.append(f"- ✗ {value} {what}. {'' if says in said else says}".rstrip())
        said.add(says)
    return "\n".join(lines)


def miscounted(course: Course, exercise: Exercise, given: str) -> str:
    """How many values a prediction has and how many are asked for, in words; empty if they are as many.

    The number is no part of the answer where a check compares each value. It fails on a list that is too short.
    """
    wanted, typed = _prediction(tasks.solution_of(course, exercise)), _literal(given)
    right, mine = _split(wanted), _split(typed)
    if typed is None:  # a calculation that the check carries out
        return ""
    if isinstance(wanted, list | tuple) and not isinstance(typed, list | tuple | dict):
        many = len(right) if len(right) > 1 and len(exercise.expected["values"]) == len(right) else 0
        return f"There is a single value, and {f'{many} are' if many else 'a list is'} asked for."
    if len(right) < 2 or len(exercise.expected["values"]) != len(right) or len(mine) == len(right):
        return ""
    found = f"are {len(mine)} values" if len(mine) > 1 else "is a single value"
    return f"There {found}, and {len(right)} are asked for."


def told(found: Sequence[Value]) -> str:
    """A line for each value. What explains several of them is said once."""
    lines, said = [], set[str]()
    for each in found:
        if each.is_right:
            lines.append(f"- ✓ {each.name}: {code(str(each.right))}")
        else:
            lines.append(
                f"- ✗ {each.name}: you said {code(str(each.given))}, it is {code(str(each.right))}. "
                f"{'' if each.says in said else each.says}"
            )
            said.add(each.says)
    return "\n".join(line.rstrip() for line in lines)


def _split(value: Any) -> dict[Any, Any]:
    """The values of a list by their numbers, from 1, or those of a dict by name; nothing of anything else."""
    if isinstance(value, dict):
        return dict(sorted(value.items(), key=lambda item: str(item[0])))
    return {f"value {place}": each for place, each in enumerate(value, 1)} if isinstance(value, list | tuple) else {}


def _size(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple) else 1


def _prediction(source: str) -> Any:
    """What a cell sets `prediction` to; None if that isn't written out."""
    for node in parsed(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "prediction":
            return _literal(ast.unparse(node.value))
    return None


def _literal(text: str) -> Any:
    try:
        return typed.literal(text)
    except ValueError:
        return None


def wanted(course: Course, exercise: Exercise) -> Any:
    """What an exercise's prediction is; None if that isn't known."""
    return _prediction(tasks.solution_of(course, exercise))


def _labels(exercise: Exercise) -> list[str]:
    """What a check calls the values, in the order in which it lists them; nothing unless it lists all of them."""
    nodes = ast.walk(parsed(exercise.check))
    lists = (_literal(ast.unparse(node)) for node in nodes if isinstance(node, ast.List | ast.Tuple))
    return next((list(each) for each in lists if each and {*map(str, each)} == {*exercise.expected["values"]}), [])


def _same(one: Any, other: Any) -> bool:
    return programs.same(str(one), str(other))
