# %% [markdown]
# # Broadcasting, indexing and joining
# After this chapter your library adds tensors of different shapes, reads `x[:, [-1], ::2]`, and splits and joins
# tensors, with PyTorch's views, copies and errors. You'll write the rule of broadcasting, square brackets, and
# `gather`, with the backward functions that gradients need.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(4)  # as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## A perfect model with a loss of 250
# Four students, the hours they studied, and the points they scored. The model below predicts each score exactly.
# What is its mean squared error?

# %% tags=["proof-silent-broadcast"]
import warnings

import minitorch as torch
from course import pictures

hours, score = torch.tensor([[1.0], [2.0], [3.0], [4.0]]), torch.tensor([10.0, 20.0, 30.0, 40.0])
prediction = hours * 10
print("loss", ((prediction - score) ** 2).mean().item())
print("shapes", tuple(prediction.shape), "-", tuple(score.shape), "=", tuple((prediction - score).shape))
print("loss of the first student alone", ((prediction[:1] - score[:1]) ** 2).mean().item())
print("loss with score.unsqueeze(1)", ((prediction - score.unsqueeze(1)) ** 2).mean().item())
with warnings.catch_warnings(record=True, action="always") as caught:
    print("mse_loss", torch.nn.functional.mse_loss(prediction, score).item(), "warnings:", len(caught))
pictures.assign(prediction="data", score="weight", error="result", x="data", out="result")
pictures.grids(("prediction", prediction), "−", ("score", score), "=", ("error", prediction - score))

# %% [markdown] tags=["short"]
# No error was raised. The prediction is a column, the score is a row, and PyTorch subtracted each score from each
# prediction. A test with one student wouldn't have noticed. `mse_loss` gives the same 250, but it warns you.
#
# ## Broadcasting
# ### The smallest model
# A first guess: align the shapes at their right ends, pad the shorter one with ones on the left, and take the larger length
# in each dimension.


# %% tags=["proof-broadcast-rule"]
import textwrap


def toy_shape(a, b):
    longest = max(len(a), len(b))
    a, b = ((1,) * (longest - len(each)) + each for each in (a, b))
    return tuple(max(pair) for pair in zip(a, b, strict=True))


def outcome(call, *arguments):
    try:
        return call(*arguments)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return textwrap.fill(f"{type(error).__name__}: {error}", 77, subsequent_indent="    ")


for a, b in [((4, 1), (4,)), ((8, 1, 6, 1), (7, 1, 5)), ((2, 3), (2,)), ((5, 1), (0,)), ((), (2, 3))]:
    theirs = outcome(lambda a=a, b=b: tuple((torch.zeros(a) + torch.zeros(b)).shape))
    print(f"{a} and {b}: toy {toy_shape(a, b)}\n    torch {theirs}")
pictures.broadcast((8, 1, 6, 1), (7, 1, 5), names=("x", "y"))

# %% [markdown]
# The toy is wrong twice. PyTorch refuses the third pair, because 3 and 2 differ and neither is 1. The first shape has a 2 as
# well, but not at its right end. In the fourth pair a 1 is paired with a 0, and the result is 0. So the rule isn't "take the
# larger". It is:
#
# 1. Align the shapes at the right. What is missing on the left counts as 1.
# 2. In each dimension the lengths must be equal, or one of them must be 1.
# 3. The result has the length that isn't 1, or 1 if both are.
#
# Stretching needs no memory: a stretched dimension has stride 0, as in [chapter 03](03_views_and_layout.ipynb). The
# *result* does need memory:

# %% tags=["proof-stretch-is-free"]
column, row = torch.broadcast_tensors(torch.zeros(1000, 1), torch.zeros(1000))
for name, each in {"column": column, "row": row, "sum": column + row}.items():
    print(f"{name:6} strides {each.stride()!s:9} {each.untyped_storage().nbytes():9,} bytes")

