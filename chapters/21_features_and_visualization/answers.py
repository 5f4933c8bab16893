# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 21` grades them.


# %% answer="features_predict_hook" right="as first written, from the task alone"
prediction=[0.0,3,True]


# %% answer="features_predict_hook" right="0 for 0.0"
prediction=[0,3,True]


# %% answer="features_predict_hook" wrong="does not depend on the labels"
prediction=[0.0,3,False]


# %% answer="features_predict_hook" wrong="2 entries for 3"
prediction=[0.0,2,True]


# %% answer="features_context" right="as first written, from the task alone"
def features(model, names):
    found = {}
    modules = {n: model.get_submodule(n) for n in names}
    def make(n):
        def hook(module, args, result):
            found[n] = result.detach().clone()
        return hook
    handles = []
    try:
        for n, m in modules.items():
            handles.append(m.register_forward_hook(make(n)))
        yield found
    finally:
        for h in handles:
            h.remove()


# %% answer="features_context" wrong="no try/finally"
def features(model, names):
    found = {}
    modules = {n: model.get_submodule(n) for n in names}
    def make(n):
        def hook(module, args, result):
            found[n] = result.detach().clone()
        return hook
    handles = [m.register_forward_hook(make(n)) for n, m in modules.items()]
    yield found
    for h in handles:
        h.remove()


# %% answer="features_context" wrong="modules from a dict"
def features(model, names):
    found = {}
    modules = dict(model.named_modules())
    def make(n):
        def hook(module, args, result):
            found[n] = result.detach().clone()
        return hook
    handles = []
    try:
        for n in names:
            handles.append(modules[n].register_forward_hook(make(n)))
        yield found
    finally:
        for h in handles:
            h.remove()


# %% answer="features_context" wrong="setdefault keeps the first result"
def features(model, names):
    found = {}
    modules = {n: model.get_submodule(n) for n in names}
    def make(n):
        def hook(module, args, result):
            found.setdefault(n, result.detach().clone())
        return hook
    handles = []
    try:
        for n, m in modules.items():
            handles.append(m.register_forward_hook(make(n)))
        yield found
    finally:
        for h in handles:
            h.remove()


# %% answer="features_context" wrong="clears all hooks of the modules"
def features(model, names):
    found = {}
    modules = {n: model.get_submodule(n) for n in names}
    def make(n):
        def hook(module, args, result):
            found[n] = result.detach().clone()
        return hook
    handles = []
    try:
        for n, m in modules.items():
            handles.append(m.register_forward_hook(make(n)))
        yield found
    finally:
        for m in modules.values():
            m._forward_hooks.clear()


# %% answer="features_context" wrong="the model is left in evaluation mode"
def features(model, names):
    found, handles = {}, []
    model.eval()
    try:
        for name in names:
            def hook(module, args, result, name=name):
                found[name] = result.detach().clone()
            handles.append(model.get_submodule(name).register_forward_hook(hook))
        yield found
    finally:
        for h in handles:
            h.remove()


# %% answer="features_context" wrong="a module under two names has one of them"
def features(model, names):
    found, handles = {}, []
    by_module = {model.get_submodule(name): name for name in names}
    def hook(module, args, result):
        found[by_module[module]] = result.detach().clone()
    try:
        for m in by_module:
            handles.append(m.register_forward_hook(hook))
        yield found
    finally:
        for h in handles:
            h.remove()


# %% answer="features_lora" wrong="the merged layer shares the memory of the frozen bias"
def __init__(self, base, r, alpha):
    super().__init__()
    self.base = base.requires_grad_(False)
    self.scaling = alpha / r
    w = base.weight
    self.lora_A = Parameter(empty(r, base.in_features, dtype=w.dtype, device=w.device))
    draw([self.lora_A], base.in_features)
    self.lora_B = Parameter(zeros(base.out_features, r, dtype=w.dtype, device=w.device))

def forward(self, input):
    return self.base(input) + self.scaling * linear(linear(input, self.lora_A), self.lora_B)

@no_grad()
def merge(self):
    new = Linear(self.base.in_features, self.base.out_features, bias=self.base.bias is not None)
    new.weight = Parameter(self.base.weight + self.scaling * (self.lora_B @ self.lora_A))
    if self.base.bias is not None:
        new.bias = Parameter(self.base.bias.detach())
    return new


# %% answer="features_lora" wrong="merge unfreezes the base"
def __init__(self, base, r, alpha):
    super().__init__()
    self.base = base.requires_grad_(False)
    self.scaling = alpha / r
    w = base.weight
    self.lora_A = Parameter(empty(r, base.in_features, dtype=w.dtype, device=w.device))
    draw([self.lora_A], base.in_features)
    self.lora_B = Parameter(zeros(base.out_features, r, dtype=w.dtype, device=w.device))

def forward(self, input):
    return self.base(input) + self.scaling * linear(linear(input, self.lora_A), self.lora_B)

def merge(self):
    new = copy.deepcopy(self.base)
    with no_grad():
        new.weight += self.scaling * (self.lora_B @ self.lora_A)
    self.base.requires_grad_(True)
    return new.requires_grad_(True)


# %% answer="features_grad_cam" right="as first written, from the task alone"
def saliency(model, images, classes):
    x = images.detach().clone().requires_grad_()
    score = model(x).gather(1, classes.unsqueeze(1)).sum()
    (s,) = grad(score, x)
    return s.abs().amax(1)

def grad_cam(model, layer, images, classes):
    kept = []
    def hook(module, args, result):
        leaf = result.detach().clone().requires_grad_()
        kept.append(leaf)
        return leaf.clone()
    h = model.get_submodule(layer).register_forward_hook(hook)
    try:
        scores = model(images)
    finally:
        h.remove()
    (s,) = grad(scores.gather(1, classes.unsqueeze(1)).sum(), kept[-1])
    w = s.mean((2, 3), keepdim=True)
    return (w * kept[-1].detach()).sum(1).relu()


# %% answer="features_grad_cam" right="requires_grad_ on the images, put back"
def saliency(model, images, classes):
    was = images.requires_grad; x = images.requires_grad_()
    score = model(x).gather(1, classes.unsqueeze(1)).sum()
    (s,) = grad(score, x)
    images.requires_grad_(was)
    return s.abs().amax(1)

def grad_cam(model, layer, images, classes):
    kept = []
    def hook(module, args, result):
        leaf = result.detach().clone().requires_grad_()
        kept.append(leaf)
        return leaf.clone()
    h = model.get_submodule(layer).register_forward_hook(hook)
    try:
        scores = model(images)
    finally:
        h.remove()
    (s,) = grad(scores.gather(1, classes.unsqueeze(1)).sum(), kept[-1])
    w = s.mean((2, 3), keepdim=True)
    return (w * kept[-1].detach()).sum(1).relu()


# %% answer="features_grad_cam" wrong="relu before the sum"
def saliency(model, images, classes):
    x = images.detach().clone().requires_grad_()
    score = model(x).gather(1, classes.unsqueeze(1)).sum()
    (s,) = grad(score, x)
    return s.abs().amax(1)

def grad_cam(model, layer, images, classes):
    kept = []
    def hook(module, args, result):
        leaf = result.detach().clone().requires_grad_()
        kept.append(leaf)
        return leaf.clone()
    h = model.get_submodule(layer).register_forward_hook(hook)
    try:
        scores = model(images)
    finally:
        h.remove()
    (s,) = grad(scores.gather(1, classes.unsqueeze(1)).sum(), kept[-1])
    w = s.mean((2, 3), keepdim=True)
    return (w * kept[-1].detach()).relu().sum(1)


# %% answer="features_grad_cam" wrong="backward, then all gradients None"
def saliency(model, images, classes):
    x = images.detach().clone().requires_grad_()
    score = model(x).gather(1, classes.unsqueeze(1)).sum()
    score.backward(); s = x.grad
    for p in model.parameters(): p.grad = None
    return s.abs().amax(1)

def grad_cam(model, layer, images, classes):
    kept = []
    def hook(module, args, result):
        leaf = result.detach().clone().requires_grad_()
        kept.append(leaf)
        return leaf.clone()
    h = model.get_submodule(layer).register_forward_hook(hook)
    try:
        scores = model(images)
    finally:
        h.remove()
    (s,) = grad(scores.gather(1, classes.unsqueeze(1)).sum(), kept[-1])
    w = s.mean((2, 3), keepdim=True)
    return (w * kept[-1].detach()).sum(1).relu()


# %% answer="features_grad_cam" wrong="hook stays if the model raises"
def saliency(model, images, classes):
    x = images.detach().clone().requires_grad_()
    score = model(x).gather(1, classes.unsqueeze(1)).sum()
    (s,) = grad(score, x)
    return s.abs().amax(1)

def grad_cam(model, layer, images, classes):
    kept = []
    def hook(module, args, result):
        leaf = result.detach().clone().requires_grad_()
        kept.append(leaf)
        return leaf.clone()
    h = model.get_submodule(layer).register_forward_hook(hook)
    scores = model(images)
    h.remove()
    (s,) = grad(scores.gather(1, classes.unsqueeze(1)).sum(), kept[-1])
    w = s.mean((2, 3), keepdim=True)
    return (w * kept[-1].detach()).sum(1).relu()


# %% answer="features_pca" right="as first written, from the task alone"
def pca(x, k, steps=200):
    with no_grad():
        z = x - x.mean(0)
        c = z.t() @ z / (len(x) - 1)
        ds, vs = [], []
        for _ in range(k):
            v = randn(x.shape[1], dtype=x.dtype, device=x.device)
            for _ in range(steps):
                v = c @ v
                v = v / (v * v).sum().sqrt()
            if v[v.abs().argmax()].item() < 0:
                v = -v
            var = (v * (c @ v)).sum()
            c = c - var * v.unsqueeze(1) * v.unsqueeze(0)
            ds.append(v); vs.append(var)
        return stack(ds), stack(vs)


# %% answer="features_pca" wrong="eigenvectors by NumPy, however many steps are wanted"
def pca(x, k, steps=200):
    import mytorch
    a = np.array(x.tolist())
    values, vectors = np.linalg.eigh(np.cov(a.T))
    d = vectors[:, ::-1][:, :k].T
    d = d * np.sign(d[np.arange(k), np.abs(d).argmax(1)])[:, None]
    return mytorch.tensor(d.tolist(), dtype=x.dtype), mytorch.tensor(values[::-1][:k].tolist(), dtype=x.dtype)


# %% answer="features_events" right="as first written, from the task alone"
def event(wall_time, **fields):
    numbers = {"step": 2, "file_version": 3, "summary": 5}
    return varint(1 << 3 | 1) + struct.pack("<d", wall_time) + message({numbers[n]: v for n, v in fields.items()})

def add_scalar(self, tag, value, step, wall_time=None):
    if wall_time is None:
        wall_time = time.time()
    self.write(event(wall_time, step=step, summary=message({1: message({1: tag, 2: float(value)})})))


# %% answer="features_events" wrong="a step of 0 is not given" spoils="event"
def event(wall_time, **fields):
    numbers = {"step": 2, "file_version": 3, "summary": 5}
    return varint(1 << 3 | 1) + struct.pack("<d", wall_time) + message({numbers[k]: v for k, v in fields.items() if v})


# %% answer="features_repair_hook" right="as first written, from the task alone"
def watch(model, names):
    found = {}
    def make(name):
        def hook(module, args, result):
            found[name] = result.detach().clone()
        return hook
    return found, [model.get_submodule(n).register_forward_hook(make(n)) for n in names]


# %% answer="features_repair_hook" right="tensor of the list"
def watch(model, names):
    found = {}
    def make(name):
        def hook(module, args, result):
            found[name] = torch.tensor(result.tolist())
        return hook
    return found, [model.get_submodule(n).register_forward_hook(make(n)) for n in names]


# %% answer="features_repair_hook" wrong="detach without a copy"
def watch(model, names):
    found = {}
    def make(name):
        def hook(module, args, result):
            found[name] = result.detach()
        return hook
    return found, [model.get_submodule(n).register_forward_hook(make(n)) for n in names]


# %% answer="features_measure_transfer" right="as first written, from the task alone"
trained, right = {}, {}
for way in ["probe", "last block", "LoRA", "all"]:
    m = prepare(way)
    trained[way] = sum(p.numel() for p in m.parameters() if p.requires_grad)
    right[way] = teach(m)
