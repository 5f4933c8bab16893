# %% [markdown]
# # Exercises · Several GPUs
# Three of the exercises add to your library: once you have solved them, it trains on several GPUs and on several ranks. These three run inside files of
# `mytorch`, so every name that a task or a docstring mentions is there; import anything else in the cell.

# %% setup=true
from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from course import check

# %% [markdown] exercise="gpus_predict_pass" kind="predict" points=1
# ### Exercise 1 · What survives a pass?
# This meter runs on four GPUs under `DataParallel` and gets a batch of six rows, twice.
#
# ```python
# class Meter(nn.Module):
#     def __init__(self):
#         super().__init__()
#         self.layer = nn.Linear(3, 1)
#         self.calls = 0
#         self.lengths = []
#         self.best = {"rows": 0}
#         self.register_buffer("total", torch.zeros(()))
#
#     def forward(self, x):
#         self.calls += 1
#         self.lengths.append(len(x))
#         self.best["rows"] = len(x)
#         self.total += len(x)
#         return self.layer(x)
#
# meter = Meter().to("cuda:0")
# parallel = nn.DataParallel(meter, device_ids=[0, 1, 2, 3])
# parallel(batch)
# parallel(batch)
# ```
#
# What are `meter.calls`, `len(meter.lengths)`, `meter.best["rows"]` and `meter.total` afterwards? Set `prediction` to a list of four integers.

# %% solution="gpus_predict_pass"
### BEGIN SOLUTION
prediction = [0, 6, 2, 4]
### END SOLUTION

# %% check="gpus_predict_pass"
names = ["calls", "len(lengths)", "best rows", "total"]
check.show({name: int(value) for name, value in zip(names, prediction, strict=True)}, secret=True)

# %% [markdown] hint="gpus_predict_pass"
# `batch.chunk(4)` of six rows makes pieces of ⌈6 / 4⌉ = 2 rows. How many pieces are that?

# %% [markdown] hint="gpus_predict_pass"
# A replica's `__dict__` is a shallow copy. Assigning to `self.calls` changes the copy, whereas changing a list or dict to which both refer
# changes the only one that exists.

# %% [markdown] hint="gpus_predict_pass"
# The buffer on the first GPU is the meter's own, because `to` returns the tensor itself if nothing changes. In each of the two passes it gets the
# two rows of the first chunk.

# %% mutant="gpus_predict_pass"
# As on one GPU
# The replicas run, not the meter itself, and each sees only its chunk.
prediction = [2, 2, 6, 12]

# %% mutant="gpus_predict_pass"
# Four GPUs, four replicas
# Six rows on four GPUs are three chunks of two. The fourth GPU gets none, so there are three calls for each pass.
prediction = [0, 8, 2, 4]

# %% mutant="gpus_predict_pass"
# Replicas are deep copies
# A replica's `__dict__` is a shallow copy, so the list and the dict are the meter's own. Only assigned attributes are lost.
prediction = [0, 0, 0, 0]

# %% mutant="gpus_predict_pass"
# All buffers are added up
# Each replica has a copy of the buffer. Only the one on the first GPU is the meter's own, and the others are never added to it.
prediction = [6, 6, 2, 12]


# %% [markdown] exercise="gpus_data_parallel" kind="core" points="1 2 1" part="mytorch.nn.parallel.data_parallel:scatter mytorch.nn.parallel.data_parallel:replica mytorch.nn.parallel.data_parallel:gather"
# ### Exercise 2 · `DataParallel`
# Write three of its four steps: divide the inputs, make a replica, and join the results. The fourth step, which runs all replicas at once, is
# provided. A replica's parameters have to be *results* of copying, so that gradients reach the parameters of the module.


# %% docstrings="gpus_data_parallel"
def scatter():
    """Divides `inputs` over the GPUs whose numbers are in `device_ids`.

    A tensor is divided into chunks of rows (`inputs.chunk(n)`), each moved to its
    `device("cuda", number)`. The result is a tuple of these chunks, of which there may be fewer
    than GPUs. If `inputs` is a tuple, each element is scattered and each GPU gets a tuple; the
    result is a list that is as long as the shortest of the scattered elements. Anything else,
    and an empty tuple, goes to all GPUs as it is; the result is a list with one entry for each
    GPU.
    """


def replica():
    """Returns a shallow copy of a module with recorded copies of parameters and buffers on `where`.

    `object.__new__(type(module))` makes an object without calling `__init__`. Its `__dict__` is
    a copy of the module's, but with new tables `_parameters`, `_buffers` and `_modules`. A
    parameter `p` becomes `p.to(where)`, which isn't a parameter any more: it is an ordinary
    attribute of the replica, in its `__dict__`, and `_parameters` stays empty. A buffer becomes
    `b.to(where)`, in `_buffers`, and a child becomes its replica, in `_modules`. None stays
    None.

    `made` is a dict from tensors and modules that have been copied to their copies, so that a
    tensor or module that occurs twice, such as a tied weight, is copied once. Pass it on to the
    children.
    """


def gather():
    """Joins the results of all GPUs on the GPU with the number `where`.

    Tensors are concatenated along their rows (`cat`), and 0-d tensors become a vector. If the
    results are tuples, the first elements are gathered, then the second ones and so on, and a
    tuple of these is returned.
    """


# %% check="gpus_data_parallel"
generator = check.rng()
mytorch.cuda.simulate(4)
nn = mytorch.nn
rows = int(generator.integers(9, 12))
x = mytorch.tensor(generator.normal(size=(rows, 3)).round(2).tolist())
mytorch.manual_seed(check.seed())


class Net(nn.Module):
    made = 0

    def __init__(self):
        super().__init__()
        Net.made += 1
        self.layer, self.calls, self.seen = nn.Linear(3, 2), 0, []
        self.tied, self.head = self.layer, nn.Linear(3, 2)
        self.head.weight = self.layer.weight  # as a language model ties its head to its embedding
        self.register_buffer("scale", mytorch.full((1,), 2.0))
        self.register_buffer("nothing", None)
        self.register_parameter("missing", None)
        self.add_module("absent", None)
        self.head.bias.requires_grad_(False)
        self.head.eval()

    def forward(self, x, factor):
        self.calls += 1
        self.seen.append(len(x))
        self.scale += 1
        return self.tied(x) * factor, x.sum()


