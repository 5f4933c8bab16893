# %% [markdown]
# # Exercises · Activations and initialization
# Eight exercises, 21 points. Four of them add to your library: softmax, the initial values of weights, clipping and GELU. Those
# run inside files of `mytorch`: what a task or a docstring mentions is there; import anything else in the function.

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
# Twenty layers `h = (h @ w.T).relu()`, all 256 wide, each `w` from `xavier_normal_`, no biases. The lesson showed that the
# gradient of what goes *into the ReLUs* shrinks by √½ a layer in the backward pass: at layer 1 it is about 1/700 of that at
# layer 20. Now compare the gradients of the **weights**: `w.grad` of layer 1 with `w.grad` of layer 20. The first is
#
# - `"a"` about 1/700 of the last,
# - `"b"` about as large as the last,
# - `"c"` about 700 times the last.
#
# Set `prediction` to the letter. Don't run it first.

# %% solution="init_predict_vanishing"
### BEGIN SOLUTION
prediction = "b"
### END SOLUTION

# %% check="init_predict_vanishing"
check.show({"the gradient of the first weight": str(prediction).strip().lower()}, secret=True)

# %% [markdown] hint="init_predict_vanishing"
# What is the gradient of `w` in `y = h @ w.T`? It is made of two things, and both change with depth.

# %% [markdown] hint="init_predict_vanishing"
# It is `g.T @ h`: the gradient of y times the input of the layer. How large is g at layer 1, and how large at layer 20?
# How large is h?

# %% [markdown] hint="init_predict_vanishing"
# At layer 1 the input h has its full size, and g is 1/700 of what it was at the end. At layer 20 it is the other way
# round.

# %% mutant="init_predict_vanishing"
# Only looks at what comes back
# The gradient of a weight is the gradient of its result times its input. At layer 1 the first is small, but the input still has its full size.
prediction = "a"

# %% mutant="init_predict_vanishing"
# Only looks at the input
# The input of layer 1 is indeed 700 times that of layer 20, but the gradient that arrives there is 1/700. The two cancel.
prediction = "c"


# %% [markdown] exercise="init_softmax" kind="core" points="1 1 1" part="mytorch.nn.activation:softmax | mytorch.nn.activation:derivative.softmax | mytorch.nn.activation:log_softmax mytorch.nn.activation:derivative.log_softmax"
# ### Exercise 2 · Softmax and its logarithm
# Write both kernels, which take NumPy arrays (`np` is there), and both derivatives, which are made of tensor operations.
# Begin a kernel with `check_floats(x, dim, "softmax")` (or `"log_softmax"`); `normalize_dims(dim, x.ndim)` gives the axes
# for NumPy. A derivative is a function, as ReLU's in the lesson: first the gradient, then what it needs of `result` and the
# operation's arguments, by name.
#
# The logarithm of a softmax has its own kernel, because a probability that rounds to 0 has no logarithm. Write
# $\log \frac{e^{x_i}}{\sum_j e^{x_j}}$ as a difference, subtract the largest $x$ from all of them first, and no division is
# left. Its slopes are $\partial y_j / \partial x_i = 1_{i = j} - e^{y_i}$.
#
# For softmax's derivative, start from $\partial y_j / \partial x_i = y_j (1_{i = j} - y_i)$, where $1_{i=j}$ is 1 if $i = j$
# and else 0. For both, multiply by the gradient $g_j$ of $y_j$ and sum over $j$.
#
# The check uses scores in the thousands, rows with −∞, rows of nothing else (nan, as in PyTorch), and every dimension. It
# also takes the gradient of a gradient.


