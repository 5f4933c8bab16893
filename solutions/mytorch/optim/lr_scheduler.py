"""Learning rate schedules: a scheduler sets the "lr" of an optimizer's groups when it is made, and at every step."""

# 17 · Learning rate schedules
from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from types import MethodType
from typing import Any

from ..checks import refuse
from .optimizer import Optimizer

Rates = list[float]
SKIPPED = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    "PyTorch skipping the first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


def watch(optimizer: Any) -> None:
    """Have the optimizer remember, in `_opt_called`, that it made a step."""
    refuse(not isinstance(optimizer, Optimizer), f"{type(optimizer).__name__} is not an Optimizer", TypeError)
    if not hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        step = optimizer.step.__func__

        def run(self: Any, *args: Any, **options: Any) -> Any:
            self._opt_called = True
            return step(self, *args, **options)

        run._wrapped_by_lr_sched = True
        optimizer.step = MethodType(run, optimizer)


class LRScheduler:
    """The base of the schedulers. A subclass says in `get_lr` which rates the groups have in epoch `last_epoch`."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        watch(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler")
        self.optimizer = optimizer
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count, self._is_initial = 0, True
        self.step()
        self._is_initial = False

    def get_lr(self) -> Rates:
        """The rate of each group in epoch `last_epoch`."""
        raise NotImplementedError

    def _scaled(self, factor: float) -> Rates:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def get_last_lr(self) -> Rates:
        """The rates that the last step set."""
        return self._last_lr

    def step(self) -> None:
        """Go on to the next epoch; to be called after the optimizer's step."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(SKIPPED, UserWarning, stacklevel=2)
        self._step_count += 1
        self._update_lr()

    def _update_lr(self) -> None:
        """Go on to the next epoch, and write its rates into the groups."""
        self.last_epoch += 1
        self._last_lr = self.get_lr()
        for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=True):
            group["lr"] = rate

    def state_dict(self) -> dict[str, Any]:
        """What a resumed training needs: all attributes but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update(state_dict)


class StepLR(LRScheduler):
    """Multiplies the rates by gamma every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The present rates, times gamma in every epoch that `step_size` divides, but for the first."""
        return self._scaled(self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1)


class MultiStepLR(LRScheduler):
    """Multiplies the rates by gamma at each of the milestones."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The present rates, times gamma once for each time that this epoch is a milestone."""
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])


class ExponentialLR(LRScheduler):
    """Multiplies the rates by gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The present rates times gamma."""
        return self._scaled(1 if self._is_initial else self.gamma)


class LinearLR(LRScheduler):
    """Multiplies the rates by a factor that goes in a line from one to another, in `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        refuse(not 0 <= end_factor <= 1, "Ending multiplicative factor expected to be between 0 and 1.", ValueError)
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The present rates, times the quotient of two points of the line."""
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._scaled(1)
        rise = self.end_factor - self.start_factor
        return self._scaled(1 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))


class CosineAnnealingLR(LRScheduler):
    """Takes the rates along half a cosine to `eta_min` in `T_max` epochs, and then back up (arXiv:1608.03983)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The next points of the curve."""
        present = self._scaled(1)
        if self._is_initial:
            return present
        return [self._next(rate, base) for rate, base in zip(present, self.base_lrs, strict=True)]

    def _next(self, rate: float, base: float) -> float:
        """The rate in epoch `last_epoch`, from the one in the epoch before; `base` is the initial one."""
        if (self.last_epoch - 1) % (2 * self.T_max) == self.T_max:  # no factor leads up from the bottom
            return rate + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
        now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
        return now / before * (rate - self.eta_min) + self.eta_min


