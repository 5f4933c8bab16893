# %% [markdown]
# # Views and layout
# After this chapter `view`, `transpose`, `expand` and `add_` work in your own library, and they raise an error wherever PyTorch raises one.
# You will be able to say of any reshape whether it copies, and to prove it.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(3)  # as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## View or copy: a write that went missing
# Take six numbers, flatten them in two ways, and write into both results. Decide what `t` will be before you run the cell.

# %% tags=["proof-reshape-copies"]
import minitorch as torch

t = torch.arange(6).reshape(2, 3)
straight = t.reshape(6)
swapped = t.t().reshape(6)
straight[0] = 100
swapped[5] = 500
print(t)
for name, tensor in {"straight": straight, "swapped": swapped}.items():
    print(f"{name:8} shares memory:", tensor.untyped_storage().data_ptr() == t.untyped_storage().data_ptr())

# %% [markdown] tags=["short"]
# One write arrived, while the other was lost without a warning. `t.reshape(6)` returned a **view**, which is another way to
# look at the same memory, but `t.t().reshape(6)` returned a copy. What decides which of the two you get?
#
# ## Memory layout
# A tensor is a **strided view** of its storage, which is a flat row of elements. The view consists of *sizes*, *strides* and an
# *offset*: the first element is at the offset, and one step along dimension `d` moves by `stride[d]` elements.

# %% tags=["proof-strided-views"]
from course import check, pictures

t = torch.arange(10, 16).reshape(2, 3)
views = {"t": t, "t.t()": t.t(), "t[:, 1]": t[:, 1]}
for name, view in views.items():
    print(f"{name:8} sizes {tuple(view.shape)}, strides {view.stride()}, offset {view.storage_offset()}")
pictures.assign({"t": "data", "t.t()": "result", "t[:, 1]": "index"})
pictures.storage(t, views)

# %% [markdown] tags=["short"]
# Transposing swapped the two strides without moving a single element. Now flatten `t.t()`: its elements, in order, are at positions 0 3 1 4
# 2 5 of the storage. Since a flat tensor has only one stride, is there a stride that makes these jumps?
#
# ### One stride for a flat view
# The smallest model lists the positions in the storage that a view reads. If all jumps from one position to the next are
# equally long, that jump is the stride of the flat view.

# %%
from itertools import pairwise, product


def positions(size, stride, offset=0):
    indices = product(*map(range, size))
    return [offset + sum(i * step for i, step in zip(index, stride, strict=True)) for index in indices]


def flat_stride(size, stride):
    jumps = {after - before for before, after in pairwise(positions(size, stride))}
    return jumps.pop() if len(jumps) == 1 else None


print("t       ", positions((2, 3), (3, 1)), "stride", flat_stride((2, 3), (3, 1)))
print("t.t()   ", positions((3, 2), (1, 3)), "stride", flat_stride((3, 2), (1, 3)))

# %% [markdown]
# The jumps of `t.t()` alternate between +3 and −2. Since no single stride makes them, the elements have to move, so `reshape` copies.
#
# ### Where the model breaks
# The model knows only one target, the flat shape. The next tensor can't be flattened without a copy, and yet one of two other
# shapes is possible:

# %% tags=["proof-view-raises", "raises-exception"]
u = torch.arange(24).reshape(2, 3, 4).transpose(0, 1)
print("strides", u.stride(), "flat stride", flat_stride(u.shape, u.stride()))
print("as (3, 2, 2, 2):", u.view(3, 2, 2, 2).stride())
u.view(6, 4)

# %% [markdown] tags=["short"]
# ### The rule: which dimensions merge
# The shape (3, 2, 2, 2) only splits the last dimension, whereas (6, 4) has to merge the first two, and the error says that this
# takes a copy. Dimensions `d` and `d + 1` merge if one step along `d` is as long as a whole row along `d + 1`: `stride[d] ==
# stride[d + 1] * size[d + 1]`. Below are two rows of three elements. At which distance do they form one row of six?


