# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 16` grades them.


# %% answer="optim_predict_furthest" right="as first written, from the task alone"
prediction = 'a'


# %% answer="optim_predict_furthest" wrong="e"
prediction = "e"


# %% answer="loss_nll_and_binary" right="as first written, from the task alone"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    dim = 1 if input.ndim > 1 else 0
    ignored = target == ignore_index
    safe = target.masked_fill(ignored, 0)
    picked = input.gather(dim, safe.unsqueeze(dim)).squeeze(dim)
    picked = picked.masked_fill(ignored, 0.0)
    if weight is None:
        import mytorch; w = mytorch.ones_like(picked)
    else:
        w = weight[safe]
    w = w.masked_fill(ignored, 0.0)
    losses = -picked * w
    if reduction == "mean":
        return losses.sum() / w.sum()
    return reduced(losses, reduction)

def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    x, y = input, target
    positive = x.detach() > 0
    absx = x.masked_fill(positive, 0.0) * -1 + x.masked_fill(~positive, 0.0)
    losses = x.masked_fill(~positive, 0.0) - x * y + (1 + (-absx).exp()).log()
    return reduced(losses, reduction)


# %% answer="loss_nll_and_binary" right="one-hot rows, log_softmax of [0, x]"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    import mytorch
    check_classes(input, target, weight, ignore_index)
    dim = min(1, input.ndim - 1)
    c = input.shape[dim]
    classes = mytorch.arange(c).reshape(-1, *(1,) * (target.ndim - (1 if dim else 0))) if dim else mytorch.arange(c)
    hot = (target.unsqueeze(dim) == classes) & (target != ignore_index).unsqueeze(dim)
    w = mytorch.ones(c) if weight is None else weight
    w = w.reshape(classes.shape) if dim else w
    losses = -(input.masked_fill(~hot, 0.0) * w).sum(dim)
    if reduction == "mean":
        return losses.sum() / (hot.float() * w).sum()
    return reduced(losses, reduction)

def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    import mytorch
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    both = mytorch.stack([input * 0, input], 0).log_softmax(0)
    return reduced(-target * both[1] - (1 - target) * both[0], reduction)


# %% answer="loss_nll_and_binary" wrong="mean over what is not ignored"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    dim = 1 if input.ndim > 1 else 0
    ignored = target == ignore_index
    safe = target.masked_fill(ignored, 0)
    picked = input.gather(dim, safe.unsqueeze(dim)).squeeze(dim)
    picked = picked.masked_fill(ignored, 0.0)
    if weight is None:
        import mytorch; w = mytorch.ones_like(picked)
    else:
        w = weight[safe]
    w = w.masked_fill(ignored, 0.0)
    losses = -picked * w
    if reduction == "mean":
        return losses.sum() / (~ignored).sum()
    return reduced(losses, reduction)


def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    x, y = input, target
    positive = x.detach() > 0
    absx = x.masked_fill(positive, 0.0) * -1 + x.masked_fill(~positive, 0.0)
    losses = x.masked_fill(~positive, 0.0) - x * y + (1 + (-absx).exp()).log()
    return reduced(losses, reduction)


# %% answer="loss_nll_and_binary" wrong="sum of weights clamped"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    dim = 1 if input.ndim > 1 else 0
    ignored = target == ignore_index
    safe = target.masked_fill(ignored, 0)
    picked = input.gather(dim, safe.unsqueeze(dim)).squeeze(dim)
    picked = picked.masked_fill(ignored, 0.0)
    if weight is None:
        import mytorch; w = mytorch.ones_like(picked)
    else:
        w = weight[safe]
    w = w.masked_fill(ignored, 0.0)
    losses = -picked * w
    if reduction == "mean":
        return losses.sum() / w.sum().clamp(min=1e-12)
    return reduced(losses, reduction)


def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    x, y = input, target
    positive = x.detach() > 0
    absx = x.masked_fill(positive, 0.0) * -1 + x.masked_fill(~positive, 0.0)
    losses = x.masked_fill(~positive, 0.0) - x * y + (1 + (-absx).exp()).log()
    return reduced(losses, reduction)


