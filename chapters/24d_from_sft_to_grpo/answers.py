# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms. `course answers 24d` grades them.

# %% answer="tune_predict_signal" right="as a tuple of floats"
prediction = (8.0, 7.0, 16.0, 16.0, 5.0)

# %% answer="tune_predict_signal" right="counted by a program"
rows = [[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0]]
mixed = sum(4 * (0 < sum(row) < 4) for row in rows)
prediction = [mixed, sum(map(sum, rows)), sum(each != 7 / 16 for row in rows for each in row), 16, 12 - 7]

# %% answer="tune_predict_signal" right="by the weights of each baseline"
scores = torch.tensor([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0]]).double()
weights = [scores - scores.mean(1, keepdim=True), scores, scores - scores.mean()]
prediction = [int((each != 0).sum()) for each in weights] + [scores.numel(), 5]

# %% answer="tune_predict_signal" right="by the gradients of a policy"
scores = torch.tensor([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0]]).double()


def moved(weights, penalty=0.0):
    logp = torch.zeros(4, 4).double().requires_grad_()
    d = torch.arange(1, 17).double().reshape(4, 4) / 100 - logp
    (logp.exp() * weights + penalty * (d.exp() - 1 - d)).sum().backward()
    return (logp.grad != 0).sum().item()


centred = scores - scores.mean(1, keepdim=True)
prediction = [moved(centred), moved(scores), moved(scores - scores.mean()), moved(centred, 0.1), 5]

# %% answer="tune_predict_signal" wrong="only the replies of the group in balance learn"
prediction = [4, 7, 16, 16, 5]

# %% answer="tune_predict_signal" wrong="the first step has ratio 1, so nothing has a gradient"
prediction = [0, 0, 0, 0, 5]

# %% answer="tune_predict_signal" wrong="the batch's mean leaves the replies out that score 0"
prediction = [8, 7, 7, 16, 5]

# %% answer="tune_predict_signal" wrong="groups, not replies"
prediction = [2, 3, 4, 4, 5]

# %% answer="tune_predict_signal" wrong="prompt and reply are trained"
prediction = [8, 7, 16, 16, 12]

# %% answer="tune_predict_signal" wrong="the end token isn't trained"
prediction = [8, 7, 16, 16, 4]

# %% answer="tune_predict_signal" wrong="a penalty is a number, without a gradient"
prediction = [8, 7, 16, 8, 5]

# %% answer="tune_predict_signal" wrong="the group of correct replies is reinforced"
prediction = [12, 7, 16, 16, 5]


# %% answer="tune_chat" right="a list of pairs, zipped at the end"
def render(conversation, headers, end, limit, only_last=False):
    turns = []
    assistants = [n for n, turn in enumerate(conversation) if turn[0] == "assistant"]
    for n, (role, words) in enumerate(conversation):
        train = role == "assistant" and (not only_last or n == assistants[-1])
        turn = [(headers[role], -100)]
        if words is not None:
            turn += [(each, each if train else -100) for each in words + [end]]
        turns.append(turn)
    system = turns[:1] if conversation and conversation[0][0] == "system" else []
    rest = turns[len(system) :]
    while len(sum(system + rest, [])) > limit:
        rest = rest[1:]
    flat = sum(system + rest, [])
    return [each for each, _ in flat], [each for _, each in flat]


# %% answer="tune_chat" right="walks from the end while turns fit"
def render(conversation, headers, end, limit, only_last=False):
    def one(role, words, train):
        body = [] if words is None else list(words) + [end]
        return [headers[role]] + body, [-100] + (body if train else [-100] * len(body))

    ids, labels, found = [], [], False
    top = ([], [])
    turns = list(conversation)
    if turns and turns[0][0] == "system":
        top = one(*turns.pop(0), False)
    for role, words in reversed(turns):
        train = role == "assistant" and not (only_last and found)
        found = found or role == "assistant"
        a, b = one(role, words, train)
        if len(top[0]) + len(a) + len(ids) > limit:
            break
        ids, labels = a + ids, b + labels
    return top[0] + ids, top[1] + labels


# %% answer="tune_chat" right="removes turns from a copy, and tuples"
def render(conversation, headers, end, limit, only_last=False):
    keep = list(conversation)

    def size(turn):
        return 1 if turn[1] is None else len(turn[1]) + 2

    while sum(size(turn) for turn in keep) > limit:
        keep.pop(1 if keep[0][0] == "system" else 0)
    ids, labels, start = [], [], None
    for role, words in keep:
        if role == "assistant" and only_last:
            labels = [-100] * len(ids)
        ids.append(headers[role])
        labels.append(-100)
        for each in () if words is None else (*words, end):
            ids.append(each)
            labels.append(each if role == "assistant" else -100)
    return tuple(ids), tuple(labels)


