"""The arguments of pools: kernel, stride, padding and dilation for every dimension, and what PyTorch refuses of them.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/Pool.h
"""

from __future__ import annotations

from typing import Any

from minitorch.tensor import Tensor

Ints = tuple[int, ...]

_POSITIONS = {"kernel_size": 2, "stride": 3, "padding": 4, "dilation": 5, "output_size": 2}


def pooled_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows there are along a dimension; the last one of `ceil_mode` starts inside input or left padding."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)
    count = span // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count


def pooled_sizes(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Ints:
    """`pooled_size` of every dimension."""
    return tuple(pooled_size(*each, ceil_mode) for each in zip(size, kernel, stride, padding, dilation, strict=True))


def per_dimension(name: str, n: int, value: Any, what: str) -> Ints:
    """An int for every dimension, or a sequence of one or n ints."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    check_ints(name, what, value, values)
    if len(values) not in (1, n):
        if n == 1 and name == "max_pool1d":
            none = " None," * (what == "stride")
            raise RuntimeError(
                f"max_pool1d() {what} must be{none} an int, list of ints{',' * (what != 'kernel_size')} or tuple of "
                f"ints of size 1 but got size {len(values)}"
            )
        name = name.removesuffix("_with_indices")
        if n == 1:
            raise RuntimeError(f"{name}() argument '{what}' should contain one int (got {len(values)})")
        count = "two" if n == 2 else "three"
        raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of {count} ints")
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


def geometry(name: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Kernel, stride, padding and dilation for every dimension, checked against the input."""
    if input.dim() not in (n + 1, n + 2):
        raise wrong_dimensions(name, n, input)
    kernel = per_dimension(name, n, kernel_size, "kernel_size")
    steps = kernel if stride is None or stride in ([], ()) else per_dimension(name, n, stride, "stride")
    pads = per_dimension(name, n, padding, "padding")
    spread = per_dimension(name, n, dilation, "dilation")
    if name == "max_pool1d":
        _check_max_pool1d(kernel[0], steps[0], pads[0], spread[0])
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
    for what, letter, values in (
        ("kernel size", "k", kernel),
        ("stride", "d", steps),
        ("dilation", "dilation", spread),
    ):
        if min(values) <= 0:
            sides = "THW"[-max(n, 2) :]
            each = zip(sides, ((1,) * (n == 1) + values), strict=True)
            shown = " ".join(f"{letter}{side}: {value}" for side, value in each)
            raise RuntimeError(f"{what} should be greater than zero, but got {shown}")
    if 0 in input.shape[input.dim() - n - 1 :]:
        raise _empty(name, n, input)
    return kernel, steps, pads, spread


def _check_max_pool1d(kernel: int, stride: int, padding: int, dilation: int) -> None:
    for what, value in (("kernel_size", kernel), ("stride", stride)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
            f"kernel_size={kernel}"
        )
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")


def wrong_dimensions(name: str, n: int, input: Tensor) -> RuntimeError:
    """The error for an input with too many or too few dimensions."""
    if n > 1:
        return RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    if name == "max_pool1d":
        return _empty(name, n, input)
    return RuntimeError(
        f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' (while checking "
        f"arguments for {name.removesuffix('_with_indices')})"
    )


def _empty(name: str, n: int, input: Tensor) -> RuntimeError:
    shape, lead = list(input.shape), ""
    if n == 3:
        where = "max_pool3d_with_indices_out_cpu_template" if name.startswith("max") else name
        return RuntimeError(  # the 0 is the size that PyTorch shows
            f"{where}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{shape} and non-batch dimension 0 has length zero!"
        )
    if name == "max_pool1d":
        lead = "max_pool1d: "
    elif n == 1:  # PyTorch pools one dimension as two, of which the first has size 1
        n, shape = 2, [*shape[:-1], 1, shape[-1]]
    return RuntimeError(
        f"{lead}Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
        f"got:{shape}"
    )


def check_output(name: str, input: Tensor, output: Ints) -> None:
    """Raises RuntimeError where no window fits."""
    if all(size > 0 for size in output):
        return
    if name == "max_pool1d":
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {output[0]}")
    n = len(output)
    one = (1,) * (n == 1)
    given = "x".join(map(str, (input.shape[-n - 1], *one, *input.shape[-n:])))
    made = "x".join(map(str, (input.shape[-n - 1], *one, *output)))
    raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({made}). Output size is too small")
