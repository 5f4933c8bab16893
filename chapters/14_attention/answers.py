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


# %% answer="attention_repair_mask" wrong="adds -1e4, which isn't below every score"
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


# %% answer="attention_scaled_dot_product" wrong="drops elements of the result, not weights"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights @ value, dropout_p)


# %% answer="attention_scaled_dot_product" wrong="the mask is scaled as well"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0) * scale, -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_scaled_dot_product" wrong="only a boolean mask can hide all keys"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is None:
        return dropout(softmax(scores, -1), dropout_p) @ value
    if attn_mask.dtype is boolean:
        nowhere = (~attn_mask).all(-1, keepdim=True)
        scores = scores.masked_fill(~attn_mask & ~nowhere, -math.inf)
        return dropout(softmax(scores, -1).masked_fill(nowhere, 0.0), dropout_p) @ value
    return dropout(softmax(scores + attn_mask, -1), dropout_p) @ value


# %% answer="attention_scaled_dot_product" wrong="the mask is float32, whatever the scores are"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, float32)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value.to(weights.dtype)


# %% answer="attention_scaled_dot_product" wrong="no check of the arguments"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_scaled_dot_product" right="looks for hidden queries without a mask as well, and fills with another value"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 7.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_scaled_dot_product" wrong="the mask is added as it is, in its own dtype"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ key.mT * scale
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    if attn_mask is not None:
        if attn_mask.dtype is boolean:
            scores = scores + additive(attn_mask, scores.dtype)
        else:
            scores = scores + attn_mask
        dead = (scores == -math.inf).all(-1, keepdim=True)
        weights = softmax(scores.masked_fill(dead, 0.0), -1).masked_fill(dead, 0.0)
    else:
        weights = softmax(scores, -1)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_scaled_dot_product" wrong="a query that is hidden in one batch is hidden in all"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.mT * scale
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    if attn_mask is None:
        return dropout(softmax(scores, -1), dropout_p) @ value
    scores = scores + additive(attn_mask, scores.dtype)
    dead = (scores == -math.inf).all(-1, keepdim=True)
    while dead.ndim > 2:
        dead = dead.any(0)
    weights = softmax(scores.masked_fill(dead, 0.0), -1).masked_fill(dead, 0.0)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_scaled_dot_product" right="hidden queries found in the mask"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = (query @ key.mT).mul(scale)
    if attn_mask is None:
        return dropout(softmax(scores, -1), dropout_p) @ value
    bias = additive(attn_mask, scores.dtype)
    empty_row = (bias == -math.inf).all(-1, keepdim=True)
    bias = bias.masked_fill(empty_row, 0.0)
    weights = softmax(scores + bias, -1).masked_fill(empty_row, 0.0)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_heads" wrong="the scores are divided by the root of the whole width"
def attend(self, query, key, value, mask, need_weights):
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), self.in_proj_weight.chunk(3), biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(query.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% answer="attention_heads" wrong="returns the weights before dropout"
def attend(self, query, key, value, mask, need_weights):
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), self.in_proj_weight.chunk(3), biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = softmax(scores if mask is None else scores + mask, -1)
    return self.out_proj(merge_heads(dropout(weights, p) @ v)), weights


# %% answer="attention_heads" wrong="the keys' projection for the values, too: self-attention is assumed"
def attend(self, query, key, value, mask, need_weights):
    projected = linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% answer="attention_heads" wrong="weights of nan are set to 0, unlike PyTorch's"
def attend(self, query, key, value, mask, need_weights):
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), self.in_proj_weight.chunk(3), biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores if mask is None else scores + mask
    nowhere = (scores == -math.inf).all(-1, keepdim=True)
    weights = dropout(softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0), p)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% answer="attention_heads" wrong="the output projection comes before the heads are merged" spoils="attend"
def attend(self, query, key, value, mask, need_weights):
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), self.in_proj_weight.chunk(3), biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return merge_heads(scaled_dot_product_attention(q, k, v, mask, p)), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return merge_heads(weights @ v), weights


