"""The backend "mpi", under mpiexec: each rank prints what it got."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("mpi")
rank, size = dist.get_rank(), dist.get_world_size()
results = [dist.get_backend(), size]


def zeros(count):
    return [torch.zeros(2) for _ in range(count)]


tensor = torch.arange(4.0) + rank
dist.all_reduce(tensor)
results.append(tensor.tolist())
for op in (dist.ReduceOp.AVG, dist.ReduceOp.MAX, dist.ReduceOp.PRODUCT):
    tensor = torch.arange(4.0) + rank
    dist.all_reduce(tensor, op)
    results.append(tensor.tolist())
truth = torch.tensor([True, rank == 0])
dist.all_reduce(truth, dist.ReduceOp.BAND)
results.append(truth.tolist())
dist.broadcast(tensor, 1)
dist.reduce(tensor, 0)
results.append(tensor.tolist() if rank == 0 else None)
gathered, own = zeros(size), torch.ones(2) * rank
dist.all_gather(gathered, own)
results.append([each.tolist() for each in gathered])
gathered = zeros(size)
dist.gather(own, gathered if rank == 0 else None)
results.append([each.tolist() for each in gathered])
dist.scatter(own, list(torch.arange(2.0 * size).chunk(size)) if rank == 0 else None)
results.append(own.tolist())
dist.reduce_scatter(own, list(torch.arange(2.0 * size).chunk(size)))
results.append(own.tolist())
exchanged = torch.zeros(2 * size)
dist.all_to_all_single(exchanged, torch.arange(2.0 * size) + 10 * rank)
results.append(exchanged.tolist())
works = [dist.all_reduce(each, async_op=True) for each in gathered]
results.append([work.wait() for work in works])
if rank == 0:
    dist.send(torch.tensor([5.0]), 1, tag=3)
elif rank == 1:
    received = torch.zeros(1)
    results.append([dist.recv(received, tag=3), received.item()])
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank})
results.append(objects)
pair = dist.new_group([0, 1])
results.append(pair == dist.GroupMember.NON_GROUP_MEMBER)
if rank < 2:
    dist.all_reduce(tensor.fill_(1), group=pair)
    results.append(tensor.tolist())
model = DistributedDataParallel(nn.Linear(2, 1, bias=False))
model(torch.ones(1, 2) * (rank + 1)).sum().backward()
results.append(model.module.weight.grad.tolist())
dist.barrier()
dist.destroy_process_group()
print(f"{rank} {results}\n", end="", flush=True)
