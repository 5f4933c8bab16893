# %% [markdown]
# # Exercises · Shards
# Two of the exercises add to your library: once you have solved them, ranks share one optimizer's state and one copy of the weights. These two
# run inside files of `mytorch`, so every name that a task or a docstring mentions is there; import anything else in the cell.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check


def outcomes(mytorch, size, job, *args):
    """What a job returns on each rank, or what it raised there."""

    def tried(rank):
        try:
            return job(rank, *args)
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:70]}"

    return mytorch.distributed.spawn(tried, nprocs=size)


# %% [markdown] exercise="shards_predict_bytes" kind="predict" points=1
# ### Exercise 1 · Megabytes on each GPU
# A model has 16 million parameters in bfloat16, and its gradients are in bfloat16 too. Eight GPUs train it with float32 master weights. How many
# megabytes (millions of bytes) of weights, gradients and optimizer state does each GPU keep
#
# 1. under DDP with Adam,
# 2. with Adam and ZeRO-1,
# 3. with Adam and ZeRO-2,
# 4. with Adam and ZeRO-3,
# 5. with ZeRO-1 and SGD with momentum instead of Adam?
#
# Set `prediction` to a list of five integers.

# %% solution="shards_predict_bytes"
### BEGIN SOLUTION
prediction = [256, 88, 60, 32, 80]
### END SOLUTION

# %% check="shards_predict_bytes"
names = ["DDP, Adam", "ZeRO-1, Adam", "ZeRO-2, Adam", "ZeRO-3, Adam", "ZeRO-1, SGD with momentum"]
check.show({name: int(value) for name, value in zip(names, prediction, strict=True)}, secret=True)

# %% [markdown] hint="shards_predict_bytes"
# A weight takes two bytes and its gradient two more. What does Adam remember for each parameter, and in which dtype?

# %% [markdown] hint="shards_predict_bytes"
# Adam's part is 12 bytes: the master weight and two running means. Stage 1 divides this part by eight, stage 2 also the gradients, and stage 3 everything.

# %% [markdown] hint="shards_predict_bytes"
# ZeRO-1 keeps 2 + 2 + 12/8 bytes a parameter. SGD with momentum remembers one float32 for each parameter, beside the master weight.

# %% mutant="shards_predict_bytes"
# Everything sharded from the first stage on
# Each stage shards something more: first the optimizer's state, then the gradients, then the weights.
prediction = [256, 32, 32, 32, 24]

# %% mutant="shards_predict_bytes"
# No master weights
# The step is made in float32, so the optimizer's part includes four bytes for a master weight, beside the running means.
prediction = [192, 80, 52, 24, 72]

# %% mutant="shards_predict_bytes"
# Stage 2 shards the weights
# Stage 2 shards the gradients, while its forward and backward passes still find whole weights.
prediction = [256, 88, 32, 32, 80]

# %% mutant="shards_predict_bytes"
# SGD without a state
# Momentum is a running sum of gradients, which takes four bytes for each parameter.
prediction = [256, 88, 60, 32, 72]

# %% [markdown] exercise="shards_zero" kind="core" points="1 1 1 1" part="mytorch.nn.parallel.sharding:in_shards mytorch.nn.parallel.sharding:mean_of_shard mytorch.nn.parallel.sharding:gather_shards mytorch.nn.parallel.sharding:ZeroRedundancyOptimizer.step"
# ### Exercise 2 · An optimizer in pieces
# Each rank owns one shard of every parameter, and its optimizer has only that. Write the cut, both directions of the traffic, and the step. The
# ring's halves are `reduce_scatter_ring(chunks)` and `all_gather_ring(chunks)`, which work in place on a list of chunks, one for each rank
# ([chapter 23](../notebooks/23_multi_gpu.ipynb)).


# %% docstrings="shards_zero"
def in_shards():
    """Returns a tensor's elements in order, as one view for each rank.

    With n elements and `get_world_size()` ranks, each view has `n // size` elements, and the
    first `n % size` views have one more. They are views of the tensor's own memory,
    one-dimensional and without history (`detach`). The tensor is contiguous. (Your library has
    no `tensor_split`.)
    """


def mean_of_shard():
    """Returns this rank's shard of a gradient's mean over the ranks.

    It sends no more than a reduce-scatter does. The gradient itself stays as it is and need not
    be contiguous. The result has memory of its own, so that it keeps nothing else alive.
    Nothing is recorded, so use `with no_grad():`.
    """


def gather_shards():
    """Overwrites `whole` with the shards of all ranks, of which `shard` is this rank's.

    The shard may have another dtype than the whole. Nothing is recorded, so use `with
    no_grad():`.
    """


def step():
    """Averages the gradients of this rank's shards, updates these shards, and gathers the
    shards of all ranks.

    `self.params` has the whole parameters, whose gradients are complete and stay as they are,
    and `self.shards` has this rank's float32 shards of them, in the same order. `self.optim` is an optimizer of the
    shards, which reads their `.grad` in float32. The ranks exchange tensors in the parameter's
    dtype, because converting a bfloat16 gradient before it is averaged would double the
    traffic. A parameter whose gradient is None, on all ranks alike, isn't updated. After the step the shards' gradients are None, so that they don't stay in memory.
    """


# %% check="shards_zero"
generator = check.rng()
sharding = mytorch.nn.parallel.sharding
size = int(generator.integers(3, 6))
length = size * int(generator.integers(2, 4)) + int(generator.integers(1, size))
gradients = generator.integers(-9, 10, size=(size, 3, length)).astype("float32")


def run(job):
    return outcomes(mytorch, size, job)


def cut(rank):
    whole = mytorch.arange(float(length)).requires_grad_()
    shards = sharding.in_shards(whole)
    before = [each.tolist() for each in shards]
    with mytorch.no_grad():
        shards[1].fill_(-1.0)
    few = sharding.in_shards(mytorch.ones(2, 1))
    return [before, whole.detach(), shards[0].requires_grad, [each.numel() for each in few]]


def reduced(rank):
    gradient = mytorch.tensor(gradients[rank].tolist())
    found = []
    for each in (gradient, gradient.t(), gradient[:1]):
        shard = sharding.mean_of_shard(each)
        found += [shard, len(shard.storage)]
    return [*found, gradient.tolist() == gradients[rank].tolist(), mytorch.distributed.bytes_sent()]


def gathered(rank):
    whole = mytorch.zeros(length, 1, dtype=mytorch.bfloat16, requires_grad=True)
    alias = whole.detach()
    shard = sharding.in_shards(alias.clone())[rank].float() + rank + 0.5
    sharding.gather_shards(shard, whole)
    return [alias.float(), whole.is_leaf, mytorch.distributed.bytes_sent()]


def recorded():
    """The operations that one rank by itself records, given tensors that require a gradient."""
    found = []

    def note(op, args, result, seconds):
        if mytorch.is_grad_enabled() and op.name != "detach" and any(getattr(x, "requires_grad", False) for x in args):
            found.append(op.name)
        return 0

    def alone(rank):
        gradient, shard = (mytorch.ones(2, 2, requires_grad=True) for _ in range(2))
        with mytorch.utils.instruments.instrument(note):
            sharding.mean_of_shard(gradient)
            sharding.gather_shards(shard.view(-1), mytorch.zeros(2, 2))

    mytorch.distributed.spawn(alone, nprocs=1)
    return found


def trained(rank):
    params = [mytorch.ones(length, 2, dtype=mytorch.bfloat16, requires_grad=True), mytorch.ones(5, requires_grad=True)]
    optimizer = sharding.ZeroRedundancyOptimizer(params, mytorch.optim.SGD, lr=0.001, momentum=0.9)
    for number in range(20):
        params[0].grad = mytorch.full((length, 2), 1.0 + rank, dtype=mytorch.bfloat16)
        params[1].grad = mytorch.full((5,), float(number))
        optimizer.step()
    return [
        *(each.detach().float() for each in params),
        *optimizer.shards,
        [each.grad for each in optimizer.shards],
        params[1].grad,
        mytorch.distributed.bytes_sent(),
    ]


def unused(rank):
    """Two parameters that were used, and between them one that no rank has used, after a step."""
    params = [mytorch.ones(each, requires_grad=True) for each in (length, 7, 4)]
    optimizer = sharding.ZeroRedundancyOptimizer(params, mytorch.optim.SGD, lr=0.5)
    params[0].grad, params[2].grad = mytorch.ones(length), mytorch.arange(4.0)
    optimizer.step()
    return [each.detach() for each in params]


check.show(
    {
        "ranks and elements": [size, length],
        "cut: shards, the tensor after a write, history, two elements": run(cut)[0],
        "reduced, transposed, one row: shard, elements in its memory; gradient kept, bytes sent": run(reduced),
        "gathered: whole, still a leaf, bytes sent": run(gathered),
        "twenty steps: parameters, shards, their gradients, a whole gradient, bytes sent": run(trained)[-1],
        "a step in which the second of three parameters has no gradient": run(unused)[0],
        "recorded": recorded(),
    },
    text="Shards of a vector; gradients reduced to shards; shards gathered; an optimizer of shards on all ranks.",
)

# %% [markdown] hint="shards_zero"
# `divmod(n, size)` gives both numbers for the lengths, and `split` takes a list of lengths. The other functions need `in_shards` and one half of the ring.

# %% [markdown] hint="shards_zero"
# `mean_of_shard`: divide first, because `gradient / get_world_size()` is a new tensor that the ring may overwrite. Then come `.contiguous()`, `in_shards`, the
# ring, and a `clone` of this rank's chunk. `gather_shards`: copy the shard into this rank's chunk of the whole, then run the other half.

# %% [markdown] hint="shards_zero"
# `step` has three parts: for each pair, `shard.grad = mean_of_shard(whole.grad).float()`, unless the whole has no gradient; then `self.optim.step()`; then for each pair
# `gather_shards(shard, whole)` and `shard.grad = None`.


# %% mutant="shards_zero"
# Cuts as `chunk` does
# `chunk` makes pieces of ⌈n / ranks⌉, so the last ranks may get few elements or none. The shards should be as even as possible.
def in_shards(tensor):
    return tensor.detach().view(-1).chunk(get_world_size())


# %% mutant="shards_zero"
# Copies
# A shard is a view, so that values which the ring writes into it arrive in the tensor.
def in_shards(tensor):
    least, more = divmod(tensor.numel(), get_world_size())
    return tensor.detach().clone().view(-1).split([least + (rank < more) for rank in range(get_world_size())])


# %% mutant="shards_zero"
# The sum
# The ranks' losses are means over their own rows, so the gradient is the mean over the ranks.
def mean_of_shard(gradient):
    with no_grad():
        chunks = in_shards(gradient.clone().contiguous())
        reduce_scatter_ring(chunks)
        return chunks[get_rank()].clone()


# %% mutant="shards_zero"
# Lets the ring write into the gradient
# The chunks are views of the gradient, and the ring adds others to them, so this rank's gradient is lost. Divide first, which makes a
# new tensor.
def mean_of_shard(gradient):
    with no_grad():
        chunks = in_shards(gradient.contiguous())
        reduce_scatter_ring(chunks)
        return chunks[get_rank()] / get_world_size()


# %% mutant="shards_zero"
# All-reduces, and takes its shard
# The values are correct, but twice as much is sent: each rank gets all sums and throws most of them away.
def mean_of_shard(gradient):
    with no_grad():
        chunks = in_shards((gradient / get_world_size()).contiguous())
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        return chunks[get_rank()].clone()


# %% mutant="shards_zero"
# Returns a view
# The view keeps the memory of the whole gradient alive, so nothing is saved.
def mean_of_shard(gradient):
    with no_grad():
        chunks = in_shards((gradient / get_world_size()).contiguous())
        reduce_scatter_ring(chunks)
        return chunks[get_rank()]


# %% mutant="shards_zero"
# Forgets its own shard
# The ring passes on each rank's own chunk of the whole. Copy the shard into this chunk first.
def gather_shards(shard, whole):
    with no_grad():
        all_gather_ring(in_shards(whole))


# %% mutant="shards_zero"
# Everybody broadcasts to everybody
# The values are correct, but each rank passes the chunks around the ring twice.
def gather_shards(shard, whole):
    with no_grad():
        chunks = in_shards(whole)
        chunks[get_rank()].copy_(shard)
        all_gather_ring(chunks)
        all_gather_ring(chunks)


# %% mutant="shards_zero"
# Leaves the whole as it was
# After the optimizer's step only this rank's shard has changed. The whole parameter has to be gathered from all ranks.
def step(self):
    for shard, whole in zip(self.shards, self.params, strict=True):
        shard.grad = None if whole.grad is None else mean_of_shard(whole.grad).float()
    self.optim.step()
    for shard in self.shards:
        shard.grad = None


# %% mutant="shards_zero"
# Takes the shard from the weights again
# The float32 shard has to stay as it is. If it is rounded to the parameter's bfloat16 in each step, small steps are lost.
def step(self):
    for shard, whole in zip(self.shards, self.params, strict=True):
        shard.grad = None if whole.grad is None else mean_of_shard(whole.grad).float()
    self.optim.step()
    for shard, whole in zip(self.shards, self.params, strict=True):
        gather_shards(shard, whole)
        shard.grad = None
        shard.copy_(in_shards(whole)[get_rank()])


# %% mutant="shards_zero"
# Expects a gradient of every parameter
# A parameter that the loss doesn't depend on, or that is frozen, has the gradient None. Skip it.
def step(self):
    for shard, whole in zip(self.shards, self.params, strict=True):
        shard.grad = mean_of_shard(whole.grad).float()
    self.optim.step()
    for shard, whole in zip(self.shards, self.params, strict=True):
        gather_shards(shard, whole)
        shard.grad = None


# %% mutant="shards_zero"
# Sends float32
# The values are correct. But if a bfloat16 gradient is converted to float32 before the ring, twice as many bytes are sent as after it.
def step(self):
    for shard, whole in zip(self.shards, self.params, strict=True):
        shard.grad = None if whole.grad is None else mean_of_shard(whole.grad.float())
    self.optim.step()
    for shard, whole in zip(self.shards, self.params, strict=True):
        gather_shards(shard, whole)
        shard.grad = None


# %% mutant="shards_zero"
# Keeps the gradients
# A shard's gradient isn't needed after the step, and it would take four bytes an element until the next one.
def step(self):
    for shard, whole in zip(self.shards, self.params, strict=True):
        shard.grad = None if whole.grad is None else mean_of_shard(whole.grad).float()
    self.optim.step()
    for shard, whole in zip(self.shards, self.params, strict=True):
        gather_shards(shard, whole)


# %% mutant="shards_zero"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def step(self):
    from minitorch.distributed.optim import ZeroRedundancyOptimizer

    ZeroRedundancyOptimizer(self.params, type(self.optim)).step()


# %% [markdown] exercise="shards_fully" kind="core" points="1 1 2" part="mytorch.nn.parallel.sharding:FSDPParam.unshard mytorch.nn.parallel.sharding:FSDPParam.reshard mytorch.nn.parallel.sharding:FSDPParam.reduce_grad"
# ### Exercise 3 · A parameter that comes and goes
# An `FSDPParam` stands for one parameter of a module. It has `self.shard`, a leaf with this rank's elements, and `self.whole`, a leaf of the whole shape
# whose memory exists only for a while. The module finds `self.place[self.name]` under the parameter's name, so one of the two belongs there. The hooks
# that call these three methods are provided (`fully_shard`), and so are `gather_shards` and `mean_of_shard`.


# %% docstrings="shards_fully"
def unshard():
    """Gathers the whole from all ranks and puts it in its place.

    Make an empty tensor of the whole's shape, dtype and device, gather the shards into it, and
    give its memory to the whole: `self.whole.storage.flat = made.storage.flat`. (This
    assignment doesn't count as a write, so autograd doesn't complain.)
    """


def reshard():
    """Frees the whole and puts the shard in its place.

    The whole's memory becomes an array of length 0 on the same device, such as
    `self.shard.storage.flat[:0]`. A tensor also remembers its elements as an array, under
    "array" in its `__dict__`, which has to be removed too (`pop("array", None)`), because it
    would keep the memory alive.
    """


def reduce_grad():
    """Passes the mean of the whole's gradient, which is complete, on to the shard.

    `whole.grad` is the gradient from this rank's rows. This rank's shard of the mean over the
    ranks is added to `self.shard.grad`, which is None at first. Afterwards `whole.grad` is
    None, and the whole is freed (`self.reshard()`).
    """


