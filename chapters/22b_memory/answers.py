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
        scores = scores.masked_fill(arange(key.shape[-2], device=query.device) > arange(query.shape[-2], device=query.device).unsqueeze(1), float("-inf"))
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
    return (x / scale).round().clamp(-127, 127).to(int8), scale


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
    return (x / scale).round().clamp(-127, 127).to(int8), scale


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
    return (x / scale).round().clamp(-127, 127).to(int8), scale


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
        return x * nn.functional.dropout(x.new_ones(len(x), *[1] * (x.ndim - 1)), self.p)


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
        keep = torch.tensor(gen.random((len(x),) + (1,) * (x.ndim - 1)) >= self.p, device=x.device)
        return x * keep / (1 - self.p)


# %% answer="memory_measure_segments" right="as first written, from the task alone"
def best(peak, n):
    return min((k for k in range(1, n + 1) if n % k == 0), key=peak)


# %% answer="memory_measure_segments" wrong="divisor nearest to the root of n"
def best(peak, n):
    return min((k for k in range(1, n + 1) if n % k == 0), key=lambda k: abs(k - n ** 0.5))


# %% answer="memory_predict_bytes" wrong="gradients from the constructor on"
prediction = [8, 8, 8, 16, 12, 12000]


# %% answer="memory_predict_bytes" wrong="zero_grad also frees the averages"
prediction = [4, 4, 8, 16, 4, 12000]


# %% answer="memory_predict_bytes" wrong="Adam keeps a copy of the weights"
prediction = [4, 4, 8, 20, 16, 12000]


# %% answer="memory_predict_bytes" wrong="bytes of float64"
prediction = [8, 8, 16, 32, 24, 12000]


# %% answer="memory_predict_bytes" wrong="19 additions for an element of the product"
prediction = [4, 4, 8, 16, 12, 11700]


# %% answer="memory_predict_bytes" wrong="operations of the transposed product"
prediction = [4, 4, 8, 16, 12, 8000]


# %% answer="memory_predict_bytes" right="a tuple of computed integers"
prediction = 4, 4, 8, 16, 12, 2 * 10 * 20 * 30


# %% answer="memory_predict_bytes" right="an array"
prediction = np.array([1, 1, 2, 4, 3, 3000]) * 4


# %% answer="memory_predict_bytes" right="a tensor"
prediction = torch.tensor([4, 4, 8, 16, 12, 12_000])


# %% answer="memory_checkpoint" wrong="the twister itself, which goes on drawing" spoils="surroundings restore"
def surroundings():
    return default_generator.twister, default_generator.waiting, State.on


def restore(found):
    default_generator.twister, default_generator.waiting, State.on = found
    fill("autocast", cast_as_listed if State.on else None)


# %% answer="memory_checkpoint" wrong="switches the layer on and never off" spoils="surroundings restore"
def restore(found):
    default_generator.twister.state, default_generator.waiting, State.on = found
    if State.on:
        fill("autocast", cast_as_listed)


# %% answer="memory_checkpoint" wrong="a dict in place of the tuple" spoils="surroundings restore"
def surroundings():
    return {"state": default_generator.twister.state, "waiting": default_generator.waiting, "autocast": State.on}


def restore(found):
    default_generator.twister.state, default_generator.waiting = found["state"], found["waiting"]
    State.on = found["autocast"]
    fill("autocast", cast_as_listed if State.on else None)


# %% answer="memory_checkpoint" wrong="restores the state without the layer" spoils="surroundings restore"
def restore(found):
    default_generator.twister.state, default_generator.waiting, State.on = found


# %% answer="memory_checkpoint" wrong="restores where autocast is on only if it is on" spoils="surroundings restore"
def restore(found):
    default_generator.twister.state, default_generator.waiting, on = found
    if on:
        State.on = on
    fill("autocast", cast_as_listed if on else None)


# %% answer="memory_checkpoint" wrong="the layer as it is now" spoils="surroundings restore"
def restore(found):
    fill("autocast", cast_as_listed if State.on else None)
    default_generator.twister.state, default_generator.waiting, State.on = found


# %% answer="memory_checkpoint" right="unpacks one by one, with an if"
def surroundings():
    generator = default_generator
    return (generator.twister.state, generator.waiting, State.on)


def restore(found):
    state, waiting, on = found
    default_generator.twister.state = state
    default_generator.waiting = waiting
    State.on = on
    if on:
        fill("autocast", cast_as_listed)
    else:
        fill("autocast", None)


# %% answer="memory_checkpoint" right="copies of the state and of the dict"
def surroundings():
    import copy

    return copy.deepcopy(default_generator.twister.state), default_generator.waiting, dict(State.on)


def restore(found):
    state, default_generator.waiting, on = found
    default_generator.twister.state = state
    State.on = dict(on)
    fill("autocast", {True: cast_as_listed, False: None}[len(on) > 0])


# %% answer="memory_checkpoint" wrong="saves detached tensors that require no gradient" spoils="forward"
def forward(ctx, function, *tensors):
    ctx.function, ctx.before = function, surroundings()
    ctx.save_for_backward(*(each.detach() for each in tensors))
    return function(*tensors)


