# %% [markdown]
# # Exercises · Mock interview
# Each round of an interview has an exercise, and two long debug rounds stand at the end. Give yourself as much time
# for each as you would have there. The debug exercises always have the same faults. To practise with others, run
# `course interview --round debug`, which plants a different selection in one of three other programs each time.

# %% setup=true
from __future__ import annotations

import copy

import numpy as np

import minitorch as torch
from course import check
from minitorch import nn
from minitorch.nn import functional as F

# %% [markdown] exercise="interview_calibration" kind="build" points=3
# ### Exercise 1 · Rapid fire: how well calibrated are you?
# After a round you have two lists of the same length: how confident you were of each answer, in percent, and whether
# it was correct. Write the three functions that summarize them. `curve` returns a pair for each percentage that
# occurs: the number of answers, and the fraction of correct ones, from 0 to 1. `brier` is the mean squared distance
# between the stated probability and 1 or 0. `overconfidence` is the number of percentage points by which your mean
# confidence exceeds your accuracy, and it is negative if you know more than you think.


# %% solution="interview_calibration"
def curve(sure: list[int], right: list[bool]) -> dict[int, tuple[int, float]]:
    """For each percentage that occurs, in ascending order: the number of answers and the fraction of correct ones."""
    ### BEGIN SOLUTION
    found = {}
    for level in sorted(set(sure)):
        results = [each for said, each in zip(sure, right, strict=True) if said == level]
        found[level] = (len(results), sum(results) / len(results))
    return found
    ### END SOLUTION


def brier(sure: list[int], right: list[bool]) -> float:
    """The mean over all answers of (probability - outcome)²."""
    ### BEGIN SOLUTION
    return sum((said / 100 - each) ** 2 for said, each in zip(sure, right, strict=True)) / len(sure)
    ### END SOLUTION


def overconfidence(sure: list[int], right: list[bool]) -> float:
    """The mean stated percentage, minus the percentage of correct answers."""
    ### BEGIN SOLUTION
    return sum(sure) / len(sure) - 100 * sum(right) / len(right)
    ### END SOLUTION


# %% check="interview_calibration"
generator = check.rng()
sure = generator.choice([10, 35, 50, 72, 99], size=23, p=[0.1, 0.1, 0.2, 0.3, 0.3]).tolist()
right = [bool(generator.random() < 0.2 + each / 250) for each in sure]
found = check.intact(curve, sure, right)
check.show(
    {
        "sure": sure,
        "right": right,
        "levels": [int(each) for each in found],
        "answers at each level": [int(count) for count, _ in found.values()],
        "fraction of correct ones": [float(share) for _, share in found.values()],
        "Brier score": float(check.intact(brier, sure, right)),
        "overconfidence": float(check.intact(overconfidence, sure, right)),
        "overconfidence at 10 % confidence, all correct": float(overconfidence([10, 10], [True, True])),
        "of a single answer": [
            [*curve([35], [True])[35]],
            float(brier([35], [True])),
            float(overconfidence([35], [True])),
        ],
    },
    text="The answers of a reader, and the results of your functions.",
)

# %% [markdown] hint="interview_calibration"
# In `curve`, collect the results that belong to each value in `set(sure)`.

# %% [markdown] hint="interview_calibration"
# The Brier score uses probabilities, so 70 % is 0.7 and a correct answer is 1, and you need the squared distance
# between the two.

# %% [markdown] hint="interview_calibration"
# `zip(sure, right)` gives the pairs. `brier` averages `(said / 100 - was) ** 2` over all of them, and
# `overconfidence` is a difference of two means, which keeps its sign.


# %% mutant="interview_calibration"
# Compares percentages with outcomes
# A correct answer counts as 1, and 70 % is 0.7. With 70 instead of 0.7 the score is in the thousands.
def curve(sure, right):
    return {
        level: (sure.count(level), sum(r for s, r in zip(sure, right, strict=True) if s == level) / sure.count(level))
        for level in sorted(set(sure))
    }


def brier(sure, right):
    return sum((s - r) ** 2 for s, r in zip(sure, right, strict=True)) / len(sure)


def overconfidence(sure, right):
    return sum(sure) / len(sure) - 100 * sum(right) / len(right)


# %% mutant="interview_calibration"
# A mean of means
# Each answer counts the same, whereas here each percentage counts the same, however few answers it has.
def curve(sure, right):
    return {
        level: (sure.count(level), sum(r for s, r in zip(sure, right, strict=True) if s == level) / sure.count(level))
        for level in sorted(set(sure))
    }


def brier(sure, right):
    levels = [[(s / 100 - r) ** 2 for s, r in zip(sure, right, strict=True) if s == level] for level in set(sure)]
    return sum(sum(each) / len(each) for each in levels) / len(levels)


def overconfidence(sure, right):
    return sum(sure) / len(sure) - 100 * sum(right) / len(right)


# %% mutant="interview_calibration"
# Loses the sign
# If you know more than you think, your overconfidence is negative. `abs` hides which of the two it is.
def curve(sure, right):
    return {
        level: (sure.count(level), sum(r for s, r in zip(sure, right, strict=True) if s == level) / sure.count(level))
        for level in sorted(set(sure))
    }


def brier(sure, right):
    return sum((s / 100 - r) ** 2 for s, r in zip(sure, right, strict=True)) / len(sure)


def overconfidence(sure, right):
    return abs(sum(sure) / len(sure) - 100 * sum(right) / len(right))


# %% mutant="interview_calibration"
# A fraction of all answers
# The fraction at each percentage is of the answers with that percentage, not of all answers.
def curve(sure, right):
    return {
        level: (sure.count(level), sum(r for s, r in zip(sure, right, strict=True) if s == level) / len(sure))
        for level in sorted(set(sure))
    }


def brier(sure, right):
    return sum((s / 100 - r) ** 2 for s, r in zip(sure, right, strict=True)) / len(sure)


def overconfidence(sure, right):
    return sum(sure) / len(sure) - 100 * sum(right) / len(right)


# %% mutant="interview_calibration"
# A fraction instead of percentage points
# An overconfidence of 0.23 as a fraction is 23 percentage points. The confidence is given in percent, so the result
# is too.
def curve(sure, right):
    return {
        level: (sure.count(level), sum(r for s, r in zip(sure, right, strict=True) if s == level) / sure.count(level))
        for level in sorted(set(sure))
    }


def brier(sure, right):
    return sum((s / 100 - r) ** 2 for s, r in zip(sure, right, strict=True)) / len(sure)


def overconfidence(sure, right):
    return sum(s / 100 - r for s, r in zip(sure, right, strict=True)) / len(sure)


# %% [markdown] exercise="interview_counterexamples" kind="build" points=3
# ### Exercise 2 · Explain: "Is that always so?"
# The question that follows a good explanation asks for the exception. The following six sentences have all been heard
# in interviews, and all of them are too broad. Give a counterexample to each, in the form that its docstring
# describes.


# %% solution="interview_counterexamples"
def is_copied(x: torch.Tensor) -> torch.Tensor:
    """ "`reshape` returns a view." A tensor made from `x` that shares its memory, and whose `reshape(-1)` doesn't."""
    ### BEGIN SOLUTION
    return x.t()
    ### END SOLUTION


def is_not_recorded() -> str:
    """ "If the input requires grad, so does the result." The name of a method of a floating-point matrix that takes no
    arguments and returns a tensor that doesn't require grad. Methods whose purpose this is (`detach`) don't count."""
    ### BEGIN SOLUTION
    return "argmax"
    ### END SOLUTION


def is_not_moved(x: torch.Tensor) -> tuple:
    """ "`to` makes a copy." Arguments for `x.to(...)`, at least one, for which the result is `x` itself."""
    ### BEGIN SOLUTION
    return (x.dtype,)
    ### END SOLUTION


def learns_anyway(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """ "In eval mode there are no gradients." Put the model into eval mode, and return the gradient of the sum of its
    outputs for `x` with respect to its first parameter. The model may hold gradients of an earlier pass."""
    ### BEGIN SOLUTION
    model.eval()
    model.zero_grad()
    model(x).sum().backward()
    return next(iter(model.parameters())).grad
    ### END SOLUTION


def is_no_mean(losses: list[float]) -> list[list[float]]:
    """ "The mean of the batches' means is the mean loss." The losses (four, all different), in two batches, for which
    it isn't."""
    ### BEGIN SOLUTION
    return [losses[:1], losses[1:]]
    ### END SOLUTION


def is_not_n_numbers(n: int) -> tuple[int, ...]:
    """ "n predictions and n targets make n squared errors." The shape of n targets that give n² errors with n
    predictions of shape (n,)."""
    ### BEGIN SOLUTION
    return (n, 1)
    ### END SOLUTION


# %% check="interview_counterexamples"
generator = check.rng()
x = torch.tensor(generator.normal(size=(3, 4)).astype(np.float32))
views = [(each, is_copied(each)) for each in (x, torch.zeros(2, 5))]
wide = x.double()
matrix = x.clone().requires_grad_()
name = is_not_recorded()
single = torch.zeros(1)
model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.BatchNorm1d(3), nn.Linear(3, 1))
with torch.no_grad():
    for each in model.parameters():
        each.copy_(torch.tensor(generator.normal(size=tuple(each.shape)).astype(np.float32)))