def described(pieces):
    return [[(each.device, each) if hasattr(each, "device") else each for each in piece] for piece in pieces]


net = Net().to("cuda:0")
net.head.register_buffer("scale", net.scale)
pieces = nn.parallel.scatter((x, mytorch.arange(rows), "all"), [0, 2, 1, 3])
few = nn.parallel.scatter(x[:3], [3, 1, 0, 2])
nested = nn.parallel.scatter((x[:3], (x, [x[0]])), [1, 0, 2, 3])
one, other = nn.parallel.replicate(net, [0, 2])
out, sums = nn.DataParallel(net)(x, 2.0)
(out**2).sum().backward()
parts = [mytorch.full((2,), float(place)).to(f"cuda:{place}") for place in (1, 0, 3)]
check.show(
    {
        "rows": rows,
        "scattered": described(pieces),
        "few rows": [(each.device, each) for each in few],
        "for one GPU": [(each.device, each) for each in nn.parallel.scatter(x, [2])],
        "a tuple in a tuple, of 3 rows and of more": [len(nested), *described([two for _, two in nested])],
        "kinds": [
            type(pieces).__name__,
            type(few).__name__,
            nn.parallel.scatter((), [0, 1]),
            nn.parallel.scatter(3, [0, 1]),
        ],
        "a replica's parameters": len(list(other.parameters())),
        "and buffers": [(name, each.device) for name, each in other.named_buffers()],
        "children": [name for name, _ in other.named_modules()],
        "its weight": [other.layer.weight.device, other.layer.weight.requires_grad, other.layer.weight.is_leaf],
        "the tied layer is one": other.layer is other.tied,
        "the tied weight is one": other.head.weight is other.layer.weight,
        "the buffer of two modules is one": other.head.scale is other.scale,
        "without a buffer": other.nothing,
        "its type and modes": [type(other).__name__, other.training, other.head.training, Net.made],
        "without a parameter, without a child": [other.missing, other.absent],
        "a frozen bias": other.head.bias.requires_grad,
        "the module's own tables": [len(list(each)) for each in (net.parameters(), net.buffers(), net.modules())],
        "the list is shared": other.seen is net.seen,
        "the first replica has the module's buffer": one.scale is net.scale,
        "gathered": nn.parallel.gather(parts, 2),
        "one result": nn.parallel.gather(parts[:1], 2),
        "kind of gathered pairs": type(nn.parallel.gather([(each, each) for each in parts], 1)).__name__,
        "gathered pairs": nn.parallel.gather([(each, each.sum()) for each in parts], 1),
        "a pair in a pair": nn.parallel.gather([(each, (each.sum(), each)) for each in parts], 1),
        "results": out,
        "sums": sums,
        "gradient of the weight": net.layer.weight.grad,
        "calls, lengths": [net.calls, sorted(net.seen)],
        "the buffer afterwards": net.scale,
    },
    text="Inputs divided, a replica on the third GPU, results joined, and a pass on four GPUs with its gradient.",
)

# %% [markdown] hint="gpus_data_parallel"
# `zip(*columns)` turns "for each input, its pieces" into "for each GPU, its inputs". `{**module.__dict__, "_parameters": {}, …}` is a
# shallow copy with new tables.

# %% [markdown] hint="gpus_data_parallel"
# In `replica`, return `made[module]` if it exists. Otherwise enter the new object into `made` first, then fill its
# tables: for each tensor, `if tensor not in made: made[tensor] = tensor.to(where)`.

# %% [markdown] hint="gpus_data_parallel"
# `gather`: `if isinstance(outputs[0], tuple): return tuple(gather(column, where) for column in zip(*outputs))`, otherwise `cat` of
# `(each if each.ndim else each.reshape(1)).to(device("cuda", where))`.


# %% mutant="gpus_data_parallel"
# Cuts by numbers of rows
# `chunk` makes pieces of ⌈rows / GPUs⌉ rows, which are all equal except for the last. PyTorch doesn't make even shares such as 3 3 2 2.
def scatter(inputs, device_ids):
    if isinstance(inputs, Tensor):
        least, more = divmod(inputs.shape[0], len(device_ids))
        pieces = inputs.split([least + (place < more) for place in range(len(device_ids))])
        return tuple(piece.to(device("cuda", number)) for number, piece in zip(device_ids, pieces, strict=True))
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(each, device_ids) for each in inputs), strict=False))
    return [inputs] * len(device_ids)


# %% mutant="gpus_data_parallel"
# Counts GPUs from 0
# `device_ids` says which GPUs, and in which order. An index of the list isn't the GPU's number.
def scatter(inputs, device_ids):
    if isinstance(inputs, Tensor):
        pieces = inputs.chunk(len(device_ids))
        return tuple(piece.to(device("cuda", number)) for number, piece in enumerate(pieces))
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(each, device_ids) for each in inputs), strict=False))
    return [inputs] * len(device_ids)


# %% mutant="gpus_data_parallel"
# Detaches the copies
# The copies have to be recorded by autograd. After `detach`, the module's own parameters get no gradient.
def replica(module, where, made):
    if module not in made:
        made[module] = new = object.__new__(type(module))
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
        for table, target in ((module._parameters, new.__dict__), (module._buffers, new._buffers)):
            for name, tensor in table.items():
                if tensor is not None and tensor not in made:
                    made[tensor] = tensor.detach().to(where)
                target[name] = None if tensor is None else made[tensor]
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


# %% mutant="gpus_data_parallel"
# Copies a shared layer twice
# `made` remembers which tensors and modules have been copied. Without it, two names of one layer lead to two layers.
def replica(module, where, made):
    new = object.__new__(type(module))
    new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
    for table, target in ((module._parameters, new.__dict__), (module._buffers, new._buffers)):
        for name, tensor in table.items():
            target[name] = None if tensor is None else tensor.to(where)
    for name, child in module._modules.items():
        new._modules[name] = None if child is None else replica(child, where, made)
    return new


