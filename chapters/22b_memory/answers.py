# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 22b` grades them.


# %% answer="memory_predict_bytes" right="as first written, from the task alone"
prediction = [4, 4, 8, 16, 12, 12000]


# %% answer="memory_predict_bytes" wrong="12 and 16 for 4 and 8"
prediction = [4, 12, 16, 16, 12, 12000]


# %% answer="memory_checkpoint" right="as first written, from the task alone"
def surroundings():
    return default_generator.twister.state, default_generator.waiting, State.on


def restore(found):
    default_generator.twister.state, default_generator.waiting, State.on = found
    fill("autocast", cast_as_listed if State.on else None)


def forward(ctx, function, *tensors):
    ctx.function = function
    ctx.before = surroundings()
    ctx.save_for_backward(*tensors)
    return function(*tensors)


def backward(ctx, grad):
    now = surroundings()
    inputs = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    try:
        restore(ctx.before)
        with enable_grad():
            out = ctx.function(*inputs)
    finally:
        restore(now)
    out.backward(grad)
    return None, *(each.grad for each in inputs)


# %% answer="memory_checkpoint" wrong="without waiting"
def surroundings():
    return default_generator.twister.state, None, State.on


def restore(found):
    default_generator.twister.state, default_generator.waiting, State.on = found
    fill("autocast", cast_as_listed if State.on else None)


def forward(ctx, function, *tensors):
    ctx.function = function
    ctx.before = surroundings()
    ctx.save_for_backward(*tensors)
    return function(*tensors)


def backward(ctx, grad):
    now = surroundings()
    inputs = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    try:
        restore(ctx.before)
        with enable_grad():
            out = ctx.function(*inputs)
    finally:
        restore(now)
    out.backward(grad)
    return None, *(each.grad for each in inputs)


# %% answer="memory_checkpoint" wrong="tensors kept outside saved_tensors"
def surroundings():
    return default_generator.twister.state, default_generator.waiting, State.on


def restore(found):
    default_generator.twister.state, default_generator.waiting, State.on = found
    fill("autocast", cast_as_listed if State.on else None)


def forward(ctx, function, *tensors):
    ctx.function = function
    ctx.before = surroundings()
    ctx.tensors = tensors
    return function(*tensors)


def backward(ctx, grad):
    now = surroundings()
    inputs = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    try:
        restore(ctx.before)
        with enable_grad():
            out = ctx.function(*inputs)
    finally:
        restore(now)
    out.backward(grad)
    return None, *(each.grad for each in inputs)


# %% answer="memory_checkpoint" wrong="waiting not put back"
def surroundings():
    return default_generator.twister.state, default_generator.waiting, State.on


def restore(found):
    default_generator.twister.state, _, State.on = found
    fill("autocast", cast_as_listed if State.on else None)


def forward(ctx, function, *tensors):
    ctx.function = function
    ctx.before = surroundings()
    ctx.save_for_backward(*tensors)
    return function(*tensors)


def backward(ctx, grad):
    now = surroundings()
    inputs = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    try:
        restore(ctx.before)
        with enable_grad():
            out = ctx.function(*inputs)
    finally:
        restore(now)
    out.backward(grad)
    return None, *(each.grad for each in inputs)


# %% answer="memory_checkpoint" wrong="no try/finally"
def surroundings():
    return default_generator.twister.state, default_generator.waiting, State.on


def restore(found):
    default_generator.twister.state, default_generator.waiting, State.on = found
    fill("autocast", cast_as_listed if State.on else None)


def forward(ctx, function, *tensors):
    ctx.function = function
    ctx.before = surroundings()
    ctx.save_for_backward(*tensors)
    return function(*tensors)


def backward(ctx, grad):
    now = surroundings()
    inputs = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    restore(ctx.before)
    with enable_grad():
        out = ctx.function(*inputs)
    restore(now)
    out.backward(grad)
    return None, *(each.grad for each in inputs)


# %% answer="memory_checkpoint" wrong="the backward pass in the surroundings of the forward pass" spoils="backward"
def backward(ctx, grad):
    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            ctx.function(*tensors).backward(grad)
    finally:
        restore(now)
    return None, *(each.grad for each in tensors)


# %% answer="memory_tiles" right="all partial results, joined at the end"
def attend(query, key, value, is_causal=False):
    from mytorch import arange
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if is_causal:
        i = arange(query.shape[-2], device=query.device).unsqueeze(1)
        j = arange(key.shape[-2], device=query.device)
        scores = scores.masked_fill(j > i, float("-inf"))
    m = scores.detach().amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


def merge(one, other):
    m = maximum(one[0], other[0])
    a, b = (one[0] - m).exp(), (other[0] - m).exp()
    return m, one[1] * a + other[1] * b, one[2] * a + other[2] * b


def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for i, q in enumerate(query.split(tile, -2)):
        parts = [attend(q, k, v, is_causal and i == j) for j, (k, v) in enumerate(zip(key.split(tile, -2), value.split(tile, -2))) if not (is_causal and j > i)]
        m = parts[0][0]
        for p in parts[1:]: m = maximum(m, p[0])
        l = sum((p[0]-m).exp()*p[1] for p in parts); o = sum((p[0]-m).exp()*p[2] for p in parts)
        rows.append(o / l)
    return cat(rows, -2)


# %% answer="memory_tiles" wrong="normalized already"
def attend(query, key, value, is_causal=False):
    from mytorch import arange
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if is_causal:
        scores = scores.masked_fill(arange(key.shape[-2]) > arange(query.shape[-2]).unsqueeze(1), float("-inf"))
    m = scores.amax(-1, keepdim=True)
    return m, (scores - m).exp().sum(-1, keepdim=True), (scores - m).softmax(-1) @ value


def merge(one, other):
    m = maximum(one[0], other[0])
    a, b = (one[0] - m).exp(), (other[0] - m).exp()
    return m, one[1] * a + other[1] * b, one[2] * a + other[2] * b


def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for i, q in enumerate(query.split(tile, -2)):
        total = None
        for j, (k, v) in enumerate(zip(key.split(tile, -2), value.split(tile, -2))):
            if is_causal and j > i:
                break
            part = attend(q, k, v, is_causal and i == j)
            total = part if total is None else merge(total, part)
        rows.append(total[2] / total[1])
    return cat(rows, -2)


# %% answer="memory_tiles" wrong="for normalized partial results"
def attend(query, key, value, is_causal=False):
    from mytorch import arange
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if is_causal:
        i = arange(query.shape[-2], device=query.device).unsqueeze(1)
        j = arange(key.shape[-2], device=query.device)
        scores = scores.masked_fill(j > i, float("-inf"))
    m = scores.detach().amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


def merge(one, other):
    m = maximum(one[0], other[0])
    l = one[1] * (one[0] - m).exp() + other[1] * (other[0] - m).exp()
    return m, l, (one[2] * one[1] + other[2] * other[1]) / l


def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for i, q in enumerate(query.split(tile, -2)):
        total = None
        for j, (k, v) in enumerate(zip(key.split(tile, -2), value.split(tile, -2))):
            if is_causal and j > i:
                break
            part = attend(q, k, v, is_causal and i == j)
            total = part if total is None else merge(total, part)
        rows.append(total[2] / total[1])
    return cat(rows, -2)


# %% answer="memory_tiles" wrong="-1e9 for minus infinity" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        seen = ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril()
        scores = scores + (~seen).to(scores.dtype) * -1e9
    m = scores.detach().amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


# %% answer="memory_int8" right="as first written, from the task alone"
def quantize(x, dim=-1):
    x = x.detach()
    if dim is None:
        largest = x.abs().max().reshape([1] * x.ndim)
    else:
        largest = x.abs().amax(dim, keepdim=True)
    scale = largest.clamp(min=1e-12) / 127
    return (x / scale).round().to(int8), scale


def __init__(self, layer):
    super().__init__()
    weight, scale = quantize(layer.weight.detach())
    self.register_buffer("weight", weight)
    self.register_buffer("scale", scale)
    self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())


# %% answer="memory_int8" wrong="bias stays a parameter"
def quantize(x, dim=-1):
    x = x.detach()
    if dim is None:
        largest = x.abs().max().reshape([1] * x.ndim)
    else:
        largest = x.abs().amax(dim, keepdim=True)
    scale = largest.clamp(min=1e-12) / 127
    return (x / scale).round().to(int8), scale


def __init__(self, layer):
    super().__init__()
    weight, scale = quantize(layer.weight.detach())
    self.register_buffer("weight", weight)
    self.register_buffer("scale", scale)
    self.bias = layer.bias


# %% answer="memory_int8" wrong="attributes in place of buffers"
def quantize(x, dim=-1):
    x = x.detach()
    if dim is None:
        largest = x.abs().max().reshape([1] * x.ndim)
    else:
        largest = x.abs().amax(dim, keepdim=True)
    scale = largest.clamp(min=1e-12) / 127
    return (x / scale).round().to(int8), scale


def __init__(self, layer):
    super().__init__()
    self.weight, self.scale = quantize(layer.weight.detach())
    self.bias = None if layer.bias is None else layer.bias.detach()


# %% answer="memory_repair_rows" right="dropout of a column of ones"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p
    def forward(self, x):
        if not self.training:
            return x
        return x * nn.functional.dropout(x.new_ones(len(x), 1), self.p)


# %% answer="memory_repair_rows" right="NumPy generator seeded by torch.randint"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p
        self.calls = 0
    def forward(self, x):
        if not self.training:
            return x
        gen = np.random.default_rng(int(torch.randint(0, 2**31, (1,))))
        keep = torch.tensor(gen.random((len(x), 1)) >= self.p)
        return x * keep / (1 - self.p)


# %% answer="memory_measure_segments" right="as first written, from the task alone"
def best(peak, n):
    return min((k for k in range(1, n + 1) if n % k == 0), key=peak)


# %% answer="memory_measure_segments" wrong="divisor nearest to the root of n"
def best(peak, n):
    return min((k for k in range(1, n + 1) if n % k == 0), key=lambda k: abs(k - n ** 0.5))