# %% [markdown] given="mytorch.broadcasting:shape_of_all"
# ### Your library: a check
# `mytorch` leaves broadcasting to NumPy, which has the same rule but words its errors differently. An operation may have
# a check that runs before its kernel, so this chapter gives all elementwise operations one that looks at the shapes. You'll
# write `meeting_shape`: it takes two shapes and returns the shape they broadcast to, or raises PyTorch's error.


# %% tags=["proof-broadcast-errors"]
def beside(calls):
    """Run each call on torch and on your library."""
    for name, call in calls.items():
        theirs, mine = outcome(call, torch), outcome(call, mytorch)
        print(f"{name:18} {theirs}", "" if theirs == mine else f"but yours: {mine}")


calls = {
    "x + y": lambda lib: lib.zeros(2, 3) + lib.zeros(2),
    "x + y.unsqueeze(1)": lambda lib: tuple((lib.zeros(2, 3) + lib.zeros(2).unsqueeze(1)).shape),
    "row.add_(x)": lambda lib: lib.zeros(3).add_(lib.zeros(2, 3)),
    "x.add_(row)": lambda lib: tuple(lib.zeros(2, 3).add_(lib.zeros(3)).shape),
}
beside(calls)

# %% [markdown]
# In place, the right operand may be stretched. The left one can't be, because its memory has a fixed size.
#
# **Interview · What are the rules of broadcasting?**
#
# - *Thirty seconds:* Align the shapes at the right; missing dimensions count as 1. Two lengths must be equal, or one of them
#   must be 1, and then the result has the other. No input is copied: a stretched dimension has stride 0.
# - *Longer:* In place, only the other operand is stretched. In the backward pass a stretched operand gets the *sum* of
#   its gradients over the stretched dimensions ([chapter 06](06_computation_graph.ipynb)).
# - *They ask next:* What do (5, 1) and (0,) give? (5, 0): a 1 can become 0.
# - *The trap:* Memory. Two inputs of 4 kB gave a result of 4 MB.
# - *Proof:* `proof-broadcast-rule`; memory: `proof-stretch-is-free`; in place: `proof-broadcast-errors`.
#
# **Interview · Predictions have shape (n, 1), targets (n,). What happens?**
#
# - *Thirty seconds:* Their difference has shape (n, n), so the loss compares every prediction with every target. No
#   error is raised.
# - *Longer:* `squeeze(1)` the prediction or `unsqueeze(1)` the target. `mse_loss` warns and goes on.
# - *They ask next:* How do you guard against it? Assert equal shapes before the loss.
# - *The trap:* With a batch of one it works, and so does your test.
# - *Proof:* `proof-silent-broadcast`.
#
# ### Myth · "To broadcast, each tensor needs at least one dimension"
# PyTorch's documentation lists that as a rule. But in the last pair of [the cell above](proof-broadcast-rule) the shape `()` has no dimensions, and yet
# the sum has shape (2, 3): both dimensions are missing on the left, so both count as 1.
#
# ### Keep the dimension
# `sum(1)` drops a dimension, so its result is aligned with the columns instead of the rows. If the matrix is square, you get
# no error. Divide each row by its sum:

# %% tags=["proof-keepdim"]
square, wide = torch.tensor([[1.0, 3.0], [6.0, 2.0]]), torch.ones(2, 3)
print("rows of square / square.sum(1) sum to", (square / square.sum(1)).sum(1).tolist())
print("with keepdim=True they sum to        ", (square / square.sum(1, keepdim=True)).sum(1).tolist())
print("and when it isn't square:", outcome(lambda: wide / wide.sum(1)))

# %% [markdown] tags=["short"]
# ## Square brackets
# Views or copies? Make your guesses before you run the cell.

# %% tags=["proof-view-or-copy"]
x, one, ones = torch.arange(24).reshape(2, 3, 4), torch.tensor(1), torch.tensor([1])
reads = ["x[1]", "x[:, 1:]", "x[..., None]", "x[:, [1, 2]]", "x[x > 20]", "x[one]", "x[ones]"]
for text in reads:
    each = eval(text)
    print(f"{text:12} shape {tuple(each.shape)!s:13}", "view" if each._is_view() else "copy")