# %% answer="memory_checkpoint" wrong="saves only the tensors that require a gradient" spoils="forward"
def forward(ctx, function, *tensors):
    ctx.function, ctx.before = function, surroundings()
    ctx.save_for_backward(*(each for each in tensors if each.requires_grad))
    return function(*tensors)


# %% answer="memory_checkpoint" wrong="calls the function twice" spoils="forward"
def forward(ctx, function, *tensors):
    ctx.function, ctx.before = function, surroundings()
    ctx.save_for_backward(*tensors)
    function(*tensors)
    return function(*tensors)


# %% answer="memory_checkpoint" wrong="keeps the result, too" spoils="forward"
def forward(ctx, function, *tensors):
    ctx.function, ctx.before = function, surroundings()
    result = function(*tensors)
    ctx.save_for_backward(*tensors, result)
    return result


# %% answer="memory_checkpoint" wrong="the generator goes back after the first run" spoils="forward"
def forward(ctx, function, *tensors):
    ctx.function, ctx.before = function, surroundings()
    ctx.save_for_backward(*tensors)
    result = function(*tensors)
    restore(ctx.before)
    return result


# %% answer="memory_checkpoint" right="saves after the run, but for the surroundings"
def forward(ctx, function, *tensors):
    ctx.before = surroundings()
    result = function(*tensors)
    ctx.function = function
    ctx.save_for_backward(*tensors)
    return result


# %% answer="memory_checkpoint" right="no_grad once more"
def forward(ctx, function, *tensors):
    from mytorch import no_grad

    ctx.save_for_backward(*tensors)
    ctx.function, ctx.before = function, surroundings()
    with no_grad():
        return function(*tensors)


# %% answer="memory_checkpoint" wrong="copies of the saved tensors" spoils="backward"
def backward(ctx, grad):
    tensors = [each.detach().clone().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*tensors)
    finally:
        restore(now)
    result.backward(grad)
    return None, *(each.grad for each in tensors)


# %% answer="memory_checkpoint" wrong="the backward pass starts with ones" spoils="backward"
def backward(ctx, grad):
    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*tensors)
    finally:
        restore(now)
    result.sum().backward()
    return None, *(each.grad for each in tensors)


# %% answer="memory_checkpoint" wrong="no None for the function" spoils="backward"
def backward(ctx, grad):
    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*tensors)
    finally:
        restore(now)
    result.backward(grad)
    return tuple(each.grad for each in tensors)


# %% answer="memory_checkpoint" wrong="does not record the second run" spoils="backward"
def backward(ctx, grad):
    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    try:
        result = ctx.function(*tensors)
    finally:
        restore(now)
    result.backward(grad)
    return None, *(each.grad for each in tensors)


# %% answer="memory_checkpoint" wrong="the function is forgotten after a pass" spoils="backward"
def backward(ctx, grad):
    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*tensors)
    finally:
        restore(now)
        del ctx.function
    result.backward(grad)
    return None, *(each.grad for each in tensors)


# %% answer="memory_checkpoint" wrong="zeros for an argument without a gradient, also where none is required" spoils="backward"
def backward(ctx, grad):
    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*tensors)
    finally:
        restore(now)
    result.backward(grad)
    return None, *(each * 0 if each.grad is None else each.grad for each in tensors)


# %% answer="memory_checkpoint" wrong="switches autocast off afterwards, whatever it was" spoils="backward"
def backward(ctx, grad):
    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    state, waiting, _ = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*tensors)
    finally:
        restore((state, waiting, {}))
    result.backward(grad)
    return None, *(each.grad for each in tensors)


# %% answer="memory_checkpoint" right="a loop, and the result outside of the block"
def backward(ctx, grad):
    fresh = []
    for each in ctx.saved_tensors:
        copy = each.detach()
        if each.requires_grad:
            copy.requires_grad_()
        fresh.append(copy)
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*fresh)
    finally:
        restore(now)
    result.backward(gradient=grad)
    return (None,) + tuple(each.grad for each in fresh)


# %% answer="memory_checkpoint" right="a context manager of its own"
def backward(ctx, grad):
    from contextlib import contextmanager

    @contextmanager
    def within(found):
        now = surroundings()
        restore(found)
        try:
            yield
        finally:
            restore(now)

    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    with enable_grad(), within(ctx.before):
        result = ctx.function(*tensors)
    result.backward(grad)
    return None, *[each.grad for each in tensors]


# %% answer="memory_checkpoint" right="an ExitStack"
def backward(ctx, grad):
    from contextlib import ExitStack

    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    with ExitStack() as stack:
        stack.callback(restore, surroundings())
        stack.enter_context(enable_grad())
        restore(ctx.before)
        result = ctx.function(*tensors)
    result.backward(grad)
    return None, *(each.grad for each in tensors)


