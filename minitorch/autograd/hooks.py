"""Functions of the user that run during the backward pass.

Source: https://pytorch.org/docs/stable/notes/autograd.html#backward-hooks-execution
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitorch.autograd.node import Node
    from minitorch.tensor import Tensor

Hooks = dict[int, Callable[..., Any]]

_numbers = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away again, also at the end of a `with` block."""

    def __init__(self, hooks: Hooks, hook: Callable[..., Any]) -> None:
        self.id = next(_numbers)
        self._hooks = hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def register_tensor_hook(tensor: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Has `hook(grad)` called with the gradient of `tensor`; what it returns, unless None, replaces the gradient."""
    from minitorch.autograd.node import gradient_edge

    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node, number = edge
    if tensor.is_leaf:
        tensor.__dict__.setdefault("_hooks", {})
        return RemovableHandle(tensor._hooks, hook)
    by_output = node.__dict__.setdefault("_tensor_hooks", {})
    return RemovableHandle(by_output.setdefault(number, {}), hook)


def retain_grad(tensor: Tensor) -> None:
    """Has the gradient of a non-leaf kept in its `.grad`, as it is after all other hooks."""
    edge = tensor.grad_fn
    assert edge is not None
    edge.__dict__.setdefault("_retained", {})[tensor._output_nr] = tensor


def run_tensor_hooks(node: Node, grads: list[Tensor | None]) -> list[Tensor | None]:
    """The gradients that arrived at a node, after the hooks of the tensors that they belong to."""
    variable = getattr(node, "variable", None)
    if variable is not None:
        hooks = {0: variable._hooks} if variable._hooks else None
    else:
        hooks = node.__dict__.get("_tensor_hooks")
    if hooks:
        for number, registered in hooks.items():
            for hook in list(registered.values()):
                grad = grads[number]
                if grad is not None:
                    grads[number] = _checked(hook, hook(grad), grad)
    retained = node.__dict__.get("_retained")
    if retained:
        for number, tensor in retained.items():
            grad = grads[number]
            if grad is not None:
                tensor._grad = grad.clone() if tensor._grad is None else tensor._grad + grad
    return grads


def _checked(hook: Callable[..., Any], result: Any, grad: Tensor) -> Tensor:
    if result is None:
        return grad
    if not isinstance(result, type(grad)):
        raise TypeError(f"expected Tensor, but hook returned '{type(result).__name__}'")
    if result.shape != grad.shape:
        raise RuntimeError(f"hook '{hook.__name__}' has changed the size of value")
    return result


def run_node(node: Node, grads: list[Tensor | None]) -> Any:
    """Runs a node between its own hooks: pre-hooks may replace the gradients that it gets, hooks those that it gives."""
    for hook in list(node.__dict__.get("_prehooks", {}).values()):
        replaced = hook(tuple(grads))
        grads = grads if replaced is None else list(replaced)
    results = node.apply(grads)
    for hook in list(node.__dict__.get("_posthooks", {}).values()):
        replaced = hook(tuple(results), tuple(grads))
        results = results if replaced is None else replaced
    return results


def run_post_accumulate_hooks(variable: Tensor) -> None:
    """Runs the hooks that want the leaf itself, once its `.grad` is complete for this path."""
    for hook in list((variable._post_accumulate_hooks or {}).values()):
        hook(variable)
