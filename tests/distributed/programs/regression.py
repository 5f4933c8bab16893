"""Training in float64, each process on its part of every batch: the loss of the whole batch, and some parameters."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", store=dist.FileStore(os.environ["STORE"], size), rank=rank, world_size=size)
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
inputs = torch.randn(30, 5)
targets = torch.sin(inputs.sum(1, keepdim=True))
torch.manual_seed(rank)  # what the others begin with is overwritten by what rank 0 does
network = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
model = DistributedDataParallel(network, bucket_cap_mb=0.0005)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for _ in range(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs[rank::size]), targets[rank::size])
    loss.backward()
    optimizer.step()
    whole = loss.detach() / size
    dist.all_reduce(whole)
    print(whole.item(), *network[0].weight[0].tolist(), network[4].bias.item())
dist.destroy_process_group()
