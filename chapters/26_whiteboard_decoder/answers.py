# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 26` grades them.


# %% answer="decoder_moe" right="dispatch by a sort"
def moe(x, router, experts, k, capacity=None):
    N, E = x.shape[0], router.shape[0]
    scores = x @ router.T
    chosen = scores.argsort(dim=-1, descending=True)[:, :k]
    gates = torch.softmax(torch.gather(scores, 1, chosen), dim=1)
    flat = chosen.reshape(-1)
    order = torch.argsort(flat, stable=True)
    counts = torch.bincount(flat, minlength=E).tolist()
    y, load, start = x.clone(), [], 0
    for expert, count in zip(experts, counts):
        kept = count if capacity is None else min(count, capacity)
        rows = order[start : start + kept]
        start += count
        load.append(kept)
        if kept:
            y = torch.index_add(y, 0, rows // k, gates.reshape(-1)[rows].unsqueeze(1) * expert(x[rows // k]))
    return y, torch.tensor(load)


# %% answer="decoder_moe" right="a dense matrix of gates, and a running count for the capacity"
def moe(x, router, experts, k, capacity=None):
    scores = x @ router.T
    values, chosen = torch.topk(scores, k, dim=1)
    weights = torch.zeros_like(scores).scatter(1, chosen, values.softmax(1))
    member = torch.zeros_like(scores).scatter(1, chosen, torch.ones_like(values)) > 0
    if capacity is not None:
        member = member & (member.long().cumsum(0) <= capacity)
    y = x
    for e in range(len(experts)):
        mine = member[:, e]
        if mine.any():
            out = torch.zeros_like(x)
            out[mine] = experts[e](x[mine])
            y = y + weights[:, e : e + 1] * out
    return y, member.sum(0)


# %% answer="decoder_moe" right="lists of tokens, made in Python"
def moe(x, router, experts, k, capacity=None):
    top = (x @ router.T).topk(k)
    gates = top.values.softmax(-1)
    queues = [[] for _ in experts]
    for n, row in enumerate(top.indices.tolist()):
        for c, e in enumerate(row):
            if capacity is None or len(queues[e]) < capacity:
                queues[e].append((n, c))
    parts = [[] for _ in range(x.shape[0])]
    for e, queue in enumerate(queues):
        if queue:
            out = experts[e](x[[n for n, _ in queue]])
            for i, (n, c) in enumerate(queue):
                parts[n].append(gates[n, c] * out[i])
    rows = [sum(each, x[n]) for n, each in enumerate(parts)]
    return torch.stack(rows) if rows else x.clone(), torch.tensor([len(queue) for queue in queues])


# %% answer="decoder_moe" wrong="sigmoid gates"
def moe(x, router, experts, k, capacity = None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.sigmoid()
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor(load)


# %% answer="decoder_moe" wrong="the experts run under no_grad"
def moe(x, router, experts, k, capacity = None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            with torch.no_grad():
                out = expert(x[token])
            y = y.index_add(0, token, gates[token, choice, None] * out)
    return y, torch.tensor(load)


# %% answer="decoder_moe" wrong="the experts run on detached tokens"
def moe(x, router, experts, k, capacity = None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token].detach()))
    return y, torch.tensor(load)


# %% answer="decoder_moe" wrong="all tokens through each expert, masked afterwards"
def moe(x, router, experts, k, capacity = None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x)[token])
    return y, torch.tensor(load)


# %% answer="decoder_moe" wrong="the experts with the smallest logits"
def moe(x, router, experts, k, capacity = None):
    logits, chosen = (x @ router.T).topk(k, dim=-1, largest=False)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor(load)


# %% answer="decoder_moe" wrong="the gate of the first choice for all"
def moe(x, router, experts, k, capacity = None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, 0 * choice, None] * expert(x[token]))
    return y, torch.tensor(load)


# %% answer="decoder_moe" wrong="gates multiply the inputs of the experts"
def moe(x, router, experts, k, capacity = None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, expert(gates[token, choice, None] * x[token]))
    return y, torch.tensor(load)


# %% answer="decoder_moe" wrong="a capacity of one more"
def moe(x, router, experts, k, capacity = None):
    logits, chosen = (x @ router.T).topk(k)
    gates = logits.softmax(-1)
    capacity = None if capacity is None else capacity + 1
    y, load = x, []
    for number, expert in enumerate(experts):
        token, choice = (chosen == number).nonzero(as_tuple=True)
        token, choice = token[:capacity], choice[:capacity]
        load.append(len(token))
        if len(token):
            y = y.index_add(0, token, gates[token, choice, None] * expert(x[token]))
    return y, torch.tensor(load)


# %% [markdown]
# A router that has no gradient because its gate is 1 for k = 1 follows from the definition of the gates; it is no
# mistake that a value could show.


# %% answer="decoder_cross" right="loops over rows and heads, real tokens alone"
def cross(x, memory, x_real, memory_real, weights, heads):
    B, T, C = x.shape
    W = weights["q"].shape[1]
    D = W // heads
    out = np.zeros((B, T, C))
    for b in range(B):
        kept = memory[b][memory_real[b]]
        for t in range(T):
            if not x_real[b, t]:
                continue
            mixed = np.zeros(W)
            for h in range(heads):
                columns = slice(h * D, (h + 1) * D)
                if len(kept):
                    scores = kept @ weights["k"][:, columns] @ (x[b, t] @ weights["q"][:, columns]) / D**0.5
                    share = np.exp(scores - scores.max())
                    mixed[columns] = share / share.sum() @ (kept @ weights["v"][:, columns])
            out[b, t] = mixed @ weights["out"] + weights["bias"]
    return out


# %% answer="decoder_cross" right="einsum, and nan replaced"
def cross(x, memory, x_real, memory_real, weights, heads):
    q, k, v = (np.stack(np.split(a @ weights[n], heads, -1)) for a, n in ((x, "q"), (memory, "k"), (memory, "v")))
    scores = np.einsum("hbtd,hbsd->hbts", q, k) / q.shape[-1] ** 0.5
    scores[:, np.broadcast_to(~memory_real[:, None], scores.shape[1:])] = -np.inf
    mixed = np.einsum("hbts,hbsd->bthd", np.nan_to_num(softmax(scores)), v)
    out = mixed.reshape(*x.shape[:2], -1) @ weights["out"] + weights["bias"]
    out[~x_real] = 0
    return out


# %% answer="decoder_cross" right="torch's tensors and its fused attention"
def cross(x, memory, x_real, memory_real, weights, heads):
    x, memory = torch.tensor(x), torch.tensor(memory)
    w = {name: torch.tensor(each) for name, each in weights.items()}
    split = lambda y: y.unflatten(-1, (heads, -1)).transpose(1, 2)
    mask = torch.tensor(memory_real)[:, None, None, :]
    some = mask.any(-1, keepdim=True)
    out = torch.nn.functional.scaled_dot_product_attention(split(x @ w["q"]), split(memory @ w["k"]), split(memory @ w["v"]), mask | ~some) * some
    out = out.transpose(1, 2).flatten(2) @ w["out"] + w["bias"]
    return (out * torch.tensor(x_real)[..., None]).numpy()


# %% answer="decoder_cross" wrong="a softmax over the queries"
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30).mT).mT * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% answer="decoder_cross" wrong="a causal mask on the memory"
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    scores = causal(scores)
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30)) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% answer="decoder_cross" wrong="the residual is added"
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30)) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (x + mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% answer="decoder_cross" wrong="padding masked with 0 instead of minus infinity"
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, 0.0)) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% answer="decoder_cross" wrong="no scale"
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30)) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * x_real[..., None]


