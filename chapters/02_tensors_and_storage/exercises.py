# %% [markdown]
# # Exercises · Tensors and storage
# `torch` is `minitorch`. Exercises 2 and 6 write parts of `mytorch`, and what passes there is copied into
# `my/mytorch`. Your functions run inside a file of `mytorch`, where every function that a docstring mentions is
# available. Import anything else in the cell, including NumPy.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch


View = tuple[tuple[int, ...], tuple[int, ...], int]  # size, stride, offset


class Camera:
    """Delivers frames one after another into memory that the caller owns."""

    def __init__(self, frames):
        self.frames = iter(frames)

    def read_into(self, buffer):
        buffer[:] = next(self.frames)


# %% [markdown] exercise="storage_predict_sharing" kind="predict" points=1
# ### Exercise 1 · Predict which writes each tensor sees
# ```python
# a = np.array([1.0, 2.0])
# t = torch.from_numpy(a)
# u = torch.as_tensor(a, dtype=torch.float64)
# a += 10
# a = a * 2
# u[1] = 0
# print(t.tolist())
# ```
# Which two numbers does the last line print? Write them down without running the code.

# %% solution="storage_predict_sharing"
### BEGIN SOLUTION
prediction = [11.0, 0.0]
### END SOLUTION
### BEGIN STUB
# prediction = [..., ...]
### END STUB

# %% check="storage_predict_sharing"
check.show({"printed": [float(number) for number in prediction]}, secret=True)

# %% [markdown] hint="storage_predict_sharing"
# Draw a box for each piece of memory and an arrow from each name to its box. Which lines make a new box?

# %% [markdown] hint="storage_predict_sharing"
# `a += 10` writes into the box that `a` points to, while `a = a * 2` makes a new box and moves the arrow to it.

# %% [markdown] hint="storage_predict_sharing"
# NumPy's floats are float64 already, so `as_tensor` has nothing to convert, and `u` points to the same box as `t`.

# %% mutant="storage_predict_sharing"
# as_tensor as a copy
# The array is float64 already, and as_tensor copies only when something has to change. So u writes into t's memory.
prediction = [11.0, 12.0]

# %% mutant="storage_predict_sharing"
# a * 2 as a write
# a * 2 makes a new array and gives it the name a. The memory that t reads is unchanged.
prediction = [22.0, 0.0]

# %% mutant="storage_predict_sharing"
# a * 2 as a write, as_tensor as a copy
# Two things went wrong: a * 2 makes a new array, which t doesn't read, and u shares t's memory, because the dtype
# already fits.
prediction = [22.0, 24.0]

# %% mutant="storage_predict_sharing"
# from_numpy as a copy
# from_numpy copies nothing: t reads the array's memory, where both a += 10 and u[1] = 0 write.
prediction = [1.0, 2.0]

# %% mutant="storage_predict_sharing"
# a += 10 as a new array
# a += 10 is an in-place operation in NumPy. It writes into the memory that t and u read.
prediction = [1.0, 0.0]

# %% [markdown] exercise="storage_strides" kind="core" points="1 2 1" part="mytorch.strides:contiguous_strides mytorch.strides:strided mytorch.creation:from_numpy"
# ### Exercise 2 · Strides
# Write three functions, in this order:
#
# - `contiguous_strides` returns the strides of a shape that is stored row by row. `contiguous_strides((2, 3))` is `(3, 1)`.
# - `strided` returns a strided view as an array on the same memory. `strided(np.arange(6), (3, 2), (1, 3), 0)` is
#   `[[0, 3], [1, 4], [2, 5]]`. The array library's `as_strided` does the work, but it counts in bytes and takes no offset.
# - `from_numpy` goes in the opposite direction, from an array to a `Tensor` on a `Storage`, the classes that the lesson
#   shows. For `np.arange(6)[::2]` the stride is 2, and the storage has five elements, 0 to 4.


# %% docstrings="storage_strides"
def contiguous_strides():
    """The strides of a tensor of this shape that is stored row by row, without gaps.

    The last stride is 1. Every other stride is the product of the lengths to its right,
    where a length of 0 counts as 1: `contiguous_strides((2, 0, 3))` is `(3, 3, 1)`.
    """


