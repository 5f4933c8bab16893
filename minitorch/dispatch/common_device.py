"""Where an op computes whose tensors lie on several devices, and what it says when it can't."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minitorch.devices import cpu, device
from minitorch.dispatch.formulas import parameters_of
from minitorch.dispatch.op import Op
from minitorch.tensor import Tensor


def common_device(op: Op, args: Sequence[Any], written: Tensor | None = None) -> device:
    """The device on which an op computes: the GPU, if what lies on the CPU may lie there.

    That are numbers without dimensions beside the tensors of an elementwise op, and what the op declares so, but not
    the tensor that is `written` to.
    Raises RuntimeError in PyTorch's words: the op's own, or for elementwise ops those of TensorIterator, which begins
    with the first GPU. All others begin with the first tensor.
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
    """Where an elementwise op computes: on a GPU before the CPU and meta, and where a number of the CPU lies last."""
    return tensor._device.type != "cuda", tensor._device is cpu and not tensor._array.ndim


def _tensors(op: Op, args: Sequence[Any]) -> Iterator[tuple[str, Tensor]]:
    """The tensors among the arguments, with the names of their parameters."""
    for name, value in zip(op.schema.parameters, args, strict=False):
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, Tensor):
                yield name, each


def there(where: device, value: Any) -> Any:
    """An argument as a kernel gets it on a device: arrays that lie on the CPU are copied."""
    if isinstance(value, list):
        return [there(where, each) for each in value]
    return where.xp.asarray(value) if isinstance(value, cpu.array_type) else value


def at_least_two(one: device, other: device) -> RuntimeError:
    """The error of elementwise ops, and of what is made of several ops."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {one} and {other}!"
    )


def differs(name: str, there: device, where: device) -> RuntimeError:
    """The error of all others."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but got {name} is on {there}, different from other tensors on "
        f"{where}"
    )
