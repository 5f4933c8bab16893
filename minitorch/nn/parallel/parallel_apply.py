"""Several modules at once, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from minitorch import Tensor, is_grad_enabled, set_grad_enabled
from minitorch.devices import device as Device
from minitorch.nn.modules.module import Module
from minitorch.utils._pytree import tree_leaves


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """The results of each module on its own arguments and its own GPU, by default that of its first tensor.

    An exception of a module is raised again, with the number of the module and its device in front.
    """
    count = len(modules)
    if count != len(inputs):
        raise AssertionError(f"The number of modules {count} is not equal to the number of inputs {len(inputs)}")
    named = kwargs_tup or [{}] * count
    places = devices or [None] * count
    enabled = is_grad_enabled()
    results: list[Any] = [None] * count
    errors: dict[int, Exception] = {}

    def run(number: int) -> None:
        arguments = inputs[number] if isinstance(inputs[number], (list, tuple)) else (inputs[number],)
        tensor = next((each for each in tree_leaves(arguments) if isinstance(each, Tensor)), None)
        where = Device(places[number]) if places[number] is not None else tensor.device if tensor is not None else None
        try:
            with set_grad_enabled(enabled), (Device("cpu") if where is None else where).active():
                results[number] = modules[number](*arguments, **named[number])
        except Exception as error:  # raised again below
            error.args = (f"Caught {type(error).__name__} in replica {number} on device {where}.\n{error}",)
            errors[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(1, count)]
    for thread in threads:
        thread.start()
    if count:
        run(0)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return results
