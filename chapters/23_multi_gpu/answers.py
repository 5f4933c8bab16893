# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 23` grades them.


# %% answer="gpus_predict_pass" right="as first written, from the task alone"
prediction = [0, 6, 2, 4]


# %% answer="gpus_predict_pass" wrong="8 and 12 for 6 and 4"
prediction = [0, 8, 2, 12]


# %% answer="gpus_data_parallel" right="split by the rounded-up size"
def scatter(inputs, device_ids):
    n = len(device_ids)
    if isinstance(inputs, Tensor):
        size = -(-inputs.shape[0] // n)
        return tuple(c.to(device("cuda", d)) for c, d in zip(inputs.split(size), device_ids))
    if isinstance(inputs, tuple) and inputs:
        parts = [scatter(each, device_ids) for each in inputs]
        return [tuple(p[i] for p in parts) for i in range(min(map(len, parts)))]
    return [inputs for _ in device_ids]


def replica(module, where, made):
    if module in made:
        return made[module]
    copy = made[module] = object.__new__(type(module))
    copy.__dict__.update(module.__dict__)
    copy.__dict__.update(_parameters={}, _buffers={}, _modules={})
    def moved(t):
        if t is None:
            return None
        if t not in made:
            made[t] = t.to(where)
        return made[t]
    for name, p in module._parameters.items():
        copy.__dict__[name] = moved(p)
    for name, b in module._buffers.items():
        copy._buffers[name] = moved(b)
    for name, m in module._modules.items():
        copy._modules[name] = None if m is None else replica(m, where, made)
    return copy


def gather(outputs, where):
    if isinstance(outputs[0], tuple):
        return tuple(gather(each, where) for each in zip(*outputs))
    there = device("cuda", where)
    return cat([(o.reshape(1) if o.ndim == 0 else o).to(there) for o in outputs])


# %% answer="gpus_data_parallel" right="view(-1) for numbers"
def scatter(inputs, device_ids):
    if isinstance(inputs, Tensor):
        return tuple(c.to(device("cuda", d)) for c, d in zip(inputs.chunk(len(device_ids)), device_ids))
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(each, device_ids) for each in inputs)))
    return [inputs for _ in device_ids]


def replica(module, where, made):
    if module in made:
        return made[module]
    copy = made[module] = object.__new__(type(module))
    copy.__dict__.update(module.__dict__)
    copy.__dict__.update(_parameters={}, _buffers={}, _modules={})
    def moved(t):
        if t is None:
            return None
        if t not in made:
            made[t] = t.to(where)
        return made[t]
    for name, p in module._parameters.items():
        copy.__dict__[name] = moved(p)
    for name, b in module._buffers.items():
        copy._buffers[name] = moved(b)
    for name, m in module._modules.items():
        copy._modules[name] = None if m is None else replica(m, where, made)
    return copy


def gather(outputs, where):
    if isinstance(outputs[0], tuple):
        return tuple(gather(each, where) for each in zip(*outputs))
    there = device("cuda", where)
    return cat([o.to(there).view(-1) if o.ndim == 0 else o.to(there) for o in outputs])


# %% answer="gpus_data_parallel" wrong="detached copies"
def scatter(inputs, device_ids):
    if isinstance(inputs, Tensor):
        return tuple(c.to(device("cuda", d)) for c, d in zip(inputs.chunk(len(device_ids)), device_ids))
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(each, device_ids) for each in inputs)))
    return [inputs for _ in device_ids]


def replica(module, where, made):
    if module in made:
        return made[module]
    import copy as c
    new = made[module] = c.copy(module)
    new._parameters, new._buffers, new._modules = {}, {}, {}
    def there(t):
        if t is None: return None
        if t not in made: made[t] = t.detach().to(where).requires_grad_(t.requires_grad)
        return made[t]
    for name, p in module._parameters.items():
        new.__dict__[name] = there(p)
    for name, b in module._buffers.items():
        new._buffers[name] = there(b)
    for name, m in module._modules.items():
        new._modules[name] = None if m is None else replica(m, where, made)
    return new


def gather(outputs, where):
    if isinstance(outputs[0], tuple):
        return tuple(gather(each, where) for each in zip(*outputs))
    there = device("cuda", where)
    return cat([(o.reshape(1) if o.ndim == 0 else o).to(there) for o in outputs])


# %% answer="gpus_ring" right="as first written, from the task alone"
def reduce_scatter_ring(chunks):
    r, n = get_rank(), get_world_size()
    for s in range(n - 1):
        send(chunks[(r - 1 - s) % n], (r + 1) % n)
        chunks[(r - 2 - s) % n].add_(received((r - 1) % n))


def all_gather_ring(chunks):
    r, n = get_rank(), get_world_size()
    for s in range(n - 1):
        send(chunks[(r - s) % n], (r + 1) % n)
        recv(chunks[(r - 1 - s) % n], (r - 1) % n)


def all_reduce(tensor):
    n = get_world_size()
    with no_grad():
        flat = tensor.contiguous().view(-1)
        small, more = divmod(flat.numel(), n)
        chunks = list(flat.split([small + (i < more) for i in range(n)]))
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        tensor.copy_(flat.view(tensor.shape))


# %% answer="gpus_ring" wrong="not written back"
def reduce_scatter_ring(chunks):
    r, n = get_rank(), get_world_size()
    for s in range(n - 1):
        send(chunks[(r - 1 - s) % n], (r + 1) % n)
        chunks[(r - 2 - s) % n].add_(received((r - 1) % n))


def all_gather_ring(chunks):
    r, n = get_rank(), get_world_size()
    for s in range(n - 1):
        send(chunks[(r - s) % n], (r + 1) % n)
        recv(chunks[(r - 1 - s) % n], (r - 1) % n)


def all_reduce(tensor):
    n = get_world_size()
    with no_grad():
        flat = tensor.contiguous().view(-1)
        small, more = divmod(flat.numel(), n)
        chunks = list(flat.split([small + (i < more) for i in range(n)]))
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)                            # not written back


# %% answer="gpus_ring" wrong="starts with chunk r"
def reduce_scatter_ring(chunks):
    r, n = get_rank(), get_world_size()
    for s in range(n - 1):
        send(chunks[(r - s) % n], (r + 1) % n)
        chunks[(r - 1 - s) % n].add_(received((r - 1) % n))


def all_gather_ring(chunks):
    r, n = get_rank(), get_world_size()
    for s in range(n - 1):
        send(chunks[(r - s) % n], (r + 1) % n)
        recv(chunks[(r - 1 - s) % n], (r - 1) % n)


