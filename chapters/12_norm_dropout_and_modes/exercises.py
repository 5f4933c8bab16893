# %% [markdown]
# # Exercises · Normalization, dropout and modes
# Eight exercises, 20 points. Four of them add to your library: batch norm twice, layer norm and RMS norm, and dropout. They run
# inside a file of `mytorch`. The names that a task or a docstring mentions are there; import anything else in the cell.

# %% setup=true
from __future__ import annotations

import copy

import numpy as np

from course import check

# %% setup=true
import minitorch as torch

# %% [markdown] exercise="norm_predict_statistics" kind="predict" points=1
# ### Exercise 1 · Two statistics
# ```python
# bn = torch.nn.BatchNorm1d(1)          # momentum 0.1, the default
# bn(torch.tensor([[0.0], [4.0]]))
# bn.eval()(torch.tensor([[100.0], [200.0]]))
# print(bn.running_mean.item(), bn.running_var.item())
# ```
# Which two numbers are printed (with one decimal)? Set `prediction` to a list of two numbers; don't run the code first.

# %% solution="norm_predict_statistics"
### BEGIN SOLUTION
prediction = [0.2, 1.7]
### END SOLUTION

# %% check="norm_predict_statistics"
check.show({"ten times the statistics": [round(10 * float(each)) for each in prediction]}, secret=True)

# %% [markdown] hint="norm_predict_statistics"
# Which of the two calls changes the statistics? And where do they start?

# %% [markdown] hint="norm_predict_statistics"
# They start at mean 0 and variance 1, and move by a tenth towards the batch's.

# %% [markdown] hint="norm_predict_statistics"
# The mean of 0 and 4 is 2. The variance that is stored is the unbiased one: the squares of the distances sum to 8, over
# n − 1 = 1.

# %% mutant="norm_predict_statistics"
# The other momentum
# A momentum of 0.1 is the share of the new batch, not of the old statistics: 0.9 · 0 + 0.1 · 2.
prediction = [1.8, 7.3]

# %% mutant="norm_predict_statistics"
# The biased variance
# The batch is normalized by the biased variance, 4. The running variance takes the unbiased one, 8.
prediction = [0.2, 1.3]

# %% mutant="norm_predict_statistics"
# The batch itself
# After one batch the statistics have gone a tenth of the way: they start at 0 and 1.
prediction = [2.0, 8.0]

# %% mutant="norm_predict_statistics"
# The batch itself, with the biased variance
# After one batch the statistics have gone a tenth of the way: they start at 0 and 1. And the variance that is stored is
# the unbiased one, 8.
prediction = [2.0, 4.0]

# %% mutant="norm_predict_statistics"
# The other momentum, with the biased variance
# A momentum of 0.1 is the share of the new batch: 0.9 · 0 + 0.1 · 2. And the variance that is stored is the unbiased one, 8.
prediction = [1.8, 3.7]

# %% mutant="norm_predict_statistics"
# Counts the second batch
# In evaluation the statistics are used and stay as they are.
prediction = [15.2, 501.5]

# %% mutant="norm_predict_statistics"
# Counts the second batch, with the biased variance
# In evaluation the statistics are used and stay as they are. And the variance that is stored is the unbiased one.
prediction = [15.2, 251.2]

# %% mutant="norm_predict_statistics"
# A variance that starts at 0
# The running mean starts at 0, but the running variance at 1: 0.9 · 1 + 0.1 · 8.
prediction = [0.2, 0.8]

# %% mutant="norm_predict_statistics"
# A biased variance that starts at 0
# The running variance starts at 1, and what is stored is the unbiased variance, 8: 0.9 · 1 + 0.1 · 8.
prediction = [0.2, 0.4]

# %% mutant="norm_predict_statistics"
# No change at all
# A new layer is in training mode, so its first call moves the statistics. Nothing needs a backward pass.
prediction = [0.0, 1.0]


# %% [markdown] exercise="norm_batch_norm" kind="core" points="2 1 1" part="mytorch.nn.normalization:batch_norm mytorch.nn.normalization:batch_statistics mytorch.nn.normalization:update"
# ### Exercise 2 · Batch norm
# Write the function behind `BatchNorm1d` and `BatchNorm2d`, the statistics of a batch, and the update of the running ones.
# Start `batch_norm` with `check_channels(input, running_mean, running_var, weight, bias, training)`. The three functions
# are scored one by one, each with the other two as they should be.
#
# The backward pass comes from autograd, if you let the gradient through the batch's mean and variance. The statistics
# record no history and stay in the memory that they have.


# %% docstrings="norm_batch_norm"
def batch_norm():
    """Normalize each channel of (N, C, ...): (input - mean) / √(var + eps) · weight + bias.

    In training, mean and variance are the batch's, the variance with correction 0. The running
    statistics, if there are any, move towards the batch's: `update(running, new, momentum)`. There the
    new variance has correction 1. `batch_statistics(input)` gives all three.
    In evaluation the running statistics are used, and stay as they are.
    Weight and bias may be None, each by itself. `per_channel(v, input.ndim)` makes (C,) broadcast along
    the channels.

    Raises:
        ValueError, RuntimeError: the arguments don't fit together (by `check_channels`, which gets all
            but the last two).

    Source: Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167
    """


# %% check="norm_batch_norm" raises="ValueError"
generator = check.rng()
n, c, length = (int(size) for size in generator.permutation([3, 4, 5]))
momentum = float(generator.integers(2, 5)) / 10
over_the_batch = mytorch.nn.functional.batch_norm  # not under its own name, which is yours


def array(*size):
    return generator.normal(1, 2, size).astype(np.float32)


def normalized(x, affine, statistics, options):
    """Output, gradients, statistics, what their first memory holds, whether they have a history."""
    x = mytorch.tensor(x).requires_grad_()
    affine = [each if each is None else mytorch.tensor(each).requires_grad_() for each in affine]
    running = [mytorch.tensor(each) for each in statistics]
    held = [each.detach() for each in running]  # on the same memory
    y = over_the_batch(x, *(running or [None, None]), *affine, **options)
    weights = mytorch.tensor(np.linspace(-1, 1, y.numel()).reshape(y.shape).astype(np.float32))
    problem = check.error((y * y * weights).sum().backward)
    given = [each for each in affine if each is not None]
    gradients = [x.grad[0], *(each.grad for each in given)] if problem is None else repr(problem)
    numbers, history = [each.detach() for each in running], [each.requires_grad for each in running]
    return [y.detach()[0], gradients, numbers, held, history]