# %% answer="loss_nll_and_binary" wrong="shapes may differ"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    dim = 1 if input.ndim > 1 else 0
    ignored = target == ignore_index
    safe = target.masked_fill(ignored, 0)
    picked = input.gather(dim, safe.unsqueeze(dim)).squeeze(dim)
    picked = picked.masked_fill(ignored, 0.0)
    if weight is None:
        import mytorch; w = mytorch.ones_like(picked)
    else:
        w = weight[safe]
    w = w.masked_fill(ignored, 0.0)
    losses = -picked * w
    if reduction == "mean":
        return losses.sum() / w.sum()
    return reduced(losses, reduction)


def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if input.numel() % target.numel():
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    x, y = input, target
    positive = x.detach() > 0
    absx = x.masked_fill(positive, 0.0) * -1 + x.masked_fill(~positive, 0.0)
    losses = x.masked_fill(~positive, 0.0) - x * y + (1 + (-absx).exp()).log()
    return reduced(losses, reduction)


# %% answer="loss_nll_and_binary" wrong="log of a clamped sigmoid"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    dim = 1 if input.ndim > 1 else 0
    ignored = target == ignore_index
    safe = target.masked_fill(ignored, 0)
    picked = input.gather(dim, safe.unsqueeze(dim)).squeeze(dim)
    picked = picked.masked_fill(ignored, 0.0)
    if weight is None:
        import mytorch; w = mytorch.ones_like(picked)
    else:
        w = weight[safe]
    w = w.masked_fill(ignored, 0.0)
    losses = -picked * w
    if reduction == "mean":
        return losses.sum() / w.sum()
    return reduced(losses, reduction)


def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    x, y = input, target
    positive = x.detach() > 0
    absx = x.masked_fill(positive, 0.0) * -1 + x.masked_fill(~positive, 0.0)
    p = (1 / (1 + (-x).exp())).clamp(min=1e-7, max=1 - 1e-7); losses = -(y * p.log() + (1 - y) * (1 - p).log())
    return reduced(losses, reduction)


# %% answer="optim_sgd" right="copy_ and get"
def sgd(x, g, state, group):
    d = g.clone()
    if group["weight_decay"]:
        d += group["weight_decay"] * x
    if group["momentum"]:
        b = state.get("momentum_buffer")
        if b is None:
            b = state["momentum_buffer"] = d.clone()
        else:
            b.copy_(group["momentum"] * b + (1 - group["dampening"]) * d)
        d = d + group["momentum"] * b if group["nesterov"] else b
    x.copy_(x - group["lr"] * d)


# %% answer="optim_sgd" right="dampening in Nesterov's sum"
def sgd(x, g, state, group):
    lr, mu = group["lr"], group["momentum"]
    if group["weight_decay"] != 0:
        g = g + group["weight_decay"] * x
    if mu != 0:
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = g.clone()
        else:
            b = state["momentum_buffer"]
            b *= mu
            b += (1 - group["dampening"]) * g
        b = state["momentum_buffer"]
        g = (1 - group["dampening"]) * g + mu * b if group["nesterov"] else b
    x -= lr * g


# %% answer="optim_sgd" wrong="velocity without momentum"
def sgd(x, g, state, group):
    lr, mu = group["lr"], group["momentum"]
    if group["weight_decay"] != 0:
        g = g + group["weight_decay"] * x
    if True:
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = g.clone()
        else:
            b = state["momentum_buffer"]
            b *= mu
            b += (1 - group["dampening"]) * g
        b = state["momentum_buffer"]
        g = g + mu * b if group["nesterov"] else b
    x -= lr * g


