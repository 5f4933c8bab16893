# %% [markdown]
# # Views and layout
# After this chapter `view`, `transpose`, `expand` and `add_` work in your own library, and they raise where PyTorch
# raises. You'll be able to say of any reshape whether it copies, and to prove it.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(3)  # as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## A write that went missing
# Take six numbers, flatten them twice, and write to both results. What will `t` be? Decide before you run the cell.

# %% tags=["proof-reshape-copies"]
import minitorch as torch

t = torch.arange(6).reshape(2, 3)
straight = t.reshape(6)
swapped = t.t().reshape(6)
straight[0] = 100
swapped[5] = 500
print(t)
for name, each in {"straight": straight, "swapped": swapped}.items():
    print(f"{name:8} shares memory:", each.untyped_storage().data_ptr() == t.untyped_storage().data_ptr())

# %% [markdown] tags=["short"]
# One write arrived, the other was lost, and nothing warned you. `t.reshape(6)` gave a **view**: another way to look at
# the same memory. `t.t().reshape(6)` gave a copy. What decides which one you get?
#
# ## Memory layout
# A tensor is a **strided view** of a flat row of numbers, its storage: *sizes*, *strides* and an *offset*. Start at the
# offset; one step along dimension `d` moves by `stride[d]` elements.

# %% tags=["proof-strided-views"]
from course import check, pictures

t = torch.arange(10, 16).reshape(2, 3)
views = {"t": t, "t.t()": t.t(), "t[:, 1]": t[:, 1]}
for name, each in views.items():
    print(f"{name:8} sizes {tuple(each.shape)}, strides {each.stride()}, offset {each.storage_offset()}")
pictures.assign({"t": "data", "t.t()": "result", "t[:, 1]": "index"})
pictures.storage(t, views)

# %% [markdown] tags=["short"]
# Transposing swapped two strides, and not a single number moved. Now flatten `t.t()`: its elements, in order, are in
# places 0 3 1 4 2 5 of the storage. A flat tensor has one stride. Is there a stride that makes these jumps?
#
# ### The smallest model
# List the places in the storage that a view reads. If all jumps are equally long, that jump is the stride of the flat view.

# %%
from itertools import pairwise, product


def places(size, stride, offset=0):
    indices = product(*map(range, size))
    return [offset + sum(i * step for i, step in zip(index, stride, strict=True)) for index in indices]


def flat_stride(size, stride):
    jumps = {after - before for before, after in pairwise(places(size, stride))}
    return jumps.pop() if len(jumps) == 1 else None


print("t       ", places((2, 3), (3, 1)), "stride", flat_stride((2, 3), (3, 1)))
print("t.t()   ", places((3, 2), (1, 3)), "stride", flat_stride((3, 2), (1, 3)))

# %% [markdown]
# The jumps of `t.t()` alternate between +3 and −2. No single stride makes them, so the numbers have to move, and `reshape`
# copies.
#
# ### Where the model breaks
# The model knows one target, the flat shape. This tensor can't be flattened, yet it can be viewed in another shape:

# %% tags=["proof-view-raises", "raises-exception"]
u = torch.arange(24).reshape(2, 3, 4).transpose(0, 1)
print("strides", u.stride(), "flat stride", flat_stride(u.shape, u.stride()))
print("as (3, 2, 2, 2):", u.view(3, 2, 2, 2).stride())
u.view(6, 4)

# %% [markdown] tags=["short"]
# ### The rule
# Dimensions `d` and `d + 1` merge when one step along `d` is as long as a whole row along `d + 1`:
# `stride[d] == stride[d + 1] * size[d + 1]`. Here are two rows of three. Which distance between them makes one row of six?


# %%
def two_rows(distance):
    name = "can merge" if distance == 3 * 1 else "can't merge"
    return pictures.storage(range(9), {name: ((2, 3), (distance, 1), 0)})


pictures.slider(two_rows, start={"distance": 4}, distance=[1, 2, 3, 4, 5, 6])

