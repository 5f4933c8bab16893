# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 04` grades them.


# %% answer="brackets_predict_writes" wrong="430 for 230"
prediction = 430


# %% answer="broadcast_shape_rule" right="as first written, from the task alone"
def broadcast_shapes(*shapes):
    result = [1] * max((len(s) for s in shapes), default=0)
    for number, shape in enumerate(shapes):
        for dim in range(-1, -len(shape) - 1, -1):
            n = shape[dim]
            if n == 1 or n == result[dim]:
                continue
            if result[dim] != 1:
                raise words.not_broadcastable(shapes, number, dim, result)
            result[dim] = n
    return Size(result)


def meeting_shape(a, b):
    for dim in range(-1, -min(len(a), len(b)) - 1, -1):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise words.operands_differ(a, b, dim)
    return broadcast_shapes(a, b)


# %% answer="broadcast_shape_rule" wrong="meeting_shape gives a tuple"
def broadcast_shapes(*shapes):
    result = [1] * max((len(s) for s in shapes), default=0)
    for number, shape in enumerate(shapes):
        for dim in range(-1, -len(shape) - 1, -1):
            n = shape[dim]
            if n == 1 or n == result[dim]:
                continue
            if result[dim] != 1:
                raise words.not_broadcastable(shapes, number, dim, result)
            result[dim] = n
    return Size(result)


def meeting_shape(a, b):
    for dim in range(-1, -min(len(a), len(b)) - 1, -1):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise words.operands_differ(a, b, dim)
    return tuple(broadcast_shapes(a, b))


# %% answer="broadcast_shape_rule" wrong="0 stretches like 1"
def broadcast_shapes(*shapes):
    result = [1] * max((len(s) for s in shapes), default=0)
    for number, shape in enumerate(shapes):
        for dim in range(-1, -len(shape) - 1, -1):
            n = shape[dim]
            if n == 1 or n == result[dim]:
                continue
            if result[dim] not in (0, 1):
                raise words.not_broadcastable(shapes, number, dim, result)
            result[dim] = n
    return Size(result)


def meeting_shape(a, b):
    for dim in range(-1, -min(len(a), len(b)) - 1, -1):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise words.operands_differ(a, b, dim)
    return broadcast_shapes(a, b)


# %% answer="broadcast_shape_rule" wrong="broadcast_shapes gives a tuple"
def broadcast_shapes(*shapes):
    result = [1] * max((len(s) for s in shapes), default=0)
    for number, shape in enumerate(shapes):
        for dim in range(-1, -len(shape) - 1, -1):
            n = shape[dim]
            if n == 1 or n == result[dim]:
                continue
            if result[dim] != 1:
                raise words.not_broadcastable(shapes, number, dim, result)
            result[dim] = n
    return tuple(result) if result else Size(())


def meeting_shape(a, b):
    for dim in range(-1, -min(len(a), len(b)) - 1, -1):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise words.operands_differ(a, b, dim)
    return broadcast_shapes(a, b)


# %% answer="broadcast_shape_rule" wrong="list of lengths grows"
def broadcast_shapes(*shapes):
    result = []
    for number, shape in enumerate(shapes):
        result = [1] * (len(shape) - len(result)) + result
        for dim in range(-1, -len(shape) - 1, -1):
            n = shape[dim]
            if n == 1 or n == result[dim]:
                continue
            if result[dim] != 1:
                raise words.not_broadcastable(shapes, number, dim, result)
            result[dim] = n
    return Size(result)


def meeting_shape(a, b):
    for dim in range(-1, -min(len(a), len(b)) - 1, -1):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise words.operands_differ(a, b, dim)
    return broadcast_shapes(a, b)


# %% answer="brackets_take_views" right="as first written, from the task alone"
def slice_bounds(item, length):
    step = 1 if item.step is None else item.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start = 0 if item.start is None else item.start
    end = length if item.stop is None else item.stop
    if start < 0:
        start += length
    if end < 0:
        end += length
    start = min(max(start, 0), length)
    end = max(min(max(end, 0), length), start)
    return start, end, step


