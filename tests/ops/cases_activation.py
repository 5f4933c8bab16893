"""Sample inputs of activations and softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.ops.case import Make, Sample, args, case

INF, NAN = float("inf"), float("nan")
REAL = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"
SINGLE = "bool uint8 int8 int16 int32 int64 float32 float64"
EVERYWHERE = [-INF, -50.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 50.0, INF, NAN]


def samples(*options: Sequence[Any]) -> Callable[[Make], list[Sample]]:
    """Inputs away from 0, where many have a kink: in every layout, 0-dim, empty; and with further arguments."""

    def make_samples(make: Make) -> list[Sample]:
        return [
            args(make(2, 3, low=0.1, high=2.9)),
            args(make(2, 3, low=-2.9, high=-0.1, layout="transposed")),
            args(make(4, low=-0.9, high=-0.1, layout="sliced")),
            args(make(2, 2, low=0.1, high=0.9, layout="expanded")),
            args(make(low=-0.9, high=-0.1)),
            args(make(0, 3)),
            args(make.of(EVERYWHERE)).kink(),
            *(args(make.of([-3.3, -0.7, -0.2, 0.2, 0.7, 3.3, 8.3]), *each) for each in options),
            *(args(make.of(EVERYWHERE), *each).kink() for each in options),
        ]

    return make_samples


def with_inplace(*options: Sequence[Any]) -> Callable[[Make], list[Sample]]:
    """The same, and calls with `inplace=True`."""

    def make_samples(make: Make) -> list[Sample]:
        return [
            *samples(*options)(make),
            *(
                args(make(2, 3, layout=layout, requires_grad=False), inplace=True)
                for layout in ("contiguous", "transposed", "sliced")
            ),
            args(make(requires_grad=False), inplace=True),
            args(make(2, 3), inplace=False),
        ]

    return make_samples


def no_tensor(make: Make) -> list[Sample]:
    return [args([1.0]).type_only(), args().type_only()]


def functional(names: str) -> str:
    return " ".join(f"nn.functional.{name}" for name in names.split())


case("relu selu sigmoid relu_", samples(), errors=no_tensor)
case(functional("logsigmoid relu_"), samples(), errors=no_tensor)
# PyTorch writes these two in Python: of no tensor they have an AttributeError, here a TypeError that says which.
case("nn.functional.softsign", samples())
case(functional("sigmoid tanh"), samples())
case(functional("relu relu6 selu mish hardsigmoid hardswish"), with_inplace(), errors=no_tensor)
case("nn.functional.silu", with_inplace(), errors=no_tensor, dtypes=REAL)  # torch's of complex numbers has no gradient
case("nn.functional.tanhshrink", samples(), dtypes=SINGLE)  # x − tanh x cancels in two bytes
case("selu_ nn.functional.selu_", samples(), errors=no_tensor, dtypes=SINGLE)  # torch's gradient is the result's

thresholds = [(0.5, -1.0), (-1.0, 20.0), (0.0, 0.0)]


def two_numbers(make: Make) -> list[Sample]:
    """threshold's numbers have no defaults."""
    return [
        args(make(2, 3), 0.05, 1.0),
        args(make(2, 3, layout="transposed"), 0.05, 1),
        args(make(4, layout="sliced"), 0.05, 1),
        args(make(2, 2, layout="expanded"), 0.05, 1),
        args(make(low=0.1), 0.05, 1),
        args(make(0, 3), 0.05, 1),
        *(args(make.of(EVERYWHERE), *each).kink() for each in thresholds),
    ]


case("threshold threshold_ nn.functional.threshold_", two_numbers, errors=lambda make: [args(make(2)).type_only()])
case(
    "nn.functional.threshold",
    lambda make: [*two_numbers(make), args(make(2, 3, requires_grad=False), 0.5, 1, inplace=True)],
    errors=lambda make: [args(make(2)).type_only()],
)

case("nn.functional.leaky_relu", with_inplace((0.3,), (0.0,), (1.5,), (-0.5,)))
case("nn.functional.leaky_relu_", samples((0.3,), (0.0,)))
case("nn.functional.elu", with_inplace((0.3,), (2.0,)))
case("nn.functional.elu_", samples((0.3,), (2.0,)), dtypes=SINGLE)
case("nn.functional.celu", with_inplace((0.3,), (2.0,)), errors=lambda make: [args(make(2), 0.0)])
case("celu", samples((0.3,), (2.0,)), errors=lambda make: [args(make(2), 0.0)])
case("celu_ nn.functional.celu_", samples((0.3,), (2.0,)), errors=lambda make: [args(make(2), 0.0)], dtypes=SINGLE)
case("nn.functional.hardtanh", with_inplace((-2.0, 0.5), (0, 6)), errors=lambda make: [args(make(2), 2.0, 1.0)])
case("nn.functional.hardtanh_", samples((-2.0, 0.5), (0, 6)))


