# %% [markdown]
# # One decoder, twelve changes
# In this chapter you put a transformer decoder on the board and take it apart, as interviewers do. You change its
# positions, shrink its cache, bound its logits, and write its backward pass by hand. Some of these changes are
# *rewrites*, which keep the outputs up to rounding, while the others are *real changes*, and you learn to say which is
# which before you run the code. The exercises are whiteboard problems.

# %% [markdown] tags=["short"]
# ## A decoder on the board
# "Write a decoder" is how many of these rounds begin. Here is one in NumPy with the parts of a Llama: RMS norms, rotary attention with
# H heads, SwiGLU, and an embedding that is also the output matrix. T tokens have D elements each. The last lines check the two things
# that you should know of any new decoder: is the first loss near ln V, and does an earlier logit move when a later token changes?

# %% tags=["proof-decoder"]
import numpy as np

from course import pictures


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def causal_mask(queries, keys, window=None):
    """True where a query may attend to a key: the last query belongs to the last key."""
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    return (distance >= 0) & (distance < (window or keys))


def attend(q, k, v, bias=0.0, window=None, causal=True):
    scores = q @ k.mT / np.sqrt(q.shape[-1]) + bias
    allowed = causal_mask(q.shape[-2], k.shape[-2], window) | (not causal)
    return softmax(np.where(allowed, scores, -np.inf)) @ v


def rms_norm(x):
    return x / np.sqrt((x * x).mean(-1, keepdims=True))


def rotate(x):
    """RoPE: at position t, pair i of the elements is rotated by the angle t / 10**i."""
    a, b = np.split(x, 2, axis=-1)
    angles = np.arange(x.shape[-2])[:, None] / 10.0 ** np.arange(a.shape[-1])
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1)


