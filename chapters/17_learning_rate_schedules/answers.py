# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 17` grades them.


# %% answer="schedule_predict_rates" right="right as powers"
prediction=[0.1**(n//2) for n in range(1,6)]


# %% answer="schedule_predict_rates" wrong="right order rates"
prediction=[1,1,0.1,0.1,0.01]


# %% answer="schedule_predict_rates" wrong="1.4 for 1, .14"
prediction=[1.4,0.14,0.06,0.012,0.008]


# %% answer="schedule_base" wrong="overwrites initial_lr"
def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
    watch(optimizer)
    self.optimizer = optimizer
    if last_epoch == -1:
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    else:
        for i, group in enumerate(optimizer.param_groups):
            if "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler")
    self.base_lrs = [g["initial_lr"] for g in optimizer.param_groups]
    self.last_epoch = last_epoch
    self._initial_step()

def _update_lr(self) -> None:
    self.last_epoch += 1
    values = self.get_lr()
    for group, lr in zip(self.optimizer.param_groups, values, strict=True):
        group["lr"] = lr
    self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

def get_lr(self) -> Rates:
    if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
        return self._scaled(1)
    return self._scaled(self.gamma)


# %% answer="schedule_base" wrong="watch last"
def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
    self.optimizer = optimizer
    if last_epoch == -1:
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
    else:
        for i, group in enumerate(optimizer.param_groups):
            if "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler")
    self.base_lrs = [g["initial_lr"] for g in optimizer.param_groups]
    self.last_epoch = last_epoch
    watch(optimizer)
    self._initial_step()

def _update_lr(self) -> None:
    self.last_epoch += 1
    values = self.get_lr()
    for group, lr in zip(self.optimizer.param_groups, values, strict=True):
        group["lr"] = lr
    self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

def get_lr(self) -> Rates:
    if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
        return self._scaled(1)
    return self._scaled(self.gamma)


# %% answer="schedule_base" wrong="no strict"
def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
    watch(optimizer)
    self.optimizer = optimizer
    if last_epoch == -1:
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
    else:
        for i, group in enumerate(optimizer.param_groups):
            if "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler")
    self.base_lrs = [g["initial_lr"] for g in optimizer.param_groups]
    self.last_epoch = last_epoch
    self._initial_step()

def _update_lr(self) -> None:
    self.last_epoch += 1
    values = self.get_lr()
    for group, lr in zip(self.optimizer.param_groups, values):
        group["lr"] = lr
    self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

def get_lr(self) -> Rates:
    if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
        return self._scaled(1)
    return self._scaled(self.gamma)


# %% answer="schedule_cosine" right="as first written, from the task alone"
def _next(self, rate: float, base: float) -> float:
    t, T, low = self.last_epoch, self.T_max, self.eta_min
    if t == 0:
        return base
    def closed(u):
        return low + (base - low) * (1 + math.cos(math.pi * u / T)) / 2
    if (t - 1) % (2 * T) == T:
        return rate + closed(t) - low
    ratio = (1 + math.cos(math.pi * t / T)) / (1 + math.cos(math.pi * (t - 1) / T))
    return low + (rate - low) * ratio

def _begin(self, scheduler: LRScheduler) -> None:
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% answer="schedule_cosine" right="no case for t == 0"
def _next(self, rate: float, base: float) -> float:
    t, T, low = self.last_epoch, self.T_max, self.eta_min
    def closed(u):
        return low + (base - low) * (1 + math.cos(math.pi * u / T)) / 2
    if (t - 1) % (2 * T) == T:
        return rate + closed(t) - low
    ratio = (1 + math.cos(math.pi * t / T)) / (1 + math.cos(math.pi * (t - 1) / T))
    return low + (rate - low) * ratio

def _begin(self, scheduler: LRScheduler) -> None:
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% answer="schedule_cosine" wrong="closed form"
def _next(self, rate: float, base: float) -> float:
    t, T, low = self.last_epoch, self.T_max, self.eta_min
    if t == 0:
        return base
    def closed(u):
        return low + (base - low) * (1 + math.cos(math.pi * u / T)) / 2
    return closed(t)
    if (t - 1) % (2 * T) == T:
        return rate + closed(t) - low
    ratio = (1 + math.cos(math.pi * t / T)) / (1 + math.cos(math.pi * (t - 1) / T))
    return low + (rate - low) * ratio