# %% answer="decoder_cross" wrong="no bias in rows whose memory is all padding"
def cross(x, memory, x_real, memory_real, weights, heads):
    def split(y):
        return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    real = memory_real[:, None, None, :]
    shares = softmax(np.where(real, scores, -1e30)) * real
    mixed = (shares @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return (mixed @ weights["out"] + weights["bias"]) * (x_real & memory_real.any(-1, keepdims=True))[..., None]


# %% [markdown]
# Keys made from x instead of the memory, and weights of the wrong width, can't run on these shapes: the widths C and
# M differ, as do T and S.


# %% answer="decoder_attention_backward" right="the full Jacobian of each row"
def stored(g, q, k, v, p):
    scale = q.shape[-1] ** -0.5
    gp = np.einsum("...te,...se->...ts", g, v)
    jacobian = p[..., None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]
    gs = np.einsum("...ts,...tsr->...tr", gp, jacobian) * scale
    return gs @ k, np.einsum("...ts,...td->...sd", gs, q), np.einsum("...ts,...te->...se", p, g)


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = np.einsum("...td,...sd->...ts", q, k) * q.shape[-1] ** -0.5
    if is_causal:
        scores = causal(scores)
    return stored(g, q, k, v, np.exp(scores - np.expand_dims(log_sums, -1)))


# %% answer="decoder_attention_backward" right="key by key, as in tiles"
def stored(g, q, k, v, p):
    total = (p * (g @ v.mT)).sum(-1)
    gq, gk, gv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for j in range(k.shape[-2]):
        gs = p[..., j] * ((g * v[..., None, j, :]).sum(-1) - total) / q.shape[-1] ** 0.5
        gq += gs[..., None] * k[..., None, j, :]
        gk[..., j, :] = (gs[..., None] * q).sum(-2)
        gv[..., j, :] = (p[..., j, None] * g).sum(-2)
    return gq, gk, gv


def recomputed(g, q, k, v, o, log_sums, is_causal):
    T, S = q.shape[-2], k.shape[-2]
    delta = (g * o).sum(-1)
    gq, gk, gv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for j in range(S):
        p = np.exp((q * k[..., None, j, :]).sum(-1) / q.shape[-1] ** 0.5 - log_sums)
        if is_causal:
            p = p * (np.arange(T) + S - T >= j)
        gs = p * ((g * v[..., None, j, :]).sum(-1) - delta) / q.shape[-1] ** 0.5
        gq += gs[..., None] * k[..., None, j, :]
        gk[..., j, :] = (gs[..., None] * q).sum(-2)
        gv[..., j, :] = (p[..., None] * g).sum(-2)
    return gq, gk, gv


# %% answer="decoder_attention_backward" right="scaled queries, tensors instead of arrays"
def stored(g, q, k, v, p):
    g, q, k, v, p = (torch.tensor(each) for each in (g, q, k, v, p))
    scale = q.shape[-1] ** -0.5
    gp = g @ v.transpose(-1, -2)
    gs = p * gp - p * (p * gp).sum(-1, keepdim=True)
    return tuple(each.numpy() for each in (gs @ (scale * k), gs.transpose(-1, -2) @ (scale * q), p.transpose(-1, -2) @ g))


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = (q / np.sqrt(q.shape[-1])) @ np.moveaxis(k, -1, -2)
    scores = causal(scores) if is_causal else scores
    return stored(g, q, k, v, np.exp(scores - log_sums.reshape(*log_sums.shape, 1)))


# %% answer="decoder_attention_backward" wrong="autograd, which is out of reach"
def stored(g, q, k, v, p):
    q, k, v = (torch.tensor(each, requires_grad=True) for each in (q, k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(torch.tensor(p) == 0, -float("inf"))
    (scores.softmax(-1) @ v).backward(torch.tensor(g))
    return q.grad.numpy(), k.grad.numpy(), v.grad.numpy()


def recomputed(g, q, k, v, o, log_sums, is_causal):
    p = q @ k.mT / np.sqrt(q.shape[-1])
    return stored(g, q, k, v, np.exp((causal(p) if is_causal else p) - log_sums[..., None]))


# %% answer="decoder_attention_backward" wrong="the gradient of v without the weights"
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, (p > 0).mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, (p > 0).mT @ g


# %% answer="decoder_attention_backward" wrong="a sigmoid's derivative"
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (1 - p) * gp / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


# %% answer="decoder_attention_backward" wrong="the row sum added"
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT + (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


# %% answer="decoder_attention_backward" wrong="the mean of the row for its sum"
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).mean(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.mT @ q, p.mT @ g


# %% answer="decoder_attention_backward" wrong="q and k exchanged"
def stored(g, q, k, v, p):
    gp = g @ v.mT
    gs = p * (gp - (p * gp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs.mT @ q, gs @ k, p.mT @ g


def recomputed(g, q, k, v, o, log_sums, is_causal):
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    p = np.exp((causal(scores) if is_causal else scores) - log_sums[..., None])
    gs = p * (g @ v.mT - (g * o).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs.mT @ q, gs @ k, p.mT @ g


# %% answer="decoder_mla" right="einsum everywhere"
def compress(x, start, w):
    c = np.einsum("btc,cr->btr", x, w.down)
    c = w.norm * c * (np.square(c).sum(-1, keepdims=True) / c.shape[-1] + 1e-6) ** -0.5
    return c, rotate(np.einsum("btc,cp->btp", x, w.rotary_k), start)


def naive(x, c, rotary, w):
    q, k, v = np.einsum("btc,hcd->bhtd", x, w.q), np.einsum("bsr,hrd->bhsd", c, w.up_k), np.einsum("bsr,hrv->bhsv", c, w.up_v)
    q2 = rotate(np.einsum("btc,hcp->bhtp", x, w.rotary_q), c.shape[1] - x.shape[1])
    q = np.concatenate([q, q2], -1)
    k = np.concatenate([k, np.repeat(rotary[:, None], k.shape[1], 1)], -1)
    p = softmax(causal(q @ k.mT * q.shape[-1] ** -0.5))
    return np.einsum("bhts,bhsv,hvc->btc", p, v, w.out)


def absorb(x, start, w):
    scale = (w.up_k.shape[2] + w.rotary_k.shape[1]) ** 0.5
    q = np.einsum("btc,hcd,hrd->bhtr", x, w.q, w.up_k)
    return q / scale, rotate(np.einsum("btc,hcp->bhtp", x / scale, w.rotary_q), start)


def attend(q, q_rotary, c, rotary, w):
    scores = np.einsum("bhtr,bsr->bhts", q, c) + np.einsum("bhtp,bsp->bhts", q_rotary, rotary)
    return np.einsum("bhts,bsr,hrv,hvc->btc", softmax(causal(scores)), c, w.up_v, w.out)


# %% answer="decoder_mla" right="a loop over the heads"
def compress(x, start, w):
    c = x @ w.down
    rms = np.sqrt(np.mean(c * c, axis=-1) + 1e-6)
    return c / rms[..., None] * w.norm, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    out, start = 0, c.shape[1] - x.shape[1]
    for h in range(len(w.q)):
        content = (x @ w.q[h]) @ (c @ w.up_k[h]).transpose(0, 2, 1)
        position = rotate(x @ w.rotary_q[h], start) @ rotary.transpose(0, 2, 1)
        scores = (content + position) / (w.q.shape[2] + rotary.shape[2]) ** 0.5
        out = out + softmax(causal(scores)) @ (c @ w.up_v[h]) @ w.out[h]
    return out


def absorb(x, start, w):
    scale = (w.q.shape[2] + w.rotary_q.shape[2]) ** -0.5
    q = [x @ (scale * w.q[h] @ w.up_k[h].T) for h in range(len(w.q))]
    return np.stack(q, 1), np.stack([scale * rotate(x @ each, start) for each in w.rotary_q], 1)


def attend(q, q_rotary, c, rotary, w):
    joined = np.concatenate([c, rotary], -1)
    out = 0
    for h in range(q.shape[1]):
        scores = np.concatenate([q[:, h], q_rotary[:, h]], -1) @ joined.transpose(0, 2, 1)
        out = out + (softmax(causal(scores)) @ c) @ (w.up_v[h] @ w.out[h])
    return out


# %% answer="decoder_mla" right="the naive form by the absorbed one"
def compress(x, start, w):
    c = x @ w.down
    c /= np.sqrt((c**2).mean(-1) + 1e-6)[..., None]
    return c * w.norm, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    return attend(*absorb(x, c.shape[1] - x.shape[1], w), c, rotary, w)


def absorb(x, start, w):
    scale = np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    return x[:, None] @ (w.q @ np.moveaxis(w.up_k, 1, 2)) / scale, rotate(x[:, None] @ w.rotary_q, start) / scale


def attend(q, q_rotary, c, rotary, w):
    scores = np.concatenate([q, q_rotary], -1) @ np.concatenate([c, rotary], -1)[:, None].mT
    return (softmax(causal(scores)) @ c[:, None] @ w.up_v @ w.out).sum(1)


# %% answer="decoder_mla" wrong="a layer norm on the latents"
def compress(x, start, w):
    c = x @ w.down
    c = c - c.mean(-1, keepdims=True)
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% answer="decoder_mla" wrong="values from the up-projection of the keys"
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (np.pad(mixed @ w.up_k, ((0, 0),) * 3 + ((0, 1),)) @ w.out).sum(1)


# %% answer="decoder_mla" wrong="the rotary part left out of the absorbed scores"
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% answer="decoder_mla" wrong="the mean over the heads"
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).mean(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).mean(1)


# %% answer="decoder_mla" wrong="absorbs the values' up-projection"
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_v.mT[:, : w.q.shape[-1]]
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores)) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% answer="decoder_mla" wrong="scales in attend as well"
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    q, key, value = x[:, None] @ w.q, c[:, None] @ w.up_k, c[:, None] @ w.up_v
    q_rotary = rotate(x[:, None] @ w.rotary_q, c.shape[1] - x.shape[1])
    scores = q @ key.mT + q_rotary @ rotary[:, None].mT
    shares = softmax(causal(scores / np.sqrt(q.shape[-1] + q_rotary.shape[-1])))
    return (shares @ value @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    q = x[:, None] @ w.q @ w.up_k.mT
    return scale * q, scale * rotate(x[:, None] @ w.rotary_q, start)


def attend(q, q_rotary, c, rotary, w):
    scores = q @ c[:, None].mT + q_rotary @ rotary[:, None].mT
    mixed = softmax(causal(scores / np.sqrt(w.q.shape[-1]))) @ c[:, None]
    return (mixed @ w.up_v @ w.out).sum(1)


# %% [markdown]
# A rotary key for each head can't be written: w.rotary_k is one matrix. A cache of expanded keys has other shapes
# than `attend` takes.


# %% answer="decoder_window" right="token by token"
def window_attention(q, k, v, window):
    T, S = q.shape[-2], k.shape[-2]
    rows = []
    for t in range(T):
        end = S - T + t + 1
        begin = max(0, end - window)
        scores = (q[..., t : t + 1, :] * k[..., begin:end, :]).sum(-1) / q.shape[-1] ** 0.5
        rows.append((softmax(scores)[..., None] * v[..., begin:end, :]).sum(-2))
    return np.stack(rows, -2)


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        outputs = []
        for t in range(q.shape[2]):
            place = self.length % self.keys.shape[2]
            self.keys[:, :, place] = rotate(k[:, :, t : t + 1], self.length)[:, :, 0]
            self.values[:, :, place] = v[:, :, t]
            self.length += 1
            n = min(self.length, self.keys.shape[2])
            scores = rotate(q[:, :, t : t + 1], self.length - 1) @ self.keys[:, :, :n].mT
            outputs.append(softmax(scores / q.shape[-1] ** 0.5) @ self.values[:, :, :n])
        return np.concatenate(outputs, 2)

    def reset(self):
        self.keys[:], self.values[:], self.length = 0.0, 0.0, 0


# %% answer="decoder_window" right="a ring unrolled by np.roll"
def window_attention(q, k, v, window):
    T, S = q.shape[-2], k.shape[-2]
    mask = np.tri(T, S, S - T, dtype=bool) & ~np.tri(T, S, S - T - window, dtype=bool)
    scores = np.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
    scores[..., ~mask] = -np.inf
    return softmax(scores) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        w, n = self.keys.shape[2], k.shape[2]
        count = min(w, self.length)
        order = lambda ring: (np.roll(ring, -(self.length % w), 2) if self.length >= w else ring[:, :, :count])
        keys = np.concatenate([order(self.keys), rotate(k, self.length)], 2)
        values = np.concatenate([order(self.values), v], 2)
        out = window_attention(rotate(q, self.length), keys, values, w)
        for i in range(max(0, n - w), n):
            self.keys[:, :, (self.length + i) % w] = keys[:, :, count + i]
            self.values[:, :, (self.length + i) % w] = values[:, :, count + i]
        self.length += n
        return out

    def reset(self):
        self.length = 0


# %% answer="decoder_window" right="positions in an array beside the ring"
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    i, j = np.ogrid[keys - queries : keys, :keys]
    scores = np.where((j <= i) & (i - window < j), q @ k.mT, -np.inf)
    return softmax(scores / np.sqrt(q.shape[-1])) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0
        self.at = np.full(window, -1)

    def attend(self, q, k, v):
        window, n = len(self.at), k.shape[2]
        where = np.arange(self.length, self.length + n)
        at = np.concatenate([self.at, where])
        keys = np.concatenate([self.keys, rotate(k, self.length)], 2)
        values = np.concatenate([self.values, v], 2)
        distance = where[:, None] - at
        mask = (at >= 0) & (distance >= 0) & (distance < window)
        scores = rotate(q, self.length) @ keys.mT / np.sqrt(q.shape[-1])
        out = softmax(np.where(mask, scores, -np.inf)) @ values
        for i, p in enumerate(where):
            self.keys[:, :, p % window], self.values[:, :, p % window] = keys[:, :, window + i], values[:, :, window + i]
            self.at[p % window] = p
        self.length += n
        return out

    def reset(self):
        self.length = 0
        self.at[:] = -1


# %% answer="decoder_window" wrong="keys are cached unrotated, and rotated from 0 when read"
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:

    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], k], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), rotate(keys, self.length - len(kept)), values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% answer="decoder_window" wrong="a piece sees the ring alone, not itself"
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:

    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], 0 * k], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% answer="decoder_window" wrong="the length counts calls"
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:

    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += 1
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% answer="decoder_window" wrong="a window of one key less"
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < max(window - 1, 1)), scores, -np.inf)) @ v


