"""Schedulers by a function of the user."""

from __future__ import annotations

from typing import Any

from minitorch.optim.lr_scheduler.base import LRScheduler, Rates, values_of
from minitorch.optim.optimizer import Optimizer


class _OfFunctions(LRScheduler):
    """Has a function for each group."""

    _state_only = "lr_lambdas"

    def _keep_functions(self, optimizer: Optimizer, lr_lambda: Any) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != count:
                raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * count


class LambdaLR(_OfFunctions):
    """Sets the rates to the initial ones times `lr_lambda(epoch)`; a list has one function for each group.

    Raises ValueError for another number of functions.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._keep_functions(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._warn_outside_step()
        return [rate * function(self.last_epoch) for rate, function in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_OfFunctions):
    """Multiplies the rates by `lr_lambda(epoch)` every epoch; a list has one function for each group.

    Raises TypeError for what is no function, ValueError for another number of them.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiplicativeLR.html
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._keep_functions(optimizer, lr_lambda)
        for each in self.lr_lambdas:
            if not callable(each):
                raise TypeError(f"lr_lambda should be a function, but got {type(each).__name__}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._warn_outside_step()
        rates = values_of(self.optimizer, "lr")
        if self._is_initial:
            return rates
        return [rate * function(self.last_epoch) for rate, function in zip(rates, self.lr_lambdas, strict=True)]