# %% docstrings="init_softmax"
def softmax():
    """Positive numbers that sum to 1 along `dim`: exp(x) / Σ exp(x).

    The largest number is subtracted first. That changes no result, and exp never sees a number above 0.
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
shown["float64 sums to 1 in twelve digits"] = bool((abs(sums - 1) < 1e-12).all())
check.show(
    shown,
    rtol=1e-4,
    atol=1e-5,
    text="The results, the gradients of the scores, and whether the inputs kept their numbers.",
)

# %% [markdown] hint="init_softmax"
# Subtract the largest number along the dimension, with `keepdims=True` so that it broadcasts. After that no power
# overflows, and one of them is 1.

# %% [markdown] hint="init_softmax"
# The logarithm of a softmax needs no division: the log of a quotient is a difference, and the log undoes the exp. What stays
# is the log of the sum. For the derivative, split $\sum_j g_j y_j (1_{i=j} - y_i)$ into two sums. In the first, only the term
# with $j = i$ is left; from the second you can take out $y_i$.

# %% [markdown] hint="init_softmax"
# Softmax: `result * (g - (g * result).sum(dim, keepdim=True))`. Log-softmax: its row is $x_i - \log \sum_j e^{x_j}$, and the
# slope of that log is the softmax, which is `result.exp()`: `g - result.exp() * g.sum(dim, keepdim=True)`.


# %% mutant="init_softmax"
# As written in the textbook
# The formula is right, and exp of a score above 88 is inf: inf / inf is nan. Subtract the largest score first.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    e = np.exp(x)
    return e / np.sum(e, normalize_dims(dim, x.ndim), keepdims=True)


# %% mutant="init_softmax"
# Subtracts the largest of all
# One row at 3000 takes all powers of the other rows to 0, and 0 / 0 is nan. Each row needs its own largest number.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    e = np.exp(x - np.max(x))
    return e / np.sum(e, normalize_dims(dim, x.ndim), keepdims=True)


# %% mutant="init_softmax"
# Always along the last dimension
# The sums run along the last dimension, whatever dim says. In (N, C, H, W) the classes are dimension 1.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(-1, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return e / np.sum(e, dims, keepdims=True)


# %% mutant="init_softmax"
# A sigmoid's derivative
# y (1 - y) is only the diagonal: what each probability does to its own score. Every score moves all probabilities of its row.
derivative("softmax", x=lambda g, result, dim: g * result * (1 - result))


# %% mutant="init_softmax"
# Sums the gradient by itself
# Sum the products g_j y_j. Here g is summed without its y_j, and the sum is multiplied by y_i twice.
derivative("softmax", x=lambda g, result, dim: result * g - result * result * g.sum(dim, keepdim=True))


# %% mutant="init_softmax"
# Sums over everything
# The sum of g·y belongs to a row. Here all rows are in it, so one sample's gradient depends on the others.
derivative("softmax", x=lambda g, result, dim: result * (g - (g * result).sum()))


# %% mutant="init_softmax"
# The logarithm of the softmax
# A probability of 1e-2000 is 0 in any float, and its logarithm -inf. Stay with logarithms: x - max - log of the sum.
def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return np.log(e / np.sum(e, dims, keepdims=True))


# %% mutant="init_softmax"
# Takes the result for probabilities
# The result of log_softmax is a logarithm. The formula needs the probabilities, its exp.
derivative("log_softmax", x=lambda g, result, dim: g - result * g.sum(dim, keepdim=True))


# %% mutant="init_softmax"
# Takes it for a cross-entropy
# g - p is right if g sums to 1 along the row. In general the probabilities are multiplied by that sum.
derivative("log_softmax", x=lambda g, result, dim: g - result.exp())


# %% mutant="init_softmax"
# Writes into the scores
# `x -= …` changes the array that it was given, which is the memory of the caller's tensor. `x = x - …` makes a new one.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    x -= np.max(x, dims, keepdims=True)
    e = np.exp(x)
    return e / np.sum(e, dims, keepdims=True)


# %% mutant="init_softmax"
# Writes into the logarithm's scores
# `x -= …` changes the array that it was given, which is the memory of the caller's tensor. `x = x - …` makes a new one.
def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    dims = normalize_dims(dim, x.ndim)
    x -= np.max(x, dims, keepdims=True)
    return x - np.log(np.sum(np.exp(x), dims, keepdims=True))


# %% mutant="init_softmax"
# Makes zeros of nan
# A row of nothing but -inf has no probabilities: 0/0 is nan, in PyTorch too. A zero would hide the mistake in the mask.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return np.nan_to_num(e / np.sum(e, dims, keepdims=True))


# %% mutant="init_softmax"
# Skips nan
# `nanmax` and `nansum` act as if the nan weren't there. A nan among the scores is a mistake somewhere, and the whole row shows it.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.nanmax(x, dims, keepdims=True))
    return e / np.nansum(e, dims, keepdims=True)


# %% mutant="init_softmax"
# Adds a millionth to the sum
# After the subtraction one power is 1, so the sum can't be 0 and needs no help. With more in it, the row no longer sums to 1.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return e / (np.sum(e, dims, keepdims=True) + 1e-6)


# %% mutant="init_softmax"
# Always float32
# The result has the dtype of the scores. Here float64 comes out as float32, and half of its digits are lost.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    dims = normalize_dims(dim, x.ndim)
    e = np.exp(x - np.max(x, dims, keepdims=True))
    return (e / np.sum(e, dims, keepdims=True)).astype(np.float32)


# %% mutant="init_softmax"
# Gives dim to NumPy
# The numbers are right. For a dimension that isn't there, PyTorch has an IndexError of its own, which `normalize_dims` raises.
def softmax(x, dim):
    check_floats(x, dim, "softmax")
    e = np.exp(x - np.max(x, dim, keepdims=True))
    return e / np.sum(e, dim, keepdims=True)


# %% mutant="init_softmax"
# Cuts the result's history
# The gradient is right, but a gradient of it needs to know that `result` depends on the scores too. Leave out `detach`.
derivative("softmax", x=lambda g, result, dim: result.detach() * (g - (g * result.detach()).sum(dim, keepdim=True)))


# %% mutant="init_softmax"
# Cuts the logarithm's history
# The gradient is right, but a gradient of it needs to know that `result` depends on the scores too. Leave out `detach`.
derivative("log_softmax", x=lambda g, result, dim: g - result.detach().exp() * g.sum(dim, keepdim=True))


# %% mutant="init_softmax"
# Forgets keepdim
# The sum has one dimension fewer than `result`, so it no longer broadcasts along its row: `sum(dim, keepdim=True)`.
derivative("softmax", x=lambda g, result, dim: result * (g - (g * result).sum(dim)))


# %% mutant="init_softmax"
# Sums along the last dimension
# The sum of g·y runs along the softmax's own dimension, which is the argument `dim`.
derivative("softmax", x=lambda g, result, dim: result * (g - (g * result).sum(-1, keepdim=True)))


# %% mutant="init_softmax"
# Takes the derivative of softmax
# This is softmax's own rule with its probabilities put in. The logarithm has cancelled one of the factors y.
derivative("log_softmax", x=lambda g, result, dim: result.exp() * (g - (g * result.exp()).sum(dim, keepdim=True)))


# %% mutant="init_softmax"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def softmax(x, dim):
    import minitorch

    return minitorch.softmax(minitorch.tensor(x), dim).numpy()


# %% [markdown] exercise="init_fans_and_gains" kind="core" points="1 1 1" part="mytorch.nn.init:calculate_gain | mytorch.nn.init:_calculate_fan_in_and_fan_out | mytorch.nn.init:xavier_std mytorch.nn.init:kaiming_std"
# ### Exercise 3 · Fans, gains and standard deviations
# Write four small functions, and `xavier_normal_`, `kaiming_uniform_` and the others work. Then the twenty layers of the
# lesson learn on your numbers. `math` is there. A weight may have any number of dimensions from two on.


# %% docstrings="init_fans_and_gains"
def calculate_gain():
    """By what factor weights must be larger so that numbers keep their size through this nonlinearity.

    1 for "linear", "conv1d", "conv2d" and "sigmoid", 5/3 for "tanh", √2 for "relu", and
    √(2 / (1 + slope²)) for "leaky_relu", whose slope is `param`, or 0.01 if that is None.

    Raises:
        ValueError: another name: "Unsupported nonlinearity softmax".
    """


def _calculate_fan_in_and_fan_out():
    """(fan_in, fan_out) of a weight (out, in, ...): the inputs of an output, and the outputs of an input.

    Of a convolution's weight (out, in, height, width), each of the in · height · width numbers under the
    window is an input of an output.

    Raises:
        ValueError: "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions".
    """


def xavier_std():
    """gain · √(2 / (fan_in + fan_out)).

    Source: Glorot and Bengio 2010, https://proceedings.mlr.press/v9/glorot10a.html
    """


def kaiming_std():
    """gain / √fan: the gain of the nonlinearity, whose parameter is `a`, and the fan that `mode` names.

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
shapes = [weight, kernel[..., 0], kernel, mytorch.zeros(out, inside, 2, rows, columns)]
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
    f"std of {mode} {name}": [init.kaiming_std(each, slope, mode, name) for each in (weight, kernel)]
    for mode in ("fan_in", "fan_out")
    for name in ("relu", "leaky_relu", "tanh")
}
problems = {
    "fans of a bias": (init._calculate_fan_in_and_fan_out, mytorch.zeros(3)),
    "gain of softmax": (init.calculate_gain, "softmax"),
    "mode fan": (init.kaiming_std, weight, 0.0, "fan", "relu"),
    "mode fan_avg": (init.kaiming_std, weight, 0.0, "fan_avg", "relu"),
}
check.show(
    {
        "shapes": [each.shape for each in shapes],
        "fans": [init._calculate_fan_in_and_fan_out(each) for each in shapes],
        "gains": {name: float(init.calculate_gain(name)) for name in names},
        f"gains of slopes None, 0, {slope} and {-slope}": leaky,
        "the squares of the slopes in them": [abs(round(2 / gain**2 - 1, 6)) for gain in leaky],
        "Xavier's std": [init.xavier_std(each, gain) for each, gain in ((weight, 1.0), (kernel, 5 / 3))],
    }
    | stds
    | drawn
    | {name: check.error(*call) for name, call in problems.items()},
    text="A weight of a linear layer and some of convolutions; then what is drawn with these numbers.",
)

