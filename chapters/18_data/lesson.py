# %% [markdown]
# # Data
# After this chapter your own library loads data as PyTorch does: it shuffles in PyTorch's order, makes batches of
# nested samples, and loads them ahead while the model works. You'll be able to say what a worker process changes, and
# why a GPU waits.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(18)  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## A pass that changes your random numbers
# This loader doesn't shuffle. Which numbers does `rand(2)` give after a pass over it?

# %% tags=["proof-base-seed"]
import minitorch as torch


def numbers_after(passes, **options):
    torch.manual_seed(0)
    for _ in range(passes):
        list(torch.utils.data.DataLoader(range(3), **options))
    return [round(each, 2) for each in torch.rand(2).tolist()]


print("no pass:", numbers_after(0), " one pass:", numbers_after(1))
print("one pass, generator of its own:", numbers_after(1, generator=torch.Generator()))

# %% [markdown] tags=["short"]
# Each `iter(loader)` draws a number from the default generator, the seed for worker processes, even when there are none. So a
# validation pass that you add changes the rest of your training run, dropout included. A loader with a `generator` of its own
# draws from that one, and persistent workers keep the seed of their first pass.
#
# ## The smallest loader
# A dataset answers two questions: `len(dataset)` and `dataset[i]`. A loader needs an order, cuts it into pieces, and stacks
# the samples of each piece:


# %% tags=["proof-toy"]
def batches(dataset, size, order):
    for chosen in order.split(size):
        yield torch.stack([dataset[i] for i in chosen.tolist()])


numbers = torch.arange(10.0, 80.0, 10)
torch.manual_seed(0)
print([batch.tolist() for batch in batches(numbers, 3, torch.randperm(7))])
print("the dataset:", numbers.tolist())

# %% [markdown]
# Only the indices were shuffled; the data stay where they are. The last batch is shorter.
#
# ### Break it
# Samples of different lengths don't stack. And when two workers share the work, batches may be ready in
# another order than the one you asked for:

# %% tags=["proof-break"]
from course import check, pictures

print(check.error(next, batches([torch.ones(3), torch.ones(1)], 2, torch.arange(2))))
free, ready = [0, 0], {}
for number, milliseconds in enumerate([50, 10, 10, 10]):
    worker = free.index(min(free))  # whoever is free takes the next batch
    ready[number] = free[worker] = free[worker] + milliseconds
print("ready in this order:", sorted(ready, key=ready.get))

# %% [markdown]
# So a loader needs three parts: a **sampler** that gives the order, a **collate** function that makes a batch out of
# samples, and, with workers, something that puts batches back in order. Read the picture from the top: the sampler's batches of
# indices become tasks, workers fetch them, and the results wait until it is their turn.

# %%
flow = {"your loop": ["batches in order"], "batches in order": ["results"], "results": ["worker 0", "worker 1"]}
flow |= {"worker 0": ["tasks"], "worker 1": ["tasks"], "tasks": ["batch sampler"], "batch sampler": ["sampler"]}
pictures.graph("your loop", children=lambda name: [(each, "") for each in flow.get(name, [])], label=str)

# %% [markdown] given="mytorch.utils.data.sampler:draw_seed"
# ## Samplers
# A sampler is an object that gives indices when you iterate over it. `RandomSampler` gives a permutation. Without a
# generator, it draws a seed from the default one and makes a generator with it, so a pass takes one more
# number from the default stream. `mytorch` draws that number as PyTorch does:

# %% tags=["proof-order"]
for library in (torch, mytorch):
    library.manual_seed(0)
    loader = library.utils.data.DataLoader(range(8), batch_size=3, shuffle=True)
    print([batch.tolist() for batch in loader], len(loader))

# %% [markdown]
# `BatchSampler` cuts any iterable of indices into lists. You write both in exercise 2.
#
# ### Rare classes
# A sampler may choose as well. One sample in twenty belongs to the rare class. `WeightedRandomSampler` draws samples by
# weight, with replacement:

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
    print(f"{name}: {empty} of 100 batches have no rare sample, {left} samples are left out")

