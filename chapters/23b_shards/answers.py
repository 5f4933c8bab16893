# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 23b` grades them.


# %% answer="shards_predict_bytes" right="as first written, from the task alone"
prediction = [256, 88, 60, 32, 64 + 16*8//8]


# %% answer="shards_zero" right="as first written, from the task alone"
def in_shards(tensor):
    n = get_world_size()
    small, more = divmod(tensor.numel(), n)
    return tensor.detach().view(-1).split([small + (i < more) for i in range(n)])


def mean_of_shard(gradient):
    with no_grad():
        chunks = in_shards(gradient.detach().contiguous().clone())
        reduce_scatter_ring(chunks)
        return chunks[get_rank()].clone() / get_world_size()


def gather_shards(shard, whole):
    with no_grad():
        chunks = in_shards(whole)
        chunks[get_rank()].copy_(shard)
        all_gather_ring(chunks)


def step(self):
    for p, s in zip(self.params, self.shards):
        s.grad = None if p.grad is None else mean_of_shard(p.grad).float()
    self.optim.step()
    for p, s in zip(self.params, self.shards):
        gather_shards(s, p)
        s.grad = None


# %% answer="shards_zero" right="own cuts, no second clone"
def in_shards(tensor):
    n = get_world_size()
    small, more = divmod(tensor.numel(), n)
    return tensor.detach().view(-1).split([small + (i < more) for i in range(n)])


def mean_of_shard(gradient):
    with no_grad():
        n = get_world_size()
        flat = gradient.contiguous().view(-1).clone()
        small, more = divmod(flat.numel(), n)
        chunks = list(flat.split([small + (i < more) for i in range(n)]))
        reduce_scatter_ring(chunks)
        return chunks[get_rank()] / n


def gather_shards(shard, whole):
    with no_grad():
        chunks = in_shards(whole)
        chunks[get_rank()].copy_(shard)
        all_gather_ring(chunks)


def step(self):
    for p, s in zip(self.params, self.shards):
        s.grad = None if p.grad is None else mean_of_shard(p.grad).float()
    self.optim.step()
    for p, s in zip(self.params, self.shards):
        gather_shards(s, p)
        s.grad = None


# %% answer="shards_zero" wrong="no check for None" spoils="step"
def in_shards(tensor):
    n = get_world_size()
    small, more = divmod(tensor.numel(), n)
    return tensor.detach().view(-1).split([small + (i < more) for i in range(n)])


def mean_of_shard(gradient):
    with no_grad():
        chunks = in_shards(gradient.detach().contiguous().clone())
        reduce_scatter_ring(chunks)
        return chunks[get_rank()].clone() / get_world_size()


def gather_shards(shard, whole):
    with no_grad():
        chunks = in_shards(whole)
        chunks[get_rank()].copy_(shard)
        all_gather_ring(chunks)


def step(self):
    for p, s in zip(self.params, self.shards):
        s.grad = mean_of_shard(p.grad).float()      # breaks if a parameter has no gradient
    self.optim.step()
    for p, s in zip(self.params, self.shards):
        gather_shards(s, p)
        s.grad = None


# %% answer="shards_zero" wrong="in_shards copies"
def in_shards(tensor):
    n = get_world_size()
    small, more = divmod(tensor.numel(), n)
    return [c.clone() for c in tensor.detach().view(-1).split([small + (i < more) for i in range(n)])]   # copies!


def mean_of_shard(gradient):
    with no_grad():
        n = get_world_size()
        flat = gradient.contiguous().view(-1).clone()
        small, more = divmod(flat.numel(), n)
        chunks = list(flat.split([small + (i < more) for i in range(n)]))
        reduce_scatter_ring(chunks)
        return chunks[get_rank()] / n


def gather_shards(shard, whole):
    with no_grad():
        n = get_world_size()
        small, more = divmod(whole.numel(), n)
        chunks = list(whole.detach().view(-1).split([small + (i < more) for i in range(n)]))
        chunks[get_rank()].copy_(shard)
        all_gather_ring(chunks)


def step(self):
    for p, s in zip(self.params, self.shards):
        s.grad = None if p.grad is None else mean_of_shard(p.grad).float()
    self.optim.step()
    for p, s in zip(self.params, self.shards):
        gather_shards(s, p)
        s.grad = None


# %% answer="shards_zero" wrong="rounded-up sizes"
def in_shards(tensor):
    n = get_world_size()
    size = -(-tensor.numel() // n)                           # ceil: 3,3,3,1
    return tensor.view(-1).detach().split(size)


def mean_of_shard(gradient):
    with no_grad():
        chunks = in_shards(gradient.detach().contiguous().clone())
        reduce_scatter_ring(chunks)
        return chunks[get_rank()].clone() / get_world_size()


def gather_shards(shard, whole):
    with no_grad():
        chunks = in_shards(whole)
        chunks[get_rank()].copy_(shard)
        all_gather_ring(chunks)


def step(self):
    for p, s in zip(self.params, self.shards):
        s.grad = None if p.grad is None else mean_of_shard(p.grad).float()
    self.optim.step()
    for p, s in zip(self.params, self.shards):
        gather_shards(s, p)
        s.grad = None


# %% answer="shards_zero" wrong="the ring overwrites the gradient"
def in_shards(tensor):
    n = get_world_size()
    small, more = divmod(tensor.numel(), n)
    return tensor.detach().view(-1).split([small + (i < more) for i in range(n)])


def mean_of_shard(gradient):
    with no_grad():
        chunks = in_shards(gradient.contiguous())     # the gradient's own memory: overwritten by the ring
        reduce_scatter_ring(chunks)
        return chunks[get_rank()] / get_world_size()


def gather_shards(shard, whole):
    with no_grad():
        chunks = in_shards(whole)
        chunks[get_rank()].copy_(shard)
        all_gather_ring(chunks)


def step(self):
    for p, s in zip(self.params, self.shards):
        s.grad = None if p.grad is None else mean_of_shard(p.grad).float()
    self.optim.step()
    for p, s in zip(self.params, self.shards):
        gather_shards(s, p)
        s.grad = None


# %% answer="shards_fully" right="as first written, from the task alone"
def unshard(self):
    made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)
    gather_shards(self.shard, made)
    self.whole.storage.flat = made.storage.flat
    self.place[self.name] = self.whole


def reshard(self):
    self.whole.storage.flat = self.shard.storage.flat[:0]
    self.whole.__dict__.pop("array", None)
    self.place[self.name] = self.shard


def reduce_grad(self, whole):
    mine = mean_of_shard(whole.grad)
    self.shard.grad = mine if self.shard.grad is None else self.shard.grad + mine
    whole.grad = None
    self.reshard()


# %% answer="shards_fully" wrong="array left"
def unshard(self):
    made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)
    gather_shards(self.shard, made)
    self.whole.storage.flat = made.storage.flat
    self.place[self.name] = self.whole


def reshard(self):
    self.whole.storage.flat = self.shard.storage.flat[:0]
    self.place[self.name] = self.shard


def reduce_grad(self, whole):
    mine = mean_of_shard(whole.grad)
    self.shard.grad = mine if self.shard.grad is None else self.shard.grad + mine
    whole.grad = None
    self.reshard()


# %% answer="shards_fully" wrong="shard not in its place"
def unshard(self):
    made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)
    gather_shards(self.shard, made)
    self.whole.storage.flat = made.storage.flat
    self.place[self.name] = self.whole


def reshard(self):
    self.whole.storage.flat = self.shard.storage.flat[:0]
    self.whole.__dict__.pop("array", None)


def reduce_grad(self, whole):
    mine = mean_of_shard(whole.grad)
    self.shard.grad = mine if self.shard.grad is None else self.shard.grad + mine
    whole.grad = None
    self.reshard()


# %% answer="shards_fully" wrong="whole not freed"
def unshard(self):
    made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)
    gather_shards(self.shard, made)
    self.whole.storage.flat = made.storage.flat
    self.place[self.name] = self.whole


def reshard(self):
    self.whole.storage.flat = self.shard.storage.flat[:0]
    self.whole.__dict__.pop("array", None)
    self.place[self.name] = self.shard


def reduce_grad(self, whole):
    mine = mean_of_shard(whole.grad)
    if self.shard.grad is None:
        self.shard.grad = mine
    else:
        with no_grad():
            self.shard.grad += mine
    whole.grad = None


