"""Sample inputs of the losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ops.case import Sample, args, case

NAN, INF = float("nan"), float("inf")
FLOATS = "float32 float64"


def pairs(low: float = -2, high: float = 2, constant_target: bool = False) -> Callable[[Any], list[Sample]]:
    """An input and a target of its shape, in every layout, with every reduction."""

    def samples(make: Any) -> list[Sample]:
        def both(*shape: int, layout: str = "contiguous", **options: Any) -> Sample:
            target = make(*shape, low=low, high=high, requires_grad=not constant_target)
            return args(make(*shape, low=low, high=high, layout=layout), target, **options)

        return [
            both(2, 3),
            both(2, 3, reduction="sum"),
            both(2, 3, reduction="none"),
            both(2, 3, layout="transposed", reduction="none"),
            both(2, 3, layout="sliced"),
            both(),
            both(0, 3),
            both(0, 3, reduction="none"),
            both(2, 3, reduce=False),
            both(2, 3, size_average=False),
        ]

    return samples


def unknown_reduction(make: Any) -> list[Sample]:
    return [args(make(2), make(2), reduction="max")]


def mismatched(make: Any) -> list[Sample]:
    return [*unknown_reduction(make), args(make(2), make(3))]


case(
    "nn.functional.mse_loss",
    lambda make: [
        *pairs()(make),
        args(make(2, 3), make(3)),
        args(make(2, 3), make(2, 3), weight=make(2, 3, low=1, requires_grad=False)),
        args(make(2, 3), make(2, 3), weight=make(2, 3, low=1, requires_grad=False), reduction="none"),
        args(make(2, 3), make(2, 3, dtype="float64")),
    ],
    errors=mismatched,
    dtypes="int64 float16 bfloat16 float32 float64",
    strides=False,
)
case(
    "nn.functional.l1_loss",
    lambda make: [
        *pairs()(make),
        args(make(2, 3), make(3)),
        args(make(2, 3), make(2, 3), weight=make(2, 3, low=1, requires_grad=False)),
        args(make.of([1.0, 2.0, NAN]), make.of([1.0, 1.0, 1.0])).kink(),
    ],
    errors=mismatched,
    dtypes="float16 bfloat16 float32 float64",
)
case(
    "nn.functional.smooth_l1_loss",
    lambda make: [
        *pairs()(make),
        args(make(2, 3), make(2, 3), beta=0.5),
        args(make(2, 3), make(2, 3), beta=0.0),
        args(make.of([1.0, 2.0, 3.0]), make.of([0.0, 3.0, 3.0]), reduction="none").kink(),
    ],
    errors=lambda make: [*mismatched(make), args(make(2), make(2), beta=-1.0)],
    dtypes="int64 bfloat16 float32 float64",
)
case(
    "nn.functional.huber_loss",
    lambda make: [
        *pairs()(make)[:-2],
        args(make(2, 3), make(2, 3), delta=0.5),
        args(make(2, 3), make(2, 3), "none", 2.0),
        args(make(2, 3), make(2, 3), weight=make(2, 3, low=1, requires_grad=False)),
        args(make.of([1.0, 2.0, 3.0]), make.of([0.0, 3.0, 3.0]), reduction="none").kink(),
    ],
    errors=lambda make: [*mismatched(make), args(make(2), make(2), delta=0.0)],
    dtypes="int64 bfloat16 float32 float64",
)
case(
    "nn.functional.poisson_nll_loss",
    lambda make: [
        *pairs(0.1, 2)(make),
        args(make(2, 3, low=0.5), make(2, 3, low=0.5), log_input=False),
        args(make(2, 3), make(2, 3, low=1.5, high=4), full=True),
        args(make.of([0.5, 0.5, 0.5]), make.of([0.0, 1.0, 3.0], requires_grad=False), full=True).kink(),
    ],
    errors=mismatched,
    dtypes=FLOATS,
)
case(
    "nn.functional.gaussian_nll_loss",
    lambda make: [
        args(make(2, 3), make(2, 3), make(2, 3, low=0.5)),
        args(make(2, 3), make(2, 3), make(2, 1, low=0.5)),
        args(make(2, 3), make(2, 3), make(2, low=0.5), full=True),
        args(make(2, 3, layout="transposed"), make(2, 3), make(2, 3, low=0.5), reduction="none"),
        args(make(2, 3), make(2, 3), 0.5, reduction="sum"),
        args(make(2, 3), make(2, 3), make(2, 3, low=0, high=1), eps=2.0).kink(),
        args(make(0, 3), make(0, 3), make(0, 3)),
    ],
    errors=lambda make: [
        args(make(2), make(2), make(2, low=-2, high=-1)),
        args(make(2), make(2), -1.0),
        args(make(2, 3), make(2, 3), make(3, low=1)),
        args(make(2), make(2), make(2, low=1), reduction="max"),
    ],
    dtypes=FLOATS,
)


def classes(make: Any) -> list[Sample]:
    """Scores of classes, and the right class of each."""
    weight = make(3, low=0.5, requires_grad=False)
    ignoring = make.lib.tensor([0, -100, 2, 1])
    return [
        args(make(4, 3), make.index(4, below=3)),
        args(make(4, 3), make.index(4, below=3), reduction="sum"),
        args(make(4, 3), make.index(4, below=3), reduction="none"),
        args(make(4, 3, layout="transposed"), make.index(4, below=3), weight),
        args(make(4, 3), make.index(4, below=3), weight, reduction="none"),
        args(make(4, 3), ignoring),
        args(make(4, 3), ignoring, weight),
        args(make(4, 3), ignoring, reduction="none"),
        args(make(4, 3), make.index(4, below=3), ignore_index=1),
        args(make(2, 3, 2), make.index(2, 2, below=3)),
        args(make(2, 3, 2, 2), make.index(2, 2, 2, below=3), weight),
        args(make(2, 3, 2, 2), make.index(2, 2, 2, below=3), weight, reduction="none"),
        args(make(2, 3, 1, 2, 1), make.index(2, 1, 2, 1, below=3)),
        args(make(3), make.index(below=3)),
        args(make(3), make.index(below=3), reduction="none"),
        args(make(0, 3), make.index(0, below=3)),
        args(make(2, 3), make.lib.tensor([-100, -100])).kink(),
        args(make(3, requires_grad=False), make.index(1, below=3), reduction="none"),
        *(
            args(
                make.of([[-INF, 0.5], [0.5, 1.5]]), make.lib.tensor([0, 1]), ignore_index=0, reduction=reduction
            ).kink()
            for reduction in ("none", "sum", "mean")
        ),
    ]


def wrong_classes(make: Any) -> list[Sample]:
    return [
        args(make(4, 3), make.index(3, below=3)),
        args(make(2, 3), make.lib.tensor([0, 3])),
        args(make(2, 3), make.lib.tensor([-1, 0])),
        args(make(2, 3), make.index(2, below=3), make(2, requires_grad=False)),
        args(make(2, 3), make.lib.tensor([0.0, 1.0])),
        args(make(2, 3), make.index(2, 2, below=3)),
        args(make(2, 3, 2), make.index(2, 3, below=3)),
        args(make(2, 3), make.index(2, below=3), reduction="max"),
    ]


case("nn.functional.nll_loss", classes, errors=wrong_classes, dtypes="int64 bfloat16 float32 float64")
case(
    "nn.functional.cross_entropy",
    lambda make: [
        *classes(make),
        args(make(4, 3), make.index(4, below=3), label_smoothing=0.2),
        args(make(4, 3), make.lib.tensor([0, -100, 2, 1]), make(3, low=0.5, requires_grad=False), label_smoothing=0.2),
        args(make(4, 3), make.index(4, below=3), reduction="none", label_smoothing=0.2),
        args(make(4, 3), make(4, 3, low=0, high=1)),
        args(make(4, 3), make(4, 3, low=0, high=1), make(3, low=0.5, requires_grad=False), label_smoothing=0.2),
        args(make(2, 3, 2), make(2, 3, 2, low=0, high=1), reduction="none"),
        args(make(2, 3, 2), make(2, 3, 2, low=0, high=1), reduction="sum"),
        args(make(3), make(3, low=0, high=1)),
    ],
    errors=lambda make: [
        *wrong_classes(make),
        args(make(2, 3), make.index(2, below=3), label_smoothing=1.5),
        args(make(2, 3), make.index(2, 3, below=3)),
        args(make(), make.lib.tensor(0)),
        args(make(2, 3), make(2, 3), ignore_index=0),
        args(make(2, 3), [0, 1]),
    ],
    dtypes=FLOATS,
)
case(
    "nn.functional.binary_cross_entropy",
    lambda make: [
        *pairs(0.1, 0.9)(make),
        args(make(2, 3, low=0.1, high=0.9), make(2, 3, low=0, high=1), make(3, low=0.5, requires_grad=False)),
        args(make(2, low=0.1, high=0.9), make(2, low=0, high=1), make(2, requires_grad=False), reduction="none"),
        args(make.of([0.0, 1.0, 0.0, 1.0]), make.of([0.0, 1.0, 1.0, 0.0], requires_grad=False)).kink(),
    ],
    errors=lambda make: [
        args(make(2, low=0, high=1), make(2), reduction="max"),
        args(make(2), make(3)),
        args(make.of([1.5]), make(1)),
    ],
    dtypes=FLOATS,
)
case(
    "nn.functional.binary_cross_entropy_with_logits",
    lambda make: [
        *pairs()(make),
        args(make(2, 3), make(2, 3), make(3, low=0.5, requires_grad=False)),
        args(make(2, 3), make(2, 3), pos_weight=make(3, low=0.5, requires_grad=False)),
        args(make(2, 3), make(2, 3), make(2, 1, requires_grad=False), pos_weight=make(3, requires_grad=False)),
        args(make.of([100.0, -100.0, INF]), make.of([0.0, 1.0, 1.0], requires_grad=False), reduction="none").kink(),
    ],
    errors=mismatched,
    dtypes=FLOATS,
)
case(
    "nn.functional.kl_div",
    lambda make: [
        *pairs(0.1, 1)(make),
        args(make(2, 3), make(2, 3, low=0.1), reduction="batchmean"),
        args(make(2, 3), make(2, 3), log_target=True),
        args(make(2, 3), make(2, 3), reduction="none", log_target=True),
        args(make(2, 3), make(3, low=0.1)),
        args(make(2, 2), make.of([[0.0, 1.0], [0.0, 0.5]])).kink(),
    ],
    errors=unknown_reduction,
    dtypes=FLOATS,
)
case(
    "nn.functional.soft_margin_loss",
    pairs(constant_target=True),
    errors=unknown_reduction,
    dtypes=FLOATS,
)
case(
    "nn.functional.hinge_embedding_loss",
    lambda make: [
        args(make(4), make.lib.tensor([1, -1, 1, -1])),
        args(make(2, 2), make.lib.tensor([1, -1]), margin=0.5),
        args(make(2, 2, layout="transposed"), make.lib.tensor([[1, -1], [-1, 1]]), reduction="none"),
        args(make(), make.lib.tensor(-1), reduction="sum"),
        args(make(0), make.index(0, below=1)),
        args(make.of([1.0, 2.0]), make.lib.tensor([-1, -1])).kink(),
    ],
    errors=unknown_reduction,
    dtypes=FLOATS,
)
case(
    "nn.functional.margin_ranking_loss",
    lambda make: [
        args(make(3), make(3), make.lib.tensor([1, -1, 1])),
        args(make(3), make(3), make.lib.tensor([1, -1, 1]), margin=0.5, reduction="sum"),
        args(make(2, 2, layout="transposed"), make(2, 2), make.lib.tensor([[1, -1], [-1, 1]]), reduction="none"),
        args(make(), make(), make.lib.tensor(1)),
        args(make(0), make(0), make.index(0, below=1)),
        args(make.of([1.0]), make.of([1.0]), make.lib.tensor([1])).kink(),
    ],
    errors=lambda make: [args(make(2, 2), make(2, 2), make(2)), args(make(2), make(2), make(2), reduction="max")],
    dtypes=FLOATS,
)
case(
    "nn.functional.multi_margin_loss",
    lambda make: [
        args(make(4, 3), make.index(4, below=3)),
        args(make(4, 3), make.index(4, below=3), p=2, margin=0.5),
        args(make(4, 3, layout="transposed"), make.index(4, below=3), reduction="none"),
        args(make(4, 3), make.index(4, below=3), weight=make(3, low=0.5, requires_grad=False), reduction="sum"),
        args(make(3), make.index(below=3)),
        args(make.of([[1.0, 2.0, 1.0]]), make.lib.tensor([1])).kink(),
    ],
    errors=lambda make: [
        args(make(2, 3), make.lib.tensor([0, 3])),
        args(make(2, 3), make.index(3, below=3)),
        args(make(2, 3), make.index(2, below=3), p=3),
        args(make(2, 3), make.index(2, below=3), weight=make(2, requires_grad=False)),
        args(make(2, 2, 2), make.index(2, below=2)),
    ],
    dtypes=FLOATS,
)
case(
    "nn.functional.multilabel_margin_loss",
    lambda make: [
        args(make(2, 3), make.lib.tensor([[0, 2, -1], [1, -1, 0]])),
        args(make(2, 3), make.lib.tensor([[0, 2, -1], [1, -1, 0]]), reduction="sum"),
        args(make(2, 3, layout="transposed"), make.lib.tensor([[0, 1, 2], [-1, 0, 1]]), reduction="none"),
        args(make(3), make.lib.tensor([1, 0, -1])),
        args(make(1, 3), make.lib.tensor([[2, 2, -1]])),
        args(make.of([[1.0, 2.0, 1.0]]), make.lib.tensor([[1, -1, -1]])).kink(),
    ],
    errors=lambda make: [
        args(make(2, 3), make.index(2, 2, below=3)),
        args(make(2, 3), make.lib.tensor([[0, 3, -1], [0, 1, 2]])),
    ],
    dtypes=FLOATS,
)
case(
    "nn.functional.multilabel_soft_margin_loss",
    lambda make: [
        *pairs()(make)[:5],
        args(make(3), make(3)),
        args(make(2, 3), make(2, 3), make(3, low=0.5, requires_grad=False)),
        args(make(2, 2, 3), make(2, 2, 3), reduction="none"),
    ],
    errors=unknown_reduction,
    dtypes=FLOATS,
)
case(
    "nn.functional.cosine_embedding_loss",
    lambda make: [
        args(make(2, 3), make(2, 3), make.lib.tensor([1, -1])),
        args(make(2, 3), make(2, 3), make.lib.tensor([1, -1]), margin=0.5, reduction="none"),
        args(make(2, 3, layout="transposed"), make(2, 3), make.lib.tensor([-1, -1]), reduction="sum"),
        args(make(3), make(3), make.lib.tensor(1)),
        args(make(0, 3), make(0, 3), make.index(0, below=1)),
    ],
    errors=lambda make: [
        args(make(2, 3), make(2, 3), make.lib.tensor([[1], [1]])),
        args(make(2, 3), make(2, 3), make.lib.tensor([1, 1]), reduction="max"),
        args(make(2, 3), make(2, 3), make.lib.tensor(1)),
    ],
    dtypes=FLOATS,
)


def triplets(make: Any) -> list[Sample]:
    return [
        args(make(2, 3), make(2, 3), make(2, 3)),
        args(make(2, 3), make(2, 3), make(2, 3), swap=True, reduction="none"),
        args(make(2, 3, layout="transposed"), make(2, 3), make(2, 3), margin=2.0, reduction="sum"),
        args(make(3), make(3), make(3)),
        args(make(2, 3), make(1, 3), make(2, 3), reduction="none"),
    ]


case(
    "nn.functional.triplet_margin_loss",
    lambda make: [*triplets(make), args(make(2, 3), make(2, 3), make(2, 3), p=1.0, eps=0.1)],
    errors=lambda make: [
        args(make(2), make(2), make(2), margin=-1.0),
        args(make(2), make(2), make(2), reduction="max"),
        args(make(2, 3), make(2, 3), make(3)),
    ],
    dtypes=FLOATS,
)
case(
    "nn.functional.triplet_margin_with_distance_loss",
    lambda make: [
        *triplets(make),
        args(make(2, 3), make(2, 3), make(2, 3), distance_function=lambda a, b: (a - b).pow(2).sum(-1)),
    ],
    errors=lambda make: [args(make(2), make(2), make(2), margin=-1.0)],
    dtypes=FLOATS,
)
