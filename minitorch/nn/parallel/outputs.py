"""What DistributedDataParallel does with a module's outputs."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from minitorch.autograd.engine import queue_callback
from minitorch.autograd.function import Function
from minitorch.tensor import Tensor
from minitorch.utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from minitorch.nn.parallel.distributed import DistributedDataParallel


class _DDPSink(Function):
    """Nothing but a node between the module and the loss: outputs that the loss doesn't use still send their None on.

    In the first pass of a graph that doesn't change it has all gradients reduced at the end.
    """

    @staticmethod
    def forward(ctx: Any, ddp: weakref.ref[DistributedDataParallel], *outputs: Any) -> Any:
        ctx.set_materialize_grads(False)
        ctx.ddp = ddp
        return tuple(each.clone() if isinstance(each, Tensor) else each for each in outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ddp = ctx.ddp()
        if ddp.static_graph and not ddp._delay_enqueued:
            queue_callback(ddp.reducer.delay_all_reduce)
            ddp._delay_enqueued = True
        return (None, *grads)


def through_sink(ddp: DistributedDataParallel, output: Any) -> Any:
    """The output, with the sink behind those of its tensors that have a history."""
    leaves, shape = tree_flatten(output)
    passed = _DDPSink.apply(weakref.ref(ddp), *leaves)
    pairs = zip(leaves, passed, strict=True)
    chosen = [old if isinstance(old, Tensor) and old.grad_fn is None else new for old, new in pairs]
    return tree_unflatten(chosen, shape)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in lists, tuples, dictionaries and data classes."""
    if isinstance(value, Tensor):
        yield value
    elif dataclasses.is_dataclass(value):
        yield from tensors_in([getattr(value, field.name) for field in dataclasses.fields(value)])
    elif isinstance(value, (list, tuple, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(each)
