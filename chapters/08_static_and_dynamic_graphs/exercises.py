# %% [markdown]
# # Exercises · Static and dynamic graphs
# Seven exercises, 18 points. Three of them add to your library: with them solved, `mytorch` traces a function, plays it
# back, and does less work than the original. Those three run inside `mytorch/graph.py`: what the docstrings mention is
# there; import anything else in the function.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch import static as tf

# %% [markdown] exercise="static_predict_trace" kind="predict" points=1
# ### Exercise 1 · What does the trace answer?
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
# Set `prediction` to the number that the last line gives. Don't run the code first.

# %% solution="static_predict_trace"
### BEGIN SOLUTION
prediction = 18.0
### END SOLUTION

# %% check="static_predict_trace"
check.show({"the number": str(float(prediction))}, secret=True)

# %% [markdown] hint="static_predict_trace"
# Write down the operations on tensors that ran for the example. Everything that Python decided is settled.

# %% [markdown] hint="static_predict_trace"
# The example has three rows; two of them are positive. Which rows are read in the graph?

# %% [markdown] hint="static_predict_trace"
# The graph is `x[0] * 2 + x[2] * 2`, for any input.

# %% mutant="static_predict_trace"
# As the function would
# The function adds the positive rows of the new input. The trace adds those rows that were positive in its example.
prediction = 70.0

# %% mutant="static_predict_trace"
# Every row, whatever its sign
# The if isn't in the trace, but it did decide which rows were read: those that were positive in the example.
prediction = 68.0

# %% mutant="static_predict_trace"
# The first three rows, whatever their sign
# The trace has three rows, but row 1 was negative in the example, so nothing was recorded for it.
prediction = 28.0

# %% mutant="static_predict_trace"
# The example's answer
# The numbers do flow through the graph: it reads x[0] and x[2] of the new input.
prediction = 8.0

# %% mutant="static_predict_trace"
# The example's rows, as far as they are positive
# The trace has no if left: it adds x[0] although that is negative now.
prediction = 20.0

# %% mutant="static_predict_trace"
# The example's rows and the new ones
# The loop was unrolled for three rows. A fourth one isn't read.
prediction = 58.0


# %% [markdown] exercise="static_record_and_run" kind="core" points="1 2" part="mytorch.graph:Recorder.note mytorch.graph:run"
# ### Exercise 2 · Record and play
# `note` is called after each operation and appends a `Step` to `self.steps`. `run` plays the steps of a graph for other
# inputs. In the file are:
#
# - `self.symbol(x)`: the step that a tensor came from, or the tensor itself if it came from outside;
# - `self.know(x, step)`: from now on, `x` is known as the result of `step`;
# - `replace(argument, change)`: the argument with `change(each)` in the place of each thing in it. It goes into lists
#   and tuples, because `cat` takes a list of tensors and square brackets take a tuple;
# - `no_grad`, from chapter 07.

# %% check="static_record_and_run"
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


def played(function):
    """The steps of a trace, and what it gives for the other inputs; or the error."""
    made = []
    problem = check.error(lambda: made.append(graph.trace(function, *numbers[:2])))
    if problem is not None:
        return repr(problem)
    names = [step.op.name for step in made[0].steps]
    problem = check.error(lambda: made.append(graph.run(made[0], *numbers[2:])))
    return names, made[1] if problem is None else type(problem).__name__


def doubled(x):
    for _ in range(6):
        x = x + x
    return x


def count(op, args, below):
    ran.append(op.name)
    return below(op, args)


