# %% [markdown]
# # Exercises · Everything on your own code
# The exercises use `mytorch` as it is after chapter 24, and you may read all of it.

# %% setup=true
from __future__ import annotations

import copy
import math
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from course import check

mytorch = check.mytorch(chapter=24)
nn = mytorch.nn

# %% [markdown] exercise="capstone_predict_fallen" kind="predict" points=1
# ### Exercise 1 · Which tests fail?
# Each line puts one faulty part into `mytorch`. The tests are the milestones of the lesson. `LeNet` (trained with SGD
# and momentum) and `GPT` (trained with AdamW) compare three losses with minitorch's. `resume` compares a run without
# a stop with one that was resumed in the middle of an epoch, with dropout and a shuffling loader. `four ranks`
# compares four ranks, whose models begin with different weights, with a single one.
#
# 1. `adam` without bias correction
# 2. `max_pool2d` takes the mean of each window
# 3. `Trainer.load_state_dict` doesn't restore the random state
# 4. `broadcast` does nothing
# 5. `nll_loss` returns the sum if a mean is requested
#
# Which tests fail in each case? Set `prediction` to a list of five strings, such as `"LeNet"` or `"LeNet, GPT"`. The
# order of the tests and their capital letters don't matter.

# %% solution="capstone_predict_fallen"
### BEGIN SOLUTION
prediction = ["GPT", "LeNet", "resume", "four ranks", "LeNet, GPT, four ranks"]
### END SOLUTION

# %% check="capstone_predict_fallen"
names = ["adam", "max_pool2d", "load_state_dict", "broadcast", "nll_loss"]
fails = [sorted(test.strip().casefold() for test in each.split(",")) for each in prediction]
check.show(dict(zip(names, fails, strict=True)), secret=True)

# %% [markdown] hint="capstone_predict_fallen"
# For each part, find out whether LeNet, the GPT, the trainer when it resumes, or the ranks call it.

# %% [markdown] hint="capstone_predict_fallen"
# A test fails only if the two results that it compares differ. `resume` and `four ranks` compare `mytorch` with
# itself.

# %% [markdown] hint="capstone_predict_fallen"
# LeNet uses SGD here, so a fault in Adam doesn't show in it. In `four ranks` each rank has four rows and the single
# one has sixteen, and the mean of four such means is the mean of all sixteen. Is that also true of four sums?

# %% mutant="capstone_predict_fallen"
# A faulty part breaks every test that uses it
# `resume` and `four ranks` compare the library with itself, so a fault that affects both sides equally doesn't show.
prediction = ["GPT, resume", "LeNet", "resume", "four ranks", "LeNet, GPT, resume, four ranks"]

# %% mutant="capstone_predict_fallen"
# Every test uses the optimizer
# LeNet is trained with SGD here, so a fault in Adam can't show in it.
prediction = ["LeNet, GPT", "LeNet", "resume", "four ranks", "LeNet, GPT, four ranks"]

# %% mutant="capstone_predict_fallen"
# A sum is as good as a mean if both sides sum
# There are four rows on each of four ranks, and sixteen on the single one, so the mean of the ranks' sums is a
# quarter of the sum of all rows.
prediction = ["GPT", "LeNet", "resume", "four ranks", "LeNet, GPT"]


# %% [markdown] exercise="capstone_resumable_run" kind="build" points=4
# ### Exercise 2 · A run that may be killed at any time
# Write `train(make, folder, steps, every)`. `make()` returns a fresh `Trainer`, always with the same initial state.
# Train until `steps` steps have been made in all, and return the losses of all of them. After every step whose number
# is divisible by `every`, and after the last one, save a checkpoint with `mytorch.save` as `folder /
# "checkpoint.pt"`; `mytorch.save` replaces the old file in one step. If `train` finds a checkpoint, it resumes from
# there. That includes the last checkpoint of a finished run, for which nothing remains to be done unless more steps
# are requested.
#
# The check calls `train` again and again, and the first calls are interrupted in the middle of a step.


# %% solution="capstone_resumable_run"
def train(make, folder: Path, steps: int, every: int) -> list[float]:
    ### BEGIN SOLUTION
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load_state_dict(mytorch.load(checkpoint))
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % every == 0 or len(trainer.losses) == steps:
            mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses
    ### END SOLUTION