# %% answer="optim_adam" right="lerp for m, PyTorch's own order"
def adam(x, g, state, group):
    b1, b2 = group["betas"]
    lr, eps, wd = group["lr"], group["eps"], group["weight_decay"]
    if not state:
        state["step"] = zeros((), dtype=float32)
        state["exp_avg"] = zeros_like(x)
        state["exp_avg_sq"] = zeros_like(x)
    state["step"] += 1
    t = state["step"].item()
    if wd != 0:
        if group["decoupled_weight_decay"]:
            x *= 1 - lr * wd
        else:
            g = g + wd * x
    m, v = state["exp_avg"], state["exp_avg_sq"]
    m += (1 - b1) * (g - m)
    v *= b2
    v += (1 - b2) * g * g
    import math
    x -= (lr / (1 - b1 ** t)) * m / (v.sqrt() / math.sqrt(1 - b2 ** t) + eps)


# %% answer="optim_adam" right="decay just before the step"
def adam(x, g, state, group):
    b1, b2 = group["betas"]
    lr, eps, wd = group["lr"], group["eps"], group["weight_decay"]
    if not state:
        state["step"] = zeros((), dtype=float32)
        state["exp_avg"] = zeros_like(x)
        state["exp_avg_sq"] = zeros_like(x)
    state["step"] += 1
    t = state["step"].item()
    if wd != 0:
        if group["decoupled_weight_decay"]:
            pass
        else:
            g = g + wd * x
    m, v = state["exp_avg"], state["exp_avg_sq"]
    m *= b1
    m += (1 - b1) * g
    v *= b2
    v += (1 - b2) * g * g
    if wd and group["decoupled_weight_decay"]:
        x -= lr * wd * x
    x -= lr * (m / (1 - b1 ** t)) / ((v / (1 - b2 ** t)).sqrt() + eps)


# %% answer="optim_adam" right="state looked at by its length"
def adam(x, g, state, group):
    b1, b2 = group["betas"]
    lr, eps, wd = group["lr"], group["eps"], group["weight_decay"]
    if len(state) == 0 or state["step"].item() == 0:
        state["step"] = zeros((), dtype=float32)
        state["exp_avg"] = zeros_like(x)
        state["exp_avg_sq"] = zeros_like(x)
    state["step"] += 1
    t = state["step"].item()
    if wd != 0:
        if group["decoupled_weight_decay"]:
            x *= 1 - lr * wd
        else:
            g = g + wd * x
    m, v = state["exp_avg"], state["exp_avg_sq"]
    m *= b1
    m += (1 - b1) * g
    v *= b2
    v += (1 - b2) * g * g
    x -= lr * (m / (1 - b1 ** t)) / ((v / (1 - b2 ** t)).sqrt() + eps)


# %% answer="optim_adam" wrong="eps inside the root"
def adam(x, g, state, group):
    b1, b2 = group["betas"]
    lr, eps, wd = group["lr"], group["eps"], group["weight_decay"]
    if not state:
        state["step"] = zeros((), dtype=float32)
        state["exp_avg"] = zeros_like(x)
        state["exp_avg_sq"] = zeros_like(x)
    state["step"] += 1
    t = state["step"].item()
    if wd != 0:
        if group["decoupled_weight_decay"]:
            x *= 1 - lr * wd
        else:
            g = g + wd * x
    m, v = state["exp_avg"], state["exp_avg_sq"]
    m *= b1
    m += (1 - b1) * g
    v *= b2
    v += (1 - b2) * g * g
    x -= lr * (m / (1 - b1 ** t)) / (v / (1 - b2 ** t) + eps ** 2).sqrt()


# %% answer="optim_adam" wrong="new tensors for the state"
def adam(x, g, state, group):
    b1, b2 = group["betas"]
    lr, eps, wd = group["lr"], group["eps"], group["weight_decay"]
    if not state:
        state["step"] = zeros((), dtype=float32)
        state["exp_avg"] = zeros_like(x)
        state["exp_avg_sq"] = zeros_like(x)
    state["step"] = state["step"] + 1
    t = state["step"].item()
    if wd != 0:
        if group["decoupled_weight_decay"]:
            x *= 1 - lr * wd
        else:
            g = g + wd * x
    m, v = state["exp_avg"], state["exp_avg_sq"]
    state["exp_avg"] = m = b1 * m + (1 - b1) * g
    v *= b2
    v += (1 - b2) * g * g
    x -= lr * (m / (1 - b1 ** t)) / ((v / (1 - b2 ** t)).sqrt() + eps)


