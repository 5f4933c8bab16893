# %% [markdown]
# # The training loop
# You know the loop: data, forward, loss, backward, step, and `zero_grad` somewhere. After this chapter you'll also know which number to
# expect at each step, so that you notice faults that raise no error. Your library gets a `Trainer` that resumes an interrupted run with
# exactly the same losses.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(19)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Delete a line
# The data are 1,797 handwritten digits of 8×8 pixels, which this cell shuffles and splits into three sets:

# %%
import math

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
# Here is the loop, with a switch that skips one of three lines. Which error do you expect when one of them is missing?


# %% tags=["proof-deleted-lines"]
@torch.no_grad()
def evaluate(model, x, y):
    was_training = model.training
    logits = model.eval()(x)
    model.train(was_training)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def train(without="nothing", lr=0.5, epochs=5, seed=0):
    torch.manual_seed(seed)
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
for skipped in ("nothing", "zero_grad", "backward", "step"):
    models, curves = zip(*(train(skipped, seed=seed) for seed in range(3)), strict=True)
    histories[f"{skipped} skipped"] = curves[0]
    losses, accuracies = zip(*(evaluate(model, x_val, y_val) for model in models), strict=True)
    low, high = math.floor(2 * min(losses)) / 2, math.ceil(2 * max(losses)) / 2
    loss = "above 3" if low >= 3 else f"between {low} and {high}"
    print(f"{skipped:9} skipped: loss {loss}, accuracy above 0.85 on {sum(a > 0.85 for a in accuracies)} of 3 seeds")

# %% hidden=true
from course import check, pictures

shown = {name: history[:120:3] for name, history in histories.items() if name != "step skipped"}
alt = "The whole loop's loss falls and stays low. Without backward it stays at 2.3. Without zero_grad it falls, then rises."
pictures.curves(shown, range(1, 121, 3), xlabel="step", ylabel="loss (nats)", log="y", alt=alt)

# %% [markdown] tags=["short"]
# None of the three raises an error. Two of the faults even look the same: the loss stays near 2.3 whether `backward` or `step` is missing.
# (The curve without `step` would lie on the one without `backward`, so it isn't drawn.) Without `zero_grad` each step follows the sum of
# all gradients so far, which is SGD with a momentum of 1, and the loss falls faster at first. Nothing slows it down at the minimum, so it
# overshoots. To notice such faults, you need a number to expect at each step of the loop.

# %% [markdown]
# ## Six numbers to expect
# The first number comes from the **data**, so look at images and labels together before you train, and print their ranges:

# %%
print("images", tuple(images.shape), images.dtype, "from", images.min().item(), "to", images.max().item())
print("labels", tuple(labels.shape), labels.dtype, "from", labels.min().item(), "to", labels.max().item())
print("sizes of the last batches:", [len(inputs) for inputs, _ in batches(x_train, y_train)][36:])
pictures.images(x_train[:10].reshape(10, 8, 8), y_train[:10].tolist())

# %% [markdown]
# An **epoch** is one pass over the training set, and a **step** is one update, so 1,200 images in batches of 32 make 38 steps, and the last
# batch has 16 images. You can compute the other five numbers from a single batch:

# %% tags=["proof-six-numbers"]
torch.manual_seed(0)
model, inputs, targets = make_model(), x_train[:32], y_train[:32]
logits = model(inputs)
logits.retain_grad()
loss = F.cross_entropy(logits, targets)
loss.backward()
by_hand = (logits.softmax(1) - F.one_hot(targets, 10)) / len(targets)
square = sum(parameter.grad.square().sum().item() for parameter in model.parameters())
with torch.no_grad():
    for parameter in model.parameters():
        parameter -= 0.01 * parameter.grad
fell = loss.item() - F.cross_entropy(model(inputs), targets).item()
print("parameters: expected", 64 * 128 + 128 + 128 * 10 + 10, "found", sum(p.numel() for p in model.parameters()))
print("logits:     expected (32, 10) found", tuple(logits.shape))
print(f"loss:       expected ln 10 = {math.log(10):.1f}, found {loss.item():.1f}")
print(f"gradient:   differs from softmax minus one-hot by {(logits.grad - by_hand).abs().max().item():.5f}")
print(f"update:     expected a loss lower by lr · norm² = {0.01 * square:.4f}, found {fell:.4f}")

