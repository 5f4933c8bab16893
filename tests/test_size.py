"""torch.Size."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import minitorch
from tests.same import errors, exactly_the_same

torch = pytest.importorskip("torch", reason="the expected values are torch's")


@pytest.mark.parametrize(
    "action",
    [
        lambda Size: Size([2, 3, 4]),
        lambda Size: Size([]),
        lambda Size: Size((2, 3, 4))[1:],
        lambda Size: Size((2, 3, 4))[-1],
        lambda Size: Size((2, 3)) + minitorch.Size((4,)),
        lambda Size: Size((2, 3)) * 2,
        lambda Size: Size((2, 3)).numel(),
        lambda Size: Size(()).numel(),
        lambda Size: Size((2, 3)) == (2, 3),
        lambda Size: hash(Size((2, 3))) == hash((2, 3)),
        lambda Size: list(Size((2, 3))),
    ],
)
def test_behaves_and_prints_as_pytorchs(action: Any) -> None:
    expected, actual = action(torch.Size), action(minitorch.Size)
    assert repr(actual) == repr(expected)
    assert type(actual).__name__ == type(expected).__name__


def test_pickles() -> None:
    again = pickle.loads(pickle.dumps(minitorch.Size((2, 3))))
    assert again == (2, 3) and isinstance(again, minitorch.Size)


@pytest.mark.parametrize("sizes", [["a"], [1.5], [None], [2, []], 3, [True, -1]])
@exactly_the_same
def test_refuses_what_are_no_ints(module: Any, sizes: Any) -> Any:
    return errors(lambda: module.Size(sizes))


@exactly_the_same
def test_takes_integer_tensors(module: Any) -> Any:
    return errors(lambda: module.Size(module.tensor([2, 3])), lambda: module.Size(module.tensor([1.5])))
