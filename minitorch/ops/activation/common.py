"""The nonlinearities of neural networks.

Those that most networks use have fused derivatives (private ops, differentiable in turn); the others are written with
the ops of the other files. Source: https://pytorch.org/docs/stable/nn.functional.html#non-linear-activation-functions
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch import reference, signatures
from minitorch.dispatch.apply import in_place_of
from minitorch.dispatch.declaration import METHODS, NAMESPACES, OPS, composite, declare, flat, pointwise
from minitorch.dispatch.derived import derived
from minitorch.dispatch.errors import floating, not_implemented
from minitorch.dispatch.formulas import Formula
from minitorch.dispatch.iteration import arranged, combined, like_first
from minitorch.dispatch.overlap import ANY_TARGET
from minitorch.dispatch.overriding import announced
from minitorch.dispatch.rounding import RoundedOnce
from minitorch.dtypes import FROM_NUMPY
from minitorch.kernels.gates import silu_gradient_into, silu_into
from minitorch.kernels.masking import clear_below
from minitorch.ops.indexing.joining import cat
from minitorch.ops.pointwise.arithmetic import conj
from minitorch.ops.pointwise.masking import masked
from minitorch.ops.pointwise.trigonometry import tanh
from minitorch.scalars import to_scalar
from minitorch.size import check_dim
from minitorch.tensor import Tensor

Number = Any


_FORMS: dict[Any, tuple[Any, Any]] = {}


def with_inplace(op: Any) -> Any:
    """The form of an activation in `nn.functional`, which takes `inplace=` last."""
    return _FORMS[op][0]


def in_place_form(op: Any) -> Any:
    """The form of an activation that writes in place."""
    return _FORMS[op][1]


def activation(
    *,
    public: str = "nn.functional",
    twin: str = "",
    in_place_derivatives: Mapping[str, Formula] | None = None,
    methods: str = "",
    variants: str = "",
    **options: Any,
) -> Callable[[Any], Callable[..., Any]]:
    """Declares an elementwise op as function of `nn.functional` that takes `inplace=` last.

    `public` are all the modules it is in, `methods` the forms that tensors have ("method inplace"), `variants` may add
    "out"; `twin` adds the function `name_`, which writes in place, and says what the node of that form is called, whose
    derivatives are others where the input could be told only from a copy.
    """

    def generate(kernel: Any) -> Callable[..., Any]:
        name = kernel.__name__
        new = pointwise(variants=variants, **options)(kernel)
        writing = OPS[name].twin(twin, in_place_derivatives) if twin else OPS[name]
        in_place = in_place_of(writing)
        count = len(OPS[name].schema.parameters)

        def function(*args: Any, inplace: bool = False, **kwargs: Any) -> Any:
            if len(args) == count + 1:
                args, inplace = args[:count], args[count]
            return (in_place if inplace else new)(*args, **kwargs)

        function.__name__ = function.__qualname__ = name
        function = announced(function)
        explanation = reference.of_op(OPS[name], kernel.__doc__, name, "function" + variants, "nn.functional")
        function.__doc__, function.__module__ = explanation, "minitorch.nn.functional"
        new.__doc__, in_place.__doc__ = explanation, reference.of_in_place(kernel.__doc__, name, "", "nn.functional")
        signatures.describe_op(function, OPS[name], inplace=True)
        signatures.describe_op(in_place, writing)
        for module in public.split():
            names = NAMESPACES.setdefault(module, {})
            names[name] = function if module == "nn.functional" else new
            if twin:
                names[name + "_"] = in_place
        if "method" in methods:
            METHODS[name] = new
        if "inplace" in methods:
            METHODS[name + "_"] = in_place
        _FORMS[new] = function, in_place
        return new

    return generate


# ReLU and its kind.


@pointwise(
    saves_all=True,
    order=lambda op, xp, args, result: arranged(op, xp, args[1::-1], result),
    variants="",
    derivatives={"grad_output": lambda grad, self, threshold: threshold_backward(grad, self, threshold), "self": flat},
)
def threshold_backward(xp: Any, grad_output: Array, self: Array, threshold: float) -> Array:
    """grad_output where self > threshold or NaN, else 0."""
    result = xp.empty_like(self)
    clear_below(xp, threshold, grad_output, self, result)
    return result


def _relu_backward(grad: Tensor, result: Tensor, memory: Array | None) -> Tensor:
    """threshold_backward(grad, result, 0), in the gradient's memory where that may be overwritten."""
    if memory is None or not result._array.flags.c_contiguous:
        gradient: Tensor = threshold_backward(grad, result, 0)
        return gradient
    clear_below(grad._device.xp, 0, memory, result._array, memory)
    return grad


@activation(
    public="torch nn.functional",
    methods="method inplace",
    twin="ReluBackward0",
    upcast=False,
    derivatives={"self": _relu_backward},
)
def relu(xp: Any, self: Array) -> Array:
    """max(x, 0). Raises RuntimeError for bool, NotImplementedError for complex inputs."""
    if self.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if self.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    return xp.maximum(0, self)


@activation(
    overlap=(ANY_TARGET,),
    public="torch nn.functional",
    twin="ThresholdBackward1",
    upcast=False,
    variants="out",
    derivatives={"self": lambda grad, self, threshold: threshold_backward(grad, self, threshold)},
)
def threshold(xp: Any, self: Array, threshold: float, value: float) -> Array:
    """x where x > threshold, else `value`.

    Raises NotImplementedError for bool and complex inputs, RuntimeError for numbers out of the dtype's range.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.threshold.html
    """
    if self.dtype == "bool" or self.dtype.kind == "c":
        raise not_implemented("threshold_cpu", self.dtype.name)
    threshold, value = (to_scalar(each, FROM_NUMPY[self.dtype]) for each in (threshold, value))
    return xp.where(self <= threshold, xp.asarray(value, self.dtype), self)


@activation(
    order=like_first,
    twin="HardtanhBackward0",
    upcast=False,
    derivatives={
        "self": lambda grad, self, min_val, max_val: masked(grad, self, ~((self <= min_val) | (self >= max_val)))
    },
)
def hardtanh(xp: Any, self: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """x clamped to [min_val, max_val].

    Raises RuntimeError for bool and for negative limits with uint8, NotImplementedError for complex inputs, ValueError
    in `nn.functional` for min_val > max_val.
    """
    if self.dtype == "bool":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if self.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if self.dtype.kind == "u" and min(min_val, max_val) < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return xp.clip(self, *(self.dtype.type(to_scalar(each, FROM_NUMPY[self.dtype])) for each in (min_val, max_val)))


_clamped = NAMESPACES["nn.functional"]["hardtanh"]


def functional_hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`hardtanh` in `nn.functional`, which looks at its limits."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _clamped(input, min_val, max_val, inplace)


functional_hardtanh.__name__, functional_hardtanh.__doc__ = "hardtanh", _clamped.__doc__
NAMESPACES["nn.functional"]["hardtanh"] = functional_hardtanh


@composite(variants="function", namespace="nn.functional")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x clamped to [0, 6], in the shape and dtype of `input`; `inplace` writes into it."""
    return functional_hardtanh(input, 0.0, 6.0, inplace)


# Smooth ones.


@pointwise(
    saves_all=True,
    variants="",
    derivatives={
        "grad_output": lambda grad, output: sigmoid_backward(grad, conj(output)),
        "output": lambda grad, grad_output, output: grad * conj(grad_output * (1 - 2 * output)),
    },
)
def sigmoid_backward(xp: Any, grad_output: Array, output: Array) -> Array:
    """grad · (1 − y) y."""
    slope = 1 - output
    slope *= grad_output
    slope *= output
    return slope


@pointwise(promotion="to float", derivatives={"self": lambda grad, result: sigmoid_backward(grad, conj(result))})
def sigmoid(xp: Any, self: Array) -> Array:
    """1/(1 + e⁻ˣ)."""
    result = xp.exp(-self)
    result += 1
    return xp.true_divide(1, result)


composite(variants="function", namespace="nn.functional", asks=False)(sigmoid)
composite(variants="function", namespace="nn.functional", asks=False)(tanh)


@pointwise(
    saves_all=True,
    variants="",
    derivatives=derived("grad_output, self", lambda grad_output, self: grad_output * _silu_slope(self)),
)
def silu_backward(xp: Any, grad_output: Array, self: Array) -> Array:
    """grad · s(1 + x(1 − s)), s = sigmoid(x)."""
    out = xp.empty_like(self)
    silu_gradient_into(xp, out, grad_output, self)
    return out


def _silu_slope(x: Tensor) -> Tensor:
    s = x.sigmoid()
    return s * (1 + x * (1 - s))


@activation(derivatives={"self": lambda grad, self: silu_backward(grad, self)})
def silu(xp: Any, self: Array) -> Array:
    """x · sigmoid(x). https://pytorch.org/docs/stable/generated/torch.nn.functional.silu.html"""
    if self.dtype.kind != "c":
        floating(self, "silu_cpu")
    out = xp.empty_like(self)
    silu_into(xp, out, self)
    return out


def _glu_gradient(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    linear, gate = self.chunk(2, dim)
    opening = gate.sigmoid()
    return cat([grad * opening, _gate_gradient(grad, linear, opening)], dim)


_gate_gradient = RoundedOnce(lambda grad, linear, opening: (1 - opening) * opening * grad * linear)


@declare(
    promotion="keep", upcast=True, variants="function", namespace="nn.functional", derivatives={"self": _glu_gradient}
)
def glu(xp: Any, self: Array, dim: int = -1) -> Array:
    """a · sigmoid(b), of the halves a and b of the input along `dim`: (…, 2n, …) → (…, n, …).

    Raises RuntimeError for a 0-d tensor or an odd size. Dauphin et al. 2017, https://arxiv.org/abs/1612.08083
    """
    if not self.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = check_dim(dim, self.ndim)
    if self.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {self.shape[dim]}")
    linear, gate = xp.split(floating(self, "glu_cpu"), 2, axis=dim)
    divisor = xp.exp(-gate)
    divisor += 1
    return combined(xp, linear / divisor, (linear, gate))


def _softplus_slope(self: Tensor, beta: float, threshold: float) -> Any:
    return (self * beta).sigmoid().masked_fill(self * beta > threshold, 1)


@pointwise(
    variants="function out",
    namespace="nn.functional",
    autocast_on_gpu="float32",
    derivatives={
        "self": RoundedOnce(lambda grad, self, beta, threshold: grad * _softplus_slope(self, beta, threshold))
    },
)
def softplus(xp: Any, self: Array, beta: float = 1, threshold: float = 20) -> Array:
    """ln(1 + exp(βx))/β, and x itself where βx > threshold."""
    floating(self, "softplus_cpu")
    beta, threshold = (to_scalar(each, FROM_NUMPY[self.dtype]) for each in (beta, threshold))
    scaled = self * beta
    return xp.where(scaled > threshold, self, xp.log1p(xp.exp(scaled)) / beta)


def _mish_slope(x: Tensor) -> Any:
    t, s = softplus(x).tanh(), x.sigmoid()
    return t + x * s * (1 - t * t)


@pointwise(
    saves_all=True,
    variants="",
    derivatives=derived("grad_output, self", lambda grad_output, self: grad_output * _mish_slope(self)),
)
def mish_backward(xp: Any, grad_output: Array, self: Array) -> Array:
    """grad · (t + x s (1 − t²)), t = tanh(ln(1 + eˣ)), s = sigmoid(x)."""
    t, s = xp.tanh(xp.logaddexp(self, 0)), 1 / (1 + xp.exp(-self))
    return grad_output * (t + self * s * (1 - t * t))


@activation(derivatives={"self": lambda grad, self: mish_backward(grad, self)})
def mish(xp: Any, self: Array) -> Array:
    """x · tanh(ln(1 + eˣ)). https://pytorch.org/docs/stable/generated/torch.nn.functional.mish.html"""
    return floating(self, "mish_cpu") * xp.tanh(xp.log1p(xp.exp(self)))


@pointwise(
    variants="function out",
    namespace="nn.functional",
    row_major=True,
    node="LogSigmoidBackward0",
    derivatives={"self": RoundedOnce(lambda grad, self: grad * (-self).sigmoid())},
)
def logsigmoid(xp: Any, self: Array) -> Array:
    """ln sigmoid(x) = −ln(1 + e⁻ˣ), in the shape and dtype of `input`."""
    self = xp.asarray(floating(self, "log_sigmoid_cpu"), order="C")  # as PyTorch lays its result out
    return xp.minimum(self, 0) - xp.log1p(xp.exp(-xp.abs(self)))
