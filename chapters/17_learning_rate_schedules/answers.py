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


# %% answer="schedule_average" wrong="the buffers hold the copies, but load_state_dict refuses one that isn't persistent"
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


# %% answer="schedule_base" wrong="the rates of the epoch before: get_lr is called first" spoils="_update_lr"
def _update_lr(self):
    self._last_lr = self.get_lr()
    self.last_epoch += 1
    for group, rate in zip(self.optimizer.param_groups, self._last_lr, strict=True):
        group["lr"] = rate


# %% answer="schedule_base" wrong="the closed form, which overwrites a rate that was set by hand" spoils="get_lr"
def get_lr(self):
    return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


# %% answer="schedule_base" wrong="lowers the rate in epoch 0 as well" spoils="get_lr"
def get_lr(self):
    return self._scaled(self.gamma if self.last_epoch % self.step_size == 0 else 1)


# %% answer="schedule_base" wrong="the base rates are the current ones" spoils="__init__"
def __init__(self, optimizer, last_epoch=-1):
    watch(optimizer)
    for number, group in enumerate(optimizer.param_groups):
        if last_epoch == -1:
            group.setdefault("initial_lr", group["lr"])
        elif "initial_lr" not in group:
            raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler")
    self.optimizer, self.last_epoch = optimizer, last_epoch
    self.base_lrs = [group["lr"] for group in optimizer.param_groups]
    self._initial_step()


# %% answer="schedule_base" right="loops over indices"
def _update_lr(self):
    self.last_epoch = self.last_epoch + 1
    rates = list(self.get_lr())
    self._last_lr = rates
    groups = self.optimizer.param_groups
    for _ in zip(groups, rates, strict=True):
        pass
    for number in range(len(groups)):
        groups[number]["lr"] = rates[number]


# %% answer="schedule_cosine" wrong="the quotient is that of the rates, not of the distances from eta_min" spoils="_next"
def _next(self, rate, base):
    if (self.last_epoch - 1) % (2 * self.T_max) == self.T_max:
        return rate + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
    now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
    return now / before * rate


# %% answer="schedule_cosine" wrong="starts again at the top after T_max" spoils="_next"
def _next(self, rate, base):
    t = self.last_epoch % self.T_max
    if t == 0:
        return base
    now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (t, t - 1))
    return now / before * (rate - self.eta_min) + self.eta_min


# %% answer="schedule_cosine" wrong="the scheduler that begins keeps its epoch" spoils="_begin"
def _begin(self, scheduler):
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler._initial_step()
    self._last_lr = scheduler.get_last_lr()


# %% answer="schedule_cosine" wrong="the last rates stay those of the scheduler before" spoils="_begin"
def _begin(self, scheduler):
    for group in self.optimizer.param_groups:
        group["lr"] = group["initial_lr"]
    scheduler.last_epoch = -1
    scheduler._initial_step()
    self._last_lr = getattr(self, "_last_lr", scheduler.get_last_lr())


# %% answer="schedule_plateau" wrong="a good epoch in the cooldown isn't noticed" spoils="step"
def step(self, metrics):
    self.last_epoch += 1
    current = float(metrics)
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    elif self._is_better(current, self.best):
        self.best, self.num_bad_epochs = current, 0
    else:
        self.num_bad_epochs += 1
    if self.num_bad_epochs > self.patience:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs):
            reduced = max(group["lr"] * self.factor, lowest)
            if group["lr"] - reduced > self.eps:
                group["lr"] = reduced
        self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" wrong="eps is compared with the new rate" spoils="step"
def step(self, metrics):
    self.last_epoch += 1
    current = float(metrics)
    if self._is_better(current, self.best):
        self.best, self.num_bad_epochs = current, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs):
            reduced = max(group["lr"] * self.factor, lowest)
            if reduced > self.eps:
                group["lr"] = reduced
        self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" wrong="the best metric is a tensor's history: bad epochs replace it" spoils="step"
def step(self, metrics):
    self.last_epoch += 1
    current = float(metrics)
    self.num_bad_epochs = 0 if self._is_better(current, self.best) else self.num_bad_epochs + 1
    self.best = current
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs):
            reduced = max(group["lr"] * self.factor, lowest)
            if group["lr"] - reduced > self.eps:
                group["lr"] = reduced
        self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
    self._last_lr = self._scaled(1)