# %% [markdown]
# Numbers, slices, `None` and `...` give a view of the same storage. A list, a mask or a tensor of indices may name
# places in an order that no stride describes, so those copy. An integer tensor without dimensions counts as a number, unless
# it is uint8, which is an old spelling of a mask. Python's `True` and `False` are masks too, not the numbers 1 and 0.
#
# Now *write*. `x[…] = v` reaches `x` either way: Python calls `x.__setitem__`. A second pair of brackets changes that:

# %% tags=["proof-chained"]
for name in ("x[[0, 1], 0, 0] = -1", "x[[0, 1]][:, 0, 0] = -1", "x[0:2][:, 0, 0] = -1"):
    x = torch.arange(24).reshape(2, 3, 4)
    exec(name)
    print(f"{name:24} reached", int((x == -1).sum()), "elements of x")

# %% [markdown]
# In the middle line `x[[0, 1]]` made a copy. The write went into that copy, and then the copy was thrown away.
#
# **Interview · `x[0:2]` or `x[[0, 1]]`: what is the difference?**
#
# - *Thirty seconds:* The numbers are the same. The slice is a view and shares memory; the list makes a copy.
# - *Longer:* Numbers, slices, `None` and `...` give views. One list, mask or index tensor makes the whole result a copy.
#   As the target of an assignment, both reach `x`.
# - *They ask next:* Why can't a list give a view? `[0, 2, 1]` would need steps of +2 and −1 along one dimension. `[0, 1]`
#   could be a view, but PyTorch goes by the kind of index, not by its numbers.
# - *The trap:* `x[[0, 1]][:, 0] = 0` changes a copy. Write `x[[0, 1], 0] = 0`.
# - *Proof:* `proof-view-or-copy`; the writes: `proof-chained`.
#
# ### Build: from an index to views, and one copy
# Read `x[:, [-1], ::2]` from left to right. Here each item is about one dimension. A slice can be applied at once, as a view.
# The list can't, so it goes into a note and waits for the copy at the end. By hand:

# %%
from mytorch import views
from mytorch.indexing import index

mine = mytorch.arange(24).reshape(2, 3, 4)
seen, note = mine, []
seen, note = views.slice(seen, 0, 0, 2, 1), [*note, None]  # ":"      all of dimension 0
note = [*note, mytorch.tensor([-1])]  # "[-1]"   waits, for dimension 1
seen, note = views.slice(seen, 2, 0, 4, 2), [*note, None]  # "::2"    every other index of dimension 2
print("view", tuple(seen.shape), seen.stride(), "note", note)
print(index(seen, tuple(note)).tolist(), torch.arange(24).reshape(2, 3, 4)[:, [-1], ::2].tolist())

# %% [markdown] given="mytorch.indexing:getitem mytorch.indexing:index mytorch.indexing:places"
# Which dimension is the next item about? Its number is the length of the note so far. That stays true when dimensions
# come and go: the 1 in `x[1]` removes its dimension and notes nothing; `None` adds a dimension and notes it.
# You'll write the loop, `take_views`, and `slice_bounds`, which makes (0, 4, 2) of `::2`. The rest is given:

# %% [markdown]
# ### Masks
# A mask stands for the indices of its True elements, one tensor for each of its dimensions. `indices_of` replaces the
# mask by these tensors, so all dimensions that a mask covers become one.

# %% tags=["proof-mask"]
grid = torch.arange(6).reshape(2, 3)
even = grid % 2 == 0
rows, columns = even.nonzero().unbind(1)
print("rows, columns:", rows.tolist(), columns.tolist(), grid[even].tolist(), grid[rows, columns].tolist())
print(grid[torch.tensor([True, False])].tolist(), outcome(lambda: grid[torch.tensor([True, False, True])]))

# %% [markdown]
# In brackets a mask isn't broadcast: its shape must be that of the dimensions it covers. And in `grid[mask]` it covers the
# dimensions from the *first* one on.
#
# ### Two lists are pairs
# Tensors of indices *are* broadcast, against each other. Two lists of equal length name pairs, not a grid.

# %% tags=["proof-pairs"]
board = torch.arange(12).reshape(3, 4)
first, second = torch.tensor([0, 2]), torch.tensor([1, 3])
print("pairs", board[first, second].tolist(), " grid", board[first[:, None], second].tolist())
print(outcome(lambda: board[[0, 1, 2], [0, 1]]))
y = torch.zeros(5, 2, 3, 4)
print("side by side", tuple(y[:, [0, 1], [0, 1]].shape), " apart", tuple(y[:, [0, 1], :, [0, 1]].shape))
print("x[0, :, [0, 1]]", tuple(x[0, :, [0, 1]].shape), " NumPy", x.numpy()[0, :, [0, 1]].shape)
pairs, cross = torch.zeros(3, 4), torch.zeros(3, 4)
pairs[first, second] = cross[first[:, None], second] = 1
pictures.grids(("board[first, second]", board, pairs), ("board[first[:, None], second]", board, cross))

# %% [markdown]
# If the indexed dimensions are next to each other, the new one takes their place; if not, it comes first. In the last line
# NumPy treats the number 0 as an index like the list. PyTorch applies the number before it looks at the list.
#
# **Interview · You index with two lists. What do you get?**
#
# - *Thirty seconds:* Pairs: element k is `x[a[k], b[k]]`. The lists are broadcast against each other.
# - *Longer:* For a grid, make one of them a column: `x[a[:, None], b]`. If there is a slice between them, the new dimensions
#   come first.
# - *They ask next:* And with a number and a list, `x[0, :, [0, 1]]`? PyTorch applies the number first; NumPy doesn't,
#   and gives another shape.
# - *The trap:* `board[:, columns]`, meant as one column per row, takes all of these columns from every row.
# - *Proof:* `proof-pairs`; the trap: `proof-one-per-row`.
#
# ## Joining and splitting
# `cat` joins along an existing dimension, `stack` along a new one. Both copy. `split` and `chunk` give views.

# %% tags=["proof-cat-stack"]
a, b = torch.ones(2, 3), torch.zeros(2, 3)
print("cat ", *(tuple(torch.cat([a, b], dim).shape) for dim in (0, 1)))
print("stack", *(tuple(torch.stack([a, b], dim).shape) for dim in (0, 1, 2)))
print("dtype of float32 and int64:", torch.cat([a, b.long()]).dtype)
print("an empty vector goes with anything:", tuple(torch.cat([torch.zeros(0), a]).shape))
for call in (lambda: torch.cat([a, torch.ones(2, 4)]), lambda: torch.stack([a, torch.ones(2, 4)])):
    print(outcome(call))
c = torch.tensor([[1, 2], [3, 4]])
joined = {"cat([c, -c])": torch.cat([c, -c]), "cat([c, -c], 1)": torch.cat([c, -c], 1)}
pictures.grids(("c", c), *joined.items(), ("stack([c, -c])", torch.stack([c, -c])))

# %% tags=["proof-chunk"]
six = torch.arange(6)
print("split(4)     ", [part.tolist() for part in six.split(4)])
print("split([1, 5])", [part.tolist() for part in six.split([1, 5])])
print("chunk(4)     ", [part.tolist() for part in six.chunk(4)])
print("tensor_split ", [part.tolist() for part in torch.tensor_split(six, 4)])
six.chunk(2)[1].zero_()
print("after writing into a chunk:", six.tolist())
recorded = torch.zeros(6, requires_grad=True) * 1
print(recorded.tensor_split(2)[0].add_(1), outcome(recorded.chunk(2)[1].add_, 1), sep="\n")