class Ring:

    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% answer="decoder_window" wrong="keys and values written one place late"
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:

    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, (last + 1) % window] = keys[:, :, -len(last) :]
        self.values[:, :, (last + 1) % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% answer="decoder_window" wrong="rotates in place"
def window_attention(q, k, v, window):
    queries, keys = q.shape[-2], k.shape[-2]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    return softmax(np.where((distance >= 0) & (distance < window), scores, -np.inf)) @ v


class Ring:

    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        window = self.keys.shape[2]
        kept = np.arange(max(0, self.length - window), self.length) % window
        keys = np.concatenate([self.keys[:, :, kept], rotate(k, self.length)], 2)
        values = np.concatenate([self.values[:, :, kept], v], 2)
        q *= 1.0001
        out = window_attention(rotate(q, self.length), keys, values, window)
        self.length += k.shape[2]
        last = np.arange(max(0, self.length - window), self.length)
        self.keys[:, :, last % window] = keys[:, :, -len(last) :]
        self.values[:, :, last % window] = values[:, :, -len(last) :]
        return out

    def reset(self):
        self.length = 0


# %% answer="decoder_window" wrong="masked with -1e4"
def window_attention(q, k, v, window):
    T, S = q.shape[-2], k.shape[-2]
    apart = np.arange(S - T, S)[:, None] - np.arange(S)
    scores = q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    return softmax(np.where((apart >= 0) & (apart < window), scores, -1e4)) @ v


class Ring:
    def __init__(self, window, batch, heads, width, value_width):
        self.keys = np.zeros((batch, heads, window, width))
        self.values = np.zeros((batch, heads, window, value_width))
        self.length = 0

    def attend(self, q, k, v):
        w, n = self.keys.shape[2], q.shape[2]
        q, k = rotate(q, self.length), rotate(k, self.length)
        kept = np.arange(max(0, self.length - w), self.length) % w
        all_k = np.concatenate([self.keys[:, :, kept], k], 2)
        all_v = np.concatenate([self.values[:, :, kept], v], 2)
        out = window_attention(q, all_k, all_v, w)
        self.length += n
        new = np.arange(max(self.length - w, self.length - n), self.length)
        self.keys[:, :, new % w] = k[:, :, -len(new) :]
        self.values[:, :, new % w] = v[:, :, -len(new) :]
        return out

    def reset(self):
        self.length = 0


# %% answer="decoder_norms" right="by the Jacobian of one row"
def _row(gy, x, eps, centre):
    C = len(x)
    P = np.eye(C, dtype=x.dtype) - centre / C
    z = P @ (x - x[0] if centre else x)
    s = np.sqrt(z @ z / C + eps)
    J = (np.eye(C, dtype=x.dtype) / s - np.outer(z, z) / (C * s**3)) @ P
    return J.T @ gy, z / s


def layer_norm_backward(g, x, weight, eps):
    rows, grads = x.reshape(-1, x.shape[-1]), g.reshape(-1, x.shape[-1])
    both = [_row(gi * weight, xi, eps, 1) for gi, xi in zip(grads, rows)]
    gx = np.stack([each[0] for each in both]).reshape(x.shape)
    return gx, sum(gi * each[1] for gi, each in zip(grads, both)), grads.sum(0)


def rms_norm_backward(g, x, weight, eps):
    rows, grads = x.reshape(-1, x.shape[-1]), g.reshape(-1, x.shape[-1])
    both = [_row(gi * weight, xi, eps, 0) for gi, xi in zip(grads, rows)]
    return np.stack([each[0] for each in both]).reshape(x.shape), sum(gi * each[1] for gi, each in zip(grads, both))


def batch_norm_backward(g, x, weight, eps):
    N, C, L = x.shape
    flat, grads = x.transpose(1, 0, 2).reshape(C, -1), g.transpose(1, 0, 2).reshape(C, -1)
    both = [_row(gi * w, xi, eps, 1) for gi, xi, w in zip(grads, flat, weight)]
    gx = np.stack([each[0] for each in both]).reshape(C, N, L).transpose(1, 0, 2)
    return gx, np.array([gi @ each[1] for gi, each in zip(grads, both)]), grads.sum(1)


# %% answer="decoder_norms" right="batch norm through layer norm, in float64"
def layer_norm_backward(g, x, weight, eps):
    kind = x.dtype
    g, x = g.astype(float), x.astype(float)
    n = x.shape[-1]
    mu, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    std = (var + eps) ** 0.5
    xhat = (x - mu) / std
    dxhat = g * weight
    gx = (n * dxhat - dxhat.sum(-1, keepdims=True) - xhat * (dxhat * xhat).sum(-1, keepdims=True)) / (n * std)
    axes = tuple(range(x.ndim - 1))
    return gx.astype(kind), (g * xhat).sum(axis=axes).astype(kind), g.sum(axis=axes).astype(kind)


def rms_norm_backward(g, x, weight, eps):
    r = (np.mean(np.square(x), -1) + eps) ** -0.5
    dot = np.einsum("...c,...c->...", g * weight, x) / x.shape[-1]
    gx = r[..., None] * g * weight - (r**3 * dot)[..., None] * x
    return gx, (g * x * r[..., None]).reshape(-1, x.shape[-1]).sum(0)


def batch_norm_backward(g, x, weight, eps):
    N, C, L = x.shape
    rows = np.moveaxis(x, 1, 0).reshape(C, N * L)
    grads = np.moveaxis(g, 1, 0).reshape(C, N * L) * weight[:, None]
    gx, _, _ = layer_norm_backward(grads, rows, np.ones(N * L, x.dtype), eps)
    mean, std = x.mean((0, 2)), (x.astype(float).var((0, 2)) + eps) ** 0.5
    y = (x - mean[:, None]) / std[:, None]
    return np.moveaxis(gx.reshape(C, N, L), 0, 1), (g * y).sum((0, 2)).astype(x.dtype), g.sum(2).sum(0)


# %% answer="decoder_norms" right="step by step through mean and variance"
def layer_norm_backward(g, x, weight, eps):
    n = x.shape[-1]
    mean = x.sum(-1, keepdims=True) / n
    c = x - mean
    var = (c * c).sum(-1, keepdims=True) / n
    rstd = (var + eps) ** -0.5
    dy = g * weight
    dvar = (dy * c).sum(-1, keepdims=True) * -0.5 * rstd**3
    dc = dy * rstd + dvar * 2 * c / n
    dx = dc - dc.mean(-1, keepdims=True)
    flat = lambda a: a.reshape(-1, n).sum(0)
    return dx, flat(g * c * rstd), flat(g)


def rms_norm_backward(g, x, weight, eps):
    n = x.shape[-1]
    ms = (x * x).sum(-1, keepdims=True) / n + eps
    dy = g * weight
    dms = (dy * x).sum(-1, keepdims=True) * -0.5 * ms**-1.5
    return dy * ms**-0.5 + 2 * dms * x / n, (g * x * ms**-0.5).reshape(-1, n).sum(0)


def batch_norm_backward(g, x, weight, eps):
    n = x.shape[0] * x.shape[2]
    total = lambda a: a.sum(axis=2, keepdims=True).sum(axis=0, keepdims=True)
    c = x - total(x) / n
    rstd = (total(c * c) / n + eps) ** -0.5
    dy = g * weight.reshape(1, -1, 1)
    dc = dy * rstd - total(dy * c) * rstd**3 * c / n
    return dc - total(dc) / n, total(g * c * rstd).reshape(-1), total(g).reshape(-1)


# %% answer="decoder_norms" wrong="autograd, which is out of reach"
def _through(forward, g, *arguments):
    arguments = [torch.tensor(each, requires_grad=True) for each in arguments]
    forward(*arguments).backward(torch.tensor(np.ascontiguousarray(g)))
    return tuple(each.grad.numpy() for each in arguments)


def layer_norm_backward(g, x, weight, eps):
    F = torch.nn.functional
    return _through(lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b, eps), g, x, weight, 0 * weight)


