# %% [markdown]
# # Exercises · Everything on your own code
# Five exercises, 14 points, about 60 minutes. They use `mytorch` as it is after chapter 24, and nothing of it is locked.

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
# Each line puts one wrong part into `mytorch`. The tests are the milestones of the lesson: `LeNet` (trained with SGD and momentum) and `GPT` (trained
# with AdamW) compare three losses with minitorch's; `resume` compares a run that goes on with one that was resumed in the middle of an epoch, with
# dropout and a shuffling loader; `four ranks` compares four ranks with one, and the ranks begin with different weights.
#
# 1. `adam` without bias correction
# 2. `max_pool2d` takes the mean of each window
# 3. `Trainer.load_state_dict` leaves the random numbers as they are
# 4. `broadcast` does nothing
# 5. `nll_loss` returns the sum where a mean is asked for
#
# Set `prediction` to a list of five strings, such as `"LeNet"` or `"LeNet, GPT"`, with the tests in any order and spelling of capitals.

# %% solution="capstone_predict_fallen"
### BEGIN SOLUTION
prediction = ["GPT", "LeNet", "resume", "four ranks", "LeNet, GPT, four ranks"]
### END SOLUTION

# %% check="capstone_predict_fallen"
names = ["adam", "max_pool2d", "load_state_dict", "broadcast", "nll_loss"]
fails = [sorted(test.strip().casefold() for test in each.split(",")) for each in prediction]
check.show(dict(zip(names, fails, strict=True)), secret=True)

# %% [markdown] hint="capstone_predict_fallen"
# For each part ask who calls it: LeNet, the GPT, the trainer when it saves, or the ranks?

# %% [markdown] hint="capstone_predict_fallen"
# A test fails only if the two sides that it compares differ. `resume` and `four ranks` compare `mytorch` with itself.

# %% [markdown] hint="capstone_predict_fallen"
# LeNet here uses SGD, so Adam's fault doesn't show there. In `four ranks` a rank has four rows, and the single one has sixteen: the mean of four
# such means is the mean of sixteen. What is the mean of four such sums?

# %% mutant="capstone_predict_fallen"
# A wrong part spoils everything that uses it
# `resume` and `four ranks` compare the library with itself: what is equally wrong on both sides isn't seen.
prediction = ["GPT, resume", "LeNet", "resume", "four ranks", "LeNet, GPT, resume, four ranks"]

# %% mutant="capstone_predict_fallen"
# The optimizer is everybody's
# LeNet is trained with SGD here, so Adam's fault can't show there.
prediction = ["LeNet, GPT", "LeNet", "resume", "four ranks", "LeNet, GPT, four ranks"]

# %% mutant="capstone_predict_fallen"
# A sum is as good as a mean where both sides sum
# Four rows on each rank, sixteen on one: the mean over the ranks of four sums is a fourth of the sum of all.
prediction = ["GPT", "LeNet", "resume", "four ranks", "LeNet, GPT"]


# %% [markdown] exercise="capstone_resumable_run" kind="build" points=4
# ### Exercise 2 · A run that may be killed at any time
# Write `train(make, folder, steps, every)`. `make()` gives a fresh `Trainer`, always the same one. Train until `steps` steps have been made, and return the
# losses of all of them. After every step whose number can be divided by `every`, and after the last one, save a checkpoint with `mytorch.save` as
# `folder / "checkpoint.pt"`; `mytorch.save` replaces the old file in one step. If `train` finds a checkpoint, it goes on from there, also if that
# is the last one of a run that was finished: nothing is left to do then, unless more steps are asked for.
#
# The check calls `train` again and again. The first calls are interrupted in the middle of a step.


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


def attempt(folder, steps):
    """One call of `train`: whether the run is over, and what happened."""
    made.clear()
    try:
        outcome = [round(each, 3) for each in train(make_trainer, folder, steps, every)]
    except KeyboardInterrupt as error:
        outcome = str(error)
    files = sorted(each.name for each in folder.iterdir())
    saved = len(mytorch.load(folder / "checkpoint.pt")["losses"]) if "checkpoint.pt" in files else 0
    return not isinstance(outcome, str), {"steps made": list(made), "saved": saved, "files": files, "outcome": outcome}


