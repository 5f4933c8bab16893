# %% [markdown]
# # Exercises · Activations and initialization
# Seven exercises, 18 points. Three of them add to your library: softmax, the first values of weights, and clipping. Those
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
# gradient of what goes *into* the layers shrinks by √½ a layer on its way back: at layer 1 it is about 1/700 of that at
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


# %% [markdown] exercise="init_softmax" kind="core" points=3 part="mytorch.nn.activation:softmax mytorch.nn.activation:derivative.softmax mytorch.nn.activation:log_softmax mytorch.nn.activation:derivative.log_softmax"
# ### Exercise 2 · Softmax and its logarithm
# Write both kernels, which take NumPy arrays (`np` is there), and both derivatives, which are made of tensor operations.
# Begin a kernel with `check_floats(x, dim, "softmax")` (or `"log_softmax"`); `normalize_dims(dim, x.ndim)` gives the axes
# for NumPy. A derivative is a function, as ReLU's in the lesson: first the gradient, then what it needs of `result` and the
# operation's arguments, by name.
#
# For the derivatives, start from $\partial y_j / \partial x_i = y_j (1_{i = j} - y_i)$, where $1_{i=j}$ is 1 if $i = j$
# and else 0. Multiply by the gradient $g_j$ of $y_j$ and sum over $j$.
#
# The check uses scores in the thousands, rows with −∞, and every dimension.

# %% check="init_softmax"
generator = check.rng()
size = tuple(int(length) for length in generator.permutation([1, 2, 3]) + 1)[:2]
scores = generator.normal(0, 2, (2, *size)).astype(np.float32)
weights = generator.normal(0, 1, (2, *size)).astype(np.float32)
far = np.float32([[0, 200, -150], [3000, 3001, 3003], [-4000, -4002, -4001]])
far += generator.integers(0, 9, (3, 1))
masked = scores[0].copy()
masked[:, 0] = -np.inf


def both(name, array, dim, weight=None):
    """The result along a dimension, and the gradient of the scores if the result has this one."""
    x = mytorch.tensor(array).requires_grad_()
    y = getattr(mytorch, name)(x, dim)
    if weight is None:
        return y.detach()
    problem = check.error(y.backward, mytorch.tensor(weight))
    return [y.detach(), x.grad if problem is None else repr(problem)]


shown = {"scores": scores}
for name in ("softmax", "log_softmax"):
    shown |= {f"{name}, dim {dim}": both(name, scores, dim, weights) for dim in (0, 1, -1)}
    shown[f"{name}, far from 0"] = both(name, far.astype(np.float32), 1)
    shown[f"{name}, masked"] = both(name, masked, 1)
    shown[f"{name} of one number"] = both(name, np.float32(3), 0)
    shown[f"{name} of integers"] = check.error(getattr(mytorch, name), mytorch.tensor([1, 2]), 0)
check.show(
    shown,
    rtol=1e-4,
    atol=1e-6,
    text="The results, and the gradients of the scores for a random gradient of the result.",
)

# %% [markdown] hint="init_softmax"
# Subtract the largest number along the dimension, with `keepdims=True` so that it broadcasts. After that no power
# overflows, and one of them is 1.

# %% [markdown] hint="init_softmax"
# The logarithm of a softmax needs no division: log of a quotient is a difference, and log of exp is nothing. What stays is
# the log of the sum. Derivatives: work out $\sum_j g_j y_j (1_{i=j} - y_i)$; the sum over j doesn't contain i but in one
# place.

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
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def softmax(x, dim):
    import minitorch

    return minitorch.softmax(minitorch.tensor(x), dim).numpy()


# %% [markdown] exercise="init_fans_and_gains" kind="core" points=3 part="mytorch.nn.init:calculate_gain mytorch.nn.init:_calculate_fan_in_and_fan_out mytorch.nn.init:xavier_std mytorch.nn.init:kaiming_std"
# ### Exercise 3 · Fans, gains and standard deviations
# Write four small functions, and `xavier_normal_`, `kaiming_uniform_` and the others work. Then the twenty layers of the
# lesson learn on your numbers. `math` is there.