# %% mutant="gpus_data_parallel"
# Remembers modules and no tensors
# A weight that two layers share is one tensor. Without an entry in `made` it is copied to the GPU twice.
def replica(module, where, made):
    if module not in made:
        made[module] = new = object.__new__(type(module))
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
        for table, target in ((module._parameters, new.__dict__), (module._buffers, new._buffers)):
            for name, tensor in table.items():
                target[name] = None if tensor is None else tensor.to(where)
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


# %% mutant="gpus_data_parallel"
# A deep copy
# Only parameters, buffers and children of a replica are new. Lists and other attributes are the module's own.
def replica(module, where, made):
    import copy

    if module not in made:
        made[module] = new = object.__new__(type(module))
        others = {
            name: value
            for name, value in module.__dict__.items()
            if name not in ("_parameters", "_buffers", "_modules")
        }
        new.__dict__ = {**copy.deepcopy(others), "_parameters": {}, "_buffers": {}, "_modules": {}}
        for table, target in ((module._parameters, new.__dict__), (module._buffers, new._buffers)):
            for name, tensor in table.items():
                if tensor is not None and tensor not in made:
                    made[tensor] = tensor.to(where)
                target[name] = None if tensor is None else made[tensor]
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


# %% mutant="gpus_data_parallel"
# Shares the tables
# A copied `__dict__` still refers to the module's own tables. Writing the replica's tensors into them changes the module.
def replica(module, where, made):
    if module not in made:
        made[module] = new = object.__new__(type(module))
        new.__dict__ = dict(module.__dict__)
        new.__dict__["_parameters"] = {}
        for name, tensor in module._parameters.items():
            if tensor is not None and tensor not in made:
                made[tensor] = tensor.to(where)
            new.__dict__[name] = None if tensor is None else made[tensor]
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


# %% mutant="gpus_data_parallel"
# Gathers on the GPU of the first result
# `where` says on which GPU the results are joined, and the first result may be on another one.
def gather(outputs, where):
    if isinstance(outputs[0], tuple):
        return tuple(gather(column, where) for column in zip(*outputs, strict=True))
    first = outputs[0].device
    return cat([(each if each.ndim else each.reshape(1)).to(first) for each in outputs])


# %% mutant="gpus_data_parallel"
# Adds 0-d tensors up
# 0-d tensors become a vector with an element for each GPU, and the caller decides what to do with them.
def gather(outputs, where):
    if isinstance(outputs[0], tuple):
        return tuple(gather(column, where) for column in zip(*outputs, strict=True))
    moved = [each.to(device("cuda", where)) for each in outputs]
    return cat(moved) if moved[0].ndim else sum(moved[1:], moved[0])


# %% mutant="gpus_data_parallel"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def gather(outputs, where):
    from minitorch.nn import parallel

    return parallel.gather(outputs, where)


# %% [markdown] exercise="gpus_ring" kind="core" points="2 1 1" part="mytorch.distributed:reduce_scatter_ring mytorch.distributed:all_gather_ring mytorch.distributed:all_reduce"
# ### Exercise 3 · A ring
# Each rank runs your function. `get_rank()` is its own number, and `get_world_size()` is the number of ranks. A rank sends to its right neighbour,
# rank + 1, and receives from its left neighbour; the right neighbour of the last rank is rank 0. `send(tensor, dst)` sends a copy and doesn't wait, while
# `received(src)` waits for the next tensor from a rank.


# %% docstrings="gpus_ring"
def reduce_scatter_ring():
    """Adds up the ranks' chunks in place: chunk `r` of rank `r` becomes the sum of all chunks r.

    `chunks` is a list or tuple with one tensor for each rank; write into these tensors instead
    of replacing them. In each of n - 1 steps a rank sends one chunk to the right and adds the
    tensor from the left to its own chunk of the same number. Rank r starts with chunk r - 1. In
    each later step it sends the chunk to which it has just added.
    """


def all_gather_ring():
    """Passes the chunks around in place: chunk `r` of every rank becomes that of rank r.

    In each of n - 1 steps a rank sends one chunk to the right and overwrites one of its own
    with the tensor from the left (`recv(tensor, src)` does that). Rank r starts by sending its
    own chunk, chunk r.
    """


def all_reduce():
    """Overwrites the tensor of every rank with the sum over all ranks.

    The elements are divided, in order, into one chunk for each rank: `n // size` elements in
    each, and one more in the first `n % size`. Then both halves of the ring run. Nothing is
    recorded, so use `with no_grad():`. The tensor need not be contiguous: work on
    `tensor.contiguous().view(-1)`, which is a copy in that case, and write the result back.
    """


# %% check="gpus_ring"
generator = check.rng()
dist = mytorch.distributed
size = int(generator.integers(3, 6))
table = generator.integers(0, 10, size=(size, size, 2)).astype("float32")
length = int(generator.integers(2, 4)) * size + int(generator.integers(1, size))
few = generator.integers(0, 10, size=(size, 2)).astype("float32")
many = generator.integers(0, 10, size=(size, length)).astype("float32")
grid = generator.integers(0, 10, size=(size, 2, size)).astype("float32")


def run(job, ranks=size):
    try:
        return dist.spawn(job, nprocs=ranks)
    except RuntimeError as error:
        return f"{type(error).__name__}: {str(error)[:40]}"


def half(name, of):
    """What each rank has then, the bytes that it has sent, and how far to the right all messages went."""
    original, distances = dist.send, set()

    def send(tensor, dst):
        distances.add((dst - dist.get_rank()) % size)
        original(tensor, dst)

    def job(rank):
        chunks = tuple(mytorch.tensor(each.tolist()) for each in table[rank])
        getattr(dist, name)(chunks)
        return [of(chunks, rank), dist.bytes_sent()]

    dist.send = send
    found = run(job)
    dist.send = original
    return [found, sorted(distances)]


