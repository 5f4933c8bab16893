"""Sample inputs of arithmetic, comparison, bits, selection."""

from __future__ import annotations

from typing import Any

from tests.ops.case import UNTESTED, Sample, args, case

INF, NAN = float("inf"), float("nan")
REAL = "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"
FLOAT = "float16 bfloat16 float32 float64"
WHOLE = "bool uint8 int8 int16 int32 int64"


def binary(make: Any) -> list[Sample]:
    """Two operands that are not 0: broadcast, in every layout, of different dtypes, 0-dim, empty, numbers."""
    return [
        args(make(2, 3, low=1, high=4), make(2, 3, low=1, high=4)),
        args(make(2, 3, low=1, high=4, layout="transposed"), make(3, low=1, high=4)),
        args(make(2, 3, low=1, high=4, layout="sliced"), make(2, 1, low=1, high=4)),
        args(make(low=1, high=4), make(2, 2, low=1, high=4, dtype="float32")),
        args(make(2, 2, low=1, high=4, layout="expanded"), make(low=1, high=4, dtype="int64")),
        args(make(0, 3), make(3, low=1, high=4)),
    ]


def with_numbers(make: Any) -> list[Sample]:
    return [*binary(make), args(make(2, 3, low=1, high=4), 2), args(make(3, low=1, high=4), 1.5)]


def mismatched(make: Any) -> list[Sample]:
    return [args(make(2), make(3)), args(make(2, 3), make(3, 2))]


case(
    "add sub subtract",
    lambda make: [*with_numbers(make), args(make(2, 3), make(3), alpha=2), args(make(2), 3, alpha=2)],
    errors=lambda make: [
        *mismatched(make),
        args(make(2, dtype="int64"), 2, alpha=0.5),
    ],
)
case("rsub", with_numbers)  # torch names the shapes of its errors in the other order
case("mul multiply", with_numbers, errors=mismatched)
case("div divide true_divide", with_numbers, errors=mismatched)
case(
    "div",
    lambda make: [
        *(args(make(2, 3, low=1, high=9), make(3, low=1, high=4), rounding_mode=mode) for mode in ("floor", "trunc")),
        args(make(3, low=-9, high=-1), 2, rounding_mode="floor").kink(),
        args(make(3, low=-9, high=-1), 2, rounding_mode="trunc").kink(),
    ],
    errors=lambda make: [
        args(make(2), 2, rounding_mode="up"),
        args(make(2, dtype="int64"), 0, rounding_mode="floor"),
        args(make(2, dtype="int64"), 0, rounding_mode="trunc"),
    ],
)
case(
    "floor_divide",
    with_numbers,
    errors=lambda make: [*mismatched(make), args(make(2, dtype="int64"), 0)],
    gradcheck=False,  # torch has no derivative of it
)
case("remainder fmod", with_numbers, errors=lambda make: [*mismatched(make), args(make(2, dtype="int64"), 0)])
case(
    "pow",
    lambda make: [
        *with_numbers(make),
        *(args(make(2, 3, low=1, high=3), exponent) for exponent in (0, 1, 2, 3, 0.5)),
        args(make.of([0.0, 1.0, 2.0]), 0).kink(),
        args(2, make(2, 3)),
    ],
    errors=lambda make: [*mismatched(make), args(make(2, dtype="int64"), -1)],
)
case(
    "pow",
    lambda make: [args(make(3, low=1, high=3), exponent) for exponent in (-1, -2, -0.5, 2.5)],
    dtypes="float16 bfloat16 float32 float64 complex64 complex128",
)
case("float_power", lambda make: [*binary(make), args(make(2, low=1, high=3), 2)], errors=mismatched)
case(
    "square",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(4, layout="sliced")),
        args(make()),
        args(make(0, 3)),
    ],
)
case(
    "abs absolute neg negative",
    lambda make: [
        args(make(2, 3, low=1, high=3)),
        args(make(2, 3, layout="transposed")),
        args(make(4, layout="sliced")),
        args(make(low=-3, high=-1)),
        args(make(0, 3)),
        args(make.of([0.0, 1.0, -1.0])).kink(),
    ],
)
case(
    "positive",
    lambda make: [args(make(2, 3)), args(make(2, 3, layout="transposed")), args(make()), args(make(0)), args(make(3))],
)
case(
    "Tensor.__sub__ Tensor.__isub__ Tensor.__truediv__ Tensor.__pow__ Tensor.__rsub__ Tensor.__rtruediv__ "
    "Tensor.__rdiv__",
    lambda make: [args(make(2, 3, low=1, high=3), value) for value in (1, 2.0, -1.5, 3, 0.5)],
    dtypes="float16 bfloat16 float32 float64 complex64 complex128",
)
case(
    "Tensor.__sub__ Tensor.__truediv__ Tensor.__pow__",
    binary,
    errors=mismatched,
)
case(
    "Tensor.__isub__ Tensor.__itruediv__ Tensor.__ipow__",
    lambda make: [each.kink() if number == 3 else each for number, each in enumerate(binary(make))],  # 3 doesn't fit
    errors=mismatched,
)
case(
    "Tensor.__mod__ Tensor.__imod__",
    lambda make: [args(make(2, 3, low=1, high=9), value) for value in (1, 2, 3, 4, 2.5)],
)
case(
    "Tensor.__floordiv__ Tensor.__ifloordiv__ Tensor.__rfloordiv__ Tensor.__rmod__",
    lambda make: [args(make(2, 3, low=1, high=9), value) for value in (1, 2, 3, 4, 2.5)],
    gradcheck=False,  # torch has no derivative of them
)
case(
    "Tensor.__rpow__",
    lambda make: [args(make(2, 3), value) for value in (1, 2, 3, 4, 2.5)],
    dtypes="float16 bfloat16 float32 float64",
)
case(
    "Tensor.__neg__ Tensor.__pos__ Tensor.__abs__",
    lambda make: [
        args(make(2, 3, low=1, high=3)),
        args(make(3, 2, layout="transposed")),
        args(make(3, layout="sliced")),
        args(make()),
        args(make(0)),
    ],
)