def attempts(kill_in):
    """What happens in a folder in which the run is killed in these steps, one after the other; then once more, and with more steps."""
    kills[:] = kill_in
    with tempfile.TemporaryDirectory() as name:
        folder, found, is_over = Path(name), [], False
        while not is_over:
            is_over, said = attempt(folder, steps)
            found.append(said)
        return [*found, *(attempt(folder, count)[1] for count in (steps, steps + 2))]


shown = {"steps": steps, "every": every}
for kill_in in ([], [every - 1], [every + 2, 2 * every + 1, 2 * every + 2]):
    for number, each in enumerate(attempts(kill_in), start=1):
        shown |= {f"killed in steps {kill_in}, start {number}: {name}": value for name, value in each.items()}
check.show(shown, rtol=1e-4, atol=2e-3, text="For each start: the steps it made, the last step saved, and the losses.")

# %% [markdown] hint="capstone_resumable_run"
# `trainer.fit(n)` trains until n steps have been made in all. How do you make exactly one more step?

# %% [markdown] hint="capstone_resumable_run"
# A loop: `trainer.fit(len(trainer.losses) + 1)`, then ask whether it is time to save. Before the loop, look for the file.

# %% [markdown] hint="capstone_resumable_run"
# `trainer.load_state_dict(mytorch.load(checkpoint))` if `checkpoint.exists()`. Save if the number of losses can be divided by `every`, or is `steps`.


# %% mutant="capstone_resumable_run"
# Saves at the end alone
# A run that is killed has no checkpoint then, and begins again.
def train(make, folder, steps, every):
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load_state_dict(mytorch.load(checkpoint))
    trainer.fit(steps)
    mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses


# %% mutant="capstone_resumable_run"
# Loads the weights alone
# Momentum, rate, dropout and the order of the data begin anew, so the losses are other ones.
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
# Counts from where it started
# After a resume the steps that are saved are other ones: `range(0, steps, every)` doesn't know that the run began earlier.
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
# Saves on the way out
# A process that is killed runs no `finally`, and one that is interrupted may be in the middle of a step. Save when a step is due, and not otherwise.
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
# A save takes time. Only a step whose number can be divided by `every` is saved, and the last one.
def train(make, folder, steps, every):
    trainer, checkpoint = make(), folder / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load_state_dict(mytorch.load(checkpoint))
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        mytorch.save(trainer.state_dict(), checkpoint)
    return trainer.losses


# %% mutant="capstone_resumable_run"
# Trains a finished run anew
# The checkpoint of a finished run is a checkpoint, too: if `train` loads it, no step is left, or only those that are asked for in addition.
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
# The run is over, and what it came to is lost.
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
# A colleague writes loops without a trainer. `run` is a dict with "model", "optimizer", "schedule" and "step". `snapshot(run)` gives its state, which is kept
# in memory, and `restore(run, state)` brings a run back to it. Three reports:
#
# - Restored at once, the next losses are nearly right, but not equal: somewhere in each step a random number is another one.
# - If the run goes on for ten steps after the snapshot and is then restored, it stays where the ten steps had brought it.
# - Restored twice from the same snapshot, the second attempt differs from the first.
#
# Repair both functions. What a snapshot is made of is yours to choose.


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
shown = {"steps before the snapshot": before, "going on": losses_of(run, 8)}
fresh = begin()
for name, target in {"restored": run, "restored again": run, "in a fresh run": fresh}.items():
    restore(target, state)
    shown[f"{name}: step, rate"] = target["step"], target["schedule"].get_last_lr()
    shown[f"{name}: losses"] = losses_of(target, 8)
check.show(shown, rtol=1e-4, atol=2e-3, text="The same eight losses each time.")

# %% [markdown] hint="capstone_repair_resume"
# Take the three reports one by one. Which of them is about something that isn't saved, and which are about something that is?

# %% [markdown] hint="capstone_repair_resume"
# What does a `state_dict` share with the model that gave it? And what does an optimizer do with the tensors that it is given?

# %% [markdown] hint="capstone_repair_resume"
# `copy.deepcopy` in both functions, and `mytorch.get_rng_state()`, `mytorch.set_rng_state(...)` in place of a seed.


# %% mutant="capstone_repair_resume"
# Copies when it saves, not when it restores
# The first restored run steps with the tensors of the snapshot, so the second one gets others.
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
# By then the run has gone on, and its tensors are what you copy.
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
# A seed begins a stream of its own. The run that went on was in the middle of another one.
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
# `job(interval)`, from the folded cell below, simulates a job of 1,000 hours that saves a checkpoint every `interval` hours, and gives the hours that it takes. Failures come at
# random, and each throws the job back to its last checkpoint. Find the interval among `INTERVALS` with which a job is done first.
#
# The check asks for four jobs. In the second a save takes four times as long as in the first, in the third failures are four times as rare, in the fourth both. What does each
# factor do to your answers? The formula of the lesson is an approximation, so measure.

