# %% [markdown]
# # Learning rate schedules
# After this chapter your own library changes the learning rate while it trains: in steps, along a cosine, with a
# warm-up, or when progress stops. You'll be able to say which rate a run uses in step 7,000, and why.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(17)  # your library as it is after this chapter, with your parts where you solved them

# %% [markdown] tags=["short"]
# ## Train a little longer
# Someone plans ten epochs with a cosine schedule, likes the result, and trains ten more. Which rates do those use?

# %% tags=["proof-cosine-returns"]
import minitorch as torch
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


rates = rates_of(lambda s, o: s.CosineAnnealingLR(o, T_max=10), 21)
print("rates in epochs 0, 5, 10, 15, 20:", [f"{each:.2f}" for each in rates[::5]])

# %% [markdown]
# The rate climbs back to where it began. What does that do to the loss? Take one weight $w$ with the loss $w^2 / 2$, and
# gradients $w + \text{noise}$, as mini-batches give them. A step multiplies $w$ by $1 - lr$ and adds $lr$ times the noise,
# so the mean of $w^2$ can be computed without drawing a number:


# %% tags=["proof-noise"]
def expected_losses(rates, start=3.0, variance=1.0):
    square, losses = start**2, []
    for lr in rates:
        square = (1 - lr) ** 2 * square + lr**2 * variance
        losses.append(square / 2)
    return losses


losses = expected_losses(rates)
print(f"loss after epoch 10: {losses[10]:.3f}, after epoch 20: {losses[20]:.3f}")
print("with a constant rate:", {lr: f"{expected_losses([lr] * 500)[-1]:.3f}" for lr in (0.05, 0.1, 0.2)})
pictures.curves({"rate": rates, "loss": losses}, range(21), xlabel="epoch", ylabel="rate and loss")

# %% [markdown] tags=["short"]
# With a constant rate the noise keeps the weight moving, and the loss stays at a floor that is nearly proportional to the
# rate. A high rate gets there fast and a low one has a low floor, so a schedule begins with the one and ends with the other.
#
# ## A schedule is a function of time
# The smallest model: the rate is the initial rate times a function of $t$, the number of steps so far. This one warms up
# linearly, falls along a cosine and *stays* at the bottom.

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
# - *Thirty seconds:* Below `warmup` the factor is `(t + 1) / warmup`; with `t / warmup` the first step does nothing.
#   Then comes `(1 + cos(pi * progress)) / 2`, scaled to end at `lowest`. `LambdaLR` takes the function.
# - *They ask next:* Why `min(1.0, …)`? Without it the cosine climbs again after `total`.
# - *The trap:* Returning a rate. `LambdaLR` wants a factor, and multiplies it by each group's initial rate.
# - *Proof:* `proof-function`.
#
# ### Break it
# At step 3 you lower the rate to 0.1 by hand, `group["lr"] = 0.1`. What do three schedulers make of it?

# %% tags=["proof-closed-or-recursive"]
makers = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda t: 1 - t / 10),
    "StepLR": lambda s, o: s.StepLR(o, 5, gamma=0.5),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, T_max=10),
}
for name, make in makers.items():
    print(f"{name:18}", *(f"{rate:.2f}" for rate in rates_of(make, 7, lowered_at=3)))

# %% [markdown]
# `LambdaLR` forgets it, because it computes the rate from $t$ and the initial rate: a **closed form**. The other two keep
# it, because they go on from the rate that they find in the group: a **recursion**. `StepLR` multiplies that rate by `gamma`
# in the epochs `step_size`, `2 * step_size` and so on. The cosine multiplies its distance from `eta_min`, here 0. As long
# as nobody interferes, both forms give the same rates.
#
# Recursions can share an optimizer. These two multiply, until the cosine is at the bottom. A closed form that steps last
# overwrites what the other one did:

