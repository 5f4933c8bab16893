# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 24b` grades them.


# %% answer="llama_predict_cache" right="as first written, from the task alone"
prediction = [14, 3*2*2*8*14, 10+11+12+13+14, 2]


# %% answer="llama_rope" right="after Hugging Face"
import numpy as np
def rotary_tables(positions: Tensor, dim: int, theta: float = 10000.0) -> tuple[Tensor, Tensor]:
    inv = 1.0 / (theta ** (arange(0, dim, 2, device=positions.device).float() / dim))
    f = positions.float()[:, None] * inv[None, :]
    e = cat((f, f), dim=-1)
    return e.cos(), e.sin()


def rotate_half(x: Tensor) -> Tensor:
    h = x.shape[-1] // 2
    return cat((-x[..., h:], x[..., :h]), dim=-1)


def apply_rotary(x: Tensor, positions: Tensor, theta: float = 10000.0) -> Tensor:
    cos, sin = rotary_tables(positions, x.size(-1), theta)
    return (x * cos) + (rotate_half(x) * sin)


# %% answer="llama_rope" wrong="turns the other way"
def rotary_tables(positions: Tensor, dim: int, theta: float = 10000.0) -> tuple[Tensor, Tensor]:
    inv = theta ** (-arange(0, dim, 2, device=positions.device).float() / dim)
    ang = positions.float().unsqueeze(1) * inv.unsqueeze(0)
    ang = cat([ang, ang], -1)
    return ang.cos(), ang.sin()


