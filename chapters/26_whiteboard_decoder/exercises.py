# %% [markdown]
# # Exercises · One decoder, twelve changes
# Each of the first eleven changes one part of a transformer decoder: its feed-forward layer, its attention, its
# positions, its cache or its backward pass. In the twelfth a decoder doesn't learn, in the thirteenth you test what an
# assistant wrote, and in the last a recurrence becomes a parallel scan. In an interview each gets the minutes below its
# task, without an IDE, so say the shapes aloud, write the function, then name its cost. Most are written in NumPy;
# where the task says `torch`, which is minitorch, you may use its tensors and operations. None of it becomes part of
# `mytorch`. The cost of a problem and the questions that an interviewer asks next are folded below its check.

# %% setup=true
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch.nn import functional as F


# %% setup=true
def softmax(scores):
    """The softmax over the last axis; as in PyTorch, a row of −∞ alone gives nan."""
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def causal(scores):
    """Scores (…, T, S) with −∞ at keys after the query; the last query belongs to the last key."""
    queries, keys = scores.shape[-2:]
    return np.where(np.tri(queries, keys, keys - queries, dtype=bool), scores, -np.inf)


def rotate(x, start):
    """Rotary embedding (RoPE) of x (…, T, D), D even, whose T tokens stand at the positions start, start + 1, …"""
    half = x.shape[-1] // 2
    angles = np.arange(start, start + x.shape[-2])[:, None] * 50.0 ** (-np.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1)


@dataclass(frozen=True)
class Latent:
    """The weights of multi-head latent attention with H heads, a model width of C and a latent width of R."""

    q: np.ndarray  # (H, C, D): queries
    rotary_q: np.ndarray  # (H, C, P): rotary queries
    down: np.ndarray  # (C, R): tokens to latents
    norm: np.ndarray  # (R,)
    rotary_k: np.ndarray  # (C, P): the rotary key, which all heads share
    up_k: np.ndarray  # (H, R, D): latents to keys
    up_v: np.ndarray  # (H, R, V): latents to values
    out: np.ndarray  # (H, V, C)


# %% [markdown] exercise="decoder_moe" kind="build" points=4 minutes=20
# ### Exercise 1 · A mixture-of-experts layer: route, dispatch, combine, capacity
# Replace the decoder's feed-forward layer by E experts. Each token goes to the k experts with the largest router
# logits; its *gates* are the softmax over these k logits, and its result is the token itself (the residual) plus the
# gated outputs of its experts. If there is a `capacity`, an expert runs only its first so many tokens, in the order
# of the batch; the others get nothing from it, and their other gates stay as they are. Each expert is called once, on
# all of its tokens together, and not at all if it has none. Use `torch`, so that the router gets gradients.


