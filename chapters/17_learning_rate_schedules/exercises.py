# %% [markdown]
# # Exercises · Learning rate schedules
# Three of the exercises add to your library, and once you have solved them, the learning rates of its optimizers
# follow your schedules. These three run inside files of `mytorch`, where all names that a task or a docstring
# mentions are defined; import anything else in the cell itself.

# %% setup=true
from __future__ import annotations

import copy
import math
import warnings
from contextlib import contextmanager

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch import nn

# %% [markdown] exercise="schedule_predict_rates" kind="predict" points=1
# ### Exercise 1 · Which rates are used?
# Someone calls `scheduler.step()` at the start of each epoch:
#
# ```python
# optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
# scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
# for epoch in range(5):
#     scheduler.step()
#     ...                 # zero_grad, forward, backward
#     optimizer.step()
# ```
#
# Which learning rates do the five calls of `optimizer.step()` use? Set `prediction` to a list of five numbers.

# %% solution="schedule_predict_rates"
### BEGIN SOLUTION
prediction = [1.0, 0.1, 0.1, 0.01, 0.01]
### END SOLUTION

# %% check="schedule_predict_rates"
check.show({f"update {number}": f"{rate:.0e}" for number, rate in enumerate(prediction, 1)}, secret=True)

# %% [markdown] hint="schedule_predict_rates"
# First write down the rates of the correct loop, in which `scheduler.step()` comes at the end of each epoch.

# %% [markdown] hint="schedule_predict_rates"
# The constructor sets the rate of epoch 0. The first `scheduler.step()` already moves on to epoch 1, before any
# update has been made.

# %% [markdown] hint="schedule_predict_rates"
# The rates of epochs 0 to 5 are 1, 1, 0.1, 0.1, 0.01 and 0.01, and this loop skips the first of them.

# %% mutant="schedule_predict_rates"
# As if the order were correct
# These are the rates with `scheduler.step()` at the end of the epoch. At the start it skips the rate of epoch 0.
prediction = [1.0, 1.0, 0.1, 0.1, 0.01]

# %% mutant="schedule_predict_rates"
# Skips two
# Only one rate is skipped, that of epoch 0, which the constructor sets and the first step replaces.
prediction = [0.1, 0.1, 0.01, 0.01, 0.001]

# %% mutant="schedule_predict_rates"
# Every epoch
# `step_size=2` multiplies the rate in every second epoch only.
prediction = [0.1, 0.01, 0.001, 0.0001, 0.00001]


# %% [markdown] exercise="schedule_base" kind="core" points="2 1 1" part="mytorch.optim.lr_scheduler:LRScheduler.__init__ mytorch.optim.lr_scheduler:LRScheduler._update_lr mytorch.optim.lr_scheduler:StepLR.get_lr"
# ### Exercise 2 · The base class and `StepLR`
# A scheduler stores the initial rates, counts epochs, and writes the rates that `get_lr` returns into the groups of
# its optimizer. `StepLR` is a chainable scheduler, so its `get_lr` starts from the rates that are in the groups now.


# %% docstrings="schedule_base"
def __init__():
    """Attaches the scheduler to an optimizer, and sets the rates of the first epoch.

    `watch(optimizer)` rejects anything that isn't an optimizer, and makes the optimizer count its steps. Each
    group gets an "initial_lr", its current "lr", unless it already has one. `base_lrs` is the list of them.
    `last_epoch` becomes an attribute. `self._initial_step()` comes last, and makes the first step.

    A `last_epoch` other than -1 resumes a schedule. In this case no group gets an "initial_lr": each must
    already have one.

    Raises:
        KeyError: "param 'initial_lr' is not specified in param_groups[1] when resuming scheduler"
    """


def _update_lr():
    """Moves on to the next epoch, and writes its rates into the groups.

    Increment `last_epoch`, then call `self.get_lr()`, which returns the rates of that epoch. `_last_lr`
    becomes the list of the new rates, and each group gets its own as "lr". If the number of rates isn't the
    number of groups, `zip(..., strict=True)` raises an error.
    """


def get_lr():
    """The current rates, times gamma in the epochs `step_size`, 2 · `step_size`, ..., but not in epoch 0.

    `self._scaled(factor)` is a list with the current rate of each group times a factor.
    """


# %% check="schedule_base" raises="KeyError TypeError ValueError"
generator = check.rng()
schedulers = mytorch.optim.lr_scheduler
rates = generator.permutation(generator.uniform([0.1, 1.1], [0.9, 2.0])).round(2)
size, gamma = int(generator.integers(2, 4)), float(generator.choice([0.5, 0.25]))


class Counting(schedulers.LRScheduler):
    """Sets the rates to the initial ones plus the index of the epoch."""

    def get_lr(self):
        return [base + self.last_epoch for base in self.base_lrs]


def make_optimizer(**options):
    groups = [{"params": [mytorch.zeros(1)], "lr": float(rate), **options} for rate in rates]
    return mytorch.optim.SGD(groups, lr=1.0)


def rates_of(optimizer):
    return [group["lr"] for group in optimizer.param_groups]


def stepped(scheduler, times, lowered_at=None):
    found = []
    for t in range(times):
        if t == lowered_at:
            scheduler.optimizer.param_groups[1]["lr"] = 0.01
        found.append(rates_of(scheduler.optimizer))
        scheduler.optimizer.step()
        scheduler.step()
    return found


def warned(calls):
    optimizer = make_optimizer()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scheduler = Counting(optimizer)
        for call in calls:
            optimizer.step() if call == "optimizer" else scheduler.step()
    return [str(each.message)[:74] for each in caught]


first = Counting(make_optimizer())
begun = make_optimizer(initial_lr=3.0)
resumed = Counting(make_optimizer(initial_lr=3.0), last_epoch=4)
half = make_optimizer()
half.param_groups[0]["initial_lr"] = 1.0
grown = Counting(make_optimizer())
grown.optimizer.add_param_group({"params": [mytorch.zeros(1)]})
grown.optimizer.step()
counting = Counting(make_optimizer())
check.show(
    {
        "rates of the groups": rates,
        "counting": stepped(counting, 4),
        "last rates after that": counting.get_last_lr(),
        "base rates": first.base_lrs,
        "first epoch": [first.last_epoch, first._step_count],
        "last rates": first.get_last_lr(),
        "initial rates in the groups": [group["initial_lr"] for group in first.optimizer.param_groups],
        "existing initial rates": [
            Counting(begun).base_lrs,
            [group["initial_lr"] for group in begun.param_groups],
        ],
        "a second scheduler, later": Counting(counting.optimizer).base_lrs,
        "resumed after epoch 4": [resumed.last_epoch, rates_of(resumed.optimizer)],
        "resumed after epochs 0 and 1": [
            rates_of(Counting(make_optimizer(initial_lr=3.0), last_epoch=epoch).optimizer) for epoch in (0, 1)
        ],
        "an initial rate of 0": [
            Counting(make_optimizer(initial_lr=0.0), last_epoch=epoch).base_lrs for epoch in (-1, 4)
        ],
        "resumed without an initial rate": check.error(Counting, make_optimizer(), last_epoch=4),
        "resumed, in one group": check.error(Counting, half, last_epoch=4),
        "and the other group is unchanged": "initial_lr" in half.param_groups[1],
        "ExponentialLR, first rates": rates_of(schedulers.ExponentialLR(make_optimizer(), 0.5).optimizer),
        "not an optimizer": check.error(Counting, 3),
        "a group added later": check.error(grown.step),
        "warnings, optimizer first": warned(["optimizer", "scheduler", "scheduler"]),
        "warnings, scheduler first": warned(["scheduler", "optimizer", "scheduler"]),
        "step_size, gamma": [size, gamma],
        "StepLR": stepped(schedulers.StepLR(make_optimizer(), size, gamma), 9),
        "StepLR, resumed": stepped(schedulers.StepLR(make_optimizer(initial_lr=3.0), size, gamma, last_epoch=size), 5),
        "StepLR, every epoch": stepped(schedulers.StepLR(make_optimizer(), 1, gamma), 4),
        "StepLR, lowered by hand": stepped(schedulers.StepLR(make_optimizer(), size, gamma), 6, lowered_at=1),
    },
    text="The rates of two groups, epoch by epoch.",
)

