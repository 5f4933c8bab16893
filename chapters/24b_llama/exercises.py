# %% [markdown]
# # Exercises · Four swaps: GPT-2 becomes Llama
# Three of the exercises add to your library, and once you have solved them, a Llama runs and writes with your code.
# These three run inside files of `mytorch`, where all names that a task or a docstring mentions are defined; import
# anything else in the cell itself.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch import nn
from minitorch.models import llama
from minitorch.nn import functional as F

# %% [markdown] exercise="llama_predict_cache" kind="predict" points=1
# ### Exercise 1 · What does the cache contain?
# A Llama with 3 layers and a hidden size of 64 has 8 query heads and 2 heads of keys and values. It gets a prompt of
# 10 tokens and generates 5:
#
# ```python
# caches, new = model.new_caches(), prompt            # prompt: (1, 10)
# for _ in range(5):
#     logits, _ = model(new, caches=caches)
#     p = probabilities(logits[:, -1], top_k=3, top_p=0.75)
#     new = p.multinomial(1)
# ```
#
# 1. How long is each cache at the end?
# 2. How many elements do all caches contain together?
# 3. Without a cache, how many positions would have passed through the model in the five steps together?
# 4. In one step, the probabilities of the most likely tokens are 0.4, 0.3, 0.2 and 0.1. From how many tokens is the
#    next one drawn? Top-k comes first, and the probabilities that it keeps are divided by their sum before top-p.
#
# Set `prediction` to a list of four integers.

# %% solution="llama_predict_cache"
### BEGIN SOLUTION
prediction = [14, 1344, 60, 2]
### END SOLUTION

# %% check="llama_predict_cache"
names = ["length", "cached elements", "positions without a cache", "tokens to draw from"]
check.show({name: int(value) for name, value in zip(names, prediction, strict=True)}, secret=True)

# %% [markdown] hint="llama_predict_cache"
# A token enters the cache when it passes through the model. Has the last token passed through it?

# %% [markdown] hint="llama_predict_cache"
# A head has a width of 64 / 8. Each layer caches a key and a value for each of its 2 heads and each position. Without
# a cache, the steps read 10, 11, 12, 13 and 14 tokens.

# %% [markdown] hint="llama_predict_cache"
# Top-k keeps three tokens, whose probabilities are then 0.44, 0.33 and 0.22. Of these, top-p takes the fewest whose
# sum reaches 0.75.

# %% mutant="llama_predict_cache"
# The last token is in the cache
# The last token was drawn, but it hasn't passed through the model yet, so 10 + 4 tokens are in the cache.
prediction = [15, 1440, 60, 2]

# %% mutant="llama_predict_cache"
# A cache for each query head
# Only keys and values are cached, and there are 2 heads of them, not 8.
prediction = [14, 5376, 60, 2]

# %% mutant="llama_predict_cache"
# Top-p of the probabilities before top-k
# Top-k comes first, and the probabilities of the three tokens that it keeps sum to 1 again: 0.44 and 0.33 reach 0.75.
prediction = [14, 1344, 60, 3]

# %% mutant="llama_predict_cache"
# Stops before the sum is reached
# The token with which the sum reaches p is kept. With 0.44 alone, the sum would be below 0.75.
prediction = [14, 1344, 60, 1]

# %% mutant="llama_predict_cache"
# Counts keys only
# Values are cached as well.
prediction = [14, 672, 60, 2]


# %% [markdown] exercise="llama_rope" kind="core" points="2 1 1" part="mytorch.nn.llama:rotary_tables mytorch.nn.llama:rotate_half mytorch.nn.llama:apply_rotary"
# ### Exercise 2 · Rotary positions
# Write the rotation of queries and keys. The pairs are Hugging Face's: in a head of width `dim`, elements i and i +
# dim/2 form pair i. Rotating a pair (a, b) by an angle gives (a cos − b sin, b cos + a sin).
#
# Positions are *absolute*. If the cache contains 20 tokens, the next token's position is 20, and the cached keys have
# already been rotated.


# %% docstrings="llama_rope"
def rotary_tables():
    """The cosines and sines, each (T, dim), for positions (T,).

    Pair i, from 0 to dim/2 - 1, is rotated by `position · theta ** (-2i / dim)`. Both elements of a pair have the same
    angle and are dim/2 apart, so each row consists of dim/2 angles and the same ones again. The tables are on the
    positions' device.
    """


def rotate_half():
    """(a, b) as (-b, a), where a and b are the first and the second half of the last dimension."""


def apply_rotary():
    """Rotates queries or keys (N, heads, T, dim), each by the angles of its position; `positions` is (T,).

    With tables for the whole width, the result is `x` times the cosines plus `rotate_half(x)` times the sines.
    """


# %% check="llama_rope"
generator = check.rng()
parts = mytorch.nn.llama
dim = 2 * int(generator.integers(3, 6))
x = mytorch.tensor(generator.normal(size=(2, 3, 4, dim)).astype("float32").tolist())
first = int(generator.integers(5, 20))
positions = mytorch.arange(first, first + 4)
cos, sin = parts.rotary_tables(positions, dim, 100.0)
turned = parts.apply_rotary(x, positions, 100.0)
leaf = mytorch.ones(1, 1, 2, dim, requires_grad=True)
(parts.apply_rotary(leaf, mytorch.tensor([0, 9])) * mytorch.arange(dim)).sum().backward()
query, key = x[:1, :1, :1], x[1:, 1:2, :1]


def score(shift):
    a, b = (parts.apply_rotary(each, mytorch.tensor([at + shift])) for each, at in ((query, 5), (key, 2)))
    return (a * b).sum()


attention = parts.GroupedQueryAttention(4 * dim, 4, 2)
mytorch.manual_seed(check.seed())
for each in attention.parameters():
    mytorch.nn.init.normal_(each, std=0.3)
