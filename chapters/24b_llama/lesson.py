# %% [markdown]
# # Four swaps: GPT-2 becomes Llama
# After this chapter your own library loads a Llama checkpoint by name, computes the scores that Hugging Face's
# `transformers` computes, and writes with a cache. You'll have measured what each of four changes to GPT-2 brings, and
# you'll know why speculative decoding changes nothing but the speed.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch("24b")  # your library as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## Move every position by 100
# A query at position 3 looks at a key at position 0. Shift both by 7, then by 100. GPT-2 adds a learned vector for the
# position; Llama *rotates* queries and keys. What happens to the score?

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
# The rotated score stays, because only the distance counts. With the table, each shift gives another score, and at
# position 100 it has no row left.
#
# ## Positions as rotations
# Take a query and a key of two numbers each, and turn each by an angle of one radian times its position. A dot product
# depends on the two lengths and on the angle between them. If both turn by the same amount, it stays. This is **RoPE**,
# rotary position embedding. Move the slider:

# %% tags=["proof-rotate"]
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
        ax.text(*(1.2 * end), name, ha="center", color=pictures.COLOURS[colour])
    ax.set(xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), xlabel="first number", ylabel="second number")
    return pictures.publish(ax, alt=f"Query at {position + 1}, key at {position}: dot product {q @ k:.2f}.")


print([f"{rotate([1.5, 0.5], at + 1) @ rotate([0.5, 1.0], at):.2f}" for at in range(5)])
pictures.slider(draw, start={"position": 0}, position=[0, 1, 2, 3, 4, 5])

# %% [markdown]
# ### Break it
# A circle closes after 2π. With one pair, a key 44 positions away looks like one at the query's own position, since 44 is nearly seven full
# turns. So a head of 64 numbers has 32 pairs, each with a speed of its own: from one radian per position down to less
# than 1/7,000.

# %% tags=["proof-frequencies"]
ones, distances = torch.ones(1, 64), range(101)
scores = {"one pair": [math.cos(each) for each in distances]}
start = llama.apply_rotary(ones, torch.tensor([0]))
scores["32 pairs"] = [(llama.apply_rotary(ones, torch.tensor([each])) @ start.T).item() / 64 for each in distances]
print({name: [round(line[each], 2) for each in (0, 1, 44, 88)] for name, line in scores.items()})
pictures.curves(scores, distances, xlabel="distance (positions)", ylabel="score / score at distance 0")

# %% [markdown]
# Which numbers form a pair is a convention. Llama's checkpoints at Hugging Face pair number *i* with *i + dim/2*
# (`rotate_half`), while the paper and Meta's own files pair neighbours. Names and shapes are
# the same, so a checkpoint read with the other convention loads without an error, and computes something else. You write `rotary_tables`, `rotate_half` and `apply_rotary` in exercise 2.
#
# **Interview · Why does RoPE's score depend on the distance alone?**
#
# - *Thirty seconds:* Position *m* multiplies the query by a rotation R(m), position *n* the key by R(n). Their product is
#   qᵀ R(m)ᵀ R(n) k = qᵀ R(n − m) k, because transposing a rotation reverses it and angles add up.
# - *Longer:* Values aren't rotated: positions decide where to look, not what is found there. Lengths stay, so nothing
#   has to be scaled again.
# - *They ask next:* Why many speeds? Fast pairs tell neighbours apart, slow ones tell far from near; one pair alone repeats itself.
# - *The trap:* Rotating what comes out of the cache again. A key is rotated once, by its own absolute position, and then kept.
# - *Proof:* `proof-shift`, `proof-rotate`, `proof-frequencies`.
#
# ## Where we start: a small GPT-2
# The model below has a switch for each of the four changes. It reads *Alice's Adventures in Wonderland*, one character at a
# time, and is judged on the last 12,000 characters, which it doesn't train on.

# %%
from pathlib import Path

nn, parts = mytorch.nn, mytorch.nn.llama
text = Path("files/alice.txt").read_text()
letters = sorted(set(text))
numbers = np.array([letters.index(each) for each in text])
seen, unseen = numbers[:-12000], numbers[-12000:]


