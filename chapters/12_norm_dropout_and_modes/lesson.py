# %% [markdown]
# # Normalization, dropout and modes
# You'll write batch norm, layer norm and dropout, and learn what `train()` and `eval()` change and what they leave alone. At the end, LeNet
# reads handwritten digits on your library and gets at least 98 % of them right.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(12)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Why does the same input give different outputs?
# Take a small network and one row of data, don't train, and put everything under `no_grad`. What can still differ from call to call?

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
# The same row gets three answers, although two of the calls had the same input. With only the dropout in evaluation mode, those two agree.
# A call with different rows in the batch still gives a different answer, which is due to the batch norm. With the whole network in
# evaluation mode, the row gets a single answer. And although nothing was trained, the network has changed: its batch norm has
# updated its running statistics, which were 0 before.

# %% [markdown]
# ## Modes
# A mode is a boolean, `module.training`, which the method `train()` sets in a module and in all its submodules. `eval()` is the same as
# `train(False)`, and neither does anything else. A layer may read the flag in its `forward`, so which layers do?

# %% tags=["proof-modes"]
layers = [nn.Linear(4, 4), nn.ReLU(), nn.Softmax(1), nn.LayerNorm(4), nn.RMSNorm(4), nn.GroupNorm(2, 4), nn.Dropout()]
layers += [nn.RReLU(), nn.BatchNorm1d(4), nn.InstanceNorm1d(4), nn.InstanceNorm1d(4, track_running_stats=True)]
x = torch.randn(6, 4, 4)
for layer in layers:
    moved = (layer.train()(x) - layer.eval()(x)).abs().max().item()
    print(f"{type(layer).__name__:14} modes differ by up to {moved:.1f}, buffers kept: {len([*layer.buffers()])}")

# %% [markdown] tags=["short"]
# A layer usually reads the flag for one of two reasons: either it draws random numbers, as dropout and `RReLU` do, or it keeps running
# statistics, as batch norm does and instance norm can. Most layers do neither, so a network made of those alone computes the same in both
# modes. One exception in PyTorch is the fused kernel of `nn.TransformerEncoder`, which runs in evaluation only and may fill padded
# positions with different values.
#
# **Interview · A model gives the same input different answers. What do you check?**
#
# - *Thirty seconds:* First I check the mode: in training mode dropout draws a new mask in each call, and batch norm depends on the rest
#   of the batch. `model.eval()` stops both, provided that the batch norm keeps running statistics.
# - *Longer:* Then I print `training` for each module: somebody may have switched one part by itself, and a later `model.train()`
#   switches all of it back. Functional dropout doesn't read the module's mode at all.
# - *They ask next:* Why might the answers still differ in the last digits? A different batch size or thread count changes the order of
#   summation ([chapter 02b](02b_dtypes_and_dispatch.ipynb)).
# - *The trap:* A seed before each call only repeats the mask, while the rest of the batch still changes the answer.
# - *Proof:* `proof-company`, `proof-modes`, `proof-functional-dropout`.
#
# ## Batch norm
# [Chapter 10](10_activations_and_initialization.ipynb) chose initial weights that keep the root mean square near 1, but training soon
# changes them. Batch norm restores the scale in each forward pass: for each channel, it subtracts the mean of the batch and divides by
# the standard deviation.


# %% tags=["proof-batch-norm"]
def normalize(x, dims, eps=1e-5):
    mean = x.mean(dims, keepdim=True)
    var = ((x - mean) ** 2).mean(dims, keepdim=True)
    return (x - mean) / (var + eps).sqrt()


torch.manual_seed(0)
batch = torch.randn(6, 4) * 5 + 3
mine, real = normalize(batch, 0), nn.BatchNorm1d(4)(batch)
print(f"largest difference from nn.BatchNorm1d: {(mine - real).abs().max().item():.4f}")
print("mean square of each column:", [round(value, 3) for value in (mine**2).mean(0).tolist()])

