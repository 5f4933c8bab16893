# %% [markdown]
# # Activations and initialization
# You'll find out why a deep network with PyTorch's own defaults may not train with plain SGD, and what its initial weights should
# be. At the end, twenty layers learn on your library with your Kaiming initialization and your clipping, and your library has a
# softmax, too.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(10)  # your library as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## Twenty layers that don't train
# Here are the two moons again, now with layers from `nn`. The loss is the *logistic loss* ln(1 + exp(−side · score)), with sides
# ±1. The three networks differ only in their depth and their optimizer. Which of them learn?

# %% tags=["proof-twenty-layers"]
from itertools import pairwise
from statistics import median

import minitorch as torch
from sklearn.datasets import make_moons

points, labels = make_moons(200, noise=0.15, random_state=0)


def network(library, depth, width=32, seed=1):
    library.manual_seed(seed)
    pairs = pairwise([2] + [width] * (depth - 1) + [1])
    layers = [layer for pair in pairs for layer in (library.nn.Linear(*pair), library.nn.ReLU())]
    return library.nn.Sequential(*layers[:-1])


def train(library, model, rate=0.1, clip=None, optimizer=None):  # the section on clipping explains `clip`
    sides = 2 * labels[:, None] - 1  # -1 or 1
    x, side = (library.tensor(array.astype("float32")) for array in (points, sides))
    losses = []
    for _ in range(250):
        loss = ((-side * model(x)).exp() + 1).log().mean()
        model.zero_grad()
        loss.backward()
        if clip is not None:
            library.nn.utils.clip_grad_norm_(model.parameters(), clip)
        if optimizer is not None:
            optimizer.step()
        else:
            with library.no_grad():
                for parameter in model.parameters():
                    parameter -= rate * parameter.grad
        losses.append(loss.item())
    return losses


for depth, name in ((3, "SGD"), (20, "SGD"), (20, "Adam")):
    ends, spreads = [], []
    for seed in range(3):
        model = network(torch, depth, seed=seed)
        spreads.append(model(torch.tensor(points.astype("float32"))).std().item())
        adam = torch.optim.Adam(model.parameters(), lr=3e-3) if name == "Adam" else None
        ends.append(median(train(torch, model, optimizer=adam)[-50:]))
    print(f"{depth:2} layers, {name:4}: outputs differ by at most {max(spreads):.4f} before,", end=" ")
    print(f"loss below 0.4 afterwards on {sum(end < 0.4 for end in ends)} of 3 seeds")

# %% [markdown]
# With plain SGD the deep network stays at 0.693, which is $\ln 2$, the loss of a coin toss. There was no error, and every line of the
# code is correct. But even before training, the deep network gives all 200 points nearly the same output, because the input gets lost on
# the way. Its gradients are tiny as well, and SGD takes steps in proportion to them. **Adam** divides each step by the typical size of
# the gradient, so it learns from the same initial weights on all three seeds. (That works as long as the gradients stay well above its
# `eps` of 10⁻⁸: see [chapter 16](16_losses_and_optimizers.ipynb).) The optimizer can hide a poor initialization, but it doesn't remove
# it. To see where the input is lost, look at the two things that each layer does: a matrix multiplication and a ReLU.
#
# ## Why a nonlinearity
# What happens if you leave out the ReLUs and keep the three linear layers?

# %% tags=["proof-collapse"]
torch.manual_seed(0)
first, second = torch.nn.Linear(2, 32), torch.nn.Linear(32, 1)
weight = second.weight @ first.weight
bias = second.weight @ first.bias + second.bias
x = torch.randn(5, 2)
difference = (second(first(x)) - (x @ weight.T + bias)).abs().amax().item()
print(f"two layers against one: the results differ by at most {difference:.4f}")
inputs = torch.tensor(points.astype("float32"))
for name, kinds in {"without": torch.nn.Linear, "with": torch.nn.Module}.items():
    model = torch.nn.Sequential(*[layer for layer in network(torch, 3) if isinstance(layer, kinds)])
    loss = train(torch, model, rate=0.5)[-1]
    right = ((model(inputs).detach().numpy()[:, 0] > 0) == labels).sum()
    print(f"three layers {name:7} ReLU: loss {loss:.2f}, {right} of 200 correct")

# %% [markdown] given="mytorch.nn.activation:relu mytorch.nn.activation:derivative.relu"
# A linear map of a linear map is linear again, so however many you stack, they can only draw one straight line between the moons. A
# nonlinearity between the layers, called an *activation*, changes that, and the simplest one is enough. From this chapter on,
# you'll find the derivative of each operation next to its definition:

# %% [markdown]
# The gradient passes where the output is positive and stops where it is 0. At an input of exactly 0, ReLU has no derivative, and
# PyTorch uses 0. Autograd computes the derivatives of this and three other activations:

# %% tags=["proof-derivatives"]
from course import pictures


def derivatives(name):
    x = mytorch.linspace(-4, 4, 161).requires_grad_()
    getattr(mytorch.nn.functional, name)(x).sum().backward()
    return x.grad


lines = {name: derivatives(name) for name in ("relu", "gelu", "tanh", "sigmoid")}
for name, line in lines.items():
    print(f"{name:8} largest derivative {line.amax().item():.2f}, at x = -4 {line[0].item():.4f}")
pictures.curves(lines, mytorch.linspace(-4, 4, 161), xlabel="x", ylabel="derivative")

# %% [markdown]
# At every layer the gradient is multiplied by such a derivative. A sigmoid's derivative is at most 1/4, and it is nearly 0 where
# the sigmoid is **saturated**, that is, far from 0, where the curve is flat. ReLU's derivative is 1 or 0, so the gradient doesn't
# shrink where the unit is active. But if a unit's **pre-activation**, the input of its ReLU, is negative for every sample, no
# gradient reaches the unit's weights, and the unit is called **dead**. The loss can't revive it any more, although weight decay or
# a change in earlier layers may.

# %% tags=["proof-dead"]
for activation in (torch.nn.ReLU(), torch.nn.LeakyReLU(0.01)):
    unit = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(unit.bias, -10.0)  # negative for all 200 points
    activation(unit(inputs)).sum().backward()
    print(f"{activation!s:31} gradient of the bias {unit.bias.grad.item():.1f}")

# %% [markdown] tags=["short"]
# **Interview · Why does a network need a nonlinearity, and why ReLU?**
#
# - *Thirty seconds:* Without a nonlinearity, all layers together are one linear map. ReLU is cheap, and where it is active its
#   derivative is 1, so gradients pass through unchanged.
# - *Longer:* Sigmoid and tanh saturate: far from 0 their derivative is nearly 0, so little of the gradient gets through. GELU and
#   SiLU are smooth relatives of ReLU that avoid this on the positive side.
# - *They ask next:* What is a dead ReLU? A unit whose pre-activation is negative for all data, often after one huge step, so
#   that it gets no gradient. A smaller learning rate makes that less likely, and LeakyReLU prevents it by keeping a small
#   derivative there.
# - *The trap:* Gradients can vanish with ReLU, too, as they do in the twenty layers above.
# - *Proof:* `proof-collapse`, `proof-derivatives`, `proof-dead`; the trap: `proof-gradients`.
#
# **Interview · Why do transformers use GELU or SiLU where older networks use ReLU?**
#
# - *Thirty seconds:* They are smooth, and their derivative isn't 0 as soon as the input is negative, so a unit that is off can come
#   back. The improvement is small, and it was found by experiment rather than derived.
# - *Longer:* GELU is $x \cdot \Phi(x)$ and SiLU is $x \cdot \sigma(x)$, so the input is multiplied by a gate that it opens itself.
#   In SwiGLU a second linear map computes what opens the gate ([chapter 24b](24b_llama.ipynb)).
# - *They ask next:* Can their units die, too? If the input is negative enough: GELU's derivative is −0.0005 at −4 and
#   almost nothing at −8, where some kernels round it to exactly 0.
# - *The trap:* Their derivative isn't always between 0 and 1: GELU's goes up to 1.13 and is below 0 for some negative inputs.
# - *Proof:* `proof-derivatives`, `proof-dead`.
#
# ## How large are the activations after twenty layers?
# Now look at the weights alone, without training, biases or ReLU. Send normal random numbers through random matrices whose
# entries have standard deviation $s/\sqrt n$, where $n$ is the width, and record the **root mean square** (RMS) after each layer.