model.eval()(x).square().sum().backward()  # gradients that were there before
model.train()
losses = generator.choice(50, size=4, replace=False).astype(float).tolist()
losses[0] += 100
batches = [check.intact(is_no_mean, losses) for _ in range(2)][-1]
n = int(generator.integers(3, 7))
squares = (torch.zeros(n) - torch.zeros(is_not_n_numbers(n))) ** 2
means = [float(np.mean(each)) for each in batches]


def shares(view, x):
    return view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


check.show(
    {
        "view: shares x's memory": [shares(view, given) for given, view in views],
        "view: its reshape shares x's memory": [shares(view.reshape(-1), given) for given, view in views],
        "not recorded: requires grad": getattr(matrix, is_not_recorded())().requires_grad,
        "not recorded: its purpose": name.startswith(("detach", "requires_grad", "data")),
        "to: the same tensor": x.to(*is_not_moved(x)) is x,
        "to: the same tensor, of float64": wide.to(*is_not_moved(wide)) is wide,
        "to: the same tensor, of one element": single.to(*is_not_moved(single)) is single,
        "to: at least one argument": len(is_not_moved(x)) > 0,
        "gradient in eval mode": check.intact(lambda x: learns_anyway(model, x), x),
        "gradient for one row that requires grad": learns_anyway(model, x[1:2].clone().requires_grad_()),
        "the model is in train mode": model.training,
        "batches: all losses": sorted(float(each) for batch in batches for each in batch),
        "batches: how many": len(batches),
        "batches: the means agree": bool(abs(np.mean(means) - np.mean(losses)) < 1e-6),
        "squares": int(squares.numel()),
        "squares, n = 1": int((torch.zeros(1) - torch.zeros(is_not_n_numbers(1))).numel()),
        "targets": int(np.prod(is_not_n_numbers(n))),
    },
    text="The results of your counterexamples.",
)

# %% [markdown] hint="interview_counterexamples"
# `reshape` copies where no strides describe the result (chapter 03). A result is recorded only if it can be
# differentiated (chapter 06), so which methods return integers?

# %% [markdown] hint="interview_counterexamples"
# `to` returns the tensor itself if it already has the dtype and the device. The mode determines what dropout and
# batch norm do, and nothing else. For batches of the same size, the mean of their means is correct.

# %% [markdown] hint="interview_counterexamples"
# Swap two strides without moving an element. Look for a method that returns a position or answers a yes-or-no question. Ask
# `to` for what `x` already is. Gradients add up, so clear the old ones. Make two batches of different sizes, and give the
# targets a second dimension, on the side where broadcasting doesn't add one.


# %% mutant="interview_counterexamples"
# A view that can be flattened
# Here a single stride visits all elements in order, so `reshape(-1)` is a view. It copies only where no such stride
# exists.
def is_copied(x):
    return x.view(4, 3)


def is_not_recorded():
    return "argmax"


def is_not_moved(x):
    return (x.device,)


def learns_anyway(model, x):
    return torch.autograd.grad(model.eval()(x).sum(), next(model.parameters()))[0]


def is_no_mean(losses):
    return [losses[:1], losses[1:]]


def is_not_n_numbers(n):
    return (n, 1)


# %% mutant="interview_counterexamples"
# A gradient in train mode
# The gradient has to be computed in eval mode, in which dropout does nothing and batch norm uses its running
# statistics.
def is_copied(x):
    return x.t()


def is_not_recorded():
    return "argmax"


def is_not_moved(x):
    return (x.device,)


def learns_anyway(model, x):
    torch.manual_seed(0)
    return torch.autograd.grad(model(x).sum(), next(model.parameters()))[0]


def is_no_mean(losses):
    return [losses[:1], losses[1:]]


def is_not_n_numbers(n):
    return (n, 1)


# %% mutant="interview_counterexamples"
# Batches of the same size
# With two losses in each batch, the mean of the means is the mean.
def is_copied(x):
    return x.t()


def is_not_recorded():
    return "argmax"


def is_not_moved(x):
    return (x.device,)


def learns_anyway(model, x):
    return torch.autograd.grad(model.eval()(x).sum(), next(model.parameters()))[0]


def is_no_mean(losses):
    return [losses[:2], losses[2:]]


def is_not_n_numbers(n):
    return (n, 1)


# %% mutant="interview_counterexamples"
# A row of targets
# (n,) and (1, n) broadcast to (1, n), which has n elements. A column gives n².
def is_copied(x):
    return x.t()


def is_not_recorded():
    return "argmax"


def is_not_moved(x):
    return (x.device,)


def learns_anyway(model, x):
    return torch.autograd.grad(model.eval()(x).sum(), next(model.parameters()))[0]


def is_no_mean(losses):
    return [losses[:1], losses[1:]]


def is_not_n_numbers(n):
    return (1, n)


# %% mutant="interview_counterexamples"
# Adds to an old gradient
# The model had a gradient before the call, and `backward` adds to it. Clear it first, or use `torch.autograd.grad`.
def is_copied(x):
    return x.t()


def is_not_recorded():
    return "argmax"


def is_not_moved(x):
    return (x.device,)


def learns_anyway(model, x):
    model.eval()
    model(x).sum().backward()
    return next(model.parameters()).grad


def is_no_mean(losses):
    return [losses[:1], losses[1:]]


def is_not_n_numbers(n):
    return (n, 1)


# %% [markdown] exercise="interview_predict_loop" kind="predict" points=3
# ### Exercise 3 · Predict: five traps in ten lines
# Take two minutes, on paper, without running the program:
#
# ```python
# w = torch.tensor(16.0, requires_grad=True)
# optimizer = torch.optim.SGD([w], lr=0.5)
# scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
# total, best = 0.0, None
# for epoch in range(2):
#     loss = w * w
#     loss.backward()
#     scheduler.step()
#     optimizer.step()
#     total += loss
#     best = {"w": w} if best is None else best
# ```
#
# What are `w`, `w.grad` and `best["w"]` at the end, as integers? What is `1 / lr` for the learning rate at the end?
# And does `total` require grad? Set `prediction` to `[w, w.grad, best["w"], 1 / lr, True or False]`.

# %% solution="interview_predict_loop"
### BEGIN SOLUTION
prediction = [2, 48, 2, 8, True]
### END SOLUTION

# %% check="interview_predict_loop"
names = ["w", "w.grad", 'best["w"]', "1 / lr", "total requires grad"]
*numbers, recorded = prediction
values = [*(int(each) for each in numbers), bool(recorded)]
check.show(dict(zip(names, values, strict=True)), secret=True)

# %% [markdown] hint="interview_predict_loop"
# Which call is missing from the loop? The scheduler runs before the optimizer, so at which learning rate is the first
# update made?

# %% [markdown] hint="interview_predict_loop"
# In the first step the gradient is 32 and the rate is 0.25, so `w` becomes 8. In the second step 16 is *added* to
# the 32.

# %% [markdown] hint="interview_predict_loop"
# The second step multiplies the sum of both gradients by 0.125. For the other two questions, think about whether a dict
# copies the tensors that it holds, and which type `0.0 + loss` has.

# %% mutant="interview_predict_loop"
# The gradient is cleared
# Nothing clears `.grad`, so the second `backward` adds 16 to the 32 that are already there.
prediction = [6, 16, 6, 8, True]

# %% mutant="interview_predict_loop"
# The scheduler comes last
# `scheduler.step()` comes before `optimizer.step()`, so the first step already uses half of the rate.
prediction = [0, 32, 0, 4, True]

# %% mutant="interview_predict_loop"
# The best weight is a copy
# The dict refers to the tensor itself, so whatever the optimizer writes into it shows under both names.
prediction = [2, 48, 8, 8, True]

# %% mutant="interview_predict_loop"
# The sum is a number
# `total` starts as a number, but a number plus a tensor is a tensor, which keeps the graphs of both steps alive.
prediction = [2, 48, 2, 8, False]

# %% [markdown] exercise="interview_linear" kind="build" points=3 replaces="minitorch.nn.modules.linear:Linear"
# ### Exercise 4 · Whiteboard: a linear layer
# You have fifteen minutes to write `Linear` and its initialization, without any layer or function of the library that
# would do it for you. Begin by stating the shapes: (…, in_features) comes in, and (…, out_features) goes out. The
# weight has shape (out_features, in_features), as in PyTorch, so that a state dict of one loads into the other.
# Weight and bias are uniform between $-1/\sqrt{\text{in\_features}}$ and $1/\sqrt{\text{in\_features}}$.


