# %% [markdown]
# # Exercises · DPO, PPO and GRPO at the whiteboard
# Twelve whiteboard problems and one prediction follow the order in which a language model is aligned, and at the end you test an
# assistant's code. In an interview each of the problems gets the minutes below its task, without an IDE: say the shapes aloud, write the
# function, then name its cost. Nothing here adds to `mytorch`. Your answers may use the tensors, operations and losses of `torch`, which is
# minitorch. What they cost, and what an interviewer asks next, is folded below each check; open it once your answer passes.
#
# Many checks enumerate. The policy below writes answers of at most four tokens over a vocabulary of six, so that all 781 answers can be listed, and expectations are exact
# sums.

# %% setup=true
from __future__ import annotations

import itertools
import math

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch.nn import functional as F

# %% setup=true
END, VOCABULARY, LONGEST = 0, 6, 4


def every_answer():
    """All 781 answers (781, 4), and where they have tokens. An answer stops with END, or after four tokens."""
    words, rows = range(1, VOCABULARY), []
    for length in range(LONGEST):
        rows += [[*each, END] + [END] * (LONGEST - 1 - length) for each in itertools.product(words, repeat=length)]
    rows += [list(each) for each in itertools.product(words, repeat=LONGEST)]
    ids = torch.tensor(rows)
    return ids, (ids == END).cumsum(1) - (ids == END).int() == 0


def token_logprobs(table, ids):
    """The log-probability of each token (N, 4) under a policy that sees only the token before: table (6, 6)."""
    before = torch.cat([torch.zeros_like(ids[:, :1]), ids[:, :-1]], 1)
    return table.log_softmax(-1)[before, ids]


def drawn(generator, *shape, scale=1.0, shift=0.0):
    """Normal numbers as a float32 tensor."""
    return torch.tensor((generator.normal(size=shape) * scale + shift).astype("float32"))


# %% [markdown] exercise="align_sft" kind="build" points=3
# ### Exercise 1 · The SFT loss
# Supervised fine-tuning trains on the assistant's tokens alone. Several conversations are packed into each row, and the end
# token has the same id as the padding. Give the mean negative log-likelihood over all trained tokens *of the batch*. The end
# token of an answer is trained; a prompt, padding, and the first token of a conversation, which has nothing before it, are not.


# %% solution="align_sft"
def sft_loss(logits: torch.Tensor, ids: torch.Tensor, answer: torch.Tensor, document: torch.Tensor) -> torch.Tensor:
    """The mean loss, a scalar; 0 if no token is trained.

    `logits` (B, T, V) at position t predict the token at t + 1. `ids` (B, T) are the tokens. `answer` (B, T) is
    True at the assistant's tokens, the end token included; what it says at padding means nothing. `document` (B, T)
    numbers the conversations of a row, 1, 2, …, and is 0 at padding.
    """
    ### BEGIN SOLUTION
    kept = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -(logprobs * kept).sum() / kept.sum().clamp(min=1)
    ### END SOLUTION


# %% check="align_sft"
generator = check.rng()
B, T, V = 3, 11, 7
#             prompt, answer, end · an answer without a prompt, end · padding
answer = (
    torch.tensor(
        [[0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1], [0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1], [1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0]]
    )
    > 0
)
document = torch.tensor(
    [[1, 1, 1, 1, 1, 2, 2, 2, 0, 0, 0], [1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], [1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 0]]
)
ids = torch.tensor(generator.integers(1, V, (B, T)))
last = torch.cat([document[:, 1:] != document[:, :-1], torch.ones(B, 1) > 0], 1)
ids = ids.masked_fill(last | (document == 0), 0)
logits = drawn(generator, B, T, V)


def tried(logits, *rest):
    logits = logits.clone().requires_grad_()
    loss = sft_loss(logits, *rest)
    refused, grad = check.error(loss.backward), logits.grad
    learn = None if grad is None else (grad != 0).any(-1)
    return {"loss": loss, "error of its backward": refused, "positions that learn": learn, "gradient": grad}


