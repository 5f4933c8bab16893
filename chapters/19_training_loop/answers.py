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
        "began": self.began, "random": self.random_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    self.set_random_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = self.random_state()
        return iter(self.loader)
    now = self.random_state()
    self.set_random_state(self.began)
    rest = iter(self.loader)
    for _ in range(self.seen):
        next(rest)
    self.set_random_state(now)
    return rest


# %% answer="training_trainer_resume" wrong="no copy in load"
def state_dict(self) -> dict[str, Any]:
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": self.random_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = state_dict
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    self.set_random_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = self.random_state()
        return iter(self.loader)
    now = self.random_state()
    self.set_random_state(self.began)
    rest = iter(self.loader)
    for _ in range(self.seen):
        next(rest)
    self.set_random_state(now)
    return rest


# %% answer="training_trainer_resume" wrong="no rng back to began"
def state_dict(self) -> dict[str, Any]:
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": self.random_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    self.set_random_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = self.random_state()
        return iter(self.loader)
    now = self.random_state()
    rest = iter(self.loader)
    for _ in range(self.seen):
        next(rest)
    self.set_random_state(now)
    return rest


# %% answer="training_trainer_resume" wrong="now not restored"
def state_dict(self) -> dict[str, Any]:
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": self.random_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    self.set_random_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = self.random_state()
        return iter(self.loader)
    now = self.random_state()
    self.set_random_state(self.began)
    rest = iter(self.loader)
    for _ in range(self.seen):
        next(rest)
    return rest


# %% answer="training_trainer_resume" wrong="began set anew on resume"
def state_dict(self) -> dict[str, Any]:
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": self.random_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    self.set_random_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = self.random_state()
        return iter(self.loader)
    now = self.began_now = self.random_state()
    self.set_random_state(self.began)
    rest = iter(self.loader)
    for _ in range(self.seen):
        next(rest)
    self.set_random_state(now)
    self.began = now
    return rest


# %% answer="training_trainer_resume" wrong="list of the rest, sliced"
def state_dict(self) -> dict[str, Any]:
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": self.random_state(),
    })


def load_state_dict(self, state_dict: dict[str, Any]) -> None:
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began = state["losses"], state["seen"], state["began"]
    self.set_random_state(state["random"])
    self.epoch = None


def rest_of_epoch(self) -> Iterator[Any]:
    if self.seen == 0:
        self.began = self.random_state()
        return iter(self.loader)
    now = self.random_state()
    self.set_random_state(self.began)
    rest = iter(self.loader)
    rest = list(rest)[self.seen:]
    self.set_random_state(now)
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
        if self.state is None or loss < self.best_loss - self.min_delta:
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
        if self.state is None or loss < self.best_loss - self.min_delta:
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
        if self.state is None or loss < self.best_loss - self.min_delta:
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
        if self.state is None or loss < self.best_loss - self.min_delta:
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
        if self.state is None or loss < self.best_loss - self.min_delta:
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
        if self.state is None or loss < self.best_loss - self.min_delta:
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
        if self.state is None or loss < self.best_loss - self.min_delta:
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
        if self.state is None or loss <= self.best_loss - self.min_delta:
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


# %% answer="training_trainer_step" wrong="adds up losses with their graphs" spoils="accumulate"
def accumulate(self, batches):
    self.optimizer.zero_grad()
    total, count = 0.0, 0
    for batch in batches:
        loss, n = self.loss(self.model, batch)
        loss.backward()
        total = total + loss
        count += n
    for p in self.model.parameters():
        if p.grad is not None:
            p.grad /= count
    return (total / count).item()


# %% answer="training_trainer_step" wrong="divides by the number of batches" spoils="accumulate"
def accumulate(self, batches):
    self.optimizer.zero_grad()
    total, number = 0.0, 0
    for batch in batches:
        loss, added = self.loss(self.model, batch)
        (loss / added).backward()
        total, number = total + loss.item() / added, number + 1
    for parameter in self.model.parameters():
        if parameter.grad is not None:
            parameter.grad /= number
    return total / number


