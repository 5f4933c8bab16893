"""Pieces that lie in the input's memory and are no views of it to autograd, as PyTorch has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.same import attempt, exactly_the_same

Split = Callable[[Any, Any], Any]

SPLITS: list[Split] = [
    lambda t, x: t.unsafe_split(x, 2),
    lambda t, x: t.unsafe_split(x, 4, 0),
    lambda t, x: x.unsafe_split(1, -1),
    lambda t, x: x.t().unsafe_split(1),
    lambda t, x: t.unsafe_split_with_sizes(x, [1, 5]),
    lambda t, x: x.unsafe_split_with_sizes([0, 2], dim=1),
    lambda t, x: t.unsafe_chunk(x, 4),
    lambda t, x: x.unsafe_chunk(7, dim=1),
]
"""Of a matrix (6, 2)."""


@pytest.mark.parametrize("split", SPLITS)
@exactly_the_same
def test_pieces(torch: Any, split: Split) -> Any:
    x = torch.arange(12.0).reshape(6, 2)
    pieces = split(torch, x)
    pieces[-1].fill_(7)
    found = [(piece, piece.stride(), piece._base is None, piece._version) for piece in pieces]
    return type(pieces), found, x, x._version


@pytest.mark.parametrize("split", SPLITS)
@exactly_the_same
def test_gradients_of_pieces_that_are_written_to(torch: Any, split: Split) -> Any:
    x = torch.arange(12.0).reshape(6, 2).requires_grad_()
    *others, piece = split(torch, x * 2)
    name = piece.grad_fn.name()
    piece.mul_(3)  # a view of several would raise
    (sum(each.pow(2).sum() for each in others) + piece.sum()).backward()
    return name, x.grad


@exactly_the_same
def test_errors(torch: Any) -> Any:
    x = torch.ones(5)
    return [
        *(
            attempt(torch.unsafe_split, *args)
            for args in ((x, -1), (x, 0), (torch.ones(()), 1), (x, [1, 4]), (x, 1, 1))
        ),
        *(attempt(torch.unsafe_split_with_sizes, *args) for args in ((x, [1, 2]), (x, [-1, 6]))),
        *(attempt(torch.unsafe_chunk, *args) for args in ((x, 0), (torch.ones(()), 1))),
    ]
