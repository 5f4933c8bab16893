# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms. `course answers 28` grades them.
#
# Some recorded mistakes can't be told apart by the values of one function, so no answer stands for them. Two forward passes with different dropout (reward
# model) and a teacher in training mode (distillation) concern how the inputs were made. Averages by length, or a prompt masked in the chosen half alone
# (DPO), are mistakes of the log-probabilities, which exercise 2 is about.
# A chat template in the mask, attention across a seam (SFT), a gradient through the reward (REINFORCE), samples that are a few updates old (KL), Q, K and V
# orthogonalized as one matrix (Muon), and runs that were not decayed (scaling) are made outside of what an exercise asks for. Muon's iteration without the
# transpose of a tall matrix gives the same values and only costs more.


# %% answer="align_sft" right="cross_entropy with ignored targets"
def sft_loss(logits, ids, answer, document):
    same = (document[:, 1:] == document[:, :-1]) & (document[:, 1:] != 0)
    targets = ids[:, 1:].masked_fill(~(answer[:, 1:] & same), -100)
    total = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=-100, reduction="sum")
    return total / max(int((targets != -100).sum()), 1)


# %% answer="align_sft" right="a loop over rows and positions"
def sft_loss(logits, ids, answer, document):
    total, count = logits.sum() * 0, 0
    for b in range(ids.shape[0]):
        for t in range(1, ids.shape[1]):
            if answer[b, t] and document[b, t] > 0 and document[b, t] == document[b, t - 1]:
                row = logits[b, t - 1]
                total = total + row.logsumexp(0) - row[ids[b, t]]
                count += 1
    return total / count if count else total


# %% answer="align_sft" right="one-hot targets"
def sft_loss(logits, ids, answer, document):
    keep = (answer & (document > 0))[:, 1:] & (document.diff(dim=1) == 0)
    picked = logits[:, :-1].log_softmax(-1) * F.one_hot(ids[:, 1:], logits.shape[-1])
    losses = -picked.sum(-1)[keep]
    return losses.sum() / max(losses.numel(), 1)


# %% answer="align_sft" wrong="the mean over all positions, masked ones included"
def sft_loss(logits, ids, answer, document):
    same = (document[:, 1:] == document[:, :-1]) & (document[:, 1:] != 0)
    keep = answer[:, 1:] & same
    logp = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return -(logp * keep).mean()


# %% answer="align_sft" wrong="shifts to the left: position t predicts t - 1"
def sft_loss(logits, ids, answer, document):
    keep = answer[:, :-1] & (document[:, 1:] == document[:, :-1]) & (document[:, :-1] > 0)
    logp = logits[:, 1:].log_softmax(-1).gather(-1, ids[:, :-1].unsqueeze(-1)).squeeze(-1)
    return -(logp * keep).sum() / keep.sum().clamp(min=1)


# %% answer="align_sft" wrong="softmax over the positions"
def sft_loss(logits, ids, answer, document):
    keep = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logp = logits[:, :-1].log_softmax(1).gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return -(logp * keep).sum() / keep.sum().clamp(min=1)


# %% answer="align_sft" wrong="a sum, not a mean"
def sft_loss(logits, ids, answer, document):
    keep = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logp = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return -(logp * keep).sum()


# %% answer="align_sft" wrong="averages the conversations, each with its own mean"
def sft_loss(logits, ids, answer, document):
    keep = answer[:, 1:] & (document[:, 1:] == document[:, :-1]) & (document[:, 1:] > 0)
    logp = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    means = []
    for b in range(ids.shape[0]):
        for d in range(1, int(document[b].max()) + 1):
            here = keep[b] & (document[b, 1:] == d)
            if here.any():
                means.append(-logp[b][here].mean())
    return torch.stack(means).mean() if means else logits.sum() * 0


# %% answer="align_repair_scores" right="cross_entropy, masked and summed"
def answer_logprobs(logits, ids, real, prompt_lengths):
    B, T, V = logits.shape
    losses = F.cross_entropy(logits[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1), reduction="none").reshape(B, T - 1)
    index = torch.cumsum(real.int(), 1) - 1
    wanted = real & (index >= prompt_lengths.unsqueeze(1))
    return -torch.where(wanted[:, 1:], losses, torch.zeros_like(losses)).sum(-1)


# %% answer="align_repair_scores" right="a loop over rows"
def answer_logprobs(logits, ids, real, prompt_lengths):
    scores = []
    for b in range(len(ids)):
        places = real[b].nonzero().flatten().tolist()[int(prompt_lengths[b]):]
        score = torch.zeros(())
        for t in places:
            score = score + logits[b, t - 1].log_softmax(-1)[ids[b, t]]
        scores.append(score)
    return torch.stack(scores)


# %% answer="align_repair_scores" right="targets of -100, and logsumexp"
def answer_logprobs(logits, ids, real, prompt_lengths):
    first = real.int().argmax(1, keepdim=True) + prompt_lengths[:, None]
    keep = real & (torch.arange(ids.shape[1])[None] >= first)
    logits, ids, keep = logits[:, :-1], ids[:, 1:], keep[:, 1:]
    chosen = logits.gather(2, ids[:, :, None])[:, :, 0] - logits.logsumexp(2)
    return torch.where(keep, chosen, 0.0).sum(1)


# %% answer="align_repair_scores" wrong="the stub with a sum of logarithms"
def answer_logprobs(logits, ids, real, prompt_lengths):
    place = torch.arange(ids.shape[1])
    kept = real & (place >= prompt_lengths[:, None])
    taken = logits.log_softmax(-1).gather(-1, ids[..., None]).squeeze(-1)
    return taken.masked_fill(~kept, 0.0).sum(1)


# %% answer="align_repair_scores" wrong="one prompt token too many"
def answer_logprobs(logits, ids, real, prompt_lengths):
    place = real.cumsum(1) - 1
    kept = (real & (place >= prompt_lengths[:, None] - 1))[:, 1:]
    taken = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return taken.masked_fill(~kept, 0.0).sum(1)


# %% answer="align_repair_scores" wrong="the first answer token is lost"
def answer_logprobs(logits, ids, real, prompt_lengths):
    place = real.cumsum(1) - 1
    kept = (real & (place > prompt_lengths[:, None]))[:, 1:]
    taken = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return taken.masked_fill(~kept, 0.0).sum(1)


# %% answer="align_repair_scores" wrong="the prompt's score is included"
def answer_logprobs(logits, ids, real, prompt_lengths):
    taken = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return taken.masked_fill(~(real[:, 1:] & real[:, :-1]), 0.0).sum(1)


# %% answer="align_repair_scores" wrong="clamps probabilities away from 0"
def answer_logprobs(logits, ids, real, prompt_lengths):
    place = real.cumsum(1) - 1
    kept = (real & (place >= prompt_lengths[:, None]))[:, 1:]
    taken = logits[:, :-1].softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1).clamp(min=1e-4).log()
    return taken.masked_fill(~kept, 0.0).sum(1)


# %% answer="align_repair_scores" wrong="adds 1e-9 to the probabilities"
def answer_logprobs(logits, ids, real, prompt_lengths):
    place = real.cumsum(1) - 1
    kept = (real & (place >= prompt_lengths[:, None]))[:, 1:]
    taken = (logits[:, :-1].softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1) + 1e-9).log()
    return taken.masked_fill(~kept, 0.0).sum(1)


# %% answer="align_reward" right="flips to find the last real token"
def last_reward(values, real):
    T = real.shape[1]
    last = T - 1 - real.flip(1).int().argmax(1)
    return values[torch.arange(len(values)), last]


def preference_loss(chosen, rejected, margin=0.0):
    return F.softplus(rejected - chosen + margin).mean()


# %% answer="align_reward" right="a list comprehension, and BCE with logits"
def last_reward(values, real):
    return torch.stack([row[mask.nonzero()[-1, 0]] for row, mask in zip(values, real)])


def preference_loss(chosen, rejected, margin=0.0):
    difference = chosen - rejected - margin
    return F.binary_cross_entropy_with_logits(difference, torch.ones_like(difference))


# %% answer="align_reward" right="cumsum and logaddexp"
def last_reward(values, real):
    count = real.cumsum(1)
    at = real & (count == count[:, -1:])
    return torch.where(at, values, 0.0).sum(1)


def preference_loss(chosen, rejected, margin=0.0):
    lead = chosen - rejected - margin
    return torch.logaddexp(torch.zeros_like(lead), -lead).mean()


# %% answer="align_reward" wrong="the first real token"
def last_reward(values, real):
    return values.gather(1, real.int().argmax(1, keepdim=True)).squeeze(1)


def preference_loss(chosen, rejected, margin=0.0):
    return F.softplus(rejected - chosen + margin).mean()


# %% answer="align_reward" wrong="multiplies by the mask"
def last_reward(values, real):
    last = (real * torch.arange(1, real.shape[1] + 1)).argmax(1)
    return (values * F.one_hot(last, real.shape[1])).sum(1)


def preference_loss(chosen, rejected, margin=0.0):
    return F.softplus(rejected - chosen + margin).mean()


# %% answer="align_reward" wrong="a hinge"
def last_reward(values, real):
    return values[torch.arange(len(values)), real.shape[1] - 1 - real.flip(1).int().argmax(1)]


def preference_loss(chosen, rejected, margin=0.0):
    return (margin - (chosen - rejected)).clamp(min=0).mean()


# %% answer="align_reward" wrong="a sum over the pairs"
def last_reward(values, real):
    return values[torch.arange(len(values)), real.shape[1] - 1 - real.flip(1).int().argmax(1)]


def preference_loss(chosen, rejected, margin=0.0):
    return F.softplus(rejected - chosen + margin).sum()


# %% answer="align_reward" wrong="log of sigmoid plus 1e-8"
def last_reward(values, real):
    return values[torch.arange(len(values)), real.shape[1] - 1 - real.flip(1).int().argmax(1)]