# Comparison.


def compared(make: Any) -> list[Sample]:
    special = make.of([0.0, 1.0, 2.0])
    return [*with_numbers(make), args(special, make.of([0.0, 2.0, 1.0])), args(make(2, dtype="int64"), 1.5)]


case("eq ne not_equal lt less le less_equal gt greater ge greater_equal", compared, errors=mismatched)
case("Tensor.__eq__ Tensor.__ne__ Tensor.__lt__ Tensor.__le__ Tensor.__gt__ Tensor.__ge__", compared, errors=mismatched)
case(
    "isnan isinf isfinite isposinf isneginf isreal signbit",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(3, layout="sliced")),
        args(make()),
        args(make(0, 3)),
    ],
)
case(
    "isnan isinf isfinite isposinf isneginf isreal signbit",
    lambda make: [args(make.of([0.0, -0.0, 1.0, INF, -INF, NAN]))],
    dtypes=FLOAT,
)
case(
    "isclose allclose",
    lambda make: [
        args(make(2, 3), make(2, 3)),
        args(make.of([1.0, 2.0, 0.0]), make.of([1.0, 2.5, 0.0]), rtol=0.5),
        args(make.of([1.0, 2.0, 0.0]), make.of([1.0, 2.5, 0.0]), atol=1.0),
        args(make(2, 3, layout="transposed"), make(3)),
        args(make(), make()),
        args(make(0, 3), make(3)),
    ],
    errors=lambda make: [*mismatched(make), args(make(2), make(2, dtype="int64")), args(make(2), 1)],
)
case(
    "isclose allclose",
    lambda make: [
        args(make.of([NAN, INF, -INF, 1.0]), make.of([NAN, INF, INF, 1.0]), equal_nan=nan) for nan in (True, False)
    ],
    dtypes=FLOAT,
)
case(
    "equal",
    lambda make: [
        args(make.of([1.0, 2.0]), make.of([1.0, 2.0])),
        args(make(2, 3), make(3)),
        args(make(2, 3, layout="transposed"), make(2, 3)),
        args(make(), make()),
        args(make(0, 3), make(0, 3)),
    ],
    errors=lambda make: [args(make(2), 1)],
)
case(
    "isin",
    lambda make: [
        args(make.of([1.0, 2.0, 3.0]), make.of([2.0, 5.0])),
        args(make(2, 3, layout="transposed"), make(4)),
        args(make.of([1.0, 2.0, 3.0]), make.of([2.0, 5.0]), invert=True),
        args(make.of([1.0, 2.0, 3.0]), 2),
        args(make(), make(3)),
        args(make(0), make(3)),
    ],
)
case(
    "logical_and logical_or logical_xor",
    lambda make: [*binary(make), args(make.of([0.0, 1.0, 0.0]), make.of([0.0, 0.0, 1.0]))],
    errors=mismatched,
)
case(
    "logical_not",
    lambda make: [
        args(make.of([0.0, 1.0, 2.0])),
        args(make(2, 3, layout="transposed")),
        args(make(3, layout="sliced")),
        args(make()),
        args(make(0)),
    ],
)
case(
    "is_nonzero",
    lambda make: [args(make.of([value])) for value in (0.0, 1.0, 2.0)] + [args(make()), args(make(1, 1))],
    errors=lambda make: [args(make(2)), args(make(0))],
)
case(
    "is_floating_point is_complex",
    lambda make: [args(make(2)), args(make()), args(make(0)), args(make(2, 3)), args(make(2, 3, layout="transposed"))],
)