# %% answer="attention_draw_tokens" wrong="normalizes the caller's weights in place"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    weights /= weights.sum(-1, keepdims=True)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = (np.cumsum(rows, -1)[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% answer="attention_draw_tokens" wrong="one exponential number an index, shared by the rows"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        scores = weights / exponential(source, weights.shape[-1], weights.dtype)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% answer="attention_draw_tokens" wrong="of two equal quotients the higher index comes first"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(scores, -1, kind="stable")[..., ::-1][..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% answer="attention_draw_tokens" wrong="the indices are on the CPU"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), "cpu")


# %% answer="attention_draw_tokens" right="searchsorted, and topk by lexsort"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source = default_generator if generator is None else generator
    weights = on_host(input)
    rows = weights.reshape(-1, weights.shape[-1])
    m, n = rows.shape
    out = np.empty((m, num_samples), np.int64)
    if num_samples == 1 or not replacement:
        quotients = rows / exponential(source, m * n, rows.dtype).reshape(m, n)
        for r in range(m):
            out[r] = np.lexsort((np.arange(n), -quotients[r]))[:num_samples]
    else:
        u = source.uniform(m * num_samples, 53).reshape(m, num_samples)
        for r in range(m):
            cum = np.cumsum(rows[r])
            out[r] = np.searchsorted(cum / cum[-1], u[r], side="left")
    return new(out if input.ndim == 2 else out[0], input.device)


# %% answer="attention_kv_cache" wrong="keeps the inputs, and projects all of them again"
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.inputs, self.keys, self.values = layer, None, None, None

    def step(self, x):
        T = x.shape[1]
        self.inputs = x if self.inputs is None else torch.cat([self.inputs, x], 1)
        B, length, C = self.inputs.shape
        split = self.layer.c_attn(self.inputs).split(C, 2)
        q, self.keys, self.values = (each.view(B, length, self.layer.n_head, -1).transpose(1, 2) for each in split)
        y = F.scaled_dot_product_attention(q, self.keys, self.values, is_causal=True)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, length, C))[:, -T:]


# %% answer="attention_kv_cache" wrong="splits into heads without the swap"
class CachedAttention:
    def __init__(self, layer):
        self.layer = layer
        self.keys = self.values = None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.reshape(B, self.layer.n_head, T, -1) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        mask = torch.ones(T, k.shape[2], dtype=torch.bool).tril(k.shape[2] - T)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% answer="attention_kv_cache" wrong="the cache is kept by the class: each layer continues the one before"
class CachedAttention:
    keys = values = None

    def __init__(self, layer):
        self.layer = layer

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if CachedAttention.keys is not None:
            k = torch.cat([CachedAttention.keys, k], 2)
            v = torch.cat([CachedAttention.values, v], 2)
        CachedAttention.keys, CachedAttention.values = k, v
        mask = torch.ones(T, k.shape[2], dtype=torch.bool).tril(k.shape[2] - T)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% answer="attention_kv_cache" wrong="keeps the newest piece alone"
