# %% [markdown]
# # Attention
# By the end of this chapter, a GPT written for PyTorch's interface will run on your own library and recite what it has learned. You will
# know why attention scores are scaled, what a mask has to hide, what heads are for, and how a decoder reads from an encoder.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(16)  # your library; chapter 16 brings loss and optimizer for the milestone

# %% [markdown] tags=["short"]
# ## Dog bites man
# Three words, each of them a vector, go through an attention layer, first in order and then reversed. Does the layer see a difference?

# %% tags=["proof-order"]
import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F

torch.manual_seed(0)
layer = nn.MultiheadAttention(8, 2, batch_first=True)
dog_bites_man = torch.randn(1, 3, 8)
one, other = (layer(words, words, words)[0] for words in (dog_bites_man, dog_bites_man.flip(1)))
print(f"each word's vector differs by at most {(one - other.flip(1)).abs().max().item():.4f}")

# %% [markdown] tags=["short"]
# It doesn't: each word gets the same vector in both sentences. Without a mask, attention sees a *bag* of vectors, so the result depends
# on which vectors there are, not on where they are. (It is *permutation equivariant*: reordering the inputs reorders the outputs.) So if
# order matters, you have to add positions.
#
# **Interview · How does a transformer know the order of its tokens?**
#
# - *Thirty seconds:* Attention by itself ignores the order, so positions are added. The first transformer added sines and cosines to the
#   embeddings, GPT-2 adds a learned vector for each position, and Llama rotates queries and keys.
# - *Longer:* A table of learned vectors has no row beyond its last position. Sines and rotations can be evaluated anywhere, but a
#   model does badly at positions that it never saw in training. With rotations, an attention score depends on positions only
#   through the distance between the two tokens ([chapter 24b](24b_llama.ipynb)).
# - *They ask next:* Doesn't a causal mask give the order away? In part. If you swap two tokens, a single layer gives every later position
#   the same result, but a second layer doesn't. So deep causal models can learn order without positions (*NoPE*), as some layers of Llama 4
#   do.
# - *The trap:* PyTorch's `nn.TransformerEncoder` doesn't add the positions, so models built from it often lack them.
# - *Proof:* `proof-order`, `proof-causal`.

# %% [markdown]
# ## A soft lookup
# A Python dict looks for the key that equals the query and returns its value. Attention does the same, but softly: a dot product measures
# how well each key matches, softmax turns these scores into weights, and the result is the weighted mean of *all* values.

# %%
torch.set_printoptions(precision=2, sci_mode=False)


def look_up(query, keys, values):
    weights = (keys @ query).softmax(0)
    return weights, weights @ values


keys = torch.tensor([[3.0, 0.0], [0.0, 3.0], [2.0, 2.0]])
values = torch.tensor([[10.0], [20.0], [30.0]])
for query in ([4.0, 0.0], [0.0, 4.0], [0.0, 0.0]):
    weights, found = look_up(torch.tensor(query), keys, values)
    print(query, "weights", weights, "found", f"{found.item():.2f}")

# %% [markdown]
# A query that points towards the first key returns nearly that key's value; a query of zeros returns the plain mean. The result
# changes smoothly, so gradients flow to queries, keys and values, and a network can learn what to look for.
#
# In **self-attention**, queries, keys and values are three linear projections of the same vectors, and two matrix multiplications do all
# the lookups at once: $\text{softmax}(QK^\top / \sqrt{d})\,V$.

# %% tags=["proof-lookup"]
import math

from course import pictures

torch.manual_seed(1)
q, k, v = (torch.randn(3, 4) for _ in range(3))
scores = q @ k.T / math.sqrt(4)
weights = scores.softmax(-1)
print("sums of the rows:", [round(total, 3) for total in weights.sum(1).tolist()])
print(f"differs from the library by {(weights @ v - F.scaled_dot_product_attention(q, k, v)).abs().max().item():.4f}")
names = {"scores": scores, "weights": weights, "weights @ v": weights @ v}
shown = [(name, [[round(value, 1) for value in row] for row in x.tolist()]) for name, x in names.items()]
pictures.grids(shown[0], "softmax", shown[1], "@ v", shown[2])