# %% answer="training_trainer_step" wrong="all graphs at once" spoils="accumulate"
def accumulate(self, batches):
    self.optimizer.zero_grad()
    results = [self.loss(self.model, batch) for batch in batches]
    count = sum(added for _, added in results)
    mean = sum(loss for loss, _ in results) / count
    mean.backward()
    return mean.item()


# %% answer="training_trainer_step" wrong="earlier gradients stay" spoils="accumulate"
def accumulate(self, batches):
    total, count = 0.0, 0
    for batch in batches:
        loss, added = self.loss(self.model, batch)
        loss.backward()
        total, count = total + loss.item(), count + added
    for parameter in self.model.parameters():
        if parameter.grad is not None:
            parameter.grad /= count
    return total / count


# %% answer="training_trainer_step" wrong="the schedule steps before the optimizer" spoils="step"
def step(self, batches):
    self.model.train()
    self.losses.append(self.accumulate(batches))
    clip_grad_norm_(self.model.parameters(), self.max_norm)
    self.scheduler.step()
    self.optimizer.step()


# %% answer="training_trainer_step" wrong="the mode stays as it is" spoils="step"
def step(self, batches):
    self.losses.append(self.accumulate(batches))
    clip_grad_norm_(self.model.parameters(), self.max_norm)
    self.optimizer.step()
    self.scheduler.step()


# %% answer="training_trainer_step" wrong="each parameter is clipped by itself" spoils="step"
def step(self, batches):
    self.model.train()
    self.losses.append(self.accumulate(batches))
    for parameter in self.model.parameters():
        clip_grad_norm_([parameter], self.max_norm)
    self.optimizer.step()
    self.scheduler.step()


# %% answer="training_trainer_step" right="grad of the list of parameters, and a generator of the batches"
def accumulate(self, batches):
    self.optimizer.zero_grad(set_to_none=True)
    sums, count = [], 0
    for each in iter(batches):
        value, n = self.loss(self.model, each)
        value.backward()
        sums.append(float(value.detach()))
        count += n
    for p in (p for p in self.model.parameters() if p.grad is not None):
        p.grad = p.grad / count
    return sum(sums) / count


# %% answer="training_trainer_resume" wrong="the loader's own generator is forgotten"
def state_dict(self):
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": state_of(default_generator),
    })


def load_state_dict(self, state_dict):
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.scheduler.load_state_dict(state["scheduler"])
    self.losses, self.seen, self.began, self.epoch = state["losses"], state["seen"], state["began"], None
    set_state(default_generator, state["random"])


# %% answer="training_trainer_resume" wrong="the schedule is forgotten"
def state_dict(self):
    return deepcopy({
        "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        "scheduler": self.scheduler.state_dict(), "losses": self.losses, "seen": self.seen,
        "began": self.began, "random": self.random_state(),
    })


def load_state_dict(self, state_dict):
    state = deepcopy(state_dict)
    self.model.load_state_dict(state["model"])
    self.optimizer.load_state_dict(state["optimizer"])
    self.losses, self.seen, self.began, self.epoch = state["losses"], state["seen"], state["began"], None
    self.set_random_state(state["random"])


# %% answer="training_trainer_resume" wrong="an epoch that is over is gone through again"
def rest_of_epoch(self):
    if self.began is None:
        self.began = self.random_state()
    now = self.random_state()
    self.set_random_state(self.began)
    batches = iter(self.loader)
    for _ in range(self.seen):
        next(batches)
    self.set_random_state(now)
    return batches


# %% answer="training_trainer_resume" right="islice skips"
def rest_of_epoch(self):
    if not self.seen:
        self.began = self.random_state()
        return iter(self.loader)
    now = self.random_state()
    self.set_random_state(self.began)
    rest = iter(self.loader)
    list(islice(rest, self.seen))
    self.set_random_state(now)
    return rest


