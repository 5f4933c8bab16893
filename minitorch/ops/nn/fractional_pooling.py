"""Max pooling of windows that lie at random, so that sizes may shrink by fractions.

Source: B. Graham, "Fractional Max-Pooling", https://arxiv.org/abs/1412.6071
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from minitorch.arrays import Array, Ints
from minitorch.dispatch.declaration import declare
from minitorch.ops.nn.planes import scatter_planes
from minitorch.ops.nn.pooling import publish_with_indices
from minitorch.size import checked_ints
from minitorch.tensor import Tensor


def _starts(xp: Any, sample: Array, size: int, kernel: int, output: int) -> Array:
    """Where the windows begin (…, output): steps of (size − kernel) / (output − 1), rounded from a random place on.

    Two-byte floats round at each step, as in PyTorch, and so move the windows.
    """
    last = xp.full((*sample.shape, 1), size - kernel)
    if output <= 1:
        return last[..., :output]
    step = sample.dtype.type((size - kernel) / (output - 1))
    first = (sample * step).astype("int64")[..., None]
    steps = ((sample[..., None] + xp.arange(output - 1).astype(sample.dtype)) * step).astype("int64") - first
    return xp.concatenate([steps, last], -1)


@declare(
    promotion="keep",
    variants="",
    node=lambda self, samples, kernel, output: f"FractionalMaxPool{len(kernel)}DBackward0",
    derivatives={
        "self": lambda grad, self, result1, kernel: scatter_planes(grad, result1, self, len(kernel), "FractionalMax")
    },
)
def fractional_max_pool(xp: Any, self: Array, samples: Array, kernel: Ints, output: Ints) -> tuple[Array, Array]:
    """The largest element of each window, NaN above all, and its index in the plane. `samples` is (N, C, n)."""
    n = len(kernel)
    size, leading = self.shape[-n:], self.shape[:-n]
    samples = samples[: leading[0]] if len(leading) == 2 else samples[0]
    if n == 2:
        samples = samples[..., ::-1]  # PyTorch's first number is for the width of images
    starts = [
        _starts(xp, samples[..., d], size[d], kernel[d], output[d]).reshape(
            *leading, *(output[d] if d == other else 1 for other in range(n))
        )
        for d in range(n)
    ]
    planes = self.reshape(*leading, math.prod(size))
    best = xp.full((*leading, *output), -math.inf, self.dtype)
    index = xp.zeros(best.shape, "int64")
    for offset in itertools.product(*map(range, kernel)):
        place: Any = 0
        for s, start, o in zip(size, starts, offset, strict=True):
            place = place * s + start + o
        value = xp.take_along_axis(planes, place.reshape(*leading, math.prod(output)), -1).reshape(best.shape)
        better = (value > best) | (value != value)
        best, index = xp.where(better, value, best), xp.where(better, place, index)
    return best, index


_NAMES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _per_dimension(name: str, n: int, value: Any, what: str) -> Ints:
    values = checked_ints(name, value if isinstance(value, (tuple, list)) else (value,) * n, 0, what)
    if len(values) != n:
        count = "" if n == 2 else "three "
        raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {count}Ints")
    return values


def _check(name: str, n: int, input: Tensor, samples: Tensor, kernel: Ints, output: Ints) -> None:
    shape = list(input.shape)
    if 0 in shape[-n - 1 :]:
        dim = shape.index(0, input.dim() - n - 1)
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got{shape} with dimension "
            f"{dim} being empty."
        )
    function = name if n == 2 else f"{name}_out"
    for what, size, k, o in zip(_NAMES[n], shape[-n:], kernel, output, strict=True):
        if o + k - 1 + (n == 3) > size:  # volumes need one more
            raise RuntimeError(f"{function}(): pool {what} {k} too large relative to input {what} {size}")
    if samples.dtype is not input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.dim()}")
    if samples.size(1) != shape[-n - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.size(2) != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.size(2)}.")


def _public(n: int) -> tuple[Any, Any]:
    """fractional_max_pool2d and fractional_max_pool2d_with_indices, fractional_max_pool3d and
    fractional_max_pool3d_with_indices."""
    name = f"fractional_max_pool{n}d"

    def fractional_max_pool_nd(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        """The largest element of each of as many windows as are asked for, at random places.

        (N, C, *spatial) or (C, *spatial) → (N, C, *output_size), or of the input's size times `output_ratio`; with
        `return_indices` their int64 indices in the flattened plane, too. The windows begin at steps of about size /
        output, rounded from a random place on (`_random_samples`, (N, C, n) in [0, 1)). Raises ValueError without size
        and ratio, RuntimeError for a window larger than the input. Graham 2014, https://arxiv.org/abs/1412.6071
        """
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            if n == 2 and len(output_ratio) > n:  # one number has no length: PyTorch takes it for volumes only
                raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * n
            output_size = [int(input.size(d - n) * ratios[d]) for d in range(n)]
        samples = _random_samples
        if samples is None:
            count = input.size(0) if input.dim() == n + 2 else 1
            samples = input.new_empty((count, input.size(-n - 1), n)).uniform_()
        kernel = _per_dimension(name, n, kernel_size, "kernel_size")
        output = _per_dimension(name, n, output_size, "output_size")
        _check(name, n, input, samples, kernel, output)
        pooled, index = fractional_max_pool(input, samples, kernel, output)
        return (pooled, index) if return_indices else pooled

    return publish_with_indices(name, fractional_max_pool_nd, "float32")


fractional_max_pool2d, fractional_max_pool2d_with_indices = _public(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _public(3)
