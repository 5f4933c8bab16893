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


# %% answer="shards_zero" right="no check for None"
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
    return norm


# %% answer="shards_repair_clip" right="replicated / n inside the all-reduce"
def clip(sharded, replicated, max_norm):
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
