"""Sample inputs of the cross-entropy of a linear layer."""

from __future__ import annotations

from tests.ops.case import args, case

case(
    "nn.functional.linear_cross_entropy",
    lambda make: [
        args(make(2, 3), make(4, 3), make.index(2, below=4)),
        args(make(3), make(4, 3), make.index(below=4), linear_bias=make(4), reduction="sum"),
        args(make(2, 3), make(2, 2, 3), make.index(2, 2, below=2), linear_bias=make(2, 2), reduction="none"),
        args(make(2, 3, layout="transposed"), make(4, 3), make.lib.tensor([3, 1]), ignore_index=3),
        args(make(2, 3), make(2, 3), make(2, 2, low=0.1, high=0.9), label_smoothing=0.1, weight=make(2, low=0.5)),
    ],
    errors=lambda make: [
        args(make(1, 2, 3), make(4, 3), make.index(2, below=4)),
        args(make(2, 3), make(3), make.index(2, below=4)),
        args(make(2, 3), make(4, 2), make.index(2, below=4)),
        args(make(2, 3), make(4, 3), make.index(2, below=4), linear_bias=make(3)),
        args(make(3), make(4, 2, 3), make.index(2, below=4)),
        args(make(2, 3), make(4, 3), make(2, 4), ignore_index=1),
    ],
    dtypes="float32 float64",
    strides=False,
)
