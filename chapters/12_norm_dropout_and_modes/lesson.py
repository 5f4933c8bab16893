# %% [markdown]
# # Normalization, dropout and modes
# You'll write batch norm, layer norm and dropout, and know what `train()` and `eval()` change, and what they don't. At
# the end LeNet reads handwritten digits on your library, with at least 98 % of them right.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(12)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## One row, several answers
# A small network, one row of data, no training, and `no_grad` around it all. What can differ from call to call?

# %% tags=["proof-company"]
import minitorch as torch
from minitorch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
row, some, others = torch.ones(1, 3), torch.randn(9, 3), torch.randn(9, 3)


def answers(net):
    with torch.no_grad():
        return [f"{net(torch.cat([row, company]))[0].item():.3f}" for company in (some, some, others)]


print("as it was made:", answers(net), f" running means up to {net[1].running_mean.abs().max().item():.1f}")
net[3].eval()
print("dropout.eval():", answers(net))
print("net.eval():    ", answers(net.eval()))

# %% [markdown] tags=["short"]
# The same row gets three answers, though two of the calls had the same input. With only the dropout in evaluation mode,
# those two agree, and other rows beside it still change the answer: that's the batch norm. With the whole network in
# evaluation mode, the row gets one answer. And nothing was trained, yet the network has changed: its batch norm has kept
# statistics, which were 0 before.
#
# ## Modes
# A mode is a boolean, `module.training`. `train()` sets it in a module and in all modules below it; `eval()` is
# `train(False)`. That's all they do. A layer may look at the flag in its `forward`. Which ones do?

# %% tags=["proof-modes"]
layers = [nn.Linear(4, 4), nn.ReLU(), nn.Softmax(1), nn.LayerNorm(4), nn.RMSNorm(4), nn.GroupNorm(2, 4), nn.Dropout()]
layers += [nn.RReLU(), nn.BatchNorm1d(4), nn.InstanceNorm1d(4), nn.InstanceNorm1d(4, track_running_stats=True)]
x = torch.randn(6, 4, 4)
for layer in layers:
    moved = (layer.train()(x) - layer.eval()(x)).abs().max().item()
    print(f"{type(layer).__name__:14} modes differ by up to {moved:.1f}, buffers kept: {len([*layer.buffers()])}")

# %% [markdown] tags=["short"]
# A layer mostly looks at the flag for one of two reasons: it draws random numbers (dropout, `RReLU`), or it keeps
# statistics of what it has seen (batch norm; instance norm, if you ask it to). Most layers do neither, and a network made
# of these alone computes the same in both modes. (In evaluation, PyTorch's transformer layers may also write other
# numbers into padding.)
#
# **Interview · A model gives the same input different answers. What do you check?**
#
# - *Thirty seconds:* The mode. In training mode dropout draws anew in each call, and batch norm looks at the other rows of
#   the batch. `model.eval()` stops both, if the batch norm keeps running statistics.
# - *Longer:* Then look at `training` module by module: someone may have switched a part by itself, and a later
#   `model.train()` switches all of it back. `F.dropout(x)` doesn't ask the module at all.
# - *They ask next:* And if they still differ in the last digits? Another batch size or number of threads adds in another
#   order ([chapter 02b](02b_dtypes_and_dispatch.ipynb)).
# - *The trap:* setting the seed before each call. That repeats the mask, and other rows beside it still change the answer.
# - *Proof:* `proof-company`, `proof-modes`, `proof-functional-dropout`.
#
# ## Batch norm
# [Chapter 10](10_activations_and_initialization.ipynb) chose initial weights that keep the root mean square at 1.
# Training soon changes the weights. Batch norm restores the scale in each forward pass: for each channel, it subtracts
# the mean of the batch and divides by its standard deviation.


# %% tags=["proof-batch-norm"]
def normalize(x, dims, eps=1e-5):
    mean = x.mean(dims, keepdim=True)
    var = ((x - mean) ** 2).mean(dims, keepdim=True)
    return (x - mean) / (var + eps).sqrt()


