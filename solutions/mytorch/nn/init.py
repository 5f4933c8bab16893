"""First values of parameters. Each function overwrites its tensor without being recorded, and returns it."""

# 09 · Modules and parameters
from __future__ import annotations

import math
from collections.abc import Iterable

from .. import Tensor, full, no_grad, rand_like


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Random numbers in [a, b), equally likely: a + (b - a) u, rounded once."""
    low, high = (full((), bound, dtype=tensor.dtype, device=tensor.device) for bound in (a, b))
    return tensor.copy_(rand_like(tensor).double() * (high - low).double() + low.double())


def draw(parameters: Iterable[Tensor], inputs: int) -> None:
    """Overwrite the parameters with values drawn uniformly from ±1 / √inputs; without inputs they become 0."""
    bound = 1 / math.sqrt(inputs) if inputs > 0 else 0.0
    for parameter in parameters:
        uniform_(parameter, -bound, bound)


# 10 · Activations and initialization
from functools import partial

from ..random import randn_like


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal numbers."""
    return tensor.copy_(randn_like(tensor) * std + mean)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """The same number everywhere."""
    return tensor.fill_(val)


zeros_, ones_ = partial(constant_, val=0.0), partial(constant_, val=1.0)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor for weights that keeps the root mean square of values the same through this nonlinearity."""
    if nonlinearity in ("linear", "conv1d", "conv2d", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight (out, in, ...): the inputs of an output, and the outputs of an input."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def xavier_std(tensor: Tensor, gain: float) -> float:
    """gain · √(2 / (fan_in + fan_out))."""
    return gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor)))


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal numbers with mean 0 and the standard deviation `xavier_std(tensor, gain)`."""
    return normal_(tensor, 0.0, xavier_std(tensor, gain))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform numbers in [-bound, bound) whose standard deviation is `xavier_std(tensor, gain)`."""
    bound = math.sqrt(3) * xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound)


def kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """gain / √fan: the gain of the nonlinearity, whose parameter is `a`, and the fan that `mode` names."""
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan_in if mode == "fan_in" else fan_out)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Normal numbers with mean 0 and the standard deviation `kaiming_std`."""
    return normal_(tensor, 0.0, kaiming_std(tensor, a, mode, nonlinearity))


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Uniform numbers in [-bound, bound) whose standard deviation is `kaiming_std`."""
    bound = math.sqrt(3) * kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)
