"""What programs say to the compiler.

Source: torch/_dynamo/decorators.py
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch._dynamo.calling import Calling, special
from minitorch._dynamo.compiling import compiled
from minitorch._dynamo.exc import Break
from minitorch._dynamo.values import Known, Value
from minitorch.tensor import Tensor


def graph_break(msg: str = "") -> None:
    """Ends the graph here: the rest of the function is captured as another one."""


@special(graph_break)
def _graph_break(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise Break("Call to `torch._dynamo.graph_break()`\n  Explanation: User-inserted graph break.")


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function: what it returns is found out in each call."""
    return fn


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """Says that a function is never captured. Also a decorator."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)

    @functools.wraps(fn)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    disabled._torchdynamo_disable = True  # type: ignore[attr-defined]
    return disabled


def mark_dynamic(t: Tensor, index: int | list[int] | tuple[int, ...]) -> None:
    """Says that a tensor's size in a dimension changes from call to call: it is a symbol from the first graph on."""
    marked: set[int] = getattr(t, "_dynamo_dynamic_indices", set())
    _mark(t, marked | ({index} if isinstance(index, int) else {*index}))


def _mark(t: Any, dims: set[int]) -> None:
    t._dynamo_dynamic_indices = dims


def mark_static(t: Tensor, index: Any = None) -> None:
    """Says that a tensor's sizes don't change: they are constants of each graph."""
    _mark(t, set())


def mark_static_address(t: Tensor, guard: bool = False) -> None:
    """Says that a tensor stays where it is in memory. CUDA graphs alone need to know, so nothing follows here.

    Raises:
        TypeError: `t` is not a tensor.
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")


def reset() -> None:
    """Forgets all graphs, and which sizes have changed."""
    for each in compiled:
        each.forget()


def is_compiling() -> bool:
    """Whether this runs in a capture: False, and in captured code True."""
    return False


@special(is_compiling)
def _is_compiling(capture: Calling, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Known(True)


def allow_in_graph(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function: functions of tensors that capture can't read run eagerly."""
    return fn
