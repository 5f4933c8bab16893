# %% [markdown]
# # Exercises · Broadcasting, indexing and joining
# `torch` is `minitorch`. In exercises 2 to 5 you write parts of `mytorch`, and what passes there goes into
# `my/mytorch`. Your functions run inside a file of `mytorch`, so the names that a docstring mentions are available.
# Import anything else in the cell.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import os
import sys

import minitorch as torch

GIVEN = (*(os.path.dirname(each.__file__) for each in (os, np, torch)), "<frozen", "<string>")


def lines_run(function, *arguments):
    """How many lines of your code run in a call; those of Python's, NumPy's and minitorch's files don't count."""
    count, before = 0, sys.gettrace()

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename.startswith(GIVEN):
            return None
        count += 1
        return trace

    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return count


# %% [markdown] exercise="brackets_predict_writes" kind="predict" points=1
# ### Exercise 1 · Which writes arrive?
# ```python
# t = torch.zeros(3, 4)
# t[[0]][:, 0] = 1
# t[:, [1]] += 10
# t[1:][:, 2] = 100
# ```
# What is `int(t.sum())`? Set `prediction` to the number. Each write that arrives leaves a digit of its own in it.

# %% solution="brackets_predict_writes"
### BEGIN SOLUTION
prediction = 230
### END SOLUTION

# %% check="brackets_predict_writes"
check.show({"sum": int(prediction)}, secret=True)

# %% [markdown] hint="brackets_predict_writes"
# Which brackets are read, and which are written? Python writes through the last pair only.

# %% [markdown] hint="brackets_predict_writes"
# `x[i] += v` does three things: it reads `x[i]`, adds to the result, and then writes the sum with `x[i] = …`.

# %% [markdown] hint="brackets_predict_writes"
# Line by line: is `t[[0]]` a view? Does `+=` end with a write into `t`? Is `t[1:]` a view?

# %% mutant="brackets_predict_writes"
# All three arrive
# `t[[0]]` is indexed with a list, so it is a copy. The 1 was written into that copy, to which nothing refers any more.
prediction = 231

# %% mutant="brackets_predict_writes"
# The second line is lost
# `t[:, [1]]` alone would be a copy. But `+=` ends with an assignment to `t[:, [1]]`, which writes into `t`: three tens.
prediction = 200

# %% mutant="brackets_predict_writes"
# The first arrives, the second is lost
# It is the other way round. `t[[0]]` is read, which makes a copy, and the copy is written, while `+=` ends with a write
# into `t`.
prediction = 201

# %% mutant="brackets_predict_writes"
# The third line is lost
# `t[1:]` is a slice, so it is a view, and a write into a view of a view reaches `t`: two hundreds.
prediction = 30

# %% mutant="brackets_predict_writes"
# The first arrives, the third is lost
# It is the other way round. Indexing with a list makes a copy, while a slice makes a view, and a write into a view
# arrives.
prediction = 31

# %% mutant="brackets_predict_writes"
# Nothing arrives
# The first line is lost, as you say. But `t[1:]` is a view, and `+=` ends with an assignment to `t[:, [1]]`.
prediction = 0

# %% mutant="brackets_predict_writes"
# Only the first arrives
# That one is lost, because `t[[0]]` is a copy. The others arrive, because `+=` ends with an assignment, and `t[1:]` is
# a view.
prediction = 1

# %% mutant="brackets_predict_writes"
# One element each
# These are the writes that arrive. But `:` covers every row, so the second line writes three tens, and the third two
# hundreds.
prediction = 110

# %% mutant="brackets_predict_writes"
# All arrive, in one element each
# The first line is lost, because `t[[0]]` is a copy. And `:` covers every row, so three tens and two hundreds arrive.
prediction = 111

# %% [markdown] exercise="broadcast_shape_rule" kind="core" points="2 1" part="mytorch.broadcasting:broadcast_shapes mytorch.broadcasting:meeting_shape"
# ### Exercise 2 · The broadcast shape
# You write the rule of broadcasting twice: for any number of shapes, and for the two operands of an operation. The
# second function may use the first one, but their errors differ.
#
# `broadcast_shapes((2, 1), (3,))` is `Size([2, 3])`. `meeting_shape((3, 2), (2, 3))` raises "The size of tensor a (2)
# must match the size of tensor b (3) at non-singleton dimension 1". PyTorch's error messages are provided in `words`,
# and you decide when to raise them. The docstrings give the details.


# %% docstrings="broadcast_shape_rule"
def broadcast_shapes():
    """The shape that these shapes broadcast to, as a `Size`; `Size(())` if there are none.

    Shapes are aligned on the right, and missing dimensions on the left count as 1. In
    each dimension the lengths are equal, or 1; the result has the length that isn't 1.

    Raises:
        RuntimeError: two lengths differ and neither is 1. Take the shapes one by one,
            and each from its last dimension, which is -1, to its first. The first
            length that doesn't fit is reported by
            `words.not_broadcastable(shapes, number, dim, result)`. `result` is the list
            of lengths so far; it has as many dimensions as the longest of all the
            shapes, and starts with ones.
    """


def meeting_shape():
    """`broadcast_shapes(a, b)` with the error of an operation on two tensors.

    Raises:
        RuntimeError: `words.operands_differ(a, b, dim)`, where `dim` is below 0. If
            several dimensions don't fit, it names the last one.
    """


# %% check="broadcast_shape_rule" raises="RuntimeError"
a, b, c, d = (int(length) for length in check.rng().permutation([2, 3, 4, 5]))
shapes, meet = mytorch.broadcast_shapes, mytorch.broadcasting.meeting_shape
check.show(
    {
        "fit": [(a, 1, c), (b, 1)],
        "broadcast": [shapes((a, 1, c), (b, 1)), meet((a, 1, c), (b, 1)), meet((b, 1), (a, 1, c))],
        "three shapes, one, none": [shapes((a, 1), (1, b), (c, 1, 1)), shapes((a, b)), shapes()],
        "equal lengths": [shapes((a, b), (b,)), meet((a, b), (a, b)), meet((b,), (a, b)), meet((), ())],
        "types": [type(made).__name__ for made in (shapes(), shapes((a, b)), shapes((a, 1), (b,)), meet((a, 1), (b,)))],
        "a length of 0": [shapes((a, 1), (0,)), meet((0,), (a, 1))],
        "a length of 0 that doesn't fit": [check.error(shapes, (0,), (a,)), check.error(meet, (0,), (a,))],
        "one doesn't fit": [check.error(shapes, (a, b), (a,)), check.error(meet, (a, b), (a,))],
        "the first of two or three doesn't fit": [
            check.error(meet, (a, b), (c, b)),
            check.error(meet, (a, b, c), (d, b, c)),
        ],
        "two don't fit": [check.error(shapes, (a, b), (c, d)), check.error(meet, (a, b), (c, d))],
        "the shorter first": [check.error(shapes, (b,), (c, d)), check.error(meet, (c, 1), (a, b, 1))],
        "the third": check.error(shapes, (1, a), (b, 1), (c, a)),
        "before the longest": check.error(shapes, (a,), (b,), (c, d, a)),
        "an operation": [
            (mytorch.zeros(a, 1) + mytorch.zeros(b)).shape,
            check.error(mytorch.zeros(a).add, mytorch.ones(b)),
        ],
    },
    text="What shapes broadcast to, and the errors of those that don't fit.",
)

# %% [markdown] hint="broadcast_shape_rule"
# Negative numbers count dimensions from the right, where shapes are aligned. What does -1 refer to in a shape of length
# 3? And in one of length 1?

# %% [markdown] hint="broadcast_shape_rule"
# Begin with ones, as many as the longest shape has dimensions. For each shape, and `dim` in -1, -2, …: a 1 in the
# result takes the new length, while any other length must be equal to the new one, unless the new one is 1.

# %% [markdown] hint="broadcast_shape_rule"
# `range(-1, -1 - len(shape), -1)` counts the dimensions of a shape from the right. In `meeting_shape`, go over the
# dimensions that both shapes have, raise at the first pair that differs and contains no 1, and return
# `broadcast_shapes(a, b)` at the end.


# %% mutant="broadcast_shape_rule"
# Aligned at the left
# Shapes are aligned on the right, but yours compares the first lengths with each other.
def broadcast_shapes(*shapes):
    result = [1] * max(map(len, shapes), default=0)
    for number, shape in enumerate(shapes):
        for dim in range(len(shape)):
            if result[dim] == 1:
                result[dim] = shape[dim]
            elif shape[dim] not in (1, result[dim]):
                raise words.not_broadcastable(shapes, number, dim, result)
    return Size(result)


# %% mutant="broadcast_shape_rule"
# As long as the longest so far
# The list in the error has as many dimensions as the longest of *all* shapes, including those that come later.
def broadcast_shapes(*shapes):
    result = []
    for number, shape in enumerate(shapes):
        result = [1] * (len(shape) - len(result)) + result
        for dim in range(-1, -1 - len(shape), -1):
            if result[dim] == 1:
                result[dim] = shape[dim]
            elif shape[dim] not in (1, result[dim]):
                raise words.not_broadcastable(shapes, number, dim, result)
    return Size(result)


# %% mutant="broadcast_shape_rule"
# A length of 0 fits everything
# 0 and 3 differ, and neither is 1. Only a 1 is stretched, so check whether one of the lengths is 1.
def meeting_shape(a, b):
    for dim in range(-1, -1 - min(len(a), len(b)), -1):
        if a[dim] != b[dim] and min(a[dim], b[dim]) > 1:
            raise words.operands_differ(a, b, dim)
    return broadcast_shapes(a, b)


# %% mutant="broadcast_shape_rule"
# Takes the larger length
# A length of 1 stretches to the other length, which may be 0, although 0 is smaller.
def broadcast_shapes(*shapes):
    result = [1] * max(map(len, shapes), default=0)
    for number, shape in enumerate(shapes):
        for dim in range(-1, -1 - len(shape), -1):
            if 1 not in (result[dim], shape[dim]) and result[dim] != shape[dim]:
                raise words.not_broadcastable(shapes, number, dim, result)
            result[dim] = max(result[dim], shape[dim])
    return Size(result)


# %% mutant="broadcast_shape_rule"
# Names the first dimension
# If several dimensions don't fit, PyTorch names the last one, because it begins on the right, where the shapes are
# aligned.
def meeting_shape(a, b):
    for dim in range(-min(len(a), len(b)), 0):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            raise words.operands_differ(a, b, dim)
    return broadcast_shapes(a, b)


# %% mutant="broadcast_shape_rule"
# Compares from the left
# Two operands are aligned on the right, like any shapes, but yours compares their first lengths with each other.
def meeting_shape(a, b):
    for place, (one, other) in enumerate(zip(a, b, strict=False)):
        if one != other and 1 not in (one, other):
            raise words.operands_differ(a, b, place - max(len(a), len(b)))
    return broadcast_shapes(a, b)


# %% mutant="broadcast_shape_rule"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def broadcast_shapes(*shapes):
    import minitorch

    return minitorch.broadcast_shapes(*shapes)


# %% [markdown] exercise="brackets_take_views" kind="core" points="2 2" part="mytorch.indexing:slice_bounds mytorch.indexing:take_views"
# ### Exercise 3 · Indexing
# Now write the loop that the lesson did by hand. `take_views` goes over the items of an index, applies what can be done
# as a view, and keeps the other items in `pending`; `slice_bounds` converts a slice to three numbers. All helpers
# that the docstrings name are available.
#
# `slice_bounds(slice(-3, None), 5)` is `(2, 5, 1)`. For `x[:, [-1], ::2]` of shape (2, 3, 4), `take_views` returns a
# view of shape (2, 3, 2) and the pending items `(None, tensor([-1]), None)`.


# %% docstrings="brackets_take_views"
def slice_bounds():
    """Start, end and step of a slice of a dimension of this length.

    A missing step is 1, a missing start 0, and a missing end `length`. Negative starts
    and ends count from the back. Then both are clamped to the range from 0 to `length`,
    and an end before the start becomes the start.

    Raises:
        ValueError: "slice step cannot be zero", or "step must be greater than zero".
    """