class LambdaLR(LRScheduler):
    """Sets the rates to the initial ones times `lr_lambda(epoch)`; a list has one function for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        several, count = isinstance(lr_lambda, (list, tuple)), len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = list(lr_lambda) if several else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The initial rates times what the functions say."""
        return [base * each(self.last_epoch) for base, each in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; functions aren't saved."""
        return super().state_dict() | {"lr_lambdas": [None] * len(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave; the functions stay."""
        super().load_state_dict(state_dict | {"lr_lambdas": self.lr_lambdas})


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and down to almost 0 in `total_steps` steps; momentum goes the other way (arXiv:1708.07120)."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float,
        total_steps: int,
        *,
        pct_start: float = 0.3,
        cycle_momentum: bool = True,
        last_epoch: int = -1,
    ) -> None:
        if cycle_momentum and not {"momentum", "betas"} & set(optimizer.defaults):
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.total_steps, self.peak, self.cycle_momentum = total_steps, pct_start * total_steps - 1, cycle_momentum
        for group in optimizer.param_groups if last_epoch == -1 else []:
            group.update(initial_lr=max_lr / 25, max_lr=max_lr, min_lr=max_lr / 25 / 1e4)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        """The rates of this step; sets the momentum, too."""
        step, peak = self.last_epoch, self.peak
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start, end, phase = (0, peak, 0) if step <= peak else (peak, self.total_steps - 1, 1)
        weight = (math.cos(math.pi * (step - start) / (end - start)) + 1) / 2  # from 1 to 0
        rates, momenta = ("initial_lr", "max_lr", "min_lr")[phase:], (0.95, 0.85, 0.95)[phase:]
        for group in self.optimizer.param_groups if self.cycle_momentum else []:
            momentum = momenta[1] + (momenta[0] - momenta[1]) * weight
            group.update({"betas": (momentum, group["betas"][1])} if "betas" in group else {"momentum": momentum})
        limits = [(group[rates[0]], group[rates[1]]) for group in self.optimizer.param_groups]
        return [last + (first - last) * weight for first, last in limits]


class SequentialLR(LRScheduler):
    """One scheduler after the other: at each milestone the next one takes over, at its own beginning."""

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int]) -> None:
        if len(milestones) != len(schedulers) - 1:
            wanted = "number of schedulers provided to be one more than the number of milestone points"
            found = (
                f"number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
            raise ValueError(f"Sequential Schedulers expects {wanted}, but got {found}")
        self.optimizer, self._schedulers, self._milestones = optimizer, schedulers, milestones
        self.last_epoch = 0
        self._begin(schedulers[0])

    def _begin(self, scheduler: LRScheduler) -> None:
        """Have a scheduler set its first rates, whatever has been set before."""
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        scheduler.last_epoch = -1
        scheduler._initial_step()
        self._last_lr = scheduler.get_last_lr()

    def step(self) -> None:
        """Have the scheduler whose turn it is set the rates."""
        self.last_epoch += 1
        scheduler = self._schedulers[bisect_right(self._milestones, self.last_epoch)]
        if self.last_epoch in self._milestones:
            self._begin(scheduler)
        else:
            scheduler.step()
            self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; of the schedulers, their state."""
        return super().state_dict() | {"_schedulers": [each.state_dict() for each in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        super().load_state_dict(state_dict | {"_schedulers": self._schedulers})
        for each, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            each.load_state_dict(saved)


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rates by `factor` when a metric hasn't improved for more than `patience` epochs in a row."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        eps: float = 1e-8,
    ) -> None:
        refuse(factor >= 1.0, "Factor should be < 1.0.", ValueError)
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lrs, self.eps, self.last_epoch = [min_lr] * len(optimizer.param_groups), eps, 0
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0
        self._last_lr = self._scaled(1)

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        relative = self.threshold_mode == "rel"
        limit = best * (1 - sign * self.threshold) if relative else best - sign * self.threshold
        return sign * a < sign * limit

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """End an epoch in which the metric was `metrics`."""
        self.last_epoch += 1
        current = float(metrics)
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                reduced = max(group["lr"] * self.factor, lowest)
                if group["lr"] - reduced > self.eps:
                    group["lr"] = reduced
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._scaled(1)
