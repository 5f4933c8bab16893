"""Pooling: the largest element or the mean of each window.

Every offset inside the windows is a strided slice of the input, so that a pool is a few operations on whole slices.
Source: https://pytorch.org/docs/stable/nn.functional.html#pooling-functions
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dispatch.declaration import composite, flat, private
from minitorch.dispatch.errors import not_implemented
from minitorch.kernels.masking import keep
from minitorch.ops.naming import called
from minitorch.ops.nn.planes import gather_planes, like_images
from minitorch.ops.nn.pooling_geometry import Windows, check_signal, per_dimension, windows
from minitorch.tensor import Tensor


@private(
    format_from=("self",),
    node=lambda self, windows: f"MaxPool{windows.n}DWithIndicesBackward0",
    derivatives={"self": lambda grad, self, result1, windows: max_pool_backward(grad, result1, self, windows)},
)
def max_pool(xp: Any, self: Array, windows: Windows) -> tuple[Array, Array]:
    """The largest element of each window, NaN above all, and its index in the plane; of equal ones the first."""
    best = _lowest(xp, self, windows)
    chosen = xp.full(best.shape, -1, "int16" if math.prod(windows.kernel) < 2**15 else "int64")  # the offset's number
    for number, (outputs, inputs) in enumerate(windows.slices()):
        candidate, current, at = xp.ascontiguousarray(self[inputs]), best[outputs], chosen[outputs]
        better = candidate > current
        better |= at < 0
        if self.dtype.kind == "f":
            better |= candidate != candidate
        xp.maximum(current, candidate, out=current)
        xp.maximum(at, better.view("int8") * at.dtype.type(number) - ~better, out=at)
    return best, _places(xp, windows, chosen)


@private()
def largest(xp: Any, self: Array, windows: Windows) -> Array:
    """The largest element of each window alone, for those who ask neither for its place nor for a gradient."""
    best = _lowest(xp, self, windows)
    for outputs, inputs in windows.slices():
        xp.maximum(best[outputs], self[inputs], out=best[outputs])
    return best


def _lowest(xp: Any, self: Array, windows: Windows) -> Array:
    """What every element is larger than, for each window."""
    lowest = -math.inf if self.dtype.kind == "f" else xp.iinfo(self.dtype).min
    return xp.full((*self.shape[: -windows.n], *windows.output), lowest, self.dtype)


def _places(xp: Any, windows: Windows, chosen: Array) -> Array:
    """The indices in the plane of what was chosen, given as the numbers of offsets in the windows."""
    starts, shifts = xp.zeros((), "int64"), xp.zeros((), "int64")
    for s, k, t, p, d, o in zip(*windows, strict=True):
        starts = starts[..., None] * s + (xp.arange(o) * t - p)
        shifts = shifts[..., None] * s + xp.arange(k) * d
    places = shifts.reshape(-1).take(chosen)
    places += starts
    return places


@private(
    format_from=("self",),
    promoted=("grad_output",),
    node=lambda grad_output, index, self, windows: f"MaxPool{windows.n}DWithIndicesBackwardBackward0",
    derivatives={"grad_output": lambda grad, index, windows: gather_planes(grad, index, windows.n), "self": flat},
)
def max_pool_backward(xp: Any, grad_output: Array, index: Array, self: Array, windows: Windows) -> Array:
    """Every output's gradient at the element that it was taken from."""
    result = xp.zeros(self.shape, grad_output.dtype)
    plane = xp.arange(math.prod(windows.size), dtype=xp.int64).reshape(windows.size)
    for outputs, inputs in windows.slices():
        result[inputs] += keep(xp, grad_output[outputs], index[outputs] == plane[inputs[1:]])
    return result