# %% answer="memory_checkpoint" wrong="grad for the arguments alone, so that the weights inside get none" spoils="backward"
def backward(ctx, grad):
    from mytorch import autograd

    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*tensors)
    finally:
        restore(now)
    wanted = [each for each in tensors if each.requires_grad]
    found = iter(autograd.grad(result, wanted, grad, allow_unused=True))
    return None, *(next(found) if each.requires_grad else None for each in tensors)


# %% answer="memory_checkpoint" wrong="the surroundings stay if the function raises" spoils="backward"
def backward(ctx, grad):
    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    with enable_grad():
        result = ctx.function(*tensors)
    restore(now)
    result.backward(grad)
    return None, *(each.grad for each in tensors)


# %% answer="memory_checkpoint" wrong="the saved tensors themselves, whose history the second pass goes through" spoils="backward"
def backward(ctx, grad):
    tensors = ctx.saved_tensors
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*tensors)
    finally:
        restore(now)
    result.backward(grad)
    return None, *(each.grad for each in tensors)


# %% answer="memory_checkpoint" wrong="what the function draws in the second run stays drawn" spoils="backward"
def backward(ctx, grad):
    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    on = surroundings()[2]
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*tensors)
    finally:
        restore((*surroundings()[:2], on))
    result.backward(grad)
    return None, *(each.grad for each in tensors)


# %% answer="memory_checkpoint" wrong="the surroundings of the moment after the run" spoils="forward"
def forward(ctx, function, *tensors):
    ctx.function = function
    ctx.save_for_backward(*tensors)
    result = function(*tensors)
    ctx.before = surroundings()
    return result


# %% answer="memory_tiles" wrong="the root of the values' width" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT * (1 / math.sqrt(value.shape[-1]))
    if is_causal:
        scores = scores.masked_fill(~ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril(), -math.inf)
    m = scores.detach().amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


# %% answer="memory_tiles" wrong="not scaled" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT
    if is_causal:
        scores = scores.masked_fill(~ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril(), -math.inf)
    m = scores.detach().amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


# %% answer="memory_tiles" wrong="a square mask of the keys" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        length = min(scores.shape[-2:])
        square = ones((length, length), dtype=boolean, device=scores.device).tril()
        scores = scores.masked_fill(~square, -math.inf)
    m = scores.detach().amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


# %% answer="memory_tiles" wrong="the mask leaves out the key at the query's own position" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        scores = scores.masked_fill(~ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril(-1), -math.inf)
    m = scores.detach().amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


# %% answer="memory_tiles" wrong="the mask is aligned to the last key" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        rows, columns = scores.shape[-2:]
        scores = scores.masked_fill(~ones((rows, columns), dtype=boolean, device=scores.device).tril(columns - rows), -math.inf)
    m = scores.detach().amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


# %% answer="memory_tiles" wrong="m and l without their last dimension" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        scores = scores.masked_fill(~ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril(), -math.inf)
    m = scores.detach().amax(-1)
    weights = (scores - m.unsqueeze(-1)).exp()
    return m, weights.sum(-1), weights @ value


# %% answer="memory_tiles" wrong="m with a derivative" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        scores = scores.masked_fill(~ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril(), -math.inf)
    m = scores.amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


# %% answer="memory_tiles" right="the query is scaled first, with sqrt of a tensor's size"
def attend(query, key, value, is_causal=False):
    scores = (query / query.size(-1) ** 0.5) @ key.transpose(-1, -2)
    if is_causal:
        seen = ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril()
        scores = scores.masked_fill(seen == False, float("-inf"))
    m = scores.amax(dim=-1, keepdim=True).detach()
    weights = (scores - m).exp()
    return m, weights.sum(dim=-1, keepdim=True), weights.matmul(value)


# %% answer="memory_tiles" right="max with indices, the mask by where"
def attend(query, key, value, is_causal=False):
    from mytorch import tensor, where

    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if is_causal:
        seen = ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril()
        scores = where(seen, scores, tensor(-math.inf, dtype=scores.dtype, device=scores.device))
    m = scores.detach().max(-1, keepdim=True)[0]
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


# %% answer="memory_tiles" right="m under no_grad, the sum by a product with ones"
def attend(query, key, value, is_causal=False):
    from mytorch import no_grad

    scores = query @ key.mT * query.shape[-1] ** -0.5
    if is_causal:
        scores = scores.masked_fill(ones(scores.shape[-2:], dtype=boolean, device=scores.device).triu(1), -math.inf)
    with no_grad():
        m = scores.amax(-1, keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1).unsqueeze(-1), weights @ value


# %% answer="memory_tiles" wrong="adds before it rescales, by both factors" spoils="merge"
def merge(one, other):
    m = maximum(one[0], other[0])
    both = (one[0] - m).exp() * (other[0] - m).exp()
    return m, (one[1] + other[1]) * both, (one[2] + other[2]) * both


# %% answer="memory_tiles" wrong="rescales with exp(m - a)" spoils="merge"
def merge(one, other):
    m = maximum(one[0], other[0])
    this, that = (m - one[0]).exp(), (m - other[0]).exp()
    return m, one[1] * this + other[1] * that, one[2] * this + other[2] * that


