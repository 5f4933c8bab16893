"""What attacks are made of: the exercises of every chapter, and a table of attacks that each choose some of them."""

import functools
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from course.files import CODE, Course
from course.notebooks.notebook import OURS, checks, exercise_of, role, tasks
from course.source import parts


@dataclass(frozen=True)
class Target:
    """An exercise to be attacked, and what an attacker may know about it."""

    root: Path
    chapter: str
    name: str
    kind: str
    names: tuple[str, ...]
    parts: tuple[str, ...]
    replaces: str
    reference: str  # what a right solution is: attacks use it only to know its form
    check: str
    digests: dict[str, Any]  # what the learner's own notebook stores for the practice seed
    delegates: tuple[str, ...]  # known wrong answers that call what they should write


@dataclass(frozen=True)
class Attack:
    """A way to get points that were not earned, or to cost somebody else theirs.

    `defence` is what holds it. `fits` says which exercises it can be made for, `make` gives the solution cell.
    """

    name: str
    defence: str
    fits: Callable[[Target], bool]
    make: Callable[[Target], str]


TABLE: list[Attack] = []


def attack(
    defence: str, fits: Callable[[Target], bool]
) -> Callable[[Callable[[Target], str]], Callable[[Target], str]]:
    """Enter the decorated function into the table."""

    def enter(make: Callable[[Target], str]) -> Callable[[Target], str]:
        TABLE.append(Attack(make.__name__, defence, fits, make))
        return make

    return enter


def variants(
    defence: str, fits: Callable[[Target], bool], **texts: str
) -> Callable[[Callable[[Target, str], str]], Callable[[Target, str], str]]:
    """Enter one attack for each text, which the decorated function makes a cell of."""

    def enter(make: Callable[[Target, str], str]) -> Callable[[Target, str], str]:
        for name, text in texts.items():
            TABLE.append(Attack(f"{make.__name__}_{name}", defence, fits, functools.partial(_made, make, text)))
        return make

    return enter


def _made(make: Callable[[Target, str], str], text: str, target: Target) -> str:
    return make(target, text)


def anything(target: Target) -> bool:
    """Any exercise whose answer is a cell that may be any code."""
    return not target.parts


def a_function(target: Target) -> bool:
    """An exercise about one function that stands for no part."""
    return len(target.names) == 1 and f"def {target.names[0]}(" in target.reference and not target.parts


def a_replacement(target: Target) -> bool:
    """An exercise whose answer takes a part's place in a package."""
    return bool(target.replaces) and a_function(target)


def a_part(target: Target) -> bool:
    """An exercise about functions of mytorch."""
    return bool(target.parts) and all(
        f"def {parts.short(part)}(" in target.reference and ":derivative." not in part for part in target.parts
    )


def a_prediction(target: Target) -> bool:
    """An exercise whose values are stored as a digest."""
    return bool(target.digests) and not target.parts


@functools.cache
def targets(root: Path = CODE) -> tuple[Target, ...]:
    """The exercises of the built notebooks."""
    course = Course(root)
    found = []
    for path in sorted(course.solutions.glob("*.ipynb")):
        solved, given = (
            nbformat.read(folder / path.name, as_version=4) for folder in (course.solutions, course.pristine)
        )
        answers = {exercise_of(cell): cell.source for cell in solved.cells if role(cell) == "solution"}
        mutants = {name: about["mutants"] for name, about in tasks(solved).items()}
        for name, about in tasks(given).items():
            check = checks(given)[name]
            is_secret = "secret=True" in check.source
            shown = next(o.data for o in check.outputs if "application/vnd.minitorch.check+json" in o.get("data", {}))
            found.append(
                Target(
                    root,
                    given.metadata[OURS]["chapter"],
                    name,
                    about["kind"],
                    tuple(about["names"]),
                    tuple(about["parts"]),
                    about["replaces"] or "",
                    answers[name],
                    check.source,
                    shown["application/vnd.minitorch.check+json"] if is_secret else {},
                    tuple(each["source"] for each in mutants[name] if each["name"].startswith("Delegates")),
                )
            )
    return tuple(found)


CHAPTERS = (
    "00_welcome",
    "04_broadcasting_indexing_joining",
    "06_computation_graph",
    "08_static_and_dynamic_graphs",
    "13_embeddings",
)
"""They have exercises of every kind, and their sandboxes start soon: most attacks get one of their own. Each chapter
more costs a run of its reference, as long as several attacks.
"""


def chosen(attack: Attack, count: int = 1) -> list[Target]:
    """The exercises that an attack is made for in a test: others for each attack."""
    fitting = [target for target in targets() if target.chapter in CHAPTERS and attack.fits(target)]
    start = zlib.crc32(attack.name.encode())
    return [fitting[(start + place) % len(fitting)] for place in range(min(count, len(fitting)))]
