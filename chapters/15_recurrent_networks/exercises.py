# %% [markdown]
# # Exercises · Recurrent networks
# Four of the exercises add to your library: the loop over time, the steps of an LSTM and a GRU, and the layers around
# them.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check


def whole(rng, low: int, high: int) -> int:
    """An integer from `low` to `high`, both included."""
    return int(rng.integers(low, high + 1))


# %% setup=true
import minitorch as torch
from minitorch.nn.utils import rnn

# %% [markdown] exercise="rnn_predict_shapes" kind="predict" points=1
# ### Exercise 1 · Three shapes
# ```python
# layer = torch.nn.LSTM(3, 5, num_layers=2, batch_first=True, bidirectional=True)
# output, (h, c) = layer(torch.ones(6, 7, 3))
# ```
# Set `prediction` to the shapes of `output`, `h` and `c`, as a list of three lists, before you run the code.

# %% solution="rnn_predict_shapes"
### BEGIN SOLUTION
prediction = [[6, 7, 10], [4, 6, 5], [4, 6, 5]]
### END SOLUTION
### BEGIN STUB
# prediction = [[...], [...], [...]]
### END STUB

# %% check="rnn_predict_shapes"
check.show({"prediction": [[int(each) for each in shape] for shape in prediction]}, secret=True)

# %% [markdown] hint="rnn_predict_shapes"
# Which of the three have an entry for each time step, and which of them come from both layers?

# %% [markdown] hint="rnn_predict_shapes"
# `output` concatenates both directions in its last dimension, while the states list layers and directions in their
# first.

# %% [markdown] hint="rnn_predict_shapes"
# `batch_first` applies to inputs and outputs only. The states are always (layers · directions, N, hidden).

# %% mutant="rnn_predict_shapes"
# The states are batch first, too
# `batch_first` doesn't change the states, whose first dimension is always layers and directions.
prediction = [[6, 7, 10], [6, 4, 5], [6, 4, 5]]

# %% mutant="rnn_predict_shapes"
# Forgets the directions in the states
# Two layers with two directions each have four last states.
prediction = [[6, 7, 10], [2, 6, 5], [2, 6, 5]]

# %% mutant="rnn_predict_shapes"
# Concatenates both layers in the output
# The output comes from the last layer alone: 2 directions · 5.
prediction = [[6, 7, 20], [4, 6, 5], [4, 6, 5]]

# %% mutant="rnn_predict_shapes"
# One direction in the output
# The output has both directions side by side, so it has 2 · 5 features at each step.
prediction = [[6, 7, 5], [4, 6, 5], [4, 6, 5]]

# %% mutant="rnn_predict_shapes"
# Time first
# With `batch_first` the batch dimension comes first: 6 sequences of 7 steps.
prediction = [[7, 6, 10], [4, 7, 5], [4, 7, 5]]

# %% [markdown] exercise="rnn_unroll" kind="core" points=3 part="mytorch.nn.recurrent:unroll"
# ### Exercise 2 · The loop over time
# Unroll a step over time, forwards or backwards. `inputs` is a list of tensors, one for each time step. In a packed
# batch the later ones have fewer rows, because the short sequences have ended, and these sequences keep the state
# that they had. Backwards it is the other way round: the long sequences begin alone, and the short ones join later
# with their initial state.
#
# Don't write into the state's tensors, because the graph needs the old values.


# %% docstrings="rnn_unroll"
def unroll():
    """Applies `state = step(x, state, weight, bias)` to each x in `inputs`, from first to last or in reverse.

    The tensors of `state` have a row for each of N sequences. An x has fewer rows than that where short
    sequences have already ended (or, in reverse, not yet begun), and then only the first rows of the state
    take part in the step, while the others stay as they are. `cat` is defined in the file.

    Returns the step's outputs, which are the first tensors of the new states, in the order of `inputs` and
    with as many rows as each x has; and the last state, with N rows.
    """


# %% check="rnn_unroll"
rng = check.rng()
recurrent = mytorch.nn.recurrent
sizes = [*sorted((whole(rng, 1, 4) for _ in range(4)), reverse=True), 1]
sizes[0] = 4
inputs = [mytorch.tensor(rng.normal(size=(size, 3)).round(2)) for size in sizes]
first = mytorch.tensor(rng.normal(size=(4, 3)).round(2), requires_grad=True)
start = first, mytorch.zeros(4, 1, dtype=mytorch.float64)
weight = mytorch.tensor(rng.normal(size=(3, 3)).round(2), requires_grad=True)


def step(x, state, weight, bias):
    """A step with two states, of which the second counts the steps."""
    h, count = state
    return (x + h @ weight + (0 if bias is None else bias)).tanh(), count + 1


values = {"rows of the inputs": sizes}


def unrolled(name: str, steps: list, bias=None, reverse: bool = False) -> None:
    shown = "outputs", "last states", "gradient of the weight", "gradient of the first state"
    values.update({f"{name}: {each}": None for each in shown})
    weight.grad = first.grad = None
    outputs, last = check.intact(recurrent.unroll, step, steps, start, weight, bias, reverse)
    values.update({f"{name}: outputs": list(outputs), f"{name}: last states": list(last)})
    (sum((each * each).sum() for each in outputs) + last[0].sum()).backward()
    values.update({f"{name}: {shown[2]}": weight.grad, f"{name}: {shown[3]}": first.grad})


def gru() -> None:
    values.update({"a GRU's packed output": None, "its states": None})
    mytorch.manual_seed(check.seed())
    layer = mytorch.nn.GRU(2, 3, num_layers=2, bidirectional=True)
    packed = mytorch.nn.utils.rnn.pack_padded_sequence(mytorch.rand(5, 3, 2), [2, 5, 4], enforce_sorted=False)
    found, states = layer(packed)
    values.update({"a GRU's packed output": found.data.detach(), "its states": states.detach()})


unrolled("full rows", [mytorch.tensor(rng.normal(size=(4, 3)).round(2)) for _ in range(3)])
unrolled("packed", inputs, mytorch.tensor([0.1, 0.2, 0.3], dtype=mytorch.float64))
# Here an incorrect loop may raise. The values that it found before still show what is wrong with it.
values["packed, backwards: error"] = check.error(unrolled, "packed, backwards", inputs, reverse=True)
values["a GRU: error"] = check.error(gru)
values["one step of one unit"] = recurrent.unroll(
    step, [inputs[0][:, :1]], (first[:, :1], start[1]), weight[:1, :1], mytorch.ones(1, dtype=mytorch.float64)
)
values["the first state, afterwards"] = first.detach()
values["rows of the inputs, afterwards"] = [len(each) for each in inputs]
check.show(
    values, rtol=1e-4, text="Loops over a step with two states, the second of which counts the steps; then a GRU."
)

# %% [markdown] hint="rnn_unroll"
# Begin with the simple case in which every step has all rows: a loop that calls `step`, keeps the new state, and
# appends its first tensor to a list. `reversed(inputs)` goes backwards; in that case reverse the list of outputs at
# the end.

# %% [markdown] hint="rnn_unroll"
# Now for fewer rows: let `rows = len(x)` and pass `each[:rows]` of each tensor in the state to the step, whose result
# then has only these rows.

# %% [markdown] hint="rnn_unroll"
# The other rows are kept, so the new state is `cat([new, old[rows:]])` for each pair of new and old tensors. That is
# correct in both directions, and also when no rows remain.


# %% mutant="rnn_unroll"
# Drops the short sequences
# The state lost the rows of the sequences that have ended, so at the end it contains only the longest one's row.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        state = step(x, tuple(each[: len(x)] for each in state), weight, bias)
        outputs.append(state[0])
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# Leaves the outputs reversed
# Backwards, the first output that is computed belongs to the last input, so the list has to be reversed.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(stepped[0])
        state = tuple(cat([new, old[rows:]]) for new, old in zip(stepped, state, strict=True))
    return outputs, state


