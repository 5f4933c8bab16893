# %% [markdown]
# # Where the memory goes
# After this chapter your own library trains a network in a quarter of the memory, computes attention over thousands of positions without
# storing the matrix of scores, and keeps weights in 8 bits. You will be able to say where each byte of a training step is, what it costs to
# do without it, and whether a kernel is limited by arithmetic or by memory bandwidth.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch("22b")  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## The same gradients in less than half of the memory
# Twelve blocks run forward and backward on a simulated GPU, which counts the bytes of its tensors. Then they do it again, each block inside
# `checkpoint`, which is explained below. How far apart are the two peaks, and the two gradients?

# %% tags=["proof-surprise"]
import minitorch as torch
from course import pictures
from minitorch.utils.checkpoint import checkpoint


def step(library, run, pieces=1, p=0.0):
    library.manual_seed(0)
    nn, start = library.nn, library.cuda.memory_allocated()
    layers = [(nn.Linear(128, 512), nn.GELU(), nn.Dropout(p), nn.Linear(512, 128)) for _ in range(12)]
    blocks = [nn.Sequential(*part).cuda() for part in layers]
    library.cuda.reset_peak_memory_stats()
    for h in library.randn(1024, 128).cuda().requires_grad_().chunk(pieces):
        for block in blocks:
            h = h + run(block, h)
        (h.square().mean() / pieces).backward()
    peak = library.cuda.max_memory_allocated() - start >> 20
    return peak, library.cat([parameter.grad.flatten() for block in blocks for parameter in block.parameters()]).cpu()


torch.cuda.simulate(1)
peak, plain = step(torch, lambda block, h: block(h))
peak_again, again = step(torch, lambda block, h: checkpoint(block, h, use_reentrant=False))
print(f"peak {peak} MB, with checkpoints {peak_again} MB; gradients that differ:", (plain != again).sum().item())

# %% [markdown] tags=["short"]
# The gradients are equal bit for bit, although the peak is less than half as high. That can't be free, and you will count what it costs, but first
# you need to know what fills the memory.
#
# ## Four things that fill the memory
# Put a model on the GPU, run a step with Adam, and read the counter after each line:

# %% tags=["proof-sixteen"]
import numpy as np

mytorch.cuda.simulate(1)
used, nn = mytorch.cuda.memory_allocated, mytorch.nn
marks, model = [used()], nn.Linear(1024, 1024, bias=False).cuda()
marks.append(used())
model(mytorch.randn(8, 1024).cuda()).sum().backward()
marks.append(used())
optimizer = mytorch.optim.Adam(model.parameters())
optimizer.step()
marks.append(used())
print("bytes a parameter: weight {:.0f}, gradient {:.0f}, Adam {:.0f}".format(*np.diff(marks) / 2**20))
for rows in (8, 64, 512):
    before, out = used(), model(mytorch.randn(rows, 1024).cuda()).exp()
    print(f"activations of {rows:3} rows: {(used() - before) >> 10:5} KB")

# %% [markdown]
# Weights, gradients and Adam's two averages take 16 bytes per parameter, whatever the batch size is. **Activations**, the intermediate results
# that the backward pass needs, grow with the batch.
#
# **Interview · How much memory does training 7B parameters with AdamW take?**
#
# - *Thirty seconds:* 16 bytes per parameter: 4 for the weight, 4 for the gradient and 8 for Adam's two averages. That makes 112 GB before
#   the first activation, so one GPU with 80 GB isn't enough.
# - *Longer:* In mixed precision it is often 16 again: 2 bytes for a bfloat16 weight, 2 for its gradient, 4 for the master weight ([chapter
#   22](22_mixed_precision.ipynb)) and 8 for Adam. A float32 gradient for accumulation adds 4. Without master weights it is only 8, because PyTorch's
#   Adam keeps its averages in the weight's dtype, but then small steps are lost.
# - *They ask next:* How much does inference in bfloat16 take? 2 bytes per parameter, so 14 GB, plus a [cache of keys and
#   values](proof-estimates) that grows with the text.
# - *The trap:* Don't forget the activations, which are the largest part when the context is long.
# - *Proof:* `proof-sixteen`.

# %% [markdown] given="mytorch.utils.instruments:instrument mytorch.utils.instruments:flops"
# ## Three instruments
# In [chapter 08](08_static_and_dynamic_graphs.ipynb) you counted bytes with an **instrument**, one more layer of the dispatcher, below all others.
# Each kernel that runs passes through it, including those of the backward pass and the optimizer, while an inactive instrument costs nothing. Here is
# `instrument` again, together with a new one:

# %% [markdown]
# `count_flops` adds up the floating-point operations of matrix multiplications, as PyTorch's `FlopCounterMode` does. `count_bytes` is the one
# from chapter 08, and `clock` adds up seconds. The instrument below records how much memory is in use after each kernel:


# %% tags=["proof-mountain"]
from mytorch.utils.instruments import count_bytes, count_flops, instrument


def measured(run, **options):
    held, start = [], used()
    with count_flops() as flops, instrument(lambda *call: held.append(used() - start) or 1) as ran:
        peak, gradients = step(mytorch, run, **options)
    held = [size / 2**20 for size in held if size]  # from the first tensor on the GPU on
    print(
        f"peak {peak:3} MB, {len(held):4} kernels, {ran['erf']:2} GELUs, {flops.total() / 1e9:.1f} billion operations"
    )
    return (np.linspace(0, 100, len(held)), held), gradients


mountain, _ = measured(lambda block, h: block(h))
pictures.curves({"in use": mountain}, xlabel="kernels run (%)", ylabel="memory (MB)")

# %% [markdown]
# Memory use climbs in the forward pass, because each block leaves behind what its backward pass will need. The backward pass frees it in the opposite
# order, so the activations peak where the two meet. (The small rise at the end is `cat`, which collects the gradients.) A whole training step may
# peak later, for instance when an optimizer needs temporary memory.
#
# Validation needs memory, too. Here is a loop that keeps its losses, with a graph and without:

# %% tags=["proof-OOM"]
for mode in (mytorch.enable_grad(), mytorch.no_grad()):
    losses, held = [], [used()]
    with mode:
        for _ in range(3):
            losses.append(model(mytorch.randn(512, 1024).cuda()).square().mean())
            held.append(used())
    print(type(mode).__name__, "held after 1, 2, 3 batches:", [size - held[0] >> 20 for size in held[1:]], "MB")
    del losses

# %% [markdown]
# **Interview · Out of memory in step 1, in step 1,000, in validation: where do you look in each case?**
#
# - *Thirty seconds:* In step 1 or 2, the batch is too large; step 2 counts as well, since Adam allocates its state at the end of step 1. In step
#   1,000 I look for a longer sequence, fragmentation, or something that grows, such as a list of losses with their graphs. In validation, I look for
#   a missing `no_grad` or a larger batch.
# - *Longer:* Print `max_memory_allocated()` for each step, after a `reset_peak_memory_stats()`: a curve that climbs is a leak, and a single spike is
#   an input. To see which line of code allocated what, call `torch.cuda.memory._record_memory_history()`, write a **memory snapshot** with
#   `_dump_snapshot`, and open it on pytorch.org/memory_viz.
# - *They ask next:* Why is `total += loss` a leak? Each loss keeps its graph alive, so use `loss.item()` or `loss.detach()`.
# - *The trap:* `empty_cache()` returns memory that no tensor uses, and PyTorch tries that itself before it raises an error.
# - *Proof:* `proof-OOM`, `proof-sixteen`.
#
# ## Activations, logits and the KV cache of a language model
# How large are the activations of a GPT's layer, with dropout and in 16 bits? A widely used estimate is $34 s b h + 5 a s^2 b$ bytes, where $s$ is
# the length, $b$ the batch size, $h$ the width and $a$ the number of heads. Here it is for one sequence of 4,096 tokens in a model of the size
# of Llama 8B, together with two other large tensors:

# %% tags=["proof-estimates"]
length, width, heads, layers, vocabulary, kv_heads, head = 4096, 4096, 32, 32, 128_256, 8, 128
layer, matrices = 34 * length * width / 1e9, 5 * heads * length**2 / 1e9
print(f"activations of a layer: {layer:.1f} GB, and {matrices:.1f} GB for attention's matrices")
print(f"logits in float32: {4 * length * vocabulary / 1e9:.1f} GB, and their gradient as much again")
per_token = 2 * layers * kv_heads * head * 2  # keys and values, in 16 bits
print(f"KV cache: {per_token / 1e3:.0f} KB for a token, {per_token * length / 1e9:.1f} GB for {length} tokens")

# %% [markdown] tags=["short"]
# Attention's matrices dominate, unless a tiled kernel never stores them. The logits are as large as the other activations of several layers, so with
# a vocabulary of 128,000 the loss is often the peak, and some libraries compute it in chunks of tokens.
#
# **Interview · How large are the logits and the KV cache of a language model?**
#
# - *Thirty seconds:* The logits have batch × length × vocabulary elements. For 4,096 tokens and a vocabulary of 128,000 that is 2 GB in float32, and
#   their gradient takes as much again. The KV cache has 2 × layers × KV heads × head size elements per token, the 2 for keys and values.
# - *Longer:* With 32 layers, 8 KV heads of 128 and bfloat16, as in Llama 8B, that is 131 KB per token, so 0.5 GB for each sequence of 4,096 tokens.
# - *They ask next:* How do you reduce them? A chunked or fused cross-entropy never holds all logits, and fewer KV heads (GQA), fewer bits or a
#   sliding window shrink the cache. Activations can be checkpointed, or moved to the CPU with `torch.autograd.graph.save_on_cpu`.
# - *The trap:* The parameters alone don't tell. Both tensors grow with the length and with the number of sequences.
# - *Proof:* `proof-estimates`.
#
# ## Activation checkpointing: keep less, compute again
# The smallest model of checkpointing needs no library. Run the first half without a graph, and continue with a graph from its result. As soon as the
# gradient of that result is known, run the first half again, this time with a graph, and continue the backward pass there:


# %% tags=["proof-by-hand"]
def by_hand(first, second, x):
    with torch.no_grad():
        middle = first(x)
    middle.requires_grad_()
    second(middle).square().sum().backward()
    return torch.autograd.grad(first(x), first[0].weight, middle.grad)[0]


for p in (0.0, 0.5):
    first, second = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(p)), torch.nn.Linear(8, 8)
    torch.manual_seed(0)
    expected = torch.autograd.grad(second(first(torch.ones(4, 8))).square().sum(), first[0].weight)[0]
    torch.manual_seed(0)
    wrong = (by_hand(first, second, torch.ones(4, 8)) - expected).norm() / expected.norm()
    print(f"dropout {p}: relative error of the gradient {wrong.item():.1f}")

# %% [markdown]
# ### Break it
# With dropout the gradient is incorrect, and no error says so. The second run drew another mask, so its gradient belongs to a network that never
# ran. A checkpoint therefore has to
#
# - store the state of the generator,
# - restore it for the second run,
# - and afterwards continue as if nothing had been drawn.
#
# For the same reason it stores where autocast was on.
#
# You write such a checkpoint in exercise 2, as a `Function` with two static methods, and then this runs:
#
# ### Milestone: dropout, and the same gradients

# %% tags=["proof-milestone"]
checkpointed = mytorch.utils.checkpoint.checkpoint
mountain, gradients = measured(lambda block, h: block(h), p=0.5)
sawtooth, again = measured(checkpointed, p=0.5)
print("elements of the gradients that differ:", (gradients != again).sum().item())
pictures.curves({"plain": mountain, "checkpoints": sawtooth}, xlabel="kernels run (%)", ylabel="memory (MB)")

# %% [markdown]
# In the forward pass the line climbs by one input for each block. The backward pass has twelve teeth, because each block runs again, is used, and is
# freed. The matrix multiplications do 4/3 of the plain step's work: two forward passes instead of one, and a backward pass that costs as much as both
# of them.
#
# ### Myth · "The larger the part in a checkpoint, the more you save"
# Take a chain of 36 layers, each of which leaves behind one unit, and divide it into k segments with a checkpoint at the start of each. Move k:


# %% tags=["proof-segments"]
def trail(k, n=36):
    segment = n // k
    line = [held for held in range(1, k + 1) for _ in range(segment)]  # forward: one input after another
    for held in range(k, 0, -1):  # a segment runs again, and then its backward
        line += [held + count for count in (*range(1, segment + 1), *range(segment - 1, -1, -1))]
    return line


def draw(k):
    return pictures.curves({f"k = {k}": trail(k)}, xlabel="time (layers run)", ylabel="units held")


print("peak by number of segments:", {k: max(trail(k)) for k in (1, 2, 4, 6, 9, 18, 36)})
pictures.slider(draw, start={"k": 6}, k=[1, 2, 3, 4, 6, 9, 12, 18, 36])

# %% [markdown]
# One checkpoint around everything saves nothing, since all of it is in memory when it runs again. With k segments, k inputs and the n / k layers of
# one segment are held, and their sum k + n / k is minimized by k = √n.
#
# ### Early stop: the newer checkpoint costs less
# PyTorch has two kinds of `checkpoint`, and its documentation recommends `use_reentrant=False`. Yours resembles the older kind, `use_reentrant=True`,
# which runs a backward pass inside the backward pass. The hooks below show which layers of a block run, first forward and then again:

# %% tags=["proof-early-stop"]
block, ran = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 4)), []
for position, layer in enumerate(block):
    layer.register_forward_hook(lambda module, args, result, position=position: ran.append(position))
for reentrant in (True, False):
    checkpoint(block, torch.ones(2, 4, requires_grad=True), use_reentrant=reentrant).sum().backward()
    print(f"use_reentrant={reentrant!s:5} completed layers", ran)
    ran.clear()

# %% [markdown]
# The newer kind keeps each node in the graph and replaces the saved tensors by placeholders. The first one that the backward pass unpacks triggers
# the recomputation. It stops as soon as all of them are there, so the last matrix multiplication isn't repeated. `FlopCounterMode` of PyTorch
# 2.13 counts 7/6 of the plain step for such a block, against 4/3 for the older kind.
#
# If you don't pass `use_reentrant`, PyTorch 2.13 uses the older kind and warns that "starting in PyTorch 2.9" this will raise an exception,
# although it doesn't yet.
#
# **Interview · What do you checkpoint, and what does it cost?**
#
# - *Thirty seconds:* I checkpoint each block of a transformer, so that its input is kept and the rest is computed again in the backward pass. That
#   costs up to one more forward pass, which is a third more work, and less with `use_reentrant=False`, which stops early.
# - *Longer:* With n equal layers, √n segments hold about 2√n. *Selective* checkpointing keeps the matrix multiplications and repeats the elementwise
#   rest, which is cheap to compute but large to keep. In PyTorch you name the operators whose results are kept:
#   `context_fn=partial(create_selective_checkpoint_contexts, [torch.ops.aten.addmm.default])`.
# - *They ask next:* What goes wrong in the second run? PyTorch restores its own generators, but not those of NumPy or Python. Side effects happen
#   twice, too: batch norm updates its running statistics in both runs.
# - *The trap:* One checkpoint around the whole model saves nothing.
# - *Proof:* `proof-milestone`, `proof-segments`, `proof-early-stop`, `proof-by-hand`.
#
# **Gradient accumulation**, a batch in pieces whose gradients are added up, shrinks the activations as well. Here are plain and checkpointed steps,
# in one piece and in four:

# %% tags=["proof-accumulate"]
for run in (lambda block, h: block(h), checkpointed):
    for pieces in (1, 4):
        measured(run, pieces=pieces)

# %% [markdown]
# Four pieces need a third of the memory for the same work, in many more kernels, and checkpoints on top of that halve it again.
#
# **Interview · Gradient accumulation or checkpointing?**
#
# - *Thirty seconds:* I try accumulation first: it divides the activations by the number of micro-batches and repeats no work. Checkpointing helps
#   when a single sample is already too large, or when smaller batches would leave the GPU idle.
# - *Longer:* Accumulation runs more and smaller kernels. Using both together is common.
# - *They ask next:* Does accumulation change the result? Batch norm sees smaller batches, and a mean over tokens has to be weighted by each micro-batch's number of tokens.
# - *The trap:* Neither shrinks the 16 bytes per parameter; both reduce only the activations.
# - *Proof:* `proof-accumulate`.
#
# ## Attention without the matrix
# Attention's scores form a matrix of length by length, and softmax seems to need a whole row at once. It doesn't. This softmax-weighted mean takes
# one pass and keeps three numbers: the largest score so far, the sum of exp(score − largest), and the sum of the values, weighted in the same way.


# %% tags=["proof-online"]
from math import exp, inf


def online(scores, values):
    m, total, out = -inf, 0.0, 0.0
    for score, value in zip(scores, values, strict=True):
        m, old = max(m, score), m
        total = total * exp(old - m) + exp(score - m)
        out = out * exp(old - m) + value * exp(score - m)
    return out / total


scores, values = torch.tensor([1.0, 1000.0, 998.0, -5.0]), torch.tensor([10.0, 20.0, 30.0, 40.0])
print(f"one pass {online(scores.tolist(), values.tolist()):.3f}, softmax {(scores.softmax(0) @ values).item():.3f}")

# %% [markdown]
# Whenever a larger score arrives, the sums so far are multiplied by exp(old − new), which is less than 1, so nothing overflows.
#
# The same works for a tile of keys instead of a single key. In exercise 3 you write `attend`, which returns (m, l, o) for the keys of one tile,
# `merge`, which joins two such triples, and `tiled_attention` around both. Because `merge` is associative, the tiles may be merged in any grouping,
# wherever they were computed:

# %% tags=["proof-tiles"]
whole, attention, merge = nn.functional.scaled_dot_product_attention, nn.attention, nn.attention.merge
q, k, v = mytorch.randn(3, 512, 64).unbind()
a, b, c, d = (attention.attend(q, *tile) for tile in zip(k.split(128), v.split(128), strict=True))
for _, total, out in (merge(merge(merge(a, b), c), d), merge(merge(d, c), merge(b, a))):
    print(f"largest difference from attention in one piece: {(out / total - whole(q, k, v)).abs().max().item():.4f}")
peaks, lengths = {"matrix": [], "tiles": []}, [256, 512, 1024, 2048]
for length in lengths:
    q, k, v = (mytorch.randn(length, 64).cuda() for _ in range(3))
    for line, function in zip(peaks.values(), (whole, attention.tiled_attention), strict=True):
        mytorch.cuda.reset_peak_memory_stats()
        function(q, k, v)
        line.append((mytorch.cuda.max_memory_allocated() - used()) / 2**20)
print("MB at length 2,048:", {name: round(line[-1]) for name, line in peaks.items()})
pictures.curves(peaks, lengths, xlabel="length", ylabel="peak (MB)", log="xy")

# %% [markdown]
# Twice the length takes four times the memory with the matrix, but only twice with tiles. **Ring attention** is the same `merge` over several GPUs:
# each keeps its queries, and keys and values travel around the ring of [chapter 23](23_multi_gpu.ipynb).
#
# Tiles save memory. Do they save time as well?


# %% tags=["proof-flash"]
def outside(op, args, result, seconds):
    large = [t for t in (*args, result) if getattr(t, "storage", None) and t.storage.flat.nbytes > 2**17]
    return sum(t.nbytes for t in large) if result.base is None else 0


intensity = {}
for name, function in zip(peaks, (whole, attention.tiled_attention), strict=True):
    with count_flops() as flops, count_bytes() as moved, instrument(outside) as slow:
        function(q, k, v)
    intensity[name] = flops.total() / slow.total()
    millions = [f"{counter.total() / 1e6:4.0f}" for counter in (flops, moved, slow)]
    print("{} million operations, {} MB moved, of which{} MB of large tensors:".format(*millions), name)

# %% [markdown]
# Both compute the same matrix multiplications. As separate operations, tiles even move more bytes, because each small result is written and read
# again. But a tile of scores fits into a GPU's fast on-chip memory (SRAM). **FlashAttention** is one kernel that leaves it there, so only queries,
# keys, values and the output have to be moved. Here such a kernel would move 26 MB instead of 103. (The four tensors alone are 2 MB; the rest is
# tiles that are read again for each pair.)
#
# **Interview · Why is FlashAttention faster, though it computes more?**
#
# - *Thirty seconds:* Unfused attention waits for memory, not for arithmetic, and FlashAttention never writes the matrix of scores to the GPU's main
#   memory. It rescales in the forward pass and computes the scores again in the backward pass, but that costs less than the traffic that it saves.
# - *Longer:* It is exact, since softmax is computed tile by tile from a running maximum and a running sum, and its memory grows linearly with the
#   length instead of quadratically.
# - *They ask next:* What does it keep for the backward pass? The output, and m + log l for each row, from which a tile's weights follow.
# - *The trap:* "It is an approximation", or "it needs fewer operations".
# - *Proof:* `proof-flash`, `proof-tiles`, `proof-online`.
#
# ## The roofline
# An operation takes at least the time of its arithmetic, and at least the time in which its bytes are moved. Which of the two is longer depends on
# its **arithmetic intensity**, in FLOP/byte. An H100 (SXM)
#
# - moves 3.35 · 10¹² bytes per second,
# - computes 67 · 10¹² float32 operations per second without tensor cores,
# - and 989 · 10¹² in bfloat16 with them.
#
# So the *ridge*, above which arithmetic is the limit, is at 20 FLOP/byte in float32 and at 295 in bfloat16. Where are the products of 1, 512 and
# 2,048 rows with a weight of 1024 × 1024? (The picture also has the previous cell's two kinds of attention, in float32.)