# %% answer="schedule_average" wrong="the buffers are averaged, too"
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each, dtype=torch.float32) for each in model.state_dict().values()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, value in zip(self.averages, model.state_dict().values()):
            average.mul_(self.decay).add_((1 - self.decay) * value)

    @contextmanager
    def swapped_in(self, model):
        held = list(model.state_dict().values())
        own = [each.clone() for each in held]
        with torch.no_grad():
            for each, average in zip(held, self.averages):
                each.copy_(average / (1 - self.decay**self.updates))
        try:
            yield
        finally:
            with torch.no_grad():
                for each, value in zip(held, own):
                    each.copy_(value)


# %% answer="schedule_average" wrong="replaces the parameters' data"
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, parameter in zip(self.averages, model.parameters()):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        self.buffers = [each.clone() for each in model.buffers()]

    @contextmanager
    def swapped_in(self, model):
        own = [each.data for each in (*model.parameters(), *model.buffers())]
        correction = 1 - self.decay**self.updates
        new = [*(each / correction for each in self.averages), *(each.clone() for each in self.buffers)]
        for each, value in zip((*model.parameters(), *model.buffers()), new):
            each.data = value
        try:
            yield
        finally:
            for each, value in zip((*model.parameters(), *model.buffers()), own):
                each.data = value


# %% answer="schedule_average" wrong="the model's own buffers stay inside"
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, parameter in zip(self.averages, model.parameters()):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)

    @contextmanager
    def swapped_in(self, model):
        own = [each.detach().clone() for each in model.parameters()]
        with torch.no_grad():
            for each, average in zip(model.parameters(), self.averages):
                each.copy_(average / (1 - self.decay**self.updates))
        try:
            yield
        finally:
            with torch.no_grad():
                for each, value in zip(model.parameters(), own):
                    each.copy_(value)


# %% answer="schedule_repair_resume" wrong="the optimizer's state is loaded before the scheduler is made"
def save(model, optimizer, scheduler):
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}


def resume(checkpoint, make_model, make_optimizer, make_scheduler):
    checkpoint = copy.deepcopy(checkpoint)
    model = make_model()
    model.load_state_dict(checkpoint["model"])
    optimizer = make_optimizer(model.parameters())
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler = make_scheduler(optimizer)
    scheduler.load_state_dict(checkpoint["scheduler"])
    return model, optimizer, scheduler


# %% answer="schedule_repair_resume" wrong="the scheduler is stepped to the saved epoch"
def save(model, optimizer, scheduler):
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}


def resume(checkpoint, make_model, make_optimizer, make_scheduler):
    checkpoint = copy.deepcopy(checkpoint)
    model = make_model()
    model.load_state_dict(checkpoint["model"])
    optimizer = make_optimizer(model.parameters())
    scheduler = make_scheduler(optimizer)
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.last_epoch = checkpoint["scheduler"]["last_epoch"]
    return model, optimizer, scheduler


# %% answer="schedule_repair_resume" wrong="resuming works on the checkpoint's own tensors"
def save(model, optimizer, scheduler):
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    return {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}


def resume(checkpoint, make_model, make_optimizer, make_scheduler):
    model = make_model()
    optimizer = make_optimizer(model.parameters())
    scheduler = make_scheduler(optimizer)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    return model, optimizer, scheduler


# %% answer="schedule_measure_limit" wrong="powers of two"
def largest_stable_rate(train):
    lr = 2.0**-12
    while lr < 2**6:
        losses = train(2 * lr)
        if not losses[-1] <= losses[0]:
            return lr
        lr *= 2
    return lr


# %% answer="schedule_measure_limit" wrong="halves the interval, not the ratio, and stops at a width of 0.01"
def largest_stable_rate(train):
    low, high = 2.0**-12, 2.0**6
    while high - low > 0.01:
        middle = (low + high) / 2
        losses = train(middle)
        if losses[-1] <= losses[0]:
            low = middle
        else:
            high = middle
    return low


# %% answer="schedule_measure_limit" wrong="tries rates up to 6"
def largest_stable_rate(train):
    low, high = 2.0**-12, 6.0
    for _ in range(30):
        middle = (low * high) ** 0.5
        losses = train(middle)
        low, high = (middle, high) if losses[-1] <= losses[0] else (low, middle)
    return low


