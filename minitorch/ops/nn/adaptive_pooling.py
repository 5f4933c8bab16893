"""Adaptive pooling: as many windows as are asked for, which together cover everything as evenly as possible.

Source: https://pytorch.org/docs/stable/nn.functional.html#pooling-functions
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from minitorch.arrays import Array, Ints
from minitorch.dispatch.declaration import flat, private
from minitorch.dispatch.errors import floating
from minitorch.layout import contiguous_format, suggested_format
from minitorch.ops.nn.planes import like_images, scatter_planes
from minitorch.ops.nn.pooling import publish, publish_with_indices
from minitorch.ops.nn.pooling_geometry import check_dimensions, check_ints
from minitorch.tensor import Tensor


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


@private(
    node=lambda self, output: f"AdaptiveAvgPool{len(output)}DBackward0",
    derivatives={"self": lambda grad, self, output: adaptive_avg_pool_backward(grad, self, len(output))},
)
def adaptive_avg_pool(xp: Any, self: Array, output: Ints) -> Array:
    """The means over as many windows as are asked for. They are means of means, one dimension after the other."""
    floating(self, f"adaptive_avg_pool{len(output)}d")
    size = self.shape[-len(output) :]
    means = along_each(xp, self, [_averaging(xp, s, o, self.dtype) for s, o in zip(size, output, strict=True)])
    return like_images(xp, means, self, len(output))


@private(
    promoted=("grad_output",),
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


@private(
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


def _public(n: int) -> tuple[Any, Any, Any]:
    """The adaptive pools of n dimensions: the mean, the largest elements, and these with indices.

    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d, adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices and
    adaptive_max_pool3d_with_indices.
    """

    def adaptive_avg_pool_nd(input: Tensor, output_size: Any) -> Tensor:
        """The means of as many windows as are asked for, which cover the input evenly; None keeps a dimension's size.

        (N, C, *spatial) or (C, *spatial) → (N, C, *output_size); window i of o in a size s goes from ⌊i s / o⌋ to
        ⌈(i + 1) s / o⌉. Returns a tensor. Raises RuntimeError for another number of dimensions or sizes.
        """
        output = _adaptive_size(f"adaptive_avg_pool{n}d", input, output_size, n)
        if n == 1:  # as images of height 1
            input, output = input.unsqueeze(-2), (1, *output)
        if all(size == 1 for size in output):
            pooled = input.mean(list(range(-len(output), 0)), keepdim=True)
            if input.dim() == n + 2 and suggested_format(input._array) is not contiguous_format:
                channels = input.shape[1]  # PyTorch has the strides say so, too
                pooled = pooled.as_strided_(pooled.shape, (channels, 1, *[channels] * n))
        else:
            if n < 3:
                _check_not_empty("adaptive_avg_pool2d", input, input.dim() - 2)
            pooled = adaptive_avg_pool(input, output)
        return pooled.squeeze(-2) if n == 1 else pooled

    def adaptive_max_pool_nd(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        """The largest elements of as many windows as are asked for, which cover the input evenly; None keeps a size.

        (N, C, *spatial) or (C, *spatial) → (N, C, *output_size), and with `return_indices` their int64 indices in the
        flattened plane, too; window i of o in a size s goes from ⌊i s / o⌋ to ⌈(i + 1) s / o⌉.
        Raises RuntimeError for another number of dimensions or sizes, and for an empty input.
        """
        output = _adaptive_size(f"adaptive_max_pool{n}d", input, output_size, n)
        if n == 1:
            values, index = adaptive_max_pool(input.unsqueeze(-2), (1, *output))
            values, index = values.squeeze(-2), index.squeeze(-2)
        else:
            values, index = adaptive_max_pool(input, output)
        return (values, index) if return_indices else values

    autocast = "float32" if n == 3 else ""
    return (
        publish(f"adaptive_avg_pool{n}d", adaptive_avg_pool_nd, autocast),
        *publish_with_indices(f"adaptive_max_pool{n}d", adaptive_max_pool_nd, autocast),
    )


def _adaptive_size(name: str, input: Tensor, output_size: Any, n: int) -> Ints:
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if n > 1 and isinstance(output_size, (tuple, list)) and input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    check_ints(name, "output_size", output_size, tuple(0 if o is None and n > 1 else o for o in sizes))
    if n == 1:
        check_dimensions(name, input)
    if name == "adaptive_avg_pool3d":  # which looks for empty dimensions first
        _check_not_empty(name, input)
    if input.dim() not in (n + 1, n + 2):
        colon = ":" if "max" in name else ""
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {list(input.shape)}")
    if len(sizes) != n:
        raise RuntimeError(_wrong_number(name, n, len(sizes)))
    output = tuple(s if o is None else o for s, o in zip(input.shape[-n:], sizes, strict=True))
    if min(output) < 0:
        raise RuntimeError(_negative(name, input, output if n > 1 else (1, *output)))
    if "max" in name:
        _check_not_empty(name, input)
        floating(input._array, name)
    return output


def _wrong_number(name: str, n: int, found: int) -> str:
    if n == 1:
        return f"{name}() argument 'output_size' should contain one int (got {found})"
    return (
        f"{name}(): internal error: output_size.size() must be {n}"
        if "max" in name
        else (f"{name}: output_size must be {n}")
    )


def _negative(name: str, input: Tensor, output: Ints) -> str:
    """What PyTorch says of a negative size; to it a pool of one dimension is one of an image of one row."""
    if "max" in name:
        shape = [*input.shape[: input.dim() - len(output) + (name[-2] == "1")], *output]
        return f"Trying to create tensor with negative dimension {min(output)}: {shape}"
    found = ", ".join(map(str, output[:2])) + "".join(f",{each}" for each in output[2:])
    pool = name.replace("1d", "2d")
    return f"{pool}: elements of output_size must be greater than or equal to 0 but received {{{found}}}"


def _check_not_empty(name: str, input: Tensor, first: int = 1) -> None:
    """Raises RuntimeError where a dimension is empty, from the `first` on that isn't the batch's."""
    empty = next((dim for dim in range(first, input.dim()) if not input.shape[dim]), None)
    if empty is not None:
        raise RuntimeError(
            f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(input.shape)} with dimension {empty} being empty"
        )


adaptive_avg_pool1d, adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _public(1)
adaptive_avg_pool2d, adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _public(2)
adaptive_avg_pool3d, adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _public(3)
