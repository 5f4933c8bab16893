# %% [markdown]
# # Exercises · Normalization, dropout and modes
# Four of the exercises add to your library: batch norm twice, layer norm with RMS norm, and dropout. Your functions run
# inside a file of `mytorch`, where all names that a task or a docstring mentions are defined; import anything else in
# the cell itself.

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
# Which two numbers are printed, to one decimal? Set `prediction` to a list of two numbers before you run the code.

# %% solution="norm_predict_statistics"
### BEGIN SOLUTION
prediction = [0.2, 1.7]
### END SOLUTION

# %% check="norm_predict_statistics"
check.show({"ten times the statistics": [round(10 * float(each)) for each in prediction]}, secret=True)

# %% [markdown] hint="norm_predict_statistics"
# Which of the two calls updates the running statistics, and which values do they start from?

# %% [markdown] hint="norm_predict_statistics"
# The running mean starts at 0 and the running variance at 1, and each of them moves a tenth of the way towards the
# batch's value.

# %% [markdown] hint="norm_predict_statistics"
# The mean of 0 and 4 is 2. The running variance uses the unbiased estimate, in which the squared distances sum to 8
# and are divided by n − 1 = 1.

# %% mutant="norm_predict_statistics"
# The other momentum
# With a momentum of 0.1 the new batch counts for a tenth, not the old statistics: 0.9 · 0 + 0.1 · 2.
prediction = [1.8, 7.3]

# %% mutant="norm_predict_statistics"
# The biased variance
# The batch itself is normalized by the biased variance, 4, but the running variance is updated with the unbiased one,
# 8.
prediction = [0.2, 1.3]

# %% mutant="norm_predict_statistics"
# The batch itself
# After one batch the running statistics have moved only a tenth of the way from their initial values, 0 and 1.
prediction = [2.0, 8.0]

# %% mutant="norm_predict_statistics"
# The batch itself, with the biased variance
# After one batch the running statistics have moved only a tenth of the way from their initial values, 0 and 1. In
# addition, the running variance is updated with the unbiased estimate, 8.
prediction = [2.0, 4.0]

# %% mutant="norm_predict_statistics"
# The other momentum, with the biased variance
# With a momentum of 0.1 the new batch counts for a tenth: 0.9 · 0 + 0.1 · 2. In addition, the running variance is
# updated with the unbiased estimate, 8.
prediction = [1.8, 3.7]

# %% mutant="norm_predict_statistics"
# Counts the second batch
# In evaluation mode the running statistics are used, but they aren't updated.
prediction = [15.2, 501.5]

# %% mutant="norm_predict_statistics"
# Counts the second batch, with the biased variance
# In evaluation mode the running statistics are used, but they aren't updated. In addition, the running variance is
# updated with the unbiased estimate.
prediction = [15.2, 251.2]

# %% mutant="norm_predict_statistics"
# A variance that starts at 0
# The running mean starts at 0, but the running variance starts at 1: 0.9 · 1 + 0.1 · 8.
prediction = [0.2, 0.8]

# %% mutant="norm_predict_statistics"
# A biased variance that starts at 0
# The running variance starts at 1, and it is updated with the unbiased estimate, 8: 0.9 · 1 + 0.1 · 8.
prediction = [0.2, 0.4]

# %% mutant="norm_predict_statistics"
# No change at all
# A new layer is in training mode, so its first call already updates the statistics, without any backward pass.
prediction = [0.0, 1.0]


# %% [markdown] exercise="norm_batch_norm" kind="core" points="2 1 1" part="mytorch.nn.normalization:batch_norm mytorch.nn.normalization:batch_statistics mytorch.nn.normalization:update"
# ### Exercise 2 · Batch norm
# Write the function behind `BatchNorm1d` and `BatchNorm2d`, together with the function that computes a batch's
# statistics and the one that updates the running statistics. `batch_norm` begins with `check_channels(input,
# running_mean, running_var, weight, bias, training)`. Each of the three functions is scored separately, while the
# other two are the reference's.
#
# Autograd derives the backward pass, provided that you let the gradient flow through the batch's mean and variance.
# The running statistics must not record any history, and they stay in the same memory. Inputs may lie far from 0,
# compared with their spread; so don't compute the variance as the mean of squares minus the square of the mean.


# %% docstrings="norm_batch_norm"
def batch_norm():
    """Normalizes each channel of (N, C, ...): (input - mean) / √(var + eps) · weight + bias.

    In training mode, mean and variance are those of the batch, and the variance has correction 0. If there
    are running statistics, `update(running, new, momentum)` moves them towards the batch's values, where the
    new variance has correction 1. `batch_statistics(input)` returns all three. In evaluation mode the running
    statistics are used and stay unchanged. Either of weight and bias may be None. `per_channel(v,
    input.ndim)` reshapes a tensor of shape (C,) so that it broadcasts along the channels.

    Raises:
        ValueError, RuntimeError: the arguments don't fit together (raised by `check_channels`, which takes all
            but the last two).

    Source: Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167
    """


