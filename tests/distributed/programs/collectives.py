"""What each collective does with good and with bad arguments: one line for each question."""

# ruff: noqa: B023 - a question is asked before the loop goes on

import os
import re
import sys
import warnings
from datetime import timedelta

import torch
import torch.distributed as dist

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
after, before = (rank + 1) % size, (rank - 1) % size
Op = dist.ReduceOp


def ask(name, question):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = repr(question())
        except Exception as error:
            text = re.sub(r"\[rank\d\]:\[F.*?\] |Invoked with: .*|\[/.*?\] ", "", str(error), flags=re.DOTALL)
            text = re.sub(r"support.*on complex", "support it on complex", text)  # PyTorch has the op as a byte there
            in_cpp = re.search(r"ProcessGroupGloo::|Check failed|incompatible function|reduce_scatter: ", text)
            answer = type(error).__name__ if in_cpp else f"{type(error).__name__}: {text.strip()}"
    for warning in caught:
        answer += f" {warning.category.__name__}: {warning.message}"
    answer = re.sub(r"<[\w.]+ProcessGroup\w* object at 0x\w+>", "<group>", answer)
    print(f"{name}: {answer}", flush=True)


def made(call, *tensors):
    """The tensors, after the call."""
    call(*tensors)
    return tensors


def zeros(*shape, count=None):
    return torch.zeros(*shape) if count is None else [torch.zeros(*shape) for _ in range(count)]


if rank == 0:
    ask("before", lambda: dist.all_reduce(zeros(1)))
    ask("rank before", dist.get_rank)
    ask("destroyed before", dist.destroy_process_group)
    print(dist.is_initialized(), dist.is_available(), dist.group.WORLD)
dist.init_process_group(
    "gloo",
    store=dist.FileStore(os.environ["STORE"], size),
    rank=rank,
    world_size=size,
    timeout=timedelta(seconds=60),
)
print(dist.is_initialized(), dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.get_backend_config())
print(dist.group.WORLD.rank(), dist.group.WORLD.size(), dist.group.WORLD.name(), dist.group.WORLD.group_name)
ask("twice", lambda: dist.init_process_group("gloo"))

dtypes = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
for dtype in [*dtypes, "complex64", "complex128"]:
    for op in (Op.SUM, Op.PRODUCT, Op.MIN, Op.MAX, Op.AVG, Op.BAND, Op.BOR, Op.BXOR):
        tensor = torch.tensor([rank + 1, 3, 0]).to(getattr(torch, dtype))
        ask(f"all_reduce {op} {dtype}", lambda: made(lambda each: dist.all_reduce(each, op), tensor))
    like = {"dtype": getattr(torch, dtype)}
    ask(f"broadcast {dtype}", lambda: made(lambda each: dist.broadcast(each, 1), torch.full((2,), rank, **like)))
    ask(
        f"all_gather {dtype}",
        lambda: made(
            lambda *into: dist.all_gather(list(into), torch.full((2,), rank, **like)),
            *(torch.zeros(2, **like) for _ in range(size)),
        ),
    )

for shape in [(), (0,), (1,), (2, 3), (5, 7)]:
    count = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    ask(f"all_reduce {shape}", lambda: made(dist.all_reduce, count + rank))
    ask(f"broadcast {shape}", lambda: made(lambda each: dist.broadcast(each, size - 1), count + rank))
turned = (torch.arange(6.0).reshape(2, 3) + rank).t()
ask("all_reduce of a transposed tensor", lambda: (made(dist.all_reduce, turned), turned.stride(), turned._version))
ask("broadcast of a slice", lambda: made(lambda each: dist.broadcast(each[:, 1], 0), turned + rank))
ask("all_reduce of a leaf", lambda: made(dist.all_reduce, torch.ones(2, requires_grad=True)))
ask("all_reduce of a result", lambda: made(dist.all_reduce, torch.ones(2, requires_grad=True) * 2))
ask("all_reduce of a list", lambda: dist.all_reduce([1]))
ask("all_reduce by a name", lambda: dist.all_reduce(zeros(1), "sum"))
ask("all_reduce_coalesced", lambda: made(lambda *each: dist.all_reduce_coalesced(list(each)), zeros(2) + 1, zeros(1)))

