# %% [markdown]
# # Learning rate schedules
# After this chapter your own library changes the learning rate while it trains: in steps, along a cosine, with a warm-up, or when
# progress stops. You will also be able to say which rate a run uses in step 7,000, and why.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(17)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Can a falling rate beat every constant one?
# Take one weight $w$ with the loss $w^2 / 2$ and gradients $w + \text{noise}$. A step multiplies $w$ by $1 - lr$ and subtracts
# $lr$ times the noise, so the mean of $w^2$ after each step can be computed exactly, without drawing any noise. After 50 steps,
# which ends lower: the best of all constant rates, or a rate that falls from 0.3 to 0 along a cosine?

# %% tags=["proof-noise"]
import minitorch as torch
import numpy as np
from course import check, pictures


def rates_of(make, steps, library=torch, lr=1.0, lowered_at=None):
    optimizer = library.optim.SGD([library.zeros(1)], lr=lr)
    scheduler, rates = make(library.optim.lr_scheduler, optimizer), []
    for t in range(steps):
        if t == lowered_at:
            optimizer.param_groups[0]["lr"] = 0.1
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def expected_losses(rates, start=3.0, variance=1.0):
    square, losses = start**2, []
    for lr in rates:
        square = (1 - lr) ** 2 * square + lr**2 * variance
        losses.append(square / 2)
    return losses


rates = rates_of(lambda s, o: s.CosineAnnealingLR(o, T_max=50), 100, lr=0.3)
losses = expected_losses(rates)
print("after 50 steps at a constant rate:", {lr: f"{expected_losses([lr] * 50)[-1]:.3f}" for lr in (0.03, 0.1, 0.3)})
best = min(expected_losses([lr / 1000] * 50)[-1] for lr in range(1, 1000))
print(f"with the best of all constant rates: {best:.3f}, with the cosine from 0.3: {losses[49]:.3f}")
print("floors after 5,000 steps:", {lr: f"{expected_losses([lr] * 5000)[-1]:.4f}" for lr in (0.03, 0.1, 0.3)})
lines = {f"constant {lr}": expected_losses([lr] * 50) for lr in (0.03, 0.1, 0.3)}
pictures.curves(lines | {"cosine from 0.3": losses[:50]}, xlabel="step", ylabel="loss", log="y")

# %% [markdown]
# With a constant rate the noise keeps the weight moving, and the loss stays at a *noise floor* that is nearly proportional to the
# rate. A high rate gets to its floor fast, while a low rate has a low floor. A schedule that begins high and ends low combines
# the two, so it beats every constant rate here.
#
# ### What does a cosine schedule do after its end?
# Someone likes the result and trains 50 steps more. Does the loss go on falling?

# %% tags=["proof-cosine-returns"]
print("rates in steps 0, 25, 50, 75, 99:", [f"{rates[t]:.2f}" for t in (0, 25, 50, 75, 99)])
print(f"loss after 50 steps {losses[49]:.3f}, after 66 {losses[65]:.3f}, after 100 {losses[99]:.3f}")
marks = {"rate 0.15": 26, "rate 0": 51, "rate 0.15 again": 76}
pictures.curves({"loss": losses}, xlabel="step", ylabel="loss", log="y", marks=marks)

# %% [markdown]
# It falls for another 16 steps, while the rate is still low, and then climbs together with the rate, which returns to where it
# began. A cosine is periodic, and `CosineAnnealingLR` doesn't stop at `T_max`.

# %% [markdown] tags=["short"]
# ## A schedule is a function of time
# In the smallest model, the rate is the initial rate times a function of $t$, the number of steps so far. This function warms up linearly,
# falls along a cosine, and *stays* at the bottom:

# %% tags=["proof-function"]
import math


def warmup_cosine(t, warmup=20, total=100, lowest=0.05):
    if t < warmup:
        return (t + 1) / warmup
    progress = min(1.0, (t - warmup) / (total - warmup))
    return lowest + (1 - lowest) * (1 + math.cos(math.pi * progress)) / 2