# %% solution="decoder_moe"
def moe(
    x: torch.Tensor, router: torch.Tensor, experts: list, k: int, capacity: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The results (N, C), and how many tokens each expert ran: an int64 tensor (E,).

    `x` is (N, C), `router` (E, C), and the router's logits are their dot products. An expert maps (n, C) to (n, C).
    The tensors that come in stay as they are.
    """
    ### BEGIN SOLUTION
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor(load)
    ### END SOLUTION


# %% check="decoder_moe"
generator = check.rng()
N, C, E = 11, 4, 5
x, router, matrices, probe = (
    torch.tensor(generator.normal(size=size).astype("float32")) for size in ((N, C), (E, C), (E, C, C), (N, C))
)
before, calls = x.clone(), []


def expert(number):
    def run(tokens):
        calls.append([number, len(tokens)])
        return (tokens @ matrices[number]).tanh()

    return run


experts = [expert(number) for number in range(E)]
router.requires_grad_()
y, load = check.intact(moe, x, router, experts, 2)
called = sorted(calls)
(y * probe).sum().backward()
inputs = x.clone().requires_grad_()
matrices.requires_grad_()
deep, _ = moe(inputs, router, experts, 2)
gradients = torch.autograd.grad((deep * probe).sum(), [inputs, matrices], allow_unused=True)
with torch.no_grad():
    one, all_of_them = moe(x, router, experts, 1), moe(x, router, experts, E)
    short = moe(x, router, experts, 2, 2)
    calls.clear()
    none_left = moe(x, router, experts, 3, 0)
    called_full = sorted(calls)
    crowded = moe(x[:1].expand(4, C) + 0.01 * probe[:4], router, experts, 2, 3)
    pair = torch.tensor([[3.0, 2.0, -1.0, -2.0], [3.0, -1.0, 2.0, -2.0]]) + 0.2 * probe[:2].tanh()
    half = moe(pair, torch.eye(E)[:, :C], experts, 2, 1)
    calls.clear()
    alone = moe(x[:1], router, experts, 2)
    called_alone = sorted(calls)
    sharp = moe(x, 400 * router, experts, 3)
    empty = moe(x[:0], router, experts, 2)
check.show(
    {
        "two of five experts": y,
        "how many tokens each expert ran": load,
        "calls as [expert, tokens], sorted": called,
        "gradient of the router": router.grad,
        "gradients of x and of the experts' matrices": gradients,
        "one expert a token": one,
        "all experts": all_of_them,
        "a single expert": moe(x, router[:1], experts[:1], 1),
        "capacity 2": short,
        "capacity 0, and the calls": [none_left, called_full],
        "four similar tokens, capacity 3": crowded,
        "two tokens that share one expert, capacity 1": half,
        "a single token, and the calls": [alone, called_alone],
        "logits in the thousands": sharp,
        "no tokens": empty,
        "x stays as it is": torch.equal(x, before),
    },
    rtol=1e-4,
    atol=1e-4,
    text="Outputs and loads of the layer for several numbers of experts and capacities.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* O(N·E·C) for the router and k times a single expert for each token, but the weights of all E experts stay in
# memory.
#
# - *How does the router learn, although top-k has no gradient?* "The gates multiply the outputs of the chosen experts,
#   so their logits get gradients, while an expert that wasn't chosen gets none. With k = 1 and a softmax over the
#   chosen logits, the gate is always 1, and the router learns nothing; then the gate has to come from the softmax over
#   all experts."
# - *Why is there a capacity at all?* "On an accelerator, buffers have fixed shapes: k·N/E tokens each, times a
#   factor. Dropless kernels sort the tokens by expert and multiply blocks of different sizes instead."
# - *Can the rest of the batch change a token's result?* "Yes, through the capacity: whether a token is dropped depends
#   on the tokens before it. Without a capacity, the rest of the batch changes no more than the rounding."
#
# </details>

# %% [markdown] hint="decoder_moe"
# Write the router first: which two values does `topk` return, and which of them do the gates need? Then go through
# the experts, not through the tokens.

# %% [markdown] hint="decoder_moe"
# `(chosen == number).nonzero(as_tuple=True)` gives the tokens of an expert in the order of the batch, and which of
# their k choices it was, and a capacity is a slice of both.

# %% [markdown] hint="decoder_moe"
# For each expert, add `gates[token, choice, None] * expert(x[token])` into the result at the rows `token`.
# `index_add` starts from x, which is the residual; a dropped token just isn't in the list.


# %% mutant="decoder_moe"
# The softmax over all experts
# The gates are the softmax over the k chosen logits, so they add up to 1. Here they are the probabilities among all
# experts, which add up to less.
def moe(x, router, experts, k, capacity=None):
    gates, chosen = (x @ router.T).softmax(-1).topk(k, dim=-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor(load)


# %% mutant="decoder_moe"
# Overwrites the other expert's part
# A token has k experts, and their outputs are added up. An assignment to the token's row keeps the last expert alone.
def moe(x, router, experts, k, capacity=None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x.clone(), []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y[token] = x[token] + gates[token, choice, None] * expert(x[token])
    return y, torch.tensor(load)


# %% mutant="decoder_moe"
# No gate
# Each output is multiplied by its gate. With equal weights instead, the result doesn't depend on how sure the router
# is, and the router gets no gradient.
def moe(x, router, experts, k, capacity=None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, (0 * gates[token, choice, None] + 1 / k) * expert(x[token]))
    return y, torch.tensor(load)


# %% mutant="decoder_moe"
# Gates without gradient
# The gates carry the only gradient that the router gets. Detached, they give the correct values, and the router never
# learns.
def moe(x, router, experts, k, capacity=None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1).detach() + 0 * logits
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor(load)


# %% mutant="decoder_moe"
# Dropped tokens become 0
# A token that all its experts have dropped passes by the residual unchanged. Here the residual is added only where an
# expert ran.
def moe(x, router, experts, k, capacity=None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load, ran = x, [], torch.zeros(len(x), 1)
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            ran[token] = 1.0
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y * ran, torch.tensor(load)


# %% mutant="decoder_moe"
# No residual
# The layer returns the token plus its experts' outputs. Without the residual, a dropped token has no value at all.
def moe(x, router, experts, k, capacity=None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = torch.zeros_like(x), []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor(load)


# %% mutant="decoder_moe"
# Gates shared out anew after a drop
# A gate stays as it is when another expert drops the token. Here the gates of the experts that ran are scaled to add
# up to 1 again.
def moe(x, router, experts, k, capacity=None):
    logits, chosen = (x @ router.T).topk(k, dim=-1)
    ran = torch.zeros(*chosen.shape)
    kept = []
    for number in range(len(experts)):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        ran[token, choice] = 1.0
        kept.append((token, choice))
    gates = logits.softmax(-1) * ran
    gates = gates / gates.sum(-1, keepdim=True).clamp(min=1e-9)
    y = x
    for expert, (token, choice) in zip(experts, kept, strict=True):
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor([len(token) for token, _ in kept])


# %% mutant="decoder_moe"
# The last tokens instead of the first
# When an expert is full, the tokens that come later in the batch are dropped. This keeps the last ones and drops the
# first.
def moe(x, router, experts, k, capacity=None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        skipped = 0 if capacity is None else max(0, len(token) - capacity)
        token, choice = token[skipped:], choice[skipped:]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor(load)


# %% mutant="decoder_moe"
# A loop over the tokens
# The values are correct, but an expert is called once for each token. An expert should see all of its tokens in a
# single call, which is one matmul instead of many.
def moe(x, router, experts, k, capacity=None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(
                0,
                token,
                gates[token, choice, None] * torch.cat([expert(x[each : each + 1]) for each in token.tolist()]),
            )
    return y, torch.tensor(load)


# %% mutant="decoder_moe"
# Runs experts without tokens
# An expert that no token chose isn't called. Here it is called on an empty batch.
def moe(x, router, experts, k, capacity=None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token) >= 0:
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor(load)


# %% mutant="decoder_moe"
# Counts the tokens before the drop
# The load says how many tokens an expert ran. Here it counts all that chose it, those above the capacity included.
def moe(x, router, experts, k, capacity=None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        load.append(len(token))
        token, choice = token[:capacity], choice[:capacity]
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor(load)


# %% [markdown] exercise="decoder_cross" kind="build" points=3
# ### Exercise 2 · Cross-attention with two paddings
# The decoder attends to the output of an encoder: queries from `x`, keys and values from `memory`, which has another
# length, another width and padding of its own. The heads' width is W / H and need not be C / H. A token attends to the
# real tokens of its memory alone; if the memory of a row is all padding, attention gives 0, so that only the output's
# bias is left. The outputs at padded positions of x are 0.


# %% solution="decoder_cross"
def cross(
    x: np.ndarray,
    memory: np.ndarray,
    x_real: np.ndarray,
    memory_real: np.ndarray,
    weights: dict[str, np.ndarray],
    heads: int,
) -> np.ndarray:
    """The outputs (B, T, C), without a residual.

    `x` is (B, T, C), `memory` (B, S, M); `x_real` (B, T) and `memory_real` (B, S) are False at padding. `weights` has
    "q" (C, W), "k" and "v" (M, W), "out" (W, C) and "bias" (C,), applied as in `x @ weights["q"]`. Head h has the columns
    h·W/H to (h+1)·W/H. `softmax` comes from the setup.
    """

    ### BEGIN SOLUTION
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30)) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]
    ### END SOLUTION


# %% check="decoder_cross"
generator = check.rng()
B, T, S, C, M, W = 3, 4, 6, 5, 7, 12
sizes = {"q": (C, W), "k": (M, W), "v": (M, W), "out": (W, C), "bias": (C,)}
weights = {name: generator.normal(size=size) for name, size in sizes.items()}
x, memory = generator.normal(size=(B, T, C)), generator.normal(size=(B, S, M))
x_real = np.array([[1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]], dtype=bool)
memory_real = np.array([[1, 1, 1, 1, 0, 0], [0, 1, 0, 1, 1, 1], [0] * 6], dtype=bool)
poisoned = np.where(memory_real[..., None], memory, 1000.0)
everything = np.ones((B, T), dtype=bool), np.ones((B, S), dtype=bool)
check.show(
    {
        "two paddings": cross(x, memory, x_real, memory_real, weights, 3),
        "large numbers in the padding": cross(x, poisoned, x_real, memory_real, weights, 4),
        "no padding": cross(x, memory, *everything, weights, 2),
        "one head": cross(x, memory, *everything, weights, 1),
        "large scores": cross(30 * x, memory, x_real, memory_real, weights, 3),
        "scores far below 0": [
            cross(sign * 3000 * x[:1], memory[:1], x_real[:1], np.arange(S)[None] == 2, weights, 3) for sign in (1, -1)
        ],
        "one query, one real token": cross(
            x[1:2, 1:2], memory[1:2], x_real[1:2, 1:2], np.arange(S)[None] == 4, weights, 3
        ),
    },
    text="Outputs for two kinds of padding, and without any.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* O(B·T·S·W) time for the scores and O(B·H·T·S) memory. Projecting the memory costs O(B·S·M·W), but only once
# for a whole text.
#
# - *What can be cached while decoding?* "The keys and values of the memory, once for the whole answer, since they don't
#   depend on the decoder's tokens. So each new token only has to compute its query."
# - *Where is it used?* "In encoder-decoder models such as T5 and Whisper, in diffusion models that read a prompt, and
#   in vision-language models like Flamingo, whereas decoder-only models put both into one sequence."
# - *Why are padded queries set to 0, if nobody reads them?* "For safety: their values would go into means, norms over
#   the batch or a loss that forgot its mask, although attention itself doesn't need it."
#
# </details>

# %% [markdown] hint="decoder_cross"
# Split x @ q and the two projections of the memory into heads first, with a reshape to (B, length, H, W/H). Which of
# the two lengths does each have?

# %% [markdown] hint="decoder_cross"
# The memory's padding masks keys, so `memory_real` broadcasts as (B, 1, 1, S). A row of −∞ alone gives nan, because
# the softmax divides 0 by 0: use a large negative number and set the weights to 0 afterwards.

# %% [markdown] hint="decoder_cross"
# `np.where(real, scores, -1e30)`, then `softmax(…) * real`. A real row isn't changed by the product, and an
# all-padded one becomes 0. At the end swap the axes back, reshape to (B, T, W), multiply, add the bias, and multiply
# by `x_real[..., None]`.


# %% mutant="decoder_cross"
# Forgets the memory's padding
# Tokens must not attend to padding. Without a mask, padded positions of the memory get a share of the attention.
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    shares = softmax(scores)
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% mutant="decoder_cross"
# A fully padded memory gives nan
# A softmax over −∞ alone is 0 / 0. Where the whole memory is padding, attention has to give 0.
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -np.inf))
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% mutant="decoder_cross"
# Averages a fully padded memory
# With a large negative number in place of −∞, equal scores are left if the whole memory is padding, and the result is
# the mean of its padding. It has to be 0.
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30))
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% mutant="decoder_cross"
# Masks after the softmax
# The weights of the real tokens have to add up to 1. Padding that is removed after the softmax has already taken its
# share.
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(scores) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% mutant="decoder_cross"
# The scale of the whole width
# Scores are divided by the root of a head's width, W / H, since each head's dot product has that many terms.
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1] * heads)
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30)) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% mutant="decoder_cross"
# Heads without a transpose
# A reshape to (B, H, length, W/H) cuts the tokens into heads, not the columns. Reshape to (B, length, H, W/H) and
# swap the axes.
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(y.shape[0], heads, y.shape[1], -1)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30)) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% mutant="decoder_cross"
# Heads merged without a transpose
# Before the heads are merged, their axis has to stand beside the width again. A reshape of (B, H, T, W/H) mixes
# tokens.
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30)) * real
    mixed = (shares @ v).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% mutant="decoder_cross"
# Padded queries keep the output
# Outputs at padded positions of x are 0. Here they hold what a padded token attended to, or the bias.
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30)) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return mixed @ weights["out"] + weights["bias"]


# %% mutant="decoder_cross"
# The bias at a padded query
# The whole output is 0 at padded positions of x. Here the bias is added after they were set to 0.
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30)) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return mixed @ weights["out"] * x_real[..., None] + weights["bias"]


# %% [markdown] exercise="decoder_attention_backward" kind="build" points=4 minutes=25
# ### Exercise 3 · The backward pass of attention, with and without the stored matrix
# `stored` gets the attention weights P that the forward pass has kept and returns the gradients of q, k and v.
# `recomputed` gets the same gradients from two things that don't grow with T·S: the output o, and for each query the
# logarithm of the sum of its exponentiated scores, which is what FlashAttention keeps as well. Scores are q kᵀ / √D;
# with `is_causal`, the last query belongs to the last key, and keys after a query are masked. Write both functions by
# hand in NumPy, without autograd.


# %% solution="decoder_attention_backward"
def stored(
    g: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients of q (…, T, D), k (…, S, D) and v (…, S, E), given that of the output, `g` (…, T, E).

    `p` (…, T, S) are the attention weights after softmax and mask.
    """
    ### BEGIN SOLUTION
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g
    ### END SOLUTION


def recomputed(
    g: np.ndarray,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    o: np.ndarray,
    log_sums: np.ndarray,
    is_causal: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same gradients, from the output `o` (…, T, E) and `log_sums` (…, T) over the scores that aren't masked.

    The setup's `causal` sets masked scores to −∞.
    """
    ### BEGIN SOLUTION
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g
    ### END SOLUTION


# %% check="decoder_attention_backward"
generator = check.rng()


def case(queries, keys, is_causal, scale=1.0, batch=(2, 3)):
    """Both ways, on the weights, the output and the sums that a forward pass leaves."""
    sizes = ((queries, 6), (queries, 4), (keys, 4), (keys, 6))
    g, q, k, v = (generator.normal(size=(*batch, *size)) for size in sizes)
    q = scale * q
    scores = q @ k.mT / 2.0
    scores = causal(scores) if is_causal else scores
    p, top = softmax(scores), scores.max(-1)
    log_sums = top + np.log(np.exp(scores - top[..., None]).sum(-1))
    return {
        "stored": check.intact(stored, g, q, k, v, p),
        "recomputed": check.intact(recomputed, g, q, k, v, p @ v, log_sums, is_causal),
    }


check.show(
    {
        "5 queries, 7 keys": case(5, 7, False),
        "causal": case(5, 7, True),
        "causal, as many queries as keys": case(4, 4, True),
        "one query": case(1, 5, True),
        "one key": case(3, 1, False),
        "without batch and heads": case(3, 5, True, batch=()),
        "large scores": case(3, 5, True, 300.0),
    },
    text="The gradients of q, k and v, both ways.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* O(T·S·D) time for the four products of `stored` and the five of `recomputed`, which recomputes the scores;
# the forward pass needs two. Between the passes, `stored` keeps T·S elements for each head, while `recomputed` keeps
# the output, which exists anyway, and one number for each query.
#
# - *Why is the row sum g · o?* "The row sum is Σⱼ Pᵢⱼ (gᵢ · vⱼ). If I move the sum inside the product, I get gᵢ · Σⱼ
#   Pᵢⱼ vⱼ, which is gᵢ · oᵢ, so no matrix is needed."
# - *What do masked positions get?* "They get nothing, because their weight is exactly 0, and it multiplies the whole
#   gradient of the score. So the backward pass needs no mask of its own when P is stored."
# - *Why is the recomputation fast, although it computes more?* "Reading a T × T matrix from memory takes longer than
#   computing it again in tiles on the chip. With a stored T × T matrix, attention is bound by bandwidth; the tiled kernel
#   moves it towards the FLOP limit."
#
# </details>

# %% [markdown] hint="decoder_attention_backward"
# Start at the output, o = P v. It gives the gradient of v at once, and the gradient of P. Which sum appears in the
# gradient of a softmax?

# %% [markdown] hint="decoder_attention_backward"
# For a row of the softmax, the gradient of the scores is p · (gp − Σ p·gp). The scale 1/√D belongs to the scores, so
# it appears once in each of the gradients of q and k.

# %% [markdown] hint="decoder_attention_backward"
# `gs = p * (g @ vᵀ − row sum) / √D`, then `gs @ k`, `gsᵀ @ q`, `pᵀ @ g`. Since o = P v, the row sum Σ p·gp is g · o,
# and P is exp(scores − log_sums): nothing of size T × S has to be kept.


# %% mutant="decoder_attention_backward"
# The softmax without its row sum
# Each weight of a row depends on all scores of the row. Without the sum, the gradient treats the softmax as
# independent exponentials.
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


# %% mutant="decoder_attention_backward"
# The scale is missing
# Scores are divided by √D, and so are the gradients of q and k that come through them.
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-1, keepdims=True))
    return gs @ k, gs.mT @ q, p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True))
    return gs @ k, gs.mT @ q, p.mT @ g


# %% mutant="decoder_attention_backward"
# The scale is missing in the gradient of k
# Scores depend on q and k in the same way, so both gradients contain 1/√D.
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q * np.sqrt(q.shape[-1]), p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q * np.sqrt(q.shape[-1]), p.mT @ g


# %% mutant="decoder_attention_backward"
# The scale twice
# The scale appears once in each gradient. Here q is divided by √D as well, before it multiplies the gradient of the
# scores.
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ (q / np.sqrt(q.shape[-1])), p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ (q / np.sqrt(q.shape[-1])), p.mT @ g


# %% mutant="decoder_attention_backward"
# The mask starts at the first key
# The last query belongs to the last key. With fewer queries than keys, a mask that begins with the first key hides
# too many.
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp(
        (np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf) if is_causal else scores)
        - log_sums[..., None]
    )
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


# %% mutant="decoder_attention_backward"
# Recomputes without a mask
# The recomputed weights need the forward pass's mask: otherwise masked positions get weights, and the rows don't add up
# to 1.
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp(scores - log_sums[..., None])
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


# %% mutant="decoder_attention_backward"
# Sums over the wrong axis
# The softmax normalizes over the keys, so its row sum runs over the last axis of P. This sums over the queries.
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-2, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


# %% mutant="decoder_attention_backward"
# Normalizes by the largest score
# Weights are exp(score − log-sum). Softmax of the recomputed scores is correct as well, but exp(score − maximum)
# isn't normalized.
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - scores.max(-1, keepdims=True))
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


# %% [markdown] exercise="decoder_mla" kind="build" points=4 minutes=30
# ### Exercise 4 · Multi-head latent attention (MLA), naive and absorbed
# MLA caches a short latent vector per token and one rotated key that all heads share. `compress` makes both. `naive`
# expands the latents into keys and values of every head. The *absorbed* form never does: `absorb` moves the keys'
# up-projection into the queries, and `attend` works on the cached latents. Both forms give the same output, because
# they differ only in the order of the products. Scores are divided by √(D + P), and each token sees itself and the
# tokens before it.


# %% solution="decoder_mla"
def compress(x: np.ndarray, start: int, w: Latent) -> tuple[np.ndarray, np.ndarray]:
    """What is cached for the tokens x (B, T, C) at the positions from `start` on.

    The latents (B, T, R) are x @ w.down, RMS-normalized over R (eps 1e-6 inside the root) and multiplied by w.norm. The
    rotary keys (B, T, P) are x @ w.rotary_k, rotated by `rotate`.
    """
    ### BEGIN SOLUTION
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)
    ### END SOLUTION


def naive(x: np.ndarray, c: np.ndarray, rotary: np.ndarray, w: Latent) -> np.ndarray:
    """The outputs (B, T, C) for the last T of S tokens; the cache `c` (B, S, R), `rotary` (B, S, P) has all S of them.

    A head's query is x @ w.q[h], and beside it x @ w.rotary_q[h], rotated by its position. Keys are c @ w.up_k[h],
    values c @ w.up_v[h]. A score is the sum of both dot products, and the outputs of the heads times w.out[h] are added.
    """
    ### BEGIN SOLUTION
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)
    ### END SOLUTION


def absorb(x: np.ndarray, start: int, w: Latent) -> tuple[np.ndarray, np.ndarray]:
    """Queries (B, H, T, R) for the latents, scaled, and queries (B, H, T, P) for the rotary keys, rotated and scaled.

    Their dot products with the cache add up to the scores, already divided by √(D + P).
    """
    ### BEGIN SOLUTION
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)
    ### END SOLUTION


def attend(q: np.ndarray, q_rotary: np.ndarray, c: np.ndarray, rotary: np.ndarray, w: Latent) -> np.ndarray:
    """The outputs (B, T, C) from the two queries that `absorb` returned, and the cache."""
    ### BEGIN SOLUTION
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)
    ### END SOLUTION


# %% check="decoder_mla"
import tracemalloc

generator = check.rng()
B, T, C, H, D, P, R, V = 2, 6, 5, 3, 8, 4, 7, 9
shapes = {"q": (H, C, D), "rotary_q": (H, C, P), "down": (C, R), "norm": (R,), "rotary_k": (C, P)}
shapes |= {"up_k": (H, R, D), "up_v": (H, R, V), "out": (H, V, C)}
w = Latent(**{name: generator.normal(size=shape) for name, shape in shapes.items()})
x = generator.normal(size=(B, T, C))
c, rotary = generator.normal(size=(B, T, R)), generator.normal(size=(B, T, P))
q, q_rotary = generator.normal(size=(B, H, 2, R)), generator.normal(size=(B, H, 2, P))
probe = generator.normal(size=(H, C))
wide = {"q": (64, 4, 4), "rotary_q": (64, 4, 4), "down": (4, 8), "norm": (8,), "rotary_k": (4, 4)}
wide |= {"up_k": (64, 8, 4), "up_v": (64, 8, 32), "out": (64, 32, 4)}
many = Latent(**{name: generator.normal(size=shape) for name, shape in wide.items()})
cached = generator.normal(size=(1, 4000, 8)), generator.normal(size=(1, 4000, 4))
queries = generator.normal(size=(1, 64, 1, 8)), generator.normal(size=(1, 64, 1, 4))
tracemalloc.start()
attend(*queries, *cached, many)
held = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
check.show(
    {
        "absorbed, memory for 4,000 tokens and 64 heads below that of all heads' values": held < 64 * 4000 * 32 * 8,
        "latents and rotary keys": compress(x, 0, w),
        "of later, tiny tokens": compress(1e-3 * x[:, 4:], 4, w),
        "naive, all tokens": check.intact(naive, x, c, rotary, w),
        "naive, the last two": naive(x[:, 4:], c, rotary, w),
        "absorbed queries": absorb(x[:, 1:3], 0, w),
        "absorbed queries of later tokens": absorb(x[:, 4:], 4, w),
        "absorbed, two tokens": check.intact(attend, q, q_rotary, c, rotary, w),
        "absorbed, one token, large scores": attend(40 * q[:, :, :1], q_rotary[:, :, :1], c, rotary, w),
        "a batch of one, from position 1 on": [
            compress(x[1:, :1], 1, w),
            naive(x[1:, 5:], c[1:], rotary[1:], w),
            absorb(x[1:, 1:], 1, w),
            attend(q[1:], q_rotary[1:], c[1:], rotary[1:], w),
        ],
        "both ways on a cache of their own": [
            naive(x[:, 3:], *compress(x, 0, w), w),
            attend(*absorb(x[:, 3:], 3, w), *compress(x, 0, w), w),
        ],
    },
    text="What is cached, and outputs of both forms.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* The cache holds R + P elements per token and layer, regardless of the number of heads; MHA holds 2·H·D. Per cached
# token and head, absorbed decoding takes 2·R + P multiplications, naive decoding D + P + V after an expansion of R·(D +
# V).
#
# - *Why does RoPE need its own keys?* "A rotation by the position would stand between the query and the up-projection
#   of the keys, and it differs for each pair of tokens, so the product couldn't be merged. A few extra dimensions
#   carry the position, and one key for all heads is enough."
# - *When is the naive form better?* "In prefill. With many queries, expanding the keys costs little per query, and its
#   dot products are shorter, D + P instead of R + P. Decoding is limited by reading the cache, which the absorbed form
#   keeps short."
# - *What does tensor parallelism do to this cache?* "It can't be split by heads, because all heads share it. Each
#   rank keeps a copy, so people use data parallelism for the attention instead."
#
# </details>

# %% [markdown] hint="decoder_mla"
# `x[:, None] @ w.q` gives (B, H, T, D), because the axis of the heads broadcasts. Write the naive form first; the
# absorbed form only moves its brackets.

# %% [markdown] hint="decoder_mla"
# A score is (x Wq) · (c Uk) = (x Wq Ukᵀ) · c. So the query is multiplied by `w.up_k[h]` transposed, and the keys
# don't have to exist. For the values, first mix latents by the attention weights, then multiply by `w.up_v[h]`.

# %% [markdown] hint="decoder_mla"
# `absorb`: `x[:, None] @ w.q @ w.up_k.mT` and `rotate(x[:, None] @ w.rotary_q, start)`, both times 1/√(D + P).
# `attend`: scores from `c[:, None]` and `rotary[:, None]`, then `softmax(causal(scores)) @ c[:, None] @ w.up_v @
# w.out`, summed over the heads.


# %% mutant="decoder_mla"
# Rotates the latents
# The latents carry no position: a rotation between the query and the up-projection can't be absorbed. Only the
# separate rotary keys are rotated.
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return rotate(c[..., : 2 * (c.shape[-1] // 2)], start) if c.shape[-1] % 2 == 0 else np.concatenate(
        [rotate(c[..., :-1], start), c[..., -1:]], -1
    ), rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% mutant="decoder_mla"
# The scale of D alone
# A score sums D + P products, so it is divided by √(D + P). Here the rotary part isn't counted.
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% mutant="decoder_mla"
# The scale of the latent
# Absorbing doesn't change the scores, so it doesn't change their scale: √(D + P) of the heads, although the dot
# product now has R terms.
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.down.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% mutant="decoder_mla"
# No norm on the latents
# The latents are RMS-normalized before they are cached. Without the norm, keys and values scale with the token.
def compress(x, start, w):
    c = x @ w.down
    c = c * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% mutant="decoder_mla"
# Later tokens rotated from 0
# A token is rotated by its own position. The first query belongs to position S − T, not to 0.
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, 0)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, 0)
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, 0)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% mutant="decoder_mla"
# Caches unrotated keys
# Rotary keys are rotated once, when they enter the cache.
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, x @ w.rotary_k


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% mutant="decoder_mla"
# Each token sees the future
# A token attends to itself and to the tokens before it.
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1]))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(scores) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% mutant="decoder_mla"
# The root misses eps
# eps stands inside the root, beside the mean of the squares. For tiny tokens it makes a difference.
def compress(x, start, w):
    c = x @ w.down
    c = c / (np.sqrt((c**2).mean(-1, keepdims=True)) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% [markdown] exercise="decoder_window" kind="build" points=4 minutes=30
# ### Exercise 5 · A sliding window and its ring cache
# With a window of w, a token sees the last w keys, its own included. So a cache needs only w slots, used as a ring:
# the token at position p is kept in slot p % w. `attend` gets the next tokens of a text, one or many, rotates their
# queries and keys by their positions, lets them attend, and keeps the last w keys and values. However a text is cut
# into calls, the outputs are the same.


# %% solution="decoder_window"
def window_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, window: int) -> np.ndarray:
    """The outputs (…, T, E) of the last T of S tokens; q (…, T, D), k (…, S, D) and v (…, S, E), all rotated already."""
    ### BEGIN SOLUTION
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v
    ### END SOLUTION


class Ring:
    """The cache of a text: `keys`, rotated, (B, H, window, D), `values` (B, H, window, E) and `length`, the tokens so far."""

    def __init__(self, window: int, batch: int, heads: int, width: int, value_width: int) -> None:
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The outputs (B, H, n, E) of the next n ≥ 1 tokens; q and k (B, H, n, D) aren't rotated yet, and stay as they are."""
        ### BEGIN SOLUTION
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out
        ### END SOLUTION

    def reset(self) -> None:
        """Forget the text. What is in the arrays may stay, but no later call sees it."""
        ### BEGIN SOLUTION
        self.length = 0
        ### END SOLUTION


# %% check="decoder_window"
generator = check.rng()
B, H, T, D, E, window = 2, 3, 11, 4, 5, 4
q, k, v = (generator.normal(size=(B, H, T, width)) for width in (D, D, E))
probe = generator.normal(size=(B, H, E))


def run(ring, pieces, first=0):
    """The outputs of a text that comes in these pieces, as one number for each token."""
    outputs = []
    for piece in pieces:
        last = first + piece
        outputs.append(ring.attend(q[:, :, first:last], k[:, :, first:last], v[:, :, first:last]))
        first = last
    return np.einsum("bhte,bhe->t", np.concatenate(outputs, 2), probe)


ring, single, wide = Ring(window, B, H, D, E), Ring(1, B, H, D, E), Ring(20, B, H, D, E)
shown = {
    "attention with a window of 4": window_attention(q, k, v, window),
    "the last 3 tokens, a window of 2": window_attention(q[0, :, -3:], k[0], v[0], 2),
    "scores in the hundred thousands": window_attention(500 * q, 500 * k, v, window),
    "one piece": run(Ring(window, B, H, D, E), [11]),
    "token by token": run(Ring(window, B, H, D, E), [1] * 11),
    "pieces of 3, 5, 1 and 2": run(ring, [3, 5, 1, 2]),
    "the ring after that": [ring.keys.copy(), ring.values.copy(), ring.length],
    "pieces of 4, 4 and 3": run(Ring(window, B, H, D, E), [4, 4, 3]),
    "a window of one token": run(single, [2, 1, 3, 1]),
    "a window longer than the text": run(wide, [4, 1, 6]),
}
ring.reset()
shown["another text after a reset"] = run(ring, [1, 2, 3], 5)
ring.reset()
shown["the outputs of the next call, after another reset"] = ring.attend(q[:, :, 7:9], k[:, :, 7:9], v[:, :, 7:9])
shown["length after that"] = ring.length
check.show(shown, text="Outputs of a text for several ways of cutting it, and what the ring holds.")

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* O(T·w·D) time if only the window's scores are computed (the version above computes T·(w + T) for a piece of
# T), and a cache of w tokens a layer, however long the text gets.
#
# - *How far does the model see?* "With L layers, information can travel L·(w − 1) positions, one window per layer, as
#   in a stack of convolutions. In practice much less arrives, so models mix in layers with full attention."
# - *What are attention sinks?* "Models put much attention on the first tokens, because the softmax has to spend its
#   weight somewhere. If a ring drops them, the output breaks, so some caches keep the first few tokens besides the
#   window; others learn a bias in the softmax's denominator."
# - *Where does the position of a key come from?* "From its absolute position when it was written, not from its slot
#   in the ring. Rotated keys can stay where they are, since RoPE's scores depend on differences alone."
#
# </details>

# %% [markdown] hint="decoder_window"
# Write `window_attention` first, with the distance from each query to each key; the first of the T queries stands at
# position S − T. Then think of `attend` as: old keys in order, new keys, one call.

# %% [markdown] hint="decoder_window"
# The positions that the ring holds are the last min(w, length) before `length`; `position % window` says where each
# is. Read them before you write: a long piece overwrites slots that its own first tokens still need.

# %% [markdown] hint="decoder_window"
# `kept = np.arange(max(0, length - window), length) % window` lists the slots from the oldest to the newest.
# Concatenate, attend, add n to the length, and write the last min(w, length) keys to the slots `position % window`.


# %% mutant="decoder_window"
# A window of one key more
# A window of w holds w keys, the token's own included. A distance of w is outside.
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance <= window), scores, -np.inf)) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% mutant="decoder_window"
# No causal half
# A window looks back only. Without the lower limit for the distance, a piece of several tokens sees its own future.
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where(distance < window, scores, -np.inf)) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% mutant="decoder_window"
# Reads the whole ring before it is full
# Until w tokens have come, the ring has empty slots. Here they are read as keys of zeros and get attention.
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = (self.length + np.arange(window)) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% mutant="decoder_window"
# Positions from the place in the ring
# A key is rotated by its position in the text. The place in the ring starts again at 0 with each round.
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length % window)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length % window), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% mutant="decoder_window"
# Queries start at position 0
# The first of T queries belongs to position S − T. Counted from 0, queries with a cache see the wrong keys.
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(queries)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% mutant="decoder_window"
# Writes before it reads
# A piece overwrites slots that its first tokens still have to see. Read the old keys first, attend, and write
# afterwards.
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window, new = self.keys.shape[2], k.shape[2]
        q, k = rotate(q, self.length), rotate(k, self.length)
        for each in range(new):
            self.keys[:, :, (self.length + each) % window] = k[:, :, each]
            self.values[:, :, (self.length + each) % window] = v[:, :, each]
        self.length += new
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys, values = self.keys[:, :, kept], self.values[:, :, kept]
        distance = np.arange(self.length - new, self.length)[:, None] - np.arange(self.length - len(kept), self.length)
        mask = (distance >= 0) & (distance < window)
        scores = np.where(mask, q @ keys.mT / np.sqrt(q.shape[-1]), -1e30)
        return softmax(scores) * mask @ values

    def reset(self):
        self.length = 0


