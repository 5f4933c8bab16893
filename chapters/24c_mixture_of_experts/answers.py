# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms. `course answers 24c` grades them.


# %% answer="moe_predict_gradients" right="the same integers as a tuple of NumPy's"
prediction = tuple(np.array([3, 3, 6, 0, 1]))

# %% answer="moe_predict_gradients" wrong="a capacity factor below 2 drops nothing"
prediction = [3, 3, 6, 0, 0]

# %% answer="moe_predict_gradients" wrong="only experts 0 and 3, which most tokens chose"
prediction = [2, 2, 6, 0, 1]

# %% answer="moe_predict_gradients" wrong="with k = 1 every row of the router learns"
prediction = [3, 3, 6, 6, 1]

# %% answer="moe_predict_gradients" wrong="top-k has no gradient, so the router has none"
prediction = [3, 0, 0, 0, 1]


# %% answer="moe_route" right="a softmax over the chosen logits instead of a division"
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    if bias is None:
        bias = 0
    chosen = (scores.detach() + bias).topk(k, -1).indices
    if rule == "renormalized":
        return logits.gather(-1, chosen).softmax(-1), chosen
    gates = scores.gather(-1, chosen)
    return (gates if rule == "softmax" else gates / gates.sum(-1, True)), chosen


# %% answer="moe_route" right="a full sort, and indexing with a column of rows"
def route(logits, k, rule, bias=None):
    scores = {"sigmoid": torch.sigmoid}.get(rule, lambda x: torch.softmax(x, 1))(logits)
    order = torch.argsort(scores if bias is None else bias + scores, dim=1, descending=True)[:, :k]
    picked = scores[torch.arange(len(logits)).unsqueeze(1), order]
    total = 1 if rule == "softmax" else picked.sum(1).unsqueeze(1)
    return picked / total, order


# %% answer="moe_route" right="a loop over tokens"
def route(logits, k, rule, bias=None):
    gates, chosen = [], []
    for row in logits:
        score = row.sigmoid() if rule == "sigmoid" else row.softmax(0)
        best = (score if bias is None else score + bias).topk(k)[1]
        gate = score[best]
        gates.append(gate / (1 if rule == "softmax" else gate.sum()))
        chosen.append(best)
    if not gates:
        return logits[:, :k], torch.zeros(0, k, dtype=torch.int64)
    return torch.stack(gates), torch.stack(chosen)


# %% answer="moe_route" wrong="the gates are taken in the order of the experts' numbers"
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    chosen = (scores if bias is None else scores + bias).topk(k)[1].sort(1)[0]
    gates = scores.gather(1, chosen)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)), chosen


# %% answer="moe_route" wrong="the gates have no gradient"
def route(logits, k, rule, bias=None):
    scores = (logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)).detach()
    chosen = (scores if bias is None else scores + bias).topk(k)[1]
    gates = scores.gather(1, chosen)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)) + 0 * logits[:, :1], chosen


# %% answer="moe_route" wrong="exponentials without a shift overflow"
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.exp() / logits.exp().sum(1, keepdim=True)
    chosen = (scores if bias is None else scores + bias).topk(k)[1]
    gates = scores.gather(1, chosen)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)), chosen


# %% answer="moe_route" wrong="the bias reaches the gates through their sum"
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    biased = scores if bias is None else scores + bias
    best, chosen = biased.topk(k)
    gates = scores.gather(1, chosen)
    return (gates if rule == "softmax" else gates / best.sum(1, keepdim=True)), chosen


# %% answer="moe_route" wrong="a softmax over the tokens"
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(0)
    chosen = (scores if bias is None else scores + bias).topk(k)[1]
    gates = scores.gather(1, chosen)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)), chosen


# %% answer="moe_route" wrong="the bias is subtracted"
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    chosen = (scores if bias is None else scores - bias).topk(k)[1]
    gates = scores.gather(1, chosen)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)), chosen


