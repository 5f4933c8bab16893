"""A training job for torchrun: DistributedSampler, DistributedDataParallel, and metrics that are reduced."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: N817 - as programs do
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Trainer:
    def __init__(self, model, loader, optimizer):
        self.rank = int(os.environ["RANK"])
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.model = DDP(model)
        self.loader = loader
        self.optimizer = optimizer

    def run_epoch(self, epoch):
        self.loader.sampler.set_epoch(epoch)
        seen, total = [], torch.zeros(2)
        for inputs, targets, index in self.loader:
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(inputs), targets)
            loss.backward()
            self.optimizer.step()
            seen += index.tolist()
            total += torch.tensor([loss.item() * len(inputs), len(inputs)])
        dist.all_reduce(total)
        print(f"[{self.rank}] epoch {epoch} saw {seen} loss {total[0] / total[1]:.6f}\n", end="", flush=True)

    def train(self, epochs):
        for epoch in range(epochs):
            self.run_epoch(epoch)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(7)
    inputs = torch.randn(21, 6)
    dataset = TensorDataset(inputs, inputs[:, :3].argmax(1), torch.arange(21))
    loader = DataLoader(dataset, batch_size=4, shuffle=False, sampler=DistributedSampler(dataset))
    model = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))
    trainer = Trainer(model, loader, torch.optim.Adam(model.parameters(), lr=0.02))
    trainer.train(3)
    results = [None] * dist.get_world_size()
    dist.all_gather_object(results, {"rank": dist.get_rank(), "local": trainer.local_rank})
    if dist.get_rank() == 0:
        print(f"{results} {dist.is_torchelastic_launched()}\n", end="", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
