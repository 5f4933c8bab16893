"""What of a learner's cell goes into the file that takes its parts, and under which names."""

import ast
import builtins
import importlib
import itertools
from collections.abc import Mapping

from course.parsed import parsed
from course.source.cells import defined, used_at_definition
from course.source.renaming import rename
from course.source.statements import Definition, last_line, named, used_by


class PartError(LookupError):
    """A part that is not there, is there twice, or overlaps another."""


def fitted(cell: str, text: str, own: set[str]) -> str:
    """A learner's cell in which nothing has the name of something else in the file that takes it.

    A star import names what the cell uses of it. A helper, or an import, that is called like something else in the
    file gets a `_` at the end of its name.

    Args:
        cell: the learner's text, which is Python.
        text: the file.
        own: the names of the parts in the cell.

    Raises:
        PartError: a helper is called like something in the file, and so is an argument, or the like.
    """
    cell = _with_imports_by_name(cell)
    tree, file = parsed(cell), taken(text)
    kept = _needed(tree.body, own) | {each.name for each in tree.body if isinstance(each, Definition)}
    clashing = {
        name
        for name, origin in _bindings(tree.body).items()
        if name in file and name in kept - own and not (origin and (origin == file[name] or _is_ours(origin)))
    }
    if not clashing:
        return cell
    if inner := clashing & _bound_otherwise(tree):
        names = " and ".join(f"`{name}`" for name in sorted(inner))
        raise PartError(f"{names} is also the name of something else in the file that takes your answer: rename yours")
    known = file.keys() | _names(tree)
    renames = {name: next(new for n in itertools.count(1) if (new := name + "_" * n) not in known) for name in clashing}
    cell = _with_aliases(cell, tree, renames)
    return rename(cell, parsed(cell), renames)


def taken(text: str) -> dict[str, str]:
    """The names that a file defines or finds among the builtins, and of those that it imports from where."""
    return dict.fromkeys(dir(builtins), "") | _bindings(parsed(text).body)


def _with_imports_by_name(cell: str) -> str:
    """The cell with what it uses of each star import in its place, and an import of `get_ipython` if it calls it."""
    tree = parsed(cell)
    used = _names(tree)
    stars = [each for each in tree.body if isinstance(each, ast.ImportFrom) and each.names[0].name == "*"]
    texts: dict[ast.stmt, str] = {}
    for star in stars:
        try:
            module = importlib.import_module(star.module or "") if not _is_ours(f"from {star.module}") else None
        except Exception:  # it raises where the answer runs
            continue
        if module is not None:
            known = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
            wanted = sorted(used.intersection(known))
            texts[star] = f"from {star.module} import {', '.join(wanted)}" if wanted else "pass"
    cell = _replaced(cell, texts)
    return f"from course.learner.shell import get_ipython\n{cell}" if "get_ipython" in used else cell


def _with_aliases(cell: str, tree: ast.Module, renames: Mapping[str, str]) -> str:
    """The cell with imports under new names."""
    texts: dict[ast.stmt, str] = {}
    for each in tree.body:
        if isinstance(each, ast.Import | ast.ImportFrom) and renames.keys() & _bindings([each]).keys():
            for alias in each.names:
                alias.asname = renames.get(alias.asname or alias.name, alias.asname)
            texts[each] = ast.unparse(each)
    return _replaced(cell, texts)


def _replaced(cell: str, texts: Mapping[ast.stmt, str]) -> str:
    """The cell with other texts, of a line each, in the place of statements."""
    lines = cell.encode().split(b"\n")
    for each, text in sorted(texts.items(), key=lambda item: item[0].lineno, reverse=True):
        last = last_line(each)
        head, tail = lines[each.lineno - 1][: each.col_offset], lines[last - 1][each.end_col_offset :]
        lines[each.lineno - 1 : last] = [head + text.encode() + tail, *[b""] * (last - each.lineno)]
    return b"\n".join(lines).decode()