@private(
    node=lambda self, windows, *_: f"AvgPool{windows.n}DBackward0",
    derivatives={
        "self": lambda grad, self, windows, count_include_pad, divisor: avg_pool_backward(
            grad, self, windows, count_include_pad, divisor
        )
    },
)
def avg_pool(xp: Any, self: Array, windows: Windows, count_include_pad: bool, divisor: int | None) -> Array:
    """The sum of each window over the number of its elements, those in the padding counted or not."""
    if self.dtype.kind != "f" and self.dtype != "int64":
        raise not_implemented(f"avg_pool{windows.n}d", self.dtype.name)
    result = xp.zeros((*self.shape[: -windows.n], *windows.output), self.dtype)
    for outputs, inputs in windows.slices():
        result[outputs] += self[inputs]
    divisors = _divisors(xp, windows, count_include_pad, divisor, self.dtype)
    if self.dtype == "int64":
        result = (result - xp.fmod(result, divisors)) // divisors
    else:
        result /= divisors
    return like_images(xp, result, self, windows.n)


def _divisors(xp: Any, windows: Windows, count_include_pad: bool, divisor: int | None, dtype: Any) -> Array:
    """What each window's sum is divided by; no window reaches beyond the padding."""
    if divisor is not None:
        return xp.asarray(divisor, dtype)
    counts = xp.ones((), dtype)
    for s, k, t, p, _, o in zip(*windows, strict=True):
        start = xp.arange(o) * t - p
        end = xp.minimum(start + k, s + p)
        if not count_include_pad:
            start, end = xp.maximum(start, 0), xp.minimum(end, s)
        counts = counts[..., None] * (end - start).astype(dtype)
    return counts


@private(
    promoted=("grad_output",),
    node=lambda grad_output, self, windows, *_: f"AvgPool{windows.n}DBackwardBackward0",
    derivatives={
        "grad_output": lambda grad, windows, count_include_pad, divisor: avg_pool(
            grad, windows, count_include_pad, divisor
        ),
        "self": flat,
    },
)
def avg_pool_backward(
    xp: Any, grad_output: Array, self: Array, windows: Windows, count_include_pad: bool, divisor: int | None
) -> Array:
    """Every output's gradient, shared by the elements of its window."""
    shared = grad_output / _divisors(xp, windows, count_include_pad, divisor, grad_output.dtype)
    result = xp.zeros(self.shape, grad_output.dtype)
    for outputs, inputs in windows.slices():
        result[inputs] += shared[outputs]
    return like_images(xp, result, self, windows.n)


# The public functions


