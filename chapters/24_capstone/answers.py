# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 24` grades them.


# %% answer="capstone_predict_fallen" right="as first written, from the task alone"
prediction = ["GPT", "LeNet", "resume", "four ranks", "LeNet, GPT, four ranks"]


# %% answer="capstone_predict_fallen" right="small letters, no spaces"
prediction = ["gpt", "lenet", "resume", "four ranks", "LeNet,GPT,four ranks"]


# %% answer="capstone_predict_fallen" wrong="without four ranks"
prediction = ["GPT", "LeNet", "resume", "four ranks", "LeNet, GPT"]


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


# %% answer="capstone_predict_fallen" wrong="a random state that is lost also changes the training of LeNet"
prediction = ["GPT", "LeNet", "resume, LeNet", "four ranks", "LeNet, GPT, four ranks"]


# %% answer="capstone_predict_fallen" wrong="the mean of a window is as good as its maximum"
prediction = ["GPT", "", "resume", "four ranks", "LeNet, GPT, four ranks"]


# %% answer="capstone_predict_fallen" wrong="the ranks' models are equal in any case"
prediction = ["GPT", "LeNet", "resume", "", "LeNet, GPT, four ranks"]


# %% answer="capstone_predict_fallen" wrong="the GPT pools, too"
prediction = ["GPT", "LeNet, GPT", "resume", "four ranks", "LeNet, GPT, four ranks"]


# %% answer="capstone_predict_fallen" wrong="a resume broadcasts"
prediction = ["GPT", "LeNet", "resume", "four ranks, resume", "LeNet, GPT, four ranks"]


# %% answer="capstone_predict_fallen" wrong="a language model has no nll_loss"
prediction = ["GPT", "LeNet", "resume", "four ranks", "LeNet, four ranks"]


# %% answer="capstone_predict_fallen" wrong="Adam without correction is the same after three steps"
prediction = ["", "LeNet", "resume", "four ranks", "LeNet, GPT, four ranks"]


# %% answer="capstone_predict_fallen" right="other order, spaces at the ends"
prediction = (" GPT ", "LENET", "Resume", "Four Ranks", "four ranks,  GPT,LeNet ")


# %% answer="capstone_predict_fallen" right="joined from lists"
prediction = [", ".join(each) for each in (["GPT"], ["LeNet"], ["resume"], ["four ranks"], ["GPT", "LeNet", "four ranks"])]


# %% answer="capstone_resumable_run" wrong="done + every, from where it was resumed"
def train(make, folder, steps, every):
    trainer, path = make(), folder / "checkpoint.pt"
    if path.exists():
        trainer.load_state_dict(mytorch.load(path))
    done = len(trainer.losses)
    for end in [*range(done + every - 1, steps, every), steps]:
        trainer.fit(max(end, done))
        mytorch.save(trainer.state_dict(), path)
    return trainer.losses


# %% answer="capstone_resumable_run" wrong="saves before the step"
def train(make, folder, steps, every):
    trainer, path = make(), folder / "checkpoint.pt"
    if path.exists():
        trainer.load_state_dict(mytorch.load(path))
    while len(trainer.losses) < steps:
        if len(trainer.losses) % every == 0:
            mytorch.save(trainer.state_dict(), path)
        trainer.fit(len(trainer.losses) + 1)
    mytorch.save(trainer.state_dict(), path)
    return trainer.losses


# %% answer="capstone_resumable_run" wrong="a file for each step"
def train(make, folder, steps, every):
    trainer = make()
    paths = sorted(folder.glob("checkpoint*.pt"), key=lambda path: len(mytorch.load(path)["losses"]))
    if paths:
        trainer.load_state_dict(mytorch.load(paths[-1]))
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % every == 0 or len(trainer.losses) == steps:
            mytorch.save(trainer.state_dict(), folder / f"checkpoint{len(trainer.losses)}.pt")
            mytorch.save(trainer.state_dict(), folder / "checkpoint.pt")
    return trainer.losses


# %% answer="capstone_resumable_run" wrong="only the losses of this call"
def train(make, folder, steps, every):
    trainer, path = make(), folder / "checkpoint.pt"
    if path.exists():
        trainer.load_state_dict(mytorch.load(path))
    before = len(trainer.losses)
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % every == 0 or len(trainer.losses) == steps:
            mytorch.save(trainer.state_dict(), path)
    return trainer.losses[before:]


# %% answer="capstone_resumable_run" wrong="steps more than were made"
def train(make, folder, steps, every):
    trainer, path = make(), folder / "checkpoint.pt"
    if path.exists():
        trainer.load_state_dict(mytorch.load(path))
    for _ in range(steps):
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % every == 0:
            mytorch.save(trainer.state_dict(), path)
    mytorch.save(trainer.state_dict(), path)
    return trainer.losses


# %% answer="capstone_resumable_run" wrong="removes the checkpoint of a finished run"
def train(make, folder, steps, every):
    trainer, path = make(), folder / "checkpoint.pt"
    if path.exists():
        trainer.load_state_dict(mytorch.load(path))
    while len(trainer.losses) < steps:
        trainer.fit(len(trainer.losses) + 1)
        if len(trainer.losses) % every == 0:
            mytorch.save(trainer.state_dict(), path)
    path.unlink(missing_ok=True)
    return trainer.losses


# %% answer="capstone_resumable_run" wrong="goes on after the interruption"
def train(make, folder, steps, every):
    trainer, path = make(), folder / "checkpoint.pt"
    if path.exists():
        trainer.load_state_dict(mytorch.load(path))
    while len(trainer.losses) < steps:
        try:
            trainer.fit(len(trainer.losses) + 1)
        except KeyboardInterrupt:
            continue
        if len(trainer.losses) % every == 0 or len(trainer.losses) == steps:
            mytorch.save(trainer.state_dict(), path)
    return trainer.losses


# %% answer="capstone_resumable_run" right="a for loop over the steps that remain"
def train(make, folder, steps, every):
    trainer = make()
    checkpoint = folder.joinpath("checkpoint.pt")
    if checkpoint.is_file():
        with open(checkpoint, "rb") as file:
            trainer.load_state_dict(mytorch.load(file))
    for step in range(len(trainer.losses) + 1, steps + 1):
        trainer.fit(step)
        if step == steps or not step % every:
            mytorch.save(trainer.state_dict(), str(checkpoint))
    return list(trainer.losses)


