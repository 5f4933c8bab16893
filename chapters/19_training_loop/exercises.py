# %% [markdown]
# # Exercises · The training loop
# Eight exercises, 21 points, about 90 minutes. Your versions of `SGD.step` and `cross_entropy` run inside minitorch.

# %% setup=true
import copy
import gc
import math
import weakref
from contextlib import ExitStack
from itertools import pairwise

import numpy as np
from sklearn.datasets import load_digits

import minitorch as torch
from course import check
from minitorch import nn
from minitorch.nn import functional as F

# %% setup=true
DIGITS = load_digits()


def random_tensor(generator, *shape):
    """Normally distributed float32 numbers."""
    return torch.tensor(generator.normal(size=shape).astype(np.float32))


def digits_batches(generator, *sizes):
    """Batches of randomly chosen digits: a list of (images with 64 pixels from 0 to 1, labels)."""
    batches = []
    for size in sizes:
        chosen = generator.choice(len(DIGITS.target), size, replace=False)
        images = torch.tensor((DIGITS.data[chosen] / 16).astype(np.float32))
        batches.append((images, torch.tensor(DIGITS.target[chosen])))
    return batches


class Graphs:
    """A forward hook that counts the graphs of earlier passes that something still holds."""

    def __init__(self):
        self.seen, self.most = [], 0
        gc.freeze()  # a collection need not look at what is loaded already

    def __call__(self, module, inputs, output):
        if any(node() is not None for node in self.seen):
            gc.collect()  # what only a cycle holds doesn't count
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
# - `parameter_count(sizes)`: the number of parameters of an MLP with these layer sizes, biases included.
#   `parameter_count([2, 3, 1])` is 13.
# - `steps_per_epoch(images, batch_size, drop_last)`: how often `optimizer.step()` runs in an epoch. With `drop_last` an
#   incomplete last batch is left out.


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
        "the same with drop_last": steps_per_epoch(images, batch_size, True),
        f"steps for {6 * batch_size} images, all batches full": steps_per_epoch(6 * batch_size, batch_size, False),
        "one image too few for a batch, with drop_last": steps_per_epoch(batch_size - 1, batch_size, True),
    },
    rtol=1e-9,
    atol=0,
)

# %% [markdown] hint="training_predict_numbers"
# Which probability does each class get, and what does cross-entropy make of the right one? For the parameters, start
# with one layer: how many weights, how many biases?

# %% [markdown] hint="training_predict_numbers"
# $-\ln \frac{1}{C}$. A layer from $n$ to $m$ has $nm$ weights and $m$ biases. 100 images in batches of 32 are 3 full
# batches and 4 images.

# %% [markdown] hint="training_predict_numbers"
# `math.log(classes)`; the sum of `(inputs + 1) * outputs` over neighbouring sizes; `images // batch_size` with
# `drop_last`, otherwise the quotient rounded up.


# %% mutant="training_predict_numbers"
# Always one batch more
# When all batches are full, none is left over, and there is no step for it.
def untrained_loss(classes):
    return math.log(classes)


def parameter_count(sizes):
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return images // batch_size + (0 if drop_last else 1)


# %% mutant="training_predict_numbers"
# Counts in bits
# Your loss is a logarithm to base 2. PyTorch's cross-entropy uses the natural one: ln 10 = 2.303 for ten classes.
def untrained_loss(classes):
    return math.log2(classes)


def parameter_count(sizes):
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return images // batch_size if drop_last else math.ceil(images / batch_size)


# %% mutant="training_predict_numbers"
# Forgets the biases
# Each output of a layer has a bias too: (inputs + 1) * outputs numbers, not inputs * outputs.
def untrained_loss(classes):
    return math.log(classes)


