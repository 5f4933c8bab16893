"""The reading path of docs/reading.md: which parts of minitorch to read, in which order, and with which chapter."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course.chapters import PATTERN
from course.files import CODE
from course.parsed import parsed

_ROW = re.compile(rf"\| *({PATTERN}) *\| *`([\w/.]+)` *\| *([^|]*?) *\| *([^|]*?) *\|")
_WHOLE = "all of it"


@dataclass(frozen=True)
class Step:
    """One row of the path: a file of minitorch, what to read of it, and why."""

    chapter: str
    path: Path
    parts: tuple[str, ...]
    """Names of definitions, `Class.method` among them; none where the whole file is meant."""
    sentence: str

    def lines(self) -> Iterator[tuple[int, int]]:
        """The first and last line of each part.

        Raises:
            LookupError: the file has no such definition.
        """
        source = self.path.read_text(encoding="utf-8")
        tree = parsed(source)
        if not self.parts:
            yield 1, len(source.splitlines())
        for part in self.parts:
            body: list[ast.stmt] = tree.body
            for name in part.split("."):
                definitions = [each for each in body if isinstance(each, (ast.FunctionDef, ast.ClassDef))]
                found = [each for each in definitions if each.name == name]
                if not found:
                    raise LookupError(f"{self.path} has no {part}")
                body = found[0].body
            for each in found:  # a property and its setter have one name
                yield min([each.lineno, *(top.lineno for top in each.decorator_list)]), each.end_lineno or 0


def code_of(root: Path) -> Path:
    """Where the package minitorch of the course in `root` is: there, or installed."""
    return root if (root / "minitorch").is_dir() else CODE


def steps(root: Path) -> list[Step]:
    """The path, in order."""
    text = (root / "docs" / "reading.md").read_text(encoding="utf-8")
    return [
        Step(
            chapter,
            code_of(root) / "minitorch" / file,
            () if parts == _WHOLE else tuple(re.findall(r"`([^`]+)`", parts)),
            sentence,
        )
        for chapter, file, parts, sentence in _ROW.findall(text)
    ]


def shown(root: Path, chapter: str) -> str:
    """What to read with a chapter, named by its number or its folder; empty where that is nothing."""
    texts = []
    for step in steps(root):
        if not re.fullmatch(rf"{step.chapter}(_.*)?", chapter):
            continue
        source = step.path.read_text(encoding="utf-8").splitlines()
        texts.append(f"# {step.path.relative_to(code_of(root))}: {step.sentence}\n")
        texts += ["\n".join([f"# line {first}", *source[first - 1 : last], ""]) for first, last in step.lines()]
    return "\n".join(texts)