# %% [markdown] hint="schedule_base"
# `group.setdefault("initial_lr", group["lr"])` writes only if the key is missing. `_initial_step` calls `step` as
# well, so `last_epoch` starts at −1, and the first step moves it to 0.

# %% [markdown] hint="schedule_base"
# Where does the scheduler start watching the optimizer? `watch(optimizer)` belongs at the top of `__init__`. In
# `_update_lr` the order matters: increment the epoch, call `get_lr`, store the rates, and write them into the groups.

# %% [markdown] hint="schedule_base"
# For `StepLR` the factor is `self.gamma` if `self.last_epoch > 0 and self.last_epoch % self.step_size == 0`, and
# otherwise 1.


# %% mutant="schedule_base"
# Overwrites the initial rate
# A group that has an initial rate keeps it. A second scheduler, or one that is made for a loaded optimizer, must not
# start from the current rate.
def __init__(self, optimizer, last_epoch=-1):
    watch(optimizer)
    for number, group in enumerate(optimizer.param_groups):
        if last_epoch == -1:
            group["initial_lr"] = group["lr"]
        elif "initial_lr" not in group:
            raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler")
    self.optimizer = optimizer
    self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
    self.last_epoch = last_epoch
    self._initial_step()


# %% mutant="schedule_base"
# Resumes with the current rate
# A run that is resumed must already have an initial rate. Using the current one hides that the optimizer wasn't
# loaded.
def __init__(self, optimizer, last_epoch=-1):
    watch(optimizer)
    for group in optimizer.param_groups:
        group.setdefault("initial_lr", group["lr"])
    self.optimizer = optimizer
    self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
    self.last_epoch = last_epoch
    self._initial_step()


# %% mutant="schedule_base"
# Only the first group
# Each group has its own rate, and so it also has its own initial rate.
def __init__(self, optimizer, last_epoch=-1):
    watch(optimizer)
    for number, group in enumerate(optimizer.param_groups):
        if last_epoch == -1:
            group.setdefault("initial_lr", group["lr"])
        elif "initial_lr" not in group:
            raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler")
    self.optimizer = optimizer
    self.base_lrs = [optimizer.param_groups[0]["initial_lr"]] * len(optimizer.param_groups)
    self.last_epoch = last_epoch
    self._initial_step()


# %% mutant="schedule_base"
# Doesn't watch the optimizer
# Without `watch`, the optimizer's steps aren't counted, so the warning also appears in loops that are correct.
def __init__(self, optimizer, last_epoch=-1):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    for number, group in enumerate(optimizer.param_groups):
        if last_epoch == -1:
            group.setdefault("initial_lr", group["lr"])
        elif "initial_lr" not in group:
            raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler")
    self.optimizer = optimizer
    self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
    self.last_epoch = last_epoch
    self._initial_step()


# %% mutant="schedule_base"
# An ordinary first step
# Some schedulers apply a factor in each step except the initial one, and only `_initial_step` marks it as such.
def __init__(self, optimizer, last_epoch=-1):
    watch(optimizer)
    for number, group in enumerate(optimizer.param_groups):
        if last_epoch == -1:
            group.setdefault("initial_lr", group["lr"])
        elif "initial_lr" not in group:
            raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler")
    self.optimizer = optimizer
    self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
    self.last_epoch = last_epoch
    self._step_count, self._is_initial = 0, False
    self.step()


# %% mutant="schedule_base"
# Calls `get_lr` before it counts
# `get_lr` returns the rates of the epoch in `last_epoch`, so increment it first. Here every rate comes one epoch
# late.
def _update_lr(self):
    self._last_lr = self.get_lr()
    self.last_epoch += 1
    for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=True):
        group["lr"] = rate


# %% mutant="schedule_base"
# Silently skips groups
# A group that was added later keeps its rate forever, without any error. `zip` with `strict=True` raises one.
def _update_lr(self):
    self.last_epoch += 1
    self._last_lr = self.get_lr()
    for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=False):
        group["lr"] = rate


# %% mutant="schedule_base"
# The first rate for all
# Each group has its own rate.
def _update_lr(self):
    self.last_epoch += 1
    self._last_lr = self.get_lr()
    for group in self.optimizer.param_groups:
        group["lr"] = self._last_lr[0]


# %% mutant="schedule_base"
# Stores the previous rates
# `get_last_lr` returns `_last_lr`, which should be the rates that this step has set.
def _update_lr(self):
    self.last_epoch += 1
    self._last_lr = [group["lr"] for group in self.optimizer.param_groups]
    for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
        group["lr"] = rate


# %% mutant="schedule_base"
# Multiplies in epoch 0
# 0 is divisible by every number, so the first rate would be gamma times the initial one.
def get_lr(self):
    return self._scaled(self.gamma if self.last_epoch % self.step_size == 0 else 1)


# %% mutant="schedule_base"
# Never in epoch 1
# Only epoch 0 is excluded. With `step_size=1` the rates are multiplied in epoch 1 as well.
def get_lr(self):
    return self._scaled(self.gamma if self.last_epoch > 1 and self.last_epoch % self.step_size == 0 else 1)


# %% mutant="schedule_base"
# A closed form
# The rates are correct as long as nothing else changes them, but a rate that was lowered by hand is overwritten at
# the next step.
def get_lr(self):
    return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


# %% mutant="schedule_base"
# One epoch late
# Epoch `step_size` is the first one with the lower rate.
def get_lr(self):
    late = self.last_epoch > 1 and (self.last_epoch - 1) % self.step_size == 0
    return self._scaled(self.gamma if late else 1)


# %% mutant="schedule_base"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def get_lr(self):
    from minitorch.optim import lr_scheduler

    return lr_scheduler.StepLR.get_lr(self)


# %% [markdown] exercise="schedule_cosine" kind="core" points="2 1" part="mytorch.optim.lr_scheduler:CosineAnnealingLR._next mytorch.optim.lr_scheduler:SequentialLR._begin"
# ### Exercise 3 · The cosine schedule, and schedulers in sequence
# In epoch $t$ the cosine schedule is at
# $\eta_t = \eta_{min} + \frac12 (\eta_0 - \eta_{min}) (1 + \cos \frac{\pi t}{T})$. Write it as PyTorch does, as a
# chainable scheduler that computes the next rate from the current one, so that it continues from a rate that was
# changed by hand. What is $(\eta_t - \eta_{min}) / (\eta_{t-1} - \eta_{min})$?
# And what do you do in the epoch after the minimum, where this quotient divides by 0?
#
# `SequentialLR.step` calls the scheduler whose turn it is. With milestones `[3, 9]` the first scheduler has epochs 0
# to 2, the second 3 to 8, and the third all epochs from 9 on. When its turn comes, a scheduler has to start from its
# own first rate.


# %% docstrings="schedule_cosine"
def _next():
    """The rate of a group in epoch `last_epoch`, computed from `rate`, its rate in the epoch before.

    In the epoch after a minimum, that is after T_max, 3 · T_max, ..., the difference in the closed form is
    added to the rate: its value in this epoch minus its value at the minimum, eta_min. `base` is the group's
    initial rate. `self.T_max` and `self.eta_min` are the constructor's arguments.
    """


def _begin():
    """Makes a scheduler set its first rates, whatever the current rates are.

    Most schedulers multiply the current rates, so each group of the optimizer first gets its "initial_lr"
    back. The scheduler made its first step when it was constructed, so its `last_epoch` becomes -1, and its
    `_initial_step()` then repeats that step. `self._last_lr` becomes the scheduler's last rates.
    """


# %% check="schedule_cosine"
generator = check.rng()
schedulers = mytorch.optim.lr_scheduler
rates = generator.permutation(generator.uniform([0.5, 1.3], [1.2, 2.0])).round(2)
period, lowest = int(generator.integers(3, 6)), round(float(generator.uniform(0.1, 0.3)), 2)
turns = [int(each) for each in np.cumsum(generator.integers(2, 5, size=2))]


def make_optimizer():
    return mytorch.optim.SGD([{"params": [mytorch.zeros(1)], "lr": float(rate)} for rate in rates], lr=1.0)


def stepped(make, times, changed_at=None, to=0.4):
    """The rates of all epochs, up to a division by zero. In epoch `changed_at` the second rate is changed by hand."""
    optimizer = make_optimizer()
    scheduler, found = make(optimizer), []
    for t in range(times):
        if t == changed_at:
            optimizer.param_groups[1]["lr"] = to
        found.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        try:
            scheduler.step()
        except ZeroDivisionError as error:
            return [*found, error]
        if scheduler.get_last_lr() != [group["lr"] for group in optimizer.param_groups]:
            found.append("the last rates are others")
    return found


def cosine(optimizer):
    return schedulers.CosineAnnealingLR(optimizer, period, lowest)


def sequence(optimizer):
    parts = schedulers.LinearLR(optimizer, 0.2, total_iters=9), schedulers.ExponentialLR(optimizer, 0.5)
    return schedulers.SequentialLR(optimizer, [*parts, schedulers.LambdaLR(optimizer, lambda t: 3 - t / 10)], turns)


check.show(
    {
        "rates of the groups": rates,
        "T_max, eta_min": [period, lowest],
        "cosine down": stepped(cosine, period + 1),
        "cosine, three times T_max": stepped(cosine, 3 * period + 3)[period + 1 :],
        "cosine to 0": stepped(lambda o: schedulers.CosineAnnealingLR(o, period), 2 * period + 2),
        "cosine, lowered by hand": stepped(cosine, 2 * period + 2, changed_at=1),
        "cosine, set to eta_min by hand": stepped(cosine, period + 1, changed_at=1, to=lowest),
        "cosine, set below eta_min by hand": stepped(cosine, period + 1, changed_at=1, to=lowest / 2),
        "cosine, raised at the bottom": stepped(cosine, period + 3, changed_at=period),
        "T_max 1": stepped(lambda o: schedulers.CosineAnnealingLR(o, 1, lowest), 5),
        "milestones": turns,
        "sequence": stepped(sequence, turns[1] + 4),
        "one scheduler": stepped(lambda o: schedulers.SequentialLR(o, [schedulers.StepLR(o, 2)], []), 5),
    },
    rtol=1e-6,
    text="The rates of two groups, epoch by epoch.",
)

# %% [markdown] hint="schedule_cosine"
# In the quotient, $\eta_0 - \eta_{min}$ and ½ cancel. What remains has this epoch's cosine in the numerator and the
# preceding epoch's in the denominator. So the factor applies to the *distance from eta_min*.

# %% [markdown] hint="schedule_cosine"
# The preceding epoch was at a minimum if `(self.last_epoch - 1) % (2 * self.T_max) == self.T_max`. From there the
# closed form rises by $\frac12 (\eta_0 - \eta_{min}) (1 - \cos \frac{\pi}{T})$.

# %% [markdown] hint="schedule_cosine"
# In all other epochs the rate is `(1 + cos(pi * t / T)) / (1 + cos(pi * (t - 1) / T)) * (rate - eta_min) + eta_min`.
# `_begin` has four steps: a loop that writes `group["lr"] = group["initial_lr"]`, the epoch, the first step, and
# `scheduler.get_last_lr()`.


# %% mutant="schedule_cosine"
# A closed form
# The rates are correct as long as nothing else changes them. PyTorch's cosine schedule continues from the current
# rate.
def _next(self, rate, base):
    height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
    return self.eta_min + (base - self.eta_min) * height / 2


# %% mutant="schedule_cosine"
# Stays at the minimum
# Many people expect this, but PyTorch's cosine schedule rises again after `T_max`.
def _next(self, rate, base):
    if self.last_epoch > self.T_max:
        return self.eta_min
    now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
    return now / before * (rate - self.eta_min) + self.eta_min


# %% mutant="schedule_cosine"
# Multiplies the rate
# The quotient is one of distances from eta_min. If it multiplies the rate itself, that goes to 0.
def _next(self, rate, base):
    if (self.last_epoch - 1) % (2 * self.T_max) == self.T_max:
        return rate + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
    now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
    return now / before * rate


# %% mutant="schedule_cosine"
# Only the first minimum
# The cosine reaches its minimum again after 3 · T_max, 5 · T_max, ..., where the quotient divides by 0 as well.
def _next(self, rate, base):
    if self.last_epoch - 1 == self.T_max:
        return rate + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
    now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
    return now / before * (rate - self.eta_min) + self.eta_min


# %% mutant="schedule_cosine"
# Recognizes the minimum by the rate
# A rate can also equal eta_min because it was set by hand. Only the epoch tells where the minimum is: T_max, 3 ·
# T_max, ...
def _next(self, rate, base):
    if math.isclose(rate, self.eta_min, abs_tol=1e-12):
        return rate + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
    now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
    return now / before * (rate - self.eta_min) + self.eta_min


# %% mutant="schedule_cosine"
# A closed form after the minimum
# The difference is added to the current rate, so that a change made at the minimum is preserved.
def _next(self, rate, base):
    if (self.last_epoch - 1) % (2 * self.T_max) == self.T_max:
        return self.eta_min + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
    now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
    return now / before * (rate - self.eta_min) + self.eta_min


# %% mutant="schedule_cosine"
# Rises by a share of the whole rate
# The closed form rises by a fraction of the distance between the initial rate and eta_min, not of the initial rate.
def _next(self, rate, base):
    if (self.last_epoch - 1) % (2 * self.T_max) == self.T_max:
        return rate + base * (1 - math.cos(math.pi / self.T_max)) / 2
    now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
    return now / before * (rate - self.eta_min) + self.eta_min


# %% mutant="schedule_cosine"
# Starts where the last scheduler ended
# The new scheduler multiplies the current rates, but it has to start from each group's initial rate.
def _begin(self, scheduler):
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% mutant="schedule_cosine"
# Starts with epoch 1
# The scheduler made its first step when it was constructed, so it is in epoch 0. Its next step would be the second.
def _begin(self, scheduler):
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% mutant="schedule_cosine"
# An ordinary step
# Some schedulers apply a factor in each step except the initial one, and only `_initial_step` marks it as such.
def _begin(self, scheduler):
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler.last_epoch = -1
    scheduler.step()
    self._last_lr = scheduler.get_last_lr()


# %% mutant="schedule_cosine"
# The first group's rate
# Each group has its own initial rate.
def _begin(self, scheduler):
    for group in self.optimizer.param_groups:
        group["lr"] = self.optimizer.param_groups[0]["initial_lr"]
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% mutant="schedule_cosine"
# Forgets the last rates
# `get_last_lr` returns `_last_lr`, so it has to be set here as well.
def _begin(self, scheduler):
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = [0.0 for _ in self.optimizer.param_groups]


