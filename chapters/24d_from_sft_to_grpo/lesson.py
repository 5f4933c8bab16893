# %% [markdown]
# # From SFT to GRPO
# After this chapter you will have taken one tiny policy through supervised fine-tuning, a reward model, DPO, PPO and GRPO. All its replies
# can be listed, so each gradient, KL and expected reward has an exact value. You will be able to say what each stage adds, what it gets
# wrong, and which number in the training log shows it.

# %% [markdown] tags=["short"]
# ## Why is the GRPO loss zero?
# A policy answers "1 + 0", "1 + 1" and "1 + 2". Its vocabulary is 1, 2, 3, "well" and the end token, and a reply is
# correct if the last word before the end token is the sum. The policy is a table: for each prompt and each previous
# word, five logits, one per word. A reply has at most four words, so there are 341 replies, and the folded cell lists
# them all in `rows`. That makes every expectation below an exact sum instead of an estimate. `logprobs(table)` has the
# log-probability of each reply to each prompt, and `correct` says which replies are correct:

# %% hidden=true
import itertools
import math

import minitorch as torch
from course import pictures
from minitorch.nn import functional as F

torch.set_default_dtype(torch.float64)  # so that all machines agree
END, WELL = 0, 4
rows = [[*w, *[END] * (4 - n)] for n in range(5) for w in itertools.product((1, 2, 3, WELL), repeat=n)]
ids = torch.tensor(rows)  # (341, 4): every reply there is, filled up with END
lengths = ((ids != END).sum(1) + 1).clamp(max=4)
real = torch.arange(4) < lengths[:, None]
before = torch.cat([torch.zeros_like(ids[:, :1]), ids[:, :-1]], 1)
final = ids.gather(1, (lengths - 2).clamp(min=0)[:, None])[:, 0]
correct = torch.stack([(final == answer) & (ids == END).any(1) for answer in (1, 2, 3)]).double()


def logprobs(table):  # (3 prompts, 341 replies)
    return (table.log_softmax(-1)[:, before, ids] * real).sum(-1)


def expected(table, values):
    return (logprobs(table).exp() * values).sum(1).mean()


for text, row in {"2 end": [2, 0, 0, 0], "well 3 end": [WELL, 3, 0, 0], "1 2 well end": [1, 2, WELL, 0]}.items():
    prompts = [f"1 + {prompt}" for prompt in range(3) if correct[prompt, rows.index(row)]]
    print(f"{text!r:14} is correct for {prompts}")

# %% [markdown] tags=["short"]
# In each step, the next program samples a *group* of eight replies to each prompt and scores them 1 or 0. The *advantage* of a reply is its
# score minus the group's mean. While the policy learns, what do you expect of the loss?

# %% tags=["proof-zero-loss"]
torch.manual_seed(0)
base = torch.randn(3, 5, 5)
for seed in range(3):
    torch.manual_seed(seed)
    table, seen = base.clone().requires_grad_(), []
    for step in range(61):
        logp = logprobs(table)
        sampled = logp.detach().exp().multinomial(8, replacement=True)
        score = correct.gather(1, sampled)
        advantage = score - score.mean(1, keepdim=True)
        ratio = (logp - logp.detach()).exp().gather(1, sampled)
        loss = -(ratio * advantage).mean()
        if step % 30 == 0:
            seen.append(f"step {step}: loss {abs(loss):.3f}, reward {expected(table, correct):.2f}")
        (gradient,) = torch.autograd.grad(loss, table)
        table = (table - 3 * gradient).detach().requires_grad_()
    print("; ".join(seen))

# %% [markdown] tags=["short"]
# The loss is 0 in every step, although the policy learns. Each ratio is 1 because the policy that is updated is the one
# that sampled, so the loss is the mean advantage, which is 0 because the group's mean was subtracted. The gradient
# isn't 0, because it weights the gradient of each reply's log-probability by that reply's own advantage.
#
# **Interview · Your GRPO loss is 0 from the first step on. Is something broken?**
#
# - *Thirty seconds:* No. With one update per batch and no KL term, the ratio is exactly 1 and the advantages of a group
#   sum to 0, so the loss is 0 if it averages over replies. Its gradient isn't 0, so I watch the reward and the
#   gradient's norm instead.
# - *Longer:* An average over all tokens of the batch, TRL's default today, weights long replies more, so its value is
#   small but not 0.
# - *They ask next:* When is it broken? If the gradient's norm is 0 as well, then all groups have equal scores and teach nothing, or the
#   ratio was detached.
# - *The trap:* Two runs can't be compared by their losses. Such a loss has the right gradient, but its value measures nothing.
# - *Proof:* `proof-zero-loss`, `proof-signal`.
#
# ## The exact policy gradient of a toy policy
# The expected reward is a sum over all 341 replies, so its gradient is exact. The **policy gradient** rewrites it as a mean over the
# policy's own replies, E[reward · ∇ log π(reply)], which sampling can estimate:

