# %% [markdown]
# # Exercises · From SFT to GRPO
# Six exercises trace the path from demonstrations to rewards: who gets a gradient, a chat template with its loss mask, the baseline with
# the least variance, a PPO loop that five people complain about, over-optimization by choosing the best of n, and honest success rates.
# Nothing here adds to `mytorch`. Your answers may use the tensors and operations of `torch`, which is minitorch. The losses themselves are
# whiteboard problems of [chapter 28](28_whiteboard_alignment.ipynb).

# %% setup=true
from __future__ import annotations

import math

from course import check

# %% setup=true
import minitorch as torch

# %% [markdown] exercise="tune_predict_signal" kind="predict" points=2
# ### Exercise 1 · Who gets a gradient?
# GRPO samples four replies to each of four prompts, and a verifier scores them:
#
# ```python
# scores = [[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0]]
# ```
#
# This is the first gradient step on the batch. The weight of a reply is its score minus a baseline. How many of the sixteen replies have a
# weight that isn't zero
#
# 1. if the baseline is the mean of the group?
# 2. if there is no baseline?
# 3. if the baseline is the mean of all sixteen scores?
#
# 4. Back to the group's mean. A penalty k3 to the reference is added to the loss, and the policy has already moved away from the reference
#    on every reply. How many replies have a gradient that isn't zero, if nothing cancels by chance?
# 5. Instead, the replies with score 1 become demonstrations for SFT. One of them has a prompt of 7 tokens and a reply of 5, the end token
#    included, in one row. At how many of its 12 positions do the logits get a gradient?
#
# Set `prediction` to a list of five integers.

# %% solution="tune_predict_signal"
### BEGIN SOLUTION
prediction = [8, 7, 16, 16, 5]
### END SOLUTION

# %% check="tune_predict_signal"
names = ["group's mean", "no baseline", "mean of the batch", "with a penalty", "positions of a demonstration"]
check.show({name: int(value) for name, value in zip(names, prediction, strict=True)}, secret=True)

# %% [markdown] hint="tune_predict_signal"
# Write down the sixteen weights for each of the first three baselines. Which of them are zero?

# %% [markdown] hint="tune_predict_signal"
# A group of equal scores equals its mean. The penalty doesn't depend on the scores. In SFT, the logits at a position predict the next
# token.

# %% [markdown] hint="tune_predict_signal"
# Two of the groups have mixed scores, seven scores are 1, and the mean of all is 7/16. Five tokens are predicted: the first of them from
# the prompt's last position.

# %% mutant="tune_predict_signal"
# Groups with equal scores learn
# All advantages of a group with equal scores are 0, whether its replies are all correct or all wrong.
prediction = [16, 7, 16, 16, 5]

# %% mutant="tune_predict_signal"
# Only the correct replies of mixed groups
# Replies below the group's mean have a negative weight, so they are pushed down, and that is a gradient too.
prediction = [3, 7, 16, 16, 5]

# %% mutant="tune_predict_signal"
# Without a baseline, wrong replies are pushed down
# A score of 0 without a baseline is a weight of 0, so wrong replies have no gradient of their own.
prediction = [8, 16, 16, 16, 5]

# %% mutant="tune_predict_signal"
# The batch's mean leaves equal groups out
# Compared with the batch's mean of 7/16, every score of 0 or 1 has a weight that isn't zero.
prediction = [8, 7, 8, 16, 5]

# %% mutant="tune_predict_signal"
# The penalty needs a signal
# The penalty depends on policy and reference alone, so a reply without an advantage has a gradient from it.
prediction = [8, 7, 16, 8, 5]

# %% mutant="tune_predict_signal"
# The prompt is trained
# The prompt's tokens are context. Only the five tokens of the reply are predicted in the loss.
prediction = [8, 7, 16, 16, 11]

# %% mutant="tune_predict_signal"
# The first token of the reply is not predicted
# The logits at the prompt's last position predict the reply's first token, so they get a gradient as well.
prediction = [8, 7, 16, 16, 4]


# %% [markdown] exercise="tune_chat" kind="build" points=3
# ### Exercise 2 · A chat template and its labels
# Turn a conversation into token ids and labels for SFT. Each turn is the header of its role, its words, and the end token. A label is the
# token itself where it is trained, and −100 elsewhere, which is what cross-entropy ignores. Labels aren't shifted, since the model does
# that.
#
# Long conversations are cut by whole turns: the oldest ones go first, until the rest has at most `limit` tokens. A system turn at the start
# always stays, while a later one is a turn like any other. You can rely on the first one fitting together with the last turn.


# %% solution="tune_chat"
def render(
    conversation: list[tuple[str, list[int] | None]],
    headers: dict[str, int],
    end: int,
    limit: int,
    only_last: bool = False,
) -> tuple[list[int], list[int]]:
    """The ids and the labels of a conversation, two lists of the same length.

    Args:
        conversation: turns (role, words), perhaps no turn at all. The words are token ids,
            perhaps none, and may contain any id, even that of a header or of the end. The last
            turn may be ("assistant", None), an open turn that the model is to write: its header
            alone, of which nothing is trained.
        headers: the token that opens a turn of each role: "system", "user", "assistant" and
            perhaps others.
        end: the token that closes a turn.
        limit: the largest number of ids.
        only_last: whether only the last assistant turn is trained, instead of all of them. If
            the conversation ends with an open turn, that is the last one, so nothing is trained.

    Of an assistant turn, the words and the end token are trained, and the header isn't. The
    conversation is left as it is.
    """
    ### BEGIN SOLUTION
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) > limit:
        start += 1
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, labels
    ### END SOLUTION


# %% check="tune_chat"
generator = check.rng()
headers = dict(zip(("system", "user", "assistant", "tool"), generator.permutation(50)[:4].tolist(), strict=True))
end = int(generator.integers(50, 60))


def said(low=2, high=6):
    return generator.integers(60, 90, int(generator.integers(low, high))).tolist()


def shown_turn(conversation, limit=10**9, only_last=False):
    ids, labels = render(conversation, headers, end, limit, only_last)
    return {"ids": list(ids), "labels": list(labels)}


long = [("system", said()), ("user", said()), ("assistant", said()), ("user", said()), ("assistant", said())]
longer = [*long, ("tool", said()), ("assistant", said()), ("user", said()), ("assistant", said())]
sizes = [len(words) + 2 for _, words in longer]
shown = {
    "headers": list(headers.values()),
    "end": end,
    "three turns": shown_turn(long[:3]),
    "all turns": shown_turn(longer),
}
shown["only the last"] = shown_turn(longer, only_last=True)
shown["only the last, then a user"] = shown_turn([*long, ("user", said())], only_last=True)
shown["open"] = shown_turn([*long, ("user", said()), ("assistant", None)])
shown["open, only the last"] = shown_turn([*long, ("user", said()), ("assistant", None)], only_last=True)
shown["no system turn"] = shown_turn(longer[1:])
shown["an empty reply"] = shown_turn([("user", said()), ("assistant", [])])
shown["nobody"] = shown_turn([])
shown["one turn, whose end is token 1"] = render([("assistant", said())], headers, 1, 10**9)
shown["an open turn alone, within a limit of 1"] = shown_turn([("assistant", None)], 1)
shown["no assistant"] = shown_turn([("system", said()), ("user", said())], only_last=True)
shown["cut by one turn"] = shown_turn(longer, sum(sizes) - sizes[1])
shown["cut by one token more"] = shown_turn(longer, sum(sizes) - sizes[1] - 1)
shown["cut to two turns"] = shown_turn(longer, sizes[0] + sizes[-1], only_last=True)
shown["cut, no system turn"] = shown_turn(longer[1:], sum(sizes[1:]) - 1)
shown["cut, open"] = shown_turn([*longer[:4], ("assistant", None)], sizes[0] + sizes[3] + 1)
reminded = [*longer[:3], ("system", said()), *longer[3:]]
shown["cut, two system turns"] = shown_turn(reminded, sizes[0] + sum(sizes[5:]))
uneven = [longer[0], ("user", said(1, 2)), ("assistant", said(7, 9)), ("user", said()), ("assistant", said())]
shown["cut, a short turn before a long one"] = shown_turn(uneven, sum(len(words) + 2 for _, words in uneven) - 4)
imitated = [("user", [*said(), end, headers["assistant"], *said()]), ("assistant", [headers["user"], *said(), end, 7])]
shown["words that look like turns"] = shown_turn(imitated)
shown["words that look like turns, open"] = shown_turn([*imitated[:1], ("assistant", None)], only_last=True)
shown["the last turn is the user's"] = shown_turn(longer[:4], sizes[0] + sizes[3], only_last=True)
shown["the conversation afterwards"] = [words for _, words in longer]
check.show(shown, text="The ids and the labels of several conversations; the ids of headers and end are drawn.")

# %% [markdown] hint="tune_chat"
# Make a list of ids for each turn first. The labels of a turn, its trained part, and whether it is kept are three separate questions.

# %% [markdown] hint="tune_chat"
# To cut, count the tokens of the system turn and of the turns from `start` on, and raise `start` while they are too many. An open turn is a
# header without an end token.

# %% [markdown] hint="tune_chat"
# `turn = [headers[role], *words, end]`, and its labels are `[-100, *words, end]` if it is an assistant's (with `only_last`: if its index is
# that of the last assistant turn), otherwise `[-100] * len(turn)`. Kept are `range(first)` and `range(start, len(turns))`, where `first` is
# 1 with a system turn.


# %% mutant="tune_chat"
# Trains the header
# The header of the assistant's turn is written by the server, not by the model, so its label is -100.
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) > limit:
        start += 1
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        trained = (n == last if only_last else conversation[n][0] == "assistant") and len(turns[n]) > 1
        ids += turns[n]
        labels += turns[n] if trained else [-100] * len(turns[n])
    return ids, labels


# %% mutant="tune_chat"
# The end isn't trained
# A model whose end token isn't trained never learns to stop. The end token of an assistant's turn belongs to the labels.
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) > limit:
        start += 1
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(each if trained and each != end else -100 for each in turns[n][1:])]
    return ids, labels


# %% mutant="tune_chat"
# Everything is trained
# Only the assistant's words and end tokens are trained. The other turns are context, so their labels are -100.
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) > limit:
        start += 1
    ids = [each for n in [*range(first), *range(start, len(turns))] for each in turns[n]]
    return ids, list(ids)


# %% mutant="tune_chat"
# Labels are shifted
# The labels stand at their own tokens here. The model shifts them, and shifting twice trains every token on the one after the next.
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) > limit:
        start += 1
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, [*labels[1:], -100][: len(ids)]


# %% mutant="tune_chat"
# Cuts tokens instead of turns
# A conversation that begins in the middle of a turn has no header there. Whole turns are dropped, and the system turn stays.
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n, turn in enumerate(turns):
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turn
        labels += [-100, *(turn[1:] if trained else [-100] * (len(turn) - 1))]
    return ids[-limit:], labels[-limit:]


# %% mutant="tune_chat"
# Drops the system turn first
# The system turn says how to behave, so it stays at the start, and the oldest of the other turns are dropped.
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    start = 0
    while sum(map(len, turns[start:])) > limit:
        start += 1
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n in range(start, len(turns)):
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, labels


# %% mutant="tune_chat"
# Ignores `only_last`
# With `only_last`, earlier turns of the assistant are context too, and only the last one is trained.
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) > limit:
        start += 1
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if conversation[n][0] == "assistant" else [-100] * (len(turns[n]) - 1))]
    return ids, labels


# %% mutant="tune_chat"
# Closes the open turn
# An open turn is what the model is asked to write. An end token behind its header tells the model that it has already finished.
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *(words or []), end] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) > limit:
        start += 1
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, labels


# %% mutant="tune_chat"
# Looks for the headers in the ids
# A user can type what looks like a header, so the roles decide what is trained, and not the ids.
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    while sum(map(len, turns)) > limit:
        del turns[first]
    ids = [each for turn in turns for each in turn]
    starts = [n for n, each in enumerate(ids) if each == headers["assistant"]]
    labels = [-100] * len(ids)
    for n in starts[-1:] if only_last else starts:
        stop = ids.index(end, n) if end in ids[n:] else n
        labels[n + 1 : stop + 1] = ids[n + 1 : stop + 1]
    return ids, labels


# %% [markdown] exercise="tune_baseline" kind="build" points=3
# ### Exercise 3 · The baseline with the least variance
# A policy is a softmax over N replies, with a logit of its own for each, so the gradient of log π(reply i) has the entries 1 − pᵢ at i and
# −pⱼ at every other j. REINFORCE draws a reply and returns (reward − baseline) times that gradient. Find its mean and its variance exactly,
# and the constant baseline with the smallest variance. It is *not* the expected reward: replies with a long gradient count more. The
# variance of a vector is the sum of the variances of its entries. Write it without autograd.


# %% solution="tune_baseline"
def policy_gradient(logits: torch.Tensor, rewards: torch.Tensor) -> torch.Tensor:
    """The exact gradient (N,) of the expected reward with respect to the logits (N,)."""
    ### BEGIN SOLUTION
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())
    ### END SOLUTION


def variance(logits: torch.Tensor, rewards: torch.Tensor, baseline: float, group: int = 1) -> torch.Tensor:
    """The variance, a scalar, of the mean of `group` independent REINFORCE gradients with this constant baseline."""
    ### BEGIN SOLUTION
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    mean = policy_gradient(logits, rewards)
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (mean**2).sum()) / group
    ### END SOLUTION


def best_baseline(logits: torch.Tensor, rewards: torch.Tensor) -> torch.Tensor:
    """The constant, a scalar, with the smallest variance; the expected reward if all have the same.

    All have the same if the policy is certain, which is when a probability is exactly 1 in floating point.
    """
    ### BEGIN SOLUTION
    p = logits.softmax(0)
    weights = p * (1 - 2 * p + (p**2).sum())
    weights = p if (p == 1).any() else weights
    return (weights * rewards).sum() / weights.sum()
    ### END SOLUTION