def take_views():
    """Apply the views of an index, item by item, and record what is left.

    Each item applies to one dimension of the view so far. `pending` has one entry per
    dimension processed so far, so its length is the index of the next one. An
    index that waits for the copy at the end is recorded as a tensor; None stands for a
    dimension for which nothing is left to do.

    - `...` stands for the dimensions that no item applies to: as many as `x` had in the
      beginning, minus `dims_taken(item)` for each item.
    - None is a new dimension of length 1, a slice keeps its dimension, and an integer
      removes it.
    - A tensor waits: `x, waiting = set_aside(x, dim, item)` returns the list of entries
      to record.

    `views.unsqueeze(x, dim)`, `views.slice(x, dim, start, end, step)` with
    `slice_bounds`, and `pick(x, dim, number, position)` make the views; `position`
    counts items from 0.

    Returns:
        The view (`x` itself if the index contains nothing to apply), and `pending` as a
            tuple.
    """


# %% check="brackets_take_views" raises="IndexError ValueError"
rng = check.rng()
x = mytorch.tensor(rng.integers(0, 100, size=(3, 4, 5)))
number, step = int(rng.integers(1, 3)), int(rng.integers(2, 4))
cuts = [
    slice(None),
    slice(-number, None),
    slice(1, -number),
    slice(2, 1),
    slice(-9, 9, step),
    slice(7, 9),
    slice(None, -9),
    slice(None, 0),
]


def look(index, x=x):
    found = x[index]
    return [found.shape, found.tolist(), (found.stride(), found.storage_offset()) if found._is_view() else "a copy"]


whole = slice(None)
take, nothing = mytorch.indexing.take_views, [(), (whole,), (whole, ..., whole), (...,)]
shown = {"x": x.tolist(), "number": number, "step": step}
shown |= {"bounds": [mytorch.indexing.slice_bounds(each, length) for length in (5, 1) for each in cuts]}
shown |= {
    "x itself, if nothing is asked for": [take(x, items)[0] is x for items in ((), (...,))],
    "notes of these": [[type(note).__name__, list(note)] for _, note in (take(x, items) for items in nothing)],
    "x[number]": look(number),
    "x[:1, :1][0, :, 1:]": look((0, whole, slice(1, None)), x[:1, :1]),
    "x.transpose(0, 2)[number, 1:]": look((number, slice(1, None)), x.transpose(0, 2)),
    "x[:, -number]": look((whole, -number)),
    "x[::step, 1:-number]": look((slice(None, None, step), slice(1, -number))),
    "x[None, number, ..., None]": look((None, number, ..., None)),
    "x[..., number, None]": look((..., number, None)),
    "x[None, ..., 1:]": look((None, ..., slice(1, None))),
    "x[number, [0, 1]]": look((number, [0, 1])),
    "x[:, [-1], ::step]": look((whole, [-1], slice(None, None, step))),
    "x[..., [0, number]]": look((..., [0, number])),
    "x[None, x > 50]": look((None, x > 50)),
    "x[..., x[0] > 50]": look((..., x[0] > 50)),
    "x[x[..., 0] > 50, number]": look((x[..., 0] > 50, number)),
    "x[True, number]": look((True, number)),
    "errors": [check.error(lambda: x[0, None, 9]), check.error(lambda: x[::0]), check.error(lambda: x[::-1])],
    "steps that can't be": [
        check.error(mytorch.indexing.slice_bounds, slice(None, None, step), 5) for step in (0, -1, -3)
    ],
}
x[number, :, [0, -1]] = 0
check.show({**shown, "x[number, :, [0, -1]] = 0": x.tolist()}, text="What indices of x give, and the strides of views.")

# %% [markdown] hint="brackets_take_views"
# For `slice_bounds`: add `length` to a negative bound. After that correction it can still lie outside.

# %% [markdown] hint="brackets_take_views"
# Keep one list, `pending`. Its length is the dimension that the next item applies to. Which items make it longer by one?
# Which by several? Which not at all?

# %% [markdown] hint="brackets_take_views"
# Compute `missing` before the loop, because `x` changes in it. Then write five branches: `item is None`;
# `isinstance(item, EllipsisType)`; `isinstance(item, slice)`; `isinstance(item, int)`; and otherwise a tensor. Each
# takes one to three lines and follows the docstring. `range(*item.indices(length))` shows how Python interprets a
# slice.


# %% mutant="brackets_take_views"
# Takes an end of 0 for a missing one
# `x[:0]` is empty. 0 is falsy in Python, so `item.stop or length` is `length`. Compare with None.
def slice_bounds(item, length):
    step = 1 if item.step is None else item.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start, end = item.start or 0, item.stop or length
    start, end = (min(max(each + length if each < 0 else each, 0), length) for each in (start, end))
    return start, max(start, end), step


# %% mutant="brackets_take_views"
# A number is noted
# An integer removes its dimension, so nothing is recorded for it. With an entry, the next item applies to the wrong
# dimension.
def take_views(x, items):
    missing = x.ndim - sum(map(dims_taken, items))
    note = []
    for position, item in enumerate(items):
        dim = len(note)
        if item is None:
            x = views.unsqueeze(x, dim)
            note.append(None)
        elif isinstance(item, EllipsisType):
            note += [None] * missing
        elif isinstance(item, slice):
            start, end, step = slice_bounds(item, x.shape[dim])
            x = views.slice(x, dim, start, end, step)
            note.append(None)
        elif isinstance(item, int):
            x = pick(x, dim, item, position)
            note.append(None)
        else:
            x, waiting = set_aside(x, dim, item)
            note += waiting
    return x, tuple(note)


# %% mutant="brackets_take_views"
# The dots are counted too late
# The number of dimensions that `...` stands for depends on the original `x`. In the loop, `None` and integers have
# changed it.
def take_views(x, items):
    note = []
    for position, item in enumerate(items):
        dim = len(note)
        if item is None:
            x = views.unsqueeze(x, dim)
            note.append(None)
        elif isinstance(item, EllipsisType):
            note += [None] * (x.ndim - sum(map(dims_taken, items)))
        elif isinstance(item, slice):
            start, end, step = slice_bounds(item, x.shape[dim])
            x = views.slice(x, dim, start, end, step)
            note.append(None)
        elif isinstance(item, int):
            x = pick(x, dim, item, position)
        else:
            x, waiting = set_aside(x, dim, item)
            note += waiting
    return x, tuple(note)


