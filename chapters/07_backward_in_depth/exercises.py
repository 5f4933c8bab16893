# %% [markdown]
# # Exercises · Backward in depth
# Seven exercises, 18 points. Exercises 2 to 4 write `mytorch`; what passes there goes into `my/mytorch`. Your functions run
# inside a file of `mytorch`: what the task or the docstring mentions is there, and anything else you import yourself.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch


def two_layers(generator, inputs=3, hidden=8):
    """The weights of a small network with one output, as float64 leaves that require grad."""
    shapes = [(inputs, hidden), (hidden,), (hidden, 1)]
    return [torch.tensor(generator.normal(0, 0.7, shape), requires_grad=True) for shape in shapes]


def network(weights, x):
    """A hidden layer with tanh, then one number for each row of x."""
    first, bias, last = weights
    return ((x @ first + bias).tanh() @ last).squeeze(1)


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
# What does it print? Set `prediction` to a list of two numbers, or to the string `"RuntimeError"` if a line raises.

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
# Which numbers are in `h` when the last multiplication runs? And when did that multiplication save them?

# %% [markdown] hint="backward_predict_detached_write"
# `h.detach()` is another tensor on the same storage, so `h` holds `[20, 40]`. The product saves `h` after the write, so
# its version fits.

# %% [markdown] hint="backward_predict_detached_write"
# Two nodes were recorded: `h * h` gives `2 * h`, with the numbers that `h` holds now; `x * 2` gives a factor of 2. The
# factor 10 was never recorded.

# %% mutant="backward_predict_detached_write"
# The version counter raises
# The counter complains about a write between saving and using. Here `h * h` saves h after the write, and `x * 2` saves
# nothing of h.
prediction = "RuntimeError"

# %% mutant="backward_predict_detached_write"
# Detach copies
# This is right if `h` still holds [2, 4]. But `detach` shares the memory: the write changed `h`.
prediction = [8.0, 16.0]

# %% mutant="backward_predict_detached_write"
# The write is recorded
# This is the derivative of (20 x)². A write through a detached tensor isn't recorded, so no factor 10 comes back.
prediction = [800.0, 1600.0]

# %% mutant="backward_predict_detached_write"
# Stops at h
# These are the gradients of `h`. There is one more node on the way to `x`.
prediction = [40.0, 80.0]

# %% [markdown] exercise="backward_modes" kind="core" points="2 1" part="mytorch.autograd.grad_mode:GradMode.__enter__ mytorch.autograd.grad_mode:GradMode.__exit__ | mytorch.autograd.grad_mode:GradMode.__call__"
# ### Exercise 2 · `no_grad`, as a block and as a decorator
# Operations are recorded while `Mode.enabled` is true. `no_grad()` and `enable_grad()` are objects of `GradMode` with
# `self.enabled` set to what they want. Write what happens at the start of a `with` block, at its end (also after an
# exception), and when the object decorates a function. The same object may be entered again inside its own block:
# a decorated function that calls itself does that.
#
# ```python
# @mytorch.no_grad()
# def predict(x): ...
# ```

# %% check="backward_modes"
w = mytorch.tensor(check.rng().normal(size=3), requires_grad=True)
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
def fails():
    raise ValueError("on purpose")


after_decorating, part = mytorch.is_grad_enabled(), divided(w, by=4.0)
after_call, inside, after_recursion = mytorch.is_grad_enabled(), countdown(2), mytorch.is_grad_enabled()
error = check.error(fails)
with quiet:
    inner = recorded(w)
check.show(
    {
        "w": w.tolist(),
        "recording in blocks in blocks": enabled,
        "recording after decorating": after_decorating,
        "what the function returns": part.tolist(),
        "requires grad": part.requires_grad,
        "name and docstring": [divided.__name__, divided.__doc__],
        "recording after a call": after_call,
        "in a function that calls itself": inside,
        "requires grad, after enable_grad": inner.requires_grad,
        "recording after that": after_recursion,
        "the function's own error": error,
        "recording after the error": mytorch.is_grad_enabled(),
    },
    text="Whether operations are recorded in blocks, in decorated functions and after them.",
)

# %% [markdown] hint="backward_modes"
# Leaving a block doesn't mean "on again". What was it before?

# %% [markdown] hint="backward_modes"
# One place to remember is too few: the same object can be entered twice before it is left once. A list that grows at
# the start and shrinks at the end is enough.

# %% [markdown] hint="backward_modes"
# `__call__` defines an inner function with `*args, **kwargs`, decorated with `functools.wraps(function)`, that runs
# `function` inside `with self:`. `with` also leaves the block when there is an exception.


# %% mutant="backward_modes"
# On again at the end
# The end of an inner block switches recording on, although the outer block wanted it off.
def __exit__(self, *error):
    self.outer.pop()
    Mode.enabled = True


# %% mutant="backward_modes"
# The opposite at the end
# What was found need not be the opposite: a `no_grad` block may lie in another one. Put back what is in `self.outer`.
def __exit__(self, *error):
    self.outer.pop()
    Mode.enabled = not self.enabled


# %% mutant="backward_modes"
# Decorates with no_grad only
# `enable_grad()` decorates too, and sets `Mode.enabled` to True. `with self:` does what this object wants.
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
# One place to remember
# The second entry overwrites what the first one found, so the outer end puts back the wrong state.
def __enter__(self):
    self.outer[:] = [Mode.enabled]
    Mode.enabled = self.enabled


def __exit__(self, *error):
    Mode.enabled = self.outer[0]


# %% mutant="backward_modes"
# Not after an exception
# An exception skips the last line, and recording stays off for the rest of the program. `with` would see to it.
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
# An `__exit__` that returns something true hides the exception from the caller.
def __exit__(self, *error):
    Mode.enabled = self.outer.pop()
    return True


# %% mutant="backward_modes"
# Switches while decorating
# The block is left before the function is ever called: the calls themselves are recorded.
def __call__(self, function):
    with self:
        return function


# %% mutant="backward_modes"
# Loses the name
# The decorated function calls itself "inside" and has no docstring: `functools.wraps` copies both.
def __call__(self, function):
    def inside(*args, **kwargs):
        with self:
            return function(*args, **kwargs)

    return inside


# %% mutant="backward_modes"
# Delegates to minitorch
# mytorch needs NumPy alone: minitorch cannot be imported from it.
def __call__(self, function):
    import minitorch

    return minitorch.no_grad()(function)


# %% [markdown] exercise="backward_writes" kind="core" points="1 2 1" part="mytorch.autograd.inplace:SavedTensor.give_back mytorch.autograd.inplace:record_write mytorch.autograd.inplace:CopySlices.apply"
# ### Exercise 3 · Writes that are noticed, and writes that are recorded
# Three functions. `give_back` hands a saved tensor to a formula, unless somebody has written to it. `record_write` does
# a write and gives the base a new history. `CopySlices.apply` is that history's backward: the source gets the gradient
# at the places that were written, the old base gets all the rest.
#
# | the program says | what arrives | the new history |
# |---|---|---|
# | `out[1:3] = y` | `record_write(op, (out[1:3], y), below)` | a `CopySlices` for the base, `out` |
# | `x.add_(y)` | `record_write(op, (x, add(x, y)), below)` | for `x`, the one that the sum has already |
#
# These helpers are given, in the same file:
#
# - `is_arithmetic(x, source)` says whether a write is like the second row. It compares histories, so ask before the write.
# - `keep_old(x, source)` is for `x.mul_(y)`. The product's node keeps `x`, because the gradient of `y` needs it, and the
#   write is about to change it. `keep_old` has the node keep a copy instead. Where no copy is needed it does nothing.
# - `CopySlices(base, x, source)` is a node with edges to the histories that base and source have at that moment.
#   `attach([base], node)` makes it the history of the base.
# - `self.view_walk` is the shape, strides and offset of the view that was written to, as `as_strided` takes them.
# - `self.laid_out(g)` is a new copy of a gradient, laid out in memory as the base is. So
#   `as_strided(self.laid_out(g), *self.view_walk)` is the gradient at the places that were written.

# %% check="backward_writes"
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


class Pair(mytorch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 1, a * 2

    @staticmethod
    def backward(ctx, one, two):
        return one + two * 2


class Stop(mytorch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 1

    @staticmethod
    def backward(ctx, grad):
        return None


_, twice = Pair.apply(x)
twice.mul_(3)
twice_grad = mytorch.autograd.grad((twice * weight).sum(), x)[0]
stopped = x * 1
stopped[1:3] = y
stopped_grad = mytorch.autograd.grad(Stop.apply(stopped).sum() + (x * weight).sum(), x)[0]
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
        "second derivative by y": second,
        "nodes": [each.grad_fn.name() for each in (out, late, h, early, table)],
        "through a write into a transpose": table_grad,
        "through arithmetic in place": h_grads or h_problem,
        "mul_ returns the view itself": returned is late,
        "through a node's second result": twice_grad,
        "where nothing arrives at the write": stopped_grad,
        "second derivative of exp": exponential,
        "of a saved tensor before it is written to": error_free,
        "and after": check.error(kept.sum().backward),
        "written without recording": check.error(product.sum().backward),
        "into a leaf": check.error(x.add_, 1),
        "into a view of a leaf": check.error(x[:2].add_, 1),
    },
    text="Gradients through writes into slices and whole tensors, and the errors of writes that are not allowed.",
)

# %% [markdown] hint="backward_writes"
# `give_back` compares two numbers. For `record_write`, ask first which tensor's numbers really change. For `apply`,
# think of each place of the base: was it overwritten, or not?

# %% [markdown] hint="backward_writes"
# `record_write`: refuse, keep the old value, make the node (or ask `is_arithmetic`), call `below(op, args)`, attach the
# node to the base, count. `apply`: lay the gradient out twice; in one copy, overwrite the view's places with zeros.

# %% [markdown] hint="backward_writes"
# `before = self.laid_out(g)`, then `copy_(as_strided(before, *self.view_walk), zeros(self.view_walk[0],
# dtype=g.dtype, device=g.device))`. The second gradient is `as_strided(self.laid_out(g), *self.view_walk)`.


# %% mutant="backward_writes"
# Never looks at the version
# A gradient is computed from numbers that are no longer those of the forward pass, without an error.
def give_back(self, node):
    return super().give_back(node)


# %% mutant="backward_writes"
# Gives the view the history
# The numbers of the base have changed, but its history hasn't: the loss is computed from the base.
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
# The base has its new history, but views that were taken earlier still show the old one.
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
# Tells the views of slices only
# Arithmetic in place changes a history too. A view that was taken earlier still shows the one before `h.mul_`.
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
# After the write it is too late to keep the old value: `x.mul_(y)` computes the gradient of y with the product.
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
# In `h.mul_(scale)` the node of the product keeps `h`, which the gradient of `scale` needs. The write changes `h`, so the
# backward pass finds another version. `keep_old(x, source)`, before the write, has the node keep a copy.
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
# Asks only the tensor itself
# A view of a leaf isn't a leaf, yet a write through it overwrites the leaf. The base has to be asked.
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
# The old value of an overwritten place has no influence on the loss any more: its gradient is zero.
def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    return [g, as_strided(self.laid_out(g), *self.view_walk)]


# %% mutant="backward_writes"
# Expects a gradient
# A function may give None: then nothing arrives here, and neither the base nor the source gets anything.
def apply(self, *grads):
    whole = self.laid_out(grads[0])
    places = as_strided(whole, *self.view_walk)
    gradient = clone(places)
    places.zero_()
    return [whole, gradient]


# %% mutant="backward_writes"
# Gives the tensor as it is
# A saved result has to come back with its history, or its gradient has no derivative. `super().give_back(node)` adds it.
def give_back(self, node):
    if self.tensor.storage.version != self.version:
        raise RuntimeError(modified(self, node))
    return self.tensor


# %% mutant="backward_writes"
# Keeps its old output number
# The tensor was output 1 of its old node. In the new history it is output 0: take `output_nr` over with `grad_fn`.
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
# The base got the history, but `late.mul_(3)` has to be `late`. Return the tensor that was written to.
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
# One copy for both
# The source's gradient is a view of the copy whose places were just filled with zeros. It needs a copy of its own.
def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    before = self.laid_out(g)
    mine = as_strided(before, *self.view_walk)
    copy_(mine, zeros(self.view_walk[0], dtype=g.dtype, device=g.device))
    return [before, mine]


# %% mutant="backward_writes"
# Exchanges the two
# The first edge leads to the base's history, the second to the source's.
def apply(self, *grads):
    (g,) = grads
    if g is None:
        return [None, None]
    before = self.laid_out(g)
    copy_(as_strided(before, *self.view_walk), zeros(self.view_walk[0], dtype=g.dtype, device=g.device))
    return [as_strided(self.laid_out(g), *self.view_walk), before]


# %% mutant="backward_writes"
# Delegates to minitorch
# mytorch needs NumPy alone: minitorch cannot be imported from it.
def record_write(op, args, below):
    import minitorch

    return minitorch.Tensor.copy_(*args)


# %% [markdown] exercise="backward_gradcheck" kind="core" points="1 2" part="mytorch.autograd.gradcheck:numerical_jacobian mytorch.autograd.gradcheck:analytical_jacobian"
# ### Exercise 4 · gradcheck
# At the heart of `gradcheck` are two matrices that should be equal. One is measured with steps to both sides, the other
# comes from the formulas, with one backward pass for each number of the result. Write both; the comparison is already
# there. In your functions, `grad`, `no_grad`, `stack`, `zeros` and `zeros_like` are those of `mytorch`.

# %% check="backward_gradcheck"
from mytorch.autograd.gradcheck import analytical_jacobian, numerical_jacobian

generator = check.rng()
matrix = mytorch.tensor(generator.normal(size=(3, 2)), requires_grad=True)
x, vector = matrix.detach().t().requires_grad_(), mytorch.tensor(generator.normal(size=3), requires_grad=True)
before, calls = [x.tolist(), vector.tolist()], []


def function(a, b, c):
    calls.append(c)
    return ((a * a) @ b).exp() * c


class Wrong(mytorch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * a

    @staticmethod
    def backward(ctx, g):
        return g


inputs = [x, vector, 0.5]
coarse = numerical_jacobian(function, inputs, 0, 0.1)
calls.clear()
computed = analytical_jacobian(function, inputs, 0)
calls_of_the_second = len(calls)
check.show(
    {
        "x": x,
        "vector": vector,
        "measured by x": numerical_jacobian(function, inputs, 0, 1e-6),
        "measured by the vector": numerical_jacobian(function, inputs, 1, 1e-6),
        "measured with a coarse step": coarse,
        "computed by x": computed,
        "calls of the function for that": calls_of_the_second,
        "computed by the vector": analytical_jacobian(function, inputs, 1),
        "by an input that is not used": analytical_jacobian(lambda a, b: b * 2, [x, vector], 0),
        "of a result with two dimensions": analytical_jacobian(lambda a, b: a * b, [x, vector], 1),
        "connected to a graph": [coarse.requires_grad, analytical_jacobian(function, inputs, 0).requires_grad],
        "inputs unchanged": before == [x.tolist(), vector.tolist()],
        "nothing in .grad": [x.grad, vector.grad],
        "gradcheck": mytorch.autograd.gradcheck(function, inputs),
        "of a wrong formula": type(check.error(mytorch.autograd.gradcheck, Wrong.apply, vector)).__name__,
    },
    text="Two Jacobians of a function of a 2 by 3 matrix and a vector, measured and computed.",
)

# %% [markdown] hint="backward_gradcheck"
# Both matrices have a row for each element of the input and a column for each element of the result. Which of the two
# functions gets a whole row at once, and which a whole column?

# %% [markdown] hint="backward_gradcheck"
# A nudge of one element moves all results: a row. A backward pass that starts at one element of the result reaches all
# elements of the input: a column. `stack(rows)` and `stack(columns, 1)` make the matrices.

# %% [markdown] hint="backward_gradcheck"
# Measured, under `no_grad()`: `moved = x.clone().reshape(-1)`, `moved[element] += step`, call the function with
# `moved.reshape(x.shape)` at this place. Computed: `chosen` is zeros with a 1, and
# `grad(result, x, chosen.reshape(result.shape), retain_graph=True, allow_unused=True)` gives a tuple with the column or
# with None.


# %% mutant="backward_gradcheck"
# A step to one side
# The quotient of one side is off by half the step times the curvature. Steps to both sides cancel that term.
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        start = function(*inputs).reshape(-1)
        for element in range(x.numel()):
            moved = x.clone().reshape(-1)
            moved[element] += eps
            changed = function(*inputs[:place], moved.reshape(x.shape), *inputs[place + 1 :]).reshape(-1)
            rows.append((changed - start) / eps)
    return stack(rows)


# %% mutant="backward_gradcheck"
# Divides by one step
# From x - eps to x + eps are two steps: all slopes are twice too large.
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        for element in range(x.numel()):
            sides = []
            for step in (eps, -eps):
                moved = x.clone().reshape(-1)
                moved[element] += step
                sides.append(function(*inputs[:place], moved.reshape(x.shape), *inputs[place + 1 :]).reshape(-1))
            rows.append((sides[0] - sides[1]) / eps)
    return stack(rows)


# %% mutant="backward_gradcheck"
# Moves everything at once
# All elements of the input move together, so each row is the sum of all rows.
def numerical_jacobian(function, inputs, place, eps):
    x = inputs[place]
    with no_grad():
        sides = [function(*inputs[:place], x + step, *inputs[place + 1 :]).reshape(-1) for step in (eps, -eps)]
        row = (sides[0] - sides[1]) / (2 * eps)
    return stack([row] * x.numel())


# %% mutant="backward_gradcheck"
# Never moves back
# The nudges are written into the input itself, and each element is measured where the earlier ones left the others.
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        for element in np.ndindex(*x.shape):
            sides = []
            for step in (eps, -eps):
                x[element] += step
                sides.append(function(*inputs).reshape(-1))
            rows.append((sides[0] - sides[1]) / eps)
    return stack(rows)


# %% mutant="backward_gradcheck"
# Nudges an alias
# `reshape` copies only where it has to, so the nudges are written into the input itself: the second one starts where the
# first one ended, and the slope is half of what it should be. Nudge a clone.
def numerical_jacobian(function, inputs, place, eps):
    x, rows = inputs[place], []
    with no_grad():
        for element in range(x.numel()):
            sides = []
            for step in (eps, -eps):
                moved = x.reshape(-1)
                moved[element] += step
                sides.append(function(*inputs[:place], moved.reshape(x.shape), *inputs[place + 1 :]).reshape(-1))
            rows.append((sides[0] - sides[1]) / (2 * eps))
    return stack(rows)


# %% mutant="backward_gradcheck"
# One pass for all results
# A pass that starts with ones everywhere gives the sum over the results, not one column for each.
def analytical_jacobian(function, inputs, place):
    x, result = inputs[place], function(*inputs)
    found = None
    if result.requires_grad:
        (found,) = grad(result, x, zeros_like(result) + 1, allow_unused=True)
    column = (zeros_like(x) if found is None else found).detach().reshape(-1)
    return stack([column] * result.numel(), 1)


# %% mutant="backward_gradcheck"
# Results in rows
# The matrix is transposed: rows belong to the input, columns to the result.
def analytical_jacobian(function, inputs, place):
    x, result, columns = inputs[place], function(*inputs), []
    for element in range(result.numel()):
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        found = None
        if result.requires_grad:
            (found,) = grad(result, x, chosen.reshape(result.shape), retain_graph=True, allow_unused=True)
        columns.append((zeros_like(x) if found is None else found).detach().reshape(-1))
    return stack(columns)


# %% mutant="backward_gradcheck"
# A new graph for each pass
# The function is called once for each number of the result. `retain_graph=True` lets all passes use one graph.
def analytical_jacobian(function, inputs, place):
    x, columns = inputs[place], []
    for element in range(function(*inputs).numel()):
        result = function(*inputs)
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        found = None
        if result.requires_grad:
            (found,) = grad(result, x, chosen.reshape(result.shape), allow_unused=True)
        columns.append((zeros_like(x) if found is None else found).detach().reshape(-1))
    return stack(columns, 1)


# %% mutant="backward_gradcheck"
# Uses the graph up
# The first pass releases what the nodes saved, and the second finds nothing.
def analytical_jacobian(function, inputs, place):
    x, result, columns = inputs[place], function(*inputs), []
    for element in range(result.numel()):
        chosen = zeros((result.numel(),), dtype=result.dtype)
        chosen[element] = 1
        found = None
        if result.requires_grad:
            (found,) = grad(result, x, chosen.reshape(result.shape), allow_unused=True)
        columns.append((zeros_like(x) if found is None else found).detach().reshape(-1))
    return stack(columns, 1)


# %% mutant="backward_gradcheck"
# Delegates to minitorch
# mytorch needs NumPy alone: minitorch cannot be imported from it.
def analytical_jacobian(function, inputs, place):
    import minitorch

    return minitorch.autograd.functional.jacobian(
        lambda x: function(*inputs[:place], x, *inputs[place + 1 :]), inputs[place]
    )


# %% [markdown] exercise="backward_hessian_vector" kind="build" points=2 replaces="minitorch.autograd.functional:hvp"
# ### Exercise 5 · Curvature without a matrix
# A network with a million weights has a Hessian of a trillion numbers. Its product with one vector `v` is a million
# numbers, and two backward passes give it exactly, the second through the first. Write `hvp(func, inputs, v)`: `func`
# takes the tensor `inputs` and gives one number; the result is the pair of that number and the product of the Hessian at
# `inputs` with `v`, which has the shape of `inputs`. Neither is connected to a graph. `inputs` stays as it is, and no
# `.grad` changes.
#
# Your version takes the place of `torch.autograd.functional.hvp` in minitorch, and the check takes Newton steps with it.


# %% solution="backward_hessian_vector"
def hvp(func, inputs, v):
    """The value of `func` at the tensor `inputs`, and the product of its Hessian there with `v`."""
    ### BEGIN SOLUTION
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (product,) = torch.autograd.grad((slope * v).sum(), x)
    return value.detach(), product
    ### END SOLUTION


# %% check="backward_hessian_vector"
generator = check.rng()
start = torch.tensor(generator.normal(0, 1, 5), requires_grad=True)
v = torch.tensor(generator.normal(0, 1, 5))


def valley(x):
    """Curved in every direction, and each coordinate's slope depends on its neighbour."""
    return (x.exp() + x**4).sum() + ((x[1:] - x[:-1]) ** 2).sum()


def newton_step(x):
    """Solves H p = g by conjugate gradients, with nothing but products H p, and goes from x to x - p."""
    leaf = x.detach().requires_grad_()
    (residual,) = torch.autograd.grad(valley(leaf), leaf)
    solution, direction = torch.zeros_like(residual), residual
    for _ in range(5):
        _, curved = torch.autograd.functional.hvp(valley, x, direction)
        length = (residual * residual).sum() / (direction * curved).sum()
        solution, after = solution + length * direction, residual - length * curved
        direction = after + (after * after).sum() / (residual * residual).sum() * direction
        residual = after
    return x.detach() - solution


with check.install(hvp, "minitorch.autograd.functional:hvp"):
    value, product = torch.autograd.functional.hvp(valley, start, v)
    values = [valley(start).item()]
    place = start
    for _ in range(3):
        place = newton_step(place)
        values.append(valley(place).item())
    plain = start.detach()
    torch.autograd.functional.hvp(valley, plain, v)
check.show(
    {
        "x": start,
        "v": v,
        "value": value,
        "product": product,
        "connected to a graph": [value.requires_grad, product.requires_grad],
        "x.grad": start.grad,
        "an x that doesn't require grad, requires grad afterwards": plain.requires_grad,
        "values after 0 to 3 Newton steps": values,
    },
    rtol=1e-10,
    atol=1e-11,
    text="The Hessian of a function of five numbers times v, and Newton's method made of such products.",
)

# %% [markdown] hint="backward_hessian_vector"
# The Hessian is the derivative of the gradient. Which number has the derivative $Hv$?

# %% [markdown] hint="backward_hessian_vector"
# $\sum_i v_i g_i(x)$, where $g$ is the gradient. So the first pass must record its own operations.

# %% [markdown] hint="backward_hessian_vector"
# Make a leaf of `inputs.detach()`. `torch.autograd.grad(value, x, create_graph=True)` gives `slope`; then take
# `torch.autograd.grad` of `(slope * v).sum()`.


# %% mutant="backward_hessian_vector"
# Delegates to minitorch
# This calls minitorch's own `hvp`, which is locked while yours is installed.
def hvp(func, inputs, v, original=torch.autograd.functional.hvp):
    return original(func, inputs, v)


# %% mutant="backward_hessian_vector"
# Multiplies too late
# `slope.sum()` gives the sums of the Hessian's rows. Multiplied by v afterwards, that is right only for a diagonal one:
# v has to weigh the slopes before the second pass.
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    return value.detach(), curvature * v


# %% mutant="backward_hessian_vector"
# A difference of two gradients
# This is close, but only half of the digits are right. The derivative of the gradient itself has them all.
def hvp(func, inputs, v):
    def slope(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(func(x), x)[0]

    return func(inputs).detach(), (slope(inputs + 1e-5 * v) - slope(inputs - 1e-5 * v)) / 2e-5


# %% mutant="backward_hessian_vector"
# Changes the inputs
# `requires_grad_` changes the tensor that the caller gave. Make a leaf of your own: `inputs.detach().requires_grad_()`.
def hvp(func, inputs, v):
    value = func(inputs.requires_grad_())
    (slope,) = torch.autograd.grad(value, inputs, create_graph=True)
    (product,) = torch.autograd.grad((slope * v).sum(), inputs)
    return value.detach(), product


# %% mutant="backward_hessian_vector"
# Uses backward
# The product is right, but both passes left their gradients in the `.grad` of the caller's tensor.
def hvp(func, inputs, v):
    x = inputs
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (slope * v).sum().backward()
    return value.detach(), x.grad.clone()


# %% mutant="backward_hessian_vector"
# Stays connected
# The product is right, but it drags the graphs of both passes behind it: the second pass needs no `create_graph`, and
# the value should be detached.
def hvp(func, inputs, v):
    x = inputs.detach().requires_grad_()
    value = func(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    (product,) = torch.autograd.grad((slope * v).sum(), x, create_graph=True)
    return value, product


# %% [markdown] exercise="backward_repair_slope_penalty" kind="repair" points=3
# ### Exercise 6 · A penalty without effect
# A network should fit its targets and have a slope of length 1 everywhere: for each row of `x`, the gradient of the
# output by that row should have the norm 1. (Critics of Wasserstein GANs are trained much like this.) `penalised_loss`
# computes the mean squared error, plus `weight` times the mean of $(\lVert\text{slope}\rVert - 1)^2$. The number that
# it returns is right. But training with a weight of 0 and with a weight of 100 ends at exactly the same network:
#
# ```text
# weight   0.0: loss before   3.16803   last layer after 50 steps [-0.6262, 1.1037, 0.317]
# weight 100.0: loss before  14.41736   last layer after 50 steps [-0.6262, 1.1037, 0.317]
# ```
#
# The cell below made these lines. Repair the function.

# %%


def as_found(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


generator = np.random.default_rng(0)
rows, wanted = torch.tensor(generator.normal(0, 1, (6, 3))), torch.tensor(generator.normal(0, 1, 6))
for weight in (0.0, 100.0):
    weights = two_layers(np.random.default_rng(1))
    print(f"weight {weight:5}: loss before {as_found(weights, rows, wanted, weight).item():9.5f}", end="")
    for _ in range(50):
        gradients = torch.autograd.grad(as_found(weights, rows, wanted, weight), weights)
        with torch.no_grad():
            for each, gradient in zip(weights, gradients, strict=True):
                each -= 0.02 * gradient
    print("   last layer after 50 steps", [round(number, 4) for number in weights[2][:3, 0].tolist()])


# %% solution="backward_repair_slope_penalty"
def penalised_loss(weights, x, target, weight):
    """The mean squared error plus `weight` times how far the slope's length is from 1, squared, on average."""
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty
    ### END SOLUTION
    ### BEGIN STUB
    # x = x.detach().requires_grad_()
    # output = network(weights, x)
    # (slope,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
    # penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    # return ((output - target) ** 2).mean() + weight * penalty
    ### END STUB


# %% check="backward_repair_slope_penalty"
generator = check.rng()
weights = two_layers(generator)
rows, wanted = torch.tensor(generator.normal(0, 1, (6, 3))), torch.tensor(generator.normal(0, 1, 6))
loss = penalised_loss(weights, rows, wanted, 10.0)
loss.backward()
check.show(
    {
        "x": rows,
        "loss": loss,
        "gradient of the first layer": weights[0].grad,
        "gradient of its bias": weights[1].grad,
        "gradient of the last layer": weights[2].grad,
    },
    text="The loss with a penalty of weight 10, and its gradients.",
)

# %% [markdown] hint="backward_repair_slope_penalty"
# Print `penalty.requires_grad`, and compare it with that of the error.

# %% [markdown] hint="backward_repair_slope_penalty"
# `slope` depends on the weights. Does anything in the graph know?

# %% [markdown] hint="backward_repair_slope_penalty"
# `retain_graph=True` keeps the graph of the forward pass. `create_graph=True` also records the backward pass, and only
# then is `slope` the end of a graph that leads to the weights.


# %% mutant="backward_repair_slope_penalty"
# A slope without a history
# The loss is right, and its gradients are those of the error alone: nothing leads from the penalty back to the weights.
# What is the `grad_fn` of `slope`?
def penalised_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    penalty = ((slope.detach().pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% mutant="backward_repair_slope_penalty"
# Requires grad, without a history
# The loss is right, and its gradients are those of the error alone: nothing leads from the penalty back to the weights.
# A `slope` that is made to require grad is a leaf, so a gradient stops there.
def penalised_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.sum(), x, retain_graph=True)
    slope.requires_grad_()
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% mutant="backward_repair_slope_penalty"
# The slope of the mean
# The mean divides every slope by the number of rows, so the penalty pulls towards slopes six times too steep.
def penalised_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    (slope,) = torch.autograd.grad(output.mean(), x, create_graph=True)
    penalty = ((slope.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% mutant="backward_repair_slope_penalty"
# Takes the slope with backward
# `backward` fills the `.grad` of the weights too, so the gradients of the output's sum are added to those of the loss.
def penalised_loss(weights, x, target, weight):
    x = x.detach().requires_grad_()
    output = network(weights, x)
    output.sum().backward(create_graph=True)
    penalty = ((x.grad.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    return ((output - target) ** 2).mean() + weight * penalty


# %% [markdown] exercise="backward_measure_best_step" kind="measure" points=2
# ### Exercise 7 · The best step of a difference quotient
# gradcheck compares each derivative with a difference quotient. A large step has an error because the function is
# curved, a small one because the difference of two nearly equal numbers has few digits left. Find the power of ten in
# between: for a function and some points, which step $10^{-k}$, $k$ from 1 to 12, makes the mean relative error against
# the true derivative smallest? Measure three settings:
#
# 1. `"central, float64"`: $\frac{f(x + s) - f(x - s)}{2 s}$ in float64,
# 2. `"one-sided, float64"`: $\frac{f(x + s) - f(x)}{s}$ in float64: another formula,
# 3. `"central, float32"`: as the first, in float32: another dtype.
#
# `best_steps(function, slope, points)` gives the three values of $k$. `function` and its true derivative `slope` compute
# in the dtype that they are given, and `points` is a float64 tensor. Take the true derivative in float64 in each setting.
# The check tries functions of several scales, $e^{cx}$ near $x = 1/c$: no three numbers are right for all of them. Try
# `best_steps(torch.exp, torch.exp, torch.linspace(0.5, 1.5, 1001, dtype=torch.float64))` first.


# %% solution="backward_measure_best_step"
def best_steps(function, slope, points) -> dict[str, int]:
    """The k of the best step 10**-k in each of the three settings."""

    ### BEGIN SOLUTION
    true = slope(points)

    def best(dtype, central):
        errors, x = {}, points.to(dtype)
        for k in range(1, 13):
            step = 10.0**-k
            before, width = (x - step, 2 * step) if central else (x, step)
            quotient = ((function(x + step) - function(before)) / width).double()
            errors[k] = ((quotient - true) / true).abs().mean().item()
        return min(errors, key=errors.get)

    return {
        "central, float64": best(torch.float64, True),
        "one-sided, float64": best(torch.float64, False),
        "central, float32": best(torch.float32, True),
    }
    ### END SOLUTION


# %% check="backward_measure_best_step"
generator = check.rng()


def steps_at(c):
    """The three answers for exp(c x) around 1 / c."""
    points = torch.linspace(0.5, 1.5, 1001, dtype=torch.float64) / c
    found = best_steps(lambda x: (c * x).exp(), lambda x: c * (c * x).exp(), points)
    return [int(found[name]) for name in ("central, float64", "one-sided, float64", "central, float32")]


scales = [*generator.permutation([1.0, 10.0, 100.0]), 10.0 ** generator.integers(0, 3)]
measured = {f"function {number}": steps_at(float(c)) for number, c in enumerate(scales, 1)}
check.show(measured, text="The k of the best step in each setting, for four functions.", secret=True)

# %% [markdown] hint="backward_measure_best_step"
# Compute the error for all twelve steps and print them. They fall, then rise.

# %% [markdown] hint="backward_measure_best_step"
# Take absolute values before the mean, or errors of both signs cancel. Convert the quotient with `.double()` before
# you compare.

# %% [markdown] hint="backward_measure_best_step"
# Write `best(dtype, central)` with a loop over k, `x = points.to(dtype)`, and `min(errors, key=errors.get)` at the end.
# Theory says about the cube root of the rounding error for the central quotient, and its square root for the one-sided
# one, both times the scale on which the function bends.


# %% mutant="backward_measure_best_step"
# The smaller, the better
# With a step of 10⁻¹² hardly any digits of the difference are left: the error is larger than with a step of 10⁻⁵.
def best_steps(function, slope, points):
    return {"central, float64": 12, "one-sided, float64": 12, "central, float32": 12}


# %% mutant="backward_measure_best_step"
# The steps of one function
# These are right for `exp` near 1. A function that bends ten times as fast needs a step ten times as small.
def best_steps(function, slope, points):
    return {"central, float64": 5, "one-sided, float64": 8, "central, float32": 2}


# %% mutant="backward_measure_best_step"
# One formula for both
# The one-sided quotient is off by a term in s, the central one by a term in s². So their best steps differ.
def best_steps(function, slope, points):
    true = slope(points)

    def best(dtype):
        errors, x = {}, points.to(dtype)
        for k in range(1, 13):
            step = 10.0**-k
            quotient = ((function(x + step) - function(x - step)) / (2 * step)).double()
            errors[k] = ((quotient - true) / true).abs().mean().item()
        return min(errors, key=errors.get)

    wide = best(torch.float64)
    return {"central, float64": wide, "one-sided, float64": wide, "central, float32": best(torch.float32)}


# %% mutant="backward_measure_best_step"
# Converts afterwards
# The third values are those of float64. The function has to be computed in float32, where differences lose their digits
# sooner.
def best_steps(function, slope, points):
    true = slope(points)

    def best(central):
        errors = {}
        for k in range(1, 13):
            step = 10.0**-k
            before, width = (points - step, 2 * step) if central else (points, step)
            quotient = ((function(points + step) - function(before)) / width).float().double()
            errors[k] = ((quotient - true) / true).abs().mean().item()
        return min(errors, key=errors.get)

    return {"central, float64": best(True), "one-sided, float64": best(False), "central, float32": best(True)}
