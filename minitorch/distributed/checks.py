"""What the functions of this package ask of their arguments, before anything is sent."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from minitorch.distributed import distributed_c10d as c10d
from minitorch.distributed.process_group import ProcessGroup
from minitorch.dtypes import complex64, complex128, float32
from minitorch.tensor import Tensor


def check_single_tensor(value: Any, name: str) -> None:
    """Raises TypeError for anything but a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def check_tensor_list(value: Any, name: str) -> None:
    """Raises TypeError for anything but a list of tensors."""
    expected = f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
    if not isinstance(value, list):
        raise TypeError(f"{expected}             but got {type(value)} instead.")
    if not all(isinstance(each, Tensor) for each in value):
        raise TypeError(
            f"{expected}             but got {type(value)} with elements of type {[type(each) for each in value]}."
        )


def check_same_dtype(*tensors: Tensor | list[Tensor]) -> None:
    """Raises ValueError for different dtypes. complex64 goes with float32, as PyTorch has it."""
    flat: Iterable[Tensor] = (each for one in tensors for each in (one if isinstance(one, list) else [one]))
    last = None
    for tensor in flat:
        dtype = {complex64: float32, complex128: complex128}.get(tensor.dtype, tensor.dtype)
        if last is not None and dtype is not last:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {last} and  {tensor.dtype}")
        last = dtype


def as_real(tensor: Tensor) -> Tensor:
    """A tensor's numbers as real ones: a complex number is two."""
    from minitorch import view_as_real

    real: Tensor = view_as_real(tensor.detach()) if tensor.is_complex() else tensor
    return real


def not_in_group(group: Any, name: str) -> bool:
    """Whether this process isn't in the group: then it is warned that the function `name` does nothing."""
    if not c10d._rank_not_in_group(group):
        return False
    rank = c10d.get_rank() if c10d.is_initialized() else -1
    warnings.warn(f"Running {name} on global rank {rank} which does not belong to the given group.", stacklevel=3)
    return True


def group_rank(group: ProcessGroup, global_rank: int | None, given: int | None) -> int:
    """The number in the group of the process that is named by one of its two numbers."""
    if given is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        return given
    if global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    return c10d.get_group_rank(group, global_rank)


def check_not_self(group: ProcessGroup, rank: int, role: str) -> None:
    """Raises ValueError where a process would send to, or receive from, itself."""
    if group.rank() == rank:
        raise ValueError(f"Invalid {role} rank: {role} rank should not be the same as the rank of the current process.")


def deprecated_for(replacement: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes an old name of a function warn of its end."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def warning(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(
                f"`torch.distributed.{function.__name__}` is deprecated. Please use `torch.distributed.{replacement}` "
                "instead.",
                FutureWarning,
                stacklevel=2,
            )
            return function(*args, **kwargs)

        return warning

    return decorate