torch.manual_seed(0)
batch = torch.randn(6, 4) * 5 + 3
mine, real = normalize(batch, 0), nn.BatchNorm1d(4)(batch)
print(f"largest difference from nn.BatchNorm1d: {(mine - real).abs().max().item():.4f}")
print("mean square of each column:", [round(each, 3) for each in (mine**2).mean(0).tolist()])

# %% [markdown]
# Then each channel is multiplied by a learned weight, and a learned bias is added, so the layer can undo what it did. In
# images (N, C, H, W), a channel's mean goes over N, H and W. Batch norm and its relatives differ in which numbers share a
# mean. Move the slider.

# %% hidden=true
from course import check, pictures


def draw(norm):
    dims = {"batch norm": (0, 2), "layer norm over (3, 4)": (1, 2), "instance norm": (2,)}[norm]
    index = [slice(None) if dim in dims else 0 for dim in range(3)]
    values, mask = torch.arange(24).reshape(2, 3, 4), torch.zeros(2, 3, 4)
    mask[tuple(index)] = 1
    alt = f"A batch of 2 samples with 3 channels of 4 places. {norm} takes the mean over dimensions {dims}: marked."
    title = f"{norm}: these share a mean (2 samples, 3 channels, 4 places)"
    return pictures.grids((title, values, mask > 0), alt=alt)


pictures.slider(draw, start={"norm": "batch norm"}, norm=["batch norm", "layer norm over (3, 4)", "instance norm"])

# %% [markdown]
# ### Break it
# Give the layer one row. The mean of one row is the row itself, so everything becomes 0:

# %% tags=["proof-one-row"]
print("by hand:", normalize(batch[:1], 0).tolist())
print(repr(check.error(nn.BatchNorm1d(4), batch[:1])))

# %% [markdown]
# PyTorch refuses. And even in a large batch, a prediction shouldn't depend on the rows beside it. So batch norm keeps
# **running statistics** while it trains, and uses them in evaluation. With each batch they move a little:
# `running = (1 - momentum) * running + momentum * new`.

# %% tags=["proof-running"]
pair, bn = torch.tensor([[10.0], [14.0]]), nn.BatchNorm1d(1, momentum=0.1)
out = bn(pair)
print("biased var", pair.var(0, correction=0).item(), " unbiased var", pair.var(0).item())
print(f"running mean {bn.running_mean.item():.1f} = 0.9 * 0 + 0.1 * 12")
print(f"running var  {bn.running_var.item():.1f} = 0.9 * 1 + 0.1 * 8")
print("normalized by the biased one:", [round(each, 4) for each in out.reshape(-1).tolist()])
curves = {}
for momentum in (0.01, 0.1, 0.5):
    torch.manual_seed(0)
    bn, seen = nn.BatchNorm1d(1, momentum=momentum), curves.setdefault(f"momentum {momentum}", [])
    for _ in range(60):
        bn(torch.randn(16, 1) + 2)
        seen.append(bn.running_mean.item())
pictures.curves(curves, xlabel="batches seen", ylabel="running mean (the data's mean is 2)")

# %% [markdown]
# This momentum is the share of the *new* batch; an optimizer's momentum multiplies what is *old*. If it's small, the
# statistics move slowly and smoothly; if it's large, they move fast and are noisy. And there are two variances: the batch is
# normalized by its own (divided by n), but the running one is an estimate for all the data, so it is updated
# with the unbiased variance (divided by n − 1).
#
# **Interview · What does batch norm do in training, and what in evaluation?**
#
# - *Thirty seconds:* In training it normalizes each channel by the batch's mean and variance and updates running
#   averages of both. In evaluation it uses those and leaves them alone. Weight and bias follow in both modes.
# - *Longer:* Gradients flow through the batch's mean and variance in training; the running ones are constants. With
#   `track_running_stats=False`, evaluation takes the batch's, too.
# - *They ask next:* What breaks with tiny batches? Their statistics are mostly noise, and with one value per channel
#   it raises.
# - *The trap:* calling `eval()` on a model that never trained: its statistics are still 0 and 1.
# - *Proof:* `proof-batch-norm`, `proof-one-row`, `proof-running`, `proof-frozen`.

