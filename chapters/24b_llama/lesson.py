# %% [markdown]
# # Four swaps: GPT-2 becomes Llama
# By the end of this chapter your own library will load a Llama checkpoint from Hugging Face, compute the same logits as
# `transformers`, and generate text with a cache. You will have measured on three seeds how the loss changes from GPT-2
# to Llama in three steps (RMSNorm and SwiGLU go together). You will also be able to prove that speculative decoding
# keeps the large model's distribution.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch("24b")  # your library as of this chapter, using your code wherever you've solved the exercises

# %% [markdown] tags=["short"]
# ## Absolute and relative positions: shift everything by 100
# A query at position 3 attends to a key at position 0. Now shift both by 7 positions, and then by 100. GPT-2 adds a
# learned vector for each position, while Llama *rotates* the queries and keys. What happens to the attention score in
# each of the two models?

# %% tags=["proof-shift"]
import minitorch as torch
from course import check, pictures
from minitorch.models import llama

torch.manual_seed(0)
query, key = torch.randn(2, 8)
table = torch.nn.Embedding(64, 8)
for moved in (0, 7, 100):
    at = torch.tensor([3 + moved, moved])
    a, b = llama.apply_rotary(torch.stack([query, key]), at)
    print(f"moved by {moved:3}: rotated {a @ b:.3f}")
    print(" " * 13, "table", check.error(table, at) or f"{(query + table(at[0])) @ (key + table(at[1])):.3f}")

# %% [markdown] tags=["short"]
# The score of the rotated pair doesn't change, because it depends only on the distance between the two positions. With the
# table, a shift by 7 changes the score, and a shift by 100 raises an error because the table has only 64 rows.
#
# ## Rotary position embedding (RoPE)
# Take a query and a key of two elements each, and rotate each of them by one radian times its position. A dot product depends
# on the two lengths and on the angle between the vectors, so it stays the same when both rotate by the same amount. This is
# **RoPE**, the rotary position embedding. Move the slider to see both vectors rotate while the angle between them stays the
# same:

# %% tags=["proof-rotate"]
import itertools
import math

import numpy as np


def rotate(pair, angle):
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([cos * pair[0] - sin * pair[1], sin * pair[0] + cos * pair[1]])


def draw(position):
    ax = pictures.axes(4, 4)
    q, k = rotate([1.5, 0.5], position + 1), rotate([0.5, 1.0], position)
    for name, end, colour in (("query", q, "data"), ("key", k, "weight")):
        ax.annotate("", end, (0, 0), arrowprops={"color": pictures.COLOURS[colour], "width": 2, "headwidth": 9})
        ax.text(*(1.3 * end), name, ha="center", va="center", color=pictures.COLOURS[colour])
    ax.set(xlim=(-2.4, 2.4), ylim=(-2.4, 2.4), xlabel="first element", ylabel="second element")
    return pictures.publish(ax, alt=f"Query at {position + 1}, key at {position}: dot product {q @ k:.2f}.")


print([f"{rotate([1.5, 0.5], at + 1) @ rotate([0.5, 1.0], at):.2f}" for at in range(5)])
pictures.slider(draw, start={"position": 0}, position=[0, 1, 2, 3, 4, 5])

# %% [markdown]
# ### Break it: a single pair repeats itself
# A rotation repeats after 2π. With a single pair, a key 44 positions away therefore looks like one at the query's own
# position, because 44 radians are nearly seven full turns. A head of 64 elements has 32 pairs, each with its own
# **frequency**, from one radian per position down to less than 1/7,000.

# %% tags=["proof-frequencies"]
ones, distances = torch.ones(1, 64), range(101)
lines = {"one pair": [math.cos(distance) for distance in distances]}
start = llama.apply_rotary(ones, torch.tensor([0]))
lines["32 pairs"] = [(llama.apply_rotary(ones, torch.tensor([d])) @ start.T).item() / 64 for d in distances]
print({name: [round(line[distance], 2) for distance in (0, 1, 44, 88)] for name, line in lines.items()})
about = "One pair comes back to 1.0 at distance 44; with 32 pairs the score there is 0.6."
pictures.curves(
    lines, distances, xlabel="distance (positions)", ylabel="score / score at 0", marks={"44": 44}, alt=about
)

# %% [markdown]
# The angles need float32. Between 512 and 1,024, bfloat16 can hold only every fourth integer, so neighbouring positions become
# equal and the score no longer depends on the distance alone:

# %% tags=["proof-rotary-dtype"]
for dtype in (torch.float32, torch.bfloat16):
    held = torch.arange(1000, 1006).to(dtype).tolist()
    scores = [f"{rotate([1.5, 0.5], next_at) @ rotate([0.5, 1.0], at):.2f}" for at, next_at in itertools.pairwise(held)]
    print(f"{dtype!s:14} positions {[int(position) for position in held]}, scores {scores}")

