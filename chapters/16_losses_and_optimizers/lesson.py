# %% [markdown]
# # Losses and optimizers
# After this chapter your own library trains: it has cross-entropy, SGD with momentum, Adam and AdamW, and it learns to read handwritten
# digits. The first half is about losses and ends with the loss of a language model. The second is about optimizers, and afterwards you can
# explain what each number in `Adam(lr, betas, eps)` does.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(16)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## A perfect classifier with a bad loss
# Here are five images, ten classes, and a classifier that assigns all of its probability to the correct class. What is its loss?

# %% tags=["proof-softmax-twice"]
import minitorch as torch
from minitorch.nn import functional as F

labels = torch.tensor([3, 1, 4, 1, 5])
certain = F.one_hot(labels, 10).float()
print(f"right answers: {(certain.argmax(1) == labels).float().mean().item():.0%}")
print(f"cross_entropy: {F.cross_entropy(certain, labels).item():.2f}")

# %% [markdown] tags=["short"]
# The loss is not 0. If you end a ten-class classifier with a softmax, you can train it for a week and its loss will never fall below that
# value. You may not even notice: PyTorch doesn't warn, and the accuracy can be fine.

# %% [markdown]
# ## Cross-entropy from logits
# For each class, a classifier outputs a score, which is called its **logit**. Softmax turns the logits into probabilities, and
# cross-entropy is the negative logarithm of the correct class's probability:

# %%
import math


def cross_entropy(scores, label):
    total = sum(math.exp(score) for score in scores)
    return -math.log(math.exp(scores[label]) / total)


scores = [2.0, 1.0, -1.0]
print(f"mine  {cross_entropy(scores, 0):.4f}")
print(f"torch {F.cross_entropy(torch.tensor(scores), torch.tensor(0)).item():.4f}")

# %% [markdown]
# So `cross_entropy` applies the softmax itself, which means that it took our probabilities for logits. A logit of 1 against nine zeros
# becomes a probability of only $e / (e + 9) = 0.23$, whose negative logarithm is the 1.46 above.
#
# ### Break it: large logits
# Logits can be any real numbers, so try large ones. Our function raises an error at 1000. And what about the library's `softmax`, followed
# by `log`? Compare it with `log_softmax`, for a wrong and for a correct answer:

# %% tags=["proof-overflow"]
from course import check, pictures

print("mine:", repr(check.error(cross_entropy, [1000.0, 0.0], 0)))
x = torch.tensor([[0.0, 60.0, 120.0]], requires_grad=True)
for label, answer in ((0, "wrong"), (2, "correct")):
    for name, logs in {"softmax, then log": x.softmax(1).log(), "log_softmax": x.log_softmax(1)}.items():
        loss = -logs[0, label]
        gradient = torch.autograd.grad(loss, x)[0][0].tolist()
        print(f"confident and {answer:7} {name:18} loss {abs(loss.item()):5}  gradient {gradient}")

# %% [markdown]
# In float32, `exp(-120)` underflows to 0, so the logarithm of a *wrong* answer is −inf, although the true loss, 120, is an ordinary number.
# The *correct* answer is the nastier case, because its loss is a plausible 0 while its gradient is `nan`, the product of 0 and the infinite
# derivative of the logarithm. After one step, the weights of the last layer are `nan`, and so are those of every active unit below it,
# without any sign of it in the loss. The cure is to compute the loss without computing the probabilities:
#
# $$-\log \frac{e^{z_y}}{\sum_j e^{z_j}} = \log \sum_j e^{z_j} - z_y, \qquad
# \log \sum_j e^{z_j} = m + \log \sum_j e^{z_j - m}$$
#
# If $m$ is the largest logit, no argument of `exp` is above 0, so nothing overflows, and one term of the sum is 1, so its logarithm is
# finite. This is the **log-sum-exp trick**.


# %%
def log_sum_exp(scores):
    top = max(scores)
    return top + math.log(sum(math.exp(score - top) for score in scores))


for logits in ([1000.0, 0.0], [0.0, 1000.0], scores):
    print(logits, f"loss {log_sum_exp(logits) - logits[0]:.4f}")

# %% [markdown] given="mytorch.nn.loss:cross_entropy"
# ### In `mytorch`
# You have `log_softmax` from [chapter 10](10_activations_and_initialization.ipynb), and now you will write `nll_loss`, which picks one
# log-probability from each row and handles class weights and ignored targets.

# %% tags=["proof-pick"]
import numpy as np

logits = mytorch.tensor([[2.0, 1.0, -1.0], [0.0, 3.0, 1.0], [1.0, 1.0, 1.0], [0.5, 0.0, 2.0]])
targets = mytorch.tensor([0, 1, -100, 0])
losses = mytorch.nn.functional.cross_entropy(logits, targets, reduction="none")
print(mytorch.nn.functional.cross_entropy(logits, targets), "is", losses.sum(), "/ 3")
rows = np.array(logits.log_softmax(1).tolist()).round(2)
column = np.array(losses.reshape(4, 1).tolist()).round(2)
chosen = targets.reshape(4, 1) == mytorch.arange(3)
pictures.grids(("logits", logits), "→", ("log_softmax", rows, chosen), "→", ("losses", column))

# %% [markdown]
# The third target is −100, which is PyTorch's default `ignore_index` and usually marks padding. An ignored target adds nothing to the sum,
# and it doesn't count in the mean either, because for class indices the divisor is the sum of the class weights of all targets that aren't
# ignored.
#
# The backward pass is simpler than you might expect. Without weights and ignored targets, the gradient of a logit is its
# probability, minus 1 for the correct class, divided by the batch size:

# %% tags=["proof-cross-entropy-gradient"]
logits = torch.tensor([[2.0, 1.0, -1.0], [0.0, 300.0, 1.0]], requires_grad=True)
targets = torch.tensor([0, 2])
F.cross_entropy(logits, targets).backward()
print(logits.grad)
print((logits.detach().softmax(1) - F.one_hot(targets, 3)) / 2)

# %% [markdown]
# The two tables are the same.
#
# **Interview · What is cross-entropy, and why is it computed from logits?**
#
# - *Thirty seconds:* Cross-entropy is the negative log-probability of the correct class. From logits it is one stable formula, log-sum-exp
#   minus the correct logit. A softmax followed by a logarithm gives an infinite loss or `nan` gradients as soon as a probability underflows.
# - *Longer:* The gradient with respect to the logits is softmax minus one-hot. Without class weights none of its entries exceeds ±1,
#   however wrong the prediction is, nor does it vanish for a confident wrong answer.
# - *They ask next:* How does the mean treat class weights? For class indices it divides by the sum of the targets' weights, but for targets
#   given as probabilities by the number of rows, so the same targets can give two different losses.
# - *They ask next:* What if the logits don't fit into memory? Then the last layer and the loss are computed together, in chunks of tokens
#   (`F.linear_cross_entropy`; [chapter 22b](22b_memory.ipynb) has the sizes).
# - *The trap:* With a softmax layer in front of `CrossEntropyLoss`, the model still trains, but with ten classes its loss can't fall below
#   1.46.
# - *Proof:* `proof-overflow`, `proof-cross-entropy-gradient`, `proof-class-weights`; the trap: `proof-softmax-twice`.
#
# For sequences and images, the class dimension is still dimension 1. If you forget that, you get an error unless the sizes happen to agree,
# as they do here:

# %% tags=["proof-class-dimension"]
tokens = torch.tensor([[1, 2, 3, 0], [3, 2, 1, 0]])  # 2 texts, 4 positions
guesses = torch.zeros(2, 4, 5)  # of 5 tokens, in the order in which a language model returns them
print(check.error(F.cross_entropy, guesses, tokens))
print(f"transposed: {F.cross_entropy(guesses.transpose(1, 2), tokens).item():.4f}, log 5 = {math.log(5):.4f}")
perfect = 20.0 * F.one_hot(tokens, 4)  # of 4 tokens, as many as there are positions
print(f"4 tokens, 4 positions: {F.cross_entropy(perfect, tokens).item():.2f} without an error")
print(f"and transposed: {F.cross_entropy(perfect.transpose(1, 2), tokens).item():.2f}")

# %% [markdown]
# The error message is about sizes. With as many positions as tokens they agree, so PyTorch can't notice the mistake, and a perfect model
# gets a large loss.
#
# **Interview · What should the loss be before the first step?**
#
# - *Thirty seconds:* With K classes and no preference each class gets a probability of 1/K, so the loss is ln K, which is 2.30 for ten
#   classes and 10.82 for the 50,257 tokens of GPT-2. I check that before I train.
# - *Longer:* If it is much higher, the network starts out confident and wrong: its weights or its unscaled inputs make the logits too
#   large. If it stays at ln K, no gradient arrives, or the input is lost on its way
#   ([chapter 10](10_activations_and_initialization.ipynb)). If it soon falls below what is possible, look for a leak
#   ([chapter 14](14_attention.ipynb)).
# - *They ask next:* What is *perplexity*? exp(loss), with the loss in nats per token, so an untrained model has a perplexity of K, as
#   if it chose among K equally likely tokens.
# - *They ask next:* What if 95 % of the rows belong to one class? Then I set the last bias to the logarithms of the class frequencies, so
#   that training doesn't have to learn them first.
# - *The trap:* A loss of 0.69 looks good, but for two classes that is ln 2, which a coin toss reaches.
# - *Proof:* `proof-class-dimension`, where all logits are 0, and `proof-rapid-fire`.
#
# ## Label smoothing and KL divergence
# A target can also be a distribution, because `cross_entropy` accepts a row of probabilities for each example. **Label smoothing** uses
# such rows: it takes ε from the correct class and spreads it over all K classes, so that the correct one keeps
# $1 - \varepsilon + \varepsilon / K$. The **KL divergence** measures how far the model's distribution $q$ is from the target's $p$:
#
# $$KL(p \,\|\, q) = \sum_k p_k \, (\log p_k - \log q_k) = \text{cross-entropy} - \text{entropy of } p$$

# %% tags=["proof-KL"]
right, logits = torch.tensor([0, 1]), torch.tensor([[2.0, 1.0, -1.0], [0.5, 0.0, 2.0]])
target = 0.9 * F.one_hot(right, 3) + 0.1 / 3
print("targets smoothed by 0.1:", target)
print(f"cross-entropy with label_smoothing=0.1: {F.cross_entropy(logits, right, label_smoothing=0.1):.3f}")
print(f"cross-entropy with the smoothed rows:   {F.cross_entropy(logits, target):.3f}")
kl = F.kl_div(logits.log_softmax(1), target, reduction="batchmean")
entropy = -(target * target.log()).sum(1).mean()
print(f"KL + entropy: {kl:.3f} + {entropy:.3f} = {kl + entropy:.3f}")
for lead in (2.0, 3.33, 10.0):
    loss = F.cross_entropy(lead * F.one_hot(right, 3), right, label_smoothing=0.1)
    print(f"the correct logit leads by {lead}: {loss:.3f}")

