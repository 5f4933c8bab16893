# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 24e` grades them.


# %% answer="hub_predict" right="computed, from the task alone"
d, kv, inter, L, V = 48, 2 * 8, 64, 3, 100
per_layer = 2 * d * d + 2 * kv * d + 3 * d * inter + 2 * d
params = V * d + d + L * per_layer
prediction = [9 * L + 2, params, params + V * d, 11 + 7, (11 * 2.0 + 7 * 3.8) / 18]


# %% answer="hub_predict" wrong="twelve predictions a row"
prediction = [29, 51216, 56016, 24, 2.9]


# %% answer="hub_predict" wrong="no norms"
prediction = [22, 50880, 55680, 18, 2.7]


# %% answer="hub_permute" right="by an index, in a loop over heads"
def _order(heads, dim):
    return [h * dim + i for h in range(heads) for i in [*range(0, dim, 2), *range(1, dim, 2)]]


def _width(weight, heads):
    rows = weight.size(0)
    if rows % heads or rows // heads % 2:
        raise ValueError(f"{rows} rows are not {heads} heads of even width")
    return rows // heads


def to_halves(weight, heads):
    return weight[_order(heads, _width(weight, heads))]


def to_pairs(weight, heads):
    order = torch.tensor(_order(heads, _width(weight, heads)))
    out = torch.empty_like(weight)
    out[order] = weight
    return out


