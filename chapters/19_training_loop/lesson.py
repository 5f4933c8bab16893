# %% [markdown]
# # The training loop
# Everybody can recite it: data, forward, loss, backward, step, and `zero_grad` somewhere. Suppose you delete one of
# these lines. Which error do you get?

# %%
import copy
import inspect
import math
import re
from contextlib import redirect_stdout
from io import StringIO

import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import load_digits

import minitorch as torch
from course import check
from minitorch import nn, viz
from minitorch.nn import functional as F
from minitorch.ops import softmax
from minitorch.utils.data import DataLoader, TensorDataset

plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"

# %% [markdown]
# The data: 1,797 handwritten digits of 8×8 pixels, shuffled and cut in three.

# %%
digits = load_digits()
torch.manual_seed(0)
order = torch.randperm(len(digits.target))
images = torch.tensor(digits.data / 16, dtype=torch.float32)[order]
labels = torch.tensor(digits.target)[order]
x_train, x_val, x_test = images.split([1200, 300, 297])
y_train, y_val, y_test = labels.split([1200, 300, 297])


def batches(x, y, size=32):
    for chosen in torch.randperm(len(x)).split(size):
        yield x[chosen], y[chosen]


# %% [markdown]
# Each part of the next cell has a section of its own below. For now, read it as the program you have written many
# times, with a switch to leave a line out.


# %%
def make_model(width=128):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))


def train(without=None, epochs=10):
    torch.manual_seed(0)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(epochs):
        for inputs, targets in batches(x_train, y_train):
            if without != "zero_grad":
                optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            if without != "backward":
                loss.backward()
            if without != "step":
                optimizer.step()
    return model


# %% tags=["proof-deleted-lines"]
@torch.no_grad()
def evaluate(model, x, y):
    """The mean loss, and the share of right answers."""
    model.eval()
    logits = model(x)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


for missing in (None, "zero_grad", "backward", "step"):
    loss, accuracy = evaluate(train(without=missing), x_val, y_val)
    verdict = "learned" if accuracy > 0.9 else "is guessing"
    print(f"without {missing or 'nothing':10} loss {min(loss, 10):5.2f}{'+' if loss > 10 else ' '} {verdict}")

# %% [markdown]
# No error at all. Two of the faults even leave the same trace: a loss of 2.3 that does not move. The third goes past 10
# and keeps going. Training code fails in silence, so what you need is not the recipe but the *numbers to expect* at
# each of its six steps: data, define, forward, loss, backward, update.
#
# ## Step 1 · Data

# %%
print("images", tuple(images.shape), images.dtype, "from", images.min().item(), "to", images.max().item())
print("labels", tuple(labels.shape), labels.dtype, "from", labels.min().item(), "to", labels.max().item())
figure, axes = plt.subplots(1, 10, figsize=(9, 1.2))
for axis, image, label in zip(axes, x_train, y_train, strict=False):
    axis.imshow(image.reshape(8, 8).numpy(), cmap="gray_r")
    axis.set_title(label.item())
    axis.axis("off")
plt.show()
print("labels shown:", y_train[:10].tolist())

# %% [markdown]
# Three things to check before anything else. Inputs are floating point and of the order of one: the pixels were 0 to
# 16, and `/ 16` is all the normalisation they need. Labels are int64 class numbers, not one-hot rows. And the set is
# cut in **three**, after a shuffle: the *training* set moves the weights, the *validation* set makes your decisions
# (when to stop, which learning rate), the *test* set is looked at once, at the end. A decision made on the test set
# makes its number a boast.

# %%
for name, y in {"train": y_train, "validation": y_val, "test": y_test}.items():
    counts = torch.bincount(y, minlength=10)
    print(f"{name:10} {len(y):5} images, a class has {counts.min().item()} to {counts.max().item()}")
sizes = [len(inputs) for inputs, _ in batches(x_train, y_train)]
print(len(sizes), "batches an epoch: of", sizes[0], "images, the last of", sizes[-1])
dataset = TensorDataset(x_train, y_train)
lengths = [len(DataLoader(dataset, batch_size=32, shuffle=True, drop_last=drop)) for drop in (False, True)]
print("a DataLoader:", lengths[0], "batches,", lengths[1], "with drop_last")