def strided():
    """A strided view of the flat array `flat`, as an array that shares its memory.

    Element (i, j, …) is `flat[offset + i * stride[0] + j * stride[1] + …]`, so strides
    and offset count elements. The library of the array builds the view:
    `library_of(flat).as_strided(array, size, steps)` starts at the first element of
    `array`, and its steps are in bytes.
    """


def from_numpy():
    """A tensor that shares the memory of a NumPy array, whatever the array's strides are.

    The tensor's strides are those of the array, in elements instead of bytes. Its
    storage begins at the array's first element and ends at the last one that the
    strides reach: `flat_from(array, count)` is a flat array over `count` consecutive
    elements, starting at the first. The storage of an empty array is empty.

    Raises:
        TypeError: not an array, or of a dtype that tensors don't have (raised by `check_array(array)`).
        ValueError: strides that tensors can't have (raised by `check_array(array)`).
    """


# %% check="storage_strides" raises="TypeError ValueError"
generator = check.rng()
size = tuple(int(length) for length in generator.integers(2, 5, size=3))
flat = generator.integers(0, 100, size=40, dtype=np.int32)
step, offset = int(generator.integers(4, 8)), int(generator.integers(1, 5))
seen = mytorch.strides.strided(flat, (3, 2), (step, 2), offset)
still = mytorch.strides.strided(flat, (2, 2), (0, 3), 1)
flat[offset + step] = -1
seen[2, 1] = -2
array = generator.normal(size=(5, 6))[1:, ::2].T
shared, single = mytorch.from_numpy(array), mytorch.from_numpy(array[1, 2, ...])
overlapping = np.lib.stride_tricks.as_strided(generator.normal(size=9), (4, 3), (int(generator.integers(3)) * 8, 8))
slices = [array[:1, : size[0] - 1], array[:, :1], array[:0], array[:, :0]]
short = generator.integers(0, 100, size=(3, 8), dtype=np.int16)[:, 1::3]
array[1, 2] = 50
check.show(
    {
        "size": size,
        "contiguous strides": mytorch.strides.contiguous_strides(size),
        "with a length of 0": mytorch.strides.contiguous_strides((size[0], 0, size[2])),
        "of a scalar": mytorch.strides.contiguous_strides(()),
        "flat, after a write to the view": flat,
        "stride and offset of the view": (step, 2, offset),
        "the view, after a write to flat": seen,
        "a view with stride (0, 3) and offset 1": still,
        "from_numpy, after a write to the array": shared,
        "its strides": shared.stride(),
        "elements in its storage": len(shared.storage),
        "elements in the storages of empty arrays": [
            len(mytorch.from_numpy(empty).storage) for empty in (array[:0], array[:, :0], np.ones((2, 3, 0))[1:])
        ],
        "strides of the overlapping windows": overlapping.strides,
        "elements in the storage of overlapping windows": len(mytorch.from_numpy(overlapping).storage),
        "strides of slices of length 1 and 0": [mytorch.from_numpy(each).stride() for each in slices],
        "from_numpy of an array without dimensions, after a write to it": single,
        "from_numpy, of two bytes": mytorch.from_numpy(short),
        "from_numpy of a list": check.error(mytorch.from_numpy, [1.0, 2.0]),
        "from_numpy of an array of texts": type(check.error(mytorch.from_numpy, np.array(["a"]))).__name__,
        "from_numpy, backwards": type(check.error(mytorch.from_numpy, array[::-1])).__name__,
    },
    text="Strides are in elements. What shares memory shows the write.",
)

# %% [markdown] hint="storage_strides"
# How far apart are neighbours along the last dimension, and along the one before it? For `strided`, where is element
# (0, 0), and how many bytes does one element take?

# %% [markdown] hint="storage_strides"
# `contiguous_strides`: go through `reversed(size)` with a running product. `strided`: `flat[offset:]` begins at the
# correct position, and each stride has to be multiplied by `flat.dtype.itemsize`. `from_numpy`: `array.strides` are
# in bytes.

# %% [markdown] hint="storage_strides"
# Multiply the running product by `max(length, 1)` after you have stored the stride. `strided` ends with
# `library_of(flat).as_strided(flat[offset:], size, steps)`. The last position that `from_numpy` reaches is the sum of
# `(length - 1) * stride`; then return `Tensor(Storage(flat_from(array, last + 1)), array.shape, strides)`.