# %% answer="optim_decay_groups" wrong="a shared matrix is listed twice"
def decay_groups(model, weight_decay):
    trained = [each for _, each in model.named_parameters(remove_duplicate=False) if each.requires_grad]
    return [
        {"params": [each for each in trained if each.dim() >= 2], "weight_decay": weight_decay},
        {"params": [each for each in trained if each.dim() < 2], "weight_decay": 0.0},
    ]


# %% answer="optim_decay_groups" wrong="the others first"
def decay_groups(model, weight_decay):
    trained = [each for each in model.parameters() if each.requires_grad]
    return [
        {"params": [each for each in trained if each.dim() < 2], "weight_decay": 0.0},
        {"params": [each for each in trained if each.dim() >= 2], "weight_decay": weight_decay},
    ]


# %% answer="optim_decay_groups" wrong="exactly two dimensions"
def decay_groups(model, weight_decay):
    trained = [each for each in model.parameters() if each.requires_grad]
    return [
        {"params": [each for each in trained if each.dim() == 2], "weight_decay": weight_decay},
        {"params": [each for each in trained if each.dim() != 2], "weight_decay": 0.0},
    ]


# %% answer="optim_decay_groups" wrong="a matrix of one column counts as a vector"
def decay_groups(model, weight_decay):
    ps = [p for p in model.parameters() if p.requires_grad]
    return [{"params": [p for p in ps if p.ndim >= 1 and p.numel() > p.shape[0]], "weight_decay": weight_decay}, {"params": [p for p in ps if not (p.ndim >= 1 and p.numel() > p.shape[0])], "weight_decay": 0.0}]


# %% answer="optim_decay_groups" wrong="an empty group is dropped"
def decay_groups(model, weight_decay):
    ps = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in ps if p.ndim >= 2], "weight_decay": weight_decay}, {"params": [p for p in ps if p.ndim < 2], "weight_decay": 0.0}]
    return [g for g in groups if g["params"]]


# %% answer="training_confusion_matrix" wrong="macro over the classes that were predicted"
def report(confusion):
    right = confusion.diagonal()
    precision, recall = right / confusion.sum(0).clamp(min=1), right / confusion.sum(1).clamp(min=1)
    f1 = (2 * precision * recall / (precision + recall)).nan_to_num(0.0)
    return precision, recall, f1, f1[confusion.sum(0) > 0].mean().item()


# %% answer="training_confusion_matrix" wrong="macro is a tensor of float64"
def report(confusion):
    right = confusion.diagonal().double()
    precision, recall = right / confusion.sum(0).clamp(min=1), right / confusion.sum(1).clamp(min=1)
    f1 = (2 * precision * recall / (precision + recall)).nan_to_num(0.0)
    return precision, recall, f1, f1[confusion.sum(1) > 0].mean()


# %% answer="training_confusion_matrix" wrong="f1 from the mean precision and the mean recall"
def report(confusion):
    right, occurs = confusion.diagonal(), confusion.sum(1) > 0
    precision, recall = right / confusion.sum(0).clamp(min=1), right / confusion.sum(1).clamp(min=1)
    f1 = (2 * precision * recall / (precision + recall)).nan_to_num(0.0)
    p, r = precision[occurs].mean().item(), recall[occurs].mean().item()
    return precision, recall, f1, 2 * p * r / (p + r)


# %% answer="training_repair_loop" wrong="gradients are zeroed once an epoch"
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        total = 0.0
        for inputs, targets in batches:
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% answer="training_repair_loop" wrong="gradients are zeroed between backward and step"
def fit(model, batches, validation, optimizer, epochs):
    history = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for inputs, targets in batches:
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.zero_grad()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% answer="training_repair_loop" wrong="validates in training mode"
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
        with torch.no_grad():
            validation_loss = F.cross_entropy(model(validation[0]), validation[1]).item()
        history.append((total / len(batches), validation_loss))
    return history