check.show(
    {
        "ids": ids,
        "packed": tried(logits, ids, answer, document),
        "one row": tried(logits[1:2, :8], ids[1:2, :8], answer[1:2, :8], document[1:2, :8]),
        "one conversation a row": tried(logits, ids, answer, torch.ones_like(document)),
        "nothing to train": tried(logits, ids, answer & (document == 0), document),
        "logits up to 1000": sft_loss(logits * 1000, ids, answer, document),
    },
    rtol=1e-4,
    atol=1e-5,
    text="The loss, its gradient, and the positions whose logits get one.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(B·T·V) time. The log-probabilities take B·T·V numbers, which for V = 150,000 is often the largest tensor of the
# training step; fused losses compute them a slice of rows at a time.
#
# 1. *Why a mean over the batch's tokens, and not a mean of each row's mean?* "A mean of means divides each token by the trained
#    tokens of its own row, so a short answer's tokens count more. With gradient accumulation the same happens between
#    micro-batches, unless you divide by the number of tokens of all of them."
# 2. *What else does packing need?* "Attention must not cross the seam, and positions should restart, so I pass the document ids
#    to the attention kernel."
# 3. *What happens if the end token isn't trained?* "The model answers correctly and then never stops, because nothing raised
#    the probability of ending."
#
# </details>

# %% [markdown] hint="align_sft"
# Which logits predict the token at position 5? Every mask that talks about tokens has to be shifted in the same way as the
# tokens.

# %% [markdown] hint="align_sft"
# A token is trained if it belongs to the assistant, is no padding, and stands in the same conversation as the token before it.

# %% [markdown] hint="align_sft"
# `kept = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)`; gather the log-softmax of `logits[:,
# :-1]` at `ids[:, 1:]`, and divide the sum by `kept.sum()`, which may be 0.


# %% mutant="align_sft"
# The mask isn't shifted
# `answer` says which *tokens* are the assistant's. The logits one position earlier predict them, so the mask moves with the
# tokens; otherwise the first token of each answer is not trained.
def sft_loss(logits, ids, answer, document):
    kept = answer[:, :-1] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -(logprobs * kept).sum() / kept.sum().clamp(min=1)


# %% mutant="align_sft"
# Predicts the token itself
# The logits at position t predict the token at t + 1. Compared with the token at t, the model only learns to copy its input.
def sft_loss(logits, ids, answer, document):
    kept = answer & (document > 0)
    kept[:, 0] = False
    logprobs = logits.log_softmax(-1).gather(-1, ids[..., None]).squeeze(-1)
    return -(logprobs * kept).sum() / kept.sum().clamp(min=1)


# %% mutant="align_sft"
# A mean of means
# Each row's loss is divided by that row's own count here, so the tokens of short answers weigh more. One sum is divided by one
# count.
def sft_loss(logits, ids, answer, document):
    kept = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -((logprobs * kept).sum(1) / kept.sum(1).clamp(min=1)).mean()


# %% mutant="align_sft"
# Predicts over the seam
# The last token of one conversation doesn't predict the first token of the next: they only share a row.
def sft_loss(logits, ids, answer, document):
    kept = answer[:, 1:] & (document[:, 1:] > 0)
    logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -(logprobs * kept).sum() / kept.sum().clamp(min=1)


# %% mutant="align_sft"
# The end is never learned
# Masking every token whose id is the padding's also masks the end tokens, because they share the id. `document` tells them
# apart.
def sft_loss(logits, ids, answer, document):
    kept = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (ids[:, 1:] != 0)
    logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -(logprobs * kept).sum() / kept.sum().clamp(min=1)


# %% mutant="align_sft"
# Trains the prompt
# Only the assistant's tokens are trained. With the prompt in the loss, the model also learns to write questions.
def sft_loss(logits, ids, answer, document):
    kept = (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -(logprobs * kept).sum() / kept.sum().clamp(min=1)


# %% mutant="align_sft"
# Padding is trained
# `answer` means nothing at padding, where `document` is 0. Neighbours with the same number there are no conversation.
def sft_loss(logits, ids, answer, document):
    kept = answer[:, 1:] & (document[:, 1:] == document[:, :-1])
    logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -(logprobs * kept).sum() / kept.sum().clamp(min=1)


# %% mutant="align_sft"
# Counts the first tokens
# The sum is right, but the count has the first tokens of conversations, too, and these aren't trained. Count what is in the sum.
def sft_loss(logits, ids, answer, document):
    kept = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -(logprobs * kept).sum() / (answer[:, 1:] & (document[:, 1:] > 0)).sum().clamp(min=1)


# %% mutant="align_sft"
# Counts all of the answers
# The sum is right, but it is divided by all of the assistant's tokens, and the first of a row or a conversation isn't trained. Count
# what is in the sum.
def sft_loss(logits, ids, answer, document):
    kept = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -(logprobs * kept).sum() / (answer & (document > 0)).sum().clamp(min=1)


# %% mutant="align_sft"
# 0 / 0
# A batch whose answers were all cut off has no trained token. Its loss is 0, not nan, which would end the run.
def sft_loss(logits, ids, answer, document):
    kept = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -(logprobs * kept).sum() / kept.sum()


# %% mutant="align_sft"
# The log of a softmax
# A probability below 1e-38 is 0 in float32, and its logarithm is -inf. `log_softmax` subtracts in log space instead.
def sft_loss(logits, ids, answer, document):
    kept = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logprobs = logits[:, :-1].softmax(-1).log().gather(-1, ids[:, 1:, None]).squeeze(-1)
    return -(logprobs * kept).sum() / kept.sum().clamp(min=1)


# %% [markdown] exercise="align_repair_scores" kind="repair" points=3
# ### Exercise 2 · The log-probabilities of the answers are off
# DPO, PPO and GRPO all start from the log-probability of an answer given its prompt, which is a sum over the answer's tokens. A
# colleague's function has five reports against it:
#
# - An answer that the model has memorized scores far below 0.
# - The logits at the prompt's last token predict the answer's first token, but the score doesn't depend on them.
# - The same answer scores closer to 0 in a batch with a longer neighbour.
# - Long answers score −inf.
# - With padding on the left, tokens of the prompt are in the score.
#
# Repair `answer_logprobs`.


# %% solution="align_repair_scores"
def answer_logprobs(
    logits: torch.Tensor, ids: torch.Tensor, real: torch.Tensor, prompt_lengths: torch.Tensor
) -> torch.Tensor:
    """The log-probability of each row's answer (B,).

    `logits` (B, T, V) at position t predict the token at t + 1. `real` (B, T) is False at padding, which stands on
    one side of a row, left or right; the logits there may be infinite. `prompt_lengths` (B,), each at least 1, count the real tokens of the prompt;
    the answer is the rest, and may be empty.
    """
    ### BEGIN SOLUTION
    place = real.cumsum(1) - 1
    kept = (real & (place >= prompt_lengths[:, None]))[:, 1:]
    taken = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return taken.masked_fill(~kept, 0.0).sum(1)
    ### END SOLUTION
    ### BEGIN STUB
    # place = torch.arange(ids.shape[1])
    # kept = real & (place >= prompt_lengths[:, None])
    # taken = logits.softmax(-1).gather(-1, ids[..., None]).squeeze(-1)
    # return taken.masked_fill(~kept, 1.0).prod(1).log() / ids.shape[1]
    ### END STUB


# %% check="align_repair_scores"
generator = check.rng()
B, T, V = 4, 9, 5
ids = torch.tensor(generator.integers(0, V, (B, T)))
logits = drawn(generator, B, T, V, scale=2.0)
lengths, prompt_lengths = torch.tensor([9, 6, 7, 4]), torch.tensor([3, 2, 6, 4])
right = torch.arange(T) < lengths[:, None]
left = torch.arange(T) >= T - lengths[:, None]
long_ids = torch.tensor(generator.integers(0, V, (2, 120)))


def scored(ids, real, logits=logits):
    leaf = logits.clone().requires_grad_()
    found = check.intact(answer_logprobs, leaf, ids, real, prompt_lengths[: len(ids)])
    found.sum().backward()
    return {"scores": found, "positions that learn": (leaf.grad != 0).any(-1)}


memorized = torch.nn.functional.one_hot(ids.roll(-1, 1), V).float() * 50
check.show(
    {
        "ids": ids,
        "padding on the right": scored(ids, right),
        "padding on the left": scored(ids, left),
        "no padding": scored(ids, torch.ones(B, T) > 0),
        "memorized": answer_logprobs(memorized, ids, right, prompt_lengths),
        "120 tokens": answer_logprobs(
            drawn(generator, 2, 120, V, scale=3.0), long_ids, torch.ones(2, 120) > 0, prompt_lengths[:2]
        ),
        "logits up to 100": answer_logprobs(logits * 30, ids, right, prompt_lengths),
        "a row alone": answer_logprobs(logits[1:2, :6], ids[1:2, :6], right[1:2, :6], prompt_lengths[1:2]),
        "logits that are infinite at padding": answer_logprobs(
            logits.masked_fill(~right[..., None], -math.inf), ids, right, prompt_lengths
        ),
    },
    rtol=1e-4,
    atol=1e-4,
    text="Scores, and the positions whose logits they depend on.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(B·T·V) time and memory for the log-softmax; `logits.gather − logsumexp` gives the same from B·T numbers and no
# second copy of the logits.
#
# 1. *How would a test have caught the missing shift?* "With logits that are a large one-hot of the next token, every score must
#    be 0. That test takes three lines and finds a shift in either direction."
# 2. *Sum or mean?* "DPO and PPO's sequence ratio need the sum, because it is the log-probability of the answer. SimPO divides
#    by the length on purpose, and then needs no reference."
# 3. *Why do two engines report different scores for the same tokens?* "They differ in kernels, precision or temperature, and
#    sometimes in whether the log-probabilities are taken before or after temperature and top-p."
#
# </details>

# %% [markdown] hint="align_repair_scores"
# Take the reports one at a time. The first and the second have the same cause: what a position *is* and what it *predicts* are
# different things.

# %% [markdown] hint="align_repair_scores"
# A real token's place in its row, whatever the padding's side, is `real.cumsum(1) - 1`. A product of 120 probabilities
# underflows; a sum of logarithms doesn't.

# %% [markdown] hint="align_repair_scores"
# Shift once: log-probabilities come from `logits[:, :-1]` at `ids[:, 1:]`, and the mask is cut in the same way, `kept[:, 1:]`.
# Fill what doesn't count with 0 and sum.


# %% mutant="align_repair_scores"
# Predicts the token itself
# The logits at t are compared with the token at t, which the model has just read. They predict the token at t + 1.
def answer_logprobs(logits, ids, real, prompt_lengths):
    kept = real & (real.cumsum(1) - 1 >= prompt_lengths[:, None])
    taken = logits.log_softmax(-1).gather(-1, ids[..., None]).squeeze(-1)
    return taken.masked_fill(~kept, 0.0).sum(1)


# %% mutant="align_repair_scores"
# The mask is shifted the other way
# `kept[:, :-1]` belongs to the positions that predict. The mask says which *tokens* count, so it is cut like the tokens:
# `kept[:, 1:]`.
def answer_logprobs(logits, ids, real, prompt_lengths):
    kept = (real & (real.cumsum(1) - 1 >= prompt_lengths[:, None]))[:, :-1]
    taken = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return taken.masked_fill(~kept, 0.0).sum(1)


# %% mutant="align_repair_scores"
# A mean
# Divided by the length, this is no longer the log-probability of the answer (SimPO divides on purpose).
def answer_logprobs(logits, ids, real, prompt_lengths):
    kept = (real & (real.cumsum(1) - 1 >= prompt_lengths[:, None]))[:, 1:]
    taken = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return taken.masked_fill(~kept, 0.0).sum(1) / kept.sum(1).clamp(min=1)


# %% mutant="align_repair_scores"
# Multiplies probabilities
# The product of a hundred probabilities is below the smallest float32, so its logarithm is -inf. Add logarithms instead.
def answer_logprobs(logits, ids, real, prompt_lengths):
    kept = (real & (real.cumsum(1) - 1 >= prompt_lengths[:, None]))[:, 1:]
    taken = logits[:, :-1].softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return taken.masked_fill(~kept, 1.0).prod(1).log()


# %% mutant="align_repair_scores"
# Counts from the left edge
# With padding on the left, the prompt doesn't start at column 0. A real token's place is `real.cumsum(1) - 1`.
def answer_logprobs(logits, ids, real, prompt_lengths):
    kept = (real & (torch.arange(ids.shape[1]) >= prompt_lengths[:, None]))[:, 1:]
    taken = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return taken.masked_fill(~kept, 0.0).sum(1)


# %% mutant="align_repair_scores"
# Padding counts
# Every column behind the prompt is added here, the padding on the right included, so a score depends on the longest row of the
# batch.
def answer_logprobs(logits, ids, real, prompt_lengths):
    kept = (real.cumsum(1) - 1 >= prompt_lengths[:, None])[:, 1:]
    taken = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return taken.masked_fill(~kept, 0.0).sum(1)


# %% mutant="align_repair_scores"
# Multiplies by the mask
# 0 · inf and 0 · nan are nan. What doesn't count is replaced with `masked_fill` or `where`, not multiplied by 0.
def answer_logprobs(logits, ids, real, prompt_lengths):
    kept = (real & (real.cumsum(1) - 1 >= prompt_lengths[:, None]))[:, 1:]
    taken = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (taken * kept).sum(1)


# %% [markdown] exercise="align_reward" kind="build" points=2
# ### Exercise 3 · A reward model
# A reward model puts one number at every position, and the number at an answer's last real token is its reward. It is trained
# on pairs by the Bradley-Terry model: the chosen answer wins with probability σ(reward of the chosen − reward of the rejected).
# Write both functions. They have to survive rewards of ±1000, and the padding may stand on either side of a row.


# %% solution="align_reward"
def last_reward(values: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """The value (B,) at the last real token of each row; `values` (B, T), `real` (B, T) is False at padding, at least once
    True."""
    ### BEGIN SOLUTION
    last = (real * torch.arange(1, real.shape[1] + 1)).argmax(1)
    return values.gather(1, last[:, None]).squeeze(1)
    ### END SOLUTION


def preference_loss(chosen: torch.Tensor, rejected: torch.Tensor, margin: float = 0.0) -> torch.Tensor:
    """The mean negative log-likelihood of the preferences; rewards are (B,).

    With a margin, the chosen reward has to lead by that much before the model counts it as even.
    """
    ### BEGIN SOLUTION
    return -F.logsigmoid(chosen - rejected - margin).mean()
    ### END SOLUTION


# %% check="align_reward"
generator = check.rng()
B, T = 4, 6
values, lengths = drawn(generator, B, T), torch.tensor([6, 2, 4, 1])
right = torch.arange(T) < lengths[:, None]
left = torch.arange(T) >= T - lengths[:, None]


def pairs(chosen, rejected, *margin):
    chosen, rejected = chosen.clone().requires_grad_(), rejected.clone().requires_grad_()
    loss = check.intact(preference_loss, chosen, rejected, *margin)
    loss.backward()
    return {"loss": loss, "gradients": [chosen.grad, rejected.grad]}


leaf = values.clone().requires_grad_()
last_reward(leaf, right).sum().backward()
chosen, rejected = drawn(generator, 5, scale=2.0), drawn(generator, 5, scale=2.0)
far = torch.tensor([1000.0, -1000.0, 100.0, -100.0])
check.show(
    {
        "values": values,
        "padding on the right": last_reward(values, right),
        "padding on the left": last_reward(values, left),
        "gradient": leaf.grad,
        "one token a row": last_reward(values[:, :1], right[:, :1]),
        "padding is nan": last_reward(values.masked_fill(~right, math.nan), right),
        "pairs": pairs(chosen, rejected),
        "one pair": pairs(chosen[:1], rejected[:1]),
        "with a margin": pairs(chosen, rejected, 0.75),
        "both rewards 7 higher": pairs(chosen + 7, rejected + 7),
        "equal rewards": pairs(chosen, chosen),
        "far apart": pairs(far, torch.zeros(4)),
    },
    rtol=1e-4,
    atol=1e-5,
    text="Rewards at the last real token; losses and gradients of pairs.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** two forward passes of the model for each pair, in one batch of 2B rows; the loss itself is O(B).
#
# 1. *Are rewards of two prompts comparable?* "No. The loss depends on differences within a prompt, so each prompt's rewards may
#    be shifted by any amount. That is why GRPO subtracts the group's mean, and why PPO's value function has to
#    learn the offset of each prompt."
# 2. *What goes wrong when you optimize against it?* "The policy finds answers that the reward model overrates, such as longer
#    ones. The learned reward goes up while a held-out judge goes down, so I watch both and keep a KL term."
# 3. *Why one batch for both answers?* "Two passes draw different dropout masks, which adds noise to the difference; I would
#    switch dropout off, or concatenate."
#
# </details>

# %% [markdown] hint="align_reward"
# Which row would `real.sum(1) - 1` index incorrectly? And what is `log(sigmoid(-1000))` in float32?

# %% [markdown] hint="align_reward"
# The last real position is the largest index at which `real` is True. `log σ(x)` is computed without a sigmoid: F has a
# function for it.

# %% [markdown] hint="align_reward"
# `(real * torch.arange(1, T + 1)).argmax(1)` finds the position on either side. The loss is `-F.logsigmoid(chosen - rejected -
# margin).mean()`.


# %% mutant="align_reward"
# Assumes padding on the right
# `real.sum(1) - 1` is the last real position only if the row starts with real tokens. With padding on the left it points too
# far to the left.
def last_reward(values, real):
    return values.gather(1, real.sum(1, keepdim=True) - 1).squeeze(1)


def preference_loss(chosen, rejected, margin=0.0):
    return -F.logsigmoid(chosen - rejected - margin).mean()


# %% mutant="align_reward"
# The value of the padding
# The last column is padding in every shorter row. The reward is what stands at the last real token.
def last_reward(values, real):
    return values[:, -1]


def preference_loss(chosen, rejected, margin=0.0):
    return -F.logsigmoid(chosen - rejected - margin).mean()


# %% mutant="align_reward"
# The mean of all values
# The reward is the value at the last real token, the only one that has seen the whole answer.
def last_reward(values, real):
    return values.masked_fill(~real, 0.0).sum(1) / real.sum(1)


def preference_loss(chosen, rejected, margin=0.0):
    return -F.logsigmoid(chosen - rejected - margin).mean()


# %% mutant="align_reward"
# The log of a sigmoid
# σ(−1000) is 0 in float32, so its logarithm is -inf and the gradient is nan. `F.logsigmoid` works in log space.
def last_reward(values, real):
    last = (real * torch.arange(1, real.shape[1] + 1)).argmax(1)
    return values.gather(1, last[:, None]).squeeze(1)


def preference_loss(chosen, rejected, margin=0.0):
    return -(chosen - rejected - margin).sigmoid().log().mean()


# %% mutant="align_reward"
# The margin helps
# The chosen reward has to lead by the margin, so the margin is subtracted from the difference. Added, it forgives a rejected
# answer that leads.
def last_reward(values, real):
    last = (real * torch.arange(1, real.shape[1] + 1)).argmax(1)
    return values.gather(1, last[:, None]).squeeze(1)


def preference_loss(chosen, rejected, margin=0.0):
    return -F.logsigmoid(chosen - rejected + margin).mean()


# %% mutant="align_reward"
# Rewards as probabilities
# The two rewards are squashed before they are compared. Bradley-Terry takes one sigmoid, of the difference.
def last_reward(values, real):
    last = (real * torch.arange(1, real.shape[1] + 1)).argmax(1)
    return values.gather(1, last[:, None]).squeeze(1)


def preference_loss(chosen, rejected, margin=0.0):
    return -F.logsigmoid(chosen.sigmoid() - rejected.sigmoid() - margin).mean()


# %% [markdown] exercise="align_dpo" kind="build" points=3
# ### Exercise 4 · DPO and its implicit reward
# Write the loss of direct preference optimization from the log-probabilities of whole answers. Its implicit reward is β times
# how much more likely the policy makes an answer than the reference does. `label_smoothing` is the probability that a pair was
# labelled the wrong way round. With `kind="ipo"` the loss is IPO's instead: the squared distance between the lead of the
# log-ratios, without β, and 1 / (2β).


# %% solution="align_dpo"
def dpo_loss(
    policy: torch.Tensor, reference: torch.Tensor, beta: float, label_smoothing: float = 0.0, kind: str = "sigmoid"
) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean loss, a scalar, and the implicit rewards (2, B), which carry no gradient.

    `policy` and `reference` (2, B) are summed log-probabilities, of the chosen answers in row 0 and of the rejected
    ones in row 1. The reference gets no gradient, even if its tensor asks for one, and stays as it is. IPO ignores
    the smoothing.
    """
    ### BEGIN SOLUTION
    ratio = policy - reference.detach()
    lead = ratio[0] - ratio[1]
    if kind == "ipo":
        losses = (lead - 1 / (2 * beta)) ** 2
    else:
        losses = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    return losses.mean(), (beta * ratio).detach()
    ### END SOLUTION


# %% check="align_dpo"
generator = check.rng()
B = int(generator.integers(4, 7))
beta = float(generator.uniform(0.1, 0.4))
policy, reference = drawn(generator, 2, B, scale=3.0, shift=-12.0), drawn(generator, 2, B, scale=3.0, shift=-12.0)


def tried(policy, reference, *options, **named):
    before = reference
    policy, reference = policy.clone().requires_grad_(), reference.clone().requires_grad_()
    loss, rewards = check.intact(dpo_loss, policy, reference, *options, **named)
    loss.backward()
    frozen = [reference.grad is None or not reference.grad.any().item(), reference.requires_grad]
    frozen.append(torch.equal(reference, before))
    found = {"loss": loss, "rewards": rewards, "gradient": policy.grad}
    return found | {"the reference is frozen, and untouched": frozen, "rewards are detached": not rewards.requires_grad}


def at_the_optimum(beta):
    """The gradient, expected over labels, of a policy that is the reference times exp(reward / beta): 8 answers, all
    pairs."""
    rewards, reference = drawn(generator, 8), drawn(generator, 8).log_softmax(0)
    policy = (reference + rewards / beta).log_softmax(0).requires_grad_()
    for i, j in itertools.combinations(range(8), 2):
        flipped = (rewards[j] - rewards[i]).sigmoid().item()
        pair = torch.tensor([i, j])
        dpo_loss(policy[pair][:, None], reference[pair][:, None], beta, flipped)[0].backward()
    return policy.grad / beta


far = torch.tensor([[1000.0, -1000.0], [0.0, 0.0]])
check.show(
    {
        "policy, reference": [policy, reference],
        "loss": tried(policy, reference, beta),
        "one pair": tried(policy[:, :1], reference[:, :1], beta),
        "policy is the reference": tried(reference, reference, beta),
        "a larger beta": tried(policy, reference, 3 * beta),
        "one label in five is wrong": tried(policy, reference, beta, 0.2),
        "IPO": tried(policy, reference, beta, kind="ipo"),
        "IPO, one label in five is wrong": tried(policy, reference, beta, 0.2, "ipo"),
        "1000 nats apart": tried(far, torch.zeros(2, 2), 1.0),
        "gradient at reference · exp(reward / beta)": at_the_optimum(beta),
    },
    rtol=1e-4,
    atol=2e-5,
    text="Losses, implicit rewards, and the gradient with respect to the policy's log-probabilities.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** four forward passes a pair (two answers, two models) and two backward; the reference's log-probabilities can be
# computed once and stored, which frees its memory.
#
# 1. *Where did the normalizer Z go?* "The optimum of KL-regularized RL is the reference times exp(r/β) over Z of the prompt.
#    Solved for r, the reward has a term β log Z, and it is the same for both answers, so it cancels in the difference."
# 2. *The loss falls, and so does the chosen answer's probability. Is that a bug?* "No, only the lead is trained. I would add an
#    SFT term on the chosen answer, or use on-policy pairs."
# 3. *What does IPO change?* "It asks for a fixed lead instead of an ever larger one, so a deterministic preference doesn't push
#    the policy away from the reference without end."
#
# </details>

# %% [markdown] hint="align_dpo"
# Start with the log-ratio of policy and reference, (2, B). What is left of it when you subtract row 1 from row 0?

# %% [markdown] hint="align_dpo"
# −log σ(β · lead) is the loss of a correct label, and −log σ(−β · lead) that of a flipped one. Smoothing mixes them.

# %% [markdown] hint="align_dpo"
# `ratio = policy - reference.detach()`, `lead = ratio[0] - ratio[1]`; use `F.logsigmoid`, and return `(beta * ratio).detach()`
# as rewards.


# %% mutant="align_dpo"
# The reference learns
# The reference is frozen. Without `detach` its weights get the opposite gradient, and both models drift.
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference
    lead = ratio[0] - ratio[1]
    losses = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    if kind == "ipo":
        losses = (lead - 1 / (2 * beta)) ** 2
    return losses.mean(), (beta * ratio).detach()


# %% mutant="align_dpo"
# No reference
# The policy's own lead is rewarded, wherever it started. DPO measures each answer against the reference, which is what keeps
# the policy near it.
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    lead = policy[0] - policy[1]
    losses = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    if kind == "ipo":
        losses = (lead - 1 / (2 * beta)) ** 2
    return losses.mean(), (beta * policy).detach()


# %% mutant="align_dpo"
# Beta on one side
# β multiplies the difference of the log-ratios. Here it scales the policy alone, so a policy that equals its reference doesn't
# start at ln 2.
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = beta * policy - reference.detach()
    lead = ratio[0] - ratio[1]
    losses = -(1 - label_smoothing) * F.logsigmoid(lead) - label_smoothing * F.logsigmoid(-lead)
    if kind == "ipo":
        lead = (policy - reference.detach())[0] - (policy - reference.detach())[1]
        losses = (lead - 1 / (2 * beta)) ** 2
    return losses.mean(), ratio.detach()


# %% mutant="align_dpo"
# Divides by beta
# The implicit reward is β times the log-ratio: with a larger β the same reward is reached with a smaller change of the policy.
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = ratio[0] - ratio[1]
    losses = -(1 - label_smoothing) * F.logsigmoid(lead / beta) - label_smoothing * F.logsigmoid(-lead / beta)
    if kind == "ipo":
        losses = (lead - 1 / (2 * beta)) ** 2
    return losses.mean(), (ratio / beta).detach()


# %% mutant="align_dpo"
# The log of a sigmoid
# σ(−1000) is 0 in float32, and log 0 is -inf. `F.logsigmoid` stays finite, and so does its gradient.
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = ratio[0] - ratio[1]
    win = (beta * lead).sigmoid()
    losses = -(1 - label_smoothing) * win.log() - label_smoothing * (1 - win).log()
    if kind == "ipo":
        losses = (lead - 1 / (2 * beta)) ** 2
    return losses.mean(), (beta * ratio).detach()


# %% mutant="align_dpo"
# Rejected minus chosen
# The lead is that of the chosen answer over the rejected one. The other way round, the model learns to prefer what people
# rejected.
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = ratio[1] - ratio[0]
    losses = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    if kind == "ipo":
        losses = (lead - 1 / (2 * beta)) ** 2
    return losses.mean(), (beta * ratio).detach()


# %% mutant="align_dpo"
# Smoothing weakens the loss
# With probability `label_smoothing` the *other* answer is the better one, whose loss is −log σ(−β · lead). Leaving that term
# out only scales the loss.
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = ratio[0] - ratio[1]
    losses = -(1 - label_smoothing) * F.logsigmoid(beta * lead)
    if kind == "ipo":
        losses = (lead - 1 / (2 * beta)) ** 2
    return losses.mean(), (beta * ratio).detach()


# %% mutant="align_dpo"
# Beta inside IPO's lead
# IPO compares the lead of the log-ratios *without* β with 1 / (2β).
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = ratio[0] - ratio[1]
    losses = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    if kind == "ipo":
        losses = (beta * lead - 1 / (2 * beta)) ** 2
    return losses.mean(), (beta * ratio).detach()


# %% [markdown] exercise="align_reinforce" kind="measure" points=3
# ### Exercise 5 · REINFORCE: which baselines are unbiased?
# A prompt has V answers, and a batch of K samples gives the estimate (1/K) Σ A_i ∇ log π(a_i) of the gradient of the expected
# reward. The advantage A_i is the reward minus a baseline, and papers disagree about which baselines keep the estimate
# unbiased. With few answers nothing needs to be sampled: enumerate all V^K batches and compute the estimate's exact mean and
# variance. Then compare, for the five advantages of the check, the mean with the true gradient.


# %% solution="align_reinforce"
def estimate_moments(logits: torch.Tensor, rewards: torch.Tensor, advantages, K: int) -> tuple[torch.Tensor, float]:
    """The exact mean (V,) of the gradient estimate with respect to `logits`, and its total variance E‖estimate − mean‖².

    `logits` and `rewards` (V,) belong to the answers. `advantages(actions, rewards)` gets the sampled answers (K,),
    integers, and their rewards (K,), and returns K advantages. The K samples are independent, and the estimate is
    for gradient *ascent*.
    """
    ### BEGIN SOLUTION
    p = logits.softmax(0)
    score = torch.eye(len(p)) - p
    mean, square = torch.zeros(len(p)), 0.0
    for batch in itertools.product(range(len(p)), repeat=K):
        actions = torch.tensor(batch)
        chance = p[actions].prod().item()
        estimate = (advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0)
        mean += chance * estimate
        square += chance * (estimate**2).sum().item()
    return mean, square - (mean**2).sum().item()
    ### END SOLUTION


# %% check="align_reinforce"
generator = check.rng()
V, K = 4, 3
logits, rewards = drawn(generator, V), 10.0 * drawn(generator, V, shift=2.0)  # variances far above the tolerance
p = logits.softmax(0)
expected = (p * rewards).sum()
true = p * (rewards - expected)


def leave_one_out(actions, r):
    return (len(r) * r - r.sum()) / (len(r) - 1)


choices = {
    "no baseline": lambda actions, r: r,
    "the expected reward": lambda actions, r: r - expected,
    "the batch's mean": lambda actions, r: r - r.mean(),
    "the mean of the others": leave_one_out,
    "standardized": lambda actions, r: (r - r.mean()) / (r.std() + 0.1),
}
shown = {"true gradient": true}
for name, advantages in choices.items():
    mean, variance = estimate_moments(logits, rewards, advantages, K)
    shown[name] = {"mean": mean, "mean / true gradient": mean / true, "variance": variance}
mean, variance = estimate_moments(logits[:3], rewards[:3], choices["no baseline"], 1)
shown["one sample"] = {"mean": mean, "variance": variance}
check.show(
    shown,
    rtol=1e-3,
    atol=1e-4,
    text="For each advantage the mean of the estimate, its ratio to the true gradient, and its variance.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** V^K estimates of O(K·V) each: fine for a proof, impossible for a language model, whose variance is measured from
# repeated batches.
#
# 1. *Why doesn't a baseline bias the gradient?* "The score ∇ log π has mean zero, so any number that doesn't depend on the
#    sampled action can be subtracted without changing the mean."
# 2. *The batch's mean contains the sample itself. How bad is that?* "It shrinks the gradient by exactly 1 − 1/K. The direction
#    is right, so a learning rate absorbs it. RLOO, the mean of the others, is unbiased."
# 3. *And dividing by the standard deviation?* "That is a different weight for each batch, so the direction can change as well,
#    and prompts with little spread count more."
#
# </details>

# %% [markdown] hint="align_reinforce"
# A batch is an ordered tuple of K answers, and each has a probability. What is the gradient of log π(a) with respect to the
# logits?

# %% [markdown] hint="align_reinforce"
# ∇ log π(a) is the one-hot row of a minus the probabilities. `itertools.product(range(V), repeat=K)` lists the batches, and a
# batch's probability is the product of its answers' probabilities.

# %% [markdown] hint="align_reinforce"
# Sum chance · estimate and chance · ‖estimate‖² over all batches; the variance is the second sum minus the squared norm of the
# first.


# %% mutant="align_reinforce"
# Descends
# The estimate has the sign of the loss's gradient here. The expected reward is to rise.
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = p - torch.eye(len(p))
    mean, square = torch.zeros(len(p)), 0.0
    for batch in itertools.product(range(len(p)), repeat=K):
        actions = torch.tensor(batch)
        chance = p[actions].prod().item()
        estimate = (advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0)
        mean += chance * estimate
        square += chance * (estimate**2).sum().item()
    return mean, square - (mean**2).sum().item()


# %% mutant="align_reinforce"
# All batches count the same
# A batch occurs with the product of its answers' probabilities. An unweighted mean over batches is that of a uniform policy.
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = torch.eye(len(p)) - p
    found = []
    for batch in itertools.product(range(len(p)), repeat=K):
        actions = torch.tensor(batch)
        found.append((advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0))
    found = torch.stack(found)
    return found.mean(0), ((found - found.mean(0)) ** 2).sum(1).mean().item()


# %% mutant="align_reinforce"
# Adds up the batch
# The estimate is a mean over the K samples; this is K times as large, and its variance K² times.
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = torch.eye(len(p)) - p
    mean, square = torch.zeros(len(p)), 0.0
    for batch in itertools.product(range(len(p)), repeat=K):
        actions = torch.tensor(batch)
        chance = p[actions].prod().item()
        estimate = (advantages(actions, rewards[actions])[:, None] * score[actions]).sum(0)
        mean += chance * estimate
        square += chance * (estimate**2).sum().item()
    return mean, square - (mean**2).sum().item()


# %% mutant="align_reinforce"
# The second moment
# E‖estimate‖² is not the variance: the squared norm of the mean has to be subtracted.
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = torch.eye(len(p)) - p
    mean, square = torch.zeros(len(p)), 0.0
    for batch in itertools.product(range(len(p)), repeat=K):
        actions = torch.tensor(batch)
        chance = p[actions].prod().item()
        estimate = (advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0)
        mean += chance * estimate
        square += chance * (estimate**2).sum().item()
    return mean, square


# %% mutant="align_reinforce"
# The error around the true gradient
# This is the mean squared error, which adds the squared bias to the variance. The variance is taken around the estimate's own
# mean.
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = torch.eye(len(p)) - p
    true = p * (rewards - (p * rewards).sum())
    mean, square = torch.zeros(len(p)), 0.0
    for batch in itertools.product(range(len(p)), repeat=K):
        actions = torch.tensor(batch)
        chance = p[actions].prod().item()
        estimate = (advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0)
        mean += chance * estimate
        square += chance * ((estimate - true) ** 2).sum().item()
    return mean, square


# %% mutant="align_reinforce"
# Batches without their order
# Each multiset is visited once here, although a batch of different answers occurs in several orders. The weights no longer sum
# to 1.
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = torch.eye(len(p)) - p
    mean, square = torch.zeros(len(p)), 0.0
    for batch in itertools.combinations_with_replacement(range(len(p)), K):
        actions = torch.tensor(batch)
        chance = p[actions].prod().item()
        estimate = (advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0)
        mean += chance * estimate
        square += chance * (estimate**2).sum().item()
    return mean, square - (mean**2).sum().item()


# %% mutant="align_reinforce"
# The gradient of π
# The score is the gradient of log π. The gradient of π itself is smaller by the factor π, which the sampling has already
# brought in.
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = p[:, None] * (torch.eye(len(p)) - p)
    mean, square = torch.zeros(len(p)), 0.0
    for batch in itertools.product(range(len(p)), repeat=K):
        actions = torch.tensor(batch)
        chance = p[actions].prod().item()
        estimate = (advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0)
        mean += chance * estimate
        square += chance * (estimate**2).sum().item()
    return mean, square - (mean**2).sum().item()


# %% [markdown] exercise="align_gae" kind="build" points=3
# ### Exercise 6 · Generalized advantage estimation
# A row is an episode of an agent: its own tokens are steps, while a tool's tokens in between and the padding behind are not,
# and are skipped as if they weren't there. The TD error of a step is its reward plus γ times the value of the next step, minus
# its own value; the advantage is the sum of the TD errors from there on, each discounted by another γλ. An episode that *ended*
# has a value of 0 behind its last step. One that was only cut off has `last_value` there.


# %% solution="align_gae"
def gae(
    rewards: torch.Tensor,
    values: torch.Tensor,
    steps: torch.Tensor,
    ended: torch.Tensor,
    last_value: torch.Tensor,
    gamma: float,
    lam: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Advantages and returns, both (B, T), without gradient, and 0 where no step is.

    `rewards`, `values` (B, T); `steps` (B, T) is True at the agent's own tokens, and what stands elsewhere, even
    nan, counts for nothing. `ended` (B,) is False for an episode that was cut off, and `last_value` (B,) is the
    value behind it. A return is the advantage plus the value. The arguments stay as they are.
    """
    ### BEGIN SOLUTION
    values = values.detach()
    advantage = torch.zeros_like(last_value)
    following = last_value.detach().masked_fill(ended, 0.0)
    advantages = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        advantages[:, t] = advantage
    return advantages.masked_fill(~steps, 0.0), (advantages + values).masked_fill(~steps, 0.0)
    ### END SOLUTION


# %% check="align_gae"
generator = check.rng()
B, T = 4, 8
gamma, lam = float(generator.uniform(0.8, 0.95)), float(generator.uniform(0.4, 0.8))
steps = torch.tensor([[1] * 8, [1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 1, 1, 1, 0], [0, 1, 1, 0, 1, 0, 1, 1]]) > 0
ended = torch.tensor([True, False, True, False])
rewards, values, last_value = drawn(generator, B, T), drawn(generator, B, T), drawn(generator, B)


def run(gamma, lam, rewards=rewards, values=values, steps=steps, ended=ended, last_value=last_value):
    found = gae(rewards.clone(), values.clone(), steps.clone(), ended.clone(), last_value.clone(), gamma, lam)
    return {"advantages": found[0], "returns": found[1]}


leaves = [each.clone().requires_grad_() for each in (values, last_value)]
graph = check.intact(gae, rewards.clone(), leaves[0], steps, ended, leaves[1], gamma, lam)
poison = [each.masked_fill(~steps, math.nan) for each in (rewards, values)]
given = [each.clone() for each in (rewards, values, steps, ended, last_value)]
gae(*given, gamma, lam)
check.show(
    {
        "gamma, lambda": [gamma, lam],
        "steps": steps,
        "advantages": run(gamma, lam),
        "lambda 0": run(gamma, 0.0),
        "lambda 1": run(gamma, 1.0),
        "gamma 1, lambda 1": run(1.0, 1.0),
        "nan where no step is": run(gamma, lam, *poison),
        "all ended": run(gamma, lam, ended=torch.ones(B) > 0),
        "one step": run(gamma, lam, rewards[:, :1], values[:, :1], steps[:, :1], ended),
        "no step": run(gamma, lam, steps=steps & False),
        "carry a gradient": [each.requires_grad for each in graph],
        "values still do": [each.requires_grad for each in leaves],
        "arguments stay as they are": [*map(torch.equal, given, (rewards, values, steps, ended, last_value))],
    },
    rtol=1e-4,
    atol=1e-5,
    text="Advantages and returns.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(B·T) time in one backward sweep, which is sequential in T but trivial beside the model; two (B, T) tensors of
# memory.
#
# 1. *What are λ = 0 and λ = 1?* "λ = 0 is the one-step TD error, with little variance and all of the value function's bias. λ =
#    1 is the Monte Carlo return minus the value, unbiased and noisy."
# 2. *Where does the KL penalty of RLHF enter?* "Often as a reward of −β times the log-ratio at every token, with the reward
#    model's score added at the last one."
# 3. *Why must truncation not look like an end?* "An end says that nothing follows. If a time limit looks like that, the policy
#    learns that long answers are worth nothing."
#
# </details>

# %% [markdown] hint="align_gae"
# Go from the last position to the first. Which two numbers have to be carried from a step to the one before it?

# %% [markdown] hint="align_gae"
# Carry the advantage and the value of the following step. At a position that is no step, both stay as they are:
# `torch.where(steps[:, t], new, old)`.

# %% [markdown] hint="align_gae"
# Start with an advantage of 0 and a following value of `last_value`, 0 where the episode ended. Then `error = rewards[:, t] +
# gamma * following - values[:, t]` and `advantage = where(step, error + gamma * lam * advantage, advantage)`.


# %% mutant="align_gae"
# A tool's tokens are steps
# Positions that are no step are walked over with reward and value 0 here, so they discount, and the step before them bootstraps
# from 0.
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values, rewards = values.detach().masked_fill(~steps, 0.0), rewards.masked_fill(~steps, 0.0)
    advantage, following = torch.zeros_like(last_value), last_value.detach().masked_fill(ended, 0.0)
    advantages = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        advantage = rewards[:, t] + gamma * following - values[:, t] + gamma * lam * advantage
        following = values[:, t]
        advantages[:, t] = advantage
    return advantages.masked_fill(~steps, 0.0), (advantages + values).masked_fill(~steps, 0.0)


# %% mutant="align_gae"
# Bootstraps from what is no step
# The next *position* may be a tool's token or padding, whose value means nothing. The next value is that of the next step.
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    advantage, following = torch.zeros_like(last_value), last_value.detach().masked_fill(ended, 0.0)
    advantages = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        following = values[:, t]
        advantages[:, t] = advantage
    return advantages.masked_fill(~steps, 0.0), (advantages + values).masked_fill(~steps, 0.0)


# %% mutant="align_gae"
# A cut-off is an end
# An episode that was cut off goes on, so `last_value` stands behind its last step. Only an ended one has 0 there.
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    advantage, following = torch.zeros_like(last_value), torch.zeros_like(last_value)
    advantages = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        advantages[:, t] = advantage
    return advantages.masked_fill(~steps, 0.0), (advantages + values).masked_fill(~steps, 0.0)


# %% mutant="align_gae"
# An end is a cut-off
# Behind an ended episode there is nothing, so its last step must not bootstrap from `last_value`.
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    advantage, following = torch.zeros_like(last_value), last_value.detach()
    advantages = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        advantages[:, t] = advantage
    return advantages.masked_fill(~steps, 0.0), (advantages + values).masked_fill(~steps, 0.0)


# %% mutant="align_gae"
# Returns are advantages
# The value function is trained towards the return, which is the advantage plus the value.
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    advantage, following = torch.zeros_like(last_value), last_value.detach().masked_fill(ended, 0.0)
    advantages = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        advantages[:, t] = advantage
    return advantages.masked_fill(~steps, 0.0), advantages.masked_fill(~steps, 0.0)


# %% mutant="align_gae"
# Normalized first
# Whitening comes after the returns, outside this function. Returns that are made of whitened advantages train the value
# function towards the wrong numbers.
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    advantage, following = torch.zeros_like(last_value), last_value.detach().masked_fill(ended, 0.0)
    advantages = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        advantages[:, t] = advantage
    real = advantages[steps]
    advantages = (advantages - real.mean()) / (real.std() + 1e-8)
    return advantages.masked_fill(~steps, 0.0), (advantages + values).masked_fill(~steps, 0.0)


# %% mutant="align_gae"
# Discounts by λ alone
# Each step back multiplies the advantage by γλ. Without γ, rewards that are far away aren't discounted.
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    advantage, following = torch.zeros_like(last_value), last_value.detach().masked_fill(ended, 0.0)
    advantages = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + lam * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        advantages[:, t] = advantage
    return advantages.masked_fill(~steps, 0.0), (advantages + values).masked_fill(~steps, 0.0)


# %% mutant="align_gae"
# The last position is left out
# The sweep starts one position too early, so the last step gets no TD error, and `last_value` never enters.
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    advantage, following = torch.zeros_like(last_value), values[:, -1]
    advantages = torch.zeros_like(values)
    for t in reversed(range(values.shape[1] - 1)):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        advantages[:, t] = advantage
    return advantages.masked_fill(~steps, 0.0), (advantages + values).masked_fill(~steps, 0.0)


# %% [markdown] exercise="align_predict_clip" kind="predict" points=1
# ### Exercise 7 · Where is PPO's gradient 0?
# A token's loss is −min(r·A, clip(r, 0.8, 1.2)·A). For which of these eight tokens is the gradient with respect to its new
# log-probability 0?
#
# | token | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
# |---|---|---|---|---|---|---|---|---|
# | ratio r | 1.5 | 1.5 | 0.5 | 0.5 | 1.0 | 1.1 | 3.0 | 1.5 |
# | advantage A | +2 | −2 | +2 | −2 | −1 | +1 | −4 | 0 |
#
# Set `prediction` to the list of their numbers, in order.

# %% solution="align_predict_clip"
### BEGIN SOLUTION
prediction = [1, 4, 8]
### END SOLUTION

# %% check="align_predict_clip"
chosen = {int(each) for each in prediction}
check.show({f"token {number}: gradient 0": number in chosen for number in range(1, 9)}, secret=True)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** two products and a minimum for each token, O(B·T) for a batch, and no memory beside the ratios.
#
# 1. *Which share of the tokens should be clipped?* "A few per cent to a fifth is common. If hardly any are, the steps could be
#    larger; if most are, the policy has left the samples, so I'd take fewer epochs or a smaller learning rate."
# 2. *Does clipping keep the policy near the old one?* "No. A clipped token stops pushing, but the gradients of other tokens can
#    move it further. That is why people also watch the KL, and stop or add a penalty when it grows."
# 3. *Why do the clipped tokens differ between A > 0 and A < 0?* "Clipping only stops a move that the advantage asks for: up for
#    A > 0, down for A < 0. A token that moved the wrong way keeps its gradient, which brings it back."
#
# </details>

# %% [markdown] hint="align_predict_clip"
# A clipped number has no gradient. But the minimum chooses between the clipped and the unclipped product: which of them is
# smaller?

# %% [markdown] hint="align_predict_clip"
# For A > 0 the minimum keeps the smaller ratio, so clipping acts above 1.2 only. For A < 0 it keeps the larger ratio.

# %% [markdown] hint="align_predict_clip"
# The gradient vanishes where the policy has already moved far enough in the direction that A asks for, and where A itself is 0.

# %% mutant="align_predict_clip"
# Wherever the ratio is clipped
# The minimum undoes the clipping where the policy moved against the advantage: tokens 2, 3 and 7 still get a gradient, which
# brings them back.
prediction = [1, 2, 3, 4, 7, 8]

# %% mutant="align_predict_clip"
# The maximum
# With the minimum, a token whose probability rose although its advantage is negative keeps its gradient. You chose where the
# larger product is the unclipped one.
prediction = [2, 3, 7, 8]

# %% mutant="align_predict_clip"
# Above 1.2 only
# The clip at 0.8 works for negative advantages: a token that has already become much less likely isn't pushed down further.
prediction = [1, 8]

# %% mutant="align_predict_clip"
# An advantage of 0
# The gradient is a multiple of the advantage, so it is 0 where A is 0, whatever the ratio.
prediction = [1, 4]

# %% mutant="align_predict_clip"
# Also within the range
# Between 0.8 and 1.2 nothing is clipped, so tokens 5 and 6 have the gradient of an ordinary policy gradient.
prediction = [1, 4, 5, 6, 8]

# %% mutant="align_predict_clip"
# Not even above 1.2
# Token 1 has a positive advantage and a ratio above 1.2, so the clipped product, 1.2 · 2, is the smaller one, and it doesn't
# depend on the ratio.
prediction = [4, 8]


# %% [markdown] exercise="align_ppo" kind="build" points=3
# ### Exercise 8 · PPO's clipped losses
# Write the policy loss of PPO, a mean over the answers' tokens of the batch, and the clipped loss of the value function beside
# it. The value loss of a token is half the larger of two squared errors: that of the value, and that of the value held within
# `clip` of the old one. Also report the share of tokens whose policy gradient was clipped away.


# %% solution="align_ppo"
def ppo_loss(
    new: torch.Tensor,
    old: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
    values: torch.Tensor,
    old_values: torch.Tensor,
    returns: torch.Tensor,
    clip: float = 0.2,
) -> tuple[torch.Tensor, torch.Tensor, float]:
    """The policy loss, the value loss, and the share of tokens whose clipped product is smaller than the unclipped one.

    All tensors are (B, T). `new` and `old` are log-probabilities of the sampled tokens. `mask` is True at the
    tokens of the answers, at least once; what stands elsewhere may be -inf or nan. Gradients go into `new` and
    `values` alone.
    """
    ### BEGIN SOLUTION
    new, old, advantages, values, old_values, returns = (
        each[mask] for each in (new, old, advantages, values, old_values, returns)
    )
    old, advantages, old_values, returns = (each.detach() for each in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.minimum(free, held).mean(), value_loss, (held < free).float().mean().item()
    ### END SOLUTION


# %% check="align_ppo"
generator = check.rng()
B, T = 3, 9
mask = torch.arange(T) < torch.tensor([[9], [4], [6]])
mask[0, 3:5] = False
old = drawn(generator, B, T, shift=-3.0)
signs = torch.tensor(generator.permutation([1.0] * 14 + [-1.0] * 13).astype("float32").reshape(B, T))
far = torch.tensor(generator.permutation(np.linspace(-1.2, 1.2, B * T)).astype("float32").reshape(B, T))
advantages = signs * (0.5 + drawn(generator, B, T).abs())
values, old_values, returns = drawn(generator, B, T), drawn(generator, B, T), drawn(generator, B, T)


def tried(new, old, advantages, mask, *rest, **named):
    tensors = [each.clone().requires_grad_() for each in (new, old, advantages, *rest)]
    policy, value, share = check.intact(ppo_loss, *tensors[:3], mask, *tensors[3:], **named)
    (policy + 2 * value).backward()
    frozen = all(tensors[at].grad is None or not tensors[at].grad.any().item() for at in (1, 2, 4, 5))
    of_policy, of_value = {"loss": policy, "gradient": tensors[0].grad}, {"loss": value, "gradient": tensors[3].grad}
    return {"policy": of_policy, "value": of_value, "share clipped": share, "all else is frozen": frozen}


poison = [
    each.masked_fill(~mask, bad) for each, bad in ((old + far, -math.inf), (old, -math.inf), (advantages, math.nan))
]
rest = values, old_values, returns
elsewhere = [each.masked_fill(~mask, math.nan) for each in rest]
cases = {
    "a clip of 0.2": tried(old + far, old, advantages, mask, *rest),
    "a narrow clip": tried(old + far, old, advantages, mask, *rest, clip=0.05),
    "a wide clip": tried(old + far, old, 3 * advantages, mask, *rest, clip=0.5),
    "no update yet": tried(old, old, advantages, mask, *rest),
    "no advantage is negative": tried(old + far, old, advantages.clamp(min=0), mask, *rest),
    "-inf and nan where no answer is": tried(*poison, mask, *elsewhere),
    "one token": tried(
        old[:1, :1] + 0.1, old[:1, :1], advantages[:1, :1], mask[:1, :1], *(each[:1, :1] for each in rest)
    ),
}
check.show(
    {
        "mask": mask,
        "log-ratios": far,
        **{f"{case}: {name}": value for case, found in cases.items() for name, value in found.items()},
    },
    rtol=1e-4,
    atol=1e-5,
    text="Losses, the share of clipped tokens, and the gradients of new log-probabilities and values.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(B·T) for the loss. The step holds four models: policy and value function with optimizer states, reference and
# reward model for inference.
#
# 1. *Why keep `old` at all?* "A batch of answers is expensive, so it is used for several gradient steps. After the first one
#    the policy is no longer the one that sampled, and the ratio corrects for that, as long as it stays near 1."
# 2. *Does the clip keep the policy near the old one?* "Only softly. It removes the incentive to go further, but other tokens'
#    gradients can still carry a ratio out, so people also watch the KL and stop the epoch early."
# 3. *Why clip the value loss?* "It was meant to keep the value function from jumping. Ablations found little benefit, so I
#    would try it without."
#
# </details>

# %% [markdown] hint="align_ppo"
# Cut all six tensors with the mask first, then everything that follows is about one list of tokens. Which of them may carry a
# gradient?

# %% [markdown] hint="align_ppo"
# The ratio is `(new - old.detach()).exp()`. The objective is the *smaller* of the two products, and the loss is its negative
# mean.

# %% [markdown] hint="align_ppo"
# `near = old_values + (values - old_values).clamp(-clip, clip)`, and half the mean of the larger of the squared errors of
# `values` and `near`. A token is clipped where the clipped product is strictly smaller.


# %% mutant="align_ppo"
# The larger product
# PPO takes the *smaller* product, a pessimistic bound. With the larger one a token that moved too far is pushed on.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (
        x[mask] for x in (new, old, advantages, values, old_values, returns)
    )
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.maximum(free, held).mean(), value_loss, (held < free).float().mean().item()


# %% mutant="align_ppo"
# Clips without the minimum
# The clipped product alone has no gradient outside the clip range on either side, so a token that moved the wrong way is never
# brought back.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (
        x[mask] for x in (new, old, advantages, values, old_values, returns)
    )
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -held.mean(), value_loss, (held < free).float().mean().item()


# %% mutant="align_ppo"
# Clips the log-ratio
# The *ratio* stays within 1 ± clip. Clipping its logarithm to ± clip gives the range e^−clip to e^clip.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (
        x[mask] for x in (new, old, advantages, values, old_values, returns)
    )
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    free, held = (new - old).exp() * advantages, (new - old).clamp(-clip, clip).exp() * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.minimum(free, held).mean(), value_loss, (held < free).float().mean().item()


# %% mutant="align_ppo"
# The ratio is always 1
# Both log-probabilities come from the current pass here, so the ratio is 1 and nothing is ever clipped. `old` was recorded when
# the answer was sampled.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (
        x[mask] for x in (new, old, advantages, values, old_values, returns)
    )
    advantages, old_values, returns = (x.detach() for x in (advantages, old_values, returns))
    ratio = (new - new.detach()).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.minimum(free, held).mean(), value_loss, (held < free).float().mean().item()


# %% mutant="align_ppo"
# The old policy learns
# `old` is a recorded number. A gradient into it, or into the advantages and returns, trains what should stay fixed.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (
        x[mask] for x in (new, old, advantages, values, old_values, returns)
    )
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.minimum(free, held).mean(), value_loss, (held < free).float().mean().item()


# %% mutant="align_ppo"
# No mask
# Prompts, a tool's tokens and padding are in the mean. Only the answers' tokens were chosen by the policy.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.minimum(free, held).mean(), value_loss, (held < free).float().mean().item()


# %% mutant="align_ppo"
# Divides by all positions
# Masked positions are replaced by 0 but still counted by the mean, so the loss depends on the padding. Divide by the number of
# answer tokens.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    zero = torch.zeros_like(new)
    new, old, advantages, values, old_values, returns = (
        torch.where(mask, x, zero) for x in (new, old, advantages, values, old_values, returns)
    )
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.minimum(free, held).mean(), value_loss, (held < free).float().mean().item()


# %% mutant="align_ppo"
# A mean of each answer
# Each answer has a mean of its own here, and the answers are averaged afterwards, so a token of a short answer weighs more. PPO's mean
# runs over all of the answers' tokens of the batch.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    count, zero = mask.sum(1), torch.zeros_like(new)
    new, old, advantages, values, old_values, returns = (
        torch.where(mask, x, zero) for x in (new, old, advantages, values, old_values, returns)
    )
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    error = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2)
    policy, value = (-(torch.minimum(free, held).sum(1) / count).mean(), (error.sum(1) / count).mean())
    return policy, value, ((held < free) & mask).sum().item() / mask.sum().item()


# %% mutant="align_ppo"
# The share of the ratios
# Not every ratio outside the range is clipped. Where the token moved the wrong way, the unclipped product is the smaller one, and the
# token keeps its gradient.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (
        x[mask] for x in (new, old, advantages, values, old_values, returns)
    )
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    outside = (ratio - 1).abs() > clip
    return -torch.minimum(free, held).mean(), value_loss, outside.float().mean().item()


# %% mutant="align_ppo"
# The smaller squared error
# The value loss is pessimistic, too: the larger of the two squared errors counts. With the smaller one, a value that is far off
# may get no gradient.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (
        x[mask] for x in (new, old, advantages, values, old_values, returns)
    )
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.minimum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.minimum(free, held).mean(), value_loss, (held < free).float().mean().item()


# %% mutant="align_ppo"
# The mask comes after exp
# `where` hides the nan of −inf − (−inf) from the loss, but not from the gradient, which becomes 0 · nan = nan. Cut off what doesn't
# count, or replace it, before `exp`.
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = torch.where(mask, (new - old).exp(), 0.0)
    advantages = torch.where(mask, advantages, 0.0)
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    error = torch.where(mask, torch.maximum((values - returns) ** 2, (near - returns) ** 2), 0.0)
    policy, count = torch.where(mask, torch.minimum(free, held), 0.0).sum(), mask.sum()
    return -policy / count, 0.5 * error.sum() / count, ((held < free).sum() / count).item()


# %% [markdown] exercise="align_grpo" kind="build" points=4 minutes=20
# ### Exercise 9 · GRPO and three corrections
# GRPO samples K answers to each of G prompts and needs no value function: the advantage of an answer is its reward compared
# with its group's. Write the advantages and the loss, with the switches of three papers: *Dr. GRPO* doesn't divide by the
# standard deviation and averages with a constant; *DAPO* averages over all tokens and has a higher upper clip; *GSPO* uses one
# ratio for a whole answer, the exponential of its mean log-ratio. All have PPO's minimum of two products. The loss adds `beta`
# times the k3 estimate of the KL to the reference, averaged in the same way.


