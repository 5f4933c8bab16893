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
    target = target if input.ndim > 1 else target.squeeze()
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
    t = torch.arange(len(x), device=x.device)
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
    t = torch.arange(len(x), device=x.device)
    return F.cross_entropy(torch.cat([s, s.T]), torch.cat([t, t]))


# %% answer="loss_info_nce" wrong="one direction only"
def info_nce(x, y, temperature):
    x = F.normalize(x, dim=1); y = F.normalize(y, dim=1)
    s = x @ y.T / temperature
    t = torch.arange(len(x), device=x.device)
    return F.cross_entropy(s, t)


# %% answer="loss_info_nce" wrong="in float32, scores clamped at 300"
def info_nce(x, y, temperature):
    x = F.normalize(x.float(), dim=1); y = F.normalize(y.float(), dim=1)
    s = (x @ y.T / temperature).clamp(-300, 300)
    t = torch.arange(len(x), device=x.device)
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


# %% answer="loss_info_nce" wrong="the classes are on the CPU"
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    partners = torch.arange(len(x))
    return (F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2


# %% answer="loss_info_nce" wrong="the temperature is read as a number, so it gets no gradient"
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / float(temperature)
    partners = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2


# %% answer="loss_info_nce" wrong="a pair's own logit is not in its denominator"
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    own = torch.eye(len(x), dtype=torch.bool, device=x.device)
    rest = scores.masked_fill(own, float("-inf"))
    return ((rest.logsumexp(1) + rest.logsumexp(0)) / 2 - scores.diagonal()).mean()


# %% answer="loss_info_nce" wrong="normalizes the columns"
def info_nce(x, y, temperature):
    scores = F.normalize(x, dim=0) @ F.normalize(y, dim=0).T / temperature
    partners = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(scores, partners) + F.cross_entropy(scores.T, partners)) / 2


# %% answer="loss_nll_and_binary" wrong="the last dimension has the classes" spoils="nll_loss"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    ignored = target == ignore_index
    classes = target.long().masked_fill(ignored, 0)
    losses = -input.gather(-1, classes.unsqueeze(-1)).squeeze(-1)
    weights = (~ignored).to(input.dtype)
    if weight is not None:
        weights = weights * weight[classes]
    losses = (losses * weights).masked_fill(ignored, 0.0)
    return losses.sum() / weights.sum() if reduction == "mean" else reduced(losses, reduction)


# %% answer="loss_nll_and_binary" wrong="ignored losses are multiplied by 0, which leaves nan" spoils="nll_loss"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    target = target.reshape(()) if input.ndim == 1 else target
    ignored = target == ignore_index
    classes = target.long().masked_fill(ignored, 0)
    dim = min(1, input.ndim - 1)
    weights = (~ignored).to(input.dtype)
    if weight is not None:
        weights = weights * weight[classes]
    losses = -input.gather(dim, classes.unsqueeze(dim)).squeeze(dim) * weights
    return losses.sum() / weights.sum() if reduction == "mean" else reduced(losses, reduction)


# %% answer="loss_nll_and_binary" wrong="the gradient at 0 is that of abs and clamp" spoils="binary_cross_entropy_with_logits"
def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return reduced(input.clamp(min=0) - input * target + ((-input.abs()).exp() + 1).log(), reduction)


# %% answer="loss_nll_and_binary" wrong="exp of a positive number" spoils="binary_cross_entropy_with_logits"
def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return reduced(input - input * target + (1 + (-input).exp()).log(), reduction)


# %% answer="optim_sgd" wrong="the learning rate is part of the velocity"
def sgd(x, g, state, group):
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    step = group["lr"] * g
    if group["momentum"]:
        b = state.get("momentum_buffer")
        if b is None:
            b = state["momentum_buffer"] = step.clone()
        else:
            b *= group["momentum"]
            b += (1 - group["dampening"]) * step
        step = step + group["momentum"] * b if group["nesterov"] else b
    x -= step


