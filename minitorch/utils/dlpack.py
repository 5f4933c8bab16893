"""DLPack by its two functions. Source: https://pytorch.org/docs/stable/dlpack.html"""

from minitorch.devices import DLDeviceType
from minitorch.interop import from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
