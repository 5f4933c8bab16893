"""Sample inputs of random sampling: both libraries get the same seed before each call, and draw the same numbers."""

from __future__ import annotations

from collections.abc import Callable

from tests.ops.case import Make, Sample, args, case

FLOAT = "float16 bfloat16 float32 float64"
NUMBER = "uint8 int8 int16 int32 int64 " + FLOAT


def methods(names: str) -> str:
    return " ".join(f"Tensor.{name}" for name in names.split())


# Of a given shape.

case(
    "rand randn",
    lambda make: [
        args(2, 3, dtype=make.dtype),
        args((2, 3)),
        args(()),
        args(0, 3, dtype=make.dtype),
        args(40, dtype=make.dtype),
        args(size=(17,)),
        args(3, dtype=make.lib.float64, requires_grad=True),
        args(4, 5, dtype=make.dtype),
    ],
    errors=lambda make: [args(2, -1).type_only(), args(2.5).type_only(), args(2, dtype=make.lib.int64)],
    dtypes=FLOAT,
)
case(
    "randint",
    lambda make: [
        args(5, (2, 3)),
        args(-3, 3, (7,), dtype=make.dtype),
        args(low=2, high=9, size=(4,)),
        args(high=9, size=(4,), dtype=make.dtype),
        args(5, ()),
        args(5, (0, 2)),
        args(2**40, (3,), dtype=make.lib.int64),
        args(-100, 100, (5, 4)),
    ],
    errors=lambda make: [args(0, (2,)), args(3, 3, (2,)), args(3).type_only(), args(300, (2,), dtype=make.lib.uint8)],
    dtypes="int8 int16 int32 int64 float32 float64",
)
case(
    "randperm",
    lambda make: [
        args(10),
        args(0),
        args(1),
        args(7, dtype=make.dtype),
        args(2),
        args(17),
        args(100, dtype=make.dtype),
        args(n=33),
    ],
    errors=lambda make: [args(-1), args(300, dtype=make.lib.uint8), args("3").type_only()],
    dtypes=NUMBER,
)


def alike(make: Make) -> list[Sample]:
    return [
        args(make(2, 3)),
        args(make(2, 3, layout="transposed")),
        args(make(5, 8, layout="transposed")),
        args(make(4, layout="sliced"), dtype=make.lib.float64),
        args(make()),
        args(make(0, 3)),
        args(make(2), requires_grad=True),
    ]


case(
    "rand_like randn_like", alike, errors=lambda make: [args(make(2, dtype="int64")), args(2).type_only()], dtypes=FLOAT
)
case(
    "randint_like",
    lambda make: [
        *(args(each.args[0], 5) for each in alike(make)[:-1]),
        args(make(7), -3, 3),
        args(make(7), 2, 9, dtype=make.lib.int64),
    ],
    errors=lambda make: [args(make(2), 0), args(make(2)).type_only()],
    dtypes="int8 int16 int32 int64 float32 float64",
)

# From parameters that are tensors.