mytorch.cuda.simulate(1)
tables = []
gpu_error = check.error(lambda: tables.extend(parts.rotary_tables(mytorch.tensor([3, 4], device="cuda"), 4)))
mytorch.cuda.State.gpus = None
prompt, cache = mytorch.randn(1, 6, 4 * dim), parts.KVCache()
with mytorch.no_grad():
    pieces = [attention(prompt[:, :4], cache), attention(prompt[:, 4:5], cache), attention(prompt[:, 5:], cache)]
    whole = attention(prompt)
check.show(
    {
        "width of a head, positions": [dim, positions],
        "cosines": cos,
        "sines": sin,
        "cosines of theta 10,000": parts.rotary_tables(mytorch.tensor([3]), dim)[0],
        "tables of positions on a GPU": gpu_error or [each.device for each in tables],
        "halves": parts.rotate_half(mytorch.arange(6)),
        "halves of a 4-d and a 3-d tensor": [parts.rotate_half(x), parts.rotate_half(x[0])],
        "rotated": turned,
        "squared lengths": [(x * x).sum(-1), (turned * turned).sum(-1)],
        "attention scores after shifts of 0, 7 and 100": [score(shift) for shift in (0, 7, 100)],
        "gradient": leaf.grad,
        "attention at once": whole,
        "in pieces, with a cache": mytorch.cat(pieces, 1),
    },
    rtol=1e-4,
    atol=1e-4,
    text="The tables, rotated vectors, and attention scores after both positions were shifted.",
)

# %% [markdown] hint="llama_rope"
# Begin with the frequencies: `arange(0, dim, 2)` has 2i for each pair. What should the table contain at position 0?

# %% [markdown] hint="llama_rope"
# `positions.unsqueeze(-1) * frequencies` is (T, dim/2). Concatenate it with itself along the last dimension, using
# `cat`, and take both `cos()` and `sin()`.

# %% [markdown] hint="llama_rope"
# The frequencies are `theta` to the power of minus 2i/dim, on the device of the positions. `x.chunk(2, -1)` gives both
# halves, and the docstring of `apply_rotary` says how to combine `x`, its rotated halves and the tables.


# %% mutant="llama_rope"
# Neighbours as pairs
# Here each angle occurs twice in a row, for elements 2i and 2i + 1, whereas the elements of Hugging Face's pairs are
# dim/2 apart.
def rotary_tables(positions, dim, theta=10000.0):
    inverse = theta ** (arange(0, dim, 2, device=positions.device) / -dim)
    angles = positions.unsqueeze(-1) * inverse
    angles = angles.unsqueeze(-1).expand(-1, -1, 2).flatten(-2)
    return angles.cos(), angles.sin()