def rotate_half(x: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return cat([-b, a], -1)


def apply_rotary(x: Tensor, positions: Tensor, theta: float = 10000.0) -> Tensor:
    cos, sin = rotary_tables(positions, x.shape[-1], theta)
    return x * cos - rotate_half(x) * sin


# %% answer="llama_gqa" right="stacks, with an import"
from mytorch import stack


def repeat_kv(x: Tensor, times: int) -> Tensor:
    return stack([x] * times, 2).flatten(1, 2)


def append(self, *new: Tensor) -> tuple[Tensor, ...]:
    if self.kept:
        self.kept = tuple(cat([a, b], 2) for a, b in zip(self.kept, new))
    else:
        self.kept = tuple(new)
    return self.kept


def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
    N, T, C = x.shape
    start = len(cache) if cache is not None else 0
    q = split_heads(self.q_proj(x), self.heads)
    k = split_heads(self.k_proj(x), self.kv_heads)
    v = split_heads(self.v_proj(x), self.kv_heads)
    if self.theta is not None:
        pos = arange(start, start + T, device=x.device)
        q = apply_rotary(q, pos, self.theta)
        k = apply_rotary(k, pos, self.theta)
    if cache is not None:
        k, v = cache.append(k, v)
    S = k.shape[2]
    mask = arange(S, device=x.device).unsqueeze(0) <= (arange(T, device=x.device) + (S - T)).unsqueeze(1)
    times = self.heads // self.kv_heads
    out = scaled_dot_product_attention(q, repeat_kv(k, times), repeat_kv(v, times), mask)
    return self.o_proj(merge_heads(out))


# %% answer="llama_gqa" right="grouped scores, stacked heads"
def repeat_kv(x: Tensor, times: int) -> Tensor:
    from mytorch import stack
    return stack([x] * times, 2).flatten(1, 2)


def append(self, *new: Tensor) -> tuple[Tensor, ...]:
    self.kept = tuple(cat((a, b), -2) for a, b in zip(self.kept, new)) or new
    return self.kept


def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
    N, T, C = x.shape
    p0 = 0 if cache is None else len(cache)
    q, k, v = (f(x).reshape(N, T, h, -1).transpose(1, 2) for f, h in ((self.q_proj, self.heads), (self.k_proj, self.kv_heads), (self.v_proj, self.kv_heads)))
    if self.theta:
        pos = arange(p0, p0 + T, device=x.device)
        q, k = apply_rotary(q, pos, self.theta), apply_rotary(k, pos, self.theta)
    if cache is not None:
        k, v = cache.append(k, v)
    D, S = q.shape[-1], k.shape[-2]
    g = self.heads // self.kv_heads
    qg = q.reshape(N, self.kv_heads, g, T, D)
    s = qg @ k.unsqueeze(2).mT * D ** -0.5
    keep = (arange(S, device=x.device)[None] <= arange(p0, p0 + T, device=x.device)[:, None])
    s = s.masked_fill(~keep, float("-inf"))
    o = s.softmax(-1) @ v.unsqueeze(2)
    return self.o_proj(o.reshape(N, self.heads, T, D).transpose(1, 2).reshape(N, T, C))


# %% answer="llama_gqa" wrong="heads a, b, a, b"
def repeat_kv(x: Tensor, times: int) -> Tensor:
    N, H, T, D = x.shape
    return x.unsqueeze(1).expand(N, times, H, T, D).reshape(N, H * times, T, D)


def append(self, *new: Tensor) -> tuple[Tensor, ...]:
    if self.kept:
        self.kept = tuple(cat([a, b], 2) for a, b in zip(self.kept, new))
    else:
        self.kept = tuple(new)
    return self.kept


def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
    N, T, C = x.shape
    start = len(cache) if cache is not None else 0
    q = split_heads(self.q_proj(x), self.heads)
    k = split_heads(self.k_proj(x), self.kv_heads)
    v = split_heads(self.v_proj(x), self.kv_heads)
    if self.theta is not None:
        pos = arange(start, start + T, device=x.device)
        q = apply_rotary(q, pos, self.theta)
        k = apply_rotary(k, pos, self.theta)
    if cache is not None:
        k, v = cache.append(k, v)
    S = k.shape[2]
    mask = arange(S, device=x.device).unsqueeze(0) <= (arange(T, device=x.device) + (S - T)).unsqueeze(1)
    times = self.heads // self.kv_heads
    out = scaled_dot_product_attention(q, repeat_kv(k, times), repeat_kv(v, times), mask)
    return self.o_proj(merge_heads(out))


# %% answer="llama_gqa" wrong="positions always from 0"
def repeat_kv(x: Tensor, times: int) -> Tensor:
    N, H, T, D = x.shape
    return x.unsqueeze(2).expand(N, H, times, T, D).reshape(N, H * times, T, D)


def append(self, *new: Tensor) -> tuple[Tensor, ...]:
    if self.kept:
        self.kept = tuple(cat([a, b], 2) for a, b in zip(self.kept, new))
    else:
        self.kept = tuple(new)
    return self.kept


def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
    N, T, C = x.shape
    start = 0
    q = split_heads(self.q_proj(x), self.heads)
    k = split_heads(self.k_proj(x), self.kv_heads)
    v = split_heads(self.v_proj(x), self.kv_heads)
    if self.theta is not None:
        pos = arange(start, start + T, device=x.device)
        q = apply_rotary(q, pos, self.theta)
        k = apply_rotary(k, pos, self.theta)
    if cache is not None:
        k, v = cache.append(k, v)
    S = k.shape[2]
    mask = arange(S, device=x.device).unsqueeze(0) <= (arange(T, device=x.device) + (S - T)).unsqueeze(1)
    times = self.heads // self.kv_heads
    out = scaled_dot_product_attention(q, repeat_kv(k, times), repeat_kv(v, times), mask)
    return self.o_proj(merge_heads(out))


# %% answer="llama_gqa" wrong="cache holds the repeated heads"
def repeat_kv(x: Tensor, times: int) -> Tensor:
    N, H, T, D = x.shape
    return x.unsqueeze(2).expand(N, H, times, T, D).reshape(N, H * times, T, D)


def append(self, *new: Tensor) -> tuple[Tensor, ...]:
    if self.kept:
        self.kept = tuple(cat([a, b], 2) for a, b in zip(self.kept, new))
    else:
        self.kept = tuple(new)
    return self.kept


def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
    N, T, C = x.shape
    start = len(cache) if cache is not None else 0
    q = split_heads(self.q_proj(x), self.heads)
    k = split_heads(self.k_proj(x), self.kv_heads)
    v = split_heads(self.v_proj(x), self.kv_heads)
    if self.theta is not None:
        pos = arange(start, start + T, device=x.device)
        q = apply_rotary(q, pos, self.theta)
        k = apply_rotary(k, pos, self.theta)
    if cache is not None:
        k, v = cache.append(repeat_kv(k, self.heads // self.kv_heads), repeat_kv(v, self.heads // self.kv_heads))
    S = k.shape[2]
    mask = arange(S, device=x.device).unsqueeze(0) <= (arange(T, device=x.device) + (S - T)).unsqueeze(1)
    times = self.heads // k.shape[1]
    out = scaled_dot_product_attention(q, repeat_kv(k, times), repeat_kv(v, times), mask)
    return self.o_proj(merge_heads(out))


# %% answer="llama_gqa" wrong="theta with its default"
def forward(self, x, cache=None):
    length = x.shape[1]
    kept = len(cache) if cache is not None else 0
    q = split_heads(self.q_proj(x), self.heads)
    k = split_heads(self.k_proj(x), self.kv_heads)
    v = split_heads(self.v_proj(x), self.kv_heads)
    if self.theta is not None:
        positions = arange(kept, kept + length, device=x.device)
        q, k = apply_rotary(q, positions), apply_rotary(k, positions)
    if cache is not None:
        k, v = cache.append(k, v)
    times = self.heads // self.kv_heads
    k, v = repeat_kv(k, times), repeat_kv(v, times)
    mask = ones(length, kept + length, dtype=boolean, device=x.device).tril(kept)
    return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask)))


