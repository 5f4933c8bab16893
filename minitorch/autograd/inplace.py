"""What an in-place write does to the graph: it gives the tensor, and the tensor it is a view of, a new history.

Source: https://pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.node import Gradients, Node, gradient_edge

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def check_writable(target: Tensor) -> None:
    """Raises RuntimeError where PyTorch forbids to write in place: on leaves that require grad, and on their views."""
    if not grad_mode.enabled:
        return
    base = target._base
    if target._requires_grad and target._grad_fn is None and base is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if base is not None and base._requires_grad and base._grad_fn is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def rebase_history(target: Tensor, node: Node) -> None:
    """Makes `node`, recorded for an in-place op on `target`, the end of its history; for a view, of its base's too."""
    base = target._base
    target._requires_grad = True
    if base is None:
        target._grad_fn, target._output_nr = node, 0
        return
    copy_slices = CopySlices(base, target, node)
    base._grad_fn, base._output_nr, base._requires_grad = copy_slices, 0, True
    target._grad_fn = None
    target._view_version = -1


def refresh_view(view: Tensor) -> None:
    """Gives a view whose base was written to since a history that starts at the base as it is now."""
    base = view._base
    assert base is not None
    version = base._version
    if view._view_version == version or not base._requires_grad:
        return
    if view._view_version == -1 or base._grad_fn is not view._view_base_fn:
        view._grad_fn = AsStridedBackward0(view)
        view._output_nr = 0
        view._requires_grad = True
    view._view_version = version
    view._view_base_fn = base._grad_fn


class Geometry:
    """Where the elements of a view lie in the storage."""

    __slots__ = ("offset", "shape", "stride")

    def __init__(self, tensor: Tensor) -> None:
        self.shape: tuple[int, ...] = tuple(tensor.shape)
        self.stride = tensor.stride()
        self.offset = tensor.storage_offset()

    def of(self, tensor: Tensor) -> Tensor:
        view: Tensor = tensor.as_strided(self.shape, self.stride, self.offset)
        return view


class AsStridedBackward0(Node):
    """The history of a view that was written to, or whose base was: the base, seen through the view's geometry."""

    __slots__ = ("_base", "_view")

    def __init__(self, view: Tensor) -> None:
        base = view._base
        assert base is not None
        super().__init__((gradient_edge(base),), ((view._array.shape, view._dtype),))
        self._base, self._view = Geometry(base), Geometry(view)

    def apply(self, grads: Gradients) -> Gradients:
        grad = grads[0]
        if grad is None:
            return (None,)
        zeros = grad.new_empty_strided(self._base.shape, self._base.stride).zero_()
        return (
            zeros.as_strided_scatter(grad, self._view.shape, self._view.stride, self._view.offset - self._base.offset),
        )


class CopySlices(Node):
    """The history of a base of which a view was written to by `node`.

    Outside the view the gradient passes; inside it goes through `node`.
    """

    __slots__ = ("_base", "_view", "node")

    def __init__(self, base: Tensor, view: Tensor, node: Node) -> None:
        super().__init__((gradient_edge(base), *node.edges[1:]), ((base._array.shape, base._dtype),))
        self.node = node
        self._base, self._view = Geometry(base), Geometry(view)

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, grads: Gradients) -> Gradients:
        grad = grads[0]
        if grad is None:
            return [None] * len(self.edges)
        offset = self._view.offset - self._base.offset
        whole = grad.new_empty_strided(self._base.shape, self._base.stride).copy_(grad)
        inside = whole.as_strided(self._view.shape, self._view.stride, offset).clone()
        results = list(self.node.apply((inside,)))
        first = results[0] if results[0] is not None else inside.new_zeros(inside.shape)
        results[0] = whole.as_strided_scatter(first, self._view.shape, self._view.stride, offset)
        return results

    def release(self) -> None:
        self.node.release()
