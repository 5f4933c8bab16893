"""Copies of a module on several GPUs. Source: https://pytorch.org/docs/stable/nn.html#dataparallel-layers-multi-gpu-distributed"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.devices import device as Device
from minitorch.nn.modules.module import Module
from minitorch.tensor import Tensor


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """One copy of a module for each GPU, made anew for each forward pass.

    The copies' parameters are no parameters: they are results of copying the module's, so that the gradients of all
    copies arrive at the module's own. With `detach` none do. What a copy changes in itself is lost.
    """
    return [_copy(network, Device(each), detach, {}) for each in devices]


def _copy(module: Module, where: Device, detach: bool, copied: dict[int, Any]) -> Module:
    if id(module) in copied:
        copy: Module = copied[id(module)]
        return copy
    copy = copied[id(module)] = module.__new__(type(module))
    copy.__dict__ = module.__dict__.copy()
    copy._parameters, copy._buffers, copy._modules = {}, {}, {}
    for name, parameter in module._parameters.items():
        # Not among the copy's parameters, since it is no leaf.
        copy.__dict__[name] = None if parameter is None else _moved(parameter, where, detach, copied)
    for name, buffer in module._buffers.items():
        copy._buffers[name] = None if buffer is None else _moved(buffer, where, detach, copied)
    for name, child in module._modules.items():
        copy._modules[name] = None if child is None else _copy(child, where, detach, copied)
    copy.__dict__["_is_replica"] = True
    return copy


def _moved(tensor: Tensor, where: Device, detach: bool, copied: dict[int, Any]) -> Tensor:
    """The tensor on a device; one that is used twice is copied once."""
    if id(tensor) not in copied:
        copied[id(tensor)] = (tensor.detach() if detach else tensor).to(where)
    moved: Tensor = copied[id(tensor)]
    return moved