# %% answer="training_early_stopping" wrong="an infinite first loss isn't stored"
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
        return self.bad >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_early_stopping" wrong="another default of min_delta"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.2):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.state = None, 0, None

    def stop(self, loss, model):
        if self.best_loss is None or self.best_loss - loss > self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_early_stopping" wrong="the losses are kept, and the count isn't in a row"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta, self.losses, self.best_loss = patience, min_delta, [], None

    def stop(self, loss, model):
        if not self.losses or loss < self.best_loss - self.min_delta:
            self.best_loss, self.state = loss, copy.deepcopy(model.state_dict())
        self.losses.append(loss)
        return sum(each > self.best_loss for each in self.losses[-self.patience - 1 :]) >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_early_stopping" right="None before the first loss, clones of the values"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta, self.best_loss, self.epochs = patience, min_delta, None, 0

    def stop(self, loss, model):
        self.epochs += 1
        if self.best_loss is None or loss + self.min_delta < self.best_loss:
            self.best_loss, self.epochs = loss, 0
            self.kept = {name: value.detach().clone() for name, value in model.state_dict().items()}
        return self.epochs >= self.patience

    def restore(self, model):
        model.load_state_dict(self.kept)


# %% answer="training_early_stopping" wrong="a best loss of 0 is none"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.kept = None, 0, None

    def stop(self, loss, model):
        if not self.best_loss or loss < self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.kept = {k: v.detach().clone() for k, v in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model):
        model.load_state_dict(self.kept)


# %% answer="training_early_stopping" wrong="the nan is an improvement"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.kept = None, 0, None

    def stop(self, loss, model):
        if self.best_loss is None or not loss >= self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.kept = {k: v.detach().clone() for k, v in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model):
        model.load_state_dict(self.kept)


# %% answer="training_divergence" wrong="begins at -13"
def smallest_diverging_exponent(train):
    k = -13
    while train(2.0**k)[-1] < train(2.0**k)[0]:
        k += 1
    return k


# %% answer="training_divergence" wrong="a loss that rises once has diverged"
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        losses = train(2.0**k)
        if any(not after < before for before, after in zip(losses, losses[1:])):
            return k


# %% answer="training_divergence" wrong="infinite or nan alone"
def smallest_diverging_exponent(train):
    for k in range(-12, 5):
        if not math.isfinite(train(2.0**k)[-1]):
            return k
    return 4


# %% answer="training_early_stopping" wrong="all objects of the class store into one dict"
class EarlyStopping:
    state = {}

    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited = None, 0

    def stop(self, loss, model):
        if self.best_loss is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state.update(copy.deepcopy(model.state_dict()))
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_early_stopping" right="a list of the epochs, and values written in place"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.good = []

    def stop(self, loss, model):
        improved = not self.good or self.best_loss - loss > self.min_delta
        self.good.append(improved)
        if improved:
            self.best_loss = loss
            self.values = [each.detach().clone() for each in [*model.parameters(), *model.buffers()]]
        bad = self.good[::-1].index(True)
        return bad >= self.patience

    def restore(self, model):
        with torch.no_grad():
            for each, value in zip([*model.parameters(), *model.buffers()], self.values):
                each.copy_(value)


# %% answer="training_early_stopping" wrong="restores into the parameters that it saw, whichever model it is given ('loads the stored parameters and buffers into the model')"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.stored = None, 0, []

    def stop(self, loss, model):
        if self.best_loss is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            tensors = [*model.parameters(), *model.buffers()]
            self.stored = [(each, each.detach().clone()) for each in tensors]
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model):
        with torch.no_grad():
            for each, value in self.stored:
                each.copy_(value)


# %% answer="training_early_stopping" wrong="stores floating-point tensors only, without the counter of a batch norm ('parameters and buffers')"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad, self.stored = None, 0, {}

    def stop(self, loss, model):
        if self.best_loss is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.bad = loss, 0
            state = model.state_dict()
            self.stored = {name: value.clone() for name, value in state.items() if value.is_floating_point()}
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model):
        model.load_state_dict(self.stored, strict=False)


