"""Sample inputs of spatial transformers."""

from __future__ import annotations

import itertools
from typing import Any

from tests.ops.case import Sample, args, case


def reads(make: Any) -> list[Sample]:
    """Every mode, with places inside the image and out."""
    options = itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True))
    return [
        args(make(1, 2, 3, 2), make(1, 1, 5, 2, low=-1.7, high=1.7), mode, padding_mode, align_corners)
        for mode, padding_mode, align_corners in options
    ]


case("nn.functional.grid_sample", reads, dtypes="float32 float64", twice=True, tolerance=10)
case(
    "nn.functional.grid_sample",
    lambda make: [
        args(make(1, 1, 2, 3, 2), make(1, 1, 2, 1, 3), align_corners=False),
        args(make(1, 1, 2, 3, 2), make(1, 1, 2, 1, 3), "nearest", "border", True),
        args(make(1, 1, 2, 3, 2), make(1, 1, 2, 1, 3), "bilinear", "reflection", True),
        args(make(2, 2, 2, 2, layout="transposed"), make(2, 1, 2, 2, layout="sliced"), align_corners=False),
        args(make(1, 1, 1, 1), make(1, 1, 2, 2), "bilinear", "reflection", True),
        args(make(1, 1, 1, 3), make(1, 1, 2, 2), "bilinear", "border", True),
        args(make(0, 1, 2, 2), make(0, 1, 2, 2), align_corners=False),
        args(make(1, 1, 2, 2), make(1, 0, 2, 2), align_corners=False),
        args(make(1, 1, 2, 2), make(1, 1, 1, 2)),
        # The corners of the image, and the middle between pixels.
        args(make(1, 1, 3, 3), make.of([[[[-1.0, 1.0], [0.0, 0.0], [0.5, -0.5]]]]), align_corners=True).kink(),
        args(make(1, 1, 3, 3), make.of([[[[-1.0, 1.0], [0.0, 0.0]]]]), "bilinear", "border", True).kink(),
        args(make(1, 1, 2, 2), make.of([[[[0.0, 0.0], [5.0, 0.0]]]]), "nearest", align_corners=True).kink(),
        args(make(1, 1, 2, 2), make.of([[[[float("nan"), 0.0], [0.0, float("inf")]]]]), "nearest",
             align_corners=True).kink(),
        args(make(1, 1, 2, 2), make.of([[[[float("nan"), 0.0], [0.0, float("-inf")]]]]), "nearest", "border",
             align_corners=True).kink(),
    ],
    errors=lambda make: [
        args(make(1, 2, 3, 3), make(1, 2, 2, 2), "cubic"),
        args(make(1, 2, 3, 3), make(1, 2, 2, 2), padding_mode="wrap"),
        args(make(1, 2, 3, 3, 3), make(1, 2, 2, 2, 3), "bicubic", align_corners=False),
        args(make(1, 2, 3, 3), make(1, 2, 2, 3), align_corners=False),
        args(make(1, 2, 3, 3), make(1, 2, 2), align_corners=False),
        args(make(1, 2, 3), make(1, 2, 1), align_corners=False),
        args(make(2, 2, 3, 3), make(1, 2, 2, 2), align_corners=False),
        args(make(1, 2, 0, 3), make(1, 2, 2, 2), align_corners=False),
        args(make(1, 2, 3, 3), make(1, 2, 2, 2, dtype="float64"), align_corners=False),
    ],
    dtypes="float32 float64",
)  # fmt: skip
case(
    "nn.functional.affine_grid",
    lambda make: [
        args(make(1, 2, 3), (1, 1, 2, 3)),
        args(make(2, 2, 3), [2, 3, 2, 2], align_corners=True),
        args(make(1, 3, 4), (1, 1, 2, 3, 2), align_corners=False),
        args(make(1, 3, 4, layout="transposed"), (1, 1, 2, 1, 2), align_corners=True),
        args(make(1, 2, 3, layout="sliced"), make.lib.Size((1, 1, 1, 4)), False),
    ],
    errors=lambda make: [
        args(make(2, 3), (1, 1, 2, 3)),
        args(make(1, 3, 3), (1, 1, 2, 3)),
        args(make(1, 2, 3), (1, 1, 2, 3, 2)),
        args(make(1, 2, 3), (1, 1, 2)),
        args(make(1, 2, 3), (1, 1, 0, 2)),
        args(make(2, 2, 3), (1, 1, 2, 2)),
        args(make(1, 2, 3, dtype="int64"), (1, 1, 2, 3)),
    ],
    dtypes="float32 float64",
)