# %% [markdown]
# * **Define.** The number of parameters follows from the shapes of the layers, and because it exceeds the number of images here,
#   overfitting is easy.
# * **Forward.** The model returns one row of logits per image.
# * **Loss.** An untrained network whose logits are small gives each of $C$ classes about $\frac{1}{C}$, so the loss starts near
#   $\ln C$. If it doesn't, look at the initialization and the data. A language model that scores 50,000 tokens with the rows of a
#   default `nn.Embedding` of 64 columns has logits with a standard deviation of about 8, so it starts far above
#   $\ln 50{,}000 = 10.8$ ([chapter 10](10_activations_and_initialization.ipynb)).
# * **Backward.** At the logits, the gradient is softmax minus one-hot, divided by the number of targets that count. Targets equal
#   to `ignore_index` don't, as you can check, and with class weights the divisor is the sum of the targets' weights. If no target
#   counts, the loss is 0 / 0, which is `nan`.
# * **Update.** For a small learning rate, gradient descent lowers the loss by about the rate times the squared norm of the gradient.

# %% tags=["proof-ignored-targets"]
logits, some = logits.detach().requires_grad_(), targets.clone()
some[::2] = -100  # the default ignore_index
F.cross_entropy(logits, some).backward()
for divisor in (16, 32):
    differs = (logits.grad - by_hand * 32 / divisor)[1::2].abs().max().item()
    print(f"16 of 32 targets ignored, divided by {divisor}: differs by {differs:.3f}")

# %% [markdown]
# ### Training, validation and test set
# The *training* set moves the weights, while the *validation* set guides your decisions, such as the learning rate and when to
# stop. The *test* set is used once, at the end. Why wouldn't two sets be enough? To find out, let a thousand models guess, and
# choose the one that is best on the validation set:

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
# - *Thirty seconds:* You choose the model that does best on the validation set, so its validation score is too optimistic. The test set took
#   no part in that choice, so its score is unbiased, as long as you look at it only once.
# - *Longer:* The more candidates you try, the more of the best result is luck, as it was for the best of the thousand guessers.
# - *They ask next:* Where do you compute the mean for normalizing the inputs? On the training set, and I use it on all three.
# - *The trap:* The epoch, the seed and the decision threshold mustn't be chosen on the test set.
# - *Proof:* `proof-chosen-by-luck`.
#
# ## The loss doesn't fall
# ### Overfit one batch
# The best first test of a loop is to **overfit one batch**: train on the same 32 images until the loss is close to 0. The cell does so with
# the correct model, with an extra softmax before the loss, which already contains one, and with labels that belong to other images. Which
# of the two faults does the test find?

# %% tags=["proof-one-batch"]
cases = {"correct": ([], targets), "two softmaxes": ([nn.Softmax(1)], targets), "shifted labels": ([], targets.roll(1))}
for name, (extra, wanted) in cases.items():
    finals = []
    for seed in range(3):
        torch.manual_seed(seed)
        model = nn.Sequential(make_model(), *extra)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for _ in range(300):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), wanted)
            loss.backward()
            optimizer.step()
        finals.append(loss.item())
    print(f"{name:15} loss below 0.1 on {sum(loss < 0.1 for loss in finals)} of 3 seeds")