# %% answer="tune_chat" right="a mask, and where it is zero -100"
def render(conversation, headers, end, limit, only_last=False):
    pieces = [[headers[role]] + ([*words, end] if words is not None else []) for role, words in conversation]
    masks = [[0] + [int(role == "assistant")] * (len(piece) - 1) for piece, (role, _) in zip(pieces, conversation)]
    if only_last:
        last = [n for n, (role, _) in enumerate(conversation) if role == "assistant"][-1:]
        masks = [mask if n in last else [0] * len(mask) for n, mask in enumerate(masks)]
    fixed = 1 if conversation[:1] and conversation[0][0] == "system" else 0
    total = sum(len(piece) for piece in pieces)
    drop = fixed
    while total > limit:
        total -= len(pieces[drop])
        drop += 1
    kept = [n for n in range(len(pieces)) if n < fixed or n >= drop]
    ids = [each for n in kept for each in pieces[n]]
    mask = [each for n in kept for each in masks[n]]
    return ids, [a if m else -100 for a, m in zip(ids, mask)]


# %% answer="tune_chat" wrong="zero where nothing is trained, which is a token"
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
        labels += [0, *(turns[n][1:] if trained else [0] * (len(turns[n]) - 1))]
    return ids, labels


# %% answer="tune_chat" wrong="everything but the user is trained"
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) > limit:
        start += 1
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        trained = n == last if only_last else conversation[n][0] not in ("user", "system")
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, labels


# %% answer="tune_chat" wrong="the last turn is trained, whoever speaks"
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) > limit:
        start += 1
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        trained = n == len(turns) - 1 if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, labels


# %% answer="tune_chat" wrong="cuts one turn too many when it fits exactly"
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) >= limit and start < len(turns) - 1:
        start += 1
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, labels


# %% answer="tune_chat" wrong="cuts the newest turns"
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    stop = len(turns)
    while sum(map(len, turns[:stop])) > limit:
        stop -= 1
    last = max((n for n, (role, _) in enumerate(conversation[:stop]) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n in range(stop):
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, labels


# %% answer="tune_chat" wrong="the system turn isn't counted"
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[start:])) > limit:
        start += 1
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, labels


# %% answer="tune_chat" wrong="an empty reply counts as an open turn"
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([*words, end] if words else [])] for role, words in conversation]
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


# %% answer="tune_chat" wrong="no end tokens at all"
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *(words or [])] for role, words in conversation]
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


# %% answer="tune_chat" wrong="appends the end to the conversation's own lists"
def render(conversation, headers, end, limit, only_last=False):
    turns = []
    for role, words in conversation:
        if words is not None and words[-1:] != [end]:
            words += [end]
        turns.append([headers[role], *(words or [])])
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