print("factors:", {t: round(warmup_cosine(t), 3) for t in (0, 9, 19, 20, 60, 100, 150)})


def draw(warmup, lowest, gamma):
    steps = range(131)
    lines = {"warm-up, cosine": [warmup_cosine(t, warmup, 100, lowest) for t in steps]}
    lines["every 30: times gamma"] = [gamma ** (t // 30) for t in steps]
    return pictures.curves(lines, steps, xlabel="step", ylabel="rate (times the initial one)")


start = {"warmup": 20, "lowest": 0.05, "gamma": 0.5}
pictures.slider(draw, start=start, warmup=[1, 20, 50], lowest=[0.0, 0.05, 0.3], gamma=[0.1, 0.5, 0.9])

# %% [markdown]
# **Interview · Write warm-up and cosine on the whiteboard.**
#
# - *Thirty seconds:* I'd write one function for `LambdaLR`: linear up to `warmup`, then half a cosine down to `lowest`. The warm-up's
#   factor is `(t + 1) / warmup`, because with `t / warmup` the first step would do nothing.
# - *Longer:* With one function, the warm-up's length is subtracted in one place. With `SequentialLR` you have to give it to `LinearLR`, to the
#   milestone, and in `T_max`, which counts only the steps after the warm-up.
# - *They ask next:* Why `min(1.0, …)`? Without it the cosine climbs again after `total`.
# - *The trap:* The function doesn't return a rate. `LambdaLR` expects a factor and multiplies it by each group's initial rate; a list of
#   functions gives each parameter group its own.
# - *Proof:* `proof-function`.

# %% [markdown]
# ## Break it: chainable and closed-form schedulers
# At step 3 you lower the rate to 0.1 by hand, with `group["lr"] = 0.1`. What do three schedulers make of it?

# %% tags=["proof-closed-or-recursive"]
makers = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda t: 1 - t / 10),
    "StepLR": lambda s, o: s.StepLR(o, 5, gamma=0.5),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, T_max=10),
}
for name, make in makers.items():
    print(f"{name:18}", *(f"{rate:.2f}" for rate in rates_of(make, 7, lowered_at=3)))

# %% [markdown]
# `LambdaLR` forgets your change, because it computes the rate from $t$ and the initial rate, in a **closed form**. The other two
# keep it and go on from the rate that they find in the group; PyTorch calls such schedulers **chainable**. `StepLR` multiplies
# that rate by `gamma` in the epochs `step_size`, `2 * step_size` and so on, while the cosine multiplies its distance from
# `eta_min`, which is 0 here. As long as nobody interferes, both forms give the same rates up to rounding.
#
# | after a change by hand | schedulers |
# |---|---|
# | forget it (closed form) | `LambdaLR`, `OneCycleLR`, `CyclicLR`, `CosineAnnealingWarmRestarts` |
# | go on from it (chainable) | `StepLR`, `MultiStepLR`, `ExponentialLR`, `MultiplicativeLR`, `ConstantLR`, `LinearLR`, `PolynomialLR`, `CosineAnnealingLR` |
#
# `ReduceLROnPlateau` also continues from the changed rate. A `SequentialLR` behaves like whichever scheduler is active, but most
# schedulers [start again from the initial rate](proof-phases) when their turn comes. `MultiplicativeLR` goes on from the current rate.
#
# Chainable schedulers can share an optimizer: `ChainedScheduler` steps one after the other, and the factors of the first pair
# below multiply. In the second pair, the closed-form scheduler steps last and overwrites what the other one did:

# %% tags=["proof-multiply"]
for pair in (("StepLR", "CosineAnnealingLR"), ("CosineAnnealingLR", "LambdaLR")):
    rates = rates_of(lambda s, o, pair=pair: s.ChainedScheduler([makers[name](s, o) for name in pair]), 8)
    print(*pair, [round(rate, 2) for rate in rates])

