# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 14` grades them.


# %% answer="attention_predict_changes" right="as first written, from the task alone"
prediction = [4, 6, 1]


# %% answer="attention_scaled_dot_product" right="as first written, from the task alone"
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    check_attention(query, key, value, attn_mask, is_causal)
    L, S = query.shape[-2], key.shape[-2]
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    if is_causal:
        attn_mask = ones(L, S, dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * scale
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
        dead = (scores == -math.inf).all(-1, keepdim=True)
        scores = scores.masked_fill(dead, 0.0)
        weights = softmax(scores, -1).masked_fill(dead, 0.0)
    else:
        weights = softmax(scores, -1)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_scaled_dot_product" right="own softmax"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    import mytorch
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query * scale) @ key.transpose(-1, -2)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    if attn_mask is None:
        return dropout(scores.softmax(-1), dropout_p) @ value
    bias = additive(attn_mask, scores.dtype)
    s = scores + bias
    top = s.amax(-1, keepdim=True).detach()
    top = top.masked_fill(top == -math.inf, 0.0)
    e = (s - top).exp()
    z = e.sum(-1, keepdim=True)
    return dropout(e / z.masked_fill(z == 0, 1.0), dropout_p) @ value


# %% answer="attention_scaled_dot_product" wrong="rows without keys only zeroed at the end"
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    check_attention(query, key, value, attn_mask, is_causal)
    L, S = query.shape[-2], key.shape[-2]
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    if is_causal:
        attn_mask = ones(L, S, dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * scale
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
        dead = (scores == -math.inf).all(-1, keepdim=True)
        weights = softmax(scores, -1).masked_fill(dead, 0.0)
    else:
        weights = softmax(scores, -1)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_scaled_dot_product" wrong="causal mask from the lower right"
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    check_attention(query, key, value, attn_mask, is_causal)
    L, S = query.shape[-2], key.shape[-2]
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    if is_causal:
        attn_mask = ones(L, S, dtype=boolean, device=query.device).tril(S - L)
    scores = query @ key.mT * scale
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
        dead = (scores == -math.inf).all(-1, keepdim=True)
        scores = scores.masked_fill(dead, 0.0)
        weights = softmax(scores, -1).masked_fill(dead, 0.0)
    else:
        weights = softmax(scores, -1)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_scaled_dot_product" wrong="scale from the values"
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    check_attention(query, key, value, attn_mask, is_causal)
    L, S = query.shape[-2], key.shape[-2]
    if scale is None:
        scale = 1 / math.sqrt(value.shape[-1])
    if is_causal:
        attn_mask = ones(L, S, dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * scale
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
        dead = (scores == -math.inf).all(-1, keepdim=True)
        scores = scores.masked_fill(dead, 0.0)
        weights = softmax(scores, -1).masked_fill(dead, 0.0)
    else:
        weights = softmax(scores, -1)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_heads" right="permute, contiguous, view"
def split_heads(x: Tensor, heads: int) -> Tensor:
    N, L, E = x.shape
    return x.reshape(N, L, heads, E // heads).permute(0, 2, 1, 3)


def merge_heads(x: Tensor) -> Tensor:
    N, H, L, D = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(N, L, H * D)


def attend(self, query, key, value, mask, need_weights):
    w = self.in_proj_weight.chunk(3)
    b = self.in_proj_bias.chunk(3) if self.in_proj_bias is not None else [None] * 3
    q, k, v = [split_heads(linear(x, ww, bb), self.num_heads) for x, ww, bb in zip((query, key, value), w, b)]
    p = self.dropout if self.training else 0.0
    if not need_weights:
        out, weights = scaled_dot_product_attention(q, k, v, mask, p), None
    else:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + mask
        weights = dropout(softmax(scores, -1), p)
        out = weights @ v
    return self.out_proj(merge_heads(out)), weights


# %% answer="attention_heads" wrong="reshape for the swap when splitting"
def split_heads(x: Tensor, heads: int) -> Tensor:
    N, L, E = x.shape
    return x.reshape(N, heads, L, E // heads)


def merge_heads(x: Tensor) -> Tensor:
    N, H, L, D = x.shape
    return x.transpose(1, 2).reshape(N, L, H * D)


def attend(self, query, key, value, mask, need_weights):
    w = self.in_proj_weight.chunk(3)
    b = self.in_proj_bias.chunk(3) if self.in_proj_bias is not None else [None] * 3
    q, k, v = [split_heads(linear(x, ww, bb), self.num_heads) for x, ww, bb in zip((query, key, value), w, b)]
    p = self.dropout if self.training else 0.0
    if not need_weights:
        out, weights = scaled_dot_product_attention(q, k, v, mask, p), None
    else:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + mask
        weights = dropout(softmax(scores, -1), p)
        out = weights @ v
    return self.out_proj(merge_heads(out)), weights


# %% answer="attention_heads" wrong="reshape for the swap when joining"
def split_heads(x: Tensor, heads: int) -> Tensor:
    N, L, E = x.shape
    return x.reshape(N, L, heads, E // heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    N, H, L, D = x.shape
    return x.reshape(N, L, H * D)


def attend(self, query, key, value, mask, need_weights):
    w = self.in_proj_weight.chunk(3)
    b = self.in_proj_bias.chunk(3) if self.in_proj_bias is not None else [None] * 3
    q, k, v = [split_heads(linear(x, ww, bb), self.num_heads) for x, ww, bb in zip((query, key, value), w, b)]
    p = self.dropout if self.training else 0.0
    if not need_weights:
        out, weights = scaled_dot_product_attention(q, k, v, mask, p), None
    else:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + mask
        weights = dropout(softmax(scores, -1), p)
        out = weights @ v
    return self.out_proj(merge_heads(out)), weights


# %% answer="attention_heads" wrong="dropout in evaluation, too"
def split_heads(x: Tensor, heads: int) -> Tensor:
    N, L, E = x.shape
    return x.reshape(N, L, heads, E // heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    N, H, L, D = x.shape
    return x.transpose(1, 2).reshape(N, L, H * D)


def attend(self, query, key, value, mask, need_weights):
    w = self.in_proj_weight.chunk(3)
    b = self.in_proj_bias.chunk(3) if self.in_proj_bias is not None else [None] * 3
    q, k, v = [split_heads(linear(x, ww, bb), self.num_heads) for x, ww, bb in zip((query, key, value), w, b)]
    p = self.dropout
    if not need_weights:
        out, weights = scaled_dot_product_attention(q, k, v, mask, p), None
    else:
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + mask
        weights = dropout(softmax(scores, -1), p)
        out = weights @ v
    return self.out_proj(merge_heads(out)), weights


# %% answer="attention_draw_tokens" right="as first written, from the task alone"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source = default_generator if generator is None else generator
    w = on_host(input)
    flat = w.ndim == 1
    w = w.reshape(1, -1) if flat else w
    if not replacement or num_samples == 1:
        e = exponential(source, w.size, w.dtype).reshape(w.shape)
        order = np.argsort(-(w / e), axis=1, kind="stable")[:, :num_samples]
    else:
        u = source.uniform(w.shape[0] * num_samples, 53).reshape(w.shape[0], num_samples)
        c = w.cumsum(1) / w.cumsum(1)[:, -1:]
        order = (c[:, None, :] < u[:, :, None]).sum(-1)
    order = order.astype(np.int64)
    return new(order[0] if flat else order, input.device)


# %% answer="attention_draw_tokens" right="lexsort"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source = default_generator if generator is None else generator
    w = on_host(input)
    flat = w.ndim == 1
    w = w.reshape(1, -1) if flat else w
    if not replacement or num_samples == 1:
        e = exponential(source, w.size, w.dtype).reshape(w.shape)
        order = np.lexsort((np.arange(w.shape[1]) + 0 * w, -(w / e)), axis=-1)[:, :num_samples]
    else:
        u = source.uniform(w.shape[0] * num_samples, 53).reshape(w.shape[0], num_samples)
        c = w.cumsum(1) / w.cumsum(1)[:, -1:]
        order = (c[:, None, :] < u[:, :, None]).sum(-1)
    order = order.astype(np.int64)
    return new(order[0] if flat else order, input.device)


# %% answer="attention_draw_tokens" wrong="<= at the borders"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source = default_generator if generator is None else generator
    w = on_host(input)
    flat = w.ndim == 1
    w = w.reshape(1, -1) if flat else w
    if not replacement or num_samples == 1:
        e = exponential(source, w.size, w.dtype).reshape(w.shape)
        order = np.argsort(-(w / e), axis=1, kind="stable")[:, :num_samples]
    else:
        u = source.uniform(w.shape[0] * num_samples, 53).reshape(w.shape[0], num_samples)
        c = w.cumsum(1) / w.cumsum(1)[:, -1:]
        order = (c[:, None, :] <= u[:, :, None]).sum(-1)
    order = order.astype(np.int64)
    return new(order[0] if flat else order, input.device)


# %% answer="attention_draw_tokens" wrong="no case for one sample"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source = default_generator if generator is None else generator
    w = on_host(input)
    flat = w.ndim == 1
    w = w.reshape(1, -1) if flat else w
    if not replacement:
        e = exponential(source, w.size, w.dtype).reshape(w.shape)
        order = np.argsort(-(w / e), axis=1, kind="stable")[:, :num_samples]
    else:
        u = source.uniform(w.shape[0] * num_samples, 53).reshape(w.shape[0], num_samples)
        c = w.cumsum(1) / w.cumsum(1)[:, -1:]
        order = (c[:, None, :] < u[:, :, None]).sum(-1)
    order = order.astype(np.int64)
    return new(order[0] if flat else order, input.device)


# %% answer="attention_draw_tokens" wrong="exponential numbers in float64"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source = default_generator if generator is None else generator
    w = on_host(input)
    flat = w.ndim == 1
    w = w.reshape(1, -1) if flat else w
    if not replacement or num_samples == 1:
        e = exponential(source, w.size, np.float64).reshape(w.shape)
        order = np.argsort(-(w / e), axis=1, kind="stable")[:, :num_samples]
    else:
        u = source.uniform(w.shape[0] * num_samples, 53).reshape(w.shape[0], num_samples)
        c = w.cumsum(1) / w.cumsum(1)[:, -1:]
        order = (c[:, None, :] < u[:, :, None]).sum(-1)
    order = order.astype(np.int64)
    return new(order[0] if flat else order, input.device)


# %% answer="attention_kv_cache" wrong="is_causal for more than one token"
class CachedAttention:
    def __init__(self, layer):
        self.layer = layer
        self.keys = self.values = None

    def step(self, x: torch.Tensor) -> torch.Tensor:
        B, T, C = x.shape
        h = self.layer.n_head
        q, k, v = (t.reshape(B, T, h, C // h).transpose(1, 2) for t in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        S = k.shape[2]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% answer="attention_repair_mask" right="as first written, from the task alone"
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    dead = hidden.all(-1, keepdim=True)
    scores = scores.masked_fill(hidden & ~dead, float("-inf"))
    weights = scores.softmax(-1)
    return weights.masked_fill(hidden, 0.0) @ value


# %% answer="attention_repair_mask" right="-1e9 for -inf"
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    dead = hidden.all(-1, keepdim=True)
    scores = scores.masked_fill(hidden, -1e9)
    weights = scores.softmax(-1)
    return weights.masked_fill(hidden, 0.0) @ value


# %% answer="attention_repair_mask" right="adds -1e4"
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    dead = hidden.all(-1, keepdim=True)
    scores = scores + hidden * -1e4
    weights = scores.softmax(-1)
    return weights.masked_fill(hidden, 0.0) @ value


# %% answer="attention_repair_mask" right="the library's function with the mask inverted"
def padded_attention(query, key, value, padding):
    mask = ~padding[:, None, :].expand(-1, query.shape[1], -1)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


# %% answer="attention_measure_square" right="as first written, from the task alone"
def takes_over(width: int, heads: int) -> int:
    layer = build(width, heads)
    def reached(n):
        c = multiplications(lambda: feed(layer, n))
        return sum(m for s, m in c if len(s) == 4) >= sum(m for s, m in c if len(s) == 3)
    n = 1
    while not reached(n):
        n += 1
    return n


# %% answer="attention_measure_square" right="doubling and bisection"
def takes_over(width, heads):
    layer = build(width, heads)
    lo, hi = 1, 1
    def ok(n):
        c = multiplications(lambda: feed(layer, n))
        return sum(m for s, m in c if len(s) == 4) >= sum(m for s, m in c if len(s) == 3)
    while not ok(hi):
        hi *= 2
    while lo < hi:
        mid = (lo + hi) // 2
        lo, hi = (lo, mid) if ok(mid) else (mid + 1, hi)
    return lo


# %% answer="attention_measure_square" right="closed form from one token"
def takes_over(width, heads):
    layer = build(width, heads)
    c = multiplications(lambda: feed(layer, 1))
    lin = sum(m for s, m in c if len(s) == 3)
    att = sum(m for s, m in c if len(s) == 4)
    return -(-lin // att)


# %% answer="attention_measure_square" wrong="twice the width"
def takes_over(width: int, heads: int) -> int:
    return 2 * width


# %% answer="attention_measure_square" wrong="> for >="
def takes_over(width: int, heads: int) -> int:
    layer = build(width, heads)
    def reached(n):
        c = multiplications(lambda: feed(layer, n))
        return sum(m for s, m in c if len(s) == 4) > sum(m for s, m in c if len(s) == 3)
    n = 1
    while not reached(n):
        n += 1
    return n


# %% answer="attention_module" wrong="out_proj initialized before the other weights"
def __init__(
    self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, *, batch_first: bool = False
) -> None:
    super(MultiheadAttention, self).__init__()
    assert embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads"
    self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
    self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
    if bias:
        self.in_proj_bias = Parameter(zeros(3 * embed_dim))
    else:
        self.register_parameter("in_proj_bias", None)
    xavier_uniform_(self.in_proj_weight)
    self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
    if bias:
        constant_(self.out_proj.bias, 0.0)


def forward(
    self,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
) -> tuple[Tensor, Tensor | None]:
    single = query.ndim == 2
    if single:
        query, key, value = (x.unsqueeze(0) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    elif not self.batch_first:
        query, key, value = (x.transpose(0, 1) for x in (query, key, value))
    mask = self.merged(attn_mask, key_padding_mask, query.dtype)
    out, w = self.attend(query, key, value, mask, need_weights)
    if w is not None and average_attn_weights:
        w = w.mean(1)
    if single:
        out = out.squeeze(0)
        w = None if w is None else w.squeeze(0)
    elif not self.batch_first:
        out = out.transpose(0, 1)
    return out, w
