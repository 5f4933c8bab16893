"""Ops that fold a dimension step by step and keep every step; and differences, which undo them.

Source: https://pytorch.org/docs/stable/generated/torch.cumsum.html
"""

from __future__ import annotations

from typing import Any

from minitorch import return_types
from minitorch.arrays import Array
from minitorch.dispatch.apply import in_place_of, write_out
from minitorch.dispatch.declaration import OPS, composite, declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.op import COMPUTES
from minitorch.dtypes import (
    C_NAMES,
    FLOATING,
    FROM_NUMPY,
    bool_,
    c_type_name,
    complex64,
    complex128,
    finfo,
    float32,
    float64,
)
from minitorch.dtypes import dtype as DType
from minitorch.kernels.running import fold_into, running
from minitorch.ops.creation.filled import zeros_like
from minitorch.ops.indexing.joining import cat
from minitorch.ops.naming import called
from minitorch.ops.pointwise.arithmetic import times_number
from minitorch.ops.pointwise.division import over_number
from minitorch.ops.reduction.sums import rounded_to, sum_type
from minitorch.ops.views.slicing import select, slice_
from minitorch.size import as_int, check_dim
from minitorch.tensor import Tensor, holds_somewhere

OUT = "function method out"


def _accumulates_in(kind: DType) -> Any:
    """NumPy's type of the running value of a scan, as in PyTorch on the CPU (`at::acc_type`)."""
    return {float32: float64, complex64: complex128}.get(kind, float32 if kind.is_low_precision else kind).numpy


def _scan(xp: Any, fold: str, self: Array, dim: int, dtype: DType | None) -> Array:
    kind = sum_type(self, dtype)
    if dtype is bool_ and self.ndim and self.size:
        raise not_implemented(f"{fold}_out_cpu", "bool")
    dim = check_dim(dim, self.ndim)
    self = rounded_to(xp, self, dtype)
    if not self.ndim:
        return self.astype(kind.numpy)
    result = xp.empty(self.shape, kind.numpy)
    fold_into(xp, result, self, dim, _accumulates_in(kind), fold)
    return result


@declare(
    keyword_only="dtype",
    out_type=COMPUTES,
    row_major=True,
    variants=OUT,
    derivatives={"self": lambda grad, dim: _sum_of_later(grad, dim)},
    autocast_on_gpu="float32 results",
)
def cumsum(xp: Any, self: Array, dim: int, dtype: DType | None = None) -> Array:
    """y_i = Σ_{j ≤ i} x_j along `dim`, of the shape of `input`; of integers int64."""
    return _scan(xp, "cumsum", self, dim, dtype)


_SCANS_ITSELF = """Overwrites the elements with their {name} along `dim`, in the tensor's own dtype.

    Returns the tensor itself. Raises IndexError for a dimension out of range, RuntimeError for another dtype, and
    NotImplementedError for bools.
    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.{name}_.html
    """