# %% [markdown] given="mytorch.nn.normalization:per_channel mytorch.nn.normalization:BatchNorm.forward"
# ### In `mytorch`
# This `forward` of `BatchNorm` chooses the statistics, and a function computes with them. You'll write that function,
# `batch_norm`, in exercise 2, and two that it calls: `batch_statistics`, and `update`, which moves the running ones.
# `update` must not record anything, because the running statistics outlive the batch.

# %% [markdown]
# ### A scale and a shift that don't count
# Multiply all weights before a batch norm by 100, or add a bias: the norm divides by the scale and subtracts the shift.
# It does so in training, where the mean and the variance come from the batch.

# %% tags=["proof-invariant"]
torch.manual_seed(0)
data, linear, bn, chosen = torch.randn(32, 5), nn.Linear(5, 4), nn.BatchNorm1d(4), torch.randn(32, 4)
before = bn(linear(data))
(slope,) = torch.autograd.grad((before * chosen).sum(), [linear.weight])
with torch.no_grad():
    linear.weight.mul_(100)
    linear.bias.fill_(7)
after = bn(linear(data))
(after * chosen).sum().backward()
print(f"the output moved by at most {(before - after).abs().max().item():.2f}")
print(f"weights' gradient, old over new: {(slope.norm() / linear.weight.grad.norm()).item():.0f}")
print(f"largest bias gradient in training: {linear.bias.grad.abs().max().item():.4f}")
(slope,) = torch.autograd.grad((bn.eval()(linear(data)) * chosen).sum(), [linear.bias])
print("bias gradient in evaluation mode: from {:.1f} to {:.1f}".format(*slope.aminmax()))

# %% [markdown]
# The gradients follow: rounding noise for the bias, and 1/100 as large for weights that are 100 times as large. So a bias
# before a batch norm learns nothing useful (Adam still moves it, because it divides by that noise), and ResNet leaves it
# out: `bias=False`. (If the norm is frozen in evaluation mode, its mean is a constant, and the bias does learn.) The initial scale of the weights matters much less, too. Here are chapter 10's
# twenty layers, with the small weights that `nn.Linear` starts with:

# %% tags=["proof-twenty-layers"]
from sklearn.datasets import load_digits, make_moons

points, labels = make_moons(200, noise=0.15, random_state=0)
points, side = torch.tensor(points).float(), torch.tensor(2.0 * labels - 1).float().reshape(-1, 1)


def losses_of(norm):
    torch.manual_seed(1)
    layers = [nn.Linear(2, 32)]
    for _ in range(18):
        layers += [norm(32), nn.ReLU(), nn.Linear(32, 32)]
    model, found = nn.Sequential(*layers, nn.ReLU(), nn.Linear(32, 1)), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(150):
        loss = ((-side * model(points)).exp() + 1).log().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


curves = {"no norm": losses_of(nn.Identity), "batch norm": losses_of(nn.BatchNorm1d)}
print("lowest loss:", {name: round(min(losses), 1) for name, losses in curves.items()})
pictures.curves(curves, xlabel="step", ylabel="loss (nats)", alt="It stays at 0.69 without a norm.")

