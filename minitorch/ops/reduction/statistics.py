"""Variances and what is made of them.

Source: https://pytorch.org/docs/stable/generated/torch.var.html
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.arrays import Array, Dims, Number
from minitorch.dispatch.declaration import NAMESPACES, composite, private
from minitorch.dispatch.op import CASTS
from minitorch.dtypes import FLOATING, FROM_NUMPY, INTEGER, SCALAR_TYPES, bool_, int64
from minitorch.kernels.summation import add_up
from minitorch.ops.creation.filled import scalar_tensor
from minitorch.ops.naming import called
from minitorch.ops.pointwise.arithmetic import conj
from minitorch.ops.reduction.sums import count_of, dims_of, unreduced
from minitorch.tensor import Tensor


def _variance(xp: Any, name: str, self: Array, dim: Dims, correction: Number, keepdim: bool) -> tuple[Array, Array]:
    """Σ|x − mean|² / max(n − correction, 0) along `dim`, and the mean: in two passes, as differences don't cancel."""
    kind = FROM_NUMPY[self.dtype]
    if kind.category < FLOATING:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    dims = dims_of(dim, self.ndim)
    n = count_of(self.shape, dim)
    if n - correction <= 0:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).",
            UserWarning,
            stacklevel=5,
        )
    mean = xp.true_divide(add_up(xp, self, dims, True, kind), n)
    mean = mean.astype(self.dtype, copy=False)
    apart = self - mean
    squares = apart.real**2 + apart.imag**2 if kind.is_complex else apart * apart
    total = add_up(xp, squares, dims, keepdim, kind.to_real())
    variance = xp.true_divide(total, total.dtype.type(builtin_max(n - correction, 0)))
    return variance, mean if keepdim else mean.reshape(variance.shape)


builtin_max = max


def _centred(self: Tensor, dim: Dims) -> Tensor:
    return self - self.mean(dim, keepdim=True)


def _var_backward(grad: Tensor, self: Tensor, dim: Dims, correction: Number, keepdim: bool) -> Tensor:
    freedom = count_of(self.shape, dim) - correction
    if freedom <= 0:
        return unreduced(grad, self.shape, dim, keepdim) * (_centred(self, dim).abs() * math.inf)
    return unreduced(grad, self.shape, dim, keepdim) * (2.0 / freedom) * _centred(self, dim)


def _std_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, correction: Number, keepdim: bool) -> Tensor:
    of_variance = (grad / (result * 2)).masked_fill(result.eq(0), 0)
    return _var_backward(of_variance, self, dim, correction, keepdim)