# %% [markdown]
# Which elements form a pair is a matter of convention. Llama checkpoints on Hugging Face pair element *i* with element *i +
# dim/2* (`rotate_half`), while the paper and Meta's own files pair neighbours. Meta's files also use different names (`wq`
# instead of `q_proj`), so loading them directly raises an error. The silent bug is a converter that renames the keys but
# doesn't permute the rows of the query and key weights: its checkpoint loads, but computes something else. In exercise 2 you
# write `rotary_tables`, `rotate_half` and `apply_rotary`.
#
# **Interview · Why does RoPE's score depend on the distance alone?**
#
# - *Thirty seconds:* The query at position *m* is multiplied by a rotation R(m), and the key at position *n* by R(n). Their
#   dot product is qᵀ R(m)ᵀ R(n) k = qᵀ R(n − m) k, because transposing a rotation reverses it and angles add up. So only the
#   distance n − m remains.
# - *Longer:* Values aren't rotated, because positions decide where a token attends, not what it finds there. A rotation also keeps
#   the length of a vector, so nothing has to be rescaled.
# - *They ask next:* Why are there so many frequencies? Fast pairs tell neighbouring positions apart, slow pairs tell
#   near from far, and a single pair would repeat itself.
# - *They ask next:* Why are the angles computed in float32? Because bfloat16 can't hold every position above 256.
# - *The trap:* Don't rotate the keys again when they come out of the cache. Llama implementations usually rotate a key once, by its own
#   absolute position, and cache the result. Some streaming caches keep unrotated keys instead and rotate whenever they read.
# - *Proof:* `proof-shift`, `proof-rotate`, `proof-frequencies`, `proof-rotary-dtype`.
#
# ## The four swaps
# ### Swap 1: RMSNorm instead of layer norm
# Layer norm subtracts the mean, divides by the standard deviation, then scales and shifts. RMSNorm, which you wrote in
# chapter 12, drops the mean and the shift: it only divides by the root mean square and scales.

# %% tags=["proof-RMSNorm"]
x = torch.tensor([1.0, 2.0, 3.0, 6.0])
print("layer norm", torch.nn.functional.layer_norm(x, (4,)).numpy().round(2), "· RMS norm", end=" ")
print(torch.nn.functional.rms_norm(x, (4,)).numpy().round(2))

# %% [markdown] given="mytorch.nn.llama:SwiGLU"
# RMSNorm does less work, and models trained with it were found to be about as good ([Zhang and Sennrich
# 2019](https://arxiv.org/abs/1910.07467)).
#
# ### Swap 2: SwiGLU instead of GELU
# GPT-2's MLP has two matrices with a GELU between them. SwiGLU has three: the output of the first passes through `silu` and
# *gates* the output of the second elementwise, and the third projects the product back. If the hidden width is 8/3 of the
# model's width instead of 4 times that width, the three matrices have as many weights as the two:

# %% [markdown]
# ### Swap 3: RoPE instead of a table of positions
# The table of learned positions is removed, and each attention layer rotates its queries and keys instead.
#
# ### Swap 4: grouped-query attention
# While a model generates, it caches the keys and values of all earlier tokens, and this cache is what limits long texts and large
# batches. **Grouped-query attention** (GQA) shrinks it, because several query heads share one head of keys and values. Below, four
# query heads share two, so `k_proj`, `v_proj` and the cache are half as large:

# %% tags=["proof-GQA"]
from pathlib import Path

nn, parts = mytorch.nn, mytorch.nn.llama
for kv_heads in (4, 2):
    attention, cache = parts.GroupedQueryAttention(48, 4, kv_heads), parts.KVCache()
    attention(mytorch.ones(1, 10, 48), cache)
    shapes = [tuple(projection.weight.shape) for projection in (attention.q_proj, attention.k_proj)]
    cached = sum(tensor.numel() for tensor in cache.kept)
    print(f"{kv_heads} KV heads: q_proj {shapes[0]}, k_proj {shapes[1]}; 10 tokens cache {cached} elements")

# %% [markdown]
# In exercise 3 you write `repeat_kv`, which gives each group of query heads its key head, and the attention around it.
#
# ## What does each swap do to the loss?
# The model below has a switch for each change. It reads *Alice's Adventures in Wonderland* one character at a time and
# is evaluated on the last 12,000 characters, which it never trains on. To keep the comparison fair, all models get the
# same FLOPs. They see the same number of tokens, and their blocks have the same number of weights, each of which costs
# six FLOPs per token in training. The weights that GQA saves are therefore spent on a wider MLP. Since one seed proves
# nothing, each model is trained on three.

