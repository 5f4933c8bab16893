"""Padding layers. Source: https://pytorch.org/docs/stable/nn.html#padding-layers"""

from __future__ import annotations

from typing import Any, ClassVar

from minitorch import Tensor
from minitorch.nn import functional as F
from minitorch.nn.modules.layer import Layer, layer


@layer
class _PadNd(Layer):
    """`padding` is one number for all sides, or (before, after) of the last dimension first; negative ones crop.

    (N, C, *spatial) or (C, *spatial) → the same with size before + size + after. Raises RuntimeError where that is
    negative, ValueError or NotImplementedError for another number of dimensions.
    """

    mode: ClassVar[str]
    padding: Any

    def __post_init__(self) -> None:
        given = self.padding
        self.padding = tuple(given) if isinstance(given, (tuple, list)) else (given,) * (2 * self.n)

    def forward(self, input: Tensor) -> Tensor:
        if self.mode == "circular" and input.dim() not in (self.n + 1, self.n + 2):
            raise ValueError(f"expected {self.n + 1}D or {self.n + 2}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


@layer
class _ConstantPadNd(_PadNd, mode="constant"):
    value: float

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPadNd, n=1):
    """(N, C, L) with `value` around it."""


class ConstantPad2d(_ConstantPadNd, n=2):
    """(N, C, H, W) with `value` around it."""


class ConstantPad3d(_ConstantPadNd, n=3):
    """(N, C, D, H, W) with `value` around it."""


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """(N, C, L) with zeros around it."""


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """(N, C, H, W) with zeros around it."""


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """(N, C, D, H, W) with zeros around it."""


class ReflectionPad1d(_PadNd, mode="reflect", n=1):
    """(N, C, L) continued as in a mirror."""


class ReflectionPad2d(_PadNd, mode="reflect", n=2):
    """(N, C, H, W) continued as in a mirror."""


class ReflectionPad3d(_PadNd, mode="reflect", n=3):
    """(N, C, D, H, W) continued as in a mirror."""


class ReplicationPad1d(_PadNd, mode="replicate", n=1):
    """(N, C, L) with its border continued."""


class ReplicationPad2d(_PadNd, mode="replicate", n=2):
    """(N, C, H, W) with its border continued."""


class ReplicationPad3d(_PadNd, mode="replicate", n=3):
    """(N, C, D, H, W) with its border continued."""


class CircularPad1d(_PadNd, mode="circular", n=1):
    """(N, C, L) with what lies at the other end."""


class CircularPad2d(_PadNd, mode="circular", n=2):
    """(N, C, H, W) with what lies at the other end."""


class CircularPad3d(_PadNd, mode="circular", n=3):
    """(N, C, D, H, W) with what lies at the other end."""
