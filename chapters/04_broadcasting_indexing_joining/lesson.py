# %% [markdown]
# # Broadcasting, indexing and joining
# After this chapter your library adds tensors of different shapes, reads `x[:, [-1], ::2]`, and splits and joins tensors, with
# PyTorch's views, copies and errors. You will write the rule of broadcasting, the loop behind indexing, and `gather`, together
# with the backward functions that gradients need.

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(4)  # as of this chapter, using your code wherever you've solved the exercise

# %% [markdown] tags=["short"]
# ## Silent broadcasting: a perfect model with a loss of 250
# Four students studied for some hours and scored some points, and a model predicts each score exactly. What is its mean
# squared error?

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
# The prediction is a column and the score is treated as a row, so PyTorch subtracted every score from every prediction, without
# an error. A test with a single student wouldn't have caught the bug. `mse_loss` computes the same 250, but at least it warns
# you.
#
# ## Broadcasting
# ### The smallest model
# A first guess at the rule: align the shapes on the right, pad the shorter one with ones on the left, and take the larger
# length in each dimension.


# %% tags=["proof-broadcast-rule"]
import textwrap


def toy_shape(a, b):
    longest = max(len(a), len(b))
    a, b = ((1,) * (longest - len(shape)) + shape for shape in (a, b))
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
# The toy is wrong twice. PyTorch refuses the third pair, because 3 and 2 differ, and neither of them is 1. In the fourth pair,
# a 1 meets a 0 and the result has length 0, so "take the larger" can't be the rule. The rule has three parts:
#
# 1. Align the shapes on the right, where missing dimensions on the left count as 1.
# 2. In each dimension the lengths must be equal, or one of them must be 1.
# 3. The result has the length that isn't 1, or 1 if both are.
#
# Stretching needs no memory: a stretched dimension has stride 0, as in [chapter 03](03_views_and_layout.ipynb). But the *result*
# does:

# %% tags=["proof-stretch-is-free"]
column, row = torch.broadcast_tensors(torch.zeros(1000, 1), torch.zeros(1000))
for name, tensor in {"column": column, "row": row, "sum": column + row}.items():
    print(f"{name:6} strides {tensor.stride()!s:9} {tensor.untyped_storage().nbytes():9,} bytes")

# %% [markdown]
# An intermediate result can be far larger than what you want in the end. Take the squared distances between all pairs of 200
# points, first by subtracting every point from every other, and then by expanding
# $|a - b|^2 = |a|^2 + |b|^2 - 2 a \cdot b$:


# %% tags=["proof-pairwise"]
points, far = torch.zeros(200, 64), torch.tensor([[10000.0], [10001.0]])
difference = points[:, None] - points
squares, far_squares = points.square().sum(1), far.square().sum(1)
expanded = squares[:, None] + squares - 2 * points @ points.t()
for name, tensor in {"difference": difference, "expanded": expanded}.items():
    print(f"{name:10} {tuple(tensor.shape)!s:14} {tensor.untyped_storage().nbytes():10,} bytes")
print("10000 and 10001, by difference:", (far[0] - far[1]).square().item(), end="  ")
print("expanded:", (far_squares[:, None] + far_squares - 2 * far @ far.t())[0, 1].item())

# %% [markdown] given="mytorch.broadcasting:shape_of_all"
# **Interview · You compute all pairwise distances by broadcasting. What does it cost?**
#
# - *Thirty seconds:* It costs memory: the difference has shape (n, m, d), so the intermediate result is d times as large as the n × m
#   distances. With |a|² + |b|² − 2 a·b, a matrix multiplication does the work, and nothing larger than (n, m) is allocated.
# - *Longer:* `torch.cdist` does that by default if there are more than 25 points. Alternatively, compute the difference in chunks
#   of rows, or let a compiler fuse subtraction and sum, so that the large tensor never reaches memory.
# - *They ask next:* What does the expansion cost? Precision, because large numbers cancel. For 10000 and 10001 in float32 it
#   returns 0 instead of 1, and it may return negative values, so clamp before a square root.
# - *The trap:* Broadcasting isn't free. The inputs aren't copied, but the result is allocated.
# - *Proof:* `proof-pairwise`, `proof-stretch-is-free`.
#
# ### `mytorch`: a check before the kernel
# `mytorch` leaves broadcasting to NumPy, which has the same rule but words its errors differently. This chapter therefore gives
# every elementwise operation a check that compares the shapes before its kernel runs. You will write `meeting_shape`, which
# returns the shape that two shapes broadcast to, or raises PyTorch's error.


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
# Your library agrees in all four lines; otherwise the cell would add *but yours*. The last two lines show that in place the
# right operand may be stretched, but not the left one, because the result has to fit into its memory.
#
# **Interview · What are the rules of broadcasting?**
#
# - *Thirty seconds:* Align the shapes on the right, where missing dimensions count as 1. Two lengths must be equal, or one of
#   them must be 1, in which case the result has the other length. No input is copied, because a stretched dimension has
#   stride 0.
# - *Longer:* In place, only the other operand is stretched. In the backward pass, a stretched operand gets the *sum* of its
#   gradients over the stretched dimensions ([chapter 06](06_computation_graph.ipynb)).
# - *They ask next:* What do (5, 1) and (0,) give? (5, 0), because a length of 1 takes on any other length, even 0.
# - *The trap:* People forget the memory of the result. In the cell, two inputs of 4 kB give a sum of 4 MB.
# - *Proof:* `proof-broadcast-rule`; memory: `proof-stretch-is-free`; in place: `proof-broadcast-errors`.
#
# **Interview · Predictions have shape (n, 1), targets (n,). What happens?**
#
# - *Thirty seconds:* Their difference has shape (n, n), so the loss compares every prediction with every target, and no error is
#   raised.
# - *Longer:* `squeeze(1)` the prediction or `unsqueeze(1)` the target. `mse_loss` only warns.
# - *They ask next:* How do you guard against it? I assert equal shapes before the loss.
# - *The trap:* With a batch of one, the bug doesn't show.
# - *Proof:* `proof-silent-broadcast`.
#
# ### `keepdim`
# Suppose you want to divide each row of a matrix by its sum. But `sum(1)` removes a dimension, so its result is aligned with the
# columns instead of the rows:

# %% tags=["proof-keepdim"]
square, wide = torch.tensor([[1.0, 3.0], [6.0, 2.0]]), torch.ones(2, 3)
print("rows of square / square.sum(1) sum to", (square / square.sum(1)).sum(1).tolist())
print("with keepdim=True they sum to        ", (square / square.sum(1, keepdim=True)).sum(1).tolist())
print("and when it isn't square:", outcome(lambda: wide / wide.sum(1)))

# %% [markdown] tags=["short"]
# Each *column* was divided by the sum of a row, and only the matrix that isn't square raised an error. With `keepdim=True` the
# sums stay a column.
#
# ## Indexing: views and copies
# Which of these are views and which are copies? Make your guesses before you run the cell.

# %% tags=["proof-view-or-copy"]
x, one, ones = torch.arange(24).reshape(2, 3, 4), torch.tensor(1), torch.tensor([1])
reads = {"x[1]": x[1], "x[:, 1:]": x[:, 1:], "x[..., None]": x[..., None], "x[:, [1, 2]]": x[:, [1, 2]]}
reads |= {"x[x > 20]": x[x > 20], "x[one]": x[one], "x[ones]": x[ones]}
for name, result in reads.items():
    print(f"{name:12} shape {tuple(result.shape)!s:13}", "view" if result._is_view() else "copy")

# %% [markdown]
# Integers, slices, `None` and `...` give a view of the same storage. A list, a mask or an index tensor may select positions
# in an order that no stride describes, so the result is a copy. A 0-d integer tensor counts as an integer, unless it is
# uint8, which is an old spelling of a mask. Python's `True` and `False` are masks as well, not the integers 1 and 0.
#
# When you *write*, Python calls `x.__setitem__`, so `x[…] = v` reaches `x` with any index. A second pair of brackets
# changes that:

# %% tags=["proof-chained"]
a, b, c = (torch.arange(24).reshape(2, 3, 4) for _ in range(3))
a[[0, 1], 0, 0] = -1
b[[0, 1]][:, 0, 0] = -1
c[0:2][:, 0, 0] = -1
for name, tensor in {"a[[0, 1], 0, 0] = -1": a, "b[[0, 1]][:, 0, 0] = -1": b, "c[0:2][:, 0, 0] = -1": c}.items():
    print(f"{name:24} reached", int((tensor == -1).sum()), "elements of", name[0])

# %% [markdown]
# In the middle line, `b[[0, 1]]` made a copy, and the write went into that copy, which was then discarded. In the last line,
# `c[0:2]` is a view.
#
# **Interview · `x[0:2]` or `x[[0, 1]]`: what is the difference?**
#
# - *Thirty seconds:* The values are the same, but the slice is a view and shares memory, while the list makes a copy.
# - *Longer:* Integers, slices, `None` and `...` give views. A single list of integers, mask or index tensor makes the whole
#   result a copy. As the target of an assignment, both reach `x`.
# - *They ask next:* Why can't a list give a view? `[0, 2, 1]` would need steps of +2 and −1 along one dimension. `[0, 1]` could
#   be a view, but PyTorch decides by the type of the index, not by its values.
# - *The trap:* `x[[0, 1]][:, 0] = 0` changes a copy. Write `x[[0, 1], 0] = 0` instead.
# - *Proof:* `proof-view-or-copy`; the writes: `proof-chained`.
#
# ### Build: views first, then one copy
# Read the items of `x[:, [-1], ::2]` from left to right; here each applies to one dimension. A slice can be applied
# immediately, as a view, whereas a list needs a copy. One copy at the end is enough for all lists, so until then a list waits
# in `pending`. This has one entry for each dimension handled so far: the index that waits, or None. By hand, the steps are:

# %%
from mytorch import views
from mytorch.indexing import index

mine = mytorch.arange(24).reshape(2, 3, 4)
seen, pending = mine, []
seen, pending = views.slice(seen, 0, 0, 2, 1), [*pending, None]  # ":"      all of dimension 0, nothing to wait for
pending = [*pending, mytorch.tensor([-1])]  # "[-1]"   waits, for dimension 1
seen, pending = views.slice(seen, 2, 0, 4, 2), [*pending, None]  # "::2"    every other index of dimension 2
print("view", tuple(seen.shape), seen.stride(), "pending", pending)
print(index(seen, tuple(pending)).tolist(), torch.arange(24).reshape(2, 3, 4)[:, [-1], ::2].tolist())

# %% [markdown] given="mytorch.indexing:getitem mytorch.indexing:index mytorch.indexing:places"
# The two lists in the last line agree. At each step, the next item applies to the dimension whose number is the current length
# of `pending`, and that stays true when dimensions come and go: the 1 in `x[1]` removes its dimension and adds no entry, while
# `None` adds a dimension and an entry. You will write the loop, `take_views`, and `slice_bounds`, which converts `::2` to (0,
# 4, 2). The rest is provided:

# %% [markdown]
# ### Masks
# A mask stands for the indices of its True elements, given as one index tensor for each of its dimensions. `indices_of`
# replaces the mask by these tensors, so all the dimensions that the mask covers become a single one.

# %% tags=["proof-mask"]
grid = torch.arange(6).reshape(2, 3)
even = grid % 2 == 0
rows, columns = even.nonzero().unbind(1)
print("rows, columns:", rows.tolist(), columns.tolist(), grid[even].tolist(), grid[rows, columns].tolist())
print(grid[torch.tensor([True, False])].tolist(), outcome(lambda: grid[torch.tensor([True, False, True])]))

