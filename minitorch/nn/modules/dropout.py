"""Dropout: in training, elements are set to zero at random.

Source: https://pytorch.org/docs/stable/nn.html#dropout-layers
"""

from __future__ import annotations

from typing import ClassVar

from minitorch import Tensor
from minitorch.nn import functional as F
from minitorch.nn.modules.layer import Layer, layer


@layer
class _DropoutNd(Layer):
    """Returns a tensor of the input's shape, in evaluation the input itself; `inplace=True` writes into it.
    Raises ValueError for a p outside [0, 1].
    """

    p: float = 0.5
    inplace: bool = False
    function: ClassVar[str]

    def __post_init__(self) -> None:
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(F, self.function)(input, self.p, self.training, self.inplace)
        return result


class Dropout(_DropoutNd, function="dropout"):
    """Zeroes each element with probability p and divides the others by 1 − p; the identity in evaluation."""


class Dropout1d(_DropoutNd, function="dropout1d"):
    """Dropout of whole channels of (N, C, L)."""


class Dropout2d(_DropoutNd, function="dropout2d"):
    """Dropout of whole channels of (N, C, H, W)."""


class Dropout3d(_DropoutNd, function="dropout3d"):
    """Dropout of whole channels of (N, C, D, H, W)."""


class AlphaDropout(_DropoutNd, function="alpha_dropout"):
    """Dropout that keeps the mean and variance of what SELU gives."""


class FeatureAlphaDropout(_DropoutNd, function="feature_alpha_dropout"):
    """AlphaDropout of whole channels."""
