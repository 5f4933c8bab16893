"""The graph that autograd records, for those who look at it or change what it keeps.

Source: https://pytorch.org/docs/stable/autograd.html#autograd-graph
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from minitorch.autograd import engine
from minitorch.autograd.hooks import RemovableHandle
from minitorch.autograd.node import Node, gradient_edge
from minitorch.autograd.saved import PUSHED, Pack, Unpack, default_hooks
from minitorch.tensor import Tensor

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


class GradientEdge(NamedTuple):
    """The edge along which the gradient of a tensor travels. `backward` and `grad` take it in the tensor's place."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The tensor's edge, which unlike the tensor keeps no memory alive. Raises RuntimeError if it requires no grad.

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.graph.get_gradient_edge.html
    """
    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Says that a tensor, or each of several, was written to in a way that the library can't see."""
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        each._bump_version()


class saved_tensors_hooks:
    """Inside, nodes keep `pack_hook(tensor)` of the tensors that they save, and get them back by `unpack_hook`.

    Of nested pairs the innermost counts. The result of `pack_hook` must not hold on to the tensor itself if that is the
    output of the op: node and tensor would keep each other alive.
    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.saved_tensors_hooks
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if default_hooks.disabled is not None:
            raise RuntimeError(default_hooks.disabled)
        default_hooks.pairs.append((self.pack_hook, self.unpack_hook))
        PUSHED.append(default_hooks)

    def __exit__(self, *error: object) -> None:
        default_hooks.pairs.pop()
        PUSHED.pop()


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors wait for the backward pass in the CPU's memory, with `pin_memory` always as copies.

    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.save_on_cpu
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.detach().to("cpu", copy=pin_memory)

        super().__init__(pack, lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, `saved_tensors_hooks` raises RuntimeError with this message.

    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.disable_saved_tensors_hooks
    """
    if default_hooks.pairs:
        raise RuntimeError(error_message)
    previous, default_hooks.disabled = default_hooks.disabled, error_message
    try:
        yield
    finally:
        default_hooks.disabled = previous


class _MultiHandle(RemovableHandle):
    """Removes the hooks that several tensors share."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Has `fn(grads)` called once the gradients of all the tensors are known: None for those that a pass leaves out.

    With the mode "any", `fn(grad)` is called with the first gradient that is known.
    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.register_multi_grad_hook
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    # What has arrived in each backward pass under way.
    arrived: weakref.WeakKeyDictionary[engine.Pass, dict[int, Tensor]] = weakref.WeakKeyDictionary()

    def receive(number: int, grad: Tensor) -> None:
        this = engine.current.of_thread
        assert this is not None, "expected this hook to be called inside a backward call"
        grads = arrived.setdefault(this, {})
        grads[number] = grad
        if mode == "any":
            if len(grads) == 1:
                fn(grad)
        elif len(grads) == sum(map(this.runs, nodes)):
            fn([grads.get(i) for i in range(len(tensors))])

    if mode == "any":
        tensors = [each for each in tensors if each.requires_grad]
    nodes = [get_gradient_edge(each).node for each in tensors]
    hooks = [functools.partial(receive, number) for number in range(len(tensors))]
    return _MultiHandle([each.register_hook(hook) for each, hook in zip(tensors, hooks, strict=True)])


_may_mutate = False


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Inside, tensors that were saved for the backward pass may be written to: the pass sees them as they were.

    The pass must run inside too. Each saved tensor is copied at once, where PyTorch waits until it is written to.
    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.allow_mutation_on_saved_tensors
    """
    global _may_mutate
    if _may_mutate:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")

    def unpack(copy: Tensor) -> Tensor:
        if not inside:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return copy

    inside = _may_mutate = True
    try:
        with saved_tensors_hooks(lambda tensor: tensor.detach().clone(), unpack):
            yield
    finally:
        inside = _may_mutate = False
