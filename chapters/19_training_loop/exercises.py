# %% [markdown]
# # Exercises · The training loop
# Eight exercises, 21 points. Two of them write a part of the package: `SGD.step` and `cross_entropy`.

# %% setup=true
import copy
import math
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


def digits_model(dropout=0.0):
    """A 64-16-10 network with the same weights in each call of one run."""
    torch.manual_seed(check.seed())
    return nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Dropout(dropout), nn.Linear(16, 10))


# %% [markdown] exercise="training_predict_numbers" kind="predict" points=2
# ### Exercise 1 · Three numbers to know before you start
# Write down, as formulas, what you expect before any training runs.
#
# - `untrained_loss(classes)`: the cross-entropy of a classifier that gives every class the same probability.
# - `parameter_count(sizes)`: the number of parameters of an MLP with these layer sizes, biases included.
#   `parameter_count([2, 3, 1])` is 13.
# - `steps_per_epoch(images, batch_size, drop_last)`: how often `optimizer.step()` runs in an epoch. `drop_last` says
#   whether an incomplete last batch is left out.


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
        "one image too few for a batch, with drop_last": steps_per_epoch(batch_size - 1, batch_size, True),
    },
    rtol=1e-9,
    atol=0,
)

# %% [markdown] hint="training_predict_numbers"
# Which probability does each class get, and what does cross-entropy do with the one of the right class? For the
# parameters, start with one layer: how many weights, how many biases?

# %% [markdown] hint="training_predict_numbers"
# $-\ln \frac{1}{C}$. A layer from $n$ to $m$ has $nm$ weights and $m$ biases. 100 images in batches of 32 are 3 full
# batches and 4 images.

# %% [markdown] hint="training_predict_numbers"
# `math.log(classes)`; the sum of `(inputs + 1) * outputs` over neighbouring sizes; `images // batch_size` with
# `drop_last`, otherwise the quotient rounded up.


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
# Without drop_last the images that do not fill a batch make a smaller one, and a step of their own: round up.
def untrained_loss(classes):
    return math.log(classes)


def parameter_count(sizes):
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def steps_per_epoch(images, batch_size, drop_last):
    return images // batch_size


# %% [markdown] exercise="training_sgd_step" kind="build" points=4 replaces="minitorch.optim.sgd:SGD.step"
# ### Exercise 2 · The optimizer's step
# Write what `SGD.step` does with one parameter. `group` holds the options; `self.state[parameter]` is a dict that
# belongs to the parameter and lasts from step to step. As PyTorch defines it, in this order:
#
# 1. $g$ is the gradient, negated if `maximize`.
# 2. $g \leftarrow g + \text{weight decay} \cdot w$.
# 3. With momentum $\mu \neq 0$: the buffer is $b = g$ at the first step, and $b \leftarrow \mu b + (1 -
#    \text{dampening})\, g$ from then on; keep it in the state as `"momentum_buffer"`. The step's direction is $b$, or
#    $g + \mu b$ with `nesterov`.
# 4. $w \leftarrow w - \text{lr} \cdot$ direction, in place.
#
# The gradient stays as it was, and belongs to whoever fills it: do not keep it, and do not write into it. The check
# steps with every option, then trains a digits network on your code.


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
        optimizer = torch.optim.SGD([weight], lr=0.1, **options)
        for grad in grads:
            weight.grad.zero_().add_(grad)  # the same tensor, filled anew
            optimizer.step()
        values[name] = weight
        values[f"{name}: gradient afterwards"] = weight.grad
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
    text="A weight of three numbers after four steps with lr 0.1, for each set of options; then the losses of every fifth batch.",
)

# %% [markdown] hint="training_sgd_step"
# Start with the last line, `parameter.sub_(group["lr"] * grad)`, which is plain SGD, and add one option at a time. The
# values that the check shows have one entry for each.

# %% [markdown] hint="training_sgd_step"
# Weight decay changes `grad` before the buffer sees it. At the first step there is no buffer in the state: store a
# *copy* of `grad`, without dampening.