# %% [markdown] tags=["short"]
# ## Why warm up?
# Adam divides a running mean of the gradients by the square root of that of their squares ([chapter
# 16](16_losses_and_optimizers.ipynb)). How long are its steps if the gradient is pure noise, which shouldn't move anything, and
# how long if the gradient is always 1? The third row is without momentum, and the fourth has the smaller $\beta_2$ that language
# models are trained with:

# %% tags=["proof-warm-up"]
noise = np.random.default_rng(0).normal(size=(100, 1000))  # 100 steps, 1,000 weights


def lengths(gradients, beta1=0.9, beta2=0.999):
    m, v, found = 0.0, 0.0, []
    for t, g in enumerate(gradients, 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        found.append(np.abs(m / (1 - beta1**t) / np.sqrt(v / (1 - beta2**t))).mean())
    return found


columns = {"noise": lengths(noise), "always 1": lengths(np.ones((100, 1))), "noise, β₁ = 0": lengths(noise, 0.0)}
columns["noise, β₂ = 0.95"] = lengths(noise, 0.9, 0.95)
for name, column in columns.items():
    print(f"{name:16} mean step in lr:", {t: f"{column[t - 1]:.1f}" for t in (1, 2, 5, 20, 100)})
warm = [length * min(1, t / 20) for t, length in enumerate(columns["noise"], 1)]
print(f"noise: the longest step with a warm-up over 20 steps is {max(warm):.1f}")
pictures.curves({"no warm-up": columns["noise"], "warm-up": warm}, xlabel="step", ylabel="mean step (lr)")

# %% [markdown]
# The first step is a full `lr` in each of these weights, although its direction rests on one batch. With noise, later steps are
# five times shorter, because $\beta_1$ averages the noise away, whereas with a constant gradient they stay as long. Without
# momentum there is hardly any transient, and $\beta_2$ makes no difference here. What it does change is the reliability of a
# step's size, since for about the first $1 / (1 - \beta_2)$ steps the mean square is estimated from few samples.
#
# **Interview · Why warm up, and why with Adam?**
#
# - *Thirty seconds:* Adam's first step is a full `lr` in each weight (unless its gradient is zero or about as small as `eps`),
#   although its direction comes from a single batch. The next steps rest on few batches, too. A small rate keeps them from doing
#   harm, which lets you use a higher peak afterwards.
# - *Longer:* In badly scaled initializations the curvature is also high at the start. In this chapter's sweep at a peak of 0.3, the
#   cosine ends below 0.2 with a warm-up, and between 0.4 and 1.5 without one.
# - *They ask next:* How long do you warm up? A few hundred to a few thousand updates are common for Transformers. A rule of thumb
#   for the estimate of the mean square is $2 / (1 - \beta_2)$: 2,000 updates for 0.999, but only 40 for 0.95, so measure.
# - *The trap:* "Adam adapts, so it needs no schedule." It adapts the scale of each weight, but `lr` still sets the length, and [each
#   schedule ended lower](proof-sweep) at its best peak.
# - *Proof:* `proof-warm-up`; with and without: `proof-sweep`.

# %% [markdown] tags=["short"]
# ## `optimizer.step` before `scheduler.step`
# Swap the two calls in the loop, and print the rate that each update uses:

# %% tags=["proof-order"]
import warnings


def used(order):
    optimizer, rates = torch.optim.SGD([torch.zeros(1)], lr=1.0), []
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    for batch in order * 4:
        if batch == "optimizer":
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
        else:
            scheduler.step()
    return rates


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for order in (["optimizer", "scheduler"], ["scheduler", "optimizer"]):
        print(f"{order[0]:9} first: {used(order)}, warnings so far: {len(caught)}")
print(str(caught[0].message)[:91])

# %% [markdown] tags=["short"]
# **Interview · Where does `scheduler.step()` go, and what if it comes first?**
#
# - *Thirty seconds:* After `optimizer.step()`, once for each unit of time that the schedule counts. If it comes first, the initial
#   rate is never used, and PyTorch warns once.
# - *Longer:* The scheduler's constructor has already set the first rate, so the *n*-th `step` sets the rate of update *n + 1*. The same
#   warning appears with mixed precision when the `GradScaler` skips the first optimizer step, and there it is harmless.
# - *They ask next:* Once an epoch or once a batch? The scheduler only counts its own steps, so `step_size=30` means 30 epochs or 30 batches,
#   depending on where you call it. One cycle and warm-up usually count batches.
# - *The trap:* If the call moves from the end of the epoch into the inner loop, the numbers that counted epochs have to change too.
# - *Proof:* `proof-order`; what counts: `proof-accumulation`.

# %% [markdown]
# ## Phases, cycles and plateaus
# `SequentialLR` runs one scheduler after another and switches at its milestones. Here `LinearLR` raises the factor from 0.05 to 1 in
# `total_iters` steps, and a cosine follows. `OneCycleLR` has both phases built in. **Warmup-stable-decay** (WSD) keeps the peak and decays
# only in the end, often over the last 10 to 20 % of the steps and to zero. Compare them with the function from the beginning:


# %% tags=["proof-phases"]
def phases(s, o):
    return s.SequentialLR(o, [s.LinearLR(o, 0.05, total_iters=19), s.CosineAnnealingLR(o, 81, eta_min=0.05)], [19])


lines = {"sequential": rates_of(phases, 100, mytorch)}
lines["one cycle"] = rates_of(lambda s, o: s.OneCycleLR(o, 1.0, 100, cycle_momentum=False), 100, mytorch)
lines["WSD"] = [min(1.0, (t + 1) / 20, (100 - t) / 20) for t in range(100)]
print("step  function  " + "  ".join(lines))
for t in (0, 10, 19, 40, 99):
    row = [f"{rates[t]:{len(name)}.2f}" for name, rates in lines.items()]
    print(f"{t:4}  {warmup_cosine(t):8.2f}", *row, sep="  ")
print(check.error(rates_of, lambda s, o: s.OneCycleLR(o, 1.0, 100, cycle_momentum=False), 101))
lowered = rates_of(phases, 21, lowered_at=10)
print("sequential, lowered to 0.1 by hand in step 10:", {t: f"{lowered[t]:.2f}" for t in (9, 10, 18, 19)})
pictures.curves(lines, range(100), xlabel="step", ylabel="rate")

# %% [markdown]
# When training goes on past the end, `OneCycleLR` raises an error, whereas a cosine climbs. The last line shows what becomes of a
# rate that you lower during the warm-up. `LinearLR` goes on from it, but the cosine starts at the initial rate, so your change is
# lost at the milestone.
#
# `ReduceLROnPlateau` follows no curve: its `step` takes a metric, and after more than `patience` epochs in a row without
# improvement it multiplies the rate by `factor`:

# %% tags=["proof-plateau"]
optimizer = mytorch.optim.SGD([mytorch.zeros(1)], lr=1.0)
plateau = mytorch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, threshold=0.01)
for loss in (1.0, 0.8, 0.799, 0.798, 0.7, 0.71, 0.6):
    plateau.step(loss)
    print(f"loss {loss:5}  epochs without improvement {plateau.num_bad_epochs}  rate {plateau.get_last_lr()[0]}")