# %% tags=["proof-roofline"]
def intensity_of(rows, dtype):
    with count_flops() as flops, count_bytes() as moved:
        mytorch.ones(rows, 1024, dtype=dtype) @ mytorch.ones(1024, 1024, dtype=dtype)
    return flops.total() / moved.total()


for peak, dtype in ((67, mytorch.float32), (989, mytorch.bfloat16)):
    for rows in (1, 512, 2048):
        each = intensity_of(rows, dtype)
        limit = min(peak, each * 3.35)
        print(f"{dtype!s:14} {rows:4} rows: {each:5.1f} FLOP/byte, at most {limit:5.1f} of {peak} TFLOP/s")
roofs = {"float32": ([0.25, 20, 1000], [0.25 * 3.35, 67, 67])}
roofs["bfloat16, tensor cores"] = ([0.25, 295, 1000], [0.25 * 3.35, 989, 989])
marks = intensity | {f"rows: {rows}": intensity_of(rows, mytorch.bfloat16) for rows in (1, 512)}
pictures.curves(roofs, xlabel="arithmetic intensity (FLOP/byte)", ylabel="at most (TFLOP/s)", log="xy", marks=marks)

# %% [markdown]
# With one row, as when a language model generates one token, the arithmetic units nearly always wait for the weight. With 512 rows each weight that
# is loaded is reused 512 times, which is enough in float32. The tensor cores, however, reach their peak only with the 2,048 rows, although bfloat16
# halves the bytes.
#
# ### 6ND
# The arithmetic of a whole training step has a rule of thumb: 6 operations per parameter and token, of which the forward pass takes 2 and the
# backward pass 4. Count it on two blocks of a transformer:

# %% tags=["proof-6ND"]
for width, length in ((64, 64), (128, 64), (256, 32)):
    blocks = nn.Sequential(*[nn.TransformerEncoderLayer(width, 4, 4 * width) for _ in range(2)])
    tokens = mytorch.randn(length, 2, width).requires_grad_()
    with count_flops() as flops:
        blocks(tokens).sum().backward()
    rule = 6 * sum(parameter.numel() for parameter in blocks.parameters()) * 2 * length
    print(f"width {width:3}, length {length}: {flops.total() / rule:.2f} of 6ND", end=", ")
    print(f"{(flops.total() - 12 * 2 * width * length * 2 * length) / rule:.2f} without attention's scores")

# %% [markdown]
# **Interview · How many FLOPs does a training step take?**
#
# - *Thirty seconds:* 6ND for N parameters and D tokens. In the forward pass each weight meets each token in one multiplication and one addition.
#   The backward pass takes twice that, for the gradient of the input and for the gradient of the weight.
# - *Longer:* Attention's scores add 12 · layers · width · length per token, which equals the work of the weights at a length of 6 times the width.
#   Embeddings are looked up, not multiplied.
# - *They ask next:* How many with checkpoints, and in inference? At most 8ND with checkpoints, fewer with early stop, and 2ND in inference.
# - *They ask next:* What is MFU? 6ND per second divided by the GPU's peak ([chapter 19](19_training_loop.ipynb)).
# - *The trap:* The divisor is easily wrong: the peak of another precision, or the one with sparsity.
# - *Proof:* `proof-6ND`, `proof-accumulate`.
#
# ## Quantization to eight bits
# For inference, a weight can be stored as an integer from −127 to 127 and a scale, w ≈ q · scale. How many weights should share a scale? Here the
# rows of 64 outputs do, and one of them has larger weights than the others:

# %% tags=["proof-outlier"]
from mytorch.nn.quantization import fake_quantize, quantize

x, base, errors = mytorch.randn(100, 256), mytorch.randn(64, 256), {"one scale": [], "a scale for each row": []}
for factor in (1, 3, 10, 30, 100):
    weight = mytorch.cat([base[:1] * factor, base[1:]])
    for line, dim in zip(errors.values(), (None, -1), strict=True):
        q, scale = quantize(weight, dim)
        wrong = (x @ (q * scale).T - x @ weight.T)[:, 1:]
        line.append((wrong.square().mean() / (x @ base[1:].T).square().mean()).sqrt().item())
print("error of the other 63 outputs:", {name: [f"{error:.1%}" for error in line] for name, line in errors.items()})
pictures.curves(errors, [1, 3, 10, 30, 100], xlabel="factor of the outlier row", ylabel="relative error", log="xy")

