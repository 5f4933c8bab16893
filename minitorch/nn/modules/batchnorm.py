"""Batch normalization. Source: https://pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html"""

from __future__ import annotations

from dataclasses import InitVar, field
from typing import Any, ClassVar

from minitorch import Tensor, int64, ones, tensor, zeros
from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.layer import Layer, layer
from minitorch.nn.modules.lazy import LazyLayer
from minitorch.nn.modules.linear import parameter
from minitorch.nn.modules.module import Module


@layer
class _NormBase(Layer):
    """The affine parameters and the running statistics are optional."""

    _version = 2
    dims: ClassVar[tuple[int, ...]]
    """How many dimensions an input may have."""
    num_features: int
    eps: float = 1e-5
    momentum: float | None = 0.1
    affine: bool = True
    track_running_stats: bool = True
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None
    bias: InitVar[bool] = field(default=True, kw_only=True)

    def __post_init__(self, device: Any, dtype: Any, bias: bool) -> None:
        size, tracks = self.num_features, self.track_running_stats
        self.register_parameter("weight", parameter(size, self.affine, device, dtype))
        self.register_parameter("bias", parameter(size, self.affine and bias, device, dtype))
        self.register_buffer("running_mean", zeros(size, device=device, dtype=dtype) if tracks else None)
        self.register_buffer("running_var", ones(size, device=device, dtype=dtype) if tracks else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if tracks else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Sets the running mean to 0 and the running variance to 1."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Sets weights to 1, biases to 0, and the running statistics to those of a standard normal distribution."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.dims:
            expected = " or ".join(f"{each}D" for each in self.dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        # State dicts from before version 2 have no counter.
        if local_metadata.get("version", 0) < 2 and self.num_batches_tracked is not None:
            state_dict.setdefault(f"{prefix}num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    """(x − mean) / √(var + eps) · weight + bias for each of the C = `num_features` channels, of the same shape.

    In training mean and biased var are those over the batch, and `running_mean` and `running_var` (C,) move towards
    mean and unbiased var by `momentum`, or average all batches if it is None; in evaluation they are used. `weight`
    (C,) starts as ones, `bias` (C,) as zeros, both only if `affine`. Raises ValueError for another number of
    dimensions, or a single value a channel in training, RuntimeError for other channels. Ioffe and Szegedy 2015,
    https://arxiv.org/abs/1502.03167
    """

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        uses_batch = self.training or (self.running_mean is None and self.running_var is None)
        keeps = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keeps else None,
            self.running_var if keeps else None,
            self.weight,
            self.bias,
            uses_batch,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm, dims=(2, 3)):
    """Batch normalization of (N, C) or (N, C, L)."""


class BatchNorm2d(_BatchNorm, dims=(4,)):
    """Batch normalization of (N, C, H, W)."""


class BatchNorm3d(_BatchNorm, dims=(5,)):
    """Batch normalization of (N, C, D, H, W)."""


@layer
class _LazyNormBase(LazyLayer):
    """The first input (N, C, …) initializes it, and makes it the class that it stands for."""

    size = "num_features"
    num_features: int = field(init=False)
    affine: bool = True
    track_running_stats: bool = True

    def initialize_parameters(self: Any, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for each in (self.weight, self.bias, self.running_mean, self.running_var):
                if each is not None:
                    each.materialize((self.num_features,))
            self.reset_parameters()


@layer
class LazyBatchNorm1d(_LazyNormBase, _BatchNorm, dims=BatchNorm1d.dims, cls_to_become=BatchNorm1d):
    """A BatchNorm1d that takes `num_features` from its first input."""


@layer
class LazyBatchNorm2d(_LazyNormBase, _BatchNorm, dims=BatchNorm2d.dims, cls_to_become=BatchNorm2d):
    """A BatchNorm2d that takes `num_features` from its first input."""


@layer
class LazyBatchNorm3d(_LazyNormBase, _BatchNorm, dims=BatchNorm3d.dims, cls_to_become=BatchNorm3d):
    """A BatchNorm3d that takes `num_features` from its first input."""


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of (N, C, …) by the statistics of all processes together.

    There is only one process here, for which this is batch normalization: a `process_group` raises NotImplementedError.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        if process_group is not None:
            raise NotImplementedError("SyncBatchNorm: process_group is not supported")
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replaces the batch normalizations inside a module, and returns the module or what replaces it."""
        result = module
        if isinstance(module, _BatchNorm):
            sizes = (module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats)
            result = SyncBatchNorm(*sizes, process_group, bias=module.bias is not None)
            result.weight, result.bias = module.weight, module.bias
            result.running_mean, result.running_var = module.running_mean, module.running_var
            result.num_batches_tracked = module.num_batches_tracked
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
