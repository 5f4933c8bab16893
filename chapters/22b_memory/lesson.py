# %% [markdown]
# # Where the memory goes
# After this chapter your own library trains a network in a quarter of the memory, attends to thousands of positions
# without a matrix of scores, and keeps weights in 8 bits. You'll be able to say where each byte of a training step is,
# what it would cost to do without it, and whether a GPU waits for its arithmetic or for its memory.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch("22b")  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## The same gradients in less than half of the memory
# Twelve blocks run forward and backward on a simulated GPU, which counts the bytes of its tensors. Then they do it again,
# each block inside `checkpoint`. How far apart are the two peaks, and the two gradients?

# %% tags=["proof-surprise"]
import minitorch as torch
from course import pictures
from minitorch.utils.checkpoint import checkpoint


def step(library, run, pieces=1, p=0.0):
    library.manual_seed(0)
    nn, start = library.nn, library.cuda.memory_allocated()
    layers = [(nn.Linear(128, 512), nn.GELU(), nn.Dropout(p), nn.Linear(512, 128)) for _ in range(12)]
    blocks = [nn.Sequential(*each).cuda() for each in layers]
    library.cuda.reset_peak_memory_stats()
    for h in library.randn(1024, 128).cuda().requires_grad_().chunk(pieces):
        for block in blocks:
            h = h + run(block, h)
        (h.square().mean() / pieces).backward()
    peak = library.cuda.max_memory_allocated() - start >> 20
    return peak, library.cat([each.grad.flatten() for block in blocks for each in block.parameters()]).cpu()


torch.cuda.simulate(1)
peak, plain = step(torch, lambda block, h: block(h))
peak_again, again = step(torch, lambda block, h: checkpoint(block, h, use_reentrant=False))
print(f"peak {peak} MB, with checkpoints {peak_again} MB; gradients that differ:", (plain != again).sum().item())

# %% [markdown] tags=["short"]
# The gradients are the same bit for bit, and the peak is less than half. That can't be free, and you'll count what it costs.
# First you need to know what fills the memory.
#
# ## Four things fill it
# Put a model on the GPU, run a step with Adam, and look at the counter after each line:

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
# Weights, gradients and Adam's two averages are 16 bytes a parameter, whatever the batch. **Activations**, the
# intermediate results that the backward pass will need, grow with the batch instead.
#
# **Interview · How much memory does training 7B parameters with AdamW take?**
#
# - *Thirty seconds:* 16 bytes a parameter: 4 for the weight, 4 for the gradient, 8 for Adam's two averages. That is
#   112 GB before the first activation, so one GPU of 80 GB isn't enough.
# - *Longer:* In mixed precision it is often 16 again: 2 for a bfloat16 weight, 2 for its gradient, 4 for the master weight
#   ([chapter 22](22_mixed_precision.ipynb)) and 8 for Adam.
# - *They ask next:* And inference in bfloat16? 2 bytes, 14 GB, and a cache of keys and values that grows with the text.
# - *The trap:* Forgetting the activations. With a long context they are the largest part.
# - *Proof:* `proof-sixteen`.

# %% [markdown] given="mytorch.utils.instruments:instrument mytorch.utils.instruments:flops"
# ## Three instruments
# In [chapter 08](08_static_and_dynamic_graphs.ipynb) you counted bytes with an **instrument**: one more layer of the
# dispatcher, below all others, which sees each kernel that runs. So it sees the backward pass and the optimizer, too. While no
# instrument is on, its place is empty and costs nothing. Here is `instrument` again, and a new one:

# %% [markdown]
# `count_flops` adds up the floating-point operations of matrix products, as PyTorch's `FlopCounterMode` does.
# `count_bytes` is the one from chapter 08, and `clock` adds up seconds. An instrument of your own is one function.
# This one notes how much memory is in use after each kernel:


# %% tags=["proof-mountain"]
from mytorch.utils.instruments import count_bytes, count_flops, instrument


