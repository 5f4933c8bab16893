"""Resizing of images, and of signals in one or three dimensions.

Every mode is separable and linear: along each dimension an output is a weighted sum of a few inputs, its taps. The
gradient multiplies by the transposes of the matrices of these weights.
Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.interpolate.html; the cubic kernel is that of
R. Keys, "Cubic convolution interpolation for digital image processing", IEEE ASSP 29 (1981).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from minitorch.arrays import Array, Ints
from minitorch.dispatch.declaration import composite, private
from minitorch.dispatch.errors import not_implemented
from minitorch.dtypes import dtype, uint8
from minitorch.kernels.resize_bytes import resize_bytes
from minitorch.ops.nn.adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, along_each
from minitorch.size import as_int, checked_ints
from minitorch.tensor import Tensor

_MEANS = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}

Scales = tuple[float | None, ...]


class Manner(NamedTuple):
    """How images are resized: the options of `interpolate`, and the factor of each dimension where one was given."""

    mode: str
    align_corners: bool
    antialias: bool
    scales: Scales


def _source_step(size: int, output: int, align_corners: bool, scale: float | None, kind: Any) -> Any:
    """How far apart in the input the neighbours of the output are."""
    if align_corners:
        return kind((size - 1) / (output - 1)) if output > 1 else kind(0)
    return kind(1 / scale) if scale else kind(size) / kind(output)


def cubic(x: Array, a: float) -> Array:
    """Keys' kernel: 1 at 0, 0 at the other integers, and with slope a at 1."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return (x <= 1) * near + ((x > 1) & (x < 2)) * far


def _sinc(xp: Any, x: Array) -> Array:
    return xp.where(x < 3, xp.sinc(x) * xp.sinc(x / 3), 0)


_NEAREST = {"nearest": 0.0, "nearest-exact": 0.5}
"""Where in a pixel the place lies that chooses the input."""

_SMOOTH: dict[str, tuple[float, Callable[[Any, Array], Array]]] = {
    "bilinear": (1, lambda xp, x: xp.maximum(1 - x, 0)),
    "bicubic": (2, lambda xp, x: cubic(x, -0.5)),
    "lanczos": (3, _sinc),
}
"""The filters of `antialias`: how far they reach, and their value at a distance."""


def _taps(xp: Any, manner: Manner, size: int, output: int, scale: float | None, kind: Any) -> tuple[Array, Array]:
    """Which inputs each output is made of, and their weights: two arrays (taps, output)."""
    mode, align_corners, antialias, _ = manner
    if mode in _NEAREST:
        kind = xp.float32  # also for float64, where some of PyTorch's paths do so
    step = _source_step(size, output, align_corners, scale, kind)
    place = xp.arange(output, dtype=kind)
    if antialias:
        return _smooth_taps(xp, mode, size, step, place)
    if mode in _NEAREST:
        index = (place + kind(_NEAREST[mode])) * step
        return _inside(xp, index[None], size), xp.ones((1, output), kind)
    source = place * step if align_corners else (place + kind(0.5)) * step - kind(0.5)
    if mode == "bicubic":
        first = xp.floor(source)
        rest = xp.clip(source - first, 0, 1)
        index = _inside(xp, xp.stack([first - 1, first, first + 1, first + 2]), size)
        return index, xp.stack([cubic(xp.abs(rest - offset), -0.75) for offset in (-1, 0, 1, 2)])
    source = place if size == output else xp.maximum(source, 0)
    first = xp.minimum(xp.floor(source), size - 1)
    rest = xp.clip(source - first, 0, 1)
    return _inside(xp, xp.stack([first, first + 1]), size), xp.stack([1 - rest, rest])


def _inside(xp: Any, index: Array, size: int) -> Array:
    return xp.clip(xp.floor(index).astype("int64"), 0, size - 1)


def _smooth_taps(xp: Any, mode: str, size: int, step: Any, place: Array) -> tuple[Array, Array]:
    """Taps of a filter as wide as the output's spacing where that is wider than the input's: nothing is left out."""
    reach, weigh = _SMOOTH[mode]
    kind = place.dtype.type
    width = max(step, kind(1))
    half, support = kind(0.5), kind(reach) * width
    center = (place + half) * step
    first = xp.maximum((center - support + half).astype("int64"), 0)
    last = xp.minimum((center + support + half).astype("int64"), size)
    index = first + xp.arange(2 * math.ceil(support) + 1)[:, None]
    distance = xp.abs((index.astype(kind) - center + half) * (kind(1) / width))
    weight = xp.where(index < last, weigh(xp, distance), 0).astype(kind)
    return xp.minimum(index, size - 1), weight / weight.sum(0)


def _all_taps(xp: Any, manner: Manner, size: Ints, output: Ints, kind: Any) -> list[tuple[Array, Array]]:
    each = zip(size, output, manner.scales, strict=True)
    return [_taps(xp, manner, s, o, scale, kind) for s, o, scale in each]


def _node(self: Tensor, output: Ints, manner: Manner) -> str:
    name = "".join(part.capitalize() for part in manner.mode.split("-"))
    return f"Upsample{name}{len(output)}D{'Aa' * manner.antialias}Backward0"


@private(
    format_from=("self",),
    node=_node,
    derivatives={"self": lambda grad, self_shape, manner: resize_backward(grad, self_shape[2:], manner)},
)
def resize(xp: Any, self: Array, output: Ints, manner: Manner) -> Array:
    """(N, C, *size) → (N, C, *output)."""
    of_bytes = self.dtype == "uint8" and manner.mode not in _NEAREST
    kind = xp.float64 if of_bytes or self.dtype == "float64" else xp.float32
    taps = _all_taps(xp, manner, self.shape[2:], output, kind)
    if of_bytes:
        return resize_bytes(xp, self, taps)
    for axis in range(self.ndim - 1, 1, -1):
        index, weight = taps[axis - 2]
        if len(index) == 1:
            self = xp.take(self, index[0], axis)
        else:
            along = (-1, *[1] * (self.ndim - 1 - axis))
            self = sum(xp.take(self, i, axis) * w.reshape(along) for i, w in zip(index, weight, strict=True))
    return self


