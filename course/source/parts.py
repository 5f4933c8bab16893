"""Parts of a package's source text: finding them, taking a learner's text in their place, and cutting them out.

A part is a top-level function, class or assignment, a statement such as `derivative("mul", ...)`, or a method. It is
named "package.module:name", "package.module:derivative.mul" or "package.module:Class.method". The package is a dict of
texts by the file's path below the package's folder: {"autograd/engine.py": "..."}.
"""

import __future__

import ast
import functools
import itertools
import re
import symtable
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from course.parsed import parsed
from course.source import fitting
from course.source.cells import defined, plain
from course.source.fitting import PartError as PartError  # whoever uses parts knows it from here
from course.source.statements import CALLS, Definition, decorations, first_line, last_line, lookups, named, used_by

ANSWERS = ("no_grad", "enable_grad", "set_grad_enabled")
"""Decorators that change what a function does: they are part of the answer. The others say what the function is."""
_KINDS = {"property", "classmethod", "staticmethod"}


@dataclass(frozen=True)
class Place:
    """Where a part stands in a file; lines count from 1, `start` and `end` are both its own."""

    node: ast.stmt
    outer: ast.stmt  # the top-level statement that holds it: itself, or the class of a method
    tail: int = 0  # lines below it that belong to it: comments at the end of its body

    @property
    def start(self) -> int:
        """The first line, which may be a decorator's."""
        return first_line(self.node)

    @property
    def end(self) -> int:
        """The last line."""
        return last_line(self.node) + self.tail

    @property
    def lines(self) -> slice:
        """The place as a slice of the file's lines."""
        return slice(self.start - 1, self.end)


def file_of(files: Mapping[str, str], part: str) -> str:
    """The file that holds a part.

    Raises:
        PartError: the package has no such module.
    """
    module, colon, path = part.partition(":")
    folders = module.split(".")[1:]
    candidates = ["/".join([*folders, "__init__.py"]), *(["/".join(folders) + ".py"] if folders else [])]
    for name in candidates:
        if colon and path and name in files:
            return name
    raise PartError(f"{part}: there is no module {module}")


def find(text: str, path: str) -> Place:
    """Where the part of this path ("name", "derivative.mul", "Class.method") stands in a file's text.

    Raises:
        PartError: it is not there, or more than once.
    """
    found = list(_search(_statements(text), path))
    if len(found) != 1:
        raise PartError(f"{path}: defined {len(found)} times" if found else f"{path}: no such definition")
    return found[0]


@functools.lru_cache(64)
def _statements(text: str) -> list[ast.stmt]:
    """A file has many parts: it is parsed once for them all. Nobody changes what is given."""
    return parsed(text).body


def has(files: Mapping[str, str], part: str) -> bool:
    """Whether a package holds a part, once."""
    try:
        find(files[file_of(files, part)], part.partition(":")[2])
    except PartError:
        return False
    return True


def text_of(files: Mapping[str, str], part: str, decorators: bool = True) -> str:
    """The text of a part, without the indentation of its class."""
    text = files[file_of(files, part)]
    place = find(text, part.partition(":")[2])
    lines = shifted(text.split("\n"), place, -place.node.col_offset)
    return "\n".join(lines if decorators else lines[place.node.lineno - place.start :])


def decorators_of(files: Mapping[str, str], part: str) -> list[str]:
    """The decorators of a part that are part of the answer, a line each."""
    node = find(files[file_of(files, part)], part.partition(":")[2]).node
    return [f"@{ast.unparse(each)}" for each in decorations(node) if _is_answer(each)]


def names(files: Mapping[str, str], package: str = "mytorch") -> list[str]:
    """Every part of a package, in the order of the files; of a class with methods its members, not itself."""
    return [f"{_module(name, package)}:{path}" for name, text in files.items() for path in _paths(_statements(text))]


def short(part: str) -> str:
    """What a part is called in a cell of its own: a method is a plain function there."""
    path = part.partition(":")[2]
    return path if path.partition(".")[0] in CALLS else path.rpartition(".")[2]


def defines(text: str, part: str) -> bool:
    """Whether a learner's cell holds a part, as a top-level statement."""
    return short(part) in held(text)


