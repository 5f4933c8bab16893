# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 03` grades them.


# %% answer="views_predict_sharing" right="as first written, from the task alone"
prediction = [[0, 11, 2], [3, 14, 5]]


# %% answer="views_view_strides" wrong="length of 1 at the end: own stride"
def infer_size(size, count):
    unknown, product = None, 1
    for place, n in enumerate(size):
        if n == -1:
            if unknown is not None:
                raise words.two_unknown()
            unknown = place
        elif n < -1:
            raise words.below_minus_one(size, place)
        else:
            product *= n
    if unknown is None:
        if product != count:
            raise words.wrong_count(size, count)
        return tuple(size)
    if product == 0:
        raise words.any_length_fits(size) if count == 0 else words.wrong_count(size, count)
    if count % product:
        raise words.wrong_count(size, count)
    return tuple(count // product if n == -1 else n for n in size)


def view_strides(size, stride, wanted):
    size, stride, wanted = tuple(size), tuple(stride), tuple(wanted)
    if not size:
        return contiguous_strides(wanted)
    if count_of(size) == 0:
        return stride if size == wanted else contiguous_strides(wanted)
    runs = []
    for n, s in zip(reversed(size), reversed(stride)):
        if runs and (n == 1 or s == runs[-1][0] * runs[-1][1]):
            runs[-1] = (runs[-1][0] * n, runs[-1][1])
        elif runs and runs[-1][0] == 1:
            runs[-1] = (n, s)
        else:
            runs.append((n, s))
    result, place = [], len(wanted) - 1
    for last, (length, step) in enumerate(runs):
        filled = 1
        while place >= 0 and (filled < length or wanted[place] == 1):
            result.append(step * filled)
            filled *= wanted[place]
            place -= 1
        if filled != length:
            return None
    return tuple(reversed(result)) if place < 0 else None


# %% answer="views_view_strides" wrong="a list for a tuple"
def infer_size(size, count):
    unknown, product = None, 1
    for place, n in enumerate(size):
        if n == -1:
            if unknown is not None:
                raise words.two_unknown()
            unknown = place
        elif n < -1:
            raise words.below_minus_one(size, place)
        else:
            product *= n
    if unknown is None:
        if product != count:
            raise words.wrong_count(size, count)
        return list(size)
    if product == 0:
        raise words.any_length_fits(size) if count == 0 else words.wrong_count(size, count)
    if count % product:
        raise words.wrong_count(size, count)
    return [count // product if n == -1 else n for n in size]


def view_strides(size, stride, wanted):
    size, stride, wanted = tuple(size), tuple(stride), tuple(wanted)
    if not size:
        return contiguous_strides(wanted)
    if count_of(size) == 0:
        return stride if size == wanted else contiguous_strides(wanted)
    runs = []
    for n, s in zip(reversed(size), reversed(stride)):
        if runs and (n == 1 or s == runs[-1][0] * runs[-1][1]):
            runs[-1] = (runs[-1][0] * n, runs[-1][1])
        elif runs and runs[-1][0] == 1:
            runs[-1] = (n, s)
        else:
            runs.append((n, s))
    result, place = [], len(wanted) - 1
    for last, (length, step) in enumerate(runs):
        filled = 1
        while place >= 0 and (filled < length or wanted[place] == 1):
            result.append(step * filled)
            filled *= wanted[place]
            place -= 1
        if filled != length:
            return None
    return tuple(reversed(result)) if place < 0 else None


# %% answer="views_view_strides" wrong="a length of 1 joins only if its stride fits"
def infer_size(size, count):
    unknown, product = None, 1
    for place, n in enumerate(size):
        if n == -1:
            if unknown is not None:
                raise words.two_unknown()
            unknown = place
        elif n < -1:
            raise words.below_minus_one(size, place)
        else:
            product *= n
    if unknown is None:
        if product != count:
            raise words.wrong_count(size, count)
        return tuple(size)
    if product == 0:
        raise words.any_length_fits(size) if count == 0 else words.wrong_count(size, count)
    if count % product:
        raise words.wrong_count(size, count)
    return tuple(count // product if n == -1 else n for n in size)


def view_strides(size, stride, wanted):
    size, stride, wanted = tuple(size), tuple(stride), tuple(wanted)
    if not size:
        return contiguous_strides(wanted)
    if count_of(size) == 0:
        return stride if size == wanted else contiguous_strides(wanted)
    runs = []
    for n, s in zip(reversed(size), reversed(stride)):
        if runs and (s == runs[-1][0] * runs[-1][1]):
            runs[-1] = (runs[-1][0] * n, runs[-1][1])
        elif runs and runs[-1][0] == 1:
            runs[-1] = (n, s)
        else:
            runs.append((n, s))
    result, place = [], len(wanted) - 1
    for last, (length, step) in enumerate(runs):
        filled = 1
        while place >= 0 and (filled < length or wanted[place] == 1):
            result.append(step * filled)
            filled *= wanted[place]
            place -= 1
        if filled != length:
            return None
    return tuple(reversed(result)) if place < 0 else None


# %% answer="views_view_strides" wrong="no check whether it divides"
def infer_size(size, count):
    unknown, product = None, 1
    for place, n in enumerate(size):
        if n == -1:
            if unknown is not None:
                raise words.two_unknown()
            unknown = place
        elif n < -1:
            raise words.below_minus_one(size, place)
        else:
            product *= n
    if unknown is None:
        if product != count:
            raise words.wrong_count(size, count)
        return tuple(size)
    if product == 0:
        raise words.any_length_fits(size) if count == 0 else words.wrong_count(size, count)
    return tuple(count // product if n == -1 else n for n in size)


def view_strides(size, stride, wanted):
    size, stride, wanted = tuple(size), tuple(stride), tuple(wanted)
    if not size:
        return contiguous_strides(wanted)
    if count_of(size) == 0:
        return stride if size == wanted else contiguous_strides(wanted)
    runs = []
    for n, s in zip(reversed(size), reversed(stride)):
        if runs and (n == 1 or s == runs[-1][0] * runs[-1][1]):
            runs[-1] = (runs[-1][0] * n, runs[-1][1])
        elif runs and runs[-1][0] == 1:
            runs[-1] = (n, s)
        else:
            runs.append((n, s))
    result, place = [], len(wanted) - 1
    for last, (length, step) in enumerate(runs):
        filled = 1
        while place >= 0 and (filled < length or wanted[place] == 1):
            result.append(step * filled)
            filled *= wanted[place]
            place -= 1
        if filled != length:
            return None
    return tuple(reversed(result)) if place < 0 else None


# %% answer="views_transpose_expand_squeeze" right="as first written, but for squeeze(())"
def transpose(x, dim0, dim1):
    if x.ndim == 0:
        normalize_dim(dim0, 1), normalize_dim(dim1, 1)
        return (), (), x.offset
    a, b = normalize_dim(dim0, x.ndim), normalize_dim(dim1, x.ndim)
    size, stride = list(x.shape), list(x.strides)
    size[a], size[b] = size[b], size[a]
    stride[a], stride[b] = stride[b], stride[a]
    return tuple(size), tuple(stride), x.offset


def expand(x, size):
    size = tuple(size)
    extra = len(size) - x.ndim
    if extra < 0:
        raise words.too_few_sizes(x, size)
    sizes, strides = [], []
    for dim in reversed(range(len(size))):
        n = size[dim]
        if dim < extra:
            if n == -1:
                raise words.nothing_to_keep(dim)
            old, step = 1, 0
        else:
            old, step = x.shape[dim - extra], x.strides[dim - extra]
            if n == -1:
                n = old
        if n != old:
            if old != 1:
                raise words.not_stretchable(x, size, dim)
            step = 0
        sizes.append(n)
        strides.append(step)
    return tuple(sizes[::-1]), tuple(strides[::-1]), x.offset


def squeeze(x, dim=None):
    dims = () if dim == () else normalize_dims(dim, x.ndim)
    keep = [i for i in range(x.ndim) if i not in dims or x.shape[i] != 1]
    return tuple(x.shape[i] for i in keep), tuple(x.strides[i] for i in keep), x.offset


# %% answer="views_transpose_expand_squeeze" wrong="offset 0 for a number"
def transpose(x, dim0, dim1):
    if x.ndim == 0:
        normalize_dim(dim0, 1), normalize_dim(dim1, 1)
        return (), (), 0
    a, b = normalize_dim(dim0, x.ndim), normalize_dim(dim1, x.ndim)
    size, stride = list(x.shape), list(x.strides)
    size[a], size[b] = size[b], size[a]
    stride[a], stride[b] = stride[b], stride[a]
    return tuple(size), tuple(stride), x.offset


def expand(x, size):
    size = tuple(size)
    extra = len(size) - x.ndim
    if extra < 0:
        raise words.too_few_sizes(x, size)
    sizes, strides = [], []
    for dim in reversed(range(len(size))):
        n = size[dim]
        if dim < extra:
            if n == -1:
                raise words.nothing_to_keep(dim)
            old, step = 1, 0
        else:
            old, step = x.shape[dim - extra], x.strides[dim - extra]
            if n == -1:
                n = old
        if n != old:
            if old != 1:
                raise words.not_stretchable(x, size, dim)
            step = 0
        sizes.append(n)
        strides.append(step)
    return tuple(sizes[::-1]), tuple(strides[::-1]), x.offset


def squeeze(x, dim=None):
    dims = () if dim == () else normalize_dims(dim, x.ndim)
    keep = [i for i in range(x.ndim) if i not in dims or x.shape[i] != 1]
    return tuple(x.shape[i] for i in keep), tuple(x.strides[i] for i in keep), x.offset


# %% answer="views_transpose_expand_squeeze" wrong="a length of 0 is stretchable" spoils="expand"
def expand(x, size):
    new = len(size) - len(x.shape)
    if new < 0:
        raise words.too_few_sizes(x, size)
    sizes, strides = [], []
    for d, n in enumerate(size):
        if d < new:
            if n == -1:
                raise words.nothing_to_keep(d)
            sizes.append(n); strides.append(0)
        elif n in (-1, x.shape[d - new]):
            sizes.append(x.shape[d - new]); strides.append(x.strides[d - new])
        elif x.shape[d - new] <= 1:
            sizes.append(n); strides.append(0)
        else:
            raise words.not_stretchable(x, size, d)
    return tuple(sizes), tuple(strides), x.offset


# %% answer="views_transpose_expand_squeeze" wrong="removes one at a time, from the front" spoils="squeeze"
def squeeze(x, dim=None):
    size, stride = list(x.shape), list(x.strides)
    for d in normalize_dims(dim, len(x.shape)):
        if d < len(size) and size[d] == 1:
            del size[d], stride[d]
    return tuple(size), tuple(stride), x.offset


# %% answer="views_write_in_place" right="as first written, from the task alone"
def write(x, values):
    if x.numel() and any(n > 1 and s == 0 for n, s in zip(x.shape, x.strides)):
        raise words.shared_places()
    x.array[...] = values
    x.storage.version += 1


def in_place(op, name):
    def run(x, *args, **kwargs):
        result = op(x, *args, **kwargs)
        if tuple(result.shape) != tuple(x.shape):
            raise words.wrong_result(x, result)
        check_fits(result.dtype, x.dtype)
        copy_(x, result)
        return x
    run.__name__ = name
    return run


# %% answer="views_write_in_place" right="counts before it writes"
def write(x, values):
    if x.numel() and any(n > 1 and s == 0 for n, s in zip(x.shape, x.strides)):
        raise words.shared_places()
    x.storage.version += 1
    x.array[...] = values


def in_place(op, name):
    def run(x, *args, **kwargs):
        result = op(x, *args, **kwargs)
        if tuple(result.shape) != tuple(x.shape):
            raise words.wrong_result(x, result)
        check_fits(result.dtype, x.dtype)
        copy_(x, result)
        return x
    run.__name__ = name
    return run


# %% answer="views_write_in_place" wrong="refuses stride 0 along a length of 1"
def write(x, values):
    if x.numel() and 0 in x.strides:
        raise words.shared_places()
    x.array[...] = values
    x.storage.version += 1


def in_place(op, name):
    def run(x, *args, **kwargs):
        result = op(x, *args, **kwargs)
        if tuple(result.shape) != tuple(x.shape):
            raise words.wrong_result(x, result)
        check_fits(result.dtype, x.dtype)
        copy_(x, result)
        return x
    run.__name__ = name
    return run


# %% answer="views_patches" wrong="strides a and b exchanged"
def patches(x, side, step):
    h, w = x.shape
    a, b = x.stride()
    return x.as_strided(((h - side) // step + 1, (w - side) // step + 1, side, side), (a * step, b * step, b, a))


# %% answer="views_repair_heads" right="as first written, from the task alone"
def split_heads(x, heads):
    batch, tokens, features = x.shape
    return x.view(batch, tokens, heads, features // heads).transpose(1, 2)


# %% answer="views_repair_heads" right="unflatten"
def split_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


# %% answer="views_repair_heads" right="reshape, movedim"
def split_heads(x, heads):
    b, t, f = x.shape
    return x.reshape(b, t, heads, -1).movedim(2, 1)


# %% answer="views_repair_heads" right="as_strided, with the strides of x"
def split_heads(x, heads):
    batch, tokens, features = x.shape
    rows, columns, step = x.stride()
    width = features // heads
    return x.as_strided((batch, heads, tokens, width), (rows, width * step, columns, step))


# %% answer="views_repair_heads" wrong="as_strided, with the strides of a contiguous x"
def split_heads(x, heads):
    batch, tokens, features = x.shape
    width = features // heads
    return x.as_strided((batch, heads, tokens, width), (tokens * features, width, features, 1))


# %% answer="views_repair_heads" wrong="copies"
def split_heads(x, heads):
    return torch.stack(x.chunk(heads, -1), 1)


# %% answer="views_repair_heads" wrong="every heads-th feature"
def split_heads(x, heads):
    batch, tokens, features = x.shape
    return x.view(batch, tokens, features // heads, heads).permute(0, 3, 1, 2)


# %% answer="views_measure_cache" right="as first written, from the task alone"
def measure(misses):
    line = 1
    while misses([0, line]) == 1:
        line += 1
    n = 1
    while misses([i * line for i in range(n)] + [0]) == n:
        n += 1
    return line, n - 1


# %% answer="views_measure_cache" right="two passes"
def measure(misses):
    line = 1
    while misses([0, line]) == 1:
        line += 1
    n = 2
    while misses([i * line for i in range(n)] * 2) == n:
        n += 1
    return line, n - 1


# %% answer="views_measure_cache" wrong="line doubling"
def measure(misses):
    line = 1
    while misses([0, line]) == 1:
        line *= 2
    n = 1
    while misses([i * line for i in range(n)] + [0]) == n:
        n += 1
    return line, n - 1


# %% answer="views_select_slice_repeat" wrong="modulo, down to -2n"
def unsqueeze(x, dim):
    dim = normalize_dim(dim, x.ndim + 1)
    size, stride = list(x.shape), list(x.strides)
    step = size[dim] * stride[dim] if dim < x.ndim else 1
    size.insert(dim, 1)
    stride.insert(dim, step)
    return tuple(size), tuple(stride), x.offset


def select(x, dim, index):
    if x.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normalize_dim(dim, x.ndim)
    n = x.shape[dim]
    if index >= n or index < -2 * n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    index %= n
    size, stride = list(x.shape), list(x.strides)
    del size[dim]
    return tuple(size), tuple(stride[:dim] + stride[dim + 1:]), x.offset + index * stride[dim]


def slice(x, dim, start, end, step=1):
    dim = normalize_dim(dim, x.ndim)
    size, stride = list(x.shape), list(x.strides)
    offset = x.offset + start * stride[dim]
    size[dim] = max(0, -((start - end) // step))
    stride[dim] *= step
    return tuple(size), tuple(stride), offset


def repeat(x, *times):
    times = one_tuple(times)
    if len(times) < x.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(times) - x.ndim) + tuple(x.shape)
    narrow = [n for length in shape for n in (1, length)]
    wide = [n for pair in zip(times, shape) for n in pair]
    full = [t * n for t, n in zip(times, shape)]
    big = x.reshape(narrow).expand(wide)
    copied = clone(big).reshape(full)
    return unshared(copied)


# %% answer="views_select_slice_repeat" wrong="no lower bound in select"
def unsqueeze(x, dim):
    dim = normalize_dim(dim, x.ndim + 1)
    size, stride = list(x.shape), list(x.strides)
    step = size[dim] * stride[dim] if dim < x.ndim else 1
    size.insert(dim, 1)
    stride.insert(dim, step)
    return tuple(size), tuple(stride), x.offset


def select(x, dim, index):
    if x.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normalize_dim(dim, x.ndim)
    n = x.shape[dim]
    if index >= n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    if index < 0:
        index += n
    size, stride = list(x.shape), list(x.strides)
    del size[dim]
    return tuple(size), tuple(stride[:dim] + stride[dim + 1:]), x.offset + index * stride[dim]


def slice(x, dim, start, end, step=1):
    dim = normalize_dim(dim, x.ndim)
    size, stride = list(x.shape), list(x.strides)
    offset = x.offset + start * stride[dim]
    size[dim] = max(0, -((start - end) // step))
    stride[dim] *= step
    return tuple(size), tuple(stride), offset


def repeat(x, *times):
    times = one_tuple(times)
    if len(times) < x.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(times) - x.ndim) + tuple(x.shape)
    narrow = [n for length in shape for n in (1, length)]
    wide = [n for pair in zip(times, shape) for n in pair]
    full = [t * n for t, n in zip(times, shape)]
    big = x.reshape(narrow).expand(wide)
    copied = clone(big).reshape(full)
    return unshared(copied)


# %% answer="views_select_slice_repeat" wrong="repeat by 1 shares memory"
def unsqueeze(x, dim):
    dim = normalize_dim(dim, x.ndim + 1)
    size, stride = list(x.shape), list(x.strides)
    step = size[dim] * stride[dim] if dim < x.ndim else 1
    size.insert(dim, 1)
    stride.insert(dim, step)
    return tuple(size), tuple(stride), x.offset


def select(x, dim, index):
    if x.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normalize_dim(dim, x.ndim)
    n = x.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    if index < 0:
        index += n
    size, stride = list(x.shape), list(x.strides)
    del size[dim]
    return tuple(size), tuple(stride[:dim] + stride[dim + 1:]), x.offset + index * stride[dim]


def slice(x, dim, start, end, step=1):
    dim = normalize_dim(dim, x.ndim)
    size, stride = list(x.shape), list(x.strides)
    offset = x.offset + start * stride[dim]
    size[dim] = max(0, -((start - end) // step))
    stride[dim] *= step
    return tuple(size), tuple(stride), offset


def repeat(x, *times):
    times = one_tuple(times)
    if len(times) < x.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(times) - x.ndim) + tuple(x.shape)
    narrow = [n for length in shape for n in (1, length)]
    wide = [n for pair in zip(times, shape) for n in pair]
    full = [t * n for t, n in zip(times, shape)]
    big = x.reshape(narrow).expand(wide)
    return unshared(big.reshape(full))


# %% answer="views_select_slice_repeat" wrong="stride 1 in unsqueeze"
def unsqueeze(x, dim):
    dim = normalize_dim(dim, x.ndim + 1)
    size, stride = list(x.shape), list(x.strides)
    step = 1
    size.insert(dim, 1)
    stride.insert(dim, step)
    return tuple(size), tuple(stride), x.offset


def select(x, dim, index):
    if x.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normalize_dim(dim, x.ndim)
    n = x.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    if index < 0:
        index += n
    size, stride = list(x.shape), list(x.strides)
    del size[dim]
    return tuple(size), tuple(stride[:dim] + stride[dim + 1:]), x.offset + index * stride[dim]


def slice(x, dim, start, end, step=1):
    dim = normalize_dim(dim, x.ndim)
    size, stride = list(x.shape), list(x.strides)
    offset = x.offset + start * stride[dim]
    size[dim] = max(0, -((start - end) // step))
    stride[dim] *= step
    return tuple(size), tuple(stride), offset


def repeat(x, *times):
    times = one_tuple(times)
    if len(times) < x.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(times) - x.ndim) + tuple(x.shape)
    narrow = [n for length in shape for n in (1, length)]
    wide = [n for pair in zip(times, shape) for n in pair]
    full = [t * n for t, n in zip(times, shape)]
    big = x.reshape(narrow).expand(wide)
    copied = clone(big).reshape(full)
    return unshared(copied)


# %% answer="views_select_slice_repeat" right="lists that are changed, and a range that counts"
def unsqueeze(x: Tensor, dim: int) -> Geometry:
    place = normalize_dim(dim, x.ndim + 1)
    sizes, strides = list(x.shape), list(x.strides)
    strides.insert(place, sizes[place] * strides[place] if place < x.ndim else 1)
    sizes.insert(place, 1)
    return tuple(sizes), tuple(strides), x.offset


def slice(x: Tensor, dim: int, start: int, end: int, step: int = 1) -> Geometry:
    place = normalize_dim(dim, x.ndim)
    sizes, strides = list(x.shape), list(x.strides)
    sizes[place] = len(range(start, end, step))
    strides[place] *= step
    return tuple(sizes), tuple(strides), x.offset + start * x.strides[place]


# %% answer="views_repair_heads" wrong="copies an x that isn't contiguous"
def split_heads(x, heads):
    batch, tokens, features = x.shape
    return x.contiguous().view(batch, tokens, heads, features // heads).transpose(1, 2)


# %% answer="views_patches" wrong="rounds the number of patches up, so that one which doesn't fit is begun ('patches that don't fit are skipped')"
def patches(x, side, step):
    (height, width), (down, right) = x.shape, x.stride()
    rows, columns = -(-(height - side) // step) + 1, -(-(width - side) // step) + 1
    return x.as_strided((rows, columns, side, side), (step * down, step * right, down, right))


# %% answer="views_patches" right="counts the corners with range"
def patches(x, side, step):
    corners = [len(range(0, length - side + 1, step)) for length in x.shape]
    return x.as_strided((*corners, side, side), (*(step * each for each in x.stride()), *x.stride()))


# %% answer="views_patches" right="one dimension after the other, as two calls of unfold"
def patches(x, side, step):
    for dim in (0, 1):
        sizes, strides = list(x.shape), list(x.stride())
        sizes.append(side)
        strides.append(strides[dim])
        sizes[dim] = (sizes[dim] - side + step) // step
        strides[dim] = strides[dim] * step
        x = x.as_strided(tuple(sizes), tuple(strides))
    return x


# %% answer="views_transpose_expand_squeeze" wrong="squeeze of no dimension removes all" spoils="squeeze"
def transpose(x, dim0, dim1):
    first, second = normalize_dim(dim0, x.ndim), normalize_dim(dim1, x.ndim)
    size, stride = list(x.shape), list(x.strides)
    if x.ndim:
        size[first], size[second] = size[second], size[first]
        stride[first], stride[second] = stride[second], stride[first]
    return tuple(size), tuple(stride), x.offset


def expand(x, size):
    added = len(size) - x.ndim
    if added < 0:
        raise words.too_few_sizes(x, size)
    sizes, strides = [], []
    for dim, wanted in enumerate(size):
        if dim < added:
            if wanted == -1:
                raise words.nothing_to_keep(dim)
            sizes.append(wanted)
            strides.append(0)
            continue
        length, step = x.shape[dim - added], x.strides[dim - added]
        if wanted == -1 or wanted == length:
            sizes.append(length)
            strides.append(step)
        elif length == 1:
            sizes.append(wanted)
            strides.append(0)
        else:
            raise words.not_stretchable(x, size, dim)
    return tuple(sizes), tuple(strides), x.offset


def squeeze(x, dim=None):
    named = normalize_dims(dim or None, x.ndim) if dim != 0 else normalize_dims(0, x.ndim)
    kept = [each for each in range(x.ndim) if x.shape[each] != 1 or each not in named]
    return tuple(x.shape[each] for each in kept), tuple(x.strides[each] for each in kept), x.offset


# %% answer="views_transpose_expand_squeeze" right="a permutation, and a shape padded with ones"
def transpose(x, dim0, dim1):
    order = list(range(x.ndim))
    a, b = (normalize_dim(d, x.ndim) for d in (dim0, dim1))
    if order:
        order[a], order[b] = b, a
    return tuple(x.shape[o] for o in order), tuple(x.strides[o] for o in order), x.offset


def expand(x, size):
    new = len(size) - len(x.shape)
    if new < 0:
        raise words.too_few_sizes(x, size)
    shape, steps = (1,) * new + tuple(x.shape), (0,) * new + tuple(x.strides)
    wanted = tuple(l if s == -1 and d >= new else s for d, (s, l) in enumerate(zip(size, shape)))
    for d in reversed(range(len(size))):
        if wanted[d] == -1:
            raise words.nothing_to_keep(d)
        if shape[d] not in (1, wanted[d]):
            raise words.not_stretchable(x, size, d)
    return wanted, tuple(t * (w == l) for t, w, l in zip(steps, wanted, shape)), x.offset


def squeeze(x, dim=None):
    dims = range(x.ndim) if dim is None else normalize_dims(dim, x.ndim) if dim != () else ()
    pairs = [(l, s) for i, (l, s) in enumerate(zip(x.shape, x.strides)) if not (l == 1 and i in set(dims))]
    shape, steps = zip(*pairs) if pairs else ((), ())
    return shape, steps, x.offset


# %% answer="views_transpose_expand_squeeze" right="deletes from the back"
def transpose(x, dim0, dim1):
    first, second = normalize_dim(dim0, x.ndim), normalize_dim(dim1, x.ndim)
    size, stride = list(x.shape), list(x.strides)
    if x.ndim:
        size[first], size[second] = size[second], size[first]
        stride[first], stride[second] = stride[second], stride[first]
    return tuple(size), tuple(stride), x.offset


def expand(x, size):
    added = len(size) - x.ndim
    if added < 0:
        raise words.too_few_sizes(x, size)
    sizes, strides = [], []
    for dim, wanted in enumerate(size):
        if dim < added:
            if wanted == -1:
                raise words.nothing_to_keep(dim)
            sizes.append(wanted)
            strides.append(0)
            continue
        length, step = x.shape[dim - added], x.strides[dim - added]
        if wanted == -1 or wanted == length:
            sizes.append(length)
            strides.append(step)
        elif length == 1:
            sizes.append(wanted)
            strides.append(0)
        else:
            raise words.not_stretchable(x, size, dim)
    return tuple(sizes), tuple(strides), x.offset


def squeeze(x, dim=None):
    size, stride = list(x.shape), list(x.strides)
    named = list(range(x.ndim)) if dim is None else [] if dim == () else list(normalize_dims(dim, x.ndim))
    for each in sorted(named, reverse=True):
        if x.ndim and size[each] == 1:
            del size[each], stride[each]
    return tuple(size), tuple(stride), x.offset