# %%
def two_rows(distance):
    name = "can merge" if distance == 3 * 1 else "can't merge"
    return pictures.storage(range(9), {name: ((2, 3), (distance, 1), 0)})


pictures.slider(two_rows, start={"distance": 4}, distance=[1, 2, 3, 4, 5, 6])

# %% [markdown]
# At a distance of 3 the dashed arrow, which leads to the next row, is as long as the others. (At 1 and 2 the rows overlap, which is legal.)
# Now start from the last dimension and group the neighbours that merge into **runs**:


# %% tags=["proof-merge-rule"]
def runs(size, stride):
    """The number of elements and the innermost stride of each run of dimensions that merge."""
    found = []
    for length, step in zip(reversed(size), reversed(stride), strict=True):
        if found and (length == 1 or step == found[0][0] * found[0][1]):
            found[0] = (found[0][0] * length, found[0][1])
        else:
            found.insert(0, (length, step))
    return found


for name, x in {"t": t, "t.t()": t.t(), "u": u, "u[:, :, ::2]": u[:, :, ::2]}.items():
    print(f"{name:13} {tuple(x.shape)!s:9} strides {x.stride()!s:9} runs {runs(x.shape, x.stride())}")

# %% [markdown]
# Each pair is a run: its number of elements, and its innermost stride. A run can be split in any way, but two runs have to stay
# separate. `u` has runs of 3, 2 and 4 elements, so a view may split the 4 into 2 × 2, but it can't have a dimension of length
# 6. That is all `view` has to check.
#
# **Interview · When does `view` raise, and when does it work?**
#
# - *Thirty seconds:* It works if there are strides that visit the same elements in the same order in the new shape. A dimension can always
#   be split, and two neighbours merge if `stride[d] == stride[d+1] * size[d+1]`. If the new shape needs any other merge, `view` raises.
# - *Longer:* The new lengths have to fill each run exactly. A length of 1 merges with anything, because no step is taken along it.
# - *They ask next:* Does the tensor have to be contiguous? No: `u` isn't contiguous, and yet `u.view(3, 2, 2, 2)` works.
# - *The trap:* Whether `view` fails after `transpose` depends on the shape you ask for.
# - *Proof:* `proof-merge-rule`; working and raising: `proof-view-raises`.
#
# **Interview · `view` or `reshape`?**
#
# - *Thirty seconds:* `view` never copies, so it raises an error if no strides fit. `reshape` returns a view if there is one,
#   and otherwise a copy.
# - *Longer:* I use `view` when I rely on shared memory, and `reshape` when I only need the values.
# - *They ask next:* How do you find out which one you got? Compare `untyped_storage().data_ptr()` of both tensors.
# - *The trap:* Whether a write into the result of `reshape` changes the source depends on the strides.
# - *Proof:* `proof-reshape-copies`.
#
# ### Contiguous tensors
# A tensor is **contiguous** if its elements, in order, are next to each other in the storage. Its strides are then those that [chapter
# 02](02_tensors_and_storage.ipynb) computes from a shape. `contiguous()` returns the tensor itself if it is contiguous already, and
# otherwise a copy in that order.

# %% tags=["proof-contiguous"]
row = torch.arange(3).reshape(1, 3)
for name, x in {"t": t, "t.t()": t.t(), "row.t()": row.t(), "t[:, :2]": t[:, :2], "t[1:]": t[1:]}.items():
    print(f"{name:8} {x.stride()}  contiguous {x.is_contiguous()!s:5}  copied {x.contiguous() is not x}")
results = {
    "t.t() + 1": t.t() + 1,
    "t.t().clone()": t.t().clone(),
    "t.t().masked_fill(…)": t.t().masked_fill(t.t() > 1, 0),
}
print("new tensors:", {name: result.stride() for name, result in results.items()})

