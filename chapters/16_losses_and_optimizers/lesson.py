# %% [markdown]
# # Losses and optimizers
# After this chapter your own library trains: it has cross-entropy, SGD with momentum, Adam and AdamW, and it reads
# handwritten digits. You'll be able to say what each number in `Adam(lr, betas, eps)` does.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(16)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## A perfect classifier with a bad loss
# Five images, ten classes, and a classifier that puts all of its probability on the right class. What is its loss?

# %% tags=["proof-softmax-twice"]
import minitorch as torch
from minitorch.nn import functional as F

labels = torch.tensor([3, 1, 4, 1, 5])
certain = F.one_hot(labels, 10).float()
print(f"right answers: {(certain.argmax(1) == labels).float().mean().item():.0%}")
print(f"cross_entropy: {F.cross_entropy(certain, labels).item():.2f}")

# %% [markdown] tags=["short"]
# Not 0. You can train a ten-class classifier that ends in softmax for a week, and this loss won't go below that number.
# Nothing warns you, and the accuracy may even be fine.
#
# ## Cross-entropy from logits
# A classifier gives each class a score, its **logit**. Softmax turns scores into probabilities, and cross-entropy is
# minus the logarithm of the right one. In the smallest form:

# %%
import math


def cross_entropy(scores, label):
    total = sum(math.exp(score) for score in scores)
    return -math.log(math.exp(scores[label]) / total)


scores = [2.0, 1.0, -1.0]
print(f"mine  {cross_entropy(scores, 0):.4f}")
print(f"torch {F.cross_entropy(torch.tensor(scores), torch.tensor(0)).item():.4f}")

# %% [markdown]
# So `cross_entropy` contains the softmax. It took our probabilities for scores. A score of 1 against nine zeros makes a
# probability of only $e / (e + 9) = 0.23$.
#
# ### Break it
# Scores are any numbers. Try large ones, here and with the library's own `softmax` and `log`:

# %% tags=["proof-overflow"]
from course import check, pictures

print("mine:", repr(check.error(cross_entropy, [1000.0, 0.0], 0)))
x = torch.tensor([[0.0, 60.0, 120.0]], requires_grad=True)
for name, logs in {"softmax, then log": x.softmax(1).log(), "log_softmax": x.log_softmax(1)}.items():
    loss = -logs[0, 0]
    print(f"{name:18} loss {loss.item():5}  gradient {torch.autograd.grad(loss, x)[0]}")

# %% [markdown]
# In float32, `exp(-120)` is 0. Its logarithm is −inf, and the gradient is `nan`: after one step the weights are `nan`
# too. But the answer, 120, is an ordinary number. We only have to reach it without the probabilities:
#
# $$-\log \frac{e^{z_y}}{\sum_j e^{z_j}} = \log \sum_j e^{z_j} - z_y, \qquad
# \log \sum_j e^{z_j} = m + \log \sum_j e^{z_j - m}$$
#
# With $m$ the largest score, `exp` sees nothing above 0, and one term of the sum is 1. This is the **log-sum-exp
# trick**.


# %%
def log_sum_exp(scores):
    top = max(scores)
    return top + math.log(sum(math.exp(score - top) for score in scores))


for each in ([1000.0, 0.0], [0.0, 1000.0], scores):
    print(each, f"loss {log_sum_exp(each) - each[0]:.4f}")

# %% [markdown] given="mytorch.nn.loss:cross_entropy"
# `softmax` followed by `log` fails where the answer is confident and wrong, just where you need the gradient most.
#
# ### In `mytorch`
# `log_softmax` is from [chapter 10](10_activations_and_initialization.ipynb). `nll_loss` picks one log-probability
# from each row: you write it, with class weights and targets to ignore.

# %% tags=["proof-pick"]
import numpy as np