def _in_place(name: str) -> None:
    """`cumsum_` or `cumprod_`, which computes in the tensor's own dtype."""
    scan = in_place_of(OPS[name])

    @composite(variants="method")
    @called(f"{name}_", _SCANS_ITSELF.format(name=name))
    def method(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        if dtype is not None and dtype is not self._dtype:
            raise RuntimeError(
                f"Bad in-place call: input tensor dtype {c_type_name(self)} and output tensor dtype "
                f"{C_NAMES[dtype.name]} should match"
            )
        return scan(self, dim, dtype=self._dtype)


def _sum_of_later(grad: Tensor, dim: int) -> Tensor:
    """Σ_{j ≥ i} g_j."""
    return grad.flip(dim).cumsum(dim).flip(dim) if grad.dim() else grad


@declare(
    keyword_only="dtype",
    out_type=COMPUTES,
    row_major=True,
    variants=OUT,
    derivatives={"self": lambda grad, self, result, dim: _cumprod_backward(grad, self, result, dim)},
    autocast_on_gpu="float32 results",
)
def cumprod(xp: Any, self: Array, dim: int, dtype: DType | None = None) -> Array:
    """y_i = ∏_{j ≤ i} x_j along `dim`, of the shape of `input`; of integers int64."""
    return _scan(xp, "cumprod", self, dim, dtype)


def _cumprod_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Σ_{j ≥ i} g_j y_j / x_i; where there are zeros, with the products of all factors but x_i, one i after another."""
    if not self.dim() or not self.numel() or self.shape[dim] == 1:
        return grad
    self = self.to(grad.dtype)
    if not holds_somewhere(self.eq(0)):
        return _sum_of_later(grad * result.conj(), dim) / self.conj()
    size = self.shape[dim]
    grads = []
    for i in range(size):
        before = slice_(self, dim, 0, i).prod(dim, keepdim=True)
        later = slice_(self, dim, i + 1, size)
        ones = before.new_ones(before.shape)
        products = before * cat([ones, later], dim).cumprod(dim)
        grads.append((slice_(grad, dim, i, size) * products.conj()).sum(dim, keepdim=True))
    return cat(grads, dim)


_in_place("cumsum")
_in_place("cumprod")


@declare(
    row_major=True,
    promotion="keep",
    variants=OUT,
    derivatives={"self": lambda grad, self, result, dim: _logcumsumexp_backward(grad, self, result, dim)},
)
def logcumsumexp(xp: Any, self: Array, dim: int) -> Array:
    """y_i = log Σ_{j ≤ i} exp(x_j) along `dim`, of the shape of `input`. Raises NotImplementedError for integers."""
    dim = check_dim(dim, self.ndim)
    kind = FROM_NUMPY[self.dtype]
    if kind.category < FLOATING:
        raise not_implemented("logcumsumexp_out_cpu", self.dtype.name)
    if not self.ndim:
        return self.copy()
    if self.dtype.kind == "c":
        result = self.copy()
        moved = xp.moveaxis(result, dim, 0)
        for here in range(1, len(moved)):
            moved[here] = OPS["logaddexp"].kernel(xp, moved[here - 1], moved[here])  # its angles grow beyond π
        return result
    return running(xp, xp.logaddexp, self.astype(_accumulates_in(kind), copy=False), dim).astype(self.dtype, copy=False)


def _logcumsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """exp(x_i) Σ_{j ≥ i} g_j exp(−y_j), in logarithms; of real numbers, positive and negative gradients apart."""
    if not self.dim() or not self.numel():
        return grad
    if grad.is_complex():
        return ((grad.conj().log() - result).flip(dim).logcumsumexp(dim).flip(dim) + self).exp().conj()

    lowest = finfo(grad.dtype).min

    def part(sign: int) -> Tensor:
        counts = grad * sign > 0
        logs = (grad * sign).where(counts, 1).log().where(counts, lowest)  # the logarithm of 0 would have no slope
        return ((logs - result).flip(dim).logcumsumexp(dim).flip(dim) + self).exp()

    return part(1) - part(-1)


def _running_backward(grad: Tensor, indices: Tensor, dim: int) -> Tensor:
    return grad.new_zeros(grad.shape).scatter_add(dim, indices, grad) if grad.numel() else grad


def _extreme_so_far(name: str, best: str) -> Any:
    """`cummax` or `cummin`: of equal elements the latest counts, and NaN stays."""

    @declare(
        row_major=True,
        variants=OUT,
        outputs=getattr(return_types, name),
        derivatives={"self": lambda grad, self, result1, dim: _running_backward(grad, result1, dim)},
    )
    @called(
        name,
        f"The {'largest' if name == 'cummax' else 'smallest'} element so far along `dim`, and its int64 index.\n\n    "
        "Both have the shape of `input`. Raises NotImplementedError for complex numbers.",
    )
    def scan(xp: Any, self: Array, dim: int) -> tuple[Array, Array]:
        if not self.ndim and dim not in (0, -1):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        if not self.ndim or not self.size:  # PyTorch doesn't look at `dim` where there is nothing to compare
            return self.copy(), xp.zeros(self.shape, xp.int64)
        dim = check_dim(dim, self.ndim)
        if self.dtype.kind == "c":
            raise not_implemented(f"{name}_cpu", self.dtype.name)
        values = running(xp, getattr(xp, best), self, dim)
        positions = xp.arange(self.shape[dim]).reshape([-1 if d == dim else 1 for d in range(self.ndim)])
        return values, running(xp, xp.maximum, ((values == self) | (self != self)) * positions, dim)

    return scan


cummax, cummin = _extreme_so_far("cummax", "maximum"), _extreme_so_far("cummin", "minimum")


@composite()
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The n-th differences of neighbours along `dim`, of which there are n less; bools are compared (xor).

    `prepend` and `append` are joined first. Raises RuntimeError for a 0-d tensor or a negative n.
    """
    if not input.dim():
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if as_int(n) < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = check_dim(dim, input.dim())
    if n == 0:
        return zeros_like(input).copy_(input) if out is None else write_out("diff", out, input)
    parts = [each for each in (prepend, input, append) if each is not None]
    result = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, result.shape[dim])):
        later, earlier = slice_(result, dim, 1, None), slice_(result, dim, 0, -1)
        result = later ^ earlier if result._dtype.category == 0 else later - earlier
    if out is not None:
        return write_out("diff", out, result)
    return result


def _widths(x: Tensor, dim: int, ndim: int) -> Tensor:
    """The distances of neighbouring points along `dim`."""
    return diff(x, dim=dim) if x.dim() > 1 else diff(x).reshape([-1 if d == dim else 1 for d in range(ndim)])


@composite(variants="function", aliases="trapz")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral along `dim` by the trapezoidal rule, for points `x` or a spacing `dx`; the dimension is removed.

    Raises RuntimeError for other sizes of x.
    """
    if x is not None and dx is not None:
        raise RuntimeError("trapezoid(): only one of x and dx may be given")
    dim = check_dim(dim, y.dim())
    if y.dim() and not y.shape[dim]:
        return y.detach().sum(dim, dtype=y.dtype)
    if x is None:
        inner = y.sum(dim) - times_number(select(y, dim, 0) + select(y, dim, -1), 0.5)
        return times_number(inner, 1 if dx is None else dx)
    doubled = ((slice_(y, dim, 1, None) + slice_(y, dim, 0, -1)) * _widths(x, dim, y.dim())).sum(dim)
    return over_number(doubled, 2.0)


@composite(variants="function")
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integrals up to each point along `dim`, one element less than there are values."""
    dim = check_dim(dim, y.dim())
    pairs = slice_(y, dim, 1, None) + slice_(y, dim, 0, -1)
    if x is None:
        return times_number(pairs, (1 if dx is None else dx) / 2.0).cumsum(dim)
    return over_number((pairs * _widths(x, dim, y.dim())).cumsum(dim), 2.0)