# %% [markdown]
# `chunk(4)` gave three parts. Six elements in four parts would be 1.5 each; `chunk` rounds up to 2, and after three
# parts nothing is left.
#
# The write into a chunk worked as long as no gradient was needed. While autograd records, PyTorch refuses to write into one of
# several views that came from a single operation: `split`, `chunk`, `unbind`, and a loop over a tensor, which calls `unbind`.
# `tensor_split` makes each part by a slice of its own, and a slice takes the write.
# [Chapter 07](07_backward_in_depth.ipynb) explains how writes get into the graph.
#
# **Interview · `cat` or `stack`? `split` or `chunk`?**
#
# - *Thirty seconds:* `cat` joins along an existing dimension, `stack` along a new one. `split` takes the length of the
#   parts, `chunk` their number.
# - *Longer:* `stack` is `unsqueeze` on each, then `cat`. `cat` promotes dtypes and wants equal lengths in all other
#   dimensions (an empty vector, of shape (0,), goes with anything); `stack` wants equal shapes.
# - *They ask next:* Which of them copy? `cat` and `stack`. `split` and `chunk` return views. A write into a part goes
#   through, unless autograd records it: then it raises.
# - *The trap:* `chunk(n)` can return fewer than n parts. `tensor_split(n)` gives n.
# - *Proof:* `proof-cat-stack`, `proof-chunk`.
#
# ### What joining costs
# You collect pieces in a loop. Should you call `cat` at each step, or once at the end? Each `cat` copies everything it
# gets, so count what is copied:


# %% tags=["proof-cat-in-a-loop"]
def grow(count):
    collected, copied = torch.zeros(1), 0
    for _ in range(count - 1):
        collected = torch.cat([collected, torch.zeros(1)])
        copied += len(collected)
    return copied


counts = [10, 100, 1000]
copied = {"cat in a loop": [grow(count) for count in counts], "one cat": counts}
print(copied)
pictures.curves(copied, counts, xlabel="pieces", ylabel="pieces copied", log="xy")

# %% [markdown]
# ## `gather` and `scatter_`
# A classifier gave scores for three classes. Pick the score of the right class in each row.

# %% tags=["proof-one-per-row"]
scores, label = torch.tensor([[10, 11, 12], [20, 21, 22]]), torch.tensor([2, 0])
print("scores[:, label]", scores[:, label].tolist())
print("scores[arange, label]", scores[torch.arange(2), label].tolist())
print("gather", scores.gather(1, label[:, None]).tolist())

# %% [markdown]
# `gather` needs no `arange`. Along `dim` it reads where the index says; along the other dimensions it keeps the position.
# For three dimensions:
#
# | dim | `out = x.gather(dim, index)` | `x.scatter_(dim, index, src)` |
# |---|---|---|
# | 0 | `out[i][j][k] = x[index[i][j][k]][j][k]` | `x[index[i][j][k]][j][k] = src[i][j][k]` |
# | 1 | `out[i][j][k] = x[i][index[i][j][k]][k]` | `x[i][index[i][j][k]][k] = src[i][j][k]` |
# | 2 | `out[i][j][k] = x[i][j][index[i][j][k]]` | `x[i][j][index[i][j][k]] = src[i][j][k]` |
#
# One sentence covers all six: *replace coordinate `dim` by the index*. As loops:

# %% tags=["proof-gather-formulas"]
from itertools import product


def by_hand(x, dim, index):
    out = torch.zeros(index.shape, dtype=x.dtype)
    for place in product(*map(range, index.shape)):
        source = list(place)
        source[dim] = int(index[place])
        out[place] = x[tuple(source)]
    return out


cube = torch.arange(24).reshape(2, 3, 4)
for dim in range(3):
    where = torch.randint(0, cube.shape[dim], (2, 2, 3), generator=torch.Generator().manual_seed(dim))
    picked = cube.gather(dim, where)
    back = torch.zeros_like(cube).scatter_(dim, where, picked)  # to where they came from
    same, home = (by_hand(cube, dim, where) == picked).sum(), (back == cube)[back > 0].sum()
    print(f"dim {dim}: {same} of {picked.numel()} as by hand, {home} of {(back > 0).sum()} back in place")

# %% [markdown]
# Move the slider. The index stays the same, and `dim` decides whether its numbers mean rows (0) or columns (1) of `x`.


