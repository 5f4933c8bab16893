# %% [markdown]
# # Mixture of experts
# After this chapter you will have built a layer of experts that runs each expert once, watched its router collapse on three seeds, and
# repaired it in two ways. You will be able to say what such a layer saves, which tokens it drops, what it sends between GPUs, and
# why another user's request can change your answer.

# %% hidden=true
import math

import numpy as np

import minitorch as torch
from course import lesson, pictures

mytorch = lesson.mytorch("24c")  # your library as of this chapter, using your code wherever you've solved the exercises
distributed = mytorch.distributed

# %% [markdown] tags=["short"]
# ## Dropped tokens: one request, two answers
# The layer below has three experts, each of them a single matrix. A *router* scores them for each token and sends the token to the best
# one, and each expert has seats for two tokens. Nothing is random, and nothing is normalized over the batch. If your token runs alone,
# and then behind five similar ones from other users, does its output change?

# %% tags=["proof-batch"]
torch.manual_seed(0)
router, experts = torch.randn(3, 4), torch.randn(3, 4, 4)


def with_seats(tokens, seats=2):
    out, taken = torch.zeros_like(tokens), [0, 0, 0]
    gates, chosen = (tokens @ router.T).softmax(-1).max(-1)
    for row, expert in enumerate(chosen.tolist()):
        if taken[expert] < seats:
            out[row] = gates[row] * (experts[expert] @ tokens[row])
            taken[expert] += 1
    return out


token = torch.randn(1, 4)
others = token + 0.1 * torch.randn(5, 4)
print("alone:      ", with_seats(token)[0].numpy().round(2))
print("last of six:", with_seats(torch.cat([others, token]))[5].numpy().round(2))

# %% [markdown] tags=["short"]
# The output became zero because the other tokens chose the same expert and were there first. In a model, the residual connection
# would carry your token past the layer, but its answer would differ. By the end of this chapter you will know why models were trained
# like that, and what replaced it.
#
# ## The smallest mixture of experts
# Now remove the seats, and let each token choose its k = 2 best experts. The layer adds up their outputs, weighted by
# *gates* from the router's softmax:


# %% tags=["proof-toy"]
def one_by_one(tokens, k=2):
    out = torch.zeros_like(tokens)
    for row, token in enumerate(tokens):
        gates, chosen = (router @ token).softmax(-1).topk(k)
        for gate, expert in zip(gates / gates.sum(), chosen.tolist(), strict=True):
            out[row] += gate * (experts[expert] @ token)
    return out


tokens = torch.randn(6, 4)
scores = (tokens @ router.T).softmax(-1)
kept = torch.zeros(6, 3).scatter(1, scores.topk(2)[1], 1.0) > 0
gates = torch.where(kept, scores, 0.0)
gates = gates / gates.sum(1, keepdim=True)
print("tokens for each expert:", kept.sum(0).tolist(), "of", 6 * 2)
pictures.grids(
    ("probabilities", scores.numpy().round(2), kept.numpy()), "→", ("gates", gates.numpy().round(2), kept.numpy())
)

# %% [markdown] tags=["short"]
# A row is a token, a column is an expert, and the chosen experts are marked. All weights have to be in memory, although
# a token multiplies only those of its two experts, so models report two sizes, *total* and *active* parameters. This
# cell counts both for the experts of two published models, where each expert is a SwiGLU with three matrices.
# DeepSeek-V3's 257 include a shared one, which runs on every token:

# %% tags=["proof-parameters"]
models = {"Mixtral 8x7B": (32, 4096, 14336, 8, 2), "DeepSeek-V3": (58, 7168, 2048, 257, 9)}
for name, (layers, width, hidden, stored, used) in models.items():
    one = 3 * width * hidden * layers / 1e9  # an expert in every layer
    print(f"{name:12} {stored * one:5.1f} billion in experts, {used * one:4.1f} of them active")

