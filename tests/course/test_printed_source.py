"""What lessons print of minitorch's source is minitorch's source as it is now."""

import ast
import contextlib
import io
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.files import CODE

LESSONS = sorted(path for path in CODE.glob("notebooks/*.ipynb") if "getsource" in path.read_text(encoding="utf-8"))

OURS = {"inspect", "minitorch"}


def parsed(source: str) -> list[ast.stmt]:
    """The statements of a cell; none where it has lines of IPython's own (`%matplotlib`)."""
    try:
        return ast.parse(source).body
    except SyntaxError:
        return []


def imports_ours(statement: ast.stmt) -> bool:
    """Whether it imports from minitorch, and is not the import that renames it for the whole process."""
    match statement:
        case ast.Import(names=[name]):
            return name.name.split(".")[0] in OURS and name.name != "minitorch.as_torch"
        case ast.ImportFrom(module=str(module)):
            return module.split(".")[0] in OURS
    return False


def prints_source(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and ast.unparse(statement).startswith("print(inspect.getsource(")


def printed(statement: ast.stmt, names: dict[str, Any]) -> str:
    """What the statement prints; nothing where it names what the lesson itself defines."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(NameError):
        exec(ast.unparse(statement), names)
    return out.getvalue()


def shown(notebook: Path) -> list[tuple[str, str]]:
    """For each print of a source in a lesson: what it prints now, and what its cell has stored."""
    names: dict[str, Any] = {}
    pairs = []
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            stored = "".join(out.text for out in cell.outputs if out.output_type == "stream")
            for statement in parsed(cell.source):
                if imports_ours(statement):
                    exec(ast.unparse(statement), names)
                elif prints_source(statement) and (now := printed(statement, names)):
                    pairs.append((now, stored))
    return pairs


@pytest.fixture(scope="module")
def sources() -> dict[str, list[tuple[str, str]]]:
    return {path.stem: shown(path) for path in LESSONS}


def test_printed_sources_are_of_today(sources: dict[str, list[tuple[str, str]]]) -> None:
    stale = {
        name: [now for now, stored in pairs if now.strip() not in stored]
        for name, pairs in sources.items()
        if any(now.strip() not in stored for now, stored in pairs)
    }
    assert stale == {}, "build these lessons anew"


def test_most_prints_of_a_source_are_seen(sources: dict[str, list[tuple[str, str]]]) -> None:
    assert sum(map(len, sources.values())) >= 20
