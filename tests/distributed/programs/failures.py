"""What a process sees when another one fails it: argv says how. Each line: the error, and whether it came soon."""

import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
how = sys.argv[1]
TIMEOUT = 3.0
PATIENCE = 60.0  # until all have started


def attempt(name, call):
    start = time.monotonic()
    try:
        call()
        answer = "done"
    except RuntimeError as error:
        answer = str(error).replace("\n", " ")
    print(f"{name} | {'soon' if time.monotonic() - start < 0.9 * TIMEOUT else 'late'} | {answer}", flush=True)


def begin(seconds):
    store = dist.FileStore(os.environ["STORE"], size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=seconds))


if how == "absent":
    if rank == 0:
        attempt("init", lambda: begin(TIMEOUT))
    sys.exit()
begin(PATIENCE)
dist.distributed_c10d._set_pg_timeout(timedelta(seconds=TIMEOUT))
if how == "dies" and rank == size - 1:
    os._exit(0)
if how == "leaves" and rank == size - 1:
    dist.destroy_process_group()
    sys.exit()
if how == "stops" and rank == size - 1:
    time.sleep(2 * TIMEOUT)
    os._exit(0)
if how == "forgets":
    if rank == 0:
        attempt("monitored_barrier", lambda: dist.monitored_barrier(timeout=timedelta(seconds=TIMEOUT)))
    os._exit(0)
if how == "forget":
    if rank == 0:
        wait = timedelta(seconds=TIMEOUT)
        attempt("monitored_barrier", lambda: dist.monitored_barrier(timeout=wait, wait_all_ranks=True))
    os._exit(0)
if how == "differs":
    attempt("broadcast", lambda: dist.broadcast(torch.ones(3 + rank), 0))
    sys.exit()
if how == "waits":
    work = dist.irecv(torch.ones(1), 1 - rank)
    attempt("irecv", lambda: work.wait(timedelta(seconds=TIMEOUT)))
    sys.exit()
attempt("all_reduce", lambda: dist.all_reduce(torch.ones(3)))
attempt("all_reduce again", lambda: dist.all_reduce(torch.ones(3)))
attempt("async", lambda: dist.all_reduce(torch.ones(3), async_op=True).wait())
attempt("recv", lambda: dist.recv(torch.ones(3), size - 1))
attempt("send", lambda: dist.send(torch.ones(3), size - 1))
attempt("destroy", dist.destroy_process_group)