# %% [markdown] hint="training_sgd_step"
# First step: `state["momentum_buffer"] = grad.clone()`. Later: `state["momentum_buffer"].mul_(momentum).add_(grad * (1
# - dampening))`. Then the direction is the buffer, or `grad + momentum * buffer` with nesterov. Make new tensors from
#   `parameter.grad` (`grad + …`, `-grad`), never `grad.add_`.


# %% mutant="training_sgd_step"
# Averages like Adam
# Your buffer takes (1 - momentum) * g. That is Adam's running mean; SGD adds the whole gradient (less dampening, which is 0 by default), which makes steps up to 1/(1 - momentum) times as long.
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
# Your buffer starts at zero, so its first value is (1 - dampening) * g. PyTorch's starts as the first g itself; dampening applies from the second step on.
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
# You add the weight decay to the direction, after the momentum. PyTorch's SGD adds it to the gradient first, so that the buffer remembers it too.
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
# Without weight decay your buffer is `parameter.grad` itself, not a copy: the next backward pass writes into it, and your update writes into the gradient. Clone it.
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


# %% [markdown] exercise="training_cross_entropy" kind="build" points=3 replaces="minitorch.nn.functional:cross_entropy"
# ### Exercise 3 · Cross-entropy from logits
# For logits `input` of shape (N, C) and class numbers `target` of shape (N,), give $-\ln
# \text{softmax}(\text{input}_n)_{\text{target}_n}$:
#
# - stable: logits of ±1000 give finite losses and gradients;
# - rows whose target is `ignore_index` cost 0 and get no gradient;
# - `reduction` is `"none"` (a loss per row), `"sum"`, or `"mean"`: the sum divided by the number of rows that are *not*
#   ignored.
#
# Write it with `exp`, `log`, `sum`, `max` and indexing; the package's own softmaxes, `logsumexp` and losses are locked
# while the check runs. Bad targets and the less common arguments are passed on to the package for you. The check calls
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
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
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
        stack.enter_context(check.install(locked, f"minitorch.ops.declaration:OPS.{op}.kernel"))
    for reduction in ("none", "sum", "mean"):
        leaf = torch.tensor(logits, requires_grad=True)
        loss = nn.CrossEntropyLoss(reduction=reduction)(leaf, target)
        (loss * torch.arange(1.0, 7.0)).sum().backward() if reduction == "none" else loss.backward()
        values[reduction], values[f"{reduction}: gradient"] = loss, leaf.grad
    values["ignoring class 2"] = nn.CrossEntropyLoss(ignore_index=2)(
        torch.tensor(logits[1:]), torch.tensor([2, 0, 1, 2, 3])
    )
check.show(values, rtol=1e-4, atol=1e-5)

# %% [markdown] hint="training_cross_entropy"
# Write it first for small logits, as $a - \ln \sum e^z$ with $a$ the logit of the right class. What overflows when a
# logit is 1000, and what may you subtract from a row without changing its softmax?

# %% [markdown] hint="training_cross_entropy"
# Subtract each row's maximum (`keepdim=True`), then $\ln \text{softmax}$ is `shifted - shifted.exp().sum(1,
# keepdim=True).log()`. A target of -100 cannot be used as an index: replace it by 0 first, and its loss by 0
# afterwards.

# %% [markdown] hint="training_cross_entropy"
# `kept = target != ignore_index`; `losses = (-log_probabilities[torch.arange(len(target)), target.masked_fill(~kept,
# 0)]).masked_fill(~kept, 0.0)`; the mean is `losses.sum() / kept.sum()`.


# %% mutant="training_cross_entropy"
# Overflows
# The exponential of a large logit is infinite in float32, and infinity divided by infinity is nan. Subtract each row's maximum before `exp`.
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
# Your mean divides by all rows. Rows with `ignore_index` do not count: divide by the number of the others.
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
# `log(p + 1e-8)` hides the infinity and caps the loss near 18: a sure and wrong answer costs too little and its gradient vanishes. Compute the logarithm of the probability without forming the probability.
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