# %% [markdown] given="mytorch.views:view_op mytorch.views:run_as_view mytorch.views:permute"
# The first five lines have one surprise: `row.t()` is contiguous, because the stride along a length of 1 doesn't matter. The
# last line has another. `t.t() + 1` is a *new* tensor and yet it isn't contiguous, since arithmetic and `clone` usually keep
# the memory order of their input. If two dense inputs of the same shape differ in their order, the first one decides: with `o =
# torch.ones(3, 2)`, the strides of `t.t() + o` are (1, 3), and those of `o + t.t()` are (2, 1).
#
# Not every operation keeps the order: `masked_fill` and `cumsum` store their result row by row, as `mytorch` does with each new
# result.
#
# **Interview · What does contiguous mean, and is a transposed tensor contiguous?**
#
# - *Thirty seconds:* Contiguous means that the elements, in order, are next to each other in the storage. A transposed matrix usually isn't
#   contiguous: its strides are swapped, and the elements stay where they are. A matrix with a single row or column still is.
# - *Longer:* `contiguous()` copies only if it has to, so a kernel that needs contiguous memory can call it on any input.
# - *They ask next:* Is every new tensor contiguous? No: `t.t() + 1` is new, and yet it has the strides of `t.t()`.
# - *The trap:* "Slices aren't contiguous" is only half true: `t[:, :2]` isn't, but `t[1:]` is.
# - *Proof:* `proof-contiguous`.
#
# ## `mytorch`: views
# In [chapter 02b](02b_dtypes_and_dispatch.ipynb) a kernel took arrays and returned an array. The kernel of a view, however,
# takes the tensor and returns sizes, strides and an offset, from which `run_as_view` makes a tensor on the *same storage*.
# (`base` is the tensor that the first view was taken from, while `rebased` and `one_of_several` belong to chapter 07.) In the
# exercises you will write `transpose`, `expand` and `squeeze` in the same way.

# %%
x = mytorch.arange(6).reshape(2, 3)
y = x.permute(1, 0)
print("strides", y.stride(), "same storage", y.storage is x.storage)

# %% [markdown] given="mytorch.views:view"
# `view` calls two functions that you will write: `infer_size` replaces a −1, and `view_strides` applies the rule from above.

# %% [markdown]
# ### `expand` and `repeat`
# A stride may also be 0, so that a step along that dimension reads the same element again. `expand` does nothing else.

# %% tags=["proof-expand-stride"]
bias = torch.tensor([7, 8, 9])
for name, x in {"expand": bias.expand(1000, 3), "repeat": bias.repeat(1000, 1)}.items():
    print(f"{name} shape {tuple(x.shape)}, strides {x.stride()}, {x.untyped_storage().nbytes()} bytes")
print("expand, made contiguous:", bias.expand(1000, 3).contiguous().untyped_storage().nbytes(), "bytes")
pictures.storage(bias, {"bias": bias, "expanded": bias.expand(2, 3), "column": bias[:1].expand(3)})

# %% [markdown]
# The expanded tensor still takes the 24 bytes of `bias`, a thousandth of what `repeat` takes. The price is that several of its
# elements share one position in memory, so a write might have to store two values there. `fill_` with a single number is fine,
# while `add_` and `copy_` raise an error. But they only look for strides of 0, so overlapping views of another kind get past
# them:

# %% tags=["proof-overlaps", "raises-exception"]
s = torch.zeros(4)
windows = s.as_strided((3, 2), (1, 1))  # 0 1, 1 2, 2 3: sliding windows
windows.copy_(torch.tensor([[1, 2], [3, 4], [5, 6]]))
print("wrote 1 to 6, found", s.tolist(), " filled", s[:1].expand(3).fill_(9).tolist())
print(str(check.error(s[1:].add_, s[:-1])).split(". ")[0])
s[:1].expand(3).add_(1)