# %% mutant="storage_strides"
# Goes from the left
# These strides let the first dimension move fastest, as in Fortran. Row by row, the last one does.
def contiguous_strides(size):
    strides, step = [], 1
    for length in size:
        strides.append(step)
        step *= max(length, 1)
    return tuple(strides)


# %% mutant="storage_strides"
# A length of 0 counts as 0
# With a length of 0 in the product, every stride to its left is 0. PyTorch counts such a length as 1.
def contiguous_strides(size):
    strides, step = [], 1
    for length in reversed(size):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


# %% mutant="storage_strides"
# Copies on the way
# The values are correct, but they are in memory of their own, so a write to the flat array isn't visible in the view.
def strided(flat, size, stride, offset):
    steps = tuple(step * flat.dtype.itemsize for step in stride)
    return library_of(flat).as_strided(flat[offset:], size, steps).copy()


# %% mutant="storage_strides"
# Forgets the offset
# This view begins at the first element of the flat array, wherever the tensor begins.
def strided(flat, size, stride, offset):
    return library_of(flat).as_strided(flat, size, tuple(step * flat.dtype.itemsize for step in stride))


# %% mutant="storage_strides"
# Elements for bytes
# as_strided counts bytes, while the strides here count elements. Multiply each step by the size of an element.
def strided(flat, size, stride, offset):
    return library_of(flat).as_strided(flat[offset:], size, stride)


# %% mutant="storage_strides"
# Eight bytes for every element
# Eight bytes is the size of an int64 or a float64. The array's `itemsize` says how many it has.
def strided(flat, size, stride, offset):
    return library_of(flat).as_strided(flat[offset:], size, tuple(step * 8 for step in stride))