# %% answer="moe_route" wrong="adds the bias in place"
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    if bias is not None:
        with torch.no_grad():
            bias += scores.mean(0) * 0.1
    chosen = (scores if bias is None else scores + bias).topk(k)[1]
    gates = scores.gather(1, chosen)
    return (gates if rule == "softmax" else gates / gates.sum(1, keepdim=True)), chosen


# %% answer="moe_dispatch" right="nonzero for each expert, and scatter_add"
def dispatch(tokens, chosen, experts):
    order = torch.cat([(chosen.flatten() == each).nonzero().flatten() for each in range(experts)])
    counts = torch.tensor([int((chosen == each).sum()) for each in range(experts)])
    return tokens.repeat_interleave(chosen.shape[1], 0)[order], counts, order


def combine(rows, order, gates):
    N, k = gates.shape
    index = (order // k).unsqueeze(1).expand(rows.shape)
    return torch.zeros(N, rows.shape[1], dtype=rows.dtype).scatter_add(0, index, (rows * gates.reshape(-1, 1)[order]).to(rows.dtype))


# %% answer="moe_dispatch" right="the inverse permutation, then a sum over the choices"
def dispatch(tokens, chosen, experts):
    N, k = chosen.shape
    flat = chosen.reshape(-1)
    order = (flat * max(N * k, 1) + torch.arange(N * k)).argsort()
    return tokens.unsqueeze(1).expand(-1, k, -1).reshape(N * k, tokens.shape[1])[order], F.one_hot(flat, experts).sum(0), order


def combine(rows, order, gates):
    N, k = gates.shape
    back = order.argsort()
    return (rows[back].reshape(N, k, rows.shape[1]) * gates.unsqueeze(-1)).sum(1).to(rows.dtype)


# %% answer="moe_dispatch" right="a matrix of gates that multiplies the rows"
def dispatch(tokens, chosen, experts):
    flat = chosen.flatten()
    order = flat.sort(stable=True)[1]
    counts = (flat.unsqueeze(0) == torch.arange(experts).unsqueeze(1)).sum(1)
    return tokens.index_select(0, order.div(chosen.shape[1], rounding_mode="floor")), counts, order


def combine(rows, order, gates):
    owner = order // gates.shape[1]
    weighted = rows * gates.flatten()[order].unsqueeze(1)
    one = (torch.arange(len(gates)).unsqueeze(1) == owner).to(weighted.dtype)
    return (one @ weighted).to(rows.dtype)


# %% answer="moe_dispatch" wrong="the choices are flattened rank by rank"
def dispatch(tokens, chosen, experts):
    flat = chosen.T.flatten()
    order = flat.argsort(stable=True)
    return tokens[order % max(len(tokens), 1)], flat.bincount(minlength=experts), order


def combine(rows, order, gates):
    N = len(gates)
    weighted = (gates.T.flatten()[order].unsqueeze(-1) * rows).to(rows.dtype)
    return torch.zeros(N, rows.shape[1], dtype=rows.dtype).index_add(0, order % max(N, 1), weighted)


# %% answer="moe_dispatch" wrong="the rows of an expert are in reverse order"
def dispatch(tokens, chosen, experts):
    flat = chosen.flatten()
    order = flat.flip(0).argsort(stable=True)
    order = len(flat) - 1 - order
    return tokens[order // chosen.shape[1]], flat.bincount(minlength=experts), order


def combine(rows, order, gates):
    weighted = (gates.flatten()[order].unsqueeze(-1) * rows).to(rows.dtype)
    return torch.zeros(len(gates), rows.shape[1], dtype=rows.dtype).index_add(0, order // gates.shape[1], weighted)


# %% answer="moe_dispatch" wrong="the mean over the choices instead of their sum"
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    return tokens[order // chosen.shape[1]], chosen.flatten().bincount(minlength=experts), order


def combine(rows, order, gates):
    N, k = gates.shape
    weighted = (gates.flatten()[order].unsqueeze(-1) * rows).to(rows.dtype)
    return torch.zeros(N, rows.shape[1], dtype=rows.dtype).index_add(0, order // k, weighted) / k


# %% answer="moe_dispatch" wrong="the permutation in place of its inverse"
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    return tokens[order // chosen.shape[1]], chosen.flatten().bincount(minlength=experts), order


def combine(rows, order, gates):
    N, k = gates.shape
    return (rows[order].reshape(N, k, rows.shape[1]) * gates.unsqueeze(-1)).sum(1)


# %% answer="moe_dispatch" wrong="the gates are detached"
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    return tokens[order // chosen.shape[1]], chosen.flatten().bincount(minlength=experts), order


def combine(rows, order, gates):
    weighted = (gates.detach().flatten()[order].unsqueeze(-1) * rows).to(rows.dtype)
    out = torch.zeros(len(gates), rows.shape[1], dtype=rows.dtype).index_add(0, order // gates.shape[1], weighted)
    return out + 0 * gates.sum()


# %% answer="moe_dispatch" wrong="the result is float32 whatever the rows are"
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    return tokens[order // chosen.shape[1]], chosen.flatten().bincount(minlength=experts), order


def combine(rows, order, gates):
    weighted = (gates.flatten()[order].unsqueeze(-1) * rows).float()
    return torch.zeros(len(gates), rows.shape[1]).index_add(0, order // gates.shape[1], weighted)


# %% answer="moe_dispatch" wrong="float32 gates promote bfloat16 rows"
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    return tokens[order // chosen.shape[1]], chosen.flatten().bincount(minlength=experts), order


def combine(rows, order, gates):
    weighted = gates.flatten()[order].unsqueeze(-1) * rows
    out = torch.zeros(len(gates), rows.shape[1], dtype=weighted.dtype)
    return out.index_add(0, order // gates.shape[1], weighted)


# %% answer="moe_dispatch" wrong="counts the tokens of each expert's first choices only"
def dispatch(tokens, chosen, experts):
    order = chosen.flatten().argsort(stable=True)
    return tokens[order // chosen.shape[1]], chosen[:, 0].bincount(minlength=experts), order


def combine(rows, order, gates):
    weighted = (gates.flatten()[order].unsqueeze(-1) * rows).to(rows.dtype)
    return torch.zeros(len(gates), rows.shape[1], dtype=rows.dtype).index_add(0, order // gates.shape[1], weighted)


# %% answer="moe_repair_seats" right="a loop over ranks and tokens"
def seats(chosen, real, experts, capacity):
    N, k = chosen.shape
    taken, out = [0] * experts, torch.full((N, k), -1)
    for rank in range(k):
        for token in range(N):
            expert = int(chosen[token, rank])
            if bool(real[token]):
                if taken[expert] < capacity:
                    out[token, rank] = taken[expert]
                taken[expert] += 1
    return out


# %% answer="moe_repair_seats" right="one cumulative sum for each rank, on top of the ranks before"
def seats(chosen, real, experts, capacity):
    before, columns = torch.zeros(experts, dtype=torch.int64), []
    for rank in chosen.unbind(1):
        hot = (rank.unsqueeze(1) == torch.arange(experts)) & real.unsqueeze(1)
        place = (before + hot.cumsum(0))[torch.arange(len(rank)), rank] - 1
        columns.append(place.masked_fill((place >= capacity) | ~real, -1))
        before = before + hot.sum(0)
    return torch.stack(columns, 1)


# %% answer="moe_repair_seats" right="padding is sent to an expert of its own"
def seats(chosen, real, experts, capacity):
    N, k = chosen.shape
    flat = torch.where(real.unsqueeze(1), chosen, experts).T.reshape(-1)
    same = (flat.unsqueeze(0) == flat.unsqueeze(1)).int()
    place = same.tril().sum(1) - 1
    place[(place >= capacity) | (flat == experts)] = -1
    return place.reshape(k, N).T


# %% answer="moe_repair_seats" wrong="padding is seated last instead of not at all"
def seats(chosen, real, experts, capacity):
    N, k = chosen.shape
    flat, real = chosen.T.flatten(), real.repeat(k)
    hot = F.one_hot(flat, experts)
    first = (hot * real.unsqueeze(-1)).cumsum(0) - 1
    rest = (hot * real.unsqueeze(-1)).sum(0) + (hot * (~real).unsqueeze(-1)).cumsum(0) - 1
    seat = torch.where(real.unsqueeze(-1), first, rest).gather(1, flat.unsqueeze(-1)).squeeze(-1)
    return torch.where(seat < capacity, seat, -1).reshape(k, N).T


# %% answer="moe_repair_seats" wrong="a dropped assignment gets the capacity instead of -1"
def seats(chosen, real, experts, capacity):
    N, k = chosen.shape
    flat, real = chosen.T.flatten(), real.repeat(k)
    taken = (F.one_hot(flat, experts) * real.unsqueeze(-1)).cumsum(0) - 1
    seat = taken.gather(1, flat.unsqueeze(-1)).squeeze(-1).clamp(max=capacity)
    return torch.where(real, seat, -1).reshape(k, N).T


# %% answer="moe_repair_seats" wrong="each rank has seats of its own"
def seats(chosen, real, experts, capacity):
    columns = []
    for rank in chosen.unbind(1):
        taken = (F.one_hot(rank, experts) * real.unsqueeze(-1)).cumsum(0) - 1
        seat = taken.gather(1, rank.unsqueeze(-1)).squeeze(-1)
        columns.append(torch.where(real & (seat < capacity), seat, -1))
    return torch.stack(columns, 1)


# %% answer="moe_repair_seats" wrong="only the off-by-one is fixed"
def seats(chosen, real, experts, capacity):
    flat = chosen.flatten()
    taken = F.one_hot(flat, experts).cumsum(0) - 1
    seat = taken.gather(1, flat.unsqueeze(-1)).squeeze(-1)
    return torch.where(seat < capacity, seat, -1).reshape(chosen.shape)


# %% answer="moe_repair_seats" wrong="later tokens come first"
def seats(chosen, real, experts, capacity):
    N, k = chosen.shape
    flat, keep = chosen.flip(0).T.flatten(), real.flip(0).repeat(k)
    taken = (F.one_hot(flat, experts) * keep.unsqueeze(-1)).cumsum(0) - 1
    seat = taken.gather(1, flat.unsqueeze(-1)).squeeze(-1)
    return torch.where(keep & (seat < capacity), seat, -1).reshape(k, N).T.flip(0)


# %% answer="moe_measure_capacity" right="NumPy, and a binary search"
def smallest_factors(chosen, experts, k, sizes, factors):
    ordered, found = sorted(factors), []
    for tokens in sizes:
        loads = np.stack([np.bincount(chosen(tokens).numpy().ravel(), minlength=experts) for _ in range(40)])
        low, high = 0, len(ordered) - 1
        while low < high:
            middle = (low + high) // 2
            seats = int(np.ceil(k * tokens * ordered[middle] / 100 / experts - 1e-9))
            if np.maximum(loads - seats, 0).sum() * 100 <= loads.sum():
                high = middle
            else:
                low = middle + 1
        found.append(ordered[low])
    return found


# %% answer="moe_measure_capacity" right="all factors, then the least that fits"
def smallest_factors(chosen, experts, k, sizes, factors):
    def fits(loads, tokens, factor):
        seats = (k * tokens * factor + 100 * experts - 1) // (100 * experts)
        return sum(max(load - seats, 0) for load in loads) <= 40 * tokens * k // 100

    found = []
    for tokens in sizes:
        loads = [load for _ in range(40) for load in F.one_hot(chosen(tokens), experts).sum((0, 1)).tolist()]
        found.append(min(each for each in factors if fits(loads, tokens, each)))
    return found


# %% answer="moe_measure_capacity" right="a dictionary of drops, from large factors to small"
def smallest_factors(chosen, experts, k, sizes, factors):
    found = []
    for tokens in sizes:
        batches = [chosen(tokens).flatten().bincount(minlength=experts) for _ in range(40)]
        best = max(factors)
        for factor in sorted(factors, reverse=True):
            seats = -(-k * tokens * factor // (100 * experts))
            dropped = sum((load - seats).clamp(min=0).sum().item() for load in batches)
            if dropped > 0.01 * 40 * tokens * k:
                break
            best = factor
        found.append(best)
    return found


# %% answer="moe_measure_capacity" wrong="rounds the seats to the nearest whole number"
def smallest_factors(chosen, experts, k, sizes, factors):
    found = []
    for tokens in sizes:
        loads = torch.stack([chosen(tokens).flatten().bincount(minlength=experts) for _ in range(40)])
        seats = {each: round(k * tokens * each / (100 * experts)) for each in factors}
        found.append(min(each for each in factors if (loads - seats[each]).clamp(min=0).sum() <= 0.01 * loads.sum()))
    return found


# %% answer="moe_measure_capacity" wrong="a floating-point product just above a whole number gets one more seat"
def smallest_factors(chosen, experts, k, sizes, factors):
    found = []
    for tokens in sizes:
        loads = torch.stack([chosen(tokens).flatten().bincount(minlength=experts) for _ in range(40)])
        seats = {each: int(np.ceil(k * tokens / experts * (each / 100))) for each in factors}
        found.append(min(each for each in factors if (loads - seats[each]).clamp(min=0).sum() <= 0.01 * loads.sum()))
    return found


# %% answer="moe_measure_capacity" wrong="the share of dropped assignments of a single batch"
def smallest_factors(chosen, experts, k, sizes, factors):
    found = []
    for tokens in sizes:
        load = [chosen(tokens).flatten().bincount(minlength=experts) for _ in range(40)][0]
        seats = {each: -(-k * tokens * each // (100 * experts)) for each in factors}
        found.append(min(each for each in factors if (load - seats[each]).clamp(min=0).sum() <= 0.01 * load.sum()))
    return found


# %% answer="moe_measure_capacity" wrong="takes the first factor that fits, in the order of the list"
def smallest_factors(chosen, experts, k, sizes, factors):
    found = []
    for tokens in sizes:
        loads = torch.stack([chosen(tokens).flatten().bincount(minlength=experts) for _ in range(40)])
        for factor in factors:
            seats = -(-k * tokens * factor // (100 * experts))
            if (loads - seats).clamp(min=0).sum() <= 0.01 * loads.sum():
                found.append(factor)
                break
    return found


# %% answer="moe_measure_capacity" wrong="counts tokens with a dropped choice as seats of the whole batch: 10 % may be dropped"
def smallest_factors(chosen, experts, k, sizes, factors):
    found = []
    for tokens in sizes:
        loads = torch.stack([chosen(tokens).flatten().bincount(minlength=experts) for _ in range(40)])
        seats = {each: -(-k * tokens * each // (100 * experts)) for each in factors}
        found.append(min(each for each in factors if (loads - seats[each]).clamp(min=0).sum() <= 0.1 * loads.sum()))
    return found


# %% answer="moe_measure_capacity" wrong="the mean load of the 40 batches, which hides their spread"
def smallest_factors(chosen, experts, k, sizes, factors):
    found = []
    for tokens in sizes:
        load = torch.stack([chosen(tokens).flatten().bincount(minlength=experts) for _ in range(40)]).float().mean(0)
        seats = {each: -(-k * tokens * each // (100 * experts)) for each in factors}
        found.append(min(each for each in factors if (load - seats[each]).clamp(min=0).sum() <= 0.01 * load.sum()))
    return found


# %% answer="moe_traffic" right="loops over tokens and ranks"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    matrix = [[0] * ranks for _ in range(ranks)]
    for row, here in zip(chosen.tolist(), home.tolist()):
        goals = [int(owner[expert]) for expert in row]
        for there in set(goals) if once else goals:
            if there != here:
                matrix[here][there] += token_bytes
    return torch.tensor(matrix)


def slowest(matrix, bandwidth):
    return max(max(sum(row), sum(column)) for row, column in zip(matrix.tolist(), zip(*matrix.tolist()))) / bandwidth


# %% answer="moe_traffic" right="a count of pairs, as one number each"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    there = owner[chosen]
    reaches = torch.zeros(len(chosen), ranks, dtype=torch.int64).scatter_add(1, there, torch.ones_like(there))
    if once:
        reaches = (reaches > 0).long()
    own = torch.arange(ranks)
    masks = (home.unsqueeze(0) == own.unsqueeze(1)).long()
    return (masks @ reaches) * (own.unsqueeze(0) != own.unsqueeze(1)) * token_bytes


def slowest(matrix, bandwidth):
    sums = torch.cat([matrix.sum(0), matrix.sum(1)])
    return float(sums.max()) / bandwidth


# %% answer="moe_traffic" right="NumPy's add.at"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    matrix = np.zeros((ranks, ranks), dtype=np.int64)
    for here, goals in zip(home.numpy(), owner[chosen].numpy()):
        np.add.at(matrix, (here, np.unique(goals) if once else goals), 1)
    np.fill_diagonal(matrix, 0)
    return torch.tensor(matrix * token_bytes)


def slowest(matrix, bandwidth):
    return torch.maximum(matrix.sum(0), matrix.sum(1)).max() / bandwidth


# %% answer="moe_traffic" wrong="the expert's number is taken for its rank"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(chosen % ranks, ranks).sum(1)
    vectors = vectors.clamp(max=1) if once else vectors
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors)
    return matrix.fill_diagonal_(0) * token_bytes


def slowest(matrix, bandwidth):
    return max(matrix.sum(0).max().item(), matrix.sum(1).max().item()) / bandwidth


# %% answer="moe_traffic" wrong="once sends one vector in all, to the best expert's rank"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen[:, :1] if once else chosen], ranks).sum(1)
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors)
    return matrix.fill_diagonal_(0) * token_bytes


def slowest(matrix, bandwidth):
    return max(matrix.sum(0).max().item(), matrix.sum(1).max().item()) / bandwidth


# %% answer="moe_traffic" wrong="vectors instead of bytes"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    vectors = vectors.clamp(max=1) if once else vectors
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors)
    return matrix.fill_diagonal_(0)


def slowest(matrix, bandwidth):
    return max(matrix.sum(0).max().item(), matrix.sum(1).max().item()) / bandwidth


# %% answer="moe_traffic" wrong="there and back"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    vectors = vectors.clamp(max=1) if once else vectors
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors).fill_diagonal_(0)
    return (matrix + matrix.T) * token_bytes


def slowest(matrix, bandwidth):
    return max(matrix.sum(0).max().item(), matrix.sum(1).max().item()) / bandwidth


# %% answer="moe_traffic" wrong="sending and receiving take turns"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    vectors = vectors.clamp(max=1) if once else vectors
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors)
    return matrix.fill_diagonal_(0) * token_bytes


def slowest(matrix, bandwidth):
    return (matrix.sum(0) + matrix.sum(1)).max().item() / bandwidth


# %% answer="moe_traffic" wrong="the largest piece instead of the largest sum"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    vectors = vectors.clamp(max=1) if once else vectors
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors)
    return matrix.fill_diagonal_(0) * token_bytes


def slowest(matrix, bandwidth):
    return matrix.max().item() / bandwidth


# %% answer="moe_traffic" wrong="counts bytes in float32"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    vectors = F.one_hot(owner[chosen], ranks).sum(1)
    if once:
        vectors = vectors.clamp(max=1)
    matrix = torch.zeros(ranks, ranks, dtype=torch.int64).index_add(0, home, vectors).fill_diagonal_(0)
    return (matrix.float() * token_bytes).long()


def slowest(matrix, bandwidth):
    return max(matrix.sum(0).max().item(), matrix.sum(1).max().item()) / bandwidth


# %% answer="moe_route" right="the renormalized gates are the softmax of the chosen logits"
def route(
    logits: torch.Tensor, k: int, rule: str, bias: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        deciding = 1 / (1 + (-logits).exp()) if rule == "sigmoid" else F.softmax(logits, 1)
        if bias is not None:
            deciding = deciding + bias
        chosen = deciding.topk(k, 1)[1]
    if rule == "renormalized":
        return F.softmax(logits.gather(1, chosen), 1), chosen
    if rule == "softmax":
        return F.softmax(logits, 1).gather(1, chosen), chosen
    gates = F.sigmoid(logits).gather(1, chosen) if hasattr(F, "sigmoid") else logits.sigmoid().gather(1, chosen)
    return gates / gates.sum(1, keepdim=True), chosen


# %% answer="moe_route" wrong="adds 1e-6 to the sum, so small sigmoids don't sum to 1 ('make the gates of a token sum to 1')"
def route(logits, k, rule, bias=None):
    scores = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    choice = scores if bias is None else scores + bias.detach()
    chosen = choice.topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    if rule != "softmax":
        gates = gates / (gates.sum(-1, keepdim=True) + 1e-6)
    return gates, chosen


# %% answer="moe_route" right="a softmax of the chosen log scores"
def route(logits, k, rule, bias=None):
    log_scores = torch.nn.functional.logsigmoid(logits) if rule == "sigmoid" else logits.log_softmax(-1)
    with torch.no_grad():
        choice = log_scores.exp() + (0 if bias is None else bias)
        chosen = choice.argsort(dim=-1, descending=True)[:, :k]
    own = log_scores.gather(1, chosen)
    return (own.exp() if rule == "softmax" else own.softmax(1)), chosen


# %% answer="moe_route" right="a one-hot product instead of gather"
def route(logits, k, rule, bias=None):
    scores = torch.sigmoid(logits) if rule == "sigmoid" else torch.softmax(logits, 1)
    decide = scores.detach() if bias is None else (scores + bias).detach()
    _, chosen = decide.topk(k, 1)
    onehot = (chosen[:, :, None] == torch.arange(logits.shape[1])).to(scores.dtype)
    gates = (onehot * scores[:, None, :]).sum(2)
    return (gates if rule == "softmax" else gates / gates.sum(1)[:, None]), chosen


# %% answer="moe_route" wrong="the bias counts with sigmoids alone"
def route(logits, k, rule, bias=None):
    s = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    c = (s + bias if bias is not None and rule == "sigmoid" else s).topk(k)[1]
    g = s.gather(1, c)
    if rule != "softmax":
        g = g / g.sum(1, keepdim=True)
    return g, c


# %% answer="moe_route" wrong="no gradient through the sum"
def route(logits, k, rule, bias=None):
    s = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    c = (s if bias is None else s + bias).topk(k)[1]
    g = s.gather(1, c)
    if rule != "softmax":
        g = g / g.sum(1, keepdim=True).detach()
    return g, c


# %% answer="moe_route" right="a softmax of the chosen logits, whose renormalized gates are the same"
def route(logits, k, rule, bias=None):
    s = logits.sigmoid() if rule == "sigmoid" else logits.softmax(-1)
    c = (s if bias is None else s + bias.detach()).argsort(-1, True)[:, :k]
    if rule == "renormalized":
        return logits.gather(1, c).softmax(-1), c
    g = s.gather(1, c)
    return (g if rule == "softmax" else g / g.sum(1, keepdim=True)), c


# %% answer="moe_dispatch" right="gates in the dtype of the rows"
def dispatch(tokens, chosen, experts):
    flat = chosen.flatten()
    order = flat.argsort(stable=True)
    return tokens[order // chosen.shape[1]], flat.bincount(minlength=experts), order

def combine(rows, order, gates):
    n, k = gates.shape
    w = gates.to(rows.dtype).flatten()[order].unsqueeze(-1) * rows
    return torch.zeros(n, rows.shape[1], dtype=rows.dtype).index_add(0, order // k, w)


# %% answer="moe_dispatch" right="the inverse permutation, and a sum over k"
def dispatch(tokens, chosen, experts):
    n, k = chosen.shape
    _, order = torch.sort(chosen.reshape(-1), stable=True)
    counts = F.one_hot(chosen.reshape(-1), experts).sum(0)
    return tokens.repeat_interleave(k, 0)[order], counts, order

def combine(rows, order, gates):
    n, k = gates.shape
    back = rows[order.argsort()].reshape(n, k, rows.shape[1])
    return (back * gates.unsqueeze(-1)).sum(1).to(rows.dtype)


# %% answer="moe_repair_seats" wrong="seats of int32"
def seats(chosen, real, experts, capacity):
    n, k = chosen.shape
    out = torch.full((n, k), -1, dtype=torch.int32)
    taken = [0] * experts
    for j in range(k):
        for i in range(n):
            e = int(chosen[i, j])
            if real[i] and taken[e] < capacity:
                out[i, j] = taken[e]
                taken[e] += 1
    return out


# %% answer="moe_repair_seats" wrong="without a first choice there is no second"
def seats(chosen, real, experts, capacity):
    n, k = chosen.shape
    out = torch.full((n, k), -1)
    taken = [0] * experts
    for j in range(k):
        for i in range(n):
            e = int(chosen[i, j])
            if real[i] and taken[e] < capacity and (j == 0 or int(out[i, j - 1]) >= 0):
                out[i, j] = taken[e]
                taken[e] += 1
    return out


# %% answer="moe_repair_seats" right="loops over ranks and tokens"
def seats(chosen, real, experts, capacity):
    n, k = chosen.shape
    out = torch.full((n, k), -1)
    taken = [0] * experts
    for j in range(k):
        for i in range(n):
            e = int(chosen[i, j])
            if real[i] and taken[e] < capacity:
                out[i, j] = taken[e]
                taken[e] += 1
    return out


# %% answer="moe_traffic" wrong="once joins only neighbouring choices of a rank"
def traffic(chosen, home, owner, ranks, token_bytes, once=False):
    m = torch.zeros(ranks, ranks, dtype=torch.int64)
    for t in range(len(home)):
        to = owner[chosen[t]].tolist()
        if once:
            to = [r for i, r in enumerate(to) if i == 0 or r != to[i - 1]]
        for r in to:
            if r != int(home[t]):
                m[int(home[t]), r] += token_bytes
    return m

def slowest(matrix, bandwidth):
    return max(matrix.sum(0).max().item(), matrix.sum(1).max().item()) / bandwidth


# %% answer="moe_dispatch" wrong="a loop over the tokens and their choices"
def dispatch(tokens, chosen, experts):
    flat = chosen.flatten()
    order = flat.argsort(stable=True)
    return tokens[order // chosen.shape[1]], flat.bincount(minlength=experts), order

def combine(rows, order, gates):
    n, k = gates.shape
    out = [torch.zeros(rows.shape[1], dtype=rows.dtype) for _ in range(n)]
    flat = gates.flatten()
    for r in range(n * k):
        i = int(order[r])
        out[i // k] = out[i // k] + (flat[i] * rows[r]).to(rows.dtype)
    return torch.stack(out) if n else rows[:0]
