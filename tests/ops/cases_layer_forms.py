"""Sample inputs of the functions of layers in `torch`, whose parameters aren't always those of `nn.functional`."""

from __future__ import annotations

from tests.ops.case import UNTESTED, args, case

FLOAT = "float32 float64"

for name in ("adaptive_avg_pool1d", "avg_pool1d", "bilinear", "rms_norm"):
    UNTESTED[name] = f"the same function as nn.functional.{name}"
case(
    "max_pool1d",
    lambda make: [
        args(make(2, 2, 6), 2),
        args(make(2, 5, layout="transposed"), [3], stride=1, padding=1, dilation=1, ceil_mode=False),
        args(make(2, 2, 7), 3, 2, 1, 2, True),
    ],
    dtypes=FLOAT,
    strides=False,
)
case(
    "max_pool2d",
    lambda make: [
        args(make(1, 2, 4, 4), 2),
        args(make(2, 5, 5), 3, 2, ceil_mode=True),
        args(make(1, 1, 5, 4), (2, 1), padding=(1, 0), dilation=2),
    ],
    dtypes=FLOAT,
)
case(
    "max_pool3d",
    lambda make: [
        args(make(1, 1, 4, 4, 4), 2),
        args(make(1, 3, 5, 3), 3, padding=1),
        args(make(1, 2, 3, 4, 3), (1, 2, 2), 1),
    ],
    dtypes=FLOAT,
)
case(
    "adaptive_max_pool1d",
    lambda make: [args(make(2, 2, 6), 2), args(make(2, 5), (3,)), args(make(1, 3, 4), 1)],
    dtypes=FLOAT,
)
case(
    "dropout dropout_ alpha_dropout alpha_dropout_ feature_alpha_dropout feature_alpha_dropout_",
    lambda make: [
        args(make(2, 3, 2), 0.5, True),
        args(make(2, 3, 2), p=0.5, train=False),
        args(make(2, 3, 2, layout="transposed"), 0.0, True),
        args(make(2, 3, 2), 1.0, True),
        args(make(0, 3, 2), 0.5, True),
    ],
    errors=lambda make: [args(make(2, 3), 1.5, True), args(make(2, 3), -1.0, True)],
    dtypes=FLOAT,
    strides=False,
)
case(
    "embedding",
    lambda make: [
        args(make(4, 3), make.index(5, below=4)),
        args(make(4, 3, layout="transposed"), make.index(2, 2, below=4), 2),
        args(make(4, 3), indices=make.index(5, below=4), padding_idx=-1, scale_grad_by_freq=True),
        args(make(4, 3), make.index(0, below=4)),
    ],
    dtypes=FLOAT,
    gradcheck=False,  # the gradient is scaled, and that of a padding row is zero, as torch's
)
case(
    "layer_norm",
    lambda make: [
        args(make(2, 3), (3,)),
        args(make(2, 3, layout="transposed"), [2, 3], make(2, 3), make(2, 3), 1e-3, False),
        args(make(2, 3), normalized_shape=(3,), weight=make(3), eps=0.1, cudnn_enable=True),
    ],
    dtypes=FLOAT,
    tolerance=10,
)
case(
    "group_norm",
    lambda make: [
        args(make(2, 4, 3), 2),
        args(make(2, 4, layout="transposed"), 4, make(4), make(4), 1e-3, False),
        args(make(2, 4, 3), num_groups=1, weight=make(4), eps=0.1, cudnn_enabled=True),
    ],
    dtypes=FLOAT,
    tolerance=10,
)
case(
    "batch_norm instance_norm",
    lambda make: [
        args(make(3, 2, 4), make(2), make(2), None, None, True, 0.1, 1e-5, True),
        args(
            make(3, 2, 4),
            None,
            None,
            make(2, requires_grad=False),
            make(2, low=1, requires_grad=False),
            False,
            0.1,
            1e-5,
            False,
        ),
        args(
            make(3, 2, 4, layout="transposed"), None, None, None, None, True, momentum=0.1, eps=0.1, cudnn_enabled=False
        ),
    ],
    dtypes=FLOAT,
    tolerance=20,
    strides=False,
)
