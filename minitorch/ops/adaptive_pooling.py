"""Adaptive pooling: as many windows as are asked for, which together cover everything as evenly as possible.

Source: https://pytorch.org/docs/stable/nn.functional.html#pooling-functions
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from minitorch.backend import Array
from minitorch.layout import contiguous_format, suggested_format
from minitorch.ops.declaration import declare, flat
from minitorch.ops.errors import floating
from minitorch.ops.planes import like_images, scatter_planes
from minitorch.ops.pooling import publish
from minitorch.ops.pooling_geometry import check_ints, wrong_dimensions
from minitorch.tensor import Tensor

Ints = tuple[int, ...]


def _bounds(size: int, output: int) -> list[tuple[int, int]]:
    """Where the windows of an adaptive pool start and end: together they cover everything as evenly as possible."""
    return [(i * size // output, -((-(i + 1) * size) // output)) for i in range(output)]


def _averaging(xp: Any, size: int, output: int, dtype: Any) -> Array:
    """The matrix (output, size) whose rows take the means of the windows."""
    matrix = xp.zeros((output, size), dtype)
    for row, (start, end) in enumerate(_bounds(size, output)):
        matrix[row, start:end] = 1 / (end - start)
    return matrix


def along_each(xp: Any, array: Array, matrices: list[Array]) -> Array:
    """Each of the last dimensions multiplied by its matrix."""
    array, n = xp.ascontiguousarray(array), len(matrices)  # NumPy multiplies expanded arrays without BLAS
    for number, matrix in enumerate(matrices):
        axis = array.ndim - n + number
        array = xp.moveaxis(xp.matmul(xp.moveaxis(array, axis, -1), matrix.T), -1, axis)
    return xp.ascontiguousarray(array)


@declare(
    upcast=True,
    promotion="keep",
    variants="",
    node=lambda self, output: f"AdaptiveAvgPool{len(output)}DBackward0",
    derivatives={"self": lambda grad, self, output: adaptive_avg_pool_backward(grad, self, len(output))},
)
def adaptive_avg_pool(xp: Any, self: Array, output: Ints) -> Array:
    """The means over as many windows as are asked for. They are means of means, one dimension after the other."""
    floating(self, f"adaptive_avg_pool{max(len(output), 2)}d" + "_cpu" * (len(output) == 3))
    size = self.shape[-len(output) :]
    means = along_each(xp, self, [_averaging(xp, s, o, self.dtype) for s, o in zip(size, output, strict=True)])
    return like_images(xp, means, self, len(output))


@declare(
    upcast=True,
    promotion="keep",
    promoted=("grad_output",),
    variants="",
    node=lambda grad_output, self, n: f"AdaptiveAvgPool{n}DBackwardBackward0",
    derivatives={
        "grad_output": lambda grad, grad_output_shape, n: adaptive_avg_pool(grad, grad_output_shape[-n:]),
        "self": flat,
    },
)
def adaptive_avg_pool_backward(xp: Any, grad_output: Array, self: Array, n: int) -> Array:
    """Every mean's gradient, shared by the elements of its window."""
    sizes = zip(self.shape[-n:], grad_output.shape[-n:], strict=True)
    matrices = [_averaging(xp, size, output, grad_output.dtype).T for size, output in sizes]
    return like_images(xp, along_each(xp, grad_output, matrices), self, n)


@declare(
    upcast=True,
    promotion="keep",
    variants="",
    node=lambda self, output: f"AdaptiveMaxPool{len(output)}DBackward0",
    derivatives={
        "self": lambda grad, self, result1, output: scatter_planes(grad, result1, self, len(output), "AdaptiveMax")
    },
)
def adaptive_max_pool(xp: Any, self: Array, output: Ints) -> tuple[Array, Array]:
    """The largest element of as many windows as are asked for, and its index in the plane."""
    n = len(output)
    size, leading = self.shape[-n:], self.shape[:-n]
    best = xp.empty((*leading, *output), self.dtype)
    index = xp.empty(best.shape, xp.int64)
    plane = xp.arange(math.prod(size)).reshape(size)
    if not best.size:
        return best, index
    for position in itertools.product(*map(range, output)):
        window = tuple(slice(*_bounds(s, o)[i]) for s, o, i in zip(size, output, position, strict=True))
        flat = self[(..., *window)].reshape(*leading, -1)
        at = flat.argmax(-1)
        best[(..., *position)] = xp.take_along_axis(flat, at[..., None], -1)[..., 0]
        index[(..., *position)] = plane[window].reshape(-1)[at]
    return like_images(xp, best, self, n), like_images(xp, index, self, n)


