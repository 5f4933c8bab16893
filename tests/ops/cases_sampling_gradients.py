"""Sample inputs of the gamma and Dirichlet samplers and of their gradients with respect to the concentration."""

from __future__ import annotations

from tests.ops.case import Make, Sample, args, case

case(
    "_standard_gamma",
    lambda make: [
        args(make(2, 3, low=0.1, high=3)),
        args(make(2, 3, low=0.1, high=20, layout="transposed")),
        args(make(4, low=0.1, high=3, layout="sliced")),
        args(make(3, 4, low=0.1, high=3, layout="expanded")),
        args(make(low=0.1, high=3)),
        args(make(0, 3)),
        args(make(5, low=0.1, high=3), make.lib.Generator().manual_seed(5)),
    ],
    errors=lambda make: [args(make(2, dtype="int64")), args(make(2, dtype="float16")), args(2.0).type_only()],
    dtypes="float32 float64",
    tolerance=10,  # of the gradient's series, which cancel
    gradcheck=False,  # the numbers are drawn anew for each difference
)
case(
    "_sample_dirichlet",
    lambda make: [
        args(make(3, low=0.1, high=3, requires_grad=False)),
        args(make(2, 3, low=0.1, high=20, requires_grad=False)),
        args(make(2, 3, low=0.1, high=3, layout="transposed", requires_grad=False)),
        args(make(3, 4, low=0.1, high=3, layout="expanded", requires_grad=False)),
        args(make(1, low=0.1, high=3, requires_grad=False)),
        args(make(5, low=0.1, high=3, requires_grad=False), make.lib.Generator().manual_seed(5)),
    ],
    errors=lambda make: [args(make(2, dtype="int64")), args(make(2, dtype="float16"))],
    dtypes="float32 float64",
)


def gamma_numbers(make: Make) -> list[Sample]:
    """A pair for each region: series, near the mean, saddle point on both sides, rational function."""
    pairs = [(0.05, 0.01), (3.0, 0.7), (20.0, 19.0), (300.0, 280.0), (20.0, 12.0), (9.0, 20.0), (0.3, 2.0), (7.5, 6.0)]
    alpha, x = (make.of(list(each), requires_grad=False) for each in zip(*pairs, strict=True))
    return [
        args(alpha, x),
        args(alpha[3], x[3]),
        args(alpha[::2], x[::2]),
        args(alpha[:0], x[:0]),
        args(alpha.reshape(2, 4).T, x.reshape(2, 4).T),
        args(make.of([0.5, 1e-3], requires_grad=False), make.of([0.0, 0.0], requires_grad=False)),
    ]


case(
    "_standard_gamma_grad",
    gamma_numbers,
    dtypes="float32 float64",
    tolerance=10,  # sums that cancel
    gradcheck=False,  # has no derivative
)


def shares(make: Make) -> list[Sample]:
    """For each region: both series, near the mean, saddle point on both sides, rational function."""
    triples = [
        (0.01, 0.3, 1.0), (0.5, 0.1, 9.9), (0.55, 1.0, 3.0), (0.5, 10.0, 20.0), (0.3, 20.0, 60.0), (0.2, 20.0, 60.0),
        (0.6, 20.0, 60.0), (0.4, 3.0, 12.0), (0.7, 5.0, 8.0),
    ]  # fmt: skip
    x, alpha, total = (make.of(list(each), requires_grad=False) for each in zip(*triples, strict=True))
    return [
        args(x, alpha, total),
        args(x[5], alpha[5], total[5]),
        args(x[::2], alpha[::2], total[::2]),
        args(x[:0], alpha[:0], total[:0]),
        args(x.reshape(3, 3).T, alpha.reshape(3, 3).T, total.reshape(3, 3).T),
    ]


case(
    "_dirichlet_grad",
    shares,
    dtypes="float32 float64",
    tolerance=30,  # sums that cancel
    gradcheck=False,  # has no derivative
)