# %% mutant="rnn_unroll"
# Outputs of all rows
# An output has as many rows as its input. The rows of sequences that have ended don't belong in a packed batch.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows] for each in state), weight, bias)
        state = tuple(cat([new, old[rows:]]) for new, old in zip(stepped, state, strict=True))
        outputs.append(state[0])
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# Freezes only the first state
# A step may have several states (an LSTM has two), and all of them have to be kept for the sequences that have ended.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        h, *others = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(h)
        rest = [cat([new, 0 * old[rows:]]) for new, old in zip(others, state[1:], strict=True)]
        state = (cat([h, state[0][rows:]]), *rest)
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# Zeros for sequences that have ended
# A sequence that has ended keeps the state that it had, whereas here its state becomes 0.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        new = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(new[0])
        state = tuple(cat([each, 0 * old[rows:]]) for each, old in zip(new, state, strict=True))
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# Detaches sequences that have ended
# The values are correct, but the state that a short sequence keeps is part of its result, so the gradient has to
# reach it.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        new = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(new[0])
        state = tuple(cat([each, old[rows:].detach()]) for each, old in zip(new, state, strict=True))
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# Detaches the first state
# The gradient flows on into the first state, which may come from an encoder or from the preceding piece of text.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    state = tuple(each.detach() for each in state)
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(stepped[0])
        state = tuple(cat([new, old[rows:]]) for new, old in zip(stepped, state, strict=True))
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# Reverses the caller's list
# `inputs.reverse()` changes the caller's list. `reversed(inputs)` iterates backwards without changing it.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    if reverse:
        inputs.reverse()
    for x in inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(stepped[0])
        state = tuple(cat([new, old[rows:]]) for new, old in zip(stepped, state, strict=True))
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# Writes into the state
# A write in place changes tensors that belong to the caller, so the first state no longer has its values.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    state = tuple(each.detach() for each in state)
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        stepped = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(stepped[0])
        for new, old in zip(stepped, state, strict=True):
            old.data[:rows] = new.detach()
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def unroll(step, inputs, state, weight, bias, reverse=False):
    from minitorch.ops.nn.recurrent import _unroll

    return _unroll(step, inputs, None, state, {"weight_hh": weight, "bias_hh": bias}, reverse)


# %% [markdown] exercise="rnn_lstm_step" kind="core" points=3 part="mytorch.nn.recurrent:lstm_step"
# ### Exercise 3 · The LSTM step
# `linear(h, weight, bias)` is $U h + b$, and `chunk(4, -1)` splits a tensor into four parts along its last dimension.
# The order of the parts is PyTorch's, so that PyTorch's weights can be loaded.


# %% docstrings="rnn_lstm_step"
def lstm_step():
    """Returns the next state (h', c') of an LSTM; `state` is (h, c), both (N, hidden).

    x + U h + b, for U = `weight` of shape (4 · hidden, hidden), has four parts along the last dimension,
    in this order:

        i = σ(part 0)       the input gate: how much of the candidate is added
        f = σ(part 1)       the forget gate: how much of the cell state is kept
        g = tanh(part 2)    the candidate
        o = σ(part 3)       the output gate: how much of the cell state is output

    c' = f · c + i · g and h' = o · tanh(c'). `x` has shape (N, 4 · hidden).
    Source: Hochreiter and Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735, with the forget
    gate of Gers et al. 2000.
    """


# %% check="rnn_lstm_step"
rng = check.rng()
count, hidden = whole(rng, 2, 3), whole(rng, 5, 6)
x, h, c, weight, bias = (
    mytorch.tensor(rng.normal(size=size).round(2), requires_grad=True)
    for size in [(count, 4 * hidden), (count, hidden), (count, hidden), (4 * hidden, hidden), (4 * hidden,)]
)
new_h, new_c = mytorch.nn.recurrent.lstm_step(x, (h, c), weight, bias)
((new_h * new_h).sum() + new_c.sum()).backward()
values = {"h": new_h, "c": new_c, "gradient of c": c.grad, "gradient of h": h.grad, "gradient of the bias": bias.grad}
alone, kept = mytorch.nn.recurrent.lstm_step(x, (h, c), weight, None)
values |= {"without bias: h": alone, "without bias: c": kept}
values["one unit, a batch of one"] = check.intact(
    mytorch.nn.recurrent.lstm_step, x[:1, :4], (h[:1, :1], c[:1, :1]), weight[:4, :1], bias[:4]
)
mytorch.manual_seed(check.seed())
layer = mytorch.nn.LSTM(3, hidden, num_layers=2, bidirectional=True)
output, (last, memory) = layer(mytorch.randn(5, count, 3))
values |= {"a layer: output": output.detach(), "h of the layer": last.detach(), "c of the layer": memory.detach()}
check.show(values, rtol=1e-4, text="One step with its gradients; then an LSTM of two layers and both directions.")

# %% [markdown] hint="rnn_lstm_step"
# Compute one sum for all four parts, `x + linear(h, weight, bias)`. Then split it, and apply to each part its own
# function.

# %% [markdown] hint="rnn_lstm_step"
# Three of the parts are gates between 0 and 1, so they go through `sigmoid`. The third part, g, is the candidate,
# which goes through `tanh`.

# %% [markdown] hint="rnn_lstm_step"
# `c = f * c + i * g` comes first, because h is computed from the *new* c: `o * c.tanh()`. Return (h, c).


# %% mutant="rnn_lstm_step"
# The gates in another order
# The parts are i, f, g, o. With f and i exchanged, the step keeps what it should admit, and PyTorch's weights mean
# something else.
def lstm_step(x, state, weight, bias):
    h, c = state
    f, i, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% mutant="rnn_lstm_step"
# Outputs the old cell state
# h' is computed from the new cell state c', not from the one before the step.
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    return o.sigmoid() * c.tanh(), f.sigmoid() * c + i.sigmoid() * g.tanh()


# %% mutant="rnn_lstm_step"
# Gates the candidate by a sigmoid
# The candidate g goes through tanh, so it may be negative, and it can lower the cell state.
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).sigmoid().chunk(4, -1)
    c = f * c + i * g
    return o * c.tanh(), c


# %% mutant="rnn_lstm_step"
# No tanh at the end
# The output is o · tanh(c'). Without tanh, h grows with the cell state and isn't bounded.
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c, c


# %% mutant="rnn_lstm_step"
# Couples the gates
# Here the new input displaces the old cell state, with 1 − f instead of i. That is the GRU's idea; in an LSTM i is a
# gate of its own.
def lstm_step(x, state, weight, bias):
    h, c = state
    _, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + (1 - f.sigmoid()) * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% mutant="rnn_lstm_step"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def lstm_step(x, state, weight, bias):
    from minitorch.ops.nn.recurrent import lstm_formula

    return lstm_formula(x + linear(state[0], weight, bias), state[1])


# %% [markdown] exercise="rnn_gru_step" kind="core" points=3 part="mytorch.nn.recurrent:gru_step"
# ### Exercise 4 · The GRU step
# In a GRU, the input's contribution and the state's are split separately, because the reset gate multiplies only the
# state's.


# %% docstrings="rnn_gru_step"
def gru_step():
    """Returns the next state (h',) of a GRU; `state` is (h,), h of shape (N, hidden).

    `x` and u = U h + b, for U = `weight` of shape (3 · hidden, hidden), have three parts each along the
    last dimension:

        r = σ(x₀ + u₀)         the reset gate: how much of the past enters the candidate
        z = σ(x₁ + u₁)         the update gate: how much of the past is kept
        n = tanh(x₂ + r · u₂)  the candidate; r is applied after the product with U

    h' = (1 - z) · n + z · h.
    Source: Cho et al. 2014, https://arxiv.org/abs/1406.1078, in cuDNN's variant.
    """