def _begin(self, scheduler: LRScheduler) -> None:
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% answer="schedule_cosine" wrong="guard first bottom only"
def _next(self, rate: float, base: float) -> float:
    t, T, low = self.last_epoch, self.T_max, self.eta_min
    if t == 0:
        return base
    def closed(u):
        return low + (base - low) * (1 + math.cos(math.pi * u / T)) / 2
    if t - 1 == T:
        return rate + closed(t) - low
    ratio = (1 + math.cos(math.pi * t / T)) / (1 + math.cos(math.pi * (t - 1) / T))
    return low + (rate - low) * ratio

def _begin(self, scheduler: LRScheduler) -> None:
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% answer="schedule_cosine" wrong="bottom: closed(t) alone"
def _next(self, rate: float, base: float) -> float:
    t, T, low = self.last_epoch, self.T_max, self.eta_min
    if t == 0:
        return base
    def closed(u):
        return low + (base - low) * (1 + math.cos(math.pi * u / T)) / 2
    if (t - 1) % (2 * T) == T:
        return closed(t)
    ratio = (1 + math.cos(math.pi * t / T)) / (1 + math.cos(math.pi * (t - 1) / T))
    return low + (rate - low) * ratio

def _begin(self, scheduler: LRScheduler) -> None:
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% answer="schedule_cosine" wrong="begin no reset"
def _next(self, rate: float, base: float) -> float:
    t, T, low = self.last_epoch, self.T_max, self.eta_min
    if t == 0:
        return base
    def closed(u):
        return low + (base - low) * (1 + math.cos(math.pi * u / T)) / 2
    if (t - 1) % (2 * T) == T:
        return rate + closed(t) - low
    ratio = (1 + math.cos(math.pi * t / T)) / (1 + math.cos(math.pi * (t - 1) / T))
    return low + (rate - low) * ratio

def _begin(self, scheduler: LRScheduler) -> None:
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% answer="schedule_cosine" wrong="guard t % T == 1"
def _next(self, rate: float, base: float) -> float:
    t, T, low = self.last_epoch, self.T_max, self.eta_min
    if t == 0:
        return base
    def closed(u):
        return low + (base - low) * (1 + math.cos(math.pi * u / T)) / 2
    if t > T and t % T == 1:
        return rate + closed(t) - low
    ratio = (1 + math.cos(math.pi * t / T)) / (1 + math.cos(math.pi * (t - 1) / T))
    return low + (rate - low) * ratio

def _begin(self, scheduler: LRScheduler) -> None:
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% answer="schedule_plateau" right="as first written, from the task alone"
def _is_better(self, a: float, best: float) -> bool:
    if self.threshold_mode == "rel":
        limit = best * (1 - self.threshold) if self.mode == "min" else best * (1 + self.threshold)
    else:
        limit = best - self.threshold if self.mode == "min" else best + self.threshold
    return a < limit if self.mode == "min" else a > limit

def step(self, metrics: Any) -> None:
    value = float(metrics)
    self.last_epoch += 1
    if self._is_better(value, self.best):
        self.best, self.num_bad_epochs = value, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        for group, low in zip(self.optimizer.param_groups, self.min_lrs):
            new = max(group["lr"] * self.factor, low)
            if group["lr"] - new > self.eps:
                group["lr"] = new
        self.num_bad_epochs = 0
        self.cooldown_counter = self.cooldown
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" right="best kept a tensor"
def _is_better(self, a: float, best: float) -> bool:
    if self.threshold_mode == "rel":
        limit = best * (1 - self.threshold) if self.mode == "min" else best * (1 + self.threshold)
    else:
        limit = best - self.threshold if self.mode == "min" else best + self.threshold
    return a < limit if self.mode == "min" else a > limit

def step(self, metrics: Any) -> None:
    value = metrics
    self.last_epoch += 1
    if self._is_better(value, self.best):
        self.best, self.num_bad_epochs = value, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        for group, low in zip(self.optimizer.param_groups, self.min_lrs):
            new = max(group["lr"] * self.factor, low)
            if group["lr"] - new > self.eps:
                group["lr"] = new
        self.num_bad_epochs = 0
        self.cooldown_counter = self.cooldown
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" wrong=">= patience"
def _is_better(self, a: float, best: float) -> bool:
    if self.threshold_mode == "rel":
        limit = best * (1 - self.threshold) if self.mode == "min" else best * (1 + self.threshold)
    else:
        limit = best - self.threshold if self.mode == "min" else best + self.threshold
    return a < limit if self.mode == "min" else a > limit

def step(self, metrics: Any) -> None:
    value = float(metrics)
    self.last_epoch += 1
    if self._is_better(value, self.best):
        self.best, self.num_bad_epochs = value, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs >= self.patience:
        for group, low in zip(self.optimizer.param_groups, self.min_lrs):
            new = max(group["lr"] * self.factor, low)
            if group["lr"] - new > self.eps:
                group["lr"] = new
        self.num_bad_epochs = 0
        self.cooldown_counter = self.cooldown
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" wrong="no eps"
def _is_better(self, a: float, best: float) -> bool:
    if self.threshold_mode == "rel":
        limit = best * (1 - self.threshold) if self.mode == "min" else best * (1 + self.threshold)
    else:
        limit = best - self.threshold if self.mode == "min" else best + self.threshold
    return a < limit if self.mode == "min" else a > limit

def step(self, metrics: Any) -> None:
    value = float(metrics)
    self.last_epoch += 1
    if self._is_better(value, self.best):
        self.best, self.num_bad_epochs = value, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        for group, low in zip(self.optimizer.param_groups, self.min_lrs):
            new = max(group["lr"] * self.factor, low)
            if group["lr"] > new:
                group["lr"] = new
        self.num_bad_epochs = 0
        self.cooldown_counter = self.cooldown
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" wrong="abs(best) in rel"
def _is_better(self, a: float, best: float) -> bool:
    if self.threshold_mode == "rel":
        limit = best - abs(best) * self.threshold if self.mode == "min" else best * (1 + self.threshold)
    else:
        limit = best - self.threshold if self.mode == "min" else best + self.threshold
    return a < limit if self.mode == "min" else a > limit

def step(self, metrics: Any) -> None:
    value = float(metrics)
    self.last_epoch += 1
    if self._is_better(value, self.best):
        self.best, self.num_bad_epochs = value, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        for group, low in zip(self.optimizer.param_groups, self.min_lrs):
            new = max(group["lr"] * self.factor, low)
            if group["lr"] - new > self.eps:
                group["lr"] = new
        self.num_bad_epochs = 0
        self.cooldown_counter = self.cooldown
    self._last_lr = self._scaled(1)


# %% answer="schedule_average" right="state_dict based (float only)"
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.t, self.avg, self.buf = decay, 0, {}, {}
    @torch.no_grad()
    def update(self, model):
        self.t += 1
        for n, p in model.named_parameters():
            self.avg[n] = self.decay * self.avg.get(n, 0) + (1 - self.decay) * p
        self.buf = {n: b.clone() for n, b in model.named_buffers()}
    @contextmanager
    def swapped_in(self, model):
        own = copy.deepcopy(model.state_dict())
        model.load_state_dict({n: a / (1 - self.decay**self.t) for n, a in self.avg.items()} | self.buf)
        try:
            yield model
        finally:
            model.load_state_dict(own)


# %% answer="schedule_average" wrong="no correction"
class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.t = decay, 0
        self.avg = [torch.zeros_like(p) for p in model.parameters()]
        self.buffers = [b.clone() for b in model.buffers()]

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.t += 1
        for a, p in zip(self.avg, model.parameters()):
            a.mul_(self.decay).add_(p, alpha=1 - self.decay)
        self.buffers = [b.clone() for b in model.buffers()]

    @contextmanager
    def swapped_in(self, model: nn.Module):
        params, buffers = list(model.parameters()), list(model.buffers())
        old = [x.detach().clone() for x in params + buffers]
        new = [a for a in self.avg] + self.buffers
        with torch.no_grad():
            for x, v in zip(params + buffers, new):
                x.copy_(v)
        try:
            yield
        finally:
            with torch.no_grad():
                for x, v in zip(params + buffers, old):
                    x.copy_(v)


# %% answer="schedule_average" wrong="no finally"
class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.t = decay, 0
        self.avg = [torch.zeros_like(p) for p in model.parameters()]
        self.buffers = [b.clone() for b in model.buffers()]

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.t += 1
        for a, p in zip(self.avg, model.parameters()):
            a.mul_(self.decay).add_(p, alpha=1 - self.decay)
        self.buffers = [b.clone() for b in model.buffers()]

    @contextmanager
    def swapped_in(self, model: nn.Module):
        params, buffers = list(model.parameters()), list(model.buffers())
        old = [x.detach().clone() for x in params + buffers]
        new = [a / (1 - self.decay ** self.t) for a in self.avg] + self.buffers
        with torch.no_grad():
            for x, v in zip(params + buffers, new):
                x.copy_(v)
        yield
        with torch.no_grad():
            for x, v in zip(params + buffers, old):
                x.copy_(v)


