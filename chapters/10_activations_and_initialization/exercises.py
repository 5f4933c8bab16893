# %% [markdown]
# # Exercises · Activations and initialization
# Four of the exercises add to your library: softmax, the initial values of weights, clipping and GELU. These run
# inside files of `mytorch`, where everything that a task or a docstring mentions is available; import anything else
# in the function.

# %% setup=true
from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from course import check

# %% setup=true
import minitorch as torch

# %% [markdown] exercise="init_predict_vanishing" kind="predict" points=1
# ### Exercise 1 · Where does the gradient vanish?
# Twenty layers compute `h = (h @ w.T).relu()`. All are 256 wide, each `w` comes from `xavier_normal_`, and there are
# no biases. The lesson showed that the gradient of the *pre-activations* shrinks by √½ per layer in the backward
# pass, so at layer 1 it is about 1/700 of that at layer 20. Now compare the gradients of the **weights**: `w.grad` of
# layer 1 with `w.grad` of layer 20. The first is
#
# - `"a"` about 1/700 of the last,
# - `"b"` about as large as the last,
# - `"c"` about 700 times the last.
#
# Set `prediction` to the letter, without running it first.

# %% solution="init_predict_vanishing"
### BEGIN SOLUTION
prediction = "b"
### END SOLUTION

# %% check="init_predict_vanishing"
check.show({"the gradient of the first weight": str(prediction).strip().lower()}, secret=True)

# %% [markdown] hint="init_predict_vanishing"
# What is the gradient of `w` in `y = h @ w.T`? It is made of two factors, and both change with depth.

# %% [markdown] hint="init_predict_vanishing"
# It is `g.T @ h`, the gradient of `y` times the input of the layer. How large is `g` at layer 1 and at layer 20, and
# how large is `h`?

# %% [markdown] hint="init_predict_vanishing"
# At layer 1 the input `h` has its full size, while `g` is 1/700 of what it was at the end. At layer 20 it is the
# other way round.

# %% mutant="init_predict_vanishing"
# Considers only the gradient that arrives
# The gradient of a weight is the gradient of the layer's output times the layer's input. At layer 1 the first is
# small, but the input still has its full size.
prediction = "a"

# %% mutant="init_predict_vanishing"
# Considers only the input
# The input of layer 1 is indeed 700 times that of layer 20, but the gradient that arrives there is 1/700, so the two
# cancel.
prediction = "c"


# %% [markdown] exercise="init_softmax" kind="core" points="1 1 1" part="mytorch.nn.activation:softmax | mytorch.nn.activation:derivative.softmax | mytorch.nn.activation:log_softmax mytorch.nn.activation:derivative.log_softmax"
# ### Exercise 2 · Softmax and its logarithm
# Write both kernels, which take NumPy arrays (`np` is available), and both derivatives, which consist of tensor
# operations. Begin a kernel with `check_floats(x, dim, "softmax")` (or `"log_softmax"`); `normalize_dims(dim,
# x.ndim)` gives the axes for NumPy. A derivative is a function like ReLU's in the lesson: its arguments are first the
# gradient, and then, by name, what it needs of `result` and of the operation's arguments.
#
# The logarithm of a softmax has its own kernel, because a probability that rounds to 0 has no logarithm. Write
# $\log \frac{e^{x_i}}{\sum_j e^{x_j}}$ as a difference, subtract the largest $x$ from all of them first, and no division is
# left. Its derivatives are $\partial y_j / \partial x_i = 1_{i = j} - e^{y_i}$.
#
# For the derivative of softmax, start from $\partial y_j / \partial x_i = y_j (1_{i = j} - y_i)$, where $1_{i=j}$ is
# 1 if $i = j$ and 0 otherwise. In both cases, multiply by the gradient $g_j$ of $y_j$ and sum over $j$.
#
# The check uses logits in the thousands, rows that contain −∞, rows of nothing else (which give nan, as in PyTorch),
# and every dimension. It also takes the gradient of a gradient.


# %% docstrings="init_softmax"
def softmax():
    """Positive numbers that sum to 1 along `dim`: exp(x) / Σ exp(x).

    The largest element is subtracted first, which changes no result, so that `exp` is never applied to a positive
    number.
    """


# %% check="init_softmax" raises="IndexError NotImplementedError"
generator = check.rng()
size = tuple(int(length) for length in generator.permutation([1, 2, 3]) + 1)[:2]
scores = generator.normal(0, 2, (2, *size)).astype(np.float32)
weights = generator.normal(0, 1, (2, *size)).astype(np.float32)
far = np.float64([[0, 2000, -1500], [3000, 3001, 3003], [-4000, -4002, -4001]])
far += generator.integers(0, 9, (3, 1))
masked = scores[0].copy()
masked[:, 0] = masked[-1] = -np.inf


def both(name, array, dim, weight):
    """The result, the gradient of the scores for this gradient of it, and whether both inputs are what they were."""
    x, g = mytorch.tensor(array).requires_grad_(), mytorch.tensor(weight)
    y = getattr(mytorch, name)(x, dim)
    problem = check.error(y.backward, g)
    kept = np.array_equal(x.detach().numpy(), array) and np.array_equal(g.numpy(), weight)
    return {"result": y.detach(), "gradient": x.grad if problem is None else problem, "inputs kept": kept}


def twice(name):
    """The gradient of a gradient."""
    x = mytorch.tensor(scores[0]).requires_grad_()
    try:
        first = mytorch.autograd.grad(getattr(mytorch, name)(x, 0), x, mytorch.tensor(weights[0]), create_graph=True)
        return mytorch.autograd.grad(first, x, mytorch.tensor(weights[1]))[0]
    except RuntimeError as error:
        return error


shown = {"scores": scores}
for name in ("softmax", "log_softmax"):
    call = getattr(mytorch, name)
    shown |= {f"{name}, dim {dim}": both(name, scores, dim, weights) for dim in (0, 1, -1)}
    shown[f"{name}, far from 0"] = both(name, far, 1, generator.normal(0, 1, (3, 3)))
    shown[f"{name}, masked"] = both(name, masked, 1, weights[0])
    shown[f"{name} of 0 and nan"] = call(mytorch.tensor([0.0, float("nan")]), 0)
    shown[f"{name} of one number"] = both(name, np.float32(3), 0, np.float32(2))
    shown[f"{name}, gradient of its gradient"] = twice(name)
    shown[f"{name} of integers"] = check.error(call, mytorch.tensor([1, 2]), 0)
    shown[f"{name}, no such dim"] = check.error(call, mytorch.tensor(scores), 3)
sums = mytorch.softmax(mytorch.tensor(far), 1).sum(1).numpy()
hidden = mytorch.softmax(mytorch.tensor(masked[:-1]), 1)[:, 0]
shown["hidden scores have a probability of exactly 0"] = bool((hidden == 0).all().item())
shown["softmax of 0 and infinity"] = mytorch.softmax(mytorch.tensor([0.0, float("inf")]), 0)
shown["float64 sums to 1 in twelve digits"] = bool((abs(sums - 1) < 1e-12).all())
check.show(
    shown,
    rtol=1e-4,
    atol=1e-5,
    text="The results, the gradients of the scores, and whether the inputs kept their numbers.",
)

# %% [markdown] hint="init_softmax"
# Subtract the largest number along the dimension, with `keepdims=True` so that it broadcasts. After that no
# exponential overflows, and one of them is 1.

