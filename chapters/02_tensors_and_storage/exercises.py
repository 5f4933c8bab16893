# %% [markdown]
# # Exercises · Tensors and storage
# Seven exercises, 18 points. `torch` is `minitorch`. Exercises 2 to 4 write `mytorch`; what passes there goes into
# `my/mytorch`. Your functions run inside a file of `mytorch`. The functions that a docstring mentions are there; import
# anything else, NumPy too, in the cell.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch


class Camera:
    """Delivers frames one after another, into memory that the caller owns."""

    def __init__(self, frames):
        self.frames = iter(frames)

    def read_into(self, buffer):
        buffer[:] = next(self.frames)


# %% [markdown] exercise="storage_predict_sharing" kind="predict" points=1
# ### Exercise 1 · Who sees which write?
# ```python
# a = np.array([1.0, 2.0])
# t = torch.from_numpy(a)
# u = torch.as_tensor(a, dtype=torch.float64)
# a += 10
# a = a * 2
# u[1] = 0
# print(t.tolist())
# ```
# What does the last line print? Answer without running it: two numbers.

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
# `a += 10` writes into the box that `a` points to. `a = a * 2` makes a box and moves the arrow.

# %% [markdown] hint="storage_predict_sharing"
# NumPy's floats are float64 already, so `as_tensor` has nothing to convert and `u` points to the same box as `t`.

# %% mutant="storage_predict_sharing"
# as_tensor as a copy
# The array is float64 already, and as_tensor copies only when something has to change. So u writes into t's memory.
prediction = [11.0, 12.0]

# %% mutant="storage_predict_sharing"
# a * 2 as a write
# a * 2 makes a new array and gives it the name a. The memory that t reads is left alone.
prediction = [22.0, 0.0]

# %% mutant="storage_predict_sharing"
# a * 2 as a write, as_tensor as a copy
# Two slips: a * 2 makes a new array, so t doesn't see it; and u shares t's memory, because the type already fits.
prediction = [22.0, 24.0]

# %% mutant="storage_predict_sharing"
# from_numpy as a copy
# from_numpy copies nothing: t reads the array's memory, where both a += 10 and u[1] = 0 write.
prediction = [1.0, 2.0]

# %% mutant="storage_predict_sharing"
# a += 10 as a new array
# a += 10 is an in-place operation in NumPy. It writes into the memory that t and u read.
prediction = [1.0, 0.0]

# %% [markdown] exercise="storage_walk" kind="core" points="1 2 1" part="mytorch.strides:contiguous_strides mytorch.strides:walk mytorch.creation:from_numpy"
# ### Exercise 2 · The walk
# Three functions, in this order:
#
# - `contiguous_strides`: the strides of a shape that is laid out row by row. `contiguous_strides((2, 3))` is `(3, 1)`.
# - `walk`: the array that a walk visits, on the same memory. `walk(np.arange(6), (3, 2), (1, 3), 0)` is
#   `[[0, 3], [1, 4], [2, 5]]`. The array library's `as_strided` does the work; it counts in bytes and takes no offset.
# - `from_numpy`: the way back, from an array to a `Tensor` on a `Storage`, which are there as in the lesson. For
#   `np.arange(6)[::2]` the stride is 2, and the storage has five elements: 0 to 4.

# %% check="storage_walk"
generator = check.rng()
size = tuple(int(length) for length in generator.integers(2, 5, size=3))
flat = generator.integers(0, 100, size=40, dtype=np.int32)
step, offset = int(generator.integers(4, 8)), int(generator.integers(1, 5))
walked = mytorch.strides.walk(flat, (3, 2), (step, 2), offset)
still = mytorch.strides.walk(flat, (2, 2), (0, 3), offset)
flat[offset + step] = -1
array = generator.normal(size=(5, 6))[1:, ::2].T
shared = mytorch.from_numpy(array)
short = generator.integers(0, 100, size=(3, 8), dtype=np.int16)[:, 1::3]
array[1, 2] = 50
check.show(
    {
        "size": size,
        "contiguous strides": mytorch.strides.contiguous_strides(size),
        "with a length of 0": mytorch.strides.contiguous_strides((size[0], 0, size[2])),
        "of a scalar": mytorch.strides.contiguous_strides(()),
        "flat": flat,
        "stride and offset of the walk": (step, 2, offset),
        "the walk, after a write to flat": walked,
        "a walk with stride (0, 3)": still,
        "from_numpy, after a write to the array": shared,
        "its strides": shared.stride(),
        "elements in its storage": len(shared.storage),
        "elements in the storage of an empty array": len(mytorch.from_numpy(array[:0]).storage),
        "from_numpy, of two bytes": mytorch.from_numpy(short),
        "from_numpy of a list": check.error(mytorch.from_numpy, [1.0, 2.0]),
        "from_numpy of an array of texts": type(check.error(mytorch.from_numpy, np.array(["a"]))).__name__,
        "from_numpy, backwards": type(check.error(mytorch.from_numpy, array[::-1])).__name__,
    },
    text="Strides are in elements. What shares memory shows the write.",
)

# %% [markdown] hint="storage_walk"
# How far apart are neighbours along the last dimension? Along the one before? For `walk`: where is element (0, 0), and
# how many bytes is one element?

# %% [markdown] hint="storage_walk"
# `contiguous_strides`: go through `reversed(size)` with a running product. `walk`: `flat[offset:]` begins at the right
# place; multiply each stride by `flat.dtype.itemsize`. `from_numpy`: `array.strides` are bytes.

# %% [markdown] hint="storage_walk"
# The running product takes `max(length, 1)`, after the stride was noted. `walk` ends with
# `library_of(flat).as_strided(flat[offset:], size, steps)`. The last place that `from_numpy` reaches is the sum of
# `(length - 1) * stride`; then `Tensor(Storage(flat_from(array, last + 1)), array.shape, strides)`.


# %% mutant="storage_walk"
# Walks from the left
# These strides let the first dimension move fastest, as in Fortran. Row by row, the last one does.
def contiguous_strides(size):
    strides, step = [], 1
    for length in size:
        strides.append(step)
        step *= max(length, 1)
    return tuple(strides)


# %% mutant="storage_walk"
# A length of 0 counts as 0
# Then every stride to the left of it is 0. PyTorch counts such a length as 1.
def contiguous_strides(size):
    strides, step = [], 1
    for length in reversed(size):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


# %% mutant="storage_walk"
# Copies on the way
# The numbers are right, but they lie in memory of their own: a write to the flat array isn't seen.
def walk(flat, size, stride, offset):
    steps = tuple(step * flat.dtype.itemsize for step in stride)
    return library_of(flat).as_strided(flat[offset:], size, steps).copy()


# %% mutant="storage_walk"
# Forgets the offset
# The walk begins at the first element of the flat array, wherever the tensor begins.
def walk(flat, size, stride, offset):
    return library_of(flat).as_strided(flat, size, tuple(step * flat.dtype.itemsize for step in stride))


# %% mutant="storage_walk"
# Elements for bytes
# as_strided counts in bytes, the walk in elements. Each step has to be multiplied by the size of an element.
def walk(flat, size, stride, offset):
    return library_of(flat).as_strided(flat[offset:], size, stride)


# %% mutant="storage_walk"
# Eight bytes for every element
# Eight bytes is the size of an int64 or a float64. Ask the array: its `itemsize`.
def walk(flat, size, stride, offset):
    return library_of(flat).as_strided(flat[offset:], size, tuple(step * 8 for step in stride))


