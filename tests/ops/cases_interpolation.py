"""Sample inputs of resizing."""

from __future__ import annotations

from typing import Any

from tests.ops.case import Sample, args, case


def resizes(make: Any) -> list[Sample]:
    return [
        args(make(1, 2, 5), 3),
        args(make(2, 1, 3), scale_factor=2.5, mode="nearest"),
        args(make(1, 1, 7, layout="sliced"), (4,), mode="nearest-exact"),
        args(make(1, 2, 3), 7, mode="linear"),
        args(make(1, 1, 6), scale_factor=0.6, mode="linear", align_corners=True),
        args(make(1, 1, 5), scale_factor=[1.7], mode="linear", recompute_scale_factor=True),
        args(make(1, 1, 5), scale_factor=1.7, mode="linear"),
        args(make(1, 2, 2, 3), (3, 2)),
        args(make(1, 1, 2, 3), scale_factor=(2, 1.5), mode="nearest-exact"),
        args(make(1, 1, 2, 3), (4, 5), mode="bilinear"),
        args(make(1, 1, 4, 3, layout="transposed"), (2, 1), mode="bilinear", align_corners=True),
        args(make(1, 1, 3, 3), scale_factor=1.6, mode="bilinear"),
        args(make(1, 1, 3, 3), (3, 3), mode="bilinear"),
        args(make(1, 1, 2, 3), (4, 5), mode="bicubic"),
        args(make(1, 1, 4, 3), (2, 5), mode="bicubic", align_corners=True),
        args(make(1, 1, 5, 4), scale_factor=0.7, mode="bicubic"),
        args(make(1, 2, 5, 4), (2, 3), mode="area"),
        args(make(1, 1, 5), scale_factor=0.5, mode="area"),
        args(make(1, 1, 2, 1, 3), (1, 2, 4)),
        args(make(1, 1, 2, 1, 3), (3, 2, 2), mode="nearest-exact"),
        args(make(1, 1, 2, 2, 2), (3, 1, 2), mode="trilinear"),
        args(make(1, 1, 2, 2, 2), (3, 1, 2), mode="trilinear", align_corners=True),
        args(make(0, 1, 3, 3), 2, mode="bilinear"),
    ]