# %% tags=["proof-scale"]
def through(scale, activation=lambda h: h, depth=20, n=128):
    torch.manual_seed(0)
    h, found = torch.randn(200, n), []
    for _ in range(depth):
        h = activation(h @ (torch.randn(n, n) * scale / n**0.5))
        found.append(h.square().mean().sqrt().item())
    return found


for scale in (0.5, 1.0, 2.0):
    print(f"scale {scale}: RMS {through(scale)[-1]:.1g} after 20 layers, s ** 20 = {scale**20:.1g}")

# %% [markdown]
# Each output is a sum of $n$ products, whose variances add up to $n \cdot s^2/n = s^2$ times the mean square of the input. So each
# layer multiplies the RMS by about $s$, and twenty layers multiply it by about $s^{20}$. With the slider, you can put an activation
# after each layer. Which scale keeps the RMS constant then?


# %%
def draw(activation):
    activations = {"none": lambda h: h, "relu": torch.relu, "tanh": torch.tanh}
    lines = {f"scale {scale:g}": through(scale, activations[activation]) for scale in (0.5, 1.0, 1.4, 2.0)}
    return pictures.curves(lines, xlabel="layer", ylabel="root mean square", log="y")


pictures.slider(draw, start={"activation": "relu"}, activation=["none", "relu", "tanh"])

# %% [markdown]
# ### Break it: ReLU halves the mean square
# The picture starts with ReLU, and there a scale of 1 doesn't keep the RMS constant, because ReLU removes half of the mean square
# in every layer. How much of it do several activations keep?

# %% tags=["proof-gain"]
torch.manual_seed(0)
z = torch.randn(1_000_000)
for name in ("linear", "relu", "leaky_relu", "tanh", "sigmoid"):
    after = z if name == "linear" else getattr(torch.nn.functional, name)(z)
    kept = after.square().mean().item()
    needed, table = kept**-0.5, torch.nn.init.calculate_gain(name)
    print(f"{name:10} keeps {kept:.2f} of the mean square; needs {needed:.2f}, the table says {table:.2f}")

# %% [markdown]
# ### Gains
# The weights have to make up for what the nonlinearity removes, so their standard deviation is multiplied by the **gain**, which
# `calculate_gain` looks up. ReLU halves the mean square of inputs that are symmetric around 0, so its gain is $\sqrt 2$. For tanh
# and sigmoid the table differs from the measurement: 5/3 is slightly more than tanh needs here, and a gain of 1 makes up for
# nothing that a sigmoid removes. GELU has no entry, so you'll measure its gain in an exercise.
#
# ## Forwards and backwards
# The backward pass multiplies each layer's gradient with the same matrix transposed. Going forward, each element is a sum over the
# **fan-in**, the number of inputs of a unit. Going backward, it is a sum over the **fan-out**, the number of units that an input feeds.
# To keep the RMS constant, the weights need variance $1/\text{fan}_{in}$ forwards and $1/\text{fan}_{out}$ backwards. **Xavier** is the
# compromise that divides by the mean of both, which gives $2/(\text{fan}_{in} + \text{fan}_{out})$. **Kaiming** chooses one of the two
# and includes the gain: $\text{gain}^2/\text{fan}$. Does the choice matter if the layers aren't square? Each line of the output begins
# with the network's first two widths.


# %% tags=["proof-fans"]
def both_ways(mode, widths):
    torch.manual_seed(0)
    h = start = torch.randn(200, widths[0], requires_grad=True)
    for before, after in pairwise(widths):
        w = torch.empty(after, before)
        torch.nn.init.kaiming_normal_(w, mode=mode, nonlinearity="relu")
        h = (h @ w.T).relu()
    h.backward(torch.randn(h.shape))
    return [tensor.square().mean().sqrt().item() for tensor in (h, start.grad)]