# %% check="capstone_resumable_run"
generator = check.rng()
every = int(generator.integers(3, 5))
steps = 4 * every + int(generator.integers(1, every))
rows = generator.normal(size=(10, 3)).astype(np.float32)
kills, made = [], []


def make_trainer():
    mytorch.manual_seed(check.seed())
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 1))
    optimizer = mytorch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = mytorch.optim.lr_scheduler.StepLR(optimizer, 2, 0.8)
    loader = mytorch.utils.data.DataLoader(mytorch.tensor(rows), 3, shuffle=True)

    def loss(model, batch):
        made.append(len(trainer.losses) + 1)
        if kills and len(trainer.losses) + 1 == kills[0]:
            raise KeyboardInterrupt(f"killed in step {kills.pop(0)}")
        return ((model(batch) - batch.sum(1, keepdim=True)) ** 2).sum(), len(batch)

    trainer = mytorch.Trainer(model, optimizer, schedule, loader, loss)
    return trainer


def attempt(folder, steps, every=every):
    """One call of `train`: whether the run is finished, and what happened."""
    made.clear()
    try:
        outcome = [round(each, 3) for each in train(make_trainer, folder, steps, every)]
    except KeyboardInterrupt as error:
        outcome = str(error)
    files = sorted(each.name for each in folder.iterdir())
    saved = len(mytorch.load(folder / "checkpoint.pt")["losses"]) if "checkpoint.pt" in files else 0
    return not isinstance(outcome, str), {"steps made": list(made), "saved": saved, "files": files, "outcome": outcome}


def attempts(kill_in):
    """The results if the run is killed in these steps in turn; then of a finished run; then of one that is continued.

    The continued run begins in between two steps that are divisible by `every`, and is killed after the next of them.
    """
    kills[:] = kill_in
    with tempfile.TemporaryDirectory() as name:
        folder, found, is_over = Path(name), [], False
        while not is_over:
            is_over, said = attempt(folder, steps)
            found.append(said)
        found.append(attempt(folder, steps)[1])
        kills[:] = [5 * every + 1]
        return [*found, *(attempt(folder, 5 * every + 2)[1] for _ in range(2))]


shown = {"steps": steps, "every": every}
with tempfile.TemporaryDirectory() as name:
    shown["one step"] = attempt(Path(name), 1)[1]
    kills[:] = [3]
    shown["a checkpoint after each step, killed in step 3"] = [attempt(Path(name), 4, 1)[1] for _ in range(2)]
for kill_in in ([], [every - 1], [every + 2, 2 * every + 1, 2 * every + 2]):
    for number, each in enumerate(attempts(kill_in), start=1):
        shown |= {f"killed in steps {kill_in}, start {number}: {name}": value for name, value in each.items()}
check.show(
    shown, rtol=1e-4, atol=2e-3, text="For each start: the steps that it made, the last step saved, and the losses."
)

# %% [markdown] hint="capstone_resumable_run"
# `trainer.fit(n)` trains until n steps have been made in all. How do you use it to make exactly one more step?

# %% [markdown] hint="capstone_resumable_run"
# Use a loop with `trainer.fit(len(trainer.losses) + 1)`, and test after each step whether it is time to save. Whether
# the file exists is tested once, before the loop.

# %% [markdown] hint="capstone_resumable_run"
# Call `trainer.load_state_dict(mytorch.load(checkpoint))` if `checkpoint.exists()`. Save if the number of losses is
# divisible by `every`, or equals `steps`.


# %% mutant="capstone_resumable_run"
# Saves only at the end
# A run that is killed then has no checkpoint, so it starts again from the beginning.
def train(make, folder, steps, every):
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load_state_dict(mytorch.load(checkpoint))
    trainer.fit(steps)
    mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses


# %% mutant="capstone_resumable_run"
# Loads only the weights
# Momentum, learning rate, dropout and the order of the data start again, so the losses differ.
def train(make, folder, steps, every):
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists():
        state = mytorch.load(checkpoint)
        trainer.model.load_state_dict(state["model"])
        trainer.losses = state["losses"]
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % every == 0 or len(trainer.losses) == steps:
            mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses


# %% mutant="capstone_resumable_run"
# Counts from where this call started
# After a resume other steps are saved, because `range(0, steps, every)` doesn't take into account that the run began
# earlier.
def train(make, folder, steps, every):
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load_state_dict(mytorch.load(checkpoint))
    for number in range(1, steps + 1):
        trainer.fit(len(trainer.losses) + 1)
        if number % every == 0 or number == steps:
            mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses


# %% mutant="capstone_resumable_run"
# Saves every so many steps from where it began
# A finished run that is continued with more steps may begin at a step that isn't divisible by `every`. Save at the
# next step that is.
def train(make, folder, steps, every):
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load_state_dict(mytorch.load(checkpoint))
    while len(trainer.losses) < steps:
        trainer.fit(min(len(trainer.losses) + every, steps))
        mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses


# %% mutant="capstone_resumable_run"
# Saves on the way out
# A process that is killed doesn't run any `finally`, and one that is interrupted may be in the middle of a step. Save
# only when a step is due.
def train(make, folder, steps, every):
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load_state_dict(mytorch.load(checkpoint))
    try:
        while len(trainer.losses) < steps:
            trainer.fit(len(trainer.losses) + 1)
            if len(trainer.losses) % every == 0:
                mytorch.save(trainer.state_dict(), checkpoint)
    finally:
        mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses


# %% mutant="capstone_resumable_run"
# Saves after every step
# A save takes time, so save only after steps whose number is divisible by `every`, and after the last one.
def train(make, folder, steps, every):
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load_state_dict(mytorch.load(checkpoint))
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses


# %% mutant="capstone_resumable_run"
# Trains a finished run again
# The checkpoint of a finished run is a checkpoint too: if `train` loads it, no step remains, or only those that are
# requested in addition.
def train(make, folder, steps, every):
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists() and len(mytorch.load(checkpoint)["losses"]) < steps:
        trainer.load_state_dict(mytorch.load(checkpoint))
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % every == 0 or len(trainer.losses) == steps:
            mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses


# %% mutant="capstone_resumable_run"
# Doesn't save the last step
# The run ends without saving its final state, which is lost.
def train(make, folder, steps, every):
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load_state_dict(mytorch.load(checkpoint))
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % every == 0:
            mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses


# %% [markdown] exercise="capstone_repair_resume" kind="repair" points=3
# ### Exercise 3 · A resume that isn't exact
# A colleague writes training loops without a trainer. `run` is a dict with "model", "optimizer", "schedule" and
# "step". `snapshot(run)` returns its state, which is kept in memory, and `restore(run, state)` brings a run back to
# that state. The run keeps its model, optimizer and schedule objects, because the rest of the program may refer to
# them. There are three reports:
#
# - If a run is restored at once, its next losses are nearly correct but not equal, as if each step used other random
#   numbers.
# - If the run continues for ten steps after the snapshot and is then restored, it stays where the ten steps had
#   brought it.
# - If a run is restored twice from the same snapshot, the second attempt differs from the first.
#
# Fix both functions, where you may choose what a snapshot contains.


# %% solution="capstone_repair_resume"
def snapshot(run: dict) -> dict:
    ### BEGIN SOLUTION
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return copy.deepcopy(parts | {"step": run["step"], "random": mytorch.get_rng_state()})
    ### END SOLUTION
    ### BEGIN STUB
    # parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    # return parts | {"step": run["step"]}
    ### END STUB


def restore(run: dict, state: dict) -> None:
    ### BEGIN SOLUTION
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.set_rng_state(state["random"])
    ### END SOLUTION
    ### BEGIN STUB
    # for name in ("model", "optimizer", "schedule"):
    #     run[name].load_state_dict(state[name])
    # run["step"] = state["step"]
    # mytorch.manual_seed(run["step"])
    ### END STUB


# %% check="capstone_repair_resume"
generator = check.rng()
inputs = mytorch.tensor(generator.normal(size=(12, 3)).astype(np.float32))
before = int(generator.integers(3, 6))


def begin():
    mytorch.manual_seed(check.seed())
    model = nn.Sequential(nn.Linear(3, 6), nn.Dropout(0.5), nn.Linear(6, 1))
    optimizer = mytorch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    schedule = mytorch.optim.lr_scheduler.StepLR(optimizer, 2, 0.9)
    return {"model": model, "optimizer": optimizer, "schedule": schedule, "step": 0}