# %% check="norm_batch_norm" raises="ValueError RuntimeError"
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
    y = check.intact(lambda x, *given: over_the_batch(x, *(running or [None, None]), *given, **options), x, *affine)
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
    "a momentum of 0": (rows, affine, statistics, {"training": True, "momentum": 0.0}),
    "no bias": (rows, [affine[0], None], [], {"training": True}),
    "no weight": (rows, [None, affine[1]], [], {"training": True}),
    "one value per channel": (rows[:1], affine, [], {"training": True}),
    "one channel of one sample": (
        sequences[:1, :1],
        [each[:1] for each in affine],
        [each[:1] for each in statistics],
        {"training": True},
    ),
    "a running mean of another length": (rows, affine, [array(c + 1), statistics[1]], {}),
    "a weight of another length": (rows, [array(c + 1), affine[1]], statistics, {}),
}
far = mytorch.tensor(rows + np.float32(30_000))  # where the square of the mean has no digits left for the variance
unrecorded = [mytorch.tensor(each) for each in statistics]
around_0 = over_the_batch(far, *unrecorded, training=True)
check.show(
    {
        "momentum": momentum,
        **{name: check.error(normalized, *case) or normalized(*case) for name, case in cases.items()},
        "the mean square of numbers far from 0": (around_0 * around_0).mean(0).numpy().round(1),
        "statistics of an input without gradient": unrecorded,
    },
    rtol=1e-3,
    atol=1e-4,
    text="Output and gradient of the first sample, gradients of weight and bias, the statistics.",
)

# %% [markdown] hint="norm_batch_norm"
# A channel's mean is taken over all dimensions except the second, `(0, *range(2, input.ndim))`. To broadcast along
# the input, a tensor with one value per channel needs the shape (C, 1, ...), which `per_channel(v, input.ndim)` gives
# it.

# %% [markdown] hint="norm_batch_norm"
# In training mode, normalize by the first two of the batch's statistics, `input.mean(dims)` and `input.var(dims,
# correction=0)`, and then move the running statistics towards the first and the third. In evaluation mode, mean and
# variance are simply the running ones.

# %% [markdown] hint="norm_batch_norm"
# In `update`, `running.copy_(...)` under `no_grad()` takes the sum of the old and the new value, each times its
# share; `momentum` is the share of the new value, which is detached. `batch_norm` computes `(input - mean) * (var +
# eps).rsqrt()`, with each factor passed through `per_channel`, and then applies weight and bias if they aren't None.


# %% mutant="norm_batch_norm"
# The mean of the batch dimension alone
# This is correct for rows, but in images a channel's mean is also taken over height and width.
def batch_statistics(input):
    rest = tuple(range(1, input.ndim - 1))
    mean, var, unbiased = input.mean(0), input.var(0, correction=0), input.var(0)
    return tuple(each.mean(rest) if rest else each for each in (mean, var, unbiased))


# %% mutant="norm_batch_norm"
# Normalizes by the unbiased variance
# A batch is normalized by its own variance with correction 0. Only the running variance, which estimates the variance
# of the data, uses correction 1.
def batch_statistics(input):
    dims = (0, *range(2, input.ndim))
    return input.mean(dims), input.var(dims), input.var(dims)


# %% mutant="norm_batch_norm"
# Stores the biased variance
# The output is correct, but the running variance estimates the variance of the data, so it should have correction 1.
def batch_statistics(input):
    dims = (0, *range(2, input.ndim))
    return input.mean(dims), input.var(dims, correction=0), input.var(dims, correction=0)


# %% mutant="norm_batch_norm"
# Exchanges the two variances
# A batch is normalized by the second value, which has correction 0, while the third, which is stored, has correction
# 1.
def batch_statistics(input):
    dims = (0, *range(2, input.ndim))
    return input.mean(dims), input.var(dims), input.var(dims, correction=0)


# %% mutant="norm_batch_norm"
# Takes the statistics for constants
# The output is correct, but mean and variance were detached, so the gradient of the input lacks the two paths through
# them.
def batch_statistics(input):
    dims, plain = (0, *range(2, input.ndim)), input.detach()
    return plain.mean(dims), plain.var(dims, correction=0), plain.var(dims)


# %% mutant="norm_batch_norm"
# Handles rows and images only
# BatchNorm1d also accepts three dimensions, (N, C, L), and the mean is taken over all of them except dimension 1.
def batch_statistics(input):
    dims = (0, 2, 3) if input.ndim == 4 else (0,)
    found = input.mean(dims), input.var(dims, correction=0), input.var(dims)
    return tuple(each.mean(-1) if input.ndim == 3 else each for each in found)


# %% mutant="norm_batch_norm"
# All dimensions but the last
# Only in rows is the last dimension that of the channels. In (N, C, L) and (N, C, H, W) the channels are dimension 1.
def batch_statistics(input):
    flat = input.reshape(-1, input.shape[1])
    return flat.mean(0), flat.var(0, correction=0), flat.var(0)


