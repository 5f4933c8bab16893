# %% [markdown]
# # Exercises · Backward in depth
# In exercises 2 and 3 you write parts of `mytorch`, and what passes goes into `my/mytorch`. Your functions run
# inside a file of `mytorch`, so everything that the task or the docstring mentions is available there; import
# anything else yourself.

# %% setup=true
from __future__ import annotations

from course import check

# %% setup=true
import minitorch as torch

# %% [markdown] exercise="backward_predict_detached_write" kind="predict" points=1
# ### Exercise 1 · A write through `detach`
# ```python
# x = torch.tensor([1.0, 2.0], requires_grad=True)
# h = x * 2
# h.detach().mul_(10)
# (h * h).sum().backward()
# print(x.grad.tolist())
# ```
#
# What does it print? Set `prediction` to a list of two numbers, or to the string `"RuntimeError"` if a line raises an
# error.

# %% solution="backward_predict_detached_write"
### BEGIN SOLUTION
prediction = [80.0, 160.0]
### END SOLUTION
### BEGIN STUB
# prediction = ...
### END STUB

# %% check="backward_predict_detached_write"
check.show(
    {"prediction": prediction if isinstance(prediction, str) else [float(number) for number in prediction]},
    text="The gradient of x, or the error's type.",
    secret=True,
)

# %% [markdown] hint="backward_predict_detached_write"
# Which values does `h` have when the last multiplication runs, and when did that multiplication save them?

# %% [markdown] hint="backward_predict_detached_write"
# `h.detach()` is another tensor on the same storage, so `h` is `[20, 40]`. The multiplication saves `h` after the
# write, so its version matches.

# %% [markdown] hint="backward_predict_detached_write"
# Two nodes were recorded: `h * h` contributes `2 * h`, with the values that `h` has now, and `x * 2` contributes a
# factor of 2. The factor 10 was never recorded.

# %% mutant="backward_predict_detached_write"
# The version counter raises an error
# The counter detects a write between saving and using. Here `h * h` saves `h` after the write, and `x * 2` saves
# nothing of `h`.
prediction = "RuntimeError"

# %% mutant="backward_predict_detached_write"
# Detach copies
# This would be right if `h` were still [2, 4]. But `detach` shares the memory, so the write changed `h`.
prediction = [8.0, 16.0]

# %% mutant="backward_predict_detached_write"
# The write is recorded
# This is the derivative of (20 x)². A write through a detached tensor isn't recorded, so the backward pass has no
# factor of 10.
prediction = [800.0, 1600.0]

# %% mutant="backward_predict_detached_write"
# Stops at h
# These are the gradients of `h`. One more node leads from `h` to `x`.
prediction = [40.0, 80.0]

# %% [markdown] exercise="backward_modes" kind="core" points="2 1" part="mytorch.autograd.grad_mode:GradMode.__enter__ mytorch.autograd.grad_mode:GradMode.__exit__ | mytorch.autograd.grad_mode:GradMode.__call__"
# ### Exercise 2 · `no_grad`, as a block and as a decorator
# Operations are recorded while `Mode.enabled` is true. `no_grad` and `enable_grad` are subclasses of `GradMode`; they
# are called without arguments, and their objects have the desired state in `self.enabled`. Write what happens at the
# start of a `with` block, at its end (also after an exception), and when the object decorates a function. The same
# object may be entered again inside its own block. (PyTorch's objects remember only one previous mode, so recording
# stays off if you enter one twice. Yours will do better.) The decorator makes a new object for each call, as
# PyTorch's does, because two threads may be in the function at once.
#
# ```python
# @mytorch.no_grad()
# def predict(x): ...
# ```


# %% docstrings="backward_modes"
def __call__():
    """As a decorator: return a function that runs `function` in a block of this mode at each call.

    It has the same arguments, result, name and docstring as `function` (`functools.wraps`).
    """


# %% check="backward_modes" raises="ValueError"
import threading

generator = check.rng()
w = mytorch.tensor(generator.normal(size=3), requires_grad=True)
quiet, enabled = mytorch.no_grad(), []
with quiet:
    with quiet:
        enabled.append(mytorch.is_grad_enabled())
    enabled.append(mytorch.is_grad_enabled())
    with mytorch.enable_grad():
        enabled.append(mytorch.is_grad_enabled())
        with quiet:
            enabled.append(mytorch.is_grad_enabled())
        enabled.append(mytorch.is_grad_enabled())
    enabled.append(mytorch.is_grad_enabled())
enabled.append(mytorch.is_grad_enabled())
with quiet, quiet:
    pass
enabled.append(mytorch.is_grad_enabled())


@mytorch.no_grad()
def divided(x, by=1.0):
    """A part of x."""
    return x / by


