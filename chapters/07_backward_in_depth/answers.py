# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 07` grades them.


# %% answer="backward_modes" wrong="an argument for subclasses that take none"
import functools
def __enter__(self) -> None:
    self.outer.append(Mode.enabled)
    Mode.enabled = self.enabled


def __exit__(self, *error: object) -> None:
    Mode.enabled = self.outer.pop()


def __call__(self, function: Function) -> Function:
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with type(self)(self.enabled):
            return function(*args, **kwargs)
    return wrapper


# %% answer="backward_modes" right="self.__class__()"
import functools
def __enter__(self) -> None:
    self.outer.append(Mode.enabled)
    Mode.enabled = self.enabled


def __exit__(self, *error: object) -> None:
    Mode.enabled = self.outer.pop()


def __call__(self, function: Function) -> Function:
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with self.__class__():
            return function(*args, **kwargs)
    return wrapper


# %% answer="backward_modes" right="own try/finally in the decorator"
import functools
def __enter__(self) -> None:
    self.outer.append(Mode.enabled)
    Mode.enabled = self.enabled


def __exit__(self, *error: object) -> None:
    Mode.enabled = self.outer.pop()


def __call__(self, function: Function) -> Function:
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        before = Mode.enabled; Mode.enabled = self.enabled
        try:
            return function(*args, **kwargs)
        finally:
            Mode.enabled = before
        with GradMode(self.enabled):
            return function(*args, **kwargs)
    return wrapper


# %% answer="backward_modes" wrong="decorator detaches the result"
import functools
def __enter__(self) -> None:
    self.outer.append(Mode.enabled)
    Mode.enabled = self.enabled


def __exit__(self, *error: object) -> None:
    Mode.enabled = self.outer.pop()


def __call__(self, function: Function) -> Function:
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with GradMode(self.enabled):
            result = function(*args, **kwargs)
        return result.detach() if hasattr(result, "detach") and not self.enabled else result
    return wrapper


# %% answer="backward_modes" wrong="recording on after an inner block"
import functools
def __enter__(self) -> None:
    self.outer.append(Mode.enabled)
    Mode.enabled = self.enabled


def __exit__(self, *error: object) -> None:
    self.outer.pop(); Mode.enabled = True


def __call__(self, function: Function) -> Function:
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with GradMode(self.enabled):
            return function(*args, **kwargs)
    return wrapper


# %% answer="backward_modes" wrong="__exit__ returns something true"
import functools
def __enter__(self) -> None:
    self.outer.append(Mode.enabled)
    Mode.enabled = self.enabled


def __exit__(self, *error: object) -> None:
    return bool(setattr(Mode, "enabled", self.outer.pop()) or True)


def __call__(self, function: Function) -> Function:
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with GradMode(self.enabled):
            return function(*args, **kwargs)
    return wrapper


# %% answer="backward_modes" wrong="the object itself, for all threads" spoils="__call__"
def __call__(self, function):
    @functools.wraps(function)
    def inside(*args, **kwargs):
        with self:
            return function(*args, **kwargs)

    return inside


# %% answer="backward_writes" right="as first written, from the task alone"
def give_back(self, node):
    if self.tensor.storage.version != self.version:
        raise RuntimeError(modified(self, node))
    return super(SavedTensor, self).give_back(node)


def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.requires_grad and base.is_leaf:
        view = "" if x.base is None else "view of a "
        raise RuntimeError(("a view of a leaf" if x.base is not None else "a leaf") + " Variable that requires grad is being used in an in-place operation.")
    arithmetic = is_arithmetic(x, source)
    keep_old(x, source)
    if arithmetic:
        node, nr = source.grad_fn, source.output_nr
        below(op, args)
        x.grad_fn = node
        x.output_nr = nr
    else:
        node = CopySlices(base, x, source)
        below(op, args)
        attach([base], node)
    base.rebased += 1
    return x


def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    to_base = self.laid_out(g)
    to_source = as_strided(self.laid_out(g), *self.view_geometry)
    copy_(as_strided(to_base, *self.view_geometry), zeros(self.view_geometry[0], dtype=g.dtype, device=g.device))
    return [to_base, to_source]


# %% answer="backward_writes" right="_version"
def give_back(self, node):
    if self.tensor._version != self.version:
        raise RuntimeError(modified(self, node))
    return super(SavedTensor, self).give_back(node)


def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.requires_grad and base.is_leaf:
        view = "" if x.base is None else "view of a "
        raise RuntimeError(("a view of a leaf" if x.base is not None else "a leaf") + " Variable that requires grad is being used in an in-place operation.")
    arithmetic = is_arithmetic(x, source)
    keep_old(x, source)
    if arithmetic:
        node, nr = source.grad_fn, source.output_nr
        below(op, args)
        x.grad_fn = node
        x.output_nr = nr
    else:
        node = CopySlices(base, x, source)
        below(op, args)
        attach([base], node)
    base.rebased += 1
    return x