logits = mytorch.tensor([[2.0, 1.0, -1.0], [0.0, 3.0, 1.0], [1.0, 1.0, 1.0], [0.5, 0.0, 2.0]])
targets = mytorch.tensor([0, 1, -100, 0])
losses = mytorch.nn.functional.cross_entropy(logits, targets, reduction="none")
print(mytorch.nn.functional.cross_entropy(logits, targets), "is", losses.sum(), "/ 3")
rows, column = (np.array(each.tolist()).round(2) for each in (logits.log_softmax(1), losses.reshape(4, 1)))
chosen = targets.reshape(4, 1) == mytorch.arange(3)
pictures.grids(("logits", logits), "→", ("log_softmax", rows, chosen), "→", ("losses", column))

# %% [markdown]
# The third target is −100, PyTorch's default `ignore_index`: padding. It adds nothing, and the mean leaves it out: the
# divisor is the number of targets that count, or the sum of their class weights.
#
# What flows back? A logit's gradient is its probability, minus 1 at the right class, over the number of rows:

# %% tags=["proof-cross-entropy-gradient"]
logits = torch.tensor([[2.0, 1.0, -1.0], [0.0, 300.0, 1.0]], requires_grad=True)
targets = torch.tensor([0, 2])
F.cross_entropy(logits, targets).backward()
print(logits.grad)
print((logits.detach().softmax(1) - F.one_hot(targets, 3)) / 2)
for weight, label in ((None, [0, 2]), (torch.tensor([1.0, 1.0, 3.0]), [0, 2]), (None, [-100, -100])):
    print(weight, label, f"{F.cross_entropy(logits.detach(), torch.tensor(label), weight):.2f}")

# %% [markdown]
# **Interview · What is cross-entropy, and why is it computed from logits?**
#
# - *Thirty seconds:* Minus the log-probability of the right class. From logits it is one stable formula, log-sum-exp
#   minus the right score. `log(softmax(x))` gives inf, and `nan` gradients, once a probability underflows.
# - *Longer:* The gradient with respect to the logits is softmax minus one-hot, so without class weights no entry goes
#   beyond ±1, however wrong the answer is.
# - *They ask next:* How does the mean treat class weights? It divides by the sum of the targets' weights, not by their
#   number.
# - *The trap:* A softmax layer before `CrossEntropyLoss`. It still trains, but with ten classes the loss can't go below
#   1.46.
# - *Proof:* `proof-overflow`, `proof-cross-entropy-gradient`; the trap: `proof-softmax-twice`.
#
# For sequences and images, the classes are still dimension 1. That is easy to miss:

# %% tags=["proof-class-dimension"]
tokens = torch.tensor([[0, 1, 2, 3], [3, 2, 1, 0]])  # 2 texts, 4 positions; 5 possible tokens
guesses = torch.zeros(2, 4, 5)  # as a language model gives them
print(check.error(F.cross_entropy, guesses, tokens))
print(f"swapped: {F.cross_entropy(guesses.transpose(1, 2), tokens).item():.4f}, log 5 = {math.log(5):.4f}")

# %% [markdown]
# **Interview · What should the loss be before the first step?**
#
# - *Thirty seconds:* With K classes and no preference each gets 1/K, so the loss is ln K: 2.30 for ten classes, 10.82 for
#   GPT-2's 50,257 tokens. Look at it before you train.
# - *Longer:* If it is far above, the network starts out confident and wrong: its logits are too large, because of the
#   initial weights or of inputs that weren't scaled. If it
#   stays at ln K, nothing is learned: no gradient arrives, or the input is lost on its way
#   ([chapter 10](10_activations_and_initialization.ipynb)). If it soon falls
#   below what is possible, look for a leak ([chapter 14](14_attention.ipynb)).
# - *They ask next:* And if 95 % of the rows are of one class? Set the last bias to the logarithms of the classes' shares, and
#   training starts from there instead of learning them first.
# - *The trap:* "0.69 isn't bad." It is ln 2: a coin toss between two classes.
# - *Proof:* `proof-class-dimension`, where all scores are 0.
#
# ## Soft targets
# A target can also be a distribution: `cross_entropy` takes a row of probabilities for each example. **Label smoothing**
# makes such rows. It takes ε from the right class and spreads it over all K classes, so the right one keeps
# $1 - \varepsilon + \varepsilon / K$. How far the model's distribution $q$ is from the target's $p$ is the **KL
# divergence**:
#
# $$KL(p \,\|\, q) = \sum_k p_k \, (\log p_k - \log q_k) = \text{cross-entropy} - \text{entropy of } p$$