# %% mutant="norm_batch_norm"
# Adds eps to the standard deviation
# eps belongs under the root: √(var + eps). Outside the root it makes hardly any difference at 1e-5, but it does where
# eps is large or the variance is small.
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
# Stores the variance it normalizes by
# The running variance estimates the variance of all the data, so it moves towards the estimate with correction 1.
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
# A batch is normalized by its own variance with correction 0, while the variance with correction 1 is only stored.
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
# In training mode the batch's own mean and variance are used. The running ones are only stored, for use in
# evaluation.
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
# In evaluation mode the running statistics are used, but they aren't updated.
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
# Weight and bias are separate arguments, and either of them may be None, so test each one separately.
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
# The values are correct, but a channel with a single value has no variance, and there are other arguments that don't
# fit together. Call `check_channels` first.
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
# In batch norm, the momentum is the weight of the new value: running · (1 - momentum) + new · momentum.
def update(running, new, momentum):
    with no_grad():
        running.copy_(running * momentum + new.detach() * (1 - momentum))


# %% mutant="norm_batch_norm"
# Moves the statistics to new memory
# The values are correct, but `.data = ...` moves the tensor to new memory, so a state dict that was taken earlier no
# longer follows. Write into the tensor with `copy_`.
def update(running, new, momentum):
    running.data = running * (1 - momentum) + new.detach() * momentum


# %% mutant="norm_batch_norm"
# Rebinds the name to a new tensor
# Inside the function, `running` now names another tensor, and the layer's own stays as it was. Write into it with
# `copy_`.
def update(running, new, momentum):
    with no_grad():
        running = running * (1 - momentum) + new.detach() * momentum


# %% mutant="norm_batch_norm"
# Records the update
# The values are correct, but the running statistics now have a history, which keeps the graph of every batch alive.
def update(running, new, momentum):
    running.copy_(running * (1 - momentum) + new * momentum)


# %% mutant="norm_batch_norm"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    from minitorch.nn import functional

    return functional.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


# %% [markdown] exercise="norm_layer_norm" kind="core" points="2 1" part="mytorch.nn.normalization:layer_norm mytorch.nn.normalization:rms_norm"
# ### Exercise 3 · Layer norm and RMS norm
# Apply the same formula within each sample, where mean and variance are taken over the last dimensions, those of
# `normalized_shape`. `rms_norm` has neither a mean nor a bias, and it divides by the root mean square. Both functions
# begin with `check_ending(input, normalized_shape)`. The machine epsilon of an input's dtype is
# `float(np.finfo(input.dtype.numpy).eps)`. Again, inputs may lie far from 0, and results have the dtype of the input.


# %% docstrings="norm_layer_norm"
def layer_norm():
    """Normalizes each sample over its last dimensions: (input - mean) / √(var + eps) · weight + bias.

    `normalized_shape` is the shape of these dimensions, and also that of weight and bias, each of which may
    be None. The variance has correction 0. Training and evaluation mode give the same result.

    Raises:
        RuntimeError: the input's last dimensions aren't these (raised by `check_ending(input,
            normalized_shape)`).

    Source: Ba, Kiros and Hinton 2016, https://arxiv.org/abs/1607.06450
    """