# %% [markdown]
# The first three losses agree, as they should: smoothing is nothing but other targets, and KL plus entropy is the cross-entropy. With
# hard targets, the loss falls as long as the correct logit's lead over the others grows. Smoothed targets, in contrast, have an optimal
# lead, here $\ln 28 = 3.33$, and even there the loss is not 0 but the entropy of the targets.
#
# **Interview · What does label smoothing do, and what is the KL divergence?**
#
# - *Thirty seconds:* Label smoothing takes ε from the correct class and spreads it over all classes, so the optimal lead of the correct
#   logit is finite and the model becomes less confident. KL(p‖q) is the cross-entropy minus the entropy of p, so it is 0 if the two
#   are equal.
# - *Longer:* The entropy of the targets doesn't depend on the model, so cross-entropy and KL divergence have the same gradients. For one-hot
#   targets the entropy is 0, so the losses are the same as well.
# - *They ask next:* How do you call `kl_div`? The model's *log*-probabilities come first and the target's probabilities second, with
#   `reduction="batchmean"`. The default, `"mean"`, also divides by the number of classes.
# - *The trap:* If you pass probabilities as the first argument, no error is raised, and the result can be negative.
# - *Proof:* `proof-KL`; the call: `proof-kl-div`.
#
# ## Class imbalance: `pos_weight` and focal loss
# A binary classifier has a single logit, and its loss is `binary_cross_entropy_with_logits`. Suppose that only one label in twenty is
# positive. `pos_weight` multiplies the loss of the positive labels, which changes the best constant prediction. **Focal loss**, in
# contrast, multiplies each loss by $(1 - p)^\gamma$, where $p$ is the probability of the correct class and γ is usually 2:

# %% tags=["proof-imbalance"]
labels = torch.tensor([1.0] + [0.0] * 19)
candidates = torch.linspace(-6, 6, 1201)  # logits, each a constant prediction for all 20 labels
for factor in (1.0, 19.0):
    losses = F.binary_cross_entropy_with_logits(
        candidates[:, None].expand(-1, 20), labels.expand(1201, -1), pos_weight=torch.tensor(factor), reduction="none"
    )
    best = candidates[losses.mean(1).argmin()].sigmoid()
    print(f"pos_weight {factor:2.0f}: the best constant prediction is {best:.2f}")
for p in torch.tensor([0.5, 0.9, 0.99]):
    print(f"p = {p:.2f}: cross-entropy {-p.log():.6f}, focal loss {-((1 - p) ** 2) * p.log():.6f}")

# %% [markdown]
# With `pos_weight` 19, the one positive label counts as much as the 19 negatives, so the best constant prediction is one half. Focal loss
# divides the loss of the hard example, p = 0.5, by 4, but that of the easy one, p = 0.99, by ten thousand.
#
# **Interview · Five percent of your labels are positive. What do you change?**
#
# - *Thirty seconds:* The metric first, since a model that always says no is 95 % accurate. Then I either weight the positive labels with
#   `pos_weight`, the ratio of negatives to positives, or I sample them more often. Both make a missed positive expensive.
# - *Longer:* Focal loss, which was invented for object detection, scales each loss by $(1 - p)^\gamma$, so easy examples hardly count: at p
#   = 0.9 and γ = 2 it is a hundred times smaller than cross-entropy.
# - *They ask next:* Are the probabilities still calibrated? No: with `pos_weight=19` the best constant prediction rises from 0.05
#   to 0.50. If I need probabilities, I correct the logit by ln 19, or I leave the loss alone and move the decision threshold.
# - *The trap:* A `WeightedRandomSampler` *and* `pos_weight` together correct twice.
# - *Proof:* `proof-imbalance`.

# %% [markdown]
# ## Milestone: the loss of a language model
# A language model is a classifier whose classes are the tokens. The smallest one that learns anything is a *bigram* model: its logits for
# the next letter are the logarithms of how often each letter followed the current one. What does your cross-entropy say about it?

# %% tags=["proof-language-model"]
text = "to be or not to be that is the question"
letters = sorted(set(text))
ids = np.array([letters.index(letter) for letter in text])
counts = np.full((len(letters), len(letters)), 0.1)  # so that no pair is impossible
np.add.at(counts, (ids[:-1], ids[1:]), 1)
models = {"all letters equally likely": np.zeros_like(counts), "bigram model": np.log(counts)}
for name, logits in models.items():
    predictions = mytorch.tensor(logits[ids[:-1]].astype("float32"))
    loss = mytorch.nn.functional.cross_entropy(predictions, mytorch.tensor(ids[1:])).item()
    print(f"{name:26} loss {loss:.2f}, perplexity {math.exp(loss):.1f} of {len(letters)} letters")

# %% [markdown]
# Without a preference, the loss is ln 13, and the perplexity is the number of letters. The bigram model knows its own text much better: it
# is as uncertain as if it chose among 3.5 letters. (On another text it would be worse, because these counts are from this one.)
#
# ## SGD with momentum
# A loss says how wrong the weights are, and an optimizer changes them. Gradient descent is a single line, `w -= lr * g`. Let it run in
# the valley $f(x, y) = (x^2 + 20 y^2) / 2$, which is flat in one direction and steep in the other.

# %%
CURVATURE = np.array([1.0, 20.0])


def descend(lr, momentum=0.0, steps=40):
    position, velocity, path = np.array([-9.0, 1.5]), 0.0, []
    for _ in range(steps + 1):
        path.append(position)
        velocity = momentum * velocity + CURVATURE * position  # the gradient is CURVATURE * position
        position = position - lr * velocity
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
# At `lr` 0.09 the path jumps from wall to wall and still creeps along the floor. At 0.11 it leaves the valley, because each step multiplies
# $y$ by $1 - 20\,lr$, which is then below −1. **The steepest direction limits the learning rate, while the flattest one decides how long
# training takes.**
#
# **Momentum** keeps a velocity, in which gradients that agree add up while gradients that alternate cancel. To see it, move the second
# slider; a learning rate of 0.04 with a momentum of 0.9 is a good pair. PyTorch's velocity isn't an average: under a constant gradient, the
# steps grow to $1 / (1 - 0.9) = 10$ times the plain one.
#
# **Nesterov momentum** steps along $g + \mu b$ instead of the new velocity $b$, as if the next step of coasting had already begun. It
# therefore reacts one step earlier when the gradient changes ([at the end](proof-nesterov)).