# %% answer="schedule_average" wrong="averages the constructor's model, whichever it gets"
class ExponentialAverage:
    def __init__(self, model, decay):
        self.model, self.decay, self.updates = model, decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]
        self.buffers = [each.clone() for each in model.buffers()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, parameter in zip(self.averages, self.model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        self.buffers = [each.clone() for each in self.model.buffers()]

    @contextmanager
    def swapped_in(self, model):
        held = [*self.model.parameters(), *self.model.buffers()]
        own = [each.detach().clone() for each in held]
        correction = 1 - self.decay**self.updates
        with torch.no_grad():
            for each, value in zip(held, [*(a / correction for a in self.averages), *self.buffers], strict=True):
                each.copy_(value)
        try:
            yield
        finally:
            with torch.no_grad():
                for each, value in zip(held, own, strict=True):
                    each.copy_(value)


# %% answer="schedule_average" wrong="the block runs without recording"
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.count = decay, 0
        self.mean = [torch.zeros_like(p) for p in model.parameters()]
        self.buffers = []
    @torch.no_grad()
    def update(self, model):
        self.count += 1
        for a, p in zip(self.mean, model.parameters()):
            a.mul_(self.decay).add_(p, alpha=1 - self.decay)
        self.buffers = [b.clone() for b in model.buffers()]
    @contextmanager
    def swapped_in(self, model):
        with torch.no_grad():
            old = [t.clone() for t in [*model.parameters(), *model.buffers()]]
            new = [a / (1 - self.decay**self.count) for a in self.mean] + self.buffers
            for t, v in zip([*model.parameters(), *model.buffers()], new):
                t.copy_(v)
            try:
                yield
            finally:
                for t, v in zip([*model.parameters(), *model.buffers()], old):
                    t.copy_(v)


# %% answer="schedule_average" wrong="only parameters that require grad"
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.count = decay, 0
        self.mean = [torch.zeros_like(p) for p in model.parameters() if p.requires_grad]
        self.buffers = []
    @torch.no_grad()
    def update(self, model):
        self.count += 1
        for a, p in zip(self.mean, (p for p in model.parameters() if p.requires_grad)):
            a.mul_(self.decay).add_(p, alpha=1 - self.decay)
        self.buffers = [b.clone() for b in model.buffers()]
    @contextmanager
    def swapped_in(self, model):
        mine = [*(p for p in model.parameters() if p.requires_grad), *model.buffers()]
        with torch.no_grad():
            old = [t.clone() for t in mine]
            new = [a / (1 - self.decay**self.count) for a in self.mean] + self.buffers
            for t, v in zip(mine, new):
                t.copy_(v)
        try:
            yield
        finally:
            with torch.no_grad():
                for t, v in zip(mine, old):
                    t.copy_(v)


# %% answer="schedule_average" wrong="one saved state on self, so blocks don't nest"
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.count = decay, 0
        self.mean = [torch.zeros_like(p) for p in model.parameters()]
        self.buffers = []
    @torch.no_grad()
    def update(self, model):
        self.count += 1
        for a, p in zip(self.mean, model.parameters()):
            a.mul_(self.decay).add_(p, alpha=1 - self.decay)
        self.buffers = [b.clone() for b in model.buffers()]
    @contextmanager
    def swapped_in(self, model):
        with torch.no_grad():
            self.old = [t.clone() for t in [*model.parameters(), *model.buffers()]]
            new = [a / (1 - self.decay**self.count) for a in self.mean] + self.buffers
            for t, v in zip([*model.parameters(), *model.buffers()], new):
                t.copy_(v)
        try:
            yield
        finally:
            with torch.no_grad():
                for t, v in zip([*model.parameters(), *model.buffers()], self.old):
                    t.copy_(v)


# %% answer="schedule_average" wrong="copies the buffers of the model that the constructor got"
class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]
        self.of = list(model.buffers())
        self.buffers = [each.clone() for each in self.of]

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        for average, each in zip(self.averages, model.parameters()):
            average.mul_(self.decay).add_(each * (1 - self.decay))
        self.buffers = [each.clone() for each in self.of]

    @contextmanager
    def swapped_in(self, model: nn.Module):
        held = [*model.parameters(), *model.buffers()]
        own = [each.detach().clone() for each in held]
        corrected = [each / (1 - self.decay**self.updates) for each in self.averages]
        with torch.no_grad():
            for each, value in zip(held, corrected + self.buffers):
                each.copy_(value)
        try:
            yield
        finally:
            with torch.no_grad():
                for each, value in zip(held, own):
                    each.copy_(value)


# %% answer="schedule_average" wrong="averages in the default dtype, not in that of the parameters"
class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros(each.shape) for each in model.parameters()]
        self.buffers = [each.clone() for each in model.buffers()]

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        for average, each in zip(self.averages, model.parameters()):
            average.mul_(self.decay).add_(each * (1 - self.decay))
        self.buffers = [each.clone() for each in model.buffers()]

    @contextmanager
    def swapped_in(self, model: nn.Module):
        held = [*model.parameters(), *model.buffers()]
        own = [each.detach().clone() for each in held]
        corrected = [each / (1 - self.decay**self.updates) for each in self.averages]
        with torch.no_grad():
            for each, value in zip(held, corrected + self.buffers):
                each.copy_(value)
        try:
            yield
        finally:
            with torch.no_grad():
                for each, value in zip(held, own):
                    each.copy_(value)