# %% mutant="storage_walk"
# Eight bytes in every array
# Eight bytes is the size of an int64 or a float64. Ask the array: its `itemsize`.
def from_numpy(array):
    check_array(array)
    strides = tuple(step // 8 for step in array.strides)
    last = sum((length - 1) * step for length, step in zip(array.shape, strides, strict=True))
    return Tensor(Storage(flat_from(array, last + 1 if array.size else 0)), array.shape, strides)


# %% mutant="storage_walk"
# Checks nothing
# A list, or an array that no tensor can share, has to be refused: call `check_array(array)` first.
def from_numpy(array):
    strides = tuple(step // np.asarray(array).itemsize for step in np.asarray(array).strides)
    last = sum((length - 1) * step for length, step in zip(np.asarray(array).shape, strides, strict=True))
    return Tensor(
        Storage(flat_from(np.asarray(array), last + 1 if np.size(array) else 0)), np.asarray(array).shape, strides
    )


# %% mutant="storage_walk"
# Copies the array
# A contiguous copy has the same elements and other strides, and doesn't see writes to the array.
def from_numpy(array):
    check_array(array)
    return from_array(array.copy(order="C"))


# %% mutant="storage_walk"
# As many elements as the array
# A walk with gaps reaches further than the number of its elements. The storage has to end at the last one reached.
def from_numpy(array):
    check_array(array)
    strides = tuple(step // array.itemsize for step in array.strides)
    return Tensor(Storage(flat_from(array, array.size)), array.shape, strides)


# %% mutant="storage_walk"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch can't be imported from it.
def contiguous_strides(size):
    import minitorch

    return minitorch.empty(size).stride()


# %% [markdown] exercise="storage_promotion" kind="core" points="2 2" part="mytorch.promotion:promote_types mytorch.promotion:result_type"
# ### Exercise 3 · Which type wins?
# `promote_types` is the table of the lesson: two types, one result. `result_type` takes any number of tensors and
# Python numbers and keeps the three groups apart. `category` (0, 1 or 2) and `type_of_number` are given, and so are the
# types that you need by name: `uint8`, `int8`, `int16`, `float16`, `bfloat16`, `float32`.
#
# | operands | result |
# |---|---|
# | int64 with dimensions, `2.5` | the default dtype |
# | float16 with dimensions, float64 without | float16 |
# | int8 with dimensions, int64 without, `1.5` | the default dtype |
# | `True`, `3` | int64 |

# %% check="storage_promotion"
generator = check.rng()
kinds = [mytorch.bool, mytorch.uint8, mytorch.int8, mytorch.int16, mytorch.int32, mytorch.int64]
kinds += [mytorch.float16, mytorch.bfloat16, mytorch.float32, mytorch.float64]
names = [kind.name for kind in kinds]
table = {
    f"promote_types of {one.name}": " ".join(mytorch.promote_types(one, other).name for other in kinds) for one in kinds
}
pool = {f"{kind.name}{list(size)}": mytorch.zeros(size, dtype=kind) for kind in kinds for size in ((2,), ())}
pool |= {"True": True, "3": 3, "2.5": 2.5}
cases = [
    ["int64[2]", "2.5"],
    ["float16[2]", "float64[]"],
    ["float16[]", "2.5"],
    ["int8[2]", "int64[]", "2.5"],
    ["2.5", "uint8[]", "int8[]"],
    ["True", "3"],
]
cases += [[str(name) for name in generator.choice(list(pool), size=3, replace=False)] for _ in range(20)]
results = {
    f"result_type of {', '.join(case)}": mytorch.result_type(*(pool[name] for name in case)).name for case in cases
}
check.show(
    {"with each of": " ".join(names), **table, **results},
    text="int8[2] is a tensor of two elements, int8[] one without dimensions.",
)

# %% [markdown] hint="storage_promotion"
# `promote_types`: look at the categories first, and at sizes only if they are equal. `result_type`: sort the operands
# into groups before you compare anything.

# %% [markdown] hint="storage_promotion"
# Within a category the larger type wins, with two exceptions: uint8 with int8, and float16 with bfloat16.
# In `result_type`, join each group by `promote_types`; then let a later group take over only if its category is higher.

# %% [markdown] hint="storage_promotion"
# The exceptions are `{one, other} == {uint8, int8}` and `{one, other} == {float16, bfloat16}`; else
# `max(one, other, key=lambda each: each.itemsize)`. Groups: `0 if operand.ndim else 1` for tensors, 2 for the rest.


# %% mutant="storage_promotion"
# The larger type wins
# Size is looked at before category: int64 with float16 becomes int64. Category comes first.
def promote_types(one, other):
    if {one, other} == {uint8, int8}:
        return int16
    if {one, other} == {float16, bfloat16}:
        return float32
    return max(one, other, key=lambda each: (each.itemsize, category(each)))


# %% mutant="storage_promotion"
# NumPy's table
# NumPy wants every value to fit: int64 with float32 becomes float64. PyTorch keeps the floating-point type as it is.
def promote_types(one, other):
    import numpy as np

    if {one, other} == {float16, bfloat16}:
        return float32
    return FROM_NUMPY.get(np.promote_types(one.numpy, other.numpy), float32)


# %% mutant="storage_promotion"
# Two floats of 16 bits
# float16 and bfloat16 have the same size, and neither holds the other's numbers. They meet in float32.
def promote_types(one, other):
    if {one, other} == {uint8, int8}:
        return int16
    return max(one, other, key=lambda each: (category(each), each.itemsize))


# %% mutant="storage_promotion"
# All operands alike
# A tensor without dimensions and a Python number count as much as a tensor here, so that x * 2.5 may change x's type.
def result_type(*operands):
    types = [each.dtype if isinstance(each, Tensor) else type_of_number(each) for each in operands]
    result = types[0]
    for each in types[1:]:
        result = promote_types(result, each)
    return result


# %% mutant="storage_promotion"
# Scalars have no say
# If there is a tensor with dimensions, nothing else is looked at: integers times 2.5 would stay integers.
def result_type(*operands):
    groups = [[], [], []]
    for each in operands:
        place = (0 if each.ndim else 1) if isinstance(each, Tensor) else 2
        groups[place].append(each.dtype if isinstance(each, Tensor) else type_of_number(each))
    first = next(group for group in groups if group)
    result = first[0]
    for each in first[1:]:
        result = promote_types(result, each)
    return result


# %% mutant="storage_promotion"
# Two groups
# A tensor without dimensions ranks above a Python number. Here they are in one group.
def result_type(*operands):
    groups = [None, None]
    for each in operands:
        place = 0 if isinstance(each, Tensor) and each.ndim else 1
        kind = each.dtype if isinstance(each, Tensor) else type_of_number(each)
        groups[place] = kind if groups[place] is None else promote_types(groups[place], kind)
    first, second = groups
    return second if first is None or (second is not None and category(second) > category(first)) else first


# %% mutant="storage_promotion"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch can't be imported from it.
def promote_types(one, other):
    import minitorch

    found = minitorch.promote_types(getattr(minitorch, one.name), getattr(minitorch, other.name))
    return next(each for each in FROM_NUMPY.values() if each.name == str(found)[6:])


# %% [markdown]
# ### Before exercise 4 · What a variance has to get right
# A variance is a mean squared distance, but from which mean? From the numbers' own, and to that one they are a little too
# close. Roll a die three times, in all 216 ways. And what becomes of the steps in between, in 16 bits?

# %%
die = torch.arange(1.0, 7.0)
rolls = torch.cartesian_prod(die, die, die)
print(f"variance of the die: {die.var(correction=0).item():.4f}")
for correction in (0, 1):
    print(f"three rolls, over 3 - {correction}: {rolls.var(1, correction=correction).mean().item():.4f} on average")
large = torch.tensor([200.0, 0.0, -200.0], dtype=torch.float16)
print("float16: sum of squares", (large * large).float().sum().item(), "but variance", large.var().item())
brain = torch.tensor([256.0, 258, 260, 262], dtype=torch.bfloat16)
print("bfloat16: mean", brain.mean().item(), "but", brain.float().mean().item(), "in float32")

# %% [markdown]
# Over n the average is too small; over n − 1, PyTorch's default, it is right (**Bessel's correction**). And in 16 bits the
# steps in between need float32: the squares here add up to 80000, which float16 can't hold, and the mean 259 lies between
# two bfloat16. So PyTorch computes in float32 and rounds once, at the end.

# %% [markdown] exercise="storage_mean_var" kind="core" points="1 2" part="mytorch.reduction:mean mytorch.reduction:var"
# ### Exercise 4 · Mean and variance
# Both are made of operations that `mytorch` has: `sum`, `-`, `*`, `/`. Mind three things. Numbers around twenty
# thousand can have a small variance: don't lose it to rounding. In float16, 60000 and 60000 have a mean, although their
# sum doesn't fit, and squares overflow sooner still; in bfloat16, the mean of 256 and 258 lies between two numbers of the
# type, and the distances to it have to be right all the same. And `var` divides by n - `correction`.
#
# `mytorch.tensor([1.0, 2.0, 6.0]).var()` is 7, with `correction=0` it is 4.6667.

# %% check="storage_mean_var"
generator = check.rng()
numbers = generator.normal(2, 3, size=(3, 4)).astype(np.float32)
x = mytorch.tensor(numbers)
large = mytorch.tensor((generator.integers(10000, 60000, size=(2, 3))).astype(np.float16))
far = mytorch.tensor((20000 + generator.integers(0, 8, size=6)).astype(np.float32))
wide = mytorch.tensor((80 * generator.permutation(8) + generator.integers(0, 40)).astype(np.float16))
two, sums = generator.integers(60, 100, size=(3, 2)), generator.choice([261, 263, 265, 267], size=3)
brain = np.concatenate([two, (sums - two.sum(1))[:, None]], axis=1)  # bfloat16 holds these, and not their sums
brain = mytorch.tensor(brain.tolist(), dtype=mytorch.bfloat16)
even = 256 + 2 * int(generator.integers(0, 120)) + generator.permutation([0, 2, 4, 6])
between = mytorch.tensor(even.tolist(), dtype=mytorch.bfloat16)  # the mean is odd, and no bfloat16
further = mytorch.tensor(1e9 + generator.permutation(8)[:6])
check.show(
    {
        "x": numbers,
        "x.mean()": x.mean(),
        "x.mean(1)": x.mean(1),
        "x.mean((0, 1))": x.mean((0, 1)),
        "x.mean(0, keepdim=True)": x.mean(0, keepdim=True),
        "x.var()": x.var(),
        "x.var(0)": x.var(0),
        "x.var(-1, keepdim=True)": x.var(-1, keepdim=True),
        "x.var(1, correction=0)": x.var(1, correction=0),
        "large, in float16": large,
        "its mean": large.mean(1),
        "wide, in float16": wide,
        "its variance in float16": wide.var(),
        "brain, in bfloat16": brain,
        "its mean in bfloat16": brain.mean(1),
        "its variance in bfloat16": brain.var(1),
        "even numbers in bfloat16": between,
        "their variance in bfloat16": between.var(),
        "far from 0": far,
        "its variance": far.var(),
        "a billion, in float64, plus": further - 1e9,
        "its variance in float64": further.var(),
        "variance of one number": mytorch.ones(1).var(),
        "x.var(1, correction=9)": x.var(1, correction=9),
        "mean of integers": check.error(mytorch.arange(3).mean),
        "var of integers": check.error(mytorch.arange(3).var),
    },
    rtol=1e-3,
)

# %% [markdown] hint="storage_mean_var"
# Write the formulas for one dimension first. By what do you divide when `dim` names one dimension of three?

# %% [markdown] hint="storage_mean_var"
# `elements_along(x, dim)` counts. For `var`, subtract the mean with `keepdim=True`, so that the shapes fit, and square
# the differences. The mean of the squares minus the square of the mean loses all digits far from 0.

# %% [markdown] hint="storage_mean_var"
# `wide = x.float() if x.dtype.itemsize == 2 else x`, compute with `wide`, and give `_to_copy(result, x.dtype)` back
# where the types differ. The divisor of `var` is `max(elements_along(x, dim) - correction, 0)`.


# %% mutant="storage_mean_var"
# Divides by all elements
# The mean along a dimension is over the length of that dimension, not over the size of the whole tensor.
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    wide = x.float() if x.dtype.itemsize == 2 else x
    result = wide.sum(dim, keepdim) / x.numel()
    return result if wide is x else _to_copy(result, x.dtype)


# %% mutant="storage_mean_var"
# Sums in float16
# The sum is above 65504, the largest float16, so it is inf, and inf over n stays inf. Sum in float32.
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    return x.sum(dim, keepdim) / elements_along(x, dim)


# %% mutant="storage_mean_var"
# Widens float16 alone
# bfloat16 has 16 bits too, and only eight of them for digits. `x.dtype.itemsize` is 2 for both.
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    wide = x.float() if x.dtype.name == "float16" else x
    return _to_copy(wide.sum(dim, keepdim) / elements_along(x, dim), x.dtype)


# %% mutant="storage_mean_var"
# Takes integers
# PyTorch refuses the mean of integers. This one gives a floating-point number.
def mean(x, dim=None, keepdim=False):
    wide = x.float() if x.dtype.itemsize == 2 or not x.is_floating_point() else x
    result = wide.sum(dim, keepdim) / elements_along(x, dim)
    return _to_copy(result, x.dtype) if x.is_floating_point() else result


# %% mutant="storage_mean_var"
# Forgets the correction
# This always divides by n. The default divides by n - 1.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    distance = wide - wide.mean(dim, keepdim=True)
    result = (distance * distance).mean(dim, keepdim)
    return result if wide is x else _to_copy(result, x.dtype)


# %% mutant="storage_mean_var"
# Squares in float16
# The square of 280 is 78400, which float16 can't hold. Compute types of 16 bits in float32.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    distance = x - x.mean(dim, keepdim=True)
    return (distance * distance).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 0)


# %% mutant="storage_mean_var"
# Subtracts in 16 bits
# The mean of 256, 258, 260 and 262 is 259, and no bfloat16. It was rounded before you subtracted it, and so the distances
# are wrong: make `x` a float32 before you take its mean.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    distance = x - x.mean(dim, keepdim=True)
    distance = distance.float() if x.dtype.itemsize == 2 else distance
    result = (distance * distance).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 0)
    return _to_copy(result, x.dtype) if x.dtype.itemsize == 2 else result


# %% mutant="storage_mean_var"
# Everything in float32
# float32 has more digits than float16 and fewer than float64: around a billion its step is 64. Convert 16 bits only.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float()
    distance = wide - wide.mean(dim, keepdim=True)
    return _to_copy((distance * distance).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 0), x.dtype)