# %% [markdown]
# Afterwards each channel is multiplied by a learned weight and shifted by a learned bias, so the layer can undo the normalization. For
# images of shape (N, C, H, W), a channel's mean is taken over N, H and W.
#
# Batch norm and its relatives differ only in which elements share a mean and a variance. **Group norm** splits the channels of each sample
# into groups and normalizes each group, so one group is layer norm over all channels, and one channel per group is instance norm. Move the
# slider to compare them.

# %% hidden=true
from course import check, pictures


def draw(norm):
    dims, channels = {
        "batch norm": ((0, 2), [0]),
        "layer norm over (4, 3)": ((1, 2), [0, 1, 2, 3]),
        "group norm, 2 groups": ((1, 2), [0, 1]),
        "instance norm": ((2,), [0]),
    }[norm]
    values, mask = torch.arange(24).reshape(2, 4, 3), torch.zeros(2, 4, 3)
    mask[: 2 if 0 in dims else 1, channels] = 1
    samples = [(f"sample {i}, a row is a channel", values[i], mask[i] > 0) for i in range(2)]
    alt = f"Two samples with 4 channels of 3 positions. Marked: the {int(mask.sum())} elements that share a mean in {norm}."
    return pictures.grids(*samples, alt=alt)


norms = ["batch norm", "layer norm over (4, 3)", "group norm, 2 groups", "instance norm"]
pictures.slider(draw, start={"norm": "batch norm"}, norm=norms)

# %% tags=["proof-group-norm"]
image = torch.arange(24.0).reshape(2, 4, 3) ** 2
for groups, name in {1: "layer norm", 2: "two by hand", 4: "instance norm"}.items():
    by_hand = normalize(image.reshape(2, groups, -1), 2).reshape(2, 4, 3)
    print(f"GroupNorm({groups}, 4) and {name}: differ by {(nn.GroupNorm(groups, 4)(image) - by_hand).abs().max():.3f}")

# %% [markdown]
# **Interview · When do you use group norm instead of batch norm?**
#
# - *Thirty seconds:* I use group norm when the batch on each GPU is tiny, as in detection, segmentation and diffusion models. Group
#   norm takes its statistics within one sample, so it doesn't depend on the batch size, and training and evaluation agree.
# - *They ask next:* How does it relate to the other norms? One group is layer norm over channels and positions, and as many groups as
#   channels is instance norm, apart from the learned weights.
# - *The trap:* Only the statistics are per group; weight and bias are not.
# - *Proof:* `proof-group-norm`, `proof-modes`.

# %% [markdown]
# ### Break it: a batch of one row
# Now give the layer a single row. Its mean is the row itself, so every element becomes 0:

# %% tags=["proof-one-row"]
print("by hand:", normalize(batch[:1], 0).tolist())
print(repr(check.error(nn.BatchNorm1d(4), batch[:1])))

# %% [markdown]
# PyTorch refuses such a batch, but a prediction shouldn't depend on the other rows of a large batch either. So batch norm keeps **running
# statistics** while it trains and uses them in evaluation. Each batch moves them a little towards its own:
# `running = (1 - momentum) * running + momentum * new`.

# %% tags=["proof-running"]
pair, bn = torch.tensor([[10.0], [14.0]]), nn.BatchNorm1d(1, momentum=0.1)
out = bn(pair)
print("biased var", pair.var(0, correction=0).item(), " unbiased var", pair.var(0).item())
print(f"running mean {bn.running_mean.item():.1f} = 0.9 * 0 + 0.1 * 12")
print(f"running var  {bn.running_var.item():.1f} = 0.9 * 1 + 0.1 * 8")
print("normalized by the biased one:", [round(value, 4) for value in out.reshape(-1).tolist()])
curves = {}
for momentum in (0.01, 0.1, 0.5):
    torch.manual_seed(0)
    bn, seen = nn.BatchNorm1d(1, momentum=momentum), curves.setdefault(f"momentum {momentum}", [])
    for _ in range(60):
        bn(torch.randn(16, 1) + 2)
        seen.append(bn.running_mean.item())
pictures.curves(curves, xlabel="batches seen", ylabel="running mean (the data's mean is 2)")