def measured(run, **options):
    held, start = [], used()
    with count_flops() as flops, instrument(lambda *call: held.append(used() - start) or 1) as ran:
        peak, gradients = step(mytorch, run, **options)
    held = [each / 2**20 for each in held if each]  # from the first tensor on the GPU on
    print(
        f"peak {peak:3} MB, {len(held):4} kernels, {ran['erf']:2} GELUs, {flops.total() / 1e9:.1f} billion operations"
    )
    return (np.linspace(0, 100, len(held)), held), gradients


mountain, _ = measured(lambda block, h: block(h))
pictures.curves({"in use": mountain}, xlabel="kernels run (%)", ylabel="memory (MB)")

# %% [markdown]
# The forward pass climbs, since each block leaves behind what its backward will need. The backward pass takes it away
# again, in the opposite order. The peak is where the two meet.
#
# Training isn't all that runs. Here is a validation loop that keeps its losses, with a graph and without:

# %% tags=["proof-OOM"]
for mode in (mytorch.enable_grad(), mytorch.no_grad()):
    losses, held = [], [used()]
    with mode:
        for _ in range(3):
            losses.append(model(mytorch.randn(512, 1024).cuda()).square().mean())
            held.append(used())
    print(type(mode).__name__, "held after 1, 2, 3 batches:", [each - held[0] >> 20 for each in held[1:]], "MB")
    del losses

# %% [markdown] tags=["short"]
# **Interview · Out of memory in step 1, in step 1,000, in validation: where do you look in each case?**
#
# - *Thirty seconds:* Step 1: the batch is too large. Step 2 is the same case, because Adam makes its state at the end of
#   step 1. Step 1,000: a longer sequence, fragmentation, or something that grows, such as a list of losses with their graphs.
#   Validation: `no_grad` is missing, or its batch is larger.
# - *Longer:* Print `max_memory_allocated()` for each step. A line that climbs is a leak, a single spike is an input.
# - *They ask next:* Why is `total += loss` a leak? Each loss keeps its graph. Use `loss.item()` or `loss.detach()`.
# - *The trap:* `empty_cache()`. It gives back memory that no tensor uses, and PyTorch tries that itself before it raises.
# - *Proof:* `proof-OOM`, `proof-sixteen`.
#
# ## Keep less, compute again
# The smallest model of checkpointing needs no library. Run the first half without a graph, go on with a graph from its
# result, and when its gradient is there, run the first half again, with a graph this time:


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
    print(f"dropout {p}: the gradient is wrong by {wrong.item():.1f} of its length")

# %% [markdown]
# ### Break it
# With dropout the gradient is wrong, and no error says so. The second run drew another mask, so its gradient belongs to a network that
# never ran. A checkpoint has to remember the state of the generator, put it back for the second run, and afterwards go on
# as if nothing had been drawn. For the same reason it remembers where autocast was on.
#
# You write it in exercise 2, as a `Function` with two static methods. Then this runs:
#
# ### Milestone: dropout, and the same gradients

# %% tags=["proof-milestone"]
checkpointed = mytorch.utils.checkpoint.checkpoint
mountain, gradients = measured(lambda block, h: block(h), p=0.5)
sawtooth, again = measured(checkpointed, p=0.5)
print("numbers in the gradients that differ:", (gradients != again).sum().item())
pictures.curves({"plain": mountain, "checkpoints": sawtooth}, xlabel="kernels run (%)", ylabel="memory (MB)")

# %% [markdown]
# Forward, the line climbs by one input for each block. Backward it has twelve teeth: a block runs again, is used, and is gone.
# Products cost four thirds: one forward in addition to a forward and a backward of twice the work.
#
# ### Myth · "The larger the part in a checkpoint, the more you save"
# Take a chain of 36 layers that leave behind one unit each, in k segments with a checkpoint at the start of each. Move k:


# %% tags=["proof-segments"]
def trail(k, n=36):
    segment = n // k
    line = [held for held in range(1, k + 1) for _ in range(segment)]  # forward: one input after another
    for held in range(k, 0, -1):  # a segment runs again, and then its backward
        line += [held + each for each in (*range(1, segment + 1), *range(segment - 1, -1, -1))]
    return line