# %% answer="training_early_stopping" wrong="small improvements lower the best although they don't count, so a slow steady descent stops ('below the best so far by more than `min_delta`', and only an improved loss becomes the best)"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.lowest, self.bad = None, None, 0

    def stop(self, loss, model):
        if self.best_loss is None or loss < self.lowest - self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.stored = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            self.bad += 1
        self.lowest = loss if self.lowest is None else min(self.lowest, loss)
        return self.bad >= self.patience

    def restore(self, model):
        model.load_state_dict(self.stored)


# %% answer="training_early_stopping" wrong="an improvement of exactly min_delta counts ('by more than `min_delta`')"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.bad = None, 0

    def stop(self, loss, model):
        first = self.best_loss is None
        if first or loss < self.best_loss and self.best_loss - loss >= self.min_delta:
            self.best_loss, self.bad = loss, 0
            self.stored = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad >= self.patience

    def restore(self, model):
        model.load_state_dict(self.stored)


# %% answer="training_early_stopping" right="keeps a deep copy of the model"
import copy


class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta, self.waited, self.best = patience, min_delta, 0, None

    @property
    def best_loss(self):
        return self.best[0]

    def stop(self, loss, model):
        improved = self.best is None or loss + self.min_delta < self.best_loss
        if improved:
            self.best = loss, copy.deepcopy(model)
        self.waited = (self.waited + 1) * (not improved)
        return not self.waited < self.patience

    def restore(self, model):
        model.load_state_dict(self.best[1].state_dict())


# %% answer="training_early_stopping" right="a history of the epochs, and values written into the model by name"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience = patience
        self.min_delta = min_delta
        self.improved = []

    def stop(self, loss, model):
        self.improved.append(not self.improved or self.best_loss - loss > self.min_delta)
        if self.improved[-1]:
            self.best_loss = loss
            self.parameters = {name: each.detach().clone() for name, each in model.named_parameters()}
            self.buffers = {name: each.detach().clone() for name, each in model.named_buffers()}
        return len(self.improved) > self.patience and not any(self.improved[-self.patience :])

    @torch.no_grad()
    def restore(self, model):
        for name, each in model.named_parameters():
            each.copy_(self.parameters[name])
        for name, each in model.named_buffers():
            each.copy_(self.buffers[name])


# %% answer="training_confusion_matrix" right="F1 from the counts, and the mean as a quotient"
def report(confusion):
    right, actual, predicted = confusion.diagonal(), confusion.sum(1), confusion.sum(0)

    def quotient(a, b):
        return torch.where(b > 0, a / b.clamp(min=1), 0.0)

    f1 = quotient(2 * right, actual + predicted)
    occurs = (actual > 0).sum().item()
    return quotient(right, predicted), quotient(right, actual), f1, f1[actual > 0].sum().item() / max(occurs, 1)


# %% answer="training_confusion_matrix" right="Python's numbers"
def report(confusion):
    table = confusion.tolist()
    n = len(table)
    divide = lambda a, b: a / b if b else 0.0
    precision = [divide(table[i][i], sum(row[i] for row in table)) for i in range(n)]
    recall = [divide(table[i][i], sum(table[i])) for i in range(n)]
    f1 = [divide(2 * p * r, p + r) for p, r in zip(precision, recall)]
    kept = [f for f, row in zip(f1, table) if sum(row)]
    return (*(torch.tensor(each) for each in (precision, recall, f1)), divide(sum(kept), len(kept)))


# %% answer="training_trainer_step" right="None for each gradient, and new tensors for the quotients"
def accumulate(self, batches):
    for parameter in self.model.parameters():
        parameter.grad = None
    total, count = 0.0, 0
    for batch in batches:
        self.model.train()
        loss, added = self.loss(self.model, batch)
        loss.backward()
        total, count = total + loss.item(), count + added
    for parameter in self.model.parameters():
        if parameter.grad is not None:
            parameter.grad = parameter.grad / count
    return total / count


