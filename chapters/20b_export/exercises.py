# %% [markdown]
# # Exercises · Export
# Three of the exercises add to your library, and once you have solved them, it writes ONNX files and runs them. These
# three run inside files of `mytorch`, where all names that a task or a docstring mentions are defined; import
# anything else in the cell itself.

# %% setup=true
from __future__ import annotations

import struct
from collections import defaultdict
from typing import Any

import numpy as np

from course import check

# %% [markdown] exercise="export_predict_bytes" kind="predict" points=1
# ### Exercise 1 · How many bytes?
# How many bytes does `field` write in each of the following cases?
#
# ```python
# field(1, 5)
# field(1, 300)
# field(1, -1)
# field(2, 0.5)
# field(4, "Gemm")
# field(16, 1)              # number and wire type are a varint as well: 16 << 3 | 0
# field(9, bytes(400))      # the weights of a layer, say
# ```
#
# Set `prediction` to a list of seven integers.

# %% solution="export_predict_bytes"
### BEGIN SOLUTION
prediction = [2, 3, 11, 5, 6, 3, 403]
### END SOLUTION

# %% check="export_predict_bytes"
names = [
    "field(1, 5)",
    "field(1, 300)",
    "field(1, -1)",
    "field(2, 0.5)",
    "field(4, 'Gemm')",
    "field(16, 1)",
    "400 bytes",
]
answers = [int(each) for each in prediction] + [0] * 7
check.show(dict(zip(names, answers, strict=False)), secret=True)

# %% [markdown] hint="export_predict_bytes"
# Each field has two parts: a varint with its number and wire type, and then the value. Between the two, strings and
# bytes have their length.

# %% [markdown] hint="export_predict_bytes"
# A varint takes one byte up to 127, and two up to 16,383. A negative number is written as a 64-bit number.

# %% [markdown] hint="export_predict_bytes"
# 64 bits in groups of 7 take ten bytes. `16 << 3` is 128. A float has wire type 5 and takes 4 bytes.

# %% mutant="export_predict_bytes"
# A negative number is short
# −1 becomes 2⁶⁴ − 1, whose 64 bits take ten groups of 7.
prediction = [2, 3, 2, 5, 6, 3, 403]

# %% mutant="export_predict_bytes"
# A negative number takes eight bytes
# It has 64 bits, but each byte of a varint holds only 7 of them.
prediction = [2, 3, 9, 5, 6, 3, 403]

# %% mutant="export_predict_bytes"
# The key is always one byte
# Number and wire type form a varint as well: 16 << 3 is 128, which needs two bytes.
prediction = [2, 3, 11, 5, 6, 2, 403]

# %% mutant="export_predict_bytes"
# The length is always one byte
# A length of 400 is above 127, so it takes two bytes.
prediction = [2, 3, 11, 5, 6, 3, 402]

# %% mutant="export_predict_bytes"
# A string without a length
# A reader has to know where the string ends, so its length comes first.
prediction = [2, 3, 11, 5, 5, 3, 401]

# %% [markdown] exercise="export_protobuf" kind="core" points="1 2" part="mytorch.onnx.protobuf:varint mytorch.onnx.protobuf:field"
# ### Exercise 2 · A writer for protocol buffers
# Write the two functions that encode everything in an ONNX file.
#
# | value | wire type | what follows the key |
# |---|---|---|
# | an `int` | 0 | a varint |
# | a `float` | 5 | 4 bytes, `struct.pack("<f", value)` |
# | `bytes`, or a `str`, in UTF-8 | 2 | the length in bytes as a varint, then the bytes |


# %% docstrings="export_protobuf"
def varint():
    """Encodes an integer as a varint.

    Each byte holds 7 bits of the number, the lowest first, and its top bit, the continuation bit, is 1 if more bytes
    follow. Use as few bytes as possible: `varint(0)` is one byte. A negative number is written as its 64-bit two's
    complement.
    """


def field():
    """Encodes a field: the key, `varint(number << 3 | wire type)`, and then the value in its wire type's format."""


# %% check="export_protobuf"
generator = check.rng()
protobuf = mytorch.onnx.protobuf
numbers = [0, 127, 128, 16_383, 16_384, 2**63 - 1, 2**64 - 1]
numbers += [int(each) for each in generator.integers(129, 2**40, 3)]
negative = [-1, -int(generator.integers(2, 2**30))]
word = "".join(generator.choice(list("abcxyzäöü"), 5)) + "é"
half = float(np.float32(generator.normal()))
large = int(generator.integers(16, 4000))
check.show(
    {
        "numbers": numbers,
        "as varints": [protobuf.varint(each).hex() for each in numbers],
        "negative": [protobuf.varint(each).hex() for each in negative],
        "fields of integers": [protobuf.field(3, each).hex() for each in (0, numbers[-1], negative[0])],
        "fields with a large number": [protobuf.field(large, each).hex() for each in (1, half, word, b"\0")],
        "a float": protobuf.field(2, half).hex(),
        "a string": protobuf.field(1, word).hex(),
        "a whole number as a float": protobuf.field(2, 3.0).hex(),
        "bytes": protobuf.field(9, bytes(generator.integers(0, 256, 200).astype(np.uint8))).hex(),
        "types": [type(each).__name__ for each in (protobuf.varint(300), protobuf.field(1, 300))],
        "an empty string": protobuf.field(4, "").hex(),
    },
    text="The bytes, each as two hexadecimal digits.",
)

# %% [markdown] hint="export_protobuf"
# `number & 127` gives the lowest 7 bits, and `number >> 7` is what remains. As long as anything remains, the byte
# gets `| 128`.

# %% [markdown] hint="export_protobuf"
# `number & (2**64 - 1)` turns −1 into the number 2⁶⁴ − 1. Without it, repeated `>> 7` of a negative number never
# reaches 0.

# %% [markdown] hint="export_protobuf"
# In `field`, encode a `str` first, because the length counts bytes and "é" has two of them. Then return
# `varint(number << 3 | 2) + varint(len(data)) + data`.


# %% mutant="export_protobuf"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def varint(number):
    from minitorch.onnx.protobuf import varint

    return varint(number)


def field(number, value):
    from minitorch.onnx.protobuf import field

    return field(number, value)


# %% mutant="export_protobuf" spoils="varint"
# The highest bits first
# Big-endian formats do it that way. In protocol buffers the lowest 7 bits come first.
def varint(number: int) -> bytes:
    number &= 2**64 - 1
    groups = [number & 127]
    while number := number >> 7:
        groups.append(number & 127)
    groups.reverse()
    return bytes([each | 128 for each in groups[:-1]] + groups[-1:])


# %% mutant="export_protobuf" spoils="varint"
# Sets the last byte's top bit
# The top bit says that more bytes follow, so it is 0 in the last byte.
def varint(number: int) -> bytes:
    number &= 2**64 - 1
    groups = [number & 127]
    while number := number >> 7:
        groups.append(number & 127)
    groups[-1] |= 128
    return bytes(groups)


# %% mutant="export_protobuf" spoils="varint"
# Negative numbers as 32 bits
# Protocol buffers write a negative number as 64 bits, even if it would fit into fewer.
def varint(number: int) -> bytes:
    if number < 0:
        number &= 2**32 - 1
    groups = [number & 127]
    while number := number >> 7:
        groups[-1] |= 128
        groups.append(number & 127)
    return bytes(groups)