def draw(k):
    return pictures.curves({f"k = {k}": trail(k)}, xlabel="time (layers run)", ylabel="units held")


print("peak by number of segments:", {k: max(trail(k)) for k in (1, 2, 4, 6, 9, 18, 36)})
pictures.slider(draw, start={"k": 6}, k=[1, 2, 3, 4, 6, 9, 12, 18, 36])

# %% [markdown]
# One checkpoint around everything saves nothing: when it runs again, everything is there. k segments hold k inputs and n / k
# layers, and k + n / k is smallest at k = √n.
#
# **Interview · What do you checkpoint, and what does it cost?**
#
# - *Thirty seconds:* Each block of a transformer. Its input is kept, the rest is computed again in backward: one more
#   forward pass, a third more work, for a fraction of the activations.
# - *Longer:* With n equal layers, √n segments hold about 2√n. Blocks that are cheap to compute and large to keep come first;
#   "selective" checkpointing keeps the products and repeats the elementwise rest.
# - *They ask next:* What goes wrong in the second run? Random numbers, batch norm's running statistics (updated twice),
#   anything else that isn't a function of the input.
# - *The trap:* One checkpoint around the whole model.
# - *Proof:* `proof-milestone`, `proof-segments`, `proof-by-hand`.

# %% tags=["proof-accumulate"]
for run in (lambda block, h: block(h), checkpointed):
    for pieces in (1, 4):
        measured(run, pieces=pieces)

# %% [markdown]
# **Interview · Gradient accumulation or checkpointing?**
#
# - *Thirty seconds:* Accumulation first: it divides the activations by the number of micro-batches and repeats no work.
#   Checkpointing when one sample is already too large, or when smaller batches leave the GPU idle.
# - *Longer:* Accumulation runs more and smaller kernels. Both together are common.
# - *They ask next:* Does accumulation change the result? Batch norm sees smaller batches; a mean over tokens needs weights.
# - *The trap:* Either helps with activations alone. The 16 bytes a parameter stay.
# - *Proof:* `proof-accumulate`.
#
# ## Attention without the matrix
# Attention's scores are a matrix of length by length, and softmax needs a whole row at once, or so it seems. Here is a
# softmax-weighted mean in one pass. It keeps three numbers: the largest score so far, the sum of exp(score − largest), and
# the values weighted the same way:


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
# Whenever a larger score comes, what was summed so far is multiplied by exp(old − new), and shrinks. Nothing overflows.
#
# The same works for a tile of keys instead of one. In exercise 3 you write `attend`, which gives (m, l, o) for the keys of
# one tile, `merge`, which joins two such triples into one, and `tiled_attention` around both. `merge` is associative, so tiles may come in any
# grouping, and from anywhere:

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
# Twice the length takes four times the memory with the matrix, and twice with tiles. **Ring attention** is the same `merge` over
# several GPUs: each keeps its queries, while keys and values travel around the ring of
# [chapter 23](23_multi_gpu.ipynb).
#
# Tiles save memory. Do they save time as well?


# %% tags=["proof-flash"]
def outside(op, args, result, seconds):
    large = [each for each in (*args, result) if getattr(each, "storage", None) and each.storage.flat.nbytes > 2**17]
    return sum(each.nbytes for each in large) if result.base is None else 0


intensity = {}
for name, function in zip(peaks, (whole, attention.tiled_attention), strict=True):
    with count_flops() as flops, count_bytes() as moved, instrument(outside) as slow:
        function(q, k, v)
    intensity[name] = flops.total() / slow.total()
    millions = [f"{each.total() / 1e6:4.0f}" for each in (flops, moved, slow)]
    print("{} million operations, {} MB moved, of which{} MB of large tensors:".format(*millions), name)

