# %% [markdown]
# # Recurrent networks
# In this chapter you write a loop over time, and the two steps that made it useful: LSTM and GRU. You will measure how far back a
# network remembers, find out why it forgets, and see why today's recurrent models are linear in their state.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(15)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## The first word of a hundred
# Feed 100 word vectors to a recurrent network, then replace the first word with a very different one and feed them again. Does the output
# change?

# %% tags=["proof-forgotten"]
import minitorch as torch

torch.manual_seed(0)
words = torch.randn(100, 1, 8)
others = words.clone()
others[0] += 100
for kind in ("RNN", "GRU", "LSTM"):
    layer = getattr(torch.nn, kind)(8, 16)
    moved = (layer(words)[0] - layer(others)[0]).abs().amax((1, 2))
    shown = ", ".join(f"{moved[after - 1].item():.4f} after {after}" for after in (1, 10, 100))
    print(f"{kind:4} outputs differ by {shown} words")

# %% [markdown] tags=["short"]
# All three networks forgot the first word, even the LSTM, which is famous for its memory. None of them is trained yet, but a
# network that can't see a word can't learn from it either. So what decides how far back a network sees?
#
# ## The smallest model
# A recurrent network is a loop that carries a state, and the smallest one carries a single number: $h \leftarrow \tanh(w h + x)$.
# How much does the last state depend on an earlier one? Each step between them multiplies the derivative by $w (1 - h^2)$, where
# $h$ is that step's new state.

# %%
import math


def states(w, inputs):
    found = [0.0]
    for x in inputs:
        found.append(math.tanh(w * found[-1] + x))
    return found


def sensitivities(w, found):
    """The derivative of the last state with respect to itself, the one before it, and so on back to the first."""
    products = [1.0]
    for h in reversed(found[1:]):
        products.append(products[-1] * w * (1 - h * h))
    return products


silence = [0.0] * 30
for w in (0.5, 1.0):
    print(f"w = {w}: over 30 steps {sensitivities(w, states(w, silence))[-1]:.1g}")

# %% [markdown]
# ### Break it
# With $w = 1$ the derivative is 1, however far you go back. Is that the cure? The inputs were all zeros, so try some that aren't:

# %% tags=["proof-vanishing"]
inputs = torch.randn(30).tolist()
back = sensitivities(1.0, states(1.0, inputs))
print("w = 1 with inputs, over 30 steps:", f"{back[-1]:.0e}")
print("w = 1.2 without tanh, over 30 steps:", round(1.2**30))

# %% [markdown]
# Away from 0, the derivative of tanh is below 1, so with $w = 1$ each step makes the product smaller. Removing tanh doesn't help
# either, because any $w$ except ±1 then makes the derivative shrink or grow exponentially, as the slider shows.

# %%
from course import pictures


def over_time(w):
    lines = {"with tanh": sensitivities(w, states(w, inputs)), "without": [w**k for k in range(31)]}
    last = lines["with tanh"][-1]
    about = f"w = {w:g}: over 30 steps the derivative becomes {last:.0e}, without tanh {w**30:.0e}."
    return pictures.curves(lines, range(31), xlabel="steps back", ylabel="derivative", log="y", alt=about)


pictures.slider(over_time, start={"w": 1.2}, w=[0.5, 0.8, 1.0, 1.2, 1.5, 2.0])

# %% [markdown]
# ## Backpropagation through time
# With vectors, $w$ becomes a matrix $U$, the same one at every step. If you unroll the loop, you get a deep network whose layers
# share their weights:

# %%
above = {"loss": ["h3"], "h3": ["x3", "h2", "U"], "h2": ["x2", "h1", "U"], "h1": ["x1", "h0", "U"]}
about = "x1 and h0 lead to h1, h1 and x2 to h2, h2 and x3 to h3, h3 to the loss; U leads to each h."
pictures.graph("loss", children=lambda node: above.get(node, []), label=str, alt=about)

# %% [markdown]
# From the loss back to `h0`, the gradient is multiplied by $U^T$ and by a derivative of tanh at each step. The gradient of $U$
# itself is a sum over all steps, in which recent steps dominate if the factors are small. Measure both directions: a linear
# recurrence with factors below and above 1, and an `nn.RNN` whose gradients explode and are clipped.