for widths in ([128] * 21, [128, 512] * 10 + [128], [512, *[128] * 20]):
    for mode in ("fan_in", "fan_out"):
        forwards, backwards = both_ways(mode, widths)
        print(f"{widths[:2]}, {mode:7}: output {forwards:.2f}, gradient {backwards:.2f}")

# %% [markdown]
# Up to chance, the RMS of the gradient should be 1 and that of the output 0.7, because no weights after the last ReLU make up for it.
# Either mode works here, because the factors $\text{fan}_{out}/\text{fan}_{in}$ of neighbouring layers cancel. The remaining factor
# depends on the first and the last width alone, and in the last two lines it is 2, whatever the depth.
#
# **Interview · Xavier or Kaiming?**
#
# - *Thirty seconds:* Both are meant to keep the RMS constant through the layers. Xavier uses variance gain² · 2 / (fan_in +
#   fan_out) and suits layers without an activation or with tanh, whose gain is 5/3. Kaiming uses gain² / fan, which makes up for
#   the half that ReLU removes.
# - *Longer:* ReLU halves the mean square, hence variance 2 / fan_in. With Xavier, the activations of a ReLU network with square
#   layers shrink by a factor of √½ in every layer.
# - *They ask next:* When do you use `fan_in`, and when `fan_out`? The first keeps the RMS of activations and the second that of
#   gradients, and the difference doesn't grow with depth. PyTorch reads both from the weight's shape, which gives too large a
#   fan_out for a depthwise convolution and swaps the two fans of a transposed one.
# - *The trap:* The standard deviation isn't the bound of a uniform distribution, which is √3 times as large.
# - *Proof:* `proof-gain`, `proof-fans`, `proof-four-starts`.
#
# ## Initialization in `mytorch`

# %% [markdown] given="mytorch.nn.init:normal_ mytorch.nn.init:kaiming_normal_ mytorch.nn.init:xavier_uniform_"
# An initialization overwrites a leaf that requires grad, which is an error while autograd is recording, so these functions run
# under `no_grad`. You'll write the functions that they call, which compute the fans, the gain and the standard deviations.

# %% [markdown]
# ### Four initializations compared
# Here are twenty layers on your library, 256 wide and without biases. Look at the pre-activations, that is, the inputs of each
# ReLU. The cell also keeps their gradients for the next section.

# %% tags=["proof-four-starts"]
init = mytorch.nn.init
starts = {
    "nn.Linear's default": lambda w: init.kaiming_uniform_(w, a=5**0.5),
    "Xavier": init.xavier_normal_,
    "Kaiming": lambda w: init.kaiming_normal_(w, nonlinearity="relu"),
    "std 0.2": lambda w: init.normal_(w, std=0.2),
}


def watch(start, activation=mytorch.relu, depth=20, width=256):
    mytorch.manual_seed(0)
    h, inputs = mytorch.randn(200, width), []
    for _ in range(depth):
        inputs.append(h @ start(mytorch.empty(width, width)).requires_grad_().T)
        inputs[-1].retain_grad()
        h = activation(inputs[-1])
    h.backward(mytorch.randn(h.shape))
    return inputs


seen = {name: watch(start) for name, start in starts.items()}
for name, inputs in seen.items():
    sizes = [(inputs[depth] ** 2).mean().sqrt().item() for depth in (0, 4, 9, 19)]
    print(f"{name:20} RMS at layers 1, 5, 10, 20:", *(f"{size:7.1g}" for size in sizes))

# %%
figure = pictures.axes(7, 4.6).get_figure()
figure.clear()
panels = figure.subplots(4, 4, sharex=True)
for row, (name, inputs) in zip(panels, seen.items(), strict=True):
    for panel, depth in zip(row, (0, 4, 9, 19), strict=True):
        numbers = inputs[depth].detach().clamp(-5, 5).reshape(-1).numpy()
        panel.hist(numbers, bins=60, range=(-5, 5))
        panel.set(yticks=[], xticks=[-4, 0, 4], title=f"layer {depth + 1}" if "default" in name else "")
    row[0].set_ylabel(name.replace("nn.Linear's ", ""), rotation=0, ha="right")
