"""Sample inputs of normalization, embeddings, dropout, padding and attention."""

from __future__ import annotations

import math
from typing import Any

from tests.ops.case import Sample, args, case

FLOATS = "float32 float64"

case(
    "nn.functional.layer_norm",
    lambda make: [
        args(make(2, 3), (3,)),
        args(make(2, 3), [3], make(3), make(3)),
        args(make(2, 2, 3), (2, 3), make(2, 3), make(2, 3), 0.1),
        args(make(2, 3, layout="transposed"), (3,), make(3)),
        args(make(4, layout="sliced"), (4,), bias=make(4)),
        args(make(2, 3), (3,), eps=1e-3),
        args(make(0, 3), (3,), make(3), make(3)),
    ],
    errors=lambda make: [
        args(make(2, 3), (2,)),
        args(make(2, 3), ()),
        args(make(2, 3), (3,), make(2)),
        args(make(2, 3), (3,), make(3), make(2)),
        args(make(3), (2, 3)),
    ],
    dtypes="bfloat16 float32 float64",
    tolerance=10,
    strides=False,
)
case(
    "nn.functional.rms_norm",
    lambda make: [
        args(make(2, 3), (3,)),
        args(make(2, 3), [3], make(3)),
        args(make(2, 2, 3), (2, 3), make(2, 3), 0.1),
        args(make(2, 3, layout="transposed"), (3,), make(3)),
        args(make(4, layout="sliced"), (4,)),
        args(make(0, 3), (3,), make(3)),
    ],
    errors=lambda make: [
        args(make(2, 3), (2,)).type_only(),  # the sentence of layer_norm
        args(make(2, 3), ()),
        args(make(2, 3), (3,), make(2)),
    ],
    dtypes=FLOATS,
    tolerance=10,
    grad_fn=False,  # one fused node in torch
    strides=False,
)
case(
    "nn.functional.group_norm",
    lambda make: [
        args(make(2, 4), 2),
        args(make(2, 4, 2), 2, make(4), make(4)),
        args(make(1, 4, 2, 2), 1, make(4), make(4), 0.1),
        args(make(2, 4, 2, layout="transposed"), 4, make(4)),
        args(make(2, 4, 2, layout="sliced"), 2, make(4), make(4), eps=1e-3),
        args(make(0, 4, 2), 2, make(4), make(4)),
    ],
    errors=lambda make: [
        args(make(4), 2),
        args(make(2, 4), 3),
        args(make(2, 4), 2, make(2)),
        args(make(2, 4), 2, make(4), make(3)).type_only(),  # torch shows the weight's shape
        args(make(1, 4), 4),
    ],
    dtypes=FLOATS,
    tolerance=10,
    strides=False,
)


def batches(make: Any) -> list[Sample]:
    def channels() -> Any:
        return make(3, low=0.5, requires_grad=False)

    return [
        args(make(4, 3), channels(), channels()),
        args(make(4, 3), channels(), channels(), make(3), make(3), True),
        args(make(2, 3, 2), None, None, make(3), make(3), True, 0.2, 0.1),
        args(make(2, 3, 2, layout="transposed"), channels(), channels(), make(3), None, False),
        args(make(2, 3, 1, 2, layout="sliced"), channels(), channels(), None, make(3), True),
        args(make(0, 3, requires_grad=False), channels(), channels()),
    ]


