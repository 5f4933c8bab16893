# %% [markdown]
# # Exercises · Mixed precision
# Four of the exercises add to your library, and once you have solved them, its operations choose their precision by
# your code. These four run inside files of `mytorch`, where all names that a task or a docstring mentions are
# defined; import anything else in the cell itself.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch import nn

# %% [markdown] exercise="sixteen_predict_types" kind="predict" points=1
# ### Exercise 1 · Which dtype?
# The program runs on the CPU, and everything before the block is float32:
#
# ```python
# x, model = torch.randn(8, 16), torch.nn.Linear(16, 4)
# with torch.autocast("cpu"):
#     out = model(x)
#     p = out.softmax(-1)
#     total = out + x[:, :4]
#     loss = torch.nn.functional.mse_loss(out, x[:, :4])
# loss.backward()
# ```
#
# Which dtypes do `out`, `p`, `total`, `loss`, `model.weight` and `model.weight.grad` have? Set `prediction` to a list
# of six strings such as `"float32"`.

# %% solution="sixteen_predict_types"
### BEGIN SOLUTION
prediction = ["bfloat16", "bfloat16", "float32", "float32", "float32", "float32"]
### END SOLUTION

# %% check="sixteen_predict_types"
names = ["out", "p", "total", "loss", "model.weight", "model.weight.grad"]
check.show(dict(zip(names, prediction, strict=True)), secret=True)

# %% [markdown] hint="sixteen_predict_types"
# Which of these operations are in one of the CPU's lists? For all other operations, the dtypes of the inputs decide.

# %% [markdown] hint="sixteen_predict_types"
# `linear` is in the list for the lower precision, and `mse_loss` is in the list for float32, while `softmax` and `+`
# are in neither.

# %% [markdown] hint="sixteen_predict_types"
# `+` promotes bfloat16 and float32 as it always does. The block doesn't change the weight, and a gradient has the
# dtype of its tensor.

# %% mutant="sixteen_predict_types"
# Everything in the block in 16 bits
# Only listed operations are cast. A sum of bfloat16 and float32 is promoted, and losses are computed in float32.
prediction = ["bfloat16", "bfloat16", "bfloat16", "bfloat16", "float32", "float32"]

# %% mutant="sixteen_predict_types"
# CUDA's list
# On CUDA softmax is computed in float32, and the lower precision is float16. On the CPU softmax isn't in any list.
prediction = ["float16", "float32", "float32", "float32", "float32", "float32"]

# %% mutant="sixteen_predict_types"
# The model in 16 bits
# autocast casts the inputs of operations. The weight stays in float32, and so does its gradient.
prediction = ["bfloat16", "bfloat16", "float32", "float32", "bfloat16", "bfloat16"]


# %% [markdown] exercise="sixteen_autocast" kind="core" points="2 1 1" part="mytorch.amp.autocast_mode:cast_as_listed | mytorch.amp.autocast_mode:cast | mytorch.amp.autocast_mode:autocast.__enter__ mytorch.amp.autocast_mode:autocast.__exit__"
# ### Exercise 2 · The autocast layer
# Write the layer that casts, the cast itself, and the block that installs the layer. The following names are
# provided. Each thread has its own `State`, whose `on` says where autocast is on (`{"cpu": bfloat16}`), and the table
# `LISTS` holds the rules. `may_be_cast(x)` is true for floating-point tensors that aren't float64 and are on a device
# where autocast is on. `replace(args, change)` returns the arguments with each one replaced by `change(each)`, inside
# lists and tuples as well.


# %% docstrings="sixteen_autocast"
def cast_as_listed():
    """The autocast layer: cast the tensor arguments as the lists say, and call the operation without autocast.

    `tensors_in(args)` finds the tensors. If none of them may be cast, return `below(op, args)`. Otherwise
    the first one that may be cast determines the type of device. If `LISTS[kind]` has a rule for
    `op.__name__`, `rule(tensors, precision)` takes all tensors that may be cast and the lower precision of
    that device, and returns the dtype to which `cast` converts each argument.

    Everything below runs with autocast off for that type of device, whether there was a rule or not, because
    a function that is made of several operations decides for all of them. Afterwards the previous state is
    restored, even if an exception was raised.
    """


def cast():
    """The argument in the dtype `target` if it may be cast; otherwise, or if it has that dtype, unchanged.

    A weight (a float32 leaf that requires grad) is cast once: `State.cast_weights` keeps the copy under
    `id(x), target, Mode.enabled`, as a pair (weight, copy), so that the id stays the weight's own.
    """


def __enter__():
    """Begin a block, and return the autocast object.

    Append `State.on` to the list `State.outer`. Then make a new dict `State.on`, in which `self.device_type`
    has `self.precision` if `self.enabled`, and is missing otherwise; other types of devices stay as they were.
    If `self.enabled`, also call `fill("autocast", cast_as_listed)`. The layer stays installed afterwards.
    """


def __exit__():
    """End the innermost block.

    `State.on` gets the value that it had outside the block. The end of the outermost block also clears the
    cast weights. Exceptions propagate.
    """


# %% check="sixteen_autocast" raises="KeyError"
mytorch.manual_seed(check.seed())
mode, functional = mytorch.amp.autocast_mode, mytorch.nn.functional
rows, columns = (int(each) for each in check.rng().integers(3, 6, size=2))
x, weight = mytorch.randn(rows, columns), mytorch.randn(columns, 4).requires_grad_()
square = mytorch.randn(4, 4)


class Fake:
    """Stands in for an operation with a given name."""

    def __init__(self, name):
        self.__name__ = name


def seen(name, *args):
    """The dtypes that arrive below the layer, and where autocast is on there."""

    def below(op, args):
        types = [each.dtype for each in mytorch.dispatch.tensors_in(args)]
        return types, list(mode.State.on)

    with mytorch.autocast("cpu"):
        return mode.cast_as_listed(Fake(name), args, below)


def on_two_devices():
    """The same with tensors on a simulated GPU: beside the CPU's, under CUDA's autocast, and under both."""
    mytorch.cuda.simulate(1)
    on_gpu = square.to("cuda")
    found = [seen("matmul", on_gpu, x)]
    with mytorch.autocast("cuda"):
        found += [seen("matmul", x), seen("exp", on_gpu.half())]
    mytorch.cuda.State.gpus = None
    return found


def around():
    """Weights that are kept between blocks inside a disabled one, and whether each sort of block installs the layer."""
    with mytorch.autocast("cpu", enabled=False):
        with mytorch.autocast("cpu"):
            mode.cast(weight, mytorch.bfloat16)
        kept = len(mode.State.cast_weights)
    found = [kept, len(mode.State.cast_weights), mytorch.dispatch.LAYERS["autocast"] is not None]
    mytorch.dispatch.fill("autocast", None)
    with mytorch.autocast("cpu", enabled=False):
        return [*found, mytorch.dispatch.LAYERS["autocast"] is not None]


def on():
    return [f"{kind} {precision}" for kind, precision in mode.State.on.items()]


