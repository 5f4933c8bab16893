"""Sample inputs of operators that the engine itself needs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.ops.case import Make, Sample, args, case


def operands(make: Make) -> Sequence[Sample]:
    return [
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
    ]


case(
    "Tensor.__add__ Tensor.__iadd__ Tensor.__mul__ Tensor.__imul__",
    operands,
    errors=lambda make: [args(make(2), make(3)), args(make(2, 3), make(3, 2))],
)
# Nobody adds two tensors with __radd__: its errors name the shapes in the order in which they stand in a sum.
case("Tensor.__radd__ Tensor.__rmul__", operands)
