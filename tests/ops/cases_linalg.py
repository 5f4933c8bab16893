"""Sample inputs of linear algebra: factorizations, solutions, norms, contractions."""

from __future__ import annotations

from typing import Any

from tests.ops.case import UNTESTED, Sample, args, case

INF = float("inf")
FLOATS = "float32 float64"
BOTH = "float32 float64 complex128"

for new, old in (("inv", "inverse"), ("det", "det"), ("slogdet", "slogdet"), ("matrix_power", "matrix_power")):
    UNTESTED[old] = UNTESTED[f"Tensor.{old}"] = f"the same function as linalg.{new}"
UNTESTED["linalg.svd"] = UNTESTED["linalg.eigh"] = "the vectors' signs are LAPACK's choice: see test_linalg.py"
UNTESTED["linalg.matmul"] = "the same function as matmul"


def square(make: Any, *batch: int, n: int = 2, layout: str = "contiguous") -> Any:
    """Matrices far from singular ones, whose eigenvalues and singular values differ."""
    matrices = make(*batch, n, n, low=-0.4, high=0.4, layout=layout)
    return matrices + make.lib.diag(make.lib.arange(1, n + 1).to(make.dtype))


def positive(make: Any, *batch: int, n: int = 2) -> Any:
    half = square(make, *batch, n=n)
    return half @ half.mT.conj()


def squares(make: Any) -> list[Sample]:
    return [
        args(square(make)),
        args(square(make, n=3)),
        args(square(make, 2)),
        args(square(make, layout="transposed")),
        args(square(make, 2, layout="sliced")),
        args(square(make, n=1)),
        args(make(0, 2, 2)),
        args(make(0, 0)),
    ]


def not_square(make: Any) -> list[Sample]:
    return [args(make(2, 3)), args(make(2)), args(make(2, 2, dtype="int64"))]


case(
    "linalg.inv",
    squares,
    errors=lambda make: [*not_square(make), args(make.of([[1.0, 2.0], [2.0, 4.0]]))],
    dtypes=BOTH,
    tolerance=10,
    strides=False,  # LAPACK is column-major
)
case(
    "linalg.det linalg.slogdet",
    squares,
    errors=not_square,
    dtypes=BOTH,
    tolerance=10,
    strides=False,
)
case("logdet", lambda make: [*squares(make), args(make.of([[0.0, 1.0], [1.0, 0.0]])).kink()], errors=not_square,
     dtypes=FLOATS, tolerance=10, strides=False)  # fmt: skip