# %% tags=["proof-momentum"]
for name, lr, momentum in (("plain", 0.04, 0.0), ("momentum", 0.04, 0.9), ("too large", 0.11, 0.0)):
    x, y = descend(lr, momentum)[-1]
    print(f"{name:9} after 40 steps: x {x:5.2f}, y {y:7.2f}")

# %% [markdown] given="mytorch.optim.optimizer:Optimizer.step"
# **Interview · What does momentum do?**
#
# - *Thirty seconds:* The velocity $b = \mu b + g$ replaces the gradient in the step. In directions where the gradients agree the steps
#   grow, up to $1/(1-\mu)$ times; where they alternate, they cancel.
# - *Longer:* Momentum helps in narrow valleys, where the steepest direction caps the learning rate. Nesterov momentum steps along $g + \mu b$
#   with the new $b$, so it brakes one step earlier when the gradient turns around.
# - *They ask next:* What do you do with `lr` when you switch from plain SGD to momentum 0.9? I lower it, since the steps become up to ten
#   times longer.
# - *The trap:* The 0.9 isn't a step size, and $b$ isn't a running mean: PyTorch's velocity has no factor $1 - \mu$ unless you set
#   `dampening`.
# - *Proof:* `proof-momentum`, `proof-nesterov`, `proof-step-size`.
#
# ### What all optimizers share
# `Optimizer` holds the parameters in *groups* with their options, and a dict with the *state* of each parameter. Its `step` runs under
# `no_grad` and calls `update`, which for SGD calls `sgd` and for Adam calls `adam`.

# %% [markdown]
# ## `zero_grad`
# `backward` adds to `.grad` ([chapter 06](06_computation_graph.ipynb)), and `step` doesn't clear it. What happens if you forget to clear
# it, or do so at the wrong time?


# %% tags=["proof-zero-grad"]
def run(steps, calls="backward step zero_grad", **options):
    w = torch.ones(1, requires_grad=True)
    optimizer, path = torch.optim.SGD([w], **options), []
    functions = {
        "backward": lambda: (w * w).sum().backward(),
        "step": optimizer.step,
        "zero_grad": optimizer.zero_grad,
    }
    for _ in range(steps):
        for call in calls.split():
            functions[call]()
        path.append(round(w.item(), 4))
    return path


for calls in ("backward step zero_grad", "backward step", "backward zero_grad step"):
    print(f"{calls:23}", run(10, calls, lr=0.1))

# %% [markdown]
# Without `zero_grad`, the sum of all gradients acts like a velocity with momentum 1, so nothing slows it down and $w$ oscillates. This bug
# is hard to see, since the first steps look fine. In the last line, `step` never finds a gradient.
#
# **Interview · Where does `zero_grad` go, and what if you forget it?**
#
# - *Thirty seconds:* Anywhere between one `step` and the next `backward`. Without it the gradients of all earlier batches add up,
#   which acts like momentum 1.
# - *Longer:* By default it sets `.grad` to `None`, so `step` skips parameters that get no gradient. With `set_to_none=False` the gradients
#   become zeros, and then weight decay and momentum still move those parameters.
# - *They ask next:* When do you skip it on purpose? While I accumulate gradients over several batches.
# - *The trap:* Between `backward` and `step` it takes the gradient away, and no error is raised.
# - *Proof:* `proof-zero-grad`, `proof-rapid-fire`.

# %% [markdown] tags=["short"]
# ## Adam: momentum, divided by the size of the gradient
# Some parameters get gradients of 1000 and others of 0.001, so no single `lr` suits both. **Adam** divides each step by the typical size
# of the gradient. For each element it keeps two running means, of the gradient and of its square:
#
# 1. $m \leftarrow \beta_1 m + (1 - \beta_1)\, g$ and $v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2$, with $\beta_1 = 0.9$ and
#    $\beta_2 = 0.999$ by default;
# 2. $\hat m = m / (1 - \beta_1^t)$ and $\hat v = v / (1 - \beta_2^t)$, the **bias correction**: both means start at 0, and after $t$
#    gradients their weights add up to only $1 - \beta^t$;
# 3. $w \leftarrow w - lr \cdot \hat m / (\sqrt{\hat v} + \varepsilon)$, where `eps` avoids a division by zero.

#
# Do the first step by hand, for a gradient of 1000: $m = 100$ and $v = 1000$, corrected $\hat m = 1000$ and $\hat v = 10^6$, so the step is
# $lr \cdot 1000 / 1000 = lr$. The gradient cancels! Here are five gradients, on PyTorch's Adam and on yours:

# %% tags=["proof-Adam"]
gradients = [1000.0, 1.0, 1e-3, 1e-8, 0.0]
for library in (torch, mytorch):
    w = library.zeros(5, requires_grad=True)
    w.grad = library.tensor(gradients)
    library.optim.Adam([w], lr=0.1).step()
    print("first steps:", [round(abs(value), 4) for value in w.tolist()])
print("the gradients in float16:", torch.tensor(gradients).half().tolist())

# %% [markdown]
# Gradients of 1000 and of 0.001 give the same first step, while a gradient as small as `eps` gives half of it. (In float16, both 1e-8
# and `eps` would be 0.)
#
# ### When are Adam's steps not one `lr` long?
# Feed Adam a thousand gradients that alternate, and then a thousand of which only the last is large:


# %% tags=["proof-Adam-steps"]
def walk(kind, gradients, start=0.0, **options):
    """The positions of a weight that is given these gradients, one after the other."""
    w = torch.tensor([start], dtype=torch.float64, requires_grad=True)
    optimizer, path = getattr(torch.optim, kind)([w], **options), [start]
    for gradient in gradients:
        w.grad = torch.full_like(w, gradient)
        optimizer.step()
        path.append(w.item())
    return np.array(path)


for name, gradients in {"1, -1, 1, ...": [1.0, -1.0] * 500, "999 of 1e-6, then 1": [1e-6] * 999 + [1.0]}.items():
    path = walk("Adam", gradients, lr=1.0)
    print(f"{name:20} the last step is {abs(path[-1] - path[-2]):.2f} lr long")

# %% [markdown]
# Where the sign keeps changing, $m$ is small although $v$ isn't, and so is the step. After many tiny gradients, a large one makes a step
# longer than `lr`, because $m$ follows faster than $v$.
#
# **Interview · Explain Adam, from Adagrad on. What does bias correction do?**
#
# - *Thirty seconds:* A step is a running mean of the gradient, divided by the root of a running mean of its square, so it is about `lr`
#   long in each coordinate, whatever the scale of the gradient. Both means start at 0, which would bias the early steps; dividing by
#   $1 - \beta^t$ corrects for that.
# - *Longer:* Adagrad divides by the root of the sum of squares, so its steps die out, although more slowly for rare features. RMSprop's
#   running mean forgets, but it starts at 0, so its first step is 10 `lr` long. Adam adds $m$ and the correction, without which early steps
#   under a constant gradient would be 3 to 7 times too long with the default betas.
# - *They ask next:* What is `eps` for? To avoid 0 / 0, though it also shortens the steps of gradients that are as small as `eps`. In
#   float16 the default of 1e-8 rounds to 0.
# - *They ask next:* What do you do if Adam's state doesn't fit into memory? I take 8-bit Adam, which stores both means in 8 bits with a
#   scale for each block of elements, or Adafactor, which keeps only the row and column means of $v$ for each matrix.
# - *The trap:* Adam still needs a learning rate, because `lr` sets the length of its steps.
# - *Proof:* `proof-lineage`, `proof-Adam`, `proof-Adam-steps`.
#
# ## Weight decay: Adam or AdamW?
# L2 regularization adds $\lambda w$ to the gradient, which in plain SGD multiplies $w$ by $1 - lr \cdot \lambda$ in each step. In Adam,
# however, the added term is divided by $\sqrt{\hat v}$ as well. To see what that does, give a weight gradients $\pm s$ that cancel, so that
# only decay moves it:

# %% tags=["proof-AdamW"]
scales, shares = [0.01, 0.1, 1.0, 10.0], {}
for kind in ("SGD", "Adam", "AdamW"):
    shares[kind] = []
    for scale in scales:
        path = walk(kind, [scale, -scale] * 100, 1.0, lr=0.01, weight_decay=0.1)
        shares[kind].append(path[-1])
    print(f"{kind:6}", *(f"{share:.2f}" for share in shares[kind]))
pictures.curves(shares, scales, xlabel="size of the gradients", ylabel="what is left of w", log="x")

# %% [markdown]
# With SGD, 82 % of the weight remains, which is $(1 - lr \cdot \lambda)^{200}$. With Adam, weights with large gradients hardly decay, while
# those with small ones vanish. **AdamW** shrinks $w$ separately, $w \leftarrow (1 - lr \cdot \lambda) w$, so all weights decay at the same
# rate. (The remaining difference of 0.02 comes from the first steps, in which the gradients don't cancel yet.)
#
# **Interview · Adam with `weight_decay`, or AdamW?**
#
# - *Thirty seconds:* I use AdamW. `Adam` puts $\lambda w$ into the gradient, where it is rescaled like the rest, so weights with large
#   gradients hardly decay. AdamW decouples the decay from the gradient. (For SGD without momentum the two are the same.)
# - *Longer:* AdamW multiplies every weight by $1 - lr \cdot \lambda$ in each step, so the decay follows the schedule of `lr`.
# - *They ask next:* Which parameters don't you decay? Usually biases and the weights of norms, which go into a second group with
#   `weight_decay=0`.
# - *The trap:* If you swap one for the other, the same $\lambda$ means something else.
# - *Proof:* `proof-AdamW`.

# %% [markdown]
# ## Milestone: handwritten digits
# Everything below is `mytorch`: the layers, the loss and the optimizers. Of the 1,797 digits, 397 are held out. Each optimizer runs three
# times, each time with another split and initialization, and the accuracy is a lower bound for the worst run.

# %% tags=["proof-milestone"]
from sklearn.datasets import load_digits

nn, digits = mytorch.nn, load_digits()


def train(kind, *options, seed):
    order = np.random.default_rng(seed).permutation(len(digits.target))
    x, y = mytorch.tensor((digits.data / 16).astype("float32")[order]), mytorch.tensor(digits.target[order])
    mytorch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer, losses = getattr(mytorch.optim, kind)(model.parameters(), *options), []
    for _ in range(15):
        for batch in mytorch.randperm(1400).split(50):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
        losses.append(nn.functional.cross_entropy(model(x[:1400]), y[:1400]).item())
    return losses, (model(x[1400:]).argmax(1) == y[1400:]).float().mean().item(), optimizer


setups = {"SGD": ("SGD", 0.1), "momentum": ("SGD", 0.1, 0.9), "Adam": ("Adam", 0.01)}
histories, optimizers = {}, {}
for name, setup in setups.items():
    last_losses, accuracies = [], []
    for seed in range(3):
        losses, accuracy, optimizer = train(*setup, seed=seed)
        last_losses.append(round(losses[-1], 1))
        accuracies.append(accuracy)
    histories[name], optimizers[name] = losses, optimizer
    print(f"{name:8} last losses {last_losses}, new digits correct: at least {min(*accuracies, 0.93):.0%}")