# %% mutant="schedule_cosine"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def _next(self, rate, base):
    import minitorch

    return minitorch.optim.lr_scheduler.CosineAnnealingLR.get_lr(self)[0]


# %% [markdown] exercise="schedule_plateau" kind="core" points="1 2" part="mytorch.optim.lr_scheduler:ReduceLROnPlateau._is_better mytorch.optim.lr_scheduler:ReduceLROnPlateau.step"
# ### Exercise 4 · When progress stops
# `ReduceLROnPlateau` gets a metric after each epoch, such as a loss (`mode="min"`) or an accuracy (`mode="max"`).
# Attributes with the names of the constructor's arguments say what counts as an improvement, how long the scheduler
# waits, and how far it lowers the rates.


# %% docstrings="schedule_plateau"
def _is_better():
    """Whether the metric `a` improves on `best` by more than the threshold.

    `self.mode` is "min" (lower is better) or "max". If `self.threshold_mode` is "rel", the metric has to be
    below best · (1 - threshold), or above best · (1 + threshold); if it is "abs", below best - threshold, or
    above best + threshold. A metric that is nan improves on nothing.
    """


def step():
    """Ends an epoch in which the metric was `metrics`, a number or a 0-d tensor.

    Increment `last_epoch`. If the metric is better than `self.best`, it becomes the best, and
    `num_bad_epochs` is reset to 0; otherwise `num_bad_epochs` increases by 1. While `cooldown_counter` is
    above 0, it decreases by 1, and `num_bad_epochs` is set to 0. If `num_bad_epochs` is now above `patience`,
    each rate is multiplied by `factor` but bounded from below by its entry in `min_lrs`. A rate is left as it
    is unless that lowers it by more than `eps`. Then `num_bad_epochs` is set to 0, and `cooldown_counter` to
    `cooldown`.

    `_last_lr` is the list of the rates at the end: `self._scaled(1)`.
    """


# %% check="schedule_plateau"
generator = check.rng()
rates = generator.permutation(generator.uniform([0.5, 1.3], [1.2, 2.0])).round(2)
best = round(float(generator.uniform(2.0, 4.0)), 2)
steps = [1.0, 0.9, 0.88, 0.7, 0.71, 0.705, 0.72, 0.73, 0.74, 0.6, 0.61, 0.62, 0.63, 0.64, 0.65, 0.66, 0.67]
metrics = [round(best * each, 4) for each in steps]


def run(metrics, lowest=None, rates=rates, **options):
    groups = [{"params": [mytorch.zeros(1)], "lr": float(rate)} for rate in rates]
    optimizer = mytorch.optim.SGD(groups, lr=1.0)
    plateau = mytorch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
    plateau.min_lrs = lowest or plateau.min_lrs
    found = []
    for epoch, metric in enumerate(metrics):
        plateau.step(mytorch.tensor(metric) if epoch % 2 else metric)
        now = [group["lr"] for group in optimizer.param_groups]
        counts = plateau.num_bad_epochs, plateau.cooldown_counter
        found.append([*now, *counts] if plateau.get_last_lr() == now else "the last rates are others")
    return [*found, float(plateau.best), plateau.last_epoch]


def better(a, other, **options):
    optimizer = mytorch.optim.SGD([mytorch.zeros(1)], lr=1.0)
    return mytorch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)._is_better(a, other)


marks = [-0.35, -0.25, -0.15, -0.05, 0.05, 0.15, 0.25, 0.35]
modes = [(mode, kind) for mode in ("min", "max") for kind in ("rel", "abs")]
check.show(
    {
        "rates of the groups": rates,
        "metrics": metrics,
        **{
            f"better than {best} by 0.2, {mode}, {kind}": [
                better(
                    best * (1 + mark) if kind == "rel" else best + mark,
                    best,
                    mode=mode,
                    threshold=0.2,
                    threshold_mode=kind,
                )
                for mark in marks
            ]
            for mode, kind in modes
        },
        "better than -1 by 0.2, min, rel": [better(a, -1.0, threshold=0.2) for a in (-1.3, -1.1, -0.9, -0.7)],
        "better than 0 by 0.2, rel": [
            better(a, 0.0, threshold=0.2, mode=mode) for a in (-0.1, 0.1) for mode in ("min", "max")
        ],
        "equal, threshold 0": [better(best, best, threshold=0.0, mode=mode) for mode in ("min", "max")],
        "better than infinity": [better(best, math.inf), better(best, -math.inf, mode="max")],
        "nan": [better(math.nan, best, mode=mode, threshold_mode=kind) for mode, kind in modes],
        "patience 2": run(metrics, patience=2),
        "no patience": run(metrics, patience=0, factor=0.5),
        "cooldown 2": run(metrics, patience=1, cooldown=2, factor=0.5),
        "better in the cooldown": run(metrics, patience=0, cooldown=3, factor=0.5),
        "maximum": run([-metric for metric in metrics], patience=2, mode="max", factor=0.5),
        "better, but not by the threshold": run(
            [best, 0.93 * best, 0.92 * best, 0.85 * best], patience=1, threshold=0.1
        ),
        "nan first": run([math.nan, best, 1.1 * best], patience=0, factor=0.5),
        "lowest rates above the rates": run([best] * 3, lowest=[3.0, 4.0], patience=0, factor=0.5),
        "lowest rates above the rates, cooldown 2": run([best] * 5, lowest=[3.0, 4.0], patience=0, cooldown=2),
        "lowest rates 0.2 and 0.4": run(metrics, lowest=[0.2, 0.4], patience=0, factor=0.5),
        "eps": run(metrics, patience=0, factor=0.5, eps=0.2),
        "rates 1 and 2, factor 0.25, eps 0.75": run(metrics, rates=(1.0, 2.0), patience=0, factor=0.25, eps=0.75),
    },
    rtol=1e-5,
    text="After each epoch: the two rates, the bad epochs, the rest of the cooldown. At the end: the best metric and the epoch.",
)

# %% [markdown] hint="schedule_plateau"
# `_is_better` has four cases of two lines each, and a metric exactly at the limit isn't better. In `step`, compare
# first, then cool down, then reduce the rates.

# %% [markdown] hint="schedule_plateau"
# `float(metrics)` accepts tensors as well, and a good epoch during the cooldown still updates the best metric.

# %% [markdown] hint="schedule_plateau"
# To reduce the rates, compute `reduced = max(group["lr"] * self.factor, lowest)` for each group and its lowest rate,
# and write it if `group["lr"] - reduced > self.eps`; the cooldown starts even if no rate changed.


# %% mutant="schedule_plateau"
# Any improvement
# The metric has to be better by more than the threshold. Otherwise noise alone would count as progress.
def _is_better(self, a, best):
    return a < best if self.mode == "min" else a > best


# %% mutant="schedule_plateau"
# At least the threshold
# The metric has to be strictly better than the limit, so with threshold 0 the same loss again isn't progress.
def _is_better(self, a, best):
    sign = 1 if self.mode == "min" else -1
    limit = best * (1 - sign * self.threshold) if self.threshold_mode == "rel" else best - sign * self.threshold
    return sign * a <= sign * limit


# %% mutant="schedule_plateau"
# Always relative
# With `threshold_mode="abs"` the threshold itself is subtracted from the best metric, not a multiple of that metric.
def _is_better(self, a, best):
    if self.mode == "min":
        return a < best * (1 - self.threshold)
    return a > best * (1 + self.threshold)