case(
    "nn.functional.interpolate",
    resizes,
    errors=lambda make: [
        args(make(1, 1, 3)),
        args(make(1, 1, 3), 2, 2),
        args(make(1, 1, 3), 2, mode="linear", recompute_scale_factor=True),
        args(make(1, 1, 3), 0),
        args(make(1, 1, 3, 3), scale_factor=0.1),
        args(make(1, 1, 3, 3, 0), 2),
        args(make(1, 0, 3, 3), 2),
        args(make(3, 3), 2),
        args(make(1, 1, 3, 3), (2.0, 2.0)),
        args(make(1, 1, 3, 3), 2.0).type_only(),
        args(make(1, 1, 3, 3), [3]),
        args(make(1, 1, 3, 3), scale_factor=[3.0]),
        args(make(1, 1, 3, 3), 2, mode="cubic"),
        args(make(1, 1, 3), 2, mode="bilinear"),
        args(make(1, 1, 3, 3), 2, mode="trilinear"),
        args(make(1, 1, 3, 3, 3), 2, mode="linear"),
        args(make(1, 1, 3), 2, mode="bicubic"),
        args(make(1, 1, 3), 2, align_corners=True),
        args(make(1, 1, 3, 3), 2, antialias=True),
        args(make(1, 1, 3), 2, mode="linear", antialias=True),
        args(make(1, 1, 3, 3), 3, mode="lanczos"),
        args(make(1, 1, 3, 3), 3, mode="lanczos", antialias=True, align_corners=True),
    ],
    dtypes="int64 float32 float64",
)
case(
    "nn.functional.interpolate",
    resizes,
    dtypes="float16 bfloat16",
    tolerance=30,  # torch's weights are rounded to two bytes too
)
case(
    "nn.functional.interpolate",
    lambda make: [
        args(make(1, 1, 5, 4), (2, 3), mode="bilinear", antialias=True),
        args(make(1, 1, 2, 3), (4, 5), mode="bilinear", antialias=True),
        args(make(1, 1, 5, 3), (2, 5), mode="bilinear", antialias=True, align_corners=True),
        args(make(1, 1, 7, 4, layout="sliced"), scale_factor=0.6, mode="bilinear", antialias=True),
        args(make(1, 1, 7, 4), (2, 3), mode="bicubic", antialias=True),
        args(make(1, 1, 2, 3), (4, 5), mode="bicubic", antialias=True, align_corners=True),
        args(make(1, 1, 9, 4), (2, 3), mode="lanczos", antialias=True),
        args(make(1, 1, 2, 5), (4, 2), mode="lanczos", antialias=True),
    ],
    dtypes="float16 float32 float64",
)
case(
    "nn.functional.interpolate",
    lambda make: [
        args(make(1, 2, 5), 3),
        args(make(2, 3, 3, 4), (2, 6), mode="nearest-exact"),
        args(make(2, 3, 3, 4, 2), (2, 6, 3)),
    ],
    dtypes="bool uint8 int8 complex64",
)
case(
    "nn.functional.interpolate",
    lambda make: [
        args(make(2, channels, 7, 6, low=0, high=255, layout=layout), size, mode=mode, antialias=antialias)
        for channels, layout in ((3, "contiguous"), (5, "sliced"))
        for size in ((4, 9), (13, 2), (7, 3))
        for mode, antialias in (
            ("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True), ("lanczos", True),
        )
    ] + [
        args(make(1, 3, 7, 6, low=0, high=255), scale_factor=(1.7, 0.6), mode="bilinear"),
        args(make(1, 3, 7, 6, low=0, high=255), scale_factor=(1.1, 2.3), mode="bicubic", antialias=True),
        args(make(1, 1, 5, 4, low=0, high=255), (8, 7), mode="bicubic", align_corners=True),
        args(make(1, 1, 5, 4, low=0, high=255), (3, 3), mode="bilinear", align_corners=True, antialias=True),
        args(make(1, 1, 5, low=0, high=255), 3, mode="linear"),
    ],
    dtypes="uint8",
)  # fmt: skip
case(
    "nn.functional.upsample",
    lambda make: [
        args(make(1, 2, 5), 3),
        args(make(1, 1, 3), scale_factor=2.5, mode="linear"),
        args(make(1, 1, 2, 3), (4, 5), mode="bilinear", align_corners=True),
        args(make(1, 1, 2, 3), scale_factor=2, mode="bicubic"),
        args(make(1, 1, 2, 2, 2), 3, mode="trilinear"),
    ],
    errors=lambda make: [args(make(1, 1, 3)), args(make(1, 1, 3), 2, 2)],
    dtypes="float32 float64",
)
case(
    "nn.functional.upsample_nearest",
    lambda make: [
        args(make(1, 2, 5), 3),
        args(make(1, 1, 3), scale_factor=2.5),
        args(make(1, 1, 2, 3), (4, 5)),
        args(make(1, 1, 2, 3, layout="transposed"), scale_factor=2),
        args(make(1, 1, 2, 2, 2), 3),
    ],
    errors=lambda make: [args(make(1, 1, 3)), args(make(3, 3), 2)],
    dtypes="float32 float64",
)
case(
    "nn.functional.upsample_bilinear",
    lambda make: [
        args(make(1, 2, 5, 4), 3),
        args(make(1, 1, 3, 2), scale_factor=2),
        args(make(1, 1, 2, 3), (4, 5)),
        args(make(1, 1, 2, 3, layout="transposed"), (3, 1)),
        args(make(0, 1, 2, 2), 3),
    ],
    errors=lambda make: [args(make(1, 1, 3), 2), args(make(1, 1, 3, 3))],
    dtypes="float32 float64",
)
