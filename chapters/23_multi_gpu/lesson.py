# %% [markdown]
# # Several GPUs
# After this chapter your library trains one model on four GPUs, in two ways: with replicas that one process makes anew
# for each batch, and with ranks that pass gradients around a ring. You'll be able to say which bytes move where, and
# when.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(23)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## A counter that stays at 0
# This module counts its calls, lists the rows that it saw, and adds them up in a buffer. Four simulated GPUs run it
# under `DataParallel`, on a batch of nine rows, twice. What do the counter, the list and the buffer say?

# %% tags=["proof-lost-counter"]
import minitorch as torch
from course import check, pictures

torch.cuda.simulate(4)


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.calls, self.seen = torch.nn.Linear(3, 2), 0, []
        self.register_buffer("rows", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        self.seen.append(len(x))
        self.rows += len(x)
        return self.layer(x)


torch.manual_seed(0)
model, batch = Counting().to("cuda:0"), torch.rand(9, 3)
parallel = torch.nn.DataParallel(model)
parallel(batch), parallel(batch)
print("calls:", model.calls, " list:", model.seen, " buffer:", model.rows.item(), "of 18 rows")

# %% [markdown] tags=["short"]
# Three answers, and no two agree. The counter is still 0. The list has six entries, not eight, so one GPU did nothing. The
# buffer saw a third of the rows. To explain all three, you need to know what a replica is.
#
# ## Divide, copy, run, join
# The smallest model takes four lines: cut the batch into chunks, put a copy of the module on each GPU, run the copies, and
# join their results.

# %% tags=["proof-toy"]
import copy


def in_parallel(model, batch, gpus):
    pieces = batch.chunk(gpus)
    copies = [copy.deepcopy(model).to(f"cuda:{place}") for place in range(len(pieces))]
    results = [each(piece.to(f"cuda:{place}")) for place, (each, piece) in enumerate(zip(copies, pieces, strict=True))]
    return torch.cat([each.to("cuda:0") for each in results])


layer = torch.nn.Linear(3, 2).to("cuda:0")
gap = (in_parallel(layer, batch, 4) - layer(batch.cuda())).abs().max()
print(f"largest difference from one GPU: {gap:.4f}")
print("rows for 4 GPUs:", {rows: [len(each) for each in torch.rand(rows, 3).chunk(4)] for rows in (8, 9, 10, 3)})

# %% [markdown]
# The results are right. The second line also explains the list: `chunk` makes pieces of ⌈rows / GPUs⌉, so nine rows on
# four GPUs are 3, 3 and 3, and the fourth GPU gets none.
#
# ### Break it
# Now train with it.

# %% tags=["proof-no-gradient"]
in_parallel(layer, batch, 4).sum().backward()
print("gradient with deep copies:", layer.weight.grad)
torch.nn.DataParallel(layer)(batch).sum().backward()
print("gradient with replicas:  ", [round(number, 2) for number in layer.weight.grad[0].tolist()])

# %% [markdown]
# A deep copy has parameters of its own, and their gradients stay with it. So `DataParallel` doesn't copy the parameters behind
# autograd's back. A **replica** is a shallow copy of the module's `__dict__`, in which each parameter has been replaced by
# `parameter.to(device)`: the result of an operation, with a `grad_fn`. The backward pass goes through these copies and adds up
# at the parameter. That explains the surprise:
#
# | what the module writes to | on a replica it is | afterwards |
# |---|---|---|
# | a number, `self.calls += 1` | an attribute of the replica | lost with the replica |
# | a list, `self.seen.append(…)` | the module's own list | kept, in the order of the threads |
# | a buffer, `self.rows += …` | a copy; on the first GPU the module's own | only what the first chunk gave it |
#
# You write `replica` and the four steps around it in exercise 2. Then this runs:

# %% [markdown]
# ### Milestone: four GPUs give one GPU's gradients
# The batch has ten rows, so the shares are 3, 3, 3 and 1.

# %% tags=["proof-same-gradients"]
mytorch.cuda.simulate(4)


def gradients(gpus, library=mytorch):
    library.manual_seed(1)
    nn, x = library.nn, library.rand(10, 3)
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)).to("cuda:0")
    run = nn.DataParallel(net, list(range(gpus)))
    loss = (run(x.to("cuda:0")) ** 2).mean()
    loss.backward()
    return net[0].weight.grad, loss