# %% tags=["proof-losses"]
text = Path("files/alice.txt").read_text()
letters = sorted(set(text))
numbers = np.array([letters.index(letter) for letter in text])
seen, unseen = numbers[:-12000], numbers[-12000:]


def mlp(swaps):  # SwiGLU has a third matrix, so it is narrower
    if "SwiGLU" in swaps:
        return parts.SwiGLU(48, 144 if "GQA" in swaps else 128)
    return nn.Sequential(nn.Linear(48, 192, bias=False), nn.GELU(), nn.Linear(192, 48, bias=False))


class Model(nn.Module):
    def __init__(self, *swaps):
        super().__init__()
        norm = nn.RMSNorm if "RMSNorm" in swaps else nn.LayerNorm
        kv_heads, theta = 2 if "GQA" in swaps else 4, 10000.0 if "RoPE" in swaps else None
        self.letter, self.place = nn.Embedding(len(letters), 48), None if theta else nn.Embedding(48, 48)
        self.norms = nn.ModuleList([norm(48) for _ in range(5)])
        self.attend = nn.ModuleList([parts.GroupedQueryAttention(48, 4, kv_heads, theta) for _ in range(2)])
        self.mlps = nn.ModuleList([mlp(swaps) for _ in range(2)])
        self.head = nn.Linear(48, len(letters), bias=False)

    def forward(self, tokens):
        x = self.letter(tokens)
        x = x if self.place is None else x + self.place(mytorch.arange(tokens.shape[1]))
        for layer, (attend, feed_forward) in enumerate(zip(self.attend, self.mlps, strict=True)):
            x = x + attend(self.norms[2 * layer](x))
            x = x + feed_forward(self.norms[2 * layer + 1](x))
        return self.head(self.norms[-1](x))


def losses(model, length, rows):  # of each character but the first ones, (rows, length - 1)
    x = mytorch.tensor(unseen[: rows * length].reshape(rows, length))
    with mytorch.no_grad():
        return nn.functional.cross_entropy(model(x)[:, :-1].mT, x[:, 1:], reduction="none").numpy()