for root in range(size):
    tensor = torch.arange(3.0) + rank
    ask(f"reduce to {root}", lambda: dist.reduce(tensor, root) or (tensor if rank == root else None))
    ask(f"scatter from {root}", lambda: made(
        lambda into: dist.scatter(into, list(torch.arange(2.0 * size).chunk(size)) if rank == root else None, root),
        zeros(2),
    ))  # fmt: skip
    into = zeros(2, count=size) if rank == root else None
    ask(f"gather in {root}", lambda: (dist.gather(torch.arange(2.0) + rank, into, root), into))
ask("broadcast from nobody", lambda: dist.broadcast(zeros(1), src=size))
ask("broadcast from before the first", lambda: dist.broadcast(zeros(1), src=-1))
ask("broadcast without a source", lambda: dist.broadcast(zeros(1)))
ask("broadcast with two sources", lambda: dist.broadcast(zeros(1), src=0, group_src=0))
ask("reduce to nobody", lambda: dist.reduce(zeros(1), dst=size))
ask("reduce of complex numbers", lambda: dist.reduce(zeros(1) + 1j, dst=0))
short = zeros(2).short()
ask("scatter int16", lambda: made(lambda into: dist.scatter(into, [short] * size if rank == 0 else None), short + 1))
ask("gather int16", lambda: dist.gather(short, [short] * size if rank == 0 else None))
ask("all_to_all int16", lambda: made(lambda *into: dist.all_to_all(list(into), [short] * size), *[short] * size))
ask("all_to_all_single int16", lambda: dist.all_to_all_single(zeros(size).short(), zeros(size).short()))
ask("reduce_scatter_single int16", lambda: dist.reduce_scatter_single(zeros(1).short(), zeros(size).short()))
works = [dist.isend(short, after), dist.irecv(received := short + 1, before)]
ask("isend and irecv int16", lambda: ([work.wait() for work in works], received))
imaginary = zeros(2) + 1j
ask("gather complex", lambda: dist.gather(imaginary, [imaginary] * size if rank == 0 else None))
ask("scatter complex", lambda: dist.scatter(imaginary, [imaginary] * size if rank == 0 else None))
single = zeros(1) + 1j
ask("reduce_scatter_single complex", lambda: (dist.reduce_scatter_single(single, zeros(size) + 1j), single))
ask("reduce_scatter complex", lambda: (dist.reduce_scatter(single, [single.clone()] * size), single))
ask("reduce_scatter_single MAX complex", lambda: dist.reduce_scatter_single(single, zeros(size) + 1j, Op.MAX))
ask("reduce MAX complex", lambda: dist.reduce(zeros(1) + 1j, 0, Op.MAX))
ask("all_to_all_single complex", lambda: dist.all_to_all_single(zeros(size) + 1j, zeros(size) + 1j))

ask("all_gather: too few", lambda: dist.all_gather(zeros(2, count=1), zeros(2)))
ask("all_gather: another shape", lambda: dist.all_gather(zeros(3, count=size), zeros(2)))
ask("all_gather: another rank", lambda: dist.all_gather(zeros(2, 1, count=size), zeros(1, 2)))
ask("all_gather: another dtype", lambda: dist.all_gather([zeros(2).long()] * size, zeros(2)))
ask("all_gather: no list", lambda: dist.all_gather(zeros(2), zeros(2)))
ask("all_gather: a list of numbers", lambda: dist.all_gather([1], zeros(2)))
ask("all_gather_single", lambda: made(lambda into: dist.all_gather_single(into, zeros(2) + rank), zeros(2 * size)))
ask("all_gather_into", lambda: made(lambda into: dist.all_gather_into_tensor(into, zeros(2)), zeros(2 * size)))
ask("all_gather_single: stacked", lambda: dist.all_gather_single(zeros(size, 2), zeros(2)))
ask("all_gather_single: another dtype", lambda: dist.all_gather_single(zeros(2 * size).long(), zeros(2)))
ask("gather: too few", lambda: dist.gather(zeros(2), zeros(2, count=1), dst=rank))
ask("gather: no list", lambda: dist.gather(zeros(2), None, dst=rank))
ask("gather: a list elsewhere", lambda: dist.gather(zeros(2), zeros(2, count=size), dst=after))
ask("scatter: too few", lambda: dist.scatter(zeros(2), zeros(2, count=1), src=rank))
ask("scatter: another shape", lambda: dist.scatter(zeros(2), zeros(3, count=size), src=rank))
ask("scatter: another dtype", lambda: dist.scatter(zeros(2), [zeros(2).long()] * size, src=rank))
ask("scatter: no list", lambda: dist.scatter(zeros(2), None, src=rank))
ask("scatter: a list elsewhere", lambda: dist.scatter(zeros(2), zeros(2, count=size), src=after))