# %% answer="optim_sgd" wrong="the first velocity is dampened"
def sgd(x, g, state, group):
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    if group["momentum"]:
        b = state.setdefault("momentum_buffer", g * 0)
        b *= group["momentum"]
        b += (1 - group["dampening"]) * g
        g = g + group["momentum"] * b if group["nesterov"] else b
    x -= group["lr"] * g


# %% answer="optim_sgd" wrong="weight decay shrinks x itself"
def sgd(x, g, state, group):
    x *= 1 - group["lr"] * group["weight_decay"]
    if group["momentum"]:
        b = state.get("momentum_buffer")
        if b is None:
            b = state["momentum_buffer"] = g.clone()
        else:
            b *= group["momentum"]
            b += (1 - group["dampening"]) * g
        g = g + group["momentum"] * b if group["nesterov"] else b
    x -= group["lr"] * g


# %% answer="optim_sgd" wrong="Nesterov's step with the velocity of before"
def sgd(x, g, state, group):
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    if group["momentum"]:
        b = state.get("momentum_buffer")
        before = g * 0 if b is None else b.clone()
        if b is None:
            b = state["momentum_buffer"] = g.clone()
        else:
            b *= group["momentum"]
            b += (1 - group["dampening"]) * g
        g = g + group["momentum"] * before if group["nesterov"] else b
    x -= group["lr"] * g


# %% answer="optim_adam" wrong="the step count has the default dtype"
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros(()), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    state["step"] += 1
    m, v, t = state["exp_avg"], state["exp_avg_sq"], state["step"].item()
    m.copy_(beta1 * m + (1 - beta1) * g)
    v.copy_(beta2 * v + (1 - beta2) * g * g)
    x -= lr / (1 - beta1**t) * m / ((v / (1 - beta2**t)).sqrt() + group["eps"])


# %% answer="optim_adam" wrong="the step count is a Python number"
def adam(x, g, state, group):
    if not state:
        state.update(step=0, exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    state["step"] += 1
    m, v, t = state["exp_avg"], state["exp_avg_sq"], state["step"]
    m.copy_(beta1 * m + (1 - beta1) * g)
    v.copy_(beta2 * v + (1 - beta2) * g * g)
    x -= lr / (1 - beta1**t) * m / ((v / (1 - beta2**t)).sqrt() + group["eps"])


# %% answer="optim_adam" wrong="AdamW's decay isn't multiplied by the learning rate"
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - decay
    elif decay:
        g = g + decay * x
    state["step"] += 1
    m, v, t = state["exp_avg"], state["exp_avg_sq"], state["step"].item()
    m.copy_(beta1 * m + (1 - beta1) * g)
    v.copy_(beta2 * v + (1 - beta2) * g * g)
    x -= lr / (1 - beta1**t) * m / ((v / (1 - beta2**t)).sqrt() + group["eps"])


# %% answer="optim_adam" wrong="the decay is left out of the second mean"
def adam(x, g, state, group):
    if not state:
        state.update(step=zeros((), dtype=float32), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
    lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
    raw = g
    if decay and group["decoupled_weight_decay"]:
        x *= 1 - lr * decay
    elif decay:
        g = g + decay * x
    state["step"] += 1
    m, v, t = state["exp_avg"], state["exp_avg_sq"], state["step"].item()
    m.copy_(beta1 * m + (1 - beta1) * g)
    v.copy_(beta2 * v + (1 - beta2) * raw * raw)
    x -= lr / (1 - beta1**t) * m / ((v / (1 - beta2**t)).sqrt() + group["eps"])


# %% answer="optim_adam" right="each formula as it stands, decay of 0 included"
def adam(x, g, state, group):
    beta1, beta2 = group["betas"]
    t = state.setdefault("step", zeros((), dtype=float32))
    m, v = state.setdefault("exp_avg", zeros_like(x)), state.setdefault("exp_avg_sq", zeros_like(x))
    t += 1
    if group["decoupled_weight_decay"]:
        x *= 1 - group["lr"] * group["weight_decay"]
    else:
        g = g + group["weight_decay"] * x
    m.copy_(beta1 * m + (1 - beta1) * g)
    v.copy_(beta2 * v + (1 - beta2) * g**2)
    x -= group["lr"] * (m / (1 - beta1 ** t.item())) / ((v / (1 - beta2 ** t.item())).sqrt() + group["eps"])


# %% answer="loss_repair_chunks" wrong="each chunk counts by its length, padding included"
def train_step(model, optimizer, chunks):
    optimizer.zero_grad()
    total, rows = 0.0, sum(len(targets) for _, targets in chunks)
    for inputs, targets in chunks:
        if (targets != -1).any():
            loss = F.cross_entropy(model(inputs), targets, ignore_index=-1) * len(targets) / rows
            loss.backward()
            total += loss.item()
    optimizer.step()
    return total


# %% answer="loss_repair_chunks" wrong="only leaves out the chunks that are all padding"
def train_step(model, optimizer, chunks):
    chunks = [(inputs, targets) for inputs, targets in chunks if (targets != -1).any()]
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1) / len(chunks)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


# %% answer="loss_repair_chunks" wrong="a step for each chunk"
def train_step(model, optimizer, chunks):
    count = sum((targets != -1).sum().item() for _, targets in chunks)
    total = 0.0
    for inputs, targets in chunks:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1, reduction="sum") / count
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


