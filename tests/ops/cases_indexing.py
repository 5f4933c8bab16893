"""Sample inputs of the ops that read and write at indices and where a mask is True."""

from __future__ import annotations

import numpy as np

from tests.ops.case import args, case

NAN = float("nan")
REAL = "uint8 int64 float16 bfloat16 float32 float64"


def index(make, *values):
    return make.lib.tensor(list(values))


case(
    "Tensor.__getitem__",
    lambda make: [
        args(make(2, 3), 1),
        args(make(2, 3), -1),
        args(make(2, 3), slice(None)),
        args(make(4, 3), slice(1, None, 2)),
        args(make(2, 3), (1, slice(0, 2))),
        args(make(2, 3, layout="transposed"), (slice(None), 0)),
        args(make(2, 3, 4), (..., 1)),
        args(make(2, 3), None),
        args(make(2, 3), (None, 1, ..., None)),
        args(make(2, 3), ...),
        args(make(), ...),
        args(make(), None),
        args(make(2, 3), [0, 1, 1]),
        args(make(2, 3), make.index(4, below=2)),
        args(make(2, 3), make.index(2, 2, below=2)),
        args(make(3, 4), (make.index(3, below=3), make.index(3, below=4))),
        args(make(2, 3, 4), (slice(None), [0, 2, 2], slice(1, 3))),
        args(make(2, 3, 4), ([0, 1], slice(None), [1, 1])),
        args(make(2, 3), make.mask(2, 3)),
        args(make(2, 3, 2), make.mask(2, 3)),
        args(make(2, 3, 2), (slice(None), make.mask(3))),
        args(make(2, 3), True),
        args(make(2, 3), False),
        args(make(2, 3), []),
        args(make(2, 3), make.lib.tensor(1)),
        args(make(0, 3), slice(0, 2)),
        args(make(4, 3, layout="sliced"), [-1, 0]),
        args(make(2, 3), [1.5]),
        args(make(2, 3), (np.array([0.0, 1.0]), np.array([2, 1], np.int8))),
    ],
    errors=lambda make: [
        args(make(2, 3), 2),
        args(make(2, 3), (0, 3)),
        args(make(2, 3), (0, 0, 0)),
        args(make(2, 3), slice(None, None, -1)),
        args(make(2, 3), slice(None, None, 0)),
        args(make(2, 3), 1.5),
        args(make(2, 3), [0, 2]),
        args(make(2, 3), ([0, 1], [0, 1, 2])),
        args(make(2, 3), make.mask(3)),
        args(make(), 0),
        args(make(), slice(None)),
        args(make(2, 3), make.lib.tensor([0.5])),
        args(make(2, 3), make.lib.tensor(0.5)),
        args(make(2, 3), make.lib.tensor([0], dtype=make.lib.int8)),
        args(make(2, 3), make.lib.tensor([0], dtype=make.lib.int16)),
        args(make(2, 3), np.float32(1)),
        args(make(2, 3), np.bool_(True)),
    ],
)
case(
    "index_select",
    lambda make: [
        args(make(2, 3), 0, make.index(3, below=2)),
        args(make(2, 3), -1, make.index(4, below=3)),
        args(make(2, 3, layout="transposed"), 0, make.index(2, below=2)),
        args(make(3), 0, make.index(0, below=3)),
        args(make(2, 0), 0, make.index(3, below=2)),
    ],
    errors=lambda make: [
        args(make(2, 3), 0, index(make, 2)),
        args(make(2, 3), 0, index(make, -1)),
        args(make(2, 3), 0, make.index(1, 1, below=2)),
        args(make(2, 3), 0, make(2)).type_only(),  # the sentence of index_add
        args(make(2, 3), 2, index(make, 0)),
    ],
)
case(
    "gather",
    lambda make: [
        args(make(2, 3), 1, make.index(2, 2, below=3)),
        args(make(2, 3), 0, make.index(4, 3, below=2)),
        args(make(2, 3), -1, make.index(1, 5, below=3)),
        args(make(2, 3, layout="transposed"), 1, make.index(2, 3, below=3)),
        args(make(), 0, make.index(below=1)),
        args(make(2, 3), 1, make.index(0, 2, below=3)),
    ],
    errors=lambda make: [
        args(make(2, 3), 1, index(make, 0)),
        args(make(2, 3), 0, make.index(1, 4, below=2)),
        args(make(2, 3), 1, make.lib.tensor([[3]])),
        args(make(2, 3), 1, make(2, 3, dtype="float32")),
    ],
)
case(
    "scatter",
    lambda make: [
        args(make(2, 3), 1, make.lib.tensor([[2, 0], [1, 2]]), make(2, 2)),
        args(make(2, 3), 1, make.lib.tensor([[2], [1]]), make(3, 4, requires_grad=False)),
        args(make(2, 3, layout="transposed"), 0, make.lib.tensor([[1, 0, 1]]), make(1, 3)),
        args(make(2, 3), 1, make.lib.tensor([[2, 0], [1, 2]]), 2),
        args(make(2, 3), 1, make.lib.tensor([[2, 0], [1, 2]]), value=1),
        args(make(), 0, make.lib.tensor(0), make()),
        args(make(2, 3), 1, make.index(0, 2, below=3), make(2, 2, requires_grad=False)),
    ],
    errors=lambda make: [
        args(make(2, 3), 1, make.lib.tensor([[3]]), make(1, 1)),
        args(make(2, 3), 1, make.lib.tensor([[0, 1]]), make(1, 1)),
        args(make(2, 3), 1, make.lib.tensor([[0]]), make(1, 1, dtype="int8")),
        args(make(2, 3), 1, index(make, 0), make(1, 1)),
        args(make(2, 3), 1, make.index(3, 1, below=3), 1.0),
        args(make(2, 3), 0, make.index(1, 4, below=2), 1.0),
    ],
)
case(
    "scatter_add",
    lambda make: [
        args(make(2, 3), 1, make.index(2, 4, below=3), make(2, 4)),
        args(make(2, 3), 0, make.index(5, 3, below=2), make(6, 3, requires_grad=False)),
        args(make(2, 3, layout="transposed"), -1, make.index(1, 3, below=3), make(2, 3, requires_grad=False)),
        args(make(), 0, make.index(below=1), make()),
        args(make(2, 3), 1, make.index(0, 2, below=3), make(2, 2, requires_grad=False)),
    ],
    errors=lambda make: [args(make(2, 3), 1, make.lib.tensor([[3]]), make(1, 1))],
)
case(
    "scatter_reduce",
    lambda make: [
        args(make(2, 3), 1, make.index(2, 4, below=3), make(2, 4), "sum"),
        args(make(2, 3), 1, make.index(2, 4, below=3), make(2, 4), "prod"),
        args(make(2, 3), 1, make.index(2, 4, below=3), make(2, 4), "mean"),
        args(make(2, 3), 1, make.index(2, 4, below=3), make(2, 4), "amax"),
        args(make(2, 3, layout="transposed"), 0, make.index(4, 3, below=2), make(4, 3), reduce="amin"),
        args(make(2, 3), 1, make.index(2, 4, below=3), make(2, 4), "sum", include_self=False),
        args(make(2, 3), 1, make.index(2, 4, below=3), make(2, 4), "mean", include_self=False),
        args(make(2, 3), 1, make.index(2, 4, below=3), make(2, 4), "amax", include_self=False),
    ],
    errors=lambda make: [
        args(make(2, 3), 1, make.index(2, 2, below=3), make(2, 2), "most"),
        args(make(2, 3), 1, make.index(2, 2, below=3), make(2), "sum"),
        args(make(2, 3), 1, make.index(2, 2, below=3), make(), "sum"),
    ],
    dtypes="float32 float64",
)
case(
    "index_add",
    lambda make: [
        args(make(2, 3), 0, make.index(4, below=2), make(4, 3)),
        args(make(2, 3), 1, make.index(4, below=3), make(2, 4)),
        args(make(2, 3), 0, make.index(1, below=2), make(1, 3), alpha=2),
        args(make(2, 3, layout="transposed"), -1, make.index(2, below=3), make(2, 2)),
        args(make(3), 0, make.index(0, below=3), make(0)),
    ],
    errors=lambda make: [
        args(make(2, 3), 0, index(make, 0), make(2, 3)),
        args(make(2, 3), 0, index(make, 0), make(1, 2)),
        args(make(3), 0, index(make, 3), make(1)),
    ],
    dtypes=REAL,
)
case(
    "index_copy",
    lambda make: [
        args(make(2, 3), 0, index(make, 1, 0), make(2, 3)),
        args(make(2, 3), 1, index(make, 2), make(2, 1)),
        args(make(2, 3, layout="transposed"), -1, index(make, 0, 2), make(2, 2)),
        args(make(3), 0, index(make, 1), make(1)),
        args(make(3), 0, make.index(0, below=3), make(0)),
    ],
    errors=lambda make: [
        args(make(2, 3), 0, index(make, 0), make(2, 3)),
        args(make(2, 3), 0, index(make, 2), make(1, 3)).type_only(),  # the sentence of index_select
    ],
)
case(
    "index_fill",
    lambda make: [
        args(make(2, 3), 0, index(make, 1), 2),
        args(make(2, 3), 1, index(make, 0, 2), 1),
        args(make(2, 3, layout="transposed"), -1, index(make, -1), 1),
        args(make(2, 3), 0, index(make, 1), make()),
        args(make(3), 0, make.index(0, below=3), 1),
    ],
    errors=lambda make: [args(make(2, 3), 0, index(make, 2), 1), args(make(2, 3), 0, index(make, 0), make(2))],
    strides=False,
)
case(
    "index_put",
    lambda make: [
        args(make(3, 4), (index(make, 2, 0),), make(2, 4)),
        args(make(3, 4), (index(make, 2, 0),), make(4)),
        args(make(3, 4), (index(make, 2, 0), index(make, 1, 1)), make(2)),
        args(make(3, 4), (index(make, 2, 2, 0),), make(3, 4), True),
        args(make(3, 4), (index(make, 2, 2), index(make, 1, 1)), make(2), accumulate=True),
        args(make(3, 4, layout="transposed"), (index(make, 2, 2),), make(), accumulate=True),
        args(make(2, 3), (make.mask(2, 3),), make()),
    ],
    errors=lambda make: [
        args(make(3), (index(make, 3),), make(1)),
        args(make(3), (index(make, 0, 1),), make(3)),
        args(make(3), (index(make, 0),), make(1, dtype="int8")),
        args(make(3), (make.lib.tensor([0], dtype=make.lib.int8),), make(1)),
    ],
    dtypes="int64 float32 float64",
    strides=False,
)
case(
    "take",
    lambda make: [
        args(make(2, 3), index(make, 5, -1, 0)),
        args(make(2, 3), make.index(2, 2, below=6)),
        args(make(2, 3, layout="transposed"), index(make, 1, 1)),
        args(make(), index(make, 0)),
        args(make(3), make.index(0, below=3)),
    ],
    errors=lambda make: [args(make(2, 3), index(make, 6)), args(make(2), make(2, dtype="float32"))],
)
case(
    "put",
    lambda make: [
        args(make(2, 3), index(make, 5, -6), make(2)),
        args(make(2, 3), index(make, 1, 1), make(2), True),
        args(make(2, 3, layout="transposed"), index(make, 1), make(1, 1)),
        args(make(3), make.index(0, below=3), make(0)),
        args(make(2, 2), make.lib.tensor([[0, 1]]), make(2), accumulate=True),
    ],
    errors=lambda make: [args(make(2), index(make, 2), make(1)), args(make(2), index(make, 0), make(2))],
    dtypes="int64 float32 float64",
    strides=False,
)
case(
    "take_along_dim",
    lambda make: [
        args(make(2, 3), make.index(2, 2, below=3), 1),
        args(make(2, 3), make.index(1, 2, below=3), 1),
        args(make(1, 3), make.index(4, 3, below=1), dim=0),
        args(make(2, 3), make.index(4, below=6)),
        args(make(2, 3, layout="transposed"), make.index(2, 1, below=3), -1),
    ],
    errors=lambda make: [args(make(2, 3), make.index(2, below=3), 1)],
)
case(
    "masked_fill",
    lambda make: [
        args(make(2, 3), make.mask(2, 3), 1),
        args(make(2, 3), make.mask(3), 0),
        args(make(3), make.mask(2, 3), 1),
        args(make(2, 3, layout="transposed"), make.mask(2, 3), make()),
        args(make(), make.mask(), 1),
        args(make(0, 3), make.mask(3), 1),
    ],
    errors=lambda make: [
        args(make(2), make(2, dtype="float32"), 1),
        args(make(2), make.mask(2), make(2)),
        args(make(2, 3), make.mask(2), 1),
    ],
    strides=False,
)
case(
    "masked_select",
    lambda make: [
        args(make(2, 3), make.mask(2, 3)),
        args(make(2, 3), make.mask(3)),
        args(make(3), make.mask(2, 3)),
        args(make(2, 3, layout="transposed"), make.mask(2, 3)),
        args(make(0, 3), make.mask(3)),
    ],
    errors=lambda make: [args(make(2), make(2, dtype="float32")), args(make(2, 3), make.mask(2))],
)
case(
    "masked_scatter",
    lambda make: [
        args(make(2, 3), make.mask(2, 3), make(6)),
        args(make(2, 3), make.mask(3), make(2, 3)),
        args(make(3), make.mask(2, 3), make(6)),
        args(make(2, 3, layout="transposed"), make.mask(2, 3), make(7)),
        args(make(0, 3), make.mask(3), make(2)),
    ],
    errors=lambda make: [args(make(2), make.lib.tensor([True, True]), make(1))],
    strides=False,
)
case(
    "nonzero argwhere",
    lambda make: [
        args(make.of([1.0, 0.0, 2.0])),
        args(make.of([[1.0, 0.0], [0.0, 2.0]])),
        args(make(2, 3, layout="transposed")),
        args(make()),
        args(make(0, 3)),
    ],
    strides=False,
)
case(
    "scatter_reduce",
    lambda make: [
        args(make.of([0.0, 2.0, 3.0]), 0, index(make, 0, 0, 1), make.of([2.0, 3.0, 4.0]), "prod"),
        args(make.of([5.0, 2.0, 3.0]), 0, index(make, 0, 0, 1), make.of([2.0, 0.0, 0.0]), "prod"),
        # Where several zeros meet, a second derivative is refused: tests/autograd/test_nodes.py.
        args(make.of([5.0, 2.0, 3.0]), 0, index(make, 0, 0, 1), make.of([0.0, 0.0, 2.0]), "prod").kink(),
        args(make.of([5.0, 2.0]), 0, index(make, 0, 0), make.of([3.0, 0.0]), "prod", include_self=False),
    ],
    dtypes="float32 float64",
)
case(
    "index_reduce",
    lambda make: [
        *(args(make(2, 3), 0, index(make, 1, 0, 1), make(3, 3), reduce) for reduce in ("prod", "mean", "amax", "amin")),
        *(
            args(make(2, 3), 0, index(make, 1, 1), make(2, 3), reduce, include_self=False)
            for reduce in ("prod", "mean", "amax", "amin")
        ),
        args(make(2, 3, layout="transposed"), -1, index(make, 0, 2), make(2, 2), "prod"),
        args(make(3), 0, make.index(0, below=3), make(0), "amax"),
    ],
    errors=lambda make: [
        args(make(2, 3), 0, index(make, 0), make(1, 3), "sum"),
        args(make(2, 3), 0, index(make, 0), make(2, 3), "prod"),
        args(make(2, 3), 0, index(make, 2), make(1, 3), "prod"),
    ],
    dtypes="int64 float32 float64",
    strides=False,
)
case(
    "Tensor.__setitem__",
    lambda make: [
        args(make(2, 3), 1, 2),
        args(make(2, 3), -1, make(3)),
        args(make(4, 3), slice(1, None, 2), make(2, 3)),
        args(make(2, 3, layout="transposed"), (slice(None), 0), make()),
        args(make(2, 3, 4), (..., 1), make(1, 2, 3)),
        args(make(), ..., 1),
        args(make(2, 3), ([0, 1], [2, 2]), make(2)),
        args(make(2, 3), (slice(None), [2, 0]), make(2, 1)),
        args(make(2, 3), make.mask(2, 3), 1),
        args(make(2, 3), make.mask(2, 3), make()),
        args(make(2, 3), make.mask(2), make(3)),
        args(make(2, 3), None, make(2, 3)),
        args(make(0, 3), slice(None), 1),
        args(make(3), True, 1),
    ],
    errors=lambda make: [
        args(make(2), 2, 1),
        args(make(2, 3), 0, make(2)),
        args(make(2, 3), [0, 2], 1),
        args(make(2), 0, "a"),
        args(make(2), make.lib.tensor([0, 1]), make(3)),
        args(make(2), make.lib.tensor([0, 1], dtype=make.lib.int8), 1),
        args(make(2), make.lib.tensor([0, 1], dtype=make.lib.uint8), 1),
    ],
    grad_fn=False,  # torch writes through other ops
)
