"""The matrix of windows (im2col): what a kernel sees at each output position, and the adjoint that adds it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.kernel import on_gpu, threads

Ints = tuple[int, ...]

WORKSPACE = 1 << 20
"""The elements of the matrix of windows that is made at a time: what a CPU's caches hold."""

GPU_WORKSPACE = 1 << 26
"""The same for a GPU, which wants large products: 256 MiB of float32."""


def windows(xp: Any, array: Array, kernel: Ints, stride: Ints, dilation: Ints) -> Array:
    """A view (N, C, *kernel, *output) of (N, C, *spatial): what the kernel sees at each output position."""
    each = zip(array.shape[2:], kernel, stride, dilation, strict=True)
    size = [(s - d * (k - 1) - 1) // t + 1 for s, k, t, d in each]
    steps = array.strides[2:]
    inner = [step * d for step, d in zip(steps, dilation, strict=True)]
    outer = [step * t for step, t in zip(steps, stride, strict=True)]
    return xp.lib.stride_tricks.as_strided(
        array, (*array.shape[:2], *kernel, *size), (*array.strides[:2], *inner, *outer)
    )


def padded(xp: Any, array: Array, padding: Ints) -> Array:
    """The array with zeros before and after each spatial dimension."""
    if not any(padding):
        return array
    result = xp.zeros(
        (*array.shape[:2], *(s + 2 * p for s, p in zip(array.shape[2:], padding, strict=True))), array.dtype
    )
    result[(..., *(slice(p, p + s) for s, p in zip(array.shape[2:], padding, strict=True)))] = array
    return result


def _geometry(*spatial: Ints) -> Ints | None:
    """The sizes that `windows.cu` gets, which knows three dimensions: those that lack are of one element."""
    n = len(spatial[0])
    return None if n > 3 else tuple(size for each in spatial for size in (*(1,) * (3 - n), *each))


def _by_column(
    columns: Array, array: Array, kernel: Ints, size: Ints, stride: Ints, dilation: Ints
) -> tuple[int, tuple[Any, ...]] | None:
    """A thread for each element of the columns."""
    sizes = _geometry(array.shape[2:], kernel, size, stride, dilation)
    return None if sizes is None else (threads(columns.size), (columns, array, columns.size, *sizes))


@on_gpu("windows.cu", _by_column)
def take_windows(xp: Any, columns: Array, array: Array, kernel: Ints, size: Ints, stride: Ints, dilation: Ints) -> None:
    """columns = what the windows at the first positions see, see `matrix_of_windows`."""
    columns[...] = windows(xp, array, kernel, stride, dilation)[(..., *map(slice, size))]


def matrix_of_windows(xp: Any, array: Array, kernel: Ints, size: Ints, stride: Ints, dilation: Ints) -> Array:
    """What the windows at `size` positions see, (N, C, *kernel, *size).

    A view of the array where it has all that in this order; a copy elsewhere, without gaps.
    """
    seen = windows(xp, array, kernel, stride, dilation)[(..., *map(slice, size))]
    if seen.flags.c_contiguous:
        return seen
    columns = xp.empty(seen.shape, array.dtype)
    take_windows(xp, columns, array, kernel, size, stride, dilation)
    return columns


def _by_element(array: Array, columns: Array, stride: Ints, dilation: Ints) -> tuple[int, tuple[Any, ...]] | None:
    """A thread for each element of the array."""
    n = array.ndim - 2
    sizes = _geometry(array.shape[2:], columns.shape[2 : 2 + n], columns.shape[2 + n :], stride, dilation)
    return None if sizes is None else (threads(array.size), (array, columns, array.size, *sizes))


@on_gpu("windows.cu", _by_element)
def add_windows(xp: Any, array: Array, columns: Array, stride: Ints, dilation: Ints) -> None:
    """The adjoint of `windows`: adds columns (N, C, *kernel, *output) to the places in `array` that windows show.

    What no window reaches, at the ends of the array, stays as it is.
    """
    kernel, output = columns.shape[2 : array.ndim], columns.shape[array.ndim :]
    target = windows(xp, array[(..., *map(slice, covered(output, kernel, stride, dilation)))], kernel, stride, dilation)
    for offset in xp.ndindex(*kernel):
        # Windows overlap, but those of one offset don't.
        target[(slice(None), slice(None), *offset)] += columns[(slice(None), slice(None), *offset)]


def chunks(xp: Any, count: int, elements_each: int) -> Iterator[slice]:
    """Slices of `count` images, whose windows have so many elements each."""
    size = max(1, (WORKSPACE if xp.is_host else GPU_WORKSPACE) // max(elements_each, 1))
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def covered(output: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> Ints:
    """The size of what the windows see; a stride, or the padding of a transposed output, may leave something over."""
    return tuple(t * (o - 1) + d * (k - 1) + 1 for t, o, d, k in zip(stride, output, dilation, kernel, strict=True))


def without(xp: Any, array: Array, size: Ints, padding: Ints) -> Array:
    """The array without its padding."""
    if not any(padding):
        return array
    return xp.ascontiguousarray(array[(..., *(slice(p, p + s) for s, p in zip(size, padding, strict=True)))])
