# %% [markdown]
# # DPO, PPO and GRPO at the whiteboard
# After this chapter you can derive DPO at a whiteboard, say which baselines bias a policy gradient and prove it, and
# write PPO, GRPO and its corrections without looking anything up. The policy here is so small that all its answers can
# be listed, so expectations are exact sums, and bias and variance can be computed instead of argued about. You know the
# losses from [chapter 24d](24d_from_sft_to_grpo.ipynb); here you derive them and find their faults. The last part
# is about pretraining: budget, batch size, loss spikes and evidence.

# %% [markdown] tags=["short"]
# ## The DPO loss falls, and so does the chosen answer's probability
# The model should write digits that add up to 6 and then stop. An answer has at most four tokens over a vocabulary of
# six, the end token and the digits 1 to 5. The policy is a table of logits that sees only the previous token. A
# labeller prefers "3 3 end" to "3 3 3 3". You take ten steps of DPO on that pair. What happens to the probability of
# the chosen answer?
#
# The folded cell lists all 781 answers in `rows`, gives each its `reward` (1 if it adds up to 6 and stops, else 0), and defines
# `logprobs(table)`, the log-probabilities of all answers.

# %% hidden=true
import itertools
import math

import minitorch as torch
from course import pictures
from minitorch.nn import functional as F

END, LONGEST = 0, 4
rows = [[*w, END] + [END] * (3 - n) for n in range(4) for w in itertools.product(range(1, 6), repeat=n)]
rows += [list(w) for w in itertools.product(range(1, 6), repeat=4)]
ids = torch.tensor(rows)  # (781, 4): every answer there is
lengths = ((ids != END).sum(1) + 1).clamp(max=4)
real = torch.arange(4) < lengths[:, None]
reward = ((ids.sum(1) == 6) & (ids == END).any(1)).float()  # adds up to 6 and stops
before = torch.cat([torch.zeros_like(ids[:, :1]), ids[:, :-1]], 1)


def logprobs(table):  # of all 781 answers
    return (table.log_softmax(-1)[before, ids] * real).sum(1)


# %% tags=["proof-both-fall"]
torch.manual_seed(0)
base = 0.7 * torch.randn(6, 6)
reference, table = logprobs(base), base.clone().requires_grad_()
chosen, rejected = rows.index([3, 3, END, END]), rows.index([3, 3, 3, 3])
for step in range(11):
    logp = logprobs(table)
    ratio = logp - reference
    loss = -F.logsigmoid(0.1 * (ratio[chosen] - ratio[rejected]))
    if step % 5 == 0:
        print(f"step {step:2}: loss {loss:.2f}, chosen {ratio[chosen]:+.2f} nats, rejected {ratio[rejected]:+.2f} nats")
    (gradient,) = torch.autograd.grad(loss, table)
    table = (table - gradient).detach().requires_grad_()

# %% [markdown] tags=["short"]
# Both became less likely, although the loss fell. The two answers share most of their tokens, and pushing down "3 after
# 3" hurts the chosen answer, which contains it too, more than raising "end after 3" helps it.
#
# **Interview · The DPO loss falls and the chosen answer's probability falls too. Is that a bug?**
#
# - *Thirty seconds:* No, because DPO's loss depends only on the margin of the chosen answer over the rejected one, so
#   both may fall as long as the rejected one falls faster.
# - *Longer:* This *likelihood displacement* is strongest when the model represents the two answers similarly ([Razin et
#   al. 2024](https://arxiv.org/abs/2410.08847)).
# - *They ask next:* What would you do about it? I would log both rewards and not only their margin, drop pairs that are nearly
#   equal, add an SFT term on the chosen answer, or use pairs that the policy itself wrote.
# - *The trap:* A falling loss only says that the margin grows.
# - *Proof:* `proof-both-fall`.

# %% [markdown]
# ## A toy policy whose answers can be listed
# An expectation over the policy is a sum of 781 terms here, so `expected` needs no sampling. Supervised fine-tuning on
# nine demonstrations teaches the policy to stop and to do some of the arithmetic. All losses below start from an
# answer's log-probability, which is the *sum* over its tokens and not their mean.


# %% tags=["proof-SFT"]
def expected(table, values):
    return (logprobs(table).exp() * values).sum()


print(
    f"{len(rows)} answers, {int(reward.sum())} of them correct; probabilities sum to {expected(base, torch.ones(781)):.2f}"
)
print(f"the base model's expected reward is {expected(base, reward):.3f}")
demonstrations = [rows.index([*each, END] + [END] * (3 - len(each))) for each in ([3, 3], [1, 5], [2, 4], [4, 2])]
demonstrations += [rows.index([*each, END]) for each in ([1, 1, 4], [1, 2, 3], [2, 2, 2], [2, 5, 1], [3, 1, 2])]
table = base.clone().requires_grad_()
for _ in range(60):
    logp = table.log_softmax(-1)[before, ids][demonstrations]
    loss = -(logp * real[demonstrations]).sum() / real[demonstrations].sum()
    (gradient,) = torch.autograd.grad(loss, table)
    table = (table - gradient).detach().requires_grad_()
tuned = table.detach()
for name, each in (("base", base), ("after SFT", tuned)):
    print(f"{name:9} expected reward {expected(each, reward):.2f}, stops {expected(each, (ids == END).any(1)):.2f}")

# %% [markdown] tags=["short"]
# ## Derive DPO from KL-regularized RL
# RLHF maximizes J(π) = E[r] − β·KL(π ‖ ref), which for one prompt is a sum over answers y:
#
# J(π) = Σ π(y) [r(y) − β log(π(y) / ref(y))] = −β Σ π(y) log(π(y) / (ref(y) · exp(r(y)/β)))
#
# Let Z = Σ ref(y) · exp(r(y)/β) and π\*(y) = ref(y) · exp(r(y)/β) / Z. Then J(π) = β log Z − β KL(π ‖ π\*), which is largest when
# π = π\*. Solving the definition of π\* for the reward gives
#
# r(y) = β log(π\*(y) / ref(y)) + β log Z
#
# In the **Bradley-Terry** model, people prefer *a* to *b* with probability σ(r(a) − r(b)). Z depends on the prompt
# alone, so it cancels in that difference, and a policy can be trained on comparisons as if it were the reward model.
# Its **implicit reward** is β log(π / ref).

# %% [markdown]
# ### The optimum, checked by enumeration
# The next cell computes J at the optimum, where it should equal β log Z, at the reference, and at three policies near
# the optimum. The last line should be the difference of two rewards, 1 and 0:

# %% tags=["proof-optimum"]
beta, ref = 0.5, logprobs(tuned)
log_z = (ref + reward / beta).logsumexp(0)
optimum = ref + reward / beta - log_z


def objective(logp):
    return (logp.exp() * (reward - beta * (logp - ref))).sum()


torch.manual_seed(1)
nearby = [(optimum + 0.3 * torch.randn(781)).log_softmax(0) for _ in range(3)]
print(
    f"J at the optimum {objective(optimum):.3f}, beta log Z {beta * log_z:.3f}, at the reference {objective(ref):.3f}"
)
print("J near the optimum", [f"{objective(each):.3f}" for each in nearby])
implicit = beta * (optimum - ref)
print(f"implicit reward of a correct minus an incorrect answer {implicit[chosen] - implicit[rejected]:.3f}")

# %% [markdown]
# **Interview · Derive DPO from KL-regularized RL.**
#
# - *Thirty seconds:* The best policy for reward minus β times the KL is the reference times exp(r/β), normalized by Z. I solve
#   that for r, which gives β times the log-ratio plus β log Z. In the Bradley-Terry difference log Z cancels, so −log σ of the
#   difference of β times the log-ratios trains the policy directly.
# - *Longer:* The objective is β log Z − β KL(π ‖ π\*), so π\* is its maximum. The step that needs an assumption is Bradley-Terry: if
#   preferences don't follow a difference of rewards, for example because they aren't transitive, the derivation doesn't hold.
# - *They ask next:* What does β do? It is the price of leaving the reference: a large β reaches a given reward difference with a
#   small change of the policy.
# - *They ask next:* What do IPO and SimPO change? IPO aims at a fixed margin, because DPO's loss rewards an ever larger one even for a
#   pair on which everybody agrees. SimPO drops the reference and compares the mean log-probabilities per token.
# - *The trap:* DPO needs no reward *model*, but the frozen reference is in every term.
# - *Proof:* `proof-optimum`.
#
# ## The policy gradient and its baseline
# The gradient of the expected reward is E[r · ∇ log π(y)], because ∇π = π ∇ log π, and REINFORCE estimates it from
# samples. The **score** ∇ log π has mean zero, so a baseline that doesn't depend on the sampled answer can be
# subtracted from r. The mean stays as it is, while the variance changes, for better or worse.
#
# The mean reward of a batch of K samples isn't such a baseline, because it contains the sample itself. The difference
# of r and the batch's mean is (K − 1)/K times that of r and the mean of the *others*, so the expected gradient shrinks
# by that factor. RLOO subtracts the mean of the others and is unbiased. Dividing by the batch's standard deviation can
# change even the direction.
#
# The folded cell computes each answer's score. The cell after it prints the variance of a single sample's gradient for three
# baselines, and shows what the batch's mean does to the expected gradient for K = 2:

# %% hidden=true
score = torch.zeros(781, 6, 6)
for k in range(LONGEST):
    at = torch.arange(781)[real[:, k]]
    b, token = before[at, k], ids[at, k]
    score[at, b] -= tuned.softmax(-1)[b]
    score[at, b, token] += 1

# %% tags=["proof-baseline"]
p = logprobs(tuned).exp()[:, None]
for name, baseline in (("none", 0.0), ("1", 1.0), ("expected reward", expected(tuned, reward))):
    estimates = ((reward - baseline)[:, None, None] * score).flatten(1)
    mean = (p * estimates).sum(0)
    print(f"baseline {name:15} gradient's norm {mean.norm():.3f}, variance {(p * (estimates - mean) ** 2).sum():.2f}")
two = p * p.T * (reward[:, None] - (reward[:, None] + reward) / 2)  # all batches of two, and the first one's advantage
print(f"the mean of two answers: gradient's norm {(two.sum(1) @ score.flatten(1)).norm():.3f}, half of the others'")

