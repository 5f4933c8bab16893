"""Tensors copied from GPU to GPU, divided, joined and added up.

Source: https://pytorch.org/docs/stable/cuda.html#communication-collectives
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from minitorch import Tensor, cat
from minitorch.cuda.selection import index_of
from minitorch.devices import device as Device
from minitorch.devices import gpu


def broadcast(tensor: Tensor, devices: Iterable[Any] | None = None, *, out: Sequence[Tensor] | None = None) -> Any:
    """A copy of a tensor on each of the devices, or in each tensor of `out`; itself where it lies.

    Raises RuntimeError unless one of `devices` and `out` is given.
    """
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )
    if out is None:
        return tuple(tensor.to(gpu(index_of(each))) for each in devices or ())
    return tuple(each.copy_(tensor) for each in out)


def broadcast_coalesced(tensors: Iterable[Tensor], devices: Iterable[Any], buffer_size: int = 10485760) -> Any:
    """Copies of several tensors: a list for each device. They are copied one by one, whatever `buffer_size` is."""
    places = list(devices)
    copies = [broadcast(each, places) for each in tensors]
    return tuple(map(list, zip(*copies, strict=True)))


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of several GPUs, on the GPU `destination`, by default the current one.

    Raises AssertionError for a tensor of the CPU, ValueError for different shapes, RuntimeError if none lies there.
    """
    index, shape = index_of(destination), inputs[0].shape
    for number, each in enumerate(inputs):
        if each.is_cpu:
            raise AssertionError(f"reduce_add expects all inputs to be on GPUs, but input {number} is on CPU")
        if each.shape != shape:
            got, expected = "x".join(map(str, each.shape)), "x".join(map(str, shape))
            raise ValueError(f"input {number} has invalid size: got {got}, but expected {expected}")
    roots = [each for each in inputs if each.get_device() == index]
    if not roots:
        raise RuntimeError("reduce_add expects destination to be on the same GPU with one of the tensors")
    total = roots[-1]
    for each in inputs:
        if each is not roots[-1]:
            total = total + each.to(gpu(index))
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]], destination: Any = None, buffer_size: int = 10485760
) -> tuple[Tensor, ...]:
    """The sums of several tensors, of which `inputs` has a list for each GPU."""
    return tuple(reduce_add(each, destination) for each in zip(*inputs, strict=True))


def scatter(
    tensor: Tensor,
    devices: Iterable[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """The pieces of a tensor along `dim`, one on each device, equal ones unless their sizes are given; or in `out`.

    Raises RuntimeError where `out` is given with `devices` or `chunk_sizes`.
    """
    for name, given in (("devices", devices), ("chunk_sizes", chunk_sizes)):
        if out is not None and given is not None:
            raise RuntimeError(f"'{name}' must not be specified when 'out' is specified, but got {name}={given}")
    if out is not None:
        pieces = tensor.split([each.size(dim) for each in out], dim)
        return tuple(each.copy_(piece) for each, piece in zip(out, pieces, strict=True))
    places = [gpu(index_of(each)) for each in devices or ()]
    pieces = tensor.chunk(len(places), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple(piece.to(place) for piece, place in zip(pieces, places, strict=False))


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Tensors of several GPUs joined along `dim`, on `destination`, by default the current GPU; or in `out`.

    Raises RuntimeError where both are given.
    """
    if out is not None:
        if destination is not None:
            raise RuntimeError(
                f"'destination' must not be specified when 'out' is specified, but got destination={destination}"
            )
        return out.copy_(cat([each.to(out.device) for each in tensors], dim))
    if destination == -1:
        warnings.warn(
            "Using -1 to represent CPU tensor is deprecated. Please use a device object or string instead, e.g., "
            '"cpu".',
            stacklevel=2,
        )
    on_cpu = destination == -1 or (isinstance(destination, (str, Device)) and Device(destination).type == "cpu")
    where = Device("cpu") if on_cpu else gpu(index_of(destination))
    return cat([each.to(where) for each in tensors], dim)
