"""Reductions of numbers of very different size, so that the order of the additions shows: a digest of each result."""

import hashlib
import os

import torch
import torch.distributed as dist

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", store=dist.FileStore(os.environ["STORE"], size), rank=rank, world_size=size)


def digest(tensor):
    return hashlib.sha1(tensor.contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()[:12]


for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
    counts = [1, 3, 5, 8, 12, 100, 300_000]
    for count in [*counts, 1_000_003] if dtype is torch.float64 else counts:
        numbers = torch.randn(count, generator=torch.Generator().manual_seed(rank + count))
        tensor = (numbers * 10**rank).to(dtype)
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.PRODUCT):
            everywhere = tensor.clone()
            dist.all_reduce(everywhere, op)
            results = [everywhere]
            for root in (0, size - 1):
                there = tensor.clone()
                dist.reduce(there, root, op)
                results += [there] if rank == root else []
            if count % size == 0:
                part = torch.zeros(count // size, dtype=dtype)
                dist.reduce_scatter_single(part, tensor.clone(), op)
                results.append(part.clone())
                dist.reduce_scatter(part, list(tensor.clone().chunk(size)), op)
                results.append(part)
            print(dtype, count, op, *map(digest, results))
dist.destroy_process_group()
