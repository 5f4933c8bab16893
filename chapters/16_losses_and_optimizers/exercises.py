# %% [markdown]
# # Exercises · Losses and optimizers
# Four of the exercises add to your library, and once you have solved them, networks train with your losses and your
# optimizers. These four run inside files of `mytorch`, where all names that a task or a docstring mentions are
# defined; import anything else in the cell itself.

# %% setup=true
from __future__ import annotations

import gc
import weakref

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F

# %% [markdown] exercise="optim_predict_furthest" kind="predict" points=1
# ### Exercise 1 · Which weight moves furthest?
# Each weight starts at 0, and `step` is called once for each gradient in its list.
#
# | | optimizer | gradients |
# |---|---|---|
# | a | `SGD([w], lr=0.1, momentum=0.9)` | 1, 1 |
# | b | `Adam([w], lr=0.1)` | 500 |
# | c | `Adam([w], lr=0.1)` | 1, −1 |
# | d | `SGD([w], lr=0.1, momentum=0.9)` | 1, 0, 0 |
# | e | `Adam([w], lr=0.1)` | 1, 0, 0 |
#
# Which weight is furthest from 0 at the end? Set `prediction` to its letter, a string. You may use pen and paper.

# %% solution="optim_predict_furthest"
### BEGIN SOLUTION
prediction = "a"
### END SOLUTION

# %% check="optim_predict_furthest"
check.show({"the furthest": str(prediction).strip().lower()}, secret=True)

# %% [markdown] hint="optim_predict_furthest"
# SGD's velocity is $b = 0.9\,b + g$, and its step is $0.1\,b$. Write down the velocities of a and d.

# %% [markdown] hint="optim_predict_furthest"
# Adam's first step has length `lr`, whatever the gradient is, and its later steps aren't longer in these rows.

# %% [markdown] hint="optim_predict_furthest"
# In a the velocities are 1 and 1.9, and in d they are 1, 0.9 and 0.81. Row b takes a single step of 0.1, while e
# takes one of 0.1 and two shorter ones.

# %% mutant="optim_predict_furthest"
# The largest gradient
# Adam divides by the size of the gradient, so its first step has length 0.1 even for a gradient of 500.
prediction = "b"

# %% mutant="optim_predict_furthest"
# The one that reverses
# The second gradient of c points the other way, so c ends less than one step, 0.1, from where it started.
prediction = "c"

# %% mutant="optim_predict_furthest"
# It coasts the longest
# d coasts on its velocity: 0.1 + 0.09 + 0.081 = 0.271. In a, the second gradient is added to the velocity: 0.1 +
# 0.19 = 0.29.
prediction = "d"

# %% mutant="optim_predict_furthest"
# Adam coasts as well
# The running mean keeps e moving, but its three steps are about 0.1, 0.067 and 0.052, which makes 0.219 in all. a
# gets to 0.29.
prediction = "e"


# %% [markdown] exercise="loss_nll_and_binary" kind="core" points="2 2" part="mytorch.nn.loss:nll_loss mytorch.nn.loss:binary_cross_entropy_with_logits"
# ### Exercise 2 · Two losses
# `nll_loss` picks the log-probability of the correct class and takes care of the weights, the ignored targets and the
# reductions. `cross_entropy` calls it, and so does `models/gpt.py`, whose padding is ignored.
#
# The binary loss has one logit $x$ and a target $y$ between 0 and 1. It has to stay finite for logits of ±1000, and
# its gradient is $\sigma(x) - y$, at 0 as well. Derive the loss from $-\log \sigma(x) = \log(e^0 + e^{-x})$, a
# log-sum-exp of two terms. What is $-\log(1 - \sigma(x))$?
#
# The file defines neither `where` nor `ones_like`, but tensors have `gather`, `masked_fill`, `clamp(min=0)`, `exp()`
# and `log()`.


# %% docstrings="loss_nll_and_binary"
def nll_loss():
    """Minus the log-probability of the correct class, times the weight of that class.

    `input` holds log-probabilities (N, C), or (N, C, ...) with more dimensions: the classes are dimension 1,
    or dimension 0 if there is only one. `target` holds the indices of the correct classes, (N, ...), or for an
    `input` of one dimension a single index, () or (1,). `weight` (C,) has a factor for each class. Where the
    target is `ignore_index`, the loss is 0, even if the input is -inf there, and no gradient flows.

    The mean is weighted: the sum of the losses, divided by the sum of the weights of the targets that count.
    If no target counts, it is nan. `reduced(losses, reduction)` does the other two reductions.
    `check_classes(input, target, weight, ignore_index)` raises the errors.
    """


def binary_cross_entropy_with_logits():
    """-y · log σ(x) - (1 - y) · log(1 - σ(x)), for logits x (`input`) and probabilities y (`target`).

    σ is the sigmoid, and -log σ(x) = log(1 + exp(-x)) = log(exp(0) + exp(-x)). For large |x|, σ(x) is rounded
    to 0 or 1, so compute neither its logarithm nor exp of a positive number: loss and gradient are finite for
    finite logits. Gradients reach both x and y. `reduced(losses, reduction)` gives the result.

    Raises:
        ValueError: "Target size (torch.Size([3])) must be the same as input size (torch.Size([2, 3]))".
    """


# %% check="loss_nll_and_binary" raises="IndexError ValueError"
generator = check.rng()
functional = mytorch.nn.functional


def outcome(name, input, *args, **options):
    """A loss, and the gradient of its sum."""
    x = mytorch.tensor(np.asarray(input, dtype=np.float32), requires_grad=True)
    result = getattr(functional, name)(x, *args, **options)
    result.sum().backward()
    return result.detach(), x.grad


logits = generator.normal(size=(5, 3)).round(1)
labels = generator.permutation([0, 1, 2, 2, -100])
weight = mytorch.tensor(generator.permutation([0.5, 1.0, 4.0]).astype(np.float32))
targets = mytorch.tensor(labels)
impossible = np.log(np.full((5, 3), 1 / 3))
impossible[labels == -100] = -np.inf
sequence = generator.normal(size=(2, 4, 3)).round(1)
tokens = mytorch.tensor(generator.integers(0, 4, (2, 3)))
far = np.array([1000.0, -1000.0, 0.0, 20.0, -20.0, *generator.normal(size=3).round(1)])
leaf = mytorch.tensor(generator.uniform(0.1, 0.9, 8).round(2).astype(np.float32), requires_grad=True)
functional.binary_cross_entropy_with_logits(mytorch.tensor(far.astype(np.float32)), leaf).backward()
right = mytorch.tensor([0.0, 1.0, *generator.permutation([0.0, 1.0, 0.25, 0.0, 1.0, 0.75]).tolist()])
check.show(
    {
        "logits": logits,
        "labels": labels,
        "weight": weight,
        "mean, gradient": outcome("cross_entropy", logits, targets),
        "with weights": outcome("cross_entropy", logits, targets, weight=weight),
        "with weights, none": outcome("cross_entropy", logits, targets, weight=weight, reduction="none"),
        "with weights, sum": outcome("cross_entropy", logits, targets, weight=weight, reduction="sum"),
        "class 2 ignored": outcome("nll_loss", logits[labels >= 0], targets[targets >= 0], ignore_index=2),
        "class 1 ignored": outcome("nll_loss", logits[labels >= 0], targets[targets >= 0], ignore_index=1),
        "-inf where the target is ignored": outcome("nll_loss", impossible, targets),
        "positions": outcome("cross_entropy", sequence, tokens, reduction="none"),
        "one example": outcome("cross_entropy", logits[0], mytorch.tensor(1)),
        "one example, target in a row": outcome("cross_entropy", logits[0], mytorch.tensor([1])),
        "a single class": outcome("nll_loss", logits[:2, :1], mytorch.tensor([0, -100]), weight=weight[:1]),
        "a batch of one": outcome("cross_entropy", logits[:1], mytorch.tensor([2]), reduction="none"),
        "sequences of one position": outcome("nll_loss", sequence[..., :1], tokens[:, :1], reduction="none"),
        "the dtypes of float64 losses": [
            functional.nll_loss(mytorch.zeros(2, 3).double(), mytorch.tensor([0, 1])).dtype,
            functional.binary_cross_entropy_with_logits(mytorch.zeros(2).double(), mytorch.ones(2)).dtype,
        ],
        "another reduction": check.error(functional.nll_loss, mytorch.zeros(1, 2), targets[:1] * 0, reduction="avg"),
        "no target counts": functional.nll_loss(mytorch.zeros(2, 3), mytorch.tensor([-100, -100])),
        "no such class": check.error(functional.nll_loss, mytorch.zeros(2, 3), mytorch.tensor([0, 3])),
        "binary logits": far,
        "binary targets": right,
        "binary": outcome("binary_cross_entropy_with_logits", far, right, reduction="none"),
        "binary, mean": outcome("binary_cross_entropy_with_logits", far, right),
        "binary, gradient of the targets": leaf.grad,
        "binary, sizes": check.error(outcome, "binary_cross_entropy_with_logits", [1, 2], mytorch.zeros(3)),
        "binary, a column of targets": check.error(
            outcome, "binary_cross_entropy_with_logits", [[1, 2, 3], [4, 5, 6]], mytorch.zeros(2, 1)
        ),
    },
    rtol=1e-4,
    text="The losses, each with the gradient of its input.",
)

# %% [markdown] hint="loss_nll_and_binary"
# `gather` picks one element from each row, and its index needs as many dimensions as the input. So `unsqueeze` the
# classes in the class dimension and `squeeze` the result. −100 isn't a valid index: replace it by 0 first
# (`masked_fill`), and remember where it was.

# %% [markdown] hint="loss_nll_and_binary"
# Make a tensor of the targets' weights, which is 0 where the target is ignored and otherwise 1 or `weight[classes]`.
# Multiply the losses by it; the mean is the sum of the losses divided by the sum of the weights. Since 0 · (−inf) is
# nan, use `masked_fill` for the ignored losses.

# %% [markdown] hint="loss_nll_and_binary"
# The class dimension is `min(1, input.ndim - 1)`. For a single example, reshape the target to `()`. You can convert
# booleans with `(~ignored).to(input.dtype)`.

# %% [markdown] hint="loss_nll_and_binary"
# Because $-\log(1 - \sigma(x)) = x + \log(e^0 + e^{-x})$, the binary loss is $x - xy + \log(e^0 + e^{-x})$. The
# larger of the two exponents is $m = \max(0, -x)$, and the logarithm is $m + \log(e^{-m} + e^{-x - m})$.


# %% mutant="loss_nll_and_binary"
# Divides by the number of rows
# The mean of a weighted loss divides by the sum of the weights that took part, and ignored targets take no part in
# it.
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    target = target.reshape(()) if input.ndim == 1 else target
    ignored = target == ignore_index
    classes = target.long().masked_fill(ignored, 0)
    dim = min(1, input.ndim - 1)
    losses = -input.gather(dim, classes.unsqueeze(dim)).squeeze(dim)
    if weight is not None:
        losses = losses * weight[classes]
    return reduced(losses.masked_fill(ignored, 0.0), reduction)


# %% mutant="loss_nll_and_binary"
# Forgets the weights in the denominator
# The sum of the losses is weighted, so divide it by the sum of the weights, not by the number of targets that count.
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    target = target.reshape(()) if input.ndim == 1 else target
    ignored = target == ignore_index
    classes = target.long().masked_fill(ignored, 0)
    dim = min(1, input.ndim - 1)
    losses = -input.gather(dim, classes.unsqueeze(dim)).squeeze(dim)
    if weight is not None:
        losses = losses * weight[classes]
    losses = losses.masked_fill(ignored, 0.0)
    return losses.sum() / (~ignored).sum() if reduction == "mean" else reduced(losses, reduction)


# %% mutant="loss_nll_and_binary"
# Multiplies ignored losses by 0
# Where an ignored row contains -inf, 0 times infinity is nan, which spoils the whole mean. Use `masked_fill` there.
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    target = target.reshape(()) if input.ndim == 1 else target
    ignored = target == ignore_index
    classes = target.long().masked_fill(ignored, 0)
    dim = min(1, input.ndim - 1)
    weights = (~ignored).to(input.dtype) * (1 if weight is None else weight[classes])
    losses = -input.gather(dim, classes.unsqueeze(dim)).squeeze(dim) * weights
    return losses.sum() / weights.sum() if reduction == "mean" else reduced(losses, reduction)


# %% mutant="loss_nll_and_binary"
# Takes the last dimension for the classes
# For a batch of logits both are the same, but for positions (N, C, L) the classes are dimension 1.
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    target = target.reshape(()) if input.ndim == 1 else target
    ignored = target == ignore_index
    classes = target.long().masked_fill(ignored, 0)
    rows = input.transpose(1, 2) if input.ndim == 3 and input.shape[1] == input.shape[2] else input
    places = classes.unsqueeze(-1) if input.ndim < 3 else classes.unsqueeze(-1) % input.shape[-1]
    if input.ndim == 3:
        losses = -rows.gather(2, places[:, : rows.shape[1]]).squeeze(-1)
    else:
        losses = -rows.gather(rows.ndim - 1, places).squeeze(-1)
    weights = (~ignored).to(input.dtype) * (1 if weight is None else weight[classes])
    losses = (losses * weights).masked_fill(ignored, 0.0)
    return losses.sum() / weights.sum() if reduction == "mean" else reduced(losses, reduction)


# %% mutant="loss_nll_and_binary"
# Logarithms of sigmoids
# The sigmoid of 1000 is rounded to 1, and the logarithm of 1 minus it is -inf. Combine sigmoid and logarithm into one
# formula.
def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    p = input.sigmoid()
    return reduced(-(target * p.log() + (1 - target) * (1 - p).log()), reduction)


# %% mutant="loss_nll_and_binary"
# Clamps the sigmoid
# With the sigmoid clamped at 1e-7, every loss stays below 17, and the gradient is 0 where the clamp acts. Combine
# sigmoid and logarithm into one formula.
def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    p = input.sigmoid().clamp(1e-7, 1 - 1e-7)
    return reduced(-(target * p.log() + (1 - target) * (1 - p).log()), reduction)


# %% mutant="loss_nll_and_binary"
# Half of the trick
# log(1 + exp(-x)) overflows for x = -1000, so pass exp minus the absolute value.
def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return reduced(input - input * target + (-input).exp().log1p(), reduction)


# %% mutant="loss_nll_and_binary"
# Compares only the first size
# A column of targets would be broadcast along a matrix of logits, and each target would count several times.
def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if len(target) != len(input):
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    top = (-input).clamp(min=0).detach()
    return reduced(input - input * target + top + ((-top).exp() + (-input - top).exp()).log(), reduction)


# %% mutant="loss_nll_and_binary"
# Clamps the logits
# The result is finite but incorrect: the loss of a logit of 1000 with target 0 is 1000, and its gradient is 1, not 0.
def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    x = input.clamp(-50, 50)
    top = (-x).clamp(min=0)
    return reduced(x - x * target + top + ((-top).exp() + (-x - top).exp()).log(), reduction)


# %% mutant="loss_nll_and_binary"
# A kink at 0
# The loss is correct everywhere. But max(x, 0) and |x| have kinks at 0 whose derivatives don't cancel, so the
# gradient there is incorrect.
def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return reduced(input.clamp(min=0) - input * target + (-input.abs()).exp().log1p(), reduction)


# %% mutant="loss_nll_and_binary"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    from minitorch.nn import functional

    return functional.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction)


# %% [markdown] exercise="optim_sgd" kind="core" points=3 part="mytorch.optim.sgd:sgd"
# ### Exercise 3 · SGD
# Update one parameter by one step. `Optimizer.step` calls the function under `no_grad` for each parameter that has a
# gradient. `x -= ...` and `b *= ...` write in place, which is what you want for `x` and for the velocity. `g` is the
# parameter's `.grad`, which must stay unchanged.


# %% docstrings="optim_sgd"
def sgd():
    """Updates a parameter `x` with the gradient `g` in place, by one step.

    `group` has the options "lr", "momentum", "dampening", "weight_decay" and "nesterov". Weight decay adds
    weight_decay · x to the gradient. With a momentum other than 0 the velocity is kept in
    state["momentum_buffer"]. The first velocity is a copy of the gradient itself, and dampening begins with
    the second. With Nesterov momentum the step is along g + momentum · b, with the new b. `g` is not changed.
    """