# %% tags=["proof-KL"]
import warnings

warnings.simplefilter("ignore")  # two calls below would warn; the answers say why
right, logits = torch.tensor([0, 1]), torch.tensor([[2.0, 1.0, -1.0], [0.5, 0.0, 2.0]])
target, logs = 0.9 * F.one_hot(right, 3) + 0.1 / 3, logits.log_softmax(1)
kl, entropy = F.kl_div(logs, target, reduction="batchmean"), -(target * target.log()).sum(1).mean()
print("targets smoothed by 0.1:", target)
print(f"losses: {F.cross_entropy(logits, right, label_smoothing=0.1):.3f} and {F.cross_entropy(logits, target):.3f}")
print(f"KL + entropy: {kl:.3f} + {entropy:.3f}; by default, KL is {F.kl_div(logs, target):.3f}")
print(f"KL of probabilities, not logarithms: {F.kl_div(logs.exp(), target, reduction='batchmean'):.3f}")
for lead in (2.0, 3.33, 10.0):
    print(f"a lead of {lead}: {F.cross_entropy(lead * F.one_hot(right, 3), right, label_smoothing=0.1):.3f}")

# %% [markdown]
# With hard targets, the loss falls as long as the right logit's lead over the others grows. With smoothed ones there is a
# best lead, here $\ln 28 = 3.33$, and even there the loss is not 0 but the entropy of the targets.
#
# **Interview · What does label smoothing do, and what is the KL divergence?**
#
# - *Thirty seconds:* Smoothing takes ε from the right class and spreads it over all classes. So the best lead of the right
#   logit is finite, and the model is less sure of itself. KL(p‖q) is the cross-entropy minus the entropy of p: 0 where the
#   two are equal, and positive elsewhere.
# - *Longer:* The entropy of the targets doesn't depend on the model, so cross-entropy and KL have the same gradients. With
#   one-hot targets it is 0, and the losses are the same, too.
# - *They ask next:* How is `kl_div` called? The model's *log*-probabilities come first, then the target's probabilities,
#   with `reduction="batchmean"`. The default, `"mean"`, also divides by the number of classes.
# - *The trap:* Passing probabilities as the first argument. Nothing raises, and the result can be negative.
# - *Proof:* `proof-KL`.
#
# ## Losses for numbers
# If the target is a number, the loss depends on the error. **MSE** squares it, **L1** takes its absolute value, and
# **Huber** squares it up to δ and grows linearly from there. Which constant would each choose for five numbers?

# %% tags=["proof-regression"]
data, errors = torch.tensor([0.0, 1.0, 1.5, 3.0, 100.0]).double(), torch.linspace(-3, 3, 31)
guesses, zeros, curves = torch.linspace(0, 30, 3001).double(), torch.zeros(31), {}
for name, loss in {"MSE": F.mse_loss, "L1": F.l1_loss, "Huber": F.huber_loss}.items():
    table = loss(guesses[:, None].expand(-1, 5), data.expand(3001, -1), reduction="none")
    curves[name] = loss(errors, zeros, reduction="none")
    print(f"{name:5} is least at {guesses[table.sum(1).argmin()]:.2f}")
print(f"Huber / SmoothL1: {F.huber_loss(errors, zeros, delta=2.0) / F.smooth_l1_loss(errors, zeros, beta=2.0):.2f}")
print(f"perfect, but (5, 1) and (5): {F.mse_loss(data[:, None], data):.0f}")
pictures.curves(curves, errors, xlabel="prediction minus target", ylabel="loss")

# %% [markdown]
# MSE chooses the **mean**, and the one outlier drags it to 21.1. L1 chooses the **median**, since every error pulls with the
# same force. Huber pulls with the error up to δ = 1 and with force 1 from there, so it ends near the median, and its curve
# has no corner at 0.
#
# **Interview · MSE, L1 or Huber?**
#
# - *Thirty seconds:* MSE is least at the mean and follows outliers. L1 is least at the median and ignores how far out they
#   are. Huber is MSE for small errors and L1 for large ones.
# - *Longer:* MSE's gradient grows with the error. L1's is ±1 until the error is 0, so its steps don't shrink near the
#   target.
# - *They ask next:* And `SmoothL1Loss`? With `beta` = δ it is Huber divided by δ. At 1, the default of both, they are equal.
# - *The trap:* Predictions of shape (N, 1) and targets of shape (N) broadcast to N × N. A perfect prediction then has a
#   loss far above 0, and all you get is a warning.
# - *Proof:* `proof-regression`.
#
# ## SGD with momentum
# Now the parameters have gradients. Gradient descent is one line, `w -= lr * g`. Let it run in a valley, $f(x, y) =
# (x^2 + 20 y^2) / 2$: flat one way, steep the other.

# %%
CURVATURE = np.array([1.0, 20.0])


def descend(lr, momentum=0.0, steps=40):
    place, velocity, path = np.array([-9.0, 1.5]), 0.0, []
    for _ in range(steps + 1):
        path.append(place)
        velocity = momentum * velocity + CURVATURE * place  # the gradient is CURVATURE * place
        place = place - lr * velocity
    return np.array(path)


def draw(lr, momentum):
    x, y = np.meshgrid(np.linspace(-10, 10, 80), np.linspace(-3, 3, 40))
    path = descend(lr, momentum)
    ax = pictures.axes()
    ax.contour(x, y, (x**2 + 20 * y**2) / 2, levels=[0.5, 4, 12, 25, 45, 70], colors="#bbb", linewidths=1)
    ax.plot(*path.T, marker="o", markersize=3, color=pictures.COLOURS["gradient"])
    ax.set(xlabel="x", ylabel="y", xlim=(-10, 10), ylim=(-3, 3))
    return pictures.publish(ax, alt=f"lr {lr}, momentum {momentum}: ends {abs(path[-1]).max():.1g} off.")


pictures.slider(draw, start={"lr": 0.09, "momentum": 0.0}, lr=[0.04, 0.09, 0.11], momentum=[0.0, 0.5, 0.9])

# %% [markdown]
# At `lr` 0.09 it jumps from wall to wall and still creeps along the floor. At 0.11 it leaves the valley: each step
# multiplies $y$ by $1 - 20\,lr$, which has passed −1. **The steepest direction limits the step, and the flattest one
# decides how long it takes.**
#
# **Momentum** keeps a velocity: gradients that agree add up, and those that alternate cancel. Move the second slider;
# 0.04 with 0.9 is a good pair. In PyTorch the velocity isn't an average, so on a constant slope the steps grow to
# $1 / (1 - 0.9) = 10$ times the plain one:


# %% tags=["proof-momentum"]
def places(kind, gradients, start=0.0, **options):
    w = torch.tensor([start], dtype=torch.float64, requires_grad=True)
    optimizer, path = getattr(torch.optim, kind)([w], **options), [start]
    for gradient in gradients:
        w.grad = torch.full_like(w, gradient)
        optimizer.step()
        path.append(w.item())
    return np.array(path)


for name, lr, momentum in (("plain", 0.04, 0.0), ("momentum", 0.04, 0.9), ("too large", 0.11, 0.0)):
    print(f"{name:9} after 40 steps, x and y:", *(f"{each:8.2f}" for each in descend(lr, momentum)[-1]))
print("steps 1, 2, 3, 60:", -np.diff(places("SGD", [1.0] * 60, lr=0.01, momentum=0.9))[[0, 1, 2, 59]].round(4))

