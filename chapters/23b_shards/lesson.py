# %% [markdown]
# # Shards
# An interviewer names a model and a number of GPUs: what do you keep where, and what do you send? The lesson begins with this
# arithmetic and with the choice between DDP, FSDP, tensor and pipeline parallelism. Then your library shards the optimizer's state
# and the weights, until it trains a model that no single GPU holds in full, and you choose a mesh for 70 billion parameters on 64
# GPUs.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch("23b")  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Sixteen bytes per parameter
# A model in bfloat16 trains with Adam and float32 master weights ([chapter 22](22_mixed_precision.ipynb)). The next
# cell counts the bytes for each parameter on a simulated GPU, then deletes everything that belongs to the optimizer and
# runs forward and backward once more. What breaks?

# %% tags=["proof-sixteen"]
import numpy as np

from course import pictures

mytorch.cuda.simulate(4)
nn, distributed, parallel = mytorch.nn, mytorch.distributed, mytorch.nn.parallel


def a_model():
    mytorch.manual_seed(0)
    return nn.Sequential(*[each for _ in range(4) for each in (nn.Linear(256, 256), nn.Tanh())], nn.Linear(256, 1))


def report(when):
    model.zero_grad()
    loss = (model(x).float() ** 2).mean()
    loss.backward()
    print(f"{when} loss {loss.item():.4f}, {mytorch.cuda.memory_allocated(0) / count:.1f} bytes a parameter")


model, x = a_model().to("cuda:0", mytorch.bfloat16), mytorch.ones(2, 256, dtype=mytorch.bfloat16).cuda()
count = sum(each.numel() for each in model.parameters())
report("before a step:    ")
master = mytorch.amp.MasterWeights(model.parameters())
adam = mytorch.optim.Adam(master.copies, lr=1e-4)
master.step(adam), adam.zero_grad()
report("after a step:     ")
del master, adam
report("without optimizer:")

# %% [markdown] tags=["short"]
# Nothing breaks. Of 16 bytes, forward and backward need four, activations aside: two for the weight and two for its gradient. The
# other twelve, the master weight and Adam's two running means, are touched once a step, by the optimizer alone. Under DDP each GPU
# keeps all sixteen, although the twelve are the same on each.
#
# ## ZeRO stages 1, 2 and 3
# So why not share the twelve among the GPUs? That is **ZeRO**, the *zero redundancy optimizer*:
#
# - Stage 1 shards the optimizer's state.
# - Stage 2 shards the gradients as well: as soon as a bucket is reduced, each rank frees everything but its own shard.
# - Stage 3, which PyTorch calls FSDP, also shards the weights.
#
# For $n$ ranks, with everything sent in 16 bits:
#
# | | whole on each rank | bytes per parameter | a rank sends, times the weights |
# |---|---|---|---|
# | DDP | everything | 16 | 2(n − 1)/n |
# | ZeRO-1 | weights, gradients | 4 + 12/n | 2(n − 1)/n |
# | ZeRO-2 | weights | 2 + 14/n | 2(n − 1)/n |
# | ZeRO-3, FSDP | nothing | 16/n | 3(n − 1)/n |

# %% tags=["proof-stages"]
ranks = np.array([1, 2, 4, 8, 16, 32, 64])
kept = {"DDP": 16 + 0 * ranks, "ZeRO-1": 4 + 12 / ranks, "ZeRO-2": 2 + 14 / ranks, "ZeRO-3": 16 / ranks}
for billions, n in ((1, 3), (7, 3), (70, 3), (70, 6)):
    told = ", ".join(f"{name} {billions * each[n]:.1f} GB" for name, each in kept.items())
    print(f"{billions}B, {ranks[n]} ranks: {told}")
pictures.curves(kept, ranks, xlabel="ranks", ylabel="bytes a parameter", log="xy")