# %% mutant="decoder_window"
# The ring is read in the order of its slots
# Keys go into the attention from the oldest to the newest, since the window counts distances. Places are in another
# order once the ring has wrapped.
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        kept = np.sort(kept)
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% mutant="decoder_window"
# Nothing is ever evicted
# The ring keeps w tokens. A cache that only grows gives correct outputs and saves no memory.
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        self.window = window = getattr(self, "window", self.keys.shape[2])
        kept = np.arange(self.length)
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        self.keys, self.values = keys, values
        return out

    def reset(self):
        self.length = 0


# %% mutant="decoder_window"
# `reset` keeps the length
# After a reset the next token stands at position 0. Here the arrays are emptied, but the old length still counts as
# text.
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.keys[:], self.values[:] = 0.0, 0.0


# %% [markdown] exercise="decoder_norms" kind="build" points=4 minutes=25
# ### Exercise 6 · The backward pass of layer, RMS and batch norm
# Write the backward passes of three norms by hand. All of them normalize x, multiply by `weight` and, except for the
# RMS norm, add a bias. Layer and RMS norm work over the last axis, batch norm in training over all axes but the
# channels'. Variances are biased, and eps stands inside the root. In float32, inputs around 10,000 with differences of
# a few units must keep their digits. Don't use autograd.


# %% solution="decoder_norms"
def layer_norm_backward(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients of x (…, C), weight (C,) and bias (C,), given that of the output, `g` (…, C)."""
    ### BEGIN SOLUTION
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)
    ### END SOLUTION


def rms_norm_backward(g: np.ndarray, x: np.ndarray, weight: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of x (…, C) and weight (C,). The norm divides by the root of the mean square."""
    ### BEGIN SOLUTION
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))
    ### END SOLUTION


def batch_norm_backward(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients of x (N, C, L), weight (C,) and bias (C,), with the statistics of this batch."""
    ### BEGIN SOLUTION
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)
    ### END SOLUTION


# %% check="decoder_norms"
generator = check.rng()
N, C, L = 3, 8, 5
x, g = (generator.normal(size=(2, N, C)) * 2 + 1 for _ in range(2))
weight, eps = generator.uniform(0.5, 2, C), 0.3
images, back = (generator.normal(size=(N, C, L)) + 1 for _ in range(2))
constant = np.broadcast_to(generator.normal(size=(2, 1)), (2, C))
far = (10_000 + generator.permutation(64).reshape(N + 5, C) % 11).astype(np.float32)
far_back, far_weight = g[0, :1].repeat(N + 5, 0).astype(np.float32) * far % 3, weight.astype(np.float32)
far_images = far.reshape(2, C, 4)
check.show(
    {
        "layer norm": layer_norm_backward(g, x, weight, eps),
        "layer norm of one row": layer_norm_backward(g[0, 0], x[0, 0], weight, 1e-5),
        "layer and RMS norm of a batch of one row": [
            each(g[1, :1], x[1, :1], weight, eps) for each in (layer_norm_backward, rms_norm_backward)
        ],
        "layer norm of constant rows": layer_norm_backward(g[:, 0], constant, weight, eps),
        "layer norm around 10,000, float32": layer_norm_backward(far_back, far, far_weight, 1e-5),
        "RMS norm": rms_norm_backward(g, x, weight, eps),
        "RMS norm of small rows": rms_norm_backward(g[0], 0.01 * x[0], weight, 1e-4),
        "batch norm": check.intact(batch_norm_backward, back, images, weight, eps),
        "batch norm of a single example": batch_norm_backward(back[:1], images[:1], weight, 1e-5),
        "batch norm around 10,000, float32": batch_norm_backward(
            far_back.reshape(far_images.shape), far_images, far_weight, 1e-5
        ),
    },
    rtol=1e-4,
    atol=1e-5,
    text="Gradients of x, weight and bias.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* O(N·C) time and two sums per row (one for the RMS norm). Kept from the forward pass: x and, per row, the
# mean and 1/std; y is recomputed from them.
#
# - *Where do the two subtracted terms come from?* "The output doesn't change when I add a constant to the row or
#   scale it (apart from eps). So the gradient must be orthogonal to the constant vector and to y, and the two terms
#   are these projections."
# - *Why has the RMS norm one term less?* "It subtracts no mean, so it isn't invariant to a shift, and it needs one
#   reduction less in both directions."
# - *What is different for batch norm in evaluation?* "The statistics are constants, so both terms vanish: gx = g ·
#   weight / std. The same holds for frozen batch norms in fine-tuning."
#
# </details>

# %% [markdown] hint="decoder_norms"
# The gradients of weight and bias are sums over everything that shares them. For x, the mean and the variance depend
# on all elements of a row; each of the two dependencies gives one term.

# %% [markdown] hint="decoder_norms"
# With y the normalized x and gy = g · weight, the gradient is 1/std · (gy − mean(gy) − y · mean(gy · y)). Which of
# the two means does the RMS norm keep, and over which axes does batch norm take them?

# %% [markdown] hint="decoder_norms"
# Layer norm: the line above, with means over the last axis and gy = g · weight *before* the means. RMS norm: without
# mean(gy), and y = x / rms. Batch norm: means over the axes (0, 2), and weight[:, None] may stand in front. Take the
# variance from the centred values, not as E[x²] − E[x]².


# %% mutant="decoder_norms"
# Mean and variance as constants
# The mean and the variance depend on x, too. Without these two terms it is the gradient of a fixed scale and shift.
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * gy
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * gy
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * g
    return gx, (g * y).sum(axes), g.sum(axes)


# %% mutant="decoder_norms"
# Only the mean depends on x
# The variance depends on x as well. Its term is y times the mean of gradient times y.
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy)
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)


# %% mutant="decoder_norms"
# The weight taken out of the means
# In layer norm, every element of a row has its own weight, so it belongs inside the means. Only batch norm has one
# weight for all elements of a mean.
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y = centred * inverse
    gx = weight * inverse * (g - g.mean(-1, keepdims=True) - y * (g * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y = x * inverse
    gx = weight * inverse * (g - y * (g * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)


# %% mutant="decoder_norms"
# eps outside the root
# The norm divides by √(variance + eps), not by √variance + eps.
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / (np.sqrt((centred**2).mean(-1, keepdims=True)) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / (np.sqrt((x**2).mean(-1, keepdims=True)) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / (np.sqrt((centred**2).mean(axes, keepdims=True)) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)


# %% mutant="decoder_norms"
# The variance as E[x²] − E[x]²
# Around 10,000, the squares are about 10⁸, and float32 keeps seven digits of them. The difference of two such numbers
# has none left.
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(np.abs((x**2).mean(-1, keepdims=True) - x.mean(-1, keepdims=True) ** 2) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(np.abs((x**2).mean(axes, keepdims=True) - x.mean(axes, keepdims=True) ** 2) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)


# %% mutant="decoder_norms"
# An RMS norm that subtracts the mean
# The RMS norm subtracts no mean, so the term with the mean of the gradient isn't there.
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)


# %% mutant="decoder_norms"
# The unbiased variance
# The norms divide by the variance with 1/N. The unbiased one is only what batch norm stores for evaluation.
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(centred.var(-1, keepdims=True, ddof=1) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(centred.var(axes, keepdims=True, ddof=1) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)


# %% mutant="decoder_norms"
# Batch norm over the examples alone
# A channel has one mean over all examples and all positions. This takes a mean for every position.
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0,)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum((0, 2)), g.sum((0, 2))


# %% mutant="decoder_norms"
# Gradients of weight and bias as means
# Every row uses the same weight, and their gradients are added up. A mean is too small by the number of rows.
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).mean(rows), g.mean(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)


# %% [markdown] exercise="decoder_positions" kind="build" points=3 minutes=16
# ### Exercise 7 · Positions: sines, ALiBi, T5's buckets
# There are three ways to tell a transformer about positions without RoPE. `sines` is the table that the first transformer
# adds to its embeddings. ALiBi subtracts slope · distance from each score, while T5 adds a learned number, one for each
# head and bucket of distances, and you write the buckets. While decoding there are fewer queries than keys, and the last
# query belongs to the last key.


# %% solution="decoder_positions"
def sines(positions: np.ndarray, width: int) -> np.ndarray:
    """The table (T, width) for these positions (T,); `width` is even.

    Columns 2i and 2i + 1 are the sine and the cosine of position / 10000^(2i / width).
    """
    ### BEGIN SOLUTION
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)
    ### END SOLUTION


def alibi(heads: int, queries: int, keys: int) -> np.ndarray:
    """The biases (H, T, S), −∞ at keys after the query.

    If H is a power of two, head h = 1, 2, … has the slope 2^(−8h/H). Otherwise the slopes are those of P heads, where P is the largest
    power of two below H, followed by the first H − P of the 1st, 3rd, 5th … slopes of 2P heads.
    """
    ### BEGIN SOLUTION
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)
    ### END SOLUTION


def t5_buckets(distance: np.ndarray, buckets: int, longest: int, bidirectional: bool) -> np.ndarray:
    """The bucket of each distance, key minus query (any shape, int64): integers from 0 to buckets − 1.

    An encoder is bidirectional: keys after the query use the upper half of the buckets, all others the lower half, by |distance|. In a decoder,
    keys after the query get bucket 0, and the others use all buckets. Of the n buckets of a direction, the first
    n // 2 hold one distance each. A longer distance d is in bucket n // 2 + ⌊log(d / (n // 2)) / log(longest / (n // 2)) · (n − n // 2)⌋, at most n − 1.
    """
    ### BEGIN SOLUTION
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)
    ### END SOLUTION


# %% check="decoder_positions"
generator = check.rng()
start, width = int(generator.integers(20, 400)), int(generator.choice([6, 10, 12]))
heads = int(generator.choice([3, 5, 6, 11, 12]))
longest = int(generator.choice([97, 101, 113, 127]))
distances = np.concatenate(
    [np.arange(-20, 21), generator.choice(np.arange(21, 300), 12), -generator.choice(np.arange(21, 300), 12)]
)
check.show(
    {
        "width, first position, heads, longest": [width, start, heads, longest],
        "sines of the first positions": check.intact(sines, np.arange(4), width),
        "sines while decoding": sines(np.array([start]), width),
        "ALiBi, a power of two": alibi(8, 3, 3),
        "ALiBi, other numbers of heads": [alibi(heads, 2, 4), alibi(7, 1, 2), alibi(1, 1, 3), alibi(3, 1, 1)],
        "ALiBi while decoding": alibi(4, 1, start % 7 + 3),
        "buckets of an encoder": t5_buckets(distances, 32, longest, True),
        "buckets of a decoder": t5_buckets(distances, 32, longest, False),
        "another number of buckets, a table": t5_buckets(np.arange(9) - np.arange(9)[:, None] * 3, 9, 25, False),
        "one distance, and a 0-d array": [
            t5_buckets(np.array([[-30]]), 32, longest, True),
            int(t5_buckets(np.array(9), 32, longest, True)),
        ],
        "12 buckets of an encoder": t5_buckets(distances, 12, longest, True),
    },
    text="Tables, biases and buckets.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* A bias that is written out takes O(T·S). A kernel computes ALiBi from the distance, so nothing is stored,
# while T5 has one number for each bucket and head.
#
# - *Which of them extrapolates to longer texts?* "ALiBi does best without training, because it is a window in
#   disguise: far keys get large negative biases. Sines hardly extrapolate, since the model has never seen those rows.
#   T5's buckets put all long distances into the last one, which is safe but blind."
# - *What changes while decoding?* "Only the offset changes, because the single query stands at the last position. Sines
#   need the absolute position of the new token, whereas biases need only the distances to the cached keys."
# - *Is the bias added before or after the scale 1/√D?* "In ALiBi the bias is added after the scale and before the
#   softmax. T5 doesn't scale its scores at all, and its initialization makes up for it."
#
# </details>

# %% [markdown] hint="decoder_positions"
# All three depend on positions or on distances that broadcasting makes: `np.arange(keys - queries, keys)[:, None] -
# np.arange(keys)`.

# %% [markdown] hint="decoder_positions"
# Interleave by stacking sine and cosine on a new last axis and reshaping. For ALiBi with 12 heads: the eight slopes
# of 8 heads, then every second slope of 16 heads, four of them.

# %% [markdown] hint="decoder_positions"
# Slopes: `2.0 ** (-8 / P * np.arange(1, P + 1))` and `2.0 ** (-4 / P * np.arange(1, 2 * P, 2))[: H - P]`. Buckets:
# choose the direction first (offset n for keys after the query), then the exact half, then the logarithm;
# `np.maximum(distance, exact)` keeps log 0 away.


# %% mutant="decoder_positions"
# Sines and cosines side by side
# Columns alternate: sine, cosine, sine, cosine. Here all sines come first. A model trained with one order can't read
# the other.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.concatenate([np.sin(angles), np.cos(angles)], -1)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# The exponent i / width
# Column 2i has the exponent 2i / width. With i / width, the slowest wave has a period of only about 100·2π positions.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(width // 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# Positions from 0 while decoding
# The table is read at the token's position. Here its first rows are returned, whatever the positions.
def sines(positions, width):
    angles = np.arange(len(positions))[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# One geometric series for any number of heads
# With a number of heads that isn't a power of two, ALiBi takes the slopes of the power of two below it and fills up
# with every second slope of twice as many heads.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    slopes = 2.0 ** (-8 / heads * np.arange(1, heads + 1))
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -slopes[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# Slopes that start at 1
# The first head's slope is 2^(−8/H), not 1: h counts from 1.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(power))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# Fills up with the first slopes of 2P heads
# Every second slope of 2P heads is also a slope of P heads. The first, third, fifth … are new.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# Queries that start at position 0
# While decoding, the query belongs to the last key. Counted from 0, almost all keys lie in its future.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(queries)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# A bias that grows with the distance
# The bias is minus slope times distance, so that far keys get less attention.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# Buckets without a direction
# An encoder tells keys after the query from those before it: they use the upper half of the buckets.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# Half of a decoder's buckets unused
# A decoder sees no keys after the query, so all buckets serve the distances back. Only the encoder shares them out.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    buckets //= 2
    if bidirectional:
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# Future keys by their distance
# In a decoder, keys after the query are all in bucket 0. Here they get the bucket of their absolute distance.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.abs(distance)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% mutant="decoder_positions"
# Linear buckets
# Beyond the exact half, the buckets grow with the logarithm of the distance. Here each has the same width.
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = (np.maximum(distance, exact) - exact) / (longest - exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% [markdown] exercise="decoder_swiglu" kind="build" points=3
# ### Exercise 8 · A SwiGLU block from one fused weight
# SwiGLU is SiLU(x Gᵀ) · (x Uᵀ), projected back by `w_down`. Libraries fuse gate G and up U into one weight, in halves
# (all rows of G, then all of U) or interleaved (a row of each in turn). Write the block, the width that gives it as
# many parameters as a plain feed-forward layer of 4·C, and its shards for tensor parallelism: the sum of the shards'
# outputs is the whole output.


# %% solution="decoder_swiglu"
def swiglu(x: np.ndarray, w_in: np.ndarray, w_down: np.ndarray, interleaved: bool = False) -> np.ndarray:
    """The outputs (…, C) for x (…, C), `w_in` (2F, C) and `w_down` (C, F), as in `x @ w_in.T`.

    Stable for gates of ±1000. Interleaved, the rows of `w_in` are those of G at 0, 2, 4, … and those of U at 1, 3, 5, …
    """
    ### BEGIN SOLUTION
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T
    ### END SOLUTION


def hidden_width(width: int, multiple: int) -> int:
    """The smallest multiple of `multiple` with which SwiGLU has at least as many weights as two matrices of C × 4C."""
    ### BEGIN SOLUTION
    return -(-8 * width // (3 * multiple)) * multiple
    ### END SOLUTION


def shards(w_in: np.ndarray, w_down: np.ndarray, ways: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """A pair (w_in, w_down) for each of `ways` ranks, F / ways wide and in halves, as `w_in` is.

    Rank r has the r-th block of the hidden units, in order.
    """
    ### BEGIN SOLUTION
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]
    ### END SOLUTION


# %% check="decoder_swiglu"
generator = check.rng()
C, hidden = 5, 12
x = generator.normal(size=(2, 3, C))
w_in, w_down = generator.normal(size=(2 * hidden, C)), generator.normal(size=(C, hidden))
widths = [int(each) for each in generator.choice(np.arange(100, 5000), 3, replace=False)]
widths[0] += widths[0] % 3 == 0  # 8/3 of it is no integer
parts = shards(w_in, w_down, 3)
check.show(
    {
        "fused in halves": swiglu(x, w_in, w_down),
        "interleaved": swiglu(x, w_in, w_down, interleaved=True),
        "a single token": swiglu(x[0, 0], w_in, w_down),
        "a batch of one": swiglu(x[1:, 2:], w_in, w_down),
        "gates in the thousands": swiglu(1000 * x[0], w_in, w_down),
        "no tokens": swiglu(x[:, :0], w_in, w_down),
        "widths": widths,
        "hidden widths, multiples of 1, 64 and 256": [
            hidden_width(each, unit) for each in (1, *widths) for unit in (1, 64, 256)
        ],
        "hidden widths of 768, 3,072 and 4,096": [hidden_width(each, 256) for each in (768, 3072, 4096)],
        "three shards": parts,
        "the outputs of the shards, added": sum(swiglu(x[0], *part) for part in parts),
        "a single shard": shards(w_in, w_down, 1),
        "a single shard of a single unit": shards(w_in[:2], w_down[:, :1], 1),
    },
    text="Outputs of the block, hidden widths, and weights of the ranks.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* 3·C·F multiplications a token, as many as a plain layer of 4·C if F is 8·C/3. For the backward pass,
# autograd keeps x and 4·F elements a token. A fused kernel keeps x and the outputs of gate and up, 2·F, and recomputes
# the rest.
#
# - *Why fuse gate and up?* "One matmul that is twice as wide instead of two reads x once and keeps the GPU busier.
#   The price is that whoever loads or shards the weight has to know its layout."
# - *How are the weights sharded?* "Gate and up are split by their outputs, both in the same way, so that a rank has the
#   gate and the up part of the same hidden units, and the down matrix is split by its inputs. Then one all-reduce at
#   the end is enough."
# - *What is the backward pass?* "With s = sigmoid(gate): the gradient of up is g · gate · s, and that of gate is g ·
#   up · s · (1 + gate · (1 − s))."
#
# </details>

# %% [markdown] hint="decoder_swiglu"
# How many matrices has a plain feed-forward layer, and how many has SwiGLU? If you set their parameters equal, F
# follows at once.

# %% [markdown] hint="decoder_swiglu"
# 3·C·F = 8·C², so F = 8·C/3, rounded *up* to the multiple. SiLU is x · sigmoid(x), and a sigmoid that never overflows
# is (1 + tanh(x/2)) / 2.

# %% [markdown] hint="decoder_swiglu"
# `-(-8 * C // (3 * multiple)) * multiple` rounds up. A rank needs rows of the gate *and* the same rows of up: split
# `w_in` into its two halves first, then each half into `ways` parts, and `w_down` along its columns.


# %% mutant="decoder_swiglu"
# SiLU on up
# The gate goes through the SiLU, and up multiplies it. Exchanged, the output differs, although its shape doesn't.
def swiglu(x, w_in, w_down, interleaved=False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return up * 0.5 * (1 + np.tanh(up / 2)) * gate @ w_down.T


def hidden_width(width, multiple):
    return -(-8 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% mutant="decoder_swiglu"
# A sigmoid instead of SiLU
# SiLU is x · sigmoid(x). With the sigmoid alone, the block is a GLU.
def swiglu(x, w_in, w_down, interleaved=False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-8 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% mutant="decoder_swiglu"
# Overflows
# e^x / (1 + e^x) is inf / inf for large gates. A tanh or the two-sided form doesn't overflow.
def swiglu(x, w_in, w_down, interleaved=False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * (np.exp(gate) / (1 + np.exp(gate))) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-8 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% mutant="decoder_swiglu"
# Interleaved rows read as halves
# An interleaved weight has gate and up in alternating rows. The layout has to be known; no shape tells it.
def swiglu(x, w_in, w_down, interleaved=False):
    h = x @ w_in.T
    gate, up = np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-8 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% mutant="decoder_swiglu"
# A width of 4·C
# SwiGLU has three matrices. With a width of 4·C, it has one and a half times the parameters of the plain layer.
def swiglu(x, w_in, w_down, interleaved=False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-4 * width // multiple) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% mutant="decoder_swiglu"
# Rounds down
# With the next smaller multiple, the block has fewer weights than the plain layer. Round up.
def swiglu(x, w_in, w_down, interleaved=False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return 8 * width // (3 * multiple) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% mutant="decoder_swiglu"
# Always one multiple more
# If 8·C/3 is a multiple already, it stays.
def swiglu(x, w_in, w_down, interleaved=False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return (8 * width // (3 * multiple) + 1) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% mutant="decoder_swiglu"
# Cuts the fused weight into blocks of rows
# A block of consecutive rows gives the first ranks gates alone and the last ones ups alone. Each rank needs both for
# its hidden units.
def swiglu(x, w_in, w_down, interleaved=False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-8 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    downs = np.split(w_down, ways, 1)
    return [(part, down) for part, down in zip(np.split(w_in, ways), downs, strict=True)]


# %% mutant="decoder_swiglu"
# Every n-th hidden unit
# Rank r has the r-th block of hidden units. Taking every n-th one gives the same sum, and a checkpoint that nobody
# else can read.
def swiglu(x, w_in, w_down, interleaved=False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-8 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = ([each[rank::ways] for rank in range(ways)] for each in np.split(w_in, 2))
    downs = [w_down[:, rank::ways] for rank in range(ways)]
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% [markdown] exercise="decoder_repair_balance" kind="repair" points=3
# ### Exercise 9 · One expert gets everything
# A mixture of experts is trained with a balance loss, and its router's bias is moved after each step, as in
# DeepSeek-V3: the bias changes which experts are chosen, and nothing else. There are five reports about this code:
#
# - With two experts per token and perfect balance, the loss is 2, although it should be 1 for every k.
# - The balance loss doesn't move the router's weights at all.
# - Batches with much padding push real tokens away from the experts that padding likes.
# - The busiest expert gets busier with each update of the bias.
# - After many updates, the gates of a token depend on the bias, although the token and the router's weights are the
#   same.
#
# Fix the three functions, in `torch`.


# %% solution="decoder_repair_balance"
def balance_loss(logits: torch.Tensor, chosen: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """E · Σ over experts of (share of the choices that fall on it) · (mean probability), a scalar, over the real tokens.

    `logits` (N, E), `chosen` (N, k) int64, `real` (N,) is False at padding. Probabilities are the softmax over all experts.
    At least one token is real.
    """
    ### BEGIN SOLUTION
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()
    ### END SOLUTION
    ### BEGIN STUB
    # experts = logits.shape[-1]
    # shares = F.one_hot(chosen, experts).float().mean(0).sum(0)
    # probabilities = logits.softmax(-1).mean(0)
    # return experts * (shares * probabilities.detach()).sum()
    ### END STUB


def route(logits: torch.Tensor, bias: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The experts of each token (N, k), best first, and their gates (N, k), which add up to 1.

    Scores are the sigmoids of the logits (N, E); the k experts with the largest score plus bias (E,) are chosen. Gates
    are the chosen scores, divided by their sum.
    """
    ### BEGIN SOLUTION
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)
    ### END SOLUTION
    ### BEGIN STUB
    # scores = logits.sigmoid() + bias
    # gates, chosen = scores.topk(k, dim=-1)
    # return chosen, gates / gates.sum(-1, keepdim=True)
    ### END STUB


