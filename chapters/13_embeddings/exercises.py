# %% [markdown]
# # Exercises · Embeddings
# In this notebook you write the lookup, its gradient and the layer for `mytorch`; a search for nearest neighbours
# that takes a whole batch; a corrected initialization; and an experiment on how long optimizers keep moving a word
# that no longer occurs. In exercises 2 to 4 your functions run inside a file of `mytorch`, which has `np` and all
# names that a task or a docstring mentions; import anything else in the cell itself. In the other exercises `torch`
# is minitorch.

# %% setup=true
from __future__ import annotations

import sys
import tracemalloc

import numpy as np

from course import check


def pick(rng, *choices):
    """One of the choices, drawn at random."""
    return choices[int(rng.integers(len(choices)))]


# %% setup=true
import minitorch as torch
from minitorch import nn

# %% [markdown] exercise="embedding_predict_gradient" kind="predict" points=1
# ### Exercise 1 · Which rows get what?
# ```python
# layer = torch.nn.Embedding(5, 1, padding_idx=-1)
# words = torch.tensor([1, 3, 4, 1, 4, 0])
# weights = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
# (layer(words).squeeze(1) * weights).sum().backward()
# ```
# Set `prediction` to the five elements of `layer.weight.grad`, as integers, before you run the code.

# %% solution="embedding_predict_gradient"
### BEGIN SOLUTION
prediction = [6, 5, 0, 2, 0]
### END SOLUTION
### BEGIN STUB
# prediction = [..., ..., ..., ..., ...]
### END STUB

# %% check="embedding_predict_gradient"
check.show({"prediction": [int(each) for each in prediction]}, secret=True)

# %% [markdown] hint="embedding_predict_gradient"
# Go through the six positions one by one. To which row of the table does the gradient of each position go?

# %% [markdown] hint="embedding_predict_gradient"
# The gradient of position k is `weights[k]`, and word 1 occurs at two positions.

# %% [markdown] hint="embedding_predict_gradient"
# `padding_idx=-1` counts from the end, so it is row 4, which receives no gradient.

# %% mutant="embedding_predict_gradient"
# The last write wins
# Word 1 occurs at two positions, and the gradients of both are added: 1 + 4.
prediction = [6, 4, 0, 2, 0]

# %% mutant="embedding_predict_gradient"
# No padding
# `padding_idx=-1` means the last row, row 4, which receives no gradient.
prediction = [6, 5, 0, 2, 8]

# %% mutant="embedding_predict_gradient"
# Counts the positions
# This is how often each word occurs. The gradient of each position is its weight in the sum.
prediction = [1, 2, 0, 1, 0]

# %% mutant="embedding_predict_gradient"
# The mean of the positions
# The gradients of one row are added, not averaged, unless you pass `scale_grad_by_freq=True`. (Here the mean is 2.5.)
prediction = [6, 2, 0, 2, 0]

# %% mutant="embedding_predict_gradient"
# Two slips
# The gradients of two positions with the same word are added, 1 + 4, and `padding_idx=-1` means row 4, which receives
# no gradient.
prediction = [6, 4, 0, 2, 5]

# %% mutant="embedding_predict_gradient"
# Padding is row 0
# The padding index is often 0, but here it is −1, which means the last row, row 4.
prediction = [0, 5, 0, 2, 8]

# %% [markdown] exercise="embedding_lookup" kind="core" points="2 1" part="mytorch.nn.embedding:embedding mytorch.nn.embedding:check_rows"
# ### Exercise 2 · The lookup
# Both functions take NumPy arrays, and `embedding` calls `check_rows` first. The errors are raised in this order:
#
# - whatever the provided `check_padding(padding_idx, rows)` raises, where `rows` is `len(weight)`;
# - `RuntimeError`, "'weight' must be 2-D";
# - the error that the provided `wrong_type(input.dtype)` returns, if the indices are neither int64 nor int32;
# - `IndexError`, "index out of range in self", for negative indices as well. An empty array is never out of range.


# %% docstrings="embedding_lookup"
def embedding():
    """Looks up the rows of a table that `input` names: arrays (...) and (rows, width) give (..., width).

    `check_rows` raises the errors. The row `padding_idx` receives no gradient.

    Raises:
        IndexError: an index has no row in the table.
    """


# %% check="embedding_lookup" raises="AssertionError IndexError RuntimeError"
rng = check.rng()
rows, width = int(rng.integers(4, 8)), int(rng.integers(2, 4))
table = mytorch.from_numpy(rng.integers(0, 100, (rows, width)).astype("float32"))
table.requires_grad_()
cases = {
    "a number": np.array(rows - 1),
    "a row": rng.integers(0, rows, 5),
    "a batch": rng.integers(0, rows, (2, 3)),
    "int32": rng.integers(0, rows, 3).astype("int32"),
    "nothing": np.zeros((3, 0), dtype="int64"),
    "one too large": np.array([0, rows]),
    "negative": np.array([1, -1]),
    "far too large": np.array([0, 3, 10 * rows]),
    "too large, then a row": np.array([rows, 0]),
    "a row, then negative": np.array([[0, -1], [1, 2]]),
    "floats": np.array([1.0, 2.0], dtype="float32"),
    "floats out of range": np.array([0.0, 99.0], dtype="float32"),
    "bytes": np.array([1, 2], dtype="uint8"),
    "int16": np.array([1, 2], dtype="int16"),
}
lookup = mytorch.nn.functional.embedding
values = {"table": table.detach()}
for name, case in cases.items():
    ids = mytorch.from_numpy(np.array(case))
    error = check.error(lookup, ids, table)
    values[f"{name}: {case.tolist()}"] = error or lookup(ids, table)
ids = mytorch.tensor([0, 2])
values["a table that is a vector"] = check.error(lookup, ids, table[0])
stacked = table.reshape(1, rows, width)
values["a stack of tables, wrong indices"] = check.error(lookup, ids.float(), stacked)
values["padding out of range"] = check.error(lookup, ids, table, rows)
values["padding out of range, a vector"] = check.error(lookup, ids, table[0], rows)
values["padding out of range, wrong indices"] = check.error(lookup, ids.float(), table, rows)
found = lookup(ids, table, 2)
found.sum().backward()
values |= {"padding is looked up": found, "its gradient": table.grad}
copied = lookup(ids, table).detach()
copied.fill_(-1)
lookup(mytorch.tensor(1), table).detach().fill_(-2)
values["the table, after a write into a result"] = table.detach()
check.show(values, text="The rows that are found, or the error.")

