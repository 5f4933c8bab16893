"""Calls that PyTorch refuses or warns of: minitorch does so with the same exception, in the same words.

`calls.txt` has one on each line; `x(2, 3)` is a tensor of random numbers.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import minitorch
from tests.nn.beyond import with_linear_marked
from tests.same import attempt

CALLS: dict[str, list[str]] = {}
for _line in (Path(__file__).parent / "calls.txt").read_text().splitlines():
    CALLS.setdefault(re.match(r"[\w.]*", _line).group(), []).append(_line)  # type: ignore[union-attr]


def said(torch: Any, call: str) -> tuple[Any, list[tuple[str, str]]]:
    """The error of a call, or its result's type, and what it warns of."""
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim, "x": torch.randn}
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitorch\.")  # NumPy's
        torch.manual_seed(0)
        found = attempt(lambda: type(eval(call, names)).__name__)
    shown = [(each.category.__name__, plain(str(each.message))) for each in given]
    return (found if isinstance(found, str) else (found[0], plain(found[1]))), shown


def plain(message: str) -> str:
    """Without what isn't compared: places in torch's C++ sources, the class that has a method, the name of a kernel."""
    message = re.sub(r"\s*\(Triggered internally at .*\)|\nException raised from .*", "", message, flags=re.DOTALL)
    return re.sub(r"\w+\.(?=__init__\(\)|forward\(\))|\"\w+\" (?=not implemented for)", "", message)


@pytest.mark.parametrize("name", with_linear_marked(CALLS))
def test_calls_are_refused_in_torchs_words(name: str) -> None:
    torch = pytest.importorskip("torch", reason="the expected words are torch's")
    for call in CALLS[name]:
        assert (call, said(minitorch, call)) == (call, said(torch, call))
