"""Channels traded for resolution. Source: https://pytorch.org/docs/stable/nn.html#vision-layers"""

from __future__ import annotations

from minitorch.nn.modules.layer import Applied, layer


@layer
class PixelShuffle(Applied, function="pixel_shuffle"):
    """(…, C · r², H, W) → (…, C, H · r, W · r)."""

    upscale_factor: int


@layer
class PixelUnshuffle(Applied, function="pixel_unshuffle"):
    """(…, C, H · r, W · r) → (…, C · r², H, W)."""

    downscale_factor: int