# %% [markdown]
# A mask that is used as an index isn't broadcast: its shape must equal that of the dimensions it covers. In `grid[mask]` these
# are the dimensions from the *first* one on, which is why a mask of two elements selects rows, and one of three, which would
# fit the columns, raises an error.
#
# **Interview · Why can `x[mask]` be slow on a GPU, and what do you use instead?**
#
# - *Thirty seconds:* The size of the result depends on how many elements of the mask are True. The CPU has to wait for that count
#   before it can allocate the result, so the GPU's queue runs empty.
# - *Longer:* `torch.where(mask, x, 0)` or `masked_fill` have a result of fixed shape, so they need no synchronization.
#   `nonzero` waits like the mask, but `x[index]` with an index tensor on the GPU doesn't.
# - *They ask next:* What does a mask mean for `torch.compile`? The data-dependent shape usually breaks the graph. `where` is
#   compiled and fused.
# - *The trap:* `x[mask].sum()` waits for the GPU in a training loop, where `(x * mask).sum()` would do, unless `x` contains infinities or
#   NaN.
# - *Proof:* the indices behind a mask: `proof-mask`; what waits for the GPU: [chapter 05](05_devices.ipynb).
#
# ### Index tensors are broadcast: pairs
# Unlike masks, index tensors *are* broadcast against each other, so two lists of equal length select pairs, not a grid.

# %% tags=["proof-pairs"]
board = torch.arange(12).reshape(3, 4)
first, second = torch.tensor([0, 2]), torch.tensor([1, 3])
print("pairs", board[first, second].tolist(), " grid", board[first[:, None], second].tolist())
print(outcome(lambda: board[[0, 1, 2], [0, 1]]))
y = torch.zeros(5, 2, 3, 4)
print("adjacent", tuple(y[:, [0, 1], [0, 1]].shape), " separated by a slice", tuple(y[:, [0, 1], :, [0, 1]].shape))
print("x[0, :, [0, 1]]", tuple(x[0, :, [0, 1]].shape), " NumPy", x.numpy()[0, :, [0, 1]].shape)
pairs, cross = torch.zeros(3, 4), torch.zeros(3, 4)
pairs[first, second] = cross[first[:, None], second] = 1
pictures.grids(("board[first, second]", board, pairs), ("board[first[:, None], second]", board, cross))

# %% [markdown]
# To get a grid instead, make one of the indices a column. Indices of 3 and 2 elements can't be broadcast, hence the error. If
# the indexed dimensions are adjacent, the new one takes their place; if a slice separates them, it comes first. In the last
# line NumPy treats the integer 0 as an index like the list, whereas PyTorch applies the integer before it looks at the list.
#
# **Interview · You index with two lists. What do you get?**
#
# - *Thirty seconds:* I get pairs, because the lists are broadcast against each other: element k is `x[a[k], b[k]]`.
# - *Longer:* For a grid, make one of them a column: `x[a[:, None], b]`. If there is a slice between them, the new dimensions come
#   first.
# - *They ask next:* What about an integer and a list, as in `x[0, :, [0, 1]]`? PyTorch applies the integer first. NumPy doesn't,
#   so its result has a different shape.
# - *The trap:* `board[:, columns]` doesn't pick one column per row: it takes all of these columns from every row.
# - *Proof:* `proof-pairs`; the trap: `proof-one-per-row`.
#
# ## Joining and splitting
# `cat` joins along an existing dimension and `stack` along a new one. Both copy; `split` and `chunk` give views.

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

# %% [markdown]
# `cat` allows different lengths in the dimension that it joins, whereas `stack` needs equal shapes throughout. Now the other way:
# four ways to split six numbers.

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
# `chunk(4)` returned only three parts: six elements in four parts would be 1.5 each, which `chunk` rounds up to 2, and three
# parts of 2 use everything up.
#
# The first write into a chunk worked, because no gradient was needed. While autograd records, PyTorch refuses to write into a
# view that comes from an operation with several outputs, such as `split`, `chunk` and `unbind` (which a loop over a tensor
# calls). `tensor_split` makes each part by a slice of its own, and a slice accepts the write ([chapter
# 07](07_backward_in_depth.ipynb)).
#
# **Interview · `cat` or `stack`? `split` or `chunk`?**
#
# - *Thirty seconds:* `cat` joins along an existing dimension, `stack` along a new one. `split` takes the length of the parts,
#   `chunk` their number.
# - *Longer:* `stack` is `unsqueeze` on each tensor, then `cat`, so it needs equal shapes. `cat` promotes dtypes and needs equal
#   lengths in all other dimensions, although an empty vector of shape (0,) goes with anything.
# - *They ask next:* Which of them copy? `cat` and `stack`, while `split` and `chunk` return views. A write into a part goes
#   through, unless autograd records it; then it raises an error.
# - *They ask next:* What does `cat` cost in a loop? Each call copies everything so far, so collect a list and call it once.
# - *The trap:* `chunk(n)` can return fewer than n parts. `tensor_split(n)` returns n.
# - *Proof:* `proof-cat-stack`, `proof-chunk`; the loop: `proof-cat-in-a-loop`.

