# %% [markdown]
# # Exercises · Types and dispatch
# `torch` is `minitorch`. Exercises 2 to 4 write parts of `mytorch`, and what passes there is copied into `my/mytorch`. Your
# functions run inside a file of `mytorch`, where every function that a docstring mentions is available. Import anything else
# in the cell, including NumPy.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch

# %% [markdown] exercise="dtypes_predict_promotion" kind="predict" points=1
# ### Exercise 1 · Predict three dtypes
# ```python
# ids = torch.tensor([3, 4])
# scale = torch.tensor(0.5, dtype=torch.float64)
# half = torch.tensor([1.0, 2.0], dtype=torch.float16)
# print((ids * scale).dtype, (half * scale).dtype, (ids + half).dtype)
# ```
# What does the last line print? Write down three strings, such as `"int64"` or `"torch.int64"`, without running the code.

# %% solution="dtypes_predict_promotion"
### BEGIN SOLUTION
first, second, third = "float64", "float16", "float16"
### END SOLUTION
### BEGIN STUB
# first, second, third = ..., ..., ...
### END STUB

# %% check="dtypes_predict_promotion"
names = [str(each).removeprefix("torch.") for each in (first, second, third)]
check.show(dict(zip(("ids * scale", "half * scale", "ids + half"), names, strict=True)), secret=True)

# %% [markdown] hint="dtypes_predict_promotion"
# Compare the categories first, and then ask which operands have dimensions. `scale` has none.

# %% [markdown] hint="dtypes_predict_promotion"
# A 0-d tensor decides only if its category is higher than that of the tensors with dimensions. Is it higher in each
# of the three expressions?

# %% [markdown] hint="dtypes_predict_promotion"
# In the first expression the category of `scale` is higher, so its own dtype decides. In the second it isn't. The
# third has two tensors with dimensions, so remember that category comes before size.

# %% mutant="dtypes_predict_promotion"
# The default type
# Only Python numbers stand for the default dtype. `scale` is a tensor with a dtype of its own, and its category is
# the higher one.
first, second, third = "float32", "float16", "float16"

# %% mutant="dtypes_predict_promotion"
# The scalar counts in full
# `scale` is a 0-d tensor, and `half` is floating point already, so the result keeps the dtype of `half`.
first, second, third = "float64", "float64", "float16"

# %% mutant="dtypes_predict_promotion"
# A type for both values
# NumPy would look for a type that holds all values of both, while PyTorch keeps the floating-point type unchanged.
first, second, third = "float64", "float16", "float64"

# %% mutant="dtypes_predict_promotion"
# The wider type wins
# int64 has more bits than float16, but category comes before size, so the floating-point type wins.
first, second, third = "float64", "float16", "int64"

# %% [markdown] exercise="storage_promotion" kind="core" points="2 2" part="mytorch.promotion:promote_types mytorch.promotion:result_type"
# ### Exercise 2 · Type promotion
# `promote_types` is the table of the lesson, which maps two dtypes to one. `result_type` takes any number of tensors and Python
# numbers, and keeps the three groups apart. `category` (0, 1 or 2) and `type_of_number` are provided, and so are the dtypes
# that you need by name: `uint8`, `int8`, `int16`, `float16`, `bfloat16`, `float32`.
#
# | operands | result |
# |---|---|
# | int64 with dimensions, `2.5` | the default dtype |
# | float16 with dimensions, 0-d float64 | float16 |
# | int8 with dimensions, 0-d int64, `1.5` | the default dtype |
# | `True`, `3` | int64 |


# %% docstrings="storage_promotion"
def promote_types():
    """The dtype to which PyTorch promotes a pair of dtypes.

    The higher of two categories (`category(one)`) wins, whatever the sizes are: int64
    and float16 give float16. Within a category the larger size (`one.itemsize`) wins,
    with two exceptions: uint8 with int8 gives int16, and float16 with bfloat16 gives
    float32.
    """


def result_type():
    """The common dtype of tensors and Python numbers.

    There are three groups, in this order: tensors with dimensions, 0-d tensors, and
    Python numbers. A group decides only if its category is higher than that of all
    groups before it. So `x * 2.5` keeps the dtype of a float16 `x`, while an integer
    `x` becomes the default dtype. `type_of_number(2.5)` is the dtype that stands for a
    Python number.
    """


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
    ["2.5", "3"],
    ["3", "2.5"],
    ["int16[]", "bool[]", "True"],
    ["bool[2]", "int16[]", "int64[]"],
    ["bool[2]", "float64[]", "3"],
    ["float16[2]", "int64[]", "2.5"],
    ["2.5", "int64[]", "bfloat16[2]"],
    ["float32[2]", "int16[]", "int64[]", "2.5"],
    ["float16[2]", "bfloat16[2]", "int64[]"],
]
cases += [[str(name) for name in generator.choice(list(pool), size=3, replace=False)] for _ in range(20)]
results = {
    f"result_type of {', '.join(case)}": mytorch.result_type(*(pool[name] for name in case)).name for case in cases
}
mytorch.set_default_dtype(mytorch.float64)
try:
    doubles = [mytorch.result_type(*(pool[name] for name in case)).name for case in cases[:6]]
finally:
    mytorch.set_default_dtype(mytorch.float32)
results["result_type of the first six, where float64 is the default"] = doubles
check.show(
    {"with each of": " ".join(names), **table, **results},
    text="int8[2] is a tensor of two elements, and int8[] is a 0-d tensor.",
)

# %% [markdown] hint="storage_promotion"
# `promote_types`: compare the categories first, and sizes only if the categories are equal. `result_type`: sort the
# operands into groups before you compare anything.

# %% [markdown] hint="storage_promotion"
# Within a category the larger type wins, with two exceptions: uint8 with int8, and float16 with bfloat16. In
# `result_type`, reduce each group with `promote_types`, and let a later group take over only if its category is
# higher.

# %% [markdown] hint="storage_promotion"
# The exceptions are `{one, other} == {uint8, int8}` and `{one, other} == {float16, bfloat16}`; otherwise return
# `max(one, other, key=lambda each: each.itemsize)`. The group of an operand is `0 if operand.ndim else 1` for
# tensors, and 2 for Python numbers.


# %% mutant="storage_promotion"
# The larger type wins
# Here size decides before category, so that int64 with float16 becomes int64. Category comes first.
def promote_types(one, other):
    if {one, other} == {uint8, int8}:
        return int16
    if {one, other} == {float16, bfloat16}:
        return float32
    return max(one, other, key=lambda each: (each.itemsize, category(each)))


# %% mutant="storage_promotion"
# NumPy's table
# NumPy chooses a type that holds every value, so int64 with float32 becomes float64. PyTorch keeps the floating-point
# type unchanged.
def promote_types(one, other):
    import numpy as np

    if {one, other} == {float16, bfloat16}:
        return float32
    return FROM_NUMPY.get(np.promote_types(one.numpy, other.numpy), float32)


# %% mutant="storage_promotion"
# Two floats of 16 bits
# float16 and bfloat16 have the same size, and neither holds all values of the other. Their common type is float32.
def promote_types(one, other):
    if {one, other} == {uint8, int8}:
        return int16
    return max(one, other, key=lambda each: (category(each), each.itemsize))


# %% mutant="storage_promotion"
# All operands alike
# Here a 0-d tensor and a Python number count as much as a tensor with dimensions, so x * 2.5 may change x's dtype.
def result_type(*operands):
    types = [each.dtype if isinstance(each, Tensor) else type_of_number(each) for each in operands]
    result = types[0]
    for each in types[1:]:
        result = promote_types(result, each)
    return result


# %% mutant="storage_promotion"
# Scalars have no say
# If there is a tensor with dimensions, this ignores everything else, and integers times 2.5 would stay integers.
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
# The first of a later group
# A group is reduced to one dtype before it decides: for a 0-d int16 and a 0-d int64, the larger one stands for the
# group.
def result_type(*operands):
    groups = [[], [], []]
    for each in operands:
        place = (0 if each.ndim else 1) if isinstance(each, Tensor) else 2
        groups[place].append(each.dtype if isinstance(each, Tensor) else type_of_number(each))
    first, *later = [group for group in groups if group]
    result = first[0]
    for each in first[1:]:
        result = promote_types(result, each)
    for group in later:
        for each in group:
            if category(each) > category(result):
                result = each
    return result


# %% mutant="storage_promotion"
# The last of a group
# The last operand of a group stands for all of them here, so 2.5 before 3 gives int64. `promote_types` reduces a group to
# one dtype.
def result_type(*operands):
    groups = [None, None, None]
    for each in operands:
        place = (0 if each.ndim else 1) if isinstance(each, Tensor) else 2
        groups[place] = each.dtype if isinstance(each, Tensor) else type_of_number(each)
    result, *later = [kind for kind in groups if kind is not None]
    for kind in later:
        if category(kind) > category(result):
            result = kind
    return result


# %% mutant="storage_promotion"
# Compares with the first group alone
# The category of a later group has to be higher than that of *all* groups before it: beside a 0-d float64, 3 decides
# nothing.
def result_type(*operands):
    groups = [None, None, None]
    for each in operands:
        place = (0 if each.ndim else 1) if isinstance(each, Tensor) else 2
        kind = each.dtype if isinstance(each, Tensor) else type_of_number(each)
        groups[place] = kind if groups[place] is None else promote_types(groups[place], kind)
    first, *later = [kind for kind in groups if kind is not None]
    result = first
    for kind in later:
        if category(kind) > category(first):
            result = kind
    return result