# %% [markdown] hint="init_softmax"
# The logarithm of a softmax needs no division, because the log of a quotient is a difference, and the log undoes the
# exp. Only the log of the sum remains. For the derivative, split $\sum_j g_j y_j (1_{i=j} - y_i)$ into two sums. In
# the first only the term with $j = i$ is left, and from the second you can factor out $y_i$.

# %% [markdown] hint="init_softmax"
# For softmax, return `result * (g - (g * result).sum(dim, keepdim=True))`. A row of log-softmax is $x_i - \log \sum_j
# e^{x_j}$, and the derivative of that log is the softmax, which is `result.exp()`. Therefore return `g - result.exp()
# * g.sum(dim, keepdim=True)`.


# %% mutant="init_softmax"
# Uses the textbook formula
# The formula is right, but exp of a float32 logit above 88 is inf, and inf / inf is nan. Subtract the largest logit
# first.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    e = np.exp(x)
    return e / np.sum(e, normalize_dims(dim, x.ndim), keepdims=True)


# %% mutant="init_softmax"
# Subtracts the largest of all
# One row at 3000 makes all exponentials of the other rows 0, and 0 / 0 is nan. Each row needs its own maximum.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    e = np.exp(x - np.max(x))
    return e / np.sum(e, normalize_dims(dim, x.ndim), keepdims=True)


# %% mutant="init_softmax"
# Always along the last dimension
# The sums run along the last dimension, whatever `dim` says. In (N, C, H, W) the classes are dimension 1.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(-1, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return e / np.sum(e, dims, keepdims=True)


# %% mutant="init_softmax"
# Uses the derivative of a sigmoid
# y (1 - y) is only the diagonal, the effect of each logit on its own probability. But every logit changes all
# probabilities of its row.
derivative("softmax", x=lambda g, result, dim: g * result * (1 - result))


# %% mutant="init_softmax"
# Sums the gradient alone
# Sum the products g_j y_j. Here g is summed without its y_j, and the sum is multiplied by y_i twice.
derivative("softmax", x=lambda g, result, dim: result * g - result * result * g.sum(dim, keepdim=True))


# %% mutant="init_softmax"
# Sums over everything
# The sum of g·y belongs to a row. Here it includes all rows, so the gradient of one sample depends on the others.
derivative("softmax", x=lambda g, result, dim: result * (g - (g * result).sum()))


# %% mutant="init_softmax"
# The logarithm of the softmax
# A probability of 1e-2000 is 0 in any float, and its logarithm is -inf. Stay with logarithms: x - max - log of the
# sum.
def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return np.log(e / np.sum(e, dims, keepdims=True))


# %% mutant="init_softmax"
# Treats the result as probabilities
# The result of log_softmax is a logarithm, while the formula needs the probabilities, which are its exp.
derivative("log_softmax", x=lambda g, result, dim: g - result * g.sum(dim, keepdim=True))


# %% mutant="init_softmax"
# Assumes a cross-entropy
# g - p is right only if g sums to 1 along the row. In general the probabilities are multiplied by that sum.
derivative("log_softmax", x=lambda g, result, dim: g - result.exp())


# %% mutant="init_softmax"
# Writes into the logits
# `x -= …` changes the array that was passed, which is the memory of the caller's tensor. `x = x - …` makes a new one.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    x -= np.max(x, dims, keepdims=True)
    e = np.exp(x)
    return e / np.sum(e, dims, keepdims=True)


# %% mutant="init_softmax"
# Writes into the logits of the logarithm
# `x -= …` changes the array that was passed, which is the memory of the caller's tensor. `x = x - …` makes a new one.
def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    dims = normalize_dims(dim, x.ndim)
    x -= np.max(x, dims, keepdims=True)
    return x - np.log(np.sum(np.exp(x), dims, keepdims=True))


# %% mutant="init_softmax"
# Replaces nan by zeros
# A row of nothing but -inf has no probabilities, so 0/0 is nan, in PyTorch too. A zero would hide the mistake in the
# mask.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return np.nan_to_num(e / np.sum(e, dims, keepdims=True))


# %% mutant="init_softmax"
# Skips nan
# `nanmax` and `nansum` act as if the nan weren't there. A nan among the logits is a sign of a mistake, and the whole
# row should show it.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.nanmax(x, dims, keepdims=True))
    return e / np.nansum(e, dims, keepdims=True)


# %% mutant="init_softmax"
# Adds a millionth to the sum
# After the subtraction one exponential is 1, so the sum can't be 0 and needs no help. With more in it, the row no
# longer sums to 1.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return e / (np.sum(e, dims, keepdims=True) + 1e-6)


# %% mutant="init_softmax"
# Always float32
# The result has the dtype of the logits. Here float64 comes out as float32, so half of its digits are lost.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return (e / np.sum(e, dims, keepdims=True)).astype(np.float32)


# %% mutant="init_softmax"
# Passes dim to NumPy
# The values are right. For a dimension that doesn't exist, PyTorch has an IndexError of its own, which
# `normalize_dims` raises.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    e = np.exp(x - np.max(x, dim, keepdims=True))
    return e / np.sum(e, dim, keepdims=True)


# %% mutant="init_softmax"
# Detaches the result
# The gradient is right, but its own gradient also depends on `result`, which depends on the logits. Remove the
# `detach`.
derivative("softmax", x=lambda g, result, dim: result.detach() * (g - (g * result.detach()).sum(dim, keepdim=True)))


# %% mutant="init_softmax"
# Detaches the logarithm
# The gradient is right, but its own gradient also depends on `result`, which depends on the logits. Remove the
# `detach`.
derivative("log_softmax", x=lambda g, result, dim: g - result.detach().exp() * g.sum(dim, keepdim=True))


# %% mutant="init_softmax"
# Forgets keepdim
# The sum has one dimension fewer than `result`, so it no longer broadcasts along its row: `sum(dim, keepdim=True)`.
derivative("softmax", x=lambda g, result, dim: result * (g - (g * result).sum(dim)))


# %% mutant="init_softmax"
# Sums along the last dimension
# The sum of g·y runs along the dimension of the softmax, which is the argument `dim`.
derivative("softmax", x=lambda g, result, dim: result * (g - (g * result).sum(-1, keepdim=True)))


# %% mutant="init_softmax"
# Uses the derivative of softmax
# This is the rule of softmax itself with its probabilities put in. For the logarithm, one of the factors y has
# cancelled.
derivative("log_softmax", x=lambda g, result, dim: result.exp() * (g - (g * result.exp()).sum(dim, keepdim=True)))


# %% mutant="init_softmax"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def softmax(x, dim):
    import minitorch

    return minitorch.softmax(minitorch.tensor(x), dim).numpy()


# %% [markdown] exercise="init_fans_and_gains" kind="core" points="1 1 1" part="mytorch.nn.init:calculate_gain | mytorch.nn.init:_calculate_fan_in_and_fan_out | mytorch.nn.init:xavier_std mytorch.nn.init:kaiming_std"
# ### Exercise 3 · Fans, gains and standard deviations
# Write four small functions with which `xavier_normal_`, `kaiming_uniform_` and the others work. Then the twenty
# layers of the lesson learn with your numbers. `math` is available. A weight may have any number of dimensions from
# two up.


# %% docstrings="init_fans_and_gains"
def calculate_gain():
    """The factor for weights that keeps the root mean square of values the same through this nonlinearity.

    It is 1 for "linear", "conv1d", "conv2d" and "sigmoid", 5/3 for "tanh", √2 for "relu", and √(2 / (1 + slope²))
    for "leaky_relu", whose slope is `param`, or 0.01 if that is None.

    Raises:
        ValueError: another name: "Unsupported nonlinearity softmax".
    """