# %% [markdown] hint="init_fans_and_gains"
# The shape is (out, in, height, width). One output is a sum over all inputs under the window. How many outputs does one
# input go to? A shape of two dimensions has a window of 1.

# %% [markdown] hint="init_fans_and_gains"
# `math.prod(tensor.shape[2:])` is the size of the window, 1 if there is none. Xavier's variance is
# `2 / (fan_in + fan_out)` times the square of the gain; Kaiming's is the square of the gain over one fan. Both functions
# want the root.

# %% [markdown] hint="init_fans_and_gains"
# The slope of leaky_relu may be 0, which Python takes for false: ask `param is None`. Its gain is
# `math.sqrt(2 / (1 + slope ** 2))`, so slope 0 gives that of relu.


# %% mutant="init_fans_and_gains"
# Exchanges the fans
# A weight is (out, in): y = x @ w.T. The first dimension counts the outputs.
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[0] * window, tensor.shape[1] * window


# %% mutant="init_fans_and_gains"
# Forgets the window
# Right for a linear layer. In a convolution each number under the window is an input: multiply by height · width.
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    return tensor.shape[1], tensor.shape[0]


# %% mutant="init_fans_and_gains"
# Takes slope 0 for a missing one
# `param or 0.01` is 0.01 for a slope of 0, which is a number like any other. Ask whether it is None.
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
# The mean square of the negative half is multiplied by slope², so that is what the gain contains.
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
# Takes a missing slope for 0
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
# Has windows of one or two dimensions
# A three-dimensional convolution has a weight of five dimensions: all from the third on are the window.
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    out, inside, rows, columns, *_ = *tensor.shape, 1, 1
    return inside * rows * columns, out * rows * columns