def all_reduce(tensor):
    n = get_world_size()
    with no_grad():
        flat = tensor.contiguous().view(-1)
        small, more = divmod(flat.numel(), n)
        chunks = list(flat.split([small + (i < more) for i in range(n)]))
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        tensor.copy_(flat.view(tensor.shape))


# %% answer="gpus_ring" wrong="a star"
def reduce_scatter_ring(chunks):
    r, n = get_rank(), get_world_size()
    for s in range(n - 1):
        send(chunks[(r - 1 - s) % n], (r + 1) % n)
        chunks[(r - 2 - s) % n].add_(received((r - 1) % n))


def all_gather_ring(chunks):
    r, n = get_rank(), get_world_size()
    for s in range(n - 1):
        send(chunks[(r - s) % n], (r + 1) % n)
        recv(chunks[(r - 1 - s) % n], (r - 1) % n)


def all_reduce(tensor):
    r, n = get_rank(), get_world_size()
    with no_grad():
        own = tensor.clone()
        for other in range(n):
            if other != r: send(own, other)
        for other in range(n):
            if other != r: tensor.add_(received(other))


# %% answer="gpus_ddp" right="as first written, from the task alone"
def in_buckets(parameters, capacity):
    buckets = []
    for p in reversed(parameters):
        if not buckets or sum(q.nbytes for q in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(p)
    return buckets


def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and all(p in self.arrived for p in self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived.clear()
        self.reduced = 0


def average_gradients(parameters):
    with no_grad():
        vector = cat([p.grad.reshape(-1) for p in parameters])
        distributed.all_reduce(vector)
        vector /= distributed.get_world_size()
        start = 0
        for p in parameters:
            p.grad.copy_(vector[start : start + p.numel()].view(p.shape))
            start += p.numel()


# %% answer="gpus_ddp" right="divides before it sends"
def in_buckets(parameters, capacity):
    buckets = []
    for p in reversed(parameters):
        if not buckets or sum(q.nbytes for q in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(p)
    return buckets


def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and all(p in self.arrived for p in self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived.clear()
        self.reduced = 0


def average_gradients(parameters):
    size = distributed.get_world_size()
    with no_grad():
        for p in parameters:
            p.grad.div_(size)
        vector = cat([p.grad.flatten() for p in parameters])
        distributed.all_reduce(vector)
        for p, new in zip(parameters, vector.split([p.numel() for p in parameters])):
            p.grad.copy_(new.reshape(p.grad.shape))


# %% answer="gpus_ddp" wrong="parameter in bucket compares elements"
def in_buckets(parameters, capacity):
    buckets = []
    for p in reversed(parameters):
        if not buckets or sum(q.nbytes for q in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(p)
    return buckets


def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    for number, bucket in enumerate(self.buckets):
        if parameter in bucket and all(p in self.arrived for p in bucket):
            average_gradients(bucket)
            self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived.clear(); self.reduced = 0


def average_gradients(parameters):
    with no_grad():
        vector = cat([p.grad.reshape(-1) for p in parameters])
        distributed.all_reduce(vector)
        vector /= distributed.get_world_size()
        start = 0
        for p in parameters:
            p.grad.copy_(vector[start : start + p.numel()].view(p.shape))
            start += p.numel()


# %% answer="gpus_ddp" wrong="reads no_sync in the backward pass" spoils="on_gradient"
def on_gradient(self, parameter):
    if not self.require_backward_grad_sync:
        return
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived, self.reduced = set(), 0


# %% answer="gpus_ddp" wrong="averages only if both passes are outside no_sync" spoils="on_gradient"
def on_gradient(self, parameter):
    if not (self.averages and self.require_backward_grad_sync):
        return
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived, self.reduced = set(), 0


# %% answer="gpus_ddp" wrong="averages if either pass is outside no_sync" spoils="on_gradient"
def on_gradient(self, parameter):
    if not (self.averages or self.require_backward_grad_sync):
        return
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived, self.reduced = set(), 0


# %% answer="gpus_ddp" wrong="sum for mean"
def in_buckets(parameters, capacity):
    buckets = []
    for p in reversed(parameters):
        if not buckets or sum(q.nbytes for q in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(p)
    return buckets


def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and all(p in self.arrived for p in self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived.clear()
        self.reduced = 0


def average_gradients(parameters):
    with no_grad():
        vector = cat([p.grad.flatten() for p in parameters])
        distributed.all_reduce(vector)
        start = 0
        for p in parameters:
            p.grad.copy_(vector[start : start + p.numel()].view(p.shape))
            start += p.numel()


# %% answer="gpus_repair_mean" right="as first written, from the task alone"
def loss_of(losses, mask):
    tokens = mask.sum()
    distributed.all_reduce(tokens)
    return (losses * mask).sum() * distributed.get_world_size() / tokens


# %% answer="gpus_repair_mean" wrong="the rank's mean times a weight, nan where all is padding"
def loss_of(losses, mask):
    numbers = mask.sum().detach().clone()
    distributed.all_reduce(numbers)
    weight = mask.sum() * distributed.get_world_size() / numbers
    return (losses * mask).sum() / mask.sum() * weight


# %% answer="gpus_repair_mean" right="value is the global mean"
def loss_of(losses, mask):
    pair = library.stack([mask.sum(), (losses * mask).sum().detach()])
    distributed.all_reduce(pair)
    loss = (losses * mask).sum() * distributed.get_world_size() / pair[0]
    return loss + (pair[1] / pair[0] - loss.detach())     # value: the global mean; gradient: right


# %% answer="gpus_repair_mean" wrong="not times the number of ranks"
def loss_of(losses, mask):
    count = mask.sum()
    distributed.all_reduce(count)
    return (losses * mask).sum() / count


# %% answer="gpus_measure_bucket" right="one by one"
def best_bucket(step_time, alone):
    best, sizes = None, [2.0**e for e in range(-4, 9)]
    for s in sizes:
        if best is None or step_time(s) < step_time(best): best = s
    whole = step_time(float("inf"))
    return best, (whole - step_time(best)) / (whole - alone)


# %% answer="gpus_measure_bucket" wrong="share of the whole step"
def best_bucket(step_time, alone):
    sizes = [2.0**e for e in range(-4, 9)]
    times = {s: step_time(s) for s in sizes}
    best = min(times, key=times.get)
    return best, (step_time(float("inf")) - times[best]) / step_time(float("inf"))


# %% answer="gpus_predict_processes" right="as first written, from the task alone"
prediction = [9, 9, 0, 10, 9]


# %% answer="gpus_predict_processes" wrong="1 for 10"
prediction = [9, 9, 0, 1, 9]


# %% answer="gpus_predict_pass" wrong="the first chunk is the whole batch"
prediction = [0, 6, 6, 12]


# %% answer="gpus_predict_pass" wrong="one pass"
prediction = [0, 3, 2, 2]


# %% answer="gpus_predict_pass" wrong="the dict is copied, the list is shared"
prediction = [0, 6, 0, 4]


# %% answer="gpus_predict_pass" wrong="even shares of 1 and 2 rows"
prediction = [0, 8, 1, 4]


# %% answer="gpus_predict_pass" wrong="integers are shared, too"
prediction = [6, 6, 2, 4]


# %% answer="gpus_predict_pass" wrong="no buffer comes back"
prediction = [0, 6, 2, 0]


# %% answer="gpus_predict_pass" right="a tuple"
prediction = (0, 3 * 2, 2, 2 + 2)


# %% answer="gpus_predict_pass" right="an array"
prediction = np.array([0, 6, 2, 4])


# %% answer="gpus_predict_pass" right="computed from the chunks"
chunks = -(-6 // 4)
prediction = [0, 2 * (6 // chunks), chunks, 2 * chunks]


# %% answer="gpus_data_parallel" wrong="a list where a tuple of chunks is promised" spoils="scatter"
def scatter(inputs, device_ids):
    if isinstance(inputs, Tensor):
        return [piece.to(device("cuda", each)) for each, piece in zip(device_ids, inputs.chunk(len(device_ids)))]
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(each, device_ids) for each in inputs)))
    return [inputs] * len(device_ids)


# %% answer="gpus_data_parallel" wrong="tensors in a tuple alone, not in a tuple within it" spoils="scatter"
def scatter(inputs, device_ids):
    def pieces(x):
        if isinstance(x, Tensor):
            return tuple(piece.to(device("cuda", each)) for each, piece in zip(device_ids, x.chunk(len(device_ids))))
        return [x] * len(device_ids)

    if isinstance(inputs, tuple) and inputs:
        return list(zip(*map(pieces, inputs)))
    return pieces(inputs)


# %% answer="gpus_data_parallel" wrong="lists are divided, too" spoils="scatter"
def scatter(inputs, device_ids):
    if isinstance(inputs, Tensor):
        return tuple(piece.to(device("cuda", each)) for each, piece in zip(device_ids, inputs.chunk(len(device_ids))))
    if isinstance(inputs, (tuple, list)) and inputs:
        return list(zip(*(scatter(each, device_ids) for each in inputs)))
    return [inputs] * len(device_ids)


# %% answer="gpus_data_parallel" wrong="an empty tuple goes to no GPU" spoils="scatter"
def scatter(inputs, device_ids):
    if isinstance(inputs, Tensor):
        return tuple(piece.to(device("cuda", each)) for each, piece in zip(device_ids, inputs.chunk(len(device_ids))))
    if isinstance(inputs, tuple):
        return list(zip(*(scatter(each, device_ids) for each in inputs)))
    return [inputs] * len(device_ids)


# %% answer="gpus_data_parallel" wrong="as many rows as GPUs, one after another" spoils="scatter"
def scatter(inputs, device_ids):
    if isinstance(inputs, Tensor):
        count = len(device_ids)
        return tuple(inputs[place::count].to(device("cuda", each)) for place, each in enumerate(device_ids) if place < len(inputs))
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(each, device_ids) for each in inputs)))
    return [inputs] * len(device_ids)


# %% answer="gpus_data_parallel" wrong="chunks stay where they were" spoils="scatter"
def scatter(inputs, device_ids):
    if isinstance(inputs, Tensor):
        return tuple(inputs.chunk(len(device_ids)))
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(each, device_ids) for each in inputs)))
    return [inputs] * len(device_ids)


# %% answer="gpus_data_parallel" wrong="all elements must have as many pieces" spoils="scatter"
def scatter(inputs, device_ids):
    if isinstance(inputs, Tensor):
        return tuple(piece.to(device("cuda", each)) for each, piece in zip(device_ids, inputs.chunk(len(device_ids))))
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(each, device_ids) for each in inputs), strict=True))
    return [inputs] * len(device_ids)


# %% answer="gpus_data_parallel" right="a match statement, devices by string"
def scatter(inputs, device_ids):
    match inputs:
        case Tensor():
            return tuple(x.to(f"cuda:{number}") for number, x in zip(device_ids, inputs.chunk(len(device_ids))))
        case (_, *_) if isinstance(inputs, tuple):
            return [*zip(*[scatter(each, device_ids) for each in inputs])]
    return [inputs for _ in device_ids]


# %% answer="gpus_data_parallel" right="chunk along dim 0, cuda with a number"
def scatter(inputs, device_ids):
    if isinstance(inputs, tuple) and len(inputs) > 0:
        rows = [scatter(each, device_ids) for each in inputs]
        shortest = min(len(each) for each in rows)
        return [tuple(each[place] for each in rows) for place in range(shortest)]
    if not isinstance(inputs, Tensor):
        return [inputs] * len(device_ids)
    chunks = inputs.chunk(len(device_ids), dim=0)
    return tuple(chunk.to(device(f"cuda:{device_ids[place]}")) for place, chunk in enumerate(chunks))


# %% answer="gpus_data_parallel" wrong="calls the constructor" spoils="replica"
def replica(module, where, made):
    if module not in made:
        try:
            new = type(module)()
        except TypeError:
            new = object.__new__(type(module))
        made[module] = new
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
        for table, target in ((module._parameters, new.__dict__), (module._buffers, new._buffers)):
            for name, tensor in table.items():
                if tensor is not None and tensor not in made:
                    made[tensor] = tensor.to(where)
                target[name] = None if tensor is None else made[tensor]
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


# %% answer="gpus_data_parallel" wrong="an ordinary Module" spoils="replica"
def replica(module, where, made):
    if module not in made:
        made[module] = new = object.__new__(Module)
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
        for table, target in ((module._parameters, new.__dict__), (module._buffers, new._buffers)):
            for name, tensor in table.items():
                if tensor is not None and tensor not in made:
                    made[tensor] = tensor.to(where)
                target[name] = None if tensor is None else made[tensor]
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


# %% answer="gpus_data_parallel" wrong="None is left out" spoils="replica"
def replica(module, where, made):
    if module not in made:
        made[module] = new = object.__new__(type(module))
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
        for table, target in ((module._parameters, new.__dict__), (module._buffers, new._buffers)):
            for name, tensor in table.items():
                if tensor is not None:
                    if tensor not in made:
                        made[tensor] = tensor.to(where)
                    target[name] = made[tensor]
        for name, child in module._modules.items():
            if child is not None:
                new._modules[name] = replica(child, where, made)
    return made[module]


