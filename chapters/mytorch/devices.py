"""Tensors on several devices: the rule that a call has one device, and the ways from one to another."""

# 05 · Devices
from __future__ import annotations

from typing import Any

from . import cuda, device, dtype
from .arrays import CPU, move
from .creation import _to_copy, clone
from .dispatch import Function, Operation, layer, method, operation, replace, tensors_in
from .tensor import Tensor, extend

ACROSS = ("copy_", "to_device")
"""The operations that go from one device to another."""


@layer("device")
def on_its_device(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
    """Run an operation on the GPU of its first tensor that is on one, and on tensors of one device."""
    for each in tensors_in(args) if cuda.State.gpus else ():
        if (index := each.device.index) is not None:  # only GPUs have one
            with cuda.computing_on(index):
                return one_device(op, args, below)
    return below(op, args)


def one_device(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
    """Run an operation on tensors of one device."""
    tensors = tensors_in(args)
    if op.name in ACROSS or len({each.device for each in tensors}) < 2:
        return below(op, args)
    where = common_device([each for each in tensors if not may_be_brought(op, args, each)])
    return below(op, tuple(bring(each, where) for each in args))


def may_be_brought(op: Operation, args: tuple[Any, ...], x: Tensor) -> bool:
    """True if a call of `op` with `args` moves its tensor `x` to the GPU of the other tensors automatically."""
    if x.device != CPU:
        return False
    if op.name in ("index", "index_put"):
        return any(x is each for each in tensors_in(args[1])) or (x.ndim == 0 and x is args[-1])
    return x.ndim == 0 and on_elements(op)


def on_elements(op: Operation) -> bool:
    """Whether an operation works on each element by itself, as `add` and `exp` do."""
    return op.elementwise


def common_device(tensors: list[Tensor]) -> device:
    """Return the device that all these tensors are on."""
    where = next((each.device for each in tensors if each.device != CPU), CPU)
    for each in tensors:
        if each.device != where:
            found = f"found at least two devices, {where} and {each.device}!"
            raise RuntimeError(f"Expected all tensors to be on the same device, but {found}")
    return where


def bring(argument: Any, where: device) -> Any:
    """An argument with its tensors on this device."""
    return replace(argument, lambda x: to_device(x, where) if isinstance(x, Tensor) and x.device != where else x)


@operation
def to_device(x: Any, where: device) -> Any:
    """A copy on another device."""
    return move(x, where)


@method
def to(
    x: Tensor,
    target: Any = None,
    dtype: dtype | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    device: Any = None,
) -> Tensor:
    """Return the tensor with another device, another dtype, or both; the tensor itself if nothing changes."""
    where, type_ = destination(x, device if target is None else target, dtype)
    result = x
    if result.device != where:
        result = to_device(result, where)
    if result.dtype is not type_:
        result = _to_copy(result, type_)
    return clone(x) if result is x and copy else result


def destination(x: Tensor, target: Any, type_: dtype | None) -> tuple[device, dtype]:
    """Return the device and the dtype of the result of `to`. Each defaults to that of `x`."""
    if isinstance(target, Tensor):
        return target.device, target.dtype
    if isinstance(target, dtype):
        return x.device, target
    return x.device if target is None else with_index(target), type_ or x.dtype


def with_index(where: Any) -> device:
    """Return the device that `x.device` would show, given a device, a device string, or the index of a GPU."""
    named = device(where)
    if named.type == "cuda":
        return device("cuda", cuda.check_index(cuda.index_of(named)))
    return CPU


extend(
    Tensor,
    cpu=lambda x: x.to("cpu"),
    cuda=lambda x, where=None: x.to(device("cuda", cuda.index_of(where))),
    is_cuda=property(lambda x: x.device.type == "cuda"),
    get_device=lambda x: -1 if x.device.index is None else x.device.index,
)