def train(seed, *swaps):
    mytorch.manual_seed(seed)
    model, rng, curve = Model(*swaps), np.random.default_rng(seed), []
    optimizer = mytorch.optim.AdamW(model.parameters(), lr=6e-3)
    for _ in range(120):
        rows = mytorch.tensor(seen[rng.integers(0, len(seen) - 48, (8, 1)) + np.arange(49)])
        loss = nn.functional.cross_entropy(model(rows[:, :-1]).mT, rows[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return model, curve


steps = {"GPT-2": [], "+ RMSNorm, SwiGLU": ["RMSNorm", "SwiGLU"], "+ RoPE": ["RoPE"], "+ GQA": ["GQA"]}
swaps, models, curves, before = [], {}, {}, None
for name, added in steps.items():
    swaps += added
    models[name], runs = zip(*(train(seed, *swaps) for seed in range(3)), strict=True)
    curves[name] = np.mean(runs, 0)
    ends = np.array([losses(model, 48, 200).mean() for model in models[name]])
    change = ends - (ends if before is None else before)
    weights = sum(w.numel() for key, w in models[name][0].named_parameters() if "proj" in key or "mlps" in key)
    print(f"{name:18} {weights} weights, loss {ends.mean():.1f}, change {change.mean():+.2f}", end=", ")
    print(f"lower on {(change < 0).sum()} of 3 seeds")
    print(" " * 18, f"between seeds, the loss differs by less than {math.ceil(50 * np.ptp(ends)) / 50:.2f}")
    before = ends

# %%
lead = {name: np.convolve(line - curves["GPT-2"], np.ones(15) / 15, "valid") for name, line in curves.items()}
about = "RMSNorm and SwiGLU stay near 0. RoPE falls to about 0.25 below GPT-2, and GQA ends slightly above RoPE."
pictures.curves(lead, range(15, 121), xlabel="step", ylabel="training loss − GPT-2's (nats)", alt=about)

# %% [markdown]
# RMSNorm and SwiGLU together lower the loss by 0.01 here, which is less than the difference between two seeds and therefore
# proves little, although the sign is the same on all three. In larger models, gated MLPs were found to give a slightly lower
# loss at the same cost ([Shazeer 2020](https://arxiv.org/abs/2002.05202)).
#
# RoPE lowers the loss by a quarter of a nat. A rotation expresses *the previous character* in the same way at all
# positions, whereas a table has to learn it separately for each row. With GQA the loss is higher on all three seeds, by
# 0.04 on average. But the runs differ from each other by about as much, so this only hints at the cost that larger
# experiments measured ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)). In return, the cache is half as large.
#
# **Interview · GPT-2 to Llama: what are the four changes, and why each?**
#
# - *Thirty seconds:* Layer norm becomes RMSNorm, which is cheaper and about as good, and the GELU MLP becomes SwiGLU, which
#   is slightly better at the same FLOPs. Rotary positions replace learned ones because they encode distances and aren't
#   limited to the length of a table. Grouped queries shrink the KV cache at a small cost in quality.
# - *Longer:* Llama also drops all biases, and unless the configuration says so, it doesn't tie the output matrix to the
#   embedding. Its pre-norm blocks are GPT-2's. In Llama 2 the 70B model has grouped queries and the 7B doesn't; in Llama 3
#   all sizes have them.
# - *They ask next:* Why 8/3? Three matrices of d · 8d/3 have as many weights as two of d · 4d.
# - *They ask next:* What changed after Llama 3? Many models normalize queries and keys in each head (*QK-norm*, as in Qwen3
#   and Gemma 3), so that attention scores can't grow without bound, and mix layers of windowed or linear attention with
#   full ones.
# - *The trap:* Not each of them lowers the loss. RMSNorm is there to save work, and GQA to save memory; here GQA raised the loss on all
#   three seeds.
# - *Proof:* `proof-RMSNorm`, `proof-GQA`, `proof-losses`.
#
# ### A common myth: "RoPE extrapolates by itself"
# Without a table of positions, a model accepts any length. Let the three RoPE models, which were trained on 48 characters,
# read 240:

# %% tags=["proof-extrapolate"]
far = np.mean([losses(model, 240, 50) for model in models["+ RoPE"]], 0)
print({f"{at} to {at + 48}": f"{far[:, at : at + 48].mean():.1f}" for at in (0, 48, 96, 144)})

# %% [markdown]
# They run, but the loss rises with the position, because longer distances produce angles between query and key that
# never occurred in training. *If you have time* shows how to extend the context.
#
# ## Milestone: a checkpoint from Hugging Face
# `files/tiny_llama` was written by `transformers`. It contains random weights, a `config.json`, and the logits that
# `transformers` computed. `minitorch/models/llama.py` uses the same parameter names as the `LlamaForCausalLM` there, and the
# next cell runs it on your library, with your own attention and MLP in place of its classes:

# %% tags=["proof-checkpoint"]
import inspect
import json
import sys
from types import ModuleType

mine = sys.modules["my_llama"] = ModuleType("my_llama")
exec(inspect.getsource(llama).replace("minitorch", "mytorch"), mine.__dict__)
mine.LlamaAttention = lambda c: parts.GroupedQueryAttention(24, c.num_attention_heads, c.num_key_value_heads)
mine.LlamaMLP = lambda c: parts.SwiGLU(24, c.intermediate_size)
folder = Path("files/tiny_llama")
config = mine.LlamaConfig.from_dict(json.loads((folder / "config.json").read_text()))
model = mine.LlamaForCausalLM(config)
print(model.load_state_dict(mytorch.safetensors.load_file(folder / "model.safetensors")))
expected = mytorch.safetensors.load_file(folder / "expected.safetensors")
off = (model(expected["tokens"])[0] - expected["logits"]).abs().max().item()
print(f"mean |logit| {expected['logits'].abs().mean().item():.1f}, off by at most {off:.4f}")
written = mytorch.generation.generate(model, expected["tokens"], 10, temperature=0)
print("tokens generated:", *written[0, 12:].tolist(), "· transformers:", *expected["written"][0, 12:].tolist())

# %% [markdown]
# ## Generating with a KV cache
# `generate` runs the whole prompt once (**prefill**) and then one token at a time (**decode**). The keys and values of earlier
# tokens come from the cache; [chapter 14](14_attention.ipynb) explains why that is allowed.
#
# ### A common myth: "A KV cache saves memory"
# The next cell generates 20 tokens with a cache, and counts the elements that it holds and the positions computed with and
# without it:

# %% tags=["proof-cache"]
caches, passed = model.new_caches(), {"with": 0, "without": 0}
tokens = expected["tokens"][:1]
for _ in range(20):
    new = tokens[:, len(caches[0]) :]
    logits = model(new, caches=caches)[0]
    passed["with"] += new.shape[1]
    passed["without"] += tokens.shape[1]
    tokens = mytorch.cat([tokens, logits[:, -1:].argmax(-1)], 1)
held = sum(tensor.numel() for cache in caches for tensor in (cache.key, cache.value))
print(f"positions computed: {passed}, cached elements: {held} = 2 * 2 layers * 2 heads * 6 * {len(caches[0])}")

# %% [markdown]
# The cache saves work but costs memory, which grows with each token. (The last token isn't in the cache yet, because it
# hasn't passed through the model.) How much memory a real model needs depends on its attention. **MQA**, multi-query
# attention, has a single head of keys and values for all query heads. **MLA**, DeepSeek's multi-head latent attention,
# caches one short vector per token instead, from which the keys and values of all heads are computed.

# %% tags=["proof-bytes"]
kinds = {"MHA, 32 heads": 2 * 32 * 128, "GQA, 8 heads": 2 * 8 * 128, "MLA, 512 + 64": 512 + 64, "MQA, 1 head": 2 * 128}
sizes = [2**power for power in range(10, 18)]
lines = {name: [32 * heads * size * 2 / 2**30 for size in sizes] for name, heads in kinds.items()}
print("8,192 tokens, 32 layers, 16 bits:", {name: f"{line[3]:.2f} GiB" for name, line in lines.items()})
pictures.curves(lines, sizes, xlabel="tokens", ylabel="cache (GiB)", log="xy")

# %% [markdown] tags=["short"]
# **Interview · How large is the cache of 32 layers, 8 KV heads of 128, and 8k tokens in 16 bits?**
#
# - *Thirty seconds:* There are keys and values, so it holds 2 · 32 · 8 · 128 · 8,192 elements of 2 bytes each, which is 1 GiB
#   per sequence. With 32 KV heads it would be 4 GiB.
# - *Longer:* The weights of a model with 8 billion parameters take 15 GiB, so the caches of 15 such sequences take as much
#   memory as the weights.
# - *They ask next:* How do you reduce it? With fewer KV heads, 8-bit caches or sliding windows. *Paged attention*
#   doesn't shrink a cache, but it wastes less memory, because it allocates small pages instead of reserving the longest
#   possible sequence.
# - *The trap:* The query heads don't count: the cache holds only keys and values.
# - *Proof:* `proof-bytes`, `proof-cache`; pages: [chapter 22b](22b_memory.ipynb) on fragmentation.
#
# **Interview · MHA, MQA, GQA, MLA: what does each of them cache?**
#
# - *Thirty seconds:* MHA caches keys and values for each head, MQA one pair for all heads, and GQA one pair for each group of
#   heads. MLA caches a short latent vector per token, from which the keys and values of all heads are computed.
# - *Longer:* MQA is the smallest of the first three and costs some quality, while GQA with 8 groups was found to be nearly as
#   good as MHA ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)). In MLA each head has its own keys, as in MHA.
# - *They ask next:* Why does MLA have 64 extra elements? A rotation of the keys would keep their up-projection from being
#   merged into the query, so a few elements carry the positions separately.
# - *The trap:* Fewer KV heads don't mean fewer attention scores. Each query head still meets each key, so only the cache, the reads from
#   it, and `k_proj` and `v_proj` shrink.
# - *Proof:* `proof-GQA`, `proof-bytes`, `proof-latent`.
#
# ### Prefill and decode on the roofline
# A weight in 16 bits takes 2 bytes to read and is used for 2 FLOPs per token. A GPU such as the H100, which computes about
# 1,000 TFLOP/s and reads 3.3 TB/s, therefore needs about 300 FLOPs per byte to stay busy. The next cell counts weights and
# caches for a model with 8 billion parameters, but leaves out the FLOPs of attention itself.

# %% tags=["proof-prefill"]
weights, per_token = 8e9, 2**17  # bytes of cache per token: 1 GiB for 8,192
cases = {"prefill of 8,192 tokens": (8192, 0), "prefill of 100 tokens": (100, 0), "decode, 1 × 8,192": (1, 8192)}
cases |= {"decode, 64 × 8,192": (64, 64 * 8192), "decode, 500 × 128": (500, 500 * 128)}
for name, (tokens, cached) in cases.items():
    flops, read = 2 * weights * tokens, 2 * weights + cached * per_token
    ms = flops / 1e12, read / 3.3e9
    print(f"{name:24} {flops / read:5.0f} FLOP/byte: computing {ms[0]:5.1f} ms, reading {ms[1]:4.1f} ms")

# %% [markdown]
# The slower of the two sets the time, which is what the *roofline* model says. A prompt of fewer than about 300 tokens
# is therefore bound by bandwidth, even though it is prefill. Decoding becomes bound by FLOPs only if several hundred
# sequences share the weights and their caches are short. With long caches no batch is large enough, because reading a
# sequence's cache then takes longer than computing its next token.
#
# **Interview · Prefill or decode: what bounds each?**
#
# - *Thirty seconds:* Prefill runs all tokens of the prompt at once, so each weight that is loaded is reused for every token, and a
#   long prompt is bound by FLOPs. Decode reads all weights and the cache for a single token per sequence, so it is usually bound by
#   memory bandwidth.
# - *Longer:* Batching lets the sequences share the weights, but each sequence brings its own cache. *Continuous batching*
#   lets a new sequence join as soon as another ends, which keeps the batch large.
# - *They ask next:* When does it flip? Where FLOPs per byte reach the GPU's ratio, here 300: at prompts of about 300
#   tokens, or at batches of more than 300 sequences with short caches.
# - *The trap:* FLOPs don't tell how fast decode is. For one sequence, a GPU with twice the FLOPs and the same bandwidth generates no
#   faster.
# - *Proof:* `proof-prefill`.
#
# ### Padding prompts of different lengths
# Pad a short prompt to the length of a longer one, first on the right and then on the left, and compare its logits with those of
# the unpadded prompt:

# %% tags=["proof-padding"]
long, short = expected["tokens"][:1, :8], expected["tokens"][1:2, :5]
pad = mytorch.zeros(1, 3, dtype=mytorch.int64)
alone = model(short)[0][:, -1]
right, left = (mytorch.cat([long, mytorch.cat(parts, 1)]) for parts in ([short, pad], [pad, short]))
right, left = model(right)[0][1], model(left)[0][1]
for name, logits in (("right, last", right[-1]), ("right, at its own last", right[4]), ("left, no mask", left[-1])):
    print(f"padded {name:24} off by {(logits - alone).abs().max().item():.1f}")

# %% [markdown]
# **Interview · On which side do you pad prompts for batched generation?**
#
# - *Thirty seconds:* I pad on the left, because then the last position of every row is its last real token, and the new tokens
#   follow without a gap. A mask has to hide the padding.
# - *Longer:* You need the mask in prefill and in each decoding step, because the padding stays in the cache. With right
#   padding, the last column of every shorter row belongs to a padding token, so its logits are off by 4.4 here, while
#   those at the row's own last token are correct.
# - *They ask next:* What about positions? With a learned table, each row needs its own positions, counted from its first real
#   token. With RoPE, shifting a whole row changes none of its attention scores.
# - *The trap:* With padding on the left and no mask, real tokens attend to the padding.
# - *Proof:* `proof-padding`, `proof-shift`; exercise 6 is about the mask.
#
# ## Sampling: temperature, top-k, top-p
# The softmax turns logits into probabilities, from which one token is drawn. **Temperature** divides the logits, **top-k** keeps
# the k most likely tokens, and **top-p** keeps the smallest set of most likely tokens whose probabilities sum to at least p. You
# write all three in exercise 4.
#
# ### A common myth: "Temperature 0 divides the logits by zero"
# The next cell shows the probabilities of four logits under each setting, and then divides the logits by 0:

# %% tags=["proof-temperature"]
logits = mytorch.tensor([[2.0, 1.0, 0.0, -1.0]])
choose = mytorch.generation.probabilities
for how in ({}, {"temperature": 0.5}, {"temperature": 2.0}, {"top_k": 2}, {"top_p": 0.9}, {"temperature": 0}):
    print(f"{how!s:20}", choose(logits, **how).numpy().round(2)[0])
print("divided by 0        ", (logits / 0.0).softmax(-1).numpy()[0])

# %% [markdown]
# As the temperature approaches 0, only the largest logit survives, but dividing by 0 gives `nan`. Libraries therefore treat 0
# as a special case, as yours does, or reject it. The same goes for `top_p=0`, which in your library keeps only the most
# likely token.
#
# ## Speculative decoding
# A decoding step for one sequence reads all weights to compute a single token, so checking five tokens in one pass
# costs little more. In **speculative decoding** a small model drafts tokens from its distribution *q*, and the large
# model, with distribution *p*, checks all drafts in one pass. Each draft is accepted with probability min(1, p/q). If
# it is rejected, its replacement is drawn from the normalized max(p − q, 0), the part of p that exceeds q, and all
# later drafts are discarded.

# %% tags=["proof-speculative"]
p, q = torch.tensor([0.6, 0.3, 0.1]), torch.tensor([0.2, 0.4, 0.4])
torch.manual_seed(0)
drafted = q.multinomial(200_000, replacement=True)
accepted = torch.rand(200_000) < (p / q)[drafted]
instead = (p - q).clamp(min=0).multinomial(200_000, replacement=True)
tokens = torch.where(accepted, drafted, instead)
print(f"accepted {accepted.float().mean():.2f}, sum of min(p, q) {torch.minimum(p, q).sum():.2f}")
print("distribution", (tokens.bincount(minlength=3) / 200_000).numpy().round(2), "· p", p.numpy().round(2))
ax, bars = pictures.axes(5, 3), {"p": p, "q": q, "accepted": torch.minimum(p, q)}
for position, (name, bar) in enumerate(bars.items()):
    colour = list(pictures.COLOURS.values())[position]
    ax.bar(np.arange(3) + 0.3 * position - 0.3, bar.numpy(), 0.28, label=name, color=colour)
ax.set(xlabel="token", ylabel="probability", xticks=range(3)), ax.legend()
pictures.publish(ax, alt="p is 0.6, 0.3, 0.1; q is 0.2, 0.4, 0.4; accepted is the smaller of the two: 0.2, 0.3, 0.1.")

# %% [markdown]
# **Interview · Why is speculative decoding exact?**
#
# - *Thirty seconds:* A given token is drafted and accepted with probability q · min(1, p/q), which is min(p, q). A
#   draft is rejected with probability 1 − Σ min(p, q), and the replacement comes from the normalized max(p − q, 0).
#   Before normalizing, its sum is exactly that, so the two parts add up to p.
# - *Longer:* It is exact in distribution, not token for token, because it consumes different random numbers. The acceptance
#   rate is Σ min(p, q). With k drafts and a rate a, one pass of the large model yields (1 − aᵏ⁺¹)/(1 − a) tokens on average,
#   if each draft is accepted independently.
# - *They ask next:* What if all drafts are accepted? The logits after the last draft are already there, so you draw one more
#   token for free.
# - *They ask next:* What about temperature and top-p? Then p and q are the distributions *after* them, so apply the same
#   settings to both models.
# - *They ask next:* When doesn't it help? In large batches, which are no longer bound by bandwidth ([chapter
#   27](27_whiteboard_serving.ipynb)).
# - *The trap:* If the replacement is drawn from p, tokens that q favours come out too often.
# - *Proof:* `proof-speculative`; the tokens in a pass: `proof-rapid-fire`; exercise 5 builds it for several drafts.
#
# ## The real one
# Here is minitorch's RMS norm, which you can compare with yours:

# %%
print(inspect.getsource(inspect.unwrap(torch.nn.functional.rms_norm)).split("\n", 1)[1])

# %% [markdown] tags=["short"]
# It handles 16-bit inputs in float32 (`is_low_precision`), because squares overflow float16 from 256 on, and rounds once at
# the end (`type_as`). `_check_normalized_shape` raises an error if the shape is wrong. On a GPU, PyTorch has a fused kernel
# that does all of it in one launch where the dtypes allow it.
#
# ## Rapid fire
# 1. Which tensors does RoPE rotate? Queries and keys, but not the values.
# 2. Does a rotation change a vector's length? No, only its direction.
# 3. Top-p is 0.7 and the probabilities are 0.5, 0.3, 0.15 and 0.05. How many tokens stay? Two: 0.5 alone is less than
#    0.7.
# 4. Four draft tokens are each accepted with probability 0.8. How many tokens does a pass of the target yield? 3.4 on
#    average.
# 5. How many weights does SwiGLU have at d = 4,096 and a hidden width of 11,008? 135 million.

# %% tags=["proof-rapid-fire"]
print("1.", [name for name in ("query", "key", "value") if f"{name[0]} = apply_rotary" in inspect.getsource(llama)])
print("2.", [f"{vector.norm():.3f}" for vector in (query, llama.apply_rotary(query[None], torch.tensor([9])))])
kept = mytorch.generation.probabilities(mytorch.tensor([[0.5, 0.3, 0.15, 0.05]]).log(), top_p=0.7)
print("3.", (kept > 0).sum().item())
print("4.", f"{(torch.rand(400_000, 4) < 0.8).int().cumprod(1).sum(1).float().mean() + 1:.1f}")
print("5.", round(3 * 4096 * 11008 / 1e6))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. RoPE rotates queries and keys by their absolute positions, so attention scores depend on the distance.
# 2. `rotate_half` pairs element i with element i + dim/2; Meta's own files pair neighbours.
# 3. RMSNorm has no mean and no shift. SwiGLU has three matrices and 8/3 of the width.
# 4. Grouped queries shrink the cache, not the number of attention scores, and may cost a little quality.
# 5. The cache takes 2 · layers · KV heads · head width · tokens · bytes.
# 6. Long prompts are bound by FLOPs, decoding usually by bandwidth; compare FLOP/byte with the GPU's ratio.
# 7. Pad on the left, and mask the padding.
# 8. Temperature 0 means the largest logit; it is not a division.
# 9. RoPE accepts any length, but the loss rises beyond the trained one.
# 10. Speculative decoding keeps p: it accepts with min(1, p/q) and otherwise draws from the normalized max(p − q, 0).
#
# ## You try
# In [the exercises](../exercises/24b_llama.ipynb) you predict what a cache holds, then write rotary positions, grouped
# queries with a cache, and the sampler. You build speculative decoding, fix a prefill that reads the prompt in pieces, and
# measure widths at equal FLOPs. [Chapter 24c](24c_mixture_of_experts.ipynb) replaces the MLPs with experts.

# %% [markdown]
# ## If you have time
# ### Extending the context: position interpolation, NTK, YaRN
# A model can read texts that are longer than those it was trained on if its rotations are slowed down, so that long distances
# produce only angles that occurred in training. *Position interpolation* divides all positions by the extension factor s.
# *NTK-aware scaling* raises `theta` instead, to theta · s^(dim/(dim − 2)), which slows the slowest pair by a factor of s and
# leaves the fastest as it is. *YaRN* divides the slow frequencies by s, leaves the fast ones, blends in between, and adjusts
# the attention's temperature. Here is NTK-aware scaling on the three models from above, without further training:

# %% tags=["proof-longer-context"]
for trained in models["+ RoPE"]:
    for attend in trained.attend:
        attend.theta = 10000.0 * 5 ** (12 / 10)  # 5 times 48 characters, heads of 12 elements
scaled = np.mean([losses(model, 240, 50) for model in models["+ RoPE"]], 0)
for name, scores_of in (("as trained", far), ("slower rotations", scaled)):
    print(f"{name:17}", {f"{at} to {at + 48}": f"{scores_of[:, at : at + 48].mean():.1f}" for at in (96, 144)})

# %% [markdown]
# At positions 96 to 144 the loss is back at its value inside the trained context, and further out it rises less than before. In
# practice, a short fine-tuning run follows.
#
# ### Sliding windows and attention sinks
# A *sliding window* lets each query attend to the last w keys only, so that the cache stops growing. Many models put so
# much attention on the first tokens that dropping these from the cache ruins the output, so streaming caches also keep
# a few of them as *attention sinks*. In the next output each row is a query, and an x marks a key that it may attend
# to:

# %% tags=["proof-window"]
at = torch.arange(8)
distance = at[:, None] - at
allowed = (distance >= 0) & ((distance < 3) | (at < 1))  # a window of 3 and one sink
print(*("".join("x" if allowed_here else "·" for allowed_here in row) for row in allowed.tolist()), sep="\n")

# %% [markdown]
# ### Multi-head latent attention
# In MLA the keys are a linear projection of the cached latent vectors. The projection can be applied to the query instead, so
# the keys never have to be computed:

# %% tags=["proof-latent"]
torch.manual_seed(0)
latent, up, query = torch.randn(5, 4), torch.randn(4, 16), torch.randn(16)
print("keys computed:  ", ((latent @ up) @ query).numpy().round(2), "from 5 * 4 cached elements, not 5 * 16")
print("query projected:", (latent @ (up @ query)).numpy().round(2))

# %% [markdown]
# ### Multi-token prediction
# A model can be trained to predict several of the next tokens at every position. The head that looks k tokens ahead has the
# tokens k positions later as its targets, so the last k positions of a row have none:

# %% tags=["proof-several-tokens"]
row = list("rotary")
for ahead in (1, 2, 3):
    pairs = [f"{row[at]}→{row[at + ahead]}" for at in range(len(row) - ahead)]
    print(f"{ahead} ahead: {' '.join(pairs)}")
print("tokens a pass, if the second one is accepted 85 % of the time:", 1 + 0.85)

# %% [markdown]
# **Interview · What does multi-token prediction change in training and in serving?**
#
# - *Thirty seconds:* Besides the next token, small extra modules predict the ones after it, and their losses are added with a
#   small weight. So the trunk gets more training signal from each token and may learn to plan ahead. For serving, you drop the
#   modules or let them draft tokens for speculative decoding.
# - *Longer:* In DeepSeek-V3 one module predicts the second token. It is a transformer block that reads the trunk's state and the
#   embedding of the next token, and it shares the embedding and the output head. Its drafts were accepted 85 to 90 % of the time,
#   which gave 1.8 times the tokens per second.
# - *They ask next:* Do such drafts change the model's answers? No, because the main head checks each of them, as in any
#   speculative decoding.
# - *The trap:* Not all targets can be shifted by one, and positions that have no target so far ahead don't belong in the average.
# - *Proof:* `proof-several-tokens`; why the check is exact: `proof-speculative`.

# %% [markdown]
# ### A common myth: "Perplexity compares across tokenizers"
# Perplexity is exp(mean loss per *token*). A model gives a text the same probability whether you count characters or pairs of
# characters, but the perplexity differs. So compare bits per byte, or use the same tokenizer:

# %% tags=["proof-perplexity"]
nats = losses(models["+ GQA"][0], 48, 200)
for name, count in (("characters", nats.size), ("pairs", nats.size / 2)):
    perplexity = float(f"{math.exp(nats.sum() / count):.0e}")
    print(f"{name:10} perplexity about {perplexity:.0f}, bits per character {nats.mean() / math.log(2):.1f}")