def _calculate_fan_in_and_fan_out():
    """(fan_in, fan_out) of a weight (out, in, ...): the number of inputs of an output, and of outputs of an
    input.

    For the weight of a convolution (out, in, height, width), each of the in · height · width elements under the
    window is an input of an output.

    Raises:
        ValueError: "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions".
    """


def xavier_std():
    """gain · √(2 / (fan_in + fan_out)).

    Source: Glorot and Bengio 2010, https://proceedings.mlr.press/v9/glorot10a.html
    """


def kaiming_std():
    """gain / √fan, with the gain of the nonlinearity, whose parameter is `a`, and the fan that `mode` names.

    Raises:
        ValueError: the mode is neither "fan_in" nor "fan_out": "Mode fan not supported, please use one of
            ['fan_in', 'fan_out']".

    Source: He et al. 2015, https://arxiv.org/abs/1502.01852
    """


# %% check="init_fans_and_gains" raises="ValueError"
generator = check.rng()
init = mytorch.nn.init
out, inside, rows, columns = (int(size) for size in generator.permutation([2, 3, 4, 5]))
slope = float(generator.integers(1, 9)) / 10
names = ("linear", "conv1d", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu")
weight, kernel = mytorch.zeros(out, inside), mytorch.zeros(out, inside, rows, columns)
single = mytorch.zeros(1, inside)
shapes = [weight, kernel[..., 0], kernel, mytorch.zeros(out, inside, 2, rows, columns), single]
leaky = [init.calculate_gain("leaky_relu", *given) for given in ((), (0,), (slope,), (-slope,))]
drawn = {}
for name, arguments in {
    "xavier_normal_": {"gain": 2.0},
    "xavier_uniform_": {},
    "kaiming_normal_": {"mode": "fan_out", "nonlinearity": "relu"},
    "kaiming_uniform_": {"a": 5**0.5},
}.items():
    mytorch.manual_seed(check.seed())
    drawn[f"{name} {arguments}"] = getattr(init, name)(mytorch.zeros(out, inside), **arguments)
stds = {
    f"std of {mode} {name}": [
        check.intact(init.kaiming_std, each, slope, mode, name) for each in (weight, kernel, single)
    ]
    for mode in ("fan_in", "fan_out")
    for name in ("relu", "leaky_relu", "tanh")
}
stds["std of leaky_relu with a slope of 0"] = init.kaiming_std(weight, 0.0, "fan_in", "leaky_relu")
problems = {
    "fans of a bias": (init._calculate_fan_in_and_fan_out, mytorch.zeros(3)),
    "fans of a number": (init._calculate_fan_in_and_fan_out, mytorch.zeros(())),
    "gain of softmax": (init.calculate_gain, "softmax"),
    "gain of ReLU": (init.calculate_gain, "ReLU"),
    "gain of prelu": (init.calculate_gain, "prelu"),
    "gain of conv": (init.calculate_gain, "conv"),
    "mode fan": (init.kaiming_std, weight, 0.0, "fan", "relu"),
    "mode fan_avg": (init.kaiming_std, weight, 0.0, "fan_avg", "relu"),
}
check.show(
    {
        "shapes": [each.shape for each in shapes],
        "fans": [check.intact(init._calculate_fan_in_and_fan_out, each) for each in shapes],
        "gains": {name: float(init.calculate_gain(name)) for name in names},
        f"gains of slopes None, 0, {slope} and {-slope}": leaky,
        "the squares of the slopes in them": [abs(round(2 / gain**2 - 1, 6)) for gain in leaky],
        "Xavier's std": [
            check.intact(init.xavier_std, each, gain) for each, gain in ((weight, 1.0), (kernel, 5 / 3), (single, 2.0))
        ],
    }
    | stds
    | drawn
    | {name: check.error(*call) for name, call in problems.items()},
    text="A weight of a linear layer and some of convolutions; then what is drawn with these numbers.",
)

# %% [markdown] hint="init_fans_and_gains"
# The shape is (out, in, height, width), and one output is a sum over all inputs under the window. How many outputs
# does one input contribute to? A shape of two dimensions has a window of 1.

# %% [markdown] hint="init_fans_and_gains"
# `math.prod(tensor.shape[2:])` is the size of the window, and 1 if there is none. Xavier's variance is `2 / (fan_in +
# fan_out)` times the square of the gain, and Kaiming's is the square of the gain over one fan. Both functions return
# the root.

# %% [markdown] hint="init_fans_and_gains"
# The slope of leaky_relu may be 0, which is falsy in Python, so test `param is None`. Its gain is `math.sqrt(2 / (1 +
# slope ** 2))`, so that a slope of 0 gives the gain of relu.


# %% mutant="init_fans_and_gains"
# Exchanges the fans
# A weight is (out, in), because y = x @ w.T. The first dimension counts the outputs.
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[0] * window, tensor.shape[1] * window


# %% mutant="init_fans_and_gains"
# Ignores the window
# This is right for a linear layer. In a convolution each number under the window is an input, so multiply by height ·
# width.
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    return tensor.shape[1], tensor.shape[0]


# %% mutant="init_fans_and_gains"
# Treats slope 0 as missing
# `param or 0.01` is 0.01 for a slope of 0, which is a number like any other. Test whether it is None.
def calculate_gain(nonlinearity, param=None):
    if nonlinearity in ("linear", "conv1d", "conv2d", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (param or 0.01) ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# %% mutant="init_fans_and_gains"
# Doesn't square the slope
# The mean square of the negative half is multiplied by slope², so the gain contains the square, too.
def calculate_gain(nonlinearity, param=None):
    if nonlinearity in ("linear", "conv1d", "conv2d", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param)))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# %% mutant="init_fans_and_gains"
# Treats a missing slope as 0
# Without a slope, `leaky_relu` has that of `F.leaky_relu`, which is 0.01.
def calculate_gain(nonlinearity, param=None):
    if nonlinearity in ("linear", "conv1d", "conv2d", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (param or 0) ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


# %% mutant="init_fans_and_gains"
# Expects windows of one or two dimensions
# A three-dimensional convolution has a weight of five dimensions, and all of them from the third on belong to the
# window.
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    out, inside, rows, columns, *_ = *tensor.shape, 1, 1
    return inside * rows * columns, out * rows * columns


# %% mutant="init_fans_and_gains"
# Multiplies only the fan-in by the window
# An input lies under the window at as many positions as the window has, and it contributes to every output channel
# from each of them.
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    return math.prod(tensor.shape[1:]), tensor.shape[0]


# %% mutant="init_fans_and_gains"
# Puts the gain under the root
# The gain multiplies the standard deviation. Under the root, only its own root remains.
def xavier_std(tensor, gain):
    return math.sqrt(2 * gain / sum(_calculate_fan_in_and_fan_out(tensor)))


# %% mutant="init_fans_and_gains"
# Returns the bound
# √(6 / (fan_in + fan_out)) is the bound of the uniform distribution, which is √3 times the standard deviation that
# the task asks for.
def xavier_std(tensor, gain):
    return gain * math.sqrt(6 / sum(_calculate_fan_in_and_fan_out(tensor)))


# %% mutant="init_fans_and_gains"
# Accepts any other mode as fan_out
# A misspelled mode would go unnoticed. There are two modes, and anything else is a ValueError.
def kaiming_std(tensor, a, mode, nonlinearity):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# %% mutant="init_fans_and_gains"
# Compares only the beginning of the mode
# "fan_avg" begins with "fan_", too, and is neither of the two modes.
def kaiming_std(tensor, a, mode, nonlinearity):
    if not mode.startswith("fan_"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# %% mutant="init_fans_and_gains"
# Ignores the slope
# `a` is the slope of leaky_relu and changes the gain: `calculate_gain(nonlinearity, a)`.
def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# %% mutant="init_fans_and_gains"
# One over the sum of the fans
# Xavier's variance is 1 over the mean of both fans, which is 2 over their sum.
def xavier_std(tensor, gain):
    return gain * math.sqrt(1 / sum(_calculate_fan_in_and_fan_out(tensor)))


# %% mutant="init_fans_and_gains"
# Returns the variance
# gain² / fan is the variance, and the task asks for the standard deviation, its root.
def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) ** 2 / (fan_in if mode == "fan_in" else fan_out)


# %% mutant="init_fans_and_gains"
# Ignores the mode
# It divides by the fan-in, whatever the mode is.
def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_fan_in_and_fan_out(tensor)[0])


