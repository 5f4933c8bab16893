"""The line of an answer that raised, and a traceback without the reference's lines."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from traceback import format_tb
from typing import Any

import pytest

import minitorch
from course.learner import lines

ANSWER = """
def mean(values):
    total = values.sum()
    return shared(total, len(values))


def shared(total, count):
    return minitorch.true_divide(total, count).undefined


class Counter:
    def mean(self, values):
        return [each / 0 for each in values]
"""


def ran(text: str, file: str) -> dict[str, Any]:
    """The names that a cell defines, whose text a traceback finds as it does in a notebook."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"minitorch": minitorch}
    exec(compile(text, file, "exec"), names)
    return names


def raised(call: Callable[..., object], *arguments: object) -> Exception:
    with pytest.raises(Exception) as caught:
        call(*arguments)
    return caught.value


@pytest.fixture
def cell() -> dict[str, Any]:
    return ran(ANSWER, "<ipython-input-1>")


def test_the_deepest_line_of_the_answer_is_named(cell: dict[str, Any]) -> None:
    error = raised(cell["mean"], minitorch.ones(3))
    wanted = " (line 8 of your answer: `return minitorch.true_divide(total, count).undefined`)"
    assert lines.raised_in(error, ANSWER) == wanted


def test_what_raises_inside_the_library_is_the_line_that_called_it(cell: dict[str, Any]) -> None:
    error = raised(cell["shared"], minitorch.ones(3), minitorch.ones(2))
    assert "must match the size" in str(error)
    assert lines.raised_in(error, ANSWER).startswith(" (line 8 of your answer: ")


def test_a_line_inside_a_comprehension_of_a_method(cell: dict[str, Any]) -> None:
    error = raised(cell["Counter"]().mean, [1.0])
    assert lines.raised_in(error, ANSWER) == " (line 13 of your answer: `return [each / 0 for each in values]`)"


def test_what_no_line_of_the_answer_raised_names_none(cell: dict[str, Any]) -> None:
    assert lines.raised_in(raised(cell["mean"], 3), "def median(values): ...") == ""
    assert lines.raised_in(raised(minitorch.ones(3).view, 2), ANSWER) == ""


def test_a_part_of_mytorch_has_the_lines_of_its_cell_and_the_reference_shows_none() -> None:
    part = "def strides(size):\n    return step(size) / 0\n"
    package = f"import math\n\n{part}\n\ndef step(size):\n    secret = size\n    return math.prod(secret)\n"
    names = ran(package, "<mytorch>/strides.py")
    assert (
        lines.raised_in(raised(names["strides"], (2, 3)), part) == " (line 2 of your answer: `return step(size) / 0`)"
    )
    error = raised(names["strides"], None)
    assert "secret" in "".join(format_tb(error.__traceback__))
    shown = "".join(format_tb(lines.without_reference(error.__traceback__, part)))
    assert "return step(size) / 0" in shown
    assert "secret" not in shown