# %% solution="align_grpo"
def group_advantages(rewards: torch.Tensor, scale: bool = True) -> torch.Tensor:
    """The advantages (G, K) of rewards (G, K): each minus its group's mean.

    With `scale` they are divided by the group's standard deviation, with K − 1 in the denominator, plus 1e-4. A
    group whose rewards are equal gets 0, up to rounding, and one that has one answer gets 0.
    """
    ### BEGIN SOLUTION
    centred = rewards - rewards.mean(1, keepdim=True)
    if not scale or rewards.shape[1] == 1:
        return centred
    return centred / (rewards.std(1, keepdim=True) + 1e-4)
    ### END SOLUTION


def grpo_loss(
    new: torch.Tensor,
    old: torch.Tensor,
    ref: torch.Tensor,
    mask: torch.Tensor,
    advantages: torch.Tensor,
    average: str = "answer",
    ratio: str = "token",
    low: float = 0.2,
    high: float = 0.2,
    beta: float = 0.0,
) -> torch.Tensor:
    """The loss of N answers, a scalar; only `new` gets a gradient.

    `new`, `old`, `ref` and `mask` are (N, T), `advantages` (N,); log-probabilities outside the mask may be -inf.
    The ratio is kept within 1 − low and 1 + high. `average`: "answer" is the mean over answers of each one's mean
    over its tokens (an answer without tokens counts as 0), "batch" the mean over all tokens (0 if there is none),
    "constant" the sum over all tokens divided by N·T. `ratio` is "token" or "sequence". k3 of a token is exp(d) − 1
    − d with d = ref − new.
    """
    ### BEGIN SOLUTION
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages)
    objective = objective - beta * (gap.exp() - 1 - gap)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    return -(objective * mask / counts[average]).sum()
    ### END SOLUTION