# %% check="tune_baseline"
generator = check.rng()
shown = {}
for N in (int(generator.integers(4, 6)), int(generator.integers(7, 10)), 2):
    logits = torch.tensor(generator.normal(size=N) * 1.5)
    rewards = torch.tensor(generator.normal(size=N) + 1)
    shown[f"{N} replies"] = {
        "gradient": check.intact(policy_gradient, logits, rewards),
        "variance, no baseline": check.intact(variance, logits, rewards, 0.0),
        "variance, baseline 0.7": variance(logits, rewards, 0.7),
        "variance, group of 6": variance(logits, rewards, 0.7, 6),
        "best baseline": check.intact(best_baseline, logits, rewards),
        "smallest variance": variance(logits, rewards, float(best_baseline(logits, rewards))),
    }
certain = torch.tensor([0.0, 1000.0, -1000.0, 3.0]).double()
rewards = torch.tensor(generator.normal(size=4))
shown["a policy that is certain"] = {
    "gradient": policy_gradient(certain, rewards),
    "variance": variance(certain, rewards, 0.3),
    "best baseline": best_baseline(certain, rewards),
}
nearly = torch.tensor([*generator.normal(size=3), 18.0])
shown["a policy that is nearly certain"] = {
    "variance": variance(nearly, rewards, 0.3),
    "best baseline": best_baseline(nearly, rewards),
}
equal = torch.tensor(generator.normal(size=5))
shown["equal rewards"] = [
    policy_gradient(equal, torch.full((5,), 2.5)),
    best_baseline(equal, torch.full((5,), 2.5).double()),
]
shown["one reply"] = [
    policy_gradient(equal[:1], rewards[:1]),
    variance(equal[:1], rewards[:1], 0.1),
    best_baseline(equal[:1], rewards[:1]),
]
shown["the arguments afterwards"] = [equal, rewards]
check.show(
    shown, rtol=1e-6, atol=1e-9, text="The gradient, its variance with several baselines, and the best baseline."
)

# %% [markdown] hint="tune_baseline"
# Everything is an expectation over N replies, so it is a sum with weights p. Which vector does REINFORCE return for reply i, and how long
# is it?

# %% [markdown] hint="tune_baseline"
# The gradient of log π(i) is the unit vector i minus p. Its squared length is 1 − 2pᵢ + Σ p². A variance is the mean of squares minus the
# square of the mean, and the mean doesn't depend on the baseline.

# %% [markdown] hint="tune_baseline"
# The variance is Σ p (r − b)² s − |gradient|², with the squared lengths s, and all of it divided by `group`. Set its derivative with
# respect to b to 0: b = Σ p r s / Σ p s.


# %% mutant="tune_baseline"
# The expected reward is the best baseline
# The expected reward is a good baseline, but replies with a long gradient contribute more to the variance, so they count more in the best one.
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (policy_gradient(logits, rewards) ** 2).sum()) / group


def best_baseline(logits, rewards):
    return (logits.softmax(0) * rewards).sum()


# %% mutant="tune_baseline"
# Lengths instead of squared lengths
# The variance contains the squared length of each gradient, so the best baseline weights with the squares as well.
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (policy_gradient(logits, rewards) ** 2).sum()) / group


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - 2 * p + (p**2).sum()).sqrt()
    return (weights * rewards).sum() / weights.sum()


# %% mutant="tune_baseline"
# The mean of the squares
# This is the mean squared length. A variance subtracts the squared length of the mean gradient.
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    return (p * (rewards - baseline) ** 2 * (1 - 2 * p + (p**2).sum())).sum() / group


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - 2 * p + (p**2).sum())
    return (weights * rewards).sum() / weights.sum()


# %% mutant="tune_baseline"
# The baseline moves the mean
# The mean gradient doesn't depend on the baseline, because the gradient of log π has mean zero. So its square must not contain it either.
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    mean = p * (rewards - baseline)
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (mean**2).sum()) / group


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - 2 * p + (p**2).sum())
    return (weights * rewards).sum() / weights.sum()


# %% mutant="tune_baseline"
# Divides by the square of the group
# The mean of n independent samples has 1/n of the variance, and 1/√n of the standard deviation.
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (policy_gradient(logits, rewards) ** 2).sum()) / group**2


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - 2 * p + (p**2).sum())
    return (weights * rewards).sum() / weights.sum()


# %% mutant="tune_baseline"
# The gradient with respect to the probabilities
# The derivative of Σ p r with respect to a logit goes through the softmax, which subtracts the expected reward.
def policy_gradient(logits, rewards):
    return logits.softmax(0) * rewards


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    mean = p * (rewards - (p * rewards).sum())
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (mean**2).sum()) / group


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - 2 * p + (p**2).sum())
    return (weights * rewards).sum() / weights.sum()


