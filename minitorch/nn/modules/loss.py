"""Losses as modules; each calls the function of `minitorch.nn.functional` that documents it.

Source: https://pytorch.org/docs/stable/nn.html#loss-functions
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.nn import functional as F
from minitorch.nn.modules.linear import Linear
from minitorch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
from minitorch.nn.modules.loss_base import _Loss, _WeightedLoss
from minitorch.nn.modules.loss_margin import *  # noqa: F403 - PyTorch has them here
from minitorch.tensor import Tensor


class L1Loss(_Loss, function="l1_loss"):
    """|input − target| of tensors of one shape."""


class MSELoss(_Loss, function="mse_loss"):
    """(input − target)² of tensors of one shape."""


class SmoothL1Loss(_Loss, function="smooth_l1_loss", passed="reduction beta"):
    """d²/2β where d = |input − target| < β, d − β/2 elsewhere, of tensors of one shape."""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_Loss, function="huber_loss", passed="reduction delta"):
    """d²/2 where d = |input − target| < δ, δ (d − δ/2) elsewhere, of tensors of one shape.

    Raises TypeError for a δ that is no number.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta


class NLLLoss(_WeightedLoss, function="nll_loss", passed="weight ignore_index reduction"):
    """− weight[target] · input[target] for log-probabilities (N, C, …) and int64 class indices (N, …).

    `weight` (C,) counts by class, `ignore_index` counts 0; "mean" divides by the sum of the weights used.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class CrossEntropyLoss(_WeightedLoss, function="cross_entropy", passed="weight ignore_index reduction label_smoothing"):
    """− log softmax(input)[target] for logits (N, C, …) and int64 class indices (N, …), or probabilities (N, C, …).

    `weight` (C,) counts by class, `ignore_index` counts 0; `label_smoothing` s mixes the target with s/C for every
    class.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing


class BCELoss(_WeightedLoss, function="binary_cross_entropy"):
    """− weight · (target · log input + (1 − target) · log(1 − input)) for probabilities of the target's shape."""


class BCEWithLogitsLoss(_Loss, function="binary_cross_entropy_with_logits", passed="weight pos_weight reduction"):
    """− weight · (pos_weight · target · log σ(input) + (1 − target) · log(1 − σ(input))) for logits.

    `weight` and `pos_weight` broadcast to that shape; both are buffers.
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)


class KLDivLoss(_Loss, function="kl_div", passed="reduction log_target"):
    """target · (log target − input) for log-probabilities of the target's shape; "batchmean" divides by N."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss, for (N, C, H, W) and int64 (N, H, W).

    Source: https://pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross-entropy of a linear layer of its own: (N, in_features) and classes (N, *out_features)."""

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        rows = math.prod((num_classes, *out_features))
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )


class PoissonNLLLoss(_Loss, function="poisson_nll_loss", passed="log_input full eps reduction"):
    """λ − target · log λ of the rates λ = exp(input), or with `log_input=False` input, of the target's shape."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return self._of(log_input, target)


class GaussianNLLLoss(_Loss, function="gaussian_nll_loss", passed="full eps reduction"):
    """½ (log var + (input − target)² / var), var at least `eps`, of tensors of one shape; `full` adds ½ log 2π."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:  # type: ignore[override]
        return self._of(input, target, var)


class CTCLoss(_Loss, function="ctc_loss", passed="blank reduction zero_infinity"):
    """−log of the probability of a label sequence, summed over all its alignments with log-probabilities (T, N, C).

    Targets are int64 (N, S), or all concatenated; `input_lengths` and `target_lengths` (N,); `blank` is a class index.
    Graves et al. 2006
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:  # type: ignore[override]
        return self._of(log_probs, targets, input_lengths, target_lengths)


for _class in list(globals().values()):
    if getattr(_class, "__module__", "") in (f"{__name__}_base", f"{__name__}_margin"):
        _class.__module__ = __name__  # where pickles of PyTorch's have it
