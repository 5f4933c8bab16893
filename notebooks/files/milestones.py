"""Four programs that take a library and give two lists of losses that should be equal. Chapter 24 runs them."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any

import minitorch
from minitorch.models import gpt, lenet

Losses = list[float]


def on(library: Any, model_file: ModuleType) -> Any:
    """The file as it is, with another library for minitorch."""
    module: Any = ModuleType("the_model")
    module.__file__ = model_file.__file__  # beside which the weights of a ResNet are found
    sys.modules["the_model"] = module
    exec(inspect.getsource(model_file).replace("minitorch", library.__name__), module.__dict__)
    return module


def descend(optimizer: Any, loss: Any) -> float:
    """One step; the loss before it."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss.item())


def lenet_losses(library: Any, steps: int = 3) -> Losses:
    """LeNet on four random images, with momentum."""
    library.manual_seed(0)
    model, x = on(library, lenet).LeNet(), library.rand(4, 1, 32, 32)
    optimizer = library.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return [descend(optimizer, library.nn.functional.cross_entropy(model(x), library.arange(4))) for _ in range(steps)]


def small_gpt(library: Any) -> Any:
    """A GPT of one block for eleven tokens."""
    file = on(library, gpt)
    return file.GPT(file.GPTConfig(block_size=8, vocab_size=11, n_layer=1, n_head=2, n_embd=16))


def gpt_losses(library: Any, steps: int = 3, seed: int = 0) -> Losses:
    """A GPT on four random sequences, with AdamW."""
    library.manual_seed(seed)
    model = small_gpt(library)
    optimizer, (x, y) = library.optim.AdamW(model.parameters(), lr=0.01), library.randint(0, 11, (2, 4, 8))
    return [descend(optimizer, model(x, y)[1]) for _ in range(steps)]


def resumed_losses(library: Any, stop: int = 3, steps: int = 6) -> tuple[Losses, Losses]:
    """A run that stops in the middle of an epoch and goes on, and another one that is resumed from its state."""

    def made() -> Any:
        library.manual_seed(0)
        nn, optim = library.nn, library.optim
        model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        loader = library.utils.data.DataLoader(library.rand(8, 2), 2, shuffle=True)
        schedule = optim.lr_scheduler.StepLR(optimizer, 2)
        return library.Trainer(model, optimizer, schedule, loader, lambda m, x: ((m(x) ** 2).sum(), len(x)))

    first, second = made(), made()
    first.fit(stop)
    state = first.state_dict()
    first.fit(steps)
    second.load_state_dict(state)
    second.fit(steps)
    return first.losses, second.losses


def rank_losses(library: Any, ranks: int, steps: int = 3, batch: int = 16) -> Losses:
    """The small GPT on so many ranks, each with its share of the same batches: the means over the ranks."""
    library.manual_seed(0)
    tools, optim = library.utils.data, library.optim
    rows = tools.TensorDataset(*library.randint(0, 11, (2, 64, 8)))
    models = [small_gpt(library) for _ in range(ranks)]

    def job(rank: int) -> Losses:
        model = library.nn.parallel.DistributedDataParallel(models[rank])
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        loader = tools.DataLoader(rows, batch // ranks, sampler=tools.DistributedSampler(rows, ranks, rank))
        schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        trainer = library.Trainer(model, optimizer, schedule, loader, lambda m, b: (m(*b)[1] * len(b[0]), len(b[0])))
        trainer.fit(steps)
        return list(trainer.losses)

    found = library.distributed.spawn(job, nprocs=ranks)
    return [sum(each) / ranks for each in zip(*found, strict=True)]


MILESTONES = {
    "LeNet": lambda library: (lenet_losses(library), lenet_losses(minitorch)),
    "GPT": lambda library: (gpt_losses(library), gpt_losses(minitorch)),
    "resume": resumed_losses,
    "four ranks": lambda library: (rank_losses(library, 4), rank_losses(library, 1)),
}


def failed(library: Any) -> list[str]:
    """The milestones whose two lists of losses differ by 0.001 or more."""
    return [
        name
        for name, program in MILESTONES.items()
        if not all(abs(one - other) < 1e-3 for one, other in zip(*program(library), strict=True))
    ]
