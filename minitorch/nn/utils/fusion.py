"""A batch normalization in evaluation mode is linear, so the layer before can do its work.

Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.fuse_conv_bn_eval.html
"""

from __future__ import annotations

import copy
from typing import Any

from minitorch import Tensor, ones_like, zeros_like
from minitorch.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _check_statistics(bn: Any) -> None:
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that does what it and the batch normalization after it do together.

    `transpose`: of a transposed convolution. Raises AssertionError unless both are in evaluation mode.
    """
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the fused convolution: w γ/√(σ² + ε) and (b − μ) γ/√(σ² + ε) + β."""
    bias = zeros_like(bn_rm) if conv_b is None else conv_b
    gamma = ones_like(bn_rm) if bn_w is None else bn_w
    beta = zeros_like(bn_rm) if bn_b is None else bn_b
    rsqrt = (bn_rv + bn_eps).rsqrt()
    channel_dim = 1 if transpose else 0
    shape = [-1 if dim == channel_dim else 1 for dim in range(conv_w.dim())]
    weight = (conv_w * (gamma * rsqrt).reshape(shape)).to(conv_w.dtype)
    fused_bias = ((bias - bn_rm) * rsqrt * gamma + beta).to(conv_w.dtype if conv_b is None else conv_b.dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(fused_bias, bias.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer that does what it and the batch normalization after it do together.

    Raises AssertionError unless both are in evaluation mode and the normalization has as many features, or one.
    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.fuse_linear_bn_eval.html
    """
    _check(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
            f"got linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the fused linear layer: w γ/√(σ² + ε) and (b − μ) γ/√(σ² + ε) + β."""
    bias = zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = linear_w * scale.unsqueeze(-1).to(linear_w.dtype)
    fused_bias = ((bias - bn_rm) * scale + bn_b).to(linear_w.dtype if linear_b is None else linear_b.dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(fused_bias, bias.requires_grad)
