"""What an op does differently stands at its declaration: what runs all ops knows none of them by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch
import minitorch.nn.functional
from minitorch.dispatch.declaration import OPS

PACKAGE = Path(minitorch.__file__).parent
FILES = [path for folder in ("dispatch", "autograd", "amp") for path in sorted((PACKAGE / folder).glob("*.py"))]
NAMES = {*OPS, *(op.name for op in OPS.values())}
NO_OPS = {
    "apply": {"index"},  # a parameter
    "autocast": {"mode"},  # a parameter of `pad`
    "graph": {"all", "any"},  # of the gradients that a hook waits for
    "profiler_util": {"cat"},  # the category of an event
}
"""Words that mean something else, by the files in which they do."""


def strings_of(tree: ast.AST) -> Iterator[ast.Constant]:
    """The strings of a module that are no documentation, and do not list what it exports or what its objects hold."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            skipped.add(node.value)
        if isinstance(node, ast.Assign) and any(
            getattr(each, "id", "") in ("__all__", "__slots__") for each in node.targets
        ):
            skipped.update(ast.walk(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node


def test_names_are_searched_for_no_words() -> None:
    found = {
        path.stem: words
        for path in FILES
        if (words := {node.left.value for node in ast.walk(ast.parse(path.read_text())) if is_search(node)})
    }
    assert found == {}


def is_search(node: ast.AST) -> Any:
    """Whether this asks if a string is in the name of an op, or among its parameters."""
    return (
        isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Constant)
        and isinstance(node.ops[0], (ast.In, ast.NotIn))
        and re.fullmatch(r"op\.(name|parameters|positions|node_name)", ast.unparse(node.comparators[0]))
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_op_is_known_by_name(path: Path) -> None:
    names = NAMES - NO_OPS.get(path.stem, set())
    found = [
        f"line {node.lineno}: {node.value!r}"
        for node in strings_of(ast.parse(path.read_text()))
        if node.value.split() and all(word in names for word in node.value.split())
    ]
    assert found == []
