# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 13` grades them.


# %% answer="embedding_lookup" right="take, and any() for the range"
def embedding(input, weight, padding_idx=None):
    check_rows(input, weight, padding_idx)
    return np.take(weight, input, axis=0)


def check_rows(input, weight, padding_idx):
    check_padding(padding_idx, len(weight))
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if str(input.dtype) not in {"int64", "int32"}:
        raise wrong_type(input.dtype)
    if ((input < 0) | (input >= weight.shape[0])).any():
        raise IndexError("index out of range in self")


# %% answer="embedding_lookup" wrong="take with mode clip, and no check" spoils="embedding"
def embedding(input, weight, padding_idx=None):
    return np.take(weight, input, axis=0, mode="clip")


# %% answer="embedding_lookup" wrong="padding is looked up as zeros" spoils="embedding"
def embedding(input, weight, padding_idx=None):
    check_rows(input, weight, padding_idx)
    found = weight[input]
    if padding_idx is not None:
        found[input == padding_idx] = 0
    return found


# %% answer="embedding_lookup" wrong="a table of one-hot products, which is float64" spoils="embedding"
def embedding(input, weight, padding_idx=None):
    check_rows(input, weight, padding_idx)
    return np.eye(len(weight))[input] @ weight


# %% answer="embedding_lookup" wrong="one index too many is in range" spoils="check_rows"
def check_rows(input, weight, padding_idx):
    check_padding(padding_idx, len(weight))
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype not in (np.int64, np.int32):
        raise wrong_type(input.dtype)
    if input.size and not (input.min() >= 0 and input.max() <= len(weight)):
        raise IndexError("index out of range in self")


# %% answer="embedding_lookup" wrong="the type of the indices comes before the table" spoils="check_rows"
def check_rows(input, weight, padding_idx):
    check_padding(padding_idx, len(weight))
    if input.dtype not in (np.int64, np.int32):
        raise wrong_type(input.dtype)
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.size and not (input.min() >= 0 and input.max() < len(weight)):
        raise IndexError("index out of range in self")


# %% answer="embedding_lookup" wrong="any integer type" spoils="check_rows"
def check_rows(input, weight, padding_idx):
    check_padding(padding_idx, len(weight))
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if not np.issubdtype(input.dtype, np.integer):
        raise wrong_type(input.dtype)
    if input.size and not (input.min() >= 0 and input.max() < len(weight)):
        raise IndexError("index out of range in self")


# %% answer="embedding_gradient" right="sorted, and reduceat over each word's positions"
def embedding_backward(g, indices, rows, padding_idx):
    flat, g2 = indices.reshape(-1), g.reshape(-1, g.shape[-1])
    result = np.zeros((rows, g.shape[-1]), g.dtype)
    if flat.size:
        order = np.argsort(flat, kind="stable")
        words, starts = np.unique(flat[order], return_index=True)
        result[words] = np.add.reduceat(g2[order], starts, axis=0)
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


def without_padding(g, indices, rows, padding_idx):
    found = embedding(indices, g)
    if padding_idx is None:
        return found
    padding = padding_idx if padding_idx >= 0 else rows + padding_idx
    return found.masked_fill((indices == padding).unsqueeze(-1), 0.0)


# %% answer="embedding_gradient" wrong="repeated words count once" spoils="embedding_backward"
def embedding_backward(g, indices, rows, padding_idx):
    result = np.zeros((rows, g.shape[-1]), g.dtype)
    result[indices] += g
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


# %% answer="embedding_gradient" wrong="the mean over a word's positions" spoils="embedding_backward"
def embedding_backward(g, indices, rows, padding_idx):
    result = np.zeros((rows, g.shape[-1]), g.dtype)
    np.add.at(result, indices, g)
    counts = np.bincount(indices.reshape(-1), minlength=rows).clip(1)
    result = (result / counts[:, None]).astype(g.dtype)
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


# %% answer="embedding_gradient" wrong="bincount for each column, in float64" spoils="embedding_backward"
def embedding_backward(g, indices, rows, padding_idx):
    flat, g2 = indices.reshape(-1), g.reshape(-1, g.shape[-1])
    result = np.stack([np.bincount(flat, column, minlength=rows) for column in g2.T], 1)
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


# %% answer="embedding_gradient" wrong="padding 0 counts as none" spoils="embedding_backward"
def embedding_backward(g, indices, rows, padding_idx):
    result = np.zeros((rows, g.shape[-1]), g.dtype)
    np.add.at(result, indices, g)
    if padding_idx:
        result[padding_idx] = 0
    return result


# %% answer="embedding_gradient" wrong="a negative padding is compared as it is" spoils="without_padding"
def without_padding(g, indices, rows, padding_idx):
    found = embedding(indices, g)
    return found if padding_idx is None else found.masked_fill(indices.eq(padding_idx).unsqueeze(-1), 0.0)


# %% answer="embedding_gradient" wrong="padding gets a gradient again" spoils="without_padding"
def without_padding(g, indices, rows, padding_idx):
    return embedding(indices, g)


# %% answer="embedding_layer" right="the negative padding by hand, copy_ of zeros"
def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
    super(Embedding, self).__init__()
    check_padding(padding_idx, num_embeddings)
    if padding_idx is not None and padding_idx < 0:
        padding_idx += num_embeddings
    self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
    self.weight = Parameter(empty((num_embeddings, embedding_dim)))
    self.reset_parameters()


def reset_parameters(self):
    normal_(self.weight)
    if self.padding_idx is not None:
        self.weight.data[self.padding_idx].fill_(0.0)


# %% answer="embedding_layer" wrong="a new parameter each time" spoils="reset_parameters"
def reset_parameters(self):
    self.weight = Parameter(normal_(empty(self.num_embeddings, self.embedding_dim)))
    if self.padding_idx is not None:
        self.weight.data[self.padding_idx] = 0


# %% answer="embedding_layer" wrong="padding 0 isn't set to zero" spoils="reset_parameters"
def reset_parameters(self):
    normal_(self.weight)
    if self.padding_idx:
        self.weight.data[self.padding_idx] = 0


# %% answer="embedding_layer" wrong="the padding row isn't drawn: the numbers after it shift" spoils="reset_parameters"
def reset_parameters(self):
    for number in range(self.num_embeddings):
        if number == self.padding_idx:
            self.weight.data[number] = 0
        else:
            normal_(self.weight.data[number])


# %% answer="embedding_layer" wrong="a negative padding_idx stays negative" spoils="__init__"
def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
    super(Embedding, self).__init__()
    check_padding(padding_idx, num_embeddings)
    self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
    self.weight = Parameter(empty(num_embeddings, embedding_dim))
    self.reset_parameters()


# %% answer="embedding_layer" wrong="padding_idx 0 counts as none" spoils="__init__"
def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
    super(Embedding, self).__init__()
    check_padding(padding_idx, num_embeddings)
    self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
    self.padding_idx = padding_idx % num_embeddings if padding_idx else None
    self.weight = Parameter(empty(num_embeddings, embedding_dim))
    self.reset_parameters()


# %% answer="embedding_layer" wrong="copies the table" spoils="from_pretrained"
@classmethod
def from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
    layer = cls.__new__(cls)
    Module.__init__(layer)
    check_padding(padding_idx, len(embeddings))
    layer.num_embeddings, layer.embedding_dim = embeddings.shape
    layer.padding_idx = None if padding_idx is None else padding_idx % len(embeddings)
    layer.weight = Parameter(embeddings.clone(), requires_grad=not freeze)
    return layer


# %% answer="embedding_layer" wrong="an Embedding, also of a subclass" spoils="from_pretrained"
@classmethod
def from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
    layer = Embedding.__new__(Embedding)
    Module.__init__(layer)
    check_padding(padding_idx, len(embeddings))
    layer.num_embeddings, layer.embedding_dim = embeddings.shape
    layer.padding_idx = None if padding_idx is None else padding_idx % len(embeddings)
    layer.weight = Parameter(embeddings, requires_grad=not freeze)
    return layer


# %% answer="embedding_layer" wrong="the padding row of a given table is set to zero" spoils="from_pretrained"
@classmethod
def from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
    layer = cls.__new__(cls)
    Module.__init__(layer)
    check_padding(padding_idx, len(embeddings))
    layer.num_embeddings, layer.embedding_dim = embeddings.shape
    layer.padding_idx = None if padding_idx is None else padding_idx % len(embeddings)
    layer.weight = Parameter(embeddings, requires_grad=not freeze)
    if layer.padding_idx is not None:
        layer.weight.data[layer.padding_idx] = 0
    return layer


# %% answer="embedding_nearest" right="topk of normalized rows, the zero rows by hand"
def nearest(table, words, count):
    lengths = (table * table).sum(1).sqrt()
    result = []
    for word in words.tolist():
        if lengths[word] == 0:
            result.append([-1] * count)
            continue
        cosine = (table @ table[word]) / (lengths * lengths[word]).clamp(min=1e-30)
        cosine[lengths == 0] = -torch.inf
        cosine[word] = -torch.inf
        result.append(cosine.topk(count)[1].tolist())
    return torch.tensor(result)