def rms_norm():
    """Divides each sample by its root mean square over the last dimensions: input / √(mean(input²) + eps) · weight.

    `normalized_shape` is the shape of these dimensions, and also that of the weight unless it is None. An
    `eps` of None means the machine epsilon of the input's dtype. (PyTorch and the solution first convert
    16-bit inputs to float32 and use its epsilon, which you don't have to do.)

    Raises:
        RuntimeError: the input's last dimensions aren't these.

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
    y = check.intact(over_the_end, given, shape, *affine, eps=eps)
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
        "with other weights": normalized((c,)),
        "a shape that is a list": [norm(mytorch.tensor(x), [c]) for norm in (over_the_end, by_size)],
        "one element": [norm(mytorch.tensor(x[:1, :1, :1]), (1,)) for norm in (over_the_end, by_size)],
        "no bias": normalized((c,), bias=False),
        "no weight": normalized((c,), weight=False),
        "neither weight nor bias": normalized((c,), weight=False, bias=False),
        "eps 0.5": normalized((b, c), eps=0.5),
        "eps 0": over_the_end(mytorch.tensor(x * 1e-3), (b, c), eps=0.0),
        "in float64": over_the_end(mytorch.tensor(x, dtype=mytorch.float64), (c,)),
        "of a transposed input": [norm(mytorch.tensor(x).mT, (c, b)) for norm in (over_the_end, by_size)],
        "the mean square of numbers far from 0": (
            (over_the_end(mytorch.tensor(x + np.float32(30_000)), (b, c)) ** 2).mean((-2, -1)).numpy().round(1)
        ),
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
# If `normalized_shape` has one dimension, the mean is taken over dimension −1, and if it has two, over −2 and −1. How
# do you write that for any number of dimensions?

# %% [markdown] hint="norm_layer_norm"
# Use `dims = tuple(range(-len(normalized_shape), 0))`, and keep these dimensions in the mean (`keepdim=True`) so that
# it broadcasts. Weight and bias broadcast without help, because their shape is that of the last dimensions.

# %% [markdown] hint="norm_layer_norm"
# With `distance = input - input.mean(dims, keepdim=True)`, the variance is the mean of `distance * distance`, which
# divides by n. The result is `distance * (var + eps).rsqrt()`, to which weight and bias are applied.


# %% mutant="norm_layer_norm"
# The last dimension only
# If `normalized_shape` has two dimensions, each sample has a single mean over both of them.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    distance = input - input.mean(-1, keepdim=True)
    result = distance * ((distance * distance).mean(-1, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# The unbiased variance
# `x.var()` divides by n - 1, while layer norm divides by n (correction 0).
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    result = (input - input.mean(dims, keepdim=True)) * (input.var(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# Takes the statistics for constants
# The output is correct, but mean and variance were detached, so the gradient of the input lacks the two paths through
# them.
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
# Dimension 0 is the batch, whereas the dimensions to normalize are the last ones.
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
# This is nearly correct, but eps is added to the standard deviation, whereas it belongs under the root.
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
# `normalized_shape` may have any number of dimensions, three as well.
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
# `normalized_shape` says which of the last dimensions share a mean. For an input (N, T, C) and (C,), each of the N ·
# T rows has its own mean.
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
# Weight and bias are separate arguments, and either of them may be None, so test each one separately.
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
# The values are correct, but an input whose last dimensions differ has to be rejected: call `check_ending` first.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    dims = tuple(range(-len(normalized_shape), 0))
    distance = input - input.mean(dims, keepdim=True)
    result = distance * ((distance * distance).mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


# %% mutant="norm_layer_norm"
# RMS norm subtracts the mean
# That is layer norm without a bias. RMS norm divides by the root mean square of the values without subtracting their
# mean.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    dims = tuple(range(-len(normalized_shape), 0))
    distance = input - input.mean(dims, keepdim=True)
    square = (distance * distance).mean(dims, keepdim=True)
    result = distance * (square + (float(np.finfo(input.dtype.numpy).eps) if eps is None else eps)).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# Divides by the norm
# The sum of the squares grows with the number of features, so RMS norm takes their mean.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    square = (input * input).sum(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    result = input * (square + (float(np.finfo(input.dtype.numpy).eps) if eps is None else eps)).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# One eps for all types
# The default is the machine epsilon of the input's dtype, which is 1.2e-7 for float32 and 2.2e-16 for float64.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    square = (input * input).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    result = input * (square + (1.1920929e-07 if eps is None else eps)).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# Takes an eps of 0 for none
# `eps or ...` also replaces 0, because 0 is falsy. Test `eps is None` instead.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    square = (input * input).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    result = input * (square + (eps or float(np.finfo(input.dtype.numpy).eps))).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# Takes the root mean square for a constant
# The output is correct, but the divisor was detached, so the gradient lacks the path through it.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    plain = input.detach()
    square = (plain * plain).mean(tuple(range(-len(normalized_shape), 0)), keepdim=True)
    result = input * (square + (float(np.finfo(input.dtype.numpy).eps) if eps is None else eps)).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# RMS norm over the last dimension only
# If `normalized_shape` has two dimensions, each sample has a single root mean square over both of them.
def rms_norm(input, normalized_shape, weight=None, eps=None):
    check_ending(input, normalized_shape)
    square = (input * input).mean(-1, keepdim=True)
    result = input * (square + (float(np.finfo(input.dtype.numpy).eps) if eps is None else eps)).rsqrt()
    return result if weight is None else result * weight


# %% mutant="norm_layer_norm"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    from minitorch.nn import functional

    return functional.layer_norm(input, normalized_shape, weight, bias, eps)


# %% [markdown] exercise="norm_dropout" kind="core" points="1 2" part="mytorch.nn.dropout:dropout mytorch.nn.dropout:dropout_noise"
# ### Exercise 4 · Dropout
# Write dropout and the noise that it multiplies its input by. `bernoulli(probability, size)` returns a NumPy array of
# booleans, each of which is True with this probability. `new(array, device)` makes a tensor of an array, and
# `x.dtype.numpy` is NumPy's name for the dtype of x. For `inplace=True` there is `copy_(x, y)`, which overwrites x
# with y and returns x. A p below 0 or above 1 is rejected in both modes with PyTorch's message: "dropout probability
# has to be between 0 and 1, but got 1.5".
#
# To draw the same random numbers as PyTorch, ask `bernoulli` for the elements that are *kept*.


# %% docstrings="norm_dropout"
def dropout():
    """In training, zeroes each element with probability p and divides the others by 1 - p.

    In evaluation, or if p is 0, the input itself is returned. No random numbers are drawn if p is 0 or 1.
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
    """Result, gradient, whether the result is the input itself, and what the input's memory holds then."""
    mytorch.manual_seed(check.seed())
    x = mytorch.tensor(numbers).requires_grad_()
    given = x * 1
    held = given.detach()  # on the same memory
    y = drop(given, p, inplace=inplace)
    problem = check.error(y.sum().backward)
    return [y.detach(), x.grad if problem is None else repr(problem), y is given, held]


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
        "a 0-d tensor three times, one element, and none": [
            drop(each, p) for each in (*[x[0, 0]] * 3, x[:1, :1], x[:0])
        ],
        "types of float16, float64, on a GPU": [
            check.error(drop, each, p) or str(drop(each, p).dtype) for each in others
        ],
        "p = 1.25": check.error(drop, x, 1.25),
        "p = -0.5, evaluation": check.error(drop, x, -0.5, training=False),
    },
    rtol=1e-5,
    text="Result, gradient, whether the result is x itself, and what is in the memory of x then.",
)