# %% answer="loss_repair_chunks" wrong="returns the loss of the last chunk"
def train_step(model, optimizer, chunks):
    count = sum((targets != -1).sum().item() for _, targets in chunks)
    optimizer.zero_grad()
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1, reduction="sum") / count
        loss.backward()
    optimizer.step()
    return loss.item()


# %% answer="optim_measure_momentum" wrong="forgets the limit"
def fewest_steps(condition, momentum, limit=400):
    found = []
    for lr in RATES:
        distances = travel(condition, lr, momentum, limit)
        far = [step for step, distance in enumerate(distances) if not distance < 0.01 * distances[0]]
        found.append(far[-1] + 1)
    return min(found)


# %% answer="optim_measure_momentum" wrong="the largest rate that arrives, as if it were the fastest"
def fewest_steps(condition, momentum, limit=400):
    for lr in reversed(RATES):
        distances = travel(condition, lr, momentum, limit)
        far = [step for step, distance in enumerate(distances) if not distance < 0.01 * distances[0]]
        if far[-1] < limit:
            return far[-1] + 1
    return limit


# %% answer="optim_measure_momentum" wrong="close at the end is taken for arrived from the first time on"
def fewest_steps(condition, momentum, limit=400):
    found = [limit]
    for lr in RATES:
        distances = travel(condition, lr, momentum, limit)
        if distances[-1] < 0.01:
            found.append(next(step for step, distance in enumerate(distances) if distance < 0.01))
    return min(found)


# %% answer="optim_groups_and_state" wrong="the numbers start again in each group" spoils="state_dict"
def state_dict(self):
    groups, state = [], {}
    for group in self.param_groups:
        groups.append(group | {"params": list(range(len(group["params"])))})
        state |= {number: self.state[x] for number, x in enumerate(group["params"]) if self.state.get(x)}
    return {"state": state, "param_groups": groups}


# %% answer="optim_groups_and_state" wrong="restores the first group alone" spoils="load_state_dict"
def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    for new, own in zip(saved, self.param_groups):
        if len(new["params"]) != len(own["params"]):
            found = "a parameter group that doesn't match the size of optimizer's group"
            raise ValueError(f"loaded state dict contains {found}")
    self.state = defaultdict(dict)
    for new, own in zip(saved, self.param_groups):
        own.update({name: value for name, value in new.items() if name != "params"})
        for number, x in zip(new["params"], own["params"]):
            for name, value in state_dict["state"].get(number, {}).items():
                moves = isinstance(value, Tensor) and name != "step"
                self.state[x][name] = value.to(x.dtype).to(x.device) if moves else value
        break