class CachedAttention:
    def __init__(self, layer):
        self.layer = layer
        self.keys = self.values = None

    def step(self, x):
        B, T, C = x.shape
        q, new_k, new_v = (
            each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2)
        )
        k, v = new_k, new_v
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = new_k, new_v
        mask = torch.ones(T, k.shape[2], dtype=torch.bool).tril(k.shape[2] - T)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% answer="attention_kv_cache" right="positions compared, and a softmax by hand"
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        H = self.layer.n_head
        q, k, v = self.layer.c_attn(x).reshape(B, T, 3, H, C // H).permute(2, 0, 3, 1, 4).unbind(0)
        start = 0 if self.keys is None else self.keys.shape[2]
        self.keys = k if start == 0 else torch.cat((self.keys, k), dim=2)
        self.values = v if start == 0 else torch.cat((self.values, v), dim=2)
        later = torch.arange(start + T)[None, :] > torch.arange(start, start + T)[:, None]
        scores = (q @ self.keys.transpose(-2, -1) * (C // H) ** -0.5).masked_fill(later, float("-inf"))
        return self.layer.c_proj((scores.softmax(-1) @ self.values).transpose(1, 2).flatten(2))


# %% answer="attention_kv_cache" wrong="a float32 mask is added to the scores of any dtype"
class CachedAttention:
    def __init__(self, layer):
        self.layer = layer
        self.keys = self.values = None

    def step(self, x):
        B, T, C = x.shape
        h = self.layer.n_head
        q, k, v = (y.reshape(B, T, h, C // h).transpose(1, 2) for y in self.layer.c_attn(x).split(C, -1))
        if self.keys is not None:
            k = torch.cat([self.keys, k], 2)
            v = torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        total = k.shape[2]
        mask = torch.full((T, total), -math.inf, dtype=torch.float32).triu(total - T + 1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(C // h) + mask
        out = scores.softmax(-1) @ v
        return self.layer.c_proj(out.transpose(1, 2).reshape(B, T, C))


# %% answer="attention_kv_cache" wrong="the cache is kept in the class"
class CachedAttention:
    keys = values = None

    def __init__(self, layer):
        self.layer = layer
        CachedAttention.keys = CachedAttention.values = None

    def step(self, x):
        B, T, C = x.shape
        h = self.layer.n_head
        q, k, v = (y.reshape(B, T, h, C // h).transpose(1, 2) for y in self.layer.c_attn(x).split(C, -1))
        if self.keys is not None:
            k = torch.cat([CachedAttention.keys, k], 2)
            v = torch.cat([CachedAttention.values, v], 2)
        CachedAttention.keys, CachedAttention.values = k, v
        total = k.shape[2]
        mask = torch.ones(T, total, dtype=torch.bool).tril(total - T)
        out = F.scaled_dot_product_attention(q, k, v, mask)
        return self.layer.c_proj(out.transpose(1, 2).reshape(B, T, C))


# %% answer="attention_kv_cache" right="position by position"
class CachedAttention:
    def __init__(self, layer):
        self.layer = layer
        self.keys = self.values = None

    def step(self, x):
        B, T, C = x.shape
        h = self.layer.n_head
        q, k, v = self.layer.c_attn(x).reshape(B, T, 3, h, C // h).permute(2, 0, 3, 1, 4).unbind()
        outs = []
        for t in range(T):
            kt, vt = k[:, :, t : t + 1], v[:, :, t : t + 1]
            self.keys = kt if self.keys is None else torch.cat([self.keys, kt], 2)
            self.values = vt if self.values is None else torch.cat([self.values, vt], 2)
            outs.append(F.scaled_dot_product_attention(q[:, :, t : t + 1], self.keys, self.values))
        return self.layer.c_proj(torch.cat(outs, 2).transpose(1, 2).flatten(2))


# %% answer="attention_repair_mask" wrong="adds -inf times the mask, which is nan where nothing is hidden"
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1]) + hidden * -math.inf
    return scores.softmax(-1).masked_fill(hidden, 0.0) @ value


# %% answer="attention_repair_mask" wrong="hides queries at padding, in place of keys"
def padded_attention(query, key, value, padding):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    return scores.softmax(-1).masked_fill(padding[:, : query.shape[1]].unsqueeze(2), 0.0) @ value


# %% answer="attention_repair_mask" wrong="an empty sentence attends to its padding"
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    return scores.masked_fill(hidden & ~hidden.all(-1, keepdim=True), -math.inf).softmax(-1) @ value


# %% answer="attention_repair_mask" right="nan_to_num of the weights: masked_fill stops their gradient"
def padded_attention(query, key, value, padding):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    return scores.masked_fill(padding.unsqueeze(1), -math.inf).softmax(-1).nan_to_num(0.0) @ value


# %% answer="attention_measure_square" wrong="counts multiplications of one head"
def takes_over(width, heads):
    layer, length = build(width, heads), 1
    while True:
        counted = multiplications(lambda: feed(layer, length))
        if sum(m for s, m in counted if len(s) == 4) >= heads * sum(m for s, m in counted if len(s) == 3):
            return length
        length += 1


# %% answer="attention_measure_square" wrong="the scores alone against the projections, doubled"
def takes_over(width, heads):
    layer, length = build(width, heads), 1
    while True:
        counted = multiplications(lambda: feed(layer, length))
        if counted[1][1] + counted[2][1] >= 4 * counted[0][1] / 3:
            return length
        length += 1


# %% answer="attention_measure_square" wrong="how often each kind of product occurs"
def takes_over(width, heads):
    layer, length = build(width, heads), 1
    while True:
        counted = multiplications(lambda: feed(layer, length))
        if sum(len(s) == 4 for s, m in counted) >= sum(len(s) == 3 for s, m in counted):
            return length
        length += 1


# %% answer="attention_module" wrong="without a bias, in_proj_bias is a plain attribute"
def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, *, batch_first=False):
    super().__init__()
    if embed_dim % num_heads:
        raise AssertionError("embed_dim must be divisible by num_heads")
    self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
    self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
    self.in_proj_bias = Parameter(zeros(3 * embed_dim)) if bias else None
    self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
    xavier_uniform_(self.in_proj_weight)
    if bias:
        constant_(self.out_proj.bias, 0.0)


# %% answer="attention_module" wrong="the bias of out_proj keeps Linear's initialization"
def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, *, batch_first=False):
    super().__init__()
    if embed_dim % num_heads:
        raise AssertionError("embed_dim must be divisible by num_heads")
    self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
    self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
    self.register_parameter("in_proj_bias", Parameter(zeros(3 * embed_dim)) if bias else None)
    self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
    xavier_uniform_(self.in_proj_weight)


# %% answer="attention_module" wrong="averages the weights although each head's were wanted"
def forward(
    self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True
):
    batched, inputs = query.ndim == 3, (query, key, value)
    if not batched:
        inputs = tuple(each.unsqueeze(0) for each in inputs)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    elif not self.batch_first:
        inputs = tuple(each.transpose(0, 1) for each in inputs)
    output, weights = self.attend(*inputs, self.merged(attn_mask, key_padding_mask, query.dtype), need_weights)
    weights = weights.mean(1) if need_weights else None
    if not batched:
        return output.squeeze(0), None if weights is None else weights.squeeze(0)
    return (output if self.batch_first else output.transpose(0, 1)), weights


# %% answer="attention_module" wrong="a single sequence is transposed as well"
def forward(
    self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True
):
    single, inputs = query.ndim == 2, (query, key, value)
    if single:
        inputs = tuple(each.unsqueeze(0) for each in inputs)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    if not self.batch_first:
        inputs = tuple(each.transpose(0, 1) for each in inputs)
    output, weights = self.attend(*inputs, self.merged(attn_mask, key_padding_mask, query.dtype), need_weights)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    output = output if self.batch_first else output.transpose(0, 1)
    if single:
        output, weights = output.squeeze(0), None if weights is None else weights.squeeze(0)
    return output, weights


# %% answer="attention_module" wrong="squeezes every dimension of size 1" spoils="forward"
def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True):
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
        return out.squeeze(), None if w is None else w.squeeze()
    if not self.batch_first:
        out = out.transpose(0, 1)
    return out, w


# %% answer="attention_module" wrong="the mask is always float32" spoils="forward"
def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True):
    single = query.ndim == 2
    if single:
        query, key, value = (x.unsqueeze(0) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    elif not self.batch_first:
        query, key, value = (x.transpose(0, 1) for x in (query, key, value))
    mask = self.merged(attn_mask, key_padding_mask, float32)
    out, w = self.attend(query, key, value, mask, need_weights)
    if w is not None and average_attn_weights:
        w = w.mean(1)
    if single:
        return out.squeeze(0), None if w is None else w.squeeze(0)
    if not self.batch_first:
        out = out.transpose(0, 1)
    return out, w


# %% answer="attention_module" wrong="the weights of a batch of one lose their N" spoils="forward"
def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True):
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
    if not single and not self.batch_first:
        out = out.transpose(0, 1)
    if single:
        out = out.squeeze(0)
    if w is not None and w.shape[0] == 1:
        w = w.squeeze(0)
    return out, w


# %% answer="attention_module" wrong="returns each head's weights although none are needed" spoils="forward"
def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True):
    single = query.ndim == 2
    if single:
        query, key, value = (x.unsqueeze(0) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    elif not self.batch_first:
        query, key, value = (x.transpose(0, 1) for x in (query, key, value))
    mask = self.merged(attn_mask, key_padding_mask, query.dtype)
    out, w = self.attend(query, key, value, mask, need_weights or not average_attn_weights)
    if w is not None and average_attn_weights:
        w = w.mean(1)
    if single:
        return out.squeeze(0), None if w is None else w.squeeze(0)
    if not self.batch_first:
        out = out.transpose(0, 1)
    return out, w


# %% answer="attention_module" right="assert, movedim and a loop over the heads"
def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, *, batch_first=False):
    assert embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads"
    super().__init__()
    for name, option in {"embed_dim": embed_dim, "num_heads": num_heads, "dropout": dropout, "batch_first": batch_first}.items():
        setattr(self, name, option)
    self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
    if bias:
        constant_(self.out_proj.bias, 0.0)
    self.in_proj_weight = Parameter(xavier_uniform_(empty(3 * embed_dim, embed_dim)))
    self.register_parameter("in_proj_bias", Parameter(zeros(3 * embed_dim)) if bias else None)

def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True):
    if query.ndim == 2:
        padding = key_padding_mask if key_padding_mask is None else key_padding_mask[None]
        mask = self.merged(attn_mask, padding, query.dtype)
        out, w = self.attend(query[None], key[None], value[None], mask, need_weights)
        out, w = out[0], w if w is None else w[0]
        return out, w.sum(-3) / self.num_heads if w is not None and average_attn_weights else w
    mask = self.merged(attn_mask, key_padding_mask, query.dtype)
    if self.batch_first:
        out, w = self.attend(query, key, value, mask, need_weights)
    else:
        out, w = self.attend(query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0), mask, need_weights)
        out = out.transpose(1, 0)
    return out, (w.mean(-3) if w is not None and average_attn_weights else w)


# %% answer="attention_module" wrong="stores bias as an attribute too" spoils="__init__"
def __init__(
    self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, *, batch_first: bool = False
) -> None:
    super().__init__()
    assert embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads"
    self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
    self.bias, self.batch_first = bias, batch_first
    self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
    self.register_parameter("in_proj_bias", Parameter(zeros(3 * embed_dim)) if bias else None)
    self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
    xavier_uniform_(self.in_proj_weight)
    if bias:
        constant_(self.out_proj.bias, 0.0)


# %% answer="attention_module" right="a single sequence is a batch of one in the layout of the module"
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
    place = 0 if self.batch_first else 1
    if query.ndim == 2:
        padding = None if key_padding_mask is None else key_padding_mask.reshape(1, -1)
        output, weights = self.forward(
            query.unsqueeze(place),
            key.unsqueeze(place),
            value.unsqueeze(place),
            padding,
            need_weights,
            attn_mask,
            average_attn_weights,
        )
        return output.squeeze(place), weights[0] if need_weights else None
    if place:
        query, key, value = (each.transpose(0, 1) for each in (query, key, value))
    mask = self.merged(attn_mask, key_padding_mask, query.dtype)
    output, weights = self.attend(query, key, value, mask, need_weights)
    if need_weights and average_attn_weights:
        weights = weights.sum(1) / self.num_heads
    return output.transpose(0, place), weights


# %% answer="attention_kv_cache" wrong="detaches the cache"
class CachedAttention:
    def __init__(self, layer):
        self.layer = layer
        self.keys = self.values = None

    def step(self, x):
        """The outputs (B, T, C) of the new positions."""
        B, T, C = x.shape
        heads = self.layer.n_head
        q, k, v = (each.view(B, T, heads, C // heads).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k.detach(), v.detach()
        length = k.shape[2]
        mask = torch.ones(T, length, dtype=torch.bool).tril(length - T)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% answer="attention_kv_cache" right="attention written out"
class CachedAttention:
    def __init__(self, layer):
        self.layer = layer
        self.keys = self.values = None

    def step(self, x):
        B, T, C = x.shape
        h = self.layer.n_head
        qkv = self.layer.c_attn(x).reshape(B, T, 3, h, C // h).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        self.keys = k if self.keys is None else torch.cat((self.keys, k), dim=-2)
        self.values = v if self.values is None else torch.cat((self.values, v), dim=-2)
        scores = q @ self.keys.transpose(-2, -1) / (C // h) ** 0.5
        start = self.keys.size(2) - T
        future = torch.arange(self.keys.size(2))[None, :] > torch.arange(T)[:, None] + start
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        return self.layer.c_proj((weights @ self.values).permute(0, 2, 1, 3).reshape(B, T, C))


# %% answer="attention_kv_cache" right="one query at a time, without a mask"
class CachedAttention:
    def __init__(self, layer):
        self.layer = layer
        self.keys = self.values = None

    def step(self, x):
        """The outputs (B, T, C) of the new positions."""
        B, T, C = x.shape
        heads = self.layer.n_head
        q, k, v = (each.view(B, T, heads, C // heads).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        length = k.shape[2]
        pieces = [
            F.scaled_dot_product_attention(q[:, :, t : t + 1], k[:, :, : length - T + t + 1], v[:, :, : length - T + t + 1])
            for t in range(T)
        ]
        y = torch.cat(pieces, 2)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% answer="attention_scaled_dot_product" wrong="a row of nan counts as hidden"
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = ~(scores.detach() > -math.inf).any(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% answer="attention_heads" right="view, which can always split the last dimension"
def split_heads(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


# %% answer="attention_draw_tokens" wrong="normalizes before it adds up, so that rounding leaves the last fraction below 1"
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows / rows.sum(-1, keepdims=True), -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = (shares[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% answer="attention_repair_mask" right="the lowest number, and weights of 0 afterwards"
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    return weights.masked_fill(hidden, 0.0) @ value


# %% answer="attention_repair_mask" wrong="cuts off as many keys at the end as there is padding, wherever it is"
def padded_attention(query, key, value, padding):
    out = []
    for q, k, v, p in zip(query, key, value, padding):
        if bool(p.all()):
            out.append(torch.zeros(q.shape[0], v.shape[1]))
        else:
            n = int((~p).sum())
            out.append((q @ k[:n].T / math.sqrt(q.shape[-1])).softmax(-1) @ v[:n])
    return torch.stack(out)


# %% answer="attention_repair_mask" wrong="computes in float32"
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = (query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])).float()
    nothing = hidden.all(-1, keepdim=True)
    weights = scores.masked_fill(hidden & ~nothing, -math.inf).softmax(-1)
    return weights.masked_fill(nothing, 0.0).float() @ value.float()


# %% answer="attention_module" wrong="always computes the weights, which are nan for a query with no key left"
def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True):
    single = query.ndim == 2
    inputs = (query, key, value)
    if single:
        inputs = tuple(each.unsqueeze(0) for each in inputs)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    elif not self.batch_first:
        inputs = tuple(each.transpose(0, 1) for each in inputs)
    mask = self.merged(attn_mask, key_padding_mask, query.dtype)
    output, weights = self.attend(*inputs, mask, True)
    if not need_weights:
        weights = None
    elif average_attn_weights:
        weights = weights.mean(1)
    if single:
        return output.squeeze(0), None if weights is None else weights.squeeze(0)
    return (output if self.batch_first else output.transpose(0, 1)), weights


# %% answer="attention_module" wrong="detaches the weights"
def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True):
    single = query.ndim == 2
    inputs = (query, key, value)
    if single:
        inputs = tuple(each.unsqueeze(0) for each in inputs)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    elif not self.batch_first:
        inputs = tuple(each.transpose(0, 1) for each in inputs)
    mask = self.merged(attn_mask, key_padding_mask, inputs[0].dtype)
    output, weights = self.attend(*inputs, mask, need_weights)
    if weights is not None:
        weights = weights.detach()
        if average_attn_weights:
            weights = weights.sum(1) / self.num_heads
    if single:
        return output[0], None if weights is None else weights[0]
    return (output if self.batch_first else output.transpose(0, 1)), weights