# %% [markdown] hint="norm_dropout"
# Dropout is a product of x and noise that doesn't depend on x, so autograd already computes the correct gradient.
# Which two values does the noise have?

# %% [markdown] hint="norm_dropout"
# `bernoulli(1 - p, x.shape)` is True where an element is kept, and dividing it by `1 - p` gives the noise. Convert it
# to the dtype of x with `.astype(x.dtype.numpy)` before you make a tensor of it.

# %% [markdown] hint="norm_dropout"
# `dropout` first raises the error for an invalid p, and returns `input` if it isn't training or p is 0. Then comes
# the noise, which is plain 0.0 if p is 1, and the product; if `inplace` is set, finish with `copy_(input, result)`.


# %% mutant="norm_dropout"
# Doesn't scale
# The elements that are kept must be scaled by 1 / (1 - p). Otherwise the mean is smaller in training than in
# evaluation.
def dropout_noise(x, p):
    return new(bernoulli(1 - p, x.shape).astype(x.dtype.numpy), x.device)


# %% mutant="norm_dropout"
# Draws what is dropped
# The probabilities are correct, but the random numbers are compared the other way round, so the pattern differs from
# PyTorch's for the same seed.
def dropout_noise(x, p):
    return new((~bernoulli(p, x.shape) / (1 - p)).astype(x.dtype.numpy), x.device)


# %% mutant="norm_dropout"
# Keeps with probability p
# p is the probability that an element is zeroed, whereas here it is the probability that it is kept.
def dropout_noise(x, p):
    return new((bernoulli(p, x.shape) / p).astype(x.dtype.numpy), x.device)


# %% mutant="norm_dropout"
# Scales in evaluation
# The original paper scaled in evaluation. PyTorch scales in training, and in evaluation it returns the tensor itself.
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
# With `inplace=True` the result is written into the input, and the input itself is returned.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    return input * (0.0 if p == 1 else dropout_noise(input, p))


# %% mutant="norm_dropout"
# Noise of another type
# In NumPy a boolean divided by a number is float64, and a float32 tensor times float64 noise is float64 as well.
def dropout_noise(x, p):
    return new(bernoulli(1 - p, x.shape) / (1 - p), x.device)


# %% mutant="norm_dropout"
# Divides by zero at p = 1
# With p = 1 nothing is kept, and 0 / 0 is nan. PyTorch multiplies by zeros and doesn't draw any random numbers.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    result = input * dropout_noise(input, p)
    return copy_(input, result) if inplace else result


# %% mutant="norm_dropout"
# Noise that is always float32
# float32 noise turns a float16 tensor into float32. Use the dtype of x, `x.dtype.numpy`.
def dropout_noise(x, p):
    return new((bernoulli(1 - p, x.shape) / (1 - p)).astype("float32"), x.device)


# %% mutant="norm_dropout"
# Noise on the CPU
# Without a device, `new` makes a tensor on the default device, but x may be on a GPU: `new(array, x.device)`.
def dropout_noise(x, p):
    return new((bernoulli(1 - p, x.shape) / (1 - p)).astype(x.dtype.numpy))


# %% mutant="norm_dropout"
# Moves the input to new memory
# The values are correct, but `.data = ...` moves the tensor to new memory, and a view of it doesn't follow. Write
# into the tensor with `copy_`.
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
# The values are correct, but the product wasn't recorded, so the gradient ignores which elements were dropped.
# Autograd has to record `copy_`.
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
# Always writes in place
# Without `inplace` the input keeps its values, which the layer before may need for its gradient.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    return copy_(input, input * (0.0 if p == 1 else dropout_noise(input, p)))


# %% mutant="norm_dropout"
# Forgets inplace where p is 1
# With p = 1 and `inplace=True`, the zeros are written into the input as well.
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
# A probability can't be negative either.
def dropout(input, p=0.5, training=True, inplace=False):
    if p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    result = input * (0.0 if p == 1 else dropout_noise(input, p))
    return copy_(input, result) if inplace else result


# %% mutant="norm_dropout"
# Checks p in training only
# PyTorch rejects such a p in evaluation as well, so the check comes before the first return.
def dropout(input, p=0.5, training=True, inplace=False):
    if not training or p == 0:
        return input
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    result = input * (0.0 if p == 1 else dropout_noise(input, p))
    return copy_(input, result) if inplace else result


# %% mutant="norm_dropout"
# Draws first, checks the mode later
# Evaluating between two steps must not change the random numbers of the next step, so return before anything is
# drawn.
def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    result = input * (0.0 if p == 1 else dropout_noise(input, p))
    if not training or p == 0:
        return input
    return copy_(input, result) if inplace else result


# %% mutant="norm_dropout"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def dropout(input, p=0.5, training=True, inplace=False):
    from minitorch.nn import functional

    return functional.dropout(input, p, training, inplace)


