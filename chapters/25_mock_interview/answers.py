# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 25` grades them.


# %% answer="interview_calibration" right="as first written, from the task alone"
def curve(sure, right):
    out = {}
    for level in sorted(set(sure)):
        hits = [r for s, r in zip(sure, right) if s == level]
        out[level] = (len(hits), sum(hits) / len(hits))
    return out


def brier(sure, right):
    return sum((s / 100 - r) ** 2 for s, r in zip(sure, right)) / len(sure)


def overconfidence(sure, right):
    return sum(sure) / len(sure) - 100 * sum(right) / len(right)


# %% answer="interview_calibration" right="by NumPy"
def curve(sure, right):
    s, r = np.array(sure), np.array(right, float)
    return {int(v): (int((s == v).sum()), float(r[s == v].mean())) for v in np.unique(s)}


def brier(sure, right):
    return float(np.mean((np.array(sure) / 100 - np.array(right)) ** 2))


def overconfidence(sure, right):
    return float(np.mean(sure) - 100 * np.mean(right))


# %% answer="interview_calibration" wrong="absolute difference"
def curve(sure, right):
    out = {}
    for level in sorted(set(sure)):
        hits = [r for s, r in zip(sure, right) if s == level]
        out[level] = (len(hits), sum(hits) / len(hits))
    return out


def brier(sure, right):
    return sum(abs(s / 100 - r) for s, r in zip(sure, right)) / len(sure)


def overconfidence(sure, right):
    return sum(sure) / len(sure) - 100 * sum(right) / len(right)


# %% answer="interview_calibration" wrong="sum for mean"
def curve(sure, right):
    out = {}
    for level in sorted(set(sure)):
        hits = [r for s, r in zip(sure, right) if s == level]
        out[level] = (len(hits), sum(hits) / len(hits))
    return out


def brier(sure, right):
    return sum((s / 100 - r) ** 2 for s, r in zip(sure, right))


def overconfidence(sure, right):
    return sum(sure) / len(sure) - 100 * sum(right) / len(right)


# %% answer="interview_calibration" wrong="in shares for percent"
def curve(sure, right):
    out = {}
    for level in sorted(set(sure)):
        hits = [r for s, r in zip(sure, right) if s == level]
        out[level] = (len(hits), sum(hits) / len(hits))
    return out


def brier(sure, right):
    return sum((s / 100 - r) ** 2 for s, r in zip(sure, right)) / len(sure)


def overconfidence(sure, right):
    return sum(sure) / len(sure) / 100 - sum(right) / len(right)


# %% answer="interview_calibration" wrong="counts only answers with 50 % and more"
def curve(sure, right):
    out = {}
    for level in sorted(set(sure)):
        hits = [r for s, r in zip(sure, right) if s == level]
        out[level] = (len(hits), sum(hits) / len(hits))
    return out


def brier(sure, right):
    return sum((s / 100 - r) ** 2 for s, r in zip(sure, right)) / len(sure)


def overconfidence(sure, right):
    return sum(sure) / len(sure) - 100 * sum(1 for s, r in zip(sure, right) if r and s >= 50) / len(right)


# %% answer="interview_calibration" wrong="percentages in steps of ten"
def curve(sure, right):
    out = {}
    for s in range(0, 101, 10):
        hits = [r for c, r in zip(sure, right) if c == s]
        if hits:
            out[s] = (len(hits), sum(hits) / len(hits))
    return out

def brier(sure, right):
    return sum((s / 100 - r) ** 2 for s, r in zip(sure, right)) / len(sure)

def overconfidence(sure, right):
    return sum(sure) / len(sure) - 100 * sum(right) / len(right)


# %% answer="interview_counterexamples" right="as first written, from the task alone"
def is_copied(x):
    return x.t()


def is_not_recorded():
    return "argmax"


def is_not_moved(x):
    return (x.dtype,)


def learns_anyway(model, x):
    model.eval()
    model.zero_grad()
    model(x).sum().backward()
    return next(model.parameters()).grad


def is_no_mean(losses):
    losses = sorted(losses)
    return [losses[:1], losses[1:]]


def is_not_n_numbers(n):
    return (n, 1)


# %% answer="interview_counterexamples" right="isfinite, cpu, autograd.grad, largest loss alone"
def is_copied(x):
    return x.t()


def is_not_recorded():
    return "isfinite"


def is_not_moved(x):
    return ("cpu", x.dtype)


def learns_anyway(model, x):
    return torch.autograd.grad(model.eval()(x).sum(), next(model.parameters()))[0]


def is_no_mean(losses):
    return [[max(losses)], [l for l in losses if l != max(losses)]]


def is_not_n_numbers(n):
    return (n, 1)


# %% answer="interview_counterexamples" wrong="two and two"
def is_copied(x):
    return x.t()


def is_not_recorded():
    return "argmax"


def is_not_moved(x):
    return (x.dtype,)


def learns_anyway(model, x):
    model.eval()
    model.zero_grad()
    model(x).sum().backward()
    return next(model.parameters()).grad


def is_no_mean(losses):
    losses = sorted(losses)
    return [losses[:2], losses[2:]]


def is_not_n_numbers(n):
    return (n, 1)


# %% answer="interview_counterexamples" wrong="a contiguous copy"
def is_copied(x):
    return x.t().contiguous()


def is_not_recorded():
    return "argmax"


def is_not_moved(x):
    return (x.dtype,)


def learns_anyway(model, x):
    model.eval()
    model.zero_grad()
    model(x).sum().backward()
    return next(model.parameters()).grad


def is_no_mean(losses):
    losses = sorted(losses)
    return [losses[:1], losses[1:]]


def is_not_n_numbers(n):
    return (n, 1)


# %% answer="interview_counterexamples" wrong="clone"
def is_copied(x):
    return x.t()


def is_not_recorded():
    return "clone"


def is_not_moved(x):
    return (x.dtype,)


def learns_anyway(model, x):
    model.eval()
    model.zero_grad()
    model(x).sum().backward()
    return next(model.parameters()).grad


def is_no_mean(losses):
    losses = sorted(losses)
    return [losses[:1], losses[1:]]


def is_not_n_numbers(n):
    return (n, 1)


# %% answer="interview_counterexamples" wrong="every other column"
def is_copied(x):
    return x[:, ::2]


def is_not_recorded():
    return "argmax"


def is_not_moved(x):
    return (x.dtype,)


def learns_anyway(model, x):
    model.eval()
    model.zero_grad()
    model(x).sum().backward()
    return next(model.parameters()).grad


def is_no_mean(losses):
    losses = sorted(losses)
    return [losses[:1], losses[1:]]


def is_not_n_numbers(n):
    return (n, 1)


# %% answer="interview_predict_loop" right="other types of numbers"
prediction = [2.0, 48.0, 2.0, 8.0, 1]


# %% answer="interview_predict_loop" wrong="0, 32, 0"
prediction = [0, 32, 0, 8, True]


# %% answer="interview_linear" right="uniform_ and einsum"
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        b = 1 / in_features ** 0.5
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(-b, b))
        self.register_parameter("bias", nn.Parameter(torch.empty(out_features).uniform_(-b, b)) if bias else None)

    def forward(self, x):
        y = torch.einsum("...i,oi->...o", x, self.weight)
        return y + self.bias if self.bias is not None else y


# %% answer="interview_linear" wrong="bias of zeros"
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        k = in_features ** -0.5
        self.weight = nn.Parameter((torch.rand(out_features, in_features) * 2 - 1) * k)
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x):
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


# %% answer="interview_linear" wrong="flattens the rows"
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        k = in_features ** -0.5
        self.weight = nn.Parameter((torch.rand(out_features, in_features) * 2 - 1) * k)
        self.bias = nn.Parameter((torch.rand(out_features) * 2 - 1) * k) if bias else None

    def forward(self, x):
        y = (x.reshape(-1, x.shape[-1]) @ self.weight.T)
        return y if self.bias is None else y + self.bias


# %% answer="interview_linear" wrong="from 0 to the bound"
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        k = in_features ** -0.5
        self.weight = nn.Parameter(torch.rand(out_features, in_features) * k)
        self.bias = nn.Parameter((torch.rand(out_features) * 2 - 1) * k) if bias else None

    def forward(self, x):
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


# %% answer="interview_repair_training" right="as first written, from the task alone"
def evaluate(model, batches):
    was = model.training
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item() * len(x)
            n += len(x)
    model.train(was)
    return total / n


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = copy.deepcopy(model.state_dict())
    return best, history


# %% answer="interview_repair_training" right="training mode after each evaluation"
def evaluate(model, batches):
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item() * len(x)
            n += len(x)
    model.train()
    return total / n


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = copy.deepcopy(model.state_dict())
    return best, history


# %% answer="interview_repair_training" wrong="no eval()"
def evaluate(model, batches):
    was = model.training
    total, n = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item() * len(x)
            n += len(x)
    model.train(was)
    return total / n


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = copy.deepcopy(model.state_dict())
    return best, history


# %% answer="interview_estimates" wrong="one half of the ring"
def training_memory(parameters):
    return 16 * parameters


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return (gpus - 1) / gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (2 * layers * heads * width * 2)


# %% answer="interview_estimates" wrong="12 bytes"
def training_memory(parameters):
    return 12 * parameters


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * (gpus - 1) / gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (2 * layers * heads * width * 2)


# %% answer="interview_estimates" wrong="2ND"
def training_memory(parameters):
    return 16 * parameters


def training_seconds(parameters, tokens, gpus, speed):
    return 2 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * (gpus - 1) / gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (2 * layers * heads * width * 2)


# %% answer="interview_estimates" wrong="without the weights"
def training_memory(parameters):
    return 16 * parameters


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * (gpus - 1) / gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return memory // (2 * layers * heads * width * 2)


# %% answer="interview_estimates" wrong="as if n - 1 of n were 1"
def training_memory(parameters):
    return 16 * parameters


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (2 * layers * heads * width * 2)


# %% answer="interview_estimates" wrong="keys without values"
def training_memory(parameters):
    return 16 * parameters


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * (gpus - 1) / gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (layers * heads * width * 2)


# %% answer="interview_estimates" wrong="18 bytes"
def training_memory(parameters):
    return 18 * parameters


def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / (gpus * speed)


def ring_bytes(parameters, gpus):
    return 2 * (gpus - 1) / gpus * 2 * parameters


def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (2 * layers * heads * width * 2)


# %% answer="interview_estimates" wrong="tokens rounded to the nearest"
def training_memory(parameters):
    return 16 * parameters

def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / gpus / speed

def ring_bytes(parameters, gpus):
    return 4 * parameters * (gpus - 1) / gpus

def longest(memory, parameters, layers, heads, width):
    return round((memory - 2 * parameters) / (4 * layers * heads * width))


# %% answer="interview_estimates" wrong="whole parameters in each piece of the ring"
def training_memory(parameters):
    return 16 * parameters

def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / gpus / speed

def ring_bytes(parameters, gpus):
    return 4 * (gpus - 1) * (parameters // gpus)

def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters) // (4 * layers * heads * width)


# %% answer="interview_estimates" wrong="a sequence that fits exactly is cut by one token"
def training_memory(parameters):
    return 16 * parameters

def training_seconds(parameters, tokens, gpus, speed):
    return 6 * parameters * tokens / gpus / speed

def ring_bytes(parameters, gpus):
    return 4 * parameters * (gpus - 1) / gpus

def longest(memory, parameters, layers, heads, width):
    return (memory - 2 * parameters - 1) // (4 * layers * heads * width)


# %% answer="interview_debug_decoder" right="compares with its own fixed functions, and returns True or False"
def forward(p, ids, start=0):
    length, width = ids.shape[1], p["tokens"].shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    visible = torch.ones(length, length, dtype=torch.bool).tril()
    for layer in range(2):
        y = F.layer_norm(x, (width,))
        q, k, v = ((y @ p[f"{layer}.{name}"]).unflatten(-1, (2, -1)).transpose(1, 2) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~visible, -float("inf"))
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)
        x = x + mixed @ p[f"{layer}.out"]
        x = x + F.gelu(F.layer_norm(x, (width,)) @ p[f"{layer}.up"]) @ p[f"{layer}.down"]
    return F.layer_norm(x, (width,)) @ p["tokens"].T


def logits(weights, ids, start=0):
    with torch.no_grad():
        return forward({name: torch.tensor(each) for name, each in weights.items()}, torch.tensor(ids), start).numpy()


def loss_and_gradients(weights, ids, pad):
    p = {name: torch.tensor(each, requires_grad=True) for name, each in weights.items()}
    ids = torch.tensor(ids)
    out, targets = forward(p, ids[:, :-1]), ids[:, 1:]
    loss = F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)
    loss.backward()
    return loss.item(), {name: each.grad.numpy() for name, each in p.items()}


def rate(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * (1 + np.cos(np.pi * (step - warmup) / (total - warmup))) / 2


def clipped(gradients, most):
    norm = sum((each**2).sum() for each in gradients.values()) ** 0.5
    factor = min(1.0, most / max(norm, 1e-12))
    return {name: each * factor for name, each in gradients.items()}


def update(weights, gradients, state, lr, decay=0.1):
    step = state["step"] = state.get("step", 0) + 1
    for name, grad in gradients.items():
        first, second = state.get(name, (0.0, 0.0))
        first = 0.9 * first + 0.1 * grad
        second = 0.99 * second + 0.01 * grad**2
        state[name] = first, second
        weights[name] *= 1 - lr * decay
        weights[name] -= lr * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)


def train(weights, batches, pad, warmup, peak):
    state, losses = {}, []
    for step, ids in enumerate(batches):
        loss, gradients = loss_and_gradients(weights, ids, pad)
        update(weights, clipped(gradients, 1.0), state, rate(step, warmup, len(batches), peak))
        losses.append(loss)
    return losses


def generate(weights, prompt, count):
    tokens, longest = list(prompt), len(weights["positions"])
    for _ in range(count):
        recent = tokens[-longest:]
        tokens.append(int(logits(weights, np.array([recent]))[0, -1].argmax()))
    return tokens[len(prompt) :]


def tests(program):
    """Differential testing against a copy of the repaired functions, made in another way."""
    generator = np.random.default_rng(11)
    V, C, longest, pad = 8, 4, 5, 3
    sizes = {"tokens": (V, C), "positions": (longest, C)}
    for layer in "01":
        sizes.update({f"{layer}.{name}": (C, C) for name in ("q", "k", "v", "out")})
        sizes.update({f"{layer}.up": (C, 5), f"{layer}.down": (5, C)})
    weights = {name: 3 * generator.normal(size=size) for name, size in sizes.items()}
    ids = generator.choice([0, 1, 2, 4, 5, 6, 7], (2, 5))
    mine = logits(weights, ids)
    if not np.allclose(program.logits(weights, ids), mine, atol=1e-4):
        return False
    if not np.allclose(program.logits(weights, ids[:, :2], 2), logits(weights, ids[:, :2], 2), atol=1e-4):
        return False
    ids[0, 3:] = pad
    if not np.isclose(program.loss_and_gradients(weights, ids, pad)[0], loss_and_gradients(weights, ids, pad)[0], atol=1e-4):
        return False
    for step in range(8):
        if not np.isclose(program.rate(step, 3, 7, 0.7), rate(step, 3, 7, 0.7), atol=1e-9):
            return False
    grads = {"a": generator.normal(size=3), "b": 50 * generator.normal(size=2)}
    for most in (1.0, 1000.0):
        got, want = program.clipped(grads, most), clipped(grads, most)
        if not all(np.allclose(got[name], want[name]) for name in grads):
            return False
    pairs = [({name: each.copy() for name, each in grads.items()}, {}) for _ in range(2)]
    for _ in range(3):
        step = {name: generator.normal(size=each.shape) for name, each in grads.items()}
        program.update(*[pairs[0][0], step, pairs[0][1], 0.2])
        update(pairs[1][0], step, pairs[1][1], 0.2)
    if not all(np.allclose(pairs[0][0][name], pairs[1][0][name]) for name in grads):
        return False
    copies = [{name: each.copy() for name, each in weights.items()} for _ in range(2)]
    batches = [ids, ids[::-1].copy(), ids]
    if not np.allclose(program.train(copies[0], batches, pad, 1, 0.1), train(copies[1], batches, pad, 1, 0.1)):
        return False
    if not all(np.allclose(copies[0][name], copies[1][name], atol=1e-6) for name in weights):
        return False
    for _ in range(5):
        prompt = generator.integers(V, size=9).tolist()
        if program.generate(weights, prompt, 3) != generate(weights, list(prompt), 3) or len(prompt) != 9:
            return False
    return True


# %% answer="interview_debug_decoder" wrong="fixes the script and tests nothing"
def forward(p, ids, start=0):
    length, width = ids.shape[1], p["tokens"].shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    visible = torch.ones(length, length, dtype=torch.bool).tril()
    for layer in range(2):
        y = F.layer_norm(x, (width,))
        q, k, v = ((y @ p[f"{layer}.{name}"]).unflatten(-1, (2, -1)).transpose(1, 2) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~visible, -float("inf"))
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)
        x = x + mixed @ p[f"{layer}.out"]
        x = x + F.gelu(F.layer_norm(x, (width,)) @ p[f"{layer}.up"]) @ p[f"{layer}.down"]
    return F.layer_norm(x, (width,)) @ p["tokens"].T


def logits(weights, ids, start=0):
    with torch.no_grad():
        return forward({name: torch.tensor(each) for name, each in weights.items()}, torch.tensor(ids), start).numpy()


def loss_and_gradients(weights, ids, pad):
    p = {name: torch.tensor(each, requires_grad=True) for name, each in weights.items()}
    ids = torch.tensor(ids)
    out, targets = forward(p, ids[:, :-1]), ids[:, 1:]
    loss = F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)
    loss.backward()
    return loss.item(), {name: each.grad.numpy() for name, each in p.items()}


def rate(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * (1 + np.cos(np.pi * (step - warmup) / (total - warmup))) / 2


def clipped(gradients, most):
    norm = sum((each**2).sum() for each in gradients.values()) ** 0.5
    factor = min(1.0, most / max(norm, 1e-12))
    return {name: each * factor for name, each in gradients.items()}


def update(weights, gradients, state, lr, decay=0.1):
    step = state["step"] = state.get("step", 0) + 1
    for name, grad in gradients.items():
        first, second = state.get(name, (0.0, 0.0))
        first = 0.9 * first + 0.1 * grad
        second = 0.99 * second + 0.01 * grad**2
        state[name] = first, second
        weights[name] *= 1 - lr * decay
        weights[name] -= lr * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)


def train(weights, batches, pad, warmup, peak):
    state, losses = {}, []
    for step, ids in enumerate(batches):
        loss, gradients = loss_and_gradients(weights, ids, pad)
        update(weights, clipped(gradients, 1.0), state, rate(step, warmup, len(batches), peak))
        losses.append(loss)
    return losses


def generate(weights, prompt, count):
    tokens, longest = list(prompt), len(weights["positions"])
    for _ in range(count):
        recent = tokens[-longest:]
        tokens.append(int(logits(weights, np.array([recent]))[0, -1].argmax()))
    return tokens[len(prompt) :]


def tests(program):
    pass


# %% answer="interview_debug_decoder" wrong="tests everything, and leaves the clipping as it is"
def forward(p, ids, start=0):
    length, width = ids.shape[1], p["tokens"].shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    visible = torch.ones(length, length, dtype=torch.bool).tril()
    for layer in range(2):
        y = F.layer_norm(x, (width,))
        q, k, v = ((y @ p[f"{layer}.{name}"]).unflatten(-1, (2, -1)).transpose(1, 2) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~visible, -float("inf"))
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)
        x = x + mixed @ p[f"{layer}.out"]
        x = x + F.gelu(F.layer_norm(x, (width,)) @ p[f"{layer}.up"]) @ p[f"{layer}.down"]
    return F.layer_norm(x, (width,)) @ p["tokens"].T


def logits(weights, ids, start=0):
    with torch.no_grad():
        return forward({name: torch.tensor(each) for name, each in weights.items()}, torch.tensor(ids), start).numpy()


def loss_and_gradients(weights, ids, pad):
    p = {name: torch.tensor(each, requires_grad=True) for name, each in weights.items()}
    ids = torch.tensor(ids)
    out, targets = forward(p, ids[:, :-1]), ids[:, 1:]
    loss = F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)
    loss.backward()
    return loss.item(), {name: each.grad.numpy() for name, each in p.items()}


def rate(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * (1 + np.cos(np.pi * (step - warmup) / (total - warmup))) / 2


def clipped(gradients, most):
    return {name: each * min(1.0, most / max((each**2).sum() ** 0.5, 1e-12)) for name, each in gradients.items()}


def update(weights, gradients, state, lr, decay=0.1):
    step = state["step"] = state.get("step", 0) + 1
    for name, grad in gradients.items():
        first, second = state.get(name, (0.0, 0.0))
        first = 0.9 * first + 0.1 * grad
        second = 0.99 * second + 0.01 * grad**2
        state[name] = first, second
        weights[name] *= 1 - lr * decay
        weights[name] -= lr * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)


def train(weights, batches, pad, warmup, peak):
    state, losses = {}, []
    for step, ids in enumerate(batches):
        loss, gradients = loss_and_gradients(weights, ids, pad)
        update(weights, clipped(gradients, 1.0), state, rate(step, warmup, len(batches), peak))
        losses.append(loss)
    return losses


def generate(weights, prompt, count):
    tokens, longest = list(prompt), len(weights["positions"])
    for _ in range(count):
        recent = tokens[-longest:]
        tokens.append(int(logits(weights, np.array([recent]))[0, -1].argmax()))
    return tokens[len(prompt) :]


def tests(program) -> None:
    """Raise an AssertionError unless a program does what its docstrings say."""
    generator = np.random.default_rng(0)
    V, C, longest, pad = 7, 4, 6, 0
    sizes = {"tokens": (V, C), "positions": (longest, C)}
    for layer in "01":
        sizes |= {f"{layer}.{name}": (C, C) for name in ("q", "k", "v", "out")}
        sizes |= {f"{layer}.up": (C, 6), f"{layer}.down": (6, C)}
    weights = {name: generator.normal(size=size) for name, size in sizes.items()}

    def normed(x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def expected(ids, start=0):  # one row, by loops over heads and tokens
        x = weights["tokens"][ids] + weights["positions"][start : start + len(ids)]
        for layer in "01":
            q, k, v = (normed(x) @ weights[f"{layer}.{name}"] for name in "qkv")
            mixed = np.zeros_like(x)
            for part in (slice(0, 2), slice(2, 4)):
                for t in range(len(ids)):
                    scores = np.exp(k[: t + 1, part] @ q[t, part] / np.sqrt(2))
                    mixed[t, part] = scores @ v[: t + 1, part] / scores.sum()
            x = x + mixed @ weights[f"{layer}.out"]
            up = normed(x) @ weights[f"{layer}.up"]
            x = x + np.array(F.gelu(torch.tensor(up)).tolist()) @ weights[f"{layer}.down"]
        return normed(x) @ weights["tokens"].T

    ids = generator.integers(1, V, size=(3, 5))
    assert np.allclose(program.logits(weights, ids), [expected(row) for row in ids], atol=1e-4)
    assert np.allclose(program.logits(weights, ids[:1, :3], 2), [expected(ids[0, :3], 2)], atol=1e-4)

    padded = ids.copy()
    padded[0, 3:], padded[1, 4:] = pad, pad
    loss, gradients = program.loss_and_gradients(weights, padded, pad)
    costs = []
    for row in padded:
        out = expected(row[:-1])
        out = out - np.log(np.exp(out).sum(-1, keepdims=True))
        costs += [-out[t, token] for t, token in enumerate(row[1:]) if token != pad]
    assert np.isclose(loss, np.mean(costs), atol=1e-4)
    near = {**weights, "0.q": weights["0.q"] + 1e-4 * gradients["0.q"]}
    change = program.loss_and_gradients(near, padded, pad)[0] - loss
    assert np.isclose(change, 1e-4 * (gradients["0.q"] ** 2).sum(), rtol=0.05)

    rates = [program.rate(step, 4, 12, 0.5) for step in range(13)]
    assert np.allclose(rates[:4], [0.125, 0.25, 0.375, 0.5])
    assert np.allclose(rates[4:], [0.25 * (1 + np.cos(np.pi * step / 8)) for step in range(9)])

    long = {"a": np.array([3.0, 0.0]), "b": np.array([[0.0, 4.0]])}
    cut = program.clipped(long, 2.0)
    assert np.allclose(cut["a"], [1.2, 0.0]) and np.allclose(cut["b"], [[0.0, 1.6]])
    assert np.allclose(program.clipped(long, 9.0)["b"], [[0.0, 4.0]])

    moved, state, first, second = {"w": np.array([1.0, -2.0])}, {}, 0.0, 0.0
    want = moved["w"].copy()
    for step, grad in enumerate((np.array([0.5, -3.0]), np.array([-1.0, 2.0]), np.array([0.1, 0.1])), 1):
        program.update(moved, {"w": grad}, state, 0.1)
        first, second = 0.9 * first + 0.1 * grad, 0.99 * second + 0.01 * grad**2
        want = want * 0.99 - 0.1 * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        assert np.allclose(moved["w"], want)

    one, other, state = ({name: each.copy() for name, each in weights.items()} for _ in range(3))
    batches, state, losses = [ids, padded, ids[::-1].copy()], {}, []
    for step, batch in enumerate(batches):
        value, gradients = program.loss_and_gradients(other, batch, pad)
        norm = sum((each**2).sum() for each in gradients.values()) ** 0.5
        gradients = {name: each * min(1.0, 1.0 / norm) for name, each in gradients.items()}
        program.update(other, gradients, state, program.rate(step, 2, 3, 0.1))
        losses.append(value)
    assert np.allclose(program.train(one, batches, pad, 2, 0.1), losses, atol=1e-4)
    assert all(np.allclose(one[name], other[name], atol=1e-4) for name in one)

    prompt = generator.integers(1, V, size=9).tolist()
    text = list(prompt)
    for _ in range(4):
        text.append(int(expected(np.array(text[-longest:]))[-1].argmax()))
    assert program.generate(weights, prompt, 4) == text[9:] and len(prompt) == 9


# %% answer="interview_debug_decoder" wrong="one test for each of the five reports, and none besides"
def forward(p, ids, start=0):
    length, width = ids.shape[1], p["tokens"].shape[1]
    x = p["tokens"][ids] + p["positions"][start : start + length]
    visible = torch.ones(length, length, dtype=torch.bool).tril()
    for layer in range(2):
        y = F.layer_norm(x, (width,))
        q, k, v = ((y @ p[f"{layer}.{name}"]).unflatten(-1, (2, -1)).transpose(1, 2) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~visible, -float("inf"))
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)
        x = x + mixed @ p[f"{layer}.out"]
        x = x + F.gelu(F.layer_norm(x, (width,)) @ p[f"{layer}.up"]) @ p[f"{layer}.down"]
    return F.layer_norm(x, (width,)) @ p["tokens"].T


def logits(weights, ids, start=0):
    with torch.no_grad():
        return forward({name: torch.tensor(each) for name, each in weights.items()}, torch.tensor(ids), start).numpy()


def loss_and_gradients(weights, ids, pad):
    p = {name: torch.tensor(each, requires_grad=True) for name, each in weights.items()}
    ids = torch.tensor(ids)
    out, targets = forward(p, ids[:, :-1]), ids[:, 1:]
    loss = F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=pad)
    loss.backward()
    return loss.item(), {name: each.grad.numpy() for name, each in p.items()}


def rate(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * (1 + np.cos(np.pi * (step - warmup) / (total - warmup))) / 2


def clipped(gradients, most):
    norm = sum((each**2).sum() for each in gradients.values()) ** 0.5
    factor = min(1.0, most / max(norm, 1e-12))
    return {name: each * factor for name, each in gradients.items()}


def update(weights, gradients, state, lr, decay=0.1):
    step = state["step"] = state.get("step", 0) + 1
    for name, grad in gradients.items():
        first, second = state.get(name, (0.0, 0.0))
        first = 0.9 * first + 0.1 * grad
        second = 0.99 * second + 0.01 * grad**2
        state[name] = first, second
        weights[name] *= 1 - lr * decay
        weights[name] -= lr * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)


def train(weights, batches, pad, warmup, peak):
    state, losses = {}, []
    for step, ids in enumerate(batches):
        loss, gradients = loss_and_gradients(weights, ids, pad)
        update(weights, clipped(gradients, 1.0), state, rate(step, warmup, len(batches), peak))
        losses.append(loss)
    return losses


def generate(weights, prompt, count):
    tokens, longest = list(prompt), len(weights["positions"])
    for _ in range(count):
        recent = tokens[-longest:]
        tokens.append(int(logits(weights, np.array([recent]))[0, -1].argmax()))
    return tokens[len(prompt) :]


def tests(program):
    generator = np.random.default_rng(0)
    sizes = {"tokens": (6, 4), "positions": (5, 4)}
    for layer in "01":
        sizes |= {f"{layer}.{name}": (4, 4) for name in ("q", "k", "v", "out", "up", "down")}
    weights = {name: generator.normal(size=size) for name, size in sizes.items()}
    ids = np.array([[1, 2, 3, 4]])
    changed = np.array([[1, 2, 3, 5]])
    assert np.allclose(program.logits(weights, ids)[:, :3], program.logits(weights, changed)[:, :3])
    padded = np.array([[1, 2, 3, 0]])
    short = program.loss_and_gradients(weights, padded[:, :3], 0)[0]
    assert np.isclose(program.loss_and_gradients(weights, padded, 0)[0], short)
    assert program.rate(0, 4, 9, 1.0) == 0.25
    cut = program.clipped({"a": np.array([30.0]), "b": np.array([0.5])}, 1.0)
    assert np.isclose(cut["a"][0] / cut["b"][0], 60.0)
    prompt = [1, 2, 3, 4, 5, 1, 2]
    assert program.generate(weights, prompt, 1) == program.generate(weights, prompt[-5:], 1)

# %% answer="interview_debug_sampler" right="many draws, against its own fixed functions"
def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def prefill(weights, prompt):
    x = weights["tokens"][prompt] + weights["positions"][: len(prompt)]
    cache = {"keys": x @ weights["k"], "values": x @ weights["v"]}
    return attend(weights, cache, x[-1]), cache


def attend(weights, cache, x):
    scores = cache["keys"] @ (x @ weights["q"])
    scores = scores / np.sqrt(weights["q"].shape[1])
    return softmax(scores) @ cache["values"] @ weights["out"]


def decode(weights, cache, token):
    x = weights["tokens"][token] + weights["positions"][len(cache["keys"])]
    cache["keys"] = np.concatenate([cache["keys"], [x @ weights["k"]]])
    cache["values"] = np.concatenate([cache["values"], [x @ weights["v"]]])
    return attend(weights, cache, x)


def penalized(logits, written, penalty):
    logits = logits.copy()
    for token in set(written):
        logits[token] = logits[token] / penalty if logits[token] > 0 else logits[token] * penalty
    return logits


def nucleus(logits, temperature, p):
    probabilities = softmax(logits / temperature)
    order = np.argsort(-probabilities)
    before = np.cumsum(probabilities[order]) - probabilities[order]
    kept = np.zeros_like(probabilities)
    kept[order] = np.where(before < p, probabilities[order], 0.0)
    return kept / kept.sum()


def draw(probabilities, u):
    return int(np.searchsorted(np.cumsum(probabilities), u, side="right"))


def speculate(target, draft, token, u, again):
    if u * draft[token] < target[token]:
        return token
    rest = np.maximum(target - draft, 0.0)
    return draw(rest / rest.sum(), again)


def generate(weights, prompt, uniforms, temperature, p, penalty, stop):
    written = []
    logits, cache = prefill(weights, prompt)
    for u in uniforms:
        token = draw(nucleus(penalized(logits, written, penalty), temperature, p), u)
        if token == stop:
            break
        written.append(token)
        logits = decode(weights, cache, token)
    return written


def tests(program):
    """The program against the fixed one, function by function, on many draws."""
    generator = np.random.default_rng(4)
    V, C, D = 7, 4, 5
    sizes = {"tokens": (V, C), "positions": (16, C), "q": (C, D), "k": (C, D), "v": (C, D), "out": (D, V)}
    for _ in range(20):
        weights = {name: generator.normal(size=size) for name, size in sizes.items()}
        scores = 800 * generator.normal(size=(2, 4))
        one, cache = program.prefill(weights, [1, 2, 3])
        want, mine = prefill(weights, [1, 2, 3])
        agree = [np.allclose(program.softmax(scores), softmax(scores)), np.allclose(one, want)]
        for token in (4, 5):
            agree.append(np.allclose(program.decode(weights, cache, token), decode(weights, mine, token)))
        logits = 3 * generator.normal(size=V)
        kept = logits.copy()
        written = [int(logits.argmax()), int(logits.argmin()), int(logits.argmax())]
        agree.append(np.allclose(program.penalized(logits, written, 1.4), penalized(logits, written, 1.4)))
        agree.append(np.array_equal(logits, kept))
        target, draft = generator.dirichlet(np.ones(V), 2)
        for t in (0.5, 1.0, 2.0):
            agree.append(np.allclose(program.nucleus(logits, t, 0.8), nucleus(logits, t, 0.8)))
        u, again = generator.uniform(size=2).tolist()
        token = draw(draft, u)
        agree.append(program.speculate(target, draft, token, again, u) == speculate(target, draft, token, again, u))
        uniforms = generator.uniform(size=8).tolist()
        given = weights, [6, 6, 1], uniforms, 1.3, 0.95, 2.5, 2
        agree.append(program.generate(*given) == generate(*given))
        if not all(agree):
            return False
    return program.draw(np.array([0.0, 0.5, 0.5]), 0.0) == 1 and program.draw(np.array([0.5, 0.5]), 0.5) == 1


# %% answer="interview_debug_sampler" wrong="fixes the script and tests nothing"
def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def prefill(weights, prompt):
    x = weights["tokens"][prompt] + weights["positions"][: len(prompt)]
    cache = {"keys": x @ weights["k"], "values": x @ weights["v"]}
    return attend(weights, cache, x[-1]), cache


def attend(weights, cache, x):
    scores = cache["keys"] @ (x @ weights["q"])
    scores = scores / np.sqrt(weights["q"].shape[1])
    return softmax(scores) @ cache["values"] @ weights["out"]


def decode(weights, cache, token):
    x = weights["tokens"][token] + weights["positions"][len(cache["keys"])]
    cache["keys"] = np.concatenate([cache["keys"], [x @ weights["k"]]])
    cache["values"] = np.concatenate([cache["values"], [x @ weights["v"]]])
    return attend(weights, cache, x)


def penalized(logits, written, penalty):
    logits = logits.copy()
    for token in set(written):
        logits[token] = logits[token] / penalty if logits[token] > 0 else logits[token] * penalty
    return logits


def nucleus(logits, temperature, p):
    probabilities = softmax(logits / temperature)
    order = np.argsort(-probabilities)
    before = np.cumsum(probabilities[order]) - probabilities[order]
    kept = np.zeros_like(probabilities)
    kept[order] = np.where(before < p, probabilities[order], 0.0)
    return kept / kept.sum()


def draw(probabilities, u):
    return int(np.searchsorted(np.cumsum(probabilities), u, side="right"))


def speculate(target, draft, token, u, again):
    if u * draft[token] < target[token]:
        return token
    rest = np.maximum(target - draft, 0.0)
    return draw(rest / rest.sum(), again)


def generate(weights, prompt, uniforms, temperature, p, penalty, stop):
    written = []
    logits, cache = prefill(weights, prompt)
    for u in uniforms:
        token = draw(nucleus(penalized(logits, written, penalty), temperature, p), u)
        if token == stop:
            break
        written.append(token)
        logits = decode(weights, cache, token)
    return written


def tests(program):
    pass


# %% answer="interview_debug_sampler" wrong="tests everything, and leaves the residual as it is"
def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def prefill(weights, prompt):
    x = weights["tokens"][prompt] + weights["positions"][: len(prompt)]
    cache = {"keys": x @ weights["k"], "values": x @ weights["v"]}
    return attend(weights, cache, x[-1]), cache


def attend(weights, cache, x):
    scores = cache["keys"] @ (x @ weights["q"])
    scores = scores / np.sqrt(weights["q"].shape[1])
    return softmax(scores) @ cache["values"] @ weights["out"]


def decode(weights, cache, token):
    x = weights["tokens"][token] + weights["positions"][len(cache["keys"])]
    cache["keys"] = np.concatenate([cache["keys"], [x @ weights["k"]]])
    cache["values"] = np.concatenate([cache["values"], [x @ weights["v"]]])
    return attend(weights, cache, x)


def penalized(logits, written, penalty):
    logits = logits.copy()
    for token in set(written):
        logits[token] = logits[token] / penalty if logits[token] > 0 else logits[token] * penalty
    return logits


def nucleus(logits, temperature, p):
    probabilities = softmax(logits / temperature)
    order = np.argsort(-probabilities)
    before = np.cumsum(probabilities[order]) - probabilities[order]
    kept = np.zeros_like(probabilities)
    kept[order] = np.where(before < p, probabilities[order], 0.0)
    return kept / kept.sum()


def draw(probabilities, u):
    return int(np.searchsorted(np.cumsum(probabilities), u, side="right"))


def speculate(target, draft, token, u, again):
    if u * draft[token] < target[token]:
        return token
    rest = target
    return draw(rest / rest.sum(), again)


def generate(weights, prompt, uniforms, temperature, p, penalty, stop):
    written = []
    logits, cache = prefill(weights, prompt)
    for u in uniforms:
        token = draw(nucleus(penalized(logits, written, penalty), temperature, p), u)
        if token == stop:
            break
        written.append(token)
        logits = decode(weights, cache, token)
    return written


def tests(program) -> None:
    """Raise an AssertionError unless a program does what its docstrings say."""
    generator = np.random.default_rng(0)
    V, C, D = 6, 5, 4
    sizes = {"tokens": (V, C), "positions": (12, C), "q": (C, D), "k": (C, D), "v": (C, D), "out": (D, V)}
    weights = {name: generator.normal(size=size) for name, size in sizes.items()}
    weights["q"] *= 3.0

    def plain(tokens):  # the logits after some tokens, without a cache
        x = weights["tokens"][tokens] + weights["positions"][: len(tokens)]
        scores = np.exp((x @ weights["k"]) @ (x[-1] @ weights["q"]) / 2.0)
        return scores / scores.sum() @ (x @ weights["v"]) @ weights["out"]

    assert np.allclose(program.softmax(np.array([[1000.0, 1000.0], [0.0, -np.inf]])), [[0.5, 0.5], [1.0, 0.0]])
    tokens = [1, 4, 2]
    logits, cache = program.prefill(weights, tokens)
    assert np.allclose(logits, plain(tokens))
    for token in (5, 0, 5):
        tokens = [*tokens, token]
        assert np.allclose(program.decode(weights, cache, token), plain(tokens))
    assert cache["keys"].shape == cache["values"].shape == (6, D)

    before = np.array([2.0, -2.0, 0.0, 3.0])
    assert np.allclose(program.penalized(before, [0, 1, 1, 0], 2.0), [1.0, -4.0, 0.0, 3.0])
    assert before.tolist() == [2.0, -2.0, 0.0, 3.0]

    some = np.log(np.array([0.1, 0.5, 0.15, 0.25]))
    assert np.allclose(program.nucleus(some, 1.0, 0.6), [0.0, 2 / 3, 0.0, 1 / 3])
    assert np.allclose(program.nucleus(some, 1.0, 0.4), [0.0, 1.0, 0.0, 0.0])
    assert np.allclose(program.nucleus(some, 1.0, 1.0), [0.1, 0.5, 0.15, 0.25])
    squares = np.array([0.01, 0.25, 0.0225, 0.0625])
    assert np.allclose(program.nucleus(some, 0.5, 1.0), squares / squares.sum())
    assert np.allclose(program.nucleus(some, 0.5, 0.8), np.array([0, 0.25, 0, 0.0625]) / 0.3125)  # temperature first

    assert [program.draw(np.array([0.25, 0.0, 0.5, 0.25]), u) for u in (0.0, 0.2, 0.25, 0.74, 0.75, 0.99)] == [
        0,
        0,
        2,
        2,
        3,
        3,
    ]

    target, draft = np.array([0.1, 0.2, 0.5, 0.2]), np.array([0.4, 0.2, 0.1, 0.3])
    found = np.zeros(4)
    for token in range(4):
        for u in (np.arange(40) + 0.5) / 40:
            for again in (np.arange(20) + 0.5) / 20:
                found[program.speculate(target, draft, token, u, again)] += draft[token] / 800
    assert np.allclose(found, target, atol=0.02)

    uniforms = generator.uniform(size=7).tolist()
    for penalty, stop in ((1.0, -1), (3.0, -1), (1.5, 2), (3.0, 0), (1.0, 5)):
        written = []
        for u in uniforms:
            logits = program.penalized(plain([3, 3, *written]), written, penalty)
            token = program.draw(program.nucleus(logits, 1.5, 0.9), u)
            if token == stop:
                break
            written.append(token)
        assert program.generate(weights, [3, 3], uniforms, 1.5, 0.9, penalty, stop) == written


# %% answer="interview_debug_sampler" wrong="one case for each function, and none for generate"
def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def prefill(weights, prompt):
    x = weights["tokens"][prompt] + weights["positions"][: len(prompt)]
    cache = {"keys": x @ weights["k"], "values": x @ weights["v"]}
    return attend(weights, cache, x[-1]), cache


def attend(weights, cache, x):
    scores = cache["keys"] @ (x @ weights["q"])
    scores = scores / np.sqrt(weights["q"].shape[1])
    return softmax(scores) @ cache["values"] @ weights["out"]


def decode(weights, cache, token):
    x = weights["tokens"][token] + weights["positions"][len(cache["keys"])]
    cache["keys"] = np.concatenate([cache["keys"], [x @ weights["k"]]])
    cache["values"] = np.concatenate([cache["values"], [x @ weights["v"]]])
    return attend(weights, cache, x)


def penalized(logits, written, penalty):
    logits = logits.copy()
    for token in set(written):
        logits[token] = logits[token] / penalty if logits[token] > 0 else logits[token] * penalty
    return logits


def nucleus(logits, temperature, p):
    probabilities = softmax(logits / temperature)
    order = np.argsort(-probabilities)
    before = np.cumsum(probabilities[order]) - probabilities[order]
    kept = np.zeros_like(probabilities)
    kept[order] = np.where(before < p, probabilities[order], 0.0)
    return kept / kept.sum()


def draw(probabilities, u):
    return int(np.searchsorted(np.cumsum(probabilities), u, side="right"))


def speculate(target, draft, token, u, again):
    if u * draft[token] < target[token]:
        return token
    rest = np.maximum(target - draft, 0.0)
    return draw(rest / rest.sum(), again)