case(
    "linalg.solve",
    lambda make: [
        args(square(make), make(2, 3)),
        args(square(make), make(2)),
        args(square(make, 2), make(2, 2, 1)),
        args(square(make), make(3, 2), left=False),
        args(square(make, layout="transposed"), make(2, 2, layout="transposed")),
        args(square(make, 2), make(2, 2)),
        args(make(0, 0), make(0, 2)),
    ],
    errors=lambda make: [
        args(make(2, 3), make(2)),
        args(square(make), make(3, 2)),
        args(square(make), make(2, dtype="float64")),
        args(square(make), make(2), left=False),
        args(make.of([[1.0, 2.0], [2.0, 4.0]]), make(2)),
    ],
    dtypes=BOTH,
    tolerance=10,
    strides=False,
)
case(
    "linalg.solve_triangular",
    lambda make: [
        args(square(make), make(2, 3), upper=True),
        args(square(make), make(2, 3), upper=False),
        args(square(make), make(3, 2), upper=True, left=False),
        args(square(make, 2), make(2, 2, 1), upper=False, unitriangular=True),
        args(square(make, 2), make(2, 2), upper=False),  # one matrix for the batch, not a batch of vectors
        args(square(make, layout="transposed"), make(2, 2), upper=True),
    ],
    errors=lambda make: [args(make(2, 3), make(2, 2), upper=True), args(square(make), make(3, 2), upper=True)],
    dtypes=BOTH,
    tolerance=10,
    strides=False,
)
case(
    "linalg.cholesky",
    lambda make: [
        args(positive(make)),
        args(positive(make, n=3)),
        args(positive(make, 2)),
        args(positive(make), upper=True),
        args(positive(make).mT),
        args(make(0, 2, 2)),
    ],
    errors=lambda make: [*not_square(make), args(make.of([[1.0, 2.0], [2.0, 1.0]]))],
    dtypes=BOTH,
    tolerance=10,
    strides=False,
    gradcheck=False,  # the gradient takes the input to be Hermitian, finite differences make it none
)
case(
    "linalg.qr",
    lambda make: [
        args(square(make)),
        args(square(make, n=3)[:, :2].detach()),
        args(square(make, n=3)[:2].detach()),
        args(square(make, 2)),
        args(square(make), "complete"),
        args(square(make, layout="transposed"), mode="reduced"),
        args(make(3, 2, requires_grad=False), mode="r"),
        args(make(3, 2, requires_grad=False), mode="complete"),
        args(make(0, 2)),
    ],
    errors=lambda make: [args(make(2)), args(make(2, 2), "full"), args(make(2, 2, dtype="int64"))],
    dtypes=FLOATS,
    tolerance=20,
    strides=False,
)
case(
    "linalg.svdvals",
    lambda make: [
        args(square(make)),
        args(square(make, n=3)[:, :2].detach()),
        args(square(make, 2)),
        args(square(make, layout="transposed")),
        args(make(0, 2)),
        args(make(2, 0, 3)),
    ],
    dtypes=FLOATS,
    tolerance=20,
    strides=False,
)
case(
    "linalg.eigvalsh",
    lambda make: [
        args(positive(make)),
        args(positive(make, 2), "U"),
        args(positive(make, n=3)),
        args(positive(make).mT),
        args(make(0, 0)),
    ],
    dtypes=BOTH,
    tolerance=50,
    strides=False,
    gradcheck=False,  # the gradient takes the input to be Hermitian, finite differences make it none
)
case(
    "linalg.matrix_rank",
    lambda make: [
        args(square(make)),
        args(make.of([[1.0, 2.0], [2.0, 4.0]])),
        args(square(make, 2), atol=1.5),
        args(square(make, n=3)[:, :2].detach(), rtol=0.6),
        args(positive(make), hermitian=True),
        args(make(0, 2)),
    ],
    errors=lambda make: [args(make(2))],
    dtypes=BOTH,
)
case(
    "linalg.pinv",
    lambda make: [
        args(square(make)),
        args(square(make, n=3)[:, :2].detach()),
        args(square(make, n=3)[:2].detach()),
        args(square(make, 2)),
        args(square(make, layout="transposed"), rtol=1e-3),
        args(make.of([[1.0, 2.0], [2.0, 4.0]])).kink(),
        args(make.lib.eye(2, dtype=make.dtype)),
        args(positive(make), hermitian=True).kink(),
        args(make(0, 2)),
    ],
    errors=lambda make: [args(make(2)), args(make(2, 2, dtype="int64"))],
    dtypes=FLOATS,
    tolerance=100,
    strides=False,
)
case(
    "pinverse",
    lambda make: [
        args(square(make)),
        args(square(make, n=3)[:, :2].detach()),
        args(square(make, 2)),
        args(square(make, layout="transposed"), 0.5).kink(),
        args(make(0, 2)),
    ],
    dtypes=FLOATS,
    tolerance=100,
    strides=False,
)
case(
    "linalg.lstsq",
    lambda make: [
        args(square(make), make(2, 2)),
        args(square(make, n=3)[:, :2].detach(), make(3, 1)),
        args(square(make, n=3)[:2].detach(), make(2, 2)),
        args(square(make, 2), make(2, 2, 1)),
        args(square(make, n=3)[:, :2].detach(), make(3, 1), driver="gelsd"),
    ],
    errors=lambda make: [args(make(2, 2), make(2, 2), driver="gel"), args(make(2), make(2))],
    dtypes=FLOATS,
    tolerance=100,
    strides=False,
)
case(
    "linalg.matrix_power",
    lambda make: [*(args(square(make), n) for n in (0, 1, 2, 5, -2)), args(square(make, 2), 3), args(make(0, 0), 2)],
    errors=lambda make: [args(make(2, 3), 2), args(make(2), 2)],
    dtypes=FLOATS,
    tolerance=10,
    strides=False,
)
case(
    "linalg.multi_dot",
    lambda make: [
        args([make(2, 3), make(3, 2)]),
        args([make(2, 3), make(3, 1), make(1, 2)]),
        args([make(2), make(2, 3), make(3)]),
        args([make(2, 3, layout="transposed"), make(3, 2), make(2, 2), make(2)]),
        args([make(0, 3), make(3, 2)]),
    ],
    errors=lambda make: [args([make(2, 2)]), args([make(2, 3), make(2, 3)]), args([make(2, 2, 2), make(2, 2)])],
    dtypes=FLOATS,
    strides=False,
)
case(
    "linalg.vecdot",
    lambda make: [
        args(make(2, 3), make(2, 3)),
        args(make(2, 3), make(3)),
        args(make(2, 3, layout="transposed"), make(2, 3), dim=0),
        args(make(3, layout="sliced"), make(3)),
        args(make(0, 3), make(0, 3)),
    ],
    errors=lambda make: [args(make(2, 2), make(2, 3))],
    dtypes="float32 float64 complex128",
    strides=False,
)
case(
    "linalg.diagonal",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 2, 3), offset=1),
        args(make(2, 3, 2), dim1=0, dim2=1),
        args(make(2, 3, layout="transposed"), offset=-1),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(2))],
)
case(
    "linalg.vector_norm",
    lambda make: [
        *(args(make(2, 3), p) for p in (2, 1, 3, 0.5, INF, -INF, 0)),
        args(make(2, 3), dim=1),
        args(make(2, 3), 2, (0, 1), True),
        args(make(2, 3, layout="transposed"), 3.0, 0),
        args(make(2, 3), dtype=make.lib.complex128 if "complex" in make.dtype_name else make.lib.float64),
        args(make()),
        args(make(0, 3), dim=0),
        args(make.of([0.0, 0.0])).kink(),
        args(make.of([1.0, -1.0, 0.5]), INF).kink(),
    ],
    errors=lambda make: [args(make(2), dim=1), args(make(2, dtype="int64")), args(make(0, 2), INF, 0)],
    dtypes="int64 bfloat16 float32 float64 complex128",
)
case(
    "linalg.norm",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 2, 3)),
        *(args(square(make), p) for p in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)),
        *(args(make(3), p) for p in (1, 3, INF, 0)),
        args(make(2, 3, layout="transposed"), 2, 1, True),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(2, 2, 2), 2), args(make(2, 2), 3), args(make(2, 2), "nuclear")],
    dtypes=FLOATS,
    tolerance=10,
    strides=False,
)
case(
    "linalg.matrix_norm",
    lambda make: [
        args(make(2, 3)),
        args(square(make, 2), "nuc"),
        args(square(make, 2), 1, (0, 1), keepdim=True),
        args(square(make, 2), 2, (0, 2), True),
        args(square(make, layout="transposed"), -INF, dtype=make.lib.float64),
    ],
    errors=lambda make: [
        args(make(2)),
        args(make(2, 2), 3),
        args(make(2, 2), 1, (0,)),
        args(make(2, 2), 1, (0, 0)),
        args(make(2, 2), "nuclear"),
    ],
    dtypes=FLOATS,
    tolerance=10,
    strides=False,
)
case(
    "norm",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1),
        args(make(2, 3), 3.0, 1, True),
        args(make(2, 3, layout="transposed"), "fro", (0, 1)),
        args(square(make), "nuc"),
        args(make(), 2),
        args(make(0, 3), dim=0),
        args(make(2, 3), dtype=make.lib.float64),
    ],
    errors=lambda make: [args(make(2, 2), "nuclear"), args(make(2, dtype="int64")), args(make(2), 2, 1)],
    dtypes=FLOATS,
)
case(
    "dist",
    lambda make: [
        args(make(2, 3), make(2, 3)),
        args(make(2, 3), make(3), 1),
        args(make(2, 3, layout="transposed"), make(2, 3), 3.0),
        args(make(), make()),
        args(make(0), make(0)),
        args(make(3), make(3), INF),
    ],
    dtypes=FLOATS,
)