# %% check="optim_sgd"
generator = check.rng()
start = generator.normal(size=4).astype(np.float32).round(2)
pushes = [generator.normal(size=4).astype(np.float32).round(2) for _ in range(4)]
settings = {
    "plain": {},
    "weight decay": {"weight_decay": 0.5},
    "momentum": {"momentum": 0.9},
    "momentum, weight decay": {"momentum": 0.9, "weight_decay": 0.5},
    "dampening": {"momentum": 0.8, "dampening": 0.5},
    "Nesterov": {"momentum": 0.8, "nesterov": True},
    "Nesterov, weight decay": {"momentum": 0.8, "nesterov": True, "weight_decay": 0.5},
}
shown = {"start": start, "gradients": pushes}
for name, options in settings.items():
    x = mytorch.tensor(start).requires_grad_()
    memory = x.data_ptr()
    optimizer = mytorch.optim.SGD([x], lr=0.1, **options)
    path, velocities, given = [], set(), [mytorch.tensor(push) for push in pushes]
    for grad in given:
        x.grad = grad
        optimizer.step()
        path.append(x.tolist())
        velocities |= {each.data_ptr() for each in optimizer.state[x].values()}
    shown[name] = path
    shown[f"{name}: state"] = {key: optimizer.state[x][key].tolist() for key in sorted(optimizer.state[x])}
    untouched = [each.tolist() for each in given] == [push.tolist() for push in pushes]
    same = [x.data_ptr() == memory, len(velocities) < 2, untouched]
    shown[f"{name}: x and velocity in place, gradients untouched"] = same
x = mytorch.tensor(start, dtype=mytorch.float64).requires_grad_()
optimizer = mytorch.optim.SGD([x], lr=0.1, momentum=0.9)
for push in pushes:
    x.grad = mytorch.tensor(push, dtype=mytorch.float64)
    optimizer.step()
    optimizer.param_groups[0]["lr"] /= 2
shown["in float64, with half of the rate after each step"] = x.detach()
shown["the velocity in float64"] = optimizer.state[x]["momentum_buffer"]
one = mytorch.tensor([[2.0]]).requires_grad_()
one.grad = mytorch.tensor([[0.5]])
mytorch.optim.SGD([one], lr=0.1, momentum=0.9).step()
shown["one element after a step"] = one.detach()
check.show(shown, rtol=1e-4, text="The parameter after each of four steps, and its state.")

# %% [markdown] hint="optim_sgd"
# The order is weight decay, then the velocity, then the step. Only the last line writes to `x`.

# %% [markdown] hint="optim_sgd"
# `g = g + decay * x` makes a new tensor, whereas `g += ...` would change `.grad`. For the same reason the first
# velocity is a *copy* of the gradient: `g.clone()`.

# %% [markdown] hint="optim_sgd"
# With momentum: if `state.get("momentum_buffer")` is None, set it to `g.clone()`; otherwise compute `b *= momentum`
# and `b += (1 - dampening) * g`. Then `g = g + momentum * b` for Nesterov momentum, or `g = b` without it. The last
# line is `x -= lr * g`.


# %% mutant="optim_sgd"
# The first velocity is the gradient itself
# Without a copy, the velocity and .grad are one tensor, so clearing .grad or adding to it in place changes the
# velocity.
def sgd(x, g, state, group):
    momentum = group["momentum"]
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    if momentum:
        if "momentum_buffer" not in state:
            b = state["momentum_buffer"] = g
        else:
            b = state["momentum_buffer"]
            b *= momentum
            b += (1 - group["dampening"]) * g
        g = g + momentum * b if group["nesterov"] else b
    x -= group["lr"] * g


# %% mutant="optim_sgd"
# Dampens the first velocity
# The first velocity is the whole gradient, and dampening begins with the second.
def sgd(x, g, state, group):
    momentum = group["momentum"]
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    if momentum:
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = 0 * g
        b = state["momentum_buffer"]
        b *= momentum
        b += (1 - group["dampening"]) * g
        g = g + momentum * b if group["nesterov"] else b
    x -= group["lr"] * g


# %% mutant="optim_sgd"
# A running mean
# PyTorch's velocity has no factor 1 - momentum: under a constant gradient it grows to 1 / (1 - momentum) times that
# gradient.
def sgd(x, g, state, group):
    momentum = group["momentum"]
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    if momentum:
        b = state.get("momentum_buffer")
        if b is None:
            b = state["momentum_buffer"] = g.clone()
        else:
            b *= momentum
            b += (1 - momentum) * g
        g = g + momentum * b if group["nesterov"] else b
    x -= group["lr"] * g


# %% mutant="optim_sgd"
# Adds weight decay to the gradient in place
# g is the parameter's .grad. With += the decay stays in it, and everything that reads or accumulates the gradient
# finds it there.
def sgd(x, g, state, group):
    momentum = group["momentum"]
    if group["weight_decay"]:
        g += group["weight_decay"] * x
    if momentum:
        b = state.get("momentum_buffer")
        if b is None:
            b = state["momentum_buffer"] = g.clone()
        else:
            b *= momentum
            b += (1 - group["dampening"]) * g
        g = g + momentum * b if group["nesterov"] else b
    x -= group["lr"] * g


# %% mutant="optim_sgd"
# Decays outside the velocity
# Here the decay is subtracted from x directly. In SGD it belongs to the gradient, so that it also enters the
# velocity.
def sgd(x, g, state, group):
    momentum = group["momentum"]
    if group["weight_decay"]:
        x *= 1 - group["lr"] * group["weight_decay"]
    if momentum:
        b = state.get("momentum_buffer")
        if b is None:
            b = state["momentum_buffer"] = g.clone()
        else:
            b *= momentum
            b += (1 - group["dampening"]) * g
        g = g + momentum * b if group["nesterov"] else b
    x -= group["lr"] * g


# %% mutant="optim_sgd"
# A new velocity in each step
# The values are correct, but each step makes a new tensor, so whatever holds the old one no longer sees the updates.
def sgd(x, g, state, group):
    momentum = group["momentum"]
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    if momentum:
        b = state.get("momentum_buffer")
        b = g.clone() if b is None else momentum * b + (1 - group["dampening"]) * g
        state["momentum_buffer"] = b
        g = g + momentum * b if group["nesterov"] else b
    x -= group["lr"] * g


# %% mutant="optim_sgd"
# Nesterov with the old velocity
# Nesterov momentum looks ahead along the new velocity, so the velocity has to be updated first.
def sgd(x, g, state, group):
    momentum = group["momentum"]
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    if momentum:
        b = state.get("momentum_buffer")
        if b is None:
            before = b = state["momentum_buffer"] = g.clone()
        else:
            before = b.clone()
            b *= momentum
            b += (1 - group["dampening"]) * g
        g = g + momentum * before if group["nesterov"] else b
    x -= group["lr"] * g


# %% mutant="optim_sgd"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def sgd(x, g, state, group):
    import minitorch

    y = minitorch.tensor(x.tolist(), requires_grad=True)
    y.grad = minitorch.tensor(g.tolist())
    minitorch.optim.SGD([y], lr=group["lr"]).step()


# %% [markdown] exercise="optim_adam" kind="core" points=3 part="mytorch.optim.adam:adam"
# ### Exercise 4 · Adam and AdamW
# Now write the same for Adam. Update `exp_avg` and `exp_avg_sq` in place, as you did with the velocity. `zeros`,
# `zeros_like` and `float32` are defined in the file. As in PyTorch, the step count is a 0-d tensor of dtype
# `float32`, so that it is saved like the rest of the state; `.item()` makes a Python number of it.


# %% docstrings="optim_adam"
def adam():
    """Updates a parameter `x` with the gradient `g` in place, by one step.

    `group` has the options "lr", "betas" (β₁, β₂), "eps", "weight_decay" and "decoupled_weight_decay". m ← β₁
    m + (1 - β₁) g and v ← β₂ v + (1 - β₂) g² start at zero. After t steps m̂ = m / (1 - β₁ᵗ), v̂ likewise,
    and x ← x - lr · m̂ / (√v̂ + eps). `state` has "exp_avg" (m), "exp_avg_sq" (v), and "step" (t), a 0-d
    float32 tensor. It is empty at the first call.

    Weight decay adds weight_decay · x to the gradient. If "decoupled_weight_decay" is set, x is first
    multiplied by 1 - lr · weight_decay instead. `g` is not changed.
    """


