"""Sample inputs of LU and Cholesky factors, of what is solved with them, and of general eigenvalues."""

from __future__ import annotations

from typing import Any

from tests.ops.case import UNTESTED, Sample, args, case
from tests.ops.cases_linalg import BOTH, FLOATS, INF, not_square, positive, square, squares

# The factors' node is lu_factor_ex's; LAPACK is column-major.
LAPACK: dict[str, Any] = {"dtypes": BOTH, "tolerance": 10, "strides": False}


def rectangles(make: Any) -> list[Sample]:
    return [
        args(make(3, 3)),
        args(make(2, 4)),
        args(make(4, 2, layout="transposed")),
        args(make(2, 3, 2)),
        args(make(2, 2, 3, layout="sliced")),
        args(make(1, 1)),
        args(make(0, 2, 2)),
        args(make(2, 0)),
    ]


case(
    "linalg.lu_factor_ex linalg.lu_factor linalg.lu lu",
    rectangles,
    errors=lambda make: [args(make(3)), args(make(2, 2), pivot=False)],
    **LAPACK,
)
case(
    "linalg.lu_factor",
    lambda make: [args(make(3, 3), pivot=True)],
    errors=lambda make: [args(make.of([[1.0, 2.0], [2.0, 4.0]])), args(make.of([[0.0, 0.0], [0.0, 0.0]]))],
    **LAPACK,
)
case("lu", lambda make: [args(make(2, 3), True, True)], **LAPACK)


def factored(make: Any, *shape: int) -> tuple[Any, Any]:
    pair = make.lib.linalg.lu_factor(make(*shape).detach())
    return pair[0], pair[1]


case(
    "lu_unpack",
    lambda make: [
        *[args(*factored(make, *shape)) for shape in [(3, 3), (2, 4), (4, 2), (2, 3, 3)]],
        args(*factored(make, 3, 3), unpack_pivots=False),
    ],
    **LAPACK,
)
case(
    "linalg.lu_solve",
    lambda make: [
        args(*factored(make, 3, 3), make(3, 2)),
        args(*factored(make, 2, 3, 3), make(2, 3, 1)),
        args(*factored(make, 3, 3), make(2, 3), left=False),
        args(*factored(make, 3, 3), make(3, 2, layout="transposed"), adjoint=True),
        args(*factored(make, 3, 3), make(2, 3), left=False, adjoint=True),
    ],
    **LAPACK,
)
case(
    "lu_solve",
    lambda make: [
        args(make(3, 2), *factored(make, 3, 3)),
        args(make(2, 3, 1), *factored(make, 2, 3, 3)),
        args(make(3, 2, layout="transposed"), *factored(make, 3, 3)),
    ],
    **LAPACK,
)


def indefinite(make: Any) -> list[Sample]:
    return [
        args(make(4, 4)),  # of which the lower triangle is read
        args(make(2, 3, 3)),
        args(make(4, 4, layout="transposed"), hermitian=True),
        args(make.of([[0.0, 1.0], [1.0, 0.0]])),
        args(make.of([[1.0, 0.0, 0.0], [0.0, 1e-3, 2.0], [0.0, 2.0, 0.0]])),
        args(make(1, 1)),
        args(make(0, 2, 2)),
    ]


def ldl(make: Any, *shape: int, **options: Any) -> tuple[Any, Any]:
    pair = make.lib.linalg.ldl_factor(make(*shape).detach(), **options)
    return pair[0], pair[1]


case(
    "linalg.ldl_factor_ex linalg.ldl_factor",
    indefinite,
    errors=lambda make: [*not_square(make), args(make(3))],
    gradcheck=False,  # torch has no derivative of it
    **LAPACK,
)
case(
    "linalg.ldl_factor_ex",
    lambda make: [args(make.of([[1.0, 0.0], [0.0, 0.0]])), args(make.of([[0.0, 0.0], [0.0, 0.0]]), hermitian=True)],
    errors=lambda make: [args(make.of([[0.0]]), check_errors=True).type_only()],
    gradcheck=False,
    **LAPACK,
)
case(
    "linalg.ldl_solve",
    lambda make: [
        args(*ldl(make, 4, 4), make(4, 2)),
        args(*ldl(make, 4, 4, hermitian=True), make(4, 2), hermitian=True),
        args(*ldl(make, 2, 3, 3), make(2, 3, 1)),
        args(*ldl(make, 3, 3), make(2, 3, 1)),
        args(*ldl(make, 2, 3, 3), make(3, 2)),
        args(*ldl(make, 3, 3), make(3, 0)),
    ],
    errors=lambda make: [
        args(*ldl(make, 3, 3), make(3)),
        args(*ldl(make, 3, 3), make(2, 1)),
        args(ldl(make, 3, 3)[0], ldl(make, 2, 2)[1], make(3, 1)),
    ],
    gradcheck=False,
    **LAPACK,
)
case(
    "linalg.inv_ex",
    squares,
    errors=lambda make: [*not_square(make), args(make.of([[1.0, 2.0], [2.0, 4.0]]), check_errors=True)],
    **LAPACK,
)
case(
    "linalg.solve_ex",
    lambda make: [
        args(square(make), make(2, 3)),
        args(square(make, 2), make(2, 2, 1)),
        args(square(make), make(2)),
        args(square(make, layout="transposed"), make(3, 2), left=False),
        args(square(make, n=3), make(3, 1), check_errors=True),
    ],
    **LAPACK,
)
# The gradients of Hermitian inputs are checked in test_linalg.py.
case(
    "linalg.cholesky_ex",
    lambda make: [
        args(positive(make)),
        args(positive(make, n=3), upper=True),
        args(positive(make, 2)),
        args(make(0, 2, 2)),
        args(make(0, 0)),
    ],
    errors=lambda make: [*not_square(make), args(make.of([[4.0, 0.0], [0.0, -1.0]]), check_errors=True)],
    gradcheck=False,  # finite differences see that one triangle is read; torch's gradient is symmetric too
    **LAPACK,
)
case(
    "cholesky",
    lambda make: [args(positive(make)), args(positive(make, n=3), True), args(positive(make, 2), upper=True)],
    errors=lambda make: [args(make.of([[4.0, 0.0], [0.0, -1.0]])).type_only(), args(make(2, 3)).type_only()],
    gradcheck=False,  # finite differences see that one triangle is read; torch's gradient is symmetric too
    **LAPACK,
)