# %% mutant="llama_rope"
# The exponents are half as large
# The exponent is 2i / dim, so that the lowest frequency is nearly `theta` times lower than the highest.
def rotary_tables(positions, dim, theta=10000.0):
    inverse = theta ** (arange(0, dim // 2, device=positions.device) / -dim)
    angles = cat([positions.unsqueeze(-1) * inverse] * 2, -1)
    return angles.cos(), angles.sin()


# %% mutant="llama_rope"
# Counts from 0
# Positions are absolute. If the cache contains 20 tokens, the next one is at position 20, not at 0.
def rotary_tables(positions, dim, theta=10000.0):
    inverse = theta ** (arange(0, dim, 2, device=positions.device) / -dim)
    angles = cat([(positions - positions[0]).unsqueeze(-1) * inverse] * 2, -1)
    return angles.cos(), angles.sin()


# %% mutant="llama_rope"
# The minus on the other half
# (b, -a) rotates in the opposite direction. Attention scores stay the same, but a checkpoint that was trained with
# the other direction computes nonsense.
def rotate_half(x):
    first, second = x.chunk(2, -1)
    return cat([second, -first], -1)


# %% mutant="llama_rope"
# Rotates neighbours
# In the paper elements 2i and 2i + 1 form a pair. The task asks for Hugging Face's pairs, whose elements are half a
# head apart.
def rotate_half(x):
    even, odd = x[..., ::2], x[..., 1::2]
    return cat([-odd.unsqueeze(-1), even.unsqueeze(-1)], -1).flatten(-2)


# %% mutant="llama_rope"
# Swaps without a minus
# (b, a) is a reflection, not a rotation, so lengths change.
def rotate_half(x):
    first, second = x.chunk(2, -1)
    return cat([second, first], -1)


# %% mutant="llama_rope"
# Sine and cosine exchanged
# At position 0 nothing may be rotated, so the cosine, which is 1 there, belongs to `x` itself.
def apply_rotary(x, positions, theta=10000.0):
    cos, sin = rotary_tables(positions, x.shape[-1], theta)
    return x * sin + rotate_half(x) * cos


# %% mutant="llama_rope"
# Forgets theta
# Models with long contexts have a larger `theta`, which has to be passed to the tables.
def apply_rotary(x, positions, theta=10000.0):
    cos, sin = rotary_tables(positions, x.shape[-1])
    return x * cos + rotate_half(x) * sin


# %% mutant="llama_rope"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def apply_rotary(x, positions, theta=10000.0):
    from minitorch.models import llama

    return llama.apply_rotary(x, positions, theta)


# %% [markdown] exercise="llama_gqa" kind="core" points="1 1 2" part="mytorch.nn.llama:repeat_kv mytorch.nn.llama:KVCache.append mytorch.nn.llama:GroupedQueryAttention.forward"
# ### Exercise 3 · Grouped queries and a cache
# Write attention in which several query heads share one head of keys and values, and which continues where its cache
# ends. The constructor is provided: `self.q_proj`, `k_proj`, `v_proj` and `o_proj` are linear layers, `self.heads`
# and `self.kv_heads` are the numbers of heads, and `self.theta` is None for a model without rotation. `split_heads`,
# `merge_heads` and `scaled_dot_product_attention` come from chapter 14, and `len(cache)` is the number of tokens in a
# cache.


# %% docstrings="llama_gqa"
def repeat_kv():
    """Each head of (N, kv heads, T, dim) several times in a row: (N, kv heads · times, T, dim).

    With `times` = 2, heads a, b become a, a, b, b, so that the first group of queries gets the first head of keys.
    (Your library has no `repeat_interleave`.)
    """


def append():
    """Appends new keys and values to the cached ones along the tokens, and returns all of both.

    The arguments are a key and a value, each (N, kv heads, T, dim). `self.kept` starts as an empty tuple, and is
    (keys, values) later. Tensors that were returned before must not change, and gradients flow back through all of them.
    """


def forward():
    """(N, T, hidden) to the same.

    With a cache, these tokens follow the cached ones: their positions start at `len(cache)`, their keys, rotated, and
    values are appended, and the cache holds `self.kv_heads` heads. Without a cache, positions start at 0. Rotate
    queries and keys with `self.theta`, or leave them unrotated if that is None. Each token attends to all cached
    tokens, to itself, and to the new tokens before it. A boolean mask is True where a query may attend. What you make,
    such as positions and a mask, belongs on the device of `x`.
    """


# %% check="llama_gqa"
mytorch.manual_seed(check.seed())
generator = check.rng()
parts = mytorch.nn.llama
heads, dim = 2 * int(generator.integers(2, 4)), 4
groups = [(heads, 2), (heads, 1), (heads, heads)]
x = mytorch.randn(2, 7, heads * dim)


def layer(kv_heads, theta=10000.0):
    made = parts.GroupedQueryAttention(heads * dim, heads, kv_heads, theta)
    for each in made.parameters():
        mytorch.nn.init.normal_(each, std=0.3)
    return made


def in_pieces(made, lengths):
    cache, out = parts.KVCache(), []
    for piece in x.split(lengths, 1):
        out.append(made(piece, cache))
    return [mytorch.cat(out, 1), len(cache), [tuple(each.shape) for each in cache.kept], cache.kept[0][0, 0]]


def appended():
    cache, first = parts.KVCache(), [mytorch.randn(1, 2, 3, dim) for _ in range(2)]
    kept = cache.append(*first)
    again = cache.append(*[mytorch.randn(1, 2, 1, dim) for _ in range(2)])
    return [list(kept), list(again), len(cache), [tuple(each.shape) for each in kept]]


small = mytorch.arange(8).reshape(1, 2, 2, 2)
shown = {"heads, x": [heads, x], "repeated": parts.repeat_kv(small, 2), "repeated once": parts.repeat_kv(small, 1)}
shown["repeated three times, shape"] = tuple(parts.repeat_kv(x.reshape(2, 1, 7, -1), 3).shape)
shown["cache"] = appended()
with mytorch.no_grad():
    for kv_heads in (2, 1, heads):
        made = layer(kv_heads)
        shown[f"{kv_heads} kv heads"] = made(x)
        shown[f"{kv_heads} kv heads: prompt of 4, then one by one"] = in_pieces(made, [4, 1, 1, 1])
        shown[f"{kv_heads} kv heads: in pieces of 3, 3 and 1"] = in_pieces(made, [3, 3, 1])
    shown["without rotation"] = layer(2, None)(x)
    shown["theta 100"] = in_pieces(layer(2, 100.0), [4, 3])[0]
mytorch.cuda.simulate(1)
on_gpu = []
gpu_error = check.error(lambda: on_gpu.append(layer(2).to("cuda")(x.to("cuda"))))
shown["on a GPU"] = gpu_error or on_gpu[0].device
mytorch.cuda.State.gpus = None
made = layer(2)
made(x).sum().backward()
shown["gradient of k_proj"] = made.k_proj.weight.grad
made.zero_grad()
cache = parts.KVCache()
sum(made(piece, cache).square().sum() for piece in x.split([4, 3], 1)).backward()
shown["gradients through a cache"] = [made.k_proj.weight.grad, made.v_proj.weight.grad]
check.show(
    shown,
    rtol=1e-4,
    atol=1e-4,
    text="Results at once and in pieces, and what the caches contain: length, shapes, and the keys of the first head.",
)

# %% [markdown] hint="llama_gqa"
# Each token has to get the same result whether the layer reads the text at once or in pieces. Which results differ in
# your version, and from which token on?

# %% [markdown] hint="llama_gqa"
# In `repeat_kv`, add a new dimension after the heads, `expand` it to `times`, and flatten both into one. Rotate
# before you append, and repeat after you append, so that the cache stays small.

# %% [markdown] hint="llama_gqa"
# Query i of T new ones, after `kept` cached tokens, may attend to keys 0 to kept + i: `ones(T, kept + T,
# dtype=boolean).tril(kept)`. Read `len(cache)` before you append.


# %% mutant="llama_gqa"
# Repeats all heads in turn
# Heads a, b became a, b, a, b, but every query in the first group has to find head a.
def repeat_kv(x, times):
    return cat([x] * times, 1)


# %% mutant="llama_gqa"
# Repeats the tokens
# Here the new dimension comes after the tokens, so each token is repeated instead of each head.
def repeat_kv(x, times):
    n, heads, length, dim = x.shape
    return x.unsqueeze(3).expand(-1, -1, -1, times, -1).reshape(n, heads * times, length, dim)


# %% mutant="llama_gqa"
# Keeps only the newest
# The keys and values that were cached before are lost, whereas a cache grows.
def append(self, *new):
    self.kept = new
    return self.kept


# %% mutant="llama_gqa"
# Cuts the gradients off
# Detached keys and values are constants for autograd, so `k_proj` and `v_proj` don't learn from what was cached.
def append(self, *new):
    new = tuple(each.detach() for each in new)
    self.kept = tuple(cat([old, each], 2) for old, each in zip(self.kept, new, strict=True)) if self.kept else new
    return self.kept


# %% mutant="llama_gqa"
# Puts the new tokens first
# The keys are in the order of the tokens, which the mask relies on.
def append(self, *new):
    self.kept = tuple(cat([each, old], 2) for old, each in zip(self.kept, new, strict=True)) if self.kept else new
    return self.kept


# %% mutant="llama_gqa"
# Positions always start at 0
# If the cache contains 4 tokens, the next one is at position 4. At position 0, its distances to the cached keys are
# incorrect.
def forward(self, x, cache=None):
    length, kept = x.shape[1], 0 if cache is None else len(cache)
    q = split_heads(self.q_proj(x), self.heads)
    k, v = (split_heads(each(x), self.kv_heads) for each in (self.k_proj, self.v_proj))
    if self.theta is not None:
        q, k = (apply_rotary(each, arange(length), self.theta) for each in (q, k))
    k, v = (k, v) if cache is None else cache.append(k, v)
    k, v = (repeat_kv(each, self.heads // self.kv_heads) for each in (k, v))
    seen = ones(length, kept + length, dtype=boolean).tril(kept)
    return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, seen)))


# %% mutant="llama_gqa"
# Rotates the cached keys again
# A key is rotated once, when it is new. Here all cached keys are rotated again with each piece.
def forward(self, x, cache=None):
    length, kept = x.shape[1], 0 if cache is None else len(cache)
    q = split_heads(self.q_proj(x), self.heads)
    k, v = (split_heads(each(x), self.kv_heads) for each in (self.k_proj, self.v_proj))
    if self.theta is not None:
        q = apply_rotary(q, arange(kept, kept + length), self.theta)
        k = apply_rotary(k, arange(kept, kept + length), self.theta)
    if cache is not None:
        k, v = cache.append(k, v)
        if kept and self.theta is not None:
            k = apply_rotary(k, arange(kept + length), self.theta)
    k, v = (repeat_kv(each, self.heads // self.kv_heads) for each in (k, v))
    seen = ones(length, kept + length, dtype=boolean).tril(kept)
    return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, seen)))


