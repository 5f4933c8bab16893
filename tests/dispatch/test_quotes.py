"""What the documents quote of the source is what stands there."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import minitorch
from minitorch.dispatch import declaration

PACKAGE = Path(minitorch.__file__).parent
DOCS = PACKAGE.parent / "docs"


def declared(source: str, name: str) -> str:
    """The declaration of a function in a source, without comments and docstring."""
    (found,) = [each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef) and each.name == name]
    if ast.get_docstring(found) is not None:
        del found.body[0]
    return ast.unparse(found)


def quoted_in_the_module() -> str:
    return textwrap.dedent(str(declaration.__doc__).partition("\n\n")[2].partition("\n\n`_times")[0])


def quoted_in_the_document() -> str:
    return (DOCS / "adding_an_op.md").read_text("utf-8").partition("```python\n")[2].partition("```")[0]


@pytest.mark.parametrize("quote", [quoted_in_the_module, quoted_in_the_document], ids=lambda each: each.__name__)
def test_mul_is_declared_as_it_is_quoted(quote: Callable[[], str]) -> None:
    source = (PACKAGE / "ops" / "pointwise" / "arithmetic.py").read_text("utf-8")
    assert declared(quote(), "mul") == declared(source, "mul")