# %% tags=["proof-policy-gradient"]
leaf = base.clone().requires_grad_()
(exact,) = torch.autograd.grad(expected(leaf, correct), leaf)
logp = logprobs(leaf)
weighted = (logp.detach().exp() * correct * logp).sum(1).mean()  # each reply: probability * reward * log-probability
(rewritten,) = torch.autograd.grad(weighted, leaf)
print(f"{len(rows)} replies; gradient's norm {exact.norm():.3f}, difference {(exact - rewritten).norm():.3f}")

# %% [markdown]
# ### Groups with equal scores give no signal
# Sampling fails where all scores of a group are equal, because then all its advantages are 0. With success rate p, a group of K replies has
# a signal with probability 1 − pᴷ − (1 − p)ᴷ:

# %% tags=["proof-signal"]
for p in (0.001, 0.02, 0.5, 0.98):
    print(f"p = {p:5}: signal in", ", ".join(f"{1 - p**K - (1 - p) ** K:4.0%} of groups of {K}" for K in (8, 64)))

# %% [markdown]
# A prompt that is too hard teaches as little as one that is too easy, so reinforcement learning needs a policy that is right at least
# sometimes. The picture shows what each stage learns from. DPO, PPO and GRPO are alternatives:

# %% hidden=true
sft, compared, judge = "SFT policy", "preference pairs", "reward model"
stages = {"DPO": [sft, compared], "PPO": [sft, judge], "GRPO": [sft, judge, "verifier"], judge: [compared]}
stages[sft] = ["base model", "demonstrations"]
about = "SFT trains the base model on demonstrations. DPO needs pairs, PPO a reward model, GRPO one or a verifier."
pictures.graph("DPO", "PPO", "GRPO", children=lambda name: stages.get(name, []), label=str, alt=about)

# %% [markdown]
# ## Supervised fine-tuning
# ### The chat template and the loss mask
# A *chat template* turns a conversation into one list of tokens, in which special tokens open and close each turn. The model should learn
# to write the assistant's words and then to stop, so only these tokens are in the loss. Each of them is predicted at the position before
# it:

# %% tags=["proof-template"]
tokens = ["<user>", "1", "+", "1", "<end>", "<assistant>", "well", "2", "<end>"]
tokens += ["<user>", "1", "+", "2", "<end>", "<assistant>", "3", "<end>"]
trained = [0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1]
print([f"{a} → {b}" for a, b, kept in zip(tokens, tokens[1:], trained[1:], strict=False) if kept])

# %% [markdown]
# The header `<assistant>` isn't trained, because the server writes it, but the first word after it and `<end>` are.
#
# **Interview · What does a chat template have to do with the loss?**
#
# - *Thirty seconds:* The template marks which tokens are the assistant's. These are trained, including the end token,
#   while the headers and the user's turns are only context.
# - *Longer:* At inference I render the same template, up to the header of the turn that the model has to write.
# - *They ask next:* Is the prompt in the loss harmful? The model then also learns to write questions, which matters most when prompts are
#   much longer than replies.
# - *The trap:* If the template differs at inference, an extra space or a missing header is text that the model was never trained on.
# - *Proof:* `proof-template`; you write one in exercise 2.
#
# ### Averaging the loss: over tokens or over replies
# The sum of the losses is divided by the number of trained tokens. A mean of the replies' means differs from that as soon as replies
# differ in length. Here the short reply has the higher loss per token:

# %% tags=["proof-average"]
short, long = torch.tensor([2.0, 2.0]), torch.full((18,), 0.5)  # losses of the tokens
print(f"mean over all tokens       {torch.cat([short, long]).mean():.2f}, weight of a short reply's token 1/20")
print(f"mean of the replies' means {(short.mean() + long.mean()) / 2:.2f}, weight of a short reply's token 1/4")

# %% [markdown]
# If the two replies are micro-batches, averaging their means gives the second number. So accumulate the sums, and divide once by the number
# of all trained tokens.
#
# The next cell fine-tunes the policy on nine demonstrations, a third of which are wrong. `descend` is all the optimizer that this chapter
# needs:


# %% tags=["proof-SFT"]
def descend(table, loss, steps, rate):
    for _ in range(steps):
        table = table.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(logprobs(table)), table)
        table = table - rate * gradient
    return table.detach()