def parameter_count(sizes):
    return sum(inputs * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return images // batch_size if drop_last else math.ceil(images / batch_size)


# %% mutant="training_predict_numbers"
# Always drops the last batch
# Without drop_last, the images that don't fill a batch make a smaller one, which has a step of its own: round up.
def untrained_loss(classes):
    return math.log(classes)


def parameter_count(sizes):
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return images // batch_size


# %% mutant="training_predict_numbers"
# Never drops the last batch
# With drop_last, the images that don't fill a batch are left out: round down. Fewer images than a batch make no step.
def untrained_loss(classes):
    return math.log(classes)


def parameter_count(sizes):
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return math.ceil(images / batch_size)


# %% [markdown] exercise="training_sgd_step" kind="build" points=4 replaces="minitorch.optim.sgd:SGD.step"
# ### Exercise 2 · The optimizer's step
# Write what `SGD.step` does with one parameter. `group` holds its options; another group may have others. `self.state[parameter]` is a dict that belongs
# to the parameter and is still there at the next step. PyTorch computes, in this order:
#
# 1. $g$ is the gradient, negated if `maximize`.
# 2. $g \leftarrow g + \text{weight decay} \cdot w$.
# 3. With momentum $\mu \neq 0$: the buffer is $b = g$ at the first step, and $b \leftarrow \mu b + (1 -
#    \text{dampening})\, g$ from then on; keep it in the state as `"momentum_buffer"`. The step's direction is $b$, or
#    $g + \mu b$ with `nesterov`.
# 4. $w \leftarrow w - \text{lr} \cdot$ direction, in place.
#
# Don't write into the gradient, and don't keep its tensor for later: the next `backward` may write into it.
# The check steps with each option, then trains a digits network on your code.


# %% solution="training_sgd_step"
@torch.no_grad()
def step(self, closure=None):
    """Update every parameter that has a gradient; return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    for group in self.param_groups:
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            ### BEGIN SOLUTION
            grad = -parameter.grad if group["maximize"] else parameter.grad
            if group["weight_decay"]:
                grad = grad + group["weight_decay"] * parameter
            if group["momentum"]:
                state = self.state[parameter]
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = grad.clone()
                else:
                    state["momentum_buffer"].mul_(group["momentum"]).add_(grad * (1 - group["dampening"]))
                buffer = state["momentum_buffer"]
                grad = grad + group["momentum"] * buffer if group["nesterov"] else buffer
            parameter.sub_(group["lr"] * grad)
            ### END SOLUTION
    return loss


# %% check="training_sgd_step"
generator = check.rng()
start, grads = random_tensor(generator, 3), [random_tensor(generator, 3) for _ in range(4)]
settings = {
    "plain": {},
    "weight decay": {"weight_decay": 0.5},
    "momentum": {"momentum": 0.9},
    "momentum and weight decay": {"momentum": 0.9, "weight_decay": 0.5},
    "dampening": {"momentum": 0.9, "dampening": 0.5},
    "nesterov": {"momentum": 0.9, "nesterov": True},
    "maximize": {"momentum": 0.9, "weight_decay": 0.5, "maximize": True},
}
values = {}
with check.install(step, "minitorch.optim.sgd:SGD.step"):
    for name, options in settings.items():
        weight = start.clone().requires_grad_()
        weight.grad = torch.zeros(3)
        held = weight.detach()  # the same memory
        optimizer = torch.optim.SGD([weight], lr=0.1, **options)
        for grad in grads:
            weight.grad.zero_().add_(grad)  # the same tensor, filled anew
            optimizer.step()
        values[name] = weight
        values[f"{name}: gradient afterwards"] = weight.grad
        values[f"{name}: buffer"] = optimizer.state[weight].get("momentum_buffer")
        values[f"{name}: in place"] = torch.equal(held, weight)
    groups = [{"params": [start.clone().requires_grad_()], "lr": lr, "momentum": lr} for lr in (0.1, 0.5)]
    optimizer = torch.optim.SGD(groups)
    for grad in grads:
        for group in groups:
            group["params"][0].grad = grad.clone()
        optimizer.step()
    values["two groups, lr and momentum 0.1 and 0.5"] = [group["params"][0] for group in groups]
    model, losses = digits_model(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    for inputs, targets in digits_batches(generator, *[32] * 30):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    values["losses of the digits network"] = losses[::5]
check.show(
    values,
    rtol=1e-4,
    atol=1e-5,
    text="A weight after four steps with lr 0.1, for each set of options; then the losses of every fifth batch.",
)

# %% [markdown] hint="training_sgd_step"
# Start with the last line, `parameter.sub_(group["lr"] * grad)`, which is plain SGD, and add one option at a time. The
# values that the check shows have one entry for each.

# %% [markdown] hint="training_sgd_step"
# Weight decay comes before the buffer. At the first step there is no buffer in the state: store a *copy* of `grad`,
# without dampening.

# %% [markdown] hint="training_sgd_step"
# First step: `state["momentum_buffer"] = grad.clone()`. Later:
# `state["momentum_buffer"].mul_(momentum).add_(grad * (1 - dampening))`. Then the direction is the buffer, or
# `grad + momentum * buffer` with nesterov. Make new tensors from `parameter.grad` (`grad + …`, `-grad`), never
# `grad.add_`.


# %% mutant="training_sgd_step"
# Takes the defaults
# `self.defaults` are the options that a group has unless it names others. Ask the group.
@torch.no_grad()
def step(self, closure=None):
    for group in self.param_groups:
        for parameter in group["params"]:
            grad = -parameter.grad if self.defaults["maximize"] else parameter.grad
            grad = grad + self.defaults["weight_decay"] * parameter
            if self.defaults["momentum"]:
                state = self.state[parameter]
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = grad.clone()
                else:
                    state["momentum_buffer"].mul_(self.defaults["momentum"]).add_(
                        grad * (1 - self.defaults["dampening"])
                    )
                buffer = state["momentum_buffer"]
                grad = grad + self.defaults["momentum"] * buffer if self.defaults["nesterov"] else buffer
            parameter.sub_(self.defaults["lr"] * grad)


# %% mutant="training_sgd_step"
# A name of its own in the state
# A state dict that is saved here must load in PyTorch, which looks for "momentum_buffer".
@torch.no_grad()
def step(self, closure=None):
    for group in self.param_groups:
        for parameter in group["params"]:
            grad = -parameter.grad if group["maximize"] else parameter.grad
            grad = grad + group["weight_decay"] * parameter
            if group["momentum"]:
                state = self.state[parameter]
                if state.get("velocity") is None:
                    state["velocity"] = grad.clone()
                else:
                    state["velocity"].mul_(group["momentum"]).add_(grad * (1 - group["dampening"]))
                buffer = state["velocity"]
                grad = grad + group["momentum"] * buffer if group["nesterov"] else buffer
            parameter.sub_(group["lr"] * grad)


# %% mutant="training_sgd_step"
# A new tensor for the weights
# Whoever shares the parameter's memory keeps the old weights. Write into the tensor that is there.
@torch.no_grad()
def step(self, closure=None):
    for group in self.param_groups:
        for parameter in group["params"]:
            grad = -parameter.grad if group["maximize"] else parameter.grad
            grad = grad + group["weight_decay"] * parameter
            if group["momentum"]:
                state = self.state[parameter]
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = grad.clone()
                else:
                    state["momentum_buffer"].mul_(group["momentum"]).add_(grad * (1 - group["dampening"]))
                buffer = state["momentum_buffer"]
                grad = grad + group["momentum"] * buffer if group["nesterov"] else buffer
            parameter.data = parameter.data - group["lr"] * grad


# %% mutant="training_sgd_step"
# Averages like Adam
# Your buffer takes (1 - momentum) * g, like Adam's running mean. SGD adds g times (1 - dampening), and dampening is 0 by
# default: in a steady direction its steps grow up to 1 / (1 - momentum) times.
@torch.no_grad()
def step(self, closure=None):
    for group in self.param_groups:
        for parameter in group["params"]:
            grad = -parameter.grad if group["maximize"] else parameter.grad
            grad = grad + group["weight_decay"] * parameter
            if group["momentum"]:
                state = self.state[parameter]
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = grad.clone()
                else:
                    state["momentum_buffer"].mul_(group["momentum"]).add_(grad * (1 - group["momentum"]))
                buffer = state["momentum_buffer"]
                grad = grad + group["momentum"] * buffer if group["nesterov"] else buffer
            parameter.sub_(group["lr"] * grad)


# %% mutant="training_sgd_step"
# Dampens the first gradient
# Your buffer starts at zero, so its first value is (1 - dampening) * g. PyTorch's starts as the first g itself. Dampening
# applies from the second step on.
@torch.no_grad()
def step(self, closure=None):
    for group in self.param_groups:
        for parameter in group["params"]:
            grad = -parameter.grad if group["maximize"] else parameter.grad
            grad = grad + group["weight_decay"] * parameter
            if group["momentum"]:
                state = self.state[parameter]
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = torch.zeros_like(parameter)
                state["momentum_buffer"].mul_(group["momentum"]).add_(grad * (1 - group["dampening"]))
                buffer = state["momentum_buffer"]
                grad = grad + group["momentum"] * buffer if group["nesterov"] else buffer
            parameter.sub_(group["lr"] * grad)


# %% mutant="training_sgd_step"
# Decays past the buffer
# You add the weight decay to the direction, after the momentum. PyTorch's SGD adds it to the gradient first, so the buffer
# contains it too.
@torch.no_grad()
def step(self, closure=None):
    for group in self.param_groups:
        for parameter in group["params"]:
            grad = -parameter.grad if group["maximize"] else parameter.grad
            if group["momentum"]:
                state = self.state[parameter]
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = grad.clone()
                else:
                    state["momentum_buffer"].mul_(group["momentum"]).add_(grad * (1 - group["dampening"]))
                buffer = state["momentum_buffer"]
                grad = grad + group["momentum"] * buffer if group["nesterov"] else buffer
            parameter.sub_(group["lr"] * (grad + group["weight_decay"] * parameter))


# %% mutant="training_sgd_step"
# Keeps the gradient as its buffer
# Without weight decay your buffer is `parameter.grad` itself, not a copy: the next backward pass writes into it, and your
# update writes into the gradient. Clone it.
@torch.no_grad()
def step(self, closure=None):
    for group in self.param_groups:
        for parameter in group["params"]:
            grad = -parameter.grad if group["maximize"] else parameter.grad
            if group["weight_decay"]:
                grad = grad + group["weight_decay"] * parameter
            if group["momentum"]:
                state = self.state[parameter]
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = grad
                else:
                    state["momentum_buffer"].mul_(group["momentum"]).add_(grad * (1 - group["dampening"]))
                buffer = state["momentum_buffer"]
                grad = grad + group["momentum"] * buffer if group["nesterov"] else buffer
            parameter.sub_(group["lr"] * grad)


# %% mutant="training_sgd_step"
# Delegates
# This calls the package's own step, which is locked while yours is installed. Write the update yourself.
original_step = torch.optim.SGD.step


def step(self, closure=None):
    return original_step(self, closure)


# %% [markdown] exercise="training_cross_entropy" kind="build" points=3 replaces="minitorch.nn.functional:cross_entropy"
# ### Exercise 3 · Cross-entropy from logits
# For logits `input` of shape (N, C) and class numbers `target` of shape (N,), give $-\ln
# \text{softmax}(\text{input}_n)_{\text{target}_n}$:
#
# - stable: logits of ±1000 give finite losses and gradients;
# - rows whose target is `ignore_index` cost 0 and get no gradient;
# - `reduction` is `"none"` (a loss per row), `"sum"`, or `"mean"`: the sum divided by the number of rows that are *not*
#   ignored (0 / 0, which is nan, if all are).
#
# Write it with `exp`, `log`, `sum`, `max` and indexing. minitorch's own softmaxes, `logsumexp` and losses are locked while
# the check runs. Bad targets and rarer arguments go to minitorch's version; that line is written for you. The check calls
# your function through `nn.CrossEntropyLoss`, forwards and backwards.

# %% setup=true
package_cross_entropy = F.cross_entropy


def is_common(input, target, ignore_index, reduction, *others):
    """Whether these are logits (N, C) and N class numbers that exist, a known reduction, and no other arguments."""
    if input.dim() != 2 or input.shape[:1] != target.shape or target.dtype != torch.int64:
        return False
    exists = (target >= 0) & (target < input.shape[1]) | (target == ignore_index)
    return bool(exists.all()) and reduction in ("none", "sum", "mean") and all(each is None for each in others)


# %% solution="training_cross_entropy"
def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """The negative logarithm of the probability that softmax gives to the target class."""
    if not is_common(input, target, ignore_index, reduction, weight, size_average, reduce, label_smoothing or None):
        return package_cross_entropy(
            input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing
        )
    ### BEGIN SOLUTION
    shifted = input - input.max(1, keepdim=True).values
    log_probabilities = shifted - shifted.exp().sum(1, keepdim=True).log()
    kept = target != ignore_index
    chosen = target.masked_fill(~kept, 0)
    losses = (-log_probabilities[torch.arange(len(target)), chosen]).masked_fill(~kept, 0.0)
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / kept.sum()
    ### END SOLUTION


# %% check="training_cross_entropy"
def locked(*_, **__):
    raise AssertionError("the package's own version is locked in this exercise")


generator = check.rng()
logits = generator.normal(size=(6, 4)).astype(np.float32)
logits[0] *= 1000
logits[1] += 500
logits[2] -= 500
target = torch.tensor(generator.integers(0, 4, size=6))
target[0] = int(logits[0].argmin())
target[4] = -100
values = {"target": target}
with ExitStack() as stack:
    stack.enter_context(check.install(cross_entropy, "minitorch.nn.functional:cross_entropy"))
    for op in ("_log_softmax", "_softmax", "logsumexp", "negative_log_likelihood"):
        stack.enter_context(check.install(locked, f"minitorch.dispatch.declaration:OPS.{op}.kernel"))
    for reduction in ("none", "sum", "mean"):
        leaf = torch.tensor(logits, requires_grad=True)
        loss = nn.CrossEntropyLoss(reduction=reduction)(leaf, target)
        (loss * torch.arange(1.0, 7.0)).sum().backward() if reduction == "none" else loss.backward()
        values[reduction], values[f"{reduction}: gradient"] = loss, leaf.grad
    values["ignoring class 2"] = nn.CrossEntropyLoss(ignore_index=2)(
        torch.tensor(logits[1:]), torch.tensor([2, 0, 1, 2, 3])
    )
    values["ignoring all"] = nn.CrossEntropyLoss()(torch.tensor(logits), torch.full((6,), -100))
check.show(values, rtol=1e-4, atol=1e-5)

# %% [markdown] hint="training_cross_entropy"
# Write it first for small logits, as $a - \ln \sum e^z$ with $a$ the logit of the right class. What overflows when a
# logit is 1000, and what may you subtract from a row without changing its softmax?

# %% [markdown] hint="training_cross_entropy"
# Subtract each row's maximum (`keepdim=True`), then $\ln \text{softmax}$ is `shifted - shifted.exp().sum(1,
# keepdim=True).log()`. A target of -100 can't be used as an index: replace it by 0 first, and its loss by 0 afterwards.

# %% [markdown] hint="training_cross_entropy"
# `kept = target != ignore_index`; `losses = (-log_probabilities[torch.arange(len(target)), target.masked_fill(~kept,
# 0)]).masked_fill(~kept, 0.0)`; the mean is `losses.sum() / kept.sum()`.


# %% mutant="training_cross_entropy"
# Hides an empty mean
# The mean of no rows is 0 / 0. PyTorch says nan, so that a batch without a target is noticed.
def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    shifted = input - input.max(1, keepdim=True).values
    log_probabilities = shifted - shifted.exp().sum(1, keepdim=True).log()
    kept = target != ignore_index
    losses = (-log_probabilities[torch.arange(len(target)), target.masked_fill(~kept, 0)]).masked_fill(~kept, 0.0)
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / kept.sum().clamp(min=1)


# %% mutant="training_cross_entropy"
# Overflows
# The exponential of a large logit is infinite in float32, and so is its logarithm. Subtract each row's maximum before
# `exp`.
def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    log_probabilities = input - input.exp().sum(1, keepdim=True).log()
    kept = target != ignore_index
    losses = (-log_probabilities[torch.arange(len(target)), target.masked_fill(~kept, 0)]).masked_fill(~kept, 0.0)
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / kept.sum()


# %% mutant="training_cross_entropy"
# Divides by the whole batch
# Your mean divides by all rows. Rows with `ignore_index` don't count: divide by the number of the others.
def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    shifted = input - input.max(1, keepdim=True).values
    log_probabilities = shifted - shifted.exp().sum(1, keepdim=True).log()
    kept = target != ignore_index
    losses = (-log_probabilities[torch.arange(len(target)), target.masked_fill(~kept, 0)]).masked_fill(~kept, 0.0)
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / len(target)


# %% mutant="training_cross_entropy"
# Adds a small number to the probability
# `log(p + 1e-8)` hides the infinity and caps the loss near 18: a sure and wrong answer costs too little, and its gradient
# vanishes. Compute the logarithm of the probability without the probability itself.
def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    exponentials = (input - input.max(1, keepdim=True).values).exp()
    probabilities = exponentials / exponentials.sum(1, keepdim=True)
    kept = target != ignore_index
    picked = probabilities[torch.arange(len(target)), target.masked_fill(~kept, 0)]
    losses = (-(picked + 1e-8).log()).masked_fill(~kept, 0.0)
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / kept.sum()


# %% mutant="training_cross_entropy"
# Delegates
# This calls the package's own loss, which is locked while yours is installed. Write it with exp, log, sum and max.
def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    return package_cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing)


# %% [markdown] exercise="training_one_epoch" kind="build" points=2
# ### Exercise 4 · An epoch of large batches in small pieces
# A batch that doesn't fit into memory comes in pieces. Train `model` once over `loader`, an iterable of pieces
# `(inputs, targets)`, not all of one size. Update after every `pieces` pieces, and once more at the end if some are left
# over. Each update must be what it would be for one large batch made of its pieces: the gradient of the mean over all
# samples in them. Return the mean training loss *per sample*, as a Python float.
#
# `criterion(outputs, targets)` gives the **mean** loss of a piece. The model may arrive in eval mode and with gradients
# left over; neither may affect the result. Don't join the pieces: each goes through the network by itself, and then the
# graph of at most one earlier piece may still be in memory. The network has dropout, so don't draw random numbers yourself.


# %% solution="training_one_epoch"
def train_one_epoch(model, loader, criterion, optimizer, pieces: int) -> float:
    ### BEGIN SOLUTION
    def update():
        for parameter in model.parameters():
            parameter.grad /= waiting
        optimizer.step()
        optimizer.zero_grad()

    model.train()
    optimizer.zero_grad()
    total = count = waiting = 0
    for number, (inputs, targets) in enumerate(loader, start=1):
        loss = criterion(model(inputs), targets) * len(inputs)
        loss.backward()
        total += loss.item()
        count += len(inputs)
        waiting += len(inputs)
        if number % pieces == 0:
            update()
            waiting = 0
    if waiting:
        update()
    return total / count
    ### END SOLUTION


# %% check="training_one_epoch"
loader = digits_batches(check.rng(), 12, 4, 16, 7, 5)
values = {}
for pieces in (1, 2, 3):
    model, sizes = digits_model(dropout=0.5), []
    F.cross_entropy(model(loader[0][0]), loader[0][1]).backward()
    model.eval()
    model.register_forward_pre_hook(lambda _, arguments, sizes=sizes: sizes.append(len(arguments[0])))
    graphs = Graphs()
    model.register_forward_hook(graphs)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    means = [train_one_epoch(model, iter(loader), nn.CrossEntropyLoss(), optimizer, pieces) for _ in range(2)]
    values[f"pieces={pieces}: samples in each forward pass"] = sizes
    values[f"pieces={pieces}: holds the graphs of several pieces"] = graphs.most > 1
    values[f"pieces={pieces}: mean losses"] = means
    values[f"pieces={pieces}: bias of the last layer"] = model[3].bias
check.show(values, rtol=1e-4, atol=1e-5, text="Two epochs over pieces of 12, 4, 16, 7 and 5 samples.")

# %% [markdown] hint="training_one_epoch"
# First write it for `pieces = 1`: that is the lesson's loop. Then think about two pieces of 12 and 4 samples: what is the
# mean over 16 samples, in terms of the two means?

# %% [markdown] hint="training_one_epoch"
# Let gradients add up over the pieces of an update: multiply each piece's mean by its size before `backward`. What is still
# missing before `step`? And when do you call `zero_grad`?

# %% [markdown] hint="training_one_epoch"
# Before each `step`, divide every `.grad` by the number of samples that are in it. Clear gradients once before the first
# piece and after every `step`. After the loop, update again if samples are waiting.


# %% mutant="training_one_epoch"
# One backward pass for all pieces
# The values are right, but the graphs of all pieces are in memory at once, and the large batch didn't fit. Call `backward`
# after each piece.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    optimizer.zero_grad()
    loader = list(loader)
    total = 0.0
    for start in range(0, len(loader), pieces):
        group = loader[start : start + pieces]
        loss = sum(criterion(model(inputs), targets) * len(inputs) for inputs, targets in group)
        (loss / sum(len(inputs) for inputs, _ in group)).backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
    return total / sum(len(inputs) for inputs, _ in loader)


# %% mutant="training_one_epoch"
# Adds up losses with their graphs
# The values are right, but the sum is a tensor that holds the graph of each piece until the end. Add `loss.item()`.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    optimizer.zero_grad()
    loader = list(loader)
    total = 0.0
    for start in range(0, len(loader), pieces):
        group = loader[start : start + pieces]
        samples = sum(len(inputs) for inputs, _ in group)
        for inputs, targets in group:
            loss = criterion(model(inputs), targets) * len(inputs) / samples
            loss.backward()
            total += loss * samples
        optimizer.step()
        optimizer.zero_grad()
    return float(total) / sum(len(inputs) for inputs, _ in loader)


# %% mutant="training_one_epoch"
# Gives each piece the same weight
# Dividing by the number of pieces is right when all have one size. A piece of 12 samples counts three times as much as
# one of 4.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    optimizer.zero_grad()
    loader = list(loader)
    total = count = 0
    for number, (inputs, targets) in enumerate(loader, start=1):
        loss = criterion(model(inputs), targets)
        (loss / pieces).backward()
        total += loss.item() * len(inputs)
        count += len(inputs)
        if number % pieces == 0 or number == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    return total / count


# %% mutant="training_one_epoch"
# Doesn't divide
# The gradients of an update are sums over its samples: as many times too large as it has samples. Divide them before `step`.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    optimizer.zero_grad()
    loader = list(loader)
    total = count = 0
    for number, (inputs, targets) in enumerate(loader, start=1):
        loss = criterion(model(inputs), targets) * len(inputs)
        loss.backward()
        total += loss.item()
        count += len(inputs)
        if number % pieces == 0 or number == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    return total / count


# %% mutant="training_one_epoch"
# Adds up the means
# Each piece's mean has the same weight, and their sum isn't divided: with three pieces the step is about three times too long.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    optimizer.zero_grad()
    loader = list(loader)
    total = count = 0
    for number, (inputs, targets) in enumerate(loader, start=1):
        loss = criterion(model(inputs), targets)
        loss.backward()
        total += loss.item() * len(inputs)
        count += len(inputs)
        if number % pieces == 0 or number == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    return total / count


# %% mutant="training_one_epoch"
# Clears before each piece
# `zero_grad` before each piece throws away the pieces before it. An update then knows its last piece alone: clear after `step`.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    loader = list(loader)
    total = count = 0
    for number, (inputs, targets) in enumerate(loader, start=1):
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        total += loss.item() * len(inputs)
        count += len(inputs)
        if number % pieces == 0 or number == len(loader):
            optimizer.step()
    return total / count


# %% mutant="training_one_epoch"
# Updates after each piece
# One step for each piece is the lesson's loop. Here `pieces` of them share a step: call `step` after every `pieces` pieces.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    total = count = 0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(inputs)
        count += len(inputs)
    return total / count


# %% mutant="training_one_epoch"
# Forgets the pieces at the end
# When the number of pieces isn't a multiple of `pieces`, some gradients are left over. They need an update of their own.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    optimizer.zero_grad()
    total = count = waiting = 0
    for number, (inputs, targets) in enumerate(loader, start=1):
        loss = criterion(model(inputs), targets) * len(inputs)
        loss.backward()
        total += loss.item()
        count += len(inputs)
        waiting += len(inputs)
        if number % pieces == 0:
            for parameter in model.parameters():
                parameter.grad /= waiting
            optimizer.step()
            optimizer.zero_grad()
            waiting = 0
    return total / count


# %% mutant="training_one_epoch"
# Trains in eval mode
# The model came in eval mode and stayed there, so its dropout did nothing: call `model.train()` at the start of the epoch.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    optimizer.zero_grad()
    total = count = waiting = 0
    loader = list(loader)
    for number, (inputs, targets) in enumerate(loader, start=1):
        loss = criterion(model(inputs), targets) * len(inputs)
        loss.backward()
        total += loss.item()
        count += len(inputs)
        waiting += len(inputs)
        if number % pieces == 0 or number == len(loader):
            for parameter in model.parameters():
                parameter.grad /= waiting
            optimizer.step()
            optimizer.zero_grad()
            waiting = 0
    return total / count


# %% mutant="training_one_epoch"
# Keeps what was left over
# The model came with gradients of something else, and your first update contains them: clear them before the first piece.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    total = count = waiting = 0
    loader = list(loader)
    for number, (inputs, targets) in enumerate(loader, start=1):
        loss = criterion(model(inputs), targets) * len(inputs)
        loss.backward()
        total += loss.item()
        count += len(inputs)
        waiting += len(inputs)
        if number % pieces == 0 or number == len(loader):
            for parameter in model.parameters():
                parameter.grad /= waiting
            optimizer.step()
            optimizer.zero_grad()
            waiting = 0
    return total / count


# %% mutant="training_one_epoch"
# Joins the pieces
# You join the pieces of an update into one batch. Its graph needs the memory that the pieces were meant to save.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    loader = list(loader)
    total = count = 0
    for first in range(0, len(loader), pieces):
        inputs, targets = (torch.cat(parts) for parts in zip(*loader[first : first + pieces], strict=True))
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(inputs)
        count += len(inputs)
    return total / count


# %% mutant="training_one_epoch"
# Averages the means of the pieces
# The updates are right, and the loss that you return counts a piece of 4 samples as much as one of 16.
def train_one_epoch(model, loader, criterion, optimizer, pieces):
    model.train()
    optimizer.zero_grad()
    losses, waiting = [], 0
    loader = list(loader)
    for number, (inputs, targets) in enumerate(loader, start=1):
        loss = criterion(model(inputs), targets)
        (loss * len(inputs)).backward()
        losses.append(loss.item())
        waiting += len(inputs)
        if number % pieces == 0 or number == len(loader):
            for parameter in model.parameters():
                parameter.grad /= waiting
            optimizer.step()
            optimizer.zero_grad()
            waiting = 0
    return sum(losses) / len(losses)


# %% [markdown] exercise="training_confusion_matrix" kind="build" points=2
# ### Exercise 5 · What the confusion matrix says
# Write `report(confusion)`. Entry `[i, j]` of the int64 matrix counts the samples of class `i` that were taken for class
# `j`. Return four things:
#
# - `precision` and `recall`, float32 tensors with one number for each class;
# - `f1`, the same for their harmonic mean $\frac{2 p r}{p + r}$;
# - `macro`, a Python float: the mean of `f1` over the classes that occur, that is, whose row isn't empty.
#
# Where a number would be 0 / 0, it counts as 0. For `[[3, 1], [0, 4]]` precision is `[1.0, 0.8]` and recall `[0.75, 1.0]`.


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
counts[[0, 3, 3], [3, 0, 3]] = 4, 4, 1  # class 3 is mostly taken for 0, and 0 often for 3
counts[4, :] = 0  # doesn't occur
counts[5, :] = counts[:, 5] = 0  # neither
confusion = torch.tensor(counts)
precision, recall, f1, macro = report(confusion)
check.show(
    {"confusion": confusion, "precision": precision, "recall": recall, "f1": f1, "macro": macro},
    rtol=1e-5,
    text="Class 2 was never predicted, class 4 doesn't occur, class 5 neither.",
)

# %% [markdown] hint="training_confusion_matrix"
# How many samples of class `i` are there, and how many were called `i`? Which sums of the matrix are these?

# %% [markdown] hint="training_confusion_matrix"
# Row sums, `confusion.sum(1)`, belong to recall, column sums to precision. Where a sum is 0, the diagonal is 0 too: what
# may you put in place of the sum?

# %% [markdown] hint="training_confusion_matrix"
# `.clamp(min=1)` makes 0 / 0 into 0 / 1. For f1 use `torch.where(total > 0, ..., 0.0)`. The classes that occur are
# `confusion.sum(1) > 0`.


# %% mutant="training_confusion_matrix"
# A floor of 1 under p + r
# Counts are 0 or at least 1, but precision plus recall may be anything from 0 to 2.
def report(confusion):
    hits = confusion.diagonal().float()
    precision = hits / confusion.sum(0).clamp(min=1)
    recall = hits / confusion.sum(1).clamp(min=1)
    f1 = 2 * precision * recall / (precision + recall).clamp(min=1)
    return precision, recall, f1, f1[confusion.sum(1) > 0].mean().item()


# %% mutant="training_confusion_matrix"
# Precision and recall exchanged
# Rows are the truth here: the diagonal over row sums is recall, over column sums it is precision.
def report(confusion):
    right = confusion.diagonal()
    precision, recall = right / confusion.sum(1).clamp(min=1), right / confusion.sum(0).clamp(min=1)
    total = precision + recall
    f1 = torch.where(total > 0, 2 * precision * recall / total, 0.0)
    return precision, recall, f1, f1[confusion.sum(1) > 0].mean().item()


# %% mutant="training_confusion_matrix"
# Divides 0 by 0
# An empty row or column gives nan, and one nan makes the mean nan. It has to count as 0.
def report(confusion):
    right = confusion.diagonal()
    precision, recall = right / confusion.sum(0), right / confusion.sum(1)
    f1 = 2 * precision * recall / (precision + recall)
    return precision, recall, f1, f1[confusion.sum(1) > 0].mean().item()


# %% mutant="training_confusion_matrix"
# Averages over classes that don't occur
# The macro mean is over the classes whose row isn't empty. You divide by all of them.
def report(confusion):
    right = confusion.diagonal()
    precision, recall = right / confusion.sum(0).clamp(min=1), right / confusion.sum(1).clamp(min=1)
    total = precision + recall
    f1 = torch.where(total > 0, 2 * precision * recall / total, 0.0)
    return precision, recall, f1, f1.mean().item()


# %% mutant="training_confusion_matrix"
# The arithmetic mean
# f1 is the harmonic mean of precision and recall, 2pr / (p + r): it is small as soon as one of them is.
def report(confusion):
    right = confusion.diagonal()
    precision, recall = right / confusion.sum(0).clamp(min=1), right / confusion.sum(1).clamp(min=1)
    f1 = (precision + recall) / 2
    return precision, recall, f1, f1[confusion.sum(1) > 0].mean().item()


# %% [markdown] exercise="training_repair_loop" kind="repair" points=3
# ### Exercise 6 · It runs, and it is wrong four times
# `fit` trains for some epochs. It returns a pair for each: the mean of the batch losses (all batches have one size), and the
# validation loss. A colleague reports:
#
# - The loss jumps about, more from step to step, although the learning rate is small.
# - After the first epoch the network trains as if it had no dropout.
# - Memory grows with each batch, and by a large piece in each validation.
# - `json.dumps(history)` raises: "Object of type Tensor is not JSON serializable".
#
# Repair all of it. The check's network notes at each forward pass which mode it is in and whether a graph is recorded.


# %% setup=true
class Watch(nn.Module):
    """Passes its input on, and notes the mode and whether a graph is recorded."""

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
history = fit(model, batches, validation, torch.optim.SGD(model.parameters(), lr=0.1), 3)
check.show(
    {
        "training loss": [pair[0] for pair in history],
        "validation loss": [pair[1] for pair in history],
        "bias of the last layer": model[4].bias,
        "forward passes": watch.seen,
        "holds the graphs of several batches": graphs.most > 1,
    },
    rtol=1e-4,
    atol=1e-5,
)

# %% [markdown] hint="training_repair_loop"
# Read the list of forward passes that the check shows: three batches and one validation an epoch. What should each entry
# say?

# %% [markdown] hint="training_repair_loop"
# `model.eval()` lasts until somebody calls `model.train()`. What must happen to gradients before each `backward`? What
# does `total += loss` keep alive?

# %% [markdown] hint="training_repair_loop"
# `model.train()` at the start of each epoch, `optimizer.zero_grad()` for each batch, `total += loss.item()`, and
# validation under `torch.no_grad()` with `.item()` at the end.


# %% mutant="training_repair_loop"
# A number at the end
# One fault is left: until the end of the epoch, the sum is a tensor that holds the graph of each batch. Add `loss.item()`.
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
# Gradients still pile up
# One fault is left: nothing clears the gradients, so each step follows the sum of all batches so far.
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
# One fault is left: after the first validation the model stays in eval mode, because `model.train()` is called once and
# not in each epoch.
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
# One fault is left: the training losses are summed as tensors, and each keeps the graph of its batch alive. Add `loss.item()`.
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
# Believes that eval mode records nothing
# One fault is left: `eval()` doesn't stop the recording. Validation builds a graph that nobody will use. Wrap it in
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
# Write the class that ends training when the validation loss hasn't improved for a while.
#
# - `EarlyStopping(patience, min_delta=0.0)`
# - `stop(loss, model)` is called after each epoch. The loss has **improved** if it is below the best so far by more
#   than `min_delta`. The first loss counts as improved. If it has improved, it becomes the attribute `best_loss`, and the
#   model's parameters and buffers are remembered as they are now. `stop` returns whether `patience` epochs *in a row*
#   haven't improved.
# - `restore(model)` gives the model the remembered parameters and buffers.


# %% solution="training_early_stopping"
class EarlyStopping:
    ### BEGIN SOLUTION
    def __init__(self, patience: int, min_delta: float = 0.0) -> None:
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss: float, model: nn.Module) -> bool:
        if loss < self.best_loss - self.min_delta:
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
worse = low + generator.uniform(0.1, 0.5, size=patience - 1)  # one fewer than it takes
better = low - 0.2
flat = better - generator.uniform(0.005, 0.045, size=patience + 2)  # lower, but by less than min_delta
losses = [round(float(loss), 4) for loss in (*falling, *worse, better, *flat)]
model = nn.BatchNorm1d(1)
stopping = EarlyStopping(patience, min_delta)
answers = []
for epoch, loss in enumerate(losses):
    with torch.no_grad():
        model.weight.fill_(float(epoch))
        model.running_mean.fill_(float(epoch))
    answers.append(bool(stopping.stop(loss, model)))
stopping.restore(model)
restored = model.weight.item(), model.running_mean.item()
with torch.no_grad():
    model.weight.fill_(-1.0)
    model.running_mean.fill_(-1.0)
stopping.restore(model)
large = EarlyStopping(1)
check.show(
    {
        "patience": patience,
        "min_delta": min_delta,
        "losses": losses,
        "stop?": answers,
        "best loss": stopping.best_loss,
        "weight and running mean after restore": restored,
        "after a change and another restore": (model.weight.item(), model.running_mean.item()),
        "stop? for the losses 1e12, 1e11, 1e11, with patience 1": [
            bool(large.stop(loss, model)) for loss in (1e12, 1e11, 1e11)
        ],
    },
    text="In epoch n both the weight and the running mean of the model are n.",
)

# %% [markdown] hint="training_early_stopping"
# You need the two settings, the best loss, and how many epochs in a row were no better. What sets the last one back?

# %% [markdown] hint="training_early_stopping"
# Start with `best_loss = math.inf`. If `loss < self.best_loss - self.min_delta`: new best, count 0, remember the state.
# Otherwise count one more. What is inside a `state_dict`: values, or the parameters' own memory?

# %% [markdown] hint="training_early_stopping"
# `self.state = copy.deepcopy(model.state_dict())`; `return self.waited >= self.patience`; `restore` is
# `model.load_state_dict(self.state)`.


# %% mutant="training_early_stopping"
# Hands out what it remembers
# After `restore` the model and the memory are one: whatever changes the model changes what you remember. Copy the values.
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
        for name, parameter in (*model.named_parameters(), *model.named_buffers()):
            parameter.data = self.state[name]


# %% mutant="training_early_stopping"
# A large number for infinity
# The first loss counts as improved, however large it is: begin with `math.inf`.
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
# Keeps the state without copying
# A state_dict shares memory with the parameters, so what you kept was trained on: `restore` gives back the last weights,
# not the best. Copy it.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited, self.state = loss, 0, model.state_dict()
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% mutant="training_early_stopping"
# Forgets the buffers
# You remember the parameters alone. The running mean of a batch norm is a buffer, and it changes in training too: remember
# the whole state_dict.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(dict(model.named_parameters()))
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state, strict=False)


# %% mutant="training_early_stopping"
# Never starts counting anew
# You count all epochs without improvement. An improvement in between sets the count back to zero.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.state = loss, copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% mutant="training_early_stopping"
# Waits one epoch too long
# With patience 3 the third epoch in a row without improvement is the last: compare with >=, not with >.
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
        return self.waited > self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% mutant="training_early_stopping"
# Any improvement will do
# You ignore `min_delta`: a loss that is lower by less than that hasn't improved.
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.best_loss, self.waited, self.state = patience, math.inf, 0, None

    def stop(self, loss, model):
        if loss < self.best_loss:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% [markdown] exercise="training_divergence" kind="measure" points=2
# ### Exercise 8 · Where does training break?
# `train(lr)` fits a line through digits (64 pixels to the digit's value) with 25 full-batch steps of SGD. It returns the 26
# losses, from before the first step to after the last. Here training **diverges** if the last loss isn't below the first
# one, or isn't a number.
#
# Find by experiment the smallest integer `k` from -12 to 4 for which `train(2.0**k)` diverges. The check asks for four
# problems on the same 100 images. The second differs from the first in momentum alone, the third in brightness alone
# (pixels three times as bright), the fourth in both. What does each factor do to your numbers? This loss is a parabola in
# the weights: its curvature grows with the square of the brightness, and momentum $\mu$ multiplies the limit by $1 + \mu$.
# Two more `train` aren't networks: one's last loss is `nan` from some rate on, the other's is its first at the highest rate.


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
values["stands still at 16, learns below"] = smallest_diverging_exponent(lambda lr: [1.0, 1.0 if lr == 16 else 0.5])
check.show(values, text="The learning rate is 2 to the power of these.")

# %% [markdown] hint="training_divergence"
# Call `train(2.0**-12)` and look at the first and last loss. Then double the rate, and so on.

# %% [markdown] hint="training_divergence"
# Compare the *last* loss with the *first*. With momentum the loss goes up and down on the way. That isn't divergence.

# %% [markdown] hint="training_divergence"
# A loop over `range(-12, 5)` that returns `k` as soon as `not losses[-1] < losses[0]`. Why `not … <` and not `>=`?
# Because `<` and `>=` with nan are both false.


# %% mutant="training_divergence"
# Takes a standstill for progress
# A loss that is where it began isn't below the first one.
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
# Reports the last that works
# That is the largest rate that doesn't diverge. The question is for the first that does.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if not losses[-1] < losses[0]:
            return k - 1


# %% mutant="training_divergence"
# Waits for nan
# In twenty-five steps a diverging loss may grow a million times and still be a finite number. Compare it with the first
# loss.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        if not math.isfinite(train(2.0**k)[-1]):
            return k


# %% mutant="training_divergence"
# Doesn't see nan
# `nan >= losses[0]` is false, and so is `nan < losses[0]`. Ask whether the last loss is *not below* the
# first.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if losses[-1] >= losses[0]:
            return k


# %% mutant="training_divergence"
# Compares the last two losses
# With momentum the loss swings, so the last step may go up in a run that converges. Compare the last loss with the *first*.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if not losses[-1] < losses[-2]:
            return k


# %% mutant="training_divergence"
# Looks at the largest loss
# A loss may rise above the first one on its way and come down again. Only the last one counts.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if math.isnan(losses[-1]) or max(losses[1:]) >= losses[0]:
            return k


# %% mutant="training_divergence"
# Searches from above
# From 4 downwards, the first rate that works is the largest that works. The smallest that diverges is one above it.
def smallest_diverging_exponent(train):
    for k in range(4, -13, -1):
        losses = train(2.0**k)
        if losses[-1] < losses[0]:
            return k


# %% mutant="training_divergence"
# Returns the rate
# The question is for the exponent `k`; this is the rate, 2 to the power of it.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if not losses[-1] < losses[0]:
            return 2.0**k


# %% mutant="training_divergence"
# Stops at the first rise
# With momentum the loss rises now and then, and training may still get there. Compare the last loss with the first.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if any(not after < before for before, after in pairwise(losses)):
            return k
