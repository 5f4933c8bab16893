# %% [markdown]
# # Exercises · Static and dynamic graphs
# Six of the exercises add to your library: once they are solved, `mytorch` traces a function, does less work than the
# original, retraces when a guard fails, and counts bytes. Five of them run inside `mytorch/graph.py`, where
# everything that the docstrings mention is available; import anything else inside the function.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% [markdown] exercise="static_predict_trace" kind="predict" points=1
# ### Exercise 1 · What does the trace return?
# ```python
# def program(x):
#     total = 0.0
#     for row in range(len(x)):
#         if x[row].item() > 0:
#             total = total + x[row] * 2
#     return total
#
# traced = mytorch.graph.trace(program, mytorch.tensor([1.0, -1.0, 3.0]))
# mytorch.graph.run(traced, mytorch.tensor([-1.0, 5.0, 10.0, 20.0]))
# ```
# Set `prediction` to the number that the last line prints, without running the code first.

# %% solution="static_predict_trace"
### BEGIN SOLUTION
prediction = 18.0
### END SOLUTION

# %% check="static_predict_trace"
check.show({"the number": str(float(prediction))}, secret=True)

# %% [markdown] hint="static_predict_trace"
# Write down the tensor operations that ran for the example. Everything that Python decided is fixed in the trace.

# %% [markdown] hint="static_predict_trace"
# The example has three rows, and two of them are positive. Which rows does the graph read?

# %% [markdown] hint="static_predict_trace"
# For any input, the graph computes `x[0] * 2 + x[2] * 2`.

# %% mutant="static_predict_trace"
# Computes what the function would
# The function adds the positive rows of the new input, while the trace adds those rows that were positive in its
# example.
prediction = 70.0

# %% mutant="static_predict_trace"
# Uses every row, whatever its sign
# The `if` isn't in the trace, but it did decide which rows were read: those that were positive in the example.
prediction = 68.0

# %% mutant="static_predict_trace"
# Uses the first three rows, whatever their sign
# The trace was made from three rows, but row 1 was negative in the example, so nothing was recorded for it.
prediction = 28.0

# %% mutant="static_predict_trace"
# Repeats the answer for the example
# The values do flow through the graph, which reads `x[0]` and `x[2]` of the new input.
prediction = 8.0

# %% mutant="static_predict_trace"
# Tests the sign of the example's rows again
# The trace has no `if` left, so it adds `x[0]` although that is negative now.
prediction = 20.0

# %% mutant="static_predict_trace"
# Adds the new rows, too
# The loop was unrolled for three rows, so the trace doesn't read a fourth one.
prediction = 58.0


# %% [markdown] exercise="static_record_and_run" kind="core" points="1 2" part="mytorch.graph:Recorder.note mytorch.graph:run"
# ### Exercise 2 · Record and replay
# `note` is called after each operation and appends a `Step` to `self.steps`. `run` replays the steps of a graph for
# other inputs. The file provides:
#
# - `self.symbol(x)`, which returns the step that a tensor came from, or the tensor itself if it came from outside;
# - `self.know(x, step)`, which registers `x` as the result of `step`;
# - `replace(argument, change)`, which returns the argument with `change(each)` in place of each thing in it. It also
#   goes into lists and tuples, because `cat` takes a list of tensors and an index may be a tuple;
# - `no_grad`, from chapter 07.
#
# The operation of a step is called like a function: `step.op(*args)`.


# %% docstrings="static_record_and_run"
def note():
    """Append a step for a call that has run, and remember that `result` came from it.

    In the step, each argument that came from a step is that step, also inside lists and tuples.

    Raises:
        RuntimeError: "a trace can't follow a write: copy_", if `op.writes`, which says that an operation overwrites its first tensor.
    """


def run():
    """Return the function's result for other inputs by running each step once, on the results of earlier steps.

    Autograd records nothing, even if an input or a constant requires a gradient, because a trace may contain the
    backward pass itself. Afterwards the grad mode is what it was, also after an error. The graph isn't changed, and it
    can run any number of times.

    Raises:
        ValueError: there are more or fewer inputs than the graph has.
    """


# %% check="static_record_and_run" raises="RuntimeError ValueError"
generator = check.rng()
graph = mytorch.graph
numbers = [mytorch.tensor(generator.normal(size=(2, 3)).astype(np.float32)) for _ in range(4)]
weight = mytorch.tensor(generator.normal(size=(3, 2)).astype(np.float32))
place = int(generator.integers(0, 3))


def program(x, y):
    joined = mytorch.cat([x, y * 2, x], 1)
    aside = (joined[:, [place, 1]] + mytorch.stack([x.sum(1), y.sum(1)])).exp()
    return aside, [x @ weight, place], y


def slope(x, y):
    x = x.detach().requires_grad_()
    return mytorch.autograd.grad((x * y * x).sum(), [x])


def played(function, first=numbers[:2], then=numbers[2:]):
    """The steps of a trace, and what it gives for the other inputs and for its own; or the error."""
    made = []
    problem = check.error(lambda: made.append(graph.trace(function, *first)))
    if problem is not None:
        return repr(problem)
    names = [step.op.name for step in made[0].steps]
    problem = check.error(lambda: made.extend(graph.run(made[0], *each) for each in (then, first)))
    return names, made[1:] if problem is None else type(problem).__name__


def doubled(x):
    for _ in range(6):
        x = x + x
    return x


def count(op, args, below):
    ran.append(op.name)
    return below(op, args)


ran, sums = [], []
slow = check.error(lambda: sums.append(graph.trace(doubled, numbers[0])))
mytorch.dispatch.fill("autocast", count)
slow = slow or check.error(graph.run, sums[0], numbers[1])
mytorch.dispatch.fill("autocast", None)
six_sums = len(ran)
ran.clear()
wasteful = []
problem_of_unused = check.error(lambda: wasteful.append(graph.trace(lambda x: [x.exp(), x * 2][1], numbers[0])))
mytorch.dispatch.fill("autocast", count)
problem_of_unused = problem_of_unused or check.error(graph.run, *wasteful, numbers[1])
mytorch.dispatch.fill("autocast", None)


def many(x):
    for _ in range(2_500):
        x = x + 1.0
    return x


long = []
problem_of_long = check.error(lambda: long.append(graph.run(graph.trace(many, mytorch.zeros(1)), mytorch.ones(1))))
gradient, trained = (mytorch.ones(2, 3).requires_grad_() for _ in range(2))
traced, modes, seen = [], [], []
traced_result = check.error(graph.trace, lambda x: seen.append(x * 2) or seen[0], numbers[0])
problem = check.error(lambda: traced.append(graph.trace(lambda x: x * weight.sum(), numbers[0])))
problem = problem or check.error(lambda: traced.append(graph.trace(lambda x: x * trained.sum(), numbers[0])))
for enabled in (True, False):
    for given in ([], [gradient]):
        with mytorch.set_grad_enabled(enabled):
            check.error(graph.run, *traced[:1], *given)
            modes.append(mytorch.is_grad_enabled())