def preference_loss(chosen, rejected, margin=0.0):
    return -torch.log(torch.sigmoid(chosen - rejected - margin) + 1e-8).mean()


# %% answer="align_dpo" right="softplus, row by row"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    with torch.no_grad():
        ref_lead = reference[0] - reference[1]
        rewards = beta * (policy - reference)
    lead = policy[0] - policy[1] - ref_lead
    if kind == "ipo":
        return ((lead - 0.5 / beta) ** 2).mean(), rewards
    loss = (1 - label_smoothing) * F.softplus(-beta * lead) + label_smoothing * F.softplus(beta * lead)
    return loss.mean(), rewards


# %% answer="align_dpo" right="BCE with logits and soft targets"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    rewards = beta * (policy - reference.detach())
    margin = rewards[0] - rewards[1]
    if kind == "ipo":
        return (margin / beta - 1 / (2 * beta)).square().mean(), rewards.detach()
    return F.binary_cross_entropy_with_logits(margin, torch.full_like(margin, 1 - label_smoothing)), rewards.detach()


# %% answer="align_dpo" right="a loop over the pairs"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    reference = reference.clone().detach()
    losses = []
    for chosen, rejected, a, b in zip(policy[0], policy[1], reference[0], reference[1]):
        h = (chosen - a) - (rejected - b)
        if kind == "ipo":
            losses.append((h - 1 / (2 * beta)) ** 2)
        else:
            losses.append(-(1 - label_smoothing) * F.logsigmoid(beta * h) - label_smoothing * F.logsigmoid(-beta * h))
    return torch.stack(losses).mean(), beta * (policy.detach() - reference)


# %% answer="align_dpo" right="log_softmax over the two implicit rewards"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    rewards = beta * (policy - reference.detach())
    if kind == "ipo":
        return (((rewards[0] - rewards[1]) / beta - 1 / (2 * beta)) ** 2).mean(), rewards.detach()
    chances = rewards.log_softmax(0)
    return -((1 - label_smoothing) * chances[0] + label_smoothing * chances[1]).mean(), rewards.detach()


# %% answer="align_dpo" wrong="the lead of the reference is added"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    reference = reference.detach()
    lead = (policy[0] - policy[1]) + (reference[0] - reference[1])
    if kind == "ipo":
        return ((lead - 1 / (2 * beta)) ** 2).mean(), (beta * (policy - reference)).detach()
    loss = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    return loss.mean(), (beta * (policy - reference)).detach()


# %% answer="align_dpo" wrong="rewards without beta"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = ratio[0] - ratio[1]
    if kind == "ipo":
        return ((lead - 1 / (2 * beta)) ** 2).mean(), ratio.detach()
    loss = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    return loss.mean(), ratio.detach()


# %% answer="align_dpo" wrong="a sum over the batch"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = ratio[0] - ratio[1]
    if kind == "ipo":
        return ((lead - 1 / (2 * beta)) ** 2).sum(), (beta * ratio).detach()
    loss = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    return loss.sum(), (beta * ratio).detach()


# %% answer="align_dpo" wrong="rewards keep their graph"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = ratio[0] - ratio[1]
    if kind == "ipo":
        return ((lead - 1 / (2 * beta)) ** 2).mean(), beta * ratio
    loss = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    return loss.mean(), beta * ratio


# %% answer="align_dpo" wrong="the lead of the means, one loss for the batch"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = (ratio[0] - ratio[1]).mean()
    if kind == "ipo":
        return (lead - 1 / (2 * beta)) ** 2, (beta * ratio).detach()
    loss = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    return loss, (beta * ratio).detach()


# %% answer="align_dpo" wrong="IPO's target is 1 / beta"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = ratio[0] - ratio[1]
    if kind == "ipo":
        return ((lead - 1 / beta) ** 2).mean(), (beta * ratio).detach()
    loss = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    return loss.mean(), (beta * ratio).detach()


# %% answer="align_dpo" wrong="IPO is smoothed, too"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    ratio = policy - reference.detach()
    lead = ratio[0] - ratio[1]
    if kind == "ipo":
        loss = lambda x: (x - 1 / (2 * beta)) ** 2
    else:
        loss = lambda x: -F.logsigmoid(beta * x)
    return ((1 - label_smoothing) * loss(lead) + label_smoothing * loss(-lead)).mean(), (beta * ratio).detach()


# %% answer="align_dpo" wrong="switches off the gradient of the caller's reference"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    reference.requires_grad_(False)
    ratio = policy - reference
    lead = ratio[0] - ratio[1]
    if kind == "ipo":
        loss = ((lead - 1 / (2 * beta)) ** 2).mean()
    else:
        s = label_smoothing
        loss = (-(1 - s) * F.logsigmoid(beta * lead) - s * F.logsigmoid(-beta * lead)).mean()
    return loss, (beta * ratio).detach()


# %% answer="align_reinforce" right="autograd for the scores, batches by hand"
def estimate_moments(logits, rewards, advantages, K):
    V = len(logits)
    leaf = logits.clone().requires_grad_()
    scores = []
    for a in range(V):
        leaf.grad = None
        leaf.log_softmax(0)[a].backward()
        scores.append(leaf.grad)
    p = logits.softmax(0).tolist()
    chances, found = [], []
    for number in range(V**K):
        batch = [number // V**k % V for k in range(K)]
        actions = torch.tensor(batch)
        A = advantages(actions, rewards[actions])
        found.append(sum(A[k] * scores[a] for k, a in enumerate(batch)) / K)
        chances.append(math.prod(p[a] for a in batch))
    found, chances = torch.stack(found), torch.tensor(chances)[:, None]
    mean = (chances * found).sum(0)
    return mean, (chances * (found - mean) ** 2).sum().item()


# %% answer="align_reinforce" right="NumPy for the sums"
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0).numpy().astype("float64")
    V = len(p)
    score = np.eye(V) - p
    mean, second = np.zeros(V), 0.0
    for batch in np.ndindex(*[V] * K):
        actions = torch.tensor(list(batch))
        A = advantages(actions, rewards[actions]).numpy()
        g = (A[:, None] * score[list(batch)]).mean(axis=0)
        w = np.prod(p[list(batch)])
        mean += w * g
        second += w * (g @ g)
    return torch.tensor(mean.astype("float32")), float(second - mean @ mean)


# %% answer="align_reinforce" right="recursion over the samples"
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    estimates, weights = [], []

    def visit(batch, chance):
        if len(batch) == K:
            actions = torch.tensor(batch)
            A = advantages(actions, rewards[actions])
            one_hot = F.one_hot(actions, len(p)).float()
            estimates.append(((one_hot - p) * A.unsqueeze(1)).sum(0) / K)
            weights.append(chance)
            return
        for a in range(len(p)):
            visit([*batch, a], chance * p[a])

    visit([], torch.tensor(1.0))
    weights, estimates = torch.stack(weights), torch.stack(estimates)
    mean = weights @ estimates
    return mean, (weights @ ((estimates - mean) ** 2).sum(1)).item()


# %% answer="align_reinforce" wrong="samples instead of enumerating"
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = torch.eye(len(p)) - p
    found = []
    for _ in range(300):
        actions = p.multinomial(K, replacement=True)
        found.append((advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0))
    found = torch.stack(found)
    return found.mean(0), found.var(0).sum().item()


# %% answer="align_reinforce" wrong="the true gradient, whatever the advantage"
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    true = p * (rewards - (p * rewards).sum())
    score = torch.eye(len(p)) - p
    second = 0.0
    for batch in itertools.product(range(len(p)), repeat=K):
        actions = torch.tensor(batch)
        g = (advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0)
        second += p[actions].prod().item() * (g**2).sum().item()
    return true, second - (true**2).sum().item()


# %% answer="align_reinforce" wrong="without replacement"
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = torch.eye(len(p)) - p
    mean, second, total = torch.zeros(len(p)), 0.0, 0.0
    for batch in itertools.permutations(range(len(p)), K):
        actions = torch.tensor(batch)
        w = p[actions].prod().item()
        g = (advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0)
        mean, second, total = mean + w * g, second + w * (g**2).sum().item(), total + w
    mean = mean / total
    return mean, second / total - (mean**2).sum().item()


# %% answer="align_reinforce" wrong="the score without the baseline p"
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = torch.eye(len(p))
    mean, second = torch.zeros(len(p)), 0.0
    for batch in itertools.product(range(len(p)), repeat=K):
        actions = torch.tensor(batch)
        w = p[actions].prod().item()
        g = (advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0)
        mean, second = mean + w * g, second + w * (g**2).sum().item()
    return mean, second - (mean**2).sum().item()


# %% answer="align_reinforce" wrong="the standard deviation"
def estimate_moments(logits, rewards, advantages, K):
    p = logits.softmax(0)
    score = torch.eye(len(p)) - p
    mean, second = torch.zeros(len(p)), 0.0
    for batch in itertools.product(range(len(p)), repeat=K):
        actions = torch.tensor(batch)
        w = p[actions].prod().item()
        g = (advantages(actions, rewards[actions])[:, None] * score[actions]).mean(0)
        mean, second = mean + w * g, second + w * (g**2).sum().item()
    return mean, (second - (mean**2).sum().item()) ** 0.5


# %% answer="align_gae" right="a loop over rows and their steps"
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    B, T = values.shape
    advantages, returns = torch.zeros(B, T), torch.zeros(B, T)
    for b in range(B):
        following = 0.0 if ended[b] else last_value[b].item()
        running = 0.0
        for t in reversed(range(T)):
            if not steps[b, t]:
                continue
            value = values[b, t].item()
            running = rewards[b, t].item() + gamma * following - value + gamma * lam * running
            following = value
            advantages[b, t], returns[b, t] = running, running + value
    return advantages, returns