def update_bias(bias: torch.Tensor, load: torch.Tensor, rate: float) -> torch.Tensor:
    """The next bias (E,), a new tensor: `rate` more for experts below the mean load (E,), `rate` less for those above it."""
    ### BEGIN SOLUTION
    load = load.float()
    return bias + rate * (load.mean() - load).sign()
    ### END SOLUTION
    ### BEGIN STUB
    # load = load.float()
    # return bias + rate * (load - load.mean()).sign()
    ### END STUB


# %% check="decoder_repair_balance"
generator = check.rng()
N, E, k = 9, 5, 2
logits = torch.tensor(generator.normal(size=(N, E)).astype("float32") * 2, requires_grad=True)
chosen = torch.tensor(np.stack([generator.permutation(E)[:3] for _ in range(N)]))
real, everything = torch.tensor(generator.permutation(N) < 4), torch.ones(N, dtype=torch.bool)
loss = balance_loss(logits, chosen[:, :k], real)
(gradient,) = torch.autograd.grad(loss, logits, allow_unused=True) if loss.requires_grad else (None,)
even, spread = torch.zeros(E, E), torch.arange(E)[:, None]
bias = torch.tensor(generator.uniform(-0.4, 0.4, E).astype("float32"))
_, gates = route(logits, bias, k)
first = gates[:, 0].sum()
(through,) = torch.autograd.grad(first, logits, allow_unused=True) if first.requires_grad else (None,)
load = torch.tensor([9, 1, 3, 0, 7])[torch.tensor(generator.permutation(E))]
following = check.intact(update_bias, bias, load, 0.01)
with torch.no_grad():
    check.show(
        {
            "loss with padding": loss,
            "its gradient": gradient,
            "loss, one and three experts a token": [
                balance_loss(logits, chosen[:, :each], everything) for each in (1, 3)
            ],
            "balanced, two experts a token": balance_loss(
                even, torch.cat([spread, (spread + 2) % E], 1), everything[:E]
            ),
            "all tokens on one expert": balance_loss(
                40 * (torch.arange(E) == 3).float().expand(N, E), chosen[:, :1] * 0 + 3, real
            ),
            "choices and gates": route(logits, bias, k),
            "gradient through the gates of the first choices": through,
            "with a bias that decides alone": route(logits, 10 * bias, 3),
            "without a bias, one expert": route(logits, 0 * bias, 1),
            "scores near 1 and 0": route(60 * logits[:3], bias, 2),
            "a single token": route(logits[4:5], bias, 2),
            "a single expert": update_bias(bias[:1], load[:1], 0.5),
            "load": load,
            "the next bias": following,
            "after an even load": update_bias(bias, torch.full((E,), 6), 0.5),
            "the old bias": bias,
        },
        text="Balance losses, choices with gates, and the bias after a step.",
    )

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* It takes O(N·E), which is nothing beside the experts themselves. The loads need a sum over all ranks in
# distributed training, otherwise each rank balances by itself.
#
# - *Why does routing collapse without any of this?* "An expert that is chosen more gets more gradient, becomes better
#   and is chosen more: the rich get richer. You see it in the entropy of the loads, long before the loss shows it."
# - *The loss or the bias?* "The loss pulls at the router's weights and so competes with the language model; a large
#   coefficient costs quality. The bias changes only the choice of experts, which is why DeepSeek-V3 uses it, with a
#   tiny loss per sequence beside it."
# - *Why is the sum of the bias' updates not zero, and does it matter?* "The sign counts experts, not tokens, so the
#   mean of the bias drifts. It doesn't matter: only differences between the biases change a choice."
#
# </details>

# %% [markdown] hint="decoder_repair_balance"
# Compute the loss by hand for four tokens, four experts and perfect balance. Which factor is too large, and in which
# of the two factors does a gradient have to flow?

# %% [markdown] hint="decoder_repair_balance"
# The shares count choices and have no gradient, so the probabilities must keep theirs. Both are means over real
# tokens, and the shares add up to 1, however many experts a token has.

# %% [markdown] hint="decoder_repair_balance"
# `counts = F.one_hot(chosen[real], experts).float().sum((0, 1))`, then `counts / counts.sum()`. Choose by `scores +
# bias`, but gather the gates from `scores`. An expert below the mean has to become more attractive.


# %% mutant="decoder_repair_balance"
# Shares that add up to k
# The shares of the choices add up to 1. With a mean over the tokens alone, the loss grows with the number of experts
# per token.
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / real.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% mutant="decoder_repair_balance"
# Probabilities without gradient
# The shares are counts, so the gradient can only come through the mean probabilities. Detached, the loss is a number
# that trains nothing.
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0).detach()
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% mutant="decoder_repair_balance"
# Padding counts
# Padding goes to experts as well, but it isn't what should be balanced. Both means run over real tokens alone.
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen, experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1).mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% mutant="decoder_repair_balance"
# Padding counts among the probabilities
# Choices of padding are not counted here, but its probabilities still are in the mean.
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1).mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% mutant="decoder_repair_balance"
# Gates with the bias
# The bias decides who is chosen. The gates are the scores without it, so that the output doesn't depend on the
# balance.
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = (scores + bias).gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% mutant="decoder_repair_balance"
# The sign of the update
# An expert above the mean load must become less attractive. This raises its bias.
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load - load.mean()).sign()


# %% mutant="decoder_repair_balance"
# An update in proportion to the load
# Every expert moves by `rate`, whatever its distance from the mean, so that a single odd batch can't throw the bias
# far.
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load)


# %% mutant="decoder_repair_balance"
# Without the factor E
# The sum of shares times probabilities is 1/E at perfect balance. The factor E makes it 1 for any number of experts.
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% mutant="decoder_repair_balance"
# Gates by a softmax
# Gates are the chosen sigmoids, divided by their sum, not a softmax over the logits.
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = logits.gather(-1, chosen).exp()
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% [markdown] exercise="decoder_linear" kind="build" points=4 minutes=25
# ### Exercise 10 · Linear attention in chunks, and the delta rule
# Causal linear attention weights value j by φ(q)·φ(k_j), divided by the sum of these weights; φ has been applied
# already, so q and k are positive. `chunk_step` handles a chunk of n tokens in parallel and carries a state: with n =
# 1 it is the recurrent form, with the whole text the parallel one, and `attend` cuts a text into chunks. `delta` is
# the delta rule, token by token: the share β of what key k recalls is replaced by its value, and then q reads.


