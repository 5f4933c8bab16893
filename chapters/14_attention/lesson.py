# %% [markdown]
# # Attention
# After this chapter a GPT runs on your own library, from a file written for PyTorch's interface, and recites what it
# has learned. You'll know why scores are scaled, what a mask has to forbid, and what heads are for.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(16)  # your library; chapter 16 brings loss and optimizer for the milestone

# %% [markdown] tags=["short"]
# ## Dog bites man
# Three words, each a vector, go through an attention layer. Then the same words go through in reverse order. Does the
# layer see a difference?

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
# It doesn't: each word gets the same vector in both sentences. Without a mask, attention sees a *bag* of vectors: which
# ones there are, but not where. (It is *permutation equivariant*: reordered inputs give reordered outputs.) If order
# matters, positions have to be put in. GPT-2 adds a second embedding, one for each position; newer models often
# rotate queries and keys instead ([chapter 24b](24b_llama.ipynb)).
#
# **Interview · How does a transformer know the order of its tokens?**
#
# - *Thirty seconds:* Attention alone doesn't, so positions are put in. The first transformer added sines and cosines to the
#   embeddings, GPT-2 adds a learned vector for each position, and Llama rotates queries and keys.
# - *Longer:* Learned vectors end with the table. Sines and rotations are formulas that go on, but a model that has never
#   seen such positions still does badly there. With rotations, what a score knows of positions is the
#   distance between the two tokens ([chapter 24b](24b_llama.ipynb)).
# - *They ask next:* Doesn't a causal mask give the order away? It tells a position which tokens came before it. Swap two of
#   those, and one layer gives every later position the same result.
# - *The trap:* building a model from `nn.TransformerEncoder` and forgetting positions. PyTorch adds none.
# - *Proof:* `proof-order`, `proof-causal`.
#
# ## A soft lookup
# A Python dict compares a query with its keys, and returns the value of the one that is equal. Attention compares too, but
# softly: a dot product says how well each key matches, softmax turns the scores into weights, and the result is the
# weighted mean of *all* values.


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
# A query that points at the first key finds nearly its value. One that points nowhere gets the plain mean. There are no
# jumps, so gradients flow to queries, keys and values, and a network can learn what to ask for.
#
# In **self-attention**, queries, keys and values are three linear maps of the same vectors. Two matrix products do all
# the lookups at once: $\text{softmax}(QK^\top / \sqrt{d})\,V$.

# %% tags=["proof-lookup"]
import math

from course import pictures

torch.manual_seed(1)
q, k, v = (torch.randn(3, 4) for _ in range(3))
scores = q @ k.T / math.sqrt(4)
weights = scores.softmax(-1)
print("sums of the rows:", [round(each, 3) for each in weights.sum(1).tolist()])
print(f"differs from the library by {(weights @ v - F.scaled_dot_product_attention(q, k, v)).abs().max().item():.4f}")
names = {"scores": scores, "weights": weights, "weights @ v": weights @ v}
shown = [(name, [[round(each, 1) for each in row] for row in x.tolist()]) for name, x in names.items()]
pictures.grids(shown[0], "softmax", shown[1], "@ v", shown[2])

# %% [markdown]
# **Interview · What does attention compute, and what does it cost?**
#
# - *Thirty seconds:* For each query a weighted mean of the values; the weights are the softmax of scaled dot products with
#   the keys.
# - *Longer:* The score matrix has length × length entries, so time and, if it is stored, memory grow with the square of
#   the length. The linear maps around it grow with the length only.
# - *They ask next:* What does it know about order? Nothing, without positions. A causal mask tells a position which words
#   came before it, but one layer still sees those as a bag.
# - *The trap:* Softmax along the wrong dimension. It goes over the *keys*: rows sum to 1.
# - *Proof:* `proof-lookup`; order: `proof-order`, `proof-causal`; memory: `proof-rapid-fire`; exercise 7 measures the cost.
#
# ### Why divide by $\sqrt d$?
# Break it: leave the division out. Entries of $q$ and $k$ are normal numbers. How far apart are the scores of 16 keys, how
# large is the largest weight, and how much gradient does a query get? There are 500 queries, so take the median.


# %% tags=["proof-scale"]
def measure(width, divisor):
    torch.manual_seed(0)
    q, k = torch.randn(500, 1, width, requires_grad=True), torch.randn(500, width, 16)
    scores = q @ k / divisor
    weights = scores.softmax(-1)
    (weights @ torch.randn(500, 16, 1)).sum().backward()
    gradient = q.grad.norm(dim=-1)
    found = scores.std(), weights.amax(-1).mean(), gradient.median(), (gradient < 1e-3).float().mean()
    return [each.item() for each in found]


