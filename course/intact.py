"""Call an answer and refuse it if one of its arguments has changed: an in-place step on the caller's own tensor.

A check that shows only what a function returns overlooks such a step, because the result can be correct all the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class ChangedError(Exception):
    """An answer changed one of its arguments, or whether gradients are recorded."""


def intact(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What `call(*arguments, **named)` returns, for a function that must not change what it is given.

    The elements of tensors and arrays are compared, also inside lists and dicts, as are the parameters and the mode of
    modules, and whether gradients are recorded.

    Raises:
        ChangedError: one of them differs after the call.
    """
    given = {f"argument {place}": each for place, each in enumerate(arguments, 1)}
    given |= {f"argument {name!r}": each for name, each in named.items()}
    before, records = {name: _state(each) for name, each in given.items()}, _records()
    result = call(*arguments, **named)
    called = getattr(call, "__name__", "")
    what = f"`{called}`" if called.isidentifier() else "the call"
    for name, each in given.items():
        if _state(each) != before[name]:
            raise ChangedError(f"{what} changes {name}, which belongs to the caller: compute with a copy")
    if _records() != records:
        raise ChangedError("the call leaves the recording of gradients switched on or off: restore what it was before")
    return result


def _records() -> bool:
    """Whether minitorch records gradients; True where there is none."""
    return bool(getattr(sys.modules.get("minitorch"), "is_grad_enabled", lambda: True)())


def _state(value: Any) -> Any:
    """What can be compared with the state at another time: texts, since NaN is not equal to itself."""
    if isinstance(value, list | tuple):
        return [_state(each) for each in value]
    if isinstance(value, dict):
        return [(repr(key), _state(each)) for key, each in value.items()]
    if hasattr(value, "parameters") and hasattr(value, "modules"):
        return [_state([*value.parameters()]), [each.training for each in value.modules()]]
    if hasattr(value, "tolist"):
        return repr((value.shape, value.dtype, value.tolist()))
    return repr(value) if isinstance(value, int | float | complex | str | bytes | set | None) else None