# %% mutant="init_fans_and_gains"
# Multiplies the fan-in alone by the window
# An input lies under the window at as many places as the window has, and goes to every output channel from each of them.
def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    return math.prod(tensor.shape[1:]), tensor.shape[0]


# %% mutant="init_fans_and_gains"
# Takes the gain under the root
# The gain multiplies the standard deviation. Under the root only its own root is left.
def xavier_std(tensor, gain):
    return math.sqrt(2 * gain / sum(_calculate_fan_in_and_fan_out(tensor)))


# %% mutant="init_fans_and_gains"
# Gives the bound
# √(6 / (fan_in + fan_out)) is the bound of the uniform draw, √3 times the standard deviation that is asked for.
def xavier_std(tensor, gain):
    return gain * math.sqrt(6 / sum(_calculate_fan_in_and_fan_out(tensor)))


# %% mutant="init_fans_and_gains"
# Takes any other mode for fan_out
# A mode with a typing error would go unnoticed. There are two modes; anything else is a ValueError.
def kaiming_std(tensor, a, mode, nonlinearity):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# %% mutant="init_fans_and_gains"
# Looks at the beginning of the mode
# "fan_avg" begins with "fan_" too, and is neither of the two modes.
def kaiming_std(tensor, a, mode, nonlinearity):
    if not mode.startswith("fan_"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# %% mutant="init_fans_and_gains"
# Loses the slope
# `a` is the slope of leaky_relu and changes the gain: `calculate_gain(nonlinearity, a)`.
def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


# %% mutant="init_fans_and_gains"
# One over the sum of the fans
# Xavier's variance is 1 over the mean of both fans, that is 2 over their sum.
def xavier_std(tensor, gain):
    return gain * math.sqrt(1 / sum(_calculate_fan_in_and_fan_out(tensor)))


# %% mutant="init_fans_and_gains"
# Gives the variance
# gain² / fan is the variance. What is asked for is the standard deviation, its root.
def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) ** 2 / (fan_in if mode == "fan_in" else fan_out)


# %% mutant="init_fans_and_gains"
# Ignores the mode
# It divides by the fan-in, whatever the mode says.
def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_fan_in_and_fan_out(tensor)[0])


# %% mutant="init_fans_and_gains"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def calculate_gain(nonlinearity, param=None):
    from minitorch.nn import init

    return init.calculate_gain(nonlinearity, param)


# %% [markdown] exercise="init_clip_norm" kind="core" points=3 part="mytorch.nn.utils:clip_grad_norm_"
# ### Exercise 4 · Clipping by norm
# Shrink the gradients of a model, all by one factor. `parameters` may also be a single tensor, or an iterator that runs only
# once. `stack([...])` makes one tensor of tensors without dimensions, and `zeros(())` is a 0. The function runs under
# `no_grad` already, and its file doesn't import `math`.
#
# A norm of nan isn't a special case: the factor is nan too, and then so are all gradients. Only `error_if_nonfinite` refuses
# it.