# %% mutant="llama_gqa"
# Caches unrotated keys
# The result is correct, but all keys have to be rotated again with each new token. If a key is rotated before it is
# cached, that happens once.
def forward(self, x, cache=None):
    length, kept = x.shape[1], 0 if cache is None else len(cache)
    q = split_heads(self.q_proj(x), self.heads)
    k, v = (split_heads(each(x), self.kv_heads) for each in (self.k_proj, self.v_proj))
    k, v = (k, v) if cache is None else cache.append(k, v)
    if self.theta is not None:
        q = apply_rotary(q, arange(kept, kept + length), self.theta)
        k = apply_rotary(k, arange(kept + length), self.theta)
    k, v = (repeat_kv(each, self.heads // self.kv_heads) for each in (k, v))
    seen = ones(length, kept + length, dtype=boolean).tril(kept)
    return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, seen)))


# %% mutant="llama_gqa"
# `is_causal` for several tokens
# `is_causal` aligns the first query with the first key. With a cache, the first query belongs to the first *new* key.
def forward(self, x, cache=None):
    length, kept = x.shape[1], 0 if cache is None else len(cache)
    q = split_heads(self.q_proj(x), self.heads)
    k, v = (split_heads(each(x), self.kv_heads) for each in (self.k_proj, self.v_proj))
    if self.theta is not None:
        q, k = (apply_rotary(each, arange(kept, kept + length), self.theta) for each in (q, k))
    k, v = (k, v) if cache is None else cache.append(k, v)
    k, v = (repeat_kv(each, self.heads // self.kv_heads) for each in (k, v))
    return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, is_causal=length > 1)))


# %% mutant="llama_gqa"
# Caches repeated heads
# The cache should contain only the kv heads. If they are repeated before they are cached, they take as much memory as
# one head for each query head.
def forward(self, x, cache=None):
    length, kept = x.shape[1], 0 if cache is None else len(cache)
    q = split_heads(self.q_proj(x), self.heads)
    k, v = (split_heads(each(x), self.kv_heads) for each in (self.k_proj, self.v_proj))
    if self.theta is not None:
        q, k = (apply_rotary(each, arange(kept, kept + length), self.theta) for each in (q, k))
    k, v = (repeat_kv(each, self.heads // self.kv_heads) for each in (k, v))
    k, v = (k, v) if cache is None else cache.append(k, v)
    seen = ones(length, kept + length, dtype=boolean).tril(kept)
    return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, seen)))


# %% mutant="llama_gqa"
# A mask that starts at the first key
# `tril()` lets query 0 attend to key 0 only. With a cache, query 0 is the first of the new tokens, and it attends to
# all cached ones.
def forward(self, x, cache=None):
    length, kept = x.shape[1], 0 if cache is None else len(cache)
    q = split_heads(self.q_proj(x), self.heads)
    k, v = (split_heads(each(x), self.kv_heads) for each in (self.k_proj, self.v_proj))
    if self.theta is not None:
        q, k = (apply_rotary(each, arange(kept, kept + length), self.theta) for each in (q, k))
    k, v = (k, v) if cache is None else cache.append(k, v)
    k, v = (repeat_kv(each, self.heads // self.kv_heads) for each in (k, v))
    seen = ones(length, kept + length, dtype=boolean).tril()
    return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, seen)))


# %% mutant="llama_gqa"
# No mask after a cache
# That is correct for one new token. If there are several, the first must not attend to the ones after it.
def forward(self, x, cache=None):
    length, kept = x.shape[1], 0 if cache is None else len(cache)
    q = split_heads(self.q_proj(x), self.heads)
    k, v = (split_heads(each(x), self.kv_heads) for each in (self.k_proj, self.v_proj))
    if self.theta is not None:
        q, k = (apply_rotary(each, arange(kept, kept + length), self.theta) for each in (q, k))
    k, v = (k, v) if cache is None else cache.append(k, v)
    k, v = (repeat_kv(each, self.heads // self.kv_heads) for each in (k, v))
    return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, is_causal=not kept)))


# %% mutant="llama_gqa"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def repeat_kv(x, times):
    from minitorch.models import llama

    return llama.repeat_kv(x, times)


# %% [markdown] exercise="llama_sampler" kind="core" points=2 part="mytorch.generation:probabilities"
# ### Exercise 4 · From logits to probabilities
# Write the step between the model and the draw. It consists of temperature, top-k and top-p, in this order. You can
# use the methods of a tensor as well as `softmax` and `cat`; other functions need an import, such as `from mytorch
# import zeros_like`.


