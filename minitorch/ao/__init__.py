"""The folder of `torch.ao`, of which packages import `quantization`."""

from minitorch.ao import quantization

__all__ = ["quantization"]