# %% tags=["proof-explodes"]
def gradient_norms(radius, steps=60):
    """The gradient's norm, going back through a linear recurrence that stretches by `radius`."""
    u = torch.nn.init.orthogonal_(torch.empty(16, 16)) * radius
    h = start = torch.zeros(16, requires_grad=True)
    for _ in range(steps):
        h = u @ h
    h.sum().backward()
    return start.grad.norm().item()


for radius in (0.8, 1.0, 1.2):
    print(f"U stretches by {radius}: gradient norm {gradient_norms(radius):.1e}")
layer = torch.nn.RNN(4, 8, nonlinearity="relu")
with torch.no_grad():
    layer.weight_hh_l0.copy_(torch.eye(8) * 1.5)
layer(torch.rand(40, 1, 4))[0][-1].sum().backward()
for name in ("norm of all gradients", "the same, clipped"):
    norm = torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)  # returns the norm from before
    print(f"{name}: {norm.item():.0e}")

# %% [markdown]
# **Interview · Why do gradients vanish or explode in an RNN?**
#
# - *Thirty seconds:* Going back k steps multiplies the gradient k times by the same matrix and by derivatives of tanh. If that product
#   shrinks, distant inputs get no gradient, and if it grows, the gradient explodes.
# - *Longer:* Vanishing gradients are easy to miss, because the loss still falls while the network learns from nearby words,
#   whereas exploding ones make the loss jump or become `nan`.
# - *They ask next:* What helps? Against exploding gradients, I clip the norm, and against vanishing ones, I use attention, or an
#   LSTM or GRU whose gates start by keeping the state.
# - *The trap:* Clipping doesn't cure both. It can't bring back a gradient that is 0, and it turns an infinite one into `nan`.
# - *Proof:* `proof-vanishing`, `proof-explodes`, `proof-gradient-over-time`.
#
# ### Truncated backpropagation
# A text of a million words is too long to unroll, so you read it in segments. Each segment hands its *state* to the next one, but
# no gradient flows back across the border, which is called **truncated backpropagation through time**. The next cell passes the
# state on in three ways, and then shows what goes wrong if it isn't detached:

# %% tags=["proof-truncated"]
from course import check

layer, text = torch.nn.RNN(1, 8), torch.randn(30, 1, 1)
first, second = text[:15].clone().requires_grad_(), text[15:]
_, kept = layer(first)
for name, h in {"kept": kept, "detached": kept.detach(), "zeros": None}.items():
    first.grad = None
    output, _ = layer(second, h)
    output.sum().backward(retain_graph=True)
    reached = 0 if first.grad is None else int((first.grad != 0).sum())
    print(f"{name:9} first output {output[0, 0, 0].item():.4f}, inputs of the first segment with a gradient: {reached}")
for retain in (False, True):
    state = layer(first)[1]
    state.sum().backward(retain_graph=retain)
    with torch.no_grad():
        layer.weight_hh_l0 *= 0.9  # in place, as an optimizer's step
    error = check.error(layer(second, state)[1].sum().backward)
    print(f"retain_graph={retain}:", str(error).partition(" (")[0].partition(" by an")[0])

# %% [markdown] tags=["short"]
# **Interview · What is truncated backpropagation through time?**
#
# - *Thirty seconds:* I read the sequence in segments and pass the state on, but I `detach` it first, so that each backward pass stays
#   within its segment.
# - *Longer:* The state still carries information from earlier segments, but no gradient teaches the network to keep something for
#   a later one.
# - *They ask next:* What if you forget `detach`? The second `backward` raises an error, because the graph of the first segment
#   has been freed.
# - *The trap:* `retain_graph=True` is the wrong answer to that error. The graph then grows from segment to segment, and after an optimizer
#   step `backward` raises another error because it needs the old weights. Passing no state on is wrong as well, since the network then
#   starts every segment from zeros.
# - *Proof:* `proof-truncated`.
#
# ## LSTM: remember by adding
# A plain step overwrites its memory, while an LSTM adds to it. For this it has a second state, the **cell** $c$, and three gates
# between 0 and 1:
#
# $$ c' = f \cdot c + i \cdot g \qquad h' = o \cdot \tanh(c') $$
#
# The forget gate $f$ says how much of the cell stays, the input gate $i$ how much of the candidate $g$ is added, and the output
# gate $o$ how much of the cell is shown. Along the cell, the derivative is just a product of forget gates, without a matrix and
# without tanh, so it survives as long as the gates are near 1.

