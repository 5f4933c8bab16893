# %% [markdown]
# # Exercises · Attention
# Four of the exercises add to your library. Once they are solved, a GPT runs on your attention and writes with your
# sampling.

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
# Six tokens go through self-attention, and row $i$ of the result belongs to token $i$. Then token 2 (counted from 0)
# is replaced by a different token. How many rows of the result change
#
# - a) with a causal mask,
# - b) without a mask,
# - c) without a causal mask, if key 2 is masked for all queries, as padding is?
#
# Set `prediction` to a list of three integers.

# %% solution="attention_predict_changes"
### BEGIN SOLUTION
prediction = [4, 6, 1]
### END SOLUTION

# %% check="attention_predict_changes"
check.show({"rows that change": [int(each) for each in prediction]}, secret=True)

# %% [markdown] hint="attention_predict_changes"
# A token takes part in three ways: its query is compared with the keys, its key is compared with the queries, and its
# value is averaged. Which rows depend on each of these?

# %% [markdown] hint="attention_predict_changes"
# With a causal mask, token 2 is visible to itself and to all later tokens.

# %% [markdown] hint="attention_predict_changes"
# Masking key 2 removes its key and its value from every row. Its own query remains, so row 2 changes.

# %% mutant="attention_predict_changes"
# Forgets that a token sees itself
# The diagonal isn't masked: with a causal mask, row 2 itself changes as well as rows 3, 4 and 5.
prediction = [3, 6, 1]

# %% mutant="attention_predict_changes"
# Without a mask, the other rows
# Key 2 changes for every query, and row 2 also has a new query, so without a mask all six rows change.
prediction = [4, 5, 1]

# %% mutant="attention_predict_changes"
# Only its own row
# The key and the value of token 2 enter every row that may attend to it, which are 4 with a causal mask and all 6
# without a mask.
prediction = [1, 1, 1]

# %% mutant="attention_predict_changes"
# Masked means gone
# No query attends to a masked key, but the token's own query remains, so row 2 changes. (Nothing downstream should
# read that row.)
prediction = [4, 6, 0]

# %% mutant="attention_predict_changes"
# The other rows, without a mask and with padding
# Row 2 has a new query whatever is masked, so it changes as well. And a key to which no query attends changes no
# other row.
prediction = [4, 5, 0]

# %% mutant="attention_predict_changes"
# Padding hides nothing
# If no query attends to key 2, its value reaches no other row. Only row 2 changes, because its own query is new.
prediction = [4, 6, 6]

# %% mutant="attention_predict_changes"
# Padding hides a token from itself alone
# It is the other way round: no query attends to key 2, so the other rows stay the same, while row 2's own query is
# new.
prediction = [4, 6, 5]

# %% mutant="attention_predict_changes"
# Leaves row 2 out everywhere
# Token 2's own query is new in all three cases, so row 2 changes with a causal mask, without a mask, and as padding.
prediction = [3, 5, 0]

# %% mutant="attention_predict_changes"
# Causal in the wrong direction
# A causal mask hides later tokens from earlier ones. Rows 0 and 1 don't depend on token 2, while rows 2 to 5 do.
prediction = [3, 6, 0]


# %% [markdown] exercise="attention_scaled_dot_product" kind="core" points=3 part="mytorch.nn.attention:scaled_dot_product_attention"
# ### Exercise 2 · Attention
# Attention is three lines of mathematics plus the masks. Your function goes into a file that has `softmax`,
# `dropout`, `additive`, `ones`, `boolean` and `math`; `x.mT` swaps the last two dimensions. The hard part is a query
# with no key left to attend to, because softmax of a row of −inf is nan, and nan times 0 is nan in the backward pass
# as well. Find these rows *before* softmax and replace their scores by harmless values. A floating-point mask may be
# learned, so it receives a gradient too.


# %% docstrings="attention_scaled_dot_product"
def scaled_dot_product_attention():
    """softmax(query keyᵀ · scale + mask) value: (..., L, E), (..., S, E) and (..., S, V) to (..., L, V).

    `scale` is 1/√E if it is None. A boolean mask, broadcast to (..., L, S), is True where a query may attend,
    and the other scores become -inf. A floating-point mask is added to the scores. `additive(mask, dtype)`
    converts a mask of either kind into values to add. With `is_causal`, query i attends to keys 0 to i:
    `ones(L, S, dtype=boolean, device=query.device).tril()`. A query whose scores are all -inf because of the
    mask has weights of 0 and gradients of 0, not nan. The weights go through `dropout(weights, dropout_p)`
    before they are multiplied by the values.

    `check_attention(query, key, value, attn_mask, is_causal)` raises the errors.
    Source: Vaswani et al. 2017, arXiv:1706.03762
    """


# %% check="attention_scaled_dot_product" raises="RuntimeError"
generator = check.rng()
L, S, E, V = (int(each) for each in generator.permutation([2, 3, 4, 5]))


def attended(front=(), **options):
    """The result, and the sums over the rows of all three gradients."""
    shapes = (*front, L, E), (*front, S, E), (*front, S, V)
    arrays = [generator.normal(size=shape).astype(np.float32) for shape in shapes]
    inputs = [mytorch.tensor(each).requires_grad_() for each in arrays]
    result = check.intact(mytorch.nn.functional.scaled_dot_product_attention, *inputs, **options)
    (result * mytorch.arange(result.numel()).reshape(result.shape)).sum().backward()
    return [result.detach(), *(each.grad if each.grad is None else each.grad.sum(-1) for each in inputs)]