# %% tags=["proof-multiply"]
for pair in (("StepLR", "CosineAnnealingLR"), ("CosineAnnealingLR", "LambdaLR")):
    rates = rates_of(lambda s, o, pair=pair: s.ChainedScheduler([makers[name](s, o) for name in pair]), 8)
    print(*pair, [round(rate, 2) for rate in rates])

# %% [markdown] given="mytorch.optim.lr_scheduler:watch"
# ### In `mytorch`
# A scheduler writes each group's first rate beside it, as `"initial_lr"`, and counts epochs in `last_epoch`. Its `step`
# asks `get_lr` for the new rates and puts them into the groups. You write the heart of the base class, `get_lr` of `StepLR`,
# and the cosine's recursion, which has to get past the bottom, where its factor would divide by 0. The function that
# notices whether the optimizer has made a step is given:

# %% [markdown]
# ### Milestone: chapter 12's line becomes a scheduler
# [Chapter 12](12_norm_dropout_and_modes.ipynb) set the rate by hand, `0.02 * (1 - epoch / 8)`. Now a scheduler of
# `mytorch` does it, and a small network on handwritten digits has the same losses as in minitorch:

# %% tags=["proof-milestone"]
import numpy as np
from sklearn.datasets import load_digits

digits = load_digits()
order = np.random.default_rng(0).permutation(len(digits.target))
images, numbers = (digits.data / 16).astype("float32")[order], digits.target[order]


def train(make, lr, kind="SGD", steps=280, library=mytorch, **options):
    """The losses of all steps, and the loss on all 1,400 digits at the end; `make` makes a scheduler."""
    library.manual_seed(0)
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