# %% mutant="storage_strides"
# Eight bytes in every array
# Eight bytes is the size of an int64 or a float64. The array's `itemsize` says how many it has.
def from_numpy(array):
    check_array(array)
    strides = tuple(step // 8 for step in array.strides)
    last = sum((length - 1) * step for length, step in zip(array.shape, strides, strict=True))
    return Tensor(Storage(flat_from(array, last + 1 if array.size else 0)), array.shape, strides)


# %% mutant="storage_strides"
# Checks nothing
# A list has to be refused, and so has an array that no tensor can share: call `check_array(array)` first.
def from_numpy(array):
    strides = tuple(step // np.asarray(array).itemsize for step in np.asarray(array).strides)
    last = sum((length - 1) * step for length, step in zip(np.asarray(array).shape, strides, strict=True))
    return Tensor(
        Storage(flat_from(np.asarray(array), last + 1 if np.size(array) else 0)), np.asarray(array).shape, strides
    )


# %% mutant="storage_strides"
# Copies the array
# A contiguous copy has the same elements but other strides, and writes to the array aren't visible in it.
def from_numpy(array):
    check_array(array)
    return from_array(array.copy(order="C"))


# %% mutant="storage_strides"
# As many elements as the array
# A view with gaps reaches further than the number of its elements. The storage has to end at the last element that it
# reaches.
def from_numpy(array):
    check_array(array)
    strides = tuple(step // array.itemsize for step in array.strides)
    return Tensor(Storage(flat_from(array, array.size)), array.shape, strides)


# %% mutant="storage_strides"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch can't be imported from it.
def contiguous_strides(size):
    import minitorch

    return minitorch.empty(size).stride()


# %% [markdown] exercise="storage_bytes_held" kind="build" points=2
# ### Exercise 3 · Memory that a list of tensors keeps alive
# `bytes_held` returns how many bytes of memory a list of tensors keeps alive, which are all bytes of every storage that at
# least one of them uses. Several tensors may share a storage. Two storages
# are the same if their addresses are: `untyped_storage()` need not return the same object twice. Copy nothing and change nothing.


# %% solution="storage_bytes_held"
def bytes_held(tensors: list[torch.Tensor]) -> int:
    """The total number of bytes in the storages of these tensors."""
    ### BEGIN SOLUTION
    held = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(held.values())
    ### END SOLUTION


# %% check="storage_bytes_held"
generator = check.rng()
rows, columns = (int(length) for length in generator.integers(10, 30, size=2))
table = torch.zeros(rows, columns)
half = torch.zeros(rows, dtype=torch.float16)
weight = torch.ones(columns, requires_grad=True)
mixed = [table, half, weight, table[1]]
held = bytes_held(mixed)
check.show(
    {
        "size of the table, float32": (rows, columns),
        "elements of half, float16": rows,
        "the table": bytes_held([table]),
        "one number of it": bytes_held([table[1, 2]]),
        "its transpose and its last row": bytes_held([table.t(), table[-1]]),
        "a row, and a clone of a row": bytes_held([table[1], table[1].clone()]),
        "the table, half and a part of half": bytes_held([table, half, half[2:5]]),
        "bytes of the table as uint8": bytes_held([table, table.view(torch.uint8)]),
        "the table and a table like it": bytes_held([table, torch.zeros_like(table)]),
        "the table, half, a weight and a row of the table": held,
        "how many tensors that list still has": len(mixed),
        "gradients are recorded": torch.is_grad_enabled(),
        "which of them is the table": [t.shape == table.shape for t in mixed],
        "the weight still requires grad": weight.requires_grad,
        "no tensor": bytes_held([]),
    },
    text="Bytes held by each list. A float32 has four, a float16 two.",
)

# %% [markdown] hint="storage_bytes_held"
# What does a view of one element keep alive? And how often does a storage count if two tensors use it?

# %% [markdown] hint="storage_bytes_held"
# `untyped_storage().nbytes()` is the size of the whole storage. Which value tells you that two storages are the same?

# %% [markdown] hint="storage_bytes_held"
# Make a dict with `untyped_storage().data_ptr()` as the key and the number of bytes as the value, and add up its
# values.


# %% mutant="storage_bytes_held"
# Counts what the shapes hold
# `nbytes` of a tensor counts what its shape needs, but a view of one element keeps the whole storage alive.
def bytes_held(tensors):
    return sum(t.nbytes for t in tensors)


# %% mutant="storage_bytes_held"
# Counts a shared storage twice
# Two views of one storage keep it alive once. Count each storage once.
def bytes_held(tensors):
    return sum(t.untyped_storage().nbytes() for t in tensors)


# %% mutant="storage_bytes_held"
# Tells tensors apart by their first element
# `data_ptr()` of a tensor is the address of its first element. Two views of one storage may begin at different elements.
def bytes_held(tensors):
    return sum({t.data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


# %% mutant="storage_bytes_held"
# Tells storages apart by their size
# Two different storages can have the same number of bytes. The address tells them apart.
def bytes_held(tensors):
    return sum({t.untyped_storage().nbytes() for t in tensors})


# %% [markdown] exercise="storage_views_meet" kind="build" points=3
# ### Exercise 4 · Do two views overlap?
# Two strided views of one storage are given, each as `(size, stride, offset)` in elements. Do they have an element in
# common? The even and the odd positions of a storage don't, although their ranges overlap. Sizes are small, so you may visit
# every element. A length may be 0, a size may be `()`, and a stride may be 0.


# %% solution="storage_views_meet"
def views_meet(one: View, other: View) -> bool:
    """True if two strided views of the same storage have an element in common."""
    ### BEGIN SOLUTION
    places = []
    for size, stride, offset in (one, other):
        seen = [offset]
        for length, step in zip(size, stride, strict=True):
            seen = [place + i * step for place in seen for i in range(length)]
        places.append(set(seen))
    return not places[0].isdisjoint(places[1])
    ### END SOLUTION


# %% check="storage_views_meet"
generator = check.rng()
gap, start = int(generator.integers(3, 6)), int(generator.integers(0, 4))
cases = {
    "even and odd places": (((4,), (2,), start), ((4,), (2,), start + 1)),
    "even and shifted by two": (((4,), (2,), start), ((4,), (2,), start + 2)),
    "two columns of a table": (((3,), (gap,), start), ((3,), (gap,), start + 1)),
    "a row and a column": (((gap,), (1,), start), ((3,), (gap,), start)),
    "left and right half of a table": (((3, 2), (2 * gap, 1), start), ((3, 2), (2 * gap, 1), start + 2)),
    "one number inside": (((), (), start + gap), ((2, 2), (gap, 1), start)),
    "one number beside": (((), (), start + 2), ((2, 2), (gap, 1), start)),
    "repeated by stride 0": (((5, 2), (0, 3), start), ((), (), start + 3)),
    "an empty one": (((3, 0), (1, 1), start), ((5,), (1,), start)),
    "an empty one, with stride 0": (((5,), (1,), start), ((2, 0), (1, 0), start)),
    "one after the other": (((3,), (1,), start), ((3,), (1,), start + 3)),
}
for number in range(6):
    pair = [((2, 3), tuple(int(step) for step in generator.integers(1, 8, size=2)), start + shift) for shift in (0, 1)]
    cases[f"drawn {number}: {pair[0]}, {pair[1]}"] = tuple(pair)
check.show({name: views_meet(*pair) for name, pair in cases.items()} | {"gap": gap, "start": start})

# %% [markdown] hint="storage_views_meet"
# Which positions in the storage does a view of size (2, 3), stride (5, 1) and offset 4 use? Write them down.

# %% [markdown] hint="storage_views_meet"
# Begin with the offset alone. Each dimension turns every position into `length` positions that are `step` apart.

# %% [markdown] hint="storage_views_meet"
# For each dimension, compute `seen = [position + i * step for position in seen for i in range(length)]`, and then
# test whether the two sets are disjoint. A length of 0 leaves no position, and a size of `()` leaves one.


# %% mutant="storage_views_meet"
# Compares the ranges
# The even and the odd positions have overlapping ranges but no element in common, so the strides have to decide.
def views_meet(one, other):
    ends = []
    for size, stride, offset in (one, other):
        last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
        ends.append((offset, last if 0 not in size else offset - 1))
    return ends[0][0] <= ends[1][1] and ends[1][0] <= ends[0][1] and all(first <= last for first, last in ends)


# %% mutant="storage_views_meet"
# Compares the offsets
# Views that begin at different positions can still have a later element in common.
def views_meet(one, other):
    return one[2] == other[2] and 0 not in one[0] and 0 not in other[0]


# %% mutant="storage_views_meet"
# Looks at the first dimension alone
# A view with two dimensions reaches more positions than its first column.
def views_meet(one, other):
    places = []
    for size, stride, offset in (one, other):
        length, step = (size[0], stride[0]) if size else (1, 0)
        places.append({offset + i * step for i in range(length)} if 0 not in size else set())
    return not places[0].isdisjoint(places[1])


# %% mutant="storage_views_meet"
# Forgets empty views
# A view with a length of 0 has no elements, so it can't share one.
def views_meet(one, other):
    places = []
    for size, stride, offset in (one, other):
        seen = [offset]
        for length, step in zip(size, stride, strict=True):
            seen = [place + i * step for place in seen for i in range(max(length, 1))]
        places.append(set(seen))
    return not places[0].isdisjoint(places[1])


# %% [markdown] exercise="storage_repair_frames" kind="repair" points=2
# ### Exercise 5 · The camera that shows one picture
# `read_frames` collects frames from a camera. It runs without an error, it returns the right shapes, and in a test with one
# frame the values were correct. With five frames, however, the training set contains the last frame five times. Fix it.


# %% solution="storage_repair_frames"
def read_frames(camera: Camera, count: int, shape: tuple[int, ...]) -> list[torch.Tensor]:
    """The next `count` frames of the camera, as float32 tensors."""
    ### BEGIN SOLUTION
    buffer = np.empty(shape, np.float32)
    frames = []
    for _ in range(count):
        camera.read_into(buffer)
        frames.append(torch.tensor(buffer))
    return frames
    ### END SOLUTION
    ### BEGIN STUB
    # buffer = np.empty(shape, np.float32)
    # frames = []
    # for _ in range(count):
    #     camera.read_into(buffer)
    #     frames.append(torch.from_numpy(buffer))
    # return frames
    ### END STUB


# %% check="storage_repair_frames"
delivered = check.rng().integers(0, 256, size=(7, 2, 3)).astype(np.float32)
camera = Camera(delivered)
frames = read_frames(camera, 5, (2, 3))
frames[0][0, 0] = -1  # a change to one frame belongs to that frame alone
check.show(
    {
        "delivered": delivered,
        "five frames, after a write to the first": frames,
        "their means": [round(frame.mean().item(), 3) for frame in frames],
        "the next frame": read_frames(camera, 1, (2, 3)),
        "frames that the camera still has": list(camera.frames),
    }
)

# %% [markdown] hint="storage_repair_frames"
# Print the whole list after each iteration of the loop. When does the first frame change?

# %% [markdown] hint="storage_repair_frames"
# Compare `data_ptr()` of the five tensors. The camera writes into `buffer` each time. Which line makes a copy?

# %% [markdown] hint="storage_repair_frames"
# Each frame needs memory of its own while the buffer still contains it. Inside the loop, use `torch.tensor(buffer)`
# or `torch.from_numpy(buffer).clone()`.


# %% mutant="storage_repair_frames"
# as_tensor instead
# as_tensor copies only if dtype or device have to change. Neither does here, so all frames still share the buffer.
def read_frames(camera, count, shape):
    buffer = np.empty(shape, np.float32)
    frames = []
    for _ in range(count):
        camera.read_into(buffer)
        frames.append(torch.as_tensor(buffer, dtype=torch.float32))
    return frames


# %% mutant="storage_repair_frames"
# Copies after the loop
# By then the buffer holds the last frame, so this makes five copies of it. Copy inside the loop.
def read_frames(camera, count, shape):
    buffer = np.empty(shape, np.float32)
    frames = []
    for _ in range(count):
        camera.read_into(buffer)
        frames.append(torch.from_numpy(buffer))
    return [frame.clone() for frame in frames]


# %% mutant="storage_repair_frames"
# Converts instead of copying
# `.float()` returns the tensor itself if it is float32 already, so no copy is made.
def read_frames(camera, count, shape):
    buffer = np.empty(shape, np.float32)
    frames = []
    for _ in range(count):
        camera.read_into(buffer)
        frames.append(torch.from_numpy(buffer).float())
    return frames


# %% mutant="storage_repair_frames"
# Keeps the last frame only
# Only the last frame is kept, and the list contains it `count` times.
def read_frames(camera, count, shape):
    buffer = np.empty(shape, np.float32)
    for _ in range(count):
        camera.read_into(buffer)
    return [torch.tensor(buffer) for _ in range(count)]


# %% [markdown] exercise="storage_random" kind="core" points="2 1" part="mytorch.random:Generator.normal mytorch.random:box_muller mytorch.random:randn | mytorch.random:randperm"
# ### Exercise 6 · PyTorch's random numbers, to the digit
# This exercise belongs to the optional section of the lesson. A seed fixes a stream of 32-bit words, and libraries that seed a
# Mersenne Twister in the same way get the same words. They turn the words into numbers in different ways, however, so the
# same seed doesn't make NumPy and PyTorch agree. Write two of PyTorch's methods: normally distributed numbers, and a random
# order. `self.uniform(count, bits)` returns numbers in [0, 1) with 24 or 53 random bits, and `source.words(count)` returns the
# next words as integers.
#
# After `mytorch.manual_seed(0)`, `mytorch.randn(3)` is `tensor([ 1.5410, -0.2934, -2.1788])`, as in PyTorch.


# %% docstrings="storage_random"
def normal():
    """One normally distributed number.

    They come in pairs, and the second number waits in `self.waiting` for the next call.
    A pair is made from two uniform numbers u and v with 53 bits, drawn in this order.
    The first number is √(-2 log(1 - v)) · cos(2πu), and the second has the sine instead
    of the cosine. `self.waiting` is None while no number waits. Both numbers are Python
    floats.
    """


def box_muller():
    """Normally distributed numbers from uniform ones, in groups of 16.

    The j-th and the (j + 8)-th number of a group form a pair. From u_j and u_(j + 8)
    come √(-2 log(1 - u_j)) times the cosine, and times the sine, of 2π u_(j + 8). The
    number with the cosine has position j in the group, and the one with the sine has
    position j + 8.
    """


def randn():
    """Normally distributed numbers with mean 0 and variance 1.

    Their source is `generator`, or `default_generator` if it is None. Fewer than 16
    numbers are `source.normal()`, one by one. For more, draw as many uniform numbers as
    there are elements, with `bits_of(type_)` bits, and compute in float64 for float64
    and in float32 for all other types. `box_muller` makes the complete groups of 16. If
    the count is no multiple of 16, draw 16 more uniform numbers and use them to compute
    the last 16 elements of the result again. (For 16-bit types nothing is drawn for the
    incomplete group at first.) The result has the dtype that was asked for, by default
    `settings.default_dtype`; `new(array, device, requires_grad)` makes a tensor from an
    array.
    """


def randperm():
    """The numbers below n in random order, as int64.

    Start with 0, 1, 2, … and draw n - 1 words. At each position in turn, exchange the
    element with the one at `position + word % (n - position)` (Fisher and Yates).
    """


# %% check="storage_random"
generator = check.rng()
seed, n = int(generator.integers(1, 10_000)), int(generator.integers(12, 17))


def drawn(*sizes, **options):
    """Tensors of these sizes, drawn one after the other, and the number that the stream gives after them."""
    mytorch.manual_seed(seed)
    return [mytorch.randn(size, **options) for size in sizes] + [mytorch.rand(1)]


def ordered(count):
    mytorch.manual_seed(seed)
    return [mytorch.randperm(count), mytorch.rand(1)]


def own(draw):
    """What is drawn from a generator of one's own, and the number that the default one gives after it."""
    mytorch.manual_seed(seed)
    return [draw(mytorch.Generator().manual_seed(seed + 1)), mytorch.rand(1)]


def beyond_float32(double):
    """The digits that float32 has no room for, made large."""
    numbers = np.array(double.tolist())
    return (numbers - numbers.astype(np.float32)) * 2**24


mytorch.set_default_dtype(mytorch.float64)
try:
    by_default = drawn(20)
finally:
    mytorch.set_default_dtype(mytorch.float32)

check.show(
    {
        "seed": seed,
        "one number": drawn(()),
        "five numbers": drawn(5),
        "three, then two": drawn(3, 2),
        "sixteen": drawn((2, 8)),
        "forty": drawn((5, 8)),
        "twenty as float64": drawn(20, dtype=mytorch.float64),
        "twenty as float16": drawn(20, dtype=mytorch.float16),
        "thirty-two as float16": drawn(32, dtype=mytorch.float16),
        "twenty as bfloat16": drawn(20, dtype=mytorch.bfloat16),
        "twenty with float64 as the default": by_default,
        "what float32 would lose of them": beyond_float32(by_default[0]),
        "four from a generator of one's own": own(lambda source: mytorch.randn(4, generator=source)),
        "twenty from it": own(lambda source: mytorch.randn(20, generator=source)),
        "forty from it": own(lambda source: mytorch.randn(5, 8, generator=source)),
        "requires_grad, asked for": [mytorch.randn(size, requires_grad=True).requires_grad for size in (4, 16, 20)],
        "requires_grad, not asked for": mytorch.randn(20).requires_grad,
        "sizes without elements": [mytorch.randn(0), mytorch.randn(2, 0)],
        "an order": ordered(n),
        "an order of one, and of none": [ordered(1), ordered(0)],
        "an order from a generator": own(lambda source: mytorch.randperm(n, generator=source)),
    },
    rtol=1e-4,
    atol=1e-5,
    text="Numbers drawn after this seed; the last one of each list shows how far the stream has come.",
)

# %% [markdown] hint="storage_random"
# `normal`: if a number is waiting, return it and set `self.waiting` to None. Otherwise begin with `u, v =
# self.uniform(2, 53)`. `randperm`: exchange two elements of a list with `order[a], order[b] = order[b], order[a]`.

# %% [markdown] hint="storage_random"
# `box_muller`: `uniform.reshape(-1, 2, 8)` puts the first eight numbers of each group into `[:, 0]` and the other
# eight into `[:, 1]`. Stack cosine and sine along dimension 1 and flatten the result.

# %% [markdown] hint="storage_random"
# `randn`: `whole = count // 16 * 16`, and `exact` is the NumPy type to compute in. Draw `count` uniform numbers (only
# `whole` of them if `type_.itemsize == 2`), convert them with `.astype(exact)`, and start with
# `box_muller(uniform[:whole])` and zeros for the rest. If `count % 16` isn't 0, the last 16 elements are
# `box_muller(source.uniform(16, bits_of(type_)).astype(exact))`.


# %% mutant="storage_random"
# Lets no number wait
# The formula of Box and Muller makes two numbers at a time, and PyTorch keeps the second one for the next call.
def normal(self):
    u, v = self.uniform(2, 53)
    return float(np.sqrt(-2 * np.log1p(-v)) * np.cos(2 * np.pi * u))


# %% mutant="storage_random"
# The sine first
# The first number of a pair has the cosine.
def normal(self):
    if self.waiting is not None:
        number, self.waiting = self.waiting, None
        return number
    u, v = self.uniform(2, 53)
    radius = np.sqrt(-2 * np.log1p(-v))
    self.waiting = float(radius * np.cos(2 * np.pi * u))
    return float(radius * np.sin(2 * np.pi * u))


# %% mutant="storage_random"
# Neighbours belong together
# In a group of 16 the first eight numbers give the radius and the other eight give the angle.
def box_muller(uniform):
    groups = uniform.reshape(-1, 8, 2)
    radius, angle = np.sqrt(-2 * np.log(1 - groups[..., 0])), 2 * np.pi * groups[..., 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(-1)


# %% mutant="storage_random"
# The last ones one by one
# The elements that don't fill a group of 16 aren't made one by one: the last 16 are drawn again together.
def randn(*size, dtype=None, device=None, generator=None, requires_grad=False):
    shape, type_, source = one_tuple(size), dtype or settings.default_dtype, generator or default_generator
    count = count_of(shape)
    whole = count // 16 * 16
    exact = np.float64 if type_ is float64 else np.float32
    numbers = box_muller(source.uniform(whole, bits_of(type_)).astype(exact))
    numbers = np.append(numbers, [source.normal() for _ in range(count - whole)])
    return new(numbers.astype(type_.numpy).reshape(shape), device, requires_grad)


# %% mutant="storage_random" spoils="randn"
# A generator for a few numbers alone
# With 16 numbers and more, too, a generator that was passed is the source, and the default one doesn't advance.
def randn(*size, dtype=None, device=None, generator=None, requires_grad=False):
    shape, type_, source = one_tuple(size), dtype or settings.default_dtype, generator or default_generator
    count = count_of(shape)
    if count < 16:
        numbers = np.array([source.normal() for _ in range(count)])
        return new(numbers.astype(type_.numpy).reshape(shape), device, requires_grad)
    whole, exact = count // 16 * 16, np.float64 if type_ is float64 else np.float32
    uniform = default_generator.uniform(whole if type_.itemsize == 2 else count, bits_of(type_)).astype(exact)
    numbers = np.append(box_muller(uniform[:whole]), np.zeros(count - whole, exact))
    if count % 16:
        numbers[-16:] = box_muller(default_generator.uniform(16, bits_of(type_)).astype(exact))
    return new(numbers.astype(type_.numpy).reshape(shape), device, requires_grad)


# %% mutant="storage_random"
# Any place
# Exchanging each element with *any* other makes some orders more likely than others, because n^n draws can't be
# divided equally among n! orders. Choose from the positions that are left.
def randperm(n, *, generator=None):
    order = list(range(n))
    for place, word in enumerate((generator or default_generator).words(max(n - 1, 0)).tolist()):
        other = word % n
        order[place], order[other] = order[other], order[place]
    return new(np.array(order, np.int64))


# %% mutant="storage_random"
# Ignores the generator
# If a generator is passed, the words come from it. The default one is for calls without a generator.
def randperm(n, *, generator=None):
    order = list(range(n))
    for place, word in enumerate(default_generator.words(max(n - 1, 0)).tolist()):
        other = place + word % (n - place)
        order[place], order[other] = order[other], order[place]
    return new(np.array(order, np.int64))


# %% mutant="storage_random"
# From the end
# The loop goes through the positions from the first to the last.
def randperm(n, *, generator=None):
    order = list(range(n))
    words = (generator or default_generator).words(max(n - 1, 0)).tolist()
    for place, word in zip(range(n - 1, 0, -1), words, strict=True):
        other = word % (place + 1)
        order[place], order[other] = order[other], order[place]
    return new(np.array(order, np.int64))


# %% mutant="storage_random"
# Delegates to minitorch
# mytorch stands on NumPy alone.
def randperm(n, *, generator=None):
    import minitorch

    return minitorch.randperm(n, generator=generator)