# %% docstrings="llama_sampler"
def probabilities():
    """The probabilities (N, V) from which a token is drawn, for logits (N, V). Each row sums to 1.

    The logits are divided by the temperature. At temperature 0 the largest logit gets probability 1, which equally
    large ones may share. With `top_k`, only the k largest logits of a row are kept, or all if there are fewer. With
    `top_p`, of the tokens that top-k kept, the fewest most likely ones are kept whose probabilities sum to `top_p` or
    more: a token is kept if those before it sum to less than `top_p`, and the most likely one always is, even if
    `top_p` is 0. Tokens that are as likely as the last one that is kept may be kept as well. All others get 0. The
    logits stay as they are.
    """


# %% check="llama_sampler"
generator = check.rng()
choose = mytorch.generation.probabilities
scores = mytorch.tensor((generator.permuted(np.arange(24).reshape(3, 8), axis=1) % 8 * 0.5).astype("float32").tolist())
known = mytorch.tensor([[0.4, 0.1, 0.3, 0.2], [0.05, 0.85, 0.06, 0.04]]).log()
cases = {
    "unchanged": {},
    "temperature 0.5": {"temperature": 0.5},
    "temperature 3": {"temperature": 3.0},
    "temperature 0": {"temperature": 0},
    "top-k 3": {"top_k": 3},
    "top-k 100": {"top_k": 100},
    "top-p 0.6": {"top_p": 0.6},
    "top-k 4, top-p 0.8": {"top_k": 4, "top_p": 0.8},
    "temperature 2, top-k 5, top-p 0.65": {"temperature": 2.0, "top_k": 5, "top_p": 0.65},
}
shown = {"scores": scores} | {name: choose(scores, **how) for name, how in cases.items()}
shown["0.4 0.1 0.3 0.2 and 0.05 0.85 0.06 0.04, top-p 0.65"] = choose(known, top_p=0.65)
shown["the same, top-k 3, top-p 0.75"] = choose(known, top_k=3, top_p=0.75)
shown["the same, logits lower by 200, top-k 2"] = choose(known - 200.0, top_k=2)
shown["0.5 0.25 0.25, top-p 0.5"] = choose(mytorch.tensor([[2.0, 1.0, 1.0]]).log(), top_p=0.5)
shown["the same, top-p 0"] = choose(known, top_p=0.0)
shown["the same, temperature 2, top-k 3, top-p 0"] = choose(known, temperature=2.0, top_k=3, top_p=0.0)
shown["the same, temperature 0"] = choose(known, temperature=0)
shown["logits nearly equal, temperature 0"] = choose(mytorch.tensor([[1.0, 1.000001, 0.5]]), temperature=0)
shown["large logits, temperature 0.01"] = choose(mytorch.tensor([[300.0, 299.0]]), temperature=0.01)
shown["of the opposite scores"] = choose(-scores)
shown["the logits afterwards"] = scores
check.show(shown, rtol=1e-4, text="The probabilities from which a token is drawn.")

# %% [markdown] hint="llama_sampler"
# Temperature 0 is equivalent to a certain value of another argument. Which one keeps only the largest logit?

# %% [markdown] hint="llama_sampler"
# For top-k, `logits.topk(k).values[:, -1:]` is the smallest logit that is kept; use `masked_fill` to set the others
# to −∞. For top-p, sort the probabilities, compute their `cumsum`, and subtract each probability itself, which gives
# the sum of those before it.

# %% [markdown] hint="llama_sampler"
# `ordered.cumsum(-1) - ordered >= top_p` is True where a sorted token is dropped. The smallest probability that is
# kept is the limit, and everything below it becomes 0. At the end, divide by the sum. With `top_p=0` this would drop
# every token, so treat it like temperature 0.


# %% mutant="llama_sampler"
# Drops the token that reaches top_p
# The token with which the sum reaches `top_p` is kept. Here it is dropped, and if a single token has more than that,
# none remains.
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    if temperature == 0:
        temperature, top_k = 1, 1
    logits = logits.div(temperature)
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    shares = softmax(logits, -1)
    ordered = shares.sort(-1, descending=True).values
    lowest = ordered.masked_fill(ordered.cumsum(-1) > top_p + 1e-6, math.inf).amin(-1, keepdim=True)
    shares = shares.masked_fill(shares < lowest, 0.0)
    return shares / shares.sum(-1, keepdim=True)


# %% mutant="llama_sampler"
# Nothing is left at top_p = 0
# No token has a sum below 0 before it, so all are dropped and 0/0 gives `nan`. The most likely token is always kept.
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    if temperature == 0:
        temperature, top_k = 1, 1
    logits = logits.div(temperature)
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    shares = softmax(logits, -1)
    ordered = shares.sort(-1, descending=True).values
    lowest = ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, math.inf).amin(-1, keepdim=True)
    shares = shares.masked_fill(shares < lowest, 0.0)
    return shares / shares.sum(-1, keepdim=True)


# %% mutant="llama_sampler"
# Doesn't divide by the sum
# The probabilities that are dropped leave a gap, so the rest has to be normalized to sum to 1 again.
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    if temperature == 0:
        temperature, top_k = 1, 1
    shares = softmax(logits.div(temperature), -1)
    if top_k is not None:
        least = shares.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        shares = shares.masked_fill(shares < least, 0.0)
    ordered = shares.sort(-1, descending=True).values
    lowest = ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, math.inf).amin(-1, keepdim=True)
    return shares.masked_fill(shares < lowest, 0.0)


# %% mutant="llama_sampler"
# Top-p before top-k
# Top-k comes first, so top-p uses probabilities that sum to 1 over the tokens that top-k kept.
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    if temperature == 0:
        temperature, top_k = 1, 1
    logits = logits.div(temperature)
    shares = softmax(logits, -1)
    ordered = shares.sort(-1, descending=True).values
    lowest = ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, math.inf).amin(-1, keepdim=True)
    shares = shares.masked_fill(shares < lowest, 0.0)
    if top_k is not None:
        least = shares.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        shares = shares.masked_fill(shares < least, 0.0)
    return shares / shares.sum(-1, keepdim=True)