def _public_max_pool(n: int) -> tuple[Any, Any]:
    """max_pool1d, max_pool2d and max_pool3d; max_pool1d_with_indices, max_pool2d_with_indices and
    max_pool3d_with_indices."""

    def max_pool_nd(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """The largest element of each window; with `return_indices`, also where in its plane it is.

        Input (N, C, *spatial) or (C, *spatial) → the same with size ⌊(size + 2 padding − dilation (kernel − 1) − 1) /
        stride⌋ + 1, or ⌈ ⌉ with `ceil_mode`; `stride` is by default the kernel's size, and padding counts as −∞. The
        indices are int64, of the flattened plane. Returns a tensor, or with `return_indices` the two as a tuple.
        Raises RuntimeError for another number of dimensions, a padding over half the kernel, or an empty output,
        NotImplementedError for bool and complex inputs.
        """
        if n == 1 and not return_indices:
            check_signal(input, kernel_size, stride, padding, dilation, ceil_mode)
            if not input.is_floating_point():
                raise not_implemented("max_pool1d", input._dtype.name)
        places = windows(f"max_pool{n}d", n, input, kernel_size, stride, padding, dilation, ceil_mode)
        if input._array.dtype.kind in "bc":
            raise not_implemented(f"max_pool{n}d", input._dtype.name)
        if n == 1:  # PyTorch too pools one dimension as two, of which the first has size 1
            input, places = input.unsqueeze(-2), places.in_rows()
            if not return_indices and not (grad_mode.enabled and input.requires_grad):
                return largest(input, places).squeeze(-2)
        pooled, index = max_pool(input, places)
        if n == 1:
            pooled, index = pooled.squeeze(-2), index.squeeze(-2)
        return (pooled, index) if return_indices else pooled

    return publish_with_indices(f"max_pool{n}d", max_pool_nd, "float32" if n == 3 else "")


@composite(variants="function", namespace="nn.functional")
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window; padding counts as zeros, or with `count_include_pad=False` not at all.

    (N, C, L) or (C, L) → the same with L' = ⌊(L + 2 padding − kernel) / stride⌋ + 1, or ⌈ ⌉ with `ceil_mode`; `stride`
    is by default the kernel's size. Raises RuntimeError for another number of dimensions, a padding over half the
    kernel, or an empty output.
    """
    places = windows("avg_pool1d", 1, input, kernel_size, stride, padding, 1, ceil_mode)
    return avg_pool(input.unsqueeze(-2), places.in_rows(), count_include_pad, None).squeeze(-2)


def _public_avg_pool(n: int) -> Any:
    """avg_pool2d and avg_pool3d."""

    def avg_pool_nd(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """The mean of each window, or its sum over `divisor_override`; padding counts as zeros, or not at all.

        Input (N, C, *spatial) or (C, *spatial) → the same with size ⌊(size + 2 padding − kernel) / stride⌋ + 1, or ⌈ ⌉
        with `ceil_mode`; `stride` is by default the kernel's size. Raises RuntimeError for another number of
        dimensions, a padding over half the kernel, an empty output, or a divisor of 0.
        """
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        places = windows(f"avg_pool{n}d", n, input, kernel_size, stride, padding, 1, ceil_mode)
        return avg_pool(input, places, count_include_pad, divisor_override)

    return publish(f"avg_pool{n}d", avg_pool_nd, "float32" if n == 3 else "", "function out")


def publish(name: str, function: Callable[..., Any], autocast: str = "", variants: str = "function") -> Any:
    """Puts a function into `nn.functional` under a name. The options are as in `declare`."""
    return composite(variants=variants, namespace="nn.functional", autocast=autocast)(called(name)(function))


def publish_with_indices(name: str, pool: Callable[..., Any], autocast: str = "") -> tuple[Any, Any]:
    """Publishes a pool that takes `return_indices`, and as `…_with_indices` one that returns them unasked."""

    @functools.wraps(pool)
    def with_indices(*args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(pool).bind(*args, **kwargs).arguments
        return pool(**given | {"return_indices": True})

    return publish(name, pool, autocast), publish(f"{name}_with_indices", with_indices)


max_pool1d, max_pool1d_with_indices = _public_max_pool(1)
max_pool2d, max_pool2d_with_indices = _public_max_pool(2)
max_pool3d, max_pool3d_with_indices = _public_max_pool(3)
avg_pool2d, avg_pool3d = _public_avg_pool(2), _public_avg_pool(3)


def _public_lp_pool(n: int) -> Any:
    """lp_pool1d, lp_pool2d and lp_pool3d."""
    maximum, mean = {1: (max_pool1d, avg_pool1d), 2: (max_pool2d, avg_pool2d), 3: (max_pool3d, avg_pool3d)}[n]

    def lp_pool_nd(
        input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Tensor:
        """(Σ xᵖ)^(1/p) of each window, p = `norm_type`; the largest element for p = ∞.

        Input (N, C, *spatial) or (C, *spatial) → the same with size ⌊(size − kernel) / stride⌋ + 1, or ⌈ ⌉ with
        `ceil_mode`; `stride` is by default the kernel's size. A negative Σ xᵖ counts as 0.
        """
        if abs(norm_type) == math.inf:
            sign = 1 if norm_type > 0 else -1
            return maximum(input.abs() * sign, kernel_size, stride, 0, 1, ceil_mode) * sign
        count = math.prod(per_dimension(f"lp_pool{n}d", n, kernel_size, "kernel_size"))
        means = mean(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (means.sign() * means.abs().relu() * count).pow(1.0 / norm_type)

    return publish(f"lp_pool{n}d", lp_pool_nd)


lp_pool1d, lp_pool2d, lp_pool3d = map(_public_lp_pool, (1, 2, 3))