# %% [markdown] exercise="tune_repair_loop" kind="repair" points=3
# ### Exercise 4 · Five complaints about a PPO loop
# The function below updates a policy on one batch with several PPO steps. Each prompt has N possible replies with a logit for each, K of
# which were sampled. It runs, and the reward even rises, yet five colleagues complain:
#
# - "With `steps=20`, a clip of 0.01 changes nothing: the policy moves as far as with a clip of 10."
# - "The larger I choose β, the faster the policy runs away from the reference."
# - "A prompt whose replies all have the same score moves anyway."
# - "A reply with a bad score became much more likely, and the next steps on the batch didn't push it down again."
# - "I call it twice with the same logits, and the results differ."
#
# The docstring says what it should do. Repair the function.


# %% solution="tune_repair_loop"
def update(
    logits: torch.Tensor,
    reference: torch.Tensor,
    sampled: torch.Tensor,
    scores: torch.Tensor,
    steps: int,
    rate: float,
    clip: float,
    beta: float,
) -> torch.Tensor:
    """The logits (P, N) after `steps` of gradient ascent with this rate on PPO's clipped objective.

    Args:
        logits: (P, N), of the policy that sampled.
        reference: (P, N), the reference's logits.
        sampled: (P, K), the indices of the sampled replies.
        scores: (P, K), their scores.
        clip: ratios count up to 1 ± clip.
        beta: the penalized score of a reply is its score minus beta · log(π/π_ref), where π is the policy that sampled.

    The advantage is the penalized score minus the mean of its group, the K replies to the same
    prompt. The objective is the mean of min(ratio · advantage, clipped ratio · advantage) over all
    P · K samples, with the ratio to the policy that sampled. The result requires no gradient, even
    if the logits do, and the arguments stay as they are.
    """
    ### BEGIN SOLUTION
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits
    ### END SOLUTION
    ### BEGIN STUB
    # logits = logits.detach()
    # for _ in range(steps):
    #     leaf = logits.clone().requires_grad_()
    #     current = leaf.log_softmax(-1).gather(1, sampled)
    #     old = current.detach()
    #     penalized = scores + beta * (old - reference.log_softmax(-1).gather(1, sampled))
    #     advantage = penalized - penalized.mean()
    #     ratio = (current - old).exp()
    #     objective = (ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
    #     (gradient,) = torch.autograd.grad(objective, leaf)
    #     logits += rate * gradient
    # return logits
    ### END STUB


# %% check="tune_repair_loop"
generator = check.rng()
P, N, K = 3, int(generator.integers(5, 8)), int(generator.integers(6, 9))
logits = torch.tensor(generator.normal(size=(P, N)))
reference = torch.tensor(generator.normal(size=(P, N)))
sampled = torch.tensor(generator.integers(0, N, (P, K)))
scores = torch.tensor(generator.normal(size=(P, K)))
scores[1] = float(generator.normal())
# reply 0 has nearly all the mass and the worst scores; its mass lifts reply 1, which is below the
# mean too, while reply 2 is too rare to take it
bold = torch.tensor([[3.0, 0.0, -6.0, 0.2]]).double() + torch.tensor(generator.random((1, 4)) * 0.2)
drawn, bad = torch.tensor([[0, 0, 0, 1, 2]]), torch.tensor([[-3.0, -3.0, -3.0, -2.0, 5.0]]).double()


def moved(logits, *rest):
    return update(logits.clone(), *rest) - logits


shown = {
    "one step": moved(logits, reference, sampled, scores, 1, 1.5, 0.2, 0.0),
    "one step, a penalty": moved(logits, reference, sampled, scores, 1, 1.5, 0.2, 0.6),
    "nine steps": moved(logits, reference, sampled, scores, 9, 1.5, 0.2, 0.0),
    "nine steps, hardly clipped": moved(logits, reference, sampled, scores, 9, 1.5, 10.0, 0.0),
    "nine steps, narrow clip, a penalty": moved(logits, reference, sampled, scores, 9, 0.5, 0.05, 0.6),
    "a bad reply that became likely": moved(bold, bold, drawn, bad, 4, 2.0, 0.2, 0.0),
    "equal scores": moved(logits, reference, sampled, scores * 0 + 2, 3, 1.0, 0.2, 0.0),
    "equal scores, a penalty": moved(logits, reference, sampled, scores * 0 + 2, 3, 1.0, 0.2, 0.9),
    "one sample": moved(logits, reference, sampled[:, :1], scores[:, :1], 3, 1.0, 0.2, 0.4),
    "no steps": moved(logits, reference, sampled, scores, 0, 1.0, 0.2, 0.4),
}
arguments = [logits.clone(), reference.clone(), sampled.clone(), scores.clone()]
shown["the first call"] = update(*arguments, 5, 0.8, 0.2, 0.3)
shown["the second call"] = update(*arguments, 5, 0.8, 0.2, 0.3)
tracked = logits.clone().requires_grad_()
result = update(tracked, *arguments[1:], 2, 0.8, 0.2, 0.3)
shown["of logits that require a gradient"] = [result.detach(), result.requires_grad, tracked.requires_grad]
shown["the arguments afterwards"] = arguments
check.show(
    shown,
    rtol=1e-5,
    atol=1e-8,
    text="By how much the logits moved, and the results of two calls with the same arguments.",
)

