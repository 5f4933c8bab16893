"""Padding. Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.pad.html"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import composite, declare, flat
from minitorch.dispatch.errors import not_implemented
from minitorch.dtypes import FROM_NUMPY, bool_
from minitorch.scalars import to_scalar
from minitorch.size import checked_ints
from minitorch.tensor import Tensor

Pads = tuple[tuple[int, int], ...]


def pairs(pad: Any, ndim: int) -> Pads:
    """(before, after) of every dimension, of a list that has those of the last dimension first."""
    given = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    return tuple([(0, 0)] * (ndim - len(given)) + given[::-1])


@declare(
    format_from=("self",),
    variants="",
    node="ConstantPadNdBackward0",
    derivatives={"self": lambda grad, pads: constant_pad(grad, tuple((-a, -b) for a, b in pads), 0)},
)
def constant_pad(xp: Any, self: Array, pads: Pads, value: Any) -> Array:
    """The array within a frame of `value`; negative pads cut off."""
    if any(size + min(before, 0) + min(after, 0) < 0 for size, (before, after) in zip(self.shape, pads, strict=True)):
        raise RuntimeError("narrow(): length must be non-negative.")
    shape = tuple(size + before + after for size, (before, after) in zip(self.shape, pads, strict=True))
    frame = to_scalar(value, FROM_NUMPY[self.dtype])
    result = xp.full(shape, frame, self.dtype) if frame else xp.zeros(shape, self.dtype)
    source, target = [], []
    for size, (before, after) in zip(self.shape, pads, strict=True):
        start, stop = max(-before, 0), size - max(-after, 0)
        source.append(slice(start, stop))
        target.append(slice(max(before, 0), max(before, 0) + stop - start))
    result[tuple(target)] = self[tuple(source)]
    return result


def _sources(xp: Any, size: int, before: int, after: int, mode: str) -> Array:
    """The index, within a dimension, of what stands at every place of the padded dimension."""
    index = xp.arange(-before, size + after)
    if mode == "replicate":
        return xp.clip(index, 0, size - 1)
    index = xp.abs(index)
    return (size - 1) - xp.abs((size - 1) - index)


def _inside(size: int, before: int, after: int) -> tuple[int, int]:
    """Of the places of the padded dimension, the first that lies in the array, and the first after it."""
    first = max(before, 0)
    return first, max(min(size, size + after) + before, first)


_NODES = {"reflect": "Reflection", "replicate": "Replication"}


@declare(
    format_from=("self",),
    variants="",
    node=lambda self, pads, mode: f"{_NODES[mode]}Pad{len(pads)}DBackward0",
    derivatives={"self": lambda grad, self, pads, mode: mirrored_pad_backward(grad, self, pads, mode)},
)
def mirrored_pad(xp: Any, self: Array, pads: Pads, mode: str) -> Array:
    """The array continued by its own elements, or by its edge, in as many of its last dimensions as there are pads."""
    for axis, (before, after) in enumerate(pads, self.ndim - len(pads)):
        if before or after:
            size = self.shape[axis]
            sources, (first, last) = _sources(xp, size, before, after, mode), _inside(size, before, after)
            strips = [xp.take(self, places, axis=axis) for places in (sources[:first], sources[last:])]
            middle = self[(slice(None),) * axis + (slice(first - before, last - before),)]
            self = xp.concatenate([strips[0], middle, strips[1]], axis=axis)
    return self


@declare(
    saves_all=True,
    format_from=("self",),
    variants="",
    node=lambda grad_output, self, pads, mode: f"{_NODES[mode]}Pad{len(pads)}DBackwardBackward0",
    derivatives={"grad_output": lambda grad, pads, mode: mirrored_pad(grad, pads, mode), "self": flat},
)
def mirrored_pad_backward(xp: Any, grad_output: Array, self: Array, pads: Pads, mode: str) -> Array:
    """Every element gets the gradients of all places where it stands."""
    for axis, (before, after) in enumerate(pads, self.ndim - len(pads)):
        if before or after:
            size = self.shape[axis]
            sources, (first, last) = _sources(xp, size, before, after, mode), _inside(size, before, after)
            whole = (*grad_output.shape[:axis], size, *grad_output.shape[axis + 1 :])
            result = xp.zeros(whole, grad_output.dtype)
            place, moved = xp.moveaxis(result, axis, 0), xp.moveaxis(grad_output, axis, 0)
            place[first - before : last - before] = moved[first:last]
            for outside in (*range(min(first, len(sources))), *range(last, len(sources))):
                place[int(sources[outside])] += moved[outside]
            grad_output = result
    return xp.ascontiguousarray(grad_output)


@composite(autocast="float32 at the border", variants="function", namespace="nn.functional", autocast_on_gpu="")
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """`input` with elements added around its last dimensions; `pad` is (before, after) of the last one first.

    `mode` is "constant" (`value`, by default 0), "reflect", "replicate" or "circular"; the last three need (N, C, …) or
    (C, …) with as many spatial dimensions as pairs. Each size grows by before + after, of which negative ones crop.
    Raises RuntimeError for an odd or too long `pad`, a `value` with another mode, a reflection as large as the input,
    or a negative size; NotImplementedError for an unknown mode or number of dimensions, TypeError for other types.
    """
    if isinstance(pad, (str, int)):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    pad = checked_ints("pad", (tuple(pad),), 2, "pad")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.dim()}"
        )
    if mode == "constant":
        return _constant(input, pad, value)
    if mode not in (*_NODES, "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    n = len(pad) // 2
    if not 1 <= n <= 3 or input.dim() not in (n + 1, n + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.dim()}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if input.dtype is bool_ and mode != "circular":
        raise not_implemented("pad", "bool")
    pads = pairs(pad, n)
    if mode == "circular":
        return _circular(input, pads)
    _check_mirrored(input, pads, mode, n)
    return mirrored_pad(input, pads, mode)


def _circular(input: Tensor, pads: Pads) -> Tensor:
    """The input, and in each dimension what comes round from the other side. What negative pads cut off doesn't."""
    _check_circular(input, pads)
    dims = range(input.dim() - len(pads), input.dim())
    shape = list(input.shape)
    source = input
    for dim, (before, after) in zip(dims, pads, strict=True):
        shape[dim] += before + after
        source = source.narrow(dim, max(-before, 0), input.shape[dim] - max(-before, 0) - max(-after, 0))
    result = target = input.new_empty(shape)
    for dim, (before, _) in zip(dims, pads, strict=True):
        target = target.narrow(dim, max(before, 0), source.shape[dim])
    target.copy_(source)
    for dim, (before, after) in zip(dims, pads, strict=True):
        if before > 0:
            result.narrow(dim, 0, before).copy_(result.narrow(dim, source.shape[dim], before))
        if after > 0:
            result.narrow(dim, shape[dim] - after, after).copy_(result.narrow(dim, max(before, 0), after))
    return result


