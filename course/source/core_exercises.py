"""Core exercises: the solution cell made from the reference, its stub, and what else the build writes."""

import ast
import builtins
import itertools
import json
import re
from collections.abc import Iterator, Mapping

from course.chapters import Key
from course.parsed import parsed
from course.source import parts
from course.source.cells import cut, defined, used_at_definition
from course.source.statements import Definition

CUT = "# YOUR CODE HERE"
_RAISE = "raise NotImplementedError()"


def solution(files: Mapping[str, str], chosen: list[str], shared: set[str], docstrings: str = "") -> str:
    """The solution cell of an exercise: the reference's text of its parts, with markers around what the learner writes.

    Args:
        files: the package as of the exercise's chapter.
        chosen: the exercise's parts.
        shared: the names that the setup cells define.
        docstrings: definitions whose docstrings say what the parts must do; they take the place of the package's.
    """
    texts = {part: _specified(parts.text_of(files, part, decorators=False), docstrings) for part in chosen}
    with_stubs = not all(isinstance(parsed(text).body[0], Definition) for text in texts.values())
    cells = [_decorated(files, part, shared) + _with_markers(text, with_stubs) for part, text in texts.items()]
    return "\n\n\n".join([*imports(files, texts, shared), *cells])


def completed(files: Mapping[str, str], chosen: list[str], text: str, shared: set[str]) -> str:
    """A mutant that holds some of an exercise's parts, with the reference's text of the others."""
    own = {part: text for part in chosen if parts.defines(text, part)}
    others = {
        part: "\n".join([*parts.decorators_of(files, part), parts.text_of(files, part, decorators=False)])
        for part in chosen
        if part not in own
    }
    return "\n\n\n".join([*imports(files, own | others, shared), text, *others.values()])


def _specified(text: str, docstrings: str) -> str:
    """A part's text with the docstring of the definition of its name among `docstrings`."""
    node = parsed(text).body[0]
    found = [each for each in parsed(docstrings).body if getattr(each, "name", "") == getattr(node, "name", None)]
    if not found or not isinstance(node, Definition):
        return text
    lines, own = text.split("\n"), ast.get_docstring(node, clean=False) is not None
    source = found[0].body[0]  # type: ignore[attr-defined]
    begin = node.body[0].lineno - 1
    end = node.body[0].end_lineno if own else begin
    lines[begin:end] = docstrings.split("\n")[source.lineno - 1 : source.end_lineno]
    return "\n".join(lines)


def _decorated(files: Mapping[str, str], part: str, shared: set[str]) -> str:
    """The decorators of a part that the learner writes, with what they need, in markers of their own."""
    decorators = "\n".join(parts.decorators_of(files, part))
    if not decorators:
        return ""
    needed = imports(files, {part: f"{decorators}\ndef decorated(): ..."}, shared)
    return "\n".join(["### BEGIN SOLUTION", *needed, decorators, "### END SOLUTION", ""])


def imports(files: Mapping[str, str], texts: Mapping[str, str], shared: set[str]) -> list[str]:
    """What a cell with these parts needs besides the setup to run in a notebook: at most one block of imports.

    The body of a function finds its names in the package. But default values, base classes and the values of
    assignments are computed when the cell runs.
    """
    own = set().union(*(defined(text) for text in texts.values()))
    wanted: dict[str, set[str]] = {}
    for part, text in texts.items():
        needed = {
            name
            for statement in parsed(text).body
            for name in used_at_definition(statement)
            if name not in own | shared and not hasattr(builtins, name)
        }
        module = files[parts.file_of(files, part)]
        wanted.setdefault(part.partition(":")[0], set()).update(needed & defined(module))
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(wanted.items()) if names]
    return ["\n".join(lines)] if lines else []


def absent(files: Mapping[str, str], part: str) -> str:
    """A file's text in which a part only raises: what a grader's kernel sees in the place of the part under test."""
    name, path = parts.file_of(files, part), part.partition(":")[2]
    text = parts.text_of(files, part, decorators=False)
    node = parsed(text).body[0]
    if isinstance(node, Definition):
        return parts.replaced(files[name], path, cut(_with_markers(text, False)))
    function, _, first = path.partition(".")  # of a call such as `derivative("mul", ...)`
    stub = f'{function}("{first}")' if isinstance(node, ast.Expr) else f"{parts.short(part)} = NotImplemented"
    return parts.replaced(files[name], path, stub)


PAGE = 100
"""Characters of code that a notebook's page shows without scrolling."""