# %% [markdown]
# With attention and embeddings, Mixtral has 47 billion parameters, of which 13 are active, and DeepSeek-V3 has 671, of which 37 are.
# Newer models tend to be sparser still: gpt-oss-120b runs 4 of its 128 experts, 5 of 117 billion parameters. "8x7B" isn't 56, because
# the eight share everything but their MLPs.
#
# **Interview · What does a mixture of experts save, and what does it cost?**
#
# - *Thirty seconds:* A router sends each token to k of the experts, so the FLOPs per token are those of k experts, while the parameters
#   are those of all of them. It saves compute at a given quality, but not memory, because all experts have to be held.
# - *Longer:* Mixtral 8x7B computes like a 13B model and occupies memory like a 47B model. Optimizer states and gradients count the total
#   as well. It also costs traffic between GPUs and a router that has to be kept in balance.
# - *They ask next:* Is decoding faster, too? For one sequence, yes, because only the chosen experts' weights are read.
#   In a large batch nearly every expert is chosen by some token, so nearly all weights are read.
# - *The trap:* The active parameters don't tell the memory, and "8x7B" isn't eight whole models.
# - *Proof:* `proof-parameters`, `proof-toy`.
#
# ### Softmax before or after top-k
# You have to know which of three conventions for the gates a checkpoint was trained with. Switch Transformer keeps the probabilities
# as they are, Mixtral applies the softmax to the chosen logits only, and others take the softmax over all and *renormalize* the chosen ones:

# %% tags=["proof-gates"]
logits = torch.tensor([2.0, 1.0, 0.5, -1.0])
for k in (2, 1):
    best, chosen = logits.softmax(-1).topk(k)
    kinds = {"as they are": best, "renormalized": best / best.sum(), "softmax after": logits[chosen].softmax(-1)}
    print(f"{k = }:", ", ".join(f"{name} {gates.numpy().round(2)}" for name, gates in kinds.items()))

# %% [markdown]
# The last two agree for every input, up to rounding, because both divide by the sum of the chosen exponentials. Without
# renormalization the gates sum to less than 1, so the layer's output is smaller. With k = 1 the renormalized gate is
# always 1, which has a consequence that the next section shows.
#
# ## The router's gradient
# Choosing is a step function, so topk passes no gradient to the choice itself. The router learns through the gates, because they
# multiply the outputs. Here four experts output one number each, and the cell prints the gradients of the logits and of those numbers:


# %% tags=["proof-router-gradient"]
def gradients(k, renormalize):
    leaf, output = logits.clone().requires_grad_(), torch.tensor([1.0, -1.0, 2.0, 3.0]).requires_grad_()
    gates, chosen = leaf.softmax(-1).topk(k)
    if renormalize:
        gates = gates / gates.sum()
    (gates * output[chosen]).sum().backward()
    return leaf.grad.numpy().round(2) + 0.0, output.grad.numpy().round(2)


for k, renormalize in ((2, False), (2, True), (1, False), (1, True)):
    of_logits, of_experts = gradients(k, renormalize)
    print(f"{k = }, {renormalize = !s:5}  logits {of_logits}  experts {of_experts}")

# %% [markdown]
# A token gives no gradient to the *experts* that it didn't choose. Unchosen *logits* do get one if the softmax runs over all experts, because
# they stand in its denominator, whereas renormalizing removes them. With k = 1 and renormalization the gate is constant, so the router
# gets no gradient from the model's loss and never learns from it, and nothing raises an error.
#
# **Interview · How does the router learn if top-k has no gradient?**
#
# - *Thirty seconds:* The choice has no gradient, but the gate does: it multiplies the chosen expert's output. If that output points
#   downhill, the gate is raised, and with it the logit. Experts that weren't chosen get no gradient from this token.
# - *Longer:* The gradient of a gate is the dot product of the output's gradient and the expert's output. With a softmax over all
#   experts, unchosen logits still move, because probabilities compete; with a softmax over the chosen ones they don't.
# - *They ask next:* How does an unchosen expert ever get tokens? Through other tokens, noise on the logits, a balance loss or a bias.
# - *The trap:* If you renormalize with k = 1, or forget to multiply by the gate, the router stays as it was initialized.
# - *Proof:* `proof-router-gradient`, `proof-gates`.
#
# ## Dispatch and combine
# The toy multiplies one token at a time, which a GPU would do at a fraction of its speed. Loop over the experts
# instead, so that each of them runs once, on all tokens that chose it:


# %% tags=["proof-dispatch"]
def by_expert(tokens, k=2):
    best, chosen = (tokens @ router.T).topk(k)
    gates, out = best.softmax(-1), torch.zeros_like(tokens)
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        out = out.index_add(0, token, gates[token, choice, None] * (tokens[token] @ expert.T))
    return out


off = (by_expert(tokens) - one_by_one(tokens)).abs().max()
print(f"{len(experts)} matrix multiplications instead of {6 * 2}, off by {off:.4f}")

# %% [markdown]
# Fast implementations go a step further. They sort the tokens by expert, so that each expert's rows are neighbours, and hand all of
# them to one grouped matrix multiplication. Here is the sort for k = 1:

# %% tags=["proof-sort"]
chosen = torch.tensor([2, 0, 1, 2, 0, 2])
order = chosen.argsort(stable=True)
back = order.argsort()
print("counts", chosen.bincount(minlength=3).tolist(), "· order", order.tolist(), "· back", back.tolist())
pictures.grids(
    ("expert of each token", chosen[None].numpy()),
    "↓",
    ("sorted", chosen[order][None].numpy()),
    arrows=[((0, (0, row)), (1, (0, position))) for position, row in enumerate(order.tolist())],
)

# %% [markdown]
# `order` says which token stands in each row, and indexing with its inverse, `back`, restores the tokens' order. With k > 1 there are
# k rows for each token, whose outputs have to be *added*. An assignment would keep one of them:

# %% tags=["proof-combine"]
rows, token = torch.tensor([1.0, 10.0, 2.0]), torch.tensor([0, 0, 1])
assigned = torch.zeros(2)
assigned[token] += rows
print("out[token] += rows:", assigned.tolist(), "· index_add:", torch.zeros(2).index_add(0, token, rows).tolist())

# %% [markdown]
# You write both directions for any k in exercise 3.
#
# ## Routing collapse
# Nothing so far makes the router use all of its experts. The data below have eight clusters, each with a linear map of its own, so
# eight experts could fit one each. All inputs share a large common component, which favours the same experts for every token at
# the start. `how` says which remedy is used. Both are explained below; look first at the run with none:


# %%
def train(seed, how, experts=8, k=2, width=8, steps=300, rows=256):
    rng = np.random.default_rng(100 + seed)
    centres, maps = rng.normal(size=(8, width)), rng.normal(size=(8, width, width)) / width**0.5
    torch.manual_seed(seed)
    router = (0.1 * torch.randn(width, experts).double()).requires_grad_()  # float64, so that all machines agree
    matrices = (0.1 * torch.randn(experts, width, width).double()).requires_grad_()
    optimizer, bias = torch.optim.Adam([router, matrices], lr=0.01), torch.zeros(experts).double()
    loads, losses = [], []
    for _ in range(steps):
        cluster = rng.integers(0, 8, rows)
        x = centres[cluster] + 0.3 * rng.normal(size=(rows, width)) + 2
        x, y = torch.tensor(x), torch.tensor(np.einsum("nd,ndh->nh", x, maps[cluster]))
        logits = x @ router
        scores = logits.sigmoid() if how == "bias" else logits.softmax(-1)
        chosen = (scores + bias).topk(k)[1]
        best = scores.gather(1, chosen)
        gates = torch.zeros_like(scores).scatter(1, chosen, best / best.sum(1, keepdim=True))
        error = ((torch.einsum("ne,nd,edh->nh", gates, x, matrices) - y) ** 2).mean()
        load = chosen.flatten().bincount(minlength=experts).double() / (rows * k)
        balance = experts * (load * logits.softmax(-1).mean(0)).sum()
        optimizer.zero_grad()
        (error + 0.1 * balance if how == "balance loss" else error).backward()
        optimizer.step()
        if how == "bias":
            bias += 0.01 * (1 / experts - load).sign()
        loads.append(load.numpy()), losses.append(error.item())
    return np.array(loads), losses