# %% check="rnn_gru_step"
rng = check.rng()
count, hidden = whole(rng, 2, 3), whole(rng, 5, 6)
x, h, weight, bias = (
    mytorch.tensor(rng.normal(size=size).round(2), requires_grad=True)
    for size in [(count, 3 * hidden), (count, hidden), (3 * hidden, hidden), (3 * hidden,)]
)
(new,) = mytorch.nn.recurrent.gru_step(x, (h,), weight, bias)
(new * new).sum().backward()
values = {"h": new, "gradient of h": h.grad, "gradient of x": x.grad, "gradient of the bias": bias.grad}
values["without bias"] = mytorch.nn.recurrent.gru_step(x, (h,), weight, None)[0]
values["one unit, a batch of one"] = check.intact(
    mytorch.nn.recurrent.gru_step, x[:1, :3], (h[:1, :1],), weight[:3, :1], bias[:3]
)
mytorch.manual_seed(check.seed())
layer = mytorch.nn.GRU(3, hidden, num_layers=2, bidirectional=True)
output, last = layer(mytorch.randn(5, count, 3))
values |= {"a layer: output": output.detach(), "h of the layer": last.detach()}
check.show(values, rtol=1e-4, text="One step with its gradients; then a GRU of two layers and both directions.")

# %% [markdown] hint="rnn_gru_step"
# Split both, `x.chunk(3, -1)` and `linear(h, weight, bias).chunk(3, -1)`, and call the parts x_r, x_z, x_n and u_r,
# u_z, u_n.

# %% [markdown] hint="rnn_gru_step"
# The two gates are `(x_r + u_r).sigmoid()` and `(x_z + u_z).sigmoid()`, and the candidate is `(x_n + r *
# u_n).tanh()`.

# %% [markdown] hint="rnn_gru_step"
# h' = (1 − z) · n + z · h, so a large z keeps the old state. The step returns a tuple with one tensor, `(h,)`.


# %% mutant="rnn_gru_step"
# Resets the state before the product
# That is the form in the paper and in some frameworks. PyTorch multiplies after the product with U, so the bias is
# gated as well.
def gru_step(x, state, weight, bias):
    (h,) = state
    hidden = h.shape[-1]
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, _ = linear(h, weight, bias).chunk(3, -1)
    r, z = (x_r + u_r).sigmoid(), (x_z + u_z).sigmoid()
    n = (x_n + linear(r * h, weight[2 * hidden :], None if bias is None else bias[2 * hidden :])).tanh()
    return ((1 - z) * n + z * h,)


# %% mutant="rnn_gru_step"
# Exchanges keeping and renewing
# In PyTorch z is the share of the past that is kept. Papers differ in this, and in some of them z is the share of the
# new state.
def gru_step(x, state, weight, bias):
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, u_n = linear(h, weight, bias).chunk(3, -1)
    r, z = (x_r + u_r).sigmoid(), (x_z + u_z).sigmoid()
    n = (x_n + r * u_n).tanh()
    return (z * n + (1 - z) * h,)


# %% mutant="rnn_gru_step"
# Exchanges the two gates
# The parts are in the order r, z, n, so the reset gate comes first.
def gru_step(x, state, weight, bias):
    (h,) = state
    x_z, x_r, x_n = x.chunk(3, -1)
    u_z, u_r, u_n = linear(h, weight, bias).chunk(3, -1)
    r, z = (x_r + u_r).sigmoid(), (x_z + u_z).sigmoid()
    n = (x_n + r * u_n).tanh()
    return ((1 - z) * n + z * h,)


# %% mutant="rnn_gru_step"
# Resets the input as well
# r multiplies only the state's contribution, and the input is always used in full.
def gru_step(x, state, weight, bias):
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, u_n = linear(h, weight, bias).chunk(3, -1)
    r, z = (x_r + u_r).sigmoid(), (x_z + u_z).sigmoid()
    n = (r * (x_n + u_n)).tanh()
    return ((1 - z) * n + z * h,)


# %% mutant="rnn_gru_step"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def gru_step(x, state, weight, bias):
    from minitorch.ops.nn.recurrent import _gru

    return (_gru(x, linear(state[0], weight, bias), state[0]),)


# %% [markdown] exercise="rnn_by_hand" kind="build" points=3
# ### Exercise 5 · Back through time, by hand
# A favourite whiteboard question asks for the backward pass of $h_t = \tanh(W x_t + U h_{t-1})$ with $h_0 = 0$, in
# NumPy and without autograd. `x` has shape (T, I), `W` (H, I), and `U` (H, H). The forward pass has already computed
# all states, `h` of shape (T, H), where `h[t]` belongs to `x[t]`. You are also given `g`, (T, H), the gradient of the
# loss with respect to each `h[t]` as it is *used by the loss*, to which you have to add the gradient that flows back
# through later steps.
#
# Return the gradients of `W`, of `U` and of `x`.


# %% solution="rnn_by_hand"
def backward_through_time(x, h, W, U, g):
    """Returns the gradients of W, U and x."""
    ### BEGIN SOLUTION
    grad_W, grad_U, grad_x = np.zeros_like(W), np.zeros_like(U), np.zeros_like(x)
    later = np.zeros(len(U))
    for t in reversed(range(len(x))):
        sums = (g[t] + later) * (1 - h[t] ** 2)
        grad_W += np.outer(sums, x[t])
        if t > 0:
            grad_U += np.outer(sums, h[t - 1])
        grad_x[t] = sums @ W
        later = sums @ U
    return grad_W, grad_U, grad_x
    ### END SOLUTION


# %% check="rnn_by_hand"
rng = check.rng()
steps, inputs, hidden = whole(rng, 4, 6), whole(rng, 2, 3), whole(rng, 4, 5)
x, W, U = rng.normal(size=(steps, inputs)), rng.normal(size=(hidden, inputs)), rng.normal(size=(hidden, hidden))
h = np.zeros((steps, hidden))
for t in range(steps):
    h[t] = np.tanh(W @ x[t] + U @ (h[t - 1] if t else np.zeros(hidden)))
last_only = np.zeros((steps, hidden))
last_only[-1] = 1.0
values = {"steps, inputs, hidden": [steps, inputs, hidden]}
for name, g in {"loss of all states": rng.normal(size=(steps, hidden)), "loss of the last state": last_only}.items():
    found = check.intact(backward_through_time, x, h, W, U, g)
    values |= {f"{name}: {which}": np.asarray(grad) for which, grad in zip(("W", "U", "x"), found, strict=True)}
values["a single step"] = [np.asarray(grad) for grad in backward_through_time(x[:1], h[:1], W, U, last_only[-1:])]
check.show(values, rtol=1e-6, text="Gradients through time.")

# %% [markdown] hint="rnn_by_hand"
# Go from the last step to the first, and carry one vector along: the gradient of h[t] that comes from step t + 1.

# %% [markdown] hint="rnn_by_hand"
# At each step, the whole gradient of h[t] is `g[t] + later`. Going back through tanh, it becomes `sums = (…) * (1 -
# h[t] ** 2)`.

# %% [markdown] hint="rnn_by_hand"
# From `sums`, the gradient of W receives `np.outer(sums, x[t])` and that of U receives `np.outer(sums, h[t - 1])`
# (for t = 0 the state before was 0). The gradient of x[t] is `sums @ W`, and `later` for the preceding step is `sums
# @ U`.


# %% mutant="rnn_by_hand"
# Each step in isolation
# The gradient that comes back through the later steps is missing, because each h[t] is also used by h[t + 1].
def backward_through_time(x, h, W, U, g):
    grad_W, grad_U, grad_x = np.zeros_like(W), np.zeros_like(U), np.zeros_like(x)
    for t in reversed(range(len(x))):
        sums = g[t] * (1 - h[t] ** 2)
        grad_W += np.outer(sums, x[t])
        if t > 0:
            grad_U += np.outer(sums, h[t - 1])
        grad_x[t] = sums @ W
    return grad_W, grad_U, grad_x


# %% mutant="rnn_by_hand"
# Pairs U with the wrong state
# U multiplied the state *before* the step. In Python, h[t - 1] is the last row when t is 0.
def backward_through_time(x, h, W, U, g):
    grad_W, grad_U, grad_x = np.zeros_like(W), np.zeros_like(U), np.zeros_like(x)
    later = np.zeros(len(U))
    for t in reversed(range(len(x))):
        sums = (g[t] + later) * (1 - h[t] ** 2)
        grad_W += np.outer(sums, x[t])
        grad_U += np.outer(sums, h[t - 1])
        grad_x[t] = sums @ W
        later = sums @ U
    return grad_W, grad_U, grad_x


