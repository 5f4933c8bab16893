"""Sliding blocks of images as columns, and back. Source: https://pytorch.org/docs/stable/nn.html#convolution-layers"""

from __future__ import annotations

from typing import Any

from minitorch.nn.modules.layer import Applied, layer


@layer
class Unfold(Applied, function="unfold"):
    """(N, C, H, W) → (N, C · ∏ kernel_size, blocks)."""

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


@layer
class Fold(Applied, function="fold"):
    """(N, C · ∏ kernel_size, blocks) → (N, C, *output_size), the blocks added up."""

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