# %% mutant="init_fans_and_gains"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def calculate_gain(nonlinearity, param=None):
    from minitorch.nn import init

    return init.calculate_gain(nonlinearity, param)


# %% [markdown] exercise="init_clip_norm" kind="core" points=3 part="mytorch.nn.utils:clip_grad_norm_"
# ### Exercise 4 · Clipping by norm
# Scale down all gradients of a model by a common factor. `parameters` may also be a single tensor, or an iterator that
# can be consumed only once. `stack([...])` makes one tensor of several 0-d tensors, and `zeros(())` is a 0. Nothing may
# be recorded, even where a gradient has a history; `no_grad` is available, also as a decorator, while `math` isn't.
#
# A norm of nan isn't a special case: the factor is nan, too, and then so are all gradients. Only `error_if_nonfinite`
# refuses it.


# %% docstrings="init_clip_norm"
def clip_grad_norm_():
    """Scale all gradients by the same factor, in place, if their total norm exceeds `max_norm`.

    The total norm is that of all their elements, as of one vector: (Σ |g|^norm_type)^(1 / norm_type), or the
    largest |g| if `norm_type` is infinite. The factor is max_norm / (norm + 1e-6), but at most 1.
    `gradients_of(parameters)` lists the gradients. Nothing is recorded, even where a gradient has a history.

    Returns:
        The norm before clipping, a 0-d tensor; 0 if there are no gradients.

    Raises:
        RuntimeError: the norm is inf or nan, and `error_if_nonfinite` is true (raised by `refuse_nonfinite(norm,
            norm_type)`).
    """


# %% check="init_clip_norm" raises="RuntimeError"
generator = check.rng()
arrays = [generator.normal(0, 2, size).astype(np.float32) for size in ((2, 3), (4,), (1, 2))]


def clipped(limit, *, spoil=None, chosen=iter, scale=1.0, **options):
    """The norm that is returned, the gradients afterwards, and whether they were changed in place."""
    parameters = [mytorch.zeros(array.shape, requires_grad=True) for array in arrays]
    parameters.append(mytorch.zeros(2, requires_grad=True))  # has no gradient
    for parameter, array in zip(parameters, arrays, strict=False):
        parameter.grad = mytorch.tensor(scale * array)
    if spoil is not None:
        parameters[1].grad[0] = spoil
    held = [(each.grad, each.grad.data_ptr()) for each in parameters[:3]]
    try:
        norm = mytorch.nn.utils.clip_grad_norm_(chosen(parameters), limit, **options)
        norm = norm if scale == 1.0 or norm is None else norm / scale
    except RuntimeError as error:
        norm = error
    grads = [each.grad for each in parameters]
    same = all(now is was and now.data_ptr() == place for now, (was, place) in zip(grads, held, strict=False))
    return {"norm": norm, "gradients": [*(each / scale for each in grads[:3]), grads[3]], "in place": same}


def with_history():
    """The norm and the gradient, where that is a result itself: whether anything was recorded."""
    parameter, norms = mytorch.zeros(3, requires_grad=True), []
    parameter.grad = mytorch.tensor([3.0, 0.0, 4.0]).requires_grad_() + 1
    problem = check.error(lambda: norms.append(mytorch.nn.utils.clip_grad_norm_([parameter], 1.0)))
    if problem is not None:
        return problem
    return [getattr(each, "requires_grad", None) for each in norms], parameter.grad.grad_fn.name()


def too_large():
    parameter = mytorch.zeros(4, requires_grad=True)
    parameter.grad = mytorch.full((4,), 3e38)
    problem = check.error(mytorch.nn.utils.clip_grad_norm_, [parameter], 1.0, error_if_nonfinite=True)
    return problem, parameter.grad


length = float(np.sqrt(sum((array**2).sum() for array in arrays)))
check.show(
    {
        "gradients": arrays,
        "to half their norm": clipped(length / 2),
        "already short enough": clipped(length * 2),
        "the first one alone": clipped(0.1, chosen=lambda parameters: parameters[0]),
        "of order 3": clipped(0.5, norm_type=3),
        "of order 2.5": clipped(0.5, norm_type=2.5),
        "by the largest": clipped(0.5, norm_type=float("inf")),
        "a millionth of them": clipped(length / 1e6, scale=np.float32(1e-6)),
        "no gradients": clipped(0.5, chosen=lambda parameters: parameters[3:]),
        "gradients with a history": with_history(),
        "nan": clipped(0.5, spoil=float("nan")),
        "nan by the largest": clipped(0.5, spoil=float("nan"), norm_type=float("inf")),
        "nan, refused": clipped(0.5, spoil=float("nan"), error_if_nonfinite=True),
        "inf": clipped(0.5, spoil=float("inf")),
        "inf, refused": clipped(0.5, spoil=float("inf"), norm_type=3, error_if_nonfinite=True),
        "finite, but with a norm above float32's largest value": too_large(),
    },
    rtol=1e-4,
    text="The norm, the gradients afterwards, and whether they were changed in place, for several limits.",
)

# %% [markdown] hint="init_clip_norm"
# All gradients together are one long vector, whose squares are the squares of all tensors. Sum within each tensor,
# then over the tensors, and take the root once.

# %% [markdown] hint="init_clip_norm"
# For another order, raise |g| to that power, sum, and raise the result to 1/order. For an infinite order it is the
# largest of the maxima: `amax()`.

# %% [markdown] hint="init_clip_norm"
# Compute `factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)`, and then `grad.mul_(factor)` for each gradient, which
# works in place and never enlarges one. Return the norm that you computed before.


# %% mutant="init_clip_norm"
# Clips each gradient by itself
# Each tensor is shortened to the limit by its own factor, so the direction of the step changes. There is one norm, of
# all of them together.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norms = [each.amax() for each in sizes]
        norm = stack(norms).amax()
    else:
        norms = [(each**norm_type).sum() ** (1 / norm_type) for each in sizes]
        norm = (stack(norms) ** norm_type).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for grad, own in zip(grads, norms, strict=True):
        grad.mul_((max_norm / (own + 1e-6)).clamp(max=1.0))
    return norm


# %% mutant="init_clip_norm"
# Enlarges short gradients
# Without the upper limit of 1, gradients that are shorter than the limit are enlarged, so every step gets the same
# length.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for grad in grads:
        grad.mul_(max_norm / (norm + 1e-6))
    return norm