# Bits.

case(
    "bitwise_and bitwise_or bitwise_xor gcd lcm",
    lambda make: [
        args(make(2, 3, low=1, high=9), make(3, low=1, high=9)),
        args(make(2, 3, low=1, high=9, layout="transposed"), make(2, 1, low=1, high=9)),
        args(make(low=1, high=9), make(2, 2, low=1, high=9, dtype="int64")),
        args(make(3, low=1, high=9, layout="sliced"), make(low=1, high=9)),
        args(make(0, 3), make(3, low=1, high=9)),
    ],
    errors=lambda make: [args(make(2, dtype="int64"), make(3, dtype="int64"))],
    gradcheck=False,  # of integers
)
case(
    "bitwise_left_shift bitwise_right_shift",
    lambda make: [
        args(make(2, 3, low=1, high=9), make(3, low=1, high=3)),
        args(make(2, 3, low=1, high=9, layout="transposed"), make(2, 1, low=1, high=3)),
        args(make(low=1, high=9), make(2, 2, low=1, high=3, dtype="int64")),
        args(make(3, low=1, high=9, layout="sliced"), 2),
        args(make(0, 3), make(3, low=1, high=3)),
    ],
    gradcheck=False,  # of integers
)
case(
    "Tensor.__and__ Tensor.__or__ Tensor.__xor__ Tensor.__rand__ Tensor.__ror__ Tensor.__rxor__ Tensor.__lshift__ "
    "Tensor.__rshift__ Tensor.__rlshift__ Tensor.__rrshift__ Tensor.__iand__ Tensor.__ior__ Tensor.__ixor__ "
    "Tensor.__ilshift__ Tensor.__irshift__",
    lambda make: [args(make(2, 3, low=1, high=9), value) for value in (1, 2, 3, 4, 5)],
    dtypes="uint8 int8 int16 int32 int64",
)
case(
    "bitwise_not",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(3, layout="sliced")),
        args(make()),
        args(make(0)),
    ],
    dtypes=WHOLE,
)
case(
    "Tensor.__invert__",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(3, layout="sliced")),
        args(make()),
        args(make(0)),
    ],
    gradcheck=False,  # of integers
)


# Selection.