# %% mutant="storage_mean_var"
# A negative divisor
# With four numbers and a correction of 9 the divisor counts as 0. Here it is -5, and the variance is negative.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    distance = wide - wide.mean(dim, keepdim=True)
    result = (distance * distance).sum(dim, keepdim) / (elements_along(x, dim) - correction)
    return result if wide is x else _to_copy(result, x.dtype)


# %% mutant="storage_mean_var"
# Mean of squares minus square of mean
# True on paper. In float32 both are near 400,000,000, where the step is 32, and the difference is noise.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    count = elements_along(x, dim)
    middle = wide.mean(dim, keepdim)
    result = ((wide * wide).mean(dim, keepdim) - middle * middle) * count / max(count - correction, 0)
    return result if wide is x else _to_copy(result, x.dtype)


# %% mutant="storage_mean_var"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch can't be imported from it.
def mean(x, dim=None, keepdim=False):
    import minitorch

    return from_array(minitorch.from_numpy(x.numpy()).mean(dim, keepdim).numpy())


# %% [markdown] exercise="storage_round_bits" kind="build" points=2
# ### Exercise 5 · Rounding by hand
# A float32 has a sign bit, 8 bits of exponent and 23 of fraction. Cut the last 16 bits off and you have a bfloat16; cut
# 13 off and you have a TF32, the format in which some GPUs multiply matrices.
#
# `bits` is an array of uint32: the bit patterns of float32 numbers. Round each to the nearest pattern whose last
# `dropped` bits are 0. A pattern exactly in the middle goes to the *even* one of its neighbours, the one whose last
# kept bit is 0. Return uint32, and use integer arithmetic only. The numbers are finite, and not close to the largest.
#
# $1 + 2^{-8}$ is in the middle between two bfloat16 and becomes 1; $1 + 3 \cdot 2^{-8}$ becomes $1 + 2^{-6}$.