# %% check="shards_fully"
generator = check.rng()
parallel = mytorch.nn.parallel
size = 3
rows, columns = int(generator.integers(40, 60)), int(generator.integers(40, 60))
mytorch.manual_seed(check.seed())
layers = [mytorch.nn.Linear(columns, rows, bias=False) for _ in range(size)]
others = [mytorch.nn.Linear(columns, rows, bias=False) for _ in range(size)]
for layer in (*layers[1:], *others):
    layer.load_state_dict(layers[0].state_dict())
models = [
    mytorch.nn.Sequential(mytorch.nn.Linear(4, 7), mytorch.nn.Tanh(), mytorch.nn.Linear(7, 2)) for _ in range(size)
]
for model in models[1:]:
    model.load_state_dict(models[0].state_dict())
x = mytorch.tensor(generator.normal(size=(6, 4)).round(2).tolist())


def run(job):
    mytorch.cuda.simulate(size)
    return outcomes(mytorch, size, job)[1]


def one_parameter(rank):
    mytorch.cuda.set_device(rank)
    layer = layers[rank].to("cuda", mytorch.bfloat16)
    expected = layer.weight.detach().clone().cpu()
    each = parallel.sharding.FSDPParam(layer, "weight", layer.weight)
    seen = [tuple(layer.weight.shape), mytorch.cuda.memory_allocated(rank)]
    each.unshard()
    seen += [tuple(layer.weight.shape), bool((layer.weight.detach().cpu() == expected).all())]
    seen += [layer.weight is each.whole, mytorch.cuda.memory_allocated(rank), mytorch.distributed.bytes_sent()]
    layer.weight.detach().sum(), each.whole.array
    each.reshard()
    return [*seen, layer.weight is each.shard, len(each.whole.storage), mytorch.cuda.memory_allocated(rank)]


def between_passes(rank):
    mytorch.cuda.set_device(rank)
    layer = parallel.fully_shard(others[rank].cuda())
    x = mytorch.ones(1, columns).cuda().requires_grad_()
    out = layer(x)
    found = mytorch.cuda.memory_allocated(rank)
    out.sum().backward()
    return [found, x.grad.cpu()]


def gradients(rank):
    layer = mytorch.nn.Linear(2, 2, bias=False)
    each = parallel.sharding.FSDPParam(layer, "weight", layer.weight)
    found = []
    for number in range(2):
        each.unshard()
        each.whole.grad = mytorch.arange(4.0).view(2, 2) * (rank + 1.0) + number
        begin = mytorch.distributed.bytes_sent()
        each.reduce_grad(each.whole)
        found += [
            each.shard.grad.clone(),
            each.whole.grad,
            layer.weight is each.shard,
            mytorch.distributed.bytes_sent() - begin,
        ]
    return found


def trained(rank):
    model = models[rank]
    for layer in model:
        parallel.fully_shard(layer)
    optimizer = mytorch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        for part in x[rank::size].split(1):  # two micro-batches
            (model(part) ** 2).mean().backward()
        optimizer.step()
    return [each.detach() for each in model.parameters()]


check.show(
    {
        "shape of the weight": [rows, columns],
        "a shard, gathered, freed: shapes, values, memory, bytes sent": run(one_parameter),
        "between forward and backward: memory, then the input's gradient": run(between_passes),
        "two gradients: shard's, whole's, shard in place, bytes sent": run(gradients),
        "three steps of two micro-batches": run(trained),
    },
    text="What rank 1 of 3 finds: one parameter on a simulated GPU, two gradients, and a model that is trained.",
)

# %% [markdown] hint="shards_fully"
# `unshard` and `reshard` both end with an assignment to `self.place[self.name]`. The tensors that autograd saved find the memory of the whole through `self.whole.storage`.

# %% [markdown] hint="shards_fully"
# `unshard`: `made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)`, then `gather_shards(self.shard, made)`. In `reduce_grad`, mind that several
# backward passes may come before a step.

# %% [markdown] hint="shards_fully"
# `reduce_grad`: `mean = mean_of_shard(whole.grad)`; `self.shard.grad = mean if self.shard.grad is None else self.shard.grad + mean`; then
# `whole.grad = None` and `self.reshard()`.


# %% mutant="shards_fully"
# Leaves the shard in its place
# The module takes its parameter from `self.place`, so it would compute with the shard.
def unshard(self):
    made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)
    gather_shards(self.shard, made)
    self.whole.storage.flat = made.storage.flat


# %% mutant="shards_fully"
# Gathers on the CPU
# Without a device, `empty` is on the CPU. The whole belongs on the device of the shard.
def unshard(self):
    made = empty(self.whole.shape, dtype=self.whole.dtype)
    gather_shards(self.shard.cpu(), made)
    self.whole.storage.flat = made.storage.flat
    self.place[self.name] = self.whole


# %% mutant="shards_fully"
# Puts a new tensor in its place
# The backward pass sets the gradient of the leaf that was used, and only `self.whole` has the hook that passes it on.
def unshard(self):
    made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)
    gather_shards(self.shard, made)
    self.place[self.name] = Parameter(made)


# %% mutant="shards_fully"
# A storage of its own
# The saved tensors still refer to the old storage, so its memory can't be freed between the passes. Change only the storage's `flat`.
def unshard(self):
    made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)
    gather_shards(self.shard, made)
    self.whole.data = made
    self.place[self.name] = self.whole


# %% mutant="shards_fully"
# Keeps the array
# The tensor has remembered its elements as an array, which keeps the memory alive.
def reshard(self):
    self.whole.storage.flat = self.shard.storage.flat[:0]
    self.place[self.name] = self.shard


# %% mutant="shards_fully"
# Frees nothing
# The shard is back in its place, but the whole still has its memory.
def reshard(self):
    self.place[self.name] = self.shard


# %% mutant="shards_fully"
# Overwrites the gradient
# Gradients of several backward passes add up until the optimizer's step, including those of shards.
def reduce_grad(self, whole):
    self.shard.grad = mean_of_shard(whole.grad)
    whole.grad = None
    self.reshard()


# %% mutant="shards_fully"
# Keeps the whole gradient
# It stays in memory at full size, and the next pass adds to it, so the shard counts it twice.
def reduce_grad(self, whole):
    mean = mean_of_shard(whole.grad)
    self.shard.grad = mean if self.shard.grad is None else self.shard.grad + mean
    self.reshard()


# %% mutant="shards_fully"
# Takes the gradient of its own rows
# Each rank has seen other rows. The shard's gradient is the mean over all ranks, which needs a reduce-scatter.
def reduce_grad(self, whole):
    mean = in_shards(whole.grad.contiguous())[get_rank()].clone()
    whole.grad = None
    self.shard.grad = mean if self.shard.grad is None else self.shard.grad + mean
    self.reshard()


# %% mutant="shards_fully"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def reduce_grad(self, whole):
    import minitorch.distributed as dist

    dist.all_reduce(whole.grad)


# %% setup=true
library = check.mytorch(chapter="23b")
nn, distributed = library.nn, library.distributed

# %% [markdown] exercise="shards_build_mlp" kind="build" points=3
# ### Exercise 4 · An MLP on several ranks
# Write a tensor-parallel module that computes `down(gelu(up(x)))`. Each rank creates it from the same two layers, `up = nn.Linear(d, h)` and `down = nn.Linear(h, d)`,
# where `h` is divisible by the number of ranks, and keeps its share in four parameters: `up_weight`, `up_bias`, `down_weight`, `down_bias`. The first rank has the first
# hidden units, the next rank the next ones, and `down_bias` stays whole on every rank. The parameters have memory of their own, because a view would keep the whole
# layer alive, and training would change the layers.
#
# All ranks pass the same `x` and get the same result, which is that of both layers. After a backward pass of the same loss on all ranks, the gradients of `x` and of the
# parameters are those of the two layers, or the rank's share of them. There is one all-reduce in each direction, of a tensor as large as `x`. You may use
# `distributed.CopyToRanks.apply(x)`, `distributed.SumOverRanks.apply(x)`, `distributed.get_rank()`, `distributed.get_world_size()` and `nn.functional`.


# %% solution="shards_build_mlp"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        ### BEGIN SOLUTION
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.up_weight = nn.Parameter(up.weight.detach().chunk(size)[rank].clone())
        self.up_bias = nn.Parameter(up.bias.detach().chunk(size)[rank].clone())
        self.down_weight = nn.Parameter(down.weight.detach().chunk(size, 1)[rank].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        x = distributed.CopyToRanks.apply(x)
        hidden = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight)) + self.down_bias
        ### END SOLUTION


# %% check="shards_build_mlp"
generator = check.rng()
size = int(generator.integers(2, 4))
width, hidden = int(generator.integers(2, 5)), 2 * size
library.manual_seed(check.seed())
up, down = nn.Linear(width, hidden), nn.Linear(hidden, width)
rows = library.tensor(generator.normal(size=(3, width)).round(2).tolist())
factors = library.tensor(generator.normal(size=(3, width)).round(2).tolist())


def job(rank):
    module, x = ParallelMLP(up, down), rows.clone().requires_grad_()
    out = module(x)
    forward = distributed.bytes_sent()
    (out * factors).sum().backward()
    return {
        "result": out.detach(),
        "bytes sent forward": forward,
        "gradient of x": x.grad,
        "bytes sent backward": distributed.bytes_sent() - forward,
        **{f"gradient of {name}": each.grad for name, each in sorted(module.named_parameters())},
        "result of twice the rows, stored by columns": module((2 * rows).T.contiguous().T).detach(),
    }


def overwritten(ranks):
    """The layers after the parameters of the last rank were overwritten."""
    module = outcomes(library, ranks, lambda rank: ParallelMLP(up, down))[-1]
    for each in [] if isinstance(module, str) else module.parameters():
        each.detach().zero_()
    return [each.detach() for layer in (up, down) for each in layer.parameters()]


def in_double(rank):
    """The dtypes of the parameters and of the result, for float64 layers."""
    module = ParallelMLP(*(nn.Linear(size, size).to(library.float64) for _ in range(2)))
    result = module(library.ones(1, size, dtype=library.float64))
    return {name: each.dtype for name, each in sorted(module.named_parameters())} | {"result": result.dtype}


found = outcomes(library, size, job)
check.show(
    {
        "ranks": size,
        "result of both layers": down(nn.functional.gelu(up(rows))).detach(),
        "rank 0": found[0],
        "rank 1": found[1],
        "float64 layers": outcomes(library, size, in_double)[0],
        "the layers after a rank's parameters were overwritten": overwritten(size),
        "the same with one rank": overwritten(1),
    },
    rtol=1e-4,
    text="Result and gradients on two of the ranks, and the bytes that each of them sent.",
)

# %% [markdown] hint="shards_build_mlp"
# Which dimension of `weight` belongs to the outputs and which to the inputs? The hidden units are outputs of the first layer and inputs of the second.

# %% [markdown] hint="shards_build_mlp"
# `chunk(size)` cuts rows and `chunk(size, 1)` columns. `CopyToRanks` is applied to `x`, and `SumOverRanks` to the summands of the result.

# %% [markdown] hint="shards_build_mlp"
# `linear(hidden, self.down_weight)` is a summand on each rank. Add these up first and the bias afterwards, because otherwise it counts once for each rank.


# %% mutant="shards_build_mlp"
# The bias on every rank
# Each rank adds the bias to its summand, so the sum contains it once for each rank.
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.up_weight = nn.Parameter(up.weight.detach().chunk(size)[rank].clone())
        self.up_bias = nn.Parameter(up.bias.detach().chunk(size)[rank].clone())
        self.down_weight = nn.Parameter(down.weight.detach().chunk(size, 1)[rank].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        x = distributed.CopyToRanks.apply(x)
        hidden = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight, self.down_bias))


# %% mutant="shards_build_mlp"
# A share of the bias on every rank
# The result is right, and the bias learns too slowly: its gradient is divided by the number of ranks as well.
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.up_weight = nn.Parameter(up.weight.detach().chunk(size)[rank].clone())
        self.up_bias = nn.Parameter(up.bias.detach().chunk(size)[rank].clone())
        self.down_weight = nn.Parameter(down.weight.detach().chunk(size, 1)[rank].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        x = distributed.CopyToRanks.apply(x)
        hidden = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        bias = self.down_bias / distributed.get_world_size()
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight, bias))


# %% mutant="shards_build_mlp"
# The bias of rank 0 alone
# The result is correct. But on the other ranks the bias gets no gradient, so the copies differ after a step.
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.up_weight = nn.Parameter(up.weight.detach().chunk(size)[rank].clone())
        self.up_bias = nn.Parameter(up.bias.detach().chunk(size)[rank].clone())
        self.down_weight = nn.Parameter(down.weight.detach().chunk(size, 1)[rank].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        x = distributed.CopyToRanks.apply(x)
        hidden = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        bias = None if distributed.get_rank() else self.down_bias
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight, bias))


# %% mutant="shards_build_mlp"
# No sum in the backward pass
# Each rank's hidden units contribute a part of the gradient of `x`, and `CopyToRanks` adds these parts up.
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.up_weight = nn.Parameter(up.weight.detach().chunk(size)[rank].clone())
        self.up_bias = nn.Parameter(up.bias.detach().chunk(size)[rank].clone())
        self.down_weight = nn.Parameter(down.weight.detach().chunk(size, 1)[rank].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        hidden = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight)) + self.down_bias


# %% mutant="shards_build_mlp"
# Rows first
# Split by its inputs, the first layer gives each rank summands of all hidden units. GELU of a sum isn't the sum of GELUs.
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.pieces = [each.clone() for each in up.weight.detach().chunk(size, 1)]
        self.up_weight = nn.Parameter(self.pieces[rank % len(self.pieces)])
        self.up_bias = nn.Parameter(up.bias.detach().clone())
        self.down_weight = nn.Parameter(down.weight.detach().clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        rank, size = distributed.get_rank(), distributed.get_world_size()
        x = distributed.CopyToRanks.apply(x).chunk(size, 1)[rank % len(self.pieces)]
        hidden = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight)) + self.down_bias


# %% mutant="shards_build_mlp"
# A sum for each layer
# The result is correct, but the first layer isn't split, and the all-reduce of the hidden units is unnecessary.
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.up_weight = nn.Parameter(up.weight.detach().clone())
        self.up_bias = nn.Parameter(up.bias.detach().clone())
        self.down_weight = nn.Parameter(down.weight.detach().chunk(size, 1)[rank].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        rank, size = distributed.get_rank(), distributed.get_world_size()
        x = distributed.CopyToRanks.apply(x)
        hidden = distributed.SumOverRanks.apply(nn.functional.linear(x, self.up_weight, self.up_bias) / size)
        hidden = nn.functional.gelu(hidden).chunk(size, -1)[rank]
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight)) + self.down_bias


# %% mutant="shards_build_mlp"
# Views of the layers
# The values are correct, but the parameters are views of the layers' memory: each rank keeps both whole layers alive, and an optimizer's step changes them.
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.up_weight = nn.Parameter(up.weight.detach().chunk(size)[rank])
        self.up_bias = nn.Parameter(up.bias.detach().chunk(size)[rank])
        self.down_weight = nn.Parameter(down.weight.detach().chunk(size, 1)[rank])
        self.down_bias = nn.Parameter(down.bias.detach())

    def forward(self, x):
        x = distributed.CopyToRanks.apply(x)
        hidden = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight)) + self.down_bias


# %% [markdown] exercise="shards_repair_clip" kind="repair" points=3
# ### Exercise 5 · Weights that drift apart
# A bug report: *"We train with tensor parallelism. On each rank, `sharded` has parameters of which it keeps a share, and `replicated` has those that every rank keeps whole,
# with equal values and equal gradients. Since we started clipping, runs on four ranks differ from those on one. Worse, after some thousand steps the replicated parameters
# aren't equal any more. Without clipping everything is fine."*
#
# Fix `clip(sharded, replicated, max_norm)`. It multiplies all gradients in place by the factor that clipping on one device would use, and returns the norm before clipping as a tensor,
# like `clip_grad_norm_`. The factor is `max_norm / (norm + 1e-6)`, but at most 1. A rank may have no share of any parameter, so its `sharded` may be empty. Parameters whose
# gradient is None are skipped, as `clip_grad_norm_` skips them.
# `distributed.all_reduce(tensor)` computes the sum in place. The library's tensors have no method `norm`.


# %% solution="shards_repair_clip"
def clip(sharded, replicated, max_norm):
    ### BEGIN SOLUTION
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    squares = library.zeros(1)
    for each in sharded:
        squares = squares + (each.grad**2).sum()
    distributed.all_reduce(squares)
    for each in replicated:
        squares = squares + (each.grad**2).sum()
    norm = squares.sum().sqrt()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for each in (*sharded, *replicated):
        each.grad.mul_(factor)
    return norm
    ### END SOLUTION
    ### BEGIN STUB
    # return nn.utils.clip_grad_norm_([*sharded, *replicated], max_norm)
    ### END STUB


