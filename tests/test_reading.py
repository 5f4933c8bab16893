"""The reading path of docs/reading.md: short, and in an order in which it can be read."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

import minitorch
from course.learner.read import Step, shown, steps

PACKAGE = Path(minitorch.__file__).parent
ROOT = PACKAGE.parent
PATH = steps(ROOT)
TOGETHER = {"autograd/node.py", "autograd/saved.py", "autograd/engine.py"}
MOST_LINES = 3000


def trusted() -> dict[str, str]:
    """What is taken on trust: file and sentence."""
    text = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8").partition("## Taken on trust")[2]
    return dict(re.findall(r"^\| `([\w/.]+)` \| (.+) \|$", text, re.MULTILINE))


def imported(path: Path) -> dict[str, str]:
    """For each name that a module imports from this package, the file that it is from; not what only checkers need."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("minitorch"):
            for each in node.names:
                parts = [*str(node.module).split(".")[1:], each.name]
                module = PACKAGE.joinpath(*parts).with_suffix(".py")
                package = PACKAGE.joinpath(*parts[:-1])
                own = module if module.exists() else package.with_suffix(".py")
                own = own if own.exists() else package / "__init__.py"
                found[each.asname or each.name] = own.relative_to(PACKAGE).as_posix()
    return found


def used(step: Step) -> set[str]:
    """The names in what is read of a file; annotations are no need."""
    source = step.path.read_text(encoding="utf-8")
    lines = {line for first, last in step.lines() for line in range(first, last + 1)}
    tree = ast.parse(source)
    notes = {
        each
        for node in ast.walk(tree)
        for note in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if isinstance(note, ast.AST)
        for each in ast.walk(note)
    }
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in notes]
    return {node.id for node in names if node.lineno in lines}


@functools.cache
def needs(step: Step) -> set[str]:
    """The other files that what is read of this one needs."""
    sources = imported(step.path)
    own = step.path.relative_to(PACKAGE).as_posix()
    return {sources[name] for name in used(step) & sources.keys()} - {own}


def test_the_path_is_short() -> None:
    assert sum(last - first + 1 for step in PATH for first, last in step.lines()) <= MOST_LINES


def test_each_step_needs_only_those_before_it() -> None:
    read, trust, missing = set(), trusted().keys(), []
    for step in PATH:
        name = step.path.relative_to(PACKAGE).as_posix()
        together = TOGETHER if name in TOGETHER else set()
        read.add(name)
        missing += [f"{name} needs {each}" for each in sorted(needs(step) - read - trust - together)]
    assert missing == []


def test_what_is_trusted_is_needed_and_not_read() -> None:
    needed = set().union(*(needs(step) for step in PATH))
    assert trusted().keys() - needed == set()
    assert trusted().keys() & {step.path.relative_to(PACKAGE).as_posix() for step in PATH} == set()
    assert all(sentence.endswith(".") for sentence in trusted().values())


def test_every_step_has_a_chapter_and_a_sentence() -> None:
    chapters = re.findall(
        r"^(\d\d[a-z]?)_", (ROOT / "notebooks" / "chapters.yml").read_text(encoding="utf-8"), re.MULTILINE
    )
    rows = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8").partition("## Taken on trust")[0]
    assert len(PATH) == len([line for line in rows.splitlines() if line.startswith("|")]) - 2
    assert {step.chapter for step in PATH} <= set(chapters)
    assert all(step.sentence.endswith(".") for step in PATH)


@pytest.mark.parametrize("chapter", ["06", "06_computation_graph"])
def test_a_chapters_part_is_shown(chapter: str) -> None:
    text = shown(ROOT, chapter)
    assert text.startswith("# minitorch/autograd/differentiable.py: A tensor's place in autograd")
    assert "\nclass SavedTensor" in text
    assert "\ndef apply(" in text
    assert "\ndef run(" not in text  # which is chapter 07's


def test_a_chapter_without_a_part_shows_nothing() -> None:
    assert shown(ROOT, "00") == ""
