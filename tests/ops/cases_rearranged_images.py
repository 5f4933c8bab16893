"""Sample inputs of pixel and channel shuffles, of sliding blocks, and of classes as vectors."""

from __future__ import annotations

from typing import Any

from tests.ops.case import args, case

FLOATS = "float32 float64"

case(
    "nn.functional.one_hot",
    lambda make: [
        args(make.lib.tensor([0, 2])),
        args(make.lib.tensor([[0], [1]]), 3),
        args(make.lib.tensor(2)),
        args(make.index(2, 3, below=4).T, num_classes=4),
        args(make.index(0, 2, below=4), 3),
    ],
    errors=lambda make: [
        args(make.lib.tensor([0, 2]), 2),
        args(make.lib.tensor([0, -1])),
        args(make.lib.tensor([0, -1]), 3),
        args(make.lib.tensor([0.0])),
        args(make.lib.tensor([0]).int()),
        args(make.lib.tensor([0]), 0),
        args(make.lib.tensor([0]), -2),
        args(make.index(0, below=1)),
        args(make.index(0, below=1), 0),
    ],
    dtypes="float32",
)
case(
    "pixel_shuffle nn.functional.pixel_shuffle",
    lambda make: [
        args(make(4, 2, 3), 2),
        args(make(2, 8, 1, 2), 2),
        args(make(2, 4, 2, 1, layout="transposed"), 2),
        args(make(1, 2, 2, 1, layout="sliced"), upscale_factor=1),
        args(make(1, 2, 0, 4, 2, 2), 2),
        args(make(9, 1, 1), 3),
    ],
    errors=lambda make: [
        args(make(2, 2), 2),
        args(make(3, 2, 2), 2),
        args(make(3, 2, 2), 0),
        args(make(3, 2, 2), -1),
        args(make(8, 2, 3), 2.0),
    ],
    strides=False,
)
case(
    "pixel_unshuffle nn.functional.pixel_unshuffle",
    lambda make: [
        args(make(1, 4, 6), 2),
        args(make(2, 2, 2, 4), 2),
        args(make(2, 2, 2, 2, layout="transposed"), 2),
        args(make(1, 2, 2, 1, layout="sliced"), downscale_factor=1),
        args(make(1, 3, 3), 3),
        args(make(1, 1, 2, 2, 2), 2),
    ],
    errors=lambda make: [
        args(make(4, 6), 2),
        args(make(1, 3, 6), 2),
        args(make(1, 4, 5), 2),
        args(make(1, 4, 5), 0),
    ],
    strides=False,
)
case(
    "channel_shuffle nn.functional.channel_shuffle",
    lambda make: [
        args(make(1, 4, 2, 2), 2),
        args(make(2, 6, 1), 3),
        args(make(2, 6, 1), groups=2),
        args(make(2, 4, 2, layout="transposed"), 2),
        args(make(1, 4, 2, layout="sliced"), 4),
        args(make(0, 4, 2), 2),
    ],
    errors=lambda make: [args(make(4, 4), 2), args(make(1, 3, 2), 2), args(make(1, 3, 2), 0)],
    strides=False,
)


def too_large(make: Any) -> Any:
    return make(1, 2, 4, 5)


case(
    "nn.functional.unfold",
    lambda make: [
        args(make(1, 2, 3, 4), 2),
        args(make(2, 2, 3), (2, 3), padding=1, stride=(1, 2)),
        args(make(1, 1, 4, 4), (2, 1), (1, 2), (0, 1), 2),
        args(make(1, 2, 3, 3, layout="transposed"), 2, dilation=2),
        args(make(1, 1, 3, 2, layout="sliced"), [2, 2], stride=1),
        args(make(0, 2, 3, 3), 2),
    ],
    errors=lambda make: [
        args(too_large(make), 6),
        args(too_large(make), (2, 2, 2)),
        args(too_large(make), 0),
        args(too_large(make), 2, stride=0),
        args(too_large(make), 2, padding=-1),
        args(too_large(make), 2, dilation=0),
        args(make(1, 0, 4, 5), 2),
        args(make(1, 2, 0, 5), 2),
    ],
)
case(
    "nn.functional.fold",
    lambda make: [
        args(make(1, 4, 6), (3, 4), 2),
        args(make(8, 2), (2, 3), 2),
        args(make(2, 4, 4), (4, 3), (2, 2), 2, 1, 2),
        args(make(1, 4, 4, layout="transposed"), 3, 2),
        args(make(1, 4, 4, layout="sliced"), [4, 4], [2, 2], stride=(2, 2)),
        args(make(0, 4, 4), 3, 2),
    ],
    errors=lambda make: [
        args(make(8), (4, 5), 2),
        args(make(1, 7, 12), (4, 5), 2),
        args(make(1, 8, 11), (4, 5), 2),
        args(make(1, 8, 12), (4, 5, 3), 2),
        args(make(1, 8, 12), (4, 5), (2, 2, 2)),
        args(make(1, 8, 12), (4, 5), 2, stride=0),
        args(make(1, 8, 12), (4, 5), 2, dilation=0),
        args(make(1, 8, 12), (4, 5), 2, padding=-1),
        args(make(1, 8, 12), (1, 1), 2),
    ],
)
case(
    "nn.functional.lp_pool3d",
    lambda make: [
        args(make(1, 4, 4, 4, low=0.5), 2, 2),
        args(make(1, 1, 3, 2, 2, low=0.5), 3.0, (2, 1, 2), 1, True),
        args(make(1, 1, 3, 2, 2, low=0.5, layout="transposed"), 1, 2),
        args(make(1, 1, 2, 2, 2, low=0.5, layout="sliced"), 2, (1, 2, 1)),
        args(make(1, 2, 2, 2, low=0.5), norm_type=2, kernel_size=1),
    ],
    errors=lambda make: [args(make(1, 1, 4), 2, 2)],
    dtypes=FLOATS,
)
case(
    "conv_tbc nn.functional.conv_tbc",
    lambda make: [
        args(make(3, 2, 2), make(2, 2, 1), make(1)),
        args(make(3, 1, 2), make(2, 2, 2), make(2), 1),
        args(make(3, 2, 1), make(1, 1, 2), make(2), pad=2),
        args(make(3, 2, 2, layout="sliced"), make(3, 2, 1, layout="transposed"), make(1)),
        args(make(4, 1, 1), make(2, 1, 1, layout="sliced"), make(1)),
    ],
    errors=lambda make: [
        args(make(5, 3), make(2, 3, 4), make(4)),
        args(make(5, 2, 3), make(3, 4), make(4)),
        args(make(5, 2, 3), make(2, 3, 4), make(1, 4)),
        args(make(5, 2, 3), make(2, 2, 4), make(4)),
        args(make(5, 2, 3), make(2, 3, 4), make(3)),
    ],
    dtypes=FLOATS,
    strides=False,
)
case(
    "pdist nn.functional.pdist",
    lambda make: [
        args(make(4, 3)),
        args(make(3, 2, layout="transposed"), 1.0).kink(),
        args(make(3, 2), 0.0),
        args(make(3, 2), 0.5),
        args(make(3, 2, layout="sliced"), 3.0),
        args(make(3, 2), float("inf")).kink(),
        args(make(1, 3)),
        args(make(3, 0)),
        args(make.of([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]])).kink(),
        args(make.of([[1.0, 2.0], [1.0, 2.0], [0.0, 2.0]]), 1.5).kink(),
    ],
    errors=lambda make: [args(make(4)), args(make(2, 3, 3)), args(make(4, 3), -1)],
    dtypes="int64 float32 float64",
)