about = "Training loss over 15 epochs: SGD falls slowest; SGD with momentum and Adam get close to 0."
pictures.curves(histories, xlabel="epoch", ylabel="loss (nats)", log="y", alt=about)

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. What is the loss of an untrained classifier of 10 classes, and its perplexity? About $\ln 10 = 2.30$, and about 10.
# 2. Every target is ignored. What is the mean loss? `nan`, from 0 / 0.
# 3. A parameter's `.grad` is `None`. Does weight decay move it? No, `step` skips it. If `.grad` is zero, decay does move it.
# 4. What are the default weight decays of Adam and AdamW? 0 and 0.01.
# 5. Do you use `BCELoss` after a sigmoid, or `BCEWithLogitsLoss`? The second. Where the sigmoid has underflowed to 0, `BCELoss` has
#    no gradient, so the worst mistakes can't be learned.

# %% hidden=true tags=["proof-rapid-fire"]
loss = F.cross_entropy(torch.zeros(1, 10), torch.tensor([3])).item()
print(f"1. {loss:.2f}, perplexity {math.exp(loss):.1f}")
print("2.", F.cross_entropy(torch.zeros(1, 10), torch.tensor([-100])).item())
w = torch.ones(1, requires_grad=True)
optimizer = torch.optim.AdamW([w], lr=0.1, weight_decay=0.5)
optimizer.step()
none, w.grad = w.item(), torch.zeros(1)
optimizer.step()
print(f"3. {none}, {w.item():.2f}")
print("4.", [kind([w]).defaults["weight_decay"] for kind in (torch.optim.Adam, torch.optim.AdamW)])
far, target = torch.tensor([-200.0], requires_grad=True), torch.ones(1)
for loss in (F.binary_cross_entropy(far.sigmoid(), target), F.binary_cross_entropy_with_logits(far, target)):
    print("5. loss", loss.item(), " gradient", torch.autograd.grad(loss, far)[0].abs().item())

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. `cross_entropy` takes logits, so don't put a softmax in front of it.
# 2. Log-sum-exp subtracts the largest logit, so that no `exp` overflows.
# 3. The gradient of the logits is softmax minus one-hot, divided by the number of targets that count.
# 4. For class indices, the mean divides by the sum of the weights of the targets that aren't ignored. Classes are dimension 1.
# 5. The steepest direction limits `lr`, while momentum speeds up progress along the flat ones.
# 6. Momentum makes steps up to $1/(1-\mu)$ times longer.
# 7. Adam's steps are mostly up to `lr` long, whatever the gradient's scale.
# 8. Bias correction matters in the first steps, and `eps` matters for tiny gradients.
# 9. AdamW decays all weights alike, while Adam's L2 doesn't.
# 10. Call `zero_grad`, `backward` and `step` in this order, and save the optimizer with the model.

# %% [markdown]
# ## You try
# In [the exercises](../exercises/16_losses_and_optimizers.ipynb) you predict which weight moves furthest, and write `nll_loss`, a binary
# loss, SGD, Adam, and what an optimizer saves. Then you build CLIP's loss, repair a training run whose result depends on how a batch is
# split, and measure what momentum is worth. In [chapter 17](17_learning_rate_schedules.ipynb) `lr` changes during training, and
# [chapter 19](19_training_loop.ipynb) takes the loop apart.
#
# ## If you have time
# ### Class weights, and targets that are probabilities
# The same two targets can be given as class indices or as one-hot rows. Does a weighted loss agree?

# %% tags=["proof-class-weights"]
logits, targets = torch.tensor([[2.0, 1.0, -1.0], [0.0, 300.0, 1.0]]), torch.tensor([0, 2])
weight, one_hot = torch.tensor([1.0, 1.0, 3.0]), F.one_hot(targets, 3).float()
print(f"class indices, without weights: {F.cross_entropy(logits, targets):.2f}")
print(f"class indices, with weights:    {F.cross_entropy(logits, targets, weight):.2f}")
print(f"one-hot rows, with weights:     {F.cross_entropy(logits, one_hot, weight):.2f}")
print(f"all targets ignored:            {F.cross_entropy(logits, torch.tensor([-100, -100])):.2f}")

# %% [markdown]
# The weighted loss of the one-hot rows is twice as large. For class indices PyTorch divides by the sum of the targets' weights, 1 + 3, while
# for targets that are probabilities it divides by the number of rows, 2. If all targets are ignored, the divisor is 0.
#
# ### Calling `kl_div`
# The function takes *log*-probabilities first and probabilities second, and its default reduction isn't the definition's:

# %% tags=["proof-kl-div"]
import warnings

warnings.simplefilter("ignore")  # these calls would warn
logits, target = torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([[0.8, 0.1, 0.1]])
logs = logits.log_softmax(1)
print(f"correct:                    {F.kl_div(logs, target, reduction='batchmean'):.3f}")
print(f"with the default reduction: {F.kl_div(logs, target):.3f}")
print(f"of probabilities:           {F.kl_div(logs.exp(), target, reduction='batchmean'):.3f}")

# %% [markdown]
# The default also divides by the number of classes, 3. The last result is negative, which a KL divergence can't be.
#
# ### Nesterov momentum
# Sixty gradients of 1 are followed by a −1. How long are the steps, and when does each variant react?