# %% answer="align_gae" right="packs the steps, then a matrix of discounts"
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    advantages, returns = torch.zeros(*values.shape), torch.zeros(*values.shape)
    with torch.no_grad():
        for b in range(len(values)):
            at = steps[b]
            r, v = rewards[b][at], values[b][at]
            n = len(r)
            if n == 0:
                continue
            tail = torch.zeros(1) if ended[b] else last_value[b : b + 1]
            delta = r + gamma * torch.cat([v[1:], tail]) - v
            i = torch.arange(n)
            gap = i[None] - i[:, None]
            weights = torch.where(gap >= 0, (gamma * lam) ** gap.clamp(min=0).float(), 0.0)
            advantages[b, at] = weights @ delta
            returns[b, at] = weights @ delta + v
    return advantages, returns


# %% answer="align_gae" right="NumPy arrays"
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    r, v, m = rewards.detach().numpy(), values.detach().numpy(), steps.numpy()
    following = np.where(ended.numpy(), 0.0, last_value.detach().numpy())
    running = np.zeros(len(v))
    out = np.zeros(v.shape, dtype="float32")
    for t in range(v.shape[1] - 1, -1, -1):
        here = m[:, t]
        running = np.where(here, r[:, t] + gamma * following - v[:, t] + gamma * lam * running, running)
        following = np.where(here, v[:, t], following)
        out[:, t] = np.where(here, running, 0.0)
    return torch.tensor(out), torch.tensor(np.where(m, out + v, 0.0).astype("float32"))


# %% answer="align_gae" wrong="keeps the graph of the values"
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    advantage, following = torch.zeros_like(last_value), last_value.masked_fill(ended, 0.0)
    out = []
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        out.append(torch.where(steps[:, t], advantage, 0.0))
    out = torch.stack(out[::-1], 1)
    return out, torch.where(steps, out + values, 0.0)


# %% answer="align_gae" wrong="multiplies by the mask"
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values, mask = values.detach(), steps.float()
    advantage, following = torch.zeros_like(last_value), last_value.detach() * (~ended).float()
    out = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        m = mask[:, t]
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = m * (error + gamma * lam * advantage) + (1 - m) * advantage
        following = m * values[:, t] + (1 - m) * following
        out[:, t] = advantage * m
    return out, (out + values) * mask


# %% answer="align_gae" wrong="the last step has no bootstrap and no error"
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    advantage, out = torch.zeros_like(last_value), torch.zeros_like(values)
    for t in reversed(range(values.shape[1] - 1)):
        error = rewards[:, t] + gamma * values[:, t + 1] - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        out[:, t] = advantage
    return out.masked_fill(~steps, 0.0), (out + values).masked_fill(~steps, 0.0)


# %% answer="align_gae" wrong="the discount is λ in the error and γ in the sum"
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    advantage, following = torch.zeros_like(last_value), last_value.detach().masked_fill(ended, 0.0)
    out = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + lam * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        out[:, t] = advantage
    return out.masked_fill(~steps, 0.0), (out + values).masked_fill(~steps, 0.0)


# %% answer="align_gae" wrong="doesn't clear what isn't a step"
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    advantage, following = torch.zeros_like(last_value), last_value.detach().masked_fill(ended, 0.0)
    out = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        out[:, t] = advantage
    return out, out + values


# %% answer="align_gae" wrong="zeros where no step is, written into the arguments"
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    values = values.detach()
    values[~steps], rewards[~steps] = 0.0, 0.0
    advantage, following = torch.zeros_like(last_value), last_value.detach().masked_fill(ended, 0.0)
    out = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        error = rewards[:, t] + gamma * following - values[:, t]
        advantage = torch.where(steps[:, t], error + gamma * lam * advantage, advantage)
        following = torch.where(steps[:, t], values[:, t], following)
        out[:, t] = advantage
    return out.masked_fill(~steps, 0.0), (out + values).masked_fill(~steps, 0.0)


# %% answer="align_gae" wrong="zeros where no step is, written into the rewards alone"
def gae(rewards, values, steps, ended, last_value, gamma, lam):
    B, T = rewards.shape
    rewards = rewards.masked_fill_(~steps, 0)
    values = values.detach().masked_fill(~steps, 0)
    adv = torch.zeros(B)
    nxt = last_value.detach() * ~ended
    out = torch.zeros(B, T)
    for t in reversed(range(T)):
        s = steps[:, t]
        adv = torch.where(s, rewards[:, t] + gamma * nxt - values[:, t] + gamma * lam * adv, adv)
        nxt = torch.where(s, values[:, t], nxt)
        out[:, t] = torch.where(s, adv, torch.zeros(B))
    return out, out + values


# %% answer="align_predict_clip" right="as a tuple, unordered"
prediction = (8, 4, 1)


# %% answer="align_predict_clip" wrong="the tokens whose ratio is inside the range"
prediction = [5, 6]


# %% answer="align_predict_clip" wrong="moved against the advantage"
prediction = [2, 3, 7]


# %% answer="align_ppo" right="where instead of indexing, sums over the count"
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    def real(x):
        return torch.where(mask, x, torch.zeros_like(x))

    n = mask.sum()
    ratio = torch.exp(real(new) - real(old).detach())
    A, R, V0, V = real(advantages).detach(), real(returns).detach(), real(old_values).detach(), real(values)
    a, b = ratio * A, torch.clamp(ratio, 1 - clip, 1 + clip) * A
    loss = -(torch.minimum(a, b) * mask).sum() / n
    v = torch.stack([(V - R) ** 2, (V0 + torch.clamp(V - V0, -clip, clip) - R) ** 2]).amax(0)
    return loss, 0.5 * (v * mask).sum() / n, float(((b < a) & mask).sum() / n)


# %% answer="align_ppo" right="maximum of the negated products"
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    lp, A, v = new[mask], advantages[mask].detach(), values[mask]
    with torch.no_grad():
        lp0, v0, R = old[mask], old_values[mask], returns[mask]
    r = (lp - lp0).exp()
    free, held = -A * r, -A * r.clamp(min=1 - clip, max=1 + clip)
    near = torch.maximum(torch.minimum(v, v0 + clip), v0 - clip)
    value = torch.maximum((v - R).pow(2), (near - R).pow(2)).mean() / 2
    return torch.maximum(free, held).mean(), value, (held > free).sum().item() / len(A)


# %% answer="align_ppo" right="a loop over tokens"
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    policy, value, clipped, count = 0.0, 0.0, 0, 0
    for b, t in mask.nonzero().tolist():
        A, R, v0 = advantages[b, t].item(), returns[b, t].item(), old_values[b, t].item()
        r = (new[b, t] - old[b, t].item()).exp()
        high = r.item() > 1 + clip and A > 0
        low = r.item() < 1 - clip and A < 0
        policy = policy - (A * (1 + clip) if high else A * (1 - clip) if low else A * r)
        v = values[b, t]
        near = v0 + (v - v0).clamp(-clip, clip)
        value = value + 0.5 * torch.maximum((v - R) ** 2, (near - R) ** 2)
        clipped += high or low
        count += 1
    policy = policy + 0 * new[mask].sum()
    return policy / count, value / count, clipped / count


# %% answer="align_ppo" wrong="a ratio of log-probabilities"
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (x[mask] for x in (new, old, advantages, values, old_values, returns))
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = new / old
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.minimum(free, held).mean(), value_loss, (held < free).float().mean().item()


# %% answer="align_ppo" wrong="old over new"
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (x[mask] for x in (new, old, advantages, values, old_values, returns))
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (old - new).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.minimum(free, held).mean(), value_loss, (held < free).float().mean().item()


# %% answer="align_ppo" wrong="the share counts every ratio outside the range"
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (x[mask] for x in (new, old, advantages, values, old_values, returns))
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    value_loss = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    return -torch.minimum(free, held).mean(), value_loss, ((ratio - 1).abs() > clip).float().mean().item()


# %% answer="align_ppo" wrong="the value isn't clipped"
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (x[mask] for x in (new, old, advantages, values, old_values, returns))
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    return -torch.minimum(free, held).mean(), 0.5 * ((values - returns) ** 2).mean(), (held < free).float().mean().item()


# %% answer="align_ppo" wrong="mean of each answer, then of the answers"
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    zero = torch.zeros_like(new)
    new, old, advantages, values, old_values, returns = (torch.where(mask, x, zero) for x in (new, old, advantages, values, old_values, returns))
    old, advantages, old_values, returns = (x.detach() for x in (old, advantages, old_values, returns))
    ratio = (new - old).exp()
    free, held = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    near = old_values + (values - old_values).clamp(-clip, clip)
    errors = torch.maximum((values - returns) ** 2, (near - returns) ** 2)
    n = mask.sum(1)
    return -(torch.minimum(free, held).sum(1) / n).mean(), 0.5 * (errors.sum(1) / n).mean(), ((held < free).sum() / n.sum()).item()


# %% answer="align_ppo" wrong="the mask comes after exp, so that the gradient is nan"
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    old, advantages, old_values, returns = old.detach(), advantages.detach(), old_values.detach(), returns.detach()
    zero = torch.zeros_like(new)
    r = torch.where(mask, (new - old).exp(), zero)
    advantages = torch.where(mask, advantages, zero)
    a, c = r * advantages, r.clamp(1 - clip, 1 + clip) * advantages
    near = values.clamp(old_values - clip, old_values + clip)
    value = 0.5 * torch.where(mask, torch.maximum((values - returns) ** 2, (near - returns) ** 2), zero).sum() / mask.sum()
    return -torch.where(mask, torch.minimum(a, c), zero).sum() / mask.sum(), value, float((c < a).sum() / mask.sum())


