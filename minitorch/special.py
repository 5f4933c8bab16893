"""Special functions, and those of `torch` that belong to them.

Source: https://pytorch.org/docs/stable/special.html
"""

# ruff: noqa: F401, I001
from __future__ import annotations

from minitorch.ops.activation.common import sigmoid as expit
from minitorch.ops.activation.softmax import log_softmax, softmax
from minitorch.ops.pointwise.exponentials import exp2, expm1, log1p
from minitorch.ops.pointwise.rounding import round
from minitorch.ops.pointwise.incomplete_gamma import igamma as gammainc, igammac as gammaincc
from minitorch.ops.pointwise.special_functions import (
    digamma, entr, erf, erfc, erfcx, erfinv, i0, i0e, i1, i1e, log_ndtr, logit, ndtr, ndtri, polygamma, sinc, xlog1py,
    xlogy, zeta, digamma as psi, lgamma as gammaln, mvlgamma as multigammaln,
)  # fmt: skip
from minitorch.ops.reduction.sums import logsumexp
