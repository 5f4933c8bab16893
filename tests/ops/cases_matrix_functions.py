"""Sample inputs of functions of matrices, of reflections, and of weights split into direction and length."""

from __future__ import annotations

from tests.ops.case import UNTESTED, args, case
from tests.ops.cases_linalg import BOTH, FLOATS, not_square, squares

UNTESTED["linalg.matrix_exp"] = UNTESTED["Tensor.matrix_exp"] = "the same function as matrix_exp"
UNTESTED["orgqr"] = UNTESTED["Tensor.orgqr"] = "the same function as linalg.householder_product"

case(
    "matrix_exp",
    lambda make: [*squares(make), args(make(3, 3, low=-30, high=30)), args(make.of([[0.0, 1.0], [0.0, 0.0]]))],
    errors=not_square,
    dtypes=BOTH,
    tolerance=10,
    strides=False,  # products of matrices
)
case(
    "geqrf",
    lambda make: [
        args(make(3, 2, requires_grad=False)),
        args(make(2, 3, requires_grad=False)),
        args(make(2, 3, 3, layout="transposed", requires_grad=False)),
        args(make(4, 3, layout="sliced", requires_grad=False)),
        args(make(0, 3, 2, requires_grad=False)),
    ],
    errors=lambda make: [args(make(3)), args(make(2, 2, dtype="int64"))],
    dtypes=BOTH,
    tolerance=10,
)
case(
    "linalg.householder_product",
    lambda make: [
        args(make(3, 2), make(2, low=0.1, high=1.5)),
        args(make(3, 3), make(2, low=0.1, high=1.5)),
        args(make(2, 3, 2, layout="transposed"), make(2, 2, low=0.1, high=1.5)),
        args(make(3, 2, requires_grad=False), make(0, requires_grad=False)),
        args(make(0, 3, 2), make(0, 2)),
    ],
    errors=lambda make: [
        args(make(2), make(1)),
        args(make(2, 3), make(1)),
        args(make(3, 2), make(3)),
        args(make(3, 2), make(2, 2)),
        args(make(3, 2, 2), make(2, 2)),
        args(make(3, 2, dtype="float32"), make(2, dtype="float64")),
    ],
    dtypes=BOTH,
    tolerance=10,
    strides=False,  # LAPACK is column-major
)
case(
    "norm_except_dim",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3, 2), 2, 1),
        args(make(2, 3), 1, 1),
        args(make(2, 3, layout="transposed"), 2, -1),
        args(make(4), 3, -1),
    ],
    errors=lambda make: [args(make(0, 3))],
    dtypes=FLOATS,
    grad_fn=False,  # of the norm
)
case(
    "_weight_norm",
    lambda make: [
        args(make(2, 3), make(2, 1)),
        args(make(2, 3, 2), make(1, 3, 1), 1),
        args(make(2, 3), make(1, 3), 1),
        args(make(2, 3, layout="transposed"), make(), -1),
        args(make(2, 3, layout="sliced"), make(3), -1),
    ],
    dtypes=FLOATS,
    strides=False,  # of the fused result
)
