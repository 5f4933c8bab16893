# %% [markdown]
# # Data loading
# After this chapter your own library loads data in PyTorch's order: it shuffles with the same random numbers, makes batches of
# nested samples, and loads them ahead while the model works. You will be able to explain what a worker process changes, and why a
# GPU sometimes waits for data.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(18)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Four workers and one slow sample: which batch comes first?
# A loader with four worker processes makes eight batches. Batch 0 takes 50 ms to load, because one of its samples is slow, and each of the
# others takes 10. In what order do they reach your loop, and what do the other workers do meanwhile?

# %% tags=["proof-slow-first"]
import minitorch as torch
from course import check, pictures


def ready_times(milliseconds, workers):
    """When each batch is loaded, if worker `n % workers` fetches batch `n`."""
    free, ready = [0] * workers, []
    for number, duration in enumerate(milliseconds):
        free[number % workers] += duration  # a worker fetches its batches one after the other
        ready.append(free[number % workers])
    return ready


ready = ready_times([50] + [10] * 7, 4)
print("loaded after (ms):", ready)
print("received after:   ", [max(ready[: n + 1]) for n in range(8)])

# %% [markdown] tags=["short"]
# Batch 0 comes first, and all the others wait for it, because a loader keeps the order. Batches 1 to 3 are loaded after 10 ms and
# batches 5 to 7 after 20. Then their workers idle, since by default only two batches for each worker are requested ahead. Batch 4
# is loaded last of all: PyTorch deals the batches out in turn, so it stands in the slow worker's queue.
#
# ## The smallest loader
# A map-style dataset offers two operations, `len(dataset)` and `dataset[i]`. A loader takes an order of the indices, splits it into
# batches, and stacks the samples of each batch:


# %% tags=["proof-toy"]
def batches(dataset, size, order):
    for chosen in order.split(size):
        yield torch.stack([dataset[i] for i in chosen.tolist()])


numbers = torch.arange(10.0, 80.0, 10)
torch.manual_seed(0)
print([batch.tolist() for batch in batches(numbers, 3, torch.randperm(7))])
print("the dataset:", numbers.tolist())

# %% [markdown]
# Only the indices were shuffled, while the data stayed where it was. The last batch is shorter because 7 isn't a multiple of 3,
# and `drop_last=True` would drop it.
#
# ### Break it: ragged samples
# Samples of different lengths can't be stacked, and **workers**, the helper processes that fetch whole batches, finish out of order, as you
# have seen:

# %% tags=["proof-break"]
print(check.error(next, batches([torch.ones(3), torch.ones(1)], 2, torch.arange(2))))
print("ready in this order:", sorted(range(8), key=lambda number: ready[number]))

# %% [markdown]
# A loader therefore needs three parts: a **sampler** that chooses the order, a **collate function** that makes a batch out of
# samples, and, if there are workers, a buffer that puts the batches back in order. The batch sampler's lists of indices are dealt
# out to one *index queue* per worker, and all batches go into one result queue:

# %% hidden=true
flow = {"your loop": ["reorder buffer"], "reorder buffer": ["result queue"], "result queue": ["worker 0", "worker 1"]}
flow |= {f"worker {n}": [f"index queue {n}"] for n in range(2)}
flow |= {f"index queue {n}": ["batch sampler"] for n in range(2)} | {"batch sampler": ["sampler"]}
about = "The batch sampler feeds an index queue for each worker; the workers share a result queue."
pictures.graph("your loop", children=lambda name: [(target, "") for target in flow.get(name, [])], label=str, alt=about)

# %% [markdown] given="mytorch.utils.data.sampler:draw_seed"
# ## Samplers
# A sampler is an iterable of indices, and `RandomSampler` yields a permutation of them. Without a generator of its own, it draws
# a seed from the default generator for a new one, so each pass takes one more number from the default stream. `mytorch` draws
# that number as PyTorch does, and therefore shuffles in the same order:

# %% tags=["proof-order"]
for library in (torch, mytorch):
    library.manual_seed(0)
    loader = library.utils.data.DataLoader(range(8), batch_size=3, shuffle=True)
    print([batch.tolist() for batch in loader], len(loader))

# %% [markdown]
# `BatchSampler`, which you write in exercise 2 together with `RandomSampler`, groups the indices of any other sampler into lists.
#
# ### Class imbalance and `WeightedRandomSampler`
# A sampler may also choose which samples to draw. Say that one sample in twenty belongs to the rare class, and
# `WeightedRandomSampler` draws with replacement, with probabilities proportional to the weights:

# %% tags=["proof-imbalance"]
mydata = mytorch.utils.data
labels = [i % 20 == 0 for i in range(2000)]
samplers = {"shuffled": mydata.RandomSampler(labels)}
samplers["weighted"] = mydata.WeightedRandomSampler([20.0 if rare else 20 / 19 for rare in labels], 2000)
mytorch.manual_seed(0)
for name, sampler in samplers.items():
    chosen = list(mydata.BatchSampler(sampler, 20, drop_last=False))
    left = 2000 - len({index for batch in chosen for index in batch})
    empty = sum(not any(labels[index] for index in batch) for batch in chosen)
    print(f"{name}: {empty} of 100 batches have no rare sample, {left} samples are never drawn")

# %% [markdown]
# **Interview · Imbalanced classes: a sampler, or weights in the loss?**
#
# - *Thirty seconds:* Both are meant to give each class the same influence. A sampler puts rare samples into nearly every batch.
#   Weights in the loss, in contrast, can't help when a batch has no rare sample, and where one appears, it has as much weight as
#   all the others together.
# - *Longer:* The mean of a weighted `cross_entropy` is divided by the weights of the *batch*, so a batch without a rare sample
#   counts in full. In batches of 20, the rare class has 38 % of the influence on average rather than half. The sampler repeats each
#   rare sample many times an epoch, so the model memorizes it sooner, and it never draws many of the common ones.
# - *They ask next:* Do you rebalance the validation set as well? No, you measure on the real distribution, and you correct the
#   model's probabilities, which are calibrated for the balanced one.
# - *The trap:* Don't use both at once. In a balanced batch the rare class then counts 19 times as much as the common one.
# - *Proof:* `proof-imbalance`.
#
# ## From samples to a batch
# A sample is rarely a single tensor. `default_collate` keeps the structure of the sample and makes a batch of each part:

# %% tags=["proof-collate"]
sample = {"image": mytorch.ones(2, 3), "label": 3, "weight": 0.5, "name": "a.png", "box": (1, 2)}
for key, value in mydata.default_collate([sample, sample]).items():
    print(f"{key:7}", (tuple(value.shape), value.dtype) if isinstance(value, mytorch.Tensor) else value)
print(repr(check.error(mydata.default_collate, [None, None])))

# %% [markdown]
# Numbers become tensors, and plain tuples come back as lists. Python floats become float64, so a float32 model that gets such a
# batch as its input raises an error. PyTorch also keeps the type of an `OrderedDict` or a named tuple, while `mytorch` makes a
# dict or a list of it.
#
# The most common dataset needs no class of your own, because `TensorDataset` returns row `i` of each of its tensors. What happens if a
# transform then works in place?

# %% tags=["proof-view"]
rows, classes = torch.tensor([[8.0, 16.0], [2.0, 4.0]]), torch.tensor([0, 1])
dataset = torch.utils.data.TensorDataset(rows, classes)
for epoch in range(3):
    image, label = dataset[0]
    image.div_(2)
    print(f"epoch {epoch}: {image.tolist()}", end="  ")
for size in (2, None):
    next(iter(torch.utils.data.DataLoader(dataset, batch_size=size)))[0].zero_()
    print(f"\nafter a write into what batch_size={size} gives: {rows.tolist()}", end="")

# %% [markdown]
# A sample is a view of the stored tensor, so each epoch halves the data once more, while a batch is a copy because stacking copies. With
# `batch_size=None` PyTorch doesn't stack at all, and your loop receives the views themselves; `mytorch` doesn't have that option.
#
# ### Variable lengths: padding, buckets and packing
# Sentences differ in length, and a `collate_fn` of your own can *pad* them to the longest sentence of the batch. Less padding is needed if
# a batch holds sentences of similar lengths, and almost none if several sentences are *packed* into one row:

# %% tags=["proof-padding"]
import numpy as np

lengths = np.random.default_rng(0).geometric(1 / 30, size=512).clip(1, 128)  # in random order
packed = []  # rows of 128 tokens, each a list of lengths; a sentence goes into the first row that has room for it
for length in lengths.tolist():
    row = next((row for row in packed if sum(row) + length <= 128), None)
    if row is None:
        packed.append(row := [])
    row.append(length)