# %% answer="hub_permute" right="after Meta's and Hugging Face's converters, with a view"
def to_halves(weight, heads):
    n = weight.shape[0]
    if n % heads != 0 or (n // heads) % 2 != 0:
        raise ValueError(f"{n} rows are not {heads} heads of even width")
    rest = weight.shape[1:]
    return weight.contiguous().view(heads, n // heads // 2, 2, *rest).transpose(1, 2).reshape(n, *rest)


def to_pairs(weight, heads):
    n = weight.shape[0]
    if n % heads != 0 or (n // heads) % 2 != 0:
        raise ValueError(f"{n} rows are not {heads} heads of even width")
    rest = weight.shape[1:]
    return weight.reshape(heads, 2, n // heads // 2, *rest).transpose(1, 2).reshape(n, *rest)


# %% answer="hub_permute" wrong="swaps the last two dimensions, so biases fail"
def to_halves(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    n, d = weight.shape
    return weight.reshape(heads, n // heads // 2, 2, d).transpose(1, 2).reshape(n, d)


def to_pairs(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    n, d = weight.shape
    return weight.reshape(heads, 2, n // heads // 2, d).transpose(1, 2).reshape(n, d)


# %% answer="hub_permute" wrong="permutes columns"
def to_halves(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return torch.cat([weight[..., 0::2], weight[..., 1::2]], -1)


def to_pairs(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return torch.stack([weight[..., : (weight.shape[-1] + 1) // 2], weight[..., weight.shape[-1] // 2 :]], -1).flatten(-2)


# %% answer="hub_permute" wrong="in place, so the weight that was passed changes"
def to_halves(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    weight.copy_(weight.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2).clone())
    return weight


def to_pairs(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)


# %% answer="hub_permute" wrong="through float32, so the dtype changes"
def to_halves(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.float().unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def to_pairs(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)


# %% answer="hub_convert" right="regular expressions"
import re


def to_meta(state, config, to_pairs):
    n = config["num_attention_heads"]
    kv = config.get("num_key_value_heads", None)
    kv = n if kv is None else kv
    top = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    layer = {
        "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk",
        "self_attn.v_proj": "attention.wv", "self_attn.o_proj": "attention.wo",
        "mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3",
    }
    out = {}
    for name, t in state.items():
        if name.endswith("rotary_emb.inv_freq"):
            continue
        m = re.fullmatch(r"(?:model\.layers\.(\d+)\.)?(.+)\.(weight|bias)", name)
        if not m:
            raise KeyError(name)
        number, module, kind = m.groups()
        table = top if number is None else layer
        if module not in table:
            raise KeyError(name)
        if module == "self_attn.q_proj":
            t = to_pairs(t, n)
        if module == "self_attn.k_proj":
            t = to_pairs(t, kv)
        prefix = "" if number is None else f"layers.{number}."
        out[f"{prefix}{table[module]}.{kind}"] = t
    if config.get("tie_word_embeddings"):
        out["output.weight"] = out["tok_embeddings.weight"]
    return out


# %% answer="hub_convert" wrong="str.replace, so unknown names pass"
def to_meta(state, config, to_pairs):
    n = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or n
    out = {}
    for name, t in state.items():
        if "inv_freq" in name:
            continue
        new = name.replace("model.", "").replace("embed_tokens", "tok_embeddings").replace("lm_head", "output")
        new = new.replace("post_attention_layernorm", "ffn_norm").replace("input_layernorm", "attention_norm")
        for c in "qkvo":
            new = new.replace(f"self_attn.{c}_proj", f"attention.w{c}")
        for a, b in (("gate", "w1"), ("down", "w2"), ("up", "w3")):
            new = new.replace(f"mlp.{a}_proj", f"feed_forward.{b}")
        if ".wq." in new:
            t = to_pairs(t, n)
        if ".wk." in new:
            t = to_pairs(t, kv)
        out[new] = t
    if config.get("tie_word_embeddings"):
        out["output.weight"] = out["tok_embeddings.weight"]
    return out


# %% answer="hub_convert" wrong="gate and up exchanged"
def to_meta(state, config, to_pairs):
    outside = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    inside = {"input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm"}
    inside |= {f"self_attn.{each}_proj": f"attention.w{each}" for each in "qkvo"}
    inside |= {"mlp.gate_proj": "feed_forward.w3", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w1"}
    heads = config["num_attention_heads"]
    rotated = {"self_attn.q_proj": heads, "self_attn.k_proj": config.get("num_key_value_heads") or heads}
    out = {}
    for name, tensor in state.items():
        if name.endswith("rotary_emb.inv_freq"):
            continue
        module, _, kind = name.rpartition(".")
        parts = module.split(".", 3)
        if kind not in ("weight", "bias"):
            raise KeyError(name)
        if module in outside:
            out[f"{outside[module]}.{kind}"] = tensor
        elif parts[:2] == ["model", "layers"] and parts[3] in inside:
            moved = to_pairs(tensor, rotated[parts[3]]) if parts[3] in rotated else tensor
            out[f"layers.{parts[2]}.{inside[parts[3]]}.{kind}"] = moved
        else:
            raise KeyError(name)
    if config.get("tie_word_embeddings", False):
        out["output.weight"] = out["tok_embeddings.weight"]
    return out


# %% answer="hub_convert" wrong="a clone of the embedding as the head"
def to_meta(state, config, to_pairs):
    outside = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    inside = {"input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm"}
    inside |= {f"self_attn.{each}_proj": f"attention.w{each}" for each in "qkvo"}
    inside |= {"mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3"}
    heads = config["num_attention_heads"]
    rotated = {"self_attn.q_proj": heads, "self_attn.k_proj": config.get("num_key_value_heads") or heads}
    out = {}
    for name, tensor in state.items():
        if name.endswith("rotary_emb.inv_freq"):
            continue
        module, _, kind = name.rpartition(".")
        parts = module.split(".", 3)
        if kind not in ("weight", "bias"):
            raise KeyError(name)
        if module in outside:
            out[f"{outside[module]}.{kind}"] = tensor
        elif parts[:2] == ["model", "layers"] and parts[3] in inside:
            moved = to_pairs(tensor, rotated[parts[3]]) if parts[3] in rotated else tensor
            out[f"layers.{parts[2]}.{inside[parts[3]]}.{kind}"] = moved
        else:
            raise KeyError(name)
    if config.get("tie_word_embeddings", False):
        out["output.weight"] = out["tok_embeddings.weight"].clone()
    return out


# %% answer="hub_convert" wrong="whatever isn't in the file counts as tied"
def to_meta(state, config, to_pairs):
    outside = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    inside = {"input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm"}
    inside |= {f"self_attn.{each}_proj": f"attention.w{each}" for each in "qkvo"}
    inside |= {"mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3"}
    heads = config["num_attention_heads"]
    rotated = {"self_attn.q_proj": heads, "self_attn.k_proj": config.get("num_key_value_heads") or heads}
    out = {}
    for name, tensor in state.items():
        if name.endswith("rotary_emb.inv_freq"):
            continue
        module, _, kind = name.rpartition(".")
        parts = module.split(".", 3)
        if kind not in ("weight", "bias"):
            raise KeyError(name)
        if module in outside:
            out[f"{outside[module]}.{kind}"] = tensor
        elif parts[:2] == ["model", "layers"] and parts[3] in inside:
            moved = to_pairs(tensor, rotated[parts[3]]) if parts[3] in rotated else tensor
            out[f"layers.{parts[2]}.{inside[parts[3]]}.{kind}"] = moved
        else:
            raise KeyError(name)
    out.setdefault("output.weight", out.get("tok_embeddings.weight"))
    return out


# %% answer="hub_attention" right="grouped scores, einsum, own softmax"
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    n, h, t, d = query.shape
    kv, s = key.shape[1:3]
    g = module.num_key_value_groups
    scale = 1 / d ** 0.5 if scaling is None else scaling
    q = query.reshape(n, kv, g, t, d)
    scores = torch.einsum("nkgtd,nksd->nkgts", q, key).reshape(n, h, t, s).float() * scale
    if attention_mask is not None:
        m = attention_mask[..., :s]
        scores = torch.where(m, scores, torch.tensor(-1e30)) if m.dtype == torch.bool else scores + m
    else:
        if is_causal is None:
            is_causal = getattr(module, "is_causal", True)
        if is_causal:
            seen = torch.arange(s)[None] <= torch.arange(s - t, s)[:, None]
            scores = torch.where(seen, scores, torch.tensor(-1e30))
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    w = (e / e.sum(-1, keepdim=True)).to(query.dtype)
    if dropout:
        w = torch.nn.functional.dropout(w, dropout, True)
    out = torch.einsum("nkgts,nksd->ntkgd", w.reshape(n, kv, g, t, s), value)
    return out.reshape(n, t, h, d), w


# %% answer="hub_attention" right="an additive mask throughout"
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    T, S = query.size(-2), key.size(-2)
    k = key[:, :, None].expand(-1, -1, module.num_key_value_groups, -1, -1).flatten(1, 2)
    v = value[:, :, None].expand(-1, -1, module.num_key_value_groups, -1, -1).flatten(1, 2)
    if scaling is None:
        scaling = query.size(-1) ** -0.5
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    if attention_mask is None:
        attention_mask = torch.full((T, S), -1e30 if is_causal else 0.0).triu(S - T + 1)
    elif attention_mask.dtype == torch.bool:
        attention_mask = torch.zeros(attention_mask.shape).masked_fill(~attention_mask, -1e30)
    s = (query @ k.transpose(-1, -2)) * scaling + attention_mask[..., :S]
    w = torch.softmax(s.float(), -1).to(query.dtype)
    w = F.dropout(w, p=dropout, training=True)
    return (w @ v).transpose(1, 2).contiguous(), w


# %% answer="hub_attention" wrong="the mask's first columns aren't cut"
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool).tril(kept - length)
    if attention_mask is not None:
        attention_mask = attention_mask[..., -kept:]
        scores = scores.masked_fill(~attention_mask, float("-inf")) if attention_mask.dtype == torch.bool else scores + attention_mask
    weights = F.dropout(scores.softmax(-1, dtype=torch.float32).to(query.dtype), dropout)
    return (weights @ value).transpose(1, 2), weights


# %% answer="hub_attention" wrong="the scaling is ignored"
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * query.shape[-1] ** -0.5
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool).tril(kept - length)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        scores = scores.masked_fill(~attention_mask, float("-inf")) if attention_mask.dtype == torch.bool else scores + attention_mask
    weights = F.dropout(scores.softmax(-1, dtype=torch.float32).to(query.dtype), dropout)
    return (weights @ value).transpose(1, 2), weights


# %% answer="hub_attention" wrong="weights in float32, and the output too"
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool).tril(kept - length)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        scores = scores.masked_fill(~attention_mask, float("-inf")) if attention_mask.dtype == torch.bool else scores + attention_mask
    weights = F.dropout(scores.softmax(-1, dtype=torch.float32), dropout)
    return (weights @ value.float()).transpose(1, 2), weights


# %% answer="hub_attention" wrong="no dropout"
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool).tril(kept - length)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        scores = scores.masked_fill(~attention_mask, float("-inf")) if attention_mask.dtype == torch.bool else scores + attention_mask
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    return (weights @ value).transpose(1, 2), weights


# %% answer="hub_attention" wrong="causal although a mask is given"
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if getattr(module, "is_causal", True) if is_causal is None else is_causal:
        scores = scores.masked_fill(~torch.ones(length, kept, dtype=torch.bool).tril(kept - length), float("-inf"))
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        scores = scores.masked_fill(~attention_mask, -1e30) if attention_mask.dtype == torch.bool else scores + attention_mask
    weights = F.dropout(scores.softmax(-1, dtype=torch.float32).to(query.dtype), dropout)
    return (weights @ value).transpose(1, 2), weights


# %% answer="hub_accumulate" wrong="adds up losses with their graphs"
def accumulate(model, micro_batches):
    count = sum(int((labels[:, 1:] != -100).sum()) for _, labels in micro_batches)
    total = 0.0
    for tokens, labels in micro_batches:
        if (labels[:, 1:] != -100).any():
            logits = model(tokens)[:, :-1].mT
            loss = F.cross_entropy(logits, labels[:, 1:], reduction="sum") / count
            loss.backward()
            total = total + loss
    return float(total)


# %% answer="hub_accumulate" right="log-softmax by hand, a filtered list"
def accumulate(model, micro_batches):
    shifted = [(tokens, labels[:, 1:]) for tokens, labels in micro_batches]
    shifted = [(tokens, labels) for tokens, labels in shifted if (labels != -100).sum() > 0]
    n = sum((labels != -100).sum().item() for _, labels in shifted)
    out = 0.0
    for tokens, labels in shifted:
        keep = labels != -100
        logp = model(tokens)[:, :-1][keep].log_softmax(-1)
        loss = -logp.gather(1, labels[keep][:, None]).sum() / n
        loss.backward()
        out += float(loss.detach())
    return out


# %% answer="hub_accumulate" right="means, weighted by their counts"
def accumulate(model, micro_batches):
    counts = [int(labels[:, 1:].ne(-100).sum()) for _, labels in micro_batches]
    total = 0.0
    for (tokens, labels), count in zip(micro_batches, counts):
        if count == 0:
            continue
        logits = model(tokens)[:, :-1]
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels[:, 1:].reshape(-1)) * (count / sum(counts))
        loss.backward()
        total += loss.item()
    return total


# %% answer="hub_accumulate" wrong="weighted by rows"
def accumulate(model, micro_batches):
    rows = sum(len(tokens) for tokens, _ in micro_batches)
    total = 0.0
    for tokens, labels in micro_batches:
        if (labels[:, 1:] != -100).any():
            loss = F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:]) * len(tokens) / rows
            loss.backward()
            total += loss.item()
    return total


# %% answer="hub_accumulate" wrong="only nan is replaced"
def accumulate(model, micro_batches):
    total = 0.0
    for tokens, labels in micro_batches:
        loss = F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:]).nan_to_num() / len(micro_batches)
        loss.backward()
        total += loss.item()
    return total


# %% answer="hub_accumulate" wrong="each divided by its own count"
def accumulate(model, micro_batches):
    total = 0.0
    for tokens, labels in micro_batches:
        count = int((labels[:, 1:] != -100).sum())
        if count:
            loss = F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:], reduction="sum") / count
            loss.backward()
            total += loss.item()
    return total


# %% answer="hub_bisect" right="one pass of each model, side by side, flattened recursively"
def first_difference(model, other, *inputs, tolerance=1e-4):
    records = []
    for each in (model, other):
        record, handles = [], []

        def flatten(x):
            if torch.is_tensor(x):
                yield x.clone()
            elif isinstance(x, dict):
                for v in x.values():
                    yield from flatten(v)
            elif isinstance(x, (list, tuple)):
                for v in x:
                    yield from flatten(v)

        def make(name, record=record):
            def hook(module, args, output):
                record.append((name, list(flatten(output))))
            return hook

        for name, module in each.named_modules():
            handles.append(module.register_forward_hook(make(name)))
        was = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        try:
            each(*inputs)
        finally:
            torch.set_grad_enabled(was)
            for handle in handles:
                handle.remove()
        records.append(record)
    for (name, ours), (_, theirs) in zip(*records):
        for a, b in zip(ours, theirs):
            if a.shape != b.shape:
                return name
            both = a.isnan() & b.isnan()
            close = ((a.double() - b.double()).abs() <= tolerance) | (a == b) | both
            if not close.all():
                return name
    return None


# %% answer="hub_bisect" wrong="leaves alone"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def calls(model):
        kept, hooks = [], []
        try:
            for name, module in model.named_modules():
                if not list(module.children()):
                    hooks.append(module.register_forward_hook(lambda m, a, output, name=name: kept.append((name, output.detach().clone()))))
            with torch.no_grad():
                model(*inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return kept

    for (name, a), (_, b) in zip(calls(model), calls(other)):
        if a.shape != b.shape or not torch.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
            return name
    return None


# %% answer="hub_bisect" wrong="a relative tolerance as well"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def tensors(output):
        if isinstance(output, torch.Tensor):
            return [output.detach().clone()]
        if isinstance(output, dict):
            output = list(output.values())
        return [each for part in output for each in tensors(part)] if isinstance(output, (tuple, list)) else []

    def calls(model):
        kept, hooks = [], []
        try:
            for name, module in model.named_modules():
                hooks.append(module.register_forward_hook(lambda m, a, output, name=name: kept.append((name, tensors(output)))))
            with torch.no_grad():
                model(*inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return kept

    for (name, mine), (_, theirs) in zip(calls(model), calls(other)):
        for a, b in zip(mine, theirs):
            if a.shape != b.shape or not torch.allclose(a, b, rtol=0.5, atol=tolerance, equal_nan=True):
                return name
    return None


# %% answer="hub_bisect" wrong="all hooks removed, those of others too"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def tensors(output):
        if isinstance(output, torch.Tensor):
            return [output.detach().clone()]
        if isinstance(output, dict):
            output = list(output.values())
        return [each for part in output for each in tensors(part)] if isinstance(output, (tuple, list)) else []

    def calls(model):
        kept = []
        try:
            for name, module in model.named_modules():
                module.register_forward_hook(lambda m, a, output, name=name: kept.append((name, tensors(output))))
            with torch.no_grad():
                model(*inputs)
        finally:
            for module in model.modules():
                module._forward_hooks.clear()
        return kept

    for (name, mine), (_, theirs) in zip(calls(model), calls(other)):
        for a, b in zip(mine, theirs):
            if a.shape != b.shape or not torch.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
                return name
    return None


# %% answer="hub_bisect" wrong="a graph is recorded"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def tensors(output):
        if isinstance(output, torch.Tensor):
            return [output.detach().clone()]
        if isinstance(output, dict):
            output = list(output.values())
        return [each for part in output for each in tensors(part)] if isinstance(output, (tuple, list)) else []

    def calls(model):
        kept, hooks = [], []
        try:
            for name, module in model.named_modules():
                hooks.append(module.register_forward_hook(lambda m, a, output, name=name: kept.append((name, tensors(output)))))
            model(*inputs)
        finally:
            for hook in hooks:
                hook.remove()
        return kept

    for (name, mine), (_, theirs) in zip(calls(model), calls(other)):
        for a, b in zip(mine, theirs):
            if a.shape != b.shape or not torch.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True):
                return name
    return None


# %% answer="hub_attention" wrong="softmax in the query's dtype"
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    length, kept = query.shape[2], key.shape[2]
    key, value = (each.repeat_interleave(module.num_key_value_groups, 1) for each in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(length, kept, dtype=torch.bool).tril(kept - length)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :kept]
        scores = scores.masked_fill(~attention_mask, float("-inf")) if attention_mask.dtype == torch.bool else scores + attention_mask
    weights = F.dropout(torch.softmax(scores, -1), dropout)
    return (weights @ value).transpose(1, 2), weights


# %% answer="hub_attention" wrong="a scaling of 0 counts as None"
def attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, is_causal=None, **kwargs):
    groups = module.num_key_value_groups
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    T, S = query.shape[2], key.shape[2]
    scores = query @ key.transpose(2, 3) * (scaling or query.shape[-1] ** -0.5)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if attention_mask is None and causal:
        attention_mask = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    if attention_mask is not None:
        attention_mask = attention_mask[..., :S]
        if attention_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attention_mask, float("-inf"))
        else:
            scores = scores + attention_mask
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    weights = F.dropout(weights, dropout, training=True)
    return (weights @ value).transpose(1, 2), weights


# %% answer="hub_accumulate" wrong="marks the first labels as ignored, in the caller's tensor"
def accumulate(model, micro_batches):
    for _, labels in micro_batches:
        labels[:, 0] = -100
    count = sum(int((labels != -100).sum()) for _, labels in micro_batches)
    total = 0.0
    for tokens, labels in micro_batches:
        if (labels != -100).any():
            loss = F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:], reduction="sum") / count
            loss.backward()
            total += loss.item()
    return total


# %% answer="hub_accumulate" wrong="returns a tensor"
def accumulate(model, micro_batches):
    count = sum(int((labels[:, 1:] != -100).sum()) for _, labels in micro_batches)
    total = torch.zeros(())
    for tokens, labels in micro_batches:
        if (labels[:, 1:] != -100).any():
            loss = F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:], reduction="sum") / count
            loss.backward()
            total += loss.detach()
    return total