# %% [markdown] exercise="training_one_epoch" kind="build" points=2
# ### Exercise 4 · One epoch
# Train `model` once over `loader` (an iterable of batches `(inputs, targets)`, not all of one size) and return the mean
# training loss *per sample*, as a Python float. `criterion(outputs, targets)` gives the mean loss of a batch.
#
# The model may come in eval mode and with gradients left over from something else; neither may show in the result. The
# check network has dropout, so draw no random numbers yourself.


# %% solution="training_one_epoch"
def train_one_epoch(model, loader, criterion, optimizer) -> float:
    ### BEGIN SOLUTION
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
    ### END SOLUTION


# %% check="training_one_epoch"
loader = digits_batches(check.rng(), 16, 16, 16, 5)
model = digits_model(dropout=0.5)
F.cross_entropy(model(loader[0][0]), loader[0][1]).backward()
model.eval()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
means = [train_one_epoch(model, loader, nn.CrossEntropyLoss(), optimizer) for _ in range(3)]
check.show(
    {
        "mean loss of three epochs": means,
        "bias of the last layer": model[3].bias,
        "sum of the weights": model[0].weight.sum(),
    },
    rtol=1e-4,
    atol=1e-5,
)

# %% [markdown] hint="training_one_epoch"
# Five lines per batch, one line before the first batch. Then look at the mean: the last batch has 5 samples, the others
# 16.

# %% [markdown] hint="training_one_epoch"
# `model.train()` first. Per batch: `zero_grad`, loss, `backward`, `step`. The batch's loss is a mean: multiply it by
# the batch's size before you add it up.

# %% [markdown] hint="training_one_epoch"
# `total += loss.item() * len(inputs)` and `count += len(inputs)`; return `total / count`.


# %% mutant="training_one_epoch"
# Never clears gradients
# Gradients add up from batch to batch, and the left-over ones are in there too: call `optimizer.zero_grad()` before each `backward`.
def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total = count = 0
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(inputs)
        count += len(inputs)
    return total / count


# %% mutant="training_one_epoch"
# Trains in eval mode
# The model came in eval mode and stayed there, so its dropout did nothing: call `model.train()` at the start of the epoch.
def train_one_epoch(model, loader, criterion, optimizer):
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
# Averages batch means
# The last batch has 5 samples and counts as much as one of 16. Weigh each batch's loss by its size.
def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    losses = []
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


# %% mutant="training_one_epoch"
# Clears between backward and step
# The gradients are gone before the optimizer sees them, so no weight moves: clear them before `backward`, or after `step`.
def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total = count = 0
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        total += loss.item() * len(inputs)
        count += len(inputs)
    return total / count


# %% [markdown] exercise="training_confusion_matrix" kind="build" points=2
# ### Exercise 5 · The confusion matrix
# From two int64 tensors of shape (N,), the predicted classes and the actual ones, give the int64 tensor of shape
# (classes, classes) whose entry `[i, j]` counts the samples of class `i` that were taken for class `j`. A class that
# never occurs has a row and a column all the same.
#
# `confusion_matrix(torch.tensor([1, 1, 0]), torch.tensor([0, 0, 0]), 3)` is `[[1, 2, 0], [0, 0, 0], [0, 0, 0]]`.


# %% solution="training_confusion_matrix"
def confusion_matrix(predicted: torch.Tensor, actual: torch.Tensor, classes: int) -> torch.Tensor:
    ### BEGIN SOLUTION
    return torch.bincount(classes * actual + predicted, minlength=classes * classes).reshape(classes, classes)
    ### END SOLUTION


# %% check="training_confusion_matrix"
generator = check.rng()
classes = int(generator.integers(4, 7))
predicted = torch.tensor(generator.integers(0, classes - 1, size=40))
actual = torch.tensor(generator.integers(0, classes - 1, size=40))
check.show({"predicted": predicted, "actual": actual, "confusion matrix": confusion_matrix(predicted, actual, classes)})

