# %% [markdown]
# # Exercises · Where the memory goes
# Three of the exercises add to your library, and once you have solved them, it trains in less memory, computes
# attention in tiles, and stores weights in 8 bits. These three run inside files of `mytorch`, where all names that a
# task or a docstring mentions are defined; import anything else in the cell itself, for instance with `from mytorch
# import arange`.

# %% setup=true
from __future__ import annotations

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch import nn
from minitorch.utils.checkpoint import checkpoint

# %% [markdown] exercise="memory_predict_bytes" kind="predict" points=1
# ### Exercise 1 · How many megabytes?
# The weight has a million parameters of 4 bytes, so it takes 4 MB. How many MB do weights, gradients and the
# optimizer's state take after each of these lines? (Don't count `x` and the intermediate results.)
#
# ```python
# model = nn.Linear(1000, 1000, bias=False)            # 1
# optimizer = torch.optim.Adam(model.parameters())     # 2
# model(x).sum().backward()                            # 3
# optimizer.step()                                     # 4
# optimizer.zero_grad()                                # 5
# ```
#
# In addition, how many floating-point operations does the product of a (10, 20) matrix and a (20, 30) matrix take?
# Set `prediction` to a list of six integers.

# %% solution="memory_predict_bytes"
### BEGIN SOLUTION
prediction = [4, 4, 8, 16, 12, 12000]
### END SOLUTION

# %% check="memory_predict_bytes"
names = ["after line 1", "after line 2", "after line 3", "after line 4", "after line 5", "operations"]
check.show(dict(zip(names, [int(each) for each in prediction], strict=True)), secret=True)

# %% [markdown] hint="memory_predict_bytes"
# Go line by line: which tensors with a million elements exist that didn't exist before, and which have been freed?

# %% [markdown] hint="memory_predict_bytes"
# Adam keeps two averages for each weight. When does a weight have a gradient for the first time?

# %% [markdown] hint="memory_predict_bytes"
# `step` creates Adam's averages, and `zero_grad` sets the gradients to None. The product has 10 · 30 elements, each
# of which takes 20 multiplications and 20 additions.

# %% mutant="memory_predict_bytes"
# Adam's averages from the start
# The constructor only stores the parameters. The averages are created in the first `step`.
prediction = [4, 12, 16, 16, 12, 12000]

# %% mutant="memory_predict_bytes"
# Keeps zeros
# `zero_grad` sets the gradients to None by default, which frees their memory.
prediction = [4, 4, 8, 16, 16, 12000]

# %% mutant="memory_predict_bytes"
# One average
# Adam keeps two averages, of the gradients and of their squares.
prediction = [4, 4, 8, 12, 8, 12000]

# %% mutant="memory_predict_bytes"
# Counts multiplications only
# Each of the 20 products is also added, so a pair of elements that is multiplied counts as two operations.
prediction = [4, 4, 8, 16, 12, 6000]


# %% [markdown] exercise="memory_checkpoint" kind="core" points="1 1 2" part="mytorch.utils.checkpoint:surroundings mytorch.utils.checkpoint:restore | mytorch.utils.checkpoint:Checkpoint.forward | mytorch.utils.checkpoint:Checkpoint.backward"
# ### Exercise 2 · Activation checkpointing
# `checkpoint(function, *tensors)` calls `Checkpoint.apply(function, *tensors)`. `Checkpoint` is a `Function`, so
# autograd doesn't record its `forward`. Write both of its methods, and the two functions that save and restore what a
# result depends on besides its arguments:
#
# - the random state: `default_generator` has a `twister`, whose `state` can be read and set, and a `waiting` number,
#   because normally distributed numbers are drawn in pairs;
# - autocast: `State.on` says where it is on. The layer stack has to match: `fill("autocast", cast_as_listed)` if
#   autocast is on anywhere, and `fill("autocast", None)` otherwise.


# %% docstrings="memory_checkpoint"
def surroundings():
    """A tuple of three: the state of `default_generator.twister`, its number `waiting`, and `State.on`."""


def restore():
    """Restores what `surroundings` returned, and installs or removes the autocast layer accordingly."""


def forward():
    """Calls the function on the tensors, and returns its result.

    `backward` needs the function in `ctx.function`, the surroundings in which it was called in `ctx.before`, and the
    tensors in `ctx.saved_tensors`.
    """


def backward():
    """Calls the function again in its original surroundings, recording this time, and returns the gradients.

    The function is called on tensors that share the memory of the saved ones but not their history, and that require a
    gradient where those did. The result's backward pass, started with `grad`, leaves their gradients in `.grad`.
    Return None for the function, and then one gradient, or None, for each tensor.

    Only the function runs in the original surroundings. The result's backward pass runs in those in which `backward`
    was called, which are restored at the end, even if the function raises.
    """


# %% check="memory_checkpoint" raises="KeyError RuntimeError"
source = mytorch.utils.checkpoint
rows, width = (int(each) for each in check.rng().integers(3, 6, size=2))
mytorch.manual_seed(check.seed())
layers = mytorch.nn.Linear(width, 7), mytorch.nn.Linear(7, 2)
x, other = mytorch.randn(rows, width).requires_grad_(), mytorch.randn(rows, 7)


