"""Convolutions in one, two and three dimensions, and their transposes.

    y[n, o, p] = Σ_{c, k} w[o, c, k] · x[n, c, s·p + d·k − padding] + b[o]

is linear in x and in w. Its gradients pair the same elements, each with those of y′, the gradient of y:

    x′[n, c, i] = Σ_{o, k, p} w[o, c, k] · y′[n, o, p]     over all k and p with s·p + d·k − padding = i
    w′[o, c, k] = Σ_{n, p} y′[n, o, p] · x[n, c, s·p + d·k − padding]
    b′[o] = Σ_{n, p} y′[n, o, p]

The first three sums are the kernels `correlate`, `scatter` and `outer`. A transposed convolution is the second of them;
since all are linear in both factors, every further derivative is made of the same three.
Source: https://pytorch.org/docs/stable/generated/torch.nn.Conv2d.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.arrays import Array, Ints
from minitorch.dispatch.declaration import NAMESPACES, composite, private
from minitorch.dispatch.one_node import one_node
from minitorch.dtypes import FROM_NUMPY
from minitorch.kernels.convolution import correlate, outer, scatter
from minitorch.kernels.convolution.im2col import padded
from minitorch.kernels.summation import add_up
from minitorch.layout import contiguous_format, laid_out
from minitorch.ops.naming import called
from minitorch.ops.nn.convolution_geometry import (
    Geometry,
    as_batch,
    check,
    check_bias_type,
    check_weight,
    expanded,
    padded_by_name,
)
from minitorch.tensor import Tensor

Mask = tuple[bool, ...]


@private(
    format_from=("self", "weight"),
    derivatives={
        "self, weight, bias": lambda grad, self, weight, geometry, output_mask: _gradients(
            grad, self, weight, geometry, False, output_mask
        )
    },
)
def convolution(xp: Any, self: Array, weight: Array, bias: Array | None, geometry: Geometry) -> Array:
    """y of (N, C, *spatial) and weights (O, C / groups, *kernel): (N, O, *output)."""
    return _plus_bias(correlate(xp, self, weight, *geometry), bias)


@private(
    format_from=("self", "weight"),
    node="ConvolutionBackward0",
    derivatives={
        "self, weight, bias": lambda grad, self, weight, geometry, output_mask: _gradients(
            grad, self, weight, geometry, True, output_mask
        )
    },
)
def transposed_convolution(
    xp: Any, self: Array, weight: Array, bias: Array | None, geometry: Geometry, size: Ints
) -> Array:
    """x′ of (N, O, *output) and weights (O, C / groups, *kernel): (N, C, *size)."""
    result = scatter(xp, self, weight, size, *geometry)
    return _plus_bias(laid_out(xp, result, contiguous_format) if self.ndim == 3 else result, bias)


def _plus_bias(result: Array, bias: Array | None) -> Array:
    if bias is not None:
        result += bias.reshape(-1, *[1] * (result.ndim - 2))
    return result


def _second_gradients(
    grads: tuple[Tensor | None, ...],
    grad_output: Tensor,
    self: Tensor,
    weight: Tensor,
    geometry: Geometry,
    transposed: bool,
    needed: Mask,
) -> tuple[Tensor | None, ...]:
    """The gradients of grad_output, input and weight, in each of which the three gradients are linear."""
    of_self, of_weight, of_bias = _spread(grads, needed)

    def convolved(x: Tensor, kernel: Tensor) -> Tensor:
        if transposed:
            return transposed_convolution(x, kernel, None, geometry, tuple(grad_output.shape[2:]))
        return convolution(x, kernel, None, geometry)

    def gradient(x: Tensor, kernel: Tensor, wanted: Mask) -> Tensor:
        return convolution_backward(grad_output, x, kernel, geometry, transposed, wanted)[0]

    terms = [
        None if of_self is None else convolved(of_self, weight),
        None if of_weight is None else convolved(self, of_weight),
        None if of_bias is None else of_bias.reshape(-1, *[1] * (self.dim() - 2)).expand(grad_output.shape),
    ]
    present = [each for each in terms if each is not None]
    return (
        sum(present[1:], present[0]),
        None if of_weight is None else gradient(self, of_weight, (True, False, False)),
        None if of_self is None else gradient(of_self, weight, (False, True, False)),
    )


@private(format_from=("self", "weight"), derivatives={"grad_output, self, weight": _second_gradients})
def convolution_backward(
    xp: Any, grad_output: Array, self: Array, weight: Array, geometry: Geometry, transposed: bool, needed: Mask
) -> tuple[Array, ...]:
    """The gradients of input, weight and bias, or those of them that are needed."""

    def of_input() -> Array:
        if not transposed:
            return scatter(xp, grad_output, weight, self.shape[2:], *geometry)
        seen = correlate(xp, grad_output, weight, *geometry)
        # An output padding larger than the stride is seen by positions after the last.
        return xp.ascontiguousarray(seen[tuple(map(slice, self.shape))])

    def of_weight() -> Array:
        y, x = (self, grad_output) if transposed else (grad_output, self)
        stride, padding, dilation, groups = geometry
        return outer(xp, y, padded(xp, x, padding), weight.shape[2:], stride, dilation, groups)

    def of_bias() -> Array:
        over = (0, *range(2, grad_output.ndim))
        return add_up(xp, grad_output, over, False, FROM_NUMPY[grad_output.dtype])

    return tuple(gradient() for gradient, need in zip((of_input, of_weight, of_bias), needed, strict=True) if need)


def _gradients(*args: Any) -> list[Tensor | None]:
    """What `convolution_backward` gives, and None for the gradients that aren't needed."""
    return _spread(convolution_backward(*args), args[-1])


def _spread(values: Sequence[Any], needed: Mask) -> list[Any]:
    """The values one after the other at the places that are needed, None at the others."""
    rest = iter(values)
    return [next(rest) if each else None for each in needed]


# The public functions


def _geometry(n: int, weight: Tensor, stride: Any, padding: Any, dilation: Any, groups: int) -> Geometry:
    stride, padding = expanded(stride, n, "stride", weight), expanded(padding, n, "padding", weight)
    return Geometry(stride, padding, expanded(dilation, n, "dilation", weight), groups)


def _convolve(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    if not isinstance(padding, str):
        check_bias_type(input, bias)
    batched = as_batch(name, input, n)
    check_weight(weight, groups)
    if isinstance(padding, str):
        batched, padding = padded_by_name(batched, weight, padding, stride, dilation)
    geometry = _geometry(n, weight, stride, padding, dilation, groups)
    check(batched, weight, bias, geometry)
    _, paddings, dilations, _ = geometry
    sizes = batched._array.shape[2:], paddings, weight._array.shape[2:], dilations
    for size, p, k, d in zip(*sizes, strict=True):
        if size + 2 * p < d * (k - 1) + 1:
            raise _too_small(*sizes)
    result = convolution(batched, weight, bias, geometry)
    return result if batched is input or batched._array.ndim == input._array.ndim else result.squeeze(0)


def _too_small(size: Ints, padding: Ints, kernel: Ints, dilation: Ints) -> RuntimeError:
    """The error for a kernel that is larger than what it is to see."""
    whole = [s + 2 * p for s, p in zip(size, padding, strict=True)]
    needed = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    return RuntimeError(
        f"Calculated padded input size per channel: ({' x '.join(map(str, whole))}). Kernel size: "
        f"({' x '.join(map(str, needed))}). Kernel size can't be greater than actual input size"
    )


def _convolve_transposed(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    batched = as_batch(name, input, n)
    check_weight(weight, groups)
    geometry = _geometry(n, weight, stride, padding, dilation, groups)
    extra = expanded(output_padding, n, "output_padding", weight)
    check(batched, weight, bias, geometry, extra, transposed=True)
    stride, padding, dilation, _ = geometry
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding: {extra} stride: "
            f"{stride} dilation: {dilation}"
        )
    size = tuple(
        (s - 1) * t - 2 * p + d * (k - 1) + e + 1
        for s, t, p, d, k, e in zip(batched.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True)
    )
    result = transposed_convolution(batched, weight, bias, geometry, size)
    return result if batched.dim() == input.dim() else result.squeeze(0)


def _public(n: int) -> tuple[Any, Any]:
    """conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d and conv_transpose3d, of n dimensions."""

    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        """Σ_{c, k} w[o, c, k] · x[c, stride·p + dilation·k − padding] + bias[o], at every position p.

        Input (N, C, *spatial) or (C, *spatial), weight (O, C / groups, *kernel), bias (O,) or None, one floating dtype.
        Returns (N, O, *output) of output size ⌊(size + 2 padding − dilation (kernel − 1) − 1) / stride⌋ + 1. `padding`
        is a number of zeros, for all dimensions or one each, or "valid" (none) or "same" (output as large as the
        input). Raises RuntimeError for another number of dimensions, channels or bias elements, a kernel larger than
        the padded input, mixed dtypes, "same" with a stride, and options that aren't positive.
        """
        return _convolve(f"conv{n}d", n, input, weight, bias, stride, padding, dilation, groups)

    def conv_transpose(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        """The adjoint of a convolution: every x[c, p] · w[c, o, k] added up at stride·p + dilation·k − padding.

        Input (N, C, *spatial) or (C, *spatial), weight (C, O / groups, *kernel), bias (O,) or None, one floating dtype.
        Returns (N, O, *output) of size (size − 1) stride − 2 padding + dilation (kernel − 1) + output_padding + 1,
        where `output_padding` chooses among the sizes that a strided convolution maps to one. Raises RuntimeError for
        another number of dimensions, channels or bias elements, mixed dtypes, and for an `output_padding` that is
        neither below the stride nor below the dilation.
        """
        return _convolve_transposed(
            f"conv_transpose{n}d", n, input, weight, bias, stride, padding, output_padding, groups, dilation
        )

    for function, name in ((conv, f"conv{n}d"), (conv_transpose, f"conv_transpose{n}d")):
        called(name)(function)
        composite(variants="function", autocast="lower")(function)
    publish = composite(variants="function", namespace="nn.functional", autocast="lower")
    return publish(conv), publish(conv_transpose)


conv1d, conv_transpose1d = _public(1)
conv2d, conv_transpose2d = _public(2)
conv3d, conv_transpose3d = _public(3)


@composite(autocast="lower", variants="function")
@one_node("ConvTbcBackward0", "input, weight, bias")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """conv1d of (time, batch, in) with a weight (kernel, in, out) → (time + 2 pad − kernel + 1, batch, out).

    `bias` has the shape (out,). Raises RuntimeError for other numbers of dimensions, and for channels that don't fit.
    https://pytorch.org/docs/stable/generated/torch.nn.functional.conv_tbc.html
    """
    if input.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    whole = _convolve("conv1d", 1, input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad, 1, 1)
    return whole.permute(2, 0, 1).contiguous()


NAMESPACES["nn.functional"]["conv_tbc"] = conv_tbc
