"""Quasirandom numbers: the name alone, which raises NotImplementedError when it is used.

Source: https://docs.pytorch.org/docs/stable/generated/torch.quasirandom.SobolEngine.html
"""

from minitorch.unsupported import kind

__all__ = ["SobolEngine"]

SobolEngine = kind("torch.quasirandom.SobolEngine", "minitorch has no Sobol sequences; scipy.stats.qmc.Sobol has")