# %% answer="llama_sampler" wrong="nothing is left at top_p = 0"
from mytorch import zeros_like

def probabilities(logits: Tensor, temperature: float = 1, top_k: int | None = None, top_p: float = 1) -> Tensor:
    if temperature == 0:
        p = zeros_like(logits)
        return p.scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        k = min(top_k, logits.shape[-1])
        kth = logits.topk(k, -1)[0][:, -1:]
        logits = logits.masked_fill(logits < kth, float("-inf"))
    p = logits.softmax(-1)
    if top_p < 1:
        s, idx = p.sort(-1, descending=True)
        before = s.cumsum(-1) - s
        s = s.masked_fill(before >= top_p, 0.0)
        p = zeros_like(p).scatter(-1, idx, s)
        p = p / p.sum(-1, keepdim=True)
    return p


# %% answer="llama_sampler" right="scatters the sorted ones, of which the first stays"
from mytorch import zeros_like


def probabilities(logits: Tensor, temperature: float = 1, top_k: int | None = None, top_p: float = 1) -> Tensor:
    if temperature == 0:
        p = zeros_like(logits)
        return p.scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        k = min(top_k, logits.shape[-1])
        kth = logits.topk(k, -1)[0][:, -1:]
        logits = logits.masked_fill(logits < kth, float("-inf"))
    p = logits.softmax(-1)
    if top_p < 1:
        s, idx = p.sort(-1, descending=True)
        before = s.cumsum(-1) - s
        s = s.masked_fill((before > 0) & (before >= top_p), 0.0)
        p = zeros_like(p).scatter(-1, idx, s)
        p = p / p.sum(-1, keepdim=True)
    return p


# %% answer="llama_sampler" right="by NumPy"
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    import numpy as np
    import mytorch
    x = logits.numpy().astype("float64")
    out = np.zeros_like(x)
    for i, row in enumerate(x):
        if temperature == 0:
            out[i, row.argmax()] = 1
            continue
        row = row / temperature
        order = np.argsort(-row)
        if top_k:
            order = order[:top_k]
        e = np.exp(row[order] - row.max())
        e /= e.sum()
        n = max(int((e.cumsum() - e < top_p).sum()), 1) if top_p < 1 else len(e)
        out[i, order[:n]] = e[:n] / e[:n].sum()
    return mytorch.tensor(out.astype("float32").tolist())