# %% answer="gpus_data_parallel" wrong="parameters stay parameters" spoils="replica"
def replica(module, where, made):
    from mytorch.nn import Parameter

    if module not in made:
        made[module] = new = object.__new__(type(module))
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
        for name, p in module._parameters.items():
            if p is not None and p not in made:
                made[p] = Parameter(p.to(where))
            new._parameters[name] = None if p is None else made[p]
        for name, b in module._buffers.items():
            new._buffers[name] = None if b is None else b.to(where)
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


# %% answer="gpus_data_parallel" wrong="buffers are copied even where they stay" spoils="replica"
def replica(module, where, made):
    if module not in made:
        made[module] = new = object.__new__(type(module))
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
        for name, p in module._parameters.items():
            if p is not None and p not in made:
                made[p] = p.to(where)
            new.__dict__[name] = None if p is None else made[p]
        for name, b in module._buffers.items():
            new._buffers[name] = None if b is None else b.clone().to(where)
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


# %% answer="gpus_data_parallel" wrong="a frozen parameter gets a gradient" spoils="replica"
def replica(module, where, made):
    if module not in made:
        made[module] = new = object.__new__(type(module))
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
        for name, p in module._parameters.items():
            if p is not None and p not in made:
                made[p] = p.to(where) if p.requires_grad else p.to(where).requires_grad_()
            new.__dict__[name] = None if p is None else made[p]
        for name, b in module._buffers.items():
            if b is not None and b not in made:
                made[b] = b.to(where)
            new._buffers[name] = None if b is None else made[b]
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


# %% answer="gpus_data_parallel" wrong="the replica trains, whatever the module's mode" spoils="replica"
def replica(module, where, made):
    if module not in made:
        made[module] = new = object.__new__(type(module))
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}, "training": True}
        for table, target in ((module._parameters, new.__dict__), (module._buffers, new._buffers)):
            for name, tensor in table.items():
                if tensor is not None and tensor not in made:
                    made[tensor] = tensor.to(where)
                target[name] = None if tensor is None else made[tensor]
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


# %% answer="gpus_data_parallel" wrong="a new dict of copies for each child" spoils="replica"
def replica(module, where, made):
    if module not in made:
        made[module] = new = object.__new__(type(module))
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
        for table, target in ((module._parameters, new.__dict__), (module._buffers, new._buffers)):
            for name, tensor in table.items():
                if tensor is not None and tensor not in made:
                    made[tensor] = tensor.to(where)
                target[name] = None if tensor is None else made[tensor]
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, {})
    return made[module]


# %% answer="gpus_data_parallel" right="copy.copy, setdefault"
def replica(module, where, made):
    import copy

    if module in made:
        return made[module]
    new = copy.copy(module)
    made[module] = new
    vars(new).update(_parameters={}, _buffers={}, _modules={})

    def moved(x):
        return None if x is None else made[x] if x in made else made.setdefault(x, x.to(where))

    vars(new).update({name: moved(p) for name, p in module._parameters.items()})
    new._buffers = {name: moved(b) for name, b in module._buffers.items()}
    new._modules = {name: child and replica(child, where, made) for name, child in module._modules.items()}
    return new


# %% answer="gpus_data_parallel" right="children first"
def replica(module, where, made):
    if module is None or module in made:
        return made.get(module)
    new = object.__new__(type(module))
    made[module] = new
    children = {name: replica(child, where, made) for name, child in module._modules.items()}
    new.__dict__.update(module.__dict__)
    new.__dict__["_modules"] = children
    new.__dict__["_parameters"], new.__dict__["_buffers"] = dict(), dict()
    for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
        if tensor is not None and tensor not in made:
            made[tensor] = tensor.to(where)
        target = new.__dict__ if name in module._parameters else new._buffers
        target[name] = made.get(tensor)
    return new


# %% answer="gpus_data_parallel" wrong="stacks" spoils="gather"
def gather(outputs, where):
    from mytorch import stack

    if isinstance(outputs[0], tuple):
        return tuple(gather(column, where) for column in zip(*outputs))
    return stack([each.to(device("cuda", where)) for each in outputs])


# %% answer="gpus_data_parallel" wrong="joins before it moves" spoils="gather"
def gather(outputs, where):
    if isinstance(outputs[0], tuple):
        return tuple(gather(column, where) for column in zip(*outputs))
    return cat([each if each.ndim else each.reshape(1) for each in outputs]).to(device("cuda", where))


# %% answer="gpus_data_parallel" wrong="a list of tuples" spoils="gather"
def gather(outputs, where):
    if isinstance(outputs[0], tuple):
        return [gather(column, where) for column in zip(*outputs)]
    return cat([(each if each.ndim else each.reshape(1)).to(device("cuda", where)) for each in outputs])


# %% answer="gpus_data_parallel" wrong="along the last dimension" spoils="gather"
def gather(outputs, where):
    if isinstance(outputs[0], tuple):
        return tuple(gather(column, where) for column in zip(*outputs))
    return cat([(each if each.ndim else each.reshape(1)).to(device("cuda", where)) for each in outputs], -1)


# %% answer="gpus_data_parallel" wrong="one result is returned as it is" spoils="gather"
def gather(outputs, where):
    if len(outputs) == 1:
        return outputs[0]
    if isinstance(outputs[0], tuple):
        return tuple(gather(column, where) for column in zip(*outputs))
    return cat([(each if each.ndim else each.reshape(1)).to(device("cuda", where)) for each in outputs])


# %% answer="gpus_data_parallel" wrong="detached results" spoils="gather"
def gather(outputs, where):
    if isinstance(outputs[0], tuple):
        return tuple(gather(column, where) for column in zip(*outputs))
    return cat([(each if each.ndim else each.reshape(1)).detach().to(device("cuda", where)) for each in outputs])


# %% answer="gpus_data_parallel" wrong="every result as a row of numbers" spoils="gather"
def gather(outputs, where):
    if isinstance(outputs[0], tuple):
        return tuple(gather(column, where) for column in zip(*outputs))
    return cat([each.reshape(-1).to(device("cuda", where)) for each in outputs])


# %% answer="gpus_data_parallel" right="stack for 0-d tensors, all for tuples"
def gather(outputs, where):
    from mytorch import stack

    if all(isinstance(each, tuple) for each in outputs):
        return tuple([gather(list(column), where) for column in zip(*outputs)])
    moved = [each.to(f"cuda:{where}") for each in outputs]
    return cat(moved, dim=0) if moved[0].ndim > 0 else stack(moved)


