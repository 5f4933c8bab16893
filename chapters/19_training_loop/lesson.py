# %% [markdown]
# # The training loop
# You know the loop: data, forward, loss, backward, step, and `zero_grad` somewhere. After this chapter you also know
# which number to expect at each step, so you notice faults that raise no error, and your library has a `Trainer` that
# can be stopped anywhere and goes on with the same losses.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(19)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Delete a line
# The data are 1,797 handwritten digits of 8×8 pixels, shuffled and split into three sets.

# %%
from sklearn.datasets import load_digits

import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F

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


def make_model():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


# %% [markdown]
# Here is the loop, with a switch that leaves out one of three lines. Which error do you expect from each?


# %% tags=["proof-deleted-lines"]
@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def train(without=None, lr=0.5, epochs=5):
    torch.manual_seed(0)
    model, losses = make_model(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        for inputs, targets in batches(x_train, y_train):
            if without != "zero_grad":
                optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            if without != "backward":
                loss.backward()
            if without != "step":
                optimizer.step()
            losses.append(loss.item())
    return model, losses


histories = {}
for missing in (None, "zero_grad", "backward", "step"):
    model, histories[missing or "nothing"] = train(missing)
    loss, accuracy = evaluate(model, x_val, y_val)
    value = "above 3" if loss > 3 else f"{loss:.1f}"
    print(f"without {missing or 'nothing':10} loss {value:8} accuracy {'above' if accuracy > 0.85 else 'below'} 0.85")

# %%
from course import check, pictures

shown = {f"without {name}": history[::5] for name, history in histories.items() if name != "step"}
alt = "The whole loop's loss falls, without backward it stays at 2.3, without zero_grad it rises."
pictures.curves(shown, range(1, 191, 5), xlabel="step", ylabel="loss (nats)", log="y", alt=alt)

# %% [markdown]
# No error at all. Two of the faults even look the same: a loss that stays near 2.3. (The curve without `step` would lie on
# the one without `backward`.) So you need more than the recipe: for each of its six steps, a number to expect.
#
# ## Step 1 · Data

# %%
print("images", tuple(images.shape), images.dtype, "from", images.min().item(), "to", images.max().item())
print("labels", tuple(labels.shape), labels.dtype, "from", labels.min().item(), "to", labels.max().item())
print("sizes of the last batches:", [len(inputs) for inputs, _ in batches(x_train, y_train)][36:])
pictures.images(x_train[:10].reshape(10, 8, 8), y_train[:10].tolist())

# %% [markdown]
# Look at pictures and labels together before you train. Then check the numbers: the inputs are floats between 0 and 1. An
# **epoch** is one pass over the training set, a **step** is one update. 1,200 images in batches of 32 make 38 steps, and
# the last batch has 16 images. (`DataLoader` is [chapter 18](18_data.ipynb).)
#
# Why three sets? The *training* set moves the weights. The *validation* set guides your decisions: when to stop, which
# learning rate. You look at the *test* set once, at the end. Would two do? Let a thousand models guess, and choose the one
# that is best on the validation set.

# %% tags=["proof-chosen-by-luck"]
torch.manual_seed(0)
guesses = torch.randint(0, 10, (1000, 597))
on_validation = (guesses[:, :300] == y_val).float().mean(1)
on_test = (guesses[:, 300:] == y_test).float().mean(1)
chosen = on_validation.argmax()
print(f"the chosen one: validation {on_validation[chosen].item():.1%}, test {on_test[chosen].item():.1%}")
print(f"all of them:    validation {on_validation.mean().item():.1%}, test {on_test.mean().item():.1%}")

# %% [markdown]
# **Interview · Why a validation set *and* a test set?**
#
# - *Thirty seconds:* You choose what does best on the validation set, so its number is too good. The test set took no part
#   in the choice, so its number is fair, as long as you look once.
# - *Longer:* The more you try, the more of the best result is luck. Here the best of a thousand guessers looks better than
#   chance.
# - *They ask next:* Where do you compute a mean for normalizing? On the training set. Then use it on all three.
# - *The trap:* Choosing the epoch, the seed or the threshold on the test set.
# - *Proof:* `proof-chosen-by-luck`.
#
# ## Step 2 · Define

# %%
model = make_model()
counts = {name: parameter.numel() for name, parameter in model.named_parameters()}
print(counts, "total:", sum(counts.values()))

# %% [markdown]
# $64 \cdot 128 + 128 = 8320$ and $128 \cdot 10 + 10 = 1290$: more parameters than images, which makes overfitting easy.
#
# ## Step 3 · Forward
# How do four images become a loss? Follow the arrows from the top. The two linear layers are `AddmmBackward0`.

# %%
logits = model(x_train[:4])
loss = F.cross_entropy(logits, y_train[:4])
print("logits", tuple(logits.shape), " row sums", [round(total, 2) for total in logits.sum(1).tolist()])
pictures.graph(loss.grad_fn, children=lambda n: [e[0] for e in n.next_functions], label=lambda n: n.name())

# %% [markdown]
# A row of **logits** is ten scores, one for each class. They can be negative, and they don't have to sum to 1.
# [Chapter 06](06_computation_graph.ipynb) builds the graph.
#
# ## Step 4 · Loss
# **Cross-entropy** turns logits into probabilities (softmax) and takes minus the logarithm of the right class's. What loss
# should an untrained network have? It gives each of ten classes about $\frac{1}{10}$, and $-\ln \frac{1}{10} = \ln 10$.

# %% tags=["proof-untrained-loss"]
import math

print("expected:", round(math.log(10), 3), "  measured:", round(evaluate(model, x_train, y_train)[0], 2))

# %% [markdown]
# That is the 2.3 of the first run. If your first loss is far from $\ln C$ for $C$ classes, look at the initialization, the
# labels and the data before you train.
#
# The loss wants logits, not probabilities. [Chapter 16](16_losses_and_optimizers.ipynb) shows why, and what one softmax too many does.
#
# ## Step 5 · Backward
# At the logits the gradient is **softmax minus one-hot**, over the batch size. From there the engine goes down the graph and *adds*
# to each `.grad`. That is why leaving out `zero_grad` hurt: each step followed the sum of all gradients so far. Adding can also
# help: a batch that doesn't fit into memory [is split](proof-token-weighted).
#
# ## Step 6 · Update
# Gradient descent is one line, $w \leftarrow w - \eta\, g$, with the **learning rate** $\eta$. The update itself must not be
# recorded, and autograd insists on it:

# %% tags=["proof-update"]
loss.backward()
print(check.error(model[0].weight.sub_, 0.1 * model[0].weight.grad))
with torch.no_grad():
    for parameter in model.parameters():
        parameter -= 0.1 * parameter.grad

# %% [markdown]
# Optimizers do the same, and most remember more: momentum, running means. That is [chapter 16](16_losses_and_optimizers.ipynb). How large may $\eta$ be? Move
# the slider.


# %% tags=["proof-learning-rate"]
runs = {}
for lr in (0.01, 0.1, 0.5, 2.0, 10.0):
    model, losses = train(lr=lr, epochs=3)
    runs[lr], last = losses[::3], sum(losses[-10:]) / 10
    alive = (model[:2](x_train) > 0).any(0).sum().item()
    print(f"lr {lr:5}: loss {last:.1f}, hidden units that still fire: {'most' if alive > 64 else 'few'} of 128")


def at(rate):
    return pictures.curves({"loss": runs[rate]}, range(1, 115, 3), xlabel="step", ylabel="loss")


pictures.slider(at, start={"rate": 0.5}, rate=list(runs))

# %% [markdown] tags=["short"]
# On a parabola $\frac{c}{2} x^2$ a step is $x \leftarrow (1 - \eta c)\, x$, which grows as soon as $\eta > \frac{2}{c}$. Near a
# minimum of a network the largest curvature plays the part of $c$; far from one, a higher rate may still work. And too
# high a rate need not end in `nan`: here most hidden units stop firing, and the loss ends near 2.3.
#
# **Interview · The loss doesn't move, or it is `nan`. Where do you look?**
#
# - *Thirty seconds:* Stuck at $\ln C$: is there a `.grad`, and does `step` change the weights? `nan` or growing: the
#   learning rate, a missing `zero_grad`, then $\ln 0$, $\frac00$ or broken inputs.
# - *Longer:* Train on ten images until the network has memorized them. If it can't, suspect the code before the data.
# - *They ask next:* How do you find which operation's backward makes a `nan`? `torch.autograd.set_detect_anomaly`, in
#   [chapter 07b](07b_vector_jacobian_products.ipynb).
# - *The trap:* "`nan` always means that the learning rate is too high." And: "a high rate always ends in `nan`."
# - *Proof:* `proof-deleted-lines`; rates: `proof-learning-rate`.
#
# ## The loop, whole
# Here are the steps in a function. Two habits are new: it sets the mode at the start of the epoch, and it weights the mean
# of each batch by its size, since the last one is smaller.


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


def fit(x, y, epochs, lr, size=32):
    torch.manual_seed(0)
    model, history = make_model(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        loss = train_one_epoch(model, batches(x, y, size), optimizer)
        state = {name: value.clone() for name, value in model.state_dict().items()}
        history.append((loss, *evaluate(model, x_val, y_val), state))
    return model, history


model, history = fit(x_train, y_train, epochs=10, lr=0.5)
for epoch in (0, 4, 9):
    print("epoch {:2}  train {:.1f}  validation {:.1f}".format(epoch + 1, *history[epoch][:2]))
print(f"test accuracy at least {min(0.94, evaluate(model, x_test, y_test)[1]):.2f}")

# %% [markdown]
# Why is the first training loss so far *above* the validation loss? It was averaged while the weights were still changing.
# The validation loss was measured at the end.
#
# `train()` and `eval()` choose what dropout and batch norm compute ([chapter 12](12_norm_dropout_and_modes.ipynb)). They don't
# switch recording off; `no_grad` does ([chapter 07](07_backward_in_depth.ipynb)). So validation wants both.
#
# **Interview · Write a training loop. What happens if you forget one line?**
#
# - *Thirty seconds:* Per batch: `zero_grad`, forward, loss, `backward`, `step`. Per epoch: `train()`, then validation in
#   `eval()` under `no_grad`. Without `step` or `backward` the loss stays where it was; without `zero_grad` gradients pile
#   up. No error.
# - *Longer:* Not clearing for some batches is how [a large batch is split](proof-token-weighted).
# - *They ask next:* Does eval mode replace `no_grad`? No, it changes what layers compute. Use both to validate.
# - *The trap:* Averaging batch means when the last batch is smaller. And `total += loss`, which keeps the nodes of every
#   graph alive. (`backward` frees what they have saved.)
# - *Proof:* `proof-deleted-lines`; the mode: exercise 6.
#
# ## A trainer
# Real loops do more: several batches make a step, gradients are clipped, the rate follows a schedule, and a run that was killed
# goes on. Each is a line or two, and each has its place. Take two sentences, one of 30 tokens and one of 2, that don't fit into
# memory together. Two backward passes add up a gradient. What do you divide the losses by?


# %% tags=["proof-token-weighted"]
def slope(divisor):
    model = mytorch.nn.Linear(1, 1, bias=False)
    for tokens, number in ((30, 1.0), (2, -7.0)):
        (model(mytorch.full((tokens, 1), number)).sum() / divisor(tokens)).backward()
    return f"{model.weight.grad.item():.2f}"


print("mean of two means:", slope(lambda tokens: 2 * tokens), "  mean over all tokens:", slope(lambda tokens: 32))

# %% [markdown] given="mytorch.training:Trainer.fit"
# Even the sign differs. In the mean of means, a token of the short sentence counts 15 times as much as one of the long sentence.
# You don't know the number of tokens before you've seen all batches, so add up gradients of **sums**, and divide `.grad` at the end.
# That is `Trainer.accumulate`; you write it in exercise 2. `Trainer.step` calls it, clips
# ([chapter 10](10_activations_and_initialization.ipynb)), and moves optimizer and schedule. `fit` calls `step`:

# %% [markdown]
# ### Milestone: a run that you can stop anywhere
# Here are the digits again, on your library: three batches a step, dropout, momentum, a cosine schedule
# ([chapter 17](17_learning_rate_schedules.ipynb)), and one broken image, a thousand times too bright. An epoch has 13 steps. One run is
# stopped after 20, in the middle of its second epoch, and goes on in two new trainers: one gets its whole state, one its weights.

# %% tags=["proof-trainer"]
layers, data = mytorch.nn, mytorch.utils.data
spoiled = mytorch.tensor(x_train.tolist())
spoiled[0] *= 1000
dataset = data.TensorDataset(spoiled, mytorch.tensor(y_train.tolist()))


def summed(model, batch):
    return layers.functional.cross_entropy(model(batch[0]), batch[1], reduction="sum"), len(batch[1])


def run(steps=60, max_norm=1.0, load=lambda trainer: None):
    mytorch.manual_seed(0)
    model = layers.Sequential(layers.Linear(64, 64), layers.ReLU(), layers.Dropout(0.2), layers.Linear(64, 10))
    optimizer = mytorch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    schedule = mytorch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)
    loader = data.DataLoader(dataset, batch_size=32, shuffle=True)
    trainer = mytorch.Trainer(model, optimizer, schedule, loader, summed, micro_batches=3, max_norm=max_norm)
    load(trainer)
    trainer.fit(steps)
    return trainer


state = run(20).state_dict()
resumed = run(load=lambda trainer: trainer.load_state_dict(state)).losses
weights = state["losses"] + run(40, load=lambda trainer: trainer.model.load_state_dict(state["model"])).losses
lines = {"not clipped": run(max_norm=math.inf).losses, "clipped": run().losses, "weights alone": weights}
differ = [sum(map(float.__ne__, losses, lines["clipped"])) for losses in (resumed, weights)]
print(f"of 60 losses {differ[0]} differ from a run in one go; with the weights alone {differ[1]}")
print("mean of the last 20 losses:", {name: round(sum(losses[40:]) / 20, 1) for name, losses in lines.items()})
alt = "Clipped, the loss falls; not clipped, it jumps. With the weights alone it differs from step 21 on."
pictures.curves(lines, xlabel="step", ylabel="loss (nats)", log="y", marks={"resumed": 20}, alt=alt)

# %% [markdown] tags=["short"]
# With the whole state, every loss is the same to the last bit. With the weights alone the run also learns, so nobody notices that its
# momentum, its rate and the order of its data are different. The state is a dict in memory;
# [chapter 20](20_saving_and_loading.ipynb) puts it into a file. The order of an epoch is drawn when it begins, so the state also holds
# the random numbers of that moment: you write that in exercise 3. And where clipping is off, one image spoils the run.
#
# **Interview · You accumulate gradients over batches of sentences. What do you divide by?**
#
# - *Thirty seconds:* By the number of tokens that count in all batches of the step. Add up sums, and divide the gradients once at the end.
#   Dividing each loss by the number of batches gives a mean of means.
# - *Longer:* With equal numbers of tokens the two agree, which is why the fault went unnoticed in well-known trainers. Under DDP the
#   count has to be added up over ranks too ([chapter 23](23_multi_gpu.ipynb)).
# - *They ask next:* Is that the same as one large batch? Not with batch norm, which sees each batch by itself, and dropout
#   draws other masks.
# - *The trap:* Adding up the losses and calling `backward` once. All graphs are in memory then, which was to be avoided.
# - *Proof:* `proof-token-weighted`.
#
# **Interview · Accumulation, clipping, a schedule: in which order?**
#
# - *Thirty seconds:* `zero_grad`, then for each batch forward and `backward`, then clip, `optimizer.step()`, `scheduler.step()`. All but
#   the backward passes happen once a step.
# - *Longer:* Clipping each batch's gradient before adding gives another result. With a `GradScaler`, unscale before you clip
#   ([chapter 22](22_mixed_precision.ipynb)).
# - *They ask next:* Where may you save? Between two steps. In the middle of one, the gradients would belong to the state.
# - *The trap:* Stepping the schedule for each batch, so that it runs down too early.
# - *Proof:* `proof-trainer`; exercise 2 checks the order.
#
# ## Where it is wrong
# Accuracy says how often the model is right. A **confusion matrix** says where it is wrong: entry $(i, j)$ counts the
# images of digit $i$ that were taken for $j$. Number the pairs $10 i + j$ and count them.

# %% tags=["proof-confusion"]
predicted = model(x_test).argmax(1)
confusion = torch.bincount(10 * y_test + predicted, minlength=100).reshape(10, 10)
errors = confusion - torch.diag(confusion.diagonal())
most = [f"{digit} taken for {answer}" for digit, answer in (errors == errors.max()).nonzero().tolist()]
print(f"most frequent mistake ({errors.max().item()} times): {', '.join(most)}")
pictures.grid(confusion, errors > 0, "rows: digit, columns: answer")

# %% [markdown]
# **Interview · Your model is right in 95 % of cases. What do you look at next?**
#
# - *Thirty seconds:* Which cases it gets wrong. Recall is the diagonal over the row sum: how many images of a class are
#   found. Precision is the diagonal over the column sum: how many that were given a class belong to it.
# - *Longer:* If one class makes up 95 % of the data, a constant answer reaches 95 % too. When rare classes matter, average
#   over classes (macro).
# - *They ask next:* What if a class was never predicted? Its precision is 0 / 0, and you decide what that counts as.
# - *The trap:* Mixing up rows and columns. Here rows are the truth, as in scikit-learn.
# - *Proof:* `proof-confusion`; you compute the rest in exercise 5.
#
# ## Overfitting, on purpose
# Make it easy: only 200 training images, and 40 of them with a wrong label. Will the network ignore the wrong labels, or
# memorize them?

# %% tags=["proof-overfitting"]
torch.manual_seed(0)
x_few, y_few = x_train[:200], y_train[:200].clone()
y_few[:40] = (y_few[:40] + torch.randint(1, 10, (40,))) % 10
model, history = fit(x_few, y_few, epochs=80, lr=0.3, size=20)
training, validation, accuracies, states = map(list, zip(*history, strict=True))
best = validation.index(min(validation))
for name, epoch in {"best epoch:": best, "last epoch:": 79}.items():
    model.load_state_dict(states[epoch])
    learned = "most" if (model(x_few[:40]).argmax(1) == y_few[:40]).sum() > 20 else "less than half"
    print(name, "train {:.1f}, validation {:.1f}".format(*history[epoch]), f"{learned} of the wrong labels learned")
print("the highest accuracy came", "earlier" if accuracies.index(max(accuracies)) < best else "later")
alt = "The training loss keeps falling. The validation loss falls, then rises. The best epoch is marked."
curves = {"training": training, "validation": validation}
pictures.curves(curves, xlabel="epoch", ylabel="loss (nats)", marks={"best": best + 1}, alt=alt)

# %% [markdown]
# Both, in that order. First it learns what the images have in common, and the validation loss falls. Then it learns the
# exceptions, and the validation loss rises. You want to stop at the mark, but you see a minimum only after it has passed.
# **Early stopping** waits for some epochs without improvement, then goes back to the best weights. So you have to keep
# them:

# %% tags=["proof-state-alias"]
kept, copied = model.state_dict(), {name: value.clone() for name, value in model.state_dict().items()}
train_one_epoch(model, batches(x_few, y_few), torch.optim.SGD(model.parameters(), lr=0.1))
for name, state in {"kept": kept, "copied": copied}.items():
    print(f"{name:6} and trained weights differ by {(state['0.weight'] - model[0].weight).abs().max().item():.2f}")

# %% [markdown]
# A `state_dict` shares the parameters' memory. Keep it without copying, and your "best" weights are the last ones.
#
# **Interview · The training loss falls and the validation loss rises. What do you do?**
#
# - *Thirty seconds:* It overfits: it learns what is true of the training set alone. Stop at the best validation loss. Then
#   try more or cleaner data, augmentation, weight decay, dropout.
# - *Longer:* Watch loss *and* accuracy, which needn't be best at the same epoch: a few confident wrong answers cost a lot
#   of loss and little accuracy.
# - *They ask next:* What if both losses are high? It underfits: train longer, tune the learning rate, enlarge the network.
# - *The trap:* Keeping a `state_dict` without copying it.
# - *Proof:* `proof-overfitting`; the trap: `proof-state-alias`.
#
# ## The same numbers again
# Run the same training twice. Then draw one extra random number before you make the model and shuffle the data.


# %% tags=["proof-same-seed"]
def start(draws):
    torch.manual_seed(0)
    own = torch.Generator().manual_seed(1)
    torch.rand(draws)
    return make_model()[0].weight, torch.randperm(5).tolist(), torch.randperm(5, generator=own).tolist()


first, second = (train(epochs=1)[0][0].weight for _ in range(2))
print("same seed, weights differ by", (first - second).abs().max().item())
(weights, order, own), (other_weights, other_order, other_own) = start(0), start(1)
print(f"one draw more: weights by    {(weights - other_weights).abs().max().item():.1f}")
print("order of data:             ", order, other_order)
print("order from own generator:  ", own, other_own)
print("sums in two orders:        ", (torch.tensor(1e8) + 1 - 1e8).item(), (torch.tensor(1e8) - 1e8 + 1).item())

# %% [markdown]
# The two runs agree to the last bit. After one extra draw the weights and the order differ. A seed fixes a *sequence* of
# random numbers, and each draw shifts those that follow. A generator of your own isn't affected. And floating-point sums
# depend on their order. For that there is a switch:

# %% tags=["proof-deterministic"]
torch.use_deterministic_algorithms(True)
print("new memory:", torch.empty(2), torch.empty(2, dtype=torch.int64))
print(str(check.error(torch.zeros(3).put_, torch.tensor([0, 0]), torch.ones(2)))[:49])
torch.use_deterministic_algorithms(False)

# %% [markdown]
# Which of two values ends up in the first place isn't defined, so `put_` raises. And `empty` hands out whatever is in memory, which may be
# different in each run. With the switch on, it is filled with `nan`, or with the largest integer, so a program that reads it goes wrong
# the same way each time.
#
# **Interview · Same seed, different numbers. Why?**
#
# - *Thirty seconds:* Something else drew from the generator, another source is random (NumPy, Python, worker processes), or
#   sums were computed in another order: threads, GPU kernels, library versions. Training amplifies the last bit.
# - *Longer:* Seed every generator, and give the loader a `generator` of its own. Pin versions, hardware and the number of
#   threads.
# - *They ask next:* How do you compare two models honestly? With several seeds each, and their spread.
# - *The trap:* "I set the seed, so it's reproducible." Then someone adds a layer, and the random numbers after it shift.
# - *Proof:* `proof-same-seed`.
#
# **Interview · What does `torch.use_deterministic_algorithms(True)` do?**
#
# - *Thirty seconds:* Operations use a deterministic algorithm where they have one, and raise where they are known to have
#   none. `empty` fills its
#   memory, with `nan` for floats.
# - *Longer:* It costs speed. On a GPU, sums by index use atomic additions, whose order changes from run to run; cuBLAS also
#   wants `CUBLAS_WORKSPACE_CONFIG`. With `warn_only=True` you get a warning and not an error.
# - *They ask next:* Is it enough? No: seeds, versions, hardware and the number of threads have to be the same, too.
# - *The trap:* Expecting it to set a seed. It doesn't touch random numbers.
# - *Proof:* `proof-deterministic`.
#
# ## The real one
# PyTorch has no training loop: you write it. Here is minitorch's `zero_grad`.

# %%
import inspect

print(inspect.getsource(torch.optim.Optimizer.zero_grad))

# %% [markdown]
# `param_groups` are the parameters with their settings; `detach_` cuts off a graph that a `grad` may have. PyTorch's has
# two more branches, for `foreach` and for the profiler. By default gradients become None, not zero, and `step` skips what has none.

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *First loss for 100 classes?* $\ln 100 \approx 4.6$.
# - *Where may `zero_grad` be?* Anywhere between `step` and the next `backward`.
# - *`loss` or `loss.item()` in a sum?* `item()`: the tensor keeps its graph alive.
# - *Rows and columns of a confusion matrix?* In scikit-learn, rows are the truth and columns the answers.
# - *Clip before or after `backward`?* After it, and before `step`.
#
# ## Ten lines to remember
# 1. Data, define, forward, loss, backward, update. Leaving out `zero_grad`, `backward` or `step` raises nothing.
# 2. With $C$ classes, expect a first loss near $\ln C$.
# 3. Gradients add up until `zero_grad`. Accumulation makes use of that.
# 4. Accumulate sums, and divide by what was counted: rows, or tokens.
# 5. `zero_grad`, forward, `backward`, clip, optimizer, schedule.
# 6. Update under `no_grad`; validate under `no_grad` and in `eval()`.
# 7. Decide on the validation set, look at the test set once.
# 8. Copy a `state_dict` that you keep.
# 9. To go on: model, optimizer, schedule, random numbers, place in the epoch.
# 10. A seed fixes a sequence; sums depend on their order.
#
# ## You try
# [The exercises](../exercises/19_training_loop.ipynb): numbers to know before you start; a trainer's step, and how it goes on after
# an interruption, both for `mytorch`; which parameters decay; precision and recall; a broken loop to repair; early stopping; and
# the learning rate at which training breaks. [Chapter 20](20_saving_and_loading.ipynb) saves what you trained.