# %% [markdown] hint="tune_repair_loop"
# Take one complaint after the other, and reproduce it with a single prompt and three replies.

# %% [markdown] hint="tune_repair_loop"
# What belongs to the policy that *sampled* is fixed for the whole batch. Which lines of the loop recompute it? Over which dimension is a
# group, and which cases does the minimum treat differently from the clip alone?

# %% [markdown] hint="tune_repair_loop"
# Compute `old`, `penalized` (with a minus) and `advantage` (minus `mean(1, keepdim=True)`) before the loop. The objective is
# `torch.minimum(ratio * advantage, clipped * advantage).mean()`, and the update is `logits = logits + rate * gradient`, because `detach`
# shares memory with the argument and `+=` writes into it.


# %% mutant="tune_repair_loop"
# The old policy is recomputed
# The ratio compares with the policy that sampled the batch. If that is recomputed in each step, every ratio is 1 and nothing is ever clipped.
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        current = leaf.log_softmax(-1).gather(1, sampled)
        ratio = (current - current.detach()).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% mutant="tune_repair_loop"
# The penalty rewards distance
# The penalty is subtracted: a reply that the policy makes more likely than the reference gets a lower score.
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores + beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% mutant="tune_repair_loop"
# The mean of the batch
# Each reply is compared with the other replies to the same prompt. With the mean of the batch, easy prompts are reinforced as a whole.
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean()
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% mutant="tune_repair_loop"
# The clip without the minimum
# A clipped ratio has no gradient, also where the policy moved the wrong way. The minimum keeps the gradient there.
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        (gradient,) = torch.autograd.grad((ratio.clamp(1 - clip, 1 + clip) * advantage).mean(), leaf)
        logits = logits + rate * gradient
    return logits


# %% mutant="tune_repair_loop"
# Writes into the argument
# `detach` shares memory with the argument, and `+=` writes into it, so the second call starts where the first one ended.
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits += rate * gradient
    return logits