# %% [markdown]
# **Interview · Imbalanced classes: a sampler, or weights in the loss?**
#
# - *Thirty seconds:* Both can give each class the same influence on average. The sampler puts rare samples into nearly every batch; weights
#   can't, when a batch has none, and they make those steps large in which one appears.
# - *Longer:* The sampler repeats rare samples many times an epoch, so they are memorized sooner, and leaves out many common
#   ones.
# - *They ask next:* And for validation? Neither. Measure on the real distribution; the model's probabilities now
#   belong to the balanced one.
# - *The trap:* Using both at once. The rare class then counts about twenty times too much.
# - *Proof:* `proof-imbalance`.
#
# ## From samples to a batch
# A sample is rarely a single tensor. `default_collate` keeps its structure and makes batches part by part:

# %% tags=["proof-collate"]
sample = {"image": mytorch.ones(2, 3), "label": 3, "weight": 0.5, "name": "a.png", "box": (1, 2)}
for key, value in mydata.default_collate([sample, sample]).items():
    print(f"{key:7}", (tuple(value.shape), value.dtype) if isinstance(value, mytorch.Tensor) else value)
print(repr(check.error(mydata.default_collate, [None, None])))

# %% [markdown]
# Numbers become tensors. Python's floats become float64, and a model in float32 then raises an error. Plain tuples come
# back as lists. The most common dataset needs no class of your own: sample `i` of a `TensorDataset` is row `i` of each tensor. What
# happens if a transform works in place?

# %% tags=["proof-view"]
dataset = mydata.TensorDataset(mytorch.tensor([[8.0, 16.0], [2.0, 4.0]]), mytorch.tensor([0, 1]))
for epoch in range(3):
    image, label = dataset[0]
    image.div_(2)
    print(f"epoch {epoch}: {image.tolist()}", end="  ")
next(iter(mydata.DataLoader(dataset, batch_size=2)))[0].zero_()
print("\nafter a write into a batch:", dataset[0][0].tolist())

# %% [markdown]
# A sample is a view, so each epoch halves the data once more. A batch is a copy, because stacking copies. With
# `batch_size=None` nothing is stacked, and you get the views themselves.
#
# ### Ragged samples
# Sentences differ in length. A `collate_fn` of your own can pad them, sort them into batches of similar lengths, or
# **pack** several into one row. How much of each batch is padding?

# %% tags=["proof-padding"]
import numpy as np

lengths = np.random.default_rng(0).geometric(1 / 30, size=512).clip(1, 128)


packed = []  # rows of 128 places, each a list of lengths; a sentence goes into the first row with room
for length in lengths.tolist():
    row = next((row for row in packed if sum(row) + length <= 128), None)
    packed.append([length]) if row is None else row.append(length)
shares = {"packed": 1 - lengths.sum() / (128 * len(packed))}
for name, each in {"shuffled": lengths, "sorted by length": np.sort(lengths)}.items():
    shares[name] = 1 - each.sum() / (16 * each.reshape(-1, 16).max(1).sum())
print("padding:", {name: f"{share:.0%}" for name, share in shares.items()})


# %%
def bars(rows, xlabel, alt, limit=None):
    """Rows of bars: a name, and for each its (start, length) pairs and its role."""
    ax = pictures.axes(6.4, 0.9 + 0.25 * len(rows))
    for place, (spans, role) in enumerate(rows.values()):
        ax.broken_barh(spans, (place - 0.4, 0.8), color=pictures.COLOURS[role], edgecolor="white")
    ax.set(yticks=range(len(rows)), yticklabels=rows, xlabel=xlabel, xlim=(0, limit), ylim=(len(rows) - 0.4, -0.6))
    return pictures.publish(ax, alt=alt)