# %% mutant="brackets_take_views"
# A mask counts as one dimension
# A mask of shape (4, 5) covers two dimensions, so `...` stands for one fewer. `dims_taken(item)` returns the number.
def take_views(x, items):
    missing = x.ndim - sum(item is not None and item is not ... for item in items)
    note = []
    for position, item in enumerate(items):
        dim = len(note)
        if item is None:
            x = views.unsqueeze(x, dim)
            note.append(None)
        elif isinstance(item, EllipsisType):
            note += [None] * missing
        elif isinstance(item, slice):
            start, end, step = slice_bounds(item, x.shape[dim])
            x = views.slice(x, dim, start, end, step)
            note.append(None)
        elif isinstance(item, int):
            x = pick(x, dim, item, position)
        else:
            x, waiting = set_aside(x, dim, item)
            note += waiting
    return x, tuple(note)


# %% mutant="brackets_take_views"
# Bounds below 0 are cut to 0
# A negative bound counts from the back, so add the length first, and clamp afterwards.
def slice_bounds(item, length):
    step = 1 if item.step is None else item.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start = 0 if item.start is None else min(max(item.start, 0), length)
    end = length if item.stop is None else min(max(item.stop, 0), length)
    return start, max(start, end), step


# %% mutant="brackets_take_views"
# Bounds are not cut
# `x[-9:9]` of 5 elements takes all 5. Bounds beyond the ends have to be clamped to 0 and the length.
def slice_bounds(item, length):
    step = 1 if item.step is None else item.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start = 0 if item.start is None else item.start
    end = length if item.stop is None else item.stop
    start, end = (each + length if each < 0 else each for each in (start, end))
    return max(start, 0), max(start, end, 0), step


# %% mutant="brackets_take_views"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def slice_bounds(item, length):
    import minitorch

    places = minitorch.arange(length)[item]
    return int(places[0]), int(places[-1]) + 1, item.step or 1


# %% [markdown] exercise="gather_and_back" kind="core" points="1 1 1" part="mytorch.gathering:along mytorch.gathering:gather | mytorch.gathering:scatter_add | mytorch.indexing:unindex"
# ### Exercise 4 · Reading, and its backward
# `along` builds the index that NumPy needs, and `gather` reads with it, in one line. Then write the two backward
# functions: `scatter_add` for `gather`, and `unindex` for indexing. All four work on NumPy arrays. No loop over
# elements is needed.
#
# For `index = [[2, 0]]` and dim 0, `along` returns the index itself and `[[0, 1]]`: element `[0, 0]` of the result is
# `x[2, 0]`, and `[0, 1]` is `x[0, 1]`. NumPy's `np.add.at(array, places, values)` adds correctly even if a position
# occurs twice.


# %% docstrings="gather_and_back"
def along():
    """The NumPy index that means `gather`, with an entry for each dimension.

    It is `index` itself along `dim`, and 0, 1, 2 … along the others. The entry for
    another dimension d has the length of `index` along d, and the length 1 along all
    others, so that it is broadcast against `index`. A negative `dim` counts from the
    back. (`np.arange(n, like=index)` creates the numbers on the device of `index`.)
    """


def gather():
    """The elements that `index` names along `dim`.

    Along the other dimensions an element of the result keeps its own position. For
    three dimensions and dim 1: result[i][j][k] = x[i][index[i][j][k]][k]. The result
    has the shape of `index`, which may be shorter than `x` along the other dimensions.
    Here `x` and `index` are NumPy arrays, and so is the result; `along(dim, index)` is
    the index to use.
    """


def scatter_add():
    """Like `scatter`, but adds, into a copy of `x`.

    For dim 1: result[i][index[i][j][k]][k] += src[i][j][k]. If several values go to one
    position, all of them are added. `src` may be larger than `index`; the part beyond
    the shape of `index` is not used. (All are NumPy arrays here.)
    """


def unindex():
    """The backward of `index`: zeros, to which each element of `grad` is added.

    It is added at the position that it was read from. The zeros have the shape `size`.
    A position that was read twice gets the sum of both. Here `grad` and the indices are
    NumPy arrays, and so is the result, which has the dtype of `grad`. `places(indices)`
    is the index as NumPy writes it. (`np.zeros_like(grad, shape=size)` creates zeros on
    the device of `grad`.)
    """


# %% check="gather_and_back"
rng = check.rng()
x = mytorch.tensor(rng.integers(0, 100, size=(3, 4)))
cube = mytorch.tensor(rng.normal(size=(2, 3, 4)).round(2))
rows, columns = mytorch.tensor(rng.integers(0, 3, size=(5, 2))), mytorch.tensor(rng.integers(0, 4, size=(2, 6)))
deep = mytorch.tensor(rng.integers(0, 3, size=(1, 5, 3)))
to = mytorch.tensor(rng.integers(0, 3, size=(4, 3)))
src = mytorch.tensor(rng.integers(1, 9, size=(5, 4)))
base = mytorch.full((3, 4), 10)
cube_of_ones = mytorch.tensor(rng.integers(1, 9, size=(2, 6, 4)).astype(float))
grad = mytorch.tensor(rng.integers(1, 9, size=(6,)).astype("float32"))
twice = mytorch.tensor(rng.integers(0, 2, size=(6,)))
parts = mytorch.gathering.along(-2, np.zeros((2, 3, 4), int))
check.show(
    {
        "x": x.tolist(),
        "index": [rows.tolist(), columns.tolist(), to.tolist(), twice.tolist()],
        "along(-2, zeros of (2, 3, 4))": [each.shape for each in parts] + [parts[0].ravel(), parts[2].ravel()],
        "gather along 0, 1, -1": [x.gather(0, rows), x.gather(1, columns), x.gather(-1, columns)],
        "gather in three dimensions": cube.gather(1, deep),
        "scatter_add along 0": base.scatter_add(0, to, src),
        "scatter_add along 1": base.scatter_add(1, columns[:, :2], src[:2]),
        "what it added to": base,
        "scatter_add to a vector, from a longer one": mytorch.full((3,), 10).scatter_add(0, to[0], src[:, 0]),
        "scatter_add in three dimensions": mytorch.zeros(2, 3, 4).double().scatter_add(1, deep, cube_of_ones),
        "scatter_add along -1": base.scatter_add(-1, columns[:, :3], src),
        "unindex of a vector": mytorch.indexing.unindex(grad, (4,), (twice,)),
        "unindex of (:, places)": mytorch.indexing.unindex(cube[0, :2, :3], (2, 3), (None, twice[:3])),
    },
    text="What gather reads, and what its backward adds. Some places are named twice.",
)

# %% [markdown] hint="gather_and_back"
# For a matrix and dim 1, NumPy needs `x[rows, index]`, where `rows` is a column 0, 1, 2 …, which is broadcast against
# `index`.