def decoder(ids, causal=True, scale=1.0):
    x = table[ids]  # (T, D)
    for qkv, out, gate_up, down in blocks:
        q, k, v = (rms_norm(x) @ qkv).reshape(-1, 3, H, D // H).transpose(1, 2, 0, 3)  # (H, T, D / H) each
        x = x + attend(rotate(q), rotate(k), v, causal=causal).transpose(1, 0, 2).reshape(-1, D) @ out
        gate, up = np.split(rms_norm(x) @ gate_up, 2, axis=-1)
        x = x + gate / (1 + np.exp(-gate)) * up @ down
    return rms_norm(x) @ table.T * scale  # (T, V)


V, T, D, H, hidden, start = 50, 10, 16, 2, 40, np.random.default_rng(1)
table = 0.02 * start.normal(size=(V, D))
shapes = (D, 3 * D), (D, D), (D, 2 * hidden), (hidden, D)
blocks = [[0.1 * start.normal(size=shape) for shape in shapes] for _ in range(2)]


def checks(ids, **options):
    """The first loss, and how far earlier logits move when the last token changes."""
    logits, other = decoder(ids[:-1], **options), np.append(ids[:-2], (ids[-2] + 1) % V)
    loss = -np.log(softmax(logits)[np.arange(len(ids) - 1), ids[1:]]).mean()
    return loss, np.abs(decoder(other, **options) - logits)[:-1].max()


ids = start.integers(0, V, T + 1)
loss, moved = checks(ids)
print("logits", decoder(ids[:-1]).shape, f"· first loss {loss:.1f}, ln V = {np.log(V):.1f}", "· leaks:", moved > 1e-9)

# %% [markdown] tags=["short"]
# Each section below changes one line of it: the *mask* (caches, padding, windows), `rotate` (ALiBi, T5, longer
# contexts), the *keys and values* that a cache keeps (rings, MLA), the norm of queries and keys (QK-norm), or `attend`
# itself (linear and sparse attention).

# %% [markdown]
# ## Biases of keys, queries and values: which of them matter?
# Take four edits of `attend`. The first three add a constant vector to all keys, to all queries, or to all values, as the bias of a
# projection does. The fourth multiplies the queries by 3 and divides the keys by 3. Which of the four leave the output unchanged?

# %% tags=["proof-edits"]
rng = np.random.default_rng(0)


def difference(a, b):
    largest = np.abs(a - b).max()
    return f"{largest:.1f}" if largest > 1e-9 else "less than 1e-9"


q, k, v = rng.normal(size=(3, 12, 8))
constant, out = rng.normal(size=8), attend(q, k, v)
for name, other in {
    "keys + constant": attend(q, k + constant, v),
    "queries + constant": attend(q + constant, k, v),
    "values + constant": attend(q, k, v + constant),
    "queries * 3, keys / 3": attend(3 * q, k / 3, v),
}.items():
    print(f"{name:22} output differs by {difference(other, out)}")
print("values + constant, minus the constant: differs by", difference(attend(q, k, v + constant) - constant, out))
biased = attend(rotate(q), rotate(k + constant), v)
print("keys + constant, then RoPE: differs by", difference(biased, attend(rotate(q), rotate(k), v)))

# %% [markdown]
# The first and fourth edits are rewrites. A constant in all keys adds the same number to every score of a query, and a softmax
# ignores a number that its whole row has in common. So the bias of a key projection does nothing, and Whisper, for example, has
# none. A constant in the queries adds a different number for each key, so it shifts attention towards some of them.
#
# When does a key bias matter after all? When something between it and the dot product depends on the position or the key. RoPE
# rotates the constant by the key's position, so there the bias matters, and Qwen2 has one. It also matters if the keys are
# normalized.
#
# A constant in the values reappears unchanged in the output, because each row of weights adds up to 1. These two facts, *softmax
# ignores a shift of its row* and *weights add up to 1*, settle most of the changes below.

# %% [markdown]
# ## Causal masks with a KV cache
# With a cache, the mask must line up the last query with the last key, so that a single new token sees the whole cache.
# `F.scaled_dot_product_attention` with `is_causal=True` aligns its mask with the *first* key instead: with a cache a
# single query then sees only key 0. Leave `is_causal` out when you decode one query at a time, and pass a mask when
# there are several.
#
# ## Padding: a fully masked row gives NaN
# In [cross-attention](14_attention.ipynb) the keys come from another text, which has padding of its own. If you set
# their scores to −∞, their weights become exactly 0. What happens if *all* keys of a row are padding?

# %% tags=["proof-all-masked"]
scores, values = np.zeros((1, 3)), np.array([[10.0], [20.0], [30.0]])
with np.errstate(invalid="ignore"):
    print("−inf everywhere:  ", (softmax(scores - np.inf) @ values).item())
print("−1e30 everywhere: ", (softmax(scores - 1e30) @ values).item())
print("and weights times the mask:", (softmax(scores - 1e30) * np.zeros(3) @ values).item())

# %% [markdown]
# In a softmax written by hand, a row of −∞ gives 0/0, which is NaN. PyTorch has both behaviours:
# `F.scaled_dot_product_attention` returns zeros for such a row, while `nn.MultiheadAttention` returns NaN, because by
# default it also returns the weights and computes them with a plain softmax.
#
# A large negative number avoids the NaN, but then the output is silently the average of the padding. The number also
# has to fit: −1e30 is out of float16's range, and even float16's `finfo.min` becomes −∞ if you *add* it to a score of
# −100 instead of filling it in. The safe fix is to fill in a finite number and then multiply the weights by the mask,
# which sets such a row to 0 and leaves all other rows alone.
#
# ## Position encodings
# ### Biases by distance: ALiBi and T5's buckets
# Attention by itself doesn't depend on the order of its keys; only the causal mask gives a hint of it. So you have to
# supply positions: *sinusoidal encodings* are added to the embeddings, while a *bias* is added to the scores. **ALiBi**
# subtracts slope · distance, with a different slope for each head, and **T5** learns one number per head for each
# *bucket* of distances. The next cell computes T5's buckets, which are exact for near keys and logarithmic for far
# ones, and draws the factors by which ALiBi multiplies the weights:

# %% tags=["proof-buckets"]
distances = np.arange(128)
far = np.log(np.maximum(distances, 16) / 16) / np.log(128 / 16)
buckets = np.where(distances < 16, distances, np.minimum(16 + (16 * far).astype(int), 31))
for first in (8, 16, 24, 30):
    inside = distances[buckets == first]
    print(f"bucket {first:2}: distances {inside.min()} to {inside.max()}")
slopes = 2.0 ** (-8 / 8 * np.arange(1, 9))
lines = {f"ALiBi, head {head}": np.exp(-slopes[head - 1] * distances) for head in (1, 3, 5, 7)}
print({name: f"{line[16]:.2g}" for name, line in lines.items()}, "at distance 16")
about = "exp(−slope · distance): head 1 sees a few tokens, head 7 more than a hundred."
pictures.curves(lines, distances, xlabel="distance", ylabel="factor on the weight", alt=about)

# %% [markdown]
# An ALiBi head with a large slope attends to its neighbours only, while a head with a small slope sees far, so the bias
# acts like a window with a soft edge.
#
# **Interview · Sines, ALiBi, T5 buckets or RoPE: how do they differ?**
#
# - *Thirty seconds:* Sines are added to the embeddings and give absolute positions. ALiBi and T5 add a bias to the
#   scores that depends on the distance: a fixed slope per head in ALiBi, a learned number per bucket in T5. RoPE
#   rotates queries and keys, so their product depends on positions only through the distance.
# - *Longer:* Most models since Llama use RoPE, because it acts inside the dot product: a score depends on content and distance
#   together, and fused kernels need no bias. ALiBi models read longer texts without further training, but mainly because they ignore
#   what is far away.
# - *They ask next:* Does a decoder need positions at all? Not strictly, because each position sees a different number of keys through
#   the causal mask. Some models therefore leave RoPE out of their full-attention layers (NoPE), which is meant to help beyond the
#   trained length.
# - *They ask next:* What do you need while decoding? Sines and RoPE need the new token's absolute position, while biases need the
#   distances to the cached keys.
# - *The trap:* The bias is added after the scores are divided by √d, and the single query of a decoding step isn't at position 0.
# - *Proof:* `proof-buckets`.
#
# ### Extending the context of RoPE: position interpolation, NTK, YaRN
# RoPE rotates each pair of elements by position · frequency, so you extend a context by lowering the frequencies. Take
# a model that was trained on 1,024 tokens. Its fast pairs have turned many times, but the slow ones haven't completed a
# single turn. At four times the length, those slow pairs would reach angles that the model has never seen. Three
# remedies are common:
#
# - *Position interpolation* (PI) divides all frequencies by 4.
# - *NTK* raises the base, so that only the slowest pair is divided by 4.
# - *YaRN* divides the slow pairs by 4 and leaves the fast ones.

# %% tags=["proof-stretch"]
original, scale, width = 1024, 4, 64
pairs = np.arange(width // 2)
plain = 10_000.0 ** (-2 * pairs / width)
turns = original * plain / (2 * np.pi)
keep = np.clip((turns - 1) / (32 - 1), 0, 1)
kinds = {"PI": plain / scale, "NTK": (10_000.0 * scale ** (width / (width - 2))) ** (-2 * pairs / width)}
kinds["YaRN"] = plain * (keep + (1 - keep) / scale)
for pair in (0, 8, 16, 31):
    print(
        f"pair {pair:2}: {turns[pair]:6.2f} turns,",
        {name: f"{each[pair] / plain[pair]:.2f}" for name, each in kinds.items()},
    )
beyond = {name: int(((turns < 1) & (scale * each > plain * 1.001)).sum()) for name, each in kinds.items()}
print("pairs with less than one turn that still reach new angles:", beyond)


def draw(method):
    lines = {name: each / plain for name, each in kinds.items() if name in (method, "PI")}
    about = f"Frequencies as a share of the original ones by pair, for position interpolation and {method}."
    return pictures.curves(lines, pairs, xlabel="pair, from fast to slow", ylabel="frequency / original", alt=about)


pictures.slider(draw, start={"method": "YaRN"}, method=["NTK", "YaRN"])

# %% [markdown]
# Position interpolation slows all pairs alike, so it blurs the fast ones, which tell neighbours apart. NTK spares them, but it
# divides most slow pairs by less than 4, so 13 of them still reach new angles. YaRN divides every pair with less than one turn by 4
# and leaves every pair with at least 32 turns unchanged. Since more keys compete in a longer text, it also multiplies the scores by
# a factor, (0.1 · ln s + 1)².
#
# **Interview · How do you stretch a context from 8k to 128k?**
#
# - *Thirty seconds:* I rescale RoPE's frequencies so that no pair meets an angle it hasn't seen: as in YaRN, I divide
#   the slow ones by 16 and leave the fast ones. Then I train a little on long texts, and I test with tasks that need
#   the whole context, not just with a needle.
# - *Longer:* Most long-context models do it in stages, with a larger base and continued pretraining on longer and longer documents.
#   They use context parallelism for it, because activations and the cost of attention grow with the length. Perplexity at the end of a
#   long text shows only whether the model broke.
# - *They ask next:* Why not just raise the base? If the base is just large enough for the slowest pair, other slow pairs still
#   reach new angles. A still larger base slows the fast pairs as well. Either way the model needs some training, and if you train
#   anyway, a larger base is a good start.
# - *The trap:* If you rescale during a generation, the cache still holds keys that were rotated with the old frequencies.
# - *Proof:* `proof-stretch`; on trained models: [chapter 24b](24b_llama.ipynb).
#
# ## A smaller KV cache
# ### Sliding-window attention with a ring buffer
# With a [window](14_attention.ipynb) of w keys, older keys are never needed again, so the cache can be a *ring buffer*
# that keeps position p in slot p % w. Which position is in which slot after ten tokens? And is this a rewrite of masked
# attention?

# %% tags=["proof-ring"]
window = 4
slots, keys, values = np.full(window, -1), np.zeros((window, 8)), np.zeros((window, 8))
outputs = []
for position in range(12):
    slots[position % window], keys[position % window], values[position % window] = position, k[position], v[position]
    kept = min(position + 1, window)
    outputs.append(softmax(q[position] @ keys[:kept].T / np.sqrt(8)) @ values[:kept])
    if position in (2, 9):
        print(f"after position {position}: slots hold {slots}")
masked = attend(q, k, v, window=window)
print(
    "ring against masked attention: differs by",
    difference(np.stack(outputs), masked),
    "·",
    window,
    "cached tokens instead of 12",
)

# %% [markdown]
# A ring is a rewrite, because the order of the keys doesn't matter to the softmax. When *one* query reads the slots,
# they can stay unsorted, whereas several queries at once need a mask by position. They must also read before they
# write, because the last tokens of a chunk overwrite keys that its first tokens still need.
#
# **Interview · What goes wrong in a ring cache?**
#
# - *Thirty seconds:* Four things: reading empty slots before the ring is full, rotating a key by its slot instead of
#   its position, overwriting keys that the same chunk still needs, and keeping the counter for the next text. I'd test
#   the ring against masked attention for every way of cutting the text into chunks.
# - *Longer:* The same test catches a window that is off by one, with w + 1 keys instead of w. Only equality over all splits pins
#   the window down.
# - *They ask next:* Why do streaming models keep the first tokens too? They act as [attention sinks](proof-sinks): the softmax has to
#   put its weight somewhere, and models learn to put it there.
# - *The trap:* A model with a window of w can use something older: each layer adds w − 1 positions of reach.
# - *Proof:* `proof-ring`, `proof-reach`.
#
# ### A common myth: "With a window of 4, a token can't be influenced by what is 5 tokens back"
# A single layer can't reach that far, but layers add up. The next cell stacks up to three layers with a window of 4, changes the first
# token, and prints the last position whose output moves:


# %% tags=["proof-reach"]
def layers(x, count):
    for _ in range(count):
        x = x + attend(x, x, x, window=4)
    return x


x = rng.normal(size=(16, 8))
changed = x.copy()
changed[0] += 1.0
for count in (1, 2, 3):
    moved = np.flatnonzero(np.abs(layers(changed, count) - layers(x, count)).max(-1) > 1e-12)
    print(f"layers: {count}, position 0 reaches position {moved.max()}")

# %% [markdown]
# ### Multi-head latent attention (MLA): absorb the up-projection
# A cache usually stores keys and values of each head, and each decoding step reads all of them. Multi-head latent attention stores
# only one short *latent* c per token, for all heads together. A head's keys are c U, with an *up-projection* U. But the score (x
# W)·(c U) equals (x W Uᵀ)·c, so a decoder never has to compute these keys. [Chapter 24b](24b_llama.ipynb) shows this for one head.
# The next cell counts the cost for 128 heads of 128, with 512 latent elements and 64 for RoPE:

# %% tags=["proof-mla"]
heads, width, latent, rotary = 128, 128, 512, 64
cached = {"MHA": 2 * heads * width, "GQA, 8 heads": 2 * 8 * width, "MLA": latent + rotary}
print("cached elements per token and layer:", cached)
expand = latent * 2 * width  # once for each cached token and head
for queries in (1, 16, 256, 4096):
    naive = queries * (2 * width + rotary) + expand
    absorbed = queries * (2 * latent + rotary)
    better = "absorbed" if absorbed < naive else "naive"
    print(f"{queries:4} queries: {naive:9,} multiplications per key and head naive, {absorbed:9,} absorbed: {better}")
sizes = [2**power for power in range(10, 18)]
lines = {name: [61 * each * size * 2 / 2**30 for size in sizes] for name, each in cached.items()}
about = "Cache by tokens for 61 layers in 16 bits: MLA's line lies below that of GQA, and far below MHA's."
pictures.curves(lines, sizes, xlabel="tokens", ylabel="cache (GiB)", log="xy", alt=about)

# %% [markdown]
# **Interview · Why can MLA absorb its up-projection, and when is that worth it?**
#
# - *Thirty seconds:* The score is a product of query, up-projection and latent. Matrix products are associative, so I
#   may multiply the query by the up-projection first. The query then lives in the latent space and reads the cache as
#   it is. That pays in decoding, with one query at a time; in prefill, expanding the keys is cheaper.
# - *Longer:* Absorbed dot products are longer, with 512 + 64 terms instead of 128 + 64, and each weighted sum of values has 512
#   elements instead of 128. From about 170 queries per key on, expanding the keys and values once is therefore cheaper.
# - *They ask next:* Does MLA suit tensor parallelism? Badly, because all heads read the same latent, so splitting the heads over
#   8 GPUs leaves a whole copy of the cache on each. Large deployments split the *requests* over the GPUs in the attention layers
#   instead.
# - *They ask next:* Why does the rotation need separate keys? It would stand between the two matrices and differ for each pair of
#   positions, so nothing could be merged.
# - *The trap:* The scale doesn't change: it stays √(128 + 64), that of the original scores, although the absorbed products have 576 terms.
# - *Proof:* `proof-mla`.
#
# ## QK-norm: attention logits that explode
# *QK-norm* is an RMS norm of each query and key. A score contains the product of the two projections, so if both grow fourfold, it
# grows sixteenfold. The norm before the layer doesn't prevent that. Large scores make the softmax nearly one-hot, and its gradient
# p · (gp − Σ p·gp) is then close to 0:

# %% tags=["proof-QK-norm"]
own = np.random.default_rng(2)
x, query_weight, key_weight = rms_norm(own.normal(size=(64, 64))), *own.normal(size=(2, 64, 64)) / 8
for growth in (1, 4, 16):
    for name, norm in (("plain", lambda x: x), ("QK-norm", rms_norm)):
        scores = norm(x @ (growth * query_weight)) @ norm(x @ (growth * key_weight)).T / 8
        weights = softmax(scores)
        entropy = -(weights * np.log(np.maximum(weights, 1e-300))).sum(-1).mean()
        largest = f"largest score {np.abs(scores).max():5.1f}"
        print(f"projections times {growth:2}, {name:7}: {largest}, entropy {entropy:.1f} nats")
print("norm before or after RoPE: differs by", difference(rotate(rms_norm(q)), rms_norm(rotate(q))))
print("the same with gains: differs by", difference(rotate(constant * rms_norm(q)), constant * rms_norm(rotate(q))))
heads = rms_norm(q.reshape(12, 2, 4)).reshape(12, 8)
print("per head or over the whole width: differs by", difference(heads, rms_norm(q)))

# %% [markdown]
# As the projections grow, the plain entropy falls to 0, while QK-norm keeps it where it was. Rotating before or after the norm makes
# no difference, because a rotation keeps lengths. With a learned gain for each element it does, since the rotation mixes elements
# whose gains differ.
#
# **Interview · Why do attention logits explode, and what does QK-norm do about it?**
#
# - *Thirty seconds:* Nothing bounds the query and key projections, and a logit contains both. If they grow, the softmax becomes
#   nearly one-hot, its gradient vanishes, and the loss spikes or diverges. QK-norm normalizes queries and keys, so a logit is at most √d
#   times the learned gains, however large the projections are.
# - *Longer:* [ViT-22B](https://arxiv.org/abs/2302.05442) needed it, because training diverged from 8 billion parameters on. Qwen3
#   normalizes each head, with gains that its heads share, and OLMo 2 the whole projection before it is split into heads. Both apply RoPE
#   afterwards.
# - *They ask next:* Which of the two suits tensor parallelism? The norm per head, since a GPU holds whole heads, while OLMo 2's needs
#   sums over all GPUs.
# - *They ask next:* What else bounds logits? Gemma 2 caps them with c · tanh(s / c). Kimi K2 has MLA, which doesn't compute its
#   keys in decoding, so after a step it shrinks the projections of heads whose logits exceed 100 (*QK-clip*).
# - *The trap:* The division by √d isn't enough. It makes logits small for random queries and keys, but it bounds nothing once the
#   projections grow.
# - *Proof:* `proof-QK-norm`.
#
# ## The feed-forward layer: SwiGLU and mixtures of experts
# [Chapter 24b](24b_llama.ipynb) teaches SwiGLU. Its three matrices have a hidden width of 8/3 · C instead of 4 · C, rounded up to a multiple
# that suits the hardware. The decoder above *fuses* gate and up projections, as inference engines do, and stores them in halves.
# Others interleave them, and no shape tells you which. [Chapter 24c](24c_mixture_of_experts.ipynb) teaches the *mixture of experts*,
# which exercises 1 and 9 are about.
#
# ## The backward pass of attention, by hand
# Attention is two matmuls and a softmax, and only the softmax's gradient needs thought. Take one row of its weights p, with their
# gradient gp. The gradient of the scores is p · (gp − Σ p·gp); the sum is subtracted because the weights add up to 1. Do you need
# the matrix of weights to compute that sum?

# %% tags=["proof-row-sum"]
g = rng.normal(size=out.shape)
weights = softmax(np.where(causal_mask(12, 12), q @ k.T / np.sqrt(8), -np.inf))
gp = g @ v.T
print("row sum from the weights:", (weights * gp).sum(-1)[:4].round(3))
print("g · output:              ", (g * out).sum(-1)[:4].round(3))
score_gradient = weights * (gp - (g * out).sum(-1, keepdims=True))
print("rows of the scores' gradient add up to", abs(score_gradient.sum(-1)).max().round(9))
step = np.zeros_like(k)
step[3, 5] = 1e-6
measured = ((attend(q, k + step, v) - attend(q, k - step, v)) * g).sum() / 2e-6
print(f"gradient of one key element: {(score_gradient.T @ q / np.sqrt(8))[3, 5]:.4f}, measured {measured:.4f}")

# %% [markdown]
# You don't: the sum is also the dot product of the output and its gradient. The backward passes of norms have the same
# structure. If you add a constant to a row or scale it, a layer norm's output stays the same (apart from eps). Its
# gradient therefore has no component along either of these directions: two terms are subtracted, one for the mean and
# one for the variance.
#
# **Interview · What does attention's backward pass need from its forward pass?**
#
# - *Thirty seconds:* It needs queries, keys, values, the output, and one number per query: the logarithm of the
#   softmax's denominator. With that number it recomputes the weights tile by tile. The sum Σ p·gp of each row is the
#   dot product of the output and its gradient, so the T × T matrix is never stored.
# - *Longer:* That makes five matmuls instead of four in the backward pass, and it is still faster, because reading a T
#   × T matrix takes longer than recomputing it.
# - *They ask next:* What do masked keys get? Nothing from that query: their weight is 0, and it multiplies the whole gradient.
# - *The trap:* The 1/√d is easily forgotten. It appears once in each of the gradients of q and k.
# - *Proof:* `proof-row-sum`.
#
# ## Debugging a decoder that doesn't learn
# In debugging rounds, you get a training script and a list of symptoms. Three checks find many of a decoder's bugs within a
# minute: the first loss, a leak test, and a single batch that the model has to memorize. The next cell runs the first two on our
# decoder, once as it should be and twice with a common bug:

# %% tags=["proof-checks"]
for name, options in {"correct": {}, "no mask": {"causal": False}, "too large": {"scale": 60.0}}.items():
    loss, moved = checks(ids, **options)
    print(f"{name:10} first loss {loss:.1f}, ln V = {np.log(V):.1f}; {'leaks' if moved > 1e-9 else 'no leak'}")

# %% [markdown]
# **Interview · The loss of your decoder decreases nicely, but it generates garbage. Where do you look?**
#
# - *Thirty seconds:* A loss that falls too well suggests a leak: the causal mask is missing, or the labels weren't shifted, so the
#   model copies its input. I change the last token and see whether earlier logits move. Then I compare generation with one forward
#   pass over the same text, which finds errors of the cache and of positions.
# - *Longer:* If the loss does *not* fall, I start with the first loss, which should be near ln V. Then I train on one batch until
#   its loss is near 0. After that I look at the gradients: are they cleared in each step, and does every parameter have one?
# - *They ask next:* The first loss is 10 instead of ln V = 3.9. Why? The logits are too large at the start, because of the
#   initialization, a missing norm, or a missing scale.
# - *The trap:* Don't hunt for the bug by reading: each of these checks rules out part of the script within a minute.
# - *Proof:* `proof-checks`.
#
# ## Milestone: rewrites and changes, side by side
# Each line runs one edit of this chapter and compares it with the model that it starts from. Before you run it, say for each line
# whether you expect a rewrite or a change:

# %% tags=["proof-milestone"]
up, latents = rng.normal(size=(4, 8)), rng.normal(size=(12, 4))
normed = attend(rotate(rms_norm(q)), rotate(rms_norm(k)), v)
ring, full = np.stack(outputs), attend(q, latents @ up, v)
absorbed = softmax(np.where(causal_mask(12, 12), q @ up.T @ latents.T / np.sqrt(8), -np.inf)) @ v
halves = np.concatenate([attend(q[:5], k[:5], v[:5]), attend(q[5:], k, v)])
for name, other, reference in [
    ("rewrite: two pieces with a cache", halves, out),
    ("rewrite: ring of 4", ring, masked),
    ("rewrite: absorbed keys", absorbed, full),
    ("rewrite: QK-norm after RoPE", attend(rms_norm(rotate(q)), rms_norm(rotate(k)), v), normed),
    ("change:  window of 4", masked, out),
    ("change:  ALiBi", attend(q, k, v, -0.5 * np.abs(np.arange(12)[:, None] - np.arange(12))), out),
    ("change:  QK-norm", normed, attend(rotate(q), rotate(k), v)),
]:
    print(f"{name:33} differs by {difference(other, reference)}")

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Does a bias on the key projection change attention? Not without RoPE or QK-norm: the softmax ignores a shift of its row. With
#    either of them, yes.
# 2. How far does a token reach in 3 layers with a window of 4? 9 positions back: 3 · (4 − 1).
# 3. What is the hidden width of SwiGLU at C = 768, rounded up to a multiple of 64? 2,048.
# 4. How many elements per token and layer does MLA cache with a latent of 512 and 64 rotary elements? 576.
# 5. What should the first loss of a decoder be if its vocabulary has 50 tokens? Near ln 50 = 3.9.

# %% tags=["proof-rapid-fire"]
print("2.", 3 * (4 - 1), "· 3.", -(-8 * 768 // (3 * 64)) * 64, "· 4.", 512 + 64, "· 5.", round(np.log(50), 1))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Say *rewrite* or *change* before you run; a rewrite is tested by equality on every split.
# 2. A row of −∞ gives NaN in a plain softmax and 0 in PyTorch's fused attention; a large negative number averages the padding.
# 3. The last query belongs to the last key, and masks, biases and rotations count from there.
# 4. ALiBi subtracts slope · distance, while T5's buckets are exact near by and logarithmic far away.
# 5. To extend a context, divide the slow frequencies, leave the fast ones, and discard keys that were rotated with the old
#    frequencies.
# 6. A ring keeps position p in slot p % w; read before you write, and rotate by position.
# 7. MLA absorbs the up-projection into the query, so that only latents are cached; the scale stays √(D + P), and the rotary keys stay
#    separate.
# 8. QK-norm bounds the logits by √d times the gains. Linear attention has a matrix as its memory, and the delta rule overwrites.
# 9. The gradient of the scores is p · (gp − Σ p·gp), and the sum is g · o.
# 10. A norm's backward pass subtracts one projection for each invariance, one for the shift and one for the scale.
#
# ## You try
# In [the exercises](../exercises/26_whiteboard_decoder.ipynb) you write these changes as interviewers ask for them, from the router
# of a mixture of experts to a training script that doesn't learn. Each ends with its cost and the questions that come next. Take
# them one at a time.

# %% [markdown]
# ## If you have time
# ### Sparse attention: NSA and DSA
# In *sparse attention* each query reads only the k keys that a cheap scorer selects for it. DeepSeek's *NSA* scores blocks of 64
# tokens, while the *DSA* of DeepSeek-V3.2 has an *indexer* of 64 heads that scores every token and keeps 2,048. Can you switch a
# trained model to it? The next cell selects 32 of 512 keys for a flat and for a peaked head. It also computes the gradient that a
# rough indexer gets, and counts the multiplications of a decoding step at the size of DeepSeek-V3.2:

# %% tags=["proof-sparse"]
rng = np.random.default_rng(0)
memory_keys, memory_values = rng.normal(size=(2, 512, 64))
queries = rng.normal(size=(50, 64))
for name, sharpness in (("flat", 1), ("peaked", 4)):
    weights = softmax(sharpness * queries @ memory_keys.T / 8)
    recent, best = (each[:, -32:].sum(-1).mean() for each in (weights, np.sort(weights)))
    print(f"{name:6} head: a window of 32 keys holds {recent:.0%} of the weight, the best 32 hold {best:.0%}")


def selected(index, count):
    chosen = np.argsort(-index)[:count]
    return softmax(queries[0] @ memory_keys[chosen].T / 8) @ memory_values[chosen]


def divergence(index):
    return (target * np.log(target / softmax(index))).sum()


target = softmax(queries[0] @ memory_keys.T / 8)
index = queries[0] @ memory_keys.T / 8 + 0.5 * rng.normal(size=512)  # a rough guess of the scores
step = 1e-6 * (np.arange(512) == index.argmax())
print("all 512 selected: differs from full attention by", difference(selected(index, 512), target @ memory_values))
moved = np.abs(selected(index + step, 32) - selected(index, 32)).max()
print(f"derivative with respect to the best index score: of the output {moved / 1e-6:.1f},", end=" ")
print(f"of the KL to the full weights {(divergence(index + step) - divergence(index - step)) / 2e-6:.3f}")
for length in (2048, 8192, 32768, 131072):
    dense = length * 128 * (576 + 512)
    sparse = length * 64 * 128 + 2048 * 128 * (576 + 512)
    print(f"{length:6} tokens: full attention takes {dense / sparse:4.1f} times the multiplications")

# %% [markdown]
# You can switch, but you lose the keys outside the selection, and with them most of a flat head's weight. Nor can the
# language model's loss teach the indexer: its derivative is 0, because an index score has no effect on the output until
# the selection changes.
#
# **Interview · How does DeepSeek's sparse attention choose its keys, and why must it be trained?**
#
# - *Thirty seconds:* A cheap scorer selects keys for each query, and the softmax runs over those alone. NSA selects blocks by attention
#   to their compressed keys and adds a window, while DSA's indexer scores every token and keeps the best 2,048. It must be trained
#   because a densely trained model spreads weight over keys that would be dropped, and because the selection itself has no gradient.
# - *Longer:* [NSA](https://arxiv.org/abs/2502.11089) is pretrained with its selection: attention to the compressed
#   blocks is part of the output, so the usual loss trains the scores. [DSA](https://arxiv.org/abs/2512.02556) is added
#   to a trained model. First the indexer alone learns the weights of full attention by a KL loss, then the model is
#   trained further with the selection.
# - *They ask next:* What does it cost? Attention reads k keys instead of T, but DSA's indexer still scores all T, more cheaply and in
#   8 bits. The cache doesn't shrink, because a later query may select any key.
# - *They ask next:* Why does NSA select blocks? A GPU reads contiguous memory faster, and the heads of a GQA group share the
#   selection, so each block is read once.
# - *The trap:* DSA isn't linear in the length, because its indexer is quadratic.
# - *Proof:* `proof-sparse`.
#
# ### Attention sinks: StreamingLLM and gpt-oss
# A row of weights must add up to 1, even if a head has no use for any key. An *attention sink* is a key that absorbs
# this weight. In trained models, the first tokens become sinks, with high scores and small values. The next cell makes
# such a key, drops it from a window, and then replaces it with gpt-oss's solution, a number b per head in the softmax's
# denominator:

# %% tags=["proof-sinks"]
scores, values = rng.normal(size=64), rng.normal(size=(64, 8))
scores[0], values[0] = 8.0, 0.0  # the sink


def read(kept, b=-np.inf):
    factors = np.exp(scores[kept])
    return factors @ values[kept] / (factors.sum() + np.exp(b))


window = np.arange(48, 64)
first_too = np.append(0, window)
for name, each in {"all keys": np.arange(64), "window": window, "window and first": first_too}.items():
    print(f"{name:16} norm of the output {np.linalg.norm(read(each)):.3f}")
print("window, b = 8: differs from window and first by", difference(read(window, 8.0), read(first_too)))
log_sum = np.log(np.exp(scores[window]).sum())
scaled = read(window) / (1 + np.exp(8 - log_sum))
print("window · sigmoid(log-sum-exp − b): differs by", difference(scaled, read(first_too)))

# %% [markdown]
# Without the sink, the window's output is about a hundred times as large. A b of 8, the sink's score, has exactly its effect.
#
# **Interview · What is an attention sink, and why do StreamingLLM and gpt-oss keep one?**
#
# - *Thirty seconds:* It is a key that absorbs the weight for which a head has no use, because a softmax can't give zero
#   to everything. Models use the first tokens for this, since every later query sees them, so StreamingLLM caches the
#   first four along with its window. In gpt-oss, each head learns a number in the softmax's denominator instead, which
#   lets it attend to nothing.
# - *Longer:* In [StreamingLLM](https://arxiv.org/abs/2309.17453)'s table for Llama 2 13B, a plain window has a perplexity of
#   5,158, and one with the first four tokens has 5.40. Line breaks in their place give 5.60, so the position matters more than
#   the text. In gpt-oss, every second layer has a window of 128 tokens, from which the first token soon drops out.
# - *They ask next:* How does a fused kernel add a learned sink b? It multiplies the output by sigmoid(log-sum-exp − b), which amounts to one
#   more key with score b and value 0.
# - *They ask next:* Which positions do the keys get? StreamingLLM counts within the cache, so that RoPE sees no distance beyond the
#   trained ones.
# - *The trap:* StreamingLLM doesn't extend the context. It stays fluent, but what has left the window is forgotten.
# - *Proof:* `proof-sinks`.
#
# ### Linear attention and the delta rule
# A cache of any width still grows with the text. Linear attention replaces it with a matrix of fixed size. If
# φ(q)·φ(k), with a positive φ, replaces exp(q·k), then Σ (φ(q)·φ(kⱼ)) vⱼ = φ(q)·Σ φ(kⱼ) vⱼᵀ, and the sum on the right
# is a matrix S that each token updates. This is a different model, not a rewrite of softmax attention, but its own
# forms are rewrites of each other:

# %% tags=["proof-forms"]
fq, fk = np.exp(q / 3), np.exp(k / 3)  # positive features
parallel = np.tril(fq @ fk.T)
parallel = parallel @ v / parallel.sum(-1, keepdims=True)


def recurrent(fq, fk, v):
    state, total, outputs = np.zeros((8, 8)), np.zeros(8), []
    for one_q, one_k, one_v in zip(fq, fk, v, strict=True):
        state, total = state + np.outer(one_k, one_v), total + one_k
        outputs.append(one_q @ state / (one_q @ total))
    return np.stack(outputs)


print("recurrent against parallel: differs by", difference(recurrent(fq, fk, v), parallel))
print("linear against softmax attention: differs by", difference(parallel, out))

# %% [markdown]
# The parallel form takes T² work, and the recurrent one takes T steps, each too small to fill a GPU. In practice you
# cut the text into *chunks*: each is computed in parallel and passes a state on to the next.
#
# The **delta rule** can also erase. Instead of adding k vᵀ, it writes only what is missing, v − Sᵀk, so that a key can get a new
# value. The next cell writes 20 new values to each of 20 keys, with both rules and three seeds, and counts how many keys recall the
# newest one:


# %% tags=["proof-delta"]
def recalled(seed, erases):
    """How many of 20 keys, each of which is written 20 times, recall their newest value."""
    rng = np.random.default_rng(seed)
    keys, values = rng.normal(size=(20, 32)), rng.normal(size=(400, 32))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    state = np.zeros((32, 32))
    for step, value in enumerate(values):
        key = keys[step % 20]
        state += np.outer(key, value - (key @ state if erases else 0))
    nearest = ((keys[:, None] @ state - values[-20:]) ** 2).sum(-1).argmin(-1)
    return int((nearest == np.arange(20)).sum())


for name, erases in (("additive", False), ("delta rule", True)):
    print(f"{name:10} recalls the newest value of {[recalled(seed, erases) for seed in range(3)]} of 20 keys")

# %% [markdown]
# **Interview · What do linear attention and Mamba give up?**
#
# - *Thirty seconds:* They give up exact recall. Their state has a fixed size, so what doesn't fit is blurred, while
#   softmax attention keeps every key and can copy any of them. In return, each token takes constant time, and the
#   memory doesn't grow. Hybrids such as Qwen3-Next keep full attention in every fourth layer for recall.
# - *Longer:* A state of d × d holds about d associations. Gates forget old associations, and the delta rule overwrites a key's
#   value instead of adding to it. Both make better use of the space, but neither enlarges it.
# - *They ask next:* Why is it trained in chunks? The parallel form costs T² and the recurrent form is sequential, while a chunk is a
#   few dense matmuls plus one update of the state.
# - *The trap:* You can't simply load a softmax model's weights. It is a different function, so it needs training or distillation.
# - *Proof:* `proof-forms`, `proof-delta`; by the number of pairs: [chapter 15](15_recurrent_networks.ipynb).