# %% answer="tune_chat" wrong="every system turn stays, wherever it stands"
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    last = max((n for n, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    kept = list(range(len(turns)))
    while sum(len(turns[n]) for n in kept) > limit:
        kept.remove(next(n for n in kept if conversation[n][0] != "system"))
    ids, labels = [], []
    for n in kept:
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, labels


# %% answer="tune_chat" wrong="before an open turn, the last one with words is trained"
def render(conversation, headers, end, limit, only_last=False):
    turns = [[headers[role], *([] if words is None else [*words, end])] for role, words in conversation]
    first = int(bool(conversation) and conversation[0][0] == "system")
    start = first
    while sum(map(len, turns[:first] + turns[start:])) > limit:
        start += 1
    written = [n for n, (role, words) in enumerate(conversation) if role == "assistant" and words is not None]
    last = max(written, default=-1)
    ids, labels = [], []
    for n in [*range(first), *range(start, len(turns))]:
        trained = n == last if only_last else conversation[n][0] == "assistant"
        ids += turns[n]
        labels += [-100, *(turns[n][1:] if trained else [-100] * (len(turns[n]) - 1))]
    return ids, labels


# %% answer="tune_chat" wrong="walks from the end and skips a turn that doesn't fit, but goes on"
def render(conversation, headers, end, limit, only_last=False):
    parts = []
    for role, words in conversation:
        parts.append([headers[role]] if words is None else [headers[role], *words, end])
    left = limit
    keep = set()
    if conversation[:1] and conversation[0][0] == "system":
        keep.add(0)
        left -= len(parts[0])
    for i in reversed(range(len(parts))):
        if i not in keep and len(parts[i]) <= left:
            keep.add(i)
            left -= len(parts[i])
    last = max((i for i, (role, _) in enumerate(conversation) if role == "assistant"), default=-1)
    ids, labels = [], []
    for i in sorted(keep):
        role, words = conversation[i]
        ids += parts[i]
        trained = role == "assistant" and words is not None and (not only_last or i == last)
        labels += [-100, *parts[i][1:]] if trained else [-100] * len(parts[i])
    return ids, labels


# %% answer="tune_baseline" right="matrices: the gradients of all replies at once"
def policy_gradient(logits, rewards):
    p = logits.softmax(-1)
    return (torch.diag(p) - p[:, None] * p[None, :]) @ rewards.to(p.dtype)


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(-1)
    rows = (torch.eye(len(p)) - p) * (rewards - baseline)[:, None]
    mean = p @ rows
    return (p[:, None] * (rows - mean) ** 2).sum() / group


def best_baseline(logits, rewards):
    p = logits.softmax(-1)
    rows = torch.eye(len(p)) - p
    weights = p * (rows**2).sum(1)
    if weights.sum() == 0 or float(p.max()) == 1.0:
        return p @ rewards.to(p.dtype)
    return (weights @ rewards.to(p.dtype)) / weights.sum()


# %% answer="tune_baseline" right="the minimum of a parabola through three points"
def policy_gradient(logits, rewards):
    p = torch.softmax(logits, 0)
    return p * rewards - p * torch.dot(p, rewards.to(p.dtype))


def variance(logits, rewards, baseline, group=1):
    p = torch.softmax(logits, 0)
    total = 0.0
    mean = policy_gradient(logits, rewards)
    for i in range(len(p)):
        one = -p
        one = torch.cat([one[:i], one[i : i + 1] + 1, one[i + 1 :]])
        total = total + p[i] * (((rewards[i] - baseline) * one - mean) ** 2).sum()
    return total / group


def best_baseline(logits, rewards):
    p = torch.softmax(logits, 0)
    if p.max() == 1:
        return (p * rewards).sum()
    at = [variance(logits, rewards, each) for each in (-1.0, 0.0, 1.0)]
    return (at[0] - at[2]) / (2 * (at[0] - 2 * at[1] + at[2]))


# %% answer="tune_baseline" right="Python's numbers"
def policy_gradient(logits, rewards):
    p, r = logits.softmax(0).tolist(), rewards.tolist()
    mean = sum(a * b for a, b in zip(p, r))
    return torch.tensor([a * (b - mean) for a, b in zip(p, r)], dtype=logits.dtype)


def variance(logits, rewards, baseline, group=1):
    p, r = logits.softmax(0).tolist(), rewards.tolist()
    g = policy_gradient(logits, rewards).tolist()
    squares = sum(a * a for a in p)
    second = sum(a * (b - baseline) ** 2 * ((1 - a) ** 2 + squares - a * a) for a, b in zip(p, r))
    return torch.tensor((second - sum(x * x for x in g)) / group, dtype=logits.dtype)


def best_baseline(logits, rewards):
    p, r = logits.softmax(0).tolist(), rewards.tolist()
    squares = sum(a * a for a in p)
    w = [a * ((1 - a) ** 2 + squares - a * a) for a in p]
    if max(p) == 1:
        w = p
    return torch.tensor(sum(a * b for a, b in zip(w, r)) / sum(w), dtype=logits.dtype)


# %% answer="tune_baseline" right="expectations as a helper, exponentials by hand"
def _mean(logits, values):
    weights = (logits - logits.max()).exp()
    return (weights * values).sum() / weights.sum()


def policy_gradient(logits, rewards):
    weights = (logits - logits.max()).exp()
    return (rewards - _mean(logits, rewards)) * weights / weights.sum()


def _squares(logits):
    p = logits.softmax(0)
    return (1 - p) ** 2 + p.square().sum() - p.square()


def variance(logits, rewards, baseline, group=1):
    mean = policy_gradient(logits, rewards).square().sum()
    return (_mean(logits, (rewards - baseline).square() * _squares(logits)) - mean) / group


def best_baseline(logits, rewards):
    squares = _squares(logits) if logits.softmax(0).max() < 1 else torch.ones_like(logits)
    return _mean(logits, squares * rewards) / _mean(logits, squares)


# %% answer="tune_baseline" wrong="0/0 for a policy that is certain"
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (policy_gradient(logits, rewards) ** 2).sum()) / group


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p * (1 - 2 * p + (p**2).sum())
    return (weights * rewards).sum() / weights.sum()


# %% answer="tune_baseline" wrong="exponentials that overflow"
def policy_gradient(logits, rewards):
    p = logits.exp() / logits.exp().sum()
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.exp() / logits.exp().sum()
    squares = 1 - 2 * p + (p**2).sum()
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (policy_gradient(logits, rewards) ** 2).sum()) / group


def best_baseline(logits, rewards):
    p = logits.exp() / logits.exp().sum()
    weights = p * (1 - 2 * p + (p**2).sum())
    weights = p if (p == 1).any() else weights
    return (weights * rewards).sum() / weights.sum()


# %% answer="tune_baseline" wrong="the mean reward without probabilities"
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - rewards.mean())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (policy_gradient(logits, rewards) ** 2).sum()) / group


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - 2 * p + (p**2).sum())
    return (weights * rewards).sum() / weights.sum()


# %% answer="tune_baseline" wrong="the variance of the rewards, not of the gradients"
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    mean = (p * rewards).sum()
    return (p * (rewards - mean) ** 2).sum() / group


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - 2 * p + (p**2).sum())
    return (weights * rewards).sum() / weights.sum()