# %% tags=["proof-collapse"]
runs = {how: [train(seed, how) for seed in range(3)] for how in ("no remedy", "balance loss", "bias")}
for how, run in runs.items():
    ends = [loads[-50:].mean(0) for loads, _ in run]
    errors = [np.mean(losses[-50:]) for _, losses in run]
    print(f"{how:12} experts in use: {[int((end > 0.02).sum()) for end in ends]} of 8,", end=" ")
    print(f"busiest {[f'{end.max():.2f}' for end in ends]}, error {[f'{error:.2f}' for error in errors]}")

# %%
panels = pictures.panels(1, 3, 8, 2.8, sharey=True)
colours, names = [*pictures.COLOURS.values(), "#999999", "#555555"], [f"expert {number}" for number in range(8)]
for panel, (how, run) in zip(panels, runs.items(), strict=True):
    panel.stackplot(range(300), run[0][0].T, colors=colours, labels=names)
    panel.set(title=how, xlabel="step", ylim=(0, 1), xlim=(0, 299))
panels[0].set_ylabel("share of the assignments"), panels[2].legend(reverse=True, loc=(1.05, 0.1))
about = "With no remedy, two experts soon have all tokens, and five have some at the end; with either, all eight do."
pictures.publish(panels[0], alt=about)

# %% [markdown]
# Each band is the share of one expert, on seed 0. Without a remedy, two to four experts have nearly all tokens after
# five steps, depending on the seed. At the end three or four of the eight still get at most 2 % of them.
#
# The reason is a feedback loop. An expert that starts a little ahead gets more tokens, so it learns more and its gate grows: the rich get
# richer. An expert without tokens has no gradient, so it can only come back if the others lose tokens to it. It costs memory and
# contributes nothing, and on all three seeds the error is higher than with either remedy.
#
# ### The load-balancing loss
# Let $f_i$ be the share of the assignments that expert i got, and $P_i$ its mean probability over the batch. The **balance loss** is
# $E \sum_i f_i P_i$, times a small coefficient. It is 1 for a uniform router and approaches E/k if the probabilities concentrate on the
# same k experts:

# %% tags=["proof-balance"]
for name, spread in (("uniform", 0.001), ("skewed", 1.0), ("collapsed", 9.0)):
    leaf = (spread * torch.tensor([3.0, 2.0, 1.0, 0.0]).expand(5, 4)).clone().requires_grad_()
    share = leaf.topk(2)[1].flatten().bincount(minlength=4) / 10
    loss = 4 * (share * leaf.softmax(-1).mean(0)).sum()
    loss.backward()
    print(f"{name:9} f {share.numpy().round(2)}, loss {loss:.2f}, gradient {leaf.grad[0].numpy().round(2) + 0.0}")

# %% [markdown]
# Only $P$ has a gradient, because $f$ is a count. Each probability is pushed down in proportion to its expert's share, so busy experts
# lose tokens and idle ones gain them. As the last line shows, the gradient vanishes once the router is certain, so balance has to be kept
# from the start.
#
# ### A common myth: "The balance loss has its minimum at 1"
# A uniform router gives 1, but shares and probabilities need not agree. Two tokens that barely prefer expert 0, and one that strongly
# prefers expert 1, are enough:

# %% tags=["proof-below-one"]
probabilities = torch.tensor([[0.51, 0.49], [0.51, 0.49], [0.0, 1.0]])
share = probabilities.argmax(1).bincount(minlength=2) / 3
print("f", share.numpy().round(2), "P", probabilities.mean(0).numpy().round(2), end=", ")
print(f"loss {2 * (share * probabilities.mean(0)).sum():.2f}")

# %% [markdown]
# **Interview · Why does routing collapse, and what does the balance loss multiply?**
#
# - *Thirty seconds:* An expert that gets more tokens trains more, becomes better, and is chosen more, while the others get no gradient.
#   The balance loss multiplies each expert's share of the tokens by its mean probability, sums over the experts, and multiplies by
#   their number. Only the probability has a gradient, so busy experts are pushed down.
# - *Longer:* The share is divided by N·k, or the loss grows with k. Padding must not count. Losses are taken over a micro-batch, a whole
#   batch, or one sequence, and the smaller the group, the less the experts can specialize. A *z-loss*, the mean squared log-sum-exp of the
#   logits, is often added to keep the logits small, but it balances nothing.
# - *They ask next:* How do you notice a collapse? I log the load of each expert in each layer, not the loss alone, which still falls.
# - *The trap:* The balance loss isn't part of the training loss that you report; and once computed, it has to be added.
# - *Proof:* `proof-collapse`, `proof-balance`, `proof-below-one`.
#
# ### Balancing by a bias, without an auxiliary loss
# The balance loss pulls at the same weights as the language model's loss. DeepSeek-V3 avoids most of that: its router scores with a
# sigmoid, and a **bias** for each expert is added *for the choice only*. After each step the bias of an overloaded expert is lowered by
# a fixed amount, and that of an underloaded one is raised, without any gradient:

# %% tags=["proof-bias"]
scores, bias = torch.tensor([1.0, 0.5, 0.0]).sigmoid(), torch.tensor([-0.2, 0.0, 0.1])
for name, used in (("without bias", scores), ("with bias", scores + bias)):
    chosen = used.topk(2)[1]
    best = scores[chosen]
    print(f"{name:12} chooses {chosen.tolist()}, gates {(best / best.sum()).numpy().round(2)}")

# %% [markdown]
# With the bias another expert is chosen, yet the gates come from the scores alone. In the runs above, both remedies use all
# eight experts on all three seeds. The bias gives the most even load, although its fixed steps make the load oscillate. The errors of
# the two overlap between seeds, so these runs don't say which one is better.
#
# **Interview · How does balancing without an auxiliary loss differ from a balance loss?**
#
# - *Thirty seconds:* The balance loss adds a gradient that competes with the language model's. The bias only changes which experts are
#   chosen: it isn't part of the gate, and it is updated by a rule after each step, so the model's loss keeps its gradient.
# - *Longer:* The rule is bias += rate · sign(mean load − load). DeepSeek-V3 combines it with a very small loss for each sequence
#   ([Wang et al. 2024](https://arxiv.org/abs/2408.15664)). The sigmoid scores experts independently instead of making them compete.
# - *They ask next:* Over what is the load counted? Over the whole batch, so the counts need an all-reduce over the data-parallel ranks.
# - *The trap:* If score plus bias is the gate, the bias scales the outputs.
# - *Proof:* `proof-bias`, `proof-collapse`.
#
# ## Expert capacity and the capacity factor
# Fixed shapes make it easy to compute all experts in one batched matrix multiplication of shape (E, seats, width). Each expert gets
# **capacity** = ⌈k · N / E · factor⌉ seats. Tokens beyond it are *dropped* from the expert, and unused seats are computed anyway.
# Move the slider to trade one waste for the other:

# %% tags=["proof-capacity"]
torch.manual_seed(0)
load = (torch.randn(512, 8) + torch.linspace(1, -1, 8)).topk(2)[1].flatten().bincount(minlength=8).numpy()


