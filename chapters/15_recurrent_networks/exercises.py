# %% [markdown]
# # Exercises · Recurrent networks
# Eight exercises, 21 points. Four of them add to your library: the loop over time, two steps, and the layers around them.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check


def whole(rng, low: int, high: int) -> int:
    """A number from `low` to `high`, both included."""
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
# Set `prediction` to the shapes of `output`, `h` and `c`: a list of three lists. Write it down without running the code.

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
# Which of the three have a row for each step in time? Which of them come from both layers?

# %% [markdown] hint="rnn_predict_shapes"
# `output` joins both directions in its last dimension. The states list layers and directions in their first.

# %% [markdown] hint="rnn_predict_shapes"
# `batch_first` is about inputs and outputs. The states are (layers · directions, N, hidden) all the same.

# %% mutant="rnn_predict_shapes"
# The states are batch first, too
# `batch_first` doesn't change the states: layers and directions come first in them.
prediction = [[6, 7, 10], [6, 4, 5], [6, 4, 5]]

# %% mutant="rnn_predict_shapes"
# Forgets the directions in the states
# Two layers in two directions have four last states.
prediction = [[6, 7, 10], [2, 6, 5], [2, 6, 5]]

# %% mutant="rnn_predict_shapes"
# Joins both layers in the output
# The output is the last layer's alone: 2 directions · 5.
prediction = [[6, 7, 20], [4, 6, 5], [4, 6, 5]]

# %% mutant="rnn_predict_shapes"
# One direction in the output
# The output has both directions side by side: 2 · 5 numbers at each step.
prediction = [[6, 7, 5], [4, 6, 5], [4, 6, 5]]

# %% mutant="rnn_predict_shapes"
# Time first
# With `batch_first` the batch comes first: 6 sequences of 7 steps.
prediction = [[7, 6, 10], [4, 7, 5], [4, 7, 5]]

# %% [markdown] exercise="rnn_unroll" kind="core" points=3 part="mytorch.nn.recurrent:unroll"
# ### Exercise 2 · The loop over time
# Unroll a step over time, forwards or backwards. `inputs` is a list of tensors, one for each moment. In a packed batch,
# later ones have fewer rows: the short sequences have ended, and keep the state they had. Backwards, it is the other way
# round: the long sequences begin alone, and the short ones join in, with the state that they were given.
#
# Don't write into the state's tensors: the graph needs the old ones.