# %% [markdown]
# An **epoch** is one pass over the training set, a **step** one update. 1,200 images in batches of 32 make $\lceil 1200
# / 32 \rceil = 38$ steps, and the last batch has 16. Remember that 16: it matters when you average losses. `DataLoader`
# (chapter 18) does what `batches` does, and more; here the four lines are enough.
#
# ## Step 2 · Define

# %%
torch.manual_seed(0)
model = make_model()
print(model)
for name, parameter in model.named_parameters():
    print(f"{name:9} {tuple(parameter.shape)!s:10} {parameter.numel():5}")
print("together:", sum(parameter.numel() for parameter in model.parameters()))

# %% [markdown]
# $64 \cdot 128 + 128 = 8320$ and $128 \cdot 10 + 10 = 1290$: 9,610 numbers, to be fitted to 1,200 images. There are
# more parameters than images, a fact to which the section on overfitting returns. Without the ReLU the two layers would
# be one: a product of two matrices is a matrix.
#
# ## Step 3 · Forward

# %%
inputs, targets = x_train[:4], y_train[:4]
logits = model(inputs)
loss = F.cross_entropy(logits, targets)
print("logits", tuple(logits.shape), " sum of each row", [round(total, 2) for total in logits.sum(1).tolist()])
viz.graph(loss, names=[*model.named_parameters(), ("logits", logits), ("loss", loss)])

# %% [markdown]
# A row of **logits** is ten scores, one a class. They are not probabilities: they can be negative, and they sum to
# nothing in particular. The forward pass has recorded the graph above as it ran; chapter 06 builds that part.
#
# ## Step 4 · Loss
# What loss should an untrained network have? It knows nothing, so it gives each of ten classes about $\frac{1}{10}$,
# and the loss is $-\ln \frac{1}{10} = \ln 10$.

# %% tags=["proof-untrained-loss"]
print("predicted:", round(math.log(10), 3), "  measured:", round(evaluate(model, x_train, y_train)[0], 3))

# %% [markdown]
# That is the 2.3 of the first cell. A loss that starts far from $\ln C$ means a fault in the data, the labels or the
# initialisation, found before a minute of training is spent. A loss that *stays* there means that nothing reaches the
# weights.
#
# Cross-entropy in words: turn the logits into probabilities (softmax), take the one of the right class, and charge
# minus its logarithm.


# %%
def naive_cross_entropy(logits, targets):
    probabilities = logits.exp() / logits.exp().sum(1, keepdim=True)
    return -probabilities[torch.arange(len(targets)), targets].log().mean()


print(f"yours {naive_cross_entropy(logits, targets).item():.4f}, the package's {loss.item():.4f}")
large = torch.tensor([[0.0, 100.0]])
print("sure and right:", naive_cross_entropy(large, torch.tensor([1])))
print("sure and wrong:", naive_cross_entropy(large, torch.tensor([0])))

# %% [markdown]
# The formula is right and the program is not: $e^{100}$ is infinite in float32 (the limit is near $e^{88}$). Softmax
# does not change when the same number is subtracted from every logit, so subtract the largest: the largest exponent is
# then $e^0 = 1$. And never form the probability: $\ln \frac{e^{a}}{\sum e^{z}} = a - \ln \sum e^{z}$.


# %% tags=["proof-stable-loss"]
def stable_cross_entropy(logits, targets):
    shifted = logits - logits.max(1, keepdim=True).values
    log_probabilities = shifted - shifted.exp().sum(1, keepdim=True).log()
    return -log_probabilities[torch.arange(len(targets)), targets].mean()


print("sure and right:", stable_cross_entropy(large, torch.tensor([1])).item() == 0)
print("sure and wrong:", stable_cross_entropy(large, torch.tensor([0])))
print("the package's: ", F.cross_entropy(large, torch.tensor([0])))
print(inspect.getsource(softmax._log_softmax_block))

# %% [markdown]
# The package's kernel, last, does the same with arrays, so that `cross_entropy` is two operations: this one, and the
# pick.
#
# Now the mistake that interviewers like. Someone knows that the last layer should give probabilities, and adds a
# softmax. The network is as right as can be: probability 1 for the right class.

# %% tags=["proof-softmax-twice"]
perfect = torch.eye(10)
print("loss of perfect probabilities:", round(F.cross_entropy(perfect, torch.arange(10)).item(), 4))
print("ln(1 + 9/e):                  ", round(math.log(1 + 9 / math.e), 4))

