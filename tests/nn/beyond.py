"""The tests that ask more of `Linear` than its exercise: `device` and `dtype`, a repr, errors in PyTorch's words."""

import re
from collections.abc import Iterable
from typing import Any

import pytest

LINEAR = pytest.mark.beyond("minitorch.nn.modules.linear:Linear")


def with_linear_marked(cases: Iterable[Any]) -> list[Any]:
    """Cases for `parametrize`. Those whose code makes a `Linear`, or a layer that is made of them, have the mark."""
    rows = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [
        pytest.param(*row, marks=LINEAR if re.search(r"\b(Linear|Transformer|AdaptiveLog)", row[0]) else ())
        for row in rows
    ]