# %% check="align_grpo"
generator = check.rng()
G, K, T = 3, 4, 7
N = G * K
rewards = drawn(generator, G, K)
rewards[1] = 0.7
lengths = torch.tensor(generator.permutation([1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 7, 7]))
mask = torch.arange(T) < lengths[:, None]
mask[int(lengths.argmax()), 2:4] = False
old = drawn(generator, N, T, shift=-3.0)
far = torch.tensor(generator.permutation(np.linspace(-0.9, 0.9, N * T)).astype("float32").reshape(N, T))
ref = old + drawn(generator, N, T, scale=0.5)
advantages = torch.tensor(generator.permutation(np.linspace(-2.0, 1.8, N)).astype("float32"))


def tried(new, old, ref, mask, advantages, **named):
    tensors = [each.clone().requires_grad_() for each in (new, old, ref, advantages)]
    loss = check.intact(grpo_loss, *tensors[:3], mask, tensors[3], **named)
    loss.backward()
    frozen = all(each.grad is None or not each.grad.any().item() for each in tensors[1:])
    untouched = all(each.requires_grad for each in tensors)
    return {"loss": loss, "gradient": tensors[0].grad, "all else is frozen, and untouched": [frozen, untouched]}


inputs = old + far, old, ref, mask, advantages
hidden = [each.masked_fill(~mask, -math.inf) for each in inputs[:3]]
empty = mask & (torch.arange(N) != 0)[:, None]
check.show(
    {
        "rewards": rewards,
        "advantages": group_advantages(rewards),
        "not scaled": group_advantages(rewards, scale=False),
        "two answers": group_advantages(rewards[:, :2]),
        "one answer": group_advantages(rewards[:, :1]),
        "a thousandth of the rewards": group_advantages(rewards / 1000),
        "a millionth of the rewards": group_advantages(rewards / 10**6),
        "three equal rewards: near 0": bool(group_advantages(torch.full((1, 3), 0.9)).abs().max() < 0.01),
        "GRPO": tried(*inputs),
        "GRPO with a KL": tried(*inputs, beta=0.3),
        "DAPO": tried(*inputs, average="batch", high=0.45),
        "Dr. GRPO": tried(*inputs, average="constant", beta=0.3),
        "GSPO": tried(*inputs, ratio="sequence", low=0.02, high=0.03),
        "GSPO with a KL": tried(*inputs, ratio="sequence", beta=0.3),
        "Dr. GRPO, no answer as long as T": tried(
            *inputs[:3], mask & (torch.arange(T) < T - 2), advantages, average="constant"
        ),
        "GSPO with the other averages": [
            tried(*inputs, ratio="sequence", average=average, beta=0.3) for average in ("batch", "constant")
        ],
        "before the first step": tried(old, old, ref, mask, advantages),
        "no tokens at all": tried(*inputs[:3], mask & False, advantages, average="batch"),
        "an answer without tokens": [
            tried(*inputs[:3], empty, advantages, ratio=ratio, beta=0.3) for ratio in ("token", "sequence")
        ],
        "-inf outside the mask, in one of the three": [
            tried(*inputs[:each], hidden[each], *inputs[each + 1 :], beta=0.3) for each in range(3)
        ],
        "one token": tried(*(each[:1, :1] for each in inputs[:4]), advantages[:1], beta=0.3),
        "-inf outside the mask": [
            tried(*hidden, mask, advantages, beta=0.3),
            tried(*hidden, mask, advantages, ratio="sequence"),
        ],
    },
    rtol=1e-4,
    atol=1e-5,
    text="Advantages; losses and the gradient of the new log-probabilities.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(N·T) for the loss. Three models instead of PPO's four, or two without the KL; the price is K samples for each
# prompt, and generation is most of the time.
#
# 1. *All rewards of a group are equal. What does it teach?* "Nothing, its advantages are 0. DAPO filters such prompts out and
#    samples others, so that the batch keeps its size."
# 2. *Which bias does the mean over each answer bring?* "A wrong answer's penalty is divided by its length, so long wrong
#    answers are punished less per token, and wrong answers tend to grow. A constant or the batch's token count removes that."
# 3. *Why does GSPO take one ratio?* "The reward belongs to the whole answer. Token ratios are noisy, especially when an MoE
#    routes tokens differently in sampler and trainer."
#
# </details>

# %% [markdown] hint="align_grpo"
# Write the loss as a sum over tokens of objective times weight. Then the three averages differ in the weight alone.

# %% [markdown] hint="align_grpo"
# A token's weight is 1 / (N · its answer's length), 1 / all tokens, or 1 / (N·T). Replace differences outside the mask by 0
# before `exp`. For GSPO the change of every token becomes its answer's mean change.

# %% [markdown] hint="align_grpo"
# `change = torch.where(mask, new - old.detach(), 0.0)`, then `torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A)` minus `beta
# * (gap.exp() - 1 - gap)`, times the mask, divided by the counts, summed and negated. `std` of one answer is nan: return its
# centred rewards.


# %% mutant="align_grpo"
# Divides by a std of 0
# Equal rewards have a standard deviation of 0, and 0 / 0 is nan. The small constant keeps such a group at 0.
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / rewards.std(1, keepdim=True) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages) - beta * (gap.exp() - 1 - gap)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    return -(objective * mask / counts[average]).sum()


# %% mutant="align_grpo"
# The population's standard deviation
# `std` divides by K − 1, as is asked for here. With K in the denominator all advantages are larger, by 15 % for four answers.
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True, unbiased=False) + 1e-4) if scale else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages) - beta * (gap.exp() - 1 - gap)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    return -(objective * mask / counts[average]).sum()


# %% mutant="align_grpo"
# One group of all
# Answers to different prompts are compared here. Then an easy prompt's answers are all good, whatever they say.
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean()
    return centred / (rewards.std() + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages) - beta * (gap.exp() - 1 - gap)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    return -(objective * mask / counts[average]).sum()


# %% mutant="align_grpo"
# Groups are mixed
# The mean runs over the prompts, so answer k of each prompt is compared with answer k of the others. Groups are the rows.
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(0, keepdim=True)
    return centred / (rewards.std(0, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages) - beta * (gap.exp() - 1 - gap)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    return -(objective * mask / counts[average]).sum()


# %% mutant="align_grpo"
# Scaled where it biases
# Dr. GRPO leaves the division by the standard deviation out. With it, very easy and very hard prompts weigh most.
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages) - beta * (gap.exp() - 1 - gap)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    return -(objective * mask / counts[average]).sum()


# %% mutant="align_grpo"
# One average for all
# Every token of the batch has the same weight here, which is DAPO's average. GRPO's takes each answer's mean first.
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages) - beta * (gap.exp() - 1 - gap)
    return -(objective * mask).sum() / mask.sum().clamp(min=1)


# %% mutant="align_grpo"
# The KL is averaged in another way
# The KL of a token has to get the weight of its policy term. Averaged over all tokens of the batch, it is stronger or weaker
# than `beta` says.
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    kl = ((gap.exp() - 1 - gap) * mask).sum() / mask.sum().clamp(min=1)
    return -(objective * mask / counts[average]).sum() + beta * kl


# %% mutant="align_grpo"
# The KL is rewarded
# The loss *adds* β·KL. With this sign the policy is paid for leaving the reference.
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages) + beta * (gap.exp() - 1 - gap)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    return -(objective * mask / counts[average]).sum()


# %% mutant="align_grpo"
# One clip for both sides
# DAPO's upper limit is 1 + high, its own number: unlikely tokens of good answers get more room to rise.
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + low) * advantages) - beta * (gap.exp() - 1 - gap)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    return -(objective * mask / counts[average]).sum()


# %% mutant="align_grpo"
# The ratio of whole answers isn't normalized
# GSPO takes the *mean* log-ratio of an answer's tokens. Their sum grows with the length, and nearly every long answer is
# clipped.
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = change.sum(1, keepdim=True).expand(*mask.shape)
    r, advantages = change.exp(), advantages.detach()[:, None]
    objective = torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages) - beta * (gap.exp() - 1 - gap)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    return -(objective * mask / counts[average]).sum()


# %% [markdown] exercise="align_kl" kind="measure" points=3
# ### Exercise 10 · k1, k2, k3
# The KL divergence from the policy p to the reference q is estimated from tokens that p sampled. With d = log q − log p of the
# sampled token, k1 = −d, k2 = d²/2 and k3 = exp(d) − 1 − d. Find out by enumeration what each is worth: its mean and variance
# as an *estimate*, and the expected gradient when it is put into the *loss*, where sampled tokens are constants.


# %% solution="align_kl"
def judge_estimators(logits: torch.Tensor, reference: torch.Tensor) -> dict[str, tuple[float, float, torch.Tensor]]:
    """For "k1", "k2" and "k3" a triple: mean, variance, and expected gradient (V,) with respect to `logits`.

    `logits` and `reference` (V,) belong to the policy and the reference. The gradient of a sample flows through the
    log p in the estimator's formula alone, as it does in a training step, and is then averaged over the tokens that
    p samples.
    """
    ### BEGIN SOLUTION
    p, found = logits.softmax(0), {}
    for name in ("k1", "k2", "k3"):
        leaf = logits.clone().requires_grad_()
        d = reference.log_softmax(0) - leaf.log_softmax(0)
        k = {"k1": -d, "k2": d**2 / 2, "k3": d.exp() - 1 - d}[name]
        mean = (p * k).sum()
        mean.backward()
        found[name] = mean.item(), (p * (k - mean) ** 2).sum().item(), leaf.grad
    return found
    ### END SOLUTION


# %% check="align_kl"
generator = check.rng()
V = int(generator.integers(4, 7))
logits, reference = drawn(generator, V), drawn(generator, V)
leaf = logits.clone().requires_grad_()
logp = leaf.log_softmax(0)
kl = (logp.exp() * (logp - reference.log_softmax(0))).sum()
kl.backward()


def table(logits, reference):
    found = judge_estimators(logits.clone(), reference.clone())
    return {name: dict(zip(("mean", "variance", "gradient"), found[name], strict=True)) for name in ("k1", "k2", "k3")}