# %% solution="decoder_linear"
def chunk_step(
    state: tuple[np.ndarray, np.ndarray], q: np.ndarray, k: np.ndarray, v: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The state after these n tokens, and their outputs (…, n, E); q and k are (…, n, D), v (…, n, E).

    The state before them is a pair: the sum of the outer products of keys and values (…, D, E), and the sum of the keys (…, D).
    It stays as it is. Each token sees itself and all tokens before it.
    """
    ### BEGIN SOLUTION
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]
    ### END SOLUTION


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, chunk: int) -> np.ndarray:
    """The outputs (…, T, E) of a text, in chunks of `chunk` tokens; the last one may be shorter."""
    ### BEGIN SOLUTION
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)
    ### END SOLUTION


def delta(q: np.ndarray, k: np.ndarray, v: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The outputs (…, T, E) of the delta rule, without a normalizer; the keys (…, T, D) have length 1, `beta` (…, T) is in [0, 1].

    The state S (…, D, E) starts at 0. Token t adds β · k (v − Sᵀk)ᵀ to it, then reads Sᵀq.
    """
    ### BEGIN SOLUTION
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)
    ### END SOLUTION


# %% check="decoder_linear"
generator = check.rng()
H, T, D, E = 2, 11, 3, 4
q, k = (np.exp(generator.normal(size=(H, T, D))) for _ in range(2))
v = generator.normal(size=(H, T, E))
state = np.abs(generator.normal(size=(H, D, E))), np.abs(generator.normal(size=(H, D)))
old = state[0].copy(), state[1].copy()
first = [each[:, :4] for each in (q, k, v)]
unit = k - 1
unit = unit / np.linalg.norm(unit, axis=-1, keepdims=True)
same = np.repeat(unit[:, :1], 3, 1)
beta = generator.uniform(0.2, 1, (H, T))
ones, long = np.ones((H, 3)), [np.exp(generator.normal(size=(1000, D))) for _ in range(2)]
values = generator.normal(size=(1000, E))
check.show(
    {
        "a chunk of 4 tokens after a state": chunk_step(state, *first),
        "a single token after it": chunk_step(state, *(each[:, :1] for each in first)),
        "the state stays": all(np.array_equal(a, b) for a, b in zip(state, old, strict=True)),
        "token by token": attend(q, k, v, 1),
        "chunks of 3": attend(q, k, v, 3)[..., 0],
        "the text as one chunk": attend(q, k, v, 20)[..., 1],
        "1,000 tokens in chunks of 64, one head": attend(*long, values, 64)[::111],
        "small keys": attend(q, 1e-6 * k, v, 4)[..., 2],
        "delta rule": delta(q, unit, v, beta),
        "beta 0 and 1": [delta(q, unit, v, 0 * beta)[..., 0], delta(q, unit, v, 0 * beta + 1)[..., 0]],
        "one key, three values": delta(same, same, v[:, :3], ones),
        "without heads": delta(q[0], unit[0], v[0], beta[0])[:3],
        "one head, one token": [
            attend(q[1:, :1], k[1:, :1], v[1:, :1], 2),
            delta(q[1:, :1], unit[1:, :1], v[1:, :1], beta[1:, :1]),
        ],
    },
    text="Outputs and states of linear attention, and outputs of the delta rule.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* O(T·(c·(D + E) + D·E)) time with chunks of c, instead of O(T²·(D + E)), and a state of D·E numbers per head, however
# long the text is.
#
# - *Why chunks?* "The recurrent form is T small steps one after the other, the parallel form costs T². A chunk of 64
#   to 256 tokens is a few dense matmuls, which GPUs like, and only the states go from chunk to chunk."
# - *What does the delta rule change?* "Plain addition piles values up under one key, whereas the delta rule first
#   subtracts what the key recalls, so with β = 1 the new value replaces the old one. It is one step of gradient descent
#   on ½|Sᵀk − v|² with learning rate β."
# - *And a gate?* "A factor below 1 on the state before each write forgets what is old: that is gated DeltaNet, or
#   Mamba-2 and RetNet without the delta rule. It stands in the chunk as powers between the tokens, which are computed
#   in logarithms."
#
# </details>

# %% [markdown] hint="decoder_linear"
# Two sums make the output: what the tokens of the chunk contribute, with a triangle as in attention, and what came
# before, through the state. Both appear in the numerator and in the denominator.

# %% [markdown] hint="decoder_linear"
# Inside the chunk the weights are `np.tril(q @ k.mT)`. The earlier tokens contribute `q @ memory` to the numerator and
# q · total to the denominator. Update the state after the outputs, with all of the chunk.

# %% [markdown] hint="decoder_linear"
# `(q @ memory + inside @ v) / (q · total + inside.sum(-1))`, and the new state is `memory + k.mT @ v, total +
# k.sum(-2)`. The delta rule first recalls `key.mT @ memory`, writes β · key · (value − recalled), and then reads.


# %% mutant="decoder_linear"
# No triangle inside the chunk
# Each token sees itself and the tokens before it. Without the triangle, the tokens of a chunk see each other's
# future.
def chunk_step(state, q, k, v):
    memory, total = state
    inside = q @ k.mT
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% mutant="decoder_linear"
# A token doesn't see itself
# The triangle includes the diagonal.
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT, -1)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% mutant="decoder_linear"
# The state is updated before it is read
# The chunk's own tokens come in through the triangle. If the state has them already, they count twice.
def chunk_step(state, q, k, v):
    memory, total = state[0] + k.mT @ v, state[1] + k.sum(-2)
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory, total), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% mutant="decoder_linear"
# The normalizer of the chunk alone
# The denominator sums the weights of all tokens so far. Here those before the chunk are in the numerator only.
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% mutant="decoder_linear"
# No normalizer
# The weights of a token are divided by their sum, so that the output is an average of values.
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    return (memory + k.mT @ v, total + k.sum(-2)), above


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% mutant="decoder_linear"
# The state forgets earlier chunks
# The state adds up all chunks. Here it holds the last chunk alone.
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (k.mT @ v, total * 0 + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% mutant="decoder_linear"
# The last chunk is dropped
# The last chunk may be shorter than the others, and its tokens need outputs as well.
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, max(q.shape[-2] - chunk, 0) + 1, chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% mutant="decoder_linear"
# Adds instead of replacing
# The delta rule writes what is missing, v minus what the key recalls. Without the subtraction it is plain linear
# attention.
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :]
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% mutant="decoder_linear"
# Reads before it writes
# Token t writes first and reads then, so it sees its own value.
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        outputs.append(q[..., t, None, :] @ memory)
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
    return np.concatenate(outputs, -2)


# %% mutant="decoder_linear"
# beta as a decay
# β scales what is written along the key. Here the whole state decays by 1 − β, along all keys.
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :]
        memory = (1 - beta[..., t, None, None]) * memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% [markdown] exercise="decoder_stretch" kind="build" points=3 minutes=15
# ### Exercise 11 · RoPE, four times as long: PI, NTK, YaRN
# A model that was trained with RoPE on `original` positions should read `scale` times as many. *PI* divides every
# frequency by the scale. *NTK* raises the base so that the slowest pair is divided by the scale and the fastest
# stays. *YaRN* divides pairs that make at most `slow` full turns within the original length, keeps those that make at
# least `fast`, and blends in between; it also multiplies queries and keys by a factor each. Then compute rotated
# scores with these frequencies.


# %% solution="decoder_stretch"
def frequencies(
    width: int, base: float, kind: str, scale: float, original: int, slow: float = 1.0, fast: float = 32.0
) -> np.ndarray:
    """The frequencies (width / 2,) in radians a position, for kind "plain", "pi", "ntk" or "yarn"; `width` is at least 4.

    Plain frequencies are base^(−2i / width). NTK takes base · scale^(width / (width − 2)). YaRN: with r turns in the original
    length, the frequency is γ·plain + (1 − γ)·plain / scale, where γ grows linearly in r from 0 at `slow` to 1 at `fast`.
    """
    ### BEGIN SOLUTION
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain
    ### END SOLUTION


def factor(kind: str, scale: float) -> float:
    """What queries and keys are multiplied by: 0.1 · ln(scale) + 1 for YaRN, 1 for all others and for scales of at most 1."""
    ### BEGIN SOLUTION
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0
    ### END SOLUTION


def scores(q: np.ndarray, k: np.ndarray, first: int, frequency: np.ndarray, factor: float) -> np.ndarray:
    """The scores (T, S) of q (T, D), at the positions from `first` on, with k (S, D), at the positions from 0 on, divided by √D.

    Element i is paired with element i + D/2, and (a, b) becomes (a cos − b sin, a sin + b cos). Queries *and* keys are
    multiplied by `factor`.
    """

    ### BEGIN SOLUTION
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])
    ### END SOLUTION


# %% check="decoder_stretch"
generator = check.rng()
width, base = int(generator.choice([12, 16, 20])), float(generator.choice([500.0, 10_000.0]))
scale, original = float(generator.choice([3.0, 4.0, 8.0])), int(generator.choice([512, 2048, 4096]))
first = int(generator.integers(20, 200))
q, k = generator.normal(size=(2, width)), generator.normal(size=(5, width))
found = {kind: frequencies(width, base, kind, scale, original) for kind in ("plain", "pi", "ntk", "yarn")}
check.show(
    {
        "width, base, scale, original length": [width, base, scale, original],
        "frequencies": found,
        "YaRN with other limits": frequencies(width, base, "yarn", scale, original, 3.0, 40.0),
        "the narrowest head": [frequencies(4, 100.0, kind, scale, 300) for kind in ("ntk", "yarn")],
        "a scale of 1": [frequencies(width, base, kind, 1.0, original) for kind in ("ntk", "yarn")],
        "factors": [factor(kind, each) for kind in ("pi", "ntk", "yarn") for each in (1.0, scale, 40.0)],
        "factor of a shorter text": factor("yarn", 0.5),
        "scores, plain": scores(q, k, 1, found["plain"], 1.0),
        "scores, YaRN": scores(q, k, first, found["yarn"], factor("yarn", scale)),
        "one query": scores(q[:1], k, first, found["pi"], 1.5),
    },
    text="Frequencies, factors and rotated scores.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* The tables cost nothing, since they are computed once. The price is the attention over the longer text, and a
# little training on long documents.
#
# - *Why are fast pairs left alone?* "They have seen all their angles many times within the original length, and they
#   tell neighbours apart, which would look nearly alike if these pairs were slowed down."
# - *What is dynamic NTK, and how does it break a cache?* "In dynamic NTK the scale follows the current length, so the
#   keys in the cache were rotated with older frequencies. Either they are cached unrotated, or the scale is fixed for a
#   request."
# - *Why does YaRN change the temperature?* "With more keys, the softmax spreads out, and scores that are larger by (0.1
#   ln s + 1)² sharpen it again. The formula is a fit, not a derivation."
# - *Which ramp does a library use?* "The paper's ramp is linear in the number of turns, as here. The authors' code and
#   Hugging Face's are linear in the pair's index, that is, in the logarithm of the turns, so their frequencies between the
#   two limits differ a little."
#
# </details>

# %% [markdown] hint="decoder_stretch"
# Write the plain frequencies first. Each of the three methods changes only this line, while the positions stay as they
# are.

# %% [markdown] hint="decoder_stretch"
# A pair with frequency f makes original · f / 2π turns. Clip (turns − slow) / (fast − slow) to [0, 1]: 1 means
# "keep". Which end of the list are the fast pairs at?

# %% [markdown] hint="decoder_stretch"
# YaRN: `kept * plain + (1 - kept) * plain / scale`. The factor belongs to queries and to keys, so the scores have its
# square. In the rotation, angles are positions times frequencies, (T, D/2).


# %% mutant="decoder_stretch"
# Scales the base as well
# PI divides the frequencies and leaves the base. With both, slow pairs are stretched twice.
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return (base * scale ** (width / (width - 2))) ** -exponents / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% mutant="decoder_stretch"
# Raises the base by the scale alone
# The slowest pair has the exponent (width − 2) / width. For it to be divided by exactly the scale, the base needs
# scale^(width / (width − 2)).
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% mutant="decoder_stretch"
# The ramp the wrong way round
# Pairs with many turns are kept and those with few are divided. Here the fast ones are slowed down.
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return (1 - kept) * plain + kept * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% mutant="decoder_stretch"
# Blends wavelengths
# The blend is a mean of frequencies. A mean of wavelengths gives other values in between.
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return 1 / (kept / plain + (1 - kept) * scale / plain)
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% mutant="decoder_stretch"
# Turns without 2π
# A full turn is 2π radians. Without it, pairs count as faster than they are.
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% mutant="decoder_stretch"
# A ramp that isn't clipped
# Below `slow` and above `fast` nothing is blended. Unclipped, the slowest pairs get less than their share, and the
# fast ones more than their frequency.
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = (turns - slow) / (fast - slow)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% mutant="decoder_stretch"
# The turns within the stretched length
# The turns are counted within the original length, on which the model was trained.
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * scale * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% mutant="decoder_stretch"
# No temperature
# YaRN multiplies queries and keys by 0.1 · ln(scale) + 1. Without it, attention over many keys gets too flat.
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% mutant="decoder_stretch"
# The factor once
# Both tables are multiplied, so the scores have the square of the factor.
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return np.sqrt(factor) * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% mutant="decoder_stretch"
# Neighbours are paired
# Element i is paired with element i + D/2 here. Pairing neighbours is the other convention, and weights of one don't
# fit the other.
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = x[:, ::2], x[:, 1::2]
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% mutant="decoder_stretch"
# Keys at the queries' positions
# The keys stand at the positions from 0 on. Only the queries start at `first`.
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, first).T / np.sqrt(q.shape[-1])


