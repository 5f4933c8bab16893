# %% [markdown]
# # Exercises · The training loop
# Two of the exercises write the trainer of your library: its step, and how it resumes after an interruption.
# These two run inside a file of `mytorch`, where all names that a task or a docstring mentions are defined.

# %% setup=true
from __future__ import annotations

import gc
import weakref

from course import check

# %% setup=true
import copy
import math
from itertools import pairwise

import numpy as np
from sklearn.datasets import load_digits

import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F

# %% setup=true
DIGITS = load_digits()


def digits_batches(generator, *sizes):
    """Batches of randomly chosen digits: a list of (images with 64 pixels from 0 to 1, labels)."""
    batches = []
    for size in sizes:
        chosen = generator.choice(len(DIGITS.target), size, replace=False)
        images = torch.tensor((DIGITS.data[chosen] / 16).astype(np.float32))
        batches.append((images, torch.tensor(DIGITS.target[chosen])))
    return batches


class Graphs:
    """A forward hook that counts the graphs of earlier passes that are still alive."""

    def __init__(self):
        self.seen, self.most = [], 0
        gc.freeze()  # a collection need not visit the objects that exist already

    def __call__(self, module, inputs, output):
        if any(node() is not None for node in self.seen):
            gc.collect()  # objects that only a reference cycle holds don't count
        self.seen = [node for node in self.seen if node() is not None]
        self.most = max(self.most, len(self.seen))
        if output.grad_fn is not None:
            self.seen.append(weakref.ref(output.grad_fn))


def digits_model(dropout=0.0):
    """A 64-16-10 network with the same weights in each call of one run."""
    torch.manual_seed(check.seed())
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Dropout(dropout), nn.Linear(16, 10))


# %% [markdown] exercise="training_predict_numbers" kind="predict" points=2
# ### Exercise 1 · Three numbers to know before you start
# Write three functions that say what to expect before any training runs.
#
# - `untrained_loss(classes)`: the cross-entropy of a classifier that gives every class the same probability.
# - `parameter_count(sizes)`: the number of parameters of an MLP with these layer sizes, biases included. For example,
#   `parameter_count([2, 3, 1])` is 13.
# - `steps_per_epoch(images, batch_size, drop_last)`: how often `optimizer.step()` runs in an epoch, where `drop_last`
#   drops an incomplete last batch.


# %% solution="training_predict_numbers"
def untrained_loss(classes: int) -> float:
    ### BEGIN SOLUTION
    return math.log(classes)
    ### END SOLUTION


def parameter_count(sizes: list[int]) -> int:
    ### BEGIN SOLUTION
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))
    ### END SOLUTION


def steps_per_epoch(images: int, batch_size: int, drop_last: bool) -> int:
    ### BEGIN SOLUTION
    return images // batch_size if drop_last else math.ceil(images / batch_size)
    ### END SOLUTION


# %% check="training_predict_numbers"
generator = check.rng()
classes = int(generator.integers(3, 1000))
sizes = [int(size) for size in generator.integers(2, 300, size=4)]
batch_size = int(generator.integers(10, 100))
images = batch_size * int(generator.integers(5, 50)) + int(generator.integers(1, batch_size))
check.show(
    {
        f"loss with {classes} classes": untrained_loss(classes),
        f"parameters of {sizes}": parameter_count(sizes),
        f"steps for {images} images in batches of {batch_size}": steps_per_epoch(images, batch_size, False),
        "the same, with drop_last": steps_per_epoch(images, batch_size, True),
        f"steps for {6 * batch_size} images, all batches full": steps_per_epoch(6 * batch_size, batch_size, False),
        "one image too few for a batch, with drop_last": steps_per_epoch(batch_size - 1, batch_size, True),
    },
    rtol=1e-9,
    atol=0,
)

# %% [markdown] hint="training_predict_numbers"
# Which probability does each class get, and what is the cross-entropy of the correct one? For the parameters, begin
# with a single layer: how many weights does it have, and how many biases?

# %% [markdown] hint="training_predict_numbers"
# The loss is $-\ln \frac{1}{C}$. A layer from $n$ to $m$ features has $nm$ weights and $m$ biases. 100 images in
# batches of 32 give 3 full batches and 4 remaining images.

# %% [markdown] hint="training_predict_numbers"
# The loss is `math.log(classes)`, and the parameters are the sum of `(inputs + 1) * outputs` over neighbouring sizes.
# The steps are `images // batch_size` with `drop_last`, and otherwise the quotient rounded up.


# %% mutant="training_predict_numbers"
# Always one batch more
# If all batches are full, no images are left over, so there is no step for them.
def untrained_loss(classes):
    return math.log(classes)


def parameter_count(sizes):
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return images // batch_size + (0 if drop_last else 1)


# %% mutant="training_predict_numbers"
# Counts in bits
# Your loss is a logarithm to base 2, whereas PyTorch's cross-entropy uses the natural logarithm: ln 10 = 2.303 for
# ten classes.
def untrained_loss(classes):
    return math.log2(classes)


def parameter_count(sizes):
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return images // batch_size if drop_last else math.ceil(images / batch_size)


# %% mutant="training_predict_numbers"
# Forgets the biases
# Each output of a layer has a bias as well, so the layer has (inputs + 1) * outputs parameters, not inputs * outputs.
def untrained_loss(classes):
    return math.log(classes)


