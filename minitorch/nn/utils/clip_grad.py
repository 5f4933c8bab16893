"""Bounds for gradients. Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html"""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

from minitorch import Tensor, no_grad, stack, zeros
from minitorch.ops.linalg.norms import vector_norm

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    return [each._grad for each in parameters if each._grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors together, as of one vector. `foreach` changes nothing: there is one implementation.

    Raises RuntimeError for a norm that is infinite or NaN, where asked to.
    """
    norm_type = float(norm_type)
    listed = _listed(tensors)
    if not listed:
        return zeros(())
    norms = [vector_norm(each, norm_type) for each in listed]
    total = vector_norm(stack([each.to(norms[0].device) for each in norms]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiplies all gradients by min(1, max_norm / total_norm)."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in _gradients(_listed(parameters)):
        gradient.mul_(scale.to(gradient.device))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales all gradients so that together they have at most the norm `max_norm`. Returns the norm that they had."""
    listed = _listed(parameters)
    if not listed and isinstance(parameters, types.GeneratorType):
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total_norm = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The old name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Bounds every element of every gradient to [−clip_value, clip_value]."""
    bound = float(clip_value)
    for gradient in _gradients(_listed(parameters)):
        gradient.clamp_(min=-bound, max=bound)