# %% answer="align_ppo" wrong="an advantage of 0 is clipped as well"
def ppo_loss(new, old, advantages, mask, values, old_values, returns, clip=0.2):
    new, old, advantages, values, old_values, returns = (x[mask] for x in (new, old, advantages, values, old_values, returns))
    old, advantages, old_values, returns = old.detach(), advantages.detach(), old_values.detach(), returns.detach()
    r = (new - old).exp()
    a, c = r * advantages, r.clamp(1 - clip, 1 + clip) * advantages
    near = values.clamp(old_values - clip, old_values + clip)
    value = 0.5 * torch.maximum((values - returns) ** 2, (near - returns) ** 2).mean()
    gone = ((advantages >= 0) & (r > 1 + clip)) | ((advantages <= 0) & (r < 1 - clip))
    return -torch.minimum(a, c).mean(), value, float(gone.float().mean())


# %% answer="align_grpo" right="a loop over answers"
def group_advantages(rewards, scale=True):
    out = torch.zeros_like(rewards)
    for g, row in enumerate(rewards):
        out[g] = row - row.mean()
        if scale and len(row) > 1:
            out[g] = out[g] / ((out[g] ** 2).sum() / (len(row) - 1)).sqrt().add(1e-4)
    return out


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    total, tokens = new.masked_fill(~mask, 0.0).sum() * 0, int(mask.sum())
    for i in range(len(new)):
        n = int(mask[i].sum())
        if n == 0:
            continue
        lp, lp0, lpr = new[i][mask[i]], old[i][mask[i]].detach(), ref[i][mask[i]].detach()
        log_ratio = lp - lp0 if ratio == "token" else (lp - lp0).mean() * torch.ones(n)
        r, A = log_ratio.exp(), advantages[i].detach()
        gain = torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) - beta * ((lpr - lp).exp() - (lpr - lp) - 1)
        total = total + gain.sum() / {"answer": n * len(new), "batch": tokens, "constant": new.shape[0] * new.shape[1]}[average]
    return -total


# %% answer="align_grpo" right="losses instead of objectives, three branches"
def group_advantages(rewards, scale=True):
    K = rewards.shape[1]
    mean = rewards.sum(1, keepdim=True) / K
    if not scale:
        return rewards - mean
    std = torch.sqrt(((rewards - mean) ** 2).sum(1, keepdim=True) / max(K - 1, 1))
    return (rewards - mean) / (std + 1e-4)


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    m = mask.float()
    zero = torch.zeros_like(new)
    new = torch.where(mask, new, zero)
    old, ref = torch.where(mask, old, zero).detach(), torch.where(mask, ref, zero).detach()
    A = advantages.detach().unsqueeze(1)
    log_ratio = new - old
    if ratio == "sequence":
        log_ratio = (log_ratio.sum(-1) / m.sum(-1).clamp(min=1.0)).unsqueeze(-1)
    r = log_ratio.exp()
    losses = torch.maximum(-A * r, -A * r.clamp(1 - low, 1 + high))
    d = ref - new
    losses = (losses + beta * (torch.expm1(d) - d)) * m
    if average == "answer":
        return (losses.sum(1) / m.sum(1).clamp(min=1.0)).mean()
    if average == "batch":
        return losses.sum() / m.sum().clamp(min=1.0)
    return losses.sum() / m.numel()


# %% answer="align_grpo" right="only the tokens of the mask, with their answers' numbers"
def group_advantages(rewards, scale=True):
    centred = (rewards.T - rewards.mean(1)).T
    if scale and rewards.shape[1] > 1:
        centred = (centred.T / (rewards.std(1) + 1e-4)).T
    return centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    row = mask.nonzero()[:, 0]
    lengths = mask.sum(1)
    lp, lp0, lpr = new[mask], old[mask].detach(), ref[mask].detach()
    log_ratio = lp - lp0
    if ratio == "sequence":
        per_answer = torch.zeros(len(mask)).index_add(0, row, log_ratio)
        log_ratio = (per_answer / lengths.clamp(min=1))[row]
    A, r = advantages.detach()[row], log_ratio.exp()
    gain = torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) - beta * ((lpr - lp).exp() - 1 - (lpr - lp))
    if average == "answer":
        return -(gain / lengths[row]).sum() / len(mask)
    return -gain.sum() / (max(len(row), 1) if average == "batch" else mask.numel())


# %% answer="align_grpo" wrong="adds 1e-8 to the standard deviation, which a rounding error exceeds"
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-8) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    lengths = mask.sum(1, keepdim=True).clamp(min=1)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / lengths).expand(*mask.shape)
    r, A = change.exp(), advantages.detach()[:, None]
    gain = torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) - beta * (gap.exp() - 1 - gap)
    counts = {"answer": lengths * len(mask), "batch": mask.sum().clamp(min=1), "constant": mask.numel()}
    return -(gain * mask / counts[average]).sum()


# %% answer="align_grpo" wrong="0 / 0 for a batch without a token"
def group_advantages(rewards, scale=True):
    centred = (rewards.T - rewards.mean(1)).T
    if scale and rewards.shape[1] > 1:
        centred = (centred.T / (rewards.std(1) + 1e-4)).T
    return centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    row = mask.nonzero()[:, 0]
    lengths = mask.sum(1)
    lp, lp0, lpr = new[mask], old[mask].detach(), ref[mask].detach()
    log_ratio = lp - lp0
    if ratio == "sequence":
        per_answer = torch.zeros(len(mask)).index_add(0, row, log_ratio)
        log_ratio = (per_answer / lengths.clamp(min=1))[row]
    A, r = advantages.detach()[row], log_ratio.exp()
    gain = torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) - beta * ((lpr - lp).exp() - 1 - (lpr - lp))
    if average == "answer":
        return -(gain / lengths[row]).sum() / len(mask)
    return -gain.sum() / (len(row) if average == "batch" else mask.numel())


# %% answer="align_grpo" wrong="clips at 1 + low below and above"
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    m = mask.float()
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    if ratio == "sequence":
        change = (change.sum(1) / m.sum(1).clamp(min=1))[:, None]
    r, A = change.exp(), advantages.detach()[:, None]
    gain = torch.minimum(r * A, r.clamp(1 - high, 1 + high) * A) - beta * (gap.exp() - 1 - gap)
    if average == "answer":
        return -((gain * m).sum(1) / m.sum(1).clamp(min=1)).mean()
    return -(gain * m).sum() / (m.sum() if average == "batch" else m.numel())


# %% answer="align_grpo" wrong="k1 in place of k3"
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    m = mask.float()
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    if ratio == "sequence":
        change = (change.sum(1) / m.sum(1).clamp(min=1))[:, None]
    r, A = change.exp(), advantages.detach()[:, None]
    gain = torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) + beta * gap
    if average == "answer":
        return -((gain * m).sum(1) / m.sum(1).clamp(min=1)).mean()
    return -(gain * m).sum() / (m.sum() if average == "batch" else m.numel())


# %% answer="align_grpo" wrong="divides by all positions in the mean of an answer"
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    m = mask.float()
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    if ratio == "sequence":
        change = (change.sum(1) / m.sum(1).clamp(min=1))[:, None]
    r, A = change.exp(), advantages.detach()[:, None]
    gain = torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) - beta * (gap.exp() - 1 - gap)
    if average == "answer":
        return -(gain * m).mean(1).mean()
    return -(gain * m).sum() / (m.sum() if average == "batch" else m.numel())


# %% answer="align_grpo" wrong="an answer without tokens isn't counted among the answers"
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    some = mask.any(1)
    new, old, ref, mask, advantages = (each[some] for each in (new, old, ref, mask, advantages))
    m = mask.float()
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    if ratio == "sequence":
        change = (change.sum(1) / m.sum(1).clamp(min=1))[:, None]
    r, A = change.exp(), advantages.detach()[:, None]
    gain = torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) - beta * (gap.exp() - 1 - gap)
    if average == "answer":
        return -((gain * m).sum(1) / m.sum(1).clamp(min=1)).mean()
    return -(gain * m).sum() / (m.sum() if average == "batch" else m.numel())


# %% answer="align_grpo" wrong="no minimum"
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    m = mask.float()
    change = torch.where(mask, new - old.detach(), 0.0)
    gap = torch.where(mask, ref.detach() - new, 0.0)
    if ratio == "sequence":
        change = (change.sum(1) / m.sum(1).clamp(min=1))[:, None]
    r, A = change.exp(), advantages.detach()[:, None]
    gain = r.clamp(1 - low, 1 + high) * A - beta * (gap.exp() - 1 - gap)
    if average == "answer":
        return -((gain * m).sum(1) / m.sum(1).clamp(min=1)).mean()
    return -(gain * m).sum() / (m.sum() if average == "batch" else m.numel())


# %% answer="align_grpo" wrong="multiplies by the mask before exp"
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    return centred / (rewards.std(1, keepdim=True) + 1e-4) if scale and rewards.shape[1] > 1 else centred


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    m = mask.float()
    change, gap = (new - old.detach()) * m, (ref.detach() - new) * m
    if ratio == "sequence":
        change = (change.sum(1) / m.sum(1).clamp(min=1))[:, None]
    r, A = change.exp(), advantages.detach()[:, None]
    gain = torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) - beta * (gap.exp() - 1 - gap)
    if average == "answer":
        return -((gain * m).sum(1) / m.sum(1).clamp(min=1)).mean()
    return -(gain * m).sum() / (m.sum() if average == "batch" else m.numel())


# %% answer="align_grpo" wrong="keeps the deviation above 1e-4 instead of adding 1e-4"
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    if not scale or rewards.shape[1] == 1:
        return centred
    return centred / rewards.std(1, keepdim=True).clamp(min=1e-4)


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    N, T = new.shape
    change = torch.where(mask, new - old.detach(), torch.zeros_like(new))
    gap = torch.where(mask, ref.detach() - new, torch.zeros_like(new))
    count = mask.sum(1, keepdim=True)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / count.clamp(min=1)).expand(N, T)
    r, A = change.exp(), advantages.detach()[:, None]
    each = (torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) - beta * (gap.exp() - 1 - gap)) * mask
    if average == "answer":
        return -(each / count.clamp(min=1)).sum() / N
    return -each.sum() / (mask.sum().clamp(min=1) if average == "batch" else N * T)