# %% [markdown] exercise="norm_fold" kind="build" points=2
# ### Exercise 5 · Fold a batch norm away
# In evaluation mode, batch norm is a fixed scale and shift for each channel. If it follows a linear layer, it can be
# folded into that layer, so that a model can be shipped with one `Linear` instead of `bn(linear(x))`. Write the
# function that builds this layer. `linear` has a weight of shape (out, in) and a bias or None; `bn` is in evaluation
# mode and has a weight, a bias, `running_mean`, `running_var` and `eps`. The new layer has the dtype of
# the given ones, which you leave unchanged.


# %% solution="norm_fold"
def folded(linear: torch.nn.Linear, bn: torch.nn.BatchNorm1d) -> torch.nn.Linear:
    """Returns a single linear layer that computes bn(linear(x)), with `bn` in evaluation mode."""
    ### BEGIN SOLUTION
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
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
        f"unchanged, bias {has_bias}": all(map(torch.equal, before, after)) and linear.training and not bn.training,
    }
    shown[f"gradients are recorded, bias {has_bias}"] = torch.is_grad_enabled()
    if has_bias:
        wide = folded(linear.double(), bn.double())
        shown["parameters in float64"] = {name: each.detach() for name, each in wide.named_parameters()}
check.show(shown, rtol=1e-4, text="The folded layers' weights and biases, and their outputs.")

# %% [markdown] hint="norm_fold"
# Write out `bn(y)` with y = w·x + b, and separate the terms that contain x from those that don't.

# %% [markdown] hint="norm_fold"
# With `scale = bn.weight / (bn.running_var + bn.eps).sqrt()`, bn(y) = (y − running_mean) · scale + bn.bias. Each
# output has its own scale, so the scale multiplies the rows of the weight.

# %% [markdown] hint="norm_fold"
# `weight = linear.weight * scale[:, None]` and `bias = (b - bn.running_mean) * scale + bn.bias`, where a missing b
# counts as 0. Copy both into a new `Linear` under `no_grad`.