# %% answer="hub_accumulate" wrong="a gradient of zeros where nothing is predicted and none was there"
def accumulate(model, micro_batches):
    count = max(1, sum(int((labels[:, 1:] != -100).sum()) for _, labels in micro_batches))
    total = 0.0
    for tokens, labels in micro_batches:
        loss = F.cross_entropy(model(tokens)[:, :-1].mT, labels[:, 1:], reduction="sum") / count
        loss.backward()
        total += loss.item()
        del loss
    return total


# %% answer="hub_bisect" wrong="two equal infinities differ, because their difference is nan ('elements more than `tolerance` apart')"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def copied(output):
        if isinstance(output, torch.Tensor):
            return output.detach().clone()
        if isinstance(output, dict):
            return {key: copied(value) for key, value in output.items()}
        if isinstance(output, (list, tuple)):
            return [copied(value) for value in output]
        return None

    def differ(a, b):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            if a.shape != b.shape:
                return True
            near = (a - b).abs() <= tolerance
            return not (near | (a.isnan() & b.isnan())).all().item()
        if isinstance(a, dict) and isinstance(b, dict):
            return any(differ(a[key], b[key]) for key in a if key in b)
        if isinstance(a, list) and isinstance(b, list):
            return any(differ(x, y) for x, y in zip(a, b))
        return False

    def calls(root):
        made, handles = [], []
        try:
            for name, module in root.named_modules():
                handles.append(
                    module.register_forward_hook(lambda m, args, output, name=name: made.append((name, copied(output))))
                )
            with torch.no_grad():
                root(*inputs)
        finally:
            for handle in handles:
                handle.remove()
        return made

    for (name, a), (_, b) in zip(calls(model), calls(other)):
        if differ(a, b):
            return name
    return None


