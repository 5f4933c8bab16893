"""Hooks: functions that see gradients on their way."""

# 07b · Vector–Jacobian products
from __future__ import annotations

from ..dispatch import Function, method
from ..tensor import Tensor, extend
from .engine import AFTER_RUN, ON_ARRIVAL
from .node import AccumulateGrad, Node


class RemovableHandle:
    """The handle of a registered hook, which is its own key in the dict of hooks; `remove()` deletes the entry."""

    def __init__(self, hooks: dict[RemovableHandle, Function], hook: Function) -> None:
        self.hooks = hooks
        hooks[self] = hook

    def remove(self) -> None:
        """Remove the hook. A second call does nothing."""
        self.hooks.pop(self, None)


@method
def register_hook(x: Tensor, hook: Function) -> RemovableHandle:
    """Call `hook(grad)` when the gradient of a tensor is complete. Unless it returns None, its result replaces it."""
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return RemovableHandle(hooks_of(x), hook)


def hooks_of(x: Tensor) -> dict[RemovableHandle, Function]:
    """Return the dict of a tensor's hooks, which a leaf stores itself, while for a result its node stores it."""
    if x.grad_fn is not None:
        hooks: dict[RemovableHandle, Function] = x.grad_fn.result_hooks.setdefault(x.output_nr, {})
        return hooks
    if x.hooks is None:
        x.hooks = {}
    return x.hooks


@method
def register_post_accumulate_grad_hook(x: Tensor, hook: Function) -> RemovableHandle:
    """Call `hook(leaf)` each time a backward pass has updated the leaf's `.grad`."""
    if not x.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if x.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if x.post_hooks is None:
        x.post_hooks = {}
    return RemovableHandle(x.post_hooks, hook)


def register_node_hook(node: Node, hook: Function) -> RemovableHandle:
    """Call `hook(grad_inputs, grad_outputs)` when a node has run. A tuple that it returns replaces `grad_inputs`."""
    return RemovableHandle(node.__dict__.setdefault("hooks", {}), hook)


def on_arrival(node: Node, grads: list[Tensor | None]) -> None:
    """Call the hooks of a node's outputs with their gradients, before the node runs."""
    hooked = {0: node.leaf.hooks or {}} if isinstance(node, AccumulateGrad) else node.result_hooks
    for number, hooks in hooked.items():
        for hook in list(hooks.values()):
            grad = grads[number]
            if grad is not None:
                changed = hook(grad)
                grads[number] = grad if changed is None else checked(changed, grad, hook)


def checked(changed: object, grad: Tensor, hook: Function) -> Tensor:
    """Return what a hook returned in place of a gradient, after checking it."""
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed.shape != grad.shape:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return changed


def after_run(node: Node, results: list[Tensor | None], grads: list[Tensor | None]) -> None:
    """Call the hooks of a node after it has run, and those of a leaf whose `.grad` has just been updated."""
    if isinstance(node, AccumulateGrad):
        for hook in list((node.leaf.post_hooks or {}).values()):
            hook(node.leaf)
    for hook in list(node.__dict__.get("hooks", {}).values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results[:] = changed


ON_ARRIVAL.insert(0, on_arrival)  # before a result keeps its gradient
AFTER_RUN.append(after_run)

extend(Tensor, hooks=None, post_hooks=None)
extend(
    Node,
    register_hook=register_node_hook,
    result_hooks=property(lambda node: node.__dict__.setdefault("hooks_of_results", {})),
)