# %% mutant="tune_repair_loop"
# The penalty is recomputed in each step
# The penalty belongs to the policy that sampled, so it is constant for the batch. If it is
# recomputed, the advantages change from step to step.
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        current = leaf.log_softmax(-1).gather(1, sampled)
        penalized = scores - beta * (current.detach() - reference.log_softmax(-1).gather(1, sampled))
        advantage = penalized - penalized.mean(1, keepdim=True)
        ratio = (current - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% [markdown] exercise="tune_best_of" kind="build" points=3
# ### Exercise 5 · The best of n
# The simplest optimizer against a reward model changes no weights: sample n replies, and return the one with the highest proxy score. It
# hacks the proxy all the same. As the N replies and their probabilities are known, write the distribution of the returned reply exactly.
# Equal scores are a tie, and any of the tied samples may be returned, each with the same chance. Then find the n at which the *true* reward
# is highest.


# %% solution="tune_best_of"
def best_of(probabilities: torch.Tensor, proxy: torch.Tensor, n: int) -> torch.Tensor:
    """The probability (N,) of each reply to be returned.

    `probabilities` (N,) are those of one sample, of which some may be 0, and `proxy` (N,) are the scores.
    """
    ### BEGIN SOLUTION
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    chance = (below + tied) ** n - below**n  # that the best sample has this score
    return chance * probabilities / tied.clamp(min=1e-300)
    ### END SOLUTION


def best_size(
    probabilities: torch.Tensor, proxy: torch.Tensor, true: torch.Tensor, sizes: list[int]
) -> tuple[int, float, float]:
    """Of the sizes, the n with the highest expected true reward (the smallest such n), that reward, and the KL.

    The KL is that of the returned reply's distribution from `probabilities`, in nats.
    """
    ### BEGIN SOLUTION
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()
    ### END SOLUTION


# %% check="tune_best_of"
generator = check.rng()
N = int(generator.integers(9, 13))
probabilities = generator.random(N) + 0.3
probabilities[[2, 5]] = 0
probabilities = torch.tensor(probabilities / probabilities.sum())
proxy = torch.tensor(generator.permutation(N) * 0.5 - 2)
tied = proxy.clone()
tied[[0, 3, 4]] = proxy[int(generator.integers(6, N))]
tied[2] = 9.0  # of a reply that is never sampled
near = proxy.clone()
near[0] = proxy[3] + 1e-9  # a little better, which is no tie
true = torch.tensor(generator.normal(size=N))
# the true reward rises with the proxy, and falls at its end
order = proxy.argsort()
likely, rank = torch.ones(N).double() / N, torch.arange(N).double()
good, climb = rank - 3 * (rank - N + 3).clamp(min=0), rank * 0.3 + 1
sizes = [8, 1, 12, 2, 4, 6, 3]  # so small that no two of them give the same reward up to rounding
shown = {"probabilities": probabilities, "proxy": tied}
shown |= {f"best of {n}": best_of(probabilities, proxy, n) for n in (1, 2, 7)}
shown |= {f"best of {n}, ties": best_of(probabilities, tied, n) for n in (1, 3, 1000)}
shown["best of 3, two scores nearly equal"] = best_of(probabilities, near, 3)
shown["all tied"] = best_of(probabilities, proxy * 0, 5)
shown["one reply"] = best_of(torch.ones(1).double(), proxy[:1], 4)
for name, values in {"drawn": true, "minus it": -true, "the proxy itself": proxy}.items():
    n, reward, kl = best_size(probabilities, tied, values, sizes)
    shown[f"best size, {name}"] = [int(n), float(reward), float(kl)]
n, reward, kl = best_size(likely, climb, good, sizes)
shown["best size, a hacked proxy"] = [int(n), float(reward), float(kl)]
dip = torch.where(rank == N - 1, 10.0, torch.where(rank >= N // 2, -8.0, 0.0)).double()
n, reward, kl = best_size(likely, climb, dip, sizes)
shown["best size, a reward that falls first"] = [int(n), float(reward), float(kl)]
n, reward, kl = best_size(likely[:1] * N, proxy[:1], true[:1], [4])
shown["best size, of one reply and one size"] = [int(n), float(reward), float(kl)]
n, reward, kl = best_size(probabilities, proxy, proxy * 0, [5, 2, 9])
shown["best size, no true reward"] = [int(n), float(reward), float(kl)]
shown["the arguments afterwards"] = [sizes, proxy]
check.show(
    shown, rtol=1e-5, atol=1e-9, text="The distribution of the returned reply, and the best n with its reward and KL."
)

# %% [markdown] hint="tune_best_of"
# With which probability do all n samples have a score of at most s? And a score below s?

# %% [markdown] hint="tune_best_of"
# The difference of the two is the probability that the best score is s. Replies with the same score share it in proportion to their
# probabilities.

# %% [markdown] hint="tune_best_of"
# `below` and `tied` are sums of `probabilities` over the replies with a lower score and with the same one; compare `proxy` with `proxy[:,
# None]`. The result is `((below + tied) ** n - below ** n) * probabilities / tied`, where 0/0 has to become 0. In the KL, skip the replies
# whose probability is 0.


# %% mutant="tune_best_of"
# The formula for densities
# n · p · Fⁿ⁻¹ holds for continuous scores. Here a reply can be sampled several times, so take the difference of two powers.
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    q = n * probabilities * (below + probabilities) ** (n - 1)
    return q / q.sum()


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% mutant="tune_best_of"
# Every tied reply gets all of it
# Replies with the same score share the probability that the best score is theirs. Here each of them gets all of it, so the sum exceeds 1.
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((below + tied) ** n - below**n) * (probabilities > 0)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% mutant="tune_best_of"
# Ties go to the later reply
# Tied replies have equal chances for each sample. Here they are ranked by their index.
def best_of(probabilities, proxy, n):
    order = proxy.argsort(stable=True)
    total = probabilities[order].cumsum(0)
    before = torch.cat([torch.zeros(1).double(), total[:-1]])
    return torch.zeros(len(proxy)).double().index_add(0, order, total**n - before**n)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% mutant="tune_best_of"
# More is always better
# The proxy rises with n, but the true reward need not. Compare the expected true reward of all sizes.
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((below + tied) ** n - below**n) * probabilities / tied.clamp(min=1e-300)


def best_size(probabilities, proxy, true, sizes):
    q = best_of(probabilities, proxy, max(sizes))
    kept = q > 0
    kl = (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()
    return max(sizes), (q * true).sum().item(), kl


# %% mutant="tune_best_of"
# The bound instead of the KL
# log n − (n − 1)/n is what the KL approaches when no reply is likely. With ties and likely replies it is only an upper bound.
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((below + tied) ** n - below**n) * probabilities / tied.clamp(min=1e-300)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    return n, found[n], math.log(n) - (n - 1) / n


# %% mutant="tune_best_of"
# The largest of equally good sizes
# If two sizes are equally good, the smaller one is asked for, because it costs fewer samples.
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((below + tied) ** n - below**n) * probabilities / tied.clamp(min=1e-300)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes, reverse=True)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% [markdown] exercise="tune_pass" kind="build" points=3
# ### Exercise 6 · pass@k, and groups that teach
# pass@k is the probability that at least one of k samples solves a problem. It is estimated from n ≥ k samples, of which c were correct.
# Inserting the rate c/n into 1 − (1 − p)ᵏ is biased. The unbiased estimate counts instead: of all ways to choose k of the n samples, the
# share that contains a correct one. Then use the true rate p to plan a GRPO run: how often does a group have a signal, and how large must
# it be?


# %% solution="tune_pass"
def pass_at_k(correct: list[int], n: int, k: int) -> float:
    """The unbiased estimate of pass@k, as a mean over the problems.

    Of problem i, `correct[i]` of n samples were correct; k is at most n.
    """
    ### BEGIN SOLUTION
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)
    ### END SOLUTION


def signal_rate(p: float, K: int) -> float:
    """The probability that a group of K replies, each correct with probability p, has both correct and wrong ones."""
    ### BEGIN SOLUTION
    return 1 - p**K - (1 - p) ** K
    ### END SOLUTION


def group_size(p: float, share: float) -> int | None:
    """The smallest K with which at least this share of the groups has a signal; None if there is no such K.

    The share is above 0 and below 1, and p is 0, 1, or between 0.001 and 0.999.
    """
    ### BEGIN SOLUTION
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K
    ### END SOLUTION


# %% check="tune_pass"
generator = check.rng()
n = int(generator.integers(20, 30))
correct = [0, n, 1, *generator.integers(2, n - 1, 4).tolist()]
rates = [float(each) for each in generator.uniform(0.05, 0.6, 3)] + [0.002, 0.998]
shown = {"correct": correct, "of": n}
shown |= {f"pass@{k}": float(pass_at_k(correct, n, k)) for k in (1, 2, 7, n - 1, n)}
shown |= {f"pass@5 of {c} in {n}": float(pass_at_k([c], n, 5)) for c in (1, n - 5, n - 4, n - 1)}
shown["pass@100 of thousands"] = float(pass_at_k([int(generator.integers(20, 90)), 3], 3000, 100))
shown["pass@1 of one sample"] = float(pass_at_k([1, 0, 0], 1, 1))
shown["signal"] = [float(signal_rate(p, K)) for p in rates for K in (1, 2, 8)]
shown["signal of the certain"] = [float(signal_rate(p, 4)) for p in (0.0, 1.0)]
shown["group sizes"] = [group_size(p, share) for p in rates for share in (0.05, 0.5, 0.93)]
shown["group sizes of the rare"] = [group_size(p, 0.99999) for p in (0.001, 0.999)]
shown["group sizes of the certain"] = [group_size(p, 0.5) for p in (0.0, 1.0)]
shown["group sizes of one half"] = [group_size(0.5, share) for share in (0.5, 0.93)]
shown["the arguments afterwards"] = correct
check.show(shown, rtol=1e-6, atol=1e-9, text="pass@k, the probability of a signal, and the smallest group sizes.")

# %% [markdown] hint="tune_pass"
# In how many ways can you choose k samples out of n? In how many of them is none correct?

# %% [markdown] hint="tune_pass"
# `math.comb(n - c, k)` is 0 if k is larger than n − c, and Python's integers are exact. For the second part: in which two cases does a
# group have no signal?

# %% [markdown] hint="tune_pass"
# pass@k is 1 − comb(n − c, k) / comb(n, k), averaged over the problems. A group has a signal with probability 1 − pᴷ − (1 − p)ᴷ; raise K
# from 1 until that reaches the share.


# %% mutant="tune_pass"
# The biased estimate
# 1 − (1 − c/n)ᵏ is too low on average, because the power is a curved function of an estimated rate. Count the choices of k samples instead.
def pass_at_k(correct, n, k):
    return sum(1 - (1 - c / n) ** k for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K


# %% mutant="tune_pass"
# Pools the problems
# The estimate is made for each problem and then averaged. Pooling the counts treats all problems as equally hard.
def pass_at_k(correct, n, k):
    total, c = n * len(correct), sum(correct)
    return 1 - math.comb(total - c, k) / math.comb(total, k)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K


# %% mutant="tune_pass"
# A group of correct replies teaches
# If all replies of a group are correct, their advantages are 0 as well, so that case has no signal either.
def pass_at_k(correct, n, k):
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K


# %% mutant="tune_pass"
# One too few
# This is the largest group that doesn't reach the share. The smallest one that reaches it is asked for.
def pass_at_k(correct, n, k):
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K - 1


# %% mutant="tune_pass"
# All k samples are correct
# pass@k asks for at least one correct sample among k, not for k correct ones.
def pass_at_k(correct, n, k):
    return sum(math.comb(c, k) / math.comb(n, k) for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K