# %% answer="hub_bisect" wrong="subtracts masks of dtype bool, which raises ('outputs differ if two tensors ...')"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def copied(output):
        if isinstance(output, torch.Tensor):
            return output.detach().clone()
        if isinstance(output, dict):
            return {key: copied(value) for key, value in output.items()}
        if isinstance(output, (list, tuple)):
            return [copied(value) for value in output]
        return None

    def differ(a, b):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            if a.shape != b.shape:
                return True
            far = (a - b).abs() > tolerance
            return (far | (a.isnan() != b.isnan())).any().item()
        if isinstance(a, dict) and isinstance(b, dict):
            return any(differ(a[key], b[key]) for key in a if key in b)
        if isinstance(a, list) and isinstance(b, list):
            return any(differ(x, y) for x, y in zip(a, b))
        return False

    def calls(root):
        made, handles = [], []
        try:
            for name, module in root.named_modules():
                handles.append(
                    module.register_forward_hook(lambda m, args, output, name=name: made.append((name, copied(output))))
                )
            with torch.no_grad():
                root(*inputs)
        finally:
            for handle in handles:
                handle.remove()
        return made

    for (name, a), (_, b) in zip(calls(model), calls(other)):
        if differ(a, b):
            return name
    return None


# %% answer="hub_bisect" wrong="takes the largest difference, which an output without elements doesn't have ('elements more than `tolerance` apart')"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def copied(output):
        if isinstance(output, torch.Tensor):
            return output.detach().clone().double()
        if isinstance(output, dict):
            return {key: copied(value) for key, value in output.items()}
        if isinstance(output, (list, tuple)):
            return [copied(value) for value in output]
        return None

    def differ(a, b):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            if a.shape != b.shape or not torch.equal(a.isnan(), b.isnan()):
                return True
            same = (a == b) | a.isnan()
            return (a - b).abs().masked_fill(same, 0.0).max().item() > tolerance
        if isinstance(a, dict) and isinstance(b, dict):
            return any(differ(a[key], b[key]) for key in a if key in b)
        if isinstance(a, list) and isinstance(b, list):
            return any(differ(x, y) for x, y in zip(a, b))
        return False

    def calls(root):
        made, handles = [], []
        try:
            for name, module in root.named_modules():
                handles.append(
                    module.register_forward_hook(lambda m, args, output, name=name: made.append((name, copied(output))))
                )
            with torch.no_grad():
                root(*inputs)
        finally:
            for handle in handles:
                handle.remove()
        return made

    for (name, a), (_, b) in zip(calls(model), calls(other)):
        if differ(a, b):
            return name
    return None