# %% [markdown] given="mytorch.nn.recurrent:rnn_step"
# In `mytorch` a **step** is a function of the input's contribution, $W x + b$, and the state, which is a tuple. This is the plain one:

# %% [markdown]
# You will write `lstm_step`, `gru_step` and `unroll`, which applies a step over time, forwards or backwards. The input's
# contribution doesn't depend on the state, so the layer computes it for all steps in one matrix multiplication, and only $U h$
# has to wait for the step before.
#
# Now measure how far your own layers see, by differentiating the last output with respect to every input:


# %% tags=["proof-gradient-over-time"]
def reach(layer, steps=60):
    x = mytorch.randn(steps, 1, 8, requires_grad=True)
    layer(x)[0][-1].sum().backward()
    return [(x.grad[t] * x.grad[t]).sum().sqrt().item() for t in reversed(range(steps))]


mytorch.manual_seed(0)
layers = {"RNN": mytorch.nn.RNN(8, 16), "GRU": mytorch.nn.GRU(8, 16), "LSTM": mytorch.nn.LSTM(8, 16)}
layers["LSTM, f near 1"] = mytorch.nn.LSTM(8, 16)
layers["LSTM, f near 1"].bias_hh_l0.data[16:32] = 3.0  # the forget gate's part of the bias
lines = {name: reach(layer) for name, layer in layers.items()}
for name, line in lines.items():
    print(f"{name:15} 60 steps back: 10 to the power of {math.log10(line[-1]):.0f}")
about = "The gradient over 60 steps falls fast, but slowly for an LSTM whose forget gate is near 1."
pictures.curves(lines, range(60), xlabel="steps back", ylabel="gradient norm", log="y", alt=about)

# %% [markdown]
# As PyTorch initializes it, the LSTM forgets fast as well: its biases are near 0, so its forget gates are near $\sigma(0) = 0.5$
# and halve the memory at each step. With a forget bias of 3, a share of $\sigma(3) = 0.95$ stays.
#
# Which bias is right depends on how far back you have to look. Over 30 steps, a bias of 1 leaves only $\sigma(1)^{30} = 0.00008$,
# while a bias of $\ln 29 = 3.4$ gives a gate of 29/30 and leaves $(29/30)^{30} = 0.36$. In general, take $\ln(T - 1)$ for $T$
# steps.
#
# **Interview · How does an LSTM help against vanishing gradients?**
#
# - *Thirty seconds:* Its cell becomes $f \cdot c + i \cdot g$, so the derivative from cell to cell is the forget gate, which can
#   stay near 1. There is no matrix and no tanh on that path.
# - *Longer:* The network learns when to keep and when to forget, but it should begin by keeping. For a horizon of T steps, I
#   start with a forget bias of about ln(T − 1), because the usual bias of 1 fits only about four steps.
# - *They ask next:* Can its gradients still explode? Yes, through $h$ and $U$, so I clip them.
# - *The trap:* LSTMs do have vanishing gradients as PyTorch initializes them.
# - *Proof:* `proof-gradient-over-time`, `proof-recall`.
#
# ### Does the initialization matter?
# Here is a task: each of 30 steps brings a number, and a flag marks the first one. At the end the network has to output the
# flagged number, with a loss that is scaled so that always answering 0 gives 1. The cell trains six layers, some of them with a
# bias on the gate that keeps the state: the forget gate of the LSTM, the update gate of the GRU.


# %% tags=["proof-recall"]
def train(kind, bias=None, seed=0, steps=120):
    torch.manual_seed(seed)
    layer, head, losses = kind(2, 16), torch.nn.Linear(16, 1), []
    if bias is not None:
        with torch.no_grad():
            layer.bias_hh_l0[16:32] = bias  # an LSTM's forget gate, a GRU's update gate
    optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    for _ in range(steps):
        numbers, flags = torch.rand(30, 16) - 0.5, torch.zeros(30, 16)
        numbers[0] *= 2  # between -1 and 1, with variance 1/3
        flags[0] = 1
        said = head(layer(torch.stack([numbers, flags], 2))[0][-1])[:, 0]
        loss = 3 * torch.nn.functional.mse_loss(said, numbers[0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


nn, lines = torch.nn, {}
runs = {"RNN": (nn.RNN,), "GRU": (nn.GRU,), "LSTM": (nn.LSTM,), "LSTM, bias 1": (nn.LSTM, 1.0)}
runs |= {f"{kind.__name__}, bias ln 29": (kind, math.log(29)) for kind in (nn.GRU, nn.LSTM)}
for name, (kind, *bias) in runs.items():
    seeds = [train(kind, *bias, seed=seed) for seed in range(3)]
    tens = torch.tensor(seeds).reshape(3, 12, 10).mean(2)  # the mean of each ten steps
    lines[name] = tens.mean(0).tolist()
    print(f"{name:16} loss of the last ten steps, three seeds:", [round(loss) for loss in tens[:, -1].tolist()])
about = "The loss stays near 1; with a bias of ln 29, GRU and LSTM bring it to 0 in 120 steps."
pictures.curves(lines, range(10, 121, 10), xlabel="step", ylabel="loss, mean of three seeds", alt=about)

# %% [markdown]
# In these 120 steps, neither gates alone nor a bias of 1 helps, and only the layers that start by keeping for 30 steps learn the
# task. The others may need more steps: on PyTorch, four GRUs out of four learned it in 400 steps with a learning rate of 0.03,
# but no LSTM did. Of four plain RNNs, one had reached a loss of 0.3 after 1,000 steps at 0.01, while the other three were still
# at about 1.
#
# **Interview · RNN or transformer?**
#
# - *Thirty seconds:* An RNN takes one step for each token, and each step waits for the one before it, even in training. Everything it
#   remembers has to fit into a state of fixed size. Attention reads all tokens of a training text at once, and any two of them are one step
#   apart.
# - *Longer:* So in a transformer, the gradient between two tokens isn't multiplied once per token in between. The price is work
#   that grows with the square of the length, and a cache that grows with the length ([chapter 14](14_attention.ipynb)). An RNN's
#   step costs the same even after a million tokens.
# - *They ask next:* Are RNNs gone? No. They run on streams and small devices, and state-space models such as Mamba are recurrences again,
#   although linear ones.
# - *The trap:* LSTMs haven't solved long memory. Unless their gates start out near 1, the distant past gets no gradient.
# - *Proof:* `proof-gradient-over-time`, `proof-recall`.

# %% [markdown] tags=["short"]
# ## Linear recurrences: Mamba and linear attention
# Without a nonlinearity, the step is $h_t = a_t h_{t-1} + b_t$, and two such steps make one step of the same form. So you can
# merge pairs of steps, then pairs of pairs, until the whole sequence is done, which is called a **parallel scan**:


# %% tags=["proof-scan"]
def scan(a, b):
    """All states of h = a[t] * h + b[t], in about log2(len(a)) rounds; each round handles all t at once."""
    shift, rounds = 1, 0
    while shift < len(a):
        earlier_a = torch.cat([torch.ones(shift), a[:-shift]])
        earlier_b = torch.cat([torch.zeros(shift), b[:-shift]])
        a, b = a * earlier_a, a * earlier_b + b
        shift, rounds = 2 * shift, rounds + 1
    return b, rounds


a, b = torch.rand(1000), torch.randn(1000)
h, expected = torch.tensor(0.0), []
for t in range(1000):
    h = a[t] * h + b[t]
    expected.append(h)
found, rounds = scan(a, b)
print(
    f"{rounds} rounds instead of 1000 steps, largest difference {(found - torch.stack(expected)).abs().max().item():.4f}"
)

# %% [markdown]
# This toy scan handles every t in every round, so it does O(T log T) work, while Mamba's kernel and chunked linear attention do
# O(T).
#
# What does such a state cost? Its size is fixed, so its capacity is limited. *Linear attention*, for example, adds the product of
# each key and value to one matrix, $S \leftarrow S + k v^\top$, and reads with $q^\top S$. The next cell stores pairs in such a
# matrix, recalls each value by its key, and compares the result with softmax attention:

# %% tags=["proof-capacity"]
torch.manual_seed(0)
for pairs in (4, 16, 64, 256):
    keys, values = torch.nn.functional.normalize(torch.randn(pairs, 32), dim=1), torch.randn(pairs, 32)
    state = keys.T @ values  # 32 × 32, however many pairs there are
    answers = {"linear": keys @ state, "softmax": (50 * keys @ keys.T).softmax(1) @ values}
    nearest = {name: (answer[:, None] - values).square().sum(2).argmin(1) for name, answer in answers.items()}
    correct = {name: f"{(choice == torch.arange(pairs)).float().mean().item():.0%}" for name, choice in nearest.items()}
    print(f"{pairs:3} pairs in a state of width 32, recalled:", correct)

# %% [markdown]
# A state of width 32 recalls 16 pairs without a mistake, but of 64 it confuses some and of 256 most. Softmax attention, which
# keeps every pair, recalls them all.
#
# **Interview · Why can Mamba train in parallel, while an LSTM can't?**
#
# - *Thirty seconds:* Mamba's recurrence is linear in the state, so two steps can be merged into one step of the same form. A
#   parallel scan then needs about log₂ T rounds instead of T steps. An LSTM applies tanh and a matrix to the state at each step, so
#   its steps can't be merged.
# - *Longer:* The factors still depend on the input, so the model is *selective*: it can decide what to forget. They just don't
#   depend on the state.
# - *They ask next:* Does inference need the scan? No, it takes one cheap step per token, with a state that doesn't grow.
# - *The trap:* A linear recurrence doesn't make the network linear. The layers between two recurrences aren't linear.
# - *Proof:* `proof-scan`.
#
# **Interview · Why do hybrid models mix recurrent layers with attention?**
#
# - *Thirty seconds:* A recurrent state has a fixed size, so the more it holds, the worse it recalls a single detail. Attention keeps every
#   token and recalls it exactly, but its cache grows. A few attention layers among many recurrent ones give most of the benefits of both.
# - *Longer:* Jamba, for example, has one attention layer in eight, so its cache is about an eighth of that of a transformer of the
#   same depth. Qwen3-Next and Kimi Linear have one in four. Their recurrent layers use the *delta rule*, with which a new value
#   replaces the old one under its key instead of mixing with it ([chapter 26](26_whiteboard_decoder.ipynb)).
# - *They ask next:* Which tasks show the difference? Copying, and looking something up in a long context. Perplexity hardly shows it.
# - *The trap:* Short texts fit into the state, so a comparison on them alone says nothing.
# - *Proof:* `proof-capacity`.
#
# ## Output shapes of `nn.LSTM`
# This layer has two stacked layers and reads in both directions:

# %% tags=["proof-outputs"]
layer = torch.nn.LSTM(8, 16, num_layers=2, batch_first=True, bidirectional=True)
output, (h, c) = layer(torch.randn(5, 7, 8))
print("output", tuple(output.shape), " h", tuple(h.shape), " c", tuple(c.shape))
ends = {"output[:, -1], forward, and h[2]": output[:, -1, :16] - h[2]}
ends |= {f"output[:, {t}], backward, and h[3]": output[:, t, 16:] - h[3] for t in (-1, 0)}
print(*(f"{name} differ by {gap.abs().max().item():.1f}" for name, gap in ends.items()), sep="\n")

# %% [markdown]
# `output` holds the last layer's $h$ at every step, while `h` and `c` hold the last states of all layers and directions. The
# backward direction ends at the first word, so its last state is in `output[:, 0]`.
#
# **Interview · What does `nn.LSTM` return?**
#
# - *Thirty seconds:* It returns `output`, which has the last layer's state at every step, and a tuple `(h, c)` with the last states of
#   all layers and directions. Their shapes are (T, N, directions · H) and (layers · directions, N, H).
# - *Longer:* With `batch_first` the batch comes first in inputs and outputs, but not in the states, and an unbatched input has no N. With
#   `proj_size`, `output` and `h` have that width, and only `c` has H.
# - *They ask next:* What represents a whole sentence in a bidirectional layer? `cat([h[-2], h[-1]], -1)`, the last states of the two
#   directions.
# - *The trap:* In `output[:, -1]` of a batch-first layer, the backward half comes from a direction that has made only one step.
# - *Proof:* `proof-outputs`.
#
# ## Milestone: a bidirectional LSTM on a packed batch
# The next cell copies the weights of a two-layer bidirectional LSTM into your library and feeds both a *packed* batch, three
# sequences of different lengths without padding ([the end](15_recurrent_networks.ipynb#Padding-and-packed-sequences) explains how). Then it trains both for
# three steps and prints their losses:

# %% tags=["proof-milestone"]
source = torch.nn.LSTM(4, 5, num_layers=2, bidirectional=True)
batch, losses = torch.randn(6, 3, 4), {}
for library in (torch, mytorch):
    model = library.nn.LSTM(4, 5, num_layers=2, bidirectional=True)
    weights = {name: library.tensor(tensor.numpy()) for name, tensor in source.state_dict().items()}
    model.load_state_dict(weights)
    x = library.tensor(batch.numpy())
    x = library.nn.utils.rnn.pack_padded_sequence(x, [4, 6, 2], enforce_sorted=False)
    found = losses[library.__name__] = []
    for _ in range(3):
        loss = (model(x)[1][0] - 1).square().mean()
        loss.backward()
        for parameter in model.parameters():
            parameter.data -= parameter.grad
            parameter.grad = None
        found.append(round(loss.item(), 4))
print(losses)

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. How many parameters does `LSTM(8, 16)` have? 4 · (16 · 8 + 16 · 16) and 2 · 4 · 16 biases, which is 1,664.
# 2. Does an LSTM's number of parameters depend on the sequence length? No, all steps share the weights.
# 3. Where does an LSTM's `dropout=` act? Between layers. With one layer it acts nowhere, and PyTorch warns.
# 4. Is an LSTM's initial state learned? No, it is zeros unless you pass one.
# 5. In which order do the weights of PyTorch's LSTM hold its gates? i, f, g, o: input, forget, candidate, output.

# %% hidden=true tags=["proof-rapid-fire"]
import warnings

layer = torch.nn.LSTM(8, 16)
print("1.", sum(parameter.numel() for parameter in layer.parameters()))
print("2.", [tuple(layer(torch.ones(steps, 1, 8))[0].shape) for steps in (2, 50)])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.nn.LSTM(8, 16, dropout=0.5)
print("3.", str(caught[0].message)[:68])
zeros = torch.zeros(1, 1, 16)
print("4.", torch.equal(layer(words)[0], layer(words, (zeros, zeros))[0]))
with torch.no_grad():
    layer.bias_hh_l0[16:32] = -100.0  # the second part: nothing stays
print("5. without memory:", torch.equal(layer(words)[1][1], layer(words, (zeros, zeros + 9))[1][1]))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A recurrent network is a loop with one step, shared weights and a state.
# 2. Back through k steps, the gradient is multiplied k times by the same matrix and by derivatives of tanh.
# 3. Vanishing gradients are easy to miss, exploding ones aren't. Clipping helps only against the latter.
# 4. From segment to segment, pass the state on, but detach it.
# 5. LSTM: c' = f·c + i·g and h' = o·tanh(c'), so along c the derivative is f.
# 6. A forget bias near ln(T − 1) makes an LSTM start by keeping for T steps.
# 7. GRU: h' = (1 − z)·n + z·h, with one state and three parts.
# 8. `output` is the last layer at all steps, and `h` is all layers at their last step. For a sentence in both directions, take `h[-2]` and
#    `h[-1]`.
# 9. Padding is read like words unless you pack.
# 10. A linear recurrence can be computed by a parallel scan, but its state has a fixed size.

# %% [markdown]
# ## You try
# In [the exercises](../exercises/15_recurrent_networks.ipynb) you predict shapes; write the loop over time, the steps of LSTM and
# GRU, and the layers around them; backpropagate through time by hand; fix a classifier whose answer depends on the rest of the
# batch; and measure how far back a layer sees. (GRU and packed batches are explained at the optional end.) [Chapter
# 16](16_losses_and_optimizers.ipynb) trains what you have built.

# %% [markdown]
# ## If you have time
# ### GRU: one state instead of two
# A GRU has no cell. Its update gate $z$ mixes the old state with a new one, $h' = (1 - z) n + z h$, and its reset gate $r$ says
# how much of the past goes into the candidate $n$. Like the other two layers, it has *two* biases, one for the input and one for
# the state. Why?

# %% tags=["proof-two-biases"]
x = torch.randn(5, 2, 8)
for kind, parts in {"RNN": "h", "LSTM": "ifgo", "GRU": "rzn"}.items():
    layer = getattr(torch.nn, kind)(8, 16)
    layer(x)[0].sum().backward()
    both = zip(layer.bias_ih_l0.grad.split(16), layer.bias_hh_l0.grad.split(16), strict=True)
    equal = [torch.allclose(one, other, atol=1e-4) for one, other in both]
    differ = [part for part, same in zip(parts, equal, strict=True) if not same]
    count = sum(parameter.numel() for parameter in layer.parameters())
    print(f"{kind:4} {count} parameters; the two biases get different gradients in: {differ}")

# %% [markdown]
# In RNN and LSTM only the sum of the two biases matters, and the second one exists because cuDNN has it. In the GRU, $n = \tanh(W
# x + b + r \cdot (U h + c))$, so the second bias of the candidate passes through the gate.
#
# **Interview · LSTM or GRU?**
#
# - *Thirty seconds:* A GRU has three parts instead of four and one state instead of two, so it has a quarter fewer parameters. Which of
#   them is better depends on the task.
# - *Longer:* An LSTM can keep and add at once, because f and i are separate. A GRU has the weights $z$ and $1 - z$, so whatever it adds
#   replaces a part of what was there.
# - *They ask next:* Why two biases? In LSTMs one would be enough, but in PyTorch's GRU the reset gate multiplies after the product with U,
#   so the candidate's second bias matters.
# - *The trap:* Some frameworks apply the reset gate before the product: their weights may fit in shape, but the outputs differ.
# - *Proof:* `proof-two-biases`.

# %% [markdown]
# ### Padding and packed sequences
# Sentences of different lengths are padded to a rectangle, but nothing tells the network which rows are padding, so it reads them
# like words:

# %% tags=["proof-padding"]
from minitorch.nn.utils import rnn

torch.manual_seed(0)
layer = torch.nn.GRU(1, 4)
sentences = [torch.tensor([[5.0]]), torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[7.0], [8.0]])]
padded = rnn.pad_sequence(sentences)
packed = rnn.pack_padded_sequence(padded, [1, 3, 2], enforce_sorted=False)
alone = torch.stack([layer(sentence)[1][0] for sentence in sentences])
for name, state in {"padded": layer(padded)[1], "packed": layer(packed)[1]}.items():
    moved = (state[0] - alone).abs().amax(1)
    print(f"{name}: last states differ from those alone by", [round(distance, 1) for distance in moved.tolist()])
