"""One module on several GPUs: a batch is divided, each GPU runs a replica, and the results are joined."""

# 23 · Several GPUs
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import Tensor, cat, cuda, device, is_grad_enabled, set_grad_enabled
from ...amp.autocast_mode import State, autocast
from ...checks import refuse
from ...devices import with_index
from ...distributed import in_threads
from ..module import Module


def scatter(inputs: Any, device_ids: Sequence[int]) -> Sequence[Any]:
    """What each GPU gets: a chunk of each tensor, along its rows; anything else goes to all."""
    if isinstance(inputs, Tensor):
        pieces = inputs.chunk(len(device_ids))
        return tuple(piece.to(device("cuda", number)) for number, piece in zip(device_ids, pieces, strict=False))
    if isinstance(inputs, tuple) and inputs:
        return list(zip(*(scatter(each, device_ids) for each in inputs), strict=False))
    return [inputs] * len(device_ids)


def replicate(module: Module, device_ids: Sequence[int]) -> list[Module]:
    """A replica of a module for each GPU."""
    return [replica(module, device("cuda", number), {}) for number in device_ids]


def replica(module: Module, where: device, made: dict[Any, Any]) -> Any:
    """A shallow copy of a module, its parameters and buffers copied to `where`; `made` has what was copied before."""
    if module not in made:
        made[module] = new = object.__new__(type(module))
        new.__dict__ = {**module.__dict__, "_parameters": {}, "_buffers": {}, "_modules": {}}
        for table, target in ((module._parameters, new.__dict__), (module._buffers, new._buffers)):
            for name, tensor in table.items():
                if tensor is not None and tensor not in made:
                    made[tensor] = tensor.to(where)
                target[name] = None if tensor is None else made[tensor]
        for name, child in module._modules.items():
            new._modules[name] = None if child is None else replica(child, where, made)
    return made[module]


def parallel_apply(modules: Sequence[Module], inputs: Sequence[Any], *, devices: Sequence[int]) -> list[Any]:
    """Run each module on its inputs, in a thread of its own, with recording and autocast as the caller has them."""
    enabled, precision = is_grad_enabled(), State.on.get("cuda")
    results, errors = [None] * len(modules), {}

    def run(place: int) -> None:
        try:
            in_precision = autocast("cuda", precision, enabled=precision is not None)
            with set_grad_enabled(enabled), cuda.device(devices[place]), in_precision:
                results[place] = modules[place](*inputs[place])
        except Exception as error:  # raised again below
            errors[place] = error

    in_threads(run, len(modules))
    for place, error in sorted(errors.items()):
        where = f"replica {place} on device {devices[place]}"
        raise type(error)(f"Caught {type(error).__name__} in {where}.\n{error}") from error
    return results


def gather(outputs: Sequence[Any], where: int) -> Any:
    """The results of all GPUs on one: tensors joined along their rows, numbers as a vector."""
    if isinstance(outputs[0], tuple):
        return tuple(gather(column, where) for column in zip(*outputs, strict=True))
    return cat([(each if each.ndim else each.reshape(1)).to(device("cuda", where)) for each in outputs])


class DataParallel(Module):
    """Runs a module on several GPUs of one process; its parameters stay on the first."""

    def __init__(self, module: Module, device_ids: Sequence[int] | None = None, output_device: int | None = None):
        super().__init__()
        self.module = module
        self.device_ids = list(device_ids or range(cuda.device_count()))
        if not all(0 <= each < cuda.device_count() for each in self.device_ids):
            raise AssertionError("Invalid device id")
        self.output_device = self.device_ids[0] if output_device is None else output_device

    def forward(self, *inputs: Any) -> Any:
        """Scatter the inputs, replicate the module, run all replicas at once, and gather their results."""
        first = with_index(self.device_ids[0])
        for each in (*self.module.parameters(), *self.module.buffers()):
            found = f"found one of them on device: {each.device}"
            rule = f"module must have its parameters and buffers on device {first} (device_ids[0])"
            refuse(each.device != first, f"{rule} but {found}")
        pieces = scatter(inputs, self.device_ids)
        used = self.device_ids[: len(pieces)]
        return gather(parallel_apply(replicate(self.module, used), pieces, devices=used), self.output_device)