# %%
def gathered(dim):
    x, index = torch.arange(10, 19).reshape(3, 3), torch.tensor([[2, 0, 1]])
    sources = [(n, place) if dim == 0 else (0, n) for place, n in enumerate(index[0].tolist())]
    arrows = [((0, source), (2, (0, place))) for place, source in enumerate(sources)]
    return pictures.grids(("x", x), ("index", index), "↓", ("out", x.gather(dim, index)), arrows=arrows)


pictures.slider(gathered, dim=[0, 1])

# %% [markdown]
# `scatter_` goes in the opposite direction. What happens if two elements go to the same place?

# %% tags=["proof-scatter"]
to, src = torch.tensor([0, 2, 0, 2]), torch.tensor([1.0, 2.0, 3.0, 4.0])
lost = torch.zeros(3).scatter_(0, to, src)
print("scatter_ keeps", sum(number in lost for number in src.tolist()), "of", len(src), "numbers")
print("scatter_add_", torch.zeros(3).scatter_add_(0, to, src).tolist())
print("accumulate  ", torch.zeros(3).index_put_((to,), src, accumulate=True).tolist())
read = torch.zeros(3, requires_grad=True)
read.gather(0, to).backward(src)
print("the gradient", read.grad.tolist(), "of reading places", to.tolist())
print("one-hot", torch.zeros(2, 3).scatter_(1, label[:, None], 1.0).tolist())
print("larger src", torch.zeros(2, 3).scatter_(1, torch.tensor([[1]]), torch.ones(2, 3)).tolist())
for where in (label, torch.tensor([[-1]]), torch.tensor([[1]])):
    print("gather", where.tolist(), outcome(scores.gather, 1, where))

# %% [markdown]
# `scatter_` lost two values, and PyTorch doesn't promise which ones. `scatter_add_` keeps all, so it is the **backward** of
# `gather`: a place that was read twice gets the sum of two gradients. Square brackets have a backward as well, which
# `mytorch` calls `unindex`. You'll write both.
#
# **Interview · What does `gather` do, and when do you need it?**
#
# - *Thirty seconds:* It picks along one dimension, with a separate index for each place of the result: replace
#   coordinate `dim` by the index. The result has the shape of the index. Typical: the score of the right class in each
#   row.
# - *Longer:* The index has as many dimensions as the input and isn't broadcast against it; along the other dimensions
#   it may be shorter. Negative indices are refused.
# - *They ask next:* What is its gradient? `scatter_add` of what came in, at the same index.
# - *The trap:* `scores[:, label]` takes every label's column from every row.
# - *Proof:* `proof-gather-formulas`, `proof-one-per-row`; limits and gradient: `proof-scatter`.
#
# **Interview · `scatter_` with repeated indices: what happens?**
#
# - *Thirty seconds:* One of the values remains, and PyTorch doesn't promise which. Use `scatter_add_` to get the sum.
# - *Longer:* `index_put_(…, accumulate=True)` is the same for square brackets.
# - *They ask next:* How do you write one-hot in one line? `torch.zeros(n, c).scatter_(1, label[:, None], 1.0)`.
# - *The trap:* The shape of the index decides how much of `src` is used. The rest is silently ignored.
# - *Proof:* `proof-scatter`.
#
# ## Milestone: any index, the same answer
# A random program draws 2,000 indices of numbers, slices, `None`, `...`, lists and masks. It reads and writes through
# them on `torch` and on your library, and compares shapes, numbers, strides and offsets of views, versions, and errors.

# %% tags=["proof-milestone"]
import random

PARTS, MASK = [slice(None), slice(None, None, 2), slice(-2, None), slice(1, 9), None, ...], [True, False]


def draw_item(rng):
    some, mask = rng.choices(range(-2, 2), k=rng.randint(1, 2)), rng.choices(MASK, k=rng.randint(2, 3))
    return rng.choice([rng.randrange(-3, 3), rng.choice(PARTS), some, mask])