# %% mutant="storage_promotion"
# Two groups
# A 0-d tensor ranks above a Python number, but here they are in one group.
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
# mytorch is built on NumPy alone, so minitorch can't be imported from it.
def promote_types(one, other):
    import minitorch

    found = minitorch.promote_types(getattr(minitorch, one.name), getattr(minitorch, other.name))
    return next(each for each in FROM_NUMPY.values() if each.name == str(found)[6:])


# %% [markdown] exercise="dispatch_common_type" kind="core" points=3 part="mytorch.pointwise:run_in_common_type"
# ### Exercise 3 · What an operation does with its operands
# Below the last layer, `run_kernel` calls `op.run(op, args)`, which is `run_in_common_type` for elementwise operations. It is the
# reason why `exp` of integers is float32, why a product of float16 tensors is computed in float32, and why the condition of
# `where` doesn't affect the dtype.
#
# | `op` has | what it is |
# |---|---|
# | `kernel` | the function on arrays |
# | `parameters` | the names of its parameters, one for each of `args` |
# | `apart` | the names of parameters that are excluded from type promotion |
# | `floating` | whether integers become the default dtype, as in `div` and `exp` |
# | `wide` | whether 16-bit types are computed in float32 and rounded once, as in `mul` and `div` |


# %% docstrings="dispatch_common_type"
def run_in_common_type():
    """Convert the operands to their common dtype, run the kernel, and return a new tensor.

    The common dtype is the `result_type` of all arguments, except those that are None
    and those whose parameter is in `op.apart`. If `op.floating` is set and the common
    dtype isn't a floating-point type, `settings.default_dtype` takes its place.

    Then every argument is converted, including the excluded ones: `convert(x, common)`
    returns the array of a tensor, the number for a Python number, and None for None. It
    doesn't copy a tensor that has the dtype already.

    If `op.wide` is set and the common dtype is a 16-bit floating-point type, the two
    operands come from `widened(args, common)` instead, in float32, and the kernel's
    result is rounded with `.astype(common.numpy)`. `from_array` makes the tensor.
    """


# %% check="dispatch_common_type"
generator = check.rng()
ids = mytorch.tensor(generator.integers(1, 9, size=(2, 3)))
numbers = mytorch.tensor(generator.normal(size=(2, 3)).astype(np.float32))
half = mytorch.tensor((generator.integers(1, 9, size=3) / 8).astype(np.float16))
double = mytorch.tensor(generator.normal(size=2).round(3))
short = mytorch.tensor((4097 + 2 * generator.integers(0, 50, size=2)).astype(np.int16))
flags = mytorch.tensor([True, False, True])
brain = mytorch.tensor((generator.integers(1, 9, size=3) / 8).tolist(), dtype=mytorch.bfloat16)
received = []


def spy(x, y=None, scale=None):
    copied = not any(np.shares_memory(x, each.array) for each in (ids, half, flags))
    received.extend([type(x).__name__, None if y is None else str(np.asarray(y).dtype), scale is None, copied])
    return x if y is None else x + y


plain = mytorch.pointwise.Pointwise(spy, "spy")
apart = mytorch.pointwise.Pointwise(spy, "spy_apart", apart=("y",))
floating = mytorch.pointwise.Pointwise(spy, "spy_floating", floating=True)
wide = mytorch.pointwise.Pointwise(lambda x, y: spy(x, y), "spy_wide", wide=True, floating=True)


def in_float64(call):
    """The result of the call while float64 is the default dtype."""
    mytorch.set_default_dtype(mytorch.float64)
    try:
        return call()
    finally:
        mytorch.set_default_dtype(mytorch.float32)


check.show(
    {
        "ids": ids,
        "numbers": numbers,
        "half": half,
        "double": double,
        "short, of int16": short,
        "ids + 2": ids + 2,
        "ids + 2.5": ids + 2.5,
        "numbers * ids": numbers * ids,
        "ids / 2": ids / 2,
        "exp of ids": ids.exp(),
        "exp of double": double.exp(),
        "short * 4099": short * 4099,
        "sign of ids": ids.sign(),
        "half * 70000.0": half * 70000.0,
        "half * 3.3": half * 3.3,
        "half + 70000.0": half + 70000.0,
        "numbers > 0": numbers > 0,
        "where(numbers > 0, ids, 2.5)": mytorch.where(numbers > 0, ids, 2.5),
        "clamp(numbers, min=0.0)": numbers.clamp(0.0, None),
        "clamp(numbers, max=0.0)": numbers.clamp(None, 0.0),
        "a kernel's own sum": plain(ids, 1.5),
        "y doesn't count": apart(ids, 1.5),
        "floating, of integers": floating(ids, 1),
        "floating, of booleans": floating(flags, True),
        "floating, of integers, with float64 as the default": in_float64(lambda: floating(ids, 1)),
        "flags / True, exp of flags": [flags / mytorch.tensor(True), flags.exp()],
        "exp of flags with float64 as the default": in_float64(flags.exp),
        "of two bytes, and not wide": plain(half, 1.5),
        "wide, of float16": wide(half, 1.5),
        "wide, of bfloat16": wide(brain, brain),
        "wide, of float64": wide(double, 1.5),
        "wide, of int16": wide(short, short),
        "brain, in bfloat16": brain,
        "brain * 3.3": brain * 3.3,
        "brain / 3": brain / 3,
        "what the kernels received": received,
    },
    rtol=1e-4,
    text="The kernel spy records the class of x, the dtype of y, if the third argument is None, and if x was copied.",
)