def generate(weights, prompt, uniforms, temperature, p, penalty, stop):
    written = []
    logits, cache = prefill(weights, prompt)
    for u in uniforms:
        token = draw(nucleus(penalized(logits, written, penalty), temperature, p), u)
        if token == stop:
            break
        written.append(token)
        logits = decode(weights, cache, token)
    return written


def tests(program) -> None:
    """Raise an AssertionError unless a program does what its docstrings say."""
    generator = np.random.default_rng(0)
    V, C, D = 6, 5, 4
    sizes = {"tokens": (V, C), "positions": (12, C), "q": (C, D), "k": (C, D), "v": (C, D), "out": (D, V)}
    weights = {name: generator.normal(size=size) for name, size in sizes.items()}
    weights["q"] *= 3.0

    def plain(tokens):  # the logits after some tokens, without a cache
        x = weights["tokens"][tokens] + weights["positions"][: len(tokens)]
        scores = np.exp((x @ weights["k"]) @ (x[-1] @ weights["q"]) / 2.0)
        return scores / scores.sum() @ (x @ weights["v"]) @ weights["out"]

    assert np.allclose(program.softmax(np.array([[1000.0, 1000.0], [0.0, -np.inf]])), [[0.5, 0.5], [1.0, 0.0]])
    tokens = [1, 4, 2]
    logits, cache = program.prefill(weights, tokens)
    assert np.allclose(logits, plain(tokens))
    for token in (5, 0, 5):
        tokens = [*tokens, token]
        assert np.allclose(program.decode(weights, cache, token), plain(tokens))
    assert cache["keys"].shape == cache["values"].shape == (6, D)

    before = np.array([2.0, -2.0, 0.0, 3.0])
    assert np.allclose(program.penalized(before, [0, 1, 1, 0], 2.0), [1.0, -4.0, 0.0, 3.0])
    assert before.tolist() == [2.0, -2.0, 0.0, 3.0]

    some = np.log(np.array([0.1, 0.5, 0.15, 0.25]))
    assert np.allclose(program.nucleus(some, 1.0, 0.6), [0.0, 2 / 3, 0.0, 1 / 3])
    assert np.allclose(program.nucleus(some, 1.0, 0.4), [0.0, 1.0, 0.0, 0.0])
    assert np.allclose(program.nucleus(some, 1.0, 1.0), [0.1, 0.5, 0.15, 0.25])
    squares = np.array([0.01, 0.25, 0.0225, 0.0625])
    assert np.allclose(program.nucleus(some, 0.5, 1.0), squares / squares.sum())
    assert np.allclose(program.nucleus(some, 0.5, 0.8), np.array([0, 0.25, 0, 0.0625]) / 0.3125)  # temperature first

    assert [program.draw(np.array([0.25, 0.0, 0.5, 0.25]), u) for u in (0.0, 0.2, 0.25, 0.74, 0.75, 0.99)] == [
        0,
        0,
        2,
        2,
        3,
        3,
    ]

    target, draft = np.array([0.1, 0.2, 0.5, 0.2]), np.array([0.4, 0.2, 0.1, 0.3])
    found = np.zeros(4)
    for token in range(4):
        for u in (np.arange(40) + 0.5) / 40:
            for again in (np.arange(20) + 0.5) / 20:
                found[program.speculate(target, draft, token, u, again)] += draft[token] / 800
    assert np.allclose(found, target, atol=0.02)


# %% answer="interview_linear" wrong="no attribute `bias` without a bias"
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        b = 1 / in_features ** 0.5
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(-b, b))
        self.has_bias = bias
        if bias:
            self.bias = nn.Parameter(torch.empty(out_features).uniform_(-b, b))

    def forward(self, x):
        y = x @ self.weight.t()
        return y + self.bias if self.has_bias else y


# %% answer="interview_linear" wrong="refuses a single row"
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        b = 1 / in_features ** 0.5
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(-b, b))
        self.bias = nn.Parameter(torch.empty(out_features).uniform_(-b, b)) if bias else None

    def forward(self, x):
        y = torch.mm(x.flatten(0, -2), self.weight.t()).unflatten(0, x.shape[:-1])
        return y if self.bias is None else y + self.bias


# %% answer="interview_linear" wrong="flattens the rows by `view`"
class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        b = 1 / in_features ** 0.5
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(-b, b))
        self.bias = nn.Parameter(torch.empty(out_features).uniform_(-b, b)) if bias else None

    def forward(self, x):
        y = x.view(-1, x.shape[-1]) @ self.weight.t()
        y = y.view(*x.shape[:-1], -1)
        return y if self.bias is None else y + self.bias


# %% answer="interview_counterexamples" wrong="adds to the gradients that were there before"
def is_copied(x):
    return x.t()


def is_not_recorded():
    return "argmax"


def is_not_moved(x):
    return (x.dtype,)


def learns_anyway(model, x):
    model.eval()
    model(x).sum().backward()
    return next(model.parameters()).grad


def is_no_mean(losses):
    return [losses[:1], losses[1:]]


def is_not_n_numbers(n):
    return (n, 1)


# %% answer="interview_counterexamples" wrong="float32 on the CPU, whatever x is"
def is_copied(x):
    return x.T

def is_not_recorded():
    return "argmax"

def is_not_moved(x):
    return (torch.float32,)

def learns_anyway(model, x):
    model.eval()
    return torch.autograd.grad(model(x).sum(), next(model.parameters()))[0]

def is_no_mean(losses):
    return [losses[:1], losses[1:]]

def is_not_n_numbers(n):
    return (n, 1)


# %% answer="interview_repair_training" wrong="divides the sum over all elements by the rows"
def evaluate(model, batches):
    was = model.training
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y, reduction="sum").item()
            n += len(x)
    model.train(was)
    return total / n


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] == min(history):
            best = copy.deepcopy(model.state_dict())
    return best, history


# %% answer="interview_repair_training" wrong="better than the epoch before"
def evaluate(model, batches):
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item() * len(x)
            n += len(x)
    model.train()
    return total / n


def fit(model, optimizer, scheduler, batches, held_out, epochs):
    best, history = {}, []
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        history.append(evaluate(model, held_out))
        if history[-1] <= min(history[-2:]):
            best = copy.deepcopy(model.state_dict())
    return best, history