# %% mutant="rnn_by_hand"
# Pairs U with the state after the step
# U multiplied the state before the step, which is `h[t - 1]`, or zeros at the first step.
def backward_through_time(x, h, W, U, g):
    dW, dU, dx, later = np.zeros_like(W), np.zeros_like(U), np.zeros_like(x), np.zeros(len(U))
    for t in reversed(range(len(x))):
        sums = (g[t] + later) * (1 - h[t] ** 2)
        dW += np.outer(sums, x[t])
        dU += np.outer(sums, h[t])
        dx[t] = sums @ W
        later = sums @ U
    return dW, dU, dx


# %% mutant="rnn_by_hand"
# Multiplies by U instead of its transpose
# Going back through U h needs the transposed matrix: `sums @ U`. `U @ sums` has the same shape but other values.
def backward_through_time(x, h, W, U, g):
    grad_W, grad_U, grad_x = np.zeros_like(W), np.zeros_like(U), np.zeros_like(x)
    later = np.zeros(len(U))
    for t in reversed(range(len(x))):
        sums = (g[t] + later) * (1 - h[t] ** 2)
        grad_W += np.outer(sums, x[t])
        if t > 0:
            grad_U += np.outer(sums, h[t - 1])
        grad_x[t] = sums @ W
        later = U @ sums
    return grad_W, grad_U, grad_x


# %% mutant="rnn_by_hand"
# Carries the gradient past tanh
# The gradient that flows to the preceding step has passed through tanh's derivative, so it comes from `sums`, not
# from the gradient of h[t].
def backward_through_time(x, h, W, U, g):
    grad_W, grad_U, grad_x = np.zeros_like(W), np.zeros_like(U), np.zeros_like(x)
    later = np.zeros(len(U))
    for t in reversed(range(len(x))):
        whole = g[t] + later
        sums = whole * (1 - h[t] ** 2)
        grad_W += np.outer(sums, x[t])
        if t > 0:
            grad_U += np.outer(sums, h[t - 1])
        grad_x[t] = sums @ W
        later = whole @ U
    return grad_W, grad_U, grad_x


# %% mutant="rnn_by_hand"
# Keeps the last step's gradient of W
# The same W is used at every step, so its gradient is the sum over all steps.
def backward_through_time(x, h, W, U, g):
    grad_W, grad_U, grad_x = np.zeros_like(W), np.zeros_like(U), np.zeros_like(x)
    later = np.zeros(len(U))
    for t in reversed(range(len(x))):
        sums = (g[t] + later) * (1 - h[t] ** 2)
        grad_W = np.outer(sums, x[t])
        if t > 0:
            grad_U += np.outer(sums, h[t - 1])
        grad_x[t] = sums @ W
        later = sums @ U
    return grad_W, grad_U, grad_x


# %% [markdown] exercise="rnn_repair_neighbours" kind="repair" points=3
# ### Exercise 6 · A sentence and its neighbours
# `summaries` reads sentences with a bidirectional GRU (input and output without `batch_first`) and returns one row
# for each: the final state of both directions. A classifier on top of it learns well, but in production, where
# sentences come one at a time, it is much worse. Moreover, the same sentence gets a different row when its neighbours
# in the batch change:
#
# ```python
# layer = torch.nn.GRU(2, 3, bidirectional=True)
# a, b = torch.ones(2, 2), torch.ones(5, 2)
# summaries(layer, [a])[0]       # one row …
# summaries(layer, [a, b])[0]    # … and a different one
# ```
#
# Fix the function. The rows are in the order in which the sentences were passed.


# %% solution="rnn_repair_neighbours"
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    """A row for each sentence (Tₙ, input_size): (N, 2 · hidden_size), the forward direction's half first."""
    ### BEGIN SOLUTION
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return torch.cat([h[-2], h[-1]], 1)
    ### END SOLUTION
    ### BEGIN STUB
    # output, _ = layer(rnn.pad_sequence(sentences))
    # return output[-1]
    ### END STUB


# %% check="rnn_repair_neighbours"
rng = check.rng()
torch.manual_seed(check.seed())
layer = torch.nn.GRU(2, 3, num_layers=2, bidirectional=True)
lengths = np.roll([3, 6, 2, 5], rng.choice([0, 1, 3])).tolist()  # sorting them isn't its own inverse
sentences = [torch.tensor(rng.normal(size=(length, 2)).astype(np.float32)) for length in lengths]
sentences[1].requires_grad_()
rows = summaries(layer, sentences)
values = {"lengths": lengths, "rows": rows.detach(), "the second one alone": summaries(layer, sentences[1:2]).detach()}
rows.sum().backward()
values["gradient of a weight"] = layer.weight_hh_l0_reverse.grad
values["gradient of the second sentence"] = sentences[1].grad
values["the layer is in training mode"] = layer.training
values["rows of a single layer"] = summaries(torch.nn.GRU(2, 3, bidirectional=True), sentences).detach()
check.show(values, rtol=1e-4, text="One row for each of four sentences, and for one of them alone.")

# %% [markdown] hint="rnn_repair_neighbours"
# Print the row of one sentence beside longer and longer neighbours. Which half keeps changing, and is the other half
# correct when the sentence is alone?

# %% [markdown] hint="rnn_repair_neighbours"
# `output[-1]` has two faults. For a short sentence it is the output after the padding, and its second half belongs to
# a direction that has only just begun.

# %% [markdown] hint="rnn_repair_neighbours"
# `rnn.pack_sequence(sentences, enforce_sorted=False)` keeps the padding out, so the last states are each sentence's
# own. `h[-2]` is the last layer's forward direction and `h[-1]` its backward direction. Concatenate them along
# dimension 1.


# %% mutant="rnn_repair_neighbours"
# Takes the states of the padded batch
# The backward direction has now read everything, but both directions still read the padding, one of them at the end
# and the other first.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    _, h = layer(rnn.pad_sequence(sentences))
    return torch.cat([h[-2], h[-1]], 1)


# %% mutant="rnn_repair_neighbours"
# Reads the output at each sentence's end
# The forward half has now taken all its steps. The backward half has taken those in the padding and one more.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    output, _ = layer(rnn.pad_sequence(sentences))
    return torch.stack([output[len(each) - 1, number] for number, each in enumerate(sentences)])


# %% mutant="rnn_repair_neighbours"
# Reshapes without the exchange
# The states are (2, N, hidden), and if they are reshaped directly, a row gets the same direction of two sentences.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return h[-2:].reshape(len(sentences), -1)


# %% mutant="rnn_repair_neighbours"
# Sorts and doesn't sort back
# The rows are correct but in the order of the lengths, so sentences get each other's rows.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    _, h = layer(rnn.pack_sequence(sorted(sentences, key=len, reverse=True)))
    return torch.cat([h[-2], h[-1]], 1)


# %% mutant="rnn_repair_neighbours"
# Sorts back by the same order
# The order says which sentence each row belongs to. Indexing by it sorts a second time, so use its inverse,
# `argsort(order)`.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    order = sorted(range(len(sentences)), key=lambda number: -len(sentences[number]))
    _, h = layer(rnn.pack_sequence([sentences[number] for number in order]))
    return torch.cat([h[-2], h[-1]], 1)[torch.tensor(order)]


# %% mutant="rnn_repair_neighbours"
# Takes the first layer's states
# h lists layers and directions starting with the first layer, so the last layer's two are h[-2] and h[-1].
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return torch.cat([h[0], h[1]], 1)


# %% mutant="rnn_repair_neighbours"
# Reads the packed output at each sentence's end
# The padding is out, and the forward half is correct. But at a sentence's last word the backward direction has read
# only that word, whereas it has read everything at the first word.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    output, lengths = rnn.pad_packed_sequence(layer(rnn.pack_sequence(sentences, enforce_sorted=False))[0])
    return torch.stack([output[length - 1, number] for number, length in enumerate(lengths.tolist())])


