"""Autocast: the precision in which ops compute where it is switched on.

Few ops take part. `applied` wraps them when they are declared, so that the others know nothing of it, and these ask
one question more. Inside such an op autocast is off: it has decided for all that the op is made of.
Source: https://pytorch.org/docs/stable/amp.html#autocast-op-reference
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dtypes import bfloat16, dtype, float16, float32, float64
from minitorch.tensor import Tensor

DTYPES = {
    "cpu": bfloat16, "cuda": float16, "xpu": float16, "mps": float16, "ipu": float16, "mtia": float16,
    "privateuseone": float16, "hpu": bfloat16, "xla": bfloat16, "maia": bfloat16,
}  # fmt: skip
"""The device types that have autocast, and the lower precision of each, unless it is set."""


class Autocast(threading.local):
    """The switches of one thread."""

    enabled: frozenset[str] = frozenset()
    cache_enabled = True
    nesting = 0

    def __init__(self) -> None:
        self.dtypes = dict(DTYPES)
        self.cache: dict[tuple[int, bool], tuple[Tensor, Tensor]] = {}


state = Autocast()

Policy = Callable[[list[Tensor], dtype, tuple[Any, ...], dict[str, Any]], dtype | None]


def _lower(tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype:
    return lower


def _float32(tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype:
    return float32


def _float32_then_lower(tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype:
    """For what PyTorch makes of an op in float32 and a product, which `_run` follows by a cast."""
    return float32


def _widest(tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype:
    widest = lower
    for each in tensors:
        if float32 in (widest, each._dtype):
            widest = float32
        elif each._dtype is not lower:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return widest


def _float32_at_the_border(
    tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dtype | None:
    """Of the paddings, the reflecting one of at most two dimensions and the replicating one."""
    options = dict(zip(("input", "pad", "mode"), args, strict=False)) | kwargs
    mode = options.get("mode", "constant")
    return float32 if mode == "replicate" or (mode == "reflect" and len(options["pad"]) <= 4) else None


_LISTS: tuple[tuple[Policy, str, str], ...] = (
    (_lower, "torch", "addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d "
                      "conv_transpose3d matmul mkldnn_rnn_layer mm prelu"),
    (_lower, "nn.functional", "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linear prelu "
                              "scaled_dot_product_attention"),
    (_lower, "linalg", "matmul vecdot"),
    (_float32, "torch", "cdist cholesky cholesky_inverse cholesky_solve geqrf inverse lu_solve nanquantile orgqr "
                        "ormqr pinverse polar prod qr quantile svd trace triangular_solve view_as_complex"),
    (_float32, "nn.functional", "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy "
                                "binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy ctc_loss "
                                "fractional_max_pool2d fractional_max_pool3d grid_sample hinge_embedding_loss "
                                "huber_loss kl_div l1_loss margin_ranking_loss max_pool3d max_unpool2d max_unpool3d "
                                "mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss "
                                "smooth_l1_loss soft_margin_loss triplet_margin_loss"),
    (_float32, "linalg", "cholesky cholesky_ex cond eig eigh eigvals eigvalsh householder_product inv inv_ex lstsq "
                         "matrix_rank qr solve svd svdvals tensorinv tensorsolve"),
    (_float32_then_lower, "linalg", "pinv"),
    (_float32_at_the_border, "nn.functional", "pad"),
    (_widest, "torch", "cat concat concatenate index_copy stack"),
)  # fmt: skip
"""The ops of the CPU that take part. https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/autocast_mode.cpp"""

_POLICIES = {(namespace, name): policy for policy, namespace, names in _LISTS for name in names.split()}


def applied(function: Callable[..., Any], namespace: str, name: str) -> Callable[..., Any]:
    """The public form of an op, with casts around it if it takes part in autocast."""
    policy = _POLICIES.get((namespace, name))
    if policy is None:
        return function

    @functools.wraps(function)
    def autocast(*args: Any, **kwargs: Any) -> Any:
        if not state.enabled or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        return _run(function, policy, args, kwargs)

    return autocast


def _run(function: Callable[..., Any], policy: Policy, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    enabled = state.enabled
    eligible = [each for each in _tensors((args, *kwargs.values())) if _is_eligible(each)]
    target = policy(eligible, state.dtypes[eligible[0]._device.type], args, kwargs) if eligible else None
    if target is not None:
        args = _cast(args, target)
        kwargs = {name: _cast(value, target) for name, value in kwargs.items()}
    state.enabled = frozenset()
    try:
        result = function(*args, **kwargs)
        lowered = policy is _float32_then_lower and target is not None
        return result.to(state.dtypes[result.device.type]) if lowered else result
    finally:
        state.enabled = enabled


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)


def _is_eligible(tensor: Tensor) -> bool:
    kind = tensor._dtype
    return kind.is_floating_point and kind is not float64 and tensor._device.type in state.enabled


def _cast(value: Any, target: dtype) -> Any:
    if isinstance(value, Tensor):
        return _cached(value, target) if value._dtype is not target and _is_eligible(value) else value
    if type(value) in (tuple, list):
        return type(value)(_cast(each, target) for each in value)
    return value


def _cached(tensor: Tensor, target: dtype) -> Tensor:
    """The tensor in the target's precision: of a weight, always the same until autocast ends."""
    lowered = tensor._dtype is float32 and target is state.dtypes[tensor._device.type]
    if not (lowered and state.cache_enabled and tensor._base is None and tensor.requires_grad and tensor.is_leaf):
        return tensor.to(target)
    key = (id(tensor), grad_mode.enabled)  # what was cast without a graph must not serve where one is recorded
    if key not in state.cache:
        state.cache[key] = tensor, tensor.to(target)  # holding the tensor keeps its id its own
    return state.cache[key][1]