# %% [markdown]
# ## `gather` and `scatter_`
# A classifier returned logits for three classes, and you want the logit of the correct class in each row: 12 and 20. Which of
# the five attempts get them? After these, the cell does the same for a language model, whose logits have shape (B, T, V), and
# computes its loss.

# %% tags=["proof-one-per-row"]
logits, label = torch.tensor([[10, 11, 12], [20, 21, 22]]), torch.tensor([2, 0])
print("logits[:, label]", logits[:, label].tolist())
print("logits[arange, label]", logits[torch.arange(2), label].tolist())
print("gather", logits.gather(1, label[:, None]).tolist())
print("take_along_dim, index [[-1]]", torch.take_along_dim(logits, torch.tensor([[-1]]), 1).tolist())
print("index_select", logits.index_select(1, label).tolist())
scores, target = torch.arange(24.0).reshape(2, 3, 4) % 5, torch.tensor([[1, 0, 3], [2, 2, 0]])
found = scores.gather(-1, target.unsqueeze(-1)).squeeze(-1) - scores.logsumexp(-1)
loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten())
print(tuple(found.shape), f"minus the mean: {-found.mean().item():.4f}, cross_entropy: {loss.item():.4f}")
print("scores[:, :, target]", tuple(scores[:, :, target].shape))

# %% [markdown]
# The second and the third do. `logits[:, label]` and `index_select` take the *same* positions, 2 and 0, from every row, while
# `arange` pairs each label with its own row. `gather` needs no `arange`: it reads along `dim` where the index says, and along
# each other dimension an element keeps its own position. `take_along_dim` is `gather` with broadcasting and negative indices,
# as the `[[-1]]` for all rows shows.
#
# For the language model, `gather` minus `logsumexp` is the log-probability of each label, so the mean with its sign changed is
# the cross-entropy.
#
# For three dimensions these are the formulas of `gather`, and of its counterpart:
#
# | dim | `out = x.gather(dim, index)` | `x.scatter_(dim, index, src)` |
# |---|---|---|
# | 0 | `out[i][j][k] = x[index[i][j][k]][j][k]` | `x[index[i][j][k]][j][k] = src[i][j][k]` |
# | 1 | `out[i][j][k] = x[i][index[i][j][k]][k]` | `x[i][index[i][j][k]][k] = src[i][j][k]` |
# | 2 | `out[i][j][k] = x[i][j][index[i][j][k]]` | `x[i][j][index[i][j][k]] = src[i][j][k]` |
#
# One sentence covers all six, *replace coordinate `dim` by the index*, and the next cell writes it as a loop:

# %% tags=["proof-gather-formulas"]
from itertools import product


def by_hand(x, dim, index):
    out = torch.zeros(index.shape, dtype=x.dtype)
    for position in product(*map(range, index.shape)):
        source = list(position)
        source[dim] = int(index[position])
        out[position] = x[tuple(source)]
    return out


cube = torch.arange(24).reshape(2, 3, 4)
for dim in range(3):
    where = torch.randint(0, cube.shape[dim], (2, 2, 3), generator=torch.Generator().manual_seed(dim))
    picked = cube.gather(dim, where)
    back = torch.zeros_like(cube).scatter_(dim, where, picked)  # to where they came from
    same, home = (by_hand(cube, dim, where) == picked).sum(), (back == cube)[back > 0].sum()
    print(f"dim {dim}: {same} of {picked.numel()} as by hand, {home} of {(back > 0).sum()} back in place")