parts = list(torch.arange(2.0 * size).mul(rank + 1).chunk(size))
ask("reduce_scatter", lambda: made(lambda into: dist.reduce_scatter(into, parts), zeros(2)))
ask("reduce_scatter AVG", lambda: made(lambda into: dist.reduce_scatter(into, parts, op=Op.AVG), zeros(2)))
ask("reduce_scatter_single", lambda: made(lambda into: dist.reduce_scatter_single(into, torch.cat(parts)), zeros(2)))
ask("reduce_scatter_tensor", lambda: made(lambda into: dist.reduce_scatter_tensor(into, torch.cat(parts)), zeros(2)))
ask("reduce_scatter_single: too long", lambda: dist.reduce_scatter_single(zeros(2), zeros(3 * size)))
ask("all_to_all", lambda: made(lambda *into: dist.all_to_all(list(into), parts), *zeros(2, count=size)))
ask("all_to_all_single", lambda: made(lambda into: dist.all_to_all_single(into, torch.cat(parts)), zeros(2 * size)))
lengths = [i + 1 for i in range(size)]
ask("all_to_all_single by sizes", lambda: made(
    lambda into: dist.all_to_all_single(into, torch.arange(float(size * (rank + 1))), lengths, [rank + 1] * size),
    zeros(sum(lengths)),
))  # fmt: skip
ask("all_to_all_single: wrong sizes", lambda: dist.all_to_all_single(parts[0], parts[0], [1] * size, [2] * size))
ask("all_to_all_single: too many", lambda: dist.all_to_all_single(parts[0], parts[0], [1] * (size + 1), [2] * size))
ask("all_to_all_single: gaps", lambda: dist.all_to_all_single(zeros(size, 2), zeros(2, size).t()))

ask("send to oneself", lambda: dist.send(zeros(1), dst=rank))
ask("send of a transposed tensor", lambda: dist.isend(zeros(2, 3).t(), dst=after))
ask("ring", lambda: made(
    lambda into: [work.wait() for work in (dist.isend(torch.ones(3) * rank, after), dist.irecv(into, before))], zeros(3)
))  # fmt: skip
ask("batch", lambda: made(lambda into: [work.wait() for work in dist.batch_isend_irecv([
    dist.P2POp(dist.isend, torch.ones(2) * rank, after), dist.P2POp(dist.irecv, into, before),
])], zeros(2)))  # fmt: skip
ask("P2POp", lambda: dist.P2POp(dist.irecv, zeros(2), after))
ask("P2POp of something else", lambda: dist.P2POp(dist.broadcast, zeros(2), after))
ask("batch of something else", lambda: dist.batch_isend_irecv([1]))
if rank == 0:
    into = zeros(1)
    ask("by tags", lambda: [(dist.recv(into, 1, tag=tag), into.item()) for tag in (7, 5)])
    ask("from anybody", lambda: sorted((dist.recv(into), into.item()) for _ in range(size - 1)))
    longer = zeros(4)
    ask("a shorter one", lambda: made(lambda each: dist.recv(each, 1, tag=9), longer))
else:
    if rank == 1:
        works = [dist.isend(torch.tensor([float(tag)]), 0, tag=tag) for tag in (5, 7)]
        [work.wait() for work in works]
    dist.send(torch.tensor([10.0 * rank]), 0)
    if rank == 1:
        dist.send(torch.ones(2), 0, tag=9)

