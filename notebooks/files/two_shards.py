"""Two processes train one network; each has the state of some parameters. Only rank 0 prints. Chapter 23b starts it."""

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
x = torch.arange(24.0).reshape(8, 3) % 5 / 5
y = x.sum(1, keepdim=True)
model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
model = DistributedDataParallel(model)
optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.05)
for _ in range(20):
    optimizer.zero_grad()
    loss = ((model(x[rank::size]) - y[rank::size]) ** 2).mean()
    loss.backward()
    optimizer.step()

own = sum(state["exp_avg"].numel() for state in optimizer.optim.state.values())
counts = [torch.zeros(1) for _ in range(size)]
dist.all_gather(counts, torch.tensor([float(own)]))
optimizer.consolidate_state_dict(to=0)
if rank == 0:
    print("parameters:", sum(each.numel() for each in model.parameters()))
    print("with a state on each rank:", [int(each.item()) for each in counts])
    print("states in rank 0's checkpoint:", len(optimizer.state_dict()["state"]))
    print(f"loss after 20 steps: {loss.item():.1f}")
dist.destroy_process_group()
