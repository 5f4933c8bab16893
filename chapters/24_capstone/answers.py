# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 24` grades them.


# %% answer="capstone_predict_fallen" right="as first written, from the task alone"
prediction = ["GPT", "LeNet", "resume", "four ranks", "LeNet, GPT, four ranks"]


# %% answer="capstone_predict_fallen" right="small letters, no spaces"
prediction = ["gpt", "lenet", "resume", "four ranks", "LeNet,GPT,four ranks"]


# %% answer="capstone_predict_fallen" wrong="without four ranks"
prediction = ["GPT", "LeNet", "resume", "four ranks", "LeNet, GPT"]


# %% answer="capstone_resumable_run" right="done + every"
def train(make, folder: Path, steps: int, every: int) -> list[float]:
    trainer = make()
    path = folder / "checkpoint.pt"
    if path.exists():
        trainer.load_state_dict(mytorch.load(path))
    while len(trainer.losses) < steps:
        done = len(trainer.losses)
        trainer.fit(min(done + every, steps))
        mytorch.save(trainer.state_dict(), path)
    return trainer.losses


# %% answer="capstone_resumable_run" wrong="a finished run is trained anew"
def train(make, folder, steps, every):
    trainer, path = make(), folder / "checkpoint.pt"
    if path.exists() and len(mytorch.load(path)["losses"]) < steps:
        trainer.load_state_dict(mytorch.load(path))
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % every == 0 or len(trainer.losses) == steps:
            mytorch.save(trainer.state_dict(), path)
    return trainer.losses


# %% answer="capstone_resumable_run" wrong="a finished run is returned, however many steps are asked for"
def train(make, folder, steps, every):
    trainer, path = make(), folder / "checkpoint.pt"
    if path.exists():
        trainer.load_state_dict(mytorch.load(path))
        if len(trainer.losses) % every:
            return trainer.losses
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % every == 0 or len(trainer.losses) == steps:
            mytorch.save(trainer.state_dict(), path)
    return trainer.losses


# %% answer="capstone_resumable_run" wrong="saves after every step"
def train(make, folder, steps, every):
    trainer, path = make(), folder / "checkpoint.pt"
    if path.exists():
        trainer.load_state_dict(mytorch.load(path))
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        mytorch.save(trainer.state_dict(), path)
    return trainer.losses


# %% answer="capstone_repair_resume" right="as first written, from the task alone"
def snapshot(run: dict) -> dict:
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return copy.deepcopy(parts | {"step": run["step"], "rng": mytorch.get_rng_state()})


def restore(run: dict, state: dict) -> None:
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.set_rng_state(state["rng"])


# %% answer="capstone_repair_resume" right="by way of a file in memory"
def snapshot(run):
    import io
    buffer = io.BytesIO()
    mytorch.save({n: run[n].state_dict() for n in ("model", "optimizer", "schedule")} | {"step": run["step"], "rng": mytorch.get_rng_state()}, buffer)
    return {"bytes": buffer.getvalue()}


def restore(run, state):
    import io
    s = mytorch.load(io.BytesIO(state["bytes"]))
    for n in ("model", "optimizer", "schedule"):
        run[n].load_state_dict(s[n])
    run["step"] = s["step"]
    mytorch.set_rng_state(s["rng"])


# %% answer="capstone_repair_resume" wrong="snapshot without a copy"
def snapshot(run: dict) -> dict:
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return parts | {"step": run["step"], "rng": mytorch.get_rng_state()}


def restore(run: dict, state: dict) -> None:
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.set_rng_state(state["rng"])


# %% answer="capstone_repair_resume" wrong="a seed for the generator's state"
def snapshot(run: dict) -> dict:
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return copy.deepcopy(parts | {"step": run["step"], "rng": mytorch.get_rng_state()})


def restore(run: dict, state: dict) -> None:
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.manual_seed(run["step"])


# %% answer="capstone_repair_resume" wrong="shallow copy"
def snapshot(run: dict) -> dict:
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return copy.copy(parts | {"step": run["step"], "rng": mytorch.get_rng_state()})


def restore(run: dict, state: dict) -> None:
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.set_rng_state(state["rng"])


# %% answer="capstone_measure_interval" right="as first written, from the task alone"
def best_interval(job) -> float:
    return min(INTERVALS, key=job)


# %% answer="capstone_measure_interval" right="until it gets worse"
def best_interval(job):
    best = INTERVALS[0]
    for i in INTERVALS[1:]:
        if job(i) > job(best):
            break
        best = i
    return best


# %% answer="capstone_measure_interval" wrong="always 2, by a formula"
def best_interval(job):
    c = job(1) / 1000
    return min(INTERVALS, key=lambda i: abs(i - (0.2 * 20) ** 0.5))


# %% answer="capstone_measure_interval" wrong="two hours for every job"
def best_interval(job):
    return 2


# %% answer="capstone_four_ranks" right="as first written, from the task alone"
def train_rank(rank: int, model, batches: list, steps: int) -> list[float]:
    size = mytorch.distributed.get_world_size()
    ddp = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(ddp.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    shares = [(tuple(t[rank::size] for t in b), b[2].sum().item()) for b in batches]

    def loss(m, batch):
        (x, y, c), total = batch
        return ((m(x) - y) ** 2 * c).sum() * size, total

    trainer = mytorch.Trainer(ddp, optimizer, schedule, shares, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" right="count by all_reduce"
def train_rank(rank, model, batches, steps):
    dist = mytorch.distributed
    size = dist.get_world_size()
    ddp = mytorch.nn.parallel.DistributedDataParallel(model)
    opt = mytorch.optim.SGD(ddp.parameters(), lr=0.1)
    sched = mytorch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9)
    mine = [tuple(t[rank::size] for t in b) for b in batches]

    def loss(m, batch):
        x, y, c = batch
        n = c.sum().clone()
        dist.all_reduce(n)
        return ((m(x) - y).square() * c).sum(), n.item() / size

    trainer = mytorch.Trainer(ddp, opt, sched, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" wrong="mean of the rank's own count"
def train_rank(rank: int, model, batches: list, steps: int) -> list[float]:
    size = mytorch.distributed.get_world_size()
    ddp = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(ddp.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    shares = [(tuple(t[rank::size] for t in b), b[2].sum().item()) for b in batches]

    def loss(m, batch):
        (x, y, c), total = batch
        return ((m(x) - y) ** 2 * c).sum(), c.sum().item()

    trainer = mytorch.Trainer(ddp, optimizer, schedule, shares, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" wrong="blocks of neighbours"
def train_rank(rank: int, model, batches: list, steps: int) -> list[float]:
    size = mytorch.distributed.get_world_size()
    ddp = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(ddp.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    shares = [(tuple(t[rank * len(t) // size:(rank + 1) * len(t) // size] for t in b), b[2].sum().item()) for b in batches]

    def loss(m, batch):
        (x, y, c), total = batch
        return ((m(x) - y) ** 2 * c).sum() * size, total

    trainer = mytorch.Trainer(ddp, optimizer, schedule, shares, loss)
    trainer.fit(steps)
    return trainer.losses