# %% [markdown] given="mytorch.optim.optimizer:Optimizer.step"
# **Interview · What does momentum do?**
#
# - *Thirty seconds:* The velocity $b = \mu b + g$ replaces the gradient in the step. Directions that agree grow, up to
#   $1/(1-\mu)$ times; directions that alternate cancel.
# - *Longer:* It helps in narrow valleys, where the learning rate is capped by the steepest direction.
# - *They ask next:* You switch from plain SGD to momentum 0.9. What about `lr`? Lower it: steps get up to ten times
#   longer.
# - *The trap:* Calling the 0.9 a step size, or reading $b$ as a running mean. PyTorch has no factor $1 - \mu$ there, unless
#   you set `dampening`.
# - *Proof:* `proof-momentum`, `proof-step-size`.
#
# ### What all optimizers share
# `Optimizer` holds the parameters in *groups* with options, and a dict of *state* for each parameter. Its `step` runs
# under `no_grad` and calls `update`. SGD's calls `sgd`, Adam's calls `adam`: you write these two.

# %% [markdown]
# ## `zero_grad`
# `backward` adds to `.grad` ([chapter 06](06_computation_graph.ipynb)), and `step` doesn't clear it. What happens if
# you forget?


# %% tags=["proof-zero-grad"]
def run(steps, calls="backward step zero_grad", **options):
    w = torch.ones(1, requires_grad=True)
    optimizer, path = torch.optim.SGD([w], **options), []
    do = {"backward": lambda: (w * w).sum().backward(), "step": optimizer.step, "zero_grad": optimizer.zero_grad}
    for _ in range(steps):
        for call in calls.split():
            do[call]()
        path.append(round(w.item(), 4))
    return path


for calls in ("backward step zero_grad", "backward step", "backward zero_grad step"):
    print(f"{calls:23}", run(10, calls, lr=0.1))

# %% [markdown] tags=["short"]
# The sum of all gradients is a velocity with momentum 1. Nothing slows it down, so $w$ swings. The first steps look
# fine, which makes this bug hard to see.
#
# **Interview · Where does `zero_grad` go, and what if you forget it?**
#
# - *Thirty seconds:* Anywhere between one `step` and the next `backward`. Without it, gradients of all earlier batches
#   are added, like a velocity with momentum 1.
# - *Longer:* It sets `.grad` to `None`. Then `step` skips parameters that got no gradient.
# - *They ask next:* When do you leave it out on purpose? To accumulate gradients over several batches.
# - *The trap:* Calling it between `backward` and `step`. Then nothing is left to step with, and nothing complains.
# - *Proof:* `proof-zero-grad`.
#
# ## Adagrad, RMSprop, Adam
# Some parameters get gradients of 1000, others of 0.001, and no single `lr` suits both. So divide by the size of each
# gradient. Three optimizers do that, and each repairs a fault of the one before:
#
# 1. **Adagrad** divides by the root of the sum of all squares so far, $v \leftarrow v + g^2$. The sum never shrinks, so the
#    steps die out.
# 2. **RMSprop** takes a running mean, $v \leftarrow 0.99\, v + 0.01\, g^2$, which forgets. But $v$ starts at 0, so the first
#    steps are too long.
# 3. **Adam** corrects for that start, and steps along a running mean $m$ of the gradients: $lr \cdot m / \sqrt{v}$.
#
# On a constant slope, a step should be one `lr` long, however steep it is:


# %% tags=["proof-lineage"]
def uncorrected(gradients, beta1=0.9, beta2=0.999):
    m = v = 0.0
    for g in gradients:
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        yield m / math.sqrt(v)


slope, counts = [1000.0] * 3000, np.array([1, 2, 3, 5, 8, 12, 20, 40, 80, 200, 500, 1000, 3000])
lengths = {name: -np.diff(places(name, slope, lr=1.0)) for name in ("Adagrad", "RMSprop", "Adam")}
lengths["uncorrected"] = np.array([*uncorrected(slope)])
for name, values in lengths.items():
    print(f"{name:11} steps 1, 10, 100, 3000: {values[[0, 9, 99, 2999]].round(2)}, longest {values.max():.2f}")
rare = -np.diff(places("Adagrad", ([1.0] + [0.0] * 99) * 10, lr=1.0))
print(f"Adagrad, step 901: {lengths['Adagrad'][900]:.2f}, and {rare[900]:.2f} for a feature seen once in 100 steps")
curves = {name: values[counts - 1] for name, values in lengths.items()}
pictures.curves(curves, counts, xlabel="step", ylabel="length (lr)", log="xy")