# %% [markdown] hint="dispatch_common_type"
# Pair the names with the arguments: `zip(op.parameters, args)`. Which of them go into `result_type`, and which go to
# the kernel?

# %% [markdown] hint="dispatch_common_type"
# Let `counted` be the arguments that are neither None nor in `op.apart`, and `common = result_type(*counted)`. Then
# check `op.floating`, and after it `op.wide` together with `common.itemsize == 2`.

# %% [markdown] hint="dispatch_common_type"
# The usual end is `from_array(op.kernel(*[convert(x, common) for x in args]))`. The wide one is
# `from_array(op.kernel(*widened(args, common)).astype(common.numpy))`. It is for 16-bit floating-point types only,
# because int16 has two bytes too.


# %% mutant="dispatch_common_type"
# Lets every argument count
# The condition of `where` would take part in the promotion, and the value of `masked_fill` would change the dtype.
# Exclude the parameters in `op.apart`.
def run_in_common_type(op, args):
    common = result_type(*[x for x in args if x is not None])
    if op.floating and not common.is_floating_point:
        common = settings.default_dtype
    if op.wide and common.itemsize == 2 and common.is_floating_point:
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    return from_array(op.kernel(*[convert(x, common) for x in args]))


# %% mutant="dispatch_common_type"
# Leaves None out
# An argument that is None keeps its position, because otherwise the upper bound of `clamp(None, 0.0)` would become
# the lower one.
def run_in_common_type(op, args):
    counted = [x for name, x in zip(op.parameters, args, strict=True) if not (x is None or name in op.apart)]
    common = result_type(*counted)
    if op.floating and not common.is_floating_point:
        common = settings.default_dtype
    if op.wide and common.itemsize == 2 and common.is_floating_point:
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    return from_array(op.kernel(*[convert(x, common) for x in args if x is not None]))


# %% mutant="dispatch_common_type"
# Integers stay integers
# `exp` and `div` compute in floating point, so `op.floating` turns an integer type into the default dtype.
def run_in_common_type(op, args):
    counted = [x for name, x in zip(op.parameters, args, strict=True) if not (x is None or name in op.apart)]
    common = result_type(*counted)
    if op.wide and common.itemsize == 2 and common.is_floating_point:
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    return from_array(op.kernel(*[convert(x, common) for x in args]))


# %% mutant="dispatch_common_type"
# Always the default type
# With `op.floating`, integers become the default dtype, but a floating-point type stays: exp of float64 is float64.
def run_in_common_type(op, args):
    counted = [x for name, x in zip(op.parameters, args, strict=True) if not (x is None or name in op.apart)]
    common = settings.default_dtype if op.floating else result_type(*counted)
    if op.wide and common.itemsize == 2 and common.is_floating_point:
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    return from_array(op.kernel(*[convert(x, common) for x in args]))


# %% mutant="dispatch_common_type"
# Takes int16 for a float
# int16 has two bytes too, but a product of integers isn't computed in float32, which would round it. Check both
# conditions.
def run_in_common_type(op, args):
    counted = [x for name, x in zip(op.parameters, args, strict=True) if not (x is None or name in op.apart)]
    common = result_type(*counted)
    if op.floating and not common.is_floating_point:
        common = settings.default_dtype
    if op.wide and common.itemsize == 2:
        return from_array(op.kernel(*widened(args, common)).astype(common.numpy))
    return from_array(op.kernel(*[convert(x, common) for x in args]))


# %% mutant="dispatch_common_type"
# Multiplies in 16 bits
# 0.5 · 70000 fits into float16, while 70000 doesn't. With `op.wide`, a product is computed in float32 and rounded
# once.
def run_in_common_type(op, args):
    counted = [x for name, x in zip(op.parameters, args, strict=True) if not (x is None or name in op.apart)]
    common = result_type(*counted)
    if op.floating and not common.is_floating_point:
        common = settings.default_dtype
    return from_array(op.kernel(*[convert(x, common) for x in args]))


# %% mutant="dispatch_common_type"
# Forgets to round back
# The kernel computed in float32, but the result must have the common dtype: `.astype(common.numpy)`.
def run_in_common_type(op, args):
    counted = [x for name, x in zip(op.parameters, args, strict=True) if not (x is None or name in op.apart)]
    common = result_type(*counted)
    if op.floating and not common.is_floating_point:
        common = settings.default_dtype
    if op.wide and common.itemsize == 2 and common.is_floating_point:
        return from_array(op.kernel(*widened(args, common)))
    return from_array(op.kernel(*[convert(x, common) for x in args]))