def take_views(x, items):
    rest = x.ndim - sum(dims_taken(item) for item in items)
    note = []
    for position, item in enumerate(items):
        dim = len(note)
        if item is ...:
            note += [None] * rest
        elif item is None:
            x = views.unsqueeze(x, dim)
            note.append(None)
        elif isinstance(item, slice):
            start, end, step = slice_bounds(item, x.shape[dim])
            if (start, end, step) != (0, x.shape[dim], 1):
                x = views.slice(x, dim, start, end, step)
            note.append(None)
        elif isinstance(item, Tensor):
            x, waiting = set_aside(x, dim, item)
            note += waiting
        else:
            x = pick(x, dim, item, position)
    return x, tuple(note)


# %% answer="brackets_take_views" wrong="end before start kept"
def slice_bounds(item, length):
    step = 1 if item.step is None else item.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start = 0 if item.start is None else item.start
    end = length if item.stop is None else item.stop
    if start < 0:
        start += length
    if end < 0:
        end += length
    start = min(max(start, 0), length)
    end = min(max(end, 0), length)
    return start, end, step


def take_views(x, items):
    rest = x.ndim - sum(dims_taken(item) for item in items)
    note = []
    for position, item in enumerate(items):
        dim = len(note)
        if item is ...:
            note += [None] * rest
        elif item is None:
            x = views.unsqueeze(x, dim)
            note.append(None)
        elif isinstance(item, slice):
            start, end, step = slice_bounds(item, x.shape[dim])
            if (start, end, step) != (0, x.shape[dim], 1):
                x = views.slice(x, dim, start, end, step)
            note.append(None)
        elif isinstance(item, Tensor):
            x, waiting = set_aside(x, dim, item)
            note += waiting
        else:
            x = pick(x, dim, item, position)
    return x, tuple(note)


# %% answer="brackets_take_views" right="slices also for :"
def slice_bounds(item, length):
    step = 1 if item.step is None else item.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start = 0 if item.start is None else item.start
    end = length if item.stop is None else item.stop
    if start < 0:
        start += length
    if end < 0:
        end += length
    start = min(max(start, 0), length)
    end = max(min(max(end, 0), length), start)
    return start, end, step


def take_views(x, items):
    rest = x.ndim - sum(dims_taken(item) for item in items)
    note = []
    for position, item in enumerate(items):
        dim = len(note)
        if item is ...:
            note += [None] * rest
        elif item is None:
            x = views.unsqueeze(x, dim)
            note.append(None)
        elif isinstance(item, slice):
            start, end, step = slice_bounds(item, x.shape[dim])
            if True:
                x = views.slice(x, dim, start, end, step)
            note.append(None)
        elif isinstance(item, Tensor):
            x, waiting = set_aside(x, dim, item)
            note += waiting
        else:
            x = pick(x, dim, item, position)
    return x, tuple(note)


# %% answer="brackets_take_views" wrong="dimension for position"
def slice_bounds(item, length):
    step = 1 if item.step is None else item.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start = 0 if item.start is None else item.start
    end = length if item.stop is None else item.stop
    if start < 0:
        start += length
    if end < 0:
        end += length
    start = min(max(start, 0), length)
    end = max(min(max(end, 0), length), start)
    return start, end, step


def take_views(x, items):
    rest = x.ndim - sum(dims_taken(item) for item in items)
    note = []
    for position, item in enumerate(items):
        dim = len(note)
        if item is ...:
            note += [None] * rest
        elif item is None:
            x = views.unsqueeze(x, dim)
            note.append(None)
        elif isinstance(item, slice):
            start, end, step = slice_bounds(item, x.shape[dim])
            if (start, end, step) != (0, x.shape[dim], 1):
                x = views.slice(x, dim, start, end, step)
            note.append(None)
        elif isinstance(item, Tensor):
            x, waiting = set_aside(x, dim, item)
            note += waiting
        else:
            x = pick(x, dim, item, dim)
    return x, tuple(note)


# %% answer="gather_and_back" right="as first written, from the task alone"
import numpy as np

def along(dim, index):
    dim %= index.ndim
    result = []
    for d in range(index.ndim):
        if d == dim:
            result.append(index)
        else:
            shape = [1] * index.ndim
            shape[d] = -1
            result.append(np.arange(index.shape[d], like=index).reshape(shape))
    return tuple(result)


def gather(x, dim, index):
    return x[along(dim, index)]


def scatter_add(x, dim, index, src):
    result = x.copy()
    np.add.at(result, along(dim, index), src[tuple(slice(n) for n in index.shape)])
    return result