shown = [[[a], [WELL, a], [wrong]] for a, wrong in ((1, 2), (2, 3), (3, 1))]
shown = torch.tensor([[rows.index([*w, *[END] * (4 - len(w))]) for w in words] for words in shown])
tuned = descend(base, lambda logp: -logp.gather(1, shown).sum() / lengths[shown].sum(), 100, 3)
ref, stops = logprobs(tuned), (ids == END).any(1)
print(f"demonstrations: correct {correct.gather(1, shown).mean():.2f}")
for name, policy in (("base", base), ("after SFT", tuned)):
    print(f"{name:9} correct {expected(policy, correct):.2f}, stops {expected(policy, stops):.2f}")

# %% [markdown]
# SFT copies its demonstrations, mistakes included, so to become better than they are, the model needs a signal that
# says which reply is better.
#
# **Interview · Why SFT before RL, and why not SFT alone?**
#
# - *Thirty seconds:* RL only reinforces what the policy samples, so a policy that is never right gets no signal. SFT
#   brings it to where correct replies and the format occur. SFT alone imitates its demonstrations, including their
#   mistakes, while RL optimizes the outcome.
# - *Longer:* The two signals differ in kind. SFT says which tokens to write, in every position; RL says only how good a finished reply
#   was, so it needs many more samples and a policy that succeeds now and then.
# - *They ask next:* Can you skip SFT? Yes, if the base model succeeds sometimes; DeepSeek-R1-Zero was trained that way.
# - *The trap:* RL seldom teaches new knowledge. It mostly moves probability among replies that the policy already writes.
# - *Proof:* `proof-SFT`, `proof-signal`, `proof-milestone`.
#
# ## A reward model
# Suppose that no program can score the replies, but readers can say which of two they like better. They want a correct answer, and they
# like one "well" but not two. In the **Bradley-Terry** model, *a* beats *b* with probability σ(r(a) − r(b)). Our reward model sees two
# features of a reply: whether it is correct, and how often it says "well".

# %% tags=["proof-reward-model"]
wells = (ids == WELL).sum(1)
truth = correct + 0.5 * (wells == 1) - 0.5 * (wells > 1)
features = torch.stack([correct, wells.double().expand(3, -1)], -1)


def compare(seed):  # 400 pairs for each prompt, written by the SFT policy
    torch.manual_seed(seed)
    a, b = ref.exp().multinomial(800, replacement=True).reshape(3, 2, 400).unbind(1)
    wins = torch.rand(3, 400) < (3 * (truth.gather(1, a) - truth.gather(1, b))).sigmoid()
    return torch.where(wins, a, b), torch.where(wins, b, a)


pairs, proxies, prompt = [compare(seed) for seed in range(3)], [], torch.arange(3)[:, None]
for chosen, rejected in pairs:
    difference, weights = features[prompt, chosen] - features[prompt, rejected], torch.zeros(2)
    for _ in range(100):  # the gradient of -log sigmoid(weights @ difference), by hand
        weights = weights + 2 * ((1 - (difference @ weights).sigmoid())[..., None] * difference).mean((0, 1))
    proxies.append(features @ weights)
    often = (wells[torch.cat([chosen, rejected])] > 1).double().mean()
    print(f"reward = {weights[0]:.1f} * correct + {weights[1]:.1f} * wells; {often:.0%} of the replies have several")

# %% [markdown]
# Only one or two replies in a hundred say "well" more than once, so the pairs hardly contradict the linear model, in which each further
# "well" is as good as the first. Keep that in mind for the end of the chapter.
#
# **Interview · What does a reward model learn, and what can't its scores tell you?**
#
# - *Thirty seconds:* It learns differences: the Bradley-Terry loss is the negative log-sigmoid of the chosen reward
#   minus the rejected one. A constant for each prompt cancels, so a single score means nothing by itself.
# - *Longer:* Far from the training pairs a score is a guess.
# - *They ask next:* How do you use several ranked replies? InstructGPT trains on all pairs of one ranking in a single batch element,
#   because separate ones overfit.
# - *The trap:* Its accuracy on held-out pairs of the old policy isn't enough. RL takes the policy to other replies.
# - *Proof:* `proof-reward-model`, `proof-hacking`.
#
# ## DPO
# **DPO** skips the reward model. It takes β · log(π/π_ref) of a reply as its *implicit reward*, where the reference is the frozen SFT
# policy, and puts that into Bradley-Terry, so the policy itself is fitted to the pairs ([chapter 28](28_whiteboard_alignment.ipynb) derives
# it):


# %% tags=["proof-beta"]
def dpo(logp, beta, chosen, rejected):
    rewards = beta * (logp - ref)
    return -F.logsigmoid(rewards.gather(1, chosen) - rewards.gather(1, rejected)).mean()