# %% [markdown] tags=["short"]
# **Interview · Why do convolutions before a batch norm have `bias=False`?**
#
# - *Thirty seconds:* Batch norm subtracts the mean, and the bias with it. Its own bias does that job afterwards.
# - *Longer:* In training the output doesn't depend on the bias, so its gradient is 0 up to rounding.
# - *They ask next:* Can you remove batch norm after training? Yes, if a linear layer or a convolution comes before it:
#   in evaluation it is a fixed scale and shift per channel, which folds into that layer (exercise 5).
# - *The trap:* removing such a bias from a *trained* network. The running mean was taken with it, and in evaluation that
#   mean is still subtracted: exercise 5's formula has both.
# - *Proof:* `proof-invariant`.
#
# ## Layer norm
# Layer norm is the same formula over the last dimensions of each sample. In a text, each word is normalized over its own
# features, whatever else is in the batch. There's nothing to remember, so the modes [don't differ](proof-modes).

# %% tags=["proof-layer-norm"]
ln, bn, frozen = nn.LayerNorm(4), nn.BatchNorm1d(4), nn.BatchNorm1d(4).eval()
print(f"layer norm differs from normalize(batch, 1) by {(ln(batch) - normalize(batch, 1)).abs().max().item():.4f}")
for name, norm in {"layer norm": ln, "RMS norm": nn.RMSNorm(4)}.items():
    print(f"{name:11} absolute mean of each row", [round(abs(each), 1) for each in norm(batch).mean(1).tolist()])
texts = torch.randn(2, 6, 4)  # two texts of six words
changed = torch.cat([texts[:, :5], torch.randn(2, 1, 4) + 3], 1)  # other last words
for name, norm in {"layer norm": ln, "batch norm": bn, "  in evaluation": frozen}.items():
    outputs = (norm(each.reshape(12, 4)).reshape(2, 6, 4) for each in (texts, changed))
    moved = torch.sub(*outputs).abs().amax((0, 2))
    print(f"{name:15} the words moved by", [round(each, 1) for each in moved.tolist()])
thousandths = (torch.full((1, 4), 1e-3, dtype=dtype) for dtype in (torch.float16, torch.float32, torch.float64))
print("RMS norm of 0.001 in 16, 32, 64 bits:", [round(nn.RMSNorm(4)(x).max().item(), 2) for x in thousandths])

# %% [markdown] tags=["short"]
# **RMS norm** divides each row by its root mean square and doesn't subtract the mean first.
#
# In the three lines of texts, only the last word was changed. With layer norm, only its own row moves. With batch norm
# over all the words, *every* row moves in training, the first one too: it has seen the future. A model that must predict
# the next word would learn to use that, and in evaluation, with the running statistics, it is no longer there.
#
# **Interview · Batch norm or layer norm?**
#
# - *Thirty seconds:* Batch norm takes statistics per channel over the batch, layer norm over the last dimensions of each
#   sample. Usually batch norm for convolutions with large batches, and layer norm for sequences and small batches.
# - *Longer:* Layer norm needs no running statistics, and training and evaluation agree.
# - *They ask next:* Why do GPTs use layer norm? A mean over positions would leak later words into earlier ones in
#   training, and padding would count. "There may be one row in the batch" is no reason: evaluation doesn't use the batch.
# - *The trap:* `LayerNorm(4)` for four channels. It normalizes the *last* dimension. Of (N, C, H, W) that is W: it raises,
#   or, if W is 4, says nothing and normalizes the wrong numbers.
# - *Proof:* `proof-layer-norm`, `proof-modes`.
#
# **Interview · What does RMSNorm leave out, and why do language models use it?**
#
# - *Thirty seconds:* The mean and the bias. It divides each sample by the root mean square over its last dimensions and
#   multiplies by a weight. It is cheaper than layer norm, and models come out about as good.
# - *Longer:* Like layer norm it looks at one sample alone, so it needs no running statistics and the modes agree. With
#   both, numbers ten times as large give the same result, apart from what `eps` does. A shift of all numbers changes
#   RMS norm's result, but not layer norm's.
# - *They ask next:* What is its `eps`? A number under the root, so that a row of zeros isn't 0/0. PyTorch's default is the
#   machine epsilon of the type it computes in, and that is float32 for 16-bit inputs, too. Llama 3 sets 1e-5.
# - *The trap:* expecting a mean of 0 after it.
# - *Proof:* `proof-layer-norm`, `proof-modes`; a GPT that is trained with each: [chapter 24b](24b_llama.ipynb).
#
# ## Dropout
# In training, set each number to 0 with probability p, so that no unit can rely on another alone. Zeroing alone has a fault:

# %% tags=["proof-dropout"]
torch.manual_seed(0)
ones = torch.ones(1_000_000)
for p in (0.1, 0.5, 0.9):
    plain = ones * (torch.rand(ones.shape) >= p).float()
    real = torch.nn.functional.dropout(ones, p)
    found = sorted({round(each, 3) for each in real[:1000].tolist()})
    means = f"mean if only zeroed {plain.mean().item():.2f}, with dropout {real.mean().item():.2f}"
    print(f"p = {p}: {means}, values {found}")

# %% [markdown]
# Zeroing alone multiplies the mean by 1 − p, and in evaluation the next layer would suddenly see larger numbers than it
# was trained on. So the numbers that are kept are divided by 1 − p, **in training**. With this *inverted* scaling there is
# nothing to do in evaluation. You'll write it in exercise 4. (Zeroing is a product with 0, so a nan or an inf becomes nan.)
#
# **Interview · Why does dropout divide by 1 − p?**
#
# - *Thirty seconds:* So that the expected value stays the same, and evaluation needs no change: there dropout is the
#   identity.
# - *Longer:* The original paper multiplied the weights by 1 − p at test time instead; PyTorch scales in training.
# - *They ask next:* Does the variance stay, too? No, only the mean: exercise 7 measures the mean square.
# - *The trap:* `F.dropout(x)` inside a `forward`. Its `training` is `True` by default, whatever the module's mode.
# - *Proof:* `proof-dropout`, `proof-functional-dropout`.


# %% tags=["proof-functional-dropout"]
class Careless(nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.5)


for layer in (nn.Dropout(0.5), Careless()):
    print(f"zeros after eval(), {type(layer).__name__:8} {(layer.eval()(ones) == 0).float().mean().item():.0%}")

# %% [markdown]
# ## Milestone: LeNet reads digits
# This is minitorch's `lenet.py`, unchanged but for its imports, on your library. Batch norms are added from outside:
# `model.conv1` is replaced by a `Sequential` of itself and a batch norm. And each batch is moved by up to two pixels, so
# that LeNet can't rely on where a stroke lies. Like dropout, that is done in training only.

# %% tags=["proof-digits"]
import inspect

import numpy as np
from minitorch.models import lenet

program = {"__name__": "lenet_on_mytorch"}
exec(inspect.getsource(lenet).replace("minitorch", "mytorch"), program)
digits, layers = load_digits(), mytorch.nn
images = ((digits.images.astype("float32") / 16 - 0.3) / 0.4)[:, None]
images = images.repeat(4, 2).repeat(4, 3)  # 8 × 8 becomes 32 × 32
train, test = np.split(np.random.default_rng(0).permutation(1797), [1347])


def learn(norms, epochs):
    mytorch.manual_seed(1)
    model, losses = program["LeNet"](), []
    for name, norm in norms.items():
        setattr(model, name, layers.Sequential(getattr(model, name), norm))
    velocity = {parameter: mytorch.zeros(parameter.shape) for parameter in model.parameters()}
    for epoch in range(epochs):
        order = mytorch.randperm(1347).numpy()[:1344]  # the last three are left out
        for some in train[order].reshape(42, 32):
            moved = np.roll(images[some], mytorch.randint(-2, 3, (2,)).tolist(), (2, 3))
            logs = mytorch.log_softmax(model(mytorch.tensor(moved)), 1)
            loss = -logs.gather(1, mytorch.tensor(digits.target[some])[:, None]).mean()
            model.zero_grad()
            loss.backward()
            with mytorch.no_grad():
                for parameter, v in velocity.items():
                    v.mul_(0.9).add_(parameter.grad)
                    parameter -= 0.02 * (1 - epoch / 8) * v
            losses.append(loss.item())
    return model.eval(), losses