def unindex(grad, size, indices):
    result = np.zeros_like(grad, shape=size)
    np.add.at(result, places(indices), grad)
    return result


# %% answer="gather_and_back" right="np.zeros"
import numpy as np

def along(dim, index):
    dim %= index.ndim
    result = []
    for d in range(index.ndim):
        if d == dim:
            result.append(index)
        else:
            shape = [1] * index.ndim
            shape[d] = -1
            result.append(np.arange(index.shape[d], like=index).reshape(shape))
    return tuple(result)


def gather(x, dim, index):
    return x[along(dim, index)]


def scatter_add(x, dim, index, src):
    result = x.copy()
    np.add.at(result, along(dim, index), src[tuple(slice(n) for n in index.shape)])
    return result


def unindex(grad, size, indices):
    result = np.zeros(size, dtype=grad.dtype)
    np.add.at(result, places(indices), grad)
    return result


# %% answer="gather_and_back" wrong="float32 in unindex"
import numpy as np

def along(dim, index):
    dim %= index.ndim
    result = []
    for d in range(index.ndim):
        if d == dim:
            result.append(index)
        else:
            shape = [1] * index.ndim
            shape[d] = -1
            result.append(np.arange(index.shape[d], like=index).reshape(shape))
    return tuple(result)


def gather(x, dim, index):
    return x[along(dim, index)]


def scatter_add(x, dim, index, src):
    result = x.copy()
    np.add.at(result, along(dim, index), src[tuple(slice(n) for n in index.shape)])
    return result


def unindex(grad, size, indices):
    result = np.zeros(size, np.float32)
    np.add.at(result, places(indices), grad)
    return result


# %% answer="gather_and_back" wrong="source cut for two dimensions"
import numpy as np

def along(dim, index):
    dim %= index.ndim
    result = []
    for d in range(index.ndim):
        if d == dim:
            result.append(index)
        else:
            shape = [1] * index.ndim
            shape[d] = -1
            result.append(np.arange(index.shape[d], like=index).reshape(shape))
    return tuple(result)


def gather(x, dim, index):
    return x[along(dim, index)]


def scatter_add(x, dim, index, src):
    result = x.copy()
    np.add.at(result, along(dim, index), src[: index.shape[0], : index.shape[1]])
    return result


def unindex(grad, size, indices):
    result = np.zeros_like(grad, shape=size)
    np.add.at(result, places(indices), grad)
    return result


# %% answer="joining_split_stack" right="dim normalized in two ways"
def stack(tensors, dim=0):
    if not tensors:
        raise words.nothing_to_stack()
    dim = normalize_dim(dim, tensors[0].ndim) if dim >= 0 and dim < tensors[0].ndim else normalize_dim(dim, tensors[0].ndim + 1)
    for number, t in enumerate(tensors):
        if t.shape != tensors[0].shape:
            raise words.unequal_to_stack(tensors, number)
    return cat([views.unsqueeze(t, dim) for t in tensors], dim)


def split(x, split_size, dim=0):
    check_split(x, split_size, dim)
    dim = normalize_dim(dim, x.ndim)
    n = x.shape[dim]
    if isinstance(split_size, int):
        lengths = [min(split_size, n - s) for s in range(0, n, split_size)] if n else [0]
    else:
        lengths = list(split_size)
    parts, start = [], 0
    for length in lengths:
        parts.append(views.slice(x, dim, start, start + length))
        start += length
    return tuple(parts)


# %% answer="joining_split_stack" wrong="stack compares counts and last lengths"
def stack(tensors, dim=0):
    if not tensors:
        raise words.nothing_to_stack()
    dim = normalize_dim(dim, tensors[0].ndim + 1)
    for number, t in enumerate(tensors):
        if t.numel() != tensors[0].numel() or t.shape[-1:] != tensors[0].shape[-1:]:
            raise words.unequal_to_stack(tensors, number)
    return cat([views.unsqueeze(t, dim) for t in tensors], dim)


def split(x, split_size, dim=0):
    check_split(x, split_size, dim)
    dim = normalize_dim(dim, x.ndim)
    n = x.shape[dim]
    if isinstance(split_size, int):
        lengths = [min(split_size, n - s) for s in range(0, n, split_size)] if n else [0]
    else:
        lengths = list(split_size)
    parts, start = [], 0
    for length in lengths:
        parts.append(views.slice(x, dim, start, start + length))
        start += length
    return tuple(parts)