polite = ((wells == 1) & (lengths == 3)) * correct  # "well 2", to "1 + 1"
print(f"'well' and the sum: probability {expected(tuned, polite):.2f} before; on three seeds:")
for beta in (1.0, 0.2, 0.05):
    changes = {"chosen": [], "rejected": [], "KL": []}
    for pair in pairs:
        table = descend(tuned, lambda logp, beta=beta, pair=pair: dpo(logp, beta, *pair), 100, 3 / beta)
        move = logprobs(table) - ref
        for name, reply in zip(("chosen", "rejected"), pair, strict=True):
            changes[name].append(f"{move.gather(1, reply).mean():+.1f}")
        changes["KL"].append(f"{(logprobs(table).exp() * move).sum(1).mean():.1f}")
    columns = ", ".join(f"{name} {' '.join(values)}" for name, values in changes.items())
    print(f"{beta = }: {columns}; probability {expected(table, polite):.2f}")

# %% [markdown]
# Only the difference of two log-ratios enters the loss, so nothing keeps the chosen replies from becoming less likely. Here both changes
# are negative for each β, and the smaller β is, the further they fall. This *likelihood displacement* happens because a reply that is chosen
# in one pair is often rejected in another, so that nearly all probability goes to the reply that beats most others. A large β keeps the
# policy near the reference.
#
# **Interview · What does β do in DPO?**
#
# - *Thirty seconds:* β is the price of leaving the reference. The implicit reward is β times the log-ratio, so to express the same
#   preference, a small β needs a larger log-ratio and moves the policy further away. A usual value is 0.1.
# - *Longer:* DPO aims at π_ref · exp(r/β), normalized ([chapter 28](28_whiteboard_alignment.ipynb) derives it), so
#   halving β has the effect of doubling the reward.
# - *They ask next:* What is likelihood displacement? Both log-probabilities fall, because only their difference is
#   trained. I log both, and add an SFT term if the chosen ones fall too far.
# - *The trap:* β isn't a learning rate. It also scales the gradient, but above all it sets where training ends.
# - *Proof:* `proof-beta`.
#
# ## The policy gradient's variance
# DPO learns from fixed pairs. Policy-gradient methods sample replies from the current policy instead, so they need a good
# estimate of the gradient. Compare sampled gradients with the exact one, with and without the group's mean as a *baseline*:


# %% tags=["proof-baseline"]
def estimate(leaf, group, baseline):
    logp = logprobs(leaf)
    sampled = logp.detach().exp().multinomial(group, replacement=True)
    score = correct.gather(1, sampled)
    weight = score - score.mean(1, keepdim=True) if baseline else score
    return torch.autograd.grad((weight * logp.gather(1, sampled)).mean(), leaf)[0]


leaf = tuned.clone().requires_grad_()
(exact,) = torch.autograd.grad(expected(leaf, correct), leaf)
torch.manual_seed(0)
for group, baseline in itertools.product((4, 16), (False, True)):
    seen = []
    for _ in range(3):
        many = torch.stack([estimate(leaf, group, baseline) for _ in range(100)])
        error = ((many - exact) ** 2).sum((1, 2, 3)).mean().sqrt() / exact.norm()
        seen.append(f"error {error:.2f}, mean {(many.mean(0) * exact).sum() / (exact**2).sum():.2f}")
    print(f"group of {group:2}, {baseline = !s:5}:", "; ".join(seen))
p = torch.tensor([0.9, 0.1])  # two replies, of which the first is correct
for constant in (0.0, 0.9):
    each = (torch.tensor([1.0, 0.0]) - constant)[:, None] * (torch.eye(2) - p)  # the gradient from each reply
    error = (p @ ((each - p @ each) ** 2).sum(1)).sqrt() / (p @ each).norm()
    print(f"correct in 90 % of all samples, baseline {constant}: error of one sample {error:.2f}")