# %% tags=["proof-nesterov"]
for nesterov in (False, True):
    path = walk("SGD", [1.0] * 60 + [-1.0], lr=0.01, momentum=0.9, nesterov=nesterov)
    steps = -np.diff(path)
    print(f"nesterov={nesterov!s:5} steps 1, 2, 3, 60: {steps[[0, 1, 2, 59]].round(4)}", end="")
    print(f", gradient reversed: {steps[60]:.4f}")

# %% [markdown]
# Both approach ten times the plain step of 0.01. Nesterov's first step is already as long as the other's second, and after the reversal it
# is the shorter one.
#
# ### Muon
# Adam treats a weight matrix as a bag of numbers, while **Muon** treats it as a matrix. It keeps a momentum, and a few matrix multiplications
# (*Newton–Schulz iterations*) bring the singular values of the update close to 1, so that weak directions move about as far as dominant
# ones. Here is the first step for a gradient with singular values of 10, 3, 1 and 0.3:

# %% tags=["proof-Muon"]
torch.manual_seed(0)
left, right = (torch.linalg.qr(torch.randn(4, 4))[0] for _ in range(2))
gradient = left @ torch.diag(torch.tensor([10.0, 3.0, 1.0, 0.3])) @ right
for kind in ("SGD", "Muon"):
    w = torch.zeros(4, 4, requires_grad=True)
    w.grad = gradient.clone()
    getattr(torch.optim, kind)([w], lr=1.0, weight_decay=0.0).step()
    values = torch.linalg.svdvals(w.detach()).tolist()
    print(f"{kind:4} singular values of the step:", *(f"{value:.1f}" for value in values))

# %% [markdown]
# SGD steps along the gradient, so its largest direction moves 33 times as far as its smallest. In Muon's step the four singular values are
# between 0.7 and 1.1.
#
# **Interview · What does Muon do differently from Adam?**
#
# - *Thirty seconds:* Adam rescales each element by itself, whereas Muon orthogonalizes the update of a whole matrix. All directions of the
#   matrix then move about equally far, even those a hundred times weaker in the gradient. With one momentum buffer per weight, its state is
#   half of Adam's.
# - *Longer:* The orthogonalization takes five Newton–Schulz iterations, which are matrix multiplications and run in bfloat16.
# - *They ask next:* Which parameters does it update? Only the two-dimensional weights of hidden layers, while embeddings, the output layer,
#   biases and norms usually stay with AdamW.
# - *The trap:* Adam's learning rate doesn't carry over, because the length of the steps means something else. Tune the rate again, or
#   pass `adjust_lr_fn="match_rms_adamw"`.
# - *Proof:* `proof-Muon`.
#
# ### The real one
# This is the core of minitorch's Adam, which processes the arrays in chunks that are small enough to stay in the cache.

# %%
import inspect

from minitorch.kernels.adam import adam_step

print(inspect.getsource(inspect.unwrap(adam_step)).partition("beta1, beta2 = betas\n")[2])

# %% [markdown]
# `x`, `g`, `m` and `v` are NumPy or CuPy arrays, and `xp` is the library that they belong to. `size` is $\mathrm{lr} / (1 - \beta_1^t)$ and
# `scale` is $\sqrt{1 - \beta_2^t}$. `top` belongs to `amsgrad`, which divides by the largest $v$ so far; otherwise it is `v`. The last
# lines compute what your `adam` computes, except that numerator and denominator are both multiplied by `scale`, so that the corrections
# become products of plain numbers, which saves a pass over the memory. On a GPU, a kernel of a few lines does all of it in one pass:
# `minitorch/kernels/cuda/adam.cu`.

# %% [markdown]
# ### Myth · "Learning rate 0.01 and step size 0.9"
# This is sometimes said of `SGD(params, lr=1e-2, momentum=0.9)`, but the step size *is* the learning rate, and 0.9 is the momentum.

# %% tags=["proof-step-size"]
for options in ({"lr": 0.01}, {"lr": 0.01, "momentum": 0.9}, {"lr": 0.9}):
    print(options, run(3, **options))

# %% [markdown]
# `lr` scales each step, and `momentum` says how much of the last velocity is kept. There is no earlier velocity in the first step, which is
# why it is the same with and without momentum.
#
# ### Where Adam comes from: Adagrad and RMSprop
# Adam has two ancestors, and each of the three fixes a fault of the one before:
#
# 1. **Adagrad** divides by the root of the sum of all squares so far, $v \leftarrow v + g^2$. As the sum never shrinks, the steps die out.
# 2. **RMSprop** replaces the sum by a running mean, $v \leftarrow 0.99\, v + 0.01\, g^2$, which forgets. But $v$ starts at 0, so the
#    first steps are too long.
# 3. **Adam** corrects for that start, and it steps along a running mean of the gradients.
#
# Under a constant gradient, a step should be one `lr` long, however large the gradient is:


# %% tags=["proof-lineage"]
def uncorrected(gradients, beta1=0.9, beta2=0.999):
    m = v = 0.0
    for g in gradients:
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        yield m / math.sqrt(v)


slope, counts = [1000.0] * 3000, np.array([1, 2, 3, 5, 8, 12, 20, 40, 80, 200, 500, 1000, 3000])
lengths = {name: -np.diff(walk(name, slope, lr=1.0)) for name in ("Adagrad", "RMSprop", "Adam")}
lengths["uncorrected"] = np.array([*uncorrected(slope)])
for name, values in lengths.items():
    print(f"{name:11} steps 1, 10, 100, 3000: {values[[0, 9, 99, 2999]].round(2)}, longest {values.max():.2f}")
rare = -np.diff(walk("Adagrad", ([1.0] + [0.0] * 99) * 10, lr=1.0))
print(f"Adagrad, step 901: {lengths['Adagrad'][900]:.2f}, and {rare[900]:.2f} for a feature seen once in 100 steps")
curves = {name: values[counts - 1] for name, values in lengths.items()}
pictures.curves(curves, counts, xlabel="step", ylabel="length (lr)", log="xy")