check.show(
    {
        "joined and indexed": played(program),
        "a tensor as an index": played(
            lambda x, columns: x[:, columns + 1],
            [numbers[0], mytorch.tensor([0, 1])],
            [numbers[2], mytorch.tensor([1, 0])],
        ),
        "the backward pass": played(slope),
        "a write": played(lambda x, y: x.add_(1)),
        "after a write": (mytorch.ones(2) * 2, mytorch.dispatch.LAYERS["trace"]),
        "history of a run": graph.run(traced[0], gradient).requires_grad if problem is None else repr(problem),
        "with a constant that requires grad": graph.run(traced[1], numbers[1]).requires_grad
        if problem is None
        else repr(problem),
        "grad mode after an error and after a run, enabled and disabled": modes,
        "too few inputs": type(check.error(graph.run, traced[0])).__name__ if traced else repr(problem),
        "too many": type(check.error(graph.run, traced[0], *numbers[:2])).__name__ if traced else repr(problem),
        "operations of a run, one of them unused": list(ran) if problem_of_unused is None else repr(problem_of_unused),
        "the result of an operation, while it is traced": seen if traced_result is None else repr(traced_result),
        "2,500 steps": long if problem_of_long is None else repr(problem_of_long),
        "operations that six sums run": six_sums if slow is None else repr(slow),
    },
    rtol=1e-4,
    atol=1e-5,
    text="What traces hold, and what they give for inputs that they have not seen.",
)

# %% [markdown] hint="static_record_and_run"
# In `note`, first refuse a write. A step is `Step(op, args)`, with `self.symbol` applied to everything in `args`.
# Append it, and register the result with `self.know`.

# %% [markdown] hint="static_record_and_run"
# `run` needs a dict from step to value, which begins with the inputs (`zip` with `strict=True`, so that a missing
# input is an error). For each step, call `step.op(*...)` on its arguments with values in place of steps, and store
# the result.

# %% [markdown] hint="static_record_and_run"
# Write `value = lambda argument: values[argument] if isinstance(argument, Step) else argument`; then, under
# `no_grad()`, `values[step] = step.op(*replace(step.args, value))`, and at the end `replace(graph.output, value)`.


# %% mutant="static_record_and_run"
# Looks only at the arguments themselves
# An argument can also be a list or tuple of tensors. In `cat` and in indexing, this trace keeps the tensors of the
# example.
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, tuple(self.symbol(each) for each in args))
    self.steps.append(step)
    self.know(result, step)


# %% mutant="static_record_and_run"
# Doesn't register the results
# The result of a step isn't registered, so the next operation treats it as a constant, and the input has no effect.
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    self.steps.append(Step(op, replace(args, self.symbol)))


# %% mutant="static_record_and_run"
# Stores the tensors
# The step stores the tensors of the example instead of the steps that they came from.
def note(self, op, args, result):
    if op.writes:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, args)
    self.steps.append(step)
    self.know(result, step)


# %% mutant="static_record_and_run"
# Lets writes through
# A step that changes its input can't be moved, shared or removed, so the recorder refuses it.
def note(self, op, args, result):
    step = Step(op, replace(args, self.symbol))
    self.steps.append(step)
    self.know(result, step)


# %% mutant="static_record_and_run"
# Replaces only the top level
# Steps in lists and tuples among the arguments are not replaced by their values.
def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=True))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            values[step] = step.op(*(value(each) for each in step.args))
    return replace(graph.output, value)


# %% mutant="static_record_and_run"
# Returns the last step
# The output may be several values in lists and tuples, with an input or a constant among them.
def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=True))
    result = None
    with no_grad():
        for step in graph.steps:
            result = values[step] = step.op(
                *replace(step.args, lambda each: values[each] if isinstance(each, Step) else each)
            )
    return result


# %% mutant="static_record_and_run"
# Doesn't count the inputs
# `zip` silently stops at the shorter argument, while a missing input must raise a ValueError at once and not a
# KeyError later.
def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=False))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            values[step] = step.op(*replace(step.args, value))
    return replace(graph.output, value)


# %% mutant="static_record_and_run"
# Records what it replays
# The values are right, but autograd has recorded the run, so an input that requires a gradient gives a result with a
# history. A trace may contain the backward pass itself. Run the steps under `no_grad()`.
def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=True))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    for step in graph.steps:
        values[step] = step.op(*replace(step.args, value))
    return replace(graph.output, value)


# %% mutant="static_record_and_run"
# Detects only missing inputs
# An extra input is also a mistake of the caller, and this graph silently ignores it.
def run(graph, *inputs):
    if len(inputs) < len(graph.inputs):
        raise ValueError("too few inputs")
    results = dict(zip(graph.inputs, inputs, strict=False))

    def put(argument):
        return results[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            results[step] = step.op(*replace(step.args, put))
    return replace(graph.output, put)


# %% mutant="static_record_and_run"
# Runs a step again for each use
# Six sums of a number and itself take 63 calls this way. Run each step once and store its result.
def run(graph, *inputs):
    given = dict(zip(graph.inputs, inputs, strict=True))

    def put(argument):
        if not isinstance(argument, Step):
            return argument
        return given[argument] if argument in given else argument.op(*replace(argument.args, put))

    with no_grad():
        return replace(graph.output, put)


# %% mutant="static_record_and_run"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def run(graph, *inputs):
    from course import tensorflow1

    return tensorflow1.Session().run(graph.output, dict(zip(graph.inputs, inputs, strict=True)))


# %% [markdown] exercise="static_fold_and_share" kind="core" points="1 2" part="mytorch.graph:fold_constants mytorch.graph:share_equal"
# ### Exercise 3 · Constant folding and common subexpressions
# Write two passes over a graph. Both can use `rebuilt(graph, better)`, which goes through the steps in order and
# replaces each by the result of `better(step)`: the step itself if it is to stay, or an earlier step, or a value. The
# arguments of the step that `better` receives have been replaced already. Folding computes what depends on no input.
# Sharing keeps the first of several equal steps (`signature(step)`) and uses it in place of the others.


# %% docstrings="static_fold_and_share"
def fold_constants():
    """The graph in which every step that depends on no input is replaced by a constant, its result.

    Such a step has no step among its arguments (`steps_in(step.args)`). Once it is a constant, the steps that use
    it may become constant, too. A constant has no history.
    """


def share_equal():
    """The graph in which a step that repeats an earlier one is removed, and the earlier one takes its place.

    Two steps are equal if they call the same operation on the same arguments: `signature(step)`.
    """


# %% check="static_fold_and_share"
generator = check.rng()
graph = mytorch.graph
example, other = (mytorch.tensor(generator.normal(size=(2, 3)).astype(np.float32)) for _ in range(2))
weight = mytorch.tensor(generator.normal(size=(3,)).astype(np.float32))
twin = weight.clone()  # the same numbers, for now
factor = float(generator.integers(2, 9))


def program(x):
    scale = (weight.exp() * factor).sum()
    left, right = (x * factor).tanh(), (x * factor).tanh()
    moved = x + weight, x + twin, x + weight, x * weight, x + weight
    joined = mytorch.cat([x, x]), mytorch.cat([x, x]), mytorch.cat([weight, twin])
    return left * scale + right, x.sum(0), x.sum(1), x.sum(0), x * 2, x * 2.0, joined, moved


def shown(make):
    """The operations of a graph and what it gives for another input; or the error."""
    answer = []
    problem = check.error(lambda: answer.append(make()))
    if problem is not None:
        return repr(problem)
    return [step.op.name for step in answer[0].steps], graph.run(answer[0], other)


recorded = graph.trace(program, example)
folded, shared = shown(lambda: graph.fold_constants(recorded)), shown(lambda: graph.share_equal(recorded))
constant = graph.trace(lambda x: weight * 2, example)
precise = graph.trace(lambda x: x.sum() * (weight.double() * factor).sum(), example)
unread = graph.trace(lambda x: (weight * 2 + x, weight * 2 - x), example)
trained = weight.clone().requires_grad_()
product, kept = graph.trace(lambda x: x * (trained * factor), example), []
problem = check.error(lambda: kept.extend(graph.fold_constants(product).steps))
histories = [each.requires_grad for step in kept for each in step.args if isinstance(each, mytorch.Tensor)]
check.show(
    {
        "recorded": len(recorded.steps),
        "folded": folded,
        "shared": shared,
        "both": shown(lambda: graph.share_equal(graph.fold_constants(recorded))),
        "nothing of the input": shown(lambda: graph.fold_constants(constant)),
        "a 0-d constant in float64": shown(lambda: graph.fold_constants(precise)),
        "two equal steps that read no input": shown(lambda: graph.share_equal(unread)),
        "a constant made of a trained weight has a history": histories if problem is None else repr(problem),
        "the weight and the grad mode afterwards": (trained.requires_grad, mytorch.is_grad_enabled()),
        "the recorded graph afterwards": len(recorded.steps),
    },
    rtol=1e-4,
    atol=1e-5,
    text="The steps that are left, and the results for another input.",
)

# %% [markdown] hint="static_fold_and_share"
# A step depends on no input if no step is among its arguments, so that `steps_in(step.args)` is empty. Its result is
# `step.op(*step.args)`, a tensor. `rebuilt` puts it into the later steps, which may become constant in turn.

# %% [markdown] hint="static_fold_and_share"
# For sharing, use a dict from signature to the first step that has it. If the signature of a step is there already,
# return that first step.

# %% [markdown] hint="static_fold_and_share"
# In `fold_constants`, `better` returns the step if it reads another step, and otherwise the result of calling its
# operation; nothing may be recorded meanwhile. In `share_equal`, `better` looks the signature up in a dict, and
# `setdefault` does this in one call.


# %% mutant="static_fold_and_share"
# Folds only steps without a tensor
# A weight is a tensor, too, and it is a constant. Only what depends on a step must not be folded.
def fold_constants(graph):
    def better(step):
        has_tensor = any(isinstance(each, (Step, Tensor)) for each in step.args)
        return step if has_tensor else step.op(*step.args)

    with no_grad():
        return rebuilt(graph, better)


# %% mutant="static_fold_and_share"
# Doesn't look into lists
# `cat` takes a list of tensors, which may contain steps. `steps_in` looks into lists and tuples.
def fold_constants(graph):
    def better(step):
        return step if any(isinstance(each, Step) for each in step.args) else step.op(*step.args)

    with no_grad():
        return rebuilt(graph, better)


# %% mutant="static_fold_and_share"
# Keeps the history of a constant
# The steps are right, but a constant that was computed from a trained weight keeps its history, and the graph keeps
# that history alive. Fold under `no_grad()`.
def fold_constants(graph):
    return rebuilt(graph, lambda step: step if steps_in(step.args) else step.op(*step.args))


# %% mutant="static_fold_and_share"
# Uses the old steps
# It decides by the recorded arguments, so only the first step of a chain of constants is folded.
def fold_constants(graph):
    constant = [not steps_in(step.args) for step in graph.steps]
    decisions = iter(constant)
    with no_grad():
        return rebuilt(graph, lambda step: step.op(*step.args) if next(decisions) else step)


# %% mutant="static_fold_and_share"
# Compares operations only
# Two sums along different dimensions call the same operation on the same tensor, but they are not equal.
def share_equal(graph):
    first = {}

    def better(step):
        return first.setdefault((step.op.name, *(id(each) for each in steps_in(step.args))), step)

    return rebuilt(graph, better)


# %% mutant="static_fold_and_share"
# Compares the printed form
# Two tensors with the same values print alike, and yet one can change without the other. `signature` goes by
# identity.
def share_equal(graph):
    first = {}
    return rebuilt(graph, lambda step: first.setdefault((step.op, repr(step.args)), step))


# %% mutant="static_fold_and_share"
# Shares neighbours only
# It compares each step only with the one before, although equal steps may be far apart.
def share_equal(graph):
    last = [None, None]

    def better(step):
        if signature(step) == last[0]:
            return last[1]
        last[:] = signature(step), step
        return step

    return rebuilt(graph, better)


# %% mutant="static_fold_and_share"
# Keeps all of them
# It stores the last step of each signature and returns each step itself, so nothing is shared. The first one has to
# replace the later ones.
def share_equal(graph):
    last = {}

    def better(step):
        last[signature(step)] = step
        return step

    return rebuilt(graph, better)


# %% mutant="static_fold_and_share"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def fold_constants(graph):
    from course import tensorflow1

    return tensorflow1.fold_constants(graph.output)


# %% [markdown] exercise="static_drop_unused" kind="core" points=3 part="mytorch.graph:drop_unused"
# ### Exercise 4 · Dead code elimination
# Return a new graph with only those steps that the output needs, directly or through other steps, in their old order.
# The output may be a step, a constant, or a tuple or list of these. `steps_in(argument)` lists the steps in an
# argument, and it works for an output, too.

# %% check="static_drop_unused"
generator = check.rng()
graph = mytorch.graph
example, other = (mytorch.tensor(generator.normal(size=(3,)).astype(np.float32)) for _ in range(2))
picks = [int(pick) for pick in generator.integers(0, 2, 6)]


def tangle(x):
    made = [x, x * 2]
    for pick in picks:
        made.append((made[-1] + made[-2], mytorch.stack([made[-2], x])[0])[pick])
    made[-1].exp().sum()
    return made[-2], [made[3].tanh()]


def kept(function):
    """The operations that are left, and the new graph's result; or the error."""
    traced, answer = graph.trace(function, example), []
    problem = check.error(lambda: answer.append(graph.drop_unused(traced)))
    if problem is not None:
        return repr(problem)
    problem = check.error(lambda: answer.append(graph.run(answer[0], other)))
    names = [step.op.name for step in answer[0].steps]
    return names, answer[1] if problem is None else type(problem).__name__


def deep(x):
    for _ in range(2_000):
        x = x + 1
    return x


chain, old = graph.trace(deep, example), graph.trace(tangle, example)
problem = check.error(graph.drop_unused, chain)
before = list(old.steps)
graph.drop_unused(old)
check.show(
    {
        "a tangle": kept(tangle),
        "all is needed": kept(lambda x: (x * 2).exp()),
        "the input itself": kept(lambda x: (x.sin(), x)[1]),
        "nothing of the input": kept(lambda x: (x.sin(), mytorch.ones(3) * 2)[1]),
        "in a list": kept(lambda x: (x.cos(), mytorch.cat([x.sin(), x]))[1]),
        "a constant": kept(lambda x: (x.sin(), [other, 2.0])[1]),
        "2,000 steps": len(graph.drop_unused(chain).steps) if problem is None else type(problem).__name__,
        "the old graph is unchanged": old.steps == before,
        "a new graph, even if all is needed": problem is None and graph.drop_unused(chain) is not chain,
    },
    rtol=1e-4,
    atol=1e-5,
    text="The operations that are left of graphs, and what the new ones give.",
)

# %% [markdown] hint="static_drop_unused"
# For the last step it is clear whether it is needed. Go backwards: when you reach a step, you have already seen every
# step that could need it.

# %% [markdown] hint="static_drop_unused"
# Begin with a set of needed steps, `steps_in(graph.output)`. Each step that is in the set is kept, and it adds the
# steps among its own arguments to the set.

# %% [markdown] hint="static_drop_unused"
# Collect the kept steps from last to first, and reverse the list at the end. The result is `Graph(graph.inputs, kept,
# graph.output)`, in which all inputs stay, even those that no step reads.


# %% mutant="static_drop_unused"
# Changes the graph that it was given
# The steps are right, but the given graph has lost the unused ones, too, and somebody may still need them. Create a
# new `Graph`.
def drop_unused(graph):
    needed, kept = set(steps_in(graph.output)), []
    for step in reversed(graph.steps):
        if step in needed:
            kept.append(step)
            needed.update(steps_in(step.args))
    graph.steps[:] = reversed(kept)
    return graph


# %% mutant="static_drop_unused"
# Keeps only what the output names
# A step that computed an argument of a kept step is needed, too.
def drop_unused(graph):
    needed = set(steps_in(graph.output))
    return Graph(graph.inputs, [step for step in graph.steps if step in needed], graph.output)


# %% mutant="static_drop_unused"
# Keeps everything that some step reads
# A step that is read only by unused steps is itself unused. This pass removes one layer and stops.
def drop_unused(graph):
    needed = set(steps_in(graph.output))
    for step in graph.steps:
        needed.update(steps_in(step.args))
    return Graph(graph.inputs, [step for step in graph.steps if step in needed], graph.output)


# %% mutant="static_drop_unused"
# Recurses
# A chain of 2,000 steps is deeper than Python's stack. Going backwards over the list needs no recursion.
def drop_unused(graph):
    needed = set()

    def need(step):
        if step not in needed:
            needed.add(step)
            for each in steps_in(step.args):
                need(each)

    for step in steps_in(graph.output):
        need(step)
    return Graph(graph.inputs, [step for step in graph.steps if step in needed], graph.output)


# %% mutant="static_drop_unused"
# Removes inputs, too
# A graph takes as many inputs as the function did, whether they are used or not. Only steps are removed.
def drop_unused(graph):
    needed, unvisited = set(), steps_in(graph.output)
    while unvisited:
        step = unvisited.pop()
        if step not in needed:
            needed.add(step)
            unvisited += steps_in(step.args)
    inputs, steps = ([step for step in each if step in needed] for each in (graph.inputs, graph.steps))
    return Graph(inputs, steps, graph.output)


# %% mutant="static_drop_unused"
# Leaves the order reversed
# The steps were collected from last to first and never reversed, but a step can't run before those that it needs.
def drop_unused(graph):
    needed, kept = set(steps_in(graph.output)), []
    for step in reversed(graph.steps):
        if step in needed:
            kept.append(step)
            needed.update(steps_in(step.args))
    return Graph(graph.inputs, kept, graph.output)


# %% mutant="static_drop_unused"
# Doesn't look into lists
# The tensors of `cat` are in a list, and the steps in it are needed, too.
def drop_unused(graph):
    needed, kept = set(steps_in(graph.output)), []
    for step in reversed(graph.steps):
        if step in needed:
            kept.append(step)
            needed.update(each for each in step.args if isinstance(each, Step))
    return Graph(graph.inputs, kept[::-1], graph.output)


# %% mutant="static_drop_unused"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def drop_unused(graph):
    from course import tensorflow1

    return tensorflow1.prune(graph.output)


# %% [markdown] exercise="static_guards" kind="core" points="1 2" part="mytorch.graph:Recorder.read mytorch.graph:Compiled.__call__"
# ### Exercise 5 · Guards
# `read` is called when Python reads the shape or the value of a tensor, and it records the guards. `__call__` is a
# call of a compiled function: it finds the pieces for these inputs and runs them. `compile`, which the lesson shows,
# makes the pieces.


# %% docstrings="static_guards"
def read():
    """Record what Python reads of a tensor, and return its value, `get(x)`.

    If `x` came from a step, `self.guards` gets a `Guard(at, step, read, value)`: the number of steps so far, the
    step (`self.symbol(x)`, which is `x` itself if it came from no step), the name, and the value.

    `get` may read as well: `item` reads the shape first. Then `read` is called again before `get(x)` returns. The
    guards that were added while `get(x)` ran are removed from the list, because the outer one implies them.
    """


def __call__():
    """Run the pieces one after the other, each chosen by the values read so far; trace where one is missing.

    `self.pieces` maps a path to a pair (piece, read). A path is a tuple. It begins with two things:

    - kinds: of each input `(dtype, device, ndim, is_contiguous())`, in a tuple;
    - the sizes, which are the shapes of the inputs in a tuple; or None, if there is no piece for (kinds, sizes).

    A piece is a graph for `run`. It takes the inputs, and then everything that earlier pieces made, and returns
    `(result, made)`. With an empty `read`, the result is the function's. Otherwise Python called the method of
    that name on the result ("item", "__bool__"): call it again, and append the `repr` of what it returns to the
    path. `made` is a list, for later pieces.

    Where a path has no piece, `self.compile(inputs, kinds, sizes)` gives the function's result. It takes the
    sizes themselves, even where the path has None.
    """


# %% check="static_guards"
generator = check.rng()
graph = mytorch.graph
first, second = (float(number) for number in generator.integers(2, 9, 2))
constant = mytorch.ones(4)
calls = []


def decide(x):
    calls.append(len(calls))
    y = x * first
    if y.sum() > 0:
        return y + second
    return y * x - second


def scaled(x):
    return x * first * x.max().item() + y_of(x)


def y_of(x):
    return constant.sum().item() + float(len(constant)) * x


def if_any(x):
    calls.append(len(calls))
    return x * second if x.sum() else x + 1


def with_list(x):
    return x * x.tolist()[0]


def vector(*values):
    return mytorch.tensor(list(values))


def noted(function, x):
    """The guards of a trace: after how many steps, what was read, and its value; or the error."""
    made = []
    problem = check.error(lambda: made.append(graph.trace(function, x)))
    if problem is not None:
        return repr(problem)
    return [(each.at, each.read, each.value, made[0].steps[: each.at].count(each.step)) for each in made[0].guards]


def called(function, *inputs):
    """The results, and after each call how many graphs there are; or the error."""
    made, compiled = [], graph.Compiled(function)
    for x in inputs:
        given = x if isinstance(x, tuple) else (x,)
        problem = check.error(lambda given=given: made.append((compiled(*given).tolist(), len(compiled.graphs))))
        if problem is not None:
            made.append(repr(problem).partition(" at 0x")[0])  # no address, which differs in each run
    return made


def shape_twice(x):
    return x.reshape(x.shape[0] * x.shape[1]) / len(x)


twenty = mytorch.arange(20.0)
matrix, square = twenty[:6].reshape(2, 3), twenty[:4].reshape(2, 2)
pair = vector(1.0, -3.0)
found = {
    "guards of a decision": noted(decide, vector(1.0, 2.0)),
    "guards of numbers": noted(scaled, pair),
    "guards of shapes": noted(shape_twice, matrix),
    "decisions": called(decide, vector(1.0, 2.0), pair, vector(2.0, 3.0), vector(-2.0, -3.0)),
}
before = len(calls)
found["sizes"] = called(decide, *[vector(*[1.0] * length) for length in (2, 2, 3, 4, 5)])
found["times that Python ran for five sizes"] = len(calls) - before
before, two, down = len(calls), vector(1.0, 1.0), vector(-1.0, -1.0)
found["a size of its own and open ones"] = called(decide, two, vector(1.0, 1.0, 1.0), two, down, down, two)
found["times that Python ran for these"] = len(calls) - before
found["numbers"] = called(scaled, pair, vector(2.0, -3.0), pair, vector(2.0, 1.0))
before = len(calls)
found["truth of a sum"] = called(if_any, pair, vector(2.0, -3.0), pair, vector(1.0, -1.0), vector(2.0, -2.0))
found["times that Python ran for that"] = len(calls) - before
found["lists"] = called(with_list, pair, vector(2.0, -4.0), pair)
found["kinds"] = called(lambda x: x + 1, pair, pair.double(), square, square.t(), pair)
found["two inputs"] = called(
    lambda x, y: x + y, (pair, pair), (pair, pair.double()), (pair, pair[:1]), (pair, pair[1:]), (pair, matrix[:, :2])
)
recorder = graph.Recorder()
recorder.know(pair, graph.Step(None))
inner = check.error(recorder.read, constant, "item", lambda x: recorder.read(pair, "shape", len))
found["a read of a constant that reads more"] = repr(inner) if inner else len(recorder.guards)
reads = []
inner = check.error(recorder.read, pair, "shape", lambda x: reads.append(x) or len(x))
found["times that a value was read"] = repr(inner) if inner else len(reads)
check.show(found, rtol=1e-4, atol=1e-5, text="Guards of traces, and results and graphs of compiled functions.")

# %% [markdown] hint="static_guards"
# In `read`, remember how long the list of guards is, and then call `get(x)`. Remove what has been added since, and
# add your guard. `__call__` is a loop that continues while the path is in `self.pieces`.

# %% [markdown] hint="static_guards"
# `read` ends with `self.guards[before:] = [Guard(...)]`, or `[]` if `self.symbol(x)` is no `Step`. Inside the loop of
# `__call__`, write `result, made = run(piece, *values)`, and return the result if `read` is empty.

# %% [markdown] hint="static_guards"
# Otherwise, in `__call__`, the path becomes `(*path, repr(getattr(result, read)()))` and the values become `(*values,
# *made)`. After the loop, return `self.compile(inputs, kinds, sizes)`.


# %% mutant="static_guards"
# Keeps the inner reads
# `item` reads the shape before it returns the value, so reading a value would count as reading a shape, too.
def read(self, x, name, get):
    value, step = get(x), self.symbol(x)
    if isinstance(step, Step):
        self.guards.append(Guard(len(self.steps), step, name, value))
    return value


# %% mutant="static_guards"
# Guards constants
# A tensor that came from no step is the same in each run of the trace, so it needs no guard.
def read(self, x, name, get):
    before, value, step = len(self.guards), get(x), self.symbol(x)
    self.guards[before:] = [Guard(len(self.steps), step, name, value)]
    return value


# %% mutant="static_guards"
# Places every read at the beginning
# A value is known only after the steps that compute it have run, and `at` is the number of these steps.
def read(self, x, name, get):
    before, value, step = len(self.guards), get(x), self.symbol(x)
    self.guards[before:] = [Guard(0, step, name, value)] if isinstance(step, Step) else []
    return value


# %% mutant="static_guards"
# Looks for one size only
# The second trace was made for any size. If there is no piece for these sizes, look for None.
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs)
    path, values = (kinds, sizes), inputs
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if not read:
            return result
        path, values = (*path, repr(getattr(result, read)())), (*values, *made)
    return self.compile(inputs, kinds, sizes)


# %% mutant="static_guards"
# Traces each time
# The pieces are there, but the call doesn't find them: the results are right, and yet Python runs in every call.
# Compare your path with the docstring's item by item, down to the `repr`.
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    return self.compile(inputs, kinds, tuple(x.shape for x in inputs))


# %% mutant="static_guards"
# Compares dtypes only
# Strides are a guard, too, so a transposed matrix gets a graph of its own, as in PyTorch.
def __call__(self, *inputs):
    kinds, sizes = tuple((x.dtype, x.device, x.ndim) for x in inputs), tuple(x.shape for x in inputs)
    path, values = (kinds, sizes if (kinds, sizes) in self.pieces else None), inputs
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if not read:
            return result
        path, values = (*path, repr(getattr(result, read)())), (*values, *made)
    return self.compile(inputs, kinds, sizes)


# %% mutant="static_guards"
# Follows the first branch
# The value isn't read again, although the next piece has to be chosen by what this call computes.
def __call__(self, *inputs):
    kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
    sizes = tuple(x.shape for x in inputs)
    path, values = (kinds, sizes if (kinds, sizes) in self.pieces else None), inputs
    while path in self.pieces:
        piece, read = self.pieces[path]
        result, made = run(piece, *values)
        if not read:
            return result
        path = next((each for each in self.pieces if len(each) == len(path) + 1 and each[: len(path)] == path), None)
        values = (*values, *made)
    return self.compile(inputs, kinds, sizes)


# %% [markdown] exercise="static_repair_recompiles" kind="repair" points=2
# ### Exercise 6 · Recompiles: find them and remove them
# `update` runs once per training step, compiled by your `Compiled`. Its results are correct, but almost every call traces it
# again: the check's nine calls make 19 graphs, and `torch.compile` of PyTorch 2.13 makes 11 for them. Print
# `mytorch.graph.trace(update, gradient, step)` for tensors of your own: each line that begins with `guard` names something that Python
# read.
#
# Repair `update` so that its trace has no guard:
#
# - The first call makes one graph, the first call with another length a second one, and no later call makes any, whatever the
#   length, the elements and the step.
# - The results and their dtypes stay the same, with and without `Compiled`, also if all elements are 0. Each call uses its own
#   gradient and step and leaves them unchanged.
#
# In `mytorch`, also `mean()` and `ones_like` read a shape, although they cost PyTorch no recompilation.


# %% solution="static_repair_recompiles"
def update(gradient, step):
    """The change of a parameter: the negative gradient, times a learning rate.

    A gradient whose norm is above 1 is scaled down to norm 1, all elements by the same factor. The learning rate rises in
    equal steps to 0.1, which it has from step 4 on (warmup).

    Args:
        gradient: 1-d, float32 or float64, at least one element.
        step: the number of this step, from 1: a 0-d int64 tensor.
    """
    import mytorch

    ### BEGIN SOLUTION
    norm = gradient.square().sum().sqrt()
    clipped = mytorch.where(norm > 1, gradient / norm, gradient)
    rate = 0.1 * (step / 4).clamp(max=1)
    return -rate * clipped
    ### END SOLUTION
    ### BEGIN STUB
    # total = mytorch.tensor(0.0)
    # for place in range(len(gradient)):
    #     total = total + gradient[place] ** 2
    # norm = total.sqrt()
    # if norm > 1:
    #     gradient = gradient / norm
    # rate = 0.1 * min(1.0, step.item() / 4)
    # return -rate * gradient
    ### END STUB


# %% check="static_repair_recompiles"
mytorch = check.mytorch(chapter=8)
generator = check.rng()
a, b, c, d, e, f = (int(each) for each in generator.permutation(np.arange(2, 8)))
lengths, steps = [a, a, b, c, a, b, d, e, f], [int(each) for each in generator.permutation(np.arange(1, 10))]
norms = generator.uniform(0.2, 0.7, len(lengths))
norms[1::2] *= 10  # every second gradient is too long
norms[4] = 0
gradients = []
for length, norm in zip(lengths, norms, strict=True):
    direction = generator.normal(size=length)
    gradients.append((direction * norm / np.linalg.norm(direction)).tolist())


def called(function, dtype):
    """The results and their dtypes, and after each call how many graphs there are; or the error."""
    compiled = mytorch.graph.Compiled(function)
    results = {"results": [], "graphs": [], "without Compiled": []}
    for each, number in zip(gradients, steps, strict=True):
        given = mytorch.tensor(each, dtype=dtype), mytorch.tensor(number)
        try:
            found = check.intact(compiled, *given)
            plain = check.intact(function, *given)
            results["results"].append((found.dtype.name, found.tolist()))
            results["without Compiled"].append((plain.dtype.name, plain.tolist()))
        except Exception as error:
            return repr(error).partition(" at 0x")[0]
        results["graphs"].append(len(compiled.graphs))
    return results


check.show(
    {
        "lengths": lengths,
        "steps": steps,
        "float32": called(update, mytorch.float32),
        "float64": called(update, mytorch.float64),
    },
    rtol=1e-4,
    atol=1e-6,
    text="Nine calls of one compiled function: its results, and how many graphs there are after each call.",
)

# %% [markdown] hint="static_repair_recompiles"
# Three things are read: the length, in the loop; the truth of `norm > 1`, in the `if`; and the step, by `item()`.

# %% [markdown] hint="static_repair_recompiles"
# Each has a form that stays in the graph: a sum over all elements, a selection by `where`, and arithmetic with the 0-d tensor itself.
# Python's `min` compares its arguments, which reads a value as well, so use a tensor's method.

# %% [markdown] hint="static_repair_recompiles"
# `norm` is `gradient.square().sum().sqrt()`, the gradient becomes `mytorch.where(norm > 1, gradient / norm, gradient)`, and the rate is
# `0.1 * (step / 4).clamp(max=1)`. PyTorch's `clip_grad_norm_` clamps its factor for the same reason: an `if` would wait for the GPU.


# %% mutant="static_repair_recompiles"
# Leaves the loop
# A loop over `len(gradient)` is unrolled, so its graph fits one length only, and each new length is traced again. Sum all elements
# with one operation.
def update(gradient, step):
    import mytorch

    total = mytorch.tensor(0.0)
    for place in range(len(gradient)):
        total = total + gradient[place] ** 2
    norm = total.sqrt()
    clipped = mytorch.where(norm > 1, gradient / norm, gradient)
    rate = 0.1 * (step / 4).clamp(max=1)
    return -rate * clipped


# %% mutant="static_repair_recompiles"
# Leaves the `if`
# An `if` on a tensor reads its value: the graph breaks there, and each branch has a graph of its own. Compute both and select with
# `where`.
def update(gradient, step):
    norm = gradient.square().sum().sqrt()
    if norm > 1:
        gradient = gradient / norm
    rate = 0.1 * (step / 4).clamp(max=1)
    return -rate * gradient


# %% mutant="static_repair_recompiles"
# Reads the step
# `item()` makes a Python number of the step, and the rest of the trace holds for this number alone: each step is traced again.
# Compute the rate with the tensor.
def update(gradient, step):
    import mytorch

    norm = gradient.square().sum().sqrt()
    clipped = mytorch.where(norm > 1, gradient / norm, gradient)
    rate = 0.1 * min(1.0, step.item() / 4)
    return -rate * clipped


# %% mutant="static_repair_recompiles"
# Compares with Python's `min`
# `min(1.0, x)` asks whether `x < 1.0`, and Python needs the answer as a bool. Without an `item()` in sight, the graph breaks here.
def update(gradient, step):
    import mytorch

    norm = gradient.square().sum().sqrt()
    clipped = mytorch.where(norm > 1, gradient / norm, gradient)
    rate = 0.1 * min(mytorch.tensor(1.0), step / 4)
    return -rate * clipped


# %% mutant="static_repair_recompiles"
# Selects with a mask of 0 and 1
# For a gradient of zeros, the side that isn't wanted is 0 / 0, which is nan, and nan times 0 is nan. `where` selects without a product.
def update(gradient, step):
    norm = gradient.square().sum().sqrt()
    long = (norm > 1).float()
    clipped = long * (gradient / norm) + (1 - long) * gradient
    rate = 0.1 * (step / 4).clamp(max=1)
    return -rate * clipped


# %% mutant="static_repair_recompiles"
# Reads past the guards
# `numpy()` leaves the graph without a guard, so nothing is traced again, and each later call uses the step of the traced one.
def update(gradient, step):
    import mytorch

    norm = gradient.square().sum().sqrt()
    clipped = mytorch.where(norm > 1, gradient / norm, gradient)
    rate = 0.1 * min(1.0, float(step.numpy()) / 4)
    return -rate * clipped


# %% mutant="static_repair_recompiles"
# Clamps each element
# This is clipping by value: it changes the gradient's direction, and leaves a norm above 1 if no single element is. Scale all
# elements by the same factor.
def update(gradient, step):
    rate = 0.1 * (step / 4).clamp(max=1)
    return -rate * gradient.clamp(min=-1, max=1)


# %% mutant="static_repair_recompiles"
# Divides in any case
# A gradient whose norm is below 1 stays as it is, while this one is scaled up to norm 1, and zeros become nan.
def update(gradient, step):
    rate = 0.1 * (step / 4).clamp(max=1)
    return -rate * gradient / gradient.square().sum().sqrt()


# %% [markdown] exercise="static_count_bytes" kind="core" points=2 part="mytorch.utils.instruments:moved"
# ### Exercise 7 · Count bytes
# `count_bytes` is an instrument that adds up, for each operation, what `moved` returns for its calls. Write `moved`,
# in `mytorch/utils/instruments.py`.


# %% docstrings="static_count_bytes"
def moved():
    """The bytes that a kernel reads and writes: those of the tensors among its arguments, and those of its
    result.

    A tensor counts with its own elements, `nbytes`, even if its storage is larger. `tensors_in(args)` finds the
    tensors, also in lists; a tensor that is passed twice may count once or twice. Numbers count nothing. Two
    kinds of operation are special:

    - Creating a view moves nothing. A result that is a view has a `base`, while any other has None.
    - If `op.writes`, the operation overwrites its first tensor, which it doesn't read, and its result is that tensor.
      It may be a part of another tensor, and its bytes were written all the same.

    Args:
        op: the operation.
        args: its arguments.
        result: what it returned.
        seconds: how long it took; not needed here.
    """


# %% check="static_count_bytes"
generator = check.rng()
rows, columns = (int(length) for length in generator.integers(3, 9, 2))
x = mytorch.ones(rows, columns)
row, tall = mytorch.ones(columns), mytorch.ones(rows + 1, columns)


def counted(call):
    """The bytes by operation, or the error."""
    problem = None
    with mytorch.utils.count_bytes() as found:
        problem = check.error(call)
    return {name: count for name, count in sorted(found.items()) if count} if problem is None else repr(problem)


with mytorch.utils.count_bytes():
    counted_result = tall[:, :2] * 3
check.show(
    {
        "rows, columns": [rows, columns],
        "exp": counted(lambda: x.exp()),
        "plus a row": counted(lambda: x + row),
        "times a number": counted(lambda: x * 2.0),
        "joined": counted(lambda: mytorch.cat([x, tall])),
        "a view": counted(lambda: x.t()),
        "exp of a part": counted(lambda: x[:2].exp()),
        "a single element": counted(lambda: x[:1, :1].exp()),
        "the result, when it was counted": counted_result,
        "float64": counted(lambda: x.double()),
        "compared": counted(lambda: x > 0),
        "copied into": counted(lambda: x.copy_(row)),
        "copied into a part": counted(lambda: x[1].copy_(row)),
    },
    text="The bytes that each program moves, by operation.",
)

# %% [markdown] hint="static_count_bytes"
# Begin with `sum(each.nbytes for each in tensors)`, where `tensors` are the tensors among the arguments, and the
# result.

# %% [markdown] hint="static_count_bytes"
# A write doesn't read its first argument, so skip it with `args[1:]`. The result, which is the same tensor, is what
# it writes.

# %% [markdown] hint="static_count_bytes"
# Use `tensors = [*tensors_in(args[op.writes :]), result]`, and return 0 if the result has a base and the operation
# isn't a write.


# %% mutant="static_count_bytes"
# Counts views
# A view is another description of the same memory, so its kernel touches no element.
def moved(op, args, result, seconds=0):
    return sum(each.nbytes for each in [*tensors_in(args[op.writes :]), result])


# %% mutant="static_count_bytes"
# Counts what is overwritten as read
# `copy_` doesn't read the old values. Its first tensor is written, so it counts once.
def moved(op, args, result, seconds=0):
    tensors = [*tensors_in(args), result]
    return sum(each.nbytes for each in tensors) if op.writes or result.base is None else 0


# %% mutant="static_count_bytes"
# Ignores writes into views
# A write into a part of a tensor returns that part, which has a base, and yet its bytes were written.
def moved(op, args, result, seconds=0):
    tensors = [*tensors_in(args[op.writes :]), result]
    return sum(each.nbytes for each in tensors) if result.base is None else 0


# %% mutant="static_count_bytes"
# Counts only what is read
# A kernel also writes its result, which is memory traffic, too.
def moved(op, args, result, seconds=0):
    is_moved = op.writes or result.base is None
    return sum(each.nbytes for each in tensors_in(args)) if is_moved else 0


# %% mutant="static_count_bytes"
# Doesn't look into lists
# `cat` takes its tensors in a list, and `tensors_in` finds them there.
def moved(op, args, result, seconds=0):
    tensors = [each for each in [*args[op.writes :], result] if isinstance(each, Tensor)]
    return sum(each.nbytes for each in tensors) if op.writes or result.base is None else 0


# %% mutant="static_count_bytes"
# Four bytes each
# An element of float64 takes eight bytes, and one of bool takes one, which `nbytes` accounts for.
def moved(op, args, result, seconds=0):
    tensors = [*tensors_in(args[op.writes :]), result]
    return sum(4 * each.numel() for each in tensors) if op.writes or result.base is None else 0


# %% [markdown] exercise="static_rebuild" kind="core" points="1 1 1" part="mytorch.graph:Recorder.know mytorch.graph:Recorder.symbol | mytorch.graph:signature | mytorch.graph:rebuilt"
# ### Exercise 8 · Three tools
# Exercises 2 to 4 used these tools, and now you write them: how a recorder recognizes a tensor, when two steps
# compute the same, and how a new graph is made from an old one. `key(x)` is equal for two tensors that view the same
# memory in the same way. `replace(argument, change)` goes into lists and tuples, and `Step(op, args)` is a new step.


# %% docstrings="static_rebuild"
def know():
    """Register a tensor as the result of a step, and return the step.

    `self.known` maps each `key(x)` to a step. The key contains the id of a storage, and Python may give the id of
    a deleted object to another one. Therefore each registered tensor is also appended to the list `self.alive`.
    """


def symbol():
    """The step that a tensor came from, by its key; a tensor from outside, or anything else, is returned as it is."""


def signature():
    """Equal for steps that compute the same: the operation and its arguments, steps and tensors by identity.

    Other arguments count by their type and value: 1, 1.0 and True are different arguments, and so are [1] and
    (1,), and 0.0 and -0.0, since 1 / 0.0 isn't 1 / -0.0. Arguments may be lists, tuples and slices, which can't be keys of a
    dict, so give something that can.
    """


def rebuilt():
    """The graph with `better(step)` in place of each step, in order.

    The argument of `better` is a new step, whose arguments have been replaced already. `better` returns this
    step, and then the new graph has it; or it returns another step or a value that has the same result, and then
    the step is removed. `better` is called once for each step. The inputs stay. The output is replaced as well, and the old graph isn't changed.
    """


# %% check="static_rebuild"
generator = check.rng()
graph = mytorch.graph
add, mul = (mytorch.dispatch.OPERATIONS[name] for name in ("add", "mul"))
x, other = (mytorch.tensor(generator.integers(1, 9, (2, 3)).astype(np.float32)) for _ in range(2))
outside = mytorch.tensor(generator.integers(1, 9, 3).astype(np.float32))
k = int(generator.integers(2, 9))


def program(x):
    rows = [(x * k)[row] for row in range(2)]
    for _ in range(3):
        rows[0] = rows[0] + outside.clone() * 0
    alias = (x * k).detach()
    return rows[0] * 1.0 + rows[1] * outside, (alias + x.detach(), k), mytorch.stack([rows[0] * 1.0, rows[1]]), x


