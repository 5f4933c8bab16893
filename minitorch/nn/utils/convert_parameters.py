"""Parameters as one vector, and back.

Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parameters_to_vector.html
"""

from __future__ import annotations

from collections.abc import Iterable

from minitorch import Tensor, cat


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters, in order, as a vector. Raises TypeError for parameters on several devices."""
    listed = list(parameters)
    _check_devices(listed)
    return cat([each.view(-1) for each in listed])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters share the memory of successive parts of a vector."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    listed = list(parameters)
    _check_devices(listed)
    start = 0
    for parameter in listed:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end


def _check_devices(parameters: list[Tensor]) -> None:
    if len({each.device for each in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