def parameter_count(sizes):
    return sum(inputs * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return images // batch_size if drop_last else math.ceil(images / batch_size)


# %% mutant="training_predict_numbers"
# Always drops the last batch
# Without drop_last, the images that don't fill a batch form a smaller one, which takes a step of its own. Round up.
def untrained_loss(classes):
    return math.log(classes)


def parameter_count(sizes):
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return images // batch_size


# %% mutant="training_predict_numbers"
# Never drops the last batch
# With drop_last, the images that don't fill a batch are dropped, so round down. Fewer images than a full batch give
# no step.
def untrained_loss(classes):
    return math.log(classes)


def parameter_count(sizes):
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return math.ceil(images / batch_size)


# %% [markdown] exercise="training_trainer_step" kind="core" points="2 1" part="mytorch.training:Trainer.accumulate | mytorch.training:Trainer.step"
# ### Exercise 2 · The step of a trainer
# A `Trainer` has `model`, `optimizer`, `scheduler`, `loader`, a function `loss`, `micro_batches`, `max_norm`, and
# `losses`, the list of the losses that it reports. `self.loss(self.model, batch)` runs the model on one batch and
# returns two values: the **sum** of the losses in it, as a tensor, and how many losses were added up, as an int. For
# a batch of sentences this is the number of tokens that count.
#
# A step may use several batches, and its gradient is the one that a single large batch would have given.


# %% docstrings="training_trainer_step"
def accumulate():
    """Leaves the gradient of the mean over all losses in `batches` in `.grad`, and returns this mean as a Python float.

    Earlier gradients are discarded. Each batch goes through the model separately, and its graph is freed
    before the next one begins; the number of losses isn't known in advance. A parameter that isn't used keeps
    None as its gradient.
    """


def step():
    """Makes one update from these batches, in training mode, and appends their mean loss to `self.losses`.

    The gradients of all parameters together are clipped to the norm `self.max_norm` by
    `clip_grad_norm_(parameters, length)`, which is defined in the file. Then the optimizer steps, and then
    the schedule.
    """


# %% check="training_trainer_step"
generator = check.rng()
mytorch.manual_seed(check.seed())
layers, events, nodes, held = mytorch.nn, [], [], []
sizes = [int(each) for each in generator.permutation([2, 4, 5, 7])]
batches = [(mytorch.randn(size, 3), mytorch.arange(float(size)) >= size // 2 - 1) for size in sizes]


def token_loss(model, batch):
    """The sum of the squares of the outputs in the rows that count, and the number of these rows."""
    gc.collect()
    held.append(sum(node() is not None for node in nodes))  # the graphs of earlier batches
    inputs, counts = batch
    events.append(f"forward of {len(inputs)}")
    loss = ((model(inputs) ** 2).sum(1) * counts).sum()
    nodes.append(weakref.ref(loss.grad_fn))
    loss.register_hook(lambda _: events.append("backward"))
    return loss, int(counts.sum().item())


class Part(layers.Module):
    """A layer, and another one that isn't used."""

    def __init__(self):
        super().__init__()
        self.layer, self.unused, self.modes = layers.Linear(3, 2), layers.Linear(2, 2), []

    def forward(self, x):
        self.modes.append("train" if self.training else "eval")
        return self.layer(x)


class Noted:
    """Stands in for an optimizer or a schedule: records its steps and the gradient at that moment."""

    def __init__(self, name, model):
        self.name, self.model = name, model

    def zero_grad(self, set_to_none=True):
        for each in self.model.parameters():
            each.grad = None if set_to_none or each.grad is None else 0 * each.grad

    def step(self):
        grads = [each.grad for each in self.model.parameters() if each.grad is not None]
        length = sum((each**2).sum() for each in grads).item() ** 0.5 if grads else 0.0
        events.append(f"{self.name}, gradient {'at most 0.5' if length < 0.501 else 'longer'}")


def a_trainer(max_norm=float("inf"), noted=False):
    model = Part()
    optimizer = Noted("optimizer", model) if noted else mytorch.optim.SGD(model.parameters(), lr=0.1)
    schedule = Noted("schedule", model) if noted else mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    return mytorch.Trainer(model, optimizer, schedule, [], token_loss, len(batches), max_norm)


trainer, shown = a_trainer(), {"sizes": sizes, "rows that count": [int(each.sum().item()) for _, each in batches]}
trainer.model.layer.weight.grad = mytorch.ones(2, 3)
for name, chosen in {"all four": batches, "then the first": batches[:1]}.items():
    for noted in (events, nodes, held):
        noted.clear()
    mean = trainer.accumulate(iter(chosen))
    shown[f"{name}: loss"], shown[f"{name}: its type"] = float(mean), type(mean).__name__
    shown[f"{name}: gradient"] = trainer.model.layer.weight.grad.clone()
    shown[f"{name}: order"] = list(events)
    shown[f"{name}: holds the graphs of several earlier batches"] = max(held) > 1
tight = a_trainer(1e-3)
tight.accumulate(batches)
shown["gradient before it is clipped"] = tight.model.layer.weight.grad
shown["unused layer"] = trainer.model.unused.weight.grad
short, calls = a_trainer(0.5, noted=True), []
short.accumulate = lambda given: calls.append(len(list(given))) or mytorch.Trainer.accumulate(short, batches)
short.model.eval()
events.clear()
short.step(batches)
shown["one step: order"] = [each for each in events if not each.startswith(("forward", "back"))]
shown["one step: modes, losses reported, batches in each call of accumulate"] = (
    short.model.modes,
    len(short.losses),
    calls,
)
stepping = a_trainer(0.5)
reported = stepping.losses
stepping.accumulate = lambda given: mytorch.Trainer.accumulate(stepping, given)
for chosen in (batches, iter(batches)):
    stepping.step(chosen)
shown["two steps: bias"], shown["two steps: losses"] = stepping.model.layer.bias, list(stepping.losses)
shown["two steps: the list of losses is the same"] = stepping.losses is reported
undefined = a_trainer()
undefined.accumulate = lambda given: mytorch.Trainer.accumulate(undefined, given)
undefined.step([(mytorch.full((2, 3), float("nan")), mytorch.ones(2) > 0)])
shown["a loss of nan: losses, rate"] = undefined.losses, undefined.optimizer.param_groups[0]["lr"]
shown["two steps: rate"] = stepping.optimizer.param_groups[0]["lr"]
shown["two steps: largest change by clipping"] = round((stepping.model.layer.weight.grad**2).sum().item() ** 0.5, 4)
check.show(
    shown,
    rtol=1e-4,
    atol=1e-5,
    text="The gradients of four batches of different sizes, and the order of what a step does.",
)

# %% [markdown] hint="training_trainer_step"
# First write `accumulate` for one batch, and then consider two batches with 12 and 4 losses. How does the gradient of
# the mean over all 16 follow from the gradients of the two sums?

# %% [markdown] hint="training_trainer_step"
# Gradients of sums add up without further work if you call `backward` for each batch, so only one division is missing
# at the end, and for `step` the docstring gives the order.

# %% [markdown] hint="training_trainer_step"
# After the loop, compute `parameter.grad /= count` for each parameter whose gradient isn't None, where count is that
# of all batches, and return `total / count`, where `total` accumulates `loss.item()`. In `step`, call
# `self.model.train()`, append the result of `accumulate`, call `clip_grad_norm_(self.model.parameters(),
# self.max_norm)`, and then the two steps.


# %% mutant="training_trainer_step"
# Averages the means
# Each batch counts the same, however many losses it has, so a token in a short sentence counts more than one in a
# long sentence.
def accumulate(self, batches):
    self.optimizer.zero_grad()
    batches, total = list(batches), 0.0
    for batch in batches:
        loss, added = self.loss(self.model, batch)
        (loss / added / len(batches)).backward()
        total += loss.item() / added
    return total / len(batches)


# %% mutant="training_trainer_step"
# Divides by the rows
# The rows of a batch aren't its losses, because some of them don't count. `loss` returns how many losses were added
# up.
def accumulate(self, batches):
    self.optimizer.zero_grad()
    total = count = 0
    for batch in batches:
        loss, _ = self.loss(self.model, batch)
        loss.backward()
        total, count = total + loss.item(), count + len(batch[0])
    for parameter in self.model.parameters():
        if parameter.grad is not None:
            parameter.grad /= count
    return total / count


# %% mutant="training_trainer_step"
# Doesn't divide the gradients
# The loss is correct, but the gradient is that of the sum, so a step grows with the number of tokens.
def accumulate(self, batches):
    self.optimizer.zero_grad()
    total = count = 0
    for batch in batches:
        loss, added = self.loss(self.model, batch)
        loss.backward()
        total, count = total + loss.item(), count + added
    return total / count


# %% mutant="training_trainer_step"
# Adds up losses with their graphs
# The values are correct, but the sum is a tensor that holds the graph of each batch. Add `loss.item()` instead.
def accumulate(self, batches):
    self.optimizer.zero_grad()
    total, count = 0.0, 0
    for batch in batches:
        loss, added = self.loss(self.model, batch)
        loss.backward()
        total, count = total + loss, count + added
    for parameter in self.model.parameters():
        if parameter.grad is not None:
            parameter.grad /= count
    return (total / count).item()


# %% mutant="training_trainer_step"
# One backward pass at the end
# The values are correct, but the graphs of all batches are in memory at once. The large batch was split because it
# didn't fit.
def accumulate(self, batches):
    self.optimizer.zero_grad()
    found = [self.loss(self.model, batch) for batch in batches]
    mean = sum(loss for loss, _ in found) / sum(added for _, added in found)
    mean.backward()
    return mean.item()


# %% mutant="training_trainer_step"
# Clears for each batch
# `zero_grad` inside the loop discards the gradients of the earlier batches.
def accumulate(self, batches):
    total = count = 0
    for batch in batches:
        self.optimizer.zero_grad()
        loss, added = self.loss(self.model, batch)
        loss.backward()
        total, count = total + loss.item(), count + added
    for parameter in self.model.parameters():
        if parameter.grad is not None:
            parameter.grad /= count
    return total / count


# %% mutant="training_trainer_step"
# Keeps the earlier gradients
# Gradients of an earlier step are added to yours, so clear them first.
def accumulate(self, batches):
    total = count = 0
    for parameter in self.model.parameters():
        if parameter.grad is None:
            continue
    for batch in batches:
        loss, added = self.loss(self.model, batch)
        loss.backward()
        total, count = total + loss.item(), count + added
    for parameter in self.model.parameters():
        if parameter.grad is not None:
            parameter.grad /= count
    return total / count


# %% mutant="training_trainer_step"
# Clips each parameter separately
# The gradients of all parameters form one vector. Clipping each parameter separately changes its direction, and its
# norm may still exceed `max_norm`.
def step(self, batches):
    self.model.train()
    self.losses.append(self.accumulate(batches))
    for parameter in self.model.parameters():
        clip_grad_norm_([parameter], self.max_norm)
    self.optimizer.step()
    self.scheduler.step()


# %% mutant="training_trainer_step"
# Clips before there is a gradient
# At that point the gradients are those of the preceding step, or None.
def step(self, batches):
    self.model.train()
    clip_grad_norm_(self.model.parameters(), self.max_norm)
    self.losses.append(self.accumulate(batches))
    self.optimizer.step()
    self.scheduler.step()


# %% mutant="training_trainer_step"
# The schedule goes first
# The optimizer then skips the first rate of the schedule. PyTorch warns about this order.
def step(self, batches):
    self.model.train()
    self.losses.append(self.accumulate(batches))
    clip_grad_norm_(self.model.parameters(), self.max_norm)
    self.scheduler.step()
    self.optimizer.step()


# %% mutant="training_trainer_step"
# Stays in eval mode
# If the model was evaluated in between, its dropout no longer has any effect, so each step sets the mode.
def step(self, batches):
    self.losses.append(self.accumulate(batches))
    clip_grad_norm_(self.model.parameters(), self.max_norm)
    self.optimizer.step()
    self.scheduler.step()


# %% [markdown] exercise="training_trainer_resume" kind="core" points="1 2" part="mytorch.training:Trainer.state_dict mytorch.training:Trainer.load_state_dict | mytorch.training:Trainer.rest_of_epoch"
# ### Exercise 3 · A trainer that resumes where it stopped
# A run may be interrupted after any step, also in the middle of an epoch. Resumed from its state, it must take the
# same steps as a run that was never interrupted, with the same batches, the same dropout, and the same losses to the
# last bit.
#
# The following method calls yours, and it is provided:
#
# ```python
# def fit(self, steps):
#     while len(self.losses) < steps:
#         self.epoch = self.epoch or self.rest_of_epoch()
#         if batches := list(islice(self.epoch, self.micro_batches)):
#             self.step(batches)
#             self.seen += len(batches)
#         elif self.seen:
#             self.epoch, self.seen = None, 0
#         else:
#             raise ValueError("the loader gives no batches")
# ```
#
# The order of the data is drawn when an epoch begins. So `self.began` stores the result of `self.random_state()` at
# that moment, and `self.set_random_state` restores it. Both methods are provided, and they include the loader's own
# generator, if it has one.


# %% docstrings="training_trainer_resume"
def state_dict():
    """A copy of everything that the next steps depend on, as a dict; later steps don't change it.

    Its entries are the state dicts of "model", "optimizer" and "scheduler", the attributes "losses", "seen"
    and "began", and "random", the current random state. `deepcopy` is defined in the file.
    """


def load_state_dict():
    """Resumes from where `state_dict` was called. The dict can be used again, because steps don't change it.

    An epoch that is running here is abandoned: `self.epoch` becomes None, so that `fit` calls for the rest of
    the saved one.
    """


def rest_of_epoch():
    """An iterator over the batches of `self.loader` that remain in this epoch.

    If no batch has been seen, a new epoch begins, and `self.began` is set. If `self.seen` is above 0, the
    epoch was interrupted: start it again with the random state `self.began`, skip the batches that were seen,
    and continue with the random state at the time of the call.
    """


# %% check="training_trainer_resume"
generator = check.rng()
layers, total = mytorch.nn, int(generator.integers(11, 15))
rows = int(generator.integers(9, 12))


class Noisy:
    """Items with noise that is drawn when they are loaded."""

    def __len__(self):
        return rows

    def __getitem__(self, index):
        seen.append(index)
        return mytorch.ones(3) * index / 10 + mytorch.rand(3)


def a_trainer(own=None):
    """A trainer, whose loader has a generator of its own if there is a seed for it."""
    mytorch.manual_seed(check.seed())
    model = layers.Sequential(layers.Linear(3, 4), layers.Dropout(0.5), layers.Tanh(), layers.Linear(4, 1))
    optimizer = mytorch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = mytorch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    source = None if own is None else mytorch.Generator().manual_seed(own)
    loader = mytorch.utils.data.DataLoader(Noisy(), 2, shuffle=True, drop_last=True, generator=source)
    return mytorch.Trainer(model, optimizer, schedule, loader, lambda m, x: ((m(x) ** 2).sum(), len(x)), 2)


def rounded(run):
    return [round(each, 3) for each in run.losses]


seen, straight, shown = [], a_trainer(), {"rows": rows, "steps": total}
straight.fit(total)
order = list(seen)
shown["losses without a stop"] = rounded(straight)
for stop in (1, 2, 5):
    seen.clear()
    stopped = a_trainer()
    stopped.fit(stop)
    state = stopped.state_dict()
    names, kept = sorted(state), repr(state)
    stopped.fit(total)
    shown[f"stopped after {stop}: what is saved"] = names
    shown[f"stopped after {stop}: unchanged by later steps"] = repr(state) == kept
    shown[f"stopped after {stop}: losses if it continues"] = rounded(stopped)
    resumed = a_trainer()
    resumed.fit(3)
    for attempt in ("first", "second"):
        seen.clear()
        resumed.load_state_dict(state)
        shown[f"stopped after {stop}, {attempt} load: losses, batches seen"] = rounded(resumed), resumed.seen
        resumed.fit(total)
        shown[f"stopped after {stop}, {attempt} load: losses after more steps"] = rounded(resumed)
        shown[f"stopped after {stop}, {attempt} load: items that it loaded last"] = seen[-8:]
    shown[f"stopped after {stop}: unchanged by loading"] = repr(state) == kept
stopped = a_trainer(own=1)
stopped.fit(3)
state = stopped.state_dict()
stopped.fit(total)
resumed = a_trainer(own=2)
seen.clear()
resumed.load_state_dict(state)
resumed.fit(total)
shown["a generator of the loader's own: losses if it continues, and after it is loaded"] = (
    rounded(stopped),
    rounded(resumed),
)
shown["a generator of the loader's own: items that it loaded last"] = seen[-8:]
for begun in (0, 2):
    alone = a_trainer()
    alone.began = alone.random_state()
    mytorch.rand(5)
    alone.seen = begun
    seen.clear()
    expected = alone.began if begun else alone.random_state()
    rest = alone.rest_of_epoch()
    shown[f"{begun} seen: the state at the beginning of the epoch is set by the call"] = mytorch.equal(
        alone.began, expected
    )
    left = [len(each) for each in rest]
    again = alone.began
    left_again = [len(each) for each in alone.rest_of_epoch()] if begun else []
    shown[f"{begun} seen: the epoch's random state is the same, and so are its batches"] = (
        mytorch.equal(again, alone.began),
        left_again,
    )
    shown[f"{begun} seen: batches left, items"] = left, list(seen)
    shown[f"{begun} seen: next number"] = mytorch.rand(1)
check.show(shown, rtol=1e-4, atol=2e-3, text="A run without a stop, and runs that stopped after 1, 2 and 5 steps.")

# %% [markdown] hint="training_trainer_resume"
# For each of model, optimizer, schedule and random numbers, determine what the next step uses of it. Then check which
# of the values in your dict are the run's own objects.

# %% [markdown] hint="training_trainer_resume"
# Call `deepcopy` on the whole dict in `state_dict`, and again in `load_state_dict`, because an optimizer uses the
# tensors that it is given. In `rest_of_epoch`, the order of the data is drawn at `iter(self.loader)` and at the first
# `next`.

# %% [markdown] hint="training_trainer_resume"
# Let `now = self.random_state()`, and if no batch was seen, set `self.began = now`. Then call
# `self.set_random_state(self.began)`, `batches = iter(self.loader)`, and `next(batches)` for each batch that was
# seen. Only if there were any, finish with `self.set_random_state(now)`.


# %% mutant="training_trainer_resume"
# Saves without copying
# A state dict shares its tensors with the run, so by the time you load it, it holds the state of the last step.
def state_dict(self):
    own = {name: getattr(self, name) for name in ("losses", "seen", "began")}
    parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}
    return own | parts | {"random": self.random_state()}


def load_state_dict(self, state_dict):
    state = deepcopy(state_dict)
    for name in ("model", "optimizer", "scheduler"):
        getattr(self, name).load_state_dict(state[name])
    self.losses, self.seen, self.began, self.epoch = state["losses"], state["seen"], state["began"], None
    self.set_random_state(state["random"])


# %% mutant="training_trainer_resume"
# Loads without copying
# The first resumed run works on the dict's own tensors, so a second one from the same dict begins where the first one
# ended.
def state_dict(self):
    own = {name: getattr(self, name) for name in ("losses", "seen", "began")}
    parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}
    return deepcopy(own | parts | {"random": self.random_state()})


def load_state_dict(self, state_dict):
    for name in ("model", "optimizer", "scheduler"):
        getattr(self, name).load_state_dict(state_dict[name])
    self.losses, self.seen, self.began = state_dict["losses"], state_dict["seen"], state_dict["began"]
    self.epoch = None
    self.set_random_state(state_dict["random"])


# %% mutant="training_trainer_resume"
# Continues the epoch that was running
# The trainer that loads may be in an epoch of its own, with other batches. Set `self.epoch` to None.
def state_dict(self):
    own = {name: getattr(self, name) for name in ("losses", "seen", "began")}
    parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}
    return deepcopy(own | parts | {"random": self.random_state()})