# %% mutant="init_clip_norm"
# Shrinks only larger norms
# `nan > max_norm` is False, so a gradient of nan leaves the others as they are, and the step goes on with some of
# them. PyTorch multiplies in any case, by a factor of at most 1.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    gradients = gradients_of(parameters)
    if not gradients:
        return zeros(())
    sizes = [each.abs() for each in gradients]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    if norm.item() > max_norm:
        for each in gradients:
            each *= max_norm / (norm + 1e-6)
    return norm


# %% mutant="init_clip_norm"
# Creates new gradients
# The values are right, but each `.grad` is another tensor now. Clipping writes in place, because somebody else may
# hold the gradient.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    parameters = [each for each in parameters if each.grad is not None]
    if not parameters:
        return zeros(())
    sizes = [each.grad.abs() for each in parameters]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for each in parameters:
        each.grad = each.grad * factor
    return norm


# %% mutant="init_clip_norm"
# Adds the norms
# The total norm of several tensors isn't the sum of their norms. Square each norm before you add, and take the root
# of the sum.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() ** (1 / norm_type) for each in sizes]).sum()
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% mutant="init_clip_norm"
# Returns the norm afterwards
# The gradients are right. The return value is useful for logging because it is the norm *before* clipping; afterwards
# it is at most the limit.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm * factor


# %% mutant="init_clip_norm"
# Handles a single order
# This is right for the usual order 2, but norm_type may ask for others, such as the sum of absolute values, or the
# largest.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    norm = stack([(grad * grad).sum() for grad in grads]).sum().sqrt()
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% mutant="init_clip_norm"
# Returns nothing
# The gradients are right. The result should be the norm from before, which people log.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)


# %% mutant="init_clip_norm"
# Forgets the millionth
# The factor is max_norm / (norm + 1e-6). The millionth matters if the norm is about as small, and without it 0 / 0
# would be nan.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    for grad in grads:
        grad.mul_((max_norm / norm).clamp(max=1.0))
    return norm


# %% mutant="init_clip_norm"
# Iterates over the rows of a tensor
# `parameters` may be a single tensor. A loop over it yields its rows, which have no gradients, while `gradients_of`
# handles both cases.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = [each.grad for each in parameters if each.grad is not None]
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% mutant="init_clip_norm"
# Iterates over the parameters twice
# `model.parameters()` is an iterator, so a second loop finds nothing left, and no gradient is clipped. Make a list
# first.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    sizes = [each.abs() for each in gradients_of(parameters)]
    if not sizes:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in gradients_of(parameters):
        grad.mul_(factor)
    return norm


# %% mutant="init_clip_norm"
# Uses Python's max
# Python's `max` compares, and a comparison with nan is False, so a nan that isn't first gets lost. `stack(…).amax()`
# keeps it.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = max(each.amax() for each in sizes)
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% mutant="init_clip_norm"
# Handles the orders 1, 2 and infinity only
# norm_type can be any order: the powers |g| ** norm_type are summed, and the sum is raised to 1 / norm_type.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([grad.abs().amax() for grad in grads]).amax()
    elif norm_type == 1:
        norm = stack([grad.abs().sum() for grad in grads]).sum()
    else:
        norm = stack([(grad * grad).sum() for grad in grads]).sum() ** 0.5
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% mutant="init_clip_norm"
# Forgets the signs
# For an odd order the powers of negative numbers are negative, so they cancel the others. Take `abs()` first.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    if norm_type == float("inf"):
        norm = stack([grad.abs().amax() for grad in grads]).amax()
    else:
        norm = stack([(grad**norm_type).sum() for grad in grads]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% mutant="init_clip_norm"
# Gives the gradients new memory
# The tensors are the same, but `.data = …` gives them other memory, so a view of a gradient keeps the old values.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.data = grad * factor
    return norm


# %% mutant="init_clip_norm"
# Refuses too late
# When the error is raised, all gradients are nan already. Check before you write, so that they can still be examined.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    return norm


# %% mutant="init_clip_norm"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    from minitorch.nn import utils

    return utils.clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


# %% mutant="init_clip_norm"
# Records what it does
# The values are right, but a gradient may have a history itself, and then norm and scaling are recorded, too. Decorate
# the function with `@no_grad()`.
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


# %% [markdown] exercise="init_backward_by_hand" kind="build" points=3
# ### Exercise 5 · A backward pass by hand
# This is the whiteboard classic: a two-layer classifier in plain NumPy, with its loss and all its gradients. Autograd
# is switched off in the check. Where a unit is exactly 0 before its ReLU, the derivative is 0, as in PyTorch.
#
# `hidden = relu(x @ w1.T + b1)`, `scores = hidden @ w2.T + b2`, and the loss is minus the mean, over the batch, of
# `log_softmax(scores)` at the correct class. Return the loss and a dict of the gradients of `w1`, `b1`, `w2` and
# `b2`.


# %% solution="init_backward_by_hand"
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    """The mean negative log-likelihood, and its gradients by name.

    x: (batch, inputs); w1: (hidden, inputs); w2: (classes, hidden); labels: (batch,), numbers of classes.
    """
    ### BEGIN SOLUTION
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    loss = -logs[batch, labels].mean()

    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2 * (before > 0)
    gradients = {
        "w1": d_before.T @ x,
        "b1": d_before.sum(0),
        "w2": d_scores.T @ hidden,
        "b2": d_scores.sum(0),
    }
    return loss, gradients
    ### END SOLUTION


# %% check="init_backward_by_hand"
generator = check.rng()
batch, inputs, hidden, classes = (int(size) for size in generator.permutation([3, 4, 5, 6]))
sizes = {"w1": (hidden, inputs), "b1": (hidden,), "w2": (classes, hidden), "b2": (classes,)}
parameters = {name: generator.normal(size=size) for name, size in sizes.items()}
parameters["w1"][0], parameters["b1"][0] = 0, 0  # a unit that is exactly 0 for every input
x = generator.normal(size=(batch, inputs))
labels = generator.integers(0, classes - 1, batch)  # no example of the last class
others = (labels + 1) % (classes - 1)  # the largest score can't be that of both labels
shown = {"labels": labels, "other labels": others}
for name, scale, wanted in (
    ("", 1, labels),
    (" at scores in the thousands", 5000, labels),
    (" at such scores, with the other labels", 5000, others),
):
    with torch.inference_mode():
        given = parameters | {"w2": scale * parameters["w2"]}
        loss, gradients = check.intact(loss_and_gradients, x, **given, labels=wanted)
    shown |= {f"loss{name}": float(loss)} | {f"gradient of {each}{name}": gradients[each] for each in sizes}
shown["of a single example"] = loss_and_gradients(x[:1], **parameters, labels=labels[:1])[1]
check.show(
    shown,
    rtol=1e-6,
    text="The loss and the four gradients of a random network, then of one whose scores are far from 0.",
)

# %% [markdown] hint="init_backward_by_hand"
# Go backwards, one line of the forward pass at a time, and give each gradient the shape of the value that it belongs
# to. That leaves a single choice for every product.

# %% [markdown] hint="init_backward_by_hand"
# The gradient of the scores is (probabilities minus 1 at the correct class), divided by the batch size. For a layer
# `y = h @ w.T + b`, the gradient of w is `dy.T @ h`, that of b is the sum of dy over the batch, and that of h is `dy
# @ w`.

# %% [markdown] hint="init_backward_by_hand"
# The gradient passes through the ReLU where its *input* was positive: `d_before = (d_scores @ w2) * (before > 0)`.
# Keep `before` from the forward pass, and subtract the largest score of each row before you compute exponentials.


# %% mutant="init_backward_by_hand"
# Forgets the mean
# The loss is a mean over the batch, so its gradient is divided by the batch size, too.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_before = d_scores @ w2 * (before > 0)
    found = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), found


