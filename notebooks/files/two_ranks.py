"""Two processes train one layer, each on half of the rows. Only rank 0 prints. Chapter 23 starts it."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank + 1)  # so that each process begins with other weights
model = torch.nn.Linear(3, 1)
own = model.weight[0, 0].item()
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
x = torch.arange(24.0).reshape(8, 3) % 5 / 5
y = x.sum(1, keepdim=True)
for _ in range(400):
    optimizer.zero_grad()
    loss = ((model(x[rank::size]) - y[rank::size]) ** 2).mean()
    loss.backward()
    optimizer.step()

weights = [torch.zeros(1, 3) for _ in range(size)]
dist.all_gather(weights, model.module.weight.detach())
beginnings = [torch.zeros(1) for _ in range(size)]
dist.all_gather(beginnings, torch.tensor([own]))
if rank == 0:
    print("from the launcher:", {name: os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")})
    print("first weight before DDP:", [f"{each.item():.2f}" for each in beginnings])
    print("weights after 400 steps:", *([f"{number:.1f}" for number in each[0].tolist()] for each in weights))
dist.destroy_process_group()