# %% [markdown]
# Adagrad's step $t$ is $1 / \sqrt t$ long. RMSprop's first is $1 / \sqrt{0.01} = 10$. Adam without correction starts with
# $0.1 / \sqrt{0.001} = 3.2$, and it gets worse before it gets better: $v$ forgets its start at 0 a hundred
# times more slowly than $m$. In a mean over $t$ gradients their weights add up to only $1 - \beta^t$; the remaining
# $\beta^t$ is still on the initial zero. Dividing by $1 - \beta^t$ removes this **bias**.
#
# The last number is `eps`. It is added to $\sqrt{\hat v}$ and avoids dividing by zero:

# %% tags=["proof-Adam"]
gradients = [1000.0, 1.0, 1e-3, 1e-8, 0.0]
for library in (torch, mytorch):
    w = library.zeros(5, requires_grad=True)
    w.grad = library.tensor(gradients)
    library.optim.Adam([w], lr=0.1).step()
    print([round(-each, 4) for each in w.tolist()])
noise, burst = (np.diff(places("Adam", each, lr=1.0))[-1] for each in ([1.0, -1.0] * 500, [1e-6] * 999 + [1.0]))
print(f"step 1000 of 1, -1, 1, ... is {abs(noise):.2f} lr, of 999 times 1e-6 and a 1 {abs(burst):.2f} lr")
print("in float16:", torch.tensor(gradients).half())

# %% [markdown] tags=["short"]
# A gradient of 1000 and one of 0.001 give the same first step. One as small as `eps` gives half of it. Where the sign
# keeps changing, $m$ is small while $v$ isn't: Adam takes short steps where the gradient is mostly noise. And after many
# tiny gradients a large one makes a step longer than `lr`, because $m$ follows faster than $v$.
#
# **Interview · Explain Adam, from Adagrad on. What does bias correction do?**
#
# - *Thirty seconds:* A step is a running mean of the gradient over the root of a running mean of its square, so about
#   `lr` in each coordinate, whatever the scale. Both means start at 0; dividing by $1 - \beta^t$ corrects that.
# - *Longer:* Adagrad divides by the root of the sum of squares, so its steps die out, more slowly for rare features. RMSprop's
#   running mean forgets, but starts at 0: its first step is 10 `lr`. Adam adds $m$ and the correction. Without it, and
#   with the default betas, early steps on a constant slope are 3 to 7 times too long.
# - *They ask next:* What is `eps` for? It avoids 0 / 0, and it shortens the steps of gradients that are as small as
#   `eps`. In float16 the default, 1e-8, is rounded to 0.
# - *The trap:* "Adam needs no learning rate." `lr` sets the length of its steps.
# - *Proof:* `proof-lineage`, `proof-Adam`.
#
# ## Weight decay: Adam or AdamW?
# L2 regularization adds $\lambda w$ to the gradient, and in plain SGD that multiplies $w$ by $1 - lr \cdot \lambda$
# in each step. In Adam the added term is divided by $\sqrt{\hat v}$, too. Give a weight gradients $\pm s$ that cancel, so
# that decay alone moves it:


# %% tags=["proof-AdamW"]
def left_after(kind, scale):
    return places(kind, [scale, -scale] * 100, 1.0, lr=0.01, weight_decay=0.1)[-1]


scales = [0.01, 0.1, 1.0, 10.0]
shares = {kind: [left_after(kind, scale) for scale in scales] for kind in ("SGD", "Adam", "AdamW")}
for kind, values in shares.items():
    print(f"{kind:6}", [f"{each:.2f}" for each in values])
pictures.curves(shares, scales, xlabel="size of the gradients", ylabel="what is left of w", log="x")

