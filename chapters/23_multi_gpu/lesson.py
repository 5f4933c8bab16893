# %% [markdown]
# # Several GPUs
# After this chapter your library trains one model on several ranks, which pass gradients around a ring while the backward pass runs. You will be able
# to say which bytes move where and when, what breaks if one rank does something else, and how you find that rank.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(23)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Two ranks that drift apart
# A **rank** is one of the processes that train a model together. Two ranks start with the same weight, 0, but rank 0's
# rows give the gradient 1 and rank 1's rows give 2. One program wraps the model in `DistributedDataParallel`, **DDP**
# for short, and the other forgets to. How far apart are the weights after ten steps, and which error do you get?

# %% tags=["proof-forgotten"]
import copy

from course import check, pictures

distributed, DDP = mytorch.distributed, mytorch.nn.parallel.DistributedDataParallel


def ten_steps(rank, wrap):
    layer = mytorch.nn.Linear(1, 1, bias=False)
    layer.weight.data.zero_()
    model, optimizer = wrap(layer), mytorch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        model(mytorch.full((1, 1), rank + 1.0)).sum().backward()  # the weight's gradient is the input
        optimizer.step()
    return round(layer.weight.item(), 3)


for name, wrap in {"forgotten": lambda layer: layer, "with DDP": DDP}.items():
    print(f"{name}: weights", distributed.spawn(ten_steps, (wrap,), nprocs=2))

# %% [markdown] tags=["short"]
# No error says that the ranks train two models; on each of them the loss falls. With DDP both ranks take the mean of the gradients, 1.5, so their
# weights stay equal. What does the wrapper do?
#
# ## The smallest DistributedDataParallel
# Each rank has a whole model and its own rows of the batch. Two things keep the models equal: rank 0 broadcasts its parameters at the start, and all
# ranks average their gradients before each optimizer step. In `mytorch` a rank is a thread, which is enough to see what is sent.

# %% tags=["proof-toy"]
mytorch.manual_seed(0)
x = mytorch.rand(16, 3)
y = x.sum(1, keepdim=True)


def a_model(seed):
    mytorch.manual_seed(seed)
    return mytorch.nn.Sequential(mytorch.nn.Linear(3, 8), mytorch.nn.Tanh(), mytorch.nn.Linear(8, 1))


def train(model, x, y, synchronize=lambda model: None, steps=50):
    optimizer, losses, weights = mytorch.optim.SGD(model.parameters(), lr=0.1), [], []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        synchronize(model)
        optimizer.step()
        losses.append(loss.item())
        weights.append(next(model.parameters())[0, 0].item())
    return losses, weights


def average(model):
    for parameter in model.parameters():
        distributed.all_reduce(parameter.grad)  # the sum over all ranks, in place
        parameter.grad /= distributed.get_world_size()


def smallest(rank, synchronize):
    model = copy.deepcopy(models[rank])
    for parameter in model.parameters():
        distributed.broadcast(parameter, 0)
    return train(model, x[rank::4], y[rank::4], synchronize)


def summary(name, runs):
    losses, weights = zip(*runs, strict=True)
    mean = [sum(values) / len(runs) for values in zip(*losses, strict=True)]
    ends = [f"{path[-1]:.3f}" for path in weights]
    print(f"{name:14} loss {mean[0]:.3f} to {mean[-1]:.3f}, a weight on each rank: {', '.join(ends)}")
    return weights


models = [a_model(rank) for rank in range(4)]
one_device = train(a_model(0), x, y)
summary("one device", [one_device])
apart = summary("not averaged", distributed.spawn(smallest, (lambda model: None,), nprocs=4))
together = summary("averaged", distributed.spawn(smallest, (average,), nprocs=4))
lines = {f"rank {rank}, not averaged": path for rank, path in enumerate(apart)} | {"all ranks, averaged": together[0]}
pictures.curves(lines, xlabel="step", ylabel="one weight")

# %% [markdown]
# Without averaging, each rank fits its own four rows, which is easy, so the loss is lower although the models drift apart. With averaging, four ranks
# train as one device does on all rows: the shares are equal, so the mean of their gradients is the gradient of the mean.
#
# ## Processes, ranks and process groups
# In PyTorch each rank is a process with an interpreter of its own, and a launcher tells it who it is in environment variables. `RANK` counts over all
# machines, `LOCAL_RANK` on one machine, and `WORLD_SIZE` is the number of ranks. This [script](files/two_ranks.py) starts twice:

# %% tags=["proof-processes"]
import subprocess
import sys


def run(*command):
    print(subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True).stdout, end="")


launcher = ["-m", "minitorch.distributed.run", "--standalone"]
run(*launcher, "--nproc-per-node=2", "files/two_ranks.py")

# %% [markdown]
# The processes begin with different weights, and after 400 steps both have the same. Under
# `torchrun --nproc-per-node=2` PyTorch prints the same lines. `init_process_group` connects the processes, with the
# backend `nccl` for GPUs or `gloo` for CPUs. A **process group** is a subset of the ranks with its own collectives, and
# as soon as a model is divided, you need several ([Shards](23b_shards.ipynb)). The next [script](files/groups.py) has
# four processes in two groups, and afterwards one process is late:

# %% tags=["proof-groups"]
run(*launcher, "--nproc-per-node=4", "files/groups.py")

# %% [markdown]
# **Interview · What are `RANK`, `LOCAL_RANK` and a process group?**
#
# - *Thirty seconds:* `RANK` is the number of the process among all processes of the job, and `LOCAL_RANK` is its number on its machine, so it chooses
#   the GPU. A process group is a set of ranks that communicate with each other: `init_process_group` creates the one with all ranks, and `new_group`
#   creates smaller ones.
# - *Longer:* NCCL moves tensors between GPUs, Gloo between CPUs. Inside a machine NCCL uses NVLink or PCIe, and between
#   machines InfiniBand or Ethernet, which is often ten times slower, so the groups that communicate most belong inside
#   one machine.
# - *They ask next:* What does each process do first? It calls `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))`,
#   because otherwise every process on the machine uses GPU 0.
# - *The trap:* `new_group` isn't called by its members alone. By default all ranks have to create all groups, in the same order.
# - *Proof:* `proof-processes`, `proof-groups`.
#
# ## All-reduce: a star or a ring
# Each of $n$ ranks has a gradient of $N$ bytes and needs the sum of all, which is called an **all-reduce**. The first idea is a star: everybody sends
# to rank 0, which adds up and sends the sum back.

# %% tags=["proof-star"]


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
# Rank 0 sends three times the array and receives it three times as well. With 64 ranks it would be 63 times, while all
# the others wait.
#
# ### Ring all-reduce: reduce-scatter and all-gather
# Cut the array into $n$ chunks. In each step every rank sends one chunk to its right neighbour and adds the chunk that comes from the left. After
# $n-1$ steps each rank has one complete chunk, which is a **reduce-scatter**. In $n-1$ more steps the complete chunks travel around the ring, which
# is an **all-gather**. Move the slider: a number says how many ranks' gradients a chunk contains.


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
# In a ring each rank sends $2(n-1)/n$ of the array, which is less than twice its size however many ranks there are. You write both halves in
# exercise 3.
#
# **Interview · Ring or tree: how many bytes, how many steps?**
#
# - *Thirty seconds:* In a ring each rank sends 2(n − 1)/n of the array, in 2(n − 1) steps, so it is good for large arrays and slow for small ones. A
#   tree needs only about 2 log₂ n steps. NCCL's double binary tree has nearly the ring's bandwidth as well, so over many machines NCCL may choose it
#   for large messages, too.
# - *Longer:* As long as the reduction runs on the ranks, no all-reduce sends fewer bytes than a ring. A switch that adds on the way (NVLink SHARP)
#   halves them. The other collectives are cheaper: a reduce-scatter, an all-gather and an all-to-all each send (n − 1)/n of the array.
# - *They ask next:* What are the two halves good for alone? With a reduce-scatter each rank has the gradient of its share of the weights, updates
#   that share, and all-gathers the weights, which is the idea of ZeRO and FSDP.
# - *The trap:* "More ranks mean more bytes for each." In the ring the bytes hardly change; the number of steps grows.
# - *Proof:* `proof-ring`, `proof-ring-steps`.
#
# ## Buckets: communication during the backward pass
# The smallest version is correct but slow, because it waits for the whole backward pass and then sends one message for each parameter. DDP registers
# a hook at each parameter ([chapter 07b](07b_vector_jacobian_products.ipynb)) that tells it when a gradient is complete, collects the gradients in
# **buckets**, and averages a bucket as soon as it is full. You write this in exercise 4, and the module doesn't have to change.
#
# ### Milestone: four ranks train as one device does
# The ranks begin with the four different models of the smallest version, and all that is new is the wrapper. The last three lines show how the limit
# on a bucket's size groups the model's four parameters:

# %% tags=["proof-DDP"]
by_rank = distributed.spawn(lambda rank: train(DDP(copy.deepcopy(models[rank])), x[rank::4], y[rank::4]), nprocs=4)
summary("one device", [one_device])
summary("DDP", by_rank)
for limit in (1e-6, 5e-5, 25):
    buckets = DDP(a_model(0), bucket_cap_mb=limit).buckets
    print(f"buckets of {limit} MB:", [len(bucket) for bucket in buckets], "parameters")

# %% [markdown]
# Small buckets start early but cost more messages. Your buckets are filled from the last layer to the first and stay as
# they are, whereas PyTorch adapts its own:
#
# - In the first pass all gradients form one bucket.
# - Then DDP **rebuilds the buckets** in the order in which the gradients arrived. The first one is limited to 1 MB, so
#   that communication starts early, and the others to 25 MB. On PyTorch, forty layers of 1 MB had one bucket of 40 MB
#   in the first pass, then buckets of 1, 25 and 14 MB.
# - With `find_unused_parameters=True` nothing is rebuilt, and if you set `bucket_cap_mb` yourself, the small first bucket is gone.
#
# **Interview · When does DDP communicate?**
#
# - *Thirty seconds:* When it is created, it broadcasts parameters and buffers from rank 0. In the backward pass it
#   all-reduces each bucket as soon as all of its gradients are complete, and before a forward pass it broadcasts the
#   buffers.
# - *Longer:* The optimizer needs no communication, because equal weights and equal gradients give equal steps. A
#   *communication hook* can compress a bucket, for instance to bfloat16, and `gradient_as_bucket_view=True` saves the
#   second copy of the gradients.
# - *They ask next:* How are the buckets formed? The first pass uses one, and afterwards they follow the order in which gradients
#   arrived, at most 25 MB each and 1 MB for the first.
# - *They ask next:* How do you train over slow links? *Local SGD* and its descendant DiLoCo let each rank take many steps alone,
#   and average the changes of the weights only every few hundred steps.
# - *The trap:* "DDP synchronizes the weights in each step." It averages gradients, so a weight that you change by hand on one rank stays different.
# - *Proof:* `proof-DDP`, `proof-toy`.
#
# ### Gradient accumulation with no_sync
# With several micro-batches for each step, only the last one has to communicate. The context `no_sync` switches the averaging off for the others. Which
# half of the pass has to be inside, the forward or the backward pass? Again, the ranks' gradients are 1 and 2:

# %% tags=["proof-which-pass"]
from contextlib import nullcontext