# %% solution="storage_round_bits"
def round_bits(bits: np.ndarray, dropped: int) -> np.ndarray:
    """The patterns with their last `dropped` bits rounded away, halves to even."""
    ### BEGIN SOLUTION
    odd = bits >> dropped & 1
    almost_half = (1 << (dropped - 1)) - 1
    return (bits + almost_half + odd) >> dropped << dropped
    ### END SOLUTION


# %% check="storage_round_bits"
generator = check.rng()
numbers = generator.normal(0, 100, size=5).astype(np.float32)
shown = {"numbers": numbers}
for dropped in (16, 13, int(generator.integers(4, 12))):
    kept = generator.integers(1 << 9, 1 << 13, size=2, dtype=np.uint32) * 2 << 16 >> dropped << dropped
    middle = np.concatenate([kept, kept + (1 << dropped)]) + np.uint32(1 << (dropped - 1))
    bits = np.concatenate([numbers.view(np.uint32), middle.astype(np.uint32)])
    rounded = round_bits(bits.copy(), dropped)
    for before, after in zip(bits, rounded, strict=True):
        shown[f"{int(before):032b} without {dropped} bits"] = f"{int(after):032b}"
    shown["dtype"] = str(rounded.dtype)
check.show(
    shown,
    text="The last four patterns of each group lie in the middle. The last kept bit is 0 in two of them, 1 in two.",
)

