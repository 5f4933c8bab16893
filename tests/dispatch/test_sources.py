"""`inspect`, and with it every editor, finds where a public function is declared; a traceback shows what runs."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import textwrap
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import minitorch
import minitorch.nn.functional
from minitorch.dispatch.declaration import METHODS, NAMESPACES

PACKAGE = Path(minitorch.__file__).parent

GENERATORS = {PACKAGE / "dispatch" / f"{name}.py" for name in ("apply", "autocast", "declaration", "one_node")}
GENERATORS.add(PACKAGE / "ops" / "creation" / "factory.py")
"""The modules that make functions, of which none is declared there."""


MODULES = (
    *("accelerator", "amp", "autograd", "autograd.functional", "autograd.graph", "backends", "cuda", "distributed"),
    *(
        "fft",
        "func",
        "futures",
        "hub",
        "jit",
        "linalg",
        "multiprocessing",
        "nn.functional",
        "nn.init",
        "nn.utils",
        "optim",
    ),
    *("profiler", "random", "sparse", "special", "testing", "utils", "utils.data", "viz"),
)


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """All functions of the public modules, and all methods that ops declare."""
    for name in ("", *MODULES):
        module = importlib.import_module(f"minitorch.{name}".rstrip("."))
        for key, each in vars(module).items():
            own = str(getattr(each, "__module__", "")).startswith("minitorch")
            if own and key[0] != "_" and callable(each) and not inspect.isclass(each):
                yield f"{name}.{key}", each
    for namespace, functions in NAMESPACES.items():
        yield from ((f"{namespace}.{name}", function) for name, function in functions.items())
    yield from ((f"Tensor.{name}", method) for name, method in METHODS.items() if not isinstance(method, property))


@pytest.mark.turns(8)
def test_the_source_of_every_function_is_its_declaration() -> None:
    astray = []
    for name, function in public_functions():
        source, file = inspect.getsource(function), Path(inspect.getsourcefile(inspect.unwrap(function)) or "")
        if file.name == "unsupported.py":
            continue  # a name that raises, and has no declaration of its own
        is_declaration = isinstance(ast.parse(textwrap.dedent(source)).body[0], ast.FunctionDef)
        if (
            not is_declaration
            or file in GENERATORS
            or source not in file.read_text()
            or not is_named(source, name, function)
        ):
            astray.append(name)
    assert astray == []


def is_named(source: str, label: str, function: Callable[..., Any]) -> bool:
    """Whether a source names a function: as public, or for another name of it as itself, if nothing made it inside."""
    inside = "<locals>" in inspect.unwrap(function).__qualname__
    called = {label.rpartition(".")[2], label if inside else function.__name__}
    return any(re.search(rf"\b_*{name.strip('_')}_*\b", source) for name in called)


def test_a_traceback_shows_the_code_that_ran() -> None:
    """Each function's code says in which file and line it is, and there is a function of its name."""
    forged = [
        name
        for name, function in public_functions()
        if inspect.isfunction(function) and function.__code__.co_name not in named_at(function.__code__)
    ]
    assert forged == []


@functools.cache
def functions_in(file: str) -> dict[int, set[str]]:
    """The names of the functions in a file by the line at which they begin."""
    found: dict[int, set[str]] = defaultdict(set)
    for node in ast.walk(ast.parse(Path(file).read_text())):
        if isinstance(node, ast.Lambda):
            found[node.lineno].add("<lambda>")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[min([node.lineno, *(each.lineno for each in node.decorator_list)])].add(node.name)
    return found


def named_at(code: CodeType) -> set[str]:
    return functions_in(code.co_filename)[code.co_firstlineno]


def test_the_traceback_of_an_operator_shows_the_line_that_calls_on() -> None:
    with pytest.raises(RuntimeError, match="must match the size") as caught:
        _ = minitorch.ones(2, 3) * minitorch.ones(4)
    own, operator, inside = traceback.extract_tb(caught.value.__traceback__)
    assert "minitorch.ones(2, 3) * " in str(own.line)
    assert operator.name == "method"
    assert str(operator.line).startswith("return run(op, ")
    assert inside.name == "apply"


@pytest.mark.parametrize(
    ("function", "file", "line"),
    [
        (minitorch.add, "pointwise/arithmetic.py", "def add(xp: Any"),
        (minitorch.Tensor.__mul__, "pointwise/arithmetic.py", "def mul(xp: Any"),
        (minitorch.Tensor.exp_, "pointwise/exponentials.py", "def exp(xp: Any"),
        (minitorch.sum, "reduction/sums.py", "def sum(xp: Any"),
        (minitorch.matmul, "linalg/matmul.py", "def matmul("),
        (minitorch.zeros, "creation/filled.py", "def zeros(xp: Any"),
        (minitorch.nn.functional.conv2d, "nn/convolution.py", "def conv("),
        (minitorch.nn.functional.relu, "activation/common.py", "def relu(xp: Any"),
        (minitorch.nn.functional.cross_entropy, "loss/cross_entropy.py", "def cross_entropy("),
    ],
)
def test_where_one_would_look_first(function: Callable[..., Any], file: str, line: str) -> None:
    assert Path(inspect.getsourcefile(inspect.unwrap(function)) or "").relative_to(PACKAGE / "ops") == Path(file)
    assert line in inspect.getsource(function)


@pytest.mark.parametrize("namespace", ["torch", "nn.functional", "linalg", "special"])
def test_a_module_names_what_it_exports(namespace: str) -> None:
    """What ops are declared to be in is imported or assigned there, name by name: an editor finds where it is from."""
    path = PACKAGE / ("__init__.py" if namespace == "torch" else namespace.replace(".", "/") + ".py")
    named = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            named.update(each.asname or each.name for each in node.names)
        elif isinstance(node, ast.Assign):
            named.update(each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name))
    assert NAMESPACES[namespace].keys() - named == set()
    module = minitorch if namespace == "torch" else importlib.import_module(f"minitorch.{namespace}")
    different = [name for name, function in NAMESPACES[namespace].items() if getattr(module, name) is not function]
    assert different == []