# %% [markdown] hint="training_confusion_matrix"
# A loop over the pairs that adds 1 to `[actual, predicted]` is a full answer. Try it first.

# %% [markdown] hint="training_confusion_matrix"
# Without a loop: `matrix[actual, predicted] += 1` is tempting. What happens to a pair that occurs twice?

# %% [markdown] hint="training_confusion_matrix"
# Number the pairs from 0 to classes² - 1 with `classes * actual + predicted`, count them with `torch.bincount(…,
# minlength=…)`, reshape.


# %% mutant="training_confusion_matrix"
# Rows and columns exchanged
# Your rows are the predictions. The convention, here and in scikit-learn, is: a row for each actual class, a column for each predicted one.
def confusion_matrix(predicted, actual, classes):
    return torch.bincount(classes * predicted + actual, minlength=classes * classes).reshape(classes, classes)


# %% mutant="training_confusion_matrix"
# Counts each pair once
# `matrix[actual, predicted] += 1` reads all old entries, adds 1, and writes them back: a pair that occurs five times is written five times with the value 1. Use `bincount`, or `index_put_(…, accumulate=True)`.
def confusion_matrix(predicted, actual, classes):
    matrix = torch.zeros(classes, classes, dtype=torch.int64)
    matrix[actual, predicted] += 1
    return matrix


# %% mutant="training_confusion_matrix"
# As many classes as were seen
# The last class does not occur in this sample, and your matrix has no row and column for it. `classes` says how large it is.
def confusion_matrix(predicted, actual, classes):
    seen = max(predicted.max().item(), actual.max().item()) + 1
    return torch.bincount(seen * actual + predicted, minlength=seen * seen).reshape(seen, seen)


# %% [markdown] exercise="training_repair_loop" kind="repair" points=3
# ### Exercise 6 · It runs, and it is wrong four times
# `fit` trains for some epochs and returns a list of pairs: the mean of the batch losses (all batches have one size) and
# the validation loss, a pair for each epoch. The symptoms in the field: the loss jumps about, the network stops
# improving after the first validation, and memory grows with every batch, more so in validation.
#
# Repair it so that gradients are those of one batch, every training batch runs in train mode, validation in eval mode
# and without recording a graph, and the pairs are Python floats. The check's network notes at each forward pass which
# mode it is in and whether gradients are recorded.


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
history = fit(model, batches, validation, torch.optim.SGD(model.parameters(), lr=0.1), 3)
check.show(
    {
        "training loss": [pair[0] for pair in history],
        "validation loss": [pair[1] for pair in history],
        "bias of the last layer": model[4].bias,
        "forward passes": watch.seen,
    },
    rtol=1e-4,
    atol=1e-5,
)

# %% [markdown] hint="training_repair_loop"
# Read the list of forward passes: three batches and one validation an epoch. Which entries are not what the task asks
# for?

# %% [markdown] hint="training_repair_loop"
# `model.eval()` lasts until somebody calls `model.train()`. What must happen to gradients before each `backward`? And
# what does `total += loss` keep alive?

# %% [markdown] hint="training_repair_loop"
# `model.train()` at the start of each epoch, `optimizer.zero_grad()` for each batch, `total += loss.item()`, and
# validation under `torch.no_grad()` with `.item()` at the end.


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
# One fault is left: after the first validation the model stays in eval mode, because `model.train()` is called once and not in each epoch.
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
# One fault is left: `eval()` does not stop the recording. Validation builds a graph that nobody will use; wrap it in `torch.no_grad()`.
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
# Write the class that ends training when the validation loss has not improved for a while.
#
# - `EarlyStopping(patience, min_delta=0.0)`
# - `stop(loss, model)` is called after each epoch. The loss has **improved** if it is below the best so far by more
#   than `min_delta`; the first loss always has. Then it becomes `best_loss`, and the model's parameters are remembered
#   as they are now. It returns whether `patience` epochs *in a row* have not improved.
# - `restore(model)` gives the model the remembered parameters.


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
model = nn.Linear(1, 1, bias=False)
stopping = EarlyStopping(patience, min_delta)
answers = []
for epoch, loss in enumerate(losses):
    with torch.no_grad():
        model.weight.fill_(float(epoch))
    answers.append(bool(stopping.stop(loss, model)))