rows, sequences, images = array(n, c), array(n, c, length), array(n, c, length, 2)
affine, statistics = [array(c), array(c)], [array(c), np.abs(array(c)) + 1]
cases = {
    "rows, training": (rows, affine, statistics, {"training": True, "momentum": momentum}),
    "rows, evaluation": (rows, affine, statistics, {"momentum": momentum}),
    "sequences, training": (sequences, affine, statistics, {"training": True, "momentum": momentum}),
    "images, training": (images, affine, statistics, {"training": True, "momentum": momentum, "eps": 0.1}),
    "images, evaluation": (images, affine, statistics, {"eps": 0.1}),
    "no weight, bias, statistics": (rows, [None, None], [], {"training": True}),
    "no bias": (rows, [affine[0], None], [], {"training": True}),
    "no weight": (rows, [None, affine[1]], [], {"training": True}),
    "one value per channel": (rows[:1], affine, [], {"training": True}),
}
check.show(
    {
        "momentum": momentum,
        **{name: check.error(normalized, *case) or normalized(*case) for name, case in cases.items()},
    },
    rtol=1e-3,
    atol=1e-4,
    text="Output and gradient of the first sample, gradients of weight and bias, the statistics.",
)

# %% [markdown] hint="norm_batch_norm"
# The mean of a channel goes over all dimensions but the second: `(0, *range(2, input.ndim))`. A tensor with one number per
# channel needs the shape (C, 1, ...) to broadcast along the input: `per_channel(v, input.ndim)`.

# %% [markdown] hint="norm_batch_norm"
# In training: normalize by the first two of the batch's statistics, `input.mean(dims)` and `input.var(dims,
# correction=0)`; then move the running ones towards the first and the third. In evaluation mean and variance are simply
# the running ones.

# %% [markdown] hint="norm_batch_norm"
# `update`: under `no_grad()`, `running.copy_(...)` takes the sum of both, each times its share. `momentum` is the share of
# the new value, which is detached. The formula of `batch_norm`:
# `(input - mean) * (var + eps).rsqrt()`, all `per_channel`; then weight and bias, where they aren't None.


# %% mutant="norm_batch_norm"
# The mean of the batch dimension alone
# For rows that is right. In images a channel's mean goes over height and width, too.
def batch_statistics(input):
    rest = tuple(range(1, input.ndim - 1))
    mean, var, unbiased = input.mean(0), input.var(0, correction=0), input.var(0)
    return tuple(each.mean(rest) if rest else each for each in (mean, var, unbiased))


# %% mutant="norm_batch_norm"
# Normalizes by the unbiased variance
# The batch is normalized by its own variance, with correction 0. Only the running one estimates that of the data.
def batch_statistics(input):
    dims = (0, *range(2, input.ndim))
    return input.mean(dims), input.var(dims), input.var(dims)


# %% mutant="norm_batch_norm"
# Stores the biased variance
# The output is right. What is stored as the variance of the data should have correction 1.
def batch_statistics(input):
    dims = (0, *range(2, input.ndim))
    return input.mean(dims), input.var(dims, correction=0), input.var(dims, correction=0)


# %% mutant="norm_batch_norm"
# Exchanges the two variances
# The batch is normalized by the second, with correction 0. The third, which is stored, has correction 1.
def batch_statistics(input):
    dims = (0, *range(2, input.ndim))
    return input.mean(dims), input.var(dims), input.var(dims, correction=0)


# %% mutant="norm_batch_norm"
# Takes the statistics for constants
# The output is right, but mean and variance were detached: the gradient of the input lacks the two paths through them.
def batch_statistics(input):
    dims, plain = (0, *range(2, input.ndim)), input.detach()
    return plain.mean(dims), plain.var(dims, correction=0), plain.var(dims)


# %% mutant="norm_batch_norm"
# Knows rows and images alone
# BatchNorm1d also takes (N, C, L): three dimensions. The mean goes over all of them but dimension 1.
def batch_statistics(input):
    dims = (0, 2, 3) if input.ndim == 4 else (0,)
    found = input.mean(dims), input.var(dims, correction=0), input.var(dims)
    return tuple(each.mean(-1) if input.ndim == 3 else each for each in found)


# %% mutant="norm_batch_norm"
# All dimensions but the last
# In rows the last dimension is that of the channels. In (N, C, L) and (N, C, H, W) it is dimension 1.
def batch_statistics(input):
    flat = input.reshape(-1, input.shape[1])
    return flat.mean(0), flat.var(0, correction=0), flat.var(0)


# %% mutant="norm_batch_norm"
# Adds eps to the standard deviation
# eps is under the root: √(var + eps). Outside it hardly shows at 1e-5, but it does where eps is large or the
# variance small.
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    mean, var = running_mean, running_var
    if training:
        mean, var, unbiased = batch_statistics(input)
        if running_mean is not None:
            update(running_mean, mean, momentum)
            update(running_var, unbiased, momentum)
    result = (input - per_channel(mean, input.ndim)) / per_channel(var.sqrt() + eps, input.ndim)
    if weight is not None:
        result = result * per_channel(weight, input.ndim)
    return result if bias is None else result + per_channel(bias, input.ndim)


# %% mutant="norm_batch_norm"
# Notes the variance it normalizes by
# The running variance estimates that of all the data, so it moves towards the one with correction 1.
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    mean, var = running_mean, running_var
    if training:
        mean, var, _ = batch_statistics(input)
        if running_mean is not None:
            update(running_mean, mean, momentum)
            update(running_var, var, momentum)
    result = (input - per_channel(mean, input.ndim)) * per_channel((var + eps).rsqrt(), input.ndim)
    if weight is not None:
        result = result * per_channel(weight, input.ndim)
    return result if bias is None else result + per_channel(bias, input.ndim)


# %% mutant="norm_batch_norm"
# Normalizes by the variance it stores
# The batch is normalized by its own variance, with correction 0. The one with correction 1 is only stored.
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    mean, var = running_mean, running_var
    if training:
        mean, _, var = batch_statistics(input)
        if running_mean is not None:
            update(running_mean, mean, momentum)
            update(running_var, var, momentum)
    result = (input - per_channel(mean, input.ndim)) * per_channel((var + eps).rsqrt(), input.ndim)
    if weight is not None:
        result = result * per_channel(weight, input.ndim)
    return result if bias is None else result + per_channel(bias, input.ndim)


# %% mutant="norm_batch_norm"
# Normalizes by the running statistics in training, too
# In training the batch's own mean and variance are used. The running ones are only stored, for evaluation.
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    mean, var, unbiased = batch_statistics(input)
    if running_mean is not None:
        if training:
            update(running_mean, mean, momentum)
            update(running_var, unbiased, momentum)
        mean, var = running_mean, running_var
    result = (input - per_channel(mean, input.ndim)) * per_channel((var + eps).rsqrt(), input.ndim)
    if weight is not None:
        result = result * per_channel(weight, input.ndim)
    return result if bias is None else result + per_channel(bias, input.ndim)


# %% mutant="norm_batch_norm"
# Moves the statistics in evaluation
# In evaluation the running statistics are used, and stay as they are.
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    mean, var, unbiased = batch_statistics(input)
    if running_mean is not None:
        update(running_mean, mean, momentum)
        update(running_var, unbiased, momentum)
    if not training:
        mean, var = running_mean, running_var
    result = (input - per_channel(mean, input.ndim)) * per_channel((var + eps).rsqrt(), input.ndim)
    if weight is not None:
        result = result * per_channel(weight, input.ndim)
    return result if bias is None else result + per_channel(bias, input.ndim)


# %% mutant="norm_batch_norm"
# Adds the bias only where there is a weight
# Weight and bias are two arguments, and either of them may be None. Ask for each by itself.
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    check_channels(input, running_mean, running_var, weight, bias, training)
    mean, var = running_mean, running_var
    if training:
        mean, var, unbiased = batch_statistics(input)
        if running_mean is not None:
            update(running_mean, mean, momentum)
            update(running_var, unbiased, momentum)
    result = (input - per_channel(mean, input.ndim)) * per_channel((var + eps).rsqrt(), input.ndim)
    if weight is not None:
        result = result * per_channel(weight, input.ndim)
        if bias is not None:
            result = result + per_channel(bias, input.ndim)
    return result


# %% mutant="norm_batch_norm"
# Refuses nothing
# The numbers are right, but one value per channel has no variance, and other arguments don't fit together either. Call
# `check_channels` first.
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    mean, var = running_mean, running_var
    if training:
        mean, var, unbiased = batch_statistics(input)
        if running_mean is not None:
            update(running_mean, mean, momentum)
            update(running_var, unbiased, momentum)
    result = (input - per_channel(mean, input.ndim)) * per_channel((var + eps).rsqrt(), input.ndim)
    if weight is not None:
        result = result * per_channel(weight, input.ndim)
    return result if bias is None else result + per_channel(bias, input.ndim)


# %% mutant="norm_batch_norm"
# The momentum of an optimizer
# Here the momentum is the share of what is new: running · (1 - momentum) + new · momentum.
def update(running, new, momentum):
    with no_grad():
        running.copy_(running * momentum + new.detach() * (1 - momentum))


# %% mutant="norm_batch_norm"
# Gives the statistics other memory
# The numbers are right, but `.data = ...` moves the tensor to other memory. A state dict that was taken before doesn't
# follow. Write into it: `copy_`.
def update(running, new, momentum):
    running.data = running * (1 - momentum) + new.detach() * momentum


# %% mutant="norm_batch_norm"
# Gives the name a new tensor
# Inside the function `running` now means another tensor; the layer's own stays as it was. Write into it: `copy_`.
def update(running, new, momentum):
    with no_grad():
        running = running * (1 - momentum) + new.detach() * momentum


# %% mutant="norm_batch_norm"
# Records the update
# The numbers are right, but the statistics now have a history: they keep the graph of every batch alive.
def update(running, new, momentum):
    running.copy_(running * (1 - momentum) + new * momentum)


# %% mutant="norm_batch_norm"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    from minitorch.nn import functional

    return functional.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


# %% [markdown] exercise="norm_layer_norm" kind="core" points="2 1" part="mytorch.nn.normalization:layer_norm mytorch.nn.normalization:rms_norm"
# ### Exercise 3 · Layer norm and RMS norm
# Write the same formula within each sample: mean and variance go over the last dimensions, those of `normalized_shape`.
# `rms_norm` leaves out the mean and the bias, and divides by the root mean square. Start both with
# `check_ending(input, normalized_shape)`. The machine epsilon of an input's type is `float(np.finfo(input.dtype.numpy).eps)`.


# %% docstrings="norm_layer_norm"
def layer_norm():
    """Normalize each sample over its last dimensions: (input - mean) / √(var + eps) · weight + bias.

    `normalized_shape` is the shape of these dimensions. Weight and bias have it too; each may be None.
    The variance has correction 0. Training and evaluation are the same.

    Raises:
        RuntimeError: the input doesn't end with these dimensions (by
            `check_ending(input, normalized_shape)`).

    Source: Ba, Kiros and Hinton 2016, https://arxiv.org/abs/1607.06450
    """


def rms_norm():
    """Divide each sample by its root mean square over the last dimensions: input / √(mean(input²) + eps) · weight.

    `normalized_shape` is the shape of these dimensions. The weight has it too, or is None. An `eps` of None is
    the machine epsilon of the input's type. (PyTorch and the solution convert 16-bit inputs to float32 first, and
    take its epsilon. You don't have to.)

    Raises:
        RuntimeError: the input doesn't end with these dimensions.

    Source: Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467
    """


# %% check="norm_layer_norm" raises="RuntimeError"
generator = check.rng()
a, b, c = (int(size) for size in generator.permutation([2, 3, 4]))
over_the_end, by_size = mytorch.nn.functional.layer_norm, mytorch.nn.functional.rms_norm  # their own names are yours
x = generator.normal(2, 3, (a, b, c)).astype(np.float32)


def normalized(shape, weight=True, bias=True, eps=1e-5):
    given = mytorch.tensor(x).requires_grad_()
    arrays = [generator.normal(1, 1, shape).astype(np.float32) for _ in range(2)]
    parameters = [mytorch.tensor(each).requires_grad_() for each in arrays]
    affine = [each if wanted else None for each, wanted in zip(parameters, (weight, bias), strict=True)]
    y = over_the_end(given, shape, *affine, eps=eps)
    weights = mytorch.tensor(np.linspace(-1, 1, y.numel()).reshape(y.shape).astype(np.float32))
    problem = check.error((y * weights).sum().backward)
    gradients = [None if each.grad is None else each.grad.sum(0) for each in (given, *parameters)]
    return [y.detach()[0], gradients if problem is None else repr(problem)]


def divided(shape, weight=True, eps=None, dtype=mytorch.float32, size=1.0):
    """The first sample that RMS norm gives, or the error, and sums of the gradients of its input and weight."""
    given = mytorch.tensor(x * size, dtype=dtype).requires_grad_()
    scale, results = mytorch.tensor(generator.normal(1, 1, shape), dtype=dtype).requires_grad_(), []
    problem = check.error(lambda: results.append(by_size(given, shape, scale if weight else None, eps)))
    check.error(lambda: (results[0] * mytorch.linspace(-1, 1, x.size, dtype=dtype).reshape(x.shape)).sum().backward())
    gradients = [None if each.grad is None else each.grad.sum(0) for each in (given, scale)]
    return [results[0].detach()[0] if problem is None else f"{type(problem).__name__}: {problem}", gradients]