# %% check="shards_repair_clip"
generator = check.rng()
size = int(generator.integers(3, 5))
shares = [int(each) for each in generator.permutation([0, 3, 1, 5][:size])]
own = [generator.normal(size=share).round(2) * (rank + 1) for rank, share in enumerate(shares)]
common = generator.normal(size=(2, 3)).round(2)


def with_gradient(values):
    weight = library.zeros(len(values), requires_grad=True)
    weight.grad = library.tensor(values.tolist())
    return weight


def job(rank, max_norm, unit=1.0, count=2):
    sharded = [with_gradient(own[rank][:1] * unit), with_gradient(own[rank][1:] * unit)] if shares[rank] > 1 else []
    sharded = [with_gradient(own[rank] * unit)] if shares[rank] == 1 else sharded
    replicated = [with_gradient(each * unit) for each in common[:count]]
    gradients = [[each.grad for each in weights] for weights in (sharded, replicated)]
    if count == 2:
        sharded, replicated = ([*some, library.ones(3, requires_grad=True)] for some in (sharded, replicated))  # unused
    norm = clip(sharded if shares[rank] else [], replicated, max_norm)
    shown = [[each / unit for each in some] for some in gradients]
    few = distributed.bytes_sent() < 64
    return [float(norm) / unit, isinstance(norm, library.Tensor), *shown, few, len(replicated)]


check.show(
    {
        "elements of each rank's share": shares,
        "gradients of the shares": own,
        "gradients that all ranks have": common,
        "norm on one device": float(np.sqrt(sum((each**2).sum() for each in own) + (common**2).sum())),
        "max_norm 1": outcomes(library, size, job, 1.0),
        "max_norm 1000": outcomes(library, size, job, 1000.0),
        "millionths, max_norm 1e-6": outcomes(library, size, job, 1e-6, 1e-6),
        "one replicated parameter": outcomes(library, size, job, 1.0, 1.0, 1),
    },
    text="Of each rank: the norm, whether that is a tensor, the gradients of its shares, the common ones, whether it "
    "sent only a few bytes, and how many parameters the caller's list of the replicated ones has afterwards.",
)

# %% [markdown] hint="shards_repair_clip"
# From which gradients does each rank compute its factor? Replicated parameters stay equal only if all ranks scale them alike.

# %% [markdown] hint="shards_repair_clip"
# Norms don't add up, but squares do. And a gradient that every rank has would be counted once for each rank.

# %% [markdown] hint="shards_repair_clip"
# Add up the squares of the shares in a tensor that begins as `library.zeros(1)`, all-reduce it on every rank, even on one without a share, and then add the squares of the replicated gradients.


# %% mutant="shards_repair_clip"
# Counts replicated gradients once for each rank
# A gradient that every rank has counts once in the norm. Add its squares after the all-reduce.
def clip(sharded, replicated, max_norm):
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    squares = library.zeros(1)
    for each in (*sharded, *replicated):
        squares = squares + (each.grad**2).sum()
    distributed.all_reduce(squares)
    norm = squares.sum().sqrt()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for each in (*sharded, *replicated):
        each.grad.mul_(factor)
    return norm


# %% mutant="shards_repair_clip"
# Adds norms up
# The norm of a vector is the root of a sum of squares. Add up the squares, and take the root once.
def clip(sharded, replicated, max_norm):
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    squares = library.zeros(1)
    for each in sharded:
        squares = squares + (each.grad**2).sum()
    norm = squares.sqrt()
    distributed.all_reduce(norm)
    norm = norm.sum() + sum((each.grad**2).sum() for each in replicated).sqrt()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for each in (*sharded, *replicated):
        each.grad.mul_(factor)
    return norm


# %% mutant="shards_repair_clip"
# A rank without a share skips the all-reduce
# An all-reduce needs every rank, and the others would wait for this one.
def clip(sharded, replicated, max_norm):
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    squares = library.zeros(1)
    for each in sharded:
        squares = squares + (each.grad**2).sum()
    if sharded:
        distributed.all_reduce(squares)
    for each in replicated:
        squares = squares + (each.grad**2).sum()
    norm = squares.sum().sqrt()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for each in (*sharded, *replicated):
        each.grad.mul_(factor)
    return norm


# %% mutant="shards_repair_clip"
# Expects a gradient of every parameter
# An unused or frozen parameter has the gradient None, and `clip_grad_norm_` skipped it before.
def clip(sharded, replicated, max_norm):
    squares = library.zeros(1)
    for each in sharded:
        squares = squares + (each.grad**2).sum()
    distributed.all_reduce(squares)
    for each in replicated:
        squares = squares + (each.grad**2).sum()
    norm = squares.sum().sqrt()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for each in (*sharded, *replicated):
        each.grad.mul_(factor)
    return norm


# %% mutant="shards_repair_clip"
# Lengthens short gradients
# Clipping never lengthens a gradient, so the factor is at most 1.
def clip(sharded, replicated, max_norm):
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    squares = library.zeros(1)
    for each in sharded:
        squares = squares + (each.grad**2).sum()
    distributed.all_reduce(squares)
    for each in replicated:
        squares = squares + (each.grad**2).sum()
    norm = squares.sum().sqrt()
    for each in (*sharded, *replicated):
        each.grad.mul_(max_norm / (norm + 1e-6))
    return norm


