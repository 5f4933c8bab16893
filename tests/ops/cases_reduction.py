"""Sample inputs of the ops that fold dimensions: sums, products, extrema, variances, running sums."""

from __future__ import annotations

from tests.ops.case import args, case

NAN = float("nan")
INF = float("inf")
FLOATING = "float16 bfloat16 float32 float64"

case(
    "sum",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(2, 3), (0, -1), keepdim=True),
        args(make(2, 3, layout="transposed"), 0),
        args(make(2, 3, layout="sliced"), dim=-1, keepdim=True),
        args(make(2, 3), []),
        args(make(), 0),
        args(make(0, 3), 0),
        args(make(0, 3)),
        args(make(2, 3), dtype=make.lib.float64),
        args(make.of([1.0, NAN, 2.0])).kink(),
    ],
    errors=lambda make: [
        args(make(2, 3), 2),
        args(make(2, 3), (0, 0)),
        args(make(2, 3), (0, -2)),
        args(make(2, 3), 0, 1),
        args(make(2, 3), 0, keepdim=None),
    ],
)
case(
    "nansum",
    lambda make: [
        args(make.of([1.0, NAN, 2.0])).kink(),
        args(make(2, 3), 1),
        args(make(2, 3), (0, 1), keepdim=True),
        args(make(2, 3, layout="transposed"), 0),
        args(make()),
        args(make(0, 3), 0),
    ],
    dtypes=FLOATING,
)
case(
    "mean",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(2, 3), (0, -1), keepdim=True),
        args(make(2, 3, layout="transposed"), 0),
        args(make(), 0),
        args(make(0, 3), 1),
        args(make(2, 3), dtype=make.lib.float64),
    ],
    errors=lambda make: [args(make(2, dtype="int64")), args(make(2), dtype=make.lib.int64)],
)
case(
    "nanmean",
    lambda make: [
        args(make.of([1.0, NAN, 2.0])).kink(),
        args(make(2, 3), 1),
        args(make(2, 3), 0, keepdim=True),
        args(make(2, 3, layout="transposed"), 0),
        args(make()),
    ],
    errors=lambda make: [args(make(2, dtype="int64"))],
    dtypes=FLOATING,
)
case(
    "prod",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(2, 3, layout="transposed"), 0, keepdim=True),
        args(make(), 0),
        args(make(0, 3), 0),
        args(make.of([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]), 1),
        args(make.of([2.0, 0.0, 3.0])),
        args(make(2, 3, dtype="float32"), dtype=make.lib.float64),
    ],
    errors=lambda make: [args(make(2, 3), 2)],
)
case(
    "all any",
    lambda make: [
        args(make.of([[1.0, 0.0], [1.0, 1.0]])),
        args(make.of([[1.0, 0.0], [1.0, 1.0]]), 1),
        args(make.of([[1.0, 0.0], [1.0, NAN]]), dim=0, keepdim=True),
        args(make(2, 3, layout="transposed"), (0, 1)),
        args(make(), 0),
        args(make(0, 3)),
        args(make(0, 3), 0),
    ],
    errors=lambda make: [args(make(2), 1)],
)
case(
    "count_nonzero",
    lambda make: [
        args(make.of([[1.0, 0.0], [1.0, 1.0]])),
        args(make.of([[1.0, 0.0], [1.0, 1.0]]), 1),
        args(make(2, 3, layout="transposed"), (0, 1)),
        args(make()),
        args(make(0, 3), 0),
    ],
)
case(
    "logsumexp",
    lambda make: [
        args(make(2, 3), 1),
        args(make(2, 3), (0, 1), keepdim=True),
        args(make(2, 3, layout="transposed"), -1),
        args(make(), 0),
        args(make.of([1000.0, 1000.0]), 0).kink(),
        args(make.of([-INF, 1.0, -INF]), 0).kink(),
        args(make.of([INF, 1.0]), 0).kink(),
    ],
    dtypes="float16 bfloat16 float32 float64 int64",
    tolerance=2,
)
case(
    "trace",
    lambda make: [
        args(make(3, 3)),
        args(make(2, 3)),
        args(make(3, 2, layout="transposed")),
        args(make(2, 2, layout="sliced")),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(3))],
    dtypes="uint8 int8 int16 int32 int64 float32 float64 complex64 complex128",
)
case(
    "max min",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(2, 3), dim=0, keepdim=True),
        args(make(2, 3, layout="transposed"), -1),
        args(make(2, 3), make(3)),
        args(make(), 0),
        args(make.of([1.0, 3.0, 3.0, 1.0])).kink(),
        args(make.of([1.0, 3.0, 3.0, 1.0]), 0).kink(),
        args(make.of([1.0, NAN, 3.0, NAN]), 0).kink(),
        args(make.of([1.0, NAN, 3.0, NAN])).kink(),
        args(make(0, 3), 1),
    ],
    errors=lambda make: [args(make(0)), args(make(0, 3), 0), args(make(2), 1)],
    dtypes="bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64",
)
case(
    "amax amin",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(2, 3), (0, 1), keepdim=True),
        args(make(2, 3, layout="transposed"), -1),
        args(make(), 0),
        args(make.of([1.0, 3.0, 3.0, 1.0])).kink(),
        args(make.of([1.0, NAN, 3.0]), 0).kink(),
    ],
    errors=lambda make: [args(make(0, 3), 0), args(make(2), 1), args(make(0))],
    dtypes="bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64",
)
case(
    "aminmax",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), dim=1),
        args(make(2, 3, layout="transposed"), dim=0, keepdim=True),
        args(make()),
        args(make.of([1.0, 3.0, 3.0, 1.0])).kink(),
    ],
    errors=lambda make: [
        args(make(dtype="complex64"), dim=0),
        args(make(dtype="complex128"), dim=-1),
        args(make(dtype="complex64")),
        args(make(1, dtype="complex64"), dim=0),
        args(make(dtype="complex64"), dim=1),
    ],
    dtypes="bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64",
)
case(
    "argmax argmin",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(2, 3), dim=0, keepdim=True),
        args(make(2, 3, layout="transposed"), -1),
        args(make(), 0),
        args(make.of([1.0, 3.0, 3.0, 1.0])),
        args(make.of([1.0, NAN, 3.0, NAN]), 0),
        args(make(2, 3), keepdim=True),
    ],
    errors=lambda make: [args(make(0)), args(make(0, 3), 0), args(make(2), 1)],
    dtypes="uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64",
)
case(
    "var std",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(2, 3), (0, 1), keepdim=True),
        args(make(2, 3), 1, correction=0),
        args(make(2, 3), False),
        args(make(2, 3, layout="transposed"), 0, unbiased=False),
        args(make(4, 2), dim=0, correction=2),
        args(make.of([2.0, 2.0, 2.0])).kink(),
    ],
    errors=lambda make: [args(make(2, dtype="int64"))],
    dtypes="float16 bfloat16 float32 float64 complex64 complex128 int64",
    tolerance=2,
)
case(
    "var_mean std_mean",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(2, 3), (0, 1), keepdim=True),
        args(make(2, 3), 1, correction=0),
        args(make(2, 3, layout="transposed"), 0, unbiased=False),
    ],
    dtypes="float16 bfloat16 float32 float64",
    tolerance=2,
)
case(
    "cumsum cumprod",
    lambda make: [
        args(make(2, 3), 0),
        args(make(2, 3), -1),
        args(make(2, 3, layout="transposed"), 1),
        args(make(), 0),
        args(make(0, 3), 0),
        args(make.of([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]), 1),
        args(make(3, dtype="float32"), 0, dtype=make.lib.float64),
    ],
    errors=lambda make: [args(make(2), 1)],
    strides=False,
)
case(
    "logcumsumexp",
    lambda make: [
        args(make(2, 3), 0),
        args(make(2, 3), -1),
        args(make(2, 3, layout="transposed"), 1),
        args(make(), 0),
        args(make(0, 3), 0),
        args(make.of([-INF, 1.0, 1000.0]), 0).kink(),
    ],
    errors=lambda make: [args(make(2, dtype="int64"), 0), args(make(2, dtype="bool"), 1)],
    dtypes="float32 float64",
    strides=False,
)
case(
    "logcumsumexp",
    lambda make: [args(make(3), 0), args(make(2, 3), 0), args(make(2, 3, layout="transposed"), -1), args(make(), 0)],
    dtypes="complex64 complex128",
    strides=False,
)
case(
    "cummax cummin",
    lambda make: [
        args(make(2, 3), 0),
        args(make(2, 3), -1),
        args(make(2, 3, layout="transposed"), 1),
        args(make(), 0),
        args(make(0, 3), 0),
        args(make.of([1.0, 3.0, 3.0, 2.0, 3.0]), 0).kink(),
        args(make.of([1.0, NAN, 3.0, NAN]), 0).kink(),
        args(make(0, 3), 2),
        args(make(2, 0), -3),
    ],
    errors=lambda make: [args(make(2, 3), 2), args(make(), 1), args(make(), -2), args(make(2, dtype="complex64"), 0)],
    dtypes="bool uint8 int64 float16 float32 float64",
    strides=False,
)
case(
    "diff",
    lambda make: [
        args(make(2, 3)),
        args(make(4, 3), 2, 0),
        args(make(2, 3, layout="transposed"), dim=0),
        args(make(3), prepend=make(2)),
        args(make(3), append=make(1), n=1),
        args(make(1)),
    ],
    errors=lambda make: [args(make()), args(make(2), -1)],
    strides=False,
)
case(
    "trapezoid trapz cumulative_trapezoid",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), dim=0),
        args(make(2, 3), dx=0.5),
        args(make(2, 3), make(3)),
        args(make(2, 3, layout="transposed"), make(2, 3)),
        args(make(4)),
    ],
    dtypes="float32 float64",
    strides=False,
)
case(
    "histogram",
    lambda make: [
        args(make(2, 5), 4),
        args(make(7, layout="sliced"), 2, range=(-1.0, 1.0)),
        args(make.of([0.0, 1.0, 1.0, 2.5, 4.0]), make.of([0.0, 1.0, 3.0])),
        args(make(5), 3, weight=make(5, low=0)),
        args(make(5), bins=3, density=True),
        args(make(5), 3, weight=make(5, low=0), density=True),
        args(make.of([1.0, 1.0]), 2),
        args(make.of([1.0, float("nan")]), 2, range=(0.0, 2.0)),
        args(make(0), 2),
    ],
    errors=lambda make: [
        args(make(5), 0),
        args(make(5, dtype="int64"), 2),
        args(make(5), make(2, dtype="int64")),
        args(make(5), make(1, 2)),
        args(make(5), make(0)),
        args(make(5), 3, weight=make(2)),
        args(make(5), 3, range=(2.0, 1.0)),
        args(make(5), 3, range=(0.0,)),
        args(make.of([float("nan"), 1.0]), 2),
    ],
    dtypes="float32 float64",
    gradcheck=False,  # as in torch, there is no derivative
)