widths, lines = [1, 4, 16, 64, 256, 1024], {}
for name, divisor in {"by 1": lambda d: 1, "by √d": math.sqrt, "by d": lambda d: d}.items():
    rows = list(zip(*[measure(d, divisor(d)) for d in widths], strict=True))
    lines[name] = [round(each, 2) for each in rows[2]]
    for what, row in zip(("spread", "largest weight", "median gradient", "share < 0.001"), rows, strict=True):
        print(f"{name:5} {what:15}", *(f"{each:6.2f}" for each in row))
pictures.curves(lines, widths, xlabel="width d", ylabel="norm of the gradient at q, median", log="x")

# %% [markdown]
# A dot product of $d$ random terms has a standard deviation of $\sqrt d$. Softmax of scores that far apart is nearly a
# one-hot choice: at a width of 64 a tenth of the queries get hardly any gradient, at 1024 more than half, so they can't
# learn to look elsewhere. Dividing by $\sqrt d$ keeps the spread at 1 and the gradient steady. Dividing by $d$ makes all 16
# weights nearly equal where $d$ is large, and the gradient shrinks.
#
# **Interview · Why are the scores divided by $\sqrt d$?**
#
# - *Thirty seconds:* If the entries of two vectors of width $d$ are independent, with mean 0 and variance 1, their dot
#   product has variance $d$, so its standard deviation is $\sqrt d$. Without the division softmax saturates, and the
#   wider the head, the more queries get hardly any gradient.
# - *Longer:* $d$ is the width of one head, not of the model.
# - *They ask next:* Could you learn the scale? Yes, it is only a temperature. $1/\sqrt d$ is a good value to start from.
# - *The trap:* Dividing by $d$. Then a wide head starts out with nearly equal weights and a small gradient.
# - *Proof:* `proof-scale`.
#
# ## Masks
# In training, a language model predicts the next token at every position at once. Train one on *random* digits: nothing
# can predict them, so no model can stay below $\ln 10 = 2.30$ without cheating.


