"""Images read at places that a grid names, and the grids of affine maps: the two halves of a spatial transformer.

A place between pixels is a weighted sum of those around it, its taps. Which pixels these are has no gradient; the
weights have, and are computed from the grid with ordinary operations. What is left is linear in the image and in the
weights: with its two adjoints it makes three ops, each of which is the derivative of the others.
Source: M. Jaderberg et al., "Spatial Transformer Networks", https://arxiv.org/abs/1506.02025
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

from minitorch.arrays import Array, Ints
from minitorch.dispatch.declaration import composite, private
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.one_node import one_node
from minitorch.dtypes import bool_, int64, type_name
from minitorch.kernels.accumulation import add_at
from minitorch.ops.creation.ranges import linspace
from minitorch.ops.indexing.joining import stack
from minitorch.ops.nn.interpolation import cubic
from minitorch.tensor import Tensor


@private(
    promoted=("self", "weight"),
    node=lambda self, index, weight: f"GridSampler{self.dim() - 2}DBackward0",
    derivatives={
        "self": lambda grad, self_shape, index, weight: spread(grad, index, weight, self_shape),
        "weight": lambda grad, self, index: overlap(grad, self, index),
    },
)
def sample(xp: Any, self: Array, index: Array, weight: Array) -> Array:
    """Σₜ weight[n, t, o] · self[n, c, index[n, t, o]]: (N, C, *size) and twice (N, T, *output) → (N, C, *output)."""
    count, channels = self.shape[:2]
    planes = self.reshape(count, channels, math.prod(self.shape[2:]))
    result = xp.empty((count, channels, *index.shape[2:]), self.dtype)
    for n in range(count):
        result[n] = (planes[n][:, index[n]] * weight[n]).sum(1)
    return result


@private(
    promoted=("grad_output", "weight"),
    derivatives={
        "grad_output": lambda grad, index, weight: sample(grad, index, weight),
        "weight": lambda grad, grad_output, index: overlap(grad_output, grad, index),
    },
)
def spread(xp: Any, grad_output: Array, index: Array, weight: Array, shape: Ints) -> Array:
    """The adjoint of `sample` in the image: every output adds its gradient to its taps, by their weights."""
    count, channels = shape[:2]
    planes = xp.zeros((count * channels, math.prod(shape[2:])), grad_output.dtype)
    rows = xp.arange(count * channels).reshape(count, channels, *(1,) * (index.ndim - 1))
    add_at(xp, planes, (rows, index[:, None]), grad_output[:, :, None] * weight[:, None])
    return planes.reshape(shape)


@private(
    promoted=("grad_output", "self"),
    derivatives={
        "grad_output": lambda grad, self, index: sample(self, index, grad),
        "self": lambda grad, grad_output, self_shape, index: spread(grad_output, index, grad, self_shape),
    },
)
def overlap(xp: Any, grad_output: Array, self: Array, index: Array) -> Array:
    """The adjoint of `sample` in the weights: the product of what is at a tap and the gradient of what it gave."""
    count, channels = self.shape[:2]
    planes = self.reshape(count, channels, math.prod(self.shape[2:]))
    result = xp.empty(index.shape, self.dtype)
    for n in range(count):
        result[n] = (planes[n][:, index[n]] * grad_output[n][:, None]).sum(0)
    return result


def _reflected(source: Tensor, low: float, high: float) -> Tensor:
    """The place mirrored at both ends as often as it takes."""
    if low == high:
        return source * 0
    span, distance = high - low, (source - low).abs()
    extra, flips = distance.fmod(span), (distance.detach() / span).floor()
    return (extra + low).where(flips % 2 == 0, span - extra + low)


def _padded(source: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """The place that is read for one outside the image; clipped ones have no gradient."""
    if padding_mode == "zeros":
        return source
    if padding_mode == "reflection":
        half = 0.0 if align_corners else 0.5
        source = _reflected(source, -half, size - 1 + half)
    clipped = source.detach().nan_to_num(0).clamp(0, size - 1)
    return source.where((source > 0) & (source < size - 1), clipped)


def _taps(place: Tensor, size: int, mode: str, padding_mode: str, align_corners: bool) -> list[tuple[Tensor, Tensor]]:
    """Along one dimension: the pixels around each place from −1 to 1, and their weights; 0 outside the image."""
    source = (place + 1) / 2 * (size - 1) if align_corners else ((place + 1) * size - 1) / 2
    if mode == "bicubic":
        first = source.detach().floor()
        taps = [
            (_padded(first + offset, size, padding_mode, align_corners), cubic((source - first - offset).abs(), -0.75))
            for offset in (-1, 0, 1, 2)
        ]
    else:
        source = _padded(source, size, padding_mode, align_corners)
        first = source.detach().floor()
        if mode == "bilinear":
            taps = [(first, first + 1 - source), (first + 1, source - first)]
        else:
            taps = [(source.detach().round(), source.masked_fill(source.new_ones((), dtype=bool_), 1))]
    return [
        (index.nan_to_num(0).clamp(0, size - 1).to(int64), weight * ((index >= 0) & (index < size)))
        for index, weight in taps
    ]


@composite(autocast="float32", variants="function", namespace="nn.functional", autocast_on_gpu="widest")
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """(N, C, H, W) read at the places of a grid (N, H', W', 2) → (N, C, H', W'); or the same with one dimension more.

    A grid holds (x, y) or (x, y, z) from −1 to 1: with `align_corners` the centres of the outermost pixels, otherwise
    the image's edges. Modes: "bilinear", "nearest", and "bicubic" for images. Outside the image there are zeros, or
    with `padding_mode` "border" and "reflection" what they say. Floating point, the same for both.

    Raises ValueError for other modes and RuntimeError for shapes that don't fit.
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_align_corners()
    _check(input, grid, mode)
    return _grid_sampler(input, grid, mode, padding_mode, bool(align_corners))