def held(text: str) -> set[str]:
    """The short names of what a learner's cell holds that may be parts: none if it is no Python."""
    return {named(statement) for statement in _body(text)} - {""}


def _body(text: str) -> list[ast.stmt]:
    """The statements of a learner's cell, which may hold anything: none if it is no Python."""
    try:
        return parsed(plain(text)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def undefined(text: str, chosen: Sequence[str]) -> str:
    """Which of these parts a learner's cell does not hold, and what to change; empty if it holds all."""
    missing = [short(part) for part in chosen if not defines(text, part)]
    told = [f"the cell does not define {', '.join(missing)}"] if missing else []
    return "; ".join([*told, *misplaced(text, chosen)])


def misplaced(text: str, chosen: Sequence[str]) -> list[str]:
    """What to change about the parts that a learner's cell defines inside other statements, a sentence each."""
    missing = [short(part) for part in chosen if not defines(text, part)]
    return [
        f"{name} is defined inside the statement in line {statement.lineno}: give it a statement of its own, "
        f"`def {name}(...)` or `{name} = ...`, that starts at the left margin"
        for statement in _body(text)
        for name in missing
        if name in _inner(statement)
    ]


def _inner(statement: ast.stmt) -> set[str]:
    """The names that a statement which is no part defines all the same: in an `if`, in a tuple, by `:=`."""
    inner = [] if named(statement) else list(ast.walk(statement))
    return defined(ast.unparse(statement)) | {each.name for each in inner if isinstance(each, Definition)}


def same(text: str, other: str, part: str) -> bool:
    """Whether two cells that hold a part have the same text for it."""

    def lines(cell: str) -> list[list[str]]:
        code = plain(cell)
        found = [each for each in parsed(code).body if named(each) == short(part)]
        return [code.split("\n")[first_line(each) - 1 : last_line(each)] for each in found]

    return lines(text) == lines(other)


def with_new_stubs(cell: str, before: str, stub: str) -> str:
    """A learner's answer, and below it the stubs of parts that its exercise did not ask for before."""
    lines, new = plain(stub).split("\n"), held(stub) - held(before) - held(cell)
    added = [each for each in parsed(plain(stub)).body if named(each) in new]
    pieces = ["\n".join(lines[first_line(each) - 1 : last_line(each)]) for each in added]
    return "\n\n\n".join([cell.rstrip(), *pieces]) if pieces else cell


def with_imports(cell: str, setup: Iterable[str], files: Iterable[str]) -> str:
    """A learner's cell, and before it the imports of the setup cells that it uses and none of these files has."""
    try:
        tree = parsed(plain(cell))
        missing = lookups(compile(tree, "", "exec", __future__.annotations.compiler_flag)).difference(
            *map(defined, files)
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the learner's cells may hold anything
        return cell
    lines = [
        ast.unparse(statement)
        for text in setup
        for statement in parsed(plain(text)).body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        and defined(ast.unparse(statement)) & missing - defined(cell)
    ]
    return "\n".join([*lines, "", plain(cell)]) if lines else cell


def with_siblings(text: str, siblings: Iterable[str]) -> str:
    """A file's text, and below it imports of the parts of other files that it uses and lacks.

    They stand below, since the other files may import this one.
    """
    used = used_by(parsed(text).body) & _globals(symtable.symtable(text, "", "exec")) - defined(text)
    split = (part.split(":") for part in siblings)
    lines = [f"from {module} import {name}" for module, name in split if name in used]
    return "\n".join([text.rstrip("\n"), "", *lines, ""]) if lines else text


def _globals(table: symtable.SymbolTable) -> set[str]:
    """The global names that code refers to: no attributes, and in annotations, too."""
    own = {each.get_name() for each in table.get_symbols() if each.is_global() and each.is_referenced()}
    return own.union(*map(_globals, table.get_children()))


def shifted(lines: list[str], place: Place, by: int) -> list[str]:
    """The lines of a place, indented by so many spaces more or less; but strings stay, docstrings aside."""
    fixed = _inside_strings(place.node)
    return [
        line if number in fixed else _shift(line, by) for number, line in enumerate(lines[place.lines], place.start)
    ]


def swap(text: str, cell: str, paths: list[str], mark: str = "", elsewhere: Iterable[str] = ()) -> str:
    """A file's text with a learner's cell in the place of some parts.

    What else the cell holds (functions, assignments, imports, comments) comes along, at the file's top level: before
    the part if it stands before it in the cell, else after it. The file's decorators stay that say what a function is;
    those that change what it does are the cell's.

    Args:
        text: the file.
        cell: the learner's text, which holds every part as a top-level statement.
        paths: the parts' paths in this file.
        mark: a comment line that comes before each piece of the learner's.
        elsewhere: parts that the cell holds too, by their names there, and that do not come along.

    Raises:
        PartError: a part is missing in the file or the cell.
    """
    last = {short(f":{path}"): path for path in paths}
    cell = fitting.fitted(plain(cell), text, {*last, *elsewhere})
    statements = parsed(cell).body
    lines, own = text.split("\n"), cell.split("\n")
    chosen = {last[name]: statement for statement in statements if (name := named(statement)) in last}
    if absent := [path for path in paths if path not in chosen]:
        raise PartError(f"the cell does not define {', '.join(short(f':{path}') for path in absent)}")
    here = [each for each in statements if named(each) not in elsewhere]
    trials = fitting.trials(here, {*last, *elsewhere}, fitting.taken(text).keys() - last.keys())
    kept = [each for each in here if each not in trials and not isinstance(each, ast.Import | ast.ImportFrom)]
    used = used_by(kept)
    missing = used - defined(text)
    idle = [each for each in statements if each in trials or fitting.is_idle(each, used, missing)]
    idle += [each for each in statements if named(each) in elsewhere or fitting.is_replaced(each, chosen, statements)]
    edits: list[tuple[int, int, list[str]]] = []  # first line, last line, what comes there instead
    ordered = sorted(chosen, key=lambda path: chosen[path].lineno)
    begin = 1
    for path in ordered:
        place, mine = find(text, path), Place(chosen[path], chosen[path], _tail(own, chosen[path]))
        before = _helpers(own, idle, begin, mine.start - 1)
        if before:  # a part that comes later in the cell, and earlier in the file, may need them
            start = min(first_line(find(text, later).outer) for later in ordered[ordered.index(path) :])
            edits.append((start, start - 1, [*([mark] if mark else []), *before, "", ""]))
        edits.append((place.start, place.end, _fitted(lines, place, own, mine, mark)))
        begin = mine.end + 1
    if after := _helpers(own, idle, begin, len(own)):
        end = max(last_line(find(text, path).outer) for path in ordered)
        edits.append((end + 1, end, ["", "", *([mark] if mark else []), *after]))
    return "\n".join(_edited(lines, edits))


def replaced(text: str, path: str, new: str) -> str:
    """A file's text with these lines, indented as the part is, in the place of a part; its decorators stay."""
    lines, place = text.split("\n"), find(text, path)
    indented = [_shift(line, place.node.col_offset) for line in new.split("\n")]
    return "\n".join(_edited(lines, [(place.node.lineno, place.end, indented)]))


def marked(text: str, path: str, mark: str) -> str:
    """A file's text with a comment line before a part."""
    lines, place = text.split("\n"), find(text, path)
    return "\n".join(_edited(lines, [(place.start, place.start - 1, [" " * place.node.col_offset + mark])]))


def _fitted(lines: list[str], place: Place, own: list[str], mine: Place, mark: str) -> list[str]:
    """A learner's statement as it stands in the file: with mark, the file's decorators and the class's indentation.

    Of the file's decorators those stay that say what the function is, unless the learner wrote them or another kind.
    """
    indent = place.node.col_offset
    written = {ast.unparse(each) for each in decorations(mine.node)}
    kept = [
        line
        for each in decorations(place.node)
        if not _is_answer(each) and not written & (_KINDS if ast.unparse(each) in _KINDS else {ast.unparse(each)})
        for line in lines[each.lineno - 1 : each.end_lineno]
    ]
    fitted = [*([" " * indent + mark] if mark else []), *shifted(own, mine, indent)]
    if not isinstance(place.node, Definition):
        return [*fitted[: bool(mark)], *kept, *fitted[bool(mark) :]]
    name, is_assigned = place.node.name, not isinstance(mine.node, Definition)
    known = _KINDS | {ast.unparse(each) for each in decorations(place.node)}
    is_decorated = any(ast.unparse(each) not in known and not _is_answer(each) for each in decorations(mine.node))
    if kept and not indent and not isinstance(place.node, ast.ClassDef) and (is_assigned or is_decorated):
        # An assignment takes no decorators, and its value, or what a decorator gives, has another name and arguments.
        head, call = ast.unparse(place.node.args), _passed_on(place.node.args)
        return [*fitted, f"_{name} = {name}", "", "", *kept, f"def {name}({head}):", f"    return _{name}({call})"]
    if is_assigned:
        applied = (line.strip().removeprefix("@") for line in reversed(kept))
        return [*fitted, *(f"{' ' * indent}{name} = {each}({name})" for each in applied)]
    return [*fitted[: bool(mark)], *kept, *fitted[bool(mark) :]]


def _passed_on(arguments: ast.arguments) -> str:
    """The arguments of a call that passes on all that a function got."""
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    several = [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    by_name = [f"{each.arg}={each.arg}" for each in arguments.kwonlyargs]
    return ", ".join([*positional, *several, *by_name, *([f"**{arguments.kwarg.arg}"] if arguments.kwarg else [])])


def _is_answer(decorator: ast.expr) -> bool:
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(name).rpartition(".")[2] in ANSWERS


def _tail(lines: list[str], statement: ast.stmt) -> int:
    """How many indented comments follow a statement."""
    return sum(1 for _ in itertools.takewhile(lambda line: re.match(r"\s+#", line), lines[last_line(statement) :]))


def _helpers(own: list[str], idle: list[ast.stmt], begin: int, end: int) -> list[str]:
    """The lines of a cell from `begin` to `end`, but for the idle statements."""
    dropped = {number for statement in idle for number in range(first_line(statement), last_line(statement) + 1)}
    kept = [own[number - 1] for number in range(begin, end + 1) if number not in dropped]
    return "\n".join(kept).strip("\n").split("\n") if any(line.strip() for line in kept) else []


def _edited(lines: list[str], edits: list[tuple[int, int, list[str]]]) -> list[str]:
    made, position = [], 1
    for start, end, new in sorted(
        edits, key=lambda edit: edit[:2]
    ):  # an insertion before a line comes before its change
        if start < position:
            raise PartError("two parts overlap")
        made += [*lines[position - 1 : start - 1], *new]
        position = end + 1
    return [*made, *lines[position - 1 :]]


def _search(body: list[ast.stmt], path: str, outer: ast.stmt | None = None) -> Iterator[Place]:
    head, _, rest = path.partition(".")
    for statement in body:
        if named(statement) == path:
            yield Place(statement, outer or statement)
        elif isinstance(statement, ast.ClassDef) and statement.name == head and rest:
            yield from _search(statement.body, rest, outer or statement)


def _paths(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        inner = list(_paths(statement.body)) if isinstance(statement, ast.ClassDef) else []
        if name := named(statement):
            yield from (f"{name}.{path}" for path in inner) if inner else [name]


def _module(name: str, package: str) -> str:
    return ".".join([package, *name.removesuffix(".py").removesuffix("__init__").strip("/").split("/")]).strip(".")


def _shift(line: str, by: int) -> str:
    if not line.strip():
        return line
    return " " * by + line if by >= 0 else line.removeprefix(" " * -by)


def _inside_strings(node: ast.AST) -> set[int]:
    """The lines that begin inside a string, docstrings aside."""
    fixed: set[int] = set()
    docstrings = {
        id(inner.body[0].value)
        for inner in ast.walk(node)
        if isinstance(inner, Definition) and inner.body and isinstance(inner.body[0], ast.Expr)
    }
    for inner in ast.walk(node):
        is_text = isinstance(inner, ast.JoinedStr) or (isinstance(inner, ast.Constant) and isinstance(inner.value, str))
        if is_text and id(inner) not in docstrings and inner.end_lineno is not None:  # type: ignore[attr-defined]
            fixed.update(range(inner.lineno + 1, inner.end_lineno + 1))  # type: ignore[attr-defined]
    return fixed
