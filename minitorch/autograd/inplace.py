"""What an in-place write does to the graph: it gives the tensor, and the tensor it is a view of, a new history.

Source: https://pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

from minitorch.autograd.differentiable import UNTRACKED
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.node import Edge, Gradients, Node, gradient_edge
from minitorch.autograd.ownership import hand_on
from minitorch.autograd.saved import FREED
from minitorch.autograd.views import Place, forbidden, refresh_view, set_history
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


def rebase_history(target: Tensor, node: Node) -> None:
    """Makes `node`, recorded for an in-place op on `target`, the end of its history; for a view, of its base's too."""
    base = target._base
    if base is None:
        set_history(target, node)
        return
    set_history(base, CopySlices(base, target, node))
    refresh_view(target)
    if target._grad_fn is not None:
        node.written_view = ref(target._grad_fn)


class NotImplementedNode(Node):
    """What is recorded of an op without a derivative: the pass that brings it a gradient raises RuntimeError."""

    __slots__ = ("op",)

    def __init__(self, op: str, edges: Sequence[Edge | None], result: Tensor) -> None:
        super().__init__(tuple(edges), ((result._array.shape, result._dtype, result._device),))
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
        super().__init__((gradient_edge(base), *node.edges[1:]), ((base._array.shape, base._dtype, base._device),))
        self.node: Node | None = node
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
        hand_on(grads, results[:1])
        return results

    def release(self) -> None:
        if self.node is not None:
            self.node.release()
            self.node = None