# %% [markdown] hint="embedding_lookup"
# NumPy's indexing accepts an integer array of any shape. Which of the invalid inputs would it accept as well, and
# which would it reject with a message of its own?

# %% [markdown] hint="embedding_lookup"
# `check_rows` tests four things in turn: `check_padding`, `weight.ndim`, `input.dtype not in (np.int64, np.int32)`,
# and then the range.

# %% [markdown] hint="embedding_lookup"
# `input.min()` of an empty array raises an error, so test `input.size` first: `if input.size and not (input.min() >=
# 0 and input.max() < len(weight))`. The lookup itself is `weight[input]`.


# %% mutant="embedding_lookup"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def embedding(input, weight, padding_idx=None):
    import minitorch

    found = minitorch.nn.functional.embedding(minitorch.from_numpy(input), minitorch.from_numpy(weight), padding_idx)
    return found.numpy()


# %% mutant="embedding_lookup"
# Counts negative indices from the back
# NumPy allows negative indices, but an embedding rejects them, because a negative word index is a bug.
def check_rows(input, weight, padding_idx):
    check_padding(padding_idx, len(weight))
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype not in (np.int64, np.int32):
        raise wrong_type(input.dtype)
    if input.size and not (input.min() >= -len(weight) and input.max() < len(weight)):
        raise IndexError("index out of range in self")


# %% mutant="embedding_lookup"
# Accepts the number of rows as an index
# Rows are counted from 0, so the last valid index is the number of rows minus 1.
def check_rows(input, weight, padding_idx):
    check_padding(padding_idx, len(weight))
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype not in (np.int64, np.int32):
        raise wrong_type(input.dtype)
    if input.size and not (input.min() >= 0 and input.max() <= len(weight)):
        raise IndexError("index out of range in self")


# %% mutant="embedding_lookup"
# Only Long
# int32 indices are accepted as well.
def check_rows(input, weight, padding_idx):
    check_padding(padding_idx, len(weight))
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype != np.int64:
        raise wrong_type(input.dtype)
    if input.size and not (input.min() >= 0 and input.max() < len(weight)):
        raise IndexError("index out of range in self")


# %% mutant="embedding_lookup"
# Checks the range first
# The dtype is checked first, because values that aren't valid indices can't be out of range.
def check_rows(input, weight, padding_idx):
    check_padding(padding_idx, len(weight))
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.size and not (input.min() >= 0 and input.max() < len(weight)):
        raise IndexError("index out of range in self")
    if input.dtype not in (np.int64, np.int32):
        raise wrong_type(input.dtype)


# %% mutant="embedding_lookup"
# Any signed integers
# Only int64 and int32 are accepted; other integer dtypes, such as int16 and int8, are rejected.
def check_rows(input, weight, padding_idx):
    check_padding(padding_idx, len(weight))
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype.kind != "i":
        raise wrong_type(input.dtype)
    if input.size and not (input.min() >= 0 and input.max() < len(weight)):
        raise IndexError("index out of range in self")


# %% mutant="embedding_lookup"
# Checks the padding last
# The padding index is checked first, before the table's shape and the dtype of the indices.
def check_rows(input, weight, padding_idx):
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype not in (np.int64, np.int32):
        raise wrong_type(input.dtype)
    check_padding(padding_idx, len(weight))
    if input.size and not (input.min() >= 0 and input.max() < len(weight)):
        raise IndexError("index out of range in self")


# %% mutant="embedding_lookup"
# Zeros for padding
# The padding row is looked up like any other. It contains zeros only until something writes to it.
def embedding(input, weight, padding_idx=None):
    check_rows(input, weight, padding_idx)
    found = weight[input]
    if padding_idx is not None:
        found[input == padding_idx] = 0
    return found


# %% [markdown] exercise="embedding_gradient" kind="core" points="2 1" part="mytorch.nn.embedding:embedding_backward mytorch.nn.embedding:without_padding"
# ### Exercise 3 · The gradient finds its rows
# `embedding_backward` takes arrays: `g` of shape (…, width) and `indices` of shape (…), with any number of
# dimensions. Use neither a loop over the words or the rows nor a matrix of one-hot vectors. The check counts the
# instructions that Python executes for 10 and for 1000 different words in a table with as many rows, and it measures
# the memory that a table of 200,000 rows takes.
#
# `without_padding` is the derivative of that function. It takes tensors and is composed of operations, so that
# autograd can differentiate it again: `embedding(indices, g)` is a lookup, and `x.masked_fill(mask, 0.0)` replaces
# elements by zero where the mask is true. In both functions `padding_idx` may be negative.


# %% docstrings="embedding_gradient"
def embedding_backward():
    """The gradient of a table: each of its `rows` rows gets the sum over the positions that used it.

    `g` has shape (..., width) and `indices` (...), both arrays; the result has shape (rows, width) and the
    dtype of `g`. A row that no position used is zero, and so is the row `padding_idx`.
    """


# %% check="embedding_gradient"
rng = check.rng()
rows, width = int(rng.integers(4, 7)), int(rng.integers(2, 4))
cases = {
    "a number": np.array(1),
    "a row": np.concatenate([rng.integers(0, rows, 5), [0, rows - 1, rows - 1]]),
    "a batch": np.concatenate([rng.integers(0, rows, (2, 3)), [[1, 1, rows - 1]]]),
    "nothing": np.zeros((2, 0), dtype="int64"),
}
padding = int(rng.integers(1, rows))
values = {}
for name, ids in cases.items():
    g = rng.integers(1, 9, (*ids.shape, width)).astype("float64")
    for padding_idx in (None, 0, padding - rows):
        table = mytorch.zeros(rows, width, dtype=mytorch.float64, requires_grad=True)
        found = mytorch.nn.functional.embedding(mytorch.from_numpy(ids), table, padding_idx)
        found.backward(mytorch.from_numpy(g))
        values[f"{name}: {ids.tolist()}, g {g.tolist()}, padding_idx {padding_idx}"] = table.grad