def mlp(swaps):  # SwiGLU has a third matrix, so it is narrower; what GQA saves goes in here
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


# %% [markdown]
# To be fair, all five models get the same FLOPs: the same tokens, and the same number of weights in their products, each of
# which costs six FLOPs per token in training. `train` returns the loss on the unseen text.


# %% tags=["proof-GPT-2"]
def losses(model, length, rows):  # of each character but the first ones, (rows, length - 1)
    x = mytorch.tensor(unseen[: rows * length].reshape(rows, length))
    with mytorch.no_grad():
        return nn.functional.cross_entropy(model(x)[:, :-1].mT, x[:, 1:], reduction="none").numpy()


curves = {}


def train(name, *swaps):
    mytorch.manual_seed(0)
    model, rng, curves[name] = Model(*swaps), np.random.default_rng(0), []
    optimizer = mytorch.optim.AdamW(model.parameters(), lr=6e-3)
    for _ in range(120):
        rows = mytorch.tensor(seen[rng.integers(0, len(seen) - 48, (8, 1)) + np.arange(49)])
        loss = nn.functional.cross_entropy(model(rows[:, :-1]).mT, rows[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curves[name].append(loss.item())
    products = sum(each.numel() for name, each in model.named_parameters() if "proj" in name or name.startswith("mlps"))
    print(f"{name}: {products} weights in the blocks' products, loss {losses(model, 48, 200).mean():.1f}")
    return model


gpt2 = train("GPT-2")

# %% [markdown]
# ## Swap 1: RMSNorm
# Layer norm subtracts the mean, divides by the standard deviation, scales and shifts. RMSNorm, which you wrote in chapter 12,
# divides by the root mean square and scales. Mean and shift are gone:

# %% tags=["proof-RMSNorm"]
rms = train("+ RMSNorm", "RMSNorm")
x = torch.tensor([1.0, 2.0, 3.0, 6.0])
print("layer norm", torch.nn.functional.layer_norm(x, (4,)).numpy().round(2), "· RMS norm", end=" ")
print(torch.nn.functional.rms_norm(x, (4,)).numpy().round(2))

# %% [markdown] given="mytorch.nn.llama:SwiGLU"
# To one digit, the loss is the same. That is the point: there is less to compute and to read from memory, at no loss in quality.
#
# ## Swap 2: SwiGLU
# GPT-2's MLP is two matrices with a GELU between them. SwiGLU has three: one result passes through `silu` and *gates* the other,
# number by number. With a hidden width of 8/3 instead of 4 times the model's, three matrices have as many weights as two:

# %% tags=["proof-SwiGLU"]
swiglu = train("+ SwiGLU", "RMSNorm", "SwiGLU")

# %% [markdown]
# At this size it brings hardly anything. In larger models, gated MLPs were found to give a slightly lower loss at the same cost
# ([Shazeer 2020](https://arxiv.org/abs/2002.05202)).
#
# ## Swap 3: RoPE
# The table of positions goes, and queries and keys are rotated:

# %% tags=["proof-RoPE"]
rope = train("+ RoPE", "RMSNorm", "SwiGLU", "RoPE")

# %% [markdown] tags=["short"]
# This one lowers the loss. "The character before me" is one rotation for all positions, while a table has to learn it for each row.
#
# ## Swap 4: grouped queries
# Four heads of queries share two heads of keys and values, so `k_proj` and `v_proj` are half as wide (**grouped-query
# attention**, GQA). What that saves goes into the MLP:

# %% tags=["proof-GQA"]
llama_model = train("+ GQA", "RMSNorm", "SwiGLU", "RoPE", "GQA")
smooth = {name: np.convolve(line, np.ones(15) / 15, "valid") for name, line in curves.items()}
about = "Three curves end near 2.5; the two with rotary positions end near 2.4."
pictures.curves(smooth, range(15, 121), xlabel="step", ylabel="loss (nats), mean of 15 steps", alt=about)

# %% [markdown]
# The loss stays, and the cache will be half as large. You write `repeat_kv`, which hands each head of keys to its group, and
# the attention around it, in exercise 3.
#
# **Interview · GPT-2 to Llama: what are the four changes, and why each?**
#
# - *Thirty seconds:* RMSNorm instead of layer norm: as good, cheaper. SwiGLU instead of GELU: slightly better at the same
#   FLOPs. Rotary instead of learned positions: relative, and no table that ends. Grouped queries: a smaller cache.
# - *Longer:* Llama also drops all biases and doesn't tie its output matrix to the embedding, unless the configuration says so. The
#   pre-norm blocks are GPT-2's. Llama 2 has grouped queries in its 70B model, not in its 7B, and Llama 3 in all.
# - *They ask next:* Why 8/3? Three matrices of d · 8d/3 have as many weights as two of d · 4d.
# - *The trap:* "Each of them lowers the loss." Two of them save something.
# - *Proof:* `proof-RMSNorm`, `proof-SwiGLU`, `proof-RoPE`, `proof-GQA`.
#
# ### Myth · "RoPE extrapolates by itself"
# There is no table that ends, so the model accepts any length. It was trained on 48 characters. Let it read 240:

# %% tags=["proof-extrapolate"]
far = losses(rope, 240, 50)
print({f"{at} to {at + 48}": f"{far[:, at : at + 48].mean():.1f}" for at in (0, 48, 96, 144)})

# %% [markdown]
# It runs, and gets worse: distances that never occurred in training lead to angles between query and key that the weights have never
# seen. Longer contexts need further training, usually with slower rotations (a larger `theta`, or interpolated positions).
#
# ## Milestone: a checkpoint from Hugging Face
# `files/tiny_llama` was written by `transformers`: random weights, a `config.json`, and the scores that it computed.
# `minitorch/models/llama.py` has the names of its `LlamaForCausalLM`. Run that file on your library, with your attention and
# MLP in it:

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
print(f"scores of size {expected['logits'].abs().mean().item():.1f}, off by at most {off:.4f}")
written = mytorch.generation.generate(model, expected["tokens"], 10, temperature=0)
print("tokens written:", *written[0, 12:].tolist(), "· transformers:", *expected["written"][0, 12:].tolist())

# %% [markdown]
# ## Writing with a cache
# `generate` runs the prompt once (**prefill**), then one token at a time (**decode**). Keys and values of earlier tokens come from the
# cache. [Chapter 14](14_attention.ipynb) explains why that is allowed.
#
# ### Myth · "A KV cache saves memory"

# %% tags=["proof-cache"]
caches, passed = model.new_caches(), {"with": 0, "without": 0}
tokens = expected["tokens"][:1]
for _ in range(20):
    new = tokens[:, len(caches[0]) :]
    scores = model(new, caches=caches)[0]
    passed["with"] += new.shape[1]
    passed["without"] += tokens.shape[1]
    tokens = mytorch.cat([tokens, scores[:, -1:].argmax(-1)], 1)
held = sum(each.numel() for cache in caches for each in (cache.key, cache.value))
print(f"positions through the model {passed}, numbers kept {held} = 2 * 2 layers * 2 heads * 6 * {len(caches[0])}")

# %% [markdown]
# It saves work and costs memory, which grows with each token. (The last token that was drawn isn't in the cache yet: it has
# not been through the model.) How much is that for a real model?
#
# **MLA**, DeepSeek's multi-head latent attention, keeps one short vector per token, from which the keys and values of all heads are
# linear maps. The map can be moved to the query, so the keys need not even be made:

# %% tags=["proof-bytes"]
kinds = {"MHA, 32 heads": 2 * 32 * 128, "GQA, 8 heads": 2 * 8 * 128, "MLA, 512 + 64": 512 + 64, "MQA, 1 head": 2 * 128}
sizes = [2**power for power in range(10, 18)]
lines = {name: [32 * each * size * 2 / 2**30 for size in sizes] for name, each in kinds.items()}
print("8,192 tokens, 32 layers, 16 bits:", {name: f"{line[3]:.2f} GiB" for name, line in lines.items()})
torch.manual_seed(0)
latent, up, query = torch.randn(5, 4), torch.randn(4, 16), torch.randn(16)
print("keys made:   ", ((latent @ up) @ query).numpy().round(2), "from 5 * 4 numbers, not 5 * 16")
print("query mapped:", (latent @ (up @ query)).numpy().round(2))
pictures.curves(lines, sizes, xlabel="tokens", ylabel="cache (GiB)", log="xy")

# %% [markdown] tags=["short"]
# **Interview · How large is the cache of 32 layers, 8 KV heads of 128, and 8k tokens in 16 bits?**
#
# - *Thirty seconds:* Keys and values, so 2 · 32 · 8 · 128 · 8,192 numbers of 2 bytes: 1 GiB for each sequence. With 32 KV
#   heads it would be 4.
# - *Longer:* The weights of 8 billion parameters take 15 GiB, so 15 such sequences need as much again.
# - *They ask next:* What is done about it? Fewer KV heads, 8-bit caches, sliding windows, pages instead of one reserved block.
# - *The trap:* Counting the heads of queries. Only keys and values are kept.
# - *Proof:* `proof-bytes`, `proof-cache`.
#
# **Interview · MHA, MQA, GQA, MLA: what does each keep?**
#
# - *Thirty seconds:* MHA keeps keys and values for each head, MQA one pair for all heads, GQA one for each group. MLA keeps a
#   latent vector from which all heads' keys and values are computed.
# - *Longer:* MQA is the smallest and costs some quality; 8 groups were found to be nearly as good as MHA
#   ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)). In MLA each head has keys of its own, as in MHA.
# - *They ask next:* Why has MLA 64 extra numbers? A rotation between latent and key can't be moved to the query, so a few
#   numbers carry the positions apart from the rest.
# - *The trap:* "With fewer KV heads, fewer scores are computed." Each head of queries still meets each key. What shrinks is the
#   cache, what is read of it, and `k_proj` and `v_proj`.
# - *Proof:* `proof-GQA`, `proof-bytes`.
#
# ### Prefill and decode
# A weight in 16 bits is 2 bytes to read, and does 2 FLOPs for each token that passes. A GPU that does 1,000 TFLOP/s and reads 3.3 TB/s
# needs about 300 FLOPs per byte to be busy:

# %% tags=["proof-prefill"]
weights, cache = 8e9, 2**30
for name, tokens, caches in (("prefill, 8,192", 8192, 0), ("decode", 1, 1), ("decode, batch of 64", 64, 64)):
    flops, read = 2 * weights * tokens, 2 * weights + caches * cache
    ms = flops / 1e12, read / 3.3e9
    print(f"{name:20} {flops / read:5.0f} FLOPs per byte: computing {ms[0]:5.1f} ms, reading {ms[1]:4.1f} ms")

# %% [markdown]
# **Interview · Prefill or decode: what bounds each?**
#
# - *Thirty seconds:* Prefill runs all tokens of the prompt at once, so each weight that is read does much work: it is bound by FLOPs. Decode reads
#   all weights and the cache for one token: it is bound by memory bandwidth.
# - *Longer:* Batching lets the sequences share the weights, but each brings a cache of its own.
# - *They ask next:* Which latency is which? Time to the first token is prefill, time between tokens is decode.
# - *The trap:* Judging decode by FLOPs. For one sequence, a GPU with twice the FLOPs and the same bandwidth writes no faster.
# - *Proof:* `proof-prefill`.
#
# ### Prompts of different lengths

# %% tags=["proof-padding"]
long, short = expected["tokens"][:1, :8], expected["tokens"][1:2, :5]
pad = mytorch.zeros(1, 3, dtype=mytorch.int64)
alone = model(short)[0][:, -1]
right, left = (mytorch.cat([long, mytorch.cat(each, 1)]) for each in ([short, pad], [pad, short]))
right, left = model(right)[0][1], model(left)[0][1]
for name, scores in (("right, last", right[-1]), ("right, at its own last", right[4]), ("left, no mask", left[-1])):
    print(f"padded {name:24} off by {(scores - alone).abs().max().item():.1f}")

# %% [markdown] tags=["short"]
# **Interview · On which side do you pad prompts for batched generation?**
#
# - *Thirty seconds:* On the left. Then the last position of every row is its last real token, and new tokens follow without a gap.
# - *Longer:* A mask has to hide the padding, in prefill and in each step of decoding. With right padding, the scores at the end are
#   those after padding.
# - *They ask next:* And positions? A table needs each row's own, counted from its first real token. With RoPE a shift of a whole
#   row changes no score.
# - *The trap:* Left padding without a mask.
# - *Proof:* `proof-padding`, `proof-shift`; exercise 6 is about the mask.
#
# ## Which token?
# Scores become probabilities, and one token is drawn. **Temperature** divides the scores, **top-k** keeps the k likeliest,
# **top-p** the fewest whose probabilities reach p. You write all three in exercise 4.
#
# ### Myth · "Temperature 0 is a division"

# %% tags=["proof-temperature"]
scores = mytorch.tensor([[2.0, 1.0, 0.0, -1.0]])
choose = mytorch.generation.probabilities
for how in ({}, {"temperature": 0.5}, {"temperature": 2.0}, {"top_k": 2}, {"top_p": 0.9}, {"temperature": 0}):
    print(f"{how!s:20}", choose(scores, **how).numpy().round(2)[0])
print("divided by 0        ", (scores / 0.0).softmax(-1).numpy()[0])

# %% [markdown]
# The limit is a choice of the largest, but the division gives `nan`. Libraries treat 0 as a case of its own, as yours does, or
# refuse it.
#
# ### Myth · "Perplexity compares across tokenizers"
# Perplexity is exp(mean loss per *token*). The same model gives the same text the same probability, whether you count it by
# characters or by pairs of them:

# %% tags=["proof-perplexity"]
nats = losses(llama_model, 48, 200)
for name, tokens in (("characters", nats.size), ("pairs", nats.size / 2)):
    perplexity = float(f"{math.exp(nats.sum() / tokens):.0e}")
    print(f"{name:10} perplexity about {perplexity:.0f}, bits per character {nats.mean() / math.log(2):.1f}")

# %% [markdown]
# Compare bits per byte, or the same tokenizer.
#
# ## Two models, one distribution
# Decoding reads all weights for one token, so checking five tokens at once costs little more. **Speculative decoding**: a small
# model drafts from its distribution *q*, and the large model, with *p*, looks at the drafts in one pass. A draft is accepted with
# probability min(1, p/q). A rejected one is replaced by a draw from what *p* has more than *q*, max(p − q, 0).

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
for place, (name, each) in enumerate(bars.items()):
    ax.bar(
        np.arange(3) + 0.3 * place - 0.3, each.numpy(), 0.28, label=name, color=list(pictures.COLOURS.values())[place]
    )
ax.set(xlabel="token", ylabel="probability", xticks=range(3)), ax.legend()
pictures.publish(ax, alt="p is 0.6, 0.3, 0.1; q is 0.2, 0.4, 0.4; accepted is the smaller of the two: 0.2, 0.3, 0.1.")

# %% [markdown]
# **Interview · Why is speculative decoding exact?**
#
# - *Thirty seconds:* A token comes through as an accepted draft with probability q · min(1, p/q) = min(p, q). The rest of
#   the time, 1 − Σ min(p, q), it is drawn from max(p − q, 0), which sums to just that. Both add up to p.
# - *Longer:* The acceptance rate is Σ min(p, q). With k drafts and a rate a, one pass of the large model gives (1 − aᵏ⁺¹)/(1 − a)
#   tokens on average, if a is the same for each.
# - *They ask next:* What if all drafts are accepted? The last position's scores are there already: draw one more token for free.
# - *The trap:* Drawing the replacement from p. Then tokens that q likes come out too often.
# - *Proof:* `proof-speculative`; the tokens in a pass: `proof-rapid-fire`; exercise 5 builds it for several drafts.
#
# ## One loss of alignment
# DPO trains on pairs of answers, one preferred. Its loss is −log σ(β · (gain of the chosen − gain of the rejected)), where the gain
# is the policy's log-probability minus that of a frozen *reference*.


# %% tags=["proof-DPO"]
def dpo_loss(policy, reference, beta=0.1):  # log-probabilities of the chosen and the rejected answer
    chosen, rejected = policy - reference
    return -torch.nn.functional.logsigmoid(beta * (chosen - rejected))


reference = torch.tensor([-12.0, -10.0])
for moved in ([0.0, 0.0], [5.0, -5.0], [-5.0, -15.0], [5.0, 5.0]):
    policy = (reference + torch.tensor(moved)).requires_grad_()
    loss = dpo_loss(policy, reference)
    print(f"moved by {moved!s:13} loss {loss:.3f}, gradient {torch.autograd.grad(loss, policy)[0].numpy().round(3)}")

# %% [markdown]
# **Interview · What is DPO's loss if the policy is the reference?**
#
# - *Thirty seconds:* ln 2 = 0.693: both gains are 0, and σ(0) is one half. Training starts there, and the gradient isn't 0.
# - *Longer:* β says how far the policy may move from the reference. Adding the same to both log-probabilities changes nothing.
# - *They ask next:* Does the chosen answer's probability rise? Only its lead has to. In the third line both fall, and the loss is that of the second.
# - *The trap:* Letting gradients into the reference, or leaving dropout on in it.
# - *Proof:* `proof-DPO`.
#
# ## The real one
# minitorch's RMS norm, beside yours:

# %%
print(inspect.getsource(inspect.unwrap(torch.nn.functional.rms_norm)).split("\n", 1)[1])

# %% [markdown] tags=["short"]
# It computes in float32 what comes in 16 bits (`is_low_precision`), because squares overflow float16 at 256, and rounds once at the end (`type_as`).
# `_check_normalized_shape` words the errors. On a GPU, PyTorch computes all of it in one fused kernel where the types allow it.
#
# ## Rapid fire
# 1. Which tensors does RoPE rotate? Queries and keys, not values.
# 2. Does a rotation change a vector's length? No.
# 3. Top-p 0.7 of .5 .3 .15 .05: how many tokens stay? Two.
# 4. Four drafts, each accepted with 0.8: tokens per pass? 3.4.
# 5. Weights of SwiGLU at d = 4,096 and hidden 11,008? 135 million.

# %% tags=["proof-rapid-fire"]
print("1.", [name for name in ("query", "key", "value") if f"{name[0]} = apply_rotary" in inspect.getsource(llama)])
print("2.", [f"{each.norm():.3f}" for each in (query, llama.apply_rotary(query[None], torch.tensor([9])))])
kept = mytorch.generation.probabilities(mytorch.tensor([[0.5, 0.3, 0.15, 0.05]]).log(), top_p=0.7)
print("3.", (kept > 0).sum().item())
print("4.", f"{(torch.rand(400_000, 4) < 0.8).int().cumprod(1).sum(1).float().mean() + 1:.1f}")
print("5.", round(3 * 4096 * 11008 / 1e6))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. RoPE rotates queries and keys by their absolute position; scores see the distance.
# 2. `rotate_half` pairs number i with i + dim/2.
# 3. RMSNorm: no mean, no shift. SwiGLU: three matrices, 8/3 of the width.
# 4. Grouped queries shrink the cache, not the number of scores.
# 5. Cache: 2 · layers · KV heads · head width · tokens · bytes.
# 6. Prefill is bound by FLOPs, decode by bandwidth.
# 7. Pad on the left, and mask.
# 8. Temperature 0 is the largest, not a division.
# 9. Perplexity depends on the tokenizer; bits per byte don't.
# 10. Speculative decoding keeps p: accept with min(1, p/q), else draw from max(p − q, 0).
#
# ## You try
# [The exercises](../exercises/24b_llama.ipynb): predict what a cache holds; write rotary positions, grouped queries with a cache,
# and the choice of tokens; build speculative decoding; repair a prompt that is read in pieces; and measure widths at
# equal FLOPs. [Chapter 25](25_mock_interview.ipynb) is a mock interview about all of it.