@mytorch.no_grad()
def countdown(n):
    return [mytorch.is_grad_enabled(), *(countdown(n - 1) if n else []), mytorch.is_grad_enabled()]


@mytorch.enable_grad()
def recorded(x):
    return x * 2


@mytorch.no_grad()
def same(x, *more, **named):
    return (x, more, named) if more or named else x


@mytorch.no_grad()
def fails():
    raise ValueError("on purpose")


modes = {"no_grad": mytorch.no_grad(), "enable_grad": mytorch.enable_grad()}
blocks = [str(name) for name in generator.choice([*modes], 12)]


def nested(names):
    """What is recorded at the start of each of these blocks, one in the other, and after the end of each."""
    if not names:
        return []
    with modes[names[0]]:
        inner = [mytorch.is_grad_enabled(), *nested(names[1:])]
    return [*inner, mytorch.is_grad_enabled()]


def in_two_threads():
    """Whether recording is on, after its call, in two threads that were in one function at once: here, and in a no_grad block elsewhere."""
    entered, leave, after = threading.Event(), threading.Event(), []
    call = mytorch.no_grad()(lambda act: act())

    def elsewhere():
        try:
            with mytorch.no_grad():
                call(lambda: (entered.set(), leave.wait()))
                after.append(mytorch.is_grad_enabled())
        finally:
            entered.set()

    thread = threading.Thread(target=elsewhere)
    try:
        call(lambda: (thread.start(), entered.wait()))
        after.append(mytorch.is_grad_enabled())
    finally:
        leave.set()
    thread.join()
    return after


after_decorating, part = mytorch.is_grad_enabled(), divided(w, by=4.0)
after_call, inside, after_recursion = mytorch.is_grad_enabled(), countdown(2), mytorch.is_grad_enabled()
error = check.error(fails)
with quiet:
    inner = recorded(w)
after_error, threads = mytorch.is_grad_enabled(), []
threads_problem = check.error(lambda: threads.extend(in_two_threads()))
check.show(
    {
        "w": w.tolist(),
        "recording in blocks in blocks": enabled,
        "twelve more blocks, each in the one before": blocks,
        "recording in them and after each": nested(blocks),
        "recording after decorating": after_decorating,
        "what the function returns": part.tolist(),
        "it takes and returns the same": [same(w) is w, same(1, 2, three=w)[1:] == ((2,), {"three": w})],
        "requires grad": part.requires_grad,
        "name and docstring": [divided.__name__, divided.__doc__],
        "recording after a call": after_call,
        "in a function that calls itself": inside,
        "requires grad, after enable_grad": inner.requires_grad,
        "recording after that": after_recursion,
        "the function's own error": error,
        "recording after the error": after_error,
        "after two threads were in a function at once": threads_problem or threads,
    },
    text="Whether operations are recorded in blocks, in decorated functions and after them.",
)

# %% [markdown] hint="backward_modes"
# Leaving a block doesn't mean "on again". What was the state before it?

# %% [markdown] hint="backward_modes"
# A single remembered state is too few, because the same object can be entered twice before it is left once. A list
# that grows on entry and shrinks on exit is enough.

# %% [markdown] hint="backward_modes"
# `__call__` defines an inner function with `*args, **kwargs`, decorated with `functools.wraps(function)`, which runs
# `function` inside `with GradMode(self.enabled):`. A `with` block is also left properly when there is an exception.


# %% mutant="backward_modes"
# On again at the end
# The end of an inner block switches recording on, although the outer block switched it off.
def __exit__(self, *error):
    self.outer.pop()
    Mode.enabled = True


# %% mutant="backward_modes"
# The opposite at the end
# The previous state need not be the opposite, since a `no_grad` block may be inside another one. Restore what is in
# `self.outer`.
def __exit__(self, *error):
    self.outer.pop()
    Mode.enabled = not self.enabled


# %% mutant="backward_modes"
# Decorates with no_grad only
# `enable_grad()` can decorate, too, and it sets `Mode.enabled` to True. `GradMode(self.enabled)` is a block of the
# same mode.
def __call__(self, function):
    @functools.wraps(function)
    def inside(*args, **kwargs):
        before, Mode.enabled = Mode.enabled, False
        try:
            return function(*args, **kwargs)
        finally:
            Mode.enabled = before

    return inside


# %% mutant="backward_modes"
# Remembers a single state
# The second entry overwrites the state that the first one found, so the outer exit restores the wrong one.
def __enter__(self):
    self.outer[:] = [Mode.enabled]
    Mode.enabled = self.enabled


def __exit__(self, *error):
    Mode.enabled = self.outer[0]