# %% [markdown]
# The loop agrees with `gather` in each dimension, and `scatter_` put every value back where it came from. Now move the sliders:
# the index stays the same, while `dim` decides whether its values mean rows (0) or columns (1) of `x`. The outlined cells
# belong to one element of the result.


# %% hidden=true
def gathered(dim, element):
    x, index = torch.arange(10, 19).reshape(3, 3), torch.tensor([[2, 0, 1]])
    number, chosen = int(index[0, element]), torch.arange(3) == element
    row, column = (number, element) if dim == 0 else (0, number)
    source = (torch.arange(3) == row)[:, None] & (torch.arange(3) == column)
    title = f"out[0][{element}] = x[{row}][{column}]"
    pictures.assign({title: "result"})
    return pictures.grids(("x", x, source), ("index", index, chosen), (title, x.gather(dim, index), chosen))


pictures.slider(gathered, dim=[0, 1], element=[0, 1, 2])

# %% [markdown]
# `scatter_` goes in the opposite direction, so what happens if two elements go to the same position?

# %% tags=["proof-scatter"]
to, src = torch.tensor([0, 2, 0, 2]), torch.tensor([1.0, 2.0, 3.0, 4.0])
lost = torch.zeros(3).scatter_(0, to, src)
print("scatter_ keeps", sum(number in lost for number in src.tolist()), "of", len(src), "numbers")
twice = torch.zeros(3)
twice[[0, 0, 1]] += 1
print("x[[0, 0, 1]] += 1", twice.tolist())
print("scatter_add_", torch.zeros(3).scatter_add_(0, to, src).tolist())
print("accumulate  ", torch.zeros(3).index_put_((to,), src, accumulate=True).tolist())
read = torch.zeros(3, requires_grad=True)
read.gather(0, to).backward(src)
print("the gradient", read.grad.tolist(), "of reading positions", to.tolist())
print("one-hot", torch.zeros(2, 3).scatter_(1, label[:, None], 1.0).tolist())
print("larger src", torch.zeros(2, 3).scatter_(1, torch.tensor([[1]]), torch.ones(2, 3)).tolist())
for where in (label, torch.tensor([[-1]]), torch.tensor([[1]])):
    print("gather", where.tolist(), outcome(logits.gather, 1, where))

# %% [markdown]
# `scatter_` lost two values, and PyTorch doesn't promise which ones. `x[[0, 0, 1]] += 1` lost an addition in the same way.
# `scatter_add_` adds every value, so it is the **backward** of `gather`: a position that was read twice gets the sum of two
# gradients. The backward of indexing is called `unindex` in `mytorch`, and you will write both.
#
# In the last lines, an index that is too small raises no error: `scatter_` ignores the rest of `src`, and `gather` returns
# fewer elements. A missing dimension and a negative index are refused.
#
# **Interview · What does `gather` do, and when do you need it?**
#
# - *Thirty seconds:* It picks along one dimension, with a separate index for each position of the result: it replaces coordinate
#   `dim` by the index, and the result has the shape of the index. A typical use is the logit of the correct class in each row.
# - *Longer:* The index has as many dimensions as the input and isn't broadcast against it, though it may be shorter along the
#   other dimensions. Negative indices are refused.
# - *They ask next:* What is its gradient? A `scatter_add` of the incoming gradient, at the same index.
# - *They ask next:* What if the index is too small? The result has the index's shape, so rows are silently missing.
# - *The trap:* `gather` doesn't broadcast, so a `(1, k)` index doesn't serve all rows: `expand` the index or call `take_along_dim`.
# - *Proof:* `proof-gather-formulas`, `proof-one-per-row`; limits and gradient: `proof-scatter`.
#
# **Interview · How do you get each label's log-probability from logits (B, T, V) without a loop?**
#
# - *Thirty seconds:* I write `logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)`. I pick each label's logit
#   along the last dimension and subtract the `logsumexp` of its position, so the result has shape (B, T).
# - *Longer:* `log_softmax` followed by `gather` gives the same, but creates another tensor of (B, T, V). `gather` refuses negative
#   indices, so replace ignored labels of −100 by 0 first, and mask the results.
# - *They ask next:* Why not `log(softmax(x))`? A small probability underflows to 0, and its logarithm is −∞.
# - *The trap:* `logits[:, :, labels]` takes every label at every position: (B, T, B, T).
# - *Proof:* `proof-one-per-row`; the negative index: `proof-scatter`.
#
# **Interview · `scatter_` with repeated indices: what happens?**
#
# - *Thirty seconds:* One of the values remains, and PyTorch doesn't promise which one. If you want the sum, use `scatter_add_`.
# - *Longer:* `index_put_(…, accumulate=True)` is the counterpart for indexing. On a GPU, the order in which `scatter_add_`
#   adds can change between runs, and the last digits with it.
# - *They ask next:* How do you write one-hot in one line? `torch.zeros(n, c).scatter_(1, label[:, None], 1.0)`.
# - *The trap:* If the index is smaller than `src`, the rest of `src` is silently ignored.
# - *Proof:* `proof-scatter`.
#
# ## Einstein summation: `einsum`
# In an equation for `einsum`, each dimension of the operands has a letter. Dimensions with the same letter are aligned, the
# elements are multiplied, and a letter that doesn't appear after the arrow is summed over. What does each line compute?

