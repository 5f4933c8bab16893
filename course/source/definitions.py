"""The definitions of mytorch: what holds code, and so can be written. Imports and tables are given."""

import ast
import json
from collections.abc import Mapping

from course.files import Course
from course.parsed import parsed
from course.source import parts

SEEN = "tests/mytorch/seen.json"
"""By definition, the tests that fail without it: `pytest -p course.authoring.stubs --find tests/mytorch` makes it."""


def names(files: Mapping[str, str]) -> list[str]:
    """The parts of a package that hold code: functions, methods, declared operations and derivatives."""
    return [part for part in parts.names(files) if parts.has(files, part) and _has_code(parts.text_of(files, part))]


def seen(course: Course) -> dict[str, list[str]]:
    """By definition, the tests that fail without it; empty in a course that doesn't know them."""
    path = course.root / SEEN
    known: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return known


def _has_code(text: str) -> bool:
    """Whether a part defines a function, by `def` or `lambda`; one that only raises, or has nothing to say, is none."""
    node = parsed(text).body[0]
    if isinstance(node, ast.FunctionDef):
        return not all(map(_is_abstract, node.body))
    return any(isinstance(each, ast.Lambda) for each in ast.walk(node)) and not _is_table(node)


def _is_abstract(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, `...`, or `raise NotImplementedError`."""
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or ast.unparse(statement).startswith("raise NotImplementedError")


def _is_table(node: ast.stmt) -> bool:
    """Whether a statement enters things defined elsewhere in a table."""
    return isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict)
