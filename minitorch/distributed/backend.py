"""The names of the backends, and which of them there are here.

Source: https://pytorch.org/docs/stable/distributed.html#torch.distributed.Backend
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any, ClassVar

from minitorch.arrays import gpus
from minitorch.devices import device


class Backend(str):
    """A backend's name in small letters: `Backend("GLOO")` is "gloo". Raises ValueError for what is no text."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"

    backend_list: ClassVar[list[str]] = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi"]
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
    backend_capability: ClassVar[dict[str, list[str]]] = {
        "gloo": ["cpu", "cuda"],
        "nccl": ["cuda"],
        "xccl": ["xpu"],
        "ucc": ["cpu", "cuda"],
        "mpi": ["cpu", "cuda"],
    }

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return name.lower()

    @classmethod
    def register_backend(cls, name: str, func: Any, extended_api: bool = False, devices: Any = None) -> None:
        """Backends of others are not supported: NotImplementedError."""
        raise NotImplementedError("Backend.register_backend")


class BackendConfig:
    """Which backend serves which type of device: "gloo", "cpu:gloo,cuda:nccl", or undefined: that of this machine."""

    def __init__(self, backend: str) -> None:
        self.device_backend_map: dict[str, str] = {}
        if backend == Backend.UNDEFINED:
            self.device_backend_map["cpu"] = Backend.GLOO
            if is_nccl_available():
                self.device_backend_map["cuda"] = Backend.NCCL
        elif backend in Backend.backend_list:
            self.device_backend_map = dict.fromkeys(Backend.backend_capability[backend], backend)
        elif ":" in backend:
            for pair in backend.lower().split(","):
                device_and_backend = pair.split(":")
                if len(device_and_backend) != 2:
                    raise ValueError(f"Invalid device:backend pairing: {pair}. {_format_message(backend)}")
                if device_and_backend[0] in self.device_backend_map:
                    raise ValueError(
                        f"Duplicate device type {device_and_backend[0]} in backend string: {backend}. "
                        f"{_format_message(backend)}"
                    )
                self.device_backend_map[device_and_backend[0]] = device_and_backend[1]
        else:
            raise AssertionError(f"Unknown backend type {backend}")

    def get_device_backend_map(self) -> dict[str, str]:
        """The backends by type of device."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())


def _format_message(backend: str) -> str:
    return (
        f"The custom backend string argument is invalid: {backend}. The backend string must be in the format: "
        "\"<device_type1>:<backend1>,<device_type2>:<backend2>...\". e.g. 'cpu:gloo,cuda:nccl'"
    )


def is_gloo_available() -> bool:
    """Whether there is the backend "gloo": always."""
    return True


def is_mpi_available() -> bool:
    """Whether there is the backend "mpi": where mpi4py is installed."""
    return importlib.util.find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """Whether there is the backend "nccl": where there are GPUs, and CuPy finds NVIDIA's library."""
    library = gpus.library()
    return library is not None and library.nccl() is not None


def is_ucc_available() -> bool:
    """Whether there is the backend "ucc": never."""
    return False


def is_xccl_available() -> bool:
    """Whether there is the backend "xccl": never."""
    return False


_AVAILABLE = {
    "gloo": is_gloo_available,
    "mpi": is_mpi_available,
    "nccl": is_nccl_available,
    "ucc": is_ucc_available,
    "xccl": is_xccl_available,
}


def is_backend_available(backend: str) -> bool:
    """Whether there is a backend of this name, or all of a "cpu:gloo,cuda:nccl"."""
    names = BackendConfig(backend).device_backend_map.values() if ":" in backend else [backend]
    return all(name.lower() in _AVAILABLE and _AVAILABLE[name.lower()]() for name in names)


def is_torchelastic_launched() -> bool:
    """Whether `torch.distributed.run` has started this process."""
    return os.getenv("TORCHELASTIC_RUN_ID") is not None


def get_default_backend_for_device(device_or_type: str | device) -> str:
    """The backend that serves a device unless another is asked for. Raises ValueError where there is none."""
    backend = Backend.default_device_backend_map.get(device(device_or_type).type)
    if backend is None:
        raise ValueError(f"Default backend not registered for device : {device_or_type}")
    return backend
