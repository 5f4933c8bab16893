# %% [markdown]
# # Exercises · Mock interview
# There are six exercises with 18 points, which take about 90 minutes, one for each round of an interview. Give
# yourself as much time for each as you would have there.

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
sure = generator.choice([10, 30, 50, 70, 90], size=23, p=[0.1, 0.1, 0.2, 0.3, 0.3]).tolist()
right = [bool(generator.random() < 0.2 + each / 250) for each in sure]
found = curve(sure, right)
check.show(
    {
        "sure": sure,
        "right": right,
        "levels": [int(each) for each in found],
        "answers at each level": [int(count) for count, _ in found.values()],
        "fraction of correct ones": [float(share) for _, share in found.values()],
        "Brier score": float(brier(sure, right)),
        "overconfidence": float(overconfidence(sure, right)),
        "overconfidence at 10 % confidence, all correct": float(overconfidence([10, 10], [True, True])),
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
    outputs for `x` with respect to its first parameter."""
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
view = is_copied(x)
matrix = x.clone().requires_grad_()
name = is_not_recorded()
model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.BatchNorm1d(3), nn.Linear(3, 1))
with torch.no_grad():
    for each in model.parameters():
        each.copy_(torch.tensor(generator.normal(size=tuple(each.shape)).astype(np.float32)))
losses = generator.choice(50, size=4, replace=False).astype(float).tolist()
losses[0] += 100
batches = is_no_mean(list(losses))
n = int(generator.integers(3, 7))
squares = (torch.zeros(n) - torch.zeros(is_not_n_numbers(n))) ** 2
means = [float(np.mean(each)) for each in batches]
check.show(
    {
        "view: shares x's memory": view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(),
        "view: its reshape shares x's memory": view.reshape(-1).untyped_storage().data_ptr()
        == x.untyped_storage().data_ptr(),
        "not recorded: requires grad": getattr(matrix, name)().requires_grad,
        "not recorded: its purpose": name.startswith(("detach", "requires_grad", "data")),
        "to: the same tensor": x.to(*is_not_moved(x)) is x,
        "to: at least one argument": len(is_not_moved(x)) > 0,
        "gradient in eval mode": learns_anyway(model, x),
        "the model is in train mode": model.training,
        "batches: all losses": sorted(float(each) for batch in batches for each in batch),
        "batches: how many": len(batches),
        "batches: the means agree": bool(abs(np.mean(means) - np.mean(losses)) < 1e-6),
        "squares": int(squares.numel()),
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
# Think of `x.t()`, `"argmax"`, `(x.dtype,)`, `model.eval()` followed by `backward`, one loss and three, and a column.


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
    model.eval()
    model(x).sum().backward()
    return next(model.parameters()).grad


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
    model(x).sum().backward()
    return next(model.parameters()).grad


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
    model.eval()
    model(x).sum().backward()
    return next(model.parameters()).grad


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
    model.eval()
    model(x).sum().backward()
    return next(model.parameters()).grad


def is_no_mean(losses):
    return [losses[:1], losses[1:]]


def is_not_n_numbers(n):
    return (1, n)


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
# What is missing between the two steps, and which rate does the first step use if the scheduler comes before it?

# %% [markdown] hint="interview_predict_loop"
# In the first step the gradient is 32 and the rate is 0.25, so `w` becomes 8. In the second step 16 is *added* to
# the 32.

# %% [markdown] hint="interview_predict_loop"
# The second rate is 0.125, and 8 − 0.125 · 48 = 2. `best` refers to the tensor that the optimizer updates, and a sum
# of tensors that require grad requires grad as well.

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
check.show(
    {
        "state dict": names,
        "parameters without bias": lone,
        "y": y,
        "gradient of x": x.grad,
        "gradient of the weight": layer.weight.grad,
        "gradient of the bias": layer.bias.grad,
        "in a Sequential": stack,
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
# With the weight as (out, in), the product that gives (…, out) is `x @ weight.t()`. For a layer without a bias,
# assign None to `self.bias`.

# %% [markdown] hint="interview_linear"
# With `bound = in_features ** -0.5`, make two `nn.Parameter(torch.empty(shape).uniform_(-bound, bound))`, and return
# `x @ self.weight.t() + self.bias`.


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
    """The mean squared error over all rows; the model is unchanged except for its mode."""
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
# #     """The mean squared error over all rows; the model is unchanged except for its mode."""
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


start = {name: generator.normal(size=size) for name, size in (("0.weight", (3, 3)), ("2.weight", (1, 3)))}
start |= {"0.bias": generator.normal(size=3), "2.bias": generator.normal(size=1)}
inputs, noise = generator.normal(size=(41, 3)), generator.normal(size=(41, 1))
truth = inputs.sum(1, keepdims=True) + 0.3 * noise
held = [(tensor(inputs[a:b]), tensor(truth[a:b] + (b == 41) * 5)) for a, b in ((24, 40), (40, 41))]
batches = [(tensor(inputs[a : a + 8]), tensor(truth[a : a + 8])) for a in (0, 8, 16)]


def made():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
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
# Weight each batch's mean by its rows, call `model.eval()` in `evaluate` and `model.train()` at the start of an
# epoch, store `copy.deepcopy(model.state_dict())`, and move the scheduler one loop further out.


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
check.show(
    {
        "parameters": parameters,
        "tokens": tokens,
        "GPUs": gpus,
        "shape": shape,
        "memory of training": int(training_memory(parameters)),
        "seconds of training": float(training_seconds(parameters, tokens, gpus, 4e14)),
        "bytes through the ring": float(ring_bytes(parameters, gpus)),
        "bytes through the ring of one GPU": float(ring_bytes(parameters, 1)),
        "longest sequence in 25 · 10⁹ + 1 bytes": int(tokens_in_cache),
        "and it is an integer": tokens_in_cache == int(tokens_in_cache),
    },
    text="The numbers that were drawn, and your estimates.",
)

# %% [markdown] hint="interview_estimates"
# Count the values that exist for each parameter, and the bytes of each. For each token, a parameter takes part in one
# multiplication and one addition in the forward pass, and in twice as many in the backward pass.

# %% [markdown] hint="interview_estimates"
# A ring of n GPUs sends n − 1 of n pieces, twice. Each token adds a key and a value in each layer and head.

# %% [markdown] hint="interview_estimates"
# The results are 16 bytes for each parameter; 6 · parameters · tokens operations; 2 · (n − 1)/n of 2 bytes for each
# parameter; and 2 · layers · heads · width values of 2 bytes for each token.


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