# %% tags=["proof-einsum"]
q, k = torch.arange(6).reshape(2, 3), torch.arange(12).reshape(4, 3)
equations = {"ij->ji": (q,), "ij->i": (q,), "i,j->ij": (q[1], k[1]), "id,id->i": (q, q), "id,jd->ij": (q, k)}
equations |= {"ii->i": (q @ q.t(),), "id,jd->i": (q, k)}
for equation, operands in equations.items():
    print(f"{equation:9}", torch.einsum(equation, *operands).tolist())
queries, keys = torch.arange(24).reshape(1, 2, 3, 4), torch.arange(40).reshape(1, 2, 5, 4)
scores = torch.einsum("bhid,bhjd->bhij", queries, keys)
print(tuple(scores.shape), "equal:", torch.equal(scores, queries @ keys.transpose(-2, -1)))

# %% [markdown]
# The first five are a transpose, the sum of each row, an outer product, a dot product for each row, and a matrix
# multiplication, `q @ k.t()`. A letter that an operand has twice stands for its diagonal. The last equation lost its `j`, so it
# also sums over `j`, and no error is raised.
#
# **Interview · What does `torch.einsum("bhid,bhjd->bhij", q, k)` compute?**
#
# - *Thirty seconds:* Attention scores: for each batch b and head h, the dot product of query i with key j. Equal letters are
#   aligned, and d is summed over, because it doesn't appear after the arrow.
# - *Longer:* It is `q @ k.transpose(-2, -1)`. PyTorch runs two operands as one batched matrix multiplication if something is summed
#   over. With more operands the order of the products decides the cost; PyTorch goes from left to right unless `opt_einsum` is
#   installed.
# - *They ask next:* How do you write a batched outer product? `"bi,bj->bij"`: no letter is summed over.
# - *The trap:* A letter that you forget after the arrow is summed over without an error, so check the shape of the result.
# - *Proof:* `proof-einsum`.

# %% [markdown] tags=["short"]
# ## Rapid fire
# The cell below shows the answers.
#
# 1. What is the shape of (3, 1) + (1, 4)? (3, 4).
# 2. `x[1:2]` or `x[1]`: which keeps the dimension? The slice.
# 3. Does `x[5:9]` raise an error if `x` has 3 elements? No, a slice is clamped to the end. But `x[5]` raises an IndexError.
# 4. Does `x[mask] = 0` copy `x`? No, it writes into the memory of `x`.
# 5. What is the shape of a `stack` of ten (3,) tensors? (10, 3).