# %% answer="memory_tiles" wrong="sums without a maximum, which overflow" spoils="merge"
def merge(one, other):
    m = maximum(one[0], other[0])
    this, that = one[0].exp(), other[0].exp()
    return m, (one[1] * this + other[1] * that) / m.exp(), (one[2] * this + other[2] * that) / m.exp()


# %% answer="memory_tiles" wrong="the factors are swapped" spoils="merge"
def merge(one, other):
    m = maximum(one[0], other[0])
    this, that = (one[0] - m).exp(), (other[0] - m).exp()
    return m, one[1] * that + other[1] * this, one[2] * that + other[2] * this


# %% answer="memory_tiles" wrong="refers to the smaller maximum" spoils="merge"
def merge(one, other):
    m = -maximum(-one[0], -other[0])
    this, that = (one[0] - m).exp(), (other[0] - m).exp()
    return m, one[1] * this + other[1] * that, one[2] * this + other[2] * that


# %% answer="memory_tiles" wrong="one maximum for all rows" spoils="merge"
def merge(one, other):
    m = maximum(one[0], other[0]).max()
    this, that = (one[0] - m).exp(), (other[0] - m).exp()
    return m, one[1] * this + other[1] * that, one[2] * this + other[2] * that


# %% answer="memory_tiles" wrong="normalizes the result" spoils="merge"
def merge(one, other):
    m = maximum(one[0], other[0])
    this, that = (one[0] - m).exp(), (other[0] - m).exp()
    total = one[1] * this + other[1] * that
    return m, total, (one[2] * this + other[2] * that) / total


# %% answer="memory_tiles" right="where, and a loop over the two sums"
def merge(one, other):
    from mytorch import where

    m = where(one[0] > other[0], one[0], other[0])
    this, that = (one[0] - m).exp(), (other[0] - m).exp()
    return (m, *(this * a + that * b for a, b in zip(one[1:], other[1:])))


# %% answer="memory_tiles" right="logaddexp of nothing, a fold that starts with a copy"
def merge(one, other):
    (a, l, o), (b, k, p) = one, other
    m = maximum(b, a)
    return m, k * (b - m).exp() + l * (a - m).exp(), p * (b - m).exp() + o * (a - m).exp()


# %% answer="memory_tiles" right="stacks both and reduces"
def merge(one, other):
    from mytorch import stack

    maxima = stack([one[0], other[0]])
    m = maxima.amax(0)
    shrink = (maxima - m).exp()
    return m, (stack([one[1], other[1]]) * shrink).sum(0), (stack([one[2], other[2]]) * shrink).sum(0)


# %% answer="memory_tiles" wrong="computes the tiles that nothing attends to" spoils="tiled_attention"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for top, queries in enumerate(query.split(tile, -2)):
        parts = [attend(queries, *pair, is_causal and left == top) for left, pair in enumerate(zip(key.split(tile, -2), value.split(tile, -2)))]
        _, total, output = reduce(merge, parts[: top + 1] if is_causal else parts)
        rows.append(output / total)
    return cat(rows, -2)


# %% answer="memory_tiles" wrong="tiles of queries with all of their keys" spoils="tiled_attention"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for top, queries in enumerate(query.split(tile, -2)):
        end = min((top + 1) * tile, key.shape[-2]) if is_causal else key.shape[-2]
        scores = queries @ key[..., :end, :].mT / math.sqrt(query.shape[-1])
        if is_causal:
            seen = ones((queries.shape[-2], end), dtype=boolean).tril(top * tile)
            scores = scores.masked_fill(~seen, -math.inf)
        rows.append(scores.softmax(-1) @ value[..., :end, :])
    return cat(rows, -2)


# %% answer="memory_tiles" wrong="splits along dimension 1" spoils="tiled_attention"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    pairs, rows = list(zip(key.split(tile, 1), value.split(tile, 1), strict=True)), []
    for top, queries in enumerate(query.split(tile, 1)):
        seen = pairs[: top + 1] if is_causal else pairs
        _, total, output = reduce(merge, [attend(queries, *pair, is_causal and left == top) for left, pair in enumerate(seen)])
        rows.append(output / total)
    return cat(rows, 1)


# %% answer="memory_tiles" wrong="leaves out the last, smaller tile" spoils="tiled_attention"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for top, queries in enumerate(query.split(tile, -2)):
        parts = []
        for left in range(max(1, key.shape[-2] // tile)):
            if is_causal and left > top:
                break
            inside = slice(left * tile, (left + 1) * tile)
            parts.append(attend(queries, key[..., inside, :], value[..., inside, :], is_causal and left == top))
        _, total, output = reduce(merge, parts)
        rows.append(output / total)
    return cat(rows, -2)


# %% answer="memory_tiles" wrong="as many tiles as `tile` says" spoils="tiled_attention"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    pairs, rows = list(zip(key.chunk(tile, -2), value.chunk(tile, -2), strict=True)), []
    for top, queries in enumerate(query.chunk(tile, -2)):
        seen = pairs[: top + 1] if is_causal else pairs
        _, total, output = reduce(merge, [attend(queries, *pair, is_causal and left == top) for left, pair in enumerate(seen)])
        rows.append(output / total)
    return cat(rows, -2)


# %% answer="memory_tiles" wrong="no mask at all" spoils="tiled_attention"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    pairs, rows = list(zip(key.split(tile, -2), value.split(tile, -2), strict=True)), []
    for top, queries in enumerate(query.split(tile, -2)):
        seen = pairs[: top + 1] if is_causal else pairs
        _, total, output = reduce(merge, [attend(queries, *pair) for pair in seen])
        rows.append(output / total)
    return cat(rows, -2)


# %% answer="memory_tiles" wrong="a result in float32" spoils="tiled_attention"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    pairs, rows = list(zip(key.split(tile, -2), value.split(tile, -2), strict=True)), []
    for top, queries in enumerate(query.split(tile, -2)):
        seen = pairs[: top + 1] if is_causal else pairs
        _, total, output = reduce(merge, [attend(queries, *pair, is_causal and left == top) for left, pair in enumerate(seen)])
        rows.append((output / total).float())
    return cat(rows, -2)


# %% answer="memory_tiles" right="slices, and a running triple"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for top in range(0, query.shape[-2], tile):
        done = None
        for left in range(0, key.shape[-2], tile):
            if is_causal and left > top:
                continue
            q, k, v = query[..., top : top + tile, :], key[..., left : left + tile, :], value[..., left : left + tile, :]
            part = attend(q, k, v, is_causal and left == top)
            done = merge(done, part) if done else part
        rows.append(done[2] / done[1])
    return cat(rows, dim=-2)


# %% answer="memory_tiles" right="narrow, from the last tile of keys to the first"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for top, queries in enumerate(query.split(tile, dim=-2)):
        keys, values = key.split(tile, dim=-2), value.split(tile, dim=-2)
        last = min(top, len(keys) - 1) if is_causal else len(keys) - 1
        m, l, o = attend(queries, keys[last], values[last], is_causal=is_causal and last == top)
        for left in reversed(range(last)):
            m, l, o = merge((m, l, o), attend(queries, keys[left], values[left]))
        rows.append(o / l)
    return cat(rows, -2)


# %% answer="memory_tiles" right="recursion over the tiles"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    def triple(queries, pairs, top):
        *before, last = pairs
        part = attend(queries, *last, is_causal and len(before) == top)
        return merge(triple(queries, before, top), part) if before else part

    pairs = [*zip(key.split(tile, -2), value.split(tile, -2))]
    found = []
    for top, queries in enumerate(query.split(tile, -2)):
        _, total, output = triple(queries, pairs[: top + 1] if is_causal else pairs, top)
        found.append(output / total)
    return cat(tuple(found), -2)


# %% answer="memory_tiles" wrong="writes into the first triple" spoils="merge"
def merge(one, other):
    top = one[0].maximum(other[0])
    here, there = (one[0] - top).exp(), (other[0] - top).exp()
    l, o = one[1].detach(), one[2].detach()
    l.mul_(here).add_(other[1] * there)
    o.mul_(here).add_(other[2] * there)
    return top, l, o


# %% answer="memory_tiles" wrong="the scale of a head of the tile's size" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT / math.sqrt(key.shape[-2])
    if is_causal:
        seen = ones(scores.shape[-2:], dtype=boolean, device=query.device).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    m = scores.amax(-1, keepdim=True).detach()
    p = (scores - m).exp()
    return m, p.sum(-1, keepdim=True), p @ value


# %% answer="memory_tiles" wrong="scores that aren't allowed count as 0" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if is_causal:
        scores = scores.tril()
    m = scores.amax(-1, keepdim=True).detach()
    p = (scores - m).exp()
    return m, p.sum(-1, keepdim=True), p @ value


# %% answer="memory_tiles" wrong="masks after the largest score is found" spoils="attend"
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    m = scores.amax(-1, keepdim=True).detach()
    p = (scores - m).exp()
    if is_causal:
        p = p.tril()
    return m, p.sum(-1, keepdim=True), p @ value


# %% answer="memory_tiles" wrong="a mask in every tile" spoils="tiled_attention"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for top, queries in enumerate(query.split(tile, -2)):
        pairs = list(zip(key.split(tile, -2), value.split(tile, -2)))
        parts = [attend(queries, *pair, is_causal) for pair in (pairs[: top + 1] if is_causal else pairs)]
        _, total, output = reduce(merge, parts)
        rows.append(output / total)
    return cat(rows, -2)


# %% answer="memory_tiles" wrong="each tile is normalized, and the tiles are averaged" spoils="tiled_attention"
def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for top, queries in enumerate(query.split(tile, -2)):
        pairs = list(zip(key.split(tile, -2), value.split(tile, -2)))[: top + 1 if is_causal else None]
        parts = [attend(queries, *pair, is_causal and left == top) for left, pair in enumerate(pairs)]
        rows.append(sum(output / total for _, total, output in parts) / len(parts))
    return cat(rows, -2)


# %% answer="memory_int8" wrong="one scale for the whole tensor where dim is the last" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().max().reshape([1] * x.ndim).clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% answer="memory_int8" wrong="dim is the dimension that keeps its size" spoils="quantize"
def quantize(x, dim=-1):
    others = None if dim is None else tuple(each for each in range(x.ndim) if each != dim % x.ndim)
    scale = x.abs().amax(others, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% answer="memory_int8" wrong="scales without the reduced dimension" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale if dim is None else scale.squeeze(dim)


# %% answer="memory_int8" wrong="floor" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).floor().to(int8), scale


# %% answer="memory_int8" wrong="half away from zero, by adding one half to both signs" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale + 0.5).to(int8), scale


# %% answer="memory_int8" wrong="a row of zeros divides by zero" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% answer="memory_int8" wrong="a row of zeros counts as 1" spoils="quantize"
def quantize(x, dim=-1):
    from mytorch import ones_like, where

    largest = x.abs().amax(dim, keepdim=True)
    scale = where(largest == 0, ones_like(largest), largest) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% answer="memory_int8" wrong="the least scale is 1e-12" spoils="quantize"
def quantize(x, dim=-1):
    scale = (x.abs().amax(dim, keepdim=True) / 127).clamp(min=1e-12)
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% answer="memory_int8" wrong="integers in float32" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round(), scale


# %% answer="memory_int8" wrong="scales in float32, whatever x is" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12).float() / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% answer="memory_int8" wrong="divides the argument in place" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return x.div_(scale).round_().to(int8), scale


# %% answer="memory_int8" right="the larger of the extremes, where for zeros"
def quantize(x, dim=-1):
    from mytorch import full_like, maximum, where

    largest = maximum(x.amax(dim, keepdim=True), -x.amin(dim, keepdim=True))
    scale = where(largest > 0, largest, full_like(largest, 1e-12)) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% answer="memory_int8" right="max with its indices, or over the flat tensor"
def quantize(x, dim=-1):
    if dim is None:
        largest = x.abs().reshape(-1).amax(0).reshape([1] * x.ndim)
    else:
        largest = x.abs().max(dim, keepdim=True)[0]
    scale = largest.clamp(min=1e-12).div(127)
    return x.div(scale).round().clamp(-127, 127).to(int8), scale


# %% answer="memory_int8" right="multiplies by 127 first"
def quantize(x, dim=-1):
    largest = x.abs().amax(dim, keepdim=True).clamp(min=1e-12)
    return (x * 127 / largest).round().clamp(-127, 127).to(dtype=int8), largest / 127


# %% answer="memory_int8" wrong="no super().__init__, and a dict" spoils="__init__"
def __init__(self, layer):
    super().__init__()
    self._buffers["weight"], self._buffers["scale"] = quantize(layer.weight.detach())
    if layer.bias is not None:
        self._buffers["bias"] = layer.bias


# %% answer="memory_int8" wrong="no buffer for a missing bias, but zeros" spoils="__init__"
def __init__(self, layer):
    super().__init__()
    for name, each in zip(("weight", "scale"), quantize(layer.weight.detach()), strict=True):
        self.register_buffer(name, each)
    self.register_buffer("bias", layer.weight.detach()[:, 0] * 0 if layer.bias is None else layer.bias.detach())


# %% answer="memory_int8" wrong="the bias requires a gradient" spoils="__init__"
def __init__(self, layer):
    super().__init__()
    for name, each in zip(("weight", "scale"), quantize(layer.weight.detach()), strict=True):
        self.register_buffer(name, each)
    self.register_buffer("bias", layer.bias)


# %% answer="memory_int8" wrong="one scale for the layer" spoils="__init__"
def __init__(self, layer):
    super().__init__()
    for name, each in zip(("weight", "scale"), quantize(layer.weight.detach(), None), strict=True):
        self.register_buffer(name, each)
    self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())


# %% answer="memory_int8" wrong="the scale is not saved" spoils="__init__"
def __init__(self, layer):
    super().__init__()
    weight, scale = quantize(layer.weight.detach())
    self.register_buffer("weight", weight)
    self.register_buffer("scale", scale, persistent=False)
    self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())


# %% answer="memory_int8" wrong="scales with a history" spoils="__init__"
def __init__(self, layer):
    super().__init__()
    for name, each in zip(("weight", "scale"), quantize(layer.weight), strict=True):
        self.register_buffer(name, each)
    self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())