table = mytorch.from_numpy(rng.normal(size=(rows, width)).round(3)).requires_grad_()
for padding_idx in (None, 1, -1):
    ids = mytorch.from_numpy(cases["a batch"])
    found = mytorch.nn.functional.embedding(ids, table, padding_idx)
    factors = mytorch.ones(*found.shape, dtype=mytorch.float64, requires_grad=True)
    (grad,) = mytorch.autograd.grad((found**2 * factors).sum(), [table], create_graph=True)
    second = mytorch.autograd.grad((grad**2 + grad).sum(), [table, factors], retain_graph=True)
    values[f"second derivatives, padding_idx {padding_idx}"] = second
    slopes = mytorch.ones(rows, width, dtype=mytorch.float64, requires_grad=True)
    (back,) = mytorch.autograd.grad([grad], [factors], [slopes], create_graph=True)
    values[f"third derivatives, padding_idx {padding_idx}"] = mytorch.autograd.grad(back.sum(), [slopes])
for kind in ("float32", "float64"):
    g = mytorch.from_numpy(rng.integers(1, 9, (3, width)).astype(kind))
    values[f"of {kind}"] = mytorch.nn.embedding.embedding_backward(g, mytorch.tensor([1, 0, 1]), rows, None)
infinite = mytorch.tensor([[float("inf")] * width, [1.0] * width, [float("nan")] * width])
of_infinite = mytorch.nn.embedding.embedding_backward(infinite, mytorch.tensor([1, 0, 1]), rows, 1)
values["infinite gradients and nan at the padding"] = of_infinite
values["infinite gradients, and back"] = mytorch.nn.embedding.without_padding(infinite, mytorch.arange(3), 3, -1)
back, one_row = mytorch.nn.embedding.without_padding, mytorch.ones(1, 1, width)
of_rows = mytorch.from_numpy(rng.normal(size=(rows, width)).astype("float32"))
for name, ids in cases.items():
    found = check.intact(back, of_rows, mytorch.from_numpy(ids), rows, padding - rows)
    values[f"without_padding, {name}, padding_idx {padding - rows}"] = found
of_one = mytorch.nn.embedding.embedding_backward(one_row, mytorch.tensor([[0]]), 1, None)
values["a table of one row, and back"] = of_one, back(of_one, mytorch.tensor([[0]]), 1, None)
large = mytorch.zeros(200_000, 2, requires_grad=True)
many = mytorch.from_numpy(rng.integers(0, 200_000, 300))
tracemalloc.start()
mytorch.nn.functional.embedding(many, large).sum().backward()
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
values["rows used in a large table"] = int((large.grad.numpy() != 0).any(1).sum())
values["memory of more than ten tables"] = peak > 10 * large.nbytes


def instructions(count):
    """How many instructions Python executes for this number of words and rows."""
    seen = 0

    def see(frame, event, argument):
        nonlocal seen
        frame.f_trace_opcodes, seen = True, seen + (event == "opcode")
        return see

    g, ids, outer = mytorch.ones(count, width), mytorch.arange(count), sys.gettrace()
    sys.settrace(see)
    try:
        mytorch.nn.embedding.embedding_backward(g, ids, count, None)
    finally:
        sys.settrace(outer)
    return seen


values["a loop over words or rows"] = instructions(1000) - instructions(10) > 900
check.show(values, text="Gradients of the table, for the words and the gradients of their positions.")

# %% [markdown] hint="embedding_gradient"
# `result[indices] += g` loses repeated indices, as in the lesson's first cell. Which function did the `scatter_add`
# that you wrote in chapter 04 use to add?

# %% [markdown] hint="embedding_gradient"
# Create zeros of shape (rows, width) with the dtype of `g`: `np.zeros_like(g, shape=…)`. `np.add.at(result, indices,
# g)` adds all the gradients, whatever the shape of `indices`. Finally, set the padding row to 0.

# %% [markdown] hint="embedding_gradient"
# For `without_padding`: the gradient of a sum in row i goes to each position that contributed to row i, which is a
# lookup. Positions with padding contributed nothing. The mask is `indices.eq(padding_idx % rows)`, with a dimension
# added at the end.


# %% mutant="embedding_gradient"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def embedding_backward(g, indices, rows, padding_idx):
    import minitorch

    table = minitorch.zeros(rows, g.shape[-1], dtype=minitorch.float64, requires_grad=True)
    found = minitorch.nn.functional.embedding(minitorch.from_numpy(indices), table, padding_idx)
    found.backward(minitorch.from_numpy(g))
    return table.grad.numpy()


# %% mutant="embedding_gradient"
# Loses repeated indices
# NumPy reads all rows, adds, and writes them back, so a row that occurs twice is written twice, with one addition
# each.
def embedding_backward(g, indices, rows, padding_idx):
    result = np.zeros_like(g, shape=(rows, g.shape[-1]))
    result[indices] += g
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


# %% mutant="embedding_gradient"
# Loops over the words
# The values are correct, but Python handles each word separately, whereas one call of `np.add.at` adds all of them.
def embedding_backward(g, indices, rows, padding_idx):
    result = np.zeros_like(g, shape=(rows, g.shape[-1]))
    for place, row in zip(indices.ravel(), g.reshape(-1, g.shape[-1]), strict=True):
        result[place] += row
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


# %% mutant="embedding_gradient"
# One-hot vectors
# The values are correct, but the matrix has as many elements as the number of words times the number of rows.
def embedding_backward(g, indices, rows, padding_idx):
    chosen = (np.arange(rows)[:, None] == indices.reshape(-1)).astype(g.dtype)
    result = chosen @ g.reshape(-1, g.shape[-1])
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


