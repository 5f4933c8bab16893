"""Other names in a learner's text, which otherwise stays as it is."""

import ast
from collections.abc import Mapping


def rename(text: str, tree: ast.Module, names: Mapping[str, str], attributes: Mapping[str, str] | None = None) -> str:
    """The text in which top-level definitions, and all names that are called like them, have new names.

    Args:
        text: a cell.
        tree: it, parsed.
        names: the new names by the old ones.
        attributes: the same, of attributes wherever they are.
    """
    attributes = attributes or {}
    lines = text.split("\n")
    places: list[tuple[int, int, str, str]] = []  # line, column in bytes, the old name, the new one
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=old) if old in names:
                places.append((node.lineno, node.col_offset, old, names[old]))
            case ast.Attribute(attr=old) if old in attributes:
                end = (node.end_col_offset or 0) - len(old.encode())
                places.append((node.end_lineno or 0, end, old, attributes[old]))
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=old) | ast.AsyncFunctionDef(name=old) | ast.ClassDef(name=old) if old in names:
                if place := _head(lines, statement):
                    places.append((*place, old, names[old]))
    for line, column, old, new in sorted(places, reverse=True):
        row, end = lines[line - 1].encode(), column + len(old.encode())
        if row[column:end] == old.encode():  # Python reads some other letters as these
            lines[line - 1] = (row[:column] + new.encode() + row[end:]).decode()
    return "\n".join(lines)


def _head(lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> tuple[int, int] | None:
    """Where the name of a definition stands, which may be in a line below `def`."""
    start = lines[node.lineno - 1].encode().find(b"class" if isinstance(node, ast.ClassDef) else b"def") + 3
    for line in range(node.lineno, node.body[0].lineno + 1):
        if (column := lines[line - 1].encode().find(node.name.encode(), start)) >= 0:
            return line, column
        start = 0
    return None