# %% answer="tune_baseline" wrong="only the chosen reply's entry of the gradient"
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = (1 - p) ** 2
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (policy_gradient(logits, rewards) ** 2).sum()) / group


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - p) ** 2
    return (weights * rewards).sum() / weights.sum()


# %% answer="tune_baseline" wrong="the standard deviation of a group"
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    one = (p * (rewards - baseline) ** 2 * squares).sum() - (policy_gradient(logits, rewards) ** 2).sum()
    return one / group**0.5


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - 2 * p + (p**2).sum())
    return (weights * rewards).sum() / weights.sum()


# %% answer="tune_baseline" wrong="the mean is divided by the group, too, before it is squared"
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    return (p * (rewards - baseline) ** 2 * squares).sum() / group - (policy_gradient(logits, rewards) ** 2).sum()


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - 2 * p + (p**2).sum())
    return (weights * rewards).sum() / weights.sum()


# %% answer="tune_baseline" wrong="the gradient descends"
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * ((p * rewards).sum() - rewards)


def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    squares = 1 - 2 * p + (p**2).sum()
    return ((p * (rewards - baseline) ** 2 * squares).sum() - (policy_gradient(logits, rewards) ** 2).sum()) / group


def best_baseline(logits, rewards):
    p = logits.softmax(0)
    weights = p if (p == 1).any() else p * (1 - 2 * p + (p**2).sum())
    return (weights * rewards).sum() / weights.sum()


# %% answer="tune_baseline" wrong="certain from 1 - 1e-6 on"
def policy_gradient(logits, rewards):
    p = logits.softmax(-1)
    return p * (rewards - (p * rewards).sum())

def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(-1)
    s = 1 - 2 * p + (p**2).sum()
    return ((p * (rewards - baseline) ** 2 * s).sum() - (policy_gradient(logits, rewards) ** 2).sum()) / group

def best_baseline(logits, rewards):
    p = logits.softmax(-1)
    if p.max() > 1 - 1e-6:
        return (p * rewards).sum()
    s = 1 - 2 * p + (p**2).sum()
    return (p * rewards * s).sum() / (p * s).sum()


# %% answer="tune_repair_loop" right="a loss to descend, and backward"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    with torch.no_grad():
        old = logits.log_softmax(1).gather(1, sampled)
        drift = old - reference.log_softmax(1).gather(1, sampled)
        advantage = scores - beta * drift
        advantage = advantage - advantage.mean(-1).unsqueeze(-1)
    leaf = logits.detach().clone().requires_grad_()
    for _ in range(steps):
        ratio = torch.exp(leaf.log_softmax(1).gather(1, sampled) - old)
        worst = torch.maximum(-advantage * ratio, -advantage * torch.clamp(ratio, 1 - clip, 1 + clip))
        loss = worst.sum() / worst.numel()
        leaf.grad = None
        loss.backward()
        with torch.no_grad():
            leaf -= rate * leaf.grad
    return leaf.detach()


# %% answer="tune_repair_loop" right="the gradient by hand"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    for _ in range(steps):
        ratio = (logits.log_softmax(-1).gather(1, sampled) - old).exp()
        stopped = ((advantage > 0) & (ratio > 1 + clip)) | ((advantage < 0) & (ratio < 1 - clip))
        weight = torch.where(stopped, torch.zeros_like(ratio), ratio * advantage) / ratio.numel()
        gradient = torch.zeros_like(logits).scatter_add(1, sampled, weight)
        logits = logits + rate * (gradient - weight.sum(1, keepdim=True) * logits.softmax(-1))
    return logits


# %% answer="tune_repair_loop" right="prompt by prompt"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    rows = []
    for row, ref, index, score in zip(logits.detach(), reference.detach(), sampled, scores):
        old = row.log_softmax(0)[index]
        kept = score - beta * (old - ref.log_softmax(0)[index])
        advantage = kept - kept.mean()
        for _ in range(steps):
            leaf = row.clone().requires_grad_()
            ratio = (leaf.log_softmax(0)[index] - old).exp()
            objective = torch.min(ratio * advantage, ratio.clip(1 - clip, 1 + clip) * advantage)
            (objective.sum() / sampled.numel()).backward()
            row = row + rate * leaf.grad
        rows.append(row)
    return torch.stack(rows)


# %% answer="tune_repair_loop" right="the minimum as a choice by the advantage's sign"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    current = logits.detach().clone()
    prior = torch.log_softmax(current, -1).gather(-1, sampled)
    penalized = scores - beta * prior + beta * torch.log_softmax(reference, -1).gather(-1, sampled)
    advantage = penalized - penalized.sum(1, keepdim=True) / penalized.shape[1]
    for _ in range(steps):
        current = current.detach().requires_grad_()
        ratio = torch.exp(torch.log_softmax(current, -1).gather(-1, sampled) - prior)
        limited = torch.where(advantage > 0, ratio.clamp(max=1 + clip), ratio.clamp(min=1 - clip))
        (slope,) = torch.autograd.grad((limited * advantage).mean(), current)
        current = current + rate * slope
    return current.detach()