# %% mutant="embedding_gradient"
# Loops over the different words
# The values are correct, but Python still handles each different word separately, whereas one call of `np.add.at`
# adds all of them.
def embedding_backward(g, indices, rows, padding_idx):
    result = np.zeros_like(g, shape=(rows, g.shape[-1]))
    for word in np.unique(indices):
        result[word] = g[indices == word].sum(0)
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


# %% mutant="embedding_gradient"
# Writes zeros behind autograd's back
# The values are correct, but autograd doesn't record what is written through `data`, so the next derivative is
# incorrect.
def without_padding(g, indices, rows, padding_idx):
    found = embedding(indices, g.clone())
    if padding_idx is not None:
        found.data[(indices == padding_idx % rows).numpy()] = 0.0
    return found


# %% mutant="embedding_gradient"
# Divides by the number of positions
# That is what `scale_grad_by_freq` does. The gradient itself is the sum.
def embedding_backward(g, indices, rows, padding_idx):
    result = np.zeros_like(g, shape=(rows, g.shape[-1]))
    np.add.at(result, indices, g)
    count = np.bincount(indices.ravel(), minlength=rows)
    result /= np.maximum(count, 1)[:, None]
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


# %% mutant="embedding_gradient"
# Always float64
# `np.zeros` is float64 by default, but the gradient should have the dtype of `g`.
def embedding_backward(g, indices, rows, padding_idx):
    result = np.zeros((rows, g.shape[-1]))
    np.add.at(result, indices, g)
    if padding_idx is not None:
        result[padding_idx] = 0
    return result


# %% mutant="embedding_gradient"
# Treats padding index 0 as no padding
# `if padding_idx:` is false for 0, the most common padding index. Test `is not None` instead.
def embedding_backward(g, indices, rows, padding_idx):
    result = np.zeros_like(g, shape=(rows, g.shape[-1]))
    np.add.at(result, indices, g)
    if padding_idx:
        result[padding_idx] = 0
    return result


# %% mutant="embedding_gradient"
# Forgets padding in the backward pass
# Positions with padding contributed nothing to the gradient, so no gradient flows back to them.
def without_padding(g, indices, rows, padding_idx):
    return embedding(indices, g)


# %% mutant="embedding_gradient"
# Compares with a negative number
# Indices are never negative, so convert -1 to the index of the last row first: `padding_idx % rows`.
def without_padding(g, indices, rows, padding_idx):
    found = embedding(indices, g)
    return found if padding_idx is None else found.masked_fill(indices.eq(padding_idx).unsqueeze(-1), 0.0)


# %% [markdown] exercise="embedding_layer" kind="core" points="1 1 1" part="mytorch.nn.embedding:Embedding.__init__ mytorch.nn.embedding:Embedding.reset_parameters mytorch.nn.embedding:Embedding.from_pretrained"
# ### Exercise 4 · The layer
# `Embedding(num_embeddings, embedding_dim, padding_idx)` initializes its table with `reset_parameters`, which may be
# called again later and must keep the same `Parameter`, because an optimizer may hold it. `from_pretrained` shares
# the memory of the tensor that it is given. It doesn't draw any random numbers, not even discarded ones, so the
# generator gives the same numbers afterwards as if the method had not been called.
#
# The attributes are `num_embeddings`, `embedding_dim`, `padding_idx` and `weight`, and a negative `padding_idx` is
# stored as the index of the row that it means. `check_padding(padding_idx, rows)` raises the errors, `empty(rows,
# width)` creates a tensor, `normal_(tensor)` fills it with normally distributed values, and `Parameter(data,
# requires_grad)` comes from chapter 09. `from_pretrained` is a `@classmethod`, whose first argument `cls` is the
# class.

# %% check="embedding_layer" raises="AssertionError"
rng = check.rng()
rows, width = int(rng.integers(4, 7)), int(rng.integers(2, 4))
Embedding = mytorch.nn.Embedding
values, padding_row = {"rows": rows, "width": width}, int(rng.integers(1, rows))


def describe(layer):
    sizes = layer.num_embeddings, layer.embedding_dim, layer.padding_idx
    return {
        "sizes": sizes,
        "weight": layer.weight.detach().clone(),
        "trained": layer.weight.requires_grad,
        "printed": str(layer),
    }


for padding_idx in (None, 0, padding_row, -1):
    mytorch.manual_seed(check.seed())
    layer = Embedding(rows, width, padding_idx)
    values[f"new, padding_idx {padding_idx}"] = describe(layer)
    with mytorch.no_grad():
        layer.weight.fill_(7.0)
    values[f"after a write, padding_idx {padding_idx}"] = layer(mytorch.tensor([0, rows - 1]))
    parameter = layer.weight
    layer.reset_parameters()
    values[f"drawn again, padding_idx {padding_idx}"] = describe(layer)
    values[f"the same parameter, padding_idx {padding_idx}"] = layer.weight is parameter
    layer(mytorch.arange(rows)).sum().backward()
    values[f"its gradient, padding_idx {padding_idx}"] = layer.weight.grad
table = mytorch.from_numpy(rng.normal(size=(rows, width)).astype("float32"))
mytorch.manual_seed(check.seed())
frozen = Embedding.from_pretrained(table, padding_idx=-rows)
open_ = Embedding.from_pretrained(table, freeze=False)
values |= {"frozen": describe(frozen), "not frozen": describe(open_), "drawn after that": mytorch.rand(2)}
table[0, 0] = 100.0
values["after a write into the tensor"] = frozen(mytorch.tensor(0))
values |= {
    "one row of one element": describe(Embedding(1, 1)),
    "another table": describe(Embedding.from_pretrained(2 * table, padding_idx=-rows)),
    "the table of a layer, one row of it": [
        describe(Embedding.from_pretrained(each)) for each in (open_.weight, table[:1])
    ],
}
values["parameters"] = [name for name, _ in frozen.named_parameters()]
values["the given parameter is trained as before"] = open_.weight.requires_grad
separate = Embedding.from_pretrained(2 * table)
separate.reset_parameters()
values["a frozen layer, drawn again, is trained"] = separate.weight.requires_grad


class Named(Embedding):
    def reset_parameters(self):
        with mytorch.no_grad():
            self.weight.fill_(0.5)


values["of a subclass"] = type(Named.from_pretrained(table)).__name__
values["of a subclass with an initialization of its own"] = Named(rows, width).weight.detach()
for name, call in {
    "new": lambda: Embedding(rows, width, rows),
    "negative": lambda: Embedding(rows, width, -rows - 1),
    "pretrained": lambda: Embedding.from_pretrained(table, padding_idx=rows),
}.items():
    values[f"padding out of range, {name}"] = check.error(call)
check.show(values, text="Layers, their attributes and tables, and the inputs that they reject.")

# %% [markdown] hint="embedding_layer"
# `__init__` begins with `super().__init__()`, in the form that works in a cell of its own: `super(Embedding,
# self).__init__()`. Then come the check, the attributes, a `Parameter` around `empty(rows, width)`, and
# `reset_parameters`.

# %% [markdown] hint="embedding_layer"
# `reset_parameters` fills the table and then sets the padding row to zero through `self.weight.data`, because
# autograd must not record it.

# %% [markdown] hint="embedding_layer"
# `from_pretrained` needs an object whose `__init__` hasn't run, since that would draw random numbers: `layer =
# cls.__new__(cls)`, then `Module.__init__(layer)`, then the attributes. The padding row isn't set to zero here.


# %% mutant="embedding_layer"
# Draws, then discards
# The random values aren't kept, but the generator has advanced, so whatever is drawn next is different.
@classmethod
def from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
    layer = cls(*embeddings.shape, padding_idx)
    layer.weight = Parameter(embeddings, requires_grad=not freeze)
    return layer


# %% mutant="embedding_layer"
# Trains what should be frozen
# A pretrained table is frozen unless `freeze=False` is passed.
@classmethod
def from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
    layer = cls.__new__(cls)
    Module.__init__(layer)
    check_padding(padding_idx, len(embeddings))
    layer.num_embeddings, layer.embedding_dim = embeddings.shape
    layer.padding_idx = None if padding_idx is None else padding_idx % len(embeddings)
    layer.weight = Parameter(embeddings)
    return layer


# %% mutant="embedding_layer"
# Copies the table
# The layer shares its memory with the tensor, because copying a table of one gigabyte takes time and another
# gigabyte.
@classmethod
def from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
    layer = cls.__new__(cls)
    Module.__init__(layer)
    check_padding(padding_idx, len(embeddings))
    layer.num_embeddings, layer.embedding_dim = embeddings.shape
    layer.padding_idx = None if padding_idx is None else padding_idx % len(embeddings)
    layer.weight = Parameter(embeddings.clone(), requires_grad=not freeze)
    return layer


# %% mutant="embedding_layer"
# Forgets the padding row
# The padding row starts at zero. Nothing would bring it there later, since it receives no gradient.
def reset_parameters(self):
    normal_(self.weight)


# %% mutant="embedding_layer"
# Treats padding index 0 as no padding
# `if self.padding_idx:` is false for 0, the most common padding index. Test `is not None` instead.
def reset_parameters(self):
    normal_(self.weight)
    if self.padding_idx:
        self.weight.data[self.padding_idx] = 0


# %% mutant="embedding_layer"
# A new parameter
# An optimizer that holds the old parameter would train a table that the layer no longer uses. Fill the existing one.
def reset_parameters(self):
    table = normal_(empty(self.num_embeddings, self.embedding_dim))
    if self.padding_idx is not None:
        table[self.padding_idx] = 0
    self.weight = Parameter(table)


# %% mutant="embedding_layer"
# Clears a row of the given table
# `from_pretrained` leaves the values as they are, those of the padding row as well, because the table belongs to the
# caller.
@classmethod
def from_pretrained(cls, embeddings, freeze=True, padding_idx=None):
    layer = cls.__new__(cls)
    Module.__init__(layer)
    check_padding(padding_idx, len(embeddings))
    layer.num_embeddings, layer.embedding_dim = embeddings.shape
    layer.padding_idx = None if padding_idx is None else padding_idx % len(embeddings)
    layer.weight = Parameter(embeddings, requires_grad=not freeze)
    if padding_idx is not None:
        layer.weight.data[padding_idx] = 0
    return layer


# %% mutant="embedding_layer"
# Stores a negative index
# The attribute is the row's own index: -1 in a table of five rows is stored, and printed, as 4.
def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
    super(Embedding, self).__init__()
    check_padding(padding_idx, num_embeddings)
    self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
    self.padding_idx = padding_idx
    self.weight = Parameter(empty(num_embeddings, embedding_dim))
    self.reset_parameters()


# %% mutant="embedding_layer"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def reset_parameters(self):
    import minitorch

    layer = minitorch.nn.Embedding(self.num_embeddings, self.embedding_dim, self.padding_idx)
    self.weight.data.copy_(from_array(layer.weight.detach().numpy()))


# %% [markdown] exercise="embedding_nearest" kind="build" points=3
# ### Exercise 5 · Neighbours for a whole batch
# For each word in `words`, return the indices of the `count` rows of `table` with the largest cosine similarity, best
# first; (rows, width) and (batch,) give (batch, count). A word isn't its own neighbour, although another row with
# exactly the same values may be. A zero row, such as that of the padding, is never a neighbour, and if a word's own
# row is zero, all of its results are −1.


# %% solution="embedding_nearest"
def nearest(table: torch.Tensor, words: torch.Tensor, count: int) -> torch.Tensor:
    """The indices of the nearest rows, (batch, count)."""
    ### BEGIN SOLUTION
    length = table.norm(dim=1, keepdim=True)
    unit = table / length.masked_fill(length == 0, 1.0)
    cosine = unit[words] @ unit.t()
    cosine = cosine.masked_fill((length == 0).t(), -torch.inf)
    cosine[torch.arange(len(words)), words] = -torch.inf
    found = cosine.argsort(dim=1, descending=True)[:, :count]
    return found.masked_fill(length[words] == 0, -1)
    ### END SOLUTION


# %% check="embedding_nearest"
rng = check.rng()
rows, width = int(rng.integers(9, 14)), 4
numbers = rng.normal(size=(rows, width)) * 10 ** rng.uniform(-3, 1, size=(rows, 1))
empty_row, twin, original, *others = (int(each) for each in rng.permutation(rows)[:7])
numbers[empty_row], numbers[twin] = 0.0, numbers[original]
table = torch.tensor(numbers.astype("float32"))
before = table.clone()
words = torch.tensor([original, twin, empty_row])
values = {
    "words": words,
    "zero row": empty_row,
    "equal rows": sorted((original, twin)),
    "nearest": nearest(table, words, 3),
    "other words": others,
    "the vectors of their nearest": table[nearest(table, torch.tensor(others), 2)],
    "one word": nearest(table, words[:1], 1),
    "another word": nearest(table, words[1:2], 1),
    "a word that occurs twice": nearest(table, words[[1, 0, 1]], 1),
    "the vector of its nearest in another table": table.flip(0)[nearest(table.flip(0), words[:1], 1)],
    "the table is unchanged": torch.equal(table, before),
}
opposite = torch.tensor([[0.0, 0.0], [1.0, 0.0], [-3.0, 0.0], [0.0, 0.0], [-1.0, -0.5]])
values["all others point away"] = nearest(opposite, torch.tensor([1]), 2)
# The first row's elements cancel, and the second row is short; neither is zero.
unusual = torch.tensor([[3.0, -3.0], [2e-9, -1e-9], [1.0, 1.0], [-1.0, 0.0]])
values["not zero"] = nearest(unusual, torch.tensor([0, 1]), 1)
check.show(values, text="The indices of the nearest rows, best first, or their vectors.")

# %% [markdown] hint="embedding_nearest"
# Divide each row by its length, except that a zero row is divided by 1. A single matrix multiplication then gives all
# cosines, (batch, rows).

# %% [markdown] hint="embedding_nearest"
# Rows that must not be found get a cosine of −inf. Zero isn't low enough, because a cosine can be as low as −1.

# %% [markdown] hint="embedding_nearest"
# `cosine[torch.arange(len(words)), words] = -torch.inf` excludes the words themselves, and a mask of shape (1, rows)
# excludes the zero rows. The result is `argsort(dim=1, descending=True)[:, :count]`, with −1 where the word's own
# length is 0.


# %% mutant="embedding_nearest"
# Ranks by the dot product
# A long row wins against a more similar one, so divide by the lengths first.
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    score = (table[words] @ table.t()).masked_fill((length == 0).t(), -torch.inf)
    score[torch.arange(len(words)), words] = -torch.inf
    found = score.argsort(dim=1, descending=True)[:, :count]
    return found.masked_fill(length[words] == 0, -1)


# %% mutant="embedding_nearest"
# Drops the first result
# The first result isn't always the word itself, because an identical row may come before it.
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    unit = table / length.masked_fill(length == 0, 1.0)
    cosine = (unit[words] @ unit.t()).masked_fill((length == 0).t(), -torch.inf)
    cosine = cosine.masked_fill(cosine > 0.9999, 1.0)
    later = torch.arange(len(table)).flip(0)
    found = later[cosine.flip(1).argsort(dim=1, descending=True, stable=True)][:, 1 : count + 1]
    return found.masked_fill(length[words] == 0, -1)


# %% mutant="embedding_nearest"
# Padding has cosine 0
# Zero isn't the lowest cosine: if all other rows point away, the zero row would come first.
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    unit = table / length.masked_fill(length == 0, 1.0)
    cosine = unit[words] @ unit.t()
    cosine[torch.arange(len(words)), words] = -torch.inf
    found = cosine.argsort(dim=1, descending=True)[:, :count]
    return found.masked_fill(length[words] == 0, -1)


# %% mutant="embedding_nearest"
# Excludes with −1
# A row that points in exactly the opposite direction also has cosine −1, so it is a matter of luck which of the two
# is found.
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    unit = table / length.masked_fill(length == 0, 1.0)
    cosine = (unit[words] @ unit.t()).masked_fill((length == 0).t(), -1)
    cosine[torch.arange(len(words)), words] = -1
    found = cosine.argsort(dim=1, descending=True, stable=True)[:, :count]
    return found.masked_fill(length[words] == 0, -1)


# %% mutant="embedding_nearest"
# Clamps the lengths from below
# Only a length of 0 needs special care. A lower bound on the lengths leaves short rows too short, and their cosines
# too small.
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    unit = table / length.clamp(min=1.0)
    cosine = (unit[words] @ unit.t()).masked_fill((length == 0).t(), -torch.inf)
    cosine[torch.arange(len(words)), words] = -torch.inf
    found = cosine.argsort(dim=1, descending=True)[:, :count]
    return found.masked_fill(length[words] == 0, -1)


# %% mutant="embedding_nearest"
# Divides by zero
# A zero row divided by its length is 0 / 0, which is nan, and sorting treats nan as the largest value.
def nearest(table, words, count):
    unit = table / table.norm(dim=1, keepdim=True)
    cosine = unit[words] @ unit.t()
    cosine[torch.arange(len(words)), words] = -torch.inf
    return cosine.argsort(dim=1, descending=True)[:, :count]


# %% mutant="embedding_nearest"
# Divides in place
# The table belongs to the caller, and now all of its rows have length 1.
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    table /= length.masked_fill(length == 0, 1.0)
    cosine = (table[words] @ table.t()).masked_fill((length == 0).t(), -torch.inf)
    cosine[torch.arange(len(words)), words] = -torch.inf
    found = cosine.argsort(dim=1, descending=True)[:, :count]
    return found.masked_fill(length[words] == 0, -1)


# %% mutant="embedding_nearest"
# Ranks by the distance
# Two vectors with the same direction and different lengths have cosine 1, however far apart they are.
def nearest(table, words, count):
    length = table.norm(dim=1, keepdim=True)
    distance = (table[words].unsqueeze(1) - table).norm(dim=2).masked_fill((length == 0).t(), torch.inf)
    distance[torch.arange(len(words)), words] = torch.inf
    return distance.argsort(dim=1)[:, :count].masked_fill(length[words] == 0, -1)


# %% [markdown] exercise="embedding_repair_init" kind="repair" points=3
# ### Exercise 6 · A score that depends on the batch
# A model scores a sentence by the sum of its word vectors, so padded positions should contribute nothing.
# `init_weights` is applied to every module with `model.apply(init_weights)`, as GPT-2 does it. Its users report three
# things:
#
# - A sentence gets a different score when a longer one is in its batch. The difference grows with the difference in
#   length.
# - Training for a hundred epochs doesn't help, because the difference is just as large afterwards.
# - Without `model.apply(init_weights)` the scores agree, but then the vectors are fifty times too large.
#
# Fix the function. New vectors of all words must still have a standard deviation of 0.02, and the model's parameters
# must remain the same objects, since an optimizer or another layer may hold them. Modules of other types stay as they
# are, and so does a table's `requires_grad`.


# %% solution="embedding_repair_init"
def init_weights(module: nn.Module) -> None:
    """Initializes a module: normally distributed weights with a standard deviation of 0.02, and biases of 0."""
    ### BEGIN SOLUTION
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        with torch.no_grad():
            module.weight[module.padding_idx].fill_(0)
    ### END SOLUTION
    ### BEGIN STUB
    # if isinstance(module, (nn.Linear, nn.Embedding)):
    #     nn.init.normal_(module.weight, std=0.02)
    # if isinstance(module, nn.Linear) and module.bias is not None:
    #     nn.init.zeros_(module.bias)
    ### END STUB


# %% check="embedding_repair_init"
rng = check.rng()
rows, padding = 60, int(rng.integers(1, 60))


class Words(nn.Embedding):
    """A table of words is an Embedding as well."""


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = Words(rows, 8, padding_idx=padding)
        self.kinds = nn.Embedding(60, 8)
        self.places = nn.Embedding(60, 8, padding_idx=0)
        self.out = nn.Linear(8, 60)
        self.scale = nn.Linear(60, 1, bias=False)

    def forward(self, ids):
        kind = self.kinds(torch.zeros(len(ids), dtype=torch.int64))
        return self.scale(self.out(self.words(ids).sum(1) + kind))


torch.manual_seed(check.seed())
model = Scores()
parameters = dict(model.named_parameters())
frozen = nn.Embedding.from_pretrained(torch.ones(3, 2), padding_idx=1)
model.apply(init_weights)
model.apply(init_weights)  # which starts anew, whatever the weights were before
sentence = [each for each in rng.integers(0, rows, 8).tolist() if each != padding][:4]
alone = torch.tensor([sentence])
filled = torch.tensor([sentence + [padding] * 9])
others = torch.arange(rows) != padding
vectors = {"words": model.words.weight[others], "kinds": model.kinds.weight, "places": model.places.weight[1:]}
spreads = {name: round(50 * each.std().item()) for name, each in {**vectors, "out": model.out.weight}.items()}
check.show(
    {
        "padding": padding,
        "sentence": sentence,
        "change of its score when it is padded": round(1e4 * abs(model(filled) - model(alone)).item(), 2),
        "padding row": model.words.weight[padding],
        "standard deviations, in units of 0.02": spreads,
        "row 0 of places, whose padding is 0": model.places.weight[0],
        "bias": model.out.bias,
        "replaced": [name for name, each in model.named_parameters() if each is not parameters[name]],
        "are trained": [name for name, each in model.named_parameters() if each.requires_grad],
        "two tables are equal": torch.equal(model.kinds.weight[1:], model.places.weight[1:]),
        "the weight of a LayerNorm": nn.LayerNorm(3).apply(init_weights).weight,
        "a frozen table is trained": frozen.apply(init_weights).weight.requires_grad,
        "in training mode, gradients are recorded": [
            nn.Linear(2, 1).apply(init_weights).training,
            torch.is_grad_enabled(),
        ],
    },
    text="A model after `apply(init_weights)`. The change of the score is multiplied by 10,000.",
)

# %% [markdown] hint="embedding_repair_init"
# What does a padded position add to the sum, and what did it add before `init_weights`?

# %% [markdown] hint="embedding_repair_init"
# The layer's own initial values have a property that `normal_` destroys. Training can't restore it: which rows
# receive a gradient?

# %% [markdown] hint="embedding_repair_init"
# After `normal_`, set the row `module.padding_idx` to zero under `torch.no_grad()`, for embeddings that have a
# padding index.


# %% mutant="embedding_repair_init"
# Row 0
# The padding index is often 0, but the layer stores the actual one: `module.padding_idx`.
def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        with torch.no_grad():
            module.weight[0].fill_(0)


# %% mutant="embedding_repair_init"
# Treats padding index 0 as no padding
# `if module.padding_idx:` is false for 0, the most common padding index. Test `is not None` instead.
def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx:
        with torch.no_grad():
            module.weight[module.padding_idx].fill_(0)


# %% mutant="embedding_repair_init"
# Leaves tables with padding alone
# The padding row stays zero, but all other vectors keep their standard deviation of 1.
def init_weights(module):
    padded = isinstance(module, nn.Embedding) and module.padding_idx is not None
    if isinstance(module, (nn.Linear, nn.Embedding)) and not padded:
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


# %% mutant="embedding_repair_init"
# Scales what is there
# A new table times 0.02 has the correct spread, and its padding stays zero. But an initialization doesn't depend on the
# weights that it finds: applied again, yours makes the vectors fifty times smaller. Draw them anew.
def init_weights(module):
    if isinstance(module, nn.Embedding):
        module.weight.data *= 0.02
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


# %% mutant="embedding_repair_init"
# Draws by the layer, then scales
# `reset_parameters` takes care of the padding but not of the 0.02, and it initializes other layers differently.
def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        module.reset_parameters()
        with torch.no_grad():
            module.weight.mul_(0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


# %% mutant="embedding_repair_init"
# Zero in every table
# `padding_idx` is None in a table without padding, so there is no row to clear: `weight[None]` is the whole table.
def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding):
        with torch.no_grad():
            module.weight[module.padding_idx].fill_(0)


