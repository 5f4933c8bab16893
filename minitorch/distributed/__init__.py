"""Several processes that compute together: groups, collectives, and the store by which they find each other.

    dist.init_process_group("gloo")           # rank and size from the environment: see `torch.distributed.run`
    dist.all_reduce(tensor)                   # every process now has the sum

The backend "gloo" is on CPUs and needs nothing but Python; "mpi" needs mpi4py and mpiexec. There is no "nccl" here.
Source: https://pytorch.org/docs/stable/distributed.html
"""

# ruff: noqa: I001

from __future__ import annotations

import importlib
from typing import Any

from minitorch.distributed.backend import (
    Backend, BackendConfig, get_default_backend_for_device, is_backend_available, is_gloo_available, is_mpi_available,
    is_nccl_available, is_torchelastic_launched, is_ucc_available, is_xccl_available,
)  # fmt: skip
from minitorch.distributed.buckets import GradBucket
from minitorch.distributed.collectives import (
    all_gather, all_gather_coalesced, all_gather_into_tensor, all_gather_single, all_reduce, all_reduce_coalesced,
    all_to_all, all_to_all_single, barrier, broadcast, gather, monitored_barrier, reduce, reduce_scatter,
    reduce_scatter_single, reduce_scatter_tensor, scatter,
)  # fmt: skip
from minitorch.distributed.constants import default_pg_timeout
from minitorch.distributed.distributed_c10d import (
    GroupMember, destroy_process_group, get_backend, get_backend_config, get_global_rank, get_group_rank,
    get_node_local_rank, get_pg_count, get_process_group_ranks, get_rank, get_world_size, group, init_process_group,
    is_initialized, new_group,
)  # fmt: skip
from minitorch.distributed.errors import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from minitorch.distributed.file_store import FileStore
from minitorch.distributed.gloo import ProcessGroupGloo
from minitorch.distributed.objects import (
    all_gather_object, broadcast_object_list, gather_object, recv_object_list, scatter_object_list, send_object_list,
)  # fmt: skip
from minitorch.distributed.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from minitorch.distributed.process_group import ProcessGroup
from minitorch.distributed.reduce_op import ReduceOp, reduce_op, supports_complex
from minitorch.distributed.rendezvous import register_rendezvous_handler, rendezvous
from minitorch.distributed.store import HashStore, PrefixStore, Store
from minitorch.distributed.subgroups import new_subgroups, new_subgroups_by_enumeration
from minitorch.distributed.tcp_store import TCPStore
from minitorch.distributed.work import Work

_SUBMODULES = ("algorithms", "device_mesh", "fsdp", "nn", "optim", "tensor")
_OUT_OF_SCOPE = frozenset(
    {
        "autograd", "checkpoint", "elastic", "pipelining", "rpc", "shrink_group", "split_group",
    }
)  # fmt: skip


def is_available() -> bool:
    """Whether there is this package: always."""
    return True


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"minitorch.distributed.{name}")
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(importlib.import_module("minitorch.distributed.device_mesh"), name)
    if name in _OUT_OF_SCOPE:  # not NotImplementedError: programs ask with hasattr
        raise AttributeError(f"torch.distributed.{name} is out of minitorch's scope")
    raise AttributeError(f"module 'torch.distributed' has no attribute '{name}'")
