"""The windows of pools, and which of them PyTorch refuses.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/Pool.h
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from minitorch.arrays import Ints
from minitorch.tensor import Tensor

_POSITIONS = {"kernel_size": 2, "stride": 3, "padding": 4, "dilation": 5, "output_size": 2}


class Windows(NamedTuple):
    """How the windows of a pool lie in a plane: for every dimension the plane's size, the windows' size, how far apart
    they are, what is padded, how far apart a window's elements are, and how many windows there are."""

    size: Ints
    kernel: Ints
    stride: Ints
    padding: Ints
    dilation: Ints
    output: Ints

    @property
    def n(self) -> int:
        """The number of dimensions."""
        return len(self.size)

    def slices(self) -> Iterator[Any]:
        """For every offset in a window: the slices of the outputs and of the inputs that it joins, without padding."""
        for offset in itertools.product(*map(range, self.kernel)):
            outputs, inputs = [], []
            for s, _, t, p, d, o, k in zip(*self, offset, strict=True):
                shift = k * d - p
                first = max(0, -(shift // t)) if shift < 0 else 0
                last = min(o, (s - 1 - shift) // t + 1) if s > shift else 0
                outputs.append(slice(first, max(last, first)))
                start = first * t + shift
                inputs.append(slice(start, start + (last - first - 1) * t + 1 if last > first else start, t))
            yield (..., *outputs), (..., *inputs)

    def in_rows(self) -> Windows:
        """The same for signals that are seen as images of height 1."""
        return Windows(*((first, *each) for first, each in zip((1, 1, 1, 0, 1, 1), self, strict=True)))


def _count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows there are along a dimension; the last one of `ceil_mode` starts inside input or left padding."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)
    count = span // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count


def per_dimension(name: str, n: int, value: Any, what: str) -> Ints:
    """An int for every dimension, or a sequence of one or n ints."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    check_ints(name, what, value, values)
    if len(values) not in (1, n):
        count = {1: "one int", 2: "two ints", 3: "three ints"}[n]
        raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of {count}")
    return values * n if len(values) == 1 else values


def check_ints(name: str, what: str, value: Any, values: tuple[Any, ...]) -> None:
    """Raises TypeError unless all `values`, of the argument `value`, are integers."""
    for position, each in enumerate(values):
        if not hasattr(each, "__index__"):
            several = isinstance(value, (tuple, list))
            found = f"but found element of type {type(each).__name__} at pos {position}"
            raise TypeError(
                f"{name}(): argument '{what}' (position {_POSITIONS[what]}) must be tuple of ints, "
                f"{found if several else 'not ' + type(value).__name__}"
            )


def windows(
    name: str,
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Windows:
    """The windows of a pool of n dimensions. Raises TypeError or RuntimeError where the input can't have them."""
    kernel = per_dimension(name, n, kernel_size, "kernel_size")
    steps = kernel if stride is None or stride in ([], ()) else per_dimension(name, n, stride, "stride")
    pads = per_dimension(name, n, padding, "padding")
    spread = per_dimension(name, n, dilation, "dilation")
    if 0 in steps:
        raise RuntimeError("stride should not be zero")
    for pad, k, d in zip(pads, kernel, spread, strict=True):
        if pad < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {pad}")
        if k > 0 and pad > k // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={pad}, kernel_size={k} and "
                f"dilation={d}"
            )
    given = ("kernel size", "k", kernel), ("stride", "d", steps), ("dilation", "dilation", spread)
    for what, letter, values in given:
        if min(values) <= 0:
            shown = " ".join(f"{letter}{side}: {value}" for side, value in zip("THW"[-n:], values, strict=True))
            raise RuntimeError(f"{what} should be greater than zero, but got {shown}")
    if input.dim() not in (n + 1, n + 2) or 0 in input.shape[input.dim() - n - 1 :]:
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(input.shape)}"
        )
    size = tuple(input.shape[-n:])
    output = tuple(_count(*each, ceil_mode) for each in zip(size, kernel, steps, pads, spread, strict=True))
    if min(output) <= 0:
        found, made = ("x".join(map(str, (input.shape[-n - 1], *each))) for each in (size, output))
        raise RuntimeError(f"Given input size: ({found}). Calculated output size: ({made}). Output size is too small")
    return Windows(size, kernel, steps, pads, spread, output)