# %% mutant="norm_fold"
# Forgets the old bias
# The old bias passes through the batch norm like the rest of the output, so it is scaled and shifted as well.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        made = torch.nn.Linear(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
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
        made = torch.nn.Linear(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_(bias * scale - bn.running_mean + bn.bias)
    return made


# %% mutant="norm_fold"
# Forgets the batch norm's weight
# After the division each channel is multiplied by `bn.weight`, so this weight is part of the scale.
def folded(linear, bn):
    with torch.no_grad():
        scale = 1 / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made


# %% mutant="norm_fold"
# Leaves eps out
# Batch norm divides by √(var + eps), so without eps the scale is too large.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / bn.running_var.sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made


# %% mutant="norm_fold"
# Changes the layer itself
# The values are correct, but the given layer was overwritten, and a batch norm that follows it would be applied
# twice.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        linear.weight.mul_(scale[:, None])
        linear.bias = torch.nn.Parameter((bias - bn.running_mean) * scale + bn.bias)
    return linear


# %% mutant="norm_fold"
# Writes into the old bias
# `bias -= ...` and `scale *= ...` write into the layer's own parameter. Create new tensors instead, as in `bias -
# bn.running_mean`.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
        made.weight.copy_(linear.weight * scale[:, None])
        bias -= bn.running_mean
        made.bias.copy_(bias * scale + bn.bias)
    return made


# %% mutant="norm_fold"
# No bias where there was none
# The batch norm adds a shift of its own, so the folded layer needs a bias even if the linear layer had none.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps).sqrt()
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(
            linear.in_features, linear.out_features, dtype=linear.weight.dtype, bias=linear.bias is not None
        )
        made.weight.copy_(linear.weight * scale[:, None])
        if made.bias is not None:
            made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made


# %% mutant="norm_fold"
# Divides by the variance
# Batch norm divides by the standard deviation, which is the root of var + eps.
def folded(linear, bn):
    with torch.no_grad():
        scale = bn.weight / (bn.running_var + bn.eps)
        bias = torch.zeros(linear.out_features) if linear.bias is None else linear.bias
        made = torch.nn.Linear(linear.in_features, linear.out_features, dtype=linear.weight.dtype)
        made.weight.copy_(linear.weight * scale[:, None])
        made.bias.copy_((bias - bn.running_mean) * scale + bn.bias)
    return made


# %% [markdown] exercise="norm_repair_leak" kind="repair" points=3
# ### Exercise 6 · Statistics that leak
# A colleague wrote a small normalization layer. It trains, but the memory grows with every step, and copying the best
# model fails:
#
# ```text
# >>> best = copy.deepcopy(model)
# RuntimeError: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. ...
# ```
#
# Fix the layer. A state dict that was taken before a step must show the new values after it, and the outputs and the
# gradients of the input must stay as they are in both modes. `running` remains a buffer, which every forward pass in
# training mode updates, even under `torch.no_grad()`.


# %% solution="norm_repair_leak"
class Centre(torch.nn.Module):
    """Subtracts each column's mean: the batch's mean in training mode, the running mean in evaluation mode."""

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
held, outputs, gradients = layer.state_dict()["running"], [], []
for _ in range(3):
    x = torch.tensor(generator.normal(2, 1, (4, features)).astype(np.float32)).requires_grad_()
    weight = torch.tensor(generator.normal(0, 1, (4, features)).astype(np.float32))
    output = layer(x)
    check.error((output * weight).sum().backward)
    outputs.append(output.detach())
    gradients.append(x.grad)
trained = layer.running.detach().clone()
with torch.no_grad():
    unrecorded = layer(torch.tensor(generator.normal(4, 1, (4, features)).astype(np.float32)))
    single = layer(torch.tensor(generator.normal(4, 1, (1, features)).astype(np.float32)))
after = layer.running.detach().clone()
layer.eval()
new = torch.tensor(generator.normal(2, 1, (2, features)).astype(np.float32)).requires_grad_()
output = layer(new)
check.error(output.sum().backward)
check.show(
    {
        "momentum": momentum,
        "outputs in training": outputs,
        "gradients": gradients,
        "running mean": trained,
        "output under no_grad": unrecorded,
        "output of a single row": single,
        "running mean after two passes under no_grad": after,
        "has a history": layer.running.requires_grad,
        "a copy can be made": check.error(copy.deepcopy, layer) is None,
        "a state dict taken before sees": held.detach(),
        "evaluation": output.detach(),
        "evaluation of one row": layer(new[:1]).detach(),
        "the row afterwards": new.detach(),
        "gradient in evaluation": new.grad,
        "evaluation changed it": not torch.equal(layer.running.detach(), after),
        "in the state dict": list(layer.state_dict()),
        "buffers": [name for name, _ in layer.named_buffers()],
        "parameters": [name for name, _ in layer.named_parameters()],
    },
    rtol=1e-4,
    atol=1e-5,
    text="Three training steps, two passes in training mode under no_grad, and one evaluation.",
)

# %% [markdown] hint="norm_repair_leak"
# Print `layer.running` after one call. What does the end of the output show that a plain buffer doesn't have?

# %% [markdown] hint="norm_repair_leak"
# It has a `grad_fn`, because the running mean depends on the batch's mean, that mean on x, and so on back to all
# earlier batches. The update is bookkeeping, so it must not be recorded.

# %% [markdown] hint="norm_repair_leak"
# Put the update under `torch.no_grad()`. Write into the buffer (`mul_`, `add_` or `copy_`) instead of rebinding the
# name to a new tensor, so that everything else that holds the buffer sees the new values.


# %% mutant="norm_repair_leak"
# Detaches the mean for everything
# There is no history any more, but x - mean now treats the mean as a constant, which changes the gradient of the
# input.
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
# There is no history any more, but each step rebinds the name to a new tensor, so a state dict that was taken earlier
# keeps the old values.
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
# The buffer stays the same tensor now, but it still carries the graph of every batch. The update has to be under
# `no_grad`.
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
# In evaluation mode the running mean is used but not updated, whereas here every call moves it.
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
# Now nothing is recorded, not even the subtraction, so no gradient reaches the input.
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
# Moves the buffer to new memory
# There is no history any more, but `.data = ...` moves the buffer to new memory, so a state dict that was taken
# earlier no longer follows. Write into the buffer with `copy_`.
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
# Gradients may be needed in evaluation mode as well. Only the update must not be recorded.
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
# Here the new batch's share is multiplied by 1 - momentum as well. First scale the old value, then add the new one.
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
# Dropout preserves the mean, but what happens to the mean *square*, which determines the size of the next layer's sums?
# Write the experiment: by what factor does `dropout(x, p)` multiply the mean square of `x`? Measure it with the
# `dropout` and the values that you are given, and return a Python number. The check then tries several p, and also a
# function that isn't dropout at all.


# %% solution="norm_measure_dropout"
def growth(dropout, x: torch.Tensor, p: float) -> float:
    """Returns the mean square after dropout, divided by the mean square before."""
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
        "x + p instead of dropout": growth(lambda x, p: x + p, shifted, 0.5),
    },
    rtol=0.02,
    text="The growth of the mean square, by p. Compare it with 1 / (1 - p).",
)

# %% [markdown] hint="norm_measure_dropout"
# What happens to the square of an element that is kept, and how often is an element kept?

# %% [markdown] hint="norm_measure_dropout"
# Compute the mean square before and after, and divide. A single call of dropout on all the values is enough.

# %% [markdown] hint="norm_measure_dropout"
# The measurement is `dropout(x, p).square().mean() / x.square().mean()`, converted to a Python number. Expect about
# (1 − p) · (1 / (1 − p))².


# %% mutant="norm_measure_dropout"
# Compares variances
# The variance subtracts the square of the mean. For values whose mean isn't 0, it grows by a different factor.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    before = x.var()
    return (dropout(x, p).var() / (before + 1e-12)).item()


# %% mutant="norm_measure_dropout"
# Takes the root
# This is the factor for the root mean square, which is the root of the one that the task asks for.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return (dropout(x, p).square().mean() / x.square().mean()).sqrt().item()


# %% mutant="norm_measure_dropout"
# Averages over the kept elements only
# The zeros belong to the mean as well. Among the kept elements alone the factor is 1 / (1 - p)².
def growth(dropout, x: torch.Tensor, p: float) -> float:
    dropped = dropout(x, p)
    return (dropped[dropped != 0].square().mean() / x.square().mean()).item()