def rms_norm_backward(g, x, weight, eps):
    return _through(lambda x, w: torch.nn.functional.rms_norm(x, (x.shape[-1],), w, eps), g, x, weight)


def batch_norm_backward(g, x, weight, eps):
    F = torch.nn.functional
    return _through(lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0.1, eps), g, x, weight, 0 * weight)


# %% answer="decoder_norms" wrong="the weight forgotten in gx"
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)


# %% answer="decoder_norms" wrong="the second term with x instead of the normalized x"
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - x * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)


# %% answer="decoder_norms" wrong="bias and weight exchanged"
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, g.sum(axes), (g * y).sum(axes)


# %% answer="decoder_norms" wrong="batch norm as in evaluation"
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * y).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * g
    return gx, (g * y).sum(axes), g.sum(axes)


# %% answer="decoder_norms" wrong="gradient of the weight without the normalization"
def layer_norm_backward(g, x, weight, eps):
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    y, gy = centred * inverse, g * weight
    gx = inverse * (gy - gy.mean(-1, keepdims=True) - y * (gy * y).mean(-1, keepdims=True))
    rows = tuple(range(x.ndim - 1))
    return gx, (g * x).sum(rows), g.sum(rows)


def rms_norm_backward(g, x, weight, eps):
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    y, gy = x * inverse, g * weight
    gx = inverse * (gy - y * (gy * y).mean(-1, keepdims=True))
    return gx, (g * y).sum(tuple(range(x.ndim - 1)))


def batch_norm_backward(g, x, weight, eps):
    axes = (0, 2)
    centred = x - x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = centred * inverse
    gx = weight[:, None] * inverse * (g - g.mean(axes, keepdims=True) - y * (g * y).mean(axes, keepdims=True))
    return gx, (g * y).sum(axes), g.sum(axes)