# The public functions


def _public(n: int) -> None:
    """Registers the adaptive pools of n dimensions."""

    def adaptive_avg_pool_nd(input: Tensor, output_size: Any) -> Tensor:
        """The means of as many windows as are asked for; None keeps a dimension's size."""
        output = _adaptive_size(f"adaptive_avg_pool{n}d", input, output_size, n)
        if n == 1:  # as images of height 1
            input, output = input.unsqueeze(-2), (1, *output)
        if all(size == 1 for size in output):
            pooled = input.mean(list(range(-len(output), 0)), keepdim=True)
            if input.dim() == n + 2 and suggested_format(input._array) is not contiguous_format:
                channels = input.shape[1]  # PyTorch has the strides say so, too
                pooled = pooled.as_strided_(pooled.shape, (channels, 1, *[channels] * n))
        else:
            pooled = adaptive_avg_pool(input, output)
        return pooled.squeeze(-2) if n == 1 else pooled

    def adaptive_max_pool_nd(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        """The largest elements of as many windows as are asked for; None keeps a dimension's size."""
        output = _adaptive_size(f"adaptive_max_pool{n}d", input, output_size, n)
        if n == 1:
            values, index = adaptive_max_pool(input.unsqueeze(-2), (1, *output))
            values, index = values.squeeze(-2), index.squeeze(-2)
        else:
            values, index = adaptive_max_pool(input, output)
        return (values, index) if return_indices else values

    def adaptive_max_pool_with_indices(
        input: Tensor, output_size: Any, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]:
        """`adaptive_max_pool` that always gives the places in the plane too."""
        return adaptive_max_pool_nd(input, output_size, True)

    publish(
        {
            f"adaptive_avg_pool{n}d": adaptive_avg_pool_nd,
            f"adaptive_max_pool{n}d": adaptive_max_pool_nd,
            f"adaptive_max_pool{n}d_with_indices": adaptive_max_pool_with_indices,
        }
    )


def _adaptive_size(name: str, input: Tensor, output_size: Any, n: int) -> Ints:
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if n > 1 and isinstance(output_size, (tuple, list)) and input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    check_ints(name, "output_size", output_size, tuple(0 if o is None and n > 1 else o for o in sizes))
    if input.dim() not in (n + 1, n + 2):
        if n == 1:
            raise wrong_dimensions(name, n, input)
        colon = ":" if "max" in name else ""
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {list(input.shape)}")
    if len(sizes) != n:
        if n == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(sizes)})")
        kind = "(): internal error: output_size.size()" if "max" in name else ": output_size"
        raise RuntimeError(f"{name}{kind} must be {n}")
    output = tuple(s if o is None else o for s, o in zip(input.shape[-n:], sizes, strict=True))
    if min(output) < 0:
        made = [*input.shape[:-n], *(1,) * (n == 1), *output]
        if "max" in name:
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(output)}: {made}")
        shown = ", ".join(map(str, made[-max(n, 2) :]))
        shown = shown if n < 3 else ",".join(shown.rsplit(", ", 1))  # PyTorch's third number has no space before it
        raise RuntimeError(
            f"adaptive_avg_pool{max(n, 2)}d: elements of output_size must be greater than or equal to 0 but received "
            f"{{{shown}}}"
        )
    if "max" in name or n == 3:
        for dim in range(input.dim() - n - 1, input.dim()):
            if not input.shape[dim]:
                raise RuntimeError(
                    f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                    f"{list(input.shape)} with dimension {dim} being empty"
                )
    if "max" in name:
        floating(input._array, "adaptive_max_pool3d_cpu" if n == 3 else "adaptive_max_pool2d")
    return output


for _n in (1, 2, 3):
    _public(_n)