# %% [markdown]
# **Interview · What does attention compute, and what does it cost?**
#
# - *Thirty seconds:* For each query it computes a weighted mean of the values, whose weights are the softmax of scaled dot products
#   between that query and the keys. Time grows with the square of the length, and so does memory, if you store the weights.
# - *Longer:* The score matrix has length × length entries, but FlashAttention computes the same result in tiles and never stores it
#   ([chapter 22b](22b_memory.ipynb)).
# - *They ask next:* What dominates for short sequences? The projections around it, whose cost grows linearly with the length.
# - *The trap:* The softmax has to run over the *keys*, so that each row sums to 1. Along the wrong dimension the shapes fit as well.
# - *Proof:* `proof-lookup`; memory: `proof-rapid-fire`; exercise 7 measures the cost.
#
# ### Why three projections?
# Could queries and keys share a projection? Compare the scores with one matrix and with two:

# %% tags=["proof-three-projections"]
torch.manual_seed(0)
words, a, b = torch.randn(100, 16), torch.randn(16, 16), torch.randn(16, 16)
for name, other in (("shared", a), ("separate", b)):
    scores = (words @ a) @ (words @ other).T
    symmetric = (scores - scores.T).abs().max() < 0.001
    itself = (scores.argmax(1) == torch.arange(100)).float().mean()
    print(f"{name:8} symmetric: {symmetric.item()!s:5} rows that prefer themselves: {itself.item():.0%}")

# %% [markdown]
# With a shared matrix the scores are symmetric, and two thirds of the words attend most to themselves. A second matrix changes both.
#
# **Interview · Why does attention have three projections?**
#
# - *Thirty seconds:* A token plays three roles, and each needs its own vector: what it looks for, how it can be found, and what it passes
#   on. If queries and keys shared a projection, the scores would be symmetric, and most tokens would attend mainly to themselves.
# - *Longer:* A pronoun should find its noun without the noun finding the pronoun, so the scores have to be asymmetric. Separate values
#   allow the content that is passed on to differ from the content that is matched.
# - *They ask next:* Then why is there an output projection? To mix the heads' results, which until then are only concatenated.
# - *The trap:* They aren't three inputs: in self-attention all three are projections of the same vectors.
# - *Proof:* `proof-three-projections`.
#
# ### Why divide by $\sqrt d$?
# What breaks without the division? Take standard normal entries for 500 queries and 16 keys each, and measure the spread of the
# scores, the largest weight, the median gradient of a query, and how many queries get almost none.


# %% tags=["proof-scale"]
def measure(width, divisor):
    torch.manual_seed(0)
    q, k = torch.randn(500, 1, width, requires_grad=True), torch.randn(500, width, 16)
    scores = q @ k / divisor
    weights = scores.softmax(-1)
    (weights @ torch.randn(500, 16, 1)).sum().backward()
    gradient = q.grad.norm(dim=-1)
    found = scores.std(), weights.amax(-1).mean(), gradient.median(), (gradient < 1e-3).float().mean()
    return [result.item() for result in found]


widths, lines = [1, 4, 16, 64, 256, 1024], {}
for name, divisor in {"by 1": lambda d: 1, "by √d": math.sqrt, "by d": lambda d: d}.items():
    rows = list(zip(*[measure(d, divisor(d)) for d in widths], strict=True))
    lines[name] = [round(weight, 2) for weight in rows[2]]
    for what, row in zip(("spread", "largest weight", "median gradient", "share < 0.001"), rows, strict=True):
        print(f"{name:5} {what:15}", *(f"{weight:6.2f}" for weight in row))
pictures.curves(lines, widths, xlabel="width d", ylabel="norm of the gradient at q, median", log="x")

# %% [markdown]
# A dot product of $d$ random terms has a standard deviation of $\sqrt d$. The softmax of scores that far apart is nearly one-hot, so
# queries can't learn to look elsewhere: at a width of 64 a tenth of them get hardly any gradient, and at 1024 more than half. Dividing by
# $\sqrt d$ keeps the spread at 1 and the gradient steady. If you divide by $d$, all 16 weights become nearly equal for large $d$, and the
# gradient shrinks.
#
# **Interview · Why are the scores divided by $\sqrt d$?**
#
# - *Thirty seconds:* If the entries of two vectors of width $d$ are independent, with mean 0 and variance 1, their dot product has variance
#   $d$, so its standard deviation is $\sqrt d$. Without the division softmax saturates, and the wider the head is, the more queries get
#   hardly any gradient.
# - *Longer:* $d$ is the width of one head, not of the model.
# - *They ask next:* Could you learn the scale? Yes: it is only a temperature, and $1/\sqrt d$ is a good initial value.
# - *The trap:* If you divide by $d$ instead, a wide head gets nearly equal weights and a small gradient at the start.
# - *Proof:* `proof-scale`.
#
# ## Masks
# In training, a language model predicts the next token at every position at once. Train one on *random* digits: since nothing can predict
# them, no model can stay below $\ln 10 = 2.30$ without cheating.


# %% tags=["proof-leak"]
def train_on_noise(causal, seed, steps=200):
    torch.manual_seed(seed)
    digit, position, head = nn.Embedding(10, 32), nn.Embedding(8, 32), nn.Linear(32, 10)
    block = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.ModuleList([digit, position, block, head])
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=3e-3), []
    mask = torch.ones(8, 8, dtype=torch.bool).triu(1) if causal else None
    for _ in range(steps):
        tokens = torch.randint(0, 10, (32, 9))
        logits = head(block(digit(tokens[:, :-1]) + position(torch.arange(8)), mask))
        loss = F.cross_entropy(logits.reshape(-1, 10), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


curves = {}
for name, causal in (("causal", True), ("no mask", False)):
    three = [train_on_noise(causal, seed) for seed in range(3)]
    curves[name] = three[0]
    ends = [f"{sum(losses[-20:]) / 20:.1f}" for losses in three]
    print(f"{name:8} mean loss of the last 20 steps, three seeds: {ends}, possible {math.log(10):.1f}")
pictures.curves(curves, xlabel="step", ylabel="loss (nats)", alt="2.3 with a causal mask, far less without.")

# %% [markdown]
# Without a mask the model finds the answer one position to the right. Only the last of the eight positions has no right neighbour, so the
# model's loss falls to ln 10 / 8 = 0.3 instead of 0. If a loss is too good to be true, look for a leak.

# %% [markdown] tags=["short"]
# ### Causal and padding masks
# The **causal mask** sets the scores of later keys to −inf *before* softmax, so their weights are exactly 0 and the rest sum to 1.

# %% tags=["proof-causal"]
allowed = torch.ones(5, 5, dtype=torch.bool).tril()
q = k = v = torch.randn(5, 4)
before = F.scaled_dot_product_attention(q, k, v, is_causal=True)
k2, v2 = (torch.cat([tensor[:3], torch.full((2, 4), 9.0)]) for tensor in (k, v))  # another future
after = F.scaled_dot_product_attention(q, k2, v2, is_causal=True)
print("positions that changed:", (before != after).any(1).tolist())
words, swapped = q, q[[1, 0, 2, 3, 4]]  # the first two words change places
for depth in (1, 2):
    words, swapped = (F.scaled_dot_product_attention(x, x, x, is_causal=True) for x in (words, swapped))
    print(f"changed by a swap, after layer {depth}:", ((words - swapped).abs().amax(1) > 0.001).tolist())
pictures.grid(allowed.int(), allowed, "1: the query (row) may attend to the key (column)")

# %% [markdown]
# Another future changes only the last two positions, while a swap shows up behind the swapped words after two layers.
#
# Sentences of different lengths are **padded** to a common length, and no query may attend to the padding. PyTorch has two interfaces for
# such a mask, in which `True` means opposite things:

# %% tags=["proof-mask-meaning"]
padding = torch.tensor([[False, False, True]])  # True: this key is padding
x = torch.randn(1, 3, 8)
_, weights = layer(x, x, x, key_padding_mask=padding)
print("MultiheadAttention, True is hidden:    ", weights[0, 0].detach())
attend = F.scaled_dot_product_attention
eye = torch.eye(3).reshape(1, 3, 3)  # as values: the result shows the weights
for name, mask in {"~padding": ~padding, "padding ": padding}.items():
    seen = attend(x, x, eye, attn_mask=mask.unsqueeze(1))
    print(f"scaled_dot_product_attention, {name}:", seen[0, 0])
nowhere = torch.ones(1, 3, dtype=torch.bool)
print("no key left:", attend(x, x, x, ~nowhere)[0, 0, :2], layer(x, x, x, nowhere)[0][0, 0, :2].detach())

# %% [markdown]
# In the last line every key is hidden. The softmax of scores that are all −inf is `nan`, which the layer returns if it also returns its
# weights, as by default. `scaled_dot_product_attention` gives zeros instead, and so will yours.
#
# **Interview · How does a causal mask work, and how do you test it?**
#
# - *Thirty seconds:* It sets the scores of later keys to −inf before softmax, so their weights are 0. To test it, I switch to evaluation
#   mode and change a later token: no earlier output may change.
# - *Longer:* A padding mask hides keys, with one row for each sentence. Both masks are added to the scores, so they can be combined.
# - *They ask next:* Why not multiply the weights by 0 after softmax? The hidden scores would still be in the denominator.
# - *The trap:* The two masks are easily confused: `True` means *attend* in `scaled_dot_product_attention`, and *ignore* in
#   `MultiheadAttention`.
# - *Proof:* `proof-causal`, `proof-mask-meaning`; a leak: `proof-leak`; exercise 6 is about the denominator.
#
# **Interview · BERT or GPT: what is the difference?**
#
# - *Thirty seconds:* The difference is the mask, and with it the task. BERT's attention looks both ways, and the model learns to fill
#   in masked tokens of its input. GPT's attention is causal, and the model learns to predict the next token at every position at once.
# - *Longer:* A model that looks both ways sees the next token, so it can't learn to predict it. BERT masks about 15 % of the tokens and
#   learns from those alone; GPT learns from each token.
# - *They ask next:* When do you use which? To write text, the causal one, whereas for classification a smaller bidirectional one often
#   suffices.
# - *The trap:* GPT isn't the decoder of the first transformer, which also attends to an encoder that GPT doesn't have.
# - *Proof:* `proof-leak`, `proof-causal`, `proof-cross-attention`.

# %% [markdown]
# ## Cross-attention and encoder–decoder models
# So far queries, keys and values came from the same sequence. In **cross-attention** the queries come from one sequence, while keys and
# values come from another. Here a translator's decoder has written three words so far and reads the encoder's five:

# %% tags=["proof-cross-attention"]
torch.manual_seed(0)
source, written = torch.randn(1, 5, 8), torch.randn(1, 3, 8)
out, weights = layer(written, source, source)
print("out", tuple(out.shape), " weights", tuple(weights.shape))
decoder = nn.TransformerDecoderLayer(8, 2, 32, dropout=0.0, batch_first=True)
print("a decoder block attends with", [name for name, _ in decoder.named_children() if "attn" in name])
moved = source.clone()
moved[:, 4] += 1
mask = nn.Transformer.generate_square_subsequent_mask(3)
before, after = (decoder(written, memory, tgt_mask=mask) for memory in (source, moved))
print("the last source word changed, so did positions", (before != after).any(-1)[0].nonzero().flatten().tolist())

# %% [markdown]
# A decoder block has both kinds: causal self-attention over its own words, and then cross-attention to the encoder's output.
# Cross-attention needs no causal mask, because the whole source is known before the first word is written, but it does need the source's
# padding mask.
#
# **Interview · What is cross-attention, and where is it used?**
#
# - *Thirty seconds:* Queries come from one sequence, and keys and values from another. The output has the length of the queries, and the
#   weight matrix is target length × source length. Encoder–decoder models such as T5 and Whisper use it, and so do diffusion models for
#   their text prompt.
# - *Longer:* Keys and values of the source are computed once and reused for every token that is written, so this cache doesn't grow.
# - *They ask next:* Why did decoder-only models win? With source and target in one sequence, self-attention does both jobs. That leaves
#   one stack and one objective, and every token gives a training signal.
# - *The trap:* With a causal mask on the cross-attention as well, the first word would see only the first source word.
# - *Proof:* `proof-cross-attention`.
#
# ## Heads
# One softmax gives one set of weights, so its result is a single weighted mean of the values. Several **heads** can attend to different
# positions at once, because each works on its own slice of the queries, keys and values, and a final projection mixes their results.

# %% tags=["proof-heads"]
import numpy as np

x = np.random.default_rng(0).normal(size=(1, 5, 12)).astype("float32")
for heads in (1, 3, 12):
    theirs, mine = (lib.nn.MultiheadAttention(12, heads, batch_first=True) for lib in (torch, mytorch))
    mine.load_state_dict({key: mytorch.tensor(tensor.tolist()) for key, tensor in theirs.state_dict().items()})
    both = [mha(*[lib.tensor(x)] * 3, average_attn_weights=False) for lib, mha in ((torch, theirs), (mytorch, mine))]
    gap = max(np.abs(np.subtract(a.tolist(), b.tolist())).max() for a, b in zip(*both, strict=True))
    count = sum(parameter.numel() for parameter in mine.parameters())
    print(f"{heads:2} heads: {count} parameters, weights {tuple(both[1][1].shape)}, largest difference {gap:.4f}")

# %% [markdown] given="mytorch.nn.attention:MultiheadAttention.merged mytorch.nn.attention:TransformerEncoderLayer.forward"
# With the same weights, mytorch's layer returns what minitorch's returns. The number of heads changes neither the parameters nor the work
# in the projections; there are just more dot products, each of them shorter. You will write `split_heads`, `merge_heads` and `attend`,
# the core of the layer.
#
# **Interview · Why several heads instead of one wide one?**
#
# - *Thirty seconds:* Each head has its own softmax, so a position can attend to several others for different reasons. A single head would
#   blend them into one mean.
# - *Longer:* Each head is `embed_dim / num_heads` wide, so the number of parameters stays the same.
# - *They ask next:* What is the shape inside? (N, heads, L, d): split the last dimension, then swap heads and length.
# - *The trap:* A reshape to (N, heads, L, d) without the swap runs but mixes positions ([chapter 03](03_views_and_layout.ipynb)).
# - *Proof:* `proof-heads`.
#
# ## A transformer block
# A transformer block has two branches: attention, which moves information between positions, and two linear layers, which work on each
# position separately. The result of each branch is *added* to its input, and a layer norm normalizes either the branch's input or the
# sum. `merged` below combines two masks into one that is added to the scores, for which `additive` turns a boolean mask into zeros and
# −inf. `forward` is the block, in both orders.

# %% [markdown]
# How many parameters is that, as a multiple of $d^2$?

# %% tags=["proof-block-size"]
blocks = [nn.TransformerEncoderLayer(width, 4, 4 * width) for width in (64, 128, 256)]
print([round(sum(parameter.numel() for parameter in b.parameters()) / b.linear1.in_features**2, 2) for b in blocks])

# %% [markdown]
# Attention has four projections from $d$ to $d$, and the two linear layers go to $4d$ and back, which makes $4d^2 + 8d^2$. Biases and norms
# add the remaining $13d$.
#
# **Interview · How many parameters does a transformer block have?**
#
# - *Thirty seconds:* It has about $12d^2$ parameters. Attention has four projections of $d \times d$, and the MLP goes from $d$ to $4d$
#   and back, which is $8d^2$.
# - *Longer:* GPT-2 has 12 blocks of width 768, and $12 \cdot 12 \cdot 768^2$ is 85 million. The table of 50,257 tokens adds 39 million and
#   serves as the output layer as well, so with the positions it is 124 million.
# - *They ask next:* How much work is that? About 2 FLOPs per parameter and token in the forward pass, and 6 with the backward pass
#   ([chapter 22b](22b_memory.ipynb)), to which the attention scores are added.
# - *The trap:* Don't multiply by the number of heads. They share the width, so their number doesn't change the parameters.
# - *Proof:* `proof-block-size`, `proof-heads`.
#
# In the first transformer the norm came *after* the addition (post-norm), whereas GPT-2 put it *before*, inside the branch (pre-norm). The
# variant *no sums* keeps both norms and removes both additions. How much gradient reaches the first of 48 blocks, compared with the last?


# %% tags=["proof-residual"]
def deep(kind, depth=48):
    torch.manual_seed(0)
    options = {"dropout": 0.0, "batch_first": True, "norm_first": kind != "post-norm"}
    blocks = [nn.TransformerEncoderLayer(32, 4, 64, **options) for _ in range(depth)]
    x = torch.randn(4, 10, 32)
    for block in blocks:
        if kind == "no sums":
            x = block.self_attn(*[block.norm1(x)] * 3)[0]
            x = block.linear2(block.linear1(block.norm2(x)).relu())
        else:
            x = block(x)
    F.mse_loss(x, torch.randn(4, 10, 32)).backward()
    first, last = (block.linear1.weight.grad.norm().item() for block in (blocks[0], blocks[-1]))
    return f"{kind:9} gradient first / last {first / last:.2f}, spread of the output {x.std().item():.1f}"


print(deep("pre-norm"), deep("post-norm"), deep("no sums"), sep="\n")

# %% [markdown]
# With the sums, the first block gets a gradient of the same order as the last. Without them, it gets a hundredth here, and a few
# thousandths with seeds 1 to 3.
#
# **Interview · What are the residual connections for, and where does the norm go?**
#
# - *Thirty seconds:* Adding the input gives gradients a path around each branch. Without that path they often shrink from block to block,
#   as they do here. Pre-norm normalizes the branch's input, post-norm the sum.
# - *Longer:* With pre-norm no block normalizes the sum itself, so it grows with depth, and a GPT therefore ends with one more norm.
# - *They ask next:* Which one trains more easily? Pre-norm, because post-norm usually needs a warm-up of the learning rate ([Xiong et al.
#   2020](https://arxiv.org/abs/2002.04745)).
# - *The trap:* Many forget the last norm of a pre-norm model.
# - *Proof:* `proof-residual`.
#
# ## Milestone: GPT on your library
# `minitorch/models/gpt.py` is a GPT-2 in 150 lines. The next cell changes only its imports and trains it on both libraries from the same
# seed, with dropout.

# %% tags=["proof-GPT"]
import inspect
import sys
from types import ModuleType

from minitorch.models import gpt as theirs

mine = sys.modules["my_gpt"] = ModuleType("my_gpt")
exec(inspect.getsource(theirs).replace("minitorch", "mytorch"), mine.__dict__)


def train(lib, file, tokens, steps, batch=8, length=32, **sizes):
    lib.manual_seed(0)
    model = file.GPT(file.GPTConfig(block_size=length, n_layer=2, n_head=4, n_embd=48, **sizes))
    optimizer, losses, rng = lib.optim.AdamW(model.parameters(), lr=4e-3), [], np.random.default_rng(0)
    for _ in range(steps):
        rows = tokens[rng.integers(0, len(tokens) - length, (batch, 1)) + np.arange(length + 1)]
        _, loss = model(lib.tensor(rows[:, :-1]), lib.tensor(rows[:, 1:]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model.eval(), losses


noise = np.random.default_rng(1).integers(0, 20, 500)
both = [train(*run, noise, 8, vocab_size=20, dropout=0.1)[1] for run in ((torch, theirs), (mytorch, mine))]
print(f"the losses differ by at most {max(abs(a - b) for a, b in zip(*both, strict=True)):.3f}")

# %% [markdown]
# Now give your library something to read, one character at a time: four lines of the Zen of Python, so little text that the model
# memorizes it. Given the first word, it should then recite the line.

# %% tags=["proof-zen"]
text = """Beautiful is better than ugly.
Explicit is better than implicit.
Simple is better than complex.
Complex is better than complicated.
"""
letters = sorted(set(text))
numbers = np.array([letters.index(letter) for letter in text])
model, losses = train(mytorch, mine, numbers, 250, vocab_size=len(letters))
written = model.generate(mytorch.tensor(numbers[None, :9]), 21, top_k=1)[0].tolist()  # after "Beautiful"
print("".join(letters[number] for number in written))
pictures.curves({"mytorch": losses}, xlabel="step", ylabel="loss (nats)", alt="It falls to a few tenths.")

# %% [markdown] tags=["short"]
# ## KV cache
# `generate` feeds the whole text through the model again for each new token. Append a token, and see what changes inside:


# %% tags=["proof-KV-cache"]
def second_block_sees(tokens):
    seen = []
    handle = model.transformer.h[1].register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    model(tokens)
    handle.remove()
    return seen[0]


tokens = mytorch.tensor([written])
longer, shorter, slid = (second_block_sees(part) for part in (tokens, tokens[:, :-1], tokens[:, 1:]))
print(f"a token more: earlier positions moved by {(longer[:, :-1] - shorter).abs().max().item():.3f}")
print(f"after the window slid: by at least {min(0.5, (longer[:, 1:] - slid).abs().max().item())}")
print(f"positions through the model for 100 tokens: {sum(range(1, 101))}, or 100 with a cache")

# %% [markdown]
# Nothing changed: earlier positions don't attend to later ones. So a cache can keep their keys
# and values, and only the new token has to go through the model. It stops working when the text outgrows `block_size`:
# the window slides, each token gets a new position, and all keys change. One catch remains: a single new query faces many keys.

# %% tags=["proof-causal-corner"]
new, kept = torch.randn(1, 4), torch.randn(5, 4)
for causal in (True, False):
    print("is_causal", causal, attend(new, kept, torch.eye(5), is_causal=causal)[0] > 0)

# %% [markdown]
# `is_causal` aligns queries and keys at the *first* position, so a single query sees only the first key. With a cache, a single new query
# therefore needs no causal mask. Several need one that is aligned at the *last* position, like PyTorch's `causal_lower_right`.
#
# **Interview · What is a KV cache?**
#
# - *Thirty seconds:* While a causal model generates text, the keys and values of earlier tokens don't change. So I keep them, and each
#   new token computes only its own query, key and value and attends to the cache.
# - *Longer:* In a GPT the cache holds 2 · layers · length · width elements for each sequence, so it grows with the length. *Grouped-query
#   attention* lets several query heads share one head of keys and values, which makes the cache that many times smaller
#   ([chapter 24b](24b_llama.ipynb)).
# - *They ask next:* Why aren't queries cached? Each is used once, at its own position.
# - *The trap:* `is_causal=True` shows the new token only the first key, and its position isn't 0 but the cache's length.
# - *Proof:* `proof-KV-cache`, `proof-causal-corner`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Batch 8, 12 heads, length 1024, float32: how much memory do one layer's attention weights take? 403 MB.
# 2. Does attention's formula have parameters? No, they are in the projections around it.
# 3. With queries of length 3 and keys of length 5, what shape is the output? Three rows, as wide as the values.
# 4. Along which dimension does attention's softmax go? Over the keys, [the last dimension](proof-lookup).
# 5. Can a query and a key have different widths? Not after their projections, but values can have a width of their own.

# %% hidden=true tags=["proof-rapid-fire"]
from course import check

print("1.", 8 * 12 * 1024 * 1024 * 4 / 1e6, "MB")
print("2.", sum(parameter.numel() for parameter in layer.parameters()), "=", 4 * 8 * 8 + 4 * 8)
q, k, v = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 7)
print("3.", tuple(F.scaled_dot_product_attention(q, k, v).shape))
print("5.", type(check.error(F.scaled_dot_product_attention, q, v, k)).__name__)

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Attention is a soft lookup: weights from queries and keys, and a weighted mean of values.
# 2. Without a mask it sees a bag of vectors in no order, so positions have to be added.
# 3. Scores are divided by the root of the head's width, or softmax saturates.
# 4. Softmax goes over the keys, so each row sums to 1.
# 5. Masks set scores to −inf before the softmax, instead of setting weights to 0 after it.
# 6. In a mask, `True` means *attend* in `scaled_dot_product_attention`, and *ignore* in `MultiheadAttention`.
# 7. A loss that is too good to be true points to a leak, so change a later token in evaluation mode and compare.
# 8. Heads are slices of queries, keys and values, each with its own softmax.
# 9. In cross-attention, queries come from one sequence, and keys and values from another.
# 10. A KV cache works because earlier tokens don't attend to later ones, as long as the window doesn't slide.

# %% [markdown]
# ## You try
# In [the exercises](../exercises/14_attention.ipynb) you predict what changes with a single token and write attention, heads, and the
# sampling of tokens, which [chapter 24b](24b_llama.ipynb) explains. You also build a KV cache, fix a mask, and measure when the quadratic
# term takes over. [Chapter 15](15_recurrent_networks.ipynb) reads one token after the other instead.

# %% [markdown]
# ## If you have time
# ### What do the heads look at?
# Queries and keys come out of `c_attn`, and their attention weights are one softmax away. Each row belongs to one query, the character that
# attends, and a dark cell marks a character that it attends to. Which head learns what depends on the seed, so compare the heads: some rows
# are concentrated on one or two characters, while others spread over everything written so far.

# %%
from matplotlib.colors import LinearSegmentedColormap

clear_to_blue = LinearSegmentedColormap.from_list("weights", [(0.0, 0.45, 0.7, 0.0), (0.0, 0.45, 0.7, 1.0)])


def draw(layer, head):
    seen = []
    handle = model.transformer.h[layer].attn.c_attn.register_forward_hook(lambda module, args, out: seen.append(out))
    model(mytorch.tensor([written]))
    handle.remove()
    q, k, _ = (part[0, :, head * 12 : head * 12 + 12] for part in seen[0].split(48, 2))
    scores = (q @ k.mT / math.sqrt(12)).masked_fill(mytorch.ones(len(q), len(q)).triu(1) > 0, -math.inf)
    ax = pictures.axes(6, 5.4)
    shown = ax.imshow(scores.softmax(-1).tolist(), cmap=clear_to_blue, vmin=0, vmax=1)
    ax.figure.colorbar(shown, ax=ax, label="attention weight")
    characters = [letters[number] for number in written]
    ax.set(xlabel="key", ylabel="query", xticks=range(len(q)), yticks=range(len(q)))
    ax.set_xticklabels(characters), ax.set_yticklabels(characters)
    return pictures.publish(ax, alt=f"Weights of head {head} in block {layer}, none above the diagonal.")


pictures.slider(draw, start={"layer": 1, "head": 0}, layer=[0, 1], head=[0, 1, 2, 3])

# %% [markdown]
# ### Sines and cosines
# The first transformer computed its positions with a formula: each pair of columns has its own frequency, from one radian per position down
# to nearly a ten-thousandth (0.00018 here). The dot product of two positions then depends only on the distance between them:

# %% tags=["proof-sines"]
position, frequency = torch.arange(64.0)[:, None], 10000 ** (-torch.arange(0, 32, 2) / 32)
table = torch.cat([(position * frequency).sin(), (position * frequency).cos()], 1)
products = table @ table.T
print("distance 3, at positions 0, 20, 60:", [round(products[at, at + 3].item(), 2) for at in (0, 20, 60)])
pictures.curves(
    {"position 20": products[20].tolist()}, range(64), xlabel="other position", ylabel="dot product", marks={"20": 20}
)

# %% [markdown]
# ### Sliding windows
# Full attention gets expensive in long contexts. With a **sliding window**, each position attends only to the last few keys, here 4
# including its own, while information from further back arrives through the layers below:

# %% tags=["proof-window"]
near = torch.ones(16, 16).tril() * torch.ones(16, 16).triu(-3)
reach = torch.eye(16)
for depth in (1, 2, 3):
    reach = near @ reach
    print(
        f"layers: {depth}, position 15 depends on {int((reach[15] > 0).sum())} positions, and a cache holds 4 keys a layer"
    )

# %% [markdown]
# **Interview · How does a sliding window make attention cheaper, and what is lost?**
#
# - *Thirty seconds:* Each query attends to the last w keys, so time grows with length · w instead of length², and the KV cache never holds
#   more than w keys per layer. Direct access to older tokens is lost; their information has to travel through the layers, w − 1 positions
#   at a time.
# - *Longer:* Mistral 7B used a window of 4,096 in every layer. Gemma 2 and 3 mix windowed layers with layers of full attention, which
#   preserve exact retrieval over long distances.
# - *They ask next:* What if you drop the first tokens from the cache? Quality often collapses, so keep a few as *attention sinks*.
# - *The trap:* If you compute all scores and then mask them with a window, you save nothing. You save time and memory only with a kernel
#   that skips the masked tiles.
# - *Proof:* `proof-window`.
#
# ### The real one
# This is what minitorch's function computes, after its checks:

# %%
from minitorch.ops.nn.attention import _attention

print("    scale = 1" + inspect.getsource(_attention).partition("    scale = 1")[2])

# %% [markdown]
# It multiplies queries *and* keys by the root of the scale, which keeps the products in range for 16-bit types. If the scale is negative,
# `copysign` gives its sign to the queries. `hidden` marks queries with no key left: their scores stay finite, and their weights become 0.
# By then, 16-bit inputs have been converted to float32, and `kind` is their original dtype. PyTorch's fused kernels, such as
# FlashAttention, never store the whole matrix of weights, although the mathematics is the same as yours.