# %% answer="tune_repair_loop" wrong="only the ratio is fixed, four complaints are left"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        current = leaf.log_softmax(-1).gather(1, sampled)
        penalized = scores + beta * (old - reference.log_softmax(-1).gather(1, sampled))
        advantage = penalized - penalized.mean()
        ratio = (current - old).exp()
        objective = (ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits += rate * gradient
    return logits


# %% answer="tune_repair_loop" wrong="divides by the group's standard deviation"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    advantage = advantage / (advantage.pow(2).mean(1, keepdim=True).sqrt() + 1e-6)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% answer="tune_repair_loop" wrong="the maximum for the minimum"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        objective = torch.maximum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% answer="tune_repair_loop" wrong="the penalty after the baseline"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    advantage = scores - scores.mean(1, keepdim=True)
    advantage = advantage - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% answer="tune_repair_loop" wrong="the mean over the prompts instead of the group"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(0, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% answer="tune_repair_loop" wrong="the penalty as a loss, whose gradient is that of the log-probabilities"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    ref = reference.log_softmax(-1).gather(1, sampled)
    advantage = scores - scores.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        current = leaf.log_softmax(-1).gather(1, sampled)
        ratio = (current - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective - beta * (current - ref).mean(), leaf)
        logits = logits + rate * gradient
    return logits


# %% answer="tune_repair_loop" wrong="clips the log-ratio"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        log_ratio = leaf.log_softmax(-1).gather(1, sampled) - old
        clipped = log_ratio.clamp(-clip, clip).exp()
        objective = torch.minimum(log_ratio.exp() * advantage, clipped * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% answer="tune_repair_loop" wrong="a sum over the samples of a prompt"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).sum(1).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% answer="tune_repair_loop" wrong="the reference's logits instead of its log-probabilities"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    penalized = scores - beta * (old - reference.log_softmax(0).gather(1, sampled))
    advantage = penalized - penalized.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        objective = torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
        (gradient,) = torch.autograd.grad(objective, leaf)
        logits = logits + rate * gradient
    return logits


# %% answer="tune_best_of" right="loops over the scores"
def best_of(probabilities, proxy, n):
    p, s = probabilities.tolist(), proxy.tolist()
    out = []
    for a, b in zip(p, s):
        low = sum(x for x, y in zip(p, s) if y < b)
        same = sum(x for x, y in zip(p, s) if y == b)
        out.append(((low + same) ** n - low**n) * a / same if a else 0.0)
    return torch.tensor(out, dtype=probabilities.dtype)


def best_size(probabilities, proxy, true, sizes):
    best = None
    for n in sorted(sizes):
        q = best_of(probabilities, proxy, n).tolist()
        value = sum(a * b for a, b in zip(q, true.tolist()))
        if best is None or value > best[1]:
            kl = sum(a * math.log(a / b) for a, b in zip(q, probabilities.tolist()) if a > 0)
            best = (n, value, kl)
    return best


# %% answer="tune_best_of" right="by sorted, distinct scores"
def best_of(probabilities, proxy, n):
    values, where = proxy.unique(return_inverse=True)
    mass = torch.zeros(len(values), dtype=probabilities.dtype).index_add(0, where, probabilities)
    total = mass.cumsum(0)
    chance = total**n - (total - mass) ** n
    share = torch.where(mass > 0, chance / torch.where(mass > 0, mass, 1.0), 0.0)
    return probabilities * share[where]


def best_size(probabilities, proxy, true, sizes):
    rewards = [(-(best_of(probabilities, proxy, n) * true).sum().item(), n) for n in sizes]
    reward, n = min(rewards)
    q = best_of(probabilities, proxy, n)
    safe = torch.where(q > 0, q, 1.0)
    kl = (q * (safe.log() - torch.where(q > 0, probabilities, 1.0).log())).sum()
    return n, -reward, kl.item()


# %% answer="tune_best_of" right="one more sample at a time"
def best_of(probabilities, proxy, n):
    below = (proxy[None, :] < proxy[:, None]).to(probabilities.dtype) @ probabilities
    at_most = (proxy[None, :] <= proxy[:, None]).to(probabilities.dtype) @ probabilities
    # the best of n: the k-th of n samples is the first of the best ones
    total = torch.zeros_like(probabilities)
    if n <= 50:
        for k in range(n):
            total = total + below**k * at_most ** (n - 1 - k)
    else:
        width = at_most - below
        total = torch.where(width > 0, (at_most**n - below**n) / torch.where(width > 0, width, 1.0), 0.0)
    return probabilities * total


def best_size(probabilities, proxy, true, sizes):
    table = {n: best_of(probabilities, proxy, n) for n in sorted(set(sizes))}
    n = max(table, key=lambda each: (float(table[each] @ true), -each))
    q = table[n]
    terms = [float(a) * math.log(float(a) / float(b)) for a, b in zip(q, probabilities) if float(a) > 0]
    return n, float(q @ true), sum(terms)


# %% answer="tune_best_of" right="xlogy-like sums with where, and argmax over a stack"
def best_of(probabilities, proxy, n):
    below = torch.where(proxy < proxy.unsqueeze(1), probabilities, 0.0).sum(1)
    tied = torch.where(proxy == proxy.unsqueeze(1), probabilities, 0.0).sum(1)
    chance = (below + tied).pow(n) - below.pow(n)
    return torch.where(probabilities > 0, chance * probabilities / torch.where(tied > 0, tied, 1.0), 0.0)


def best_size(probabilities, proxy, true, sizes):
    ordered = sorted(sizes)
    rewards = torch.stack([(best_of(probabilities, proxy, n) * true).sum() for n in ordered])
    n = ordered[int(rewards.argmax())]
    q = best_of(probabilities, proxy, n)
    kl = torch.where(q > 0, q * (q / torch.where(q > 0, probabilities, 1.0)).clamp(min=1e-300).log(), 0.0).sum()
    return n, float(rewards.max()), float(kl)


# %% answer="tune_best_of" wrong="0/0 for replies that are never sampled"
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((below + tied) ** n - below**n) * probabilities / tied


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).nansum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% answer="tune_best_of" wrong="scores within a millionth are a tie"
def best_of(probabilities, proxy, n):
    tied = ((proxy - proxy[:, None]).abs() < 1e-6) * probabilities
    below = (probabilities * (proxy < proxy[:, None] - 1e-6)).sum(1)
    tied = tied.sum(1)
    return ((below + tied) ** n - below**n) * probabilities / tied.clamp(min=1e-300)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% answer="tune_best_of" wrong="the worst of n"
def best_of(probabilities, proxy, n):
    above = (probabilities * (proxy > proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((above + tied) ** n - above**n) * probabilities / tied.clamp(min=1e-300)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% answer="tune_best_of" wrong="ties are shared equally, whatever the probabilities"
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    same = (proxy == proxy[:, None]) & (probabilities > 0)
    tied = (probabilities * same).sum(1)
    return ((below + tied) ** n - below**n) * (probabilities > 0) / same.sum(1).clamp(min=1)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% answer="tune_best_of" wrong="draws without replacement: a softmax that gets sharper with n"
def best_of(probabilities, proxy, n):
    q = probabilities * (proxy * (n - 1) / 4).exp()
    return q / q.sum()


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% answer="tune_best_of" wrong="the KL in the other direction"
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((below + tied) ** n - below**n) * probabilities / tied.clamp(min=1e-300)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    p = probabilities
    kept = q > 0
    return n, found[n], (p[kept] * (p[kept] / q[kept]).log()).sum().item()


# %% answer="tune_best_of" wrong="the KL in bits"
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((below + tied) ** n - below**n) * probabilities / tied.clamp(min=1e-300)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log2()).sum().item()


# %% answer="tune_best_of" wrong="chooses the size by the proxy"
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((below + tied) ** n - below**n) * probabilities / tied.clamp(min=1e-300)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * proxy).sum().item() for n in sorted(sizes)}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, (q * true).sum().item(), (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% answer="tune_best_of" wrong="sorts the caller's list"
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((below + tied) ** n - below**n) * probabilities / tied.clamp(min=1e-300)


def best_size(probabilities, proxy, true, sizes):
    sizes.sort()
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sizes}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% answer="tune_best_of" wrong="the first of equally good sizes in the list's order"
def best_of(probabilities, proxy, n):
    below = (probabilities * (proxy < proxy[:, None])).sum(1)
    tied = (probabilities * (proxy == proxy[:, None])).sum(1)
    return ((below + tied) ** n - below**n) * probabilities / tied.clamp(min=1e-300)