# %% answer="gpus_data_parallel" right="unsqueeze, indexes of the tuple"
def gather(outputs, where):
    first, there = outputs[0], device("cuda", where)
    if isinstance(first, Tensor):
        return cat([x.to(there).unsqueeze(0) if x.ndim == 0 else x.to(there) for x in outputs])
    return tuple(gather([each[place] for each in outputs], where) for place in range(len(first)))


# %% answer="gpus_ring" wrong="replaces the chunks" spoils="reduce_scatter_ring"
def reduce_scatter_ring(chunks):
    chunks = list(chunks)
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step - 1) % size], (rank + 1) % size)
        number = (rank - step - 2) % size
        chunks[number] = chunks[number] + received((rank - 1) % size)


# %% answer="gpus_ring" wrong="the other way round" spoils="reduce_scatter_ring"
def reduce_scatter_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank + step + 1) % size], (rank - 1) % size)
        chunks[(rank + step + 2) % size].add_(received((rank + 1) % size))


# %% answer="gpus_ring" wrong="a step more" spoils="reduce_scatter_ring"
def reduce_scatter_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size):
        send(chunks[(rank - step - 1) % size], (rank + 1) % size)
        chunks[(rank - step - 2) % size].add_(received((rank - 1) % size))


# %% answer="gpus_ring" wrong="overwrites" spoils="reduce_scatter_ring"
def reduce_scatter_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step - 1) % size], (rank + 1) % size)
        recv(chunks[(rank - step - 2) % size], (rank - 1) % size)


# %% answer="gpus_ring" wrong="adds to the chunk that it has sent" spoils="reduce_scatter_ring"
def reduce_scatter_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step - 1) % size], (rank + 1) % size)
        chunks[(rank - step - 1) % size].add_(received((rank - 1) % size))


# %% answer="gpus_ring" wrong="the mean" spoils="reduce_scatter_ring"
def reduce_scatter_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step - 1) % size], (rank + 1) % size)
        chunks[(rank - step - 2) % size].add_(received((rank - 1) % size))
    chunks[rank].div_(size)


# %% answer="gpus_ring" right="counts the chunk down, +="
def reduce_scatter_ring(chunks):
    size = get_world_size()
    right, left = (get_rank() + 1) % size, (get_rank() - 1) % size
    number = left
    for _ in range(size - 1):
        send(chunks[number], right)
        number = (number - 1) % size
        own = chunks[number]
        own += received(left)


# %% answer="gpus_ring" right="copies a sum into the chunk, counted from 1"
def reduce_scatter_ring(chunks):
    rank, size = get_rank(), len(chunks)
    for step in range(1, size):
        out, into = (rank - step) % size, (rank - step - 1) % size
        send(chunks[out], (rank + 1) % size)
        chunks[into].copy_(chunks[into] + received((rank - 1) % size))


# %% answer="gpus_ring" right="index by slicing of a doubled list"
def reduce_scatter_ring(chunks):
    rank, size = get_rank(), get_world_size()
    order = [chunks[number % size] for number in range(rank - 1, rank - 1 - size, -1)]
    for mine, next_one in zip(order, order[1:]):
        send(mine, (rank + 1) % size)
        next_one.add_(received((rank + size - 1) % size))


# %% answer="gpus_ring" wrong="replaces the chunks" spoils="all_gather_ring"
def all_gather_ring(chunks):
    chunks = list(chunks)
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step) % size], (rank + 1) % size)
        chunks[(rank - step - 1) % size] = received((rank - 1) % size)


# %% answer="gpus_ring" wrong="passes its own chunk on in each step" spoils="all_gather_ring"
def all_gather_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[rank], (rank + 1) % size)
        recv(chunks[(rank - step - 1) % size], (rank - 1) % size)


# %% answer="gpus_ring" wrong="starts with the chunk that the reduce-scatter starts with" spoils="all_gather_ring"
def all_gather_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step - 1) % size], (rank + 1) % size)
        recv(chunks[(rank - step - 2) % size], (rank - 1) % size)


# %% answer="gpus_ring" wrong="a broadcast from each rank" spoils="all_gather_ring"
def all_gather_ring(chunks):
    for rank in range(get_world_size()):
        broadcast(chunks[rank], rank)


# %% answer="gpus_ring" wrong="a step more" spoils="all_gather_ring"
def all_gather_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size):
        send(chunks[(rank - step) % size], (rank + 1) % size)
        recv(chunks[(rank - step - 1) % size], (rank - 1) % size)


# %% answer="gpus_ring" wrong="overwrites the chunk of the step before" spoils="all_gather_ring"
def all_gather_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank - step) % size], (rank + 1) % size)
        recv(chunks[(rank - step) % size], (rank - 1) % size)


# %% answer="gpus_ring" right="copy_ of what was received"
def all_gather_ring(chunks):
    rank, size = get_rank(), get_world_size()
    number = rank
    for _ in range(1, size):
        send(chunks[number], (rank + 1) % size)
        number = (number - 1) % size
        chunks[number].copy_(received((rank - 1) % size))


# %% answer="gpus_ring" right="writes by slicing"
def all_gather_ring(chunks):
    rank, size = get_rank(), get_world_size()
    for step in range(size - 1):
        send(chunks[(rank + size - step) % size], (rank + 1) % size)
        chunks[(rank + size - step - 1) % size][...] = received((rank + size - 1) % size)


# %% answer="gpus_ring" right="order as a list, pairs"
def all_gather_ring(chunks):
    rank, size = get_rank(), get_world_size()
    order = [chunks[(rank - each) % size] for each in range(size)]
    for out, into in zip(order[:-1], order[1:]):
        send(out, (rank + 1) % size)
        recv(into, (rank - 1) % size)


# %% answer="gpus_ring" wrong="recorded" spoils="all_reduce"
def all_reduce(tensor):
    size = get_world_size()
    least, more = divmod(tensor.numel(), size)
    flat = tensor.contiguous().view(-1)
    chunks = flat.split([least + (rank < more) for rank in range(size)])
    reduce_scatter_ring(chunks)
    all_gather_ring(chunks)
    tensor.copy_(flat.view(tensor.shape))


# %% answer="gpus_ring" wrong="the remainder in the last chunk" spoils="all_reduce"
def all_reduce(tensor):
    size = get_world_size()
    least, more = divmod(tensor.numel(), size)
    with no_grad():
        flat = tensor.contiguous().view(-1)
        chunks = flat.split([least] * (size - 1) + [least + more])
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        tensor.copy_(flat.view(tensor.shape))


# %% answer="gpus_ring" wrong="chunks as chunk makes them" spoils="all_reduce"
def all_reduce(tensor):
    with no_grad():
        flat = tensor.contiguous().view(-1)
        chunks = flat.chunk(get_world_size())
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        tensor.copy_(flat.view(tensor.shape))


# %% answer="gpus_ring" wrong="a result in place of the argument" spoils="all_reduce"
def all_reduce(tensor):
    size = get_world_size()
    least, more = divmod(tensor.numel(), size)
    with no_grad():
        flat = tensor.contiguous().view(-1).clone()
        chunks = flat.split([least + (rank < more) for rank in range(size)])
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        return flat.view(tensor.shape)


# %% answer="gpus_ring" wrong="the elements in the order of memory" spoils="all_reduce"
def all_reduce(tensor):
    size = get_world_size()
    least, more = divmod(tensor.numel(), size)
    with no_grad():
        turned = tensor.t() if tensor.ndim == 2 else tensor
        flat = turned.contiguous().view(-1)
        chunks = flat.split([least + (rank < more) for rank in range(size)])
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        tensor.copy_(flat.view(tensor.shape))


# %% answer="gpus_ring" right="bounds, detach"
def all_reduce(tensor):
    size = get_world_size()
    with no_grad():
        flat = tensor.detach().reshape(-1).contiguous()
        least, more = divmod(len(flat), size)
        chunks, begin = [], 0
        for rank in range(size):
            end = begin + least + (1 if rank < more else 0)
            chunks.append(flat[begin:end])
            begin = end
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        tensor.copy_(flat.reshape(tensor.shape))


