"""The windows of pools, and which of them PyTorch refuses.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/Pool.h
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

from minitorch.arrays import Ints
from minitorch.size import first_wrong, kind_name
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
    """An int for every dimension, or a sequence of one or n ints, which may be tensors."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    check_ints(name, what, value, values)
    values = tuple(map(operator.index, values))
    if len(values) not in (1, n):
        count = {1: "one int", 2: "two ints", 3: "three ints"}[n]
        raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of {count}")
    return values * n if len(values) == 1 else values


def check_ints(name: str, what: str, value: Any, values: tuple[Any, ...]) -> None:
    """Raises TypeError unless all `values`, of the argument `value`, are integers."""
    if (position := first_wrong(values)) is not None:
        several = isinstance(value, (tuple, list))
        found = f"but found element of type {kind_name(values[position])} at pos {position}"
        raise TypeError(
            f"{name}(): argument '{what}' (position {_POSITIONS[what]}) must be tuple of ints, "
            f"{found if several else 'not ' + kind_name(value)}"
        )


def check_dimensions(name: str, input: Tensor) -> None:
    """Raises RuntimeError unless the input of a pool of one dimension is (N, C, L) or (C, L)."""
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )


def _check_input(name: str, n: int, input: Tensor) -> None:
    """Raises PyTorch's error for an input that isn't (N, C, *spatial) or (C, *spatial), or is empty but for N."""
    shape, ranks = list(input.shape), f"{n + 1}D or {n + 2}D"
    fits = input.dim() in (n + 1, n + 2)
    if fits and 0 not in shape[-n - 1 :]:
        return
    if name == "avg_pool1d":  # which is avg_pool2d of an image of one row
        check_dimensions(name, input)
        shape, ranks = [*shape[:-1], 1, shape[-1]], "3D or 4D"
    if name == "avg_pool2d":
        input.size(-3)
    if not fits and name in ("max_pool2d", "max_pool3d", "avg_pool3d"):
        raise RuntimeError(f"non-empty {ranks} (batch mode) tensor expected for input")
    if n == 3:
        caller = "avg_pool3d" if name == "avg_pool3d" else "max_pool3d_with_indices_out_cpu_template"
        raise RuntimeError(
            f"{caller}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{shape} and non-batch dimension 0 has length zero!"
        )
    prefix = "max_pool1d: " if name == "max_pool1d" else ""
    raise RuntimeError(
        f"{prefix}Expected {ranks} (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}"
    )


def check_signal(input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> None:
    """Raises the errors of PyTorch's max_pool1d without indices, a kernel of its own with words of its own."""
    name, several = "max_pool1d", "an int, list of ints or tuple of ints"
    steps = kernel_size if stride is None or stride in ([], ()) else stride
    given = {"kernel_size": kernel_size, "stride": steps, "padding": padding, "dilation": dilation}
    found = {what: tuple(each) if isinstance(each, (tuple, list)) else (each,) for what, each in given.items()}
    for what, values in found.items():
        check_ints(name, what, given[what], values)
    _check_input(name, 1, input)
    takes = {"stride": "None, an int, list of ints, or tuple of ints", "padding": several.replace(" or", ", or")}
    for what, values in found.items():
        if len(values) != 1:
            wanted = f"{takes.get(what, several)} of size 1"
            raise RuntimeError(f"{name}() {what} must be {wanted} but got size {len(values)}")
    k, t, p, d = (operator.index(values[0]) for values in found.values())
    for what, value in (("kernel_size", k), ("stride", t)):
        if value <= 0:
            raise RuntimeError(f"{name}() {what} must be greater than zero, but got {value}")
    if p < 0:
        raise RuntimeError(f"{name}() padding must be non-negative, but got {p}")
    if p > k // 2:
        raise RuntimeError(
            f"{name}() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"
        )
    if d <= 0:
        raise RuntimeError(f"{name}() dilation must be greater than zero, but got {d}")
    count = _count(input.shape[-1], k, t, p, d, ceil_mode)
    if count <= 0:
        raise RuntimeError(f"{name}() Invalid computed output size: {max(count, 0)}")


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
    _check_input(name, n, input)
    size = tuple(input.shape[-n:])
    output = tuple(_count(*each, ceil_mode) for each in zip(size, kernel, steps, pads, spread, strict=True))
    if min(output) <= 0:
        found, made = ("x".join(map(str, (input.shape[-n - 1], *each))) for each in (size, output))
        raise RuntimeError(f"Given input size: ({found}). Calculated output size: ({made}). Output size is too small")
    return Windows(size, kernel, steps, pads, spread, output)