# %% [markdown] tags=["short"]
# **Interview · ZeRO 1, 2 and 3: how many bytes and how much traffic each?**
#
# - *Thirty seconds:* Of 16 bytes per parameter, stage 1 shards the 12 of the optimizer, stage 2 also the 2 of the gradients, and
#   stage 3 also the 2 of the weights. The first two send what DDP sends, while the third gathers the weights twice and therefore
#   sends half as much again.
# - *Longer:* An all-reduce is a reduce-scatter and an all-gather, and stages 1 and 2 take the optimizer's step between the two. Stage
#   3 needs an all-gather before forward, one before backward, and a reduce-scatter.
# - *They ask next:* What don't the stages shard? The activations, which need smaller micro-batches, checkpointing, or a sequence that
#   is split over ranks.
# - *The trap:* "ZeRO saves memory and costs traffic." Stage 1 costs none, provided that gradients are reduce-scattered instead of
#   all-reduced.
# - *Proof:* `proof-milestone`, `proof-halves`, `proof-timeline`.
#
# ## Which parallelism for which model?
# The memory of the state decides first, then the activations, and the network last. The rest of the lesson explains the rows of this
# table one by one:
#
# | the situation | what to use | what it costs |
# |---|---|---|
# | 16 bytes per parameter and the activations fit on each GPU | DDP | one all-reduce of the gradients, beside the backward pass |
# | the state doesn't fit, but each layer does | FSDP over all ranks | half as much traffic again |
# | one sequence doesn't fit on a GPU, or there are fewer sequences than GPUs | tensor parallelism inside a machine, beside FSDP | all-reduces that are hard to hide |
# | the network between machines is slow | pipeline stages between machines, or HSDP | a bubble, or more memory |
# | very long sequences | context parallelism | keys and values around a ring |
# | a mixture of experts | expert parallelism | all-to-alls, and a load to balance |
#
# **Interview · DDP or FSDP for a model with 1, 7 or 70 billion parameters?**
#
# - *Thirty seconds:* At 16 bytes per parameter, 1 billion parameters take 16 GB, so DDP is enough. 7 billion take 112 GB, more than a
#   GPU of 80 GB has: ZeRO-1 on eight GPUs needs 39 GB on each, FSDP 14. 70 billion need 1,120 GB, of which FSDP over 64 GPUs keeps 18
#   on each.
# - *Longer:* To these numbers I add the activations and whichever layers are currently gathered, which can fill the rest of an 80 GB
#   GPU.
# - *They ask next:* Why not always FSDP? It sends half as much again as DDP, and each layer has to wait for its weights unless the
#   gather is hidden.
# - *The trap:* Don't count only the weights. 7 billion in bfloat16 are 14 GB, and training needs eight times that.
# - *Proof:* `proof-stages`, `proof-timeline`.

# %% [markdown]
# ## Partition the optimizer's state
# How does stage 1 work? In its smallest form, each rank's optimizer gets only some of the parameters, and after the step the rank
# that updated a parameter broadcasts it to the others:


# %% tags=["proof-toy"]
def losses(model, step, x, y, steps=8):
    found = []
    for _ in range(steps):
        model.zero_grad()
        loss = ((model(x).float() - y) ** 2).mean()
        loss.backward()
        step()
        found.append(loss.item())
    return found


def toy(rank):
    parameters = list(models[rank].parameters())
    adam = mytorch.optim.Adam(parameters[rank::4], lr=1e-4)

    def step():
        parallel.distributed.average_gradients(parameters)
        adam.step()
        for number, each in enumerate(parameters):
            distributed.broadcast(each, number % 4)

    last = losses(models[rank], step, x[rank::4], y[rank::4])[-1]
    return last / 4, sum(each.numel() for each in parameters[rank::4]), distributed.bytes_sent() / 8


x, y, models = mytorch.rand(16, 256), mytorch.ones(16, 1), [a_model() for _ in range(5)]
alone = losses(models[4], mytorch.optim.Adam(models[4].parameters(), lr=1e-4).step, x, y)
dealt, owned, sent = zip(*distributed.spawn(toy, nprocs=4), strict=True)
print(f"last loss on one device {alone[-1]:.3f}, mean over four ranks {sum(dealt):.3f}")
print(f"sent by all: {sum(sent) / count / 4:.1f} times the weights; shares:", [f"{each / count:.2f}" for each in owned])

# %% [markdown]
# The loss is the same, and each rank keeps only a part of the state.
#
# ### Break it: whole parameters make uneven shares
# Two ranks keep half of the state each, while the other two keep little more than biases. However you partition whole parameters, the
# largest matrix stays on one rank. Together the ranks also send nine times the weights, six for the averages and three for the
# broadcasts.
#
# ## Reduce-scatter, step, all-gather
# [Chapter 23](23_multi_gpu.ipynb) built an all-reduce from a reduce-scatter and an all-gather. Between these two
# halves, each rank has the complete gradient of one chunk, which is all that its optimizer needs if it owns just that
# chunk of the weights. The optimizer can therefore take its step between the halves, and the ranks all-gather *weights*
# instead of gradients:


# %% tags=["proof-halves"]
def halves(rank):
    gradients, weights = [[mytorch.full((1,), start) for _ in range(4)] for start in (rank + 1.0, 50.0)]
    distributed.reduce_scatter_ring(gradients)
    first = distributed.bytes_sent()
    weights[rank] -= gradients[rank]  # the optimizer's step, with a rate of 1
    seen = [mytorch.cat(gradients).tolist(), mytorch.cat(weights).tolist()]
    distributed.all_gather_ring(weights)
    return [*seen, mytorch.cat(weights).tolist()], (first, distributed.bytes_sent() - first)


tables, sent = zip(*distributed.spawn(halves, nprocs=4), strict=True)
print("bytes of 16 that a rank sends in each half:", sent[0])
names, own = ("gradients, reduce-scattered", "weights after the step", "weights, all-gathered"), np.eye(4, dtype=bool)
pictures.grids(*[(name, np.array(tables, dtype=int)[:, n], own) for n, name in enumerate(names)])