# %% mutant="export_protobuf" spoils="varint"
# Stops at 128
# 128 doesn't fit into 7 bits, because the largest number in one byte is 127.
def varint(number: int) -> bytes:
    number &= 2**64 - 1
    groups = []
    while number > 128:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


# %% mutant="export_protobuf" spoils="field"
# The key in one byte
# A key is a varint, so fields from number 16 on need two bytes for it.
def field(number: int, value: Any) -> bytes:
    if isinstance(value, float):
        return bytes([(number << 3 | 5) & 255]) + struct.pack("<f", value)
    if isinstance(value, int):
        return bytes([(number << 3 | 0) & 255]) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return bytes([(number << 3 | 2) & 255]) + varint(len(data)) + data


# %% mutant="export_protobuf" spoils="field"
# Counts characters
# The length is in bytes, so encode the string first: "é" takes two.
def field(number: int, value: Any) -> bytes:
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3 | 0) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + data


# %% mutant="export_protobuf" spoils="field"
# Floats of eight bytes
# A Python float has 8 bytes, which would be wire type 1. ONNX declares its attributes as `float`, which is 4 bytes
# and wire type 5.
def field(number: int, value: Any) -> bytes:
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3 | 0) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# %% [markdown] exercise="export_fold" kind="core" points="2 2" part="mytorch.onnx.fusing:fold mytorch.onnx.symbolic:generalize"
# ### Exercise 3 · Folding, and a dynamic batch size
# These two functions work on graphs, and turn a trace into a good file.
#
# **`fold`** gets each step after `recognize`. Two operations are layers: `CONV2D`, whose arguments are `(x, weight,
# bias, stride, padding, dilation, groups)`, and `LINEAR`, with `(x, weight, bias)`; the `bias` of either can be None.
# Suppose that a layer's result is added to a constant (`pointwise.add`), multiplied by it (`pointwise.mul`), or
# reduced by it (`pointwise.sub`). Then the two steps are equivalent to one layer with another weight and bias. In
# these cases `step.args` are the layer's step and the constant, a `Tensor`, in this order. A constant must have one
# value for each output channel, so its shape is (O, 1, 1) after a convolution and (O,) after a linear layer. All other
# steps stay as they are, such as `layer + 1.0`, where the second argument is a float, or the sum of two layers.
#
# **`generalize`** compares two traces of one function, made with different batch sizes. Go through both step by step.
# Three functions in the file help you:
#
# - `open_size(size, other)` returns a size with −1 where two sizes differ;
# - `alike(argument, other, twins)` says whether two arguments are the same, where `twins` is a dict from each input
#   and step of the first graph to that of the other;
# - `replace(args, change)` returns arguments in which each argument is replaced by `change(each)`.
#
# `Graph(inputs, steps, output)` makes a graph, whose `output` is a step or a tuple of steps.


# %% docstrings="export_fold"
def fold():
    """Returns the step unchanged, or a new step: the layer with the constant in its weight and bias.

    The weight's first dimension is the output channels: a convolution's weight is (O, C / groups, kh, kw), and a
    linear layer's is (O, I). The arguments aren't changed.
    """


def generalize():
    """Returns the first graph, with -1 in the sizes of views where they differ from the other graph's.

    A view has the arguments (x, size). The graph that is returned has new steps and the inputs of the first; both
    given graphs stay unchanged.

    Raises:
        ValueError: "the number of steps depends on the batch size: 3 and 4"; or, with the name of the first graph's
            operation, "div depends on the batch size", if two steps differ in anything other than the size of a view;
            or "the result depends on the batch size", if the graphs return different steps.
    """


# %% check="export_fold"
generator = check.rng()
fusing, graph = mytorch.onnx.fusing, mytorch.graph
outputs, inputs, rows = (int(each) for each in generator.integers([4, 2, 5], [7, 4, 8]))


def constant(*size):
    return mytorch.tensor(generator.normal(size=size).astype(np.float32))


def folded(layer, *args, by=("mul", "sub", "add"), shape=None, constant_first=False):
    """A layer, then an operation with a constant for each of `by`: what remains, and how the given layer changed."""
    given = (graph.Step(None), *args)
    step = first = graph.Step(layer, given)
    before = [(each, each.clone()) for each in args[:2] if each is not None]
    weight = args[0]
    changed = 0
    for name in by:
        size = shape or (len(weight), *(1,) * (weight.ndim - 2))
        pair = (step, constant(*size))
        op, pair = getattr(mytorch.pointwise, name), pair[::-1] if constant_first else pair
        whole = graph.Step(op, pair)
        step = fusing.fold(whole)
        changed += whole.op is not op or whole.args is not pair
    if step.op is layer and step.args[2] is None:  # no bias and a bias of zeros are the same layer
        step.args = (*step.args[:2], mytorch.zeros(len(weight)), *step.args[3:])
    kept = [None if each is None else getattr(each, "array", each) for each in step.args[1:]]
    return {
        "operation": step.op.name,
        "arguments": kept if step.op is layer else "not the layer's",
        "given layer, arguments that were replaced": sum(a is not b for a, b in zip(first.args, given, strict=True)),
        "given steps that are other steps now": changed,
        "given weight and bias, changed by": [(each - old).abs().max() for each, old in before],
    }


def unchanged(other):
    """Whether a linear layer plus this stays the step that it is."""
    step = graph.Step(mytorch.pointwise.add, (graph.Step(fusing.LINEAR, (graph.Step(None), matrix, None)), other))
    try:
        return fusing.fold(step) is step
    except (AttributeError, TypeError) as error:
        return type(error).__name__


geometry = ((2, 1), (0, 1), (1, 1))
kernels, matrix = constant(outputs * 2, inputs, 3, 2), constant(outputs, inputs)
shown = {
    "linear, times a constant": folded(fusing.LINEAR, matrix, constant(outputs), by=["mul"]),
    "linear, minus a constant": folded(fusing.LINEAR, matrix, constant(outputs), by=["sub"]),
    "linear, plus a constant": folded(fusing.LINEAR, matrix, constant(outputs), by=["add"]),
    "convolution without bias, plus a constant": folded(fusing.CONV2D, kernels, None, *geometry, 2, by=["add"]),
    "convolution, batch norm": folded(
        fusing.CONV2D, kernels, constant(outputs * 2), *geometry, 2, by=["sub", "mul", "add"]
    ),
    "linear, times a row for each sample": folded(
        fusing.LINEAR, matrix, constant(outputs), by=["mul"], shape=(rows, outputs)
    ),
    "convolution, times a number for each column": folded(
        fusing.CONV2D, kernels, None, *geometry, 2, by=["mul"], shape=(outputs * 2,)
    ),
    "convolution, times a number for each column, in three dimensions": folded(
        fusing.CONV2D, kernels, None, *geometry, 2, by=["mul"], shape=(1, 1, outputs * 2)
    ),
    "a constant minus a linear layer": folded(
        fusing.LINEAR, matrix, constant(outputs), by=["sub"], constant_first=True
    ),
    "linear, plus a float": unchanged(1.0),
    "linear, plus another layer": unchanged(graph.Step(fusing.LINEAR, (graph.Step(None), matrix, None))),
    "linear, divided": folded(fusing.LINEAR, matrix, constant(outputs), by=["div"]),
    "another operation of three arguments, plus a constant": folded(
        mytorch.pointwise.where, matrix, constant(outputs), by=["add"]
    ),
    "convolution without bias, times a constant": folded(fusing.CONV2D, kernels, None, *geometry, 2, by=["mul"]),
    "linear without bias, minus a constant": folded(fusing.LINEAR, matrix, None, by=["sub"]),
    "the given weight": matrix.array,
}


def flat(results):
    """A single result as it is, several results joined."""
    return mytorch.cat([each.flatten() for each in results]) if isinstance(results, tuple) else results


def outcome(function, sizes=(rows, rows + 1)):
    """What `generalize` makes of two traces: sizes of views and the result for another batch, or the error."""
    one, other = (graph.trace(function, constant(size, inputs, 4)) for size in sizes)
    before = repr(one)
    try:
        general = mytorch.onnx.generalize(one, other)
    except ValueError as error:
        return str(error)
    x = constant(rows + 3, inputs, 4)
    found, expected = (flat(each) for each in (graph.run(general, x), function(x)))
    views = [list(step.args[1]) for step in general.steps if step.op.name == "view"]
    untouched = repr(one) == before and not {*general.steps} & {*one.steps}
    return {"sizes": views, "result − expected": (found - expected).abs().sum(), "given graph unchanged": untouched}


scale = constant(4)
shown |= {
    "flatten": outcome(lambda x: (x * scale).flatten(1).exp()),
    "two views": outcome(lambda x: x.reshape(len(x) * inputs, 4).tanh().reshape(len(x), inputs * 4)),
    "two results": outcome(lambda x: (x.reshape(len(x), 2, inputs * 2), x.exp())),
    "a view of one size": outcome(lambda x: x.sum(0).reshape(4, inputs).tanh()),
    "a view of one size, then one with the batch size": outcome(
        lambda x: x.flatten(1) * x.sum(0).reshape(4 * inputs).reshape(1, inputs * 4)
    ),
    "no view": outcome(lambda x: (x + 1) * x),
    "divides by the batch size": outcome(lambda x: x / len(x)),
    "a constant with the batch's shape": outcome(lambda x: x + mytorch.ones(len(x), 1, 1)),
    "a random mask": outcome(lambda x: x * mytorch.rand(4)),
    "more steps": outcome(lambda x: x.exp() if len(x) == rows else x.exp().exp()),
    "another operation": outcome(lambda x: x.exp() if len(x) == rows else x.tanh()),
    "a view in one trace, an expansion in the other": outcome(
        lambda x: (lambda a: (a.view if len(x) == rows else a.expand)(len(x), inputs * 4))(x.flatten(1).exp())
    ),
    "a view of another step": outcome(
        lambda x: (lambda a, b: (a if len(x) == rows else b).flatten(1) + a.flatten(1) - b.flatten(1))(
            x.exp(), x.tanh()
        )
    ),
    "another step as the result": outcome(
        lambda x: (lambda a, b: (a, b) if len(x) == rows else (b, a))(x.exp(), x.tanh())
    ),
    "other operands": outcome(lambda x: (lambda a: x - a if len(x) == rows else a - x)(x.exp())),
}
check.show(shown, rtol=1e-4, atol=1e-4)

# %% [markdown] hint="export_fold"
# For `fold`, write down w·x + b, then add c, subtract c, and multiply by c. Which of weight and bias change in each
# case? In the code, first test that the step is one of the three operations, and that its arguments are a layer's
# step and a tensor of the correct shape.

# %% [markdown] hint="export_fold"
# In `fold`, `each = constant.flatten()` has shape (O,), like the bias. To scale the weight, reshape it to (O, 1, …,
# 1), with as many dimensions as the weight has. `zeros(len(weight))` stands in for a bias of None.

# %% [markdown] hint="export_fold"
# In `generalize`, keep two dicts: `twins`, and `general` from steps of the first graph to your new steps. Both begin
# with the inputs. For each pair of steps, add it to `twins`, compute the arguments, and make a new `Step`.

# %% [markdown] hint="export_fold"
# In `generalize`, a new step's arguments are `replace(args, lambda each: general[each] if isinstance(each, Step) else
# each)`, and the output is replaced in the same way. For a view of the same tensor in both graphs, `args` are
# `(args[0], open_size(args[1], twin.args[1]))`; for all other steps, test `step.op is twin.op and alike(args,
# twin.args, twins)`. At the end, compare the two outputs with `alike`.


# %% mutant="export_fold"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def fold(step):
    from minitorch.onnx.folding import fold_batch_norms

    return fold_batch_norms(step)


def generalize(one, other):
    from minitorch.onnx.sizes import merge

    return merge(one, {"batch": other})


# %% mutant="export_fold" spoils="fold"
# Scales only the weight
# c · (w·x + b) is c·w·x + c·b, so the bias is scaled as well.
def fold(step: Step) -> Step:
    match step:
        case Step(args=(Step(op=layer, args=(x, Tensor() as weight, bias, *rest)), Tensor() as constant)) if layer in (
            CONV2D,
            LINEAR,
        ) and constant.shape == (len(weight), *(1,) * (weight.ndim - 2)):
            each, bias = constant.flatten(), zeros(len(weight)) if bias is None else bias
            if step.op is pointwise.add:
                return Step(layer, (x, weight, bias + each, *rest))
            if step.op is pointwise.sub:
                return Step(layer, (x, weight, bias - each, *rest))
            if step.op is pointwise.mul:
                return Step(layer, (x, weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias, *rest))
    return step


# %% mutant="export_fold" spoils="fold"
# Folds any constant
# A constant with a value for each sample or for each pixel doesn't have one value for each channel. Test its shape
# first.
def fold(step: Step) -> Step:
    match step:
        case Step(args=(Step(op=layer, args=(x, Tensor() as weight, bias, *rest)), Tensor() as constant)) if layer in (
            CONV2D,
            LINEAR,
        ):
            each, bias = constant.flatten()[: len(weight)], zeros(len(weight)) if bias is None else bias
            if step.op is pointwise.add:
                return Step(layer, (x, weight, bias + each, *rest))
            if step.op is pointwise.sub:
                return Step(layer, (x, weight, bias - each, *rest))
            if step.op is pointwise.mul:
                scaled = weight * each.reshape(-1, *(1,) * (weight.ndim - 1))
                return Step(layer, (x, scaled, bias * each, *rest))
    return step


# %% mutant="export_fold" spoils="fold"
# Treats any operation as one of the three
# A division or a comparison isn't one of the three operations. Leave all others as they are.
def fold(step: Step) -> Step:
    match step:
        case Step(args=(Step(op=layer, args=(x, Tensor() as weight, bias, *rest)), Tensor() as constant)) if layer in (
            CONV2D,
            LINEAR,
        ) and constant.shape == (len(weight), *(1,) * (weight.ndim - 2)):
            each, bias = constant.flatten(), zeros(len(weight)) if bias is None else bias
            if step.op is pointwise.add:
                return Step(layer, (x, weight, bias + each, *rest))
            if step.op is pointwise.sub:
                return Step(layer, (x, weight, bias - each, *rest))
            scaled = weight * each.reshape(-1, *(1,) * (weight.ndim - 1))
            return Step(layer, (x, scaled, bias * each, *rest))
    return step


# %% mutant="export_fold" spoils="fold"
# Adds what is subtracted
# A batch norm subtracts the running mean, so the bias becomes b − mean.
def fold(step: Step) -> Step:
    match step:
        case Step(args=(Step(op=layer, args=(x, Tensor() as weight, bias, *rest)), Tensor() as constant)) if layer in (
            CONV2D,
            LINEAR,
        ) and constant.shape == (len(weight), *(1,) * (weight.ndim - 2)):
            each, bias = constant.flatten(), zeros(len(weight)) if bias is None else bias
            if step.op in (pointwise.add, pointwise.sub):
                return Step(layer, (x, weight, bias + each, *rest))
            if step.op is pointwise.mul:
                scaled = weight * each.reshape(-1, *(1,) * (weight.ndim - 1))
                return Step(layer, (x, scaled, bias * each, *rest))
    return step


# %% mutant="export_fold" spoils="fold"
# Anything else has a shape
# In `layer + 1.0` the second argument is a float, and in a residual sum it is a step. Test that it is a `Tensor`.
def fold(step: Step) -> Step:
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    layer, constant = step.args
    if not isinstance(layer, Step) or layer.op not in (CONV2D, LINEAR):
        return step
    x, weight, bias, *rest = layer.args
    if constant.shape != (len(weight), *(1,) * (weight.ndim - 2)):
        return step
    each, bias = constant.flatten(), zeros(len(weight)) if bias is None else bias
    if step.op is pointwise.mul:
        scaled = weight * each.reshape(-1, *(1,) * (weight.ndim - 1))
        return Step(layer.op, (x, scaled, bias * each, *rest))
    return Step(layer.op, (x, weight, bias + each if step.op is pointwise.add else bias - each, *rest))


# %% mutant="export_fold" spoils="generalize"
# Accepts all differences outside of views
# A constant that depends on the batch size stays that of the example, so the file is incorrect for every other batch
# size. Raise the error.
def generalize(one: Graph, other: Graph) -> Graph:
    general: dict[Any, Step] = {step: step for step in one.inputs}
    for step, twin in zip(one.steps, other.steps, strict=False):
        args = step.args
        if step.op is twin.op is views.view:
            args = (args[0], open_size(args[1], twin.args[1]))
        general[step] = Step(step.op, replace(args, lambda each: general[each] if isinstance(each, Step) else each))
    steps = [general[step] for step in one.steps]
    return Graph(one.inputs, steps, replace(one.output, lambda each: general.get(each, each)))


# %% mutant="export_fold" spoils="generalize"
# Makes the first length of each view dynamic
# The batch isn't always the first length, and some views don't contain it. Keep a length that is the same in both
# traces.
def generalize(one: Graph, other: Graph) -> Graph:
    twins: dict[Any, Any] = dict(zip(one.inputs, other.inputs, strict=True))
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    general: dict[Any, Step] = {step: step for step in one.inputs}
    for step, twin in zip(one.steps, other.steps, strict=True):
        twins[step] = twin
        args = step.args
        if step.op is twin.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], (-2, *args[1][1:]))
        elif step.op is not twin.op or not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        general[step] = Step(step.op, replace(args, lambda each: general[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    steps = [general[step] for step in one.steps]
    return Graph(one.inputs, steps, replace(one.output, lambda each: general.get(each, each)))


# %% mutant="export_fold" spoils="generalize"
# Changes the given graph
# The first graph may still be needed, for the example's batch size. Make new steps.
def generalize(one: Graph, other: Graph) -> Graph:
    twins: dict[Any, Any] = dict(zip(one.inputs, other.inputs, strict=True))
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    for step, twin in zip(one.steps, other.steps, strict=True):
        twins[step] = twin
        if step.op is twin.op is views.view and alike(step.args[0], twin.args[0], twins):
            step.args = (step.args[0], open_size(step.args[1], twin.args[1]))
        elif step.op is not twin.op or not alike(step.args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return one


# %% mutant="export_fold" spoils="generalize"
# Compares only the sizes of views
# Two views of the same size may be of different tensors, so use `alike` on the viewed tensor as well.
def generalize(one: Graph, other: Graph) -> Graph:
    twins: dict[Any, Any] = dict(zip(one.inputs, other.inputs, strict=True))
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    general: dict[Any, Step] = {step: step for step in one.inputs}
    for step, twin in zip(one.steps, other.steps, strict=True):
        twins[step] = twin
        args = step.args
        if step.op is twin.op is views.view:
            args = (args[0], open_size(args[1], twin.args[1]))
        elif step.op is not twin.op or not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        general[step] = Step(step.op, replace(args, lambda each: general[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    steps = [general[step] for step in one.steps]
    return Graph(one.inputs, steps, replace(one.output, lambda each: general.get(each, each)))


# %% mutant="export_fold" spoils="generalize"
# Doesn't compare the outputs
# The steps may be the same while the function returns a different one of them. Compare the two outputs.
def generalize(one: Graph, other: Graph) -> Graph:
    twins: dict[Any, Any] = dict(zip(one.inputs, other.inputs, strict=True))
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    general: dict[Any, Step] = {step: step for step in one.inputs}
    for step, twin in zip(one.steps, other.steps, strict=True):
        twins[step] = twin
        args = step.args
        if step.op is twin.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        elif step.op is not twin.op or not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        general[step] = Step(step.op, replace(args, lambda each: general[each] if isinstance(each, Step) else each))
    steps = [general[step] for step in one.steps]
    return Graph(one.inputs, steps, replace(one.output, lambda each: general.get(each, each)))


# %% mutant="export_fold" spoils="generalize"
# Compares operations only
# Two divisions may divide by different numbers, so use `alike` on the arguments as well.
def generalize(one: Graph, other: Graph) -> Graph:
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    general: dict[Any, Step] = {step: step for step in one.inputs}
    for step, twin in zip(one.steps, other.steps, strict=True):
        args = step.args
        if step.op is twin.op is views.view:
            args = (args[0], open_size(args[1], twin.args[1]))
        elif step.op is not twin.op:
            raise ValueError(f"{step.op.name} depends on the batch size")
        general[step] = Step(step.op, replace(args, lambda each: general[each] if isinstance(each, Step) else each))
    steps = [general[step] for step in one.steps]
    return Graph(one.inputs, steps, replace(one.output, lambda each: general.get(each, each)))


# %% mutant="export_fold" spoils="fold"
# Counts the constant's elements
# After a convolution, a constant of shape (O,) has a value for each column. Test its shape, not its number of
# elements.
def fold(step: Step) -> Step:
    match step:
        case Step(args=(Step(op=layer, args=(x, Tensor() as weight, bias, *rest)), Tensor() as constant)) if layer in (
            CONV2D,
            LINEAR,
        ) and constant.numel() == len(weight):
            each, bias = constant.flatten(), zeros(len(weight)) if bias is None else bias
            if step.op is pointwise.add:
                return Step(layer, (x, weight, bias + each, *rest))
            if step.op is pointwise.sub:
                return Step(layer, (x, weight, bias - each, *rest))
            if step.op is pointwise.mul:
                scaled = weight * each.reshape(-1, *(1,) * (weight.ndim - 1))
                return Step(layer, (x, scaled, bias * each, *rest))
    return step


# %% mutant="export_fold" spoils="fold"
# Writes into the bias
# The bias is the model's parameter, so after `bias.add_` the model itself returns other values. Make a new tensor.
def fold(step: Step) -> Step:
    match step:
        case Step(args=(Step(op=layer, args=(x, Tensor() as weight, bias, *rest)), Tensor() as constant)) if layer in (
            CONV2D,
            LINEAR,
        ) and constant.shape == (len(weight), *(1,) * (weight.ndim - 2)):
            each, bias = constant.flatten(), zeros(len(weight)) if bias is None else bias
            if step.op is pointwise.add:
                return Step(layer, (x, weight, bias.add_(each), *rest))
            if step.op is pointwise.sub:
                return Step(layer, (x, weight, bias - each, *rest))
            if step.op is pointwise.mul:
                scaled = weight * each.reshape(-1, *(1,) * (weight.ndim - 1))
                return Step(layer, (x, scaled, bias * each, *rest))
    return step


# %% mutant="export_fold" spoils="fold"
# Accepts both orders
# A constant minus a layer isn't a layer minus a constant.
def fold(step: Step) -> Step:
    if step.op not in (pointwise.add, pointwise.sub, pointwise.mul):
        return step
    before, constant = step.args
    if isinstance(before, Tensor):
        before, constant = constant, before
    if not isinstance(before, Step) or before.op not in (CONV2D, LINEAR) or not isinstance(constant, Tensor):
        return step
    x, weight, bias, *rest = before.args
    if constant.shape != (len(weight), *(1,) * (weight.ndim - 2)):
        return step
    each, bias = constant.flatten(), zeros(len(weight)) if bias is None else bias
    if step.op is pointwise.mul:
        scaled = weight * each.reshape(-1, *(1,) * (weight.ndim - 1))
        return Step(before.op, (x, scaled, bias * each, *rest))
    return Step(before.op, (x, weight, bias + each if step.op is pointwise.add else bias - each, *rest))


# %% mutant="export_fold" spoils="fold"
# Changes the layer's step
# Another step may use the layer's result as well, so make a new step and leave the given one unchanged.
def fold(step: Step) -> Step:
    match step:
        case Step(args=(Step(op=layer, args=(x, Tensor() as weight, bias, *rest)), Tensor() as constant)) if layer in (
            CONV2D,
            LINEAR,
        ) and constant.shape == (len(weight), *(1,) * (weight.ndim - 2)):
            each, bias = constant.flatten(), zeros(len(weight)) if bias is None else bias
            if step.op is pointwise.add:
                bias = bias + each
            elif step.op is pointwise.sub:
                bias = bias - each
            elif step.op is pointwise.mul:
                weight, bias = weight * each.reshape(-1, *(1,) * (weight.ndim - 1)), bias * each
            else:
                return step
            step.args[0].args = (x, weight, bias, *rest)
            return step.args[0]
    return step


# %% mutant="export_fold" spoils="generalize"
# Handles a single output only
# A function may return several tensors, and `replace` also works on a tuple.
def generalize(one: Graph, other: Graph) -> Graph:
    twins: dict[Any, Any] = dict(zip(one.inputs, other.inputs, strict=True))
    if len(one.steps) != len(other.steps):
        raise ValueError(f"the number of steps depends on the batch size: {len(one.steps)} and {len(other.steps)}")
    general: dict[Any, Step] = {step: step for step in one.inputs}
    for step, twin in zip(one.steps, other.steps, strict=True):
        twins[step] = twin
        args = step.args
        if step.op is twin.op is views.view and alike(args[0], twin.args[0], twins):
            args = (args[0], open_size(args[1], twin.args[1]))
        elif step.op is not twin.op or not alike(args, twin.args, twins):
            raise ValueError(f"{step.op.name} depends on the batch size")
        general[step] = Step(step.op, replace(args, lambda each: general[each] if isinstance(each, Step) else each))
    if not alike(one.output, other.output, twins):
        raise ValueError("the result depends on the batch size")
    return Graph(one.inputs, [general[step] for step in one.steps], general[one.output])


# %% [markdown] exercise="export_runtime" kind="core" points="1 1 2" part="mytorch.onnx.runtime:read_varint mytorch.onnx.runtime:fields | mytorch.onnx.runtime:signed mytorch.onnx.runtime:read_tensor mytorch.onnx.runtime:read_attribute | mytorch.onnx.runtime:run_onnx"
# ### Exercise 4 · The runtime
# Decode messages, and run a graph. `read_varint(data, at)` returns the varint that begins at a position, and the
# position after it. `read_tensor(data)` and `read_attribute(data)` each return a pair of name and value. `runtime.py`
# has the rest: `TYPES` maps the numbers of element types to NumPy's names, and `KERNELS` has a function on arrays for
# each operator, which takes the attributes as keyword arguments.
#
# | message | field | content |
# |---|---|---|
# | the model | 7 | the graph |
# | a graph | 1 | a node, repeated, in the order of execution |
# | a graph | 5 | a tensor, repeated |
# | a graph | 11, 12 | an input, an output, repeated |
# | a node | 1, 2 | the names of its inputs; the name of its output |
# | a node | 4, 5 | its operator; an attribute, repeated |
# | an input or output | 1 | its name |
# | a tensor | 1, 2 | a length, repeated; the number of its element type |
# | a tensor | 8, 9 | its name; its elements as they are in memory |
# | an attribute | 1, 20 | its name; 1 for a float, 2 for an integer, 7 for a list of integers |
# | an attribute | 2, 3, 8 | the float; the integer; an integer of the list, repeated |


# %% docstrings="export_runtime"
def read_varint():
    """The varint that begins at position `at`, an unsigned integer, and the position after it.

    Each byte holds 7 bits, the lowest first, and its top bit says that more bytes follow.
    """


def signed():
    """The signed value of an unsigned 64-bit number: from 2⁶³ on it is negative, and 2⁶⁴ − 1 is −1."""


def read_tensor():
    """A tensor's name, and its array: the elements in their dtype and shape."""


def read_attribute():
    """An attribute's name, and its value: a float, an integer or a list of integers. Integers are signed."""


def fields():
    """The values of a message: a `defaultdict(list)` from field numbers to values in their order.

    Wire type 0 is a varint, an unsigned integer. Wire type 2 is bytes, also for a string or for a nested message. Wire
    type 5 is a 4-byte float, `struct.unpack("<f", …)`.

    Raises:
        ValueError: "fields of wire type 1 are not known", with the number of any other wire type.
    """


def run_onnx():
    """Runs a model on arrays, in the order of its inputs; returns the list of outputs. The weights don't change."""


# %% check="export_runtime" raises="ValueError"
generator = check.rng()
runtime, messages = mytorch.onnx.runtime, mytorch.onnx.messages
message = mytorch.onnx.protobuf.message
number, half = int(generator.integers(200, 10**6)), float(np.float32(generator.normal()))
inner = message({1: "inner", 3: number})


def read(data):
    return {
        f"field {key}": [each.hex() if isinstance(each, bytes) else each for each in value]
        for key, value in data.items()
    }


shown = {
    "integers": read(runtime.fields(message({1: [3, number, 0], 2: 1}))),
    "a float": read(runtime.fields(message({2: half, 3: half}))),
    "fields in turn": read(runtime.fields(message({1: number, 2: half}) + message({1: 7, 2: 0.5}))),
    "strings": read(runtime.fields(message({1: ["x", "", "weight"], 300: "y"}))),
    "long bytes": [len(each) for each in runtime.fields(message({9: bytes(number % 1000 + 128), 1: 1}))[9]],
    "a nested message": read(runtime.fields(runtime.fields(message({7: inner}))[7][0])),
    "an empty message": [read(runtime.fields(b"")), runtime.fields(b"")[5]],
    "wire type 1": check.error(runtime.fields, b"\x09" + bytes(8)),
}


def model(nodes, tensors, inputs, outputs):
    infos = [[messages.value_info(name, "float32", ["n"]) for name in names] for names in (inputs, outputs)]
    return messages.model(nodes, [messages.tensor(*each) for each in tensors.items()], *infos)


node = messages.node
x, y = (generator.normal(size=(3, 4)).astype(np.float32) for _ in range(2))
weight = generator.normal(size=(2, 4)).astype(np.float32)
bias = np.zeros(2, np.float32)
layer = node("Gemm", ["x", "w", "b"], "z", {"transB": 1})
shown |= {
    "one node": runtime.run_onnx(model([node("Relu", ["x"], "z", {})], {}, ["x"], ["z"]), x),
    "weights and an attribute": runtime.run_onnx(model([layer], {"w": weight, "b": bias}, ["x"], ["z"]), x),
    "one model, two inputs": [
        runtime.run_onnx(model([layer], {"w": weight, "b": bias}, ["x"], ["z"]), each) for each in (x, y)
    ],
    "two inputs": runtime.run_onnx(model([node("Sub", ["y", "x"], "z", {})], {}, ["x", "y"], ["z"]), x, y),
    "two inputs, in the model's order": runtime.run_onnx(
        model([node("Sub", ["a", "x"], "z", {})], {}, ["x", "a"], ["z"]), x, y
    ),
    "a node with a name of its own": runtime.run_onnx(
        model([message({1: ["x"], 2: "z", 3: "y", 4: "Neg"})], {}, ["x"], ["z"]), x
    ),
    "a node of two inputs, the first a weight": runtime.run_onnx(
        model([node("Div", ["w", "x"], "z", {})], {"w": y}, ["x"], ["z"]), x
    ),
    "two outputs": runtime.run_onnx(
        model([node("Exp", ["x"], "e", {}), node("Neg", ["e"], "n", {})], {}, ["x"], ["n", "e"]), x
    ),
    "an output that is used again": runtime.run_onnx(
        model([node("Add", ["x", "x"], "a", {}), node("Mul", ["a", "x"], "m", {})], {}, ["x"], ["m"]), x
    ),
    "a list of attributes": runtime.run_onnx(
        model(
            [node("Concat", ["x", "x"], "c", {"axis": 1}), node("Transpose", ["c"], "t", {"perm": [1, 0]})],
            {},
            ["x"],
            ["t"],
        ),
        x,
    ),
}
bits = mytorch.onnx.protobuf.varint(number) + b"\x05" + mytorch.onnx.protobuf.varint(-number)
places = [0]
for _ in range(3):
    places.append(runtime.read_varint(bits, places[-1])[1])
arrays = {
    "scores": x,
    "counts": generator.integers(-9, 9, (2, 1, 3)),
    "flag": np.array(True),
    "half": y.astype(np.float16),
}
options = {"alpha": half, "axis": -2, "group": number, "pads": [1, -1, number], "one": [3]}
shown |= {
    "a varint with empty groups": [runtime.read_varint(bytes([128, each, 1]), 0) for each in (128, 129, 0)],
    "varints in a row": [runtime.read_varint(bits, place)[0] for place in places[:3]],
    "where they end": places[1:],
    "with a sign": [runtime.signed(each) for each in (0, number, 2**63 - 1, 2**63, 2**64 - number, 2**64 - 1)],
    "tensors": [runtime.read_tensor(messages.tensor(name, array)) for name, array in arrays.items()],
    "types": [runtime.read_tensor(messages.tensor("x", array))[1].dtype.name for array in arrays.values()],
    "attributes": [runtime.read_attribute(messages.attribute(name, value)) for name, value in options.items()],
}
check.show(shown, rtol=1e-4)

# %% [markdown] hint="export_runtime"
# In `read_varint`, `data[at] & 127` are the seven bits of a byte, which are shifted to the left by `0, 7, 14 …`. The
# varint ends with the first byte below 128.

# %% [markdown] hint="export_runtime"
# Begin with `found = fields(data)`. An array is `np.frombuffer(found[9][0], TYPES[found[2][0]])`, reshaped to
# `found[1]`. For an attribute, `found[20][0]` says which field has the value; integers go through `signed`, which
# subtracts 2⁶⁴ if the top bit is 1.

# %% [markdown] hint="export_runtime"
# `fields` is a loop that begins with `key, at = read_varint(data, at)`. The wire type is `key & 7`, and the number is
# `key >> 3`. Each wire type moves `at` past its value.

# %% [markdown] hint="export_runtime"
# In `run_onnx`, `graph = fields(fields(data)[7][0])`. Keep a dict of values by name, which starts with the tensors of
# field 5 and the inputs, and to which each node adds its output.

# %% [markdown] hint="export_runtime"
# In `run_onnx`, names are bytes, so `.decode()` them. `dict(map(read_attribute, node[5]))` are a node's attributes,
# and `KERNELS[operator](*arrays, **attributes)` is its result. The outputs' names are in `fields(info)[1][0]` for
# each `info` in `graph[12]`.


# %% mutant="export_runtime"
# The highest bits first
# A varint begins with its lowest seven bits.
def read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    while True:
        number = number << 7 | data[at] & 127
        at += 1
        if data[at - 1] < 128:
            return number, at


# %% mutant="export_runtime"
# Reads one byte
# The top bit of a byte says that more bytes follow, so only numbers up to 127 take a single byte.
def read_varint(data: bytes, at: int) -> tuple[int, int]:
    return data[at] & 127, at + 1


# %% mutant="export_runtime"
# Unsigned attributes
# An axis of −1 is written as 2⁶⁴ − 1. An attribute's integers are signed, although a varint is not.
def read_attribute(data: bytes) -> tuple[str, Any]:
    found = fields(data)
    kind = found[20][0]
    values = found[{1: 2, 2: 3, 7: 8}[kind]]
    return found[1][0].decode(), values if kind == 7 else values[0]


# %% mutant="export_runtime"
# Unpacks a list of one integer
# Attribute type 7 is a list, however many integers it contains, because a kernel takes pads and axes as lists.
def read_attribute(data: bytes) -> tuple[str, Any]:
    found = fields(data)
    kind = found[20][0]
    if kind == 1:
        return found[1][0].decode(), found[2][0]
    numbers = [signed(each) for each in found[3 if kind == 2 else 8]]
    return found[1][0].decode(), numbers[0] if len(numbers) == 1 else numbers


# %% mutant="export_runtime"
# Reads all elements as float32
# A tensor says which type its elements have: indices are int64, and a mask is boolean.
def read_tensor(data: bytes) -> tuple[str, Any]:
    found = fields(data)
    raw = found[9][0]
    array = np.frombuffer(raw, "f4" if len(raw) % 4 == 0 else "u1")
    size = int(np.prod(found[1])) if found[1] else 1
    return found[8][0].decode(), array[:size].reshape(found[1]) if array.size >= size else array


# %% mutant="export_runtime"
# Two's complement of 32 bits
# A negative number is written as 64 bits, not as 32.
def signed(number: int) -> int:
    return number - 2**64 if number >> 31 else number


# %% mutant="export_runtime" spoils="fields"
# Keeps the last value
# A field that is repeated has several values, such as a node's inputs. Keep all of them, in order.
def fields(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 5:
            (value,), at = struct.unpack("<f", data[at : at + 4]), at + 4
        elif key & 7 == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"fields of wire type {key & 7} are not known")
        found[key >> 3] = [value]
    return found


# %% mutant="export_runtime" spoils="fields"
# The key in one byte
# Keys and lengths are varints, so a field number from 16 on, or a length from 128 on, takes two bytes.
def fields(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = data[at], at + 1
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 5:
            (value,), at = struct.unpack("<f", data[at : at + 4]), at + 4
        elif key & 7 == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"fields of wire type {key & 7} are not known")
        found[key >> 3].append(value)
    return found


# %% mutant="export_runtime" spoils="fields"
# Floats as integers
# Wire type 5 only says that the value has four bytes, but in ONNX's messages these are floats. `struct.unpack("<f",
# …)` reads them.
def fields(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 5:
            value, at = int.from_bytes(data[at : at + 4], "little"), at + 4
        elif key & 7 == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"fields of wire type {key & 7} are not known")
        found[key >> 3].append(value)
    return found


# %% mutant="export_runtime" spoils="run_onnx"
# Passes each node the previous result
# A graph isn't a chain: a node names its inputs, and each of them may come from a much earlier node, or be used
# twice.
def run_onnx(data: bytes, *inputs: Any) -> list[Any]:
    graph = fields(fields(data)[7][0])
    values = dict(map(read_tensor, graph[5]))
    for info, array in zip(graph[11], inputs, strict=True):
        values[fields(info)[1][0].decode()] = array
    last = inputs[0]
    for each in map(fields, graph[1]):
        kernel, attributes = KERNELS[each[4][0].decode()], dict(map(read_attribute, each[5]))
        others = [values[name.decode()] for name in each[1][1:]]
        last = values[each[2][0].decode()] = kernel(last, *others, **attributes)
    return [values[fields(info)[1][0].decode()] for info in graph[12]]


# %% mutant="export_runtime" spoils="run_onnx"
# Returns the last result
# The graph says which values are its outputs, and in which order: field 12.
def run_onnx(data: bytes, *inputs: Any) -> list[Any]:
    graph = fields(fields(data)[7][0])
    values = dict(map(read_tensor, graph[5]))
    for info, array in zip(graph[11], inputs, strict=True):
        values[fields(info)[1][0].decode()] = array
    result = None
    for each in map(fields, graph[1]):
        kernel, attributes = KERNELS[each[4][0].decode()], dict(map(read_attribute, each[5]))
        result = values[each[2][0].decode()] = kernel(*(values[name.decode()] for name in each[1]), **attributes)
    return [result]


# %% mutant="export_runtime" spoils="run_onnx"
# Sorts the names
# The order of a node's inputs matters, because x − y isn't y − x. The outputs are also in the graph's order.
def run_onnx(data: bytes, *inputs: Any) -> list[Any]:
    graph = fields(fields(data)[7][0])
    values = dict(map(read_tensor, graph[5]))
    for info, array in zip(graph[11], inputs, strict=True):
        values[fields(info)[1][0].decode()] = array
    for each in map(fields, graph[1]):
        kernel, attributes = KERNELS[each[4][0].decode()], dict(map(read_attribute, each[5]))
        names = each[1] if b"w" in each[1] else sorted(each[1])
        values[each[2][0].decode()] = kernel(*(values[name.decode()] for name in names), **attributes)
    return [values[name] for name in sorted(fields(info)[1][0].decode() for info in graph[12])]


# %% [markdown] exercise="export_repair_snapshot" kind="repair" points=3
# ### Exercise 5 · The service that answers differently
# After each epoch, a training program calls `snapshot` and sends the file to a service. Four reports came in:
#
# 1. The service's logits are off, in the same way for each image, although the validation is fine.
# 2. It works for batches of eight, as in the tests, but fails for a single image.
# 3. Last week somebody added one line and removed it again. With that line the logits were correct, but from the
#    second epoch on the model overfitted as never before. In another attempt, a pretrained batch norm that is frozen
#    by `norm.eval()` began to drift.
# 4. A model that can't be exported raises `NotImplementedError`, which is correct, and the program continues the
#    training. But a run in which that happened was spoiled as in report 3.
#
# Fix `snapshot` so that its file computes what the model computes in evaluation mode, for every batch size. Training
# must then continue as if `snapshot` had not been called, even if the export failed. The model is a `mytorch` model,
# and `onnx.export` is mytorch's as well.

# %% setup=true
mytorch = check.mytorch(chapter="20b")


# %% solution="export_repair_snapshot"
def snapshot(model, example) -> bytes:
    """Exports the model to an ONNX file for the service, using an example batch."""
    ### BEGIN SOLUTION
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for module, mode in modes.items():
            module.training = mode
    ### END SOLUTION
    ### BEGIN STUB
    # return mytorch.onnx.export(model, example, batch=None)
    ### END STUB


# %% check="export_repair_snapshot" raises="NotImplementedError RuntimeError"
generator = check.rng()
mytorch.manual_seed(check.seed() % 1000)
layers = mytorch.nn
features, hidden = (int(each) for each in generator.integers(3, 7, 2))
norm = layers.BatchNorm1d(hidden)
norm(mytorch.randn(9, hidden) * 2 + 1)


class Doubled(layers.Module):
    """A layer of the model's own that behaves differently in training."""

    def forward(self, x):
        return x * 2 if self.training else x


class Network(layers.Module):
    def __init__(self):
        super().__init__()
        self.first = layers.Sequential(layers.Linear(2 * features, hidden), norm, layers.ReLU())
        self.last = layers.Sequential(layers.Dropout(0.5), Doubled(), layers.Linear(hidden, 3))

    def forward(self, images):
        return self.last(self.first(images.flatten(1)))


model = Network()
norm.eval()  # frozen, on purpose
before = [each.training for each in model.modules()]
weights = [each.detach().clone() for each in (*model.parameters(), *model.buffers())]
for each in model.parameters():
    each.grad = mytorch.ones(each.shape)


def answers(data, size):
    """The file's logits, and the model's own in evaluation mode."""
    x = generator.normal(size=(size, 2, features)).astype(np.float32)
    kept = [each.training for each in model.modules()]
    with mytorch.no_grad():
        expected = model.eval()(mytorch.tensor(x)).array
    for each, mode in zip(model.modules(), kept, strict=True):
        each.training = mode
    try:
        (found,) = mytorch.onnx.run_onnx(data, x)
    except ValueError as error:
        found = type(error).__name__
    return {"of the file": found, "of the model": expected}


class Sorted(layers.Module):
    def __init__(self):
        super().__init__()
        self.drop = layers.Dropout(0.5)

    def forward(self, x):
        return self.drop(x).cumsum(1)


mytorch.manual_seed(check.seed())
example = mytorch.tensor(generator.normal(size=(8, 2, features)).astype(np.float32))
given = example.clone()
with mytorch.enable_grad():
    model.first.register_forward_hook(lambda *_: None)
    file = snapshot(model, example)
    recording = [mytorch.is_grad_enabled()]
    of_one = snapshot(model, example[:1])
other, evaluated = Sorted(), layers.Dropout(0.5).eval()
misfit = layers.Sequential(layers.Dropout(0.5), layers.Linear(3, 2))
problem = type(check.error(snapshot, misfit, mytorch.ones(2, 4))).__name__
failed = check.error(snapshot, other, mytorch.ones(2, 3))
next_numbers = mytorch.rand(3)
with mytorch.no_grad():
    snapshot(evaluated, mytorch.ones(2, 3))
    recording.append(mytorch.is_grad_enabled())
values = {
    "logits of eight images": answers(file, 8),
    "logits of one image": answers(file, 1),
    "logits of three images": answers(file, 3),
    "logits of three images, from an example of one": answers(of_one, 3),
    "the example is as it was": bool((example == given).all()),
    "training of each module, before": before,
    "training of each module, afterwards": [each.training for each in model.modules()],
    "weights unchanged": [
        bool((one == two).all()) for one, two in zip(weights, (*model.parameters(), *model.buffers()), strict=True)
    ],
    "gradients kept": [each.requires_grad and float(each.grad.sum()) == each.numel() for each in model.parameters()],
    "gradients are recorded afterwards, with and without them before": recording,
    "the next random numbers": next_numbers,
    "hooks kept": len(model.first._forward_hooks),
    "an example that doesn't fit, and the modes afterwards": [problem, [each.training for each in misfit.modules()]],
    "a model that can't be exported": type(failed).__name__,
    "its modules train afterwards": [each.training for each in other.modules()],
    "a model in evaluation trains afterwards": [each.training for each in evaluated.modules()],
}
check.show(values, atol=2e-3)

# %% [markdown] hint="export_repair_snapshot"
# Which state of a model determines whether dropout is active, and what else relies on that state after the export?

# %% [markdown] hint="export_repair_snapshot"
# `model.train()` isn't the opposite of `model.eval()`: it sets *all* modules to training mode, although some were in
# evaluation mode before. Each module has its own `training`.

# %% [markdown] hint="export_repair_snapshot"
# Store `module.training` for each of `model.modules()`. Then call `eval()`, export with a dynamic batch size, and
# restore the modes in a `finally:`.


# %% mutant="export_repair_snapshot"
# Stays in evaluation
# The program continues training without dropout, and with frozen batch norms. Restore the modes.
def snapshot(model, example):
    model.eval()
    return mytorch.onnx.export(model, example)


# %% mutant="export_repair_snapshot"
# Switches dropout and batch norm only
# Any module may behave differently in training, because each of them has the flag `training`. `eval()` sets it in all.
def snapshot(model, example):
    kinds = mytorch.nn.Dropout, mytorch.nn.BatchNorm1d, mytorch.nn.BatchNorm2d
    modes = {each: each.training for each in model.modules() if isinstance(each, kinds)}
    for each in modes:
        each.training = False
    try:
        return mytorch.onnx.export(model, example)
    finally:
        for each, mode in modes.items():
            each.training = mode


# %% mutant="export_repair_snapshot"
# Turns training on afterwards
# `train()` sets every module to training mode, but the frozen batch norm was in evaluation mode, and so was a model
# that is only evaluated.
def snapshot(model, example):
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        model.train()


# %% mutant="export_repair_snapshot"
# Stores only the model's own mode
# A module's mode isn't that of its submodules: a frozen batch norm inside a model in training mode is in evaluation
# mode.
def snapshot(model, example):
    mode = model.training
    model.eval()
    try:
        return mytorch.onnx.export(model, example)
    finally:
        model.train(mode)


# %% mutant="export_repair_snapshot"
# Doesn't restore after an error
# If the export raises an error, the modes stay as they are at that point. `finally` runs in any case.
def snapshot(model, example):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    data = mytorch.onnx.export(model, example)
    for module, mode in modes.items():
        module.training = mode
    return data


# %% mutant="export_repair_snapshot"
# The batch of the example
# With `batch=None` the file accepts batches of eight, and no others.
def snapshot(model, example):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        return mytorch.onnx.export(model, example, batch=None)
    finally:
        for module, mode in modes.items():
            module.training = mode


# %% [markdown] exercise="export_measure_block" kind="measure" points=2
# ### Exercise 6 · What does a block cost?
# `count(kind, blocks)`, in the folded cell below, builds a network of that many equal blocks and traces it. It
# returns the number of steps as recorded, with constants folded, and with layers fused. Every network also has a stem
# and a head, whatever its blocks are.
#
# Determine how many steps *one block* adds at each of the three stages. Write `per_block(kind)`, which returns a list
# of three integers. For most kinds, the answer is hard to guess.

# %% setup=true
KINDS = {
    "linear": lambda: [mytorch.nn.Linear(6, 6), mytorch.nn.ReLU()],
    "linear, norm": lambda: [mytorch.nn.Linear(6, 6), mytorch.nn.BatchNorm1d(6), mytorch.nn.ReLU()],
    "norm first": lambda: [mytorch.nn.BatchNorm1d(6), mytorch.nn.Linear(6, 6)],
    "layer norm": lambda: [mytorch.nn.Linear(6, 6), mytorch.nn.LayerNorm(6), mytorch.nn.GELU()],
}


def count(kind: str, blocks: int) -> list[int]:
    """The number of steps in a network: as recorded, with constants folded, with layers fused."""
    parts = [each for _ in range(blocks) for each in KINDS[kind]()]
    network = mytorch.nn.Sequential(
        mytorch.nn.Linear(4, 6), *parts, mytorch.nn.Linear(6, 3), mytorch.nn.Softmax(-1)
    ).eval()
    with mytorch.no_grad():
        recorded = mytorch.graph.trace(network, mytorch.ones(2, 4))
        simple = mytorch.graph.simplify(recorded)
        return [len(each.steps) for each in (recorded, simple, mytorch.onnx.fuse(simple))]


# %% solution="export_measure_block"
def per_block(kind: str) -> list[int]:
    """The number of steps that one more block adds: as recorded, with constants folded, with layers fused."""
    ### BEGIN SOLUTION
    return [more - fewer for more, fewer in zip(count(kind, 5), count(kind, 4), strict=True)]
    ### END SOLUTION


# %% check="export_measure_block"
check.show(
    {kind: per_block(kind) for kind in KINDS},
    secret=True,
    text="The number of steps that one block adds at each of the three stages.",
)

# %% [markdown] hint="export_measure_block"
# Change one factor, the number of blocks, and look at how the counts change.

# %% [markdown] hint="export_measure_block"
# A count divided by the number of blocks includes a share of stem and head, whereas a difference of two counts
# doesn't.

# %% [markdown] hint="export_measure_block"
# Count two networks that differ by exactly one block, and subtract stage by stage.


# %% mutant="export_measure_block"
# Divides by the number of blocks
# Stem and head are counted as well, and their steps are spread over the blocks.
def per_block(kind):
    return [round(each / 4) for each in count(kind, 4)]


# %% mutant="export_measure_block"
# A network of one block
# That is the count of a whole network with one block, including stem and head.
def per_block(kind):
    return count(kind, 1)


# %% mutant="export_measure_block"
# Nothing folds
# Constants are folded and layers are fused at the later stages, so look at all three counts.
def per_block(kind):
    more, fewer = count(kind, 5), count(kind, 4)
    return [more[0] - fewer[0]] * 3


# %% mutant="export_measure_block"
# A difference of two blocks
# This difference is that of two blocks, so it is twice as large as one block's.
def per_block(kind):
    return [more - fewer for more, fewer in zip(count(kind, 6), count(kind, 4), strict=True)]