# %% mutant="backward_modes"
# One object for all calls
# `with self:` stores the state that each call found in the one list `self.outer`. If two threads are in the function,
# each of them takes out what the other has put in.
def __call__(self, function):
    @functools.wraps(function)
    def inside(*args, **kwargs):
        with self:
            return function(*args, **kwargs)

    return inside


# %% mutant="backward_modes"
# Skips the end after an exception
# An exception skips the last line, so recording stays off for the rest of the program. A `with` block would restore
# it.
def __call__(self, function):
    @functools.wraps(function)
    def inside(*args, **kwargs):
        self.__enter__()
        result = function(*args, **kwargs)
        self.__exit__(None, None, None)
        return result

    return inside


# %% mutant="backward_modes"
# Swallows the exception
# If `__exit__` returns a truthy value, the exception never reaches the caller.
def __exit__(self, *error):
    Mode.enabled = self.outer.pop()
    return True


# %% mutant="backward_modes"
# Switches while decorating
# The block is left before the function is ever called, so the calls themselves are recorded.
def __call__(self, function):
    with self:
        return function


# %% mutant="backward_modes"
# Loses the name
# The decorated function has the name "inside" and no docstring, while `functools.wraps` copies both.
def __call__(self, function):
    def inside(*args, **kwargs):
        with GradMode(self.enabled):
            return function(*args, **kwargs)

    return inside


# %% mutant="backward_modes"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def __call__(self, function):
    import minitorch

    return minitorch.no_grad()(function)


# %% [markdown] exercise="backward_writes" kind="core" points="1 2 1" part="mytorch.autograd.inplace:SavedTensor.give_back mytorch.autograd.inplace:record_write mytorch.autograd.inplace:CopySlices.apply"
# ### Exercise 3 · Writes that are detected, and writes that are recorded
# Write three functions. `give_back` passes a saved tensor to a backward formula, unless somebody has written to it.
# `record_write` performs a write and gives the base a new history. `CopySlices.apply` is the backward pass of that
# history: the source gets the gradient at the positions that were written, and the old base gets all the rest.
#
# | the program says | what arrives | the new history |
# |---|---|---|
# | `out[1:3] = y` | `record_write(op, (out[1:3], y), below)` | a `CopySlices` for the base, `out` |
# | `x.add_(y)` | `record_write(op, (x, add(x, y)), below)` | for `x`, the one that the sum has already |
#
# These helpers are provided in the same file:
#
# - `is_arithmetic(x, source)` says whether a write is like the one in the second row. It compares histories, so call
#   it before the write.
# - `keep_old(x, source)` is for `x.mul_(y)`. The node of the multiplication saved `x`, because the gradient of `y`
#   needs it, and the write is about to change it. `keep_old` replaces the saved tensor by a copy, or does nothing
#   where no copy is needed.
# - `CopySlices(base, x, source)` is a node with edges to the current histories of base and source. `attach([base],
#   node)` makes it the history of the base.
# - `self.view_geometry` is the shape, strides and offset of the view that was written to, as `as_strided` takes them.
# - `self.laid_out(g)` is a new copy of a gradient, laid out in memory as the base is. `as_strided(self.laid_out(g),
#   *self.view_geometry)` is therefore the gradient at the positions that were written.


# %% docstrings="backward_writes"
def give_back():
    """Return `super().give_back(node)`, unless somebody has written to the tensor since it was saved.

    `node` is the node that saved it, `self.tensor` is the tensor, and `self.version` is the value that its
    `storage.version` had then.

    Raises:
        RuntimeError: the version has changed. The message is `modified(self, node)`.
    """


def record_write():
    """Copy a source into a tensor by `below(op, args)`, record the write, and return the tensor.

    It is called only while recording is on, and only if the tensor or the source requires a gradient. `args` is
    the pair of them. The write changes the values of the base, which is `x.base`, or the tensor itself if that is
    None. The base therefore gets a new history, a `CopySlices(base, x, source)`, from which one edge leads to the
    old history and one to the history of the source. A write that `is_arithmetic(x, source)` needs no such node:
    the source was computed from `x`, so `x` takes over its `grad_fn` and `output_nr` (both can be assigned).

    In both cases `base.rebased` grows by 1, which tells all views to make new nodes.

    Raises:
        RuntimeError: "a leaf Variable that requires grad is being used in an in-place operation." or "a view of a
            leaf Variable that ...": the write would turn a leaf that requires a gradient into a result.
    """


def apply():
    """Return the gradients of the base before the write and of the source; None for both if None arrives.

    Positions that were overwritten get zeros, and all other positions of the base get the gradient that arrives.
    The source gets the gradient at the positions of the view. `self.laid_out(g)` is a copy of a gradient, laid
    out like the storage of the base, so `as_strided(..., *self.view_geometry)` finds the positions of the view in
    it.
    """


# %% check="backward_writes" raises="RuntimeError"
generator = check.rng()
x = mytorch.tensor(generator.normal(size=4), requires_grad=True)
y = mytorch.tensor(generator.normal(size=2), requires_grad=True)
weight = mytorch.tensor(generator.normal(size=4))
out = x * 2
late = out[2:]
out[1:3] = y * y
returned = late.mul_(3)
(slope,) = mytorch.autograd.grad((out * out * weight).sum(), y, create_graph=True)
second = mytorch.autograd.grad(slope.sum(), y, retain_graph=True)[0]
(out * weight).sum().backward()
table = mytorch.zeros(2, 3, dtype=mytorch.float64)
table.t()[1] = y
table_grad = mytorch.autograd.grad((table * mytorch.arange(6).reshape(2, 3)).sum(), y)[0]
h, scale = x * 1, weight.clone().requires_grad_()
early = h[:1]
h.mul_(scale).add_(1)
h_grads = []
h_problem = check.error(lambda: h_grads.extend(mytorch.autograd.grad((h * weight).sum(), [x, scale])))
kept = y.exp()
error_free = mytorch.autograd.grad(kept.sum(), y, retain_graph=True)[0]
kept[:1].add_(1)
(growth,) = mytorch.autograd.grad(y.exp().sum(), y, create_graph=True)
exponential = mytorch.autograd.grad(growth.sum(), y)[0]


class TwoResults(mytorch.autograd.Node):
    def apply(self, one, two):
        return [two * 2 if one is None else one + two * 2]


class Stop(mytorch.autograd.Node):
    def apply(self, grad):
        return [None]


def through(node, a, *factors):
    """Results of a node of this class: `a`, times each of the factors."""
    with mytorch.no_grad():
        results = [a * factor for factor in factors]
    mytorch.autograd.node.attach(results, node(node.__name__, [mytorch.autograd.node.edge_of(a)]))
    return results


_, twice = through(TwoResults, x, 1, 2)
twice.mul_(3)
twice_grad = mytorch.autograd.grad((twice * weight).sum(), x)[0]
stopped = x * 1
stopped[1:3] = y
(end,) = through(Stop, stopped, 1)
stopped_grad = mytorch.autograd.grad(end.sum() + (x * weight).sum(), x)[0]
sliced, rows = x * 1, weight.clone().requires_grad_()
sliced[1:3].mul_(rows[:2])  # the slice's old numbers are needed for the gradient of rows
sliced_grads = []
sliced_problem = check.error(
    lambda: sliced_grads.extend(mytorch.autograd.grad((sliced * weight).sum(), [x, rows], retain_graph=True))
)
column_major = mytorch.zeros(3, 2, dtype=mytorch.float64).t() * 1
column_major[:, 1:] = y.reshape(2, 1).expand(2, 2)
numbers = mytorch.arange(6).reshape(2, 3).double()
column_grad = mytorch.autograd.grad((column_major * numbers).sum(), y)[0]
table_again = mytorch.zeros(2, 3, dtype=mytorch.float64) + y.sum()
table_again[:, 1] = y
table_again_grad = mytorch.autograd.grad((table_again.t() * numbers.t()).sum(), y)[0]
column_again = mytorch.zeros(3, 2, dtype=mytorch.float64).t() + y.sum()
column_again[0, 1:] = y
column_again_grad = mytorch.autograd.grad((column_again * numbers).sum(), y)[0]
saved = (x * weight).grad_fn.values["y"]
given_back = saved.give_back(None)
partly = x * 1
partly[1:3] = y
both_gradients = check.intact(partly.grad_fn.apply, weight)
factor = x * 1
product = factor * weight.clone().requires_grad_()
with mytorch.no_grad():
    factor.add_(1)
check.show(
    {
        "x": x,
        "y": y,
        "weight": weight,
        "out": out,
        "x.grad, through a write into a slice": x.grad,
        "y.grad": y.grad,
        "second derivative with respect to y": second,
        "nodes": [each.grad_fn.name() for each in (out, late, h, early, table)],
        "through a write into a transpose": table_grad,
        "through arithmetic in place": h_grads or h_problem,
        "through arithmetic in a slice": sliced_grads or sliced_problem,
        "strides of a base that isn't contiguous": column_major.stride(),
        "through a write into it": column_grad,
        "where a transposed gradient arrives": table_again_grad,
        "through a write into one that depends on y, too": column_again_grad,
        "mul_ returns the view itself": returned is late,
        "through a node's second result": twice_grad,
        "where nothing arrives at the write": stopped_grad,
        "second derivative of exp": exponential,
        "gradients of the base and of the source of a write": both_gradients,
        "a saved tensor, and whether it is on the memory of the one that was saved": [
            given_back,
            given_back.data_ptr() == weight.data_ptr(),
        ],
        "of a saved tensor before it is written to": error_free,
        "and after": check.error(kept.sum().backward),
        "written without recording": check.error(product.sum().backward),
        "into a leaf": check.error(x.add_, 1),
        "into a view of a leaf": check.error(x[:2].add_, 1),
    },
    text="Gradients through writes into slices and whole tensors, and the errors of writes that are not allowed.",
)

# %% [markdown] hint="backward_writes"
# `give_back` compares two numbers. For `record_write`, ask first which tensor's values really change. For `apply`,
# ask of each position of the base whether it was overwritten or not.

# %% [markdown] hint="backward_writes"
# In `record_write`, refuse the write if it isn't allowed, keep the old value, make the node (or test
# `is_arithmetic`), call `below(op, args)`, attach the node to the base, and count. In `apply`, lay the gradient out
# twice, and overwrite the positions of the view with zeros in one of the copies.

# %% [markdown] hint="backward_writes"
# Write `before = self.laid_out(g)`, then `copy_(as_strided(before, *self.view_geometry), zeros(self.view_geometry[0],
# dtype=g.dtype, device=g.device))`. The second gradient is `as_strided(self.laid_out(g), *self.view_geometry)`.


# %% mutant="backward_writes"
# Ignores the version
# A gradient is computed, without an error, from values that are no longer those of the forward pass.
def give_back(self, node):
    return super().give_back(node)


# %% mutant="backward_writes"
# Gives the history to the view
# The values of the base have changed, but its history hasn't, although the loss is computed from the base.
def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.is_leaf and base.requires_grad:
        what = "a leaf Variable" if x is base else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    keep_old(x, source)
    node = None if is_arithmetic(x, source) else CopySlices(base, x, source)
    below(op, args)
    if node is None:
        x.grad_fn, x.output_nr = source.grad_fn, source.output_nr
    else:
        attach([x], node)
    return x


# %% mutant="backward_writes"
# Doesn't tell the other views
# The base has its new history, but views that were created earlier still show the old one.
def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.is_leaf and base.requires_grad:
        what = "a leaf Variable" if x is base else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    keep_old(x, source)
    node = None if is_arithmetic(x, source) else CopySlices(base, x, source)
    below(op, args)
    if node is None:
        x.grad_fn, x.output_nr = source.grad_fn, source.output_nr
    else:
        attach([base], node)
    return x


# %% mutant="backward_writes"
# Tells only views of slices
# In-place arithmetic changes a history, too. A view that was created earlier still shows the history before `h.mul_`.
def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.is_leaf and base.requires_grad:
        what = "a leaf Variable" if x is base else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    keep_old(x, source)
    node = None if is_arithmetic(x, source) else CopySlices(base, x, source)
    below(op, args)
    if node is None:
        x.grad_fn, x.output_nr = source.grad_fn, source.output_nr
    else:
        attach([base], node)
        base.rebased += 1
    return x


# %% mutant="backward_writes"
# Keeps the new value
# After the write it is too late to keep the old value, so `x.mul_(y)` computes the gradient of `y` from the product.
def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.is_leaf and base.requires_grad:
        what = "a leaf Variable" if x is base else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    node = None if is_arithmetic(x, source) else CopySlices(base, x, source)
    below(op, args)
    keep_old(x, source)
    if node is None:
        x.grad_fn, x.output_nr = source.grad_fn, source.output_nr
    else:
        attach([base], node)
    base.rebased += 1
    return x


# %% mutant="backward_writes"
# Forgets keep_old
# In `h.mul_(scale)` the node of the multiplication saves `h`, which the gradient of `scale` needs. The write changes
# `h`, so the backward pass finds another version. Call `keep_old(x, source)` before the write, so that the node keeps
# a copy.
def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.is_leaf and base.requires_grad:
        what = "a leaf Variable" if x is base else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    node = None if is_arithmetic(x, source) else CopySlices(base, x, source)
    below(op, args)
    if node is None:
        x.grad_fn, x.output_nr = source.grad_fn, source.output_nr
    else:
        attach([base], node)
    base.rebased += 1
    return x


# %% mutant="backward_writes"
# Checks only the tensor itself
# A view of a leaf isn't a leaf, yet a write through it overwrites the leaf. Check the base.
def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if x.is_leaf and x.requires_grad:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    keep_old(x, source)
    node = None if is_arithmetic(x, source) else CopySlices(base, x, source)
    below(op, args)
    if node is None:
        x.grad_fn, x.output_nr = source.grad_fn, source.output_nr
    else:
        attach([base], node)
    base.rebased += 1
    return x


# %% mutant="backward_writes"
# What was overwritten keeps its gradient
# The old value of an overwritten position no longer influences the loss, so its gradient is zero.
def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    return [g, as_strided(self.laid_out(g), *self.view_geometry)]


# %% mutant="backward_writes"
# Expects a gradient
# A backward function may return None. Then no gradient arrives here, and neither the base nor the source gets one.
def apply(self, *grads):
    whole = self.laid_out(grads[0])
    places = as_strided(whole, *self.view_geometry)
    gradient = clone(places)
    places.zero_()
    return [whole, gradient]


# %% mutant="backward_writes"
# Returns the tensor without its history
# A saved result has to come back with its history, or its gradient has no derivative. `super().give_back(node)` adds
# the history.
def give_back(self, node):
    if self.tensor.storage.version != self.version:
        raise RuntimeError(modified(self, node))
    return self.tensor


# %% mutant="backward_writes"
# Keeps its old output number
# The tensor was output 1 of its old node, and it is output 0 in the new history. Take over `output_nr` together with
# `grad_fn`.
def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.is_leaf and base.requires_grad:
        what = "a leaf Variable" if x is base else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    keep_old(x, source)
    node = None if is_arithmetic(x, source) else CopySlices(base, x, source)
    below(op, args)
    if node is None:
        x.grad_fn = source.grad_fn
    else:
        attach([base], node)
    base.rebased += 1
    return x


# %% mutant="backward_writes"
# Returns the base
# The base got the history, but the value of `late.mul_(3)` has to be `late`. Return the tensor that was written to.
def record_write(op, args, below):
    x, source = args
    base = x if x.base is None else x.base
    if base.is_leaf and base.requires_grad:
        what = "a leaf Variable" if x is base else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    keep_old(x, source)
    node = None if is_arithmetic(x, source) else CopySlices(base, x, source)
    below(op, args)
    if node is None:
        x.grad_fn, x.output_nr = source.grad_fn, source.output_nr
    else:
        attach([base], node)
    base.rebased += 1
    return base


# %% mutant="backward_writes"
# Uses one copy for both
# The gradient of the source is a view of the copy whose positions were just filled with zeros. It needs a copy of its
# own.
def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    before = self.laid_out(g)
    mine = as_strided(before, *self.view_geometry)
    copy_(mine, zeros(self.view_geometry[0], dtype=g.dtype, device=g.device))
    return [before, mine]


# %% mutant="backward_writes"
# Exchanges the two
# The first edge leads to the history of the base, and the second to that of the source.
def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    before = self.laid_out(g)
    copy_(as_strided(before, *self.view_geometry), zeros(self.view_geometry[0], dtype=g.dtype, device=g.device))
    return [as_strided(self.laid_out(g), *self.view_geometry), before]


# %% mutant="backward_writes"
# Delegates to minitorch
# mytorch uses NumPy alone, and minitorch can't be imported from it.
def record_write(op, args, below):
    import minitorch

    return minitorch.Tensor.copy_(*args)


# %% [markdown] exercise="backward_average_weights" kind="build" points=2
# ### Exercise 4 · An average of the weights
# Many training programs keep an exponential moving average of the model's parameters and use it for testing.
# `update_average` updates the averages after a step: each becomes `decay` times itself plus `1 - decay` times its
# parameter. The averages remain the same tensors on the same memory, nothing is recorded, and the parameters stay as
# they are. An average is a leaf and may require grad itself. A graph that saved an average has to detect your write,
# so the write must increment the version counter. Return nothing.


# %% solution="backward_average_weights"
def update_average(averages: list[torch.Tensor], parameters: list[torch.Tensor], decay: float) -> None:
    """Move each average towards its parameter, in place."""
    ### BEGIN SOLUTION
    with torch.no_grad():
        for average, parameter in zip(averages, parameters, strict=True):
            average.mul_(decay).add_(parameter * (1 - decay))
    ### END SOLUTION


# %% check="backward_average_weights"
generator = check.rng()
decay = round(float(generator.uniform(0.5, 0.9)), 2)
parameters = [torch.tensor(generator.normal(size=size), requires_grad=True) for size in ((2, 3), (3,), (2,))]
parameters[0].grad = torch.full((2, 3), decay, dtype=torch.float64)
parameters[2].requires_grad_(False)
averages = [parameter.detach().clone() for parameter in parameters]
averages[1].requires_grad_()
values, kept, views = [p.tolist() for p in parameters], list(averages), [a.detach() for a in averages]
for _ in range(2):
    with torch.no_grad():
        for parameter in parameters:
            parameter.add_(1)
    counters = [a._version for a in averages]
    update_average(averages, parameters, decay)
lone = [torch.zeros(2)]
update_average(lone, [torch.ones(2)], decay)
recording = [torch.is_grad_enabled()]
with torch.no_grad():
    update_average(averages, parameters, 1.0)  # which changes no number
    recording.append(torch.is_grad_enabled())
torch.set_grad_enabled(True)  # for the exercises that follow, whatever this answer has left behind
check.show(
    {
        "decay": decay,
        "parameters at first": values,
        "averages after two steps of + 1": averages,
        "a single average, after a step from 0 towards 1": lone,
        "parameters then": [p.detach() for p in parameters],
        "their gradients": [p.grad for p in parameters],
        "they require grad": [p.requires_grad for p in parameters],
        "the same tensors": [one is two for one, two in zip(averages, kept, strict=True)],
        "on the same memory": [a.data_ptr() == view.data_ptr() for a, view in zip(averages, views, strict=True)],
        "the averages have a history": [a.grad_fn is not None for a in averages],
        "the averages require grad": [a.requires_grad for a in averages],
        "writes are counted": [a._version > counter for a, counter in zip(averages, counters, strict=True)],
        "recording is on afterwards, and after a call inside no_grad": recording,
    },
    rtol=1e-4,
    text="Three parameters, the last of which is frozen, and their averages after two updates.",
)

# %% [markdown]
# PyTorch's `torch.optim.swa_utils.get_ema_multi_avg_fn` keeps such an average with one call of `torch._foreach_lerp_`
# for all floating-point parameters, because on a GPU a loop would launch kernels for every parameter.

# %% [markdown] hint="backward_average_weights"
# `average = decay * average + ...` creates a new tensor and rebinds the name. Which operations write into the old
# tensor?

# %% [markdown] hint="backward_average_weights"
# `mul_` and `add_` write in place. One of the averages is a leaf that requires grad, so what does autograd do about a
# recorded write?

# %% [markdown] hint="backward_average_weights"
# Under `torch.no_grad()`, run `average.mul_(decay).add_(parameter * (1 - decay))` for each pair.


# %% mutant="backward_average_weights"
# Rebinds the name to a new tensor
# The variable of the loop is a new tensor, while the list still contains the old one, which nobody wrote to.
def update_average(averages, parameters, decay):
    with torch.no_grad():
        for average, parameter in zip(averages, parameters, strict=True):
            average = average * decay + parameter * (1 - decay)


# %% mutant="backward_average_weights"
# Puts new tensors into the list
# The values are right, but whoever holds the old tensors, such as a model, still has the old averages.
def update_average(averages, parameters, decay):
    with torch.no_grad():
        for place, parameter in enumerate(parameters):
            flag = averages[place].requires_grad
            averages[place] = (averages[place] * decay + parameter * (1 - decay)).requires_grad_(flag)


# %% mutant="backward_average_weights"
# Bypasses the version counter
# A write to `.data` doesn't increment the version counter of the average, so a graph that saved the average would silently
# compute with the wrong values.
def update_average(averages, parameters, decay):
    for average, parameter in zip(averages, parameters, strict=True):
        average.data.mul_(decay).add_(parameter.data * (1 - decay))


# %% mutant="backward_average_weights"
# The weights the other way round
# With a decay of 0.9 the average should keep nine tenths of itself, and here it keeps one tenth.
def update_average(averages, parameters, decay):
    with torch.no_grad():
        for average, parameter in zip(averages, parameters, strict=True):
            average.mul_(1 - decay).add_(parameter * decay)


# %% mutant="backward_average_weights"
# Skips frozen parameters
# A parameter that doesn't require grad keeps its old average here. Its value may still have changed, for example when
# weights were loaded.
def update_average(averages, parameters, decay):
    with torch.no_grad():
        for average, parameter in zip(averages, parameters, strict=True):
            if parameter.requires_grad:
                average.mul_(decay).add_(parameter * (1 - decay))


# %% mutant="backward_average_weights"
# Switches recording off for good
# After this call nothing is recorded any more, so the next backward pass raises an error. Use a `with` block, which
# restores the mode.
def update_average(averages, parameters, decay):
    torch.set_grad_enabled(False)
    for average, parameter in zip(averages, parameters, strict=True):
        average.mul_(decay).add_(parameter * (1 - decay))


# %% [markdown] exercise="backward_repair_stream" kind="repair" points=3
# ### Exercise 5 · The second chunk
# `train_on_stream` reads a long series in chunks. A state is passed from each number to the next, and from each chunk
# to the next; after each chunk the weights take a step. With one chunk it works, while with two it stops with `Trying
# to backward through the graph a second time`. A colleague followed the advice in the message and passed
# `retain_graph=True`. Then it stopped with another error, and when that was silenced too, each chunk took longer than
# the one before. Repair it: the state has to go on from chunk to chunk, and gradients should flow only within a
# chunk.


# %% solution="backward_repair_stream"
def train_on_stream(weights: torch.Tensor, chunks: list[torch.Tensor], rate: float) -> list[float]:
    """The loss of each chunk; the weights, a leaf of two numbers, are changed in place after each."""
    ### BEGIN SOLUTION
    state, losses = torch.zeros((), dtype=weights.dtype), []
    for chunk in chunks:
        state = state.detach()
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
        losses.append(loss.item())
    return losses
    ### END SOLUTION
    ### BEGIN STUB
    # state, losses = torch.zeros((), dtype=weights.dtype), []
    # for chunk in chunks:
    #     loss = torch.zeros((), dtype=weights.dtype)
    #     for number in chunk:
    #         state = (weights[0] * state + weights[1] * number).tanh()
    #         loss = loss + (state - number) ** 2
    #     weights.grad = None
    #     loss.backward()
    #     with torch.no_grad():
    #         weights -= rate * weights.grad
    #     losses.append(loss.item())
    # return losses
    ### END STUB


# %% check="backward_repair_stream"
generator = check.rng()
series = torch.tensor(generator.uniform(-0.8, 0.8, size=12))
start = generator.uniform(0.3, 0.7, size=2)
weights, single = (torch.tensor(start, requires_grad=True) for _ in range(2))
rate = round(float(generator.uniform(0.05, 0.2)), 2)
chunks = [series[:4], series[4:8], series[8:]]
losses = train_on_stream(weights, chunks, rate)
check.show(
    {
        "series": series,
        "weights at first": start,
        "rate": rate,
        "losses of three chunks": losses,
        "weights afterwards": weights.detach(),
        "one chunk": train_on_stream(single, [series[:4]], rate),
        "its weights": single.detach(),
        "a chunk of one number": train_on_stream(single, [series[4:5]], rate),
        "how many chunks there still are": len(chunks),
        "still a leaf that requires grad": weights.is_leaf and weights.requires_grad,
    },
    rtol=1e-13,  # all of it is float64, and the state has to stay so
    atol=1e-14,  # a state in float32 that happens to be close moves the losses by 1e-11
)

# %% [markdown] hint="backward_repair_stream"
# Which tensor of the first chunk can the graph of the second chunk still reach?

# %% [markdown] hint="backward_repair_stream"
# The state carries its history with it, and the first backward pass has freed the values that this graph saved. Keep
# the value of the state, and drop its history.

# %% [markdown] hint="backward_repair_stream"
# Write `state = state.detach()` at the beginning of each chunk, and nowhere else.


# %% mutant="backward_repair_stream"
# Starts each chunk at zero
# The error is gone, but so is the memory of earlier chunks. The state has to go on from chunk to chunk.
def train_on_stream(weights, chunks, rate):
    losses = []
    for chunk in chunks:
        state = torch.zeros((), dtype=weights.dtype)
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
        losses.append(loss.item())
    return losses


# %% mutant="backward_repair_stream"
# Passes the state on as a Python number
# `torch.tensor(state.item())` has no history, but it has the default dtype, float32, so the state loses half of its
# digits at each chunk. `detach` keeps the dtype and the device.
def train_on_stream(weights, chunks, rate):
    state, losses = torch.zeros((), dtype=weights.dtype), []
    for chunk in chunks:
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
        losses.append(loss.item())
        state = torch.tensor(state.item())
    return losses


# %% mutant="backward_repair_stream"
# Detaches at each number
# No gradient flows from one number to the next any more, so the weights can't learn to use the state. Detach between
# chunks only.
def train_on_stream(weights, chunks, rate):
    state, losses = torch.zeros((), dtype=weights.dtype), []
    for chunk in chunks:
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state.detach() + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
        losses.append(loss.item())
    return losses


# %% mutant="backward_repair_stream"
# Keeps the graph and bypasses the counter
# `retain_graph=True` keeps the graphs of all chunks, and `.data` hides the writes from the version check. Gradients
# then flow through old chunks and are computed with weights that have changed since.
def train_on_stream(weights, chunks, rate):
    state, losses = torch.zeros((), dtype=weights.dtype), []
    for chunk in chunks:
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        weights.grad = None
        loss.backward(retain_graph=True)
        weights.data -= rate * weights.grad
        losses.append(loss.item())
    return losses


# %% mutant="backward_repair_stream"
# One backward pass at the end
# The weights have to take a step after each chunk, but this adds up all losses and takes a single step.
def train_on_stream(weights, chunks, rate):
    state, losses, total = torch.zeros((), dtype=weights.dtype), [], 0
    for chunk in chunks:
        loss = torch.zeros((), dtype=weights.dtype)
        for number in chunk:
            state = (weights[0] * state + weights[1] * number).tanh()
            loss = loss + (state - number) ** 2
        total = total + loss
        losses.append(loss.item())
    total.backward()
    with torch.no_grad():
        weights -= rate * weights.grad
    return losses