def gelu_samples(make: Make) -> list[Sample]:
    finite = [each for each in samples()(make) if each.differentiable]
    finite.append(args(make.of([-50.0, -3.0, -0.5, 0.0, 0.5, 3.0, 50.0])))  # torch errs at ∞ in bfloat16
    return [*finite, *(args(*each.args, approximate="tanh") for each in finite)]


case("nn.functional.gelu", gelu_samples, errors=lambda make: [args(make(2), approximate="sigmoid")])
case("nn.functional.softplus", samples((2.0,), (0.5, 1.0)))
case("hardshrink nn.functional.hardshrink", samples((0.1,), (1.0,), (-1.0,)))
case("nn.functional.softshrink", samples((0.1,), (1.0,)), errors=lambda make: [args(make(2), -0.5)])

case(
    "prelu nn.functional.prelu",
    lambda make: [
        args(make(2, 3), make(3)),
        args(make(2, 3, layout="transposed"), make(1)),
        args(make(2, 3, 2, layout="sliced"), make(3, layout="sliced")),
        args(make(3), make(1)),
        args(make(3), make()),
        args(make(), make(1)),
        args(make(0, 3), make(3)),
        args(make.of([-INF, -1.0, 0.0, 1.0, INF, NAN]), make(1)).kink(),
    ],
    errors=lambda make: [
        args(make(2, 3), make(2)),
        args(make(2, 3), make(1, 3)),
        args(make(2, 3), make(3, dtype="float64")),
        args(make(2, 3), 0.5).type_only(),
    ],
)


def rrelu_errors(make: Make) -> list[Sample]:
    return [args(make(2), 0.5, 0.1), args(make(2), 0.5, 0.1, True)]


case("nn.functional.rrelu", with_inplace((0.2, 0.4), (0.2, 0.4, True), (0.1, 0.3, True)), errors=rrelu_errors)
case("rrelu rrelu_ nn.functional.rrelu_", samples((0.2, 0.4), (0.2, 0.4, True)), errors=rrelu_errors)

case(
    "nn.functional.glu",
    lambda make: [
        args(make(2, 4)),
        args(make(2, 4, layout="transposed")),
        args(make(2, 4, layout="sliced"), 0),
        args(make(4, 2), dim=-2),
        args(make(2, 2, 2, layout="expanded"), 1),
        args(make(0, 4)),
        args(make(2, 0)),
        args(make.of([[1.0, INF, NAN, -INF], [-100.0, 100.0, 1.0, 1.0]])).kink(),
    ],
    errors=lambda make: [args(make()), args(make(3)), args(make(2, 4), 2)],
)


def along(make: Make) -> list[Sample]:
    """Inputs of softmax."""
    return [
        args(make(2, 3), 1),
        args(make(2, 3), -2),
        args(make(2, 3, layout="transposed"), 0),
        args(make(2, 3, layout="sliced"), dim=-1),
        args(make(2, 2, 2, layout="expanded"), 1),
        args(make(), 0),
        args(make(), -1),
        args(make(0, 3), 1),
        args(make(0, 3), 0),
        args(make(2, 0), 1),
        args(make.of([[1e4, -1e4, 0.0], [-INF, 0.0, 1.0]]), 1).kink(),
        args(make.of([[-INF, -INF], [INF, 0.0], [NAN, 0.0]]), 1).kink(),
        args(make(2, 3), 0, dtype=make.lib.float64),
        args(make(2, 3), 1, dtype=make.lib.float32),
    ]


case(
    "softmax log_softmax " + functional("softmax log_softmax softmin"),
    along,
    errors=lambda make: [args(make(2, 3), 2), args(make(), 1)],
    tolerance=4,  # torch's log_softmax of bfloat16 is less exact
)
case(
    "nn.functional.gumbel_softmax",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 0.5),
        args(make(2, 3, layout="transposed"), dim=0),
        args(make(2, 3, layout="sliced"), hard=True).kink(),
        args(make(2, 3, 2), 2.0, True, dim=1).kink(),
        args(make()),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(2, 3), dim=2), args(make(2, dtype="int64"))],
)