def simplified(better, old=None):
    """The steps of a changed graph, what it gives for another input, and whether the inputs stay; or the error."""
    made, old = [], old or traced
    problem = check.error(lambda: made.append(graph.rebuilt(old, better)))
    if problem is not None:
        return problem
    problem = check.error(lambda: made.append(graph.run(made[0], other)))
    names = [getattr(step.op, "name", "an input") for step in made[0].steps]
    return names, problem or made[1], repr(made[0]), made[0].inputs == old.inputs


def without_products_by_one(step):
    by_one = step.op.name == "mul" and isinstance(step.args[1], float) and step.args[1] == 1.0
    return step.args[0] if by_one else step


def without_zeros(step):
    """x + 0 · y is x; what was made for it isn't needed then, and stays."""
    if step.op.name != "add":
        return step
    left, right = step.args
    is_product = isinstance(right, graph.Step) and right.op is mul
    return left if is_product and isinstance(right.args[1], int) and right.args[1] == 0 else step


recorder = graph.Recorder()
step = graph.Step(mytorch.dispatch.OPERATIONS["exp"], (x,))
known = [recorder.know(x, step) is step, recorder.symbol(x) is step, recorder.symbol(x.detach()) is step]
known += [recorder.symbol(x.t()) is step, recorder.symbol(other) is other, recorder.symbol("dim"), recorder.symbol(k)]
later = graph.Step(step.op, (other,))
known += [recorder.know(x.detach(), later) is later, recorder.symbol(x) is later]
known += [recorder.know(x.t(), step) is step, recorder.symbol(x.t()) is step, recorder.symbol(x) is later]
known += [recorder.know(other, step) is step, recorder.symbol(other) is step]
pairs = {
    "the same": ((add, (step, 1)), (add, (step, 1))),
    "another operation": ((add, (step, 1)), (mul, (step, 1))),
    "1 and 1.0": ((add, (step, 1)), (add, (step, 1.0))),
    "1 and True": ((add, (step, 1)), (add, (step, True))),
    "0.0 and -0.0": ((add, (step, 0.0)), (add, (step, -0.0))),
    "the order": ((add, (step, x)), (add, (x, step))),
    "equal tensors": ((add, (step, x)), (add, (step, x.clone()))),
    "equal tensors in a list": ((add, ([step, x],)), (add, ([step, x.clone()],))),
    "two steps of one operation": ((add, (step, 1)), (add, (later, 1))),
    "slices": ((add, ([step, slice(1, k)], (1,))), (add, ([step, slice(1, k)], (1,)))),
    "slices with other steps": ((add, (slice(0, 9, 1),)), (add, (slice(0, 9, k),))),
    "a tensor and its transpose": ((add, (step, x)), (add, (step, x.t()))),
    "other slices": ((add, ([step, slice(1, k)], (1,))), (add, ([step, slice(1, k + 1)], (1,)))),
    "list and tuple": ((add, ([1, 2],)), (add, ((1, 2),))),
    "text and number": ((add, ("1",)), (add, (1,))),
}


def alike(first, second):
    made = []
    problem = check.error(
        lambda: made.extend([len({graph.signature(graph.Step(*each)) for each in (first, second)}) == 1])
    )
    return problem or made[0]


def asked(step):
    names.append((step.op.name, "an old step" if step in traced.steps else "a new one"))
    return step


traced, names = graph.trace(program, x), []
before = repr(traced)
problem = check.error(graph.rebuilt, traced, asked)
check.show(
    {
        "known": known,
        "alive": len(recorder.alive),
        "a trace": ([step.op.name for step in traced.steps], before),
        "equal signatures": {name: alike(*each) for name, each in pairs.items()},
        "steps that were asked about": repr(problem) if problem else names,
        "all steps kept": simplified(lambda step: step),
        "without products by one": simplified(without_products_by_one),
        "an input in place of its product by one": simplified(
            without_products_by_one, graph.trace(lambda x: (x * 1.0).exp(), x)
        ),
        "without adding zeros": simplified(without_zeros),
        "all a constant": simplified(lambda step: outside),
        "the old graph": repr(traced) == before,
    },
    text="What a recorder knows, which steps are equal, and graphs that were rebuilt.",
)

# %% [markdown] hint="static_rebuild"
# For a tensor, `symbol` is `self.known.get(key(argument), argument)`. In `signature`, use a string as the key,
# because `repr` writes out lists and slices.

# %% [markdown] hint="static_rebuild"
# In `signature`, turn each argument into a pair with `replace`: ("object", id) for steps and tensors, and (name of
# the type, repr) for the rest. The signature is `id(step.op)` and the `repr` of all of it.

# %% [markdown] hint="static_rebuild"
# `rebuilt` needs a dict `instead`, which begins with each input as itself. For each step, create a candidate with the
# newest arguments, store `better(candidate)` under the *old* step, and keep the candidate if `better` returned it.


# %% mutant="static_rebuild"
# Recognizes objects
# Autograd passes on another tensor with the same storage. It shows the same values, so it came from the same step.
def know(self, x, step):
    self.alive.append(x)
    self.known[id(x)] = step
    return step


def symbol(self, argument):
    return self.known.get(id(argument), argument) if isinstance(argument, Tensor) else argument


# %% mutant="static_rebuild"
# Keeps nothing alive
# An id is valid only as long as its object lives. Afterwards another storage may get it and be mistaken for the old
# one.
def know(self, x, step):
    self.known[key(x)] = step
    return step


# %% mutant="static_rebuild"
# Equal values are equal
# In Python 1 == 1.0 == True, but `x + 1` and `x + 1.0` may have results of different dtypes.
def signature(step):
    def part(argument):
        return (
            id(argument)
            if isinstance(argument, (Step, Tensor))
            else (float(argument) if isinstance(argument, (int, float)) else repr(argument))
        )

    return id(step.op), repr(replace(step.args, part))


# %% mutant="static_rebuild"
# Equal numbers are equal tensors
# Two tensors with the same values now may have different ones when the graph runs.
def signature(step):
    def part(argument):
        if isinstance(argument, Tensor):
            return "tensor", argument.tolist()
        return ("object", id(argument)) if isinstance(argument, Step) else (type(argument).__name__, repr(argument))

    return id(step.op), repr(replace(step.args, part))


# %% mutant="static_rebuild"
# Passes on the old arguments
# A step that was removed is still among the arguments of later ones. Give `better` steps with the newest arguments.
def rebuilt(graph, better):
    instead = {step: step for step in graph.inputs}
    steps = []
    for step in graph.steps:
        instead[step] = better(step)
        if instead[step] is step:
            steps.append(step)
    return Graph(
        graph.inputs, steps, replace(graph.output, lambda each: instead[each] if isinstance(each, Step) else each)
    )


# %% mutant="static_rebuild"
# Forgets the output
# The output refers to steps, too, and some of these are gone.
def rebuilt(graph, better):
    instead = {step: step for step in graph.inputs}

    def newest(argument):
        return instead[argument] if isinstance(argument, Step) else argument

    steps = []
    for step in graph.steps:
        candidate = Step(step.op, replace(step.args, newest))
        instead[step] = better(candidate)
        if instead[step] is candidate:
            steps.append(candidate)
    return Graph(graph.inputs, steps, graph.output)
