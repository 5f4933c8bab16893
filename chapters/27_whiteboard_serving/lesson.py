# %% [markdown]
# # LLM serving at the whiteboard
# In this chapter you build a language-model server that fits on a whiteboard: it decides in each step which requests
# run, keeps their KV caches in blocks, turns text into tokens, and chooses new ones. Every schedule serves the same
# trace of requests, and each request must get the text that the model would have written for it alone.

# %% [markdown] tags=["short"]
# ## Static and continuous batching
# Twelve requests arrive at once, and the server runs four at a time. Most answers are only a few tokens long, while three have
# about twenty. The toy model is a table, so a pass costs nothing, and we count *steps* instead: in each step, every running
# request gets one token. How many steps does the server save if a request may start as soon as another one ends?

# %% tags=["proof-continuous"]
from dataclasses import dataclass, field

import numpy as np

from course import pictures

TABLE = np.random.default_rng(0).integers(0, 10, size=(10, 10))
LENGTHS = [3, 24, 4, 5, 2, 20, 3, 4, 6, 2, 18, 3]


@dataclass
class Request:
    name: int
    output: int
    text: list = field(default_factory=lambda: [1, 2, 3])
    first: int = 0

    @property
    def is_done(self):
        return len(self.text) == 3 + self.output


def trace():
    return [Request(name, output, [name % 10, 2, 3]) for name, output in enumerate(LENGTHS)]


def serve(requests, memory, need, static=False):
    """Run all requests, each taking need(request) of the memory; who ran in each step, and how many were preempted."""
    waiting, running, steps, preempted = list(requests), [], [], 0
    while waiting or running:
        while sum(map(need, running)) > memory:
            waiting.insert(0, running.pop())
            preempted += 1
        may_join = not (static and running)
        while may_join and waiting and sum(map(need, running)) + need(waiting[0]) <= memory:
            running.append(waiting.pop(0))
        for request in running:
            request.first = request.first or len(steps) + 1
            request.text.append(int(TABLE[request.text[-2], request.text[-1]]))
        steps.append([request.name for request in running])
        running = [request for request in running if not request.is_done]
    return steps, preempted


alone = trace()
for single in alone:
    serve([single], 1, lambda request: 1)
runs = {}
for name, static in (("static", True), ("continuous", False)):
    requests = trace()
    runs[name], _ = serve(requests, 4, lambda request: 1, static)
    same = sum(a.text == b.text for a, b in zip(requests, alone, strict=True))
    rate = sum(LENGTHS) / len(runs[name])
    print(f"{name:10} {len(runs[name])} steps, {rate:.1f} tokens a step, {same} of 12 texts as alone")


# %%
def draw(batching):
    ax = pictures.axes(7, 3)
    for step, names in enumerate(runs[batching]):
        ax.barh(names, 1, left=step, color=pictures.COLOURS["data"])
    ax.set(xlabel="step", ylabel="request", xlim=(0, 62), title=f"{batching}: {len(runs[batching])} steps")
    return pictures.publish(
        ax, alt=f"Which request runs in which step, {batching} batching, {len(runs[batching])} steps."
    )


pictures.slider(draw, start={"batching": "static"}, batching=["static", "continuous"])

# %% [markdown] tags=["short"]
# With *static batching*, a batch takes as long as its longest answer, and the slots of the short ones sit empty. *Continuous
# batching* decides anew in each step which requests run, so a free slot is filled at once. The texts stay the same here, because
# each request attends only to its own cache; on a GPU, the batch can move the last digits.
#
# **Interview · What is continuous batching, and what does it gain over static batching?**
#
# - *Thirty seconds:* With static batching, the whole batch runs until its longest answer ends, so short requests leave their
#   slots empty while new ones wait. With continuous batching, requests join and leave after every step, so differences in length
#   cost hardly anything.
# - *Longer:* It works because every request decodes one token per step, whatever its length, so the scheduler can decide between
#   any two steps (*iteration-level scheduling*). The attention kernel has to handle sequences of different lengths in one batch.
# - *They ask next:* When is there nothing to gain? When all requests arrive together and all answers are equally long.
# - *The trap:* It doesn't make each request faster. It raises throughput and shortens the wait, but a step of a full batch takes at least
#   as long as a step of a single request.
# - *Proof:* `proof-continuous`.

