# %% [markdown]
# # Exercises · A compiler
# Four of the exercises complete `mytorch.compile`: the buffers of a kernel, the code generator, the guards, and the
# division of a joint graph into a forward and a backward pass. These run inside `mytorch/compiler.py`, where
# everything that the docstrings mention is available; import anything else inside the function.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% [markdown] exercise="compiler_predict_variants" kind="predict" points=1
# ### Exercise 1 · How often does it compile?
# ```python
# program = mytorch.compile(lambda x, y, k: (x + y) * k)
# ones, x = mytorch.ones, mytorch.ones(5)
# program(ones(3), ones(3), 2)
# program(ones(4), ones(4), 2)
# program(ones(4), ones(1), 2)
# program(ones(5), ones(5), 2.0)
# program(x, x, 2)
# program(ones(2, 3), ones(3), 2)
# program(ones(7), ones(7), 2)
# ```
# After each of the seven calls, how many variants does `program` have, that is, how many sets of guards has it met? Set
# `prediction` to a list of seven numbers, without running the code first.

# %% solution="compiler_predict_variants"
### BEGIN SOLUTION
prediction = [1, 1, 2, 3, 4, 5, 5]
### END SOLUTION

# %% check="compiler_predict_variants"
check.show({f"call {number}": int(count) for number, count in enumerate(prediction, 1)}, secret=True)

# %% [markdown] hint="compiler_predict_variants"
# A size is guarded by a symbol, and equal sizes have the same symbol. Which of the sizes have no symbol?

# %% [markdown] hint="compiler_predict_variants"
# The number `k` is guarded by its type and its value, and two arguments that are the same tensor are a variant of their
# own.

# %% [markdown] hint="compiler_predict_variants"
# The second call and the last one fit the guards of the first: both arguments have the size `s0`, and they are different
# tensors. All other calls compile.

# %% mutant="compiler_predict_variants"
# Gives each size a variant of its own
# Sizes from 2 up are symbols, so length 4 fits the guards that length 3 made.
prediction = [1, 2, 3, 4, 5, 6, 7]

# %% mutant="compiler_predict_variants"
# Treats 1 as any other size
# A size of 1 broadcasts, so it is never a symbol: `ones(4) + ones(1)` needs a variant of its own.
prediction = [1, 1, 1, 2, 3, 4, 4]

# %% mutant="compiler_predict_variants"
# Takes 2 and 2.0 for equal
# They are equal in Python, but an integer and a float promote differently, so the guard compares the type, too.
prediction = [1, 1, 2, 2, 3, 4, 4]

# %% mutant="compiler_predict_variants"
# Ignores that x is passed twice
# A graph that was traced with the same tensor in both places may rely on it, so this is guarded as well.
prediction = [1, 1, 2, 3, 3, 4, 4]

# %% mutant="compiler_predict_variants"
# Compiles again for what it has seen before
# The variants are kept, so the last call finds the first one.
prediction = [1, 1, 2, 3, 4, 5, 6]


# %% [markdown] exercise="compiler_slots" kind="core" points=3 part="mytorch.compiler:slots"
# ### Exercise 2 · How many buffers does a kernel need?
# A kernel computes its steps one after the other, block by block. A result that is used outside the kernel (`kept`) has a
# buffer of its own. Every other result needs a *slot*, a buffer as large as a block, only until it has been read for the
# last time. Give each of them a slot, and use as few slots as possible.


# %% docstrings="compiler_slots"
def slots():
    """A dict from each step of the group that isn't in `kept` to its slot, 0, 1, 2, …, with as few slots as possible.

    The steps run in the order of the list. A slot is free again from the step on that reads its value for the last
    time, so this step may write its own result over it. `steps_in(step.args)` lists the steps that a step reads, a step
    as often as it is read; some of them may be outside the group. Each step that isn't in `kept` is read by a later
    step of the group.
    """


# %% check="compiler_slots"
generator = check.rng()
compiler, graph = mytorch.compiler, mytorch.graph
compiler.BLOCK = int(generator.integers(4, 8))
k, length = float(generator.integers(2, 9)), int(generator.integers(3, 7))
x, y = (mytorch.tensor(generator.uniform(0.2, 1.5, 19).astype(np.float32)) for _ in range(2))


def chain(x):
    for _ in range(length):
        x = x * k + 1
    return x


def squares(x):
    a = x * k
    b = a * a
    c = b + b
    d = x + c * c
    return d * (x * b)


def late(x):
    early = x.sqrt()
    first = x * k
    for _ in range(length):
        first = first + x
    return first * early + (early * x)


def inside(x):
    kept = x * k
    a = kept + 1
    b = kept.sqrt()
    return a * b + x, kept


def ended(x):
    kept = (x + k) * 2
    a = x - k
    return kept, a * a


def pairs(x):
    a, b = x * k, x + k
    c = a * b
    return c * (x - k) + x


def wide(x):
    parts = [x * (k + number) for number in range(length)]
    total = parts[0] * parts[-1]
    for each in parts:
        total = total + each
    return total


def tangle(x):
    values = [x]
    for _ in range(14):
        first, second = generator_of_choices.integers(max(0, len(values) - 4), len(values), 2)
        values.append((values[first] + values[second]) * 0.5)
    return values[-1] + values[-2]


def planned(function):
    """How many slots there are, which numbers they have, and what the kernel computes with them; or the error."""
    global generator_of_choices
    generator_of_choices = np.random.default_rng(check.seed())
    traced = graph.drop_unused(graph.trace(function, x))
    kept, made = graph.steps_in(traced.output), []
    problem = check.error(lambda: made.append(compiler.slots(traced.steps, kept)))
    if problem is not None:
        return type(problem).__name__
    inside = [step for step in traced.steps if step not in kept]
    if set(made[0]) != set(inside):
        return f"{len(made[0])} steps have a slot, and {len(inside)} need one"
    outputs = [mytorch.empty(19) for _ in kept]
    problem = check.error(lambda: compiler.Kernel(traced.steps, kept)(*outputs, x))
    return sorted(set(made[0].values())), type(problem).__name__ if problem else outputs


programs = {"a chain": chain, "squares": squares, "a value read late": late, "a kept value": inside}
programs |= {
    "a kept value that reads another last": ended,
    "two that end together": pairs,
    "many at once": wide,
    "a tangle": tangle,
    "all kept": lambda x: (x * k, x + k),
    "one step": lambda x: x * k,
}
check.show(
    {"factor and length": (k, length), **{name: planned(function) for name, function in programs.items()}},
    rtol=1e-4,
    atol=1e-5,
    text="The slots of each program, and what its kernel computes with them.",
)

# %% [markdown] hint="compiler_slots"
# First find the last reader of each step, in one walk over the group. Then walk over it again with a list of the slots
# that are free.

# %% [markdown] hint="compiler_slots"
# At each step, first free the slots of those operands whose last reader this step is. Then give the step a free slot; if
# there is none, the next number. An operand that the step reads twice must be freed once.

# %% [markdown] hint="compiler_slots"
# `last = {each: step for step in group for each in steps_in(step.args)}` maps each step to its last reader, because
# later steps overwrite earlier ones. `dict.fromkeys(steps_in(step.args))` has each operand once.


# %% mutant="compiler_slots"
# Never frees a slot
# Each result has a slot of its own, so a long chain needs as many buffers as it has steps, and they don't fit into the
# cache.
def slots(group, kept):
    return {step: number for number, step in enumerate(each for each in group if each not in kept)}


# %% mutant="compiler_slots"
# Frees an operand twice
# A step such as `a * a` reads one value twice. Its slot is free once, but here it is in the list of free slots twice,
# and two later results share it.
def slots(group, kept):
    last = {each: step for step in group for each in steps_in(step.args)}
    place, free, count = {}, [], 0
    for step in group:
        free += [place[each] for each in steps_in(step.args) if each in place and last[each] is step]
        if step not in kept:
            if not free:
                free.append(count)
                count += 1
            place[step] = free.pop()
    return place


# %% mutant="compiler_slots"
# Frees a slot at the first reader
# A value that is read again later has been overwritten by then. Its slot is free from its last reader on.
def slots(group, kept):
    place, free, count = {}, [], 0
    for step in group:
        for each in dict.fromkeys(steps_in(step.args)):
            if each in place and place[each] not in free:
                free.append(place[each])
        if step not in kept:
            if not free:
                free.append(count)
                count += 1
            place[step] = free.pop()
    return place


# %% mutant="compiler_slots"
# Doesn't write over an operand
# NumPy's functions compute element by element, so a step may write its result over an operand that nobody reads
# afterwards. This plan needs one slot too many for a chain.
def slots(group, kept):
    last = {each: step for step in group for each in steps_in(step.args)}
    place, free, count = {}, [], 0
    for step in group:
        if step not in kept:
            if not free:
                free.append(count)
                count += 1
            place[step] = free.pop()
        free += [place[each] for each in dict.fromkeys(steps_in(step.args)) if each in place and last[each] is step]
    return place


# %% mutant="compiler_slots"
# Gives kept results a slot, too
# A result that is used outside the kernel is written to its own buffer, and later steps read it there.
def slots(group, kept):
    last = {each: step for step in group for each in steps_in(step.args)}
    place, free, count = {}, [], 0
    for step in group:
        free += [place[each] for each in dict.fromkeys(steps_in(step.args)) if each in place and last[each] is step]
        if not free:
            free.append(count)
            count += 1
        place[step] = free.pop()
    return place


# %% [markdown] exercise="compiler_source" kind="core" points=4 part="mytorch.compiler:source"
# ### Exercise 3 · The code generator
# Write the function that writes the kernel. `operands(group)` lists what the group reads and doesn't compute, each once:
# steps of earlier kernels, inputs of the graph, and tensors. `slots(group, kept)` is exercise 2's, and `UFUNCS` maps an
# operation's name to the name of NumPy's function.


# %% docstrings="compiler_source"
def source(group, kept):
    """The text of a function `kernel(y0, y1, …, x0, x1, …)`, in which the names `np`, `inf` and `nan` can be used.

    The y are flat arrays for the results of the steps in `kept`, in this order, and the kernel fills them. The x are
    flat arrays with the values of `operands(group)`, in this order, and they aren't changed. All of them have the same
    size, which may be 0, and the same dtype.

    The kernel goes through the elements in blocks of `BLOCK` elements, of which the last one may be shorter. In each
    block it computes the steps in order. Each step is one call of NumPy, `np.multiply(…, …, out=…)`, which writes into
    a y or into a slot. The kernel allocates the slots itself, once, before the loop: `len(set(place.values()))` of them,
    each of `BLOCK` elements and of the dtype of the y.

    An argument of a step that is neither a step nor a tensor is a number, and is written as `repr(number)`.
    """


# %% check="compiler_source"
generator = check.rng()
compiler, graph = mytorch.compiler, mytorch.graph
compiler.BLOCK = int(generator.integers(4, 8))
k, weight = float(generator.integers(2, 9)), mytorch.tensor(generator.uniform(0.2, 1.5, 19).astype(np.float32))


class Watched:
    """NumPy, whose calls are noted: without an `out`, with more elements than a block has, or with another dtype."""

    def __init__(self, dtype):
        self.dtype, self.calls, self.allocated, self.faults = dtype, 0, 0, []

    def __getattr__(self, name):
        found = getattr(np, name)
        if name not in compiler.UFUNCS.values():
            return self.allocating(found) if name.startswith(("empty", "zeros", "ones", "full")) else found

        def call(*args, **keywords):
            self.calls += 1
            sizes = [np.size(each) for each in (*args, keywords.get("out", 0))]
            if keywords.get("out") is None:
                self.faults.append(f"{name} without out=")
            if max(sizes) > compiler.BLOCK:
                self.faults.append(f"{name} of {max(sizes)} elements at once")
            return found(*args, **keywords)

        return call

    def allocating(self, make):
        def call(*args, **keywords):
            made = make(*args, **keywords)
            self.allocated += made.size
            if made.dtype != self.dtype:
                self.faults.append(f"a slot of {made.dtype} for a result of {np.dtype(self.dtype)}")
            return made

        return call


def kernel_of(function, size, dtype=np.float32, kept=None):
    """What the generated function computes, and how: calls of NumPy, elements allocated, and faults."""
    inputs = [mytorch.tensor(generator.uniform(0.2, 1.5, size).astype(dtype)) for _ in range(2)]
    traced = graph.drop_unused(graph.trace(function, *inputs))
    kept = kept(traced.steps) if kept else graph.steps_in(traced.output)
    held = dict(zip(traced.inputs, inputs, strict=True))
    arrays = [held.get(each, each).array.copy() for each in compiler.operands(traced.steps)]
    before, outputs = [each.copy() for each in arrays], [np.full(size, -1, dtype) for _ in kept]
    watched = Watched(dtype)
    space = {"np": watched, "inf": np.inf, "nan": np.nan}
    problem = check.error(lambda: exec(check.intact(compiler.source, traced.steps, kept), space))
    problem = problem or check.error(lambda: space["kernel"](*outputs, *arrays))
    if problem is not None:
        return type(problem).__name__
    same = all(np.array_equal(*each) for each in zip(before, arrays, strict=True))
    place = compiler.slots(traced.steps, kept)
    fits = watched.allocated <= len(set(place.values())) * compiler.BLOCK
    return outputs, watched.calls, "fits" if fits else watched.allocated, sorted(set(watched.faults)), same


def two(x, y):
    a = x * y + k
    return a * a - x, a, (1 / y).sqrt()


check.show(
    {
        "factor and block": (k, compiler.BLOCK),
        "one block": kernel_of(lambda x, y: (x * (k + 0.123456) - y).tanh(), 3),
        "a short last block": kernel_of(lambda x, y: (x * k - y).tanh() + x, 3 * compiler.BLOCK + 2),
        "whole blocks": kernel_of(lambda x, y: (k / x).sqrt() * y, 2 * compiler.BLOCK),
        "no element": kernel_of(lambda x, y: x * k - y, 0),
        "three results": kernel_of(two, 19),
        "kept in another order": kernel_of(two, 19, kept=lambda steps: [steps[-1], steps[1], steps[3]]),
        "a tensor from outside": kernel_of(lambda x, y: (x + weight) * weight - y * k, 19),
        "numbers": kernel_of(lambda x, y: mytorch.minimum(mytorch.maximum(x * -k, -float("inf")), 0.5) + y * True, 9),
        "nan": kernel_of(lambda x, y: x * float("nan") + y, 5),
        "float64": kernel_of(lambda x, y: ((x + 1e7) - 1e7) * k + y, 9, np.float64),
        "a number in front": kernel_of(lambda x, y: (k - x) * y, 9),
        "seven digits of a number": kernel_of(lambda x, y: (x * (k + 2.0**-20) - x * k) * 2.0**20 + y, 9, np.float64),
        "one operand, twice": kernel_of(lambda x, y: x * x + x, 9),
        "one step": kernel_of(lambda x, y: x * y, 9),
        "one input unused": kernel_of(lambda x, y: y * k + 1, 9),
    },
    rtol=1e-5,
    atol=1e-6,
    text="What generated kernels compute, their calls of NumPy, and whether their slots fit.",
)

# %% [markdown] hint="compiler_source"
# Begin with a dict from the `id` of each step or tensor to the text that reads or writes a block of it: `x0[b]` for
# operands, `y0[b]` for kept steps, and a row of the slots for the rest. Then each step is one line.

# %% [markdown] hint="compiler_source"
# In the loop, `b = slice(start, start + BLOCK)` cuts a block from an x or a y. The last block may be shorter, so a slot
# has to be cut to the same length: `slice(0, y0.size - start)` does so, because a slice may be longer than the array.

# %% [markdown] hint="compiler_source"
# The generated text looks like this, for two results, one operand and one slot:
#
# ```python
# def kernel(y0, y1, x0):
#     t = np.empty((1, 65536), y0.dtype)
#     for start in range(0, y0.size, 65536):
#         b, c = slice(start, start + 65536), slice(0, y0.size - start)
#         np.multiply(x0[b], 2.0, out=t[0, c])
#         np.tanh(t[0, c], out=y0[b])
#         np.add(y0[b], 1, out=y1[b])
# ```


# %% mutant="compiler_source"
# Doesn't cut the last slot
# The last block is shorter than the others. A slot that isn't cut to its length doesn't broadcast with the block.
def source(group, kept):
    place, read = slots(group, kept), operands(group)
    names = {id(each): f"x{number}[b]" for number, each in enumerate(read)}
    names |= {id(step): f"t[{slot}]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[b]" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{number}" for number in range(len(read))]
    lines = [f"def kernel({', '.join(given)}):", f"    t = np.empty(({len(set(place.values()))}, {BLOCK}), y0.dtype)"]
    lines += [f"    for start in range(0, y0.size, {BLOCK}):", f"        b = slice(start, start + {BLOCK})"]
    for step in group:
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({args}, out={names[id(step)]})")
    return "\n".join(lines)


# %% mutant="compiler_source"
# Computes the whole array at once
# The values are right, but without blocks each line goes through the whole array, and its slot is as large as that: the
# traffic is that of separate kernels.
def source(group, kept):
    place, read = slots(group, kept), operands(group)
    names = {id(each): f"x{number}" for number, each in enumerate(read)}
    names |= {id(step): f"t[{slot}]" for step, slot in place.items()}
    names |= {id(step): f"y{number}" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{number}" for number in range(len(read))]
    lines = [f"def kernel({', '.join(given)}):"]
    lines += [f"    t = np.empty(({len(set(place.values()))}, y0.size), y0.dtype)"]
    for step in group:
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"    np.{UFUNCS[step.op.name]}({args}, out={names[id(step)]})")
    return "\n".join(lines)


# %% mutant="compiler_source"
# Lets NumPy allocate
# Without `out=`, each call allocates its result, so there is a temporary array for each step and each block.
def source(group, kept):
    read = operands(group)
    names = {id(each): f"x{number}[b]" for number, each in enumerate(read)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{number}" for number in range(len(read))]
    lines = [f"def kernel({', '.join(given)}):", f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b = slice(start, start + {BLOCK})"]
    for number, step in enumerate(group):
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        names[id(step)] = f"v{number}"
        lines.append(f"        v{number} = np.{UFUNCS[step.op.name]}({args})")
    lines += [f"        y{number}[b] = {names[id(step)]}" for number, step in enumerate(kept)]
    return "\n".join(lines)


# %% mutant="compiler_source"
# Leaves the dtype of the slots to NumPy
# Without a dtype, `np.empty` makes float64: a float32 kernel then moves twice the bytes through its slots, and
# converts in every step.
def source(group, kept):
    place, read = slots(group, kept), operands(group)
    names = {id(each): f"x{number}[b]" for number, each in enumerate(read)}
    names |= {id(step): f"t[{slot}, c]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[b]" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{number}" for number in range(len(read))]
    lines = [f"def kernel({', '.join(given)}):", f"    t = np.empty(({len(set(place.values()))}, {BLOCK}))"]
    lines += [f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)"]
    for step in group:
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({args}, out={names[id(step)]})")
    return "\n".join(lines)


# %% mutant="compiler_source"
# Calls the operation's own name
# The operations `mul`, `div`, `sub` and `neg` are called differently in NumPy: `UFUNCS` has the names.
def source(group, kept):
    place, read = slots(group, kept), operands(group)
    names = {id(each): f"x{number}[b]" for number, each in enumerate(read)}
    names |= {id(step): f"t[{slot}, c]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[b]" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{number}" for number in range(len(read))]
    lines = [f"def kernel({', '.join(given)}):", f"    t = np.empty(({len(set(place.values()))}, {BLOCK}), y0.dtype)"]
    lines += [f"    for start in range(0, y0.size, {BLOCK}):"]
    lines += [f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)"]
    for step in group:
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{step.op.name}({args}, out={names[id(step)]})")
    return "\n".join(lines)


# %% mutant="compiler_source"
# Stops before the last block
# The number of whole blocks leaves out the elements of the last, shorter block.
def source(group, kept):
    place, read = slots(group, kept), operands(group)
    names = {id(each): f"x{number}[b]" for number, each in enumerate(read)}
    names |= {id(step): f"t[{slot}]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[b]" for number, step in enumerate(kept)}
    given = [f"y{number}" for number in range(len(kept))] + [f"x{number}" for number in range(len(read))]
    lines = [f"def kernel({', '.join(given)}):", f"    t = np.empty(({len(set(place.values()))}, {BLOCK}), y0.dtype)"]
    lines += [f"    for n in range(y0.size // {BLOCK}):", f"        b = slice(n * {BLOCK}, (n + 1) * {BLOCK})"]
    for step in group:
        args = ", ".join(names.get(id(each), repr(each)) for each in step.args)
        lines.append(f"        np.{UFUNCS[step.op.name]}({args}, out={names[id(step)]})")
    return "\n".join(lines)


# %% [markdown] exercise="compiler_guards" kind="core" points=3 part="mytorch.compiler:guards"
# ### Exercise 4 · Guards, with Python's arguments
# A compiled function computes its guards in every call and looks for a variant with exactly these. `graph.Compiled` of
# chapter 08 looked at tensors only. Now the arguments may also be Python's numbers, strings and lists, and sizes become
# symbols.


# %% docstrings="compiler_guards"
def guards():
    """A dict from the name of each guard to its value, for the arguments of a call.

    - `is_grad_enabled()`: whether the grad mode is on, which the function of this name says.
    - For an argument that isn't a tensor, with its number: `args[2]`, the name of its type and its `repr`, as a tuple.
    - For a tensor, with its number: `args[0].dtype`, `args[0].device`, `args[0].requires_grad`, and
      `args[0].is_contiguous()`;
    - `args[0].shape`, a tuple in which the sizes 0 and 1 are themselves and each other size is a symbol. The first
      such size is "s0", the next *different* one "s1", and so on, over all arguments: (3, 4) and (4, 1) are ("s0", "s1")
      and ("s1", 1).
    - `args[0] is`: the name of the first argument that shows the same elements of the same memory, such as "args[0]". Two
      tensors do if their `key(x)` is equal. The first one names itself.
    """


# %% check="compiler_guards"
generator = check.rng()
a, b, c = (int(size) for size in generator.choice(np.arange(2, 12), 3, replace=False))
k = int(generator.integers(2, 9))
compiler = mytorch.compiler
x, y = mytorch.ones(a, b), mytorch.ones(b, c)
trained = mytorch.ones(c, 1).requires_grad_()


def guarded(*args):
    """The guards, sorted by name; or the error."""
    found = []
    problem = check.error(lambda: found.append(compiler.guards(args)))
    return type(problem).__name__ if problem else sorted(found[0].items())


def variants(function, *calls):
    """How many variants there are after each call; or the error."""
    compiled, counts = mytorch.compile(function), []
    for args in calls:
        problem = check.error(compiled, *args)
        counts.append(len(compiled.variants) if problem is None else type(problem).__name__)
    return counts


found = {
    "sizes": [a, b, c],
    "two matrices": guarded(x, y),
    "a trained one": guarded(trained, y),
    "ones and empty": guarded(mytorch.ones(1, a, 2), mytorch.ones(0, a), mytorch.ones(())),
    "the same tensor": guarded(x, y, x, x.detach(), x.reshape(b, a), x.clone()),
    "a transposed one": guarded(x.t(), x),
    "dtypes": guarded(x.double(), x > 0, x.long()),
    "Python": guarded(x, k, float(k), True, "mean", None, [1, k], (1, k)),
    "Python first": guarded(k, x),
    "nothing": guarded(),
    "variants": variants(
        lambda x, k: x * k,
        *[(mytorch.ones(n), m) for n, m in ((a, k), (b, k), (b, float(k)), (1, k), (c, k), (c, k + 1))],
    ),
}
with mytorch.no_grad():
    found["no grad"] = guarded(trained)
check.show(found, text="The guards of calls, and how many variants some calls need.")

# %% [markdown] hint="compiler_guards"
# Go through `enumerate(args)`, and begin each name with `f"args[{number}]"`. Two dicts have to live through the whole
# loop: from size to symbol, and from `key(x)` to the first argument's name.

# %% [markdown] hint="compiler_guards"
# `symbols.setdefault(size, f"s{len(symbols)}")` gives a size its symbol, an old one or the next. The same call with
# `key(x)` and the argument's name gives the first argument that shows the same elements.

# %% [markdown] hint="compiler_guards"
# The shape is `tuple(n if n < 2 else symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)`, and for an argument
# that isn't a tensor the value is `(type(x).__name__, repr(x))`.


# %% mutant="compiler_guards"
# Gives each dimension a symbol of its own
# Two sizes that are equal share a symbol. Otherwise the graph, in which they were equal, would run on sizes that differ.
def guards(args):
    found, first, count = {"is_grad_enabled()": is_grad_enabled()}, {}, 0
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, repr(x)
            continue
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        shape = []
        for n in x.shape:
            shape.append(n if n < 2 else f"s{count}")
            count += n >= 2
        found[f"{name}.shape"] = tuple(shape)
        found[f"{name} is"] = first.setdefault(key(x), name)
    return found


# %% mutant="compiler_guards"
# Makes symbols of 0 and 1, too
# A dimension of size 1 broadcasts and an empty one computes nothing, so a graph for other sizes doesn't fit them.
def guards(args):
    found, first, symbols = {"is_grad_enabled()": is_grad_enabled()}, {}, {}
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, repr(x)
            continue
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found[f"{name}.shape"] = tuple(symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)
        found[f"{name} is"] = first.setdefault(key(x), name)
    return found


# %% mutant="compiler_guards"
# Guards the value without the type
# 1, 1.0 and True are equal in Python, but they promote differently, so the type belongs to the guard.
def guards(args):
    found, first, symbols = {"is_grad_enabled()": is_grad_enabled()}, {}, {}
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = repr(x)
            continue
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found[f"{name}.shape"] = tuple(n if n < 2 else symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)
        found[f"{name} is"] = first.setdefault(key(x), name)
    return found


# %% mutant="compiler_guards"
# Compares objects
# `x.detach()` is another object that shows the same elements, so a write to one is seen in the other. Compare `key(x)`.
def guards(args):
    found, first, symbols = {"is_grad_enabled()": is_grad_enabled()}, {}, {}
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, repr(x)
            continue
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found[f"{name}.shape"] = tuple(n if n < 2 else symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)
        found[f"{name} is"] = first.setdefault(id(x), name)
    return found


# %% mutant="compiler_guards"
# Begins the symbols anew for each argument
# A symbol means the same size in all arguments: (3, 4) and (4, 1) are ("s0", "s1") and ("s1", 1).
def guards(args):
    found, first = {"is_grad_enabled()": is_grad_enabled()}, {}
    for number, x in enumerate(args):
        name, symbols = f"args[{number}]", {}
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, repr(x)
            continue
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found[f"{name}.shape"] = tuple(n if n < 2 else symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)
        found[f"{name} is"] = first.setdefault(key(x), name)
    return found


# %% mutant="compiler_guards"
# Forgets the grad mode
# The same call needs two graphs with gradients and one without, so the grad mode is a guard.
def guards(args):
    found, first, symbols = {"is_grad_enabled()": True}, {}, {}
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, repr(x)
            continue
        found |= {f"{name}.{each}": getattr(x, each) for each in ("dtype", "device", "requires_grad")}
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found[f"{name}.shape"] = tuple(n if n < 2 else symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)
        found[f"{name} is"] = first.setdefault(key(x), name)
    return found


# %% [markdown] exercise="compiler_partition" kind="core" points=3 part="mytorch.compiler:partition"
# ### Exercise 5 · Divide a joint graph
# A joint graph takes a function's inputs and, last, the gradient of its result. It returns a tuple: the result, and then
# the gradients of the inputs. Divide it into a forward graph, which runs at once, and a backward graph, which runs when
# the gradient arrives. You decide what the forward graph has to save.


# %% docstrings="compiler_partition"
def partition():
    """Divide a joint graph into `(forward, backward)`, two graphs.

    - `forward` takes the inputs, all of them but the last, and returns `(result, saved)`. It has exactly the steps that
      the result needs. `saved` is a list of its inputs and steps, each at most once.
    - `backward` takes the saved values, in the order of the list, and then the gradient of the result. It returns the
      list of the gradients, in which None stays None.

    The backward graph needs some values of the forward pass. An input is saved if it is needed. A step of the forward
    pass that is needed is saved, too, unless the name of its operation, `step.op.name`, is in `again`: then the backward
    graph computes it again, for which it may need other values. Nothing is saved, and no step is in `backward`, that isn't
    needed in this way.

    `drop_unused` and `steps_in` are those of chapter 08. The joint graph isn't changed.
    """


# %% check="compiler_partition"
generator = check.rng()
compiler, graph = mytorch.compiler, mytorch.graph
k = float(generator.integers(2, 9))
x, y, tangent = (mytorch.tensor(generator.uniform(0.2, 1.5, (3, 4)).astype(np.float32)) for _ in range(3))
weight = mytorch.tensor(generator.uniform(0.2, 1.5, (4, 4)).astype(np.float32))


def joint_of(function):
    def joint(x, y, arriving):
        x, y = (each.detach().requires_grad_() for each in (x, y))
        result = function(x, y)
        return (result, *mytorch.autograd.grad(result, [x, y], arriving, allow_unused=True))

    return graph.simplify(graph.trace(joint, x, y, tangent))


def divided(function, *again):
    """The operations of both graphs, what is saved, and what both compute one after the other; or the error."""
    joint, made = joint_of(function), []
    names = {step: f"input {number}" for number, step in enumerate(joint.inputs)}
    before = repr(joint)
    problem = check.error(lambda: made.append(compiler.partition(joint, again)))
    if problem is not None:
        return type(problem).__name__
    forward, backward = made[0]
    shown = [sorted(step.op.name for step in each.steps) for each in made[0]]
    problem = check.error(lambda: made.append(graph.run(forward, x, y)))
    if problem is not None:
        return shown, type(problem).__name__
    result, saved = made[1]
    kept = sorted(names.get(step) or step.op.name for step in forward.output[1])
    problem = check.error(lambda: made.append(graph.run(backward, *saved, tangent)))
    return shown, kept, result, made[2] if problem is None else type(problem).__name__, repr(joint) == before


def gelu(x, y):
    return x * k * ((x * y + x * x * x).tanh() + 1)


def layer(x, y):
    return (x @ weight + y).exp() * y


cheap = ("add", "mul", "sub")
check.show(
    {
        "factor": k,
        "a gate, all saved": divided(gelu),
        "a gate, cheap ones again": divided(gelu, *cheap),
        "a gate, everything again": divided(gelu, *cheap, "tanh"),
        "a layer, all saved": divided(layer),
        "a layer, cheap ones again": divided(layer, *cheap),
        "a layer, the product again": divided(layer, "exp", "matmul", "add"),
        "a sum": divided(lambda x, y: x + y),
        "one input": divided(lambda x, y: (x * k).exp()),
        "one input, the result again": divided(lambda x, y: (x * k).exp(), "exp"),
        "a long chain": divided(lambda x, y: (((x * k).tanh() * y).exp() + 1).sqrt(), "mul", "exp", "add"),
        "a part of it": divided(lambda x, y: (x * y).tanh() * k, "tanh"),
    },
    rtol=1e-4,
    atol=1e-5,
    text="The operations of the forward and the backward graph, what is saved, and what they compute.",
)

# %% [markdown] hint="compiler_partition"
# The steps of `forward` are those of `drop_unused(Graph(inputs, joint.steps, result))`. For `backward`, walk backwards
# over the inputs and all steps, with a set of the steps that are needed, as in `drop_unused`.

# %% [markdown] hint="compiler_partition"
# At each needed step there are two cases. It is an input, or a forward step that isn't computed again: then it is saved,
# and nothing before it is needed for its sake. Otherwise it belongs to the backward graph, and its operands are needed.

# %% [markdown] hint="compiler_partition"
# Begin with `needed = set(steps_in(gradients))`, and never save `arriving`, the last input. Because the walk goes
# backwards, insert at the front: `backward.insert(0, step)`. The results are `Graph(inputs, forward, (result, saved))` and
# `Graph([*saved, arriving], backward, gradients)`.


# %% mutant="compiler_partition"
# Saves every value of the forward pass
# The forward pass made them, but the backward pass reads only some of them, and the others take memory for nothing.
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    kept = [step for step in forward if step.op.name not in again]
    whole = drop_unused(Graph(joint.inputs, joint.steps, gradients)).steps
    backward = [step for step in whole if step not in kept]
    saved = [*inputs, *kept]
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% mutant="compiler_partition"
# Computes nothing again
# What `again` names is to be computed a second time in the backward pass instead of being saved.
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    saved, backward, needed = [], [], set(steps_in(gradients)) - {arriving}
    for step in reversed([*inputs, *joint.steps]):
        if step in needed and (step in inputs or step in forward):
            saved.insert(0, step)
        elif step in needed:
            backward.insert(0, step)
            needed.update(steps_in(step.args))
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% mutant="compiler_partition"
# Saves the inputs alone
# Operations that aren't in `again` are too expensive to compute twice, so their results are saved.
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    backward = drop_unused(Graph(joint.inputs, joint.steps, gradients)).steps
    needed = steps_in([[step.args for step in backward], gradients])
    saved = [each for each in inputs if each in needed]
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% mutant="compiler_partition"
# Computes again what leads to a saved value
# A value that is saved needs no operands in the backward pass, so nothing before it is needed for its sake.
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    saved, backward, needed = [], [], set(steps_in(gradients)) - {arriving}
    for step in reversed([*inputs, *joint.steps]):
        if step not in needed:
            continue
        if step in inputs or (step in forward and step.op.name not in again):
            saved.insert(0, step)
        else:
            backward.insert(0, step)
        needed.update(steps_in(step.args))
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% mutant="compiler_partition"
# Runs the whole graph forward
# The forward graph contains the gradients' steps, too, although their gradient hasn't arrived yet.
def partition(joint, again=()):
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    saved, backward, needed = [], [], set(steps_in(gradients)) - {arriving}
    for step in reversed([*inputs, *joint.steps]):
        if step in needed and (step in inputs or (step in forward and step.op.name not in again)):
            saved.insert(0, step)
        elif step in needed:
            backward.insert(0, step)
            needed.update(steps_in(step.args))
    return Graph(inputs, joint.steps, (result, saved)), Graph([*saved, arriving], backward, gradients)


# %% [markdown] exercise="compiler_repair_replay" kind="repair" points=3
# ### Exercise 6 · The replay that never changes
# A CUDA graph records kernels together with the addresses that they read and write, and replays all of them with one
# launch. `replayed` plays this with NumPy. `record(source, target)` returns a function without arguments, the recording:
# each call of it reads the array `source` and fills the array `target`, these two and no others.
#
# With the code below, every call returns the result of the example, whatever you pass, and the arrays that several
# calls returned are all the same. Repair it, so that each call returns the result for its own input, in an array that
# later calls leave alone. `record` is still called once, the example isn't changed, and an input of another shape or
# dtype raises a ValueError, because the recording doesn't fit it.


# %% solution="compiler_repair_replay"
def replayed(record, example: np.ndarray):
    """A function of an array like `example`, which replays one recording."""
    ### BEGIN SOLUTION
    source, target = example.copy(), np.empty_like(example)
    recording = record(source, target)

    def call(x: np.ndarray) -> np.ndarray:
        if x.shape != source.shape or x.dtype != source.dtype:
            raise ValueError(f"recorded for {source.dtype} {source.shape}, got {x.dtype} {x.shape}")
        source[...] = x
        recording()
        return target.copy()

    return call
    ### END SOLUTION
    ### BEGIN STUB
    # source, target = example, np.empty_like(example)
    # recording = record(source, target)
    #
    # def call(x: np.ndarray) -> np.ndarray:
    #     source = x
    #     recording()
    #     return target
    #
    # return call
    ### END STUB


# %% check="compiler_repair_replay" raises="ValueError"
generator = check.rng()
rows, columns = (int(size) for size in generator.choice(np.arange(2, 7), 2, replace=False))
k = float(generator.integers(2, 9))
example, first, second = (generator.uniform(-1, 1, (rows, columns)).astype(np.float32) for _ in range(3))
started = example.copy()
recordings = []


def record(source, target):
    recordings.append(source.shape)

    def recording():
        np.multiply(source, k, out=target)
        np.tanh(target, out=target)

    return recording


def attempt(call, x):
    """The result, or the name of the error."""
    got = []
    problem = check.error(lambda: got.append(call(x)))
    return type(problem).__name__ if problem else got[0]


made = []
problem = check.error(lambda: made.append(replayed(record, example)))
shown = {"factor": k, "made": type(problem).__name__ if problem else True}
if problem is None:
    call = made[0]
    results = [attempt(call, x) for x in (first, second, example)]
    shown["results"] = [each if isinstance(each, str) else each.copy() for each in results]
    inputs = first.copy()
    attempt(call, inputs)
    shown["the input afterwards"] = np.array_equal(inputs, first)
    inputs[...] = 0
    shown["after the input was overwritten"] = attempt(call, second)
    shown["the example afterwards"] = example
    shown["a transposed layout"] = attempt(call, np.asfortranarray(first))
    shown["the transposed matrix"] = attempt(call, first.T)
    shown["a row"] = attempt(call, first[:1])
    shown["a number"] = attempt(call, np.float32(1.0).reshape(()))
    shown["another dtype"] = attempt(call, first.astype(np.float64))
    wider = replayed(lambda source, target: lambda: np.multiply(source, k, out=target), example.astype(np.float64))
    shown["float32 for a recording in float64"] = attempt(wider, first)
    single = replayed(lambda source, target: lambda: np.multiply(source, k, out=target), example[:1, :1])
    shown["a single element"] = attempt(single, first[:1, :1])
    shown["integers"] = attempt(call, np.ones((rows, columns), np.int32))
    shown["after the errors"] = attempt(call, first)
    changed = attempt(call, second)
    if not isinstance(changed, str):
        changed[...] = 7
    shown["after a result was changed"] = attempt(call, second)
    shown["recordings"] = len(recordings)
    shown["all results are kept"] = results
check.show(shown, rtol=1e-5, atol=1e-6, text="Results of several calls, which are compared again after later calls.")

# %% [markdown] hint="compiler_repair_replay"
# Which memory does the recording read? Does `source = x` change anything in it?

# %% [markdown] hint="compiler_repair_replay"
# An assignment to a name makes the name mean another array. To fill the array that the recording reads, assign to its
# elements. The result has the mirrored problem: there is one array, and each call fills it anew.

# %% [markdown] hint="compiler_repair_replay"
# Copy the example when you make `source`, write `source[...] = x`, and return `target.copy()`. Before that, compare shape
# and dtype, because `source[...] = x` broadcasts and converts without a word.


# %% mutant="compiler_repair_replay"
# Returns the buffer itself
# The results are right until the next call, which writes into the same array: all results that were returned earlier
# change with it.
def replayed(record, example: np.ndarray):
    source, target = example.copy(), np.empty_like(example)
    recording = record(source, target)

    def call(x: np.ndarray) -> np.ndarray:
        if x.shape != source.shape or x.dtype != source.dtype:
            raise ValueError("another shape or dtype")
        source[...] = x
        recording()
        return target

    return call


# %% mutant="compiler_repair_replay"
# Writes into the example
# The recording reads the example's own memory here, so each call overwrites an array of the caller.
def replayed(record, example: np.ndarray):
    source, target = example, np.empty_like(example)
    recording = record(source, target)

    def call(x: np.ndarray) -> np.ndarray:
        if x.shape != source.shape or x.dtype != source.dtype:
            raise ValueError("another shape or dtype")
        source[...] = x
        recording()
        return target.copy()

    return call


# %% mutant="compiler_repair_replay"
# Records in every call
# The results are right, but a new recording in each call costs more than it saves.
def replayed(record, example: np.ndarray):
    def call(x: np.ndarray) -> np.ndarray:
        if x.shape != example.shape or x.dtype != example.dtype:
            raise ValueError("another shape or dtype")
        target = np.empty_like(x)
        record(x, target)()
        return target

    return call


# %% mutant="compiler_repair_replay"
# Accepts what can be broadcast
# `source[...] = x` fills all rows with the same one if `x` is a single row. The recording was made for one shape, so
# another one must raise.
def replayed(record, example: np.ndarray):
    source, target = example.copy(), np.empty_like(example)
    recording = record(source, target)

    def call(x: np.ndarray) -> np.ndarray:
        if x.dtype != source.dtype:
            raise ValueError("another dtype")
        source[...] = x
        recording()
        return target.copy()

    return call


# %% mutant="compiler_repair_replay"
# Accepts another dtype
# `source[...] = x` converts silently, so a float64 input loses half of its digits without a word.
def replayed(record, example: np.ndarray):
    source, target = example.copy(), np.empty_like(example)
    recording = record(source, target)

    def call(x: np.ndarray) -> np.ndarray:
        if x.shape != source.shape:
            raise ValueError("another shape")
        source[...] = x
        recording()
        return target.copy()

    return call


# %% [markdown] exercise="compiler_measure_traffic" kind="measure" points=2
# ### Exercise 7 · What does saving cost?
# Measure the memory traffic of SiLU, `x / (1 + (-x).exp())`, forward and backward, in bytes per element of float32, for
# four ways to run it:
#
# 1. eager: `y = silu(x)` and then `library.autograd.grad(y, [x], tangent)`, where `x` requires a gradient;
# 2. compiled, saving everything that the backward pass needs;
# 3. compiled, computing again what `compiler.CHEAP` names;
# 4. compiled, computing everything again.
#
# `library` is mytorch as of this chapter, and `compiler` is its `library.compiler`. For 2 to 4, make the joint graph as
# the lesson does, simplify it, divide it with `compiler.partition`, fuse both graphs with `compiler.fuse`, and run them
# one after the other. Count the runs alone, inside `with library.utils.count_bytes() as moved:`, where `moved.total()` is
# their sum. Set `bytes_per_element` to a list of four whole numbers.

# %% setup=true
library = check.mytorch(chapter="08b")  # mytorch as of this chapter

# %% solution="compiler_measure_traffic"
### BEGIN SOLUTION
bytes_per_element = [124, 36, 28, 20]
### END SOLUTION

# %% check="compiler_measure_traffic"
ways = ("eager", "all saved", "cheap ones again", "everything again")
check.show(dict(zip(ways, map(int, bytes_per_element), strict=True)), secret=True)

# %% [markdown] hint="compiler_measure_traffic"
# Use a tensor of a thousand elements and divide the sum by 1,000. The joint function takes `x` and the gradient of the
# result, as `joint` in the lesson's section on the backward pass.

# %% [markdown] hint="compiler_measure_traffic"
# For each of the sets `()`, `compiler.CHEAP` and `compiler.UFUNCS`: `forward, backward = compiler.partition(joint, names)`.
# To fuse a graph you need examples of its inputs, and the backward graph's are what the forward graph saves.

# %% [markdown] hint="compiler_measure_traffic"
# A kernel moves four bytes per element for each array that it reads and for each that it writes. Fused, there is one
# kernel for each pass, so the numbers differ only by what is saved.

# %% mutant="compiler_measure_traffic"
# Measures the forward pass alone
# The backward pass reads what was saved, so both passes have to be counted.
bytes_per_element = [36, 16, 12, 8]

# %% mutant="compiler_measure_traffic"
# Measures the backward pass alone
# What the forward pass writes for the backward pass is traffic, too, so both passes have to be counted.
bytes_per_element = [88, 20, 16, 12]

# %% mutant="compiler_measure_traffic"
# Doesn't fuse
# A step by itself reads its operands from memory and writes its result there. Fuse both graphs before you run them.
bytes_per_element = [124, 124, 132, 148]

# %% mutant="compiler_measure_traffic"
# Counts numbers instead of bytes
# An element of float32 has four bytes.
bytes_per_element = [31, 9, 7, 5]
