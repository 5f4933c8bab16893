"""A module on each of several ranks, whose gradients are averaged while the backward pass runs."""

# 23 · Several GPUs
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ... import cat, distributed, no_grad
from ..module import Module
from ..parameter import Parameter


def in_buckets(parameters: Sequence[Parameter], capacity: int) -> list[list[Parameter]]:
    """The parameters from the last to the first, in buckets: one that has `capacity` bytes or more is closed."""
    buckets: list[list[Parameter]] = [[]]
    for each in reversed(parameters):
        if sum(other.nbytes for other in buckets[-1]) >= capacity:
            buckets.append([])
        buckets[-1].append(each)
    return buckets


class DistributedDataParallel(Module):
    """A module that is the same on all ranks: parameters come from rank 0, gradients become the mean over the ranks."""

    def __init__(self, module: Module, bucket_cap_mb: float = 25) -> None:
        super().__init__()
        self.module, self.require_backward_grad_sync, self.averages = module, True, True
        for each in (*module.parameters(), *module.buffers()):
            distributed.broadcast(each, 0)
        learned = [each for each in module.parameters() if each.requires_grad]
        self.buckets = in_buckets(learned, int(bucket_cap_mb * 2**20))
        self.arrived: set[Parameter] = set()
        self.reduced = 0
        for each in learned:
            each.register_post_accumulate_grad_hook(self.on_gradient)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result, once the gradients of the pass before are those of all ranks.

        This is where `no_sync` counts, wherever the backward pass runs.
        """
        if self.arrived:
            raise RuntimeError("Expected to have finished reduction in the prior iteration before starting a new one.")
        self.averages = self.require_backward_grad_sync
        for each in self.module.buffers() if self.averages else ():
            distributed.broadcast(each, 0)
        return self.module(*args, **kwargs)

    def on_gradient(self, parameter: Any) -> None:
        """A parameter's gradient is complete: average all buckets that are, in their order."""
        if not self.averages:
            return
        self.arrived.add(parameter)
        while self.reduced < len(self.buckets) and self.arrived.issuperset(self.buckets[self.reduced]):
            average_gradients(self.buckets[self.reduced])
            self.reduced += 1
        if self.reduced == len(self.buckets):
            self.arrived, self.reduced = set(), 0

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients of forward passes in this block only add up; the first pass after it averages all of them."""
        outer, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = outer


def average_gradients(parameters: Sequence[Parameter]) -> None:
    """Make the gradients of these parameters the mean over the ranks: all of them are sent as one vector."""
    with no_grad():
        vector = cat([each.grad.reshape(-1) for each in parameters]) / distributed.get_world_size()
        distributed.all_reduce(vector)
        for each, part in zip(parameters, vector.split([each.numel() for each in parameters]), strict=True):
            each.grad.copy_(part.view(each.shape))
