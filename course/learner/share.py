"""How much of mytorch is the learner's: counted, as a bar for each chapter, and as a map of the package."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from course.files import Course
from course.learner import package, written
from course.parsed import parsed
from course.source import definitions, parts
from course.source.assemble import assemble, read, section_of

KINDS = ("graded", "free")
"""What a definition is: asked for by an exercise, or written with `course write`. All else are imports and tables."""


@dataclass(frozen=True)
class Definition:
    """A definition of mytorch: where it stands, how many lines of code it has, and whose it is."""

    part: str
    file: str
    chapter: str
    lines: int
    kind: str
    is_mine: bool


@dataclass(frozen=True)
class Ownership:
    """How much of mytorch is the learner's."""

    definitions: list[Definition]

    def lines(self, kind: str = "", *, mine: bool = False) -> int:
        """The lines of code in definitions: of one kind, or the learner's, or all."""
        return sum(each.lines for each in self._chosen(kind, mine))

    def count(self, kind: str = "", *, mine: bool = False) -> int:
        """How many definitions there are: of one kind, or the learner's, or all."""
        return len(list(self._chosen(kind, mine)))

    def _chosen(self, kind: str, mine: bool) -> Iterator[Definition]:
        return (each for each in self.definitions if kind in ("", each.kind) and (each.is_mine or not mine))

    def __str__(self) -> str:
        share = 100 * self.lines(mine=True) / max(1, self.lines())
        yours = f"{self.count(mine=True)} of {self.count()} definitions of mytorch are yours"
        none = f"None of the {self.count()} definitions of mytorch is yours yet."
        return (
            f"{f'{yours}, {share:.0f} % of its code.' if self.count(mine=True) else none}\n"
            f"Exercises ask for {self.count('graded')} definitions, and `course write` opens the others."
        )


def of(course: Course) -> Ownership:
    """What of the whole package is the learner's."""
    original, mine = read(package.reference(course)), package.solved(course)
    files = assemble(original, None, mine)
    asked = set(written.graded(course))
    found = []
    for part in dict.fromkeys([*definitions.names(original), *(each for each in asked if parts.has(original, each))]):
        if part not in asked and any(part.startswith(f"{each}.") for each in asked):
            continue  # a method of a class that an exercise asks for whole
        name, path = parts.file_of(files, part), part.partition(":")[2]
        kind = KINDS[part not in asked]
        chapter = section_of(original[name], path)
        found.append(Definition(part, name, chapter, code_lines(parts.text_of(files, part)), kind, part in mine))
    return Ownership(found)


def code_lines(text: str) -> int:
    """Lines that are neither blank, nor a comment, a docstring or an import."""
    left_out: set[int] = set()
    for node in ast.walk(parsed(text)):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.stmt) and node.end_lineno is not None
            left_out.update(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(text.split("\n"), 1)
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") and n not in left_out for n, line in lines)


def bars(share: Ownership) -> Group:
    """A bar for each chapter in which a definition is the learner's: how many of its lines are."""
    shown = Table.grid(padding=(0, 2, 0, 0))
    for chapter in sorted({each.chapter for each in share.definitions if each.is_mine}):
        here = Ownership([each for each in share.definitions if each.chapter == chapter])
        bar = ProgressBar(total=max(1, here.lines()), completed=here.lines(mine=True), width=30)
        shown.add_row(chapter, bar, f"{here.count(mine=True)} of {here.count()} definitions")
    return Group(shown, Text(str(share)))


def marked(share: Ownership) -> Text:
    """A line for each definition; the learner's are ticked."""
    return Text("\n".join(f"{'✓' if each.is_mine else ' '} {each.part}" for each in share.definitions))