def blocks():
    found = [on()]
    with mytorch.autocast("cpu"):
        mode.cast(weight, mytorch.bfloat16)
        found.append(on())
        with mytorch.autocast("cuda"), mytorch.autocast("cpu", mytorch.float16):
            found.append(on())
            with mytorch.autocast("cpu", enabled=False):
                found.append([*on(), (x @ weight).dtype])
            found.append([*on(), (x @ weight).dtype])
        found.append([*on(), (x @ weight).dtype, len(mode.State.cast_weights)])
    return [*found, on(), len(mode.State.cast_weights), (x @ weight).dtype]


def failing():
    with mytorch.autocast("cpu"):
        raise KeyError("inside")


def failing_below():
    def below(op, args):
        raise KeyError("below")

    with mytorch.autocast("cpu"):
        return check.error(mode.cast_as_listed, Fake("matmul"), (x, square), below), on()


def casting():
    with mytorch.autocast("cpu") as block:
        copy = mode.cast(weight, mytorch.bfloat16)
        with mytorch.no_grad():
            apart = mode.cast(weight, mytorch.bfloat16)
        again = mode.cast(weight, mytorch.bfloat16)
        activation = weight * 1
        pair = [mode.cast(activation, mytorch.bfloat16) for _ in range(2)]
        kept = [pair[0] is weight for pair in mode.State.cast_weights.values()]
        low = weight.detach().bfloat16().requires_grad_()
        raised = [mode.cast(low, mytorch.float32) for _ in range(2)]
        others = [mode.cast(3, mytorch.bfloat16), mode.cast(square.double(), mytorch.bfloat16).dtype]
        wide = mode.cast(copy, mytorch.float32).dtype
    return {
        "type": copy.dtype,
        "cast a second time": again is copy,
        "a weight without a graph, then with one": [apart.requires_grad, again.requires_grad],
        "an activation twice": pair[0] is pair[1],
        "copies kept, each with its weight": kept,
        "a bfloat16 leaf twice": raised[0] is raised[1],
        "the block's object": type(block).__name__,
        "a number, a float64 tensor": others,
        "back to float32": wide,
        "float32 to float32 is unchanged": mode.cast(square, mytorch.float32) is square,
    }


with mytorch.autocast("cpu"):
    types = {
        "matmul": (x @ weight).dtype,
        "linear": functional.linear(x, mytorch.randn(2, columns), bias=mytorch.randn(2)).dtype,
        "mse_loss": functional.mse_loss(x @ weight, x @ weight).dtype,
        "cat": mytorch.cat([x @ weight, square]).dtype,
        "exp": (x @ weight).exp().dtype,
        "+": (x @ weight + 1.0).dtype,
        "bilinear, made of products, not listed": functional.bilinear(x, x, mytorch.randn(2, columns, columns)).dtype,
        "float64": (square.double() @ square.double()).dtype,
        "int64": (square.long() @ square.long()).dtype,
    }
    loss = functional.mse_loss(x @ weight @ square, x @ weight @ square * 0)
loss.backward()
shown = {"types under autocast": types, "gradient": weight.grad}
shown["below matmul: types, and where autocast is on"] = seen("matmul", x, square.half())
shown["below mse_loss"] = seen("mse_loss", x.bfloat16(), x, "mean")
shown["below cat, a list"] = seen("cat", [x.bfloat16(), x], 0)
shown["below cat, with a float64 tensor"] = seen("cat", [x.bfloat16(), x.double()], 0)
shown["below exp, not listed"] = seen("exp", x)
shown["below matmul and exp, with a GPU"] = on_two_devices()
shown["below matmul of float64"] = seen("matmul", square.double(), square.double())
shown["an operation that raises: the error, and what is on afterwards"] = failing_below()
shown["blocks"], shown["an error inside"], shown["after it"] = blocks(), check.error(failing), on()
shown["cast"] = casting()
shown["weights kept in and after a disabled block; the layer after a block, and in a disabled one"] = around()
check.show(shown, rtol=2e-2, atol=2e-2, text="The dtypes, and where autocast is on, inside and after blocks.")

# %% [markdown] hint="sixteen_autocast"
# Start with the block, because the layer doesn't run before `__enter__` has installed it. `State.outer` is used as a
# stack.

# %% [markdown] hint="sixteen_autocast"
# Continuing without autocast is a block as well: `with autocast(kind, enabled=False): return below(op, args)`.

# %% [markdown] hint="sixteen_autocast"
# The layer needs `tensors = [each for each in tensors_in(args) if may_be_cast(each)]`, `rule =
# LISTS[kind].get(op.__name__)`, and `replace(args, lambda each: cast(each, target))`. `cast` first looks under
# `(id(x), target, Mode.enabled)`, and calls `x.to(target)` only if there is no copy.


# %% mutant="sixteen_autocast"
# Casts every operation
# An operation that isn't in a list takes its tensors as they are.
def cast_as_listed(op, args, below):
    tensors = [each for each in tensors_in(args) if may_be_cast(each)]
    if not tensors:
        return below(op, args)
    kind = tensors[0].device.type
    rule = LISTS[kind].get(op.__name__, lower)
    target = rule(tensors, State.on[kind])
    with autocast(kind, enabled=False):
        return below(op, replace(args, lambda each: cast(each, target)))


# %% mutant="sixteen_autocast"
# Leaves autocast on below the layer
# A function that is made of several operations has decided for all of them, so below the layer autocast is off.
def cast_as_listed(op, args, below):
    tensors = [each for each in tensors_in(args) if may_be_cast(each)]
    if not tensors:
        return below(op, args)
    kind = tensors[0].device.type
    if rule := LISTS[kind].get(op.__name__):
        target = rule(tensors, State.on[kind])
        args = replace(args, lambda each: cast(each, target))
    return below(op, args)


# %% mutant="sixteen_autocast"
# Off only where there is a rule
# An operation without a rule has decided as well, namely to take its inputs as they are. `bilinear`, for example, is
# made of products.
def cast_as_listed(op, args, below):
    tensors = [each for each in tensors_in(args) if may_be_cast(each)]
    kind = tensors[0].device.type if tensors else "cpu"
    rule = LISTS[kind].get(op.__name__)
    if not tensors or rule is None:
        return below(op, args)
    target = rule(tensors, State.on[kind])
    with autocast(kind, enabled=False):
        return below(op, replace(args, lambda each: cast(each, target)))


# %% mutant="sixteen_autocast"
# Overlooks tensors in lists
# `cat` has its tensors in a list, so use `replace`, which also looks into lists and tuples.
def cast_as_listed(op, args, below):
    tensors = [each for each in tensors_in(args) if may_be_cast(each)]
    if not tensors:
        return below(op, args)
    kind = tensors[0].device.type
    if rule := LISTS[kind].get(op.__name__):
        target = rule(tensors, State.on[kind])
        args = tuple(cast(each, target) for each in args)
    with autocast(kind, enabled=False):
        return below(op, args)