# %% mutant="dispatch_common_type"
# Leaves the conversion to NumPy
# NumPy has rules of its own, by which int64 plus float32 is float64. Convert the operands to the common dtype first.
def run_in_common_type(op, args):
    arrays = [x.array if hasattr(x, "array") else x for x in args]
    return from_array(np.asarray(op.kernel(*arrays)))


# %% mutant="dispatch_common_type"
# Delegates to minitorch
# mytorch is built on NumPy alone, so minitorch can't be imported from it.
def run_in_common_type(op, args):
    import minitorch

    given = [minitorch.from_numpy(x.array) if hasattr(x, "array") else x for x in args]
    return from_array(getattr(minitorch, op.name)(*given).numpy())


# %% [markdown]
# ### Before exercise 4 · What a variance has to get right
# The lesson shows the formula and why it divides by n − 1. What happens to the intermediate results in 16 bits?

# %%
large = torch.tensor([200.0, 0.0, -200.0], dtype=torch.float16)
print("float16: sum of squares", (large * large).float().sum().item(), "but variance", large.var().item())
brain = torch.tensor([256.0, 258, 260, 262], dtype=torch.bfloat16)
print("bfloat16: mean", brain.mean().item(), "but", brain.float().mean().item(), "in float32")

# %% [markdown]
# They need float32, because the squares here add up to 80000, which float16 can't hold, and the mean 259 is between
# two bfloat16 numbers. PyTorch therefore computes in float32 and rounds once, at the end.

# %% [markdown] exercise="storage_mean_var" kind="core" points="1 2" part="mytorch.reduction:mean mytorch.reduction:var"
# ### Exercise 4 · Mean and variance
# Both are composed of operations that `mytorch` has: `sum`, `-`, `*`, `/`. Three things need care:
#
# - Numbers around twenty thousand can have a small variance, which must not be lost to rounding.
# - In float16, 60000 and 60000 have a mean although their sum doesn't fit, and squares overflow even sooner. In bfloat16, the
#   mean of 256 and 258 is between two numbers of the type, and the distances from it still have to be correct.
# - `var` divides by n - `correction`.
#
# `mytorch.tensor([1.0, 2.0, 6.0]).var()` is 7, and with `correction=0` it is 4.6667.


# %% docstrings="storage_mean_var"
def mean():
    """The sum along `dim`, divided by the number of elements that it adds: `elements_along(x, dim)`.

    The mean of no elements is nan. The result has the dtype of `x`. 16-bit types are
    computed in float32 (`x.float()`) and converted at the end
    (`_to_copy(result, x.dtype)`), so that a sum above 65504 doesn't become inf.

    Raises:
        RuntimeError: `x` doesn't have a floating-point dtype (raised by `check_floating(x, "mean")`).
    """


def var():
    """The sum of squared distances from the mean along `dim`, divided by n - correction.

    The default correction of 1 estimates the variance of the distribution from which
    the elements were drawn (Bessel's correction); 0 gives the variance of the elements
    themselves. A divisor below 0 counts as 0, so that the result is nan or inf. 16-bit
    types are computed in float32 and converted at the end, as in `mean`.

    Raises:
        RuntimeError: `x` doesn't have a floating-point dtype (raised by `check_floating(x, "var")`).
    """


# %% check="storage_mean_var" raises="RuntimeError"
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
full = mytorch.full((256,), 3000.0, dtype=mytorch.float16)
scalar, nothing = mytorch.tensor(float(numbers[0, 0])), mytorch.tensor(numbers[:0])
check.show(
    {
        "x": numbers,
        "x.mean()": x.mean(),
        "x.mean(1)": x.mean(1),
        "x.mean((0, 1))": x.mean((0, 1)),
        "x.mean(0, keepdim=True)": x.mean(0, keepdim=True),
        "x.var()": x.var(),
        "x.mean(keepdim=True)": x.mean(keepdim=True),
        "x.var(keepdim=True)": x.var(keepdim=True),
        "x.var((0, 1), keepdim=True)": x.var((0, 1), keepdim=True),
        "x.var(0)": x.var(0),
        "x.var(-1, keepdim=True)": x.var(-1, keepdim=True),
        "x.var(1, correction=0)": x.var(1, correction=0),
        "large, in float16": large,
        "its mean": large.mean(1),
        "2²⁴ times the mean of four float16 of 2⁻²⁴": mytorch.full((4,), 2.0**-24).half().mean().float() * 2**24,
        "wide, in float16": wide,
        "its variance in float16": wide.var(),
        "brain, in bfloat16": brain,
        "its mean in bfloat16": brain.mean(1),
        "the same, minus 87": brain.mean(1).float() - 87,
        "its variance in bfloat16": brain.var(1),
        "even numbers in bfloat16": between,
        "their variance in bfloat16": between.var(),
        "far from 0": far,
        "its variance": far.var(),
        "a billion, in float64, plus": further - 1e9,
        "its mean in float64, minus a billion": further.mean() - 1e9,
        "its variance in float64": further.var(),
        "mean and variance of 256 float16 of 3000": [full.mean(), full.var()],
        "variance of one number": mytorch.ones(1).var(),
        "mean of a 0-d tensor along 0, and its variance along -1": [scalar.mean(0), scalar.var(-1, correction=0)],
        "x.var(1, correction=9)": x.var(1, correction=9),
        "x.var(correction=2)": x.var(correction=2),
        "mean and variance of no elements": [nothing.mean(), nothing.var()],
        "mean of no rows": nothing.mean(0, keepdim=True),
        "variance of one column, with shape (1, 3, 1)": mytorch.tensor(numbers[None, :, :1]).var(1),
        "mean of integers": check.error(mytorch.arange(3).mean),
        "var of integers": check.error(mytorch.arange(3).var),
    },
    rtol=1e-3,
)