# %% solution="interview_linear"
class Linear(nn.Module):
    """y = x Wᵀ + b, for x with any number of leading dimensions; with `bias=False`, `self.bias` is None."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        bound = in_features**-0.5
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound)) if bias else None
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ### BEGIN SOLUTION
        y = x @ self.weight.t()
        return y if self.bias is None else y + self.bias
        ### END SOLUTION


# %% check="interview_linear"
generator = check.rng()
features, outputs = int(generator.integers(3, 6)), int(generator.integers(6, 9))
values = {"weight": generator.normal(size=(outputs, features)), "bias": generator.normal(size=outputs)}
state = {name: torch.tensor(each.astype(np.float32)) for name, each in values.items()}
x = torch.tensor(generator.normal(size=(2, 4, features)).astype(np.float32), requires_grad=True)
torch.manual_seed(check.seed())
with check.install(Linear, "minitorch.nn.modules.linear:Linear"):
    layer, plain, wide = Linear(features, outputs), Linear(features, outputs, bias=False), Linear(100, 400)
    names = {name: tuple(each.shape) for name, each in layer.state_dict().items()}
    lone = [name for name, _ in plain.named_parameters()]
    layer.load_state_dict(state)
    y = layer(x)
    (y * y).sum().backward()
    stack = nn.Sequential(layer, nn.ReLU())(x).sum()
    vector, turned = layer(x[1, 2]), layer(x.detach().transpose(0, 1))
    other, least = layer(x.detach() * 2), Linear(1, 1)
    alike = torch.equal(Linear(features, 2).weight, Linear(features, 2).weight)
    one = [tuple(least.weight.shape), tuple(least(torch.ones(1, 1)).shape)]
check.show(
    {
        "state dict": names,
        "parameters without bias": lone,
        "`bias` is None without a bias": plain.bias is None,
        "y": y,
        "gradient of x": x.grad,
        "gradient of the weight": layer.weight.grad,
        "gradient of the bias": layer.bias.grad,
        "in a Sequential": stack,
        "one row, of shape (in_features,)": vector,
        "a transposed input": turned,
        "another input of the same shape": other,
        "one input, one output: shapes of weight and result": one,
        "two layers begin with the same weight": alike,
        "without bias, of zeros": plain(torch.zeros(3, features)),
        "largest initial weight of 100 inputs": round(wide.weight.abs().max().item(), 3),
        "smallest initial weight of 100 inputs": round(wide.weight.min().item(), 3),
        "mean square of initial weights, × 300": round(300 * wide.weight.square().mean().item(), 1),
        "largest initial bias": round(wide.bias.abs().max().item(), 2),
        "smallest initial bias": round(wide.bias.min().item(), 2),
        "is a module with parameters": sum(each.numel() for each in layer.parameters()),
    },
    rtol=1e-4,
    atol=1e-4,
    text="A layer with given weights, and the initial weights of a layer with 100 inputs.",
)

# %% [markdown] hint="interview_linear"
# `nn.Parameter` makes a tensor that `parameters()` finds, and `empty(...).uniform_(low, high)` creates and fills a
# tensor.

# %% [markdown] hint="interview_linear"
# The weight has shape (out, in), so it has to be transposed before it can stand on the right of a matmul. For a layer without a bias,
# assign None to `self.bias`.

# %% [markdown] hint="interview_linear"
# Both parameters are drawn with the same bound, which depends on `in_features` alone. `@` leaves the leading dimensions of `x`
# as they are, also when there are none, and `forward` has two cases: with a bias to add and without.


# %% mutant="interview_linear"
# Delegates
# This is the library's own layer, which is locked while yours takes its place.
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        made = nn.Linear(in_features, out_features, bias=bias)
        self.weight, self.bias = made.weight, made.bias

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


# %% mutant="interview_linear"
# The weight is transposed
# The shape (in, out) saves a transpose, but then PyTorch's state dicts don't fit.
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        bound = in_features**-0.5
        self.weight = nn.Parameter(torch.empty(in_features, out_features).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound)) if bias else None

    def forward(self, x):
        y = x @ self.weight
        return y if self.bias is None else y + self.bias

    def load_state_dict(self, state, strict=True):
        with torch.no_grad():
            self.weight.copy_(state["weight"].t())
            self.bias.copy_(state["bias"])


# %% mutant="interview_linear"
# Normal initial weights
# Weight and bias should both be uniform between the two bounds. Normal weights reach about four times the bound, and
# a bias of zeros isn't uniform.
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features) * in_features**-0.5)
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x):
        y = x @ self.weight.t()
        return y if self.bias is None else y + self.bias


# %% mutant="interview_linear"
# Positive initial weights
# `rand` returns numbers from 0 to 1. The bounds are on both sides of 0, so that the outputs have mean 0.
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        bound = in_features**-0.5
        self.weight = nn.Parameter(torch.rand(out_features, in_features) * bound)
        self.bias = nn.Parameter(torch.rand(out_features) * bound) if bias else None

    def forward(self, x):
        y = x @ self.weight.t()
        return y if self.bias is None else y + self.bias


# %% mutant="interview_linear"
# The other width in the bound
# The bound depends on the number of inputs, because each output sums that many products.
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        bound = out_features**-0.5
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound)) if bias else None

    def forward(self, x):
        y = x @ self.weight.t()
        return y if self.bias is None else y + self.bias


# %% mutant="interview_linear"
# Always has a bias
# With `bias=False` there is no bias: it isn't among the parameters, and an input of zeros gives an output of zeros.
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        bound = in_features**-0.5
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound))

    def forward(self, x):
        return x @ self.weight.t() + self.bias


# %% [markdown] exercise="interview_repair_training" kind="repair" points=3
# ### Exercise 5 · Debug: four reports about one program
# `fit` trains a model and keeps its best weights. It raises no error, and the loss decreases, but four people
# reported:
#
# 1. "I evaluated the same model with batches of 32 and of 33, and got two different losses."
# 2. "`evaluate` changed my model: its running statistics are different afterwards."
# 3. "I loaded the best weights, but they have the loss of the last epoch."
# 4. "The rate should halve after each epoch. With 3 batches it is an eighth after the first one."
#
# Fix the program while thinking aloud: what could cause each report, and which line would you look at first?


# %% solution="interview_repair_training"
### BEGIN SOLUTION
def evaluate(model: nn.Module, batches: list) -> float:
    """The mean squared error over all rows and outputs; the model is unchanged except for its mode."""
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item() * len(x)
            count += len(x)
    return total / count


def fit(model: nn.Module, optimizer, scheduler, batches: list, held_out: list, epochs: int) -> tuple[dict, list[float]]:
    """The state dict of the best epoch, and the losses on held-out rows after each epoch."""
    best, history = {}, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = copy.deepcopy(model.state_dict())
    return best, history


### END SOLUTION
### BEGIN STUB
# def evaluate(model: nn.Module, batches: list) -> float:
#     """The mean squared error over all rows and outputs; the model is unchanged except for its mode."""
#     total = 0.0
#     with torch.no_grad():
#         for x, y in batches:
#             total += F.mse_loss(model(x), y).item()
#     return total / len(batches)
#
#
# def fit(model: nn.Module, optimizer, scheduler, batches: list, held_out: list, epochs: int) -> tuple[dict, list[float]]:
#     """The state dict of the best epoch, and the losses on held-out rows after each epoch."""
#     best, history = {}, []
#     for _ in range(epochs):
#         for x, y in batches:
#             optimizer.zero_grad()
#             F.mse_loss(model(x), y).backward()
#             optimizer.step()
#             scheduler.step()
#         history.append(evaluate(model, held_out))
#         if history[-1] == min(history):
#             best = model.state_dict()
#     return best, history
### END STUB

# %% check="interview_repair_training"
generator = check.rng()


def tensor(array):
    return torch.tensor(np.asarray(array, np.float32))


start = {name: generator.normal(size=size) for name, size in (("0.weight", (3, 3)), ("2.weight", (2, 3)))}
start |= {"0.bias": generator.normal(size=3), "2.bias": generator.normal(size=2)}
inputs, noise = generator.normal(size=(41, 3)), generator.normal(size=(41, 2))
truth = inputs.sum(1, keepdims=True) + 0.3 * noise
held = [(tensor(inputs[a:b]), tensor(truth[a:b] + (b == 41) * 5)) for a, b in ((24, 40), (40, 41))]
batches = [(tensor(inputs[a : a + 8]), tensor(truth[a : a + 8])) for a in (0, 8, 16)]


def made():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
    with torch.no_grad():
        for name, each in model.named_parameters():
            if name in start:
                each.copy_(tensor(start[name]))
    return model


def trained(epochs, lr, gamma=0.5):
    model = made()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=gamma)
    best, history = fit(model, optimizer, scheduler, batches, held, epochs)
    return model, best, history, optimizer.param_groups[0]["lr"]


model, best, history, rate = trained(3, 0.1)
best = {name: each.clone() for name, each in best.items()}
fresh = made()
before = fresh[1].running_mean.clone()
loss = evaluate(fresh, held)
_, early, _, _ = trained(2, 0.02, gamma=1000)  # the second epoch spoils the model
early = {name: each.clone() for name, each in early.items()}
single, row = nn.Linear(1, 1, bias=False), [(torch.ones(1, 1), torch.zeros(1, 1))]
with torch.no_grad():
    single.weight.fill_(float(generator.uniform(4, 8)))
optimizer = torch.optim.SGD(single.parameters(), lr=0.5)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: (0.5, -1.0, 0.25, 0.0)[min(epoch, 3)])
first, zigzag = fit(single, optimizer, scheduler, row, row, 3)  # halved, doubled, and a quarter less
first = {name: each.clone() for name, each in first.items()}
grown, kept, _, _ = trained(1, 0.1)
with torch.no_grad():
    for each in grown.parameters():
        each.fill_(7.0)
check.show(
    {
        "loss of a new model, batches of 16 and 1": loss,
        "its running mean has changed by": (fresh[1].running_mean - before).abs().max().item(),
        "held-out losses": history,
        "rate after three epochs": rate,
        "best weights": best,
        "best weights of a run whose second epoch is worse": early,
        "best weight of a run that gets better, worse and a little better": first,
        "its held-out losses": zigzag,
        "first best weights, after the model has changed": kept["0.bias"],
    },
    rtol=1e-3,
    atol=1e-4,
    text="The evaluation of a new model, and a model that was trained for three epochs.",
)

# %% [markdown] hint="interview_repair_training"
# Each report points to one line, and reports 1 and 2 are about `evaluate`: how much does a small last batch count
# there, and which mode is the model in?

# %% [markdown] hint="interview_repair_training"
# For report 3, does `state_dict()` copy anything? For report 4, in which loop is `scheduler.step()`?

# %% [markdown] hint="interview_repair_training"
# A batch's mean counts as often as the batch has rows. Switch the mode in two places: where the evaluation begins, and where an
# epoch of training begins. `copy.deepcopy` copies a dict together with its tensors, and a schedule counted in epochs steps once
# per epoch.


# %% mutant="interview_repair_training"
# Each batch counts the same
# A batch with one row counts as much as one with sixteen. Weight each mean by its rows.
def evaluate(model, batches):
    model.eval()
    with torch.no_grad():
        return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = copy.deepcopy(model.state_dict())
    return best, history


# %% mutant="interview_repair_training"
# Evaluates in train mode
# Batch norm uses the batch's statistics, and updates the running ones, until `model.eval()` is called.
def evaluate(model, batches):
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item() * len(x)
            count += len(x)
    return total / count


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = copy.deepcopy(model.state_dict())
    return best, history


# %% mutant="interview_repair_training"
# Stays in eval mode
# `evaluate` leaves the model in eval mode, so the next epoch trains in eval mode unless it calls `model.train()`.
def evaluate(model, batches):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item() * len(x)
            count += len(x)
    return total / count


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = copy.deepcopy(model.state_dict())
    return best, history


# %% mutant="interview_repair_training"
# Copies only the dict
# `dict(state)` is a new dict with the same tensors in it, and training writes into those.
def evaluate(model, batches):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item() * len(x)
            count += len(x)
    return total / count


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = dict(model.state_dict())
    return best, history


# %% mutant="interview_repair_training"
# Halves the rate before the epoch
# The first epoch already trains at half of its rate. The scheduler's step comes after the optimizer's steps.
def evaluate(model, batches):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item() * len(x)
            count += len(x)
    return total / count


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        model.train()
        scheduler.step()
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = copy.deepcopy(model.state_dict())
    return best, history


# %% mutant="interview_repair_training"
# A rate for each batch
# `StepLR(step_size=1)` halves the rate at each call, and here it is called once for each batch.
def evaluate(model, batches):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item() * len(x)
            count += len(x)
    return total / count


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = copy.deepcopy(model.state_dict())
    return best, history


# %% [markdown] exercise="interview_estimates" kind="build" points=3
# ### Exercise 6 · Estimate: four numbers, no calculator
# Write the formulas that you'd use on the back of an envelope. Memory is in bytes. In training, weights and gradients
# have 16 bits, while master weights and Adam's two moments have 32. `longest` is the largest number of tokens that a
# sequence may have if its key-value cache has to fit into memory together with the model's 16-bit weights.


# %% solution="interview_estimates"
def training_memory(parameters: int) -> int:
    """Bytes for weights, gradients, master weights and Adam's moments."""
    ### BEGIN SOLUTION
    return parameters * (2 + 2 + 4 + 4 + 4)
    ### END SOLUTION