def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    to_base = self.laid_out(g)
    to_source = as_strided(self.laid_out(g), *self.view_geometry)
    copy_(as_strided(to_base, *self.view_geometry), zeros(self.view_geometry[0], dtype=g.dtype, device=g.device))
    return [to_base, to_source]


# %% answer="backward_writes" wrong="keep_old for arithmetic only"
def give_back(self, node):
    if self.tensor.storage.version != self.version:
        raise RuntimeError(modified(self, node))
    return super(SavedTensor, self).give_back(node)


def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.requires_grad and base.is_leaf:
        view = "" if x.base is None else "view of a "
        raise RuntimeError(("a view of a leaf" if x.base is not None else "a leaf") + " Variable that requires grad is being used in an in-place operation.")
    arithmetic = is_arithmetic(x, source)
    if arithmetic:
        keep_old(x, source)
        node, nr = source.grad_fn, source.output_nr
        below(op, args)
        x.grad_fn = node
        x.output_nr = nr
    else:
        node = CopySlices(base, x, source)
        below(op, args)
        attach([base], node)
    base.rebased += 1
    return x


def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    to_base = self.laid_out(g)
    to_source = as_strided(self.laid_out(g), *self.view_geometry)
    copy_(as_strided(to_base, *self.view_geometry), zeros(self.view_geometry[0], dtype=g.dtype, device=g.device))
    return [to_base, to_source]


# %% answer="backward_writes" wrong="gradient not laid out like the base"
def give_back(self, node):
    if self.tensor.storage.version != self.version:
        raise RuntimeError(modified(self, node))
    return super(SavedTensor, self).give_back(node)


def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.requires_grad and base.is_leaf:
        view = "" if x.base is None else "view of a "
        raise RuntimeError(("a view of a leaf" if x.base is not None else "a leaf") + " Variable that requires grad is being used in an in-place operation.")
    arithmetic = is_arithmetic(x, source)
    keep_old(x, source)
    if arithmetic:
        node, nr = source.grad_fn, source.output_nr
        below(op, args)
        x.grad_fn = node
        x.output_nr = nr
    else:
        node = CopySlices(base, x, source)
        below(op, args)
        attach([base], node)
    base.rebased += 1
    return x


def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    to_base = self.laid_out(g)
    to_source = as_strided(g, *self.view_geometry)
    copy_(as_strided(to_base, *self.view_geometry), zeros(self.view_geometry[0], dtype=g.dtype, device=g.device))
    return [to_base, to_source]


# %% answer="backward_writes" wrong="the view asked, not the base"
def give_back(self, node):
    if self.tensor.storage.version != self.version:
        raise RuntimeError(modified(self, node))
    return super(SavedTensor, self).give_back(node)


def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.requires_grad and x.is_leaf:
        view = "" if x.base is None else "view of a "
        raise RuntimeError(("a view of a leaf" if x.base is not None else "a leaf") + " Variable that requires grad is being used in an in-place operation.")
    arithmetic0 = None; arithmetic = is_arithmetic(x, source)
    keep_old(x, source)
    if arithmetic:
        node, nr = source.grad_fn, source.output_nr
        below(op, args)
        x.grad_fn = node
        x.output_nr = nr
    else:
        node = CopySlices(base, x, source)
        below(op, args)
        attach([base], node)
    base.rebased += 1
    return x


def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    to_base = self.laid_out(g)
    to_source = as_strided(self.laid_out(g), *self.view_geometry)
    copy_(as_strided(to_base, *self.view_geometry), zeros(self.view_geometry[0], dtype=g.dtype, device=g.device))
    return [to_base, to_source]


# %% answer="backward_writes" wrong="old numbers not kept"
def give_back(self, node):
    if self.tensor.storage.version != self.version:
        raise RuntimeError(modified(self, node))
    return super(SavedTensor, self).give_back(node)


def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.requires_grad and base.is_leaf:
        view = "" if x.base is None else "view of a "
        raise RuntimeError(("a view of a leaf" if x.base is not None else "a leaf") + " Variable that requires grad is being used in an in-place operation.")
    arithmetic = is_arithmetic(x, source)
    if arithmetic:
        node, nr = source.grad_fn, source.output_nr
        below(op, args)
        x.grad_fn = node
        x.output_nr = nr
    else:
        node = CopySlices(base, x, source)
        below(op, args)
        attach([base], node)
    base.rebased += 1
    return x


def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    to_base = self.laid_out(g)
    to_source = as_strided(self.laid_out(g), *self.view_geometry)
    copy_(as_strided(to_base, *self.view_geometry), zeros(self.view_geometry[0], dtype=g.dtype, device=g.device))
    return [to_base, to_source]


# %% answer="backward_average_weights" right="as first written, from the task alone"
def update_average(averages, parameters, decay):
    with torch.no_grad():
        for a, p in zip(averages, parameters):
            a.mul_(decay).add_(p, alpha=1 - decay)


# %% answer="backward_average_weights" right="lerp_ under a decorator"
@torch.no_grad()
def update_average(averages, parameters, decay):
    for a, p in zip(averages, parameters):
        a.lerp_(p, 1 - decay)


# %% answer="backward_average_weights" right="inference_mode"
def update_average(averages, parameters, decay):
    with torch.inference_mode():
        for a, p in zip(averages, parameters):
            a.mul_(decay).add_(p, alpha=1 - decay)


# %% answer="backward_average_weights" right="copy_ in a decorated function"
def update_average(averages, parameters, decay):
    @torch.no_grad()
    def go():
        for a, p in zip(averages, parameters):
            a.copy_(a * decay + p * (1 - decay))
    go()
    for a in averages:
        a.requires_grad_(a.requires_grad)


# %% answer="backward_average_weights" wrong="set_grad_enabled off and on"
def update_average(averages, parameters, decay):
    torch.set_grad_enabled(False)
    for a, p in zip(averages, parameters):
        a.mul_(decay).add_(p, alpha=1 - decay)
    torch.set_grad_enabled(True)


# %% answer="backward_average_weights" wrong=".data"
def update_average(averages, parameters, decay):
    with torch.no_grad():
        for a, p in zip(averages, parameters):
            a.data.mul_(decay).add_(p.data, alpha=1 - decay)


# %% answer="backward_average_weights" wrong="new memory under the same tensor"
def update_average(averages, parameters, decay):
    with torch.no_grad():
        for a, p in zip(averages, parameters):
            a.set_((decay * a + (1 - decay) * p)) if hasattr(a, "set_") else setattr(a, "data", decay * a + (1 - decay) * p)


# %% answer="backward_average_weights" wrong="clears the gradients of the parameters"
def update_average(averages, parameters, decay):
    with torch.no_grad():
        for a, p in zip(averages, parameters):
            a.mul_(decay).add_(p, alpha=1 - decay)
            p.grad = None


# %% answer="backward_average_weights" wrong="only parameters that require grad"
def update_average(averages, parameters, decay):
    with torch.no_grad():
        for a, p in zip(averages, parameters):
            if p.requires_grad:
                a.mul_(decay).add_(p, alpha=1 - decay)


# %% answer="backward_average_weights" wrong="detaches the parameter in place"
def update_average(averages, parameters, decay):
    with torch.no_grad():
        for a, p in zip(averages, parameters):
            a.copy_(decay * a + (1 - decay) * p)
            p.requires_grad_(False)


# %% answer="backward_repair_stream" right="as first written, from the task alone"
def train_on_stream(weights, chunks, rate):
    state, losses = torch.zeros((), dtype=weights.dtype), []
    for chunk in chunks:
        state = state.detach()
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
        losses.append(loss.item())
    return losses


# %% answer="backward_repair_stream" right="detach_ at the end"
def train_on_stream(weights, chunks, rate):
    state, losses = torch.zeros((), dtype=weights.dtype), []
    for chunk in chunks:
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
        state.detach_()
        losses.append(loss.item())
    return losses


# %% answer="backward_repair_stream" right="sub_ with alpha"
def train_on_stream(weights, chunks, rate):
    state, losses = torch.zeros((), dtype=weights.dtype), []
    for chunk in chunks:
        state = state.detach()
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward()
        with torch.no_grad():
            weights.sub_(weights.grad, alpha=rate)
        losses.append(loss.item())
    return losses


# %% answer="backward_repair_stream" wrong="the state as a float32 number"
def train_on_stream(weights, chunks, rate):
    state, losses = torch.zeros((), dtype=weights.dtype), []
    for chunk in chunks:
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
        losses.append(loss.item())
        state = torch.tensor(state.item())
    return losses


# %% answer="backward_repair_stream" right="the state as a number of the same dtype"
def train_on_stream(weights, chunks, rate):
    state, losses = torch.zeros((), dtype=weights.dtype), []
    for chunk in chunks:
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
        losses.append(loss.item())
        state = torch.tensor(state.item(), dtype=state.dtype)
    return losses


# %% answer="backward_repair_stream" right="copy_"
def train_on_stream(weights, chunks, rate):
    state, losses = torch.zeros((), dtype=weights.dtype), []
    for chunk in chunks:
        state = state.detach()
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward()
        with torch.no_grad():
            weights.copy_(weights - rate * weights.grad)
        losses.append(loss.item())
    return losses


# %% answer="backward_modes" right="a new object of its own class, and a pair pushed as a list grows"
def __enter__(self) -> None:
    self.outer += [Mode.enabled]
    Mode.enabled = self.enabled


def __exit__(self, *error: object) -> None:
    *self.outer, Mode.enabled = self.outer


def __call__(self, function: Function) -> Function:
    import functools

    def inner(*args, **kwargs):
        mode = GradMode(self.enabled)
        mode.__enter__()
        try:
            return function(*args, **kwargs)
        finally:
            mode.__exit__(None, None, None)

    return functools.update_wrapper(inner, function)