# %% [markdown]
# It cannot go below 1.46, however long you train, because softmax is applied twice and the inputs of the second are
# squeezed between 0 and 1. The model still learns, slowly, and reports strange losses.
#
# **Interview · Why does `CrossEntropyLoss` take logits?**
#
# - *Thirty seconds:* Because log and softmax together are stable and apart are not. `CrossEntropyLoss` is `log_softmax`
#   followed by `nll_loss`; it wants raw scores and class indices.
# - *Longer:* The maximum is subtracted before exponentiating, and the logarithm of the sum replaces the logarithm of a
#   quotient, so neither overflow nor $\ln 0$ can happen. The gradient becomes simple too: softmax minus one-hot.
# - *They ask next:* What loss do you expect before training? $\ln C$. How do you get probabilities at inference?
#   `logits.softmax(1)`; for the class alone, `argmax` of the logits is enough.
# - *The trap:* a `Softmax` layer before the loss. It trains, badly, and the loss stays above 1.46 for ten classes.
# - *Proof:* the two cells above.
#
# ## Step 5 · Backward
# Choose logits whose softmax you can see: $\ln 1, \ln 2, \ln 5$ give $\frac18, \frac28, \frac58$. The right class is
# the last.

# %%
scores = torch.tensor([[1.0, 2.0, 5.0]]).log().requires_grad_()
F.cross_entropy(scores, torch.tensor([2])).backward()
print("softmax: ", scores.detach().softmax(1))
print("gradient:", scores.grad)

# %% [markdown]
# **Softmax minus one-hot**: $\frac58 - 1 = -\frac38$ for the right class, the probabilities themselves for the others.
# The more wrong and sure, the larger the push; with the mean over a batch, divided by its size. From there the engine
# carries it down the graph and *adds* it to each `.grad`. Adding is why `zero_grad` exists, and why leaving it out made
# the loss explode: each step followed the sum of all gradients so far.
#
# ## Step 6 · Update
# Gradient descent is one line, $w \leftarrow w - \eta\, g$, with $\eta$ the **learning rate**. Write it down and run
# it.

# %% tags=["raises-exception"]
loss.backward()
for parameter in model.parameters():
    parameter -= 0.1 * parameter.grad

# %% [markdown]
# The update itself must not be recorded. That is the reason for `no_grad` in every optimizer.

# %%
before = evaluate(model, inputs, targets)[0]
with torch.no_grad():
    for parameter in model.parameters():
        parameter -= 0.1 * parameter.grad
print(f"loss of these four images: {before:.3f} -> {evaluate(model, inputs, targets)[0]:.3f}")

# %% [markdown]
# `SGD` adds **momentum**: it keeps a buffer per parameter, $b \leftarrow \mu b + g$, which starts as the first
# gradient, and moves by $-\eta\, b$. Some notes explain `SGD(lr=1e-2, momentum=0.9)` as "learning rate 0.01 and step
# size 0.9". Measure the steps under a gradient that is always 1.

# %% tags=["proof-momentum"]
position = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([position], lr=0.01, momentum=0.9)
moves = []
for _ in range(60):
    start = position.item()
    position.grad = torch.ones(1)
    optimizer.step()
    moves.append(start - position.item())
print("steps 1 to 4:", [round(move, 4) for move in moves[:4]], "  step 60:", round(moves[-1], 3))

# %% [markdown]
# No step is 0.9 long. The first is 0.01, then $0.01 \cdot 1.9$, $0.01 \cdot 2.71$, towards $0.01 \cdot (1 + 0.9 + 0.81
# + \dots) = \frac{0.01}{1 - 0.9} = 0.1$. 0.9 is a *memory*: the share of the last velocity that survives. In a constant
# direction it makes steps ten times as long. So a learning rate of 0.01 with momentum should train much as 0.1 without.
# Does it?


# %%
def losses_with(epochs=10, **options):
    torch.manual_seed(0)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), **options)
    losses = []
    for _ in range(epochs):
        for inputs, targets in batches(x_train, y_train):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        losses.append(evaluate(model, x_train, y_train)[0])
    return losses


settings = {
    "lr 0.01, momentum 0.9": ({"lr": 0.01, "momentum": 0.9}, BLUE, "o-"),
    "lr 0.1, momentum 0": ({"lr": 0.1, "momentum": 0}, ORANGE, "s-"),
    "lr 0.01, momentum 0": ({"lr": 0.01, "momentum": 0}, GREEN, "^-"),
}
plt.figure(figsize=(5.5, 3))
for name, (options, color, style) in settings.items():
    losses = losses_with(**options)
    print(f"{name:22} loss after 2, 5, 10 epochs:", *(f"{losses[epoch]:.2f}" for epoch in (1, 4, 9)))
    plt.plot(range(1, 11), losses, style, color=color, label=name)