# %% [markdown]
# Six values went into four positions, so two are lost, and no error was raised. PyTorch does check an in-place operation with
# two tensors: `s[1:].add_(s[:-1])` raises, because it reads and writes overlapping views of one storage. It checks only views without gaps,
# though, so `s[1::2].add_(s[:2])` goes unnoticed. The last line raises as well, since an expanded tensor has a stride of 0.
#
# **Interview · `expand` or `repeat`?**
#
# - *Thirty seconds:* `expand` sets strides to 0 and takes no memory, but it can only stretch dimensions of length 1. `repeat`
#   works along any dimension, because it copies the data.
# - *Longer:* Use `repeat` if you are going to change single rows. Broadcasting is an `expand` that is done for you ([chapter
#   04](04_broadcasting_indexing_joining.ipynb)).
# - *They ask next:* What does `contiguous()` do to an expanded tensor? It makes a copy, which allocates the full size.
# - *The trap:* In-place addition to an expanded tensor raises as soon as a dimension was stretched, because its elements share memory.
# - *Proof:* `proof-expand-stride`; the refusal: `proof-overlaps`.
#
# ### More views: `narrow`, `diagonal`, `unfold` and `movedim`
# Other operations also return nothing but new sizes, strides and an offset:

# %% tags=["proof-more-views"]
line, square, batch = torch.arange(6), torch.arange(9).reshape(3, 3), torch.zeros(2, 3, 4)
more = {"square.narrow(1, 1, 2)": square.narrow(1, 1, 2), "square.diagonal()": square.diagonal()}
more |= {"line.unfold(0, 3, 1)": line.unfold(0, 3, 1), "batch.movedim(0, 2)": batch.movedim(0, 2)}
for name, x in more.items():
    facts = f"{tuple(x.shape)!s:10} strides {x.stride()!s:11} offset {x.storage_offset()}"
    print(f"{name:23} {facts}  view {x._is_view()}")
