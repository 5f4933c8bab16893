"""Invertible functions of random values.

Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
"""

# ruff: noqa: I001

from minitorch.distributions.transforms.elementwise import (
    AbsTransform, AffineTransform, CumulativeDistributionTransform, ExpTransform, PowerTransform, SigmoidTransform,
    SoftplusTransform, TanhTransform,
)  # fmt: skip
from minitorch.distributions.transforms.events import (
    CorrCholeskyTransform, LowerCholeskyTransform, PositiveDefiniteTransform, ReshapeTransform, SoftmaxTransform,
    StickBreakingTransform,
)  # fmt: skip
from minitorch.distributions.transforms.several import CatTransform, StackTransform
from minitorch.distributions.transforms.transform import (
    ComposeTransform, IndependentTransform, Transform, identity_transform,
)  # fmt: skip

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip
