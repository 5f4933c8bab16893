# %% [markdown]
# # Exercises · Attention
# Eight exercises, 21 points, about 90 minutes. Four of them add to your library: with them solved, a GPT runs on your
# attention, and writes with your sampling.

# %% setup=true
from __future__ import annotations

import itertools
import math

import numpy as np

from course import check

# %% setup=true
import minitorch as torch
from minitorch.models.gpt import GPTConfig
from minitorch.nn import functional as F

# %% [markdown] exercise="attention_predict_changes" kind="predict" points=1
# ### Exercise 1 · What does one token change?
# Six tokens go through self-attention: row $i$ of the result belongs to token $i$. Then token 2 (counted from 0) is
# replaced by another one. How many rows of the result change
#
# - a) with a causal mask,
# - b) without a mask,
# - c) without a causal mask, if key 2 is hidden from all queries, as padding is?
#
# Set `prediction` to a list of three integers.

# %% solution="attention_predict_changes"
### BEGIN SOLUTION
prediction = [4, 6, 1]
### END SOLUTION

# %% check="attention_predict_changes"
check.show({"rows that change": [int(each) for each in prediction]}, secret=True)

# %% [markdown] hint="attention_predict_changes"
# A token takes part three times: its query asks, its key is compared, its value is averaged. Who sees which of these?

# %% [markdown] hint="attention_predict_changes"
# With a causal mask, token 2 is seen by itself and by all later ones.

# %% [markdown] hint="attention_predict_changes"
# Hiding key 2 takes its key and value out of every row. Its own query still asks: row 2 changes.

# %% mutant="attention_predict_changes"
# Forgets that a token sees itself
# The diagonal is allowed: with a causal mask, row 2 itself and rows 3, 4 and 5 change.
prediction = [3, 6, 1]

# %% mutant="attention_predict_changes"
# Without a mask, the other rows
# Key 2 changes for every query, and row 2 has a new query, too: without a mask all six change.
prediction = [4, 5, 1]

# %% mutant="attention_predict_changes"
# Only its own row
# Keys and values of token 2 are part of every row that may look at it: 4 with a causal mask, all 6 without.
prediction = [1, 1, 1]

# %% mutant="attention_predict_changes"
# Hidden means gone
# A hidden key is not looked at, but its own query still asks: row 2 changes. (Nobody should read it.)
prediction = [4, 6, 0]

# %% mutant="attention_predict_changes"
# The other rows, without a mask and with padding
# Row 2 has a new query, whatever is hidden: it changes, too. And a key that nobody looks at changes no other row.
prediction = [4, 5, 0]

# %% mutant="attention_predict_changes"
# Padding hides nothing
# If no query looks at key 2, its value reaches no other row. Only row 2 changes, because its own query is new.
prediction = [4, 6, 6]

# %% mutant="attention_predict_changes"
# Padding hides a token from itself alone
# It is the other way round: key 2 reaches nobody, so the other rows stay. Row 2's own query still asks, and it is new.
prediction = [4, 6, 5]

# %% mutant="attention_predict_changes"
# Leaves row 2 out everywhere
# Token 2's own query is new in all three cases, so row 2 changes: with a causal mask, without a mask, and as padding.
prediction = [3, 5, 0]

# %% mutant="attention_predict_changes"
# Looks the wrong way
# A causal mask hides what comes later. Rows 0 and 1 don't see token 2; rows 2 to 5 do.
prediction = [3, 6, 0]


# %% [markdown] exercise="attention_scaled_dot_product" kind="core" points=3 part="mytorch.nn.attention:scaled_dot_product_attention"
# ### Exercise 2 · Attention
# Three lines of mathematics, and the masks. Your function goes into a file that has `softmax`, `dropout`, `additive`, `ones`,
# `boolean` and `math`; `x.mT` swaps the last two dimensions. The hard part is a query with no key left: softmax of
# nothing but −inf is nan, and nan times 0 is nan, in the backward pass as well. Find these rows *before* softmax and put
# harmless numbers there. A mask of numbers may be learned, so it gets a gradient too.


# %% docstrings="attention_scaled_dot_product"
def scaled_dot_product_attention():
    """softmax(query keyᵀ · scale + mask) value: (..., L, E), (..., S, E) and (..., S, V) to (..., L, V).

    `scale` is 1/√E if it is None. A boolean mask, broadcast to (..., L, S), is True where a query may
    look; the other scores become -inf. A mask of numbers is added to the scores. `additive(mask, dtype)`
    turns either kind into numbers to add.
    With `is_causal`, query i may look at keys 0 to i: `ones(L, S, dtype=boolean, device=query.device).tril()`.
    A query whose scores are all -inf has weights of 0 and gradients of 0, not nan. The last step before
    the values is `dropout(weights, dropout_p)`.

    `check_attention(query, key, value, attn_mask, is_causal)` raises the errors.
    Source: Vaswani et al. 2017, arXiv:1706.03762
    """


# %% check="attention_scaled_dot_product" raises="RuntimeError"
generator = check.rng()
L, S, E, V = (int(each) for each in generator.permutation([2, 3, 4, 5]))


def attended(front=(), **options):
    """The result, and sums of the rows of all three gradients."""
    shapes = (*front, L, E), (*front, S, E), (*front, S, V)
    arrays = [generator.normal(size=shape).astype(np.float32) for shape in shapes]
    inputs = [mytorch.tensor(each).requires_grad_() for each in arrays]
    result = mytorch.nn.functional.scaled_dot_product_attention(*inputs, **options)
    (result * mytorch.arange(result.numel()).reshape(result.shape)).sum().backward()
    return [result.detach(), *(each.grad if each.grad is None else each.grad.sum(-1) for each in inputs)]


def on_a_gpu():
    mytorch.cuda.simulate(1)
    x = mytorch.ones(3, 2, device="cuda")
    return mytorch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


allowed = generator.random((L, S)) < 0.6
allowed[:, 0], allowed[0] = True, False  # the first query may look nowhere
bias = generator.normal(size=(L, S)).astype(np.float32)
bias[-1] = -np.inf  # nor may the last one, by a mask of numbers
given = mytorch.tensor(bias).requires_grad_()
shown = {
    "queries, keys, width, values": [L, S, E, V],
    "plain": attended(),
    "a batch of heads": attended((2, 1)),
    "another scale": attended(scale=0.1),
    "a scale of 0": attended(scale=0.0),
    "causal": attended((2,), is_causal=True),
    "allowed": allowed,
    "boolean mask": attended((2,), attn_mask=mytorch.tensor(allowed)),
    "mask of numbers": attended(attn_mask=given),
    "the mask afterwards": given.detach(),
    "the mask's gradient": given.grad,
    "two masks": check.error(attended, attn_mask=given, is_causal=True),
    "error on a GPU": check.error(on_a_gpu),
}
bias[0], bias[0, 0] = np.finfo(np.float32).min, -np.inf  # low, but only the first key is hidden
shown["a very low mask"] = attended(attn_mask=mytorch.tensor(bias))
mytorch.manual_seed(check.seed())
shown["dropout"] = attended(dropout_p=0.5)
shown["dropout and a causal mask"] = attended((2,), dropout_p=0.5, is_causal=True)
check.show(shown, rtol=1e-3, atol=1e-5, text="The result, and sums of the rows of the three gradients.")