# %% [markdown]
# A row is a rank, a column is a chunk, and each rank's own chunk is marked. Only there is the sum 1 + 2 + 3 + 4 complete. A rank
# sends 12 of 16 bytes in each half, as it does in an all-reduce, so sharding the optimizer's state costs no traffic.

# %% [markdown] given="mytorch.nn.parallel.sharding:ZeroRedundancyOptimizer"
# ### `ZeroRedundancyOptimizer` in `mytorch`
# To make the shares even, *every parameter* is split into equal shards. In exercise 2 you write the split, the reduce-scatter, the
# all-gather and the step. The float32 copies of this rank's shards, which serve as master weights, are provided.

# %% [markdown]
# ### Milestone: seven bytes instead of sixteen
# Four simulated GPUs train in bfloat16, once under DDP with master weights, once with your `ZeroRedundancyOptimizer`, which is ZeRO's
# first stage. The folded cell measures: it prints the loss, the bytes per parameter that one GPU holds after the last step, the peak,
# and what it sent in a step as a multiple of the weights. The curves show the memory in use at each layer of the last step:


# %% hidden=true
def trained(scheme, dtype, steps=5):
    mytorch.cuda.simulate(4)
    models = [a_model().to(dtype) for _ in range(4)]

    def job(rank):
        def sample(*_):
            timeline.append(mytorch.cuda.memory_allocated(rank) / count)

        mytorch.cuda.set_device(rank)
        model, timeline = models[rank].cuda(), []
        run, step = scheme(model)
        for layer in model:
            layer.register_forward_pre_hook(sample)
            layer.register_forward_hook(lambda _, args, result: result.register_hook(sample) and None)
        found = losses(run, step, x[rank::4].cuda().to(dtype), y[rank::4].cuda(), steps)
        memory = mytorch.cuda.State.gpus.memory(rank)
        numbers = memory["allocated"], memory["max_allocated"], distributed.bytes_sent() / steps / dtype.itemsize
        return np.array(found) / 4, timeline[-18:], np.array(numbers) / count

    found, timelines, numbers = zip(*distributed.spawn(job, nprocs=4), strict=True)
    (after, peak, sent), loss = numbers[1], sum(found)
    print(f"{scheme.__name__:14} loss {loss[0]:.2f} to {loss[-1]:.2f}; {after:4.1f}, peak {peak:4.1f}; sent {sent:.2f}")
    return timelines[1]


# %% tags=["proof-milestone"]
def ddp(model):
    master = mytorch.amp.MasterWeights(model.parameters())
    adam = mytorch.optim.Adam(master.copies, lr=1e-4)
    return parallel.DistributedDataParallel(model, bucket_cap_mb=0.1), lambda: (master.step(adam), adam.zero_grad())


def zero(model):
    return model, parallel.ZeroRedundancyOptimizer(model.parameters(), mytorch.optim.Adam, lr=1e-4).step


lines = {each.__name__: trained(each, mytorch.bfloat16) for each in (ddp, zero)}
pictures.curves(lines, xlabel="layers", ylabel="bytes a parameter in use", marks={"forward": 1, "backward": 9.5})

# %% [markdown]
# The losses agree, not one byte more is sent, and seven bytes per parameter are left: two, two, and a quarter of twelve. The curves
# are parallel, because the backward pass still builds up whole gradients. DDP's peak isn't on its curve, because it comes from the
# optimizer's temporary memory after the backward pass.
#
# ## FSDP: gather, use, free
# A layer's weights are needed twice in a step, for a moment each time. PyTorch's `fully_shard` makes use of that: a module keeps only
# its shards, and hooks gather the whole weights before its forward and its backward pass and free them after each. A reduce-scatter
# gives each shard its gradient.

# %% [markdown] given="mytorch.nn.parallel.sharding:Gathered mytorch.nn.parallel.sharding:SavedView mytorch.nn.parallel.sharding:fully_shard"
# ### `fully_shard` in `mytorch`
# You write `FSDPParam` in exercise 3. The hooks are provided, and so is the solution to a problem that is easy to miss: the graph
# saves the weight for the backward pass, which would keep the whole weight in memory after all. `SavedView` therefore takes the place
# of `Rules.kept`, the class in which [chapter 07](07_backward_in_depth.ipynb)'s graph stores a saved tensor. It stores only the strides of a
# gathered weight, and looks its memory up again once the hook before the backward pass has gathered it:

# %% [markdown]
# ### Milestone: no GPU holds the model
# The next cell trains in float32, where the 16 bytes are 4 for the weight, 4 for the gradient and 8 for Adam. It compares replicas,
# `fully_shard` on the whole model, and `fully_shard` on each layer first.


# %% tags=["proof-timeline"]
def replicas(model):
    adam = mytorch.optim.Adam(model.parameters(), lr=1e-4)
    return parallel.DistributedDataParallel(model, bucket_cap_mb=0.1), adam.step


def whole_model(model):
    return parallel.fully_shard(model), mytorch.optim.Adam(model.parameters(), lr=1e-4).step