# %% answer="schedule_average" wrong="correct avg in place"
class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.t = decay, 0
        self.avg = [torch.zeros_like(p) for p in model.parameters()]
        self.buffers = [b.clone() for b in model.buffers()]

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.t += 1
        for a, p in zip(self.avg, model.parameters()):
            a.mul_(self.decay).add_(p, alpha=1 - self.decay)
        self.buffers = [b.clone() for b in model.buffers()]

    @contextmanager
    def swapped_in(self, model: nn.Module):
        params, buffers = list(model.parameters()), list(model.buffers())
        old = [x.detach().clone() for x in params + buffers]
        for a in self.avg: a.div_(1 - self.decay ** self.t)
        new = self.avg + self.buffers
        with torch.no_grad():
            for x, v in zip(params + buffers, new):
                x.copy_(v)
        try:
            yield
        finally:
            with torch.no_grad():
                for x, v in zip(params + buffers, old):
                    x.copy_(v)


# %% answer="schedule_average" wrong="starts with weights"
class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.t = decay, 0
        self.avg = [p.detach().clone() for p in model.parameters()]
        self.buffers = [b.clone() for b in model.buffers()]

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.t += 1
        for a, p in zip(self.avg, model.parameters()):
            a.mul_(self.decay).add_(p, alpha=1 - self.decay)
        self.buffers = [b.clone() for b in model.buffers()]

    @contextmanager
    def swapped_in(self, model: nn.Module):
        params, buffers = list(model.parameters()), list(model.buffers())
        old = [x.detach().clone() for x in params + buffers]
        new = [a / (1 - self.decay ** self.t) for a in self.avg] + self.buffers
        with torch.no_grad():
            for x, v in zip(params + buffers, new):
                x.copy_(v)
        try:
            yield
        finally:
            with torch.no_grad():
                for x, v in zip(params + buffers, old):
                    x.copy_(v)


# %% answer="schedule_repair_resume" right="load optimizer twice"
def save(model: nn.Module, optimizer: torch.optim.Optimizer, scheduler) -> dict:
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}


def resume(checkpoint: dict, make_model, make_optimizer, make_scheduler) -> tuple:
    checkpoint = copy.deepcopy(checkpoint)
    model = make_model()
    model.load_state_dict(checkpoint["model"])
    optimizer = make_optimizer(model.parameters())
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler = make_scheduler(optimizer)
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    return model, optimizer, scheduler


# %% answer="schedule_repair_resume" wrong="no deepcopy in save"
def save(model: nn.Module, optimizer: torch.optim.Optimizer, scheduler) -> dict:
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    return {name: part.state_dict() for name, part in parts.items()}


def resume(checkpoint: dict, make_model, make_optimizer, make_scheduler) -> tuple:
    checkpoint = copy.deepcopy(checkpoint)
    model = make_model()
    model.load_state_dict(checkpoint["model"])
    optimizer = make_optimizer(model.parameters())
    scheduler = make_scheduler(optimizer)
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    return model, optimizer, scheduler


# %% answer="schedule_measure_limit" right="as first written, from the task alone"
def largest_stable_rate(train) -> float:
    def stable(lr):
        losses = train(lr)
        return losses[-1] <= losses[0]
    low, high = 2.0**-12, 2.0**6
    while high / low > 1.002:
        mid = math.sqrt(low * high)
        if stable(mid):
            low = mid
        else:
            high = mid
    return low


# %% answer="schedule_measure_limit" wrong="steps of 1 % from below: more than a hundred calls"
def largest_stable_rate(train):
    lr = 2.0**-12
    while (l := train(lr * 1.01))[-1] <= l[0]: lr *= 1.01
    return lr


# %% answer="schedule_measure_limit" wrong="> treats nan as stable"
def largest_stable_rate(train) -> float:
    def stable(lr):
        losses = train(lr)
        return not losses[-1] > losses[0]
    low, high = 2.0**-12, 2.0**6
    while high / low > 1.002:
        mid = math.sqrt(low * high)
        if stable(mid):
            low = mid
        else:
            high = mid
    return low


# %% answer="schedule_measure_limit" wrong="strict <"
def largest_stable_rate(train) -> float:
    def stable(lr):
        losses = train(lr)
        return losses[-1] < losses[0]
    low, high = 2.0**-12, 2.0**6
    while high / low > 1.002:
        mid = math.sqrt(low * high)
        if stable(mid):
            low = mid
        else:
            high = mid
    return low


# %% answer="schedule_measure_limit" wrong="max loss"
def largest_stable_rate(train) -> float:
    def stable(lr):
        losses = train(lr)
        return max(losses) <= losses[0]
    low, high = 2.0**-12, 2.0**6
    while high / low > 1.002:
        mid = math.sqrt(low * high)
        if stable(mid):
            low = mid
        else:
            high = mid
    return low
