"""Sample inputs of the convolutions and of pooling."""

from __future__ import annotations

from typing import Any

from tests.ops.case import UNTESTED, Sample, args, case

NAN = float("nan")
FLOATS = "float32 float64"

for name in ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"):
    UNTESTED[name] = f"the same function as nn.functional.{name}"

case(
    "nn.functional.conv1d",
    lambda make: [
        args(make(2, 2, 5), make(2, 2, 3)),
        args(make(2, 2, 5), make(3, 2, 2), make(3), 2, 1),
        args(make(1, 2, 6, layout="transposed"), make(2, 1, 2), make(2), padding=1, dilation=2, groups=2),
        args(make(2, 5, layout="sliced"), make(2, 2, 3), padding="same"),
        args(make(1, 1, 5), make(1, 1, 4), padding="same"),
        args(make(1, 1, 5), make(1, 1, 2), stride=(2,), padding="valid"),
        args(make(0, 2, 5), make(2, 2, 3)),
    ],
    errors=lambda make: [
        args(make(2, 3, 5), make(2, 2, 3)),
        args(make(5), make(2, 2, 3)),
        args(make(2, 2, 2), make(2, 2, 3)),
        args(make(2, 2, 5), make(2, 2, 3), make(3)),
        args(make(2, 2, 5), make(2, 2, 3), stride=0),
        args(make(2, 2, 5), make(2, 2, 3), padding=-1),
        args(make(2, 2, 5), make(2, 2, 3), stride=(1, 2)),
        args(make(2, 2, 5), make(2, 2, 3), padding="same", stride=2),
        args(make(2, 2, 5), make(3, 1, 3), groups=2),
        args(make(2, 2, 5), make(2, 2, 3), make(2, dtype="float64")),
    ],
    dtypes="bfloat16 float32 float64",
    strides=False,  # of gradients of inputs that are not contiguous
)
case(
    "nn.functional.conv2d",
    lambda make: [
        args(make(2, 2, 4, 3), make(2, 2, 3, 2)),
        args(make(1, 2, 4, 4), make(3, 2, 2, 2), make(3), (2, 1), (1, 0)),
        args(make(1, 2, 4, 4, layout="transposed"), make(2, 1, 2, 2), padding=1, dilation=2, groups=2),
        args(make(2, 3, 3, layout="sliced"), make(1, 2, 3, 3), make(1), padding="same"),
        args(make(1, 1, 3, 3), make(1, 1, 1, 1)),
        args(make(0, 2, 4, 3), make(2, 2, 3, 2)),
    ],
    errors=lambda make: [
        args(make(2, 3, 4, 4), make(2, 2, 3, 3)),
        args(make(4, 4), make(2, 2, 3, 3)),
        args(make(2, 2, 2, 2), make(2, 2, 3, 3)),
        args(make(2, 2, 4, 4), make(2, 2, 3, 3), make(3)),
        args(make(2, 2, 4, 4), make(2, 2, 3, 3), dilation=0),
        args(make(2, 2, 4, 4), make(2, 2, 3, 3), padding="some"),
    ],
    dtypes="bfloat16 float32 float64",
    strides=False,  # of gradients of inputs that are not contiguous
)
case(
    "nn.functional.conv3d",
    lambda make: [
        args(make(1, 2, 3, 2, 2), make(1, 2, 2, 2, 2)),
        args(make(1, 1, 2, 3, 2), make(2, 1, 2, 2, 1), make(2), 2, 1),
        args(make(1, 2, 2, 2, 2, layout="transposed"), make(2, 1, 1, 2, 1), groups=2),
        args(make(1, 2, 2, 2), make(1, 1, 2, 1, 1)),
        args(make(1, 1, 3, 1, 1), make(1, 1, 2, 1, 1), padding="same"),
        args(make(0, 1, 2, 2, 2), make(1, 1, 2, 1, 1)),
    ],
    errors=lambda make: [args(make(2, 2, 4, 4), make(2, 2, 3, 3, 3)), args(make(2, 3), make(2, 2, 3, 3, 3))],
    dtypes=FLOATS,
    strides=False,  # of gradients of inputs that are not contiguous
)
case(
    "nn.functional.conv_transpose1d",
    lambda make: [
        args(make(2, 2, 3), make(2, 2, 2)),
        args(make(1, 2, 3), make(2, 1, 3), make(1), 2, 1, 1),
        args(make(1, 2, 3, layout="transposed"), make(2, 1, 2), make(2), groups=2, dilation=2),
        args(make(2, 3, layout="sliced"), make(2, 1, 2)),
        args(make(0, 2, 3), make(2, 2, 2)),
    ],
    errors=lambda make: [
        args(make(2, 3, 5), make(2, 2, 3)),
        args(make(2, 2, 5), make(2, 2, 3), make(3)),
        args(make(2, 2, 5), make(2, 2, 3), output_padding=1),
    ],
    dtypes=FLOATS,
    strides=False,  # of gradients of inputs that are not contiguous
)
case(
    "nn.functional.conv_transpose2d",
    lambda make: [
        args(make(1, 2, 3, 2), make(2, 2, 2, 2)),
        args(make(1, 2, 2, 2), make(2, 1, 3, 2), make(1), (2, 1), (1, 0), (1, 0)),
        args(make(1, 2, 2, 2, layout="transposed"), make(2, 1, 2, 2), make(2), groups=2, dilation=2),
        args(make(2, 2, 2, layout="sliced"), make(2, 1, 2, 2)),
        args(make(0, 2, 3, 2), make(2, 2, 2, 2)),
    ],
    errors=lambda make: [args(make(2, 3, 4, 4), make(2, 2, 3, 3)), args(make(4, 4), make(2, 2, 3, 3))],
    dtypes=FLOATS,
    strides=False,  # of gradients of inputs that are not contiguous
)
case(
    "nn.functional.conv_transpose3d",
    lambda make: [
        args(make(1, 2, 2, 2, 1), make(2, 1, 2, 2, 2)),
        args(make(1, 1, 2, 1, 2), make(1, 2, 2, 2, 1), make(2), 2, (1, 0, 0), (1, 0, 0)),
        args(make(1, 2, 2, 2, 2, layout="transposed"), make(2, 1, 1, 2, 1), groups=2),
        args(make(1, 2, 2, 2), make(1, 1, 2, 1, 1), dilation=2),
        args(make(0, 1, 2, 2, 2), make(1, 1, 2, 1, 1)),
    ],
    dtypes=FLOATS,
    strides=False,  # of gradients of inputs that are not contiguous
)