check.show(
    {
        "x": x,
        f"over {(c,)}": normalized((c,)),
        f"over {(b, c)}": normalized((b, c)),
        "over everything": normalized((a, b, c)),
        "no bias": normalized((c,), bias=False),
        "no weight": normalized((c,), weight=False),
        "neither weight nor bias": normalized((c,), weight=False, bias=False),
        "eps 0.5": normalized((b, c), eps=0.5),
        "another ending": check.error(over_the_end, mytorch.tensor(x), (b + 1, c)),
        f"RMS norm over {(c,)}": divided((c,)),
        f"RMS norm over {(b, c)}": divided((b, c)),
        "RMS norm without a weight": divided((c,), weight=False),
        "RMS norm with an eps of 0.5": divided((c,), eps=0.5),
        "RMS norm with an eps of 0": divided((c,), eps=0.0, size=1e-4),
        "RMS norm of small numbers": divided((c,), size=1e-4),
        "RMS norm of small numbers in float64": divided((c,), dtype=mytorch.float64, size=1e-4),
        "RMS norm of another ending": check.error(by_size, mytorch.tensor(x), (b + 1, c)),
    },
    rtol=1e-3,
    atol=1e-4,
    text="The first sample's output, and sums of the gradients of the input, weight and bias.",
)

# %% [markdown] hint="norm_layer_norm"
# With one dimension in `normalized_shape`, the mean goes over dimension −1; with two, over −2 and −1. How do you write
# that for any number?

# %% [markdown] hint="norm_layer_norm"
# `dims = tuple(range(-len(normalized_shape), 0))`. Keep these dimensions in the mean (`keepdim=True`), so that it
# broadcasts. Weight and bias broadcast by themselves: they have the shape of the end.

# %% [markdown] hint="norm_layer_norm"
# `distance = input - input.mean(dims, keepdim=True)`, and the variance is the mean of `distance * distance`, over n. Then
# `distance * (var + eps).rsqrt()`.