# %% [markdown]
# At 3 the dashed arrow is as long as the others. (At 1 and 2 the rows overlap, which is legal.) Now, starting from the
# last dimension, group neighbours that merge into **runs**.


# %% tags=["proof-merge-rule"]
def runs(size, stride):
    """(how many elements, innermost stride) of each run of dimensions that merge."""
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
# You can split a run as you like, but what didn't merge has to stay separate. `u` has runs of 3, 2 and 4 elements: a view may
# split the 4 into 2 × 2, but it can't have a dimension of 6. That is all `view` has to check.
#
# **Interview · When does `view` raise, and when does it work?**
#
# - *Thirty seconds:* It works when there are strides that visit the same elements, in the same order, in the new shape.
#   Neighbouring dimensions merge if `stride[d] == stride[d+1] * size[d+1]`; any dimension can be split. Otherwise it raises.
# - *Longer:* The new lengths have to fill each run exactly. A length of 1 merges with anything: no step is taken along it.
# - *They ask next:* Does the tensor have to be contiguous? No: `u` isn't, and `u.view(3, 2, 2, 2)` works.
# - *The trap:* "`view` fails after `transpose`." That depends on the shape you ask for.
# - *Proof:* `proof-merge-rule`; working and raising: `proof-view-raises`.
#
# **Interview · `view` or `reshape`?**
#
# - *Thirty seconds:* `view` never copies and raises when strides don't allow it. `reshape` returns a view where one
#   exists and a copy where none does.
# - *Longer:* Use `view` when you rely on shared memory, `reshape` when you only need the numbers.
# - *They ask next:* How do you find out which you got? Compare `untyped_storage().data_ptr()`.
# - *The trap:* Writing into the result of `reshape` and expecting the source to change. That depends on the strides.
# - *Proof:* `proof-reshape-copies`.
#
# ### Contiguous
# A tensor is **contiguous** if its elements, in order, are next to each other in the storage. Its strides are then those that
# [chapter 02](02_tensors_and_storage.ipynb) computes from a shape. `contiguous()` returns the tensor itself if it is
# contiguous already, and otherwise a copy in that order.

# %% tags=["proof-contiguous"]
row = torch.arange(3).reshape(1, 3)
for name, x in {"t": t, "t.t()": t.t(), "row.t()": row.t(), "t[:, :2]": t[:, :2], "t[1:]": t[1:]}.items():
    print(f"{name:8} {x.stride()}  contiguous {x.is_contiguous()!s:5}  copied {x.contiguous() is not x}")
print("t.t() + 1 has strides", (t.t() + 1).stride(), "and t.t().clone()", t.t().clone().stride())

# %% [markdown] given="mytorch.views:view_op mytorch.views:run_as_view mytorch.views:permute"
# `row.t()` is contiguous, because along a length of 1 the stride doesn't matter. And `t.t() + 1` is a *new* tensor, yet it
# isn't contiguous: elementwise operations and `clone` keep the order that their input has in memory. (`mytorch` stores each
# new result row by row.)
#
# **Interview · What does contiguous mean, and is a transposed tensor contiguous?**
#
# - *Thirty seconds:* The elements, in order, are next to each other in the storage. A transposed matrix usually isn't
#   contiguous: its strides are swapped, and the numbers stay where they are. A matrix with a single row or column is.
# - *Longer:* `contiguous()` copies only where it has to, so a kernel that needs contiguous memory can call it on any input.
# - *They ask next:* Is every new tensor contiguous? No: `t.t() + 1` has the strides of `t.t()`.
# - *The trap:* "Slices aren't contiguous." `t[1:]` is, `t[:, :2]` isn't.
# - *Proof:* `proof-contiguous`.
#
# ## `mytorch`: views
# In [chapter 02b](02b_dtypes_and_dispatch.ipynb) a kernel took arrays and returned an array. A view's kernel takes the tensor
# and returns sizes, strides and offset; `run_as_view` makes a tensor on the *same storage*. `base` is the tensor that the first
# view was taken from; `rebased` and `one_of_several` are for chapter 07. In the exercises you'll write `transpose`, `expand`
# and `squeeze` in the same way.

