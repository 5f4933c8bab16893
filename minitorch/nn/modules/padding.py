"""Padding layers. Source: https://pytorch.org/docs/stable/nn.html#padding-layers"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module
from minitorch.tensor import Tensor


class _PadNd(Module):
    """`padding` is one number for all sides, or (before, after) of the last dimension first."""

    __constants__ = ["padding"]
    n: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self.n)

    def forward(self, input: Tensor) -> Tensor:
        if self.mode == "circular" and input.dim() not in (self.n + 1, self.n + 2):
            raise ValueError(f"expected {self.n + 1}D or {self.n + 2}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


def _classes(base: type[Any], name: str, also: Sequence[type[Any]] = (), **attributes: Any) -> list[type[Any]]:
    """The class for one, two and three dimensions; `also` has another base for each."""
    docs = f"https://pytorch.org/docs/stable/generated/torch.nn.{name}"
    return [
        type(
            f"{name}{n}d",
            (base, *also[n - 1 : n]),
            {"n": n, "__module__": __name__, "__doc__": f"{docs}{n}d.html", **attributes},
        )
        for n in (1, 2, 3)
    ]


ConstantPad1d, ConstantPad2d, ConstantPad3d = _CONSTANT = _classes(_ConstantPadNd, "ConstantPad")
ZeroPad1d, ZeroPad2d, ZeroPad3d = _classes(_ZeroPadNd, "ZeroPad", _CONSTANT)
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _classes(_PadNd, "ReflectionPad", mode="reflect")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _classes(_PadNd, "ReplicationPad", mode="replicate")
CircularPad1d, CircularPad2d, CircularPad3d = _classes(_PadNd, "CircularPad", mode="circular")