# %% mutant="shards_repair_clip"
# New gradients in place of the old ones
# The gradients should be multiplied in place. Otherwise whoever holds one, such as a bucket of which it is a view, keeps the unclipped values.
def clip(sharded, replicated, max_norm):
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    squares = library.zeros(1)
    for each in sharded:
        squares = squares + (each.grad**2).sum()
    distributed.all_reduce(squares)
    for each in replicated:
        squares = squares + (each.grad**2).sum()
    norm = squares.sum().sqrt()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for each in (*sharded, *replicated):
        each.grad = each.grad * factor
    return norm


# %% [markdown] exercise="shards_measure_bubble" kind="measure" points=2
# ### Exercise 6 · How many micro-batches?
# `run(m)` trains one step of a pipeline whose batch is cut into `m` micro-batches. It returns two things: the duration of the step, and a list with the time for which each
# stage works. All forward passes come first, then all backward passes. You can't look into the machine: its stages may differ, and each micro-batch has an extra cost on each stage.
#
# Try the powers of two from 1 to 256. Return three values: the number with the shortest step (the smallest, if several are equally fast), the share of the GPUs' time that is idle in
# it, between 0 and 1, and the share according to the formula (p − 1)/(m + p − 1).


# %% setup=true
def machine(costs, extra):
    """A function run(m): the time of a step, and of each stage's work. `costs`: of the whole batch's forward on each stage."""

    def run(m):
        free, busy = [0.0] * len(costs), [0.0] * len(costs)
        for factor, path in ((1, range(len(costs))), (2, range(len(costs))[::-1])):
            for _ in range(m):
                event = 0.0
                for stage in path:
                    length = factor * costs[stage] / m + extra
                    free[stage] = event = max(free[stage], event) + length
                    busy[stage] += length
        return max(free), busy

    return run


# %% solution="shards_measure_bubble"
def best_number(run):
    ### BEGIN SOLUTION
    best = min((2**power for power in range(9)), key=lambda m: run(m)[0])
    total, busy = run(best)
    stages = len(busy)
    return best, 1 - sum(busy) / (stages * total), (stages - 1) / (best + stages - 1)
    ### END SOLUTION


# %% check="shards_measure_bubble"
generator = check.rng()
costs = [float(each) for each in generator.integers(20, 60, size=5)]
machines = {
    "equal stages": machine([40.0] * 4, 0.25),
    "different stages": machine(costs, 0.5),
    "a slow first stage": machine([90.0, 30.0, 30.0], 1.0),
    "expensive micro-batches": machine([32.0] * 8, 6.0),
    "one stage": machine([50.0], 0.0),
    "free micro-batches": machine([40.0] * 3, 0.0),
}
calls = []


def counted(run):
    def once(m):
        calls.append(m)
        return run(m)

    return once


found = {name: best_number(counted(run)) for name, run in machines.items()}
check.show(
    {
        "costs": costs,
        **{f"{name}: micro-batches": int(best) for name, (best, *_) in found.items()},
        **{f"{name}: idle": float(idle) for name, (_, idle, _) in found.items()},
        **{f"{name}: formula": float(formula) for name, (*_, formula) in found.items()},
        "at most 120 calls": len(calls) <= 120,
    },
    rtol=1e-6,
    text="The best number of micro-batches for each machine, the share of time that is idle then, and what the formula says.",
)

# %% [markdown] hint="shards_measure_bubble"
# `min(numbers, key=...)` returns the first of several that are equally fast.

# %% [markdown] hint="shards_measure_bubble"
# There are p GPUs for the whole step, so their time is p times its duration. They work for `sum(busy)` of it.

# %% [markdown] hint="shards_measure_bubble"
# Idle is `1 - sum(busy) / (len(busy) * total)`, with the numbers of the best m. The formula needs p = `len(busy)` and that m.


# %% mutant="shards_measure_bubble"
# The fewest idle GPUs
# With more micro-batches less time is idle, but more is spent on their extra costs. Choose by the duration of the step.
def best_number(run):
    def idle(m):
        total, busy = run(m)
        return 1 - sum(busy) / (len(busy) * total)

    best = min((2**power for power in range(9)), key=idle)
    stages = len(run(best)[1])
    return best, idle(best), (stages - 1) / (best + stages - 1)


# %% mutant="shards_measure_bubble"
# Takes the formula for the measurement
# The formula holds only if all stages take equally long. A slow stage makes the others wait longer.
def best_number(run):
    best = min((2**power for power in range(9)), key=lambda m: run(m)[0])
    stages = len(run(best)[1])
    formula = (stages - 1) / (best + stages - 1)
    return best, formula, formula


# %% mutant="shards_measure_bubble"
# The idle time of one stage
# The stages are idle for different times. Compare all work with the time of all GPUs.
def best_number(run):
    best = min((2**power for power in range(9)), key=lambda m: run(m)[0])
    total, busy = run(best)
    stages = len(busy)
    return best, 1 - max(busy) / total, (stages - 1) / (best + stages - 1)


# %% mutant="shards_measure_bubble"
# Compares with the work
# The share refers to the GPUs' time, working and waiting together. Divided by the work alone, it can exceed 1.
def best_number(run):
    best = min((2**power for power in range(9)), key=lambda m: run(m)[0])
    total, busy = run(best)
    stages = len(busy)
    return best, stages * total / sum(busy) - 1, (stages - 1) / (best + stages - 1)


# %% mutant="shards_measure_bubble"
# The largest of equal ones
# If several are equally fast, return the smallest number.
def best_number(run):
    best = min((2**power for power in reversed(range(9))), key=lambda m: run(m)[0])
    total, busy = run(best)
    stages = len(busy)
    return best, 1 - sum(busy) / (stages * total), (stages - 1) / (best + stages - 1)