# %% mutant="llama_sampler"
# Applies the temperature last
# The temperature comes first: a high temperature flattens the probabilities, so top-p has to keep more tokens.
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    if temperature == 0:
        temperature, top_k = 1, 1
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    shares = softmax(logits, -1)
    ordered = shares.sort(-1, descending=True).values
    lowest = ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, math.inf).amin(-1, keepdim=True)
    return softmax(logits.masked_fill(shares < lowest, -math.inf).div(temperature), -1)


# %% mutant="llama_sampler"
# Multiplies by the temperature
# A low temperature makes the largest logit stand out, so the logits are divided by it.
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    if temperature == 0:
        temperature, top_k = 1, 1
    logits = logits * temperature
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    shares = softmax(logits, -1)
    ordered = shares.sort(-1, descending=True).values
    lowest = ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, math.inf).amin(-1, keepdim=True)
    shares = shares.masked_fill(shares < lowest, 0.0)
    return shares / shares.sum(-1, keepdim=True)


# %% mutant="llama_sampler"
# Divides by 0
# At temperature 0 the division gives infinities, whose softmax is `nan`, so it needs a case of its own.
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    logits = logits.div(temperature)
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    shares = softmax(logits, -1)
    ordered = shares.sort(-1, descending=True).values
    lowest = ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, math.inf).amin(-1, keepdim=True)
    shares = shares.masked_fill(shares < lowest, 0.0)
    return shares / shares.sum(-1, keepdim=True)


# %% [markdown] exercise="llama_speculative" kind="build" points=3
# ### Exercise 5 · Speculative decoding with several drafts
# A small model has drafted k tokens. The large model has processed all of them in one pass, so its probabilities at
# k + 1 positions are known. Which tokens are produced? The lesson showed this for a single draft. Here the first
# rejected draft ends the round, and if all drafts are accepted, there is one more token for free.


# %% solution="llama_speculative"
def speculate(p: torch.Tensor, q: torch.Tensor, drafted: list[int], chances: list[float], draw) -> list[int]:
    """The tokens that one pass produces, at least one and at most k + 1.

    `q` (k, V) are the probabilities from which the k drafts were drawn, and `p` (k + 1, V) are the large model's at
    the same positions and at the next one. `chances` has a uniform number below 1 for each draft, which is accepted if
    the number is below min(1, p/q) of its token. `draw(probabilities)` draws a token from probabilities (V,), which
    have to sum to 1. Call it once. The arguments stay as they are.
    """
    ### BEGIN SOLUTION
    for place, (token, chance) in enumerate(zip(drafted, chances, strict=True)):
        if chance >= (p[place, token] / q[place, token]).item():
            more = (p[place] - q[place]).clamp(min=0)
            return [*drafted[:place], draw(more / more.sum())]
    return [*drafted, draw(p[-1])]
    ### END SOLUTION


# %% check="llama_speculative"
generator = check.rng()
k, size = 3, 4
p = torch.tensor(generator.dirichlet(np.ones(size), k + 1).astype("float32"))
q = torch.tensor(generator.dirichlet(np.ones(size), k).astype("float32"))
drafted = [int(each) for each in generator.integers(0, size, k)]


def traced(p, q, drafted, chances):
    """The tokens, the probabilities from which one was drawn, and the drafts afterwards; the most likely one is drawn."""
    drawn, drafted = [], list(drafted)

    def draw(shares):
        drawn.append(shares)
        return int(shares.argmax())

    return [list(check.intact(speculate, p, q, drafted, chances, draw)), drawn, drafted]


def frequencies(p, q, rounds=1500):
    """How often each first token is produced, and how many tokens a round produces."""
    firsts, count = np.zeros(len(p[0])), 0
    for _ in range(rounds):
        tokens = [int(generator.choice(len(row), p=row)) for row in q.numpy().astype("float64")]
        uniform = generator.random(len(tokens)).tolist()
        out = speculate(
            p,
            q,
            tokens,
            uniform,
            lambda shares: int(np.searchsorted(shares.numpy().cumsum(), generator.random() * 0.9999)),
        )
        firsts[out[0]] += 1
        count += len(out)
    return [firsts / rounds, round(count / rounds, 2)]


half, quarter = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]] * 2)
first, second = torch.tensor([[0.6, 0.3, 0.1]] * 3), torch.tensor([[0.2, 0.4, 0.4]] * 2)
wide, flat = torch.tensor([[0.5, 0.3, 0.1, 0.1]] * 2), torch.tensor([[0.3, 0.2, 0.25, 0.25]])
check.show(
    {
        "p, q, drafted": [p, q, drafted],
        "all accepted": traced(torch.cat([q, p[-1:]]), q, drafted, [0.9] * k),
        "chances near 0": traced(p, q, drafted, [1e-6] * k),
        "chances near 1": traced(p, q, drafted, [0.999999] * k),
        "the second is rejected": traced(first, second, [0, 2], [0.5, 0.5]),
        "the first is rejected": traced(first, second, [1, 0], [0.76, 0.1]),
        "a chance of exactly p / q": traced(quarter, half, [0], [0.5]),
        "p .5 .3 .1 .1, q .3 .2 .25 .25, the third is rejected": traced(wide, flat, [2], [0.9]),
        "no drafts": traced(p[:1], q[:0], [], []),
        "just accepted": traced(first, second, [1, 0], [0.74, 0.9]),
        "p .6 .3 .1, q .2 .4 .4, two drafts: first tokens, tokens a round": frequencies(first, second),
    },
    rtol=1e-4,
    text="The tokens that are produced, the probabilities from which one was drawn, and the drafts afterwards.",
)

# %% [markdown] hint="llama_speculative"
# Go through the drafts from the first one on. What has to happen to the drafts after a rejected one?

# %% [markdown] hint="llama_speculative"
# They were drafted after a token that has been replaced, so they are dropped. At the rejected position, draw from the
# part of p that exceeds q, divided by its sum.

# %% [markdown] hint="llama_speculative"
# `clamp(min=0)` keeps the positive part of a difference. `draw` expects probabilities that sum to 1. A loop that ends
# without a rejection has used k of the k + 1 rows of `p`, and the last one is for the free token.