# %% [markdown] hint="attention_scaled_dot_product"
# `scores = query @ key.mT * scale`, with 1/√E where `scale` is None. A causal mask is a boolean one, so make it first and
# treat both alike: `scores + additive(attn_mask, scores.dtype)`.

# %% [markdown] hint="attention_scaled_dot_product"
# `nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)` is True for the queries with no key left.

# %% [markdown] hint="attention_scaled_dot_product"
# `softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)`, then `dropout(weights, dropout_p) @ value`.


# %% mutant="attention_scaled_dot_product"
# Repairs nan afterwards
# The result is right, but the gradient isn't: softmax has already computed nan, and the backward pass multiplies by it.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores, -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Lets nan through
# Softmax of a row of -inf is nan. Such a query should get zeros, and no nan may come back as a gradient.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    return dropout(softmax(scores, -1), dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Divides by the width
# The standard deviation of a dot product is the square root of the width: divide by that.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean).tril()
    scores = query @ key.mT * (1 / query.shape[-1] if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Divides by the scale
# `scale` is what the scores are multiplied by: 1/√E unless somebody gives another.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean).tril()
    scores = query @ key.mT / (math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Softmax over the queries
# Each query shares its attention out among the keys: softmax goes along the last dimension of the scores.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -2).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Adds the causal mask as numbers
# A boolean mask that is added is 1 or 0: it hides nothing. Its False must become -inf.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2]).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Keeps the harmless numbers
# The row of zeros gets equal weights from softmax, so the query sees the plain mean. Its weights must be 0 afterwards.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# True is hidden
# That is what `MultiheadAttention` means by True. Here a query may look where the mask is True: fill where it is
# False.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).triu(1)
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores.masked_fill(attn_mask, -math.inf) if attn_mask.dtype is boolean else scores + attn_mask
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Hides after softmax
# The hidden scores were still in the divisor, so the weights that are left don't sum to 1. Make the scores -inf first.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + (0.0 if attn_mask.dtype is boolean else attn_mask)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    if attn_mask is not None and attn_mask.dtype is boolean:
        weights = weights.masked_fill(~attn_mask, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Not low enough
# A mask of numbers may be lower than -10000, and then what is hidden takes all the weight. −inf is below every score.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    hidden = scores.detach() == -math.inf
    weights = softmax(scores.masked_fill(hidden, -1e4), -1).masked_fill(hidden.all(-1, keepdim=True), 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Hides from itself
# Query i may look at key i, too. With `tril(-1)` the diagonal is hidden, and the first query sees nothing.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril(-1)
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Lines the last ones up
# That fits queries that continue a cache. `is_causal` lines up the first ones: query i sees keys 0 to i, whatever S is.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    L, S = query.shape[-2], key.shape[-2]
    if is_causal:
        attn_mask = ones(L, S, dtype=boolean, device=query.device).tril(S - L)
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Scales the mask, too
# A mask of numbers is added to the scores as it is: scale first, then add.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    scores = scores * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Treats a scale of 0 as None
# `scale or ...` replaces 0 as well. Only None means the usual scale: with 0 all weights are equal.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (scale or 1 / math.sqrt(query.shape[-1]))
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Drops only without a mask
# Dropout belongs to both ways: a GPT in training has a causal mask and drops weights.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return (dropout(weights, dropout_p) if attn_mask is None else weights) @ value


# %% mutant="attention_scaled_dot_product"
# Drops entries of the result
# Dropout goes over the weights, before they meet the values.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights @ value, dropout_p)


# %% mutant="attention_scaled_dot_product"
# Cuts the mask off from its gradient
# A mask of numbers may be a parameter, such as a bias for each distance. `detach` stops it from learning.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype).detach()
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Makes the causal mask on the CPU
# `ones` makes it on the default device, but the scores are where the query is: `device=query.device`.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    check_attention(query, key, value, attn_mask, is_causal)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Refuses nothing
# Call `check_attention` first, with the arguments as they came: it raises the errors.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=boolean, device=query.device).tril()
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if attn_mask is not None:
        scores = scores + additive(attn_mask, scores.dtype)
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)
    return dropout(weights, dropout_p) @ value


# %% mutant="attention_scaled_dot_product"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    import minitorch

    inputs = [minitorch.tensor(each.tolist()) for each in (query, key, value)]
    return minitorch.nn.functional.scaled_dot_product_attention(*inputs)


# %% [markdown] exercise="attention_heads" kind="core" points="1 1 2" part="mytorch.nn.attention:split_heads mytorch.nn.attention:merge_heads mytorch.nn.attention:MultiheadAttention.attend"
# ### Exercise 3 · Heads
# Cut the width into heads, put the heads together again, and write the middle of `MultiheadAttention`. Its `forward` is
# given: it takes care of layouts and masks, and calls your `attend`. The file has `linear`, `softmax`, `dropout`, `math` and
# your `scaled_dot_product_attention`.


# %% docstrings="attention_heads"
def split_heads():
    """Each position's width in equal parts, one for each head: (N, L, E) to (N, heads, L, E / heads).

    Head 0 gets the first numbers of each position.
    """


def attend():
    """The output (N, L, E), and the weights of each head (N, heads, L, S) if they are needed, else None.

    Inputs are (N, L, E), (N, S, E), (N, S, E). `in_proj_weight` and `in_proj_bias` hold three linear
    maps, one above the other: for queries, keys and values (`chunk(3)` takes them apart; the bias may
    be None). The results are split into heads, the heads attend, are merged, and go through
    `out_proj`. The mask, if there is one, holds numbers that are added to the scores.
    In training, and only then, the weights are dropped with probability `self.dropout`.

    If no weights are needed, `scaled_dot_product_attention` does the middle. Otherwise compute them here,
    with no special care for a query that may look nowhere: its weights are nan, as in PyTorch.
    Return the weights as they are after dropout.
    """


# %% check="attention_heads"
generator = check.rng()
heads, size = (int(each) for each in generator.permutation([2, 3]))
N, L, S, E = size, 4, 5, heads * size
module = mytorch.nn.attention
x = mytorch.arange(N * L * E).reshape(N, L, E).float()
split = module.split_heads(x, heads)


def numbers(*shape):
    return mytorch.tensor(generator.normal(size=shape).astype(np.float32))


def summed(grad):
    return grad if grad is None else grad.sum(-1)


def looked(bias=True, **options):
    layer = mytorch.nn.MultiheadAttention(E, heads, bias=bias, batch_first=True)
    for parameter in layer.parameters():
        parameter.data = numbers(*parameter.shape)
    inputs = [numbers(N, length, E).requires_grad_() for length in (L, S, S)]
    results = [each for each in layer(*inputs, **options) if each is not None]
    # Means keep the gradients near 1, where rounding is far below the tolerance.
    sum((each * mytorch.arange(each.numel()).reshape(each.shape)).mean() for each in results).backward()
    grads = [summed(each.grad) for each in (layer.in_proj_weight, *inputs)]
    return [*(each.detach() for each in results), *grads]


padding = generator.random((N, S)) < 0.4
padding[:, 0], padding[:2, -1] = False, [True, False]
hidden = np.triu(np.ones((L, S), dtype=bool), 1)
nowhere = hidden.copy()
nowhere[1] = True
shown = {
    "heads, width of each": [heads, size],
    "split": split,
    "merged again": module.merge_heads(split),
    "plain": looked(),
    "without biases": looked(bias=False),
    "each head": looked(average_attn_weights=False),
    "padding": looked(key_padding_mask=mytorch.tensor(padding)),
    "both masks, no weights": looked(
        key_padding_mask=mytorch.tensor(padding), attn_mask=mytorch.tensor(hidden), need_weights=False
    ),
    "numbers as a mask": looked(attn_mask=numbers(N * heads, L, S)),
    "query 1 may look nowhere": looked(attn_mask=mytorch.tensor(nowhere))[:2],
    "query 1 may look nowhere, no weights": looked(attn_mask=mytorch.tensor(nowhere), need_weights=False)[0],
}
dropping = mytorch.nn.MultiheadAttention(E, heads, dropout=0.5, batch_first=True)
for parameter in dropping.parameters():
    parameter.data = numbers(*parameter.shape)
for name, mode in {"dropout, in training": True, "dropout, in evaluation": False}.items():
    for needed in (True, False):
        mytorch.manual_seed(check.seed())
        output, weights = dropping.train(mode)(*[x / 10] * 3, need_weights=needed)
        given = weights if weights is None else weights.detach()
        shown[name if needed else f"{name}, no weights"] = [output.detach(), given]
check.show(
    shown,
    rtol=1e-3,
    atol=1e-4,
    text="Outputs, weights, and gradients of in_proj_weight, query, key and value, summed along their rows.",
)

# %% [markdown] hint="attention_heads"
# `split_heads`: first cut the last dimension, `reshape(N, L, heads, E // heads)`; only then swap dimensions 1 and 2.
# `merge_heads` undoes both, the last one first.

# %% [markdown] hint="attention_heads"
# `linear(query, w, b)` gives the queries, where `w` is the first third of `in_proj_weight`; `self.in_proj_weight.chunk(3)`
# gives all three. Without a bias, pass None.

# %% [markdown] hint="attention_heads"
# The scores are divided by the root of the width of *one head*: `q.shape[-1]` after the split.

# %% [markdown] hint="attention_heads"
# `p = self.dropout if self.training else 0.0`. If no weights are needed, call `scaled_dot_product_attention(q, k, v, mask,
# p)`. Otherwise compute `weights = dropout(softmax(scores + mask, -1), p)` and `weights @ v`; leave the mask out where it is
# None. Both results go through `merge_heads` and `self.out_proj`.


# %% mutant="attention_heads"
# Reshapes without the swap
# The shape is right, but numbers of different positions are mixed: cut the last dimension first, then swap.
def split_heads(x, heads):
    return x.reshape(x.shape[0], heads, x.shape[1], x.shape[2] // heads)


# %% mutant="attention_heads"
# Merges without the swap
# Back to (N, L, heads, D) first: without it, positions and heads are mixed up.
def merge_heads(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


# %% mutant="attention_heads"
# The heads take turns
# Here a head takes every second or third number. In PyTorch head 0 gets the first ones, and weights must fit PyTorch's.
def split_heads(x, heads):
    return x.reshape(*x.shape[:2], x.shape[2] // heads, heads).permute(0, 3, 1, 2)


# %% mutant="attention_heads"
# Scales by the whole width
# Each dot product has only as many terms as a head is wide: divide by the root of that.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    scale = 1 / math.sqrt(self.embed_dim)
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p, scale=scale))), None
    scores = q @ k.mT * scale
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% mutant="attention_heads"
# Keys and values swapped
# The three maps are in the order query, key, value; with PyTorch's weights this reads keys as values.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, v, k = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% mutant="attention_heads"
# Drops in evaluation, too
# Dropout is for training: in evaluation all weights stay.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, self.dropout))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), self.dropout)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% mutant="attention_heads"
# Drops in evaluation if no weights are needed
# scaled_dot_product_attention is a function and knows no mode: outside training, pass it a probability of 0.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, self.dropout))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), self.dropout, self.training)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% mutant="attention_heads"
# Forgets the last map
# The heads' results are side by side; out_proj, which mixes them, is missing.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return merge_heads(scaled_dot_product_attention(q, k, v, mask, p)), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return merge_heads(weights @ v), weights


# %% mutant="attention_heads"
# Makes values of the keys
# Keys and values come from inputs of their own. They are the same only in some uses, such as self-attention.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, key), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% mutant="attention_heads"
# Forgets the mask where the weights are made
# Both ways need it: add the mask to the scores here, too, unless it is None.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores, -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% mutant="attention_heads"
# Only hides
# A mask may hold any numbers, such as a penalty for distance. Add it, and -inf hides without further care.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores.masked_fill(mask == -math.inf, -math.inf), -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% mutant="attention_heads"
# Weights before dropout
# The weights that are returned are those that met the values: PyTorch returns them after dropout.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = softmax(scores if mask is None else scores + mask, -1)
    return self.out_proj(merge_heads(dropout(weights, p) @ v)), weights


# %% mutant="attention_heads"
# Averages the heads
# `forward` does that, if it is asked to. `attend` returns the weights of each head.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights.mean(1)


# %% mutant="attention_heads"
# Zeros for a query with no key left
# `scaled_dot_product_attention` gives zeros. When the layer returns its weights, PyTorch lets softmax give nan.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores = scores if mask is None else scores + mask
    nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = dropout(softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0), p)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% mutant="attention_heads"
# Never drops where no weights are needed
# Dropout belongs to both ways: pass the probability to scaled_dot_product_attention.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights


# %% mutant="attention_heads"
# Returns weights without a graph
# A loss may depend on the weights, too. `detach` cuts them off from the gradient.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    if not need_weights:
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask, p))), None
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights.detach()


