"""Read a chapter's `exercises.py` and say, with file and line, what is wrong with it (see docs/authoring.md)."""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.chapters import Key, key
from course.parsed import parsed
from course.source.assemble import REFUSED, as_of, read
from course.source.cells import DECORATORS, SOLUTION, STUB, cut, defined, free, imported, plain
from course.source.kinds import KINDS, Kind, Share
from course.source.minutes import of_exercise
from course.source.parts import PartError, short

_NBVAL_MARKER = re.compile(r"^\s*#+\s*(NBVAL_\w+|PYTEST_VALIDATE_IGNORE_OUTPUT)\s*$", re.MULTILINE)
_OUR_KEYS = ("setup", "exercise", "docstrings", "solution", "check", "hint", "mutant", "variant", "machine")


class SourceError(Exception):
    """A chapter's source breaks a rule; the message starts with file and line."""


@dataclass(frozen=True)
class Cell:
    """One cell of a source file; `role` is one of `_OUR_KEYS`, or empty."""

    path: Path
    line: int
    cell_type: str
    text: str
    metadata: dict[str, Any]

    @property
    def role(self) -> str:
        return next((key for key in _OUR_KEYS if key in self.metadata), "")

    @property
    def part_groups(self) -> list[list[str]]:
        """The parts of mytorch that an exercise is about, in the groups that earn points of their own."""
        groups = [group.split() for group in str(self.metadata.get("part", "")).split("|")]
        return groups if len(groups) > 1 else [[part] for part in groups[0]]

    @property
    def points(self) -> int:
        """What an exercise is worth."""
        return sum(map(int, str(self.metadata["points"]).split()))

    @property
    def minutes(self) -> int:
        """What an exercise takes: by its points, or as `minutes=` says."""
        return int(self.metadata.get("minutes") or of_exercise(self.points))

    def error(self, message: str) -> SourceError:
        return SourceError(f"{self.path}:{self.line}: {message}")

    def expect(self, condition: object, message: str) -> None:
        """Refuse the cell if a rule is broken."""
        if not condition:
            raise self.error(message)


@dataclass
class Mutant:
    """A plausible wrong solution: a whole solution cell. `spoils` are the parts that it gets wrong, by short name."""

    name: str
    says: str
    text: str
    spoils: list[str]


@dataclass(frozen=True)
class Variant:
    """An answer that the learner's tests have to accept or refuse, or the machine of a timed exercise.

    Those that are `shown` stand in the learner's notebook.
    """

    is_right: bool
    says: str
    text: str
    shown: bool


@dataclass
class ExerciseSource:
    """One exercise; `name` is its grade_id."""

    name: str
    kind: Kind
    points: int
    minutes: int
    task: Cell
    docstrings: Cell | None = None
    solution: Cell | None = None
    check: Cell | None = None
    hints: list[str] = field(default_factory=list)
    mutants: list[Mutant] = field(default_factory=list)
    variants: list[Variant] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """What the check needs from the solution: how a learner's cell is recognised as one."""
        assert self.solution is not None and self.check is not None
        return self.kind.names_in(self.solution.text, self.check.text)


@dataclass
class Source:
    """The exercises of one chapter: every cell in order, and the exercises among them."""

    chapter: str
    cells: list[Cell]
    exercises: list[ExerciseSource]

    @property
    def key(self) -> Key:
        """The chapter's key."""
        return key(self.chapter)


def read_cells(path: Path) -> list[Cell]:
    """The cells of a percent file, each with the line of its header."""
    import jupytext  # it brings a server, and what only reads built notebooks needs none of that

    text = path.read_text(encoding="utf-8")
    headers = [number for number, line in enumerate(text.splitlines(), 1) if re.match(r"# %%( |$)", line)]
    notebook = jupytext.reads(text, fmt="py:percent")
    if len(headers) != len(notebook.cells):
        raise SourceError(
            f"{path}:1: text stands before the first cell, or a string holds a line that starts with '# %%'"
        )
    cells = [
        Cell(path, line, cell.cell_type, cell.source, {k: v for k, v in cell.metadata.items() if "lines_to" not in k})
        for line, cell in zip(headers, notebook.cells, strict=True)
    ]
    for cell in cells:
        if cell.cell_type == "code" and (marker := _NBVAL_MARKER.search(cell.text)):
            raise cell.error(f"{marker[1]} is not allowed: every output is checked")
    return cells