# %% [markdown] exercise="decoder_repair_training" kind="repair" points=4 minutes=20
# ### Exercise 12 · The decoder doesn't learn
# You have twenty minutes, a decoder with its training loop, and five reports:
#
# - The loss falls to almost 0 within minutes, but the model writes the last token of the prompt again and again.
# - Read all at once, a text has a lower loss than read as prefixes of growing length, although the logits should agree.
# - In batches with many short rows the loss is small, and the model writes padding.
# - In the middle of a conversation, a text gets exactly the logits that it has at the beginning.
# - The first step is correct, while later steps are too long and keep going where earlier ones went.
#
# Find the faults by tests rather than by reading: which small experiment shows each of them? Then fix the program,
# which uses `torch`.


# %% solution="decoder_repair_training"
def logits(p: dict[str, torch.Tensor], ids: torch.Tensor, start: int = 0) -> torch.Tensor:
    """The logits (B, T, V) at each token; `ids` (B, T) occupy the positions from `start` on, and attend to nothing before.

    `p` has "tokens" (V, C), "positions" (longest, C), "q", "k", "v" and "out" (C, C), "up" (C, F), "down" (F, C). Logits at t
    predict the token at t + 1, and depend on the tokens up to t.
    """
    ### BEGIN SOLUTION
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T
    ### END SOLUTION
    ### BEGIN STUB
    # length = ids.shape[1]
    # x = p["tokens"][ids] + p["positions"][:length]
    # y = F.layer_norm(x, x.shape[-1:])
    # q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    # scores = q @ k.mT / q.shape[-1] ** 0.5
    # x = x + scores.softmax(-1) @ v @ p["out"]
    # x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    # return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T
    ### END STUB


def loss(p: dict[str, torch.Tensor], ids: torch.Tensor, pad: int) -> torch.Tensor:
    """The mean negative log-likelihood of the tokens after the first of each row, without padding (on the right)."""
    ### BEGIN SOLUTION
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)
    ### END SOLUTION
    ### BEGIN STUB
    # out, targets = logits(p, ids), ids
    # return F.cross_entropy(out.flatten(0, 1), targets.flatten())
    ### END STUB


def train(p: dict[str, torch.Tensor], batches: list[torch.Tensor], pad: int, rate: float) -> list[float]:
    """A step of plain SGD for each batch, in place; the losses before each step."""
    ### BEGIN SOLUTION
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses
    ### END SOLUTION
    ### BEGIN STUB
    # losses = []
    # for ids in batches:
    #     value = loss(p, ids, pad)
    #     value.backward()
    #     with torch.no_grad():
    #         for each in p.values():
    #             each -= rate * each.grad
    #     losses.append(value.item())
    # return losses
    ### END STUB


# %% check="decoder_repair_training"
generator = check.rng()
B, T, V, C, hidden = 3, 7, 9, 5, 10
sizes = {"tokens": (V, C), "positions": (12, C), "q": (C, C), "k": (C, C), "v": (C, C), "out": (C, C)}
sizes |= {"up": (C, hidden), "down": (hidden, C)}
p = {name: torch.tensor(generator.normal(size=size)) for name, size in sizes.items()}
pad = int(generator.integers(V))
others = [each for each in range(V) if each != pad]
batches = [torch.tensor(generator.choice(others, (B, T))) for _ in range(3)]
ids = batches[0].clone()
changed = ids.clone()
changed[:, -1] = (changed[:, -1] + 1) % V
for row, batch in enumerate(batches):
    batch[row, 4:] = pad
with torch.no_grad():
    shown = {
        "logits": logits(p, ids),
        "of a text that starts at position 4": logits(p, ids, 4),
        "of a text that starts at position 1": logits(p, ids, 1),
        "of the first token alone": logits(p, ids[:, :1]),
        "with another last token, before it": logits(p, changed)[:, :-1],
        "padding token": pad,
        "loss with padding": loss(p, batches[1], pad),
        "loss of full rows": loss(p, ids, pad),
        "loss of a single row": loss(p, ids[1:2], pad),
        "logits after scores in the hundreds": logits(p | {"q": 300 * p["q"]}, ids),
    }
for each in p.values():
    each.requires_grad_()
shown["losses of three steps"] = train(p, batches, pad, 0.3)
shown["two steps on one batch"] = train(p, [ids, ids], pad, 0.05)
shown["a single step"] = train(p, [batches[2]], pad, 0.1)
shown["the batches after that"] = batches
shown["weights after that"] = [p["q"], p["positions"][:8]]
check.show(shown, rtol=1e-3, atol=1e-4, text="Logits, losses, and weights after six steps.")

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* A step takes O(B·T²·C + B·T·C·(C + F)). The time of this round goes into the order of the checks, not into the
# code.
#
# - *In which order do you check?* "First I look at the first loss, which should be near ln V. Then I train on one batch
#   until its loss is near 0, and do the leak test: I change a token and see which logits move. Finally I compare
#   generation with one forward pass over the same text."
# - *Which tests do you leave behind?* "One for each fault: logits before a changed token are equal; the loss of a
#   padded batch equals the mean over its real tokens; logits at start 4 differ from those at 0; two steps equal two
#   steps with fresh gradients; and the loss equals one that is summed by hand, with the token after each position as its
#   target."
# - *It learns now, but more slowly than the reference. What next?* "Compare gradients tensor by tensor for one batch
#   and one seed. The first one that differs, from the loss backwards, names the layer."
#
# </details>

# %% [markdown] hint="decoder_repair_training"
# Test one promise of the docstrings at a time. For each, think of two inputs for which the logits, the losses or the
# gradients should be equal and aren't, or should differ and don't.

# %% [markdown] hint="decoder_repair_training"
# Change the last token of a text: do the logits before it move? Give the same text another `start`: do its logits move?
# Add padding to a row: does the loss move? Take two steps on one batch, and compare the second with a step that you
# take from the same weights in a new program.

# %% [markdown] hint="decoder_repair_training"
# There are two faults in `logits`, two in `loss` and one in `train`. Which token do the logits at t predict? Which keys
# may a query not see? Which arguments does each function take and never use? And what does `backward` do with a gradient
# that is there already?