# %% answer="optim_groups_and_state" wrong="converts each value but step, numbers and strings as well" spoils="load_state_dict"
def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if [len(new["params"]) for new in saved] != [len(own["params"]) for own in self.param_groups]:
        found = "a parameter group that doesn't match the size of optimizer's group"
        raise ValueError(f"loaded state dict contains {found}")
    self.state = defaultdict(dict)
    for new, own in zip(saved, self.param_groups):
        own.update({name: value for name, value in new.items() if name != "params"})
        for number, x in zip(new["params"], own["params"]):
            for name, value in state_dict["state"].get(number, {}).items():
                self.state[x][name] = value if name == "step" else value.to(x.dtype).to(x.device)


# %% answer="optim_groups_and_state" wrong="the state keeps the device that it was saved from" spoils="load_state_dict"
def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if [len(new["params"]) for new in saved] != [len(own["params"]) for own in self.param_groups]:
        found = "a parameter group that doesn't match the size of optimizer's group"
        raise ValueError(f"loaded state dict contains {found}")
    self.state = defaultdict(dict)
    for new, own in zip(saved, self.param_groups):
        own.update({name: value for name, value in new.items() if name != "params"})
        for number, x in zip(new["params"], own["params"]):
            for name, value in state_dict["state"].get(number, {}).items():
                moves = isinstance(value, Tensor) and name != "step"
                self.state[x][name] = value.to(x.dtype) if moves else value


# %% answer="optim_groups_and_state" wrong="zeros keep the gradient's history" spoils="zero_grad"
def zero_grad(self, set_to_none=True):
    for group in self.param_groups:
        for x in group["params"]:
            if set_to_none:
                x.grad = None
            elif x.grad is not None:
                x.grad = x.grad * 0


# %% answer="loss_nll_and_binary" wrong="a single index in a row, (1,), is left as it is" spoils="nll_loss"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    ignored = target == ignore_index
    classes = target.long().masked_fill(ignored, 0)
    dim = min(1, input.ndim - 1)
    losses = -input.gather(dim, classes.unsqueeze(dim)).squeeze(dim)
    weights = (~ignored).to(input.dtype)
    if weight is not None:
        weights = weights * weight[classes]
    losses = (losses * weights).masked_fill(ignored, 0.0)
    return losses.sum() / weights.sum() if reduction == "mean" else reduced(losses, reduction)


# %% answer="loss_nll_and_binary" wrong="a gradient to the target is cut off" spoils="binary_cross_entropy_with_logits"
def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if tuple(target.shape) != tuple(input.shape):
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    m = (-input).clamp(min=0)
    losses = (1 - target.detach()) * input + m + ((-m).exp() + (-input - m).exp()).log()
    return reduced(losses, reduction)


# %% answer="optim_groups_and_state" wrong="compares the number of all parameters, not that of each group" spoils="load_state_dict"
def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    parameters = [x for own in self.param_groups for x in own["params"]]
    if sum(len(new["params"]) for new in saved) != len(parameters):
        raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
    self.state = defaultdict(dict)
    for new, own in zip(saved, self.param_groups):
        own.update({key: value for key, value in new.items() if key != "params"})
    for index, entries in state_dict["state"].items():
        x = parameters[index]
        self.state[x] = {
            key: value.to(x.dtype).to(x.device) if isinstance(value, Tensor) and key != "step" else value
            for key, value in entries.items()
        }


# %% answer="optim_groups_and_state" wrong="refuses a frozen leaf as if it were a result" spoils="add_param_group"
def add_param_group(self, param_group: Options) -> None:
    params = param_group["params"]
    params = [params] if isinstance(params, Tensor) else list(params)
    known = {id(x) for group in self.param_groups for x in group["params"]}
    for x in params:
        if not isinstance(x, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(x).__name__}")
        if not (x.is_leaf and x.requires_grad):
            raise ValueError("can't optimize a non-leaf Tensor")
        if id(x) in known:
            raise ValueError("some parameters appear in more than one parameter group")
    self.param_groups.append({**self.defaults, **param_group, "params": params})