# %% answer="decoder_positions" right="column by column, slopes by recursion, buckets by a loop"
def sines(positions, width):
    table = np.zeros((len(positions), width))
    for i in range(width // 2):
        angle = positions * np.exp(-np.log(10000.0) * 2 * i / width)
        table[:, 2 * i], table[:, 2 * i + 1] = np.sin(angle), np.cos(angle)
    return table


def _slopes(heads):
    power = 1
    while 2 * power <= heads:
        power *= 2
    if power == heads:
        return [2 ** (-8 * h / heads) for h in range(1, heads + 1)]
    return _slopes(power) + _slopes(2 * power)[0::2][: heads - power]


def alibi(heads, queries, keys):
    out = np.full((heads, queries, keys), -np.inf)
    for h, slope in enumerate(_slopes(heads)):
        for i in range(queries):
            at = keys - queries + i
            for j in range(at + 1):
                out[h, i, j] = -slope * (at - j)
    return out


def t5_buckets(distance, buckets, longest, bidirectional):
    import math

    def one(d):
        n = buckets // 2 if bidirectional else buckets
        base = n if bidirectional and d > 0 else 0
        d = abs(d) if bidirectional else max(-d, 0)
        if d < n // 2:
            return base + d
        half = n // 2
        return base + min(n - 1, half + int(math.log(d / half) / math.log(longest / half) * (n - half)))

    return np.array([one(int(d)) for d in distance.ravel()]).reshape(distance.shape)


# %% answer="decoder_positions" right="complex exponentials, and buckets by searchsorted"
def sines(positions, width):
    waves = np.exp(1j * positions[:, None] * 10000.0 ** (-2 * np.arange(width // 2) / width))
    table = np.empty((len(positions), width))
    table[:, ::2], table[:, 1::2] = waves.imag, waves.real
    return table


def alibi(heads, queries, keys):
    P = int(2 ** np.floor(np.log2(heads)))
    slopes = np.r_[2 ** (-8.0 * (np.arange(P) + 1) / P), (2 ** (-8.0 * (np.arange(2 * P) + 1) / (2 * P)))[::2][: heads - P]]
    i, j = np.mgrid[keys - queries : keys, 0:keys]
    bias = slopes.reshape(-1, 1, 1) * (j - i)
    bias[:, j > i] = float("-inf")
    return bias


def t5_buckets(distance, buckets, longest, bidirectional):
    n = buckets // 2 if bidirectional else buckets
    back = np.abs(distance) if bidirectional else np.clip(-distance, 0, None)
    half = n // 2
    edges = [half * (longest / half) ** (i / (n - half)) for i in range(1, n - half)]
    found = np.where(back < half, back, half + np.searchsorted(edges, back, side="right"))
    return found + (n * (distance > 0) if bidirectional else 0)


# %% answer="decoder_positions" right="torch's tensors"
def sines(positions, width):
    rate = torch.exp(torch.arange(0, width, 2).double() * (-np.log(10000.0) / width))
    angles = torch.outer(torch.tensor(positions).double(), rate)
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1).numpy()


def alibi(heads, queries, keys):
    power = 1 << (heads.bit_length() - 1)
    first = (2.0 ** (-8.0 / power)) ** np.arange(1, power + 1)
    extra = (2.0 ** (-8.0 / (2 * power))) ** np.arange(1, 2 * (heads - power), 2)
    distance = torch.arange(keys) - torch.arange(keys - queries, keys)[:, None]
    bias = torch.tensor(np.append(first, extra))[:, None, None] * distance
    return bias.masked_fill(distance > 0, -float("inf")).numpy()


def t5_buckets(distance, buckets, longest, bidirectional):
    out = np.zeros(distance.shape, dtype=np.int64)
    if bidirectional:
        buckets = buckets // 2
        out += (distance > 0) * buckets
        distance = abs(distance)
    else:
        distance = -np.minimum(distance, 0)
    exact = buckets // 2
    with np.errstate(divide="ignore"):
        log = np.log(distance / exact) / np.log(longest / exact)
    large = exact + np.floor(np.where(distance > 0, log, 0.0) * (buckets - exact)).astype(np.int64)
    return out + np.where(distance < exact, distance, np.minimum(large, buckets - 1))


# %% answer="decoder_positions" wrong="cosine before sine"
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.cos(angles), np.sin(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% answer="decoder_positions" wrong="slopes with a base of 4 for every number of heads"
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 4.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% answer="decoder_positions" wrong="no mask in ALiBi"
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return biases


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% answer="decoder_positions" wrong="the absolute distance in both directions"
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return -np.concatenate([slopes, more])[:, None, None] * np.abs(distance)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% answer="decoder_positions" wrong="upper half for keys before the query"
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance < 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% answer="decoder_positions" wrong="distance 0 in the upper half"
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance >= 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + (ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% answer="decoder_positions" wrong="buckets rounded instead of cut off"
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    power = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))[: heads - power]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    biases = -np.concatenate([slopes, more])[:, None, None] * distance
    return np.where(distance >= 0, biases, -np.inf)


def t5_buckets(distance, buckets, longest, bidirectional):
    offset = 0
    if bidirectional:
        buckets //= 2
        offset = np.where(distance > 0, buckets, 0)
        distance = np.abs(distance)
    else:
        distance = np.maximum(-distance, 0)
    exact = buckets // 2
    ratio = np.log(np.maximum(distance, exact) / exact) / np.log(longest / exact)
    far = np.minimum(exact + np.rint(ratio * (buckets - exact)).astype(int), buckets - 1)
    return offset + np.where(distance < exact, distance, far)


# %% answer="decoder_positions" right="the first distance of the logarithmic half, from the exact one"
def sines(positions, width):
    angles = positions[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(positions), width)


def alibi(heads, queries, keys):
    p = 2 ** int(np.log2(heads))
    slopes = 2.0 ** (-8 / p * np.arange(1, p + 1))
    if p < heads:
        slopes = np.append(slopes, 2.0 ** (-4 / p * np.arange(1, 2 * p, 2))[: heads - p])
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)
    return np.where(distance < 0, -np.inf, -slopes[:, None, None] * distance)


def t5_buckets(distance, buckets, longest, bidirectional):
    n, offset = buckets, 0
    if bidirectional:
        n = buckets // 2
        offset = np.where(distance > 0, n, 0)
        d = np.abs(distance)
    else:
        d = np.maximum(-distance, 0)
    exact = n // 2
    far = exact + np.floor(np.log(np.maximum(d, exact) / exact) / np.log(longest / exact) * (n - exact)).astype(np.int64)
    return offset + np.where(d <= exact, d, np.minimum(far, n - 1))


# %% [markdown]
# Adding the bias before the scale of the scores happens outside of these functions, so no value here can show it.


# %% answer="decoder_swiglu" right="weights unfused first"
def swiglu(x, w_in, w_down, interleaved=False):
    F = w_down.shape[1]
    if interleaved:
        w_gate, w_up = w_in.reshape(F, 2, -1).transpose(1, 0, 2)
    else:
        w_gate, w_up = w_in[:F], w_in[F:]
    gate = x @ w_gate.T
    e = np.exp(-np.abs(gate))
    sigmoid = np.where(gate >= 0, 1, e) / (1 + e)
    return (gate * sigmoid * (x @ w_up.T)) @ w_down.T


def hidden_width(width, multiple):
    hidden = 0
    while 3 * hidden < 8 * width:
        hidden += multiple
    return hidden


def shards(w_in, w_down, ways):
    F = w_down.shape[1]
    step = F // ways
    out = []
    for start in range(0, F, step):
        rows = [*range(start, start + step), *range(F + start, F + start + step)]
        out.append((w_in[rows], w_down[:, start : start + step]))
    return out


# %% answer="decoder_swiglu" right="a reshape for the shards, logaddexp for the sigmoid"
def swiglu(x, w_in, w_down, interleaved=False):
    h = np.einsum("...c,fc->...f", x, w_in)
    F = w_down.shape[1]
    h = h.reshape(*h.shape[:-1], F, 2) if interleaved else h.reshape(*h.shape[:-1], 2, F).mT
    gate, up = h[..., 0], h[..., 1]
    return np.einsum("...f,cf->...c", gate * np.exp(-np.logaddexp(0, -gate)) * up, w_down)


def hidden_width(width, multiple):
    import math

    return multiple * math.ceil(8 * width / (3 * multiple) - 1e-12)


def shards(w_in, w_down, ways):
    C, F = w_down.shape
    fused = w_in.reshape(2, ways, F // ways, C).swapaxes(0, 1).reshape(ways, -1, C)
    return list(zip(fused, w_down.reshape(C, ways, -1).swapaxes(0, 1)))


# %% answer="decoder_swiglu" right="torch's silu"
def swiglu(x, w_in, w_down, interleaved=False):
    h = torch.tensor(x) @ torch.tensor(w_in).T
    gate, up = (h[..., 0::2], h[..., 1::2]) if interleaved else h.chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * up @ torch.tensor(w_down).T).numpy()


def hidden_width(width, multiple):
    return (8 * width + 3 * multiple - 1) // (3 * multiple) * multiple


def shards(w_in, w_down, ways):
    gate, up = w_in[: len(w_in) // 2], w_in[len(w_in) // 2 :]
    return [
        (np.vstack((np.array_split(gate, ways)[r], np.array_split(up, ways)[r])), np.array_split(w_down, ways, axis=1)[r])
        for r in range(ways)
    ]


# %% answer="decoder_swiglu" wrong="GELU instead of SiLU"
def swiglu(x, w_in, w_down, interleaved = False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(0.7978845608 * (gate + 0.044715 * gate**3))) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-8 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% answer="decoder_swiglu" wrong="up first, then gate"
def swiglu(x, w_in, w_down, interleaved = False):
    h = x @ w_in.T
    gate, up = (h[..., 1::2], h[..., ::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-8 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% answer="decoder_swiglu" wrong="8·C/3 of two matrices, 16/3"
def swiglu(x, w_in, w_down, interleaved = False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-16 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% answer="decoder_swiglu" wrong="rounds to the nearest multiple"
def swiglu(x, w_in, w_down, interleaved = False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return max(1, round(8 * width / 3 / multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% answer="decoder_swiglu" wrong="shards that are all the first"
def swiglu(x, w_in, w_down, interleaved = False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-8 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates[:1] * ways, ups[:1] * ways, downs[:1] * ways, strict=True)]


# %% answer="decoder_swiglu" wrong="gates and downs of different ranks"
def swiglu(x, w_in, w_down, interleaved = False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    return -(-8 * width // (3 * multiple)) * multiple


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs[::-1], strict=True)]


# %% [markdown]
# `w_down` cut along its rows has the wrong shape for every number of ways above 1, so it can't be confused with a
# shard.


# %% answer="decoder_repair_balance" right="bincount and a sum over the real rows"
def balance_loss(logits, chosen, real):
    E = logits.size(1)
    weight = real.float()
    P = (torch.softmax(logits, 1) * weight[:, None]).sum(0) / weight.sum()
    f = torch.bincount(chosen[real].flatten(), minlength=E).float()
    return E * torch.dot(f / (real.sum() * chosen.size(1)), P)


def route(logits, bias, k):
    s = torch.sigmoid(logits)
    order = torch.argsort(s + bias, dim=1, descending=True)[:, :k]
    g = torch.take_along_dim(s, order, 1)
    return order, g / g.sum(1)[:, None]


def update_bias(bias, load, rate):
    mean = load.float().mean()
    step = torch.zeros_like(bias)
    step[load < mean] = rate
    step[load > mean] = -rate
    return bias + step


# %% answer="decoder_repair_balance" right="a scatter for the counts, where for the signs"
def balance_loss(logits, chosen, real):
    experts = logits.shape[1]
    hits = torch.zeros(logits.shape).scatter(1, chosen, torch.ones(chosen.shape)) * real[:, None]
    share = hits.sum(0) / hits.sum()
    mean = logits[real].softmax(1).mean(0)
    return (experts * share * mean).sum()


def route(logits, bias, k):
    scores = 1 / (1 + torch.exp(-logits))
    _, chosen = torch.topk(scores + bias[None], k)
    rows = torch.arange(len(logits))[:, None]
    return chosen, scores[rows, chosen] / scores[rows, chosen].sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    E = load.numel()
    up, down = load * E < load.sum(), load * E > load.sum()
    return bias + rate * (up.float() - down.float())


# %% answer="decoder_repair_balance" right="loops"
def balance_loss(logits, chosen, real):
    rows = [n for n, each in enumerate(real.tolist()) if each]
    E, total = logits.shape[1], 0.0
    for e in range(E):
        share = sum(chosen[n].tolist().count(e) for n in rows) / (len(rows) * chosen.shape[1])
        total = total + share * sum(logits[n].softmax(0)[e] for n in rows) / len(rows)
    return E * total


def route(logits, bias, k):
    chosen = torch.stack([torch.topk(torch.sigmoid(row) + bias, k)[1] for row in logits])
    gates = torch.stack([torch.sigmoid(row)[picked] for row, picked in zip(logits, chosen)])
    return chosen, gates / gates.sum(dim=-1, keepdim=True)


def update_bias(bias, load, rate):
    mean = sum(load.tolist()) / len(load)
    return torch.tensor([b + rate * ((l < mean) - (l > mean)) for b, l in zip(bias.tolist(), load.tolist())])


# %% answer="decoder_repair_balance" wrong="the probabilities of the chosen experts alone"
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = (logits.softmax(-1) * F.one_hot(chosen, experts).sum(1))[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% answer="decoder_repair_balance" wrong="chosen by the logits plus the bias"
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (logits + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% answer="decoder_repair_balance" wrong="gates that don't add up to 1"
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% answer="decoder_repair_balance" wrong="gates without a gradient"
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.detach().sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% answer="decoder_repair_balance" wrong="the median instead of the mean load"
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.median() - load).sign()


# %% answer="decoder_repair_balance" wrong="updates the bias in place"
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    bias += rate * (load.mean() - load).sign()
    return bias


# %% answer="decoder_repair_balance" wrong="squares of the shares"
def balance_loss(logits, chosen, real):
    experts = logits.shape[-1]
    counts = F.one_hot(chosen[real], experts).float().sum((0, 1))
    shares = counts / counts.sum()
    probabilities = logits.softmax(-1)[real].mean(0)
    return experts * (shares * shares + 0 * probabilities).sum()


def route(logits, bias, k):
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    gates = scores.gather(-1, chosen)
    return chosen, gates / gates.sum(-1, keepdim=True)


def update_bias(bias, load, rate):
    load = load.float()
    return bias + rate * (load.mean() - load).sign()


# %% [markdown]
# A loss that is computed and never added, or that is added to the reported one, stands outside of these functions.


# %% answer="decoder_linear" right="cumulative sums inside the chunk"
def chunk_step(state, q, k, v):
    S = state[0][..., None, :, :] + np.cumsum(k[..., :, None] * v[..., None, :], axis=-3)
    z = state[1][..., None, :] + np.cumsum(k, axis=-2)
    out = np.einsum("...nd,...nde->...ne", q, S) / np.einsum("...nd,...nd->...n", q, z)[..., None]
    return (S[..., -1, :, :], z[..., -1, :]), out


def attend(q, k, v, chunk):
    S, z = np.zeros(k.shape[:-2] + (k.shape[-1], v.shape[-1])), np.zeros(k.shape[:-2] + (k.shape[-1],))
    out = np.empty(v.shape)
    for i in range(0, v.shape[-2], chunk):
        s = slice(i, i + chunk)
        (S, z), out[..., s, :] = chunk_step((S, z), q[..., s, :], k[..., s, :], v[..., s, :])
    return out


def delta(q, k, v, beta):
    D = k.shape[-1]
    S = np.zeros(k.shape[:-2] + (D, v.shape[-1]))
    out = np.empty(v.shape)
    for t in range(k.shape[-2]):
        erase = np.eye(D) - beta[..., t, None, None] * k[..., t, :, None] * k[..., t, None, :]
        S = erase @ S + beta[..., t, None, None] * k[..., t, :, None] * v[..., t, None, :]
        out[..., t, :] = np.einsum("...d,...de->...e", q[..., t, :], S)
    return out


# %% answer="decoder_linear" right="a loop over the tokens of a chunk"
def chunk_step(state, q, k, v):
    S, z = state[0].copy(), state[1].copy()
    outputs = []
    for t in range(q.shape[-2]):
        S += np.einsum("...d,...e->...de", k[..., t, :], v[..., t, :])
        z += k[..., t, :]
        outputs.append(np.einsum("...d,...de->...e", q[..., t, :], S) / (q[..., t, :] * z).sum(-1, keepdims=True))
    return (S, z), np.stack(outputs, -2)


def attend(q, k, v, chunk):
    state = (0 * (k[..., 0, :, None] * v[..., 0, None, :]), 0 * k[..., 0, :])
    pieces = []
    while q.shape[-2]:
        state, out = chunk_step(state, q[..., :chunk, :], k[..., :chunk, :], v[..., :chunk, :])
        pieces.append(out)
        q, k, v = q[..., chunk:, :], k[..., chunk:, :], v[..., chunk:, :]
    return np.concatenate(pieces, axis=-2)


def delta(q, k, v, beta):
    S = 0 * (k[..., 0, :, None] * v[..., 0, None, :])
    rows = []
    for t in range(q.shape[-2]):
        kt, vt, bt = k[..., t, :], v[..., t, :], beta[..., t]
        recalled = (S * kt[..., None]).sum(-2)
        S = S + bt[..., None, None] * np.einsum("...d,...e->...de", kt, vt - recalled)
        rows.append((S * q[..., t, :, None]).sum(-2))
    return np.stack(rows, -2)


# %% answer="decoder_linear" right="the normalizer as one more column of the values"
def chunk_step(state, q, k, v):
    memory = np.concatenate([state[0], state[1][..., None]], -1)
    values = np.concatenate([v, np.ones_like(v[..., :1])], -1)
    mask = np.tri(q.shape[-2])
    both = q @ memory + (q @ np.swapaxes(k, -1, -2) * mask) @ values
    memory = memory + np.swapaxes(k, -1, -2) @ values
    return (memory[..., :-1], memory[..., -1]), both[..., :-1] / both[..., -1:]


def attend(q, k, v, chunk):
    *lead, T, D = k.shape
    state, out = (np.zeros((*lead, D, v.shape[-1])), np.zeros((*lead, D))), []
    for part in np.array_split(np.arange(T), range(chunk, T, chunk)):
        state, y = chunk_step(state, q[..., part, :], k[..., part, :], v[..., part, :])
        out.append(y)
    return np.concatenate(out, -2)


def delta(q, k, v, beta):
    writes = []
    out = np.zeros(v.shape)
    for t in range(k.shape[-2]):
        recall = sum(((k[..., j, :] * k[..., t, :]).sum(-1, keepdims=True) * writes[j] for j in range(t)), 0 * v[..., 0, :])
        writes.append(beta[..., t, None] * (v[..., t, :] - recall))
        out[..., t, :] = sum((k[..., j, :] * q[..., t, :]).sum(-1, keepdims=True) * writes[j] for j in range(t + 1))
    return out


# %% answer="decoder_linear" wrong="softmax inside the chunk"
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(np.exp(q @ k.mT))
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% answer="decoder_linear" wrong="the normalizer doesn't see the state's update"
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% answer="decoder_linear" wrong="the mean of the chunk's keys in the state"
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.mean(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% answer="decoder_linear" wrong="delta rule with beta on the value alone"
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = beta[..., t, None, None] * v[..., t, None, :] - key.mT @ memory
        memory = memory + key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% answer="decoder_linear" wrong="chunks that start anew"
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        _, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - key.mT @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% answer="decoder_linear" wrong="recalls by the query"
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    above = q @ memory + inside @ v
    below = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), above / below[..., None]


def attend(q, k, v, chunk):
    state = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1])), np.zeros((*k.shape[:-2], k.shape[-1]))
    outputs = []
    for start in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(each[..., start : start + chunk, :] for each in (q, k, v)))
        outputs.append(out)
    return np.concatenate(outputs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    outputs = []
    for t in range(k.shape[-2]):
        key = k[..., t, :, None]
        missing = v[..., t, None, :] - q[..., t, None, :] @ memory
        memory = memory + beta[..., t, None, None] * key * missing
        outputs.append(q[..., t, None, :] @ memory)
    return np.concatenate(outputs, -2)


# %% answer="decoder_linear" wrong="an epsilon in the denominator"
def chunk_step(state, q, k, v):
    memory, total = state
    inside = np.tril(q @ k.mT)
    top = q @ memory + inside @ v
    bottom = (q * total[..., None, :]).sum(-1) + inside.sum(-1)
    return (memory + k.mT @ v, total + k.sum(-2)), top / (bottom[..., None] + 1e-6)


def attend(q, k, v, chunk):
    state = np.zeros((*q.shape[:-2], q.shape[-1], v.shape[-1])), np.zeros((*q.shape[:-2], q.shape[-1]))
    outs = []
    for s in range(0, q.shape[-2], chunk):
        state, out = chunk_step(state, *(x[..., s : s + chunk, :] for x in (q, k, v)))
        outs.append(out)
    return np.concatenate(outs, -2)


def delta(q, k, v, beta):
    memory = np.zeros((*q.shape[:-2], q.shape[-1], v.shape[-1]))
    out = np.zeros_like(v)
    for t in range(q.shape[-2]):
        key = k[..., t, :, None]
        recalled = (key * memory).sum(-2)
        memory = memory + beta[..., t, None, None] * key * (v[..., t, :] - recalled)[..., None, :]
        out[..., t, :] = (q[..., t, :, None] * memory).sum(-2)
    return out


# %% [markdown]
# A feature map that may be negative isn't part of these functions: q and k come in after it.


# %% answer="decoder_stretch" right="pair by pair, and complex rotations"
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    import math

    out = []
    for i in range(width // 2):
        f = base ** (-2 * i / width)
        if kind == "pi":
            f /= scale
        elif kind == "ntk":
            f *= scale ** (-2 * i / (width - 2))
        elif kind == "yarn":
            r = original * f / math.tau
            g = min(1.0, max(0.0, (r - slow) / (fast - slow)))
            f = f * (g + (1 - g) / scale)
        out.append(f)
    return np.array(out)


def factor(kind, scale):
    import math

    if kind != "yarn" or scale <= 1:
        return 1.0
    return 1 + math.log(scale) / 10


def scores(q, k, first, frequency, factor):
    half = q.shape[1] // 2
    z = lambda x, at: (x[:, :half] + 1j * x[:, half:]) * np.exp(1j * np.outer(at, frequency))
    a, b = z(q, first + np.arange(len(q))), z(k, np.arange(len(k)))
    return factor**2 * (a @ b.conj().T).real / q.shape[1] ** 0.5


# %% answer="decoder_stretch" right="only the differences of positions, for the scores"
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    if kind == "ntk":
        return frequencies(width, base * scale ** (width / (width - 2)), "plain", 1.0, original)
    plain = np.exp(-np.log(base) * np.arange(width // 2) * 2 / width)
    if kind == "plain":
        return plain
    if kind == "pi":
        return plain * (1 / scale)
    wavelengths = 2 * np.pi / plain
    kept = np.interp(original / wavelengths, [slow, fast], [0.0, 1.0])
    return plain / scale + kept * (plain - plain / scale)


def factor(kind, scale):
    return {"yarn": 0.1 * np.log(max(scale, 1.0)) + 1.0}.get(kind, 1.0)


def scores(q, k, first, frequency, factor):
    D = q.shape[1]
    out = np.zeros((len(q), len(k)))
    for t in range(len(q)):
        for s in range(len(k)):
            angle = (first + t - s) * frequency
            a, b, c, d = q[t, : D // 2], q[t, D // 2 :], k[s, : D // 2], k[s, D // 2 :]
            out[t, s] = ((a * c + b * d) * np.cos(angle) + (a * d - b * c) * np.sin(angle)).sum()
    return out * factor * factor / np.sqrt(D)


# %% answer="decoder_stretch" right="tables of cosines with the factor in them"
def frequencies(width, base, kind, scale, original, slow=1.0, fast=32.0):
    f = 1.0 / base ** (np.arange(0, width, 2) / width)
    match kind:
        case "pi":
            f = f / scale
        case "ntk":
            f = 1.0 / (base * scale ** (width / (width - 2))) ** (np.arange(0, width, 2) / width)
        case "yarn":
            r = original * f / (2 * np.pi)
            mask = np.where(r <= slow, 0.0, np.where(r >= fast, 1.0, (r - slow) / (fast - slow)))
            f = f / scale * (1 - mask) + f * mask
    return f


def factor(kind, scale):
    return float(0.1 * np.log(scale) + 1.0) if scale > 1 and kind == "yarn" else 1.0


def scores(q, k, first, frequency, factor):
    def table(start, n):
        angles = np.concatenate([np.outer(np.arange(start, start + n), frequency)] * 2, 1)
        return factor * np.cos(angles), factor * np.sin(angles)

    def half_turn(x):
        return np.concatenate([-x[:, x.shape[1] // 2 :], x[:, : x.shape[1] // 2]], 1)

    (cq, sq), (ck, sk) = table(first, len(q)), table(0, len(k))
    return (q * cq + half_turn(q) * sq) @ (k * ck + half_turn(k) * sk).T / np.sqrt(q.shape[1])


# %% answer="decoder_stretch" wrong="PI multiplies"
def frequencies(width, base, kind, scale, original, slow = 1.0, fast = 32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain * scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% answer="decoder_stretch" wrong="a ramp in the logarithm of the turns"
def frequencies(width, base, kind, scale, original, slow = 1.0, fast = 32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip(np.log(turns / slow) / np.log(fast / slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% answer="decoder_stretch" wrong="the factor of YaRN for all methods"
def frequencies(width, base, kind, scale, original, slow = 1.0, fast = 32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% answer="decoder_stretch" wrong="no limit for short texts"
def frequencies(width, base, kind, scale, original, slow = 1.0, fast = 32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% answer="decoder_stretch" wrong="rotates the other way"
def frequencies(width, base, kind, scale, original, slow = 1.0, fast = 32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) + b * np.sin(angles), b * np.cos(angles) - a * np.sin(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T / np.sqrt(q.shape[-1])


# %% answer="decoder_stretch" wrong="no scale in the scores"
def frequencies(width, base, kind, scale, original, slow = 1.0, fast = 32.0):
    exponents = np.arange(0, width, 2) / width
    plain = base**-exponents
    if kind == "pi":
        return plain / scale
    if kind == "ntk":
        return (base * scale ** (width / (width - 2))) ** -exponents
    if kind == "yarn":
        turns = original * plain / (2 * np.pi)
        kept = np.clip((turns - slow) / (fast - slow), 0, 1)
        return kept * plain + (1 - kept) * plain / scale
    return plain


def factor(kind, scale):
    return 0.1 * float(np.log(scale)) + 1 if kind == "yarn" and scale > 1 else 1.0


def scores(q, k, first, frequency, factor):
    def rotated(x, start):
        angles = np.arange(start, start + len(x))[:, None] * frequency
        a, b = np.split(x, 2, -1)
        rotated = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
        return factor * np.concatenate(rotated, -1)

    return rotated(q, first) @ rotated(k, 0).T


# %% [markdown]
# Scaled tables beside keys that were cached unscaled are a matter of the cache, which these functions don't have.


# %% answer="decoder_repair_training" right="the optimizer written out, the mask as a bias"
def logits(p, ids, start=0):
    B, T = ids.shape
    x = p["tokens"][ids] + p["positions"][torch.arange(start, start + T)]
    norm = lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
    y = norm(x)
    bias = torch.full((T, T), -float("inf")).triu(1)
    weights = torch.softmax((y @ p["q"]) @ (y @ p["k"]).transpose(1, 2) / x.shape[-1] ** 0.5 + bias, dim=2)
    x = x + weights @ (y @ p["v"]) @ p["out"]
    h = norm(x) @ p["up"]
    x = x + (h * torch.sigmoid(h)) @ p["down"]
    return norm(x) @ p["tokens"].transpose(0, 1)


def loss(p, ids, pad):
    logp = logits(p, ids)[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
    real = (ids[:, 1:] != pad).float()
    return -(logp * real).sum() / real.sum()


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        gradients = torch.autograd.grad(value, list(p.values()))
        with torch.no_grad():
            for each, gradient in zip(p.values(), gradients):
                each.sub_(rate * gradient)
        losses.append(float(value))
    return losses


# %% answer="decoder_repair_training" right="the fused attention, and zeroed gradients"
def logits(p, ids, start=0):
    n = lambda x: F.layer_norm(x, (x.shape[-1],))
    x = p["tokens"][ids] + p["positions"][start:][: ids.shape[1]]
    q, k, v = n(x) @ p["q"], n(x) @ p["k"], n(x) @ p["v"]
    x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True) @ p["out"]
    return n(x + F.silu(n(x) @ p["up"]) @ p["down"]) @ p["tokens"].T


def loss(p, ids, pad):
    targets = ids[:, 1:].reshape(-1)
    rows = logits(p, ids[:, :-1]).reshape(targets.numel(), -1)
    return F.cross_entropy(rows[targets != pad], targets[targets != pad])


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        for each in p.values():
            if each.grad is not None:
                each.grad.zero_()
        value = loss(p, ids, pad)
        value.backward()
        losses.append(value.detach().item())
        with torch.no_grad():
            for name in p:
                p[name] -= rate * p[name].grad
    return losses


# %% answer="decoder_repair_training" right="SGD of the data, transposed cross-entropy"
def logits(p, ids, start=0):
    T = ids.size(1)
    x = p["tokens"][ids] + p["positions"][start : start + T].unsqueeze(0)
    h = F.layer_norm(x, [x.size(-1)])
    att = torch.matmul(h @ p["q"], (h @ p["k"]).transpose(-2, -1)) * p["q"].shape[1] ** -0.5
    att = torch.where(torch.tril(torch.ones(T, T)) > 0, att, torch.tensor(-1e9))
    x = x + F.softmax(att, dim=-1) @ h @ p["v"] @ p["out"]
    return F.layer_norm(x + F.silu(F.layer_norm(x, [x.size(-1)]) @ p["up"]) @ p["down"], [x.size(-1)]) @ p["tokens"].t()


def loss(p, ids, pad):
    return F.cross_entropy(logits(p, ids)[:, :-1].transpose(1, 2), ids[:, 1:], ignore_index=pad)


def train(p, batches, pad, rate):
    history = []
    for batch in batches:
        value = loss(p, batch, pad)
        value.backward()
        history.append(value.item())
        for each in p.values():
            each.data = each.data - rate * each.grad
            each.grad = None
    return history


# %% answer="decoder_repair_training" wrong="shifted by two"
def logits(p, ids, start = 0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-2]), ids[:, 2:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% answer="decoder_repair_training" wrong="no residual around the attention"
def logits(p, ids, start = 0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% answer="decoder_repair_training" wrong="the loss after the step"
def logits(p, ids, start = 0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(loss(p, ids, pad).item())
    return losses


# %% answer="decoder_repair_training" wrong="one norm left out"
def logits(p, ids, start = 0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(x @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% answer="decoder_repair_training" wrong="gradients cleared only once"
def logits(p, ids, start = 0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for each in p.values():
        each.grad = None
    for ids in batches:
        value = loss(p, ids, pad)
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% answer="decoder_repair_training" wrong="climbs"
def logits(p, ids, start = 0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    x = x + scores.masked_fill(~mask, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids[:, :-1]), ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        for each in p.values():
            each.grad = None
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each += rate * each.grad
        losses.append(value.item())
    return losses


# %% answer="decoder_repair_training" right="gradients are cleared after each step"
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    later = torch.ones(length, length).triu(1) > 0
    x = x + scores.masked_fill(later, -float("inf")).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids)[:, :-1], ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        value = loss(p, ids, pad)
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
                each.grad = None
        losses.append(value.item())
    return losses


# %% answer="decoder_repair_training" wrong="the mask subtracts 100"
def logits(p, ids, start=0):
    length = ids.shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    y = F.layer_norm(x, x.shape[-1:])
    q, k, v = (y @ p[name] for name in ("q", "k", "v"))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    later = torch.ones(length, length).triu(1) > 0
    x = x + (scores - 1e2 * later).softmax(-1) @ v @ p["out"]
    x = x + F.silu(F.layer_norm(x, x.shape[-1:]) @ p["up"]) @ p["down"]
    return F.layer_norm(x, x.shape[-1:]) @ p["tokens"].T


def loss(p, ids, pad):
    out, targets = logits(p, ids)[:, :-1], ids[:, 1:]
    return F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)


def train(p, batches, pad, rate):
    losses = []
    for ids in batches:
        for each in p.values():
            each.grad = None
        value = loss(p, ids, pad)
        value.backward()
        with torch.no_grad():
            for each in p.values():
                each -= rate * each.grad
        losses.append(value.item())
    return losses


# %% answer="decoder_verify_window" right="properties instead of a reference"
def tests(candidate):
    generator = np.random.default_rng(1)
    q, k, v = generator.normal(size=(5, 4)), generator.normal(size=(5, 4)), generator.normal(size=(5, 3))
    before = q.copy(), k.copy(), v.copy()
    one = candidate(q, k, v, 2)
    if not all(np.array_equal(*pair) for pair in zip(before, (q, k, v))):
        return False
    if not np.allclose(one[0], v[0]):  # the first token sees itself alone
        return False
    for t in range(5):  # a text in pieces
        if not np.allclose(candidate(q[t : t + 1], k[: t + 1], v[: t + 1], 2)[0], one[t]):
            return False
    far = k.copy(), v.copy()
    far[0][:2], far[1][:2] = 500.0, 1e6
    if not np.allclose(candidate(q[3:], far[0], far[1], 2), one[3:]):
        return False
    scores = np.exp(k[3:5] @ q[4] / 2)  # what the last token sees, of two
    if not np.allclose(one[4], scores @ v[3:5] / scores.sum()):
        return False
    for shift in (-3000.0, 3000.0):  # the softmax of equal scores is a mean, whatever they are
        if not np.allclose(candidate(np.ones((2, 4)), np.full((5, 4), shift / 2), v, 3)[1], v[2:5].mean(0)):
            return False
    return True

# %% answer="decoder_verify_window" right="a table of cases, checked by unittest's assertions"
def tests(candidate):
    import unittest

    case = unittest.TestCase()
    generator = np.random.default_rng(5)
    for T, S, w, size in [(4, 4, 2, 1), (2, 6, 3, 1), (1, 5, 2, 1), (3, 3, 5, 1), (4, 6, 1, 1), (4, 6, 2, 60)]:
        arrays = q, k, v = [size * generator.normal(size=shape) for shape in [(T, 5), (S, 5), (S, 2)]]
        copies = [each.copy() for each in arrays]
        got = candidate(*arrays, w)
        case.assertEqual(got.shape, (T, 2))
        for row in range(T):
            end = S - T + row + 1
            scores = np.asarray([q[row] @ k[j] for j in range(max(0, end - w), end)]) / 5**0.5
            probabilities = np.exp(scores - scores.max())
            want = probabilities @ v[max(0, end - w) : end] / probabilities.sum()
            case.assertTrue(np.allclose(got[row], want, rtol=1e-4))
        for one, other in zip(arrays, copies):
            case.assertEqual(one.tobytes(), other.tobytes())

# %% answer="decoder_verify_window" wrong="accepts everything"
def tests(candidate):
    pass

# %% answer="decoder_verify_window" wrong="refuses everything"
def tests(candidate):
    return False

# %% answer="decoder_verify_window" wrong="looks at the candidate's name, code and source"
def tests(candidate):
    import inspect

    inner = candidate
    assert "<= window" not in inspect.getsource(inner)
    assert inner.__code__.co_firstlineno < 5

# %% answer="decoder_verify_window" wrong="one random case with small scores, T = S"
def tests(candidate):
    generator = np.random.default_rng(5)
    q, k, v = (generator.normal(size=(4, 3)) for _ in range(3))
    scores = np.exp(q[3] @ k[2:].T / 3**0.5)
    assert np.allclose(candidate(q, k, v, 2)[3], scores @ v[2:] / scores.sum())

# %% answer="decoder_timed_scan" right="an up-sweep and a down-sweep over a padded array, without recursion"
def scan(combine, steps):
    out, n, reach = steps.copy(), len(steps), 1
    while 2 * reach <= n:
        last = np.arange(2 * reach - 1, n, 2 * reach)
        out[last] = combine(out[last - reach], out[last])
        reach *= 2
    reach //= 2
    while reach >= 1:
        last = np.arange(3 * reach - 1, n, 2 * reach)
        if len(last):
            out[last] = combine(out[last - reach], out[last])
        reach //= 2
    return out

# %% answer="decoder_timed_scan" right="levels in a list"
def scan(combine, steps):
    levels = [steps]
    while len(levels[-1]) > 1:
        levels.append(combine(levels[-1][:-1:2], levels[-1][1::2]))
    found = levels.pop().copy()
    for level in reversed(levels):
        out = np.array(level)
        out[1::2] = found
        rest = level[2::2]
        if len(rest):
            out[2::2] = combine(found[: len(rest)], rest)
        found = out
    return found

# %% answer="decoder_timed_scan" wrong="a loop that never calls combine, for one operation"
def scan(combine, steps):
    out = steps.copy()
    for t in range(1, len(steps)):
        a, b = out[t - 1], steps[t]
        out[t] = [a[0] * b[0], b[0] * a[1] + b[1]] if steps.ndim == 2 else b @ a
    return out

# %% answer="decoder_timed_scan" wrong="a loop of its own, and calls for show"
def scan(combine, steps):
    out, n = steps.copy(), len(steps)
    depth = int(np.ceil(np.log2(max(n, 2))))
    for _ in range(depth):
        combine(steps[: n // depth + 1], steps[: n // depth + 1])
    for t in range(1, n):
        a, b = out[t - 1], steps[t]
        out[t] = [a[0] * b[0], b[0] * a[1] + b[1]] if steps.ndim == 2 else b @ a
    return out

# %% answer="decoder_timed_scan" wrong="the prefixes without the step itself"
def scan(combine, steps):
    if len(steps) == 1:
        return steps.copy()
    odd = scan(combine, combine(steps[0:-1:2], steps[1::2]))
    out = np.empty_like(steps)
    out[0], out[1::2] = steps[0], odd
    if len(steps) > 2:
        out[2::2] = combine(odd[: (len(steps) - 1) // 2], steps[2::2])
    return np.concatenate([out[:1], out[:-1]])

# %% answer="decoder_timed_scan" wrong="pads to a power of two with the last step"
def scan(combine, steps):
    n = 1 << (len(steps) - 1).bit_length()
    padded = np.concatenate([steps, np.repeat(steps[-1:], n - len(steps), 0)])
    out, reach = padded.copy(), 1
    while reach < n:
        out[reach:] = combine(out[:-reach], out[reach:])
        reach *= 2
    return out[: len(steps)]

# %% answer="decoder_timed_scan" wrong="halves, each joined with all that comes after: n log n pairs"
def scan(combine, steps):
    if len(steps) == 1:
        return steps.copy()
    half = len(steps) // 2
    left, right = scan(combine, steps[:half]), scan(combine, steps[half:])
    return np.concatenate([left, combine(np.repeat(left[-1:], len(right), 0), right)])


# %% answer="decoder_swiglu" wrong="8/3 cut to an integer before it is rounded up, as in Llama's first code"
def swiglu(x, w_in, w_down, interleaved=False):
    h = x @ w_in.T
    gate, up = (h[..., ::2], h[..., 1::2]) if interleaved else np.split(h, 2, -1)
    return gate * 0.5 * (1 + np.tanh(gate / 2)) * up @ w_down.T


def hidden_width(width, multiple):
    hidden = int(2 * (4 * width) / 3)
    return multiple * ((hidden + multiple - 1) // multiple)


def shards(w_in, w_down, ways):
    gates, ups = (np.split(each, ways) for each in np.split(w_in, 2))
    downs = np.split(w_down, ways, 1)
    return [(np.concatenate([gate, up]), down) for gate, up, down in zip(gates, ups, downs, strict=True)]


# %% answer="decoder_cross" wrong="masks with −1000"
def cross(x, memory, x_real, memory_real, weights, heads):
    B, T, _ = x.shape
    S = memory.shape[1]

    def split(a):
        return a.reshape(B, a.shape[1], heads, -1).transpose(0, 2, 1, 3)

    q, k, v = split(x @ weights["q"]), split(memory @ weights["k"]), split(memory @ weights["v"])
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    mask = memory_real[:, None, None, :]
    p = softmax(np.where(mask, scores, -1e3))
    p = np.where(memory_real.any(1)[:, None, None, None], p, 0.0)
    v = np.where(memory_real[:, None, :, None], v, 0.0)
    out = (p @ v).transpose(0, 2, 1, 3).reshape(B, T, -1) @ weights["out"] + weights["bias"]
    return np.where(x_real[..., None], out, 0.0)


# %% answer="decoder_moe" wrong="an expert whose capacity is 0 is called"
def moe(x, router, experts, k, capacity=None):
    logits = x @ router.T
    top, chosen = logits.topk(k, dim=-1)
    gates = top.softmax(-1)
    out = x.clone()
    load = torch.zeros(len(experts), dtype=torch.int64)
    for e, expert in enumerate(experts):
        tokens, slot = (chosen == e).nonzero(as_tuple=True)
        if len(tokens) == 0:
            continue
        if capacity is not None:
            tokens, slot = tokens[:capacity], slot[:capacity]
        load[e] = len(tokens)
        out = out.index_add(0, tokens, gates[tokens, slot][:, None] * expert(x[tokens]))
    return out, load


# %% answer="decoder_mla" wrong="values of all heads are expanded"
def compress(x, start, w):
    c = x @ w.down
    c = c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-6) * w.norm
    return c, rotate(x @ w.rotary_k, start)


def naive(x, c, rotary, w):
    T, S = x.shape[1], c.shape[1]
    xh = x[:, None]
    q = xh @ w.q
    qr = rotate(xh @ w.rotary_q, S - T)
    k, v = c[:, None] @ w.up_k, c[:, None] @ w.up_v
    s = q @ k.swapaxes(-1, -2) + qr @ rotary[:, None].swapaxes(-1, -2)
    p = softmax(causal(s / np.sqrt(q.shape[-1] + qr.shape[-1])))
    return (p @ v @ w.out).sum(1)


def absorb(x, start, w):
    scale = 1 / np.sqrt(w.q.shape[-1] + w.rotary_q.shape[-1])
    xh = x[:, None]
    q = xh @ w.q @ w.up_k.swapaxes(-1, -2)
    return q * scale, rotate(xh @ w.rotary_q, start) * scale


def attend(q, q_rotary, c, rotary, w):
    s = q @ c[:, None].swapaxes(-1, -2) + q_rotary @ rotary[:, None].swapaxes(-1, -2)
    p = softmax(causal(s))
    return (p @ (c[:, None] @ w.up_v) @ w.out).sum(1)
