"""The text of solution and check cells: cutting solutions out, and which names a cell defines and uses."""

import ast
import builtins
import functools
import hashlib
import re
from collections.abc import Iterator, Sequence

from course.parsed import parsed

SOLUTION = re.compile(r"^[ \t]*### BEGIN SOLUTION\n.*?^([ \t]*)### END SOLUTION$", re.MULTILINE | re.DOTALL)
DECORATORS = re.compile(r"^### BEGIN SOLUTION\n(?:from .*\n)*(?:@.*\n)+### END SOLUTION\n", re.MULTILINE)
"""A solution block of which nothing stands in the learner's cell."""
STUB = re.compile(r"^[ \t]*### BEGIN STUB\n(.*?)^[ \t]*### END STUB$\n?", re.MULTILINE | re.DOTALL)


def text_id(text: str) -> str:
    """The id of a cell that has no name: it is made from its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def cut(text: str) -> str:
    """A solution cell as the learner gets it: the solutions replaced by their stubs."""
    text = DECORATORS.sub("", text)
    stubs = STUB.findall(text)
    text = STUB.sub("", text)
    if stubs:
        uncommented = iter(re.sub(r"^([ \t]*)# ?", r"\1", stub, flags=re.MULTILINE).rstrip("\n") for stub in stubs)
        return SOLUTION.sub(lambda match: next(uncommented, ""), text).rstrip("\n")
    return SOLUTION.sub(r"\1# YOUR CODE HERE\n\1raise NotImplementedError()", text)


def solved(text: str) -> str:
    """A solution cell as the reference runs: without the stubs."""
    return STUB.sub("", text).rstrip("\n")


def has_code(text: str, stub: str) -> bool:
    """Whether a solution cell is more than empty, comments, or the stub."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines) and text.strip() != stub.strip()


def defined(text: str) -> set[str]:
    """The names that a cell defines at its top level."""
    names: set[str] = set()
    for node in parsed(plain(text)).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import() | ast.ImportFrom():
                names.update(_bound(node))
            case _:
                inside = {leaf for each in ast.walk(node) for leaf in _variables(each)}
                names.update(
                    leaf.id
                    for leaf in ast.walk(node)
                    if isinstance(leaf, ast.Name) and _stores(leaf) and leaf not in inside
                )
    return names


def _variables(node: ast.AST) -> Iterator[ast.AST]:
    """The variables of a comprehension, which exist inside it alone."""
    if isinstance(node, ast.comprehension):
        yield from ast.walk(node.target)


def free(text: str) -> set[str]:
    """The names that a cell uses and defines nowhere, builtins aside."""
    nodes = list(ast.walk(parsed(plain(text))))
    used = {node.id for node in nodes if isinstance(node, ast.Name) and not _stores(node)}
    return used - {name for node in nodes for name in _bound(node)} - set(dir(builtins)) - {"display", "get_ipython"}


def used_at_definition(node: ast.AST) -> Iterator[str]:
    """The names that are looked up when a statement runs: not in the bodies of functions, nor in annotations."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            yield name
        case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments) | ast.Lambda(args=arguments):
            decorators = getattr(node, "decorator_list", [])
            for inner in (*decorators, *arguments.defaults, *filter(None, arguments.kw_defaults)):
                yield from used_at_definition(inner)
        case ast.ClassDef(bases=bases, keywords=keywords, body=body):
            own = set().union(*(defined(ast.unparse(statement)) for statement in body))
            for inner in (*bases, *keywords, *body):
                yield from (name for name in used_at_definition(inner) if name not in own)
        case ast.AnnAssign(value=value):
            if value is not None:
                yield from used_at_definition(value)
        case _:
            for inner in ast.iter_child_nodes(node):
                yield from used_at_definition(inner)


def imported(text: str) -> set[str]:
    """The packages that a cell imports, by the first word of their names."""
    nodes = list(ast.walk(parsed(plain(text))))
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return {module.partition(".")[0] for module in modules}


def replacement_name(replaces: str, names: Sequence[str]) -> str:
    """Which of a solution's names stands for the part "module:path": the last that is in the path, or empty."""
    path = replaces.partition(":")[2].split(".")
    return next((name for name in reversed(path) if name in names), "")


@functools.lru_cache(256)
def plain(text: str) -> str:
    """The cell as Python, in the same lines: what IPython alone understands is what it does in Python, or `pass`."""
    text = re.sub(r"\r\n?", "\n", text)
    try:
        parsed(text)
    except SyntaxError:
        from course.source.ipython import as_python  # a cell of Python needs no IPython

        return as_python(text)
    except (ValueError, RecursionError, MemoryError):  # the learner's cells may hold anything
        pass
    return text


def syntax_error(text: str) -> str:
    """Why a cell is no Python, with the line; empty if it is."""
    try:
        parsed(plain(text))
    except SyntaxError as error:
        line = (text.split("\n")[(error.lineno or 1) - 1 :] or [""])[0].strip()
        return f"SyntaxError: {error.msg} (line {error.lineno}: `{line[:80]}`)"
    except (ValueError, RecursionError, MemoryError):  # it says so itself when it runs
        pass
    return ""


def _stores(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) if _stores(node):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