def losses_of(run, steps):
    found = []
    for _ in range(steps):
        chosen = inputs[mytorch.randperm(12)[:4]]
        run["optimizer"].zero_grad()
        loss = ((run["model"](chosen) - chosen.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        run["optimizer"].step()
        run["schedule"].step()
        run["step"] += 1
        found.append(round(loss.item(), 3))
    return found


run = begin()
losses_of(run, before)
state = snapshot(run)
shown = {"steps before the snapshot": before, "continued": losses_of(run, 8)}
fresh = begin()
for name, target in {"restored": run, "restored again": run, "in a fresh run": fresh}.items():
    parts = dict(target)
    restore(target, state)
    shown[f"{name}: objects kept"] = [part for part, each in parts.items() if part != "step" and target[part] is each]
    shown[f"{name}: step, rate"] = target["step"], target["schedule"].get_last_lr()
    shown[f"{name}: losses"] = losses_of(target, 8)
later = snapshot(run)
losses_of(run, 2)
restore(run, later)
shown["from a second snapshot: losses"] = losses_of(run, 2)
check.show(shown, rtol=1e-4, atol=2e-3, text="The next eight losses, which should be the same each time.")

# %% [markdown] hint="capstone_repair_resume"
# Take the three reports one by one, and decide which of them is about a state that isn't saved, and which are about a
# state that is saved.

# %% [markdown] hint="capstone_repair_resume"
# What does a `state_dict` share with the model that returned it? And what does an optimizer do with the tensors that
# it loads?

# %% [markdown] hint="capstone_repair_resume"
# Use `copy.deepcopy` in both functions, and `mytorch.get_rng_state()` and `mytorch.set_rng_state(...)` instead of a
# seed.


# %% mutant="capstone_repair_resume"
# Copies when it saves, not when it restores
# The first restored run updates the tensors of the snapshot itself, so the second one gets other values.
def snapshot(run):
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return copy.deepcopy(parts | {"step": run["step"], "random": mytorch.get_rng_state()})


def restore(run, state):
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.set_rng_state(state["random"])


# %% mutant="capstone_repair_resume"
# Copies when it restores, not when it saves
# By then the run has continued, so you copy the tensors that it has changed.
def snapshot(run):
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return parts | {"step": run["step"], "random": mytorch.get_rng_state()}


def restore(run, state):
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.set_rng_state(state["random"])


# %% mutant="capstone_repair_resume"
# Seeds by the step
# A seed starts a new random stream, whereas the run that continued was in the middle of another one.
def snapshot(run):
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return copy.deepcopy(parts | {"step": run["step"]})


def restore(run, state):
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.manual_seed(run["step"])


# %% [markdown] exercise="capstone_measure_interval" kind="measure" points=2
# ### Exercise 4 · The best interval
# A job has 1,000 hours of work to do and saves a checkpoint every `interval` hours. Failures come at random times, and
# each of them sets the job back to its last checkpoint. `job(interval)`, from the folded cell below, returns the hours
# that such a job takes on average, computed from a formula, so that it returns the same number each time. Find the
# interval among `INTERVALS` with the fewest hours.
#
# The check tries five jobs: in the second a save takes four times as long as in the first, in the third failures are
# four times as rare, the fourth combines both, and in the fifth failures are 80 times as frequent as in the first. What
# effect does each factor have on your results? Since the lesson's formula is an approximation, measure instead of
# computing it.

# %% setup=true
INTERVALS = [0.25, 0.5, 1, 2, 4, 8, 16, 32]


def make_job(cost: float, failure_every: float):
    """A job in which a save takes `cost` hours and failures come every `failure_every` hours on average.

    One interval takes the work and the save. If failures come independently of each other, the expected time until both
    are done without a failure in between is M · (exp((interval + cost) / M) − 1), for M hours between failures.
    """

    def job(interval: float) -> float:
        return 1000 / interval * failure_every * math.expm1((interval + cost) / failure_every)

    return job


# %% solution="capstone_measure_interval"
def best_interval(job) -> float:
    """The interval among INTERVALS with which the job takes the fewest hours."""
    ### BEGIN SOLUTION
    return min(INTERVALS, key=job)
    ### END SOLUTION


# %% check="capstone_measure_interval"
cost, failure_every = (float(each) for each in check.rng().uniform((0.04, 15), (0.06, 25)))
jobs = {
    "first": (cost, failure_every),
    "a save takes four times as long": (4 * cost, failure_every),
    "failures are four times as rare": (cost, 4 * failure_every),
    "both": (4 * cost, 4 * failure_every),
    "very frequent failures": (cost, failure_every / 80),
}
check.show(
    {"of each job": [f"{best_interval(make_job(*values)):g} hours" for values in jobs.values()]},
    text="The best time between two saves, for each of the jobs.",
    secret=True,
)

# %% [markdown] hint="capstone_measure_interval"
# Call the job with each interval, and write down the hours that it takes.

# %% [markdown] hint="capstone_measure_interval"
# At short intervals the hours decrease as the interval grows, and at long intervals they increase, so look for the
# turning point.

# %% [markdown] hint="capstone_measure_interval"
# `min` takes a `key`.


# %% mutant="capstone_measure_interval"
# The shortest interval
# The job then spends much of its time on saving.
def best_interval(job):
    return INTERVALS[0]


# %% mutant="capstone_measure_interval"
# Returns the hours instead of the interval
# That is how long the best job takes, whereas the question is for its interval.
def best_interval(job):
    return min(job(interval) for interval in INTERVALS)


# %% mutant="capstone_measure_interval"
# One interval too far
# The first interval that is worse than the preceding one isn't the best, since the preceding one was better.
def best_interval(job):
    for shorter, longer in pairwise(INTERVALS):
        if job(longer) > job(shorter):
            return longer
    return INTERVALS[-1]


# %% [markdown] exercise="capstone_four_ranks" kind="build" points=4
# ### Exercise 5 · Four ranks with unequal shares
# Write `train_rank(rank, model, batches, steps)`, which `mytorch.distributed.spawn` runs on each rank. It trains with
# `mytorch.Trainer`, and the ranks together must do what one device would do with the whole batches.
#
# - A batch is `(inputs, targets, counts)`, of shapes (rows, features), (rows, 1) and (rows, 1). A row counts if its
#   element of `counts` is 1, but not if it is 0. The loss of a row is `(model(inputs) - targets) ** 2`. A step uses
#   the mean over the rows that count, on **all** ranks, and there may be a rank on which no row counts.
# - This rank gets the rows `rank`, `rank + size`, `rank + 2 * size` … of each batch. So ranks differ in the number of
#   their rows, and in the number of rows that count.
# - The ranks' models begin with different weights, and after each step they must be the same. Use
#   `mytorch.nn.parallel.DistributedDataParallel`, which averages gradients over the ranks.
# - Train with `SGD` at a learning rate of 0.1, and with `ExponentialLR` with a factor of 0.9. Return the trainer's
#   losses, whose mean over the ranks must be the loss of the whole batch.


# %% solution="capstone_four_ranks"
def train_rank(rank: int, model, batches: list, steps: int) -> list[float]:
    ### BEGIN SOLUTION
    size = mytorch.distributed.get_world_size()
    mine = [tuple(each[rank::size] for each in batch) for batch in batches]

    def loss(model, batch):
        inputs, targets, counts = batch
        number = counts.sum().reshape(1)
        mytorch.distributed.all_reduce(number)
        return ((model(inputs) - targets) ** 2 * counts).sum(), number.item() / size

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses
    ### END SOLUTION


# %% check="capstone_four_ranks"
generator = check.rng()
steps, whole = 5, []
for batch in range(3):  # in the first, one of four ranks has no row that counts
    number = int(generator.integers(10, 15))
    counts = (np.arange(number) % 4 != int(generator.integers(1, 4))) | (generator.random(number) < 0.3 * batch)
    rows = generator.normal(size=(number, 2)).astype(np.float32)
    whole.append(
        tuple(mytorch.tensor(each) for each in (rows, rows.sum(1, keepdims=True), counts[:, None].astype(np.float32)))
    )


def models_of(ranks):
    found = []
    for rank in range(ranks):
        mytorch.manual_seed(check.seed() + rank)
        found.append(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)))
    return found