case(
    "nn.functional.batch_norm",
    batches,
    errors=lambda make: [
        args(make(1, 3), None, None, training=True),
        args(make(2, 3), None, None),
        args(make(2, 3), None, make(3, requires_grad=False), training=True),
        args(make(2, 3), make(2, requires_grad=False), make(3, requires_grad=False)),
        args(make(2, 3), None, None, make(2), training=True),
    ],
    dtypes=FLOATS,
    tolerance=10,
    strides=False,
)
case(
    "nn.functional.instance_norm",
    lambda make: [
        args(make(2, 3, 2)),
        args(make(2, 3, 4), weight=make(3), bias=make(3), eps=0.1),
        args(make(1, 3, 2, 2, layout="transposed"), make(3, requires_grad=False), make(3, requires_grad=False)),
        args(make(2, 3, 2, layout="sliced"), make(3, requires_grad=False), make(3, low=0.5, requires_grad=False),
             use_input_stats=False),
        args(make(1, 3, 2), weight=make(3), momentum=0.2),
    ],
    errors=lambda make: [args(make(2, 3, 1))],
    dtypes=FLOATS,
    tolerance=10,
    strides=False,
)  # fmt: skip
case(
    "nn.functional.local_response_norm",
    lambda make: [
        args(make(2, 3, 2), 2),
        args(make(1, 4, 2), 3, 0.5, 1.0, 2.0),
        args(make(1, 3, 2, 2), 2, alpha=0.1),
        args(make(1, 3, 1, 2, 2), 3, alpha=0.1),
        args(make(1, 3, 2, layout="transposed"), 2, k=0.5),
        args(make(0, 3, 2), 2),
    ],
    errors=lambda make: [args(make(2, 3), 2)],
    dtypes=FLOATS,
    strides=False,
)
case(
    "nn.functional.normalize",
    lambda make: [
        args(make(2, 3)),
        args(make(2, 3), 1.0, 0),
        args(make(2, 3, layout="transposed"), p=3.0, dim=-1),
        args(make(2, 3), dim=(0, 1)),
        args(make(3, layout="sliced"), dim=0, eps=0.5),
        args(make(0, 3)),
        args(make.of([[0.0, 0.0]])).kink(),
    ],
    errors=lambda make: [args(make(2, 3), dim=2)],
    dtypes=FLOATS,
)
case(
    "nn.functional.embedding",
    lambda make: [
        args(make.index(3, below=4), make(4, 2)),
        args(make.index(2, 3, below=4), make(4, 2), 1).kink(),
        args(make.index(below=4), make(4, 2)),
        args(make.index(0, below=4), make(4, 2)),
        args(make.index(3, below=4), make(4, 0)),
        args(make.index(3, below=4), make(4, 2, layout="transposed"), padding_idx=-1).kink(),
        args(make.lib.tensor([1, 1, 0]), make(4, 2), scale_grad_by_freq=True).kink(),
        args(make.index(3, below=4), make(4, 2, requires_grad=False), max_norm=0.5),
        args(make.index(3, below=4).int(), make(4, 2)),
    ],
    errors=lambda make: [
        args(make.lib.tensor([4]), make(4, 2)),
        args(make.lib.tensor([-1]), make(4, 2)),
        args(make.lib.tensor([0]), make(4)),
        args(make.lib.tensor([0]), make(4, 2), 4),
        args(make.lib.tensor([0.0]), make(4, 2)),
        args([0], make(4, 2)).type_only(),  # PyTorch counts the arguments as torch.embedding has them
        args(make.index(3, below=4), [[1.0]]).type_only(),
    ],
    dtypes="int64 bfloat16 float32 float64",
    strides=False,
)
case(
    "nn.functional.embedding_bag",
    lambda make: [
        args(make.index(2, 3, below=4), make(4, 2)),
        args(make.index(2, 3, below=4), make(4, 2), mode="sum"),
        args(make.index(2, 3, below=4), make(4, 2), mode="max"),
        args(make.index(4, below=4), make(4, 2), make.lib.tensor([0, 2, 2])),
        args(make.index(4, below=4), make(4, 2), make.lib.tensor([0, 0, 2, 4]), mode="max"),
        args(make.index(4, below=4), make(4, 2), make.lib.tensor([0, 1, 4]), include_last_offset=True),
        args(make.index(4, below=4).int(), make(4, 2), make.lib.tensor([0, 1, 4]).int()),
        args(make.index(2, 3, below=4), make(4, 2), mode="sum", per_sample_weights=make(2, 3)),
        args(make.lib.tensor([[1, 0, 1], [1, 1, 1]]), make(4, 2, layout="transposed"), padding_idx=1, mode="sum"),
        args(make.lib.tensor([[1, 0, 1], [1, 1, 1]]), make(4, 2), padding_idx=1),
        args(make.lib.tensor([[1, 0, 2], [1, 1, 1], [3, 1, 1]]), make(4, 2), padding_idx=-3, mode="max"),
        args(make.lib.tensor([1, 1, 0]), make(2, 2), make.lib.tensor([0, 2]), scale_grad_by_freq=True).kink(),
        args(make.lib.tensor([1, 1, 0]), make(2, 2, requires_grad=False), make.lib.tensor([0, 2]), max_norm=0.5),
        args(make.lib.tensor([[0, 1], [1, 0]]), make.of([[1.0, 2.0], [1.0, 2.0]]), mode="max").kink(),  # ties
        args(make.index(0, below=1), make(4, 2), make.lib.tensor([0, 0])),
        args(make.index(0, 3, below=1), make(4, 2), mode="sum"),
    ],
    errors=lambda make: [
        args(make.index(4, below=4), make(4, 2)),
        args(make.index(2, 3, below=4), make(4, 2), make.lib.tensor([0])),
        args(make.index(2, 3, below=4), make(4, 2), mode="min"),
        args(make.index(2, 3, below=4), make(4, 2), per_sample_weights=make(2, 3)),
        args(make.index(2, 3, below=4), make(4, 2), mode="sum", per_sample_weights=make(3)),
        args(make.index(3, below=4), make(4, 2), make.lib.tensor([0]), mode="sum",
             per_sample_weights=make(3, dtype="float64")),
        args(make.index(1, 2, 3, below=4), make(4, 2)),
        args(make.index(2, 3, below=4), make(4)),
        args(make.index(2, 3, below=4), make(4, 2), mode="max", scale_grad_by_freq=True),
        args(make.index(2, 3, below=4), make(4, 2), mode="max", sparse=True),
        args(make.index(3, below=4), make(4, 2), make.lib.tensor([1])).type_only(),  # torch adds an empty tensor
        args(make.index(3, below=4), make(4, 2), make.lib.tensor([0, 4])),
        args(make.index(3, below=4), make(4, 2), make.lib.tensor([[0]])),
        args(make.index(3, below=4), make(4, 2), make.lib.tensor([0.0])),
        args(make.index(3, below=4), make(4, 2), make.index(0, below=1), include_last_offset=True),
        args(make.lib.tensor([0, 4]), make(4, 2), make.lib.tensor([0])),
    ],
    dtypes=FLOATS,
    strides=False,
)  # fmt: skip
case(
    "nn.functional.bilinear",
    lambda make: [
        args(make(2, 2), make(2, 3), make(2, 2, 3), make(2)),
        args(make(2, 2), make(2, 3), make(2, 2, 3)),
        args(make(2), make(3), make(2, 2, 3), make(2)),
        args(make(2, 1, 2), make(2, 1, 3), make(1, 2, 3), make(1)),
        args(make(2, 2, layout="transposed"), make(2, 3), make(2, 2, 3, layout="sliced")),
        args(make(0, 2), make(0, 3), make(2, 2, 3)),
    ],
    errors=lambda make: [
        args(make(2, 2), make(3, 3), make(2, 2, 3)),
        args(make(2, 2), make(3), make(2, 2, 3)),
        args(make(2, 2), make(2, 3), make(2, 2, 3), make(3)),
        args(make(2, 3), make(2, 3), make(2, 2, 3)),
        args(make(2, 2), make(2, 2), make(2, 2, 3)),
    ],
    dtypes=FLOATS,
    strides=False,
)