# %% mutant="rnn_repair_neighbours"
# Reads each half at its end, after padding
# The forward half is correct, and the backward half is read at the correct position. But the backward direction began
# in the padding, so its state at the first word depends on the amount of padding.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    output, _ = layer(rnn.pad_sequence(sentences))
    half = layer.hidden_size
    ends = [output[len(each) - 1, number, :half] for number, each in enumerate(sentences)]
    return torch.cat([torch.stack(ends), output[0, :, half:]], 1)


# %% mutant="rnn_repair_neighbours"
# Puts the backward half first
# Both halves are correct but in the wrong order: h[-2] is the last layer's forward direction, and h[-1] is its
# backward direction.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return torch.cat([h[-1], h[-2]], 1)


# %% mutant="rnn_repair_neighbours"
# Reads the packed output's last step
# Once a batch has been packed and padded again, the output of a short sentence is 0 after its end.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    output, _ = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return rnn.pad_packed_sequence(output)[0][-1]


# %% [markdown] exercise="rnn_measure_reach" kind="measure" points=2
# ### Exercise 7 · How far back does it reach?
# Write `half_life(layer)`, which returns after how many steps an input's influence on the output has fallen to at
# most half of its initial value. Measure it with derivatives. The layer has one unit, so input and state have one
# element each; feed it 40 zeros. The influence of step t is the absolute value of the derivative of the *last* output
# with respect to the input at t. It is largest for the last input, so go back from there and count the steps until it
# is at most half as large.
#
# The check builds LSTMs that differ only in the forget gate's bias. How does the half-life grow with it? For two of
# its layers the answer can't be computed from weights: an average that fades, and the mean of the last few inputs.


# %% solution="rnn_measure_reach"
def half_life(layer: torch.nn.Module) -> int:
    """The number of steps until an input's influence on the last output has fallen to half or less."""
    ### BEGIN SOLUTION
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().abs().flip((0,)).tolist()
    return next(steps for steps, each in enumerate(influence) if each <= influence[0] / 2)
    ### END SOLUTION


# %% check="rnn_measure_reach"
rng = check.rng()


def lstm(forget_bias: float) -> torch.nn.Module:
    """An LSTM whose gates ignore the state and, except for the forget gate, are open."""
    layer = torch.nn.LSTM(1, 1)
    with torch.no_grad():
        layer.weight_ih_l0[:] = torch.tensor([[0.0], [0.0], [1.0], [0.0]])
        layer.weight_hh_l0.zero_()
        layer.bias_ih_l0[:] = torch.tensor([5.0, forget_bias, 0.0, 5.0])
        layer.bias_hh_l0.zero_()
    return layer


def plain(weight: float) -> torch.nn.Module:
    layer = torch.nn.RNN(1, 1)
    with torch.no_grad():
        for each in layer.parameters():
            each.zero_()
        layer.weight_ih_l0.fill_(1.0)
        layer.weight_hh_l0.fill_(weight)
    return layer


class Average(torch.nn.Module):
    """The sum of the inputs, each multiplied by the fraction that remains after so many steps."""

    def __init__(self, shares: list[float]) -> None:
        super().__init__()
        self.shares, self.fed = shares, 0

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        self.fed, steps = len(x), range(len(x))
        rows = [sum(x[t - back] * share for back, share in enumerate(self.shares[: t + 1])) for t in steps]
        return torch.stack(rows), None


biases = [-1.0, 0.3, 1.0, 2.0, 3.0] + [round(float(each), 1) + 0.03 for each in rng.uniform(-2, 2.5, 3)]
values = {f"LSTM, forget bias {bias:.2f}": half_life(lstm(bias)) for bias in biases}
weights = [-0.9, 0.45, 0.5] + [round(float(each), 1) + 0.03 for each in rng.uniform(0.3, 0.9, 2)]
values |= {f"RNN, weight {weight:.2f}": half_life(plain(weight)) for weight in weights}
kept, window = float(rng.uniform(0.6, 0.9)), int(rng.integers(4, 15))
fading = Average([kept**back for back in range(40)])
values |= {
    f"keeps {kept:.3f} of each input": half_life(fading),
    f"mean of {window}": half_life(Average([1 / window] * window)),
    "zeros that a layer is fed": fading.fed,
}
check.show({name: int(value) for name, value in values.items()}, text="The half-lives, in steps.")

# %% [markdown] hint="rnn_measure_reach"
# Create an input of zeros, shape (40, 1, 1), that requires grad. Differentiate `layer(x)[0][-1]`, and look at
# `x.grad`.

# %% [markdown] hint="rnn_measure_reach"
# If you read the gradient backwards, the last input's influence is the first element:
# `x.grad.flatten().abs().flip((0,))`.

# %% [markdown] hint="rnn_measure_reach"
# Count from 0 at the last input. The answer is the first count at which the influence is at most half of the one
# at 0.


# %% mutant="rnn_measure_reach"
# Requires less than half
# At most half is enough: with a weight of 0.5, the influence one step back is exactly half.
def half_life(layer):
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().abs().flip(0)
    return int((influence < 0.5 * influence[0]).nonzero()[0])


# %% mutant="rnn_measure_reach"
# Counts from the first input
# Read forwards, the first input has the smallest influence, so the answer is 0 at once. Start at the last input.
def half_life(layer: torch.nn.Module) -> int:
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().abs().tolist()
    return next(steps for steps, each in enumerate(influence) if each <= influence[-1] / 2)


# %% mutant="rnn_measure_reach"
# One step too many
# The last input is 0 steps back, so the index in the list is the number of steps.
def half_life(layer: torch.nn.Module) -> int:
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.abs().flatten().tolist()[::-1]
    return sum(each > influence[0] / 2 for each in influence) + 1


# %% mutant="rnn_measure_reach"
# Forgets the sign
# With a negative weight the derivative alternates in sign. Its magnitude is what counts, so take the absolute value.
def half_life(layer: torch.nn.Module) -> int:
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().flip((0,)).tolist()
    return next(steps for steps, each in enumerate(influence) if each <= influence[0] / 2)


# %% mutant="rnn_measure_reach"
# Differentiates all outputs
# The sum of all outputs depends on an early input through many outputs. Only the last output shows how far back the
# layer reaches.
def half_life(layer: torch.nn.Module) -> int:
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0].sum().backward()
    influence = x.grad.flatten().abs().flip((0,)).tolist()
    return next((steps for steps, each in enumerate(influence) if each <= influence[0] / 2), 40)


# %% mutant="rnn_measure_reach"
# Computes it from the weights
# This is correct for these LSTMs and RNNs, but it says nothing about a layer whose memory works differently. A
# measurement holds for any layer.
def half_life(layer: torch.nn.Module) -> int:
    weights = dict(layer.named_parameters())
    if not weights:
        return 1
    bias = weights["bias_ih_l0"].tolist()
    kept = abs(weights["weight_hh_l0"].item()) if len(bias) == 1 else 1 / (1 + np.exp(-bias[1]))
    return int(np.ceil(np.log(0.5) / np.log(kept) - 1e-6))


# %% mutant="rnn_measure_reach"
# Compares neighbours
# This finds where the influence halves from one step to the next. In an LSTM it shrinks a little at each step.
def half_life(layer: torch.nn.Module) -> int:
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().abs().flip((0,)).tolist()
    return next((steps for steps in range(1, 40) if influence[steps] <= influence[steps - 1] / 2), 40)


# %% [markdown] exercise="rnn_layers" kind="core" points="1 1 1" part="mytorch.nn.recurrent:RNNBase.run | mytorch.nn.recurrent:RNNBase.forward mytorch.nn.recurrent:RNNBase.packed mytorch.nn.recurrent:RNNBase.padded mytorch.nn.recurrent:RNNBase.first_states | mytorch.nn.packing:filled_up mytorch.nn.packing:pad_sequence mytorch.nn.packing:pack_padded_sequence mytorch.nn.packing:pad_packed_sequence"
# ### Exercise 8 · Layers and directions
# `unroll` is one layer in one direction. Write the part that RNN, LSTM and GRU share, in three pieces, each of which is
# worth a point:
#
# - `run` goes over packed rows, through all layers and both directions. `self.directions` is `("",)` or `("",
#   "_reverse")`, and layer 1's weights in the backward direction are called `weight_ih_l1_reverse`,
#   `weight_hh_l1_reverse`, `bias_ih_l1_reverse` and `bias_hh_l1_reverse`; without biases the last two don't exist.
# - `forward` receives a batch, a single sequence or a `PackedSequence`. With `packed`, `padded` and `first_states`, it
#   turns its input into rows and initial states, calls `run`, and brings the results into the input's layout.
# - The functions of `packing.py` convert between the forms of a batch: `pad_sequence` makes a padded batch of several
#   sequences, `pack_padded_sequence` makes packed rows of a padded batch, and `pad_packed_sequence` goes back;
#   `filled_up` is a helper for it. The file has `cat`, `stack`, `full`, `tensor` and `index_select(x, 0, order)`.
#