# %% [markdown]
# Each of the first four lines shows three sets of 100 gradients: their error relative to the exact gradient's norm, and
# the length of their mean along it. Four times as many samples halve the error, and here the baseline reduces it by
# more than 40 % for free. However, the group's mean contains the reply itself, which shrinks the gradient to (K − 1)/K,
# or 0.75 for a group of four, but keeps its direction.
#
# A baseline doesn't always help. The last two lines are exact and describe a policy that is correct in nine of ten samples. Its expected
# reward is 0.9, and with that baseline the error is eight times as large, because nearly all of the gradient now comes from the rare wrong
# reply. Exercise 3 finds the baseline with the least variance.
#
# **Interview · Why doesn't a baseline bias the policy gradient, and does that hold for the group's mean?**
#
# - *Thirty seconds:* The gradient of log π has mean zero under π, so subtracting a constant times it changes nothing on average, while
#   smaller weights usually mean less variance. GRPO's group mean includes the sample itself, so the gradient is multiplied by
#   (K − 1)/K and is otherwise unbiased.
# - *Longer:* RLOO avoids the factor by taking the mean of the *other* samples.
# - *They ask next:* When does a baseline hurt? If the policy is nearly always right, the expected reward as a baseline raises the
#   variance.
# - *The trap:* The division by the group's standard deviation isn't harmless, too. It reweights the prompts, as the section on GRPO shows.
# - *Proof:* `proof-baseline`, `proof-advantages`.
#
# ## PPO: several steps on one batch
# Sampling is expensive, so **PPO** takes several steps on each batch. From the second step on, the policy has left the one that sampled,
# and the *ratio* π/π_old corrects for that. Because samples say little about a policy that is far away, the ratio is *clipped*: moving
# further than 1 ± ε in the wanted direction earns nothing. In this run a poor judge flips a quarter of the scores, and each batch is used
# for 20 steps. (For brevity the ratio is that of a whole reply, while PPO and GRPO take one for each token. GSPO takes the reply's,
# normalized by its length: [chapter 28](28_whiteboard_alignment.ipynb).)


# %% tags=["proof-clip"]
def train(start, seed, steps, inner, clip, noise=0.0):
    torch.manual_seed(seed)
    table, curve = start, []
    for _ in range(steps):
        old = logprobs(table)
        sampled = old.exp().multinomial(8, replacement=True)
        score = correct.gather(1, sampled)
        score = torch.where(torch.rand(3, 8) < noise, 1 - score, score)
        advantage = score - score.mean(1, keepdim=True)

        def loss(logp, old=old, sampled=sampled, advantage=advantage):
            ratio = (logp - old).gather(1, sampled).exp()
            return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()

        curve.append(expected(table, correct).item())
        table = descend(table, loss, inner, 3)
    return table, curve


lines = {}
for name, clip in (("clipped", 0.2), ("not clipped", math.inf)):
    runs = [train(tuned, seed, 25, 20, clip, noise=0.25)[1] for seed in range(3)]
    lines |= {f"{name}, seed {seed}": run for seed, run in enumerate(runs)}
    print(f"{name:11} correct {runs[0][0]:.2f} -> {[round(sum(run[-5:]) / 5, 2) for run in runs]}, on three seeds")
pictures.curves(lines, xlabel="batch", ylabel="expected reward")

# %% [markdown]
# Without the clip, 20 steps take unlucky scores at face value. The correct reply to one prompt becomes so unlikely that it is rarely sampled
# again, and the reward falls to two thirds, or to one third when this happens to two of the three prompts.
#
# **Interview · In PPO's first step every ratio is 1. Why isn't the gradient 0?**
#
# - *Thirty seconds:* The ratio's value is 1, but its gradient is the gradient of log π, because the old policy is a constant. So the first
#   step is REINFORCE with that advantage, and no reply is clipped, while ratio and clip matter from the second step on.
# - *Longer:* With one step per batch there is nothing to correct, so ratio and clip could be dropped.
# - *They ask next:* What if the policy's entropy falls toward 0? The replies of a group become alike, so nothing new is found. DAPO
#   raises the upper clip, so that unlikely tokens may grow faster.
# - *They ask next:* What if every ratio is 1 in all steps? Then the old log-probabilities are recomputed from the new policy, and nothing
#   is ever clipped.
# - *They ask next:* Why do labs sample asynchronously? Replies differ widely in length, above all those of agents, and waiting for the
#   longest leaves GPUs idle. The samples are then a few updates old, so I limit their age, and the ratio and its clip correct for the
#   rest.
# - *The trap:* If you detach the ratio, or divide the current policy by itself without a detach, the gradient is 0.
# - *Proof:* `proof-first-step`.

# %% tags=["proof-first-step"]
leaf = tuned.clone().requires_grad_()
logp = logprobs(leaf)
weight = ref.exp() * (correct - expected(tuned, correct))  # over all replies: exact
kinds = {"REINFORCE": logp, "ratio": (logp - ref).exp(), "detached": (logp - ref).exp().detach() + 0 * logp}
for name, ratio in (kinds | {"by itself": (logp - logp).exp()}).items():
    (gradient,) = torch.autograd.grad((weight * ratio).sum(1).mean(), leaf, retain_graph=True)
    print(f"{name:9} gradient's norm {gradient.norm():.3f}")

# %% [markdown]
# ## GRPO
# PPO trains a value function as its baseline, which is usually another model of the same size. **GRPO** takes the
# group's mean instead, divides by the group's standard deviation, and gives the result to all tokens of a reply as
# their advantage. Here are the first two advantages in each of four groups:

# %% tags=["proof-advantages"]
groups = {"1 of 8 correct": [1.0] + [0.0] * 7, "4 of 8 correct": [1.0, 0.0] * 4, "all correct": [1.0] * 8}
groups["equal but for noise"] = [0.7, 0.702] * 4
for name, scores in groups.items():
    score = torch.tensor(scores)
    centred = score - score.mean()
    scaled = centred / (score.std() + 1e-6)
    print(f"{name:19} centred {centred[:2].numpy().round(3)}, divided by std {scaled[:2].numpy().round(1) + 0.0}")

# %% [markdown]
# Dividing by the standard deviation gives more weight to prompts that are nearly always or nearly never solved, and it turns a judge's
# noise into advantages of full size. If all scores are equal, nothing is learned, however good the replies are.
#
# The original loss also divides by each reply's length. This cell shows the weight with which the log-probability of a single *token* is
# pushed, for advantages of 1 and −1:

# %% tags=["proof-length"]
for name, advantage in (("correct", 1.0), ("wrong", -1.0)):
    weights = [f"{length} tokens: {advantage / length:+.3f}" for length in (10, 100, 1000)]
    print(f"{name:7}", ", ".join(weights), f"· divided by the maximum: {advantage / 1000:+.3f}")

# %% [markdown]
# The longer a wrong reply is, the less each of its tokens is punished, so wrong replies tend to grow. **Dr. GRPO** divides by a constant,
# here the maximum length, and leaves out the standard deviation ([Liu et al. 2025](https://arxiv.org/abs/2503.20783)). **DAPO** averages
# over all tokens of the batch ([Yu et al. 2025](https://arxiv.org/abs/2503.14476)), so tokens have equal weight in all replies. Chapter 28
# follows the drift.
#
# ## Milestone: from wrong demonstrations to correct replies
# If a program can *verify* the reply, the score needs no reward model. Continue from the SFT policy, with two clipped steps on each batch
# and no penalty. **pass@k** is the probability that at least one of k samples is correct:

# %% tags=["proof-milestone"]
runs = [train(tuned, seed, 100, 2, 0.2)[0] for seed in range(3)]
for name, tables in (("base", [base]), ("SFT", [tuned]), ("GRPO", runs)):
    rates = [(logprobs(table).exp() * correct).sum(1) for table in tables]
    means = {k: " ".join(f"{(1 - (1 - rate) ** k).mean():.2f}" for rate in rates) for k in (1, 8, 64)}
    print(f"{name:4}", "; ".join(f"pass@{k}: {mean}" for k, mean in means.items()))

# %% [markdown]
# The model is now better than its demonstrations. Eight samples of the SFT policy nearly always contained a correct reply, and after GRPO a
# single sample does.
#
# **Interview · Does RL with verifiable rewards teach anything new?**
#
# - *Thirty seconds:* It reinforces replies that the policy samples already, so it mainly turns pass@k into pass@1, and where the base
#   model never succeeds there is no signal. I compare pass@k at large k, before and after, to see whether anything was added or lost.
# - *Longer:* In [Yue et al. 2025](https://arxiv.org/abs/2504.13837), base models overtook their RL versions at large k,
#   because RL had made the frequent solutions more frequent and lost some of the rare ones.
# - *The trap:* 1 − (1 − c/n)ᵏ from n samples isn't pass@k. That is biased; exercise 6 has the unbiased form.
# - *Proof:* `proof-milestone`.
#
# ## Reward hacking
# Now optimize the reward models from above instead, by ascending their exact expectation. They are only a *proxy* for what readers think,
# which is known here, so we can follow both:


# %% tags=["proof-hacking"]
def ascend(proxy, beta):
    table, curves = tuned, {"reward model": [], "readers": []}
    for _ in range(11):
        curves["reward model"].append(expected(table, proxy).item())
        curves["readers"].append(expected(table, truth).item())
        table = descend(table, lambda logp: -(logp.exp() * (proxy - beta * (logp - ref))).sum(1).mean(), 40, 4)
    return curves, expected(table, logprobs(table) - ref), expected(table, wells)


def draw(beta):
    return pictures.curves(ascend(proxies[0], beta)[0], range(0, 401, 40), xlabel="step", ylabel="expected reward")


for beta in (0.0, 0.3, 3.0):
    for curves, kl, line in [ascend(proxy, beta) for proxy in proxies]:
        most, last = max(curves["readers"]), curves["readers"][-1]
        print(f"{beta = }: readers at best {most:.2f}, at the end {last:.2f}; KL {kl:.1f}, {line:.1f} wells a reply")
pictures.slider(draw, start={"beta": 0.0}, beta=[0.0, 0.3, 1.0, 3.0])