# %% tags=["proof-rapid-fire"]
line = torch.arange(3)
print("1.", tuple((torch.zeros(3, 1) + torch.zeros(1, 4)).shape), " 2.", tuple(line[1:2].shape), tuple(line[1].shape))
print("3.", line[5:9].tolist(), outcome(lambda: line[5]))
line[line > 1] = 0
print("4.", line.tolist(), " 5.", tuple(torch.stack([line] * 10).shape))

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. Shapes are aligned on the right, where two lengths are equal or one of them is 1; otherwise PyTorch raises an error.
# 2. A length of 1 stretches to any other length, even 0. The stretched input has stride 0 and takes no memory, but the result
#    does.
# 3. (n, 1) with (n,) gives (n, n), silently, so use `keepdim=True` when you reduce.
# 4. In place, the left operand keeps its shape.
# 5. Integers, slices, `None` and `...` give views; lists, masks and index tensors give copies.
# 6. `x[a][b] = v` writes into a copy if `a` made one; `x[a, b] = v` reaches `x`.
# 7. Index tensors are broadcast against each other, so two lists select pairs, not a grid.
# 8. `cat` and `stack` copy, `split` and `chunk` give views, and `chunk` may return fewer parts.
# 9. `gather` replaces coordinate `dim` by the index. `scatter_` goes the other way: for repeated positions it keeps one value,
#    while `scatter_add_`, the backward of `gather`, sums them.
# 10. `einsum` multiplies along equal letters and sums over each letter that is missing after the arrow.

# %% [markdown]
# ## You try
# In [the exercises](../exercises/04_broadcasting_indexing_joining.ipynb) you predict which writes arrive, write four pieces of
# your library, build the top-p filter of language models, fix a word count that loses words, and count the GPUs that `chunk`
# leaves without work. [Chapter 05](05_devices.ipynb) is about where the values are stored.
#
# ## If you have time
# ### Myth · "To broadcast, each tensor needs at least one dimension"
# PyTorch's documentation lists this as a rule, but it isn't one. In the last pair of [the cell above](proof-broadcast-rule),
# the shape `()` has no dimensions, and yet the sum has shape (2, 3), because missing dimensions count as 1.
#
# ### Milestone: any index, the same answer
# The next cell draws 2,000 random indices made of integers, slices, `None`, `...`, lists and masks. It reads and writes
# through each of them, on `torch` and on your library, and compares shapes, values, strides and offsets of views, versions,
# and errors.

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
# ### Edge cases
# These calls select nothing, use a negative step, index a 0-d tensor, or assign another dtype. Assigning to a slice calls
# `copy_`, which converts, but assigning through a list calls `index_put_`, which doesn't.

# %%
edges = {
    "x[[]]": lambda lib: tuple(lib.zeros(2, 3)[[]].shape),
    "x[::-1]": lambda lib: lib.zeros(2, 3)[::-1],
    "number[0]": lambda lib: lib.tensor(5)[0],
    "int64 at [[0]]": lambda lib: lib.zeros(3).__setitem__([0], lib.tensor([1])),
    "int64 at [0:1]": lambda lib: lib.zeros(3).__setitem__(slice(0, 1), lib.tensor([1])),
}
beside(edges)

# %% [markdown]
# ### The real one: `__getitem__`
# Compare `getitem` of `mytorch`, which you have seen, with minitorch's:

# %%
import inspect

print(inspect.getsource(torch.Tensor.__getitem__))
print(*(lib.arange(24).reshape(2, 3, 4).permute(2, 0, 1)[:, [0, 1]].stride() for lib in (torch, mytorch)))

# %% [markdown]
# The plan is the same: first the views, then one copy. `_resolve` is the loop you will write, `index_` is `index`, and `alias` is
# a view of everything, for `x[...]`. PyTorch adds one thing: its copy can keep the memory order of the source, as the strides
# show, while `mytorch` stores its copy row by row.

# %% [markdown]
# ### What `cat` in a loop costs
# If you collect pieces in a loop, should you call `cat` in each step, or once at the end? Each `cat` copies all of its
# inputs, so the next cell counts the copied elements:


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