def read_exercises(path: Path) -> Source:
    """The exercises in `path`, validated."""
    source = Source(path.parent.name, read_cells(path), [])
    by_name: dict[str, ExerciseSource] = {}
    for cell in source.cells:
        cell.expect(sum(key in cell.metadata for key in _OUR_KEYS) <= 1, "a cell has one role")
        unknown = set(cell.metadata) - {
            *_OUR_KEYS,
            "kind",
            "points",
            "minutes",
            "replaces",
            "part",
            "spoils",
            "raises",
            "right",
            "wrong",
            "shown",
            "tags",
            "hidden",
        }
        cell.expect(not unknown, f"unknown cell metadata: {', '.join(sorted(unknown))}")
        if cell.role in ("", "setup"):
            continue
        name = cell.metadata[cell.role]
        if cell.role == "exercise":
            cell.expect(name not in by_name, f"duplicate exercise {name!r}")
            by_name[name] = _open(cell)
            source.exercises.append(by_name[name])
            continue
        if name not in by_name:
            raise cell.error(f"{cell.role} of {name!r}, but no exercise of that name stands before it")
        _add(by_name[name], cell)
    _complete(source, path.parent.parent / "mytorch")
    for exercise in source.exercises:
        _validate(exercise)
    _validate_independence(source)
    return source


def _open(cell: Cell) -> ExerciseSource:
    name, kind, points = (cell.metadata.get(key) for key in ("exercise", "kind", "points"))
    cell.expect(cell.cell_type == "markdown", "an exercise opens with a [markdown] cell")
    cell.expect(
        isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9_]*", name) is not None,
        f"an exercise's name is lower case words with underscores, not {name!r}",
    )
    cell.expect(kind in KINDS, f"exercise {name!r} needs kind= one of {', '.join(KINDS)}")
    each = str(points).split()
    cell.expect(
        each and all(re.fullmatch(r"[1-9][0-9]*", number) for number in each),
        f"exercise {name!r} needs points= a whole number above 0, or one for each of its parts",
    )
    cell.expect(
        re.fullmatch(r"[1-9][0-9]*", str(cell.metadata.get("minutes", 1))) is not None,
        f"exercise {name!r}: minutes= is a whole number above 0",
    )
    replaces = cell.metadata.get("replaces")
    cell.expect(
        replaces is None or re.fullmatch(r"[\w.]+:[\w.]+", str(replaces)) is not None,
        f"exercise {name!r}: replaces= is spelled MODULE:ATTRIBUTE, not {replaces!r}",
    )
    groups = cell.part_groups
    parts = [part for group in groups for part in group]
    cell.expect(
        len(each) in (1, len(groups)) and all(groups),
        f"exercise {name!r}: {len(each)} numbers of points for {len(groups)} parts",
    )
    shares = [Share(*pair) for pair in zip(groups, map(int, each), strict=True)] if len(each) > 1 else []
    made = KINDS[str(kind)](parts=parts, replaces=replaces, shares=shares)
    cell.expect(not made.refused(), f"exercise {name!r}: {made.refused()}")
    return ExerciseSource(str(name), made, cell.points, cell.minutes, cell)


def _add(exercise: ExerciseSource, cell: Cell) -> None:
    markdown = cell.role == "hint"
    cell.expect(
        (cell.cell_type == "markdown") == markdown,
        f"a {cell.role} is a {'[markdown]' if markdown else 'code'} cell",
    )
    match cell.role:
        case "docstrings" | "solution" | "check":
            cell.expect(getattr(exercise, cell.role) is None, f"a second {cell.role} of {exercise.name!r}")
            setattr(exercise, cell.role, cell)
        case "hint":
            exercise.hints.append(cell.text)
        case "mutant":
            exercise.mutants.append(_mutant(cell))
        case "variant":
            exercise.variants.append(_variant(cell))
        case "machine":
            exercise.variants.append(Variant(True, "", cell.text.strip(), True))


def _variant(cell: Cell) -> Variant:
    about = cell.metadata
    cell.expect(("wrong" in about) != ("right" in about), 'a variant is either wrong="WHY" or right="IN WHICH FORM"')
    says = str(about.get("wrong", about.get("right"))).strip()
    return Variant("right" in about, says, cell.text.strip(), about.get("shown") is True)


def _mutant(cell: Cell) -> Mutant:
    lines = cell.text.splitlines()
    comments = [
        line[1:].strip()
        for line in lines[: next((i for i, line in enumerate(lines) if not line.startswith("#")), None)]
    ]
    cell.expect(
        len(comments) > 1,
        "a mutant starts with a comment line that names it and one or more that say what is wrong",
    )
    text = "\n".join(lines[len(comments) :]).strip("\n")
    return Mutant(comments[0], " ".join(comments[1:]), text, str(cell.metadata.get("spoils", "")).split())


def _complete(source: Source, reference: Path) -> None:
    """Make what the authors of the exercises do not write."""
    core = [exercise for exercise in source.exercises if exercise.kind.parts]
    files = as_of(read(reference), source.key) if core else {}
    shared = core_names(source)
    if core:
        first = next((cell for cell in source.cells if cell.role == "setup"), core[0].task)
        first.expect(
            "from __future__ import annotations" in first.text and "check" in shared,
            "with core exercises the first setup cell begins with `from __future__ import annotations`, "
            "and one that imports no minitorch imports `check`",
        )
    names: dict[str, str] = {}
    for exercise in source.exercises:
        for part in exercise.kind.parts:
            other = names.setdefault(short(part), exercise.name)
            exercise.task.expect(other == exercise.name, f"{short(part)} is a part of {other!r} too")
        solution, check = exercise.solution, exercise.check
        try:
            exercise.kind.complete(exercise, files, shared, source.key)
        except PartError as error:
            raise exercise.task.error(f"exercise {exercise.name!r}: {error}") from error
        if exercise.check is not check and check and exercise.solution and exercise.check:
            place = source.cells.index(check)
            source.cells[place : place + 1] = [exercise.solution, exercise.check]
            if solution is not None:
                source.cells.remove(solution)


def core_names(source: Source) -> set[str]:
    """The names that the setup of core exercises defines."""
    return set().union(*(defined(cell.text) for cell in source.cells if is_core_setup(source, cell)))


def is_core_setup(source: Source, cell: Cell) -> bool:
    """Whether a setup cell runs for core exercises too: it imports no minitorch and uses no name of one that does."""
    known: set[str] = set()
    for setup in (each for each in source.cells if each.role == "setup"):
        own = defined(setup.text)
        fits = not imported(setup.text) & {*REFUSED} and free(setup.text) <= known | own
        if setup is cell:
            return fits
        known |= own if fits else set()
    return False


def _validate(exercise: ExerciseSource) -> None:
    task, name = exercise.task, exercise.name
    if exercise.solution is None:
        raise task.error(f"exercise {name!r} has no solution cell")
    if exercise.check is None:
        raise task.error(f"exercise {name!r} has no check cell")
    text = exercise.solution.text
    for marker in ("SOLUTION", "STUB"):
        begins, ends = text.count(f"### BEGIN {marker}"), text.count(f"### END {marker}")
        exercise.solution.expect(begins == ends, f"{begins} BEGIN {marker} but {ends} END {marker}")
    exercise.solution.expect(SOLUTION.search(text) is not None, "no ### BEGIN SOLUTION ... ### END SOLUTION")
    blocks = len(SOLUTION.findall(DECORATORS.sub("", text))), len(STUB.findall(text))
    exercise.solution.expect(blocks[1] in (0, blocks[0]), "{} solution blocks but {} stub blocks".format(*blocks))
    for cell in (exercise.solution, exercise.check):
        try:
            parsed(plain(cell.text))
        except SyntaxError as error:
            raise cell.error(f"line {error.lineno} of the cell: {error.msg}") from error
    try:
        parsed(plain(cut(text)))
    except SyntaxError as error:
        raise exercise.solution.error(f"line {error.lineno} of the cell with its stub: {error.msg}") from error
    shows = sum(
        isinstance(node, ast.Attribute) and node.attr == "show" for node in ast.walk(parsed(plain(exercise.check.text)))
    )
    exercise.check.expect(shows == 1, f"a check calls check.show once, not {shows} times")
    for what, found, least in (
        ("hints", exercise.hints, exercise.kind.hints),
        ("mutants", exercise.mutants, exercise.kind.mutants),
    ):
        task.expect(len(found) >= least, f"exercise {name!r} has {len(found)} {what}; it needs {least} or more")
    exercise.check.expect(exercise.names, f"the check uses nothing that the solution of {name!r} defines")
    exercise.kind.validate(exercise)


def _validate_independence(source: Source) -> None:
    setup = [cell for cell in source.cells if cell.role == "setup"]
    shared: set[str] = set().union(*(defined(cell.text) for cell in setup))
    for cell in setup:
        if missing := free(cell.text) - shared:
            raise cell.error(f"setup uses {', '.join(sorted(missing))}, which no setup cell defines")
    for exercise in source.exercises:
        assert exercise.solution is not None and exercise.check is not None
        for cell in (exercise.solution, exercise.check):
            taken = defined(cell.text) & shared - {"mytorch"}  # which a core exercise's check makes anew
            cell.expect(
                not taken,
                f"the {cell.role} of {exercise.name!r} defines {', '.join(sorted(taken))}, which a setup cell defines "
                "for all exercises: the next one would get another",
            )
        known_to = exercise.kind.known(exercise.solution.text, shared, core_names(source))
        for cell, known in zip((exercise.solution, exercise.check), known_to, strict=True):
            if missing := free(cell.text) - known:
                raise cell.error(
                    f"the {cell.role} of {exercise.name!r} uses {', '.join(sorted(missing))}, "
                    "which neither a setup cell nor the exercise defines; exercises are independent of each other"
                )