def _mean_backward(grad: Tensor, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    return unreduced(grad / count_of(shape, dim), shape, dim, keepdim).expand(shape)


def _pair_backward(grads: Any, of_first: Any, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    """The gradient of (variance or deviation, mean), of which either may be unused."""
    first, mean = grads
    parts = [] if first is None else [of_first(first)]
    if mean is not None:
        parts.append(_mean_backward(mean, shape, dim, keepdim))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@private(row_major=True, node="VarBackward0", derivatives={"self": _var_backward})
def variance(xp: Any, self: Array, dim: Dims, correction: Number, keepdim: bool) -> Array:
    return _variance(xp, "var", self, dim, correction, keepdim)[0]


@private(row_major=True, node="StdBackward0", derivatives={"self": _std_backward})
def deviation(xp: Any, self: Array, dim: Dims, correction: Number, keepdim: bool) -> Array:
    return xp.sqrt(_variance(xp, "std", self, dim, correction, keepdim)[0])


@private(
    row_major=True,
    node="VarMeanBackward0",
    derivatives={
        "self": lambda grads, self, dim, correction, keepdim: _pair_backward(
            grads, lambda grad: _var_backward(grad, self, dim, correction, keepdim), self.shape, dim, keepdim
        )
    },
)
def variance_and_mean(xp: Any, self: Array, dim: Dims, correction: Number, keepdim: bool) -> tuple[Array, Array]:
    return _variance(xp, "var_mean", self, dim, correction, keepdim)


@private(
    row_major=True,
    node="StdMeanBackward0",
    derivatives={
        "self": lambda grads, self, result0, dim, correction, keepdim: _pair_backward(
            grads, lambda grad: _std_backward(grad, self, result0, dim, correction, keepdim), self.shape, dim, keepdim
        )
    },
)
def deviation_and_mean(xp: Any, self: Array, dim: Dims, correction: Number, keepdim: bool) -> tuple[Array, Array]:
    square, mean = _variance(xp, "std_mean", self, dim, correction, keepdim)
    return xp.sqrt(square), mean


def _arguments(dim: Dims, unbiased: bool | None, correction: Number) -> tuple[Dims, Number]:
    """`var(x, False)` and `unbiased=` are older ways to say `correction=0`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = 1 if unbiased else 0
    if isinstance(correction, Tensor):
        correction = correction.item()
    return dim, 1 if correction is None else correction


def _statistic(op: Any, name: str, explanation: str, variants: str) -> Any:
    """The function `var`, `std`, `var_mean` or `std_mean`, which share their arguments."""

    @composite(variants=variants, out_type=CASTS)
    @called(name, explanation)
    def function(
        input: Tensor,
        dim: Dims | bool = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: Number = None,
    ) -> Any:
        dim, correction = _arguments(dim, unbiased, correction)
        return op(input, dim, correction, keepdim)

    return function


var = _statistic(variance, "var", "Σ|x − mean|² / (n − correction) along `dim`.", "function method out")
std = _statistic(deviation, "std", "The square root of the variance along `dim`.", "function method out")
var_mean = _statistic(variance_and_mean, "var_mean", "The variance and the mean along `dim`.", "function")
std_mean = _statistic(
    deviation_and_mean, "std_mean", "The square root of the variance, and the mean, along `dim`.", "function"
)


def _weights(name: str, weights: Tensor, observations: int, integral: bool) -> Tensor:
    """One of the weights of `cov`. Raises RuntimeError for a wrong shape or dtype, and for negative weights."""
    kind, wanted = weights.dtype, "integral" if integral else "floating point"
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions"
        )
    if (kind.category != INTEGER) if integral else not kind.is_floating_point:
        raise RuntimeError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with {SCALAR_TYPES[kind.name]} dtype"
        )
    if weights.numel() != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {observations}"
        )
    if observations and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")
    return weights


def _check_matrix(name: str, input: Tensor) -> None:
    if input.dim() > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )


@composite()
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of the rows: Σ w (x − x̄)(y − ȳ)* / (Σ w − correction), w being fweights · aweights.

    (n, m) → (n, n). A vector (m,) gives its variance, 0-d. Raises RuntimeError for more dimensions, and for weights of
    another size or dtype or negative ones.
    """
    _check_matrix("cov", input)
    if input.dtype is bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input.view(1, -1) if input.dim() < 2 else input
    observations = rows.shape[1]
    weights: Any = 1
    total: Any = observations
    if fweights is not None:
        weights = _weights("fweights", fweights, observations, integral=True)
    if aweights is not None:
        weights = weights * _weights("aweights", aweights, observations, integral=False)
    if isinstance(weights, Tensor):
        total = weights.sum()
        if not bool(total):
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    total = scalar_tensor(total, dtype=int64, device=input.device) if isinstance(total, int) else total
    weighted = aweights is not None and correction != 0
    freedom = total - (correction * (weights * aweights).sum() / total if weighted else correction)
    if bool(freedom <= 0):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            UserWarning,
            stacklevel=3,
        )
        freedom = freedom * 0
    centred = rows - ((rows * weights).sum(1) / total).unsqueeze(1)
    return (centred @ conj((centred * weights).t()) / freedom).squeeze()


@composite()
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlations of the rows: cov(x, y) / √(var x · var y), clipped to [−1, 1].

    (n, m) → (n, n), (m,) → 0-d.
    """
    _check_matrix("corrcoef", input)
    covariance = cov(input)
    if not covariance.dim():
        return covariance / covariance
    diagonal = covariance.diag()
    spread = (diagonal.real if diagonal.is_complex() else diagonal).sqrt()
    result = covariance / spread.view(-1, 1) / spread.view(1, -1)
    if not result.is_complex():
        return result.clip(-1, 1)
    return NAMESPACES["torch"]["complex"](result.real.clip(-1, 1), result.imag.clip(-1, 1))