drawn = {f"padded {n}": ([(0, length)], "saved") for n, length in enumerate(lengths[:5].tolist())}
drawn |= {f"packed {n}": (list(zip(np.cumsum([0, *packed[n]]), packed[n], strict=False)), "data") for n in range(5)}
bars(drawn, "tokens", "Padded rows hold one sentence each and are mostly empty; packed rows are nearly full.", 128)

# %% [markdown] tags=["short"]
# Packing needs a mask, so that no token sees a neighbouring sentence, and positions that start again at 0 in each sentence. You
# write it in exercise 5.
#
# **Interview · When do you write a `collate_fn`?**
#
# - *Thirty seconds:* When samples don't stack: different lengths, different numbers of boxes, objects that aren't numbers. It gets the list of
#   samples and returns whatever your loop wants.
# - *Longer:* Pad to the longest of the *batch*, and return lengths or a mask. Batches of similar lengths waste less, packing
#   least.
# - *They ask next:* Where does it run? In the worker, so it should return CPU tensors, and with spawned workers it can't be a lambda.
# - *The trap:* Padding each sample in `__getitem__` to the longest of the dataset.
# - *Proof:* `proof-break`, `proof-padding`; where it runs: `proof-workers`.
#
# ## Loading ahead
# Suppose that loading a batch takes 30 ms, and a training step on the GPU takes 10. If the loop does one after the other, the
# GPU is idle most of the time. Workers load ahead, each up to `prefetch_factor` batches:


# %% tags=["proof-busy"]
def simulate(workers, load=30, step=10, factor=2, count=40):
    """For each batch: its worker, when loading begins and ends, and when its step begins (ms)."""
    free, plan, done = [0] * max(workers, 1), [], 0
    for n in range(count):
        worker = free.index(min(free))
        asked = done if workers == 0 else 0 if n < workers * factor else plan[n - workers * factor][3]
        begin = max(free[worker], asked)
        free[worker] = begin + load
        start = max(done, free[worker])
        done = start + step
        plan.append((worker, begin, free[worker], start))
    return plan


print("the GPU is busy:", {workers: f"{400 / (simulate(workers)[-1][3] + 10):.0%}" for workers in range(7)})


def timeline(workers):
    plan = simulate(workers, count=10)
    rows = {"GPU": ([(start, 10) for *_, start in plan], "result")}
    for n in range(workers):
        rows[f"worker {n}"] = [(begin, end - begin) for worker, begin, end, _ in plan if worker == n], "data"
    return bars(rows, "time (ms)", f"{workers} workers: ten batches are done after {plan[-1][3] + 10} ms.", 400)


pictures.slider(timeline, start={"workers": 2}, workers=[1, 2, 3, 4])

# %% [markdown]
# ### Myth · "More workers are faster"
# More workers help until loading keeps up with the steps, here with `30 / 10 = 3` of them. After that, another worker costs
# memory, and the GPU isn't any busier.
#
# **Interview · Your GPU is 40 % busy. Is it the loader?**
#
# - *Thirty seconds:* Replace the loader by one batch that you reuse. If you then get more steps a second, the loader is
#   the bottleneck. Or time `next(iterator)` and the step separately.
# - *Longer:* You need about as many workers as the load time divided by the step time. If the first batches of an epoch are slow, workers are being
#   started: `persistent_workers=True`.
# - *They ask next:* What else could it be? Steps that wait, such as `loss.item()`, many small kernels, or copies from pageable memory.
# - *The trap:* Timing the step without `synchronize`: the wait shows up in whatever line reads a value
#   ([chapter 05](05_devices.ipynb)).
# - *Proof:* `proof-busy`, on a model.
#
# %% [markdown] given="mytorch.utils.data.prefetch:Prefetcher"
# ### In `mytorch`
# The workers of `mytorch` are threads. They take numbered tasks from one queue and put results into another; `arrived` holds
# what came too early. A queue that grew without limit would load the whole dataset into memory, so a new task is asked for only
# when a batch is given out.

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
# Batches come in order, and an error comes in its turn, in the loop that can handle it. How far ahead does the loader run?

