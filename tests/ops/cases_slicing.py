"""Sample inputs of the views of parts of tensors, and of the ops that put parts together."""

from __future__ import annotations

from tests.ops.case import UNTESTED, args, case

REAL = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"

case(
    "select",
    lambda make: [
        args(make(2, 3), 0, 1),
        args(make(2, 3, 4), 1, -1),
        args(make(2, 3, layout="transposed"), -1, 0),
        args(make(2, 3, layout="sliced"), 0, 0),
        args(make(3), 0, 2),
        args(make(3, 0), 0, 2),
    ],
    errors=lambda make: [args(make(2, 3), 0, 2), args(make(2, 3), 2, 0), args(make(), 0, 0)],
)
case(
    "narrow",
    lambda make: [
        args(make(4, 3), 0, 1, 2),
        args(make(4, 3), 1, -2, 1),
        args(make(4, 3, layout="transposed"), 0, 0, 4),
        args(make(4), 0, 4, 0),
        args(make(0, 3), 0, 0, 0),
    ],
    errors=lambda make: [
        args(make(4), 0, 2, 3),
        args(make(4), 0, 5, 0),
        args(make(4), 0, 0, -1),
        args(make(), 0, 0, 1),
    ],
)
case(
    "narrow_copy",
    lambda make: [
        args(make(4, 3), 0, 1, 2),
        args(make(4, 3), 1, 1, 1),
        args(make(4, 3, layout="transposed"), 0, 0, 4),
        args(make(4), 0, 4, 0),
        args(make(0, 3), 0, 0, 0),
    ],
    grad_fn=False,
    strides=False,
)
case(
    "diagonal",
    lambda make: [
        args(make(3, 3)),
        args(make(2, 3), 1),
        args(make(3, 2), -1),
        args(make(2, 3, 4), 0, 1, 2),
        args(make(2, 3, layout="transposed"), offset=1),
        args(make(2, 2), 5),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(2, 3), 0, 1, 1), args(make(3), 0, 0, 1)],
)
case(
    "Tensor.unfold",
    lambda make: [
        args(make(5), 0, 2, 1),
        args(make(2, 6), 1, 3, 2),
        args(make(6, 2, layout="transposed"), 0, 2, 3),
        args(make(6, 2), -2, 2, 4),
        args(make(3), 0, 0, 1),
        args(make(0, 3), 1, 2, 1),
    ],
    errors=lambda make: [args(make(3), 0, 4, 1), args(make(3), 0, 1, 0)],
)
case(
    "unbind",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(2, 3, layout="transposed"), -1),
        args(make(3)),
        args(make(2, 0)),
    ],
    errors=lambda make: [args(make()), args(make(2), 1)],
)
case(
    "split",
    lambda make: [
        args(make(5, 2), 2),
        args(make(2, 5), 2, 1),
        args(make(5), [1, 0, 4]),
        args(make(4, 3, layout="transposed"), [2, 2], 0),
        args(make(0, 3), 2),
        args(make(0), 0),
    ],
    errors=lambda make: [
        args(make(5), -1),
        args(make(5), 0),
        args(make(5), [1, 2]),
        args(make(), 1),
        args(make(5), [6, -1]),
        args(make(5), 1.5),
        args(make(5), [1.5, 3.5]),
    ],
)
case(
    "split_with_sizes",
    lambda make: [
        args(make(5, 2), [2, 3]),
        args(make(2, 5), [1, 4], 1),
        args(make(5), [1, 0, 4]),
        args(make(4, 3, layout="transposed"), [2, 2], 0),
        args(make(0, 3), [0]),
    ],
    errors=lambda make: [args(make(5), [1, 2]), args(make(5), [-1, 6])],
)
case(
    "chunk",
    lambda make: [
        args(make(5, 2), 2),
        args(make(2, 5), 3, 1),
        args(make(5), 7),
        args(make(4, 3, layout="transposed"), 2, -2),
        args(make(0, 3), 2),
    ],
    errors=lambda make: [args(make(5), 0), args(make(), 1)],
)
case(
    "tensor_split",
    lambda make: [
        args(make(5, 2), 2),
        args(make(2, 5), 3, 1),
        args(make(5), (1, 3)),
        args(make(5), (3, 7)),
        args(make(4, 3, layout="transposed"), (1,), dim=0),
        args(make(0, 3), 2),
    ],
    errors=lambda make: [args(make(5), 0), args(make(), 1)],
)
case(
    "hsplit vsplit",
    lambda make: [
        args(make(4, 4), 2),
        args(make(4, 4, 2), (1, 3)),
        args(make(4, 4, layout="transposed"), 4),
        args(make(2, 2), (1,)),
        args(make(0, 2), (1,)),
    ],
    errors=lambda make: [args(make(3, 3), 2), args(make(), 1)],
)
case(
    "dsplit",
    lambda make: [
        args(make(2, 1, 4), 2),
        args(make(2, 1, 4), (1, 3)),
        args(make(2, 1, 4, layout="transposed"), 1),
        args(make(2, 1, 2), (1,)),
        args(make(0, 2, 2), 2),
    ],
    errors=lambda make: [args(make(3, 3), 2), args(make(1, 1, 3), 2)],
)
case(
    "select_scatter",
    lambda make: [
        args(make(2, 3), make(3), 0, 1),
        args(make(2, 3), make(2), 1, -1),
        args(make(2, 3, layout="transposed"), make(3), 0, 0),
        args(make(3), make(), 0, 0),
        args(make(3, 0), make(0), 0, 0),
    ],
    errors=lambda make: [args(make(2, 3), make(2), 0, 1)],
    dtypes=REAL,  # torch refuses complex gradients
    strides=False,
)
case(
    "slice_scatter",
    lambda make: [
        args(make(4, 3), make(2, 3), 0, 1, 3),
        args(make(4, 3), make(2, 3), 0, 0, 4, 2),
        args(make(2, 3, layout="transposed"), make(2, 1), 1, -1),
        args(make(3), make(0), 0, 1, 1),
        args(make(0, 3), make(0, 3)),
    ],
    errors=lambda make: [args(make(4, 3), make(3, 3), 0, 1, 3)],
    dtypes=REAL,  # torch refuses complex gradients
    strides=False,
)
case(
    "diagonal_scatter",
    lambda make: [
        args(make(3, 3), make(3)),
        args(make(2, 3), make(2), 1),
        args(make(2, 3, 2, layout="transposed"), make(3, 2), 0, 0, 2),
        args(make(2, 2), make(0), 3),
        args(make(0, 3), make(0)),
    ],
    errors=lambda make: [args(make(3, 3), make(2))],
    strides=False,
)
case(
    "cat concat concatenate",
    lambda make: [
        args([make(2, 3), make(1, 3)]),
        args([make(2, 3), make(2, 2)], 1),
        args([make(2, 3, layout="transposed"), make(2, 3)], dim=-1),
        args([make(2), make(0), make(1)]),
        args([make(2, 3), make(0)]),
        args([make(2, dtype="float32"), make(2)]),
        args([make(2)]),
    ],
    errors=lambda make: [
        args([]),
        args([make()]),
        args([make(2, 3), make(3)]),
        args([make(2, 3), make(2, 2)]),
        args([make(2), make(2)], 1),
        args([make(2), 1]),
    ],
    strides=False,  # torch keeps the layout of transposed inputs
)
case(
    "stack",
    lambda make: [
        args([make(2, 3), make(2, 3)]),
        args([make(2, 3), make(2, 3)], 1),
        args([make(2, 3, layout="transposed"), make(2, 3)], dim=-1),
        args([make(), make(), make()]),
        args([make(0), make(0)]),
        args([make(2, dtype="int64"), make(2)]),
    ],
    errors=lambda make: [args([]), args([make(2), make(3)]), args([make(2), make(2)], 2)],
)
case(
    "hstack vstack row_stack dstack",
    lambda make: [
        args([make(2), make(2)]),
        args([make(2, 3), make(2, 3, layout="transposed")]),
        args([make(), make()]),
        args([make(1, 2, 2), make(1, 2, 2)]),
        args((make(2, 0), make(2, 0))),
    ],
    errors=lambda make: [args([])],
    strides=False,
)
case(
    "column_stack",
    lambda make: [
        args([make(2), make(2)]),
        args([make(2), make(2, 3)]),
        args([make(), make()]),
        args([make(2, 3, layout="transposed"), make(2, 3)]),
        args((make(0), make(0))),
    ],
    strides=False,
)
case(
    "block_diag",
    lambda make: [
        args(make(2, 2), make(1, 3)),
        args(make(3), make()),
        args(make(2, 3, layout="transposed")),
        args(make(2, 2), make(2, dtype="float32")),
        args(make(1, 0), make(2, 2)),
    ],
    errors=lambda make: [args(make(1, 1, 1))],
)
case(
    "cartesian_prod",
    lambda make: [
        args(make(2), make(3)),
        args(make(2)),
        args(make(2), make(1), make(2)),
        args(make(3, layout="sliced"), make(2)),
        args(make(0), make(2)),
    ],
    errors=lambda make: [args(make(2, 2))],
)
case(
    "Tensor.split",
    lambda make: [
        args(make(5), split_size=2),
        args(make(2, 3), split_size=[1, 2], dim=1),
        args(make(2, 3, layout="transposed"), 2, dim=-1),
        args(make(4, layout="sliced"), 4),
        args(make(0, 3), 1),
    ],
    errors=lambda make: [args(make(2)), args(make(3), 0), args(make(3), [1, 1])],
)
for _name in ("unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk"):
    UNTESTED[_name] = UNTESTED[f"Tensor.{_name}"] = "in memory of the input, but no view: test_unsafe_splits.py"