def layer_by_layer(model):
    for layer in model:
        parallel.fully_shard(layer)
    return whole_model(model)


print(f"one device     loss {alone[0]:.2f} to {alone[4]:.2f}")
lines = {each.__name__: trained(each, mytorch.float32) for each in (replicas, whole_model, layer_by_layer)}
pictures.curves(lines, xlabel="layers", ylabel="bytes a parameter in use", marks={"forward": 1, "backward": 9.5})

# %% [markdown]
# Sixteen bytes become four, and the loss is that of one device. Layer by layer, the curve rises at each layer that has weights and
# falls after it. `whole_model` gathers everything at once, which is why its curve is high in both passes, and frees it only between
# them. With 80 layers instead of five, the two peaks would lie much farther apart.
#
# **Myth** · "FSDP is model parallelism." Each rank computes whole layers on its own rows, so it is data parallelism with sharded storage.
#
# ### reshard_after_forward, and what PyTorch gathers
# PyTorch has a switch for what happens between the passes. These are its collectives in one step of a model with four layers, on two
# ranks or, in the last line, four:
#
# | call | all-gathers | reduce-scatters |
# |---|---|---|
# | `fully_shard(model)` | 1 | 1 |
# | `fully_shard(model, reshard_after_forward=True)` | 2 | 1 |
# | each layer, then the model | 8 | 4 |
# | the same with `reshard_after_forward=False` | 4 | 4 |
# | each layer, then the model, on a mesh (replicate, shard) | 8 | 4, and 4 all-reduces |
#
# By default the outermost group keeps its weights until the backward pass. So `fully_shard(model)` alone sends what DDP sends and
# holds the whole model at the peak; `mytorch` frees it and sends 2.25 times the weights. In PyTorch a parameter still looks complete:
# it is a **DTensor**, whose `shape` and `numel()` are those of the whole, while `to_local()` gives the shard. In `mytorch` the
# parameter is the shard.
#
# **Interview · What does `reshard_after_forward` do?**
#
# - *Thirty seconds:* It decides whether a group of parameters is freed after its forward pass. With True, which is the default for
#   all groups but the outermost, the weights are gathered twice in a step and memory is low. With False they stay until the backward
#   pass, so they are gathered once and the traffic is that of DDP.
# - *Longer:* False corresponds to ZeRO-2. An integer shards the weights between the passes over a smaller group, for instance the
#   GPUs of one machine, so that the second gather uses fast links only.
# - *They ask next:* What is a `MixedPrecisionPolicy`? With `param_dtype=torch.bfloat16` and `reduce_dtype=torch.float32` the shards
#   stay in float32, each gather sends 2 bytes for a parameter, and each reduce-scatter 4.
# - *They ask next:* How does it differ from the older `FullyShardedDataParallel` (FSDP1)? That class flattened a module's
#   parameters into one tensor and sharded that. `fully_shard`, also called FSDP2, keeps each parameter as a DTensor of its own, so
#   names, dtypes and frozen parameters stay what they were.
# - *The trap:* A single call of `fully_shard(model)` makes one group, so everything is gathered at once. Shard each block first,
#   and then the model.
# - *Proof:* `proof-timeline`, `proof-stages`.
#
# ## Tensor parallelism: column, then row
# A single matrix multiplication can be split too, which is called **tensor parallelism**. Give each rank some columns of an MLP's
# first matrix and the matching rows of the second. Each rank then computes some of the hidden units, and the results add up. Does it
# work the other way round?

# %% tags=["proof-column-row"]
gelu = nn.functional.gelu
h, up, down = mytorch.randn(2, 4), mytorch.randn(8, 4), mytorch.randn(4, 8)
by_columns = sum(gelu(h @ a.T) @ b.T for a, b in zip(up.chunk(4), down.chunk(4, 1), strict=True))
by_rows = sum(gelu(part @ a.T) @ down.T for part, a in zip(h.chunk(4, 1), up.chunk(4, 1), strict=True))
results = {"one device": gelu(h @ up.T) @ down.T, "columns, then rows": by_columns, "rows first": by_rows}
for name, out in results.items():
    print(f"{name:18}", [f"{each:.2f}" for each in out[0].tolist()])

# %% [markdown]
# Rows first is wrong, because each rank then has a *summand* of each hidden unit, and GELU of a sum isn't the sum of
# GELUs. You would need another all-reduce before it. `Linear` stores the transposed matrix, so the columns are rows of
# `weight`. PyTorch calls the two splits `ColwiseParallel` and `RowwiseParallel`.

# %% [markdown] given="mytorch.distributed:CopyToRanks mytorch.distributed:SumOverRanks"
# ### All-reduces in the forward and the backward pass
# The forward pass adds up the results of all ranks. The input goes to all ranks, so the backward pass adds up *its gradients*. These
# two functions mirror each other:


# %% tags=["proof-conjugate"]
def slope(rank, copied):
    leaf = mytorch.ones(1, requires_grad=True)
    inside = distributed.CopyToRanks.apply(leaf) if copied else leaf
    (distributed.SumOverRanks.apply(inside * (rank + 1.0))).backward()  # 1x + 2x + 3x + 4x
    return leaf.grad.item()


