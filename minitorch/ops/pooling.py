"""Pooling: the largest element or the mean of each window.

Every offset inside the windows is a strided slice of the input, so that a pool is a few operations on whole slices.
Source: https://pytorch.org/docs/stable/nn.functional.html#pooling-functions
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.backend import Array
from minitorch.dtypes import type_name
from minitorch.ops.declaration import composite, declare, flat
from minitorch.ops.errors import not_implemented
from minitorch.ops.masking import keep
from minitorch.ops.planes import gather_planes, like_images
from minitorch.ops.pooling_geometry import check_output, geometry, per_dimension, pooled_sizes
from minitorch.tensor import Tensor

Ints = tuple[int, ...]


def _slices(size: Ints, output: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Iterator[Any]:
    """For every offset in a window: the slices of the outputs and of the inputs that it joins, without the padding."""
    for offset in itertools.product(*map(range, kernel)):
        outputs, inputs = [], []
        for s, o, k, t, p, d in zip(size, output, offset, stride, padding, dilation, strict=True):
            shift = k * d - p
            first = max(0, -(shift // t)) if shift < 0 else 0
            last = min(o, (s - 1 - shift) // t + 1) if s > shift else 0
            outputs.append(slice(first, max(last, first)))
            start = first * t + shift
            inputs.append(slice(start, start + (last - first - 1) * t + 1 if last > first else start, t))
        yield (..., *outputs), (..., *inputs)


@declare(
    format_from=("self",),
    upcast=True,
    promotion="keep",
    variants="",
    node=lambda self, kernel, *_: f"MaxPool{len(kernel)}DWithIndicesBackward0",
    derivatives={
        "self": lambda grad, self, result1, kernel, stride, padding, dilation: max_pool_backward(
            grad, result1, self, kernel, stride, padding, dilation
        )
    },
)
def max_pool(
    xp: Any, self: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Array, Array]:
    """The largest element of each window, NaN above all, and its index in the plane; of equal ones the first."""
    n = len(kernel)
    size = self.shape[-n:]
    output = pooled_sizes(size, kernel, stride, padding, dilation, ceil_mode)
    lowest = -math.inf if self.dtype.kind == "f" else xp.iinfo(self.dtype).min
    best = xp.full((*self.shape[:-n], *output), lowest, self.dtype)
    chosen = xp.full(best.shape, -1, "int16" if math.prod(kernel) < 2**15 else "int64")  # the number of the offset
    for number, (outputs, inputs) in enumerate(_slices(size, output, kernel, stride, padding, dilation)):
        candidate, current, at = xp.ascontiguousarray(self[inputs]), best[outputs], chosen[outputs]
        better = candidate > current
        better |= at < 0
        if self.dtype.kind == "f":
            better |= candidate != candidate
        xp.maximum(current, candidate, out=current)
        xp.maximum(at, better.view("int8") * at.dtype.type(number) - ~better, out=at)
    return best, _places(xp, size, output, kernel, stride, padding, dilation, chosen)


@declare(upcast=True, promotion="keep", variants="")
def largest(xp: Any, self: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Array:
    """The largest element of each window alone, for those who ask neither for its place nor for a gradient."""
    size = self.shape[-len(kernel) :]
    output = pooled_sizes(size, kernel, stride, padding, dilation, ceil_mode)
    lowest = -math.inf if self.dtype.kind == "f" else xp.iinfo(self.dtype).min
    best = xp.full((*self.shape[: -len(kernel)], *output), lowest, self.dtype)
    for outputs, inputs in _slices(size, output, kernel, stride, padding, dilation):
        xp.maximum(best[outputs], self[inputs], out=best[outputs])
    return best


def _places(
    xp: Any, size: Ints, output: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, chosen: Array
) -> Array:
    """The indices in the plane of what was chosen, given as the numbers of offsets in the windows."""
    starts, shifts = xp.zeros((), "int64"), xp.zeros((), "int64")
    for s, o, k, t, p, d in zip(size, output, kernel, stride, padding, dilation, strict=True):
        starts = starts[..., None] * s + (xp.arange(o) * t - p)
        shifts = shifts[..., None] * s + xp.arange(k) * d
    places = shifts.reshape(-1).take(chosen)
    places += starts
    return places


@declare(
    format_from=("self",),
    upcast=True,
    promotion="keep",
    promoted=("grad_output",),
    variants="",
    node=lambda grad_output, index, self, kernel, *_: f"MaxPool{len(kernel)}DWithIndicesBackwardBackward0",
    derivatives={"grad_output": lambda grad, index, kernel: gather_planes(grad, index, len(kernel)), "self": flat},
)
def max_pool_backward(
    xp: Any,
    grad_output: Array,
    index: Array,
    self: Array,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
) -> Array:
    """Every output's gradient at the element that it was taken from."""
    size = self.shape[-len(kernel) :]
    result = xp.zeros(self.shape, grad_output.dtype)
    plane = xp.arange(math.prod(size), dtype=xp.int64).reshape(size)
    for outputs, inputs in _slices(size, index.shape[-len(kernel) :], kernel, stride, padding, dilation):
        result[inputs] += keep(xp, grad_output[outputs], index[outputs] == plane[inputs[1:]])
    return result


