"""Training in float64, each process on its part of every batch: the loss of the whole batch, and some parameters.

With simulated GPUs each process has one. `dies` as argument has the last process end in the middle.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", store=dist.FileStore(os.environ["STORE"], size), rank=rank, world_size=size)
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
inputs = torch.randn(36, 5)
targets = torch.sin(inputs.sum(1, keepdim=True))
torch.manual_seed(rank)  # what the others begin with is overwritten by what rank 0 does
network = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
on_gpu = "MINITORCH_SIMULATED_GPUS" in os.environ
device = torch.device("cuda", rank) if on_gpu else torch.device("cpu")
model = DistributedDataParallel(network.to(device), [rank] if on_gpu else None, bucket_cap_mb=0.0005)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(20):
    if "dies" in sys.argv and step == 5 and rank == size - 1:
        os._exit(3)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs[rank::size]), targets[rank::size].to(device))
    loss.backward()
    optimizer.step()
    whole = loss.detach() / size
    dist.all_reduce(whole)
    print(whole.item(), *network[0].weight[0].tolist(), network[4].bias.item())
assert all(each.device == device for each in [*model.parameters(), *(p.grad for p in model.parameters()), whole])
dist.destroy_process_group()