# %% [markdown]
# SGD comes to $(1 - lr \cdot \lambda)^{200} = 0.82$. With Adam, the weights with large gradients hardly decay, and
# those with small ones vanish. **AdamW** shrinks $w$ by itself, $w \leftarrow (1 - lr \cdot \lambda) w$, so all weights
# decay alike. (The other 0.02 are from the first steps, in which the gradients don't cancel yet.)
#
# **Interview · Adam with `weight_decay`, or AdamW?**
#
# - *Thirty seconds:* `Adam` puts $\lambda w$ into the gradient, where it is rescaled like the rest. `AdamW` decouples it.
#   In SGD without momentum the two are the same.
# - *Longer:* AdamW's decay doesn't depend on the gradients' scale, so one $\lambda$ means the same for all weights.
# - *They ask next:* Which parameters don't you decay? Often biases and norms' weights: a second group with
#   `weight_decay=0`.
# - *The trap:* Swapping one for the other with the same $\lambda$.
# - *Proof:* `proof-AdamW`.
#
# ## Milestone: handwritten digits
# Everything below is `mytorch`: layers, loss and optimizers. 397 of the 1,797 digits are held out, drawn with seed 0. With
# another draw it may be up to three points less; the initial weights matter little.

# %% tags=["proof-milestone"]
from sklearn.datasets import load_digits

nn, digits = mytorch.nn, load_digits()
order = np.random.default_rng(0).permutation(len(digits.target))
images, numbers = (digits.data / 16).astype("float32")[order], digits.target[order]
x, y = mytorch.tensor(images[:1400]), mytorch.tensor(numbers[:1400])


def train(kind, *options):
    mytorch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer, losses = getattr(mytorch.optim, kind)(model.parameters(), *options), []
    for _ in range(15):
        for batch in mytorch.randperm(len(y)).split(50):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
        losses.append(nn.functional.cross_entropy(model(x), y).item())
    right = (model(mytorch.tensor(images[1400:])).argmax(1) == mytorch.tensor(numbers[1400:])).sum().item()
    return losses, right / 397, optimizer


trained = {"SGD": train("SGD", 0.1), "momentum": train("SGD", 0.1, 0.9), "Adam": train("Adam", 0.01)}
print("new digits right, at least:", {name: f"{min(trained[name][1], 0.97):.0%}" for name in ("momentum", "Adam")})
about = "Training loss over 15 epochs: SGD falls slowest; SGD with momentum and Adam get close to 0."
shown = {name: run[0] for name, run in trained.items()}
pictures.curves(shown, xlabel="epoch", ylabel="loss (nats)", log="y", alt=about)

# %% [markdown]
# ## What an optimizer remembers
# `optimizer.state_dict()` is what you save beside the weights. In it each parameter is a number, its place in the
# groups. The model has $64 \cdot 64 + 64 + 64 \cdot 10 + 10 = 4810$ weights and biases, in four parameters.

# %% tags=["proof-state"]
for name, (_, _, optimizer) in trained.items():
    saved = optimizer.state_dict()
    kept = sum(each.numel() for entry in saved["state"].values() for each in entry.values())
    print(f"{name:9} remembers {kept} numbers, for each parameter:", list(saved["state"].get(0, {})))
before = saved["state"][0]["step"].item()
optimizer.step()
print("step in what was saved:", before, " after one more step:", saved["state"][0]["step"].item())
again = mytorch.optim.Adam(optimizer.param_groups[0]["params"], lr=7.0)
again.load_state_dict(saved)
print("loaded: lr", again.param_groups[0]["lr"], " step", again.state_dict()["state"][0]["step"].item())

# %% [markdown]
# **Interview · Why save the optimizer, and what is in its `state_dict`?**
#
# - *Thirty seconds:* The options of each group, and what is remembered of each parameter: a velocity for momentum; two
#   running means and a step count for Adam. Without them a resumed run takes other steps.
# - *Longer:* Adam's state is twice the size of the weights. Loading also brings back the saved `lr`.
# - *They ask next:* How does state find its parameter? By its place, so the order of the parameters must be the same.
# - *The trap:* `saved = optimizer.state_dict()` is no snapshot; later steps change its tensors. Deep-copy it, or write
#   it to a file.
# - *Proof:* `proof-state`.
#
# ## The real one
# This is the core of minitorch's Adam. It gets parts of the arrays that are small enough to stay in the cache.