# %% answer="training_trainer_step" wrong="a new list of losses"
def step(self, batches):
    self.model.train()
    self.losses = [*self.losses, self.accumulate(batches)]
    clip_grad_norm_(self.model.parameters(), self.max_norm)
    self.optimizer.step()
    self.scheduler.step()


# %% answer="training_trainer_step" wrong="leaves a loss of nan out"
def step(self, batches):
    self.model.train()
    loss = self.accumulate(batches)
    if loss == loss:
        self.losses.append(loss)
        clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
    self.scheduler.step()


# %% answer="training_trainer_resume" right="copies each entry by itself"
def load_state_dict(self, state_dict):
    for name in ("model", "optimizer", "scheduler"):
        getattr(self, name).load_state_dict(deepcopy(state_dict[name]))
    self.losses, self.seen, self.began, self.epoch = list(state_dict["losses"]), state_dict["seen"], state_dict["began"], None
    self.set_random_state(state_dict["random"])


# %% answer="training_trainer_resume" right="the random state first, and losses written in place"
def load_state_dict(self, state_dict):
    state = deepcopy(state_dict)
    self.set_random_state(state["random"])
    for name in ("model", "optimizer", "scheduler"):
        getattr(self, name).load_state_dict(state[name])
    self.losses[:] = state["losses"]
    self.seen, self.began, self.epoch = state["seen"], state["began"], None


# %% answer="training_trainer_resume" wrong="a generator function, which begins with the first batch"
def rest_of_epoch(self):
    now = self.random_state()
    self.began = self.began if self.seen else now
    self.set_random_state(self.began)
    batches = iter(self.loader)
    for _ in range(self.seen):
        next(batches)
    if self.seen:
        self.set_random_state(now)
    yield from batches


# %% answer="optim_decay_groups" right="views of two dicts"
def decay_groups(model, weight_decay):
    decay, others = {}, {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            (decay if parameter.ndim >= 2 else others)[name] = parameter
    return [{"params": decay.values(), "weight_decay": weight_decay}, {"params": others.values(), "weight_decay": 0.0}]


# %% answer="optim_decay_groups" wrong="a decay of 0 counts as none"
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay or 0.01},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% answer="training_confusion_matrix" right="nan_to_num, and a quotient of sums"
def report(confusion):
    right = confusion.diagonal()
    precision = torch.nan_to_num(right / confusion.sum(0))
    recall = torch.nan_to_num(right / confusion.sum(1))
    f1 = torch.nan_to_num(2 * precision * recall / (precision + recall))
    return precision, recall, f1, (f1.sum() / (confusion.sum(1) > 0).sum()).item()


# %% answer="training_early_stopping" wrong="once it has stopped, it stays stopped"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state, self.stopped = math.inf, 0, None, False

    def stop(self, loss, model):
        if self.state is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        self.stopped = self.stopped or self.waited >= self.patience
        return self.stopped

    def restore(self, model):
        model.load_state_dict(self.state)


# %% answer="training_early_stopping" wrong="restore begins to count anew"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = math.inf, 0, None

    def stop(self, loss, model):
        if self.state is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = loss, 0
            self.state = copy.deepcopy(model.state_dict())
            return False
        self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        model.load_state_dict(self.state, strict=False)
        self.waited = 0


# %% answer="training_early_stopping" right="parameters and buffers by name, in new data"
class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.waited, self.state = None, 0, None

    def stop(self, loss, model):
        if self.best_loss is None or loss < self.best_loss - self.min_delta:
            self.best_loss, self.waited = float(loss), 0
            self.state = [copy.deepcopy(dict(model.named_parameters())), copy.deepcopy(dict(model.named_buffers()))]
        else:
            self.waited += 1
        return self.waited >= self.patience

    def restore(self, model):
        for name, each in self.state[0].items():
            model.get_parameter(name).data = each.data.clone()
        for name, each in self.state[1].items():
            model.get_buffer(name).copy_(each)