check.show(
    {
        "the true KL": kl,
        "its gradient": leaf.grad,
        "estimators": table(logits, reference),
        "a policy far away": table(2.5 * logits, reference),
        "a policy that is the reference": table(reference, reference),
    },
    rtol=1e-3,
    atol=1e-5,
    text="The KL and its gradient, and what each estimator gives on average.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** each estimator needs the sampled token's two log-probabilities only, O(1) a token; the exact KL of a token's
# distribution needs V of them.
#
# 1. *Which one has the right gradient as a loss?* "On samples of the current policy, k2 has: its expected gradient is the
#    gradient of the reverse KL. k1's is 0, since the score has mean zero, and k3's is the gradient of the forward KL."
# 2. *Then what is k1 good for?* "In the reward. There it is a number, no gradient flows through it, and the policy gradient of
#    an unbiased estimate is right."
# 3. *The samples are a few updates old. What changes?* "All three become biased, in value and gradient. Each needs the
#    importance ratio of the token, or the exact KL over the vocabulary."
#
# </details>

# %% [markdown] hint="align_kl"
# An expectation over tokens is a sum weighted by p. Is that weight a function of the logits when a sample's loss is
# differentiated?

# %% [markdown] hint="align_kl"
# The weights are constants: the token was drawn already. So p comes from the logits without a gradient; sum `p * k` and call
# `backward`.

# %% [markdown] hint="align_kl"
# `d = reference.log_softmax(0) - leaf.log_softmax(0)`; the mean is `(p * k).sum()`, the variance `(p * (k - mean) ** 2).sum()`,
# the gradient `leaf.grad` after `mean.backward()`, with a fresh leaf for each estimator.


# %% mutant="align_kl"
# The weights get a gradient
# This differentiates the expectation, sampling included. In a training step the sampled tokens are constants, so only the log p
# in the formula has a gradient.
def judge_estimators(logits, reference):
    found = {}
    for name in ("k1", "k2", "k3"):
        leaf = logits.detach().requires_grad_()
        logp = leaf.log_softmax(0)
        d = reference.log_softmax(0) - logp
        k = {"k1": -d, "k2": d**2 / 2, "k3": d.exp() - 1 - d}[name]
        mean = (logp.exp() * k).sum()
        mean.backward()
        found[name] = mean.item(), (logp.exp() * (k - mean) ** 2).sum().item(), leaf.grad
    return found


# %% mutant="align_kl"
# k3 upside down
# d is log q − log p, with the reference on top. With the inverse ratio, k3 isn't an estimate of this KL any more.
def judge_estimators(logits, reference):
    found = {}
    for name in ("k1", "k2", "k3"):
        leaf = logits.detach().requires_grad_()
        logp = leaf.log_softmax(0)
        p, d = logp.exp().detach(), reference.log_softmax(0) - logp
        k = {"k1": -d, "k2": d**2 / 2, "k3": (-d).exp() - 1 + d}[name]
        mean = (p * k).sum()
        mean.backward()
        found[name] = mean.item(), (p * (k - mean) ** 2).sum().item(), leaf.grad
    return found


# %% mutant="align_kl"
# Tokens of the reference
# The policy samples the tokens, so its probabilities are the weights. Weighted with the reference's, the mean of k1 is minus
# the other KL.
def judge_estimators(logits, reference):
    found, q = {}, reference.softmax(0)
    for name in ("k1", "k2", "k3"):
        leaf = logits.detach().requires_grad_()
        d = reference.log_softmax(0) - leaf.log_softmax(0)
        k = {"k1": -d, "k2": d**2 / 2, "k3": d.exp() - 1 - d}[name]
        mean = (q * k).sum()
        mean.backward()
        found[name] = mean.item(), (q * (k - mean) ** 2).sum().item(), leaf.grad
    return found


# %% mutant="align_kl"
# All tokens count the same
# An expectation is weighted by the policy's probabilities. The plain mean over the vocabulary is that of a uniform sampler.
def judge_estimators(logits, reference):
    found = {}
    for name in ("k1", "k2", "k3"):
        leaf = logits.detach().requires_grad_()
        d = reference.log_softmax(0) - leaf.log_softmax(0)
        k = {"k1": -d, "k2": d**2 / 2, "k3": d.exp() - 1 - d}[name]
        k.mean().backward()
        found[name] = k.mean().item(), k.var(unbiased=False).item(), leaf.grad
    return found


# %% mutant="align_kl"
# k1 stands for the KL
# The gradient of the KL isn't what k1 gives as a loss: the mean of the score is 0, so k1's expected gradient is 0.
def judge_estimators(logits, reference):
    found = {}
    for name in ("k1", "k2", "k3"):
        leaf = logits.detach().requires_grad_()
        logp = leaf.log_softmax(0)
        p, d = logp.exp().detach(), reference.log_softmax(0) - logp
        k = {"k1": -d, "k2": d**2 / 2, "k3": d.exp() - 1 - d}[name]
        mean = (p * k).sum()
        ((logp.exp() * k).sum() if name == "k1" else mean).backward()
        found[name] = mean.item(), (p * (k - mean) ** 2).sum().item(), leaf.grad
    return found


# %% mutant="align_kl"
# The second moment
# The variance is taken around the mean. E[k²] is larger by the squared mean.
def judge_estimators(logits, reference):
    found = {}
    for name in ("k1", "k2", "k3"):
        leaf = logits.detach().requires_grad_()
        logp = leaf.log_softmax(0)
        p, d = logp.exp().detach(), reference.log_softmax(0) - logp
        k = {"k1": -d, "k2": d**2 / 2, "k3": d.exp() - 1 - d}[name]
        mean = (p * k).sum()
        mean.backward()
        found[name] = mean.item(), (p * k**2).sum().item(), leaf.grad
    return found


# %% [markdown] exercise="align_distill" kind="build" points=3
# ### Exercise 11 · Distillation, forward and reverse
# A student learns from a teacher's distributions at temperature T and from labels at temperature 1. The loss is α·T² times the
# KL divergence plus (1 − α) times the cross-entropy of the labels. The *forward* KL is KL(teacher ‖ student); the *reverse*
# one, KL(student ‖ teacher), is what on-policy distillation uses on answers that the student wrote.


# %% solution="align_distill"
def distill_loss(
    student: torch.Tensor,
    teacher: torch.Tensor,
    labels: torch.Tensor,
    temperature: float = 2.0,
    alpha: float = 0.5,
    reverse: bool = False,
) -> torch.Tensor:
    """A scalar: the mean over the positions whose label isn't −100, of which there is at least one.

    `student` and `teacher` are logits (B, T, V), `labels` (B, T) tokens, and −100 where a position doesn't count at
    all. The teacher gets no gradient, and its probabilities may underflow to 0.
    """
    ### BEGIN SOLUTION
    kept = labels != -100
    student, teacher, labels = student[kept], teacher[kept].detach(), labels[kept]
    logs = [(each / temperature).log_softmax(-1) for each in (student, teacher)]
    p, q = logs if reverse else logs[::-1]
    kl = (p.exp() * (p - q)).sum(-1).mean()
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)
    ### END SOLUTION


# %% check="align_distill"
generator = check.rng()
B, T, V = 2, 5, 6
student, teacher = drawn(generator, B, T, V, scale=2.0), drawn(generator, B, T, V, scale=2.0)
labels = torch.tensor(generator.integers(0, V, (B, T)))
labels[0, :3], labels[1, 4] = -100, -100
temperature, alpha = float(generator.uniform(1.5, 4.0)), float(generator.uniform(0.2, 0.8))


def tried(student, teacher, labels, *options, **named):
    student, teacher = student.clone().requires_grad_(), teacher.clone().requires_grad_()
    loss = check.intact(distill_loss, student, teacher, labels.clone(), *options, **named)
    loss.backward()
    frozen = teacher.grad is None or not teacher.grad.any().item()
    return {"loss": loss, "gradient": student.grad, "the teacher is frozen": frozen}


check.show(
    {
        "temperature, alpha": [temperature, alpha],
        "labels": labels,
        "forward": tried(student, teacher, labels, temperature, alpha),
        "reverse": tried(student, teacher, labels, temperature, alpha, reverse=True),
        "the KL alone": tried(student, teacher, labels, temperature, 1.0),
        "the labels alone": tried(student, teacher, labels, temperature, 0.0),
        "nothing to learn": tried(teacher, teacher, labels, temperature, 1.0),
        "one position": tried(student[:1, 3:4], teacher[:1, 3:4], labels[:1, 3:4], temperature, alpha),
        "a teacher without doubt": tried(student, 200 * teacher, labels, 1.0, 1.0),
        "a teacher without doubt, reverse": tried(student, 200 * teacher, labels, 1.0, 1.0, reverse=True),
        "a student without doubt": tried(200 * student, teacher, labels, 1.0, 1.0, reverse=True),
    },
    rtol=1e-4,
    atol=1e-5,
    text="Losses, and the gradient of the student's logits.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** O(N·V) time and memory for the log-softmax of both models, plus the teacher's forward pass. Storing a teacher's
# logits offline takes V numbers a token, so people keep the top k, with the rest as one bucket.
#
# 1. *Why T²?* "The gradient of the softened KL shrinks like 1/T². The factor keeps its size comparable with the labels' when T
#    is changed."
# 2. *Forward or reverse?* "Forward KL covers all of the teacher's modes, and punishes a student that gives one of them
#    probability 0. Reverse KL seeks one mode; on the student's own answers it corrects the states the student really visits."
# 3. *What if the tokenizers differ?* "Then the distributions aren't over the same tokens. I would distil on text, or align by
#    character positions."
#
# </details>

# %% [markdown] hint="align_distill"
# Select the positions that count first; then there are N rows, and every mean is over N. Which of the two distributions is the
# weight in KL(p ‖ q)?

# %% [markdown] hint="align_distill"
# KL(p ‖ q) is Σ p · (log p − log q). Take both logs from `log_softmax` of the logits over T, so that a probability of 0 isn't
# logged.

# %% [markdown] hint="align_distill"
# `(p.exp() * (p - q)).sum(-1).mean()` with log-probabilities p and q: p is the teacher's in the forward direction, the
# student's in reverse. The labels' term is `F.cross_entropy(student, labels)`, without temperature.


# %% mutant="align_distill"
# T² is forgotten
# Softened by T, the gradient of the KL shrinks like 1/T². Without the factor the labels dominate at high temperatures.
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    kept = labels != -100
    student, teacher, labels = student[kept], teacher[kept].detach(), labels[kept]
    logs = [(each / temperature).log_softmax(-1) for each in (student, teacher)]
    p, q = logs if reverse else logs[::-1]
    return alpha * (p.exp() * (p - q)).sum(-1).mean() + (1 - alpha) * F.cross_entropy(student, labels)


# %% mutant="align_distill"
# T, not T²
# The gradient of the KL shrinks like 1/T²: once because the logits are divided by T, and once because the two softened distributions
# are closer to each other. The factor is T² and not T.
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    kept = labels != -100
    student, teacher, labels = student[kept], teacher[kept].detach(), labels[kept]
    logs = [(each / temperature).log_softmax(-1) for each in (student, teacher)]
    p, q = logs if reverse else logs[::-1]
    kl = (p.exp() * (p - q)).sum(-1).mean()
    return alpha * temperature * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% mutant="align_distill"
# The directions are exchanged
# Forward is KL(teacher ‖ student), in which the teacher's probabilities are the weights. `F.kl_div(input, target)` also puts
# its *second* argument in front.
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    kept = labels != -100
    student, teacher, labels = student[kept], teacher[kept].detach(), labels[kept]
    logs = [(each / temperature).log_softmax(-1) for each in (student, teacher)]
    p, q = logs[::-1] if reverse else logs
    kl = (p.exp() * (p - q)).sum(-1).mean()
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% mutant="align_distill"
# A mean over the vocabulary
# KL is a *sum* over the vocabulary and a mean over positions. `kl_div`'s default reduction divides by the vocabulary as well.
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    kept = labels != -100
    student, teacher, labels = student[kept], teacher[kept].detach(), labels[kept]
    logs = [(each / temperature).log_softmax(-1) for each in (student, teacher)]
    p, q = logs if reverse else logs[::-1]
    kl = (p.exp() * (p - q)).mean()
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% mutant="align_distill"
# The teacher learns
# The teacher is frozen. Without `detach` it gets a gradient that moves it towards the student.
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    kept = labels != -100
    student, teacher, labels = student[kept], teacher[kept], labels[kept]
    logs = [(each / temperature).log_softmax(-1) for each in (student, teacher)]
    p, q = logs if reverse else logs[::-1]
    kl = (p.exp() * (p - q)).sum(-1).mean()
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% mutant="align_distill"
# The labels are softened
# The temperature belongs to the KL. The cross-entropy of the labels uses the student's logits as they are.
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    kept = labels != -100
    student, teacher, labels = student[kept], teacher[kept].detach(), labels[kept]
    logs = [(each / temperature).log_softmax(-1) for each in (student, teacher)]
    p, q = logs if reverse else logs[::-1]
    kl = (p.exp() * (p - q)).sum(-1).mean()
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student / temperature, labels)


# %% mutant="align_distill"
# The KL counts every position
# −100 marks positions that don't count at all, such as prompts and padding. The labels' term skips them by itself; the KL has
# to be told.
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    logs = [(each / temperature).log_softmax(-1) for each in (student, teacher.detach())]
    p, q = logs if reverse else logs[::-1]
    kl = (p.exp() * (p - q)).sum(-1).mean()
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student.transpose(1, 2), labels)


# %% mutant="align_distill"
# The log of a softmax
# A probability that underflows to 0 has the logarithm -inf, and 0 · inf is nan. `log_softmax` never leaves log space.
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    kept = labels != -100
    student, teacher, labels = student[kept], teacher[kept].detach(), labels[kept]
    both = [(each / temperature).softmax(-1) for each in (student, teacher)]
    p, q = both if reverse else both[::-1]
    kl = (p * (p.log() - q.log())).sum(-1).mean()
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% [markdown] exercise="align_muon" kind="build" points=3 minutes=15
# ### Exercise 12 · Muon beside AdamW
# Muon replaces a matrix's momentum by a nearly orthogonal matrix with the same singular vectors. Write the Newton–Schulz
# iteration that does it without an SVD, and one step for the parameters of a model. Muon is for the hidden weight matrices.
# Embeddings, the output head, and everything that isn't a matrix are left to AdamW.


