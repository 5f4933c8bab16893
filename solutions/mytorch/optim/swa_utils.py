"""Averages of a model's weights along its training."""

# 17 · Learning rate schedules
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .. import Tensor, no_grad, tensor
from ..nn.module import Module

Average = Callable[[Tensor, Tensor, int], Any]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """avg ← decay · avg + (1 - decay) · new."""
    if not 0 <= decay <= 1:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return lambda averaged, current, count: averaged * decay + current * (1 - decay)


def mean(averaged: Tensor, current: Tensor, count: int) -> Any:
    """The mean of all so far, where `averaged` is that of `count` tensors."""
    return averaged + (current - averaged) / (count + 1)


class AveragedModel(Module):
    """A copy of a model whose parameters are an average of the model's, by default their mean; buffers are copied."""

    def __init__(self, model: Module, avg_fn: Average = mean) -> None:
        super().__init__()
        self.module, self.avg_fn = copy.deepcopy(model), avg_fn
        self.register_buffer("n_averaged", tensor(0))

    def forward(self, *args: Any, **options: Any) -> Any:
        """What the averaged model says."""
        return self.module(*args, **options)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the present weights of `model` into the average. The first ones are copied."""
        count = int(self.n_averaged.item())
        for average, parameter in zip(self.module.parameters(), model.parameters(), strict=True):
            average.copy_(self.avg_fn(average, parameter, count) if count else parameter)
        for buffer, current in zip(self.module.buffers(), model.buffers(), strict=True):
            buffer.copy_(current)
        self.n_averaged += 1