def load_state_dict(self, state_dict):
    state = deepcopy(state_dict)
    for name in ("model", "optimizer", "scheduler"):
        getattr(self, name).load_state_dict(state[name])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    self.set_random_state(state["random"])


# %% mutant="training_trainer_resume"
# Forgets the random numbers
# The order of the next epoch and its dropout are drawn with another random state, so the losses differ.
def state_dict(self):
    own = {name: getattr(self, name) for name in ("losses", "seen", "began")}
    parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}
    return deepcopy(own | parts | {"random": self.random_state()})


def load_state_dict(self, state_dict):
    state = deepcopy(state_dict)
    for name in ("model", "optimizer", "scheduler"):
        getattr(self, name).load_state_dict(state[name])
    self.losses, self.seen, self.began, self.epoch = state["losses"], state["seen"], state["began"], None


# %% mutant="training_trainer_resume"
# Saves the default generator alone
# The loader may have a generator of its own, which draws the order of the next epochs. `self.random_state()` has both.
def state_dict(self):
    own = {name: getattr(self, name) for name in ("losses", "seen", "began")}
    parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler")}
    return deepcopy(own | parts | {"random": state_of(default_generator)})


def load_state_dict(self, state_dict):
    state = deepcopy(state_dict)
    for name in ("model", "optimizer", "scheduler"):
        getattr(self, name).load_state_dict(state[name])
    self.losses, self.seen, self.began, self.epoch = state["losses"], state["seen"], state["began"], None
    set_state(default_generator, state["random"])


# %% mutant="training_trainer_resume"
# Starts the epoch again
# The batches that were seen in this epoch are seen again, in another order.
def rest_of_epoch(self):
    self.began, self.seen = self.random_state(), 0
    return iter(self.loader)


# %% mutant="training_trainer_resume"
# Stays with the old random state
# After the batches that were seen, the random state is still that of the epoch's beginning, so dropout repeats what
# it drew there.
def rest_of_epoch(self):
    self.began = self.began if self.seen else self.random_state()
    self.set_random_state(self.began)
    batches = iter(self.loader)
    for _ in range(self.seen):
        next(batches)
    return batches


# %% mutant="training_trainer_resume"
# Skips batches of another order
# The batches that are skipped are those of a new order. So some items come twice in this epoch, and others don't come
# at all.
def rest_of_epoch(self):
    if not self.seen:
        self.began = self.random_state()
    batches = iter(self.loader)
    for _ in range(self.seen):
        next(batches)
    return batches


# %% [markdown] exercise="optim_decay_groups" kind="build" points=2
# ### Exercise 4 · Which parameters decay?
# Weight decay is meant for matrices, while biases and the weights of norms are usually excluded. Write the function
# that prepares a model for AdamW. It returns two groups, each with its `weight_decay`: first the parameters that
# decay (those with two dimensions or more), then the others. Parameters keep their order in the model. Frozen ones
# (`requires_grad=False`) are excluded, and a matrix that two layers share is listed once.


# %% solution="optim_decay_groups"
def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    ### BEGIN SOLUTION
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [
        {"params": [each for each in trained if each.dim() >= 2], "weight_decay": weight_decay},
        {"params": [each for each in trained if each.dim() < 2], "weight_decay": 0.0},
    ]
    ### END SOLUTION


# %% check="optim_decay_groups"
torch.manual_seed(check.seed())
generator = check.rng()
width = int(generator.integers(3, 7))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, width)
        self.ln = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, width)
        self.bilinear = nn.Bilinear(width, width, 2)
        self.scale = nn.Parameter(torch.ones(width))
        self.places = nn.Parameter(torch.ones(3, 1))
        self.temperature = nn.Parameter(torch.tensor(1.0))
        self.head = nn.Linear(width, 9, bias=False)
        self.head.weight = self.embedding.weight


