"""Functions of the user that run during the backward pass.

Source: https://pytorch.org/docs/stable/notes/autograd.html#backward-hooks-execution
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from minitorch.autograd.ownership import show

if TYPE_CHECKING:
    from minitorch.autograd.node import Node
    from minitorch.tensor import Tensor

Hooks = dict[int, Callable[..., Any]]

_numbers = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away again, also at the end of a `with` block."""

    __module__ = "minitorch.utils.hooks"  # where programs and pickles look for it

    def __init__(self, hooks: Hooks, hook: Callable[..., Any], marks: Sequence[dict[int, bool]] = ()) -> None:
        """Puts the hook under a new number into `hooks`, and that number into `marks`."""
        self.id = next(_numbers)
        self._hooks = hooks
        self._marks = marks
        hooks[self.id] = hook
        for numbers in marks:
            numbers[self.id] = True

    def remove(self) -> None:
        self._hooks.pop(self.id, None)
        for numbers in self._marks:
            numbers.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self._hooks, self.id, tuple(self._marks)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._hooks, self.id = {} if state[0] is None else state[0], state[1]
        self._marks = () if len(state) < 3 or state[2] is None else state[2]

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class NodeHooks:
    """The hooks of one node: on the tensors it made (by output number), before it, and after it."""

    __slots__ = ("after", "before", "of_outputs", "retained")

    def __init__(self) -> None:
        self.of_outputs: dict[int, Hooks] = {}
        self.retained: dict[int, weakref.ref[Tensor]] = {}
        self.before: Hooks = {}
        self.after: Hooks = {}

    @staticmethod
    def of(node: Node) -> NodeHooks:
        if node.hooks is None:
            node.hooks = NodeHooks()
        return node.hooks


def register_tensor_hook(tensor: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Has `hook(grad)` called with the gradient of `tensor`; what it returns, unless None, replaces the gradient."""
    if not tensor.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = tensor.grad_fn
    if node is None:  # a leaf's node lives only as long as a graph does
        if tensor._hooks is None:
            tensor._hooks = {}
        return RemovableHandle(tensor._hooks, hook)
    return RemovableHandle(NodeHooks.of(node).of_outputs.setdefault(tensor._output_nr, {}), hook)


def retain_grad(tensor: Tensor) -> None:
    """Has the gradient of a non-leaf kept in its `.grad`, as it is after all other hooks."""
    assert tensor.grad_fn is not None
    NodeHooks.of(tensor.grad_fn).retained[tensor._output_nr] = weakref.ref(tensor)


def run_tensor_hooks(hooks: NodeHooks, grads: list[Tensor | None]) -> None:
    """Passes the gradients that arrived at a node through the hooks of the tensors that they belong to."""
    for number, registered in hooks.of_outputs.items():
        run_hooks(registered, grads, number)
    for number, reference in hooks.retained.items():
        tensor, grad = reference(), grads[number]
        if tensor is not None and grad is not None:
            tensor._grad = grad.clone() if tensor._grad is None else tensor._grad + grad


def run_hooks(registered: Hooks, grads: list[Tensor | None], number: int) -> None:
    """Replaces one gradient by what the hooks make of it, in the order in which they were registered."""
    for hook in list(registered.values()):
        grad = grads[number]
        if grad is not None:
            show((grad,))
            grads[number] = _checked(hook, hook(grad), grad)


def _checked(hook: Callable[..., Any], result: Any, grad: Tensor | None) -> Tensor | None:
    if result is None:
        return grad
    result = _tensor(result)
    if grad is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if result.dtype is not grad.dtype or result.device != grad.device:
        raise RuntimeError(
            f"hook '{_name(hook)}' has changed the type of value (was {grad.type()} got {result.type()})"
        )
    if result.shape != grad.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")
    return result


def _tensor(returned: Any) -> Tensor:
    if not hasattr(returned, "_grad_fn"):
        raise TypeError(f"expected Variable, but hook returned '{type(returned).__name__}'")
    return returned


def _name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__name__", "<unknown>")


def run_between(hooks: NodeHooks, node: Node, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
    """Runs a node between its own hooks: pre-hooks may replace the gradients that it gets, hooks those that it
    gives.
    """
    if hooks.before or hooks.after:
        show(grads)
    for hook in list(hooks.before.values()):
        grads = _replaced(hook, hook(tuple(grads)), grads)
    if not hooks.after:
        return node.apply(grads)
    results = [*node.apply(grads)]
    show(results)
    for hook in list(hooks.after.values()):
        results = _replaced(hook, hook(tuple(results), tuple(grads)), results)
    return results


def _replaced(hook: Callable[..., Any], replacement: Any, grads: list[Tensor | None]) -> list[Tensor | None]:
    """The gradients that a hook returned instead of the given ones."""
    if replacement is None:
        return grads
    if not isinstance(replacement, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(replacement).__name__}'")
    if len(replacement) != len(grads):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(replacement)}, but expected "
            f"{len(grads)})"
        )
    return [None if new is None else _checked(hook, new, old) for new, old in zip(replacement, grads, strict=True)]


def run_post_accumulate_hooks(variable: Tensor) -> None:
    """Runs the hooks that want the leaf itself, once its `.grad` is complete for this path."""
    for hook in list((variable._post_accumulate_hooks or {}).values()):
        returned = hook(variable)
        if returned is not None and _tensor(returned) is not variable:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
