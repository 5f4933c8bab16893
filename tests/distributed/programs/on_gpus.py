"""Each collective on tensors of this process's GPU, or with `cpu` as argument of the CPU, and what comes out."""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cpu") if "cpu" in sys.argv else torch.device("cuda", rank)
store = dist.FileStore(os.environ["STORE"], size)
dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=60))


def numbers(*shape):
    return (torch.arange(size * 6.0).reshape(size, 2, 3) + 100 * rank)[: shape[0]].reshape(-1)[: shape[1]].to(device)


def show(name, *tensors):
    assert all(each.device == device for each in tensors)
    print(name, *(each.tolist() for each in tensors), flush=True)


x = numbers(1, 6).reshape(2, 3).t()  # with gaps
dist.all_reduce(x)
show("all_reduce", x)
x = numbers(1, 4)
dist.all_reduce(x, dist.ReduceOp.AVG)
show("average", x)
work = dist.all_reduce(x, async_op=True)
work.wait()
show("async", x)
x = numbers(1, 3)
dist.broadcast(x, 1)
show("broadcast", x)
x = numbers(1, 3)
dist.reduce(x, 0, dist.ReduceOp.MAX)
show("reduce", x)
outputs = [torch.zeros(3, device=device) for _ in range(size)]
dist.all_gather(outputs, numbers(1, 3))
show("all_gather", *outputs)
dist.gather(numbers(1, 3), outputs if rank == 0 else None)
show("gather", *outputs)
dist.scatter(x, list(numbers(size, 3 * size).split(3)) if rank == 0 else None)
show("scatter", x)
parts = torch.zeros(size, device=device)
dist.all_to_all_single(parts, numbers(size, size))
show("all_to_all", parts)
dist.reduce_scatter(x, list(numbers(size, 3 * size).split(3)))
show("reduce_scatter", x)
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank})
print(objects)
dist.barrier()
if device.type == "cuda":
    try:
        dist.send(x, (rank + 1) % size)
    except RuntimeError as error:
        assert str(error) == "ProcessGroupGloo::send: unsupported device type cuda"
    else:
        raise AssertionError("sent")
dist.destroy_process_group()