def drops(*shape: int) -> Any:
    return lambda make: [
        args(make(*shape), training=True),
        args(make(*shape), 0.2, True),
        args(make(*shape), 0.0, True),
        args(make(*shape), 1.0, True),
        args(make(*shape), 0.5, False),
        args(make(*shape, layout="transposed"), 0.3, True),
        args(make(0, *shape[1:]), 0.3, True),
        args(make(*shape, requires_grad=False), 0.3, True, True),
    ]


def wrong_probability(*shape: int) -> Any:
    return lambda make: [args(make(*shape), -0.1), args(make(*shape), 1.5)]


case("nn.functional.dropout", drops(2, 3), errors=wrong_probability(2, 3), dtypes="int64 bfloat16 float32 float64")
# A product with noise of another layout may have either.
case("nn.functional.alpha_dropout", drops(2, 3), errors=wrong_probability(2, 3), dtypes=FLOATS, strides=False)
case("nn.functional.dropout1d", drops(2, 3, 2), errors=wrong_probability(2, 3, 2), dtypes=FLOATS, strides=False)
case("nn.functional.dropout2d", drops(2, 3, 2, 1), errors=wrong_probability(2, 3, 2, 1), dtypes=FLOATS, strides=False)
case(
    "nn.functional.dropout3d",
    drops(2, 2, 2, 1, 1),
    errors=wrong_probability(2, 2, 2, 1, 1),
    dtypes=FLOATS,
    strides=False,
)
case(
    "nn.functional.feature_alpha_dropout",
    drops(2, 3, 2),
    errors=wrong_probability(2, 3, 2),
    dtypes=FLOATS,
    strides=False,
)
case(
    "constant_pad_nd",
    lambda make: [
        args(make(2, 3), (1, 2)),
        args(make(2, 3), (1, 0, 0, 2), 1.0),
        args(make(2, 3), (-1, 1), 2),
        args(make(), ()),
        args(make(0, 3), (1, 1)),
    ],
    errors=lambda make: [args(make(2, 3), (1,)), args(make(2, 3), (-2, -2)), args(make(2), (1, 1, 1, 1))],
)
case(
    "nn.functional.pad",
    lambda make: [
        args(make(2, 3), (1, 2)),
        args(make(2, 3), (1, 0, 0, 2), "constant", 1.0),
        args(make(2, 3), (-1, 1)),
        args(make(2, 3, layout="transposed"), (0, 0)),
        args(make(1, 2, 4), (1, 2), mode="reflect"),
        args(make(2, 4), (3, 0), mode="reflect"),
        args(make(1, 1, 3, 3), (1, 2, 2, 0), mode="reflect"),
        args(make(1, 2, 3, layout="transposed"), (2, 4), mode="replicate"),
        args(make(1, 2, 2, 2), (1, 0, 1, 1, 0, 1), mode="replicate"),
        args(make(1, 2, 3, layout="sliced"), (1, 3), mode="circular"),
        args(make(1, 1, 2, 3), (1, 1, 2, 1), mode="circular"),
        args(make(1, 2, 5), (-2, 3), mode="circular"),
        args(make(1, 2, 5), (2, -1), mode="reflect"),
        args(make(1, 2, 5), (-2, 7), mode="replicate"),
        args(make(), ()),
        args(make(0, 3), (1, 1)),
    ],
    errors=lambda make: [
        args(make(2, 3), (1,)),
        args(make(3), (1, 1, 1, 1)),
        args(make(2, 3), (-2, -2)),
        args(make(1, 2, 3), (3, 0), mode="reflect"),
        args(make(1, 2, 3), (4, 0), mode="circular"),
        args(make(1, 2, 3), (-2, -2), mode="circular"),
        args(make(1, 2, 3), (1, -4), mode="reflect"),
        args(make(1, 2, 3), (-3, 0), mode="replicate"),
        args(make(3), (1, 1), mode="reflect"),
        args(make(2, 3), (1, 1), mode="mirror"),
        args(make(2, 3), (1, 1), mode="reflect", value=1.0),
    ],
    dtypes="bool int64 bfloat16 float32 float64",
    strides=False,
)
case(
    "nn.functional.scaled_dot_product_attention",
    lambda make: [
        args(make(2, 3), make(4, 3), make(4, 2)),
        args(make(1, 2, 2, 3), make(1, 2, 2, 3), make(1, 2, 2, 3)),
        args(make(1, 2, 3), make(1, 3, 3), make(1, 3, 3), make.lib.tensor([[True, False, True], [False, True, True]])),
        args(make(1, 2, 3), make(1, 3, 3), make(1, 3, 3), make(2, 3)),
        args(make(1, 3, 2), make(1, 3, 2), make(1, 3, 2), is_causal=True),
        args(*[make(1, 2, 2, 3) for _ in range(3)], make(2, 2).detach(), is_causal=True).kink(),
        args(*[make(1, 1, 2, 3) for _ in range(3)], make.lib.tensor([[False, True], [True, True]]), is_causal=True),
        args(make(1, 2, 3, layout="transposed"), make(1, 3, 3), make(1, 3, 3), scale=0.5),
        args(make(1, 2, 3), make(1, 3, 3), make(1, 3, 3), scale=-0.5),
        args(make(1, 4, 2, 2), make(1, 2, 2, 2), make(1, 2, 2, 2), enable_gqa=True),
        args(make(1, 2, 3), make(1, 2, 3), make(1, 2, 3), make.lib.tensor([[False, False], [True, False]])),
        args(make(1, 2, 3), make(1, 2, 3), make(1, 2, 3), make.of([[-math.inf, -math.inf], [0.5, -math.inf]])).kink(),
    ],
    errors=lambda make: [
        args(make(2, 2), make(2, 2), make(2, 2), make(2, 2), is_causal=True),
        args(make(1, 2, 2, 3), make(1, 1, 2, 3), make(1, 1, 2, 3), make(2, 2), is_causal=True, enable_gqa=True),
        args(*[make(1, 1, 2, 3) for _ in range(3)], make(2, 2), 0.5, is_causal=True),
        args(make(2), make(2, 2), make(2, 2)),
    ],
    dtypes=FLOATS,
    tolerance=10,
    strides=False,
    grad_fn=False,  # one fused node in torch
)


def attention(make: Any, mask: Any = None, padding: Any = None, extra: bool = False, **options: Any) -> Sample:
    """Of width 2 in two heads: 2 queries and 3 keys in each of 2 batches."""
    return args(
        make(2, 2, 2), make(3, 2, 2), make(3, 2, 2), 2, 2, make(6, 2), make(6),
        *([make(1, 1, 2), make(1, 1, 2)] if extra else [None, None]), extra, 0.0, make(2, 2), make(2),
        attn_mask=mask, key_padding_mask=padding, **options,
    )  # fmt: skip


case(
    "nn.functional.multi_head_attention_forward",
    lambda make: [
        attention(make),
        attention(make, make.lib.tensor([[False, True, False], [False, False, True]]), need_weights=False),
        attention(make, make(2, 3, requires_grad=False), average_attn_weights=False),
        attention(make, padding=make.lib.tensor([[False, False, True], [False, True, False]])),
        attention(make, padding=make.lib.tensor([[False, False, True]] * 2), extra=True),
        attention(make, padding=make.lib.tensor([[True, True, True], [False, False, True]])).kink(),
        attention(make, padding=make.lib.tensor([[True, True, True], [False, False, True]]), need_weights=False),
        args(make(2, 2), make(3, 2), make(3, 2), 2, 1, make(6, 2), None, None, None, False, 0.0, make(2, 2), None),
        args(make(2, 1, 2), make(3, 1, 3), make(3, 1, 1), 2, 1, None, make(6), None, None, False, 0.0, make(2, 2), None,
             use_separate_proj_weight=True, q_proj_weight=make(2, 2), k_proj_weight=make(2, 3),
             v_proj_weight=make(2, 1)),
    ],
    errors=lambda make: [
        attention(make, make.mask(3, 3)),
        attention(make, make.mask(1, 1, 2, 3)),
        attention(make, is_causal=True),
        attention(make, padding=make.mask(3)),
        args(make(2, 2), make(3, 1, 2), make(3, 1, 2), 2, 1, make(6, 2), *[None] * 3, False, 0.0, make(2, 2), None),
        args(make(2, 2), make(3, 2), make(3, 2), 3, 1, make(6, 2), None, None, None, False, 0.0, make(2, 2), None),
        args(make(2, 2), make(3, 2), make(3, 2), 2, 4, make(6, 2), None, None, None, False, 0.0, make(2, 2), None),
    ],
    dtypes=FLOATS,
    tolerance=10,
    strides=False,
)  # fmt: skip