# %% [markdown]
# One outlier stretches the common scale, so the other outputs lose precision, and a scale for each row confines the damage to that row. (In bfloat16
# the scale itself is rounded, and the largest weight may then become 128, which int8 turns into −128 unless `quantize` clamps.)
#
# **Interview · int8 quantization: what are scale and zero point, why one scale per channel, and what do outliers do?**
#
# - *Thirty seconds:* Scale and zero point approximate a number x by (q − zero point) · scale. Weights are roughly symmetric, so their zero point is
#   usually 0; for activations such as ReLU's, it shifts the range. A scale for each output row costs four bytes a row and confines outliers.
# - *Longer:* Outliers in *activations* are in a few columns, which all rows share. You can keep these columns in 16 bits, as LLM.int8() does, or move
#   part of their scale into the weight, as SmoothQuant does. For 4-bit weights, GPTQ corrects the remaining weights for each error, and AWQ scales
#   the channels that matter most.
# - *They ask next:* What becomes faster? Decoding with small batches: each step reads every weight once, and int8 has half of bfloat16's bytes.
# - *The trap:* The mean error of the weights says little. Judge by the model's outputs.
# - *Proof:* `proof-outlier`, `proof-roofline`.
#
# ## The caching allocator and fragmentation
# PyTorch requests large segments of memory from the driver and cuts blocks from them. When a tensor is freed, its **caching allocator** keeps the
# block (*reserved*), so that the next tensor doesn't have to wait for the driver. Here is a model of it, with twelve cells and tensors that need
# contiguous memory. An answer of −1 means that there is no room:


# %% tags=["proof-fragments"]
row = "..bb..dd..ff"  # six tensors of two cells each were there, and three of them are freed
print(f"{row.count('.')} of {len(row)} cells are free; two go to {row.find('..')}, three to {row.find('...')}")

# %% [markdown]
# **Interview · Allocated or reserved, and what is fragmentation?**
#
# - *Thirty seconds:* *Allocated* is what tensors occupy, and *reserved* is what the caching allocator holds from the driver. A large difference between
#   the two, together with an out-of-memory error, points to fragmentation: there is enough free memory, but not in one piece.
# - *Longer:* Sequences of varying length cause it. `PYTORCH_ALLOC_CONF=expandable_segments:True` lets segments grow, and a memory snapshot shows the
#   gaps.
# - *They ask next:* Why does `nvidia-smi` show more? Because it counts all that is reserved, and the CUDA context as well.
# - *The trap:* `empty_cache()` in each step makes the step slower and doesn't return a segment that is still partly used.
# - *Proof:* `proof-fragments`.
#
# ## The real one
# Both kinds of `checkpoint` restore what the second run depends on. This is minitorch's function for it:

# %%
import inspect

print(inspect.getsource(inspect.getmodule(checkpoint)._restored))

# %% [markdown] tags=["short"]
# Unlike yours, it treats each GPU's generator separately, and `preserve_rng_state=False` skips the generators.
#
# ## Rapid fire
# 1. How many bytes per parameter does Adam's state take? 8 with float32 parameters, 4 with bfloat16.
# 2. How many operations does a product of (m, k) and (k, n) take? 2mkn.
# 3. You checkpoint 100 equal layers. How many segments take the least memory? Ten.
# 4. How many scales does a (4096, 1024) weight have, with one for each output? 4,096.
# 5. Does the weight of an int8 layer train? No, it is a buffer.

# %% tags=["proof-rapid-fire"]
with count_flops() as flops:
    mytorch.ones(2, 3) @ mytorch.ones(3, 5)
print("1.", sum(optimizer.state[model.weight][name].element_size() for name in ("exp_avg", "exp_avg_sq")))
print("2.", flops.total(), " 3.", min((2, 4, 5, 10, 20, 25, 50), key=lambda k: max(trail(k, 100))))
print("4. and 5.", [(name, buffer.numel()) for name, buffer in nn.Int8Linear(nn.Linear(1024, 4096)).named_buffers()])

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Training with Adam in float32 takes 16 bytes per parameter; activations come on top and grow with the batch.
# 2. Activations peak at the end of the forward pass.
# 3. A checkpoint keeps inputs, and pays with up to one more forward pass.
# 4. The second run needs the same random numbers.
# 5. √n segments take the least memory; one around everything saves nothing.
# 6. Online softmax keeps the largest score, the sum and the weighted values, and such triples can be merged.
# 7. FlashAttention saves memory traffic, not operations.
# 8. Below the ridge (20 FLOP/byte in float32, 295 in bfloat16 on an H100), memory is the limit.
# 9. A training step takes about 6ND operations, and attention's scores come on top.
# 10. A scale for each row confines outliers, and training through `round` needs a [straight-through gradient](proof-round).
#
# ## You try
# [The exercises](../exercises/22b_memory.ipynb): predict bytes; write `checkpoint`, online softmax with its merge, and int8 weights; fix a
# checkpoint with dropout; and measure the best number of segments. [Chapter 23](23_multi_gpu.ipynb), about several GPUs, is next.

# %% [markdown]
# ## If you have time
# ### A checkpoint whose inputs require no gradient
# The older kind of `checkpoint`, which yours resembles, leaves a node behind only if one of its *arguments* requires a gradient. PyTorch
# warns if none does:

# %% tags=["proof-no-gradient"]
for name, result in {
    "yours": checkpointed(mytorch.nn.Linear(2, 2), mytorch.ones(1, 2)),
    "use_reentrant=False": checkpoint(torch.nn.Linear(2, 2), torch.ones(1, 2), use_reentrant=False),
}.items():
    print(f"{name}, with an input that requires no gradient: result.requires_grad is {result.requires_grad}")

# %% [markdown]
# The parameters require gradients, but with the older kind they get none. This happens, for instance, when the first checkpointed block follows a
# frozen embedding. With `use_reentrant=False` they get theirs.
#
# ### Quantization-aware training
# Rounding after training is fine in 8 bits. With 2 bits and a symmetric range, a weight can only be −1, 0 or 1 times a scale, and the network has to
# be trained for that, so the forward pass rounds. But the derivative of rounding is 0 almost everywhere, and nothing would learn. `fake_quantize`, a
# `Function` in your library, takes the derivative to be 1 within the range:

# %% tags=["proof-round"]
for function in (lambda x: x.round(), lambda x: fake_quantize(x, 0.5, 0, -8, 7)):
    w = mytorch.tensor([0.375, 5.0], requires_grad=True)
    function(w).sum().backward()
    print(w.tolist(), "become", function(w).tolist(), "with gradients", w.grad.tolist())

# %% [markdown]
# `fake_quantize` passes the gradient of 0.375 through, while 5.0 is clamped to 3.5, the end of the range, so a small change of it changes nothing.
# Now train a linear layer on digits, with three seeds:

# %% tags=["proof-straight-through"]
from sklearn.datasets import load_digits

inputs, labels = (mytorch.tensor(array.tolist()) for array in load_digits(return_X_y=True))


def two_bits(weight):
    return fake_quantize(weight, 1.5 * weight.detach().abs().mean().item(), 0, -1, 1)


def train(change, seed):
    mytorch.manual_seed(seed)
    layer, losses = nn.Linear(64, 10, bias=False), []
    for _ in range(200):
        layer.zero_grad()
        nn.functional.cross_entropy(inputs / 16 @ change(layer.weight).T, labels).backward()
        mytorch.optim.SGD(layer.parameters(), lr=1.0).step()
        losses.append(nn.functional.cross_entropy(inputs / 16 @ two_bits(layer.weight).T, labels).item())
    return losses


changes = {"rounded after training": lambda weight: weight, "rounded while training": two_bits}
runs = {name: [train(change, seed) for seed in range(3)] for name, change in changes.items()}
for name, losses in runs.items():
    ends = [np.median(curve[-50:]) for curve in losses]
    low, high = np.floor(2 * min(ends)) / 2, np.ceil(2 * max(ends)) / 2
    print(f"{name}: loss in 2 bits between {low} and {high}")
lines = {name: losses[0] for name, losses in runs.items()}
pictures.curves(lines, xlabel="step", ylabel="loss in 2 bits (nats)")

# %% [markdown]
# **Interview · PTQ or QAT, and what is the gradient of `round`?**
#
# - *Thirty seconds:* Post-training quantization rounds a trained model. The scales of weights come from the weights, and those of activations from a
#   few calibration batches. It is enough for 8 bits and often for 4. Quantization-aware training rounds in each forward pass, which works with fewer
#   bits at the price of training. The gradient of `round` is 0 almost everywhere, so the straight-through estimator replaces it by 1.
# - *Longer:* Where the value was clamped, the gradient stays 0.
# - *They ask next:* Which weights does the optimizer update? Those in full precision, which the forward pass rounds again in each step.
# - *The trap:* `x.round()` in the forward pass trains without an error, although the weights before it get gradients of 0.
# - *Proof:* `proof-straight-through`, `proof-round`.
