"""Exponential linear units: x above zero, below it an exponential function that tends to a constant.

Source: https://pytorch.org/docs/stable/nn.functional.html#non-linear-activation-functions
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch import reference, signatures
from minitorch.dispatch.apply import in_place_of
from minitorch.dispatch.declaration import NAMESPACES, OPS, composite, pointwise
from minitorch.dispatch.errors import floating
from minitorch.dtypes import FROM_NUMPY
from minitorch.ops.activation.common import activation
from minitorch.ops.pointwise.masking import masked
from minitorch.scalars import to_scalar
from minitorch.tensor import Tensor


@pointwise(
    saves_all=True,
    variants="",
    derivatives={
        "grad_output": lambda grad, self, alpha, scale, input_scale: elu_backward(
            grad, self, alpha, scale, input_scale
        ),
        "self": lambda grad, grad_output, self, alpha, scale, input_scale: masked(
            grad * grad_output * (self * input_scale).exp() * (alpha * scale * input_scale**2), self, self < 0
        ),
    },
)
def elu_backward(xp: Any, grad_output: Array, self: Array, alpha: float, scale: float, input_scale: float) -> Array:
    """scale · grad for x > 0, else scale · α · input_scale · exp(input_scale · x) · grad."""
    slope = xp.exp(xp.minimum(self, 0) * input_scale) * (alpha * scale * input_scale)
    return grad_output * xp.where(self <= 0, slope, xp.asarray(scale, self.dtype))


def _exponential(xp: Any, x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    """scale · x for x > 0, else scale · α · (exp(input_scale · x) − 1)."""
    floating(x, "elu_cpu")
    alpha = to_scalar(alpha, FROM_NUMPY[x.dtype])
    negative = xp.expm1(xp.minimum(x, 0) * input_scale) * (alpha * scale)
    return xp.where(x >= 0, x if scale == 1 else x * scale, negative)  # a zero keeps its sign


def _gradient_of_result(grad: Tensor, result: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    """The slope below zero is input_scale · (scale · α · exp(input_scale · x)), that is the result moved up."""
    if alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not supported. This is "
            "caused by calling in-place forward function with a negative slope, please call out-of-place version "
            "instead."
        )
    return grad * ((result + alpha * scale) * input_scale).where(result <= 0, scale)


@pointwise(
    variants="",
    derivatives={
        "self": lambda grad, self, alpha, scale, input_scale: elu_backward(grad, self, alpha, scale, input_scale)
    },
)
def _elu(xp: Any, self: Array, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Array:
    return _exponential(xp, self, alpha, scale, input_scale)


elu_ = in_place_of(OPS["_elu"].twin("EluBackward1", {"self": _gradient_of_result}))
signatures.describe_op(elu_, OPS["_elu"])
elu_.__doc__ = reference.of_in_place("x for x > 0, else α(eˣ − 1).", "elu", "function", "nn.functional")
NAMESPACES["nn.functional"]["elu_"] = elu_


@composite(variants="function", namespace="nn.functional")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x for x > 0, else α(eˣ − 1), in the shape and dtype of `input`; `inplace` writes into it.

    Clevert et al. 2016, https://arxiv.org/abs/1511.07289
    """
    return (elu_ if inplace else _elu)(input, alpha)


_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@composite(variants="function", namespace="nn.functional")
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """s · x for x > 0, else s · α(eˣ − 1), in the shape and dtype of `input`: keeps mean 0 and variance 1.

    α = 1.6733 and s = 1.0507 are the fixed point. Klambauer et al. 2017, https://arxiv.org/abs/1706.02515
    """
    return (elu_ if inplace else _elu)(input, *_SELU)


def _selu(name: str, form: Callable[..., Tensor], spaces: str) -> list[Any]:
    def function(input: Tensor) -> Tensor:
        return form(input, *_SELU)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = selu.__doc__
    return [composite(variants="function", namespace=space)(function) for space in spaces.split()]


(torch_selu,) = _selu("selu", _elu, "torch")
torch_selu_, selu_ = _selu("selu_", elu_, "torch nn.functional")


@activation(
    public="torch nn.functional",
    twin="CeluBackward1",
    derivatives={"self": lambda grad, self, alpha: elu_backward(grad, self, alpha, 1.0, 1 / alpha)},
    in_place_derivatives={"self": lambda grad, result, alpha: _gradient_of_result(grad, result, alpha, 1.0, 1 / alpha)},
)
def celu(xp: Any, self: Array, alpha: float = 1.0) -> Array:
    """x for x > 0, else α(exp(x/α) − 1). Raises RuntimeError for α = 0. Barron 2017, https://arxiv.org/abs/1704.07483

    https://pytorch.org/docs/stable/generated/torch.nn.functional.celu.html
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _exponential(xp, self, alpha, 1.0, 1 / alpha)