# %% [markdown]
# Without a penalty the proxy keeps rising on all three seeds, while the readers are pleased at first and then annoyed, because replies say
# "well" more often than they like. A penalty stops the policy earlier, and a large one prevents most of the improvement, too. *Best-of-n*
# sampling by the proxy is hacked in the same way (exercise 5).
#
# A program can be hacked as well. This one looks for the correct digit *anywhere* in the reply, and the policy can't even see the prompt:

# %% tags=["proof-verifier"]
anywhere = torch.stack([(ids == answer).any(1) for answer in (1, 2, 3)]).double()
for seed in range(3):
    torch.manual_seed(seed)
    blind = descend(torch.randn(1, 5, 5), lambda logp: -(logp.exp() * anywhere).sum(1).mean(), 300, 3)
    reply = rows[logprobs(blind)[0].argmax().item()]
    print(
        f"verified {expected(blind, anywhere):.2f}, correct {expected(blind, correct):.2f}, most likely reply {reply}"
    )

# %% [markdown]
# **Interview · Can a verifiable reward be hacked?**
#
# - *Thirty seconds:* Yes, whenever the program accepts more than I mean. So I parse a single final answer, keep hidden
#   tests, and read the replies when the reward jumps.
# - *Longer:* Policies list several answers, as here, special-case the tests, or read the solution from disk.
# - *They ask next:* What about a learned reward? I watch a held-out judge, KL and length, stop early, and collect fresh pairs from the
#   current policy.
# - *They ask next:* What if no program can check the task? A language model grades the reply by a written rubric. It is a proxy like any
#   reward model, so I compare its grades with people's and read the replies that it likes most.
# - *The trap:* A rising verified reward isn't a better model. It means that more replies pass the check.
# - *Proof:* `proof-verifier`, `proof-hacking`.
#
# ## SFT, DPO, PPO and GRPO compared
# | stage | learns from | models in memory | raises | watch |
# |---|---|---|---|---|
# | SFT | demonstrations | policy | each demonstrated token | held-out loss |
# | reward model | pairs | reward model | the chosen reply's margin over the rejected one | accuracy on fresh pairs |
# | DPO | pairs | policy, reference | that margin, in log-ratios | both log-probabilities, KL |
# | PPO | its own replies | policy, value function, reward model, reference | tokens with a positive advantage | reward, KL, clipped share, entropy |
# | GRPO | groups of its own replies | policy, and a reference if there is a KL penalty | replies above their group's mean | groups with mixed scores, entropy, length |
#
# **Interview · DPO, PPO or GRPO: when do you use which?**
#
# - *Thirty seconds:* If I have preference pairs and little compute, I use DPO, which samples nothing and holds two models. If a program can
#   check the replies, I use GRPO, which learns from the policy's own replies without a value function. PPO pays for a value function and in
#   return gives each token its own advantage.
# - *Longer:* On-policy training often beats DPO, whose pairs come from an older policy, so that nothing corrects the
#   new one where it goes. Online DPO collects new pairs from the current policy.
# - *The trap:* The loss alone doesn't decide. The choice depends on the kind of feedback, and on whether you can afford to sample.
# - *Proof:* `proof-beta`, `proof-clip`, `proof-milestone`.
#
# ## The real one
# PyTorch has none of these losses, but this lesson's cells printed the same when they ran on PyTorch 2.13. Libraries
# such as TRL add fast generation, token-level ratios and distributed training. TRL's maintainers
# [explain](https://github.com/huggingface/trl/issues/3452) the zero loss: by default there is one update per batch, and
# β is 0.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. What is the DPO loss before the first step? log 2, about 0.69.
# 2. In GRPO, how many of 24 replies have a gradient if one of three groups of 8 has mixed scores? Eight.
# 3. By what factor does subtracting the group's mean scale GRPO's gradient for K = 4? 3/4.
# 4. What is PPO's ratio in the first step? 1.
# 5. How often is a GRPO group of 8 without signal at a pass rate of 0.02? 85 % of the time.