# %% mutant="init_backward_by_hand"
# Applies ReLU to the gradient
# The derivative of ReLU depends on whether its input was positive, and not on whether the gradient is. Negative
# gradients pass, too.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    hidden = np.maximum(x @ w1.T + b1, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = np.maximum(d_scores @ w2, 0)
    found = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), found


# %% mutant="init_backward_by_hand"
# Skips the nonlinearity
# The forward pass has a ReLU but the backward pass has none, so units that were off get gradients.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    hidden = np.maximum(x @ w1.T + b1, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2
    found = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), found


# %% mutant="init_backward_by_hand"
# Takes the logarithm of a probability
# The gradients are right, but scores in the thousands overflow before they become probabilities.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    with np.errstate(all="ignore"):
        d_scores = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        loss = -np.log(d_scores[batch, labels]).mean()
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2 * (before > 0)
    found = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return loss, found


# %% mutant="init_backward_by_hand"
# Averages the gradients of the biases
# The division by the batch size has happened already, at the scores. Along the batch, gradients are summed.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2 * (before > 0)
    found = {"w1": d_before.T @ x, "b1": d_before.mean(0), "w2": d_scores.T @ hidden, "b2": d_scores.mean(0)}
    return -logs[batch, labels].mean(), found


# %% mutant="init_backward_by_hand"
# Lets the gradient through at 0
# In PyTorch the derivative of ReLU at exactly 0 is 0, so test `before > 0`. As a consequence, a unit whose weights
# and bias are all 0 never starts to learn.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2 * (before >= 0)
    found = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), found


# %% mutant="init_backward_by_hand"
# Sums over the batch
# The gradients match this loss, but the task asks for the mean over the batch: divide the loss and its gradients by
# the batch size.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_before = d_scores @ w2 * (before > 0)
    found = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].sum(), found


# %% mutant="init_backward_by_hand"
# Computes exponentials of the scores again
# The loss subtracts the largest score, but the gradient doesn't, so inf / inf is nan. The probabilities are
# `exp(logs)`.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    shifted = scores - scores.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    with np.errstate(all="ignore"):
        d_scores = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2 * (before > 0)
    found = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), found


# %% mutant="init_backward_by_hand"
# Subtracts the largest of all
# If the scores of one row are thousands below another's, all exponentials of that row are 0, and log 0 is -inf. Each
# row needs its own maximum.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max()
    with np.errstate(all="ignore"):
        logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2 * (before > 0)
    found = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), found


# %% mutant="init_backward_by_hand"
# Adds a transpose
# `w2` is (classes, hidden), and its gradient `d_scores.T @ hidden` has the same shape.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[batch, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2 * (before > 0)
    found = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": hidden.T @ d_scores, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), found


# %% mutant="init_backward_by_hand"
# Subtracts 1 in whole columns
# `d_scores[:, labels]` selects these columns in every row, while `d_scores[batch, labels]` selects one number for
# each row.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    batch = np.arange(len(x))
    before = x @ w1.T + b1
    hidden = np.maximum(before, 0)
    scores = hidden @ w2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    d_scores = np.exp(logs)
    d_scores[:, labels] -= 1
    d_scores /= len(x)
    d_before = d_scores @ w2 * (before > 0)
    found = {"w1": d_before.T @ x, "b1": d_before.sum(0), "w2": d_scores.T @ hidden, "b2": d_scores.sum(0)}
    return -logs[batch, labels].mean(), found


# %% mutant="init_backward_by_hand"
# Uses finite differences
# Finite differences are for testing a backward pass: they need two losses for each parameter, and at the kink of ReLU
# they give half a slope.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    def loss(w1, b1, w2, b2):
        scores = np.maximum(x @ w1.T + b1, 0) @ w2.T + b2
        scores = scores - scores.max(1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        return -logs[np.arange(len(x)), labels].mean()

    given = {"w1": w1, "b1": b1, "w2": w2, "b2": b2}
    found = {name: np.zeros_like(array) for name, array in given.items()}
    for name, array in given.items():
        for place in np.ndindex(array.shape):
            step = np.zeros_like(array)
            step[place] = 1e-5
            found[name][place] = (loss(**given | {name: array + step}) - loss(**given | {name: array - step})) / 2e-5
    return loss(**given), found


# %% mutant="init_backward_by_hand"
# Uses autograd
# There is no autograd at a whiteboard. Each gradient here is one product or one sum.
def loss_and_gradients(x, w1, b1, w2, b2, labels):
    leaves = {"w1": w1, "b1": b1, "w2": w2, "b2": b2}
    with torch.enable_grad():
        leaves = {name: torch.tensor(array, requires_grad=True) for name, array in leaves.items()}
        hidden = (torch.tensor(x) @ leaves["w1"].T + leaves["b1"]).relu()
        scores = hidden @ leaves["w2"].T + leaves["b2"]
        loss = torch.nn.functional.cross_entropy(scores, torch.tensor(labels))
        loss.backward()
    return loss.item(), {name: leaf.grad.numpy() for name, leaf in leaves.items()}


# %% [markdown] exercise="init_repair_flat" kind="repair" points=3
# ### Exercise 6 · A deep network that stays flat
# Somebody initializes a deep ReLU network by Kaiming's rule, with a uniform distribution. With three layers all is
# well, while with thirty the outputs are nearly 0, whatever the input:
#
# ```text
# RMS after layers 1, 10, 20, 30:  0.6  0.01  3e-05  3e-08
# ```
#
# Repair it. Keep `uniform_`, with one call for each weight, in the order of the layers, and keep the biases at 0.
# An optimizer may hold the parameters already, so they remain the same objects and stay trainable.


# %% solution="init_repair_flat"
def initialize(layers):
    """Initial values for linear layers with a ReLU after each, so that values keep their RMS in the forward pass."""
    for layer in layers:
        ### BEGIN SOLUTION
        fan_in = layer.weight.shape[1]
        bound = math.sqrt(3) * math.sqrt(2 / fan_in)
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        ### END SOLUTION
        ### BEGIN STUB
        # fan_in = layer.weight.shape[1]
        # bound = math.sqrt(2 / fan_in)
        # torch.nn.init.uniform_(layer.weight, -bound, bound)
        ### END STUB
        torch.nn.init.zeros_(layer.bias)


# %% check="init_repair_flat"
torch.manual_seed(check.seed())
widths = [int(width) for width in check.rng().integers(40, 90, 31)]
layers = [torch.nn.Linear(before, after) for before, after in pairwise(widths)]
data = torch.randn(50, widths[0])
parameters = [each for layer in layers for each in layer.parameters()]
initialize(layers)
now = [each for layer in layers for each in layer.parameters()]
sizes, h = [], data
for layer in layers:
    h = layer(h).relu()
    sizes.append(h.square().mean().sqrt().item())
check.show(
    {
        "widths of the first layers": widths[:4],
        "bounds of the initial weights": [layer.weight.abs().amax().item() for layer in layers[:3]],
        "largest bias": max(layer.bias.abs().amax().item() for layer in layers),
        "sizes after layers 1, 10, 20, 30": [sizes[place] for place in (0, 9, 19, 29)],
        "the same parameters, trainable": [
            all(new is old for new, old in zip(now, parameters, strict=True)),
            all(each.requires_grad for each in now),
        ],
    },
    rtol=1e-3,
    text="Thirty layers: the largest weight of each of the first three, and the RMS after some layers.",
)

# %% [markdown] hint="init_repair_flat"
# By what factor do the values shrink at each layer? Compute it from the figures above, and square it.

# %% [markdown] hint="init_repair_flat"
# The factor is about 0.57, and its square is about 1/3. Which uniform distribution has a third of the variance that
# it should have?

# %% [markdown] hint="init_repair_flat"
# A uniform distribution in ±b has the variance b²/3, so its standard deviation is b/√3. The bound is √3 times the
# standard deviation that you want.


# %% mutant="init_repair_flat"
# Uses a larger gain
# With a factor of 2 instead of √3 the values no longer vanish, but they explode by 2/√3 per layer. The right factor
# can be computed.
def initialize(layers):
    for layer in layers:
        bound = 2 * math.sqrt(2 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Omits the gain
# √(3 / fan_in) keeps the size through the product, but ReLU removes half of the mean square at each layer: √(6 /
# fan_in).
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(3 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Divides by the fan-out
# The bound is right for the gradients. In the forward pass, an output is a sum over the fan-in, the second dimension
# of the weight.
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[0])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Uses Xavier's rule
# √(6 / (fan_in + fan_out)) is Xavier's bound, for layers that keep the mean square. ReLU halves it, so the bound is
# √(6 / fan_in).
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / sum(layer.weight.shape))
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Estimates the factor from the figures
# 1 / 0.57 is close, but an error of 1.3 % in each layer becomes one of almost a half after thirty layers. Which
# number is it exactly?
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(2 / layer.weight.shape[1]) / 0.57
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Draws from a normal distribution
# These also keep the root mean square, because √(2 / fan_in) is a standard deviation, the argument of `normal_`. The
# task keeps `uniform_`.
def initialize(layers):
    for layer in layers:
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Draws positive weights only
# Weights that are all positive have a mean, so the values of a layer become nearly alike. The interval goes from
# -bound to bound.
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, 0, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Uses the slope of nn.Linear
# With a = √5 the gain is that of a leaky ReLU with this slope, 1/√3, which is the small initialization of nn.Linear
# again.
def initialize(layers):
    for layer in layers:
        torch.nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5))
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Draws the biases at random
# The weights are right, but the biases have to start at zero.
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.uniform_(layer.bias, -bound, bound)