# %% [markdown]
# This momentum is the weight of the *new* batch; an optimizer's momentum multiplies the *old* value. If it is small, the statistics move
# slowly and smoothly, and if it is large, they move fast and are noisy. There are also two variances. The batch is normalized by its
# biased variance (divided by n), but the running variance estimates that of all the data, so it is updated with the unbiased one (divided
# by n − 1).
#
# **Interview · What does batch norm do in training, and what in evaluation?**
#
# - *Thirty seconds:* In training it normalizes each channel by the batch's mean and variance, and it updates running averages of both. In
#   evaluation it uses those averages and leaves them unchanged. The learned weight and bias are applied in both modes.
# - *Longer:* In training, gradients flow through the batch's mean and variance, while the running statistics are constants. With
#   `track_running_stats=False`, evaluation uses the batch's statistics as well.
# - *They ask next:* Why does batch norm help? The paper named *internal covariate shift*, but networks to which that shift is added
#   again on purpose still train faster ([Santurkar 2018](https://arxiv.org/abs/1805.11604)). The better supported reasons are a
#   smoother loss and the fixed scale of activations, which allow higher learning rates.
# - *They ask next:* What breaks with tiny batches? Their statistics are mostly noise, and with one value per channel the layer
#   raises an error in training mode.
# - *They ask next:* Which statistics does it use under DDP? Each rank normalizes by its own rows, and before the forward pass the running
#   statistics of rank 0 are copied to the others. `SyncBatchNorm` uses the statistics of all ranks' rows instead ([chapter
#   23](23_multi_gpu.ipynb)).
# - *The trap:* On a model that was never trained, `eval()` tells you nothing about batch norm: the statistics are still 0 and 1, and it
#   does almost nothing.
# - *Proof:* `proof-batch-norm`, `proof-one-row`, `proof-running`, `proof-frozen`.

# %% [markdown] given="mytorch.nn.normalization:per_channel mytorch.nn.normalization:BatchNorm.forward"
# ### In `mytorch`
# The `forward` of `BatchNorm` chooses the statistics and passes them to the function `batch_norm`, which you will write in exercise 2,
# together with the two functions that it calls. `batch_statistics` computes the statistics, and `update` moves the running ones, without
# recording, because they outlive the batch and must not keep its graph alive.

# %% [markdown]
# ### Batch norm ignores the scale and the bias before it
# If you multiply all weights before a batch norm by 100, or add a bias, the result stays the same: the norm divides by the scale
# and subtracts the shift. That holds in training, where the mean and the variance come from the batch.

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
# The gradients follow from this: the bias gets only rounding noise, and weights that are 100 times as large get a gradient of 1/100. A
# bias before a batch norm therefore learns nothing useful, which is why ResNet omits it with `bias=False`. (Adam still moves it, because
# Adam divides by that noise. If the norm is frozen in evaluation mode, its mean is a constant, and the bias does learn.)
#
# For the same reason the initial scale of the weights matters much less. Here are chapter 10's twenty layers, with the small weights that
# `nn.Linear` starts with, on three seeds:

# %% tags=["proof-twenty-layers"]
from sklearn.datasets import load_digits, make_moons

points, labels = make_moons(200, noise=0.15, random_state=0)
points, side = torch.tensor(points).float(), torch.tensor(2.0 * labels - 1).float().reshape(-1, 1)


def losses_of(norm, seed):
    torch.manual_seed(seed)
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


curves = {
    f"{name}, seed {seed}": losses_of(norm, seed)
    for name, norm in {"no norm": nn.Identity, "batch norm": nn.BatchNorm1d}.items()
    for seed in range(3)
}
print("lowest loss:", {name: round(min(losses), 1) for name, losses in curves.items()})
pictures.curves(curves, xlabel="step", ylabel="loss (nats)", alt="It stays at 0.69 without a norm, and falls with one.")