def one_pass(rank, forward_inside, backward_inside):
    model = DDP(mytorch.nn.Linear(1, 1, bias=False))
    with model.no_sync() if forward_inside else nullcontext():
        loss = model(mytorch.full((1, 1), rank + 1.0)).sum()
    with model.no_sync() if backward_inside else nullcontext():
        loss.backward()
    return model.module.weight.grad.item()


cases = {"neither": (False, False), "backward": (False, True), "forward": (True, False), "both": (True, True)}
for name, inside in cases.items():
    print(f"inside no_sync: {name:8} gradients", distributed.spawn(one_pass, inside, nprocs=2))

# %% [markdown]
# The forward pass decides, although gradients exist only in the backward pass. A loss that was computed inside `no_sync` leaves the ranks with
# different gradients, even if its `backward` runs outside, and no error says so. How many bytes does the context save?


# %% tags=["proof-no-sync"]
def sent_in(micro_batches, synchronized):
    def job(rank):
        model = DDP(copy.deepcopy(models[0]))
        begin = distributed.bytes_sent()
        for number in range(micro_batches):
            last = synchronized or number == micro_batches - 1
            with nullcontext() if last else model.no_sync():
                model(x[:2]).sum().backward()
        return distributed.bytes_sent() - begin

    return distributed.spawn(job, nprocs=2)[0]


print("bytes for one batch:", sent_in(1, True))
print(f"for four micro-batches: {sent_in(4, True)}, with no_sync in the first three {sent_in(4, False)}")

# %% [markdown]
# **Interview · The loss was computed inside `no_sync`, and `backward` runs outside. Are the gradients averaged?**
#
# - *Thirty seconds:* No. DDP reads the flag in the forward pass, where it prepares the hooks for the backward pass. So the forward pass has to be
#   inside the block, and where `backward` runs makes no difference.
# - *Longer:* In the opposite case, with only `backward` inside, the gradients are averaged anyway, and you pay for communication that you wanted to
#   save.
# - *They ask next:* What does `no_sync` save? Of k micro-batches, k − 1 need no all-reduce. The gradients of all k are averaged with the last one.
# - *The trap:* If the synchronized pass is skipped at the end of an epoch, the accumulated gradients differ between the ranks.
# - *Proof:* `proof-which-pass`, `proof-no-sync`.
#
# ## Averaging the loss over ranks with unequal token counts
# Rank 0 has a sentence of six tokens and rank 1 has one of two; the rest is padding. Each rank divides its loss by its
# own number of tokens, and DDP averages the gradients. Is the result the same as for the mean over all eight tokens?