def reduced(rows, ranks=size):
    def job(rank):
        tensor = mytorch.tensor(rows[rank].tolist())
        tensor = tensor.t() if tensor.ndim == 2 else tensor
        dist.all_reduce(tensor)
        return [tensor, tensor.stride(), dist.bytes_sent()]

    return run(job, ranks)


def recorded(rank):
    weight = mytorch.ones(4, requires_grad=True)
    dist.all_reduce(weight)
    return [weight.is_leaf, weight.detach()]


check.show(
    {
        "ranks": size,
        "chunks of rank 0": table[0],
        "reduce-scatter: own chunk, bytes sent, distance": half(
            "reduce_scatter_ring", lambda chunks, rank: chunks[rank]
        ),
        "all-gather: all chunks, bytes sent, distance": half("all_gather_ring", lambda chunks, rank: chunks),
        "all-reduce: a vector": reduced(many),
        "all-reduce: fewer elements than ranks": reduced(few),
        "all-reduce: one element": reduced(few[:, :1]),
        "all-reduce: not contiguous": reduced(grid),
        "all-reduce: a 0-d tensor of integers": reduced(table[:, 0, 0].astype("int64")),
        "all-reduce: two ranks": reduced(many, 2),
        "all-reduce: one rank": reduced(grid, 1),
        "a leaf that requires grad": run(recorded),
    },
    text="What each rank has after both halves of the ring, and after an all-reduce; how many bytes it has sent.",
)

# %% [markdown] hint="gpus_ring"
# With `right = (rank + 1) % size` and `left = (rank - 1) % size`, each step is a `send(..., right)` and a `received(left)`. What rank r receives
# is what its left neighbour sent in the same step: the chunk that r would send one step later.

# %% [markdown] hint="gpus_ring"
# Reduce-scatter: in step s, send chunk `(rank - s - 1) % size` and add to chunk `(rank - s - 2) % size`. After the last step, s = size − 2, that
# is chunk `rank`.

# %% [markdown] hint="gpus_ring"
# All-gather: send chunk `(rank - s) % size` and overwrite chunk `(rank - s - 1) % size`. In `all_reduce`, `flat.split([...])` gives views of
# `flat`; at the end `tensor.copy_(flat.view(tensor.shape))`.


# %% mutant="gpus_ring"
# Sends the same chunk in each step
# From the second step on, a rank has to pass on the chunk to which it has just added. Otherwise no sum has more than two summands.
def reduce_scatter_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - 1) % size], (rank + 1) % size)
        chunks[(rank - step - 2) % size].add_(received((rank - 1) % size))


# %% mutant="gpus_ring"
# Starts with its own chunk
# Then the complete chunk of rank r is chunk r + 1. Rank r starts with chunk r − 1, so that its own chunk becomes complete.
def reduce_scatter_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step) % size], (rank + 1) % size)
        chunks[(rank - step - 1) % size].add_(received((rank - 1) % size))


# %% mutant="gpus_ring"
# Everybody sends to everybody
# The sums are correct, but this isn't a ring: each rank exchanges its whole list with all others, so it sends more.
def reduce_scatter_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for other in range(size):
        for chunk in chunks if other != rank else ():
            send(chunk, other)
    for other in range(size):
        for number in range(size) if other != rank else ():
            tensor = received(other)
            if number == rank:
                chunks[rank].add_(tensor)


# %% mutant="gpus_ring"
# Adds instead of overwriting
# In the second half the chunks that arrive are complete. Adding them to what is there counts some ranks twice.
def all_gather_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step) % size], (rank + 1) % size)
        chunks[(rank - step - 1) % size].add_(received((rank - 1) % size))


# %% mutant="gpus_ring"
# One step too few
# The chunk of the right neighbour needs the most steps to arrive, n − 1.
def all_gather_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 2):
        send(chunks[(rank - step) % size], (rank + 1) % size)
        recv(chunks[(rank - step - 1) % size], (rank - 1) % size)


# %% mutant="gpus_ring"
# Waits before it sends
# Every rank waits for its left neighbour, so no rank ever sends. Send first.
def all_gather_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        recv(chunks[(rank - step - 1) % size], (rank - 1) % size)
        send(chunks[(rank - step) % size], (rank + 1) % size)


# %% mutant="gpus_ring"
# Forgets to write back
# If the tensor isn't contiguous, `contiguous` makes a copy, and only the copy has the sum.
def all_reduce(tensor):
    size = get_world_size()
    least, more = divmod(tensor.numel(), size)
    with no_grad():
        flat = tensor.contiguous().view(-1)
        chunks = flat.split([least + (rank < more) for rank in range(size)])
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)


# %% mutant="gpus_ring"
# Drops the remainder
# If the length isn't divisible by the number of ranks, the last elements stay as they were. The first chunks have to be one element longer.
def all_reduce(tensor):
    size = get_world_size()
    least = tensor.numel() // size
    with no_grad():
        flat = tensor.contiguous().view(-1)
        chunks = [flat[rank * least : (rank + 1) * least] for rank in range(size)]
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        tensor.copy_(flat.view(tensor.shape))


# %% mutant="gpus_ring"
# The mean
# An all-reduce computes the sum, and DDP divides before or after it.
def all_reduce(tensor):
    size = get_world_size()
    least, more = divmod(tensor.numel(), size)
    with no_grad():
        flat = tensor.contiguous().view(-1)
        chunks = flat.split([least + (rank < more) for rank in range(size)])
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        tensor.copy_(flat.view(tensor.shape) / size)


# %% mutant="gpus_ring"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def all_reduce(tensor):
    import minitorch.distributed as dist

    dist.all_reduce(tensor)


# %% [markdown] exercise="gpus_ddp" kind="core" points="1 2 1" part="mytorch.nn.parallel.distributed:in_buckets mytorch.nn.parallel.distributed:DistributedDataParallel.on_gradient mytorch.nn.parallel.distributed:average_gradients"
# ### Exercise 4 · `DistributedDataParallel`
# Gradients become complete one after another, those of the last layer first. Collect them in buckets, and average each bucket as soon as it is full,
# while the backward pass continues. All ranks have to average the same buckets in the same order.


