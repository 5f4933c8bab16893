"""What an in-place write does to the graph: it gives the tensor, and the tensor it is a view of, a new history.

Source: https://pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.autograd.differentiable import UNTRACKED
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.hooks import NodeHooks
from minitorch.autograd.node import Edge, Gradients, Node, gradient_edge
from minitorch.autograd.saved import FREED, forward_name
from minitorch.tensor import Tensor


def check_writable(target: Tensor, args: Sequence[Any] = ()) -> None:
    """Raises RuntimeError where PyTorch forbids to write in place.

    That is on leaves that require grad, and on their views; on inference tensors outside inference mode; and, if a
    gradient would be recorded for the target or one of the op's other `args`, on views whose `_view_made` says so.
    """
    if target._counter is UNTRACKED and not grad_mode.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )
    if not grad_mode.enabled:
        return
    base = target._base
    if target._requires_grad and base is None and target._grad_fn is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if base is None:
        return
    if target._view_made is not None and (
        target.requires_grad or any(isinstance(each, Tensor) and each.requires_grad for each in args)
    ):
        raise forbidden(target, target._view_made, "is being")
    if base._grad_fn is None and target.requires_grad:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


INFERENCE, NO_GRAD, MULTIPLE = "in inference mode", "in no_grad mode", "by a function of several views"
CUSTOM = "inside a custom Function"
"""How a view was made, where that forbids writing to it later."""


def forbidden(view: Tensor, made: str, written: str) -> RuntimeError:
    """The error for a view that was made without a gradient, or beside others, and is written to."""
    node = view._grad_fn
    origin = "A view" if node is None else f"Output {view._output_nr} of {forward_name(node)} is a view"
    if made in (MULTIPLE, CUSTOM) and node is not None:
        message = f"{origin} and {written} modified inplace."
    else:
        mode, since = (made, "in normal mode") if made == INFERENCE else (NO_GRAD, "with grad mode enabled")
        relation = "was created" if node is None else "of a view which was created"
        message = f"{origin} {relation} {mode} and {written} modified inplace {since}."
    if made == MULTIPLE:
        return RuntimeError(
            f"{message} This view is the output of a function that returns multiple views. Such functions do not allow "
            "the output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    if made == CUSTOM:
        return RuntimeError(
            f"{message} This view was created inside a custom Function (or because an input was returned as-is) and "
            "the autograd logic to handle view+inplace would override the custom backward associated with the custom "
            "Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
            "output of the custom Function."
        )
    block = "inference_mode" if made == INFERENCE else "no_grad"
    return RuntimeError(
        f"{message} Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code "
        f"by moving both the view and the inplace either both inside the {block} block (if you don't want the inplace "
        "to be tracked) or both outside (if you want the inplace to be tracked)."
    )


def rebase_history(target: Tensor, node: Node) -> None:
    """Makes `node`, recorded for an in-place op on `target`, the end of its history; for a view, of its base's too."""
    base = target._base
    if base is None:
        _set_history(target, node)
        return
    _set_history(base, CopySlices(base, target, node))
    refresh_view(target)


def _set_history(tensor: Tensor, node: Node) -> None:
    """Makes `node` the history of a tensor. Where its gradient is retained, it is from now on that of the new value."""
    before = tensor._grad_fn
    if tensor._retains_grad and before is not None and before.hooks is not None:
        retained = before.hooks.retained.pop(tensor._output_nr)
        NodeHooks.of(node).retained[0] = retained
    tensor._grad_fn, tensor._output_nr, tensor._requires_grad = node, 0, True


def refresh_view(view: Tensor) -> None:
    """Gives a view whose base was written to since a history that starts at the base as it is now."""
    base = view._base
    assert base is not None
    if view._grad_fn is None and not base._requires_grad:
        return
    if view._view_made is not None:
        raise forbidden(view, view._view_made, "its base or another view of its base has been")
    from minitorch.autograd.place import seen_again

    if base._requires_grad:
        node = seen_again(base, view)._grad_fn
    else:  # the view has a history: it keeps one, which leads nowhere
        node = seen_again(base._alias().requires_grad_(), view)._grad_fn
        _cut_off(node)
    assert node is not None
    _set_history(view, node)
    view._view_version = base._version


def _cut_off(node: Node | None) -> None:
    """Takes the leaf away at which a chain of nodes ends."""
    while node is not None:
        edge = node.edges[0]
        if edge is None or not edge[0].edges:
            node.edges = (None,)
            return
        node = edge[0]


class NotImplementedNode(Node):
    """What is recorded of an op without a derivative: the pass that brings it a gradient raises RuntimeError."""

    __slots__ = ("op",)

    def __init__(self, op: str, edges: Sequence[Edge | None], result: Tensor) -> None:
        super().__init__(tuple(edges), ((result._array.shape, result._dtype),))
        self.op = op

    def name(self) -> str:
        return "torch::autograd::NotImplemented"

    def apply(self, grads: Gradients) -> Gradients:
        raise RuntimeError(f"derivative for {self.op} is not implemented")


NotImplementedNode.__name__ = "NotImplemented"


class CopySlices(Node):
    """The history of a base of which a view was written to by `node`.

    Outside the view the gradient passes; inside it goes through `node`.
    """

    __slots__ = ("_place", "node")

    def __init__(self, base: Tensor, view: Tensor, node: Node) -> None:
        super().__init__((gradient_edge(base), *node.edges[1:]), ((base._array.shape, base._dtype),))
        self.node: Node | None = node
        from minitorch.autograd.place import Place

        self._place = Place(base, view)

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, grads: Gradients) -> Gradients:
        grad = grads[0]
        if self.node is None:
            raise RuntimeError(FREED)
        if grad is None:
            return [None] * len(self.edges)
        whole = self._place.copy_of_base(grad)
        inside = self._place.look(whole).clone()
        results = list(self.node.apply((inside,)))
        first = results[0] if results[0] is not None else inside.new_zeros(inside.shape)
        results[0] = self._place.replaced(whole, first)
        return results

    def release(self) -> None:
        if self.node is not None:
            self.node.release()
            self.node = None