# %% [markdown]
# No baseline changes the mean gradient. The expected reward lowers the variance a little, whereas 1, which is far above most
# rewards, raises it twelvefold.
#
# ### GAE: between one step and the whole episode
# PPO needs an advantage for every token, and its value function V predicts at each token what reward is still to come.
# The **TD error** δ = r + γV(next) − V looks one step ahead, so it has little variance and all the bias of the value
# function. The return minus V looks ahead to the end, which removes the bias and brings the variance of the whole
# episode. GAE sums TD errors with weights (γλ)^k, where λ = 0 gives the TD error and λ = 1 the return minus V. After a
# real end the value of the next state is 0; if a limit merely truncated the episode, it still counts.

# %% tags=["proof-GAE"]
rewards, values = torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0.2, 0.9, 0.4])
errors = rewards + torch.cat([values[1:], torch.zeros(1)]) - values  # gamma = 1, the episode ended
for lam in (0.0, 0.95, 1.0):
    weights = torch.tensor([[lam ** (j - i) if j >= i else 0.0 for j in range(3)] for i in range(3)])
    print(f"lambda {lam:.2f}: advantages {[round(each, 2) for each in (weights @ errors).tolist()]}")

# %% [markdown]
# At the second token V = 0.9 was too optimistic, since the next value is only 0.4. With λ = 0 that costs this token 0.5; with λ = 1
# it has an advantage of 0.1, because the return is 1.
#
# ## PPO: several steps on one batch
# Answers are expensive to sample, so PPO takes several gradient steps on one batch. After the first step, the policy is
# no longer the one that sampled, and the **ratio** r = π / π_old of each token corrects for that. The loss is −min(r·A,
# clip(r, 1 − ε, 1 + ε)·A), and the next cell shows at which ratios it has no gradient:

# %% tags=["proof-clip"]
ratios = torch.linspace(0.5, 1.5, 11)
lines = {}
for A in (1.0, -1.0):
    r = ratios.clone().requires_grad_()
    kept = torch.minimum(r * A, r.clamp(0.8, 1.2) * A)
    kept.sum().backward()
    lines[f"A = {A:+.0f}"] = kept.detach().tolist()
    flat = [round(each, 1) for each, slope in zip(ratios.tolist(), r.grad.tolist(), strict=True) if slope == 0]
    print(f"A = {A:+.0f}: no gradient at ratios {flat}")
pictures.curves(lines, ratios.tolist(), xlabel="ratio r", ylabel="min(r·A, clip(r)·A)")

# %% [markdown]
# **Interview · Why min(r·A, clip(r)·A), and where is the gradient 0?**
#
# - *Thirty seconds:* The minimum is a pessimistic bound. The gradient is 0 where the policy has already moved far
#   enough in the wanted direction: at A > 0 and r above 1 + ε, or A < 0 and r below 1 − ε. If it moved the wrong way,
#   the gradient stays and brings it back.
# - *Longer:* The clip removes the incentive to go further, but it doesn't bound a step. A comes from GAE, often with γ
#   = 1 and λ near 1, because the single reward at the end has to reach the first token.
# - *They ask next:* What is the ratio in the first step? It is 1 if sampler and trainer agree, and the gradient is then
#   REINFORCE's.
# - *The trap:* If you clip without the minimum, you also remove the gradient of tokens that moved the wrong way.
# - *Proof:* `proof-clip`, `proof-GAE`.
#
# **Interview · Which models are in memory for PPO, and what does GRPO drop?**
#
# - *Thirty seconds:* Four: the policy and the value function, which are trained, and the frozen reference and reward
#   model. GRPO drops the value function because it compares each answer with its group, and with a verifiable reward it
#   needs no reward model either.
# - *Longer:* A trained model takes about 16 bytes per parameter and a frozen one 2, so at 7 billion parameters each,
#   PPO's four take 252 GB.
# - *They ask next:* What does GRPO pay for that? Several samples for each prompt, and one advantage for all tokens of
#   an answer, whichever of them earned the reward.
# - *They ask next:* Would a *process reward model* help? Perhaps: it rates each step, but its labels are expensive and
#   it can be hacked ([DeepSeek-R1](https://arxiv.org/abs/2501.12948) tried it in vain).
# - *The trap:* They aren't four equal models: the trained ones take eight times as much.
# - *Proof:* `proof-memory`.

# %% tags=["proof-memory"]
trained, frozen = 16, 2  # bytes a parameter: mixed precision with AdamW, and 16 bits for inference
for name, bytes_each in (("PPO", [trained, trained, frozen, frozen]), ("GRPO, verified reward", [trained, frozen])):
    print(f"{name:22} {7 * sum(bytes_each)} GB for 7 billion parameters each")

