"""Tensors on several devices: the rule that a call has one device, and the ways from one to another."""

# 05 · Devices
from __future__ import annotations

from typing import Any

from . import cuda
from .arrays import CPU, move
from .creation import _to_copy, clone
from .dispatch import Function, Operation, layer, method, operation, tensors_in
from .pointwise import run_in_common_type
from .settings import device, dtype
from .tensor import Tensor

ACROSS = ("copy_", "to_device")
"""The operations that go from one device to another."""


@layer
def one_device(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
    """Run an operation on tensors of one device.

    The operations in `ACROSS` pass as they are, and so does a call whose tensors (`tensors_in(args)`) are
    all on one device, or that has no tensor: `below(op, args)`. Otherwise the device is the
    `common_device` of the tensors that can't be brought along (`may_be_brought`); it raises if there are
    two. Then `bring(argument, where)` is what goes below, for each argument.
    """
    tensors = tensors_in(args)
    if op.name in ACROSS or len({each.device for each in tensors}) < 2:
        return below(op, args)
    where = common_device([each for each in tensors if not may_be_brought(op, args, each)])
    return below(op, tuple(bring(each, where) for each in args))


def may_be_brought(op: Operation, args: tuple[Any, ...], x: Tensor) -> bool:
    """Whether a call of `op` with `args` takes its tensor `x` along to the others' GPU.

    Only CPU tensors are taken along. An operation on elements (`on_elements(op)`) takes those without
    dimensions: they count as numbers. The operations named `index` and `index_put` take their indices,
    which are in the tuple `args[1]`; `index_put` also takes the value to be written, `args[2]`, if it has no
    dimensions.
    """
    if x.device != CPU:
        return False
    if op.name in ("index", "index_put"):
        return any(x is each for each in tensors_in(args[1])) or (x.ndim == 0 and x is args[-1])
    return x.ndim == 0 and on_elements(op)


def on_elements(op: Operation) -> bool:
    """Whether an operation works on each element by itself, as `add` and `exp` do."""
    return getattr(op.run, "func", None) is run_in_common_type


def common_device(tensors: list[Tensor]) -> device:
    """The one device of all these tensors.

    Raises:
        RuntimeError: there are two. "Expected all tensors to be on the same device, but found at least two
            devices, cuda:0 and cpu!" The first one named is the first that is not the CPU; the second, the
            first other one.
    """
    where = next((each.device for each in tensors if each.device != CPU), CPU)
    for each in tensors:
        if each.device != where:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{where} and {each.device}!"
            )
    return where


def bring(argument: Any, where: device) -> Any:
    """An argument with its tensors on this device."""
    if isinstance(argument, Tensor):
        return argument if argument.device == where else to_device(argument, where)
    if type(argument) in (list, tuple):
        return type(argument)(bring(each, where) for each in argument)
    return argument


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
    """The tensor on another device, of another type, or both. Itself if nothing changes, unless `copy`.

    `x.to("cuda:1")`, `x.to(torch.float64)`, `x.to("cuda", torch.float16)`, `x.to(device="cuda")`,
    `x.to(other)`.
    `destination(x, target, dtype)` says which device and which type. `to_device(x, where)` and
    `_to_copy(x, type_)` make new tensors, and so does `clone(x)`; `copy` wants a new one, but not two of
    them.
    `non_blocking` is accepted and changes nothing: copies between these devices are finished when the call
    returns.
    """
    where, type_ = destination(x, device if target is None else target, dtype)
    result = x
    if result.device != where:
        result = to_device(result, where)
    if result.dtype is not type_:
        result = _to_copy(result, type_)
    return clone(x) if result is x and copy else result


def destination(x: Tensor, target: Any, type_: dtype | None) -> tuple[device, dtype]:
    """The device and the type that `to` leads to. What is not named stays as it is in `x`.

    Args:
        target: a tensor, whose device and type are meant; a dtype; a device, its text or number; or None.
        type_: the type, if `target` is a device or None.
    """
    if isinstance(target, Tensor):
        return target.device, target.dtype
    if isinstance(target, dtype):
        return x.device, target
    return x.device if target is None else with_index(target), type_ or x.dtype


def with_index(where: Any) -> device:
    """A device, its text, or a GPU's number, as a tensor has it in `x.device`.

    `cuda` without an index is the current GPU: `cuda.index_of(named)` is its number, and
    `cuda.check_index` raises if there is no such GPU. Every `cpu:0` is the one CPU, `device("cpu")`.
    """
    named = device(where)
    if named.type == "cuda":
        return device("cuda", cuda.check_index(cuda.index_of(named)))
    return CPU


Tensor.cpu = lambda x: x.to("cpu")
Tensor.cuda = lambda x, where=None: x.to(device("cuda", cuda.index_of(where)))
Tensor.is_cuda = property(lambda x: x.device.type == "cuda")
Tensor.get_device = lambda x: -1 if x.device.index is None else x.device.index