# %% check="optim_adam"
generator = check.rng()
start = generator.normal(size=4).astype(np.float32).round(2)
start += np.copysign(np.float32(0.45), start)  # four steps of 0.1 don't reach 0, where rounding is all that remains
scales = np.float32([100, 1, 0.01, 1e-8])
pushes = [generator.normal(size=4).astype(np.float32).round(2) * scales for _ in range(4)]
settings = {
    "Adam": ("Adam", {}),
    "Adam, other betas": ("Adam", {"betas": (0.5, 0.7)}),
    "Adam, large eps": ("Adam", {"eps": 0.5}),
    "Adam, weight decay": ("Adam", {"weight_decay": 0.5}),
    "AdamW": ("AdamW", {"weight_decay": 0.5}),
}
shown = {"start": start, "gradients": pushes}
for name, (kind, options) in settings.items():
    mytorch.set_default_dtype(mytorch.float64 if name == "AdamW" else mytorch.float32)
    x = mytorch.tensor(start).requires_grad_()
    memory = x.data_ptr()
    optimizer = getattr(mytorch.optim, kind)([x], lr=0.1, **options)
    path, averages, given = [], set(), [mytorch.tensor(push) for push in pushes]
    for grad in given:
        x.grad = grad
        optimizer.step()
        path.append(x.tolist())
        averages.add(tuple(optimizer.state[x][key].data_ptr() for key in ("exp_avg", "exp_avg_sq")))
    state = optimizer.state[x]
    shown[name] = path
    shown[f"{name}: state"] = {key: [state[key].tolist(), repr(state[key].dtype)] for key in sorted(state)}
    untouched = [each.tolist() for each in given] == [push.tolist() for push in pushes]
    same = [x.data_ptr() == memory, len(averages) == 1, untouched]
    shown[f"{name}: x and means in place, gradients untouched"] = same
mytorch.set_default_dtype(mytorch.float32)
few = [mytorch.tensor(2.0).requires_grad_(), mytorch.tensor([2.0]).requires_grad_()]
for each in few:
    each.grad = each.detach() / 4
mytorch.optim.AdamW(few, lr=0.1).step()
shown["a 0-d parameter and one of one element after a step"] = [each.detach() for each in few]
check.show(shown, rtol=1e-4, atol=1e-9, text="The parameter after each of four steps, and its state.")

# %% [markdown] hint="optim_adam"
# At the first call `state` is empty, so put `step`, `exp_avg` and `exp_avg_sq` into it, all of them zeros. Then apply
# the decay, count the step, update both means in place, and write to `x` last.

# %% [markdown] hint="optim_adam"
# `m *= beta1` and `m += (1 - beta1) * g` write in place, so the tensors in `state` change with them. The corrected
# means are new tensors, because dividing `m` itself in place would spoil it for the next step.

# %% [markdown] hint="optim_adam"
# `t = state["step"].item()` after adding 1, and $\hat m$ is `m / (1 - beta1**t)`. The denominator is `(v / (1 -
# beta2**t)).sqrt() + group["eps"]`. For AdamW `x *= 1 - lr * decay` comes first, and `g` stays as it is.


# %% mutant="optim_adam"
# Corrects the means in place
# The stored means must stay uncorrected. Here each step divides them once more, so they grow.
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    step += 1
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    m /= 1 - beta1 ** step.item()
    v /= 1 - beta2 ** step.item()
    x -= lr * m / (v.sqrt() + group["eps"])


# %% mutant="optim_adam"
# No bias correction
# Both means start at 0 and are too small at first, v far more so than m, so the first step is three times too long.
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    step += 1
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    x -= lr * m / (v.sqrt() + group["eps"])


# %% mutant="optim_adam"
# Counts too late
# In the first step t is 1, so increment the count before the corrections.
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    t = step.item()
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    x -= lr * (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + group["eps"])
    step += 1


# %% mutant="optim_adam"
# eps under the root
# eps is added to the root of v, not to v itself. Under the root, it already matters for much larger gradients.
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    step += 1
    t = step.item()
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    x -= lr * (m / (1 - beta1**t)) / (v / (1 - beta2**t) + group["eps"]).sqrt()


# %% mutant="optim_adam"
# The square of eps under the root
# eps is added after the root: √v̂ + eps. √(v̂ + eps²) is smaller than that, most of all where √v̂ is about as large as eps.
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    step += 1
    t = step.item()
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    x -= lr * (m / (1 - beta1**t)) / (v / (1 - beta2**t) + group["eps"] ** 2).sqrt()


# %% mutant="optim_adam"
# eps before the correction
# Here eps is divided by the correction as well, so its effect is largest in the first steps. Correct v, take the
# root, then add eps.
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    step += 1
    t = step.item()
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    x -= lr * (m / (1 - beta1**t)) / ((v.sqrt() + group["eps"]) / (1 - beta2**t) ** 0.5)


# %% mutant="optim_adam"
# AdamW's decay in the gradient
# With decoupled_weight_decay the decay must not enter the means. Instead, x is multiplied by 1 - lr * weight_decay.
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    step += 1
    t = step.item()
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    x -= lr * (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + group["eps"])


# %% mutant="optim_adam"
# Decays after the step
# AdamW multiplies x by 1 - lr * weight_decay before the step, whereas here the factor also shrinks the step.
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and not group["decoupled_weight_decay"]:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    step += 1
    t = step.item()
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    x -= lr * (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + group["eps"])
    if group["decoupled_weight_decay"]:
        x *= 1 - lr * decay


# %% mutant="optim_adam"
# Decays without the learning rate
# The factor is 1 - lr * weight_decay, so the learning rate, and with it a schedule, scales the decay as well.
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if group["decoupled_weight_decay"]:
        x *= 1 - decay
    elif decay:
        g = g + decay * x
    step, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
    step += 1
    t = step.item()
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    x -= lr * (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + group["eps"])


# %% mutant="optim_adam"
# New means in each step
# The values are correct, but each step makes new tensors, so whatever holds the state, such as a saved dict, keeps
# old means.
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    state["step"] = state["step"] + 1
    m = state["exp_avg"] = beta1 * state["exp_avg"] + (1 - beta1) * g
    v = state["exp_avg_sq"] = beta2 * state["exp_avg_sq"] + (1 - beta2) * g * g
    t = state["step"].item()
    x -= lr * (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + group["eps"])


# %% mutant="optim_adam"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def adam(x, g, state, group):
    import minitorch

    y = minitorch.tensor(x.tolist(), requires_grad=True)
    y.grad = minitorch.tensor(g.tolist())
    minitorch.optim.Adam([y], lr=group["lr"]).step()


# %% [markdown] exercise="loss_info_nce" kind="build" points=2
# ### Exercise 5 · Contrastive learning: find your partner
# Two networks each map n items to vectors, for example n pictures and their n captions. Row i of `x` and row i of
# `y`, both (n, d), belong together, while the other rows of `y` are the negatives for row i of `x`. InfoNCE ([van den
# Oord et al., 2018](https://arxiv.org/abs/1807.03748)) turns this into classification: which row of `y` is the
# partner of row i of `x`? In CLIP's version ([Radford et al., 2021](https://arxiv.org/abs/2103.00020)), the logit of
# row j is the cosine of the angle between row i of `x` and row j of `y`, divided by the temperature τ, and the
# correct class is i:
#
# $$L_{x \to y} = -\frac{1}{n} \sum_i \log \frac{e^{\cos(x_i, y_i)/\tau}}{\sum_j e^{\cos(x_i, y_j)/\tau}}$$
#
# CLIP asks the question in both directions, so its loss is the mean of $L_{x \to y}$ and $L_{y \to x}$ (the same with
# `x` and `y` swapped). Write `info_nce(x, y, temperature)`, which returns this mean as a scalar tensor with the dtype
# and on the device of `x`. The loss and its gradients must stay finite at temperatures as small as 0.005. The temperature may be a
# tensor that requires grad, because CLIP trains its temperature (as log 1/τ).


# %% solution="loss_info_nce"
def info_nce(x: torch.Tensor, y: torch.Tensor, temperature: float | torch.Tensor) -> torch.Tensor:
    ### BEGIN SOLUTION
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    partners = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2
    ### END SOLUTION


# %% check="loss_info_nce"
torch.manual_seed(check.seed())
generator = check.rng()
width = int(generator.integers(3, 6))
count = width + int(generator.integers(1, 4))
x = (torch.randn(count, width) * torch.arange(1.0, count + 1).reshape(-1, 1)).requires_grad_()
y = torch.randn(count, width)
y[0] = x[0].detach() * 3
y.requires_grad_()
temperature = torch.tensor(round(float(generator.uniform(0.2, 0.6)), 2), requires_grad=True)
loss = info_nce(x, y, temperature)
loss.backward()
far = torch.randn(1, width)
a, b = torch.cat([far, -far]).requires_grad_(), torch.cat([2 * far, far])
cold = torch.tensor(0.005, requires_grad=True)
opposite = info_nce(a, b, cold)
opposite.backward()
precise = info_nce(x.detach().double(), y.detach().double(), 0.3)
alike = info_nce(torch.ones(count, width), torch.ones(count, width), 0.1)
torch.cuda.simulate(1)
elsewhere = info_nce(x.detach().cuda(), y.detach().cuda(), 0.5)
check.show(
    {
        "shape": (count, width),
        "loss": loss,
        "loss of identical rows, divided by log n": alike / np.log(count),
        "gradient of x": x.grad,
        "gradient of y": y.grad,
        "gradient of the temperature": temperature.grad,
        "at temperature 0.005": info_nce(x.detach(), y.detach(), 0.005),
        "of short rows": info_nce(1e-5 * x.detach(), 1e-5 * y.detach(), 0.5),
        "of two opposite rows, at 0.005": opposite,
        "of a single pair": info_nce(x.detach()[:1], y.detach()[:1], 0.5),
        "of float64 rows": precise,
        "the dtype for bfloat16 rows": info_nce(x.detach().bfloat16(), y.detach().bfloat16(), 0.5).dtype,
        "on a GPU": elsewhere,
        "what float32 would lose of it": (precise - precise.float()) * 2**24,
        "gradient of that temperature": cold.grad,
        "the gradient of its rows is finite": a.grad is not None and bool(torch.isfinite(a.grad).all()),
    },
    text="The loss of a batch of pairs, and its gradients.",
)