def waste(factor):
    seats = math.ceil(2 * 512 / 8 * factor)
    served = np.minimum(load, seats)
    return seats, served, 1 - served.sum() / load.sum(), 1 - served.sum() / (8 * seats)


def draw(factor):
    seats, served, dropped, _ = waste(factor)
    ax = pictures.axes(5.5, 3)
    ax.bar(range(8), np.full(8, seats), color="none", edgecolor=pictures.COLOURS["weight"], label="seats")
    ax.bar(range(8), served, color=pictures.COLOURS["data"], label="served")
    ax.bar(range(8), load - served, bottom=served, color=pictures.COLOURS["result"], hatch="//", label="dropped")
    ax.set(xlabel="expert", ylabel="assignments", ylim=(0, 290), title=f"capacity factor {factor}"), ax.legend()
    return pictures.publish(ax, alt=f"Factor {factor}: {seats} seats for each expert, {dropped:.0%} dropped.")


for factor in (0.5, 1.0, 1.25, 2.0):
    seats, _, dropped, empty = waste(factor)
    print(f"factor {factor:4}: {seats:3} seats, {dropped:3.0%} dropped, {empty:3.0%} of the seats empty")
pictures.slider(draw, start={"factor": 1.0}, factor=[0.5, 1.0, 1.25, 2.0])

# %% [markdown]
# **Interview · What is a capacity factor, and what happens to a dropped token?**
#
# - *Thirty seconds:* Each expert gets a buffer of k·N/E·factor tokens, so that shapes are fixed. A token beyond it is skipped by that
#   expert, so its output there is 0 and the residual connection carries it past the layer.
# - *Longer:* A factor of 1 fits perfect balance only; 1.25 is common. *Dropless* layers use grouped matrix multiplications
#   over sorted rows instead, and drop nothing ([MegaBlocks](https://arxiv.org/abs/2211.15841)).
# - *They ask next:* Who is dropped? The tokens at the end of the batch, unless tokens are ranked by gate. With *expert choice*, each expert
#   picks its tokens instead, so the load is even by construction; but a token's experts then depend on later tokens, which leaks the future
#   into a causal model. A server can use another factor or none, although it then computes a different function.
# - *The trap:* A dropped token's hidden state isn't overwritten by zero. Zero is added to it.
# - *Proof:* `proof-capacity`, `proof-batch`.
#
# ### Batch dependence without capacity
# A dropless layer has no seats to compete for, but the other tokens decide how many rows each expert multiplies. Kernels choose
# their order of summation by such sizes, and floating-point sums depend on the order. Elsewhere that moves only a last digit, whereas a
# router amplifies it when two experts are nearly tied, because the choice jumps:

# %% tags=["proof-order"]
a, b, c = torch.tensor([1e8, 1.0, -1e8])
print("two orders of one sum:", ((a + b) + c).item(), "and", ((a + c) + b).item())
token, nearly = torch.ones(4), torch.tensor([[0.5, 0.5 + 1e-7, 0.0], [0.5 + 1e-7, 0.5, 0.0]])
for pair in nearly:
    expert = pair.argmax().item()
    output = (experts[expert] @ token).numpy().round(2)
    print(f"logits {pair[0]:.4f} and {pair[1]:.4f}: expert {expert}, output", output)

# %% [markdown]
# **Interview · Why can a batch change a mixture of experts' answer for one request?**
#
# - *Thirty seconds:* With a capacity, other tokens can take the seats, so mine is dropped. Without one, the number of rows
#   per expert still changes the order of sums, and a last digit can flip the router's choice.
# - *Longer:* A flip happens between nearly equal gates, and it matters most when these are large and the two experts' outputs differ.
#   All later layers then see another hidden state. Batch-invariant kernels fix the order of sums at some cost in speed.
# - *They ask next:* Why does it hurt reinforcement learning? The sampler and the trainer batch differently, so a token's log-probability
#   jumps where they chose different experts. Replaying the sampler's choices in the trainer (*router replay*) avoids it.
# - *The trap:* Temperature 0 guarantees nothing. The same batch may give the same answer, but your request is in another batch each time.
# - *Proof:* `proof-batch`, `proof-order`.
#
# ## Shared and fine-grained experts
# Split each expert into four of a quarter of the hidden width, and choose four times as many. Apart from the router's, parameters and
# FLOPs stay the same, while the number of combinations explodes:

# %% tags=["proof-combinations"]
for split in (1, 2, 4):
    stored, used = 8 * split, 2 * split
    print(f"{used} of {stored:2} experts of width 14336/{split}: {math.comb(stored, used):,} combinations")

# %% [markdown]
# A **shared expert** runs on every token without being routed, so what all tokens need can be learned there once instead of in each
# routed expert.
#
# **Interview · Why do models use shared and fine-grained experts?**
#
# - *Thirty seconds:* Many small experts give far more combinations at the same FLOPs, so each can specialize. A shared expert serves
#   every token and holds the common knowledge, which otherwise each routed expert would learn again.
# - *Longer:* DeepSeek-V3 has 256 routed experts, of which 8 are chosen, and one shared one
#   ([DeepSeekMoE](https://arxiv.org/abs/2401.06066)).
# - *They ask next:* What limits the splitting? Small matrices use a GPU badly, the router grows, and each token is sent to more places.
# - *The trap:* The shared expert isn't one of the k that the router chooses.
# - *Proof:* `proof-combinations`, `proof-parameters`.
#
# ## Milestone: expert parallelism
# **Expert parallelism** puts different experts on different GPUs, while each GPU also has tokens of its own. An **all-to-all** brings
# each token to its expert: every rank sends one piece to every other rank. A second one brings the outputs back. The four simulated
# ranks of [chapter 23](23_multi_gpu.ipynb) hold two of eight experts each:


# %% tags=["proof-parallel"]
def all_to_all(pieces):  # piece n goes to rank n
    rank = distributed.get_rank()
    for other in range(4):
        if other != rank:
            distributed.send(pieces[other], other)
    return [pieces[other] if other == rank else distributed.received(other) for other in range(4)]


