"""Two groups of processes add up on their own; then a barrier names the process that is late. Chapter 23 starts it."""

import time
from datetime import timedelta

import torch
import torch.distributed as dist

# with GPUs: torch.cuda.set_device(int(os.environ["LOCAL_RANK"])), then init_process_group("nccl")
dist.init_process_group("gloo", timeout=timedelta(minutes=1))
rank, size = dist.get_rank(), dist.get_world_size()
halves = list(range(size // 2)), list(range(size // 2, size))
groups = [dist.new_group(ranks) for ranks in halves]  # every process creates every group, in the same order
total = torch.tensor([rank + 1.0])
dist.all_reduce(total, group=groups[rank in halves[1]])
totals = [torch.zeros(1) for _ in range(size)]
dist.all_gather(totals, total)
if rank == 0:
    print("groups:", *halves)
    print("sums within the groups:", [each.item() for each in totals])

dist.barrier()  # nobody is late yet
if rank == size - 1:
    time.sleep(6)
else:
    try:
        dist.monitored_barrier(timeout=timedelta(seconds=3))
    except RuntimeError as error:
        if rank == 0:
            print(str(error).splitlines()[0])