def dtype_of(each, **options):
    """The dtype of the result for queries, keys and values of a dtype."""
    x = mytorch.ones(3, 2, dtype=each)
    return mytorch.nn.functional.scaled_dot_product_attention(x, x, x, **options).dtype


def on_a_gpu():
    mytorch.cuda.simulate(1)
    x = mytorch.ones(3, 2, device="cuda")
    return mytorch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


allowed = generator.random((L, S)) < 0.6
allowed[:, 0], allowed[0] = True, False  # the first query may look nowhere
bias = generator.normal(size=(L, S)).astype(np.float32)
bias[-1] = -np.inf  # nor may the last one, by a mask of numbers
per_batch = generator.random((2, L, S)) < 0.6
per_batch[..., 0], per_batch[0, 0] = True, False  # the first query may look nowhere in one batch alone
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
    "a mask for each batch": attended((2,), attn_mask=mytorch.tensor(per_batch)),
    "floating-point mask": attended(attn_mask=given),
    "the mask afterwards": given.detach(),
    "the gradient of the mask": given.grad,
    "two masks": check.error(attended, attn_mask=given, is_causal=True),
    "error on a GPU": check.error(on_a_gpu),
    "error with three dtypes": check.error(
        mytorch.nn.functional.scaled_dot_product_attention,
        *(mytorch.ones(2, 3, dtype=each) for each in (mytorch.float32, mytorch.float64, mytorch.float16)),
    ),
}
triangle = mytorch.ones(3, 3, dtype=mytorch.bool).tril()
for each in (mytorch.bfloat16, mytorch.float64):
    masks = {"attn_mask": triangle}, {"is_causal": True}, {"attn_mask": mytorch.zeros(3, 3)}
    shown[f"result of {each}, masked, causal and with a float32 mask"] = [dtype_of(each, **mask) for mask in masks]
bias[0], bias[0, 0] = np.finfo(np.float32).min, -np.inf  # low, but only the first key is hidden
shown["a mask of very low values"] = attended(attn_mask=mytorch.tensor(bias))
query, key = (mytorch.tensor(generator.normal(size=(size, E)).astype(np.float32)) for size in (L, S))
query[0] = float("nan")
shown["a query of nan, which no mask hides"] = mytorch.nn.functional.scaled_dot_product_attention(
    query, key, key, attn_mask=mytorch.ones(L, S, dtype=mytorch.bool)
)
mytorch.manual_seed(check.seed())
shown["dropout"] = attended(dropout_p=0.5)
shown["dropout and a causal mask"] = attended((2,), dropout_p=0.5, is_causal=True)
check.show(shown, rtol=1e-3, atol=1e-5, text="The result, and the sums over the rows of the three gradients.")

# %% [markdown] hint="attention_scaled_dot_product"
# The scores are `query @ key.mT * scale`, with 1/√E where `scale` is None. A causal mask is a boolean mask, so create
# it first and then treat all masks alike: `scores + additive(attn_mask, scores.dtype)`.

# %% [markdown] hint="attention_scaled_dot_product"
# `nowhere = (scores.detach() == -math.inf).all(-1, keepdim=True)` is True for the queries that have no key left to
# attend to.

# %% [markdown] hint="attention_scaled_dot_product"
# The weights are `softmax(scores.masked_fill(nowhere, 0.0), -1).masked_fill(nowhere, 0.0)`, and the result is
# `dropout(weights, dropout_p) @ value`.


# %% mutant="attention_scaled_dot_product"
# Replaces nan afterwards
# The result is correct, but the gradient isn't, because softmax has already produced nan and the backward pass
# multiplies by it.
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
# Softmax of a row of -inf is nan. Such a query should get zeros, and its gradients must not become nan either.
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
# The standard deviation of a dot product is the square root of the width, so divide by that root.
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
# `scale` is the factor that the scores are multiplied by, which is 1/√E unless another one is passed.
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
# Each query distributes its attention over the keys, so softmax is taken along the last dimension of the scores.
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
# Adds the boolean mask itself
# A boolean mask that is added to the scores counts as 1 or 0 and hides nothing. Its False entries must become -inf.
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
# Keeps the harmless values
# Softmax turns the row of zeros into equal weights, so the query gets the plain mean of the values. Set its weights
# to 0 after softmax.
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
# True means hidden
# That is the meaning of True in `MultiheadAttention`. Here a query may attend where the mask is True, so fill the
# scores where it is False.
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
# Masks after softmax
# The hidden scores were still part of the denominator, so the remaining weights don't sum to 1. Set the scores to
# -inf first.
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
# A floating-point mask may be lower than -10000, and then the hidden keys take all the weight. −inf is below every
# score.
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
# Hides a position from itself
# Query i may attend to key i as well, so the causal mask is `tril(0)`, whatever L and S are. A negative diagonal, as
# in `tril(-1)` or in `tril(S - L)` when S < L, hides key i from query i.
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
# Aligns the last query with the last key
# That fits queries that continue a cache. `is_causal` aligns the first query with the first key: query i attends to
# keys 0 to i, whatever S is.
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
# Scales the mask as well
# A floating-point mask is added to the scores as it is, so scale first and then add.
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
# `scale or ...` also replaces 0, because 0 is falsy. Only None means the default scale; with a scale of 0 all weights
# are equal.
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
# Dropout applies with and without a mask: a GPT in training has a causal mask and drops attention weights.
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
# Drops elements of the result
# Dropout is applied to the weights before they are multiplied by the values.
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
# Detaches the mask
# A floating-point mask may be a parameter, such as a bias for each distance. `detach` prevents it from being learned.
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
# Creates the causal mask on the CPU
# `ones` creates it on the default device, but the scores are on the device of the query: `device=query.device`.
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
# Call `check_attention` first, with the arguments as they were passed, because it raises the errors.
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
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    import minitorch

    inputs = [minitorch.tensor(each.tolist()) for each in (query, key, value)]
    return minitorch.nn.functional.scaled_dot_product_attention(*inputs)