figure.supxlabel("pre-activations (beyond ±5: in the outermost bars)", fontsize=10)
alt = """Histograms at layers 1, 5, 10 and 20. Default: a spike at 0 from layer 5 on. Xavier: narrower
with each layer. Kaiming: the same width everywhere. Std 0.2: wider, then all beyond 5."""
pictures.publish(figure, alt=alt)

# %% [markdown] tags=["short"]
# Kaiming's histograms look alike at every depth, while the default's collapse to a spike at 0. `nn.Linear` also adds biases, next to
# which almost nothing is left of the input. So all points get the same output, which is why the first cell's twenty layers didn't learn.
#
# ## Vanishing and exploding gradients
# The same factors apply again in the backward pass. The fifth line of the next cell has sigmoids instead of ReLUs: a sigmoid's outputs
# stay between 0 and 1, but the gradients vanish even faster.

# %% tags=["proof-gradients"]
seen["sigmoid, Xavier"] = watch(starts["Xavier"], mytorch.sigmoid)
sizes = {name: [(h.grad**2).mean().sqrt().item() for h in inputs] for name, inputs in seen.items()}
for name, line in sizes.items():
    print(f"{name:20} gradient at layer 20: {line[-1]:.1g}, at layer 1: {line[0]:.1g}")
pictures.curves(sizes, xlabel="layer", ylabel="RMS of the gradient", log="y")

# %% [markdown]
# A gradient is a product of many such factors, so it **vanishes** or **explodes** unless they are near 1.
#
# **Interview · What are vanishing and exploding gradients, and what do you do about them?**
#
# - *Thirty seconds:* A gradient is a product over layers. Factors below 1 make it vanish, so that early layers don't learn, and factors
#   above 1 make it explode, to inf and then nan. You use an initialization with the correct gain, normalization and skip connections, and
#   you clip the gradient in case it explodes anyway.
# - *Longer:* Activations that don't saturate help, and so does normalization ([chapter 12](12_norm_dropout_and_modes.ipynb)). Adam
#   rescales small gradients, but it doesn't bring back a signal that was lost in the forward pass.
# - *They ask next:* How do you notice? I log the gradient norm, which `clip_grad_norm_` returns anyway, and compare it between
#   layers.
# - *The trap:* Before you blame the data for a loss that stays at ln 2, look at the spread of the outputs.
# - *Proof:* `proof-gradients`, `proof-twenty-layers`.
#
# ## How a transformer starts
# A transformer adds the output of each branch to a *residual stream*: `h = h + branch(norm(h))`. The skip connection lets the
# signal and its gradient pass unchanged, but each branch adds variance, so at initialization the RMS of the stream grows with the
# square root of the depth. GPT-2 draws its weights with standard deviation 0.02 and multiplies those of the last projection in each
# branch by $1/\sqrt{2L}$ for $L$ blocks, since a block has two branches:


# %% tags=["proof-residual"]
def residual_stream(branches, scale, n=128):
    torch.manual_seed(0)
    h = torch.randn(200, n)
    for _ in range(branches):
        normalized = h / h.square().mean(1, keepdim=True).sqrt()
        h = h + normalized @ (torch.randn(n, n) * scale / n**0.5)
    return h.square().mean().sqrt().item()


for blocks in (12, 48):
    plain, scaled = (residual_stream(2 * blocks, scale) for scale in (1.0, (2 * blocks) ** -0.5))
    print(f"{blocks} blocks: RMS of the stream {plain:.0f}, with projections scaled by 1/√{2 * blocks}: {scaled:.1f}")

# %% [markdown]
# **Interview · How does GPT-2 initialize its weights, and why?**
#
# - *Thirty seconds:* The weights of linear layers and of the token embedding are drawn from a normal distribution with standard
#   deviation 0.02, and biases are zero. The projections that write into the residual stream are scaled down by 1/√(2L), so that the
#   sum of all branches doesn't grow with the depth.
# - *Longer:* Other models start the last projection of each branch at zero, so that each block starts as the identity. Others truncate
#   the normal distribution, which `trunc_normal_` does at ±2 rather than at two standard deviations, so with `std=0.02` you have to pass
#   the bounds. PyTorch's `nn.Embedding` starts with standard deviation 1 unless you change it. Under μP, the maximal update
#   parameterization, initial values and learning rates depend on the width in such a way that a rate tuned on a narrow model also suits a
#   wide one.
# - *They ask next:* Why doesn't it need Kaiming? The norm before each branch fixes the scale of its input, so the gain matters
#   less.
# - *The trap:* When the model gets deeper, the old scaling of the projections no longer fits.
# - *Proof:* `proof-residual`.
#
# ## Milestone: twenty layers learn
# Now change only the initialization and keep plain SGD. Both runs clip their gradients, because the loss has spikes, which the next
# section explains. This is one seed; with the seeds 1 to 6 in PyTorch, the default ends at 0.69 each time, and Kaiming between 0.01
# and 0.02.


# %% tags=["proof-milestone"]
def kaiming(model):
    for module in model.modules():
        if isinstance(module, mytorch.nn.Linear):
            init.kaiming_normal_(module.weight, nonlinearity="relu")
            init.zeros_(module.bias)
    return model


models = {"default": network(mytorch, 20), "Kaiming": kaiming(network(mytorch, 20))}
curves = {name: train(mytorch, model, rate=0.2, clip=1.0) for name, model in models.items()}
for name, losses in curves.items():
    print(f"{name}: the median of the last 50 losses is {median(losses[-50:]):.2f}")
alt = "The default stays at 0.69. Kaiming falls to 0.01."
pictures.curves(curves, xlabel="step", ylabel="loss (nats)", alt=alt)

# %%
alt = "The boundary bends between the two moons and separates nearly all points."
pictures.decision(lambda x: models["Kaiming"](mytorch.tensor(x)), points, labels, alt=alt)

# %% [markdown]
# ## Clipping
# In steep regions of the loss, a step overshoots, and the loss has a spike. At a high learning rate and without clipping, the same
# network may even diverge, as it does with this seed, and in PyTorch with four of the seeds 1 to 6.

# %% tags=["proof-clipping"]
for clip in (None, 1.0):
    losses = train(mytorch, kaiming(network(mytorch, 20)), rate=0.5, clip=clip)
    finite = [loss for loss in losses if loss < float("inf")]  # nan isn't
    if len(finite) < 250:
        print(f"clip {clip}: losses", *(f"{loss:.2f}" for loss in finite[:3]), end=" … ")
        print("and nan", "before step 10" if len(finite) < 10 else "later")
    else:
        print(f"clip {clip}:  no nan in 250 steps, the median of the last 50 losses is {median(losses[-50:]):.1f}")
w = torch.zeros(2, requires_grad=True)
for way in ("norm", "value"):
    w.grad = torch.tensor([3.0, 0.4])
    getattr(torch.nn.utils, f"clip_grad_{way}_")([w], 1.0)
    print(f"by {way:5}: {w.grad}; ratio {(w.grad[0] / w.grad[1]).item():.2f}")

# %% [markdown]
# One step in a steep region moved the weights so far that everything overflowed. **Clipping by norm** treats all gradients of the model
# as one long vector and shortens it if it is longer than the limit. Its direction stays the same, since the ratio of 3 to 0.4 is still
# 7.5, whereas clipping by value clamps each element by itself, which changes the direction here.
#
# **Interview · How does gradient clipping work?**
#
# - *Thirty seconds:* `clip_grad_norm_(parameters, c)` computes the norm of all gradients together and multiplies each of them by
#   min(1, c / (norm + 1e-6)). You call it after `backward` and before the optimizer's `step`.
# - *Longer:* It keeps the gradient's direction and bounds the length of a step of plain SGD, although with momentum 0.9, steps can still
#   add up to ten times that. It returns the norm before clipping, which is worth logging. The 1e-6 avoids a division by zero, and it
#   matters only for tiny norms.
# - *They ask next:* Does it cure vanishing gradients? No, because the factor is at most 1, so clipping never makes a gradient larger.
# - *The trap:* It doesn't protect you from inf or nan: one such element makes every gradient nan or 0, unless you pass
#   `error_if_nonfinite=True`, which raises an error instead.
# - *Proof:* `proof-clipping`, `proof-edges`.
#
# ## Softmax, and edge cases
# The last step of a classifier turns logits into probabilities: $e^{x_i} / \sum_j e^{x_j}$. In code this formula breaks at a logit
# of 100, because a float32 can hold $e^{88}$ but not $e^{89}$. But a softmax depends only on the differences between logits, so
# adding 5 to every logit changes nothing, and you may shift them to where nothing overflows. You'll write that version and its
# gradient, which sums to 0 for the same reason.