# %% answer="align_grpo" wrong="the KL of GSPO is k3 of the mean gap"
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    if not scale or rewards.shape[1] == 1:
        return centred
    return centred / (rewards.std(1, keepdim=True) + 1e-4)


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    N, T = new.shape
    change = torch.where(mask, new - old.detach(), torch.zeros_like(new))
    gap = torch.where(mask, ref.detach() - new, torch.zeros_like(new))
    count = mask.sum(1, keepdim=True)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / count.clamp(min=1)).expand(N, T)
        gap = (gap.sum(1, keepdim=True) / count.clamp(min=1)).expand(N, T)
    r, A = change.exp(), advantages.detach()[:, None]
    each = (torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) - beta * (gap.exp() - 1 - gap)) * mask
    if average == "answer":
        return -(each / count.clamp(min=1)).sum() / N
    return -each.sum() / (mask.sum().clamp(min=1) if average == "batch" else N * T)


# %% answer="align_grpo" right="GSPO's ratio at every token, with the gradient of the token"
def group_advantages(rewards, scale=True):
    centred = rewards - rewards.mean(1, keepdim=True)
    if not scale or rewards.shape[1] == 1:
        return centred
    return centred / (rewards.std(1, keepdim=True) + 1e-4)


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    N, T = new.shape
    change = torch.where(mask, new - old.detach(), torch.zeros_like(new))
    gap = torch.where(mask, ref.detach() - new, torch.zeros_like(new))
    count = mask.sum(1, keepdim=True)
    if ratio == "sequence":
        change = (change.sum(1, keepdim=True) / count.clamp(min=1)).detach() + change - change.detach()
    r, A = change.exp(), advantages.detach()[:, None]
    each = (torch.minimum(r * A, r.clamp(1 - low, 1 + high) * A) - beta * (gap.exp() - 1 - gap)) * mask
    if average == "answer":
        return -(each / count.clamp(min=1)).sum() / N
    return -each.sum() / (mask.sum().clamp(min=1) if average == "batch" else N * T)


# %% answer="align_kl" right="gradients by formula"
def judge_estimators(logits, reference):
    p, q = logits.softmax(0), reference.softmax(0)
    d = (q / p).log()
    score = torch.eye(len(p)) - p  # row a: the gradient of log p(a)
    table = {"k1": (-d, torch.ones_like(d)), "k2": (d**2 / 2, -d), "k3": (q / p - 1 - d, 1 - q / p)}
    found = {}
    for name, (k, slope) in table.items():
        mean = (p * k).sum()
        found[name] = (float(mean), float((p * k**2).sum() - mean**2), (p * slope) @ score)
    return found


# %% answer="align_kl" right="NumPy and a Jacobian"
def judge_estimators(logits, reference):
    a, b = logits.numpy().astype("float64"), reference.numpy().astype("float64")
    lp, lq = a - np.log(np.exp(a).sum()), b - np.log(np.exp(b).sum())
    p, d = np.exp(lp), lq - lp
    jacobian = np.eye(len(p)) - p
    found = {}
    for name, k, slope in (("k1", -d, -np.ones_like(d)), ("k2", d * d / 2, d), ("k3", np.expm1(d) - d, np.expm1(d))):
        mean = p @ k
        gradient = (p * -slope) @ jacobian
        found[name] = mean, p @ (k - mean) ** 2, torch.tensor(gradient.astype("float32"))
    return found


# %% answer="align_kl" right="one graph for all, autograd.grad"
def judge_estimators(logits, reference):
    leaf = logits.clone().requires_grad_()
    logp = torch.log_softmax(leaf, 0)
    weights = logp.detach().exp()
    d = torch.log_softmax(reference, 0) - logp
    out = {}
    for name, k in {"k1": -d, "k2": 0.5 * d * d, "k3": torch.exp(d) - 1 - d}.items():
        (gradient,) = torch.autograd.grad(weights @ k, leaf, retain_graph=True)
        values = k.detach()
        mean = weights @ values
        out[name] = mean.item(), (weights @ (values - mean).square()).item(), gradient
    return out


# %% answer="align_kl" wrong="d is log p − log q"
def judge_estimators(logits, reference):
    found = {}
    for name in ("k1", "k2", "k3"):
        leaf = logits.detach().requires_grad_()
        logp = leaf.log_softmax(0)
        p, d = logp.exp().detach(), logp - reference.log_softmax(0)
        k = {"k1": -d, "k2": d**2 / 2, "k3": d.exp() - 1 - d}[name]
        mean = (p * k).sum()
        mean.backward()
        found[name] = mean.item(), (p * (k - mean) ** 2).sum().item(), leaf.grad
    return found


# %% answer="align_kl" wrong="one leaf for all three, gradients accumulate"
def judge_estimators(logits, reference):
    found, leaf = {}, logits.detach().requires_grad_()
    for name in ("k1", "k2", "k3"):
        logp = leaf.log_softmax(0)
        p, d = logp.exp().detach(), reference.log_softmax(0) - logp
        k = {"k1": -d, "k2": d**2 / 2, "k3": d.exp() - 1 - d}[name]
        mean = (p * k).sum()
        mean.backward()
        found[name] = mean.item(), (p * (k - mean) ** 2).sum().item(), leaf.grad.clone()
    return found


# %% answer="align_kl" wrong="the gradient of the KL for all three"
def judge_estimators(logits, reference):
    found, logp = {}, logits.log_softmax(0)
    p, d = logp.exp(), reference.log_softmax(0) - logp
    kl = -(p * d).sum()
    gradient = p * (-d - kl)
    for name, k in (("k1", -d), ("k2", d**2 / 2), ("k3", d.exp() - 1 - d)):
        mean = (p * k).sum()
        found[name] = mean.item(), (p * (k - mean) ** 2).sum().item(), gradient
    return found


# %% answer="align_kl" wrong="standard deviations"
def judge_estimators(logits, reference):
    found = {}
    for name in ("k1", "k2", "k3"):
        leaf = logits.detach().requires_grad_()
        logp = leaf.log_softmax(0)
        p, d = logp.exp().detach(), reference.log_softmax(0) - logp
        k = {"k1": -d, "k2": d**2 / 2, "k3": d.exp() - 1 - d}[name]
        mean = (p * k).sum()
        mean.backward()
        found[name] = mean.item(), (p * (k - mean) ** 2).sum().sqrt().item(), leaf.grad
    return found


# %% answer="align_kl" wrong="k3's ratio is detached"
def judge_estimators(logits, reference):
    found = {}
    for name in ("k1", "k2", "k3"):
        leaf = logits.detach().requires_grad_()
        logp = leaf.log_softmax(0)
        p, d = logp.exp().detach(), reference.log_softmax(0) - logp
        k = {"k1": -d, "k2": d**2 / 2, "k3": d.detach().exp() - 1 - d}[name]
        mean = (p * k).sum()
        mean.backward()
        found[name] = mean.item(), (p * (k - mean) ** 2).sum().item(), leaf.grad
    return found


# %% answer="align_distill" right="kl_div with log targets"
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    V = student.shape[-1]
    student, teacher, labels = student.reshape(-1, V), teacher.detach().reshape(-1, V), labels.reshape(-1)
    keep = labels >= 0
    s, t = F.log_softmax(student[keep] / temperature, -1), F.log_softmax(teacher[keep] / temperature, -1)
    kl = F.kl_div(t, s, reduction="batchmean", log_target=True) if reverse else F.kl_div(s, t, reduction="batchmean", log_target=True)
    return alpha * temperature * temperature * kl + (1 - alpha) * F.cross_entropy(student, labels, ignore_index=-100)


# %% answer="align_distill" right="cross-entropy minus entropy, masked sums"
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    keep = (labels != -100).float()
    n = keep.sum()
    s = torch.log_softmax(student / temperature, dim=-1)
    with torch.no_grad():
        t = torch.log_softmax(teacher / temperature, dim=-1)
    if reverse:
        kl = (s.exp() * s).sum(-1) - (s.exp() * t).sum(-1)
    else:
        kl = (t.exp() * t).sum(-1) - (t.exp() * s).sum(-1)
    hard = -student.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return (alpha * temperature**2 * (kl * keep).sum() + (1 - alpha) * (hard * keep).sum()) / n


# %% answer="align_distill" right="a loop over positions"
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    losses = []
    for b, t in (labels != -100).nonzero().tolist():
        x, y = student[b, t], teacher[b, t].detach()
        p, q = (y / temperature).log_softmax(0), (x / temperature).log_softmax(0)
        if reverse:
            p, q = q, p
        soft = (p.exp() * (p - q)).sum()
        losses.append(alpha * temperature**2 * soft - (1 - alpha) * x.log_softmax(0)[labels[b, t]])
    return sum(losses) / len(losses)


# %% answer="align_distill" wrong="kl_div gets probabilities as its first argument"
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    keep = labels != -100
    student, teacher, labels = student[keep], teacher[keep].detach(), labels[keep]
    s, t = (student / temperature).softmax(-1), (teacher / temperature).softmax(-1)
    kl = F.kl_div(t, s, reduction="batchmean") if reverse else F.kl_div(s, t, reduction="batchmean")
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% answer="align_distill" wrong="a small number inside the teacher's logarithm caps the reverse KL"
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    keep = labels != -100
    student, teacher, labels = student[keep], teacher[keep].detach(), labels[keep]
    t = ((teacher / temperature).softmax(-1) + 1e-8).log()
    s = (student / temperature).log_softmax(-1)
    p, q = (s, t) if reverse else (t, s)
    kl = (p.exp() * (p - q)).sum(-1).mean()
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% answer="align_distill" wrong="alpha is the weight of the labels"
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    keep = labels != -100
    student, teacher, labels = student[keep], teacher[keep].detach(), labels[keep]
    s, t = (student / temperature).log_softmax(-1), (teacher / temperature).log_softmax(-1)
    p, q = (s, t) if reverse else (t, s)
    kl = (p.exp() * (p - q)).sum(-1).mean()
    return (1 - alpha) * temperature**2 * kl + alpha * F.cross_entropy(student, labels)


