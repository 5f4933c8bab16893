"""Which ops cast their result to the type of `out=`: elementwise ones and sums. The others refuse, as PyTorch's do.

Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

from typing import Any

from minitorch.dtypes import C_NAMES, FROM_NUMPY, SCALAR_TYPES
from minitorch.tensor import Tensor

_CASTS = frozenset(
    {
        "addr", "all", "any", "bernoulli", "cat", "cholesky", "cholesky_inverse", "cholesky_solve", "column_stack",
        "concat", "concatenate", "cond", "cumprod", "cumsum", "div", "dstack", "eigvals", "fill", "float_power",
        "geqrf", "householder_product", "hstack", "kron", "linalg_eig", "linalg_pinv", "logsumexp", "matrix_power",
        "matrix_rank", "maximum", "mean", "minimum", "nanmean", "nansum", "ndtr", "normal", "outer", "pinv",
        "polygamma", "prod", "row_stack", "square", "stack", "std", "sum", "tensorinv", "tensorsolve", "true_divide",
        "var", "vstack", "zeta",
    }
)  # fmt: skip
_REFUSES = frozenset(
    {
        "abs", "ceil", "conj_physical", "floor", "frac", "hardshrink", "neg", "round", "sgn", "sign", "trunc",
    }
)  # fmt: skip
_WORDS = {
    **dict.fromkeys(
        ("amax", "amin"),
        "Expected the dtype for input and out to match, but got {0} for input's dtype and {1} for out's dtype.",
    ),
    **dict.fromkeys(
        ("complex", "polar"), "Expected object of scalar type {0} but got scalar type {1} for argument 'out'"
    ),
    **dict.fromkeys(("index_select", "masked_select"), "{2}(): self and result must have the same scalar type"),
    **dict.fromkeys(_REFUSES, "Found dtype {1} but expected {0}"),
    **dict.fromkeys(("isneginf", "isposinf", "signbit"), "{2} does not support non-boolean outputs."),
    **dict.fromkeys(("cummax", "cummin", "diff", "logcumsumexp"), "expected scalar_type {0} but found {1}"),
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "kthvalue": "output values must be of same type as input",
    "mode": "expected scalar type '{0}' but got '{1}' for values output",
    "multinomial": "multinomial expects {0} tensor out, got: {1}",
    "nan_to_num": "nan_to_num: dtype of out: {1} should be same as input: {0}",
    "nonzero": "nonzero: Expected out tensor to have scalar type {0} but got scalar type{1}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {0} and out.dtype = {1}",
}


def check_out_type(name: str, elementwise: bool, target: Tensor, array: Any) -> None:
    """Raises RuntimeError where an op of this name doesn't cast its result to the type of the tensor given as `out`."""
    if array.dtype == target._dtype.numpy or name in _CASTS or (elementwise and name not in _WORDS):
        return
    kinds = FROM_NUMPY[array.dtype].name, target._dtype.name
    if name in _WORDS:
        raise RuntimeError(_WORDS[name].format(*(SCALAR_TYPES[each] for each in kinds), name))
    one, other = (C_NAMES[each] for each in kinds)
    raise RuntimeError(f"Expected out tensor to have dtype {one}, but got {other} instead")