# %% [markdown] exercise="attention_heads" kind="core" points="1 1 2" part="mytorch.nn.attention:split_heads mytorch.nn.attention:merge_heads mytorch.nn.attention:MultiheadAttention.attend"
# ### Exercise 3 · Heads
# Split the width into heads, merge the heads again, and write the middle part of `MultiheadAttention`. Its `forward`
# is provided: it handles layouts and masks and then calls your `attend`. The file has `linear`, `softmax`, `dropout`,
# `math` and your `scaled_dot_product_attention`.


# %% docstrings="attention_heads"
def split_heads():
    """Splits each position's width into equal parts, one for each head: (N, L, E) to (N, heads, L, E / heads).

    Head 0 gets the first elements of each position.
    """


def attend():
    """Returns the output (N, L, E), and the weights of each head (N, heads, L, S) if they are needed, else None.

    Inputs are (N, L, E), (N, S, E), (N, S, E). `in_proj_weight` and `in_proj_bias` hold three linear
    projections, one above the other: for queries, keys and values (`chunk(3)` separates them; the bias may be
    None). The results are split into heads, the heads attend and are merged, and the merged result goes
    through `out_proj`. The mask, if there is one, holds floating-point values that are added to the scores.
    The weights are dropped with probability `self.dropout` in training mode only.

    If no weights are needed, `scaled_dot_product_attention` does the middle part. Otherwise compute the
    weights here and return them as they are after dropout. A query with no key left to attend to needs no
    special care then: its weights are nan, as in PyTorch.
    """


# %% check="attention_heads"
generator = check.rng()
N, heads, size = (int(each) for each in generator.permutation([2, 3, 4]))
L, S, E = 5, 7, heads * size
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
        parameter.data = 0.4 * numbers(*parameter.shape)
    inputs = [numbers(N, length, E).requires_grad_() for length in (L, S, S)]
    results = [each for each in check.intact(layer, *inputs, **options) if each is not None]
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
    "one head, one position": [
        module.split_heads(x[:1, :1], 1),
        module.merge_heads(module.split_heads(x[:1, :1], 1)),
    ],
    "plain": looked(),
    "without biases": looked(bias=False),
    "each head": looked(average_attn_weights=False),
    "padding": looked(key_padding_mask=mytorch.tensor(padding)),
    "both masks, no weights": looked(
        key_padding_mask=mytorch.tensor(padding), attn_mask=mytorch.tensor(hidden), need_weights=False
    ),
    "a floating-point mask": looked(attn_mask=numbers(N * heads, L, S)),
    "query 1 may look nowhere": looked(attn_mask=mytorch.tensor(nowhere))[:2],
    "query 1 may look nowhere, no weights": looked(attn_mask=mytorch.tensor(nowhere), need_weights=False)[0],
}
dropping = mytorch.nn.MultiheadAttention(E, heads, dropout=0.5, batch_first=True)
for parameter in dropping.parameters():
    parameter.data = 0.4 * numbers(*parameter.shape)
for name, mode in {"dropout, in training": True, "dropout, in evaluation": False}.items():
    for needed in (True, False):
        mytorch.manual_seed(check.seed())
        output, weights = dropping.train(mode)(*[x / 50] * 3, need_weights=needed)
        given = weights if weights is None else weights.detach()
        shown[name if needed else f"{name}, no weights"] = [output.detach(), given]
check.show(
    shown,
    rtol=1e-3,
    atol=1e-4,
    text="Outputs, weights, and the gradients of in_proj_weight, query, key and value, summed along their rows.",
)

# %% [markdown] hint="attention_heads"
# `split_heads` first splits the last dimension with `reshape(N, L, heads, E // heads)` and only then swaps dimensions
# 1 and 2. `merge_heads` undoes both steps in reverse order.

# %% [markdown] hint="attention_heads"
# `linear(query, w, b)` gives the queries, where `w` is the first third of `in_proj_weight`, and
# `self.in_proj_weight.chunk(3)` gives all three thirds. If there is no bias, pass None.

# %% [markdown] hint="attention_heads"
# The scores are divided by the square root of the width of *one head*, which is `q.shape[-1]` after the split.

# %% [markdown] hint="attention_heads"
# Let `p = self.dropout if self.training else 0.0`. If no weights are needed, call `scaled_dot_product_attention(q, k,
# v, mask, p)`. Otherwise compute `weights = dropout(softmax(scores + mask, -1), p)`, skipping the mask if it is None,
# and `weights @ v`. Both results go through `merge_heads` and `self.out_proj`.


# %% mutant="attention_heads"
# Reshapes without the swap
# The shape is correct, but values of different positions are mixed. Split the last dimension first, and then swap.
def split_heads(x, heads):
    return x.reshape(x.shape[0], heads, x.shape[1], x.shape[2] // heads)


# %% mutant="attention_heads"
# Merges without the swap
# Swap back to (N, L, heads, D) first. Otherwise positions and heads are mixed.
def merge_heads(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


# %% mutant="attention_heads"
# Interleaves the heads
# Here each head takes every second or third element. In PyTorch head 0 gets the first elements, and pretrained
# weights depend on that.
def split_heads(x, heads):
    return x.reshape(*x.shape[:2], x.shape[2] // heads, heads).permute(0, 3, 1, 2)


# %% mutant="attention_heads"
# Scales by the whole width
# Each dot product has only as many terms as one head is wide, so divide by the square root of that width.
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
# The three projections are in the order query, key, value. With weights from PyTorch, this code would use the keys as
# values.
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
# Drops in evaluation as well
# Dropout is for training only; in evaluation all weights are kept.
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
# `scaled_dot_product_attention` is a function and has no training mode, so pass it a probability of 0 outside
# training.
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
# Forgets the output projection
# The heads' results are only concatenated; `out_proj`, which mixes them, is missing.
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
# Projects the values from the keys
# Keys and values have inputs of their own, which are the same only in some uses, such as self-attention.
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
# Forgets the mask when weights are needed
# The mask applies whether or not weights are needed. Add it to the scores here as well, unless it is None.
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
# Treats the mask as boolean
# A mask may hold any values, such as a penalty for distance. If you add it, -inf hides a key without any further
# care.
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
# The weights that are returned are the ones that multiplied the values, so PyTorch returns them after dropout.
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
# `forward` averages them if that is requested. `attend` returns the weights of each head.
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
# `scaled_dot_product_attention` gives zeros. When the layer returns its weights, PyTorch leaves the nan that softmax
# produces.
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
# Dropout applies whether or not weights are needed, so pass the probability to `scaled_dot_product_attention`.
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
# A loss may depend on the weights as well, and `detach` cuts their gradient.
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
# Always computes the weights itself
# Where no weights are needed, `scaled_dot_product_attention` does the middle part, and a query with no key left gets
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
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def split_heads(x, heads):
    import minitorch

    return minitorch.tensor(x.tolist()).view(*x.shape[:2], heads, -1).transpose(1, 2)


# %% [markdown] exercise="attention_draw_tokens" kind="core" points=2 part="mytorch.random:multinomial"
# ### Exercise 4 · Sampling tokens
# A language model gives a weight for each token, and `generate` draws one of them. In this exercise you reproduce
# PyTorch's own draws, number for number, in two ways. Suppose that the weights are 3, 0 and 1.
#
# - *Without replacement*, an exponentially distributed number is drawn for each index, and the weight is divided by
#   it. If the numbers are 0.5, 0.2 and 0.1, the quotients are 6, 0 and 10. The largest one wins, so index 2 is drawn
#   first and index 0 second. Why is that fair? Imagine an alarm clock at each index, which rings after its number
#   divided by its weight. A clock with three times the weight rings first three times as often, so index 0 comes
#   first in three of four draws.
# - *With replacement*, take the running sum of the weights, which is 3, 3, 4, or 0.75, 0.75 and 1 as fractions of the
#   total. A uniform number of 0.6 falls into index 0, because none of these fractions is below it, while 0.8 falls
#   into index 2, because two of them are.
#
# The file has `np` and `default_generator`. In the docstring, `source` is the generator to draw from, which is the
# caller's or else `default_generator`, and `dtype` is the NumPy dtype of the weights. The caller's weights must stay
# unchanged.


# %% docstrings="attention_draw_tokens"
def multinomial():
    """Draws indices with these weights, whatever their sum: (n,) to (num_samples,), or (m, n) row by row.

    Without replacement, and always for one sample, each index draws an exponential number
    (`exponential(source, count, dtype)` gives `count` of them). The indices with the largest quotients weight
    / number win, the largest first, and the lower index comes first if two are equal. (If too few weights are
    positive, which indices of weight 0 PyTorch takes depends on its sorting.) With replacement each sample
    draws a uniform number (`source.uniform(count, 53)`, row by row) and looks it up in the running sum of the
    weights divided by the total: it gets the first index whose fraction is at least that large.

    `check_weights(input, num_samples, replacement)` raises the errors. `on_host(input)` is a NumPy array, and
    `new(array, input.device)` makes a tensor of an array.
    """


# %% check="attention_draw_tokens" raises="RuntimeError"
class Given:
    """Stands in for a generator that returns these uniform numbers again and again."""

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
    "another one": mytorch.multinomial(given, 1),
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
        "just below 1": mytorch.ones(12).multinomial(3, True, generator=Given(1 - 1e-12, 0.0)),
        "forty equal numbers": mytorch.ones(40).multinomial(40, generator=Given(0.25, 0.5)),
        "numbers equal in float32": mytorch.ones(2).multinomial(2, generator=Given(0.5 + 1e-9, 0.5)),
        "the same in float64": mytorch.ones(2).double().multinomial(2, generator=Given(0.5 + 1e-9, 0.5)),
        "of 4,000": [often.count(place) for place in range(3)],
        "too many": check.error(mytorch.multinomial, row, 4),
        "nothing to draw": check.error(mytorch.multinomial, mytorch.zeros(2), 1),
    },
    text="The indices that were drawn.",
)

# %% [markdown] hint="attention_draw_tokens"
# Without replacement, call `exponential(source, weights.size, weights.dtype)` and reshape the result like the
# weights. Sort the negated quotients with `np.argsort(..., -1, kind="stable")` and take the first `num_samples` along
# the last dimension.

# %% [markdown] hint="attention_draw_tokens"
# With replacement, the fractions are the running sum along the last dimension, divided by its last entry. The index
# that a uniform number belongs to is the number of fractions *below* it.

# %% [markdown] hint="attention_draw_tokens"
# `np.atleast_2d` reduces both cases to one. Draw `rows * num_samples` numbers, shaped (rows, num_samples, 1), and
# compare them with the fractions shaped (rows, 1, n): `(fractions[:, None] < drawn).sum(-1)`. Reshape the result to
# `(*input.shape[:-1], num_samples)`, and use the `generator` if one is given.


# %% mutant="attention_draw_tokens"
# The most likely index
# That isn't sampling, because the largest weight would win every time. The quotient of weight and random number
# decides.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    check_weights(input, num_samples, replacement)
    places = np.argsort(-on_host(input), -1, kind="stable")[..., :num_samples]
    if num_samples > places.shape[-1]:
        places = np.repeat(places[..., :1], num_samples, -1)
    return new(places.astype(np.int64), input.device)


# %% mutant="attention_draw_tokens"
# Divides by uniform numbers
# With uniform numbers instead of exponential ones, the probabilities are incorrect.
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
# The running sum has to be divided by the total before a number between 0 and 1 can be looked up in it.
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
# The random numbers must come from the generator that was passed, and the default generator must not advance.
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
# Looks up a single sample
# For a single sample PyTorch uses the quotients, with or without replacement.
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
# The largest quotient comes first. Sort the negated quotients, or reverse the order along the last dimension.
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
# Each row draws its own numbers. Otherwise all rows with equal weights would get the same indices.
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
# With weights (n,) the result is (num_samples,), so remove the extra dimension again.
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
# Only weights (n,) give (num_samples,), while a matrix with one row gives (1, num_samples).
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
# The next index
# A number that equals a fraction belongs to that fraction's index: the first one whose fraction is *at least* that
# large.
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
# The exponential numbers have the dtype of the weights, so float64 weights distinguish numbers that float32 rounds to
# the same value.
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
# The exponential numbers have the dtype of the weights. For float32 they are rounded, and if two are equal the lower
# index wins.
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
# The random numbers must come from the generator that was passed, with replacement as well as without.
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
# `on_host` returns the memory of the weights, not a copy, so `/=` changes the caller's tensor.
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
# The indices belong on the device of the weights: `new(array, input.device)`.
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
# The errors come from `check_weights`, which nothing else calls.
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
# mytorch is built on NumPy alone, and minitorch can't be imported from it.
def multinomial(input, num_samples, replacement=False, *, generator=None):
    import minitorch

    return new(minitorch.multinomial(minitorch.tensor(input.tolist()), num_samples, replacement).numpy())


# %% [markdown] exercise="attention_kv_cache" kind="build" points=3
# ### Exercise 5 · A KV cache
# `layer` is the `CausalSelfAttention` of `minitorch/models/gpt.py`. `layer.c_attn` projects (B, T, C) to queries,
# keys and values side by side, (B, T, 3 C); `layer.n_head` heads attend; and `layer.c_proj` is the output projection.
# Write an attention layer with a cache. `step(x)` takes the *new* positions (B, T, C), one or more of them, and
# returns their outputs as if the layer had been given the whole sequence. Gradients flow through the cache, too, so that
# an output's gradient reaches all earlier positions. Keep keys and values in `self.keys` and `self.values` of shape
# (B, heads, length, C / heads), both of which start as None. Each position may go through `c_attn` only once, and there
# is no dropout.


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
        "equal to the layer": bool(torch.allclose(torch.cat(parts, 1), whole, atol=1e-5)),
        "positions through c_attn": sum(seen),
        "shape of the cache": [None if each is None else tuple(each.shape) for each in (cached.keys, cached.values)],
    }
first, second = CachedAttention(layer), CachedAttention(layer)
first.step(x[:, :3]), second.step(x[:, 3:])
outcomes["a second cache in between"] = first.step(x[:, 3:5]).sum(-1).detach()
pieces, cached = x.clone().requires_grad_(), CachedAttention(layer)
cached.step(pieces[:, :3])
check.error(cached.step(pieces[:, 3:5]).square().sum().backward)
outcomes["gradient of the input, through the cache"] = pieces.grad
low = CachedAttention(CausalSelfAttention(GPTConfig(n_embd=12, n_head=2)).to(torch.bfloat16))
outcomes["gradients are recorded"] = torch.is_grad_enabled()
outcomes["output of a bfloat16 layer"] = low.step(x.to(torch.bfloat16)).dtype
check.show(outcomes, rtol=1e-3, atol=1e-5, text="A sequence of 7 positions, given in pieces.")

# %% [markdown] hint="attention_kv_cache"
# Project only the new positions, split them into heads as the layer does, and append their keys and values to the
# cached ones along the sequence dimension.

# %% [markdown] hint="attention_kv_cache"
# There are queries for the new positions only, but keys for all positions, while `is_causal=True` would align the
# first query with the first key. Which keys may the first of the new queries attend to?

# %% [markdown] hint="attention_kv_cache"
# With T new positions and `length` keys, the new query $i$ is at position `length - T + i`. So the mask is
# `torch.ones(T, length, dtype=torch.bool).tril(length - T)`.


# %% mutant="attention_kv_cache"
# Causal from the first position
# `is_causal` aligns the first query with the first key, so a single new query attends to the first key only.
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
# A single new position needs no mask, but in a piece of several positions the first would attend to the later ones.
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
# That fits a prompt followed by single tokens. A later piece of several tokens must attend to the whole cache,
# whereas `is_causal` aligns it with the first key.
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
# That fits a prompt followed by single tokens. In a later piece of several, each token would attend to the ones after
# it.
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
# The new query i is at position length - T + i, and it may attend to that position as well.
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
# The new query i is at position length - T + i, which is the last one that it may attend to.
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
# Forgets the output projection
# The heads' results are only concatenated; `c_proj`, which mixes them, is missing.
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
# Swap back to (B, T, heads, C / heads) first. This makes no difference for one new position, but it does for several.
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
# The cache is in the order of the sequence, so the new positions come after the cached ones.
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
# The values are correct, but every position goes through the layer again at each step, which is what a cache is meant
# to avoid.
class CachedAttention:
    def __init__(self, layer):
        self.layer, self.inputs, self.keys, self.values = layer, None, None, None

    def step(self, x):
        self.inputs = x if self.inputs is None else torch.cat([self.inputs, x], 1)
        return self.layer(self.inputs)[:, -x.shape[1] :]


# %% mutant="attention_kv_cache"
# Appends along the heads
# Dimension 1 is the heads, while the sequence grows along dimension 2.
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
# A model for sentences of different lengths works, but its authors noticed two problems:
#
# - The vectors of short sentences are too small, and the more padding a sentence has, the smaller they are.
# - A new value in the padding changes the outputs of real words, although the weights of padding are 0.
#
# Fix the function. `padding` is True where a key is padding. A sentence that consists of padding alone (they occur)
# must give zeros, and its gradients must be zeros too.


# %% solution="attention_repair_mask"
def padded_attention(query, key, value, padding):
    """Attention (N, L, E), (N, S, E), (N, S, V) to (N, L, V), in which no query attends to padding (N, S)."""
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
farther = torch.where(padding.unsqueeze(-1), torch.zeros(E), torch.tensor([-(2.0**20), 0, 0]))  # scores of -600,000
in_front = padding.flip(1)
wide = [each.detach().double() for each in inputs]
check.show(
    {
        "lengths": lengths,
        "output": output.detach(),
        "with the padding in front": padded_attention(query, key, value, in_front),
        "in float64": padded_attention(*wide, padding),
        "one sentence": padded_attention(*(each[:1].detach() for each in inputs), padding[:1]),
        "the mean of ones": ones.detach(),
        "with other keys in the padding": padded_attention(query, other, value, padding),
        "with words far from the first query": padded_attention(query, far, value, padding),
        "with scores of -600,000": padded_attention(torch.ones(N, L, E), farther, value, padding),
        "the padding afterwards": padding,
        "the gradients, summed along their rows": [each.grad.sum(-1) for each in inputs],
    },
    rtol=1e-3,
    atol=1e-5,
    text="Four sentences of different lengths.",
)

# %% [markdown] hint="attention_repair_mask"
# Pass it values that are all 1. The weighted mean of ones is 1, so what does the function return for a sentence with
# padding?

# %% [markdown] hint="attention_repair_mask"
# The remaining weights don't sum to 1, because softmax has distributed attention over all keys, padding included.
# What must the input of softmax be where a key is padding?

# %% [markdown] hint="attention_repair_mask"
# Fill the masked *scores* with −inf before softmax. A sentence of padding alone then has weights of nan, so set them
# to 0 after softmax; `hidden.all(-1, keepdim=True)` finds them.


# %% mutant="attention_repair_mask"
# Masks with 0
# A score of 0 isn't low, since it means a weight of exp(0) = 1 before the normalization. A masked score is -inf.
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(hidden, 0.0).softmax(-1)
    return weights.masked_fill(hidden.all(-1, keepdim=True), 0.0) @ value


# %% mutant="attention_repair_mask"
# Forgets the empty sentence
# Softmax of a row in which every score is -inf is nan.
def padded_attention(query, key, value, padding):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    return scores.masked_fill(padding.unsqueeze(1), -math.inf).softmax(-1) @ value


# %% mutant="attention_repair_mask"
# Renormalizes
# Dividing by the remaining sum helps only while something remains: padding with high scores can take all the weight.
def padded_attention(query, key, value, padding):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = scores.softmax(-1).masked_fill(padding.unsqueeze(1), 0.0)
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ value


# %% mutant="attention_repair_mask"
# Fixes the output
# The output is correct, but the values still get nan as a gradient, because they are multiplied by the nan weights.
# Fix the weights.
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
# Masks the values
# A value of 0 contributes nothing, but the padding still has a weight, so those of the other keys don't sum to 1.
def padded_attention(query, key, value, padding):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ value.masked_fill(padding.unsqueeze(-1), 0.0)


# %% mutant="attention_repair_mask"
# Rescales by the number of words
# Attention isn't distributed evenly, so the number of words doesn't say how much of it the padding took.
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    weights = scores.softmax(-1).masked_fill(hidden, 0.0)
    words = (~hidden).sum(-1, keepdim=True).clamp(min=1)
    return weights * padding.shape[1] / words @ value


# %% mutant="attention_repair_mask"
# Writes into the padding
# The mask belongs to the caller, who may use it again, for instance in the next layer.
def padded_attention(query, key, value, padding):
    hidden = padding.unsqueeze(1)
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    nothing = hidden.all(-1, keepdim=True)
    hidden[nothing.expand_as(hidden)] = False
    weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
    return weights.masked_fill(nothing, 0.0) @ value


# %% mutant="attention_repair_mask"
# A large negative number
# With -1e9 instead of -inf, a sentence of padding alone gets the plain mean of its padding, not zeros.
def padded_attention(query, key, value, padding):
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
    return scores.masked_fill(padding.unsqueeze(1), -1e9).softmax(-1) @ value


# %% [markdown] exercise="attention_measure_square" kind="measure" points=2
# ### Exercise 7 · When does the quadratic term take over?
# A layer with several heads spends its multiplications on four linear projections, whose cost grows linearly with the
# length, and on two matrix multiplications with the attention matrix, whose cost grows with its square.
# `multiplications(run)` counts them while `run()` is executed: it returns a list with a pair for each matrix
# multiplication, (the shape of its result, the number of multiplications).
#
# Find by experiment the smallest length at which the two attention products cost at least as much as the projections,
# for a layer of this width and number of heads. How does that length depend on each of the two? `build(width, heads)`
# makes the layer, and `feed(layer, length)` runs it on a sequence of that length. You can distinguish the products by
# the *number of dimensions* of their results, which is three for projections and four for attention. The check also
# measures a layer whose output projection is twice as wide as usual.


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
    """A pair for each matrix multiplication in `run()`: the shape of the result, and the number of multiplications."""
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
    """The smallest length at which the attention products cost at least as much as the projections."""
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
    """A layer whose output projection is twice as wide."""

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
    found[f"width {width}, 2 heads, a wider output projection"] = takes_over(width, 2)
finally:
    gpt.CausalSelfAttention = usual
check.show(
    found, text="From this length on, the attention products cost as much as the projections or more.", secret=True
)

# %% [markdown] hint="attention_measure_square"
# Print `multiplications(lambda: feed(build(8, 2), 5))` and explain what each of the four entries is.

# %% [markdown] hint="attention_measure_square"
# Accumulate the counts in two sums by `len(shape)`, which is 3 for the projections and 4 for attention. Then try one
# length after the other.

# %% [markdown] hint="attention_measure_square"
# The projections cost $4 L C^2$ multiplications, and attention costs $2 L^2 C$. At which $L$ are these equal? Your
# experiment should agree for any number of heads.


# %% mutant="attention_measure_square"
# Counts the scores only
# The weights are also multiplied by the values, which is a second product whose cost grows with the square of the
# length.
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
# Forgets the output projection
# `c_proj` is a projection as well, so there are four of width by width, three of them in `c_attn`.
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
# Doubling finds a power of two that is large enough, but the smallest length may lie below it.
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
# Try every length, because the smallest one needn't be a multiple of four.
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
# One too short
# At this length the projections still cost more. The first length at which they don't is one larger.
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
# Counts elements
# The second number of each pair is the number of multiplications. The result has fewer elements, because each one
# takes a whole dot product.
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
# Takes square results for attention's
# Attention also multiplies the weights by the values, and that result isn't square. Use the number of dimensions.
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
# The formula is correct for a layer whose projections are all as wide as the layer. A measurement holds for any
# layer.
def takes_over(width, heads):
    return 2 * width


# %% mutant="attention_measure_square"
# One too far
# The question is where attention costs as much as the projections, not where it begins to cost more.
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
# Write the constructor of `MultiheadAttention`, and the `forward` that accepts inputs in three layouts.
# `self.merged(attn_mask, key_padding_mask, dtype)` combines the two masks into one to be added. `self.attend(query,
# key, value, mask, need_weights)` of exercise 3 accepts only (N, L, E) and returns the weights of each head.


# %% docstrings="attention_module"
def __init__():
    """Stores the options, except `bias`, as attributes of the same names, and creates:

    - `in_proj_weight`, a parameter (3 · embed_dim, embed_dim): the weights of query, key and value in one
      tensor, initialized by `xavier_uniform_`;
    - `in_proj_bias`, a parameter (3 · embed_dim) of zeros, registered as None without `bias`;
    - `out_proj`, a `Linear` from embed_dim to embed_dim, whose bias starts at zero if there is one.

    The random numbers are PyTorch's, so `out_proj` is created before `in_proj_weight` draws.
    `constant_(tensor, value)` fills a tensor and isn't recorded.

    Raises:
        AssertionError: "embed_dim must be divisible by num_heads".
    """


def forward():
    """Attends in the given layout; returns the output, and the weights averaged over the heads.

    The layout is (L, N, E), or (N, L, E) with `self.batch_first`, or (L, E), for which `batch_first` doesn't
    matter. Boolean masks are True where a query may *not* attend. `key_padding_mask` is (N, S), or (S,) for a
    single sequence; `attn_mask` is (L, S) or (N · heads, L, S). The weights are (N, L, S), or (N, heads, L,
    S) unless `average_attn_weights`. They have no N for a single sequence, and they are None unless
    `need_weights`.
    """


# %% check="attention_module" raises="AssertionError"
generator = check.rng()
N, L, S, heads = (int(each) for each in generator.permutation([2, 3, 5, 4]))
E = 2 * heads


def numbers(*size):
    return mytorch.tensor(generator.normal(size=size).astype(np.float32))


def made(*arguments, **options):
    """A layer's tensors, names and options, or the error."""
    mytorch.manual_seed(check.seed())
    layers = []
    problem = check.error(lambda: layers.append(mytorch.nn.MultiheadAttention(*arguments, **options)))
    if problem is not None:
        return problem
    layer = layers[0]
    options = {name: getattr(layer, name) for name in ("embed_dim", "num_heads", "dropout", "batch_first")}
    options["a bias among them"] = hasattr(layer, "bias")
    return dict(layer.state_dict()), list(layer._parameters), options, mytorch.rand(1)


def looked(query, key, value, batch_first=False, **options):
    mytorch.manual_seed(check.seed())
    layer = mytorch.nn.MultiheadAttention(E, heads, batch_first=batch_first)
    results = []
    problem = check.error(lambda: results.append(check.intact(layer, query, key, value, **options)))
    return problem or [each if each is None else each.detach() for each in results[0]]


def again(query, key, value):
    """What a layer gives for a second input that has the shapes of the first."""
    mytorch.manual_seed(check.seed())
    layer = mytorch.nn.MultiheadAttention(E, heads)
    layer(query, key, value)
    return [each.detach() for each in layer(2 * query, key - 1, -value)]


def dtype_of(each):
    """The dtype of a layer's result, with a boolean mask."""
    layer = mytorch.nn.MultiheadAttention(4, 2).to(each)
    x = mytorch.ones(3, 1, 4, dtype=each)
    return layer(x, x, x, attn_mask=mytorch.ones(3, 3, dtype=mytorch.bool).triu(1))[0].dtype


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
        "one head of width 1": made(1, 1),
        "heads that don't divide": made(E + 1, heads),
        "(L, N, E)": looked(query, key, value),
        "(N, L, E)": looked(*turned, batch_first=True),
        "(L, E)": looked(*single),
        "(L, E), batch_first": looked(*single, batch_first=True),
        "each head": looked(query, key, value, average_attn_weights=False),
        "each head of (L, E)": looked(*single, average_attn_weights=False),
        "no weights": looked(query, key, value, need_weights=False),
        "no weights of (L, E)": looked(*single, need_weights=False),
        "no weights, each head": looked(query, key, value, need_weights=False, average_attn_weights=False),
        "a batch of one": looked(*(each[:, :1] for each in (query, key, value))),
        "a single query, (1, E)": looked(single[0][:1], *single[1:]),
        "padding": looked(query, key, value, key_padding_mask=mytorch.tensor(padding)),
        "padding of (L, E)": looked(*single, key_padding_mask=mytorch.tensor(padding[0])),
        "both masks": looked(*turned, True, key_padding_mask=mytorch.tensor(padding), attn_mask=causal),
        "no weights, the first query may look nowhere": looked(
            query, key, value, need_weights=False, attn_mask=mytorch.arange(L).unsqueeze(1).repeat(1, S) == 0
        ),
        "gradients reach the weights": [
            mytorch.nn.MultiheadAttention(E, heads)(query, key, value, average_attn_weights=each)[1].requires_grad
            for each in (True, False)
        ],
        "one layer, two inputs of the same shapes": again(query, key, value),
        "the dtype of a bfloat16 layer's output": dtype_of(mytorch.bfloat16),
    },
    rtol=1e-3,
    atol=1e-4,
    text="The layers' tensors and options, and the outputs and weights for inputs in three layouts.",
)

# %% [markdown] hint="attention_module"
# `forward` has three steps: bring the inputs to (N, L, E), attend, and bring output and weights back. What has to
# happen to the padding mask of a single sequence?

# %% [markdown] hint="attention_module"
# A single sequence gets a batch dimension by `unsqueeze(0)` and loses it by `squeeze(0)` at the end, in the weights
# as well. (L, N, E) is transposed on the way in and on the way out unless `self.batch_first`, while the weights
# always have N first.

# %% [markdown] hint="attention_module"
# `mask = self.merged(attn_mask, key_padding_mask, query.dtype)` and `output, weights = self.attend(query, key, value,
# mask, need_weights)` do the work, and `weights.mean(1)` averages over the heads. In `__init__`, use
# `self.register_parameter("in_proj_bias", …)`.


# %% mutant="attention_module"
# Draws in another order
# The same seed gives PyTorch's weights only if they are drawn in PyTorch's order, in which those of `out_proj` come
# first.
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
# The three projections are one matrix, which saved models call `in_proj_weight`.
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
# Without a bias, a plain attribute
# A module lists the names of its parameters, also of one that is None, so `repr` and `load_state_dict` know of it. Use
# `register_parameter`.
def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, *, batch_first=False):
    super().__init__()
    if embed_dim % num_heads:
        raise AssertionError("embed_dim must be divisible by num_heads")
    self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
    self.in_proj_weight = Parameter(empty(3 * embed_dim, embed_dim))
    self.in_proj_bias = Parameter(zeros(3 * embed_dim)) if bias else None
    self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
    xavier_uniform_(self.in_proj_weight)
    if bias:
        constant_(self.out_proj.bias, 0.0)


# %% mutant="attention_module"
# Squeezes every dimension of size 1
# `squeeze()` without an argument also removes the length of a sequence that has one position. Remove the first dimension
# alone, by `squeeze(0)`.
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
        return output.squeeze(), None if weights is None else weights.squeeze()
    return (output if self.batch_first else output.transpose(0, 1)), weights


# %% mutant="attention_module"
# Always batch first
# Without `batch_first` the first dimension of a batch is time, in the inputs and in the output.
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
# A single sequence has no batch dimension, and neither have its weights.
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
# Transposes the weights as well
# The weights are (N, L, S) in every layout. Only the output is transposed back to (L, N, E).
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