# %% answer="embedding_nearest" wrong="eps in the denominator: short rows lose"
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    unit = table / (length + 0.1)
    cosine = (unit[words] @ unit.t()).masked_fill((length == 0).t(), -torch.inf)
    cosine[torch.arange(len(words)), words] = -torch.inf
    return cosine.argsort(dim=1, descending=True)[:, :count].masked_fill(length[words] == 0, -1)


# %% answer="embedding_nearest" wrong="the largest absolute cosine"
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    unit = table / length.masked_fill(length == 0, 1.0)
    cosine = (unit[words] @ unit.t()).abs().masked_fill((length == 0).t(), -torch.inf)
    cosine[torch.arange(len(words)), words] = -torch.inf
    return cosine.argsort(dim=1, descending=True)[:, :count].masked_fill(length[words] == 0, -1)


# %% answer="embedding_nearest" wrong="all rows equal to the word are excluded"
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    unit = table / length.masked_fill(length == 0, 1.0)
    cosine = (unit[words] @ unit.t()).masked_fill((length == 0).t(), -torch.inf)
    same = (table[words].unsqueeze(1) == table.unsqueeze(0)).all(-1)
    return cosine.masked_fill(same, -torch.inf).argsort(dim=1, descending=True)[:, :count].masked_fill(
        length[words] == 0, -1
    )


# %% answer="embedding_nearest" wrong="the smallest distance"
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    distance = ((table[words].unsqueeze(1) - table.unsqueeze(0)) ** 2).sum(-1).masked_fill((length == 0).t(), torch.inf)
    distance[torch.arange(len(words)), words] = torch.inf
    return distance.argsort(dim=1)[:, :count].masked_fill(length[words] == 0, -1)


# %% answer="embedding_nearest" wrong="the worst first"
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    unit = table / length.masked_fill(length == 0, 1.0)
    cosine = (unit[words] @ unit.t()).masked_fill((length == 0).t(), -torch.inf)
    cosine[torch.arange(len(words)), words] = -torch.inf
    return cosine.argsort(dim=1)[:, -count:].masked_fill(length[words] == 0, -1)


# %% answer="embedding_repair_init" right="data is multiplied by a mask"
def init_weights(module):
    if type(module) is nn.Linear or isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, mean=0.0, std=0.02)
    if getattr(module, "bias", None) is not None:
        nn.init.zeros_(module.bias)
    padding = getattr(module, "padding_idx", None)
    if padding is not None:
        module.weight.data[padding] = torch.zeros(module.weight.shape[1])


# %% answer="embedding_repair_init" wrong="padding 0 is left out"
def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx:
        module.weight.data[module.padding_idx] = 0


# %% answer="embedding_repair_init" wrong="row 0 whatever the padding is"
def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        module.weight.data[0] = 0


# %% answer="embedding_repair_init" wrong="embeddings keep their own initialization"
def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


# %% answer="embedding_repair_init" wrong="the table is scaled, not drawn"
def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding):
        with torch.no_grad():
            module.weight.mul_(0.02)


# %% answer="embedding_repair_init" wrong="scaled, not drawn, and biases stay as they were"
def init_weights(module):
    if isinstance(module, nn.Embedding):
        module.weight.data *= 0.02
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)


# %% answer="embedding_repair_init" wrong="reset_parameters makes a new parameter of it"
def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding):
        weight = torch.randn(*module.weight.shape) * 0.02
        if module.padding_idx is not None:
            weight[module.padding_idx] = 0
        module.weight = nn.Parameter(weight)


# %% answer="embedding_measure_memory" right="backwards, with a loop"
def rest(kind, batches, **options):
    places = walk(kind, batches, **options)
    steps = [abs(after - before) for before, after in zip(places, places[1:])]
    n = len(steps)
    while n > 0 and steps[n - 1] < 0.01 * steps[0]:
        n -= 1
    return n - batches


# %% answer="embedding_measure_memory" wrong="the first short step"
def rest(kind, batches, **options):
    steps = np.abs(np.diff(walk(kind, batches, **options)))
    return int(np.argmax(steps < 0.01 * steps[0])) - batches


# %% answer="embedding_measure_memory" wrong="counted from the first step"
def rest(kind, batches, **options):
    steps = np.abs(np.diff(walk(kind, batches, **options)))
    return int(np.flatnonzero(steps >= 0.01 * steps[0])[-1]) + 1