def training_seconds(parameters: int, tokens: int, gpus: int, speed: float) -> float:
    """How long training takes, forward and backward pass together, if each GPU does `speed` operations per second."""
    ### BEGIN SOLUTION
    return 6 * parameters * tokens / (gpus * speed)
    ### END SOLUTION


def ring_bytes(parameters: int, gpus: int) -> float:
    """Bytes that each GPU sends when 16-bit gradients are averaged in a ring: a reduce-scatter, then an all-gather."""
    ### BEGIN SOLUTION
    return 2 * (gpus - 1) / gpus * 2 * parameters
    ### END SOLUTION


def longest(memory: int, parameters: int, layers: int, heads: int, width: int) -> int:
    """The largest number of tokens in a sequence; each layer has `heads` key-value heads of size `width`, in 16 bits."""
    ### BEGIN SOLUTION
    return (memory - 2 * parameters) // (2 * layers * heads * width * 2)
    ### END SOLUTION


# %% check="interview_estimates"
generator = check.rng()
parameters = int(generator.integers(1, 9)) * 10**9
tokens, gpus = int(generator.integers(20, 200)) * 10**9, int(generator.choice([4, 8, 16]))
layers, heads, width = (int(generator.choice(each)) for each in ((24, 32, 40), (4, 8), (64, 128)))
shape = {"layers": layers, "heads": heads, "width": width}
tokens_in_cache = longest(25 * 10**9 + 1, parameters, layers, heads, width)
per_token = 4 * layers * heads * width
check.show(
    {
        "parameters": parameters,
        "tokens": tokens,
        "GPUs": gpus,
        "shape": shape,
        "memory of training": int(training_memory(parameters)),
        "seconds of training": float(training_seconds(parameters, tokens, gpus, 4e14)),
        "bytes through the ring": float(ring_bytes(parameters, gpus)),
        "bytes of seven parameters through the ring": float(ring_bytes(7, gpus)),
        "bytes through the ring of one GPU": float(ring_bytes(parameters, 1)),
        "longest sequence in 25 · 10⁹ + 1 bytes": int(tokens_in_cache),
        "longest sequence, 4,000 tokens fit exactly": int(longest(2000 + 4000 * per_token, 1000, layers, heads, width)),
        "longest sequence, a byte is missing": int(longest(1999 + 4000 * per_token, 1000, layers, heads, width)),
        "of one parameter: memory, seconds, bytes through the ring": [
            int(training_memory(1)),
            float(training_seconds(1, 1, 1, 2.0)),
            float(ring_bytes(1, gpus)),
        ],
        "longest sequence of one layer, head and parameter": int(longest(4 * tokens + 2, 1, 1, 1, 1)),
        "and it is an integer": tokens_in_cache == int(tokens_in_cache),
    },
    text="The numbers that were drawn, and your estimates.",
)

# %% [markdown] hint="interview_estimates"
# Count the values that exist for each parameter, and the bytes of each. For each token, a parameter takes part in one
# multiplication and one addition in the forward pass, and in twice as many in the backward pass.

# %% [markdown] hint="interview_estimates"
# In a ring of n GPUs, the vector is cut into n pieces, and each half of the exchange takes n − 1 steps of one piece. Each token
# adds a key and a value in each layer and head.

# %% [markdown] hint="interview_estimates"
# Test each formula with 1: one parameter needs bytes for five values; one parameter and one token take three times the operations
# of the forward pass; a ring of one GPU sends nothing; and one token of a model with one layer, one head and width 1 stores two
# values of 2 bytes. Subtract the weights before you divide the memory.


# %% mutant="interview_estimates"
# No master weights
# Twelve bytes are weights, gradients and moments. Mixed precision also keeps a float32 copy of the weights.
def training_memory(parameters):
    return parameters * 12


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * (gpus - 1) / gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (2 * layers * heads * width * 2)


# %% mutant="interview_estimates"
# Counts the forward pass only
# Two operations for each parameter and token are the forward pass, and the backward pass takes four more.
def training_memory(parameters):
    return parameters * 16


def training_seconds(parameters, tokens, gpus, speed):
    return 2 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * (gpus - 1) / gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (2 * layers * heads * width * 2)


# %% mutant="interview_estimates"
# Each GPU sends to all others
# In a ring each GPU sends nearly twice its gradients, however many GPUs there are, while a single GPU sends nothing.
def training_memory(parameters):
    return parameters * 16


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (2 * layers * heads * width * 2)


# %% mutant="interview_estimates"
# Keys without values
# The cache keeps keys and values, so it is twice as large, and the sequence is half as long.
def training_memory(parameters):
    return parameters * 16


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * (gpus - 1) / gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (layers * heads * width * 2)