# %% solution="align_muon"
def newton_schulz(g: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """The matrix (m, n) with singular values taken near 1.

    Divide by the Frobenius norm plus 1e-7, then repeat X ← a X + (b A + c A²) X with A = X Xᵀ and a, b, c = 3.4445,
    −4.7750, 2.0315. If m > n, iterate on the transpose, so that A has the smaller side.
    """
    ### BEGIN SOLUTION
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if g.shape[0] > g.shape[1] else x
    ### END SOLUTION


def muon_step(
    parameters: dict[str, torch.Tensor], buffers: dict[str, torch.Tensor], lr: float, momentum: float = 0.95
) -> list[str]:
    """Update Muon's share of the parameters in place by their `.grad`, and return the names of all others, sorted.

    A parameter is Muon's if it has two dimensions and its name contains neither "embed" nor "head". Its buffer,
    which starts at 0 under the parameter's name, becomes momentum · buffer + (1 − momentum) · grad. The update is
    the Newton–Schulz of the Nesterov mix, (1 − momentum) · grad + momentum · buffer, with the new buffer, and is
    scaled by √max(1, m / n) for an (m, n) matrix. Parameters without a gradient aren't touched.
    """
    ### BEGIN SOLUTION
    others = []
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.dim() != 2 or "embed" in name or "head" in name:
                others.append(name)
            elif parameter.grad is not None:
                grad = parameter.grad
                buffer = momentum * buffers.get(name, torch.zeros_like(grad)) + (1 - momentum) * grad
                buffers[name] = buffer
                mixed = (1 - momentum) * grad + momentum * buffer
                m, n = parameter.shape
                parameter -= lr * max(1, m / n) ** 0.5 * newton_schulz(mixed)
    return sorted(others)
    ### END SOLUTION


# %% check="align_muon"
generator = check.rng()
wide, tall = drawn(generator, 3, 7), drawn(generator, 8, 3, scale=50.0)
shapes = {
    "wte.embed": (9, 4),
    "a.weight": (6, 4),
    "a.bias": (6,),
    "lm_head": (9, 4),
    "b.weight": (3, 5),
    "c.conv": (2, 3, 2),
}
parameters = {name: drawn(generator, *shape).requires_grad_() for name, shape in shapes.items()}
frozen = {"a.frozen": drawn(generator, 2, 3), "b.embed": drawn(generator, 2, 3)}
before = {name: each.detach().clone() for name, each in (parameters | frozen).items()}
buffers, trace, gradients = {}, [], []
for _ in range(3):
    for each in parameters.values():
        each.grad = drawn(generator, *each.shape)
    gradients.append(parameters["a.weight"].grad.clone())
    others = muon_step(parameters | frozen, buffers, 0.1, 0.8)
    trace.append([parameters[name].detach().clone() for name in ("a.weight", "b.weight")])
moved = {name: not torch.equal(each, before[name]) for name, each in (parameters | frozen).items()}
mutated = not torch.equal(gradients[-1], parameters["a.weight"].grad)
orthogonal = [newton_schulz(each) for each in (wide, tall)]
start = {"w": torch.ones(2, 3).requires_grad_()}
start["w"].grad = wide[:2, :3].clone()
muon_step(start, {}, 0.5)
check.show(
    {
        "wide": wide,
        "wide, orthogonalized": orthogonal[0],
        "tall, orthogonalized": orthogonal[1],
        "singular values": [torch.linalg.svdvals(each) for each in orthogonal],
        "one step of the iteration": newton_schulz(wide, 1),
        "one row and one column": [newton_schulz(wide[:1]), newton_schulz(tall[:, :1])],
        "square, orthogonalized": newton_schulz(wide[:, :3]),
        "a matrix of zeros": newton_schulz(torch.zeros(2, 4)),
        "a matrix of norm 1e-7": newton_schulz(wide / wide.norm() * 1e-7),
        "left to AdamW": others,
        "moved": moved,
        "weights after each step": trace,
        "gradients were changed": mutated,
        "gradients are recorded": torch.is_grad_enabled(),
        "buffers": {name: each.detach() for name, each in sorted(buffers.items())},
        "default momentum": start["w"].detach(),
    },
    rtol=2e-3,
    atol=1e-3,
    text="Orthogonalized matrices, who was moved, and the weights.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** with m ≤ n an iteration costs about 4m²n + 2m³ FLOPs, so five take 20m²n + 10m³. Against the 6mn·tokens of a training
# step that is below a per cent for large batches. One buffer instead of Adam's two halves the optimizer's state.
#
# 1. *What does it equalize?* "The singular values of the update go to about 0.7 to 1.2, so rare directions move as far as the
#    dominant ones. Values below about 0.002 of the norm stay smaller, because five steps aren't enough for them."
# 2. *Why not for embeddings?* "A row of an embedding is looked up, not multiplied through, and its gradients are sparse; there
#    Adam's step for each element fits better. The head and the vectors get AdamW for similar reasons, and because it works
#    better."
# 3. *Q, K and V are one fused matrix. What do you do?* "I would orthogonalize the three parts separately: they are three maps
#    that only share memory."
#
# </details>

# %% [markdown] hint="align_muon"
# The iteration is a polynomial in the singular values, which converges only if they are at most about 1. What makes sure of
# that, and which side should X Xᵀ have?

# %% [markdown] hint="align_muon"
# Transpose a tall matrix before and after. In the step, the buffer is an average of gradients; the update mixes the gradient
# with the *new* buffer once more.

# %% [markdown] hint="align_muon"
# `square = x @ x.T; x = a * x + (b * square + c * square @ square) @ x`. Then `parameter -= lr * max(1, m / n) ** 0.5 *
# newton_schulz(mixed)` under `torch.no_grad()`, and don't write into `.grad`.


# %% mutant="align_muon"
# Starts from the raw matrix
# The polynomial diverges for singular values above about 1.3. Dividing by the Frobenius norm brings them all to at most 1.
def newton_schulz(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x.clamp(-1, 1)
    for _ in range(steps):
        square = x @ x.T
        x = (a * x + (b * square + c * square @ square) @ x).clamp(-3, 3)
    return x.T if g.shape[0] > g.shape[1] else x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = []
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.dim() != 2 or "embed" in name or "head" in name:
                others.append(name)
            elif parameter.grad is not None:
                buffer = momentum * buffers.get(name, 0.0) + (1 - momentum) * parameter.grad
                buffers[name] = buffer
                mixed = (1 - momentum) * parameter.grad + momentum * buffer
                m, n = parameter.shape
                parameter -= lr * max(1, m / n) ** 0.5 * newton_schulz(mixed)
    return sorted(others)


# %% mutant="align_muon"
# Embeddings and heads, too
# Any matrix is given to Muon here. Embeddings and the output head are matrices by their shape, but belong to AdamW.
def newton_schulz(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = []
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.dim() != 2:
                others.append(name)
            elif parameter.grad is not None:
                buffer = momentum * buffers.get(name, 0.0) + (1 - momentum) * parameter.grad
                buffers[name] = buffer
                mixed = (1 - momentum) * parameter.grad + momentum * buffer
                m, n = parameter.shape
                parameter -= lr * max(1, m / n) ** 0.5 * newton_schulz(mixed)
    return sorted(others)


# %% mutant="align_muon"
# No Nesterov mix
# The buffer itself is orthogonalized here. The gradient is mixed with the new buffer once more, which looks one step ahead.
def newton_schulz(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = []
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.dim() != 2 or "embed" in name or "head" in name:
                others.append(name)
            elif parameter.grad is not None:
                buffers[name] = momentum * buffers.get(name, 0.0) + (1 - momentum) * parameter.grad
                m, n = parameter.shape
                parameter -= lr * max(1, m / n) ** 0.5 * newton_schulz(buffers[name])
    return sorted(others)


# %% mutant="align_muon"
# No scale for the shape
# An (m, n) update with m > n is scaled by √(m/n), so that the outputs of a tall matrix move as much as those of a square one.
def newton_schulz(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = []
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.dim() != 2 or "embed" in name or "head" in name:
                others.append(name)
            elif parameter.grad is not None:
                buffer = momentum * buffers.get(name, 0.0) + (1 - momentum) * parameter.grad
                buffers[name] = buffer
                mixed = (1 - momentum) * parameter.grad + momentum * buffer
                parameter -= lr * newton_schulz(mixed)
    return sorted(others)


# %% mutant="align_muon"
# Normalizes each row
# The rows have norm 1 afterwards, but they aren't orthogonal: the singular values still differ.
def newton_schulz(g, steps=5):
    return g / (g.norm(dim=1, keepdim=True) + 1e-7)


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = []
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.dim() != 2 or "embed" in name or "head" in name:
                others.append(name)
            elif parameter.grad is not None:
                buffer = momentum * buffers.get(name, 0.0) + (1 - momentum) * parameter.grad
                buffers[name] = buffer
                mixed = (1 - momentum) * parameter.grad + momentum * buffer
                m, n = parameter.shape
                parameter -= lr * max(1, m / n) ** 0.5 * newton_schulz(mixed)
    return sorted(others)


# %% mutant="align_muon"
# Momentum is thrown away
# The buffer isn't kept from step to step, so every update is that of the current gradient alone.
def newton_schulz(g, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = []
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.dim() != 2 or "embed" in name or "head" in name:
                others.append(name)
            elif parameter.grad is not None:
                m, n = parameter.shape
                parameter -= lr * max(1, m / n) ** 0.5 * newton_schulz(parameter.grad)
    return sorted(others)


# %% [markdown] exercise="align_scaling" kind="build" points=3
# ### Exercise 13 · A compute budget
# Somebody trained models of several sizes at each of a few compute budgets. Find the best size for each budget, extrapolate the
# line through them, and plan the next run. Training costs 6·N·D FLOPs for N parameters and D tokens. Then plan a model that
# will also *serve* tokens, at 2·N FLOPs each.


# %% solution="align_scaling"
def fit_sizes(budgets: np.ndarray, sizes: np.ndarray, losses: np.ndarray) -> tuple[float, float]:
    """The k and a of N = k · Cᵃ, the best size for a budget of C FLOPs.

    `budgets` (R,), `sizes` and `losses` (R, M). The best size of a budget is where the parabola through its losses,
    as a function of log N, is smallest (least squares). k and a are a straight line through the logarithms of
    budgets and best sizes.
    """
    ### BEGIN SOLUTION
    best = []
    for size, loss in zip(sizes, losses, strict=True):
        curve = np.polyfit(np.log(size), loss, 2)
        best.append(-curve[1] / (2 * curve[0]))
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)
    ### END SOLUTION


def plan(budget: float, k: float, a: float, gpus: int, peak: float, mfu: float) -> tuple[float, float, float]:
    """Parameters, tokens and days of the best run: `peak` FLOP/s for each GPU, of which `mfu` is reached."""
    ### BEGIN SOLUTION
    size = k * budget**a
    return size, budget / (6 * size), budget / (gpus * peak * mfu) / 86400
    ### END SOLUTION


def cheapest(sizes: np.ndarray, law: tuple[float, float, float, float, float], loss: float, served: float) -> int:
    """The index of the size with the fewest FLOPs for training and serving, among those that can reach `loss`.

    `law` is (E, A, alpha, B, beta) of the loss E + A/N^alpha + B/D^beta. Each size is trained on as many tokens D
    as it needs for exactly `loss`, and serves `served` tokens. A size whose loss stays above `loss` for any D
    cannot reach it.
    """
    ### BEGIN SOLUTION
    E, A, alpha, B, beta = law
    possible = np.flatnonzero(loss - E - A / sizes**alpha > 0)
    N = sizes[possible]
    tokens = (B / (loss - E - A / N**alpha)) ** (1 / beta)
    return int(possible[np.argmin(6 * N * tokens + 2 * N * served)])
    ### END SOLUTION


# %% check="align_scaling"
generator = check.rng()
E, A, alpha, B, beta = law = 1.7, float(generator.uniform(350, 450)), 0.34, float(generator.uniform(380, 430)), 0.28
budgets = np.array([1e18, 4e18, 3e19, 1e20])


def loss_of(size, tokens):
    return E + A / size**alpha + B / tokens**beta


center = (0.2 * budgets**0.45)[:, None]
sizes = center * np.exp(np.linspace(-1.5, 1.2, 6)) * generator.uniform(0.8, 1.3, (4, 1))
losses = loss_of(sizes, budgets[:, None] / (6 * sizes)) + generator.normal(size=(4, 6)) * 2e-3
k, a = check.intact(fit_sizes, budgets, sizes, losses)
other_k, other_a = fit_sizes(2 * budgets[::-1], sizes[::-1], losses[::-1])
grid = generator.permutation(np.logspace(7.5, 11.5, 801))
target = float(loss_of(1e9, 2e10))
found = [check.intact(cheapest, grid, law, target, served) for served in (0.0, 1e11, 1e12, 1e14)]
check.show(
    {
        "losses": losses,
        "a": a,
        "log k": float(np.log(k)),
        "budgets that fall, and are twice as large": [float(np.log(other_k)), other_a],
        "plan": [float(np.log10(each)) for each in plan(5.76e23, 0.3, 0.48, 1024, 4e14, 0.4)],
        "plan for one GPU": [
            float(each) for each in plan(1e18, 0.25, 0.5, 1, 1e14, float(generator.uniform(0.3, 0.5)))
        ],
        "cheapest size for 0, 1e11, 1e12 and 1e14 served tokens": [
            round(float(np.log10(grid[each])), 3) for each in found
        ],
        "the same sizes backwards, and one size": [
            round(float(np.log10(grid[::-1][cheapest(grid[::-1], law, target, 1e12)])), 3),
            cheapest(np.array([2e9]), law, target, 1e12),
        ],
    },
    rtol=1e-6,
    atol=1e-6,
    text="The fitted line; the logarithms of parameters, tokens and days; the cheapest sizes, as log10 N.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** the fit is free; the runs behind it cost some per cent of the big one. Extrapolating over more than two orders of
# magnitude is where it goes wrong.
#
# 1. *Is 20 tokens a parameter a law?* "No, it is where one fit put the optimum for training compute, with one data set and
#    schedule. The flat optimum lets a factor of two pass for a loss difference that is hardly measurable."
# 2. *Why do people train far beyond it?* "Serving costs 2N a token for ever. A smaller model trained longer reaches the same
#    loss and is cheaper as soon as it serves enough tokens."
# 3. *What must the runs have in common?* "Each needs its own decayed schedule and a tuned learning rate. An intermediate
#    checkpoint of a longer run has a loss that is too high for its tokens, which bends the fit."
#
# </details>

# %% [markdown] hint="align_scaling"
# In which coordinates is a power law a straight line? And what is the smallest point of a parabola u·x² + v·x + w?

# %% [markdown] hint="align_scaling"
# Fit `np.polyfit(np.log(size), loss, 2)` for each budget; its minimum is at −v / 2u. Then fit a line to log N against log C. A
# budget's tokens are C / 6N.

# %% [markdown] hint="align_scaling"
# What is left for the tokens, `loss - E - A / N**alpha`, has to be positive, and D = (B / left)^(1/beta). The total is 6·N·D +
# 2·N·served. Search among the sizes that can reach the loss, and return the index among all.


# %% mutant="align_scaling"
# A line in linear space
# Fitted without logarithms, the largest budget decides alone, and a power law is no straight line there.
def fit_sizes(budgets, sizes, losses):
    best = []
    for size, loss in zip(sizes, losses, strict=True):
        curve = np.polyfit(np.log(size), loss, 2)
        best.append(np.exp(-curve[1] / (2 * curve[0])))
    slope, shift = np.polyfit(budgets / 1e20, best, 1)
    return float(abs(shift)), float(np.log(abs(slope)) / np.log(1e20))


def plan(budget, k, a, gpus, peak, mfu):
    size = k * budget**a
    return size, budget / (6 * size), budget / (gpus * peak * mfu) / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    left = loss - E - A / sizes**alpha
    tokens = np.where(left > 0, (B / np.where(left > 0, left, 1.0)) ** (1 / beta), np.inf)
    return int(np.argmin(6 * sizes * tokens + 2 * sizes * served))


# %% mutant="align_scaling"
# The best run instead of the best size
# The size with the lowest measured loss is one of a coarse grid, and noise chooses among neighbours. The parabola's minimum
# lies between them.
def fit_sizes(budgets, sizes, losses):
    best = np.log([size[np.argmin(loss)] for size, loss in zip(sizes, losses, strict=True)])
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    size = k * budget**a
    return size, budget / (6 * size), budget / (gpus * peak * mfu) / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    left = loss - E - A / sizes**alpha
    tokens = np.where(left > 0, (B / np.where(left > 0, left, 1.0)) ** (1 / beta), np.inf)
    return int(np.argmin(6 * sizes * tokens + 2 * sizes * served))


# %% mutant="align_scaling"
# A parabola in N
# Losses are nearly symmetric around the best size on a *logarithmic* axis. As a function of N itself, the right side is
# stretched and moves the minimum.
def fit_sizes(budgets, sizes, losses):
    best = []
    for size, loss in zip(sizes, losses, strict=True):
        curve = np.polyfit(size / size[0], loss, 2)
        best.append(np.log(abs(size[0] * curve[1] / (2 * curve[0]))))
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    size = k * budget**a
    return size, budget / (6 * size), budget / (gpus * peak * mfu) / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    left = loss - E - A / sizes**alpha
    tokens = np.where(left > 0, (B / np.where(left > 0, left, 1.0)) ** (1 / beta), np.inf)
    return int(np.argmin(6 * sizes * tokens + 2 * sizes * served))


# %% mutant="align_scaling"
# 20 tokens for each parameter
# The plan has to use the line that was fitted, D = C / 6N. "20 tokens a parameter" is one fit's optimum, not a law.
def fit_sizes(budgets, sizes, losses):
    best = []
    for size, loss in zip(sizes, losses, strict=True):
        curve = np.polyfit(np.log(size), loss, 2)
        best.append(-curve[1] / (2 * curve[0]))
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    size = (budget / 120) ** 0.5
    return size, 20 * size, budget / (gpus * peak * mfu) / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    left = loss - E - A / sizes**alpha
    tokens = np.where(left > 0, (B / np.where(left > 0, left, 1.0)) ** (1 / beta), np.inf)
    return int(np.argmin(6 * sizes * tokens + 2 * sizes * served))


# %% mutant="align_scaling"
# Training alone
# The model serves tokens afterwards, at 2N FLOPs each. Left out, the training optimum is chosen, however much is served.
def fit_sizes(budgets, sizes, losses):
    best = []
    for size, loss in zip(sizes, losses, strict=True):
        curve = np.polyfit(np.log(size), loss, 2)
        best.append(-curve[1] / (2 * curve[0]))
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    size = k * budget**a
    return size, budget / (6 * size), budget / (gpus * peak * mfu) / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    left = loss - E - A / sizes**alpha
    tokens = np.where(left > 0, (B / np.where(left > 0, left, 1.0)) ** (1 / beta), np.inf)
    return int(np.argmin(6 * sizes * tokens))


# %% mutant="align_scaling"
# The smallest size
# Sizes that can't reach the loss at all are chosen here, because they cost least. Training a model for ever doesn't take it
# below E + A/N^alpha.
def fit_sizes(budgets, sizes, losses):
    best = []
    for size, loss in zip(sizes, losses, strict=True):
        curve = np.polyfit(np.log(size), loss, 2)
        best.append(-curve[1] / (2 * curve[0]))
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    size = k * budget**a
    return size, budget / (6 * size), budget / (gpus * peak * mfu) / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    tokens = (B / np.abs(loss - E - A / sizes**alpha)) ** (1 / beta)
    return int(np.argmin(6 * sizes * tokens + 2 * sizes * served))


# %% [markdown] exercise="align_verify_gae" kind="verify" points=4
# ### Exercise 14 · Verify: an assistant's advantages
# You asked an assistant for generalized advantage estimation over a rollout that holds several episodes, in NumPy, and got the
# three answers below. Write the tests that tell which answers are correct.
#
# `gae(rewards, values, ended, last_value, gamma, lam)` gets arrays of T ≥ 1 numbers. `ended[t]` is True if step t is the last of
# its episode: nothing after it counts. After the last step of the rollout comes `last_value`, unless that step ended its
# episode. The TD error of a step is its reward plus γ times the value of what comes next, minus its own value; the advantage is
# the sum of the TD errors from there to the end of the episode, each discounted by another γλ. The result is a pair of arrays,
# the advantages and the returns; a return is the advantage plus the value. The arguments stay as they are.
#
# `tests(candidate)` refuses the candidate by raising an error or returning something false, and accepts it otherwise. The grade
# tries your tests on more answers than the notebook shows. Several of them are correct and look different, and one that you
# refuse costs all points.


# %% solution="align_verify_gae"
def tests(candidate) -> None:
    """Raise an AssertionError unless `candidate(rewards, values, ended, last_value, gamma, lam)` is GAE."""
    ### BEGIN SOLUTION
    generator = np.random.default_rng(0)
    for length, ends in ((7, [2, 4]), (5, []), (5, [4]), (1, []), (1, [0])):
        rewards, values = generator.normal(size=length), generator.normal(size=length)
        ended, last_value, gamma, lam = np.zeros(length, bool), 3.0, 0.9, 0.7
        ended[ends] = True
        following = np.append(values[1:], last_value) * ~ended
        errors = rewards + gamma * following - values
        expected = errors.copy()
        for t in range(length):
            for later in range(t + 1, length):
                if ended[t:later].any():
                    break
                expected[t] += (gamma * lam) ** (later - t) * errors[later]
        before = [each.copy() for each in (rewards, values, ended)]
        advantages, returns = candidate(rewards, values, ended, last_value, gamma, lam)
        assert np.allclose(advantages, expected)
        assert np.allclose(returns, expected + values)
        assert all(np.array_equal(*pair) for pair in zip(before, (rewards, values, ended), strict=True))
    ### END SOLUTION


# %% variant="align_verify_gae" right="a backward loop" shown=true
def gae(rewards, values, ended, last_value, gamma, lam):
    """Generalized advantage estimation, from the last step to the first."""
    advantages = np.zeros(len(rewards))
    running = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        following = last_value if t == len(rewards) - 1 else values[t + 1]
        alive = 1.0 - float(ended[t])
        delta = rewards[t] + gamma * following * alive - values[t]
        running = delta + gamma * lam * alive * running
        advantages[t] = running
    return advantages, advantages + values


# %% variant="align_verify_gae" wrong="the advantage leaks from an episode into the one before it" shown=true
def gae(rewards, values, ended, last_value, gamma, lam):
    """Generalized advantage estimation, from the last step to the first."""
    alive = 1.0 - ended.astype(float)
    following = np.append(values[1:], last_value)
    deltas = rewards + gamma * following * alive - values
    advantages = np.zeros_like(deltas)
    running = 0.0
    for t in reversed(range(len(deltas))):
        running = deltas[t] + gamma * lam * running
        advantages[t] = running
    return advantages, advantages + values


# %% variant="align_verify_gae" wrong="a rollout that was cut off counts as ended" shown=true
def gae(rewards, values, ended, last_value, gamma, lam):
    """Generalized advantage estimation with one step of lookahead."""
    steps = len(rewards)
    advantages, returns = np.empty(steps), np.empty(steps)
    next_value, next_advantage = 0.0, 0.0
    for t in reversed(range(steps)):
        if ended[t]:
            next_value, next_advantage = 0.0, 0.0
        delta = rewards[t] + gamma * next_value - values[t]
        advantages[t] = delta + gamma * lam * next_advantage
        returns[t] = advantages[t] + values[t]
        next_value, next_advantage = values[t], advantages[t]
    return advantages, returns


# %% variant="align_verify_gae" right="a triangular matrix of discounts"
def gae(rewards, values, ended, last_value, gamma, lam):
    steps = np.arange(len(rewards))
    episode = np.cumsum(ended) - ended
    weights = np.where(episode[:, None] == episode, (gamma * lam) ** np.maximum(steps - steps[:, None], 0), 0.0)
    errors = rewards + gamma * np.append(values[1:], last_value) * (1 - ended) - values
    advantages = np.triu(weights) @ errors
    return advantages, advantages + values


# %% variant="align_verify_gae" right="λ-returns first, advantages from them"
def gae(rewards, values, ended, last_value, gamma, lam):
    returns, following, goal = [], float(last_value), float(last_value)
    for reward, value, end in zip(rewards[::-1], values[::-1], ended[::-1], strict=True):
        goal = reward + (0.0 if end else gamma * ((1 - lam) * following + lam * goal))
        returns.append(goal)
        following = value
    returns = np.array(returns[::-1])
    return returns - values, returns


# %% variant="align_verify_gae" right="episode by episode"
def gae(rewards, values, ended, last_value, gamma, lam):
    pieces, first = [], 0
    for last in [*np.flatnonzero(ended), len(rewards) - 1]:
        if first > last:
            continue
        behind = 0.0 if ended[last] else last_value
        v = np.append(values[first : last + 1], behind)
        errors = rewards[first : last + 1] + gamma * v[1:] - v[:-1]
        decay = (gamma * lam) ** np.arange(len(errors))
        pieces += [float(errors[t:] @ decay[: len(errors) - t]) for t in range(len(errors))]
        first = last + 1
    return np.array(pieces), np.array(pieces) + values


# %% variant="align_verify_gae" wrong="an end keeps the value of the next episode's first step"
def gae(rewards, values, ended, last_value, gamma, lam):
    errors = rewards + gamma * np.append(values[1:], last_value) - values
    advantages, running = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        running = errors[t] + gamma * lam * (1 - ended[t]) * running
        advantages[t] = running
    return advantages, advantages + values


# %% variant="align_verify_gae" wrong="discounted by γ, without λ"
def gae(rewards, values, ended, last_value, gamma, lam):
    errors = rewards + gamma * np.append(values[1:], last_value) * (1 - ended) - values
    advantages, running = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        running = errors[t] + gamma * (1 - ended[t]) * running
        advantages[t] = running
    return advantages, advantages + values


# %% variant="align_verify_gae" wrong="λ discounts the value of the next step, too"
def gae(rewards, values, ended, last_value, gamma, lam):
    errors = rewards + gamma * lam * np.append(values[1:], last_value) * (1 - ended) - values
    advantages, running = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        running = errors[t] + gamma * lam * (1 - ended[t]) * running
        advantages[t] = running
    return advantages, advantages + values


# %% variant="align_verify_gae" wrong="the returns are discounted rewards"
def gae(rewards, values, ended, last_value, gamma, lam):
    errors = rewards + gamma * np.append(values[1:], last_value) * (1 - ended) - values
    advantages, returns, running, total = np.zeros(len(rewards)), np.zeros(len(rewards)), 0.0, float(last_value)
    for t in reversed(range(len(rewards))):
        running = errors[t] + gamma * lam * (1 - ended[t]) * running
        total = rewards[t] + gamma * (1 - ended[t]) * total
        advantages[t], returns[t] = running, total
    return advantages, returns


# %% variant="align_verify_gae" wrong="the returns come from advantages that are centred already"
def gae(rewards, values, ended, last_value, gamma, lam):
    errors = rewards + gamma * np.append(values[1:], last_value) * (1 - ended) - values
    advantages, running = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        running = errors[t] + gamma * lam * (1 - ended[t]) * running
        advantages[t] = running
    advantages -= advantages.mean()
    return advantages, advantages + values


# %% variant="align_verify_gae" wrong="last_value counts although the last step ended its episode"
def gae(rewards, values, ended, last_value, gamma, lam):
    alive = 1.0 - ended
    alive[-1] = 1.0
    errors = rewards + gamma * np.append(values[1:], last_value) * alive - values
    advantages, running = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        running = errors[t] + gamma * lam * alive[t] * running
        advantages[t] = running
    return advantages, advantages + values


# %% variant="align_verify_gae" wrong="the sum stops after some steps"
REACH = int(rng.integers(2, 4))


def gae(rewards, values, ended, last_value, gamma, lam):
    errors = rewards + gamma * np.append(values[1:], last_value) * (1 - ended) - values
    advantages = errors.copy()
    for t in range(len(rewards)):
        for later in range(t + 1, min(t + REACH, len(rewards))):
            if ended[t:later].any():
                break
            advantages[t] += (gamma * lam) ** (later - t) * errors[later]
    return advantages, advantages + values


# %% variant="align_verify_gae" wrong="the caller's rewards are overwritten"
def gae(rewards, values, ended, last_value, gamma, lam):
    rewards += gamma * np.append(values[1:], last_value) * (1 - ended) - values
    for t in reversed(range(len(rewards) - 1)):
        rewards[t] += gamma * lam * (1 - ended[t]) * rewards[t + 1]
    return rewards.copy(), rewards + values


# %% check="align_verify_gae"
check.show(
    check.verify(tests, shown, check.rng()),
    each="refused",
    text="Which answers your tests of `gae` accept, and which they refuse.",
)

# %% [markdown]
# <details><summary>Once it passes: cost, and what they ask next</summary>
#
# **Cost:** the backward loop takes O(T) time and O(T) memory, while the double loop to compare with takes O(T²), which is fine for
# seven steps. The matrix of discounts takes O(T²) memory, 4 GB in float64 for a rollout of 22,000 steps.
#
# 1. *Which identities test GAE without a second implementation?* "λ = 0 gives the TD errors; λ = 1 gives the discounted
#    rewards plus the discounted `last_value`, minus the values; cutting a rollout at an episode's end and joining the results changes nothing; scaling rewards,
#    values and `last_value` scales everything."
# 2. *Which fault would training hide?* "A cut-off that counts as an end: the value function learns to predict the cut-off, and
#    the reward still rises, only less. Tests with one episode that ends never see it."
# 3. *Your tests pass and training still fails. Where do you look?* "At what reaches the function: whether `ended` is shifted by
#    one step, whether values come from the policy that acted, and whether padding counts as steps."
#
# </details>

# %% [markdown] hint="align_verify_gae"
# Which sentences of the task concern an episode's end? For each of them, which rollout shows a wrong number if the sentence is
# broken: one that ends in the middle, one that is cut off, one whose last step ends?

# %% [markdown] hint="align_verify_gae"
# Write the double sum of the task as a double loop and compare both arrays with a tolerance. Use a γ and a λ that are neither 0
# nor 1, episodes of at least four steps, a `last_value` far from 0, and T = 1.

# %% [markdown] hint="align_verify_gae"
# `following = np.append(values[1:], last_value) * ~ended`, then `errors = rewards + gamma * following - values`; add
# `(gamma * lam) ** (later - t) * errors[later]` until a step before `later` has ended. Compare the arguments with copies.


# %% mutant="align_verify_gae"
# One episode that ends
# Neither the border between two episodes nor a rollout that is cut off is tested: with one episode that ends at the last step,
# they never matter.
def tests(candidate):
    rewards, values = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.3, 1.0, -1.0, 2.0])
    ended = np.array([False, False, False, True])
    advantages, returns = candidate(rewards, values, ended, 5.0, 0.9, 0.7)
    expected, running = np.zeros(4), 0.0
    for t in (3, 2, 1, 0):
        following = 0.0 if t == 3 else values[t + 1]
        running = rewards[t] + 0.9 * following - values[t] + 0.63 * running
        expected[t] = running
    assert np.allclose(advantages, expected)
    assert np.allclose(returns, expected + values)


# %% mutant="align_verify_gae"
# Checks the sum of two outputs
# returns − advantages = values holds for every answer that adds the values at the end, whatever its advantages are.
def tests(candidate):
    generator = np.random.default_rng(0)
    rewards, values = generator.normal(size=6), generator.normal(size=6)
    advantages, returns = candidate(rewards, values, np.arange(6) == 3, 1.0, 0.9, 0.7)
    assert np.allclose(returns - advantages, values)


# %% mutant="align_verify_gae"
# λ = 0
# Nothing is carried from one step to another where an episode ends in these tests. Use two episodes, and a λ between 0 and 1.
def tests(candidate):
    generator = np.random.default_rng(0)
    rewards, values = generator.normal(size=6), generator.normal(size=6)
    ended = np.arange(6) == 3
    advantages, returns = candidate(rewards, values, ended, 1.0, 0.9, 0.0)
    expected = rewards + 0.9 * np.append(values[1:], 1.0) * ~ended - values
    assert np.allclose(advantages, expected) and np.allclose(returns, expected + values)


# %% mutant="align_verify_gae"
# Treats a cut-off as an end
# These tests expect a value of 0 behind the last step, so they refuse answers that use `last_value`, as the task says.
def tests(candidate):
    generator = np.random.default_rng(0)
    rewards, values = generator.normal(size=6), generator.normal(size=6)
    advantages, _ = candidate(rewards, values, np.zeros(6, bool), 2.0, 0.9, 0.7)
    expected, running = np.zeros(6), 0.0
    for t in reversed(range(6)):
        following = 0.0 if t == 5 else values[t + 1]
        running = rewards[t] + 0.9 * following - values[t] + 0.63 * running
        expected[t] = running
    assert np.allclose(advantages, expected)