@declare(
    upcast=True,
    promotion="keep",
    variants="",
    node=lambda self, kernel, *rest: f"AvgPool{len(kernel)}DBackward0",
    derivatives={
        "self": lambda grad, self, kernel, stride, padding, ceil_mode, count_include_pad, divisor: avg_pool_backward(
            grad, self, kernel, stride, padding, ceil_mode, count_include_pad, divisor
        )
    },
)
def avg_pool(
    xp: Any,
    self: Array,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Array:
    """The sum of each window over the number of its elements, those in the padding counted or not."""
    n = len(kernel)
    if self.dtype.kind != "f" and self.dtype != "int64":
        raise not_implemented("avg_pool2d" if n == 2 else "avg_pool3d_out_frame", self.dtype.name)
    size, one = self.shape[-n:], (1,) * n
    output = pooled_sizes(size, kernel, stride, padding, one, ceil_mode)
    result = xp.zeros((*self.shape[:-n], *output), self.dtype)
    for outputs, inputs in _slices(size, output, kernel, stride, padding, one):
        result[outputs] += self[inputs]
    divisors = _divisors(xp, size, output, kernel, stride, padding, count_include_pad, divisor, self.dtype)
    if self.dtype == "int64":
        result = (result - xp.fmod(result, divisors)) // divisors
    else:
        result /= divisors
    return like_images(xp, result, self, n)


def _divisors(
    xp: Any,
    size: Ints,
    output: Ints,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    count_include_pad: bool,
    divisor: int | None,
    dtype: Any,
) -> Array:
    """What each window's sum is divided by; no window reaches beyond the padding."""
    if divisor is not None:
        return xp.asarray(divisor, dtype)
    counts = xp.ones((), dtype)
    for s, o, k, t, p in zip(size, output, kernel, stride, padding, strict=True):
        start = xp.arange(o) * t - p
        end = xp.minimum(start + k, s + p)
        if not count_include_pad:
            start, end = xp.maximum(start, 0), xp.minimum(end, s)
        counts = counts[..., None] * (end - start).astype(dtype)
    return counts


@declare(
    upcast=True,
    promotion="keep",
    promoted=("grad_output",),
    variants="",
    node=lambda grad_output, self, kernel, *_: f"AvgPool{len(kernel)}DBackwardBackward0",
    derivatives={
        "grad_output": lambda grad, kernel, stride, padding, ceil_mode, count_include_pad, divisor: avg_pool(
            grad, kernel, stride, padding, ceil_mode, count_include_pad, divisor
        ),
        "self": flat,
    },
)
def avg_pool_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Array:
    """Every output's gradient, shared by the elements of its window."""
    n = len(kernel)
    size, output, one = self.shape[-n:], grad_output.shape[-n:], (1,) * n
    shared = grad_output / _divisors(
        xp, size, output, kernel, stride, padding, count_include_pad, divisor, grad_output.dtype
    )
    result = xp.zeros(self.shape, grad_output.dtype)
    for outputs, inputs in _slices(size, output, kernel, stride, padding, one):
        result[inputs] += shared[outputs]
    return like_images(xp, result, self, n)


# The public functions


def _max_pool(
    name: str,
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: bool = True,
) -> Any:
    kernel, steps, pads, spread = geometry(name, n, input, kernel_size, stride, padding, dilation)
    check_output(name, input, pooled_sizes(tuple(input.shape[-n:]), kernel, steps, pads, spread, ceil_mode))
    if input._array.dtype.kind in "bc":
        raise not_implemented(f"max_pool{max(n, 2)}d", input._dtype.name)
    if n > 1:
        return max_pool(input, kernel, steps, pads, spread, ceil_mode)
    # PyTorch too pools one dimension as two, of which the first has size 1.
    flat_geometry = (1, *kernel), (1, *steps), (0, *pads), (1, *spread), ceil_mode
    if not indices and not (grad_mode.enabled and input.requires_grad):
        return largest(input.unsqueeze(-2), *flat_geometry).squeeze(-2), None
    flat = max_pool(input.unsqueeze(-2), *flat_geometry)
    return flat[0].squeeze(-2), flat[1].squeeze(-2)


def _public_max_pool(n: int) -> None:

    def max_pool_with_indices(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return _max_pool(f"max_pool{n}d_with_indices", n, input, kernel_size, stride, padding, dilation, ceil_mode)

    def max_pool_nd(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """The largest element of each window; with `return_indices`, also where in its plane it is."""
        if n == 1 and not return_indices and not input.is_floating_point():
            raise NotImplementedError(f"\"max_pool1d_impl\" not implemented for '{type_name(input._array)}'")
        name = f"max_pool{n}d{'_with_indices' * return_indices}"
        pooled = _max_pool(name, n, input, kernel_size, stride, padding, dilation, ceil_mode, indices=return_indices)
        return pooled if return_indices else pooled[0]

    publish({f"max_pool{n}d_with_indices": max_pool_with_indices, f"max_pool{n}d": max_pool_nd})


def _avg_pool(
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Tensor:
    name = f"avg_pool{n}d"
    kernel, steps, pads, _ = geometry(name, n, input, kernel_size, stride, padding, 1)
    if n == 3 and input._dtype.is_low_precision:
        raise not_implemented("avg_pool3d_out_frame", input._dtype.name)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    check_output(name, input, pooled_sizes(tuple(input.shape[-n:]), kernel, steps, pads, (1,) * n, ceil_mode))
    if n > 1:
        return avg_pool(input, kernel, steps, pads, ceil_mode, count_include_pad, divisor_override)
    flat_geometry = (1, *kernel), (1, *steps), (0, *pads)
    return avg_pool(input.unsqueeze(-2), *flat_geometry, ceil_mode, count_include_pad, None).squeeze(-2)


@composite(variants="function", namespace="nn.functional")
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window; padding counts as zeros, or not at all.

    https://pytorch.org/docs/stable/generated/torch.nn.functional.avg_pool1d.html
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def _public_avg_pool(n: int) -> None:
    def avg_pool_nd(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """The mean of each window, or its sum over `divisor_override`; padding counts as zeros, or not at all."""
        return _avg_pool(n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    publish({f"avg_pool{n}d": avg_pool_nd}, "function out")


def publish(functions: dict[str, Callable[..., Any]], variants: str = "function") -> None:
    """Puts functions into `nn.functional` under their names."""
    for name, function in functions.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = (
            f"{function.__doc__ or ''}\n\n    https://pytorch.org/docs/stable/generated/torch.nn.functional.{name}.html"
        )
        composite(variants=variants, namespace="nn.functional")(function)


for _n in (1, 2, 3):
    _public_max_pool(_n)
for _n in (2, 3):
    _public_avg_pool(_n)


def _lp_pool(n: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    from minitorch.nn import functional as F

    if abs(norm_type) == math.inf:
        sign = 1 if norm_type > 0 else -1
        return getattr(F, f"max_pool{n}d")(input.abs() * sign, kernel_size, stride, 0, 1, ceil_mode) * sign
    count = math.prod(per_dimension(f"lp_pool{n}d", n, kernel_size, "kernel_size"))
    mean = getattr(F, f"avg_pool{n}d")(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (mean.sign() * mean.abs().relu() * count).pow(1.0 / norm_type)


@composite(variants="function", namespace="nn.functional")
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(Σ xᵖ)^(1/p) of each window. https://pytorch.org/docs/stable/generated/torch.nn.functional.lp_pool1d.html"""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@composite(variants="function", namespace="nn.functional")
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(Σ xᵖ)^(1/p) of each window. https://pytorch.org/docs/stable/generated/torch.nn.functional.lp_pool2d.html"""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@composite(variants="function", namespace="nn.functional")
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(Σ xᵖ)^(1/p) of each window. https://pytorch.org/docs/stable/generated/torch.nn.functional.lp_pool3d.html"""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