# %% answer="loss_info_nce" right="as first written, from the task alone"
def info_nce(x, y, temperature):
    x = F.normalize(x, dim=1); y = F.normalize(y, dim=1)
    s = x @ y.T / temperature
    t = torch.arange(len(x))
    return (F.cross_entropy(s, t) + F.cross_entropy(s.T, t)) / 2


# %% answer="loss_info_nce" right="logsumexp minus diagonal"
def info_nce(x, y, temperature):
    x = x / x.norm(dim=1, keepdim=True); y = y / y.norm(dim=1, keepdim=True)
    s = (x[:, None] * y[None]).sum(-1) / temperature
    d = s.diagonal()
    return 0.5 * ((s.logsumexp(1) - d).mean() + (s.logsumexp(0) - d).mean())


# %% answer="loss_info_nce" right="both directions in one call"
def info_nce(x, y, temperature):
    x = F.normalize(x, dim=1); y = F.normalize(y, dim=1)
    s = x @ y.T / temperature
    t = torch.arange(len(x))
    return F.cross_entropy(torch.cat([s, s.T]), torch.cat([t, t]))


# %% answer="loss_info_nce" wrong="one direction only"
def info_nce(x, y, temperature):
    x = F.normalize(x, dim=1); y = F.normalize(y, dim=1)
    s = x @ y.T / temperature
    t = torch.arange(len(x))
    return F.cross_entropy(s, t)


# %% answer="loss_info_nce" wrong="in float32, scores clamped at 300"
def info_nce(x, y, temperature):
    x = F.normalize(x.float(), dim=1); y = F.normalize(y.float(), dim=1)
    s = (x @ y.T / temperature).clamp(-300, 300)
    t = torch.arange(len(x))
    return (F.cross_entropy(s, t) + F.cross_entropy(s.T, t)) / 2


# %% answer="loss_repair_chunks" right="gradients divided at the end"
def train_step(model, optimizer, chunks) -> float:
    optimizer.zero_grad()
    total, count = 0.0, 0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1, reduction="sum")
        loss.backward()
        total += loss.item()
        count += int((targets != -1).sum())
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= count
    optimizer.step()
    return total / count


# %% answer="loss_repair_chunks" right="model.zero_grad, step if anything counts"
def train_step(model, optimizer, chunks) -> float:
    model.zero_grad()
    count = sum((t != -1).sum().item() for _, t in chunks)
    total = 0.0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1, reduction="sum") / count
        loss.backward()
        total += loss.item()
    if count: optimizer.step()
    return total


# %% answer="loss_repair_chunks" wrong="one backward for all chunks"
def train_step(model, optimizer, chunks) -> float:
    optimizer.zero_grad()
    count = sum((t >= 0).sum().item() for _, t in chunks)
    losses = [F.cross_entropy(model(i), t, ignore_index=-1, reduction="sum") / count for i, t in chunks]
    sum(losses).backward()
    optimizer.step()
    return sum(losses).item()


# %% answer="optim_measure_momentum" right="flatnonzero"
def fewest_steps(condition, momentum, limit=400):
    best = limit
    for lr in RATES:
        d = np.array(travel(condition, lr, momentum, limit))
        far = np.flatnonzero(d >= 0.01 * d[0])
        best = min(best, int(far[-1]) + 1)
    return best


# %% answer="optim_measure_momentum" wrong="the first time near"
def fewest_steps(condition, momentum, limit=400):
    best = limit
    for lr in RATES:
        d = travel(condition, lr, momentum, limit)
        for n, each in enumerate(d):
            if each < 0.01 * d[0]:
                best = min(best, n); break
    return best


# %% answer="optim_measure_momentum" right="near for 20 steps and at the end, which comes to the same with two curvatures"
def fewest_steps(condition, momentum, limit=400):
    best = limit
    for lr in RATES:
        d = travel(condition, lr, momentum, limit)
        if d[-1] < 0.01 * d[0]:
            best = min(best, next(n for n in range(limit + 1) if max(d[n:n+20]) < 0.01 * d[0]))
    return best


# %% answer="optim_measure_momentum" wrong="one too few"
def fewest_steps(condition, momentum, limit=400):
    best = limit
    for lr in RATES:
        d = travel(condition, lr, momentum, limit)
        last = max(n for n in range(limit + 1) if d[n] > 0.01 * d[0])
        best = min(best, last)
    return best


# %% answer="optim_groups_and_state" right="as first written, from the task alone"
def add_param_group(self, param_group):
    group = dict(param_group)
    params = group["params"]
    params = [params] if isinstance(params, Tensor) else list(params)
    for p in params:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
        if not p.is_leaf:
            raise ValueError("can't optimize a non-leaf Tensor")
    known = {id(p) for g in self.param_groups for p in g["params"]}
    if known & {id(p) for p in params}:
        raise ValueError("some parameters appear in more than one parameter group")
    group["params"] = params
    for k, v in self.defaults.items():
        group.setdefault(k, v)
    self.param_groups.append(group)

def zero_grad(self, set_to_none=True):
    for g in self.param_groups:
        for p in g["params"]:
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
            else:
                p.grad = p.grad.detach()
                p.grad.zero_()

def state_dict(self):
    n, numbers, groups = 0, {}, []
    for g in self.param_groups:
        new = {k: v for k, v in g.items() if k != "params"}
        new["params"] = []
        for p in g["params"]:
            numbers[n] = p
            new["params"].append(n)
            n += 1
        groups.append(new)
    state = {k: self.state[p] for k, p in numbers.items() if p in self.state and self.state[p]}
    return {"state": state, "param_groups": groups}

def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    for a, b in zip(saved, self.param_groups):
        if len(a["params"]) != len(b["params"]):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
    params = {}
    for a, b in zip(saved, self.param_groups):
        for k, p in zip(a["params"], b["params"]):
            params[k] = p
        for k, v in a.items():
            if k != "params":
                b[k] = v
    self.state.clear()
    for k, entry in state_dict["state"].items():
        p = params[k]
        self.state[p] = {name: v if name == "step" or not isinstance(v, Tensor) else v.to(p.dtype).to(p.device) for name, v in entry.items()}


# %% answer="optim_groups_and_state" right="entries of the state copied"
def add_param_group(self, param_group):
    group = dict(param_group)
    params = group["params"]
    params = [params] if isinstance(params, Tensor) else list(params)
    for p in params:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
        if not p.is_leaf:
            raise ValueError("can't optimize a non-leaf Tensor")
    known = {id(p) for g in self.param_groups for p in g["params"]}
    if known & {id(p) for p in params}:
        raise ValueError("some parameters appear in more than one parameter group")
    group["params"] = params
    for k, v in self.defaults.items():
        group.setdefault(k, v)
    self.param_groups.append(group)

def zero_grad(self, set_to_none=True):
    for g in self.param_groups:
        for p in g["params"]:
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
            else:
                p.grad = p.grad.detach()
                p.grad.zero_()

def state_dict(self):
    n, numbers, groups = 0, {}, []
    for g in self.param_groups:
        new = {k: v for k, v in g.items() if k != "params"}
        new["params"] = []
        for p in g["params"]:
            numbers[n] = p
            new["params"].append(n)
            n += 1
        groups.append(new)
    state = {k: dict(self.state[p]) for k, p in numbers.items() if p in self.state and self.state[p]}
    return {"state": state, "param_groups": groups}

def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    for a, b in zip(saved, self.param_groups):
        if len(a["params"]) != len(b["params"]):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
    params = {}
    for a, b in zip(saved, self.param_groups):
        for k, p in zip(a["params"], b["params"]):
            params[k] = p
        for k, v in a.items():
            if k != "params":
                b[k] = v
    self.state.clear()
    for k, entry in state_dict["state"].items():
        p = params[k]
        self.state[p] = {name: v if name == "step" or not isinstance(v, Tensor) else v.to(p.dtype).to(p.device) for name, v in entry.items()}


# %% answer="optim_groups_and_state" wrong="state not converted"
def add_param_group(self, param_group):
    group = dict(param_group)
    params = group["params"]
    params = [params] if isinstance(params, Tensor) else list(params)
    for p in params:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
        if not p.is_leaf:
            raise ValueError("can't optimize a non-leaf Tensor")
    known = {id(p) for g in self.param_groups for p in g["params"]}
    if known & {id(p) for p in params}:
        raise ValueError("some parameters appear in more than one parameter group")
    group["params"] = params
    for k, v in self.defaults.items():
        group.setdefault(k, v)
    self.param_groups.append(group)

def zero_grad(self, set_to_none=True):
    for g in self.param_groups:
        for p in g["params"]:
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
            else:
                p.grad = p.grad.detach()
                p.grad.zero_()

def state_dict(self):
    n, numbers, groups = 0, {}, []
    for g in self.param_groups:
        new = {k: v for k, v in g.items() if k != "params"}
        new["params"] = []
        for p in g["params"]:
            numbers[n] = p
            new["params"].append(n)
            n += 1
        groups.append(new)
    state = {k: self.state[p] for k, p in numbers.items() if p in self.state and self.state[p]}
    return {"state": state, "param_groups": groups}

def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    for a, b in zip(saved, self.param_groups):
        if len(a["params"]) != len(b["params"]):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
    params = {}
    for a, b in zip(saved, self.param_groups):
        for k, p in zip(a["params"], b["params"]):
            params[k] = p
        for k, v in a.items():
            if k != "params":
                b[k] = v
    self.state.clear()
    for k, entry in state_dict["state"].items():
        p = params[k]
        self.state[p] = {name: v for name, v in entry.items()}


# %% answer="optim_groups_and_state" wrong="defaults written into the given group"
def add_param_group(self, param_group):
    group = dict(param_group)
    params = group["params"]
    params = [params] if isinstance(params, Tensor) else list(params)
    for p in params:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
        if not p.is_leaf:
            raise ValueError("can't optimize a non-leaf Tensor")
    for k, v in self.defaults.items():
        param_group.setdefault(k, v)
    known = {id(p) for g in self.param_groups for p in g["params"]}
    if known & {id(p) for p in params}:
        raise ValueError("some parameters appear in more than one parameter group")
    group["params"] = params
    for k, v in self.defaults.items():
        group.setdefault(k, v)
    self.param_groups.append(group)

def zero_grad(self, set_to_none=True):
    for g in self.param_groups:
        for p in g["params"]:
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
            else:
                p.grad = p.grad.detach()
                p.grad.zero_()

def state_dict(self):
    n, numbers, groups = 0, {}, []
    for g in self.param_groups:
        new = {k: v for k, v in g.items() if k != "params"}
        new["params"] = []
        for p in g["params"]:
            numbers[n] = p
            new["params"].append(n)
            n += 1
        groups.append(new)
    state = {k: self.state[p] for k, p in numbers.items() if p in self.state and self.state[p]}
    return {"state": state, "param_groups": groups}

def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    for a, b in zip(saved, self.param_groups):
        if len(a["params"]) != len(b["params"]):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
    params = {}
    for a, b in zip(saved, self.param_groups):
        for k, p in zip(a["params"], b["params"]):
            params[k] = p
        for k, v in a.items():
            if k != "params":
                b[k] = v
    self.state.clear()
    for k, entry in state_dict["state"].items():
        p = params[k]
        self.state[p] = {name: v if name == "step" or not isinstance(v, Tensor) else v.to(p.dtype).to(p.device) for name, v in entry.items()}
