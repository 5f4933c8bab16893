"""Several modules at once, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from minitorch import Tensor, is_grad_enabled, set_grad_enabled
from minitorch._utils import ExceptionWrapper
from minitorch.amp import autocast
from minitorch.amp.switches import get_autocast_dtype, is_autocast_enabled
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

    They run as the caller's thread would: with its gradients recorded or not, and in its mixed precision. An exception
    of a module is raised again, with the number of the module and its device in front, and its trace.
    """
    count = len(modules)
    if count != len(inputs):
        raise AssertionError(f"The number of modules {count} is not equal to the number of inputs {len(inputs)}")
    named = kwargs_tup or [{}] * count
    places = devices or [None] * count
    enabled = is_grad_enabled()
    results: list[Any] = [None] * count
    lower, lowers = get_autocast_dtype("cuda"), is_autocast_enabled("cuda")
    errors: dict[int, ExceptionWrapper] = {}

    def run(number: int) -> None:
        arguments = inputs[number] if isinstance(inputs[number], (list, tuple)) else (inputs[number],)
        tensor = next((each for each in tree_leaves(arguments) if isinstance(each, Tensor)), None)
        where = Device(places[number]) if places[number] is not None else tensor.device if tensor is not None else None
        try:
            with (
                set_grad_enabled(enabled),
                (Device("cpu") if where is None else where).active(),
                autocast("cuda", lower, lowers),
            ):
                results[number] = modules[number](*arguments, **named[number])
        except Exception as error:  # raised again below
            index = -1 if where is None or where.index is None else where.index
            errors[number] = ExceptionWrapper(error, f"in replica {number} on device {index}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(1, count)]
    for thread in threads:
        thread.start()
    if count:
        run(0)
    for thread in threads:
        thread.join()
    if errors:
        errors[min(errors)].reraise()
    return results