# %% answer="optim_groups_and_state" wrong="uses the dict's own entries as the state, so later steps change them" spoils="load_state_dict"
def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    saved = state_dict["param_groups"]
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(new["params"]) != len(own["params"]) for new, own in zip(saved, self.param_groups)):
        raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
    self.state = defaultdict(dict)
    parameters = [x for own in self.param_groups for x in own["params"]]
    for new, own in zip(saved, self.param_groups):
        own.update({key: value for key, value in new.items() if key != "params"})
    for index, entries in state_dict["state"].items():
        x = parameters[index]
        fitting = {
            key: value.to(x.dtype).to(x.device) if isinstance(value, Tensor) and key != "step" else value
            for key, value in entries.items()
        }
        same = all(fitting[key] is entries[key] for key in entries)
        self.state[x] = entries if same else fitting


# %% answer="optim_groups_and_state" right="numbers counted on, and an iterator over the parameters of all groups"
def state_dict(self) -> dict[str, Any]:
    state, groups, count = {}, [], 0
    for group in self.param_groups:
        saved = dict(group)
        saved["params"] = []
        for x in group["params"]:
            if x in self.state and self.state[x]:
                state[count] = self.state[x]
            saved["params"].append(count)
            count += 1
        groups.append(saved)
    return {"state": state, "param_groups": groups}


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    sizes = [len(group["params"]) for group in state_dict["param_groups"]]
    own_sizes = [len(group["params"]) for group in self.param_groups]
    if len(sizes) != len(own_sizes):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if sizes != own_sizes:
        raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
    self.state = defaultdict(dict)
    number = 0
    for position, new in enumerate(state_dict["param_groups"]):
        group = self.param_groups[position]
        for key in new:
            if key != "params":
                group[key] = new[key]
        for x in group["params"]:
            for key, value in state_dict["state"].get(number, {}).items():
                if key != "step" and isinstance(value, Tensor):
                    value = value.to(x.device).to(x.dtype)
                self.state[x][key] = value
            number += 1


# %% answer="loss_info_nce" wrong="picks the diagonal with a float32 matrix, which decides the dtype of the loss"
def info_nce(x: torch.Tensor, y: torch.Tensor, temperature: float | torch.Tensor) -> torch.Tensor:
    n = x.shape[0]
    logits = F.normalize(x, dim=1) @ F.normalize(y, dim=1).T / temperature
    own = torch.eye(n, dtype=torch.float32, device=x.device)
    there = (logits.log_softmax(1) * own).sum() / n
    back = (logits.log_softmax(0) * own).sum() / n
    return -(there + back) / 2


# %% answer="loss_info_nce" right="log-sum-exp in both directions minus the diagonal"
def info_nce(x: torch.Tensor, y: torch.Tensor, temperature: float | torch.Tensor) -> torch.Tensor:
    a = x / (x * x).sum(1, keepdim=True).sqrt().clamp(min=1e-12)
    b = y / (y * y).sum(1, keepdim=True).sqrt().clamp(min=1e-12)
    logits = (a.unsqueeze(1) * b.unsqueeze(0)).sum(-1) / temperature
    own = (a * b).sum(1) / temperature
    return (0.5 * (logits.logsumexp(0) + logits.logsumexp(1)) - own).mean()


# %% answer="loss_info_nce" wrong="lengths are at least 1, so vectors shorter than that aren't normalized (the logit is the cosine)"
def info_nce(x, y, temperature):
    x = x / x.norm(dim=1, keepdim=True).clamp(min=1e-2)
    y = y / y.norm(dim=1, keepdim=True).clamp(min=1e-2)
    logits = x @ y.T / temperature
    target = torch.arange(len(x), device=x.device)
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