# %%
x = mytorch.arange(6).reshape(2, 3)
y = x.permute(1, 0)
print("strides", y.stride(), "same storage", y.storage is x.storage)

# %% [markdown] given="mytorch.views:view"
# `view` calls two functions that you'll write: `infer_size` replaces a −1, and `view_strides` is the rule from above.

# %% [markdown]
# ### `expand` and `repeat`
# A stride may be 0, so that a step along that dimension reads the same element again. `expand` does no more than that.

# %% tags=["proof-expand-stride"]
bias = torch.tensor([7, 8, 9])
for name, x in {"expand": bias.expand(1000, 3), "repeat": bias.repeat(1000, 1)}.items():
    print(f"{name} shape {tuple(x.shape)}, strides {x.stride()}, {x.untyped_storage().nbytes()} bytes")
print("expand, made contiguous:", bias.expand(1000, 3).contiguous().untyped_storage().nbytes(), "bytes")
pictures.storage(bias, {"bias": bias, "expanded": bias.expand(2, 3), "column": bias[:1].expand(3)})

# %% [markdown]
# Several elements of an expanded tensor share one place in memory, so a write might have to store two values there. `fill_`
# with one number is fine; `add_` and `copy_` raise. Inside a tensor they only look for a stride of 0, so overlapping views made
# with `as_strided` get past them:

# %% tags=["proof-overlaps", "raises-exception"]
s = torch.zeros(4)
windows = s.as_strided((3, 2), (1, 1))  # 0 1, 1 2, 2 3: sliding windows
windows.copy_(torch.tensor([[1, 2], [3, 4], [5, 6]]))
print("wrote 1 to 6, found", s.tolist(), " filled", s[:1].expand(3).fill_(9).tolist())
print(str(check.error(s[1:].add_, s[:-1])).split(". ")[0])
s[:1].expand(3).add_(1)

# %% [markdown]
# Six numbers went into four places, so two are gone, and no error was raised. Between *two* tensors PyTorch looks more
# closely: `s[1:].add_(s[:-1])` reads and writes overlapping views of one storage, and it raises. So does the last line.
#
# **Interview · `expand` or `repeat`?**
#
# - *Thirty seconds:* `expand` sets strides to 0 and takes no memory; it can only stretch lengths of 1. `repeat` copies.
# - *Longer:* Use `repeat` when you're going to change single rows. Broadcasting is `expand`, done for you
#   ([chapter 04](04_broadcasting_indexing_joining.ipynb)).
# - *They ask next:* What does `contiguous()` do to an expanded tensor? It allocates the full size.
# - *The trap:* Adding in place to an expanded tensor. It raises.
# - *Proof:* `proof-expand-stride`; the refusal: `proof-overlaps`.
#
# ### Another order: `channels_last`
# Images have shape (N, C, H, W): images, channels, rows, columns. A convolution mixes all channels of a pixel, so it helps
# if they are next to each other in memory. `channels_last` does that without changing the shape:

# %% tags=["proof-channels-last"]
image = torch.arange(12).reshape(1, 3, 2, 2)
last = image.to(memory_format=torch.channels_last)
for name, x in {"image": image, "last": last, "last * 2": last * 2}.items():
    orders = x.is_contiguous(), x.is_contiguous(memory_format=torch.channels_last)
    print(f"{name:8} {tuple(x.shape)}, strides {x.stride()}, contiguous, channels last: {orders}")
print("equal:", torch.equal(image, last), " storage of last:", last.as_strided((12,), (1,)).tolist())
print("one pixel:", image[..., :1, :1].to(memory_format=torch.channels_last).is_contiguous())
pictures.storage(last, {"last": last})