# %% answer="llama_sampler" wrong="drops the token that reaches top_p"
from mytorch import zeros_like

def probabilities(logits: Tensor, temperature: float = 1, top_k: int | None = None, top_p: float = 1) -> Tensor:
    if temperature == 0:
        p = zeros_like(logits)
        return p.scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    if top_k is not None:
        k = min(top_k, logits.shape[-1])
        kth = logits.topk(k, -1)[0][:, -1:]
        logits = logits.masked_fill(logits < kth, float("-inf"))
    p = logits.softmax(-1)
    if top_p < 1:
        s, idx = p.sort(-1, descending=True)
        before = s.cumsum(-1) - s
        s = s.masked_fill(s.cumsum(-1) > top_p, 0.0)
        p = zeros_like(p).scatter(-1, idx, s)
        p = p / p.sum(-1, keepdim=True)
    return p


# %% answer="llama_sampler" wrong="top_p of the shares before top_k"
from mytorch import zeros_like

def probabilities(logits: Tensor, temperature: float = 1, top_k: int | None = None, top_p: float = 1) -> Tensor:
    if temperature == 0:
        p = zeros_like(logits)
        return p.scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    logits = logits / temperature
    base = logits.softmax(-1)
    if top_k is not None:
        k = min(top_k, logits.shape[-1])
        kth = logits.topk(k, -1)[0][:, -1:]
        logits = logits.masked_fill(logits < kth, float("-inf"))
    p = logits.softmax(-1)
    if top_p < 1:
        s, idx = p.sort(-1, descending=True)
        before = base.sort(-1, descending=True)[0].cumsum(-1) - base.sort(-1, descending=True)[0]
        s = s.masked_fill(before >= top_p, 0.0)
        p = zeros_like(p).scatter(-1, idx, s)
        p = p / p.sum(-1, keepdim=True)
    return p


# %% answer="llama_sampler" wrong="temperature 0 is 0.001"
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    logits = logits / max(temperature, 1e-3)
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    shares = softmax(logits, -1)
    ordered = shares.sort(-1, descending=True).values
    lowest = ordered.masked_fill(ordered.cumsum(-1) - ordered >= max(top_p, 1e-9), math.inf).amin(-1, keepdim=True)
    shares = shares.masked_fill(shares < lowest, 0.0)
    return shares / shares.sum(-1, keepdim=True)


# %% answer="llama_speculative" wrong="absolute difference"
def speculate(p, q, drafted, chances, draw):
    out = []
    for i, (t, u) in enumerate(zip(drafted, chances)):
        if u < min(1.0, (p[i, t] / q[i, t]).item()):
            out.append(t)
        else:
            r = (p[i] - q[i]).abs()
            return out + [draw(r / r.sum())]
    return out + [draw(p[len(drafted)])]


# %% answer="llama_speculative" wrong="cuts the caller's drafts"
def speculate(p, q, drafted, chances, draw):
    for i in range(len(drafted)):
        if chances[i] >= float(p[i, drafted[i]] / q[i, drafted[i]]):
            rest = (p[i] - q[i]).clamp(min=0)
            del drafted[i:]
            drafted.append(draw(rest / rest.sum()))
            return drafted
    drafted.append(draw(p[-1]))
    return drafted


# %% answer="llama_repair_pieces" right="as first written, from the task alone"
def attend(q, k, v, padding):
    T, S = q.shape[-2], k.shape[-2]
    allowed = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed & ~padding[:, None, None, :])