# %% answer="embedding_measure_memory" wrong="the index of the last long step"
def rest(kind, batches, **options):
    steps = np.abs(np.diff(walk(kind, batches, **options)))
    return int(np.flatnonzero(steps >= 0.01 * steps[0])[-1]) - batches


# %% answer="embedding_measure_memory" wrong="the distance to the last value, not the steps"
def rest(kind, batches, **options):
    places = np.array(walk(kind, batches, **options))
    return max(int(np.flatnonzero(np.abs(places - places[-1]) >= 0.01 * abs(places[1]))[-1]) + 1 - batches, 0)


# %% answer="embedding_measure_memory" wrong="compared with the longest step"
def rest(kind, batches, **options):
    steps = np.abs(np.diff(walk(kind, batches, **options)))
    return int(np.flatnonzero(steps >= 0.01 * steps.max())[-1]) + 1 - batches


# %% answer="embedding_nearest" wrong="a row counts as zero if its elements sum to 0, as those of (1, -1) do ('a zero row')"
def nearest(table, words, count):
    units = table / table.norm(dim=1, keepdim=True).clamp(min=1e-12)
    zero = table.sum(1) == 0
    similar = units[words] @ units.T
    similar[:, zero] = -float("inf")
    similar[torch.arange(len(words)), words] = -float("inf")
    found = similar.topk(count, dim=1).indices
    found[zero[words]] = -1
    return found


# %% answer="embedding_nearest" wrong="a very short row counts as a zero row, although its direction is clear ('a zero row')"
def nearest(table, words, count):
    length = table.norm(dim=1)
    zero = length < 1e-6
    units = table / length.clamp(min=1e-6)[:, None]
    similar = units[words] @ units.T
    similar = similar.masked_fill(zero, -float("inf"))
    similar = similar.scatter(1, words[:, None], -float("inf"))
    found = similar.topk(count, dim=1).indices
    return found.masked_fill(zero[words][:, None], -1)


# %% answer="embedding_nearest" wrong="a zero row gets a similarity of -1, which an opposite row has as well ('is never a neighbour')"
def nearest(table, words, count):
    length = table.norm(dim=1)
    zero = length == 0
    units = table / torch.where(zero, torch.ones_like(length), length)[:, None]
    similar = units[words] @ units.T
    similar = similar.masked_fill(zero, -1.0)
    similar = similar.scatter(1, words[:, None], -float("inf"))
    found = similar.topk(count, dim=1).indices
    return found.masked_fill(zero[words][:, None], -1)


# %% answer="embedding_nearest" right="divides by the other row's length only, which leaves the order as it is"
def nearest(table, words, count):
    length = table.norm(dim=1)
    similar = (table[words] @ table.T) / length
    similar = torch.where(length > 0, similar, torch.full_like(similar, -float("inf")))
    itself = torch.arange(len(table)) == words[:, None]
    order = similar.masked_fill(itself, -float("inf")).argsort(dim=1, descending=True)[:, :count]
    return torch.where(length[words][:, None] > 0, order, torch.full_like(order, -1))


# %% answer="embedding_nearest" right="a loop over the words"
def nearest(table, words, count):
    rows = []
    for word in words.tolist():
        if not table[word].any():
            rows.append([-1] * count)
            continue
        others = [row for row in range(len(table)) if row != word and table[row].any()]
        cosine = {row: ((table[row] / table[row].norm()) @ (table[word] / table[word].norm())).item() for row in others}
        rows.append(sorted(others, key=lambda row: -cosine[row])[:count])
    return torch.tensor(rows)


# %% answer="embedding_lookup" wrong="an index without dimensions gives a view of the table"
def embedding(input, weight, padding_idx=None):
    check_rows(input, weight, padding_idx)
    if input.ndim == 0:
        return weight[int(input)]
    return weight[input]


# %% answer="embedding_lookup" wrong="looks at the last index alone"
def check_rows(input, weight, padding_idx):
    check_padding(padding_idx, len(weight))
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype not in (np.int64, np.int32):
        raise wrong_type(input.dtype)
    if input.size and (input < 0).any() or (input.size and input.flat[-1] >= len(weight)):
        raise IndexError("index out of range in self")


# %% answer="embedding_lookup" right="np.take of the flat indices"
def embedding(input, weight, padding_idx=None):
    check_rows(input, weight, padding_idx)
    return np.take(weight, input.ravel(), axis=0).reshape(*input.shape, weight.shape[1])