for copied in (False, True):
    print(f"gradient of 10x on each rank, {copied=}:", distributed.spawn(slope, (copied,), nprocs=4))

# %% [markdown]
# Without `CopyToRanks` each rank has only the derivative of its own summand; with it, each has that of the sum, 10.
#
# **Interview · Why column, then row?**
#
# - *Thirty seconds:* A column split leaves each rank with complete hidden units, so the nonlinearity needs no communication, and a
#   row split of the next matrix takes those as they are. The whole MLP needs one all-reduce in the forward pass and one in the
#   backward pass.
# - *Longer:* In attention the heads are the columns: queries, keys and values are split by columns, the output matrix by rows.
# - *They ask next:* What about the bias of the second layer? It must be added once, not once on each rank.
# - *The trap:* The ranks of one layer belong on one machine. Both all-reduces are on the critical path of every block, so
#   the slow network would stop everything.
# - *Proof:* `proof-column-row`, `proof-conjugate`.
#
# ## Sequence, context and expert parallelism
# Three more splits are common in language models. None of them needs a new idea, because each splits another dimension:
#
# | | splits | a rank sends |
# |---|---|---|
# | sequence, beside tensor parallelism | norms and residuals, by position | the same bytes: each all-reduce becomes a reduce-scatter and an all-gather |
# | context | all activations, by position | keys and values around a ring, in each attention layer |
# | expert | the experts of a mixture | each token to its experts and back: two all-to-alls forward, two backward |
#
# Attention over a ring is possible because partial results of attention can be [merged](22b_memory.ipynb).
#
# **Interview · Sequence, context and expert parallelism: what does each split and send?**
#
# - *Thirty seconds:* Sequence parallelism splits the activations that tensor parallelism leaves whole and sends no more bytes, while
#   context parallelism splits a long sequence in all layers, so attention passes keys and values around. Expert parallelism gives
#   each rank some experts, and an all-to-all sends each token to its experts and back.
# - *Longer:* The first two save activations, while the third splits weights. In PyTorch, an MLP whose two layers are split made 2
#   all-reduces in a step; with `SequenceParallel` and a norm in front, it made 2 all-gathers and 2 reduce-scatters. Experts are often
#   combined with FSDP for the rest of the model. Context parallelism has a second form, *Ulysses*: instead of a ring, an all-to-all
#   before attention exchanges positions for heads, and another one after it exchanges them back, so there may be no more ranks than
#   heads.
# - *They ask next:* What is hard about expert parallelism? Balancing the load: all ranks wait for the one with the most popular expert.
# - *The trap:* Short sequences don't need context parallelism: a batch can be split without any traffic in attention.
# - *Proof:* the sums: `proof-conjugate`; a mixture of experts: [chapter 24c](24c_mixture_of_experts.ipynb).
#
# ## Clipping sharded gradients
# Gradients are clipped by the norm of all of them together. Here each of two ranks has a shard of one gradient, (3, 4), and clips it
# to norm 1:


# %% tags=["proof-clip"]
def clipped(rank, gradients):
    weight = mytorch.zeros(len(gradients[rank]), requires_grad=True)
    weight.grad = mytorch.tensor(gradients[rank])
    norm = nn.utils.clip_grad_norm_([weight], max_norm=1.0)
    return f"norm {norm.item():.1f}, clipped {', '.join(f'{each:.1f}' for each in weight.grad.tolist())}"


print("two ranks: ", distributed.spawn(clipped, ([[3.0], [4.0]],), nprocs=2))
print("one device:", distributed.spawn(clipped, ([[3.0, 4.0]],)))

# %% [markdown]
# Each rank divided its shard by its own norm, so the direction changed from (3, 4) to (1, 1). The norm of the whole
# gradient is 5, and to find it, the ranks have to add up their squares, which takes an all-reduce of a single number.
#
# **Interview · How do you clip gradients that are sharded?**
#
# - *Thirty seconds:* Each rank adds up the squares of its shards, and an all-reduce adds up the sums of all ranks. The
#   root of the result is the norm of the whole gradient, so all ranks scale their shards by the same factor.
# - *Longer:* After `fully_shard`, the usual `torch.nn.utils.clip_grad_norm_` does this, since the gradients are DTensors that carry
#   their mesh.
# - *They ask next:* What about parameters that every rank has whole, such as norms under tensor parallelism? Their squares count once.
# - *The trap:* Clipping by local norms raises no error, but it changes the direction, and a rank whose shard is small doesn't clip
#   at all.
# - *Proof:* `proof-clip`.
#
# ## Pipeline parallelism and its bubble
# The last way to split a model is by depth: rank 0 has the first layers, rank 1 the next ones. With one batch only one rank works at
# a time, and the time in which the others wait is the **bubble**. It shrinks when the batch is split into micro-batches. Each rank is
# a stream, as in [chapter 05](05_devices.ipynb), and waits for events of its neighbours. Move the slider; the gaps are the bubble:


# %% tags=["proof-bubble"]
def pipeline(stages, batches):
    free, work = [0] * stages, []
    for length, path in ((1, range(stages)), (2, range(stages)[::-1])):
        for _ in range(batches):
            event = 0  # when the neighbour is done with this micro-batch
            for stage in path:
                start = max(free[stage], event)
                free[stage] = event = start + length
                work.append((stage, start, length))
    return work, 1 - sum(length for *_, length in work) / (stages * max(free))


for batches in (1, 4, 12, 32):
    idle = f"GPipe {pipeline(4, batches)[1]:.3f} (by the formula {3 / (batches + 3):.3f})"
    more = f"interleaved {3 / (2 * batches + 3):.3f}, zero bubble {1 / (batches + 1):.3f}"
    print(f"idle with micro-batches {batches:2}: {idle}, {more}")


def draw(batches):
    ax, (work, idle) = pictures.axes(6.0, 2.0), pipeline(4, batches)
    for stage, start, length in work:
        ax.broken_barh([(start, length)], (stage - 0.4, 0.8), fc=["#0072b2", "#e69f00"][length - 1], ec="white")
    ax.set(xlabel="time (blue: forward, 1; orange: backward, 2)", ylabel="stage", yticks=range(4), ylim=(3.6, -0.6))
    return pictures.publish(ax, alt=f"Four stages, {batches} micro-batches: idle {idle:.0%} of the time.")


pictures.slider(draw, start={"batches": 4}, batches=[1, 2, 4, 8, 16])

# %% [markdown]
# **Interview · How large is the bubble of a pipeline?**
#
# - *Thirty seconds:* It is (p − 1)/(m + p − 1) of the time, for p stages and m micro-batches, if all stages take equally long. With
#   four times as many micro-batches as stages, it is less than a fifth.
# - *Longer:* This order is GPipe's, in which each stage keeps the activations of all m micro-batches. `Schedule1F1B` starts a
#   micro-batch's backward pass as soon as it can, so a stage keeps at most p of them, while the bubble stays the same.
# - *They ask next:* How do schedules shrink it? An *interleaved* schedule gives each rank v shorter stages, so the bubble is (p −
#   1)/(v·m + p − 1) at v times the traffic. A *zero-bubble* schedule splits the backward pass: the gradient of the input is passed on
#   at once, and that of the weights fills the gaps. Its simple form leaves a third of the bubble. Both formulas need at least p
#   micro-batches.
# - *The trap:* The formula isn't a law: it assumes equal stages, and the last stage also computes the logits.
# - *Proof:* `proof-bubble`.
#
# ## Overlapping communication with computation
# FSDP gathers the next layer while the GPU computes this one. For each parameter, the forward pass takes two FLOPs per token, and
# gathering in bfloat16 takes two bytes. So the layer's size cancels, and only the number of tokens per rank matters. Take a GPU that
# reaches 400 TFLOP/s. It may receive 400 GB/s, over NVLink or in a machine with a fast network card for each of its eight GPUs, or 50
# GB/s, if all eight share one such card:

# %% tags=["proof-hidden"]
speed, network = 4e14, {"400 GB/s": 4e11, "50 GB/s": 5e10}
tokens, exposed = 2 ** np.arange(8, 16), {}
for name, width in network.items():
    gathering, computing = 2 / width, 2 * tokens / speed
    exposed[name] = 100 * np.maximum(gathering - computing, 0) / np.maximum(gathering, computing)
    print(f"at {name}: hidden from {speed / width:,.0f} tokens per rank")
pictures.curves(exposed, tokens, xlabel="tokens per rank", ylabel="GPU waits (% of the time)", log="x")

# %% [markdown]
# **Interview · When is communication hidden?**
#
# - *Thirty seconds:* Communication is hidden when the GPU has other work that takes at least as long. DDP averages a bucket of
#   gradients during the rest of the backward pass, and FSDP gathers a layer while the layer before it is computed.
# - *Longer:* With FSDP in bfloat16, the tokens per rank must be at least the FLOPs per second divided by the bytes per second, here
#   1,000 or 8,000. The backward pass doubles computation and traffic alike, but with gradients reduced in float32 its traffic
#   triples.
# - *They ask next:* What is hard to hide? The first gather, the last reduce-scatter, and tensor parallelism's all-reduces, whose
#   results are needed at once.
# - *The trap:* Adding ranks by shrinking the batch on each, which leaves the traffic of a rank as it is and takes away the work that
#   hides it.
# - *Proof:* `proof-hidden`.
#
# ## Device meshes: 70 billion parameters on 64 GPUs
# Real runs combine these splits. A **device mesh** arranges the ranks in a grid, and each dimension of the grid is a
# set of process groups. In PyTorch, `init_device_mesh("cuda", (8, 8), mesh_dim_names=("dp", "tp"))` makes the grid, and
# `mesh["tp"]` goes to `parallelize_module`, `mesh["dp"]` to `fully_shard`. The last dimension has neighbouring ranks,
# so a row of 8 is one machine. With two dimensions (replicate, shard), `fully_shard` does **HSDP**, hybrid sharding:
# each row shards the model, and an all-reduce between the rows averages each shard's gradient.
#
# The next cell estimates memory and traffic for 80 layers of width 8,192, one sequence of 8,192 tokens for each tensor-parallel
# group, and a checkpoint at each layer. A GPU gets 400 GB/s inside its machine and 50 GB/s from a card of its own:

# %% tags=["proof-mesh"]
mesh = np.arange(64).reshape(8, 8)
print("mesh (dp 8, tp 8): rank 10 shares layers with", mesh[1].tolist(), "and shards with", mesh[:, 2].tolist())
size, depth, wide, length, vocabulary = 70e9, 80, 8192, 8192, 128_256


def plan(replicas, shards, tp, cards=8):
    state, gathered = 16 * size / shards / tp, 4 * size / depth / tp  # two layers at a time, in bfloat16
    inputs, layer, logits = 2 * depth * length * wide, 34 * length * wide, 8 * length * vocabulary
    memory = state + gathered + (inputs + layer + logits) / tp
    computing = 8 * size * length / tp / speed  # forward, forward again, backward
    links = 4e11 if shards * tp == 8 else 5e10 * cards  # inside a machine, or into it
    sharding = 8 * size / links  # two gathers in bfloat16, a reduce-scatter in float32
    averaging = 2 * (replicas - 1) / replicas * 4 * size / shards / tp / (5e10 * cards / 8)  # of a shard's gradient
    tensor = 6 * depth * 2 * (tp - 1) / tp * 2 * length * wide / 4e11  # all-reduces of activations
    traffic = f"FSDP {sharding:4.1f} s, replicas {averaging:3.1f} s, TP {tensor:3.1f} s"
    return f"{memory / 1e9:4.0f} GB; computes {computing:4.1f} s; {traffic}"


for name, *grid in (("HSDP 8 × 8", 8, 8, 1), ("HSDP 2 × 32", 2, 32, 1), ("FSDP 64", 1, 64, 1), ("FSDP × TP", 1, 8, 8)):
    print(f"{name:11} {plan(*grid)}")
print(f"FSDP 64, eight GPUs share a card: {plan(1, 64, 1, cards=1)}")

# %% [markdown] tags=["short"]
# HSDP with 8 shards doesn't fit, because a rank would keep an eighth of 1,120 GB. HSDP 2 × 32 fits with 60 GB and pays 0.2 seconds
# for averaging its two replicas. In return each gather has 32 members instead of 64, which begins to matter when thousands of ranks
# wait for each other's latency. FSDP over all 64 needs the least memory of the three, and its traffic hides behind a computation that
# takes eight times as long. Tensor parallelism halves the memory, but with one sequence for eight GPUs the computation is as short as
# the traffic, and its all-reduces can't be hidden. These are estimates with round numbers, so measure before you decide.
#
# **Interview · 70 billion parameters on 64 GPUs of 80 GB: which mesh?**
#
# - *Thirty seconds:* I count first. 16 bytes per parameter are 1,120 GB, so 18 GB on each GPU if everything is sharded over 64; with
#   checkpointed activations and logits it is about 42 GB. So I begin with FSDP over all 64 GPUs, with each block as a group of its own and one
#   sequence of 8,192 tokens per GPU, and check that the traffic is hidden.
# - *Longer:* Each step gathers twice in bfloat16 and reduces in float32, which is 8 bytes per parameter, or 560 GB. With a 50 GB/s
#   card for each GPU, a machine receives 400 GB/s, which makes 1.4 seconds against 11.5 of computing. If eight GPUs share one card,
#   it takes 11 seconds, and everything would have to overlap perfectly. HSDP 2 × 32 adds 0.2 seconds for the all-reduce between
#   replicas.
# - *They ask next:* When do you add tensor parallelism? When one sequence doesn't fit on a GPU, or when 64 sequences a step are too
#   many. It stays inside a machine. Pipeline stages come next, between machines with a slow network, and context parallelism for very
#   long sequences.
# - *The trap:* Don't start with all dimensions at once. Each costs efficiency and code, so the simplest mesh that fits and
#   hides its traffic is best.
# - *Proof:* `proof-mesh`, `proof-hidden`, `proof-stages`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Of the 16 bytes per parameter in mixed precision with Adam, which are used by the optimizer alone? Twelve: 4 for the master weight
#    and 8 for the two running means.
# 2. Does ZeRO-1 send more than DDP? No, the same.
# 3. How often does FSDP gather a layer in a step? Twice with `reshard_after_forward=True`, once with False.
# 4. What does `model.parameters()` yield after `fully_shard`? DTensors of the whole shape, whose `to_local()` returns the shard.
# 5. Which of an MLP's two layers does tensor parallelism split by columns? The first; the second is split by rows.

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Of 16 bytes per parameter, 2 are the weight, 2 the gradient, and 12 belong to the optimizer.
# 2. ZeRO-1 reduce-scatters, takes its step on a shard and all-gathers, with no more traffic than DDP.
# 3. FSDP gathers, uses and frees a layer twice a step, keeps 16/n bytes, and sends half as much again as DDP.
# 4. Shard each block, then the model; the outermost group keeps its weights by default.
# 5. FSDP shards the storage and computes whole layers; tensor parallelism splits the computation of each layer.
# 6. Tensor parallelism splits columns, then rows, with one all-reduce forward and one backward, inside a machine.
# 7. The norm for clipping is the root of a sum of squares over all ranks.
# 8. The bubble is (p − 1)/(m + p − 1) of the time; interleaving and zero-bubble schedules shrink it.
# 9. FSDP's traffic is hidden when each rank has enough tokens, namely FLOP/s divided by bytes/s.
# 10. Begin with FSDP over all ranks, and add a dimension to the mesh when memory or the batch demands it.
#
# ## You try
# [The exercises](../exercises/23b_shards.ipynb): predict bytes; write the ZeRO step and a fully sharded parameter; build a
# tensor-parallel MLP; fix clipping; measure a pipeline. In [chapter 24](24_capstone.ipynb), everything you've written runs together.