# %% docstrings="rnn_unroll"
def unroll():
    """Go through time: `state = step(x, state, weight, bias)` for each x in `inputs`, or backwards.

    The tensors of `state` have a row for each of N sequences. An x may have fewer rows than that, where
    short sequences have ended already (or, in reverse, not begun): then only the first rows of the state
    make the step, and the others stay as they are. `cat` is there.

    Returns the step's outputs, which are the first tensors of the new states, x by x in the order of
    `inputs`, with as many rows as x has; and the last state, with N rows.
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
    """A step with two states: the second one counts."""
    h, count = state
    return (x + h @ weight + (0 if bias is None else bias)).tanh(), count + 1


values = {"rows of the inputs": sizes}


def unrolled(name: str, steps: list, bias=None, reverse: bool = False) -> None:
    shown = "outputs", "last states", "gradient of the weight", "gradient of the first state"
    values.update({f"{name}: {each}": None for each in shown})
    weight.grad = first.grad = None
    outputs, last = recurrent.unroll(step, steps, start, weight, bias, reverse)
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
# Here a wrong loop may raise. What it found before still says what is wrong with it.
values["packed, backwards: error"] = check.error(unrolled, "packed, backwards", inputs, reverse=True)
values["a GRU: error"] = check.error(gru)
values["the first state, afterwards"] = first.detach()
values["rows of the inputs, afterwards"] = [len(each) for each in inputs]
check.show(values, rtol=1e-4, text="Loops with a step that has two states, the second of which counts; then a GRU.")

# %% [markdown] hint="rnn_unroll"
# First the simple case, all rows at every step: a loop that calls `step`, keeps the new state, and appends its first
# tensor to a list. `reversed(inputs)` goes backwards; reverse the list of outputs at the end.

# %% [markdown] hint="rnn_unroll"
# Now fewer rows: let `rows = len(x)`. The step gets `each[:rows]` of each tensor in the state. Its result has only these
# rows.

# %% [markdown] hint="rnn_unroll"
# The other rows stay: the new state is `cat([new, old[rows:]])` for each pair of new and old tensors. That is right for
# both directions, and also when no row is left over.


# %% mutant="rnn_unroll"
# Lets the short sequences go
# The state lost the rows of the sequences that have ended. In the end it has only the longest one's.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        state = step(x, tuple(each[: len(x)] for each in state), weight, bias)
        outputs.append(state[0])
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# The outputs stay backwards
# Backwards, the first output that is computed belongs to the last input. The list has to be reversed.
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
# An output has as many rows as its input. Those of sequences that have ended don't belong in a packed batch.
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
# A step may have several states, an LSTM two. All of them have to be kept for the sequences that have ended.
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
# Zeros for what has ended
# A sequence that has ended keeps the state that it had. Here its state becomes 0.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        new = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(new[0])
        state = tuple(cat([each, 0 * old[rows:]]) for each, old in zip(new, state, strict=True))
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# Detaches what has ended
# The values are right. But the state that a short sequence keeps is part of its result, so the gradient has to reach it.
def unroll(step, inputs, state, weight, bias, reverse=False):
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        rows = len(x)
        new = step(x, tuple(each[:rows] for each in state), weight, bias)
        outputs.append(new[0])
        state = tuple(cat([each, old[rows:].detach()]) for each, old in zip(new, state, strict=True))
    return outputs[::-1] if reverse else outputs, state


# %% mutant="rnn_unroll"
# Cuts the first state off
# The gradient goes on into the first state: an encoder may have made it, or the piece of text before this one.
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
# Turns the caller's list round
# `inputs.reverse()` changes the list of whoever called. `reversed(inputs)` goes backwards without that.
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
# A write in place changes tensors that belong to the caller: the first state isn't what it was.
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
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def unroll(step, inputs, state, weight, bias, reverse=False):
    from minitorch.ops.nn.recurrent import _unroll

    return _unroll(step, inputs, None, state, {"weight_hh": weight, "bias_hh": bias}, reverse)


# %% [markdown] exercise="rnn_lstm_step" kind="core" points=3 part="mytorch.nn.recurrent:lstm_step"
# ### Exercise 3 · The LSTM's step
# `linear(h, weight, bias)` is $U h + b$, and `chunk(4, -1)` cuts a tensor into four along its last dimension. The order of
# the parts is PyTorch's, so that its weights load.


# %% docstrings="rnn_lstm_step"
def lstm_step():
    """The next state (h', c') of an LSTM; `state` is (h, c), both (N, hidden).

    x + U h + b, for U = `weight` of shape (4 · hidden, hidden), has four parts along the last dimension,
    in this order:

        i = σ(part 0)       how much of the candidate goes in
        f = σ(part 1)       how much of the memory stays
        g = tanh(part 2)    the candidate
        o = σ(part 3)       how much of the memory is shown

    c' = f · c + i · g and h' = o · tanh(c'). `x` has shape (N, 4 · hidden).
    Source: Hochreiter and Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735, with the forget
    gate of Gers et al. 2000.
    """


# %% check="rnn_lstm_step"
rng = check.rng()
count, hidden = whole(rng, 2, 3), whole(rng, 3, 4)
x, h, c, weight, bias = (
    mytorch.tensor(rng.normal(size=size).round(2), requires_grad=True)
    for size in [(count, 4 * hidden), (count, hidden), (count, hidden), (4 * hidden, hidden), (4 * hidden,)]
)
new_h, new_c = mytorch.nn.recurrent.lstm_step(x, (h, c), weight, bias)
((new_h * new_h).sum() + new_c.sum()).backward()
values = {"h": new_h, "c": new_c, "gradient of c": c.grad, "gradient of h": h.grad, "gradient of the bias": bias.grad}
alone, kept = mytorch.nn.recurrent.lstm_step(x, (h, c), weight, None)
values |= {"without bias: h": alone, "without bias: c": kept}
mytorch.manual_seed(check.seed())
layer = mytorch.nn.LSTM(3, hidden, num_layers=2, bidirectional=True)
output, (last, memory) = layer(mytorch.randn(5, count, 3))
values |= {"a layer: output": output.detach(), "h of the layer": last.detach(), "c of the layer": memory.detach()}
check.show(values, rtol=1e-4, text="One step with its gradients; then an LSTM of two layers and both directions.")

# %% [markdown] hint="rnn_lstm_step"
# One sum for all four parts: `x + linear(h, weight, bias)`. Then cut it up, and give each part its function.

# %% [markdown] hint="rnn_lstm_step"
# Three of the parts are gates between 0 and 1: `sigmoid`. The third part, g, is the candidate: `tanh`.

# %% [markdown] hint="rnn_lstm_step"
# `c = f * c + i * g` comes first; h is made of the *new* c: `o * c.tanh()`. Return (h, c).


# %% mutant="rnn_lstm_step"
# Another order of the gates
# The parts are i, f, g, o. With f and i exchanged it keeps what it should let in, and weights of PyTorch mean something else.
def lstm_step(x, state, weight, bias):
    h, c = state
    f, i, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% mutant="rnn_lstm_step"
# Shows the old memory
# h' is made of the new cell, c', not of the one before the step.
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    return o.sigmoid() * c.tanh(), f.sigmoid() * c + i.sigmoid() * g.tanh()


# %% mutant="rnn_lstm_step"
# Gates the candidate by a sigmoid
# The candidate g goes through tanh: it may be negative, and so can lower the memory.
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).sigmoid().chunk(4, -1)
    c = f * c + i * g
    return o * c.tanh(), c


# %% mutant="rnn_lstm_step"
# No tanh at the end
# What is shown is o · tanh(c'). Without tanh, h grows with the memory, without bounds.
def lstm_step(x, state, weight, bias):
    h, c = state
    i, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c, c


# %% mutant="rnn_lstm_step"
# Couples the gates
# Here what comes in pushes out what was there: 1 − f in place of i. That is a GRU's idea; in an LSTM i is a gate of its own.
def lstm_step(x, state, weight, bias):
    h, c = state
    _, f, g, o = (x + linear(h, weight, bias)).chunk(4, -1)
    c = f.sigmoid() * c + (1 - f.sigmoid()) * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% mutant="rnn_lstm_step"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def lstm_step(x, state, weight, bias):
    from minitorch.ops.nn.recurrent import lstm_formula

    return lstm_formula(x + linear(state[0], weight, bias), state[1])


# %% [markdown] exercise="rnn_gru_step" kind="core" points=3 part="mytorch.nn.recurrent:gru_step"
# ### Exercise 4 · The GRU's step
# Now the input's share and the state's are cut up separately, since the reset gate multiplies only one of them.


# %% docstrings="rnn_gru_step"
def gru_step():
    """The next state (h',) of a GRU; `state` is (h,), h of shape (N, hidden).

    `x` and u = U h + b, for U = `weight` of shape (3 · hidden, hidden), have three parts each along the
    last dimension:

        r = σ(x₀ + u₀)         the reset gate: how much of the past the candidate sees
        z = σ(x₁ + u₁)         the update gate: how much of the past stays
        n = tanh(x₂ + r · u₂)  the candidate; r multiplies after the product with U

    h' = (1 - z) · n + z · h.
    Source: Cho et al. 2014, https://arxiv.org/abs/1406.1078, in the form of cuDNN.
    """


# %% check="rnn_gru_step"
rng = check.rng()
count, hidden = whole(rng, 2, 3), whole(rng, 3, 4)
x, h, weight, bias = (
    mytorch.tensor(rng.normal(size=size).round(2), requires_grad=True)
    for size in [(count, 3 * hidden), (count, hidden), (3 * hidden, hidden), (3 * hidden,)]
)
(new,) = mytorch.nn.recurrent.gru_step(x, (h,), weight, bias)
(new * new).sum().backward()
values = {"h": new, "gradient of h": h.grad, "gradient of x": x.grad, "gradient of the bias": bias.grad}
values["without bias"] = mytorch.nn.recurrent.gru_step(x, (h,), weight, None)[0]
mytorch.manual_seed(check.seed())
layer = mytorch.nn.GRU(3, hidden, num_layers=2, bidirectional=True)
output, last = layer(mytorch.randn(5, count, 3))
values |= {"a layer: output": output.detach(), "h of the layer": last.detach()}
check.show(values, rtol=1e-4, text="One step with its gradients; then a GRU of two layers and both directions.")

# %% [markdown] hint="rnn_gru_step"
# Cut both: `x.chunk(3, -1)` and `linear(h, weight, bias).chunk(3, -1)`. Call them x_r, x_z, x_n and u_r, u_z, u_n.

# %% [markdown] hint="rnn_gru_step"
# Two gates: `(x_r + u_r).sigmoid()` and `(x_z + u_z).sigmoid()`. The candidate is `(x_n + r * u_n).tanh()`.

# %% [markdown] hint="rnn_gru_step"
# h' = (1 − z) · n + z · h: a large z keeps. The step returns a tuple with one tensor, `(h,)`.


# %% mutant="rnn_gru_step"
# Resets the state before the product
# That is how the paper has it, and some frameworks. PyTorch multiplies after the product with U, so the bias is gated, too.
def gru_step(x, state, weight, bias):
    (h,) = state
    hidden = h.shape[-1]
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, _ = linear(h, weight, bias).chunk(3, -1)
    r, z = (x_r + u_r).sigmoid(), (x_z + u_z).sigmoid()
    n = (x_n + linear(r * h, weight[2 * hidden :], None if bias is None else bias[2 * hidden :])).tanh()
    return ((1 - z) * n + z * h,)


# %% mutant="rnn_gru_step"
# Keeps where it should renew
# In PyTorch z says how much of the past stays. Papers differ in this: in some, z is the share of the new.
def gru_step(x, state, weight, bias):
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, u_n = linear(h, weight, bias).chunk(3, -1)
    r, z = (x_r + u_r).sigmoid(), (x_z + u_z).sigmoid()
    n = (x_n + r * u_n).tanh()
    return (z * n + (1 - z) * h,)


# %% mutant="rnn_gru_step"
# Exchanges the two gates
# The parts are r, z, n: the reset gate comes first.
def gru_step(x, state, weight, bias):
    (h,) = state
    x_z, x_r, x_n = x.chunk(3, -1)
    u_z, u_r, u_n = linear(h, weight, bias).chunk(3, -1)
    r, z = (x_r + u_r).sigmoid(), (x_z + u_z).sigmoid()
    n = (x_n + r * u_n).tanh()
    return ((1 - z) * n + z * h,)


# %% mutant="rnn_gru_step"
# Resets the input as well
# r multiplies the state's share only. The input always comes through.
def gru_step(x, state, weight, bias):
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    u_r, u_z, u_n = linear(h, weight, bias).chunk(3, -1)
    r, z = (x_r + u_r).sigmoid(), (x_z + u_z).sigmoid()
    n = (r * (x_n + u_n)).tanh()
    return ((1 - z) * n + z * h,)


# %% mutant="rnn_gru_step"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def gru_step(x, state, weight, bias):
    from minitorch.ops.nn.recurrent import _gru

    return (_gru(x, linear(state[0], weight, bias), state[0]),)


# %% [markdown] exercise="rnn_by_hand" kind="build" points=3
# ### Exercise 5 · Back through time, by hand
# A favourite of the whiteboard: the backward pass of $h_t = \tanh(W x_t + U h_{t-1})$ with $h_0 = 0$, in NumPy and without
# autograd. `x` has shape (T, I), `W` (H, I), `U` (H, H). Somebody computed all states, `h` of shape (T, H), where `h[t]`
# belongs to `x[t]`, and gives you `g`, also (T, H): the gradient of the loss with respect to each `h[t]` as it is *used by
# the loss*. What comes back through later steps has to be added.
#
# Return the gradients of `W`, of `U` and of `x`.


# %% solution="rnn_by_hand"
def backward_through_time(x, h, W, U, g):
    """The gradients of W, U and x."""
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
    found = backward_through_time(x.copy(), h.copy(), W.copy(), U.copy(), g.copy())
    values |= {f"{name}: {which}": np.asarray(grad) for which, grad in zip(("W", "U", "x"), found, strict=True)}
check.show(values, rtol=1e-6, text="Gradients through time.")

# %% [markdown] hint="rnn_by_hand"
# Go from the last step to the first, with one vector to remember: the gradient of h[t] that comes from step t + 1.

# %% [markdown] hint="rnn_by_hand"
# At each step, the whole gradient of h[t] is `g[t] + later`. Through tanh it becomes `sums = (…) * (1 - h[t] ** 2)`.

# %% [markdown] hint="rnn_by_hand"
# From `sums`: the gradient of W gets `np.outer(sums, x[t])`, that of U `np.outer(sums, h[t - 1])` (for t = 0 the state before
# was 0), x[t] gets `sums @ W`, and `later` for the step before is `sums @ U`.


# %% mutant="rnn_by_hand"
# Each step by itself
# What comes back through the later steps is missing: each h[t] is also used by h[t + 1].
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
# U multiplied the state before the step: `h[t - 1]`, and zeros at the first step.
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
# Going back through U h needs the transposed matrix: `sums @ U`. `U @ sums` has the same shape and other numbers.
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
# What goes on to the step before has passed through tanh's slope: it comes from `sums`, not from the gradient of h[t].
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
# The same W is used at every step, so its gradient is the sum over all of them.
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
# `summaries` reads sentences with a bidirectional GRU (input and output without `batch_first`) and gives one row for each:
# what both directions knew at the end. A classifier on top of it learns well. In production, where sentences come one at
# a time, it is much worse. And the same sentence gets another row when its neighbours in the batch change:
#
# ```python
# layer = torch.nn.GRU(2, 3, bidirectional=True)
# a, b = torch.ones(2, 2), torch.ones(5, 2)
# summaries(layer, [a])[0]       # one row …
# summaries(layer, [a, b])[0]    # … and a different one
# ```
#
# Repair it. The rows belong to the sentences in the order in which they were given.


# %% solution="rnn_repair_neighbours"
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    """A row for each sentence (Tₙ, input_size): (N, 2 · hidden_size), the forward direction's part first."""
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
lengths = np.roll([3, 6, 2, 5], rng.integers(4)).tolist()
sentences = [torch.tensor(rng.normal(size=(length, 2)).astype(np.float32)) for length in lengths]
rows = summaries(layer, sentences)
values = {"lengths": lengths, "rows": rows.detach(), "the second one alone": summaries(layer, sentences[1:2]).detach()}
rows.sum().backward()
values["gradient of a weight"] = layer.weight_hh_l0_reverse.grad
check.show(values, rtol=1e-4, text="One row for each of four sentences, and for one of them alone.")

# %% [markdown] hint="rnn_repair_neighbours"
# Print the row of one sentence with longer and longer neighbours. Which half keeps changing? Is the other half right when
# the sentence is alone?

# %% [markdown] hint="rnn_repair_neighbours"
# There are two faults in `output[-1]`. For a short sentence it is what the layer knew after the padding. And its second half
# belongs to a direction that has only just begun.

# %% [markdown] hint="rnn_repair_neighbours"
# `rnn.pack_sequence(sentences, enforce_sorted=False)` keeps padding out. Then the last states are each sentence's own:
# `h[-2]` is the forward direction of the last layer, `h[-1]` the backward one. Join them along dimension 1.


# %% mutant="rnn_repair_neighbours"
# Takes the states of the padded batch
# The backward direction has now read everything. But both directions still read the padding: one at the end, one first.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    _, h = layer(rnn.pad_sequence(sentences))
    return torch.cat([h[-2], h[-1]], 1)


# %% mutant="rnn_repair_neighbours"
# Reads the output at each sentence's end
# The forward half has made all its steps now. The backward half has made those in the padding, and one more.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    output, _ = layer(rnn.pad_sequence(sentences))
    return torch.stack([output[len(each) - 1, number] for number, each in enumerate(sentences)])


# %% mutant="rnn_repair_neighbours"
# Reshapes without the exchange
# The states are (2, N, hidden): reshaped at once, a row gets the same direction of two sentences.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return h[-2:].reshape(len(sentences), -1)


# %% mutant="rnn_repair_neighbours"
# Sorts and doesn't sort back
# The rows are right, but in the order of the lengths: sentences get each other's rows.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    _, h = layer(rnn.pack_sequence(sorted(sentences, key=len, reverse=True)))
    return torch.cat([h[-2], h[-1]], 1)


# %% mutant="rnn_repair_neighbours"
# Takes the first layer's states
# h lists layers and directions from the first on. The last layer's two are h[-2] and h[-1].
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return torch.cat([h[0], h[1]], 1)


# %% mutant="rnn_repair_neighbours"
# Reads the packed output at each sentence's end
# Padding is out, and the forward half is right. But at a sentence's last word the backward direction has read only that
# word: it has read everything at the first one.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    output, lengths = rnn.pad_packed_sequence(layer(rnn.pack_sequence(sentences, enforce_sorted=False))[0])
    return torch.stack([output[length - 1, number] for number, length in enumerate(lengths.tolist())])


# %% mutant="rnn_repair_neighbours"
# Reads each half where it ends, after padding
# The forward half is right, and the backward half comes from the right place. But the backward direction began in the
# padding, so what it knows at the first word depends on how much of it there was.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    output, _ = layer(rnn.pad_sequence(sentences))
    half = layer.hidden_size
    ends = [output[len(each) - 1, number, :half] for number, each in enumerate(sentences)]
    return torch.cat([torch.stack(ends), output[0, :, half:]], 1)


# %% mutant="rnn_repair_neighbours"
# Puts the backward half first
# Both halves are right and stand in the wrong order: h[-2] is the forward direction of the last layer, h[-1] the backward one.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    _, h = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return torch.cat([h[-1], h[-2]], 1)


# %% mutant="rnn_repair_neighbours"
# Reads the packed output's last step
# Packed and padded again, the output of a short sentence is 0 after its end.
def summaries(layer: torch.nn.GRU, sentences: list[torch.Tensor]) -> torch.Tensor:
    output, _ = layer(rnn.pack_sequence(sentences, enforce_sorted=False))
    return rnn.pad_packed_sequence(output)[0][-1]


# %% [markdown] exercise="rnn_measure_reach" kind="measure" points=2
# ### Exercise 7 · How far does it see?
# Write `half_life(layer)`: after how many steps is the influence of an input on the output at most half of what it was at
# first? Measure it with derivatives. The layer has one unit (input and state have one number each); feed it 40 zeros. The
# influence of step t is the absolute value of the derivative of the *last* output with respect to the input at t. It is
# largest for the last input; go back from there, and count the steps until it is at most half as large.
#
# The check makes LSTMs in which only the forget gate's bias differs. How does the half-life grow with it? Two of its layers
# have no weights to compute the answer from: an average that fades, and the mean of the last few inputs.


# %% solution="rnn_measure_reach"
def half_life(layer: torch.nn.Module) -> int:
    """The steps until an input's influence on the last output has fallen to half or less."""
    ### BEGIN SOLUTION
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().abs().flip((0,)).tolist()
    return next(steps for steps, each in enumerate(influence) if each <= influence[0] / 2)
    ### END SOLUTION


# %% check="rnn_measure_reach"
rng = check.rng()


def lstm(forget_bias: float) -> torch.nn.Module:
    """An LSTM whose gates don't look at the state; they are open, but for the forget gate."""
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
    """The sum of the inputs, each times the share that is left of it after so many steps."""

    def __init__(self, shares: list[float]) -> None:
        super().__init__()
        self.shares = shares

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        steps = range(len(x))
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
}
check.show({name: int(value) for name, value in values.items()}, text="Half-lives, in steps.")

# %% [markdown] hint="rnn_measure_reach"
# Make an input of zeros, shape (40, 1, 1), that requires grad. Differentiate `layer(x)[0][-1]`, and look at `x.grad`.

# %% [markdown] hint="rnn_measure_reach"
# The last input's influence is the first number when you read the gradient backwards: `x.grad.flatten().abs().flip((0,))`.

# %% [markdown] hint="rnn_measure_reach"
# Count from 0 at the last input: the answer is the first count at which the influence is at most half of the one at 0.


# %% mutant="rnn_measure_reach"
# Waits for less than half
# At most half is enough: with a weight of 0.5, one step back is exactly half.
def half_life(layer):
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().abs().flip(0)
    return int((influence < 0.5 * influence[0]).nonzero()[0])


# %% mutant="rnn_measure_reach"
# Counts from the first input
# Reading forwards, the first input is the weakest one, so the answer is 0 at once. Start at the last input.
def half_life(layer: torch.nn.Module) -> int:
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().abs().tolist()
    return next(steps for steps, each in enumerate(influence) if each <= influence[-1] / 2)


# %% mutant="rnn_measure_reach"
# One step too many
# The last input is 0 steps back: the position in the list is the number of steps.
def half_life(layer: torch.nn.Module) -> int:
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.abs().flatten().tolist()[::-1]
    return sum(each > influence[0] / 2 for each in influence) + 1


# %% mutant="rnn_measure_reach"
# Forgets the sign
# With a negative weight the derivative alternates. Its size is what counts: take the absolute value.
def half_life(layer: torch.nn.Module) -> int:
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().flip((0,)).tolist()
    return next(steps for steps, each in enumerate(influence) if each <= influence[0] / 2)


# %% mutant="rnn_measure_reach"
# Differentiates all outputs
# The sum of all outputs depends on early inputs through many outputs. Only the last one tells how far it looks back.
def half_life(layer: torch.nn.Module) -> int:
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0].sum().backward()
    influence = x.grad.flatten().abs().flip((0,)).tolist()
    return next((steps for steps, each in enumerate(influence) if each <= influence[0] / 2), 40)


