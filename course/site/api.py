"""The reference of minitorch and mytorch from their docstrings: what is computed, never how, so no answer is on it.

Why not sphinx.ext.autodoc with napoleon? It was tried, an automodule for each page, and gave 380 warnings. It reads
docstrings as reStructuredText, and ours are Markdown and plain formulas: |x|, x_ and indented steps are mark-up
there. The public names of minitorch are imported into their namespaces, so it has to list what is imported, and then
lists `typing` and `itertools` too, and the same function under several names: 12.7 MB of pages in place of 7.0. It
took 100 seconds of processor time, and the whole site as it is takes 55. Hooks of ours would have to escape
docstrings, skip members, shorten signatures, add a heading for each chapter of mytorch, and link a definition to the
exercise that asks for it: what this file does. autodoc2 and autoapi read Markdown, but they don't import the library,
and many functions and most methods of Tensor exist only once it is imported.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course.parsed import parsed
from course.source.assemble import read

NAMESPACES = (
    "minitorch",
    *(f"minitorch.{name}" for name in ("linalg", "special", "random", "sparse", "func")),
    *(f"minitorch.{name}" for name in ("autograd", "autograd.functional", "autograd.graph", "amp", "cuda")),
    *(f"minitorch.nn{name}" for name in ("", ".functional", ".init", ".utils", ".utils.rnn", ".parallel")),
    *(f"minitorch.optim{name}" for name in ("", ".lr_scheduler", ".swa_utils")),
    *(f"minitorch.{name}" for name in ("utils.data", "utils.checkpoint", "distributed", "distributions")),
    *(f"minitorch.{name}" for name in ("viz", "testing")),
    *(f"minitorch.models.{name}" for name in ("gpt", "lenet", "llama", "resnet")),
)
"""The public namespaces of minitorch that get a page."""

_SECTION = re.compile(r"^(Args|Arguments|Returns|Raises|Yields|Example|Examples|Note):$")
_ENTRY = re.compile(r"^(\*{0,2}[\w, *|]+): (.*)$")
_CHAPTER = re.compile(r"^# (\d\d[a-z]?) · (.*)$")


def text(docstring: str | None) -> str:
    """A docstring as Markdown: its sections as lists, its examples as code, its sources as links."""
    lines: list[str] = []
    section = example = False
    for line in inspect.cleandoc(docstring or "").splitlines():
        bare = line.strip()
        if bare.startswith(">>>") and not example:
            lines += ["", "```python"]
            example = True
        elif example and not bare:
            lines += ["```", ""]
            example = False
        if example:
            lines.append(bare)
        elif _SECTION.match(bare):
            lines += ["", f"**{bare.removesuffix(':')}**", ""]
            section = True
        elif section and line.startswith("    "):
            entry = _ENTRY.match(bare)
            new = entry and not line.startswith("     ")
            lines.append(f"- `{entry[1]}`: {_plain(entry[2])}" if new and entry else f"  {_plain(bare)}")
        else:
            section = section and not bare
            lines.append(_plain(line))
    return "\n".join([*lines, "```"] if example else lines).strip()


def _plain(line: str) -> str:
    """A line in which nothing is HTML, a role or emphasis by chance, and an address is a link."""
    parts = re.split(r"(`[^`]*`|https?://[^\s>]*[^\s>.,;:)])", line)
    parts[::2] = [re.sub(r"([<>*_$\[\]{}|])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"<{part}>" if part.startswith("http") else part for part in parts[1::2]]
    return "".join(parts)


def entry(kind: str, name: str, signature: str, docstring: str | None, inner: str = "", depth: int = 3) -> str:
    """One definition, as Sphinx's Python domain reads it."""
    fence = ":" * (depth + 3)
    content = "\n\n".join(part for part in (text(docstring), inner) if part)
    return f"{fence}{{py:{kind}}} {name}{signature}\n\n{content}\n\n{fence}"


def minitorch_pages() -> dict[str, str]:
    """By name, a page for each public namespace of minitorch, and one for Tensor."""
    pages = {name: _namespace(name) for name in NAMESPACES}
    tensor = importlib.import_module("minitorch").Tensor
    pages["minitorch.Tensor"] = f"# minitorch.Tensor\n\n{_class('minitorch.Tensor', tensor, True)}\n"
    return pages