@one_node(
    lambda input, grid, interpolation_mode, padding_mode, align_corners: f"GridSampler{input.dim() - 2}DBackward0",
    "input, grid",
)
def _grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: str, padding_mode: str, align_corners: bool
) -> Tensor:
    size = tuple(input.shape[2:])
    places = zip(reversed(grid.unbind(-1)), size, strict=True)
    along = [_taps(place, s, interpolation_mode, padding_mode, align_corners) for place, s in places]
    indices, weights = [], []
    for taps in itertools.product(*along):
        index, weight = taps[0]
        for s, (i, w) in zip(size[1:], taps[1:], strict=True):
            index, weight = index * s + i, weight * w
        indices.append(index)
        weights.append(weight)
    return sample(input, stack(indices, 1), stack(weights, 1))


def _check(input: Tensor, grid: Tensor, mode: str) -> None:
    shapes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    n = input.dim() - 2
    if n not in (2, 3) or grid.dim() != input.dim():
        expected = input.dim() if n in (2, 3) else 5
        raise RuntimeError(
            f"grid_sampler(): expected {expected}D input and grid with same number of dimensions, but got {shapes}"
        )
    if len(input) != len(grid):
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {shapes}")
    if grid.shape[-1] != n:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(input.shape)} with dimension {list(input.shape).index(0, 2)} being empty"
        )
    if n == 3 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if not input.is_floating_point():
        raise not_implemented(f"grid_sampler_{n}d_cpu" + "_kernel_impl" * (n == 2), input.dtype.name)
    if input.dtype is not grid.dtype:
        raise RuntimeError(f"expected scalar type {type_name(input._array)} but found {type_name(grid._array)}")


def _warn_align_corners() -> None:
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
        stacklevel=3,
    )


@composite(variants="function", namespace="nn.functional")
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The grid (N, H, W, 2) for `grid_sample` in which every place is mapped by a matrix of theta (N, 2, 3).

    `size` is that of the output, (N, C, H, W); with (N, C, D, H, W) and theta (N, 3, 4) the grid is (N, D, H, W, 3).
    Places go from −1 to 1, at the centres of the border pixels with `align_corners`, else at their outer edges.
    Raises ValueError for a theta of another shape or dtype or an empty size, NotImplementedError for a size of another
    length, RuntimeError where theta and size disagree. Jaderberg et al. 2015, https://arxiv.org/abs/1506.02025
    """
    if align_corners is None:
        _warn_align_corners()
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    n = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=2,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if len(theta) != size[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, {n + 1}] but got: "
            f"[{len(theta)}, {n + 1}]."
        )
    size, align_corners = tuple(size), bool(align_corners)
    return _affine_grid(theta, _base_grid(theta, size, align_corners), size, align_corners)


def _base_grid(like: Tensor, size: Ints, align_corners: bool) -> Tensor:
    """The grid (N, H · W, 3) of the identity, each place followed by 1."""
    n = len(size) - 2
    base = like.new_ones((size[0], *size[2:], n + 1))
    for dim, s in enumerate(size[2:]):
        reach = (1.0 if align_corners else (s - 1) / s) * (s > 1)
        line = linspace(-1, 1, s, dtype=like.dtype, device=like.device) * reach
        base[..., n - 1 - dim] = line.reshape(-1, *(1,) * (n - 1 - dim))
    return base.reshape(size[0], -1, n + 1)


@private(
    autocast="lower",
    node="AffineGridGeneratorBackward0",
    derivatives={
        "theta": lambda grad, size, align_corners: grad.flatten(1, -2).mT @ _base_grid(grad, size, align_corners)
    },
)
def _affine_grid(xp: Any, theta: Array, base: Array, size: Ints, align_corners: bool) -> Array:
    return (base @ theta.swapaxes(-1, -2)).reshape(size[0], *size[2:], len(size) - 2)