# %% tags=["proof-ahead"]
from operator import length_hint

for workers, factor in ((4, 2), (2, 3)):
    tasks = iter([[n] for n in range(100)])
    loader = mydata.DataLoader(range(100), batch_sampler=tasks, num_workers=workers, prefetch_factor=factor)
    iterator, left = iter(loader), length_hint(tasks)
    next(iterator)
    print(f"{workers} workers, prefetch_factor {factor}: {100 - left} tasks, after next() {100 - length_hint(tasks)}")

# %% [markdown] tags=["short"]
# **Interview · `next(iter(loader))` with four workers: what happens?**
#
# - *Thirty seconds:* Four processes start, eight batches are asked for, you get one, and a ninth is asked for. Then the
#   iterator is dropped, and the workers are stopped.
# - *Longer:* It also draws a base seed, so the default generator moves on.
# - *They ask next:* How do you look at a batch cheaply? `loader.collate_fn([dataset[0], dataset[1]])`, or a loader without
#   workers.
# - *The trap:* `next(iter(loader))` in a loop. Each call begins a new pass.
# - *Proof:* `proof-ahead`; the seed: `proof-base-seed`.
#
# ## Worker processes
# The usual builds of Python run the bytecode of one thread at a time. So threads help where loading waits for a disk, or runs C
# code that lets other threads go on. PyTorch uses processes instead. [workers.py](files/workers.py) starts two, first with
# `spawn`, a new Python that imports your program, then with `fork`, a copy of the running process:

# %% tags=["proof-workers"]
import subprocess
import sys

print(subprocess.run([sys.executable, "files/workers.py"], stdout=subprocess.PIPE, text=True, check=True).stdout)

# %% [markdown]
# A worker has its own copy of the dataset, so what it adds to `self.seen` doesn't come back to your program. A spawned one
# doesn't see what the program changed after its import; a forked one does. Everything sent to a spawned one must be pickled.
#
# ### Myth · "NumPy's random numbers repeat in the workers"
# They did, years ago. Today `random`, `np.random` and `torch` are seeded for each worker and epoch. But a generator that
# belongs to the dataset is copied with it. It gives the same numbers in each worker, and in each epoch too, unless the workers
# are persistent. You repair one in exercise 6.
#
# **Interview · Map-style or iterable, and what do workers change?**
#
# - *Thirty seconds:* Map-style has `__getitem__` and `__len__`, so the main process can shuffle, and divides indices among workers. Iterable is a
#   stream: each worker gets a copy and yields all of it, unless you divide it with `get_worker_info()`.
# - *Longer:* Take a stream for logs, sockets or archives that are read in sequence. Shuffling then means a buffer.
# - *They ask next:* Where do you open the file? In the worker, at first use: an open file can't be sent to a spawned process.
# - *The trap:* Counting or caching in `self`. Each worker has its own.
# - *Proof:* `proof-workers`.
#
# ## Several processes train
# With `DistributedSampler`, each training process takes every *n*-th index of one shuffled order. Eight samples, three
# processes:

# %% tags=["proof-distributed"]
samplers = [mydata.DistributedSampler(range(8), num_replicas=3, rank=rank) for rank in range(3)]
for epoch in (0, 1):
    print(f"epoch {epoch}, without set_epoch:", [list(each) for each in samplers])
for each in samplers:
    each.set_epoch(1)
print("epoch 1, with set_epoch(1):", [list(each) for each in samplers])

# %% [markdown]
# **Interview · Why `set_epoch`?**
#
# - *Thirty seconds:* All processes must shuffle in the same way, so the order comes from `seed + epoch`, not from a shared stream. Without
#   `set_epoch`, each epoch has the order of epoch 0.
# - *Longer:* To give each process equally many, the sampler repeats the first indices, or with `drop_last` leaves some out.
#   With unequal counts, some processes would wait forever.
# - *They ask next:* What does that do to a validation score? Repeated samples count twice.
# - *The trap:* `shuffle=True` in the loader as well: with a sampler it is an error.
# - *Proof:* `proof-distributed`; the error: `proof-rapid-fire`.
#
# ## Pinned memory
# The last step is the copy to the GPU. From ordinary memory, the driver first copies the data into a buffer of its own that
# can't be paged out, and the CPU waits for that. Memory that is already **pinned** doesn't need it. On
# [chapter 05](05_devices.ipynb)'s model of a stream, with 11 ms to prepare a batch, 6 ms to copy it (9 unpinned) and 10 ms of kernels:


# %% tags=["proof-pinned"]
def loop(copy=6, non_blocking=False, item=False, own_stream=False, count=100):
    """How long a batch takes (ms), and when CPU, copies and kernels are at work."""
    now = copied = computed = 0
    spans = {"CPU": ([], "saved"), "copies": ([], "weight"), "kernels": ([], "result")}
    for _ in range(count):
        begin = max(now + 11, copied if own_stream else computed)
        start = max(begin + copy, computed)
        for name, span in zip(spans, ((now, 11), (begin, copy), (start, 10)), strict=True):
            spans[name][0].append(span)
        copied, computed = begin + copy, start + 10
        now = computed if item else now + 11 if non_blocking else copied
    return computed / count, spans


ways = {"pageable": {"copy": 9}, "pinned": {}, "pinned, non_blocking": {"non_blocking": True}}
ways["the same, loss.item()"] = {"non_blocking": True, "item": True}
ways["copies on another stream"] = {"non_blocking": True, "own_stream": True}
print({name: round(loop(**options)[0]) for name, options in ways.items()})


bars(loop(count=6, non_blocking=True)[1], "time (ms)", "The CPU runs ahead; copies and kernels take turns.")

# %% [markdown]
# ### Myth · "`pin_memory` makes copies asynchronous"
# With pinned memory alone, the CPU still waits for each copy. It takes `non_blocking=True` as well, and a loop that doesn't
# wait for something else, such as `loss.item()`. Copies and kernels overlap only if they are on two streams.
#
# **Interview · What do `pin_memory` and `non_blocking` do?**
#
# - *Thirty seconds:* `pin_memory=True` has the loader put batches into page-locked memory, which the GPU can read by itself.
#   `x.to("cuda", non_blocking=True)` then returns at once.
# - *Longer:* Kernels of the same stream still wait for the copy. To overlap both, copy the next batch on another stream.
# - *They ask next:* Why not pin everything? It can't be swapped out, and pinning itself takes time.
# - *The trap:* A non-blocking copy *to* the CPU, read before `synchronize`. The numbers may not be there yet.
# - *Proof:* `proof-pinned`, on a model.
#
# ## Resuming in the middle of an epoch
# A job is killed after three of six batches. To go on, you need the order of that epoch and the number of batches that the
# *loop* has received:


# %% tags=["proof-resume"]
from itertools import islice


def had(batches, count=None):
    loader = mydata.DataLoader(range(24), batch_sampler=batches, num_workers=1)
    return [index for batch in islice(loader, count) for index in batch.tolist()]


order = mytorch.randperm(24, generator=mytorch.Generator().manual_seed(7))
epoch = [chosen.tolist() for chosen in order.split(4)]
sampler = iter(epoch)
before = had(sampler, 3)
rests = {"all": epoch, "after the sampler's count": epoch[6 - length_hint(sampler) :], "after the loop's": epoch[3:]}
for name, rest in rests.items():
    seen = before + had(rest)
    print(f"{name:25}: {24 - len(set(seen)):2} samples never seen, {len(seen) - len(set(seen)):2} seen twice")