case(
    "clamp clip",
    lambda make: [
        args(make(2, 3), -1, 1),
        args(make(2, 3, layout="transposed"), min=0),
        args(make(2, 3, layout="sliced"), max=1),
        args(make(), 0.5, 1.5),
        args(make(0, 3), 0, 1),
        args(make(3), 1, -1).kink(),
        args(make(2, 3), make(3, low=-1, high=0), make(2, 1, low=0, high=1)),
        args(make(2, 3), min=make(3)),
        args(make(2, 3), max=make()),
        args(make.of([-1.0, 0.0, 1.0]), 0, 1).kink(),
    ],
    errors=lambda make: [args(make(2)), args(make(2), make(3))],
    dtypes=REAL,
)
case(
    "clamp_min clamp_max",
    lambda make: [
        args(make(2, 3), 0),
        args(make(2, 3, layout="transposed"), make(3)),
        args(make(), 0.5),
        args(make(0, 3), 1),
        args(make.of([-1.0, 0.0, 1.0]), 0).kink(),
    ],
    dtypes=REAL,
)
case(
    "maximum minimum fmax fmin",
    lambda make: [*binary(make), args(make.of([0.0, 1.0, 2.0]), make.of([0.0, 2.0, 1.0])).kink()],
    errors=mismatched,
)
case(
    "maximum minimum fmax fmin eq lt",
    lambda make: [args(make.of([NAN, 1.0, NAN, INF, -INF]), make.of([1.0, NAN, NAN, INF, 1.0])).kink()],
    dtypes=FLOAT,
)
case(
    "where",
    lambda make: [
        args(make.mask(2, 3), make(2, 3), make(2, 3)),
        args(make.mask(2, 3), make(3), make(2, 1)),
        args(make.mask(2, 3), make(2, 3, layout="transposed"), 2),
        args(make.mask(2, 3), 1.5, make(2, 3, layout="sliced")),
        args(make.mask(2, 3), make(), make(dtype="int64")),
        args(make.mask(3), 1, 0),
        args(make.mask(3), 1.0, 0.0),
        args(make.mask(0, 3), make(3), make(3)),
    ],
    errors=lambda make: [args(make(2, dtype="int64"), make(2), make(2)), args(make.mask(2), make(2), make(3))],
)
case(
    "Tensor.where",
    lambda make: [
        args(make(2, 3), make.mask(2, 3), make(2, 3)),
        args(make(3), make.mask(2, 3), make(2, 1)),
        args(make(2, 3, layout="transposed"), make.mask(2, 3), 0),
        args(make(), make.mask(2), make()),
        args(make(0, 3), make.mask(3), make(3)),
    ],
)
case(
    "lerp",
    lambda make: [
        args(make(2, 3), make(2, 3), 0.3),
        args(make(2, 3, layout="transposed"), make(3), 0.7),
        args(make(2, 3), make(3), make(2, 1)),
        args(make(), make(), 2),
        args(make(0, 3), make(3), 0.5),
    ],
    errors=lambda make: [
        *(args(*each.args, 0.5) for each in mismatched(make)),
        args(make(2), make(2, dtype="float64"), 0.5),
    ],
)
case(
    "addcmul",
    lambda make: [
        args(make(2, 3), make(2, 3), make(2, 3)),
        args(make(2, 3, layout="transposed"), make(3), make(2, 1)),
        args(make(2, 3), make(2, 3), make(2, 3, layout="sliced"), value=2),
        args(make(), make(), make()),
        args(make(0, 3), make(3), make(3)),
    ],
    errors=lambda make: [
        args(make(2), make(3), make(2)),
        args(make(4), make(1), make(2, 3)),
        args(make(2, 2), make(3), make(1, 3)),
    ],
)
case(
    "addcdiv",
    lambda make: [
        args(make(2, 3), make(2, 3), make(2, 3, low=1, high=3)),
        args(make(2, 3, layout="transposed"), make(3), make(2, 1, low=1, high=3)),
        args(make(2, 3), make(2, 3), make(2, 3, low=1, high=3, layout="sliced"), value=2),
        args(make(), make(), make(low=1, high=3)),
        args(make(0, 3), make(3), make(3, low=1, high=3)),
    ],
)
case("copysign", with_numbers, errors=mismatched)
case("nextafter", binary, errors=mismatched, dtypes="float32 float64")
case("hypot atan2 arctan2 logaddexp2 xlogy", binary, errors=mismatched)
case(
    "logaddexp", binary, errors=mismatched, dtypes="bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"
)
case(
    "heaviside",
    lambda make: [
        args(make.of([0.0, 1.0, 2.0]), make(3)),
        args(make(2, 3, layout="transposed"), make(3)),
        args(make(3, layout="sliced"), make()),
        args(make(), make()),
        args(make(0, 3), make(3)),
    ],
    dtypes=REAL,
    gradcheck=False,  # torch has no derivative of it
)
case(
    "sign sgn",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(3, layout="sliced")),
        args(make()),
        args(make(0, 3)),
        args(make.of([0.0, 1.0])).kink(),
    ],
)
case(
    "nan_to_num",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make()),
        args(make(0, 3)),
        args(make(3), nan=1.0, posinf=2.0, neginf=3.0),
    ],
    dtypes=REAL,
)
case(
    "nan_to_num sign",
    lambda make: [args(make.of([NAN, INF, -INF, 1.0])).kink()],
    dtypes=FLOAT,
)
case(
    "nan_to_num",
    lambda make: [args(make.of([NAN, INF, -INF, 1.0]), nan=1.0, posinf=2.0, neginf=3.0).kink()],
    dtypes=FLOAT,
)
case(
    "sgn",
    lambda make: [args(make.of([0.0, 3 + 4j, -2j, 1.0])).kink()],
    dtypes="complex64 complex128",
)
UNTESTED["Tensor._div_trunc_"] = UNTESTED["Tensor._div_floor_"] = "reached through div_"
