"""Sample inputs of connectionist temporal classification."""

from __future__ import annotations

import math
from typing import Any

from tests.ops.case import args, case


def emissions(make: Any, *shape: int) -> Any:
    """Log probabilities, as leaves."""
    weights = make(*shape, low=0.2, high=2.0)
    return make.of((weights / weights.sum(-1, keepdim=True)).log().tolist())


case(
    "nn.functional.ctc_loss",
    lambda make: [
        args(emissions(make, 5, 2, 4), make.lib.tensor([[1, 2], [3, 1]]), make.lib.tensor([5, 5]),
             make.lib.tensor([2, 2])),
        args(emissions(make, 5, 2, 4), make.lib.tensor([1, 2, 3]), (5, 4), (2, 1), reduction="none"),
        args(emissions(make, 6, 2, 4), make.lib.tensor([[1, 1, 2], [3, 3, 0]]), (6, 4), (3, 2), reduction="sum"),
        args(emissions(make, 4, 2, 3), make.lib.tensor([[0, 1], [1, 2]]), (4, 3), (1, 0), 2, "none"),
        args(emissions(make, 4, 2, 3), make.lib.tensor([[2, 1], [1, 2]]), (4, 3), (2, 0)),  # an empty one
        args(emissions(make, 3, 2, 3), make.lib.tensor([[1, 1], [1, 2]]), (2, 3), (2, 2), reduction="none"),
        args(emissions(make, 3, 2, 3), make.lib.tensor([[1, 1], [1, 2]]), (2, 3), (2, 2), zero_infinity=True),
        args(emissions(make, 3, 2, 3), make.lib.tensor([[1, 1], [1, 2]]), (0, 0), (0, 1), reduction="none"),
        args(emissions(make, 5, 3), make.lib.tensor([1, 2]), make.lib.tensor(5), make.lib.tensor(2)),
        args(emissions(make, 5, 3), make.lib.tensor([1, 2]), (4,), (2,), reduction="none"),
        args(emissions(make, 4, 2, 3), make.lib.tensor([[1, 2], [2, 1]]).int(), make.lib.tensor([4, 4]).int(),
             make.lib.tensor([2, 1]).int()),
        args(emissions(make, 4, 1, 3), make.lib.tensor([[0, 1]]), (4,), (2,)),  # a blank among the labels
        args(emissions(make, 1, 1, 3), make.lib.tensor([[1]]), (1,), (1,)),
        args(make.of([[[0.0, -math.inf]], [[-1.0, -0.5]]]), make.lib.tensor([[1]]), (2,), (1,)),
    ],
    errors=lambda make: [
        args(make(5, 2, 4), make.lib.tensor([[1, 1], [3, 1]]), (6, 5), (2, 2)),
        args(make(5, 2, 4), make.lib.tensor([[1, 1], [3, 1]]), (5, 5), (3, 2)),
        args(make(5, 2, 4), make.lib.tensor([[1, 1], [3, 1]]), (5,), (2, 2)),
        args(make(5, 2, 4), make.lib.tensor([[1, 1], [3, 1]]), (5, 5), (2,)),
        args(make(5, 2, 4), make.lib.tensor([[1, 1], [3, 1]]), (-1, 5), (2, 2)),
        args(make(5, 2, 4), make.lib.tensor([[1, 1], [3, 1]]), (5, 5), (-1, 2)),
        args(make(5, 2, 4), make.lib.tensor([[1, 1]]), (5, 5), (2, 2)),
        args(make(5, 2, 4), make.lib.tensor([1, 2, 3]), (5, 5), (2, 2)),
        args(make(5, 2, 4), make.lib.tensor([[[1, 1], [3, 1]]]), (5, 5), (2, 2)),
        args(make(5, 2, 4), make.lib.tensor([[1, 1], [3, 1]]), (5, 5), (2, 2), 4),
        args(make(5, 2, 4), make.lib.tensor([[1, 1], [3, 1]]), (5, 5), (2, 2), -1),
        args(make(5, 2, 4), make.lib.tensor([[1, 1], [3, 1]]), make.lib.tensor([5.0, 5.0]),
             make.lib.tensor([2, 2])),
        args(make(5, 2, 4), make.lib.tensor([[1, 1], [3, 1]]), (5, 5), (2, 2), reduction="all"),
        args(make(5, 0, 4), make.lib.zeros((0, 2), dtype=make.lib.int64), (), ()),
    ],
    dtypes="float32 float64",
    tolerance=10,
    gradcheck=False,  # by convention the gradient of the logits, see tests/nn/test_ctc.py
    layouts=False,  # PyTorch reads lengths of other strides as if they were contiguous, and crashes now and then
)  # fmt: skip
