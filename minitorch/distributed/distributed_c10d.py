"""The groups that there are: the one of all processes, which `init_process_group` makes, and parts of it.

Source: https://pytorch.org/docs/stable/distributed.html#initialization
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from minitorch.arrays import gpus
from minitorch.devices import device
from minitorch.distributed.backend import Backend, BackendConfig, is_mpi_available, is_nccl_available
from minitorch.distributed.constants import default_pg_timeout
from minitorch.distributed.gloo import ProcessGroupGloo
from minitorch.distributed.nccl import ProcessGroupNCCL
from minitorch.distributed.process_group import ProcessGroup
from minitorch.distributed.rendezvous import rendezvous
from minitorch.distributed.store import PrefixStore, Store

Group = ProcessGroup | None

_NON_MEMBER: Any = -100


class _World:
    """What this process knows of."""

    def __init__(self) -> None:
        self.default_pg: Group = None
        self.groups: list[ProcessGroup] = []
        self.group_count = 0
        self.excepthook: Any = None


_world = _World()


class _WorldMeta(type):
    @property
    def WORLD(cls) -> Group:
        """The group of all processes; None before `init_process_group`."""
        return _world.default_pg


class group(metaclass=_WorldMeta):
    """`group.WORLD` is the group of all processes."""


class GroupMember(metaclass=_WorldMeta):
    """`GroupMember.NON_GROUP_MEMBER` is what `new_group` gives to those who are not in the group."""

    NON_GROUP_MEMBER = _NON_MEMBER


def is_initialized() -> bool:
    """Whether there is a group of all processes."""
    return _world.default_pg is not None


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Makes the group of all processes, through a store or a URL (see `rendezvous`), "env://" if neither is given.

    The backend is "gloo", unless another is asked for: "nccl", which needs GPUs and NVIDIA's library, or "mpi", which
    needs mpi4py, gets rank and world size from MPI, and can't be combined with a store. Raises ValueError the second
    time, RuntimeError for a backend that isn't there or when the others don't come within `timeout` (30 minutes).
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None:
        if not world_size > 0:
            raise AssertionError("world_size must be positive if using store")
        if not rank >= 0:
            raise AssertionError("rank must be non-negative if using store")
    _refuse_device(device_id)
    if pg_options is not None:
        raise NotImplementedError("init_process_group: pg_options")
    backend = Backend("undefined" if backend is None else backend)
    timeout = default_pg_timeout if timeout is None else timeout
    _check_timeout(timeout)
    if backend == Backend.MPI:
        if world_size != -1 or rank != -1:
            warnings.warn(
                f"For MPI backend, world_size ({world_size}) and rank ({rank}) are ignored since they are assigned by "
                "the MPI runtime.",
                stacklevel=2,
            )
    else:
        if store is None:
            store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=timeout))
            store.set_timeout(timeout)
        store = PrefixStore("default_pg", store)
    _world.default_pg = _new_group(backend, store, _next_name(), timeout, rank, world_size, None, "default_pg")
    _world.default_pg.bound_device_id = None if device_id is None else device(device_id)
    _mark_errors(_world.default_pg.rank())


def _refuse_device(device_id: Any) -> None:
    """Raises ValueError unless it is None, or a GPU that there is."""
    if device_id is None:
        return
    kind = "cuda" if isinstance(device_id, int) else device_id.type
    if kind != "cpu" and gpus.library() is None:
        raise ValueError(f"device_id {device_id}: no accelerator is found")
    if kind != "cuda" or (not isinstance(device_id, int) and device_id.index is None):
        raise ValueError("init_process_group device_id parameter must be an accelerator with an index")


def _check_timeout(timeout: Any) -> None:
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")


def _mark_errors(rank: int) -> None:
    """Puts the rank before each line of an exception that ends the program: several processes write to one terminal."""
    before = _world.excepthook or sys.excepthook
    _world.excepthook = before

    def excepthook(*error: Any) -> None:
        stderr, sys.stderr = sys.stderr, io.StringIO()
        try:
            before(*error)
        finally:
            text, sys.stderr = sys.stderr.getvalue(), stderr
        sys.stderr.write("\n".join(f"[rank{rank}]: {line}" if line else "" for line in text.split("\n")))
        sys.stderr.flush()

    sys.excepthook = excepthook


def _new_group(
    backend: str,
    store: Store | None,
    name: str,
    timeout: timedelta,
    rank: int,
    size: int,
    ranks: Sequence[int] | None,
    description: str,
) -> ProcessGroup:
    """Connects this process, number `rank` of `size`, to the others of a group; `ranks` are all, if None."""
    config = BackendConfig(backend)
    served = _served(config)
    made: ProcessGroup
    if served == Backend.MPI:
        if not is_mpi_available():
            raise RuntimeError(
                "Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source "
                "on a host that has MPI installed."
            )
        from minitorch.distributed.mpi import ProcessGroupMPI  # loads mpi4py

        made = ProcessGroupMPI(ranks, timeout)
    elif served == Backend.GLOO:
        assert store is not None
        store = PrefixStore(f"{name}/", store)
        made = ProcessGroupGloo(PrefixStore("cpu/", store), rank, size, timeout)
    elif served == Backend.NCCL and is_nccl_available():
        assert store is not None
        made = ProcessGroupNCCL(PrefixStore("cuda/", PrefixStore(f"{name}/", store)), rank, size, timeout)
    elif served in (Backend.NCCL, Backend.XCCL):
        raise RuntimeError(f"Distributed package doesn't have {served.upper()} built in")
    else:
        raise AssertionError(f"Unknown c10d backend type {served.upper()}")
    made.group_name, made.group_desc = name, description
    made.store, made.config, made.asked_backend = store, str(config), backend
    made.ranks = tuple(range(made.size()) if ranks is None else ranks)
    _world.groups.append(made)
    return made


def _served(config: BackendConfig) -> str:
    """The backend of a group: NCCL, if it is asked for and there (the CPU's tensors go by Gloo), else the CPU's."""
    backends = config.device_backend_map
    if backends.get("cuda") == Backend.NCCL and is_nccl_available():
        return Backend.NCCL
    return backends.get("cpu") or next(iter(backends.values()))


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some of the processes, by their ranks among all; None means all.

    All processes have to call it, those that are not in the group too; these get `GroupMember.NON_GROUP_MEMBER`. With
    `use_local_synchronization` the members alone call it. Raises ValueError for ranks that there are not.
    """
    default = _get_default_group()
    if pg_options is not None:
        raise NotImplementedError("new_group: pg_options")
    _refuse_device(device_id)
    backend = Backend(backend or default.asked_backend)
    timeout = default_pg_timeout if timeout is None else timeout
    _check_timeout(timeout)
    if use_local_synchronization:
        if backend == Backend.MPI:
            raise ValueError("MPI backend doesn't support use_local_synchronization=True")
        if ranks is not None and default.rank() not in ranks:
            return None
    members = list(range(default.size())) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    _check_ranks(members, default.size())
    name = _hashed_name(members) if use_local_synchronization else _next_name()
    if backend != Backend.MPI and default.rank() not in members:
        return _NON_MEMBER
    store = default.store if not isinstance(default.store, PrefixStore) else default.store.underlying_store
    rank = members.index(default.rank()) if default.rank() in members else -1
    made = _new_group(backend, store, name, timeout, rank, len(members), members, group_desc or "undefined")
    return made if rank >= 0 else _NON_MEMBER


def _check_ranks(ranks: list[int], world_size: int) -> None:
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
    if len(ranks) > world_size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for rank in ranks:
        if not 0 <= rank < world_size:
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {world_size - 1} (world_size={world_size})"
            )