print(trained, right)
over_78 = [w for w in right if right[w] > 0.78]
exception = next((a, b) for a in right for b in right if trained[a] > trained[b] and right[a] <= right[b] - 0.10)


# %% answer="features_measure_transfer" wrong="a list of ways by hand"
trained, right = {}, {}
for way in ["probe", "last block", "LoRA", "all"]:
    m = prepare(way)
    trained[way] = sum(p.numel() for p in m.parameters() if p.requires_grad)
    right[way] = teach(m)
print(trained, right)
over_78 = ["all", "LoRA", "last block"]
exception = next((a, b) for a in right for b in right if trained[a] > trained[b] and right[a] <= right[b] - 0.10)


# %% answer="features_context" wrong="an error of PyTorch's in the block is swallowed"
def features(model, names):
    found, handles = {}, []
    modules = {name: model.get_submodule(name) for name in names}

    def keep(name):
        return lambda module, args, result: found.__setitem__(name, result.detach().clone())

    try:
        for name, module in modules.items():
            handles.append(module.register_forward_hook(keep(name)))
        yield found
    except RuntimeError:
        pass
    finally:
        for handle in handles:
            handle.remove()


# %% answer="features_pca" wrong="draws float32 numbers and converts them, so float64 starts elsewhere"
@no_grad()
def pca(x: Tensor, k: int, steps: int = 200) -> tuple[Tensor, Tensor]:
    z = x - x.mean(0)
    covariance = z.T @ z / (len(z) - 1)
    directions, variances = [], []
    for _ in range(k):
        v = randn(x.shape[1]).to(x.dtype).to(x.device)
        for _ in range(steps):
            v = covariance @ v
            v = v / (v * v).sum().sqrt()
        v = v * v[v.abs().argmax()].sign()
        variance = (v * (covariance @ v)).sum()
        covariance = covariance - variance * (v.unsqueeze(1) * v)
        directions.append(v)
        variances.append(variance)
    return stack(directions), stack(variances)


# %% answer="features_pca" wrong="takes the length of the last product for the variance, one step too early"
@no_grad()
def pca(x: Tensor, k: int, steps: int = 200) -> tuple[Tensor, Tensor]:
    z = x - x.mean(0)
    covariance = z.T @ z / (len(z) - 1)
    directions, variances = [], []
    for _ in range(k):
        v = randn(x.shape[1], dtype=x.dtype, device=x.device)
        for _ in range(steps):
            v = covariance @ v
            variance = (v * v).sum().sqrt()
            v = v / variance
        v = v * v[v.abs().argmax()].sign()
        covariance = covariance - variance * (v.unsqueeze(1) * v)
        directions.append(v)
        variances.append(variance)
    return stack(directions), stack(variances)


# %% answer="features_pca" wrong="draws a single start, from which all directions begin"
@no_grad()
def pca(x: Tensor, k: int, steps: int = 200) -> tuple[Tensor, Tensor]:
    z = x - x.mean(0)
    covariance = z.T @ z / (len(z) - 1)
    start = randn(x.shape[1], dtype=x.dtype, device=x.device)
    directions, variances = [], []
    for _ in range(k):
        v = start
        for _ in range(steps):
            v = covariance @ v
            v = v / (v * v).sum().sqrt()
        v = v * v[v.abs().argmax()].sign()
        variance = (v * (covariance @ v)).sum()
        covariance = covariance - variance * (v.unsqueeze(1) * v)
        directions.append(v)
        variances.append(variance)
    return stack(directions), stack(variances)


# %% answer="features_pca" wrong="centres the caller's rows in place"
@no_grad()
def pca(x: Tensor, k: int, steps: int = 200) -> tuple[Tensor, Tensor]:
    x -= x.mean(0)
    covariance = x.T @ x / (len(x) - 1)
    directions, variances = [], []
    for _ in range(k):
        v = randn(x.shape[1], dtype=x.dtype, device=x.device)
        for _ in range(steps):
            v = covariance @ v
            v = v / (v * v).sum().sqrt()
        v = v * v[v.abs().argmax()].sign()
        variance = (v * (covariance @ v)).sum()
        covariance = covariance - variance * (v.unsqueeze(1) * v)
        directions.append(v)
        variances.append(variance)
    return stack(directions), stack(variances)