def check_line(chosen: list[str], chapter: Key) -> str:
    """The first line of a core exercise's check, broken so that it fits a notebook's page."""
    arguments = [*(f'"{part}"' for part in chosen), f"chapter={chapter.literal}"]
    yours = "part" if len(chosen) == 1 else "parts"
    comment = f"  # the package, with your {yours} in it"
    line = f"mytorch = check.mytorch({', '.join(arguments)}){comment}"
    if len(line) <= PAGE:
        return line
    return "\n".join([f"mytorch = check.mytorch({comment}", *(f"    {each}," for each in arguments), ")"])


def quoted(files: Mapping[str, str], chosen: list[str], taken: Mapping[str, str]) -> str:
    """Given parts as Markdown: a block of code for each file, under the file's name.

    Args:
        files: the package as of the lesson's chapter.
        chosen: the parts.
        taken: the parts that the learner writes, with the exercise. Of a class their heads alone are shown.

    Raises:
        PartError: no such part, or the learner writes it.
    """
    files = dict(files)
    blocks: dict[str, list[str]] = {}
    for part in chosen:
        if owner := next((taken[other] for other in taken if f"{part}.".startswith(f"{other}.")), None):
            raise parts.PartError(f"{part} is what exercise {owner!r} asks for: a lesson does not show it")
        name = parts.file_of(files, part)
        for other, exercise in taken.items():
            if other.startswith(f"{part}."):
                text = cut(_with_markers(parts.text_of(files, other, decorators=False), False))
                text = re.sub(rf"{CUT}\n +raise NotImplementedError\(\)", f"...  # yours: exercise {exercise}", text)
                files[name] = parts.replaced(files[name], other.partition(":")[2], text)
        blocks.setdefault(name, []).append(parts.text_of(files, part))
    package = chosen[0].partition(":")[0].partition(".")[0]
    return "\n\n".join(f"`{package}/{name}`\n\n```python\n{_spaced(texts)}\n```" for name, texts in blocks.items())


def _with_markers(text: str, with_stub: bool) -> str:
    """A part's text with markers around the bodies of its functions, or around all of it."""
    node = parsed(text).body[0]
    lines = text.split("\n")
    functions = list(_functions(node))
    if not functions:
        return "\n".join(["### BEGIN SOLUTION", *lines, "### END SOLUTION", *_stub("", [f"{_hollow(node)}  {CUT}"])])
    for function in reversed(functions):
        first, last = function.body[0], function.body[-1]
        assert first.end_lineno is not None and last.end_lineno is not None
        begin, indent = first.lineno - 1, " " * first.col_offset
        if ast.get_docstring(function, clean=False) is not None:
            begin = first.end_lineno
        while lines[begin - 1].lstrip().startswith("#"):  # comments above the first statement belong to the body
            begin -= 1
        end = [indent + "### END SOLUTION", *(_stub(indent, [CUT, _RAISE]) if with_stub else [])]
        body = lines[begin : last.end_lineno]
        lines[begin : last.end_lineno] = [indent + "### BEGIN SOLUTION", *body, *end]
    return "\n".join(lines)


def _functions(node: ast.stmt) -> Iterator[Definition]:
    """What has a body to write: the function, the methods of a class, or a class that has none."""
    if isinstance(node, Definition):
        inner = [found for each in node.body for found in _functions(each)] if isinstance(node, ast.ClassDef) else []
        is_empty = len(node.body) == 1 and isinstance(node.body[0], ast.Expr)  # a docstring or `...`
        yield from inner or ([] if is_empty else [node])


def _hollow(node: ast.stmt) -> str:
    """An assignment or a call with `...` for what is to be written."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return f"{name} = ..."
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
            return f"{name}: {ast.unparse(annotation)} = ..."
        case ast.Expr(value=ast.Call(func=function, args=[first, *_], keywords=keywords)):
            formulas = "".join(f", {keyword.arg}=..." for keyword in keywords)
            return f"{ast.unparse(function)}({json.dumps(ast.literal_eval(first))}{formulas})"
    return "..."


def _stub(indent: str, lines: list[str]) -> list[str]:
    return [indent + line for line in ("### BEGIN STUB", *(f"# {line}" for line in lines), "### END STUB")]


def _spaced(texts: list[str]) -> str:
    """Parts of a file below each other: single lines without a gap, definitions with two."""
    spaced = texts[0]
    for before, text in itertools.pairwise(texts):
        spaced += ("\n" if "\n" not in before + text else "\n\n\n") + text
    return spaced