print("windows", line.unfold(0, 3, 1).tolist(), "in", line.untyped_storage().nbytes() // 8, "elements")

# %% [markdown]
# All four are views. `unfold` cuts a dimension into windows: from one window to the next it moves by the step, and within a
# window by the old stride, so neighbouring windows share elements and six elements are enough for four windows of three.
# (`flip` isn't in the list because PyTorch has no negative strides, so it has to copy.)
#
# **Interview · How do you cut a signal into overlapping windows without copying?**
#
# - *Thirty seconds:* I use `x.unfold(dim, size, step)`, which returns a view. The windows get the stride `step * stride`, and a new
#   last dimension keeps the old stride, so overlapping windows share memory.
# - *Longer:* The patches of a vision transformer are two calls of `unfold`, one for rows and one for columns (exercise 5). `narrow`,
#   `select`, `diagonal`, `permute` and `movedim` are views as well, and `as_strided` can build any of them by hand.
# - *They ask next:* When does it copy after all? As soon as you flatten the windows for a matrix multiplication, and then the copy is `size
#   / step` times as large as the signal. `nn.functional.unfold` makes that copy for images.
# - *The trap:* Overlapping windows share elements, so the result of writing into them in place isn't defined.
# - *Proof:* `proof-more-views`; lost writes: `proof-overlaps`.
#
# ### Another order: `channels_last`
# Images have shape (N, C, H, W): images, channels, rows, columns. A convolution combines all channels of a pixel, so it helps if they are
# next to each other in memory. `channels_last` achieves that without changing the shape:

# %% tags=["proof-channels-last"]
image = torch.arange(12).reshape(1, 3, 2, 2)
last = image.to(memory_format=torch.channels_last)
for name, x in {"image": image, "last": last, "last * 2": last * 2}.items():
    orders = x.is_contiguous(), x.is_contiguous(memory_format=torch.channels_last)
    print(f"{name:8} {tuple(x.shape)}, strides {x.stride()}, contiguous, channels last: {orders}")
print("equal:", torch.equal(image, last), " masked_fill:", last.masked_fill(last > 5, 0).stride())
print("one pixel:", image[..., :1, :1].to(memory_format=torch.channels_last).is_contiguous())
pixels = last.as_strided((4, 3), (3, 1))  # the storage of `last`, three channels in a row
pictures.grids(("image[0]", image[0]), ("storage of last: a pixel in each row", pixels))

# %% [markdown]
# **Interview · What is `channels_last`?**
#
# - *Thirty seconds:* It is a memory format for images: the shape stays (N, C, H, W), but the strides change, so that the channels of a
#   pixel are adjacent in memory.
# - *Longer:* It suits convolutions, which read all channels of a pixel. Arithmetic and most activation functions keep it, but `softmax`,
#   `logsigmoid` and `masked_fill` don't, so check the format of what you pass on.
# - *They ask next:* How does it differ from `permute(0, 2, 3, 1)`? That changes the shape and moves nothing. `channels_last` moves the
#   elements and keeps the shape.
# - *The trap:* A plain `is_contiguous()` is the wrong test. It is False, unless there is a single channel or a single pixel, so pass
#   `memory_format=torch.channels_last`.
# - *Proof:* `proof-channels-last`.
#
# **Interview · Why does a CUDA or Triton kernel take strides, or call `contiguous()`?**
#
# - *Thirty seconds:* A kernel gets a raw pointer, so it has to know where the next element is. Either the caller passes the strides and the
#   kernel works on any view, or the wrapper calls `contiguous()` and the kernel can assume one layout.
# - *Longer:* Passing strides avoids a copy. But neighbouring threads should read neighbouring addresses (*memory coalescing*), which a
#   large stride in the last dimension prevents, so the copy may pay off for an input that is read often. Some kernels also need rows that
#   start at multiples of 16 bytes ([chapter 24c](24c_mixture_of_experts.ipynb) shows the error).
# - *They ask next:* What goes wrong without either? The kernel silently computes with the wrong elements as soon as a caller passes a
#   transposed tensor.
# - *The trap:* A kernel that was tested only on new tensors can still fail on transposed, sliced and expanded inputs.
# - *Proof:* where the elements are: `proof-strided-views`; what a stride costs: `proof-cache-lines`.
#
# ## In-place operations
# Assigning to a row or column takes two steps: `t[:, 1] = 0` makes a view of column 1 and fills it. `mytorch` gets indexing in chapter 04,
# but both steps work now.

# %% tags=["proof-assignment"]
ones, mine = torch.ones(3, 4), mytorch.ones(3, 4)
ones[:, 1] = 0
mine.select(1, 1).fill_(0)
ones.add_(5)
mine.add_(5)
print(ones)
print("equal:", ones.tolist() == mine.tolist(), " versions:", ones._version, mine._version)

# %% [markdown]
# The column was set to 0 before 5 was added everywhere, and each of the two writes incremented the *version*, which is
# explained below. A trailing underscore means *in place*: `add_` writes into the memory of its tensor and returns that tensor,
# so every view of that memory sees the write. On a tensor, `+=` is in place, too. (A few such methods, `t_` and `unsqueeze_`
# among them, write no element but change the shape and the strides of the tensor itself.)

# %% tags=["proof-in-place"]
a = torch.zeros(3)
b = a
b = b + 1  # a new tensor; the name b now refers to it
print("after b = b + 1:", a.tolist())
b = a
b += 1  # a write into the memory of a
print("after b += 1:   ", a.tolist(), b is a, a.add_(1) is a)
print(check.error(torch.arange(3).add_, 0.5))
print(check.error(torch.zeros(3).add_, torch.ones(2, 3)))
whole = torch.arange(3)
whole[0], whole[1:] = 0.9, torch.tensor([1.9, -1.9])
print("assigned:", whole.tolist(), " filled:", torch.arange(3).fill_(0.9).tolist())
print(check.error(whole.__setitem__, [0], torch.tensor([1.9])))

# %% [markdown]
# A write changes neither the dtype nor the shape of the tensor, so the result of `add_` has to fit, and the two errors are
# about results that don't. `fill_`, `copy_` and assignments through numbers and slices convert instead, and they truncate
# fractions. There are limits:
#
# - An assignment through a list converts a Python number but refuses a *tensor* of a different dtype, as the last line shows.
#   Through a mask, only a tensor with several elements is refused.
# - `fill_` raises if the number is out of range, such as 300 for uint8.
#
# **Interview · `a = a + b` or `a += b`?**
#
# - *Thirty seconds:* The first makes a new tensor and binds the name to it. The second writes into the memory of `a`, so its views and
#   other names see the change, too.
# - *Longer:* In place, the result must fit into `a`, so `+= 0.5` raises for integers, and broadcasting may stretch `b` but not `a`.
# - *They ask next:* How do you assign to a column? With `t[:, 1] = 0`, which is a view and a write into it, and which converts the dtype.
# - *The trap:* `x += 1` in a function changes its caller's tensor.
# - *Proof:* `proof-in-place`; the column: `proof-assignment`.
#
# ### The version counter
# Autograd keeps values for the backward pass, and a write may destroy one of them. That is why PyTorch counts in-place calls,
# even those that write no element, such as `t_()`. A tensor shares its counter with its views and with the result of
# `detach()`, but writes through `.data` and through NumPy aren't counted:

# %% tags=["proof-versions"]
data = torch.zeros(4)
view, detached = data[:2], data.detach()
view.add_(1)
detached.mul_(3)
print("two writes:", data._version, view._version, detached._version, "  clone:", data.clone()._version)
print("unsqueeze_ counts:", torch.zeros(4).unsqueeze_(0)._version)
data.data.add_(1)
data.numpy()[0] = 9
print("after writes through .data and numpy():", data._version, data.tolist())
pictures.storage(data, {"data": data, "view": view}, version=data._version)

# %% [markdown] given="mytorch.views:copy_ mytorch.views:run_write"
# In `mytorch` the counter belongs to the storage, and only one operation writes: `copy_`. The others compute a result and copy it in, so
# autograd will have a single operation to watch (chapter 07). You will write the two functions behind that: `write`, which raises an error
# or counts, and `in_place`, which turns `add` into `add_`. (`move` is about devices, the subject of chapter 05.)

# %% [markdown]
# ## Milestone: the same views, errors and edge cases
# The folded cell runs a random program on `torch` and `mytorch` side by side, and after each step compares sizes, strides, offset,
# version, values and errors. The edge cases follow: no elements, 0-d tensors, and lengths of 1.

# %% hidden=true tags=["proof-milestone"]
import random
from collections import Counter


def outcome(call, *args):
    try:
        return call(*args)
    except (RuntimeError, IndexError) as error:
        return f"{type(error).__name__}: {error}"


def seen(x):
    return x if isinstance(x, str) else (x.shape, x.stride(), x.storage_offset(), x._version, x.tolist())


def draw_step(rng, x):
    lengths = rng.sample([*x.shape, 1], x.ndim + 1) if rng.random() < 0.5 else [2, -1, rng.randint(1, 3)]
    dims = rng.sample(range(x.ndim), x.ndim)
    stretched = [rng.choice([length, -1, 3]) for length in x.shape]
    steps = {"view": [lengths], "reshape": [lengths], "permute": [dims], "expand": [stretched], "squeeze": []}
    steps |= {"transpose": [rng.randrange(-3, 3), -1], "unsqueeze": [rng.randrange(-2, 3)], "mul_": [3]}
    return rng.choice(list(steps.items()))


rng, results, different = random.Random(0), Counter(), 0
for _ in range(400):
    theirs, mine = torch.arange(24).reshape(2, 3, 4), mytorch.arange(24).reshape(2, 3, 4)
    for _ in range(5):
        name, args = draw_step(rng, theirs)
        both = [outcome(getattr(x, name), *args) for x in (theirs, mine)]
        different += seen(both[0]) != seen(both[1]) or theirs.tolist() != mine.tolist()
        results[name, "refused" if isinstance(both[0], str) else "ran"] += 1
        if isinstance(both[0], str) or isinstance(both[1], str) or theirs.numel() > 200:
            break
        theirs, mine = both
for name in sorted({name for name, _ in results}):
    print(f"{name:10} ran {results[name, 'ran']:3}  refused {results[name, 'refused']:3}")
print("different:", different)

cases = [((0, 3), (3, 0)), ((), (1, 1)), ((1, 1), ()), ((2, 0), (-1, 0)), ((2, 1, 3), (3, 2, 1))]
for size, wanted in cases:
    theirs, mine = (seen(outcome(lib.zeros(size).view, wanted)) for lib in (torch, mytorch))
    found = theirs if isinstance(theirs, str) else f"strides {theirs[1]}"
    print(size, "as", wanted, found, "equal", theirs == mine)

# %% [markdown]
# In 2,000 steps at most, some refused and most not, the two libraries never differ, and the edge cases agree as well. A tensor
# without elements can take any shape without elements. With a −1 in the shape, `view` raises if another length is 0, because the −1 could
# then stand for any number.
#
# ## What strides cost: cache lines
# Reading `t.t()` in order jumps through memory, but a processor always fetches a whole *cache line*, usually of 64 bytes. How
# many lines hold the first 1,000 elements of a float32 matrix, and how long does a copy take?

# %% tags=["proof-cache-lines"]
matrix = torch.ones(1024, 1024)
for name, x in {"matrix": matrix, "matrix.t()": matrix.t()}.items():
    step = x.stride(1) * x.element_size()
    print(f"{name:10} {step:4} bytes to the next, {len({i * step // 64 for i in range(1000)})} lines")

import time


def nanoseconds(x):
    """Per element, for a copy that reads `x` in order; the best of five."""
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        x.clone(memory_format=torch.contiguous_format)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / x.numel() * 1e9


powers = range(7, 12)
measured = {name: [] for name in ("row by row", "transposed")}
for power in powers:
    square = torch.ones(2**power, 2**power)
    measured["row by row"].append(nanoseconds(square))
    measured["transposed"].append(nanoseconds(square.t()))
about = "Time per element of a copy, for square matrices read row by row and transposed."
pictures.curves(measured, powers, xlabel="n, of 2ⁿ rows and columns", ylabel="ns per element", alt=about)

# %% [markdown]
# Row by row, sixteen elements share a line; transposed, each of the 1,000 elements is on a line of its own. The transposed read
# returns to a line only after a whole column, and once the lines of a column no longer fit into the cache, they are fetched
# again for each element. So the upper curve rises while the lower one stays flat. At which size do they diverge on your
# machine?

# %% [markdown]
# ## Myths
# ### Myth · "In-place saves memory, so prefer it"
# It does save an allocation, but autograd may have saved the old value for the backward pass, together with its version, and then it
# compares:

# %% tags=["proof-in-place-needs-old-value"]
w = torch.tensor([1.0, 2.0], requires_grad=True)
kept = w.exp()  # the derivative of exp is its result, so the result is kept
kept.add_(1)
print("written at version", kept._version)
print(outcome(kept.sum().backward).split(" Hint")[0])
doubled = w * 2  # needs neither w nor its result
doubled.add_(1)
doubled.sum().backward()
print("a write that does no harm:", w.grad)
w.grad, hidden = None, w.exp()
hidden.data.add_(1)  # the version doesn't see this one
hidden.sum().backward()
print("an uncounted write:", w.grad, "but the correct gradient is", w.exp().detach())

# %% [markdown]
# The first write destroyed a value that was needed, and PyTorch noticed. The second did no harm, and the third, through
# `.data`, gave an incorrect gradient without an error. Which values are needed depends on the formulas of the operations
# ([chapter 06](06_computation_graph.ipynb)), and [chapter 07](07_backward_in_depth.ipynb) builds the check.
#
# **Interview · In-place operations save memory. Should you prefer them?**
#
# - *Thirty seconds:* I use them only where nothing needs the old value, as in an optimizer's step. If the backward pass needs it,
#   `backward` raises an error.
# - *Longer:* A node saves the version together with the value, and it compares the version before it uses the value.
# - *They ask next:* Which writes go unnoticed? Those through `.data` and NumPy, so the gradient can be incorrect without an error.
# - *The trap:* The line in the traceback isn't where the bug is. The error appears in `backward`, far from the line that wrote.
# - *Proof:* `proof-in-place-needs-old-value`; the counter: `proof-versions`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Are a tensor's strides counted in bytes? No, in elements; NumPy's are in bytes.
# 2. You keep `big[0]` of a 4 MB tensor. How much memory stays alive? All 4 MB, so keep `big[0].clone()` instead.
# 3. Does `flatten` return a view or a copy? Either one, depending on the strides; if nothing changes, it returns the tensor
#    itself.
# 4. How many elements does `permute` move? None, it only reorders sizes and strides.
# 5. You add 1 to a tensor in place and subtract it again. Is its version counter as before? No, it counts both writes.

# %% tags=["proof-rapid-fire"]
grid = torch.zeros(2, 3)
print("1.", grid.stride(), grid.numpy().strides)
big = torch.zeros(1000, 1000)
print("2.", big[0].untyped_storage().nbytes(), "bytes; cloned", big[0].clone().untyped_storage().nbytes())
line = big[0]
print("3. view:", grid.flatten()._is_view(), grid.t().flatten()._is_view(), line.flatten() is line)
print("4.", grid.permute(1, 0).data_ptr() == grid.data_ptr())
grid.add_(1).sub_(1)
print("5.", grid._version)

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. A tensor is a strided view of a storage, with sizes, strides and an offset.
# 2. `transpose`, `permute`, `expand`, `squeeze`, `unfold` and slices change the strides and move no element.
# 3. Dimensions `d` and `d + 1` merge if `stride[d] == stride[d + 1] * size[d + 1]`.
# 4. `view` never copies; `reshape` and `contiguous` copy if they have to.
# 5. Contiguous means that the elements, in order, are adjacent in memory; strides along lengths of 1 don't matter.
# 6. Same-shape arithmetic keeps a dense first input's memory order, `channels_last` included, but `masked_fill` and `cumsum`
#    don't.
# 7. `expand` sets strides to 0 and takes no memory. `repeat` copies.
# 8. `add_` and `+=` write into shared memory, and the result has to fit. Most assignments convert the dtype.
# 9. `add_` on an expanded tensor raises, but other overlaps within a tensor go unnoticed.
# 10. A write adds 1 to a version that all views share, and autograd compares it.
#
# ## You try
# In [the exercises](../exercises/03_views_and_layout.ipynb) you predict what reshapes share, write the views and writes of `mytorch`, cut a
# picture into patches without copying, fix a model that mixes up its attention heads, and measure a cache.
# [Chapter 04](04_broadcasting_indexing_joining.ipynb) builds indexing and broadcasting on these views.
#
# ## If you have time

# %% [markdown] given="mytorch.views:reshape"
# ### The real one: `reshape`
# Here is `reshape` in `mytorch`, and below it the one in minitorch:

# %%
import inspect

print(inspect.getsource(inspect.unwrap(torch.reshape)))

# %% [markdown]
# Both compute the shape, then the strides, and copy if no strides fit. `_array` is the NumPy array in the tensor, `inferred_shape` is your
# `infer_size`, `checked_ints` accepts separate integers or a tuple, and `@composite` marks a function that is made of other operations.
# `c_contiguous` is a shortcut: contiguous memory takes any shape. The three functions at the end differ in what autograd sees:
# `view_as_shape` is `view`, `reshape_alias` is the same under another name in the graph, and the result of `unsafe_view` doesn't count as a
# view, since nothing else refers to the copy (`unshared` in `mytorch`).