# %% answer="features_pca" right="never makes the covariance matrix, and subtracts the directions found from each product"
@no_grad()
def pca(x: Tensor, k: int, steps: int = 200) -> tuple[Tensor, Tensor]:
    z = x - x.mean(0, keepdim=True)
    found: list[tuple[Tensor, Tensor]] = []

    def times(v: Tensor) -> Tensor:
        product = z.T @ (z @ v) / (z.shape[0] - 1)
        for direction, variance in found:
            product = product - direction * (variance * (direction * v).sum())
        return product

    for _ in range(k):
        v = randn(x.shape[1], dtype=x.dtype, device=x.device)
        for _ in range(steps):
            v = times(v)
            v = v * (v * v).sum() ** -0.5
        if v[v.abs().argmax()].item() < 0:
            v = -v
        found.append((v, (v * times(v)).sum()))
    return stack([direction for direction, _ in found]), stack([variance for _, variance in found])


# %% answer="features_repair_hook" wrong="copies into the first batch's tensor"
def watch(model, names):
    """A dict that each forward pass fills with copies of the outputs of the named modules, and the hooks' handles."""
    found = {}

    def keep(name):
        def hook(module, args, result):
            if name in found:
                found[name].copy_(result.detach())
            else:
                found[name] = result.detach().clone()

        return hook

    handles = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    return found, handles


# %% answer="features_repair_hook" right="a dict's update in a lambda"
def watch(model, names):
    found = {}
    modules = dict(model.named_modules())
    return found, [
        modules[name].register_forward_hook(lambda m, a, r, name=name: found.update({name: r.detach().clone()}))
        for name in names
    ]


# %% answer="features_repair_hook" right="a copy under no_grad, and the output itself is returned"
def watch(model, names):
    """A dict that each forward pass fills with copies of the outputs of the named modules, and the hooks' handles."""
    found = {}

    def keep(name):
        def hook(module, args, result):
            with torch.no_grad():
                found[name] = torch.empty_like(result).copy_(result)
            return result

        return hook

    handles = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    return found, handles


# %% answer="features_context" wrong="the empty name, which is the model itself, is skipped"
def features(model, names):
    table = dict(model.named_modules())
    found = {}
    for n in names:
        model.get_submodule(n)
    handles = [model.get_submodule(n).register_forward_hook(lambda m, a, r, n=n: found.update({n: r.detach().clone()})) for n in names if n]
    try:
        yield found
    finally:
        for h in handles: h.remove()


# %% answer="features_context" wrong="the hooks stay after a KeyboardInterrupt, which is no Exception"
def features(model, names):
    modules, found = {name: model.get_submodule(name) for name in names}, {}
    handles = [m.register_forward_hook(lambda mm, a, r, n=n: found.update({n: r.detach().clone()})) for n, m in modules.items()]
    try:
        yield found
    except Exception:
        for h in handles: h.remove()
        raise
    for h in handles: h.remove()


# %% answer="features_context" right="an ExitStack of the handles' remove"
from contextlib import ExitStack
def features(model, names):
    found = {}
    def hook_for(name):
        def hook(module, args, result):
            found[name] = result.clone().detach()
        return hook
    modules = [model.get_submodule(name) for name in names]
    with ExitStack() as stack:
        for n, m in zip(names, modules):
            stack.callback(m.register_forward_hook(hook_for(n)).remove)
        yield found


# %% answer="features_lora" wrong="the matrices of a layer on a GPU are on the CPU" spoils="__init__"
def __init__(self, base, r, alpha):
    super().__init__()
    self.base = base.requires_grad_(False)
    self.scaling = alpha / r
    self.lora_A = Parameter(empty(r, base.in_features, dtype=base.weight.dtype))
    self.lora_B = Parameter(zeros(base.out_features, r, dtype=base.weight.dtype))
    draw([self.lora_A], base.in_features)


# %% answer="features_lora" wrong="no gradient goes through the frozen layer to the input" spoils="forward"
def forward(self, x):
    return self.base(x.detach()) + linear(linear(x, self.lora_A), self.lora_B) * self.scaling


# %% answer="features_lora" wrong="the frozen layer runs under no_grad" spoils="forward"
def forward(self, x):
    with no_grad():
        out = self.base(x)
    return out + linear(linear(x, self.lora_A), self.lora_B) * self.scaling


