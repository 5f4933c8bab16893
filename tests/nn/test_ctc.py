"""ctc_loss by its definition: the sum over all alignments, one by one."""

from __future__ import annotations

import itertools
import math

import pytest

import minitorch as torch
from minitorch.nn import functional as F


def collapsed(path: tuple[int, ...]) -> list[int]:
    """What an alignment says: repetitions once, and no blanks."""
    return [label for label, _ in itertools.groupby(path) if label != 0]


def likelihood(probabilities: list[list[float]], target: list[int]) -> float:
    classes = range(len(probabilities[0]))
    paths = itertools.product(classes, repeat=len(probabilities))
    return sum(
        math.prod(row[label] for row, label in zip(probabilities, path, strict=True))
        for path in paths
        if collapsed(path) == target
    )


@pytest.mark.parametrize("target", [[], [1], [1, 2], [1, 1], [2, 1, 2], [1, 1, 1]])
def test_loss_sums_over_all_alignments(target: list[int]) -> None:
    torch.manual_seed(0)
    log_probs = torch.randn(5, 1, 3, dtype=torch.float64).log_softmax(2)
    loss = F.ctc_loss(log_probs, torch.tensor([target], dtype=torch.int64), (5,), (len(target),), reduction="sum")
    assert loss.item() == pytest.approx(-math.log(likelihood(log_probs[:, 0].exp().tolist(), target)))


def test_gradient_is_that_of_the_logits() -> None:
    torch.manual_seed(0)
    logits = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)

    def loss(logits: torch.Tensor) -> torch.Tensor:
        return F.ctc_loss(logits.log_softmax(2), torch.tensor([1, 1, 2, 1]), (5, 4), (3, 1), reduction="none")

    assert torch.autograd.gradcheck(loss, (logits,))


def test_gradient_has_no_gradient() -> None:
    log_probs = torch.zeros(3, 1, 2, requires_grad=True)
    loss = F.ctc_loss(log_probs, torch.tensor([[1]]), (3,), (1,))
    (gradient,) = torch.autograd.grad(loss, log_probs, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::_ctc_loss_backward is not implemented"):
        gradient.sum().backward()