# %% mutant="rnn_measure_reach"
# Computes it from the weights
# That is right for these LSTMs and RNNs, and it says nothing about a layer whose memory works in another way. Measure: then
# it holds for any.
def half_life(layer: torch.nn.Module) -> int:
    weights = dict(layer.named_parameters())
    if not weights:
        return 1
    bias = weights["bias_ih_l0"].tolist()
    kept = abs(weights["weight_hh_l0"].item()) if len(bias) == 1 else 1 / (1 + np.exp(-bias[1]))
    return int(np.ceil(np.log(0.5) / np.log(kept) - 1e-6))


# %% mutant="rnn_measure_reach"
# Compares neighbours
# This asks where the influence halves from one step to the next. In an LSTM it shrinks a little at each step.
def half_life(layer: torch.nn.Module) -> int:
    x = torch.zeros(40, 1, 1, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    influence = x.grad.flatten().abs().flip((0,)).tolist()
    return next((steps for steps in range(1, 40) if influence[steps] <= influence[steps - 1] / 2), 40)


# %% [markdown] exercise="rnn_layers" kind="core" points="1 1 1" part="mytorch.nn.recurrent:RNNBase.run | mytorch.nn.recurrent:RNNBase.forward mytorch.nn.recurrent:RNNBase.packed mytorch.nn.recurrent:RNNBase.padded mytorch.nn.recurrent:RNNBase.first_states | mytorch.nn.packing:filled_up mytorch.nn.packing:pad_sequence mytorch.nn.packing:pack_padded_sequence mytorch.nn.packing:pad_packed_sequence"
# ### Exercise 8 · Layers and directions
# `unroll` is one layer in one direction. Write what RNN, LSTM and GRU share: layer upon layer, both directions, and the way from
# a batch to packed rows and back. `self.directions` is `("",)` or `("", "_reverse")`, and the weights of layer 1 backwards are
# called `weight_ih_l1_reverse`, `weight_hh_l1_reverse`, `bias_ih_l1_reverse` and `bias_hh_l1_reverse`; without biases the last two
# don't exist.
#
# `pad_sequence` makes one batch of sequences, `pack_padded_sequence` the packed rows of a padded batch, and `pad_packed_sequence` the
# padded batch of packed rows. `filled_up` helps them. All stand in `packing.py`, which has `cat`, `stack`, `full`, `tensor` and
# `index_select(x, 0, order)`.


# %% docstrings="rnn_layers"
def run():
    """All layers over packed rows, of which step t has `sizes[t]`: the last layer's rows, and all last states.

    `state` has a tensor (num_layers · directions, N, hidden) for each state of the step: layer 0 forwards, layer 0
    backwards, layer 1 forwards … The last states come back in the same order and shape. In each direction,
    `linear(data, weight_ih, bias_ih)` is computed for all rows at once and split into steps for
    `unroll(self.step, inputs, first, weight_hh, bias_hh, reverse)`. The outputs of two directions stand side by side:
    (rows, 2 · hidden). Between two layers there is `dropout(data, self.dropout, self.training)`.
    """


def forward():
    """The outputs and the last states, for a batch, one sequence (T, input_size), or a `PackedSequence`.

    `self.packed(input, given)` or `self.padded(input, given)` computes both; `given` is a tuple of states or None. Where
    `self.names` has one name, `hx` and the last states are a tensor; where it has two, tuples.
    """


def packed():
    """What `forward` does with a packed batch: a `PackedSequence` of the last layer's rows, and the last states.

    `self.run` takes a list of sizes, and states for as many sequences as the first step has. States come, and are
    returned, in the order that the sequences had before they were sorted: `each.index_select(1, order)` puts a state
    into another order.
    """


def padded():
    """What `forward` does with a batch or with one sequence: as if packed, with all sequences at every step.

    (T, N, input_size), or (N, T, input_size) with `self.batch_first`; `given` are the first states or None. One
    sequence (T, input_size) is a batch of one, its states (num_layers · directions, hidden). `self.run` takes the
    rows of all steps, one step after the other. Returns the output in the input's layout, and the last states.

    Raises:
        ValueError: another number of dimensions: "LSTM: Expected input to be 2D or 3D, got 4D instead", where
            RNN says "got 4D tensor instead".
        RuntimeError: "input.size(-1) must be equal to input_size. Expected 3, got 5".
    """


def first_states():
    """The states at the start, (num_layers · directions, count, hidden): zeros if none are given.

    Zeros have the type and device of `data`. There is one tensor for each of `self.names`.

    Raises:
        RuntimeError: another shape: "Expected hidden size (2, 4, 3), got [1, 4, 3]"; where there are two states,
            "Expected hidden[1] size …".
    """


def filled_up():
    """The tensor with rows of one number added at its end, up to `length` rows; type and device stay."""


def pad_sequence():
    """Sequences (Tₙ, …) in one batch (T, N, …), or (N, T, …), filled up to the longest with `padding_value`."""


def pack_padded_sequence():
    """The rows of a padded batch (T, N, …), or (N, T, …), that belong to its sequences: a `PackedSequence`.

    `lengths` is a list or a tensor of N integers. `data` has the first rows of all sequences, then the second rows of
    those that have one, and so on; `batch_sizes` says how many there are at each step. The longest sequence comes
    first. With `enforce_sorted=False` the sequences are sorted here: `sorted_indices` says where each came from, and
    `unsorted_indices` where each has gone. Otherwise both are None.

    Raises:
        RuntimeError: not one length for each sequence: "Expected `len(lengths)` to be equal to batch_size, but got 3
            (batch_size=4)"; a length below 1: "Length of all samples has to be greater than 0, but found an element
            in 'lengths' that is <= 0"; an order that isn't decreasing: "`lengths` array must be sorted in decreasing
            order when `enforce_sorted` is True. …" (what follows is free).
    """


def pad_packed_sequence():
    """The padded batch (T, N, …), or (N, T, …), of a packed sequence, and the lengths of its sequences, a tensor.

    T is the longest length, and what is missing is `padding_value`. Sequences that were sorted are in the order of
    before.
    """


# %% check="rnn_layers" raises="RuntimeError ValueError"
rng = check.rng()
nn = mytorch.nn
count, length, width, hidden = (int(each) for each in rng.permutation([2, 3, 4, 5]))


def numbers(*size):
    return mytorch.tensor(rng.normal(size=size).round(2))


def went(kind, x, state=None, **options):
    """The output, the last states and the gradient of the input; or the error."""
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


def went_packed(kind="GRU", lengths=(5, 3, 2), state=None, **options):
    """The rows, and the last states, of a packed batch; or the error."""
    mytorch.manual_seed(check.seed())
    layer = getattr(nn, kind)(width, hidden, dtype=mytorch.float64, **options)
    rnn, results = nn.utils.rnn, []
    sequences = rnn.pack_padded_sequence(numbers(5, len(lengths), width), lengths, enforce_sorted=False)
    problem = check.error(lambda: results.append(layer(sequences, state)))
    if problem is not None:
        return problem
    rows, last = results[0]
    return rows.data.detach(), last, list(rows[1:])


cycle = [[2, 5, 4, 3], [4, 3, 2, 5]][int(rng.integers(2))]
ragged = numbers(6, 4, 2)


def packing(x, lengths, **options):
    """The four fields of a packed sequence, or the error, of a long one the first sentence."""
    found = []
    problem = check.error(lambda: found.append(nn.utils.rnn.pack_padded_sequence(x, lengths, **options)))
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


batch = numbers(length, count, width)
check.show(
    {
        "one layer": went("RNN", batch),
        "three layers": went("GRU", batch, num_layers=3),
        "both directions": went("LSTM", batch, bidirectional=True),
        "two layers, both directions": went("LSTM", batch, num_layers=2, bidirectional=True),
        "batch_first": went("GRU", batch.transpose(0, 1), batch_first=True, bidirectional=True),
        "no biases": went("RNN", batch, bias=False),
        "dropout": went("GRU", batch, num_layers=2, dropout=0.5),
        "with states": went("LSTM", batch, (numbers(2, count, hidden), numbers(2, count, hidden)), num_layers=2),
        "one sequence": went("GRU", batch[:, 0], num_layers=2),
        "one sequence, batch_first": went("GRU", batch[:, 0], batch_first=True),
        "one sequence with a state": went("RNN", batch[:, 0], numbers(1, hidden)),
        "packed": went_packed(num_layers=2, bidirectional=True),
        "packed, to be sorted": went_packed(lengths=(2, 5, 4, 3)),
        "packed, to be sorted, with states": went_packed(
            "LSTM", (2, 5, 4, 3), (numbers(1, 4, hidden), numbers(1, 4, hidden))
        ),
        "what forward returns": [
            type(nn.LSTM(2, 3)(mytorch.ones(4, 1, 2))[1]).__name__,
            nn.GRU(2, 3)(mytorch.ones(4, 1, 2))[1].shape,
        ],
        "four dimensions": went("LSTM", batch.unsqueeze(0)),
        "four dimensions, RNN": went("RNN", batch.unsqueeze(0)),
        "another width": went("GRU", numbers(length, count, width + 1)),
        "a state of another shape": went("RNN", batch, numbers(2, count, hidden)),
        "the second state": went("LSTM", batch, (numbers(1, count, hidden), numbers(1, count + 1, hidden))),
        "a batch to pack": ragged,
        "packed in its order": packing(ragged, [5, 4, 2, 2]),
        "packed in another order": packing(ragged, mytorch.tensor(cycle), enforce_sorted=False),
        "packed with batch_first": packing(ragged.transpose(0, 1), [6, 3, 2, 1], batch_first=True),
        "packed, three lengths for four": packing(ragged, [3, 2, 1]),
        "packed, a length of 0": packing(ragged, [3, 2, 1, 0]),
        "packed, not sorted": packing(ragged, cycle),
        "three sequences, padded": nn.utils.rnn.pad_sequence([ragged[:2, 0], ragged[:4, 1], ragged[:1, 2]]),
        "with batch_first and a number": nn.utils.rnn.pad_sequence([ragged[:2, 0], ragged[:3, 1]], True, 7.0),
        "filled up": mytorch.nn.packing.filled_up(mytorch.tensor([[1, 2], [3, 4]]), 3, 9),
        "padded again": padding([5, 4, 2, 2]),
        "padded again in another order": padding(cycle),
        "padded again with batch_first and a number": padding(cycle, True, -1.0),
    },
    rtol=1e-4,
    text="Outputs, last states, and the gradient of the input. Then what packing and padding give.",
)

# %% [markdown] hint="rnn_layers"
# `run`: two loops, over layers and over directions. The place of a direction's states is `layer * len(self.directions) + number`.
# What one layer gives is the next one's `data`; the last states go into a list.

# %% [markdown] hint="rnn_layers"
# `getattr(self, f"{name}_l{layer}{direction}", None)` gives a weight or None. `inputs = linear(data, weight_ih,
# bias_ih).split(sizes)`; afterwards `cat(output)` makes rows again, and `cat(outputs, -1)` puts the directions side by side.

# %% [markdown] hint="rnn_layers"
# `padded`: one sequence calls `self.padded` again with `input.unsqueeze(1)` (or 0 with `batch_first`) and takes that dimension
# off at the end. A batch: `steps.reshape(length * count, width)` with `[count] * length` as sizes. In `run`, the last states are
# `tuple(stack(each) for each in zip(*last))`.


# %% [markdown] hint="rnn_layers"
# Packing: `sizes = [sum(count > step for count in counts) for step in range(counts[0])]` for sorted lengths, and the rows of a step are
# `batch[:size, step]` of a batch (N, T, …). `order = tensor(counts).argsort(descending=True)` sorts, and `order.argsort()` leads back.
# Padding: `sequence.data.split(sizes)` gives the steps again, each of which is filled up to the first one's rows; sequence n has as many rows
# as there are steps with more than n.


# %% mutant="rnn_layers"
# Packs sequence by sequence
# A layer takes a step of all sequences at once, so the rows of one step stand together.
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
# Gives the sorting order twice
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
# By default the result is (T, N, …); only `batch_first=True` gives (N, T, …).
def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    longest = max(len(each) for each in sequences)
    return stack([filled_up(each, longest, padding_value) for each in sequences])


# %% mutant="rnn_layers"
# Fills up with floating-point numbers
# Indices of words stay integers when they are padded: the new rows have the type of the others.
def filled_up(x, length, value):
    return cat([x, full((length - len(x), *x.shape[1:]), float(value))])


# %% mutant="rnn_layers"
# Leaves the batch sorted
# Whoever packed the sequences wants them back in their own order: `unsorted_indices` leads there.
def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0):
    sizes = sequence.batch_sizes.tolist()
    rows = [filled_up(part, sizes[0], padding_value) for part in sequence.data.split(sizes)]
    batch, lengths = stack(rows, 1), tensor([sum(size > n for size in sizes) for n in range(sizes[0])])
    return batch if batch_first else batch.transpose(0, 1), lengths