def run(direct=False, autocast=False, function=None):
    """Gradients, what the function saw in each of its runs, what its node keeps, and the random numbers afterwards."""
    seen = []

    def network(h, extra):
        drawn = mytorch.nn.functional.dropout(layers[0](h).tanh() + extra, 0.5)
        out = layers[1](drawn * mytorch.randn(3)[0])  # three normal numbers: a fourth is waiting then
        seen.append([mytorch.is_grad_enabled(), str(out.dtype), h.requires_grad, extra.requires_grad])
        return out

    mytorch.manual_seed(check.seed())
    mytorch.randn(1)
    for each in (x, *layers[0].parameters(), *layers[1].parameters()):
        each.grad = None
    h = x * 2
    with mytorch.autocast("cpu", enabled=autocast):
        out = network(h, other) if direct else source.checkpoint(network, h, other)
    kept = None if direct else [tuple(each.shape) for each in out.grad_fn.saved_tensors()]
    after_forward = mytorch.randn(2)
    mytorch.rand(5)
    (out.float() ** 2).sum().backward()
    gradients = [each.grad for each in (x, layers[0].weight, layers[1].bias)]
    stack = mytorch.dispatch.LAYERS["autocast"] is None
    return {
        "gradients": gradients,
        "in each run: recording, dtype, which argument requires a gradient": seen,
        "shapes that are kept": kept,
        "drawn after the forward pass": after_forward,
        "drawn after the backward pass": mytorch.randn(3),
        "no autocast afterwards": stack,
    }


def changed():
    """A tensor that is written to between the two passes."""
    h = x * 1
    out = source.checkpoint(lambda each: each.exp(), h)
    with mytorch.no_grad():
        h.add_(1.0)
    out.sum().backward()


def failing():
    """A function that raises in its second run, under autocast and with random numbers; the surroundings afterwards."""
    calls = []

    def function(h):
        calls.append(mytorch.rand(1))
        if len(calls) > 1:
            raise KeyError("the second run")
        return h * 2

    mytorch.manual_seed(check.seed())
    with mytorch.autocast("cpu"):
        out = source.checkpoint(function, x)
    error = check.error(out.sum().backward)
    return type(error).__name__, mytorch.rand(2), mytorch.dispatch.LAYERS["autocast"] is None, mytorch.is_grad_enabled()


def inner_pass():
    """The surroundings of the result's backward pass: no autocast, and the next random numbers."""
    found = []

    def function(h):
        out = h * 2
        if out.requires_grad:
            out.register_hook(lambda grad: found.extend([mytorch.dispatch.LAYERS["autocast"] is None, mytorch.rand(2)]))
        return out

    with mytorch.autocast("cpu"):
        out = source.checkpoint(function, x.detach().requires_grad_())
    mytorch.manual_seed(check.seed() + 1)
    out.sum().backward()
    return found


def shared():
    """What the second run gets: leaves in the memory of the saved tensors. Two arguments that need no gradient."""
    found = []

    def function(h, unused, index):
        found.append([h.is_leaf, unused.is_leaf, h.data_ptr() == inputs[0].data_ptr(), h.grad is None])
        return h[index] * 3

    inputs = [(x * 2)[:, 1:].t(), x * 3, mytorch.tensor([1, 0])]
    for each in inputs[:2]:
        each.retain_grad()
    source.checkpoint(function, *inputs).sum().backward()
    return found, [each.grad for each in inputs[:2]]


def nested():
    """The gradient and the number of runs of a checkpoint within a checkpoint, through which two passes go."""
    runs = []

    def inner(h):
        runs.append("inner")
        return mytorch.nn.functional.dropout(h.sin(), 0.5)

    def outer(h):
        runs.append("outer")
        return source.checkpoint(inner, h * 2).cos()

    mytorch.manual_seed(check.seed())
    h = x.detach().requires_grad_()
    out = source.checkpoint(outer, h)
    check.intact(out.backward, mytorch.arange(float(h.numel())).reshape(h.shape), retain_graph=True)
    mytorch.rand(3)
    out.backward(mytorch.ones(h.shape))
    return h.grad, runs


def one_row():
    """The gradient for a batch of one, from a gradient that requires a gradient itself."""
    h = x[:1].detach().requires_grad_()
    source.checkpoint(lambda each: each.exp(), h).backward(x[1:2].detach().requires_grad_())
    return h.grad.detach()


def backward_inside():
    """A backward pass inside an autocast that the forward pass was outside of: precisions in the second run, inside, after."""
    found = []

    def function(h):
        found.append((h @ h.T).dtype)
        return h * 2

    out = source.checkpoint(function, x.detach().requires_grad_())
    with mytorch.autocast("cpu"):
        out.sum().backward()
        found.append((x @ x.T).dtype)
    return [*found, (x @ x.T).dtype]


def put_back():
    """Surroundings that are restored after draws, outside the autocast in which they were saved."""
    mytorch.manual_seed(check.seed())
    mytorch.randn(1)
    with mytorch.autocast("cpu"):
        found = source.surroundings()
        first = mytorch.randn(4), mytorch.rand(2)
    outside = source.surroundings()
    source.restore(found)
    on = (x @ x.T).dtype
    again = mytorch.randn(4), mytorch.rand(2)
    source.restore(outside)
    return (
        isinstance(found, tuple),
        len(found),
        first,
        again,
        on,
        (x @ x.T).dtype,
        mytorch.dispatch.LAYERS["autocast"] is None,
    )


