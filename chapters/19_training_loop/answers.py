# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 19` grades them.


# %% answer="training_predict_numbers" right="as first written, from the task alone"
def untrained_loss(classes: int) -> float:
    return math.log(classes)

def parameter_count(sizes: list[int]) -> int:
    return sum(a * b + b for a, b in zip(sizes, sizes[1:]))

def steps_per_epoch(images: int, batch_size: int, drop_last: bool) -> int:
    return images // batch_size if drop_last else math.ceil(images / batch_size)


# %% answer="training_predict_numbers" wrong="no biases"
def untrained_loss(classes: int) -> float:
    return math.log(classes)

def parameter_count(sizes: list[int]) -> int:
    return sum(a * b for a, b in zip(sizes, sizes[1:]))

def steps_per_epoch(images: int, batch_size: int, drop_last: bool) -> int:
    return images // batch_size if drop_last else math.ceil(images / batch_size)


# %% answer="training_predict_numbers" wrong="round"
def untrained_loss(classes: int) -> float:
    return math.log(classes)

def parameter_count(sizes: list[int]) -> int:
    return sum(a * b + b for a, b in zip(sizes, sizes[1:]))

def steps_per_epoch(images: int, batch_size: int, drop_last: bool) -> int:
    return images // batch_size if drop_last else images // batch_size + 1


# %% answer="training_predict_numbers" wrong="drop_last swapped"
def untrained_loss(classes: int) -> float:
    return math.log(classes)

def parameter_count(sizes: list[int]) -> int:
    return sum(a * b + b for a, b in zip(sizes, sizes[1:]))

def steps_per_epoch(images: int, batch_size: int, drop_last: bool) -> int:
    return images // batch_size if not drop_last else math.ceil(images / batch_size)


# %% answer="training_trainer_step" right="zeros for None (set_to_none=False)"
def accumulate(self, batches: Iterable[Any]) -> float:
    self.optimizer.zero_grad(set_to_none=False)
    total, count = 0.0, 0
    for batch in batches:
        loss, n = self.loss(self.model, batch)
        loss.backward()
        total += loss.item()
        count += n
    for p in self.model.parameters():
        if p.grad is not None:
            p.grad /= count
    return total / count


def step(self, batches: Iterable[Any]) -> None:
    self.model.train()
    self.losses.append(self.accumulate(batches))
    clip_grad_norm_(self.model.parameters(), self.max_norm)
    self.optimizer.step()
    self.scheduler.step()


# %% answer="training_trainer_step" wrong="clip inside accumulate"
def accumulate(self, batches: Iterable[Any]) -> float:
    self.optimizer.zero_grad()
    total, count = 0.0, 0
    for batch in batches:
        loss, n = self.loss(self.model, batch)
        loss.backward()
        total += loss.item()
        count += n
    for p in self.model.parameters():
        if p.grad is not None:
            p.grad /= count
    clip_grad_norm_(self.model.parameters(), self.max_norm)
    return total / count


def step(self, batches: Iterable[Any]) -> None:
    self.model.train()
    self.losses.append(self.accumulate(batches))
    clip_grad_norm_(self.model.parameters(), self.max_norm)
    self.optimizer.step()
    self.scheduler.step()