# %% [markdown] hint="loss_info_nce"
# Row i is a question with n possible answers. Which loss of this chapter takes a row of logits and the index of the
# correct class?

# %% [markdown] hint="loss_info_nce"
# A single matrix multiplication gives all cosines: `F.normalize` scales each row to length 1, and `a @ b.T` holds the
# dot product of each row of `a` with each row of `b`.

# %% [markdown] hint="loss_info_nce"
# The fraction is element i of the softmax of row i. Minus its logarithm, averaged over the rows, is `F.cross_entropy`
# of the logits with the classes `torch.arange(n)`. From `y` to `x` you read the same logits column by column, so
# transpose them.


# %% mutant="loss_info_nce"
# Uses one direction only
# The rows of logits compare each x with all y. The other half compares each y with all x, which is a softmax down
# each column.
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    return F.cross_entropy(scores, torch.arange(len(x), device=x.device))


# %% mutant="loss_info_nce"
# Adds both directions
# The loss is the mean of both directions, so a batch in which all rows are alike costs log n, the same as a random
# guess.
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    partners = torch.arange(len(x), device=x.device)
    return F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)


# %% mutant="loss_info_nce"
# Leaves the lengths in
# A cosine doesn't depend on the lengths of the vectors. With plain dot products, long vectors dominate the logits,
# whatever their direction.
def info_nce(x, y, temperature):
    scores = x @ y.T / temperature
    partners = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2


# %% mutant="loss_info_nce"
# Normalizes the columns
# Each row is one item and gets length 1, which is `dim=1`. `dim=0` mixes different items.
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=0) @ F.normalize(y, dim=0).T / temperature
    partners = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2


# %% mutant="loss_info_nce"
# Multiplies by the temperature
# The logits are divided by the temperature. A low temperature magnifies differences and makes the softmax sharper.
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T * temperature
    partners = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2


# %% mutant="loss_info_nce"
# Removes the partner from the sum
# The sum in the denominator runs over all rows, including the partner. Only then is it a softmax, and the loss is
# never negative.
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    others = scores.masked_fill(torch.eye(len(x)).bool(), float("-inf"))
    found = scores.diagonal()
    return ((others.logsumexp(1) - found).mean() + (others.logsumexp(0) - found).mean()) / 2


# %% mutant="loss_info_nce"
# Pulls partners together without negatives
# Without negatives, mapping everything to the same vector is already a perfect answer.
def info_nce(x, y, temperature):
    return -(F.normalize(x, dim=1) * F.normalize(y, dim=1)).sum(1).mean() / temperature


# %% mutant="loss_info_nce"
# One softmax over all pairs
# Each row is a separate question: which of the n is my partner? A softmax over all n² pairs asks a different one.
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    return -scores.flatten().log_softmax(0).reshape(scores.shape).diagonal().mean()


# %% mutant="loss_info_nce"
# Exponentiates before taking the logarithm
# e²⁰⁰ is inf in float32, and inf / inf is nan. `cross_entropy` subtracts the largest logit of each row first.
def info_nce(x, y, temperature):
    scores = (F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature).exp()
    found = scores.diagonal()
    return -((found / scores.sum(1)).log().mean() + (found / scores.sum(0)).log().mean()) / 2


# %% mutant="loss_info_nce"
# Takes the logarithm of a softmax
# A softmax of logits that are 400 apart contains 0, and log 0 is −inf. `log_softmax` and `cross_entropy` never
# compute the quotient.
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    return -(scores.softmax(1).diagonal().log().mean() + scores.softmax(0).diagonal().log().mean()) / 2


# %% mutant="loss_info_nce"
# Subtracts one maximum for all rows
# A row whose logits are all far below the largest of the batch becomes a row of zeros. Subtract each row's own
# maximum.
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    largest = scores.max()
    powers, found = (scores - largest).exp(), scores.diagonal()
    along = [(powers.sum(dim).log() + largest - found).mean() for dim in (0, 1)]
    return (along[0] + along[1]) / 2


# %% mutant="loss_info_nce"
# Clamps the temperature at 0.01
# CLIP limits the factor by which it multiplies, but that is a decision about its training. The task asks for the loss
# at any temperature.
def info_nce(x, y, temperature):
    if isinstance(temperature, torch.Tensor):
        temperature = temperature.clamp(min=0.01)
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    partners = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2


# %% mutant="loss_info_nce"
# Converts the temperature to a Python number
# `float()` removes it from the graph, so a trained temperature never gets a gradient. Divide by the tensor itself.
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / float(temperature)
    partners = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2


# %% mutant="loss_info_nce"
# Computes in float32
# The loss has the dtype of `x`, so for float64 rows the whole computation is in float64. `float()` rounds them
# beforehand.
def info_nce(x, y, temperature):
    scores = F.normalize(x.float(), dim=1) @ F.normalize(y.float(), dim=1).T / temperature
    partners = torch.arange(len(x), device=x.device)
    return ((F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2).to(x.dtype)


# %% mutant="loss_info_nce"
# Detaches y
# Both networks learn. With `y` detached, only the network that produces `x` gets gradients.
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y.detach(), dim=1).T / temperature
    partners = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2


# %% [markdown] exercise="loss_repair_chunks" kind="repair" points=3
# ### Exercise 6 · The same batch, a different step
# A batch is too large for the memory, so `train_step` processes it in chunks, one after the other: `chunks` is a list
# of (inputs, targets), where targets of −1 are padding. Its users report three things:
#
# - With chunks of one length and without padding, the step is the same as for the whole batch.
# - With padding it isn't, although there is no error, and runs with much padding end up clearly worse.
# - Some runs end in `nan` in the middle of an epoch, although the inputs are clean.
#
# Fix the function so that it takes the same step as with the whole batch at once, and returns the same loss. Don't
# concatenate the chunks, because the memory has room for a single chunk at a time in the model, plus the graph of at
# most one earlier chunk.


# %% solution="loss_repair_chunks"
def train_step(model, optimizer, chunks) -> float:
    """Takes one step of the optimizer on all chunks, and returns the loss of the whole batch."""
    ### BEGIN SOLUTION
    count = sum((targets != -1).sum().item() for _, targets in chunks)
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1, reduction="sum") / count
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total
    ### END SOLUTION
    ### BEGIN STUB
    # optimizer.zero_grad()
    # total = 0.0
    # for inputs, targets in chunks:
    #     loss = F.cross_entropy(model(inputs), targets, ignore_index=-1) / len(chunks)
    #     loss.backward()
    #     total += loss.item()
    # optimizer.step()
    # return total
    ### END STUB


# %% check="loss_repair_chunks"
torch.manual_seed(check.seed())
generator = check.rng()
width, classes = 4, 3
model = nn.Linear(width, classes)
seen, graphs, held = [], [], []
model.register_forward_pre_hook(lambda module, inputs: seen.append(len(inputs[0])))


def note(module, inputs, output):
    """Counts the graphs of earlier chunks that are still alive."""
    gc.collect()
    held.append(sum(node() is not None for node in graphs))
    graphs.append(weakref.ref(output.grad_fn))


model.register_forward_hook(note)


def chunk(size, padding):
    inputs = torch.tensor(generator.normal(size=(size, width)).astype(np.float32))
    labels = generator.integers(0, classes, size)
    labels[size - padding :] = -1
    return inputs, torch.tensor(labels)