def max_pools(n: int) -> Any:
    """Of n dimensions; the elements differ, so that there is one largest."""

    def samples(make: Any) -> list[Sample]:
        rest = (2,) * (n - 1)
        tied = make.of([[[1.0, 1.0, 0.0, 1.0]]]).reshape(1, 1, *[1] * (n - 1), 4)
        return [
            args(make(1, 2, *rest, 4), (*[1] * (n - 1), 2)),
            args(make(2, 1, *rest, 5), 2, (*[1] * (n - 1), 2), 1),
            args(make(1, *rest, 5, layout="transposed"), (*[1] * (n - 1), 2), 2, 0, 2),
            args(make(1, 1, *rest, 5, layout="sliced"), 2, 2, ceil_mode=True),
            args(make(0, 2, *rest, 4), 2),
            args(tied.detach(), (*[1] * (n - 1), 2), 1).kink(),
            args(make.of([0.0, NAN, 1.0, 2.0]).detach().reshape(1, 1, *[1] * (n - 1), 4), (*[1] * (n - 1), 2)).kink(),
        ]

    return samples


def wrong_pools(n: int) -> Any:
    def samples(make: Any) -> list[Sample]:
        shape = (1, 1, *[4] * n)
        wrong = [
            args(make(*shape[2:]), 2) if n > 1 else args(make(4), 2),
            args(make(*shape), 5),
            args(make(*shape), 2, 0),
            args(make(*shape), 2, 2, 2),
            args(make(*shape), (2,) * (n + 1)),
        ]
        # In one dimension, torch's words depend on whether a gradient is needed.
        return [each.type_only() if n == 1 else each for each in wrong]

    return samples


for n in (1, 2, 3):
    case(
        f"nn.functional.max_pool{n}d nn.functional.max_pool{n}d_with_indices",
        max_pools(n),
        errors=wrong_pools(n),
        dtypes="bool int64 bfloat16 float32 float64",
        strides=False,
    )
    case(
        f"nn.functional.avg_pool{n}d",
        lambda make, n=n: [
            args(make(1, 2, *[2] * (n - 1), 4), (*[1] * (n - 1), 2)),
            args(make(2, 1, *[2] * (n - 1), 5), 2, (*[1] * (n - 1), 2), 1),
            args(make(1, *[2] * (n - 1), 5, layout="transposed"), 2, 2, 1, count_include_pad=False),
            args(make(1, 1, *[2] * (n - 1), 5, layout="sliced"), 2, 2, ceil_mode=True),
            args(make(1, 1, *[3] * n), 2, 2, 1, True),
            *([args(make(1, 1, *[2] * n), 2, divisor_override=3)] if n > 1 else []),
            args(make(0, 2, *[2] * (n - 1), 4), 2),
        ],
        # torch has other words in every number of dimensions
        errors=lambda make, n=n: [each.type_only() for each in wrong_pools(n)(make)[1:]],
        dtypes=FLOATS,
        strides=False,
    )
    case(
        f"nn.functional.adaptive_avg_pool{n}d",
        lambda make, n=n: [
            args(make(1, 2, *[2] * (n - 1), 5), 2),
            args(make(1, 1, *[2] * (n - 1), 5), 1),
            args(make(1, *[2] * (n - 1), 5, layout="transposed"), (*[1] * (n - 1), 3)),
            args(make(1, 1, *[2] * (n - 1), 3, layout="sliced"), 4),
            args(make(0, 2, *[2] * (n - 1), 5), 2),
            *([args(make(1, 1, *[2] * (n - 1), 5), (*[None] * (n - 1), 2))] if n > 1 else []),
        ],
        errors=lambda make, n=n: [args(make(4), 2), args(make(1, 1, *[4] * n), (1,) * (n + 1))],
        dtypes=FLOATS,
        strides=False,
    )
    case(
        f"nn.functional.adaptive_max_pool{n}d nn.functional.adaptive_max_pool{n}d_with_indices",
        lambda make, n=n: [
            args(make(1, 2, *[2] * (n - 1), 5), 2),
            args(make(1, 1, *[2] * (n - 1), 5), 1, True),
            args(make(1, *[2] * (n - 1), 5, layout="transposed"), (*[1] * (n - 1), 3)),
            args(make(1, 1, *[2] * (n - 1), 3, layout="sliced"), 4, return_indices=True),
            args(make(0, 2, *[2] * (n - 1), 5), 2),
        ],
        errors=lambda make, n=n: [args(make(4), 2), args(make(1, 1, *[4] * n), (1,) * (n + 1))],
        dtypes=FLOATS,
        strides=False,
    )