model = Tied()
frozen = str(generator.choice(["hidden.weight", "hidden.bias", "ln.bias"]))
model.get_parameter(frozen).requires_grad_(False)
names = {id(parameter): name for name, parameter in model.named_parameters(remove_duplicate=False)}
decay = round(float(generator.uniform(0.05, 0.2)), 3)
groups = check.intact(decay_groups, model, decay)
optimizer = torch.optim.AdamW(groups, lr=0.1)
model.head.weight.grad = torch.zeros_like(model.head.weight)
model.scale.grad = torch.zeros_like(model.scale)
before = model.head.weight[0].detach().clone()
optimizer.step()
ratio = (model.head.weight[0] / before).mean()
matrix = nn.Linear(width, 2, bias=False)
check.show(
    {
        "frozen": frozen,
        "decay": decay,
        "groups": [[names[id(each)] for each in group["params"]] for group in groups],
        "their decay": [group["weight_decay"] for group in groups],
        "parameters in the groups of a single matrix": [len(each["params"]) for each in decay_groups(matrix, decay)],
        "their decay, where it is 0": [each["weight_decay"] for each in decay_groups(matrix, 0.0)],
        "a shared weight after a step with a gradient of 0, over before": ratio,
        "scale, after such a step": model.scale,
    },
    text="The names of the parameters in both groups. The shared matrix is called head.weight here.",
)

# %% [markdown] hint="optim_decay_groups"
# `model.parameters()` yields each parameter once and in the order of the model, even a parameter that is shared.

# %% [markdown] hint="optim_decay_groups"
# Names don't help, because the weight of a norm is called `weight` as well. Use `parameter.dim()`.

# %% [markdown] hint="optim_decay_groups"
# First filter by `requires_grad`, and then use two list comprehensions, with `dim() >= 2` and `dim() < 2`, in two
# dicts with `"params"` and `"weight_decay"`.


# %% mutant="optim_decay_groups"
# Decides by the name
# A norm's scale is called weight too, and a module's own Parameter may have any name. The number of dimensions
# decides.
def decay_groups(model, weight_decay):
    trained = [(name, each) for name, each in model.named_parameters() if each.requires_grad]
    return [
        {"params": [each for name, each in trained if name.endswith("weight")], "weight_decay": weight_decay},
        {"params": [each for name, each in trained if not name.endswith("weight")], "weight_decay": 0.0},
    ]


# %% mutant="optim_decay_groups"
# Decides by the word bias
# A norm's scale has one dimension but isn't called bias, and a module's own Parameter needn't be either. The number
# of dimensions decides, not the name.
def decay_groups(model, weight_decay):
    trained = [(name, each) for name, each in model.named_parameters() if each.requires_grad]
    return [
        {"params": [each for name, each in trained if "bias" not in name], "weight_decay": weight_decay},
        {"params": [each for name, each in trained if "bias" in name], "weight_decay": 0.0},
    ]


# %% mutant="optim_decay_groups"
# Decides by the words bias and norm
# Names are up to the author of the model: `scale` has one dimension too, but its name contains neither bias nor norm.
# The number of dimensions decides.
def decay_groups(model, weight_decay):
    trained = [(name, each) for name, each in model.named_parameters() if each.requires_grad]
    alone = [each for name, each in trained if "bias" in name or "norm" in name]
    return [
        {"params": [each for _, each in trained if all(each is not x for x in alone)], "weight_decay": weight_decay},
        {"params": alone, "weight_decay": 0.0},
    ]


# %% mutant="optim_decay_groups"
# Decides by the words weight and norm
# A norm may be called `ln`, and a module's own matrix may have any name. The number of dimensions decides, not the
# name.
def decay_groups(model, weight_decay):
    trained = {name: each for name, each in model.named_parameters() if each.requires_grad}
    chosen = [name for name in trained if name.endswith("weight") and "norm" not in name]
    return [
        {"params": [trained[name] for name in chosen], "weight_decay": weight_decay},
        {"params": [each for name, each in trained.items() if name not in chosen], "weight_decay": 0.0},
    ]


# %% mutant="optim_decay_groups"
# Decides by the type of layer
# Here only the matrices of `Linear` and `Embedding` decay. Other layers, such as `Bilinear`, have matrices as well,
# so the number of dimensions decides.
def decay_groups(model, weight_decay):
    layers = [layer for layer in model.modules() if isinstance(layer, (nn.Linear, nn.Embedding))]
    decaying = {id(layer.weight) for layer in layers}
    trained = [each for each in model.parameters() if each.requires_grad]
    return [
        {"params": [each for each in trained if id(each) in decaying], "weight_decay": weight_decay},
        {"params": [each for each in trained if id(each) not in decaying], "weight_decay": 0.0},
    ]


# %% mutant="optim_decay_groups"
# Includes the frozen parameters
# A frozen parameter doesn't belong in an optimizer. If it still had a .grad from earlier, the optimizer would move
# it.
def decay_groups(model, weight_decay):
    return [
        {"params": [each for each in model.parameters() if each.dim() >= 2], "weight_decay": weight_decay},
        {"params": [each for each in model.parameters() if each.dim() < 2], "weight_decay": 0.0},
    ]


# %% mutant="optim_decay_groups"
# Drops the parameters that don't decay
# A parameter that doesn't decay still has to be trained. Without a second group it would keep its initial values.
def decay_groups(model, weight_decay):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [{"params": [each for each in trained if each.dim() >= 2], "weight_decay": weight_decay}]


# %% mutant="optim_decay_groups"
# No decay given for the second group
# A group without its own weight decay gets the optimizer's default, which is 0.01 for AdamW, not 0.
def decay_groups(model, weight_decay):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [each for each in trained if each.dim() >= 2], "weight_decay": weight_decay},
        {"params": [each for each in trained if each.dim() < 2]},
    ]
    torch.optim.AdamW(groups)
    return groups


# %% [markdown] exercise="training_confusion_matrix" kind="build" points=2
# ### Exercise 5 · Precision and recall from the confusion matrix
# Write `report(confusion)`. Element `[i, j]` of the int64 matrix counts the samples of class `i` that were classified
# as class `j`. Return four results:
#
# - `precision` and `recall`, float32 tensors with one value for each class;
# - `f1`, a tensor of the same kind with their harmonic mean $\frac{2 p r}{p + r}$;
# - `macro`, a Python float: the mean of `f1` over the classes that occur, that is, whose row isn't empty.
#   (scikit-learn's default also includes classes that were only predicted.)
#
# At least one class occurs. A value that would be 0 / 0 counts as 0. For `[[3, 1], [0, 4]]` the precision is
# `[1.0, 0.8]` and the recall is `[0.75, 1.0]`.