# %% [markdown] hint="gather_and_back"
# Along dimension d the numbers are `np.arange(index.shape[d])`, reshaped to a shape of ones with `index.shape[d]` at
# index d. Replace the entry for `dim` by `index`.

# %% [markdown] hint="gather_and_back"
# `gather` is `x[along(dim, index)]`. Both backward functions create the result (a copy of `x`, or zeros), call
# `np.add.at(result, …, values)`, and return it. The part of `src` that counts is `src[tuple(slice(n) for n in
# index.shape)]`.


# %% mutant="gather_and_back"
# Adds with +=
# `result[places] += values` reads, adds and writes once for each position. If a position occurs twice, one of the sums
# is lost.
def scatter_add(x, dim, index, src):
    result = x.copy()
    result[along(dim, index)] += src[tuple(map(slice, index.shape))]
    return result


# %% mutant="gather_and_back"
# Writes instead of adding
# A position that was read twice must get the sum of both gradients, but yours keeps only one of them.
def unindex(grad, size, indices):
    result = np.zeros_like(grad, shape=size)
    result[places(indices)] = grad
    return result


# %% mutant="gather_and_back"
# Adds into its input
# `scatter_add` returns a new array, but yours changes the `x` of its caller.
def scatter_add(x, dim, index, src):
    np.add.at(x, along(dim, index), src[tuple(map(slice, index.shape))])
    return x


# %% mutant="gather_and_back"
# Counts from the wrong end
# A negative `dim` counts from the back, so -2 of three dimensions is 1. Yours takes it for the last one.
def along(dim, index):
    whole = []
    for each, length in enumerate(index.shape):
        shape = [1] * index.ndim
        shape[each] = length
        whole.append(np.arange(length).reshape(shape))
    whole[max(dim, -1)] = index
    return tuple(whole)


# %% mutant="gather_and_back"
# Takes whole rows
# `x[index]` along `dim` takes whole slices, while `gather` takes one element for each position of the index.
def gather(x, dim, index):
    return np.take(x, index, axis=dim)


# %% mutant="gather_and_back"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def gather(x, dim, index):
    import minitorch

    return minitorch.from_numpy(x).gather(dim, minitorch.from_numpy(index)).numpy()


# %% [markdown] exercise="joining_split_stack" kind="core" points="1 1" part="mytorch.joining:stack mytorch.joining:split"
# ### Exercise 5 · `split` and `stack`
# `split` cuts a dimension into views, and `stack` joins tensors along a new one. Each takes a few lines with what you
# have: `views.slice`, `views.unsqueeze` and `cat`.
#
# `split` of a length of 5 by 2 returns lengths 2, 2, 1. `stack` of three tensors of shape (2, 4) has shape (3, 2, 4)
# along dimension 0, (2, 3, 4) along 1, and (2, 4, 3) along -1.


# %% docstrings="joining_split_stack"
def stack():
    """Join tensors of equal shapes along a new dimension `dim`.

    -1 is the last dimension of the result. `cat` and `views.unsqueeze` are available.

    Raises:
        IndexError: the result has no such dimension (`normalize_dim`).
        RuntimeError: there are no tensors (`words.nothing_to_stack()`), or some have
            another shape than `tensors[0]`; the first of these has the number in
            `words.unequal_to_stack(tensors, number)`.
    """


def split():
    """A tuple of views: parts of length `split_size`, or of the lengths listed.

    If `split_size` is a number, the last part may be shorter, and a dimension of length
    0 has one part. `check_split(x, split_size, dim)` raises the errors.
    `views.slice(x, dim, start, end)` is a view of the elements from `start` up to
    `end`; unlike indexing, it doesn't clamp an `end` beyond the length.
    """


# %% check="joining_split_stack" raises="IndexError RuntimeError"
rng = check.rng()
size = int(rng.integers(2, 4))
length = size * int(rng.integers(2, 4)) + 1
x = mytorch.tensor(rng.integers(0, 100, size=(length, 4)))
first, second = x[:2], x[2:4]
pair, lengths = [first, second], [1, length - 1]
mytorch.stack(pair, 1), x.split(lengths)  # and neither list changes


def look(parts):
    return [[part.tolist(), part.stride(), part.storage_offset(), part._is_view()] for part in parts]


check.show(
    {
        "x": x.tolist(),
        f"split({size})": look(x.split(size)),
        "split([1, 3], -1)": look(x.split([1, 3], -1)),
        "x[:1].split(1)": look(x[:1].split(1)),
        "x.transpose(0, 1).split(3)": look(x.transpose(0, 1).split(3)),
        "split((0, length))": [part.shape for part in x.split((0, length))],
        "type of what split returns": type(x.split(size)).__name__,
        "split of nothing": [part.shape for part in x[:0].split(size)],
        "split of nothing by nothing": [part.shape for part in x[:0].split(0)],
        "the lists, after they were used": [
            [each is x_ for each, x_ in zip(pair, (first, second), strict=True)],
            lengths,
        ],
        "chunk(3)": [part.shape for part in x.chunk(3)],
        "not the sum": check.error(x.split, [1, 1], 1),
        "stack along 0, 1, 2, -1": [mytorch.stack([first, second], dim) for dim in (0, 1, 2, -1)],
        "stack of numbers": mytorch.stack([mytorch.tensor(size), mytorch.tensor(length)]),
        "stack of one": mytorch.stack([first], -1),
        "can't stack": [check.error(mytorch.stack, [first, x]), check.error(mytorch.stack, [])],
        "nor these": [
            check.error(mytorch.stack, [first, first.reshape(4, 2)]),
            check.error(mytorch.stack, [first, second, x]),
            check.error(mytorch.stack, [first, x, second]),
            check.error(mytorch.stack, [first, x, x[:3]]),
            check.error(mytorch.stack, [first, first.reshape(2, 1, 4)]),
            check.error(mytorch.stack, [first.reshape(2, 2, 2), second.reshape(4, 1, 2)]),
        ],
        "no such dimension": check.error(mytorch.stack, [first, second], 3),
    },
    text="The parts with their strides, offsets and whether they are views; then what stack makes.",
)

# %% [markdown] hint="joining_split_stack"
# For `split`, first make a list of lengths in both cases; then one loop can cut. For `stack`: which shape must each
# tensor have before `cat` can join them?

