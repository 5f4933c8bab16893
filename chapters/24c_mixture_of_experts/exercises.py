# %% [markdown]
# # Exercises · Mixture of experts
# Six exercises build a layer of experts in steps: who gets a gradient, which experts a token is sent to, the dispatch and the
# combine, the seats of a padded batch, the capacity that a fair router needs, and the bytes that cross between GPUs. Nothing here
# adds to `mytorch`. Your answers may use the tensors and operations of `torch`, which is minitorch.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch.nn import functional as F

# %% [markdown] exercise="moe_predict_gradients" kind="predict" points=2
# ### Exercise 1 · Who gets a gradient?
# A layer has 6 experts, each of which is one matrix, and a router `nn.Linear(8, 6, bias=False)`. Three tokens choose k = 2 experts
# each, and the first of a pair is the better one:
#
# ```python
# chosen = [[0, 3], [3, 4], [0, 3]]
# ```
#
# The gates are a softmax over the chosen logits, and `(out ** 2).sum().backward()` runs. No value is zero or equal to another by chance.
#
# 1. How many experts get a gradient that isn't zero?
# 2. How many of the six rows of `router.weight` do?
# 3. How many rows of `router.weight` do if the softmax runs over all six logits and isn't renormalized?
# 4. Now k = 1, so that each token is sent to the first of its two experts alone, and the gate is renormalized. How many rows of
#    `router.weight` get a gradient that isn't zero?
# 5. Back to k = 2, with a capacity factor of 1.25. An expert has k·N/E times the factor seats, rounded up as in Megatron and
#    DeepSpeed (Mesh TensorFlow, for which Switch was written, rounds down). How many of the six assignments are dropped?
#
# Set `prediction` to a list of five integers.

# %% solution="moe_predict_gradients"
### BEGIN SOLUTION
prediction = [3, 3, 6, 0, 1]
### END SOLUTION

# %% check="moe_predict_gradients"
names = ["experts", "rows, chosen logits", "rows, all logits", "rows, k = 1", "dropped assignments"]
check.show({name: int(value) for name, value in zip(names, prediction, strict=True)}, secret=True)

# %% [markdown] hint="moe_predict_gradients"
# An expert has a gradient if some token multiplied its weights. Which logits does a gate depend on, in each convention?

# %% [markdown] hint="moe_predict_gradients"
# A softmax over all logits has all of them in its denominator. What is x / x?

# %% [markdown] hint="moe_predict_gradients"
# Experts 0, 3 and 4 are chosen, by 2, 3 and 1 tokens. The capacity is ⌈2 · 3 / 6 · 1.25⌉.

# %% mutant="moe_predict_gradients"
# All experts learn
# An expert that no token chose isn't part of the computation, so its gradient is zero.
prediction = [6, 3, 6, 0, 1]

# %% mutant="moe_predict_gradients"
# Only chosen rows, whatever the softmax
# A softmax over all logits has each of them in its denominator, so each row of the router gets a gradient.
prediction = [3, 3, 3, 0, 1]

# %% mutant="moe_predict_gradients"
# All rows, whatever the softmax
# With a softmax over the chosen logits, the gates don't depend on the others.
prediction = [3, 6, 6, 0, 1]

# %% mutant="moe_predict_gradients"
# The router learns with k = 1
# A single gate divided by itself is always 1, so no logit changes it.
prediction = [3, 3, 6, 2, 1]

# %% mutant="moe_predict_gradients"
# The capacity is rounded down
# 2 · 3 / 6 · 1.25 is 1.25, and the capacity is rounded up to two seats. Only the third token of expert 3 has none.
prediction = [3, 3, 6, 0, 3]


# %% [markdown] exercise="moe_route" kind="build" points=3
# ### Exercise 2 · Three routers in one
# Write the router of Switch Transformer (`"softmax"`), of Mixtral (`"renormalized"`) and of DeepSeek-V3 (`"sigmoid"`). The last two
# make the gates of a token sum to 1. A `bias`, if there is one, decides together with the score which experts are chosen, and in
# which order they are listed, but it takes no part in the gates.


# %% solution="moe_route"
def route(
    logits: torch.Tensor, k: int, rule: str, bias: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gates (N, k) and the chosen experts (N, k) of N tokens.

    Args:
        logits: (N, E); with the first two rules they may be as large as ±1000.
        k: how many experts a token is sent to.
        rule: "softmax", where the scores are the probabilities over all experts, and the gates
            are the chosen scores; "renormalized", where the chosen scores are divided by their
            sum; or "sigmoid", the same with the sigmoids of the logits as scores.
        bias: (E,), added to the scores for the choice.

    Experts are listed by what decides the choice, the highest first. Gradients reach the
    logits, never the bias.
    """
    ### BEGIN SOLUTION
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    chosen = (scores if bias is None else scores + bias).topk(k)[1]
    gates = scores.gather(1, chosen)
    if rule != "softmax":
        gates = gates / gates.sum(1, keepdim=True)
    return gates, chosen
    ### END SOLUTION


# %% check="moe_route"
generator = check.rng()
N, E = int(generator.integers(3, 6)), int(generator.integers(6, 9))
logits = torch.tensor(generator.normal(size=(N, E)).astype("float32"))
bias = torch.tensor((generator.permutation(E) * 0.3 - 0.6).astype("float32"))
shown = {"tokens, experts": [N, E]}
for rule in ("softmax", "renormalized", "sigmoid"):
    leaf, shift = logits.clone().requires_grad_(), bias.clone().requires_grad_()
    gates, chosen = route(leaf, 3, rule, shift)
    if gates.requires_grad:
        (gates * torch.arange(1.0, 4.0)).sum().backward()
    shown[f"{rule}, with a bias"] = {
        "gates": gates,
        "experts": chosen,
        "gradient": leaf.grad,
        "of the bias": shift.grad,
    }
    shown[f"{rule}, no bias"] = dict(zip(("gates", "experts"), route(logits, 2, rule), strict=True))
    shown[f"{rule}, k = 1"] = dict(zip(("gates", "experts"), route(logits[:1], 1, rule), strict=True))
    shown[f"{rule}, all experts"] = route(logits, E, rule, bias)[0]
    shown[f"{rule}, no tokens"] = [tuple(each.shape) for each in route(logits[:0], 2, rule)]
large = torch.tensor([[1000.0, 999.0, -1000.0, 0.0]])
shown["logits up to 1000"] = [route(large, 2, rule)[0] for rule in ("softmax", "renormalized")]
shown["sigmoids below 10⁻⁸"] = route(torch.tensor([[-20.0, -21.0, -19.0]]), 2, "sigmoid")[0]
shown["the arguments afterwards"] = [logits, bias]
check.show(shown, rtol=1e-4, atol=1e-6, text="The gates, the chosen experts, and the gradients of logits and bias.")

# %% [markdown] hint="moe_route"
# Compute two things separately: what decides, and what the gates are made of. In which of them does the bias occur?

# %% [markdown] hint="moe_route"
# `topk(k)[1]` of the biased scores gives the experts in the right order, and `gather(1, …)` picks their scores.

# %% [markdown] hint="moe_route"
# `scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)`, then `chosen` from `scores + bias`, then `gates =
# scores.gather(1, chosen)`, divided by their sum along dimension 1 with `keepdim=True` unless the rule is "softmax".


# %% mutant="moe_route"
# The bias scales the gates
# The gate contains the bias here. The bias is for the choice alone, so gather the scores without it.
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    gates, chosen = (scores if bias is None else scores + bias).topk(k)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)), chosen


# %% mutant="moe_route"
# Always renormalizes
# Switch Transformer's gates are the probabilities as they are. With k = 1 they would always be 1, and the router wouldn't learn.
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    chosen = (scores if bias is None else scores + bias).topk(k)[1]
    gates = scores.gather(1, chosen)
    return gates / gates.sum(1, keepdim=True), chosen


# %% mutant="moe_route"
# Never renormalizes
# The gates of a token sum to less than 1 here. Mixtral and DeepSeek-V3 divide them by their sum.
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    chosen = (scores if bias is None else scores + bias).topk(k)[1]
    return scores.gather(1, chosen), chosen


# %% mutant="moe_route"
# A softmax over the sigmoids
# The sigmoid scores are divided by their sum; they don't go through another softmax.
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    chosen = (scores if bias is None else scores + bias).topk(k)[1]
    gates = scores.gather(1, chosen)
    if rule == "renormalized":
        gates = gates / gates.sum(1, keepdim=True)
    return (gates.softmax(-1) if rule == "sigmoid" else gates), chosen


# %% mutant="moe_route"
# The bias is added to the logits
# The bias belongs to the scores, after the sigmoid or the softmax. Added to the logits, it changes other choices.
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    chosen = (logits if bias is None else logits + bias).topk(k)[1]
    gates = scores.gather(1, chosen)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)), chosen


# %% mutant="moe_route"
# Ignores the bias
# The bias decides with the score which experts are chosen. Here the choice is the scores' alone.
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    gates, chosen = scores.topk(k)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)), chosen


# %% mutant="moe_route"
# Listed by their gates
# The right experts are chosen, but they are listed by their gates. The score with the bias decides which are chosen, and it also decides their order.
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    chosen = (scores if bias is None else scores + bias).topk(k)[1]
    gates, order = scores.gather(1, chosen).sort(1, descending=True)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)), chosen.gather(1, order)


# %% mutant="moe_route"
# No gradient
# The gates have no graph, so the router gets no gradient and never learns. Only the bias is kept out of the graph.
def route(logits, k, rule, bias=None):
    logits = logits.detach()
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    chosen = (scores if bias is None else scores + bias).topk(k)[1]
    gates = scores.gather(1, chosen)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)), chosen


# %% [markdown] exercise="moe_dispatch" kind="build" points=3
# ### Exercise 3 · Dispatch and combine
# Sort the assignments of any k by expert, so that each expert's rows are neighbours, and bring the experts' outputs back. Each of N
# tokens occurs k times, so there are N · k rows, and an expert may have none. Assignment `i` of `chosen.flatten()` belongs to token
# `i // k`. Write no loop over the tokens. Rows are often bfloat16 while the gates are float32.


# %% solution="moe_dispatch"
def dispatch(
    tokens: torch.Tensor, chosen: torch.Tensor, experts: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The rows (N · k, width), the number of rows of each expert (experts,), and their order (N · k,).

    `tokens` is (N, width), `chosen` (N, k). Rows are sorted by expert, and those of an expert by
    token. `order[r]` is the index in `chosen.flatten()` of the assignment in row r. PyTorch's
    `argsort` keeps the order of equal elements only with `stable=True`.
    """
    ### BEGIN SOLUTION
    flat = chosen.flatten()
    order = flat.argsort(stable=True)
    return tokens[order // chosen.shape[1]], flat.bincount(minlength=experts), order
    ### END SOLUTION


def combine(rows: torch.Tensor, order: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
    """The sum of each token's rows, weighted with its gates: (N, out), in the dtype of the rows.

    `rows` (N · k, out) are the experts' outputs in the order of the dispatch, `gates` is (N, k).
    Gradients reach both.
    """
    ### BEGIN SOLUTION
    tokens, k = gates.shape
    weighted = (gates.flatten()[order].unsqueeze(-1) * rows).to(rows.dtype)
    return torch.zeros(tokens, rows.shape[1], dtype=rows.dtype).index_add(0, order // k, weighted)
    ### END SOLUTION


# %% check="moe_dispatch"
import os
import sys

GIVEN = (*(os.path.dirname(each.__file__) for each in (os, np, torch)), "<frozen", "<string>")


def lines_run(function, *arguments):
    """How many lines of your code run in a call; those of Python's, NumPy's and minitorch's files don't count."""
    count, before = 0, sys.gettrace()

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename.startswith(GIVEN):
            return None
        count += 1
        return trace

    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return count


generator = check.rng()
N, E, width = int(generator.integers(7, 10)), 6, 3
shown = {"tokens, experts, width": [N, E, width]}
for k in (1, 3, 4):
    tokens = torch.tensor(generator.normal(size=(N, width))).requires_grad_()
    table = np.stack([generator.permutation(E - 1) for _ in range(N)])[:, :k]  # the last expert has no token
    chosen, weights = torch.tensor(np.ascontiguousarray(table.T)).T, torch.tensor(generator.normal(size=(E, 2, width)))
    gates = torch.tensor(generator.random((N, k))).requires_grad_()
    rows, counts, order = check.intact(dispatch, tokens, chosen, E)
    done = torch.cat([part @ w.T for part, w in zip(rows.split(counts.tolist()), weights, strict=True)])
    out = check.intact(combine, done, order, gates)
    (out * torch.arange(1, 3)).sum().backward()
    shown[f"k = {k}"] = {"chosen": chosen, "rows": rows, "counts": counts, "order": order, "output": out}
    shown[f"k = {k}, gradients"] = [tokens.grad, gates.grad]
rows, counts, order = dispatch(torch.ones(0, 4), torch.zeros(0, 2, dtype=torch.int64), 3)
shown["no tokens"] = [
    tuple(rows.shape),
    counts,
    tuple(order.shape),
    tuple(combine(rows, order, torch.ones(0, 2)).shape),
]
shown["one expert"] = dispatch(torch.tensor(generator.normal(size=(2, 4))), torch.zeros(2, 1, dtype=torch.int64), 1)
alone = torch.tensor(generator.normal(size=(3, 5)).astype("float32"))
shown["combine alone"] = combine(alone, torch.tensor([2, 0, 1]), torch.tensor([[0.5, 0.25, 2.0]]))
half = torch.tensor(generator.integers(-8, 9, (6, 2))).to(torch.bfloat16)
gates = torch.tensor([[0.5, 0.25], [2.0, 0.5], [0.25, 2.0]])  # products and sums are exact in bfloat16
few, many = (torch.tensor([[0, 1], [2, 1], [1, 0]]).repeat(times, 1) for times in (1, 20))
lines = [lines_run(dispatch, torch.ones(len(each), 2), each, 3) for each in (few, many)]
shown["dispatch: more lines of code run for more tokens"] = lines[0] < lines[1]
sorted_few, sorted_many = (dispatch(torch.ones(len(each), 2), each, 3) for each in (few, many))
lines = [lines_run(combine, rows, order, torch.ones(len(rows) // 2, 2)) for rows, _, order in (sorted_few, sorted_many)]
shown["combine: more lines of code run for more tokens"] = lines[0] < lines[1]
shown["bfloat16 rows, float32 gates"] = combine(half, torch.tensor([2, 0, 5, 1, 4, 3]), gates)
check.show(shown, rtol=1e-4, atol=1e-6, text="What is dispatched, the layer's output, and its gradients.")

# %% [markdown] hint="moe_dispatch"
# The lesson sorted for k = 1. What does the sort order if you flatten `chosen` first, and which token does an assignment belong to?

# %% [markdown] hint="moe_dispatch"
# `order // k` says the token of each row, for both directions. The gates have to be brought into the rows' order before you multiply.

# %% [markdown] hint="moe_dispatch"
# `order = chosen.flatten().argsort(stable=True)`, and the rows are `tokens[order // k]`. To combine, multiply by
# `gates.flatten()[order].unsqueeze(-1)`, convert to the dtype of the rows, and add with `index_add(0, order // k, …)` onto zeros of shape
# (N, out).


# %% mutant="moe_dispatch"
# Gates in the tokens' order
# The rows are sorted by expert, but the gates are still in the order of the tokens. Index them with `order` first.
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    return tokens[order // chosen.shape[1]], chosen.flatten().bincount(minlength=experts), order


def combine(rows, order, gates):
    weighted = (gates.flatten().unsqueeze(-1) * rows).to(rows.dtype)
    return torch.zeros(len(gates), rows.shape[1], dtype=rows.dtype).index_add(0, order // gates.shape[1], weighted)


# %% mutant="moe_dispatch"
# Assigns instead of adding
# Each token has k rows, and an assignment keeps one of them. They have to be added, with `index_add`.
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    return tokens[order // chosen.shape[1]], chosen.flatten().bincount(minlength=experts), order


def combine(rows, order, gates):
    weighted = (gates.flatten()[order].unsqueeze(-1) * rows).to(rows.dtype)
    out = torch.zeros(len(gates), rows.shape[1], dtype=rows.dtype)
    out[order // gates.shape[1]] = weighted
    return out


# %% mutant="moe_dispatch"
# Forgets the gates
# The rows are added without their gates, so the router gets no gradient.
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    return tokens[order // chosen.shape[1]], chosen.flatten().bincount(minlength=experts), order


def combine(rows, order, gates):
    out = torch.zeros(len(gates), rows.shape[1], dtype=rows.dtype)
    return out.index_add(0, order // gates.shape[1], rows + 0 * gates.sum())


# %% mutant="moe_dispatch"
# Counts as many experts as were chosen
# An expert without tokens needs a count of 0, also if it is the last one: pass `minlength` to `bincount`.
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    counts = chosen.flatten().bincount()
    return tokens[order // chosen.shape[1]], torch.cat([counts, counts[: experts - len(counts)] * 0 + 1]), order


def combine(rows, order, gates):
    weighted = (gates.flatten()[order].unsqueeze(-1) * rows).to(rows.dtype)
    return torch.zeros(len(gates), rows.shape[1], dtype=rows.dtype).index_add(0, order // gates.shape[1], weighted)


# %% mutant="moe_dispatch"
# Takes the remainder
# Assignment i belongs to token i // k, since `chosen.flatten()` lists the k choices of a token in a row.
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    return tokens[order % max(len(tokens), 1)], chosen.flatten().bincount(minlength=experts), order


def combine(rows, order, gates):
    weighted = (gates.flatten()[order].unsqueeze(-1) * rows).to(rows.dtype)
    out = torch.zeros(len(gates), rows.shape[1], dtype=rows.dtype)
    return out.index_add(0, order % max(len(gates), 1), weighted)


# %% [markdown] exercise="moe_repair_seats" kind="repair" points=3
# ### Exercise 4 · The layer with seats misbehaves
# `seats` says which seat of its expert's buffer each assignment gets. First choices have priority: all tokens' first choices are
# seated before any second choice, and so on. Among choices of the same rank, earlier tokens come first. The layer that uses it runs, but
# there are three reports:
#
# - With a capacity of 1, no assignment gets a seat at all.
# - A request's answer changes with the length of the longest request in its batch.
# - When seats are short, some tokens keep their second choice while others lose their first.
#
# Fix the function.


# %% solution="moe_repair_seats"
def seats(chosen: torch.Tensor, real: torch.Tensor, experts: int, capacity: int) -> torch.Tensor:
    """The seat, from 0 to `capacity` - 1, of each assignment in its expert's buffer, else -1: (N, k).

    `chosen` (N, k) are the experts, each token's best first. `real` (N,) is False for tokens that
    only fill up the batch. These get no seat.
    """
    ### BEGIN SOLUTION
    tokens, k = chosen.shape
    flat, real = chosen.T.flatten(), real.repeat(k)
    taken = (F.one_hot(flat, experts) * real.unsqueeze(-1)).cumsum(0) - 1
    seat = taken.gather(1, flat.unsqueeze(-1)).squeeze(-1)
    return torch.where(real & (seat < capacity), seat, -1).reshape(k, tokens).T
    ### END SOLUTION
    ### BEGIN STUB
    # flat = chosen.flatten()
    # taken = F.one_hot(flat, experts).cumsum(0)
    # seat = taken.gather(1, flat.unsqueeze(-1)).squeeze(-1)
    # return torch.where(seat < capacity, seat, -1).reshape(chosen.shape)
    ### END STUB


# %% check="moe_repair_seats"
generator = check.rng()
shown = {}
for N, E, k in ((9, 5, 2), (8, 4, 3), (6, 3, 1)):
    chosen = torch.tensor(np.stack([generator.permutation(E)[:k] for _ in range(N)]))
    chosen[:4] = torch.arange(k)  # four tokens that agree, the first of which isn't real
    real = torch.tensor([False, True, True, True, True, False, True, False, True][:N])
    shown[f"k = {k}, chosen"] = chosen
    for capacity in (1, 2, 3, N):
        shown[f"k = {k}, capacity {capacity}"] = seats(chosen, real, E, capacity)
    shown[f"k = {k}, all real"] = seats(chosen, real | True, E, 2)
    shown[f"k = {k}, none real"] = seats(chosen, real & False, E, 2)
rank = torch.tensor([[0, 1], [1, 0], [0, 1]])
shown["two experts, one seat"] = seats(rank, torch.tensor([True] * 3), 2, 1)
shown["one token, two seats"] = seats(rank[:1], torch.tensor([True]), 2, 2)
shown["one expert"] = seats(rank[:, :1] * 0, torch.tensor([True, False, True]), 1, 2)
shown["capacity 0"] = seats(rank, torch.tensor([True] * 3), 2, 0)
check.show(shown, text="The seat of each assignment; -1 where it has none.")

# %% [markdown] hint="moe_repair_seats"
# Take one report after the other, and try the function on three tokens that you can seat by hand.

# %% [markdown] hint="moe_repair_seats"
# The running count of an expert includes the assignment itself. Which assignments should be counted at all, and in which order does the
# running count meet them?

# %% [markdown] hint="moe_repair_seats"
# Count from 0 by subtracting 1. Multiply the one-hot rows by `real`, repeated for each choice, before `cumsum`. Flatten `chosen.T`
# instead of `chosen`, and undo that at the end with `.reshape(k, N).T`.


# %% mutant="moe_repair_seats"
# Tokens that aren't real take seats
# Tokens that fill up the batch get no seat here, but they are still counted, so they take seats away from real ones.
def seats(chosen, real, experts, capacity):
    tokens, k = chosen.shape
    flat, real = chosen.T.flatten(), real.repeat(k)
    seat = (F.one_hot(flat, experts).cumsum(0) - 1).gather(1, flat.unsqueeze(-1)).squeeze(-1)
    return torch.where(real & (seat < capacity), seat, -1).reshape(k, tokens).T


# %% mutant="moe_repair_seats"
# Second choices before first ones
# The count runs through all choices of a token before the next token. First choices of all tokens come first.
def seats(chosen, real, experts, capacity):
    k = chosen.shape[1]
    flat, real = chosen.flatten(), real.repeat_interleave(k)
    taken = (F.one_hot(flat, experts) * real.unsqueeze(-1)).cumsum(0) - 1
    seat = taken.gather(1, flat.unsqueeze(-1)).squeeze(-1)
    return torch.where(real & (seat < capacity), seat, -1).reshape(chosen.shape)


# %% mutant="moe_repair_seats"
# Seats from 1
# The first seat is number 0. The running count includes the assignment itself, so subtract 1.
def seats(chosen, real, experts, capacity):
    tokens, k = chosen.shape
    flat, real = chosen.T.flatten(), real.repeat(k)
    taken = (F.one_hot(flat, experts) * real.unsqueeze(-1)).cumsum(0)
    seat = taken.gather(1, flat.unsqueeze(-1)).squeeze(-1)
    return torch.where(real & (seat <= capacity), seat, -1).reshape(k, tokens).T


# %% mutant="moe_repair_seats"
# One seat too many
# With seats from 0, the last one is `capacity` - 1.
def seats(chosen, real, experts, capacity):
    tokens, k = chosen.shape
    flat, real = chosen.T.flatten(), real.repeat(k)
    taken = (F.one_hot(flat, experts) * real.unsqueeze(-1)).cumsum(0) - 1
    seat = taken.gather(1, flat.unsqueeze(-1)).squeeze(-1)
    return torch.where(real & (seat <= capacity), seat, -1).reshape(k, tokens).T


# %% mutant="moe_repair_seats"
# The result is reshaped, not transposed
# The choices were flattened rank by rank, so the seats have to be transposed back; a reshape to (N, k) mixes tokens.
def seats(chosen, real, experts, capacity):
    tokens, k = chosen.shape
    flat, real = chosen.T.flatten(), real.repeat(k)
    taken = (F.one_hot(flat, experts) * real.unsqueeze(-1)).cumsum(0) - 1
    seat = taken.gather(1, flat.unsqueeze(-1)).squeeze(-1)
    return torch.where(real & (seat < capacity), seat, -1).reshape(tokens, k)


# %% [markdown] exercise="moe_measure_capacity" kind="measure" points=2
# ### Exercise 5 · The capacity of a fair router
# `chosen(tokens)` draws a new batch from a router without any preference: each of `experts` experts is equally likely, and the result is (tokens, k).
# Does such a router need a capacity factor above 1? For each batch size in `sizes`, draw 40 batches, and find the smallest of
# `factors` with which at most 1 % of all their assignments together are dropped. Factors are in percent: with 125 an expert has
# ⌈k · tokens / experts · 1.25⌉ seats.
#
# Draw the batches of the first size first, and so on. Then look at the result: which batches need more room, and why do small
# experiments overestimate the drops of a large run?


# %% setup=true
def fair_router(seed, experts, k):
    """A function chosen(tokens) that draws k different experts for each token."""
    generator = np.random.default_rng(seed)

    def chosen(tokens):
        return torch.tensor(generator.random((tokens, experts)).argsort(1)[:, :k])

    return chosen


# %% solution="moe_measure_capacity"
def smallest_factors(chosen, experts: int, k: int, sizes: list[int], factors: list[int]) -> list[int]:
    """For each batch size, the smallest factor that drops at most 1 % of the assignments of 40 batches."""
    ### BEGIN SOLUTION
    found = []
    for tokens in sizes:
        loads = torch.stack([chosen(tokens).flatten().bincount(minlength=experts) for _ in range(40)])
        for factor in sorted(factors):
            seats = -(-k * tokens * factor // (100 * experts))
            if (loads - seats).clamp(min=0).sum() <= 0.01 * loads.sum():
                found.append(factor)
                break
    return found
    ### END SOLUTION


# %% check="moe_measure_capacity"
generator = check.rng()
shown = {}
for experts, k in ((8, 2), (16, 1)):
    sizes = [int(generator.integers(low, low + 9)) for low in (30, 120, 600, 3000)]
    factors = generator.permutation(np.arange(100, 301, 5)).tolist()
    drawn = fair_router(int(generator.integers(2**31)), experts, k)
    shown[f"{experts} experts, k = {k}: sizes"] = sizes
    shown[f"{experts} experts, k = {k}"] = [int(each) for each in smallest_factors(drawn, experts, k, sizes, factors)]
nearly = torch.tensor([0, 1]).repeat(50).index_fill(0, torch.tensor([1]), 0).unsqueeze(1)  # loads 51 and 49
shown["exactly 1 % dropped"] = [int(each) for each in smallest_factors(lambda tokens: nearly, 2, 1, [100], [105, 100])]
for name, load, factors in (("up", [35, 33, 32], [110, 100]), ("exactly", [57, 43], [115, 110])):  # one seat decides
    drawn = torch.arange(len(load)).repeat_interleave(torch.tensor(load)).unsqueeze(1)
    found = smallest_factors(lambda tokens, drawn=drawn: drawn, len(load), 1, [100], factors)
    shown[f"seats rounded {name}"] = [int(each) for each in found]
check.show(shown, secret=True, text="The smallest factors, in percent, for each batch size.")

# %% [markdown] hint="moe_measure_capacity"
# For one batch, `bincount` gives the load of each expert. How many assignments are dropped at a given number of seats?

# %% [markdown] hint="moe_measure_capacity"
# An expert with load 20 and 16 seats drops 4, and an expert with load 10 drops none. Draw the 40 batches of a size once, and try all
# factors on these.

# %% [markdown] hint="moe_measure_capacity"
# `(loads - seats).clamp(min=0).sum()` counts the drops in the loads of all 40 batches. Go through `sorted(factors)`, and stop at the
# first with at most 1 % of `loads.sum()`. Write the seats with integers, `-(-k * tokens * factor // (100 * experts))`, so that rounding
# can't add one.


# %% mutant="moe_measure_capacity"
# A fair router needs no more room than its mean
# A fair router is balanced on average only. In one batch, loads spread around the mean by about its root.
def smallest_factors(chosen, experts, k, sizes, factors):
    return [100 for _ in sizes]


# %% mutant="moe_measure_capacity"
# Empty seats of one expert serve another's tokens
# Drops are counted for each expert: the empty seats of an idle one don't help a busy one.
def smallest_factors(chosen, experts, k, sizes, factors):
    found = []
    for tokens in sizes:
        loads = torch.stack([chosen(tokens).flatten().bincount(minlength=experts) for _ in range(40)])
        for factor in sorted(factors):
            seats = -(-k * tokens * factor // (100 * experts))
            if loads.sum() - 40 * experts * seats <= 0.01 * loads.sum():
                found.append(factor)
                break
    return found


# %% mutant="moe_measure_capacity"
# Nothing may be dropped
# This is the factor of the fullest expert of all batches. The task allows 1 % of the assignments to be dropped.
def smallest_factors(chosen, experts, k, sizes, factors):
    found = []
    for tokens in sizes:
        most = max(chosen(tokens).flatten().bincount(minlength=experts).max().item() for _ in range(40))
        found.append(min([each for each in factors if -(-k * tokens * each // (100 * experts)) >= most], default=300))
    return found


# %% mutant="moe_measure_capacity"
# Forgets that a token has k assignments
# The mean load is k · tokens / experts, not tokens / experts.
def smallest_factors(chosen, experts, k, sizes, factors):
    found = []
    for tokens in sizes:
        loads = torch.stack([chosen(tokens).flatten().bincount(minlength=experts) for _ in range(40)])
        seats = {each: -(-tokens * each // (100 * experts)) for each in factors}
        drops = {each: (loads - seats[each]).clamp(min=0).sum() for each in factors}
        found.append(min([each for each in factors if drops[each] <= 0.01 * loads.sum()], default=300))
    return found


# %% [markdown] exercise="moe_traffic" kind="build" points=3
# ### Exercise 6 · The traffic of a placement
# Before you rent 64 GPUs, count what a placement of the experts sends. `traffic` gives the bytes of the first all-to-all, from each rank to
# each other. With `once`, a token is sent at most once to a rank, even if several of its experts are there, and is duplicated after its
# arrival. `slowest` gives the time of an all-to-all on links that send and receive at the same time: a rank is done when it has sent and received
# everything of its own, and everybody waits for the last one.


# %% solution="moe_traffic"
def traffic(
    chosen: torch.Tensor, home: torch.Tensor, owner: torch.Tensor, ranks: int, token_bytes: int, once: bool = False
) -> torch.Tensor:
    """The bytes that each rank (row) sends to each rank (column), (ranks, ranks) of int64.

    `chosen` (N, k) are the experts of each token, `home` (N,) the rank where each token is,
    `owner` (E,) the rank of each expert, and a token's vector has `token_bytes` bytes. What stays on
    its rank isn't sent. A rank may have no token and no expert.
    """
    ### BEGIN SOLUTION
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    if once:
        vectors = vectors.clamp(max=1)
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors)
    return matrix.fill_diagonal_(0) * token_bytes
    ### END SOLUTION


def slowest(matrix: torch.Tensor, bandwidth: float) -> float:
    """The seconds of an all-to-all, from the bytes that `traffic` counts.

    Each rank sends `bandwidth` bytes per second, and receives as many at the same time.
    """
    ### BEGIN SOLUTION
    return max(matrix.sum(0).max().item(), matrix.sum(1).max().item()) / bandwidth
    ### END SOLUTION


# %% check="moe_traffic"
generator = check.rng()
N, E, k, ranks = int(generator.integers(20, 30)), 10, 4, 5
chosen = torch.tensor(np.stack([generator.permutation(E)[:k] for _ in range(N)]))
home = torch.tensor(generator.integers(0, ranks - 1, N))  # the last rank has no tokens
owner = torch.tensor(generator.permutation(np.repeat([0, 1, 3, 4], [4, 3, 2, 1])))  # and rank 2 has no experts
size = 2 * int(generator.integers(50, 90))
shown = {"tokens, bytes of each": [N, size]}
for once in (False, True):
    matrix = traffic(chosen, home, owner, ranks, size, once)
    shown[f"bytes, {once = }"] = matrix
    shown[f"microseconds, {once = }"] = 1e6 * float(slowest(matrix, 4e8))
shown["k = 1"] = traffic(chosen[:, :1], home, owner, ranks, size)
shown["one rank"] = traffic(chosen, home * 0, owner * 0, 1, size)
shown["seconds, one rank"] = float(slowest(shown["one rank"], 4e8))
shown["vectors of 1 byte"] = traffic(chosen, home, owner, ranks, 1)
shown["vectors of 4 GB and 6 bytes"] = traffic(chosen, home, owner, ranks, 2**32 + 6)
shown["no tokens"] = traffic(chosen[:0], home[:0], owner, ranks, size, True)
shown["seconds, one receives much"] = float(slowest(torch.tensor([[0, 30, 5], [0, 0, 2], [7, 41, 0]]), 10.0))
shown["seconds, one sends much"] = float(slowest(torch.tensor([[0, 30, 25], [6, 0, 2], [7, 9, 0]]), 20.0))
shown["the arguments afterwards"] = [chosen, home, owner]
check.show(shown, rtol=1e-5, text="The bytes from each rank (row) to each rank (column), and the time of the slowest.")

# %% [markdown] hint="moe_traffic"
# `owner[chosen]` says to which rank each assignment goes. How do you count the destinations of one token?

# %% [markdown] hint="moe_traffic"
# A one-hot encoding of the destinations, summed over the k choices, counts how many vectors each token sends to each rank. Then the
# tokens of one home have to be added up.

# %% [markdown] hint="moe_traffic"
# `F.one_hot(owner[chosen], ranks).sum(1)` is (N, ranks); clamp it to 1 for `once`. `index_add` it along dimension 0 at `home`, set
# the diagonal to 0 and multiply. A rank's time is the larger of its row's sum and its column's.


# %% mutant="moe_traffic"
# Counts what stays
# The diagonal is what a rank keeps for its own experts, and it isn't sent.
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    vectors = vectors.clamp(max=1) if once else vectors
    return torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors) * token_bytes


def slowest(matrix, bandwidth):
    return max(matrix.sum(0).max().item(), matrix.sum(1).max().item()) / bandwidth


# %% mutant="moe_traffic"
# Columns send
# A row of the result is the rank that sends, a column the one that receives.
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    vectors = vectors.clamp(max=1) if once else vectors
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors).fill_diagonal_(0)
    return (matrix * token_bytes).T


def slowest(matrix, bandwidth):
    return max(matrix.sum(0).max().item(), matrix.sum(1).max().item()) / bandwidth


# %% mutant="moe_traffic"
# Ignores `once`
# Two experts of a token on one rank need its vector only once, if `once` is set.
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors)
    return matrix.fill_diagonal_(0) * token_bytes


def slowest(matrix, bandwidth):
    return max(matrix.sum(0).max().item(), matrix.sum(1).max().item()) / bandwidth


# %% mutant="moe_traffic"
# Only sending takes time
# The fullest expert's rank receives more than anybody sends, and receiving takes time as well.
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    vectors = vectors.clamp(max=1) if once else vectors
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors)
    return matrix.fill_diagonal_(0) * token_bytes


def slowest(matrix, bandwidth):
    return matrix.sum(1).max().item() / bandwidth


# %% mutant="moe_traffic"
# The mean instead of the slowest
# Everybody waits for the last rank, so the time is that of the fullest one, not the mean.
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    vectors = vectors.clamp(max=1) if once else vectors
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors)
    return matrix.fill_diagonal_(0) * token_bytes


def slowest(matrix, bandwidth):
    return matrix.sum().item() / len(matrix) / bandwidth