# %% mutant="attention_heads"
# Makes the weights in any case
# Where no weights are needed, scaled_dot_product_attention does the middle, and a query with no key left gets
# zeros.
def attend(self, query, key, value, mask, need_weights):
    weights_in = self.in_proj_weight.chunk(3)
    biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    projected = map(linear, (query, key, value), weights_in, biases)
    q, k, v = (split_heads(each, self.num_heads) for each in projected)
    p = self.dropout if self.training else 0.0
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = dropout(softmax(scores if mask is None else scores + mask, -1), p)
    return self.out_proj(merge_heads(weights @ v)), weights if need_weights else None


# %% mutant="attention_heads"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def split_heads(x, heads):
    import minitorch

    return minitorch.tensor(x.tolist()).view(*x.shape[:2], heads, -1).transpose(1, 2)


# %% [markdown] exercise="attention_draw_tokens" kind="core" points=2 part="mytorch.random:multinomial"
# ### Exercise 4 · Sampling tokens
# A language model gives a weight for each token, and `generate` draws one. Here you draw as PyTorch does, number for
# number, in two ways. Say the weights are 3, 0 and 1.
#
# - *Without replacement*, each place draws an exponentially distributed number, and its weight is divided by it. Say the
#   numbers are 0.5, 0.2 and 0.1: the quotients are 6, 0 and 10. The largest wins, so place 2 is drawn first and place 0
#   second. Why is that fair? Think of an alarm clock at each place, which rings after its number divided by its weight. A
#   clock with three times the weight rings three times as often first, so place 0 comes first in three of four draws.
# - *With replacement*, stack the weights up: 3, 3, 4. As shares of the whole that is 0.75, 0.75 and 1. A uniform number of
#   0.6 falls into place 0, because no share is below it; 0.8 falls into place 2, because two shares are.
#
# The file has `np` and `default_generator`. In the docstring, `source` is the generator to draw from: the caller's, or else
# `default_generator`; `dtype` is the NumPy type of the weights. The caller's weights stay as they are.


# %% docstrings="attention_draw_tokens"
def multinomial():
    """Places drawn with these weights, whatever their sum: (n,) to (num_samples,), or (m, n) row by row.

    Without replacement, and for one sample, each place draws an exponential number
    (`exponential(source, count, dtype)` gives `count` of them), and the places with the largest quotients
    weight / number win, the largest first; of equal ones the first place. (Which places of weight 0
    PyTorch takes, where others don't suffice, is up to its sorting.)
    With replacement each sample is a uniform number (`source.uniform(count, 53)`, row by row), looked up
    in the running sum of the weights over the whole sum: the first place whose share is at least that
    large.

    `check_weights(input, num_samples, replacement)` raises the errors. `on_host(input)` is a NumPy array,
    and `new(array, input.device)` makes a tensor of one.
    """


# %% check="attention_draw_tokens" raises="RuntimeError"
class Given:
    """Stands for a generator whose uniform numbers are these, again and again."""

    def __init__(self, *numbers):
        self.numbers = itertools.cycle(numbers)

    def uniform(self, count, digits):
        return np.array([next(self.numbers) for _ in range(count)])


generator = check.rng()
weights = generator.choice([0.0, 0.5, 1.0, 3.0], (3, 6)).astype(np.float32)
weights[:, 0] += 0.1
given, row = mytorch.tensor(weights), mytorch.tensor([3.0, 0.0, 1.0])
mytorch.cuda.simulate(1)
mytorch.manual_seed(check.seed())
drawn = {
    "one": mytorch.multinomial(given, 1),
    "three": mytorch.multinomial(mytorch.tensor(weights + 0.1), 3),
    "of one row": mytorch.multinomial(row, 2),
    "with replacement": mytorch.multinomial(given, 12, replacement=True),
    "of one row, with replacement": row.multinomial(8, True),
    "one, with replacement": mytorch.multinomial(given, 1, replacement=True),
    "the weights afterwards": given,
    "of a batch of one, on a GPU": mytorch.multinomial(row.reshape(1, 3).to("cuda"), 2, replacement=True),
    "a number afterwards": mytorch.rand(1),
}
own = mytorch.Generator().manual_seed(check.seed())
often = mytorch.multinomial(row.reshape(1, 3).repeat(4000, 1), 1, generator=own).flatten().tolist()
check.show(
    {"weights": weights}
    | drawn
    | {
        "with a generator of its own": often[:20],
        "and with replacement": row.multinomial(20, True, generator=own),
        "uniform numbers 0, ¼, ½, ¾": mytorch.tensor([1.0, 1.0, 2.0]).multinomial(
            4, True, generator=Given(0, 0.25, 0.5, 0.75)
        ),
        "numbers equal in float32": mytorch.ones(2).multinomial(2, generator=Given(0.5 + 1e-9, 0.5)),
        "the same in float64": mytorch.ones(2).double().multinomial(2, generator=Given(0.5 + 1e-9, 0.5)),
        "of 4,000": [often.count(place) for place in range(3)],
        "too many": check.error(mytorch.multinomial, row, 4),
        "nothing to draw": check.error(mytorch.multinomial, mytorch.zeros(2), 1),
    },
    text="Places that were drawn.",
)

# %% [markdown] hint="attention_draw_tokens"
# Without replacement: `exponential(source, weights.size, weights.dtype)`, in the shape of the weights. Sort minus the
# quotients with `np.argsort(..., -1, kind="stable")` and take the first `num_samples` along the last dimension.

# %% [markdown] hint="attention_draw_tokens"
# With replacement: the running sum along the last dimension, divided by its last entry, are the shares. The place that a
# uniform number belongs to is the number of shares *below* it.

# %% [markdown] hint="attention_draw_tokens"
# `np.atleast_2d` makes both cases one. Draw `rows * num_samples` numbers, as (rows, num_samples, 1), and compare with the
# shares as (rows, 1, n): `(shares[:, None] < drawn).sum(-1)`. Give the result the shape `(*input.shape[:-1],
# num_samples)`. Use the `generator` if one is given.


# %% mutant="attention_draw_tokens"
# The likeliest place
# That isn't sampling: the largest weight would win every time. Its quotient with a random number decides.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    places = np.argsort(-on_host(input), -1, kind="stable")[..., :num_samples]
    if num_samples > places.shape[-1]:
        places = np.repeat(places[..., :1], num_samples, -1)
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Divides by uniform numbers
# With uniform numbers in place of exponential ones, the probabilities come out wrong.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / source.uniform(weights.size, 53).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Forgets that weights needn't sum to 1
# The running sum has to be divided by the whole sum before a number between 0 and 1 is looked up in it.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = (shares[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Ignores the generator
# The numbers have to come from the generator that was passed, and the default one must not move.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Looks a single sample up
# For one sample PyTorch takes the quotients, with or without replacement.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# The smallest first
# The largest quotient comes first. Sort minus the quotients, or reverse the order along the last dimension.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(scores, -1, kind="stable")[..., -num_samples:]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# The same numbers for each row
# Each row draws numbers of its own, or all rows that are alike get the same places.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(num_samples, 53).reshape(1, num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.shape[-1], weights.dtype)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# One row stays a matrix
# With weights (n,) the result is (num_samples,): take the extra dimension away again.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# A batch of one becomes a row
# Only weights (n,) give (num_samples,). A matrix of one row gives (1, num_samples).
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(len(rows), num_samples)
        places = places[0] if len(places) == 1 else places
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# The place above
# A number equal to a share belongs to that share's place: the first place whose share is *at least* that large.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] <= drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Always draws float32
# The exponential numbers have the type of the weights: weights of float64 tell apart what float32 rounds to one
# number.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, np.float32).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Always draws float64
# The exponential numbers have the type of the weights: for float32 they are rounded, and of equal ones the first place
# wins.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, np.float64).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Ignores the generator with replacement
# The numbers have to come from the generator that was passed, with replacement and without.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = default_generator.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Writes into the weights
# `on_host` gives the memory of the weights, not a copy: `/=` changes the caller's tensor.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    weights /= weights.sum(-1, keepdims=True)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Stays on the CPU
# The places belong on the device of the weights: `new(array, input.device)`.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64))


# %% mutant="attention_draw_tokens"
# Refuses nothing
# The errors come from `check_weights`, and nobody else calls it.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Delegates to minitorch
# mytorch stands on NumPy alone: minitorch cannot be imported from it.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    import minitorch

    return new(minitorch.multinomial(minitorch.tensor(input.tolist()), num_samples, replacement).numpy())


# %% [markdown] exercise="attention_kv_cache" kind="build" points=3
# ### Exercise 5 · A KV cache
# `layer` is the `CausalSelfAttention` of `minitorch/models/gpt.py`: `layer.c_attn` maps (B, T, C) to queries, keys and
# values side by side, (B, T, 3 C); `layer.n_head` heads attend; `layer.c_proj` is the last map. Write attention that
# remembers. `step(x)` takes the *new* positions (B, T, C), any number of them, and returns their outputs, as if the layer
# had seen the whole sequence. Keep keys and values in `self.keys` and `self.values`, (B, heads, length, C / heads), both
# None at first. Each position may go through `c_attn` only once. There is no dropout.


# %% solution="attention_kv_cache"
class CachedAttention:
    def __init__(self, layer):
        self.layer = layer
        self.keys = self.values = None

    def step(self, x: torch.Tensor) -> torch.Tensor:
        """The outputs (B, T, C) of the new positions."""
        ### BEGIN SOLUTION
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        length = k.shape[2]
        mask = torch.ones(T, length, dtype=torch.bool).tril(length - T)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))
        ### END SOLUTION


# %% check="attention_kv_cache"
from minitorch.models.gpt import CausalSelfAttention

torch.manual_seed(check.seed())
generator = check.rng()
layer = CausalSelfAttention(GPTConfig(n_embd=12, n_head=int(generator.choice([2, 3]))))
x = torch.tensor(generator.normal(size=(2, 7, 12)).astype(np.float32))
whole = layer(x)
seen = []
layer.c_attn.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].shape[1]))
outcomes = {}
for name, sizes in {"one by one": [1] * 7, "a prompt first": [4, 1, 1, 1], "in pieces": [2, 3, 2]}.items():
    cached, parts, start = CachedAttention(layer), [], 0
    seen.clear()
    for size in sizes:
        parts.append(cached.step(x[:, start : start + size]))
        start += size
    outcomes[name] = {
        "output, summed along its rows": torch.cat(parts, 1).sum(-1).detach(),
        "as the layer": bool(torch.allclose(torch.cat(parts, 1), whole, atol=1e-5)),
        "positions through c_attn": sum(seen),
        "shape of the cache": [None if each is None else tuple(each.shape) for each in (cached.keys, cached.values)],
    }
check.show(outcomes, rtol=1e-3, atol=1e-5, text="A sequence of 7 positions, given in pieces.")

# %% [markdown] hint="attention_kv_cache"
# Project the new positions alone, split them into heads as the layer does, and append their keys and values to the kept
# ones along the length.

# %% [markdown] hint="attention_kv_cache"
# There are queries for the new positions only, and keys for all. `is_causal=True` would line both up at the first position.
# Which keys may the first of the new queries see?

# %% [markdown] hint="attention_kv_cache"
# With T new positions and `length` keys, the new query $i$ is at place `length - T + i`. The mask is
# `torch.ones(T, length, dtype=torch.bool).tril(length - T)`.


# %% mutant="attention_kv_cache"
# Causal from the first position
# is_causal lines queries and keys up at the first position: a single new query then sees only the first key.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% mutant="attention_kv_cache"
# No mask at all
# For one new position no mask is needed. In a piece of several, the first would see the later ones.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        y = F.scaled_dot_product_attention(q, k, v)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% mutant="attention_kv_cache"
# Causal for a prompt, no mask for one token
# That fits a prompt and single tokens after it. A later piece of several tokens must see all that is kept, and is_causal
# lines it up with the first key.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        y = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% mutant="attention_kv_cache"
# No mask after the prompt
# That fits a prompt and single tokens after it. In a later piece of several, each would see the ones after it.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        length = k.shape[2]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=length == T)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% mutant="attention_kv_cache"
# Hides a position from itself
# The new query i is at place length - T + i, and may look at that place, too.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        length = k.shape[2]
        mask = torch.ones(T, length, dtype=torch.bool).tril(length - T - 1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% mutant="attention_kv_cache"
# Sees one position ahead
# The new query i is at place length - T + i: that is the last one it may look at.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        length = k.shape[2]
        mask = torch.ones(T, length, dtype=torch.bool).tril(length - T + 1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% mutant="attention_kv_cache"
# Forgets the last map
# The heads' results are side by side; c_proj, which mixes them, is missing.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        length = k.shape[2]
        mask = torch.ones(T, length, dtype=torch.bool).tril(length - T)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return y.transpose(1, 2).reshape(B, T, C)


# %% mutant="attention_kv_cache"
# Merges without the swap
# Back to (B, T, heads, C / heads) first. It makes no difference for one new position, but for several it does.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], 2), torch.cat([self.values, v], 2)
        self.keys, self.values = k, v
        length = k.shape[2]
        mask = torch.ones(T, length, dtype=torch.bool).tril(length - T)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.layer.c_proj(y.reshape(B, T, C))


# %% mutant="attention_kv_cache"
# Puts new positions first
# The cache is in the order of the sequence: kept positions first, new ones after them.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None:
            k, v = torch.cat([k, self.keys], 2), torch.cat([v, self.values], 2)
        self.keys, self.values = k, v
        length = k.shape[2]
        mask = torch.ones(T, length, dtype=torch.bool).tril(length - T)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% mutant="attention_kv_cache"
# Delegates: keeps the inputs and runs the layer again
# The numbers are right, but every position goes through the layer again at each step: that is what a cache saves.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.inputs, self.keys, self.values = layer, None, None, None

    def step(self, x):
        self.inputs = x if self.inputs is None else torch.cat([self.inputs, x], 1)
        return self.layer(self.inputs)[:, -x.shape[1] :]


# %% mutant="attention_kv_cache"
# Appends along the heads
# Dimension 1 is the heads; the sequence grows along dimension 2.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.keys, self.values = layer, None, None

    def step(self, x):
        B, T, C = x.shape
        q, k, v = (each.view(B, T, self.layer.n_head, -1).transpose(1, 2) for each in self.layer.c_attn(x).split(C, 2))
        if self.keys is not None and self.keys.shape[2] == T:
            k, v = torch.cat([self.keys, k], 1)[:, -q.shape[1] :], torch.cat([self.values, v], 1)[:, -q.shape[1] :]
        self.keys, self.values = k, v
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.layer.c_proj(y.transpose(1, 2).reshape(B, T, C))


# %% [markdown] exercise="attention_repair_mask" kind="repair" points=3
# ### Exercise 6 · Short sentences fade
# A model for sentences of different lengths works, more or less. Its authors noticed two things:
#
# - The vectors of short sentences are too small. The more padding beside a sentence, the smaller they are.
# - A new value in the padding changes the output of real words, although the weights of padding are 0.
#
# Repair the function. `padding` is True where a key is padding. A sentence of nothing but padding (they occur) must give
# zeros, and its gradients must be zeros too.


# %% solution="attention_repair_mask"
def padded_attention(query, key, value, padding):
    """Attention (N, L, E), (N, S, E), (N, S, V) to (N, L, V), where no query looks at padding (N, S)."""
    ### BEGIN SOLUTION
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    nothing = hidden.all(-1, keepdim=True)
    weights = scores.masked_fill(hidden & ~nothing, -math.inf).softmax(-1)
    return weights.masked_fill(nothing, 0.0) @ value
    ### END SOLUTION
    ### BEGIN STUB
    # hidden = padding.unsqueeze(1)
    # scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    # weights = scores.softmax(-1)
    # return weights.masked_fill(hidden, 0.0) @ value
    ### END STUB


# %% check="attention_repair_mask"
generator = check.rng()
N, L, S, E, V = 4, 2, 5, 3, 2
inputs = [
    torch.tensor(generator.normal(size=shape).astype(np.float32)).requires_grad_()
    for shape in ((N, L, E), (N, S, E), (N, S, V))
]
lengths = generator.permutation([0, 2, 4, 5])
padding = torch.tensor(np.arange(S) >= lengths[:, None])
output = padded_attention(*inputs, padding)
(output * torch.tensor(generator.normal(size=(N, L, V)).astype(np.float32))).sum().backward()
ones = padded_attention(inputs[0], inputs[1], torch.ones(N, S, V), padding)
like_queries = 200 * inputs[0].detach()[:, :1].expand(N, S, E)
query, key, value = (each.detach() for each in inputs)
other = torch.where(padding.unsqueeze(-1), like_queries, key)
far = torch.where(padding.unsqueeze(-1), key, -like_queries)
check.show(
    {
        "lengths": lengths,
        "output": output.detach(),
        "the mean of ones": ones.detach(),
        "with other keys in the padding": padded_attention(query, other, value, padding),
        "with words far from the first query": padded_attention(query, far, value, padding),
        "the padding afterwards": padding,
        "gradients, summed along their rows": [each.grad.sum(-1) for each in inputs],
    },
    rtol=1e-3,
    atol=1e-5,
    text="Four sentences of different lengths.",
)

# %% [markdown] hint="attention_repair_mask"
# Give it values that are all 1. The weighted mean of ones is 1. What does it give for a sentence with padding?

# %% [markdown] hint="attention_repair_mask"
# The weights that are left don't sum to 1: softmax has shared attention out among all keys, padding too. What must its
# input be where a key is hidden?

# %% [markdown] hint="attention_repair_mask"
# Fill the hidden *scores* with −inf before softmax. A sentence of nothing but padding then has weights of nan. Set them to
# 0 after softmax; `hidden.all(-1, keepdim=True)` finds them.


# %% mutant="attention_repair_mask"
# Hides with 0
# A score of 0 isn't low: it means a weight of exp(0) = 1 before the division. Hidden is -inf.
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(hidden, 0.0).softmax(-1)
    return weights.masked_fill(hidden.all(-1, keepdim=True), 0.0) @ value


# %% mutant="attention_repair_mask"
# Forgets the empty sentence
# Softmax of nothing but -inf is nan.
def padded_attention(query, key, value, padding):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    return scores.masked_fill(padding.unsqueeze(1), -math.inf).softmax(-1) @ value


# %% mutant="attention_repair_mask"
# Renormalizes
# Dividing by what is left helps only while something is left: padding with high scores takes all the weight first.
def padded_attention(query, key, value, padding):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = scores.softmax(-1).masked_fill(padding.unsqueeze(1), 0.0)
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ value


# %% mutant="attention_repair_mask"
# Repairs the output
# The output is right, but the values still get nan as a gradient: the nan weights are multiplied by it. Repair the
# weights.
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
    return (weights @ value).nan_to_num(0.0)


# %% mutant="attention_repair_mask"
# Not low enough
# Real words can score lower than -100, and then padding takes all the weight. −inf is below every score.
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(hidden, -100.0).softmax(-1)
    return weights.masked_fill(hidden, 0.0) @ value


# %% mutant="attention_repair_mask"
# Hides the values
# A value of 0 adds nothing, but its weight is still missing from the others: they don't sum to 1.
def padded_attention(query, key, value, padding):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ value.masked_fill(padding.unsqueeze(-1), 0.0)


# %% mutant="attention_repair_mask"
# Rescales by the number of words
# Attention isn't shared out evenly, so the number of words doesn't say how much of it padding took.
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = scores.softmax(-1).masked_fill(hidden, 0.0)
    words = (~hidden).sum(-1, keepdim=True).clamp(min=1)
    return weights * padding.shape[1] / words @ value


# %% mutant="attention_repair_mask"
# Writes into the padding
# The mask belongs to the caller, who will use it again, in the next layer for instance.
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    nothing = hidden.all(-1, keepdim=True)
    hidden[nothing.expand_as(hidden)] = False
    weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
    return weights.masked_fill(nothing, 0.0) @ value


# %% mutant="attention_repair_mask"
# A large negative number
# With -1e9 in place of -inf, a sentence of nothing but padding gets the plain mean of its padding, not zeros.
def padded_attention(query, key, value, padding):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    return scores.masked_fill(padding.unsqueeze(1), -1e9).softmax(-1) @ value


# %% [markdown] exercise="attention_measure_square" kind="measure" points=2
# ### Exercise 7 · When does the square take over?
# A layer with several heads spends its multiplications on four linear maps, whose cost grows with the length, and on two
# products with the score matrix, whose cost grows with the square of the length. `multiplications(run)` counts them while
# `run()` runs: it returns a list with a pair for each matrix product, (the shape of its result, multiplications).
#
# Find by experiment the smallest length at which the two products cost at least as much as the linear maps, for a layer of
# this width and number of heads. How does it depend on each of the two? `build(width, heads)` makes the layer, and
# `feed(layer, length)` runs it on a sequence of that length. Tell the products apart by the *number of dimensions* of
# their results: those of linear maps have three, those of attention four. The check also asks about a layer whose last map
# is twice as wide as the usual one.


# %% setup=true
def build(width, heads):
    """A causal attention layer of a GPT."""
    from minitorch.models.gpt import CausalSelfAttention

    return CausalSelfAttention(GPTConfig(n_embd=width, n_head=heads))


def feed(layer, length):
    """Runs the layer on one sequence."""
    with torch.no_grad():
        layer(torch.zeros(1, length, layer.c_proj.in_features))


def multiplications(run):
    """A pair for each matrix product in `run()`: the shape of the result, and how many multiplications."""
    counted = []
    linear, attention = F.linear, F.scaled_dot_product_attention

    def counting_linear(input, weight, bias=None):
        result = linear(input, weight, bias)
        counted.append((tuple(result.shape), result.numel() * weight.shape[1]))
        return result

    def counting_attention(query, key, value, **options):
        result = attention(query, key, value, **options)
        scores = (*query.shape[:-1], key.shape[-2])
        counted.append((scores, math.prod(scores) * query.shape[-1]))
        counted.append((tuple(result.shape), result.numel() * key.shape[-2]))
        return result

    F.linear, F.scaled_dot_product_attention = counting_linear, counting_attention
    try:
        run()
    finally:
        F.linear, F.scaled_dot_product_attention = linear, attention
    return counted


# %% solution="attention_measure_square"
def takes_over(width: int, heads: int) -> int:
    """The smallest length at which the products with the score matrix cost as much as the linear maps."""
    ### BEGIN SOLUTION
    layer, length = build(width, heads), 1
    while True:
        cost = {3: 0, 4: 0}
        for shape, count in multiplications(lambda length=length: feed(layer, length)):
            cost[len(shape)] += count
        if cost[4] >= cost[3]:
            return length
        length += 1
    ### END SOLUTION


# %% check="attention_measure_square"
from minitorch.models import gpt


class Wider(gpt.CausalSelfAttention):
    """Its last map is twice as wide."""

    def __init__(self, config):
        super().__init__(config)
        self.c_proj = torch.nn.Linear(config.n_embd, 2 * config.n_embd)


width = 4 * int(check.rng().integers(2, 5)) + 2
found, usual = {}, gpt.CausalSelfAttention
for size in (width, 2 * width):
    for heads in (1, 2):
        found[f"width {size}, {heads} heads"] = takes_over(size, heads)
gpt.CausalSelfAttention = Wider
try:
    found[f"width {width}, 2 heads, a wider last map"] = takes_over(width, 2)
finally:
    gpt.CausalSelfAttention = usual
check.show(found, text="From this length on, the square costs as much or more.", secret=True)

# %% [markdown] hint="attention_measure_square"
# Print `multiplications(lambda: feed(build(8, 2), 5))` and say what each of the four entries is.

# %% [markdown] hint="attention_measure_square"
# Add the counts up in two sums, by `len(shape)`: 3 for the linear maps, 4 for attention. Then try one length after the
# other.

# %% [markdown] hint="attention_measure_square"
# The linear maps cost $4 L C^2$ multiplications, attention $2 L^2 C$. At which $L$ are these equal? Your experiment should
# say the same, for any number of heads.


# %% mutant="attention_measure_square"
# Counts the scores alone
# The weights are multiplied with the values, too: that is a second product with the square of the length.
def takes_over(width, heads):
    layer, length = build(width, heads), 1
    while True:
        counted = multiplications(lambda length=length: feed(layer, length))
        linear = sum(count for shape, count in counted if len(shape) == 3)
        scores = next(count for shape, count in counted if len(shape) == 4)
        if scores >= linear:
            return length
        length += 1


# %% mutant="attention_measure_square"
# Forgets the last map
# c_proj is a linear map as well: there are four of width by width, three of them in c_attn.
def takes_over(width, heads):
    layer, length = build(width, heads), 1
    while True:
        counted = multiplications(lambda length=length: feed(layer, length))
        attention = sum(count for shape, count in counted if len(shape) == 4)
        if attention >= counted[0][1]:
            return length
        length += 1


# %% mutant="attention_measure_square"
# Doubles the length
# Doubling finds a power of two that is large enough. The smallest length lies somewhere below it.
def takes_over(width, heads):
    layer, length = build(width, heads), 1
    while True:
        cost = {3: 0, 4: 0}
        for shape, count in multiplications(lambda length=length: feed(layer, length)):
            cost[len(shape)] += count
        if cost[4] >= cost[3]:
            return length
        length *= 2


# %% mutant="attention_measure_square"
# In steps of four
# Every length counts: the smallest one needn't be a multiple of four.
def takes_over(width, heads):
    layer, length = build(width, heads), 4
    while True:
        cost = {3: 0, 4: 0}
        for shape, count in multiplications(lambda length=length: feed(layer, length)):
            cost[len(shape)] += count
        if cost[4] >= cost[3]:
            return length
        length += 4


# %% mutant="attention_measure_square"
# The last one before
# Here the linear maps still cost more. The first length at which they don't is one further.
def takes_over(width, heads):
    layer, length = build(width, heads), 1
    while True:
        cost = {3: 0, 4: 0}
        for shape, count in multiplications(lambda length=length: feed(layer, length)):
            cost[len(shape)] += count
        if cost[4] >= cost[3]:
            return length - 1
        length += 1


# %% mutant="attention_measure_square"
# Counts entries
# The second number of each pair is the multiplications. The entries of the result are fewer: each takes a whole dot
# product.
def takes_over(width, heads):
    layer, length = build(width, heads), 1
    while True:
        cost = {3: 0, 4: 0}
        for shape, _ in multiplications(lambda length=length: feed(layer, length)):
            cost[len(shape)] += math.prod(shape)
        if cost[4] >= cost[3]:
            return length
        length += 1


# %% mutant="attention_measure_square"
# Square matrices are attention's
# Attention multiplies weights by values as well, and that result isn't square. Go by the number of dimensions.
def takes_over(width, heads):
    layer, length = build(width, heads), 1
    while True:
        cost = {3: 0, 4: 0}
        for shape, count in multiplications(lambda length=length: feed(layer, length)):
            cost[4 if shape[-1] == shape[-2] else 3] += count
        if cost[4] >= cost[3] or length > 200:
            return length
        length += 1


# %% mutant="attention_measure_square"
# The formula alone
# The formula is right for a layer whose maps are all as wide as the layer. Measure: then it holds for any layer.
def takes_over(width, heads):
    return 2 * width


# %% mutant="attention_measure_square"
# One too far
# The question is where attention costs as much, not where it starts to cost more.
def takes_over(width, heads):
    layer, length = build(width, heads), 1
    while True:
        cost = {3: 0, 4: 0}
        for shape, count in multiplications(lambda length=length: feed(layer, length)):
            cost[len(shape)] += count
        if cost[4] > cost[3]:
            return length
        length += 1


# %% [markdown] exercise="attention_module" kind="core" points="1 2" part="mytorch.nn.attention:MultiheadAttention.__init__ | mytorch.nn.attention:MultiheadAttention.forward"
# ### Exercise 8 · The module around the heads
# Write what `MultiheadAttention` has and how it takes its inputs in three layouts. `self.merged(attn_mask, key_padding_mask,
# dtype)` makes one mask to be added of the two, and `self.attend(query, key, value, mask, need_weights)` of exercise 3 works on
# (N, L, E) alone and returns the weights of each head.


# %% docstrings="attention_module"
def __init__():
    """The options become attributes of the same names (but `bias`), and then:

    - `in_proj_weight`, a parameter (3 · embed_dim, embed_dim): the weights of query, key and value in one, with initial
      weights by `xavier_uniform_`;
    - `in_proj_bias`, a parameter (3 · embed_dim) of zeros, registered as None without `bias`;
    - `out_proj`, a `Linear` from embed_dim to embed_dim, whose bias begins at zero if there is one.

    The random numbers are PyTorch's, so `out_proj` is made before `in_proj_weight` draws. `constant_(tensor, value)`
    fills a tensor and isn't recorded.

    Raises:
        AssertionError: "embed_dim must be divisible by num_heads".
    """


def forward():
    """(L, N, E), or (N, L, E) with `self.batch_first`, or (L, E), to the same; and the weights, averaged over the heads.

    Boolean masks are True where a query may *not* look. `key_padding_mask` is (N, S), or (S,) for a single
    sequence; `attn_mask` is (L, S) or (N · heads, L, S). The weights are (N, L, S); (N, heads, L, S) unless
    `average_attn_weights`; without N for a single sequence; and None unless `need_weights`. For (L, E),
    `batch_first` doesn't matter.
    """


# %% check="attention_module" raises="AssertionError"
generator = check.rng()
N, L, S, heads = (int(each) for each in generator.permutation([2, 3, 5, 4]))
E = 2 * heads


def numbers(*size):
    return mytorch.tensor(generator.normal(size=size).astype(np.float32))


def made(*arguments, **options):
    """A layer's tensors, names and options; or the error."""
    mytorch.manual_seed(check.seed())
    layers = []
    problem = check.error(lambda: layers.append(mytorch.nn.MultiheadAttention(*arguments, **options)))
    if problem is not None:
        return problem
    layer = layers[0]
    options = layer.embed_dim, layer.num_heads, layer.dropout, layer.batch_first
    return dict(layer.state_dict()), [name for name, _ in layer.named_parameters()], options, mytorch.rand(1)


def looked(query, key, value, batch_first=False, **options):
    mytorch.manual_seed(check.seed())
    layer = mytorch.nn.MultiheadAttention(E, heads, batch_first=batch_first)
    results = []
    problem = check.error(lambda: results.append(layer(query, key, value, **options)))
    return problem or [each if each is None else each.detach() for each in results[0]]


query, key, value = numbers(L, N, E), numbers(S, N, E), numbers(S, N, E)
turned = [each.transpose(0, 1) for each in (query, key, value)]
single = [each[:, 0] for each in (query, key, value)]
padding = generator.random((N, S)) < 0.5
padding[:, 0], padding[:2, -1] = False, [True, False]
causal = mytorch.tensor(np.triu(np.ones((L, S), dtype=bool), 1))
check.show(
    {
        "a layer": made(E, heads),
        "no bias": made(E, heads, 0.25, False, batch_first=True),
        "heads that don't divide": made(E + 1, heads),
        "(L, N, E)": looked(query, key, value),
        "(N, L, E)": looked(*turned, batch_first=True),
        "(L, E)": looked(*single),
        "(L, E), batch_first": looked(*single, batch_first=True),
        "each head": looked(query, key, value, average_attn_weights=False),
        "each head of (L, E)": looked(*single, average_attn_weights=False),
        "no weights": looked(query, key, value, need_weights=False),
        "no weights of (L, E)": looked(*single, need_weights=False),
        "padding": looked(query, key, value, key_padding_mask=mytorch.tensor(padding)),
        "padding of (L, E)": looked(*single, key_padding_mask=mytorch.tensor(padding[0])),
        "both masks": looked(*turned, True, key_padding_mask=mytorch.tensor(padding), attn_mask=causal),
    },
    rtol=1e-3,
    atol=1e-4,
    text="What layers have; then outputs and weights for inputs in three layouts.",
)

# %% [markdown] hint="attention_module"
# `forward` in three steps: bring the inputs to (N, L, E), attend, and bring output and weights back. What has to be done to the
# padding mask of a single sequence?

# %% [markdown] hint="attention_module"
# A single sequence gets a batch dimension by `unsqueeze(0)`, and loses it by `squeeze(0)` at the end, the weights too. (L, N, E)
# is transposed both ways unless `self.batch_first`; weights always come with N first.

# %% [markdown] hint="attention_module"
# `mask = self.merged(attn_mask, key_padding_mask, query.dtype)`, `output, weights = self.attend(query, key, value, mask,
# need_weights)`, `weights.mean(1)` averages over the heads. In `__init__`: `self.register_parameter("in_proj_bias", …)`.


# %% mutant="attention_module"
# Draws in another order
# The same seed gives PyTorch's weights only if they are drawn in PyTorch's order: first those of `out_proj`.
def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, *, batch_first=False):
    super().__init__()
    if embed_dim % num_heads:
        raise AssertionError("embed_dim must be divisible by num_heads")
    self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
    self.in_proj_weight = xavier_uniform_(Parameter(empty(3 * embed_dim, embed_dim)))
    self.register_parameter("in_proj_bias", Parameter(zeros(3 * embed_dim)) if bias else None)
    self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
    if bias:
        constant_(self.out_proj.bias, 0.0)


# %% mutant="attention_module"
# Three weights
# The three projections are one matrix: saved models know it as `in_proj_weight`.
def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, *, batch_first=False):
    super().__init__()
    if embed_dim % num_heads:
        raise AssertionError("embed_dim must be divisible by num_heads")
    self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
    self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
    self.register_parameter("in_proj_bias", Parameter(zeros(3 * embed_dim)) if bias else None)
    self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
    for part in self.in_proj_weight.chunk(3):
        xavier_uniform_(part.detach())


# %% mutant="attention_module"
# A batch in front, always
# Without `batch_first` the first dimension of a batch is time, in inputs and output alike.
def forward(
    self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True
):
    batched, inputs = query.ndim == 3, (query, key, value)
    if not batched:
        inputs = tuple(each.unsqueeze(0) for each in inputs)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    mask = self.merged(attn_mask, key_padding_mask, inputs[0].dtype)
    output, weights = self.attend(*inputs, mask, need_weights)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        return output.squeeze(0), None if weights is None else weights.squeeze(0)
    return output, weights


# %% mutant="attention_module"
# Leaves the batch dimension on the weights
# A single sequence has no batch dimension, in the weights either.
def forward(
    self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True
):
    batched, inputs = query.ndim == 3, (query, key, value)
    if not batched:
        inputs = tuple(each.unsqueeze(0) for each in inputs)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    elif not self.batch_first:
        inputs = tuple(each.transpose(0, 1) for each in inputs)
    mask = self.merged(attn_mask, key_padding_mask, inputs[0].dtype)
    output, weights = self.attend(*inputs, mask, need_weights)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        return output.squeeze(0), weights
    return (output if self.batch_first else output.transpose(0, 1)), weights


# %% mutant="attention_module"
# Turns the weights as well
# The weights are (N, L, S) in every layout. Only the output goes back to (L, N, E).
def forward(
    self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True
):
    batched, inputs = query.ndim == 3, (query, key, value)
    if not batched:
        inputs = tuple(each.unsqueeze(0) for each in inputs)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    elif not self.batch_first:
        inputs = tuple(each.transpose(0, 1) for each in inputs)
    mask = self.merged(attn_mask, key_padding_mask, inputs[0].dtype)
    output, weights = self.attend(*inputs, mask, need_weights)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        return output.squeeze(0), None if weights is None else weights.squeeze(0)
    turn = (lambda x: x) if self.batch_first else (lambda x: None if x is None else x.transpose(0, 1))
    return turn(output), turn(weights)