# %% answer="joining_split_stack" wrong="no part of nothing"
def stack(tensors, dim=0):
    if not tensors:
        raise words.nothing_to_stack()
    dim = normalize_dim(dim, tensors[0].ndim + 1)
    for number, t in enumerate(tensors):
        if t.shape != tensors[0].shape:
            raise words.unequal_to_stack(tensors, number)
    return cat([views.unsqueeze(t, dim) for t in tensors], dim)


def split(x, split_size, dim=0):
    check_split(x, split_size, dim)
    dim = normalize_dim(dim, x.ndim)
    n = x.shape[dim]
    if isinstance(split_size, int):
        lengths = [min(split_size, n - s) for s in range(0, n, split_size)] 
    else:
        lengths = list(split_size)
    parts, start = [], 0
    for length in lengths:
        parts.append(views.slice(x, dim, start, start + length))
        start += length
    return tuple(parts)


# %% answer="joining_split_stack" wrong="shape of the last one compared only"
def stack(tensors, dim=0):
    if not tensors:
        raise words.nothing_to_stack()
    dim = normalize_dim(dim, tensors[0].ndim + 1)
    for number, t in list(enumerate(tensors))[-1:]:
        if t.shape != tensors[0].shape:
            raise words.unequal_to_stack(tensors, number)
    return cat([views.unsqueeze(t, dim) for t in tensors], dim)


def split(x, split_size, dim=0):
    check_split(x, split_size, dim)
    dim = normalize_dim(dim, x.ndim)
    n = x.shape[dim]
    if isinstance(split_size, int):
        lengths = [min(split_size, n - s) for s in range(0, n, split_size)] if n else [0]
    else:
        lengths = list(split_size)
    parts, start = [], 0
    for length in lengths:
        parts.append(views.slice(x, dim, start, start + length))
        start += length
    return tuple(parts)


# %% answer="joining_split_stack" wrong="names the last of the tensors that differ"
def stack(tensors, dim=0):
    if len(tensors) == 0:
        raise words.nothing_to_stack()
    dim = normalize_dim(dim, tensors[0].ndim + 1)
    for number in reversed(range(len(tensors))):
        if tensors[number].shape != tensors[0].shape:
            raise words.unequal_to_stack(tensors, number)
    return cat([views.unsqueeze(each, dim) for each in tensors], dim)


# %% answer="gather_top_p" right="as first written, from the task alone"
def top_p(probabilities, p):
    values, order = probabilities.sort(1, descending=True)
    before = values.cumsum(1) - values
    kept = values * (before < p)
    out = torch.zeros_like(probabilities).scatter_(1, order, kept)
    return out / out.sum(1, keepdim=True)


# %% answer="gather_top_p" right="shifted mask, gather back"
def top_p(probabilities, p):
    order = probabilities.argsort(1, descending=True)
    values = probabilities.gather(1, order)
    total = values.cumsum(1)
    drop = torch.cat([torch.zeros(len(total), 1, dtype=torch.bool), (total >= p)[:, :-1]], 1)
    back = order.argsort(1)
    out = values.masked_fill(drop, 0.0).gather(1, back)
    return out / out.sum(1, keepdim=True)


# %% answer="gather_top_p" wrong="loop in apply_along_axis"
def one(v, p):
    return v * ((v.cumsum(0) - v) < p)
def top_p(probabilities, p):
    values, order = probabilities.sort(1, descending=True)
    kept = torch.from_numpy(np.apply_along_axis(lambda v: v * (np.cumsum(v) - v < p), 1, values.numpy()))
    out = torch.zeros_like(probabilities).scatter_(1, order, kept)
    return out / out.sum(1, keepdim=True)


# %% answer="gather_top_p" wrong="> p, shifted"
def top_p(probabilities, p):
    values, order = probabilities.sort(1, descending=True)
    drop = values.cumsum(1) > p
    drop[:, 1:] = drop[:, :-1].clone()
    drop[:, 0] = False
    out = torch.zeros_like(probabilities).scatter_(1, order, values.masked_fill(drop, 0.0))
    return out / out.sum(1, keepdim=True)


# %% answer="gather_top_p" wrong="a tolerance of 1e-4"
def top_p(probabilities, p):
    values, order = probabilities.sort(1, descending=True)
    drop = values.cumsum(1) - values >= p - 1e-4
    out = torch.zeros_like(probabilities).scatter_(1, order, values.masked_fill(drop, 0.0))
    return out / out.sum(1, keepdim=True)


