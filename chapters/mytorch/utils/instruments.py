"""Instruments: layers below all others that count what runs. While none is on, their place in the stack is empty."""

# 08 · Static and dynamic graphs
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any

from ..dispatch import LAYERS, Function, Operation, fill, tensors_in
from ..tensor import Tensor

LAYERS["measure"] = None  # the last place: each kernel that runs comes by


@contextmanager
def instrument(cost: Function) -> Iterator[Counter[str]]:
    """Inside, `cost(op, args, result, seconds)` of each call is added up, by the operation's name."""
    found: Counter[str] = Counter()
    outer = LAYERS["measure"]

    def measure(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
        began = perf_counter()
        result = below(op, args) if outer is None else outer(op, args, below)
        found[op.name] += cost(op, args, result, perf_counter() - began)
        return result

    fill("measure", measure)
    try:
        yield found
    finally:
        fill("measure", outer)


def moved(op: Operation, args: tuple[Any, ...], result: Tensor, seconds: float = 0) -> int:
    """The bytes that a kernel reads and writes. Making a view moves none."""
    tensors = [*tensors_in(args[op.writes :]), result]
    return sum(each.nbytes for each in tensors) if op.writes or result.base is None else 0


count_bytes = partial(instrument, moved)


# 22b · Where the memory goes
def flops(op: Operation, args: tuple[Any, ...], result: Tensor, seconds: float) -> int:
    """Counts the FLOPs of a matmul, two for each pair of elements that are multiplied; other operations count as 0."""
    return 2 * result.numel() * args[0].shape[-1] if op.name == "matmul" else 0


count_flops = partial(instrument, flops)
clock = partial(instrument, lambda op, args, result, seconds: seconds)