# %% setup=true
INTERVALS = [0.25, 0.5, 1, 2, 4, 8, 16, 32]


def make_job(cost: float, failure_every: float):
    """A job in which a save takes `cost` hours and failures come every so many hours: the mean over all that can happen."""

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
    "failures all the time": (cost, failure_every / 80),
}
check.show(
    {"of each job": [f"{best_interval(make_job(*values)):g} hours" for values in jobs.values()]},
    text="The time between two saves, for each of the jobs.",
    secret=True,
)

# %% [markdown] hint="capstone_measure_interval"
# Call the job with each interval, and write the hours down.

# %% [markdown] hint="capstone_measure_interval"
# At short intervals the hours fall as the interval grows, at long ones they rise. Where do they turn?

# %% [markdown] hint="capstone_measure_interval"
# `min(INTERVALS, key=job)` is the interval for which `job` gives the least.


# %% mutant="capstone_measure_interval"
# Saves as often as it can
# Then the job does little else than save.
def best_interval(job):
    return INTERVALS[0]


# %% mutant="capstone_measure_interval"
# Takes the hours for the interval
# That is how long the best job takes. The question is for its interval.
def best_interval(job):
    return min(job(interval) for interval in INTERVALS)


# %% mutant="capstone_measure_interval"
# Stops one too late
# The first interval that is worse than the one before isn't the best: that was the one before.
def best_interval(job):
    for shorter, longer in pairwise(INTERVALS):
        if job(longer) > job(shorter):
            return longer
    return INTERVALS[-1]


# %% [markdown] exercise="capstone_four_ranks" kind="build" points=4
# ### Exercise 5 · Four ranks with unequal shares
# Write `train_rank(rank, model, batches, steps)`, which `mytorch.distributed.spawn` runs on each rank. It trains with `mytorch.Trainer`, and together the ranks must do what one device
# would do with the whole batches.
#
# - A batch is `(inputs, targets, counts)`, and a row counts if its entry of `counts` is 1, not if it is 0. The loss of a row is `(model(inputs) - targets) ** 2`. A step uses the mean over
#   the rows that count, on **all** ranks; there may be a rank on which none does.
# - This rank gets the rows `rank`, `rank + size`, `rank + 2 * size` … of each batch. So ranks differ in the number of rows, and of rows that count.
# - The ranks' models begin differently; after each step they must be the same. Use `mytorch.nn.parallel.DistributedDataParallel`: it averages gradients over the ranks.
# - Train with `SGD` at a rate of 0.1 and `ExponentialLR` with a factor of 0.9. Return the trainer's losses. Their mean over the ranks must be the loss of the whole batch.


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
check.show(shown, rtol=1e-3, atol=1e-4, text="With three ranks and with four the losses are those of one.")

# %% [markdown] hint="capstone_four_ranks"
# Write it for one rank first, then compare the loss of four with it. A trainer divides the sum of the losses, and the gradients, by the number that your loss function gives.

# %% [markdown] hint="capstone_four_ranks"
# DDP makes the gradient the mean over the ranks: the sum of all ranks' sums, divided by the number of ranks. By what does it have to be divided still, to be the mean over all
# rows that count?

# %% [markdown] hint="capstone_four_ranks"
# By the number of rows that count on all ranks, divided by the number of ranks. `mytorch.distributed.all_reduce` adds a tensor of one number up over the ranks, in place.


# %% mutant="capstone_four_ranks"
# Each rank divides by its own rows
# That is a mean of means: a row on a rank with few rows counts more, and a rank on which no row counts divides by 0.
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
# DDP has divided by the number of ranks already. Your gradient is as many times too small as there are ranks.
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
# Each rank trains a model of its own, on its own rows. Nobody sees the others' gradients.
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
# Counts the rows that don't count
# The mean is over the rows whose entry of `counts` is 1, on all ranks.
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
# Neighbouring rows
# Together the ranks have all rows, so they learn the same. But each has other rows than those that were asked for, which are dealt out in turn, as a
# `DistributedSampler` does.
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