plt.xlabel("epoch")
plt.ylabel("training loss (nats)")
plt.legend(frameon=False)
plt.show()

# %% [markdown]
# Nearly the same curve, and a third that is far behind. Here is the package's `step`; the buffer, the decay of weights
# and the two variants are all there is to it. `blocks` hands out the memory of the tensors in pieces that fit in the
# cache. The decorator switches the graph off, unless you made the optimizer with `differentiable=True`.

# %%
print(inspect.getsource(torch.optim.SGD.step))

# %% [markdown]
# **Interview · What does `momentum=0.9` do?**
#
# - *Thirty seconds:* It smooths gradients: the buffer is $b \leftarrow 0.9\,b + g$ and the weight moves by $-\eta b$.
#   In a steady direction steps grow up to $\frac{1}{1 - 0.9} = 10$ times; across a ravine opposite gradients cancel.
# - *Longer:* PyTorch's buffer starts as the first gradient and $g$ enters unscaled (with `dampening`, times $1 -$
#   dampening, but not the first). The learning rate multiplies the buffer, so changing it acts on the whole history at
#   once. Nesterov's variant moves by $g + 0.9\,b$.
# - *They ask next:* You raise momentum from 0.9 to 0.99: what else do you change? The learning rate, by about a tenth.
# - *The trap:* calling 0.9 the step size. And: weight decay is added to the gradient before the buffer, so it is
#   remembered too.
# - *Proof:* the lengths of the steps above, and the two curves.
#
# ### How large may the learning rate be?
# On $f(x) = \frac12 x^2$ the gradient is $x$, so a step is $x \leftarrow (1 - \eta) x$. It shrinks as long as $|1 -
# \eta| < 1$: up to $\eta = 2$. With momentum $\mu$ the limit is $2 (1 + \mu)$.


# %% tags=["proof-divergence"]
def distance_after(steps, lr, momentum):
    x = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=lr, momentum=momentum)
    for _ in range(steps):
        optimizer.zero_grad()
        (x * x / 2).sum().backward()
        optimizer.step()
    return abs(x.item())


for momentum, rates in {0.0: (1.9, 2.1), 0.9: (2.1, 3.7, 3.9)}.items():
    for lr in rates:
        print(f"momentum {momentum}, lr {lr}: {'closer' if distance_after(300, lr, momentum) < 1 else 'diverges'}")

# %% [markdown]
# For any loss, $2 (1 + \mu)$ is divided by the largest curvature (the largest eigenvalue of the Hessian). A loss that
# turns to `nan` says: learning rate above that limit, at least for now. In exercise 8 you measure it.
#
# ## The loop, whole
# Six steps in a function. Two habits are in it that the first cell lacked: the mode is set at the beginning of the
# epoch, and the mean weighs each batch by its size, since the last has 16 images and not 32.


# %% tags=["proof-six-steps"]
def train_one_epoch(model, loader, optimizer):
    model.train()
    total = count = 0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(inputs)
        count += len(inputs)
    return total / count


torch.manual_seed(0)
model = make_model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
history = []
for epoch in range(10):
    train_loss = train_one_epoch(model, batches(x_train, y_train), optimizer)
    history.append((train_loss, *evaluate(model, x_val, y_val)))
    if epoch % 3 == 0:
        print("epoch {:2}  train {:.2f}  validation {:.2f}, {:.0%} right".format(epoch + 1, *history[-1]))
accuracy = evaluate(model, x_test, y_test)[1]
print(f"test accuracy {accuracy:.2f}; at least 0.95:", accuracy >= 0.95)
plt.figure(figsize=(5.5, 3))
for column, (name, color, style) in enumerate([("training", BLUE, "o-"), ("validation", ORANGE, "s-")]):
    plt.plot(range(1, 11), [row[column] for row in history], style, color=color, label=name)
plt.xlabel("epoch")
plt.ylabel("loss (nats)")
plt.legend(frameon=False)
plt.show()