def _check_circular(input: Tensor, pads: Pads) -> None:
    for size, (before, after) in zip(input.shape[-len(pads) :], pads, strict=True):
        if max(before, after) > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        whole, kept = size + before + after, size + min(before, 0) + min(after, 0)
        if whole < 0 or kept <= 0 < whole:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")


def _check_mirrored(input: Tensor, pads: Pads, mode: str, n: int) -> None:
    """Raises RuntimeError for an empty input, for a mirror further away than the other side, for an empty result."""
    batched = input.dim() == n + 2
    if 0 in input.shape[batched:]:
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    for dim in range(input.dim() - 1, input.dim() - n - 1, -1):
        before, after = pads[dim - input.dim()]
        if mode == "reflect" and max(before, after) >= input.shape[dim]:
            raise RuntimeError(
                f"Argument #{4 + 2 * (input.dim() - 1 - dim)}: Padding size should be less than the corresponding "
                f"input dimension, but got: padding ({before}, {after}) at dimension {dim} of input {list(input.shape)}"
            )
    sizes = input.shape[-n:]
    made = [size + sum(each) for size, each in zip(sizes, pads, strict=True)]
    if max(made) < 1 if n > 1 else made[0] < 1:
        raise RuntimeError(f"input {list(sizes)} is too small. Calculated output {made}")


@composite(variants="function")
def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """`input` within a frame of one number, which keeps its type: `nn.functional.pad` turns it into a float.

    `pad` is (before, after) of the last dimension first; negative ones crop. Each size grows by before + after. Raises
    RuntimeError for an odd or too long `pad`, and for a number out of the dtype's range. PyTorch has no page about it.
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.dim():
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)}while the input has {input.dim()}dimensions."
        )
    return constant_pad(input, pairs(pad, input.dim()), value)


def _constant(input: Tensor, pad: list[int], value: float | None) -> Tensor:
    pads = pairs(pad, input.dim())
    for dim, (size, (before, after)) in enumerate(zip(input.shape, pads, strict=True)):
        if size + before + after < 0:
            raise RuntimeError(
                f"The input size {size}, plus negative padding {before} and {after} resulted in a negative output "
                f"size, which is invalid. Check dimension {dim} of your input."
            )
    return constant_pad(input, pads, 0.0 if value is None else float(value))