norms = {"conv1": layers.BatchNorm2d(6), "conv2": layers.BatchNorm2d(16)}
norms |= {"fc1": layers.BatchNorm1d(120), "fc2": layers.BatchNorm1d(84)}
model, losses = learn(norms, 8)
curves = {"LeNet with batch norms": losses, "without": learn({}, 3)[1]}
predicted = model(mytorch.tensor(images[test])).argmax(1).numpy()
wrong = test[predicted != digits.target[test]]
print(f"of {len(test)} unseen digits {1 - max(len(wrong), 9) / len(test):.0%} or more are right")
print("loss of epoch 1:", {name: round(sum(each[:42]) / 42) for name, each in curves.items()})
pictures.curves(curves, xlabel="step", ylabel="loss (nats)", alt="Without, it falls later.")

# %% [markdown]
# LeNet learns to read without batch norm, too, but it starts later: the loss stays near 2.3 for most of an epoch. After
# eight epochs about 7 of the 450 digits are wrong, with batch norm about 3 (means over three seeds).
#
# The loop is SGD with momentum by hand, and its steps get shorter from epoch to epoch;
# [chapter 16](16_losses_and_optimizers.ipynb) makes an optimizer of it. A last batch of three would have poor statistics,
# so each epoch leaves three digits out. What does your LeNet get wrong? Above each digit is what it should have read.

# %%
pictures.images(digits.images[wrong], digits.target[wrong].tolist(), alt="What it got wrong.")

# %% [markdown]
# ## Edge cases

# %% tags=["proof-frozen"]
bn = nn.BatchNorm1d(4).requires_grad_(False)
with torch.no_grad():
    bn(batch)
print(f"frozen, no_grad, training: the largest running mean is {bn.running_mean.abs().max().item():.2f}")
bn.eval()(batch * 2)
print(f"after other rows in evaluation: still {bn.running_mean.abs().max().item():.2f}")
print(f"untrained: batch changed by {(nn.BatchNorm1d(4).eval()(batch) - batch).abs().max().item():.3f}")
bn = nn.BatchNorm1d(4, momentum=None)
for rows in (batch[:3], batch[3:]):
    bn(rows)
print(f"momentum None: differs from the mean of all rows by {(bn.running_mean - batch.mean(0)).abs().max().item():.4f}")

# %% [markdown]
# The statistics are written by each forward pass in training mode: a warm-up run, a check of shapes or a validation in
# the wrong mode changes the model. An optimizer's steps play no part: `num_batches_tracked` counts calls in training
# mode, and even counts a single row, which is then refused. With gradient accumulation, each small batch is still normalized by its own statistics.
#
# **Interview · You fine-tune a network with frozen batch norms. What do you have to do?**
#
# - *Thirty seconds:* `requires_grad_(False)` freezes weight and bias, if their `grad` is None; `eval()` freezes the
#   statistics. You need both.
# - *Longer:* The statistics are buffers, not parameters: no gradient and no optimizer reaches them. The forward pass in
#   training mode writes them.
# - *They ask next:* And the next `model.train()`? It sets the flag everywhere again, so call `eval()` on the frozen part
#   after it.
# - *The trap:* trusting `no_grad`. It doesn't stop the statistics either.
# - *Proof:* `proof-frozen`.
#
# ## The real one
# This is minitorch's layer. It takes the same decisions as PyTorch's:

# %%
print(inspect.getsource(nn.modules.batchnorm._BatchNorm.forward))