# %% tags=["proof-leak"]
def train_on_noise(causal, steps=200):
    torch.manual_seed(0)
    digit, place, head = nn.Embedding(10, 32), nn.Embedding(8, 32), nn.Linear(32, 10)
    block = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.ModuleList([digit, place, block, head])
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=3e-3), []
    mask = torch.ones(8, 8, dtype=torch.bool).triu(1) if causal else None
    for _ in range(steps):
        tokens = torch.randint(0, 10, (32, 9))
        scores = head(block(digit(tokens[:, :-1]) + place(torch.arange(8)), mask))
        loss = F.cross_entropy(scores.reshape(-1, 10), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


curves = {"causal": train_on_noise(True), "no mask": train_on_noise(False)}
for name, losses in curves.items():
    print(f"{name:8} mean loss of the last 20 steps {sum(losses[-20:]) / 20:.1f}, possible {math.log(10):.1f}")
pictures.curves(curves, xlabel="step", ylabel="loss (nats)", alt="2.3 with a causal mask, far less without.")

# %% [markdown]
# Without a mask the model finds the answer one place to the right. If a loss is too good to be true, look for a
# leak. The **causal mask** sets the scores of later keys to −inf *before* softmax, so their weights are exactly 0, and the
# others sum to 1.

# %% tags=["proof-causal"]
allowed = torch.ones(5, 5, dtype=torch.bool).tril()
q = k = v = torch.randn(5, 4)
before = F.scaled_dot_product_attention(q, k, v, is_causal=True)
k2, v2 = (torch.cat([each[:3], torch.full((2, 4), 9.0)]) for each in (k, v))  # another future
after = F.scaled_dot_product_attention(q, k2, v2, is_causal=True)
print("positions that changed:", (before != after).any(1).tolist())
swapped = F.scaled_dot_product_attention(*[q[[1, 0, 2, 3, 4]]] * 3, is_causal=True)  # the first two words
print("after a swap they moved by", [round(each, 1) for each in (before - swapped).abs().amax(1).tolist()])
pictures.grid(allowed.int(), allowed, "1: the query (row) may look at the key (column)")

# %% [markdown]
# Sentences of different lengths are **padded** to one length, and no query may look at padding. Watch out: PyTorch has two
# interfaces for this, and they mean opposite things by `True`.

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

# %% [markdown] tags=["short"]
# In the last line no key is left. Softmax of nothing but −inf is `nan`, and `nan` is what the layer returns if it is asked
# for its weights, as it is by default. `scaled_dot_product_attention` gives zeros instead, and so will yours. (In
# evaluation mode under `no_grad`, PyTorch's layer may take a *fast path* for self-attention, which gives `nan` with
# `need_weights=False`, too. minitorch has none.)
#
# **Interview · How does a causal mask work, and how do you test it?**
#
# - *Thirty seconds:* The scores of later keys become −inf before softmax. To test it, go to evaluation mode and change a
#   later token: no earlier output may change.
# - *Longer:* A padding mask hides keys, one row for each sentence. Both are added to the scores, so they combine.
# - *They ask next:* Why not multiply the weights by 0 after softmax? The hidden scores would still be in the divisor.
# - *The trap:* `True` means *look* in `scaled_dot_product_attention`, and *don't look* in `MultiheadAttention`.
# - *Proof:* `proof-causal`, `proof-mask-meaning`; a leak: `proof-leak`; exercise 6 is about the divisor.
#
# **Interview · BERT or GPT: what is the difference?**
#
# - *Thirty seconds:* The mask, and with it the task. BERT's attention looks both ways, and it learns to fill in tokens that
#   are hidden in its input. GPT's is causal, and it learns to predict the next token, at every position at once.
# - *Longer:* A model that looks both ways can't learn to predict the next token, because it sees it. So BERT hides some 15 %
#   of its tokens and learns from those alone, while GPT learns from each.
# - *They ask next:* Which one for what? To write text one token after the other you need the causal one. For classifying
#   and searching, one that looks both ways is often as good at a smaller size.
# - *The trap:* "GPT is the first transformer's decoder." That one also attends to an encoder, which GPT doesn't have.
# - *Proof:* `proof-leak`, `proof-causal`.
#
# ## Heads
# One softmax gives one set of weights: a mean of what it looks at. Several **heads** look at different places at once. Each
# works on its own slice of the queries, keys and values, and a last linear map mixes their results.

# %% tags=["proof-heads"]
import numpy as np

x = np.random.default_rng(0).normal(size=(1, 5, 12)).astype("float32")
for heads in (1, 3, 12):
    theirs, mine = (lib.nn.MultiheadAttention(12, heads, batch_first=True) for lib in (torch, mytorch))
    mine.load_state_dict({key: mytorch.tensor(each.tolist()) for key, each in theirs.state_dict().items()})
    both = [each(*[lib.tensor(x)] * 3, average_attn_weights=False) for lib, each in ((torch, theirs), (mytorch, mine))]
    gap = max(np.abs(np.subtract(a.tolist(), b.tolist())).max() for a, b in zip(*both, strict=True))
    count = sum(each.numel() for each in mine.parameters())
    print(f"{heads:2} heads: {count} parameters, weights {tuple(both[1][1].shape)}, largest difference {gap:.4f}")

# %% [markdown] given="mytorch.nn.attention:MultiheadAttention.merged mytorch.nn.attention:TransformerEncoderLayer.forward"
# With the same numbers in both, mytorch's layer gives what minitorch's gives. The number of heads changes neither the
# parameters nor the work in the linear maps; there are only more, smaller dot products. You write `split_heads`,
# `merge_heads` and `attend`, the core of the layer.
#
# **Interview · Why several heads instead of one wide one?**
#
# - *Thirty seconds:* Each head has its own softmax, so a position can look at several places for several reasons. One head
#   would blend them into one mean.
# - *Longer:* Each head is `embed_dim / num_heads` wide, so the parameters stay the same.
# - *They ask next:* What is the shape inside? (N, heads, L, d): split the last dimension, then swap heads and length.
# - *The trap:* Reshaping to (N, heads, L, d) without the swap. It runs, and mixes positions
#   ([chapter 03](03_views_and_layout.ipynb) has that bug).
# - *Proof:* `proof-heads`.
#
# ## A block
# A transformer block has two branches: attention, which moves information between positions, and two linear layers, which
# work at each position by itself. The result of each branch is *added* to its input, and a layer norm normalizes the
# branch's input, or the sum. `merged` below combines two masks into one that is added to the scores; `forward` is
# the block, in both orders.

# %% [markdown]
# How many parameters is that? In units of the width's square:

# %% tags=["proof-block-size"]
blocks = [nn.TransformerEncoderLayer(width, 4, 4 * width) for width in (64, 128, 256)]
print([round(sum(each.numel() for each in b.parameters()) / b.linear1.in_features**2, 2) for b in blocks])

# %% [markdown]
# Attention has four maps of $d$ to $d$, and the two linear layers go to $4d$ and back: $4d^2 + 8d^2$. Biases and norms add
# $13d$.
#
# **Interview · How many parameters does a transformer block have?**
#
# - *Thirty seconds:* About $12d^2$. Attention has four maps of $d \times d$, and the MLP has $d \times 4d$ and back, $8d^2$.
#   Biases and norms are a rest of $13d$.
# - *Longer:* GPT-2 has 12 blocks of width 768: $12 \cdot 12 \cdot 768^2$ is 85 million. The table of 50,257 words adds 39
#   million and serves as the output layer, too. With the positions it is 124 million.
# - *They ask next:* And the work? About 2 operations for each parameter and token forwards and 6 with the backward pass
#   ([chapter 22b](22b_memory.ipynb)). The scores of attention come on top.
# - *The trap:* multiplying by the number of heads. They share the width, so the parameters stay the same.
# - *Proof:* `proof-block-size`, `proof-heads`.
#
# In the first transformer the norm came *after* the addition (post-norm). GPT-2 put it *before*, inside the branch
# (pre-norm). The third line below keeps both norms and leaves out both additions. How much gradient reaches the first of
# 48 blocks, compared with the last?


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
# **Interview · What are the residual connections for, and where does the norm go?**
#
# - *Thirty seconds:* Adding the input gives gradients a way around each branch. Without it they often shrink from block to
#   block, as they do here. Pre-norm normalizes the branch's input, post-norm the sum.
# - *Longer:* With pre-norm no block normalizes the sum itself, so it grows with depth. A GPT ends with one more norm.
# - *They ask next:* Which one trains more easily? Pre-norm. Post-norm usually needs a warm-up of the learning rate
#   ([Xiong et al. 2020](https://arxiv.org/abs/2002.04745)).
# - *The trap:* Forgetting the last norm of a pre-norm model.
# - *Proof:* `proof-residual`.
#
# ## Milestone: GPT on your library
# `minitorch/models/gpt.py` is a GPT-2 of 150 lines. Only its imports change; then both libraries train it from the same
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
# The losses agree at each step. Now give yours something to read: four lines of the Zen of Python, one character at a
# time. There is so little text that the model learns it by heart.

# %% tags=["proof-zen"]
text = """Beautiful is better than ugly.
Explicit is better than implicit.
Simple is better than complex.
Complex is better than complicated.
"""
letters = sorted(set(text))
numbers = np.array([letters.index(each) for each in text])
model, losses = train(mytorch, mine, numbers, 250, vocab_size=len(letters))
written = model.generate(mytorch.tensor(numbers[None, :9]), 21, top_k=1)[0].tolist()  # after "Beautiful"
print("".join(letters[each] for each in written))
pictures.curves({"mytorch": losses}, xlabel="step", ylabel="loss (nats)", alt="It falls to a few tenths.")

# %% [markdown]
# What do its heads look at? Queries and keys come out of `c_attn`; their weights are one softmax away. Move the sliders.


# %%
def draw(layer, head):
    seen = []
    handle = model.transformer.h[layer].attn.c_attn.register_forward_hook(lambda module, args, out: seen.append(out))
    model(mytorch.tensor([written]))
    handle.remove()
    q, k, _ = (each[0, :, head * 12 : head * 12 + 12] for each in seen[0].split(48, 2))
    scores = (q @ k.mT / math.sqrt(12)).masked_fill(mytorch.ones(len(q), len(q)).triu(1) > 0, -math.inf)
    ax = pictures.axes(6, 5.4)
    ax.imshow([[(0.0, 0.45, 0.7, weight) for weight in row] for row in scores.softmax(-1).tolist()])  # blue, and alpha
    characters = [letters[each] for each in written]
    ax.set(xlabel="key", ylabel="query", xticks=range(len(q)), yticks=range(len(q)))
    ax.set_xticklabels(characters), ax.set_yticklabels(characters)
    return pictures.publish(ax, alt=f"Weights of head {head} in block {layer}, none above the diagonal.")


pictures.slider(draw, start={"layer": 1, "head": 0}, layer=[0, 1], head=[0, 1, 2, 3])

# %% [markdown] tags=["short"]
# ## Writing faster: the KV cache
# `generate` feeds the whole text again for each new token. Is that needed? Append a token, and see what changes inside
# the model:


# %% tags=["proof-KV-cache"]
def second_block_sees(tokens):
    seen = []
    handle = model.transformer.h[1].register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    model(tokens)
    handle.remove()
    return seen[0]


tokens = mytorch.tensor([written])
longer, shorter, slid = (second_block_sees(each) for each in (tokens, tokens[:, :-1], tokens[:, 1:]))
print(f"a token more: earlier positions moved by {(longer[:, :-1] - shorter).abs().max().item():.3f}")
print(f"after the window slid: by at least {min(0.5, (longer[:, 1:] - slid).abs().max().item())}")
print(f"positions through the model for 100 tokens: {sum(range(1, 101))}, or 100 with a cache")

# %% [markdown]
# Nothing changed: earlier positions don't look ahead. So their keys and values can be kept, and only the new token goes
# through the model. That ends when the text is longer than the model's `block_size`: the window slides, each token gets
# another position, and all keys change. You build a cache in the exercises. There is one more catch: a new token is a
# single query for many keys.

# %% tags=["proof-causal-corner"]
new, kept = torch.randn(1, 4), torch.randn(5, 4)
for causal in (True, False):
    print("is_causal", causal, attend(new, kept, torch.eye(5), is_causal=causal)[0] > 0)

# %% [markdown]
# `is_causal` lines queries and keys up at the *first* one. A single query then sees a single key. With a cache, a single
# new query needs no causal mask. Several new queries do need a mask; exercise 5 asks which.
#
# **Interview · What is a KV cache?**
#
# - *Thirty seconds:* When a causal model writes, keys and values of earlier tokens don't change. Keep them; each new token
#   computes its own query, key and value, and attends to the cache.
# - *Longer:* In a GPT the cache holds 2 · layers · length · width numbers for each sequence, so it grows with the length.
# - *They ask next:* Why aren't queries kept? Each is used once, at its own position. And beyond the context length? With
#   learned positions the cache is useless as soon as the window slides.
# - *The trap:* `is_causal=True` for the new token: it would see the first key only. And its position is the length of the
#   cache, not 0.
# - *Proof:* `proof-KV-cache`, `proof-causal-corner`.
#
# ## The real one
# What minitorch's function computes, after its checks:

# %%
from minitorch.ops.nn.attention import _attention

print("    scale = 1" + inspect.getsource(_attention).partition("    scale = 1")[2])

# %% [markdown] tags=["short"]
# It multiplies queries *and* keys by the root of the scale, which keeps the products in range for small types; if somebody
# passes a negative scale, `copysign` gives its sign to the queries. `hidden` marks queries with no key left: their
# scores stay finite, and their weights become 0. 16-bit inputs were widened to float32 before, and `kind` is the type that
# they had. PyTorch's fused kernels (FlashAttention and others) never store the
# whole matrix of weights. The mathematics is the same as yours.
#
# ## Rapid fire
# 1. Batch 8, 12 heads, length 1024, float32: how much memory do one layer's attention weights take? 403 MB.
# 2. Does attention's formula have parameters? No, usually they are in the linear maps around it.
# 3. Queries of length 3, keys of length 5: what shape is the output? (3, width of the values).
# 4. Which way does attention's softmax go? Over the keys, [the last dimension](proof-lookup).
# 5. May a query and a key have different widths? Not after their linear maps. Values may have a width of their own.

# %% tags=["proof-rapid-fire"]
from course import check

print("1.", 8 * 12 * 1024 * 1024 * 4 / 1e6, "MB")
print("2.", sum(each.numel() for each in layer.parameters()), "=", 4 * 8 * 8 + 4 * 8)
q, k, v = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 7)
print("3.", tuple(F.scaled_dot_product_attention(q, k, v).shape))
print("5.", type(check.error(F.scaled_dot_product_attention, q, v, k)).__name__)

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Attention is a soft lookup: weights from queries and keys, a weighted mean of values.
# 2. Without a mask it sees a bag of vectors, in no order. Positions must be put in.
# 3. Scores are divided by the root of the head's width, or softmax saturates.
# 4. Softmax goes over the keys; each row sums to 1.
# 5. Masks are −inf before softmax, not 0 after it.
# 6. `True` means look in `scaled_dot_product_attention`, hidden in `MultiheadAttention`.
# 7. A loss that is too good to be true points to a leak. In evaluation mode, change a later token and look.
# 8. Heads are slices of queries, keys and values, each with its own softmax.
# 9. A block adds to its input: attention moves between positions, linear layers work at each.
# 10. A KV cache works because causal attention doesn't look ahead, as long as the window doesn't slide.
#
# ## You try
# [The exercises](../exercises/14_attention.ipynb): predict what a changed token changes; write attention, heads, and
# the sampling of tokens; build a KV cache; repair a mask; and measure when the square of the length takes over.
# [Chapter 15](15_recurrent_networks.ipynb) reads one token after the other instead.