ran, sums = [], []
slow = check.error(lambda: sums.append(graph.trace(doubled, numbers[0])))
mytorch.dispatch.LAYERS.append(count)
slow = slow or check.error(graph.run, sums[0], numbers[1])
mytorch.dispatch.LAYERS.remove(count)
gradient = mytorch.ones(2, 3).requires_grad_()
traced = []
problem = check.error(lambda: traced.append(graph.trace(lambda x: x * weight.sum(), numbers[0])))
check.show(
    {
        "joined and indexed": played(program),
        "the backward pass": played(slope),
        "a write": played(lambda x, y: x.add_(1)),
        "after a write": (mytorch.ones(2) * 2, len(graph.RECORDERS)),
        "history of a run": graph.run(traced[0], gradient).requires_grad if traced else repr(problem),
        "too few inputs": type(check.error(graph.run, traced[0])).__name__ if traced else repr(problem),
        "too many": type(check.error(graph.run, traced[0], *numbers[:2])).__name__ if traced else repr(problem),
        "operations that six sums run": len(ran) if slow is None else repr(slow),
    },
    rtol=1e-4,
    atol=1e-5,
    text="What traces hold, and what they give for inputs that they have not seen.",
)

# %% [markdown] hint="static_record_and_run"
# `note`: first refuse a write. A step is `Step(op, args)`, with `self.symbol` applied to everything in `args`. Append
# it, and let the result be known.

# %% [markdown] hint="static_record_and_run"
# `run`: a dict from step to value, which begins with the inputs (`zip` with `strict=True`, so that a missing input is
# an error). For each step call `step.op(*...)` on its arguments with values in the place of steps, and keep the result.

# %% [markdown] hint="static_record_and_run"
# `value = lambda argument: values[argument] if isinstance(argument, Step) else argument`; then, under `no_grad()`,
# `values[step] = step.op(*replace(step.args, value))`, and at the end `replace(graph.output, value)`.


# %% mutant="static_record_and_run"
# Looks only at the arguments themselves
# A list or tuple of tensors is an argument as well: cat and square brackets keep the example's tensors.
def note(self, op, args, result):
    if op.run is run_write:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, tuple(self.symbol(each) for each in args))
    self.steps.append(step)
    self.know(result, step)


# %% mutant="static_record_and_run"
# Forgets the results
# What a step gives isn't known, so the next operation takes it for a constant, and the input has no effect.
def note(self, op, args, result):
    if op.run is run_write:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    self.steps.append(Step(op, replace(args, self.symbol)))


# %% mutant="static_record_and_run"
# Keeps the tensors
# The step holds the tensors of the example instead of the steps that they came from.
def note(self, op, args, result):
    if op.run is run_write:
        raise RuntimeError(f"a trace can't follow a write: {op.name}")
    step = Step(op, args)
    self.steps.append(step)
    self.know(result, step)


# %% mutant="static_record_and_run"
# Lets writes through
# A step that changes its input can't be moved, shared or dropped, so the recorder refuses it.
def note(self, op, args, result):
    step = Step(op, replace(args, self.symbol))
    self.steps.append(step)
    self.know(result, step)


# %% mutant="static_record_and_run"
# Plays only the top level
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
# The output may be several values, in lists and tuples, and an input or a constant among them.
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
# zip stops at the shorter one without a word; a missing input must raise at once, not as a KeyError later.
def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=False))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            values[step] = step.op(*replace(step.args, value))
    return replace(graph.output, value)


# %% mutant="static_record_and_run"
# Records what it plays
# The values are right, but autograd has recorded the run: an input that requires a gradient gives a result with a history.
# A trace may hold the backward pass itself. Run the steps under `no_grad()`.
def run(graph, *inputs):
    values = dict(zip(graph.inputs, inputs, strict=True))

    def value(argument):
        return values[argument] if isinstance(argument, Step) else argument

    for step in graph.steps:
        values[step] = step.op(*replace(step.args, value))
    return replace(graph.output, value)


# %% mutant="static_record_and_run"
# Counts too few inputs only
# An input too many is a mistake of the caller as well: the graph would leave it out and say nothing.
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
# Six sums of a number and itself take 63 calls this way. Keep the result of each step, and run it once.
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
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def run(graph, *inputs):
    from minitorch import static

    return static.Session().run(graph.output, dict(zip(graph.inputs, inputs, strict=True)))


# %% [markdown] exercise="static_fold_and_share" kind="core" points="1 2" part="mytorch.graph:fold_constants mytorch.graph:share_equal"
# ### Exercise 3 · Fold and share
# Write two passes over a graph. Both can use `rebuilt(graph, better)`: it goes through the steps in order and puts what
# `better(step)` returns in the place of each. That is the step itself, if it is to stay, or an earlier step, or a
# value. The step that `better` gets has the new things among its arguments already. Folding computes what depends on no
# input. Sharing lets the first of several equal steps (`signature(step)`) stand for all of them.

# %% check="static_fold_and_share"
generator = check.rng()
graph = mytorch.graph
example, other = (mytorch.tensor(generator.normal(size=(2, 3)).astype(np.float32)) for _ in range(2))
weight = mytorch.tensor(generator.normal(size=(3,)).astype(np.float32))
factor = float(generator.integers(2, 9))


def program(x):
    scale = (weight.exp() * factor).sum()
    left, right = (x * factor).tanh(), (x * factor).tanh()
    return left * scale + right, x.sum(0), x.sum(1), x.sum(0), x * 2, x * 2.0, mytorch.cat([x, x])


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
        "a constant made of a trained weight has a history": histories if problem is None else repr(problem),
        "the recorded graph afterwards": len(recorded.steps),
    },
    rtol=1e-4,
    atol=1e-5,
    text="The steps that are left, and the results for another input.",
)

# %% [markdown] hint="static_fold_and_share"
# A step depends on no input if no step is among its arguments: `steps_in(step.args)` is empty. Its result is
# `step.op(*step.args)`, a tensor. `rebuilt` puts it into the later steps, which may become constant by that.

# %% [markdown] hint="static_fold_and_share"
# Sharing: a dict from signature to the first step that has it. For a step whose signature is there, return that first
# step.

# %% [markdown] hint="static_fold_and_share"
# Under `no_grad()`: `rebuilt(graph, lambda step: step if steps_in(step.args) else step.op(*step.args))`. And with
# `first = {}`: `rebuilt(graph, lambda step: first.setdefault(signature(step), step))`.


# %% mutant="static_fold_and_share"
# Folds what has no tensor
# A weight is a tensor, too, and a constant. What must not be folded is what depends on a step.
def fold_constants(graph):
    def better(step):
        has_tensor = any(isinstance(each, (Step, Tensor)) for each in step.args)
        return step if has_tensor else step.op(*step.args)

    with no_grad():
        return rebuilt(graph, better)


# %% mutant="static_fold_and_share"
# Doesn't look into lists
# `cat` takes a list of tensors, and there may be steps in it. `steps_in` looks into lists and tuples.
def fold_constants(graph):
    def better(step):
        return step if any(isinstance(each, Step) for each in step.args) else step.op(*step.args)

    with no_grad():
        return rebuilt(graph, better)


# %% mutant="static_fold_and_share"
# Keeps the history of a constant
# The steps are right, but a constant that was computed from a trained weight remembers it, and the graph keeps that history
# alive. Fold under `no_grad()`.
def fold_constants(graph):
    return rebuilt(graph, lambda step: step if steps_in(step.args) else step.op(*step.args))


# %% mutant="static_fold_and_share"
# Looks at the old steps
# It decides by the recorded arguments, so only the first step of a chain of constants is folded.
def fold_constants(graph):
    constant = [not steps_in(step.args) for step in graph.steps]
    decisions = iter(constant)
    with no_grad():
        return rebuilt(graph, lambda step: step.op(*step.args) if next(decisions) else step)


# %% mutant="static_fold_and_share"
# Compares operations only
# Two sums along different dimensions call the same operation, on the same tensor, and are not equal.
def share_equal(graph):
    first = {}

    def better(step):
        return first.setdefault((step.op.name, *(id(each) for each in steps_in(step.args))), step)

    return rebuilt(graph, better)


# %% mutant="static_fold_and_share"
# Shares neighbours only
# It compares with the step before; equal steps may stand far apart.
def share_equal(graph):
    last = [None, None]

    def better(step):
        if signature(step) == last[0]:
            return last[1]
        last[:] = signature(step), step
        return step

    return rebuilt(graph, better)


# %% mutant="static_fold_and_share"
# Keeps them all
# It notes the last step of each signature and returns each step itself, so nothing is shared. The first one has to stand in.
def share_equal(graph):
    last = {}

    def better(step):
        last[signature(step)] = step
        return step

    return rebuilt(graph, better)


# %% mutant="static_fold_and_share"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def fold_constants(graph):
    from minitorch import static

    return static.fold_constants(graph.output)


# %% [markdown] exercise="static_drop_unused" kind="core" points=3 part="mytorch.graph:drop_unused"
# ### Exercise 4 · Drop what nobody needs
# Return a new graph with only those steps that the output needs, directly or through other steps, in their old order.
# The output may be a step, a constant, or a tuple or list of these. `steps_in(argument)` lists the steps in an
# argument, and in an output, too.

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
    """The operations before and after, and the new graph's result; or the error."""
    traced, answer = graph.trace(function, example), []
    problem = check.error(lambda: answer.append(graph.drop_unused(traced)))
    if problem is not None:
        return repr(problem)
    problem = check.error(lambda: answer.append(graph.run(answer[0], other)))
    names = [[step.op.name for step in each.steps] for each in (traced, answer[0])]
    return names, answer[1] if problem is None else type(problem).__name__


def deep(x):
    for _ in range(2_000):
        x = x + 1
    return x


chain = graph.trace(deep, example)
problem = check.error(graph.drop_unused, chain)
check.show(
    {
        "a tangle": kept(tangle),
        "all is needed": kept(lambda x: (x * 2).exp()),
        "the input itself": kept(lambda x: (x.sin(), x)[1]),
        "nothing of the input": kept(lambda x: (x.sin(), mytorch.ones(3) * 2)[1]),
        "in a list": kept(lambda x: (x.cos(), mytorch.cat([x.sin(), x]))[1]),
        "2,000 steps": len(graph.drop_unused(chain).steps) if problem is None else type(problem).__name__,
        "the old graph": len(chain.steps),
    },
    rtol=1e-4,
    atol=1e-5,
    text="The operations of graphs before and after, and what the new ones give.",
)

# %% [markdown] hint="static_drop_unused"
# Which steps are needed is clear for the last one. Go backwards: when you come to a step, everything that could need it
# has been looked at.

# %% [markdown] hint="static_drop_unused"
# A set of needed steps begins with `steps_in(graph.output)`. Each step that is in the set is kept, and brings the steps
# among its own arguments into the set.

# %% [markdown] hint="static_drop_unused"
# Collect the kept steps on the way back and turn the list round at the end. `Graph(graph.inputs, kept, graph.output)`
# is the result: the inputs stay, also those that nobody reads.


# %% mutant="static_drop_unused"
# Only what the output names
# A step that an argument of a kept step came from is needed, too.
def drop_unused(graph):
    needed = set(steps_in(graph.output))
    return Graph(graph.inputs, [step for step in graph.steps if step in needed], graph.output)


# %% mutant="static_drop_unused"
# Anything that somebody reads
# A step that is read only by unused steps is unused itself. This drops one layer and stops.
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
# Drops inputs, too
# A graph takes as many inputs as the function did, whether they are used or not. Only steps are dropped.
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
# Leaves the order backwards
# The steps were collected on the way back and not turned round: none can run before those that it needs.
def drop_unused(graph):
    needed, kept = set(steps_in(graph.output)), []
    for step in reversed(graph.steps):
        if step in needed:
            kept.append(step)
            needed.update(steps_in(step.args))
    return Graph(graph.inputs, kept, graph.output)


# %% mutant="static_drop_unused"
# Doesn't look into lists
# The tensors of cat stand in a list: the steps in it are needed, too.
def drop_unused(graph):
    needed, kept = set(steps_in(graph.output)), []
    for step in reversed(graph.steps):
        if step in needed:
            kept.append(step)
            needed.update(each for each in step.args if isinstance(each, Step))
    return Graph(graph.inputs, kept[::-1], graph.output)


# %% mutant="static_drop_unused"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def drop_unused(graph):
    from minitorch import static

    return static.prune(graph.output)


# %% [markdown] exercise="static_unique_name" kind="build" points=3 replaces="minitorch.static.graph:Graph.unique_name"
# ### Exercise 5 · Names like TensorFlow's
# Give a new node its full name. `self.scope` is the scope that is open ("" for none), and comes before the name with a
# `/`. If the full name is taken, append `_1`, or the first number that is free. `self.used` is yours: a dict, empty in
# a new graph, that lives as long as the graph.
#
# Names differ only if they differ in lower case, too: after `add` comes `Add_1`, because some file systems can't tell
# `add` from `Add`. A name that was made by numbering is taken as well.


# %% solution="static_unique_name"
def unique_name(self, name: str) -> str:
    """The name within the scope `self.scope`, with _1, _2, … where it is taken."""
    ### BEGIN SOLUTION
    name = f"{self.scope}/{name}" if self.scope else name
    number, found = 0, name
    while found.lower() in self.used:
        number += 1
        found = f"{name}_{number}"
    self.used[found.lower()] = 1
    return found
    ### END SOLUTION


# %% check="static_unique_name"
generator = check.rng()
words = [str(word) for word in generator.choice(["w", "W", "w_1", "add", "Add", "b"], 12)]
with check.install(unique_name, "minitorch.static.graph:Graph.unique_name"):
    with tf.Graph().as_default() as first:
        plain = [first.unique_name(word) for word in words]
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        nodes = [(x + 1.0).name, tf.add(x, x).name, (x + 2.0).name, tf.Variable(0.0, name="w").name]
        scoped = []
        for scope in ("a", "a", "A", "a_1"):
            with tf.name_scope(scope):
                scoped += [tf.constant(1.0, name=word).name for word in words[:3]]
                with tf.name_scope("in"):
                    scoped.append(tf.constant(1.0, name="w").name)
    with tf.Graph().as_default() as third:
        numbered = [third.unique_name(word) for word in ("v_1", "v", "v", "v", "v_1", "V")]
check.show(
    {"words": words, "plain": plain, "nodes": nodes, "scoped": scoped, "numbered": numbered},
    text="Names for the same words in new graphs, for operations and in scopes.",
)

# %% [markdown] hint="static_unique_name"
# Begin with the full name: scope, `/`, name. Then count up until nothing of that name is in `self.used`.

# %% [markdown] hint="static_unique_name"
# The key in `self.used` is the lower-case form, what you return is not.

# %% [markdown] hint="static_unique_name"
# Enter the name that you return, numbered or not. Otherwise `v`, `v`, `v_1` gives `v_1` twice.


# %% mutant="static_unique_name"
# Delegates
# This calls the package's own method, which is locked while yours is installed.
def unique_name(self, name: str, original=tf.Graph.unique_name) -> str:
    return original(self, name)


# %% mutant="static_unique_name"
# Tells cases apart
# add and Add would be two names. TensorFlow compares them in lower case.
def unique_name(self, name: str) -> str:
    name = f"{self.scope}/{name}" if self.scope else name
    number, found = 0, name
    while found in self.used:
        number += 1
        found = f"{name}_{number}"
    self.used[found] = 1
    return found


# %% mutant="static_unique_name"
# Counts without looking
# The number is how often the name was asked for. Somebody may have called a node w_1 before.
def unique_name(self, name: str) -> str:
    name = f"{self.scope}/{name}" if self.scope else name
    number = self.used.get(name.lower(), 0)
    self.used[name.lower()] = number + 1
    return f"{name}_{number}" if number else name


# %% mutant="static_unique_name"
# Doesn't enter numbered names
# A name made by numbering is taken, too: w, w, w_1 gives w_1 twice here.
def unique_name(self, name: str) -> str:
    name = f"{self.scope}/{name}" if self.scope else name
    number, found = 0, name
    while found.lower() in self.used or number < self.used.get(name.lower(), 0):
        number += 1
        found = f"{name}_{number}"
    self.used[name.lower()] = self.used.get(name.lower(), 0) + 1
    return found


# %% mutant="static_unique_name"
# Unique in the whole graph, without scopes
# Two scopes may each have a w: the full name is what has to be unique.
def unique_name(self, name: str) -> str:
    number, found = 0, name
    while found.lower() in self.used:
        number += 1
        found = f"{name}_{number}"
    self.used[found.lower()] = 1
    return f"{self.scope}/{found}" if self.scope else found


# %% mutant="static_unique_name"
# Returns lower case
# The key is in lower case, the name is as it was given.
def unique_name(self, name: str) -> str:
    name = (f"{self.scope}/{name}" if self.scope else name).lower()
    number, found = 0, name
    while found in self.used:
        number += 1
        found = f"{name}_{number}"
    self.used[found] = 1
    return found


# %% [markdown] exercise="static_repair_growing" kind="repair" points=3
# ### Exercise 6 · The fit that slows down (repair)
# `fit` fits a line with a static graph. The losses are right, but each step is slower than the one before, and after a
# night of training the memory is full. After 5 steps the graph has more than twice as many nodes as after 2.
#
# Repair it so that each step does the same work. It should return the same losses as now: one for each step, computed
# before the step.


# %% solution="static_repair_growing"
def fit(data, target, steps: int) -> list[float]:
    """The losses of gradient descent with learning rate 0.2 on target ≈ data · w + b, from w = b = 0, in the default graph."""
    ### BEGIN SOLUTION
    x, y = tf.placeholder(torch.float32), tf.placeholder(torch.float32)
    w, b = tf.Variable([0.0], name="w"), tf.Variable([0.0], name="b")
    loss = tf.reduce_mean(tf.square(x * w + b - y))
    step = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    session, losses = tf.Session(), []
    session.run(tf.global_variables_initializer())
    for _ in range(steps):
        losses.append(session.run([loss, step], {x: data, y: target})[0].item())
    return losses
    ### END SOLUTION
    ### BEGIN STUB
    # x, y = tf.placeholder(torch.float32), tf.placeholder(torch.float32)
    # w, b = tf.Variable([0.0], name="w"), tf.Variable([0.0], name="b")
    # session, losses = tf.Session(), []
    # session.run(tf.global_variables_initializer())
    # for _ in range(steps):
    #     loss = tf.reduce_mean(tf.square(x * w + b - y))
    #     step = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    #     losses.append(session.run([loss, step], {x: data, y: target})[0].item())
    # return losses
    ### END STUB


# %% check="static_repair_growing"
generator = check.rng()
data = torch.tensor(generator.uniform(-1, 1, 20).astype(np.float32))
target = 3 * data + float(generator.integers(1, 5))


def fitted(steps):
    """The losses, the number of nodes afterwards, and whether the variables are there once."""
    with tf.Graph().as_default() as graph:
        losses = fit(data, target, steps)
        return losses, len(graph.get_operations()), len(graph.variables)


results = {steps: fitted(steps) for steps in (1, 4, 8)}
check.show(
    {f"losses of {steps} steps": losses for steps, (losses, _, _) in results.items()}
    | {
        "nodes more after 8 steps than after 1": results[8][1] - results[1][1],
        "variables": [count for _, _, count in results.values()],
    },
    rtol=1e-4,
    text="The losses for three numbers of steps, and how much the graph has grown.",
)

# %% [markdown] hint="static_repair_growing"
# Call `tf.listing(tf.get_default_graph())` after a few steps and look at what is there more than once.

# %% [markdown] hint="static_repair_growing"
# A line such as `tf.square(...)` doesn't compute anything: it adds nodes. Which lines have to run once, which in each
# step?

# %% [markdown] hint="static_repair_growing"
# Only `session.run` belongs in the loop. Everything else describes the graph: `loss` and `step` stand before it.


# %% mutant="static_repair_growing"
# Moves the loss only
# The loss is built once now, but minimize still adds gradients and a step in each iteration.
def fit(data, target, steps: int) -> list[float]:
    x, y = tf.placeholder(torch.float32), tf.placeholder(torch.float32)
    w, b = tf.Variable([0.0], name="w"), tf.Variable([0.0], name="b")
    loss = tf.reduce_mean(tf.square(x * w + b - y))
    session, losses = tf.Session(), []
    session.run(tf.global_variables_initializer())
    for _ in range(steps):
        step = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
        losses.append(session.run([loss, step], {x: data, y: target})[0].item())
    return losses


# %% mutant="static_repair_growing"
# Initializes in the loop
# Each iteration starts from zero again, so the loss never falls.
def fit(data, target, steps: int) -> list[float]:
    x, y = tf.placeholder(torch.float32), tf.placeholder(torch.float32)
    w, b = tf.Variable([0.0], name="w"), tf.Variable([0.0], name="b")
    loss = tf.reduce_mean(tf.square(x * w + b - y))
    step = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    start, session, losses = tf.global_variables_initializer(), tf.Session(), []
    for _ in range(steps):
        session.run(start)
        losses.append(session.run([loss, step], {x: data, y: target})[0].item())
    return losses


# %% mutant="static_repair_growing"
# Fetches only the loss
# Nothing runs that isn't fetched: without the step the variables stay as they are.
def fit(data, target, steps: int) -> list[float]:
    x, y = tf.placeholder(torch.float32), tf.placeholder(torch.float32)
    w, b = tf.Variable([0.0], name="w"), tf.Variable([0.0], name="b")
    loss = tf.reduce_mean(tf.square(x * w + b - y))
    tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    session, losses = tf.Session(), []
    session.run(tf.global_variables_initializer())
    for _ in range(steps):
        losses.append(session.run(loss, {x: data, y: target}).item())
    return losses


# %% mutant="static_repair_growing"
# Measures after the step
# Two runs: the step first, then the loss. These are the losses after each step; asked for are those before.
def fit(data, target, steps: int) -> list[float]:
    x, y = tf.placeholder(torch.float32), tf.placeholder(torch.float32)
    w, b = tf.Variable([0.0], name="w"), tf.Variable([0.0], name="b")
    loss = tf.reduce_mean(tf.square(x * w + b - y))
    step = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    session, losses = tf.Session(), []
    session.run(tf.global_variables_initializer())
    for _ in range(steps):
        session.run(step, {x: data, y: target})
        losses.append(session.run(loss, {x: data, y: target}).item())
    return losses


# %% [markdown] exercise="static_measure_iteration" kind="measure" points=2
# ### Exercise 7 · What does one more iteration cost?
# A program that repeats something can be traced, or built with `while_loop`. How many **nodes** does one more iteration
# add to the graph, and how many more **operations run** because of it? Write the experiment. `build(count)` returns a
# graph with `count` iterations, the name of its result, and what to feed. `tf.Session(graph).run(result, feed)` runs
# it. Afterwards the session's `executed` lists what ran, name by name.
#
# The first iterations may be special. Compare counts that are large enough, and return two whole numbers.


# %% solution="static_measure_iteration"
def per_iteration(build) -> list[int]:
    """Nodes, and operations run, that one more iteration adds."""
    ### BEGIN SOLUTION
    found = []
    for count in (10, 20):
        graph, result, feed = build(count)
        session = tf.Session(graph)
        session.run(result, feed)
        found.append((len(graph.get_operations()), len(session.executed)))
    (nodes, ran), (more_nodes, more_ran) = found
    return [(more_nodes - nodes) // 10, (more_ran - ran) // 10]
    ### END SOLUTION


# %% check="static_measure_iteration"
generator = check.rng()
extra = int(generator.integers(1, 5))


def traced_loop(body):
    def build(count):
        def program(x):
            for place in range(count):
                x = body(x, place)
            return x

        traced = tf.trace(program, torch.ones(2))
        return traced.graph, traced.outputs.name, {traced.inputs[0].name: torch.ones(2)}

    return build


def looped(body):
    def build(count):
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(torch.float32, name="x")
            limit = tf.placeholder(torch.float32, name="limit")
            tf.while_loop(lambda n, v: tf.less(n, limit), lambda n, v: (n + 1.0, body(v, 0)), (0.0, x))
        return graph, "while/Exit:1", {"x:0": torch.ones(2), "limit:0": float(count)}

    return build


def several(x, place):
    for _ in range(extra):
        x = x.tanh()
    return x


def unused(x, place):
    x.exp()
    return x * 0.5


def early(x, place):
    return x.sin().cos() if place < 5 else x.sin()


def late(x, place):
    for _ in range(0 if place < 5 else 11):
        x = x.tanh()
    return x


programs = {
    f"{extra} tanh, traced": traced_loop(several),
    f"{extra} tanh, while_loop": looped(several),
    "one not used, traced": traced_loop(unused),
    "one not used, while_loop": looped(unused),
    "the first five do more, traced": traced_loop(early),
    "the first five do nothing, traced": traced_loop(late),
}
check.show(
    {"extra": extra} | {name: per_iteration(build) for name, build in programs.items()},
    text="For each program: nodes and operations run that one more iteration adds.",
)

# %% [markdown] hint="static_measure_iteration"
# Build the program for two counts, and subtract. Divide by how many iterations the counts differ.

# %% [markdown] hint="static_measure_iteration"
# The number of nodes is `len(graph.get_operations())`. What ran is `len(session.executed)`, after the run: nodes that
# nobody needs are in the graph and don't run.

# %% [markdown] hint="static_measure_iteration"
# Take counts such as 10 and 20, beyond any special first iterations: `(nodes(20) - nodes(10)) // 10`.


# %% mutant="static_measure_iteration"
# Divides instead of subtracting
# Nodes divided by iterations include what is there anyway: the inputs, and a loop's own nodes.
def per_iteration(build) -> list[int]:
    graph, result, feed = build(10)
    session = tf.Session(graph)
    session.run(result, feed)
    return [len(graph.get_operations()) // 10, len(session.executed) // 10]


# %% mutant="static_measure_iteration"
# Counts nodes twice
# What is in the graph isn't what runs: dead nodes don't run, and a loop's body runs in each round.
def per_iteration(build) -> list[int]:
    counts = [len(build(count)[0].get_operations()) for count in (10, 20)]
    return [(counts[1] - counts[0]) // 10] * 2


# %% mutant="static_measure_iteration"
# Compares the first two
# The first iterations may be special: compare counts that lie beyond them.
def per_iteration(build) -> list[int]:
    found = []
    for count in (1, 2):
        graph, result, feed = build(count)
        session = tf.Session(graph)
        session.run(result, feed)
        found.append((len(graph.get_operations()), len(session.executed)))
    return [found[1][0] - found[0][0], found[1][1] - found[0][1]]


# %% mutant="static_measure_iteration"
# Averages from the start
# The first iterations are in this average, and they may be special. Compare two counts that both lie beyond them.
def per_iteration(build):
    counts = []
    for count in (1, 21):
        graph, result, feed = build(count)
        session = tf.Session(graph)
        session.run(result, feed)
        counts.append((len(graph.get_operations()), len(session.executed)))
    return [round((after - before) / 20) for before, after in zip(*counts, strict=True)]


# %% mutant="static_measure_iteration"
# Counts each name once
# In a loop the same node runs in each round: the list has it that often.
def per_iteration(build) -> list[int]:
    found = []
    for count in (10, 20):
        graph, result, feed = build(count)
        session = tf.Session(graph)
        session.run(result, feed)
        found.append((len(graph.get_operations()), len(set(session.executed))))
    return [(found[1][0] - found[0][0]) // 10, (found[1][1] - found[0][1]) // 10]
