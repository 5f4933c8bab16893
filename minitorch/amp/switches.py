"""Autocast's switches as functions. Each thread has its own switches.

Source: https://pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from minitorch.devices import device
from minitorch.dispatch.autocast import state
from minitorch.dtypes import dtype


def _check(function: str, argument: str, position: int, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        name = "torch.dtype" if kind is dtype else kind.__name__
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be {name}, not {type(value).__name__}"
        )


def _known(device_type: str, otherwise: str) -> str:
    """The type of a device such as "cpu:0". Raises RuntimeError, saying `otherwise`, for one without autocast."""
    kind = device(device_type).type
    if kind not in state.dtypes:
        raise RuntimeError(otherwise)
    return kind


_UNKNOWN = "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"
_UNSUPPORTED = "unsupported scalarType"


def is_autocast_available(device_type: str) -> bool:
    """Whether a device type has autocast."""
    _check("_is_autocast_available", "device_type", 1, device_type, str)
    return device(device_type).type in state.dtypes


def is_autocast_enabled(device_type: str = "cuda", /) -> bool:
    """Whether autocast is on for a device type."""
    _check("is_autocast_enabled", "device_type", 1, device_type, str)
    return _known(device_type, _UNKNOWN) in state.enabled


def set_autocast_enabled(device_type: Any, enabled: Any = None, /) -> None:
    """Switches autocast on or off for a device type; with one argument, for "cuda"."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
        _check("set_autocast_enabled", "enabled", 1, enabled, bool)
    else:
        _check("set_autocast_enabled", "device_type", 1, device_type, str)
        _check("set_autocast_enabled", "enabled", 2, enabled, bool)
    kind = _known(device_type, _UNKNOWN)
    state.enabled = state.enabled | {kind} if enabled else state.enabled - {kind}


def get_autocast_dtype(device_type: str, /) -> dtype:
    """The lower precision of a device type."""
    _check("get_autocast_dtype", "device_type", 1, device_type, str)
    return state.dtypes[_known(device_type, _UNSUPPORTED)]


def set_autocast_dtype(device_type: str, kind: dtype, /) -> None:
    """Sets the lower precision of a device type."""
    _check("set_autocast_dtype", "device_type", 1, device_type, str)
    _check("set_autocast_dtype", "dtype", 2, kind, dtype)
    state.dtypes[_known(device_type, _UNSUPPORTED)] = kind


def is_autocast_cache_enabled() -> bool:
    """Whether a weight is cast once for all ops of an autocast block."""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled: bool, /) -> None:
    """Has weights cast once for an autocast block, or for each op."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    state.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forgets the weights that were cast."""
    state.cache.clear()


def autocast_increment_nesting() -> int:
    """Notes that an autocast block is entered. Returns how many there are."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Notes that an autocast block is left. Returns how many remain."""
    state.nesting -= 1
    return state.nesting


def _old(function: Callable[..., Any], device_type: str, argument: str = "") -> Any:
    """The old form of a switch, which is for one type of device and warns."""
    name = function.__name__.replace("autocast", f"autocast_{'gpu' if device_type == 'cuda' else device_type}")
    instead = f"{function.__name__}('{device_type}'{', ' * bool(argument)}{argument})"

    def old(*values: Any) -> Any:
        message = f"torch.{name}({argument}) is deprecated. Please use torch.{instead} instead."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return function(device_type, *values)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"The old form of `{instead}`."
    return old


is_autocast_cpu_enabled = _old(is_autocast_enabled, "cpu")
set_autocast_cpu_enabled = _old(set_autocast_enabled, "cpu", "enabled")
get_autocast_cpu_dtype = _old(get_autocast_dtype, "cpu")
set_autocast_cpu_dtype = _old(set_autocast_dtype, "cpu", "dtype")
get_autocast_gpu_dtype = _old(get_autocast_dtype, "cuda")
set_autocast_gpu_dtype = _old(set_autocast_dtype, "cuda", "dtype")