# %% docstrings="gpus_ddp"
def in_buckets():
    """Returns the parameters in buckets, a list of lists, from the last parameter to the first.

    A parameter is added to the last bucket, unless this bucket already has `capacity` bytes or
    more (the sum of `parameter.nbytes`), in which case a new bucket begins.
    """


def on_gradient():
    """Runs in the backward pass as soon as the gradient of `parameter` is complete.

    `self.averages` says whether the last forward pass ran outside `no_sync`, wherever the
    backward pass runs. If it is False, the hook does nothing. Otherwise it adds the parameter
    to the set `self.arrived`. Then, as long as the next bucket, `self.buckets[self.reduced]`,
    is complete, it calls `average_gradients(bucket)` and counts the bucket in `self.reduced`,
    so that a full bucket waits for those before it. After the last bucket the set is empty and
    the count 0 again, ready for the next pass.
    """


def average_gradients():
    """Replaces the gradients of these parameters by their means over the ranks.

    All of them are put into one vector, so that `distributed.all_reduce(vector)` is called
    once, and the means are written back into the gradients in place (`copy_`). Nothing is
    recorded, so use `with no_grad():`.
    """


# %% check="gpus_ddp"
generator = check.rng()
dist, parallel = mytorch.distributed, mytorch.nn.parallel
sizes = [int(each) for each in generator.permutation(5) + 1]
parameters = [mytorch.nn.Parameter(mytorch.zeros(each)) for each in sizes]
halves = [mytorch.nn.Parameter(mytorch.zeros(each, dtype=mytorch.float16)) for each in sizes]
two = 4 * sum(sizes[-2:])
size = int(generator.integers(2, 4))
x = mytorch.tensor(generator.normal(size=(4 * size, 3)).round(2).tolist())
y = x.sum(1, keepdim=True)
calls = []


def lengths(capacity, of=parameters):
    return [[each.numel() for each in bucket] for bucket in parallel.distributed.in_buckets(of, capacity)]


def a_model(seed):
    mytorch.manual_seed(seed)
    nn = mytorch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def passes(rank, model, batches):
    for each in batches:
        ((model(each) - each.sum(1, keepdim=True)) ** 2).mean().backward()
    return [parameter.grad for parameter in model.module.parameters()]


def trained(capacity, quiet=0):
    models = [a_model(check.seed() + rank) for rank in range(size)]

    def job(rank):
        model = parallel.DistributedDataParallel(models[rank], bucket_cap_mb=capacity)
        begin = dist.bytes_sent()
        mine = x[rank::size]
        with model.no_sync():
            passes(rank, model, [mine[:2]] * quiet)
        sent_quietly = dist.bytes_sent() - begin
        gradients = passes(rank, model, [mine])
        return [gradients, sent_quietly, dist.bytes_sent() - begin, len(model.arrived), model.reduced]

    try:
        return dist.spawn(job, nprocs=size)[0]
    except RuntimeError as error:
        return f"{type(error).__name__}: {str(error)[:40]}"


def half_in_no_sync(forward_inside):
    """The gradient on each rank, and whether it was averaged, if one half of the pass is in `no_sync`."""

    def job(rank):
        model = parallel.DistributedDataParallel(mytorch.nn.Linear(3, 1, bias=False))
        begin, inside = dist.bytes_sent(), [model.no_sync(), nullcontext()]
        with inside[not forward_inside]:
            loss = model(x[rank : rank + 1]).sum()
        with inside[forward_inside]:
            loss.backward()
        return [model.module.weight.grad, dist.bytes_sent() > begin]

    try:
        return dist.spawn(job, nprocs=2)
    except RuntimeError as error:
        return f"{type(error).__name__}: {str(error)[:40]}"


def order_of_buckets():
    """Gradients that arrive in another order than the buckets'."""

    def job(rank):
        module = mytorch.nn.ModuleList([mytorch.nn.Linear(1, 1, bias=False) for _ in range(3)])
        model = parallel.DistributedDataParallel(module, bucket_cap_mb=1e-6)
        for each in module.parameters():
            each.grad = mytorch.full((1, 1), float(rank))
        first, second, third = module.parameters()
        noted = []
        for each in (second, third, first):
            begin = dist.bytes_sent()
            model.on_gradient(each)
            noted.append([model.reduced, len(model.arrived), dist.bytes_sent() > begin or rank > 0])
        return [noted, [each.grad.item() for each in module.parameters()]]

    try:
        return dist.spawn(job, nprocs=2)[0]
    except RuntimeError as error:
        return f"{type(error).__name__}: {str(error)[:40]}"


def same_objects(rank):
    weight = mytorch.nn.Parameter(mytorch.ones(2, 3))
    weight.grad = grad = mytorch.full((3, 2), float(rank)).t()
    single = mytorch.nn.Parameter(mytorch.tensor(1.0))
    single.grad = mytorch.tensor(rank * 2.0, requires_grad=True)  # as a backward pass with create_graph leaves it
    parallel.distributed.average_gradients([weight, single])
    return [weight.grad is grad, weight.grad.requires_grad, weight.grad, single.grad.is_leaf, single.grad.detach()]


def all_reduces():
    """How often a rank calls `all_reduce` to average three gradients."""

    def job(rank):
        three = [mytorch.nn.Parameter(mytorch.ones(each)) for each in (2, 3, 4)]
        for each in three:
            each.grad = mytorch.full(each.shape, float(rank))
        parallel.distributed.average_gradients(three)

    original, counted = dist.all_reduce, []
    dist.all_reduce = lambda tensor: (counted.append(1), original(tensor))[1]
    dist.spawn(job, nprocs=2)
    dist.all_reduce = original
    return len(counted) // 2