def best_size(probabilities, proxy, true, sizes):
    found = {n: (best_of(probabilities, proxy, n) * true).sum().item() for n in sizes}
    n = max(found, key=found.__getitem__)
    q = best_of(probabilities, proxy, n)
    kept = q > 0
    return n, found[n], (q[kept] * (q[kept] / probabilities[kept]).log()).sum().item()


# %% answer="tune_best_of" wrong="stops at the first size that is no better than the one before"
def best_of(probabilities, proxy, n):
    below = ((proxy < proxy[:, None]) * probabilities).sum(1)
    tied = ((proxy == proxy[:, None]) * probabilities).sum(1)
    share = torch.where(tied > 0, probabilities / torch.where(tied > 0, tied, torch.ones_like(tied)), torch.zeros_like(tied))
    return ((below + tied) ** n - below**n) * share

def best_size(probabilities, proxy, true, sizes):
    best = None
    for n in sorted(sizes):
        q = best_of(probabilities, proxy, n)
        reward = float(q @ true)
        m = q > 0
        if best is not None and reward <= best[1]:
            break
        best = (n, reward, float((q[m] * (q[m] / probabilities[m]).log()).sum()))
    return best


# %% answer="tune_pass" right="the product of the Codex paper"
def pass_at_k(correct, n, k):
    def one(c):
        if n - c < k:
            return 1.0
        product = 1.0
        for i in range(n - c + 1, n + 1):
            product *= 1 - k / i
        return 1 - product

    return sum(map(one, correct)) / len(correct)


