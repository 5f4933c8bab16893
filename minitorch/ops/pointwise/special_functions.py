"""Special functions: error function, gamma functions, entropies, Bessel functions.

The public names of `torch.special`, of which many are in `torch` too. The kernels are in `kernels.special` and
`kernels.gamma_function`.
Source: https://pytorch.org/docs/stable/special.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array, Number
from minitorch.dispatch.declaration import METHODS, NAMESPACES, composite, pointwise
from minitorch.dispatch.errors import floating, not_implemented
from minitorch.dispatch.op import CASTS
from minitorch.dispatch.overriding import announced
from minitorch.dtypes import finfo
from minitorch.kernels import gamma_function
from minitorch.kernels import special as kernels
from minitorch.ops.naming import called
from minitorch.ops.pointwise.arithmetic import conj, times_number
from minitorch.tensor import Tensor


def _of_four_bytes(array: Array, kernel: str) -> Array:
    """The array itself, for kernels that PyTorch has for float32 and float64 only."""
    if array.dtype.itemsize == 2:
        raise not_implemented(kernel, array.dtype.name)
    return floating(array, kernel)


_SLOPE = 2 / math.sqrt(math.pi)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: (self * self).neg().exp() * _SLOPE * grad})
def erf(xp: Any, self: Array) -> Array:
    """2/√π ∫₀ˣ exp(−t²) dt. https://pytorch.org/docs/stable/special.html#torch.special.erf"""
    return kernels.erf(xp, floating(self, "erf_vml_cpu"))


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: (self * self).neg().exp() * -_SLOPE * grad})
def erfc(xp: Any, self: Array) -> Array:
    """1 − erf(x). https://pytorch.org/docs/stable/special.html#torch.special.erfc"""
    return kernels.erfc(xp, floating(self, "erfc_vml_cpu"))


@pointwise(
    promotion="to float",
    upcast=False,
    variants="function out",
    namespace="special",
    derivatives={"self": lambda grad, self, result: grad * (2 * self * result - _SLOPE)},
)
def erfcx(xp: Any, self: Array) -> Array:
    """exp(x²) erfc(x)."""
    return kernels.erfcx(xp, _of_four_bytes(self, "erfcx_cpu"))


@pointwise(
    promotion="to float",
    derivatives={"self": lambda grad, self: self.erfinv().square().exp() * (1 / _SLOPE) * grad},
    autocast_on_gpu="float32",
)
def erfinv(xp: Any, self: Array) -> Array:
    """The y with erf(y) = x. https://pytorch.org/docs/stable/special.html#torch.special.erfinv"""
    return kernels.erfinv(xp, floating(self, "erfinv_vml_cpu"))


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad * self.digamma()})
def lgamma(xp: Any, self: Array) -> Array:
    """ln |Γ(x)|."""
    return gamma_function.lgamma(xp, floating(self, "lgamma_vml_cpu"))


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad * _polygamma(self, 1)})
def digamma(xp: Any, self: Array) -> Array:
    """Γ′(x)/Γ(x). https://pytorch.org/docs/stable/special.html#torch.special.digamma"""
    return gamma_function.digamma(xp, floating(self, "digamma"))


@pointwise(
    promotion="to float", variants="", derivatives={"self": lambda grad, self, n: grad * _polygamma(self, n + 1)}
)
def _polygamma(xp: Any, self: Array, n: int) -> Array:
    return gamma_function.polygamma(xp, floating(self, ("digamma", "trigamma", "polygamma")[min(n, 2)]), n)


@composite(out_type=CASTS, variants="function out")
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma, elementwise, of the shape of `input`. Raises RuntimeError for a negative n.

    https://pytorch.org/docs/stable/special.html#torch.special.polygamma
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return _polygamma(input, n)


@called("polygamma")
def _method(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma, elementwise: `torch.polygamma`, whose tensor comes second.

    Returns a tensor of this shape. Raises RuntimeError for a negative n.
    Source: https://pytorch.org/docs/stable/generated/torch.Tensor.polygamma.html
    """
    return polygamma(n, self)


@called("polygamma_")
def _method_in_place(self: Tensor, n: int) -> Tensor:
    """`polygamma` in place: overwrites the elements with the n-th derivative of digamma, and returns the tensor itself.

    Raises RuntimeError for a negative n. Source: https://pytorch.org/docs/stable/generated/torch.Tensor.polygamma_.html
    """
    return self.copy_(polygamma(n, self))


METHODS.update(polygamma=announced(_method), polygamma_=announced(_method_in_place))


@pointwise(
    promotion="to float",
    row_major=True,
    derivatives={"self": lambda grad, self, p: grad * sum((self - i / 2).digamma() for i in range(p))},
)
def mvlgamma(xp: Any, self: Array, p: int) -> Array:
    """p(p − 1)/4 ln π + Σ lgamma(x − i/2) over i < p, of the shape of `input`.

    Raises RuntimeError for a p below 1.
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    terms = [gamma_function.lgamma(xp, floating(self, "mvlgamma") - i / 2) for i in range(p)]
    return sum(terms) + p * (p - 1) / 4 * math.log(math.pi)


@pointwise(
    promotion="to float", upcast=False, derivatives={"self": lambda grad, self, eps: _logit_gradient(grad, self, eps)}
)
def logit(xp: Any, self: Array, eps: float | None = None) -> Array:
    """ln(x / (1 − x)), x clamped to [eps, 1 − eps]. https://pytorch.org/docs/stable/special.html#torch.special.logit"""
    floating(self, "logit_cpu")
    if eps is not None:
        low, high = self.dtype.type(eps), self.dtype.type(1 - eps)
        self = xp.where(self < low, low, xp.minimum(self, high))  # of an eps above ½ too, where low > high
    return xp.log(self / (1 - self))


def _logit_gradient(grad: Tensor, self: Tensor, eps: float | None) -> Any:
    slope = grad / (self * (1 - self))
    if eps is None:
        return slope.masked_fill((self < 0) | (self > 1), math.nan)
    return slope.masked_fill((self < eps) | (self > 1 - eps), 0)


def _over(name: str) -> Any:
    """The node's name: PyTorch has an overload for two tensors, for a number first, and for a number last."""

    def node(self: Any, other: Any) -> str:
        overload = 1 if not isinstance(self, Tensor) else 0 if isinstance(other, Tensor) else 2
        return f"{name}Backward{overload}"

    return node


@pointwise(
    promotion="to float",
    upcast=False,
    node=_over("Xlogy"),
    derivatives={
        "self": lambda grad, self, other: grad.xlogy(other).masked_fill((self == 0) & (other <= 0), 0),
        "other": lambda grad, self, other: grad * self / other,
    },
)
def xlogy(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """x ln y, and 0 for x = 0 unless y is NaN. https://pytorch.org/docs/stable/special.html#torch.special.xlogy"""
    return _where_zero(xp, self, other, lambda y: xp.log(y), "xlogy_cpu")


@pointwise(
    promotion="to float",
    upcast=False,
    variants="function out",
    namespace="special",
    node=lambda self, other: "Special" + _over("Xlog1Py")(self, other),
    derivatives={
        "self": lambda grad, self, other: xlog1py(grad, other).masked_fill((self == 0) & (other <= -1), 0),
        "other": lambda grad, self, other: grad * self / (other + 1),
    },
)
def xlog1py(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    """x ln(1 + y), and 0 for x = 0 unless y is NaN."""
    return _where_zero(xp, self, other, lambda y: xp.log1p(y), "xlog1py_cpu")


def _where_zero(xp: Any, x: Any, y: Any, function: Any, kernel: str) -> Array:
    kind = (x if isinstance(x, xp.ndarray) else y).dtype
    if kind.kind == "c":
        raise not_implemented(kernel, kind.name)
    x, y = xp.asarray(x, kind), xp.asarray(y, kind)
    product = x * function(y)
    return xp.where((x == 0) & (y == y), xp.zeros((), product.dtype), product)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad * conj(_sinc_slope(self))})
def sinc(xp: Any, self: Array) -> Array:
    """sin(πx)/(πx), and 1 at 0. https://pytorch.org/docs/stable/special.html#torch.special.sinc"""
    angle = self * math.pi
    return xp.where(
        self == 0, xp.ones((), self.dtype), xp.sin(angle) / xp.where(self == 0, 1, angle).astype(self.dtype)
    )


def _sinc_slope(x: Tensor) -> Any:
    angle = x * math.pi
    return ((angle * angle.cos() - angle.sin()) / (x * x * math.pi)).masked_fill(x == 0, 0)


@pointwise(
    promotion="to float",
    upcast=False,
    variants="function out",
    namespace="special",
    derivatives={"self": lambda grad, self: grad * (-self.log() - 1)},
)
def entr(xp: Any, self: Array) -> Array:
    """−x ln x; 0 at 0, −∞ below."""
    floating(self, "entr_cpu")
    value = xp.where(self == 0, xp.zeros((), self.dtype), -self * xp.log(self))
    return xp.where(self < 0, xp.asarray(-math.inf, self.dtype), value)


@pointwise(promotion="to float", derivatives={"self": lambda grad, self: grad * NAMESPACES["special"]["i1"](self)})
def i0(xp: Any, self: Array) -> Array:
    """The modified Bessel function of order 0. https://pytorch.org/docs/stable/special.html#torch.special.i0"""
    return kernels.i0(xp, floating(self, "i0_vml_cpu"))


@pointwise(
    promotion="to float",
    variants="function out",
    namespace="special",
    node="SpecialI0EBackward0",
    derivatives={"self": lambda grad, self, result: grad * (NAMESPACES["special"]["i1e"](self) - self.sgn() * result)},
)
def i0e(xp: Any, self: Array) -> Array:
    """exp(−|x|) i0(x)."""
    return kernels.i0e(xp, floating(self, "i0e_cpu"))


def _i1_slope(name: str, zeroth: Any, self: Tensor, result: Tensor) -> Any:
    """i0(x) − i1(x)/x, for i1e less sign(x) · i1e(x); ½ at 0, where ε takes the place of x, lest its slope be NaN."""
    if self._dtype.is_low_precision:
        raise not_implemented(f"{name}_backward", self._dtype.name)
    epsilon = finfo(self._dtype).eps
    tiny = self.abs() <= epsilon
    x = self.masked_fill(tiny, epsilon)
    factor = x.reciprocal() + x.sgn() if name == "i1e" else x.reciprocal()
    return (zeroth(x) - result * factor).masked_fill(tiny, 0.5)


@pointwise(
    promotion="to float",
    variants="function out",
    namespace="special",
    derivatives={"self": lambda grad, self, result: grad * _i1_slope("i1", i0, self, result)},
)
def i1(xp: Any, self: Array) -> Array:
    """The modified Bessel function of order 1."""
    return kernels.i1(xp, floating(self, "i1_cpu"))


@pointwise(
    promotion="to float",
    variants="function out",
    namespace="special",
    node="SpecialI1EBackward0",
    derivatives={"self": lambda grad, self, result: grad * _i1_slope("i1e", i0e, self, result)},
)
def i1e(xp: Any, self: Array) -> Array:
    """exp(−|x|) i1(x)."""
    return kernels.i1e(xp, floating(self, "i1e_cpu"))


@composite(out_type=CASTS, variants="function out", namespace="special")
def ndtr(input: Tensor) -> Tensor:
    """The normal distribution: (1 + erf(x/√2))/2, elementwise, of the shape of `input`."""
    return times_number(1 + times_number(input, math.sqrt(0.5)).erf(), 0.5)


@pointwise(
    promotion="to float",
    upcast=False,
    variants="function out",
    namespace="special",
    derivatives={"self": lambda grad, result: grad * math.sqrt(2 * math.pi) * (result.square() / 2).exp()},
)
def ndtri(xp: Any, self: Array) -> Array:
    """The x with ndtr(x) = p."""
    return kernels.ndtri(xp, _of_four_bytes(self, "ndtri_cpu"))


@pointwise(
    promotion="to float",
    upcast=False,
    variants="function out",
    namespace="special",
    derivatives={
        "self": lambda grad, self, result: grad * (-(result + self.square() / 2)).exp() / math.sqrt(2 * math.pi)
    },
)
def log_ndtr(xp: Any, self: Array) -> Array:
    """ln ndtr(x), also where ndtr(x) is too small."""
    scaled = _of_four_bytes(self, "log_ndtr_cpu") * self.dtype.type(math.sqrt(0.5))
    low = xp.minimum(scaled, -1)
    return xp.where(
        scaled < -1, xp.log(kernels.erfcx(xp, -low) / 2) - low * low, xp.log1p(-kernels.erfc(xp, scaled) / 2)
    )


@composite(out_type=CASTS, variants="function out", namespace="special")
def zeta(input: Any, other: Any) -> Tensor:
    """Hurwitz' ζ(x, q) = Σ (q + k)⁻ˣ over k ≥ 0, differentiable in q, of the shape that both broadcast to."""
    return _zeta(input, other)


def _no_derivative(grad: Tensor) -> Tensor:
    raise NotImplementedError("the derivative for 'zeta' is not implemented.")


@pointwise(
    promotion="to float",
    upcast=False,
    variants="",
    node="SpecialZetaBackward0",
    derivatives={"self": _no_derivative, "other": lambda grad, self, other: grad * -self * zeta(self + 1, other)},
)
def _zeta(xp: Any, self: Array | Number, other: Array | Number) -> Array:
    kind = xp.result_type(self, other)
    q, s = xp.broadcast_arrays(xp.asarray(other, kind), xp.asarray(self, kind))
    return gamma_function.zeta(xp, _of_four_bytes(q, "zeta_cpu"), s)
