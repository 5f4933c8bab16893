"""Channels traded for resolution. Source: https://pytorch.org/docs/stable/nn.html#vision-layers"""

from __future__ import annotations

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module
from minitorch.tensor import Tensor


class PixelShuffle(Module):
    """(…, C · r², H, W) → (…, C, H · r, W · r).

    Source: https://pytorch.org/docs/stable/generated/torch.nn.PixelShuffle.html
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(…, C, H · r, W · r) → (…, C · r², H, W).

    Source: https://pytorch.org/docs/stable/generated/torch.nn.PixelUnshuffle.html
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