# %% [markdown]
# Probabilities lie between 0 and 1, so with a second softmax the loss can't fall below $\ln(1 + 9/e) = 1.46$. The incorrect labels,
# however, are memorized. So the test finds faults in the code, while you have to look at the data to find faults there.
#
# If the loss grows instead of falling, watch the **gradient norm**, which is the norm of all gradients as one vector, and lower the
# learning rate. You get that norm for free: `clip_grad_norm_` returns it. A rate that is too high need not end in `nan`: it may also kill
# most hidden units, as [the highest learning rates](proof-learning-rate) at the end of this chapter do.
#
# **Interview · The loss doesn't move, or it is `nan`. Where do you look?**
#
# - *Thirty seconds:* If the loss stays at $\ln C$, I check that each parameter has a `.grad` and that `step` changes it. If it grows or is `nan`, I
#   look at the gradient norm and the learning rate, then for a missing `zero_grad`, and then for $\ln 0$, $\frac00$ or bad inputs.
# - *Longer:* I overfit one batch, and if its loss doesn't approach 0, I look for the fault in the code or the learning rate rather than in
#   the data.
# - *They ask next:* How do you find the operation whose backward produces a `nan`? With `torch.autograd.set_detect_anomaly`, which
#   names the operation's line in the forward pass ([chapter 07b](07b_vector_jacobian_products.ipynb)).
# - *The trap:* Not every `nan` comes from a rate that is too high, and such a rate doesn't end in `nan` every time.
# - *Proof:* `proof-deleted-lines`, `proof-one-batch`, `proof-learning-rate`.
#
# ## The complete training loop
# This function has all the steps, and it does two things that the first loop didn't. It sets the mode at the start of the epoch, and it
# weights the mean loss of each batch by the batch's size, since the last batch is smaller.


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


def fit(x, y, epochs, lr, size=32, seed=0):
    torch.manual_seed(seed)
    model, history = make_model(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(epochs):
        loss = train_one_epoch(model, batches(x, y, size), optimizer)
        state = {name: value.clone() for name, value in model.state_dict().items()}
        history.append((loss, *evaluate(model, x_val, y_val), state))
    return model, history


model, history = fit(x_train, y_train, epochs=10, lr=0.5)
for epoch in (0, 9):
    print("epoch {:2}  train {:.1f}  validation {:.1f}".format(epoch + 1, *history[epoch][:2]))
print(f"test accuracy at least {min(0.94, evaluate(model, x_test, y_test)[1]):.2f}")

# %% [markdown]
# The first training loss is *above* the validation loss because it is averaged over an epoch in which the weights still changed.
#
# `train()` and `eval()` choose what dropout and batch norm compute ([chapter 12](12_norm_dropout_and_modes.ipynb)), but they don't stop
# autograd from recording, which is what `no_grad` does ([chapter 07](07_backward_in_depth.ipynb)), so validation needs both. Batch norm
# changes even without `step`: every forward pass in training mode updates its running statistics. Here the inputs are nine times as large
# as usual, and no weight moves:

# %% tags=["proof-batch-norm-moves"]
torch.manual_seed(0)
normed = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 10))
before = evaluate(normed, 9 * x_val, y_val)[0]
losses = [F.cross_entropy(normed(9 * x_train), y_train).item() for _ in range(20)]  # no backward, no step
moved = abs(evaluate(normed, 9 * x_val, y_val)[0] - before)
print(f"training loss moved by {abs(losses[-1] - losses[0]):.1f}, validation loss by {moved:.1f}")

# %% [markdown]
# **Interview · Write a training loop. What happens if you forget one line?**
#
# - *Thirty seconds:* For each batch I call `zero_grad`, forward, loss, `backward` and `step`. At the start of each epoch I call `train()`,
#   and after it I validate in `eval()` under `no_grad`. Without `backward` or `step` the training loss stays where it was, and without
#   `zero_grad` the gradients pile up, but none of this raises an error.
# - *Longer:* With batch norm, the *validation* loss moves even if `step` is missing, because the running statistics do. Leaving the gradients
#   uncleared on purpose is how you [split a large batch](proof-token-weighted).
# - *They ask next:* Does eval mode replace `no_grad`? No, it only changes what some layers compute, so I use both to validate.
# - *The trap:* The mean of the batches' means is wrong when the last batch is smaller, and `total += loss` keeps the nodes of every graph
#   alive.
# - *Proof:* `proof-deleted-lines`, `proof-batch-norm-moves`, [sums of losses](proof-logging); the mode: exercise 6.
#
# ## Gradient accumulation
# If a batch doesn't fit into memory, you can split it and make one step after several backward passes, which add up their gradients. Take
# two sentences that don't fit together, one of 30 tokens and one of 2. By what do you divide their losses?