def line(schedulers, optimizer):
    return schedulers.LambdaLR(optimizer, lambda t: 1 - t // 28 / 8)  # an epoch is 28 steps


by_hand = [0.02 * (1 - t // 28 / 8) for t in range(224)]
print("rates that differ:", np.sum(np.array(by_hand) != rates_of(line, 224, mytorch, lr=0.02)))
(mine, _), (theirs, _) = (train(line, 0.02, "SGD", 224, each, momentum=0.9) for each in (mytorch, torch))
print(f"losses {mine[0]:.1f} to {mine[-1]:.1f}; minitorch's differ by {max(np.abs(np.subtract(mine, theirs))):.3f}")

# %% [markdown] tags=["short"]
# ## Which `step` comes first?
# Swap the two calls in the loop, and print the rate that each update uses:

# %% tags=["proof-order"]
import warnings


def used(order):
    optimizer, rates = torch.optim.SGD([torch.zeros(1)], lr=1.0), []
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    for each in order * 4:
        if each == "optimizer":
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
# - *Thirty seconds:* After `optimizer.step()`, once for each unit of time that the schedule counts. If it comes first, the
#   initial rate isn't used, and PyTorch warns once.
# - *Longer:* The scheduler's constructor has set the first rate already. So the *n*-th `step` sets the rate of update
#   *n + 1*.
# - *They ask next:* Once an epoch or once a batch? The scheduler only counts its own steps. `step_size=30` means 30 epochs
#   or 30 batches, depending on where you call it; one cycle and warm-up usually count batches.
# - *The trap:* Moving the call into the inner loop and leaving the numbers as they were.
# - *Proof:* `proof-order`; what counts: `proof-accumulation`.
#
# ## Why warm up?
# Adam divides a mean of gradients by the root of a mean of squares ([chapter 16](16_losses_and_optimizers.ipynb)). What does
# it do with pure noise, which shouldn't move anything?

# %% tags=["proof-warm-up"]
noise = np.random.default_rng(0).normal(size=(100, 1000))  # 100 steps, 1,000 weights
m, v, lengths = 0.0, 0.0, []
for t, g in enumerate(noise, 1):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    lengths.append(np.abs(m / (1 - 0.9**t) / np.sqrt(v / (1 - 0.999**t))).mean())
print("mean length in lr:", {t: f"{lengths[t - 1]:.1f}" for t in (1, 2, 5, 20, 100)})
warm = [length * min(1, t / 20) for t, length in enumerate(lengths, 1)]
print(f"longest with a warm-up over 20 steps: {max(warm):.1f}")
pictures.curves({"no warm-up": lengths, "warm-up": warm}, xlabel="step", ylabel="mean step (lr)")

# %% [markdown]
# The first step is a full `lr` in each of these weights, and its direction rests on one batch. Later the noise averages
# out, and steps are five times shorter. A warm-up over 20 steps takes the long ones away.
#
# **Interview · Why warm up, and why with Adam?**
#
# - *Thirty seconds:* Early steps are the least reliable. Adam's first one is a full `lr` in each weight, whatever the size
#   of its gradient, and the next ones rest on few batches. A small rate keeps them from doing harm.
# - *Longer:* The curvature is often highest at the start, so warm-up lets you use a higher peak.
# - *They ask next:* How long? A few hundred to a few thousand updates for a Transformer; a rule of thumb is
#   $2 / (1 - \beta_2)$, 2,000 by default.
# - *The trap:* "Adam adapts, so it needs no schedule." It adapts the scale of each weight; `lr` still sets the length.
# - *Proof:* `proof-warm-up`; Adam with and without a schedule: `proof-sweep`.
#
# ## Phases, cycles and plateaus
# `SequentialLR` runs one scheduler after another, and `OneCycleLR` has both phases built in. Compare them with the function
# from the beginning:


# %% tags=["proof-phases"]
def phases(s, o):
    return s.SequentialLR(o, [s.LinearLR(o, 0.05, total_iters=19), s.CosineAnnealingLR(o, 81, eta_min=0.05)], [19])


lines = {"sequential": rates_of(phases, 100, mytorch)}
lines["one cycle"] = rates_of(lambda s, o: s.OneCycleLR(o, 1.0, 100, cycle_momentum=False), 100, mytorch)
lines["stable, decay"] = [min(1.0, (t + 1) / 20, (100 - t) / 30) for t in range(100)]
print("step  function  " + "  ".join(lines))
for t in (0, 10, 19, 40, 99):
    row = [f"{rates[t]:{len(name)}.2f}" for name, rates in lines.items()]
    print(f"{t:4}  {warmup_cosine(t):8.2f}", *row, sep="  ")
print(check.error(rates_of, lambda s, o: s.OneCycleLR(o, 1.0, 100, cycle_momentum=False), 101))
pictures.curves(lines, range(100), xlabel="step", ylabel="rate")

# %% [markdown]
# `OneCycleLR` raises when training goes on past its end, where a cosine climbs. `ReduceLROnPlateau` follows no curve. Its
# `step` takes a metric, and after more than `patience` epochs in a row without improvement it multiplies the rate:

# %% tags=["proof-plateau"]
optimizer = mytorch.optim.SGD([mytorch.zeros(1)], lr=1.0)
plateau = mytorch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, threshold=0.01)
for loss in (1.0, 0.8, 0.799, 0.798, 0.7, 0.71, 0.6):
    plateau.step(loss)
    print(f"loss {loss:5}  epochs without improvement {plateau.num_bad_epochs}  rate {plateau.get_last_lr()[0]}")

# %% [markdown]
# 0.799 counts as no improvement, because it is less than 1 % below the best. 0.798 is the second in a row, so the rate is
# halved, and the count starts again at 0.
#
# ## A measured sweep
# Is a schedule better than a good constant rate? A fair comparison tunes the peak rate of each one separately:

# %% tags=["proof-sweep"]
kinds = {
    "constant": lambda s, o: s.LambdaLR(o, lambda t: 1.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 280),
    "one cycle": lambda s, o: s.OneCycleLR(o, o.param_groups[0]["lr"], 280, cycle_momentum=False),
}
peaks = [0.003, 0.01, 0.03, 0.1]
found = {name: [train(make, lr, "Adam", library=torch)[1] for lr in peaks] for name, make in kinds.items()}
for name, ends in found.items():
    print(f"{name:9} at the lowest peak {ends[0]:.2f}, at its own best {min(ends):.2f}, at the highest {ends[-1]:.2f}")
about = "At the lowest peak rate the constant rate has the lowest loss; at the highest one it has by far the highest."
pictures.curves(found, peaks, xlabel="peak rate", ylabel="final loss (nats)", log="xy", alt=about)

# %% [markdown]
# At the lowest peak the constant rate wins, because the others only take away from a rate that is too small already. At
# the highest one, and with each at its own best, the schedules win: **a schedule pays because it lets you use a higher rate.**
#
# **Interview · StepLR, cosine, one cycle or warmup-stable-decay: which?**
#
# - *Thirty seconds:* Cosine with a short warm-up is a good default when you know the number of steps. As long as a schedule
#   ends low, its peak rate matters more than its shape.
# - *Longer:* `StepLR` has `step_size` and `gamma` to tune. One cycle warms up for 30 % of the time and raises past its end.
#   Warmup-stable-decay keeps the peak until you decide to stop, so you don't have to know the end.
# - *They ask next:* Training goes on after a cosine. What happens? In PyTorch the rate climbs again.
# - *The trap:* Comparing schedules at one rate that was tuned for one of them.
# - *Proof:* `proof-sweep`, `proof-phases`; the climb: `proof-cosine-returns`.
#
# ### A larger batch
# A batch eight times as large has noise with an eighth of the variance. Which floor does it reach, and how fast?

# %% tags=["proof-batch"]
for lr, size in ((0.01, 1), (0.01, 8), (0.08, 8)):
    floor = expected_losses([lr] * 2000, variance=1 / size)[-1]
    left = (1 - lr) ** (64 / size)
    print(f"lr {lr}, batch {size}: floor {floor:.4f}, after 64 examples {left:.0%} of the way is left")

# %% [markdown]
# **Interview · The batch gets 8 times larger. What about `lr`?**
#
# - *Thirty seconds:* With SGD, multiply it by 8: you get about as far per example, and to about the same floor. With Adam
#   people often take the square root, because its steps don't shrink with the noise in the same way.
# - *Longer:* The rule ends where the curvature limits the rate: on a parabola at $2 / \text{curvature}$, which you
#   measure in exercise 7.
# - *They ask next:* And the warm-up? Keep it about as long in examples, so it has fewer steps; the higher peak may need
#   more.
# - *The trap:* Changing the batch and leaving a schedule that is counted in steps.
# - *Proof:* `proof-batch`.
#
# ## What does the scheduler count?
# With gradient accumulation, four batches may make one update. Twelve batches then make three, and a warm-up of four
# steps has these rates:

# %% tags=["proof-accumulation"]
rates = rates_of(lambda s, o: s.LambdaLR(o, lambda t: min(1.0, (t + 1) / 4)), 12)
print("counted in batches, the updates after batches 4, 8 and 12 have", rates[3::4])
print("counted in updates, they have", rates[:3])

# %% [markdown]
# **Interview · Schedules under gradient accumulation: which step counts?**
#
# - *Thirty seconds:* The optimizer's. Step the scheduler where you step the optimizer, and give it the number of updates:
#   batches divided by the accumulation.
# - *Longer:* Counted in batches, the warm-up here is over before the first update, and a decay ends four times too early.
# - *They ask next:* A new scheduler for each epoch? No, it would count from 0, and warm up again (`proof-resume`).
# - *The trap:* `len(loader) * epochs` as the total number of steps.
# - *Proof:* `proof-accumulation`.
#
# ## Resuming
# A run is saved after four epochs, and another process goes on, once with the scheduler's state and once without:


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
# The optimizer's state brings back the last rate, so the first one is right in all three. Then the closed form starts
# again, and the recursions go on from the right rate with the wrong epoch.
#
# **Interview · What must a resumed run restore?**
#
# - *Thirty seconds:* Model, optimizer, scheduler, random generators, and the place in the data. The optimizer's state has
#   the rate of each group, but not the epoch.
# - *Longer:* Make the scheduler first, then load the optimizer's state: a scheduler's constructor sets the rates.
# - *They ask next:* What does `state_dict` of a `LambdaLR` lack? The function, if it is a plain one. Your code brings it again.
# - *The trap:* Checking the first rate alone. It is right without the scheduler, too.
# - *Proof:* `proof-resume`.
#
# ## Average the weights instead
# A schedule lowers the floor of the noise. So does a mean over steps, at a constant rate: an **exponential moving
# average** of the weights, kept in a copy of the model.

# %% tags=["proof-ema"]
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
# `AveragedModel` starts with a copy of the initial weights. An average that starts at 0 has to be corrected, like Adam's means;
# you do that in exercise 5.
#
# **Interview · What does an EMA of the weights buy, and why is it evaluated apart?**
#
# - *Thirty seconds:* Much of the noise is averaged away without lowering the rate. The optimizer goes on with the raw
#   weights; the average is another model, so you evaluate and save it by itself.
# - *Longer:* A decay of 0.999 looks back about 1,000 steps, so early in training the average lags behind.
# - *They ask next:* What about batch norm? Its running statistics belong to the raw weights. `AveragedModel` copies
#   buffers by default; `update_bn` computes them anew.
# - *The trap:* Validating the raw weights and shipping the average.
# - *Proof:* `proof-ema`.
#
# ## The real one
# This is what minitorch has in place of `watch`.

# %%
import inspect

from minitorch.optim.lr_scheduler import base

print(inspect.getsource(base._watch))

# %% [markdown] tags=["short"]
# PyTorch's does the same. A `weakref` keeps the optimizer from holding itself through its own `step`, so its memory is
# given back as soon as you drop it; mytorch's waits for the garbage collector.
#
# ## Myths
# You'll hear that a cosine ends at 0 and stays there (it climbs: `proof-cosine-returns`), that `step_size=30` means 30
# epochs (it counts calls: `proof-rapid-fire`), that `scheduler.step()` belongs at the end of an epoch (where it counts
# updates, it doesn't: `proof-accumulation`), and that Adam adapts and needs no schedule (`proof-sweep`).
#
# ## Rapid fire
# 1. `MultiStepLR` with milestones 2 and 2. The rate in epoch 2? Times `gamma` squared.
# 2. A parameter group is added after the scheduler was made. The next `step`? For `LambdaLR` an error.
# 3. Where does a scheduler keep the initial rate? In each group, as `"initial_lr"`.
# 4. `StepLR(optimizer, 30)` is stepped after each batch, and an epoch has 100. What is left of the rate after one? A
#    thousandth.
# 5. One cycle raises the rate. What goes down? The momentum, or Adam's first beta.

# %% tags=["proof-rapid-fire"]
print("1.", [round(each, 2) for each in rates_of(lambda s, o: s.MultiStepLR(o, [2, 2]), 4)])
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
# 1. A constant rate has a floor of noise that grows with the rate. Start high, end low.
# 2. `LambdaLR` computes from the initial rate; `StepLR` and cosine multiply the present one.
# 3. Recursions on one optimizer build on each other; a closed form overwrites.
# 4. `optimizer.step()`, then `scheduler.step()`.
# 5. A scheduler counts its own steps: one for each update, or one for each epoch.
# 6. Cosine climbs after `T_max`. One cycle raises.
# 7. Warm up: Adam's first steps are the longest, on the least evidence.
# 8. Tune the peak rate of each schedule by itself.
# 9. Save the scheduler. The optimizer has the rate, not the epoch.
# 10. An EMA is another model: evaluate it, save it.
#
# ## You try
# [The exercises](../exercises/17_learning_rate_schedules.ipynb): predict the rates of a wrong loop; write the base class and `StepLR`, the
# cosine and `SequentialLR`, and `ReduceLROnPlateau`; average weights; repair a resumed run; and measure the largest stable
# rate of a loss you can't see. [Chapter 18](18_data.ipynb) is about the
# data.