# %% answer="gpus_ring" right="bounds by a formula, of a copy"
def all_reduce(tensor):
    size, count = get_world_size(), tensor.numel()
    with no_grad():
        flat = tensor.flatten().clone()
        at = [rank * (count // size) + min(rank, count % size) for rank in range(size + 1)]
        chunks = tuple(flat[begin:end] for begin, end in zip(at, at[1:]))
        reduce_scatter_ring(chunks)
        all_gather_ring(chunks)
        tensor.copy_(flat.view_as(tensor))


# %% answer="gpus_ring" right="no_grad as a decorator"
@no_grad()
def all_reduce(tensor):
    n, size = tensor.numel(), get_world_size()
    flat = tensor.contiguous().view(-1)
    chunks = flat.split([n // size + int(rank < n % size) for rank in range(size)])
    reduce_scatter_ring(chunks)
    all_gather_ring(chunks)
    if not tensor.is_contiguous():
        tensor.copy_(flat.view(tensor.shape))


# %% answer="gpus_ddp" wrong="the last bucket first" spoils="in_buckets"
def in_buckets(parameters, capacity):
    buckets = [[]]
    for each in reversed(parameters):
        if sum(other.nbytes for other in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(each)
    return buckets[::-1]


# %% answer="gpus_ddp" wrong="four bytes for each element" spoils="in_buckets"
def in_buckets(parameters, capacity):
    buckets = [[]]
    for each in reversed(parameters):
        if sum(4 * other.numel() for other in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(each)
    return buckets


# %% answer="gpus_ddp" wrong="closed only above the capacity" spoils="in_buckets"
def in_buckets(parameters, capacity):
    buckets = [[]]
    for each in reversed(parameters):
        if sum(other.nbytes for other in buckets[-1]) > capacity:
            buckets.append([])
        buckets[-1].append(each)
    return buckets


# %% answer="gpus_ddp" wrong="an empty bucket at the end" spoils="in_buckets"
def in_buckets(parameters, capacity):
    buckets = [[]]
    for each in reversed(parameters):
        buckets[-1].append(each)
        if sum(other.nbytes for other in buckets[-1]) >= capacity:
            buckets.append([])
    return buckets


# %% answer="gpus_ddp" wrong="turns the caller's list around" spoils="in_buckets"
def in_buckets(parameters, capacity):
    parameters.reverse()
    buckets = [[]]
    for each in parameters:
        if sum(other.nbytes for other in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(each)
    return buckets


# %% answer="gpus_ddp" wrong="the size of all buckets so far" spoils="in_buckets"
def in_buckets(parameters, capacity):
    buckets, filled = [[]], 0
    for each in reversed(parameters):
        if filled >= capacity * len(buckets):
            buckets.append([])
        buckets[-1].append(each)
        filled += each.nbytes
    return buckets


# %% answer="gpus_ddp" wrong="sorted by size" spoils="in_buckets"
def in_buckets(parameters, capacity):
    buckets = [[]]
    for each in sorted(parameters, key=lambda each: each.nbytes):
        if sum(other.nbytes for other in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(each)
    return buckets


# %% answer="gpus_ddp" right="a running size"
def in_buckets(parameters, capacity):
    buckets, room = [[]], capacity
    for place in range(len(parameters) - 1, -1, -1):
        if room <= 0:
            buckets.append([])
            room = capacity
        buckets[-1].append(parameters[place])
        room -= parameters[place].nbytes
    return buckets


# %% answer="gpus_ddp" right="numel times element_size, a slice"
def in_buckets(parameters, capacity):
    buckets, current, size = [], [], 0
    for each in parameters[::-1]:
        if current and size >= capacity:
            buckets.append(current)
            current, size = [], 0
        current.append(each)
        size += each.numel() * each.element_size()
    return [*buckets, current]


# %% answer="gpus_ddp" wrong="sends a bucket again when it is full" spoils="on_gradient"
def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    for bucket in self.buckets:
        if self.arrived.issuperset(bucket):
            average_gradients(bucket)
    if len(self.arrived) == sum(map(len, self.buckets)):
        self.arrived, self.reduced = set(), 0


# %% answer="gpus_ddp" wrong="everything at the end" spoils="on_gradient"
def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    if len(self.arrived) == sum(map(len, self.buckets)):
        for bucket in self.buckets:
            average_gradients(bucket)
        self.arrived, self.reduced = set(), 0


# %% answer="gpus_ddp" wrong="the count stays" spoils="on_gradient"
def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived.clear()


# %% answer="gpus_ddp" wrong="notes a parameter also in no_sync" spoils="on_gradient"
def on_gradient(self, parameter):
    self.arrived.add(parameter)
    if not self.averages:
        return
    while self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.arrived, self.reduced = set(), 0


# %% answer="gpus_ddp" wrong="forgets the parameters of a bucket that is sent" spoils="on_gradient"
def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived.add(parameter)
    while self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
        average_gradients(self.buckets[self.reduced])
        self.arrived.difference_update(self.buckets[self.reduced])
        self.reduced += 1
    if self.reduced == len(self.buckets):
        self.reduced = 0


# %% answer="gpus_ddp" right="a for loop with a break, ids"
def on_gradient(self, parameter):
    if self.averages:
        self.arrived.add(parameter)
        here = {id(each) for each in self.arrived}
        for bucket in self.buckets[self.reduced :]:
            if not all(id(each) in here for each in bucket):
                break
            average_gradients(bucket)
            self.reduced += 1
        if self.reduced >= len(self.buckets):
            self.arrived.clear()
            self.reduced = 0


# %% answer="gpus_ddp" right="subset, and a return in the loop"
def on_gradient(self, parameter):
    if not self.averages:
        return
    self.arrived |= {parameter}
    while set(self.buckets[self.reduced]) <= self.arrived:
        average_gradients(self.buckets[self.reduced])
        self.reduced += 1
        if self.reduced == len(self.buckets):
            self.arrived, self.reduced = set(), 0
            return


# %% answer="gpus_ddp" wrong="divides twice" spoils="average_gradients"
def average_gradients(parameters):
    with no_grad():
        size = distributed.get_world_size()
        vector = cat([each.grad.reshape(-1) for each in parameters]) / size
        distributed.all_reduce(vector)
        for each, part in zip(parameters, (vector / size).split([each.numel() for each in parameters])):
            each.grad.copy_(part.view(each.shape))


# %% answer="gpus_ddp" wrong="recorded" spoils="average_gradients"
def average_gradients(parameters):
    vector = cat([each.grad.reshape(-1) for each in parameters]) / distributed.get_world_size()
    distributed.all_reduce(vector)
    for each, part in zip(parameters, vector.split([each.numel() for each in parameters])):
        each.grad.copy_(part.view(each.shape))


# %% answer="gpus_ddp" wrong="averages the parameters" spoils="average_gradients"
def average_gradients(parameters):
    with no_grad():
        vector = cat([each.reshape(-1) for each in parameters]) / distributed.get_world_size()
        distributed.all_reduce(vector)
        for each, part in zip(parameters, vector.split([each.numel() for each in parameters])):
            each.copy_(part.view(each.shape))


# %% answer="gpus_ddp" wrong="writes the parts back from the last to the first" spoils="average_gradients"
def average_gradients(parameters):
    with no_grad():
        vector = cat([each.grad.reshape(-1) for each in parameters]) / distributed.get_world_size()
        distributed.all_reduce(vector)
        begin = 0
        for each in reversed(parameters):
            each.grad.copy_(vector[begin : begin + each.numel()].view(each.shape))
            begin += each.numel()


# %% answer="gpus_ddp" wrong="the elements in the order of memory" spoils="average_gradients"
def average_gradients(parameters):
    with no_grad():
        vector = cat([each.grad.reshape(-1) for each in parameters]) / distributed.get_world_size()
        distributed.all_reduce(vector)
        vector = vector + distributed.get_rank() * (vector * 0)
        for each, part in zip(parameters, vector.split([each.numel() for each in parameters])):
            flipped = part.view(each.shape[::-1]).t() if each.ndim == 2 else part.view(each.shape)
            each.grad.copy_(flipped)


# %% answer="gpus_ddp" wrong="always two ranks" spoils="average_gradients"
def average_gradients(parameters):
    with no_grad():
        vector = cat([each.grad.reshape(-1) for each in parameters]) / 2
        distributed.all_reduce(vector)
        for each, part in zip(parameters, vector.split([each.numel() for each in parameters])):
            each.grad.copy_(part.view(each.shape))


# %% answer="gpus_ddp" wrong="through a list of numbers, which is a new gradient" spoils="average_gradients"
def average_gradients(parameters):
    with no_grad():
        vector = cat([each.grad.reshape(-1) for each in parameters]) / distributed.get_world_size()
        distributed.all_reduce(vector)
        begin = 0
        for each in parameters:
            each.grad = vector[begin : begin + each.numel()].reshape(each.shape).clone()
            begin += each.numel()


# %% answer="gpus_ddp" right="a decorator, numbered bounds"
@no_grad()
def average_gradients(parameters):
    gradients = [each.grad for each in parameters]
    vector = cat([each.flatten() for each in gradients])
    distributed.all_reduce(vector)
    vector.div_(distributed.get_world_size())
    end = 0
    for each in gradients:
        begin, end = end, end + each.numel()
        each.copy_(vector[begin:end].reshape(each.shape))


# %% answer="gpus_ddp" right="detached gradients, view_as"
def average_gradients(parameters):
    gradients = [each.grad.detach() for each in parameters]
    with no_grad():
        vector = cat([each.reshape(-1) for each in gradients])
        distributed.all_reduce(vector)
        parts = vector.split([each.numel() for each in gradients])
        for each, part in zip(gradients, parts):
            each.copy_(part.view_as(each) / distributed.get_world_size())


# %% answer="gpus_repair_mean" wrong="sums the losses themselves"
def loss_of(losses, mask):
    tokens, total = mask.sum(), (losses * mask).sum()
    distributed.all_reduce(tokens)
    distributed.all_reduce(total)
    return total / tokens


# %% answer="gpus_repair_mean" wrong="tokens times the number of ranks"
def loss_of(losses, mask):
    tokens = mask.sum()
    distributed.all_reduce(tokens)
    return (losses * mask).sum() / (tokens * distributed.get_world_size())


# %% answer="gpus_repair_mean" wrong="the mean of the sentences"
def loss_of(losses, mask):
    each = (losses * mask).sum(1) / mask.sum(1)
    return each.mean()


# %% answer="gpus_repair_mean" wrong="weights by positions, not tokens"
def loss_of(losses, mask):
    count = library.tensor(float(mask.numel()))
    distributed.all_reduce(count)
    return (losses * mask).sum() / count * distributed.get_world_size()


# %% answer="gpus_repair_mean" wrong="padding counts in the sum"
def loss_of(losses, mask):
    tokens = mask.sum()
    distributed.all_reduce(tokens)
    return losses.sum() / tokens * distributed.get_world_size()


# %% answer="gpus_repair_mean" wrong="sends all losses"
def loss_of(losses, mask):
    everything = library.zeros(distributed.get_world_size(), *losses.shape)
    everything[distributed.get_rank()] = mask
    distributed.all_reduce(everything)
    return (losses * mask).sum() / everything.sum() * distributed.get_world_size()


# %% answer="gpus_repair_mean" wrong="the sum of the rank's losses"
def loss_of(losses, mask):
    return (losses * mask).sum()


# %% answer="gpus_repair_mean" right="the mean number of tokens, indexing by the mask"
def loss_of(losses, mask):
    kept = losses[mask > 0]
    count = library.tensor(float(len(kept)))
    distributed.all_reduce(count)
    return kept.sum() / (count / distributed.get_world_size())


# %% answer="gpus_measure_bucket" wrong="starts with an eighth"
def best_bucket(step_time, alone):
    sizes = [2.0**power for power in range(-3, 9)]
    best = min(sizes, key=step_time)
    at_the_end = step_time(float("inf")) - alone
    return best, (at_the_end - (step_time(best) - alone)) / at_the_end


# %% answer="gpus_measure_bucket" wrong="ends with 128"
def best_bucket(step_time, alone):
    sizes = [2.0**power for power in range(-4, 8)]
    best = min(sizes, key=step_time)
    at_the_end = step_time(float("inf")) - alone
    return best, (at_the_end - (step_time(best) - alone)) / at_the_end


# %% answer="gpus_measure_bucket" wrong="what is left, not what is saved"
def best_bucket(step_time, alone):
    sizes = [2.0**power for power in range(-4, 9)]
    best = min(sizes, key=step_time)
    return best, (step_time(best) - alone) / (step_time(float("inf")) - alone)


# %% answer="gpus_measure_bucket" wrong="in percent"
def best_bucket(step_time, alone):
    sizes = [2.0**power for power in range(-4, 9)]
    best = min(sizes, key=step_time)
    whole = step_time(float("inf"))
    return best, 100 * (whole - step_time(best)) / (whole - alone)


# %% answer="gpus_measure_bucket" wrong="the whole is the bucket of 256 MB"
def best_bucket(step_time, alone):
    times = {2.0**power: step_time(2.0**power) for power in range(-4, 9)}
    best = min(times, key=times.get)
    return best, (times[256.0] - times[best]) / (times[256.0] - alone)


# %% answer="gpus_measure_bucket" wrong="stops at the first size that is no better"
def best_bucket(step_time, alone):
    best = 2.0**-4
    while best < 256 and step_time(2 * best) < step_time(best):
        best *= 2
    at_the_end = step_time(float("inf")) - alone
    return best, (at_the_end - (step_time(best) - alone)) / at_the_end


# %% answer="gpus_measure_bucket" wrong="measures each size four times"
def best_bucket(step_time, alone):
    times = {2.0**power: min(step_time(2.0**power) for _ in range(4)) for power in range(-4, 9)}
    best = min(times, key=times.get)
    whole = step_time(float("inf"))
    return best, (whole - times[best]) / (whole - alone)


# %% answer="gpus_measure_bucket" right="an array of times"
def best_bucket(step_time, alone):
    sizes = 2.0 ** np.arange(-4, 9)
    times = np.array([step_time(each) for each in sizes])
    whole = step_time(np.inf)
    return sizes[times.argmin()], 1 - (times.min() - alone) / (whole - alone)


# %% answer="gpus_measure_bucket" right="pairs, the least of them"
def best_bucket(step_time, alone):
    least, best = min((step_time(2.0**power), 2.0**power) for power in range(-4, 9))
    cost, cost_of_one = least - alone, step_time(float("inf")) - alone
    return best, (cost_of_one - cost) / cost_of_one


# %% answer="gpus_measure_bucket" right="halving from 256, with <="
def best_bucket(step_time, alone):
    size, best, least = 256.0, None, float("inf")
    while size >= 1 / 16:
        time = step_time(size)
        if time <= least:
            best, least = size, time
        size /= 2
    whole = step_time(float("inf"))
    return best, (whole - least) / (whole - alone)


# %% answer="gpus_predict_processes" wrong="a clone shares memory with its original"
prediction = [9, 0, 0, 10, 9]


# %% answer="gpus_predict_processes" wrong="only the first tensor is shared"
prediction = [9, 0, 0, 1, 9]


# %% answer="gpus_predict_processes" wrong="+= makes a new tensor, and arrays are shared"
prediction = [9, 9, 9, 1, 9]


# %% answer="gpus_predict_processes" wrong="9 for 10"
prediction = [9, 9, 0, 9, 9]


# %% answer="gpus_predict_processes" wrong="the child has copies, and d is an exception"
prediction = [0, 0, 0, 10, 0]


# %% answer="gpus_predict_processes" wrong="numbers from the other end"
prediction = [9, 0, 9, 9, 10]


# %% answer="gpus_predict_processes" right="a tuple"
prediction = 9, 9, 0, 1 + 9, 9


# %% answer="gpus_predict_processes" right="an array"
prediction = np.array([9, 9, 0, 10, 9])


# %% answer="gpus_predict_processes" right="floats"
prediction = [9.0, 9.0, 0.0, 10.0, 9.0]


# %% answer="gpus_data_parallel" wrong="joins pairs, and no pairs in pairs" spoils="gather"
def gather(outputs, where):
    there = device("cuda", where)
    def joined(results):
        return cat([(each.reshape(1) if each.ndim == 0 else each).to(there) for each in results])
    if isinstance(outputs[0], tuple):
        return tuple(joined(column) for column in zip(*outputs))
    return joined(outputs)


# %% answer="gpus_data_parallel" wrong="remembers parameters, while a buffer of two modules is copied twice" spoils="replica"
def replica(module: Module, where: device, made: dict[Any, Any]) -> Any:
    if module in made:
        return made[module]
    copied = made[module] = object.__new__(type(module))
    copied.__dict__.update({**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}})
    for name, each in module._parameters.items():
        if each is not None and each not in made:
            made[each] = each.to(where)
        copied.__dict__[name] = None if each is None else made[each]
    for name, each in module._buffers.items():
        copied._buffers[name] = None if each is None else each.to(where)
    for name, each in module._modules.items():
        copied._modules[name] = None if each is None else replica(each, where, made)
    return copied


# %% answer="gpus_data_parallel" right="the tables built first, and the object made at the end of the line"
def replica(module: Module, where: device, made: dict[Any, Any]) -> Any:
    if module not in made:
        twin = object.__new__(type(module))
        made[module] = twin

        def copied(table):
            results = {}
            for name, each in table.items():
                if each is not None and each not in made:
                    made[each] = each.to(where) if isinstance(each, Tensor) else replica(each, where, made)
                results[name] = None if each is None else made[each]
            return results

        vars(twin).update(vars(module))
        vars(twin).update(copied(module._parameters))
        vars(twin)["_parameters"] = {}
        vars(twin)["_buffers"] = copied(module._buffers)
        vars(twin)["_modules"] = copied(module._modules)
    return made[module]
