"""Meshes of devices: the names alone, each of which raises NotImplementedError when it is used.

Source: https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.device_mesh.DeviceMesh
"""

from minitorch.unsupported import function, kind

__all__ = ["DeviceMesh", "init_device_mesh"]

_REASON = "minitorch has no meshes of devices; new_group makes groups of processes"

DeviceMesh = kind("torch.distributed.device_mesh.DeviceMesh", _REASON)
init_device_mesh = function("torch.distributed.device_mesh.init_device_mesh", _REASON)