check.show(
    {
        "sizes": sizes,
        "buckets of 1 byte": lengths(1),
        "of as many bytes as the last two have": lengths(two),
        "of a byte less": lengths(two - 1),
        "of half floats": lengths(two // 2, halves),
        "of half floats, all in one": lengths(2 * sum(sizes), halves),
        "of 9 bytes, after a large one": lengths(9, [*parameters, mytorch.nn.Parameter(mytorch.zeros(20))]),
        "of a megabyte": lengths(2**20),
        "ranks": size,
        "gradients, one bucket each": trained(1e-6),
        "gradients, one bucket": trained(25),
        "two passes without sync before": trained(25, quiet=2),
        "forward pass in no_sync, backward pass outside": half_in_no_sync(True),
        "forward pass outside, backward pass in no_sync": half_in_no_sync(False),
        "after the second, third and first parameter": order_of_buckets(),
        "written in place": dist.spawn(same_objects, nprocs=3)[0],
        "all-reduces for three gradients": all_reduces(),
    },
    text="Parameters in buckets; gradients of rank 0 after a pass, bytes sent without and with synchronisation, what is left to do.",
)

# %% [markdown] hint="gpus_ddp"
# `in_buckets`: start with `[[]]`, go through `reversed(parameters)`, and look at the size of the last bucket before you add. `on_gradient`:
# `self.arrived.issuperset(bucket)` says whether a bucket is complete.

# %% [markdown] hint="gpus_ddp"
# The loop in `on_gradient` is a `while`, not an `if`, because one gradient can complete a bucket behind which others are already full. Mind the
# end of the list of buckets.

# %% [markdown] hint="gpus_ddp"
# `average_gradients`: `vector = cat([each.grad.reshape(-1) for each in parameters]) / distributed.get_world_size()`, all-reduce it, then
# `vector.split([each.numel() for each in parameters])` gives the parts, and `part.view(each.shape)` their shapes.


# %% mutant="gpus_ddp"
# From the first to the last
# Gradients become complete from the last layer on. In this order the first bucket is complete only at the end of the pass.
def in_buckets(parameters, capacity):
    buckets = [[]]
    for each in parameters:
        if sum(other.nbytes for other in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(each)
    return buckets


# %% mutant="gpus_ddp"
# Never above the capacity
# A bucket is closed when it *has* its capacity, so its last parameter may exceed it. Therefore no parameter is too large for a bucket.
def in_buckets(parameters, capacity):
    buckets = [[]]
    for each in reversed(parameters):
        if buckets[-1] and sum(other.nbytes for other in buckets[-1]) + each.nbytes > capacity:
            buckets.append([])
        buckets[-1].append(each)
    return buckets


# %% mutant="gpus_ddp"
# Counts elements
# The capacity is in bytes, and a float32 has four.
def in_buckets(parameters, capacity):
    buckets = [[]]
    for each in reversed(parameters):
        if sum(other.numel() for other in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(each)
    return buckets


# %% mutant="gpus_ddp"
# Looks for a parameter with `in`
# `parameter in bucket` compares tensors element by element with `==`. Compare with `is`, or use the set `self.arrived`, which compares identity.
def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    for bucket in self.buckets:
        if parameter in bucket and self.arrived.issuperset(bucket):
            average_gradients(bucket)
            self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived, self.reduced = set(), 0


# %% mutant="gpus_ddp"
# Averages a bucket when it is full, whatever came before
# On another rank the gradients may arrive in another order, and then two ranks would add up different buckets. All ranks have to keep one order.
def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    bucket = next(each for each in self.buckets if any(parameter is other for other in each))
    if self.arrived.issuperset(bucket):
        average_gradients(bucket)
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived, self.reduced = set(), 0


# %% mutant="gpus_ddp"
# One bucket for each gradient at most
# The gradient that completes a bucket may release others that are already full. With `if`, these wait for a gradient that never comes.
def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    if self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived, self.reduced = set(), 0


# %% mutant="gpus_ddp"
# Ignores `no_sync`
# After a forward pass inside `no_sync`, gradients are only added up. Here each micro-batch is averaged, and pays for an all-reduce.
def on_gradient(self, parameter):
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived, self.reduced = set(), 0


# %% mutant="gpus_ddp"
# Reads `no_sync` in the backward pass
# The forward pass decides: it has stored the answer in `self.averages`. A loss that was computed inside `no_sync` isn't averaged, wherever its backward pass runs.
def on_gradient(self, parameter):
    if not self.require_backward_grad_sync:
        return
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived, self.reduced = set(), 0


# %% mutant="gpus_ddp"
# Isn't ready for the next pass
# After the last bucket everything starts again. Otherwise the next pass finds that all buckets are done and averages nothing.
def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1


# %% mutant="gpus_ddp"
# The sum
# DDP averages, so divide by the number of ranks. With the sum, four ranks take steps that are four times as long.
def average_gradients(parameters):
    with no_grad():
        vector = cat([each.grad.reshape(-1) for each in parameters])
        distributed.all_reduce(vector)
        for each, part in zip(parameters, vector.split([each.numel() for each in parameters]), strict=True):
            each.grad.copy_(part.view(each.shape))


# %% mutant="gpus_ddp"
# An all-reduce for each gradient
# The means are correct. But each message has its latency, which a bucket should pay only once, so put the gradients into one vector.
def average_gradients(parameters):
    with no_grad():
        for each in parameters:
            distributed.all_reduce(each.grad)
            each.grad /= distributed.get_world_size()


# %% mutant="gpus_ddp"
# Writes nothing back
# `cat` makes a copy. The means have to go back into the gradients.
def average_gradients(parameters):
    with no_grad():
        vector = cat([each.grad.reshape(-1) for each in parameters]) / distributed.get_world_size()
        distributed.all_reduce(vector)


# %% mutant="gpus_ddp"
# Replaces the gradients
# The gradients are written in place, so that code that holds `weight.grad` sees the mean, too.
def average_gradients(parameters):
    with no_grad():
        vector = cat([each.grad.reshape(-1) for each in parameters]) / distributed.get_world_size()
        distributed.all_reduce(vector)
        for each, part in zip(parameters, vector.split([each.numel() for each in parameters]), strict=True):
            each.grad = part.view(each.shape)


# %% mutant="gpus_ddp"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def average_gradients(parameters):
    import minitorch.distributed as dist

    for each in parameters:
        dist.all_reduce(each.grad)


# %% setup=true
library = check.mytorch(chapter=23)
distributed = library.distributed

# %% [markdown] exercise="gpus_repair_mean" kind="repair" points=3
# ### Exercise 5 · Worse with more ranks
# A bug report: *"Our translation model has sentences of very different lengths, and on one GPU it is fine. On four GPUs it translates long
# sentences badly, although the loss falls and each rank's gradient is correct if I check it alone."*
#
# Each rank calls `loss_of(losses, mask)` with the losses of its tokens, of shape (sentences, length); `mask` is 1 for a token and 0
# for padding, and a rank may have nothing but padding. The result is differentiated, and DDP averages the gradients over the ranks. Fix
# it: averaged over the ranks, the loss and its gradient have to be those that a single device would get for all sentences.
# `distributed.all_reduce(tensor)` computes the sum in place and isn't differentiated; `distributed.get_world_size()` is the number of ranks.


# %% solution="gpus_repair_mean"
def loss_of(losses, mask):
    ### BEGIN SOLUTION
    tokens = mask.sum()
    distributed.all_reduce(tokens)
    return (losses * mask).sum() / tokens * distributed.get_world_size()
    ### END SOLUTION
    ### BEGIN STUB
    # return (losses * mask).sum() / mask.sum()
    ### END STUB


# %% check="gpus_repair_mean"
generator = check.rng()
size = int(generator.integers(2, 5))
lengths = generator.permutation([0, *generator.permutation([1, 2, 5, 9])[: size - 1]])  # one rank has padding alone
values = [generator.uniform(1, 9, size=(2, 40)).round(1) for _ in range(size)]
masks = [np.stack([np.arange(40) < length, np.arange(40) < length - 1]) * 1.0 for length in lengths]


def job(rank):
    weight = library.ones(1, requires_grad=True)
    losses = library.tensor(values[rank].tolist()) * weight
    loss = loss_of(losses, library.tensor(masks[rank].tolist()))
    loss.backward()
    gradient = weight.grad.clone()
    few = distributed.bytes_sent() < 4 * 64
    kept = losses.detach().tolist() == library.tensor(values[rank].tolist()).tolist()
    mask = library.tensor(masks[rank].tolist())
    others = [loss_of(3 * losses + 1, mask), loss_of(losses[:1], mask[:1])]
    sums = library.stack([each.detach().reshape(()) for each in (loss, gradient, *others)])
    distributed.all_reduce(sums)
    return [*(sums / size).tolist(), few, kept]


everything = sum((value * mask).sum() for value, mask in zip(values, masks, strict=True))
try:
    found = distributed.spawn(job, nprocs=size)
except RuntimeError as error:
    found = f"{type(error).__name__}: {error}"
check.show(
    {
        "ranks": size,
        "tokens of each rank": [int(mask.sum()) for mask in masks],
        "mean over all tokens": everything / sum(mask.sum() for mask in masks),
        "of each rank: averaged loss and gradient, two other losses, few bytes, losses kept": found,
    },
    text="The loss is proportional to one weight, which is 1: so the averaged gradient should be the mean over all tokens. "
    "The other losses are that of three times the losses plus 1, and that of the first sentences alone.",
)

# %% [markdown] hint="gpus_repair_mean"
# Work it out for two ranks, one with six tokens and one with two. How much does one token of each rank count in the averaged gradient?

# %% [markdown] hint="gpus_repair_mean"
# A rank's sum has to be divided by the number of tokens of *all* ranks. The ranks have to exchange that number, but not their losses.

# %% [markdown] hint="gpus_repair_mean"
# DDP will divide by the number of ranks. Multiply by it first: `(losses * mask).sum() / tokens * size`.


# %% mutant="gpus_repair_mean"
# Forgets that DDP divides
# The tokens are weighted correctly, but the gradient is too small by a factor of the number of ranks, because DDP averages instead of summing.
def loss_of(losses, mask):
    tokens = mask.sum()
    distributed.all_reduce(tokens)
    return (losses * mask).sum() / tokens


# %% mutant="gpus_repair_mean"
# Divides by all positions
# Padding isn't a token. There are more positions than tokens, so the gradient is too small.
def loss_of(losses, mask):
    return (losses * mask).mean()


# %% mutant="gpus_repair_mean"
# The mean of the means, computed elsewhere
# All ranks now have the same loss, but it is still a mean of means, in which a token of a short sentence counts more.
def loss_of(losses, mask):
    mean = (losses * mask).sum() / mask.sum()
    total = mean.detach().clone()
    distributed.all_reduce(total)
    return mean / mean.detach() * total / distributed.get_world_size()


# %% mutant="gpus_repair_mean"
# The longest rank's tokens
# Dividing by a common number weights all tokens alike, but this number has to be the mean number of tokens a rank.
def loss_of(losses, mask):
    tokens = library.zeros(distributed.get_world_size())
    tokens[distributed.get_rank()] = mask.sum()
    distributed.all_reduce(tokens)
    return (losses * mask).sum() / tokens.max()


# %% [markdown] exercise="gpus_measure_bucket" kind="measure" points=2
# ### Exercise 6 · How large a bucket?
# `step_time(megabytes)` returns the milliseconds of a training step with buckets of that size, on a machine that you can't look into. Gradients become
# complete layer by layer, full buckets are sent one after another, and each message has a latency. With `inf` megabytes there is one bucket for
# everything, which is sent after the backward pass.
#
# Try the powers of two from 1/16 to 256 MB. Return the size with the shortest step, and how much of the time that one bucket for everything
# costs beyond `alone`, the time of a step without any communication, is saved by it: a share between 0 and 1. If sizes are equally fast, return the
# smallest of them. You may call `step_time` at most 50 times for each machine.


# %% setup=true
def machine(layers, milliseconds, latency, per_megabyte):
    """A function step_time(megabytes), and the time without communication. `layers`: megabytes, from the last layer on."""

    def step_time(megabytes):
        now, line_free, waiting = 0.0, 0.0, 0.0
        for size in layers:
            now += milliseconds
            waiting += size
            if waiting >= megabytes:
                line_free = max(now, line_free) + latency + waiting * per_megabyte
                waiting = 0.0
        if waiting:
            line_free = max(now, line_free) + latency + waiting * per_megabyte
        return max(now, line_free)

    return step_time, len(layers) * milliseconds


# %% solution="gpus_measure_bucket"
def best_bucket(step_time, alone):
    ### BEGIN SOLUTION
    sizes = [2.0**power for power in range(-4, 9)]
    best = min(sizes, key=step_time)
    at_the_end = step_time(float("inf")) - alone
    return best, (at_the_end - (step_time(best) - alone)) / at_the_end
    ### END SOLUTION


# %% check="gpus_measure_bucket"
generator = check.rng()
layers = [float(each) for each in generator.integers(1, 9, size=40)]
machines = {
    "short latency": machine(layers, 2.0, 0.05, 0.3),
    "long latency": machine(layers, 2.0, 6.0, 0.3),
    "a slow line": machine(layers, 1.0, 1.0, 1.5),
    "equal layers": machine([4.0] * 32, 3.0, 1.0, 0.2),
    "huge layers": machine([32.0] * 40, 20.0, 100.0, 0.5),
}
calls = dict.fromkeys(machines, 0)


def counted(name):
    def run(megabytes):
        calls[name] += 1
        return machines[name][0](megabytes)

    return run


found = {name: best_bucket(counted(name), alone) for name, (_, alone) in machines.items()}
check.show(
    {
        "layers (MB)": layers,
        **{f"{name}: size": float(size) for name, (size, _) in found.items()},
        **{f"{name}: share saved": float(share) for name, (_, share) in found.items()},
        "at most 50 calls for each machine": max(calls.values()) <= 50,
    },
    rtol=1e-6,
    text="The best bucket of each machine, and the share of the waiting that it saves.",
)

# %% [markdown] hint="gpus_measure_bucket"
# `min(sizes, key=step_time)` returns the first of several that are equally fast.

# %% [markdown] hint="gpus_measure_bucket"
# One bucket for everything costs `step_time(float("inf")) - alone`. The cost of the best size is the same difference with its own time.

# %% [markdown] hint="gpus_measure_bucket"
# The share saved is the difference of both costs, divided by the first.


# %% mutant="gpus_measure_bucket"
# The share of the whole step
# The task asks for the share of the *communication* that is hidden, so the time without communication doesn't belong to it.
def best_bucket(step_time, alone):
    sizes = [2.0**power for power in range(-4, 9)]
    best = min(sizes, key=step_time)
    return best, (step_time(float("inf")) - step_time(best)) / step_time(float("inf"))


# %% mutant="gpus_measure_bucket"
# The smallest bucket
# Small buckets start early, but each of them pays the latency. The best size depends on the machine, so measure.
def best_bucket(step_time, alone):
    at_the_end = step_time(float("inf")) - alone
    return 2.0**-4, (at_the_end - (step_time(2.0**-4) - alone)) / at_the_end


# %% mutant="gpus_measure_bucket"
# PyTorch's default
# 25 MB is a good guess for many machines. It isn't one of the sizes to try, and these machines differ.
def best_bucket(step_time, alone):
    at_the_end = step_time(float("inf")) - alone
    return 25.0, (at_the_end - (step_time(25.0) - alone)) / at_the_end


# %% mutant="gpus_measure_bucket"
# The largest of equal ones
# If sizes are equally fast, return the smallest.
def best_bucket(step_time, alone):
    sizes = [2.0**power for power in range(-4, 9)]
    best = min(reversed(sizes), key=step_time)
    at_the_end = step_time(float("inf")) - alone
    return best, (at_the_end - (step_time(best) - alone)) / at_the_end


# %% [markdown] exercise="gpus_predict_processes" kind="predict" points=1
# ### Exercise 7 · What does the parent see?
# ```python
# def child(a, b, c, d):
#     a[0] = b[0] = c[0] = 9
#     d += 9
#
# a = torch.zeros(2)
# b = a.clone()
# c = np.zeros(2)
# d = torch.tensor(1)
# view = a[:1]
# process = torch.multiprocessing.get_context("spawn").Process(target=child, args=(a, b, c, d))
# process.start()
# process.join()
# ```
#
# What are `a[0]`, `b[0]`, `c[0]`, `d` and `view[0]` in the parent then? Set `prediction` to a list of five integers.

# %% solution="gpus_predict_processes"
### BEGIN SOLUTION
prediction = [9, 9, 0, 10, 9]
### END SOLUTION

# %% check="gpus_predict_processes"
names = ["a[0]", "b[0]", "c[0]", "d", "view[0]"]
check.show({name: int(value) for name, value in zip(names, prediction, strict=True)}, secret=True)

# %% [markdown] hint="gpus_predict_processes"
# A tensor that is passed to a process moves into shared memory, whereas an array is pickled.

# %% [markdown] hint="gpus_predict_processes"
# `d += 9` on a tensor writes in place. Does it matter, then, that `d` is a 0-d tensor?

# %% [markdown] hint="gpus_predict_processes"
# `view` has the same storage as `a`, and it is the storage that moves.

# %% mutant="gpus_predict_processes"
# Everything is pickled
# Tensors aren't: their storage is put into shared memory, and both processes write to the same place.
prediction = [0, 0, 0, 1, 0]

# %% mutant="gpus_predict_processes"
# Arrays are shared, too
# `torch.multiprocessing` knows how to share tensors. An array goes through pickle, and the child has its own.
prediction = [9, 9, 9, 10, 9]

# %% mutant="gpus_predict_processes"
# Treats a 0-d tensor as a number
# A 0-d tensor has a storage like any other tensor, and `+=` writes to it.
prediction = [9, 9, 0, 1, 9]

# %% mutant="gpus_predict_processes"
# The view keeps the old memory
# The storage itself moves into shared memory, and all views of it with it.
prediction = [9, 9, 0, 10, 0]