def _namespace(name: str) -> str:
    module = importlib.import_module(name)
    public = getattr(module, "__all__", None) or [each for each in dir(module) if not each.startswith("_")]
    entries, silent = [], []
    for each in sorted(set(public), key=str.lower):
        value = getattr(module, each, None)
        if not _is_own(value) or each == "Tensor":
            continue
        if not inspect.getdoc(value):
            silent.append(f"`{each}`")
        elif inspect.isclass(value):
            entries.append(_class(f"{name}.{each}", value, False))
        else:
            entries.append(entry("function", f"{name}.{each}", _signature(value), inspect.getdoc(value)))
    also = f"Also here: {', '.join(silent)}." if silent else ""
    return "\n\n".join([f"# {name}", text(inspect.getdoc(module)), *entries, also]) + "\n"


def _is_own(value: Any) -> bool:
    """Whether it is a function or class of the library, whichever name it gives for its module."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return False
    return str(getattr(value, "__module__", "")).partition(".")[0] in ("minitorch", "torch")


def _class(name: str, value: type, whole: bool) -> str:
    members = []
    for each in sorted(dir(value) if whole else vars(value)):
        member = inspect.getattr_static(value, each)
        member = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        written = inspect.getdoc(member)
        if each.startswith("_") or not written or written == inspect.getdoc(type(member)):
            continue
        if inspect.isroutine(member):
            members.append(entry("method", each, _signature(member), written, depth=0))
        elif isinstance(member, property) or inspect.isdatadescriptor(member):
            members.append(entry("property", each, "", written, depth=0))
    return entry("class", name, _signature(value), value.__doc__, "\n\n".join(members), depth=1)


def _signature(value: Any) -> str:
    """Names and defaults; empty where Python knows none."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in signature.parameters.values()
        if each.name not in ("self", "cls", "xp")
    ]
    try:
        shown = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    except ValueError:
        return "(...)"
    return re.sub(r"<[^>]*>", "...", shown.replace("\n", " "))


def mytorch_pages(reference: Path, asked: dict[str, str]) -> dict[str, str]:
    """By name, a page for each file of mytorch: names and docstrings, and the exercise that asks for a definition.

    Args:
        reference: the folder of the package.
        asked: by part, the page of the exercise that asks for it.
    """
    pages = {}
    for path, source in read(reference).items():
        name = ".".join(("mytorch", *Path(str(path)).with_suffix("").parts)).removesuffix(".__init__")
        entries = list(_definitions(name, str(source), asked))
        if entries:
            about = text(ast.get_docstring(parsed(str(source))))
            pages[name] = "\n\n".join([f"# {name}", about, *entries]) + "\n"
    return pages


def _definitions(module: str, source: str, asked: dict[str, str]) -> Iterator[str]:
    headings = [(place, match) for place, line in enumerate(source.splitlines(), 1) if (match := _CHAPTER.match(line))]
    shown: list[str] = []
    for node in parsed(source).body:
        if written := _definition(module, node, asked):
            above = [f"## {match[1]} · {match[2]}" for place, match in headings if place < node.lineno][-1:]
            yield from above if above != shown else []
            shown = above
            yield written


def _definition(module: str, node: ast.stmt, asked: dict[str, str]) -> str:
    """A public class or function; empty for any other statement."""
    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
        methods = [
            _function(module, f"{node.name}.{each.name}", each, asked, "method")
            for each in node.body
            if isinstance(each, ast.FunctionDef) and ast.get_docstring(each)
        ]
        return entry("class", f"{module}.{node.name}", "", ast.get_docstring(node), "\n\n".join(methods), depth=1)
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and ast.get_docstring(node):
        return _function(module, node.name, node, asked, "function")
    return ""


def _function(module: str, name: str, node: ast.FunctionDef, asked: dict[str, str], kind: str) -> str:
    for each in ast.walk(node.args):
        if isinstance(each, ast.arg):
            each.annotation = None
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^self(, )?", "", arguments) if kind == "method" else arguments
    shown = name.rpartition(".")[2] if kind == "method" else f"{module}.{name}"
    exercise = asked.get(f"{module}:{name}")
    yours = f"[You write it.]({exercise})" if exercise else ""
    return entry(kind, shown, f"({arguments})", ast.get_docstring(node), yours, depth=0)