# %% answer="hub_bisect" wrong="a named tuple or an ordered dict isn't opened ('a tuple, list or dict of outputs')"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def copied(output):
        if isinstance(output, torch.Tensor):
            return output.detach().clone().double()
        if type(output) is dict:
            return {key: copied(value) for key, value in output.items()}
        if type(output) in (list, tuple):
            return [copied(value) for value in output]
        return None

    def differ(a, b):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            if a.shape != b.shape:
                return True
            near = (a == b) | ((a - b).abs() <= tolerance) | (a.isnan() & b.isnan())
            return not near.all().item()
        if isinstance(a, dict) and isinstance(b, dict):
            return any(differ(a[key], b[key]) for key in a if key in b)
        if isinstance(a, list) and isinstance(b, list):
            return any(differ(x, y) for x, y in zip(a, b))
        return False

    def calls(root):
        made, handles = [], []
        try:
            for name, module in root.named_modules():
                handles.append(
                    module.register_forward_hook(lambda m, args, output, name=name: made.append((name, copied(output))))
                )
            with torch.no_grad():
                root(*inputs)
        finally:
            for handle in handles:
                handle.remove()
        return made

    for (name, a), (_, b) in zip(calls(model), calls(other)):
        if differ(a, b):
            return name
    return None


# %% answer="hub_bisect" right="outputs as dicts from paths to lists of numbers"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def flat(output, path=()):
        if isinstance(output, torch.Tensor):
            return {path: (tuple(output.shape), output.detach().double().reshape(-1).tolist())}
        pairs = output.items() if isinstance(output, dict) else enumerate(output) if isinstance(output, (list, tuple)) else ()
        found = {}
        for key, value in pairs:
            found.update(flat(value, (*path, key)))
        return found

    def apart(x, y):
        if math.isnan(x) or math.isnan(y):
            return not (math.isnan(x) and math.isnan(y))
        return x != y and abs(x - y) > tolerance

    import math

    logs = []
    with torch.no_grad():
        for each in (model, other):
            log, handles = [], []
            logs.append(log)
            try:
                for name, module in each.named_modules():
                    hook = lambda module, args, output, name=name, log=log: log.append((name, flat(output)))
                    handles.append(module.register_forward_hook(hook))
                each(*inputs)
            finally:
                [handle.remove() for handle in handles]
    for (name, a), (_, b) in zip(*logs):
        for path in a.keys() & b.keys():
            if a[path][0] != b[path][0] or any(map(apart, a[path][1], b[path][1])):
                return name