# %% answer="capstone_resumable_run" right="from one save to the next"
def train(make, folder, steps, every):
    trainer, path = make(), Path(folder) / "checkpoint.pt"
    try:
        trainer.load_state_dict(mytorch.load(path))
    except FileNotFoundError:
        pass
    while (done := len(trainer.losses)) < steps:
        trainer.fit(min((done // every + 1) * every, steps))
        mytorch.save(trainer.state_dict(), path)
    return trainer.losses


# %% answer="capstone_repair_resume" wrong="without the schedule"
def snapshot(run):
    parts = {name: run[name].state_dict() for name in ("model", "optimizer")}
    return copy.deepcopy(parts | {"step": run["step"], "random": mytorch.get_rng_state()})


def restore(run, state):
    state = copy.deepcopy(state)
    for name in ("model", "optimizer"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.set_rng_state(state["random"])


# %% answer="capstone_repair_resume" wrong="without the optimizer"
def snapshot(run):
    parts = {name: run[name].state_dict() for name in ("model", "schedule")}
    return copy.deepcopy(parts | {"step": run["step"], "random": mytorch.get_rng_state()})


def restore(run, state):
    state = copy.deepcopy(state)
    for name in ("model", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.set_rng_state(state["random"])


# %% answer="capstone_repair_resume" wrong="the step stays"
def snapshot(run):
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return copy.deepcopy(parts | {"random": mytorch.get_rng_state()})


def restore(run, state):
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    mytorch.set_rng_state(state["random"])


# %% answer="capstone_repair_resume" wrong="the random state of the moment of restoring"
def snapshot(run):
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return copy.deepcopy(parts | {"step": run["step"]})


def restore(run, state):
    state = copy.deepcopy(state)
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.set_rng_state(mytorch.get_rng_state())


# %% answer="capstone_repair_resume" wrong="copies the model's tensors, not the optimizer's"
def snapshot(run):
    parts = {name: run[name].state_dict() for name in ("optimizer", "schedule")}
    parts["model"] = {name: each.clone() for name, each in run["model"].state_dict().items()}
    return parts | {"step": run["step"], "random": mytorch.get_rng_state()}


def restore(run, state):
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]
    mytorch.set_rng_state(state["random"])


# %% answer="capstone_repair_resume" wrong="puts copies of the parts in their place, once"
def snapshot(run):
    return {name: copy.deepcopy(run[name]) for name in run} | {"random": mytorch.get_rng_state()}


def restore(run, state):
    run.update({name: value for name, value in state.items() if name != "random"})
    mytorch.set_rng_state(state["random"])


# %% answer="capstone_repair_resume" wrong="replaces the run's objects by copies, each time"
def snapshot(run):
    return copy.deepcopy(run | {"random": mytorch.get_rng_state()})


def restore(run, state):
    state = copy.deepcopy(state)
    mytorch.set_rng_state(state.pop("random"))
    run.update(state)


# %% answer="capstone_repair_resume" wrong="draws after it has restored"
def snapshot(run):
    parts = {name: run[name].state_dict() for name in ("model", "optimizer", "schedule")}
    return copy.deepcopy(parts | {"step": run["step"], "random": mytorch.get_rng_state()})


def restore(run, state):
    state = copy.deepcopy(state)
    mytorch.set_rng_state(state["random"])
    mytorch.rand(1)
    for name in ("model", "optimizer", "schedule"):
        run[name].load_state_dict(state[name])
    run["step"] = state["step"]


# %% answer="capstone_repair_resume" right="a deep copy when it saves, a file in memory when it restores"
def snapshot(run):
    kept = {name: copy.deepcopy(part.state_dict()) for name, part in run.items() if name != "step"}
    kept["step"], kept["random"] = run["step"], mytorch.get_rng_state().clone()
    return kept


def restore(run, state):
    import io

    file = io.BytesIO()
    mytorch.save(state, file)
    file.seek(0)
    found = mytorch.load(file)
    mytorch.set_rng_state(found.pop("random"))
    run["step"] = found.pop("step")
    for name, part in found.items():
        run[name].load_state_dict(part)


# %% answer="capstone_repair_resume" right="a list of states"
def snapshot(run):
    return {"all": copy.deepcopy([run["step"], mytorch.get_rng_state(), *(run[name].state_dict() for name in ("model", "optimizer", "schedule"))])}


def restore(run, state):
    run["step"], random, model, optimizer, schedule = copy.deepcopy(state["all"])
    mytorch.set_rng_state(random)
    run["model"].load_state_dict(model)
    run["optimizer"].load_state_dict(optimizer)
    run["schedule"].load_state_dict(schedule)


# %% answer="capstone_measure_interval" wrong="the index"
def best_interval(job):
    return min(range(len(INTERVALS)), key=lambda place: job(INTERVALS[place]))


# %% answer="capstone_measure_interval" wrong="the slowest"
def best_interval(job):
    return max(INTERVALS, key=job)


# %% answer="capstone_measure_interval" wrong="the one before the best"
def best_interval(job):
    place = min(range(len(INTERVALS)), key=lambda place: job(INTERVALS[place]))
    return INTERVALS[max(0, place - 1)]


# %% answer="capstone_measure_interval" wrong="only whole hours"
def best_interval(job):
    return min((each for each in INTERVALS if each >= 1), key=job)


# %% answer="capstone_measure_interval" wrong="up to four hours"
def best_interval(job):
    return min((each for each in INTERVALS if each < 4), key=job)


# %% answer="capstone_measure_interval" wrong="any number of hours"
def best_interval(job):
    return min(np.linspace(0.1, 32, 700), key=job)


# %% answer="capstone_measure_interval" wrong="hours of a checkpoint"
def best_interval(job):
    return min(INTERVALS, key=lambda each: job(each) / each)


# %% answer="capstone_measure_interval" right="an array"
def best_interval(job):
    return INTERVALS[int(np.argmin([job(each) for each in INTERVALS]))]


# %% answer="capstone_measure_interval" right="sorted pairs"
def best_interval(job):
    return sorted((job(each), each) for each in INTERVALS)[0][1]


# %% answer="capstone_four_ranks" wrong="sums instead of means, which a smaller rate corrects"
def train_rank(rank, model, batches, steps):
    size = mytorch.distributed.get_world_size()
    mine = [tuple(each[rank::size] for each in batch) for batch in batches]

    def loss(model, batch):
        return ((model(batch[0]) - batch[1]) ** 2 * batch[2]).sum(), 1

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1 / len(batches[0][0]))
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" wrong="the model's own weights on each rank, gradients averaged by hand"
def train_rank(rank, model, batches, steps):
    dist = mytorch.distributed
    size = dist.get_world_size()
    mine = [tuple(each[rank::size] for each in batch) for batch in batches]
    for each in model.parameters():
        each.register_hook(lambda grad: grad)

    def loss(model, batch):
        number = batch[2].sum().reshape(1)
        dist.all_reduce(number)
        return ((model(batch[0]) - batch[1]) ** 2 * batch[2]).sum(), number.item() / size

    optimizer = mytorch.optim.SGD(model.parameters(), lr=0.1)
    trainer = mytorch.Trainer(model, optimizer, mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9), mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" wrong="no schedule"
def train_rank(rank, model, batches, steps):
    size = mytorch.distributed.get_world_size()
    mine = [(tuple(each[rank::size] for each in batch), batch[2].sum().item() / size) for batch in batches]

    def loss(model, batch):
        (inputs, targets, counts), number = batch
        return ((model(inputs) - targets) ** 2 * counts).sum(), number

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 1.0)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" wrong="momentum"
def train_rank(rank, model, batches, steps):
    size = mytorch.distributed.get_world_size()
    mine = [(tuple(each[rank::size] for each in batch), batch[2].sum().item() / size) for batch in batches]

    def loss(model, batch):
        (inputs, targets, counts), number = batch
        return ((model(inputs) - targets) ** 2 * counts).sum(), number

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" wrong="rows that don't count are in the loss"
def train_rank(rank, model, batches, steps):
    size = mytorch.distributed.get_world_size()
    mine = [(tuple(each[rank::size] for each in batch), batch[2].sum().item() / size) for batch in batches]

    def loss(model, batch):
        (inputs, targets, counts), number = batch
        return ((model(inputs) - targets) ** 2).sum(), number

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" wrong="skips a batch without rows that count"
def train_rank(rank, model, batches, steps):
    size = mytorch.distributed.get_world_size()
    mine = [(tuple(each[rank::size] for each in batch), batch[2].sum().item() / size) for batch in batches]
    mine = [each for each in mine if each[0][2].sum().item()]

    def loss(model, batch):
        (inputs, targets, counts), number = batch
        return ((model(inputs) - targets) ** 2 * counts).sum(), number

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" wrong="each rank has all rows"
def train_rank(rank, model, batches, steps):
    mine = [(batch, batch[2].sum().item()) for batch in batches]

    def loss(model, batch):
        (inputs, targets, counts), number = batch
        return ((model(inputs) - targets) ** 2 * counts).sum(), number

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(parallel.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" right="rows chosen by an index, a mean that is scaled"
def train_rank(rank, model, batches, steps):
    distributed, nn_parallel = mytorch.distributed, mytorch.nn.parallel
    size = distributed.get_world_size()
    mine = []
    for inputs, targets, counts in batches:
        rows = mytorch.arange(rank, len(inputs), size)
        mine.append((inputs[rows], targets[rows], counts[rows], float(counts.sum()) / size))

    def loss(parallel, batch):
        inputs, targets, counts, number = batch
        errors = parallel(inputs) - targets
        return (errors * errors * counts).sum(), number

    ddp = nn_parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(ddp.parameters(), 0.1)
    trainer = mytorch.Trainer(ddp, optimizer, mytorch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9), mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" right="the optimizer of the model itself, counts gathered in a vector"
def train_rank(rank, model, batches, steps):
    dist = mytorch.distributed
    numbers = mytorch.stack([batch[2][rank :: dist.get_world_size()].sum() for batch in batches])
    dist.all_reduce(numbers)
    mine = [[each[rank :: dist.get_world_size()] for each in batch] + [number] for batch, number in zip(batches, numbers.tolist())]

    def loss(parallel, batch):
        inputs, targets, counts, number = batch
        return dist.get_world_size() * (counts * (targets - parallel(inputs)).square()).sum(), number

    parallel = mytorch.nn.parallel.DistributedDataParallel(model)
    optimizer = mytorch.optim.SGD(model.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    trainer = mytorch.Trainer(parallel, optimizer, schedule, mine, loss)
    trainer.fit(steps)
    return trainer.losses


# %% answer="capstone_four_ranks" right="rows are selected, and counted in the whole batch"
def train_rank(rank: int, model, batches: list, steps: int) -> list[float]:
    size = mytorch.distributed.get_world_size()
    model = nn.parallel.DistributedDataParallel(model)

    def loss(model, batch):
        inputs, targets, counts = (each[rank::size] for each in batch)
        kept = counts.squeeze(1) == 1
        return ((model(inputs[kept]) - targets[kept]) ** 2).sum(), (batch[2] == 1).sum().item() / size

    optimizer = mytorch.optim.SGD(model.parameters(), lr=0.1)
    schedule = mytorch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    trainer = mytorch.Trainer(model, optimizer, schedule, batches, loss)
    trainer.fit(steps)
    return trainer.losses