def signal_rate(p, K):
    q = 1 - p
    return 1 - (p**K + q**K)


def group_size(p, share):
    if not 0 < p < 1:
        return None
    return next(K for K in range(1, 100000) if signal_rate(p, K) >= share)


# %% answer="tune_pass" right="logarithms of factorials, and a bisection"
def pass_at_k(correct, n, k):
    total = 0.0
    for c in correct:
        if n - c < k:
            total += 1
        else:
            log = math.lgamma(n - c + 1) - math.lgamma(n - c - k + 1) - math.lgamma(n + 1) + math.lgamma(n - k + 1)
            total += -math.expm1(log)
    return total / len(correct)


def signal_rate(p, K):
    return sum(math.comb(K, c) * p**c * (1 - p) ** (K - c) for c in range(1, K))


def group_size(p, share):
    if p == 0 or p == 1:
        return None

    def rate(K):
        return 1 - p**K - (1 - p) ** K

    low, high = 1, 1
    while rate(high) < share:
        high *= 2
    while low < high:
        middle = (low + high) // 2
        if rate(middle) >= share:
            high = middle
        else:
            low = middle + 1
    return high


# %% answer="tune_pass" right="sample after sample, without replacement"
def pass_at_k(correct, n, k):
    values = []
    for c in correct:
        miss = 1.0
        for drawn in range(k):
            miss *= max(n - c - drawn, 0) / (n - drawn)
        values.append(1 - miss)
    return math.fsum(values) / len(values)


def signal_rate(p, K):
    return 1 - math.pow(p, K) - math.pow(1 - p, K)


def group_size(p, share):
    if p in (0.0, 1.0):
        return None
    K, all_right, all_wrong = 1, p, 1 - p
    while 1 - all_right - all_wrong < share:
        K, all_right, all_wrong = K + 1, all_right * p, all_wrong * (1 - p)
    return K


# %% answer="tune_pass" right="exact fractions"
from fractions import Fraction


def pass_at_k(correct, n, k):
    shares = [1 - Fraction(math.comb(n - c, k), math.comb(n, k)) for c in correct]
    return float(sum(shares) / len(shares))


def signal_rate(p, K):
    return float(1 - Fraction(p) ** K - (1 - Fraction(p)) ** K)


def group_size(p, share):
    if p * (1 - p) == 0:
        return None
    K = 2
    while 1 - p**K - (1 - p) ** K < share:
        K = K + 1
    return K


# %% answer="tune_pass" wrong="a product that begins one sample too late"
def pass_at_k(correct, n, k):
    def one(c):
        if n - c < k:
            return 1.0
        product = 1.0
        for i in range(n - c + 2, n + 1):
            product *= 1 - k / i
        return 1 - product

    return sum(map(one, correct)) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K


# %% answer="tune_pass" right="the product without a guard, which has a factor of 0 where too few are wrong"
def pass_at_k(correct, n, k):
    def one(c):
        product = 1.0
        for i in range(n - c + 1, n + 1):
            product *= 1 - k / i
        return 1 - product

    return sum(map(one, correct)) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K


# %% answer="tune_pass" wrong="whether any of the n samples is correct"
def pass_at_k(correct, n, k):
    return sum(c > 0 for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K


# %% answer="tune_pass" wrong="k times the rate"
def pass_at_k(correct, n, k):
    return sum(min(1.0, k * c / n) for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K


# %% answer="tune_pass" wrong="samples are drawn with replacement in the signal as well: k + 1 of them"
def pass_at_k(correct, n, k):
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - p ** (K + 1) - (1 - p) ** (K + 1)


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while 1 - p**K - (1 - p) ** K < share:
        K += 1
    return K


# %% answer="tune_pass" wrong="a closed form that counts wrong groups alone"
def pass_at_k(correct, n, k):
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    return math.ceil(math.log(1 - share) / math.log(1 - p))


# %% answer="tune_pass" wrong="more than the share, not at least"
def pass_at_k(correct, n, k):
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return None
    K = 1
    while signal_rate(p, K) <= share:
        K += 1
    return K


# %% answer="tune_pass" wrong="gives up after a group of 512"
def pass_at_k(correct, n, k):
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    return next((K for K in range(1, 513) if signal_rate(p, K) >= share), None)


# %% answer="tune_pass" wrong="0 where there is no such group"
def pass_at_k(correct, n, k):
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)


def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K


def group_size(p, share):
    if p in (0, 1):
        return 0
    K = 1
    while signal_rate(p, K) < share:
        K += 1
    return K


# %% answer="tune_pass" wrong="gives up after a group of 5000"
def pass_at_k(correct, n, k):
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)

def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K

def group_size(p, share):
    for K in range(1, 5001):
        if signal_rate(p, K) >= share:
            return K
    return None