(one, _), (four, loss) = gradients(1), gradients(4)
print(f"sum of the entries {one.sum().item():.4f}, on four GPUs {four.sum().item():.4f}; the loss is on {loss.device}")
small = mytorch.nn.DataParallel(mytorch.nn.Linear(1, 1, bias=False).to("cuda:0"), [0, 1])
end = small(mytorch.ones(2, 1)).grad_fn
pictures.graph(end, children=lambda n: [e[0] for e in n.next_functions], label=lambda n: n.name())

# %% [markdown]
# The picture shows the smallest case, one weight on two GPUs. Both replicas' branches lead back to one `AccumulateGrad`, one of them through
# the copy to the second GPU.
#
# The losses weren't computed on four GPUs. The *outputs* were gathered on the first, and the loss was computed there, from
# all ten rows. That's why unequal shares do no harm. If the module returns its loss itself, you get four numbers, and
# averaging those weights the rows of a small share more.
#
# ## Where everything has to be
# Five statements that you'll hear about several GPUs, run on two:

# %% tags=["proof-where"]
torch.cuda.simulate(2)


def told(make, x):
    try:
        return f"works, the result is on {make()(x).device}"
    except (RuntimeError, AssertionError) as error:
        return f"{type(error).__name__}: {str(error).partition(' but')[0]}"


def parallel_on(where, ids):
    return lambda: torch.nn.DataParallel(torch.nn.Linear(3, 2).to(where), device_ids=ids)


print("parameters on cuda:1:  ", told(parallel_on("cuda:1", [0, 1]), torch.ones(4, 3)))
print("the first id is 1:     ", told(parallel_on("cuda:1", [1, 0]), torch.ones(4, 3)))
print("inputs on the CPU:     ", told(parallel_on("cuda:0", [0, 1]), torch.ones(4, 3)))
print("three ids, two GPUs:   ", told(parallel_on("cuda:0", [0, 1, 2]), torch.ones(4, 3)))
print("a sum over both GPUs:  ", told(lambda: lambda x: x.to("cuda:0") + x.to("cuda:1"), torch.ones(3)))

# %% [markdown]
# - "`model.cuda(device_ids[1])` chooses the main GPU." The parameters must be on `device_ids[0]`; the order of the
#   list chooses.
# - "The data must first be on the main GPU." Inputs from anywhere are scattered; it is the parameters that have
#   to be there.
# - "`device_ids=[0, 1, 2]` uses what there is." With two GPUs it raises.
# - "With peer access you can operate across GPUs." Copies can then go directly; an operation still wants all its
#   tensors on one device.
# - "Each GPU computes its loss." The loss is computed where the outputs are gathered ([same gradients](proof-same-gradients)).
# - "Replicas are shallow copies." Of the module, yes; its parameters are [copied, for each pass](proof-lost-counter).
# - "Each GPU gets the same share." It gets [a chunk, or nothing](proof-toy).
#
# **Interview · What does `DataParallel` do in one step, and why use `DistributedDataParallel` instead?**
#
# - *Thirty seconds:* Scatter the inputs, copy the module to each GPU, run the copies in threads, gather the outputs. The backward
#   pass adds the replicas' gradients up at the parameters on the first GPU. All weights move in each forward pass, and the threads
#   of one process share Python's lock.
# - *Longer:* `DistributedDataParallel` has a process for each GPU. The weights stay where they are; only gradients move, and
#   while the backward pass is still running.
# - *They ask next:* Which GPU runs out of memory first? The first: it also holds the gathered outputs, the gradients and the
#   optimizer's state.
# - *The trap:* "Both divide the batch, so they do the same." Batch norm, counters, random numbers and the loss differ.
# - *Proof:* `proof-lost-counter`, `proof-same-gradients`; what a ring sends: `proof-ring`.
#
# ## Who sends how much?
# Forget modules for a moment. Each of $n$ **ranks** has a gradient of $N$ bytes, and wants the sum of all: an
# **all-reduce**. The first idea: everybody sends to rank 0, which adds and sends the sum back. In `mytorch`, a rank is a thread that
# reaches the others through mailboxes, and counts what it sends:

# %% tags=["proof-star"]
distributed = mytorch.distributed