def on_rank(rank):
    mine = batch[6 * rank : 6 * rank + 6]
    gates, chosen = (mine @ routing.T).softmax(-1).max(-1)
    places = [(chosen // 2 == other).nonzero()[:, 0] for other in range(4)]
    asked = mytorch.cat(all_to_all([chosen[rows_there] for rows_there in places]))
    rows = mytorch.cat(arrived := all_to_all([mine[rows_there] for rows_there in places]))
    rows = (weights[asked] @ rows.unsqueeze(-1)).squeeze(-1)
    out = mytorch.zeros(6, 16)
    for rows_there, done in zip(places, all_to_all(rows.split([len(part) for part in arrived])), strict=True):
        out[rows_there] = done
    return gates.unsqueeze(-1) * out, len(rows), distributed.bytes_sent()


mytorch.manual_seed(1)
batch, routing, weights = mytorch.randn(24, 16), mytorch.randn(8, 16), mytorch.randn(8, 16, 16)
outs, computed, sent = zip(*distributed.spawn(on_rank, nprocs=4), strict=True)
gates, chosen = (batch @ routing.T).softmax(-1).max(-1)
alone = gates.unsqueeze(-1) * (weights[chosen] @ batch.unsqueeze(-1)).squeeze(-1)
away = (chosen // 2 != mytorch.arange(24) // 6).sum().item()
print(f"off from one device by {(mytorch.cat(outs) - alone).abs().max().item():.4f}")
print(f"{away} of 24 tokens leave their rank; bytes sent {sum(sent)} = {away} * (16 * 4 + 16 * 4 + 8)")
print("rows computed by each rank:", list(computed))

# %% [markdown]
# The result equals that of a single device. Each token that leaves its rank costs its vector there, its output back, and 8 bytes for the
# number of its expert. The ranks compute different numbers of rows, and since the second all-to-all needs all of them, every rank waits
# for the fullest one.
#
# **Interview · What communication does expert parallelism add?**
#
# - *Thirty seconds:* Each MoE layer has two all-to-alls in the forward pass, one that dispatches the tokens and one that combines
#   the outputs, and two more in the backward pass. A rank sends about k vectors per token each way, except those that stay.
# - *Longer:* The time is set by the fullest expert and the slowest link. So experts stay inside fast links where possible, DeepSeek-V3
#   limits each token to four nodes, and the traffic is overlapped with the computation of another micro-batch.
# - *They ask next:* What does a server do about hot experts? It keeps copies of them on several GPUs, chosen by the measured load, so that
#   the fullest rank gets fewer rows.
# - *They ask next:* Why not tensor parallelism for the experts? Its slices of small experts are thin, and its traffic doesn't shrink with
#   the experts that are chosen.
# - *The trap:* Averages hide the problem. Experts that are balanced on average still leave a step in which one rank has twice the rows.
# - *Proof:* `proof-parallel`; you count bytes for any placement in exercise 6.
#
# ## The real one
# minitorch and PyTorch have no MoE layer, but PyTorch has the matrix multiplication that a dropless one needs. `rows` are sorted by
# expert, `weights` is (E, in, out), and `offs` says where each expert's rows end:
#
# ```python
# F.grouped_mm(rows, weights, offs=counts.cumsum(0).to(torch.int32))
# ```
#
# On PyTorch 2.13, groups of 2, 0 and 5 rows gave exactly what separate matrix multiplications gave, on the CPU in
# float32 and bfloat16. The documentation promises bfloat16 on recent GPUs only. The rows of each matrix have to start
# at multiples of 16 bytes, even on the CPU: with three columns in float32, the call raises "strides should be multiple
# of 16 bytes". Libraries add what surrounds it: fused routing, the permutations, and all-to-alls that overlap with
# computation.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. With top-1 routing and renormalized gates, what gradient does the router get from the loss? None, because the gate is always 1.
# 2. What is Switch's balance loss of a uniform router with 64 experts? One.
# 3. What is the capacity of each of 8 experts for 1,000 tokens at k = 2 and a capacity factor of 1.25? 313.
# 4. How many all-to-alls does an MoE layer need in one training step? Four, or six if checkpointing repeats the forward pass.
# 5. Does a router's selection bias change the gate of a chosen expert? Only if it changes which experts are chosen beside it.

# %% tags=["proof-rapid-fire"]
print("1.", gradients(1, True)[0])
print("2.", sum(64 * share * (1 / 64) for share in [1 / 64] * 64))
print("3.", math.ceil(2 * 1000 / 8 * 1.25))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A mixture of experts saves FLOPs per token, not memory: all experts stay resident.
# 2. Renormalizing the chosen probabilities equals a softmax over the chosen logits.
# 3. The router learns through the gates. Unchosen experts get no gradient.
# 4. With k = 1, don't renormalize.
# 5. Sort by expert, run each expert once, and add the outputs with `index_add`.
# 6. Routing collapses because experts that are chosen improve; log the load of each expert.
# 7. The balance loss is E · Σ share · mean probability, and only the probability has a gradient.
# 8. A bias changes the choice, not the gate, and is updated by a rule.
# 9. Capacity is ⌈k · N / E · factor⌉; a dropped token keeps only its residual, so other requests can change yours.
# 10. Expert parallelism costs two all-to-alls a layer in each pass, and waits for the fullest rank.
#
# ## You try
# In [the exercises](../exercises/24c_mixture_of_experts.ipynb) you predict gradients, write the router, the dispatch and the combine,
# repair the seats of a layer with padding, measure a capacity, and count the traffic of a placement.
# [Chapter 24d](24d_from_sft_to_grpo.ipynb) turns a base model into one that answers.