# %% answer="gather_top_p" wrong="value threshold"
def top_p(probabilities, p):
    values, order = probabilities.sort(1, descending=True)
    n = (values.cumsum(1) < p).sum(1, keepdim=True)
    cut = values.gather(1, n.clamp(max=values.shape[1] - 1))
    out = torch.where(probabilities >= cut, probabilities, torch.zeros_like(probabilities))
    return out / out.sum(1, keepdim=True)


# %% answer="gather_top_p" wrong="as many words for all texts"
def top_p(probabilities, p):
    values, order = probabilities.sort(1, descending=True)
    n = int((values.cumsum(1) < p).sum(1).max()) + 1
    values[:, n:] = 0
    out = torch.zeros_like(probabilities).scatter_(1, order, values)
    return out / out.sum(1, keepdim=True)


# %% answer="gather_top_p" wrong="computes in float32, whatever the dtype"
def top_p(probabilities, p):
    values, order = torch.sort(probabilities.float(), dim=1, descending=True)
    before = torch.cat([torch.zeros_like(values[:, :1]), values.cumsum(1)[:, :-1]], 1)
    kept = torch.where(before < p, values, torch.zeros_like(values))
    out = torch.zeros(probabilities.shape).scatter_(1, order, kept)
    return out / out.sum(1, keepdim=True)


# %% answer="gather_repair_counts" right="as first written, from the task alone"
def count_words(words, vocabulary):
    counts = torch.zeros(len(words), vocabulary, dtype=torch.long)
    return counts.scatter_add_(1, words, torch.ones_like(words))


# %% answer="gather_repair_counts" right="compared with each word"
def count_words(words, vocabulary):
    return (words[:, :, None] == torch.arange(vocabulary)).sum(1)


# %% answer="gather_repair_counts" right="index_put_ with accumulate"
def count_words(words, vocabulary):
    counts = torch.zeros(len(words), vocabulary, dtype=torch.long)
    texts = torch.arange(len(words)).unsqueeze(1)
    return counts.index_put_((texts, words), torch.tensor(1), accumulate=True)


# %% answer="gather_repair_counts" wrong="loop in a comprehension"
def count_words(words, vocabulary):
    return torch.stack([torch.bincount(row, minlength=vocabulary) for row in words])


# %% answer="gather_repair_counts" wrong="a byte counts to 255 only"
def count_words(words, vocabulary):
    one = torch.ones(words.shape, dtype=torch.uint8)
    return torch.zeros(len(words), vocabulary, dtype=torch.uint8).scatter_add_(1, words, one).long()


# %% answer="joining_measure_chunks" right="as first written, from the task alone"
def without_work():
    bad = [n for n in range(1, 61) if len(torch.arange(60).chunk(n)) < n]
    return len(bad), bad[0]


# %% answer="gather_top_p" wrong="looks for the first sum that reaches p, and with p = 1 rounding may leave none, so that one word remains ('as few as it takes')"
def top_p(probabilities, p):
    values, where = torch.sort(probabilities, dim=1, descending=True)
    reached = values.cumsum(1) >= p
    last = reached.int().argmax(1, keepdim=True)
    kept = torch.where(torch.arange(values.shape[1]) <= last, values, torch.zeros_like(values))
    out = torch.zeros_like(probabilities).scatter(1, where, kept)
    return out / out.sum(1, keepdim=True)


# %% answer="gather_top_p" right="counts the words of each row, and ranks by a second sort"
def top_p(probabilities, p):
    order = probabilities.argsort(dim=1, descending=True)
    rank = order.argsort(dim=1)
    total = probabilities.gather(1, order).cumsum(1)
    count = 1 + (total < p).sum(1, keepdim=True)
    out = probabilities * (rank < count)
    return out / out.sum(dim=1, keepdim=True)


# %% answer="gather_top_p" right="sums shifted by one word, with cat"
def top_p(probabilities, p):
    values, where = probabilities.sort(dim=-1, descending=True)
    before = torch.cat([torch.zeros_like(values[:, :1]), values.cumsum(-1)[:, :-1]], 1)
    values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(1, keepdim=True)
    return values.gather(1, where.argsort(dim=1))