# %% [markdown]
# **Interview · What is `channels_last`?**
#
# - *Thirty seconds:* A memory format. The shape stays (N, C, H, W); the strides make the channel dimension the one that
#   moves by 1.
# - *Longer:* It suits convolutions, which read all channels of a pixel. Elementwise operations keep it.
# - *They ask next:* How does it differ from `permute(0, 2, 3, 1)`? That changes the shape and moves nothing.
#   `channels_last` moves the numbers and keeps the shape.
# - *The trap:* `is_contiguous()` is False, unless there is a single channel or a single pixel. Ask with
#   `memory_format=torch.channels_last`.
# - *Proof:* `proof-channels-last`.
#
# ## Writing
# Assigning to a row or column takes two steps: `t[:, 1] = 0` makes a view of column 1 and fills it. `mytorch` gets its square
# brackets in chapter 04, but both steps work now.

# %% tags=["proof-assignment"]
ones, mine = torch.ones(3, 4), mytorch.ones(3, 4)
ones[:, 1] = 0
mine.select(1, 1).fill_(0)
ones.add_(5)
mine.add_(5)
print(ones)
print("equal:", ones.tolist() == mine.tolist(), " versions:", ones._version, mine._version)

# %% [markdown]
# A trailing underscore means *in place*: `add_` writes into the memory of its tensor and returns that tensor. Every view
# of that memory sees the write. On a tensor, `+=` is in place too. (A few such methods, `t_` and `unsqueeze_` among them,
# write no number: they change the shape and the strides of the tensor itself.)

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

# %% [markdown]
# A write changes neither the dtype nor the shape of the tensor, so the result of `add_` has to fit. Assignments, `fill_`
# and `copy_` convert, and the fraction is cut off.
#
# **Interview · `a = a + b` or `a += b`?**
#
# - *Thirty seconds:* The first makes a new tensor and binds the name to it. The second writes into the memory of `a`,
#   so its views and other names change too.
# - *Longer:* In place, the result must fit into `a`: `+= 0.5` raises for integers, and broadcasting may stretch `b`, not
#   `a`.
# - *They ask next:* How do you assign to a column? With `t[:, 1] = 0`: a view, and a write into it, which converts.
# - *The trap:* A function that does `x += 1` changes its caller's tensor.
# - *Proof:* `proof-in-place`; the column: `proof-assignment`.
#
# ### The version counter
# Autograd keeps values for later, and a write may destroy one. That is why PyTorch counts writes. A tensor shares its counter
# with its views and with what `detach()` returns. Writes through `.data` and through NumPy aren't counted:

# %% tags=["proof-versions"]
data = torch.zeros(4)
view, detached = data[:2], data.detach()
view.add_(1)
detached.mul_(3)
print("two writes:", data._version, view._version, detached._version, "  clone:", data.clone()._version)
data.data.add_(1)
data.numpy()[0] = 9
print("after writes through .data and numpy():", data._version, data.tolist())
pictures.storage(data, {"data": data, "view": view}, version=data._version)

# %% [markdown] given="mytorch.views:copy_ mytorch.views:run_write"
# In `mytorch` the counter belongs to the storage, and only one operation writes: `copy_`. The others compute a result and copy
# it in, so autograd will have a single operation to watch (chapter 07). You'll write the two functions behind that: `write`,
# which raises or counts, and `in_place`, which turns `add` into `add_`. (`move` is about devices: chapter 05.)

# %% [markdown]
# ## Milestone: the same views, the same errors, the same edges
# A random program runs on `torch` and `mytorch` side by side. After each step it compares sizes, strides, offset, version,
# numbers and errors. Then come the edges: no elements, no dimensions, lengths of 1.

# %% tags=["proof-milestone"]
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
# ## What strides cost
# Reading `t.t()` in order jumps through memory. Many processors fetch 64 bytes at a time, a cache line. How many lines hold
# the first 1,000 elements of a float32 matrix? And how long does a copy take?

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


sides = [64, 128, 256, 512, 1024, 2048]
measured = {name: [] for name in ("row by row", "transposed")}
for side in sides:
    square = torch.ones(side, side)
    measured["row by row"].append(nanoseconds(square))
    measured["transposed"].append(nanoseconds(square.t()))