# %% [markdown] hint="joining_split_stack"
# How many dimensions does the result of `stack` have? A negative `dim` is counted in those.

# %% [markdown] hint="joining_split_stack"
# Lengths: `min(split_size, length - start)` for `start` in steps of `split_size`, and at least one part. Keep a running
# `start` for the slices. `stack` is `cat([views.unsqueeze(each, dim) for each in tensors], dim)` after the checks.


# %% mutant="joining_split_stack"
# Counts -1 in the inputs
# The result has one dimension more than the inputs, and its last dimension, -1, comes after all of theirs.
def stack(tensors, dim=0):
    if not tensors:
        raise words.nothing_to_stack()
    first = tensors[0].shape
    for number, each in enumerate(tensors):
        if each.shape != first:
            raise words.unequal_to_stack(tensors, number)
    dim = dim % len(first) if -len(first) <= dim < 0 else normalize_dim(dim, len(first) + 1)
    return cat([views.unsqueeze(each, dim) for each in tensors], dim)


# %% mutant="joining_split_stack"
# Compares the numbers of elements
# (2, 4) and (4, 2) have eight elements each, but they can't be stacked. Compare the shapes.
def stack(tensors, dim=0):
    if not tensors:
        raise words.nothing_to_stack()
    for number, each in enumerate(tensors):
        if each.numel() != tensors[0].numel():
            raise words.unequal_to_stack(tensors, number)
    dim = normalize_dim(dim, tensors[0].ndim + 1)
    return cat([views.unsqueeze(each, dim) for each in tensors], dim)


# %% mutant="joining_split_stack"
# Always blames entry 1
# The error names the first tensor with another shape, which may be the third: entry 2.
def stack(tensors, dim=0):
    if not tensors:
        raise words.nothing_to_stack()
    for each in tensors:
        if each.shape != tensors[0].shape:
            raise words.unequal_to_stack(tensors, 1)
    dim = normalize_dim(dim, tensors[0].ndim + 1)
    return cat([views.unsqueeze(each, dim) for each in tensors], dim)


