"""The device of an op whose tensors are on several devices, or PyTorch's error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minitorch.devices import cpu, device
from minitorch.dispatch.formulas import parameters_of
from minitorch.dispatch.op import Op
from minitorch.tensor import Tensor


def common_device(op: Op, args: Sequence[Any], written: Tensor | None = None) -> device:
    """The device on which an op computes: the GPU, if those of its tensors that are on the CPU may be there.

    These are 0-d tensors among the operands of an elementwise op, and the parameters that a declaration lists in
    `from_cpu`, but never the tensor that is `written` to.
    Raises RuntimeError with the message of the op's own, if it declares one. Otherwise an elementwise op has that of
    TensorIterator, which names the first GPU first, and all other ops compare with the first tensor.
    """
    given = list(_tensors(op, args))
    if written is not None and written is not args[0]:
        given.insert(0, ("out", written))
    where = given[0][1]._device
    elementwise, devices = op.memory.elementwise, op.devices
    if elementwise:
        where = min((each for name, each in given if name not in devices.from_cpu), key=_rank)._device
    for name, each in given:
        may_differ = name in devices.from_cpu or (elementwise and not each._array.ndim and each is not written)
        if each._device is where or (may_differ and each._device is cpu):
            continue
        if "meta" in (where.type, each._device.type):
            raise RuntimeError(f"Tensor on device {each._device} is not on the expected device {where}!")
        if words := devices.elsewhere.get(name):
            raise RuntimeError(words(*(args[op.schema.positions[asked]] for asked in parameters_of(words))))
        raise at_least_two(where, each._device) if elementwise else differs(name, each._device, where)
    return where


def _rank(tensor: Tensor) -> tuple[bool, bool]:
    """Sorts the tensors that decide where an elementwise op computes: those on GPUs first, 0-d ones on the CPU last."""
    return tensor._device.type != "cuda", tensor._device is cpu and not tensor._array.ndim


def _tensors(op: Op, args: Sequence[Any]) -> Iterator[tuple[str, Tensor]]:
    """The tensors among the arguments, with the names of their parameters."""
    for name, value in zip(op.schema.parameters, args, strict=False):
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, Tensor):
                yield name, each


def there(where: device, value: Any) -> Any:
    """An argument as a kernel gets it on a device: arrays on the CPU are copied there."""
    if isinstance(value, list):
        return [there(where, each) for each in value]
    return where.xp.asarray(value) if isinstance(value, cpu.array_type) else value


def at_least_two(one: device, other: device) -> RuntimeError:
    """The error of elementwise ops, and of functions made of several ops."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {one} and {other}!"
    )


def differs(name: str, there: device, where: device) -> RuntimeError:
    """The error of all other ops."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but got {name} is on {there}, different from other tensors on "
        f"{where}"
    )