def star(tensor):
    rank, size = distributed.get_rank(), distributed.get_world_size()
    if rank:
        distributed.send(tensor, 0)
    for other in range(1, size) if rank == 0 else ():
        tensor += distributed.received(other)
    distributed.broadcast(tensor, 0)


def bytes_of(all_reduce, ranks, length=1200):
    def job(rank):
        tensor = mytorch.full((length,), float(rank))
        all_reduce(tensor)
        return tensor[-1].item(), distributed.bytes_sent()

    return distributed.spawn(job, nprocs=ranks)


print("sum and bytes sent by ranks 0 to 3:", bytes_of(star, 4))

# %% [markdown]
# Rank 0 sends three times the array, and receives it three times as well. With 64 ranks it would be 63 times, while everybody
# else waits.
#
# ### A ring
# Cut the array into $n$ chunks. In each step every rank sends one chunk to its right neighbour, and adds the one that
# comes from the left. After $n - 1$ steps each rank has one complete chunk: that is a **reduce-scatter**. In $n - 1$ more
# steps the complete chunks travel around, and nobody adds any more: an **all-gather**. Move the slider; a number says how
# many ranks' gradients are in a chunk.


# %% tags=["proof-ring-steps"]
def summands(steps, size=4):
    """How many ranks' gradients each rank (row) has in each chunk (column) after so many steps."""

    def of(rank, chunk):
        if (rank - chunk) % size <= steps - (size - 1):
            return size  # complete, and passed on as far as this rank
        found = size - (chunk - rank) % size
        return found if found <= steps + 1 else 1

    return [[of(rank, chunk) for chunk in range(size)] for rank in range(size)]


for steps in (1, 3, 6):
    print(f"after step {steps}:", summands(steps))


def draw(steps):
    count = mytorch.tensor(summands(steps))
    return pictures.grid(count, count == 4, f"rank × chunk after {steps} of 6 steps")


pictures.slider(draw, start={"steps": 3}, steps=list(range(7)))

# %% tags=["proof-ring"]
for ranks in (2, 4, 8):
    sent = [count for _, count in bytes_of(distributed.all_reduce, ranks)]
    at_zero = max(count for _, count in bytes_of(star, ranks))
    print(f"{ranks} ranks: a rank sends {max(sent)} of 4800 bytes in the ring, rank 0 of the star {at_zero}")
counts = [2, 4, 8, 16, 32, 64]
lines = {"ring, each rank": [2 * (n - 1) / n for n in counts], "star, rank 0": [n - 1 for n in counts]}
pictures.curves(lines, counts, xlabel="ranks", ylabel="sent (times the array)", log="y")

# %% [markdown]
# In a ring each rank sends $2 (n - 1) / n$ of the array: less than twice its size, however many there are. You write both halves
# in exercise 3.
#
# **Interview · Ring or tree: how many bytes, how many steps?**
#
# - *Thirty seconds:* In a ring each rank sends 2(n − 1)/n of the array, in 2(n − 1) steps. A tree needs about 2 log₂ n steps. So a ring
#   is best for large arrays, where bytes count, and a tree for small ones, where steps do.
# - *Longer:* As long as only ranks add, no all-reduce sends fewer bytes than a ring. A switch that adds on the way (NVLink SHARP)
#   halves them.
# - *They ask next:* What are the two halves good for alone? With a reduce-scatter each rank keeps the gradient of its share of the
#   weights, updates that, and all-gathers the weights: the idea of ZeRO and FSDP.
# - *The trap:* "More ranks mean more bytes for each." In the ring the bytes hardly change; the number of steps grows.
# - *Proof:* `proof-ring`, `proof-ring-steps`.
#
# ## Ranks that train
# `DistributedDataParallel`, DDP for short, gives each rank a module of its own. They begin equal, since rank 0 broadcasts its
# parameters, and stay equal, since all average their gradients before the optimizer's step. It needs no change in the module: a
# hook at each parameter ([chapter 07b](07b_vector_jacobian_products.ipynb)) says when its gradient is complete.
#
# ### Milestone: four ranks train as one device does

# %% tags=["proof-DDP"]
DDP = mytorch.nn.parallel.DistributedDataParallel
mytorch.manual_seed(0)
x = mytorch.rand(16, 3)
y = x.sum(1, keepdim=True)