# %% [markdown]
# In the first epoch the training loss lies far *above* the validation loss. No magic: it is averaged while the weights
# were still learning, and the validation loss is measured at the end.
#
# **Interview · Write a training loop. What happens if you forget one line?**
#
# - *Thirty seconds:* Per batch: `zero_grad`, forward, loss, `backward`, `step`; per epoch: `train()`, then validation
#   in `eval()` under `no_grad`. Without `step` or `backward` the loss stays at its first value; without `zero_grad`
#   gradients pile up and it explodes. Nothing raises.
# - *Longer:* `zero_grad` may stand anywhere between `step` and the next `backward`, and accumulating on purpose is how
#   large batches are split. Only `.item()` leaves the loop, so that no graph is kept.
# - *They ask next:* Which checks do you run before a long training? The first loss is $\ln C$; ten images can be
#   learned by heart; labels match pictures.
# - *The trap:* averaging batch means when the last batch is smaller. And `total += loss`, which keeps every graph.
# - *Proof:* the first table of the chapter.
#
# ## `eval()` is not `no_grad()`
# "Train mode computes gradients, eval mode does not": the sentence goes round, and it is wrong. Ask a network with
# dropout, in all four combinations.

# %% tags=["proof-modes"]
torch.manual_seed(0)
dropping = nn.Sequential(nn.Linear(2, 1000, bias=False), nn.Dropout(0.5))
ones = torch.ones(1, 2)
for training in (True, False):
    for recording in (True, False):
        dropping.train(training)
        with torch.set_grad_enabled(recording):
            output = dropping(ones)
        dropped = (output == 0).float().mean().item()
        mode, switch = ("eval", "train")[training], ("off", "on")[recording]
        print(f"{mode:5} mode, grad {switch:3}: {dropped:4.0%} dropped, requires grad {output.requires_grad}")
dropping.eval()(ones).sum().backward()
print("gradient in eval mode:", dropping[0].weight.grad.unique())

# %% [markdown]
# The mode decides what dropout (and batch norm) compute. The switch decides what is recorded. Neither knows of the
# other.
#
# **Interview · Does `model.eval()` turn gradients off?**
#
# - *Thirty seconds:* No. `eval()` sets a flag that dropout and batch norm read. `no_grad` (or `inference_mode`) stops
#   recording. Validation needs both, for different reasons: right numbers, and memory.
# - *Longer:* `eval()` is `train(False)`, set recursively on all submodules, and nothing sets it back.
# - *They ask next:* What if you forget `train()` after validation? Dropout is off for the rest of training, and batch
#   norm normalises with statistics that no longer follow the data.
# - *The trap:* "eval mode saves memory." It saves none.
# - *Proof:* the four lines above.
#
# ## Where it is wrong
# 97 % says how often. A **confusion matrix** says where: entry $(i, j)$ counts the images of digit $i$ that were taken
# for $j$. One loop would do; one line is nicer: number the pairs $10 i + j$ and count the numbers.

# %% tags=["proof-confusion"]
with torch.no_grad():
    predicted = model(x_test).argmax(1)
confusion = torch.bincount(10 * y_test + predicted, minlength=100).reshape(10, 10)
print("on the diagonal:", confusion.trace().item(), "of", confusion.sum().item())
print("recall of each digit:", [round(share, 2) for share in (confusion.diagonal() / confusion.sum(1)).tolist()])
plt.figure(figsize=(4, 3.6))
plt.imshow(confusion.numpy(), cmap="Blues", vmax=10)
for row in range(10):
    for column in range(10):
        count = confusion[row, column].item()
        if count:
            plt.text(column, row, count, ha="center", va="center", color="white" if count > 6 else "black", fontsize=9)
plt.xticks(range(10))
plt.yticks(range(10))
plt.xlabel("predicted digit")
plt.ylabel("true digit")
plt.show()
errors = confusion - torch.diag(confusion.diagonal())
print("mistakes:", errors.sum().item(), " most of them on digit", errors.sum(1).argmax().item())

# %% [markdown]
# Row sums are how often a digit occurs, so the diagonal over row sums is **recall**; over column sums it is
# **precision**. An accuracy hides both when classes are unequal in number.
#
# ## Overfitting, on purpose
# Make it easy: only 200 training images, and 40 of them with a wrong label. The network has 9,610 parameters. Which of
# the two will it do: see through the 40 lies, or learn them by heart?