# %% mutant="schedule_plateau"
# Lower is always better
# In mode "max" a higher metric is better.
def _is_better(self, a, best):
    return a < (best * (1 - self.threshold) if self.threshold_mode == "rel" else best - self.threshold)


# %% mutant="schedule_plateau"
# A margin of absolute size
# For a best metric below 0, PyTorch's relative limit, best · (1 - threshold), is *above* it, whereas yours is below.
def _is_better(self, a, best):
    margin = self.threshold * (abs(best) if self.threshold_mode == "rel" else 1)
    if math.isinf(best):
        return True
    return a < best - margin if self.mode == "min" else a > best + margin


# %% mutant="schedule_plateau"
# Loses patience early
# With patience 2, two bad epochs are allowed, and the third one lowers the rate. Compare with >, not with >=.
def step(self, metrics):
    self.last_epoch += 1
    current = float(metrics)
    if self._is_better(current, self.best):
        self.best, self.num_bad_epochs = current, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs >= max(self.patience, 1):
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            reduced = max(group["lr"] * self.factor, lowest)
            if group["lr"] - reduced > self.eps:
                group["lr"] = reduced
        self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
    self._last_lr = self._scaled(1)


# %% mutant="schedule_plateau"
# Never resets the count
# An improvement resets the number of bad epochs to 0.
def step(self, metrics):
    self.last_epoch += 1
    current = float(metrics)
    if self._is_better(current, self.best):
        self.best = current
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


# %% mutant="schedule_plateau"
# No cooldown
# After a reduction, `cooldown` epochs don't count as bad, whatever their metrics are.
def step(self, metrics):
    self.last_epoch += 1
    current = float(metrics)
    if self._is_better(current, self.best):
        self.best, self.num_bad_epochs = current, 0
    else:
        self.num_bad_epochs += 1
    if self.num_bad_epochs > self.patience:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            reduced = max(group["lr"] * self.factor, lowest)
            if group["lr"] - reduced > self.eps:
                group["lr"] = reduced
        self.num_bad_epochs = 0
    self._last_lr = self._scaled(1)


# %% mutant="schedule_plateau"
# Ignores improvements in the cooldown
# Bad epochs don't count in the cooldown, but an improvement still updates the best metric. Compare first, then cool
# down.
def step(self, metrics):
    self.last_epoch += 1
    current = float(metrics)
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    elif self._is_better(current, self.best):
        self.best, self.num_bad_epochs = current, 0
    else:
        self.num_bad_epochs += 1
    if self.num_bad_epochs > self.patience:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            reduced = max(group["lr"] * self.factor, lowest)
            if group["lr"] - reduced > self.eps:
                group["lr"] = reduced
        self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
    self._last_lr = self._scaled(1)


# %% mutant="schedule_plateau"
# One lowest rate for all
# Each group has its own entry in `min_lrs`.
def step(self, metrics):
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
        for group, lowest in zip(self.optimizer.param_groups, [self.min_lrs[0]] * len(self.min_lrs), strict=True):
            reduced = max(group["lr"] * self.factor, lowest)
            if group["lr"] - reduced > self.eps:
                group["lr"] = reduced
        self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
    self._last_lr = self._scaled(1)


# %% mutant="schedule_plateau"
# No lowest rate
# No rate is lowered below its entry in `min_lrs`.
def step(self, metrics):
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
        for group in self.optimizer.param_groups:
            reduced = group["lr"] * self.factor
            if group["lr"] - reduced > self.eps:
                group["lr"] = reduced
        self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
    self._last_lr = self._scaled(1)


# %% mutant="schedule_plateau"
# Compares with the preceding epoch
# The metric is compared with the best so far. After a bad epoch, the next one would look good by comparison.
def step(self, metrics):
    self.last_epoch += 1
    current = float(metrics)
    if self._is_better(current, self.best):
        self.num_bad_epochs = 0
    else:
        self.num_bad_epochs += 1
    self.best = current
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


# %% mutant="schedule_plateau"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def step(self, metrics):
    from minitorch.optim import lr_scheduler

    lr_scheduler.ReduceLROnPlateau.step(self, float(metrics))


# %% [markdown] exercise="schedule_average" kind="build" points=2
# ### Exercise 5 · An average of the weights
# Write an exponential moving average of a model's parameters that starts at 0 and is bias-corrected, like Adam's
# means.
#
# - `update(model)` includes the current parameters in the average: `a ← decay · a + (1 − decay) · w`, in the dtype of
#   each parameter. Buffers, such as a batch norm's statistics, aren't averaged; keep a copy of the current ones
#   instead, whether they are persistent or not.
# - `swapped_in(model)` is used in a `with` statement. Inside the block, the model's parameters hold the corrected
#   averages, which are `a / (1 − decayᵗ)` after `t` updates, and its buffers hold the copies. After the block the
#   model has its own values again, even if an error was raised inside; blocks may be nested. Write the values into
#   the parameters (`copy_`), because an optimizer holds these objects. It is called after at least one update.
#
# Either method may get another model of the same shapes than the constructor got, such as a copy that is only evaluated.
# The model's mode and its gradients stay as they are.
#
# `@contextmanager` makes a context manager of a generator function: the code before its `yield` runs first, and the
# code after it, in a `finally`, runs in any case. Autograd must record none of these writes, while it goes on recording
# inside the block.


# %% solution="schedule_average"
class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float) -> None:
        ### BEGIN SOLUTION
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]
        self.buffers = [each.clone() for each in model.buffers()]
        ### END SOLUTION

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        ### BEGIN SOLUTION
        self.updates += 1
        for average, parameter in zip(self.averages, model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        self.buffers = [each.clone() for each in model.buffers()]
        ### END SOLUTION

    @contextmanager
    def swapped_in(self, model: nn.Module):
        ### BEGIN SOLUTION
        correction = 1 - self.decay**self.updates
        held = [*model.parameters(), *model.buffers()]
        own = [each.detach().clone() for each in held]
        averaged = [*(average / correction for average in self.averages), *self.buffers]

        def write(values):
            with torch.no_grad():
                for each, value in zip(held, values, strict=True):
                    each.copy_(value)

        write(averaged)
        try:
            yield
        finally:
            write(own)
        ### END SOLUTION


# %% check="schedule_average" raises="RuntimeError"
generator = check.rng()
decay = float(generator.choice([0.5, 0.75, 0.9]))
torch.manual_seed(check.seed())
model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
model[0].bias.requires_grad_(False)  # a frozen parameter is averaged like any other
average = ExponentialAverage(model, decay)
memory = [parameter.data_ptr() for parameter in model.parameters()]


def values():
    return {name: each.detach().clone() for name, each in model.state_dict().items()}


shown = {"decay": decay}
for number in range(1, 4):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.tensor(generator.normal(size=tuple(parameter.shape)).round(2)))
    model(torch.tensor(generator.normal(size=(4, 2)).round(2), dtype=torch.float32))
    average.update(model)
    shown[f"update {number}: weight"] = model[0].weight.detach().clone()
    with average.swapped_in(model):
        shown[f"update {number}: average"] = model[0].weight.detach().clone()
        shown["the block records"] = torch.is_grad_enabled()
model(torch.ones(3, 2))  # the statistics move on
own = values()
model.eval()
model[0].weight.grad = torch.ones(2, 2)
with average.swapped_in(model):
    shown["the mode inside"] = model.training
    with average.swapped_in(model):
        pass
    shown["after a block in a block"] = model[0].weight.detach().clone()
shown["after both blocks"] = model[0].weight.detach().clone()
average_again = ExponentialAverage(model, decay)
average_again.update(model)
shown["mode and gradient afterwards"] = model.training, model[0].weight.grad
model.train()


