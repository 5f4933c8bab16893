"""What `Module.to` does to each tensor of a module."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from minitorch.ops.creation.conversion import parse_to
from minitorch.tensor import Tensor

_COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, and some modules might not "
    "work as expected when using complex tensors as parameters or buffers. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as "
    "expected."
)


def conversion(*args: Any, **kwargs: Any) -> Callable[[Tensor], Tensor]:
    """A function that moves a tensor to a device, one of floating point numbers to a dtype and a memory format too."""
    device, dtype, copy, memory_format = parse_to(args, **kwargs)
    if copy:
        raise RuntimeError(".to() does not accept copy argument")
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
    if dtype is not None and dtype.is_complex:
        warnings.warn(_COMPLEX, stacklevel=3)

    def converted(tensor: Tensor) -> Tensor:
        kind = dtype if tensor.is_floating_point() or tensor.is_complex() else None
        ordered = memory_format if memory_format and tensor.dim() in (4, 5) else None
        try:
            return tensor.to(device, kind, memory_format=ordered)
        except NotImplementedError as error:
            if not tensor.is_meta:
                raise
            raise NotImplementedError(
                f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                "from meta to a different device."
            ) from None

    return converted
