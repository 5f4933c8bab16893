"""Learning rates that change as training goes on.

A scheduler sets the "lr" of its optimizer's groups when made, and again at every `step`. Most are *chainable*: the next
rate is computed from the group's present one, so that several schedulers may act on one optimizer.
Source: https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
"""

# ruff: noqa: I001

from minitorch.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING, LRScheduler, _LRScheduler
from minitorch.optim.lr_scheduler.chainable import (
    ConstantLR, ExponentialLR, LinearLR, MultiStepLR, PolynomialLR, StepLR,
)  # fmt: skip
from minitorch.optim.lr_scheduler.composed import ChainedScheduler, SequentialLR
from minitorch.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from minitorch.optim.lr_scheduler.cyclic import CyclicLR, OneCycleLR
from minitorch.optim.lr_scheduler.functional import LambdaLR, MultiplicativeLR
from minitorch.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip

for _name in __all__:
    globals()[_name].__module__ = __name__  # one module in PyTorch