# %% mutant="norm_measure_dropout"
# Computes the formula
# That is what to expect of dropout. A measurement calls the function that it is given, whatever that function does.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return 1 / (1 - p)


# %% mutant="norm_measure_dropout"
# Compares means
# Dropout preserves the mean, which is the purpose of the scaling. The question is about the mean of the squares.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return (dropout(x, p).mean() / x.mean()).item()


# %% mutant="norm_measure_dropout"
# Measures with other values
# For dropout the factor is the same for all values, but that isn't so for every function. Measure with the x that you
# are given.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return dropout(torch.ones_like(x), p).square().mean().item()


# %% mutant="norm_measure_dropout"
# The mean of the ratios
# This is the mean of the factors by which the single squares grow. The question is how much their mean grows, which
# is a ratio of two means.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return (dropout(x, p) / x).square().mean().item()


# %% mutant="norm_measure_dropout"
# Upside down
# The ratio is upside down: divide the mean square after dropout by the one before it.
def growth(dropout, x: torch.Tensor, p: float) -> float:
    return (x.square().mean() / dropout(x, p).square().mean()).item()


# %% [markdown] exercise="norm_module_state" kind="core" points=2 part="mytorch.nn.normalization:BatchNorm.__init__"
# ### Exercise 8 · What a batch norm has
# A batch norm layer has two parameters, three buffers, and options that omit some of them. Create them in the
# constructor, under the names that are the keys in the state dict of every saved batch norm. A name that is registered
# with None stays reserved for a tensor that is loaded later. Begin with `super().__init__()`; `tensor(0, dtype=int64)`
# makes an integer tensor.


# %% docstrings="norm_module_state"
def __init__():
    """Stores the options as attributes of the same names, and registers:

    | name | kind | initial value | None unless |
    |---|---|---|---|
    | `weight` | parameter | ones | `affine` |
    | `bias` | parameter | zeros | `affine` |
    | `running_mean` | buffer | zeros | `track_running_stats` |
    | `running_var` | buffer | ones | `track_running_stats` |
    | `num_batches_tracked` | buffer | 0, a 0-d int64 tensor | `track_running_stats` |

    All except the last have `num_features` elements. A tensor that is omitted is registered as None.
    """


# %% check="norm_module_state" raises="TypeError"
generator = check.rng()
features = int(generator.integers(3, 7))
nn = mytorch.nn


def told(make):
    """All that a layer has: tensors by name, which require gradients, names without a tensor, and its printed form."""
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
    return layer.running_mean is before, dict(layer.state_dict())


check.show(
    {
        "plain": told(lambda: nn.BatchNorm1d(features)),
        "one feature": told(lambda: nn.BatchNorm1d(1)),
        "options by name": told(lambda: nn.BatchNorm2d(features, eps=0.1, momentum=None)),
        "options by position": told(lambda: nn.BatchNorm2d(features, 0.01, 0.3, False, True)),
        "no weight and bias": told(lambda: nn.BatchNorm1d(features, affine=False)),
        "no statistics": told(lambda: nn.BatchNorm1d(features, track_running_stats=False)),
        "a buffer that is loaded later": check.error(loaded) or loaded(),
        "after a batch": check.error(trained) or trained(),
    },
    text="The parameters, buffers and attributes of batch norms with several options.",
)

# %% [markdown] hint="norm_module_state"
# Attributes can only be assigned after `super().__init__()`. Which of the five tensors does an optimizer need to see?

# %% [markdown] hint="norm_module_state"
# Use `self.register_parameter(name, Parameter(ones(num_features)) if affine else None)` and
# `self.register_buffer(name, …)`. A plain `self.weight = None` would make an ordinary attribute instead.

# %% [markdown] hint="norm_module_state"
# There are five calls: the parameters "weight" and "bias", and the buffers "running_mean" (zeros), "running_var"
# (ones) and "num_batches_tracked", which is `tensor(0, dtype=int64) if track_running_stats else None`.


# %% mutant="norm_module_state"
# Statistics as parameters
# An optimizer updates parameters. Running statistics aren't trained, so they are buffers.
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
# Omits the names
# A name that isn't registered is an ordinary attribute, so a tensor that is assigned to it later isn't saved.
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
# Shares memory between a parameter and a statistic
# `Parameter(t)` is on the memory of t. So if the weight and the running variance are made of the same tensor, each update
# of the variance also changes the weight.
def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    super().__init__()
    self.num_features, self.eps, self.momentum = num_features, eps, momentum
    self.affine, self.track_running_stats = affine, track_running_stats
    zero, one = zeros(num_features), ones(num_features)
    self.register_parameter("weight", Parameter(one) if affine else None)
    self.register_parameter("bias", Parameter(zero) if affine else None)
    tracks = track_running_stats
    self.register_buffer("running_mean", zero if tracks else None)
    self.register_buffer("running_var", one if tracks else None)
    self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if tracks else None)


# %% mutant="norm_module_state"
# Starts at variance 0
# In evaluation mode a running variance of 0 would blow up the output of an untrained layer, so it starts at 1.
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
# Counts in floating point
# The number of batches is an integer (int64), and PyTorch saves and loads it as one.
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