# %% mutant="joining_split_stack"
# Leaves out the rest
# The last part may be shorter than the others, but yours drops it.
def split(x, split_size, dim=0):
    dim = normalize_dim(dim, x.ndim)
    check_split(x, split_size, dim)
    full = isinstance(split_size, int)
    sizes = [split_size] * max(x.shape[dim] // split_size, 1) if full else list(split_size)
    parts, start = [], 0
    for size in sizes:
        end = min(start + size, x.shape[dim])
        parts.append(views.slice(x, dim, start, end))
        start = end
    return tuple(parts)


# %% mutant="joining_split_stack"
# Returns a list
# PyTorch's `split` returns a tuple, which is immutable.
def split(x, split_size, dim=0):
    dim = normalize_dim(dim, x.ndim)
    check_split(x, split_size, dim)
    length = x.shape[dim]
    if isinstance(split_size, int):
        sizes = [min(split_size, length - start) for start in range(0, max(length, 1), max(split_size, 1))]
    else:
        sizes = list(split_size)
    parts, start = [], 0
    for size in sizes:
        parts.append(views.slice(x, dim, start, start + size))
        start += size
    return parts


# %% mutant="joining_split_stack"
# The parts are copies
# A part is a view: a write into it reaches the tensor that was split, and no element is copied.
def split(x, split_size, dim=0):
    dim = normalize_dim(dim, x.ndim)
    check_split(x, split_size, dim)
    length = x.shape[dim]
    if isinstance(split_size, int):
        sizes = [min(split_size, length - start) for start in range(0, max(length, 1), max(split_size, 1))]
    else:
        sizes = list(split_size)
    parts, start = [], 0
    for size in sizes:
        parts.append(views.slice(x, dim, start, start + size).clone())
        start += size
    return tuple(parts)


# %% mutant="joining_split_stack"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def stack(tensors, dim=0):
    import minitorch

    return minitorch.stack([minitorch.from_numpy(each.array) for each in tensors], dim)


# %% [markdown] exercise="gather_top_p" kind="build" points=2
# ### Exercise 6 · The top-p filter
# A language model gives each word a probability. Before a word is drawn, the unlikely ones are removed: keep the most
# probable words of each row, as few as it takes to reach a sum of `p` or more. Set all others to 0, and divide so that
# each row sums to 1. (A widespread implementation removes the words where the cumulative sum exceeds `p`, shifted by one.
# It keeps one word more if a sum is exactly `p`, so it isn't an answer to this exercise.)
#
# For `[[0.1, 0.5, 0.4]]` and `p = 0.8` two words remain: `[[0, 0.5556, 0.4444]]`. Words stay in their places.
# (`torch.sort` returns the sorted values and where each came from.)
#
# Do it without a loop over texts or words: the check counts the lines of yours that run, and there must be as many for 40
# texts as for 4.


# %% solution="gather_top_p"
def top_p(probabilities: torch.Tensor, p: float) -> torch.Tensor:
    """The probabilities, (texts, words), with all but the most probable of each row at 0; they keep their dtype."""
    ### BEGIN SOLUTION
    ordered, order = probabilities.sort(dim=1, descending=True)
    before = torch.nn.functional.pad(ordered.cumsum(1)[:, :-1], (1, 0))
    kept = ordered.masked_fill(before >= p, 0.0)
    result = torch.zeros_like(probabilities).scatter_(1, order, kept)
    return result / result.sum(1, keepdim=True)
    ### END SOLUTION


# %% check="gather_top_p"
torch.manual_seed(check.seed())
probabilities = torch.randn(5, 7).mul(1.5).softmax(1)
p = 0.6 + 0.2 * torch.rand(()).item()
check.show(
    {
        "probabilities": probabilities.clone(),
        "p": p,
        "kept": top_p(probabilities, p),
        "with p = 0.01": top_p(probabilities, 0.01),
        "with p = 0.95": top_p(probabilities, 0.95),
        "[0.125, 0.25, 0.5, 0.125], p = 0.75": top_p(torch.tensor([[0.125, 0.25, 0.5, 0.125]]), 0.75),
        "words kept if the first two sum to 0.79998, p = 0.8": (
            top_p(torch.tensor([[0.2, 0.5, 0.00002, 0.29998]]), 0.8) > 0
        ).sum(),
        "words kept of four that sum to 1 - 2⁻²⁰, p = 1": (
            top_p(torch.tensor([[0.5, 0.25, 0.125, 0.125 - 2**-20]]), 1.0) > 0
        ).sum(),
        "the dtype for float64": str(top_p(probabilities.double(), p).dtype),
        "words kept of four equal ones, p = 0.5": (top_p(torch.full((1, 4), 0.25), 0.5) > 0).sum(),
        "the input": probabilities,
        "as many lines run for 40 texts as for 4": lines_run(top_p, torch.ones(4, 6) / 6, 0.5)
        == lines_run(top_p, torch.ones(40, 60) / 60, 0.5),
    },
    rtol=1e-4,
    text="Each row of `kept` sums to 1 and has zeros for the less probable words.",
)

# %% [markdown] hint="gather_top_p"
# In descending order the rule is easy. When is a word still needed? Look at the sum of the words *before* it.

# %% [markdown] hint="gather_top_p"
# `cumsum`, moved one place to the right with a 0 in front, is the sum before each word. If that is `p` or more, the
# value becomes 0.

# %% [markdown] hint="gather_top_p"
# `order` says where each sorted value came from. `scatter_(1, order, kept)` into zeros puts them back there. Then
# divide by the row sums with `keepdim=True`.


# %% mutant="gather_top_p"
# Keeps what is as large as the last one
# If several words are equally likely, some of them may be enough: of four with 0.25 each, two make 0.5.
def top_p(probabilities, p):
    ordered = probabilities.sort(dim=1, descending=True)[0]
    needed = (ordered.cumsum(1) - ordered < p).sum(1, keepdim=True)
    kept = probabilities.masked_fill(probabilities < ordered.gather(1, needed - 1), 0.0)
    return kept / kept.sum(1, keepdim=True)


# %% mutant="gather_top_p"
# Wants more than p
# 0.5 and 0.25 make exactly 0.75, which is enough. A word is needed if the sum *before* it is less than `p`.
def top_p(probabilities, p):
    ordered, order = probabilities.sort(dim=1, descending=True)
    kept = ordered.masked_fill(ordered.cumsum(1) - ordered > p, 0.0)
    result = torch.zeros_like(probabilities).scatter_(1, order, kept)
    return result / result.sum(1, keepdim=True)


# %% mutant="gather_top_p"
# Loses the last word
# The word with which the sum reaches `p` is still needed. Yours removes it, so less than `p` remains.
def top_p(probabilities, p):
    ordered, order = probabilities.sort(dim=1, descending=True)
    kept = ordered.masked_fill((ordered.cumsum(1) > p) & (torch.arange(ordered.shape[1]) > 0), 0.0)
    result = torch.zeros_like(probabilities).scatter_(1, order, kept)
    return result / result.sum(1, keepdim=True)


# %% mutant="gather_top_p"
# May keep no word at all
# The word with which the sum reaches `p` is still needed. If the first word alone reaches it, yours keeps none: 0/0,
# nan.
def top_p(probabilities, p):
    ordered, order = probabilities.sort(dim=1, descending=True)
    kept = ordered.masked_fill(ordered.cumsum(1) > p, 0.0)
    result = torch.zeros_like(probabilities).scatter_(1, order, kept)
    return result / result.sum(1, keepdim=True)


# %% mutant="gather_top_p"
# Rows don't sum to 1
# The correct words are kept. Now divide, so that each row sums to 1 again.
def top_p(probabilities, p):
    ordered, order = probabilities.sort(dim=1, descending=True)
    kept = ordered.masked_fill(ordered.cumsum(1) - ordered >= p, 0.0)
    return torch.zeros_like(probabilities).scatter_(1, order, kept)


# %% mutant="gather_top_p"
# Gathers instead of scattering
# `order` says where each value came from, so the values go *to* these positions. Gathering sorts them a second time.
def top_p(probabilities, p):
    ordered, order = probabilities.sort(dim=1, descending=True)
    kept = ordered.masked_fill(ordered.cumsum(1) - ordered >= p, 0.0).gather(1, order)
    return kept / kept.sum(1, keepdim=True)


# %% mutant="gather_top_p"
# Leaves the rows sorted
# The first column must belong to the first word. Yours holds the most probable word of each row, whichever it is.
def top_p(probabilities, p):
    ordered, _ = probabilities.sort(dim=1, descending=True)
    kept = ordered.masked_fill(ordered.cumsum(1) - ordered >= p, 0.0)
    return kept / kept.sum(1, keepdim=True)


# %% mutant="gather_top_p"
# Goes from word to word
# The probabilities are correct. But Python runs a few lines for each word, and a vocabulary has 50,000 words. `sort`,
# `cumsum` and `scatter_` do it for all words and texts at once.
def top_p(probabilities, p):
    result = torch.zeros_like(probabilities)
    for row, text in enumerate(probabilities.tolist()):
        total = 0.0
        for word in sorted(range(len(text)), key=lambda word: -text[word]):
            if total < p:
                result[row, word] = text[word]
            total += text[word]
    return result / result.sum(1, keepdim=True)


# %% mutant="gather_top_p"
# Goes from text to text
# The probabilities are correct, but Python goes through the texts one by one. `sort`, `cumsum` and `scatter_` take a
# dimension, and process all rows at once.
def top_p(probabilities, p):
    rows = []
    for row in probabilities:
        ordered, order = row.sort(descending=True)
        kept = ordered.masked_fill(ordered.cumsum(0) - ordered >= p, 0.0)
        rows.append(torch.zeros_like(row).scatter_(0, order, kept))
    result = torch.stack(rows)
    return result / result.sum(1, keepdim=True)


# %% mutant="gather_top_p"
# One order for all rows
# Each row has an order of its own, but yours sorts the words by their mean over all texts.
def top_p(probabilities, p):
    order = probabilities.mean(0).argsort(descending=True)
    ordered = probabilities[:, order]
    result = torch.zeros_like(probabilities)
    result[:, order] = ordered.masked_fill(ordered.cumsum(1) - ordered >= p, 0.0)
    return result / result.sum(1, keepdim=True)


# %% [markdown] exercise="gather_repair_counts" kind="repair" points=2
# ### Exercise 7 · A word count that loses words
# `count_words` gets texts as rows of word indices and counts, for each text, how often each word occurs. Two texts of
# ten words each came out with counts that sum to 6 and 8, and no error was raised. Fix it without a loop: the number of
# your lines that run must be the same for 40 texts as for 4.


# %% solution="gather_repair_counts"
def count_words(words: torch.Tensor, vocabulary: int) -> torch.Tensor:
    """How often each word occurs in each text: `words` is (texts, length), the counts are (texts, vocabulary)."""
    ### BEGIN SOLUTION
    counts = torch.zeros(len(words), vocabulary, dtype=torch.long)
    return counts.scatter_add_(1, words, torch.ones_like(words))
    ### END SOLUTION
    ### BEGIN STUB
    # counts = torch.zeros(len(words), vocabulary, dtype=torch.long)
    # texts = torch.arange(len(words)).unsqueeze(1)
    # counts[texts, words] += 1
    # return counts
    ### END STUB


# %% check="gather_repair_counts"
torch.manual_seed(check.seed())
words = torch.randint(0, 6, (3, 10))
counts = count_words(words, 8)
check.show(
    {
        "words": words.tolist(),
        "counts": counts,
        "sums": counts.sum(1),
        "a vocabulary of one word": count_words(torch.zeros(2, 3, dtype=torch.int64), 1),
        "a word 300 times": count_words(torch.full((1, 300), 2), 4),
        "as many lines run for 40 texts as for 4": lines_run(count_words, words[:1].repeat(4, 1), 8)
        == lines_run(count_words, words[:1].repeat(40, 6), 8),
    },
    text="Each row of counts should sum to the number of words in a text: 10, and 300 in the long one.",
)

# %% [markdown] hint="gather_repair_counts"
# Try a text in which no word occurs twice, then one that is the same word ten times. What do you see?

# %% [markdown] hint="gather_repair_counts"
# `counts[i] += 1` reads `counts[i]`, adds 1 to the result, and writes that back. What is read, and what is written, if
# a position occurs three times in `i`?

# %% [markdown] hint="gather_repair_counts"
# You need an operation that adds at each of the repeated positions: `scatter_add_` along dimension 1, with ones, or
# `index_put_` with `accumulate=True`.


# %% mutant="gather_repair_counts"
# Writes ones
# `scatter_` writes a 1 if a word occurs, however often, so the result says whether a word occurs, not how often.
def count_words(words, vocabulary):
    counts = torch.zeros(len(words), vocabulary, dtype=torch.long)
    return counts.scatter_(1, words, 1)


# %% mutant="gather_repair_counts"
# Counts all texts together
# The counts add up the words of all texts, but each text should get its own counts.
def count_words(words, vocabulary):
    counts = torch.zeros(vocabulary, dtype=torch.long)
    counts.scatter_add_(0, words.flatten(), torch.ones_like(words.flatten()))
    return counts.expand(len(words), vocabulary).contiguous()


# %% mutant="gather_repair_counts"
# Counts the first text only
# The index decides how far `scatter_add_` goes. With one row of word indices, only the first text is counted.
def count_words(words, vocabulary):
    counts = torch.zeros(len(words), vocabulary, dtype=torch.long)
    return counts.scatter_add_(1, words[:1], torch.ones_like(words))


# %% mutant="gather_repair_counts"
# Counts in a loop
# The counts are correct, but Python adds each 1 separately. `scatter_add_` adds them all in one call.
def count_words(words, vocabulary):
    counts = torch.zeros(len(words), vocabulary, dtype=torch.long)
    for text, row in enumerate(words.tolist()):
        for word in row:
            counts[text, word] += 1
    return counts


# %% mutant="gather_repair_counts"
# Counts text by text
# The counts are correct, but Python goes through the texts one by one. `scatter_add_` along dimension 1 processes all
# rows at once.
def count_words(words, vocabulary):
    return torch.stack([torch.bincount(text, minlength=vocabulary) for text in words])


# %% [markdown] exercise="joining_measure_chunks" kind="measure" points=1
# ### Exercise 8 · GPUs without work
# `DataParallel` splits a batch with `chunk`, one part for each GPU (you will build it in chapter 23). Take a batch of
# 60 and try each number of GPUs from 1 to 60. For how many of these numbers does at least one GPU get nothing? And
# which is the smallest of them? Return both, in this order.


# %% solution="joining_measure_chunks"
def without_work() -> tuple[int, int]:
    """How many numbers of GPUs from 1 to 60 leave a GPU without work, and the smallest of them."""
    ### BEGIN SOLUTION
    batch = torch.zeros(60)
    found = [gpus for gpus in range(1, 61) if len(batch.chunk(gpus)) < gpus]
    return len(found), found[0]
    ### END SOLUTION


# %% check="joining_measure_chunks"
how_many, smallest = without_work()
check.show({"how many": int(how_many), "smallest": int(smallest)}, secret=True)

# %% [markdown] hint="joining_measure_chunks"
# `chunk(n)` returns a tuple. How long is it?

# %% [markdown] hint="joining_measure_chunks"
# A GPU has no work if there are fewer parts than GPUs. Parts that are smaller than others are still work.

# %% [markdown] hint="joining_measure_chunks"
# Compare the number of parts with the number of GPUs, for each number from 1 to 60.


# %% mutant="joining_measure_chunks"
# Counts uneven parts
# A smaller last part is still work. The question is which numbers of GPUs get fewer parts than there are GPUs.
def without_work():
    found = [gpus for gpus in range(1, 61) if 60 % gpus]
    return len(found), found[0]


# %% mutant="joining_measure_chunks"
# Returns the smallest first
# Both numbers are correct, but they are in the wrong order: return the count first, then the smallest.
def without_work():
    found = [gpus for gpus in range(1, 61) if len(torch.zeros(60).chunk(gpus)) < gpus]
    return found[0], len(found)


# %% mutant="joining_measure_chunks"
# Counts with tensor_split
# `tensor_split` always returns as many parts as requested. `chunk` rounds the length of a part up, and then needs
# fewer.
def without_work():
    batch = torch.zeros(60)
    found = [gpus for gpus in range(1, 61) if len(torch.tensor_split(batch, gpus)) < gpus]
    return len(found), found[0] if found else 0


# %% mutant="joining_measure_chunks"
# Counts the others
# This counts the numbers of GPUs for which all of them get work. The question is about the others.
def without_work():
    found = [gpus for gpus in range(1, 61) if len(torch.zeros(60).chunk(gpus)) == gpus]
    return len(found), found[0]