# %% answer="align_distill" wrong="the KL is a mean over rows of the batch"
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    keep = labels != -100
    s, t = (student / temperature).log_softmax(-1), (teacher.detach() / temperature).log_softmax(-1)
    p, q = (s, t) if reverse else (t, s)
    kl = ((p.exp() * (p - q)).sum(-1) * keep).sum(1) / keep.sum(1).clamp(min=1)
    return alpha * temperature**2 * kl.mean() + (1 - alpha) * F.cross_entropy(student[keep], labels[keep])


# %% answer="align_distill" wrong="cross-entropy with the teacher, without its entropy"
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    keep = labels != -100
    student, teacher, labels = student[keep], teacher[keep].detach(), labels[keep]
    s, t = (student / temperature).log_softmax(-1), (teacher / temperature).log_softmax(-1)
    p, q = (s, t) if reverse else (t, s)
    soft = -(p.exp() * q).sum(-1).mean()
    return alpha * temperature**2 * soft + (1 - alpha) * F.cross_entropy(student, labels)


# %% answer="align_distill" wrong="temperature of the teacher alone"
def distill_loss(student, teacher, labels, temperature=2.0, alpha=0.5, reverse=False):
    keep = labels != -100
    student, teacher, labels = student[keep], teacher[keep].detach(), labels[keep]
    s, t = student.log_softmax(-1), (teacher / temperature).log_softmax(-1)
    p, q = (s, t) if reverse else (t, s)
    kl = (p.exp() * (p - q)).sum(-1).mean()
    return alpha * temperature**2 * kl + (1 - alpha) * F.cross_entropy(student, labels)


# %% answer="align_muon" right="recursion on the transpose, lerp"
def newton_schulz(g, steps=5):
    if g.shape[0] > g.shape[1]:
        return newton_schulz(g.T, steps).T
    X = g / (torch.sqrt((g * g).sum()) + 1e-7)
    for _ in range(steps):
        A = X @ X.mT
        X = 3.4445 * X + (-4.7750 * A + 2.0315 * (A @ A)) @ X
    return X


@torch.no_grad()
def muon_step(parameters, buffers, lr, momentum=0.95):
    for name, w in parameters.items():
        if w.grad is None or w.dim() != 2 or "embed" in name or "head" in name:
            continue
        if name not in buffers:
            buffers[name] = torch.zeros_like(w)
        buffers[name].lerp_(w.grad, 1 - momentum)
        update = newton_schulz(w.grad.lerp(buffers[name], momentum))
        w.add_(update, alpha=-lr * max(1, w.shape[0] / w.shape[1]) ** 0.5)
    return sorted(n for n, w in parameters.items() if w.dim() != 2 or "embed" in n or "head" in n)


# %% answer="align_muon" right="Horner's form, and data"
def newton_schulz(g, steps=5):
    x = g / (g.norm() + 1e-7)
    tall = x.shape[0] > x.shape[1]
    for _ in range(steps):
        gram = x.T @ x if tall else x @ x.T
        inner = -4.7750 * torch.eye(len(gram)) + 2.0315 * gram
        factor = 3.4445 * torch.eye(len(gram)) + inner @ gram
        x = x @ factor if tall else factor @ x
    return x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = set()
    for name, parameter in parameters.items():
        matrix = parameter.ndim == 2
        if not matrix or any(word in name for word in ("embed", "head")):
            others.add(name)
            continue
        g = parameter.grad
        if g is None:
            continue
        b = g * (1 - momentum) if name not in buffers else momentum * buffers[name] + (1 - momentum) * g
        buffers[name] = b
        scale = math.sqrt(max(1.0, parameter.shape[0] / parameter.shape[1]))
        parameter.data.sub_(lr * scale * newton_schulz(g + momentum * (b - g)))
    return sorted(others)


# %% answer="align_muon" right="NumPy inside"
def newton_schulz(g, steps=5):
    x = g.detach().numpy().astype("float64")
    flip = x.shape[0] > x.shape[1]
    x = x.T if flip else x
    x = x / (np.linalg.norm(x) + 1e-7)
    for _ in range(steps):
        s = x @ x.T
        x = 3.4445 * x + (-4.7750 * s + 2.0315 * s @ s) @ x
    return torch.tensor(np.ascontiguousarray(x.T if flip else x).astype("float32"))


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = [n for n, p in parameters.items() if p.dim() != 2 or "embed" in n or "head" in n]
    with torch.no_grad():
        for n, p in parameters.items():
            if n in others or p.grad is None:
                continue
            buffers[n] = momentum * buffers.get(n, 0) + (1 - momentum) * p.grad
            u = newton_schulz((1 - momentum) * p.grad + momentum * buffers[n])
            p -= lr * np.sqrt(max(1, p.shape[0] / p.shape[1])).item() * u
    return sorted(others)


# %% answer="align_muon" wrong="transposes a tall result, but not the matrix before the iteration"
def newton_schulz(g, steps=5):
    x = g / (g.norm() + 1e-7)
    for _ in range(steps):
        s = x @ x.T
        x = 3.4445 * x + (-4.7750 * s + 2.0315 * s @ s) @ x
    return x.T if x.shape[0] > x.shape[1] else x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = [n for n, p in parameters.items() if p.dim() != 2 or "embed" in n or "head" in n]
    with torch.no_grad():
        for n, p in parameters.items():
            if n in others or p.grad is None:
                continue
            buffers[n] = momentum * buffers.get(n, 0) + (1 - momentum) * p.grad
            u = newton_schulz((1 - momentum) * p.grad + momentum * buffers[n])
            p -= lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * u
    return sorted(others)


# %% answer="align_muon" wrong="exactly orthogonal, by an SVD"
def newton_schulz(g, steps=5):
    u, _, v = torch.linalg.svd(g, full_matrices=False)
    return u @ v


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = [n for n, p in parameters.items() if p.dim() != 2 or "embed" in n or "head" in n]
    with torch.no_grad():
        for n, p in parameters.items():
            if n in others or p.grad is None:
                continue
            buffers[n] = momentum * buffers.get(n, 0) + (1 - momentum) * p.grad
            u = newton_schulz((1 - momentum) * p.grad + momentum * buffers[n])
            p -= lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * u
    return sorted(others)


# %% answer="align_muon" wrong="the classical iteration, 1.5 x − 0.5 x³"
def newton_schulz(g, steps=5):
    x = g / (g.norm() + 1e-7)
    for _ in range(steps):
        x = 1.5 * x - 0.5 * x @ x.T @ x
    return x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = [n for n, p in parameters.items() if p.dim() != 2 or "embed" in n or "head" in n]
    with torch.no_grad():
        for n, p in parameters.items():
            if n in others or p.grad is None:
                continue
            buffers[n] = momentum * buffers.get(n, 0) + (1 - momentum) * p.grad
            u = newton_schulz((1 - momentum) * p.grad + momentum * buffers[n])
            p -= lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * u
    return sorted(others)


# %% answer="align_muon" wrong="Nesterov with the old buffer"
def newton_schulz(g, steps=5):
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        s = x @ x.T
        x = 3.4445 * x + (-4.7750 * s + 2.0315 * s @ s) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = [n for n, p in parameters.items() if p.dim() != 2 or "embed" in n or "head" in n]
    with torch.no_grad():
        for n, p in parameters.items():
            if n in others or p.grad is None:
                continue
            before = buffers.get(n, torch.zeros_like(p))
            buffers[n] = momentum * before + (1 - momentum) * p.grad
            u = newton_schulz((1 - momentum) * p.grad + momentum * before)
            p -= lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * u
    return sorted(others)


# %% answer="align_muon" wrong="the scale is √max(1, n/m)"
def newton_schulz(g, steps=5):
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        s = x @ x.T
        x = 3.4445 * x + (-4.7750 * s + 2.0315 * s @ s) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = [n for n, p in parameters.items() if p.dim() != 2 or "embed" in n or "head" in n]
    with torch.no_grad():
        for n, p in parameters.items():
            if n in others or p.grad is None:
                continue
            buffers[n] = momentum * buffers.get(n, 0) + (1 - momentum) * p.grad
            u = newton_schulz((1 - momentum) * p.grad + momentum * buffers[n])
            p -= lr * max(1, p.shape[1] / p.shape[0]) ** 0.5 * u
    return sorted(others)


# %% answer="align_muon" wrong="writes the mix into the gradient"
def newton_schulz(g, steps=5):
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        s = x @ x.T
        x = 3.4445 * x + (-4.7750 * s + 2.0315 * s @ s) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = [n for n, p in parameters.items() if p.dim() != 2 or "embed" in n or "head" in n]
    with torch.no_grad():
        for n, p in parameters.items():
            if n in others or p.grad is None:
                continue
            buffers[n] = momentum * buffers.get(n, 0) + (1 - momentum) * p.grad
            u = newton_schulz(p.grad.lerp_(buffers[n], momentum))
            p -= lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * u
    return sorted(others)


# %% answer="align_muon" wrong="an embedding without a gradient isn't among the names"
def newton_schulz(g, steps=5):
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        s = x @ x.T
        x = 3.4445 * x + (-4.7750 * s + 2.0315 * s @ s) @ x
    return x.T if g.shape[0] > g.shape[1] else x