# %% [markdown]
# ## If you have time
# ### Sharded checkpoints
# After five steps on four ranks, each rank saves its shards. Can two ranks resume from these files?

# %% tags=["proof-checkpoint"]
import io

models, resumed = [a_model() for _ in range(4)], [a_model() for _ in range(2)]


def save(rank):
    losses(*layer_by_layer(models[rank]), x[rank::4], y[rank::4], 5)
    mytorch.save(models[rank].state_dict(), file := io.BytesIO())
    return file.getvalue()


def resume(rank):
    model, parts = resumed[rank], [mytorch.load(io.BytesIO(file)) for file in files]
    whole = {name: mytorch.cat([part[name] for part in parts]) for name in parts[0]}
    model.load_state_dict({name: whole[name].view(each.shape) for name, each in model.named_parameters()})
    return losses(*layer_by_layer(model), x[rank::2], y[rank::2], 1)[0] / 2


files = distributed.spawn(save, nprocs=4)
print("saved by rank 0:", {name: each.shape[0] for name, each in mytorch.load(io.BytesIO(files[0])).items()})
print(f"loss before step 6: one device {alone[5]:.3f}, two ranks {sum(distributed.spawn(resume, nprocs=2)):.3f}")

# %% [markdown]
# **Interview · How do you save a model that no rank has?**
#
# - *Thirty seconds:* Each rank writes its shards, in parallel, together with a description of which part of which tensor they are.
#   When a run resumes, each rank reads the pieces that it needs, even if the number of ranks has changed.
# - *Longer:* `torch.distributed.checkpoint` does that, also in the background (`async_save`), while a full state dict
#   is gathered for export only, to the CPU of rank 0.
# - *They ask next:* How is the optimizer's state saved? The same way: each state tensor has the shape of its shard.
# - *The trap:* Under FSDP, `if rank == 0: torch.save(model.state_dict(), path)` saves only rank 0's shards.
#   Gathering under that `if` hangs, because the other ranks never join.
# - *Proof:* `proof-checkpoint`, `proof-processes`.
#
# ### ZeroRedundancyOptimizer in real processes
# PyTorch has a `ZeroRedundancyOptimizer` too, and so does minitorch. This [script](files/two_shards.py) trains with it in two
# processes and collects the state at the end. PyTorch prints the same when you run the script under `torchrun`.

# %% tags=["proof-processes"]
import subprocess
import sys

command = [
    sys.executable,
    "-m",
    "minitorch.distributed.run",
    "--standalone",
    "--nproc-per-node=2",
    "files/two_shards.py",
]
print(subprocess.run(command, capture_output=True, text=True, check=True).stdout, end="")

# %% [markdown]
# How did 41 parameters become 24 and 17? The function that deals them out is this:

# %%
import inspect

from minitorch.distributed.optim import ZeroRedundancyOptimizer

print(inspect.getsource(ZeroRedundancyOptimizer._partition))

# %% [markdown]
# It partitions whole parameters, as the toy did, but deals out the largest first. After the step the owners broadcast,
# and since it is used on top of DDP, it sends as much as the toy sent. PyTorch's `fully_shard` splits each parameter
# along its first dimension, so that a shard is a matrix again, while yours splits the flattened elements. minitorch has
# no FSDP.
#
# ### A parameter without a gradient
# If no rank used a parameter, as with a frozen or an unused layer, its gradient is None on all of them, and PyTorch's `fully_shard`,
# `ZeroRedundancyOptimizer` and `clip_grad_norm_` skip it, as your `step` does. If only *some* ranks used it, the others never join
# the reduce-scatter: with PyTorch 2.13, two ranks of which one used a layer waited until the timeout.
