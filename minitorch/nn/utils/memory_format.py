"""The memory format of convolutions' weights.

Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.convert_conv2d_weight_memory_format.html
"""

from __future__ import annotations

from minitorch.layout import memory_format as MemoryFormat
from minitorch.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from minitorch.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Module, memory_format: MemoryFormat, kinds: tuple[type[Module], ...]) -> Module:
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: MemoryFormat) -> Module:
    """Lays out the weight of every two-dimensional convolution in the module in a memory format."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Module, memory_format: MemoryFormat) -> Module:
    """Lays out the weight of every three-dimensional convolution in the module in a memory format."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