# %% [markdown] tags=["short"]
# The products are the same. As single operations, tiles move more bytes, because each small result is written and read
# again. But a tile of scores fits into the fast memory of a GPU's processors. **FlashAttention** is one kernel that leaves it
# there, so only queries, keys, values and the output count: a quarter of the bytes.
#
# **Interview · Why is FlashAttention faster, though it computes more?**
#
# - *Thirty seconds:* Attention waits for memory, not for arithmetic. FlashAttention never writes the matrix of scores to the GPU's main
#   memory. The extra work, rescaling forward and computing the scores again backward, costs less than the traffic that it saves.
# - *Longer:* It is exact: softmax is computed tile by tile from a running maximum and a running sum. Memory grows with the length, not
#   with its square.
# - *They ask next:* What does it keep for backward? The output, and m + log l for each row; a tile's weights follow from these.
# - *The trap:* "It is an approximation", or "it needs fewer operations".
# - *Proof:* `proof-flash`, `proof-tiles`, `proof-online`.
#
# ## The roofline
# An operation can't be faster than its arithmetic, nor than its bytes. What decides is the **arithmetic intensity**,
# operations per byte. An H100 (SXM) computes 67 · 10¹² float32 operations and moves 3.35 · 10¹² bytes a second, so it wants 20
# operations for each byte. Multiply different numbers of rows by one weight of 1024 × 1024:

# %% tags=["proof-roofline"]
for rows in (1, 4, 512):
    with count_flops() as flops, count_bytes() as moved:
        mytorch.ones(rows, 1024) @ mytorch.ones(1024, 1024)
    intensity[f"rows: {rows}"] = flops.total() / moved.total()
for name, each in sorted(intensity.items(), key=lambda item: item[1]):
    print(f"{name:10} {each:5.1f} operations per byte: at most {min(67, each * 3.35):4.1f} TFLOP/s")
roof = {"H100": ([0.25, 20, 500], [0.25 * 3.35, 67, 67])}
pictures.curves(roof, xlabel="operations per byte", ylabel="at most (TFLOP/s)", log="xy", marks=intensity)

# %% [markdown]
# With one row, as when a language model writes one token, 39 of 40 arithmetic units wait for the weight. With 512 rows, the
# weight is read once for all of them and the roof is reached.
#
# ### 6ND
# The arithmetic of a whole training step has a rule of thumb: 6 operations for each parameter and each token, 2 forward
# and 4 backward. Count it on two blocks of a transformer:

# %% tags=["proof-6ND"]
for width, length in ((64, 64), (128, 64), (256, 32)):
    blocks = nn.Sequential(*[nn.TransformerEncoderLayer(width, 4, 4 * width) for _ in range(2)])
    tokens = mytorch.randn(length, 2, width).requires_grad_()
    with count_flops() as flops:
        blocks(tokens).sum().backward()
    rule = 6 * sum(each.numel() for each in blocks.parameters()) * 2 * length
    print(f"width {width:3}, length {length}: {flops.total() / rule:.2f} of 6ND", end=", ")
    print(f"{(flops.total() - 12 * 2 * width * length * 2 * length) / rule:.2f} without attention's scores")

# %% [markdown]
# **Interview · How many FLOPs does a training step take?**
#
# - *Thirty seconds:* 6ND for N parameters and D tokens. A weight meets each token in one multiplication and one addition
#   forward, and twice that backward: for the gradient of the input and for its own.
# - *Longer:* Attention's scores add 12 · layers · width · length a token, as much as the weights' products at a length of 6 times the width. Embeddings
#   are looked up, not multiplied.
# - *They ask next:* And with checkpoints? 8ND. Inference? 2ND.
# - *The trap:* Utilization: 6ND per second, divided by the peak of the *same* precision, without a sparsity factor.
# - *Proof:* `proof-6ND`, `proof-accumulate`.
#
# ## Eight bits
# A weight for inference can be an integer from −127 to 127 and a scale: w ≈ q · scale. How many weights should share one?
# Here 64 outputs do, and one of them has larger weights than the others:

# %% tags=["proof-outlier"]
from mytorch.nn.quantization import fake_quantize, quantize

