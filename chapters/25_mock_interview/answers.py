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
    return ("cpu", torch.float32)


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