# %% docstrings="rnn_layers"
def run():
    """Runs all layers over packed rows, and returns the last layer's rows and all last states.

    Step t has `sizes[t]` rows. `state` has a tensor (num_layers · directions, N, hidden) for each state of the
    step: layer 0 forwards, layer 0 backwards, layer 1 forwards … The last states are returned in the same order
    and shape. In each direction, `linear(data, weight_ih, bias_ih)` is computed for all rows at once and split
    into steps for `unroll(self.step, inputs, first, weight_hh, bias_hh, reverse)`. The outputs of two directions
    are concatenated: (rows, 2 · hidden). Between two layers there is `dropout(data, self.dropout, self.training)`.
    """


def forward():
    """Returns the outputs and the last states of a batch, a single sequence (T, input_size), or a `PackedSequence`.

    `self.packed(input, given)` or `self.padded(input, given)` computes both, where `given` is a tuple of
    states or None. If `self.names` has one name, `hx` and the last states are tensors; if it has two, they
    are tuples.
    """


def packed():
    """Computes `forward` of a packed batch: a `PackedSequence` of the last layer's rows, and the last states.

    `self.run` takes a list of sizes, and states for as many sequences as the first step has. States are
    passed and returned in the order that the sequences had before they were sorted: `each.index_select(1,
    order)` puts a state into another order.
    """


def padded():
    """Computes `forward` of a batch or a single sequence, as if it were packed with every sequence in each step.

    The batch is (T, N, input_size), or (N, T, input_size) with `self.batch_first`; `given` contains the
    initial states or is None. A single sequence (T, input_size) is a batch of one, with states (num_layers ·
    directions, hidden). `self.run` takes the rows of all steps, one step after the other. Returns the output
    in the input's layout, and the last states.

    Raises:
        ValueError: the input has another number of dimensions: "LSTM: Expected input to be 2D or 3D, got
            4D instead"; RNN's message ends in "got 4D tensor instead".
        RuntimeError: "input.size(-1) must be equal to input_size. Expected 3, got 5".
    """


def first_states():
    """Returns the initial states, (num_layers · directions, count, hidden), which are zeros if none are given.

    Zeros have the dtype and device of `data`. There is one tensor for each of `self.names`.

    Raises:
        RuntimeError: a state has another shape: "Expected hidden size (2, 4, 3), got [1, 4, 3]"; if there are two
            states, "Expected hidden[1] size …".
    """


def filled_up():
    """Pads a tensor at its end with rows of one value to `length` rows; dtype and device stay the same."""


def pad_sequence():
    """Puts sequences (Tₙ, …) into one batch (T, N, …), or (N, T, …), padded to the longest with `padding_value`."""


def pack_padded_sequence():
    """Makes a `PackedSequence` of the rows of a padded batch (T, N, …), or (N, T, …), that belong to its sequences.

    `lengths` is a list or a tensor of N integers. `data` has the first rows of all sequences, then the second
    rows of those that have one, and so on, and `batch_sizes` says how many rows there are at each step. The
    longest sequence comes first. With `enforce_sorted=False` the sequences are sorted here: `sorted_indices`
    says where each came from, and `unsorted_indices` where each went. Otherwise both are None.

    Raises:
        RuntimeError: there isn't one length for each sequence: "Expected `len(lengths)` to be equal to
            batch_size, but got 3 (batch_size=4)"; a length is below 1: "Length of all samples has to be greater
            than 0, but found an element in 'lengths' that is <= 0"; the order isn't decreasing: "`lengths` array
            must be sorted in decreasing order when `enforce_sorted` is True. …" (the rest is up to you).
    """


def pad_packed_sequence():
    """Returns the padded batch (T, N, …), or (N, T, …), of a packed sequence, and a tensor of its lengths.
    T is the largest length, and missing rows are filled with `padding_value`. Sequences that were sorted are
    returned in their original order.
    """


# %% check="rnn_layers" raises="RuntimeError ValueError"
rng = check.rng()
nn = mytorch.nn
count, length, width, hidden = (int(each) for each in rng.permutation([2, 3, 4, 5]))


def numbers(*size):
    return mytorch.tensor(rng.normal(size=size).round(2))


def went(kind, x, state=None, **options):
    """The output, the last states and the gradient of the input, or the error."""
    mytorch.manual_seed(check.seed())
    layer = getattr(nn, kind)(width, hidden, dtype=mytorch.float64, **options)
    x, results = x.clone().requires_grad_(), []
    problem = check.error(lambda: results.append(layer(x, state)))
    if problem is not None:
        return problem
    output, last = results[0]
    last = last if isinstance(last, tuple) else (last,)
    total = (output * output).sum() + sum((each * each).sum() for each in last)
    problem = check.error(total.backward)
    return output.detach(), [each.detach() for each in last], problem or x.grad


def went_packed(kind="GRU", lengths=(5, 3, 1), state=None, is_sorted=False, **options):
    """The rows and the last states of a packed batch, or the error."""
    mytorch.manual_seed(check.seed())
    layer = getattr(nn, kind)(width, hidden, dtype=mytorch.float64, **options)
    rnn, results = nn.utils.rnn, []
    sequences = rnn.pack_padded_sequence(numbers(5, len(lengths), width), list(lengths), enforce_sorted=is_sorted)
    problem = check.error(lambda: results.append(layer(sequences, state)))
    if problem is not None:
        return problem
    rows, last = results[0]
    return rows.data.detach(), last, list(rows[1:])


def on_a_gpu():
    """The device of the output of a layer on a GPU, or the error."""
    mytorch.cuda.simulate(1)
    layer, found = nn.GRU(2, 3, device="cuda"), []
    problem = check.error(lambda: found.append(layer(mytorch.ones(4, 1, 2, device="cuda"))[0]))
    return problem or found[0].device


def run_again():
    """The rows and the last states of two runs that differ in their data, and of a single row."""
    mytorch.manual_seed(check.seed())
    layer = nn.LSTM(width, hidden, dtype=mytorch.float64)
    sizes, state = [3, 2, 1], (numbers(1, 3, hidden), numbers(1, 3, hidden))
    runs = [check.intact(layer.run, numbers(6, width), sizes, state) for _ in range(2)]
    return *runs, layer.run(numbers(1, width), [1], tuple(each[:, 1:2] for each in state))


def first_types():
    """The types of the first states for data of two types."""
    layer, data = nn.GRU(2, 3), mytorch.ones(4, 2)
    return [layer.first_states(None, each, 2)[0].dtype for each in (data, data.double())]


cycle = [[2, 5, 4, 3], [4, 3, 2, 5]][int(rng.integers(2))]
ragged = numbers(6, 4, 2)


def packing(x, lengths, **options):
    """The four fields of a packed sequence, or the error (of a long message the first sentence)."""
    found = []
    pack = nn.utils.rnn.pack_padded_sequence
    problem = check.error(lambda: found.append(check.intact(pack, x, lengths, **options)))
    return str(problem).split(". ")[0] if problem else list(found[0])


def padding(lengths, batch_first=False, padding_value=0.0):
    """A batch that is packed and padded again, and its lengths."""
    order = sorted(range(4), key=lambda n: -lengths[n])
    data = [ragged[step, n] for step in range(5) for n in order if step < lengths[n]]
    sizes = [sum(step < each for each in lengths) for step in range(5)]
    fields = mytorch.stack(data), mytorch.tensor(sizes)
    if lengths != sorted(lengths, reverse=True):
        fields += mytorch.tensor(order), mytorch.tensor(np.argsort(order).tolist())
    sequence = mytorch.nn.packing.PackedSequence(*fields)
    return list(nn.utils.rnn.pad_packed_sequence(sequence, batch_first, padding_value))