def train(model, x, y, steps=50):
    optimizer, losses = mytorch.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def a_model(seed):
    mytorch.manual_seed(seed)
    return mytorch.nn.Sequential(mytorch.nn.Linear(3, 8), mytorch.nn.Tanh(), mytorch.nn.Linear(8, 1))


models = [a_model(rank) for rank in range(4)]
by_rank = distributed.spawn(lambda rank: train(DDP(models[rank]), x[rank::4], y[rank::4]), nprocs=4)
alone = train(a_model(0), x, y)
mean = [sum(each) / 4 for each in zip(*by_rank, strict=True)]
print(f"one device: {alone[0]:.3f} to {alone[-1]:.3f}; mean over the ranks: {mean[0]:.3f} to {mean[-1]:.3f}")
print("a weight on each rank:", [f"{each[0].weight[0, 0].item():.3f}" for each in models])
pictures.curves({"alone": alone, "rank 0": by_rank[0], "rank 1": by_rank[1]}, xlabel="step", ylabel="loss", log="y")

# %% [markdown] tags=["short"]
# The losses of the ranks differ, as each sees its own rows. The mean of the gradients is the gradient of the mean, so the weights
# don't differ.
#
# ### When does it talk?
# DDP puts parameters into **buckets**, from the last layer to the first, which is about the order in which gradients become
# complete. As soon as a bucket is full, it is averaged, while the backward pass goes on. Smaller buckets start earlier, and
# cost more messages. With `no_sync`, nothing is sent, and gradients add up:


# %% tags=["proof-no-sync"]
def sent_in(micro_batches, synchronised):
    def job(rank):
        model = DDP(copy.deepcopy(models[0]))
        begin = distributed.bytes_sent()
        for number in range(micro_batches):
            if synchronised or number == micro_batches - 1:
                model(x[:2]).sum().backward()
            else:
                with model.no_sync():
                    model(x[:2]).sum().backward()
        return distributed.bytes_sent() - begin

    return distributed.spawn(job, nprocs=2)[0]


print("bytes for one batch:", sent_in(1, True))
print(f"for four micro-batches: {sent_in(4, True)}, with no_sync in the first three {sent_in(4, False)}")
for limit in (1e-6, 5e-5, 25):
    print(f"buckets of {limit} MB:", [len(each) for each in DDP(a_model(0), bucket_cap_mb=limit).buckets], "parameters")

# %% [markdown] tags=["short"]
# **Interview · When does DDP communicate?**
#
# - *Thirty seconds:* When it is made, it broadcasts parameters and buffers from rank 0. In the backward pass it all-reduces each
#   bucket of gradients as soon as all of them are complete. Before a forward pass it broadcasts buffers.
# - *Longer:* The optimizer needs no communication, because equal weights and equal gradients give equal steps.
# - *They ask next:* What does `no_sync` save? With k micro-batches, k − 1 of k all-reduces.
# - *The trap:* "DDP synchronises the weights in each step." It averages gradients; weights that you change by hand on one rank stay
#   different.
# - *Proof:* `proof-no-sync`, `proof-DDP`.
#
# ## A mean of means
# Rank 0 has a sentence of six tokens, rank 1 one of two, and the rest is padding. Each rank divides its loss by its
# own number of tokens, and DDP averages.