# %% answer="embedding_gradient" wrong="multiplies the padding's gradient by 0, which leaves nan"
def embedding_backward(g, indices, rows, padding_idx):
    if padding_idx is not None:
        g = g * (indices != padding_idx % rows)[..., None].astype(g.dtype)
    result = np.zeros_like(g, shape=(rows, g.shape[-1]))
    np.add.at(result, indices, g)
    return result


# %% answer="embedding_gradient" wrong="multiplies the padding's rows by 0, which leaves nan"
def without_padding(g, indices, rows, padding_idx):
    found = embedding(indices, g)
    if padding_idx is None:
        return found
    return found * indices.ne(padding_idx % rows).unsqueeze(-1).to(found.dtype)


# %% answer="embedding_gradient" wrong="differences of a running sum, which spread an infinite gradient"
def embedding_backward(g, indices, rows, padding_idx):
    flat, values = indices.reshape(-1), g.reshape(-1, g.shape[-1])
    order = np.argsort(flat)
    sums = np.concatenate([np.zeros((1, g.shape[-1]), g.dtype), np.cumsum(values[order], 0)]).astype(g.dtype)
    ends = np.searchsorted(flat[order], np.arange(rows + 1))
    result = sums[ends[1:]] - sums[ends[:-1]]
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


# %% answer="embedding_gradient" right="a negative index by hand"
def without_padding(g, indices, rows, padding_idx):
    found = embedding(indices, g)
    if padding_idx is None:
        return found
    if padding_idx < 0:
        padding_idx += rows
    return found.masked_fill((indices == padding_idx).unsqueeze(-1), 0.0)


# %% answer="embedding_layer" wrong="uses the given parameter itself, and freezes it"
def from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
    layer = cls.__new__(cls)
    Module.__init__(layer)
    check_padding(padding_idx, len(embeddings))
    layer.num_embeddings, layer.embedding_dim = embeddings.shape
    layer.padding_idx = None if padding_idx is None else padding_idx % len(embeddings)
    layer.weight = embeddings if isinstance(embeddings, Parameter) else Parameter(embeddings)
    layer.weight.requires_grad_(not freeze)
    return layer


# %% answer="embedding_layer" right="new data for the same parameter"
def reset_parameters(self):
    fresh = normal_(empty(self.num_embeddings, self.embedding_dim))
    if self.padding_idx is not None:
        fresh[self.padding_idx] = 0
    self.weight.data = fresh


# %% answer="embedding_layer" wrong="draws by itself, so a subclass's reset_parameters isn't called"
def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
    super().__init__()
    check_padding(padding_idx, num_embeddings)
    self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
    self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
    self.weight = Parameter(normal_(empty(num_embeddings, embedding_dim)))
    if self.padding_idx is not None:
        self.weight.data[self.padding_idx] = 0


# %% answer="embedding_layer" wrong="a frozen table is trained once it is drawn again"
def reset_parameters(self):
    normal_(self.weight)
    self.weight.requires_grad_()
    if self.padding_idx is not None:
        self.weight.data[self.padding_idx] = 0


# %% answer="embedding_nearest" wrong="a word that occurs twice gets one row"
def nearest(table, words, count):
    unique = {int(w): None for w in words}
    length = table.norm(dim=1)
    rows = []
    for w in unique:
        if length[w] == 0:
            rows.append([-1] * count)
            continue
        c = (table @ table[w]) / length.masked_fill(length == 0, 1.0)
        c = c.masked_fill(length == 0, -torch.inf)
        c[w] = -torch.inf
        rows.append(c.argsort(descending=True)[:count].tolist())
    return torch.tensor(rows)


# %% answer="embedding_repair_init" wrong="draws the weight of every module"
def init_weights(module):
    if hasattr(module, "weight"):
        nn.init.normal_(module.weight, std=0.02)
    if getattr(module, "bias", None) is not None:
        nn.init.zeros_(module.bias)
    if getattr(module, "padding_idx", None) is not None:
        with torch.no_grad():
            module.weight[module.padding_idx].fill_(0)


# %% answer="embedding_repair_init" wrong="trains a frozen table"
def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        module.weight.requires_grad_(False)
        module.weight[module.padding_idx] = 0
        module.weight.requires_grad_(True)


# %% answer="embedding_repair_init" wrong="only these types themselves, no subclass"
def init_weights(module):
    if type(module) in (nn.Linear, nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if type(module) is nn.Linear and module.bias is not None:
        nn.init.zeros_(module.bias)
    if type(module) is nn.Embedding and module.padding_idx is not None:
        with torch.no_grad():
            module.weight[module.padding_idx].fill_(0)