# %% [markdown]
# `mytorch`'s layer makes the first two of its three decisions. `factor` is the momentum, or 1/k at the k-th batch if that
# is `None`. `uses_batch` is true in training, and where there are no statistics. `keeps` is for a layer whose
# `track_running_stats` is switched off later: in training it leaves its old statistics alone. The large difference is one
# level below: PyTorch has one kernel for the whole formula, which leaves one node in the graph. The formula in `mytorch`
# leaves about twenty.
#
# ## Myths
# ### Myth · "Train mode computes gradients, eval mode doesn't"
# Try all four combinations:

# %% tags=["proof-modes-and-gradients"]
from contextlib import nullcontext

small = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
for mode in (True, False):
    for context in (nullcontext(), torch.no_grad()):
        with context:
            first, second = (small.train(mode)(torch.ones(8, 3)) for _ in range(2))
        graph, same = first.requires_grad, torch.equal(first, second)
        print(f"training {mode!s:5} {type(context).__name__:11} gradients {graph!s:5} repeatable {same}")

# %% [markdown]
# The two switches are independent. If you forget `no_grad` in validation, you pay for a graph. If you
# forget `eval`, dropout makes the answers random.
#
# **Interview · `eval()` or `no_grad()`?**
#
# - *Thirty seconds:* Both, for validation. `eval()` changes what dropout and batch norm compute; `no_grad()` stops the
#   recording. Neither does the other's work.
# - *Longer:* `eval()` sets an attribute of modules that stays until `train()`; `no_grad()` ends with its block.
# - *They ask next:* Does `eval()` save memory? Hardly: the graph is still recorded.
# - *The trap:* "Eval mode computes no gradients." You can train in eval mode; frozen batch norms are used like that. One
#   exception: on a GPU, the `backward` of cuDNN's recurrent layers raises unless their forward pass ran in training mode.
# - *Proof:* `proof-modes-and-gradients`, `proof-modes`.
#
# ### Myth · "eval turns BatchNorm off"
# It goes on normalizing, with other numbers:

# %% tags=["proof-eval-batch-norm"]
bn = nn.BatchNorm1d(4, momentum=1.0)
bn(batch)  # momentum 1: the statistics are this batch's
new = torch.randn(3, 4)
by_hand = (new - bn.running_mean) / (bn.running_var + bn.eps).sqrt()
print(f"differs from the formula by {(bn.eval()(new) - by_hand).abs().max().item():.4f}")
print(f"differs from its input by {(bn(new) - new).abs().max().item():.1f}")

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *Which of these change with the mode: Linear, Softmax, Dropout, LayerNorm?* Dropout alone.
# - *Are the running statistics parameters?* No: buffers. They are in the state dict, and `parameters()` leaves them out.
# - *BatchNorm momentum 0.1: what is multiplied by 0.1?* The new batch's statistic.
# - *Dropout with p = 0.2: what does a kept 1 become?* 1.25.
# - *Does `model.eval()` return anything?* The model.
#
# ## Ten lines to remember
# 1. A mode is a flag that some layers read. It doesn't switch gradients on or off.
# 2. Validation: `eval()` and `no_grad()`; afterwards `train()`.
# 3. Batch norm, training: the batch's mean and biased variance. Evaluation: the running ones.
# 4. running = (1 − momentum) · running + momentum · new, with the unbiased variance.
# 5. Statistics are buffers: frozen by `eval()`, not by `requires_grad_(False)` or `no_grad`.
# 6. A bias before a batch norm in training mode learns nothing useful.
# 7. Layer norm: within a sample, the same in both modes.
# 8. Dropout: times 0 with probability p, else divided by 1 − p, in training only.
# 9. Give `F.dropout` its `training=self.training`.
# 10. Normalization makes training less sensitive to the initial scale of the weights.
#
# ## You try
# [The exercises](../exercises/12_norm_dropout_and_modes.ipynb): predict two statistics; write batch norm, layer norm, RMS norm and dropout; fold a
# batch norm into the layer before it; repair statistics that leak; measure what dropout does to the mean square.
# [Chapter 13](13_embeddings.ipynb) turns words into vectors.