# %% mutant="sixteen_autocast"
# Stays off after an error
# An error from an operation is often caught, and the block continues. Restore the previous state in a `finally`, or
# use `autocast` itself.
def cast_as_listed(op, args, below):
    tensors = [each for each in tensors_in(args) if may_be_cast(each)]
    if not tensors:
        return below(op, args)
    kind = tensors[0].device.type
    if rule := LISTS[kind].get(op.__name__):
        target = rule(tensors, State.on[kind])
        args = replace(args, lambda each: cast(each, target))
    on = State.on
    State.on = {name: precision for name, precision in on.items() if name != kind}
    result = below(op, args)
    State.on = on
    return result


# %% mutant="sixteen_autocast"
# Stores only the copy
# When a weight is freed, the next tensor may get its `id`, and with it the wrong copy. That can't happen while the
# pair holds the weight.
def cast(x, target):
    if not may_be_cast(x) or x.dtype is target:
        return x
    if x.dtype is not float32 or not (x.is_leaf and x.requires_grad):
        return x.to(target)
    key = id(x), target, Mode.enabled
    if key not in State.cast_weights:
        State.cast_weights[key] = None, x.to(target)
    return State.cast_weights[key][1]


# %% mutant="sixteen_autocast"
# No cache
# A layer that is used a hundred times would cast its weight a hundred times.
def cast(x, target):
    return x.to(target) if may_be_cast(x) else x


# %% mutant="sixteen_autocast"
# Caches every copy
# Only copies of weights are cached. A copy of each activation would stay in memory until the block ends.
def cast(x, target):
    if not may_be_cast(x) or x.dtype is target:
        return x
    key = id(x), target, Mode.enabled
    if key not in State.cast_weights:
        State.cast_weights[key] = x, x.to(target)
    return State.cast_weights[key][1]


# %% mutant="sixteen_autocast"
# Forgets the mode
# A copy that was made under `no_grad` has no path back to its weight, so if it is used later, the weight gets no
# gradient.
def cast(x, target):
    if not may_be_cast(x) or x.dtype is target:
        return x
    if x.dtype is not float32 or not (x.is_leaf and x.requires_grad):
        return x.to(target)
    with_graph = id(x), target, True
    if with_graph not in State.cast_weights:
        State.cast_weights[with_graph] = x, x.to(target)
    return State.cast_weights[with_graph][1]


# %% mutant="sixteen_autocast"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def cast(x, target):
    from minitorch.dispatch import autocast as theirs

    return theirs._cast(x, target)


# %% mutant="sixteen_autocast"
# Off at the end of any block
# The end of an inner block restores the state outside of it.
def __enter__(self):
    State.on = dict(State.on)
    if self.enabled:
        State.on[self.device_type] = self.precision
    else:
        State.on.pop(self.device_type, None)
    fill("autocast", cast_as_listed)
    return self


def __exit__(self, *error):
    State.on = {}
    State.cast_weights.clear()


# %% mutant="sixteen_autocast"
# Keeps the copies forever
# The optimizer updates the weight after the block, so a copy that is kept would have the weight's old values.
def __enter__(self):
    State.outer.append(State.on)
    State.on = {kind: precision for kind, precision in State.on.items() if kind != self.device_type}
    if self.enabled:
        State.on[self.device_type] = self.precision
        fill("autocast", cast_as_listed)
    return self


def __exit__(self, *error):
    State.on = State.outer.pop()


# %% mutant="sixteen_autocast"
# Clears the cache at the end of every block
# The layer itself opens a block for each operation, so this empties the cache all the time.
def __enter__(self):
    State.outer.append(State.on)
    State.on = {kind: precision for kind, precision in State.on.items() if kind != self.device_type}
    if self.enabled:
        State.on[self.device_type] = self.precision
        fill("autocast", cast_as_listed)
    return self


def __exit__(self, *error):
    State.on = State.outer.pop()
    State.cast_weights.clear()


# %% [markdown] exercise="sixteen_scaler" kind="core" points="2 1 1" part="mytorch.amp.grad_scaler:GradScaler.unscale_ mytorch.amp.grad_scaler:GradScaler.step mytorch.amp.grad_scaler:GradScaler.update"
# ### Exercise 3 · Unscale, step, update
# The scaler keeps its scale in `self.factor`. Under the id of each optimizer, `self.finite` records whether each
# gradient was finite, and the set `self.stepped` contains the ids of the optimizers whose step was made or skipped.
# `update` ends a round. If `self.enabled` is false, `unscale_` and `update` do nothing, and `step` only calls the
# optimizer's.


# %% docstrings="sixteen_scaler"
def unscale_():
    """Divide the gradients of an optimizer's parameters by the scale, in place, and remember which are finite.

    Set `self.finite[id(optimizer)]` to a list with one bool for each parameter that has a gradient, in the order
    of the parameter groups: True if all elements of its gradient are finite. Multiply the gradients by
    `1 / self.factor` without recording the operation for autograd.

    Raises:
        RuntimeError: "unscale_() is being called after step()."
        RuntimeError: "unscale_() has already been called on this optimizer since the last update()."
        ValueError: "Attempting to unscale FP16 gradients.", before anything is changed: a float16 gradient
            that has to be divided would vanish again.
    """


def step():
    """Make the optimizer's step, on gradients divided by the scale, if all of them are finite.

    Unscale them if that wasn't done in this round. Further arguments go to `optimizer.step`, whose result
    is returned; None if the step is skipped.

    Raises:
        RuntimeError: "Closure use is not currently supported if GradScaler is enabled.", for `closure=...`
        RuntimeError: "step() has already been called since the last update()."
        AssertionError: "No inf checks were recorded for this optimizer.", if there was no gradient at all.
    """


def update():
    """End the round: adapt the scale, and forget what the round has found.

    If any optimizer found a gradient that isn't finite, multiply the scale by `backoff_factor`, and start
    to count `good_steps` from 0. Otherwise count one, and when there are `growth_interval`, multiply the
    scale by `growth_factor` and start to count again. With `new_scale`, only set the scale to it.

    Raises:
        AssertionError: "No inf checks were recorded prior to update."
    """


# %% check="sixteen_scaler" raises="AssertionError RuntimeError ValueError"
generator = check.rng()
slopes = generator.uniform(0.5, 2.0, size=3).round(2)
scale, interval = float(2.0 ** generator.integers(6, 10)), int(generator.integers(2, 4))


def made(**options):
    parameters = [mytorch.ones(2, requires_grad=True) for _ in range(3)]
    groups = [{"params": parameters[:2]}, {"params": [parameters[2]], "lr": 0.5}]
    options = {"init_scale": scale, "growth_interval": interval, **options}
    return parameters, mytorch.optim.SGD(groups, lr=0.25), mytorch.amp.GradScaler("cpu", **options)


def backward(parameters, scaler, factor=1.0, which=2):
    for place, (each, slope) in enumerate(zip(parameters, slopes, strict=True)):
        each.grad = None
        scaler.scale((each * float(slope) * (factor if place == which else 1.0)).sum()).backward()


def rounds(factors, before=lambda scaler, optimizer: None, **options):
    """For each round: the scale after it, the good steps, and the parameters."""
    parameters, optimizer, scaler = made(**options)
    found = []
    for factor in factors:
        backward(parameters, scaler, factor, which=len(found) % 3)
        before(scaler, optimizer)
        scaler.step(optimizer)
        scaler.update()
        found.append([scaler.get_scale(), scaler.good_steps, [each[0].item() for each in parameters]])
    return found


def unscaled(factor):
    parameters, optimizer, scaler = made()
    backward(parameters, scaler, factor)
    before = [each.grad for each in parameters]
    scaler.unscale_(optimizer)
    gradients = [each.grad for each in parameters]
    same = all(now is then for now, then in zip(gradients, before, strict=True))
    return gradients, scaler.finite[id(optimizer)], gradients[0].requires_grad, same


def unscaled_by_hand(number, **options):
    """Which of two gradients are finite if each contains two such numbers."""
    parameters, optimizer, scaler = made()
    for each in parameters[:2]:
        each.grad = mytorch.full((2,), number, **options)
    scaler.unscale_(optimizer)
    return scaler.finite[id(optimizer)]


def calls(*names, gradients=True, factor=1.0, kind=None, **options):
    """The error of consecutive calls, and the gradient afterwards."""
    parameters, optimizer, scaler = made()
    if gradients:
        backward(parameters, scaler, factor)
    if kind is not None:
        parameters[2].grad = parameters[2].grad.to(kind)
    for name in names[:-1]:
        getattr(scaler, name)(optimizer)
    last = (
        (lambda: scaler.update()) if names[-1] == "update" else lambda: getattr(scaler, names[-1])(optimizer, **options)
    )
    return check.error(last), parameters[0].grad


def two(*factors):
    """Two optimizers, of which one or both may find an infinite gradient."""
    parameters, _, scaler = made()
    optimizers = [mytorch.optim.SGD([each], lr=1.0) for each in parameters[:2]]
    for each, slope, factor in zip(parameters, slopes, factors, strict=False):
        scaler.scale((each * float(slope) * factor).sum()).backward()
    for each in optimizers:
        scaler.step(each)
    scaler.update()
    return scaler.get_scale(), scaler.good_steps, [each[0].item() for each in parameters]


def returned(enabled, factor):
    parameters, _, scaler = made(enabled=enabled)
    optimizer = mytorch.optim.SGD(parameters, lr=1.0)
    backward(parameters, scaler, factor)
    optimizer.step = lambda *args, **options: ["made", args, options]
    result = scaler.step(optimizer, 1, two=2, **({} if enabled else {"closure": 3}))
    scaler.unscale_(optimizer) if not enabled else None
    scaler.update()
    return result, scaler.get_scale(), parameters[1].grad


def without_gradients():
    """The errors of two steps in a row, and the scale that is then set by hand."""
    _, optimizer, scaler = made()
    errors = [check.error(scaler.step, optimizer) for _ in range(2)]
    scaler.update(4.0)
    return errors, scaler.get_scale(), len(scaler.finite)


def set_to():
    parameters, optimizer, scaler = made()
    for new_scale in (None, 8.0):
        backward(parameters, scaler)
        scaler.step(optimizer)
        scaler.update(new_scale)
    return scaler.get_scale(), scaler.good_steps, len(scaler.finite), len(scaler.stepped)


infinite = float("inf")
half = mytorch.float16
check.show(
    {
        "gradients, scale, interval": [slopes, scale, interval],
        "unscaled": unscaled(1.0),
        "unscaled, one of them infinite": unscaled(infinite),
        "unscaled, one of them nan": unscaled(float("nan")),
        "two gradients of 3e38, whose sum overflows": unscaled_by_hand(3e38),
        "two gradients that require grad": unscaled_by_hand(1.0, requires_grad=True),
        "good rounds": rounds([1.0] * (2 * interval + 1)),
        "overflows in rounds 2, 3 and 5": rounds([1.0, infinite, infinite, 1.0, float("nan"), 1.0, 1.0, 1.0, 1.0]),
        "unscaled by hand": rounds([1.0, infinite, 1.0], before=lambda scaler, optimizer: scaler.unscale_(optimizer)),
        "other factors": rounds([1.0, infinite] + [1.0] * interval, growth_factor=4.0, backoff_factor=0.25),
        "two optimizers": [two(infinite, 1.0), two(1.0, infinite), two(infinite, infinite), two(1.0, 1.0)],
        "returned": [returned(True, 1.0), returned(True, infinite), returned(False, infinite)],
        "unscaled twice": calls("unscale_", "unscale_"),
        "unscaled after the step": calls("step", "unscale_"),
        "two steps": calls("step", "step"),
        "two steps, the first skipped": calls("step", "step", factor=infinite)[0],
        "no gradients: two steps, then a scale": without_gradients(),
        "update without a step": calls("update")[0],
        "float16 gradients": calls("unscale_", kind=half),
        "bfloat16 gradients": calls("unscale_", kind=mytorch.bfloat16),
        "closure": calls("step", closure=None)[0],
        "scale set by hand, in the second round": set_to(),
    },
    text="The scales, good steps, and one element of each parameter.",
)

# %% [markdown] hint="sixteen_scaler"
# Write `unscale_` first: the two errors about the order of calls, the gradients of all groups, the flags, and then
# the division.

# %% [markdown] hint="sixteen_scaler"
# `bool(each.isfinite().all())` is false for infinity and nan. After an overflow in `unscale_` the gradients are still
# infinite, and it is `step` that ignores them.

# %% [markdown] hint="sixteen_scaler"
# `step` adds the optimizer's id to `self.stepped`, and tests `all(self.finite[id(optimizer)])`. `update` examines the
# flags of all optimizers, `[each for flags in self.finite.values() for each in flags]`, and ends with `self.finite,
# self.stepped = {}, set()`.


# %% mutant="sixteen_scaler"
# Detects only infinity
# `nan` has to be detected as well, and `isfinite` is false for both.
@no_grad()
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    gradients = [x.grad for group in optimizer.param_groups for x in group["params"] if x.grad is not None]
    if any(each.dtype is float16 for each in gradients):
        raise ValueError("Attempting to unscale FP16 gradients.")
    self.finite[id(optimizer)] = [not bool((each.abs() == float("inf")).any()) for each in gradients]
    for each in gradients:
        each.mul_(1 / self.factor)


# %% mutant="sixteen_scaler"
# Tests the sum
# The sum of finite values can overflow, and then a good step is skipped. Test each element with `isfinite().all()`.
@no_grad()
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    gradients = [x.grad for group in optimizer.param_groups for x in group["params"] if x.grad is not None]
    if any(each.dtype is float16 for each in gradients):
        raise ValueError("Attempting to unscale FP16 gradients.")
    self.finite[id(optimizer)] = [bool(each.sum().isfinite()) for each in gradients]
    for each in gradients:
        each.mul_(1 / self.factor)


# %% mutant="sixteen_scaler"
# Only the first group
# The gradients of the other groups stay too large by a factor of the scale.
@no_grad()
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    if id(optimizer) in self.finite:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
    gradients = [x.grad for x in optimizer.param_groups[0]["params"] if x.grad is not None]
    if any(each.dtype is float16 for each in gradients):
        raise ValueError("Attempting to unscale FP16 gradients.")
    self.finite[id(optimizer)] = [bool(each.isfinite().all()) for each in gradients]
    for each in gradients:
        each.mul_(1 / self.factor)


# %% mutant="sixteen_scaler"
# Unscales twice
# A second call divides once more, which makes the step tiny, so it has to raise an error.
@no_grad()
def unscale_(self, optimizer):
    if not self.enabled:
        return
    if id(optimizer) in self.stepped:
        raise RuntimeError("unscale_() is being called after step().")
    gradients = [x.grad for group in optimizer.param_groups for x in group["params"] if x.grad is not None]
    if any(each.dtype is float16 for each in gradients):
        raise ValueError("Attempting to unscale FP16 gradients.")
    self.finite[id(optimizer)] = [bool(each.isfinite().all()) for each in gradients]
    for each in gradients:
        each.mul_(1 / self.factor)


# %% mutant="sixteen_scaler"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def step(self, optimizer, *args, **kwargs):
    from minitorch.amp import GradScaler as Theirs

    return Theirs.step(self, optimizer, *args, **kwargs)


# %% mutant="sixteen_scaler"
# Steps with infinite gradients
# One such step makes the parameters infinite, and from then on nan. The step has to be skipped.
def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    if not self.finite[id(optimizer)]:
        raise AssertionError("No inf checks were recorded for this optimizer.")
    self.stepped.add(id(optimizer))
    return optimizer.step(*args, **kwargs)


# %% mutant="sixteen_scaler"
# Skips the step of all optimizers
# The decision depends on each optimizer's own gradients. PyTorch lets the other optimizers take their steps.
def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    if not self.finite[id(optimizer)]:
        raise AssertionError("No inf checks were recorded for this optimizer.")
    self.stepped.add(id(optimizer))
    good = all(each for flags in self.finite.values() for each in flags)
    return optimizer.step(*args, **kwargs) if good else None


# %% mutant="sixteen_scaler"
# Doesn't record a step that it skipped
# The round has had its step, whether it was made or skipped, so a second one has to raise an error.
def step(self, optimizer, *args, **kwargs):
    if not self.enabled:
        return optimizer.step(*args, **kwargs)
    if "closure" in kwargs:
        raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
    if id(optimizer) in self.stepped:
        raise RuntimeError("step() has already been called since the last update().")
    if id(optimizer) not in self.finite:
        self.unscale_(optimizer)
    if not self.finite[id(optimizer)]:
        raise AssertionError("No inf checks were recorded for this optimizer.")
    if not all(self.finite[id(optimizer)]):
        return None
    self.stepped.add(id(optimizer))
    return optimizer.step(*args, **kwargs)


# %% mutant="sixteen_scaler"
# Resets the count when the scale is set by hand
# With `new_scale` only the scale changes, and the good steps counted so far are kept.
def update(self, new_scale=None):
    if not self.enabled:
        return
    found = [each for flags in self.finite.values() for each in flags]
    if new_scale is not None:
        self.factor, self.good_steps = new_scale, 0
    elif not found:
        raise AssertionError("No inf checks were recorded prior to update.")
    elif not all(found):
        self.factor, self.good_steps = self.factor * self.backoff_factor, 0
    else:
        self.good_steps += 1
        if self.good_steps == self.growth_interval:
            self.factor, self.good_steps = self.factor * self.growth_factor, 0
    self.finite, self.stepped = {}, set()


# %% mutant="sixteen_scaler"
# Continues counting after an overflow
# The growth interval counts good steps in a row, so the count starts again after an overflow.
def update(self, new_scale=None):
    if not self.enabled:
        return
    found = [each for flags in self.finite.values() for each in flags]
    if new_scale is not None:
        self.factor = new_scale
    elif not found:
        raise AssertionError("No inf checks were recorded prior to update.")
    elif not all(found):
        self.factor *= self.backoff_factor
    else:
        self.good_steps += 1
        if self.good_steps == self.growth_interval:
            self.factor, self.good_steps = self.factor * self.growth_factor, 0
    self.finite, self.stepped = {}, set()


# %% mutant="sixteen_scaler"
# Grows one step late
# The scale grows after `growth_interval` good steps, not after one more.
def update(self, new_scale=None):
    if not self.enabled:
        return
    found = [each for flags in self.finite.values() for each in flags]
    if new_scale is not None:
        self.factor = new_scale
    elif not found:
        raise AssertionError("No inf checks were recorded prior to update.")
    elif not all(found):
        self.factor, self.good_steps = self.factor * self.backoff_factor, 0
    elif self.good_steps == self.growth_interval:
        self.factor, self.good_steps = self.factor * self.growth_factor, 0
    else:
        self.good_steps += 1
    self.finite, self.stepped = {}, set()


# %% [markdown] exercise="sixteen_master" kind="core" points="1 1" part="mytorch.amp.master_weights:MasterWeights.take_gradients mytorch.amp.master_weights:MasterWeights.give_weights"
# ### Exercise 4 · Master weights
# `MasterWeights(parameters)` has the 16-bit weights in `self.weights`, and their float32 copies, in the same order,
# in `self.copies`. Its `step(optimizer)` takes the gradients, calls `optimizer.step()`, and gives back the weights.
# Write the two methods that transfer values between weights and copies.


# %% docstrings="sixteen_master"
def take_gradients():
    """Gives each copy the gradient of its weight in float32, or None if the weight has no gradient."""


def give_weights():
    """Writes the value of each copy into its weight, rounded to the weight's dtype. Autograd records nothing.

    The weights stay the same tensors, so that the model and everything else that holds them sees the new values.
    """


# %% check="sixteen_master"
mytorch.manual_seed(check.seed())
lr = round(float(check.rng().uniform(0.0005, 0.0015)), 5)


def trained(kind, steps):
    model = mytorch.nn.Linear(3, 2).to(kind)
    with mytorch.no_grad():
        for each in model.parameters():
            each.fill_(1.0)
    master = mytorch.amp.MasterWeights(model.parameters())
    optimizer = mytorch.optim.SGD(master.copies, lr=lr)
    before = [id(each) for each in model.parameters()]
    for _ in range(steps):
        model.weight.grad = None
        (model.weight * 1.0).sum().backward()
        master.step(optimizer)
    return {
        "weight": model.weight[0, 0].item(),
        "copy": master.copies[0][0, 0].item(),
        "dtypes of the copy and its gradient": [master.copies[0].dtype, master.copies[0].grad.dtype],
        "the bias, without a gradient": [model.bias[0].item(), master.copies[1].grad is None],
        "the same tensors": before == [id(each) for each in model.parameters()],
        "leaf, requires grad": [model.weight.is_leaf, model.weight.requires_grad],
        "dtype of the weight": model.weight.dtype,
    }


def several(kind):
    """For four weights: the gradients of the copies, and the weights after the copies have changed."""
    weights = [mytorch.ones(2, dtype=kind, requires_grad=True) for _ in range(4)]
    master = mytorch.amp.MasterWeights(weights)
    sum(weight * factor for factor, weight in enumerate(weights[:3])).sum().backward()  # none for the last
    master.take_gradients()
    views = [weight.detach() for weight in weights]
    large = 2.0**20 if kind is mytorch.bfloat16 else 1.0  # more than float16 can hold
    with mytorch.no_grad():
        for number, copy in enumerate(master.copies, 5):
            copy.copy_(mytorch.tensor([number + 1 / 128, number * large]))  # bfloat16 can't represent the first
    master.give_weights()
    found = [[each.detach().float() for each in written] for written in (weights, views)]
    return [copy.grad for copy in master.copies], *found


def forgotten():
    """A gradient in one step, and none in the next."""
    weight = mytorch.ones(2, dtype=mytorch.bfloat16, requires_grad=True)
    master = mytorch.amp.MasterWeights([weight])
    (weight * 2.0).sum().backward()
    master.take_gradients()
    kept = weight.grad
    first, weight.grad = master.copies[0].grad, None
    master.take_gradients()
    return first, kept, master.copies[0].grad


check.show(
    {
        "lr": lr,
        "bfloat16, 100 steps": trained(mytorch.bfloat16, 100),
        "float16, 3 steps": trained(mytorch.float16, 3),
        "the copy's gradient, the weight's, then none": forgotten(),
        "of four bfloat16 weights, the copies' gradients, the weights, and their memory": several(mytorch.bfloat16),
        "of four float16 weights": several(mytorch.float16),
    },
    text="One element of the weight and of its copy.",
)

# %% [markdown] hint="sixteen_master"
# `zip(self.copies, self.weights, strict=True)` iterates over both lists together.

# %% [markdown] hint="sixteen_master"
# `.float()` of a gradient is a new tensor in float32. Which operation writes into an existing tensor and converts the
# dtype?

# %% [markdown] hint="sixteen_master"
# Use `weight.copy_(copy)` in a `no_grad()` block, or decorate the method with `@no_grad()`.


# %% mutant="sixteen_master"
# Keeps old gradients
# A weight without a gradient must not change, but its copy would repeat the step of the earlier gradient.
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        if weight.grad is not None:
            copy.grad = weight.grad.float()


# %% mutant="sixteen_master"
# Gradients in 16 bits
# The optimizer computes in the dtype of the gradient, so the copy's gradient has to be float32.
def take_gradients(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        copy.grad = weight.grad


# %% mutant="sixteen_master"
# New tensors in the list
# The model still has the old tensors, so its weights never change.
def give_weights(self):
    self.weights = [copy.detach().to(weight.dtype) for copy, weight in zip(self.copies, self.weights, strict=True)]


# %% mutant="sixteen_master"
# Rounds the copies as well
# If a copy is rounded like its weight, small steps are lost again.
@no_grad()
def give_weights(self):
    for copy, weight in zip(self.copies, self.weights, strict=True):
        weight.copy_(copy)
        copy.copy_(weight)


# %% [markdown] exercise="sixteen_rounding" kind="core" points="1 1 1" part="mytorch.amp.rounding:cut mytorch.amp.rounding:nearest mytorch.amp.rounding:stochastic_round"
# ### Exercise 5 · bfloat16 by its bits
# A bfloat16 is the upper half of a float32, so dropping the lower 16 bits rounds towards 0. To round in another way,
# *add* an integer to the bits first. If the lower half overflows, the upper half increases by one, which gives the
# next bfloat16, even across a power of two.
#
# What has to be added so that more than half the spacing rounds up and less rounds down, while exactly half goes to
# the neighbour whose last bit is 0? And what has to be added so that a number a quarter of the way up rounds up in
# one case out of four?


# %% docstrings="sixteen_rounding"
def cut():
    """A float32 array as bfloat16: add `extra`, integers of any integer dtype, to the bits, then drop the lower 16
    bits.

    The bits are `array.view(np.uint32)`. With the lower half dropped they are a float32 number again, which
    `astype(bfloat16.numpy)` converts without rounding.
    """


def nearest():
    """A float32 tensor in bfloat16, rounded as `x.bfloat16()` does, by calling `cut`.

    The elements may be infinite, but none is NaN. (A real conversion tests for NaN first, because the addition can
    carry a NaN over into another number.)

    `x.array` is the array of a tensor, and `from_array` makes a tensor of an array.
    """


def stochastic_round():
    """A float32 tensor in bfloat16, each element rounded up or down at random, so that it is correct on average.

    `extra` consists of integers from 0 to 2¹⁶ - 1, all equally likely: `randint(low, high, size, device=...)`, which
    excludes `high` itself. `manual_seed` determines them.
    """


# %% check="sixteen_rounding"
generator = check.rng()
rounding = mytorch.amp.rounding
values = np.concatenate([generator.normal(size=6), 10.0 ** generator.uniform(-30, 30, size=4)]).astype(np.float32)
middle = np.array([1 + 1 / 256, 1 + 3 / 256, -1 - 1 / 256, 2 - 1 / 256, 257, 259], np.float32)
special = np.array([0.0, -0.0, np.inf, -np.inf, 3.4e38], np.float32)


def numbers(x):
    return x.float().numpy().astype(np.float64) if hasattr(x, "float") else np.asarray(x, np.float64)


def chances(x, count=4000):
    """For many copies of a number, rounded at random: the distance of the mean from it, in spacings, and the values."""
    mytorch.manual_seed(check.seed())
    rounded = numbers(rounding.stochastic_round(mytorch.full((count,), x)))
    found = sorted(set(rounded.tolist()))
    return {"off by less than 0.05 of the spacing": abs(rounded.mean() - x) < 0.05 / 128, "values": found}


def rare(steps):
    """Whether some of two million copies round up and some down, if one in 65,536 does: 32 on average."""
    mytorch.manual_seed(check.seed())
    rounded = numbers(rounding.stochastic_round(mytorch.full((2**21,), 1 + steps * 2.0**-23)))
    return [bool((rounded > 1).any()), bool((rounded == 1).any())]


def repeated():
    """Whether the same seed rounds in the same way, and the next call in another."""
    mytorch.manual_seed(check.seed())
    first, second = (numbers(rounding.stochastic_round(mytorch.full((200,), 1 + 1 / 256))) for _ in range(2))
    mytorch.manual_seed(check.seed())
    again = numbers(rounding.stochastic_round(mytorch.full((200,), 1 + 1 / 256)))
    return [bool((first == again).all()), bool((first == second).all())]


def walk(steps=100):
    mytorch.manual_seed(check.seed())
    weights = mytorch.ones(2000)
    for _ in range(steps):
        weights = rounding.stochastic_round(weights - 0.001).float()
        if weights.numel() != 2000:
            return f"{weights.numel()} numbers instead of 2000"
    return round(weights.mean().item(), 2)


def tensor(array):
    return mytorch.tensor(array.tolist())


extra = generator.integers(0, 2**16, size=10).astype(np.uint32)
calls, original = [], rounding.cut
rounding.cut = lambda array, extra: (calls.append(1), original(array, extra))[1]
rounding.nearest(tensor(values))
rounding.cut = original
given, one = tensor(values), tensor(values[:1])
check.show(
    {
        "values, added": [values, extra],
        "cut": numbers(rounding.cut(values, np.uint32(0))),
        "cut, with integers added": numbers(rounding.cut(values, extra)),
        "cut, the same as int64": numbers(rounding.cut(values, extra.astype(np.int64))),
        "type": [str(rounding.cut(values, np.uint32(0)).dtype), rounding.nearest(tensor(values)).dtype],
        "calls of cut in nearest": len(calls),
        "nearest": numbers(check.intact(rounding.nearest, given)),
        "gives a tensor": [
            isinstance(each, mytorch.Tensor) for each in (rounding.nearest(one), rounding.stochastic_round(one))
        ],
        "nearest, one number": numbers(rounding.nearest(one)),
        "nearest, from the middle": numbers(rounding.nearest(tensor(middle))),
        "nearest, special": numbers(rounding.nearest(tensor(special))),
        "nearest, of a matrix": numbers(rounding.nearest(tensor(values[:6].reshape(2, 3)))),
        "rounded at random, a quarter of the spacing above 1": chances(1 + 1 / 512),
        "rounded at random, nine tenths of the spacing above 1": chances(1 + 0.9 / 128),
        "rounded at random, exactly 1.5": chances(1.5),
        "rounded at random, the least above 1: some up, some down": rare(1),
        "rounded at random, nearly the whole spacing above 1: some up, some down": rare(2**16 - 1),
        "rounded at random, dtype and shape": [
            rounding.stochastic_round(mytorch.ones(2, 3)).dtype,
            tuple(check.intact(rounding.stochastic_round, mytorch.full((2, 1), 1.3)).shape),
        ],
        "rounded at random, the same again: with the same seed, in the next call": repeated(),
        "1 after 100 steps of 0.001": walk(),
    },
    rtol=1e-6,
    text="The bfloat16 numbers, written out.",
)

# %% [markdown] hint="sixteen_rounding"
# The mask that keeps the upper half is `np.uint32(0xFFFF0000)`. Try your functions on 1 + 1/256, which is exactly
# half a spacing above 1.

# %% [markdown] hint="sixteen_rounding"
# If you add 0x7FFF, exactly half a spacing, 0x8000, becomes 0xFFFF and is dropped. If you add one more, it overflows.
# Which of the two is correct depends on the last bit that is kept.

# %% [markdown] hint="sixteen_rounding"
# That bit is `x.array.view(np.uint32) >> 16 & 1`; add it together with 0x7FFF. For rounding at random, add
# `randint(0, 2**16, x.shape)`, as an array of `np.uint32`.


# %% mutant="sixteen_rounding"
# Masks before it adds
# Integers that are added after the lower half was masked stay in it, so nothing overflows into the upper half.
def cut(array, extra):
    bits = (array.view(np.uint32) & np.uint32(0xFFFF0000)) + extra
    return (bits & np.uint32(0xFFFF0000)).view(np.float32).astype(bfloat16.numpy)


# %% mutant="sixteen_rounding"
# Converts instead of dropping the bits
# `astype` rounds to the nearest value, so the number is rounded once more after the addition.
def cut(array, extra):
    return (array.view(np.uint32) + extra).view(np.float32).astype(bfloat16.numpy)


# %% mutant="sixteen_rounding"
# The middle always goes up
# From exactly half a spacing, PyTorch rounds to the even neighbour. If it always went up, a long sum would drift.
def nearest(x):
    return from_array(cut(x.array, np.uint32(0x8000)))


# %% mutant="sixteen_rounding"
# The middle always goes down
# From exactly half a spacing, PyTorch rounds to the even neighbour, which is the upper one for half of the numbers.
def nearest(x):
    return from_array(cut(x.array, np.uint32(0x7FFF)))


# %% mutant="sixteen_rounding"
# Lets `bfloat16()` round
# The result is correct, but `bfloat16()` did the rounding. Work out what has to be added to the bits, and let `cut`
# do the rest.
def nearest(x):
    return x.bfloat16()


# %% mutant="sixteen_rounding"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def nearest(x):
    import minitorch

    return minitorch.tensor(x.tolist()).bfloat16()


# %% mutant="sixteen_rounding"
# One random number for all elements
# Each element has to be rounded independently. Otherwise all of them move together, and their mean isn't correct.
def stochastic_round(x):
    extra = randint(0, 2**16, (1,), device=x.device)
    return from_array(cut(x.array, extra.array.astype(np.uint32)))


# %% mutant="sixteen_rounding"
# Never adds the largest number
# `randint` excludes `high` itself, so 2¹⁶ - 1 is only drawn if `high` is 2¹⁶. Without it, the float32 number just
# above a bfloat16 never rounds up.
def stochastic_round(x):
    extra = randint(0, 2**16 - 1, x.shape, device=x.device)
    return from_array(cut(x.array, extra.array.astype(np.uint32)))


# %% mutant="sixteen_rounding"
# Up or down with equal chances
# A quarter of the spacing has to round up in one case out of four. Equal chances are correct on average only for the
# midpoint.
def stochastic_round(x):
    extra = randint(0, 2, x.shape, device=x.device) * 0xFFFF
    return from_array(cut(x.array, extra.array.astype(np.uint32)))


# %% [markdown] exercise="sixteen_repair_clip" kind="repair" points=3
# ### Exercise 6 · It trains, but hardly moves
# `update(micro_batches, model, optimizer, scaler, max_norm)` makes one update from several micro-batches in float16.
# The gradient of their mean loss has a norm of 5, `max_norm` is 1, and `lr` is 1, so SGD should move the weights by
# 1, but it moves them by 0.00003:
#
# ```text
# norm that was logged   327680
# weights moved by       0.00003
# ```
#
# (Adam would move them by its usual step and hide the fault.) Without clipping the updates are correct. Fix `update`
# so that it logs the true norm and makes the step that float32 would make. On a bad batch the scaler should still
# skip the step, without raising an error.


# %% solution="sixteen_repair_clip"
def update(micro_batches, model: nn.Module, optimizer: torch.optim.Optimizer, scaler, max_norm: float) -> float:
    """Makes one update, and returns the norm of the gradients before they were clipped."""
    optimizer.zero_grad()
    for x, y in micro_batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y, reduction="sum") / len(micro_batches)
        scaler.scale(loss).backward()
    ### BEGIN SOLUTION
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()
    ### END SOLUTION
    ### BEGIN STUB
    # norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    # scaler.step(optimizer)
    # scaler.update()
    # return norm.item()
    ### END STUB


# %% check="sixteen_repair_clip"
generator = check.rng()
weights = generator.normal(size=(1, 3)).astype(np.float32)
data = [
    (
        torch.tensor(generator.normal(size=(4, 3)).astype(np.float32)),
        torch.tensor(generator.normal(size=(4, 1)).astype(np.float32) * 3),
    )
    for _ in range(3)
]
bad = [(x * 8, y * 0 + 30) for x, y in data]  # their gradients overflow when they are scaled, and nothing before


def trained(batches, max_norm, init_scale=2.0**10):
    model = nn.Linear(3, 1)
    with torch.no_grad():
        model.weight.copy_(torch.tensor(weights))
        model.bias.fill_(0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=init_scale, growth_interval=2)
    norms = [update(each, model, optimizer, scaler, max_norm) for each in batches]
    finite = [round(norm, 1) if np.isfinite(norm) else "not finite" for norm in norms]
    kept = {"scale": scaler.get_scale(), "training mode": model.training}
    return {"norms": finite, "weights": model.weight, "bias": model.bias} | kept


check.show(
    {
        "clipped to 0.5": trained([data], 0.5),
        "three updates, clipped to 0.5": trained([data] * 3, 0.5),
        "not clipped": trained([data], 1e6),
        "a single micro-batch": trained([data[:1]], 0.5),
        "a bad batch between two others": trained([data, bad, data], 0.5),
    },
    rtol=2e-2,
    atol=2e-3,
    text="The logged norms, and the weights afterwards.",
)

# %% [markdown] hint="sixteen_repair_clip"
# Divide 327,680 by 5, and you get a number that you know. Which call multiplied the gradients by it, and which call
# divides them again?

# %% [markdown] hint="sixteen_repair_clip"
# `scaler.step` divides the gradients by the scale unless that has already been done. Does the clipping come before or
# after this division?

# %% [markdown] hint="sixteen_repair_clip"
# Call `scaler.unscale_(optimizer)` once, after the loop over the micro-batches and before the clipping.


# %% mutant="sixteen_repair_clip"
# Scales max_norm
# `max_norm` times the scale clips correctly, but the logged norm still contains the scale.
def update(micro_batches, model, optimizer, scaler, max_norm):
    optimizer.zero_grad()
    for x, y in micro_batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y, reduction="sum") / len(micro_batches)
        scaler.scale(loss).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm * scaler.get_scale())
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% mutant="sixteen_repair_clip"
# Unscales each micro-batch
# The second micro-batch would add scaled gradients to unscaled ones. Besides, the scaler's record of the round had to
# be erased to get there.
def update(micro_batches, model, optimizer, scaler, max_norm):
    optimizer.zero_grad()
    for x, y in micro_batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y, reduction="sum") / len(micro_batches)
        scaler.scale(loss).backward()
        scaler._per_optimizer_states.clear()
        scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% mutant="sixteen_repair_clip"
# Divides by hand
# The gradients are divided once by hand and once by `step`, so the step is too small by a factor of the scale.
def update(micro_batches, model, optimizer, scaler, max_norm):
    optimizer.zero_grad()
    for x, y in micro_batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y, reduction="sum") / len(micro_batches)
        scaler.scale(loss).backward()
    for each in model.parameters():
        each.grad /= scaler.get_scale()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% mutant="sixteen_repair_clip"
# Steps without the scaler
# After `unscale_` the optimizer's own step looks correct until a gradient is infinite, and then the weights are
# destroyed.
def update(micro_batches, model, optimizer, scaler, max_norm):
    optimizer.zero_grad()
    for x, y in micro_batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(x), y, reduction="sum") / len(micro_batches)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    scaler.update()
    return norm.item()


# %% [markdown] exercise="sixteen_measure_factor" kind="measure" points=2
# ### Exercise 7 · The scale at which gradients become infinite
# `gradients(scale)` runs a network in float16 with its loss multiplied by `scale`, and returns its scaled gradients.
# Find by experiment the largest power of two, from $2^{-10}$ to $2^{40}$, at which all of them are finite, and the
# *smallest* one at which at most 1 % of them are zero. A `GradScaler` has to find a scale in the window between the
# two. You may call `gradients` at most 30 times. The three networks differ in the size of their loss and in their
# depth, so compare their windows.


# %% setup=true
def network(depth, size, seed):
    """A function gradients(scale): those of a network with sigmoids, its loss multiplied by `size` and `scale`."""
    torch.manual_seed(seed)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(16, 16), nn.Sigmoid())]
    model, x = nn.Sequential(*layers, nn.Linear(16, 4)), torch.randn(32, 16)
    target = torch.randint(0, 4, (32,))

    def gradients(scale):
        model.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), target)
        (loss * (size * scale)).backward()
        return torch.cat([each.grad.ravel() for each in model.parameters()])

    return gradients


# %% solution="sixteen_measure_factor"
def window(gradients) -> tuple[float, float]:
    """The smallest scale with at most 1 % zeros, and the largest without an infinite gradient."""
    ### BEGIN SOLUTION
    low, high = -10, 40
    while high - low > 1:  # `low` is finite, `high` is not
        middle = (low + high) // 2
        if gradients(2.0**middle).isfinite().all():
            low = middle
        else:
            high = middle
    largest = low
    low = -10
    while largest - low > 0:  # at `largest` few are zero
        middle = (low + largest) // 2
        if (gradients(2.0**middle) == 0).float().mean() <= 0.01:
            largest = middle
        else:
            low = middle + 1
    return 2.0**low, 2.0 ** (high - 1)
    ### END SOLUTION


# %% check="sixteen_measure_factor"
seed = check.seed() % 1000
cases = {"3 layers": (3, 1.0), "3 layers, a loss a thousand times as small": (3, 2.0**-10), "5 layers": (5, 1.0)}
shown = {}
for name, (depth, size) in cases.items():
    gradients, calls = network(depth, size, seed), []
    found = window(lambda scale, gradients=gradients, calls=calls: (calls.append(scale), gradients(scale))[1])
    shown[name] = [round(float(np.log2(each)), 3) for each in found]
    shown[f"{name}: at most 30 calls"] = len(calls) <= 30
check.show(shown, text="The window, as powers of two.")

# %% [markdown] hint="sixteen_measure_factor"
# If there are infinite gradients at $2^{20}$, there are infinite ones at $2^{21}$ as well. Bisection relies on that.

# %% [markdown] hint="sixteen_measure_factor"
# Keep one exponent at which all gradients are finite and one at which they aren't, and try the midpoint until the two
# are neighbours, which takes six calls for fifty exponents. Then do the same for the zeros.

# %% [markdown] hint="sixteen_measure_factor"
# Test `gradients(2.0**k).isfinite().all()` for the largest scale, and `(gradients(2.0**k) == 0).float().mean() <=
# 0.01` for the smallest.


# %% mutant="sixteen_measure_factor"
# One exponent too large
# This is the first scale with an infinite gradient. The largest without one is half of it.
def window(gradients):
    zeros = next(k for k in range(-10, 41) if (gradients(2.0**k) == 0).float().mean() <= 0.01)
    return 2.0**zeros, next(2.0**k for k in range(zeros, 41) if not gradients(2.0**k).isfinite().all())


# %% mutant="sixteen_measure_factor"
# No zeros at all
# Some gradients are zero at any scale, or nearly so, and the task allows 1 %.
def window(gradients):
    finite = [k for k in range(0, 30, 1) if gradients(2.0**k).isfinite().all()]
    return 2.0 ** finite[0], 2.0 ** finite[-1]


# %% mutant="sixteen_measure_factor"
# Tests only the loss
# The loss itself is float32 and far from infinity. The gradients overflow on their way through float16.
def window(gradients):
    return 2.0**-10, 2.0**40