def failing():
    with average.swapped_in(model):
        shown["inside"] = values()
        shown["same memory"] = memory == [parameter.data_ptr() for parameter in model.parameters()]
        raise RuntimeError("something failed inside")


shown["an error inside"] = check.error(failing)
other = copy.deepcopy(model)
with torch.no_grad():
    for parameter in other.parameters():
        parameter.mul_(2.0)
other[1].running_mean.add_(1.0)
average.update(other)
with average.swapped_in(other):
    shown["in another model"] = other[0].weight.detach().clone()
    shown["the other model's statistics"] = other[1].running_mean.clone()
shown["another model's own, afterwards"] = other[0].weight.detach().clone()
shown["the model's own, before"] = own
shown["the model's own, afterwards"] = values()
shown["still leaves, which require grad but for one"] = [
    (each.is_leaf, each.requires_grad) for each in model.parameters()
]
wide, drawn = nn.Linear(2, 1).double(), torch.tensor(generator.normal(size=(1, 2)))
with torch.no_grad():
    wide.weight.copy_(drawn)
precise = ExponentialAverage(wide, decay)
precise.update(wide)
with precise.swapped_in(wide):
    shown["2²⁴ times the error of a float64 average"] = (wide.weight.detach() - drawn) * 2**24
wide.register_buffer("cache", torch.tensor(generator.normal(size=2)), persistent=False)
with_cache = ExponentialAverage(wide, decay)
with_cache.update(wide)
wide.cache.add_(1.0)
with with_cache.swapped_in(wide):
    shown["a buffer that isn't persistent"] = wide.cache.clone()
    wide.cache.zero_()
shown["that buffer, afterwards"] = wide.cache.clone()
check.show(shown, text="A linear layer and a batch norm. New weights are drawn before each update.")

# %% [markdown] hint="schedule_average"
# After the first update the corrected average is the weight itself, `(1 − decay) · w / (1 − decay)`. Verify this on
# paper, and then count the updates in your class.

# %% [markdown] hint="schedule_average"
# `list(model.buffers())` contains the buffers themselves, which go on changing. Store `each.clone()` instead.

# %% [markdown] hint="schedule_average"
# In `swapped_in`, clone the model's parameters and buffers, write the averages, `try: yield`, and write the clones
# back in `finally:`. Put both writes under `with torch.no_grad():`.