def _next_name() -> str:
    _world.group_count += 1
    return str(_world.group_count - 1)


def _hashed_name(ranks: Sequence[int]) -> str:
    """A name that the members of a group find without the others; the number tells it from the same group before."""
    text = "_".join(map(str, [*ranks, len(_world.groups)]))
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def destroy_process_group(group: Group = None) -> None:
    """Ends a group, and closes its connections; without one, or with the group of all, ends every group."""
    if _rank_not_in_group(group):
        return
    target = _world.default_pg if group is None else group
    if target is None:
        raise AssertionError("Process group cannot be None")
    if target not in _world.groups:
        raise ValueError("Invalid process group specified")
    if target is not _world.default_pg:
        _world.groups.remove(target)
        target.shutdown()
        return
    for each in reversed(_world.groups):
        each.shutdown()
    _world.groups.clear()
    _world.default_pg = None
    _world.group_count = 0


def get_rank(group: Group = None) -> int:
    """This process's number in a group; -1 where it isn't in it."""
    if _rank_not_in_group(group):
        return -1
    default = _get_default_group()
    return default.rank() if group is None or group is default else get_group_rank(group, default.rank())


def get_world_size(group: Group = None) -> int:
    """The number of processes in a group; -1 where this one isn't in it."""
    if _rank_not_in_group(group):
        return -1
    return _group_or_default_group(group).size()


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number in a group of the process that is number `global_rank` of all. Raises ValueError if it isn't in it."""
    if group is _world.default_pg:
        return global_rank
    ranks = _ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The number among all of the process that is number `group_rank` of a group."""
    if group is _world.default_pg:
        return group_rank
    ranks = _ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def _ranks(group: ProcessGroup) -> tuple[int, ...]:
    if group not in _world.groups:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    return group.ranks


def get_process_group_ranks(group: Group) -> list[int]:
    """The numbers of a group's processes among all, in the group's order."""
    return list(_group_or_default_group(group).ranks)


def get_backend(group: Group = None) -> str:
    """The name of a group's backend. Raises ValueError where this process isn't in the group."""
    return _member(group).asked_backend


def get_backend_config(group: Group = None) -> str:
    """A group's backends by type of device: "cpu:gloo,cuda:gloo"."""
    return _member(group).config


def _member(group: Group) -> ProcessGroup:
    if _rank_not_in_group(group):
        raise ValueError("Invalid process group specified")
    member = _group_or_default_group(group)
    if member not in _world.groups:
        raise ValueError(
            f"Process group {member} is not initialized in the world group map. Please initialize the group first."
        )
    return member


def get_pg_count() -> int:
    """The number of groups that were made."""
    return _world.group_count


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its machine: LOCAL_RANK of the environment, or `fallback_rank`."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def _get_default_group() -> ProcessGroup:
    if _world.default_pg is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _world.default_pg


def _set_pg_timeout(timeout: timedelta, group: Group = None) -> None:
    """Changes how long the communications of a group wait."""
    _check_timeout(timeout)
    _member(group).timeout = timeout


def _group_or_default_group(group: Group) -> ProcessGroup:
    return _get_default_group() if group is None else group


def _rank_not_in_group(group: Any) -> bool:
    return group is not None and not isinstance(group, ProcessGroup) and group == _NON_MEMBER