# %% answer="memory_int8" wrong="keeps the layer" spoils="__init__"
def __init__(self, layer):
    super().__init__()
    self.layer = layer
    for name, each in zip(("weight", "scale"), quantize(layer.weight.detach()), strict=True):
        self.register_buffer(name, each)
    self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())


# %% answer="memory_int8" right="a dict of three, detached by data"
def __init__(self, layer):
    super().__init__()
    weight, scale = quantize(layer.weight.data)
    bias = layer.bias
    for name, each in {"weight": weight, "scale": scale, "bias": bias if bias is None else bias.data}.items():
        self.register_buffer(name, each)


# %% answer="memory_int8" right="under no_grad, with copies"
def __init__(self, layer):
    from mytorch import no_grad

    super().__init__()
    with no_grad():
        weight, scale = quantize(layer.weight)
        bias = None if layer.bias is None else layer.bias.clone()
    self.register_buffer("weight", weight)
    self.register_buffer("scale", scale)
    self.register_buffer("bias", bias)


# %% answer="memory_int8" right="the state_dict of the layer, and Module.__init__"
def __init__(self, layer):
    Module.__init__(self)
    state = layer.state_dict()
    self.register_buffer("weight", None)
    self.register_buffer("scale", None)
    self.register_buffer("bias", state.get("bias"))
    self.weight, self.scale = quantize(state["weight"])


# %% answer="memory_int8" wrong="the layer's parameters stop learning" spoils="__init__"
def __init__(self, layer):
    super().__init__()
    layer.requires_grad_(False)
    weight, scale = quantize(layer.weight)
    self.register_buffer("weight", weight)
    self.register_buffer("scale", scale)
    self.register_buffer("bias", layer.bias)


# %% answer="memory_int8" wrong="scales in float32 for a layer of doubles" spoils="__init__"
def __init__(self, layer):
    super().__init__()
    weight, scale = quantize(layer.weight.detach().float())
    self.register_buffer("weight", weight)
    self.register_buffer("scale", scale)
    self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().float())


# %% answer="memory_int8" wrong="a scale for each input" spoils="__init__"
def __init__(self, layer):
    super().__init__()
    weight, scale = quantize(layer.weight.detach(), 0)
    self.register_buffer("weight", weight)
    self.register_buffer("scale", scale)
    self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())


# %% answer="memory_int8" wrong="128 wraps around to -128 in bfloat16" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().to(int8), scale


# %% answer="memory_int8" wrong="the largest number, not the largest absolute value" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% answer="memory_int8" wrong="-128 is one of the integers" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-128, 127).to(int8), scale


# %% answer="memory_int8" wrong="the integers are truncated" spoils="quantize"
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).clamp(-127, 127).to(int8), scale


# %% answer="memory_int8" wrong="a scale without dimensions for all elements" spoils="quantize"
def quantize(x, dim=-1):
    largest = x.abs().max() if dim is None else x.abs().amax(dim, keepdim=True)
    scale = largest.clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% answer="memory_repair_rows" wrong="seeded once, in the constructor, by torch"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p
        self.generator = torch.Generator()
        self.generator.manual_seed(torch.initial_seed())

    def forward(self, x):
        if not self.training:
            return x
        keep = torch.rand(len(x), *[1] * (x.ndim - 1), generator=self.generator) >= self.p
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" wrong="the first mask again and again"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p, self.keep = p, {}

    def forward(self, x):
        if not self.training:
            return x
        if len(x) not in self.keep:
            self.keep[len(x)] = torch.rand(len(x), device=x.device) >= self.p
        return x * self.keep[len(x)].reshape(-1, *[1] * (x.ndim - 1)) / (1 - self.p)


# %% answer="memory_repair_rows" wrong="drops in evaluation, too"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        keep = torch.rand(len(x), *[1] * (x.ndim - 1), device=x.device) >= self.p
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" wrong="divides in evaluation, too"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        keep = torch.rand(len(x), *[1] * (x.ndim - 1), device=x.device) >= self.p if self.training else 1
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" wrong="keeps with probability p"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        keep = torch.rand(len(x), *[1] * (x.ndim - 1), device=x.device) < self.p
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" wrong="divides by p"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or not self.p:
            return x
        keep = torch.rand(len(x), *[1] * (x.ndim - 1), device=x.device) >= self.p
        return x * keep / self.p


# %% answer="memory_repair_rows" wrong="columns, not rows"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        keep = torch.rand(1, *x.shape[1:], device=x.device) >= self.p
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" wrong="rows of pictures, not whole pictures"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        keep = torch.rand(*x.shape[:-1], 1, device=x.device) >= self.p
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" wrong="a mask in float32 widens the result"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        keep = (torch.rand(len(x), *[1] * (x.ndim - 1), device=x.device) >= self.p).float()
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" right="bernoulli, like x"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.training:
            keep = torch.bernoulli(torch.full((len(x),) + (1,) * (x.ndim - 1), 1 - self.p, device=x.device)).to(x.dtype)
            x = x * keep / (1 - self.p)
        return x


# %% answer="memory_repair_rows" right="where, with a mask of the shape of x"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        dropped = (torch.rand(x.shape[0], device=x.device) < self.p).reshape(-1, *[1] * (x.ndim - 1))
        return torch.where(dropped, torch.zeros_like(x), x / (1 - self.p))


# %% answer="memory_repair_rows" wrong="always the same number of rows, so that a batch of one is never dropped"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        keep = torch.ones(len(x), dtype=torch.bool, device=x.device)
        keep[torch.randperm(len(x))[: round(self.p * len(x))].to(x.device)] = False
        return x * keep.reshape(-1, *[1] * (x.ndim - 1)) / (1 - self.p)


