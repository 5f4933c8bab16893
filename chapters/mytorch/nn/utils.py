"""What is done with all parameters of a model at once."""

# 09 · Modules and parameters
from __future__ import annotations

from collections.abc import Iterable

from .. import Tensor, cat


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All numbers of all parameters, one after the other: a new tensor, with a history."""
    return cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Lay the parameters, in turn, on pieces of a vector: they share its memory from then on."""
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end


# 10 · Activations and initialization
from .. import copy_, isfinite, no_grad, stack, zeros


def gradients_of(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """The gradients of one tensor or of several, leaving out those that have none."""
    listed = [parameters] if isinstance(parameters, Tensor) else parameters
    return [each.grad for each in listed if each.grad is not None]


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Shrink all gradients by the same factor, in place, if together they are longer than `max_norm`."""
    grads = gradients_of(parameters)
    if not grads:
        return zeros(())
    sizes = [grad.abs() for grad in grads]
    if norm_type == float("inf"):
        norm = stack([each.amax() for each in sizes]).amax()
    else:
        norm = stack([(each**norm_type).sum() for each in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite:
        refuse_nonfinite(norm, norm_type)
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


def refuse_nonfinite(norm: Tensor, norm_type: float) -> None:
    """Raise PyTorch's error about a norm that is inf or nan."""
    if not isfinite(norm):
        found = f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite"
        advice = "To disable this error and scale the gradients by the non-finite norm anyway, set"
        raise RuntimeError(f"{found}, so it cannot be clipped. {advice} `error_if_nonfinite=False`")


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Bring each number of each gradient, by itself, into [-clip_value, clip_value], in place."""
    for grad in gradients_of(parameters):
        copy_(grad, grad.clamp(-clip_value, clip_value))


# 15 · Recurrent networks
from . import packing

rnn = packing