# %% [markdown]
# ## GRPO and its biases: Dr. GRPO and DAPO
# GRPO samples K answers to each prompt, and all tokens of an answer get the advantage (r − mean of the group) / std of
# the group. The loss is PPO's plus β times a k3 estimate of the KL, averaged first over each answer's tokens and then
# over the answers. One token of an answer of length L therefore has the weight A / L. Among correct answers this
# favours short ones, which does little harm. A wrong answer, however, has A < 0, and the longer it is, the less each of
# its tokens is punished.
#
# The division by the std is a weight for each *prompt*. With rewards of 0 and 1 and a success rate p it is about
# 1/√(p(1 − p)), which is largest for very easy and very hard prompts. If all rewards of a group are equal, the std is 0
# or a rounding error, so a small number is added to it. The folded cell trains with exact gradients, from a uniform
# policy and from five random ones, and follows the lengths of wrong answers. The last of the three cells tries 1e-8 and
# 1e-4 on groups with equal rewards:


# %% hidden=true
def wrong_lengths(seed, weights):  # mean length of wrong answers in 200 steps of REINFORCE with exact gradients
    torch.manual_seed(seed)
    start = 0.7 * torch.randn(6, 6) if seed else torch.zeros(6, 6)
    table, curve, wrong = start.requires_grad_(), [], 1 - reward
    for _ in range(200):
        p = logprobs(table).exp().detach()
        curve.append(((p * wrong * lengths).sum() / (p * wrong).sum()).item())
        advantage = reward - (p * reward).sum()
        (gradient,) = torch.autograd.grad((p * advantage * weights * logprobs(table)).sum(), table)
        table = (table + 2 * gradient).detach().requires_grad_()
    return curve


# %% tags=["proof-length-bias"]
averages = {"mean over each answer": 1 / lengths, "the same for all tokens": torch.full((781,), 1 / 4)}
drifts = [{name: wrong_lengths(seed, each) for name, each in averages.items()} for seed in range(6)]
for name, curve in drifts[0].items():
    print(f"{name:24} wrong answers' length {curve[0]:.2f} -> {curve[-1]:.2f} from the uniform start")
longer = [a[-1] > b[-1] for a, b in (drift.values() for drift in drifts)]
print(f"with the mean over each answer, wrong answers end up longer on {sum(longer)} of {len(longer)} starts")
print("1 / std at p = 0.01, 0.5, 0.99:", [f"{1 / math.sqrt(p * (1 - p)):.0f}" for p in (0.01, 0.5, 0.99)])
pictures.curves(drifts[0], range(200), xlabel="step", ylabel="length of wrong answers")

# %% tags=["proof-equal"]
for rewards in ([0.7] * 4, [0.9] * 3):
    equal = torch.tensor(rewards)
    for eps in (1e-8, 1e-4):
        advantage = (equal - equal.mean()) / (equal.std() + eps)
        print(f"{len(equal)} rewards of {rewards[0]}, + {eps:g}: |A| < 0.01 is {bool(advantage.abs().max() < 0.01)}")

# %% [markdown]
# With at most four tokens the drift is small, about 4 % of the length, and one start of six goes the other way. Real
# answers have thousands of tokens, so 1/length has far more room to act. As for the std, 1e-8 wasn't enough for three
# rewards of 0.9, whose mean is rounded.
#
# **Interview · What bias do 1/length and 1/std bring into GRPO?**
#
# - *Thirty seconds:* Dividing by an answer's length punishes the tokens of long wrong answers less, so wrong answers tend to be
#   longer than with equal token weights, here on five of six starts. Dividing by the std gives more weight to very easy and very
#   hard prompts. Dr. GRPO drops both.
# - *Longer:* Each token of an answer of length L has weight A/L, so with A < 0 a longer answer is punished less per token. 1/std
#   gives every mixed group the same sum of squared advantages, whether its pass rate is 1/8 or 1/2.
# - *They ask next:* What does DAPO do instead? It averages over all tokens of the batch and raises the upper clip.
# - *They ask next:* What is learned from a group with equal rewards? Nothing, because every advantage is 0, and only a
#   KL term still pulls. DAPO replaces such prompts.
# - *The trap:* It isn't enough to add 1e-8 to the std. If the std is a larger rounding error, the advantages of equal rewards are
#   about 1.
# - *Proof:* `proof-length-bias`, `proof-equal`.
#
# ### Milestone: the task is solved
# Now train from the SFT policy with sampled groups of 32 answers and the group's mean as baseline, on three seeds. The expected
# reward is computed exactly at each step:

# %% tags=["proof-milestone"]
runs = []
for seed in range(3):
    torch.manual_seed(seed)
    table, curve = tuned.clone().requires_grad_(), []
    for _ in range(150):
        logp = logprobs(table)
        curve.append((logp.exp() * reward).sum().item())
        sampled = logp.detach().exp().multinomial(32, replacement=True)
        advantage = reward[sampled] - reward[sampled].mean()
        (gradient,) = torch.autograd.grad((advantage * logp[sampled]).mean(), table)
        table = (table + 2 * gradient).detach().requires_grad_()
    runs.append(curve)
ends = [sum(curve[-20:]) / 20 for curve in runs]
print(f"expected reward {runs[0][0]:.2f} -> {[round(each, 1) for each in ends]} on three seeds")
pictures.curves({f"seed {n}": curve for n, curve in enumerate(runs)}, xlabel="step", ylabel="expected reward")

# %% [markdown]
# ## KL estimators: k1, k2, k3
# In training, the KL to the reference is estimated from sampled tokens. With d = log ref − log π of a sample, the three usual
# estimators are **k1** = −d, **k2** = d²/2 and **k3** = exp(d) − 1 − d. Their bias and spread are exact here, for two
# policies:

# %% tags=["proof-k1-k2-k3"]
for beta in (1, 0.12):
    logp = (ref + reward / beta).log_softmax(0)  # the optimum: near the reference, and far from it
    p, d = logp.exp(), ref - logp
    print(f"KL {(p * -d).sum():.2f}:", end=" ")
    for name, k in (("k1", -d), ("k2", d**2 / 2), ("k3", d.exp() - 1 - d)):
        mean = (p * k).sum()
        print(f"{name} has mean {mean:.2f} and spread {(p * (k - mean) ** 2).sum().sqrt():.1g}", end="; ")
    print()

# %% [markdown]
# Far from the reference (second line), k3's spread is 20 against k1's 0.4, because a few answers with a huge ref / π
# dominate.
#
# **Interview · Which KL estimator do you use: k1, k2 or k3?**
#
# - *Thirty seconds:* As values, k1 is unbiased but can be negative, while k3 is unbiased, never negative, and less
#   noisy near the reference. As losses they differ: k1's expected gradient is zero, k2's is the KL's, and k3's is that
#   of the KL in the other direction.
# - *Longer:* So k1 goes into the reward, and k2 into the loss.
# - *They ask next:* What if the samples come from an older policy? Then all three estimators need importance weights.
# - *The trap:* The value of k3 is unbiased, but its gradient isn't.
# - *Proof:* `proof-k1-k2-k3`; gradients: exercise 10.
#
# ## Distillation: forward or reverse KL
# A student that cannot match its teacher has to choose what to keep. The **forward** KL(teacher ‖ student) is averaged over the
# teacher's text and punishes whatever the student misses, while the **reverse** KL(student ‖ teacher) is averaged over the
# student's own text. Here the teacher has two modes, while the student is a single bump whose center and width are free:

# %% tags=["proof-directions"]
x = torch.arange(41).float()


def bump(center, width):
    return (-((x - center) ** 2) / (2 * width**2)).log_softmax(0)


teacher = torch.logaddexp(bump(10, 2) + math.log(0.6), bump(30, 2) + math.log(0.4))


def kl(p, q):
    return (p.exp() * (p - q)).sum().item()


students = [(center, width) for center in range(5, 36) for width in range(2, 20)]
ways = {"forward": lambda s: kl(teacher, bump(*s)), "reverse": lambda s: kl(bump(*s), teacher)}
lines = {"teacher": teacher.exp().tolist()}
for name, way in ways.items():
    best = min(students, key=way)
    lines[name] = bump(*best).exp().tolist()
    print(f"{name}: center {best[0]}, width {best[1]}")
pictures.curves(lines, x.tolist(), xlabel="token", ylabel="probability")

# %% [markdown]
# Both are often softened by a temperature T, which divides the logits of both models. For large T the gradient of the
# KL shrinks like 1/T², so the loss is multiplied by T²; for small T this compensates only roughly.
#
# **Interview · Do you distill on the teacher's text or on the student's?**
#
# - *Thirty seconds:* Forward KL on the teacher's text covers all its modes, but the student never sees its own mistakes. Reverse
#   KL on the student's own text seeks a mode and corrects every token in states that the student really visits.
# - *They ask next:* What does on-policy distillation cost? The student generates and the teacher scores, in each step.
# - *The trap:* T² is easily omitted, and the arguments of `kl_div` exchanged: the first is the student's log-probabilities.
# - *Proof:* `proof-directions`.

# %% [markdown] tags=["short"]
# ## Pretraining at the whiteboard
# A round on pretraining often begins with a budget and ends with your evidence.

# %% [markdown]
# ### Scaling laws and a budget
# Training costs about 6·N·D FLOPs, two for each weight and token in the forward pass and four in the backward pass. A law E +
# A/N^α + B/D^β, fitted on small runs in log space, says how to divide a budget between parameters and tokens. Here are
# Chinchilla's runs, as fitted again by [Besiroglu et al. 2024](https://arxiv.org/abs/2404.10102). The last line is about an
# imaginary run, whose FLOPs are compared with what its GPUs could have done at their peak:


# %% tags=["proof-Chinchilla"]
def law(N, D):
    return 1.82 + 482 / N**0.348 + 2085 / D**0.366


budget, sizes = 6e23, [10 ** (9 + each / 20) for each in range(61)]
best = min(sizes, key=lambda N: law(N, budget / (6 * N)))
for factor in (1 / 4, 1 / 2, 1, 2):
    N = best * factor
    D = budget / (6 * N)
    print(f"{N / 1e9:4.0f} billion parameters, {D / N:4.0f} tokens each: loss {law(N, D):.3f}")
reached = 6 * 70e9 * 15e12 / (8192 * 23 * 86400)
print(f"70B on 15T tokens, 8,192 GPUs of 989 TFLOP/s, 23 days: MFU {reached / 989e12:.0%}")

