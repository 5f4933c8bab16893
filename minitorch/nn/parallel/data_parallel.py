"""A module that divides its batches among the GPUs of one process.

Source: https://pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from minitorch.arrays import gpus
from minitorch.cuda.selection import get_device_properties
from minitorch.devices import device as Device
from minitorch.devices import gpu
from minitorch.nn.modules.module import Module
from minitorch.nn.parallel.parallel_apply import parallel_apply
from minitorch.nn.parallel.replicate import replicate
from minitorch.nn.parallel.scatter_gather import gather, scatter_kwargs


def _number(where: Any) -> int:
    """The number of a GPU: of a device, its name, or itself."""
    index = gpu(Device(where).index).index
    assert index is not None
    return index


class DataParallel(Module):
    """Divides each batch along `dim` among GPUs, runs a copy of the module on each, and joins the results.

    The module must be on `device_ids[0]`, by default GPU 0 of all, and its gradients arrive there. The results come to
    `output_device`, by default the same one. Without GPUs it just calls the module. The names in its state dict begin
    with "module.". Returns what the module returns, of the whole batch (N, …). Raises RuntimeError for a module
    elsewhere. Source: https://pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
    """

    def __init__(
        self, module: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        library = gpus.library()
        if library is None:
            return
        for each in device_ids or ():
            get_device_properties(each)  # raises AssertionError for a GPU that isn't there
        self.device_ids = [_number(each) for each in (range(library.count()) if device_ids is None else device_ids)]
        if not self.device_ids:
            raise RuntimeError("no available devices were found")
        self.output_device = self.device_ids[0] if output_device is None else _number(output_device)
        self.src_device_obj = Device("cuda", self.device_ids[0])
        self.dim = dim
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        for each in chain(self.module.parameters(), self.module.buffers()):
            if each.device != self.src_device_obj:
                raise RuntimeError(
                    "module must have its parameters and buffers on device "
                    f"{self.src_device_obj} (device_ids[0]) but found one of them on device: {each.device}"
                )
        pieces, named = scatter_kwargs(inputs, kwargs, self.device_ids, self.dim)
        if not pieces:  # a module without arguments runs once
            pieces, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*pieces[0], **named[0])
        used = self.device_ids[: len(pieces)]
        outputs = parallel_apply(replicate(self.module, used), pieces, named, used)
        return gather(outputs, self.output_device, self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """One call of a module on several GPUs, as `DataParallel` makes it. Raises RuntimeError where there is none."""
    if gpus.library() is None:
        raise RuntimeError("device type could not be determined")
    divided = DataParallel(module, device_ids, output_device, dim)
    divided.training = module.training
    arguments = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return divided(*arguments, **(module_kwargs or {}))