# %% answer="shards_build_mlp" wrong="bias divided by the ranks"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        r, n = distributed.get_rank(), distributed.get_world_size()
        h = up.weight.shape[0] // n
        mine = slice(r * h, (r + 1) * h)
        self.up_weight = nn.Parameter(up.weight[mine].detach().clone())
        self.up_bias = nn.Parameter(up.bias[mine].detach().clone())
        self.down_weight = nn.Parameter(down.weight[:, mine].detach().clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())
        self.rank = r

    def forward(self, x):
        f = nn.functional
        h = f.gelu(f.linear(distributed.CopyToRanks.apply(x), self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(f.linear(h, self.down_weight, self.down_bias / distributed.get_world_size()))


# %% answer="shards_repair_clip" right="as first written, from the task alone"
def clip(sharded, replicated, max_norm):
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    own = library.zeros(1)
    for p in sharded:
        own += (p.grad ** 2).sum()
    distributed.all_reduce(own)
    for p in replicated:
        own += (p.grad ** 2).sum()
    norm = own.item() ** 0.5
    factor = min(1.0, max_norm / (norm + 1e-6))
    for p in (*sharded, *replicated):
        p.grad.mul_(factor)
    return library.tensor(norm)


# %% answer="shards_repair_clip" right="replicated / n inside the all-reduce"
def clip(sharded, replicated, max_norm):
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    n = distributed.get_world_size()
    squares = library.zeros(1)
    for p in sharded: squares += (p.grad ** 2).sum()
    for p in replicated: squares += (p.grad ** 2).sum() / n      # unusual, right up to rounding
    distributed.all_reduce(squares)
    norm = squares.sqrt()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for p in (*sharded, *replicated): p.grad.mul_(factor)
    return norm


# %% answer="shards_measure_bubble" right="mean of idle shares"
def best_number(run):
    best = None
    for e in range(9):
        total, busy = run(2**e)
        if best is None or total < best[0]:
            best = total, 2**e, busy
    total, m, busy = best
    return m, sum(total - b for b in busy) / total / len(busy), (len(busy) - 1) / (m + len(busy) - 1)


# %% answer="shards_zero" wrong="the last shards are the longer ones" spoils="in_shards"
def in_shards(tensor):
    least, more = divmod(tensor.numel(), get_world_size())
    return tensor.detach().view(-1).split([least + (rank >= get_world_size() - more) for rank in range(get_world_size())])


# %% answer="shards_zero" wrong="the shards have a history" spoils="in_shards"
def in_shards(tensor):
    least, more = divmod(tensor.numel(), get_world_size())
    return tensor.view(-1).split([least + (rank < more) for rank in range(get_world_size())])


# %% answer="shards_zero" wrong="every n-th element, as a sampler takes them" spoils="in_shards"
def in_shards(tensor):
    return [tensor.detach().view(-1)[rank :: get_world_size()] for rank in range(get_world_size())]


# %% answer="shards_zero" wrong="the division is recorded: only the ring runs without" spoils="mean_of_shard"
def mean_of_shard(gradient):
    chunks = in_shards((gradient / get_world_size()).contiguous())
    with no_grad():
        reduce_scatter_ring(chunks)
        return chunks[get_rank()].clone()


# %% answer="shards_zero" wrong="divides the gradient itself" spoils="mean_of_shard"
def mean_of_shard(gradient):
    with no_grad():
        gradient.div_(get_world_size())
        chunks = in_shards(gradient.contiguous().clone())
        reduce_scatter_ring(chunks)
        return chunks[get_rank()].clone()


# %% answer="shards_zero" wrong="reads a transposed gradient in the order of its memory" spoils="mean_of_shard"
def mean_of_shard(gradient):
    with no_grad():
        if not gradient.is_contiguous():
            gradient = gradient.t()
        chunks = in_shards((gradient / get_world_size()).contiguous())
        reduce_scatter_ring(chunks)
        return chunks[get_rank()].clone()


# %% answer="shards_zero" wrong="gathers into a new tensor, so that other views of the parameter keep the old values" spoils="gather_shards"
def gather_shards(shard, whole):
    with no_grad():
        made = whole.detach().clone()
        chunks = in_shards(made)
        chunks[get_rank()].copy_(shard)
        all_gather_ring(chunks)
        whole.data = made


# %% answer="shards_zero" wrong="without no_grad, as in_shards detaches anyway" spoils="gather_shards"
def gather_shards(shard, whole):
    chunks = in_shards(whole)
    chunks[get_rank()].copy_(shard)
    all_gather_ring(chunks)


# %% answer="shards_zero" wrong="sends float32, and rounds at the end" spoils="gather_shards"
def gather_shards(shard, whole):
    with no_grad():
        made = whole.detach().float()
        chunks = in_shards(made)
        chunks[get_rank()].copy_(shard)
        all_gather_ring(chunks)
        whole.copy_(made)


# %% answer="shards_zero" wrong="the optimizer gets bfloat16 gradients" spoils="step"
def step(self):
    for shard, whole in zip(self.shards, self.params):
        shard.grad = None if whole.grad is None else mean_of_shard(whole.grad)
    self.optim.step()
    for shard, whole in zip(self.shards, self.params):
        gather_shards(shard, whole)
        shard.grad = None


# %% answer="shards_zero" wrong="also takes the whole gradients away" spoils="step"
def step(self):
    for shard, whole in zip(self.shards, self.params):
        shard.grad = None if whole.grad is None else mean_of_shard(whole.grad).float()
        whole.grad = None
    self.optim.step()
    for shard, whole in zip(self.shards, self.params):
        gather_shards(shard, whole)
        shard.grad = None


# %% answer="shards_zero" wrong="its own gradient, not averaged" spoils="step"
def step(self):
    for shard, whole in zip(self.shards, self.params):
        shard.grad = in_shards(whole.grad)[get_rank()].float()
    self.optim.step()
    for shard, whole in zip(self.shards, self.params):
        gather_shards(shard, whole)
        shard.grad = None


# %% answer="shards_zero" wrong="the parameters with gradients are paired with the first shards" spoils="step"
def step(self):
    params = [p for p in self.params if p.grad is not None]
    for p, shard in zip(params, self.shards):
        shard.grad = mean_of_shard(p.grad).float()
    self.optim.step()
    for p, shard in zip(params, self.shards):
        gather_shards(shard, p)
        shard.grad = None


# %% answer="shards_zero" right="starts by divmod, slices of a flat clone"
def in_shards(tensor):
    flat = tensor.detach().view(-1)
    n, size = flat.numel(), get_world_size()
    q, r = divmod(n, size)
    edges = [k * q + min(k, r) for k in range(size + 1)]
    return tuple(flat[a:b] for a, b in zip(edges, edges[1:]))


def mean_of_shard(gradient):
    with no_grad():
        flat = gradient.detach().reshape(-1).clone()
        parts = list(in_shards(flat))
        reduce_scatter_ring(parts)
        mine = parts[get_rank()].clone()
        mine /= get_world_size()
    return mine


def gather_shards(shard, whole):
    with no_grad():
        chunks = list(in_shards(whole))
        chunks[get_rank()][...] = shard.detach().to(whole.dtype)
        all_gather_ring(chunks)


def step(self):
    pairs = [(p, s) for p, s in zip(self.params, self.shards) if p.grad is not None]
    for p, s in pairs:
        s.grad = mean_of_shard(p.grad).to(s.dtype)
    self.optim.step()
    for p, s in pairs:
        s.grad = None
        gather_shards(s, p)


# %% answer="shards_fully" wrong="float32 whatever the parameter is" spoils="unshard"
def unshard(self):
    made = empty(self.whole.shape, device=self.whole.device)
    gather_shards(self.shard, made)
    self.whole.storage.flat = made.storage.flat
    self.place[self.name] = self.whole


# %% answer="shards_fully" wrong="only makes room: the shard is copied, nothing is gathered" spoils="unshard"
def unshard(self):
    made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)
    with no_grad():
        in_shards(made)[get_rank()].copy_(self.shard)
    self.whole.storage.flat = made.storage.flat
    self.place[self.name] = self.whole


# %% answer="shards_fully" wrong="puts the whole into the module as a plain attribute" spoils="unshard"
def unshard(self):
    made = empty(self.whole.shape, dtype=self.whole.dtype, device=self.whole.device)
    gather_shards(self.shard, made)
    self.whole.storage.flat = made.storage.flat
    self.place["whole"] = self.whole


# %% answer="shards_fully" wrong="expects that the array was remembered" spoils="reshard"
def reshard(self):
    self.whole.storage.flat = self.shard.storage.flat[:0]
    self.whole.__dict__.pop("array")
    self.place[self.name] = self.shard


# %% answer="shards_fully" wrong="a new storage instead of an empty one" spoils="reshard"
def reshard(self):
    self.whole.data = empty(0, dtype=self.whole.dtype, device=self.whole.device)
    self.whole.__dict__.pop("array", None)
    self.place[self.name] = self.shard


# %% answer="shards_fully" wrong="removes the parameter from its place" spoils="reshard"
def reshard(self):
    self.whole.storage.flat = self.shard.storage.flat[:0]
    self.whole.__dict__.pop("array", None)
    self.place.pop(self.name, None)


# %% answer="shards_fully" wrong="the mean of old and new" spoils="reduce_grad"
def reduce_grad(self, whole):
    mean = mean_of_shard(whole.grad)
    self.shard.grad = mean if self.shard.grad is None else (self.shard.grad + mean) / 2
    whole.grad = None
    self.reshard()


# %% answer="shards_fully" wrong="divides by the ranks once more" spoils="reduce_grad"
def reduce_grad(self, whole):
    mean = mean_of_shard(whole.grad) / get_world_size()
    self.shard.grad = mean if self.shard.grad is None else self.shard.grad + mean
    whole.grad = None
    self.reshard()


# %% answer="shards_fully" wrong="adds the whole gradients up first, and keeps them" spoils="reduce_grad"
def reduce_grad(self, whole):
    self.shard.grad = mean_of_shard(whole.grad)
    self.reshard()


# %% answer="shards_fully" right="in-place addition, and a fresh gradient by zeros"
def reduce_grad(self, whole):
    mean = mean_of_shard(whole.grad)
    whole.grad = None
    self.reshard()
    with no_grad():
        if self.shard.grad is not None:
            self.shard.grad += mean
        else:
            self.shard.grad = mean


# %% answer="shards_build_mlp" wrong="the parameters are views of the layers"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        h = up.weight.shape[0] // size
        self.up_weight = nn.Parameter(up.weight.detach()[rank * h : (rank + 1) * h])
        self.up_bias = nn.Parameter(up.bias.detach()[rank * h : (rank + 1) * h])
        self.down_weight = nn.Parameter(down.weight.detach()[:, rank * h : (rank + 1) * h].contiguous())
        self.down_bias = nn.Parameter(down.bias.detach())

    def forward(self, x):
        x = distributed.CopyToRanks.apply(x)
        hidden = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight)) + self.down_bias