batches = {
    "even chunks": [chunk(3, 0), chunk(3, 0)],
    "padding": [chunk(6, 0), chunk(6, 5)],
    "another length": [chunk(8, 2), chunk(2, 0), chunk(5, 3)],
    "a chunk of padding alone": [chunk(4, 1), chunk(2, 2), chunk(3, 1)],
    "a single chunk": [chunk(7, 2)],
}
values = {}
for name, chunks in batches.items():
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    steps = []
    optimizer.register_step_post_hook(lambda *_, steps=steps: steps.append(1))
    for noted in (seen, graphs, held):
        noted.clear()
    if name != "even chunks":
        model.bias.grad = torch.ones(classes)  # of an earlier backward pass
    loss = train_step(model, optimizer, chunks)
    values[name] = {
        "loss": loss,
        "bias": model.bias.tolist(),
        "steps": len(steps),
        "training mode, chunks": [model.training, len(chunks)],
        "more rows at once than a chunk has": max(seen) > max(len(targets) for _, targets in chunks),
        "holds the graphs of several chunks": max(held) > 1,
    }
check.show(values, rtol=1e-4, atol=1e-5, text="One step on each of five batches, by the same model.")

# %% [markdown] hint="loss_repair_chunks"
# Take two chunks, one without padding and one in which five of six targets are padding. Compute the loss of each by
# hand, from the single losses (`reduction="none"`), and then the loss of both together.

# %% [markdown] hint="loss_repair_chunks"
# By how many targets does each chunk's mean divide? How much does one real target count in a chunk with much padding,
# and what is the mean of a chunk that consists of padding alone?

# %% [markdown] hint="loss_repair_chunks"
# A mean of means equals the overall mean only if the groups are equally large. First count the targets that aren't −1
# in all chunks. Then each chunk contributes its loss with `reduction="sum"`, divided by that count.


# %% mutant="loss_repair_chunks"
# One backward pass for all chunks
# The values are correct, but the graphs of all chunks are in memory at once. Call `backward` after each chunk.
def train_step(model, optimizer, chunks):
    optimizer.zero_grad()
    losses = [F.cross_entropy(model(inputs), targets, ignore_index=-1, reduction="sum") for inputs, targets in chunks]
    loss = sum(losses) / sum((targets != -1).sum() for _, targets in chunks)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% mutant="loss_repair_chunks"
# Adds up losses with their graphs
# The values are correct, but the sum is a tensor that holds the graph of each chunk. Add `loss.item()` instead.
def train_step(model, optimizer, chunks):
    count = sum(int((targets != -1).sum()) for _, targets in chunks)
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1, reduction="sum") / count
        loss.backward()
        total += loss
    optimizer.step()
    return total.item()


# %% mutant="loss_repair_chunks"
# Weights the chunks by their rows
# Here padding is counted like data. A mean ignores it, so the weights must ignore it as well.
def train_step(model, optimizer, chunks):
    rows = sum(len(targets) for _, targets in chunks)
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1, reduction="sum") / rows
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


# %% mutant="loss_repair_chunks"
# Weights the means by their rows
# A chunk's mean is over its real targets, so weight it by their number, not by the number of all its rows. And the
# mean of no targets is nan, whatever it is multiplied by.
def train_step(model, optimizer, chunks):
    rows = sum(len(targets) for _, targets in chunks)
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1) * len(targets) / rows
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


# %% mutant="loss_repair_chunks"
# Weights the means by their rows, and skips padding
# There is no nan any more, but a chunk's mean is over its real targets, so weight it by their number, not by the
# number of all its rows.
def train_step(model, optimizer, chunks):
    chunks = [chunk for chunk in chunks if (chunk[1] != -1).any()]
    rows = sum(len(targets) for _, targets in chunks)
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1) * len(targets) / rows
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


# %% mutant="loss_repair_chunks"
# Sums the means
# Without any division the step grows with the number of chunks, and the mean of no targets is still nan.
def train_step(model, optimizer, chunks):
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


# %% mutant="loss_repair_chunks"
# Skips chunks of padding
# There is no nan any more, but this is still a mean of means: the more padding a chunk has, the more each of its
# targets counts.
def train_step(model, optimizer, chunks):
    chunks = [chunk for chunk in chunks if (chunk[1] != -1).any()]
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1) / len(chunks)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


# %% mutant="loss_repair_chunks"
# Concatenates the chunks
# The step is correct, but the whole batch is in the model at once, for which there wasn't enough memory.
def train_step(model, optimizer, chunks):
    optimizer.zero_grad()
    inputs, targets = (torch.cat(each) for each in zip(*chunks, strict=True))
    loss = F.cross_entropy(model(inputs), targets, ignore_index=-1)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% mutant="loss_repair_chunks"
# Divides by the chunk's own count
# That is again the mean of each chunk. The divisor has to be the count over all chunks, which must be known before
# the first backward pass.
def train_step(model, optimizer, chunks):
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in chunks:
        count = max((targets != -1).sum().item(), 1)
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1, reduction="sum") / count / len(chunks)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


# %% [markdown] exercise="optim_measure_momentum" kind="measure" points=2
# ### Exercise 7 · What is momentum worth?
# `travel(condition, lr, momentum, limit)`, in the folded cell below, runs SGD in a valley whose largest curvature is
# 1 and whose smallest is 1 / `condition`. It returns the distances to the minimum before the first step and after
# each of `limit` steps.
#
# A run **has arrived** after step $n$ if the distance is below 0.01 of the initial one after step $n$ and at all
# later times. (With momentum, a run may pass the minimum and leave it again.) Find the smallest $n$ over all the
# rates in `RATES`, or return `limit` if no run arrives within `limit` steps.
#
# Then look at the results: how does the number of steps grow when the valley becomes 4 times as narrow, without
# momentum and with the best one?


# %% setup=true
RATES = [round(0.1 * k, 1) for k in range(1, 39)]


def travel(condition: float, lr: float, momentum: float, limit: int = 400) -> list[float]:
    """The distance to the minimum before the first step and after each of `limit` steps."""
    curvature = np.array([1.0, 1.0 / condition])
    place, velocity, distances = np.array([1.0, 1.0]), np.zeros(2), []
    for _ in range(limit + 1):
        distances.append(float(np.abs(place).max()))
        velocity = momentum * velocity + curvature * place
        place = np.clip(place - lr * velocity, -1e6, 1e6)
    return distances


# %% solution="optim_measure_momentum"
def fewest_steps(condition: float, momentum: float, limit: int = 400) -> int:
    """The smallest number of steps after which a run with one of the rates has arrived."""
    ### BEGIN SOLUTION
    found = []
    for lr in RATES:
        distances = travel(condition, lr, momentum, limit)
        far = [step for step, distance in enumerate(distances) if not distance < 0.01 * distances[0]]
        found.append(far[-1] + 1)
    return min(*found, limit)
    ### END SOLUTION


# %% check="optim_measure_momentum"
condition = round(check.rng().uniform(12, 24), 1)
values = {"condition": condition}
for factor in (1, 4):
    steps = {each: fewest_steps(condition * factor, each) for each in (0.0, 0.5, 0.7, 0.8, 0.9)}
    values |= {f"{factor} times as narrow, momentum {each}": number for each, number in steps.items()}
    values[f"{factor} times as narrow, the best momentum"] = min(steps.values())
values["too narrow"] = fewest_steps(1e5, 0.0, 50)
check.show(values, text="The smallest number of steps, by momentum.")

# %% [markdown] hint="optim_measure_momentum"
# Look at a single run first. After which steps is the distance *not* below 0.01 of the initial one, and what does the
# last of these steps tell you?

# %% [markdown] hint="optim_measure_momentum"
# The run has arrived one step after the last time that it was too far away. A run that diverges is still too far away
# at the very end.

# %% [markdown] hint="optim_measure_momentum"
# With `far = [step for step, d in enumerate(distances) if not d < 0.01 * distances[0]]`, the run has arrived after
# step `far[-1] + 1`. Take the minimum over all rates, and `limit` if that is smaller.


# %% mutant="optim_measure_momentum"
# The first time below
# With momentum a run passes close to the minimum and leaves it again. It has arrived when it is close and stays
# close.
def fewest_steps(condition, momentum, limit=400):
    found = [limit]
    for lr in RATES:
        distances = travel(condition, lr, momentum, limit)
        near = [step for step, distance in enumerate(distances) if distance < 0.01 * distances[0]]
        found += near[:1]
    return min(found)


# %% mutant="optim_measure_momentum"
# One rate for all
# The best rate depends on the momentum and on the valley. If you use one rate for all, you compare rates, not
# momenta.
def fewest_steps(condition, momentum, limit=400):
    distances = travel(condition, 1.0, momentum, limit)
    far = [step for step, distance in enumerate(distances) if not distance < 0.01 * distances[0]]
    return min(far[-1] + 1, limit)