# %% [markdown]
# The sampler is ahead of the loop by what is prefetched. If you resume at the sampler's count, those batches are lost.
#
# **Interview · How do you resume in the middle of an epoch?**
#
# - *Thirty seconds:* Make the order a function of a seed and the epoch. Save the epoch and how many batches the loop has had; skip as many batches
#   of *indices*.
# - *Longer:* Random augmentation needs its generators' states too, or seeds made from epoch and index. A stream
#   must be able to say its position.
# - *They ask next:* And with eight GPUs instead of four? Count samples rather than batches.
# - *The trap:* Saving the sampler's position while workers load ahead.
# - *Proof:* `proof-resume`; the rest of a checkpoint: [chapter 20](20_saving_and_loading.ipynb).
#
# ## Milestone: the training loop on your loader
# [Chapter 19](19_training_loop.ipynb) trains on handwritten digits, 1,200 of them in shuffled batches of 32. Here is its loop
# with minitorch's loader, and with `mytorch`'s, which loads ahead:

# %% tags=["proof-milestone"]
from sklearn.datasets import load_digits

images, classes = (each[:1200] for each in load_digits(return_X_y=True))


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

# %% [markdown]
# ## The real one
# For processes, minitorch has this in place of your `__next__`:

# %%
import inspect

from minitorch.utils.data._utils.iterator import _MultiProcessingDataLoaderIter

print(inspect.getsource(_MultiProcessingDataLoaderIter._next_data))

# %% [markdown] tags=["short"]
# `_tasks` says which worker has which batch, and `_arrived` is the same as yours. Two things are new. A worker whose stream is
# `Exhausted` gets no more tasks, and with `in_order=False` a batch is given as soon as it is there. `_pool.receive` notices
# workers that were killed, as your `_receive` notices threads.
#
# ## Myths
# You'll hear that `shuffle=True` shuffles the data (it shuffles indices: `proof-toy`), that more workers are faster
# (`proof-busy`), that `pin_memory` makes copies asynchronous (`proof-pinned`), and that NumPy's numbers repeat in workers
# (`proof-workers`).
#
# ## Rapid fire
# 1. Ten samples, `batch_size=4`, `drop_last=True`: how many batches? Two.
# 2. `shuffle=True` together with a sampler? `ValueError`.
# 3. The dtype of a batch of Python floats? float64 (`proof-collate`).
# 4. Two workers and `prefetch_factor=3`: how many batches are ahead? Six (`proof-ahead`).
# 5. `random_split(dataset, [0.5, 0.5])` of 7 samples? 4 and 3.

# %% tags=["proof-rapid-fire"]
print("1.", len(torch.utils.data.DataLoader(range(10), batch_size=4, drop_last=True)))
print("2.", repr(check.error(torch.utils.data.DataLoader, range(10), sampler=[1], shuffle=True)))
print("5.", [len(part) for part in torch.utils.data.random_split(range(7), [0.5, 0.5])])

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Dataset: `len` and `[i]`. Sampler: indices. Collate: samples to a batch.
# 2. `shuffle` shuffles indices. Each pass draws a base seed from the default generator.
# 3. Python floats become float64, tuples lists. Samples of a `TensorDataset` are views.
# 4. Pad to the longest of the batch, sort by length, or pack.
# 5. Workers needed: load time divided by step time.
# 6. In flight: `num_workers * prefetch_factor`. Batches and errors come in order.
# 7. A worker has a copy: counters don't come back, a stream comes whole from each worker, the dataset's own generator repeats.
# 8. `set_epoch` before each epoch.
# 9. Pinned *and* `non_blocking`, and nothing in the loop that waits.
# 10. To resume: seed, epoch, batches that the loop has had.
#
# ## You try
# [The exercises](../exercises/18_data.ipynb): predict what each process gets; write the samplers, the collate function and the
# prefetching loader; pack sequences; repair an augmentation that repeats itself; and measure how many workers keep a GPU
# busy. Then [chapter 19](19_training_loop.ipynb) takes the training loop apart.