orders = {"shuffled": lengths, "buckets of 128": np.sort(lengths.reshape(4, 128)), "sorted": np.sort(lengths)}
for name, order in orders.items():
    share = 1 - lengths.sum() / (16 * order.reshape(-1, 16).max(1).sum())  # batches of 16, padded to their longest
    print(f"{name}: {share:.0%} padding", end=", ")
print(f"packed: {1 - lengths.sum() / (128 * len(packed)):.0%}")
print("cu_seqlens of the first packed row:", [0, *np.cumsum(packed[0]).tolist()])


# %% hidden=true
def bars(rows, xlabel, alt, limit):
    """Rows of bars: for each name a list of (start, length, role)."""
    ax = pictures.axes(6.4, 0.9 + 0.25 * len(rows))
    for row, spans in enumerate(rows.values()):
        for start, length, role in spans:
            ax.broken_barh([(start, length)], (row - 0.4, 0.8), color=pictures.COLOURS[role], edgecolor="white")
    ax.set(yticks=range(len(rows)), yticklabels=rows, xlabel=xlabel, xlim=(0, limit), ylim=(len(rows) - 0.4, -0.6))
    return pictures.publish(ax, alt=alt)


longest = int(lengths[:16].max())
drawn = {f"padded {n}": [(0, lengths[n], "data"), (lengths[n], longest - lengths[n], "saved")] for n in range(5)}
for n in range(5):
    drawn[f"packed {n}"] = [(sum(packed[n][:k]), length, "data") for k, length in enumerate(packed[n])]
bars(drawn, "tokens (light: padding)", "Padded rows are mostly padding; packed rows are nearly full.", 128)

# %% [markdown] tags=["short"]
# Fully sorted batches waste little, but they are the same in every epoch and run from short to long. *Buckets* are the usual
# compromise: shuffle, sort within buckets of some batches, and shuffle the batches.
#
# Packed rows need positions that restart at 0 in each sentence, and attention must not cross a boundary. A mask of $L \times L$
# entries, which you write in exercise 5, is the simplest way to say that. Kernels for variable lengths, such as PyTorch's
# `varlen_attn`, take only the cumulative lengths (`cu_seqlens`). FlexAttention takes a function that compares two positions'
# documents, and skips blocks in which no pair may attend.
#
# **Interview · When do you write a `collate_fn`?**
#
# - *Thirty seconds:* I write one when samples don't stack: sequences of different lengths, images with different numbers of boxes, or
#   objects that aren't numbers. It receives the list of samples and returns the batch that your loop expects.
# - *Longer:* Pad to the longest sample of the *batch*, and return the lengths or a mask too.
# - *They ask next:* Where does it run? In the worker, so it should return CPU tensors. Spawned workers get it by pickle, so it
#   can't be a lambda.
# - *The trap:* If `__getitem__` pads each sample to the longest sample of the dataset, every batch is that long.
# - *Proof:* `proof-break`, `proof-padding`; the lambda: `proof-workers`.
#
# ## Worker processes
# Standard builds of Python run the bytecode of one thread at a time, so threads only help where loading waits for a disk or runs
# C code that releases the lock. That is why PyTorch starts processes. [turns.py](files/turns.py) shows how two of them share
# eight samples when sample 0 is slow, and how many batches are requested ahead. (On PyTorch, `turns.py torch` prints the same
# lines.)

# %% tags=["proof-turns"]
import subprocess
import sys


def run(script):
    print(subprocess.run([sys.executable, script], stdout=subprocess.PIPE, text=True, check=True).stdout)


run("files/turns.py")

# %% [markdown] tags=["short"]
# The first runs show **head-of-line blocking**: sample 2 sits behind sample 0 in the queue of worker 0, and worker 1 finishes
# what it was given and idles. With `in_order=False` the loop takes the batches as they arrive, and a worker that has returned one
# gets the next, at the price of an order that depends on timing. The last two lines show that `num_workers * prefetch_factor`
# batches are requested at once, and one more whenever your loop receives one.
#
# **Interview · What happens when you call `next(iter(loader))` with four workers?**
#
# - *Thirty seconds:* Four processes start, and eight batches are requested, two for each worker. When you get the first batch, a
#   ninth is requested. Then the iterator is dropped, so the workers are stopped.
# - *Longer:* The call also draws a base seed, so the default generator moves on.
# - *They ask next:* How do you look at a batch cheaply? Call `loader.collate_fn([dataset[0], dataset[1]])`, or use a loader without
#   workers.
# - *The trap:* In a loop, each call of `next(iter(loader))` begins a new pass.
# - *Proof:* `proof-turns`; the seed: `proof-base-seed`.