# %% docstrings="init_clip_norm"
def clip_grad_norm_():
    """Shrink all gradients by the same factor, in place, if together they are longer than `max_norm`.

    Their norm is that of all their numbers, as of one vector: (Σ |g|^norm_type)^(1 / norm_type), or the
    largest |g| if `norm_type` is infinite. The factor is max_norm / (norm + 1e-6), but at most 1.
    `gradients_of(parameters)` lists the gradients. It runs under `no_grad`, so nothing is recorded.

    Returns:
        The norm before clipping, a tensor without dimensions; 0 if there are no gradients.

    Raises:
        RuntimeError: the norm is inf or nan, and `error_if_nonfinite` (by
            `refuse_nonfinite(norm, norm_type)`).
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


length = float(np.sqrt(sum((array**2).sum() for array in arrays)))
check.show(
    {
        "gradients": arrays,
        "to half their norm": clipped(length / 2),
        "already short enough": clipped(length * 2),
        "the first one alone": clipped(0.1, chosen=lambda parameters: parameters[0]),
        "of order 3": clipped(0.5, norm_type=3),
        "by the largest": clipped(0.5, norm_type=float("inf")),
        "a millionth of them": clipped(length / 1e6, scale=np.float32(1e-6)),
        "no gradients": clipped(0.5, chosen=lambda parameters: parameters[3:]),
        "nan": clipped(0.5, spoil=float("nan")),
        "nan by the largest": clipped(0.5, spoil=float("nan"), norm_type=float("inf")),
        "nan, refused": clipped(0.5, spoil=float("nan"), error_if_nonfinite=True),
        "inf": clipped(0.5, spoil=float("inf")),
        "inf, refused": clipped(0.5, spoil=float("inf"), norm_type=3, error_if_nonfinite=True),
    },
    rtol=1e-4,
    text="The norm, the gradients afterwards, and whether they were changed in place, for several limits.",
)

# %% [markdown] hint="init_clip_norm"
# All gradients together are one long vector. Its squares are the squares of all tensors, so sum within each tensor, then
# over the tensors, and take the root once.

# %% [markdown] hint="init_clip_norm"
# For another order, take |g| to that power, sum, and take the result to 1/order. For an infinite order it is the largest
# of the largest: `amax()`.

# %% [markdown] hint="init_clip_norm"
# `factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)`, and then `grad.mul_(factor)` for each gradient: in place, and never
# by more than 1. Return the norm that you computed before.


# %% mutant="init_clip_norm"
# Clips each gradient by itself
# Each tensor is shortened to the limit by its own factor, so the direction of the step changes. There is one norm, of all of them.
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
# Stretches short gradients
# Without the bound at 1, gradients that are shorter than the limit are made longer: every step gets the same length.
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
# Shrinks only what is longer
# `nan > max_norm` is False, so a gradient of nan leaves the others as they are and the step goes on with some of them.
# PyTorch multiplies in any case, by a factor of at most 1.
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
# Makes new gradients
# The numbers are right, but each .grad is another tensor now. Clipping writes in place, for whoever holds the gradient.
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
# Sums the norms
# The norm of several tensors together isn't the sum of their norms: square each norm before you add, and take the root of the sum.
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
# The gradients are right. What is returned is worth logging because it is the norm *before* clipping; afterwards it is at most the limit.
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
# Knows one norm
# This is right for the usual order 2. norm_type asks for others: the sum of sizes, or the largest.
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
# The gradients are right. The norm from before is the result: it is what people log.
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
# The factor is max_norm / (norm + 1e-6). It matters where the norm is about as small: and 0 / 0 would be nan.
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
# Goes through the rows of a tensor
# `parameters` may be one tensor. A loop over it gives its rows, which have no gradients. `gradients_of` knows both cases.
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
# Goes through the parameters twice
# `model.parameters()` is an iterator: the second loop finds nothing left, and no gradient is clipped. Make a list first.
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
# Asks Python for the largest
# Python's `max` compares, and a comparison with nan is False, so a nan that isn't first gets lost. `stack(…).amax()` keeps it.
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
# Knows the orders 1, 2 and infinity
# norm_type can be any order: the powers |g| ** norm_type are summed, and the sum is taken to 1 / norm_type.
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
# For an odd order the powers of negative numbers are negative, and they cancel the others. Take `abs()` first.
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
# The tensors are the same, but `.data = …` puts other memory under them, and a view of a gradient keeps the old numbers.
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
# When the error comes, all gradients are nan already. Ask before you write, so that they can still be looked at.
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
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    from minitorch.nn import utils

    return utils.clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


# %% [markdown] exercise="init_backward_by_hand" kind="build" points=3
# ### Exercise 5 · A backward pass by hand
# The whiteboard classic: a two-layer classifier in plain NumPy, its loss and all its gradients. Autograd is switched off in
# the check. Where a unit is exactly 0 before its ReLU, the slope is 0, as in PyTorch.
#
# `hidden = relu(x @ w1.T + b1)`, `scores = hidden @ w2.T + b2`, and the loss is minus the mean, over the batch, of
# `log_softmax(scores)` at the right class. Return the loss and a dict of the gradients of `w1`, `b1`, `w2` and `b2`.


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
shown = {"labels": labels}
for name, scale in {"": 1, " at scores in the thousands": 5000}.items():
    with torch.inference_mode():
        loss, gradients = loss_and_gradients(x, **parameters | {"w2": scale * parameters["w2"]}, labels=labels)
    shown |= {f"loss{name}": float(loss)} | {f"gradient of {each}{name}": gradients[each] for each in sizes}
check.show(
    shown,
    rtol=1e-6,
    text="The loss and the four gradients of a random network, then of one whose scores are far from 0.",
)

# %% [markdown] hint="init_backward_by_hand"
# Go backwards, one line of the forward pass at a time, and give each gradient the shape of the thing it belongs to. That
# leaves one choice for every product.

# %% [markdown] hint="init_backward_by_hand"
# The gradient of the scores is (probabilities minus 1 at the right class) over the batch size. For a layer
# `y = h @ w.T + b`: w gets `dy.T @ h`, b gets the sum of dy over the batch, h gets `dy @ w`.

# %% [markdown] hint="init_backward_by_hand"
# Through the ReLU the gradient passes where its *input* was positive: `d_before = (d_scores @ w2) * (before > 0)`. Keep
# `before` from the forward pass, and subtract the largest score of each row before you take powers.


# %% mutant="init_backward_by_hand"
# Forgets the mean
# The loss is a mean over the batch, so its gradient is divided by the batch size too.
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
# ReLU's derivative asks whether its input was positive, not whether the gradient is: negative gradients pass too.
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
# Leaves out the nonlinearity
# The forward pass has a ReLU; the backward pass has none, so units that were off get gradients.
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
# The gradients are right, but scores in the thousands overflow before they are turned into probabilities.
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
# Averages the biases' gradients
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
# At exactly 0 ReLU's slope is 0 in PyTorch: ask `before > 0`. A unit whose weights and bias are all 0 never starts to learn.
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
# The gradients fit this loss, but the loss is the mean over the batch: it and its gradients are divided by the batch size.
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
# Takes powers of the scores again
# The loss subtracts the largest score, but the gradient doesn't: inf / inf is nan. The probabilities are `exp(logs)`.
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
# Where one row's scores are thousands below another's, all powers of that row are 0, and log 0 is -inf. Each row needs its own largest.
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
# Takes one more transpose
# `w2` is (classes, hidden), and its gradient has the same shape: `d_scores.T @ hidden`.
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
# `d_scores[:, labels]` takes these columns in every row. One number for each row is `d_scores[batch, labels]`.
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
# Tries out each number
# Differences of the loss are how a backward pass is tested: two losses for each number, and at the kink of ReLU half a slope.
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
# Asks autograd
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
# Somebody initializes a deep ReLU network by Kaiming's rule, with uniform numbers. With three layers all is well. With
# thirty the outputs are nearly 0, whatever the input:
#
# ```text
# size of the numbers after layers 1, 10, 20, 30:  0.6  0.01  3e-05  3e-08
# ```
#
# Repair it. Keep `uniform_`, one call for each weight, in the order of the layers, and the biases at 0.


# %% solution="init_repair_flat"
def initialize(layers):
    """First values for linear layers with a ReLU after each, so that numbers keep their size forwards."""
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
initialize(layers)
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
    },
    rtol=1e-3,
    text="Thirty layers: the largest weight of each of the first three, and the size of the numbers.",
)

# %% [markdown] hint="init_repair_flat"
# By what factor do the numbers shrink at each layer? Compute it from the figures above, and square it.

# %% [markdown] hint="init_repair_flat"
# The factor is about 0.57, and its square about 1/3. Which uniform numbers have a third of the variance that they should have?

# %% [markdown] hint="init_repair_flat"
# Uniform numbers in ±b have the variance b²/3, so their standard deviation is b/√3. The bound is √3 times the standard
# deviation that you want.


# %% mutant="init_repair_flat"
# Takes a larger gain
# A factor of 2 instead of √3: the numbers don't vanish any more, they explode by 2/√3 a layer. The right factor can be computed.
def initialize(layers):
    for layer in layers:
        bound = 2 * math.sqrt(2 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Leaves out the gain
# √(3 / fan_in) keeps the size through the product, but ReLU takes half of the mean square away at each layer: √(6 / fan_in).
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(3 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Divides by the fan-out
# The bound is right for the gradients. Forwards, a number is a sum over the fan-in, the second dimension of the weight.
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[0])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Takes Xavier's rule
# √(6 / (fan_in + fan_out)) is Xavier's bound, for layers that keep the mean square. ReLU halves it: √(6 / fan_in).
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / sum(layer.weight.shape))
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Reads the factor off the figures
# 1 / 0.57 is close, but an error of one percent in each layer is one of almost a half after thirty. Which number is it exactly?
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(2 / layer.weight.shape[1]) / 0.57
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Draws normal numbers
# These keep the root mean square too: √(2 / fan_in) is a standard deviation, which is what `normal_` takes. The task keeps `uniform_`.
def initialize(layers):
    for layer in layers:
        torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Draws from 0 on
# Weights that are all positive have a mean, and the numbers of a layer become nearly alike. The interval goes from -bound to bound.
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, 0, bound)
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Takes the slope of nn.Linear
# With a = √5 the gain is that of a leaky ReLU with this slope, 1/√3: the small start of nn.Linear again.
def initialize(layers):
    for layer in layers:
        torch.nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5))
        torch.nn.init.zeros_(layer.bias)


# %% mutant="init_repair_flat"
# Starts the biases at random
# The weights are right. The biases were to start at zero.
def initialize(layers):
    for layer in layers:
        bound = math.sqrt(6 / layer.weight.shape[1])
        torch.nn.init.uniform_(layer.weight, -bound, bound)
        torch.nn.init.uniform_(layer.bias, -bound, bound)


# %% [markdown] exercise="init_measure_gain" kind="measure" points=2
# ### Exercise 7 · The gain of GELU
# `calculate_gain("gelu")` raises. Measure it, for any function `nonlinearity`: by what factor must normal numbers with mean square
# 1 be multiplied *after* the nonlinearity so that their mean square is 1 again? Use at least a million numbers, so that the second
# decimal is right; `torch.manual_seed(0)` first makes the answer the same each time.


# %% solution="init_measure_gain"
def measured_gain(nonlinearity) -> float:
    """By what factor a layer's weights must be larger if `nonlinearity` comes before them."""
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
# Take a million normal numbers through the nonlinearity. What is their mean square? What was it before?

# %% [markdown] hint="init_measure_gain"
# Multiplying numbers by c multiplies their mean square by c². So c is one over the root of the mean square.

# %% [markdown] hint="init_measure_gain"
# `torch.randn(1_000_000)`, then `nonlinearity`, then `square().mean().item()`, to the power of -0.5.


# %% mutant="init_measure_gain"
# Divides by the standard deviation
# The mean of what a ReLU gives isn't 0, and the next layer sums squares, mean and all. `std` and `var` subtract the mean:
# take the root of the mean square.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return 1 / nonlinearity(torch.randn(1_000_000)).std().item()


# %% mutant="init_measure_gain"
# Takes the mean of the absolute values
# A layer sums squares, so what counts is the root of the mean square. The mean of |x| is another number.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return 1 / nonlinearity(torch.randn(1_000_000)).abs().mean().item()


# %% mutant="init_measure_gain"
# Says what is left
# This is the root of the mean square after the nonlinearity. The gain makes up for it: one over that.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return nonlinearity(torch.randn(1_000_000)).square().mean().item() ** 0.5


# %% mutant="init_measure_gain"
# Says what is left, without the mean
# The standard deviation subtracts the mean, and the next layer sums squares, mean and all: take the root of the mean
# square. And the gain makes up for it: one over that.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return nonlinearity(torch.randn(1_000_000)).std().item()


# %% mutant="init_measure_gain"
# Forgets the root
# That is the factor for the mean square, or the variance of the weights. The gain multiplies their standard deviation.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return 1 / nonlinearity(torch.randn(1_000_000)).square().mean().item()


# %% mutant="init_measure_gain"
# Draws uniform numbers
# Sums of many products are normally distributed, uniform numbers in ±√3 aren't: a nonlinearity that treats large numbers in its own way has another gain.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    numbers = (torch.rand(1_000_000) * 2 - 1) * 3**0.5
    return nonlinearity(numbers).square().mean().item() ** -0.5


# %% mutant="init_measure_gain"
# Multiplies before the nonlinearity
# With numbers twice as large the answer is another one, except for ReLU: most nonlinearities have a different gain at each scale. Measure at mean square 1.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    return 2 * nonlinearity(2 * torch.randn(1_000_000)).square().mean().item() ** -0.5


# %% mutant="init_measure_gain"
# Asks for the slope
# How much of a gradient gets through is another question. This is computed from the slopes, not from the results.
def measured_gain(nonlinearity) -> float:
    torch.manual_seed(0)
    x = torch.randn(1_000_000).requires_grad_()
    nonlinearity(x).sum().backward()
    return x.grad.square().mean().item() ** -0.5


# %% [markdown] exercise="init_smooth" kind="core" points="2 1" part="mytorch.nn.activation:gelu mytorch.nn.activation:silu | mytorch.nn.utils:gradients_of mytorch.nn.utils:clip_grad_value_"
# ### Exercise 8 · Smooth activations, and clipping by value
# GELU and SiLU are made of operations that have derivatives already, so you write no backward formula. `erf(x)` is the error
# function. Clipping by value is the other way to keep gradients small: each number by itself, which changes the direction.


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
    """The gradients of one tensor or of several, as a list, leaving out those that have none.

    Several come as anything that can be gone through once, such as `model.parameters()`.
    """


def clip_grad_value_():
    """Bring each number of each gradient, by itself, into [-clip_value, clip_value], in place.

    Nothing is recorded, also where a gradient has a history. `copy_(x, source)` overwrites a tensor.
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
mytorch.nn.utils.clip_grad_value_(iter(leaves), limit)
alone = leaf_with(numbers[2])
mytorch.nn.utils.clip_grad_value_(alone, limit)
with_history = leaf_with(numbers[2])
with_history.grad = with_history.grad.requires_grad_() * 2
problem = check.error(mytorch.nn.utils.clip_grad_value_, [with_history], limit)
check.show(
    {
        "x": x,
        "gelu": both(lambda x: F.gelu(x)),
        "gelu, tanh": both(lambda x: F.gelu(x, approximate="tanh")),
        "gelu, another": both(lambda x: F.gelu(x, approximate="sigmoid")),
        "silu": both(lambda x: F.silu(x)),
        "far from 0, in float32": [both(lambda x: F.silu(x), far), both(lambda x: F.gelu(x), far)],
        "of a number, and of none": [F.silu(far[1]), F.gelu(far[:0]), F.gelu(far[:1], approximate="tanh")],
        "gradients": numbers,
        "limit": limit,
        "clipped": [each.grad for each in leaves],
        "in place": leaves[0].grad.data_ptr() == memory,
        "one tensor": alone.grad,
        "a gradient with a history": problem or (with_history.grad.detach(), with_history.grad.grad_fn.name()),
    },
    rtol=1e-4,
    atol=1e-5,
    text="Values and gradients of activations, then gradients that were clipped.",
)

# %% [markdown] hint="init_smooth"
# `x / √2` is `input * 0.5**0.5`. Refuse an unknown `approximate` before anything is computed.

# %% [markdown] hint="init_smooth"
# `gradients_of`: `isinstance(parameters, Tensor)` tells one from several. A tensor can be gone through as well: by rows!

# %% [markdown] hint="init_smooth"
# `clip_grad_value_` is decorated with `@no_grad()`, and for each gradient calls
# `copy_(grad, grad.clamp(-clip_value, clip_value))`.


# %% mutant="init_smooth"
# The whole tanh
# tanh goes from −1 to 1, a probability from 0 to 1: add 1 and halve.
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
# Takes any approximation
# A word with a typing error would choose the other formula without a sign. PyTorch refuses it.
def gelu(input, approximate="none"):
    if approximate != "tanh":
        return input * (erf(input * 0.5**0.5) + 1) * 0.5
    inner = (input + input**3 * 0.044715) * (2 / np.pi) ** 0.5
    return input * (inner.tanh() + 1) * 0.5


# %% mutant="init_smooth"
# Scales all alike
# That is clipping by norm. By value, a number within the limits stays as it is.
def clip_grad_value_(parameters, clip_value):
    for grad in gradients_of(parameters):
        largest = grad.detach().abs().amax().item()
        if largest > clip_value:
            copy_(grad.detach(), grad.detach() * (clip_value / largest))


# %% mutant="init_smooth"
# Cuts off above alone
# Gradients have both signs, and −100 is as large as 100.
def clip_grad_value_(parameters, clip_value):
    for grad in gradients_of(parameters):
        copy_(grad.detach(), grad.detach().clamp(max=clip_value))


# %% mutant="init_smooth"
# Records the clipping
# Whoever made the gradients with `create_graph=True` wants *their* history, not that of the clipping.
def clip_grad_value_(parameters, clip_value):
    for grad in gradients_of(parameters):
        copy_(grad, grad.clamp(-clip_value, clip_value))


# %% mutant="init_smooth"
# Gives the parameter another tensor
# In place means that who holds the gradient sees the clipped numbers.
def clip_grad_value_(parameters, clip_value):
    for each in [parameters] if isinstance(parameters, Tensor) else parameters:
        if each.grad is not None:
            each.grad = each.grad.detach().clamp(-clip_value, clip_value)