# %% tags=["proof-token-weighted"]
def gradient(divisor):
    model = mytorch.nn.Linear(1, 1, bias=False)
    for tokens, number in ((30, 1.0), (2, -7.0)):
        (model(mytorch.full((tokens, 1), number)).sum() / divisor(tokens)).backward()
    return f"{model.weight.grad.item():.2f}"


print("mean of two means:", gradient(lambda tokens: 2 * tokens), "  mean over all tokens:", gradient(lambda tokens: 32))

# %% [markdown] given="mytorch.training:Trainer.fit"
# Even the sign differs. In the mean of means, a token of the short sentence counts 15 times as much as one of the long sentence. You don't
# know the number of tokens before you have seen all batches, so add up the gradients of **sums**, and divide `.grad` at the end.
#
# `Trainer.accumulate`, which you write in exercise 2, does that. `Trainer.step` calls it, clips the gradient ([chapter
# 10](10_activations_and_initialization.ipynb)), and steps the optimizer and the scheduler. Biases and the weights of norms don't decay
# ([chapter 16](16_losses_and_optimizers.ipynb)), so the optimizer usually gets two parameter groups; you write that split in exercise 4.
# `fit` calls `step`:

# %% [markdown]
# ## Milestone · Resume a run exactly
# Here are the digits again, on your library, with three batches per step, dropout, Adam, and a cosine schedule ([chapter
# 17](17_learning_rate_schedules.ipynb)). Each run is stopped after 50 of 60 steps, in the middle of its fourth epoch, and goes on in a new
# trainer, which gets either the whole state or the weights alone. One run has a loader with a `generator` of its own.

# %% tags=["proof-trainer"]
layers, data = mytorch.nn, mytorch.utils.data
dataset = data.TensorDataset(mytorch.tensor(x_train.tolist()), mytorch.tensor(y_train.tolist()))


def summed(model, batch):
    return layers.functional.cross_entropy(model(batch[0]), batch[1], reduction="sum"), len(batch[1])


def run(steps=60, seed=0, own=None, load=lambda trainer: None):
    mytorch.manual_seed(seed)
    model = layers.Sequential(layers.Linear(64, 64), layers.ReLU(), layers.Dropout(0.2), layers.Linear(64, 10))
    optimizer = mytorch.optim.Adam(model.parameters(), lr=0.05)
    schedule = mytorch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)
    generator = None if own is None else mytorch.Generator().manual_seed(own)
    loader = data.DataLoader(dataset, batch_size=32, shuffle=True, generator=generator)
    trainer = mytorch.Trainer(model, optimizer, schedule, loader, summed, micro_batches=3, max_norm=1.0)
    load(trainer)
    trainer.fit(steps)
    return trainer


def stopped(seed, own=None):
    state = run(50, seed, own=own).state_dict()
    resumed = run(60, seed, own=own, load=lambda trainer: trainer.load_state_dict(state)).losses
    weights = run(10, seed, own=own, load=lambda trainer: trainer.model.load_state_dict(state["model"])).losses
    return run(60, seed, own=own).losses, resumed, state["losses"] + weights


three = [stopped(seed) for seed in range(3)]
for name, (whole, resumed, _) in {"default": three[0], "own": stopped(0, own=7)}.items():
    print(f"whole state, {name} generator: {sum(map(float.__ne__, whole, resumed))} of 60 losses differ")
for name, row in {"in one go": 0, "weights alone": 2}.items():
    print(f"{name:13} mean of the last ten losses {sum(sum(losses[row][50:]) for losses in three) / 30:.1f}")
print("higher with the weights alone on", sum(sum(w[50:]) > sum(whole[50:]) for whole, _, w in three), "of 3 seeds")
alt = "In one go the loss ends low. With the weights alone it rises again after step 50."
lines = {"in one go": three[0][0], "weights alone": three[0][2]}
pictures.curves(lines, xlabel="step", ylabel="loss (nats)", log="y", marks={"resumed": 50}, alt=alt)

