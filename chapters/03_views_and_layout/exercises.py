# %% [markdown]
# # Exercises · Views and layout
# You write four parts of `mytorch`, cut a picture into patches, fix a model that mixes up its heads, and measure a
# cache of unknown size. In exercises 2 to 4 and 8 you use NumPy alone; in the others `torch` is minitorch.

# %% setup=true
from __future__ import annotations

from course import check


def pick(rng, *choices):
    """One of the choices, drawn."""
    return choices[int(rng.integers(len(choices)))]


# %% setup=true
import minitorch as torch

# %% [markdown] exercise="views_predict_sharing" kind="predict" points=1
# ### Exercise 1 · What does `x` hold?
# ```python
# x = torch.arange(6).reshape(2, 3)
# x.t().reshape(3, 1, 2)[1] += 10
# x.t().reshape(2, 3)[0] += 100
# ```
# Set `prediction` to `x.tolist()`: a list of two lists of three integers. Write it down without running the code.

# %% solution="views_predict_sharing"
### BEGIN SOLUTION
prediction = [[0, 11, 2], [3, 14, 5]]
### END SOLUTION
### BEGIN STUB
# prediction = [[..., ..., ...], [..., ..., ...]]
### END STUB

# %% check="views_predict_sharing"
check.show({"prediction": [[int(each) for each in row] for row in prediction]}, secret=True)

# %% [markdown] hint="views_predict_sharing"
# For each of the two lines: is the result of `reshape` a view or a copy? Compare the sizes before and after.

# %% [markdown] hint="views_predict_sharing"
# `x.t()` has sizes (3, 2) and strides (1, 3). A dimension of length 1 can be inserted anywhere, whereas merging 3 and 2
# is another matter.

# %% [markdown] hint="views_predict_sharing"
# The second line needs rows of 3 where the view has runs of 3 and 2, so it is a copy. In the first line, index 1 along
# the first dimension of `x.t()` is column 1 of `x`.

# %% mutant="views_predict_sharing"
# Both lines copied
# "`reshape` after a transpose copies" is too general. (3, 1, 2) only adds a dimension of length 1 to (3, 2), so it is a
# view.
prediction = [[0, 1, 2], [3, 4, 5]]

# %% mutant="views_predict_sharing"
# Both lines are views
# The second line can't be a view, because its rows of 3 would have to visit positions 0 3 1, and no stride jumps by 3
# and then by −2.
prediction = [[100, 111, 2], [103, 14, 5]]

# %% mutant="views_predict_sharing"
# A row in place of a column
# The tensor was transposed before it was indexed, so index 1 of the transposed tensor is a column of `x`.
prediction = [[0, 1, 2], [13, 14, 15]]

# %% mutant="views_predict_sharing"
# The rows of the storage
# These are positions 2 and 3 of the storage. The view keeps the strides of `x.t()`, whose rows are the columns of `x`.
prediction = [[0, 1, 12], [13, 4, 5]]

# %% mutant="views_predict_sharing"
# The wrong one of the two copies
# It is the other way round: adding a length of 1 keeps the order, while regrouping the elements of a transposed tensor
# doesn't.
prediction = [[100, 101, 2], [103, 4, 5]]

# %% mutant="views_predict_sharing"
# A reshape back to the old shape
# `x.t().reshape(2, 3)` has the shape of `x`, but its elements come in the order 0 3 1 4 2 5, so it isn't `x` again.
prediction = [[100, 111, 102], [3, 14, 5]]

# %% [markdown] exercise="views_view_strides" kind="core" points="1 3" part="mytorch.strides:infer_size mytorch.strides:view_strides"
# ### Exercise 2 · The two functions below `view`
# `infer_size((2, -1), 6)` is `(2, 3)`. `view_strides((3, 2, 4), (4, 12, 1), (3, 2, 2, 2))` is `(4, 12, 2, 1)`, and for
# the shape `(6, 4)` it is `None`. The lesson's `runs` groups dimensions; here each run also has to be split as `wanted`
# says. PyTorch's error messages are provided in `words`, as in `raise words.wrong_count(size, count)`, and you decide
# when to raise them. From chapter 02 you have `count_of(size)`, the product of the lengths, and
# `contiguous_strides(size)`.


# %% docstrings="views_view_strides"
def infer_size():
    """The shape with its -1 replaced by the length that gives it `count` elements.

    A shape without a -1 is returned unchanged.

    Raises:
        RuntimeError: two lengths are -1 (`words.two_unknown()`); a length is below -1
            (`words.below_minus_one(size, place)`, where `place` is its index); no
            length gives `count` elements (`words.wrong_count(size, count)`); or any
            length would, because `count` is 0 and another length is 0 as well
            (`words.any_length_fits(size)`).
    """


def view_strides():
    """The strides of a view of this size and stride in the shape `wanted`, or None.

    Both shapes have the same number of elements. Starting from the last dimension, a
    dimension joins the run to its right if its stride equals the run's number of
    elements times the run's innermost stride, or if its length is 1. A run can be split
    in any way: within it, each stride is the one to its right times the length there.
    Runs stay separate, so each run has to be the product of some lengths of `wanted`,
    in order. If a run isn't such a product, there are no strides. A length of 1 in
    `wanted` belongs to the run to its right, and a length of 1 at the end belongs to
    the last run.

    A 0-d view and a view without elements get contiguous strides; only a view without
    elements that is viewed in its own shape keeps its strides.
    """


# %% check="views_view_strides" raises="RuntimeError"
rng = check.rng()
lengths = [int(each) for each in rng.permutation([2, 3, 4])]
x = mytorch.arange(24).as_strided(tuple(lengths), (lengths[1] * lengths[2], lengths[2], 1))
y = x.permute(*pick(rng, (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 1, 0)))
cases = {
    "merged and split": (x, (lengths[0] * lengths[1], 1, lengths[2])),
    "in halves": (x, (-1, 2)),
    "permuted, with lengths of 1": (y, (1, y.shape[0], y.shape[1], 1, y.shape[2], 1)),
    "permuted, first two merged": (y, (-1, y.shape[2])),
    "permuted, last two merged": (y, (y.shape[0], -1)),
    "every other": (x.as_strided((12,), (2,)), (3, 2, 2)),
    "every other, merged": (x.as_strided((3, 4), (8, 2)), (12,)),
    "three apart, in rows of three": (x.as_strided((2, 3), (3, 2)), (6,)),
    "a length of 1 between": (x.as_strided((2, 1, 3), (3, 7, 1)), (6,)),
    "expanded": (mytorch.arange(3).as_strided((4, 3), (0, 1)), (2, 2, 3)),
    "expanded, merged": (mytorch.arange(3).as_strided((4, 3), (0, 1)), (12,)),
    "rows apart, a length of 1 between": (x.as_strided((2, 1, 3), (5, 9, 1)), (6,)),
    "in itself, a length of 1 at the end": (x.as_strided((3, 1), (1, 7)), (3, 1)),
    "lengths of 1 with strides of their own": (x.as_strided((1, 3, 1, 2, 1), (9, 2, 8, 1, 7)), (1, 6, 1)),
    "lengths of 1 at both ends": (x.as_strided((1, 4, 1), (3, 2, 9)), (1, 2, 1, 2, 1)),
    "a number": (mytorch.tensor(5), (1, 1)),
    "to a number": (mytorch.arange(1), ()),
    "nothing": (mytorch.zeros(0, 3), (3, 0)),
    "nothing, the same": (mytorch.zeros(2, 0).transpose(0, 1), (0, 2)),
}
values = {}
for name, (tensor, wanted) in cases.items():
    wanted = mytorch.strides.infer_size(wanted, tensor.numel())
    found = mytorch.strides.view_strides(tuple(tensor.shape), tensor.stride(), wanted)
    values[f"{name}: {tuple(tensor.shape)}, strides {tensor.stride()}, as {wanted}"] = found
