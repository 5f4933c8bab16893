"""DLPack by its two functions. Source: https://pytorch.org/docs/stable/dlpack.html"""

from minitorch.interop import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