# %% [markdown]
# **Interview · What did Chinchilla fit, and why do people train far beyond it?**
#
# - *Thirty seconds:* It fitted the loss as a function of parameters N and tokens D and minimized it at a fixed 6ND. Both should
#   grow about equally, with some 20 tokens per parameter. People train smaller models for longer because serving costs 2N FLOPs per
#   token for as long as the model is used.
# - *Longer:* With few tokens of use, training dominates and 20 is about right. The more tokens a model will serve, the smaller the
#   size that minimizes 6ND + 2N · served at a given loss.
# - *They ask next:* How much worse is half the size at the same budget? Hardly at all: the optimum is flat.
# - *The trap:* 20 isn't a law. It depends on data and schedule.
# - *Proof:* `proof-Chinchilla`.
#
# **Interview · What is MFU, and why is 40 % good?**
#
# - *Thirty seconds:* The share of the GPUs' peak that the model's own FLOPs take, 6ND and attention's ([chapter 19](19_training_loop.ipynb)). Reaching 40 % is
#   good, since memory-bound operations, communication and pipeline bubbles take the rest.
# - *They ask next:* How does HFU, hardware FLOPs utilization, differ? It also counts recomputed FLOPs, so it hides that checkpointing
#   makes a step longer and lowers MFU.
# - *The trap:* A data sheet's peak with sparsity is twice that of dense matrix multiplications.
# - *Proof:* `proof-Chinchilla`.

# %% [markdown]
# ### Critical batch size
# Let g be the mean gradient and Σ the covariance of a single sample's gradient. With the **noise scale** B = tr Σ / |g|², reaching a
# target loss takes about S·(1 + B/b) steps at batch size b, where S is the number of steps without noise ([McCandlish et al.
# 2018](https://arxiv.org/abs/1812.06162)). The next cell computes it for our policy gradient:

# %% tags=["proof-batch"]
p = logprobs(tuned).exp()[:, None]
estimates = ((reward - expected(tuned, reward))[:, None, None] * score).flatten(1)
mean = (p * estimates).sum(0)
noise_scale = ((p * (estimates - mean) ** 2).sum() / (mean**2).sum()).item()
for b in (1, 16, 256):
    print(f"batch {b:3}: {1 + noise_scale / b:5.1f} times the steps, {b + noise_scale:5.0f} samples in all (relative)")

# %% [markdown]
# **Interview · What is the critical batch size?**
#
# - *Thirty seconds:* The batch size at which the gradient's noise is about as large as its signal. Far below it, doubling the batch
#   nearly halves the number of steps. Far above it, the steps hardly fall and samples are wasted.
# - *Longer:* The noise scale tr Σ / |g|² estimates it. At exactly this batch size, training takes twice the minimum of steps and twice
#   the minimum of samples.
# - *They ask next:* Does it change in training? It grows as the gradient shrinks, so batches are ramped up.
# - *The trap:* The largest batch that fits isn't necessarily the best.
# - *Proof:* `proof-batch`.
#
# ### Loss spikes
# Adam divides by the root of a second moment that follows the gradient with a delay, and β2 sets the delay. While the gradients stay
# the same, a step is about as large as the learning rate. The next cell shows the first step after a long run of gradients of 0.001,
# when one of 0.1 arrives:

# %% tags=["proof-spike"]
for beta2 in (0.999, 0.95):
    mean = 0.9 * 1e-3 + (1 - 0.9) * 0.1  # beta1 is 0.9
    square = beta2 * 1e-6 + (1 - beta2) * 1e-2
    grown, step = square / 1e-6, mean / square**0.5
    print(f"beta2 {beta2}: second moment {grown:.0f} times as large, update {step:.2f} times the rate")

# %% [markdown]
# **Interview · A loss spike at step 40,000. What do you do?**
#
# - *Thirty seconds:* I look at the gradient norm before the spike and at the data of those steps. If it doesn't
#   recover, I rewind to a checkpoint and skip those batches.
# - *Longer:* The log tells causes apart: rerunning a bad batch makes the loss spike again, a
#   hardware fault disappears on another machine, and attention logits grow for many steps before.
# - *They ask next:* What if it comes back? Then I clip to a smaller norm, set β2 to 0.95, lower the learning rate, or add qk-norm or a
#   z-loss against growing logits.
# - *The trap:* If you only lower the learning rate, a bad shard or growing attention logits stay where they are.
# - *Proof:* `proof-spike`.
#
# ### The standard error of a benchmark
# A benchmark's score is a mean over questions, so it has a standard error:

# %% tags=["proof-one-point"]
error = math.sqrt(0.7 * 0.3 / 1000)
print(
    f"70 % of 1,000 questions: ± {100 * error:.1f} points; two independent scores differ by ± {100 * error * 2**0.5:.1f}"
)

# %% [markdown]
# **Interview · The new method is one point better. Convince me.**
#
# - *Thirty seconds:* I show several seeds with their spread, the same compute and tuning effort for the baseline, and
#   an ablation that changes one thing. With 1,000 questions one point is within the noise of the benchmark itself.
# - *Longer:* At a score of 70 % the standard error is 1.4 points, and 2.0 for a difference.
# - *They ask next:* How do you get more power? I compare question by question, since paired differences vary less, and I use more
#   questions.
# - *The trap:* The test set may be in the training data.
# - *Proof:* `proof-one-point`.
#
# ## Rapid fire
# 1. What is the DPO loss when policy and reference agree? log 2 = 0.69.
# 2. What does a GRPO group whose rewards are all 1 contribute to the loss? Only its KL term: all advantages are 0.
# 3. If a baseline is the mean of 8 rewards, the sample's own included, by what factor does the gradient shrink? 7/8.
# 4. How much memory do PPO's four models of 7 billion parameters take? 252 GB: 7 · (16 + 16 + 2 + 2).
# 5. A GRPO group has the rewards 1, 0, 0, 0. What is the first advantage before it is divided by the standard deviation? 0.75.