x, base, errors = mytorch.randn(100, 256), mytorch.randn(64, 256), {"one scale": [], "a scale for each row": []}
for factor in (1, 3, 10, 30, 100):
    weight = mytorch.cat([base[:1] * factor, base[1:]])
    for line, dim in zip(errors.values(), (None, -1), strict=True):
        q, scale = quantize(weight, dim)
        wrong = (x @ (q * scale).T - x @ weight.T)[:, 1:]
        line.append((wrong.square().mean() / (x @ base[1:].T).square().mean()).sqrt().item())
print("error of the other 63 outputs:", {name: [f"{each:.1%}" for each in line] for name, line in errors.items()})
pictures.curves(errors, [1, 3, 10, 30, 100], xlabel="factor of the outlier row", ylabel="relative error", log="xy")

# %% [markdown]
# One outlier stretches the scale of all. With a scale for each row, it keeps its damage to itself.
#
# **Interview · int8: what are scale and zero point, why per channel, what of outliers?**
#
# - *Thirty seconds:* x ≈ (q − zero point) · scale. The zero point is usually 0 for weights, which are roughly symmetric, and shifts the range for
#   activations such as ReLU's. A scale for each output row costs four bytes a row and confines outliers.
# - *Longer:* Outliers in *activations* sit in a few columns, which all rows share. Ways out: keep these columns in 16 bits, or move their scale
#   into the weight.
# - *They ask next:* What becomes faster? Decoding, which reads each weight once a token: a quarter of float32's bytes.
# - *The trap:* Judging by the mean error of the weights instead of the model's outputs.
# - *Proof:* `proof-outlier`, `proof-roofline`.
#
# ### Training for few bits
# Rounding after training is fine in 8 bits. In 2 bits, weights of −1, 0 and 1 times a scale, the network should learn to live with it. So
# round in the forward pass. The derivative of rounding is 0 almost everywhere, and nothing would learn. `fake_quantize`, in your
# library a `Function`, takes it to be 1 within the range:

# %% tags=["proof-round"]
for function in (lambda x: x.round(), lambda x: fake_quantize(x, 0.5, 0, -8, 7)):
    w = mytorch.tensor([0.375, 5.0], requires_grad=True)
    function(w).sum().backward()
    print(w.tolist(), "become", function(w).tolist(), "with gradients", w.grad.tolist())

# %% [markdown]
# `fake_quantize` passed the gradient of 0.375 on. 5.0 was clamped to 3.5, the end of the range, so moving it a little changes nothing.
# Now train a linear layer on digits:

# %% tags=["proof-straight-through"]
from sklearn.datasets import load_digits

inputs, labels = (mytorch.tensor(each.tolist()) for each in load_digits(return_X_y=True))


def two_bits(weight):
    return fake_quantize(weight, 1.5 * weight.detach().abs().mean().item(), 0, -1, 1)


runs = {"rounded after training": lambda weight: weight, "rounded while training": two_bits}
for name, change in runs.items():
    mytorch.manual_seed(1)
    layer, runs[name] = nn.Linear(64, 10, bias=False), []
    for _ in range(200):
        layer.zero_grad()
        nn.functional.cross_entropy(inputs / 16 @ change(layer.weight).T, labels).backward()
        mytorch.optim.SGD(layer.parameters(), lr=1.0).step()
        runs[name].append(nn.functional.cross_entropy(inputs / 16 @ two_bits(layer.weight).T, labels).item())
    print(f"{name}: loss in 2 bits {runs[name][-1]:.1f}")
pictures.curves(runs, xlabel="step", ylabel="loss in 2 bits (nats)")

# %% [markdown]
# **Interview · PTQ or QAT, and what is the gradient of `round`?**
#
# - *Thirty seconds:* Post-training quantization rounds a trained model, with a few batches to find the scales: enough for 8
#   bits, often for 4. Quantization-aware training rounds in each forward pass: for fewer bits, at the price of training.
# - *Longer:* The gradient of `round` is 0 almost everywhere. The straight-through estimator replaces it by 1, and by 0 where the
#   number was clamped.
# - *They ask next:* Which weights does the optimizer move? The ones in full precision.
# - *The trap:* `x.round()` in the forward pass: it trains without an error, and the weights before it get gradients of 0.
# - *Proof:* `proof-straight-through`, `proof-round`.
#
# ## Free, and still no room
# PyTorch asks the driver for large pieces of memory and cuts blocks from them. What is freed stays with PyTorch
# (*reserved*), so that the next tensor needn't wait. Here is a model of it: twelve cells, and
# tensors that must be in one piece. −1 means nowhere:


# %% tags=["proof-fragments"]
row = "..bb..dd..ff"  # six tensors of two cells each were there, and three of them are freed
print(f"{row.count('.')} of {len(row)} cells are free; two go to {row.find('..')}, three to {row.find('...')}")

# %% [markdown]
# **Interview · Allocated or reserved, and what is fragmentation?**
#
# - *Thirty seconds:* Allocated is what tensors occupy, reserved what PyTorch holds from the driver. A large gap between the two,
#   with an out-of-memory error, is fragmentation: free, but not in one piece.
# - *Longer:* Sequences of varying length cause it. `PYTORCH_ALLOC_CONF=expandable_segments:True` lets pieces grow.
# - *They ask next:* Why does `nvidia-smi` show more? It shows what is reserved, and the CUDA context.
# - *The trap:* `empty_cache()` in each step: slower, and a block that is partly used stays.
# - *Proof:* `proof-fragments`.
#
# ## The real one
# PyTorch has two kinds of `checkpoint`. Yours is like the older, `use_reentrant=True`: one node that runs a backward pass inside the backward
# pass. Such a node is left behind only if an *argument* requires a gradient:

# %% tags=["proof-reentrant"]
print("yours:", checkpointed(mytorch.nn.Linear(2, 2), mytorch.ones(1, 2)).requires_grad, end=", ")
print("use_reentrant=False:", checkpoint(torch.nn.Linear(2, 2), torch.ones(1, 2), use_reentrant=False).requires_grad)

# %% [markdown]
# The newer one keeps each node in the graph. Only the tensors that the nodes saved are replaced by numbers, and the first one
# that is asked for has all of them computed again. Both restore what the second run depends on. minitorch's:

# %%
import inspect

print(inspect.getsource(inspect.getmodule(checkpoint)._restored))

# %% [markdown] tags=["short"]
# Beyond yours, it knows that each GPU has a generator of its own, and `preserve_rng_state=False` skips the generators.
#
# ## Rapid fire
# 1. Adam's state, in bytes a parameter? 8.
# 2. Operations of a product of (m, k) and (k, n)? 2mkn.
# 3. Checkpointing 100 equal layers: how many segments take the least memory? 10.
# 4. How many scales for a (4096, 1024) weight, one for each output? 4,096.
# 5. Does the weight of an int8 layer train? No, it is a buffer.

# %% tags=["proof-rapid-fire"]
with count_flops() as flops:
    mytorch.ones(2, 3) @ mytorch.ones(3, 5)
print("1.", sum(optimizer.state[model.weight][name].element_size() for name in ("exp_avg", "exp_avg_sq")))
print("2.", flops.total(), " 3.", min((2, 4, 5, 10, 20, 25, 50), key=lambda k: max(trail(k, 100))))
print("4. and 5.", [(name, each.numel()) for name, each in nn.Int8Linear(nn.Linear(1024, 4096)).named_buffers()])

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. 16 bytes a parameter with Adam; activations on top, and they grow with the batch.
# 2. The peak is at the end of the forward pass.
# 3. A checkpoint keeps inputs, and pays with a second forward pass.
# 4. The second run needs the same random numbers.
# 5. √n segments. One around everything saves nothing.
# 6. Online softmax: largest score, sum, weighted values. Triples merge.
# 7. FlashAttention saves traffic, not operations.
# 8. Intensity below the ridge: memory decides.
# 9. A training step is 6ND.
# 10. A scale for each row confines outliers; `round` needs a straight-through gradient.
#
# ## You try
# [The exercises](../exercises/22b_memory.ipynb): predict bytes; write `checkpoint`, online softmax with its merge, and int8 weights;
# repair a checkpoint with dropout; and measure the best number of segments. [Chapter 23](23_multi_gpu.ipynb), about several GPUs, is next.