# %% mutant="optim_measure_momentum"
# The largest rate
# The largest rate isn't the fastest: just below the stability limit a run oscillates, and the oscillation takes long
# to die down.
def fewest_steps(condition, momentum, limit=400):
    found = limit
    for lr in RATES:
        distances = travel(condition, lr, momentum, limit)
        if distances[-1] < 0.01 * distances[0]:
            far = [step for step, distance in enumerate(distances) if not distance < 0.01 * distances[0]]
            found = far[-1] + 1
    return found


# %% mutant="optim_measure_momentum"
# Forgets the limit
# The runs have `limit` steps, so pass `limit` on to `travel`.
def fewest_steps(condition, momentum, limit=400):
    found = []
    for lr in RATES:
        distances = travel(condition, lr, momentum)
        far = [step for step, distance in enumerate(distances) if not distance < 0.01 * distances[0]]
        found.append(far[-1] + 1)
    return min(found)


# %% mutant="optim_measure_momentum"
# One step short
# This is the last step after which the run was still too far away, and it arrived one step later.
def fewest_steps(condition, momentum, limit=400):
    found = []
    for lr in RATES:
        distances = travel(condition, lr, momentum, limit)
        far = [step for step, distance in enumerate(distances) if not distance < 0.01 * distances[0]]
        found.append(far[-1])
    return min(*found, limit)


# %% [markdown] exercise="optim_groups_and_state" kind="core" points="1 2" part="mytorch.optim.optimizer:Optimizer.add_param_group mytorch.optim.optimizer:Optimizer.zero_grad | mytorch.optim.optimizer:Optimizer.state_dict mytorch.optim.optimizer:Optimizer.load_state_dict"
# ### Exercise 8 · Parameter groups, and a training run that is resumed
# `self.param_groups` is a list of dicts, in which "params" lists parameters and the other entries are their options.
# `self.state` has a dict for each parameter. Both are saved, so that a training run that is resumed with them
# continues as if it had never stopped. The saved form contains indices instead of parameters, because the parameters
# of the next program are other objects.


# %% docstrings="optim_groups_and_state"
def add_param_group():
    """Adds a group: a dict whose "params" is one tensor or several; missing options come from `self.defaults`.

    The given dict isn't changed: the group is a new dict, and its "params" is a list.

    Raises:
        TypeError: "optimizer can only optimize Tensors, but one of the params is int".
        ValueError: "can't optimize a non-leaf Tensor", or "some parameters appear in more than one parameter
            group".
    """


def zero_grad():
    """Resets the gradients: `.grad` becomes None, or zeros in its own memory if `set_to_none` is false.

    A gradient with a history is detached from it (`detach`). None stays None.
    """


def state_dict():
    """Returns what a resumed run needs: {"state": ..., "param_groups": ...}, with indices instead of parameters.

    The parameters are numbered through all groups, starting at 0. A parameter without any state has no entry
    in "state". The tensors in "state" aren't copied, so later steps change them. The groups are new dicts.
    """


def load_state_dict():
    """Restores what `state_dict` returned: options and states of the parameters. Earlier state is discarded.

    Indices are positions, so parameter 3 is the fourth of all groups. Tensors other than "step" get the dtype
    and device of their parameter (`value.to(x.dtype).to(x.device)`). The given dict isn't changed, then or by
    later steps, but its tensors may be, because those that already fit are used as they are.

    Raises:
        ValueError: "loaded state dict has a different number of parameter groups", or "loaded state dict
            contains a parameter group that doesn't match the size of optimizer's group". Then nothing has changed.
    """


# %% check="optim_groups_and_state" raises="TypeError ValueError"
generator = check.rng()
optim = mytorch.optim
momentum = float(generator.integers(5, 10)) / 10
start = [generator.normal(size=size).astype(np.float32) for size in ((2,), (3,), (2, 2))]


def leaves():
    return [mytorch.tensor(each).requires_grad_() for each in start]


def steps(optimizer, parameters, count):
    for number in range(count):
        optimizer.zero_grad()
        sum(((each - number) ** 2).sum() for each in parameters).backward()
        optimizer.step()


def groups_of(optimizer):
    return [
        {name: value if name != "params" else [list(each.shape) for each in value] for name, value in group.items()}
        for group in optimizer.param_groups
    ]


def told(make):
    made = []
    problem = check.error(lambda: made.append(make()))
    return problem or made[0]


def added(*groups):
    """The groups of an SGD that is created with the first group and gets the others later."""
    optimizer = optim.SGD([groups[0]], lr=0.1, momentum=momentum)
    for each in groups[1:]:
        optimizer.add_param_group(each)
    return groups_of(optimizer), [list(each) for each in groups]


def saved(kind, **options):
    """The saved form after two steps, and whether its tensors are the optimizer's own."""
    a, b, c = leaves()
    optimizer = getattr(optim, kind)([{"params": [a]}, {"params": [b, c], "lr": 0.5}], lr=0.1, **options)
    empty = optimizer.state_dict()
    steps(optimizer, [a, c], 2)
    found = optimizer.state_dict()
    numbered = {f"parameter {number}": values for number, values in found["state"].items()}
    shared = all(value is optimizer.state[a][name] for name, value in found["state"].get(0, {}).items())
    mine = found["param_groups"][0] is optimizer.param_groups[0]
    return numbered, found["param_groups"], list(empty["state"]), shared, mine


def resumed(kind, convert=None, **options):
    """The parameters, in two groups, after five steps with a stop after the second one."""
    parts = leaves()
    first = getattr(optim, kind)([{"params": parts[:1]}, {"params": parts[1:], "lr": 0.05}], **options)
    steps(first, parts, 2)
    kept = first.state_dict()
    before = repr(kept["param_groups"])
    later = [
        each.detach().requires_grad_() if convert is None else each.detach().to(convert).requires_grad_()
        for each in parts
    ]
    second = getattr(optim, kind)([{"params": later[:1]}, {"params": later[1:], "lr": 8.0}], lr=9.0)
    problem = check.error(second.load_state_dict, kept)
    if problem is not None:
        return problem
    steps(second, later, 3)
    types = sorted({(name, str(value.dtype)) for each in second.state.values() for name, value in each.items()})
    return [each.detach() for each in later], types, repr(kept["param_groups"]) == before, groups_of(second)


def zeroed():
    a, b, _ = leaves()
    a.grad = mytorch.tensor([1.0, float("nan")], requires_grad=True) * 2
    memory = a.grad.data_ptr()
    optimizer = optim.SGD([{"params": a}, {"params": [b]}], lr=0.1)
    optimizer.zero_grad(set_to_none=False)
    kept = a.grad, a.grad.requires_grad, a.grad.data_ptr() == memory, b.grad
    a.requires_grad_(False)  # a frozen one is reset as well
    optimizer.zero_grad()
    return kept, a.grad


def refused():
    """The groups after one was refused, and the state and options after a state dict was."""
    a, b, _ = leaves()
    optimizer = optim.SGD([a], lr=0.1, momentum=momentum)
    steps(optimizer, [a], 1)
    problems = [check.error(optimizer.add_param_group, {"params": each}) for each in ([b, a], [b, 3], [b, b * 2])]
    other = optim.SGD([{"params": [a, b], "lr": 7.0}], lr=0.1).state_dict()
    before = repr(other)
    problems.append(check.error(optimizer.load_state_dict, other))
    return problems, groups_of(optimizer), [sorted(each) for each in optimizer.state.values()], repr(other) == before


def undone():
    """How many parameters have a state after a step, once the state of before is loaded."""
    a, *_ = leaves()
    optimizer = optim.SGD([a], lr=0.1, momentum=momentum)
    before = optimizer.state_dict()
    steps(optimizer, [a], 1)
    optimizer.load_state_dict(before)
    return sum(map(bool, optimizer.state.values()))


def continued():
    """A saved state that was loaded, and the optimizer's own after it stored one more value."""
    a, *_ = leaves()
    optimizer = optim.SGD([a], lr=0.1)
    kept = optimizer.state_dict() | {"state": {0: {"skipped": 2}}}
    optimizer.load_state_dict(kept)
    optimizer.state[a]["more"] = 1
    return kept["state"][0], dict(optimizer.state[a])