# %% check="init_fans_and_gains"
generator = check.rng()
init = mytorch.nn.init
out, inside, rows, columns = (int(size) for size in generator.permutation([2, 3, 4, 5]))
slope = float(generator.integers(1, 9)) / 10
names = ("linear", "conv1d", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu")
weight, kernel = mytorch.zeros(out, inside), mytorch.zeros(out, inside, rows, columns)
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
}
check.show(
    {
        "shapes": [weight.shape, kernel.shape],
        "fans": [init._calculate_fan_in_and_fan_out(each) for each in (weight, kernel, kernel[..., 0])],
        "gains": {name: float(init.calculate_gain(name)) for name in names},
        f"gains of slopes 0, {slope} and -1": [
            float(init.calculate_gain("leaky_relu", each)) for each in (0, slope, -1)
        ],
        "Xavier's std": [init.xavier_std(each, gain) for each, gain in ((weight, 1.0), (kernel, 5 / 3))],
    }
    | stds
    | drawn
    | {name: check.error(*call) for name, call in problems.items()},
    text="A weight of a linear layer and one of a convolution; then what is drawn with these numbers.",
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
# The mean square of the negative half is multiplied by slope², so that is what stands in the gain.
def calculate_gain(nonlinearity, param=None):
    if nonlinearity in ("linear", "conv1d", "conv2d", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + abs(0.01 if param is None else param)))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


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
# Shrink the gradients of a model, all by one factor. `stack([...])` makes a tensor of tensors without dimensions, and
# `zeros(())` is a 0. The function runs under `no_grad` already, and its file has no `math`.
#
# A norm of nan is no exception: the factor is nan then, and so are all gradients. Whoever wants an error asks for it.

# %% check="init_clip_norm"
generator = check.rng()
arrays = [generator.normal(0, 2, size).astype(np.float32) for size in ((2, 3), (4,), (1, 2))]


def clipped(limit, *, nothing=False, spoil=None, **options):
    """The norm that is returned, the gradients afterwards, and whether they are the same tensors."""
    parameters = [mytorch.zeros(array.shape, requires_grad=True) for array in arrays]
    parameters.append(mytorch.zeros(2, requires_grad=True))  # has no gradient
    for parameter, array in zip(parameters, [] if nothing else arrays, strict=False):
        parameter.grad = mytorch.tensor(array)
    if spoil is not None:
        parameters[0].grad[0, 0] = spoil
    held = [parameter.grad for parameter in parameters]
    try:
        norm = mytorch.nn.utils.clip_grad_norm_(iter(parameters), limit, **options)
    except RuntimeError as error:
        norm = error
    same = all(parameter.grad is before for parameter, before in zip(parameters, held, strict=True))
    return [norm, [parameter.grad for parameter in parameters], same]


length = float(np.sqrt(sum((array**2).sum() for array in arrays)))
check.show(
    {
        "gradients": arrays,
        "to half their norm": clipped(length / 2),
        "already short enough": clipped(length * 2),
        "by the largest": clipped(0.5, norm_type=float("inf")),
        "by the sum of sizes": clipped(0.5, norm_type=1),
        "no gradients": clipped(0.5, nothing=True),
        "nan": clipped(0.5, spoil=float("nan")),
        "nan, refused": clipped(0.5, spoil=float("nan"), error_if_nonfinite=True),
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
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    from minitorch.nn import utils

    return utils.clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


# %% [markdown] exercise="init_backward_by_hand" kind="build" points=3
# ### Exercise 5 · A backward pass by hand
# The whiteboard classic: a two-layer classifier in plain NumPy, its loss and all its gradients, without autograd.
#
# `hidden = relu(x @ w1.T + b1)`, `scores = hidden @ w2.T + b2`, and the loss is the mean over the batch of
# `-log_softmax(scores)` at the right class. Return the loss and a dict of the gradients of `w1`, `b1`, `w2` and `b2`.


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
x, labels = generator.normal(size=(batch, inputs)), generator.integers(0, classes, batch)
loss, gradients = loss_and_gradients(x, **parameters, labels=labels)
large, _ = loss_and_gradients(x, **parameters | {"b2": 1000.0 * np.arange(classes)}, labels=labels)
check.show(
    {"labels": labels, "loss": float(loss)}
    | {f"gradient of {name}": gradients[name] for name in sizes}
    | {"loss at scores in the thousands": float(large)},
    rtol=1e-6,
    text="The loss of a random network, its four gradients, and a loss whose scores are far from 0.",
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
# Leaves out the bend
# The forward pass has a ReLU; the way back has none, so units that were off get gradients.
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


# %% [markdown] exercise="init_repair_flat" kind="repair" points=3
# ### Exercise 6 · A deep network that stays flat
# Somebody initializes a deep ReLU network by Kaiming's rule, with uniform numbers. At three layers all is well; at thirty
# the outputs for all inputs are alike:
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
        "bounds of the first weights": [layer.weight.abs().amax().item() for layer in layers[:3]],
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
# Calls kaiming_uniform_ as it is
# Nearly: without nonlinearity="relu" it takes leaky_relu with slope a, and a = √5 is what nn.Linear uses. That is the small start again.
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
# `calculate_gain("gelu")` raises. Measure it, for any function `bend`: by what factor must normal numbers with mean square
# 1 be multiplied *after* the bend so that their mean square is 1 again? Use at least a million numbers, so that the second
# decimal is right; `torch.manual_seed(0)` first makes the answer the same each time.


# %% solution="init_measure_gain"
def measured_gain(bend) -> float:
    """What a layer's weights must make up for when `bend` comes before them."""
    ### BEGIN SOLUTION
    torch.manual_seed(0)
    bent = bend(torch.randn(1_000_000))
    return bent.square().mean().item() ** -0.5
    ### END SOLUTION


# %% check="init_measure_gain"
at = float(check.rng().integers(2, 8)) / 10
F = torch.nn.functional
bends = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    f"clamp at {-at} and {at}": lambda x: x.clamp(-at, at),
}
check.show(
    {name: measured_gain(bend) for name, bend in bends.items()},
    rtol=0.006,
    text="The gain of each function: what weights must make up for.",
)

# %% [markdown] hint="init_measure_gain"
# A million normal numbers, bent. What is their mean square? What would it be without the bend?

# %% [markdown] hint="init_measure_gain"
# Multiplying numbers by c multiplies their mean square by c². So c is one over the root of the mean square.

# %% [markdown] hint="init_measure_gain"
# `torch.randn(1_000_000)`, then `bend`, then `square().mean().item()`, to the power of -0.5.


# %% mutant="init_measure_gain"
# Measures the variance
# The mean of what a ReLU gives isn't 0, and the next layer sums squares, mean and all: take the mean square, not the variance.
def measured_gain(bend) -> float:
    torch.manual_seed(0)
    return bend(torch.randn(1_000_000)).var().item() ** -0.5


# %% mutant="init_measure_gain"
# Forgets the root
# That is the factor for the mean square, or the variance of the weights. The gain multiplies their standard deviation.
def measured_gain(bend) -> float:
    torch.manual_seed(0)
    return 1 / bend(torch.randn(1_000_000)).square().mean().item()


# %% mutant="init_measure_gain"
# Draws uniform numbers
# Sums of many products are normally distributed, uniform numbers in ±√3 aren't: a bend that treats large numbers in its own way has another gain.
def measured_gain(bend) -> float:
    torch.manual_seed(0)
    numbers = (torch.rand(1_000_000) * 2 - 1) * 3**0.5
    return bend(numbers).square().mean().item() ** -0.5


# %% mutant="init_measure_gain"
# Multiplies before the bend
# With numbers twice as large the answer is another one, but for ReLU: most bends have no gain for all sizes. Measure at mean square 1.
def measured_gain(bend) -> float:
    torch.manual_seed(0)
    return 2 * bend(2 * torch.randn(1_000_000)).square().mean().item() ** -0.5


# %% mutant="init_measure_gain"
# Asks for the slope
# How much of a gradient gets through is another question: this is the mean square of the slopes.
def measured_gain(bend) -> float:
    torch.manual_seed(0)
    x = torch.randn(1_000_000).requires_grad_()
    bend(x).sum().backward()
    return x.grad.square().mean().item() ** -0.5