def lower(make: Any, *batch: int, n: int = 2) -> Any:
    return square(make, *batch, n=n).tril()


case(
    "cholesky_inverse",
    lambda make: [
        args(lower(make)),
        args(lower(make, n=3).mT, True),
        args(lower(make, 2)),
        args(lower(make).mT, upper=True),
    ],
    errors=lambda make: [args(make(2, 3))],
    gradcheck=False,  # the gradient is that of any L, triangular or not, as torch's
    dtypes=FLOATS,  # of complex numbers LAPACK wants the diagonal real
    tolerance=10,
    strides=False,
)
case(
    "cholesky_solve",
    lambda make: [
        args(make(2, 3), lower(make)),
        args(make(2, 2, 1), lower(make, 2)),
        args(make(2, 3, layout="transposed"), lower(make).mT, True),
    ],
    errors=lambda make: [args(make(2), lower(make)), args(make(3, 1), lower(make)), args(make(2, 1), make(2, 3))],
    gradcheck=False,  # the gradient is that of any L, triangular or not, as torch's
    **LAPACK,
)
case(
    "triangular_solve",
    lambda make: [
        args(make(2, 3), lower(make), upper=False),
        args(make(2, 3), lower(make).mT),
        args(make(2, 3), lower(make).mT, True, True),
        args(make(2, 1), lower(make), False, False, True),
    ],
    **LAPACK,
)
case(
    "linalg.eigvals",
    lambda make: [args(each.args[0]) for each in squares(make)],
    errors=lambda make: [*not_square(make), args(make.of([[1.0, INF], [0.0, 1.0]]))],
    **LAPACK,
)
UNTESTED["linalg.eig"] = "the vectors' phases are LAPACK's choice: see test_linalg.py"
case(
    "linalg.cond",
    lambda make: [
        args(square(make)),
        *[args(square(make, n=3), p) for p in (2, -2)],
        args(make(2, 3)),
        args(make(2, 3, 2), p=2),
        # Here torch's own gradient fails, for it computes in place.
        *[args(make(3, 3, requires_grad=False), p) for p in (1, -1, INF, -INF, "fro", "nuc")],
        args(make(2, 2, 2, requires_grad=False), 1),
        args(make.of([[1.0, 2.0], [2.0, 4.0]], requires_grad=False), 1),
    ],
    errors=lambda make: [args(make(2, 3), 1), args(make(2, 2), 7)],
    dtypes=FLOATS,
    tolerance=10,
)
case(
    "linalg.tensorinv",
    lambda make: [
        args(square(make, n=4).reshape(2, 2, 4)),
        args(square(make, n=4).reshape(2, 2, 2, 2), 2),
        args(square(make, n=3), ind=1),
        args(square(make, n=4).reshape(4, 2, 2), 1),
        args(square(make, n=1).reshape(1, 1, 1)),
    ],
    errors=lambda make: [args(make(2, 3, 5)), args(make(2, 2), 0)],
    **LAPACK,
)
case(
    "linalg.tensorsolve",
    lambda make: [
        args(square(make, n=4).reshape(2, 2, 4), make(2, 2)),
        args(square(make, n=4).reshape(2, 2, 2, 2), make(2, 2)),
        args(square(make, n=4).reshape(2, 2, 4), make(4), dims=(0, 1)),
        args(square(make, n=3), make(3)),
        args(square(make, n=4).reshape(2, 2, 4), make(2, 2, layout="transposed")),
    ],
    errors=lambda make: [args(make(2, 3, 5), make(2, 3))],
    **LAPACK,
)
UNTESTED["qr"] = "linalg.qr by its older name: see test_linalg.py"
UNTESTED["svd"] = "linalg.svd by its older name: see test_linalg.py"
UNTESTED["svd_lowrank"] = UNTESTED["pca_lowrank"] = "the vectors' signs are LAPACK's choice: see test_low_rank.py"
# Older arguments.
case("linalg.pinv", lambda make: [args(square(make), 0.6), args(square(make), rcond=0.1, hermitian=False)], **LAPACK)
case(
    "linalg.matrix_rank",
    lambda make: [args(square(make), 1.5), args(square(make), tol=0.1, hermitian=True)],
    dtypes=FLOATS,
)
