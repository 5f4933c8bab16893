"""Distributed synchronous SGD by hand: the gradients are averaged with all_reduce, the data divided by hand."""

import os
import sys
from random import Random

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn, optim


class Partition:
    def __init__(self, data, index):
        self.data = data
        self.index = index

    def __len__(self):
        return len(self.index)

    def __getitem__(self, index):
        return self.data[self.index[index]]


class DataPartitioner:
    def __init__(self, data, sizes, seed=1234):
        self.data = data
        self.partitions = []
        random = Random(seed)
        indexes = list(range(len(data)))
        random.shuffle(indexes)
        for part in sizes:
            length = int(part * len(data))
            self.partitions.append(indexes[:length])
            indexes = indexes[length:]

    def use(self, partition):
        return Partition(self.data, self.partitions[partition])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, kernel_size=3)
        self.fc1 = nn.Linear(4 * 3 * 3, 16)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv(x), 2))
        x = F.relu(self.fc1(x.view(-1, 36)))
        return F.log_softmax(self.fc2(x), dim=1)


def average_gradients(model):
    size = float(dist.get_world_size())
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad.data, op=dist.ReduceOp.SUM)
        parameter.grad.data /= size


def run(rank, size):
    torch.manual_seed(1234)
    images = torch.randn(60, 1, 8, 8)
    labels = (images.mean((1, 2, 3)) * 12 + 1.5).clamp(0, 2).long()
    data = [(images[i], labels[i]) for i in range(60)]
    partition = DataPartitioner(data, [1.0 / size] * size).use(rank)
    train_set = torch.utils.data.DataLoader(partition, batch_size=10, shuffle=True)
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    for epoch in range(4):
        epoch_loss = 0.0
        for data, target in train_set:
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            epoch_loss += loss.item()
            loss.backward()
            average_gradients(model)
            optimizer.step()
        print(f"Rank {dist.get_rank()}, epoch {epoch}: {epoch_loss / len(train_set):.6f}\n", end="", flush=True)


def init_process(rank, size, port, fn, backend="gloo"):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)


if __name__ == "__main__":
    size, processes = 2, []
    mp.set_start_method("spawn")
    for rank in range(size):
        process = mp.Process(target=init_process, args=(rank, size, sys.argv[1], run))
        process.start()
        processes.append(process)
    for process in processes:
        process.join()