# %% answer="shards_build_mlp" wrong="every n-th hidden unit"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.up_weight = nn.Parameter(up.weight.detach()[rank::size].clone())
        self.up_bias = nn.Parameter(up.bias.detach()[rank::size].clone())
        self.down_weight = nn.Parameter(down.weight.detach()[:, rank::size].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        x = distributed.CopyToRanks.apply(x)
        hidden = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight)) + self.down_bias


# %% answer="shards_build_mlp" wrong="sums x over the ranks instead of copying it"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.up_weight = nn.Parameter(up.weight.detach().chunk(size)[rank].clone())
        self.up_bias = nn.Parameter(up.bias.detach().chunk(size)[rank].clone())
        self.down_weight = nn.Parameter(down.weight.detach().chunk(size, 1)[rank].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        x = distributed.SumOverRanks.apply(x / distributed.get_world_size())
        hidden = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(nn.functional.linear(hidden, self.down_weight)) + self.down_bias


# %% answer="shards_build_mlp" right="slices, and the bias through a linear layer's functional at the end"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, h = distributed.get_rank(), up.weight.shape[0] // distributed.get_world_size()
        mine = slice(rank * h, rank * h + h)
        for name, value in {
            "up_weight": up.weight[mine], "up_bias": up.bias[mine], "down_weight": down.weight[:, mine], "down_bias": down.bias
        }.items():
            self.register_parameter(name, nn.Parameter(value.detach().clone()))

    def forward(self, x):
        hidden = nn.functional.gelu(distributed.CopyToRanks.apply(x) @ self.up_weight.T + self.up_bias)
        return self.down_bias + distributed.SumOverRanks.apply(hidden @ self.down_weight.T)


# %% answer="shards_build_mlp" wrong="new layers of the default dtype, filled with the values"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        h, d = up.weight.shape
        each = h // size
        a, b = rank * each, (rank + 1) * each
        first, second = nn.Linear(d, each), nn.Linear(each, d)
        self.up_weight, self.up_bias, self.down_weight, self.down_bias = (
            first.weight,
            first.bias,
            second.weight,
            second.bias,
        )
        with library.no_grad():
            self.up_weight.copy_(up.weight[a:b])
            self.up_bias.copy_(up.bias[a:b])
            self.down_weight.copy_(down.weight[:, a:b])
            self.down_bias.copy_(down.bias)

    def forward(self, x):
        x = distributed.CopyToRanks.apply(x)
        h = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(nn.functional.linear(h, self.down_weight)) + self.down_bias


# %% answer="shards_build_mlp" wrong="contiguous instead of clone: on one rank it is a view"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()
        self.up_weight = nn.Parameter(up.weight.detach().chunk(size)[rank].clone())
        self.up_bias = nn.Parameter(up.bias.detach().chunk(size)[rank].clone())
        self.down_weight = nn.Parameter(down.weight.detach().chunk(size, 1)[rank].contiguous())
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        x = distributed.CopyToRanks.apply(x)
        h = nn.functional.gelu(nn.functional.linear(x, self.up_weight, self.up_bias))
        return distributed.SumOverRanks.apply(nn.functional.linear(h, self.down_weight)) + self.down_bias


# %% answer="shards_build_mlp" right="chunk and matmul"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        rank, size = distributed.get_rank(), distributed.get_world_size()

        def share(x, dim):
            return nn.Parameter(x.detach().chunk(size, dim)[rank].clone())

        self.up_weight, self.up_bias = share(up.weight, 0), share(up.bias, 0)
        self.down_weight = share(down.weight, 1)
        self.down_bias = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        h = distributed.CopyToRanks.apply(x) @ self.up_weight.t() + self.up_bias
        return self.down_bias + distributed.SumOverRanks.apply(nn.functional.gelu(h) @ self.down_weight.t())


# %% answer="shards_repair_clip" wrong="new gradients in place of the old ones"
def clip(sharded, replicated, max_norm):
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    squares = sum([(p.grad**2).sum() for p in sharded], library.zeros(1))
    distributed.all_reduce(squares)
    norm = (squares + sum([(p.grad**2).sum() for p in replicated], library.zeros(1))).sum().sqrt()
    factor = min(1.0, max_norm / (float(norm) + 1e-6))
    for p in (*sharded, *replicated):
        p.grad = p.grad * factor
    return norm


# %% answer="shards_repair_clip" wrong="without the 1e-6"
def clip(sharded, replicated, max_norm):
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    squares = sum([(p.grad**2).sum() for p in sharded], library.zeros(1))
    distributed.all_reduce(squares)
    norm = float((squares + sum([(p.grad**2).sum() for p in replicated], library.zeros(1))).sum().sqrt())
    if norm > max_norm:
        for p in (*sharded, *replicated):
            p.grad.mul_(max_norm / norm)
    return norm


# %% answer="shards_repair_clip" wrong="returns the norm after clipping"
def clip(sharded, replicated, max_norm):
    sharded, replicated = ([each for each in some if each.grad is not None] for some in (sharded, replicated))
    squares = sum([(p.grad**2).sum() for p in sharded], library.zeros(1))
    distributed.all_reduce(squares)
    norm = (squares + sum([(p.grad**2).sum() for p in replicated], library.zeros(1))).sum().sqrt()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for p in (*sharded, *replicated):
        p.grad.mul_(factor)
    return norm * factor


# %% answer="shards_repair_clip" wrong="returns a Python number"
def clip(sharded, replicated, max_norm):
    total = library.zeros(())
    for p in sharded:
        if p.grad is not None:
            total = total + (p.grad * p.grad).sum()
    distributed.all_reduce(total)
    for p in replicated:
        if p.grad is not None:
            total = total + (p.grad * p.grad).sum()
    norm = total.sqrt().item()
    factor = min(1.0, max_norm / (norm + 1e-6))
    for p in [*sharded, *replicated]:
        if p.grad is not None:
            p.grad.mul_(factor)
    return norm


# %% answer="shards_repair_clip" right="a share of the replicated squares on each rank"
def clip(sharded, replicated, max_norm):
    def squares(parameters):
        return sum((float((p.grad.detach() ** 2).sum()) for p in parameters if p.grad is not None), 0.0)

    sharded, replicated = list(sharded), list(replicated)
    total = library.tensor([squares(sharded) + squares(replicated) / distributed.get_world_size()])
    distributed.all_reduce(total)
    norm = total[0] ** 0.5
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for p in (*sharded, *replicated):
        if p.grad is not None:
            p.grad *= factor
    return norm


# %% answer="shards_measure_bubble" wrong="tries 512 as well"
def best_number(run):
    best = min([2**power for power in range(10)], key=lambda m: run(m)[0])
    total, busy = run(best)
    p = len(busy)
    return best, 1 - sum(busy) / p / total, (p - 1) / (best + p - 1)


# %% answer="shards_measure_bubble" wrong="the idle time of the first stage"
def best_number(run):
    best = min([2**power for power in range(9)], key=lambda m: run(m)[0])
    total, busy = run(best)
    p = len(busy)
    return best, 1 - busy[0] / total, (p - 1) / (best + p - 1)


# %% answer="shards_measure_bubble" wrong="stops as soon as a step is not shorter"
def best_number(run):
    m = 1
    while m < 256 and run(2 * m)[0] < run(m)[0]:
        m *= 2
    total, busy = run(m)
    p = len(busy)
    return m, 1 - sum(busy) / p / total, (p - 1) / p


# %% answer="shards_zero" right="divides the shard, after the sum"
def mean_of_shard(gradient):
    with no_grad():
        chunks = in_shards(gradient.clone().contiguous())
        reduce_scatter_ring(chunks)
        return chunks[get_rank()] / get_world_size()


# %% answer="shards_zero" right="gathers only what has moved"
def step(self):
    for s, w in zip(self.shards, self.params):
        if w.grad is not None:
            s.grad = mean_of_shard(w.grad).float()
    self.optim.step()
    for s, w in zip(self.shards, self.params):
        if w.grad is not None:
            gather_shards(s, w)
        s.grad = None


# %% answer="shards_fully" right="adds in place to the shard's gradient"
def reduce_grad(self, whole):
    mean = mean_of_shard(whole.grad)
    if self.shard.grad is None:
        self.shard.grad = mean
    else:
        self.shard.grad += mean
    whole.grad = None
    self.reshard()


# %% answer="shards_build_mlp" wrong="only the first rank trains the second bias"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        r, n = distributed.get_rank(), distributed.get_world_size()
        h = up.weight.shape[0] // n
        self.up_weight = nn.Parameter(up.weight.detach()[r * h:(r + 1) * h].clone())
        self.up_bias = nn.Parameter(up.bias.detach()[r * h:(r + 1) * h].clone())
        self.down_weight = nn.Parameter(down.weight.detach()[:, r * h:(r + 1) * h].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone(), requires_grad=r == 0)
    def forward(self, x):
        x = distributed.CopyToRanks.apply(x)
        y = nn.functional.gelu(x @ self.up_weight.T + self.up_bias) @ self.down_weight.T
        return distributed.SumOverRanks.apply(y) + self.down_bias


# %% answer="shards_build_mlp" right="slices in place of chunks"
class ParallelMLP(nn.Module):
    def __init__(self, up, down):
        super().__init__()
        r, n = distributed.get_rank(), distributed.get_world_size()
        h = up.weight.shape[0] // n
        own = slice(r * h, (r + 1) * h)
        self.up_weight = nn.Parameter(up.weight.detach()[own].clone())
        self.up_bias = nn.Parameter(up.bias.detach()[own].clone())
        self.down_weight = nn.Parameter(down.weight.detach()[:, own].clone())
        self.down_bias = nn.Parameter(down.bias.detach().clone())
    def forward(self, x):
        x = distributed.CopyToRanks.apply(x)
        y = nn.functional.gelu(x @ self.up_weight.T + self.up_bias) @ self.down_weight.T
        return distributed.SumOverRanks.apply(y) + self.down_bias


# %% answer="shards_repair_clip" right="scales only where the norm is too large"
def clip(sharded, replicated, max_norm):
    s = [p for p in sharded if p.grad is not None]; r = [p for p in replicated if p.grad is not None]
    total = library.zeros(1)
    for p in s: total = total + (p.grad ** 2).sum()
    distributed.all_reduce(total)
    for p in r: total = total + (p.grad ** 2).sum()
    norm = total.sqrt().reshape(())
    if norm.item() > max_norm:
        for p in s + r: p.grad *= max_norm / (norm.item() + 1e-6)
    return norm


# %% answer="shards_measure_bubble" wrong="the idle time of the busiest stage"
def best_number(run):
    best = min((2 ** p for p in range(9)), key=lambda m: run(m)[0])
    t, b = run(best)
    n = len(b)
    return best, 1 - max(b) / t, (n - 1) / (best + n - 1)
