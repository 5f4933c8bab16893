"""DistributedDataParallel in spawned processes: steps, a checkpoint that rank 0 saves, the same model everywhere."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817 - as programs do


def setup(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def train(model, steps):
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_fn(model(torch.randn(20, 10)), torch.randn(20, 5))
        loss.backward()
        optimizer.step()
    return loss.item()


def demo(rank, world_size, port, folder):
    setup(rank, world_size, port)
    torch.manual_seed(rank)
    model = DDP(ToyModel())
    print(f"rank {rank} basic {train(model, 5):.6f}\n", end="", flush=True)

    path = os.path.join(folder, "model.checkpoint")
    if rank == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
    again = DDP(ToyModel())
    again.load_state_dict(torch.load(path, weights_only=True))
    print(f"rank {rank} checkpoint {train(again, 5):.6f} {list(again.state_dict())}\n", end="", flush=True)
    dist.barrier()

    total = sum(parameter.detach().abs().sum() for parameter in again.parameters())
    totals = [torch.zeros(()) for _ in range(world_size)]
    dist.all_gather(totals, total)
    print(
        f"rank {rank} parameters {total:.5f}, everywhere the same: {all(each == total for each in totals)}", flush=True
    )
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(demo, args=(2, int(sys.argv[1]), folder), nprocs=2, join=True)