tensor = torch.ones(2)
work = dist.all_reduce(tensor, async_op=True)
ask("work", lambda: (work.wait(), work.is_completed(), tensor, work.get_future().value()))
works = [dist.all_reduce(each, async_op=True) for each in torch.arange(12.0).reshape(4, 3)]
ask("many works", lambda: [work.wait() for work in works])
ask("then", lambda: dist.all_reduce(tensor, async_op=True).get_future().then(lambda done: done.value()[0] * 2).wait())
ask("barrier", dist.barrier)
ask("monitored_barrier", dist.monitored_barrier)

objects = [None] * size
ask("all_gather_object", lambda: (dist.all_gather_object(objects, {"rank": rank, "x": "x" * rank}), objects))
gathered = [None] * size if rank == 1 else None
ask("gather_object", lambda: (dist.gather_object(("rank", rank), gathered, dst=1), gathered))
ask("gather_object: no list", lambda: dist.gather_object(1, None, dst=rank))
listed = [rank, "a" * rank, None]
ask("broadcast_object_list", lambda: (dist.broadcast_object_list(listed, src=1), listed))
scattered = [None]
ask("scatter_object_list", lambda: (
    dist.scatter_object_list(scattered, [(i, "b" * i) for i in range(size)] if rank == 0 else None), scattered
))  # fmt: skip
ask("scatter_object_list: no place", lambda: dist.scatter_object_list([], [1] * size))
if rank == 0:
    dist.send_object_list([1, {"two": 2}], dst=1)
elif rank == 1:
    received = [None, None]
    ask("recv_object_list", lambda: (dist.recv_object_list(received, src=0), received))

local = dist.new_group([0, 1], use_local_synchronization=True)
ask(
    "local synchronization",
    lambda: made(lambda each: dist.all_reduce(each, group=local), torch.ones(1)) if local else None,
)
pair = dist.new_group([0, 2])
ask("members", lambda: (dist.get_rank(pair), dist.get_world_size(pair), pair == dist.GroupMember.NON_GROUP_MEMBER))
ask("all_reduce of a pair", lambda: made(lambda each: dist.all_reduce(each, group=pair), torch.ones(1) + rank))
ask("broadcast in a pair", lambda: made(lambda each: dist.broadcast(each, 2, group=pair), torch.ones(1) + rank))
ask("barrier of a pair", lambda: dist.barrier(group=pair))
ask("monitored_barrier of a pair", lambda: dist.monitored_barrier(group=pair))
ask("irecv in a pair", lambda: dist.irecv(zeros(1), src=2, group=pair) if rank == 1 else None)
if rank != 1:
    ask(
        "ranks",
        lambda: (dist.get_process_group_ranks(pair), dist.get_group_rank(pair, 2), dist.get_global_rank(pair, 1)),
    )
    ask("rank of who isn't in it", lambda: dist.get_group_rank(pair, 1))
    ask("global rank of nobody", lambda: dist.get_global_rank(pair, 2))
    ask("broadcast from outside", lambda: dist.broadcast(zeros(1), 1, group=pair))
    ask("backend of a pair", lambda: (dist.get_backend(pair), pair.group_name, pair.size()))
else:
    ask("backend of a pair", lambda: dist.get_backend(pair))
turned_round = dist.new_group([2, 1, 0], sort_ranks=False)
ask("reversed", lambda: made(lambda each: dist.broadcast(each, group=turned_round, group_src=0), zeros(1) + rank))
ask("subgroups", lambda: made(lambda each: dist.all_reduce(each, group=dist.new_subgroups(1)[0]), torch.ones(1)))
ask("subgroups that don't divide", lambda: dist.new_subgroups(2))
ask("a group with a rank twice", lambda: dist.new_group([0, 0]))
ask("a group with nobody's rank", lambda: dist.new_group([0, 7]))
ask("a group for three seconds", lambda: dist.new_group([0], timeout=3))
dist.barrier()
if rank == 0:
    dist.destroy_process_group(pair)
    ask("a destroyed group", lambda: dist.destroy_process_group(pair))
    ask("rank in a destroyed group", lambda: dist.get_group_rank(pair, 0))
dist.destroy_process_group()
print(dist.is_initialized())
ask("after", lambda: dist.barrier())
sys.stdout.flush()