# %% mutant="rnn_layers"
# Always fills up with zeros
# Zero may mean something, as a token's number does. The padding is `padding_value`.
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
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0):
    from minitorch.nn.utils.rnn import pad_packed_sequence as original

    return original(sequence, batch_first, padding_value)


# %% mutant="rnn_layers"
# The first layer's weights for all
# Each layer has weights of its own, `_l0`, `_l1`, …
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
# Dropout after the last layer, too
# Dropout stands between layers. What the last one gives is the result.
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
# The rows of one step stand together: of (N, T, width) the first two dimensions have to be exchanged first.
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
# The states come in the order that the sequences had before they were sorted, and are returned in it.
def packed(self, input, given):
    data, sizes, order, back = input
    output, state = self.run(data, sizes.tolist(), self.first_states(given, data, sizes[0].item()))
    return PackedSequence(output, sizes, order, back), state


# %% mutant="rnn_layers"
# Always a tuple
# An LSTM has two states, `h` and `c`. The others have one, which is a tensor, not a tuple.
def forward(self, input, hx=None):
    given = None if hx is None else tuple(hx) if len(self.names) > 1 else (hx,)
    run = self.packed if isinstance(input, PackedSequence) else self.padded
    return run(input, given)


# %% mutant="rnn_layers"
# The states of one sequence keep the batch
# One sequence has states without a batch dimension, those that it gives as well as those that it takes.
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
# Zeros of the default type
# A float64 layer needs float64 states: zeros with the type of the data.
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
# Takes any state
# A state for another number of sequences would be cut, or fail somewhere below. Say which one is wrong.
def first_states(self, given, data, count):
    size = (self.num_layers * len(self.directions), count, self.hidden_size)
    return given or tuple(zeros(size, dtype=data.dtype, device=data.device) for _ in self.names)