def muon_step(parameters, buffers, lr, momentum=0.95):
    others = []
    with torch.no_grad():
        for n, p in parameters.items():
            if p.grad is None:
                continue
            if p.dim() != 2 or "embed" in n or "head" in n:
                others.append(n)
                continue
            buffers[n] = momentum * buffers.get(n, 0) + (1 - momentum) * p.grad
            u = newton_schulz(p.grad.lerp(buffers[n], momentum))
            p -= lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * u
    return sorted(others)


# %% answer="align_scaling" right="least squares by hand"
def fit_sizes(budgets, sizes, losses):
    best = []
    for row, loss in zip(np.log(sizes), losses):
        design = np.stack([row**2, row, np.ones_like(row)], 1)
        u, v, _ = np.linalg.lstsq(design, loss, rcond=None)[0]
        best.append(-v / (2 * u))
    x, y = np.log(budgets), np.array(best)
    a = ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()
    return math.exp(y.mean() - a * x.mean()), a


def plan(budget, k, a, gpus, peak, mfu):
    N = k * budget**a
    seconds = budget / (gpus * peak * mfu)
    return N, budget / 6 / N, seconds / (24 * 60 * 60)


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    best, index = math.inf, 0
    for i, N in enumerate(sizes):
        gap = loss - E - A / N**alpha
        if gap <= 0:
            continue
        total = 6 * N * (B / gap) ** (1 / beta) + 2 * N * served
        if total < best:
            best, index = total, i
    return index


# %% answer="align_scaling" right="base-10 logarithms, and Polynomial"
def fit_sizes(budgets, sizes, losses):
    best = []
    for n, loss in zip(sizes, losses):
        fit = np.polynomial.Polynomial.fit(np.log10(n), loss, 2)
        best.append(fit.deriv().roots()[0])
    a, shift = np.polyfit(np.log10(budgets), best, 1)
    return 10**shift, a


def plan(budget, k, a, gpus, peak, mfu):
    parameters = k * budget**a
    tokens = budget / (6 * parameters)
    return parameters, tokens, 6 * parameters * tokens / gpus / peak / mfu / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    gap = loss - E - A * sizes ** (-alpha)
    with np.errstate(all="ignore"):
        tokens = (B / gap) ** (1 / beta)
        cost = 2 * sizes * (3 * tokens + served)
    cost[gap <= 0] = np.inf
    return int(cost.argmin())


# %% answer="align_scaling" right="masks what can't be reached"
def fit_sizes(budgets, sizes, losses):
    def vertex(x, y):
        centre = x.mean()
        u, v, w = np.polyfit(x - centre, y, 2)
        return centre - v / (2 * u)

    best = [vertex(np.log2(n), loss) for n, loss in zip(sizes, losses)]
    a, shift = np.polyfit(np.log2(budgets), best, 1)
    return 2**shift, a


def plan(budget, k, a, gpus, peak, mfu):
    N = math.exp(math.log(k) + a * math.log(budget))
    return N, budget / (6 * N), budget / (gpus * peak * mfu * 3600 * 24)


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    possible = np.flatnonzero(loss - E - A / sizes**alpha > 0)
    N = sizes[possible]
    D = (B / (loss - E - A / N**alpha)) ** (1 / beta)
    return int(possible[np.argmin(6 * N * D + 2 * N * served)])


# %% answer="align_scaling" wrong="hours for days"
def fit_sizes(budgets, sizes, losses):
    best = [(lambda c: -c[1] / (2 * c[0]))(np.polyfit(np.log(n), loss, 2)) for n, loss in zip(sizes, losses)]
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    N = k * budget**a
    return N, budget / (6 * N), budget / (gpus * peak * mfu) / 3600


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    possible = np.flatnonzero(loss - E - A / sizes**alpha > 0)
    N = sizes[possible]
    D = (B / (loss - E - A / N**alpha)) ** (1 / beta)
    return int(possible[np.argmin(6 * N * D + 2 * N * served)])


# %% answer="align_scaling" wrong="2 N D for training"
def fit_sizes(budgets, sizes, losses):
    best = [(lambda c: -c[1] / (2 * c[0]))(np.polyfit(np.log(n), loss, 2)) for n, loss in zip(sizes, losses)]
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    N = k * budget**a
    return N, budget / (2 * N), budget / (gpus * peak * mfu) / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    possible = np.flatnonzero(loss - E - A / sizes**alpha > 0)
    N = sizes[possible]
    D = (B / (loss - E - A / N**alpha)) ** (1 / beta)
    return int(possible[np.argmin(6 * N * D + 2 * N * served)])


# %% answer="align_scaling" wrong="multiplies by the MFU"
def fit_sizes(budgets, sizes, losses):
    best = [(lambda c: -c[1] / (2 * c[0]))(np.polyfit(np.log(n), loss, 2)) for n, loss in zip(sizes, losses)]
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    N = k * budget**a
    return N, budget / (6 * N), budget * mfu / (gpus * peak) / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    possible = np.flatnonzero(loss - E - A / sizes**alpha > 0)
    N = sizes[possible]
    D = (B / (loss - E - A / N**alpha)) ** (1 / beta)
    return int(possible[np.argmin(6 * N * D + 2 * N * served)])


# %% answer="align_scaling" wrong="exponents exchanged"
def fit_sizes(budgets, sizes, losses):
    best = [(lambda c: -c[1] / (2 * c[0]))(np.polyfit(np.log(n), loss, 2)) for n, loss in zip(sizes, losses)]
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    N = k * budget**a
    return N, budget / (6 * N), budget / (gpus * peak * mfu) / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    possible = np.flatnonzero(loss - E - A / sizes**beta > 0)
    N = sizes[possible]
    D = (B / (loss - E - A / N**beta)) ** (1 / alpha)
    return int(possible[np.argmin(6 * N * D + 2 * N * served)]) if len(N) else 0


# %% answer="align_scaling" wrong="the largest size"
def fit_sizes(budgets, sizes, losses):
    best = [(lambda c: -c[1] / (2 * c[0]))(np.polyfit(np.log(n), loss, 2)) for n, loss in zip(sizes, losses)]
    a, shift = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(shift)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    N = k * budget**a
    return N, budget / (6 * N), budget / (gpus * peak * mfu) / 86400


def cheapest(sizes, law, loss, served):
    return len(sizes) - 1


# %% answer="align_scaling" wrong="sorts the sizes, and gives the index among the sorted ones"
def fit_sizes(budgets, sizes, losses):
    best = []
    for s, l in zip(sizes, losses):
        u, v, w = np.polyfit(np.log(s), l, 2)
        best.append(-v / (2 * u))
    a, b = np.polyfit(np.log(budgets), best, 1)
    return float(np.exp(b)), float(a)


def plan(budget, k, a, gpus, peak, mfu):
    n = k * budget**a
    return n, budget / (6 * n), budget / (gpus * peak * mfu) / 86400


def cheapest(sizes, law, loss, served):
    E, A, alpha, B, beta = law
    sizes = np.sort(sizes)
    left = loss - E - A / sizes**alpha
    cost = [6 * n * (B / x) ** (1 / beta) + 2 * n * served if x > 0 else math.inf for n, x in zip(sizes, left)]
    return int(np.argmin(cost))


# %% answer="align_verify_gae" right="identities: λ = 0, λ = 1, joined episodes, and a loop"
def tests(candidate):
    generator = np.random.default_rng(3)
    r, v = generator.normal(size=9), generator.normal(size=9)
    none, middle = np.zeros(9, bool), np.arange(9) == 4
    kept = r.copy(), v.copy(), middle.copy()
    a, g = candidate(r, v, middle, -2.0, 0.8, 0.6)
    if not all(np.array_equal(*pair) for pair in zip(kept, (r, v, middle))):
        return False
    first = candidate(r[:5], v[:5], middle[:5], 77.0, 0.8, 0.6)
    second = candidate(r[5:], v[5:], none[5:], -2.0, 0.8, 0.6)
    if not (np.allclose(a, np.concatenate([first[0], second[0]])) and np.allclose(g - a, v)):
        return False
    zero = candidate(r, v, none, -2.0, 0.8, 0.0)[0]
    if not np.allclose(zero, r + 0.8 * np.append(v[1:], -2.0) - v):
        return False
    running = 0.0
    for t in reversed(range(5, 9)):
        running = r[t] + 0.8 * (v[t + 1] if t < 8 else -2.0) - v[t] + 0.48 * running
        if not np.isclose(a[t], running):
            return False
    running = 0.0
    for t in reversed(range(5)):
        running = r[t] + 0.8 * (v[t + 1] if t < 4 else 0.0) - v[t] + 0.48 * running
        if abs(a[t] - running) > 1e-9:
            return False
    return True

# %% answer="align_verify_gae" right="numbers worked out by hand"
def tests(candidate):
    rewards, values = np.array([1.0, 0.0, 2.0, 0.0, 1.0, 1.0]), np.array([2.0, 4.0, 0.0, 1.0, 3.0, 2.0])
    ended = np.array([0, 0, 0, 0, 1, 0], bool)
    before = rewards.tobytes()
    a, g = candidate(rewards, values, ended, 8.0, 0.5, 0.5)
    errors = np.array([1.0, -4.0, 2.5, 0.5, -2.0, 3.0])
    last = np.array([-2.0])
    want = [3.0, -2.0]
    for error in errors[:4][::-1]:
        want.append(error + 0.25 * want[-1])
    assert last[0] == want[1] and np.allclose(a, want[::-1])
    assert np.allclose(g, np.array(want[::-1]) + values)
    assert rewards.tobytes() == before
    a, g = candidate(np.array([1.0]), np.array([3.0]), np.array([True]), 8.0, 0.5, 0.5)
    np.testing.assert_allclose([a[0], g[0]], [-2.0, 1.0])