case(
    "normal",
    lambda make: [
        args(0.0, 1.0, (2, 3)),
        args(1.0, 2.0, (20,), dtype=make.dtype),
        args(-3.5, 0.0, (4,)),
        args(make(2, 3)),
        args(make(4), 2.0),
        args(1.5, make(2, 3, low=0.5)),
        args(make(2, 3, layout="transposed"), make(2, 3, low=0.5)),
        args(make(0, 3), make(0, 3, low=0.5)),
    ],
    errors=lambda make: [args(0.0, -1.0, (2,)), args(0.0, 1.0).type_only()],
    dtypes="float32 float64",
    gradcheck=False,  # the numbers depend on the mean, but the gradient is zero by convention, as torch's
)
case(
    "bernoulli",
    lambda make: [
        args(make(2, 3, low=0, high=1)),
        args(make(2, 3, low=0, high=1, layout="transposed")),
        args(make(20, low=0, high=1, layout="sliced")),
        args(make(low=0, high=1)),
        args(make(0, 3)),
        args(make(2, 3, requires_grad=False), 0.3),
        args(make(2, 3, requires_grad=False), p=0.9),
    ],
    errors=lambda make: [args(make.of([0.5, 1.5])), args(make(2), 1.5), args(make(2, dtype="int64"))],
    dtypes=FLOAT,
)
case(
    "multinomial",
    lambda make: [
        args(make(5, low=0.1), 2),
        args(make(2, 5, low=0.1), 3),
        args(make(2, 5, low=0.1), 7, True),
        args(make(2, 5, low=0.1, layout="transposed"), 1),
        args(make(5, low=0.1, layout="sliced"), 5, replacement=False),
        args(make.of([0.0, 1.0, 0.0]), 4, replacement=True),
    ],
    errors=lambda make: [
        args(make(3, low=0.1), 4),
        args(make(3, low=0.1), 0),
        args(make.of([-1.0, 2.0]), 1),
        args(make.of([0.0, 0.0]), 1),
        args(make(2, 2, 2), 1),
        args(make(), 1),
        args(make(3, dtype="int64"), 1),
    ],
    dtypes=FLOAT,
    strides=False,
)
case(
    "poisson",
    lambda make: [
        args(make(2, 3, low=0, high=5)),
        args(make(2, 3, low=10, high=50, layout="transposed")),
        args(make(4, low=0, high=5, layout="sliced")),
        args(make(low=0, high=5)),
        args(make(0, 3)),
    ],
    dtypes="float32 float64",
)
case(
    "binomial",
    lambda make: [
        args(make.of([3.0, 5.0, 100.0]), make.of([0.2, 0.5, 0.9])),
        args(make.of([[10.0], [20.0]]), make.of([0.2, 0.5])),
        args(make.of(5.0), make.of(0.5)),
        args(make(0, low=0), make(0, low=0)),
        args(make.of([0.0, 10.0]), make.of([0.5, 1.0])),
    ],
    dtypes="float32 float64",
    gradcheck=False,  # torch has no derivative of it
)

# In place.


def sampled(*options: tuple[float, ...], **named: float) -> Callable[[Make], list[Sample]]:
    def samples(make: Make) -> list[Sample]:
        return [
            *(args(make(3), *each) for each in options),
            args(make(2, 3), **named),
            args(make(5, 8, layout="transposed"), **named),
            args(make(4, layout="sliced"), **named),
            args(make(), **named),
            args(make(0, 3), **named),
            args(make(20), **named, generator=make.lib.Generator().manual_seed(5)).kink(),  # draws anew each time
        ]

    return samples


case(
    methods("uniform_"),
    sampled((1.0, 3.0), (-2, 2)),
    errors=lambda make: [args(make(2), 2.0, 1.0), args(make(2), make(2)), args(make(2), 0.0, "a")],
    dtypes=FLOAT,
)
case(
    methods("normal_"),
    sampled((1.0, 3.0), (0, 0)),
    errors=lambda make: [args(make(2), 0.0, -1.0)],
    dtypes=FLOAT,
)
case(
    methods("log_normal_"),
    sampled((0.0, 0.5)),
    errors=lambda make: [args(make(2), 0.0, -1.0)],
    dtypes=FLOAT,
)
case(methods("exponential_"), sampled((2.0,)), errors=lambda make: [args(make(2), -1.0)], dtypes=FLOAT)
case(
    methods("cauchy_"),
    sampled((1.0, 2.0)),
    errors=lambda make: [args(make(2), 0.0, -1.0)],
    dtypes=FLOAT,
)
case(
    methods("geometric_"),
    sampled((0.2,), p=0.5),
    errors=lambda make: [args(make(2), 1.5)],
    dtypes=NUMBER,
)
case(
    methods("random_"),
    sampled((10,), (2, 9)),
    errors=lambda make: [args(make(2), 5, 5), args(make(2), 0)],
    dtypes="bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64",
)
case(
    methods("bernoulli_"),
    lambda make: [
        *sampled((0.3,), (1.0,))(make),
        args(make(2, 3), make(2, 3, low=0, high=1, dtype="float32", requires_grad=False)),
        args(make(2, 3), make(3, low=0, high=1, dtype="float64", requires_grad=False)),
    ],
    errors=lambda make: [args(make(2), 1.5)],
)