# %% answer="memory_repair_rows" wrong="writes into its argument"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        shape = len(x), *[1] * (x.ndim - 1)
        keep = torch.rand(shape, device=x.device) >= self.p
        return x.mul_(keep).div_(1 - self.p)


# %% answer="memory_repair_rows" wrong="a generator of torch, but of its own"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p
        self.generator = torch.Generator().manual_seed(torch.initial_seed())

    def forward(self, x):
        if not self.training:
            return x
        shape = len(x), *[1] * (x.ndim - 1)
        keep = torch.rand(shape, generator=self.generator).to(x.device) >= self.p
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" wrong="a fresh generator with the seed of torch in each call"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        generator = np.random.default_rng(torch.initial_seed())
        keep = torch.tensor(generator.random((len(x), *[1] * (x.ndim - 1))) >= self.p, device=x.device)
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" wrong="the mask of the last call that recorded, for a run that is repeated"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p, self.keep = p, None

    def forward(self, x):
        if not self.training:
            return x
        shape = len(x), *[1] * (x.ndim - 1)
        if self.keep is not None and self.keep.shape == shape:
            keep, self.keep = self.keep, None
        else:
            keep = self.keep = torch.rand(shape, device=x.device) >= self.p
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" wrong="one decision for the whole batch"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        keep = torch.rand((), device=x.device) >= self.p
        return x * keep / (1 - self.p)


# %% answer="memory_repair_rows" right="drawn on the CPU, and moved"
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.training:
            keep = torch.tensor([torch.rand(()).item() >= self.p for _ in range(len(x))])
            x = torch.where(keep.to(x.device).view(-1, *(1,) * (x.dim() - 1)), x / (1 - self.p), torch.zeros_like(x))
        return x


# %% answer="memory_measure_segments" wrong="the root of n, rounded to any number"
def best(peak, n):
    return max(1, round(n ** 0.5)) + (n == 36)


# %% answer="memory_measure_segments" wrong="the smallest peak itself"
def best(peak, n):
    return min(peak(k) for k in range(1, n + 1) if n % k == 0)


# %% answer="memory_measure_segments" wrong="layers in a segment, not segments"
def best(peak, n):
    return n // min((k for k in range(1, n + 1) if n % k == 0), key=peak)


# %% answer="memory_measure_segments" wrong="one segment"
def best(peak, n):
    return 1


# %% answer="memory_measure_segments" wrong="the index in the list of divisors"
def best(peak, n):
    peaks = [peak(k) for k in range(1, n + 1) if n % k == 0]
    return peaks.index(min(peaks))


# %% answer="memory_measure_segments" wrong="half of the layers as the most"
def best(peak, n):
    return min((k for k in range(1, round(n ** 0.5) + 1) if n % k == 0), key=peak)


# %% answer="memory_measure_segments" wrong="stops as soon as it gets worse, from the largest number on, too early"
def best(peak, n):
    candidates = [k for k in range(n, 0, -1) if n % k == 0]
    return next(k for k, after in zip(candidates, candidates[1:]) if peak(after) < peak(k))


# %% answer="memory_measure_segments" right="a loop that remembers the least"
def best(peak, n):
    found = None
    for k in range(1, n + 1):
        if n % k:
            continue
        used = peak(k)
        if found is None or used < found[0]:
            found = used, k
    return found[1]


# %% answer="memory_measure_segments" right="a dict of peaks, with ValueErrors left out"
def best(peak, n):
    peaks = {}
    for k in range(1, n + 1):
        try:
            peaks[k] = peak(k)
        except ValueError:
            pass
    return min(peaks, key=peaks.get)


# %% answer="memory_measure_segments" right="an array, argmin"
def best(peak, n):
    divisors = np.array([k for k in range(1, n + 1) if n % k == 0])
    return divisors[np.argmin([peak(int(k)) for k in divisors])]


# %% answer="memory_measure_segments" wrong="powers of two alone"
def best(peak, n):
    return min((2**e for e in range(n.bit_length()) if n % 2**e == 0), key=peak)


# %% answer="memory_measure_segments" wrong="divisors up to the root"
def best(peak, n):
    return min((k for k in range(1, int(n**0.5) + 1) if n % k == 0), key=peak)


# %% answer="memory_measure_segments" wrong="neither one segment nor n"
def best(peak, n):
    return min((k for k in range(2, n) if n % k == 0), key=peak)


# %% answer="memory_measure_segments" wrong="the largest peak"
def best(peak, n):
    return max((k for k in range(1, n + 1) if n % k == 0), key=peak)


# %% answer="memory_measure_segments" wrong="four tensors per layer in every chain, by the formula"
def best(peak, n):
    return min((k for k in range(1, n + 1) if n % k == 0), key=lambda k: k + 4 * n / k)


# %% answer="memory_measure_segments" right="c from one peak, and then the formula"
def best(peak, n):
    unit = 4 * 1024
    kept = round((peak(1) / unit - 2) / n)
    return min((k for k in range(1, n + 1) if n % k == 0), key=lambda k: k + kept * n / k)
