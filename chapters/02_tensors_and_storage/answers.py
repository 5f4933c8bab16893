# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 02` grades them.


# %% answer="storage_predict_sharing" right="as first written, from the task alone"
prediction = [11, 0]


# %% answer="storage_strides" right="n if n else 1"
def contiguous_strides(size):
    out, step = [], 1
    for n in reversed(size):
        out.append(step)
        step *= n if n else 1
    return tuple(reversed(out))


def strided(flat, size, stride, offset):
    item = flat.dtype.itemsize
    return library_of(flat).as_strided(flat[offset:], size, tuple(s * item for s in stride))


def from_numpy(array):
    check_array(array)
    stride = tuple(s // array.itemsize for s in array.strides)
    count = 0 if array.size == 0 else 1 + sum((n - 1) * s for n, s in zip(array.shape, stride))
    return Tensor(Storage(flat_from(array, count)), array.shape, stride)


# %% answer="storage_strides" wrong="empty by the first length only"
def contiguous_strides(size):
    out, step = [], 1
    for n in reversed(size):
        out.append(step)
        step *= max(n, 1)
    return tuple(reversed(out))


def strided(flat, size, stride, offset):
    item = flat.dtype.itemsize
    return library_of(flat).as_strided(flat[offset:], size, tuple(s * item for s in stride))


def from_numpy(array):
    check_array(array)
    stride = tuple(s // array.itemsize for s in array.strides)
    count = 0 if array.ndim and array.shape[0] == 0 else 1 + sum((n - 1) * s for n, s in zip(array.shape, stride))
    return Tensor(Storage(flat_from(array, count)), array.shape, stride)


# %% answer="storage_strides" wrong="the view can't be written to" spoils="strided"
def strided(flat, size, stride, offset):
    steps = tuple(s * flat.itemsize for s in stride)
    view = library_of(flat).as_strided(flat[offset:], size, steps)
    if hasattr(view, "flags"):
        view.flags.writeable = False
    return view


# %% answer="storage_bytes_held" right="as first written, from the task alone"
def bytes_held(tensors):
    held = {}
    for t in tensors:
        s = t.untyped_storage()
        held[s.data_ptr()] = s.nbytes()
    return sum(held.values())


# %% answer="storage_bytes_held" wrong="bytes up to the last element"
def bytes_held(tensors):
    held = {}
    for t in tensors:
        p = t.untyped_storage().data_ptr()
        held[p] = max(held.get(p, 0), (t.storage_offset() + t.numel()) * t.element_size())
    return sum(held.values())


# %% answer="storage_bytes_held" wrong="empties the list"
def bytes_held(tensors):
    seen, total = set(), 0
    while tensors:
        s = tensors.pop().untyped_storage()
        if s.data_ptr() not in seen:
            seen.add(s.data_ptr())
            total += s.nbytes()
    return total


# %% answer="storage_bytes_held" wrong="only compares with the tensor before"
def bytes_held(tensors):
    total, last = 0, None
    for t in tensors:
        s = t.untyped_storage()
        if s.data_ptr() != last:
            total += s.nbytes()
        last = s.data_ptr()
    return total


# %% answer="storage_bytes_held" wrong="sorts the list"
def bytes_held(tensors):
    tensors.sort(key=lambda t: t.untyped_storage().data_ptr())
    total, last = 0, None
    for t in tensors:
        s = t.untyped_storage()
        if s.data_ptr() != last:
            total += s.nbytes()
        last = s.data_ptr()
    return total


# %% answer="storage_bytes_held" wrong="detaches the tensors in place"
def bytes_held(tensors):
    return sum({t.requires_grad_(False).untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


# %% answer="storage_views_meet" right="NumPy's shares_memory"
def views_meet(one, other):
    flat = np.zeros(1000, np.int8)
    a, b = (np.lib.stride_tricks.as_strided(flat[o:], s, t) for s, t, o in (one, other))
    return bool(np.shares_memory(a, b))


# %% answer="storage_views_meet" wrong="greatest common divisor and range"
import math
def views_meet(one, other):
    (s, t, o), (u, v, p) = one, other
    if 0 in s or 0 in u:
        return False
    a, b = sum((n - 1) * k for n, k in zip(s, t)), sum((n - 1) * k for n, k in zip(u, v))
    g = math.gcd(*t, *v)
    return o <= p + b and p <= o + a and ((o - p) % g == 0 if g else o == p)


# %% answer="storage_views_meet" wrong="equal offsets meet"
from itertools import product
def views_meet(one, other):
    def places(v):
        size, stride, offset = v
        return {offset + sum(i * s for i, s in zip(idx, stride)) for idx in product(*map(range, size))}
    return one[2] == other[2] or bool(places(one) & places(other))


# %% answer="storage_views_meet" wrong="a stride of 0 is no dimension, though its length may be 0"
def views_meet(one, other):
    def places(view):
        size, stride, offset = view
        found = {offset}
        for n, s in zip(size, stride):
            if s:
                found = {p + i * s for p in found for i in range(n)}
        return found
    return bool(places(one) & places(other))


# %% answer="storage_repair_frames" right="as first written, from the task alone"
def read_frames(camera, count, shape):
    buffer = np.empty(shape, np.float32)
    frames = []
    for _ in range(count):
        camera.read_into(buffer)
        frames.append(torch.tensor(buffer))
    return frames


# %% answer="storage_repair_frames" right="one storage for all frames"
def read_frames(camera, count, shape):
    buffer = np.empty((count, *shape), np.float32)
    for each in buffer:
        camera.read_into(each)
    return [torch.from_numpy(each) for each in buffer]


# %% answer="storage_repair_frames" right="from_numpy of a copy"
def read_frames(camera, count, shape):
    buffer = np.empty(shape, np.float32)
    frames = []
    for _ in range(count):
        camera.read_into(buffer)
        frames.append(torch.from_numpy(buffer.copy()))
    return frames


# %% answer="storage_repair_frames" wrong="as_tensor"
def read_frames(camera, count, shape):
    buffer = np.empty(shape, np.float32)
    frames = []
    for _ in range(count):
        camera.read_into(buffer)
        frames.append(torch.as_tensor(buffer))
    return frames


# %% answer="storage_random" right="as first written, from the task alone"
import math
import numpy as np

def normal(self):
    if self.waiting is not None:
        z, self.waiting = self.waiting, None
        return z
    u, v = (float(each) for each in self.uniform(2, 53))
    r = math.sqrt(-2 * math.log(1 - v))
    self.waiting = r * math.sin(2 * math.pi * u)
    return r * math.cos(2 * math.pi * u)


def box_muller(uniform):
    groups = uniform.reshape(-1, 2, 8)
    u, v = groups[:, 0], groups[:, 1]
    r = np.sqrt(-2 * np.log(1 - u))
    return np.stack([r * np.cos(2 * np.pi * v), r * np.sin(2 * np.pi * v)], 1).reshape(-1)


def randn(*size, dtype=None, device=None, generator=None, requires_grad=False):
    size = one_tuple(size)
    type_ = settings.default_dtype if dtype is None else dtype
    source = generator or default_generator
    n = count_of(size)
    work = np.float64 if type_.name == "float64" else np.float32
    if n < 16:
        out = np.array([source.normal() for _ in range(n)], dtype=work)
    else:
        bits = bits_of(type_)
        whole = n // 16 * 16
        if n % 16 == 0:
            out = box_muller(source.uniform(n, bits).astype(work))
        else:
            drawn = n if type_.itemsize > 2 else whole
            u = source.uniform(drawn, bits).astype(work)
            out = np.empty(n, work)
            out[:whole] = box_muller(u[:whole])
            out[-16:] = box_muller(source.uniform(16, bits).astype(work))
    return new(out.reshape(size).astype(type_.numpy), device, requires_grad)


def randperm(n, *, generator=None):
    source = generator or default_generator
    order = list(range(n))
    words = source.words(max(n - 1, 0))
    for place, word in enumerate(words):
        other = place + int(word) % (n - place)
        order[place], order[other] = order[other], order[place]
    return new(np.array(order, np.int64))


# %% answer="storage_random" wrong="requires_grad dropped"
import math
import numpy as np

def normal(self):
    if self.waiting is not None:
        z, self.waiting = self.waiting, None
        return z
    u, v = (float(each) for each in self.uniform(2, 53))
    r = math.sqrt(-2 * math.log(1 - v))
    self.waiting = r * math.sin(2 * math.pi * u)
    return r * math.cos(2 * math.pi * u)


def box_muller(uniform):
    groups = uniform.reshape(-1, 2, 8)
    u, v = groups[:, 0], groups[:, 1]
    r = np.sqrt(-2 * np.log(1 - u))
    return np.stack([r * np.cos(2 * np.pi * v), r * np.sin(2 * np.pi * v)], 1).reshape(-1)


def randn(*size, dtype=None, device=None, generator=None, requires_grad=False):
    size = one_tuple(size)
    type_ = settings.default_dtype if dtype is None else dtype
    source = generator or default_generator
    n = count_of(size)
    work = np.float64 if type_.name == "float64" else np.float32
    if n < 16:
        out = np.array([source.normal() for _ in range(n)], dtype=work)
    else:
        bits = bits_of(type_)
        whole = n // 16 * 16
        if n % 16 == 0:
            out = box_muller(source.uniform(n, bits).astype(work))
        else:
            drawn = n if type_.itemsize > 2 else whole
            u = source.uniform(drawn, bits).astype(work)
            out = np.empty(n, work)
            out[:whole] = box_muller(u[:whole])
            out[-16:] = box_muller(source.uniform(16, bits).astype(work))
    return new(out.reshape(size).astype(type_.numpy), device)


def randperm(n, *, generator=None):
    source = generator or default_generator
    order = list(range(n))
    words = source.words(max(n - 1, 0))
    for place, word in enumerate(words):
        other = place + int(word) % (n - place)
        order[place], order[other] = order[other], order[place]
    return new(np.array(order, np.int64))


# %% answer="storage_random" wrong="generator ignored from 16 numbers on"
import math
import numpy as np

def normal(self):
    if self.waiting is not None:
        z, self.waiting = self.waiting, None
        return z
    u, v = (float(each) for each in self.uniform(2, 53))
    r = math.sqrt(-2 * math.log(1 - v))
    self.waiting = r * math.sin(2 * math.pi * u)
    return r * math.cos(2 * math.pi * u)


def box_muller(uniform):
    groups = uniform.reshape(-1, 2, 8)
    u, v = groups[:, 0], groups[:, 1]
    r = np.sqrt(-2 * np.log(1 - u))
    return np.stack([r * np.cos(2 * np.pi * v), r * np.sin(2 * np.pi * v)], 1).reshape(-1)


def randn(*size, dtype=None, device=None, generator=None, requires_grad=False):
    size = one_tuple(size)
    type_ = settings.default_dtype if dtype is None else dtype
    source = generator or default_generator
    n = count_of(size)
    work = np.float64 if type_.name == "float64" else np.float32
    if n < 16:
        out = np.array([source.normal() for _ in range(n)], dtype=work)
    else:
        bits = bits_of(type_)
        whole = n // 16 * 16
        if n % 16 == 0:
            out = box_muller(default_generator.uniform(n, bits).astype(work))
        else:
            drawn = n if type_.itemsize > 2 else whole
            u = default_generator.uniform(drawn, bits).astype(work)
            out = np.empty(n, work)
            out[:whole] = box_muller(u[:whole])
            out[-16:] = box_muller(default_generator.uniform(16, bits).astype(work))
    return new(out.reshape(size).astype(type_.numpy), device, requires_grad)


def randperm(n, *, generator=None):
    source = generator or default_generator
    order = list(range(n))
    words = source.words(max(n - 1, 0))
    for place, word in enumerate(words):
        other = place + int(word) % (n - place)
        order[place], order[other] = order[other], order[place]
    return new(np.array(order, np.int64))


# %% answer="storage_bytes_held" right="sorted by address, and grouped"
def bytes_held(tensors: list[torch.Tensor]) -> int:
    from itertools import groupby

    pairs = sorted((s.data_ptr(), s.nbytes()) for s in (x.untyped_storage() for x in tensors))
    return sum(max(size for _, size in group) for _, group in groupby(pairs, key=lambda pair: pair[0]))


# %% answer="storage_strides" wrong="the storage ends at the last element that the strides reach, but this has as many as the array at least" spoils="from_numpy"
def from_numpy(array):
    check_array(array)
    strides = tuple(step // array.dtype.itemsize for step in array.strides)
    last = sum((length - 1) * stride for length, stride in zip(array.shape, strides))
    count = max(array.size, last + 1) if array.size else 0
    return Tensor(Storage(flat_from(array, count)), array.shape, strides)


# %% answer="storage_strides" wrong="shares the memory of an array, but a 0-d one is copied" spoils="from_numpy"
def from_numpy(array):
    check_array(array)
    if array.ndim == 0:
        return Tensor(Storage(flat_from(array.copy(), 1)), (), ())
    strides = tuple(step // array.dtype.itemsize for step in array.strides)
    last = sum((length - 1) * stride for length, stride in zip(array.shape, strides))
    return Tensor(Storage(flat_from(array, last + 1 if array.size else 0)), array.shape, strides)


# %% answer="storage_strides" wrong="the strides are the array's, but those of a slice of length 1 are computed" spoils="from_numpy"
def from_numpy(array):
    from mytorch.strides import contiguous_strides
    check_array(array)
    size = tuple(array.shape)
    if array.flags.c_contiguous:
        strides = contiguous_strides(size)
    else:
        strides = tuple(step // array.itemsize for step in array.strides)
    last = sum((length - 1) * stride for length, stride in zip(size, strides))
    return Tensor(Storage(flat_from(array, last + 1 if array.size else 0)), size, strides)


# %% answer="storage_strides" wrong="the strides are the array's, but those of an empty array are computed" spoils="from_numpy"
def from_numpy(array):
    from mytorch.strides import contiguous_strides
    check_array(array)
    if array.size == 0:
        return Tensor(Storage(flat_from(array, 0)), array.shape, contiguous_strides(array.shape))
    strides = tuple(step // array.dtype.itemsize for step in array.strides)
    last = sum((length - 1) * stride for length, stride in zip(array.shape, strides))
    return Tensor(Storage(flat_from(array, last + 1)), array.shape, strides)


# %% answer="storage_strides" right="calls its sibling, which is a part of another file"
def from_numpy(array):
    check_array(array)
    size = tuple(array.shape)
    dense = contiguous_strides(size)
    if tuple(array.strides) == tuple(step * array.itemsize for step in dense):
        strides = dense
    else:
        strides = tuple(step // array.itemsize for step in array.strides)
    last = sum((length - 1) * stride for length, stride in zip(size, strides))
    return Tensor(Storage(flat_from(array, last + 1 if array.size else 0)), size, strides)
