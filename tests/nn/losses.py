"""Every loss of torch.nn in at least four configurations: how it is made, and what it is called with."""

from __future__ import annotations

from tests.nn.layers import each

REDUCTIONS = ("mean", "sum", "none")
CLASSES = "torch.tensor([0, 3, 1])"
SIGNS = "torch.tensor([1.0, -1, 1])"


def reduced(call: str, *losses: str) -> list[tuple[str, str]]:
    """Every loss with every reduction; a loss is given as "Name(first arguments"."""
    return [
        pair
        for loss in losses
        for how in REDUCTIONS
        for pair in each(call, f"{loss}, reduction={how!r})".replace("(, ", "("))
    ]


LOSSES = [
    *reduced(
        "x(3, 4), x(3, 4)",
        "L1Loss(", "MSELoss(", "SmoothL1Loss(", "SmoothL1Loss(beta=0.5", "HuberLoss(", "HuberLoss(delta=0.3",
        "BCEWithLogitsLoss(pos_weight=torch.tensor(2.0)", "BCEWithLogitsLoss(torch.tensor([1.0, 2, 3, 4])",
        "KLDivLoss(", "KLDivLoss(log_target=True", "PoissonNLLLoss(", "PoissonNLLLoss(False, True",
        "HingeEmbeddingLoss(", "HingeEmbeddingLoss(0.5", "MultiLabelSoftMarginLoss(",
        "MultiLabelSoftMarginLoss(torch.tensor([1.0, 2, 3, 4])",
    ),
    *each("x(3, 4), x(3, 4)", "L1Loss(reduce=False)", "MSELoss(size_average=False)", "KLDivLoss(reduction='batchmean')",
          "PoissonNLLLoss(eps=0.1, log_input=False)"),
    *each("x(), x()", "L1Loss()", "MSELoss()"),
    *reduced("x(3, 4).sigmoid(), x(3, 4).sigmoid()", "BCELoss(", "BCELoss(torch.tensor([1.0, 2, 3, 4])"),
    *reduced("x(3, 4), x(3, 4), x(3, 4).exp()", "GaussianNLLLoss(", "GaussianNLLLoss(full=True, eps=0.1"),
    *reduced(f"x(3, 4), {CLASSES}", "CrossEntropyLoss(", "CrossEntropyLoss(torch.tensor([1.0, 2, 3, 4])",
             "CrossEntropyLoss(ignore_index=3, label_smoothing=0.1", "MultiMarginLoss(", "MultiMarginLoss(2, 0.5",
             "MultiMarginLoss(1, 1.0, torch.tensor([1.0, 2, 3, 4])"),
    *reduced("x(3, 4, 2), torch.tensor([[0, 3], [1, 1], [2, 0]])", "CrossEntropyLoss(label_smoothing=0.2",
             "NLLLoss(torch.tensor([1.0, 2, 3, 4])"),
    *each("x(3, 4), x(3, 4).softmax(1)", "CrossEntropyLoss()", "CrossEntropyLoss(label_smoothing=0.1)"),
    *each("x(4), torch.tensor(2)", "CrossEntropyLoss()", "NLLLoss()", "MultiMarginLoss()"),
    *reduced(f"x(3, 4).log_softmax(1), {CLASSES}", "NLLLoss(", "NLLLoss(ignore_index=1"),
    *reduced("x(2, 4, 2, 1), torch.tensor([[[0], [3]], [[1], [1]]])", "NLLLoss2d("),
    *each(f"x(3, 4), {CLASSES}", "NLLLoss2d(torch.tensor([1.0, 2, 3, 4]))"),
    *reduced("x(2, 4), torch.tensor([[0, 3, -1, 1], [-1, 0, 0, 0]])", "MultiLabelMarginLoss("),
    *each("x(4), torch.tensor([2, 0, -1, 1])", "MultiLabelMarginLoss()"),
    *reduced(f"x(3), {SIGNS}", "SoftMarginLoss("),
    *each("x(2, 3), torch.ones(2, 3)", "SoftMarginLoss()"),
    *reduced(f"x(3), x(3), {SIGNS}", "MarginRankingLoss(", "MarginRankingLoss(0.3"),
    *reduced("x(3, 4), x(3, 4), torch.tensor([1, -1, 1])", "CosineEmbeddingLoss(", "CosineEmbeddingLoss(0.1"),
    *each("x(4), x(4), torch.tensor(-1)", "CosineEmbeddingLoss(-0.5)"),
    *reduced("x(3, 4), x(3, 4), x(3, 4)", "TripletMarginLoss(", "TripletMarginLoss(0.5, 1, swap=True",
             "TripletMarginWithDistanceLoss(",
             "TripletMarginWithDistanceLoss(distance_function=nn.L1Loss(reduction='none'), swap=True, margin=0.3"),
    *reduced("x(5, 2, 4).log_softmax(2), torch.tensor([[1, 2], [3, 1]]), (5, 4), (2, 1)", "CTCLoss("),
    *each("x(5, 4).log_softmax(1), torch.tensor([1, 1]), (2,), (2,)", "CTCLoss(3, zero_infinity=True)"),
    *each(f"x(3, 8), {CLASSES}", "AdaptiveLogSoftmaxWithLoss(8, 6, [2, 4])",
          "AdaptiveLogSoftmaxWithLoss(8, 6, [1], div_value=2.0, head_bias=True)",
          "AdaptiveLogSoftmaxWithLoss(8, 5, (4,))"),
    *reduced(f"x(3, 5), {CLASSES}", "LinearCrossEntropyLoss(5, 4",
             "LinearCrossEntropyLoss(5, 4, bias=True, ignore_index=3, label_smoothing=0.1",
             "LinearCrossEntropyLoss(5, 4, weight=torch.tensor([1.0, 2, 3, 4])",
             "LinearCrossEntropyLoss(5, 4, options=nn.LinearCrossEntropyOptions()",
             "LinearCrossEntropyLoss(5, 4, bias=True, options=nn.LinearCrossEntropyOptions(batch_chunk_size=2)",
             "LinearCrossEntropyLoss(5, 4, ignore_index=3, weight=torch.tensor([1.0, 2, 3, 4]), "
             "options=nn.LinearCrossEntropyOptions(True, chunking_method='aspect_ratio:3')"),
    *each("x(2, 5), torch.tensor([[1, 0], [2, 2]])", "LinearCrossEntropyLoss(5, 3, out_features=(2,), bias=True)"),
    *each("x(5), torch.tensor(2)", "LinearCrossEntropyLoss(5, 3)"),
    *each("x(8), torch.tensor(4)", "AdaptiveLogSoftmaxWithLoss(8, 6, [2, 4], 2)"),
]  # fmt: skip