# %% [markdown]
# ## KV cache memory: blocks, preemption, prefixes
# ### PagedAttention: a KV cache in blocks
# So far, four requests ran at once, but in a real server the memory for the KV cache decides. Suppose it holds 64 tokens.
# Since nobody can tell how long an answer will get, one server reserves the longest possible cache, here 32 tokens. The
# other takes *blocks* of four tokens as it needs them, through a table like that of virtual memory:


# %% tags=["proof-pages"]
def blocks(request):
    return -(-(len(request.text) + 1) // 4)


for name, memory, need in (("reserved", 64, lambda request: 32), ("paged", 16, blocks)):
    requests = trace()
    runs[name], preempted = serve(requests, memory, need)
    same = sum(a.text == b.text for a, b in zip(requests, alone, strict=True))
    together = np.mean([len(names) for names in runs[name]])
    print(
        f"{name:9} {len(runs[name])} steps, {together:.1f} requests at once, {preempted} preempted, as alone: {same} of 12"
    )

# %% [markdown]
# **Interview · What problem does PagedAttention solve?**
#
# - *Thirty seconds:* It avoids two kinds of waste: cache memory that is reserved but never used, and fragmentation between
#   reservations. The cache is divided into blocks of, say, 16 tokens, and each sequence has a table of its blocks. Less than one
#   block per sequence is then wasted, so more sequences run at once.
# - *Longer:* Blocks can also be shared. Samples of the same prompt and common prefixes refer to the same blocks, which are
#   reference-counted, and a shared block is copied before it is written to.
# - *They ask next:* What does it cost? The attention kernel needs one more lookup per block, and its reads are contiguous only
#   within a block.
# - *The trap:* It doesn't make each token's cache smaller.
# - *Proof:* `proof-pages`.
#
# ### When the cache is full: preemption
# In the same memory, the paged server ran 3.9 requests at once instead of 1.7. But it admits requests without knowing
# how long they will get, so it can run out of blocks midway. It then *preempts* the newest request: its blocks are
# freed, the tokens that were sent are kept, and when it comes back, prompt and tokens run through the model once more.
# The cell serves the trace with all of the memory and with half of it. The longest answer alone takes 24 steps.
# Recomputing is free here, because we count steps; exercise 8 adds a token budget.

# %% tags=["proof-preemption"]
for memory in (16, 8):
    requests = trace()
    steps, preempted = serve(requests, memory, blocks)
    same = sum(a.text == b.text for a, b in zip(requests, alone, strict=True))
    most = max(requests, key=lambda request: request.first)
    print(
        f"{memory:2} blocks: {len(steps)} steps, {preempted} preempted, {same} of 12 texts as alone, all have started by step {most.first}"
    )

# %% [markdown]
# **Interview · Your server's KV cache is full. What do you do?**
#
# - *Thirty seconds:* I preempt the newest request: I free its blocks, put it at the front of the queue, and recompute its cache
#   when there is room. The tokens that it has written are kept, because the user has already seen them. The oldest request always
#   makes progress if it fits into the memory alone, so none starves.
# - *Longer:* The alternative is to swap the blocks out to CPU memory. Recomputing costs one prefill, which is
#   compute-bound, while swapping moves the cache over PCIe twice.
# - *They ask next:* How do you avoid preemption? I admit fewer requests, evict unused prefix blocks first, quantize the cache, or
#   reject early when the queue is long.
# - *The trap:* With sampling, a victim that restarts from its prompt alone writes something other than what was sent.
# - *Proof:* `proof-preemption`.
#
# ### Prefix caching
# Requests with a common system prompt can share its blocks. Keys and values depend on all earlier tokens, so a block may be
# reused only if *everything* from the start of the text is equal. A block's key is therefore a hash of its tokens and of the
# preceding block's key.

# %% tags=["proof-prefix"]
system = list(range(100, 122))
prompts = {"same system prompt": [*system, 1, 2, 3], "date in front": [5, *system, 1, 2, 3]}
prompts |= {"one token changed in the middle": [*system[:10], 7, *system[11:], 1, 2, 3]}
cached = [*system, 9, 9, 9]
for name, prompt in prompts.items():
    equal = [a == b for a, b in zip(prompt, cached, strict=False)]
    leading = equal.index(False)
    print(f"{name:32} {sum(equal):2} equal positions, {leading:2} from the start, {leading // 4} blocks of 4 reused")

# %% [markdown]
# **Interview · What is the key of a prefix cache, and what causes a miss?**
#
# - *Thirty seconds:* A block's key is a hash of its tokens and its parent's key, so it stands for everything from the start. A
#   single different token early on, such as a date in the system prompt, therefore causes misses from there on. vLLM doesn't
#   cache partly filled blocks.
# - *Longer:* The first key also covers everything else that changes keys and values, such as the adapter or images, and the
#   tenant as well if timing mustn't reveal what others have sent.
# - *They ask next:* To which of several replicas do you send a request? To one with a long cached prefix, unless its queue is too
#   long.
# - *They ask next:* What do you run if the whole prompt is cached? The last token, because its logits aren't in the cache.
# - *The trap:* The block's own tokens aren't enough for the hash: their keys and values depend on what came before.
# - *Proof:* `proof-prefix`.
#
# ## Chunked prefill: prompts and decoding in one step
# A step takes about as long as the slower of two things: reading all weights, and computing all tokens. A prompt of
# 4,000 tokens in a single step therefore stalls every request that is decoding. *Chunked prefill* reads the prompt in
# pieces alongside the decoding, which sets two latencies against each other: the prompt's *time to first token* (TTFT)
# and the others' *time per output token* (TPOT).


# %% tags=["proof-chunks"]
def step_ms(tokens):  # a model with 8 billion parameters in 16 bits, on 500 TFLOP/s and 3.3 TB/s
    return max(16e9 / 3.3e9, 2 * 8e9 * tokens / 500e9)


decoding, chunks = 32, [32, 64, 128, 256, 512, 1000, 2000, 4000]
stalls = [step_ms(chunk + decoding) for chunk in chunks]
firsts = [-(-4000 // chunk) * step_ms(chunk + decoding) for chunk in chunks]
for chunk, stall, first in list(zip(chunks, stalls, firsts, strict=True))[::3]:
    print(f"chunks of {chunk:4}: a step takes {stall:5.1f} ms, first token after {first:3.0f} ms")
lines = {"time per output token": stalls, "time to first token": firsts}
about = "TPOT grows from 5 to 129 ms with the chunk; TTFT falls from 606 to 129 ms."
pictures.curves(lines, chunks, xlabel="chunk (tokens)", ylabel="ms", log="xy", alt=about)

# %% [markdown]
# **Interview · What is chunked prefill, and what does it trade off?**
#
# - *Thirty seconds:* It splits a long prompt over several steps that decode other requests, too. That trades the
#   prompt's time to first token (TTFT) against the others' time per output token (TPOT). Small chunks keep the gaps
#   short, but the prompt needs more steps, and each of them reads all weights again.
# - *Longer:* The sweet spot is near the ridge, where a step has just enough tokens to keep the GPU busy.
# - *They ask next:* How do you choose the size? I start from the limit on TPOT and take the largest chunk whose step stays below
#   it, measured with the full context. The throughput that respects all such limits is called *goodput*.
# - *The trap:* A later chunk attends to all earlier ones, which shifts its causal mask.
# - *Proof:* `proof-chunks`.
#
# **Interview · Why do servers run prefill and decode on different GPUs?**
#
# - *Thirty seconds:* Prefill is usually compute-bound and decode bandwidth-bound, and each has its own target: TTFT for the one,
#   TPOT for the other. On separate GPUs, neither disturbs the other, and each side gets its own batch size, parallelism and
#   number of GPUs. The price is that the cache has to be sent over the network.
# - *Longer:* For a model with 80 layers and 8 KV heads of 128 in 16 bits, 2,000 tokens of cache are 0.66 GB. That takes
#   about 13 ms at 50 GB/s and can be sent layer by layer during the prefill.
# - *They ask next:* When isn't it worth it? With short prompts, a slow network or few GPUs, where chunked prefill does as well.
# - *The trap:* The ratio of the two pools can't be fixed, because it has to follow the lengths of prompts and answers.
# - *Proof:* `proof-chunks`, `proof-sizing`.
#
# ## Speculative decoding: when does it make a server slower?
# [Chapter 24b](24b_llama.ipynb) proves that speculative decoding keeps the distribution. Whether it saves time depends on the
# batch: verifying four drafts runs five tokens for each sequence, which is nearly free only as long as reading the weights bounds
# the step. Here, each drafted token costs 5 % of a step:


# %% tags=["proof-speculation"]
def gain(rate, drafts, cost, batch, ridge=300):
    tokens = (1 - rate ** (drafts + 1)) / (1 - rate)
    return tokens * max(1, batch / ridge) / (max(1, batch * (drafts + 1) / ridge) + drafts * cost)


batches = [2**power for power in range(10)]
lines = {f"accepts {rate}": [gain(rate, 4, 0.05, batch) for batch in batches] for rate in (0.8, 0.6, 0.3)}
print({name: [f"{line[at]:.2f}" for at in (0, 6, 9)] for name, line in lines.items()}, "at batch 1, 64 and 512")
print(f"a draft that costs half a step, batch 1: {gain(0.6, 4, 0.5, 1):.2f}")
about = "All lines are flat up to batch 60 and fall below 1 by batch 512."
pictures.curves(lines, batches, xlabel="sequences in the batch", ylabel="speedup with 4 drafts", log="x", alt=about)

# %% [markdown]
# **Interview · When does speculative decoding make a server slower?**
#
# - *Thirty seconds:* When there are no spare FLOPs, as at large batches; when drafts are rarely accepted; or when drafting itself is
#   slow. With k drafts, each accepted with probability a, a pass yields (1 − aᵏ⁺¹)/(1 − a) tokens on average,
#   and it has to take less time than that many plain steps.
# - *Longer:* With long contexts, reading the caches keeps even large batches bandwidth-bound, so speculation still helps.
# - *They ask next:* How many drafts do you use? Servers adapt the number to acceptance rate and batch, down to zero.
# - *They ask next:* Where do the drafts come from? From a small model, from the prompt itself (n-gram lookup), or from a head on the
#   target's own hidden states, as in EAGLE and multi-token prediction.
# - *The trap:* The speedup at batch 1 isn't that of a server with a hundred sequences.
# - *Proof:* `proof-speculation`.
#
# ## Sizing a service
# How many GPUs does a model of 70 billion parameters need for 20 requests per second, with 2,000 prompt and 300 output tokens
# each? There are four bounds:

# %% tags=["proof-sizing"]
weights, cache = 140e9, 2 * 80 * 8 * 128 * 2  # bytes; the cache is per token
print(
    f"1. weights: {weights / 1e9:.0f} GB; cache: {cache / 1024:.0f} KiB a token, {2300 * cache / 1e9:.2f} GB a request"
)
print(f"2. prefill: {20 * 2000 * 2 * 70e9 / (990e12 * 0.5):.1f} GPUs at half of their peak")
prefill = 2 * 70e9 * 2000 / (8 * 990e12 * 0.5)  # seconds on a replica of eight GPUs
for replicas in (1, 2):
    rate = 20 / replicas  # requests a second for each replica
    busy = rate * prefill
    if busy >= 1:
        print(f"{replicas} × 8 GPUs: too few, because prefills take {busy:.1f} seconds per second")
        continue
    in_flight = 1.0
    for _ in range(50):  # Little's law: as many as arrive while one is in flight
        token = (weights + in_flight * 2300 * cache) / (8 * 3.35e12) / (1 - busy)
        in_flight = rate * (prefill + 300 * token)
    used = (weights + in_flight * 2300 * cache) / (8 * 80e9)
    print(
        f"{replicas} × 8 GPUs: 3. {1000 * prefill:.0f} ms of prefill, {1000 * token:.0f} ms a token; "
        f"4. {replicas * in_flight:.0f} requests at once, memory {used:.0%} full"
    )

# %% [markdown]
# **Interview · How many GPUs for 20 requests/s of 2,000 + 300 tokens on a 70B model?**
#
# - *Thirty seconds:* The weights take 140 GB, so I need at least two 80 GB cards to hold them. But prefill is 20 · 2,000 tokens a
#   second at 140 GFLOP each, or 5.6 PFLOP/s, which takes at least twelve H100s at half of their peak. With decoding on top, I
#   would take two replicas of eight, and then check memory by Little's law.
# - *Longer:* The number of requests at once is the arrival rate times the time that each of them stays. With 0.75 GB of cache for
#   each, they fit easily here. With 30,000-token prompts the cache would be the bound.
# - *They ask next:* What does this estimate ignore? Bursts of requests, a lost node, the spread of lengths, and
#   communication.
# - *The trap:* It isn't enough that the weights fit.
# - *Proof:* `proof-sizing`; exercise 11 lets you search.
#
# **Interview · Quantize weights, activations or the cache: what speeds up which phase?**
#
# - *Thirty seconds:* 8-bit weights halve the weight bytes that a decoding step reads, so they help at small batches. If the
#   activations have 8 bits as well, hardware with such units does twice the FLOP/s, which helps prefill. An 8-bit cache takes
#   half the bytes, so twice as many requests fit, and long contexts read less.
# - *Longer:* If only the weights have 8 bits, they are converted back before the matmul, so prefill gains nothing.
# - *They ask next:* Which one is the riskiest? Activations, because single channels have outliers.
# - *The trap:* "8 bits are twice as fast." That depends on what bounds the phase.
# - *Proof:* `proof-quantize`.

# %% tags=["proof-quantize"]
phases = {"decode, 1 × 2,000": (1, 2000), "decode, 128 × 2,000": (128, 256_000), "prefill of 8,000": (8000, 0)}
options = {"16 bits": (2, 1, 1), "weights": (1, 1, 1), "and activations": (1, 2, 1), "cache": (2, 1, 0.5)}
for phase, (tokens, kept) in phases.items():
    ms = {
        name: max(8e9 * size + kept * 131072 * share, 16e9 * tokens * 3.3e12 / (500e12 * speed)) / 3.3e9
        for name, (size, speed, share) in options.items()
    }
    print(f"{phase:20}", {name: f"{milliseconds:.1f} ms" for name, milliseconds in ms.items()})

# %% [markdown]
# ## Tokenization and sampling
# ### Byte-pair encoding (BPE)
# A tokenizer starts with the 256 bytes. Training counts all pairs of neighbours, merges the most frequent pair into a new token,
# and repeats. With letters as the new tokens, you can do it by hand:

# %% tags=["proof-merges"]
from collections import Counter
from itertools import pairwise

text = "low lower lowest slow"
for new in "XYZ":
    (a, b), count = Counter(pairwise(text)).most_common(1)[0]
    text = text.replace(a + b, new)
    print(f"{new} = {a + b!r}, {count} times: {text!r}")
merges, by_rank = ["bc", "ab"], "abc"  # as they were learned
for pair in merges:
    by_rank = by_rank.replace(pair, f"[{pair}]")
print("'abc' by rank:", by_rank, "· longest match begins with:", [pair for pair in merges if "abc".startswith(pair)])

# %% [markdown]
# In the third step, ' Y' and 'Ye' tie at two; this cell takes the one that it met first, while the exercise takes the smallest
# pair. The merge attaches a space to the word that follows it. Most tokenizers allow that, but they first split the text into
# such pieces, so that no merge joins two words, as in `of the`.
#
# A new text is encoded by the same merges. Where two overlap, such as `ab` and `bc` in `abc`, the rank decides, whereas
# greedy longest match is a different algorithm (WordPiece).
#
# **Interview · How does BPE encode a new text, and why isn't it the longest match?**
#
# - *Thirty seconds:* It splits the text into bytes and applies the merges in the order in which they were learned. The longest
#   vocabulary entry may need a merge that comes later, after an earlier one has already taken one of its letters.
# - *Longer:* Training counted pairs in texts that the earlier merges had already changed, so only the same order gives the model the
#   pieces on which it was trained.
# - *They ask next:* Why bytes? Every text consists of them, so there is no unknown token.
# - *The trap:* If prompt and answer are tokenized separately, a merge across the seam is lost.
# - *Proof:* `proof-merges`; you write it in exercise 1.
#
# ### Penalties and min-p
# Before a token is drawn, *processors* change the logits. A *frequency* penalty is subtracted from a token's logit for each time
# that the token was written, a *presence* penalty only once. A *repetition* penalty also counts the prompt's tokens, and it
# scales the logit instead; the next cell shows why that isn't simply a division:

# %% tags=["proof-penalty"]
logits = np.array([2.0, -2.0, 1.0, 0.5])


def softmax(x):
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


divided = logits / np.array([1.5, 1.5, 1, 1])
correct = np.where(logits > 0, logits / 1.5, logits * 1.5)[:2]
print("before   ", softmax(logits).round(3)[:2])
print("divided  ", softmax(divided).round(3)[:2], "· both rules:", softmax(np.r_[correct, logits[2:]]).round(3)[:2])
for temperature in (1, 3):
    shares = softmax(logits / temperature)
    print(
        f"temperature {temperature}: {(shares >= 0.3 * shares.max()).sum()} of 4 tokens have at least 0.3 times the largest share"
    )

# %% [markdown]
# Division moves the second logit, −2, closer to 0, which makes its token *more* likely, so negative logits are multiplied
# instead. **Min-p** keeps the tokens whose probability is at least `min_p` times the largest one. The temperature
# changes what it keeps, so the order of the processors matters.
#
# ### Constrained decoding
# To force an output format, compile the format into an automaton over characters. In each state, a mask forbids every
# token that can't be read from there. All its characters have to fit, and the token must not lead into a *dead end*,
# from which no further tokens can complete a match. The automaton here accepts a number, optionally followed by a point
# and one digit:

# %% tags=["proof-mask"]
moves = {0: {"7": 1}, 1: {"7": 1, ".": 2}, 2: {"7": 3}, 3: {}}  # 1 and 3 accept


def read(state, token):
    for character in token:
        state = moves[state].get(character) if state is not None else None
    return state


for state in moves:
    print(f"state {state}:", {token: read(state, token) for token in ("7", ".", "7.", ".7", "77", ".7.")})

# %% [markdown]
# None means that the token can't be read. The tokens `7.` and `.` are allowed because the token `7` leads on from state 2 to the
# end. If the vocabulary had no token `7`, they would have to be masked, because state 2 would then be a dead end.
#
# **Interview · How do you force valid JSON?**
#
# - *Thirty seconds:* I compile the grammar to an automaton, and in each state I mask the tokens that leave it. A token may span several
#   symbols, so all its characters have to fit. A state without an allowed token is a dead end, so tokens that lead there are masked too.
# - *Longer:* JSON nests, so the automaton needs a stack. Most masks don't depend on the stack and can be computed ahead.
# - *They ask next:* What can still go wrong? The limit on tokens may cut the text off, and valid JSON can hold wrong values.
# - *The trap:* It isn't enough to check a token's first character.
# - *Proof:* `proof-mask`.

# %% [markdown]
# ## A common myth: "Temperature 0 is deterministic"
# At temperature 0 the largest logit wins, but a logit is a sum, and floating-point sums depend on the order in which a kernel
# adds. When a batch is too small to fill a GPU, many libraries pick a *split-K* kernel, which adds the pieces of each sum in
# parallel. Compute 64 requests one at a time, with each sum in 16 pieces, and then in one batch. Without rounding, two of the
# tokens would tie:


# %% tags=["proof-order", "last digits: the order of adding is what this cell shows"]
def logits_of(rows, weights, pieces):  # rows @ weights, where each sum is added up in so many pieces
    terms = np.split(rows[:, :, None] * weights, pieces, axis=1)
    return sum(np.cumsum(term, axis=1)[:, -1] for term in terms)


rng = np.random.default_rng(0)
rows, weights = rng.normal(size=(64, 256)).astype("float32"), rng.normal(size=(256, 50)).astype("float32")
rows[:, 1::2], weights[::2, 1], weights[1::2, 1] = rows[:, ::2], weights[1::2, 0], weights[::2, 0]  # tokens 0 and 1 tie
one_by_one = np.concatenate([logits_of(rows[[request]], weights, 16) for request in range(64)])
for kernel, pieces in (("batch in one piece", 1), ("batch in 16 pieces", 16)):
    batch = logits_of(rows, weights, pieces)
    flips = (one_by_one[:, :2].argmax(-1) != batch[:, :2].argmax(-1)).sum()
    print(f"{kernel}: {np.mean(one_by_one != batch):.0%} of the logits differ, and {flips} of 64 chosen tokens")

# %% [markdown]
# If the sums are split in the same way for every batch size, which is called *batch invariance*, nothing changes.
# Otherwise, most logits differ in their last digits, and where two nearly tie, another token may win, after which the
# texts diverge. PyTorch's matmuls differ in the same way, on CPUs too.
#
# **Interview · Why can one prompt get two different answers at temperature 0?**
#
# - *Thirty seconds:* The order of summation depends on the batch. Other requests change the batch size, so the library
#   picks another kernel or split, and the logits differ in the last digits. Where two logits nearly tie, the argmax can
#   flip, and everything after it differs.
# - *Longer:* Each kernel is typically deterministic for a fixed shape; what varies is the shape. *Batch-invariant* kernels fix
#   the order of reduction for every batch size, at some cost in speed.
# - *They ask next:* Why does it matter? Tests can't be reproduced, and in reinforcement learning the sampler's probabilities disagree
#   with the trainer's.
# - *The trap:* Don't blame the seed. Nothing is drawn at temperature 0.
# - *Proof:* `proof-order`.
#
# ## Milestone: the same trace in 24 steps instead of 62
# Here are all schedules of this chapter. The first two may run four requests at once and the last two have 64 tokens of
# cache, so compare within each pair: 62 steps against 29, and 54 against 24. All four wrote the same 94 tokens:

# %% tags=["proof-milestone"]
print(
    {name: f"{len(steps)} steps, {sum(map(len, steps)) / len(steps):.1f} tokens a step" for name, steps in runs.items()}
)
lines = {name: np.cumsum([len(names) for names in steps]) for name, steps in runs.items()}
lines = {name: [*line, *[94] * (62 - len(line))] for name, line in lines.items()}  # a schedule that is done stays there
about = "Reserved memory and static batching need the most steps for 94 tokens; paged blocks need the fewest."
pictures.curves(lines, range(1, 63), xlabel="step", ylabel="tokens written", alt=about)

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Which merges come first when BPE encodes a text? The ones that were learned first.
# 2. How many bytes of cache does a token take with 80 layers and 8 KV heads of 128, in 16 bits? 320 KiB.
# 3. How many cache blocks of 16 do 33 tokens take? Three, and the last holds one token.
# 4. If five requests a second stay for four seconds each, how many are there at once? Twenty, by Little's law.
# 5. If three draft tokens are accepted with 0.5 each, how many does the target's pass yield? 1.9.

# %% tags=["proof-rapid-fire"]
print("1.", "lower".replace("lo", "X").replace("Xw", "Y"), "· 2.", 2 * 80 * 8 * 128 * 2 / 1024, "· 3.", -(-33 // 16))
print("4.", 5 * 4, "· 5.", round((1 - 0.5**4) / (1 - 0.5), 1))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Continuous batching decides in each step which requests run.
# 2. Paged blocks waste less than a block per sequence, and shared blocks are copied before they are written to.
# 3. When the cache is full, preempt the newest request, and keep what was sent.
# 4. A prefix hit needs equal tokens from the start, and leaves at least one token to run.
# 5. Chunked prefill trades the TTFT of one request against the TPOT of the others.
# 6. Speculation pays only while FLOPs are spare.
# 7. Size by weights, FLOPs for prefill, bandwidth for decode, and Little's law for the cache.
# 8. BPE encodes by the rank of the merges, and bytes make every text encodable.
# 9. A repetition penalty divides positive logits and multiplies negative ones; min-p's order with the temperature matters.
# 10. A token is allowed if all its characters fit and the end can still be reached.
#
# ## You try
# In [thirteen exercises](../exercises/27_whiteboard_serving.ipynb) you write BPE, logit processors, beam search, constrained decoding,
# the block manager, attention over pages, the prefix cache and the scheduler, find a chunk size, repair speculative decoding, design
# a service, compute where batching stops helping, and decode without computing anything twice.

# %% [markdown]
# ## If you have time
# ### Beam search
# Greedy decoding takes the most likely token in each step, whereas *beam search* keeps the `width` best prefixes. Since
# another token never raises the sum of log probabilities, finished texts are compared by that sum divided by a power of their
# length:

# %% tags=["proof-beam"]
tree = {"": {"a": 0.4, "b": 0.3, ".": 0.3}, "a": {"c": 0.4, "d": 0.3, ".": 0.3}, "b": {"e": 0.9, ".": 0.1}}
tree |= {"ac": {".": 1.0}, "ad": {".": 1.0}, "be": {".": 1.0}}
texts = {}
for first, share in tree[""].items():
    for second, more in tree.get(first, {"": 1.0}).items():
        last = "." if first + second in tree else ""
        texts[first + second + last] = share * more
for alpha in (0, 1):
    best = max(texts, key=lambda text: np.log(texts[text]) / len(text) ** alpha)
    print(
        f"alpha {alpha}: best {best!r}",
        {text: f"{np.log(texts[text]) / len(text) ** alpha:.2f}" for text in ("ac.", "be.", ".")},
    )

# %% [markdown]
# With alpha = 0, the empty text wins, because more tokens can't raise the sum; with alpha = 1, `be.` wins. Greedy decoding starts
# with `a` and ends at `ac.`, while a beam of two also keeps `b` and finds `be.`. In each step, sequences that end are *finished*
# and leave the beam, and the search goes on until no live prefix can still win.