def _bindings(statements: list[ast.stmt]) -> dict[str, str]:
    """The names that statements define at the top level, and of those that are imported from where."""
    found: dict[str, str] = {}
    for each in statements:
        if isinstance(each, ast.Import | ast.ImportFrom):
            start = f"from {each.module} " if isinstance(each, ast.ImportFrom) else ""
            for alias in each.names:
                found[alias.asname or alias.name.partition(".")[0]] = f"{start}import {alias.name}"
        else:
            found |= dict.fromkeys(defined(ast.unparse(each)), "")
    return found


def _is_ours(origin: str) -> bool:
    return origin.startswith(("from mytorch ", "from mytorch.")) or origin == "from mytorch"


def _names(tree: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}


def _bound_otherwise(tree: ast.Module) -> set[str]:
    """The names that arguments, exceptions, patterns, inner imports and definitions have, or `global` lists."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=str(name)) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
            case ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.update(_bindings([node]) if node not in tree.body else ())
    return found


def trials(statements: list[ast.stmt], names: set[str], others: set[str]) -> list[ast.stmt]:
    """What tries parts, and what no part needs, of a cell's statements.

    That is every expression and assertion, unless it fills a table that a part needs, and what serves no part although
    it uses one, runs a line of IPython, or has the name of something else in the file.

    Args:
        statements: the cell.
        names: the parts.
        others: the names of what else there is in the file.
    """
    needed, spoiled = _needed(statements, names), {*names, "get_ipython"}
    tables = {name for each in statements if isinstance(each, ast.Assign | ast.AnnAssign) for name in _bindings([each])}
    found = []
    for each in statements:
        if named(each) in names or isinstance(each, Definition):
            continue
        made, used = defined(ast.unparse(each)), {*used_at_definition(each)}
        is_unneeded = needed.isdisjoint(made) and not (others.isdisjoint(made) and spoiled.isdisjoint({*made, *used}))
        fills = isinstance(each, ast.Expr) and _called_on(each.value) in tables & needed and spoiled.isdisjoint(used)
        if is_unneeded or (isinstance(each, ast.Expr | ast.Assert | ast.Pass) and not fills):
            found.append(each)
            spoiled |= made
    return found


def _called_on(node: ast.expr) -> str:
    """The name on which a method is called, maybe of something that it holds; empty if that is not what happens."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if is_call and isinstance(node, ast.Name) else ""


def _needed(statements: list[ast.stmt], names: set[str]) -> set[str]:
    """The names that the definitions and the parts look up, and what those need in turn."""
    needed = used_by([each for each in statements if isinstance(each, Definition) or named(each) in names])
    more = needed
    while more:
        serving = [each for each in statements if not more.isdisjoint(_bindings([each]))]
        more = used_by(serving) - needed
        needed |= more
    return needed


def is_replaced(statement: ast.stmt, chosen: Mapping[str, ast.stmt], statements: list[ast.stmt]) -> bool:
    """Whether this is a part, which stands elsewhere, or an earlier text of one that nothing needs any more."""
    last = next((each for each in chosen.values() if named(each) == named(statement)), None)
    if last is None or last is statement:
        return last is statement
    between = statements[statements.index(statement) + 1 : statements.index(last) + 1]
    return not any(named(statement) in used_at_definition(each) for each in between)


def is_idle(statement: ast.stmt, used: set[str], missing: set[str]) -> bool:
    """Imports that nobody uses, or of `mytorch`'s names that the file has already."""
    match statement:
        case ast.ImportFrom(module="__future__"):
            return True
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return False
        case ast.ImportFrom(module=str(module), names=aliases) if module.partition(".")[0] == "mytorch":
            return missing.isdisjoint(alias.asname or alias.name for alias in aliases)
        case ast.Import() | ast.ImportFrom():
            return used.isdisjoint(defined(ast.unparse(statement)))
    return False
