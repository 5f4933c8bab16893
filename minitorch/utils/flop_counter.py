"""Counting floating point operations: the name alone, which raises NotImplementedError when it is used."""

from minitorch.unsupported import kind

__all__ = ["FlopCounterMode"]

FlopCounterMode = kind("torch.utils.flop_counter.FlopCounterMode", "minitorch counts no floating point operations")