sizes = [((0, -1), 0), ((4, -1), 0), ((), 1), ((2, -1, 3), 24)]
sizes += [(size, 6) for size in [(4, -1), (5,), (3,), (2, 3), (-1, -1), (-1, 0), (-2, -3), (-1, -2), (-2, -1), (3, -3)]]
for size, count in sizes:
    error = check.error(mytorch.strides.infer_size, size, count)
    values[f"infer_size({size}, {count})"] = error or mytorch.strides.infer_size(size, count)
x.view(-1).mul_(2)
values["the source, after a write into a view"] = x.tolist()
check.show(values, text="Strides of views, None where there is none; inferred shapes, or their errors.")

# %% [markdown] hint="views_view_strides"
# Begin with `infer_size`: compute the product of the known lengths, then check four things. Are there two −1? Is a
# length below −1? Is the count a multiple of the product? Is the product 0?

# %% [markdown] hint="views_view_strides"
# For `view_strides`, go through the old dimensions from the last one on, and keep two numbers: how many elements the
# current run has, and its innermost stride. When the next dimension doesn't merge, the run is complete.

# %% [markdown] hint="views_view_strides"
# A complete run of `run` elements with innermost stride `inner` takes lengths from the end of `wanted`. The first one
# gets the stride `inner`, the next one `inner` times the first length, and so on. Their product has to reach `run`
# exactly; if it exceeds it, return None. Then go on taking lengths of 1.

# %% [markdown] hint="views_view_strides"
# The next dimension merges if `size[dim - 1] == 1 or stride[dim - 1] == run * inner`. Collect the strides in a list from
# the back, `wanted[-1 - len(strides)]` is the next length, and reverse the list in the end.


# %% mutant="views_view_strides"
# Takes contiguous tensors only
# A view of a permuted tensor exists as long as nothing is merged across a jump. The strides decide that, run by run.
def view_strides(size, stride, wanted):
    return contiguous_strides(wanted) if stride == contiguous_strides(size) else None


# %% mutant="views_view_strides"
# Lengths of 1 get in the way
# Along a length of 1 no step is ever taken, so its stride doesn't matter, and such a dimension merges with any run.
def view_strides(size, stride, wanted):
    if not size or 0 in size:
        return stride if size == wanted else contiguous_strides(wanted)
    strides = []
    run, inner = 1, stride[-1]
    for dim in reversed(range(len(size))):
        run *= size[dim]
        if dim > 0 and stride[dim - 1] == run * inner:
            continue
        split = 1
        while len(strides) < len(wanted) and (split < run or wanted[-1 - len(strides)] == 1):
            strides.append(split * inner)
            split *= wanted[-len(strides)]
        if split != run:
            return None
        run, inner = 1, stride[dim - 1]
    return tuple(reversed(strides))


# %% mutant="views_view_strides"
# Starts each run at stride 1
# The innermost stride of a run is that of its last dimension. Every other element of a row has stride 2, not 1.
def view_strides(size, stride, wanted):
    if not size or 0 in size:
        return stride if size == wanted else contiguous_strides(wanted)
    strides = []
    run, inner = 1, stride[-1]
    for dim in reversed(range(len(size))):
        run *= size[dim]
        if dim > 0 and (size[dim - 1] == 1 or stride[dim - 1] == run * inner):
            continue
        split = 1
        while len(strides) < len(wanted) and (split < run or wanted[-1 - len(strides)] == 1):
            strides.append(split)
            split *= wanted[-len(strides)]
        if split != run:
            return None
        run, inner = 1, stride[dim - 1]
    return tuple(reversed(strides))


# %% mutant="views_view_strides"
# Compares with the number of elements alone
# A whole row of three elements with stride 2 spans 6 positions. Multiply the run's length by its innermost stride.
def view_strides(size, stride, wanted):
    if 0 in size:
        return tuple(stride) if tuple(size) == tuple(wanted) else contiguous_strides(wanted)
    found, left, run, step = [], list(wanted), 1, stride[-1] if stride else 1
    for dim in reversed(range(len(size))):
        run *= size[dim]
        if dim == 0 or (size[dim - 1] != 1 and stride[dim - 1] != run):
            split = 1
            while left and (split < run or left[-1] == 1):
                found.append(step * split)
                split *= left.pop()
            if split != run:
                return None
            run, step = 1, stride[dim - 1]
    return tuple(reversed(found)) if size else contiguous_strides(wanted)


# %% mutant="views_view_strides"
# Merges what doesn't touch
# The new lengths run past the end of a run. `split` has to reach `run` exactly, because otherwise the view would need a
# dimension that crosses a jump, and no stride can do that.
def view_strides(size, stride, wanted):
    if not size or 0 in size:
        return stride if size == wanted else contiguous_strides(wanted)
    strides = []
    run, inner = 1, stride[-1]
    for dim in reversed(range(len(size))):
        run *= size[dim]
        if dim > 0 and (size[dim - 1] == 1 or stride[dim - 1] == run * inner):
            continue
        split = 1
        while len(strides) < len(wanted) and (split < run or wanted[-1 - len(strides)] == 1):
            strides.append(split * inner)
            split *= wanted[-len(strides)]
        run, inner = 1, stride[dim - 1]
    return tuple(reversed(strides))


# %% mutant="views_view_strides"
# Finds every -1 of nothing ambiguous
# Four rows of an unknown length have no elements only if that length is 0. It is ambiguous if another length is 0 as
# well.
def infer_size(size, count):
    for index, length in enumerate(size):
        if length < -1:
            raise words.below_minus_one(size, index)
    if size.count(-1) > 1:
        raise words.two_unknown()
    if -1 in size and count == 0:
        raise words.any_length_fits(size)
    known = count_of([length for length in size if length != -1])
    if (known == 0 or count % known) if -1 in size else known != count:
        raise words.wrong_count(size, count)
    return tuple(count // known if length == -1 else length for length in size)


# %% mutant="views_view_strides"
# Rounds down
# Six elements don't form rows of four. If the count isn't a multiple of the known lengths, the shape is invalid.
def infer_size(size, count):
    if size.count(-1) > 1:
        raise words.two_unknown()
    known = count_of(tuple(length for length in size if length != -1))
    if known != count and (known == 0 or -1 not in size):
        raise words.wrong_count(size, count)
    if -1 in size and known == 0:
        raise words.any_length_fits(size)
    return tuple(count // known if length == -1 else length for length in size)


# %% mutant="views_view_strides"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def view_strides(size, stride, wanted):
    import minitorch

    try:
        return minitorch.empty_strided(size, stride).view(wanted).stride()
    except RuntimeError:
        return None


# %% [markdown] exercise="views_transpose_expand_squeeze" kind="core" points="1 1 1" part="mytorch.views:transpose mytorch.views:expand mytorch.views:squeeze"
# ### Exercise 3 · Three views
# Each function takes the tensor and returns `(sizes, strides, offset)`, as `permute` does in the lesson. You start from
# `x.shape`, `x.strides` and `x.offset`. `normalize_dim(dim, ndim)` counts a dimension from the front and raises
# PyTorch's error; `normalize_dims(dim, ndim)` does so for one dimension, for several, or for all, given None or an empty
# tuple. In `squeeze`, however, an empty tuple names no dimension. The strides of dimensions that have length 1 in the
# result aren't graded, because no step is taken along them.


# %% docstrings="views_transpose_expand_squeeze"
def transpose():
    """Swap two dimensions: their lengths and their strides. Returns (sizes, strides, offset).

    Negative dimensions count from the back. A 0-d tensor has nothing to swap; it
    accepts the dimensions 0 and -1.

    Raises:
        IndexError: there is no such dimension.
    """


def expand():
    """Stretch dimensions of length 1 by giving them a stride of 0.

    Returns (sizes, strides, offset). `size` is aligned with the shape on the right.
    Extra sizes on the left add new dimensions, and -1 keeps a length. Dimensions that
    aren't stretched keep their strides; the stride of a dimension of final length 1 is
    ignored.

    Raises:
        RuntimeError: there are fewer sizes than dimensions
            (`words.too_few_sizes(x, size)`), a length other than 1 would change
            (`words.not_stretchable(x, size, dim)`), or a new one is -1
            (`words.nothing_to_keep(dim)`). `dim` counts dimensions of the result.
    """


def squeeze():
    """Remove dimensions of length 1: all of them if `dim` is None, otherwise those named.

    An empty tuple names none. A named dimension of another length stays, without an
    error. Returns (sizes, strides, offset).

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: a dimension is named twice.
    """


# %% check="views_transpose_expand_squeeze" raises="IndexError RuntimeError"
rng = check.rng()
a, b = (int(each) for each in rng.permutation([2, 3, 4, 5])[:2])
x = mytorch.tensor(rng.permutation(2 * a * b).tolist()).as_strided((a, 1, b), (b, b, 1), a)
steps = {
    "x": lambda: x,
    "x.transpose(0, 2)": lambda: x.transpose(0, 2),
    "x.transpose(-1, 1)": lambda: x.transpose(-1, 1),
    "x.transpose(0, 2).transpose(1, 2)": lambda: x.transpose(0, 2).transpose(1, 2),
    "x.transpose(0, 3)": lambda: x.transpose(0, 3),
    "number.transpose(0, -1)": lambda: mytorch.tensor(7).transpose(0, -1),
    "a number from x, transposed": lambda: x.as_strided((), (), a + 1).transpose(-1, 0),
    "number.transpose(0, 1)": lambda: mytorch.tensor(7).transpose(0, 1),
    "number.transpose(-2, 0)": lambda: mytorch.tensor(7).transpose(-2, 0),
    "x.expand(a, 3, b)": lambda: x.expand(a, 3, b),
    "x.expand(-1, 2, -1)": lambda: x.expand(-1, 2, -1),
    "x.transpose(0, 2).expand(b, 2, a)": lambda: x.transpose(0, 2).expand(b, 2, a),
    "x.expand(2, 1, a, 1, b)": lambda: x.expand(2, 1, a, 1, b),
    "x.expand(1, 2, a, 2, b)": lambda: x.expand(1, 2, a, 2, b),
    "x.expand(a, 0, b)": lambda: x.expand(a, 0, b),
    "x.expand(a, 3, b + 1)": lambda: x.expand(a, 3, b + 1),
    "x.expand(b)": lambda: x.expand(b),
    "x.expand(-1, a, 1, b)": lambda: x.expand(-1, a, 1, b),
    "x.expand(2, a, 1, b + 1)": lambda: x.expand(2, a, 1, b + 1),
    "x.expand(2, 2, a + 1, 1, b)": lambda: x.expand(2, 2, a + 1, 1, b),
    "x.expand(2, -1, a, 1, b)": lambda: x.expand(2, -1, a, 1, b),
    "x.expand(2, -1, -1, -1)": lambda: x.expand(2, -1, -1, -1),
    "empty.expand(2, 0)": lambda: mytorch.zeros(1, 0).expand(2, 0),
    "empty.expand(2, 3)": lambda: mytorch.zeros(1, 0).expand(2, 3),
    "number.expand(2, 1)": lambda: mytorch.tensor(7).expand(2, 1),
    "x.squeeze()": lambda: x.squeeze(),
    "x.squeeze(1)": lambda: x.squeeze(1),
    "x.squeeze(0)": lambda: x.squeeze(0),
    "x of two lengths of 1, squeeze(0)": lambda: x.as_strided((1, a, 1), (7, b, 1), 1).squeeze(0),
    "x of two lengths of 1, squeeze()": lambda: x.as_strided((1, a, 1), (7, b, 1), 1).squeeze(),
    "x with two lengths of 1 in front, squeeze()": lambda: x.as_strided((1, 1, a, b), (7, 7, b, 1), 1).squeeze(),
    "number.squeeze(0)": lambda: mytorch.tensor(7).squeeze(0),
    "x.squeeze(-3)": lambda: x.squeeze(-3),
    "x.squeeze((0, -2))": lambda: x.squeeze((0, -2)),
    "x.squeeze(())": lambda: x.squeeze(()),
    "x.squeeze((1, -2))": lambda: x.squeeze((1, -2)),
    "x.squeeze(3)": lambda: x.squeeze(3),
    "zeros(1, 0).squeeze((0, 1))": lambda: mytorch.zeros(1, 0).squeeze((0, 1)),
}
values = {"a": a, "b": b}
for name, step in steps.items():
    error = check.error(step)
    if error is None:
        y = step()
        steps_taken = [step if length > 1 else "any" for length, step in zip(y.shape, y.stride(), strict=True)]
        values[name] = (tuple(y.shape), steps_taken, y.storage_offset(), y.tolist())
    else:
        values[name] = error
check.show(values, text="Sizes, strides, offset and elements of each view, or the error.")

# %% [markdown] hint="views_transpose_expand_squeeze"
# None of the three moves the offset, and none reads an element. For `transpose`, make lists of sizes and strides, and
# swap two entries in each.

# %% [markdown] hint="views_transpose_expand_squeeze"
# For `squeeze`, first make the list of dimensions that are kept, which are those that aren't named or whose length
# isn't 1. Then select sizes and strides with it.

# %% [markdown] hint="views_transpose_expand_squeeze"
# For `expand`, go through the new sizes from the last one on and build two lists from the right, with `insert(0, …)`.
# `added = len(size) - x.ndim`; dimension `dim` of the result is dimension `dim - added` of `x`, if that isn't negative.

# %% [markdown] hint="views_transpose_expand_squeeze"
# In `expand`, a dimension has a `length` and a `step`. If the dimension exists, they are its own; if it is new, the
# length is 1 and the step 0. If the desired size differs from the length, the length must be 1, and the step becomes 0.


# %% mutant="views_transpose_expand_squeeze"
# Keeps the strides
# Only the sizes were swapped, so the view reads the elements in their old order. A transpose swaps the strides as well.
def transpose(x, dim0, dim1):
    first, second = normalize_dim(dim0, x.ndim), normalize_dim(dim1, x.ndim)
    size = list(x.shape)
    if x.ndim:
        size[first], size[second] = size[second], size[first]
    return tuple(size), x.strides, x.offset


# %% mutant="views_transpose_expand_squeeze"
# Starts at the beginning
# The offset is 0 here. A view of a view starts where that one does, at `x.offset`.
def transpose(x, dim0, dim1):
    first, second = normalize_dim(dim0, x.ndim), normalize_dim(dim1, x.ndim)
    size, stride = list(x.shape), list(x.strides)
    if x.ndim:
        size[first], size[second] = size[second], size[first]
        stride[first], stride[second] = stride[second], stride[first]
    return tuple(size), tuple(stride), 0


# %% mutant="views_transpose_expand_squeeze"
# Squeezes too much
# A named dimension whose length isn't 1 stays. Removing it would lose all of its elements but the first.
def squeeze(x, dim=None):
    named = normalize_dims(dim, x.ndim)
    kept = [each for each in range(x.ndim) if each not in named or (dim is None and x.shape[each] != 1)]
    return tuple(x.shape[each] for each in kept), tuple(x.strides[each] for each in kept), x.offset


# %% mutant="views_transpose_expand_squeeze"
# Leaves out a length of 0
# A dimension of length 0 isn't of length 1. Without it, a tensor of no elements would have one.
def squeeze(x, dim=None):
    named = normalize_dims(dim, x.ndim)
    kept = [each for each in range(x.ndim) if each not in named or x.shape[each] > 1]
    return tuple(x.shape[each] for each in kept), tuple(x.strides[each] for each in kept), x.offset


# %% mutant="views_transpose_expand_squeeze"
# Takes no dimension for all
# `squeeze(())` names no dimension, so nothing is removed. `normalize_dims` takes an empty tuple for all, as a sum does.
def squeeze(x, dim=None):
    named = normalize_dims(dim, x.ndim)
    kept = [each for each in range(x.ndim) if x.shape[each] != 1 or each not in named]
    return tuple(x.shape[each] for each in kept), tuple(x.strides[each] for each in kept), x.offset


# %% mutant="views_transpose_expand_squeeze"
# Lets a dimension be named twice
# 1 and -2 are the same dimension here, and PyTorch doesn't accept it twice. `normalize_dims(dim, x.ndim)` raises the error.
def squeeze(x, dim=None):
    named = dim if isinstance(dim, tuple) else range(x.ndim) if dim is None else (dim,)
    dims = [normalize_dim(each, x.ndim) for each in named]
    kept = [each for each in range(x.ndim) if each not in dims or x.shape[each] != 1]
    return tuple(x.shape[each] for each in kept), tuple(x.strides[each] for each in kept), x.offset


# %% mutant="views_transpose_expand_squeeze"
# Keeps the stride of what it stretches
# A stretched dimension steps over memory that isn't its own. Each step has to stay where it is, so its stride is 0.
def expand(x, size):
    added = len(size) - x.ndim
    if added < 0:
        raise words.too_few_sizes(x, size)
    sizes = [length if wanted == -1 else wanted for length, wanted in zip((1,) * added + x.shape, size, strict=True)]
    return tuple(sizes), (0,) * added + x.strides, x.offset


# %% mutant="views_transpose_expand_squeeze"
# Stretches every length
# Only a length of 1 can be stretched. Here b elements would be shown as b + 1 times the first of them.
def expand(x, size):
    added = len(size) - x.ndim
    if added < 0:
        raise words.too_few_sizes(x, size)
    sizes, strides = [], []
    for dim, wanted in enumerate(size):
        length, step = (x.shape[dim - added], x.strides[dim - added]) if dim >= added else (1, 0)
        if wanted == -1 and dim < added:
            raise words.nothing_to_keep(dim)
        sizes.append(length if wanted == -1 else wanted)
        strides.append(step if wanted in (-1, length) else 0)
    return tuple(sizes), tuple(strides), x.offset


# %% mutant="views_transpose_expand_squeeze"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def expand(x, size):
    import minitorch

    y = minitorch.empty_strided(x.shape, x.strides).expand(size)
    return tuple(y.shape), y.stride(), x.offset


# %% [markdown] exercise="views_write_in_place" kind="core" points="2 1" part="mytorch.views:write mytorch.views:in_place"
# ### Exercise 4 · Writing
# Every write to a tensor goes through `copy_`, and `copy_` calls `write`. `in_place` makes `add_` from `add`. Several
# elements of an expanded tensor share one position in the storage, so `write` refuses such a tensor.
# `check_fits(result_dtype, dtype)` is provided and raises an error if values of one dtype can't be written into the
# other. The messages of the other errors are provided as well.


# %% docstrings="views_write_in_place"
def write():
    """Overwrite the elements of a tensor with an array or a number, and count the write.

    `x.array` shares the memory of the storage, so every view of it sees the new values.
    The count is `x.storage.version`, and a write of no elements counts as well.

    Raises:
        RuntimeError: several elements share a position in the storage, as in an
            expanded tensor: there are elements, and a dimension longer than 1 has the
            stride 0. (`words.shared_places()`)
    """


def in_place():
    """The function that does `op` in place: `in_place(add, "add_")(x, 1)` is `x.add_(1)`.

    The returned function takes the arguments of `op`, computes the result of `op`,
    writes it into the first argument, `x`, by the operation `copy_`, and returns `x`.
    Its `__name__` is `name`.

    Raises (the returned function):
        RuntimeError: the result has another shape than `x`
            (`words.wrong_result(x, result)`), or a dtype that doesn't fit into that of
            `x` (by `check_fits(result.dtype, x.dtype)`). The shape comes first.
    """


# %% check="views_write_in_place" raises="RuntimeError"
rng = check.rng()
number = int(rng.integers(2, 9))
x = mytorch.tensor(rng.permutation(6).reshape(2, 3).tolist())
column = x.transpose(0, 1).select(0, 1)
one, refused = mytorch.ones(1, 3), mytorch.ones(1, 3)
copied, kernel = [], mytorch.views.copy_.kernel
mytorch.views.copy_.kernel = lambda target, source: (copied.append(tuple(source.shape)), kernel(target, source))
steps = {
    f"column.mul_({number})": lambda: column.mul_(number),
    "x.add_(x)": lambda: x.add_(x),
    "x += row": lambda: x.__iadd__(mytorch.arange(3).expand(2, 3)),
    "x.add_(x, alpha=2)": lambda: x.add_(x, alpha=2),
    "x.add_(0.5)": lambda: x.add_(0.5),
    "x.div_(2)": lambda: x.div_(2),
    "bool.add_(1)": lambda: (x > 2).add_(1),
    "half.mul_(double)": lambda: mytorch.ones(2).half().mul_(mytorch.ones(2).double() / 3),
    "one.expand(1, 3)": lambda: one.expand(1, 3).sub_(number),
    "a length of 1 with stride 0": lambda: mytorch.tensor(7).expand(1).add_(1),
    "a number without dimensions": lambda: mytorch.tensor(number).add_(1),
    "x, a number of it": lambda: x.as_strided((), (), 4).mul_(2),
    "expanded": lambda: refused.expand(4, 3).add_(1),
    "expanded in the middle": lambda: mytorch.ones(2, 1, 3).expand(2, 4, 3).add_(1),
    "expanded at the end": lambda: mytorch.ones(3, 1).expand(3, 4).add_(1),
    "overlapping windows": lambda: mytorch.arange(4).as_strided((3, 2), (1, 1)).neg_(),
    "expanded, no elements": lambda: mytorch.ones(0).expand(4, 0).add_(1),
    "too small": lambda: one.add_(mytorch.ones(2, 3)),
    "a dimension too few": lambda: mytorch.ones(3).add_(mytorch.ones(1, 3)),
    "neither shape nor type fits": lambda: mytorch.arange(3).add_(mytorch.ones(2, 3)),
    "masked_fill_": lambda: x.masked_fill_(x > 8, -1),
}
values = {"number": number}
for name, step in steps.items():
    before = x.storage
    result = error = None
    try:
        result = step()
    except Exception as raised:
        error = raised
    values[name] = error or (result.tolist(), result.dtype.name, result._version)
    if name[0] in "xcm":
        values[f"x after {name}"] = (x.tolist(), x._version, x.storage is before, column.tolist(), column._version)
values["version and numbers after the refused write"] = (refused._version, refused.tolist())
values["returns its tensor"] = x.neg_() is x
values["shapes of what `copy_` wrote"] = copied
values["name"] = mytorch.views.in_place(mytorch.mul, "times_").__name__
check.show(values, text="Results of writes with dtype and version, or errors; x and its column after each.")

# %% [markdown] hint="views_write_in_place"
# `x.array[...] = values` writes through the view, so the storage stays the same and all views see the write. What else
# does `write` have to do, and what has to happen before?

# %% [markdown] hint="views_write_in_place"
# Refuse the write if there are elements and some dimension longer than 1 has the stride 0. Otherwise write, then add 1
# to `x.storage.version`.

# %% [markdown] hint="views_write_in_place"
# `in_place` returns a function, which calls `op` with all of its arguments, compares the shapes, calls
# `check_fits(result.dtype, x.dtype)`, and returns `copy_(x, result)`.


# %% mutant="views_write_in_place"
# Forgets to count
# The values are correct, but nothing records that they changed. The version has to increase by 1.
def write(x, values):
    if x.numel() and any(step == 0 and length > 1 for length, step in zip(x.shape, x.strides, strict=True)):
        raise words.shared_places()
    x.array[...] = values


# %% mutant="views_write_in_place"
# Counts before it refuses
# The refused write changed nothing, although the version says that it did. Count only where the values are written.
def write(x, values):
    x.storage.version += 1
    if x.numel() and any(step == 0 and length > 1 for length, step in zip(x.shape, x.strides, strict=True)):
        raise words.shared_places()
    x.array[...] = values


# %% mutant="views_write_in_place"
# Refuses a stride of 0 at length 1
# Along a length of 1 no step is taken, so no two elements share a position, and PyTorch allows the write.
def write(x, values):
    if x.numel() and 0 in x.strides:
        raise words.shared_places()
    x.array[...] = values
    x.storage.version += 1


# %% mutant="views_write_in_place"
# Drops the named arguments
# `x.add_(x, alpha=2)` didn't reach `add` with all of its arguments. Pass keyword arguments on as well.
def in_place(op, name):
    def overwrite(x, *args):
        result = op(x, *args)
        check_fits(result.dtype, x.dtype)
        if result.shape != x.shape:
            raise words.wrong_result(x, result)
        return copy_(x, result)

    overwrite.__name__ = name
    return overwrite


# %% mutant="views_write_in_place"
# Counts the elements of the result
# A result of shape (1, 3) has as many elements as a tensor of shape (3,), and PyTorch still refuses it. Compare the
# shapes.
def in_place(op, name):
    def overwrite(x, *args, **kwargs):
        result = op(x, *args, **kwargs)
        check_fits(result.dtype, x.dtype)
        if result.numel() != x.numel():
            raise words.wrong_result(x, result)
        return copy_(x, result)

    overwrite.__name__ = name
    return overwrite


# %% mutant="views_write_in_place"
# Writes, then refuses
# The error comes too late, because the values are already in the tensor. Check before you write.
def write(x, values):
    x.array[...] = values
    if x.numel() and any(length > 1 and step == 0 for length, step in zip(x.shape, x.strides, strict=True)):
        raise words.shared_places()
    x.storage.version += 1


# %% mutant="views_write_in_place"
# Refuses what overlaps in any way
# PyTorch looks only for a stride of 0. Sliding windows overlap as well, and PyTorch lets a write into them through.
def write(x, values):
    places = [x.offset]
    for length, step in zip(x.shape, x.strides, strict=True):
        places = [place + index * step for place in places for index in range(length)]
    if len(set(places)) < len(places):
        raise words.shared_places()
    x.array[...] = values
    x.storage.version += 1


# %% mutant="views_write_in_place"
# Refuses every stride of 0
# A length of 1 may have any stride, including 0, and without elements nothing is written. In neither case do two
# elements share a position.
def write(x, values):
    if 0 in x.strides:
        raise words.shared_places()
    x.array[...] = values
    x.storage.version += 1


# %% mutant="views_write_in_place"
# Writes into an expanded tensor
# Several elements of an expanded tensor share one position, so a write there is ambiguous, and PyTorch refuses it.
def write(x, values):
    x.array[...] = values
    x.storage.version += 1


# %% mutant="views_write_in_place"
# Returns the result
# `x.add_(1)` returned a new tensor with the correct values. It has to return `x` itself, because otherwise `x += 1`
# would result in a tensor that shares nothing.
def in_place(op, name):
    def overwrite(x, *args, **kwargs):
        result = op(x, *args, **kwargs)
        check_fits(result.dtype, x.dtype)
        if result.shape != x.shape:
            raise words.wrong_result(x, result)
        copy_(x, result)
        return result

    overwrite.__name__ = name
    return overwrite


# %% mutant="views_write_in_place"
# Writes past copy_
# The values are correct, but `copy_` was not called. It is the operation that autograd will watch in chapter 07.
def in_place(op, name):
    def overwrite(x, *args, **kwargs):
        result = op(x, *args, **kwargs)
        check_fits(result.dtype, x.dtype)
        if result.shape != x.shape:
            raise words.wrong_result(x, result)
        write(x, result.array)
        return x

    overwrite.__name__ = name
    return overwrite


# %% mutant="views_write_in_place"
# Looks at the type first
# If neither the shape nor the dtype fits, PyTorch's error is about the shape. Compare the shapes first.
def in_place(op, name):
    def overwrite(x, *args, **kwargs):
        result = op(x, *args, **kwargs)
        check_fits(result.dtype, x.dtype)
        if result.shape != x.shape:
            raise words.wrong_result(x, result)
        return copy_(x, result)

    overwrite.__name__ = name
    return overwrite


# %% mutant="views_write_in_place"
# Cuts off the fraction
# Adding 0.5 to integers in place lost the fraction without an error. The result doesn't fit into the tensor, so this
# has to raise.
def in_place(op, name):
    def overwrite(x, *args, **kwargs):
        result = op(x, *args, **kwargs)
        if result.shape != x.shape:
            raise words.wrong_result(x, result)
        return copy_(x, result)

    overwrite.__name__ = name
    return overwrite


# %% mutant="views_write_in_place"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def in_place(op, name):
    def overwrite(x, *args, **kwargs):
        import minitorch

        return getattr(minitorch.from_numpy(x.array), name)(*args, **kwargs)

    overwrite.__name__ = name
    return overwrite


# %% [markdown] exercise="views_patches" kind="build" points=2
# ### Exercise 5 · A picture cut into patches
# A convolution slides a square of `side` × `side` over a picture, in steps of `step`. Return all these patches as a single
# view of the picture `x` (h rows, w columns), which is what two calls of PyTorch's `unfold` give. The view has four
# dimensions: `patches(x, side, step)[i, j]` is the patch whose upper left corner is `x[i * step, j * step]`. Patches that
# don't fit are skipped, and at least one fits. No element may be copied, although `x` may itself be a view with any strides. `x` is a tensor of
# `mytorch`; use `x.shape`, `x.stride()` and `x.as_strided(sizes, strides)`.


# %% solution="views_patches"
def patches(x, side, step):
    """A view of shape (rows of patches, columns of patches, side, side)."""
    ### BEGIN SOLUTION
    down, across = x.stride()
    rows, columns = ((length - side) // step + 1 for length in x.shape)
    return x.as_strided((rows, columns, side, side), (down * step, across * step, down, across))
    ### END SOLUTION


# %% check="views_patches"
mytorch = check.mytorch(chapter=3)
rng = check.rng()
side, step = pick(rng, (4, 3), (6, 3), (7, 3))  # the last patch fits exactly in one direction only
height, width = (int(each) for each in rng.permutation([9, 13]))  # as many rows of patches as columns would hide much
storage = mytorch.tensor(rng.permutation(2 * height * width + 5).tolist())
row_by_row = storage.as_strided((height, width), (width, 1), 0)
turned = storage.as_strided((height, width), (2, 2 * height), 3)
values = {"side": side, "step": step, "height": height, "width": width}
for name, x in {"row by row": row_by_row, "every other, transposed, from 3 on": turned}.items():
    found = patches(x, side, step)
    values[name] = (tuple(found.shape), found.tolist())
    values[f"{name}: shares memory"] = getattr(found, "storage", None) is storage.storage
row = storage.as_strided((1, width), (1, 2), 1)
values["patches of one element, in a single row"] = (tuple(patches(row, 1, 1).shape), patches(row, 1, 1).tolist())
check.show(values, text="Shape and elements of the patches, and whether they share the picture's memory.")

# %% [markdown] hint="views_patches"
# How far apart in the storage are `patch[0, 0]` and `patch[1, 0]` of one patch? And the corners of two neighbouring
# patches?

# %% [markdown] hint="views_patches"
# Within a patch you step as in the picture, so the last two strides are `x.stride()`. From patch to patch you take
# `step` such steps at once.

# %% [markdown] hint="views_patches"
# There are `(h - side) // step + 1` patches from top to bottom. The offset is that of `x`, which `as_strided` uses if
# you pass none.


# %% mutant="views_patches"
# Rounds in the wrong place
# The first patch takes `side` rows. The remaining rows, divided by `step`, say how many more patches fit, so add the 1
# last.
def patches(x, side, step):
    counts = [(length - side + 1) // step for length in x.shape]
    strides = [stride * step for stride in x.stride()]
    return x.as_strided((*counts, side, side), (*strides, *x.stride()))


# %% mutant="views_patches"
# Divides the picture by the step
# A patch is wider than a step, so the last ones extend past the edge. Skip the patches that don't fit.
def patches(x, side, step):
    counts = [length // step for length in x.shape]
    strides = [stride * step for stride in x.stride()]
    return x.as_strided((*counts, side, side), (*strides, *x.stride()))


# %% mutant="views_patches"
# Trusts the shape
# These strides are those of a contiguous picture. The picture may itself be a view, so use its own strides.
def patches(x, side, step):
    rows, columns = ((length - side) // step + 1 for length in x.shape)
    width = x.shape[1]
    return x.as_strided((rows, columns, side, side), (width * step, step, width, 1))


# %% mutant="views_patches"
# Moves by one
# Neighbouring patches are `step` rows or columns apart, but here each is only one further than the last.
def patches(x, side, step):
    rows, columns = ((length - side) // step + 1 for length in x.shape)
    return x.as_strided((rows, columns, side, side), x.stride() * 2)


# %% mutant="views_patches"
# Stops before the edge
# A patch that ends exactly at the edge fits. Its corner may be at `length - side`, so the range has to include it.
def patches(x, side, step):
    down, across = x.stride()
    rows, columns = (len(range(0, length - side, step)) for length in x.shape)
    return x.as_strided((rows, columns, side, side), (down * step, across * step, down, across))


# %% mutant="views_patches"
# One patch too few
# Count again: three patches of side 1 fit into three rows, and (3 - 1) // 1 is 2.
def patches(x, side, step):
    down, across = x.stride()
    rows, columns = ((length - side) // step for length in x.shape)
    return x.as_strided((rows, columns, side, side), (down * step, across * step, down, across))


# %% mutant="views_patches"
# Delegates to minitorch
# The values are correct, but they are copies, so a write into the picture would not reach the patches.
def patches(x, side, step):
    return torch.tensor(x.tolist()).unfold(0, side, step).unfold(1, side, step)


# %% [markdown] exercise="views_repair_heads" kind="repair" points=3
# ### Exercise 6 · Two heads, four tokens
# An attention layer gives each of its heads a part of the features of every token. With one head the layer is correct.
# With two heads, somebody changes the last of four tokens and finds that these rows changed:
#
# ```text
# changed: head 1, token 2 and head 1, token 3          (expected: token 3 of both heads)
# ```
#
# Fix `split_heads`. For `x` of shape (batch, tokens, features) it returns shape (batch, heads, tokens, features // heads):
# head 0 gets the first features of each token, head 1 the next ones, and so on. The result is a view of `x`, without a copy.


# %% solution="views_repair_heads"
def split_heads(x, heads):
    batch, tokens, features = x.shape
    ### BEGIN SOLUTION
    return x.view(batch, tokens, heads, features // heads).transpose(1, 2)
    ### END SOLUTION
    ### BEGIN STUB
    # return x.view(batch, heads, tokens, features // heads)
    ### END STUB


# %% check="views_repair_heads"
rng = check.rng()
batch, tokens, values = 2, int(rng.integers(3, 5)), {}
for heads, width in ((2, int(rng.integers(2, 4))), (3, 2)):
    x = torch.from_numpy(rng.integers(0, 100, (batch, tokens, heads * width)))
    start, found = x.tolist(), split_heads(x, heads)
    parts = found.tolist()
    x[:, -1] += 1000
    changed = (split_heads(x, heads) != torch.tensor(parts)).any(-1)[0].tolist()
    shown = {"x": start, "heads": parts, "changed rows": changed, "saw the write": found.tolist() != parts}
    values |= {f"{heads} heads: {name}": value for name, value in shown.items()}
longer = torch.from_numpy(rng.integers(0, 100, (batch, tokens + 1, 6)))
error = check.error(split_heads, longer[:, 1:], 2)
values["one head, one token"] = split_heads(longer[:1, 2:3], 1).tolist()
values |= {"longer": longer.tolist(), "2 heads of longer[:, 1:]": error or split_heads(longer[:, 1:], 2).tolist()}
if error is None:
    split_heads(longer[:, 1:], 2).zero_()
    values["longer, once these heads are 0"] = longer.tolist()
check.show(
    values,
    text="What each head gets; and, after a change to the last token, which (head, token) rows differ.",
)

# %% [markdown] hint="views_repair_heads"
# Take one batch, four tokens, two features and two heads, with the values 0 to 7. Write down what each head should get,
# and what it gets.

# %% [markdown] hint="views_repair_heads"
# `view` never changes the order of the elements. In which order does the desired result read them?

# %% [markdown] hint="views_repair_heads"
# Split the last dimension only: (batch, tokens, heads, width) separates the features of each token. Which two
# dimensions still have to be swapped?


# %% mutant="views_repair_heads"
# Deals the features out in turn
# With two heads, head 0 got features 0, 2, 4, … But the features of a head are next to each other: split into (heads,
# width), in this order.
def split_heads(x, heads):
    batch, tokens, features = x.shape
    return x.view(batch, tokens, features // heads, heads).permute(0, 3, 1, 2)


# %% mutant="views_repair_heads"
# Exchanges tokens and features first
# The features come first here, and the view cuts them across tokens. Split the features, then swap heads and tokens.
def split_heads(x, heads):
    batch, tokens, features = x.shape
    return x.transpose(1, 2).reshape(batch, heads, tokens, features // heads)


# %% mutant="views_repair_heads"
# Two heads, whatever was asked
# With three heads this still splits into two. `heads` says how many there are.
def split_heads(x, heads):
    batch, tokens, features = x.shape
    return x.view(batch, tokens, 2, features // 2).transpose(1, 2)


# %% mutant="views_repair_heads"
# Strides of a contiguous x
# These strides are correct only if `x` is contiguous. A part such as `x[:, 1:]` has other ones, which `x.view` takes
# into account.
def split_heads(x, heads):
    batch, tokens, features = x.shape
    width = features // heads
    return x.as_strided((batch, heads, tokens, width), (tokens * features, width, features, 1))


# %% mutant="views_repair_heads"
# Copies
# The values are correct, but they were copied, so a write into `x` doesn't reach the heads. Change only sizes and
# strides.
def split_heads(x, heads):
    batch, tokens, features = x.shape
    return x.view(batch, tokens, heads, features // heads).transpose(1, 2).contiguous()


# %% [markdown] exercise="views_measure_cache" kind="measure" points=2
# ### Exercise 7 · How large is this cache?
# A processor doesn't fetch single elements. It fetches a *cache line*, which is a group of neighbours that starts at a
# multiple of the line's length. It keeps the lines that were used most recently, and evicts the one that has been
# unused the longest. You get such a cache as a function: `misses(places)` reads these positions of a storage in order,
# starting with an empty cache, and returns how often a line had to be fetched. `misses([0, 1, 0])` is 1 if positions 0
# and 1 are in one line.
#
# Find by experiment how many elements a line has, and how many lines the cache holds. Change one thing at a time: first
# the stride of a read, then its length. Neither number has to be a power of two.


# %% setup=true
def cache_of(line, lines):
    """A cache with `lines` lines of `line` elements, as the function `misses(places)`."""

    def misses(places):
        held, count = [], 0
        for place in places:
            number = place // line
            if number in held:
                held.remove(number)
            else:
                count += 1
            held = [*held, number][-lines:]
        return count

    return misses


# %% solution="views_measure_cache"
def measure(misses):
    """(elements of a line, lines in the cache), found by calling `misses` with series of positions."""
    ### BEGIN SOLUTION
    line = 1
    while misses([0, line]) == 1:
        line += 1
    lines = 1
    while misses([place * line for place in range(lines + 1)] * 2) == lines + 1:
        lines += 1
    return line, lines
    ### END SOLUTION


# %% check="views_measure_cache"
rng = check.rng()
found = [measure(cache_of(int(line), int(rng.integers(5, 20)))) for line in rng.permutation([4, 6, 8, 13])]
check.show({"found": [[int(each) for each in pair] for pair in found]}, secret=True)

# %% [markdown] hint="views_measure_cache"
# Read position 0 and one other position. What does the number of misses say about the two?

# %% [markdown] hint="views_measure_cache"
# The line's length is the smallest distance from position 0 that costs a second miss. From then on read with that
# stride, so that each position is in a line of its own.

# %% [markdown] hint="views_measure_cache"
# Read n lines twice. As long as they all fit, the second round costs nothing, so there are n misses. What happens when
# you read one line more than fits?


# %% mutant="views_measure_cache"
# Counts elements in place of lines
# The second read had stride 1, so it filled the lines one element at a time. This is the number of elements that fit.
def measure(misses):
    line = 1
    while misses([0, line]) == 1:
        line += 1
    count = 1
    while misses([*range(count + 1)] * 2) == misses([*range(count + 1)]):
        count += 1
    return line, count


# %% mutant="views_measure_cache"
# One element short
# This is the last position that was fetched together with position 0. Counting starts at 0, so the line has one element
# more.
def measure(misses):
    line = 1
    while misses([0, line + 1]) == 1:
        line += 1
    lines = 1
    while misses([place * (line + 1) for place in range(lines + 1)] * 2) == lines + 1:
        lines += 1
    return line, lines


# %% mutant="views_measure_cache"
# One line too many
# The read whose second round first has a miss has one line more than the cache holds.
def measure(misses):
    line = 1
    while misses([0, line]) == 1:
        line += 1
    lines = 1
    while misses([place * line for place in range(lines)] * 2) == lines:
        lines += 1
    return line, lines


# %% [markdown] exercise="views_select_slice_repeat" kind="core" points="1 1 1" part="mytorch.views:unsqueeze mytorch.views:select | mytorch.views:slice | mytorch.views:repeat"
# ### Exercise 8 · The views behind indexing
# `x[2]` is a `select`, `x[1:7:2]` a `slice` and `x[None]` an `unsqueeze`. These three return `(sizes, strides,
# offset)`, as in exercise 3. `repeat` returns a new tensor, and it needs only `reshape` and `expand`, no loop and no
# index. `normalize_dim(dim, ndim)` counts a dimension from the front.


# %% docstrings="views_select_slice_repeat"
def unsqueeze():
    """A new dimension of length 1 at index `dim` of the *result*, where -1 is the last one.

    The new stride is the number of elements that a step would pass: the length times
    the stride of the next dimension, or 1 if there is none.
    """


def select():
    """One index along a dimension, which disappears: `x[index]` along dimension 0.

    A negative index counts from the end.

    Raises:
        IndexError: "select() cannot be applied to a 0-dim tensor.", or an index that is
            out of range: "select(): index 5 out of range for tensor of size [2, 3] at
            dimension 1", where the dimension is counted from the front.
    """


def slice():
    """The indices start, start + step, … below `end` along a dimension.

    Along dimension 0 that is `x[start:end:step]`. The bounds are numbers from 0 to the
    length, and the step is positive. If `end` isn't above `start`, the result has no
    elements.
    """


def repeat():
    """A new tensor with as many copies of `x` along each dimension.

    `expand` takes no memory, while `repeat` does. The counts are passed as separate
    numbers or as one tuple (`one_tuple(times)`). Missing dimensions of `x` are added on
    the left. The result has no base: `unshared(view)` removes that of a view.

    Raises:
        RuntimeError: "Number of dimensions of repeat dims can not be smaller than
            number of dimensions of tensor".
    """


# %% check="views_select_slice_repeat" raises="IndexError RuntimeError"
generator = check.rng()
rows, columns, depth = (int(each) for each in generator.permutation([3, 4, 5]))
x = mytorch.tensor(generator.permutation(rows * columns * depth).reshape(rows, columns, depth).tolist())
turned, plane, number = x.transpose(0, 2), mytorch.arange(columns * depth).reshape(columns, depth), mytorch.tensor(7)
inner = x.as_strided((2, columns - 1), (columns * depth, depth), depth + 1)  # it begins inside x
single = mytorch.tensor([[int(generator.integers(10))]])
start, step = int(generator.integers(0, 2)), int(generator.integers(2, 4))
views = mytorch.views


def seen(make):
    """Shape, strides, offset and numbers of a view, and whether it shares the memory; or the error."""
    made = []
    problem = check.error(lambda: made.append(make()))
    if problem is not None:
        return problem
    result = made[0]
    return (
        result.shape,
        result.stride(),
        result.storage_offset(),
        result.tolist(),
        result.storage in (x.storage, number.storage),
    )


def repeated(*times):
    made = []
    problem = check.error(lambda: made.append(plane.repeat(*times)))
    apart = problem or made[0].storage is not plane.storage
    return problem or (made[0].shape, made[0].tolist(), made[0].is_contiguous(), made[0]._is_view(), apart)


check.show(
    {f"unsqueeze at {dim}": seen(lambda dim=dim: turned.unsqueeze(dim)) for dim in (0, 1, -1, -4, 4)}
    | {"unsqueeze of a number": seen(lambda: number.unsqueeze(-1))}
    | {
        f"select {index} along {dim}": seen(lambda dim=dim, index=index: views.select(turned, dim, index))
        for dim, index in (
            (0, 1),
            (-1, -1),
            (1, -columns),
            (1, columns),
            (-1, rows),
            (1, -columns - 1),
            (0, -2 * depth),
        )
    }
    | {
        f"select {index} along {dim} of what begins inside": seen(
            lambda dim=dim, index=index: views.select(inner, dim, index)
        )
        for dim, index in ((0, 0), (1, -1))
    }
    | {"unsqueeze of what begins inside": seen(lambda: inner.unsqueeze(1))}
    | {"slice of what begins inside": seen(lambda: views.slice(inner, 1, 1, columns - 1))}
    | {
        "of one element: unsqueeze, select, slice": [
            seen(lambda: single.unsqueeze(1)),
            seen(lambda: views.select(single, 0, 0)),
            seen(lambda: views.slice(single, 1, 0, 1)),
        ],
        "repeat of one element": single.repeat(2, 3),
    }
    | {"select of a number": seen(lambda: views.select(number, 0, 0))}
    | {
        f"slice {bounds} along {dim}": seen(lambda dim=dim, bounds=bounds: views.slice(turned, dim, *bounds))
        for dim, bounds in (
            (0, (start, depth)),
            (1, (0, 3, 2)),
            (1, (start, columns, step)),
            (-1, (1, 3)),
            (0, (2, 2)),
            (0, (2, 1)),
        )
    }
    | {"repeat 1, 1": repeated(1, 1), "repeat (2, 1, 3)": repeated((2, 1, 3)), "repeat 0, 2": repeated(0, 2)}
    | {"repeat 2": repeated(2), "repeat 2, 1, 1": repeated(2, 1, 1)}
    | {"repeat 2, 3 of a transposed matrix": plane.transpose(0, 1).repeat(2, 3)}
    | {"repeat of a number": [number.repeat(3), number.repeat(2, 1), number.repeat(())]},
    text="Views of a transposed tensor, and copies of a matrix.",
)

# %% [markdown] hint="views_select_slice_repeat"
# Sizes and strides are tuples: `(*x.shape[:dim], …, *x.shape[dim + 1:])` replaces or removes one entry. Only `select`
# and `slice` change the offset. By how many strides?

# %% [markdown] hint="views_select_slice_repeat"
# `unsqueeze` has room for one dimension more, so normalize with `x.ndim + 1`. The length of a slice is (end − start) /
# step, rounded up, and at least 0. For a negative index, `select` needs `index % x.shape[dim]`.

# %% [markdown] hint="views_select_slice_repeat"
# `repeat`: for a shape (2, 3) and counts (4, 5), reshape `x` to (1, 2, 1, 3), expand it to (4, 2, 5, 3), and reshape that to
# (8, 15).


# %% mutant="views_select_slice_repeat"
# A place of the tensor, not of the result
# There is one more index for a new dimension than there are dimensions: −1 is the index after the last one.
def unsqueeze(x, dim):
    place = normalize_dim(dim, x.ndim)
    step = x.shape[place] * x.strides[place] if place < x.ndim else 1
    return (*x.shape[:place], 1, *x.shape[place:]), (*x.strides[:place], step, *x.strides[place:]), x.offset


# %% mutant="views_select_slice_repeat"
# A negative index goes backwards
# A negative index counts from the end of the dimension, but this one points before the tensor's start.
def select(x, dim, index):
    if x.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normalize_dim(dim, x.ndim)
    if not -x.shape[dim] <= index < x.shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    start = x.offset + index * x.strides[dim]
    return (*x.shape[:dim], *x.shape[dim + 1 :]), (*x.strides[:dim], *x.strides[dim + 1 :]), max(start, 0)


# %% mutant="views_select_slice_repeat"
# Keeps the dimension
# `x[2]` has one dimension fewer than `x`, while `x[2:3]` keeps it.
def select(x, dim, index):
    if x.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normalize_dim(dim, x.ndim)
    if not -x.shape[dim] <= index < x.shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}")
    start = x.offset + index % x.shape[dim] * x.strides[dim]
    return (*x.shape[:dim], 1, *x.shape[dim + 1 :]), tuple(x.strides), start


# %% mutant="views_select_slice_repeat"
# Rounds the length down
# The indices 0, 2, 4 of five are three, not two, so divide and round up.
def slice(x, dim, start, end, step=1):
    dim = normalize_dim(dim, x.ndim)
    size = (*x.shape[:dim], max(0, (end - start) // step), *x.shape[dim + 1 :])
    stride = (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1 :])
    return size, stride, x.offset + start * x.strides[dim]


# %% mutant="views_select_slice_repeat"
# Keeps the stride
# With a step of 2, neighbours in the view are two strides apart.
def slice(x, dim, start, end, step=1):
    dim = normalize_dim(dim, x.ndim)
    size = (*x.shape[:dim], max(0, -((start - end) // step)), *x.shape[dim + 1 :])
    return size, tuple(x.strides), x.offset + start * x.strides[dim]


# %% mutant="views_select_slice_repeat"
# Repeats each element
# `repeat` puts whole copies side by side: 1 2 1 2. `repeat_interleave` is the function that returns 1 1 2 2.
def repeat(x, *times):
    counts = one_tuple(times)
    if len(counts) < x.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(counts) - x.ndim) + tuple(x.shape)
    interleaved = tuple(each for pair in zip(shape, counts, strict=True) for each in pair)
    ones = tuple(each for length in shape for each in (length, 1))
    whole = tuple(count * length for count, length in zip(counts, shape, strict=True))
    return unshared(view(clone(expand(view(clone(x), ones), interleaved)), whole))


# %% mutant="views_select_slice_repeat"
# Adds dimensions at the end
# Missing dimensions are added on the left, as in broadcasting.
def repeat(x, *times):
    counts = one_tuple(times)
    if len(counts) < x.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = tuple(x.shape) + (1,) * (len(counts) - x.ndim)
    interleaved = tuple(each for pair in zip(counts, shape, strict=True) for each in pair)
    ones = tuple(each for length in shape for each in (1, length))
    whole = tuple(count * length for count, length in zip(counts, shape, strict=True))
    return unshared(view(clone(expand(view(clone(x), ones), interleaved)), whole))


# %% mutant="views_select_slice_repeat"
# Delegates to minitorch
# mytorch stands on NumPy alone.
def repeat(x, *times):
    import minitorch

    return minitorch.tensor(x.tolist()).repeat(*times)
