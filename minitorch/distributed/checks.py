"""What the functions of this package ask of their arguments, before anything is sent."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from minitorch import Tensor, complex64, complex128, float32, view_as_real
from minitorch.distributed import distributed_c10d as c10d
from minitorch.distributed.process_group import ProcessGroup


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
    real: Tensor = view_as_real(tensor.detach()) if tensor.is_complex() else tensor
    return real


def not_in_group(group: Any, name: str) -> bool:
    """Whether this process isn't in the group: then it is warned that the function `name` does nothing."""
    if not c10d._rank_not_in_group(group):
        return False
    rank = c10d.get_rank() if c10d.is_initialized() else -1
    warnings.warn(f"Running {name} on global rank {rank} which does not belong to the given group.", stacklevel=3)
    return True


F = TypeVar("F", bound=Callable[..., Any])


def of_group(function: F) -> F:
    """Gives a function its group, the one of all processes for None.

    Where this process isn't in the group it is warned, and the function does nothing.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        group = bound.arguments.get("group")
        if not_in_group(group, function.__name__):
            return None
        bound.arguments["group"] = c10d._group_or_default_group(group)
        return function(*bound.args, **bound.kwargs)

    return cast(F, run)


def group_rank(group: ProcessGroup, global_rank: int | None, given: int | None, default: int | None = None) -> int:
    """The number in the group of the process that is named by one of its two numbers; `default` is a global one."""
    if given is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        return given
    global_rank = default if global_rank is None else global_rank
    if global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    return c10d.get_group_rank(group, global_rank)


def check_only_at_root(rank: int, root: int, name: str, given: Sequence[Any] | None, role: str) -> None:
    """Raises ValueError unless the list of this name is given at the root, and only there."""
    if root == rank and not given:
        raise ValueError(f"Argument ``{name}`` must be specified on {role} rank.")
    if root != rank and given:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{role} ranks.")


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