def gradients():
    """The gradients of two sequences that are padded, and of a batch that is packed and padded again, or the error."""
    x, factors = ragged.clone().requires_grad_(), numbers(5, 4, 2)

    def loss():
        padded = nn.utils.rnn.pad_sequence([x[:3, 0], x[3:, 1], x[:1, 2]])
        packed = nn.utils.rnn.pack_padded_sequence(x, cycle, enforce_sorted=False)
        return (padded * factors[:3, :3]).sum() + (nn.utils.rnn.pad_packed_sequence(packed)[0] * factors).sum()

    return check.error(lambda: loss().backward()) or x.grad


batch = numbers(length, count, width)
check.show(
    {
        "one layer": went("RNN", batch),
        "three layers": went("GRU", batch, num_layers=3),
        "both directions": went("LSTM", batch, bidirectional=True),
        "two layers, both directions": went("LSTM", batch, num_layers=2, bidirectional=True),
        "batch_first": went("GRU", batch.transpose(0, 1), batch_first=True, bidirectional=True),
        "no biases": went("RNN", batch, bias=False),
        "dropout": went("GRU", batch, num_layers=3, dropout=0.5),
        "with states": went("LSTM", batch, (numbers(2, count, hidden), numbers(2, count, hidden)), num_layers=2),
        "with states, both directions": went("RNN", batch, numbers(4, count, hidden), num_layers=2, bidirectional=True),
        "one sequence": went("GRU", batch[:, 0], num_layers=2),
        "one sequence, batch_first": went("GRU", batch[:, 0], batch_first=True),
        "one sequence with states": went("RNN", batch[:, 0], numbers(2, hidden), num_layers=2),
        "on a GPU": on_a_gpu(),
        "packed": went_packed(num_layers=2, bidirectional=True),
        "packed, sorted already, with a state": went_packed(state=numbers(1, 3, hidden), is_sorted=True),
        "packed, to be sorted": went_packed(lengths=(2, 5, 4, 3)),
        "packed, to be sorted, with states": went_packed(
            "LSTM", (2, 5, 4, 3), (numbers(1, 4, hidden), numbers(1, 4, hidden))
        ),
        "two runs, and one of a single row": run_again(),
        "types of the first states": first_types(),
        "what forward returns": [
            type(nn.LSTM(2, 3)(mytorch.ones(4, 1, 2))[1]).__name__,
            nn.GRU(2, 3)(mytorch.ones(4, 1, 2))[1].shape,
        ],
        "four dimensions": went("LSTM", batch.unsqueeze(0)),
        "four dimensions, RNN": went("RNN", batch.unsqueeze(0)),
        "another width": went("GRU", numbers(length, count, width + 1)),
        "a state with another shape": went("RNN", batch, numbers(2, count, hidden)),
        "the second state": went("LSTM", batch, (numbers(1, count, hidden), numbers(1, count + 1, hidden))),
        "a batch to pack": ragged,
        "packed in its order": packing(ragged, [5, 4, 2, 2]),
        "packed in another order": packing(ragged, mytorch.tensor(cycle), enforce_sorted=False),
        "packed with batch_first": packing(ragged.transpose(0, 1), [6, 3, 2, 1], batch_first=True),
        "packed, three lengths for four": packing(ragged, [3, 2, 1]),
        "packed, a length of 0": packing(ragged, [3, 2, 1, 0]),
        "packed, not sorted": packing(ragged, cycle),
        "packed, not sorted after the first": packing(ragged, [5, 2, 3, 1]),
        "packed, a negative length": packing(ragged, [3, 2, 1, -1]),
        "three sequences, padded": nn.utils.rnn.pad_sequence([ragged[:2, 0], ragged[:4, 1], ragged[:1, 2]]),
        "with batch_first and a padding value": nn.utils.rnn.pad_sequence([ragged[:2, 0], ragged[:3, 1]], True, 7.0),
        "indices, padded": nn.utils.rnn.pad_sequence([mytorch.tensor([3, 4]), mytorch.tensor([5])]),
        "on a GPU, padded": nn.utils.rnn.pad_sequence(
            [mytorch.ones(2).half().to("cuda"), mytorch.ones(1).half().to("cuda")]
        ),
        "a sequence of one row, packed and padded": [
            packing(ragged[:1, :1], [1]),
            check.intact(nn.utils.rnn.pad_sequence, [ragged[:1, 0]]),
        ],
        "padded with rows": mytorch.nn.packing.filled_up(mytorch.tensor([[1, 2], [3, 4]]), 3, 9),
        "gradients through padding and packing": gradients(),
        "padded again": padding([5, 3, 2, 1]),
        "padded again in another order": padding(cycle),
        "padded again with batch_first and a padding value": padding(cycle, True, -1.0),
    },
    rtol=1e-4,
    text="Outputs, last states, and the gradients of the input; then the results of packing and padding.",
)

# %% [markdown] hint="rnn_layers"
# `run` is two loops, over layers and over directions. A direction's states are at index `layer *
# len(self.directions) + number`. The output of one layer is the next one's `data`, and the last states are collected
# in a list.

# %% [markdown] hint="rnn_layers"
# `getattr(self, f"{name}_l{layer}{direction}", None)` returns a weight or None. `inputs = linear(data, weight_ih,
# bias_ih).split(sizes)` gives the steps. Afterwards `cat(output)` makes rows again, and `cat(outputs, -1)` puts the
# directions side by side.

# %% [markdown] hint="rnn_layers"
# In `padded`, a single sequence calls `self.padded` again with `input.unsqueeze(1)` (or 0 with `batch_first`) and
# removes that dimension at the end. For a batch, use `steps.reshape(length * count, width)` with `[count] * length`
# as sizes. In `run`, the last states are `tuple(stack(each) for each in zip(*last))`.


# %% [markdown] hint="rnn_layers"
# Packing: for sorted lengths, `sizes = [sum(count > step for count in counts) for step in range(counts[0])]`, and the
# rows of a step are `batch[:size, step]` of a batch (N, T, …). `order = tensor(counts).argsort(descending=True)`
# sorts, and `order.argsort()` inverts it. Padding: `sequence.data.split(sizes)` gives the steps again, each of which
# is padded to as many rows as the first one has, and sequence n has as many rows as there are steps with more than n.


# %% mutant="rnn_layers"
# Packs sequence by sequence
# A layer processes one step of all sequences at once, so the rows of one step are stored together.
def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    batch = input if batch_first else input.transpose(0, 1)
    counts = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    order = back = None
    if not enforce_sorted:
        order = tensor(counts).argsort(descending=True)
        back = order.argsort()
        batch, counts = index_select(batch, 0, order), sorted(counts, reverse=True)
    sizes = [sum(count > step for count in counts) for step in range(max(counts))]
    return PackedSequence(
        cat([each[:count] for each, count in zip(batch, counts, strict=True)]), tensor(sizes), order, back
    )


# %% mutant="rnn_layers"
# Returns the sorting order twice
# `unsorted_indices` is the inverse of `sorted_indices`: it says where each of the original sequences is now.
def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    batch = input if batch_first else input.transpose(0, 1)
    counts = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    found = f"{len(counts)} (batch_size={len(batch)})"
    refuse(len(counts) != len(batch), f"Expected `len(lengths)` to be equal to batch_size, but got {found}")
    found = "an element in 'lengths' that is <= 0"
    refuse(min(counts) <= 0, f"Length of all samples has to be greater than 0, but found {found}")
    order = None
    if not enforce_sorted:
        order = tensor(counts).argsort(descending=True)
        batch, counts = index_select(batch, 0, order), sorted(counts, reverse=True)
    rule = "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True"
    refuse(counts != sorted(counts, reverse=True), f"{rule}. ")
    sizes = [sum(count > step for count in counts) for step in range(counts[0])]
    return PackedSequence(cat([batch[:size, step] for step, size in enumerate(sizes)]), tensor(sizes), order, order)