# %% answer="tune_pass" wrong="the closed form of the likelier uniform group alone"
def pass_at_k(correct, n, k):
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)

def signal_rate(p, K):
    return 1 - p**K - (1 - p) ** K

def group_size(p, share):
    if p in (0, 1):
        return None
    return max(2, math.ceil(math.log(1 - share) / math.log(max(p, 1 - p))))


# %% answer="tune_chat" wrong="an open turn does not count as the last"
def render(conversation, headers, end, limit, only_last=False):
    size = lambda c: sum(1 if w is None else len(w) + 2 for _, w in c)
    first = 1 if conversation and conversation[0][0] == "system" else 0
    kept = list(conversation)
    while size(kept) > limit:
        del kept[first]
    last = max((n for n, (r, w) in enumerate(kept) if r == "assistant" and w is not None), default=-1)
    ids, labels = [], []
    for n, (r, w) in enumerate(kept):
        body = [] if w is None else [*w, end]
        ids += [headers[r], *body]
        t = (n == last) if only_last else r == "assistant"
        labels += [-100, *(body if t else [-100] * len(body))]
    return ids, labels


# %% answer="tune_chat" wrong="cuts a conversation that has exactly as many tokens as the limit"
def render(conversation, headers, end, limit, only_last=False):
    size = lambda c: sum(1 if w is None else len(w) + 2 for _, w in c)
    first = 1 if conversation and conversation[0][0] == "system" else 0
    kept = list(conversation)
    while size(kept) >= limit and len(kept) > first + 1:
        del kept[first]
    last = max((n for n, (r, w) in enumerate(kept) if r == "assistant"), default=-1)
    ids, labels = [], []
    for n, (r, w) in enumerate(kept):
        body = [] if w is None else [*w, end]
        ids += [headers[r], *body]
        t = (n == last) if only_last else r == "assistant"
        labels += [-100, *(body if t else [-100] * len(body))]
    return ids, labels


# %% answer="tune_chat" right="deletes turns from a copy"
def render(conversation, headers, end, limit, only_last=False):
    size = lambda c: sum(1 if w is None else len(w) + 2 for _, w in c)
    first = 1 if conversation and conversation[0][0] == "system" else 0
    kept = list(conversation)
    while size(kept) > limit:
        del kept[first]
    last = max((n for n, (r, w) in enumerate(kept) if r == "assistant"), default=-1)
    ids, labels = [], []
    for n, (r, w) in enumerate(kept):
        body = [] if w is None else [*w, end]
        ids += [headers[r], *body]
        t = (n == last) if only_last else r == "assistant"
        labels += [-100, *(body if t else [-100] * len(body))]
    return ids, labels


# %% answer="tune_baseline" wrong="a nearly certain policy counts as certain"
def policy_gradient(logits, rewards):
    p = logits.softmax(0)
    return p * (rewards - (p * rewards).sum())
def variance(logits, rewards, baseline, group=1):
    p = logits.softmax(0)
    s = 1 - 2 * p + (p ** 2).sum()
    return ((p * (rewards - baseline) ** 2 * s).sum() - (policy_gradient(logits, rewards) ** 2).sum()) / group
def best_baseline(logits, rewards):
    p = logits.softmax(0)
    w = p * (1 - 2 * p + (p ** 2).sum())
    if w.sum() < 1e-6: w = p
    return (w * rewards).sum() / w.sum()


# %% answer="tune_repair_loop" wrong="the sum of the groups' means"
def update(logits, reference, sampled, scores, steps, rate, clip, beta):
    logits = logits.detach()
    old = logits.log_softmax(-1).gather(1, sampled)
    pen = scores - beta * (old - reference.log_softmax(-1).gather(1, sampled))
    adv = pen - pen.mean(1, keepdim=True)
    for _ in range(steps):
        leaf = logits.clone().requires_grad_()
        ratio = (leaf.log_softmax(-1).gather(1, sampled) - old).exp()
        obj = torch.minimum(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean(1).sum()
        (g,) = torch.autograd.grad(obj, leaf)
        logits = logits + rate * g
    return logits


# %% answer="tune_pass" wrong="the estimate of the mean number of correct samples"
def pass_at_k(correct, n, k):
    c = sum(correct) / len(correct)
    return 1 - math.comb(n - round(c), k) / math.comb(n, k)
def signal_rate(p, K):
    return 1 - p ** K - (1 - p) ** K
def group_size(p, share):
    if p in (0, 1): return None
    K = 1
    while signal_rate(p, K) < share: K += 1
    return K


# %% answer="tune_pass" wrong="gives up at a group of 10,000"
def pass_at_k(correct, n, k):
    return sum(1 - math.comb(n - c, k) / math.comb(n, k) for c in correct) / len(correct)
def signal_rate(p, K):
    return 1 - p ** K - (1 - p) ** K
def group_size(p, share):
    for K in range(1, 10001):
        if signal_rate(p, K) >= share: return K
    return None
