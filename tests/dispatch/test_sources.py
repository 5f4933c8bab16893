"""`inspect`, and with it every editor, finds where a public function is declared, not where it was generated."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch
import minitorch.nn.functional
from minitorch.dispatch.declaration import METHODS, NAMESPACES

PACKAGE = Path(minitorch.__file__).parent

GENERATORS = {*(PACKAGE / "dispatch").glob("*.py"), PACKAGE / "ops" / "creation" / "factory.py"}
"""The modules that make functions, of which none is declared there."""


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for namespace, functions in NAMESPACES.items():
        yield from ((f"{namespace}.{name}", function) for name, function in functions.items())
    yield from ((f"Tensor.{name}", method) for name, method in METHODS.items() if not isinstance(method, property))


def test_the_source_of_every_function_is_its_declaration() -> None:
    astray = []
    for name, function in public_functions():
        declaration = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        file = inspect.getsourcefile(function) or ""
        is_declaration = isinstance(declaration, ast.FunctionDef) and Path(file) not in GENERATORS
        if not is_declaration or inspect.getsource(function) not in Path(file).read_text():
            astray.append(name)
    assert astray == []


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
    assert Path(inspect.getsourcefile(function) or "").relative_to(PACKAGE / "ops") == Path(file)
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