# %% mutant="rnn_layers"
# Puts the batch first
# By default the result is (T, N, …), and only `batch_first=True` gives (N, T, …).
def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    longest = max(len(each) for each in sequences)
    return stack([filled_up(each, longest, padding_value) for each in sequences])


# %% mutant="rnn_layers"
# Pads with floating-point rows
# Token indices must stay integers when they are padded, so the new rows have the dtype of the others.
def filled_up(x, length, value):
    return cat([x, full((length - len(x), *x.shape[1:]), float(value))])


# %% mutant="rnn_layers"
# Leaves the batch sorted
# The caller expects the sequences in their original order, which `unsorted_indices` restores.
def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0):
    sizes = sequence.batch_sizes.tolist()
    rows = [filled_up(part, sizes[0], padding_value) for part in sequence.data.split(sizes)]
    batch, lengths = stack(rows, 1), tensor([sum(size > n for size in sizes) for n in range(sizes[0])])
    return batch if batch_first else batch.transpose(0, 1), lengths


# %% mutant="rnn_layers"
# Always pads with zeros
# Zero may have a meaning, for instance as a token index. The padding is `padding_value`.
def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0):
    sizes = sequence.batch_sizes.tolist()
    rows = [filled_up(part, sizes[0], 0.0) for part in sequence.data.split(sizes)]
    batch, lengths = stack(rows, 1), tensor([sum(size > n for size in sizes) for n in range(sizes[0])])
    if sequence.unsorted_indices is not None:
        batch = index_select(batch, 0, sequence.unsorted_indices)
        lengths = index_select(lengths, 0, sequence.unsorted_indices)
    return batch if batch_first else batch.transpose(0, 1), lengths


# %% mutant="rnn_layers"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0):
    from minitorch.nn.utils.rnn import pad_packed_sequence as original

    return original(sequence, batch_first, padding_value)


# %% mutant="rnn_layers"
# The first layer's weights for all
# Each layer has its own weights, `_l0`, `_l1`, …
def run(self, data, sizes, state):
    last = []
    for layer in range(self.num_layers):
        outputs = []
        for number, direction in enumerate(self.directions):
            place = layer * len(self.directions) + number
            own = layer if layer < 2 else 1
            weights = [
                getattr(self, f"{name}_l{own}{direction}", None)
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            ]
            inputs = linear(data, weights[0], weights[2]).split(sizes)
            output, final = unroll(
                self.step, inputs, tuple(each[place] for each in state), weights[1], weights[3], number == 1
            )
            outputs.append(cat(output))
            last.append(final)
        data = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
        if layer < self.num_layers - 1:
            data = dropout(data, self.dropout, self.training)
    return data, tuple(stack(each) for each in zip(*last, strict=True))


# %% mutant="rnn_layers"
# Dropout after the last layer as well
# Dropout is applied between layers. The output of the last layer is the result itself.
def run(self, data, sizes, state):
    last = []
    for layer in range(self.num_layers):
        outputs = []
        for number, direction in enumerate(self.directions):
            place = layer * len(self.directions) + number
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weight_ih, weight_hh, bias_ih, bias_hh = (
                getattr(self, f"{name}_l{layer}{direction}", None) for name in names
            )
            inputs = linear(data, weight_ih, bias_ih).split(sizes)
            first = tuple(each[place] for each in state)
            output, final = unroll(self.step, inputs, first, weight_hh, bias_hh, number == 1)
            outputs.append(cat(output))
            last.append(final)
        data = dropout(outputs[0] if len(outputs) == 1 else cat(outputs, -1), self.dropout, self.training)
    return data, tuple(stack(each) for each in zip(*last, strict=True))


# %% mutant="rnn_layers"
# All forwards first
# The states are ordered by layer: layer 0 forwards, layer 0 backwards, then layer 1.
def run(self, data, sizes, state):
    last = {}
    for layer in range(self.num_layers):
        outputs = []
        for number, direction in enumerate(self.directions):
            place = number * self.num_layers + layer
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weight_ih, weight_hh, bias_ih, bias_hh = (
                getattr(self, f"{name}_l{layer}{direction}", None) for name in names
            )
            inputs = linear(data, weight_ih, bias_ih).split(sizes)
            first = tuple(each[place] for each in state)
            output, last[place] = unroll(self.step, inputs, first, weight_hh, bias_hh, number == 1)
            outputs.append(cat(output))
        data = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
        if layer < self.num_layers - 1:
            data = dropout(data, self.dropout, self.training)
    return data, tuple(stack(each) for each in zip(*(last[place] for place in sorted(last)), strict=True))


# %% mutant="rnn_layers"
# Rows of sequences, not of steps
# The rows of one step are stored together, so the first two dimensions of (N, T, width) have to be swapped first.
def padded(self, input, given):
    if input.ndim not in (2, 3):
        kind = "D tensor" if isinstance(self, RNN) else "D"
        raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}{kind} instead")
    if input.ndim == 2:
        given = None if given is None else tuple(each.unsqueeze(1) for each in given)
        output, state = self.padded(input.unsqueeze(int(not self.batch_first)), given)
        return output.squeeze(int(not self.batch_first)), tuple(each.squeeze(1) for each in state)
    count, length, width = input.shape if self.batch_first else (input.shape[1], input.shape[0], input.shape[2])
    if width != self.input_size:
        raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {width}")
    first = self.first_states(given, input, count)
    output, state = self.run(input.reshape(length * count, width), [count] * length, first)
    return output.reshape(*input.shape[:2], output.shape[1]), state


# %% mutant="rnn_layers"
# Leaves the states sorted
# The states are passed and returned in the order that the sequences had before they were sorted.
def packed(self, input, given):
    data, sizes, order, back = input
    output, state = self.run(data, sizes.tolist(), self.first_states(given, data, sizes[0].item()))
    return PackedSequence(output, sizes, order, back), state


# %% mutant="rnn_layers"
# Always a tuple
# An LSTM has two states, `h` and `c`. The other layers have one, which is a tensor, not a tuple.
def forward(self, input, hx=None):
    given = None if hx is None else tuple(hx) if len(self.names) > 1 else (hx,)
    run = self.packed if isinstance(input, PackedSequence) else self.padded
    return run(input, given)


# %% mutant="rnn_layers"
# A single sequence's states keep the batch dimension
# A single sequence has states without a batch dimension, both those that are passed and those that are returned.
def padded(self, input, given):
    if input.ndim not in (2, 3):
        kind = "D tensor" if isinstance(self, RNN) else "D"
        raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}{kind} instead")
    if input.ndim == 2:
        given = None if given is None else tuple(each.unsqueeze(1) for each in given)
        output, state = self.padded(input.unsqueeze(int(not self.batch_first)), given)
        return output.squeeze(int(not self.batch_first)), state
    steps = input.transpose(0, 1) if self.batch_first else input
    length, count, width = steps.shape
    if width != self.input_size:
        raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {width}")
    first = self.first_states(given, input, count)
    output, state = self.run(steps.reshape(length * count, width), [count] * length, first)
    output = output.reshape(length, count, output.shape[1])
    return output.transpose(0, 1) if self.batch_first else output, state


# %% mutant="rnn_layers"
# Zeros of the default dtype
# A float64 layer needs float64 states, so create the zeros with the dtype of the data.
def first_states(self, given, data, count):
    size = (self.num_layers * len(self.directions), count, self.hidden_size)
    if given is None:
        return tuple(zeros(size) for _ in self.names)
    for number, each in enumerate(given):
        if each.shape != size:
            name = f"hidden[{number}]" if len(given) > 1 else "hidden"
            raise RuntimeError(f"Expected {name} size {size}, got {list(each.shape)}")
    return given


# %% mutant="rnn_layers"
# Accepts any state
# A state for another number of sequences would be truncated or fail later on. Report which state has the wrong shape.
def first_states(self, given, data, count):
    size = (self.num_layers * len(self.directions), count, self.hidden_size)
    return given or tuple(zeros(size, dtype=data.dtype, device=data.device) for _ in self.names)