# %% [markdown] hint="storage_mean_var"
# Write the formulas for one dimension first. What do you divide by when `dim` names one dimension of three?

# %% [markdown] hint="storage_mean_var"
# `elements_along(x, dim)` is the number of elements. For `var`, subtract the mean with `keepdim=True`, so that the
# shapes broadcast, and square the differences. The mean of the squares minus the square of the mean would lose all
# digits far from 0.

# %% [markdown] hint="storage_mean_var"
# Compute with `wide = x.float() if x.dtype.itemsize == 2 else x`, and return `_to_copy(result, x.dtype)` where the
# dtypes differ. The divisor of `var` is `max(elements_along(x, dim) - correction, 0)`.


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
# Divides by at least 1 in the mean
# The mean of no elements is 0 / 0, which is nan, as in PyTorch. Divide by n, even if it is 0.
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    wide = x.float() if x.dtype.itemsize == 2 else x
    result = wide.sum(dim, keepdim) / max(elements_along(x, dim), 1)
    return result if wide is x else _to_copy(result, x.dtype)


# %% mutant="storage_mean_var"
# Divides in 16 bits, then sums
# Dividing first doesn't overflow, but each quotient is rounded: a quarter of the smallest float16 is 0. Compute in
# float32.
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    return (x / elements_along(x, dim)).sum(dim, keepdim)


# %% mutant="storage_mean_var"
# Widens float16 alone
# bfloat16 has 16 bits too, and an even shorter mantissa. `x.dtype.itemsize` is 2 for both.
def mean(x, dim=None, keepdim=False):
    check_floating(x, "mean")
    wide = x.float() if x.dtype.name == "float16" else x
    return _to_copy(wide.sum(dim, keepdim) / elements_along(x, dim), x.dtype)


# %% mutant="storage_mean_var"
# Takes integers
# PyTorch refuses the mean of integers, while this one returns a floating-point number.
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
# The mean of 256, 258, 260 and 262 is 259, which bfloat16 can't represent. It was rounded before you subtracted it,
# so the distances are incorrect. Convert `x` to float32 before you take its mean.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    distance = x - x.mean(dim, keepdim=True)
    distance = distance.float() if x.dtype.itemsize == 2 else distance
    result = (distance * distance).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 0)
    return _to_copy(result, x.dtype) if x.dtype.itemsize == 2 else result


# %% mutant="storage_mean_var"
# Everything in float32
# float32 has fewer digits than float64: around a billion its spacing is 64. Convert only 16-bit types.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float()
    distance = wide - wide.mean(dim, keepdim=True)
    return _to_copy((distance * distance).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 0), x.dtype)


# %% mutant="storage_mean_var"
# Divides by at least 1
# A divisor of 0 or less counts as 0, so the result is nan or inf, as in PyTorch. Yours divides by 1 instead.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    distance = wide - wide.mean(dim, keepdim=True)
    result = (distance * distance).sum(dim, keepdim) / max(elements_along(x, dim) - correction, 1)
    return result if wide is x else _to_copy(result, x.dtype)


# %% mutant="storage_mean_var"
# A negative divisor
# With four numbers and a correction of 9 the divisor counts as 0, but here it is -5, and the variance is negative.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    distance = wide - wide.mean(dim, keepdim=True)
    result = (distance * distance).sum(dim, keepdim) / (elements_along(x, dim) - correction)
    return result if wide is x else _to_copy(result, x.dtype)


# %% mutant="storage_mean_var"
# Mean of squares minus square of mean
# The formula is correct on paper. In float32, however, both terms are near 400,000,000, where the spacing is 32, so
# the difference is noise.
def var(x, dim=None, correction=1, keepdim=False):
    check_floating(x, "var")
    wide = x.float() if x.dtype.itemsize == 2 else x
    count = elements_along(x, dim)
    middle = wide.mean(dim, keepdim)
    result = ((wide * wide).mean(dim, keepdim) - middle * middle) * count / max(count - correction, 0)
    return result if wide is x else _to_copy(result, x.dtype)