# %% tags=["proof-overfitting"]
torch.manual_seed(0)
x_few, y_few = x_train[:200], y_train[:200].clone()
y_few[:40] = (y_few[:40] + torch.randint(1, 10, (40,))) % 10
model = make_model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
history, states = [], []
for _ in range(60):
    train_loss = train_one_epoch(model, batches(x_few, y_few, 20), optimizer)
    history.append((train_loss, *evaluate(model, x_val, y_val)))
    states.append(copy.deepcopy(model.state_dict()))

best = min(range(60), key=lambda epoch: history[epoch][1])
for name, row in {"at the lowest validation loss": history[best], "after 60 epochs": history[-1]}.items():
    print(f"{name:30} train {row[0]:.1f}  validation {row[1]:.1f}, {row[2]:.0%} right")
plt.figure(figsize=(5.5, 3))
for column, (name, color) in enumerate([("training, with 20 % wrong labels", BLUE), ("validation", ORANGE)]):
    plt.plot(range(1, 61), [row[column] for row in history], color=color, label=name)
plt.axvline(best + 1, color="grey", linestyle=":")
plt.xlabel("epoch")
plt.ylabel("loss (nats)")
plt.legend(frameon=False)
plt.show()

# %% [markdown]
# Both, in that order. First it learns what the images have in common, and the validation loss falls. Then it learns the
# exceptions, and the validation loss rises while the training loss goes on falling. The dotted line is where you want
# to have stopped. You cannot see a minimum before it has passed, so **early stopping** waits: stop when `patience`
# epochs in a row have brought nothing better, and go back to the best weights. For that you must have kept them.

# %% tags=["proof-state-alias"]
torch.manual_seed(0)
model = make_model()
kept, copied = model.state_dict(), copy.deepcopy(model.state_dict())
train_one_epoch(model, batches(x_few, y_few), torch.optim.SGD(model.parameters(), lr=0.1))
for name, state in {"kept": kept, "copied": copied}.items():
    print(f"{name:6} state equals the weights after training:", torch.equal(state["0.weight"], model[0].weight))

# %% [markdown]
# A `state_dict` holds the parameters' own memory, not their values. Keep it and train on, and the "best" weights are
# the last ones. Copy, or save to a file.


# %% tags=["proof-early-stopping"]
class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.waited, self.state = patience, math.inf, 0, None

    def stop(self, loss, model):
        if loss < self.best:
            self.best, self.waited, self.state = loss, 0, copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        return self.waited >= self.patience


stopping = EarlyStopping(patience=5)
for epoch, state in enumerate(states):  # the sixty epochs again
    model.load_state_dict(state)
    if stopping.stop(history[epoch][1], model):
        break
model.load_state_dict(stopping.state)
back_at_the_best = math.isclose(evaluate(model, x_val, y_val)[0], stopping.best, rel_tol=1e-5)
print("stopped before the end:", epoch < 59, "  back at the best:", back_at_the_best)

# %% [markdown]
# **Interview · The training loss falls and the validation loss rises. What do you do?**
#
# - *Thirty seconds:* That is overfitting: the network learns what is true of the training set only. Stop at the best
#   validation loss, then look for more or cleaner data, augmentation, weight decay, dropout, a smaller network.
# - *Longer:* Data first: here, 20 % wrong labels were the cause. Watch loss *and* accuracy: the loss can rise while
#   accuracy still improves, when few answers get very sure and very wrong.
# - *They ask next:* Both losses are high? Underfitting: train longer, a higher learning rate, a larger network. The
#   validation loss is lower than the training loss? Dropout, or the averaging during the epoch.
# - *The trap:* choosing the epoch on the test set. And keeping a `state_dict` without copying it.
# - *Proof:* the curves, and the states kept and copied.
#
# ## The same numbers again
# `train` seeds the generator and then does everything. Run it twice; then run it with one random number drawn in
# between.


# %% tags=["proof-same-seed"]
def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def model_after(draws):
    torch.manual_seed(0)
    torch.rand(draws)
    return make_model()


print("same seed:               ", same(train(epochs=2), train(epochs=2)))
print("one draw more in between:", same(model_after(0), model_after(1)))

# %% [markdown]
# Equal to the last bit, and entirely different. A seed does not fix *a network*; it fixes a **sequence** of random
# numbers, and everything that draws from it shifts everything after it: initialisation, shuffling, dropout,
# augmentation. NumPy and Python's `random` have sequences of their own. That is the first half of reproducibility. The
# second is arithmetic.

