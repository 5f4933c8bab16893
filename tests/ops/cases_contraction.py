"""Sample inputs of sums of products over chosen dimensions, and of the rest of the matrix products."""

from __future__ import annotations

from tests.ops.case import args, case

FLOATS = "float32 float64"

case(
    "addmv",
    lambda make: [
        args(make(2), make(2, 3), make(3)),
        args(make(1), make(2, 3), make(3), beta=0.5, alpha=2.0),
        args(make(), make(2, 3, layout="transposed"), make(3)),
        args(make(2, layout="sliced"), make(2, 3), make(3, layout="sliced")),
        args(make.of([float("nan")] * 2), make(2, 3), make(3), beta=0).kink(),
        args(make(0), make(0, 3), make(3)),
    ],
    errors=lambda make: [
        args(make(2), make(2, 3), make(2)),
        args(make(3), make(2, 3), make(3)),
        args(make(2), make(3), make(3)),
    ],
    dtypes=FLOATS,
)
case(
    "addr",
    lambda make: [
        args(make(2, 3), make(2), make(3)),
        args(make(3), make(2), make(3), beta=0.5, alpha=2.0),
        args(make(2, 3, layout="transposed"), make(2), make(3)),
        args(make(), make(2, layout="sliced"), make(3)),
        args(make.of([[float("nan")] * 3] * 2), make(2), make(3), beta=0).kink(),
        args(make(0, 3), make(0), make(3)),
    ],
    errors=lambda make: [args(make(2, 3), make(2, 1), make(3)), args(make(2, 2), make(2), make(3))],
    dtypes="int64 float32 float64",
    strides=False,  # of gradients, which BLAS leaves open
)
case(
    "inner",
    lambda make: [
        args(make(3), make(3)),
        args(make(2, 3), make(3)),
        args(make(2, 3), make(4, 3)),
        args(make(2, 2, 3), make(2, 3)),
        args(make(2, 3, layout="transposed"), make(3)),
        args(make(2, 3), make()),
        args(make(0, 3), make(3)),
    ],
    errors=lambda make: [args(make(2), make(3)), args(make(2, 3), make(3, 2))],
    dtypes=FLOATS,
    strides=False,
)
case(
    "einsum",
    lambda make: [
        args("ij,jk->ik", make(2, 3), make(3, 2)),
        args("ij,jk", make(2, 3), make(3, 2)),
        args("ii", make(2, 2)),
        args("ii->i", make(2, 2)),
        args("ij->ji", make(2, 3, layout="transposed")),
        args("i,j->ij", make(2), make(3)),
        args("bij,bjk->bik", make(2, 1, 3), make(2, 3, 2)),
        args("...ij,...jk->...ik", make(2, 2, 3), make(3, 2)),
        args("i...->...", make(2, 3)),
        args("ij,ij->", make(2, 3, layout="sliced"), make(2, 3)),
        args("ij,j,i->i", make(2, 3), make(3), make(2)),
        args("ij,kj->ik", make(2, 1), make(2, 3)),
        args(make(2, 3), [0, 1], make(3, 2), [1, 2], [0, 2]),
        args("ij,jk->ik", [make(2, 3), make(3, 2)]),
        args(",i->i", make(), make(2)),
        args("ij,jk->ik", make(0, 3), make(3, 2)),
    ],
    errors=lambda make: [
        args("ij,jk->ik", make(2, 3)),
        args("ij->ij", make(2, 3), make(2, 3)),
        args("ij,jk->ik", make(2, 3), make(2, 3)),
        args("ijk->i", make(2, 3)),
        args("ij->k", make(2, 3)),
        args("ij->ii", make(2, 3)),
        args("ii", make(2, 3)),
        args("i->i"),
    ],
    dtypes=FLOATS,
    grad_fn=False,  # of the order of views
    strides=False,
)
case(
    "tensordot",
    lambda make: [
        args(make(2, 3), make(3, 2), 1),
        args(make(2, 2, 3), make(2, 3, 1)),
        args(make(2, 3), make(4, 2), dims=([0], [1])),
        args(make(2, 3, layout="transposed"), make(2, 3), ([0, 1], [0, 1])),
        args(make(2), make(3), 0),
        args(make(0, 3), make(3, 2), 1),
    ],
    errors=lambda make: [
        args(make(2, 3), make(2, 3), 1),
        args(make(2, 3), make(2, 3), 3),
        args(make(2, 3), make(2, 3), -1),
        args(make(2, 3), make(2, 3), ([0, 1], [0])),
    ],
    dtypes=FLOATS,
    strides=False,
)
case(
    "kron",
    lambda make: [
        args(make(2, 2), make(1, 3)),
        args(make(2), make(3)),
        args(make(2, 2), make(2)),
        args(make(2, 2), make(2, 2, layout="sliced")),
        args(make(), make(2, 2)),
        args(make(0, 2), make(2, 2)),
    ],
    strides=False,
)
case(
    "cross linalg.cross",
    lambda make: [
        args(make(3), make(3)),
        args(make(2, 3), make(2, 3), dim=1),
        args(make(2, 3), make(1, 3), dim=-1),
        args(make(3, 2, layout="transposed"), make(3, 2), dim=0),
        args(make(0, 3), make(0, 3), dim=1),
    ],
    errors=lambda make: [
        args(make(2), make(2)),
        args(make(2, 3), make(3), dim=1),
        args(make(2, 3), make(2, 3), dim=0),
        args(make(3, 2), make(3, 3), dim=0),
    ],
    dtypes="int64 float32 float64 complex64",
    strides=False,
)
case(
    "chain_matmul",
    lambda make: [
        args(make(2, 3), make(3, 2)),
        args(make(2, 3), make(3, 1), make(1, 2)),
        args(make(2, 3)),
        args(make(2, 3, layout="transposed"), make(3, 2)),
        args(make(0, 3), make(3, 2)),
    ],
    errors=lambda make: [args(make(2, 3), make(2, 3))],
    dtypes=FLOATS,
    strides=False,
)