# %% answer="hub_bisect" right="an exit stack, and isclose without a relative tolerance"
def first_difference(model, other, *inputs, tolerance=1e-4):
    from contextlib import ExitStack

    def keep(output):
        if isinstance(output, torch.Tensor):
            return output.detach().clone()
        if isinstance(output, dict):
            return {key: keep(each) for key, each in output.items()}
        return tuple(map(keep, output)) if isinstance(output, (list, tuple)) else None

    def agree(a, b):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            if a.shape != b.shape:
                return False
            return torch.isclose(a.double(), b.double(), rtol=0.0, atol=tolerance, equal_nan=True).all().item()
        if isinstance(a, dict) and isinstance(b, dict):
            return all(agree(a[key], b[key]) for key in {*a} & {*b})
        return all(map(agree, a, b)) if isinstance(a, tuple) and isinstance(b, tuple) else True

    seen = [], []
    with torch.no_grad(), ExitStack() as stack:
        for log, each in zip(seen, (model, other)):
            for name, module in each.named_modules():
                def hook(module, args, output, name=name, log=log):
                    log.append((name, keep(output)))

                stack.callback(module.register_forward_hook(hook).remove)
        model(*inputs)
        other(*inputs)
    return next((name for (name, a), (_, b) in zip(*seen) if not agree(a, b)), None)