@private(
    derivatives={"grad_output": lambda grad, grad_output_shape, manner: resize(grad, grad_output_shape[2:], manner)}
)
def resize_backward(xp: Any, grad_output: Array, size: Ints, manner: Manner) -> Array:
    """Every input's share in the outputs' gradients."""
    output, kind = grad_output.shape[2:], grad_output.dtype.type
    matrices = []
    for s, (index, weight) in zip(size, _all_taps(xp, manner, size, output, kind), strict=True):
        matrix = xp.zeros((s, index.shape[1]), kind)
        for i, w in zip(index, weight, strict=True):
            matrix[i, xp.arange(len(i))] += w
        matrices.append(matrix)
    return along_each(xp, grad_output, matrices)


_MODES = {1: ("linear",), 2: ("bilinear", "bicubic", "lanczos"), 3: ("trilinear",)}
"""The modes with weights, by the number of dimensions that they are for."""

_SMOOTH_ONLY = (
    "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
)


@composite(variants="function", namespace="nn.functional", autocast_on_gpu="float32 unless averaged")
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """(N, C, *spatial) resized to `size`, or by `scale_factor`.

    Modes: "nearest", "nearest-exact" and "area" for one to three dimensions, "linear" for one, "bilinear", "bicubic"
    and (with `antialias`) "lanczos" for two, "trilinear" for three. `align_corners` makes the outermost elements those
    of the input; otherwise the outer edges of both grids are aligned. `antialias` widens the kernel where the result
    is smaller.
    Floating point; uint8 with "nearest" and "nearest-exact", and in two dimensions with all modes.

    Raises ValueError unless one of size and scale_factor is given, and for options that the mode doesn't take;
    NotImplementedError for modes that don't fit the input's dimensions.
    """
    n = input.dim() - 2
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if size is not None and recompute_scale_factor and scale_factor is None:
        _per_dimension_size(input, size)
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    output, scales = _target(input, size, scale_factor)
    if recompute_scale_factor or mode == "area":
        scales = (None,) * n
    if antialias and (mode not in _SMOOTH or n != 2):
        raise ValueError(_SMOOTH_ONLY)
    if mode == "area" and 1 <= n <= 3:
        return _MEANS[n](input, output)
    _check_mode(n, mode, align_corners, antialias)
    _check_sizes(input, output)
    _check_dtype(n, mode, antialias, input.dtype)
    return resize(input, output, Manner(mode, bool(align_corners), antialias, scales))


def _per_dimension_size(input: Tensor, size: Any) -> Ints:
    n = input.dim() - 2
    if isinstance(size, float):
        raise TypeError("interpolate(): argument 'size' must be int or tuple of ints, not float")
    if not isinstance(size, (tuple, list)):
        return (as_int(size),) * n
    if len(size) != n:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, "
            "...,dK) format and output size in (o1, o2, ...,oK) format."
        )
    if any(isinstance(each, float) for each in size):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
            f"with types {[type(each) for each in size]}"
        )
    return checked_ints("interpolate", (size,), 2)


def _target(input: Tensor, size: Any, scale_factor: Any) -> tuple[Ints, Scales]:
    """The output's size, and the factors that gave it."""
    n = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        return _per_dimension_size(input, size), (None,) * n
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * n
    if len(factors) != n:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}. Please provide input "
            "tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )
    scales = tuple(map(float, factors))
    return tuple(int(s * factor) for s, factor in zip(input.shape[2:], scales, strict=True)), scales


def _check_mode(n: int, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if mode == "lanczos" and n == 2:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    needed = next((k for k, modes in _MODES.items() if mode in modes), n)
    if 1 <= n <= 3 and needed != n and mode in ("linear", "bilinear", "trilinear"):
        raise NotImplementedError(f"Got {n + 2}D input, but {mode} mode needs {needed + 2}D input")
    if not 1 <= n <= 3 or needed != n or (mode not in _MODES[n] and mode not in _NEAREST):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {n + 2}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )


def _check_sizes(input: Tensor, output: Ints) -> None:
    size = tuple(input.shape[2:])
    if min(*size, *output) <= 0:
        given, wanted = (", ".join(map("{}: {}".format, "DHW"[-len(size) :], each)) for each in (size, output))
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({given}) "
            f"{'and ' * (len(size) == 1)}output ({wanted})"
        )
    if not input.shape[1]:
        raise RuntimeError(
            f"Non-empty {input.dim()}D data tensor expected but got a tensor with sizes {list(input.shape)}"
        )


def _check_dtype(n: int, mode: str, antialias: bool, kind: dtype) -> None:
    floats = kind.is_floating_point and not (antialias and kind.is_low_precision)
    if not floats and not (kind is uint8 and (mode in _NEAREST or n == 2)):
        raise not_implemented(f"interpolate_{mode}", kind.name)


@composite(variants="function", namespace="nn.functional")
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The old name of `interpolate`: (N, C, *spatial) resized to `size`, or by `scale_factor`. Warns so."""
    _warn("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite(variants="function", namespace="nn.functional")
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "nearest": (N, C, *spatial) → (N, C, *size). Warns that it is deprecated."""
    _warn("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@composite(variants="function", namespace="nn.functional")
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` with mode "bilinear" and aligned corners: (N, C, H, W) → (N, C, *size). Deprecated: warns so."""
    _warn("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", UserWarning, stacklevel=3
    )