# %% mutant="llama_speculative"
# Draws the replacement from p
# Tokens that the small model prefers have already had their chance. If the replacement is drawn from p, they are
# produced too often.
def speculate(p, q, drafted, chances, draw):
    for place, (token, chance) in enumerate(zip(drafted, chances, strict=True)):
        if chance >= (p[place, token] / q[place, token]).item():
            return [*drafted[:place], draw(p[place])]
    return [*drafted, draw(p[-1])]


# %% mutant="llama_speculative"
# Accepts with probability p
# The draft has already been drawn with probability q. It is accepted with probability p/q, so that both together give
# p.
def speculate(p, q, drafted, chances, draw):
    for place, (token, chance) in enumerate(zip(drafted, chances, strict=True)):
        if chance >= p[place, token].item():
            more = (p[place] - q[place]).clamp(min=0)
            return [*drafted[:place], draw(more / more.sum())]
    return [*drafted, draw(p[-1])]


# %% mutant="llama_speculative"
# Continues after a rejection
# The later drafts continue a token that has been replaced, so they are no longer valid.
def speculate(p, q, drafted, chances, draw):
    out = []
    for place, (token, chance) in enumerate(zip(drafted, chances, strict=True)):
        if chance < (p[place, token] / q[place, token]).item():
            out.append(token)
        else:
            more = (p[place] - q[place]).clamp(min=0)
            out.append(draw(more / more.sum()))
    return [*out, draw(p[-1])]


# %% mutant="llama_speculative"
# No token for free
# If all drafts are accepted, the large model's probabilities at the next position are already known.
def speculate(p, q, drafted, chances, draw):
    for place, (token, chance) in enumerate(zip(drafted, chances, strict=True)):
        if chance >= (p[place, token] / q[place, token]).item():
            more = (p[place] - q[place]).clamp(min=0)
            return [*drafted[:place], draw(more / more.sum())]
    return list(drafted)


# %% mutant="llama_speculative"
# The distance of p and q
# Where q is larger than p, the draft is produced often enough already. Draw only from the part of p that *exceeds* q,
# max(p − q, 0).
def speculate(p, q, drafted, chances, draw):
    for place, (token, chance) in enumerate(zip(drafted, chances, strict=True)):
        if chance >= (p[place, token] / q[place, token]).item():
            apart = (p[place] - q[place]).abs()
            return [*drafted[:place], draw(apart / apart.sum())]
    return [*drafted, draw(p[-1])]


# %% mutant="llama_speculative"
# All of p where it is larger
# Where p is larger than q, the drafts have already produced q of it, so only the difference p − q is missing.
def speculate(p, q, drafted, chances, draw):
    for place, (token, chance) in enumerate(zip(drafted, chances, strict=True)):
        if chance >= (p[place, token] / q[place, token]).item():
            larger = p[place].masked_fill(p[place] <= q[place], 0.0)
            return [*drafted[:place], draw(larger / larger.sum())]
    return [*drafted, draw(p[-1])]


# %% mutant="llama_speculative"
# Doesn't divide by the sum
# max(p − q, 0) sums to the probability of a rejection, not to 1.
def speculate(p, q, drafted, chances, draw):
    for place, (token, chance) in enumerate(zip(drafted, chances, strict=True)):
        if chance >= (p[place, token] / q[place, token]).item():
            return [*drafted[:place], draw((p[place] - q[place]).clamp(min=0))]
    return [*drafted, draw(p[-1])]


# %% [markdown] exercise="llama_repair_pieces" kind="repair" points=3
# ### Exercise 6 · A prompt in pieces
# Long prompts are read in pieces, so that other requests don't have to wait. `attend(q, k, v, padding)` gets the queries of
# one piece, (N, heads, T, D), and all keys and values so far, (N, heads, S, D), which are the cached ones followed by
# the piece's own. `padding` (N, S) is True where a row has padding, which is always on the left.
#
# If the prompt is read at once, everything is correct. If it is read in pieces of four, the first piece is correct,
# but from then on the model produces nonsense:
#
# ```text
# piece    loss at once    loss in pieces
# 1        2.3             2.3
# 2        2.2             3.9
# 3        2.1             4.4
# ```
#
# Fix `attend` for pieces of any length, including a single token.