# %% mutant="schedule_average"
# Runs the block under no_grad
# The `yield` is inside `no_grad`, so autograd records nothing in the block of the `with` statement either. Only the
# writes belong under `no_grad`.
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]
        self.buffers = [each.clone() for each in model.buffers()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, parameter in zip(self.averages, model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        self.buffers = [each.clone() for each in model.buffers()]

    @contextmanager
    def swapped_in(self, model):
        correction = 1 - self.decay**self.updates
        held = [*model.parameters(), *model.buffers()]
        own = [each.detach().clone() for each in held]
        averaged = [*(average / correction for average in self.averages), *self.buffers]
        with torch.no_grad():
            for each, value in zip(held, averaged, strict=True):
                each.copy_(value)
            try:
                yield
            finally:
                for each, value in zip(held, own, strict=True):
                    each.copy_(value)


# %% mutant="schedule_average"
# No correction
# The average starts at 0 and is too small at first, so divide it by 1 − decayᵗ.
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay = decay
        self.averages = [torch.zeros_like(each) for each in model.parameters()]
        self.buffers = [each.clone() for each in model.buffers()]

    @torch.no_grad()
    def update(self, model):
        for average, parameter in zip(self.averages, model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        self.buffers = [each.clone() for each in model.buffers()]

    @contextmanager
    def swapped_in(self, model):
        held = [*model.parameters(), *model.buffers()]
        own = [each.detach().clone() for each in held]
        with torch.no_grad():
            for each, value in zip(held, [*self.averages, *self.buffers], strict=True):
                each.copy_(value)
        try:
            yield
        finally:
            with torch.no_grad():
                for each, value in zip(held, own, strict=True):
                    each.copy_(value)


# %% mutant="schedule_average"
# Doesn't restore after an error
# If an error is raised inside the block, the model keeps the averages, and training continues from them. Restore the
# weights in a `finally`.
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]
        self.buffers = [each.clone() for each in model.buffers()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, parameter in zip(self.averages, model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        self.buffers = [each.clone() for each in model.buffers()]

    @contextmanager
    def swapped_in(self, model):
        held = [*model.parameters(), *model.buffers()]
        own = [each.detach().clone() for each in held]
        correction = 1 - self.decay**self.updates
        with torch.no_grad():
            for each, value in zip(held, [*(a / correction for a in self.averages), *self.buffers], strict=True):
                each.copy_(value)
        yield
        with torch.no_grad():
            for each, value in zip(held, own, strict=True):
                each.copy_(value)


# %% mutant="schedule_average"
# Uses the current buffers
# Inside the block, the statistics are those that the model has now. They belong with the weights of the last update,
# so copy them there.
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, parameter in zip(self.averages, model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)

    @contextmanager
    def swapped_in(self, model):
        held = list(model.parameters())
        own = [each.detach().clone() for each in held]
        correction = 1 - self.decay**self.updates
        with torch.no_grad():
            for each, value in zip(held, self.averages, strict=True):
                each.copy_(value / correction)
        try:
            yield
        finally:
            with torch.no_grad():
                for each, value in zip(held, own, strict=True):
                    each.copy_(value)


# %% mutant="schedule_average"
# Keeps the model's own values on the object
# The inner of two nested blocks overwrites what the outer one has to write back. Keep the values in a local variable of
# `swapped_in`, which each block has for itself.
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]
        self.buffers = [each.clone() for each in model.buffers()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, parameter in zip(self.averages, model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        self.buffers = [each.clone() for each in model.buffers()]

    @contextmanager
    def swapped_in(self, model):
        held = [*model.parameters(), *model.buffers()]
        self.own = [each.detach().clone() for each in held]
        correction = 1 - self.decay**self.updates
        with torch.no_grad():
            for each, value in zip(held, [*(a / correction for a in self.averages), *self.buffers], strict=True):
                each.copy_(value)
        try:
            yield
        finally:
            with torch.no_grad():
                for each, value in zip(held, self.own, strict=True):
                    each.copy_(value)


# %% mutant="schedule_average"
# Doesn't restore the buffers
# After the block the parameters are the model's own again, but its buffers are still the copies.
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]
        self.buffers = [each.clone() for each in model.buffers()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, parameter in zip(self.averages, model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        self.buffers = [each.clone() for each in model.buffers()]

    @contextmanager
    def swapped_in(self, model):
        own = [each.detach().clone() for each in model.parameters()]
        correction = 1 - self.decay**self.updates
        averaged = [*(average / correction for average in self.averages), *self.buffers]
        with torch.no_grad():
            for each, value in zip([*model.parameters(), *model.buffers()], averaged, strict=True):
                each.copy_(value)
        try:
            yield
        finally:
            with torch.no_grad():
                for each, value in zip(model.parameters(), own, strict=True):
                    each.copy_(value)


# %% mutant="schedule_average"
# Takes the buffers from the state dict
# A state dict lacks the buffers that aren't persistent, such as masks and caches. `model.buffers()` gives all of them.
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = {name: torch.zeros_like(each) for name, each in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for name, parameter in model.named_parameters():
            self.averages[name].mul_(self.decay).add_((1 - self.decay) * parameter)
        state = model.state_dict().items()
        self.buffers = {name: each.clone() for name, each in state if name not in self.averages}

    @contextmanager
    def swapped_in(self, model):
        own = {name: each.clone() for name, each in model.state_dict().items()}
        correction = 1 - self.decay**self.updates
        model.load_state_dict({name: each / correction for name, each in self.averages.items()} | self.buffers)
        try:
            yield
        finally:
            model.load_state_dict(own)


# %% mutant="schedule_average"
# Starts with the initial weights
# That is how PyTorch does it. This average starts at 0, so that after the correction all weights count as the formula
# says.
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.averages = decay, None

    @torch.no_grad()
    def update(self, model):
        if self.averages is None:
            self.averages = [each.detach().clone() for each in model.parameters()]
        for average, parameter in zip(self.averages, model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        self.buffers = [each.clone() for each in model.buffers()]

    @contextmanager
    def swapped_in(self, model):
        held = [*model.parameters(), *model.buffers()]
        own = [each.detach().clone() for each in held]
        with torch.no_grad():
            for each, value in zip(held, [*self.averages, *self.buffers], strict=True):
                each.copy_(value)
        try:
            yield
        finally:
            with torch.no_grad():
                for each, value in zip(held, own, strict=True):
                    each.copy_(value)


# %% [markdown] exercise="schedule_repair_resume" kind="repair" points=3
# ### Exercise 6 · The resumed run starts at full rate
# `save` makes a checkpoint, and `resume` continues from it in a new process. A run with a cosine schedule of ten
# epochs was interrupted after six. Its rates should continue with 0.35, 0.21, 0.10, but instead they are:
#
# ```text
# epoch 6   rate 0.35
# epoch 7   rate 0.34
# epoch 8   rate 0.31
# ```
#
# With a linear warm-up even the first rate is incorrect. Fix both functions. Whatever scheduler `make_scheduler`
# returns, rates and weights must continue as if the run had not been interrupted. A checkpoint must not change after
# it was saved, so that it can be resumed twice.


# %% solution="schedule_repair_resume"
def save(model: nn.Module, optimizer: torch.optim.Optimizer, scheduler) -> dict:
    ### BEGIN SOLUTION
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}
    ### END SOLUTION
    ### BEGIN STUB
    # parts = {"model": model, "optimizer": optimizer}
    # return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}
    ### END STUB


def resume(checkpoint: dict, make_model, make_optimizer, make_scheduler) -> tuple:
    """The model, the optimizer and the scheduler, newly made and restored to their saved state."""
    ### BEGIN SOLUTION
    model = make_model()
    optimizer = make_optimizer(model.parameters())
    scheduler = make_scheduler(optimizer)  # sets rates, so the saved ones are loaded afterwards
    checkpoint = copy.deepcopy(checkpoint)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    return model, optimizer, scheduler
    ### END SOLUTION
    ### BEGIN STUB
    # model = make_model()
    # model.load_state_dict(checkpoint["model"])
    # optimizer = make_optimizer(model.parameters())
    # optimizer.load_state_dict(checkpoint["optimizer"])
    # scheduler = make_scheduler(optimizer)
    # return model, optimizer, scheduler
    ### END STUB


# %% check="schedule_repair_resume"
generator = check.rng()
rate, period = round(float(generator.uniform(0.1, 0.3)), 2), int(generator.integers(6, 9))
schedules = torch.optim.lr_scheduler
makers = {
    "cosine": lambda o: schedules.CosineAnnealingLR(o, period),
    "a function": lambda o: schedules.LambdaLR(o, lambda t: 1 / (1 + t)),
    "linear warm-up": lambda o: schedules.LinearLR(o, 0.25, total_iters=period),
    "in sequence": lambda o: schedules.SequentialLR(
        o, [schedules.LinearLR(o, 0.5, total_iters=2), schedules.ExponentialLR(o, 0.5)], [2]
    ),
    "plateau": lambda o: schedules.ReduceLROnPlateau(o, factor=0.5, patience=1),
    "one cycle": lambda o: schedules.OneCycleLR(o, rate, 12),
}


def go_on(model, optimizer, scheduler, epochs):
    """The rate, the momentum and the weight in each epoch."""
    found = []
    for _ in range(epochs):
        optimizer.zero_grad()
        (model.weight**2).sum().backward()
        optimizer.step()
        group = optimizer.param_groups[0]
        found.append([group["lr"], group["momentum"], model.weight.item()])
        scheduler.step(1.0) if isinstance(scheduler, schedules.ReduceLROnPlateau) else scheduler.step()
    return found


def make_model():
    torch.manual_seed(check.seed())
    return nn.Linear(1, 1, bias=False)


def make_optimizer(parameters):
    return torch.optim.SGD(parameters, lr=rate, momentum=0.5)


shown = {"rate, T_max": [rate, period]}
for name, make_scheduler in makers.items():
    model = make_model()
    optimizer = make_optimizer(model.parameters())
    run = model, optimizer, make_scheduler(optimizer)
    go_on(*run, 3)
    checkpoint = check.intact(save, *run)
    go_on(*run, 1)
    for attempt in ("resumed", "resumed again"):
        shown[f"{name}: {attempt}"] = go_on(*resume(checkpoint, make_model, make_optimizer, make_scheduler), 3)
check.show(
    shown,
    text="Saved after three epochs, after which the run continued for one more. Rate, momentum and weight in the next three epochs.",
)

# %% [markdown] hint="schedule_repair_resume"
# Look at what `save` stores, and decide which of the three objects has to know the current epoch.

# %% [markdown] hint="schedule_repair_resume"
# A scheduler's constructor makes a first step, which writes a rate into the groups and overwrites one that was loaded
# before.

# %% [markdown] hint="schedule_repair_resume"
# First make all three, in the order model, optimizer, scheduler, and then load all three. Loading may keep the
# objects that it is given, so load a `copy.deepcopy` of the checkpoint.


# %% mutant="schedule_repair_resume"
# Made after the optimizer was loaded
# A warm-up's constructor multiplies the loaded rate by its first factor, so make the scheduler before you load.
def save(model, optimizer, scheduler):
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}


def resume(checkpoint, make_model, make_optimizer, make_scheduler):
    checkpoint = copy.deepcopy(checkpoint)
    model = make_model()
    model.load_state_dict(checkpoint["model"])
    optimizer = make_optimizer(model.parameters())
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler = make_scheduler(optimizer)
    scheduler.load_state_dict(checkpoint["scheduler"])
    return model, optimizer, scheduler


# %% mutant="schedule_repair_resume"
# Stores only the epoch
# A plateau scheduler has its best metric and its bad epochs, and a sequence has its schedulers, so store the whole
# `state_dict`.
def save(model, optimizer, scheduler):
    parts = {"model": model, "optimizer": optimizer}
    saved = {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}
    return saved | {"epoch": scheduler.last_epoch}


def resume(checkpoint, make_model, make_optimizer, make_scheduler):
    model = make_model()
    optimizer = make_optimizer(model.parameters())
    scheduler = make_scheduler(optimizer)
    checkpoint = copy.deepcopy(checkpoint)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.last_epoch = checkpoint["epoch"]
    return model, optimizer, scheduler


# %% mutant="schedule_repair_resume"
# No copy
# A state_dict shares its tensors with the model and the optimizer, so the epoch that followed has changed the
# checkpoint.
def save(model, optimizer, scheduler):
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    return {name: part.state_dict() for name, part in parts.items()}


def resume(checkpoint, make_model, make_optimizer, make_scheduler):
    model = make_model()
    optimizer = make_optimizer(model.parameters())
    scheduler = make_scheduler(optimizer)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    return model, optimizer, scheduler


# %% mutant="schedule_repair_resume"
# Resumed once
# An optimizer's `load_state_dict` may keep the tensors that it is given, and the resumed run then writes its momentum
# into the checkpoint. Load a copy.
def save(model, optimizer, scheduler):
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}


def resume(checkpoint, make_model, make_optimizer, make_scheduler):
    model = make_model()
    optimizer = make_optimizer(model.parameters())
    scheduler = make_scheduler(optimizer)
    for name, part in (("model", model), ("optimizer", optimizer), ("scheduler", scheduler)):
        part.load_state_dict(checkpoint[name])
    return model, optimizer, scheduler


# %% mutant="schedule_repair_resume"
# Replays the steps
# Repeating `scheduler.step()` restores a closed-form scheduler, but a chainable one multiplies the loaded rate once
# more.
def save(model, optimizer, scheduler):
    parts = {"model": model, "optimizer": optimizer}
    saved = {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}
    return saved | {"epoch": scheduler.last_epoch}


def resume(checkpoint, make_model, make_optimizer, make_scheduler):
    checkpoint = copy.deepcopy(checkpoint)
    model = make_model()
    model.load_state_dict(checkpoint["model"])
    optimizer = make_optimizer(model.parameters())
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler = make_scheduler(optimizer)
    for _ in range(checkpoint["epoch"]):
        if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            scheduler.step(1.0)
        else:
            scheduler.step()
    return model, optimizer, scheduler


# %% [markdown] exercise="schedule_measure_limit" kind="measure" points=2
# ### Exercise 7 · The largest stable rate
# `train(lr)` makes 200 steps of gradient descent on a loss that you can't see, a parabola in several weights. It
# returns the losses, beginning with the one before the first step. A rate is **stable** if the last loss isn't above
# the first, and isn't nan.
#
# Find the largest stable rate by experiment, to within 1 %. It lies between $2^{-12}$ and $2^{6}$, and you may call
# `train` a hundred times at most. In the second problem the parabola is the same but SGD has momentum, and in the
# third the parabola is four times as steep. Compare the results with $2 / c$, where $c$ is the largest curvature, and
# with $2 (1 + \mu) / c$. Further `train` functions aren't parabolas: the last loss of some is `nan` from some rate on, and in
# one the last loss equals the first below some rate.


# %% setup=true
def parabola(curvatures, momentum):
    """A function train(lr) that returns the losses of 200 steps on the sum of curvature * w ** 2 / 2, from w = 1."""

    def train(lr):
        w, velocity, losses = np.ones(len(curvatures)), np.zeros(len(curvatures)), []
        with np.errstate(all="ignore"):
            for _ in range(201):
                losses.append(float((curvatures * w**2).sum() / 2))
                velocity = momentum * velocity + curvatures * w
                w = w - lr * velocity
        return losses

    return train


# %% solution="schedule_measure_limit"
def largest_stable_rate(train) -> float:
    ### BEGIN SOLUTION
    stable, unstable = 2.0**-12, 2.0**6
    while unstable / stable > 1.005:
        middle = math.sqrt(stable * unstable)
        losses = train(middle)
        if losses[-1] <= losses[0]:
            stable = middle
        else:
            unstable = middle
    return stable
    ### END SOLUTION


# %% check="schedule_measure_limit"
generator = check.rng()
curvatures = np.array([0.01, 0.3, 1.0]) * float(np.exp(generator.uniform(0, 4)))
momentum = float(generator.choice([0.5, 0.8, 0.9]))
calls = []


def counted(train):
    calls.append(0)

    def run(lr):
        calls[-1] += 1
        return train(lr)

    return run


limits = {
    "plain": largest_stable_rate(counted(parabola(curvatures, 0.0))),
    f"momentum {momentum}": largest_stable_rate(counted(parabola(curvatures, momentum))),
    "four times as steep": largest_stable_rate(counted(parabola(4 * curvatures, 0.0))),
    "nan from 0.7 on": largest_stable_rate(counted(lambda lr: [1.0, math.nan if lr >= 0.7 else 0.5])),
    "nan from 0.0003 on": largest_stable_rate(counted(lambda lr: [1.0, math.nan if lr >= 0.0003 else 0.5])),
    "nan from 50 on": largest_stable_rate(counted(lambda lr: [1.0, math.nan if lr >= 50 else 0.5])),
    "falls and rises again, from 5 on above the first": largest_stable_rate(
        counted(lambda lr: [1.0, 0.4, 0.6 if lr < 5 else 2.0])
    ),
    "all steps the same": largest_stable_rate(counted(lambda lr: [1.0, 1.0 if lr < 3 else 2.0])),
}
check.show(
    {
        "2 / c": 2 / curvatures.max(),
        **limits,
        "at most a hundred calls for each": max(calls) <= 100,
    },
    rtol=0.02,
    text="The largest stable rates.",
)

# %% [markdown] hint="schedule_measure_limit"
# Begin with a rate that is certainly stable and one that certainly isn't, and try a rate between them.

# %% [markdown] hint="schedule_measure_limit"
# The rates span many powers of two, so halve the *ratio*: the midpoint of $a$ and $b$ is $\sqrt{a \cdot b}$, and you can
# stop when the ratio is below 1.01.

# %% [markdown] hint="schedule_measure_limit"
# Test `losses[-1] <= losses[0]`, which is false for nan. If it holds, the midpoint becomes the stable end, otherwise
# the unstable one.


# %% mutant="schedule_measure_limit"
# Powers of two
# The largest stable power of two may be too small by almost a factor of 2. Continue between it and the next one.
def largest_stable_rate(train):
    for k in range(6, -13, -1):
        losses = train(2.0**k)
        if losses[-1] <= losses[0]:
            return 2.0**k


# %% mutant="schedule_measure_limit"
# Waits for nan
# A loss that grows is unstable long before it becomes infinite.
def largest_stable_rate(train):
    stable, unstable = 2.0**-12, 2.0**6
    while unstable / stable > 1.005:
        middle = math.sqrt(stable * unstable)
        if math.isfinite(train(middle)[-1]):
            stable = middle
        else:
            unstable = middle
    return stable


# %% mutant="schedule_measure_limit"
# Never above the first
# With momentum the loss may rise above its initial value on the way down. Only the last loss counts.
def largest_stable_rate(train):
    stable, unstable = 2.0**-12, 2.0**6
    while unstable / stable > 1.005:
        middle = math.sqrt(stable * unstable)
        losses = train(middle)
        if max(losses) <= losses[0]:
            stable = middle
        else:
            unstable = middle
    return stable


# %% mutant="schedule_measure_limit"
# The fastest rate
# The rate with the lowest last loss is below the largest stable one.
def largest_stable_rate(train):
    rates = [2.0 ** (k / 32) for k in range(-12 * 32 // 4, 6 * 32 // 4)]
    return min(rates, key=lambda lr: train(lr)[-1] if math.isfinite(train(lr)[-1]) else math.inf)


# %% mutant="schedule_measure_limit"
# Requires progress
# A last loss that equals the first isn't above it, so this rate is stable.
def largest_stable_rate(train):
    low, high = 2.0**-12, 2.0**6
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        losses = train(middle)
        low, high = (middle, high) if losses[-1] < losses[0] else (low, middle)
    return low


# %% mutant="schedule_measure_limit"
# Takes nan for stable
# `nan > losses[0]` is false, so nan counts as stable here. Test `losses[-1] <= losses[0]`, which is false for nan.
def largest_stable_rate(train):
    stable, unstable = 2.0**-12, 2.0**6
    while unstable / stable > 1.005:
        middle = math.sqrt(stable * unstable)
        losses = train(middle)
        if losses[-1] > losses[0]:
            unstable = middle
        else:
            stable = middle
    return stable