# %% [markdown] hint="storage_round_bits"
# Rounding to the nearest is adding half a step and cutting off. What goes wrong exactly in the middle?

# %% [markdown] hint="storage_round_bits"
# Add a little less than half a step, so that the middle stays below. When should the middle go up after all?

# %% [markdown] hint="storage_round_bits"
# `bits >> dropped & 1` is the last kept bit. Add it, and $2^{dropped - 1} - 1$, then shift right and left again.


# %% mutant="storage_round_bits"
# Cuts off
# This rounds towards 0: about half of all numbers end up a step too small.
def round_bits(bits, dropped):
    return bits >> dropped << dropped


# %% mutant="storage_round_bits"
# Halves go up
# Exactly in the middle, this always goes away from 0. IEEE 754 goes to the even neighbour, so that errors cancel.
def round_bits(bits, dropped):
    return (bits + np.uint32(1 << (dropped - 1))) >> dropped << dropped


# %% mutant="storage_round_bits"
# Halves go down
# Exactly in the middle, this always goes towards 0. A pattern whose last kept bit is 1 must go up.
def round_bits(bits, dropped):
    return (bits + np.uint32((1 << (dropped - 1)) - 1)) >> dropped << dropped


# %% mutant="storage_round_bits"
# Delegates to bfloat16
# Right for 16 bits and for no other number. The function has to round `dropped` bits away.
def round_bits(bits, dropped):
    numbers = torch.from_numpy(bits.view(np.float32).copy())
    return numbers.to(torch.bfloat16).float().numpy().view(np.uint32)