# %% mutant="interview_estimates"
# The whole gradient, twice
# A GPU keeps one piece of each vector, so it sends n − 1 of n pieces in each half, and nothing if it is alone.
def training_memory(parameters):
    return parameters * 16


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (2 * layers * heads * width * 2)


# %% mutant="interview_estimates"
# Forgets the model's weights
# The weights are in the same memory, two bytes each, and the cache gets the memory that remains.
def training_memory(parameters):
    return parameters * 16


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * (gpus - 1) / gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return memory // (2 * layers * heads * width * 2)


# %% [markdown] exercise="interview_debug_decoder" kind="debug" points=5
# ### Exercise 7 · Debug with tests: a decoder and its training
# This is how labs ask it in 2026: you get a script with five faults, and write a test for each of them. Nothing raises an error,
# the loss decreases, and these are the reports:
#
# 1. "The training loss drops to almost 0 within minutes, but the model writes garbage."
# 2. "With short rows in the batch, the loss is low and the model writes padding."
# 3. "The first step changes nothing, and each step of the warm-up lags behind the plan."
# 4. "A gradient with one huge tensor turns the step into another direction."
# 5. "If the prompt is long, the model continues its beginning instead of its end."
#
# Fix the script, and write `tests(program)`, which raises an error or returns a falsy value if a program is faulty. It
# gets the functions of a program as attributes, such as `program.logits(weights, ids)`, and may pass them numbers, arrays,
# lists and dicts. Your tests have to accept your own program. The grade also runs them on correct scripts that are written
# differently, which they must accept, and on scripts with a single fault, which is one of these five or another that teams
# have met. Each faulty script that your tests refuse earns its share of the points. Your tests may check whatever the
# docstrings promise.


# %% solution="interview_debug_decoder"
def forward(p, ids, start=0):
    """The logits (B, T, V), a tensor, of a decoder with two layers and two heads.

    `ids` (B, T) occupy the positions from `start` on, and the logits at t depend on the tokens up to t. `p` holds the tensors
    "tokens" (V, C) and "positions" (longest, C), and for each layer n "n.q", "n.k", "n.v", "n.out" (C, C), "n.up" (C, F) and
    "n.down" (F, C).
    """
    length, width = ids.shape[1], p["tokens"].shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    visible = torch.ones(length, length, dtype=torch.bool).tril()
    for layer in range(2):
        y = F.layer_norm(x, (width,))
        q, k, v = ((y @ p[f"{layer}.{name}"]).unflatten(-1, (2, -1)).transpose(1, 2) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~visible, -float("inf"))
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)
        x = x + mixed @ p[f"{layer}.out"]
        x = x + F.gelu(F.layer_norm(x, (width,)) @ p[f"{layer}.up"]) @ p[f"{layer}.down"]
    return F.layer_norm(x, (width,)) @ p["tokens"].T


def logits(weights, ids, start=0):
    """The logits of `forward` as an array; `weights` are arrays."""
    with torch.no_grad():
        return forward({name: torch.tensor(each) for name, each in weights.items()}, torch.tensor(ids), start).numpy()


def loss_and_gradients(weights, ids, pad):
    """The mean negative log-likelihood of the tokens after the first of each row, and its gradients by name.

    Padding, which is on the right, doesn't count.
    """
    p = {name: torch.tensor(each, requires_grad=True) for name, each in weights.items()}
    ids = torch.tensor(ids)
    out, targets = forward(p, ids[:, :-1]), ids[:, 1:]
    loss = F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)
    loss.backward()
    return loss.item(), {name: each.grad.numpy() for name, each in p.items()}


def rate(step, warmup, total, peak):
    """The learning rate of step 0, 1, …

    It rises linearly to `peak` at step `warmup` − 1, then follows half a cosine from `peak` at step `warmup` to 0 at `total`.
    """
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * (1 + np.cos(np.pi * (step - warmup) / (total - warmup))) / 2


def clipped(gradients, most):
    """The gradients, scaled by one factor so that their common norm is at most `most`; gradients below it stay."""
    norm = sum((each**2).sum() for each in gradients.values()) ** 0.5
    factor = min(1.0, most / max(norm, 1e-12))
    return {name: each * factor for name, each in gradients.items()}


def update(weights, gradients, state, lr, decay=0.1):
    """A step of AdamW (β 0.9 and 0.99, ε 1e-8) in place, with decoupled decay.

    `state` is empty before the first step.
    """
    step = state["step"] = state.get("step", 0) + 1
    for name, grad in gradients.items():
        first, second = state.get(name, (0.0, 0.0))
        first = 0.9 * first + 0.1 * grad
        second = 0.99 * second + 0.01 * grad**2
        state[name] = first, second
        weights[name] *= 1 - lr * decay
        weights[name] -= lr * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)


def train(weights, batches, pad, warmup, peak):
    """A step for each batch, in place, with gradients clipped to 1; the losses before each step."""
    state, losses = {}, []
    for step, ids in enumerate(batches):
        loss, gradients = loss_and_gradients(weights, ids, pad)
        update(weights, clipped(gradients, 1.0), state, rate(step, warmup, len(batches), peak))
        losses.append(loss)
    return losses


def generate(weights, prompt, count):
    """The `count` most likely tokens after the prompt, one after the other.

    The model sees the last tokens of the text, as many as it has positions. The prompt stays as it is.
    """
    tokens, longest = list(prompt), len(weights["positions"])
    for _ in range(count):
        recent = tokens[-longest:]
        tokens.append(int(logits(weights, np.array([recent]))[0, -1].argmax()))
    return tokens[len(prompt) :]


