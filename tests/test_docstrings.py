"""`help(f)` is read alone: it says what is computed, on what shapes or dtypes, what is raised, and where it is from."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch

torch = pytest.importorskip("torch", reason="public is what torch has, too")

NAMESPACES = ("torch", "nn.functional", "linalg", "special", "fft")

SHAPES = re.compile(
    r"""\b(shapes?|dtypes?|sizes?|dimensions?|0-d|[123]-D|vectors?|matri(x|ces)|scalars?|elements?)\b
    | \((…|\*|[A-Z]\w*|\d)(,\ [^()]+)?,?\)             # (N, C, *)
    | \b(float|bfloat|complex|u?int)\d+\b | \b(bool|int|float|str|string|device|generator|callable|function|module)s?\b
    """,
    re.VERBOSE,
)
"""What names a shape, a dtype, or the type of an argument that isn't a tensor."""

FIRST = re.compile(r"\w.*\w|[^\w\s]", re.DOTALL)


def public() -> Iterator[tuple[str, Any]]:
    """Functions of the namespaces, modules, optimizers, schedulers, and what tensors have, by name, if torch has it."""
    for namespace in NAMESPACES:
        path = "minitorch" if namespace == "torch" else f"minitorch.{namespace}"
        ours, theirs = importlib.import_module(path), importlib.import_module(path.replace("mini", "", 1))
        for name, value in vars(ours).items():
            if name[0] != "_" and inspect.isroutine(value) and hasattr(theirs, name) and is_implemented(value):
                yield f"{namespace}.{name}", value
    for path, base in (
        ("nn", minitorch.nn.Module),
        ("optim", minitorch.optim.Optimizer),
        ("optim.lr_scheduler", minitorch.optim.lr_scheduler.LRScheduler),
    ):
        module, theirs = importlib.import_module(f"minitorch.{path}"), importlib.import_module(f"torch.{path}")
        for name, value in vars(module).items():
            if name[0] != "_" and inspect.isclass(value) and issubclass(value, base) and hasattr(theirs, name):
                yield f"{path}.{name}", value
    for name in dir(minitorch.Tensor):
        value = inspect.getattr_static(minitorch.Tensor, name)
        if name[0] != "_" and hasattr(torch.Tensor, name) and (inspect.isroutine(value) or isinstance(value, property)):
            yield f"Tensor.{name}", value


def is_implemented(function: Callable[..., Any]) -> bool:
    """Whether it does something but say that it doesn't exist."""
    return Path(inspect.getsourcefile(inspect.unwrap(function)) or "").name != "unsupported.py"


PUBLIC = dict(public())


def raised(thing: Any) -> set[str]:
    """The errors that the source of a function, or of a class's constructor and `forward`, raises by their names."""
    if inspect.isclass(thing):
        methods = [vars(thing).get(name) for name in ("__init__", "forward", "step", "get_lr")]
        written = [each for each in methods if inspect.isfunction(each) and "<string>" not in each.__code__.co_filename]
        return {error for each in written for error in raised(each)}
    if isinstance(thing, property):
        return set().union(*(raised(each) for each in (thing.fget, thing.fset) if each))
    source = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    calls = [each.exc for each in ast.walk(source) if isinstance(each, ast.Raise) and isinstance(each.exc, ast.Call)]
    helpers = inspect.unwrap(thing).__globals__
    found = set()
    for call in calls:
        name = ast.unparse(call.func)
        if name in helpers:  # a function that makes the error says which
            name = str(getattr(helpers[name], "__annotations__", {}).get("return", name))
        if name != "Exception" and isinstance(getattr(builtins, name, None), type):
            found.add(name)
    return found


def lacks(thing: Any) -> list[str]:
    """What a docstring doesn't say and should."""
    text = inspect.getdoc(thing) or ""
    first = text.partition("\n")[0]
    own = "\n".join(line for line in text.splitlines() if not line.startswith(("`out=`", "Source:", "http")))
    conditions = {
        "what it computes": FIRST.search(first) and not first.startswith(("http", "Source")),
        "shapes or dtypes": SHAPES.search(own.partition("Raises TypeError where")[0]),
        "what it returns or raises": re.search(r"[Rr]eturns?\b|[Rr]aises?\b|→", own),
        "a source": re.search(r"https?://|arXiv|Source:", text),
        **{error: re.search(rf"\b{error}\b", text) for error in raised(thing)},
    }
    return [condition for condition, holds in conditions.items() if not holds]


@pytest.mark.parametrize("name", PUBLIC)
def test_help_says_what_a_caller_needs(name: str) -> None:
    assert lacks(PUBLIC[name]) == []


def inherits(thing: Any) -> bool:
    return inspect.isclass(thing) and not vars(thing).get("__doc__")


def test_a_class_has_a_docstring_of_its_own() -> None:
    assert [name for name, thing in PUBLIC.items() if inherits(thing)] == []


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (minitorch.mul, "the shape that `input` and `other` broadcast to, in their common dtype"),
        (minitorch.eq, "of dtype bool"),
        (minitorch.exp, "or the default dtype for integers and bools"),
        (minitorch.sum, "The dimensions `dim`, by default all, are removed from its shape"),
        (minitorch.max, "The dimension `dim`, by default all, is removed from its shape"),
        (minitorch.gather, "IndexError for a dimension out of range"),
        (minitorch.permute, "a view, which shares the memory of `input`"),
        (minitorch.topk, "a named tuple (values, indices)"),
        (minitorch.eq, "`other` may be a number"),
        (minitorch.acos_, "`acos` in place"),
        (minitorch.acos_, "Source: https://pytorch.org/docs/stable/generated/torch.acos.html"),
        (minitorch.ones, "`requires_grad` of integers and bools"),
    ],
)
def test_a_docstring_says_what_the_declaration_states(function: Any, sentence: str) -> None:
    assert sentence in " ".join(str(inspect.getdoc(function)).split())