# %% tags=["proof-edges"]
logits = torch.tensor([100.0, 99.0])
print("the formula:", logits.exp() / logits.exp().sum(), "  softmax:", torch.softmax(logits, 0))
masked = torch.tensor([[0.0, float("-inf")], [float("-inf"), float("-inf")]])
print("masked:", torch.softmax(masked, 1).tolist())
print("relu of nan:", torch.relu(torch.tensor(float("nan"))).item())
w.grad = torch.tensor([float("inf"), 1.0])
print("clipping inf:", torch.nn.utils.clip_grad_norm_([w], 1.0).item(), w.grad.tolist())

# %% tags=["raises-exception"]
torch.nn.init.kaiming_normal_(torch.zeros(8))  # a bias

# %% [markdown]
# A row of finite logits becomes probabilities that sum to 1, while a row that is masked throughout becomes nan. ReLU passes a nan on, and
# one inf spoils the clipped gradients. A bias has only one dimension, from which no fans can be computed, so it usually starts at zero or
# with small uniform values.
#
# **Interview · Why does softmax subtract the largest logit first?**
#
# - *Thirty seconds:* It prevents overflow. Softmax depends on differences only, so shifting all logits by the same amount doesn't
#   change the result. After the shift the largest logit is 0, so every exponential is at most 1, and their sum is at least 1.
# - *Longer:* A loss takes the logarithm, so an exponential that underflows to 0 hurts, too. `log_softmax` avoids this because it
#   never forms the probabilities, as [chapter 16](16_losses_and_optimizers.ipynb) shows.
# - *They ask next:* What if all logits of a row are −inf? The largest is −inf as well, and −inf − (−inf) is nan, so
#   `torch.softmax` returns nan for such a row. PyTorch's `scaled_dot_product_attention` returns zeros instead, but attention that
#   you write by hand has to leave one position unmasked or replace the nan.
# - *The trap:* A small number added to the divisor doesn't help: an overflow gives inf / inf, and that stays nan.
# - *Proof:* `proof-edges`.
#
# ## The real one
# Why does PyTorch's `Linear` start with such small weights? Here is the code of minitorch's, which draws the same values:

# %% tags=["proof-default"]
import inspect

print(inspect.getsource(torch.nn.Linear.reset_parameters))
gain = torch.nn.init.calculate_gain("leaky_relu", 5**0.5)
w = torch.nn.Linear(100, 5000).weight
print(f"gain for leaky_relu with slope √5: {gain:.3f} = 1/√3; bound {w.abs().max().item():.3f}")
print(f"std {w.std().item():.4f}; Kaiming's for ReLU {(2 / 100) ** 0.5:.4f}")