# %% solution="training_confusion_matrix"
def report(confusion: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    ### BEGIN SOLUTION
    right = confusion.diagonal()
    precision = right / confusion.sum(0).clamp(min=1)
    recall = right / confusion.sum(1).clamp(min=1)
    total = precision + recall
    f1 = torch.where(total > 0, 2 * precision * recall / total, 0.0)
    return precision, recall, f1, f1[confusion.sum(1) > 0].mean().item()
    ### END SOLUTION


# %% check="training_confusion_matrix"
generator = check.rng()
counts = generator.integers(0, 6, size=(6, 6))
counts[np.arange(5), np.arange(5)] += 5
counts[:, 2] = 0  # never predicted
counts[[0, 3, 3], [3, 0, 3]] = 4, 4, 1  # class 3 is mostly mistaken for 0, and 0 often for 3
counts[4, :] = 0  # doesn't occur, but is predicted
counts[5, :] = counts[:, 5] = 0  # neither occurs nor is predicted
confusion = torch.tensor(counts)
precision, recall, f1, macro = check.intact(report, confusion)
hits, misses = (int(each) for each in generator.integers(1, 6, size=2))
# Class 1 doesn't occur, but is predicted; class 2 has a single sample.
small = torch.tensor([[hits, 1, misses], [0, 0, 0], [1, 0, 0]])
check.show(
    {"confusion": confusion, "precision": precision, "recall": recall, "f1": f1, "macro": macro}
    | {"a small matrix": small, "its macro": report(small)[3], "a single class": report(small[:1, :1])},
    rtol=1e-5,
    text="Class 2 was never predicted, class 4 doesn't occur, and class 5 neither occurs nor was predicted.",
)

# %% [markdown] hint="training_confusion_matrix"
# Which sums of the matrix count the samples of class `i`, and which the samples that were classified as `i`?

# %% [markdown] hint="training_confusion_matrix"
# The row sums, `confusion.sum(1)`, belong to recall, and the column sums to precision. Where a sum is 0, the diagonal
# is 0 as well, so by what may you replace the sum?

# %% [markdown] hint="training_confusion_matrix"
# `.clamp(min=1)` turns 0 / 0 into 0 / 1, and for f1 you can use `torch.where(total > 0, ..., 0.0)`. The classes that
# occur are `confusion.sum(1) > 0`.


# %% mutant="training_confusion_matrix"
# Clamps p + r at 1
# Counts are 0 or at least 1, but precision plus recall may be any value from 0 to 2.
def report(confusion):
    hits = confusion.diagonal().float()
    precision = hits / confusion.sum(0).clamp(min=1)
    recall = hits / confusion.sum(1).clamp(min=1)
    f1 = 2 * precision * recall / (precision + recall).clamp(min=1)
    return precision, recall, f1, f1[confusion.sum(1) > 0].mean().item()


# %% mutant="training_confusion_matrix"
# Precision and recall exchanged
# The rows are the true classes, so the diagonal over the row sums is recall, and over the column sums it is
# precision.
def report(confusion):
    right = confusion.diagonal()
    precision, recall = right / confusion.sum(1).clamp(min=1), right / confusion.sum(0).clamp(min=1)
    total = precision + recall
    f1 = torch.where(total > 0, 2 * precision * recall / total, 0.0)
    return precision, recall, f1, f1[confusion.sum(1) > 0].mean().item()


# %% mutant="training_confusion_matrix"
# Divides 0 by 0
# An empty row or column gives nan, and a single nan makes the mean nan. It has to count as 0.
def report(confusion):
    right = confusion.diagonal()
    precision, recall = right / confusion.sum(0), right / confusion.sum(1)
    f1 = 2 * precision * recall / (precision + recall)
    return precision, recall, f1, f1[confusion.sum(1) > 0].mean().item()


# %% mutant="training_confusion_matrix"
# Averages over classes that don't occur
# The macro mean is over the classes whose row isn't empty, whereas you divide by the number of all classes.
def report(confusion):
    right = confusion.diagonal()
    precision, recall = right / confusion.sum(0).clamp(min=1), right / confusion.sum(1).clamp(min=1)
    total = precision + recall
    f1 = torch.where(total > 0, 2 * precision * recall / total, 0.0)
    return precision, recall, f1, f1.mean().item()


# %% mutant="training_confusion_matrix"
# The arithmetic mean
# f1 is the harmonic mean of precision and recall, 2pr / (p + r), which is small as soon as one of the two is.
def report(confusion):
    right = confusion.diagonal()
    precision, recall = right / confusion.sum(0).clamp(min=1), right / confusion.sum(1).clamp(min=1)
    f1 = (precision + recall) / 2
    return precision, recall, f1, f1[confusion.sum(1) > 0].mean().item()


# %% [markdown] exercise="training_repair_loop" kind="repair" points=3
# ### Exercise 6 · A loop with four faults
# `fit` trains for some epochs and returns a pair for each: the mean of the batch losses (all batches have the same
# size), and the validation loss. A colleague reports:
#
# - The loss fluctuates more and more from step to step, although the learning rate is small.
# - After the first epoch the network trains as if it had no dropout.
# - Memory grows with each batch, and by a large amount in each validation.
# - `json.dumps(history)` raises "Object of type Tensor is not JSON serializable".
#
# Fix all four faults. The check's network records at each forward pass which mode it is in and whether a graph is
# being recorded.


# %% setup=true
class Watch(nn.Module):
    """Returns its input, and records the mode and whether a graph is being recorded."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, input):
        self.seen.append(
            f"{'train' if self.training else 'eval'} mode, {'recording' if torch.is_grad_enabled() else 'not recording'}"
        )
        return input


# %% solution="training_repair_loop"
def fit(model, batches, validation, optimizer, epochs):
    ### BEGIN SOLUTION
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history
    ### END SOLUTION
    ### BEGIN STUB
    # history = []
    # for _ in range(epochs):
    #     total = 0.0
    #     for inputs, targets in batches:
    #         loss = F.cross_entropy(model(inputs), targets)
    #         loss.backward()
    #         optimizer.step()
    #         total += loss
    #     model.eval()
    #     validation_loss = F.cross_entropy(model(validation[0]), validation[1])
    #     history.append((total / len(batches), validation_loss))
    # return history
    ### END STUB


# %% check="training_repair_loop"
*batches, validation = digits_batches(check.rng(), 16, 16, 16, 40)
watch = Watch()
model = nn.Sequential(watch, *digits_model(dropout=0.3))
graphs = Graphs()
model.register_forward_hook(graphs)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history = fit(model, batches, validation, optimizer, 3)
records = torch.is_grad_enabled()
history += fit(model, batches[:1], validation, optimizer, 1)
check.show(
    {
        "gradients are recorded between two calls": records,
        "batches afterwards": len(batches),
        "training loss": [pair[0] for pair in history],
        "validation loss": [pair[1] for pair in history],
        "bias of the last layer": model[4].bias,
        "forward passes": watch.seen,
        "keeps the graphs of several batches": graphs.most > 1,
    },
    rtol=1e-4,
    atol=1e-5,
)

# %% [markdown] hint="training_repair_loop"
# Read the list of forward passes that the check shows, which has three batches and one validation an epoch, and
# decide what each entry should say.

# %% [markdown] hint="training_repair_loop"
# `model.eval()` stays in effect until `model.train()` is called. What must happen to the gradients before each
# `backward`, and what does `total += loss` keep alive?

# %% [markdown] hint="training_repair_loop"
# You need `model.train()` at the start of each epoch, `optimizer.zero_grad()` for each batch, `total += loss.item()`,
# and a validation under `torch.no_grad()` with `.item()` at the end.


# %% mutant="training_repair_loop"
# A number at the end
# One fault remains: until the end of the epoch, the sum is a tensor that holds the graph of each batch. Add
# `loss.item()`.
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss
        model.eval()
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total.item() / len(batches), validation_loss))
    return history


# %% mutant="training_repair_loop"
# Gradients still accumulate
# One fault remains: nothing clears the gradients, so each step follows the sum of all batches so far.
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for inputs, targets in batches:
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% mutant="training_repair_loop"
# Still in eval mode
# One fault remains: after the first validation the model stays in eval mode, because `model.train()` is called once
# instead of in each epoch.
def fit(model, batches, validation, optimizer, epochs):
    history = []
    model.train()
    for _ in range(epochs):
        total = 0.0
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% mutant="training_repair_loop"
# Still keeps graphs
# One fault remains: the training losses are summed as tensors, which JSON can't serialize and which keep the graph of
# each batch unless they are detached. Add `loss.item()`.
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss
        model.eval()
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% mutant="training_repair_loop"
# Assumes that eval mode records nothing
# One fault remains: `eval()` doesn't stop the recording, so validation builds a graph that is never used. Wrap it in
# `torch.no_grad()`.
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% [markdown] exercise="training_early_stopping" kind="build" points=3
# ### Exercise 7 · Early stopping
# Write the class that stops training once the validation loss hasn't improved for a while.
#
# - `EarlyStopping(patience, min_delta=0.0)` is the constructor, which stores the two settings.
# - `stop(loss, model)` is called after each epoch with the validation loss and the model. The loss has **improved**
#   if it is below the best so far by more than `min_delta`, and the first loss always counts as improved, even if it
#   is infinite. An improved loss becomes the attribute `best_loss`, and the current values of the model's parameters
#   and buffers are stored. `stop` returns whether `patience` epochs *in a row* haven't improved.
# - `restore(model)` loads the stored parameters and buffers into the model.


# %% solution="training_early_stopping"
class EarlyStopping:
    ### BEGIN SOLUTION
    def __init__(self, patience: int, min_delta: float = 0.0) -> None:
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss: float, model: nn.Module) -> bool:
        if self.state is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model: nn.Module) -> None:
        model.load_state_dict(self.state)

    ### END SOLUTION


# %% check="training_early_stopping"
generator = check.rng()
patience, min_delta = int(generator.integers(3, 6)), 0.05
falling = 5 - np.cumsum(generator.uniform(0.1, 0.3, size=4))
low = float(falling[-1])
worse = low + generator.uniform(0.1, 0.5, size=patience - 1)  # one epoch fewer than stops training
better = low - 0.2
flat = better - generator.uniform(0.005, 0.045, size=patience + 2)  # lower, but by less than min_delta
flat[1::2] += 0.4  # so that some are far below the preceding epoch, but no better than the best
losses = [round(float(loss), 4) for loss in (*falling, *worse, better, *flat)]
model = nn.BatchNorm1d(1)
stopping = EarlyStopping(patience, min_delta)
answers = []
for epoch, loss in enumerate(losses):
    with torch.no_grad():
        model.weight.fill_(float(epoch))
        model.running_mean.fill_(float(epoch))
        model.num_batches_tracked.fill_(epoch)
    answers.append(bool(check.intact(stopping.stop, loss, model)))
stopping.restore(model)
restored = model.weight.item(), model.running_mean.item(), model.num_batches_tracked.item()
another = nn.BatchNorm1d(1).eval()
stopping.restore(another)
with torch.no_grad():
    model.weight.fill_(-1.0)
    model.running_mean.fill_(-1.0)
stopping.restore(model)
two = {5.0: EarlyStopping(1), 6.0: EarlyStopping(1)}
for value, each in two.items():
    with torch.no_grad():
        model.weight.fill_(value)
    each.stop(1.0, model)
two[5.0].restore(model)
of_two = model.weight.item()
large, by_default, infinite, undefined = EarlyStopping(1), EarlyStopping(2), EarlyStopping(2), EarlyStopping(2)
slow, exact = EarlyStopping(2, 0.05), EarlyStopping(1, 0.25)
going_on, after_restore = EarlyStopping(1), EarlyStopping(2)
restored_between = [bool(after_restore.stop(loss, model)) for loss in (1.0, 2.0)]
after_restore.restore(model)
restored_between += [bool(after_restore.stop(loss, model)) for loss in (3.0, 0.5)]
check.show(
    {
        "patience": patience,
        "min_delta": min_delta,
        "losses": losses,
        "stop?": answers,
        "best loss": stopping.best_loss,
        "weight, running mean and number of batches after restore": restored,
        "restored into another model, in evaluation mode": (
            another.weight.item(),
            another.running_mean.item(),
            another.training,
        ),
        "after a change and another restore": (model.weight.item(), model.running_mean.item()),
        "a weight of 5 for one object, then of 6 for another; what the first one restores": of_two,
        "stop? for the losses 1e12, 1e11, 1e11, with patience 1": [
            bool(large.stop(loss, model)) for loss in (1e12, 1e11, 1e11)
        ],
        "stop? for the losses 0.8, 0.799, 0.798, 0.797, with patience 2": [
            bool(by_default.stop(loss, model)) for loss in (0.8, 0.799, 0.798, 0.797)
        ],
        "stop? for the losses 1, 0.97, 0.94, 0.91, 0.88, with patience 2 and min_delta 0.05": [
            bool(slow.stop(loss, model)) for loss in (1.0, 0.97, 0.94, 0.91, 0.88)
        ],
        "stop? for the losses 1 and 0.75, with patience 1 and min_delta 0.25": [
            bool(exact.stop(loss, model)) for loss in (1.0, 0.75)
        ],
        "stop? for the losses 1, 2, 0.5, 2, with patience 1, whatever was answered before": [
            bool(going_on.stop(loss, model)) for loss in (1.0, 2.0, 0.5, 2.0)
        ],
        "stop? for the losses 1, 2, 3, 0.5, with patience 2 and a restore after the second": restored_between,
        "stop? for the losses inf, inf, 3, with patience 2": [
            bool(infinite.stop(loss, model)) for loss in (math.inf, math.inf, 3.0)
        ],
        "stop? for the losses 0, nan, 1, with patience 2": [
            bool(undefined.stop(loss, model)) for loss in (0.0, math.nan, 1.0)
        ],
    },
    text="In epoch n both the weight and the running mean of the model are n.",
)

# %% [markdown] hint="training_early_stopping"
# You need the two settings, the best loss, and how many epochs in a row haven't improved. Think about when this count
# is reset.

# %% [markdown] hint="training_early_stopping"
# Start with `best_loss = math.inf`. If nothing is stored yet, or `loss < self.best_loss - self.min_delta`, there is a
# new best loss, the count is 0, and the state is stored; otherwise increment the count. Does a `state_dict` contain
# copies of the values, or the parameters' own memory?

# %% [markdown] hint="training_early_stopping"
# Store `self.state = copy.deepcopy(model.state_dict())`, and `return self.waited >= self.patience`. `restore` is
# `model.load_state_dict(self.state)`.


# %% mutant="training_early_stopping"
# Hands out the stored tensors
# After `restore` the model and the stored state share memory, so whatever changes the model also changes the stored
# state. Copy the values.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss, model):
        if self.state is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        for name, parameter in (*model.named_parameters(), *model.named_buffers()):
            parameter.data = self.state[name]


# %% mutant="training_early_stopping"
# A large number instead of infinity
# The first loss counts as improved, however large it is, so begin with `math.inf`.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = 1e9, 0, None

    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% mutant="training_early_stopping"
# A first loss of infinity isn't stored
# Infinity isn't below infinity, so here an infinite first loss counts as an epoch without improvement, and nothing is
# stored that `restore` could load. Test whether anything is stored yet.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% mutant="training_early_stopping"
# Stores the state without copying
# A state_dict shares memory with the parameters, so training went on changing the stored state: `restore` gives back
# the last weights, not the best. Copy it.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss, model):
        if self.state is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited, self.state = loss, 0, model.state_dict()
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% mutant="training_early_stopping"
# Forgets the buffers
# Only the parameters are stored. The running mean of a batch norm is a buffer, which training changes as well, so
# store the whole state_dict.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss, model):
        if self.state is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(dict(model.named_parameters()))
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state, strict=False)


# %% mutant="training_early_stopping"
# Never resets the count
# You count all epochs without improvement, but an improvement in between resets the count to zero.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss, model):
        if self.state is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.state = loss, copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% mutant="training_early_stopping"
# Waits one epoch too long
# With patience 3 the third epoch in a row without improvement is the last one, so compare with >=, not with >.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss, model):
        if self.state is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited > self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% mutant="training_early_stopping"
# Ignores min_delta
# A loss that is lower by less than `min_delta` hasn't improved.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.best_loss, self.waited, self.state = patience, math.inf, 0, None

    def stop(self, loss, model):
        if self.state is None or loss < self.best_loss:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% mutant="training_early_stopping"
# Takes a best loss of 0 for none
# `not self.best_loss` is true for 0 as well, so the epoch after a loss of 0 counts as improved. Compare with None.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = None, 0, None

    def stop(self, loss, model):
        if not self.best_loss or loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% mutant="training_early_stopping"
# Compares with the preceding epoch
# A loss that fluctuates is often lower than the preceding one without being better than the best so far. Compare with
# the best.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.previous, self.waited, self.state = math.inf, None, 0, None

    def stop(self, loss, model):
        fell = self.previous is None or loss < self.previous - self.min_delta
        self.waited = 0 if fell else self.waited + 1
        self.previous = loss
        if self.state is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.state = loss, copy.deepcopy(model.state_dict())
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% [markdown] exercise="training_divergence" kind="measure" points=2
# ### Exercise 8 · Where does training break?
# `train(lr)` fits a line through digits (64 pixels to the digit's value) with 25 full-batch steps of SGD. It returns
# the 26 losses, from before the first step to after the last. In this exercise, training **diverges** if the last
# loss isn't below the first one, or is nan.
#
# Find by experiment the smallest integer `k` from -12 to 4 for which `train(2.0**k)` diverges. The check uses four
# problems on the same 100 images. The second differs from the first in momentum only, the third in brightness only
# (its pixels are three times as bright), and the fourth in both. What effect does each factor have on your results?
# This loss is a parabola in the weights, whose curvature would grow with the square of the brightness if there were
# no bias, and momentum $\mu$ multiplies the limit by $1 + \mu$. The check also has `train` functions that aren't
# networks: the last loss of one is `nan` from some rate on, one diverges at every rate, and at the highest rate the
# last loss of another equals its first loss.


# %% setup=true
def line_through_digits(images, labels, momentum):
    """A function train(lr): the losses of 25 steps of SGD on the mean squared error of a linear layer."""
    labels = labels.float().unsqueeze(1)

    def train(lr):
        torch.manual_seed(0)
        model = nn.Linear(64, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
        losses = []
        for _ in range(25):
            optimizer.zero_grad()
            loss = F.mse_loss(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            return [*losses, F.mse_loss(model(images), labels).item()]

    return train


# %% solution="training_divergence"
def smallest_diverging_exponent(train) -> int:
    ### BEGIN SOLUTION
    for k in range(-12, 5):
        losses = train(2.0**k)
        if not losses[-1] < losses[0]:
            return k
    ### END SOLUTION


# %% check="training_divergence"
generator = check.rng()
((images, labels),) = digits_batches(generator, 100)
images = images * float(generator.uniform(0.3, 1.2))
values = {}
for brightness in (1, 3):
    for momentum in (0.0, 0.9):
        train = line_through_digits(images * brightness, labels, momentum)
        values[f"brightness times {brightness}, momentum {momentum}"] = smallest_diverging_exponent(train)
limit = int(generator.integers(-10, 3))
values["nan from some rate on"] = smallest_diverging_exponent(lambda lr: [1.0, math.nan if lr >= 2.0**limit else 0.5])
swings, grows = 2.0**limit, 2.0 ** (limit + 2)
values["oscillates from that rate on, grows from four times that rate on"] = smallest_diverging_exponent(
    lambda lr: [1.0, 2.0] if lr >= grows else [1.0, 1.5, 0.4, 0.6] if lr >= swings else [1.0, 0.5]
)
values["grows at every rate"] = smallest_diverging_exponent(lambda lr: [1.0, 2.0])
values["stays constant at 16, falls below"] = smallest_diverging_exponent(lambda lr: [1.0, 1.0 if lr == 16 else 0.5])
check.show(values, text="The learning rate is 2 to the power of these exponents.", secret=True)

# %% [markdown] hint="training_divergence"
# Call `train(2.0**-12)` and compare the first and the last loss, then double the rate and repeat.

# %% [markdown] hint="training_divergence"
# Compare the *last* loss with the *first*. With momentum the loss oscillates on the way, which isn't divergence.

# %% [markdown] hint="training_divergence"
# Use a loop over `range(-12, 5)` that returns `k` as soon as `not losses[-1] < losses[0]`. The form `not … <` matters
# because both `<` and `>=` are false for nan.


# %% mutant="training_divergence"
# Takes a standstill for progress
# A last loss that equals the first isn't below it.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if math.isnan(losses[-1]) or losses[-1] > losses[0]:
            return k


# %% mutant="training_divergence"
# Stops before 4
# A `range` doesn't contain its end: `range(-12, 4)` ends with 3.
def smallest_diverging_exponent(train):
    for k in range(-12, 4):
        losses = train(2.0**k)
        if not losses[-1] < losses[0]:
            return k


# %% mutant="training_divergence"
# Returns the last rate that works
# That is the largest rate that doesn't diverge, whereas the question is for the smallest one that does.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if not losses[-1] < losses[0]:
            return k - 1


# %% mutant="training_divergence"
# Waits for nan
# In twenty-five steps a diverging loss may grow a million times and still be finite. Compare it with the first loss.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        if not math.isfinite(train(2.0**k)[-1]):
            return k


# %% mutant="training_divergence"
# Overlooks nan
# `nan >= losses[0]` is false, and so is `nan < losses[0]`. Test whether the last loss is *not below* the first.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if losses[-1] >= losses[0]:
            return k


# %% mutant="training_divergence"
# Compares the last two losses
# With momentum the loss oscillates, so the last step may increase it in a run that converges. Compare the last loss
# with the *first*.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if not losses[-1] < losses[-2]:
            return k


# %% mutant="training_divergence"
# Looks at the largest loss
# A loss may rise above the first one on its way and fall again. Only the last one counts.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if math.isnan(losses[-1]) or max(losses[1:]) >= losses[0]:
            return k


# %% mutant="training_divergence"
# Searches from above
# Going down from 4, the first rate that works is the largest that works. The smallest one that diverges is one above
# it.
def smallest_diverging_exponent(train):
    for k in range(4, -13, -1):
        losses = train(2.0**k)
        if losses[-1] < losses[0]:
            return k


# %% mutant="training_divergence"
# Returns the rate
# The question is for the exponent `k`, whereas this is the rate, 2 to the power of k.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if not losses[-1] < losses[0]:
            return 2.0**k


# %% mutant="training_divergence"
# Stops at the first rise
# With momentum the loss increases now and then, although training still converges. Compare the last loss with the
# first.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if any(not after < before for before, after in pairwise(losses)):
            return k
