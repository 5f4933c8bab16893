"""A softmax over many classes that spends little on the rare ones.

Source: E. Grave et al., "Efficient softmax approximation for GPUs", https://arxiv.org/abs/1609.04309, and
https://pytorch.org/docs/stable/generated/torch.nn.AdaptiveLogSoftmaxWithLoss.html
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import InitVar
from typing import Any, NamedTuple

from minitorch import Tensor, cat
from minitorch.nn import functional as F
from minitorch.nn.modules.container import ModuleList, Sequential
from minitorch.nn.modules.layer import Layer, layer
from minitorch.nn.modules.linear import Linear


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


@layer
class AdaptiveLogSoftmaxWithLoss(Layer, shown=""):
    """Classes sorted by falling frequency, divided at `cutoffs`: the head tells the first ones and the clusters apart.

    A cluster's classes are told apart by a layer of its own, whose inner size shrinks by `div_value` from cluster to
    cluster. (N, in_features) and targets (N,), or both without N → the targets' log probabilities (N,), and their mean
    as a loss. Raises RuntimeError for other shapes and classes out of range, ValueError for cutoffs that aren't
    ascending. Grave et al. 2017, https://arxiv.org/abs/1609.04309
    """

    in_features: int
    n_classes: int
    cutoffs: Sequence[int]
    div_value: float = 4.0
    head_bias: bool = False
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None

    def __post_init__(self, device: Any, dtype: Any) -> None:
        cutoffs = list(self.cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or min(cutoffs) <= 0
            or max(cutoffs) > self.n_classes - 1
            or any(int(each) != each for each in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.cutoffs = [*cutoffs, self.n_classes]
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(self.in_features, self.head_size, bias=self.head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(itertools.pairwise(self.cutoffs), 1):
            inner = int(self.in_features // self.div_value**number)
            first = Linear(self.in_features, inner, bias=False, device=device, dtype=dtype)
            self.tail.append(Sequential(first, Linear(inner, high - low, bias=False, device=device, dtype=dtype)))

    def reset_parameters(self) -> None:
        """Draws the weights of all layers anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        _check(input_, target_)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        output = input.new_zeros(len(target))
        in_head = target.clone()
        for number, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            (rows,) = ((target >= low) & (target < high)).nonzero(as_tuple=True)
            if not rows.numel():
                continue
            in_head[rows] = self.shortlist_size + number
            of_cluster = F.log_softmax(self.tail[number](input[rows]), dim=1)
            chosen = of_cluster.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            output = output.index_copy(0, rows, chosen)
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities (N, n_classes) of all classes."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for number, layers in enumerate(self.tail):
            parts.append(F.log_softmax(layers(input), dim=1) + head[:, self.shortlist_size + number].unsqueeze(1))
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable classes (N,). A row whose head prefers a single class needs no cluster."""
        head = self.head(input)
        best = head.argmax(dim=1)
        in_cluster = best >= self.shortlist_size
        if in_cluster.any():
            best[in_cluster] = self.log_prob(input[in_cluster]).argmax(dim=1)
        return best


def _check(input: Tensor, target: Tensor) -> None:
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != target.dim() + 1:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with size "
            f"{input.size()}"
        )