print("batch sizes", packed.batch_sizes.tolist(), " order", packed.sorted_indices.tolist())
table = padded[:, packed.sorted_indices, 0].int()
pictures.grids(("sorted, padded (T, N)", table, table > 0), "→", ("packed data", packed.data.T.int()))

# %% [markdown]
# A **packed sequence** stores the rows step by step, without padding. At step t only the first `batch_sizes[t]` sequences take
# part, while the others have ended and keep their states. `unroll` does that whenever a step has fewer rows than the state.
#
# **Interview · Why pack sequences?**
#
# - *Thirty seconds:* So that padding isn't read as words. Then the last state belongs to each sequence's own last word,
#   and no work is done for padding.
# - *Longer:* Sequences are sorted by length, so the ones that continue are always the first rows. The layer can then take a slice
#   instead of applying a mask.
# - *They ask next:* What do you do without packing? Take `output` at each sequence's last step, which is correct for layers that only
#   read forward. A backward direction, however, starts in the padding, and a second layer reads what that direction wrote.
# - *The trap:* If you sort by hand, you have to restore the order. `enforce_sorted=False` does both.
# - *Proof:* `proof-padding`.

# %% [markdown]
# ### The real one
# This is a step in minitorch, where one function serves all kinds of layers and `mode` says which:

# %%
import inspect

from minitorch.ops.nn import recurrent

print(inspect.getsource(recurrent.step))
for kind in ("RNN", "GRU", "LSTM"):
    print(kind, "ends in", getattr(torch.nn, kind)(8, 16)(words)[0].grad_fn.name())

# %% [markdown]
# `gates` is the input's contribution, and `weights` is a dict of the layer's parameters. You write `_gru` in exercise 4 and `lstm_formula`
# in exercise 3. `lstm_cell` computes the same as a single operation, so that a step leaves one node instead of many. `weight_hr` belongs to
# PyTorch's `proj_size`, which makes the LSTM's output and `h` a projection of its memory.
#
# In PyTorch on a CPU, each layer and direction of a float32 LSTM without `proj_size` is one call to oneDNN and one node of the
# graph, as the last line shows. RNN, GRU and any packed batch go through a loop. On a GPU, cuDNN usually computes all of them,
# which is fast, but you can't change anything inside. If you need to, write your own loop around `nn.LSTMCell`, which makes one
# step.