# %% [markdown]
# Nobody puts a leaky ReLU with slope √5 behind this layer. The √5 was chosen because it makes the bound $1/\sqrt{\text{fan}_{in}}$,
# which Torch, PyTorch's predecessor in Lua, used before Kaiming's paper. The variance is a sixth of what ReLU needs, so a layer
# with its ReLU multiplies the RMS by $1/\sqrt 6 \approx 0.41$, biases aside. Two or three layers can live with that, and
# normalization ([chapter 12](12_norm_dropout_and_modes.ipynb)) hides it.
#
# **Interview · How does `nn.Linear` initialize its weights?**
#
# - *Thirty seconds:* Both the weight and the bias are drawn uniformly from ±1/√fan_in. For the weight this is written as
#   `kaiming_uniform_(a=√5)`, but the result is smaller than what ReLU needs.
# - *Longer:* The variance is 1 / (3 fan_in), where ReLU needs 2 / fan_in. In a deep plain network, every layer with its ReLU
#   multiplies the signal by 0.41.
# - *They ask next:* Does it matter in practice? With plain SGD in a deep network without normalization, yes. Adam trained the
#   same twenty layers, and normalization makes up for it, too ([chapter 12](12_norm_dropout_and_modes.ipynb)).
# - *The trap:* The name Kaiming suggests that it suits ReLU, but with a = √5 the variance is a sixth of Kaiming's for ReLU.
# - *Proof:* `proof-default`, `proof-twenty-layers`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *What is ReLU's gradient at an input of exactly 0?* Undefined; PyTorch chooses 0.
# - *What is the fan-in of a (64, 3, 7, 7) convolution weight?* 3 · 7 · 7 = 147.
# - *May the biases of a network start at zero?* Yes, the random weights already break the symmetry.
# - *Does `calculate_gain` have an entry for GELU?* No, it raises a `ValueError`.
# - *Do you clip gradients before or after `backward`?* After it, and before the optimizer's `step`.

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Linear layers without a nonlinearity between them are one linear layer.
# 2. A layer multiplies the mean square by fan-in times the variance of its weights.
# 3. ReLU halves the mean square, so its gain is √2; Kaiming's variance is gain²/fan, and Xavier's 2/(fan-in + fan-out).
# 4. Twenty layers raise each layer's factor to the twentieth power, so keep it close to 1.
# 5. fan_in keeps the RMS of activations and fan_out that of gradients, and in most networks either is fine.
# 6. `nn.Linear` starts with variance 1/(3 fan-in), too small for plain SGD on a deep plain ReLU network; Adam copes.
# 7. GPT-2 starts with std 0.02, and residual projections are scaled by 1/√(2L).
# 8. Weights are drawn at random so that units differ; biases may start at 0.
# 9. Clip by the norm of all gradients, between `backward` and `step`.
# 10. In a softmax, subtract the largest logit before you exponentiate.

# %% [markdown]
# ## You try
# In [the exercises](../exercises/10_activations_and_initialization.ipynb) you predict where a gradient vanishes, and write softmax,
# the fans and the gains, clipping and GELU. You do a backward pass by hand, fix a deep network that doesn't learn, and measure
# GELU's gain. After that, you'll build the convolution in [chapter 11](11_convolution.ipynb).

# %% [markdown]
# ## If you have time
# ### A common myth: "Start all weights at zero, or at one small number"

# %% tags=["proof-symmetry"]
for start in (0.0, 0.1):
    model = network(mytorch, 3, width=4)
    for parameter in model.parameters():
        init.constant_(parameter, start)
    loss = train(mytorch, model)[-1]
    rows = {tuple(row) for row in model[0].weight.tolist()}
    print(f"all {start}: loss {loss:.2f}, different units in the first layer: {len(rows)} of 4")

# %% [markdown]
# Two units with the same incoming and outgoing weights compute the same output and get the same gradient. After every step they are
# therefore still equal, so four units do the work of one, unless something random such as dropout treats them differently. Random initial
# weights **break the symmetry**. Starting at zero is worse still, because in the backward pass the gradient is multiplied with the
# weights of the next layer, which are all 0.
#
# **Interview · Why not start all weights at zero?**
#
# - *Thirty seconds:* Units with the same incoming and outgoing weights compute the same output and get the same gradient, so they
#   stay equal, and a layer of any width does the work of one unit. Random initial weights break this symmetry.
# - *Longer:* Zeros are the worst constant, because the gradient of a hidden layer is multiplied by the next layer's weights, which are
#   all 0. A ReLU's outputs are 0 as well, so only the last bias learns. (A sigmoid outputs ½, so there the last weights learn too.)
# - *They ask next:* Is zero ever appropriate? For biases, and for one of two factors if the other is random: LoRA starts one
#   of its two matrices at 0, so that the adapted network starts out equal to the original ([chapter
#   21](21_features_and_visualization.ipynb)).
# - *The trap:* Any small random numbers break the symmetry, but in twenty layers their scale decides whether anything gets through.
# - *Proof:* `proof-symmetry`; the trap: `proof-four-starts`.