# %% answer="llama_repair_pieces" right="own softmax with -1e30"
def attend(q, k, v, padding):
    T, S = q.shape[-2], k.shape[-2]
    i = torch.arange(S - T, S)[:, None]
    j = torch.arange(S)[None]
    mask = (j <= i) & ~padding[:, None, None, :]
    s = (q @ k.transpose(-1, -2)) / q.shape[-1] ** 0.5
    s = s.masked_fill(~mask, -1e30)
    return s.softmax(-1) @ v


# %% answer="llama_repair_pieces" wrong="causal for equal lengths only"
def attend(q, k, v, padding):
    T, S = q.shape[-2], k.shape[-2]
    allowed = torch.ones(T, S, dtype=torch.bool).tril() if S == T else torch.ones(T, S, dtype=torch.bool)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed & ~padding[:, None, None, :])


# %% answer="llama_repair_pieces" wrong="padding of the queries"
def attend(q, k, v, padding):
    T, S = q.shape[-2], k.shape[-2]
    allowed = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed & ~padding[:, None, -T:, None])


# %% answer="llama_repair_pieces" wrong="or for and"
def attend(q, k, v, padding):
    T, S = q.shape[-2], k.shape[-2]
    allowed = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed | ~padding[:, None, None, :])


# %% answer="llama_measure_width" right="as first written, from the task alone"
def widths(flops, budget: int, choices: list[int]) -> list[int]:
    out = []
    for kv in choices:
        a, b = flops(kv, 1), flops(kv, 2)
        slope = b - a
        out.append((budget - a) // slope + 1)
    return out


# %% answer="llama_measure_width" wrong="one too small"
def widths(flops, budget: int, choices: list[int]) -> list[int]:
    out = []
    for kv in choices:
        a, b = flops(kv, 1), flops(kv, 2)
        slope = b - a
        out.append((budget - a) // slope)
    return out


# %% answer="llama_measure_width" wrong="bisection, 48 calls"
def widths(flops, budget, choices):
    out = []
    for kv in choices:
        lo, hi = 1, 4096
        while lo < hi:
            m = (lo + hi + 1) // 2
            lo, hi = (m, hi) if flops(kv, m) <= budget else (lo, m - 1)
        out.append(lo)
    return out


# %% answer="llama_measure_width" wrong="strictly below the budget"
def widths(flops, budget, choices):
    out = []
    for c in choices:
        a, b = flops(c, 1), flops(c, 2)
        out.append((budget - a - 1) // (b - a) + 1)
    return out


# %% answer="llama_gqa" wrong="what was cached before is a constant" spoils="append"
def append(self, *new):
    kept = [each.detach() for each in self.kept]
    self.kept = tuple(cat([old, each], 2) for old, each in zip(kept, new, strict=True)) if kept else new
    return self.kept


# %% answer="llama_sampler" right="sums of all larger probabilities, compared pair by pair"
def probabilities(logits: Tensor, temperature: float = 1, top_k: int | None = None, top_p: float = 1) -> Tensor:
    if temperature == 0:
        return probabilities(logits, top_k=1)
    scaled = logits / temperature
    if top_k is not None:
        ordered = scaled.sort(-1, descending=True).values
        scaled = scaled.masked_fill(scaled < ordered[:, :top_k][:, -1:], -float("inf"))
    chances = softmax(scaled, -1)
    if top_p < 1:
        larger = chances.unsqueeze(-2) > chances.unsqueeze(-1)
        before = (larger.to(chances.dtype) * chances.unsqueeze(-2)).sum(-1)
        chances = chances.masked_fill((before >= top_p) & larger.any(-1), 0.0)
    return chances / chances.sum(-1, keepdim=True)


# %% answer="llama_sampler" wrong="removed logits become -100, which isn't nothing next to logits below it ('all others get 0')"
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    if temperature == 0:
        best = (logits == logits.amax(-1, keepdim=True)) * 1.0
        return best / best.sum(-1, keepdim=True)
    logits = logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        least = logits.sort(dim=-1, descending=True)[0][:, top_k - 1 : top_k]
        logits = logits.masked_fill(logits < least, -100.0)
    p = softmax(logits, -1)
    ordered = p.sort(dim=-1, descending=True)[0]
    count = ((ordered.cumsum(-1) - ordered < top_p).sum(-1, keepdim=True)).clamp(min=1)
    p = p.masked_fill(p < ordered.gather(-1, count - 1), 0.0)
    return p / p.sum(-1, keepdim=True)


# %% answer="llama_sampler" right="ranks by a second sort, so that equally likely tokens aren't kept"
def probabilities(logits, temperature=1, top_k=None, top_p=1):
    order = logits.argsort(dim=-1, descending=True)
    rank = order.argsort(dim=-1)
    if temperature == 0:
        return (rank == 0) * 1.0
    logits = logits / temperature
    if top_k is not None:
        logits = logits.masked_fill(rank >= top_k, float("-inf"))
    p = softmax(logits, -1)
    sums = p.gather(-1, order).cumsum(-1)
    p = p * (rank < 1 + (sums < top_p).sum(-1, keepdim=True))
    return p / p.sum(-1, keepdim=True)


# %% answer="llama_rope" wrong="a dimension counted for four" spoils="rotate_half"
def rotate_half(x):
    from mytorch import cat
    half = x.shape[-1] // 2
    return cat([-x[..., half:], x[..., :half]], 1 if x.ndim < 4 else 3) if x.ndim > 1 else cat([-x[half:], x[:half]])


# %% answer="llama_rope" right="chunks of the last dimension"
def rotate_half(x):
    from mytorch import cat
    a, b = x.chunk(2, -1)
    return cat((b * -1, a), dim=x.ndim - 1)


# %% answer="llama_sampler" wrong="at temperature 0 the largest logit of the batch, not of the row"
def probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        best = (logits == logits.max()).float()
        return best / best.sum(-1, keepdim=True)
    logits = logits / temperature
    if top_k is not None:
        least = logits.sort(-1, True)[0][:, min(top_k, logits.shape[-1]) - 1:][:, :1]
        logits = logits.masked_fill(logits < least, -float("inf"))
    p = softmax(logits, -1)
    if top_p is not None:
        s, order = p.sort(-1, True)
        keep = s.cumsum(-1) - s < top_p
        keep[:, 0] = True
        low = s.masked_fill(~keep, 2.0).amin(-1, keepdim=True)
        p = p.masked_fill(p < low, 0.0)
        p = p / p.sum(-1, keepdim=True)
    return p


# %% answer="llama_speculative" wrong="without drafts it draws from another row"
def speculate(p, q, drafted, chances, draw):
    for i in range(len(q)):
        t = drafted[i]
        if chances[i] >= (p[i, t] / q[i, t]).item():
            rest = (p[i] - q[i]).clamp(min=0)
            return drafted[:i] + [draw(rest / rest.sum())]
    return drafted + [draw(p[len(drafted) - 1 + 1 if drafted else -2])]


# %% answer="llama_speculative" right="relu, and a list that grows"
def speculate(p, q, drafted, chances, draw):
    for i, (t, c) in enumerate(zip(drafted, chances)):
        if c >= p[i, t] / q[i, t]:
            rest = torch.relu(p[i] - q[i])
            rest /= rest.sum()
            return [*drafted[:i], draw(rest)]
    drafted = list(drafted)
    drafted.append(draw(p[len(q)]))
    return drafted


# %% answer="llama_repair_pieces" right="positions compared"
def attend(q, k, v, padding):
    T, S = q.shape[-2], k.shape[-2]
    i = torch.arange(T)[:, None] + S - T
    return F.scaled_dot_product_attention(q, k, v, attn_mask=(torch.arange(S) <= i) & ~padding[:, None, None])


# %% answer="llama_measure_width" right="the step of the width is the same for all heads"
def widths(flops, budget, choices):
    one, two = flops(choices[0], 1), flops(choices[0], 2)
    return [1 + (budget - flops(kv, 1)) // (two - one) - (0 if kv == choices[0] else 0) for kv in choices]