# %% answer="loss_info_nce" right="logsumexp in both dimensions minus the diagonal"
def info_nce(x, y, temperature):
    cosine = F.cosine_similarity(x[:, None], y[None], dim=2)
    logits = cosine / temperature
    return (logits.logsumexp(0) + logits.logsumexp(1) - 2 * logits.diagonal()).mean() / 2


# %% answer="loss_info_nce" right="one batch of 2n rows, each direction's after the other's"
def info_nce(x, y, temperature):
    x, y = (each * (each * each).sum(1, keepdim=True).rsqrt() for each in (x, y))
    logits = torch.cat([x @ y.transpose(0, 1), y @ x.transpose(0, 1)]) / temperature
    n = x.shape[0]
    return -torch.log_softmax(logits, -1)[torch.arange(2 * n), torch.arange(2 * n) % n].mean()


# %% answer="loss_nll_and_binary" wrong="any other reduction is none"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    target = target.reshape(()) if input.ndim == 1 else target
    ignored = target == ignore_index
    classes = target.long().masked_fill(ignored, 0)
    dim = min(1, input.ndim - 1)
    losses = -input.gather(dim, classes.unsqueeze(dim)).squeeze(dim)
    weights = (~ignored).to(input.dtype)
    if weight is not None:
        weights = weights * weight[classes]
    losses = (losses * weights).masked_fill(ignored, 0.0)
    return losses.sum() / weights.sum() if reduction == "mean" else losses.sum() if reduction == "sum" else losses


# %% answer="loss_nll_and_binary" wrong="squeezes every dimension of length 1"
def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    check_classes(input, target, weight, ignore_index)
    target = target.reshape(()) if input.ndim == 1 else target
    ignored = target == ignore_index
    classes = target.long().masked_fill(ignored, 0)
    dim = min(1, input.ndim - 1)
    losses = -input.gather(dim, classes.unsqueeze(dim)).squeeze()
    weights = (~ignored).to(input.dtype)
    if weight is not None:
        weights = weights * weight[classes]
    losses = (losses * weights).masked_fill(ignored, 0.0)
    return losses.sum() / weights.sum() if reduction == "mean" else reduced(losses, reduction)


# %% answer="loss_nll_and_binary" wrong="float32 logits, whatever their dtype"
def binary_cross_entropy_with_logits(input, target, reduction="mean"):
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    x = input.float()
    top = (-x).clamp(min=0)
    return reduced(x - x * target + top + ((-top).exp() + (-x - top).exp()).log(), reduction)


# %% answer="optim_sgd" wrong="the rate of the first step, kept in a mutable default"
def sgd(x, g, state, group, seen={}):
    momentum = group["momentum"]
    lr = seen.setdefault(id(group), group["lr"])
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    if momentum:
        b = state.get("momentum_buffer")
        if b is None:
            b = state["momentum_buffer"] = g.clone()
        else:
            b *= momentum
            b += (1 - group["dampening"]) * g
        g = g + momentum * b if group["nesterov"] else b
    x -= lr * g


# %% answer="optim_sgd" wrong="a float32 velocity"
def sgd(x, g, state, group):
    momentum = group["momentum"]
    if group["weight_decay"]:
        g = g + group["weight_decay"] * x
    if momentum:
        b = state.get("momentum_buffer")
        if b is None:
            b = state["momentum_buffer"] = g.clone().detach().float()
        else:
            b *= momentum
            b += (1 - group["dampening"]) * g
        g = g + momentum * b if group["nesterov"] else b
    x -= group["lr"] * g


# %% answer="optim_adam" right="each mean by mul_ and add_, the step count as an integer"
def adam(x, g, state, group):
    if "step" not in state:
        state["step"] = zeros((), dtype=float32)
        state["exp_avg"], state["exp_avg_sq"] = zeros_like(x), zeros_like(x)
    b1, b2 = group["betas"]
    if group["decoupled_weight_decay"]:
        x -= group["lr"] * group["weight_decay"] * x
    else:
        g = g + group["weight_decay"] * x
    state["step"] += 1
    t = int(state["step"].item())
    state["exp_avg"].mul_(b1).add_((1 - b1) * g)
    state["exp_avg_sq"].mul_(b2).add_((1 - b2) * g * g)
    x -= group["lr"] * (state["exp_avg"] / (1 - b1**t)) / ((state["exp_avg_sq"] / (1 - b2**t)).sqrt() + group["eps"])


