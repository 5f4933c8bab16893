"""ZeroRedundancyOptimizer: steps with a scheduler, a saved state, a second group, and bad arguments."""

# ruff: noqa: B023 - what is attempted is called at once

import copy
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", store=dist.FileStore(os.environ["STORE"], size), rank=rank, world_size=size)
torch.set_default_dtype(torch.float64)


def rounded(value):
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(each) for each in value]
    return round(value, 8) + 0.0 if isinstance(value, float) else value


def attempt(name, call):
    try:
        print(name, rounded(call()), flush=True)
    except Exception as error:
        print(name, type(error).__name__, error, flush=True)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def train(model, optimizer, steps):
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(5, 3, generator=generator)).square().sum().backward()
        optimizer.step()
        scheduler.step()
    return list(model.parameters())


for optimizer_class, options in [(torch.optim.Adam, {"lr": 0.05}), (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9})]:
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class, **options)
    attempt("trained", lambda: train(model, optimizer, 5))
    print("kept here", len(optimizer.optim.state), len(optimizer.state))
    attempt("state", optimizer.state_dict)
    optimizer.consolidate_state_dict(to=1)
    attempt("state", optimizer.state_dict)
    states = [copy.deepcopy(optimizer.state_dict()) if rank == 1 else None]
    dist.broadcast_object_list(states, src=1)
    whole = optimizer_class(network().parameters(), **options)
    whole.load_state_dict(copy.deepcopy(states[0]))
    print("of one process", sorted(whole.state_dict()["state"]))
    again = ZeroRedundancyOptimizer(model.parameters(), optimizer_class, **options)
    again.load_state_dict(states[0])
    attempt("trained on", lambda: train(model, again, 2))

model = DistributedDataParallel(network())
optimizer = ZeroRedundancyOptimizer(
    [{"params": list(model.module[0].parameters()), "lr": 0.1}], torch.optim.SGD, lr=0.01
)
optimizer.add_param_group({"params": list(model.module[2].parameters())})
attempt("two groups", lambda: train(model, optimizer, 3))
with Join([model, optimizer]):
    attempt("join", lambda: len(train(model, optimizer, 2 + rank)))
attempt("joined", lambda: list(model.parameters()))
attempt("a tensor", lambda: ZeroRedundancyOptimizer(torch.ones(1), torch.optim.SGD, lr=1))
attempt("a number", lambda: ZeroRedundancyOptimizer(3, torch.optim.SGD, lr=1))
attempt("nothing", lambda: ZeroRedundancyOptimizer([], torch.optim.SGD, lr=1))
attempt("mixed", lambda: ZeroRedundancyOptimizer([torch.ones(1), {}], torch.optim.SGD, lr=1))
dist.destroy_process_group()