# %% mutant="norm_layer_norm"
# The last dimension only
# With two dimensions in normalized_shape, each sample has one mean over both.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    distance = input - input.mean(-1, keepdim=True)
    result = distance * ((distance * distance).mean(-1, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# The unbiased variance
# x.var() divides by n - 1. Layer norm divides by n: correction 0.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    result = (input - input.mean(dims, keepdim=True)) * (input.var(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# Takes the statistics for constants
# The output is right, but mean and variance were detached: the gradient of the input lacks the two paths through them.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims, plain = tuple(range(-len(normalized_shape), 0)), input.detach()
    mean, var = plain.mean(dims, keepdim=True), plain.var(dims, correction=0, keepdim=True)
    result = (input - mean) * (var + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# Counts dimensions from the front
# Dimension 0 is the batch. The dimensions to normalize are the last ones.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(len(normalized_shape)))
    distance = input - input.mean(dims, keepdim=True)
    result = distance * ((distance * distance).mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# Adds eps to the standard deviation
# Nearly right, but eps is added to the standard deviation, and it belongs under the root.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    distance = input - input.mean(dims, keepdim=True)
    result = distance / ((distance * distance).mean(dims, keepdim=True).sqrt() + eps)
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# One or two dimensions
# normalized_shape may have any number of dimensions: three, too.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = -1 if len(normalized_shape) == 1 else (-2, -1)
    distance = input - input.mean(dims, keepdim=True)
    result = distance * ((distance * distance).mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# All dimensions but the first
# normalized_shape says how many of the last dimensions share a mean. Of (N, T, C) with (C,) each of the N · T rows has
# a mean of its own.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(1, input.ndim))
    distance = input - input.mean(dims, keepdim=True)
    result = distance * ((distance * distance).mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# Adds the bias only where there is a weight
# Weight and bias are two arguments, and either of them may be None. Ask for each by itself.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    distance = input - input.mean(dims, keepdim=True)
    result = distance * ((distance * distance).mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
        if bias is not None:
            result = result + bias
    return result


# %% mutant="norm_layer_norm"
# Refuses nothing
# The numbers are right. But an input with another ending has to be refused: call `check_ending` first.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    dims = tuple(range(-len(normalized_shape), 0))
    distance = input - input.mean(dims, keepdim=True)
    result = distance * ((distance * distance).mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# RMS norm subtracts the mean
# That is layer norm without a bias. RMS norm divides by the root mean square of the numbers as they are.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    distance = input - input.mean(dims, keepdim=True)
    square = (distance * distance).mean(dims, keepdim=True)
    result = distance * (square + (float(np.finfo(input.dtype.numpy).eps) if eps is None else eps)).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# Divides by the norm
# The sum of the squares grows with the number of features. RMS norm takes their mean.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    square = (input * input).sum(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    result = input * (square + (float(np.finfo(input.dtype.numpy).eps) if eps is None else eps)).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# One eps for all types
# The default is the machine epsilon of the input's type: 1.2e-7 for float32, 2.2e-16 for float64.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    square = (input * input).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    result = input * (square + (1.1920929e-07 if eps is None else eps)).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# Takes an eps of 0 for none
# `eps or ...` replaces 0, too. Ask `is None`.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    square = (input * input).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    result = input * (square + (eps or float(np.finfo(input.dtype.numpy).eps))).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# Takes the root mean square for a constant
# The output is right, but the divisor was detached: the gradient lacks the path through it.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    plain = input.detach()
    square = (plain * plain).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    result = input * (square + (float(np.finfo(input.dtype.numpy).eps) if eps is None else eps)).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# RMS norm over the last dimension only
# With two dimensions in normalized_shape, each sample has one root mean square over both.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    square = (input * input).mean(-1, keepdim=True)
    result = input * (square + (float(np.finfo(input.dtype.numpy).eps) if eps is None else eps)).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    from minitorch.nn import functional

    return functional.layer_norm(input, normalized_shape, weight, bias, eps)


# %% [markdown] exercise="norm_dropout" kind="core" points="1 2" part="mytorch.nn.dropout:dropout mytorch.nn.dropout:dropout_noise"
# ### Exercise 4 · Dropout
# Write dropout, and the noise that it multiplies its input by. `bernoulli(probability, size)` gives a NumPy array of
# booleans, each True with this probability; `new(array, device)` makes a tensor of an array, and `x.dtype.numpy` is
# NumPy's name for the type of x. `copy_(x, y)` overwrites x with y and returns x: that is for `inplace=True`. A p below
# 0 or above 1 is refused in both modes, in PyTorch's words: "dropout probability has to be between 0 and 1, but got
# 1.5".
#
# To draw PyTorch's random numbers, ask `bernoulli` for what is *kept*.


# %% docstrings="norm_dropout"
def dropout():
    """In training, zero each number with probability p and divide the others by 1 - p.

    In evaluation, or if p is 0, the input itself is returned. Nothing is drawn if p is 0 or 1.
    `inplace` writes the result into the input and returns it.

    Raises:
        ValueError: p isn't between 0 and 1.

    Source: Srivastava et al. 2014, https://jmlr.org/papers/v15/srivastava14a.html
    """


# %% check="norm_dropout" raises="ValueError"
generator = check.rng()
p = float(generator.choice([0.2, 0.3, 0.4, 0.6, 0.7]))
size = tuple(int(length) for length in generator.integers(3, 7, 2))
drop = mytorch.nn.functional.dropout  # not under its own name, which is yours
numbers = generator.normal(3, 1, size).astype(np.float32)


def dropped(p, inplace=False):
    """Result and gradient; in place also whether the input came back, and what its memory holds."""
    mytorch.manual_seed(check.seed())
    x = mytorch.tensor(numbers).requires_grad_()
    given = x * 1
    held = given.detach()  # on the same memory
    y = drop(given, p, inplace=inplace)
    problem = check.error(y.sum().backward)
    shown = [y.detach(), x.grad if problem is None else repr(problem)]
    return [*shown, y is given, held] if inplace else shown


mytorch.cuda.simulate(1)
kinds = {"dtype": mytorch.float16}, {"dtype": mytorch.float64}, {"device": "cuda"}
others = [mytorch.ones(3, **kind) for kind in kinds]
x = mytorch.tensor(numbers)
check.show(
    {
        "p": p,
        "x": numbers,
        "dropout": dropped(p),
        "in place": dropped(p, inplace=True),
        "p = 1": dropped(1.0),
        "p = 1 in place": dropped(1.0, inplace=True),
        "the next random number": mytorch.rand(1),
        "evaluation is x, p = 0 is x": [drop(x, p, training=False) is x, drop(x, 0.0) is x],
        "a random number after these": mytorch.rand(1),
        "types of float16, float64, on a GPU": [
            check.error(drop, each, p) or str(drop(each, p).dtype) for each in others
        ],
        "p = 1.25": check.error(drop, x, 1.25),
        "p = -0.5, evaluation": check.error(drop, x, -0.5, training=False),
    },
    rtol=1e-5,
    text="Result and gradient; in place also whether x came back, and what is in its memory.",
)

# %% [markdown] hint="norm_dropout"
# Dropout is a product with noise that doesn't depend on x: then the gradient is right by itself. Which two values does the
# noise have?

# %% [markdown] hint="norm_dropout"
# `bernoulli(1 - p, x.shape)` is True where a number is kept. Divided by `1 - p` it is the noise; give it the type of x
# (`.astype(x.dtype.numpy)`) before you make a tensor of it.

# %% [markdown] hint="norm_dropout"
# In `dropout`: first the error for p; then `return input` if not training or p is 0; then the noise, which is plain 0.0 if
# p is 1; then the product, and `copy_(input, result)` if in place.


# %% mutant="norm_dropout"
# Doesn't scale
# What is kept has to grow by 1 / (1 - p). Otherwise the mean is smaller in training than in evaluation.
def dropout_noise(x, p):
    return new(bernoulli(1 - p, x.shape).astype(x.dtype.numpy), x.device)


# %% mutant="norm_dropout"
# Draws what is dropped
# The probabilities are right, but the random numbers are used the other way round: another pattern than PyTorch's for the same seed.
def dropout_noise(x, p):
    return new((~bernoulli(p, x.shape) / (1 - p)).astype(x.dtype.numpy), x.device)


# %% mutant="norm_dropout"
# Keeps with probability p
# p is the probability to be zeroed. This keeps a number with probability p.
def dropout_noise(x, p):
    return new((bernoulli(p, x.shape) / p).astype(x.dtype.numpy), x.device)


# %% mutant="norm_dropout"
# Scales in evaluation
# That was the original paper's way. PyTorch scales in training, and in evaluation returns the tensor itself.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0:
        return input
    if not training:
        return input * (1 - p)
    result = input * (0.0 if p == 1 else dropout_noise(input, p))
    return copy_(input, result) if inplace else result


# %% mutant="norm_dropout"
# Forgets inplace
# With `inplace=True` the result is written into the input, and the input is what comes back.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    return input * (0.0 if p == 1 else dropout_noise(input, p))


# %% mutant="norm_dropout"
# Noise of another type
# A boolean divided by a number is float64 in NumPy, and a float32 tensor times float64 noise is float64.
def dropout_noise(x, p):
    return new(bernoulli(1 - p, x.shape) / (1 - p), x.device)


# %% mutant="norm_dropout"
# Divides by zero at p = 1
# With p = 1 nothing is kept, and 0 / 0 is nan. PyTorch multiplies by zeros, and draws nothing.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    result = input * dropout_noise(input, p)
    return copy_(input, result) if inplace else result


# %% mutant="norm_dropout"
# Noise that is always float32
# float32 noise makes float32 of a float16 tensor. Ask for the type of x: `x.dtype.numpy`.
def dropout_noise(x, p):
    return new((bernoulli(1 - p, x.shape) / (1 - p)).astype("float32"), x.device)


# %% mutant="norm_dropout"
# Noise on the CPU
# Without a device `new` makes a tensor on the default one, and x may be on a GPU: `new(array, x.device)`.
def dropout_noise(x, p):
    return new((bernoulli(1 - p, x.shape) / (1 - p)).astype(x.dtype.numpy))


# %% mutant="norm_dropout"
# Gives the input other memory
# The numbers are right, but `.data = ...` moves the tensor to other memory. A view of it doesn't follow. Write into it:
# `copy_`.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    result = input * (0.0 if p == 1 else dropout_noise(input, p))
    if inplace:
        input.data = result
        return input
    return result


# %% mutant="norm_dropout"
# Writes in place under no_grad
# The numbers are right, but nothing recorded the product: the gradient doesn't see what was dropped. `copy_` has to be
# recorded.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    result = input * (0.0 if p == 1 else dropout_noise(input, p))
    if inplace:
        from mytorch import no_grad

        with no_grad():
            return copy_(input, result)
    return result


# %% mutant="norm_dropout"
# Forgets inplace where p is 1
# With p = 1 and `inplace=True` the zeros are written into the input, too.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0.0
    result = input * dropout_noise(input, p)
    return copy_(input, result) if inplace else result


# %% mutant="norm_dropout"
# Refuses only what is above 1
# A probability isn't negative either.
def dropout(input, p=0.5, training=True, inplace=False):
    if p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    result = input * (0.0 if p == 1 else dropout_noise(input, p))
    return copy_(input, result) if inplace else result


# %% mutant="norm_dropout"
# Looks at p in training only
# PyTorch refuses such a p in evaluation, too: the test comes before the first return.
def dropout(input, p=0.5, training=True, inplace=False):
    if not training or p == 0:
        return input
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    result = input * (0.0 if p == 1 else dropout_noise(input, p))
    return copy_(input, result) if inplace else result


# %% mutant="norm_dropout"
# Draws first, looks at the mode later
# Evaluating between two steps must not change the random numbers of the next step. Return before anything is drawn.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    result = input * (0.0 if p == 1 else dropout_noise(input, p))
    if not training or p == 0:
        return input
    return copy_(input, result) if inplace else result


# %% mutant="norm_dropout"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def dropout(input, p=0.5, training=True, inplace=False):
    from minitorch.nn import functional

    return functional.dropout(input, p, training, inplace)


# %% [markdown] exercise="norm_fold" kind="build" points=2
# ### Exercise 5 · Fold a batch norm away
# In evaluation a batch norm is a fixed scale and shift for each channel. After a linear layer it can be folded into it:
# before a model is shipped, `bn(linear(x))` becomes one `Linear`. Write the function that makes it. `linear` has a weight
# (out, in), and a bias or None; `bn` is in evaluation mode and has weight, bias, `running_mean`, `running_var` and `eps`.
# Neither layer may change.


# %% solution="norm_fold"
def folded(linear: torch.nn.Linear, bn: torch.nn.BatchNorm1d) -> torch.nn.Linear:
    """One linear layer that computes bn(linear(x)) as in evaluation mode."""
    ### BEGIN SOLUTION
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made
    ### END SOLUTION


# %% check="norm_fold"
torch.manual_seed(check.seed())
generator = check.rng()
inside, out = (int(size) for size in generator.permutation([3, 4, 5])[:2])
shown = {}
x = torch.randn(4, inside)
for has_bias in (True, False):
    torch.manual_seed(check.seed() + has_bias)  # whatever was drawn in between
    linear, bn = torch.nn.Linear(inside, out, bias=has_bias), torch.nn.BatchNorm1d(out, eps=0.1)
    with torch.no_grad():
        for each in (bn.weight, bn.bias, bn.running_mean):
            each.normal_()
        bn.running_var.uniform_(0.5, 2.0)
    before = [each.clone() for each in (*linear.parameters(), *bn.parameters(), *bn.buffers())]
    made = folded(linear, bn.eval())
    after = [*linear.parameters(), *bn.parameters(), *bn.buffers()]
    shown |= {
        f"a linear layer, bias {has_bias}": type(made).__name__,
        f"parameters, bias {has_bias}": {name: each.detach() for name, each in made.named_parameters()},
        f"output, bias {has_bias}": made(x).detach(),
        f"unchanged, bias {has_bias}": all(map(torch.equal, before, after)) and not bn.training,
    }
check.show(shown, rtol=1e-4, text="The folded layers' weights and biases, and what they compute.")

# %% [markdown] hint="norm_fold"
# Write down `bn(y)` with y = w·x + b, and collect what is multiplied by x and what isn't.

# %% [markdown] hint="norm_fold"
# With `scale = bn.weight / (bn.running_var + bn.eps).sqrt()`: bn(y) = (y − running_mean) · scale + bn.bias. A scale
# belongs to an output, so it multiplies a row of the weight.

# %% [markdown] hint="norm_fold"
# `weight = linear.weight * scale[:, None]` and `bias = (b - bn.running_mean) * scale + bn.bias`, with 0 for a missing b.
# Copy both into a new `Linear`, under `no_grad`.


# %% mutant="norm_fold"
# Forgets the old bias
# The old bias goes through the batch norm like everything else: it is scaled and shifted, too.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        made = torch.nn.Linear(linear.in_features, linear.out_features)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_(bn.bias - bn.running_mean * scale)
    return made


# %% mutant="norm_fold"
# Doesn't scale the mean
# The mean is subtracted before the scaling: (b - mean) · scale.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_(bias * scale - bn.running_mean + bn.bias)
    return made


# %% mutant="norm_fold"
# Forgets the batch norm's weight
# After the division each channel is multiplied by `bn.weight`, which belongs to the scale.
def folded(linear, bn):
    with torch.no_grad():
        scale = 1 / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made


# %% mutant="norm_fold"
# Leaves eps out
# Batch norm divides by √(var + eps). Without eps the scale is too large.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / bn.running_var.sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made


# %% mutant="norm_fold"
# Changes the layer itself
# The numbers are right, but the given layer was overwritten: batch norm after it would be applied twice.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        linear.weight.mul_(scale[:, None])
        linear.bias = torch.nn.Parameter((bias - bn.running_mean) * scale + bn.bias)
    return linear


# %% mutant="norm_fold"
# Writes into the old bias
# `bias -= ...` and `scale *= ...` write into the layer's own parameter. Make new tensors: `bias - bn.running_mean`.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features)
        made.weight.copy_(linear.weight * scale[:, None])
        bias -= bn.running_mean
        made.bias.copy_(bias * scale + bn.bias)
    return made


# %% mutant="norm_fold"
# No bias where there was none
# The batch norm has a shift of its own, so the folded layer needs a bias even if the linear layer had none.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features, bias=linear.bias is not None)
        made.weight.copy_(linear.weight * scale[:, None])
        if made.bias is not None:
            made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made


# %% mutant="norm_fold"
# Divides by the variance
# Batch norm divides by the standard deviation: the root of var + eps.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps)
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made


# %% [markdown] exercise="norm_repair_leak" kind="repair" points=3
# ### Exercise 6 · Statistics that leak
# Somebody wrote a small normalization layer. It trains, but memory grows with every step, and copying the best model
# fails:
#
# ```text
# >>> best = copy.deepcopy(model)
# RuntimeError: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. ...
# ```
#
# Repair the layer. A state dict that was taken before a step must see the new values after it, and in both modes the
# gradients of the input must stay as they are.


# %% solution="norm_repair_leak"
class Centre(torch.nn.Module):
    """Subtracts the mean of each column: in training that of the batch, in evaluation the running one."""

    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ### BEGIN SOLUTION
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        with torch.no_grad():
            self.running.mul_(1 - self.momentum).add_(mean * self.momentum)
        return x - mean
        ### END SOLUTION
        ### BEGIN STUB
        # if not self.training:
        #     return x - self.running
        # mean = x.mean(0)
        # self.running = (1 - self.momentum) * self.running + self.momentum * mean
        # return x - mean
        ### END STUB


# %% check="norm_repair_leak"
generator = check.rng()
features, momentum = int(generator.integers(2, 5)), float(generator.integers(2, 5)) / 10
layer = Centre(features, momentum)
held, gradients = layer.state_dict()["running"], []
for _ in range(3):
    x = torch.tensor(generator.normal(2, 1, (4, features)).astype(np.float32)).requires_grad_()
    weight = torch.tensor(generator.normal(0, 1, (4, features)).astype(np.float32))
    check.error((layer(x) * weight).sum().backward)
    gradients.append(x.grad)
after = layer.running.detach().clone()
layer.eval()
new = torch.tensor(generator.normal(2, 1, (2, features)).astype(np.float32)).requires_grad_()
output = layer(new)
check.error(output.sum().backward)
check.show(
    {
        "momentum": momentum,
        "gradients": gradients,
        "running mean": after,
        "has a history": layer.running.requires_grad,
        "a copy can be made": check.error(copy.deepcopy, layer) is None,
        "a state dict taken before sees": held.detach(),
        "evaluation": output.detach(),
        "gradient in evaluation": new.grad,
        "evaluation changed it": not torch.equal(layer.running.detach(), after),
        "in the state dict": list(layer.state_dict()),
    },
    rtol=1e-4,
    text="Three training steps and one evaluation.",
)

# %% [markdown] hint="norm_repair_leak"
# Print `layer.running` after one call. What stands at the end of the output that a plain buffer doesn't have?

# %% [markdown] hint="norm_repair_leak"
# It has a `grad_fn`: the running mean depends on the mean, the mean on x, and so on to all earlier batches. The update is
# bookkeeping; it must not be recorded.

# %% [markdown] hint="norm_repair_leak"
# Put the update under `torch.no_grad()`. And write into the buffer (`mul_`, `add_` or `copy_`) instead of giving the name
# a new tensor, so that others who hold it see it.


# %% mutant="norm_repair_leak"
# Detaches the mean for everything
# No history any more, but x - mean now treats the mean as a constant: the gradient of the input has changed.
class Centre(torch.nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.running
        mean = x.mean(0).detach()
        self.running.mul_(1 - self.momentum).add_(mean * self.momentum)
        return x - mean


# %% mutant="norm_repair_leak"
# Makes a new tensor
# No history any more, but the name gets a new tensor at each step, and a state dict that was taken before keeps the old one.
class Centre(torch.nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running = (1 - self.momentum) * self.running + self.momentum * mean.detach()
        return x - mean


# %% mutant="norm_repair_leak"
# Writes in place, but records it
# The buffer is the same tensor now, and still carries the graph of every batch: the update has to be under `no_grad`.
class Centre(torch.nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running.mul_(1 - self.momentum).add_(mean * self.momentum)
        return x - mean


# %% mutant="norm_repair_leak"
# Updates in evaluation, too
# In evaluation the running mean is used and stays as it is. Here every call moves it.
class Centre(torch.nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(0)
        with torch.no_grad():
            self.running.mul_(1 - self.momentum).add_(mean * self.momentum)
        return x - (mean if self.training else self.running)


# %% mutant="norm_repair_leak"
# Runs everything under no_grad
# Nothing is recorded any more, not even the subtraction: no gradient reaches the input.
class Centre(torch.nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    @torch.no_grad()
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running.mul_(1 - self.momentum).add_(mean * self.momentum)
        return x - mean


# %% mutant="norm_repair_leak"
# Gives the buffer other memory
# No history any more, but `.data = ...` moves the buffer to other memory. A state dict that was taken before doesn't
# follow. Write into it: `copy_`.
class Centre(torch.nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        self.running.data = (1 - self.momentum) * self.running + self.momentum * mean.detach()
        return x - mean


# %% mutant="norm_repair_leak"
# Evaluates under no_grad
# Evaluation mode doesn't mean that nobody wants gradients. Only the update must not be recorded.
class Centre(torch.nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            with torch.no_grad():
                return x - self.running
        mean = x.mean(0)
        with torch.no_grad():
            self.running.mul_(1 - self.momentum).add_(mean * self.momentum)
        return x - mean


# %% mutant="norm_repair_leak"
# Adds before it multiplies
# The share of the new batch is multiplied by 1 - momentum, too. First shrink what is old, then add what is new.
class Centre(torch.nn.Module):
    def __init__(self, features: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x - self.running
        mean = x.mean(0)
        with torch.no_grad():
            self.running.add_(mean * self.momentum).mul_(1 - self.momentum)
        return x - mean


# %% [markdown] exercise="norm_measure_dropout" kind="measure" points=2
# ### Exercise 7 · What dropout does to the mean square
# Dropout keeps the mean. What about the mean *square*, which the next layer's sums depend on? Write the experiment: by what
# factor does `dropout(x, p)` multiply the mean square of `x`? Measure it with the `dropout` and the numbers that you are
# given, and return a Python number. The check then tries several p, and a function that isn't dropout at all.


# %% solution="norm_measure_dropout"
def growth(dropout, x: torch.Tensor, p: float) -> float:
    """The mean square after dropout over the mean square before."""
    ### BEGIN SOLUTION
    return (dropout(x, p).square().mean() / x.square().mean()).item()
    ### END SOLUTION


# %% check="norm_measure_dropout"
torch.manual_seed(check.seed())
shift = float(check.rng().integers(1, 4))
centred, shifted = torch.randn(1_000_000), torch.randn(1_000_000) + shift
drop = torch.nn.functional.dropout
check.show(
    {
        "mean of the shifted numbers": shift,
        "centred": {str(p): growth(drop, centred, p) for p in (0.0, 0.2, 0.5, 0.75)},
        "shifted": {str(p): growth(drop, shifted, p) for p in (0.2, 0.5)},
        "constant": growth(drop, torch.full((1_000_000,), 3.0), 0.5),
        "x + p in place of dropout": growth(lambda x, p: x + p, shifted, 0.5),
    },
    rtol=0.02,
    text="The growth of the mean square, by p. Compare it with 1 / (1 - p).",
)

# %% [markdown] hint="norm_measure_dropout"
# What happens to the square of a number that is kept? How often is it kept?

# %% [markdown] hint="norm_measure_dropout"
# Compute the mean square before and after and divide. Do it with one call of dropout on all the numbers.

# %% [markdown] hint="norm_measure_dropout"
# `dropout(x, p).square().mean() / x.square().mean()`, as a Python number. Expect (1 − p) · (1 / (1 − p))².


# %% mutant="norm_measure_dropout"
# Compares variances
# The variance subtracts the mean's share. For numbers whose mean isn't 0 it grows by another factor.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    before = x.var()
    return (dropout(x, p).var() / (before + 1e-12)).item()


# %% mutant="norm_measure_dropout"
# Takes the root
# That is how the root mean square grows.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return (dropout(x, p).square().mean() / x.square().mean()).sqrt().item()


# %% mutant="norm_measure_dropout"
# Looks at what is kept alone
# The zeros belong to the mean, too. Among the kept numbers the growth is 1 / (1 - p)².
def growth(dropout, x: torch.Tensor, p: float) -> float:
    dropped = dropout(x, p)
    return (dropped[dropped != 0].square().mean() / x.square().mean()).item()


# %% mutant="norm_measure_dropout"
# Computes the formula
# That is what to expect of dropout. A measurement calls the function that it is given, whatever that does.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return 1 / (1 - p)


# %% mutant="norm_measure_dropout"
# Compares means
# The mean stays: that is what the scaling is for. The question is the mean of the squares.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return (dropout(x, p).mean() / x.mean()).item()


# %% mutant="norm_measure_dropout"
# Takes other numbers
# For dropout the factor is the same for any numbers, but not for every function. Measure with the x that you are given.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return dropout(torch.ones_like(x), p).square().mean().item()


# %% mutant="norm_measure_dropout"
# The mean of the ratios
# That is the mean of how much each square grows. The question is how much their mean grows: a ratio of two means.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return (dropout(x, p) / x).square().mean().item()


# %% mutant="norm_measure_dropout"
# Upside down
# The mean square after dropout is divided by the one before it.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return (x.square().mean() / dropout(x, p).square().mean()).item()


# %% [markdown] exercise="norm_module_state" kind="core" points=2 part="mytorch.nn.normalization:BatchNorm.__init__"
# ### Exercise 8 · What a batch norm has
# A layer with two parameters, three buffers, and options that leave some of them out. Make them: their names are the keys in
# the state dict of every saved batch norm, and a name that is registered with None stays free for a tensor that is loaded later.
# Begin with `super().__init__()`. `tensor(0, dtype=int64)` is a whole number as a tensor.


# %% docstrings="norm_module_state"
def __init__():
    """The options become attributes of the same names, and then:

    | name | kind | at first | None unless |
    |---|---|---|---|
    | `weight` | parameter | ones | `affine` |
    | `bias` | parameter | zeros | `affine` |
    | `running_mean` | buffer | zeros | `track_running_stats` |
    | `running_var` | buffer | ones | `track_running_stats` |
    | `num_batches_tracked` | buffer | 0, int64, without dimensions | `track_running_stats` |

    All but the last have `num_features` numbers. What isn't there is registered, too, as None.
    """


# %% check="norm_module_state" raises="TypeError"
generator = check.rng()
features = int(generator.integers(3, 7))
nn = mytorch.nn


def told(make):
    """All that a layer has: tensors by name, what requires gradients, empty names, and how it prints."""
    made = []
    problem = check.error(lambda: made.append(make()))
    if problem is not None:
        return problem
    layer = made[0]
    return {
        "state": dict(layer.state_dict()),
        "parameters": [name for name, _ in layer.named_parameters()],
        "buffers": [(name, each.requires_grad) for name, each in layer.named_buffers()],
        "empty names": sorted(
            name for table in (layer._parameters, layer._buffers) for name, each in table.items() if each is None
        ),
        "options": (layer.num_features, layer.eps, layer.momentum, layer.affine, layer.track_running_stats),
        "printed": repr(layer),
        "training": layer.training,
    }


def loaded():
    """A layer without statistics that is given some."""
    layer = nn.BatchNorm1d(features, track_running_stats=False)
    layer.running_mean = mytorch.ones(features)
    return list(layer.state_dict()), check.error(setattr, layer, "weight", mytorch.ones(features))


def trained():
    layer = nn.BatchNorm1d(features, momentum=0.5)
    before = layer.running_mean
    layer(mytorch.tensor(generator.normal(size=(8, features)).astype(np.float32)))
    return layer.running_mean is before, layer.num_batches_tracked, layer.running_mean, layer.running_var


check.show(
    {
        "plain": told(lambda: nn.BatchNorm1d(features)),
        "options by name": told(lambda: nn.BatchNorm2d(features, eps=0.1, momentum=None)),
        "options by place": told(lambda: nn.BatchNorm2d(features, 0.01, 0.3, False, True)),
        "no weight and bias": told(lambda: nn.BatchNorm1d(features, affine=False)),
        "no statistics": told(lambda: nn.BatchNorm1d(features, track_running_stats=False)),
        "a buffer that comes later": check.error(loaded) or loaded(),
        "after a batch": check.error(trained) or trained(),
    },
    text="What batch norms with several options have.",
)

# %% [markdown] hint="norm_module_state"
# Attributes can only be assigned after `super().__init__()`. Which of the five tensors does an optimizer have to see?

# %% [markdown] hint="norm_module_state"
# `self.register_parameter(name, Parameter(ones(num_features)) if affine else None)` and `self.register_buffer(name, …)`.
# `self.weight = None` would make an ordinary attribute.

# %% [markdown] hint="norm_module_state"
# Five calls: parameters "weight" and "bias"; buffers "running_mean" (zeros), "running_var" (ones) and "num_batches_tracked",
# `tensor(0, dtype=int64) if track_running_stats else None`.


# %% mutant="norm_module_state"
# Statistics as parameters
# An optimizer moves parameters. Running statistics aren't trained: they are buffers.
def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    super().__init__()
    self.num_features, self.eps, self.momentum = num_features, eps, momentum
    self.affine, self.track_running_stats = affine, track_running_stats
    self.register_parameter("weight", Parameter(ones(num_features)) if affine else None)
    self.register_parameter("bias", Parameter(zeros(num_features)) if affine else None)
    tracks = track_running_stats
    self.register_parameter("running_mean", Parameter(zeros(num_features)) if tracks else None)
    self.register_parameter("running_var", Parameter(ones(num_features)) if tracks else None)
    self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if tracks else None)


# %% mutant="norm_module_state"
# Leaves names out
# A name that isn't registered is an ordinary attribute: a tensor that is assigned to it later isn't saved.
def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    super().__init__()
    self.num_features, self.eps, self.momentum = num_features, eps, momentum
    self.affine, self.track_running_stats = affine, track_running_stats
    self.weight = Parameter(ones(num_features)) if affine else None
    self.bias = Parameter(zeros(num_features)) if affine else None
    self.running_mean = self.running_var = self.num_batches_tracked = None
    if track_running_stats:
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            del self.__dict__[name]
        self.register_buffer("running_mean", zeros(num_features))
        self.register_buffer("running_var", ones(num_features))
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64))


# %% mutant="norm_module_state"
# Starts at variance 0
# In evaluation, a variance of 0 would blow up everything that a layer without training sees: the running variance starts at 1.
def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    super().__init__()
    self.num_features, self.eps, self.momentum = num_features, eps, momentum
    self.affine, self.track_running_stats = affine, track_running_stats
    self.register_parameter("weight", Parameter(ones(num_features)) if affine else None)
    self.register_parameter("bias", Parameter(zeros(num_features)) if affine else None)
    tracks = track_running_stats
    self.register_buffer("running_mean", zeros(num_features) if tracks else None)
    self.register_buffer("running_var", zeros(num_features) if tracks else None)
    self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if tracks else None)


# %% mutant="norm_module_state"
# Counts in floating-point numbers
# The number of batches is a whole number, int64: PyTorch saves and loads it as one.
def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    super().__init__()
    self.num_features, self.eps, self.momentum = num_features, eps, momentum
    self.affine, self.track_running_stats = affine, track_running_stats
    self.register_parameter("weight", Parameter(ones(num_features)) if affine else None)
    self.register_parameter("bias", Parameter(zeros(num_features)) if affine else None)
    tracks = track_running_stats
    self.register_buffer("running_mean", zeros(num_features) if tracks else None)
    self.register_buffer("running_var", ones(num_features) if tracks else None)
    self.register_buffer("num_batches_tracked", zeros(1) if tracks else None)
