"""Matrix products."""

from tests.ops.case import args, case

FLOATS = "float32 float64"

case(
    "mm",
    lambda make: [
        args(make(2, 3), make(3, 4)),
        args(make(2, 3, layout="transposed"), make(3, 4, layout="transposed")),
        args(make(2, 3, layout="expanded"), make(3, 4, layout="sliced")).kink(),
        args(make(0, 3), make(3, 4)),
        args(make(2, 0), make(0, 4)),
    ],
    errors=lambda make: [args(make(2, 3), make(2, 3)), args(make(3), make(3, 2)), args(make(2, 3), make(3))],
    dtypes=FLOATS,
)
case(
    "addmm",
    lambda make: [
        args(make(4), make(2, 3), make(3, 4)),
        args(make(2, 4), make(2, 3, layout="transposed"), make(3, 4, layout="transposed")),
        args(make(2, 1), make(2, 3), make(3, 4), beta=0.5, alpha=2.0),
        args(make(), make(2, 3), make(3, 4)),
        args(make.of([[float("nan")] * 4] * 2), make(2, 3), make(3, 4), beta=0).kink(),
        args(make(4), make(0, 3), make(3, 4)),
    ],
    errors=lambda make: [args(make(5), make(2, 3), make(3, 4)), args(make(4), make(2, 3), make(4, 4))],
    dtypes=FLOATS,
)
case(
    "bmm",
    lambda make: [
        args(make(2, 3, 4), make(2, 4, 5)),
        args(make(2, 3, 4, layout="transposed"), make(2, 4, 5, layout="transposed")),
        args(make(2, 3, 4, layout="expanded"), make(2, 4, 5)).kink(),
        args(make(2, 3, 4, layout="sliced"), make(2, 4, 5)),
        args(make(0, 3, 4), make(0, 4, 5)),
    ],
    errors=lambda make: [args(make(2, 3), make(2, 3, 4)), args(make(2, 3, 4), make(2, 3, 4))],
    dtypes=FLOATS,
)
case(
    "baddbmm",
    lambda make: [
        args(make(2, 3, 5), make(2, 3, 4), make(2, 4, 5)),
        args(make(5), make(2, 3, 4), make(2, 4, 5)),
        args(make(2, 3, 5), make(2, 3, 4), make(2, 4, 5), beta=0.5, alpha=2.0),
        args(make(2, 3, 5), make(2, 3, 4, layout="transposed"), make(2, 4, 5)),
        args(make(0, 3, 5), make(0, 3, 4), make(0, 4, 5)),
    ],
    dtypes=FLOATS,
    strides=False,  # of gradients, which BLAS leaves open
)
case(
    "addbmm",
    lambda make: [
        args(make(3, 5), make(2, 3, 4), make(2, 4, 5)),
        args(make(3, 5, layout="sliced"), make(2, 3, 4), make(2, 4, 5)),
        args(make(3, 5), make(2, 3, 4), make(2, 4, 5), beta=0.5, alpha=2.0),
        args(make(3, 5), make(2, 3, 4, layout="transposed"), make(2, 4, 5)),
        args(make(3, 5), make(1, 3, 4), make(1, 4, 5)),
    ],
    dtypes=FLOATS,
    strides=False,  # of gradients, which BLAS leaves open
)
case(
    "mv",
    lambda make: [
        args(make(2, 3), make(3)),
        args(make(2, 3, layout="transposed"), make(3)),
        args(make(2, 3), make(3, layout="sliced")),
        args(make(0, 3), make(3)),
        args(make(2, 0), make(0)),
    ],
    errors=lambda make: [args(make(2, 3), make(2)), args(make(3), make(3))],
    dtypes=FLOATS,
)
case(
    "dot vdot",
    lambda make: [
        args(make(3), make(3)),
        args(make(3, layout="sliced"), make(3)),
        args(make(3, layout="expanded"), make(3)).kink(),
        args(make(1), make(1)),
        args(make(0), make(0)),
    ],
    errors=lambda make: [args(make(2), make(3)), args(make(2, 3), make(3))],
    dtypes=FLOATS,
)
case(
    "matmul Tensor.__matmul__",
    lambda make: [
        args(make(3), make(3)),
        args(make(2, 3), make(3)),
        args(make(3), make(3, 2)),
        args(make(2, 3), make(3, 2)),
        args(make(5, 2, 3), make(3, 4)),
        args(make(5, 2, 3), make(3)),
        args(make(2, 3), make(5, 3, 2)),
        args(make(3), make(5, 3, 2)),
        args(make(4, 1, 2, 3), make(5, 3, 2)),
        args(make(5, 2, 3, layout="transposed"), make(3, 4)),
        args(make(0, 2, 3), make(3, 4)),
        args(make(1, 2, 3), make(5, 3, 2)),
        args(make(5, 2, 3), make(1, 3, 2)),
    ],
    dtypes=FLOATS,
    strides=False,  # of gradients of broadcast operands
)
case(
    "nn.functional.linear",
    lambda make: [
        args(make(2, 3), make(4, 3), make(4)),
        args(make(2, 3), make(4, 3)),
        args(make(5, 2, 3), make(4, 3), make(4)),
        args(make(5, 2, 3, layout="transposed"), make(4, 3), make(4)),
        args(make(3), make(4, 3), make(4)),
        args(make(0, 3), make(4, 3), make(4)),
    ],
    errors=lambda make: [args(make(2, 3), make(4, 5), make(4)), args(make(2, 3), make(4, 3), make(5))],
    dtypes=FLOATS,
)
case(
    "outer ger",
    lambda make: [
        args(make(2), make(3)),
        args(make(2, layout="sliced"), make(3)),
        args(make(2, layout="expanded"), make(3)).kink(),
        args(make(0), make(3)),
        args(make(1), make(1)),
    ],
    errors=lambda make: [args(make(2, 3), make(3))],
    dtypes=FLOATS,
)