# %% answer="hub_permute" wrong="through float32, which rounds a float64 weight"
def to_halves(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.detach().float().unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2).to(weight.dtype)

def to_pairs(weight, heads):
    if weight.shape[0] % (2 * heads):
        raise ValueError(f"{weight.shape[0]} rows are not {heads} heads of even width")
    return weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)


# %% answer="hub_permute" right="an index of the rows, and its inverse"
def to_halves(weight, heads):
    n = weight.shape[0]
    if n % (2 * heads):
        raise ValueError(f"{n} rows are not {heads} heads of even width")
    rows = torch.arange(n).reshape(heads, n // heads)
    return weight[torch.cat([rows[:, 0::2], rows[:, 1::2]], 1).flatten()]

def to_pairs(weight, heads):
    n = weight.shape[0]
    if n % (2 * heads):
        raise ValueError(f"{n} rows are not {heads} heads of even width")
    rows = torch.arange(n).reshape(heads, n // heads)
    return weight[torch.cat([rows[:, 0::2], rows[:, 1::2]], 1).flatten().argsort()]


# %% answer="hub_convert" wrong="drops every name with rotary, and finds a name at the start of another"
def to_meta(state, config, to_pairs):
    import re
    t = {"input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv", "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3"}
    o = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    h = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or h
    out = {}
    for n, x in state.items():
        if "inv_freq" in n or "rotary" in n: continue
        m = re.match(r"model\.layers\.(\d+)\.(.*)\.(weight|bias)", n)
        if m and m[2] in t:
            y = to_pairs(x, h if "q_proj" in n else kv) if "q_proj" in n or "k_proj" in n else x
            out[f"layers.{m[1]}.{t[m[2]]}.{m[3]}"] = y
        elif n.rpartition(".")[0] in o and n.rpartition(".")[2] in ("weight", "bias"):
            out[o[n.rpartition(".")[0]] + "." + n.rpartition(".")[2]] = x
        else:
            raise KeyError(n)
    if config.get("tie_word_embeddings"):
        out["output.weight"] = out["tok_embeddings.weight"]
    return out


# %% answer="hub_convert" wrong="accepts any kind of tensor outside the layers"
def to_meta(state, config, to_pairs):
    import re
    t = {"input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv", "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3"}
    o = {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output"}
    h = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or h
    out = {}
    for n, x in state.items():
        if n.endswith("rotary_emb.inv_freq"): continue
        m = re.match(r"model\.layers\.(\d+)\.(.*)\.(weight|bias)$", n)
        if m and m[2] in t:
            y = to_pairs(x, h if "q_proj" in n else kv) if "q_proj" in n or "k_proj" in n else x
            out[f"layers.{m[1]}.{t[m[2]]}.{m[3]}"] = y
        elif n.rpartition(".")[0] in o:
            out[o[n.rpartition(".")[0]] + "." + n.rpartition(".")[2]] = x
        else:
            raise KeyError(n)
    if config.get("tie_word_embeddings"):
        out["output.weight"] = out["tok_embeddings.weight"]
    return out


# %% answer="hub_accumulate" right="the sum is divided at the end"
def accumulate(model, micro_batches):
    micro_batches = iter(micro_batches)
    micro_batches = list(micro_batches)
    count = 0
    for _, l in micro_batches:
        count += (l != -100).sum().item() - (l[:, 0] != -100).sum().item()
    total = 0.0
    for t, l in micro_batches:
        if not (l[:, 1:] != -100).any(): continue
        loss = F.cross_entropy(model(t)[:, :-1].mT, l[:, 1:], reduction="sum")
        (loss / count).backward()
        total += loss.detach()
    return float(total / count) if count else 0.0


# %% answer="hub_accumulate" wrong="leaves the model in training mode"
def accumulate(model, micro_batches):
    count = sum(int((l[:, 1:] >= 0).sum()) for _, l in micro_batches)
    total = 0.0
    model.train()
    for t, l in micro_batches:
        if (l[:, 1:] >= 0).any():
            loss = F.cross_entropy(model(t)[:, :-1].mT, l[:, 1:], reduction="sum") / count
            loss.backward()
            total += loss.item()
    return total


# %% answer="hub_bisect" right="hooks on both models before either runs"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def tensors(o):
        if isinstance(o, torch.Tensor): return [o.detach().clone()]
        if isinstance(o, dict): o = list(o.values())
        return [t for p in o for t in tensors(p)] if isinstance(o, (tuple, list)) else []
    kept = {0: [], 1: []}
    hooks = []
    for i, m in enumerate((model, other)):
        for n, mod in m.named_modules():
            hooks.append(mod.register_forward_hook(lambda mm, a, o, n=n, i=i: kept[i].append((n, tensors(o)))))
    try:
        with torch.no_grad():
            model(*inputs); other(*inputs)
    finally:
        for h in hooks: h.remove()
    for (n, a), (_, b) in zip(kept[0], kept[1]):
        for x, y in zip(a, b):
            if x.shape != y.shape or not torch.allclose(x, y, rtol=0, atol=tolerance, equal_nan=True):
                return n
    return None


# %% answer="hub_bisect" wrong="the hooks of the second model stay if the first raises"
def first_difference(model, other, *inputs, tolerance=1e-4):
    def tensors(o):
        if isinstance(o, torch.Tensor): return [o.detach().clone()]
        if isinstance(o, dict): o = list(o.values())
        return [t for p in o for t in tensors(p)] if isinstance(o, (tuple, list)) else []
    kept, hooks = [[], []], [[], []]
    for i, m in enumerate((model, other)):
        for n, mod in m.named_modules():
            hooks[i].append(mod.register_forward_hook(lambda mm, a, o, n=n, i=i: kept[i].append((n, tensors(o)))))
    for i, m in enumerate((model, other)):
        try:
            with torch.no_grad(): m(*inputs)
        finally:
            for h in hooks[i]: h.remove()
    for (n, a), (_, b) in zip(*kept):
        for x, y in zip(a, b):
            if x.shape != y.shape or not torch.allclose(x, y, rtol=0, atol=tolerance, equal_nan=True):
                return n
    return None