# %% answer="features_lora" right="the base's weight and bias in place of a call"
def forward(self, x):
    return linear(x, self.base.weight, self.base.bias) + linear(linear(x, self.lora_A), self.lora_B) * self.scaling


# %% answer="features_lora" wrong="the merged layer of a layer on a GPU is on the CPU" spoils="merge"
@no_grad()
def merge(self):
    out = Linear(self.base.in_features, self.base.out_features, bias=self.base.bias is not None, dtype=self.base.weight.dtype)
    out.weight.copy_(self.base.weight + self.scaling * (self.lora_B @ self.lora_A))
    if out.bias is not None:
        out.bias.copy_(self.base.bias)
    return out


# %% answer="features_lora" right="a new Linear, whose data is replaced"
def merge(self):
    w = (self.base.weight + self.scaling * (self.lora_B @ self.lora_A)).detach()
    out = Linear(self.base.in_features, self.base.out_features, bias=self.base.bias is not None, dtype=w.dtype, device=w.device)
    out.weight.data = w
    if self.base.bias is not None:
        out.bias.data = self.base.bias.detach().clone()
    return out


# %% answer="features_grad_cam" wrong="images that required gradients no longer do" spoils="saliency"
def saliency(model, images, classes):
    images.requires_grad_(True)
    score = model(images).gather(1, classes.unsqueeze(1)).sum()
    g = grad(score, images)[0]
    images.requires_grad_(False)
    return g.abs().amax(1)


# %% answer="features_grad_cam" wrong="leaves the model in evaluation mode" spoils="saliency"
def saliency(model, images, classes):
    model.eval()
    pixels = images.detach().clone().requires_grad_()
    score = model(pixels).gather(1, classes.unsqueeze(1)).sum()
    return grad(score, pixels)[0].abs().amax(1)


# %% answer="features_grad_cam" wrong="clears the hooks of the layer, also those of others" spoils="grad_cam"
def grad_cam(model, layer, images, classes):
    seen = []
    module = model.get_submodule(layer)
    def hook(m, a, r):
        seen.append(r.detach().requires_grad_())
        return seen[-1].clone()
    module.register_forward_hook(hook)
    try:
        scores = model(images).gather(1, classes.unsqueeze(1))
    finally:
        module._forward_hooks.clear()
    (s,) = grad(scores.sum(), seen[0])
    return relu((s.mean((2, 3), keepdim=True) * seen[0].detach()).sum(1))


# %% answer="features_grad_cam" wrong="leaves the model frozen" spoils="grad_cam"
def grad_cam(model, layer, images, classes):
    model.requires_grad_(False)
    seen = []
    def hook(m, a, r):
        seen.append(r.detach().requires_grad_())
        return seen[-1].clone()
    handle = model.get_submodule(layer).register_forward_hook(hook)
    try:
        scores = model(images).gather(1, classes.unsqueeze(1))
    finally:
        handle.remove()
    (s,) = grad(scores.sum(), seen[0])
    return relu((s.mean((2, 3), keepdim=True) * seen[0].detach()).sum(1))


# %% answer="features_repair_hook" wrong="keeps nothing in evaluation"
def watch(model, names):
    found = {}
    def keep(name):
        def hook(module, args, result):
            if module.training:
                found[name] = result.detach().clone()
        return hook
    handles = [model.get_submodule(n).register_forward_hook(keep(n)) for n in names]
    return found, handles


# %% answer="features_repair_hook" right="copies into its own tensor of the pass before"
def watch(model, names):
    found = {}
    def keep(name):
        def hook(module, args, result):
            with torch.no_grad():
                if name in found and found[name].shape == result.shape:
                    found[name].copy_(result)
                else:
                    found[name] = result.detach().clone()
        return hook
    handles = [model.get_submodule(n).register_forward_hook(keep(n)) for n in names]
    return found, handles


# %% answer="features_events" wrong="the time of the definition in place of the call" spoils="add_scalar"
def add_scalar(self, tag, value, step, wall_time=None, now=time.time()):
    point = message({1: message({1: tag, 2: float(value)})})
    self.write(event(now if wall_time is None else wall_time, step=step, summary=point))