# %% [markdown] exercise="storage_repair_frames" kind="repair" points=2
# ### Exercise 6 · The camera that shows one picture
# `read_frames` collects frames from a camera. It runs without an error, has the right shapes, and in a test with one
# frame the numbers were right. With five frames, the training set holds the last frame five times. Repair it.


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
delivered = check.rng().integers(0, 256, size=(5, 2, 3)).astype(np.float32)
frames = read_frames(Camera(delivered), 5, (2, 3))
frames[0][0, 0] = -1  # a change to one frame belongs to that frame alone
check.show({"delivered": delivered, "frames, after a write to the first": frames})

# %% [markdown] hint="storage_repair_frames"
# Print the whole list after each turn of the loop. When does the first frame change?

# %% [markdown] hint="storage_repair_frames"
# Compare `data_ptr()` of the five tensors. The camera writes into `buffer` each time; which line copies?

# %% [markdown] hint="storage_repair_frames"
# Each frame needs memory of its own while the buffer still holds it: `torch.tensor(buffer)` or
# `torch.from_numpy(buffer).clone()`, inside the loop.


# %% mutant="storage_repair_frames"
# as_tensor instead
# as_tensor copies only if dtype or device must change. Neither does, so all frames still share the buffer.
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
# `.float()` gives the same tensor back if it is float32 already. No copy is made.
def read_frames(camera, count, shape):
    buffer = np.empty(shape, np.float32)
    frames = []
    for _ in range(count):
        camera.read_into(buffer)
        frames.append(torch.from_numpy(buffer).float())
    return frames