about = "Time per element of a copy, for square matrices read row by row and transposed."
pictures.curves(measured, sides, xlabel="rows and columns", ylabel="ns per element", log="x", alt=about)

# %% [markdown] given="mytorch.views:reshape"
# The transposed read comes back to a line only after a whole column. Once the lines of a column no longer fit in the cache,
# they are fetched again for each element. At which size do the two curves part on your machine?
#
# ## The real one
# Here is `reshape` in `mytorch`, and below it the one in minitorch:

# %%
import inspect

print(inspect.getsource(inspect.unwrap(torch.reshape)))

# %% [markdown]
# Both work out the shape, then the strides, and copy if there are none that fit. `_array` is the NumPy array in the tensor,
# `inferred_shape` is your `infer_size`, `checked_ints` accepts numbers or a tuple, and `@composite` marks a function made of
# other operations. `c_contiguous` is a shortcut: contiguous memory takes any shape. The three functions at the end differ
# in what autograd sees: `view_as_shape` is `view`, `reshape_alias` is the same under another name in the graph, and the
# result of `unsafe_view` doesn't count as a view, since nothing else refers to the copy (`unshared` in `mytorch`).

# %% [markdown]
# ## Myths
# ### Myth · "In-place saves memory, so prefer it"
# It saves an allocation. But autograd may have kept the old value for the backward pass. If so, it kept the version too,
# and compares:

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
print("an uncounted write:", w.grad, "but the right gradient is", w.exp().detach())

# %% [markdown]
# The first write destroyed a value that was needed; the second didn't. Which values are needed depends on the formulas
# of the operations ([chapter 06](06_computation_graph.ipynb)); [chapter 07b](07b_vector_jacobian_products.ipynb) builds the check.
#
# **Interview · In-place operations save memory. Should you prefer them?**
#
# - *Thirty seconds:* Only where nothing needs the old value, as in an optimizer's step. Under autograd the backward pass
#   may need it, and then `backward` raises.
# - *Longer:* A node saves the version with the value, and compares it before the value is used.
# - *They ask next:* Which writes go unnoticed? Those through `.data` and NumPy. The gradient can then be wrong
#   without an error.
# - *The trap:* The error appears in `backward`, far from the line that wrote.
# - *Proof:* `proof-in-place-needs-old-value`; the counter: `proof-versions`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# 1. Are strides counted in bytes? In elements; NumPy's are in bytes.
# 2. You keep `big[0]` of a 4 MB tensor. How much memory stays alive? All 4 MB. Keep `big[0].clone()` instead.
# 3. `flatten`: view or copy? Either one, depending on strides; if nothing changes, the tensor itself.
# 4. How many numbers does `permute` move? None.
# 5. You add 1 in place and subtract it again. Is the version as before? No, it counts both writes.

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
# 1. A tensor is a strided view of a storage: sizes, strides, offset.
# 2. `transpose`, `permute`, `expand`, `squeeze` and slices change the strides and move no number.
# 3. Dimensions `d` and `d + 1` merge if `stride[d] == stride[d + 1] * size[d + 1]`.
# 4. `view` never copies; `reshape` and `contiguous` copy where they have to.
# 5. Contiguous: neighbours are neighbours in memory. Strides along lengths of 1 don't matter.
# 6. Elementwise results keep the memory order of their input, `channels_last` included.
# 7. `expand` sets strides to 0 and takes no memory; `repeat` copies.
# 8. `add_` and `+=` write into shared memory; dtype category and shape have to fit. Assignments convert.
# 9. `add_` on an expanded tensor raises. Other overlaps within a tensor go unnoticed.
# 10. A write adds 1 to a version that all views share. Autograd compares it.
#
# ## You try
# [The exercises](../exercises/03_views_and_layout.ipynb): predict what reshapes share, write the views and writes of
# `mytorch`, cut a picture into patches without copying, repair a model that mixes up its attention heads, and measure a
# cache.
# [Chapter 04](04_broadcasting_indexing_joining.ipynb) builds square brackets and broadcasting on these views.