# %% [markdown]
# With the whole state, every loss is the same to the last bit, whether or not the loader has its own generator. With the weights alone,
# Adam's averages start at zero and the schedule at its highest rate, so the run loses much of what the low rate had gained. It still
# learns, which is why people rarely notice the mistake. Here the state is a dict in memory; [chapter 20](20_saving_and_loading.ipynb)
# writes it to a file.
#
# The order of an epoch is drawn when the epoch begins, so the state also holds the random state of that moment, which you'll save in
# exercise 3. `Trainer` saves the state of the default generator and, if the loader has a generator of its own, that one's as well. If you
# forget the second one, the resumed run continues with data in another order, without any warning. (In a real run you also have to save the
# states of Python's `random`, NumPy and the GPU.)
#
# **Interview · You accumulate gradients over batches of sentences. What do you divide by?**
#
# - *Thirty seconds:* I divide by the number of tokens that count, taken over all batches of the step. So I add up the gradients of
#   summed losses and divide them once at the end. Dividing each batch's mean by the number of batches would give a mean of means.
# - *Longer:* With equal numbers of tokens the two agree, which is why the fault went unnoticed in well-known trainers. Under DDP the count has
#   to be added up over ranks too, and `no_sync` skips the all-reduce for all but the last batch ([chapter 23](23_multi_gpu.ipynb)).
# - *They ask next:* Does that give the same gradient as one large batch? Not with batch norm, which normalizes each batch by itself, and
#   not with dropout, whose masks differ.
# - *The trap:* If you add up the losses and call `backward` once, the graphs of all batches are in memory at the same time.
# - *Proof:* `proof-token-weighted`.
#
# **Interview · Accumulation, clipping, a schedule: in which order?**
#
# - *Thirty seconds:* I call `zero_grad` once, and then forward and `backward` for each micro-batch, so only these two happen more than once
#   per step. After the last micro-batch I clip the gradients, and then call `optimizer.step()` and `scheduler.step()`.
# - *Longer:* `autocast` goes around forward and loss, but not around `backward`, and with a `GradScaler` you unscale before you clip
#   ([chapter 22](22_mixed_precision.ipynb)).
# - *They ask next:* When may you save a checkpoint? Between two steps. In the middle of a step I would have to save the
#   gradients, too.
# - *The trap:* If the scheduler steps after each micro-batch, the learning rate has decayed long before training ends.
# - *Proof:* `proof-trainer`; exercise 2 checks the order.
#
# ## Non-finite gradients and loss spikes
# Clipping limits a large gradient, but what does it do to an infinite one?

# %% tags=["proof-non-finite"]
weight = nn.Parameter(torch.ones(2))
weight.grad = torch.tensor([math.inf, 3.0])
norm = nn.utils.clip_grad_norm_([weight], max_norm=1.0)
print("norm", norm.item(), " gradient after clipping", weight.grad.tolist())
if norm.isfinite():
    torch.optim.SGD([weight], lr=0.1).step()
print("weight", weight.tolist())

# %% [markdown]
# Clipping multiplies every gradient by `max_norm / norm`, which is 0 here, and $\infty \cdot 0$ is `nan`. So clipping *doesn't help*: the
# step would write the `nan` into the weights and into Adam's averages, and all other gradients are lost, since they are 0 now. Many
# training loops therefore skip a step whose norm isn't finite, and stop if that happens often, while `error_if_nonfinite=True` raises an
# error at once. `Trainer`, for simplicity, does neither.
#
# **Interview · The loss spikes in the middle of training. What do you do?**
#
# - *Thirty seconds:* I look at the gradient norm and at the batches just before the spike. If the norm jumped first, I lower `max_norm` or
#   the learning rate. If the loss doesn't recover, I go back to a checkpoint and skip the data around the spike.
# - *Longer:* I log the gradient norm of each layer, because in large runs the trouble often starts in a single layer. A lower $\beta_2$
#   lets Adam adapt to large gradients sooner, and forget them sooner as well.
# - *They ask next:* Does clipping help against `inf`? No, it makes every gradient `nan` or 0, so I skip the step.
# - *The trap:* If `max_norm` is so low that every step is clipped, only the direction of the gradient counts, and a spike no longer shows
#   in the clipped norm.
# - *Proof:* `proof-non-finite`.
#
# ## Logging and throughput
# On a GPU, `loss.item()` waits until all kernels of the current stream have finished ([chapter 05](05_devices.ipynb)), so if you call it in
# each step, the GPU idles while Python prepares the next one. Keep a running sum on the device instead, and read it every hundred steps.
# (`Trainer` reads each loss, for simplicity.) The sum should be of detached losses:

# %% tags=["proof-logging"]
model, sums = make_model(), {"loss": 0.0, "loss.detach()": 0.0}
for inputs, targets in batches(x_train[:96], y_train[:96]):
    loss = F.cross_entropy(model(inputs), targets)
    sums["loss"] += loss
    sums["loss.detach()"] += loss.detach()
for name, total in sums.items():
    print(f"total += {name:13} keeps the graphs of its batches: {total.requires_grad}")
print(f"7 billion parameters, 10,000 tokens/s on a GPU with 989 TFLOP/s: MFU {6 * 7e9 * 10_000 / 989e12:.0%}")

# %% [markdown]
# Training needs about 6 FLOP per parameter and token, as [chapter 22b](22b_memory.ipynb) counts. **Model FLOP utilization** (MFU) is that number
# per second, divided by the peak of the hardware.
#
# ## Overfitting, on purpose
# Take only 200 training images, 40 of which have a wrong label. Will the network ignore the wrong labels, or memorize them?

# %% tags=["proof-overfitting"]
torch.manual_seed(0)
x_few, y_few = x_train[:200], y_train[:200].clone()
y_few[:40] = (y_few[:40] + torch.randint(1, 10, (40,))) % 10
three = [fit(x_few, y_few, epochs=80, lr=0.3, size=20, seed=seed) for seed in range(3)]
training, validation = ([sum(h[e][i] for _, h in three) / 3 for e in range(80)] for i in (0, 1))
best = validation.index(min(validation))
for name, epoch in {"best epoch:": best, "last epoch:": 79}.items():
    learned = []
    for model, history in three:
        model.load_state_dict(history[epoch][3])
        learned.append((model(x_few[:40]).argmax(1) == y_few[:40]).sum().item())
    print(f"{name} train {training[epoch]:.1f}, validation {validation[epoch]:.1f};", end=" ")
    print("more than half of the wrong labels learned on", sum(count > 20 for count in learned), "of 3 seeds")
alt = "The training loss keeps falling. The validation loss falls, then rises. The best epoch is marked."
curves, marks = {"training": training, "validation": validation}, {"best": best + 1}
pictures.curves(curves, xlabel="epoch", ylabel="loss (nats), mean of three seeds", marks=marks, alt=alt)

# %% [markdown]
# It does both, one after the other. While it learns what the images have in common, the validation loss falls, and while it memorizes the
# exceptions, that loss slowly rises. You recognize a minimum only after it has passed, so **early stopping** waits for some epochs without
# improvement and then goes back to the best weights, which you have to keep until then:

# %% tags=["proof-state-alias"]
kept, copied = model.state_dict(), {name: value.clone() for name, value in model.state_dict().items()}
train_one_epoch(model, batches(x_few, y_few), torch.optim.SGD(model.parameters(), lr=0.1))
for name, state in {"kept": kept, "copied": copied}.items():
    print(f"{name:6} weights differ by {(state['0.weight'] - model[0].weight).abs().max().item():.2f}")

