"""Where the functions stand that a part of a package consists of, and the package's text without them."""

import ast
import json
import subprocess
import sys
from types import FunctionType
from typing import Any

from course.files import CODE
from course.learner.install import find_part
from course.learner.lock import functions_of
from course.parsed import parsed

Places = list[tuple[str, int]]  # file, first line


def locate(target: str) -> Places:
    """The functions of the part "module:path", whatever names, tables and wrappers lead to them.

    A value, or a function that is not written in Python, has none.

    Raises:
        LookupError: there are functions, but none that stands in a file.
    """
    found: list[FunctionType] = functions_of(find_part(target), target.partition(":")[2])
    codes = [each.__code__ for each in found if "<locals>" not in each.__code__.co_qualname]  # not those of decorators
    if found and not codes:
        raise LookupError(f"{target}: no text of it was found")
    return sorted({(code.co_filename, code.co_firstlineno) for code in codes})


def locate_all(targets: list[str], path: list[str]) -> dict[str, Places]:
    """`locate`, in a process of its own with this import path; `course` is the one that runs."""
    if not targets:
        return {}
    command = [sys.executable, "-P", "-m", "course.grading.locate", json.dumps(path), *targets]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(CODE)})
    if done.returncode:
        raise LookupError(done.stderr.strip().splitlines()[-1])
    found: dict[str, list[list[Any]]] = json.loads(done.stdout)
    return {target: [(str(file), int(line)) for file, line in places] for target, places in found.items()}


def without(text: str, lines: list[int], target: str) -> str:
    """A file's text in which the functions that start in these lines only raise."""
    rows = text.encode().split(b"\n")
    for node in _from_the_end(parsed(text), set(lines)):
        raising = f"raise RuntimeError({f'{target} is yours to write: it is not in this package'!r})"
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        first, last = body[1 if len(body) > 1 and ast.get_docstring(node, clean=False) else 0], body[-1]
        assert last.end_lineno is not None and last.end_col_offset is not None
        if isinstance(node, ast.Lambda):
            raising = f"(_ for _ in ()).throw({raising.removeprefix('raise ')})"
        before, after = rows[first.lineno - 1][: first.col_offset], rows[last.end_lineno - 1][last.end_col_offset :]
        blank = [b""] * (last.end_lineno - first.lineno)  # the lines below stay where they are
        rows[first.lineno - 1 : last.end_lineno] = [before + raising.encode() + after, *blank]
    return b"\n".join(rows).decode()


def _from_the_end(tree: ast.Module, lines: set[int]) -> list[Any]:
    found = [node for node in ast.walk(tree) if _first_line(node) in lines]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True)


def _first_line(node: ast.AST) -> int:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return node.lineno if isinstance(node, ast.Lambda) else 0


if __name__ == "__main__":
    sys.path[:0] = json.loads(sys.argv[1])
    print(json.dumps({target: locate(target) for target in sys.argv[2:]}))