# %% tags=["proof-rapid-fire"]
print(f"1. {-F.logsigmoid(torch.tensor(0.0)):.2f} · 2. {(torch.ones(4) - torch.ones(4).mean()).tolist()}")
print(f"3. {1 - 1 / 8} · 4. {7 * (16 + 16 + 2 + 2)} GB · 5. {(torch.tensor([1.0, 0, 0, 0]) - 0.25).tolist()}")

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. In SFT, shift the mask with the labels, train the end token, and divide once by the batch's tokens.
# 2. An answer's log-probability is a sum over its tokens.
# 3. Bradley-Terry depends on differences only, so rewards of different prompts can't be compared.
# 4. The optimum of KL-regularized RL is ref · exp(r/β) / Z, and Z cancels in DPO.
# 5. DPO trains the margin, so both probabilities may fall.
# 6. A baseline that ignores the sampled answer doesn't bias the gradient.
# 7. PPO's gradient is 0 where the policy moved far enough in the wanted direction.
# 8. In GRPO, equal rewards give no advantage, and 1/length favours long wrong answers.
# 9. k1 belongs in the reward, k2 or the exact KL in the loss. Forward KL covers the teacher's modes, reverse KL seeks one.
# 10. Training costs 6ND FLOPs, serving 2N a token. One point on 1,000 questions is within the noise.

# %% [markdown]
# ## You try
# [The exercises](../exercises/28_whiteboard_alignment.ipynb) have twelve whiteboard problems and one prediction. The SFT loss, reward
# models and Muon belong to this lesson's optional end. If your interview is
# tomorrow, do DPO, GRPO, PPO and the SFT loss first.

# %% [markdown]
# ## If you have time
# ### Supervised fine-tuning
# SFT is next-token cross-entropy on demonstrations, and nearly all its bugs are about *which* tokens count. Because the logits at t
# predict the token at t + 1, the mask that selects the assistant's tokens is shifted along with the labels. If several conversations
# share a row, the last token of one must not predict the first of the next. The sum is divided by the number of trained tokens in
# the batch, because a mean of each answer's mean would give the tokens of short answers more weight.
#
# **Interview · Which tokens count in the SFT loss?**
#
# - *Thirty seconds:* Only the assistant's tokens count, its end token included, and the sum of their losses is divided
#   by their number in the batch.
# - *Longer:* The logits at t predict the token at t + 1, so labels and mask are shifted together.
# - *They ask next:* What if several conversations are packed into a row? Neither predictions nor attention may cross the seam.
# - *They ask next:* Which tokens count when an agent calls tools? The calls do, because the model writes them. The tools' outputs
#   are masked out, in RL as well, because the policy didn't choose them.
# - *The trap:* If you mask every token with the padding's id and that is the end token, the model never learns to stop.
# - *Proof:* `proof-SFT`.

# %% [markdown]
# ### Reward models and Bradley-Terry
# People compare answers more reliably than they rate them. The **Bradley-Terry** model says that answer *a* beats *b* with
# probability σ(r(a) − r(b)), and a reward model, which reads its reward at the last real token, minimizes the negative
# log-likelihood of the comparisons. Since only differences enter, adding 7 to all rewards of a prompt changes nothing. The loss
# is written with `logsigmoid`, because the sigmoid of −1000 is 0 in float32 and its logarithm is infinite:

# %% tags=["proof-Bradley-Terry"]
r = torch.tensor([2.0, -1.0])
print([f"{-F.logsigmoid(each[0] - each[1]):.3f}" for each in (r, r + 7)])
print([f"{each:.0f}" for each in (-F.logsigmoid(torch.tensor(-1000.0)), -torch.tensor(-1000.0).sigmoid().log())])

# %% [markdown]
# ### Reward hacking: the proxy rises, the true reward falls
# Suppose the reward model has a weakness for fives and adds 0.5 for each of them. Because the optimum for each β is known, we can
# follow it away from the reference as β gets smaller:

# %% tags=["proof-hacking"]
proxy = reward + 0.5 * (ids == 5).sum(1)
lines, moved, length = {"reward model": [], "true reward": []}, [], []
for beta in (100, 3, 1, 0.5, 0.3, 0.2, 0.1, 0.05):
    logp = (ref + proxy / beta).log_softmax(0)
    for name, values in (("reward model", proxy), ("true reward", reward)):
        lines[name].append((logp.exp() * values).sum().item())
    moved.append((logp.exp() * (logp - ref)).sum().item())
    length.append((logp.exp() * lengths).sum().item())
print("KL         ", [f"{each:.1f}" for each in moved])
print("true reward", [f"{each:.2f}" for each in lines["true reward"]])
print("length     ", [f"{each:.1f}" for each in length])
pictures.curves(lines, moved, xlabel="KL to the reference (nats)", ylabel="expected reward")