# %% tags=["proof-mean-of-means"]
tokens = [[2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [10.0, 18.0]]  # losses
means = [sum(each) / len(each) for each in tokens]
print("means of the ranks:", means, " mean of means:", sum(means) / 2)
print("mean over all tokens:", sum(map(sum, tokens)) / 8)
print("each rank's sum * 2 ranks / 8 tokens, averaged:", sum(sum(each) * 2 / 8 for each in tokens) / 2)

# %% [markdown]
# A token of the short sentence counted three times as much. To get the mean over all tokens, all-reduce the *number* of tokens first,
# and divide each rank's sum by it, times the number of ranks, since DDP will divide by that.
#
# **Interview · Eight ranks, four micro-batches each: what do you divide the loss by?**
#
# - *Thirty seconds:* DDP divides by the eight ranks itself. You divide by four, if each micro-batch's loss is a mean over the same
#   number of tokens. If they differ, divide each sum by the number of tokens in all 32, and multiply by eight.
# - *Longer:* DDP averages, `DataParallel` adds up, because its loss was already a mean over the whole batch.
# - *They ask next:* Then why doesn't everybody notice? With equal lengths both agree, and with unequal ones the loss still falls.
# - *The trap:* Dividing by 32, so that the gradient is eight times too small.
# - *Proof:* `proof-mean-of-means`.
#
# ## What goes wrong
# A parameter that isn't used gets no gradient, its bucket never fills, and everybody would wait. And a rank that has fewer
# batches leaves the others waiting in an all-reduce:


# %% tags=["proof-stuck"]
def unused(rank):
    layers = mytorch.nn.ModuleList([mytorch.nn.Linear(3, 1), mytorch.nn.Linear(3, 1)])
    layers.forward = lambda x: layers[0](x)
    model = DDP(layers)
    for _ in range(2):
        model(x[:2]).sum().backward()


def one_batch_fewer(rank):
    train(DDP(copy.deepcopy(models[0])), x[:2], y[:2], steps=3 - rank)


for job in (unused, one_batch_fewer):
    print(f"{job.__name__}:", str(check.error(distributed.spawn, job, nprocs=2))[:90])

# %% [markdown]
# **Interview · What is `find_unused_parameters` for?**
#
# - *Thirty seconds:* For modules in which a pass leaves parameters out. DDP then searches the graph after each forward pass and
#   marks those that will get no gradient as ready, so that the buckets fill.
# - *Longer:* Without it, PyTorch raises in the next forward pass. The search takes time in each step, so don't set it
#   by default.
# - *They ask next:* And if different ranks leave out different ones? Then it is needed too: a rank without a gradient
#   contributes zeros.
# - *The trap:* Setting it because of an error that came from a layer that isn't needed at all.
# - *Proof:* `proof-stuck`.
#
# **Interview · One rank has one batch fewer than the others. What happens?**
#
# - *Thirty seconds:* It ends, and the others wait in an all-reduce until the connection closes or the timeout comes.
# - *Longer:* `DistributedSampler` avoids it: it repeats items until all ranks have the same number. The context
#   `Join` lets a rank that is done take part with zeros.
# - *They ask next:* The same with a rank that skips a step, say on `nan`? The same: all ranks have to agree to skip.
# - *The trap:* "It raises at once." In PyTorch it may take the whole timeout.
# - *Proof:* `proof-stuck`.
#
# ### Batch norm over ranks
# Each rank's batch norm sees its own rows. For statistics of the whole batch, the ranks add up three numbers for each channel:


# %% tags=["proof-sync-batch-norm"]
def statistics(rank):
    rows = x[:10] if rank == 0 else x[10:]
    sums = mytorch.stack([mytorch.full((3,), float(len(rows))), rows.sum(0), (rows**2).sum(0)])
    distributed.all_reduce(sums)
    return sums[1] / sums[0], sums[2] / sums[0] - (sums[1] / sums[0]) ** 2


found_mean, found_var = distributed.spawn(statistics, nprocs=2)[0]
for name, found, expected in (("mean", found_mean, x.mean(0)), ("variance", found_var, x.var(0, correction=0))):
    print(
        f"{name:8} {[f'{each:.3f}' for each in found.tolist()]} of all rows {[f'{each:.3f}' for each in expected.tolist()]}"
    )
print("mean of rank 0's rows alone:", [f"{each:.3f}" for each in x[:10].mean(0).tolist()])

# %% [markdown]
# **Interview · What does batch norm do under DDP?**
#
# - *Thirty seconds:* Each rank normalizes by its own rows. With few rows a rank, that is noisy. `SyncBatchNorm` all-reduces count, sum
#   and sum of squares, and their gradients.
# - *Longer:* Running statistics would differ between ranks; DDP broadcasts rank 0's buffers before each forward pass.
# - *They ask next:* And under `DataParallel`? Each replica uses its own rows, and only the first one's running statistics stay.
# - *The trap:* Averaging variances. The mean of the ranks' variances misses how far their means lie apart.
# - *Proof:* `proof-sync-batch-norm`; the buffer under `DataParallel`: `proof-lost-counter`.
#
# ## Real processes
# Threads have shown what moves. This script runs in two processes, each with an interpreter and a rank of its own. The
# launcher tells them who they are in environment variables, the same ones that `torchrun` sets.

# %% tags=["proof-processes"]
import subprocess
import sys


def run(*command):
    print(subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True).stdout, end="")