# %% solution="llama_repair_pieces"
def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Causal attention of a piece, the last tokens, to all tokens except the padding: (N, heads, T, D).

    The results at positions that are padding themselves don't matter.
    """
    ### BEGIN SOLUTION
    T, S = q.shape[-2], k.shape[-2]
    allowed = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed & ~padding[:, None, None, :])
    ### END SOLUTION
    ### BEGIN STUB
    # T, S = q.shape[-2], k.shape[-2]
    # allowed = torch.ones(T, S, dtype=torch.bool).tril()
    # return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed & ~padding[:, None, None, :])
    ### END STUB


# %% check="llama_repair_pieces"
generator = check.rng()
N, S = 3, 9
q, k, v = (torch.tensor(generator.normal(size=(N, 2, S, 4)).astype("float32")) for _ in range(3))
padding = torch.arange(S) < torch.tensor([[0], [2], [5]])


def in_pieces(lengths):
    out, end = [], 0
    for length in lengths:
        start, end = end, end + length
        out.append(check.intact(attend, q[:, :, start:end], k[:, :, :end], v[:, :, :end], padding[:, :end]))
    real = ~padding[:, None, :, None]  # the results of the padding itself don't matter
    return torch.cat(out, 2).masked_fill(~real, 0.0)


pieces = {
    "all at once": [S],
    "in pieces of four": [4, 4, 1],
    "one by one": [1] * S,
    "a long prompt, then one by one": [6, 1, 1, 1],
    "in pieces of two and more": [2, 3, 4],
}
shown = {name: in_pieces(lengths) for name, lengths in pieces.items()}
q = 2 * q
check.show(
    shown | {"all at once, twice the queries": in_pieces([S])},
    rtol=1e-4,
    atol=1e-5,
    text="The result of each token; padding is shown as 0.",
)

# %% [markdown] hint="llama_repair_pieces"
# Print `allowed` for a piece of two tokens that follows three cached ones. Which keys may the first query attend to,
# and which keys should it attend to?

# %% [markdown] hint="llama_repair_pieces"
# Query i of the piece is token S − T + i of the text, so it may attend to keys 0 to S − T + i.

# %% [markdown] hint="llama_repair_pieces"
# `tril` takes the index of the diagonal up to which it keeps the elements. Index 0 lets query 0 see key 0 alone. Which
# index lets it see keys 0 to S − T?


# %% mutant="llama_repair_pieces"
# No mask after a cache
# That is correct for a single token. In a longer piece, the first tokens attend to the later ones.
def attend(q, k, v, padding):
    T, S = q.shape[-2], k.shape[-2]
    allowed = torch.ones(T, S, dtype=torch.bool)
    if T == S:
        allowed = allowed.tril()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed & ~padding[:, None, None, :])


# %% mutant="llama_repair_pieces"
# Drops the padding
# The mask is causal now, but rows with padding attend to it.
def attend(q, k, v, padding):
    T, S = q.shape[-2], k.shape[-2]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(T, S, dtype=torch.bool).tril(S - T))


# %% mutant="llama_repair_pieces"
# Hides a token from itself
# Query i is token S − T + i, which attends to its own key, so the diagonal is S − T, not one below it.
def attend(q, k, v, padding):
    T, S = q.shape[-2], k.shape[-2]
    allowed = torch.ones(T, S, dtype=torch.bool).tril(S - T - 1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed & ~padding[:, None, None, :])


# %% mutant="llama_repair_pieces"
# `is_causal` instead
# PyTorch's `is_causal` aligns the first query with the first key, as the faulty mask did.
def attend(q, k, v, padding):
    return F.scaled_dot_product_attention(q, k, v.masked_fill(padding[:, None, :, None], 0.0), is_causal=True)


# %% [markdown] exercise="llama_measure_width" kind="measure" points=2
# ### Exercise 7 · Widths at equal FLOPs
# A fair comparison of models requires equal costs. `flops(kv_heads, width)` runs a block of a Llama on a prompt, and
# counts the FLOPs of its matrix multiplications, those of attention included; `width` is the hidden size of its
# SwiGLU. For each number of KV heads in `choices`, find the largest width whose FLOPs are at most `budget`. You may
# call `flops` 24 times in all.
#
# Then look at the results: how much width do you gain from fewer KV heads, and where does the gain end?


# %% setup=true
def block_flops(hidden, heads, length):
    """A function flops(kv_heads, width) that runs a Llama's block, and counts what its matrix multiplications cost."""

    def flops(kv_heads, width):
        sizes = {"hidden_size": hidden, "intermediate_size": width, "num_attention_heads": heads}
        block = llama.LlamaDecoderLayer(llama.LlamaConfig(**sizes, num_key_value_heads=kv_heads))
        total = 0

        def count(layer, args, out):
            nonlocal total
            total += 2 * out.numel() * layer.in_features

        for each in block.modules():
            if isinstance(each, nn.Linear):
                each.register_forward_hook(count)
        with torch.no_grad():
            block(torch.zeros(1, length, hidden))
        return total + 2 * 2 * length * length * hidden  # attention scores, and weights times values

    return flops


# %% solution="llama_measure_width"
def widths(flops, budget: int, choices: list[int]) -> list[int]:
    """For each number of KV heads, the largest width that costs at most `budget` FLOPs."""
    ### BEGIN SOLUTION
    found = []
    for kv_heads in choices:
        one, two = flops(kv_heads, 1), flops(kv_heads, 2)
        found.append(1 + (budget - one) // (two - one))
    return found
    ### END SOLUTION


# %% check="llama_measure_width"
generator = check.rng()
shown = {}
for length, spare in ((8, 1), (64, 1), (16, 0)):  # the last budget is met exactly
    hidden = 16 * int(generator.integers(2, 5))
    flops, calls = block_flops(hidden, 8, length), []
    budget = flops(8, 8 * hidden // 3) + spare * int(generator.integers(1, 6 * hidden * length))

    def counted(kv_heads, width, flops=flops, calls=calls):
        calls.append(width)
        return flops(kv_heads, width)

    found = widths(counted, budget, [8, 4, 2, 1])
    shown[f"length {length}: hidden size"] = hidden
    shown[f"length {length}: widths"] = [each if each % 1 else int(each) for each in found]
    shown[f"length {length}: at most 24 calls"] = len(calls) <= 24
check.show(shown, secret=True, text="The widths for 8, 4, 2 and 1 KV heads.")

# %% [markdown] hint="llama_measure_width"
# What does one more unit of width cost, and does that depend on the width?

# %% [markdown] hint="llama_measure_width"
# The FLOPs are a linear function of the width. Two calls for each number of KV heads give its intercept and its
# slope.

# %% [markdown] hint="llama_measure_width"
# The slope is the difference between the FLOPs of widths 2 and 1. How often does it fit into what remains of the budget
# after width 1? FLOPs are integers, so `//` rounds down exactly.


# %% mutant="llama_measure_width"
# 8/3 whatever the number of heads
# Fewer KV heads make `k_proj` and `v_proj` narrower, and the FLOPs that this saves may go into the MLP.
def widths(flops, budget, choices):
    one, two = flops(choices[0], 1), flops(choices[0], 2)
    return [1 + (budget - one) // (two - one)] * len(choices)


# %% mutant="llama_measure_width"
# One above the budget
# This is the smallest width that costs more than the budget.
def widths(flops, budget, choices):
    found = []
    for kv_heads in choices:
        one, two = flops(kv_heads, 1), flops(kv_heads, 2)
        found.append(2 + (budget - one) // (two - one))
    return found


# %% mutant="llama_measure_width"
# Forgets the costs that don't depend on the width
# Attention's own matrix multiplications and its linear layers have a cost even at width 0.
def widths(flops, budget, choices):
    return [budget // (flops(kv_heads, 2) - flops(kv_heads, 1)) for kv_heads in choices]