stopping.restore(model)
check.show(
    {
        "patience": patience,
        "min_delta": min_delta,
        "losses": losses,
        "stop?": answers,
        "best loss": stopping.best_loss,
        "the weight after restore": model.weight.item(),
    },
    text="In epoch n the only weight of the model is n.",
)

# %% [markdown] hint="training_early_stopping"
# Four things to remember: the two settings, the best loss, and how many epochs in a row were no better. What resets the
# last one?

# %% [markdown] hint="training_early_stopping"
# Start with `best_loss = math.inf`. If `loss < self.best_loss - self.min_delta`: new best, count 0, remember the state.
# Otherwise count one more. What is inside a `state_dict`: values, or the parameters' own memory?

# %% [markdown] hint="training_early_stopping"
# `self.state = copy.deepcopy(model.state_dict())`; `return self.waited >= self.patience`; `restore` is
# `model.load_state_dict(self.state)`.


# %% mutant="training_early_stopping"
# Keeps the state without copying
# A state_dict shares memory with the parameters, so what you kept went on training: `restore` gives back the last weights, not the best. Copy it.
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
# Never starts counting anew
# You count all epochs without improvement. An improvement in between sets the count back to zero: `patience` epochs in a row.
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
# You ignore `min_delta`: a loss that is lower by less than that has not improved.
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
# `train(lr)` fits a line through digits (64 pixels to the digit's value) with 25 full-batch steps of SGD and returns
# the 26 losses, from before the first step to after the last. Training **diverges** if the last loss is not below the
# first one or not a number.
#
# Find by experiment the smallest integer `k` from -12 to 4 for which `train(2.0**k)` diverges. The check asks for four
# problems, with and without momentum, their pixels multiplied by some brightness. Compare your four numbers: momentum
# raises the limit (by a factor $1 + \mu$, almost one power of two), brightness lowers it (pixels twice as bright: up to
# a quarter of the rate).


# %% setup=true
def line_through_digits(generator, momentum, brightness):
    """A function train(lr): the losses of 25 steps of SGD on the mean squared error of a linear layer."""
    ((images, labels),) = digits_batches(generator, 100)
    images, labels = images * brightness, labels.float().unsqueeze(1)

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
values = {}
for momentum in (0.0, 0.9):
    for brightness in np.exp(generator.uniform(np.log(0.3), np.log(5.0), size=2)):
        train = line_through_digits(generator, momentum, float(brightness))
        values[f"momentum {momentum}, brightness {brightness:.2f}"] = smallest_diverging_exponent(train)
check.show(values, text="The learning rate is 2 to the power of these.")

# %% [markdown] hint="training_divergence"
# Call `train(2.0**-12)` and look at the first and last loss. Then a rate twice as large, and so on.

# %% [markdown] hint="training_divergence"
# Compare the *last* loss with the *first*. With momentum the loss goes up and down on the way; that is no divergence.

# %% [markdown] hint="training_divergence"
# A loop over `range(-12, 5)` that returns `k` as soon as `not losses[-1] < losses[0]`. Why `not … <` and not `>=`?
# Because every comparison with nan is false.


# %% mutant="training_divergence"
# Reports the last that works
# That is the largest rate that still converges. The question is for the first that does not.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if not losses[-1] < losses[0]:
            return k - 1


# %% mutant="training_divergence"
# Waits for nan
# Twenty-five steps of divergence need not reach infinity: a loss that grew a million-fold is a finite number. Compare it with the first loss.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        if not math.isfinite(train(2.0**k)[-1]):
            return k


# %% mutant="training_divergence"
# Stops at the first rise
# With momentum the loss rises now and then and training converges all the same. Compare the last loss with the first.
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if any(not after < before for before, after in pairwise(losses)):
            return k