def read_and_write(lib, place):
    x = lib.arange(24).reshape(2, 3, 4)
    found = x[place]
    strides = found._is_view() and (found.stride(), found.storage_offset())
    seen, x[place] = found.tolist(), -1
    return found.shape, strides, seen, x.tolist(), x._version


rng, kinds, different = random.Random(0), {"view": 0, "copy": 0, "error": 0}, 0
for _ in range(2000):
    place = tuple(draw_item(rng) for _ in range(rng.randrange(1, 5)))
    theirs, mine = (outcome(read_and_write, lib, place) for lib in (torch, mytorch))
    different += theirs != mine
    kinds["error" if isinstance(theirs, str) else "view" if theirs[1] else "copy"] += 1
print(kinds, "different:", different)

# %% [markdown]
# ## Edges
# Nothing selected, no dimensions, other dtypes.

# %%
edges = {
    "x[[]]": lambda lib: tuple(lib.zeros(2, 3)[[]].shape),
    "x[::-1]": lambda lib: lib.zeros(2, 3)[::-1],
    "number[0]": lambda lib: lib.tensor(5)[0],
    "int64 into float": lambda lib: lib.zeros(3).__setitem__([0], lib.tensor([1])),
}
beside(edges)

# %% [markdown]
# ## The real one
# You have seen `mytorch`'s `getitem`. This is minitorch's:

# %%
import inspect

print(inspect.getsource(torch.Tensor.__getitem__))
print(*(lib.arange(24).reshape(2, 3, 4).permute(2, 0, 1)[:, [0, 1]].stride() for lib in (torch, mytorch)))

# %% [markdown] tags=["short"]
# The plan is the same: first the views, then one copy. `_resolve` is the loop you'll write, `index_` is `index`, and
# `alias` is a view of everything, for `x[...]`. PyTorch adds one thing: its copy can keep the order that the source has in
# memory, as the strides show. `mytorch` stores its copy row by row.
#
# ## Rapid fire
# The cell below has the proofs.
#
# 1. Shape of (3, 1) + (1, 4)? (3, 4).
# 2. `x[1:2]` or `x[1]`: which keeps the dimension? The slice.
# 3. Does `x[5:9]` of 3 elements raise? No, a slice is cut off at the end. `x[5]` raises.
# 4. Does `x[mask] = 0` copy `x`? No, it writes into the memory of `x`.
# 5. `stack` of ten (3,) tensors: shape? (10, 3).

# %% tags=["proof-rapid-fire"]
line = torch.arange(3)
print("1.", tuple((torch.zeros(3, 1) + torch.zeros(1, 4)).shape), " 2.", tuple(line[1:2].shape), tuple(line[1].shape))
print("3.", line[5:9].tolist(), outcome(lambda: line[5]))
line[line > 1] = 0
print("4.", line.tolist(), " 5.", tuple(torch.stack([line] * 10).shape))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Shapes are aligned at the right. Two lengths are equal or one of them is 1; otherwise it's an error.
# 2. A 1 takes the other length, even 0. Stretching is stride 0; the result takes memory.
# 3. (n, 1) with (n,) gives (n, n), silently. Use `keepdim=True` when you reduce.
# 4. In place, the left operand keeps its shape.
# 5. Numbers, slices, `None`, `...` give views. Lists, masks, index tensors give copies.
# 6. `x[a][b] = v` writes into a copy if `a` made one. `x[a, b] = v` reaches `x`.
# 7. Index tensors are broadcast against each other: pairs, not a grid.
# 8. `cat` and `stack` copy; `split` and `chunk` give views, and `chunk` may give fewer parts.
# 9. `gather`: replace coordinate `dim` by the index. `scatter_` goes the other way.
# 10. Repeated places: `scatter_` keeps one value, `scatter_add_` adds them up. The backward of `gather` needs the sum.
#
# ## You try
# [The exercises](../exercises/04_broadcasting_indexing_joining.ipynb): predict which writes arrive, write four
# pieces of your library, build the top-p filter of language models, repair a word count that loses words, and count the
# GPUs that `chunk` leaves without work.
# [Chapter 05](05_devices.ipynb) is about where the numbers are.