# %%
import inspect

from minitorch.kernels.adam import adam_step

print(inspect.getsource(inspect.unwrap(adam_step)).partition("beta1, beta2 = betas\n")[2])

# %% [markdown]
# `x`, `g`, `m`, `v` are NumPy arrays, and `xp` is NumPy or CuPy. `size` is $\mathrm{lr} / (1 - \beta_1^t)$ and `scale` is
# $\sqrt{1 - \beta_2^t}$. `top` is for `amsgrad`, which divides by the largest $v$ so far; otherwise it is `v`. The last
# lines compute what your `adam` computes. Numerator and denominator are multiplied by `scale`, so the corrections are
# products of plain numbers. That saves a pass over the memory. On a GPU, a kernel of a few lines does all of it in one
# pass: `minitorch/kernels/cuda/adam.cu`.
#
# ## Myths
# ### Myth · "Learning rate 0.01 and step size 0.9"
# This is sometimes said of `SGD(params, lr=1e-2, momentum=0.9)`. But the step size *is* the learning rate, and 0.9 is the
# momentum.

# %% tags=["proof-step-size"]
for options in ({"lr": 0.01}, {"lr": 0.01, "momentum": 0.9}, {"lr": 0.9}):
    print(options, run(3, **options))

# %% [markdown] tags=["short"]
# `lr` scales each step, and `momentum` says how much of the last velocity is kept. The first step is the same with and
# without momentum, because there is no earlier velocity yet.
#
# ## Rapid fire
# 1. The loss of an untrained classifier of 10 classes? About $\log 10 = 2.30$.
# 2. Every target is ignored. The mean loss? `nan`: 0 / 0.
# 3. A parameter's `.grad` is `None`. Does weight decay move it? No, `step` skips it.
# 4. The default weight decay of Adam and AdamW? 0 and 0.01.
# 5. `BCELoss` after a sigmoid, or `BCEWithLogitsLoss`? The second: the sigmoid of 120 is rounded to 1, and `BCELoss`
#    cuts the loss off at 100.

# %% tags=["proof-rapid-fire"]
print("1.", round(F.cross_entropy(torch.zeros(1, 10), torch.tensor([3])).item(), 2))
print("2.", F.cross_entropy(torch.zeros(1, 10), torch.tensor([-100])).item())
w = torch.ones(1, requires_grad=True)
torch.optim.AdamW([w], lr=0.1, weight_decay=0.5).step()
print("3.", w.item())
print("4.", [kind([w]).defaults["weight_decay"] for kind in (torch.optim.Adam, torch.optim.AdamW)])
far = torch.tensor([120.0]), torch.zeros(1)
print("5.", F.binary_cross_entropy(far[0].sigmoid(), far[1]), F.binary_cross_entropy_with_logits(*far))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. `cross_entropy` takes logits. No softmax before it.
# 2. Log-sum-exp: subtract the largest score, and no `exp` overflows.
# 3. Its gradient is softmax minus one-hot, over the number of rows.
# 4. The mean divides by the weights of the targets that count. Classes are dimension 1.
# 5. The steepest direction limits `lr`; momentum is faster along the flat ones.
# 6. Momentum makes steps up to $1/(1-\mu)$ times longer.
# 7. Adam's steps are mostly up to `lr` long, whatever the gradient's scale.
# 8. Bias correction is for the first steps; `eps` is for tiny gradients.
# 9. AdamW decays all weights alike. Adam's L2 doesn't.
# 10. `zero_grad`, `backward`, `step`. And save the optimizer with the model.
#
# ## You try
# [The exercises](../exercises/16_losses_and_optimizers.ipynb): predict which weight moves furthest; write `nll_loss`, a
# binary loss, SGD, Adam, and what an optimizer saves; build CLIP's loss; repair a training that depends on how a batch is cut; and
# measure what momentum is worth. In [chapter 17](17_learning_rate_schedules.ipynb) `lr` changes while the
# training runs; [chapter 19](19_training_loop.ipynb) takes the loop apart.