# %% answer="training_trainer_resume" wrong="no copy in state_dict"
def state_dict(self) -> dict[str, Any]:
    return dict({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": get_rng_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    set_rng_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = get_rng_state()
        return iter(self.loader)
    now = get_rng_state()
    set_rng_state(self.began)
    rest = iter(self.loader)
    for _ in range(self.seen):
        next(rest)
    set_rng_state(now)
    return rest


# %% answer="training_trainer_resume" wrong="no copy in load"
def state_dict(self) -> dict[str, Any]:
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": get_rng_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = state_dict
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    set_rng_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = get_rng_state()
        return iter(self.loader)
    now = get_rng_state()
    set_rng_state(self.began)
    rest = iter(self.loader)
    for _ in range(self.seen):
        next(rest)
    set_rng_state(now)
    return rest


# %% answer="training_trainer_resume" wrong="no rng back to began"
def state_dict(self) -> dict[str, Any]:
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": get_rng_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    set_rng_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = get_rng_state()
        return iter(self.loader)
    now = get_rng_state()
    rest = iter(self.loader)
    for _ in range(self.seen):
        next(rest)
    set_rng_state(now)
    return rest


# %% answer="training_trainer_resume" wrong="now not restored"
def state_dict(self) -> dict[str, Any]:
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": get_rng_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    set_rng_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = get_rng_state()
        return iter(self.loader)
    now = get_rng_state()
    set_rng_state(self.began)
    rest = iter(self.loader)
    for _ in range(self.seen):
        next(rest)
    return rest


# %% answer="training_trainer_resume" wrong="began set anew on resume"
def state_dict(self) -> dict[str, Any]:
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": get_rng_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    set_rng_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = get_rng_state()
        return iter(self.loader)
    now = self.began_now = get_rng_state()
    set_rng_state(self.began)
    rest = iter(self.loader)
    for _ in range(self.seen):
        next(rest)
    set_rng_state(now)
    self.began = now
    return rest


# %% answer="training_trainer_resume" wrong="list of the rest, sliced"
def state_dict(self) -> dict[str, Any]:
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": get_rng_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    set_rng_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = get_rng_state()
        return iter(self.loader)
    now = get_rng_state()
    set_rng_state(self.began)
    rest = iter(self.loader)
    rest = list(rest)[self.seen:]
    set_rng_state(now)
    return iter(rest)


# %% answer="optim_decay_groups" right="module types"
def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    params = {id(p): p for p in model.parameters() if p.requires_grad}
    groups = [{"params": [], "weight_decay": weight_decay}, {"params": [], "weight_decay": 0.0}]
    for p in params.values(): groups[p.ndim < 2]["params"].append(p)
    return groups


# %% answer="optim_decay_groups" wrong="by name bias/ln"
def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    no = lambda n: n.endswith("bias") or "norm" in n or "ln" in n
    return [
        {"params": [p for n, p in named if not no(n)], "weight_decay": weight_decay},
        {"params": [p for n, p in named if no(n)], "weight_decay": 0.0},
    ]


# %% answer="optim_decay_groups" wrong="frozen kept"
def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    params = [p for p in model.parameters()]
    return [
        {"params": [p for p in params if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0},
    ]


# %% answer="optim_decay_groups" wrong="set of params"
def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    params = list({p for p in model.parameters() if p.requires_grad})
    return [
        {"params": [p for p in params if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0},
    ]


# %% answer="training_confusion_matrix" right="as first written, from the task alone"
def report(confusion: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    tp = confusion.diagonal().float()
    rows, cols = confusion.sum(1).float(), confusion.sum(0).float()
    precision = torch.nan_to_num(tp / cols, nan=0.0)
    recall = torch.nan_to_num(tp / rows, nan=0.0)
    f1 = torch.nan_to_num(2 * precision * recall / (precision + recall), nan=0.0)
    return precision, recall, f1, f1[rows > 0].mean().item()


# %% answer="training_confusion_matrix" right="f1 of tp"
def report(confusion: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    tp = confusion.diagonal().float()
    rows, cols = confusion.sum(1).float(), confusion.sum(0).float()
    precision = torch.nan_to_num(tp / cols, nan=0.0)
    recall = torch.nan_to_num(tp / rows, nan=0.0)
    f1 = 2 * tp / (rows + cols).clamp(min=1)
    return precision, recall, f1, f1[rows > 0].mean().item()


# %% answer="training_confusion_matrix" right="eps"
def report(confusion: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    tp = confusion.diagonal().float()
    rows, cols = confusion.sum(1).float(), confusion.sum(0).float()
    precision = tp / (cols + 1e-8)
    recall = tp / (rows + 1e-8)
    f1 = 2 * precision * recall / (precision + recall + 1e-8)
    return precision, recall, f1, f1[rows > 0].mean().item()


# %% answer="training_confusion_matrix" wrong="macro over all"
def report(confusion: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    tp = confusion.diagonal().float()
    rows, cols = confusion.sum(1).float(), confusion.sum(0).float()
    precision = torch.nan_to_num(tp / cols, nan=0.0)
    recall = torch.nan_to_num(tp / rows, nan=0.0)
    f1 = torch.nan_to_num(2 * precision * recall / (precision + recall), nan=0.0)
    return precision, recall, f1, f1.mean().item()


# %% answer="training_confusion_matrix" wrong="macro over f1>0"
def report(confusion: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    tp = confusion.diagonal().float()
    rows, cols = confusion.sum(1).float(), confusion.sum(0).float()
    precision = torch.nan_to_num(tp / cols, nan=0.0)
    recall = torch.nan_to_num(tp / rows, nan=0.0)
    f1 = torch.nan_to_num(2 * precision * recall / (precision + recall), nan=0.0)
    return precision, recall, f1, f1[f1 > 0].mean().item()


# %% answer="training_repair_loop" right="as first written, from the task alone"
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        total = 0.0
        model.train()
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% answer="training_repair_loop" right="inference_mode, zero after step"
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        total = 0.0
        model.train()
        for inputs, targets in batches:
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.item()
        model.eval()
        with torch.inference_mode():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% answer="training_repair_loop" wrong="total tensor detached"
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        total = 0.0
        model.train()
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        model.eval()
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% answer="training_repair_loop" wrong="train once"
def fit(model, batches, validation, optimizer, epochs):
    history = []
    model.train()
    for _ in range(epochs):
        total = 0.0
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% answer="training_repair_loop" wrong="no no_grad"
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        total = 0.0
        model.train()
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        if True:
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% answer="training_repair_loop" wrong="detach instead of no_grad for val"
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        total = 0.0
        model.train()
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        if True:
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).detach().item()
        history.append((total / len(batches), validation_loss))
    return history


# %% answer="training_early_stopping" right="deepcopy of model"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.state = math.inf, 0, None
    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.state = copy.deepcopy(model)
        else:
            self.bad += 1
        return self.bad >= self.patience
    def restore(self, model):
        model.load_state_dict(self.state.state_dict())


# %% answer="training_early_stopping" wrong="no copy"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.state = math.inf, 0, None
    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.state = model.state_dict()
        else:
            self.bad += 1
        return self.bad >= self.patience
    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_early_stopping" wrong="shallow"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.state = math.inf, 0, None
    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.state = dict(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience
    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_early_stopping" wrong="params only"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.state = math.inf, 0, None
    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.state = [p.detach().clone() for p in model.parameters()]
        else:
            self.bad += 1
        return self.bad >= self.patience
    def restore(self, model):
        [p.data.copy_(v) for p, v in zip(model.parameters(), self.state)]


# %% answer="training_early_stopping" wrong="> patience"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.state = math.inf, 0, None
    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad > self.patience
    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_early_stopping" wrong="best always min"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.state = math.inf, 0, None
    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.best_loss = min(self.best_loss, loss)
            self.bad += 1
        return self.bad >= self.patience
    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_early_stopping" wrong="== patience"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.state = math.inf, 0, None
    def stop(self, loss, model):
        if loss < self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad == self.patience
    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_early_stopping" wrong="<="
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.state = math.inf, 0, None
    def stop(self, loss, model):
        if loss <= self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience
    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_divergence" right="as first written, from the task alone"
def smallest_diverging_exponent(train) -> int:
    for k in range(-12, 5):
        losses = train(2.0**k)
        if not losses[-1] < losses[0]:
            return k
    return 5


# %% answer="training_divergence" right="bisection"
def smallest_diverging_exponent(train) -> int:
    a, b = -13, 5
    while b - a > 1:
        m = (a + b) // 2
        losses = train(2.0**m)
        if losses[-1] < losses[0]: a = m
        else: b = m
    return b


# %% answer="training_divergence" wrong=">="
def smallest_diverging_exponent(train) -> int:
    for k in range(-12, 5):
        losses = train(2.0**k)
        if losses[-1] >= losses[0]:
            return k
    return 5