shown = {
    "rows in each batch": [len(each[0]) for each in whole],
    "rows that count": [int(each[2].sum().item()) for each in whole],
}
for ranks in (1, 3, 4):
    models, losses = models_of(ranks), []
    mean = f"{ranks} ranks: mean of the losses"
    try:
        losses = mytorch.distributed.spawn(
            lambda rank, models=models: train_rank(rank, models[rank], whole, steps), nprocs=ranks
        )
        shown[mean] = [sum(each) / ranks for each in zip(*losses, strict=True)]
    except ZeroDivisionError as error:  # of a rank on which no row counts
        shown[mean] = error
    shown[f"{ranks} ranks: first loss on each rank"] = [each[0] for each in losses]
    shown[f"{ranks} ranks: first bias on each rank"] = [each[0].bias.detach() for each in models]
models = models_of(2)
once = mytorch.distributed.spawn(lambda rank: train_rank(rank, models[rank], whole[1:2], 1), nprocs=2)
shown["2 ranks, one batch, one step: losses and biases"] = [*once, *(each[0].bias.detach() for each in models)]
check.show(shown, rtol=1e-3, atol=1e-4, text="With three ranks and with four, the losses should be those of one.")

# %% [markdown] hint="capstone_four_ranks"
# Write it for one rank first, and then compare the loss of four ranks with it. A trainer divides the sum of the
# losses, and the gradients, by the number that your loss function returns.