def tests(program) -> None:
    """Raise an AssertionError unless a program does what its docstrings say."""
    ### BEGIN SOLUTION
    generator = np.random.default_rng(0)
    V, C, longest, pad = 7, 4, 6, 0
    sizes = {"tokens": (V, C), "positions": (longest, C)}
    for layer in "01":
        sizes |= {f"{layer}.{name}": (C, C) for name in ("q", "k", "v", "out")}
        sizes |= {f"{layer}.up": (C, 6), f"{layer}.down": (6, C)}
    weights = {name: generator.normal(size=size) for name, size in sizes.items()}

    def normed(x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def expected(ids, start=0):  # one row, by loops over heads and tokens
        x = weights["tokens"][ids] + weights["positions"][start : start + len(ids)]
        for layer in "01":
            q, k, v = (normed(x) @ weights[f"{layer}.{name}"] for name in "qkv")
            mixed = np.zeros_like(x)
            for part in (slice(0, 2), slice(2, 4)):
                for t in range(len(ids)):
                    scores = np.exp(k[: t + 1, part] @ q[t, part] / np.sqrt(2))
                    mixed[t, part] = scores @ v[: t + 1, part] / scores.sum()
            x = x + mixed @ weights[f"{layer}.out"]
            up = normed(x) @ weights[f"{layer}.up"]
            x = x + np.array(F.gelu(torch.tensor(up)).tolist()) @ weights[f"{layer}.down"]
        return normed(x) @ weights["tokens"].T

    ids = generator.integers(1, V, size=(3, 5))
    assert np.allclose(program.logits(weights, ids), [expected(row) for row in ids], atol=1e-4)
    assert np.allclose(program.logits(weights, ids[:1, :3], 2), [expected(ids[0, :3], 2)], atol=1e-4)

    padded = ids.copy()
    padded[0, 3:], padded[1, 4:] = pad, pad
    loss, gradients = program.loss_and_gradients(weights, padded, pad)
    costs = []
    for row in padded:
        out = expected(row[:-1])
        out = out - np.log(np.exp(out).sum(-1, keepdims=True))
        costs += [-out[t, token] for t, token in enumerate(row[1:]) if token != pad]
    assert np.isclose(loss, np.mean(costs), atol=1e-4)
    near = {**weights, "0.q": weights["0.q"] + 1e-4 * gradients["0.q"]}
    change = program.loss_and_gradients(near, padded, pad)[0] - loss
    assert np.isclose(change, 1e-4 * (gradients["0.q"] ** 2).sum(), rtol=0.05)

    rates = [program.rate(step, 4, 12, 0.5) for step in range(13)]
    assert np.allclose(rates[:4], [0.125, 0.25, 0.375, 0.5])
    assert np.allclose(rates[4:], [0.25 * (1 + np.cos(np.pi * step / 8)) for step in range(9)])

    long = {"a": np.array([3.0, 0.0]), "b": np.array([[0.0, 4.0]])}
    cut = program.clipped(long, 2.0)
    assert np.allclose(cut["a"], [1.2, 0.0]) and np.allclose(cut["b"], [[0.0, 1.6]])
    assert np.allclose(program.clipped(long, 9.0)["b"], [[0.0, 4.0]])

    moved, state, first, second = {"w": np.array([1.0, -2.0])}, {}, 0.0, 0.0
    want = moved["w"].copy()
    for step, grad in enumerate((np.array([0.5, -3.0]), np.array([-1.0, 2.0]), np.array([0.1, 0.1])), 1):
        program.update(moved, {"w": grad}, state, 0.1)
        first, second = 0.9 * first + 0.1 * grad, 0.99 * second + 0.01 * grad**2
        want = want * 0.99 - 0.1 * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        assert np.allclose(moved["w"], want)

    one, other, state = ({name: each.copy() for name, each in weights.items()} for _ in range(3))
    batches, state, losses = [ids, padded, ids[::-1].copy()], {}, []
    for step, batch in enumerate(batches):
        value, gradients = program.loss_and_gradients(other, batch, pad)
        norm = sum((each**2).sum() for each in gradients.values()) ** 0.5
        gradients = {name: each * min(1.0, 1.0 / norm) for name, each in gradients.items()}
        program.update(other, gradients, state, program.rate(step, 2, 3, 0.1))
        losses.append(value)
    assert np.allclose(program.train(one, batches, pad, 2, 0.1), losses, atol=1e-4)
    assert all(np.allclose(one[name], other[name], atol=1e-4) for name in one)

    prompt = generator.integers(1, V, size=9).tolist()
    text = list(prompt)
    for _ in range(4):
        text.append(int(expected(np.array(text[-longest:]))[-1].argmax()))
    assert program.generate(weights, prompt, 4) == text[9:] and len(prompt) == 9
    ### END SOLUTION


# %% variant="interview_debug_decoder" wrong="the mask lets each token see the next one" shown=true
# `tril(1)` keeps one diagonal too many, so each token sees the one that it should predict.
# - visible = torch.ones(length, length, dtype=torch.bool).tril()
# + visible = torch.ones(length, length, dtype=torch.bool).tril(1)

# %% variant="interview_debug_decoder" wrong="padding is trained" shown=true
# Padding isn't text. Where it counts, short rows train the model to write padding.
# - loss = F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)
# + loss = F.cross_entropy(out.flatten(0, 1), targets.flatten())

# %% variant="interview_debug_decoder" wrong="the warm-up begins at a rate of 0" shown=true
# Steps are counted from 0, so the first of `warmup` equal parts belongs to step 0.
# - return peak * (step + 1) / warmup
# + return peak * step / warmup

# %% variant="interview_debug_decoder" wrong="each gradient is clipped by its own norm" shown=true
# A common factor keeps the direction of the step. Clipped one by one, large tensors shrink against small ones.
# - norm = sum((each**2).sum() for each in gradients.values()) ** 0.5
# - factor = min(1.0, most / max(norm, 1e-12))
# - return {name: each * factor for name, each in gradients.items()}
# + norms = {name: (each**2).sum() ** 0.5 for name, each in gradients.items()}
# + return {name: each * min(1.0, most / max(norms[name], 1e-12)) for name, each in gradients.items()}

# %% variant="interview_debug_decoder" wrong="the model sees the first tokens of a long text" shown=true
# The window belongs to the end of the text: `tokens[-longest:]`.
# - recent = tokens[-longest:]
# + recent = tokens[:longest]

# %% variant="interview_debug_decoder" right="attention by einsum, and a mask that is added"
# - scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
# + scores = torch.einsum("bhtd,bhsd->bhts", q / q.shape[-1] ** 0.5, k)
# - scores = scores.masked_fill(~visible, -float("inf"))
# + scores = scores + torch.zeros(length, length).masked_fill(~visible, -float("inf"))

# %% variant="interview_debug_decoder" right="the loss from log-probabilities, and the norm of one long vector"
# - loss = F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)
# + costs = -out.log_softmax(-1).gather(-1, targets[..., None])[..., 0]
# + loss = (costs * (targets != pad)).sum() / (targets != pad).sum()
# - norm = sum((each**2).sum() for each in gradients.values()) ** 0.5
# + norm = float(np.linalg.norm(np.concatenate([each.ravel() for each in gradients.values()])))

# %% variant="interview_debug_decoder" right="AdamW with the corrections in the rate"
# - weights[name] -= lr * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
# + root = (1 - 0.99**step) ** 0.5
# + weights[name] -= lr * root / (1 - 0.9**step) * first / (np.sqrt(second) + 1e-8 * root)

# %% variant="interview_debug_decoder" wrong="positions begin at 0, whatever `start` is"
# A piece of text that starts at `start` has its positions from there on.
# - x = p["tokens"][ids] + p["positions"][start : start + length]
# + x = p["tokens"][ids] + p["positions"][:length]

# %% variant="interview_debug_decoder" wrong="scaled by the width of the model"
# The scale is the width of a head.
# - scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
# + scores = q @ k.transpose(-2, -1) / width**0.5

# %% variant="interview_debug_decoder" wrong="heads and tokens are mixed up when the heads are joined"
# Heads are joined token by token.
# - mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)
# + mixed = (scores.softmax(-1) @ v).reshape(*ids.shape, width)

# %% variant="interview_debug_decoder" wrong="the labels aren't shifted"
# Logits at t predict the token at t + 1.
# - out, targets = forward(p, ids[:, :-1]), ids[:, 1:]
# + out, targets = forward(p, ids[:, :-1]), ids[:, :-1]

# %% variant="interview_debug_decoder" wrong="padding counts in the mean"
# The mean runs over real tokens.
# - loss = F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)
# + loss = F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad, reduction="sum") / targets.numel()

# %% variant="interview_debug_decoder" wrong="the second moment isn't corrected"
# Both moments start at 0.
# - weights[name] -= lr * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
# + weights[name] -= lr * (first / (1 - 0.9**step)) / (np.sqrt(second) + 1e-8)

# %% variant="interview_debug_decoder" wrong="the decay goes through the moments"
# Decoupled decay shrinks the weights, and stays out of the gradients.
# - first, second = state.get(name, (0.0, 0.0))
# + first, second = state.get(name, (0.0, 0.0))
# + grad = grad + decay * weights[name]
# - weights[name] *= 1 - lr * decay

# %% variant="interview_debug_decoder" wrong="gradients are added up over the steps"
# Each step has its own gradients.
# - state, losses = {}, []
# + state, losses, before = {}, [], {}
# - update(weights, clipped(gradients, 1.0), state, rate(step, warmup, len(batches), peak))
# + before = {name: each + before.get(name, 0.0) for name, each in gradients.items()}
# + update(weights, clipped(before, 1.0), state, rate(step, warmup, len(batches), peak))

# %% variant="interview_debug_decoder" wrong="training doesn't clip"
# The gradients are clipped to a norm of 1.
# - update(weights, clipped(gradients, 1.0), state, rate(step, warmup, len(batches), peak))
# + update(weights, gradients, state, rate(step, warmup, len(batches), peak))

# %% variant="interview_debug_decoder" wrong="the written tokens are put into the prompt"
# The caller's list stays as it is.
# - tokens, longest = list(prompt), len(weights["positions"])
# + tokens, longest, before = prompt, len(weights["positions"]), len(prompt)
# - return tokens[len(prompt) :]
# + return tokens[before:]

# %% check="interview_debug_decoder"
generator = check.rng()
V, C, hidden, longest = 9, 6, 8, 7
sizes = {"tokens": (V, C), "positions": (longest, C)}
for layer in "01":
    sizes |= {f"{layer}.{name}": (C, C) for name in ("q", "k", "v", "out")}
    sizes |= {f"{layer}.up": (C, hidden), f"{layer}.down": (hidden, C)}
weights = {name: generator.normal(size=size) for name, size in sizes.items()}
pad = int(generator.integers(V))
others = [each for each in range(V) if each != pad]
batches = [generator.choice(others, (3, 6)) for _ in range(4)]
for row in range(3):
    batches[row + 1][row, 3:] = pad
loss, gradients = loss_and_gradients(weights, batches[1], pad)
moved, state = {"w": generator.normal(size=3)}, {}
for _ in range(3):
    update(moved, {"w": generator.normal(size=3)}, state, 0.1)
trained = {name: each.copy() for name, each in weights.items()}
losses = train(trained, batches, pad, 2, 0.05)
prompt = generator.choice(others, 12).tolist()
shown_by_yours = {
    "logits": logits(weights, batches[0]),
    "logits from position 2 on": logits(weights, batches[0][:, :4], 2),
    "one of the layers": forward({n: torch.tensor(w) for n, w in weights.items()}, torch.tensor(batches[0]))[0, 0],
    "loss with padding": loss,
    "its gradients": [gradients["0.q"], gradients["positions"]],
    "rates": [rate(step, 3, 10, 0.2) for step in range(11)],
    "clipped": [clipped({"a": each, "b": 9 * each[:1]}, 2.0) for each in generator.normal(size=(2, 2))],
    "three updates": moved["w"],
    "losses of a training": losses,
    "weights after it": [trained["1.v"], trained["tokens"]],
    "written": generate(weights, prompt, 5),
}
names = "forward logits loss_and_gradients rate clipped update train generate"
own = {name: globals()[name] for name in names.split()}
check.show(
    {**shown_by_yours, **check.verify(tests, shown, check.rng(), own)},
    rtol=1e-3,
    atol=1e-4,
    each="refused",
    text="What your program does, and which programs your tests accept.",
)

# %% [markdown] hint="interview_debug_decoder"
# Take the reports one by one, and write the test before you look for the line: which two numbers should be equal and aren't?
# For report 1, change the last token of a row: which logits may move?

# %% [markdown] hint="interview_debug_decoder"
# The reports lead to the mask, the targets of the loss, the first rate, the norm, and the slice of the text in `generate`. For
# the other faults of the grade, read the docstrings: positions, scale, heads, labels, the mean, both corrections, decay, clipping.

# %% [markdown] hint="interview_debug_decoder"
# The strongest tests compare with a slow version: attention by a loop over heads and tokens, the loss by a loop over real
# tokens, AdamW for one weight by hand over three steps, `train` against its own parts, and `generate` with a prompt that is
# longer than `positions`.


# %% mutant="interview_debug_decoder"
# Tests that something happens
# The faulty script has a falling loss and finite logits as well. Each test needs a number that a fault changes.
def tests(program):
    generator = np.random.default_rng(0)
    assert program.rate(3, 4, 8, 1.0) > 0
    assert program.clipped({"a": generator.normal(size=2)}, 1.0)["a"].shape == (2,)


# %% mutant="interview_debug_decoder"
# Demands what no docstring says
# These tests want a rate of 0 at step 0, which is the fault of report 3, so they refuse correct programs.
def tests(program):
    assert program.rate(0, 4, 8, 1.0) == 0.0


# %% [markdown] exercise="interview_debug_sampler" kind="debug" points=4
# ### Exercise 8 · Debug with tests: a sampler that writes badly
# This is the same round about inference, in NumPy. The script reads a prompt into a cache, decodes from it, and draws tokens.
# These are the reports:
#
# 1. "The first token is fine. From the second on the text differs from what the model says without a cache."
# 2. "With p = 0.9 and one token at 0.8, the sampler behaves as if it were greedy."
# 3. "With a repetition penalty, unlikely tokens that were written already become likelier."
# 4. "With speculative decoding, the distribution of the texts isn't the target model's, however many samples I draw."
# 5. "At a temperature of 0.5 the texts are wilder than at 1."
#
# Fix the script and write `tests(program)` by the rules of the previous exercise: your tests must accept your program and correct
# scripts in other forms, and each script with a single fault that they refuse earns its share of the points. They may check
# whatever the docstrings promise.


# %% solution="interview_debug_sampler"
def softmax(scores):
    """The softmax over the last axis; scores may be large, and −∞ where others aren't."""
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def prefill(weights, prompt):
    """The logits (V,) after a prompt, and its cache: a dict with "keys" and "values", both (T, D).

    `weights` has "tokens" (V, C), "positions" (longest, C), "q", "k", "v" (C, D) and "out" (D, V). The output at the last
    token is softmax(q·Kᵀ/√D)·V @ out.
    """
    x = weights["tokens"][prompt] + weights["positions"][: len(prompt)]
    cache = {"keys": x @ weights["k"], "values": x @ weights["v"]}
    return attend(weights, cache, x[-1]), cache


def attend(weights, cache, x):
    """The logits (V,) of a token with the vector x (C,), whose key and value are in the cache already."""
    scores = cache["keys"] @ (x @ weights["q"])
    scores = scores / np.sqrt(weights["q"].shape[1])
    return softmax(scores) @ cache["values"] @ weights["out"]


def decode(weights, cache, token):
    """The logits (V,) after one more token, which is added to the cache in place."""
    x = weights["tokens"][token] + weights["positions"][len(cache["keys"])]
    cache["keys"] = np.concatenate([cache["keys"], [x @ weights["k"]]])
    cache["values"] = np.concatenate([cache["values"], [x @ weights["v"]]])
    return attend(weights, cache, x)


def penalized(logits, written, penalty):
    """The logits (V,) with those of written tokens made less likely, each once: divided by `penalty` ≥ 1, or multiplied if negative."""
    logits = logits.copy()
    for token in set(written):
        logits[token] = logits[token] / penalty if logits[token] > 0 else logits[token] * penalty
    return logits


def nucleus(logits, temperature, p):
    """The probabilities (V,) at a temperature > 0, cut to the smallest set of the most likely tokens that reaches p.

    They add up to 1. The first token is always in the set.
    """
    probabilities = softmax(logits / temperature)
    order = np.argsort(-probabilities)
    before = np.cumsum(probabilities[order]) - probabilities[order]
    kept = np.zeros_like(probabilities)
    kept[order] = np.where(before < p, probabilities[order], 0.0)
    return kept / kept.sum()


def draw(probabilities, u):
    """The first token whose cumulative probability exceeds u, 0 ≤ u < 1."""
    return int(np.searchsorted(np.cumsum(probabilities), u, side="right"))


def speculate(target, draft, token, u, again):
    """The token to write for a draft's `token`, so that tokens are distributed as the target.

    `target` and `draft` are probabilities (V,). The token is accepted if u < target/draft; otherwise one is drawn, with
    `again`, from what the target has more than the draft.
    """
    if u * draft[token] < target[token]:
        return token
    rest = np.maximum(target - draft, 0.0)
    return draw(rest / rest.sum(), again)


def generate(weights, prompt, uniforms, temperature, p, penalty, stop):
    """A token for each of some uniform numbers, up to the first `stop`, which isn't returned.

    The penalty concerns what was written, not the prompt.
    """
    written = []
    logits, cache = prefill(weights, prompt)
    for u in uniforms:
        token = draw(nucleus(penalized(logits, written, penalty), temperature, p), u)
        if token == stop:
            break
        written.append(token)
        logits = decode(weights, cache, token)
    return written


def tests(program) -> None:
    """Raise an AssertionError unless a program does what its docstrings say."""
    ### BEGIN SOLUTION
    generator = np.random.default_rng(0)
    V, C, D = 6, 5, 4
    sizes = {"tokens": (V, C), "positions": (12, C), "q": (C, D), "k": (C, D), "v": (C, D), "out": (D, V)}
    weights = {name: generator.normal(size=size) for name, size in sizes.items()}
    weights["q"] *= 3.0

    def plain(tokens):  # the logits after some tokens, without a cache
        x = weights["tokens"][tokens] + weights["positions"][: len(tokens)]
        scores = np.exp((x @ weights["k"]) @ (x[-1] @ weights["q"]) / 2.0)
        return scores / scores.sum() @ (x @ weights["v"]) @ weights["out"]

    assert np.allclose(program.softmax(np.array([[1000.0, 1000.0], [0.0, -np.inf]])), [[0.5, 0.5], [1.0, 0.0]])
    tokens = [1, 4, 2]
    logits, cache = program.prefill(weights, tokens)
    assert np.allclose(logits, plain(tokens))
    for token in (5, 0, 5):
        tokens = [*tokens, token]
        assert np.allclose(program.decode(weights, cache, token), plain(tokens))
    assert cache["keys"].shape == cache["values"].shape == (6, D)

    before = np.array([2.0, -2.0, 0.0, 3.0])
    assert np.allclose(program.penalized(before, [0, 1, 1, 0], 2.0), [1.0, -4.0, 0.0, 3.0])
    assert before.tolist() == [2.0, -2.0, 0.0, 3.0]

    some = np.log(np.array([0.1, 0.5, 0.15, 0.25]))
    assert np.allclose(program.nucleus(some, 1.0, 0.6), [0.0, 2 / 3, 0.0, 1 / 3])
    assert np.allclose(program.nucleus(some, 1.0, 0.4), [0.0, 1.0, 0.0, 0.0])
    assert np.allclose(program.nucleus(some, 1.0, 1.0), [0.1, 0.5, 0.15, 0.25])
    squares = np.array([0.01, 0.25, 0.0225, 0.0625])
    assert np.allclose(program.nucleus(some, 0.5, 1.0), squares / squares.sum())
    assert np.allclose(program.nucleus(some, 0.5, 0.8), np.array([0, 0.25, 0, 0.0625]) / 0.3125)  # temperature first

    assert [program.draw(np.array([0.25, 0.0, 0.5, 0.25]), u) for u in (0.0, 0.2, 0.25, 0.74, 0.75, 0.99)] == [
        0,
        0,
        2,
        2,
        3,
        3,
    ]

    target, draft = np.array([0.1, 0.2, 0.5, 0.2]), np.array([0.4, 0.2, 0.1, 0.3])
    found = np.zeros(4)
    for token in range(4):
        for u in (np.arange(40) + 0.5) / 40:
            for again in (np.arange(20) + 0.5) / 20:
                found[program.speculate(target, draft, token, u, again)] += draft[token] / 800
    assert np.allclose(found, target, atol=0.02)

    uniforms = generator.uniform(size=7).tolist()
    for penalty, stop in ((1.0, -1), (3.0, -1), (1.5, 2), (3.0, 0), (1.0, 5)):
        written = []
        for u in uniforms:
            logits = program.penalized(plain([3, 3, *written]), written, penalty)
            token = program.draw(program.nucleus(logits, 1.5, 0.9), u)
            if token == stop:
                break
            written.append(token)
        assert program.generate(weights, [3, 3], uniforms, 1.5, 0.9, penalty, stop) == written
    ### END SOLUTION


# %% variant="interview_debug_sampler" wrong="new tokens stand at the last token's position" shown=true
# The cache holds T tokens at the positions 0 to T − 1, so the next one stands at T.
# - x = weights["tokens"][token] + weights["positions"][len(cache["keys"])]
# + x = weights["tokens"][token] + weights["positions"][len(cache["keys"]) - 1]

# %% variant="interview_debug_sampler" wrong="the token that reaches p is cut" shown=true
# The set has to reach p, so the token with which it does belongs to it. What counts is the sum before a token.
# - before = np.cumsum(probabilities[order]) - probabilities[order]
# + before = np.cumsum(probabilities[order])
# - kept[order] = np.where(before < p, probabilities[order], 0.0)
# + kept[order] = np.where((before < p) | (np.arange(len(order)) == 0), probabilities[order], 0.0)

# %% variant="interview_debug_sampler" wrong="negative logits are divided by the penalty" shown=true
# Divided by more than 1, a negative logit rises. It has to be multiplied.
# - logits[token] = logits[token] / penalty if logits[token] > 0 else logits[token] * penalty
# + logits[token] = logits[token] / penalty

# %% variant="interview_debug_sampler" wrong="a refused draft is replaced by a draw from the target" shown=true
# What the draft offers often enough has been accepted already. The rest is what the target has more.
# - rest = np.maximum(target - draft, 0.0)
# + rest = target

# %% variant="interview_debug_sampler" wrong="the logits are multiplied by the temperature" shown=true
# A low temperature sharpens: the logits are divided by it.
# - probabilities = softmax(logits / temperature)
# + probabilities = softmax(logits * temperature)

# %% variant="interview_debug_sampler" right="a loop in nucleus, and a draw by a loop"
# - before = np.cumsum(probabilities[order]) - probabilities[order]
# + total = 0.0
# - kept[order] = np.where(before < p, probabilities[order], 0.0)
# + for token in order:
# +     if total >= p:
# +         break
# +     kept[token] = probabilities[token]
# +     total += probabilities[token]
# - return int(np.searchsorted(np.cumsum(probabilities), u, side="right"))
# + total = np.cumsum(probabilities)
# + return next(token for token in range(len(total)) if total[token] > u)

# %% variant="interview_debug_sampler" right="scaled queries, and a penalty without a loop"
# - scores = cache["keys"] @ (x @ weights["q"])
# + scores = cache["keys"] @ (x @ weights["q"] * weights["q"].shape[1] ** -0.5)
# - scores = scores / np.sqrt(weights["q"].shape[1])
# - logits = logits.copy()
# + repeated = np.isin(np.arange(len(logits)), list(written))
# - for token in set(written):
# + return np.where(repeated, np.where(logits > 0, logits / penalty, logits * penalty), logits)
# - logits[token] = logits[token] / penalty if logits[token] > 0 else logits[token] * penalty
# - return logits

# %% variant="interview_debug_sampler" right="accepts by a quotient, clipped at 1"
# - if u * draft[token] < target[token]:
# + if u < min(1.0, target[token] / draft[token]):
# - rest = np.maximum(target - draft, 0.0)
# + rest = (target - draft).clip(0.0)

# %% variant="interview_debug_sampler" wrong="the softmax overflows"
# The largest score has to be subtracted first.
# - weights = np.exp(scores - scores.max(-1, keepdims=True))
# + weights = np.exp(scores)

# %% variant="interview_debug_sampler" wrong="no scale"
# Scores are divided by the root of the width.
# - scores = scores / np.sqrt(weights["q"].shape[1])

# %% variant="interview_debug_sampler" wrong="the new value isn't kept"
# Keys and values belong together.
# - cache["values"] = np.concatenate([cache["values"], [x @ weights["v"]]])
# + cache["values"] = np.concatenate([cache["values"], cache["values"][-1:]])

# %% variant="interview_debug_sampler" wrong="a token is penalized as often as it was written"
# Each once.
# - for token in set(written):
# + for token in written:

# %% variant="interview_debug_sampler" wrong="the penalty changes the caller's logits"
# The logits that were given stay.
# - logits = logits.copy()
# + logits = np.asarray(logits)

# %% variant="interview_debug_sampler" wrong="the cut comes before the temperature"
# The set is chosen at the temperature.
# - order = np.argsort(-probabilities)
# + order = np.argsort(-probabilities)
# + plain = softmax(logits)
# - before = np.cumsum(probabilities[order]) - probabilities[order]
# + before = np.cumsum(plain[order]) - plain[order]

# %% variant="interview_debug_sampler" wrong="what is kept isn't normalized"
# The probabilities add up to 1.
# - return kept / kept.sum()
# + return kept

# %% variant="interview_debug_sampler" wrong="a draw may give a token of probability 0"
# At the border, the next token with a probability is meant.
# - return int(np.searchsorted(np.cumsum(probabilities), u, side="right"))
# + return int(np.searchsorted(np.cumsum(probabilities), u, side="left"))

# %% variant="interview_debug_sampler" wrong="drafts are accepted by the inverse quotient"
# Accepted with probability target/draft.
# - if u * draft[token] < target[token]:
# + if u * target[token] < draft[token]:

# %% variant="interview_debug_sampler" wrong="the prompt is penalized, too"
# Only what was written.
# - token = draw(nucleus(penalized(logits, written, penalty), temperature, p), u)
# + token = draw(nucleus(penalized(logits, [*prompt, *written], penalty), temperature, p), u)

# %% variant="interview_debug_sampler" wrong="the stop token is returned"
# It isn't returned.
# - if token == stop:
# + if token == stop:
# +     written.append(token)

# %% check="interview_debug_sampler"
generator = check.rng()
V, C, D = 8, 6, 3
sizes = {"tokens": (V, C), "positions": (30, C), "q": (C, D), "k": (C, D), "v": (C, D), "out": (D, V)}
weights = {name: generator.normal(size=size) for name, size in sizes.items()}
prompt = generator.integers(V, size=5).tolist()
first, cache = prefill(weights, prompt)
decoded = [decode(weights, cache, int(token)) for token in generator.integers(V, size=3)]
logits = 2 * generator.normal(size=V)
target, draft = (generator.dirichlet(np.ones(V)) for _ in range(2))
pairs = generator.uniform(size=(40, 2))
uniforms = generator.uniform(size=20).tolist()
extremes = [int(np.argmax(logits)), int(np.argmin(logits))]
yours = {
    "after the prompt": first,
    "after three more tokens": decoded,
    "the cache": [cache["keys"], cache["values"]],
    "attention to it": attend(weights, cache, weights["tokens"][0]),
    "large scores": softmax(np.array([1000.0, 999.0])),
    "penalized": penalized(logits, [*extremes, extremes[0]], 1.7),
    "nucleus": [nucleus(logits, temperature, p) for temperature, p in ((1.0, 0.9), (0.5, 0.7), (2.0, 1.0))],
    "drawn": [draw(target, u) for u in uniforms],
    "speculated": [speculate(target, draft, draw(draft, 1 - u), u, again) for u, again in pairs.tolist()],
    "written": [generate(weights, prompt, uniforms, 1.5, 0.95, penalty, 3) for penalty in (1.0, 2.0)],
}
names = "softmax prefill attend decode penalized nucleus draw speculate generate"
own = {name: globals()[name] for name in names.split()}
check.show(
    {**yours, **check.verify(tests, shown, check.rng(), own)},
    each="refused",
    text="What your sampler does, and which ones your tests accept.",
)

# %% [markdown] hint="interview_debug_sampler"
# Each function can be tested alone with numbers worked out by hand: four logits, a nucleus of two tokens, a penalty of 2 on a
# positive and on a negative logit. For the cache, the slow version reads the whole text again.

# %% [markdown] hint="interview_debug_sampler"
# Look at the position of a new token, the token that reaches p, the sign of a logit, the residual of speculative decoding, and
# whether the temperature divides. For the rest go through the docstrings: each sentence has a fault that breaks it.

# %% [markdown] hint="interview_debug_sampler"
# A distribution can be tested without chance: call `speculate` for every draft token and a grid of `u` and `again`, weight each
# result by the draft's probability, and compare the sums with the target.


# %% mutant="interview_debug_sampler"
# Tests that probabilities add up to 1
# Sums and shapes are right in the faulty script as well. Compare with numbers that you worked out by hand.
def tests(program):
    probabilities = program.nucleus(np.array([1.0, 2.0, 3.0]), 1.0, 0.9)
    assert np.isclose(probabilities.sum(), 1.0)
    assert program.draw(probabilities, 0.5) in (0, 1, 2)


# %% mutant="interview_debug_sampler"
# Expects a nucleus below p
# These tests want the tokens whose sum stays below p, which is the fault of report 2, so they refuse correct programs.
def tests(program):
    kept = program.nucleus(np.log(np.array([0.5, 0.3, 0.2])), 1.0, 0.6)
    assert np.allclose(kept, [1.0, 0.0, 0.0])
