"""torch.testing.assert_close: what it accepts, and its explanations, on both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch", reason="the expected messages are torch's")

NAN, INF = float("nan"), float("inf")
PAIRS: list[Callable[[Any], tuple[Any, Any]]] = [
    lambda t: (t.tensor([1.0, 2, 3]), t.tensor([1.0, 2, 4])),
    lambda t: (t.tensor([1.0, 2, 3]), t.tensor([1.0, 2, 3.000001])),
    lambda t: (t.tensor(1.0), t.tensor(2.0)),
    lambda t: (t.tensor([[1.0, 2], [3, 4]]), t.tensor([[1.0, 2], [5, 9]])),
    lambda t: (t.tensor([1, 2]), t.tensor([1, 3])),
    lambda t: (t.tensor([1.0]), t.tensor([1.0], dtype=t.float64)),
    lambda t: (t.tensor([1.0]), t.tensor([1.0, 2.0])),
    lambda t: (t.tensor([1.0]), t.tensor([1])),
    lambda t: (t.tensor([NAN]), t.tensor([NAN])),
    lambda t: (t.tensor([INF, 1]), t.tensor([INF, INF])),
    lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    lambda t: (t.tensor([True]), t.tensor([False])),
    lambda t: (t.tensor([250], dtype=t.uint8), t.tensor([3], dtype=t.uint8)),
    lambda t: (t.tensor([1.0, 0]), t.tensor([0.0, 0])),
    lambda t: (t.tensor([1.0], dtype=t.float16), t.tensor([1.001], dtype=t.float16)),
    lambda t: (t.tensor([1.0], dtype=t.bfloat16), t.tensor([1.1], dtype=t.bfloat16)),
    lambda t: (t.zeros(0), t.zeros(0)),
    lambda t: (t.ones(2, 3), t.ones(3, 2).T),
    lambda t: (t.nn.Parameter(t.ones(2)), t.ones(2)),
    lambda t: (t.tensor([1.0]), np.array([1.0])),
    lambda t: (np.array([1.0]), np.array([2.0])),
    lambda t: (t.tensor(1), 1),
    lambda t: (1, 2),
    lambda t: (1, 1.5),
    lambda t: (1.0, 1.0 + 1e-9),
    lambda t: (1.0, 1.1),
    lambda t: (1.0, 0.0),
    lambda t: (1 + 1j, 1 + 2j),
    lambda t: (NAN, NAN),
    lambda t: (np.float32(1), 1.0),
    lambda t: (True, False),
    lambda t: (True, np.bool_(True)),
    lambda t: (None, None),
    lambda t: (None, 1),
    lambda t: ([t.tensor([1.0]), t.tensor([2.0])], [t.tensor([1.0]), t.tensor([3.0])]),
    lambda t: ([1, 2], (1,)),
    lambda t: ((1, (2, 3)), (1, (2, 4))),
    lambda t: ({"b": 1, "a": 1}, {"a": 2, "b": 2}),
    lambda t: ({"a": 1}, {"b": 1}),
    lambda t: ([{"a": [1.0]}], [{"a": [2.0]}]),
    lambda t: ({1: 1}, [1]),
    lambda t: ("a", "a"),
    lambda t: ([1, "a"], [1, "a"]),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"rtol": 0, "atol": 0},
    {"rtol": 0.1, "atol": 1.0},
    {"equal_nan": True},
    {"check_dtype": False},
    {"check_stride": True},
    {"allow_subclasses": False},
    {"msg": "mine"},
    {"msg": lambda text: f"mine\n{text}"},
]


def outcome(library: Any, pair: Callable[[Any], tuple[Any, Any]], options: dict[str, Any]) -> str:
    try:
        library.testing.assert_close(*pair(library), **options)
    except (AssertionError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "close"


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options) or "default")
def test_pairs(options: dict[str, Any]) -> None:
    for number, pair in enumerate(PAIRS):
        assert outcome(minitorch, pair, options) == outcome(torch, pair, options), number


@pytest.mark.parametrize("options", [{"rtol": 1e-3}, {"atol": 1e-3}])
def test_one_tolerance_is_not_enough(options: dict[str, Any]) -> None:
    assert outcome(minitorch, PAIRS[0], options) == outcome(torch, PAIRS[0], options)