# %% [markdown] hint="capstone_four_ranks"
# DDP turns the gradient into the mean over the ranks, which is the sum of all ranks' sums divided by the number of
# ranks. By what must this still be divided to give the mean over all rows that count?

# %% [markdown] hint="capstone_four_ranks"
# Divide by the number of rows that count on all ranks, divided by the number of ranks.
# `mytorch.distributed.all_reduce` sums a one-element tensor over the ranks, in place.


# %% mutant="capstone_four_ranks"
# Each rank divides by its own rows
# That is a mean of means, in which a row on a rank with few rows counts more. A rank on which no row counts divides
# by zero.
def train_rank(rank, model, batches, steps):
    size = mytorch.distributed.get_world_size()
    mine = [tuple(each[rank::size] for each in batch) for batch in batches]

    def loss(model, batch):
        return ((model(batch[0]) - batch[1]) ** 2 * batch[2]).sum(), batch[2].sum().item()

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% mutant="capstone_four_ranks"
# Divides by all rows, and DDP divides again
# DDP has already divided by the number of ranks, so your gradient is too small by a factor of that number.
def train_rank(rank, model, batches, steps):
    size = mytorch.distributed.get_world_size()
    mine = [tuple(each[rank::size] for each in batch) for batch in batches]

    def loss(model, batch):
        number = batch[2].sum().reshape(1)
        mytorch.distributed.all_reduce(number)
        return ((model(batch[0]) - batch[1]) ** 2 * batch[2]).sum(), number.item()

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% mutant="capstone_four_ranks"
# Without DDP
# Each rank trains its own model on its own rows, because the gradients aren't averaged over the ranks.
def train_rank(rank, model, batches, steps):
    size = mytorch.distributed.get_world_size()
    mine = [tuple(each[rank::size] for each in batch) for batch in batches]

    def loss(model, batch):
        number = batch[2].sum().reshape(1)
        mytorch.distributed.all_reduce(number)
        return ((model(batch[0]) - batch[1]) ** 2 * batch[2]).sum(), number.item() / size

    optimizer = mytorch.optim.SGD(model.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(model, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% mutant="capstone_four_ranks"
# Counts all rows
# The mean is over the rows whose element of `counts` is 1, on all ranks.
def train_rank(rank, model, batches, steps):
    size = mytorch.distributed.get_world_size()
    mine = [tuple(each[rank::size] for each in batch) for batch in batches]

    def loss(model, batch):
        number = mytorch.tensor([float(len(batch[0]))])
        mytorch.distributed.all_reduce(number)
        return ((model(batch[0]) - batch[1]) ** 2 * batch[2]).sum(), number.item() / size

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% mutant="capstone_four_ranks"
# Contiguous rows
# The ranks together have all rows, so they learn the same. But each one has other rows than the task says: the rows
# are dealt out in turn, as a `DistributedSampler` does it.
def train_rank(rank, model, batches, steps):
    size = mytorch.distributed.get_world_size()
    mine = [tuple(each.chunk(size)[rank] for each in batch) for batch in batches]

    def loss(model, batch):
        number = batch[2].sum().reshape(1)
        mytorch.distributed.all_reduce(number)
        return ((model(batch[0]) - batch[1]) ** 2 * batch[2]).sum(), number.item() / size

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses
