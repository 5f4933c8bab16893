"""Convolutions in one, two and three dimensions, and their transposes.

out[n, o, y] = Σ_{c, k} weight[o, c, k] · input[n, c, stride · y + dilation · k − padding]

is linear in the input and in the weight, and so are its adjoint in the input, `transposed_convolution`, and that in the
weight. `convolution_backward` computes the gradients of the one and the other; its own are made of the same three.
Source: https://pytorch.org/docs/stable/generated/torch.nn.Conv2d.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.backend import Array
from minitorch.dtypes import FROM_NUMPY
from minitorch.layout import contiguous_format, laid_out
from minitorch.ops.convolution_geometry import (
    as_batch,
    check_bias_type,
    check_geometry,
    check_sizes,
    check_types,
    check_weight,
    expanded,
    padded_by_name,
)
from minitorch.ops.correlation import correlate, outer, padded, scatter
from minitorch.ops.declaration import NAMESPACES, composite, declare
from minitorch.ops.one_node import one_node
from minitorch.ops.reduction import add_up
from minitorch.tensor import Tensor

Ints = tuple[int, ...]
Mask = tuple[bool, ...]


def _plus_bias(result: Array, bias: Array | None) -> Array:
    if bias is not None:
        result += bias.reshape(-1, *[1] * (result.ndim - 2))
    return result


def _spread(values: Sequence[Any], needed: Mask) -> list[Any]:
    """The values one after the other at the places that are needed, None at the others."""
    rest = iter(values)
    return [next(rest) if each else None for each in needed]


def _gradients(*args: Any) -> list[Tensor | None]:
    """What `convolution_backward` gives, and None for the gradients that aren't needed."""
    return _spread(convolution_backward(*args), args[-1])


@declare(
    format_from=("self", "weight"),
    upcast=True,
    promotion="keep",
    variants="",
    node="ConvolutionBackward0",
    derivatives={
        "self, weight, bias": lambda grad, self, weight, stride, padding, dilation, groups, output_mask: _gradients(
            grad, self, weight, stride, padding, dilation, groups, False, output_mask
        )
    },
)
def convolution(
    xp: Any, self: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """(N, C, *spatial) and (O, C / groups, *kernel) → (N, O, *output)."""
    return _plus_bias(correlate(xp, self, weight, stride, padding, dilation, groups), bias)


@declare(
    format_from=("self", "weight"),
    upcast=True,
    promotion="keep",
    variants="",
    node="ConvolutionBackward0",
    derivatives={
        "self, weight, bias": lambda grad, self, weight, stride, padding, dilation, groups, output_mask: _gradients(
            grad, self, weight, stride, padding, dilation, groups, True, output_mask
        )
    },
)
def transposed_convolution(
    xp: Any,
    self: Array,
    weight: Array,
    bias: Array | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    size: Ints,
) -> Array:
    """The adjoint of a convolution in its input: (N, O, *output) and (O, C / groups, *kernel) → (N, C, *size)."""
    result = scatter(xp, self, weight, size, stride, padding, dilation, groups)
    return _plus_bias(laid_out(xp, result, contiguous_format) if self.ndim == 3 else result, bias)


def _second(
    grads: tuple[Tensor | None, ...],
    grad_output: Tensor,
    self: Tensor,
    weight: Tensor,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    transposed: bool,
    needed: Mask,
) -> tuple[Tensor | None, ...]:
    """The gradients of grad_output, input and weight, in each of which the three gradients are linear."""
    of_self, of_weight, of_bias = _spread(grads, needed)
    geometry = stride, padding, dilation, groups

    def convolved(x: Tensor, kernel: Tensor) -> Tensor:
        if transposed:
            return transposed_convolution(x, kernel, None, *geometry, tuple(grad_output.shape[2:]))
        return convolution(x, kernel, None, *geometry)

    def gradient(x: Tensor, kernel: Tensor, wanted: Mask) -> Tensor:
        return convolution_backward(grad_output, x, kernel, *geometry, transposed, wanted)[0]

    terms = [
        None if of_self is None else convolved(of_self, weight),
        None if of_weight is None else convolved(self, of_weight),
        None if of_bias is None else of_bias.reshape(-1, *[1] * len(stride)).expand(grad_output.shape),
    ]
    present = [each for each in terms if each is not None]
    return (
        sum(present[1:], present[0]),
        None if of_weight is None else gradient(self, of_weight, (True, False, False)),
        None if of_self is None else gradient(of_self, weight, (False, True, False)),
    )


@declare(
    format_from=("self", "weight"),
    upcast=True,
    promotion="keep",
    variants="",
    derivatives={
        "grad_output, self, weight": (
            lambda grads, grad_output, self, weight, stride, padding, dilation, groups, transposed, needed: _second(
                grads, grad_output, self, weight, stride, padding, dilation, groups, transposed, needed
            )
        ),
    },
)
def convolution_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    weight: Array,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
    transposed: bool,
    needed: Mask,
) -> tuple[Array, ...]:
    """The gradients of input, weight and bias, or those of them that are needed."""
    kernel, geometry = weight.shape[2:], (stride, padding, dilation, groups)
    results = []
    if needed[0] and transposed:  # an output padding larger than the stride is seen by positions after the last
        seen = correlate(xp, grad_output, weight, *geometry)
        results.append(xp.ascontiguousarray(seen[tuple(map(slice, self.shape))]))
    elif needed[0]:
        results.append(scatter(xp, grad_output, weight, self.shape[2:], *geometry))
    if needed[1]:
        made, read = (self, grad_output) if transposed else (grad_output, self)
        results.append(outer(xp, made, padded(xp, read, padding), kernel, stride, dilation, groups))
    if needed[2]:
        over = (0, *range(2, grad_output.ndim))
        results.append(add_up(xp, grad_output, over, False, FROM_NUMPY[grad_output.dtype]))
    return tuple(results)