# %% [markdown] tags=["short"]
# Without a norm the loss stays at ln 2 = 0.69, as if the network guessed; with batch norm it falls almost to 0 on each seed.
#
# **Interview · Why do convolutions before a batch norm have `bias=False`?**
#
# - *Thirty seconds:* Batch norm subtracts the mean of each channel, and the bias disappears with it. The norm's own bias does that job
#   afterwards, so the convolution's would be wasted.
# - *Longer:* In training, the output doesn't depend on the bias at all, so the bias's gradient is 0 up to rounding.
# - *They ask next:* Can you remove batch norm after training? Yes, if a linear layer or a convolution comes before it, because in
#   evaluation the norm is a fixed scale and shift per channel, which can be folded into that layer (exercise 5).
# - *The trap:* From a *trained* network you can't simply remove the bias: the running mean was measured with it and is still subtracted.
#   Exercise 5's formula contains both.
# - *Proof:* `proof-invariant`.
#
# ## Layer norm
# Layer norm is the same formula over the last dimensions of each sample, so in a text each word is normalized over its own features,
# whatever else is in the batch. It keeps no running statistics, so the modes [don't differ](proof-modes).

# %% tags=["proof-layer-norm"]
ln, bn, frozen = nn.LayerNorm(4), nn.BatchNorm1d(4), nn.BatchNorm1d(4).eval()
print(f"layer norm differs from normalize(batch, 1) by {(ln(batch) - normalize(batch, 1)).abs().max().item():.4f}")
for name, norm in {"layer norm": ln, "RMS norm": nn.RMSNorm(4)}.items():
    print(f"{name:11} absolute mean of each row", [round(abs(mean), 1) for mean in norm(batch).mean(1).tolist()])
texts = torch.randn(2, 6, 4)  # two texts of six words
changed = torch.cat([texts[:, :5], torch.randn(2, 1, 4) + 3], 1)  # other last words
for name, norm in {"layer norm": ln, "batch norm": bn, "  in evaluation": frozen}.items():
    outputs = (norm(words.reshape(12, 4)).reshape(2, 6, 4) for words in (texts, changed))
    moved = torch.sub(*outputs).abs().amax((0, 2))
    print(f"{name:15} the words moved by", [round(distance, 1) for distance in moved.tolist()])
thousandths = (torch.full((1, 4), 1e-3, dtype=dtype) for dtype in (torch.float16, torch.float32, torch.float64))
print("RMS norm of 0.001 in 16, 32, 64 bits:", [round(nn.RMSNorm(4)(x).max().item(), 2) for x in thousandths])

# %% [markdown]
# **RMS norm** divides each row by its root mean square and doesn't subtract the mean first, so the rows' means don't become 0. (Its `eps`
# explains the last line.)
#
# In the three lines about texts, only the last word was changed. With layer norm, only its own row moves, whereas with batch norm over
# all the words *every* row moves in training. Even the first one does, so that row has seen the future. A model that must predict the
# next word would learn to use that information, although in evaluation, with the running statistics, it is no longer there.
#
# **Interview · Batch norm or layer norm?**
#
# - *Thirty seconds:* Batch norm takes its statistics per channel over the batch, and layer norm over the last dimensions of each sample. I
#   would usually take batch norm for convolutions with large batches, and layer norm for sequences and small batches.
# - *Longer:* Layer norm needs no running statistics, so training and evaluation agree. Its backward pass is a favourite at the whiteboard:
#   for $\hat x = (x - \text{mean}) / \sigma$ and $g$, the gradient of $\hat x$, the gradient of $x$ is
#   $(g - \text{mean}(g) - \hat x \cdot \text{mean}(g \hat x)) / \sigma$, which you derive in [chapter 26](26_whiteboard_decoder.ipynb)'s
#   exercise 6.
# - *They ask next:* Why do GPTs use layer norm? In training, a mean over positions would leak later words into earlier ones, and padding
#   would count as well. "There may be one row in the batch" is not a reason: evaluation doesn't use the batch. Whether the norm
#   stands before or after the attention is the subject of [chapter 14](14_attention.ipynb).
# - *The trap:* `LayerNorm(4)` isn't for four channels. It normalizes the *last* dimension, which is W for images (N, C, H, W). If W happens
#   to be 4, the wrong elements are normalized silently; otherwise an error is raised.
# - *Proof:* `proof-layer-norm`, `proof-modes`.
#
# **Interview · What does RMSNorm leave out, and why do language models use it?**
#
# - *Thirty seconds:* The mean and the bias: it divides each sample by the root mean square over its last dimensions and multiplies
#   by a weight. That is cheaper than layer norm, and the quality is about the same.
# - *Longer:* Like layer norm, it looks at one sample alone, so it needs no running statistics and the modes agree. Scaling the input by
#   ten changes neither result, apart from the effect of `eps`, whereas a constant shift changes RMS norm's.
# - *They ask next:* What is its `eps`? A number added under the root, so that a row of zeros isn't 0/0. PyTorch's default is the machine
#   epsilon of the type in which it computes, which is float32 for 16-bit inputs; Llama 3 sets 1e-5.
# - *They ask next:* What is *QK-norm*? An RMS norm of the queries and keys in each head, as in Qwen3 and Gemma 3, so that attention scores
#   can't grow without bound ([chapter 24b](24b_llama.ipynb)).
# - *The trap:* Its result doesn't have a mean of 0, as that of layer norm has before weight and bias.
# - *Proof:* `proof-layer-norm`, `proof-modes`; a GPT that is trained with each: [chapter 24b](24b_llama.ipynb).
#
# ## Dropout
# In training, dropout sets each element to 0 with probability p, so that no unit can rely on another one alone. Zeroing alone
# changes the mean, as this cell shows:

# %% tags=["proof-dropout"]
torch.manual_seed(0)
ones = torch.ones(1_000_000)
for p in (0.1, 0.5, 0.9):
    plain = ones * (torch.rand(ones.shape) >= p).float()
    real = torch.nn.functional.dropout(ones, p)
    found = sorted({round(value, 3) for value in real[:1000].tolist()})
    means = f"mean if only zeroed {plain.mean().item():.2f}, with dropout {real.mean().item():.2f}"
    print(f"p = {p}: {means}, values {found}")

# %% [markdown]
# Zeroing alone multiplies the mean by 1 − p, so in evaluation the next layer would suddenly see larger values than those it was trained
# on. The values that are kept are therefore divided by 1 − p **in training**, and with this *inverted* scaling, which you will write in
# exercise 4, there is nothing to do in evaluation.
#
# **Interview · Why does dropout divide by 1 − p?**
#
# - *Thirty seconds:* The division keeps the expected value the same, so evaluation needs no correction, and dropout is the identity there.
# - *Longer:* The original paper instead multiplied the weights by 1 − p at test time, whereas PyTorch scales in training.
# - *They ask next:* Is the variance preserved as well? No, only the mean is, as you see when you measure the mean square in exercise 7.
# - *The trap:* In a `forward`, `F.dropout(x)` always drops: its default is `training=True`, whatever the module's mode.
# - *Proof:* `proof-dropout`, `proof-functional-dropout`.
#
# ### Functional dropout and attention ignore `eval()`
# A function has no mode, so the class `Careless` below goes on dropping after `eval()`. `F.scaled_dot_product_attention` applies its
# `dropout_p` in every call and has no `training` argument, so a model has to pass 0 in evaluation:
# `dropout_p=self.dropout if self.training else 0.0`.


# %% tags=["proof-functional-dropout"]
class Careless(nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.5)


for layer in (nn.Dropout(0.5), Careless()):
    print(f"zeros after eval(), {type(layer).__name__:8} {(layer.eval()(ones) == 0).float().mean().item():.0%}")
query = torch.randn(1, 1, 4, 8)
for p in (0.5, 0.0):
    one, two = (torch.nn.functional.scaled_dot_product_attention(query, query, query, dropout_p=p) for _ in range(2))
    print(f"attention with dropout_p={p}: two calls are equal: {torch.equal(one, two)}")