# %% [markdown]
# A `state_dict` shares memory with the parameters, so if you keep it without copying, your "best" weights are in fact the last ones.
#
# **Interview · The training loss falls and the validation loss rises. What do you do?**
#
# - *Thirty seconds:* The model overfits: it learns what holds only in the training set. I go back to the weights with the best validation
#   loss, and then I try more or cleaner data, augmentation, weight decay and dropout.
# - *Longer:* I watch both the loss *and* the accuracy, because a few confident mistakes raise the loss a lot while they hardly lower the
#   accuracy.
# - *They ask next:* What if both losses are high? Then the model underfits, so I train longer, tune the learning rate, or enlarge the
#   network.
# - *The trap:* A `state_dict` that is kept as the best one without copying its tensors follows the model.
# - *Proof:* `proof-overfitting`; the trap: `proof-state-alias`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. What first loss do you expect for 100 classes? About $\ln 100 \approx 4.6$.
# 2. What does `zero_grad` set each gradient to? `None`, so that `step` skips the parameter; with zeros, momentum and weight decay would
#    still move it.
# 3. What do you add to a running sum of losses? `loss.item()` on a CPU and `loss.detach()` on a GPU, since the loss itself keeps its graph
#    alive.
# 4. Where in the loop may `zero_grad` be? Anywhere between `step` and the next `backward`.
# 5. What does `clip_grad_norm_` return, and why do you log it? The norm from before the clipping, and its jumps announce a spike.
#
# ## Ten lines to remember
# 1. Skipping `zero_grad`, `backward` or `step` raises no error, so know which numbers to expect.
# 2. With $C$ classes, expect a first loss near $\ln C$, and then overfit one batch.
# 3. Gradients add up until `zero_grad`, and accumulation makes use of that.
# 4. Accumulate sums, and divide by what was counted: rows, or tokens.
# 5. The order is `zero_grad`, forward, `backward`, clip, optimizer, scheduler.
# 6. Skip a step whose gradient norm isn't finite; clipping can't save it.
# 7. Decide on the validation set, and use the test set once.
# 8. Copy a `state_dict` if you want to keep it, because it shares memory with the parameters.
# 9. To resume, save model, optimizer, scheduler, every random state, and the position in the epoch.
# 10. A seed fixes a sequence, and sums depend on their order.
#
# ## You try
# [The exercises](../exercises/19_training_loop.ipynb): predict numbers before you start; write a trainer's step, and its resume, for
# `mytorch`; decide which parameters decay; compute precision and recall; fix a broken loop; write early stopping; and find the learning
# rate at which training breaks. In [chapter 20](20_saving_and_loading.ipynb) you'll save what you have trained.

# %% [markdown]
# ## If you have time
# ### The confusion matrix
# A **confusion matrix** says where the model is wrong. Its entry $(i, j)$ counts the images of digit $i$ that were read as $j$, so number
# the pairs $10 i + j$ and count them:

# %% tags=["proof-confusion"]
model, _ = fit(x_train, y_train, epochs=10, lr=0.5)
predicted = model(x_test).argmax(1)
confusion = torch.bincount(10 * y_test + predicted, minlength=100).reshape(10, 10)
errors = confusion - torch.diag(confusion.diagonal())
print(f"{confusion.sum().item()} images, at most {math.ceil(errors.sum().item() / 10) * 10} of them wrong")
ax = pictures.axes(4.6, 4.4)
ax.imshow(torch.where(errors > 0, errors.float(), math.nan).numpy(), cmap="Oranges", vmin=0, vmax=8)
for row, column in confusion.nonzero().tolist():
    colour = "black" if row == column else "#201000"
    ax.text(column, row, confusion[row, column].item(), ha="center", va="center", color=colour)
ax.set(xticks=range(10), yticks=range(10), xlabel="predicted digit", ylabel="digit in the image")
pictures.publish(ax, "A confusion matrix. Most images are on the diagonal; the few mistakes are shaded.")

# %% [markdown]
# **Interview · Your model is right in 95 % of cases. What do you look at next?**
#
# - *Thirty seconds:* First at the base rate: if one class makes up 95 % of the data, a constant prediction reaches 95 %, too. Then at the
#   wrong cases, class by class. Recall is the diagonal over the row sum, the fraction of a class's images that are found. Precision is the
#   diagonal over the column sum, the fraction of the images predicted as a class that belong to it.
# - *Longer:* When rare classes matter, average over classes (macro); scikit-learn includes those that occur in the labels *or* the
#   predictions.
# - *They ask next:* What if a class was never predicted? Its precision is 0 / 0, so you have to decide what that counts as; scikit-learn
#   uses 0 and warns.
# - *The trap:* Rows and columns are easily mixed up. Here, as in scikit-learn, the rows are the truth.
# - *Proof:* `proof-confusion`; you compute the rest in exercise 5.
#
#
# ### Learning rates that are too high
# On a parabola $\frac{c}{2} x^2$ a step is $x \leftarrow (1 - \eta c)\, x$, so it diverges as soon as $\eta > \frac{2}{c}$. Near a minimum
# of a network, the largest curvature plays the part of $c$. Move the slider to see what happens at rates on both sides of the limit:


# %% tags=["proof-learning-rate"]
runs = {lr: train(lr=lr, epochs=3) for lr in (0.01, 0.5, 2.0, 10.0)}
for lr, (model, _) in runs.items():
    alive = (model[:2](x_train) > 0).any(0).sum().item()
    print(f"lr {lr:5}: {'most' if alive > 64 else 'few'} of 128 hidden units still fire")


def at(rate):
    return pictures.curves({"loss": runs[rate][1][::3]}, range(1, 115, 3), xlabel="step", ylabel="loss (nats)")


pictures.slider(at, start={"rate": 0.5}, rate=list(runs))

# %% [markdown]
# A rate that is too high need not end in `nan`. With 2 and 10, the first steps push most hidden units below zero for every image, and since
# no gradient reaches such a unit, the loss stays high but finite. (We saw the same with two other seeds.)
#
# ### MFU
# **Interview · What is MFU, and how do you log without slowing training down?**
#
# - *Thirty seconds:* MFU is the FLOP per second that the model needs, about six times parameters times tokens per second, divided by the
#   peak of the hardware. Good runs of large models reach about 40 percent. Since each `.item()` waits for the GPU, I keep metrics on the
#   device and read them every hundred steps.
# - *Longer:* The factor of 6 ignores the attention scores, whose cost matters for long sequences, and MFU doesn't count recomputed
#   activations.
# - *They ask next:* What do you check when MFU is 15 percent? Whether the GPU waits for data or for communication, and whether the
#   batch is large enough.
# - *The trap:* Without `torch.cuda.synchronize()` you measure only how fast kernels are launched.
# - *Proof:* `proof-logging`.
#
# ### Seeds and reproducibility
# Run the same training twice, and then draw one extra random number before the model is created and the data are shuffled:


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
# The two runs agree to the last bit, while the extra draw changes the weights and the order. A seed fixes a *sequence* of random numbers,
# in which each draw shifts those that follow, but a generator of your own isn't affected. Floating-point sums depend on their order, too,
# and the next section tries out the switch that fixes it.
#
# **Interview · Same seed, different numbers. Why?**
#
# - *Thirty seconds:* Either something else drew from the generator, or there is another source of randomness, such as NumPy or a worker
#   process. Or sums were computed in a different order, because of threads, GPU kernels or library versions, and training amplifies a
#   difference in the last bit.
# - *Longer:* Seed every generator, and give the loader a `generator` of its own, whose state belongs in the checkpoint. Versions, hardware
#   and the number of threads have to stay the same as well.
# - *They ask next:* How do you compare two models honestly? Train each of them with several seeds and report the mean and the spread.
# - *The trap:* The seed alone isn't enough: once someone adds a layer, all random numbers after it shift.
# - *Proof:* `proof-same-seed`; the generator: `proof-trainer`.
#
# ### Deterministic algorithms

# %% tags=["proof-deterministic"]
torch.use_deterministic_algorithms(True)
print("new memory:", torch.empty(2), torch.empty(2, dtype=torch.int64))
print(str(check.error(torch.zeros(3).put_, torch.tensor([0, 0]), torch.ones(2)))[:49])
torch.use_deterministic_algorithms(False)

# %% [markdown]
# `put_` raises an error because it isn't defined which of two values ends up at an index that occurs twice. The memory of `empty`,
# which may differ in each run, is filled with `nan` or the largest integer, so a program that reads it fails in the same way each
# time.
#
# **Interview · What does `torch.use_deterministic_algorithms(True)` do?**
#
# - *Thirty seconds:* Operations use a deterministic algorithm where they have one, and raise an error where they are known to have none. In
#   addition, `empty` fills its memory, with `nan` for floats.
# - *Longer:* The price is speed. On a GPU, the fast way to sum by index uses atomic additions, whose order changes from run to run. cuBLAS
#   also needs the environment variable `CUBLAS_WORKSPACE_CONFIG`.
# - *They ask next:* Is it enough to make a run reproducible? No, seeds, versions, hardware and the number of threads have to be the same,
#   too.
# - *The trap:* It doesn't set a seed or touch random numbers at all.
# - *Proof:* `proof-deterministic`.