# The public functions


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
    batched = as_batch(name, input, n)
    if isinstance(padding, str):
        batched, padding = padded_by_name(batched, weight, padding, stride, dilation, groups)
    check_bias_type(input, bias)
    check_weight(weight, groups)
    stride, padding, dilation = (
        expanded(value, n, what, weight)
        for value, what in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    )
    check_geometry(stride, padding, dilation)
    check_sizes(batched, weight, bias, groups, False)
    whole = [s + 2 * p for s, p in zip(batched.shape[2:], padding, strict=True)]
    needed = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    if any(have < want for have, want in zip(whole, needed, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, whole))}). Kernel size: "
            f"({' x '.join(map(str, needed))}). Kernel size can't be greater than actual input size"
        )
    if 0 in dilation:
        raise RuntimeError("non-positive dilation is not supported")
    check_types(input, weight)
    result = convolution(batched, weight, bias, stride, padding, dilation, groups)
    return result if batched.dim() == input.dim() else result.squeeze(0)


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
    stride, padding = expanded(stride, n, "stride", weight), expanded(padding, n, "padding", weight)
    dilation = expanded(dilation, n, "dilation", weight)
    extra = expanded(output_padding, n, "output_padding", weight)
    check_geometry(stride, padding, dilation, extra)
    check_sizes(batched, weight, bias, groups, True)
    sides = ("depth", "height", "width")[-max(n, 2) :]
    if 0 in dilation:
        shown = [f"dilation_{side}: {value}" for side, value in zip(sides, (1,) * (n == 1) + dilation, strict=True)]
        raise RuntimeError(f"dilation should be greater than zero, but got {', '.join(shown)}")
    check_bias_type(input, bias)
    check_types(input, weight)
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation, strict=True)):
        kinds = {"output_padding": extra, "stride": stride, "dilation": dilation}
        # PyTorch's one dimension is the width of two.
        given = {kind: ((int(kind != "output_padding"),) * (n == 1) + each) for kind, each in kinds.items()}
        shown = [
            f"{kind}_{side}: {value}"
            for kind, values in given.items()
            for side, value in zip(sides, values, strict=True)
        ]
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got " + " ".join(shown))
    size = tuple(
        (s - 1) * t - 2 * p + d * (k - 1) + e + 1
        for s, t, p, d, k, e in zip(batched.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True)
    )
    result = transposed_convolution(batched, weight, bias, stride, padding, dilation, groups, size)
    return result if batched.dim() == input.dim() else result.squeeze(0)


def _public(n: int) -> None:
    """Registers conv{n}d and conv_transpose{n}d, in `torch` and in `nn.functional`."""

    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
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
        return _convolve_transposed(
            f"conv_transpose{n}d", n, input, weight, bias, stride, padding, output_padding, groups, dilation
        )

    for function, name in ((conv, f"conv{n}d"), (conv_transpose, f"conv_transpose{n}d")):
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"https://pytorch.org/docs/stable/generated/torch.nn.functional.{name}.html"
        for namespace in ("torch", "nn.functional"):
            composite(variants="function", namespace=namespace)(function)


for _n in (1, 2, 3):
    _public(_n)


@composite(variants="function")
@one_node("ConvTbcBackward0", "input, weight, bias")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """conv1d of (time, batch, in) with a weight (kernel, in, out) → (time, batch, out).

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