# %% tags=["proof-float-order"]
big, small = torch.tensor(1e8), torch.tensor(1.0)
print(((big + small) - big).item(), ((big - big) + small).item())

# %% [markdown]
# Floating-point addition depends on the order. Another number of threads, another GPU, another version of a library may
# sum in another order, and a training run amplifies the last bit. What has to be fixed, then: the seed of every
# generator, the order of data, the versions, the hardware and number of threads, and on a GPU deterministic kernels
# (`torch.use_deterministic_algorithms(True)`). Between machines, expect equal curves, not equal bits.
#
# Interrupt a run after one epoch and go on. What must a checkpoint hold so that nobody can tell?


# %% tags=["proof-resume"]
def two_epochs(restored=("model", "optimizer", "generator")):
    torch.manual_seed(0)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train_one_epoch(model, batches(x_few, y_few), optimizer)
    checkpoint = copy.deepcopy((model.state_dict(), optimizer.state_dict(), torch.get_rng_state()))
    torch.manual_seed(1)  # a new process
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if "model" in restored:
        model.load_state_dict(checkpoint[0])
    if "optimizer" in restored:
        optimizer.load_state_dict(checkpoint[1])
    if "generator" in restored:
        torch.set_rng_state(checkpoint[2])
    train_one_epoch(model, batches(x_few, y_few), optimizer)
    return model


torch.manual_seed(0)
uninterrupted = make_model()
optimizer = torch.optim.SGD(uninterrupted.parameters(), lr=0.1, momentum=0.9)
for _ in range(2):
    train_one_epoch(uninterrupted, batches(x_few, y_few), optimizer)
for restored in (("model", "optimizer", "generator"), ("model", "generator"), ("model", "optimizer")):
    print(f"{' + '.join(restored):29}", "same run" if same(two_epochs(restored), uninterrupted) else "another run")

# %% [markdown]
# The weights are not the state of a training run. Momentum buffers are, and so is the place in the random sequence.
#
# **Interview · Same seed, other numbers. Why?**
#
# - *Thirty seconds:* Something else drew from the generator, or something else is random (NumPy, workers, Python's hash
#   order), or sums were taken in another order: threads, GPU kernels, library versions.
# - *Longer:* Seed all generators, fix the order of data (a `generator` of its own for the loader keeps it independent
#   of the model), pin versions, fix threads, ask for deterministic algorithms. A checkpoint holds model, optimizer,
#   scheduler, epoch and generator states.
# - *They ask next:* How do you compare two models honestly, then? With several seeds, and their spread.
# - *The trap:* "I set the seed, so it is reproducible", and one added layer shifts every number after it.
# - *Proof:* the last three cells.
#
# ## Yours in its place
# The two formulas of this chapter, the loss and the update, go into the package; then `train` runs on them, and so do
# the package's own tests of SGD.


# %% tags=["proof-installed"]
def cross_entropy(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    return stable_cross_entropy(input, target)


@torch.no_grad()
def step(self, closure=None):
    for group in self.param_groups:
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            state = self.state[parameter]
            if "momentum_buffer" in state:
                state["momentum_buffer"].mul_(group["momentum"]).add_(parameter.grad)
            else:
                state["momentum_buffer"] = parameter.grad.clone()
            parameter.add_(state["momentum_buffer"], alpha=-group["lr"])


theirs = evaluate(train(), x_val, y_val)[0]
with (
    check.install(cross_entropy, "minitorch.nn.functional:cross_entropy"),
    check.install(step, "minitorch.optim.sgd:SGD.step"),
):
    ours = evaluate(train(), x_val, y_val)[0]
    report, selected = StringIO(), "plain or geometric or starts_again"
    with redirect_stdout(report):
        pytest.main(["../tests/optim/test_sgd.py", "-k", selected, "-q", "-p", "no:cacheprovider"])
print(f"validation loss {theirs:.2f} with the package's, {ours:.2f} with yours")
print(*re.findall(r"\d+ (?:passed|failed|skipped|error)", report.getvalue()))

# %% [markdown]
# ## You try
# The exercises of this chapter are in `exercises/19_training_loop.ipynb`. Two of them put a part of the package in your
# hands: `SGD.step` with all its options, and `cross_entropy`. The others are a prediction, the loop itself, the
# confusion matrix, early stopping, a loop with four famous faults, and a measurement of the learning rate at which
# training breaks.
