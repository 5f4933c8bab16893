"""GPUs: real ones through CuPy, or simulated ones. Source: https://pytorch.org/docs/stable/cuda.html

`simulate(2)`, or `MINITORCH_SIMULATED_GPUS=2` in the environment, makes two simulated GPUs. CuPy's path has been
checked against CuPy's interface, and not yet been run on a GPU.
"""

# ruff: noqa: I001

from __future__ import annotations

from typing import Any

from minitorch.arrays.gpus import OutOfMemoryError
from minitorch.cuda import amp, memory, random, streams
from minitorch.cuda.memory import (
    empty_cache, ipc_collect, max_memory_allocated, max_memory_reserved, mem_get_info, memory_allocated,
    memory_reserved, memory_stats, memory_summary, reset_peak_memory_stats,
)  # fmt: skip
from minitorch.cuda.random import (
    get_rng_state, get_rng_state_all, initial_seed, manual_seed, manual_seed_all, seed, seed_all, set_rng_state,
    set_rng_state_all,
)  # fmt: skip
from minitorch.cuda.selection import (
    can_device_access_peer, current_device, device, device_count, device_of, get_arch_list, get_device_capability,
    get_device_name, get_device_properties, init, is_available, is_bf16_supported, is_initialized, set_device,
    synchronize,
)  # fmt: skip
from minitorch.cuda.simulation import simulate
from minitorch.cuda.streams import (
    Event, Stream, StreamContext, current_stream, default_stream, is_current_stream_capturing, set_stream, stream,
)  # fmt: skip
from minitorch.random import default_gpu_generator
from minitorch.tensor_types import GPU_TYPES
from minitorch.unsupported import function, kind

_NO_GRAPHS = "minitorch launches each kernel by itself"
CUDAGraph, graph = kind("torch.cuda.CUDAGraph", _NO_GRAPHS), kind("torch.cuda.graph", _NO_GRAPHS)
graph_pool_handle = function("torch.cuda.graph_pool_handle", _NO_GRAPHS)


def __getattr__(name: str) -> Any:
    if name == "default_generators":  # of the GPUs that there are now
        return tuple(default_gpu_generator(index) for index in range(device_count()))
    if name in GPU_TYPES:
        return GPU_TYPES[name]
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")


__all__ = [
    "Event", "OutOfMemoryError", "Stream", "amp", "can_device_access_peer", "current_device", "current_stream",
    "default_stream", "device", "device_count", "device_of", "empty_cache", "get_arch_list",
    "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all",
    "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported", "is_current_stream_capturing",
    "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved",
    "mem_get_info", "memory", "memory_allocated", "memory_reserved", "memory_stats", "memory_summary", "random",
    "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_rng_state", "set_rng_state_all", "set_stream",
    "simulate", "stream", "streams", "synchronize",
]  # fmt: skip