# %% answer="schedule_average" right="keeps what the average lacks of 1, and the values by name"
class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.missing = decay, 1.0
        self.averages = {name: each.detach() * 0 for name, each in model.named_parameters()}
        self.copies = {}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.missing *= self.decay
        for name, each in model.named_parameters():
            self.averages[name] = self.averages[name] + (1 - self.decay) * (each - self.averages[name])
        self.copies = {name: each.clone() for name, each in model.named_buffers()}

    @contextmanager
    def swapped_in(self, model: nn.Module):
        places = dict(model.named_parameters()) | dict(model.named_buffers())
        before = copy.deepcopy({name: each.detach() for name, each in places.items()})
        values = {name: each / (1 - self.missing) for name, each in self.averages.items()} | self.copies

        def write(values):
            with torch.no_grad():
                for name, each in places.items():
                    each.copy_(values[name])

        write(values)
        try:
            yield
        finally:
            write(before)


# %% answer="schedule_plateau" wrong="only a tensor has `item` ('a number or a 0-d tensor')" spoils="step"
def step(self, metrics: Any) -> None:
    current = metrics.item()
    self.last_epoch += 1
    if self._is_better(current, self.best):
        self.best, self.num_bad_epochs = current, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs):
            rate = max(group["lr"] * self.factor, lowest)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate
        self.num_bad_epochs, self.cooldown_counter = 0, self.cooldown
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" wrong="the first metric always becomes the best, even if it is nan ('a metric that is nan improves on nothing')" spoils="step"
def step(self, metrics: Any) -> None:
    current = float(metrics)
    self.last_epoch += 1
    if self.last_epoch == 1 or self._is_better(current, self.best):
        self.best, self.num_bad_epochs = current, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs):
            rate = max(group["lr"] * self.factor, lowest)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate
        self.num_bad_epochs, self.cooldown_counter = 0, self.cooldown
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" wrong="`step` compares without the threshold ('better than self.best' is what `_is_better` says)" spoils="step"
def step(self, metrics: Any) -> None:
    current = float(metrics)
    self.last_epoch += 1
    if current < self.best if self.mode == "min" else current > self.best:
        self.best, self.num_bad_epochs = current, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs):
            rate = max(group["lr"] * self.factor, lowest)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate
        self.num_bad_epochs, self.cooldown_counter = 0, self.cooldown
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" wrong="a rate below its entry in min_lrs is raised to it, because the change is taken by its absolute value (the scheduler 'lowers the rates')" spoils="step"
def step(self, metrics: Any) -> None:
    current = float(metrics)
    self.last_epoch += 1
    if self._is_better(current, self.best):
        self.best, self.num_bad_epochs = current, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs):
            rate = max(group["lr"] * self.factor, lowest)
            if abs(group["lr"] - rate) > self.eps:
                group["lr"] = rate
        self.num_bad_epochs, self.cooldown_counter = 0, self.cooldown
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" right="the margin by arithmetic on a sign"
def _is_better(self, a: float, best: float) -> bool:
    sign = 1 if self.mode == "max" else -1
    limit = best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
    return sign * a > sign * limit