# %% tags=["proof-mean-of-means"]
tokens = [[2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [10.0, 18.0]]  # losses
means = [sum(row) / len(row) for row in tokens]
print("means of the ranks:", means, " mean of means:", sum(means) / 2)
print("mean over all tokens:", sum(map(sum, tokens)) / 8)
print("each rank's sum * 2 ranks / 8 tokens, averaged:", sum(sum(row) * 2 / 8 for row in tokens) / 2)

# %% [markdown]
# No, because a token of the short sentence counts three times as much. To get the mean over all tokens, all-reduce the
# *number* of tokens first, then divide each rank's sum by that number and multiply it by the number of ranks, because
# DDP will divide by it.
#
# **Interview · Eight ranks, four micro-batches each: what do you divide the loss by?**
#
# - *Thirty seconds:* DDP divides by the eight ranks itself, so I divide by four, provided that each micro-batch's loss
#   is a mean over the same number of tokens. If the numbers differ, I divide each sum by the number of tokens in all 32
#   micro-batches and multiply by eight.
# - *Longer:* Eight times as many rows in a step usually also need another learning rate, with a [warm-up](17_learning_rate_schedules.ipynb).
# - *They ask next:* Why do people rarely notice the mistake? With equal lengths both agree, and with unequal ones the loss still falls.
# - *The trap:* If you divide by 32, the gradient is eight times too small.
# - *Proof:* `proof-mean-of-means`.
#
# ## Unused parameters, uneven batches and hangs
# A parameter that a pass doesn't use gets no gradient, so its bucket never fills. A rank with fewer batches leaves the loop,
# while the others wait in an all-reduce. Try both:


# %% tags=["proof-stuck"]
def unused(rank):
    layers = mytorch.nn.ModuleList([mytorch.nn.Linear(3, 1, bias=False), mytorch.nn.Linear(3, 1)])
    layers.forward = lambda x: layers[0](x)
    model = DDP(layers)
    for _ in range(2):
        model(mytorch.ones(1, 3) * (1 + 2 * rank)).sum().backward()
        first_pass[rank] = layers[0].weight.grad[0, 0].item()


def one_batch_fewer(rank):
    train(DDP(copy.deepcopy(models[0])), x[:2], y[:2], steps=3 - rank)


first_pass = [None, None]
for job in (unused, one_batch_fewer):
    print(f"{job.__name__}:", str(check.error(distributed.spawn, job, nprocs=2))[:90])
print("gradients of the used weight after the first pass, which raised nothing:", first_pass)

# %% [markdown]
# The first pass with an unused parameter raised nothing and left the *used* gradients local, 1 and 3, so a program that
# stops after one step never sees the fault, neither here nor in PyTorch. In `mytorch` waiting ranks get an error at
# once, whereas in PyTorch they wait.
#
# **Interview · What is `find_unused_parameters` for?**
#
# - *Thirty seconds:* It is for modules in which a pass may skip parameters. After each forward pass, DDP searches the graph and marks the parameters
#   that will get no gradient as ready, so that the buckets fill.
# - *Longer:* Without it, PyTorch raises an error in the next forward pass. The search costs time in each step, so if
#   the same parameters are unused every time, `static_graph=True` is cheaper: DDP learns them in the first pass.
# - *They ask next:* What if different ranks skip different ones? Then it is needed too, and a rank without a gradient contributes
#   zeros.
# - *The trap:* Don't set it because of an error that came from a layer that isn't needed at all.
# - *Proof:* `proof-stuck`.
#
# **Interview · One rank has one batch fewer than the others. What happens?**
#
# - *Thirty seconds:* That rank leaves the loop, while the others wait in an all-reduce until the connection closes or
#   the timeout expires.
# - *Longer:* `DistributedSampler` avoids it by repeating items until all ranks have the same number, and the context
#   `Join` lets a finished rank take part with zeros.
# - *They ask next:* What about a rank that skips a step, say because of a `nan`? The same: all ranks have to agree to skip.
# - *The trap:* "It raises an error at once." It may take the whole timeout.
# - *Proof:* `proof-stuck`.
#
# **Interview · A job on 64 GPUs hangs. How do you find the rank that causes it?**
#
# - *Thirty seconds:* I look for the rank that is *not* in the collective. NCCL's watchdog aborts after ten minutes and names the operation, and the
#   flight recorder has the last collectives of each rank, so comparing the dumps shows who is missing. Meanwhile `py-spy dump` shows where a live
#   process is.
# - *Longer:* The recorder is on by default and keeps the last 2,000 entries of each rank (`TORCH_FR_BUFFER_SIZE`), and `torchfrtrace` compares its
#   dumps. `TORCH_DISTRIBUTED_DEBUG=DETAIL` checks before each collective that all ranks call the same one with the same shape. On Gloo,
#   `monitored_barrier` names the missing rank.
# - *They ask next:* What are the usual causes? Uneven batches, an `if rank == 0` around a collective, an exception on one rank, rank 0 saving a
#   checkpoint for longer than the timeout, or broken hardware.
# - *The trap:* A higher timeout helps against one slow step but not against a rank that never comes.
# - *Proof:* `proof-groups`, `proof-stuck`.
#
# ### SyncBatchNorm
# Each rank's batch norm sees its own rows, while `SyncBatchNorm` normalizes by the statistics of all rows. For that,
# each rank computes mean and variance of its rows, and the ranks all-gather these together with their counts:


# %% tags=["proof-sync-batch-norm"]
def statistics(rank):
    rows = x[:10] if rank == 0 else x[10:]
    table = mytorch.zeros(2, 3, 3)
    table[rank] = mytorch.stack([rows.mean(0), rows.var(0, correction=0), mytorch.full((3,), float(len(rows)))])
    distributed.all_reduce(table)  # with zeros from the others, this is an all-gather
    (mean, var, count), total = table.unbind(1), table[:, 2].sum(0)
    whole = (mean * count).sum(0) / total
    return whole, ((var + (mean - whole) ** 2) * count).sum(0) / total, (var * count).sum(0) / total


def rounded(tensor):
    return ", ".join(f"{value:.3f}" for value in tensor.tolist())


mean, var, naive = distributed.spawn(statistics, nprocs=2)[0]
print("mean over ranks:    ", rounded(mean), " of all rows:", rounded(x.mean(0)))
print("variance over ranks:", rounded(var), " of all rows:", rounded(x.var(0, correction=0)))
print("mean of the ranks' variances:", rounded(naive))
far = mytorch.tensor([3000.0, 3002.0, 3004.0])
difference = (far * far).mean() - far.mean() * far.mean()
print(f"variance of 3000, 3002, 3004: {far.var(correction=0).item():.2f}, from sums of squares {difference.item():.2f}")

# %% [markdown]
# The mean of the variances is too small, because it misses how far the means lie apart. Adding up x and x² would be a
# single message too, but E[x²] − E[x]² cancels when the mean is large compared with the spread, as the last line shows.
#
# **Interview · What does batch norm do under DDP?**
#
# - *Thirty seconds:* Each rank normalizes by its own rows, which is noisy if there are few. With `SyncBatchNorm` the ranks all-gather mean, inverse
#   standard deviation and count, and all normalize by the same statistics.
# - *Longer:* Only its backward pass uses an all-reduce, of two sums for each channel. Without it, the running statistics would differ between ranks,
#   so DDP broadcasts rank 0's buffers before each forward pass.
# - *They ask next:* What happens under `DataParallel`? Each replica uses its own rows, and only the first one's running statistics
#   survive.
# - *The trap:* The variances of the ranks can't simply be averaged.
# - *Proof:* `proof-sync-batch-norm`; the buffer under `DataParallel`: `proof-lost-counter`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Eight ranks all-reduce a gradient of 1 GB around a ring. How much does each send? 1.75 GB: 2 · 7/8.
# 2. Which pass has to be inside `no_sync`? The forward pass, where DDP prepares the hooks.
# 3. Does DDP sum or average gradients? It averages.
# 4. Of which two collectives is an all-reduce made? A reduce-scatter and an all-gather.
# 5. Why do the names in a state dict begin with `module.`? DDP keeps your model in its attribute `module`.

# %% tags=["proof-rapid-fire"]
sent = max(count for _, count in bytes_of(distributed.all_reduce, 8))
print("1.", sent / 4800, "of the array")
print("2. and 3. gradients 1 and 2 become", distributed.spawn(one_pass, (False, True), nprocs=2))
print("5.", list(DDP(mytorch.nn.Linear(3, 1)).state_dict()))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. DDP runs a process for each GPU, sends rank 0's parameters to all, and averages gradients in buckets during the backward pass.
# 2. `LOCAL_RANK` chooses the GPU; a process group is a set of ranks with their own collectives.
# 3. The forward pass decides about `no_sync`; use it in all micro-batches but the last.
# 4. After the first pass the buckets are rebuilt in the order of arrival, and the first one is 1 MB.
# 5. An all-reduce is a reduce-scatter and an all-gather.
# 6. In a ring each rank sends 2(n − 1)/n of the array.
# 7. A mean of means isn't the mean, so weight by the number of tokens.
# 8. All ranks must make the same calls in the same order, or somebody waits until the timeout.
# 9. An unused parameter is noticed in the second pass.
# 10. The old `DataParallel` copies the module in each pass, and attributes that a replica assigns are lost.
#
# ## You try
# [The exercises](../exercises/23_multi_gpu.ipynb): write the ring and DDP; fix a mean of means; measure which bucket size hides most of the
# communication; and say what processes share. Exercises 1 and 2 are about `DataParallel`, which the optional end explains. The next chapter,
# [Shards](23b_shards.ipynb), shards the optimizer's state, the gradients and the weights.

# %% [markdown]
# ## If you have time
# ### DataParallel and its limits: replicas in one process
# PyTorch's older `DataParallel` needs no processes, and little new code uses it. In each forward pass it scatters the batch over the GPUs, copies the module to each of them, runs
# the copies in threads and gathers the outputs. This module counts its calls, lists the rows that it saw, and adds them up in a buffer. It runs on
# four simulated GPUs, twice, with nine rows. What do the counter, the list and the buffer say?

# %% tags=["proof-lost-counter"]
import minitorch as torch

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
print("rows for 4 GPUs:", {rows: [len(part) for part in torch.rand(rows, 3).chunk(4)] for rows in (8, 9, 10, 3)})
shallow, deep = torch.nn.DataParallel(model.layer), [copy.deepcopy(model.layer) for _ in range(4)]
sum(replica(rows.cuda()).sum() for replica, rows in zip(deep, batch.chunk(4), strict=False)).backward()
print("gradient with deep copies:", model.layer.weight.grad)
shallow(batch).sum().backward()
print("gradient with replicas:  ", [round(number, 2) for number in model.layer.weight.grad[0].tolist()])

# %% [markdown]
# `chunk` makes pieces of ⌈rows / GPUs⌉ rows, so the fourth GPU got nothing. A deep copy would keep its gradients for
# itself, so a **replica** is a shallow copy of the module's `__dict__`, in which each parameter is the result of
# `parameter.to(device)` and has a `grad_fn`. The backward pass therefore adds up at your parameter. Whatever the module
# writes to itself ends up in one of three places:
#
# | what the module writes to | on a replica it is | afterwards |
# |---|---|---|
# | a number, `self.calls += 1` | an attribute of the replica | lost with the replica |
# | a list, `self.seen.append(…)` | the module's own list | kept, in the order of the threads |
# | a buffer, `self.rows += …` | a copy; on the first GPU the module's own | only what the first chunk gave it |
#
# #### Milestone: four GPUs give one GPU's gradients
# You write `replica` and its neighbours in exercise 2. Then this runs, with shares of 3, 3, 3 and 1 rows:

# %% tags=["proof-same-gradients"]
mytorch.cuda.simulate(4)


def gradients(gpus):
    mytorch.manual_seed(1)
    nn, rows = mytorch.nn, mytorch.rand(10, 3)
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)).to("cuda:0")
    loss = (nn.DataParallel(net, list(range(gpus)))(rows.to("cuda:0")) ** 2).mean()
    loss.backward()
    return net[0].weight.grad, loss