# %% [markdown] exercise="init_measure_gain" kind="measure" points=2
# ### Exercise 7 · The gain of GELU
# `calculate_gain("gelu")` raises an error. Measure the gain for any function `nonlinearity`: by what factor must
# normally distributed numbers with mean square 1 be multiplied *after* the nonlinearity so that their mean square is
# 1 again? Use at least a million numbers, so that the second decimal is right; `torch.manual_seed(0)` before them
# makes the answer reproducible.


# %% solution="init_measure_gain"
def measured_gain(nonlinearity) -> float:
    """The factor by which the weights of a layer must be larger if `nonlinearity` comes before them."""
    ### BEGIN SOLUTION
    torch.manual_seed(0)
    values = nonlinearity(torch.randn(1_000_000))
    return values.square().mean().item() ** -0.5
    ### END SOLUTION


# %% check="init_measure_gain"
at, slope = (float(each) for each in check.rng().uniform(0.2, 0.8, 2).round(3))
F = torch.nn.functional
nonlinearities = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    f"clamp at {-at} and {at}": lambda x: x.clamp(-at, at),
    f"leaky ReLU with slope {slope}": lambda x: F.leaky_relu(x, slope),
}
inputs, largest = dict.fromkeys(nonlinearities, 0), dict.fromkeys(nonlinearities, 0.0)


def counted(name):
    """The function, with how many numbers it was tried on, and the largest of them."""

    def apply(x):
        inputs[name] += x.numel()
        largest[name] = max(largest[name], x.abs().max().item())
        return nonlinearities[name](x)

    return apply


gains = {name: float(measured_gain(counted(name))) for name in nonlinearities}
check.show(
    gains
    | {
        "each tried on a million numbers or more": [count >= 1_000_000 for count in inputs.values()],
        "some of them beyond 4, as 63 of a million normal ones are": [size > 4 for size in largest.values()],
    },
    rtol=0.008,
    text="The gain of each function.",
)

# %% [markdown] hint="init_measure_gain"
# Pass a million normally distributed numbers through the nonlinearity. What is their mean square, and what was it
# before?

# %% [markdown] hint="init_measure_gain"
# Multiplying numbers by c multiplies their mean square by c², so c is one over the root of the mean square.

# %% [markdown] hint="init_measure_gain"
# Compute `torch.randn(1_000_000)`, then `nonlinearity`, then `square().mean().item()`, and raise it to the power of
# -0.5.


# %% mutant="init_measure_gain"
# Divides by the standard deviation
# The mean of a ReLU's output isn't 0, and the next layer sums squares, mean included, while `std` and `var` subtract
# the mean. Take the root of the mean square.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return 1 / nonlinearity(torch.randn(1_000_000)).std().item()


# %% mutant="init_measure_gain"
# Uses the mean of the absolute values
# A layer sums squares, so the root of the mean square matters. The mean of |x| is another number.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return 1 / nonlinearity(torch.randn(1_000_000)).abs().mean().item()


# %% mutant="init_measure_gain"
# Returns what is left
# This is the root of the mean square after the nonlinearity. The gain compensates for it, so it is one over that.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return nonlinearity(torch.randn(1_000_000)).square().mean().item() ** 0.5


# %% mutant="init_measure_gain"
# Returns what is left, without the mean
# The standard deviation subtracts the mean, but the next layer sums squares, mean included: take the root of the mean
# square. Moreover, the gain compensates for it, so it is one over that.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return nonlinearity(torch.randn(1_000_000)).std().item()


# %% mutant="init_measure_gain"
# Forgets the root
# That is the factor for the mean square, or for the variance of the weights. The gain multiplies their standard
# deviation.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return 1 / nonlinearity(torch.randn(1_000_000)).square().mean().item()


# %% mutant="init_measure_gain"
# Draws from a uniform distribution
# Sums of many products are nearly normally distributed, while uniform numbers in ±√3 aren't, so a nonlinearity that
# treats large numbers differently has another gain.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    numbers = (torch.rand(1_000_000) * 2 - 1) * 3**0.5
    return nonlinearity(numbers).square().mean().item() ** -0.5


# %% mutant="init_measure_gain"
# Multiplies before the nonlinearity
# With numbers twice as large the answer differs, except for ReLU, because most nonlinearities have a different gain
# at each scale. Measure at mean square 1.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return 2 * nonlinearity(2 * torch.randn(1_000_000)).square().mean().item() ** -0.5


# %% mutant="init_measure_gain"
# Uses the derivatives
# How much of a gradient passes is another question. This is computed from the derivatives and not from the results.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    x = torch.randn(1_000_000).requires_grad_()
    nonlinearity(x).sum().backward()
    return x.grad.square().mean().item() ** -0.5


# %% [markdown] exercise="init_smooth" kind="core" points="2 1" part="mytorch.nn.activation:gelu mytorch.nn.activation:silu | mytorch.nn.utils:gradients_of mytorch.nn.utils:clip_grad_value_"
# ### Exercise 8 · Smooth activations, and clipping by value
# GELU and SiLU consist of operations that have derivatives already, so you write no backward formula. `erf(x)` is the
# error function. Clipping by value is the other way to keep gradients small; it clamps each element separately and
# thereby changes the direction.