def of_an_optimizer_unknown():
    """The state of a float64 parameter on a GPU, made of a saved one that was on the CPU."""
    a = mytorch.zeros(2, dtype=mytorch.float64, device="cuda", requires_grad=True)
    optimizer = optim.SGD([a], lr=0.1)
    values = {"step": mytorch.tensor(3.0), "mean": mytorch.tensor(start[0]), "skipped": 2, "rule": "sign"}
    optimizer.load_state_dict(optimizer.state_dict() | {"state": {0: values}})
    return dict(optimizer.state[a])


def sized(*counts):
    """An optimizer with groups of so many parameters."""
    groups = [{"params": [mytorch.zeros(2, requires_grad=True) for _ in range(count)]} for count in counts]
    return optim.SGD(groups, lr=0.1)


a, b, c = leaves()
mytorch.cuda.simulate(1)
check.show(
    {
        "groups": told(lambda: added({"params": a}, {"params": (b, c), "lr": 0.5, "name": "slow"})),
        "a generator": told(lambda: added({"params": (each for each in [a, b])})[0]),
        "not a tensor": told(lambda: added({"params": [a, 3]})),
        "a frozen parameter": told(lambda: added({"params": [a, mytorch.zeros(2)]})[0]),
        "not a leaf": told(lambda: added({"params": a}, {"params": b * 2})),
        "in two groups": told(lambda: added({"params": [a, b]}, {"params": [c, b]})),
        "zeros, then none": told(zeroed),
        "what was refused changes nothing": told(refused),
        "saved, SGD": told(lambda: saved("SGD", momentum=momentum)),
        "saved, plain SGD": told(lambda: saved("SGD")),
        "saved, Adam": told(lambda: saved("Adam")),
        "resumed, SGD": told(lambda: resumed("SGD", lr=0.1, momentum=momentum)),
        "resumed, Adam": told(lambda: resumed("Adam", lr=0.1)),
        "resumed in float64": told(lambda: resumed("Adam", mytorch.float64, lr=0.1)),
        "a step undone": told(undone),
        "a state of other values": told(of_an_optimizer_unknown),
        "a saved state stays as it is": told(continued),
        "another number of groups": told(lambda: sized(2, 1).load_state_dict(sized(3).state_dict())),
        "a group of another size": told(lambda: sized(2).load_state_dict(sized(3).state_dict())),
        "groups of other sizes, as many parameters": told(
            lambda: sized(2, 1).load_state_dict(sized(1, 2).state_dict())
        ),
    },
    rtol=1e-4,
    atol=1e-6,
    text="Groups, saved forms, and training runs that were resumed.",
)

# %% [markdown] hint="optim_groups_and_state"
# In `add_param_group`, `self.defaults | param_group | {"params": parameters}` is a new dict. Whether a parameter is
# already in a group is a question of identity (`id`), because `in` would compare tensors element by element.

# %% [markdown] hint="optim_groups_and_state"
# In `state_dict`, list all parameters of all groups and number them: `{id(x): number for number, x in
# enumerate(parameters)}`. `self.state[x]` creates a missing entry, so use `self.state.get(x)`.

# %% [markdown] hint="optim_groups_and_state"
# `load_state_dict` checks the lengths and begins with `self.state = defaultdict(dict)`. Then, for each pair of a
# saved and an own group, `own.update(…)` takes all entries except "params", and `zip(new["params"], own["params"])`
# gives pairs of an index and a parameter.


# %% mutant="optim_groups_and_state"
# Writes into the given dict
# Now the caller's dict has the defaults in it. Make a new one.
def add_param_group(self, param_group):
    given = param_group["params"]
    parameters = [given] if isinstance(given, Tensor) else list(given)
    for parameter in parameters:
        if not isinstance(parameter, Tensor):
            name = type(parameter).__name__
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {name}")
        if not parameter.is_leaf:
            raise ValueError("can't optimize a non-leaf Tensor")
    known = {id(each) for group in self.param_groups for each in group["params"]}
    if any(id(parameter) in known for parameter in parameters):
        raise ValueError("some parameters appear in more than one parameter group")
    param_group["params"] = parameters
    for name, value in self.defaults.items():
        param_group.setdefault(name, value)
    self.param_groups.append(param_group)


# %% mutant="optim_groups_and_state"
# The defaults win
# Options that a group states override the defaults.
def add_param_group(self, param_group):
    given = param_group["params"]
    parameters = [given] if isinstance(given, Tensor) else list(given)
    for parameter in parameters:
        if not isinstance(parameter, Tensor):
            name = type(parameter).__name__
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {name}")
        if not parameter.is_leaf:
            raise ValueError("can't optimize a non-leaf Tensor")
    known = {id(each) for group in self.param_groups for each in group["params"]}
    if any(id(parameter) in known for parameter in parameters):
        raise ValueError("some parameters appear in more than one parameter group")
    self.param_groups.append(param_group | self.defaults | {"params": parameters})


# %% mutant="optim_groups_and_state"
# Only the first group
# `zero_grad` resets the gradients of all groups, not only of the first.
def zero_grad(self, set_to_none=True):
    for x in self.param_groups[0]["params"]:
        if set_to_none:
            x.grad = None
        elif x.grad is not None:
            x.grad = x.grad.detach() * 0


# %% mutant="optim_groups_and_state"
# Starts again at 0 in each group
# The numbering continues through all groups. Otherwise parameter 0 of the second group would get the state of the
# first group's.
def state_dict(self):
    groups = [group | {"params": list(range(len(group["params"])))} for group in self.param_groups]
    state = {
        number: self.state[x]
        for group in self.param_groups
        for number, x in enumerate(group["params"])
        if self.state.get(x)
    }
    return {"state": state, "param_groups": groups}


# %% mutant="optim_groups_and_state"
# An entry for every parameter
# Reading `self.state[x]` creates an entry, but a parameter without any state must not have one.
def state_dict(self):
    parameters = [x for group in self.param_groups for x in group["params"]]
    numbers = {id(x): number for number, x in enumerate(parameters)}
    groups = [group | {"params": [numbers[id(x)] for x in group["params"]]} for group in self.param_groups]
    return {"state": {number: self.state[x] for number, x in enumerate(parameters)}, "param_groups": groups}


# %% mutant="optim_groups_and_state"
# Uses the saved dicts themselves
# Now the optimizer writes into the dict that the caller still holds, here into its learning rate and its parameter
# indices.
def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(new["params"]) != len(own["params"]) for new, own in zip(saved, self.param_groups, strict=True)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )
    self.state = defaultdict(dict)
    for new, own in zip(saved, self.param_groups, strict=True):
        for number, x in zip(new["params"], own["params"], strict=True):
            for name, value in state_dict["state"].get(number, {}).items():
                moves = isinstance(value, Tensor) and name != "step"
                self.state[x][name] = value.to(x.dtype).to(x.device) if moves else value
        new["params"] = own["params"]
    self.param_groups = saved


# %% mutant="optim_groups_and_state"
# Adds to the earlier state
# What the optimizer remembered before stays where the loaded dict has nothing, so a momentum of later steps remains.
def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(new["params"]) != len(own["params"]) for new, own in zip(saved, self.param_groups, strict=True)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )
    for new, own in zip(saved, self.param_groups, strict=True):
        own.update({name: value for name, value in new.items() if name != "params"})
        for number, x in zip(new["params"], own["params"], strict=True):
            for name, value in state_dict["state"].get(number, {}).items():
                moves = isinstance(value, Tensor) and name != "step"
                self.state[x][name] = value.to(x.dtype).to(x.device) if moves else value


# %% mutant="optim_groups_and_state"
# Keeps its own options
# A schedule may have lowered the learning rate, so the saved options are restored as well.
def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(new["params"]) != len(own["params"]) for new, own in zip(saved, self.param_groups, strict=True)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )
    self.state = defaultdict(dict)
    for new, own in zip(saved, self.param_groups, strict=True):
        for number, x in zip(new["params"], own["params"], strict=True):
            for name, value in state_dict["state"].get(number, {}).items():
                moves = isinstance(value, Tensor) and name != "step"
                self.state[x][name] = value.to(x.dtype).to(x.device) if moves else value


# %% mutant="optim_groups_and_state"
# Converts the step as well
# The step count isn't a moment: it stays float32 on the CPU, whatever the parameters are.
def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(new["params"]) != len(own["params"]) for new, own in zip(saved, self.param_groups, strict=True)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )
    self.state = defaultdict(dict)
    for new, own in zip(saved, self.param_groups, strict=True):
        own.update({name: value for name, value in new.items() if name != "params"})
        for number, x in zip(new["params"], own["params"], strict=True):
            for name, value in state_dict["state"].get(number, {}).items():
                self.state[x][name] = value.to(x.dtype).to(x.device) if isinstance(value, Tensor) else value