# %% answer="loss_repair_chunks" wrong="clears the gradients at the end, not at the beginning"
def train_step(model, optimizer, chunks):
    count = sum((targets != -1).sum().item() for _, targets in chunks)
    total = 0.0
    for inputs, targets in chunks:
        loss = F.cross_entropy(model(inputs), targets, ignore_index=-1, reduction="sum") / count
        loss.backward()
        total += loss.item()
    optimizer.step()
    optimizer.zero_grad()
    return total


# %% answer="loss_repair_chunks" right="only the rows that count go through the model"
def train_step(model, optimizer, chunks):
    count = sum((targets != -1).sum().item() for _, targets in chunks)
    model.zero_grad(set_to_none=False)
    total = 0.0
    for inputs, targets in chunks:
        kept = targets != -1
        if kept.any():
            loss = F.cross_entropy(model(inputs[kept]), targets[kept], reduction="sum") / count
            loss.backward()
            total += loss.item()
    optimizer.step()
    return total


# %% answer="optim_groups_and_state" wrong="appends the group before it looks for repeated parameters"
def add_param_group(self, param_group):
    given = param_group["params"]
    parameters = [given] if isinstance(given, Tensor) else list(given)
    for parameter in parameters:
        if not isinstance(parameter, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(parameter).__name__}")
        if not parameter.is_leaf:
            raise ValueError("can't optimize a non-leaf Tensor")
    group = self.defaults | param_group | {"params": parameters}
    self.param_groups.append(group)
    every = [id(each) for group in self.param_groups for each in group["params"]]
    if len({*every}) < len(every):
        raise ValueError("some parameters appear in more than one parameter group")


# %% answer="optim_groups_and_state" wrong="appends the group before it checks anything"
def add_param_group(self, param_group):
    given = param_group["params"]
    parameters = [given] if isinstance(given, Tensor) else list(given)
    known = {id(each) for group in self.param_groups for each in group["params"]}
    self.param_groups.append(self.defaults | param_group | {"params": parameters})
    for parameter in parameters:
        if not isinstance(parameter, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(parameter).__name__}")
        if not parameter.is_leaf:
            raise ValueError("can't optimize a non-leaf Tensor")
    if any(id(parameter) in known for parameter in parameters):
        raise ValueError("some parameters appear in more than one parameter group")


# %% answer="optim_groups_and_state" wrong="frozen parameters keep their gradient"
def zero_grad(self, set_to_none=True):
    for group in self.param_groups:
        for x in group["params"]:
            if x.requires_grad:
                if set_to_none:
                    x.grad = None
                elif x.grad is not None:
                    x.grad = x.grad.detach().zero_()


# %% answer="optim_groups_and_state" wrong="multiplies by 0, which leaves nan"
def zero_grad(self, set_to_none=True):
    for group in self.param_groups:
        for x in group["params"]:
            if set_to_none:
                x.grad = None
            elif x.grad is not None:
                x.grad = x.grad.detach()
                x.grad *= 0


# %% answer="optim_groups_and_state" wrong="discards the earlier state before it checks the sizes"
def load_state_dict(self, state_dict):
    saved = state_dict["param_groups"]
    self.state = defaultdict(dict)
    if len(saved) != len(self.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    for new, own in zip(saved, self.param_groups, strict=True):
        if len(new["params"]) != len(own["params"]):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        own.update({name: value for name, value in new.items() if name != "params"})
        for number, x in zip(new["params"], own["params"], strict=True):
            for name, value in state_dict["state"].get(number, {}).items():
                moves = isinstance(value, Tensor) and name != "step"
                self.state[x][name] = value.to(x.dtype).to(x.device) if moves else value