# %% docstrings="init_smooth"
def gelu():
    """x·Φ(x): each number times the probability that a normal one is smaller, Φ(x) = (1 + erf(x / √2)) / 2.

    With "tanh", Φ(x) is (1 + tanh(√(2/π) · (x + 0.044715·x³))) / 2.

    Raises:
        RuntimeError: "approximate argument must be either none or tanh."

    Source: Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415
    """


def silu():
    """x·σ(x), with the logistic function σ(x) = 1 / (1 + exp(-x))."""


def gradients_of():
    """The gradients of one tensor or of several, as a list, without the tensors that have none.

    Several tensors come as any iterable, even one that can be consumed only once, such as `model.parameters()`.
    """


def clip_grad_value_():
    """Clamp each number of each gradient to [-clip_value, clip_value], in place.

    Nothing is recorded, even where a gradient has a history. `copy_(x, source)` overwrites a tensor.
    """


# %% check="init_smooth" raises="RuntimeError"
generator = check.rng()
x = mytorch.tensor(generator.normal(0, 3, 6).round(2))
limit = round(float(generator.uniform(0.5, 2)), 2)
F = mytorch.nn.functional


far = mytorch.tensor([-300.0, -89.0, -20.0, 0.0, 60.0, 300.0])


def both(function, x=x):
    """Values and gradients of an activation; or the error."""
    leaf, made = x.clone().requires_grad_(), []
    problem = check.error(lambda: made.append(function(leaf)))
    if problem is not None:
        return problem
    made[0].sum().backward()
    return made[0], leaf.grad


def leaf_with(gradient):
    made = mytorch.zeros(3, requires_grad=True)
    made.grad = gradient if gradient is None else mytorch.tensor(gradient)
    return made


numbers = [[float(each) for each in generator.normal(0, 3, 3).round(2)] for _ in range(3)]
numbers[0][0], numbers[1][1], numbers[2][2] = -9.0, 8.0, -7.0
leaves = [leaf_with(each) for each in (numbers[0], None, numbers[1])]
memory = leaves[0].grad.data_ptr()
found, of_none = mytorch.nn.utils.gradients_of(iter(leaves)), mytorch.nn.utils.gradients_of(leaves[1])
own = [each is leaf.grad for each, leaf in zip(found, leaves[::2], strict=False)]
mytorch.nn.utils.clip_grad_value_(iter(leaves), limit)
alone, frozen = leaf_with(numbers[2]), leaf_with([0.0, 0.0, 0.0]).requires_grad_(False)
mytorch.nn.utils.clip_grad_value_(alone, limit)
with_nan = leaf_with([float("nan"), *numbers[2][1:]])
mytorch.nn.utils.clip_grad_value_(with_nan, limit)
with_history = leaf_with(numbers[2])
with_history.grad = with_history.grad.requires_grad_() * 2
problem = check.error(mytorch.nn.utils.clip_grad_value_, [with_history], limit)
check.show(
    {
        "x": x,
        "gelu": both(lambda x: F.gelu(x)),
        "gelu, tanh": both(lambda x: F.gelu(x, approximate="tanh")),
        "gelu, another": [both(lambda x, word=word: F.gelu(x, approximate=word)) for word in ("sigmoid", "Tanh", None)],
        "silu": both(lambda x: F.silu(x)),
        "far from 0, in float32": [both(lambda x: F.silu(x), far), both(lambda x: F.gelu(x), far)],
        "of a number, of none, and of one": [F.silu(far[1]), F.gelu(far[:0]), F.gelu(far[:1], "tanh"), F.silu(far[:1])],
        "gradients": numbers,
        "limit": limit,
        "how many of these leaves have gradients, and of the second alone": [len(found), len(of_none)],
        "of a frozen tensor, whose gradient is 0": mytorch.nn.utils.gradients_of(frozen),
        "the list holds the gradients themselves": own,
        "clipped": [each.grad for each in leaves],
        "in place": leaves[0].grad.data_ptr() == memory,
        "one tensor": alone.grad,
        "with a nan": with_nan.grad,
        "a gradient with a history": problem or (with_history.grad.detach(), with_history.grad.grad_fn.name()),
    },
    rtol=1e-4,
    atol=1e-5,
    text="Values and gradients of activations, then gradients that were clipped.",
)

# %% [markdown] hint="init_smooth"
# `x / √2` is `input * 0.5**0.5`. Refuse an unknown `approximate` before you compute anything.

# %% [markdown] hint="init_smooth"
# In `gradients_of`, `isinstance(parameters, Tensor)` tells one from several, because a tensor can be iterated as
# well, row by row.

# %% [markdown] hint="init_smooth"
# `clip_grad_value_` is decorated with `@no_grad()`, and it calls `copy_(grad, grad.clamp(-clip_value, clip_value))`
# for each gradient.


# %% mutant="init_smooth"
# The whole tanh
# tanh goes from −1 to 1 and a probability from 0 to 1, so add 1 and halve.
def gelu(input, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    if approximate == "none":
        return input * (erf(input * 0.5**0.5) + 1) * 0.5
    return input * ((input + input**3 * 0.044715) * (2 / np.pi) ** 0.5).tanh()


# %% mutant="init_smooth"
# Without √2
# erf belongs to a normal distribution with variance ½. For variance 1 its argument is x / √2.
def gelu(input, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    if approximate == "none":
        return input * (erf(input) + 1) * 0.5
    inner = (input + input**3 * 0.044715) * (2 / np.pi) ** 0.5
    return input * (inner.tanh() + 1) * 0.5


# %% mutant="init_smooth"
# Accepts any approximation
# A misspelled word would silently choose the other formula, while PyTorch refuses it.
def gelu(input, approximate="none"):
    if approximate != "tanh":
        return input * (erf(input * 0.5**0.5) + 1) * 0.5
    inner = (input + input**3 * 0.044715) * (2 / np.pi) ** 0.5
    return input * (inner.tanh() + 1) * 0.5


# %% mutant="init_smooth"
# Scales all numbers alike
# That is clipping by norm. In clipping by value, a number within the limits stays as it is.
def clip_grad_value_(parameters, clip_value):
    for grad in gradients_of(parameters):
        largest = grad.detach().abs().amax().item()
        if largest > clip_value:
            copy_(grad.detach(), grad.detach() * (clip_value / largest))


# %% mutant="init_smooth"
# Clamps from above only
# Gradients have both signs, and −100 is as large as 100.
def clip_grad_value_(parameters, clip_value):
    for grad in gradients_of(parameters):
        copy_(grad.detach(), grad.detach().clamp(max=clip_value))


# %% mutant="init_smooth"
# Records the clipping
# Whoever made the gradients with `create_graph=True` needs *their* history and not that of the clipping.
def clip_grad_value_(parameters, clip_value):
    for grad in gradients_of(parameters):
        copy_(grad, grad.clamp(-clip_value, clip_value))


# %% mutant="init_smooth"
# Gives the parameter another tensor
# In place means that everyone who holds the gradient sees the clipped numbers.
def clip_grad_value_(parameters, clip_value):
    for each in [parameters] if isinstance(parameters, Tensor) else parameters:
        if each.grad is not None:
            each.grad = each.grad.detach().clamp(-clip_value, clip_value)