run("-m", "minitorch.distributed.run", "--standalone", "--nproc-per-node=2", "files/two_ranks.py")

# %% [markdown]
# On PyTorch the same [script](files/two_ranks.py) prints the same, under `torchrun --nproc-per-node=2`. And what do processes share? Another
# [script](files/shared_memory.py) passes a tensor and a NumPy array to a process that writes 100 into both:

# %% tags=["proof-shared-memory"]
run("-m", "minitorch", "files/shared_memory.py")

# %% [markdown]
# **Myth** · "Once a tensor is in shared memory, sending it copies nothing, and the package is fully compatible with Python's."
# Passing a tensor *puts* it into shared memory, so the first time it is copied, and afterwards each side sees the other's
# writes. An array is pickled: the child has a copy. And a result that requires grad is refused.
#
# **Interview · `fork` or `spawn`, and why does CUDA care?**
#
# - *Thirty seconds:* `fork` copies the process, with everything in memory; `spawn` starts a new interpreter and sends
#   pickled arguments. A CUDA context doesn't survive a fork, so use `spawn` if the parent has used a GPU.
# - *Longer:* A fork copies only the calling thread, too: a lock that another thread held stays locked in the child.
# - *They ask next:* Why must the main module be guarded by `if __name__ == "__main__"`? `spawn` imports it again.
# - *The trap:* Creating a tensor on the GPU at import time. Then every forked worker inherits a context that it can't use.
# - *Proof:* the start of a process: `proof-shared-memory`; both methods: [chapter 18](18_data.ipynb).
#
# ## The real one
# This is how minitorch makes a replica.

# %%
import inspect

module = inspect.getmodule(torch.nn.parallel.replicate)
print(inspect.getsource(module._copy))

# %% [markdown] tags=["short"]
# PyTorch copies all parameters in one call that packs small ones together, `Broadcast`, whose backward adds up the gradients. It
# also leaves parameters out of the replica's `_parameters`, because they aren't leaves: `list(replica.parameters())` is empty.
#
# ## Rapid fire
# 1. How does `DataParallel` split nine rows over four GPUs? 3, 3, 3 and none.
# 2. Where is the loss computed under `DataParallel`? Where the outputs are gathered, by default on the first GPU.
# 3. Does DDP add gradients up or average them? It averages.
# 4. An all-reduce is a reduce-scatter and what? An all-gather.
# 5. Why do the names in a state dict begin with `module.`? The wrapper is a module, and yours is its attribute.


# %% tags=["proof-rapid-fire"]
def gradient_of(rank):
    model = DDP(mytorch.nn.Linear(1, 1, bias=False))
    model(mytorch.full((1, 1), 1.0 + 2 * rank)).sum().backward()
    return model.module.weight.grad.item()


torch.cuda.simulate(4)
print("1.", [len(each) for each in torch.nn.parallel.scatter(torch.zeros(9), [0, 1, 2, 3])])
print("2.", torch.nn.DataParallel(torch.nn.Linear(3, 2).cuda(), output_device=3)(batch).device, "if you ask for it")
print("3. gradients 1 and 3 become", distributed.spawn(gradient_of, nprocs=2))
print("5.", list(DDP(mytorch.nn.Linear(3, 1)).state_dict()))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. `DataParallel`: scatter, replicate, run in threads, gather. One process.
# 2. A replica's parameters are results of copying, so that gradients reach yours. What it writes to itself is lost.
# 3. Parameters on `device_ids[0]`; inputs anywhere.
# 4. `chunk` gives unequal shares, or none.
# 5. All-reduce = reduce-scatter + all-gather.
# 6. In a ring each rank sends 2(n − 1)/n of the array.
# 7. DDP averages gradients in buckets, during the backward pass.
# 8. `no_sync` in all micro-batches but the last.
# 9. A mean of means isn't the mean: weight by the number of tokens.
# 10. All ranks must make the same calls, or somebody waits.
#
# ## You try
# [The exercises](../exercises/23_multi_gpu.ipynb): predict what survives a pass; write `DataParallel`, the ring and DDP; repair a mean
# of means; measure which bucket size hides most of the communication; and say what processes share. The next sitting,
# [Shards](23b_shards.ipynb), divides the optimizer's state and the weights over the ranks.