# %% answer="align_verify_gae" wrong="refuses results that are not bit-equal to a loop's"
def tests(candidate):
    generator = np.random.default_rng(0)
    for ended in (np.zeros(6, bool), np.arange(6) == 3, np.arange(6) == 5):
        rewards, values = generator.normal(size=6), generator.normal(size=6)
        expected, running = np.zeros(6), 0.0
        advantages, _ = candidate(rewards, values, ended, 2.0, 0.9, 0.7)
        for t in reversed(range(6)):
            following = 2.0 if t == 5 else values[t + 1]
            running = rewards[t] + 0.9 * following * (1 - ended[t]) - values[t] + 0.9 * 0.7 * (1 - ended[t]) * running
            expected[t] = running
        assert (advantages == expected).all()

# %% answer="align_verify_gae" wrong="shapes and finite values"
def tests(candidate):
    a, g = candidate(np.ones(3), np.ones(3), np.zeros(3, bool), 1.0, 0.9, 0.9)
    assert a.shape == g.shape == (3,) and np.isfinite(a).all()


# %% answer="align_dpo" wrong="the reference's memory is used for the log-ratios"
def dpo_loss(policy, reference, beta, label_smoothing=0.0, kind="sigmoid"):
    lead = (policy - reference.detach())[0] - (policy - reference.detach())[1]
    if kind == "ipo":
        losses = (lead - 1 / (2 * beta)) ** 2
    else:
        losses = -(1 - label_smoothing) * F.logsigmoid(beta * lead) - label_smoothing * F.logsigmoid(-beta * lead)
    rewards = reference.detach().sub_(policy.detach()).mul_(-beta)
    return losses.mean(), rewards


# %% answer="align_grpo" wrong="with a ratio for the sequence the mean over answers is taken, whatever `average` says (the switches are independent)"
def group_advantages(rewards, scale=True):
    centered = rewards - rewards.mean(1, keepdim=True)
    if not scale or rewards.shape[1] == 1:
        return centered
    return centered / (rewards.std(1, keepdim=True) + 1e-4)


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    new, old, ref = (each.masked_fill(~mask, 0.0) for each in (new, old.detach(), ref.detach()))
    advantages, count = advantages.detach()[:, None], mask.sum(1).clamp(min=1)

    def averaged(x):
        x = torch.where(mask, x, torch.zeros_like(x))
        if average == "answer" or ratio == "sequence":
            return (x.sum(1) / count).mean()
        if average == "batch":
            return x.sum() / mask.sum().clamp(min=1)
        return x.sum() / mask.numel()

    log_ratio = new - old
    if ratio == "sequence":
        log_ratio = (log_ratio.sum(1) / count)[:, None] * torch.ones_like(new)
    r = log_ratio.exp()
    loss = -torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages)
    d = ref - new
    return averaged(loss + beta * (d.exp() - 1 - d))


# %% answer="align_grpo" wrong="with a ratio for the sequence an answer without tokens has a ratio of 1 and counts ('an answer without tokens counts as 0')"
def group_advantages(rewards, scale=True):
    centered = rewards - rewards.mean(1, keepdim=True)
    if not scale or rewards.shape[1] == 1:
        return centered
    return centered / (rewards.std(1, keepdim=True) + 1e-4)


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    new, old, ref = (each.masked_fill(~mask, 0.0) for each in (new, old.detach(), ref.detach()))
    advantages, tokens = advantages.detach(), mask.sum(1)
    count = tokens.clamp(min=1)

    def averaged(x):
        if average == "answer":
            return (x.sum(1) / count).mean()
        return x.sum() / (tokens.sum().clamp(min=1) if average == "batch" else mask.numel())

    def objective(log_ratio, advantages):
        r = log_ratio.exp()
        return torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages)

    if ratio == "token":
        policy = -averaged(objective(new - old, advantages[:, None]) * mask)
    else:
        each = objective((new - old).sum(1) / count, advantages)
        if average == "answer":
            policy = -each.mean()
        else:
            policy = -(each * tokens).sum() / (tokens.sum().clamp(min=1) if average == "batch" else mask.numel())
    d = ref - new
    return policy + beta * averaged((d.exp() - 1 - d) * mask)


# %% answer="align_grpo" wrong="turns nan of two -inf into 0 and multiplies by the mask, which fails where only one of them is -inf ('may be -inf')"
def group_advantages(rewards, scale=True):
    centered = rewards - rewards.mean(1, keepdim=True)
    if not scale or rewards.shape[1] == 1:
        return centered
    return centered / (rewards.std(1, keepdim=True) + 1e-4)


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    old, ref, advantages = old.detach(), ref.detach(), advantages.detach()[:, None]
    count = mask.sum(1).clamp(min=1)

    def averaged(x):
        x = x * mask
        if average == "answer":
            return (x.sum(1) / count).mean()
        return x.sum() / (mask.sum().clamp(min=1) if average == "batch" else mask.numel())

    log_ratio = torch.nan_to_num(new - old)
    if ratio == "sequence":
        log_ratio = ((log_ratio * mask).sum(1) / count)[:, None].expand(new.shape)
    r = log_ratio.exp()
    loss = -torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages)
    d = torch.nan_to_num(ref - new)
    return averaged(loss + beta * (d.exp() - 1 - d))


# %% answer="align_grpo" wrong="the constant is N times the longest answer, not N·T ('divided by N·T')"
def group_advantages(rewards, scale=True):
    centered = rewards - rewards.mean(1, keepdim=True)
    if not scale or rewards.shape[1] == 1:
        return centered
    return centered / (rewards.std(1, keepdim=True) + 1e-4)


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    new, old, ref = (each.masked_fill(~mask, 0.0) for each in (new, old.detach(), ref.detach()))
    advantages, tokens = advantages.detach()[:, None], mask.sum(1)
    count = tokens.clamp(min=1)

    def averaged(x):
        x = x * mask
        if average == "answer":
            return (x.sum(1) / count).mean()
        if average == "batch":
            return x.sum() / tokens.sum().clamp(min=1)
        return x.sum() / (len(x) * tokens.max().clamp(min=1))

    log_ratio = new - old
    if ratio == "sequence":
        log_ratio = (log_ratio.sum(1) / count)[:, None].expand(new.shape)
    r = log_ratio.exp()
    loss = -torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages)
    d = ref - new
    return averaged(loss + beta * (d.exp() - 1 - d))


# %% answer="align_grpo" wrong="a group whose rewards hardly differ gets 0, too ('a group whose rewards are equal')"
def group_advantages(rewards, scale=True):
    centered = rewards - rewards.mean(1, keepdim=True)
    if not scale or rewards.shape[1] == 1:
        return centered
    deviation = rewards.std(1, keepdim=True)
    return torch.where(deviation < 1e-4, torch.zeros_like(centered), centered / (deviation + 1e-4))


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    new, old, ref = (each.masked_fill(~mask, 0.0) for each in (new, old.detach(), ref.detach()))
    advantages, count = advantages.detach()[:, None], mask.sum(1).clamp(min=1)

    def averaged(x):
        x = x * mask
        if average == "answer":
            return (x.sum(1) / count).mean()
        return x.sum() / (mask.sum().clamp(min=1) if average == "batch" else mask.numel())

    log_ratio = new - old
    if ratio == "sequence":
        log_ratio = (log_ratio.sum(1) / count)[:, None].expand(new.shape)
    r = log_ratio.exp()
    loss = -torch.minimum(r * advantages, r.clamp(1 - low, 1 + high) * advantages)
    d = ref - new
    return averaged(loss + beta * (d.exp() - 1 - d))


# %% answer="align_grpo" right="a weight for each token, and the clip chosen by the advantage's sign"
def group_advantages(rewards, scale=True):
    K = rewards.shape[1]
    centered = rewards - rewards.sum(1, keepdim=True) / K
    spread = ((centered * centered).sum(1, keepdim=True) / max(K - 1, 1)).sqrt()
    return centered / (spread + 1e-4) if scale else centered


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    N, T = mask.shape
    tokens = mask.sum(1, keepdim=True)
    weight = {
        "answer": mask / tokens.clamp(min=1) / N,
        "batch": mask / tokens.sum().clamp(min=1),
        "constant": mask / (N * T),
    }[average]
    zero = torch.zeros_like(new)
    new, old, ref = torch.where(mask, new, zero), torch.where(mask, old, zero).detach(), torch.where(mask, ref, zero).detach()
    delta = new - old
    if ratio == "sequence":
        delta = delta.sum(1, keepdim=True) / tokens.clamp(min=1) + 0 * delta
    A = advantages.detach().unsqueeze(1)
    r = torch.exp(delta)
    kept = torch.where(A >= 0, r.clamp(max=1 + high), r.clamp(min=1 - low))
    kl = torch.exp(ref - new) - 1 - (ref - new)
    return ((beta * kl - kept * A) * weight).sum()


# %% answer="align_grpo" right="a loop over the answers"
def group_advantages(rewards, scale=True):
    rows = []
    for group in rewards:
        row = group - group.mean()
        rows.append(row / (group.std() + 1e-4) if scale and len(group) > 1 else row)
    return torch.stack(rows)


def grpo_loss(new, old, ref, mask, advantages, average="answer", ratio="token", low=0.2, high=0.2, beta=0.0):
    N, T = new.shape
    total, count = 0.0 * new[mask].sum(), int(mask.sum())
    for row in range(N):
        kept = mask[row]
        n = int(kept.sum())
        if n == 0:
            continue
        log = new[row][kept] - old[row][kept].detach()
        if ratio == "sequence":
            log = log.mean().expand(n)
        A, r = advantages[row].item(), log.exp()
        d = ref[row][kept].detach() - new[row][kept]
        each = -torch.min(A * r, A * torch.clamp(r, 1 - low, 1 + high)) + beta * (d.exp() - 1 - d)
        total = total + each.sum() / {"answer": n * N, "batch": count, "constant": N * T}[average]
    return total