# %% [markdown]
# At first both rewards rise, since most of what the reward model likes is correct. The true reward peaks at a KL of 2.6 nats, and
# at the end the policy writes almost nothing but fives. Up to that point the length stays between 3.1 and 3.4, so by itself it
# would have warned us too late.
#
# **Interview · How do you detect reward hacking?**
#
# - *Thirty seconds:* The reward model's score keeps rising while a held-out judge rates the answers lower. So I always
#   track a judge that isn't optimized against.
# - *Longer:* The KL rises as well, and often the length.
# - *They ask next:* What helps against it? A stronger KL penalty, early stopping, ensembles of reward models, fresh comparisons of
#   the policy's own answers, and verifiable rewards all help.
# - *The trap:* The training reward is the one number that hacking improves.
# - *Proof:* `proof-hacking`.
#
# ### GSPO: one ratio for the whole answer
# PPO and GRPO have a ratio for each token, although the reward is given to the whole answer. GSPO takes one ratio for an answer, and
# the next cell compares how much the possible log-ratios vary, if those of 400 tokens are independent noise:

# %% tags=["proof-GSPO"]
torch.manual_seed(0)
noise = 0.1 * torch.randn(2000, 400)  # log-ratios of 400 tokens
for name, each in (("one token", noise[:, 0]), ("product of 400", noise.sum(1)), ("GSPO's mean", noise.mean(1))):
    print(f"{name:14} log-ratio spreads by about {each.std():.1g}")

# %% [markdown]
# **Interview · Why does GSPO take one ratio per sequence instead of one per token?**
#
# - *Thirty seconds:* The reward is given to the whole answer, so GSPO uses one ratio for it, the exponential of the
#   mean log-ratio.
# - *Longer:* Token ratios are noisy, and in an MoE they jump when sampler and trainer choose different experts.
# - *They ask next:* How do the clip ranges compare? GSPO's are far narrower, because means vary less.
# - *The trap:* If you take the product of the token ratios, its spread grows with the length.
# - *Proof:* `proof-GSPO`.
#
# ### Mismatch between sampler and trainer
# Answers are usually sampled by another engine than the one that trains, and the two compute slightly different log-probabilities for
# the same tokens. The next cell shows what rounding the weights does to one token, and what a constant difference does to many:

# %% tags=["proof-mismatch"]
coarse = logprobs(tuned.to(torch.bfloat16).float()) - logprobs(tuned)
typical = coarse.abs().mean().item() / 4
print(f"rounding weights to 16 bits: about {typical:.0e} nats a token")
print(f"1 % a token, always in one direction: a factor of {math.exp(0.01 * 2000):.0e} after 2,000 tokens")

# %% [markdown]
# **Interview · The sampler and the trainer disagree on log-probabilities. What do you do?**
#
# - *Thirty seconds:* Then the data is off-policy, because of different kernels, different precision or stale weights. I
#   recompute the log-probabilities in the trainer, log the gap, and correct it with truncated importance weights.
# - *Longer:* The cure is to make both engines bitwise equal.
# - *They ask next:* Which log-probabilities go into PPO's ratio? The trainer's; the gap to the sampler has its own weight.
# - *The trap:* 1 % per token sounds small, but an answer has thousands of tokens.
# - *Proof:* `proof-mismatch`.
#
# ### Muon
# A gradient matrix usually has a few large singular values and many small ones. **Muon** brings all but the smallest near 1 without an
# SVD: it divides the momentum by its norm and applies an odd polynomial of the matrix five times, which acts on each singular
# value by itself. Below about 0.002 of the norm, five applications aren't enough. Muon is used for hidden matrices, while
# embeddings, the output head and vectors stay with AdamW. PyTorch has it as `torch.optim.Muon`, which accepts only 2-D parameters.

# %% tags=["proof-Muon"]
for start in (0.0001, 0.003, 0.05, 0.4, 1.0):
    s = start
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    print(f"singular value {start:6} -> {s:.2f}")

# %% [markdown]
# ### μP: one learning rate for all widths
# Adam's first step moves every weight by about the learning rate. For one output the signs are those of the inputs, or all
# reversed, so the moves add up. The next cell shows how far an output moves, with one rate for all widths and with a rate
# that shrinks with the width:

# %% tags=["proof-width"]
for width in (64, 256, 1024):
    inputs = torch.ones(width)
    print(
        f"width {width:4}: same rate {0.001 * inputs.sum():.3f}, rate / width {0.001 * 64 / width * inputs.sum():.3f}"
    )

# %% [markdown]
# **Interview · What does μP transfer from a small model to a large one?**
#
# - *Thirty seconds:* The learning rate: tune it on a narrow model, use it on a wide one.
# - *Longer:* Initialization and rates per layer scale with the width, so that an update moves every layer's activations
#   by the same amount at any width.
# - *They ask next:* Which rate does a hidden matrix get with Adam? One proportional to 1/width. Vectors and the embedding keep theirs.
# - *The trap:* It doesn't transfer across batch size, depth or training length by itself.
# - *Proof:* `proof-width`.