case(
    "nn.functional.max_unpool1d",
    lambda make: [
        args(make(1, 2, 2), make.lib.tensor([[[0, 3], [1, 2]]]), 2),
        args(make(1, 2), make.lib.tensor([[0, 3]]), 2),
        args(make(1, 1, 2), make.lib.tensor([[[0, 4]]]), 2, output_size=(5,)),
        args(make(1, 1, 2), make.lib.tensor([[[0, 3]]]), 2, 2, 0, (1, 1, 5)),
        args(make(1, 1, 2, layout="sliced"), make.lib.tensor([[[1, 2]]]), 3, 1, 0),
    ],
    errors=lambda make: [
        args(make(1, 1, 2), make.lib.tensor([[[0, 9]]]), 2),
        args(make(1, 1, 2), make.lib.tensor([[[0, 1, 2]]]), 2),
        args(make(1, 1, 2), make.lib.tensor([[[0, 1]]]), 2, output_size=(9,)),
    ],
    dtypes=FLOATS,
)
case(
    "nn.functional.max_unpool2d",
    lambda make: [
        args(make(1, 2, 1, 2), make.lib.tensor([[[[0, 3]], [[5, 2]]]]), 2),
        args(make(1, 1, 2), make.lib.tensor([[[0, 7]]]), 2),
        args(make(1, 1, 1, 2), make.lib.tensor([[[[0, 9]]]]), 2, output_size=(2, 5)),
        args(make(1, 1, 2, 2, layout="transposed"), make.lib.tensor([[[[0, 9], [4, 5]]]]), (2, 2), (2, 2), 0),
        args(make(1, 1, 1, 2, layout="sliced"), make.lib.tensor([[[[0, 3]]]]), 2, 2, (0, 1)),
    ],
    errors=lambda make: [
        args(make(1, 1, 1, 2), make.lib.tensor([[[[0, 9]]]]), 2),
        args(make(1, 1, 1, 2), make.lib.tensor([[[0, 1]]]), 2),
        args(make(1, 2), make.lib.tensor([[0, 1]]), 2),
    ],
    dtypes=FLOATS,
)
case(
    "nn.functional.max_unpool3d",
    lambda make: [
        args(make(1, 2, 1, 1, 2), make.lib.tensor([[[[[0, 3]]], [[[5, 2]]]]]), 2),
        args(make(1, 1, 1, 2), make.lib.tensor([[[[0, 15]]]]), 2),
        args(make(1, 1, 1, 1, 2), make.lib.tensor([[[[[0, 9]]]]]), 2, output_size=(2, 2, 5)),
        args(make(1, 1, 1, 2, 2, layout="transposed"), make.lib.tensor([[[[[0, 9], [4, 5]]]]]), (1, 2, 2), (1, 2, 2)),
        args(make(1, 1, 1, 1, 2, layout="sliced"), make.lib.tensor([[[[[0, 3]]]]]), 2),
    ],
    dtypes=FLOATS,
)
case(
    "nn.functional.lp_pool1d",
    lambda make: [
        args(make(1, 2, 4, low=0.5), 2, 2),
        args(make(2, 4, low=0.5), 3.0, 2, 1),
        args(make(1, 1, 5, low=0.5), 2, 2, ceil_mode=True),
        args(make(1, 2, 4, low=0.5, layout="transposed"), 1, 2),
        args(make(0, 2, 4), 2, 2),
    ],
    dtypes=FLOATS,
    strides=False,
)
case(
    "nn.functional.lp_pool2d",
    lambda make: [
        args(make(1, 2, 2, 4, low=0.5), 2, 2),
        args(make(1, 2, 4, low=0.5), 3.0, (1, 2), 1),
        args(make(1, 1, 2, 5, low=0.5), 2, 2, ceil_mode=True),
        args(make(1, 2, 2, 4, low=0.5, layout="transposed"), 1, 2),
        args(make(0, 2, 2, 4), 2, 2),
    ],
    dtypes=FLOATS,
    strides=False,
)