# %% mutant="embedding_repair_init"
# A new parameter
# Whatever holds the old parameter, be it an optimizer or an output layer that shares the table, no longer has the
# layer's table.
def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        table = module.weight.detach().clone()
        table[module.padding_idx] = 0
        module.weight = nn.Parameter(table)


# %% mutant="embedding_repair_init"
# Freezes the table
# The row is zero, but none of the words can be trained any more.
def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        module.weight.requires_grad_(False)
        module.weight[module.padding_idx] = 0


# %% [markdown] exercise="embedding_measure_memory" kind="measure" points=2
# ### Exercise 7 · How long is a word remembered?
# `walk(kind, batches, **options)` trains a table with the optimizer `kind` and returns the values of word 0: the
# first one before the first step, and then one after each of 400 steps. Word 0 occurs in the first `batches` batches
# and never again.
#
# The word is **at rest** after step $n$ if none of the later steps is as long as 1 % of the first one. Find the
# smallest such $n$, counted from the word's *last batch* on, so that it is 0 for a word that is at rest as soon as it
# stops occurring.
#
# Then look at the results. Do they depend on the learning rate, on `betas`, or on how often the word occurred? In one
# run, weight decay pulls the word back past zero and momentum carries it further, so its steps become short and then
# longer again.


# %% setup=true
def walk(kind: str, batches: int, **options) -> list[float]:
    """The value of word 0 before the first step and after each of 400 steps."""
    layer = nn.Embedding.from_pretrained(torch.zeros(2, 1, dtype=torch.float64), freeze=False)
    optimizer = getattr(torch.optim, kind)(layer.parameters(), **options)
    words, places = [torch.tensor([0]), torch.tensor([1])], [0.0]
    for step in range(400):
        optimizer.zero_grad()
        layer(words[step >= batches]).sum().backward()
        optimizer.step()
        places.append(layer.weight[0].item())
    return places


# %% solution="embedding_measure_memory"
def rest(kind: str, batches: int, **options) -> int:
    """The number of steps, after the last batch with word 0, until word 0 is at rest."""
    ### BEGIN SOLUTION
    steps = np.abs(np.diff(walk(kind, batches, **options)))
    moving = np.flatnonzero(steps >= 0.01 * steps[0])
    return int(moving[-1]) + 1 - batches
    ### END SOLUTION


# %% check="embedding_measure_memory"
rng = check.rng()
lr, batches = float(pick(rng, 0.01, 0.03, 0.1)), int(rng.integers(3, 7))
runs = {
    "SGD": ("SGD", 1, {"lr": lr}),
    "SGD, several batches": ("SGD", batches, {"lr": lr}),
    "momentum 0.5": ("SGD", 1, {"lr": lr, "momentum": 0.5}),
    "momentum 0.9": ("SGD", 1, {"lr": lr, "momentum": 0.9}),
    "momentum 0.9, three times the rate": ("SGD", 1, {"lr": 3 * lr, "momentum": 0.9}),
    "momentum 0.9, several batches": ("SGD", batches, {"lr": lr, "momentum": 0.9}),
    "momentum 0.9, weight decay": ("SGD", 1, {"lr": lr, "momentum": 0.9, "weight_decay": 0.15 / lr}),
    "Adam": ("Adam", 1, {"lr": lr}),
    "Adam, three times the rate": ("Adam", 1, {"lr": 3 * lr}),
    "Adam, several batches": ("Adam", batches, {"lr": lr}),
    "Adam, betas 0.8 and 0.999": ("Adam", 1, {"lr": lr, "betas": (0.8, 0.999)}),
    "Adam, betas 0.9 and 0.99": ("Adam", 1, {"lr": lr, "betas": (0.9, 0.99)}),
}
values = {"lr": lr, "several": batches}
for name, (kind, count, options) in runs.items():
    values[name] = rest(kind, count, **options)
check.show(values, text="The number of steps until word 0 is at rest.")

# %% [markdown] hint="embedding_measure_memory"
# `np.diff` of the values gives the steps. Which of them are at least 1 % as long as the first?

# %% [markdown] hint="embedding_measure_memory"
# Look for the *last* of these steps. An array counts steps from 0, so how many steps have been taken once it is over?

# %% [markdown] hint="embedding_measure_memory"
# With `moving = np.flatnonzero(steps >= 0.01 * steps[0])`, the word is at rest after step `moving[-1] + 1`, and
# `batches` of these steps still had the word in the batch.


# %% mutant="embedding_measure_memory"
# Counts from the first step
# The steps in which the word occurs don't count. The question is how long it keeps moving without being used.
def rest(kind, batches, **options):
    steps = np.abs(np.diff(walk(kind, batches, **options)))
    return int(np.flatnonzero(steps >= 0.01 * steps[0])[-1]) + 1


# %% mutant="embedding_measure_memory"
# One step short
# An array counts from 0, so when step number k is over, k + 1 steps have been taken.
def rest(kind, batches, **options):
    steps = np.abs(np.diff(walk(kind, batches, **options)))
    return int(np.flatnonzero(steps >= 0.01 * steps[0])[-1]) - batches


# %% mutant="embedding_measure_memory"
# The first short step
# One short step doesn't mean rest: where a word turns back, the steps become short and then longer again. Look for
# the last long step.
def rest(kind, batches, **options):
    steps = np.abs(np.diff(walk(kind, batches, **options)))
    short = np.flatnonzero(steps[batches:] < 0.01 * steps[0])
    return int(short[0])


# %% mutant="embedding_measure_memory"
# An absolute limit
# 0.01 is an absolute length, which depends on the learning rate. The limit is a fraction of the first step.
def rest(kind, batches, **options):
    steps = np.abs(np.diff(walk(kind, batches, **options)))
    moving = np.flatnonzero(steps >= 0.0001)
    return int(moving[-1]) + 1 - batches


# %% mutant="embedding_measure_memory"
# Looks at positions
# The word doesn't return to where it started. It is at rest when its steps are short, not when its value is small.
def rest(kind, batches, **options):
    places = np.abs(walk(kind, batches, **options))
    moving = np.flatnonzero(places >= 0.01 * places[1])
    return int(moving[-1]) - batches
