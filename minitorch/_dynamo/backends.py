"""What makes a function of a captured graph: by name, or the user's own function.

Source: https://docs.pytorch.org/docs/stable/torch.compiler_custom_backends.html
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from minitorch._dynamo.exc import TorchDynamoException

Backend = Callable[[Any, list[Any]], Callable[..., Any]]


class InvalidBackend(TorchDynamoException):
    """There is no backend of this name."""


def eager(gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
    """Runs the graph's operations one by one, with dispatch and autograd."""
    return gm.forward


def inductor(gm: Any, example_inputs: list[Any], at_once: bool = False) -> Callable[..., Any]:
    """Runs generated code over arrays where the graph allows that, and else its operations one by one."""
    backend: Callable[..., Callable[..., Any]] = importlib.import_module("minitorch._inductor.lowering").inductor
    return backend(gm, example_inputs, at_once)


BACKENDS: dict[str, Backend] = {"eager": eager, "aot_eager": eager, "inductor": inductor}


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of the backends that `compile` takes."""
    return sorted(name for name in BACKENDS if name == "inductor" or not exclude_tags)


def found(backend: str | Backend, mode: str | None = None) -> Backend:
    """A backend by name, or the function itself. Raises InvalidBackend for a name that there isn't.

    The modes that begin with "max-autotune" have "inductor" compile its loops before the first call.
    """
    if not isinstance(backend, str):
        return backend
    if backend == "inductor" and mode is not None and mode.startswith("max-autotune"):
        return functools.partial(inductor, at_once=True)
    if backend not in BACKENDS:
        raise InvalidBackend(
            f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends."
        )
    return BACKENDS[backend]
