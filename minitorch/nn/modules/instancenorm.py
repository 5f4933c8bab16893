"""Instance normalization. Source: https://pytorch.org/docs/stable/generated/torch.nn.InstanceNorm2d.html"""

from __future__ import annotations

import warnings

from minitorch.nn import functional as F
from minitorch.nn.modules.batchnorm import _LazyNormBase, _NormBase
from minitorch.nn.modules.layer import layer
from minitorch.tensor import Tensor


@layer
class _InstanceNorm(_NormBase):
    """(x − mean) / √(var + eps) · weight + bias for every channel of every element of the batch, of the same shape.

    Mean and var are over the spatial dimensions. With `affine`, `weight` and `bias` (C,), C = `num_features`; with
    `track_running_stats`, evaluation uses running statistics (C,). Raises ValueError for another number of dimensions
    or channels, or a single spatial element. Ulyanov et al. 2016, https://arxiv.org/abs/1607.08022
    """

    affine: bool = False
    track_running_stats: bool = False

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        unbatched = input.dim() == self.dims[0]
        dim = 0 if unbatched else 1
        if input.shape[dim] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                    f"{input.shape[dim]}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        result = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if unbatched else result


class InstanceNorm1d(_InstanceNorm, dims=(2, 3)):
    """Instance normalization of (N, C, L), or without N."""


class InstanceNorm2d(_InstanceNorm, dims=(3, 4)):
    """Instance normalization of (N, C, H, W), or without N."""


class InstanceNorm3d(_InstanceNorm, dims=(4, 5)):
    """Instance normalization of (N, C, D, H, W), or without N."""


@layer
class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm, dims=InstanceNorm1d.dims, cls_to_become=InstanceNorm1d):
    """An InstanceNorm1d that takes `num_features` from its first input."""


@layer
class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm, dims=InstanceNorm2d.dims, cls_to_become=InstanceNorm2d):
    """An InstanceNorm2d that takes `num_features` from its first input."""


@layer
class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm, dims=InstanceNorm3d.dims, cls_to_become=InstanceNorm3d):
    """An InstanceNorm3d that takes `num_features` from its first input."""
