# %% [markdown]
# # Exercises · Core

# %% setup=true
from __future__ import annotations

import math  # noqa: F401

from course import check

# %% setup=true
import minitorch as torch

# %% [markdown] exercise="core_strides" kind="core" points=4 part="mytorch.strides:strides"
# ### Exercise 1 · Strides
# Give the stride of each dimension of a contiguous array.


# %% docstrings="core_strides"
def strides():
    """The stride of each dimension, in elements.

    The last one is 1.
    """


# %% check="core_strides"
size = tuple(int(length) for length in check.rng().integers(2, 6, size=3))
check.show({"size": size, "strides": mytorch.strides(size), "offset": mytorch.offset(size, (1, 1, 1))})

# %% [markdown] hint="core_strides"
# One.

# %% [markdown] hint="core_strides"
# Two.

# %% [markdown] hint="core_strides"
# Three.


# %% mutant="core_strides"
# Walks from the left
# These are the strides of a column-major array.
def strides(size):
    made, step = [], 1
    for length in size:
        made.append(step)
        step *= length
    return tuple(made)


# %% mutant="core_strides"
# Delegates to minitorch
# mytorch stands on NumPy alone.
def strides(size):
    import minitorch

    return minitorch.empty(size).stride()


# %% mutant="core_strides"
# Delegates to mytorch
# This is the function that you write.
import mytorch


def strides(size):
    return mytorch.strides(size)


# %% mutant="core_strides"
# Delegates to the original by another name
# This is the function that you write.
from mytorch.strides import strides as original


def strides(size):
    return original(size)


# %% [markdown] exercise="core_tensor" kind="core" points="1 1" part="mytorch.tensor:Tensor.rows mytorch.tensor:Tensor.describe"
# ### Exercise 2 · Two methods
# Write them.

# %% check="core_tensor"
tensor = mytorch.Tensor(check.rng().normal(size=(int(check.rng().integers(2, 9)), 2)))
check.show({"rows": tensor.rows, "described": tensor.describe("it")})

# %% [markdown] hint="core_tensor"
# One.

# %% [markdown] hint="core_tensor"
# Two.

# %% [markdown] hint="core_tensor"
# Three.


# %% mutant="core_tensor"
# Counts the elements
# A row is not an element.
def rows(self):
    return self.values.size


# %% mutant="core_tensor"
# Forgets the name
# The name comes first.
def describe(self, name="tensor"):
    return f"""tensor
  rows: {self.rows}"""


# %% [markdown] exercise="core_derivative" kind="core" points=1 part="mytorch.derivatives:derivative.mul"
# ### Exercise 3 · A formula
# Declare it.

# %% check="core_derivative"
values = check.rng().normal(size=2)
check.show({"values": values, "slopes": [mytorch.slope("mul", wanted, *values) for wanted in "xy"]})

# %% [markdown] hint="core_derivative"
# One.

# %% [markdown] hint="core_derivative"
# Two.

# %% [markdown] hint="core_derivative"
# Three.

# %% mutant="core_derivative"
# Of a sum
# The other factor stays.
derivative("mul", x=lambda g, y: g, y=lambda g, x: g)

# %% mutant="core_derivative"
# Wrong sign
# Nothing changes the sign.
derivative("mul", x=lambda g, y: -g * y, y=lambda g, x: -g * x)

# %% [markdown] exercise="measure_offset" kind="measure" points=1
# ### Exercise 4 · No part
# What is the offset of the last element of a 7×5 array?


# %% solution="measure_offset"
def last():
    ### BEGIN SOLUTION
    return torch.empty(7, 5).numel() - 1
    ### END SOLUTION


# %% check="measure_offset"
mytorch = check.mytorch(chapter=6)
check.show({"last": last(), "there": mytorch.offset((7, 5), (6, 4))})

# %% [markdown] hint="measure_offset"
# One.

# %% [markdown] hint="measure_offset"
# Two.

# %% [markdown] hint="measure_offset"
# Three.


# %% mutant="measure_offset"
# Counts
# The first offset is 0.
def last():
    return 35


# %% mutant="measure_offset"
# Adds
# Multiply.
def last():
    return 12