# %% [markdown]
# ### Does a pass over a `DataLoader` change your random numbers?
# This loader doesn't shuffle. Does `rand(2)` give the same numbers after a pass over it?


# %% tags=["proof-base-seed"]
def numbers_after(passes, **options):
    torch.manual_seed(0)
    for _ in range(passes):
        list(torch.utils.data.DataLoader(range(3), **options))
    return [round(value, 2) for value in torch.rand(2).tolist()]


print("no pass:", numbers_after(0), " one pass:", numbers_after(1))
print("one pass, generator of its own:", numbers_after(1, generator=torch.Generator()))

# %% [markdown]
# No, it doesn't. Each `iter(loader)` draws a base seed for its workers from the default generator, even if there are no workers. A
# validation pass that you add to a script therefore changes the rest of the training run: the shuffling, and on the CPU dropout too. Give
# the loader its own `generator` and it draws the seed from that.

# %% [markdown] tags=["short"]
# ### fork, spawn and forkserver
# There are three ways to start a worker:
#
# - `fork` copies the running process.
# - `spawn` starts a new Python that imports your program, and everything sent to it is pickled.
# - `forkserver` forks from a clean server process, and pickles as well.
#
# By default, Windows and macOS spawn, while Linux used to fork and uses `forkserver` from Python 3.14 on.
# [workers.py](files/workers.py) compares the first two:

# %% tags=["proof-workers"]
run("files/workers.py")

# %% [markdown]
# A worker has its own copy of the dataset, so what it adds to `self.seen` never reaches your program. A forked worker sees
# everything that the program changed before, while a spawned one imports your module again and doesn't see a global that was
# changed since. It does receive the dataset as it is when the pass begins, because the dataset is pickled and sent.
#
# **Seeds.** A common myth says that NumPy's random numbers repeat in the workers. They did, years ago, but today PyTorch seeds
# `random`, `np.random` and `torch` from the base seed and the worker's number when the worker starts, which is once per pass
# unless the workers are persistent. A generator that belongs to the *dataset*, however, is copied with it, so it repeats in each
# worker, and also in each epoch if the workers aren't persistent. (You fix one in exercise 6.) If you pass a `worker_init_fn`,
# each worker calls it with its number before it fetches anything, so it is the place to open files and database connections.
#
# **Memory.** Forked workers share your memory until somebody writes to it. Python writes a reference count whenever it touches an
# object, so the pages of a long list of strings are copied one by one. On PyTorch 2.13 and Linux, a worker that read a list of a million
# strings grew from 10 to 118 MiB, and stayed at 10 when the same strings were in one NumPy array.
#
# **Containers.** Batches travel through shared memory, which is `/dev/shm` on Linux. Docker gives it 64 MB by default, and a worker that
# runs out of it dies of a *bus error*; start the container with `--shm-size=8g` or `--ipc=host`.
#
# **CUDA.** If your program has used the GPU, a forked worker that touches it raises "Cannot re-initialize CUDA in forked
# subprocess". Workers should therefore return CPU tensors, which you move to the GPU in the loop.
#
# **Interview · Map-style or iterable dataset: what is the difference, and what do workers change?**
#
# - *Thirty seconds:* A map-style dataset has `__getitem__` and `__len__`, so the main process can shuffle and deal the indices
#   out to the workers. An iterable dataset is a stream. Each worker gets its own copy and yields all of it, unless you split
#   the stream with `get_worker_info()`.
# - *Longer:* Use a stream for logs, sockets, or archives that are read in sequence. Shuffling a stream takes a buffer: you fill it,
#   yield a random element, and put the next sample in its place. Large datasets are stored as *shards* (WebDataset, MDS), files that are
#   shuffled as a whole and read in sequence.
# - *They ask next:* Where do you open the file? In the worker, at first use or in `worker_init_fn`. An open file can't be sent to a
#   spawned process, and forked processes would share its position.
# - *The trap:* Counts and caches in `self` don't come back, because each worker has its own copy.
# - *Proof:* `proof-workers`.
#
# ## Prefetching: how many workers keep the GPU busy?
# Suppose that loading a batch takes 30 ms and a training step on the GPU takes 10. A loop that does one after the other leaves
# the GPU idle for three quarters of the time, so workers load ahead, up to `prefetch_factor` batches each:


# %% tags=["proof-busy"]
def simulate(workers, slow=0, load=30, step=10, factor=2, count=40):
    """When each batch begins to load and when its step begins (ms). Batch 4 takes `slow` ms longer to load."""
    free, loads, steps, done = [0] * workers, [], [], 0
    for n in range(count):
        requested = steps[n - workers * factor] if n >= workers * factor else 0  # when an earlier batch was handed out
        begin = max(free[n % workers], requested)
        free[n % workers] = begin + load + (slow if n == 4 else 0)
        loads.append((begin, free[n % workers] - begin))
        steps.append(max(done, free[n % workers]))
        done = steps[-1] + step
    return loads, steps


busy = {workers: 40 * 10 / (simulate(workers)[1][-1] + 10) for workers in range(1, 7)}
print("the GPU is busy:", {workers: f"{share:.0%}" for workers, share in busy.items()})


def timeline(workers, slow):
    loads, steps = simulate(workers, slow, count=12)
    rows = {"GPU": [(start, 10, "result") for start in steps]}
    for n in range(workers):
        rows[f"worker {n}"] = [(begin, length, "data") for begin, length in loads[n::workers]]
    alt = f"{workers} workers, batch 4 slower by {slow} ms: twelve batches are done after {steps[-1] + 10} ms."
    return bars(rows, "time (ms)", alt, 420)


pictures.slider(timeline, start={"workers": 2, "slow": 0}, workers=[1, 2, 3, 4], slow=[0, 100])

# %% [markdown]
# ### Are more workers faster?
# More workers help until loading keeps up with the steps, here at `30 / 10 = 3` workers, and any more only cost memory. Set
# `slow` to 100 to see how one late batch holds up all the others.
#
# **Interview · Your GPU is 40 % busy. Is it the loader?**
#
# - *Thirty seconds:* I replace the loader by one batch that is used again and again. If I then get more steps per second, the
#   loader is the bottleneck. I can also time `next(iterator)` and the step separately.
# - *Longer:* You need about as many workers as the load time divided by the step time, as long as the disk and the cores keep up. If the
#   first batches of each epoch are slow, workers are being started, and `persistent_workers=True` keeps them.
# - *They ask next:* What else could it be? Steps that wait, such as a `loss.item()` in each, many small kernels, or copies from pageable
#   memory. Periodic stalls point to a slow sample that holds up the line.
# - *The trap:* Without `synchronize`, the wait shows up in whichever line reads a value ([chapter 05](05_devices.ipynb)).
# - *Proof:* `proof-busy`, on a model.
#
# %% [markdown] given="mytorch.utils.data.prefetch:Prefetcher"
# ### In `mytorch`: threads and one shared queue
# `mytorch` simplifies this: its workers are threads, which take numbered tasks from a single queue, so whichever is free fetches
# the next batch, and batches that come too early wait in `arrived`. A queue without a limit would load the whole dataset into
# memory, so a new task is requested only when a batch has been given out.

# %% tags=["proof-prefetch"]
import threading

finished, may_go = [], threading.Event()


class Slow(list):  # sample 0 waits until three others are there, and sample 6 is broken
    def __getitem__(self, index):
        if index == 0:
            may_go.wait(10)
        if index == 6:
            raise ValueError("sample 6 is broken")
        finished.append(index)
        if len(finished) == 3:
            may_go.set()
        return index


iterator = iter(mydata.DataLoader(Slow(range(8)), num_workers=2))
given = [next(iterator).item() for _ in range(6)]
print("first finished:", finished[:3], " given:", given, " then:", repr(check.error(next, iterator)))

# %% [markdown]
# The other thread fetched 1, 2 and 3 while sample 0 was slow; in PyTorch, sample 2 would have waited behind it. The batches come in order
# all the same. An error also waits for its turn, and is then raised in your loop, which can handle it.
#
# ## Distributed training: `DistributedSampler` and sharded streams
# With a `DistributedSampler`, each of *n* training processes takes every *n*-th index of one shuffled order; the cell has eight samples
# and three processes. A stream has no indices, so each worker of each process has to skip the samples that belong to the others:

# %% tags=["proof-distributed"]
from itertools import islice

samplers = [mydata.DistributedSampler(range(8), num_replicas=3, rank=rank) for rank in range(3)]
for epoch in (0, 1):
    print(f"epoch {epoch}, without set_epoch:", [list(sampler) for sampler in samplers])
for sampler in samplers:
    sampler.set_epoch(1)
print("epoch 1, with set_epoch(1):", [list(sampler) for sampler in samplers])
pairs = [(rank, worker) for rank in range(2) for worker in range(2)]
shares = [list(islice(range(8), 2 * rank + worker, None, 4)) for rank, worker in pairs]
print("a stream, 2 processes with 2 workers each:", shares)

# %% [markdown]
# **Interview · Why does a `DistributedSampler` need `set_epoch`?**
#
# - *Thirty seconds:* All processes must shuffle in the same way, so the order is computed from `seed + epoch` instead of a stream of random
#   numbers. Without `set_epoch`, each epoch repeats the order of epoch 0.
# - *Longer:* To give each process equally many samples, the sampler repeats the first indices, or drops the last ones with
#   `drop_last`, because with unequal counts some processes would wait forever in a collective operation.
# - *They ask next:* What does that do to a validation score? Repeated samples count twice.
# - *The trap:* `shuffle=True` together with a sampler is an error.
# - *Proof:* `proof-distributed`; the error: `proof-rapid-fire`.
#
# ## Pinned memory and `non_blocking`
# The last step is the copy to the GPU. To copy from ordinary, *pageable* memory, the driver first copies the data into a buffer of its own
# that can't be paged out, and the CPU waits for that, while **pinned** (page-locked) memory needs no detour. The next cell uses
# [chapter 05](05_devices.ipynb)'s model of a stream: preparing a batch takes 11 ms, copying it 6 (9 if unpinned), and its kernels 10.


# %% tags=["proof-pinned"]
def loop(copy=6, non_blocking=False, item=False, own_stream=False, count=100):
    """How long a batch takes (ms), and when CPU, copies and kernels are at work."""
    now = copied = computed = 0
    spans = {"CPU": [], "copies": [], "kernels": []}
    for _ in range(count):
        begin = max(now + 11, copied if own_stream else computed)
        start = max(begin + copy, computed)
        spans["CPU"].append((now, 11, "saved"))
        spans["copies"].append((begin, copy, "weight"))
        spans["kernels"].append((start, 10, "result"))
        copied, computed = begin + copy, start + 10
        now = computed if item else now + 11 if non_blocking else copied
    return computed / count, spans


ways = {"pageable": {"copy": 9}, "pinned": {}, "pinned, non_blocking": {"non_blocking": True}}
ways["the same, loss.item()"] = {"non_blocking": True, "item": True}
ways["copies on another stream"] = {"non_blocking": True, "own_stream": True}
print({name: round(loop(**options)[0]) for name, options in ways.items()})
bars(loop(count=6, non_blocking=True)[1], "time (ms)", "The CPU runs ahead; copies and kernels take turns.", 120)

# %% [markdown]
# A common myth says that `pin_memory=True` makes copies asynchronous. With pinned memory alone, however, the CPU still waits for
# each copy. You also need `non_blocking=True` and a loop that doesn't wait for something else, such as `loss.item()`, and copies
# and kernels overlap only if they are on two streams.
#
# **Interview · What do `pin_memory` and `non_blocking` do?**
#
# - *Thirty seconds:* With `pin_memory=True` the loader puts batches into page-locked memory, which the GPU can read directly.
#   `x.to("cuda", non_blocking=True)` then returns at once, while the copy is still running.
# - *Longer:* Kernels on the same stream still wait for the copy. To overlap both, copy the next batch on another stream.
# - *They ask next:* Why not pin everything? Pinned memory can't be swapped out, and pinning itself takes time.
# - *The trap:* The result of a non-blocking copy *to* the CPU must not be read before `synchronize`: the values may not have arrived yet.
# - *Proof:* `proof-pinned`, on a model.
#
# ## Resuming in the middle of an epoch
# A job is killed after three of six batches. To go on, you need the order of that epoch and the number of batches that the *loop* has
# received:


# %% tags=["proof-resume"]
from operator import length_hint


def received(batches, count=None):
    loader = mydata.DataLoader(range(24), batch_sampler=batches, num_workers=1)
    return [index for batch in islice(loader, count) for index in batch.tolist()]


order = mytorch.randperm(24, generator=mytorch.Generator().manual_seed(7))
epoch = [chosen.tolist() for chosen in order.split(4)]
sampler = iter(epoch)
before = received(sampler, 3)
rests = {"all": epoch, "after the sampler's count": epoch[6 - length_hint(sampler) :], "after the loop's": epoch[3:]}
for name, rest in rests.items():
    seen = before + received(rest)
    print(f"{name:25}: {24 - len(set(seen)):2} samples never seen, {len(seen) - len(set(seen)):2} seen twice")

# %% [markdown]
# The sampler is ahead of the loop by the batches that are prefetched, so if you resume at the sampler's count, those batches are
# lost. `StatefulDataLoader` from the package `torchdata` does this bookkeeping: its `state_dict` includes the positions of its
# workers.
#
# **Interview · How do you resume in the middle of an epoch?**
#
# - *Thirty seconds:* I make the order a function of a seed and the epoch. Then I save the epoch and how many batches the loop has
#   received, and when I resume, I skip that many batches of *indices*, so that no sample is loaded for nothing.
# - *Longer:* Augmentation needs its generators' states too, or seeds made from epoch and index. A stream has to report and
#   restore its position, for which `StatefulDataLoader` calls the dataset's `state_dict` in each worker.
# - *They ask next:* What if the number of GPUs changes? I count the samples of all ranks, not batches.
# - *The trap:* When workers load ahead, the sampler's position isn't where training is.
# - *Proof:* `proof-resume`; the rest of a checkpoint: [chapter 20](20_saving_and_loading.ipynb).
#
# ## Milestone: a training loop on your loader
# A small network learns handwritten digits, 1,200 of them in shuffled batches of 32. One run uses minitorch and its loader, the other `mytorch` and yours, which loads ahead:

# %% tags=["proof-milestone"]
from sklearn.datasets import load_digits

images, classes = (array[:1200] for array in load_digits(return_X_y=True))


def train(library, **options):
    library.manual_seed(0)
    nn, tools = library.nn, library.utils.data
    dataset = tools.TensorDataset(library.tensor(images / 16, dtype=library.float32), library.tensor(classes))
    loader = tools.DataLoader(dataset, batch_size=32, shuffle=True, **options)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = library.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            yield loss.item(), targets.tolist()


runs = train(mytorch, num_workers=2), train(torch)
(mine, order), (theirs, expected) = (zip(*run, strict=True) for run in runs)
print("batches with other labels:", sum(map(list.__ne__, order, expected)), "of", len(order))
print(f"losses {mine[0]:.1f} to {np.mean(mine[-38:]):.1f}, apart by {max(np.abs(np.subtract(mine, theirs))):.3f}")
alt = "The loss falls from 2.3 and is below 1 at the end."
pictures.curves({"loss": list(mine[::4])}, range(1, 191, 4), xlabel="step", ylabel="loss (nats)", alt=alt)

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. How many batches does a loader make of ten samples with `batch_size=4` and `drop_last=True`? Two.
# 2. What happens if you give a `DataLoader` both `shuffle=True` and a sampler? A `ValueError`.
# 3. A dataset returns Python floats. Which dtype do the loader's batches have? [float64](proof-collate).
# 4. How many batches does a loader request ahead with two workers and `prefetch_factor=3`? [Six](proof-turns).
# 5. How does `random_split(dataset, [0.5, 0.5])` split 7 samples? Into 4 and 3.

# %% hidden=true tags=["proof-rapid-fire"]
print("1.", len(torch.utils.data.DataLoader(range(10), batch_size=4, drop_last=True)))
print("2.", repr(check.error(torch.utils.data.DataLoader, range(10), sampler=[1], shuffle=True)))
print("5.", [len(part) for part in torch.utils.data.random_split(range(7), [0.5, 0.5])])

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A dataset has `len` and `[i]`, a sampler yields indices, and a collate function makes a batch of samples.
# 2. `shuffle` shuffles indices. Each pass draws a base seed from the default generator.
# 3. Python floats become float64 and tuples become lists. Samples of a `TensorDataset` are views.
# 4. Pad to the longest of the batch, use buckets of similar lengths, or pack.
# 5. Batches are dealt out in turn to one queue per worker, so a slow sample blocks the ones behind it.
# 6. `num_workers * prefetch_factor` batches are requested ahead. Batches and errors come in order.
# 7. A worker has its own copy: counters stay in it, and it yields the whole stream unless you divide it.
# 8. Call `set_epoch` before each epoch.
# 9. Asynchronous copies need pinned memory *and* `non_blocking`, and nothing in the loop that waits.
# 10. To resume, save the seed, the epoch, and how many batches the loop has received.
#
# ## You try
# [The exercises](../exercises/18_data.ipynb): predict what each process gets; write the samplers, the collate function and the
# prefetching loader; pack sequences; fix an augmentation that repeats itself; and measure how many workers keep a GPU busy. Then
# [chapter 19](19_training_loop.ipynb) takes the training loop apart.
#
# ## If you have time
# ### Mixing data sources: sampling weights and temperature
# Language models are trained on sources of very different sizes, and a *mixture* says how often each of them is drawn. A common
# rule gives a source of n samples a probability proportional to n^(1/τ): the temperature τ = 1 keeps the proportions, and a high
# one evens them out. Draw 10,000 samples, as many as there are, from three sources:

# %% tags=["proof-mixture"]
sizes = {"web": 8000, "code": 1600, "books": 400}
mixed = torch.utils.data.ConcatDataset([[name] * size for name, size in sizes.items()])  # a sample is its source's name
for temperature in (1, 2, 100):
    powers = {name: size ** (1 / temperature) for name, size in sizes.items()}
    weights = [powers[name] / sizes[name] / sum(powers.values()) for name in mixed]
    torch.manual_seed(0)
    indices = list(torch.utils.data.WeightedRandomSampler(weights, len(mixed)))
    drawn, seen = ([mixed[index] for index in chosen] for chosen in (indices, set(indices)))
    for name, size in sizes.items():
        count, unseen = drawn.count(name), 1 - seen.count(name) / size
        share, passes = count / len(drawn), count / size
        print(f"τ = {temperature:3}, {name:5}: {share:3.0%} of draws, {passes:.1f} passes, {unseen:3.0%} never drawn")
tokens = {"code": 0.5 * 4000, "web": 0.5 * 1000}  # half of the documents each
print(f"code files four times as long: {tokens['code'] / sum(tokens.values()):.0%} of the tokens")

# %% [markdown]
# At τ = 100 each book is read about eight times, while two thirds of the web pages are never drawn. Even at τ = 1 more than a third is
# never drawn, because the sampler draws with replacement. An "epoch" of such a loader is therefore a number of draws and not a pass
# over the data.
#
# **Interview · How do you mix data sources of different sizes, and what is an epoch then?**
#
# - *Thirty seconds:* I draw a source with a probability proportional to its size to the power 1/τ. At τ = 1 the largest source
#   dominates, while a higher temperature repeats the small ones. An epoch is then only a number of draws, so I count tokens and log the
#   passes over each source.
# - *Longer:* [XLM-R](https://arxiv.org/abs/1911.02116) drew its languages with 1/τ = 0.3. Repetition has a limit: in [Muennighoff et al.
#   2023](https://arxiv.org/abs/2305.16264), up to four passes were nearly as good as new data, and further ones gained less and less.
# - *They ask next:* How else are weights chosen? By quality, and by small proxy runs on several mixtures. Many runs raise the share of
#   the best sources at the end, while the rate decays.
# - *They ask next:* What does a streaming mixture save in a checkpoint? The state of the generator that chooses the source, and the
#   position in every stream.
# - *The trap:* Shares of documents aren't shares of tokens.
# - *Proof:* `proof-mixture`.
#
# ### The real one
# minitorch's loader uses processes, as PyTorch's does. The first of these functions requests a batch, and the second corresponds to your
# `__next__`:

# %%
import inspect

from minitorch.utils.data._utils.iterator import _MultiProcessingDataLoaderIter as Iterator

print(inspect.getsource(Iterator._ask) + "\n" + inspect.getsource(Iterator._next_data))

# %% [markdown]
# `_turns` cycles through the workers and `_tasks` records which worker has which batch, while `_arrived` is the same as yours.
# There are two additions. A worker whose stream is `Exhausted` gets no more tasks, and with `in_order=False` a batch is given as
# soon as it arrives, while the next task goes to a worker that has room. `_pool.receive` notices workers that were killed, as
# your `_receive` notices threads.