def step(self, metrics: Any) -> None:
    self.last_epoch = self.last_epoch + 1
    metric = float(metrics)
    better = self._is_better(metric, self.best)
    if better:
        self.best = metric
    cooling = self.cooldown_counter > 0
    self.cooldown_counter -= cooling
    self.num_bad_epochs = 0 if better or cooling else self.num_bad_epochs + 1
    if self.num_bad_epochs > self.patience:
        self.num_bad_epochs, self.cooldown_counter = 0, self.cooldown
        for number, group in enumerate(self.optimizer.param_groups):
            old, new = group["lr"], max(self.factor * group["lr"], self.min_lrs[number])
            group["lr"] = new if old - new > self.eps else old
    self._last_lr = self._scaled(1)


# %% answer="schedule_plateau" right="a table of comparisons"
def _is_better(self, a: float, best: float) -> bool:
    return {
        ("min", "rel"): lambda: a < best * (1.0 - self.threshold),
        ("min", "abs"): lambda: a < best - self.threshold,
        ("max", "rel"): lambda: a > best * (1.0 + self.threshold),
        ("max", "abs"): lambda: a > best + self.threshold,
    }[self.mode, self.threshold_mode]()


# %% answer="schedule_average" wrong="the buffers hold the copies, but only those that are in the state dict"
class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.updates = decay, 0
        self.means = {name: torch.zeros_like(each) for name, each in model.named_parameters()}
        self.kept = self.buffers(model)

    def buffers(self, model):
        return {name: each.clone() for name, each in model.state_dict().items() if name not in self.means}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        for name, each in model.named_parameters():
            self.means[name].mul_(self.decay).add_((1 - self.decay) * each)
        self.kept = self.buffers(model)

    @contextmanager
    def swapped_in(self, model: nn.Module):
        own = {name: each.clone() for name, each in model.state_dict().items()}
        correction = 1 - self.decay**self.updates
        model.load_state_dict({**{name: mean / correction for name, mean in self.means.items()}, **self.kept})
        try:
            yield
        finally:
            model.load_state_dict(own)


# %% answer="schedule_average" wrong="the model has its own buffers again, but only those that are in the state dict"
class ExponentialAverage:
    def __init__(self, model: nn.Module, decay: float) -> None:
        self.shadow, self.decay, self.remaining = copy.deepcopy(model), decay, 1.0
        with torch.no_grad():
            for each in self.shadow.parameters():
                each.zero_()

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.remaining *= self.decay
        for mean, each in zip(self.shadow.parameters(), model.parameters(), strict=True):
            mean.mul_(self.decay)
            mean += (1 - self.decay) * each
        for kept, each in zip(self.shadow.buffers(), model.buffers(), strict=True):
            kept.copy_(each)

    @contextmanager
    def swapped_in(self, model: nn.Module):
        before = {name: each.clone() for name, each in model.state_dict().items()}
        with torch.no_grad():
            for each, mean in zip(model.parameters(), self.shadow.parameters(), strict=True):
                each.copy_(mean / (1 - self.remaining))
            for each, kept in zip(model.buffers(), self.shadow.buffers(), strict=True):
                each.copy_(kept)
        try:
            yield model
        finally:
            model.load_state_dict(before)


# %% answer="schedule_base" wrong="an initial rate of 0 counts as missing"
def __init__(self, optimizer, last_epoch=-1):
    watch(optimizer)
    for number, group in enumerate(optimizer.param_groups):
        if last_epoch == -1:
            group["initial_lr"] = group.get("initial_lr") or group["lr"]
        elif not group.get("initial_lr"):
            raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler")
    self.optimizer = optimizer
    self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
    self.last_epoch = last_epoch
    self._initial_step()


# %% answer="schedule_base" wrong="counts its own calls, so a resumed schedule is late"
def get_lr(self):
    self._calls = getattr(self, "_calls", -1) + 1
    return self._scaled(self.gamma if self._calls and self._calls % self.step_size == 0 else 1)


