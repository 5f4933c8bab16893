"""Sample inputs of the ops that sort, choose by rank, count and tell apart.

Equal elements: torch leaves open which index it returns, so there are none where indices are compared.
"""

from __future__ import annotations

from tests.ops.case import args, case

NAN = float("nan")
ORDERED = "float32 float64"

case(
    "sort argsort",
    lambda make: [
        args(make(2, 3)),
        args(make(4, 3), 0),
        args(make(4, 3), dim=0, descending=True),
        args(make(2, 3, 4), 1),
        args(make(4, 3, layout="transposed"), 1, True),
        args(make()),
        args(make(0, 3)),
        args(make.of([1.0, NAN, 3.0, 2.0])).kink(),
        args(make.of([1.0, NAN, 3.0, 2.0]), descending=True).kink(),
        args(make.of([1.0, 3.0, 3.0, 1.0]), stable=True, descending=True, dim=0).kink(),
    ],
    errors=lambda make: [args(make(2), 1)],
    dtypes=ORDERED,
)
case(
    "msort",
    lambda make: [
        args(make(4, 3)),
        args(make(4)),
        args(make(4, 3, layout="transposed")),
        args(make(4, 3, layout="sliced")),
        args(make(0, 3)),
    ],
    dtypes=ORDERED,
)
case(
    "topk",
    lambda make: [
        args(make(5), 2),
        args(make(4, 3), 2, 0),
        args(make(4, 3), 2, dim=0, largest=False),
        args(make(4, 3, layout="transposed"), 3),
        args(make(), 1),
        args(make(3), 0),
        args(make.of([1.0, NAN, 3.0]), 2).kink(),
    ],
    errors=lambda make: [
        args(make(3), 4),
        args(make(3), -1),
        args(make(3), 1, 1),
        args(make(3, dtype="complex64"), 1),
        args(make(3, dtype="complex64"), 4),
        args(make(3, dtype="bool"), 1),
    ],
    dtypes=ORDERED,
    strides=False,
)
case(
    "kthvalue",
    lambda make: [
        args(make(5), 2),
        args(make(4, 3), 2, 0),
        args(make(4, 3), 2, 0, True),
        args(make(4, 3, layout="transposed"), 3),
        args(make(), 1),
    ],
    errors=lambda make: [args(make(3), 4), args(make(3), 0), args(make(3), 1, 1)],
    dtypes=ORDERED,
)
case(
    "median nanmedian",
    lambda make: [
        args(make(5)),
        args(make(4)),
        args(make(4, 3), 0),
        args(make(4, 3), dim=1, keepdim=True),
        args(make(4, 3, layout="transposed"), -1),
        args(make()),
        args(make(0)),
        args(make.of([1.0, NAN, 3.0, 2.0])).kink(),
        args(make.of([1.0, NAN, 3.0, 2.0]), 0).kink(),
    ],
    errors=lambda make: [
        args(make(0, 3), 0),
        args(make(3), 1),
        args(make(3, dtype="complex64")),
        args(make(3, dtype="complex64"), 0),
        args(make(dtype="bool"), 0),
        args(make(0, 3, dtype="bool"), 0),
    ],
    dtypes=ORDERED,
)
case(
    "mode",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 0),
        args(make(2, 3), -1, True),
        args(make(2, 3, layout="transposed"), 1),
        args(make()),
    ],
    errors=lambda make: [args(make(2, 3, dtype="complex64")), args(make(3, dtype="complex128"), 0)],
    dtypes=ORDERED,
)
case(
    "quantile nanquantile",
    lambda make: [
        args(make(5), 0.3),
        args(make(2, 3), 0.5),
        args(make(2, 3), 0.5, 1),
        args(make(2, 3), 0.25, dim=0, keepdim=True),
        args(make(2, 3), make.lib.tensor([0.1, 0.9], dtype=make.dtype), 1),
        args(make(4), 0.4, interpolation="lower"),
        args(make(4), 0.4, interpolation="higher"),
        args(make(4), 0.4, interpolation="nearest"),
        args(make(4), 0.4, interpolation="midpoint"),
        args(make.of([1.0, NAN, 3.0, 2.0]), 0.5).kink(),
        args(make(2, 3, layout="transposed"), 0.5, -1),
    ],
    errors=lambda make: [args(make(3), 2.0), args(make(3, dtype="int64"), 0.5), args(make(0), 0.5)],
    dtypes=ORDERED,
    strides=False,
)
case(
    "unique",
    lambda make: [
        args(make.of([3.0, 1.0, 1.0, 2.0], requires_grad=False)),
        args(make.of([3.0, 1.0, 1.0, 2.0], requires_grad=False), return_inverse=True, return_counts=True),
        args(make.of([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0]], requires_grad=False), dim=0, return_inverse=True),
        args(make.of([[1.0, 2.0], [1.0, 2.0]], requires_grad=False), return_inverse=True),
        args(make(0, requires_grad=False)),
    ],
    dtypes="int64 float32 float64",
)
case(
    "unique_consecutive",
    lambda make: [
        args(make.of([3.0, 1.0, 1.0, 3.0], requires_grad=False)),
        args(make.of([3.0, 1.0, 1.0, 3.0], requires_grad=False), return_inverse=True, return_counts=True),
        args(make.of([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0]], requires_grad=False), dim=0, return_counts=True),
        args(make.of([[1.0, 2.0], [2.0, 2.0]], requires_grad=False), return_inverse=True),
        args(make(0, requires_grad=False)),
    ],
    dtypes="int64 float32 float64",
)
case(
    "bincount",
    lambda make: [
        args(make.index(6, below=4)),
        args(make.index(6, below=4), minlength=7),
        args(make.index(3, below=4), make(3, requires_grad=False)),
        args(make.index(0, below=4)),
        args(make.index(2, below=2), make(2, requires_grad=False), 3),
    ],
    errors=lambda make: [args(make(2)), args(make.index(2, 2, below=3))],
    dtypes="float32 float64",
)
case(
    "histc",
    lambda make: [
        args(make(8, requires_grad=False)),
        args(make(8, requires_grad=False), 4),
        args(make(8, requires_grad=False), 4, -1, 1),
        args(make(2, 4, requires_grad=False, layout="transposed"), bins=3, min=0, max=2),
        args(make(0, requires_grad=False), 3),
    ],
    errors=lambda make: [
        args(make(3), 0),
        args(make(3), 2, 1, 0),
        args(make(3), 0, 1, 0),
        args(make(3), 2, 0, float("inf")),
        args(make.of([1.0, float("inf")], requires_grad=False), 2),
        args(make(2, dtype="complex64"), 4),
        args(make(2, dtype="complex64"), 4, -1, 1),
        args(make(0, dtype="complex128"), 4),
        args(make(2, dtype="complex64"), 4, 1, 0),
        args(make(2, dtype="bool"), 4),
        args(make(2, dtype="bool"), 4, -1, 1),
        args(make(2, dtype="bool"), 4, 0, float("inf")),
        args(make(2, dtype="int64"), 0),
        args(make(2, dtype="int64"), 4, 1, 0),
        args(make(2, dtype="int64"), 4, 0, 1),
    ],
    dtypes="float32 float64",
)
case(
    "searchsorted",
    lambda make: [
        args(make.of([1.0, 2.0, 3.0]), make.of([0.5, 2.0, 4.0])),
        args(make.of([1.0, 2.0, 3.0]), make.of([2.0]), right=True),
        args(make.of([1.0, 2.0, 3.0]), 2.5),
        args(make.of([[1.0, 3.0], [2.0, 4.0]]), make.of([[2.0], [2.0]]), side="right"),
        args(make.of([1.0, 2.0]), make.of([1.0]), out_int32=True),
    ],
    dtypes="int64 float32 float64",
)
case(
    "bucketize",
    lambda make: [
        args(make.of([0.5, 2.0, 4.0]), make.of([1.0, 2.0, 3.0])),
        args(make.of([2.0]), make.of([1.0, 2.0, 3.0]), right=True),
        args(2.5, make.of([1.0, 2.0, 3.0])),
        args(make.of([[2.0], [2.0]]), make.of([1.0, 3.0])),
        args(make.of([1.0]), make.of([1.0, 2.0]), out_int32=True),
    ],
    dtypes="int64 float32 float64",
)