# %% mutant="storage_mean_var"
# Delegates to minitorch
# mytorch is built on NumPy alone, so minitorch can't be imported from it.
def mean(x, dim=None, keepdim=False):
    import minitorch

    return from_array(minitorch.from_numpy(x.numpy()).mean(dim, keepdim).numpy())


# %% [markdown] exercise="storage_round_bits" kind="build" points=2
# ### Exercise 5 · Rounding by hand
# A float32 has a sign bit, 8 exponent bits and 23 mantissa bits. Without its last 16 bits it is a bfloat16, and without its last
# 13 bits it is a TF32, the format in which some GPUs multiply matrices.
#
# `bits` is an array of uint32, the bit patterns of float32 numbers. Round each pattern to the nearest one whose last `dropped`
# bits are 0. A pattern exactly in the middle goes to the *even* one of its two neighbours, whose last kept bit is 0. Return
# a new array of uint32 of the same shape. The numbers are finite and not close to the largest one.
#
# $1 + 2^{-8}$ is in the middle between two bfloat16 numbers and becomes 1, while $1 + 3 \cdot 2^{-8}$ becomes $1 + 2^{-6}$.


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
    carries = generator.integers(100, 150, size=1, dtype=np.uint32) << 23 | (1 << 23) - 1
    bits = np.concatenate([numbers.view(np.uint32), carries, middle.astype(np.uint32)]).reshape(2, 5)
    given = bits.copy()
    rounded = round_bits(given, dropped)
    shown[f"shape and dtype without {dropped} bits"] = [rounded.shape, str(rounded.dtype)]
    shown[f"the given bits are still the same after {dropped}"] = bool((given == bits).all())
    for before, after in zip(bits.flat, rounded.flat, strict=True):
        shown[f"{int(before):032b} without {dropped} bits"] = f"{int(after):032b}"
shown["one pattern without its last bit"] = [round_bits(np.array([each], np.uint32), 1) for each in (5, 7)]
check.show(
    shown,
    text="The last four patterns of each group are in the middle; their last kept bit is 0 in two of them, 1 in two. "
    "The one before them has a mantissa of ones, so rounding up carries into its exponent.",
)

# %% [markdown] hint="storage_round_bits"
# Rounding to the nearest means adding half a step and truncating. What goes wrong exactly in the middle?

# %% [markdown] hint="storage_round_bits"
# Add a little less than half a step, so that the middle is rounded down. When does the middle have to be rounded up?

# %% [markdown] hint="storage_round_bits"
# `bits >> dropped & 1` is the last kept bit. Add it and $2^{dropped - 1} - 1$, and then shift right and left again.


# %% mutant="storage_round_bits"
# Cuts off
# This rounds toward 0, so about half of all numbers end up one step too small.
def round_bits(bits, dropped):
    return bits >> dropped << dropped


# %% mutant="storage_round_bits"
# Halves go up
# Exactly in the middle, this always rounds away from 0. IEEE 754 rounds to the even neighbour, so that errors cancel.
def round_bits(bits, dropped):
    return (bits + np.uint32(1 << (dropped - 1))) >> dropped << dropped


# %% mutant="storage_round_bits"
# Halves go down
# Exactly in the middle, this always rounds toward 0. A pattern whose last kept bit is 1 must be rounded up.
def round_bits(bits, dropped):
    return (bits + np.uint32((1 << (dropped - 1)) - 1)) >> dropped << dropped


# %% mutant="storage_round_bits"
# Rounds the mantissa alone
# The carry of a mantissa of ones is lost. It belongs into the exponent, because the next number is a power of two.
def round_bits(bits, dropped):
    ends, mantissa = bits >> 23 << 23, bits & np.uint32((1 << 23) - 1)
    odd = mantissa >> dropped & 1
    rounded = (mantissa + np.uint32((1 << (dropped - 1)) - 1) + odd) >> dropped << dropped
    return ends | rounded & np.uint32((1 << 23) - 1)


# %% mutant="storage_round_bits"
# Delegates to bfloat16
# This is correct for 16 bits and for no other number. The function has to remove `dropped` bits.
def round_bits(bits, dropped):
    numbers = torch.from_numpy(bits.view(np.float32).copy())
    return numbers.to(torch.bfloat16).float().numpy().view(np.uint32)


# %% [markdown] exercise="dtypes_repair_motion" kind="repair" points=3
# ### Exercise 6 · The alarm that rings at night
# `moved` compares two frames of a camera, which are uint8 images of the same size, and returns the fraction of pixels that became
# brighter or darker by more than `limit`. In daylight it works. At night, when pixels flicker between 3 and 5, it reports that
# the whole picture moves, and when a lamp is switched off, it sometimes detects nothing. Fix it.