# %% mutant="storage_repair_frames"
# Keeps the last frame only
# Only the last frame is kept, and the list holds it `count` times.
def read_frames(camera, count, shape):
    buffer = np.empty(shape, np.float32)
    for _ in range(count):
        camera.read_into(buffer)
    return [torch.tensor(buffer) for _ in range(count)]


# %% [markdown] exercise="storage_measure_stuck" kind="measure" points=2
# ### Exercise 7 · The counter that stops
# A counter of type `dtype` starts at 0, and 1 is added again and again. At some number it stops growing. Find that
# number by experiment, for bfloat16, float16, float32 and float64: change the type, and nothing else.
#
# Counting one by one takes too long in the wide types. Ask about single numbers: does this one grow?


# %% solution="storage_measure_stuck"
def stuck_at(dtype: torch.dtype) -> int:
    """The number at which a counter of this type stops growing."""
    ### BEGIN SOLUTION
    number = torch.tensor(1, dtype=dtype)
    while number + 1 != number:
        number = number * 2
    return int(number)
    ### END SOLUTION


# %% check="storage_measure_stuck"
check.show(
    {str(kind): stuck_at(kind) for kind in (torch.bfloat16, torch.float16, torch.float32, torch.float64)}, secret=True
)

# %% [markdown] hint="storage_measure_stuck"
# Count in bfloat16 first: `x = x + 1` in a loop that stops when nothing changes. What is special about the number?

# %% [markdown] hint="storage_measure_stuck"
# The step between neighbours doubles at each power of two. The counter stops where the step becomes 2.

# %% [markdown] hint="storage_measure_stuck"
# Try 1, 2, 4, 8 … as tensors of the type, until `number + 1 == number`.


# %% mutant="storage_measure_stuck"
# Counts in the default type
# The tensor is float32, whatever was asked for: a dtype has to be named where the number is made.
def stuck_at(dtype):
    number = torch.tensor(1.0)
    while number + 1 != number:
        number = number * 2
    return int(number)


# %% mutant="storage_measure_stuck"
# One step too far
# That is the first whole number that the type can't hold. The counter stops at the one before it.
def stuck_at(dtype):
    number = torch.tensor(1, dtype=dtype)
    while number + 1 != number:
        number = number * 2
    return int(number) + 1


# %% mutant="storage_measure_stuck"
# From the epsilon
# 1 / eps is half of it: at that number the step is 1, and the counter still grows.
def stuck_at(dtype):
    return int(1 / torch.finfo(dtype).eps)