# %% [markdown]
# The loss 0.799 counts as no improvement, because it is less than 1 % below the best. The loss 0.798 is the second in a row
# without improvement, so the rate is halved and the count starts again at 0.
#
# ## Comparing schedules: a sweep over peak rates and seeds
# Is a schedule better than a good constant rate? A fair comparison tunes the peak rate of each separately, and repeats each run on several
# seeds:

# %% tags=["proof-sweep"]
from sklearn.datasets import load_digits

digits = load_digits()
order = np.random.default_rng(0).permutation(len(digits.target))
images, numbers = (digits.data / 16).astype("float32")[order], digits.target[order]


def train(make, lr, kind="SGD", steps=280, library=mytorch, seed=0, **options):
    """The losses of all steps, and the loss on all 1,400 digits at the end; `make` makes a scheduler."""
    library.manual_seed(seed)
    nn, x, y = library.nn, library.tensor(images[:1400]), library.tensor(numbers[:1400])
    model, losses = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), []
    optimizer = getattr(library.optim, kind)(model.parameters(), lr=lr, **options)
    scheduler = make(library.optim.lr_scheduler, optimizer)
    for _ in range(steps):
        batch = library.randint(0, 1400, (50,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses, nn.functional.cross_entropy(model(x), y).item()


kinds = {
    "constant": lambda s, o: s.LambdaLR(o, lambda t: 1.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 280),
    "warm-up, cosine": lambda s, o: s.LambdaLR(o, lambda t: warmup_cosine(t, 40, 280, 0.0)),
    "WSD": lambda s, o: s.LambdaLR(o, lambda t: min(1.0, (t + 1) / 40, (280 - t) / 56)),
}
peaks = [0.003, 0.01, 0.03, 0.1, 0.3]
for name, make in kinds.items():
    ends = [[train(make, lr, "Adam", library=torch, seed=seed)[1] for seed in range(3)] for lr in peaks]
    best = min(ends, key=np.mean)
    for peak, losses in {"0.003": ends[0], "its best": best, "0.3": ends[-1]}.items():
        bound = next(bound for bound in (0.05, 0.2, 0.5, 3) if max(losses) < bound)
        print(f"{name:15} at {peak:8} below {bound} on each seed")
    kinds[name] = np.mean(ends, 1)
about = (
    "At the lowest peak rate the constant rate has the lowest loss; at the highest, only runs with a warm-up are low."
)
pictures.curves(kinds, peaks, xlabel="peak rate", ylabel="final loss, mean of 3 (nats)", log="xy", alt=about)

# %% [markdown]
# The bounds are coarse because losses differ a little between processors, and more at high rates. On PyTorch 2.13 the same runs
# ended between 0.05 and 0.06 for the constant rate at its best, 0.02 and 0.03 for the cosine, and 0.00 and 0.02 with a warm-up.
# Three things show:
#
# - At the lowest peak the constant rate wins, because a schedule only lowers a rate that is already too low.
# - At their best the schedules win on all seeds, since they end with a low rate.
# - At the peak of 0.3 the warm-up decides: on PyTorch the cosine ended between 0.45 and 1.44 without one, and between 0.05 and 0.09
#   with it.
#
# So a schedule pays in two ways: its low end lowers the noise floor, and its warm-up lets you use a higher peak.
#
# **Interview · Which learning rate schedule do you use: StepLR, cosine, one cycle or WSD?**
#
# - *Thirty seconds:* Cosine with a short warm-up is a good default if you know the number of steps. Warmup-stable-decay does about as well and
#   doesn't need to know the end: you keep the peak until you decide to stop, and then decay. In both schedules, what matters is the low end
#   and the warm-up.
# - *Longer:* `StepLR` has `step_size` and `gamma` to tune, while one cycle warms up for 30 % of the time and raises an error past
#   its end. A cosine's length must match the number of steps, or the run ends at a high rate; a WSD run can branch into a decay
#   at any time.
# - *They ask next:* What happens if training goes on after a cosine? In PyTorch the rate climbs, so people warm up again instead.
# - *They ask next:* Does weight decay follow the schedule? In AdamW, yes: the decay is multiplied by the current rate.
# - *The trap:* A comparison at one rate favours the schedule for which that rate was tuned.
# - *Proof:* `proof-sweep`, `proof-phases`; the climb: `proof-cosine-returns`.
#
# ### Batch size and learning rate: the linear scaling rule
# If a batch is eight times as large, its noise has an eighth of the variance. Which noise floor does it reach, and how fast?

# %% tags=["proof-batch"]
for lr, size in ((0.01, 1), (0.01, 8), (0.08, 8)):
    floor = expected_losses([lr] * 2000, variance=1 / size)[-1]
    left = (1 - lr) ** (64 / size)
    print(f"lr {lr}, batch {size}: floor {floor:.4f}, after 64 examples {left:.0%} of the way is left")

# %% [markdown]
# At the old rate the larger batch reaches a lower floor, but it hardly moves in 64 examples. At eight times the rate, it repeats
# what the small batch did.
#
# **Interview · The batch gets 8 times larger. How do you change the learning rate?**
#
# - *Thirty seconds:* With SGD I multiply it by 8, the *linear scaling rule*: you get about as far per example, and to about the same noise
#   floor. With Adam people often multiply by the square root of 8, because where noise dominates the gradient, dividing by
#   $\sqrt{\hat v}$ already contributes the other $\sqrt 8$.
# - *Longer:* The rule ends where the curvature limits the rate, on a parabola at $2 / \text{curvature}$ (exercise 7).
# - *They ask next:* What happens to the warm-up? Keep it about as long in examples, though the higher peak may need more.
# - *They ask next:* What if the model gets wider? With Adam, the rate of a hidden matrix then falls as 1 / width
#   ([μP](28_whiteboard_alignment.ipynb)).
# - *The trap:* A schedule that is counted in steps has to change with the batch.
# - *Proof:* `proof-batch`.
#
# ## Schedules under gradient accumulation
# With gradient accumulation, four batches may make one update, so twelve batches make three. A warm-up of four steps then has
# these rates:

# %% tags=["proof-accumulation"]
rates = rates_of(lambda s, o: s.LambdaLR(o, lambda t: min(1.0, (t + 1) / 4)), 12)
print("counted in batches, the updates after batches 4, 8 and 12 have", rates[3::4])
print("counted in updates, they have", rates[:3])

# %% [markdown]
# **Interview · Which steps does a schedule count under gradient accumulation?**
#
# - *Thirty seconds:* It counts the optimizer's steps. I step the scheduler where I step the optimizer, and give it the number of
#   updates, which is the number of batches divided by the number that are accumulated.
# - *Longer:* Counted in batches, the warm-up here is over before the first update, and a decay ends four times too early.
# - *They ask next:* Can you make a new scheduler for each epoch? No, it would [count from 0 and warm up again](proof-resume).
# - *The trap:* `len(loader) * epochs` isn't the total number of steps.
# - *Proof:* `proof-accumulation`.

# %% [markdown] given="mytorch.optim.lr_scheduler:watch"
# ## In `mytorch`
# A scheduler stores the initial rate of each group in the group, as `"initial_lr"`, and counts its own steps in `last_epoch`. Its `step`
# takes the new rates from `get_lr` and writes them into the groups. You write the heart of the base class, `get_lr` of `StepLR`, and the
# cosine, whose factor would divide by zero at the bottom. The function that detects whether the optimizer has made a step is provided:

# %% [markdown]
# ## Resuming
# A run is saved after four epochs, and another process continues it, once with the scheduler's state and once without:


# %% tags=["proof-resume"]
def resumed(make, with_scheduler):
    rates, state = [], None
    for epochs in (4, 3):
        optimizer = mytorch.optim.SGD([mytorch.zeros(1)], lr=1.0)
        scheduler = make(mytorch.optim.lr_scheduler, optimizer)
        if state:
            optimizer.load_state_dict(state[0])
        if state and with_scheduler:
            scheduler.load_state_dict(state[1])
        for _ in range(epochs):
            rates.append(round(optimizer.param_groups[0]["lr"], 2))
            optimizer.step()
            scheduler.step()
        state = optimizer.state_dict(), scheduler.state_dict()
    return rates[4:]


for name, make in makers.items():
    print(f"{name:18} saved {resumed(make, True)}  forgotten {resumed(make, False)}")

# %% [markdown]
# The optimizer's state restores the last rate, so the first rate is correct in all three cases even without the scheduler. Then
# the closed-form scheduler starts again, while the chainable ones go on from the correct rate with the wrong epoch.
#
# **Interview · What must a resumed run restore?**
#
# - *Thirty seconds:* The model, the optimizer, the scheduler, the random generators, and the position in the data. The
#   optimizer's state has the rate of each group, but not the epoch.
# - *Longer:* Make the scheduler first and load the optimizer's state afterwards: the constructors of `LambdaLR`, `LinearLR`,
#   `ConstantLR` and `OneCycleLR` write their first rate into the groups. On PyTorch 2.13 a loaded 0.55 became 0.055 when a
#   `LinearLR` that starts at a tenth was made after it.
# - *They ask next:* What does the `state_dict` of a `LambdaLR` lack? The function, unless it is an object, whose attributes are
#   saved.
# - *The trap:* The first rate alone proves nothing, because it is correct even without the scheduler's state if the optimizer's was loaded
#   last.
# - *Proof:* `proof-resume`.
#
# ## Exponential moving average (EMA) of the weights
# A schedule lowers the noise floor by lowering the rate. An **exponential moving average** (EMA) of the weights does so at a constant rate:
# it averages over the last steps, in a copy of the model.

# %% tags=["proof-EMA"]
draws = np.random.default_rng(0).normal(size=400)
model = mytorch.nn.Linear(1, 1, bias=False)
average = mytorch.optim.swa_utils.AveragedModel(model, avg_fn=mytorch.optim.swa_utils.get_ema_avg_fn(0.95))
w, paths = 3.0, {"weight": [], "average": []}
for noise in draws:
    w -= 0.3 * (w + noise)
    with mytorch.no_grad():
        model.weight.fill_(w)
    average.update_parameters(model)
    paths["weight"].append(w)
    paths["average"].append(average.module.weight.item())
for name, path in paths.items():
    print(f"{name:7}: first {path[0]:.2f}, mean loss of the last 300 steps {np.square(path[100:]).mean() / 2:.2f}")
pictures.curves(paths, range(1, 401), xlabel="step", ylabel="weight")

# %% [markdown]
# `AveragedModel` copies the weights at its first update, so the average starts at them and needs no correction. An average that starts
# at 0 has to be corrected, as Adam's means are, and you do that in exercise 5.
#
# **Interview · What do you gain from an EMA of the weights, and why is it evaluated separately?**
#
# - *Thirty seconds:* It averages away much of the noise without lowering the rate. Since the optimizer goes on with the raw
#   weights, the average is another model, so you evaluate and save it separately.
# - *Longer:* A decay of 0.999 looks back about 1,000 steps, so at first the average lags.
# - *They ask next:* What about batch norm? Its running statistics belong to the raw weights, and by default `AveragedModel` just
#   copies buffers, so `update_bn` recomputes them.
# - *The trap:* What you validate must be what you ship: the raw weights aren't the average.
# - *Proof:* `proof-EMA`.
#
# ## Milestone: chapter 12's line becomes a scheduler
# [Chapter 12](12_norm_dropout_and_modes.ipynb) set the rate by hand, `0.02 * (1 - epoch / 8)`. Now a scheduler of `mytorch` does that, and a
# small network on handwritten digits has the same losses as in minitorch:


# %% tags=["proof-milestone"]
def line(schedulers, optimizer):
    return schedulers.LambdaLR(optimizer, lambda t: 1 - t // 28 / 8)  # an epoch is 28 steps


by_hand = [0.02 * (1 - t // 28 / 8) for t in range(224)]
print("rates that differ:", np.sum(np.array(by_hand) != rates_of(line, 224, mytorch, lr=0.02)))
(mine, _), (theirs, _) = (train(line, 0.02, "SGD", 224, library, momentum=0.9) for library in (mytorch, torch))
print(f"losses {mine[0]:.1f} to {mine[-1]:.1f}; minitorch's differ by {max(np.abs(np.subtract(mine, theirs))):.3f}")

# %% [markdown]
# ## The real one
# This is minitorch's function that corresponds to `watch`:

# %%
import inspect

from minitorch.optim.lr_scheduler import base

print(inspect.getsource(base._watch))

# %% [markdown] tags=["short"]
# PyTorch's does the same. Because of the `weakref`, the optimizer doesn't hold itself through its own `step`, so its memory is freed as
# soon as you drop it, while mytorch's waits for the garbage collector.
#
# ## Myths
# - "A cosine ends at 0 and stays there." After `T_max` steps [it climbs again](proof-cosine-returns).
# - "`step_size=30` means 30 epochs." It means [30 calls of `step`](proof-rapid-fire).
# - "`scheduler.step()` belongs at the end of an epoch." A schedule that counts updates is stepped [with each
#   update](proof-accumulation).
#
# ## Rapid fire
# 1. What does `MultiStepLR` with milestones 2 and 2 do in epoch 2? Multiply the rate by `gamma` squared.
# 2. A parameter group is added after the scheduler was made. What does the next `step` of a `LambdaLR` do? It raises an error,
#    because there is no function for the new group, whereas a `StepLR` simply goes on.
# 3. Where does a scheduler keep the initial rate? In each group, as `"initial_lr"`.
# 4. `StepLR(optimizer, 30)` is stepped after each of 100 batches. How much of the rate is left after the epoch? A
#    thousandth: 100 steps are three drops by 10.
# 5. What does `OneCycleLR` lower while it increases the learning rate? The momentum, or Adam's first beta.

# %% hidden=true tags=["proof-rapid-fire"]
print("1.", [round(rate, 2) for rate in rates_of(lambda s, o: s.MultiStepLR(o, [2, 2]), 4)])
optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1.0)
optimizer.add_param_group({"params": [torch.zeros(1)]})
optimizer.step()
print("2.", repr(check.error(scheduler.step)))
print("3.", optimizer.param_groups[0]["initial_lr"])
print("4.", f"{rates_of(lambda s, o: s.StepLR(o, 30), 101)[100]:.3f}")
torch.optim.lr_scheduler.OneCycleLR(adam := torch.optim.Adam([torch.zeros(1)]), 0.1, 10)
print("5.", adam.param_groups[0]["betas"])

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A constant rate has a noise floor that grows with the rate, so start high and end low.
# 2. `LambdaLR` computes from the initial rate; `StepLR` and cosine multiply the current one.
# 3. Chainable schedulers compose, while a closed-form scheduler overwrites what the others did.
# 4. Call `optimizer.step()`, then `scheduler.step()`.
# 5. A scheduler counts its own steps: one for each update, or one for each epoch.
# 6. A cosine climbs after `T_max`; `OneCycleLR` raises an error.
# 7. Warm up, because Adam's first steps rest on the least data and are the longest when gradients are noisy.
# 8. Tune the peak rate of each schedule separately, on several seeds.
# 9. Save the scheduler, because the optimizer's state has the rate but not the epoch.
# 10. An EMA is another model, so evaluate and save it separately.

# %% [markdown]
# ## You try
# [The exercises](../exercises/17_learning_rate_schedules.ipynb): predict the rates of a wrong loop; write the base class and `StepLR`, the
# cosine and `SequentialLR`, and `ReduceLROnPlateau`; average weights; fix a resumed run; and measure the largest stable rate of a loss you
# can't see. [Chapter 18](18_data.ipynb) is about the data.