check.show(
    {
        "without a checkpoint": run(direct=True),
        "with a checkpoint": run(),
        "under autocast, backward outside": run(autocast=True),
        "written to between the passes": type(check.error(changed)).__name__,
        "raises in the second run": failing(),
        "surroundings restored": put_back(),
        "in the backward pass of the result": inner_pass(),
        "arguments of the second run, and gradients": shared(),
        "a checkpoint in a checkpoint, twice": nested(),
        "only the backward pass under autocast": backward_inside(),
        "a batch of one": one_row(),
    },
    rtol=2e-3,
    atol=1e-4,
    text="Gradients with and without a checkpoint, what the function saw, and the random numbers afterwards.",
)

# %% [markdown] hint="memory_checkpoint"
# `forward` has four things to do, and the order of two of them matters: save the surroundings before anything is
# drawn.

# %% [markdown] hint="memory_checkpoint"
# `backward` has these steps: create fresh tensors, save the current surroundings, restore the original ones, run the
# function with `enable_grad()`, and restore the current ones. Use `try` and `finally` so that the last step always
# runs.

# %% [markdown] hint="memory_checkpoint"
# A fresh tensor is `x.detach().requires_grad_(x.requires_grad)`. After `result.backward(grad)`, return `None,
# *(x.grad for x in tensors)`.


# %% mutant="memory_checkpoint"
# Forgets the waiting number
# Normally distributed numbers are drawn in pairs. If one is waiting, the next `randn` begins with it.
def surroundings():
    return default_generator.twister.state, None, State.on


def restore(found):
    default_generator.twister.state, _, State.on = found
    fill("autocast", cast_as_listed if State.on else None)


# %% mutant="memory_checkpoint"
# Forgets autocast
# The backward pass runs outside autocast, so the second run would compute in float32 what the first one computed in
# bfloat16.
def surroundings():
    return default_generator.twister.state, default_generator.waiting, {}


def restore(found):
    default_generator.twister.state, default_generator.waiting, _ = found


# %% mutant="memory_checkpoint"
# Saves the surroundings too late
# The function has already drawn its random numbers, so the second run continues from there and draws different ones.
def forward(ctx, function, *tensors):
    ctx.save_for_backward(*tensors)
    result = function(*tensors)
    ctx.function, ctx.before = function, surroundings()
    return result


# %% mutant="memory_checkpoint"
# Records the first run
# A recorded run leaves its own graph behind, with all the tensors that it saves, so no memory is saved.
def forward(ctx, function, *tensors):
    ctx.function, ctx.before = function, surroundings()
    ctx.save_for_backward(*tensors)
    with enable_grad():
        return function(*tensors)


# %% mutant="memory_checkpoint"
# Stores copies
# A copy takes memory, and it hides that the original was written to. Saved tensors are checked for such writes.
def forward(ctx, function, *tensors):
    ctx.function, ctx.before = function, surroundings()
    ctx.save_for_backward(*(each.clone() for each in tensors))
    return function(*tensors)


# %% mutant="memory_checkpoint"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def backward(ctx, grad):
    from minitorch.utils.checkpoint import CheckpointFunction

    return CheckpointFunction.backward(ctx, grad)


# %% mutant="memory_checkpoint"
# Continues into the old graph
# Without `detach` the inner backward pass goes beyond the arguments, so the tensors before them get their gradients
# twice.
def backward(ctx, grad):
    tensors = ctx.saved_tensors
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            fresh = [each * 1 if each.requires_grad else each for each in tensors]
            for each in fresh:
                each.retain_grad() if each.requires_grad else None
            result = ctx.function(*fresh)
    finally:
        restore(now)
    result.backward(grad)
    return None, *(each.grad for each in fresh)


# %% mutant="memory_checkpoint"
# Draws different numbers
# The second run has to draw the same numbers as the first. Otherwise its dropout drops other elements, without any
# error.
def backward(ctx, grad):
    tensors = [x.detach().requires_grad_(x.requires_grad) for x in ctx.saved_tensors]
    with enable_grad():
        result = ctx.function(*tensors)
    result.backward(grad)
    return None, *(x.grad for x in tensors)


# %% mutant="memory_checkpoint"
# Leaves the old random state
# After the second run the generator is in its old state, so the next dropout would repeat an old one.
def backward(ctx, grad):
    tensors = [x.detach().requires_grad_(x.requires_grad) for x in ctx.saved_tensors]
    restore(ctx.before)
    with enable_grad():
        result = ctx.function(*tensors)
    result.backward(grad)
    return None, *(x.grad for x in tensors)


# %% mutant="memory_checkpoint"
# Backward pass under the old autocast
# Only the function has to run in its original surroundings. Its result's backward pass runs outside autocast, like
# any other, and draws new random numbers.
def backward(ctx, grad):
    tensors = [each.detach().requires_grad_(each.requires_grad) for each in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            ctx.function(*tensors).backward(grad)
    finally:
        restore(now)
    return None, *(each.grad for each in tensors)


# %% mutant="memory_checkpoint"
# A gradient for every argument
# A mask or a table of positions would get a gradient that isn't needed, and for integer tensors this even raises an
# error.
def backward(ctx, grad):
    tensors = [x.detach().requires_grad_() for x in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    try:
        with enable_grad():
            result = ctx.function(*tensors)
    finally:
        restore(now)
    result.backward(grad)
    return None, *(x.grad for x in tensors)


# %% mutant="memory_checkpoint"
# Doesn't restore after an error
# An error in the second run, such as running out of memory, would leave autocast on for the rest of the program.
def backward(ctx, grad):
    tensors = [x.detach().requires_grad_(x.requires_grad) for x in ctx.saved_tensors]
    now = surroundings()
    restore(ctx.before)
    with enable_grad():
        result = ctx.function(*tensors)
    restore(now)
    result.backward(grad)
    return None, *(x.grad for x in tensors)


# %% [markdown] exercise="memory_tiles" kind="core" points="1 1 2" part="mytorch.nn.attention:attend mytorch.nn.attention:merge mytorch.nn.attention:tiled_attention"
# ### Exercise 3 · Attention in tiles
# Attention to *some* of the keys is a triple (m, l, o). For each query, m is its largest attention score, l is the
# sum of exp(score − m), and o is the sum of exp(score − m) times the value. Write the function for the triple of one
# tile, the function that merges the triples of two tiles, and the loop around both.


# %% docstrings="memory_tiles"
def attend():
    """The triple of these keys: for queries (..., L, E), m and l are (..., L, 1), and o is (..., L, V).

    Attention scores are query · key / √E. With `is_causal`, query i attends to keys 0 to i of this tile, and the other
    scores are -inf. m has no derivative, because it cancels in o / l. The results are on the device of the query.
    """


def merge():
    """The triple of the keys of both, for scores of any size: nothing overflows."""


def tiled_attention():
    """softmax(query keyᵀ / √E) value, from tiles of at most `tile` queries and `tile` keys.

    No intermediate tensor has more scores than one tile, `tile` times `tile`. The last tiles may be smaller. With
    `is_causal`, query i attends to keys 0 to i, and tiles to which no query attends aren't computed. Split and
    concatenate along dimension -2.
    """


# %% check="memory_tiles"
source, functional = mytorch.nn.attention, mytorch.nn.functional
mytorch.manual_seed(check.seed())
mytorch.cuda.simulate(1)
tile = int(check.rng().integers(3, 6))
length, keys = 3 * tile + 2, 2 * tile + 1
q, k, v = (mytorch.randn(2, each, 4) for each in (length, keys, keys))
q, far = q * 3, mytorch.randn(2, keys, 4) * 300


def tensor(triple):
    return [each.detach() for each in triple]


def ratio(triple):
    return triple[2] / triple[1]


def tiles(*args, size=tile, **options):
    """The result, the number of matrix multiplications, and the largest number of elements that one of them had."""
    products = []

    def note(op, args, result, seconds):
        if op.name == "matmul":
            products.append(result.shape[-2] * result.shape[-1])
        return 0

    with mytorch.utils.instruments.instrument(note):
        result = source.tiled_attention(*args, tile=size, **options)
    return result, len(products), max(products)


def gradients():
    inputs = [each.detach().requires_grad_() for each in (q, k, v)]
    (source.tiled_attention(*inputs, tile=tile) ** 2).sum().backward()
    return [each.grad for each in inputs]


parts = [(k[:, :tile], v[:, :tile]), (k[:, tile:], v[:, tile:])]
triples = [source.attend(q, *each) for each in parts]
far_triples = [source.attend(q, *each) for each in [(far[:, :tile], v[:, :tile]), (far[:, tile:], v[:, tile:])]]
square = source.attend(q[:, :tile], k[:, :tile], v[:, :tile], True)
same_size = mytorch.randn(2, length, 4), mytorch.randn(2, length, 3)
heads = [mytorch.randn(2, 3, length, width) for width in (4, 4, 5)]
# each key scores higher than the ones before it
falling = (mytorch.arange(tile) - tile).reshape(tile, 1).expand(tile, 4) * 1e10
lowest = source.attend(mytorch.ones(tile, 4), falling, v[0, :tile], True)
check.show(
    {
        "tile": tile,
        "attend: m, l, o": tensor(triples[0]),
        "attend, causal": tensor(square),
        "attend, causal, scores below -1e10": tensor(lowest),
        "attend, causal, fewer keys than queries": tensor(source.attend(q, k[:, :tile], v[:, :tile], True)),
        "attend, causal, on a GPU": tensor(source.attend(*(each[:, :tile].to("cuda") for each in (q, k, v)), True)),
        "attend, large scores": ratio(far_triples[0]),
        "attend, m has a derivative": source.attend(q.detach().requires_grad_(), *parts[0])[0].requires_grad,
        "merge": tensor(source.merge(*triples)),
        "merge, the other way round": tensor(source.merge(triples[1], triples[0])),
        "merge, large scores": ratio(source.merge(*far_triples)),
        "merge, large scores, the other way round": ratio(source.merge(far_triples[1], far_triples[0])),
        "tiles": tiles(q, k, v),
        "tiles, large scores": tiles(q, far, v)[0],
        "causal tiles": tiles(q, *same_size, is_causal=True),
        "one tile": tiles(q, k, v, size=100),
        "one query, tiles of one": tiles(q[:, :1], k, v, size=1),
        "causal tiles, more keys than queries": tiles(q[:, : tile + 1], *same_size, is_causal=True),
        "causal tiles, more queries than keys": tiles(q, k[:, : tile + 1], v[:, : tile + 1], is_causal=True),
        "causal tiles of three heads": tiles(*heads, is_causal=True),
        "tiles of doubles without a batch": tiles(*(each[0].double() for each in (q, k, v))),
        "gradients": gradients(),
    },
    rtol=1e-3,
    atol=1e-4,
    text="The triples of one tile and of two, and attention in tiles with the number and size of its products.",
)

# %% [markdown] hint="memory_tiles"
# First write `attend` for one tile without a mask. `amax(-1, keepdim=True)` is m, and the other two follow from
# exp(scores − m).

# %% [markdown] hint="memory_tiles"
# Two triples refer to two maxima, so rescale both to the larger one: a sum of exp(s − a) becomes one of exp(s − b)
# when it is multiplied by exp(a − b).

# %% [markdown] hint="memory_tiles"
# For each tile of queries, merge the triples of all tiles of keys, and divide o by l. With `is_causal`, tile t of the
# queries attends to the tiles 0 to t of the keys, and the mask matters only in tile t.


# %% mutant="memory_tiles"
# No maximum
# exp of a large score is infinite, so subtract the largest score of each row first.
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        scores = scores.masked_fill(~ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril(), -math.inf)
    weights = scores.exp()
    return scores.detach().amax(-1, keepdim=True) * 0, weights.sum(-1, keepdim=True), weights @ value


# %% mutant="memory_tiles"
# Divides too early
# o isn't divided by l yet. That comes at the end, when all tiles have been merged.
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        scores = scores.masked_fill(~ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril(), -math.inf)
    m = scores.detach().amax(-1, keepdim=True)
    weights = (scores - m).exp()
    total = weights.sum(-1, keepdim=True)
    return m, total, weights / total @ value


# %% mutant="memory_tiles"
# One maximum for all rows
# Rows with small scores would underflow to 0, so subtract each row's own largest score.
def attend(query, key, value, is_causal=False):
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]))
    if is_causal:
        scores = scores.masked_fill(~ones(scores.shape[-2:], dtype=boolean, device=scores.device).tril(), -math.inf)
    m = scores.detach().amax((-1, -2), keepdim=True)
    weights = (scores - m).exp()
    return m, weights.sum(-1, keepdim=True), weights @ value


# %% mutant="memory_tiles"
# Adds sums with different scales
# The two sums refer to different maxima. Rescale both to the larger one before you add.
def merge(one, other):
    return maximum(one[0], other[0]), one[1] + other[1], one[2] + other[2]


# %% mutant="memory_tiles"
# Rescales one side
# That is correct as long as the second maximum is the larger one, but either of them may be.
def merge(one, other):
    shrink = (one[0] - other[0]).exp()
    return other[0], one[1] * shrink + other[1], one[2] * shrink + other[2]


# %% mutant="memory_tiles"
# Forgets to rescale o
# l and o are sums with the same weights, so both have to be rescaled.
def merge(one, other):
    m = maximum(one[0], other[0])
    this, that = (one[0] - m).exp(), (other[0] - m).exp()
    return m, one[1] * this + other[1] * that, one[2] + other[2]


# %% mutant="memory_tiles"
# All scores at once
# The result is correct, but the matrix of all scores is in memory again.
def tiled_attention(query, key, value, is_causal=False, tile=128):
    _, total, output = attend(query, key, value, is_causal)
    return output / total


# %% mutant="memory_tiles"
# Delegates
# The package's attention computes the whole matrix of scores, at least for the rows of a tile.
def tiled_attention(query, key, value, is_causal=False, tile=128):
    return scaled_dot_product_attention(query, key, value, is_causal=is_causal)


# %% mutant="memory_tiles"
# The mean of the tiles
# Tiles don't count equally: a tile with larger scores counts for more, which is the purpose of l.
def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for top, queries in enumerate(query.split(tile, -2)):
        pairs = list(zip(key.split(tile, -2), value.split(tile, -2), strict=True))
        pairs = pairs[: top + 1] if is_causal else pairs
        parts = [attend(queries, *pair, is_causal and left == top) for left, pair in enumerate(pairs)]
        rows.append(sum(output / total for _, total, output in parts) * (1 / len(parts)))
    return cat(rows, -2)


# %% mutant="memory_tiles"
# The mask in each tile
# Only in a tile on the diagonal do some keys come after some queries. The tiles to its left need no mask.
def tiled_attention(query, key, value, is_causal=False, tile=128):
    rows = []
    for top, queries in enumerate(query.split(tile, -2)):
        pairs = list(zip(key.split(tile, -2), value.split(tile, -2), strict=True))
        pairs = pairs[: top + 1] if is_causal else pairs
        _, total, output = reduce(merge, [attend(queries, *pair, is_causal) for pair in pairs])
        rows.append(output / total)
    return cat(rows, -2)


# %% [markdown] exercise="memory_int8" kind="core" points="2 1" part="mytorch.nn.quantization:quantize mytorch.nn.quantization:Int8Linear.__init__"
# ### Exercise 4 · Weights in 8 bits
# A row of weights becomes integers from −127 to 127 and one scale, which is the largest absolute value divided
# by 127. Write the conversion, and the layer that holds its results as buffers. Its `forward`, which is provided,
# computes with `self.weight * self.scale`.


# %% docstrings="memory_int8"
def quantize():
    """Integers (int8) from -127 to 127, and scales of the dtype of `x`: `x` is approximately integers * scales.

    Each row, along `dim`, has its own scale: the largest absolute value divided by 127, in a tensor of size 1 in that
    dimension. With `dim=None`, all elements share one scale, in a tensor of size 1 in each dimension. Round to the
    nearest integer. In bfloat16, where the scale itself is rounded, the quotient may come out as 128, which int8 can't
    hold; it becomes 127. A row of zeros becomes zeros: its largest absolute value counts as 1e-12.
    """


def __init__():
    """Takes over a linear layer: the buffers `weight` (int8), `scale` (one for each output) and `bias` (or None).

    None of them requires a gradient, and the layer has no parameters.
    """


# %% check="memory_int8"
source = mytorch.nn.quantization
generator = check.rng()
rows, columns = (int(each) for each in generator.integers(3, 6, size=2))
numbers = generator.normal(size=(rows, columns)) * 10.0 ** generator.integers(-2, 3, size=(rows, 1))
numbers[0, 0] = -abs(numbers[0]).max() - 1  # the largest absolute value is that of a negative number
numbers[-1] = 0
x = mytorch.tensor(numbers.tolist())
cube = mytorch.tensor(generator.normal(size=(2, rows, columns)).tolist(), dtype=mytorch.float64).permute(2, 1, 0)
# in bfloat16, each of these divided by its scale is 128 after rounding
short = mytorch.tensor([[each, -each, each / 2] for each in (0.35, 0.7, 1.4, 2.7)], dtype=mytorch.bfloat16)
mytorch.manual_seed(check.seed())
linear, plain = mytorch.nn.Linear(columns, rows), mytorch.nn.Linear(columns, rows, bias=False)
layer, batch = mytorch.nn.Int8Linear(linear), mytorch.randn(4, columns)
doubles = mytorch.nn.Linear(columns, rows).double()


def described(module):
    return [(name, each.dtype, tuple(each.shape), each.requires_grad) for name, each in module.named_buffers()]


check.show(
    {
        "rows": source.quantize(x),
        "one scale": source.quantize(x, None),
        "one row": source.quantize(x[:1]),
        "columns": source.quantize(x, 0),
        "the middle dimension, of doubles": source.quantize(cube, 1),
        "a scale for all of them": source.quantize(cube, None),
        "a single number": source.quantize(x[1, 1], None),
        "a row of zeros counts as 1e-12, times 1e12": source.quantize(x)[1][-1] * 127e12,
        "the numbers afterwards": x,
        "values at the limits": source.quantize(mytorch.tensor([[127.0, -127.0, 63.6, -63.4], [254.0, 1.1, 2.9, 3.1]])),
        "bfloat16: the integers of the largest values": source.quantize(short)[0][:, 0],
        "bfloat16: the integers of the smallest values": source.quantize(short)[0][:, 1],
        "the layer's buffers": described(layer),
        "without a bias": described(mytorch.nn.Int8Linear(plain)),
        "of doubles": described(mytorch.nn.Int8Linear(doubles)),
        "its parameters": len(list(layer.parameters())),
        "the parameters it was made from": [each.requires_grad for each in linear.parameters()],
        "its integers": layer.weight,
        "saved": [(name, tuple(each.shape)) for name, each in layer.state_dict().items()],
        "its results": layer(batch),
        "without a bias: its results": mytorch.nn.Int8Linear(plain)(batch),
    },
    rtol=1e-4,
    atol=1e-5,
    text="Integers and scales, and a layer that uses them.",
)

# %% [markdown] hint="memory_int8"
# Begin with the scale: use `abs`, then `amax` with `keepdim=True`, so that the rows can be divided by it.

# %% [markdown] hint="memory_int8"
# `clamp(min=1e-12)` prevents a row of zeros from dividing by 0. Call `round` before `to(int8)`, because the
# conversion truncates, and between them `clamp(-127, 127)`, because it wraps 128 around to -128.

# %% [markdown] hint="memory_int8"
# In the layer, call `super().__init__()`, and then `self.register_buffer(name, tensor)` three times, with
# `layer.weight.detach()` and `layer.bias.detach()` as the sources.


# %% mutant="memory_int8"
# One scale for all
# Each row should have its own scale, so that a row of large values doesn't make the others imprecise.
def quantize(x, dim=-1):
    scale = x.abs().amax(None, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% mutant="memory_int8"
# The largest number, not the largest absolute value
# A large negative number would be below −127, and would wrap around to a positive integer.
def quantize(x, dim=-1):
    scale = x.amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().to(int8), scale


# %% mutant="memory_int8"
# A 0-d scale
# A single scale for all elements has the tensor's number of dimensions, each of size 1, as `keepdim=True` leaves it.
def quantize(x, dim=-1):
    largest = x.abs().max() if dim is None else x.abs().amax(dim, keepdim=True)
    scale = largest.clamp(min=1e-12) / 127
    return (x / scale).round().clamp(-127, 127).to(int8), scale


# %% mutant="memory_int8"
# Truncates
# `to(int8)` drops the fraction, so all errors go towards 0 and are up to twice as large.
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).to(int8), scale


# %% mutant="memory_int8"
# 128 steps
# int8 ends at 127. Here the largest weight becomes 128, which wraps around to −128.
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 128
    return (x / scale).round().to(int8), scale


# %% mutant="memory_int8"
# Doesn't clamp
# In 16 bits the largest weight may become 128, which the conversion to int8 wraps around to -128: the largest weight
# changes its sign.
def quantize(x, dim=-1):
    scale = x.abs().amax(dim, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().to(int8), scale


# %% mutant="memory_int8"
# No buffer for a missing bias
# `forward` reads `self.bias`, which has to exist: `register_buffer("bias", None)`.
def __init__(self, layer):
    super().__init__()
    for name, each in zip(("weight", "scale"), quantize(layer.weight.detach()), strict=True):
        self.register_buffer(name, each)
    if layer.bias is not None:
        self.register_buffer("bias", layer.bias.detach())


# %% mutant="memory_int8"
# Delegates to minitorch
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def quantize(x, dim=-1):
    import minitorch

    return minitorch.quantize_per_channel(x, dim)


# %% mutant="memory_int8"
# A scale for each input
# A row of the weight belongs to an output, and so does the scale.
def __init__(self, layer):
    super().__init__()
    for name, each in zip(("weight", "scale"), quantize(layer.weight.detach(), 0), strict=True):
        self.register_buffer(name, each)
    self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())


# %% mutant="memory_int8"
# Keeps the bias as a parameter
# A parameter would be passed to an optimizer. This layer is for inference, so all of its tensors are buffers.
def __init__(self, layer):
    super().__init__()
    for name, each in zip(("weight", "scale"), quantize(layer.weight.detach()), strict=True):
        self.register_buffer(name, each)
    self.bias = layer.bias


# %% mutant="memory_int8"
# Rounded, but still floating-point
# Rounded values that take 4 bytes each don't save any memory.
def __init__(self, layer):
    super().__init__()
    weight, scale = quantize(layer.weight.detach())
    self.register_buffer("weight", weight.float())
    self.register_buffer("scale", scale)
    self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())


# %% [markdown] exercise="memory_repair_rows" kind="repair" points=2
# ### Exercise 5 · It trains well until it is checkpointed
# In training, `DropRows(p)` drops whole samples of a batch, as stochastic depth does, and divides the others by 1 −
# p. A colleague reports: "On the CPU the gradients are correct. But since I put the block into
# `torch.utils.checkpoint`, training is worse, without an error or a warning. And on a GPU it doesn't run at all." For
# `out = DropRows(0.5)(x * w)` and `out.sum()`, `w.grad * w` should equal `out`:
#
# ```text
# plain         largest difference 0.0
# checkpointed  largest difference 5.2
# on a GPU      RuntimeError: Expected all tensors to be on the same device
# ```
#
# Fix the module. Each call has to drop different samples, `torch.manual_seed` has to determine which, and `eval()` must
# drop none. The result keeps the dtype and the device of `x`.


# %% solution="memory_repair_rows"
class DropRows(nn.Module):
    """Zeroes each sample of a batch (N, ...) with probability p < 1 in training, and divides the others by 1 - p."""

    ### BEGIN SOLUTION
    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return x
        shape = len(x), *[1] * (x.ndim - 1)
        keep = torch.rand(shape, device=x.device) >= self.p
        return x * keep / (1 - self.p)

    ### END SOLUTION
    ### BEGIN STUB
    # def __init__(self, p: float) -> None:
    #     super().__init__()
    #     self.p = p
    #     self.generator = np.random.default_rng(0)
    #
    # def forward(self, x: torch.Tensor) -> torch.Tensor:
    #     if not self.training:
    #         return x
    #     shape = len(x), *[1] * (x.ndim - 1)
    #     keep = torch.tensor(self.generator.random(shape) >= self.p)
    #     return x * keep / (1 - self.p)
    ### END STUB


# %% check="memory_repair_rows"
torch.manual_seed(check.seed())
np.random.seed(check.seed() % 2**32)  # so that an answer with this generator shows the same values each time
generator = check.rng()
p = round(generator.uniform(0.2, 0.5), 2)
module = DropRows(p)
x, w = (
    torch.tensor(generator.normal(size=(400, 3))),
    torch.tensor(generator.uniform(1, 2, (400, 3)), requires_grad=True),
)


def difference(run):
    w.grad = None
    out = run(lambda weight: module(x * weight))
    out.sum().backward()
    return round((w.grad * w - out).abs().max().item(), 2)


def rows_kept():
    return module(torch.ones(400, 3))[:, 0] > 0


def seeded():
    torch.manual_seed(5)
    return rows_kept()


first, second = rows_kept(), rows_kept()
kept = module(torch.full((400, 3), 2.0))
share = (kept[:, 0] > 0).float().mean().item()
everything = DropRows(0.0)(x * w)
given = torch.full((50, 2, 3, 4), 2.0)
pictures = module(given).flatten(1)
singles = torch.cat([module(torch.ones(1, 3)) for _ in range(60)])[:, 0] > 0
short = x[:5].to(torch.float16)


def on_a_gpu():
    """The largest difference with a checkpoint on a simulated GPU, or the error."""
    torch.cuda.simulate(1)
    weight = w.detach().cuda().requires_grad_()
    try:
        out = checkpoint(lambda each: module(x.cuda() * each), weight, use_reentrant=False)
    except RuntimeError as error:
        return str(error).split(",")[0]
    out.sum().backward()
    return round((weight.grad * weight - out).abs().max().item(), 2), str(out.device)


check.show(
    {
        "p": p,
        "without a checkpoint: largest difference": difference(lambda block: block(w)),
        "with a checkpoint: largest difference": difference(lambda block: checkpoint(block, w, use_reentrant=False)),
        "with a reentrant checkpoint: largest difference": difference(
            lambda block: checkpoint(block, w, use_reentrant=True)
        ),
        "with a checkpoint, on a GPU: largest difference, device": on_a_gpu(),
        "about p of the rows are dropped": abs(1 - share - p) < 0.15,
        "value of a 2 that is kept": kept.max().item(),
        "sums of the columns, with p = 0": everything.sum(0).detach(),
        "dtype for half floats": module(short).dtype,
        "whole rows, whole pictures": [
            bool(((kept == 0).sum(1) % 3 == 0).all()),
            bool((pictures == pictures[:, :1]).all()),
        ],
        "the pictures afterwards": (given.min().item(), given.max().item()),
        "of the batches of one, some are kept, and some dropped": [bool(singles.any()), bool((~singles).any())],
        "two calls drop the same rows": bool((first == second).all()),
        "the same seed, the same rows": bool((seeded() == seeded()).all()),
        "sums of the columns in evaluation": module.eval()(x).sum(0),
    },
    rtol=1e-4,
    atol=1e-4,
    text="The results of DropRows, with and without checkpoints.",
)

# %% [markdown] hint="memory_repair_rows"
# A checkpoint runs the module a second time. Which rows are dropped in that run?

# %% [markdown] hint="memory_repair_rows"
# PyTorch restores the state of its own generators before the second run. Which generator do this module's random
# numbers come from?

# %% [markdown] hint="memory_repair_rows"
# Use `torch.rand` instead of `self.generator.random`, and create the numbers on the device of `x`.


# %% mutant="memory_repair_rows"
# The same rows each time
# A generator that is created anew in each call makes both runs equal, but all other calls as well, so the same rows
# are never trained.
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        shape = len(x), *[1] * (x.ndim - 1)
        keep = torch.tensor(np.random.default_rng(0).random(shape) >= self.p)
        return x * keep / (1 - self.p)


# %% mutant="memory_repair_rows"
# The mask stays on the CPU
# `torch.rand` creates its numbers on the CPU unless it gets a device, and the mask has to be where `x` is.
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        keep = torch.rand(len(x), *[1] * (x.ndim - 1)) >= self.p
        return x * keep / (1 - self.p)


# %% mutant="memory_repair_rows"
# Elements, not rows
# This drops each element separately, which is ordinary dropout. A sample should be dropped as a whole.
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return nn.functional.dropout(x, self.p, self.training)


# %% mutant="memory_repair_rows"
# Forgets the division
# The rows that are kept have to compensate for the dropped ones, so that the mean is the same in evaluation.
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        return x * (torch.rand(len(x), *[1] * (x.ndim - 1), device=x.device) >= self.p)


# %% mutant="memory_repair_rows"
# NumPy's global generator
# NumPy's global generator isn't PyTorch's either: a checkpoint doesn't restore it, and `torch.manual_seed` doesn't
# seed it.
class DropRows(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        shape = len(x), *[1] * (x.ndim - 1)
        keep = torch.tensor(np.random.random(shape) >= self.p)
        return x * keep / (1 - self.p)


# %% [markdown] exercise="memory_measure_segments" kind="measure" points=2
# ### Exercise 6 · The best number of segments
# `peak(segments)` runs a chain of `n` layers forward and backward on a simulated GPU, divided into that many equal
# segments with a checkpoint around each, and returns the largest number of bytes in use. `segments` has to divide `n`.
# Write `best(peak, n)`, which returns the number of segments with the smallest peak.
#
# In the lesson each layer left one tensor behind, so √n segments were best. In some of these chains a layer leaves c
# tensors as large as its input, which means that a segment of n/k layers holds c · n/k of them. Work out what takes
# the place of √n, and compare it with what you measure.


# %% setup=true
def chain(n, kept):
    """A function peak(segments) for n layers, each of which keeps `kept` tensors of the size of its input."""
    torch.cuda.simulate(1)

    def layer(h):
        for _ in range(kept):
            h = h.tanh()
        return h

    def segment(h, layers):
        for _ in range(layers):
            h = layer(h)
        return h

    def peak(segments):
        if n % segments:
            raise ValueError(f"{n} layers can't be divided into {segments} segments")
        x = torch.ones(1024, device="cuda", requires_grad=True)
        h = x * 1
        torch.cuda.reset_peak_memory_stats()
        for _ in range(segments):
            h = checkpoint(segment, h, n // segments, use_reentrant=False)
        h.sum().backward()
        return torch.cuda.max_memory_allocated()

    return peak


# %% solution="memory_measure_segments"
def best(peak, n: int) -> int:
    """The number of segments, among those that divide n, with the smallest peak."""
    ### BEGIN SOLUTION
    return min((segments for segments in range(1, n + 1) if n % segments == 0), key=peak)
    ### END SOLUTION


# %% check="memory_measure_segments"
shown = {}
for n, kept in ((16, 1), (36, 1), (64, 1), (16, 4), (64, 4), (4, 16)):
    shown[f"{n} layers that keep {kept}"] = int(best(chain(n, kept), n))
check.show(shown, secret=True, text="The best number of segments.")

# %% [markdown] hint="memory_measure_segments"
# Try all numbers that divide `n`, from 1 segment to `n`. Which part of the memory grows with the number of segments,
# and which part shrinks?

# %% [markdown] hint="memory_measure_segments"
# k segments keep k inputs, and one segment at a time keeps everything that its n/k layers save. The sum k + c · n/k is
# smallest at k = √(c · n), as far as that divides n.

# %% [markdown] hint="memory_measure_segments"
# The result is `min(candidates, key=peak)`, where the candidates are the numbers from 1 to n with `n % segments ==
# 0`.


# %% mutant="memory_measure_segments"
# The rule of thumb
# √n is correct if a layer keeps as much as its input. Here some layers keep four times as much, which gives √(4n).
def best(peak, n):
    return round(n**0.5)


# %% mutant="memory_measure_segments"
# A checkpoint around each layer
# n segments keep n inputs, which is as much as the chain of layers keeps without any checkpoint.
def best(peak, n):
    return n


# %% mutant="memory_measure_segments"
# The largest peak
# This is the number of segments with the largest peak, whereas the task asks for the smallest.
def best(peak, n):
    return max((segments for segments in range(1, n + 1) if n % segments == 0), key=peak)
