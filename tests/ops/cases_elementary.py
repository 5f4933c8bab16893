"""Sample inputs of the functions of one number: roots, exponentials, trigonometry, rounding, special functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ops.case import Sample, args, case

INF, NAN = float("inf"), float("nan")
FLOAT = "float16 bfloat16 float32 float64"
NOT_COMPLEX = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"


def unary(low: float, high: float) -> Callable[[Any], list[Sample]]:
    """One tensor with numbers in [low, high), where the function is smooth."""
    return lambda make: [
        args(make(2, 3, low=low, high=high)),
        args(make(2, 3, low=low, high=high, layout="transposed")),
        args(make(4, low=low, high=high, layout="sliced")),
        args(make(2, 2, low=low, high=high, layout="expanded")),
        args(make(low=low, high=high)),
        args(make(0, 3)),
    ]


case("sqrt rsqrt reciprocal log log2 log10", unary(1, 4))
case("exp exp2 expm1 sin cos sinh cosh tanh atan arctan sigmoid", unary(-2, 2))
case("log1p", unary(1, 3))
case("tan", unary(-1, 1))
case("asin arcsin acos arccos", unary(-0.8, 0.8), tolerance=3)
# In place, torch numbers the nodes of these differently.
case("asinh arcsinh", unary(-2, 2), grad_fn=False)  # in place, a node of its own, which PyTorch can't differentiate
case("atanh arctanh", unary(-0.8, 0.8), tolerance=3, grad_fn=False)
case("acosh arccosh", unary(2, 4), grad_fn=False)
case("erf erfc i0 sinc", unary(0.5, 2), tolerance=3)
case("erfinv", unary(-0.8, 0.8))
case("digamma lgamma", unary(1, 4), tolerance=10)  # of finite differences: torch's trigamma has seven digits
case(
    "logit",
    lambda make: [*unary(0.2, 0.8)(make), args(make(3, low=0.2, high=0.8), 0.1), args(make(3), eps=0.25).kink()],
    dtypes="bool uint8 int8 int16 int32 int64 float32 float64 complex64 complex128",  # torch rounds 16 bits midway
)
case(
    "logit", lambda make: [args(make(9, low=0.2, high=0.8), eps).kink() for eps in (0.7, 1.0)], dtypes="float32 float64"
)
case("deg2rad rad2deg frac", unary(0.1, 0.9))
# torch lets the layout of a complex result of a real function open.
case("angle", unary(1, 3), strides=False)
case("ceil floor trunc fix round", unary(1.1, 1.4))
case(
    "round",
    lambda make: [args(make.of([0.5, 1.5, -2.5, 2.345, 1234.5]), decimals=n).kink() for n in (1, 2, 3, -1, -2)],
    dtypes="float32 float64",
)
case(
    "sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh "
    "ceil floor trunc round erf erfc erfinv sigmoid angle frac",
    lambda make: [args(make.of([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, INF, -INF, NAN])).kink()],
    dtypes=FLOAT,
)
case(
    "lgamma digamma",
    lambda make: [args(make.of([0.5, 1.0, 2.0, 3.5, 20.0, INF, NAN])).kink()],
    dtypes="float32 float64",
    tolerance=10,
)
case(
    "polygamma",
    lambda make: [
        args(1, make(2, 3, low=1, high=4)),
        args(2, make(2, 3, low=1, high=4, layout="transposed")),
        args(0, make(3, low=1, high=4, layout="sliced")),
        args(3, make(low=1, high=4)),
        args(2, make(0, 3)),
        *[args(n, make.of([0.0, -0.0, -0.3, -1.4, 0.3, 50.0, INF, NAN])).kink() for n in range(4)],
    ],
    dtypes="float32 float64",
    tolerance=10,  # torch's trigamma, of which finite differences are taken, has seven digits
)
case(
    "mvlgamma",
    lambda make: [args(*each.args, 2) for each in unary(2, 4)(make)],
    dtypes=FLOAT,
    tolerance=10,
    strides=False,  # those of a sum
)
case("special.ndtr", unary(-2, 2), dtypes="float32 float64")  # torch rounds 16 bits midway
case(
    "special.erfcx special.log_ndtr special.i0e special.i1 special.i1e",
    unary(0.5, 2),
    dtypes="float32 float64",
    tolerance=5,
)
case("special.entr special.ndtri", unary(0.2, 0.8), dtypes="float32 float64", tolerance=3)
case(
    "special.xlog1py",
    lambda make: [
        args(make(2, 3), make(3, low=1, high=3)),
        args(make(2, 3, layout="transposed"), make(2, 1, low=1, high=3)),
        args(make(), make(low=1, high=3)),
        args(make(0, 3), make(3)),
        args(make(3, layout="sliced"), make(low=1, high=3)),
    ],
    dtypes=NOT_COMPLEX,
)
case(
    "special.zeta",
    lambda make: [
        args(make(2, 3, low=2, high=4), make(3, low=1, high=3)),
        args(make(2, 3, low=2, high=4, layout="transposed"), make(2, 1, low=1, high=3)),
        args(make(low=2, high=4), make(low=1, high=3)),
        args(make(0, 3), make(3)),
        args(make(3, low=2, high=4, layout="sliced"), make(low=1, high=3)),
    ],
    dtypes="float32 float64",
    gradcheck=False,  # torch has no derivative of it
)
case(
    "real conj resolve_conj resolve_neg",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(4, layout="sliced")),
        args(make()),
        args(make(0, 3)),
    ],
    dtypes="float32 float64",
)
COMPLEX = "complex64 complex128"
case("real imag view_as_real", unary(-2, 2), dtypes=COMPLEX)
# torch numbers the node of the in-place form differently.
case("conj_physical", unary(-2, 2), dtypes="int64 float32 float64 complex64 complex128", grad_fn=False)
# torch conjugates lazily: its strides and its node are those of a view.
case("conj _conj _neg_view", unary(-2, 2), dtypes=COMPLEX, strides=False)
case(
    "view_as_complex",
    lambda make: [args(make(3, 2)), args(make(2, 3, 2)), args(make(2)), args(make(1, 2)), args(make(0, 2))],
    errors=lambda make: [args(make(3)), args(make()), args(make(2, dtype="int64"))],
    dtypes="float32 float64",
)
case(
    "complex polar",
    lambda make: [
        args(make(2, 3, low=1, high=3), make(3)),
        args(make(2, 3, low=1, high=3, layout="transposed"), make(2, 3)),
        args(make(3, low=1, high=3, layout="sliced"), make(3)),
        args(make(low=1, high=3), make()),
        args(make(0, 3), make(0, 3)),
    ],
    errors=lambda make: [args(make(2), make(2, dtype="float64")), args(make(2, dtype="int64"), make(2, dtype="int64"))],
    dtypes="float32 float64",
    strides=False,
)
case("polar", lambda make: [], errors=lambda make: [args(*[make(2, dtype="float16")] * 2)], dtypes="float32")
case(
    "frexp",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(4, layout="sliced")),
        args(make()),
        args(make(0, 3)),
        args(make.of([INF, -INF, NAN, 0.0, -0.0, 0.5, 1.0, 1e-5])).kink(),
    ],
    errors=lambda make: [args(make(2, dtype="int64"))],
)
case(
    "ldexp",
    lambda make: [
        args(make(2, 3), make(3)),
        args(make(2, 3, layout="transposed"), make.of([1, 0, 3], dtype="int64")),
        args(make(), make(2, layout="sliced")),
        args(make(0, 3), make(3)),
        args(make(2), make(low=0, dtype="int64")),
    ],
    errors=lambda make: [args(make(2), 2), args(make(2), make(3))],
)
case(
    "ldexp",
    lambda make: [args(make.of([INF, NAN, 0.0, 1.0]), make.of([-1.0, 1.0, INF, -INF])).kink()],
    dtypes=FLOAT,
)
# torch's gradient takes an integer power of two, which is zero where the exponent is negative.
case(
    "ldexp",
    lambda make: [args(make(3, requires_grad=False), make.of([-2, -1, 3], dtype="int64"))],
    dtypes=FLOAT,
)
case(
    "igamma igammac special.gammainc special.gammaincc",
    lambda make: [
        args(make(2, 3, low=1, high=3, requires_grad=False), make(3, low=0.5, high=4)),
        args(make(2, 3, low=1, high=9, layout="transposed", requires_grad=False), make(2, 3, low=1, high=9)),
        args(make(low=1, high=3, requires_grad=False), make(4, low=1, high=3, layout="sliced")),
        args(make(0, 3, requires_grad=False), make(3, low=1, high=2)),
        args(make.of([1e-3, 30.0, 500.0, 0.5], requires_grad=False), make.of([1e-4, 31.0, 480.0, 9.0])),
        args(
            make.of([0.0, 0.0, 1.0, 2.0, -1.0, INF, 1.0, INF, 2.0, NAN], requires_grad=False),
            make.of([0.0, 1.0, 0.0, INF, 1.0, 2.0, -1.0, INF, NAN, 1.0]),
        ).kink(),
    ],
    errors=lambda make: [args(make(2), 1.0).type_only(), args(make(2), make(3))],
    dtypes="float32 float64",
    tolerance=10,
)
case(
    "igamma igammac",
    lambda make: [args(make(2, low=1, high=3, requires_grad=False), make(2, low=1, high=3))],
    dtypes="bool uint8 int8 int16 int32 int64 float16 bfloat16 complex64",
)
case("igamma igammac", lambda make: [args(make(2, low=1, high=3), make(2, low=1, high=3)).kink()], dtypes="float32")
