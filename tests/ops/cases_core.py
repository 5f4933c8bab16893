"""Sample inputs of the ops that the engine itself needs."""

from __future__ import annotations

from tests.ops.case import args, case

case(
    "Tensor.__add__ Tensor.__radd__ Tensor.__iadd__ Tensor.__mul__ Tensor.__rmul__ Tensor.__imul__",
    lambda make: [
        args(make(2, 3), make(2, 3)),
        args(make(2, 3), make(3)),
        args(make(2, 3, layout="transposed"), make(2, 3)),
        args(make(2, 3, layout="sliced"), make()),
        args(make(), make(dtype="float32")),
        args(make(3), make(3, dtype="int64")),
        args(make(2), 2),
        args(make(2), 0.5),
        args(make(), True),
        args(make(0, 3), make(3)),
    ],
    errors=lambda make: [
        args(make(2), make(3)),
        args(make(2, 3), make(3, 2)),
    ],
)