# %% solution="dtypes_repair_motion"
def moved(before: torch.Tensor, after: torch.Tensor, limit: int) -> float:
    """The fraction of pixels that differ by more than `limit`."""
    ### BEGIN SOLUTION
    difference = (after.to(torch.int16) - before.to(torch.int16)).abs()
    return (difference > limit).sum().item() / difference.numel()
    ### END SOLUTION
    ### BEGIN STUB
    # difference = (after - before).abs()
    # return (difference > limit).sum().item() / difference.numel()
    ### END STUB


# %% check="dtypes_repair_motion"
generator = check.rng()


def frame(low, high):
    return torch.from_numpy(generator.integers(low, high, size=(4, 5)).astype(np.uint8))


night, flicker, lamp = frame(3, 6), frame(3, 6), frame(200, 256)
one, other = frame(0, 256), frame(0, 256)
limit = int(generator.integers(20, 60))
check.show(
    {
        "limit": limit,
        "night": night,
        "flicker": flicker,
        "lamp": lamp,
        "night to flicker": moved(night, flicker, limit),
        "night to lamp": moved(night, lamp, limit),
        "lamp to night": moved(lamp, night, limit),
        "darker by 200, limit 100": moved(torch.full_like(night, 220), torch.full_like(night, 20), 100),
        "any frame to any other": moved(one, other, limit),
        "limits 0 and 1": [moved(night, flicker, 0), moved(night, flicker, 1)],
        "a single pixel": moved(night[:1, :1], lamp[:1, :1], limit),
        "afterwards still uint8": str(night.dtype),
    },
    text="The share of pixels that changed by more than the limit.",
)

# %% [markdown] hint="dtypes_repair_motion"
# Take one pixel that goes from 5 to 3, and print `difference` for it.

# %% [markdown] hint="dtypes_repair_motion"
# uint8 has no negative numbers, so 3 - 5 is 254, and `abs` comes too late to help. Which dtype holds all differences
# of two uint8 numbers?

# %% [markdown] hint="dtypes_repair_motion"
# Convert *before* you subtract, with `after.to(torch.int16) - before.to(torch.int16)` or `.float()`. int8 isn't
# enough, because it ends at 127.


# %% mutant="dtypes_repair_motion"
# Converts after subtracting
# The difference has already wrapped around, and 254 stays 254 as an int16.
def moved(before, after, limit):
    difference = (after - before).to(torch.int16).abs()
    return (difference > limit).sum().item() / difference.numel()


# %% mutant="dtypes_repair_motion"
# Converts to int8
# int8 ends at 127, so bright pixels become negative, and large differences wrap around.
def moved(before, after, limit):
    difference = (after.to(torch.int8) - before.to(torch.int8)).abs()
    return (difference > limit).sum().item() / difference.numel()


# %% mutant="dtypes_repair_motion"
# Sees only what becomes brighter
# A pixel that gets darker has changed too, so take the absolute value of the difference.
def moved(before, after, limit):
    difference = after.to(torch.int16) - before.to(torch.int16)
    return (difference > limit).sum().item() / difference.numel()


# %% mutant="dtypes_repair_motion"
# Takes the distance around the circle
# 250 is far from 2, and not eight steps away. The result must not wrap around.
def moved(before, after, limit):
    difference = (after - before).to(torch.int16)
    difference = torch.minimum(difference, 256 - difference)
    return (difference > limit).sum().item() / difference.numel()


# %% [markdown] exercise="storage_measure_stuck" kind="measure" points=2
# ### Exercise 7 · The counter that stops
# A counter of type `dtype` starts at 0, and 1 is added again and again. At some number it stops growing. Find that number by
# experiment for bfloat16, float16, float32 and float64, changing only the dtype.
#
# Counting one by one takes too long in the wide types. Test single numbers instead: does the counter grow from this one?


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
# Count in bfloat16 first, with `x = x + 1` in a loop that stops when nothing changes. What is special about the
# number at which it stops?

# %% [markdown] hint="storage_measure_stuck"
# The spacing between neighbours doubles at each power of two, and the counter stops where it becomes 2.

# %% [markdown] hint="storage_measure_stuck"
# Try 1, 2, 4, 8 … as tensors of the dtype, until `number + 1 == number`.


# %% mutant="storage_measure_stuck"
# Counts in the default type
# The tensor is float32, whatever `dtype` says. Pass the dtype where the number is created.
def stuck_at(dtype):
    number = torch.tensor(1.0)
    while number + 1 != number:
        number = number * 2
    return int(number)


# %% mutant="storage_measure_stuck"
# One step too far
# That is the first whole number that the type can't represent. The counter stops at the one before it.
def stuck_at(dtype):
    number = torch.tensor(1, dtype=dtype)
    while number + 1 != number:
        number = number * 2
    return int(number) + 1


# %% mutant="storage_measure_stuck"
# From the epsilon
# 1 / eps is half of the answer. At that number the spacing is 1, and the counter still grows.
def stuck_at(dtype):
    return int(1 / torch.finfo(dtype).eps)