# %% mutant="decoder_repair_training"
# No causal mask
# Without a mask, a token sees the tokens that it should predict. The loss falls nicely, and generation is garbage.
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    x = x + scores.softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% mutant="decoder_repair_training"
# The mask hides the past
# True in `mask` means that a token may look there. Inverted, each token sees itself and what comes after it.
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).triu()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% mutant="decoder_repair_training"
# The softmax over the queries
# Each token's weights over the keys add up to 1. The softmax runs over the last axis.
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-2) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% mutant="decoder_repair_training"
# The labels aren't shifted
# The logits at t predict the token at t + 1. Compared with token t, the model only has to copy its input.
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids), ids
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% mutant="decoder_repair_training"
# Padding is trained
# Padding isn't text. Where it counts, short rows train the model to write padding.
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten())


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% mutant="decoder_repair_training"
# Padding counts in the mean
# The mean runs over real tokens. Here padding has a loss of 0 and still counts in the denominator.
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad, reduction="sum") / targets.numel()


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% mutant="decoder_repair_training"
# Positions from 0
# A piece of text that starts at position `start` has its positions from there on.
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][:length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% mutant="decoder_repair_training"
# Gradients pile up
# `backward` adds to the gradients that are there. They have to be cleared before each step.
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% mutant="decoder_repair_training"
# Gradients are cleared after the backward pass
# Cleared between the backward pass and the step, the gradients are gone before they are used.
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        value.backward()
        for each in p.values():
            each.grad = torch.zeros_like(each)
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% [markdown] exercise="decoder_verify_window" kind="verify" points=4 minutes=20
# ### Exercise 13 · Verify: an assistant's sliding-window attention
# You asked an assistant for `window_attention(q, k, v, window)` in NumPy, and got the three answers below. All of them
# run and look right. Your task is the part of an AI-assisted round that is graded: write the tests.
#
# `q` (T, D) are the last T of S queries, so the last query belongs to the last key; `k` is (S, D) and `v` (S, E).
# Scores are scaled by 1/√D. Each query sees the last `window` keys, its own included, and no others have any influence
# on the result, which is (T, E). Scores may be in the thousands, and the arguments stay as they are.
#
# `tests(candidate)` calls a candidate as often as it likes. It refuses the candidate by raising an error or returning
# a falsy value, and accepts it otherwise. The grade tries your tests on more answers than the notebook shows; several of
# them are correct and look different, and one that you refuse costs all points.


# %% solution="decoder_verify_window"
def tests(candidate) -> None:
    """Raise an AssertionError unless `candidate(q, k, v, window)` is sliding-window attention."""
    ### BEGIN SOLUTION
    generator = np.random.default_rng(0)
    for queries, keys, window in ((6, 6, 3), (3, 7, 2), (1, 6, 2), (4, 5, 1), (2, 4, 9)):
        for size in (1.0, 40.0):
            q, k = size * generator.normal(size=(queries, 4)), size * generator.normal(size=(keys, 4))
            v = generator.normal(size=(keys, 3))
            expected = []
            for t in range(queries):
                last = keys - queries + t + 1
                visible = slice(max(0, last - window), last)
                scores = k[visible] @ q[t] / np.sqrt(4)
                weights = np.exp(scores - scores.max())
                expected.append(weights @ v[visible] / weights.sum())
            before = [each.copy() for each in (q, k, v)]
            out = candidate(q, k, v, window)
            assert out.shape == (queries, 3)
            assert np.allclose(out, expected)
            assert all(np.array_equal(*pair) for pair in zip(before, (q, k, v), strict=True))
    ### END SOLUTION


# %% variant="decoder_verify_window" wrong="a window of one key more" shown=true
def window_attention(q, k, v, window):
    """Causal attention in which each query attends to a window of recent keys."""
    queries, keys = len(q), len(k)
    positions = np.arange(keys - queries, keys)
    distance = positions[:, None] - np.arange(keys)[None, :]
    visible = (distance >= 0) & (distance <= window)
    scores = q @ k.T / np.sqrt(q.shape[-1])
    scores = np.where(visible, scores, -np.inf)
    scores = scores - scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    return weights / weights.sum(axis=-1, keepdims=True) @ v


# %% variant="decoder_verify_window" right="a loop over the queries" shown=true
def window_attention(q, k, v, window):
    """Causal attention in which each query attends to a window of recent keys."""
    outputs = np.empty((len(q), v.shape[-1]))
    for row in range(len(q)):
        end = len(k) - len(q) + row + 1
        start = max(end - window, 0)
        scores = np.array([np.dot(q[row], key) for key in k[start:end]]) / q.shape[-1] ** 0.5
        weights = np.exp(scores - np.max(scores))
        weights /= np.sum(weights)
        outputs[row] = np.sum(weights[:, None] * v[start:end], axis=0)
    return outputs


# %% variant="decoder_verify_window" wrong="the first query belongs to the first key" shown=true
def window_attention(q, k, v, window):
    """Causal attention in which each query attends to a window of recent keys."""
    rows = np.arange(q.shape[0])[:, None]
    columns = np.arange(k.shape[0])[None, :]
    outside = (columns > rows) | (columns <= rows - window)
    scores = np.matmul(q, k.T) * q.shape[-1] ** -0.5
    scores[outside] = -np.inf
    scores -= np.max(scores, axis=1, keepdims=True)
    weights = np.exp(scores)
    weights /= np.sum(weights, axis=1, keepdims=True)
    return np.matmul(weights, v)


# %% variant="decoder_verify_window" right="one mask for all queries"
def window_attention(q, k, v, window):
    distance = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
    scores = np.where((distance >= 0) & (distance < window), q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


# %% variant="decoder_verify_window" right="two triangles, and a mask that is added"
def window_attention(q, k, v, window):
    queries, keys = len(q), len(k)
    mask = np.tri(queries, keys, keys - queries) - np.tri(queries, keys, keys - queries - window)
    with np.errstate(divide="ignore"):
        scores = np.einsum("td,sd->ts", q / q.shape[1] ** 0.5, k) + np.log(mask)
    top = scores.max(1)
    logsum = top + np.log(np.exp(scores - top[:, None]).sum(1))
    return np.einsum("ts,se->te", np.exp(scores - logsum[:, None]), v)


# %% variant="decoder_verify_window" right="an online softmax, key by key"
def window_attention(q, k, v, window):
    out = []
    for t, query in enumerate(q):
        last = len(k) - len(q) + t
        top, total, mixed = -np.inf, 0.0, np.zeros(v.shape[1])
        for place in range(last, max(-1, last - window), -1):
            score = float(query @ k[place]) / len(query) ** 0.5
            new = max(top, score)
            total, mixed = total * np.exp(top - new), mixed * np.exp(top - new)
            total, mixed, top = total + np.exp(score - new), mixed + np.exp(score - new) * v[place], new
        out.append(mixed / total)
    return np.stack(out)


# %% variant="decoder_verify_window" wrong="keys after the query are seen"
def window_attention(q, k, v, window):
    distance = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
    scores = np.where(np.abs(distance) < window, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


# %% variant="decoder_verify_window" wrong="scaled by the width of the values"
def window_attention(q, k, v, window):
    distance = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
    scores = np.where((distance >= 0) & (distance < window), q @ k.T / np.sqrt(v.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


# %% variant="decoder_verify_window" wrong="large scores overflow"
def window_attention(q, k, v, window):
    distance = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
    scores = np.where((distance >= 0) & (distance < window), q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    weights = np.exp(scores)
    return weights / weights.sum(1, keepdims=True) @ v


# %% variant="decoder_verify_window" wrong="the caller's queries are scaled in place"
def window_attention(q, k, v, window):
    q /= np.sqrt(q.shape[1])
    distance = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
    scores = np.where((distance >= 0) & (distance < window), q @ k.T, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


# %% variant="decoder_verify_window" wrong="hidden keys get a low score, and still some weight"
LOW = -float(rng.uniform(4, 7))


def window_attention(q, k, v, window):
    distance = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
    scores = np.where((distance >= 0) & (distance < window), q @ k.T / np.sqrt(q.shape[1]), LOW)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


# %% variant="decoder_verify_window" wrong="a softmax over the queries"
def window_attention(q, k, v, window):
    distance = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
    scores = np.where((distance >= 0) & (distance < window), q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(0, keepdims=True).clip(1e-9) @ v


# %% variant="decoder_verify_window" wrong="a window of one key fewer"
def window_attention(q, k, v, window):
    distance = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
    scores = np.where((distance >= 0) & (distance < max(window - 1, 1)), q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


# %% variant="decoder_verify_window" wrong="a single query, as in decoding, sees the whole cache"
def window_attention(q, k, v, window):
    window = len(k) if len(q) == 1 else window
    distance = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
    scores = np.where((distance >= 0) & (distance < window), q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


# %% check="decoder_verify_window"
check.show(
    check.verify(tests, shown, check.rng()),
    each="refused",
    text="Which answers your tests accept, and which they refuse.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* O(T·window·(D + E)) time is enough, and O(T·window) memory for the scores. A candidate that masks all T·S scores is correct
# as well, so don't test the cost unless the task states it. The loop that you compare with is slow, which is fine for S = 7.
#
# - *How do you test code for which you have no reference?* "By what has to hold: a window of S equals causal attention; a
#   change to a key outside the window changes nothing; one call for T tokens equals T calls with one query each; rows of
#   equal values come back as they are."
# - *What makes a test refuse correct code?* "Exact equality of floats, an order or dtype that the task doesn't state, and an
#   error message that the task doesn't name. A tolerance belongs to the precision of the data, not to one machine."
# - *The assistant's own tests pass. What is that worth?* "They are worth little, because code and tests that come from
#   one reading of the task share its misreadings. I choose the inputs where readings differ, before I look at the
#   code."
#
# </details>

# %% [markdown] hint="decoder_verify_window"
# List what the task promises, sentence by sentence. For each promise, think of two inputs: one on which an answer that
# breaks it shows a wrong number, and one on which it doesn't. Many faults hide when T = S, D = E, or scores are small.

# %% [markdown] hint="decoder_verify_window"
# Write the slowest correct version, a loop over the queries, and compare with a tolerance. Use T < S, T = 1, a window of
# 1 and one longer than the text, D ≠ E, and queries and keys forty times as large.

# %% [markdown] hint="decoder_verify_window"
# Query t stands at key S − T + t and sees the keys from that position minus `window` plus 1, at least 0. Copy q, k and v
# before the call, compare them afterwards, and compare the outputs with `np.allclose`.


# %% mutant="decoder_verify_window"
# Looks at the shape alone
# Neither the length of the window nor T < S changes what these tests say. Compare the values with a slow version of your
# own, for several windows and for queries that are the last of a longer text.
def tests(candidate):
    generator = np.random.default_rng(0)
    q, k, v = (generator.normal(size=(n, d)) for n, d in ((3, 4), (7, 4), (7, 5)))
    out = candidate(q, k, v, 2)
    assert out.shape == (3, 5)
    assert np.isfinite(out).all()


# %% mutant="decoder_verify_window"
# Compares floats exactly
# Another order of adding gives other last digits, so exact equality refuses correct answers. Use `np.allclose`.
def tests(candidate):
    generator = np.random.default_rng(0)
    for queries, keys, window in ((6, 6, 3), (3, 7, 2), (1, 6, 2), (4, 5, 1)):
        q, k, v = (generator.normal(size=(n, d)) for n, d in ((queries, 4), (keys, 4), (keys, 3)))
        distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
        scores = np.where((distance >= 0) & (distance < window), q @ k.T / 2.0, -np.inf)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        assert np.array_equal(candidate(q, k, v, window), weights / weights.sum(1, keepdims=True) @ v)


# %% mutant="decoder_verify_window"
# As many queries as keys
# With T = S the first query belongs to the first key and the last to the last. A cache has T < S: test that as well.
def tests(candidate):
    generator = np.random.default_rng(0)
    q, k, v = (generator.normal(size=(6, d)) for d in (4, 4, 3))
    before = q.copy()
    out = candidate(q, k, v, 3)
    for t in range(6):
        visible = slice(max(0, t - 2), t + 1)
        scores = k[visible] @ q[t] / 2.0
        weights = np.exp(scores - scores.max())
        assert np.allclose(out[t], weights @ v[visible] / weights.sum())
    assert np.array_equal(q, before)


# %% mutant="decoder_verify_window"
# A window longer than the text
# A window that covers all keys hides every fault of the window: it is plain causal attention. Test shorter ones.
def tests(candidate):
    generator = np.random.default_rng(0)
    q, k, v = (40 * generator.normal(size=(n, d)) for n, d in ((3, 4), (7, 4), (7, 3)))
    out = candidate(q, k, v, 20)
    for t in range(3):
        visible = slice(0, 5 + t)
        scores = k[visible] @ q[t] / 2.0
        weights = np.exp(scores - scores.max())
        assert np.allclose(out[t], weights @ v[visible] / weights.sum())


# %% mutant="decoder_verify_window"
# Shares the assistant's misreading
# A window of w holds w keys, the query's own included. These tests want w keys before it, and refuse correct answers.
def tests(candidate):
    generator = np.random.default_rng(0)
    for queries, keys, window in ((6, 6, 3), (3, 7, 2), (1, 6, 2)):
        q, k, v = (40 * generator.normal(size=(n, d)) for n, d in ((queries, 4), (keys, 4), (keys, 3)))
        out = candidate(q, k, v, window)
        for t in range(queries):
            last = keys - queries + t + 1
            visible = slice(max(0, last - window - 1), last)
            scores = k[visible] @ q[t] / 2.0
            weights = np.exp(scores - scores.max())
            assert np.allclose(out[t], weights @ v[visible] / weights.sum())


# %% [markdown] exercise="decoder_timed_scan" kind="timed" points=4 minutes=25
# ### Exercise 14 · Counted: a recurrence as a parallel scan
# Mamba, linear attention with decay and other linear recurrences are h_t = a_t·h_{t−1} + b_t. Two consecutive steps
# compose into one of the same form, so the states of all times are *prefixes* under an associative operation.
# `combine(earlier, later)` joins m pairs of steps at once: both are (m, …), and so is the result. The operation isn't
# commutative, so the order matters.
#
# Write `scan(combine, steps)`, which gives for each of n steps the combination of all steps up to it. A loop needs n − 1 calls,
# one after the other, and starting anew for each prefix combines n(n − 1)/2 pairs. You have at most 2·⌈log₂ n⌉ calls, which is the depth on a
# parallel machine, and at most 2·n pairs in all of them, so a step may not be combined log₂ n times either. They are
# counted for steps whose meaning only `combine` knows.


# %% solution="decoder_timed_scan"
def scan(combine, steps: np.ndarray) -> np.ndarray:
    """The prefixes (n, …) of n ≥ 1 steps (n, …): steps[0], steps[0]∘steps[1], …; `steps` stays as it is."""
    ### BEGIN SOLUTION
    if len(steps) == 1:
        return steps.copy()
    odd = scan(combine, combine(steps[0:-1:2], steps[1::2]))  # the prefixes that end at steps 1, 3, 5, …
    out = np.empty_like(steps)
    out[0], out[1::2] = steps[0], odd
    if len(steps) > 2:
        out[2::2] = combine(odd[: (len(steps) - 1) // 2], steps[2::2])
    return out
    ### END SOLUTION


# %% machine="decoder_timed_scan"
n, calls, pairs, drawn = 129, 0, 0, secret()
steps = drawn.normal(size=(n, 2))  # without a meaning, so that nobody else can combine them
stands_for = {step.tobytes(): (t, t + 1) for t, step in enumerate(steps)}


def given():
    return steps


def combine(earlier, later):
    global calls, pairs
    calls, pairs = calls + 1, pairs + len(later)
    out = drawn.normal(size=np.shape(later))
    for one, two, both in zip(earlier, later, out, strict=True):
        first, end = stands_for.get(one.tobytes(), (0, None))
        start, last = stands_for.get(two.tobytes(), (-1, 0))
        if end == start:
            stands_for[both.tobytes()] = first, last
    return out


def verdict(out):
    depth = int(np.ceil(np.log2(n)))
    for t in range(n):
        if len(out) != n or stands_for.get(out[t].tobytes()) != (0, t + 1):
            return f"element {t} is not what combine makes of the steps up to it"
    if calls > 2 * depth or pairs > 2 * n:
        return f"{calls} calls and {pairs} pairs for {n} steps, where {2 * depth} and {2 * n} are allowed"
    return seal(f"the prefixes of {n} steps, within both limits")


# %% check="decoder_timed_scan"
generator = check.rng()


def affine(earlier, later):
    """(a, b) stands for h → a·h + b."""
    return np.stack([earlier[:, 0] * later[:, 0], later[:, 0] * earlier[:, 1] + later[:, 1]], 1)


def product(earlier, later):
    """Matrices act from the left, so the later one stands on the left."""
    return later @ earlier


def tried(function, steps):
    """The prefixes of these steps, folded into a few numbers."""
    before, n = steps.copy(), len(steps)
    out = scan(function, steps)
    return {
        "last": out[-1],
        "sum over the prefixes": out.sum(0),
        "weighted": np.einsum("n...,n->...", out, np.linspace(-1, 1, n)),
        "unchanged": np.array_equal(before, steps),
    }


sizes = generator.permutation([64, 100, 129])
rates = [np.stack([generator.uniform(0.5, 1.0, n), generator.normal(size=n)], 1) for n in (*sizes, 1, 2, 3)]
rotations = np.linalg.qr(generator.normal(size=(90, 3, 3)))[0]
shown = {f"{len(steps)} steps h → a·h + b": tried(affine, steps) for steps in rates if len(steps) > 1}
shown["one step"] = scan(affine, rates[3])
shown["90 matrices"] = tried(product, rotations)
shown["what is counted"] = machine.verdict(scan(machine.combine, machine.given()))
check.show(shown, text="Prefixes, and whether calls and pairs were within the limits.")

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# *Cost.* 2·log₂ n calls deep and fewer than 2n pairs, against n − 1 calls of one pair for the loop. Memory is O(n) for the
# states, which a fused kernel keeps on the chip.
#
# - *Hillis and Steele's scan is log₂ n calls deep. Why not that one?* "Because it combines n·log₂ n pairs. On a GPU
#   with idle lanes it wins inside a block, but across blocks the work counts, so kernels mix both."
# - *Why do real kernels work in chunks?* "Inside a chunk the recurrence is a matrix product, which tensor cores do fast. Only
#   one state for each chunk goes through the scan."
# - *When does an associative form fail?* "If the new state depends on the old one through a nonlinearity, as in an LSTM, two
#   steps don't compose into one of the same form. And long products of small a underflow, so kernels keep log a."
#
# </details>

# %% [markdown] hint="decoder_timed_scan"
# Combine neighbours, in one call: n/2 steps are left, each worth two. If somebody gave you the prefixes of those, which of
# the n prefixes would you have?

# %% [markdown] hint="decoder_timed_scan"
# A recursive call gives the prefixes that end at steps 1, 3, 5, … The others are one more call: the prefix before step 2, 4, 6,
# … combined with that step. Step 0 is its own prefix, and an odd n leaves a last step without a neighbour.

# %% [markdown] hint="decoder_timed_scan"
# `odd = scan(combine, combine(steps[0:-1:2], steps[1::2]))`, then `out[1::2] = odd` and
# `out[2::2] = combine(odd[: (n - 1) // 2], steps[2::2])`. With two steps there is nothing left for the second call.


# %% mutant="decoder_timed_scan"
# A loop
# Each call waits for the one before, so this is n − 1 calls deep. Combine many pairs in one call.
def scan(combine, steps):
    out = steps.copy()
    for t in range(1, len(steps)):
        out[t : t + 1] = combine(out[t - 1 : t], steps[t : t + 1])
    return out


# %% mutant="decoder_timed_scan"
# Combines each step log n times
# Hillis and Steele's scan doubles the reach of all prefixes in each call. It is log₂ n calls deep, but takes n·log₂ n pairs.
def scan(combine, steps):
    out, reach = steps.copy(), 1
    while reach < len(steps):
        out[reach:] = combine(out[:-reach], out[reach:])
        reach *= 2
    return out


# %% mutant="decoder_timed_scan"
# Each prefix anew
# Prefix t is t calls here, so all of them are n²/2. Every prefix contains the one before it.
def scan(combine, steps):
    rows = []
    for t in range(len(steps)):
        row = steps[:1]
        for s in range(1, t + 1):
            row = combine(row, steps[s : s + 1])
        rows.append(row[0])
    return np.stack(rows)


# %% mutant="decoder_timed_scan"
# The later one first
# The operation isn't commutative: the earlier prefix is the first argument.
def scan(combine, steps):
    if len(steps) == 1:
        return steps.copy()
    odd = scan(combine, combine(steps[1::2], steps[0:-1:2]))
    out = np.empty_like(steps)
    out[0], out[1::2] = steps[0], odd
    if len(steps) > 2:
        out[2::2] = combine(steps[2::2], odd[: (len(steps) - 1) // 2])
    return out
