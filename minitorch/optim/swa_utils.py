"""Averages of a model's weights along its training: stochastic weight averaging, and exponential moving averages.

Source: https://pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema; Izmailov et al. 2018, arXiv:1803.05407
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

from minitorch import Tensor, int64, no_grad, zeros
from minitorch.nn.modules.batchnorm import _BatchNorm
from minitorch.nn.modules.module import Module
from minitorch.optim.lr_scheduler.base import LRScheduler, per_group
from minitorch.optim.optimizer import Optimizer
from minitorch.optim.update import constant

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip

PARAM_LIST = list[Tensor]
Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[PARAM_LIST, PARAM_LIST, Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """avg ← decay · avg + (1 − decay) · new. Raises ValueError for a decay outside [0, 1]."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return ema_param * decay + current_param * (1 - decay)

    return ema_update


def get_swa_avg_fn() -> Average:
    """avg ← avg + (new − avg) / (n + 1): the mean of all so far."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """`get_ema_avg_fn` for a list of tensors of one type, which it writes to."""
    _check_decay(decay)

    @no_grad()
    def ema_update(averaged: PARAM_LIST, current: PARAM_LIST, num_averaged: Any) -> None:
        for one, new in zip(averaged, current, strict=True):
            if one.is_floating_point() or one.is_complex():
                one.lerp_(new, 1 - decay)
            else:
                one.copy_(one * decay + new * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """`get_swa_avg_fn` for a list of tensors of one type, which it writes to. Raises RuntimeError for integers."""

    @no_grad()
    def swa_update(averaged: PARAM_LIST, current: PARAM_LIST, num_averaged: Any) -> None:
        for one, new in zip(averaged, current, strict=True):
            if one.is_floating_point() or one.is_complex():
                one.lerp_(new, constant(1 / (num_averaged + 1)))
            elif isinstance(num_averaged, Tensor):
                one.addcdiv_(new - one, num_averaged + 1)
            else:
                one.add_(new - one, alpha=1 / (num_averaged + 1))

    return swa_update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


class AveragedModel(Module):
    """A copy of a model whose weights are the average of the model's at each `update_parameters`.

    By default the mean; `avg_fn(averaged, new, n)` or `multi_avg_fn(averaged, new, n)`, of lists, compute another.
    Buffers are averaged too with `use_buffers`, otherwise copied. Raises AssertionError when both functions are given.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", zeros((), dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _averaged(self, module: Module) -> Iterator[Tensor]:
        return itertools.chain(module.parameters(), module.buffers() if self.use_buffers else ())

    def update_parameters(self, model: Module) -> None:
        """Takes the model's present weights into the average."""
        averaged = [each.detach() for each in self._averaged(self.module)]
        current = [each.detach().to(one.device) for one, each in zip(averaged, self._averaged(model), strict=False)]
        count = self.n_averaged
        if count == 0:
            for one, new in zip(averaged, current, strict=False):
                one.copy_(new)
        elif self.multi_avg_fn is not None:
            for ones, news in _of_one_type(averaged, current):
                self.multi_avg_fn(ones, news, count.to(ones[0].device))
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for one, new in zip(averaged, current, strict=False):
                one.copy_(average(one, new, count.to(one.device)))
        if not self.use_buffers:
            for buffer, new in zip(self.module.buffers(), model.buffers(), strict=True):
                buffer.detach().copy_(new.detach().to(buffer.device))
        self.n_averaged += 1


def _of_one_type(*lists: PARAM_LIST) -> Iterable[tuple[PARAM_LIST, ...]]:
    """Lists of tensors, divided into such as are on one device and of one type."""
    groups: dict[Any, tuple[PARAM_LIST, ...]] = {}
    for tensors in zip(*lists, strict=True):
        parts = groups.setdefault((tensors[0].device, tensors[0].dtype), tuple([] for _ in lists))
        for part, tensor in zip(parts, tensors, strict=True):
            part.append(tensor)
    return groups.values()


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the statistics of the model's batch norms anew, from one pass over the data.

    Of a batch that is a list or tuple the first element is the input.
    """
    norms = [each for each in model.modules() if isinstance(each, _BatchNorm)]
    if not norms:
        return
    momenta = [each.momentum for each in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean of all batches, not a moving one
    with no_grad():
        for batch in loader:
            inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(inputs if device is None else inputs.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Takes the rates to `swa_lr` in `anneal_epochs` epochs, along a cosine or a line, and keeps them there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _progress(self, epoch: int) -> float:
        """How far the rates are from the start (0) to swa_lr (1) in an epoch."""
        t = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._progress(max(0, step - 1)), self._progress(step)
        rates = []
        for group in self.optimizer.param_groups:
            start = group["swa_lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates
