"""Sample inputs of distances, similarities and covariances."""

from __future__ import annotations

from typing import Any

from tests.ops.case import Sample, args, case

FLOAT = "float32 float64"
INF = float("inf")


def pairs(make: Any) -> list[Sample]:
    return [
        args(make(2, 3), make(4, 3)),
        args(make(2, 3, layout="transposed"), make(2, 2, 3, layout="sliced")),  # a batch that broadcasts
        args(make(3, 1, 2, 3), make(2, 4, 3)),
        args(make(2, 0), make(3, 0)),
        args(make(0, 3), make(2, 3)),
        *[args(make(2, 3), make(3, 3), p) for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)],
        args(make(2, 3), make(3, 3), INF).kink(),
    ]


# torch cannot differentiate twice through it; here it is checked by finite differences.
case(
    "cdist",
    pairs,
    errors=lambda make: [
        args(make(3), make(4, 3)),
        args(make(4, 3), make(3)),
        args(make(4, 3), make(4, 2)),
        args(make(4, 3), make(4, 3), -1.0),
        args(make(4, 3), make(4, 3), compute_mode="a"),
        args(make(2, 4, 3), make(3, 4, 3)),
        args(make(4, 3), make(4, 3, dtype="float64")),
        args(make(4, 3, dtype="int64"), make(4, 3)),
        args(make(4, 3), make(4, 3, dtype="complex64")),
    ],
    dtypes="int64 float16 bfloat16 float32 float64 complex64",
)
# Points that coincide have the gradient zero.
case(
    "cdist",
    lambda make: [
        args(make.of([[1.0, 2.0], [3.0, 2.0]]), make.of([[1.0, 2.0], [1.0, 5.0]]), p).kink()
        for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF)
    ],
    dtypes=FLOAT,
)
case(
    "cdist",
    lambda make: [
        args(make(2, 3), make(4, 3), compute_mode="use_mm_for_euclid_dist"),
        args(make(2, 3), make(4, 3), compute_mode="donot_use_mm_for_euclid_dist"),
        args(make(2, 2, 3), make(4, 3), compute_mode="use_mm_for_euclid_dist"),
        args(make(26, 2), make(3, 2)),
        args(make(2, 2), make(26, 2), 2.0, compute_mode="donot_use_mm_for_euclid_dist"),
        args(make(2, 2), make(26, 2), 1.0),
    ],
    dtypes=FLOAT,
    tolerance=100,  # ‖x‖² − 2 x · y + ‖y‖² cancels
    grad_fn=False,  # torch reshapes the product of matrices
)
case(
    "pairwise_distance nn.functional.pairwise_distance",
    lambda make: [
        args(make(2, 3), make(2, 3)),
        args(make(2, 3, layout="transposed"), make(3)),
        args(make(3), make(3)),
        args(make(2, 3), make(2, 3), 1.0),
        args(make(2, 3), make(2, 3), p=3.0, eps=1e-3, keepdim=True),
        args(make(0, 3), make(3)),
        args(make(2, 3), make(2, 3), INF).kink(),
    ],
    errors=lambda make: [args(make(2, 3), make(3, 3))],
    dtypes="bfloat16 float32 float64 complex64",
)
case(
    "cosine_similarity nn.functional.cosine_similarity",
    lambda make: [
        args(make(2, 3), make(2, 3)),
        args(make(2, 3, layout="transposed"), make(3), dim=-1),
        args(make(2, 3, 2), make(3, 1), 0),
        args(make(3), make(3), dim=0),
        args(make(2, 3), make(2, 3), eps=10.0).kink(),
        args(make.of([[0.0, 0.0], [1.0, 2.0]]), make(2, 2)).kink(),
        args(make(0, 3), make(3)),
        args(make(2, 3), make(2, 3, dtype="float64")),
        args(make(2, 3), make(2, 3, dtype="int64")),
    ],
    errors=lambda make: [args(make(2, 3), make(3, 3)), args(make(2, dtype="int64"), make(2, dtype="int64"))],
)
case(
    "renorm",
    lambda make: [
        args(make(2, 3), 2, 0, 1.0),
        args(make(2, 3, layout="transposed"), 2, -1, 2.5),
        args(make(2, 3, 2, layout="sliced"), 1, 1, 1.0),
        args(make(2, 3), 3, 0, 100.0),
        args(make(2, 3), p=1.5, dim=0, maxnorm=1.0),
        args(make(2, 3), 2, 0, 0.0),
        args(make.of([[0.0, 0.0], [3.0, 4.0]]), 2, 0, 1.0).kink(),
        args(make(0, 3), 2, 0, 1.0),
        args(make(2, 0), 2, 0, 1.0),
    ],
    errors=lambda make: [
        args(make(3), 2, 0, 1.0),
        args(make(2, 3), 2, 2, 1.0),
        args(make(2, 3), 0, 0, 1.0),
        args(make(2, 3), 2, 0, -1.0),
    ],
)
# torch's gradient is NaN for complex numbers.
case("renorm", lambda make: [args(make(2, 3), INF, 0, 1.0).kink()], dtypes=FLOAT)
case(
    "cov",
    lambda make: [
        args(make(2, 4)),
        args(make(3, 2, layout="transposed")),
        args(make(4)),
        args(make()).kink(),
        args(make(2, 4), correction=0),
        args(make(2, 3), fweights=make.of([1, 2, 3], dtype="int64")),
        args(make(2, 3), aweights=make.of([1.0, 0.5, 3.0], dtype="float32", requires_grad=False)),
        args(
            make(2, 3),
            correction=2,
            fweights=make.of([1, 2, 3], dtype="int64"),
            aweights=make.of([1.0, 0.5, 3.0], dtype="float32", requires_grad=False),
        ),
        args(make(0)),
        args(make(0, 3)),
    ],
    errors=lambda make: [
        args(make(2, 2, 2)),
        args(make(2, 3, dtype="bool")),
        args(make(2, 3), fweights=make(3)),
        args(make(2, 3), fweights=make(3, dtype="bool")),
        args(make(2, 3), fweights=make(2, dtype="int64")),
        args(make(2, 3), fweights=make(1, 3, dtype="int64")),
        args(make(2, 3), fweights=make.of([1, -1, 1], dtype="int64")),
        args(make(2, 3), aweights=make(3, dtype="int64")),
        args(make(2, 3), aweights=make.of([1.0, -1.0, 1.0])),
        args(make(2, 3), aweights=make.of([0.0, 0.0, 0.0])),
    ],
)
# Complex numbers over zero have a NaN part in torch.
case("cov", lambda make: [args(make(2, 3), correction=5).kink()], dtypes=FLOAT)
case(
    "corrcoef",
    lambda make: [
        args(make(2, 4)),
        args(make(3, 3, layout="transposed")),
        args(make(4)),
        args(make()).kink(),
        args(make.of([[1.0, 2.0, 4.0], [2.0, 2.0, 2.0]])).kink(),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(2, 2, 2))],
    tolerance=10,
)