# %% [markdown]
# Adagrad's step $t$ is $1 / \sqrt t$ long, and RMSprop's first step is $1 / \sqrt{0.01} = 10$. Adam without correction starts with $0.1 /
# \sqrt{0.001} = 3.2$ and gets worse before it gets better, because $v$ forgets its initial zero a hundred times more slowly than $m$.
#
# ### Regression losses: MSE, L1 and Huber
# For a real-valued target, the loss depends on the error. **MSE** squares it and **L1** takes its absolute value, while **Huber** is
# quadratic up to δ and linear beyond. Which constant prediction minimizes each of them for these five targets?

# %% tags=["proof-regression"]
data, errors = torch.tensor([0.0, 1.0, 1.5, 3.0, 100.0]).double(), torch.linspace(-3, 3, 31)
guesses, zeros, curves = torch.linspace(0, 30, 3001).double(), torch.zeros(31), {}
for name, loss in {"MSE": F.mse_loss, "L1": F.l1_loss, "Huber": F.huber_loss}.items():
    table = loss(guesses[:, None].expand(-1, 5), data.expand(3001, -1), reduction="none")
    curves[name] = loss(errors, zeros, reduction="none")
    print(f"{name:5} is minimized by {guesses[table.sum(1).argmin()]:.2f}")
print(f"Huber / SmoothL1: {F.huber_loss(errors, zeros, delta=2.0) / F.smooth_l1_loss(errors, zeros, beta=2.0):.2f}")
print(f"perfect, but (5, 1) and (5): {F.mse_loss(data[:, None], data):.0f}")
pictures.curves(curves, errors, xlabel="prediction minus target", ylabel="loss")

# %% [markdown]
# MSE is minimized by the **mean**, which the one outlier drags to 21.1. L1 is minimized by the **median**, since every error pulls with the
# same force. Huber pulls in proportion to the error up to δ = 1 and with constant force beyond, so its minimum is near the median, and its
# curve has no corner at 0.
#
# **Interview · MSE, L1 or Huber?**
#
# - *Thirty seconds:* MSE is minimized by the mean, which outliers move. L1 is minimized by the median, for which it doesn't matter how far
#   out they are. Huber behaves like MSE for small errors and like L1 for large ones.
# - *Longer:* The gradient of MSE grows with the error, while that of L1 is ±1 until the error is 0, so its steps don't shrink near the
#   target.
# - *They ask next:* How is `SmoothL1Loss` related? With `beta` = δ it is Huber divided by δ.
# - *The trap:* Predictions of shape (N, 1) and targets of shape (N) broadcast to N × N, so even a perfect prediction has a large loss, and
#   all you get is a warning.
# - *Proof:* `proof-regression`.
#
# ### `foreach` and `fused`
# **Interview · What do `foreach=True` and `fused=True` change in an optimizer?**
#
# - *Thirty seconds:* They change how the step is computed, while the formula stays the same. A plain loop launches several small kernels
#   for each parameter, and on a GPU launching them often takes longer than the arithmetic. `foreach` processes lists of tensors instead,
#   and `fused` does the whole update in very few kernels.
# - *Longer:* If you set neither, PyTorch chooses `foreach` on CUDA, and `fused` is opt-in.
# - *They ask next:* What does `foreach` cost? It needs memory for intermediate results of the size of the parameters, and `fused` doesn't.
# - *The trap:* The bits needn't be equal, because another order of operations may change the last digits.
# - *Proof:* `proof-implementations`.

# %% tags=["proof-implementations"]
for options in ({}, {"foreach": True}, {"fused": True}):
    w = torch.linspace(-1, 1, 5).requires_grad_()
    optimizer = torch.optim.AdamW([w], lr=0.1, **options)
    for _ in range(20):
        optimizer.zero_grad()
        (w**4).sum().backward()
        optimizer.step()
    print(f"{options!s:17}", [round(value, 3) for value in w.tolist()])

# %% [markdown]
# ### What an optimizer remembers
# You save `optimizer.state_dict()` along with the weights. It identifies each parameter by its index in the groups. The digits' model has
# $64 \cdot 64 + 64 + 64 \cdot 10 + 10 = 4810$ elements in four parameters, so you can check how much each optimizer remembers:

# %% tags=["proof-state"]
for name, optimizer in optimizers.items():
    saved = optimizer.state_dict()
    elements = 0
    for state in saved["state"].values():
        elements += sum(tensor.numel() for tensor in state.values())
    print(f"{name:9} remembers {elements} elements, for each parameter:", list(saved["state"].get(0, {})))
before = saved["state"][0]["step"].item()
optimizer.step()
print("step in what was saved:", before, " after one more step:", saved["state"][0]["step"].item())
again = mytorch.optim.Adam(optimizer.param_groups[0]["params"], lr=7.0)
again.load_state_dict(saved)
print("loaded: lr", again.param_groups[0]["lr"], " step", again.state_dict()["state"][0]["step"].item())

# %% [markdown]
# **Interview · Why save the optimizer, and what is in its `state_dict`?**
#
# - *Thirty seconds:* It contains the options of each group and the state of each parameter, which is a velocity for momentum, or two
#   running means and a step count for Adam. Without that state, a resumed run takes different steps.
# - *Longer:* Adam's state is twice the size of the weights. Loading it also restores the saved `lr`, which overrides the one that you
#   passed to the constructor.
# - *They ask next:* How does a state find its parameter? By the parameter's index, so the parameters must come in the same order.
# - *The trap:* `saved = optimizer.state_dict()` isn't a snapshot. Later steps change its tensors, so deep-copy it or write it to a file.
# - *Proof:* `proof-state`.
