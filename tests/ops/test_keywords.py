"""Arguments by name: each call of the op table, with every keyword that torch takes for its arguments.

PyTorch's parser takes NumPy's names too, for all functions that it parses. A call that torch takes must be taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch
from tests.ops import test_op_table  # noqa: F401 - declares the cases
from tests.ops.case import CASES, Case
from tests.ops.compare import resolve

pytest.importorskip("torch", reason="the accepted keywords are torch's")
import torch

from tests.test_signatures import COMPARED

NUMPY = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("a", "x", "x1"), "other": ("x2",)}
DIFFERENT = {
    "Tensor.new: size": "the old constructor tells sizes and data apart by their types",
    "rrelu rrelu_: a x x1": "nobody calls them so",
}

Call = tuple[tuple[Any, ...], dict[str, Any]]


def calls(label: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Call]]:
    """The call with one positional argument, or keyword, under each of its names, and what follows by name."""
    for overload in COMPARED[label][1]:
        names = [name.lstrip("*") for name in overload.positional]
        if len(args) > len(names):
            continue
        for k in range(int(label.startswith("Tensor.")), len(args)):
            rest = dict(zip(names[k + 1 :], args[k + 1 :], strict=False))
            for name in (names[k], *NUMPY.get(names[k], ())):
                yield name, (args[:k], {name: args[k], **rest, **kwargs})
    for name, value in kwargs.items():
        for other in NUMPY.get(name, ()):
            yield other, (args, {**{key: each for key, each in kwargs.items() if key != name}, other: value})


def taken(function: Callable[..., Any], call: Call) -> bool:
    """Whether a function takes the arguments of a call, whatever it makes of them."""
    try:
        function(*call[0], **call[1])
    except (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError):
        return False
    return True


def refused(case: Case, label: str) -> Iterator[str]:
    """The keywords that torch takes somewhere and minitorch refuses there."""
    dtype = "float32" if "float32" in case.dtypes else case.dtypes[0]
    theirs, ours = case.samples(case.make(torch, dtype)), case.samples(case.make(minitorch, dtype))
    seen: set[tuple[str, int]] = set()
    for one, other in zip(theirs, ours, strict=True):
        pairs = zip(calls(label, one.args, one.kwargs), calls(label, other.args, other.kwargs), strict=True)
        for (name, expected), (_, call) in pairs:
            if (name, len(expected[0])) in seen or not taken(resolve(torch, label), expected):
                continue
            seen.add((name, len(expected[0])))
            if not taken(resolve(minitorch, label), call):
                yield name


def test_keywords_are_torchs() -> None:
    known = {
        (label, name)
        for key in DIFFERENT
        for label in key.partition(": ")[0].split()
        for name in key.partition(": ")[2].split()
    }
    found = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in CASES:
            for label in (case.name, f"Tensor.{case.name}"):
                if label in COMPARED:
                    found |= {(label, name) for name in refused(case, label)}
    assert found == known