(one, _), (four, loss) = gradients(1), gradients(4)
print(f"sum of the entries {one.sum().item():.4f}, on four GPUs {four.sum().item():.4f}; the loss is on {loss.device}")
small = mytorch.nn.DataParallel(mytorch.nn.Linear(1, 1, bias=False).to("cuda:0"), [0, 1])
end = small(mytorch.ones(2, 1)).grad_fn
pictures.graph(end, children=lambda n: [e[0] for e in n.next_functions], label=lambda n: n.name())

# %% [markdown]
# The graph belongs to the smallest case, one weight on two GPUs: both replicas lead back to one `AccumulateGrad`. The
# loss was computed from the outputs gathered on the first GPU, so unequal shares did no harm. A module that returns its
# own loss computes it on each GPU instead, which was the usual remedy for a full first GPU. But a mean of those losses
# weights the rows of a small share more.
#
# **Interview · What does `DataParallel` do in one step, and why use `DistributedDataParallel` instead?**
#
# - *Thirty seconds:* It scatters the inputs, copies the module to each GPU, runs the copies in threads and gathers the outputs. All weights move in
#   each forward pass, and the threads share Python's global lock, the GIL. DDP has a process for each GPU and sends only gradients, during the backward
#   pass.
# - *Longer:* DDP also works over several machines, and PyTorch's documentation recommends it even for one. `DataParallel` sums the replicas' gradients
#   on the first GPU, because its loss is already a mean over the whole batch; DDP averages over all ranks.
# - *They ask next:* Which GPU runs out of memory first under `DataParallel`? The first one: it also holds the gathered outputs, the summed gradients
#   and the optimizer's state.
# - *The trap:* "Both divide the batch, so they do the same." Batch norm, counters, random numbers and the loss differ.
# - *Proof:* `proof-lost-counter`, `proof-same-gradients`; what a ring sends: `proof-ring`.
#
# ### DataParallel: devices of parameters, inputs and outputs
# The cell tries five placements on two simulated GPUs, and the list after it corrects what is often said about them:

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
# - "`model.cuda(device_ids[1])` chooses the main GPU." The parameters must be on `device_ids[0]`, so the order of the list chooses.
# - "The data must first be on the main GPU." Inputs from anywhere are scattered; only the parameters have to be there.
# - "`device_ids=[0, 1, 2]` uses what there is." With two GPUs it raises an error.
# - "With peer access you can operate across GPUs." Peer access lets copies go directly, but an operation still needs all its tensors on one device.
# - "Each GPU computes its loss." It does only if the module returns the loss; usually the loss is computed where the outputs are gathered ([same
#   gradients](proof-same-gradients)).
# - "Replicas are shallow copies." The module is, while its parameters are [copied in each pass](proof-lost-counter).
# - "Each GPU gets the same share." It gets [a chunk, or nothing](proof-lost-counter).
#
# ### Shared memory, fork and spawn
# What do processes share? This [script](files/shared_memory.py) passes a tensor and a NumPy array to a process that writes 100 into both:

# %% tags=["proof-shared-memory"]
run("-m", "minitorch", "files/shared_memory.py")

# %% [markdown]
# **Myth** · "Once a tensor is in shared memory, sending it copies nothing, and the package is fully compatible with Python's." Passing a tensor
# *moves* its storage into shared memory, so it is copied the first time, and afterwards each side sees the other's writes. An array is pickled, so
# the child has a copy. A result that requires grad is refused.
#
# **Interview · `fork` or `spawn`, and why does CUDA care?**
#
# - *Thirty seconds:* `fork` copies the process with everything in memory, while `spawn` starts a new interpreter and
#   sends pickled arguments. A CUDA context doesn't survive a fork, so I use `spawn` if the parent has used a GPU.
# - *Longer:* A fork also copies only the calling thread, so a lock that another thread held stays locked in the child.
# - *They ask next:* Why must the main module be guarded by `if __name__ == "__main__"`? Because `spawn` imports it again.
# - *The trap:* If a tensor is created on the GPU at import time, every forked worker inherits a context that it can't use.
# - *Proof:* the start of a process: `proof-shared-memory`; both methods: [chapter 18](18_data.ipynb).
#
# ### How minitorch replicates a module
# This is how minitorch makes a replica for `DataParallel`:

# %%
import inspect

module = inspect.getmodule(torch.nn.parallel.replicate)
print(inspect.getsource(module._copy))

# %% [markdown]
# PyTorch copies all parameters in one call that packs small ones together, `Broadcast`, whose backward pass adds up the gradients. It also leaves
# parameters out of the replica's `_parameters`, because they aren't leaves, so `list(replica.parameters())` is empty.
