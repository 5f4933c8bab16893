"""The functions of layers that PyTorch has in `torch` too, beside `nn.functional`: some with other parameters.

Source: https://pytorch.org/docs/stable/nn.functional.html
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.declaration import NAMESPACES, composite
from minitorch.ops.naming import called
from minitorch.ops.nn import adaptive_pooling, normalization, pixels, pooling  # noqa: F401 - to be declared before named
from minitorch.ops.nn import dropout as dropouts
from minitorch.ops.nn import embedding as embeddings
from minitorch.tensor import Tensor

_SAME = "adaptive_avg_pool1d avg_pool1d bilinear rms_norm"
NAMESPACES["torch"].update({name: NAMESPACES["nn.functional"][name] for name in _SAME.split()})


def _pool(name: str) -> Any:
    """max_pool1d, max_pool2d and max_pool3d, which return no indices."""
    with_indices = NAMESPACES["nn.functional"][name]

    @composite(variants="function")
    @called(name, f"`nn.functional.{name}`.")
    def pool(
        input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Tensor:
        return with_indices(input, kernel_size, stride or None, padding, dilation, ceil_mode)

    return pool


max_pool1d, max_pool2d, max_pool3d = _pool("max_pool1d"), _pool("max_pool2d"), _pool("max_pool3d")


@composite(variants="function")
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """`nn.functional.adaptive_max_pool1d` with indices."""
    return NAMESPACES["nn.functional"]["adaptive_max_pool1d"](input, output_size, return_indices=True)


def _dropout(name: str, function: Any) -> tuple[Any, Any]:
    """dropout, alpha_dropout and feature_alpha_dropout, which say `train` where `nn.functional` says `training`; and
    each in place."""

    def dropped(input: Tensor, p: float, train: bool, inplace: bool) -> Tensor:
        if not 0 <= p <= 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
        return function(input, p, train, inplace)

    @composite(variants="function")
    @called(name, f"`nn.functional.{name}`.")
    def new(input: Tensor, p: float, train: bool) -> Tensor:
        return dropped(input, p, train, inplace=False)

    @composite(variants="function")
    @called(f"{name}_", f"`nn.functional.{name}`, in place.")
    def in_place(input: Tensor, p: float, train: bool) -> Tensor:
        return dropped(input, p, train, inplace=True)

    return new, in_place


dropout, dropout_ = _dropout("dropout", dropouts.dropout)
alpha_dropout, alpha_dropout_ = _dropout("alpha_dropout", dropouts.alpha_dropout)
feature_alpha_dropout, feature_alpha_dropout_ = _dropout("feature_alpha_dropout", dropouts.feature_alpha_dropout)


@composite(variants="function")
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """`nn.functional.embedding` with the weight first; no row is padding where `padding_idx` is −1."""
    padding = None if padding_idx == -1 else padding_idx
    return embeddings.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


@composite(variants="function", autocast_on_gpu="float32")
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """`nn.functional.layer_norm`. Which library computes it, makes no difference here."""
    return normalization.layer_norm(input, normalized_shape, weight, bias, eps)


@composite(variants="function", autocast_on_gpu="float32")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.group_norm`. Which library computes it, makes no difference here."""
    return normalization.group_norm(input, num_groups, weight, bias, eps)


@composite(variants="function")
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.batch_norm` with the parameters first."""
    return normalization.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@composite(variants="function")
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """`nn.functional.instance_norm` with the parameters first."""
    return normalization.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