# %% [markdown]
# **Interview · Your transformer's validation loss changes from run to run, although you call `eval()`. Where do you look?**
#
# - *Thirty seconds:* I look for functional dropout. `F.dropout` defaults to training, and `scaled_dot_product_attention` applies its
#   `dropout_p` in every call, so both have to receive a value that depends on `self.training`.
# - *They ask next:* How do you find the call? I run the model twice on one batch with forward hooks, and look for the first layer whose
#   outputs differ.
# - *The trap:* `dropout=0.1` can't be copied from `nn.MultiheadAttention`, which takes care of the mode itself, into the functional call.
# - *Proof:* `proof-functional-dropout`.

# %% [markdown]
# ## Milestone: LeNet reads digits
# This is minitorch's `lenet.py`, unchanged but for its imports, on your library. The batch norms are added from outside, by replacing
# `model.conv1` with a `Sequential` of itself and a batch norm. Each batch is shifted by up to two pixels, so that LeNet can't rely on where
# a stroke lies. Like dropout, this augmentation is applied in training only.

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
smooth = {name: np.convolve(curve, np.ones(10) / 10, "valid").tolist() for name, curve in curves.items()}
predicted = model(mytorch.tensor(images[test])).argmax(1).numpy()
wrong = test[predicted != digits.target[test]]
print(f"of {len(test)} unseen digits {1 - max(len(wrong), 9) / len(test):.0%} or more are right")
print("loss of epoch 1:", {name: round(sum(curve[:42]) / 42) for name, curve in curves.items()})
pictures.curves(smooth, xlabel="step", ylabel="loss, mean of 10 steps (nats)", alt="Without norms, it falls later.")

# %% [markdown]
# LeNet learns to read without batch norm as well, but in this run its loss starts to fall later, after about half of the first epoch.
#
# The loop is SGD with momentum, written by hand, whose steps get shorter from epoch to epoch; [chapter 16](16_losses_and_optimizers.ipynb)
# turns it into an optimizer. Each epoch drops the last three digits, because a batch of three would have poor statistics. What does your
# LeNet get wrong? Above each digit is the correct class, and then the one that LeNet read.

# %%
read = predicted[predicted != digits.target[test]]
labels = [f"{right}, read {wrong_digit}" for right, wrong_digit in zip(digits.target[wrong], read, strict=True)]
pictures.images(digits.images[wrong], labels, alt="Misread digits, with the correct and the predicted class.")

# %% [markdown]
# ## Edge cases: what updates the running statistics?

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
# Each forward pass in training mode writes the statistics, whether or not an optimizer steps, so a warm-up run, a check of shapes or a
# validation in the wrong mode changes the model. `num_batches_tracked` counts calls in training mode, even a single row that is then
# refused. With `momentum=None`, the statistics are plain averages over all batches. With gradient accumulation, each small batch is still
# normalized by its own statistics.
#
# **Interview · You fine-tune a network with frozen batch norms. What do you have to do?**
#
# - *Thirty seconds:* Two calls: `requires_grad_(False)` freezes only the weight and the bias, and `eval()` freezes the
#   running statistics.
# - *Longer:* The statistics are buffers, so no optimizer reaches them; the forward pass in training mode writes them. I also clear the
#   `grad` of what I freeze, because an optimizer applies any that it finds.
# - *They ask next:* What happens at the next `model.train()`? It sets the flag everywhere again, so I call `eval()` on the frozen part
#   after it.
# - *The trap:* `no_grad` doesn't stop the statistics either.
# - *Proof:* `proof-frozen`.
#
# ## Common myths
# ### Myth · "Train mode computes gradients, eval mode doesn't"
# Here are all four combinations:

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
# The two switches are independent: if you forget `no_grad` in validation, you pay for a graph, and if you forget `eval`, dropout makes
# the answers random.
#
# **Interview · `eval()` or `no_grad()`?**
#
# - *Thirty seconds:* Validation needs both. `eval()` changes what dropout and batch norm compute, `no_grad()` stops the
#   recording of the graph, and neither does the other's work.
# - *Longer:* `eval()` sets an attribute of the modules that stays until `train()`; `no_grad()` ends with its block.
# - *They ask next:* Does `eval()` save memory? Some: dropout keeps no masks ([a quarter of the saved
#   bytes](proof-eval-memory) in one network), but the graph is still recorded.
# - *They ask next:* Is there a layer that can't train in eval mode? Yes, cuDNN's recurrent layers on a GPU, whose backward pass raises an
#   error unless their forward pass ran in training mode.
# - *The trap:* Eval mode doesn't turn gradients off. You can train in eval mode, and frozen batch norms are used like that.
# - *Proof:* `proof-modes-and-gradients`, `proof-modes`.
#
# ### Myth · "eval turns BatchNorm off"
# It goes on normalizing, but with other statistics, as a computation by hand confirms:

# %% tags=["proof-eval-batch-norm"]
bn = nn.BatchNorm1d(4, momentum=1.0)
bn(batch)  # momentum 1: the statistics are this batch's
new = torch.randn(3, 4)
by_hand = (new - bn.running_mean) / (bn.running_var + bn.eps).sqrt()
print(f"differs from the formula by {(bn.eval()(new) - by_hand).abs().max().item():.4f}")
print(f"differs from its input by {(bn(new) - new).abs().max().item():.1f}")

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *Which of Linear, Softmax, Dropout and LayerNorm behave differently in evaluation?* Only Dropout.
# - *Are batch norm's running statistics parameters?* No, they are buffers, so they are in the state dict, but not in
#   `parameters()`.
# - *With a BatchNorm momentum of 0.1, what is multiplied by 0.1?* The new batch's statistic.
# - *With dropout of p = 0.2, what does a kept 1 become?* 1.25.
# - *Does `model.eval()` return anything?* Yes, the model.

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A mode is a flag that some layers read, and it doesn't switch gradients on or off.
# 2. Validation needs `eval()` and `no_grad()`, and `train()` afterwards.
# 3. In training, batch norm uses the batch's mean and biased variance; in evaluation, it uses the running statistics.
# 4. running = (1 − momentum) · running + momentum · new, with the unbiased variance.
# 5. Statistics are buffers, which `eval()` freezes; `requires_grad_(False)` and `no_grad` don't.
# 6. A bias before a batch norm in training mode learns nothing useful.
# 7. Layer norm and group norm work within a sample and are the same in both modes.
# 8. Dropout sets an element to 0 with probability p and otherwise divides it by 1 − p, in training only.
# 9. Pass `training=self.training` to `F.dropout`, and `dropout_p=0.0` to attention in evaluation.
# 10. Normalization makes training less sensitive to the initial scale of the weights.

# %% [markdown]
# ## You try
# In [the exercises](../exercises/12_norm_dropout_and_modes.ipynb) you predict two statistics and write batch norm, layer norm, RMS norm
# and dropout. You also fold a batch norm into the layer before it, repair statistics that leak, and measure what dropout does to the
# mean square. [Chapter 13](13_embeddings.ipynb) turns words into vectors.
#
# ## If you have time
# ### How much memory `eval()` saves
# This cell counts the bytes that two linear layers with dropouts save for their backward pass, which are fewer in evaluation, where the
# masks are missing.


# %% tags=["proof-eval-memory"]
def saved_bytes(model, inputs):
    kept = {}  # by address, because two nodes may save the same memory

    def pack(tensor):
        kept[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(inputs)
    return sum(kept.values())


wide = nn.Sequential(nn.Linear(256, 256), nn.Dropout(), nn.Linear(256, 256), nn.Dropout())
for mode in (True, False):
    print(f"training {mode!s:5} saves {saved_bytes(wide.train(mode), torch.ones(64, 256)):,} bytes for backward")

# %% [markdown]
# ### The real one
# This is minitorch's layer, which makes the same decisions as PyTorch's:

# %%
print(inspect.getsource(nn.modules.batchnorm._BatchNorm.forward))

# %% [markdown]
# `mytorch`'s layer makes the first two of these three decisions. `factor` is the momentum, or 1/k at the k-th batch if the momentum is
# `None`. `uses_batch` is true in training, and also where there are no running statistics. `keeps` is false only in training, for a layer
# whose `track_running_stats` was switched off after it was made; then its old statistics stay as they are. The larger difference is one
# level below: PyTorch has one kernel and one graph node for the whole formula, and `mytorch` records about twenty nodes.
