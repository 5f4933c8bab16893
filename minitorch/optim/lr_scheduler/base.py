"""What all schedulers share: the epoch, the rates they set, and how they are saved."""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.optim.optimizer import Optimizer
from minitorch.optim.update import Group, to_scalar
from minitorch.tensor import Tensor

Rates = list[Any]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)


def values_of(optimizer: Optimizer, name: str) -> Rates:
    """One option of all groups; tensors as copies, so that nobody changes the groups through the list."""
    return [copied(group[name]) for group in optimizer.param_groups]


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def set_option(group: Group, name: str, value: Any) -> None:
    if isinstance(group[name], Tensor):
        group[name].fill_(to_scalar(value))
    else:
        group[name] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> Rates:
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {count}."
        )
    return [copied(each) for each in value]


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _watch(optimizer: Optimizer) -> None:
    """Has the optimizer remember, from now on, that it made a step."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    step, watched = optimizer.step.__func__, weakref.ref(optimizer)  # type: ignore[attr-defined]

    @functools.wraps(step)
    def run(*args: Any, **kwargs: Any) -> Any:
        self = watched()
        self._opt_called = True  # type: ignore[union-attr]
        return step(self, *args, **kwargs)

    run._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = run  # type: ignore[method-assign]


class LRScheduler:
    """The base of the schedulers: a subclass defines `get_lr`, which returns the groups' rates in epoch `last_epoch`.

    A `last_epoch` other than −1 continues a training: then the groups must know their "initial_lr" already (KeyError).
    Raises TypeError for what is no Optimizer, NotImplementedError without a `get_lr`.
    Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LRScheduler.html
    """

    _state_only = ""
    """The attribute that holds schedulers or functions, of which only the state is saved: their attributes."""
    _get_lr_called_within_step = False
    _is_initial = False
    _last_lr: Rates

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer "
                    "state\n2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> Rates:
        """The rates of the groups in this epoch. To be called by `step` alone: see `get_last_lr`."""
        raise NotImplementedError

    def get_last_lr(self) -> Rates:
        """The rates that the last step set."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Goes on to the next epoch. (`epoch` is deprecated: it jumps to any, in closed form where there is one.)"""
        if self._step_count == 1 and not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=2,
            )
        elif self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to "
                "do this will result in PyTorch skipping the first value of the learning rate schedule. See more "
                "details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        with self._computing():
            closed = getattr(self, "_get_closed_form_lr", None)
            rates = self.get_lr() if epoch is None or closed is None else closed()
        self._set_rates(rates)

    def _set_rates(self, rates: Rates) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    @contextmanager
    def _computing(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of functions of the user, only the attributes of callable objects."""
        state = {name: value for name, value in self.__dict__.items() if name != "optimizer"}
        if self._state_only:
            others = state.pop(self._state_only)
            state[self._state_only] = list(map(_state_of, others)) if _are_several(others) else _state_of(others)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` returned."""
        others: Any = self.__dict__.get(self._state_only)
        self.__dict__.update(state_dict)
        if self._state_only:
            saved = state_dict[self._state_only]
            setattr(self, self._state_only, others)
            for other, state in zip(others, saved, strict=False) if _are_several(others) else [(others, saved)]:
                if hasattr(other, "load_state_dict"):
                    other.load_state_dict(state)
                elif state is not None:
                    other.__dict__.update(state)


def _are_several(others: Any) -> bool:
    return isinstance(others, (list, tuple))


def _state_of(other: Any) -> Any:
    if hasattr(other, "state_dict"):
        return other.state_dict()
    return None if other is None or isinstance(other, types.FunctionType) else other.__dict__.copy()


class _LRScheduler(LRScheduler):
    """The old name, for schedulers that were written with it."""