# %% tags=["proof-rapid-fire"]
print("1.", f"{dpo(ref, 0.1, *pairs[0]):.2f}", "· 3.", 1 - 1 / 4, "· 5.", f"{0.02**8 + 0.98**8:.0%}")

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. SFT trains the assistant's words and the end token. Sum the losses, and divide once by the count of the whole batch.
# 2. SFT copies mistakes, and RL only reinforces what the policy samples.
# 3. Bradley-Terry learns differences of rewards, and only where there are pairs.
# 4. DPO's implicit reward is β · log(π/π_ref). With a small β the policy moves further from the reference, and both
#    log-probabilities may fall.
# 5. A good baseline removes variance, while a mean that includes the sample multiplies the gradient by (K − 1)/K.
# 6. In the first step on a batch the ratio is 1, and the gradient is REINFORCE's.
# 7. The clip removes the incentive to move further from the old policy, but it doesn't bound a single step.
# 8. The penalty belongs in the reward as k1, or in the loss as k2. The loss's value says nothing, so watch the reward.
# 9. In GRPO, equal scores teach nothing, 1/std reweights prompts, and 1/length lets wrong replies grow.
# 10. A proxy that is optimized for long enough tends to be hacked, so keep a judge that isn't optimized.
#
# ## You try
# In [the exercises](../exercises/24d_from_sft_to_grpo.ipynb) you count gradients, write a chat template, find the best baseline, repair a
# PPO loop, over-optimize with the best of n, and estimate pass@k. [Chapter 28](28_whiteboard_alignment.ipynb) has the losses as whiteboard
# problems, and [chapter 24e](24e_hugging_face.ipynb) runs Hugging Face's own Llama on your library.

# %% [markdown]
# ## If you have time
# ### The KL penalty: in the reward or in the loss
# RLHF subtracts β times the policy's KL divergence from the reference, which is estimated from samples. With d = log π_ref − log π, **k1**
# = −d, **k2** = d²/2 and **k3** = eᵈ − 1 − d. PPO puts k1 into the *reward*, where it is a number, while GRPO puts k3 into the *loss*,
# where it is differentiated. Which of them has the KL's gradient? Taking the expectation over all replies settles it:

# %% tags=["proof-penalty"]
moved = descend(tuned, lambda logp: -(logp.exp() * correct).sum(1).mean(), 20, 3)
leaf = moved.clone().requires_grad_()
logp = logprobs(leaf)
p, d = logp.detach().exp(), ref - logp
(exact,) = torch.autograd.grad((logp.exp() * -d).sum(1).mean(), leaf, retain_graph=True)
print(f"KL {(p * -d).sum(1).mean():.2f}, whose gradient the estimators should have")
kinds = {"k1 in the reward": -d.detach() * logp, "k1": -d, "k2": d**2 / 2, "k3": d.exp() - 1 - d}
for name, penalty in kinds.items():
    (gradient,) = torch.autograd.grad((p * penalty).sum(1).mean(), leaf, retain_graph=True)
    print(f"{name:16} relative error of the gradient {(gradient - exact).norm() / exact.norm():.1f}")

# %% [markdown]
# **Interview · Where does the KL penalty go, into the reward or into the loss?**
#
# - *Thirty seconds:* PPO subtracts β times the log-ratio from each token's reward, which gives the right gradient. GRPO
#   adds k3 to the loss, although only its value is unbiased and its gradient isn't the KL's.
# - *Longer:* As a loss, k2 has the right gradient, while k1's is zero on average.
# - *They ask next:* Do you need the penalty at all? With a verifiable reward many drop it, which also saves the reference model.
# - *The trap:* Two policies are easily confused: the ratio compares with the one that sampled, the penalty with the frozen reference.
# - *Proof:* `proof-penalty`.

# %% [markdown]
# ### The DPO loss of a pair
# The loss sees a pair only through the difference of two implicit rewards. Here the policy moves the log-probabilities of the chosen and of
# the rejected reply by the amounts that are printed:


# %% tags=["proof-DPO"]
def dpo_loss(policy, reference, beta=0.1):  # log-probabilities of the chosen and the rejected reply
    chosen, rejected = beta * (policy - reference)
    return -F.logsigmoid(chosen - rejected)


reference = torch.tensor([-12.0, -10.0])
for moved in ([0.0, 0.0], [5.0, -5.0], [-5.0, -15.0], [5.0, 5.0]):
    policy = (reference + torch.tensor(moved)).requires_grad_()
    loss = dpo_loss(policy, reference)
    print(f"moved by {moved!s:13} loss {loss:.3f}, gradient {torch.autograd.grad(loss, policy)[0].numpy().round(3)}")

# %% [markdown]
# **Interview · What is DPO's loss if the policy is the reference?**
#
# - *Thirty seconds:* It is ln 2 = 0.693, because both implicit rewards are 0, and σ(0) is one half. Training starts at
#   this point, where the gradient isn't 0.
# - *Longer:* β controls how strongly the policy is held near the reference. Adding the same amount to both log-probabilities
#   doesn't change the loss.
# - *They ask next:* Does the probability of the chosen reply have to rise? No, only its lead over the rejected one does. In the
#   third line both fall, and the loss equals that of the second.
# - *The trap:* No gradient may flow into the reference, and its dropout has to be off.
# - *Proof:* `proof-DPO`.