# %% answer="schedule_base" right="gamma to the power of a boolean"
def get_lr(self):
    due = self.last_epoch > 0 and not self.last_epoch % self.step_size
    return self._scaled(self.gamma**due)


# %% answer="schedule_cosine" right="the position in the period"
def _next(self, rate, base):
    position = self.last_epoch % (2 * self.T_max)
    if position == self.T_max + 1 or (self.T_max == 1 and position == 0):
        return rate + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
    now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (position, position - 1))
    return now / before * (rate - self.eta_min) + self.eta_min


# %% answer="schedule_cosine" wrong="never below eta_min"
def _next(self, rate, base):
    if (self.last_epoch - 1) % (2 * self.T_max) == self.T_max:
        return rate + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
    now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
    return max(now / before * (rate - self.eta_min) + self.eta_min, self.eta_min)


# %% answer="schedule_plateau" wrong="a margin of absolute size if the best metric is 0"
def _is_better(self, a, best):
    sign = 1 if self.mode == "min" else -1
    relative = self.threshold_mode == "rel" and best != 0
    limit = best * (1 - sign * self.threshold) if relative else best - sign * self.threshold
    return sign * a < sign * limit


# %% answer="schedule_plateau" wrong="a cooldown only after a rate was lowered"
def step(self, metrics):
    self.last_epoch += 1
    current = float(metrics)
    if self._is_better(current, self.best):
        self.best, self.num_bad_epochs = current, 0
    else:
        self.num_bad_epochs += 1
    if self.cooldown_counter > 0:
        self.cooldown_counter -= 1
        self.num_bad_epochs = 0
    if self.num_bad_epochs > self.patience:
        lowered = False
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            reduced = max(group["lr"] * self.factor, lowest)
            if group["lr"] - reduced > self.eps:
                group["lr"], lowered = reduced, True
        self.num_bad_epochs = 0
        if lowered:
            self.cooldown_counter = self.cooldown
    self._last_lr = self._scaled(1)


# %% answer="schedule_average" wrong="switches the model to evaluation inside, and to training afterwards"
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]
        self.buffers = [each.clone() for each in model.buffers()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, parameter in zip(self.averages, model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        for kept, buffer in zip(self.buffers, model.buffers(), strict=True):
            kept.copy_(buffer)

    @contextmanager
    def swapped_in(self, model):
        correction = 1 - self.decay**self.updates
        held = [*model.parameters(), *model.buffers()]
        own = [each.detach().clone() for each in held]
        averaged = [*(average / correction for average in self.averages), *self.buffers]
        grads = [each.grad for each in model.parameters()]
        with torch.no_grad():
            for each, value in zip(held, averaged, strict=True):
                each.copy_(value)
        model.eval()
        try:
            yield
        finally:
            model.train()
            with torch.no_grad():
                for each, value in zip(held, own, strict=True):
                    each.copy_(value)


# %% answer="schedule_average" wrong="clears the gradients"
class ExponentialAverage:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.averages = [torch.zeros_like(each) for each in model.parameters()]
        self.buffers = [each.clone() for each in model.buffers()]

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        for average, parameter in zip(self.averages, model.parameters(), strict=True):
            average.mul_(self.decay).add_((1 - self.decay) * parameter)
        self.buffers = [each.clone() for each in model.buffers()]

    @contextmanager
    def swapped_in(self, model):
        correction = 1 - self.decay**self.updates
        held = [*model.parameters(), *model.buffers()]
        own = [each.detach().clone() for each in held]
        with torch.no_grad():
            for each, value in zip(held, [*(a / correction for a in self.averages), *self.buffers], strict=True):
                each.copy_(value)
        try:
            yield
        finally:
            model.zero_grad()
            with torch.no_grad():
                for each, value in zip(held, own, strict=True):
                    each.copy_(value)


# %% answer="schedule_measure_limit" wrong="a loss that rises in the last step isn't stable"
def largest_stable_rate(train):
    stable, unstable = 2.0**-12, 2.0**6
    while unstable / stable > 1.005:
        middle = math.sqrt(stable * unstable)
        losses = train(middle)
        if losses[-1] <= losses[0] and losses[-1] <= losses[-2]:
            stable = middle
        else:
            unstable = middle
    return stable
