"""Writes and the graph: kept values notice them, and a write is recorded like any other operation."""

# 07 · Backward in depth
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..creation import clone, zeros
from ..dispatch import OPERATIONS, Function, Operation
from ..settings import TYPE_NAMES
from ..tensor import Storage, Tensor
from ..views import as_strided, copy_
from .node import Node, attach, detach, edge_of
from .recording import Kept, OperationNode, Rules, node_name


class SavedTensor(Kept):
    """A kept tensor that knows the version its storage had.

    If that has changed, the numbers are no longer those of the forward pass, and a gradient made from them
    would be wrong.
    """

    def __init__(self, x: Tensor, is_result: bool) -> None:
        super().__init__(x, is_result)
        self.number = x.output_nr
        self.version = x.storage.version

    def give_back(self, node: Node) -> Tensor:
        """What `super().give_back(node)` gives, if nobody has written to the tensor since.

        `node` is the node that keeps it; `self.tensor` is the tensor, and `self.version` is what
        its `storage.version` was.

        Raises:
            RuntimeError: the version has changed. The message is `modified(self, node)`.
        """
        if self.tensor.storage.version != self.version:
            raise RuntimeError(modified(self, node))
        return super().give_back(node)


def modified(saved: SavedTensor, node: Node) -> str:
    """What PyTorch says of a saved tensor that was written to: its type and shape, who made it, and both versions."""
    x = saved.tensor
    maker = node if saved.is_result else x.grad_fn
    made_by = "" if maker is None else f", which is output {saved.number} of {operation_of(maker)},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{TYPE_NAMES[x.dtype.name]}Tensor {list(x.shape)}]{made_by} is at version {x.storage.version}; "
        f"expected version {saved.version} instead. Hint: enable anomaly detection to find the operation that failed "
        "to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def operation_of(node: Node) -> str:
    """What a node differentiates: "Mul" for `MulBackward0`."""
    stem, backward, overload = node.name().rpartition("Backward")
    return stem + overload.removeprefix("0") if backward else overload


def record_write(op: Operation, args: tuple[Any, ...], below: Function) -> Tensor:
    """Copy a source into a tensor by `below(op, args)`, record that, and return the tensor.

    It is called only while recording is on, and if the tensor or the source requires a gradient.
    `args` are these two. What changes are the numbers of the base: `x.base`, or the tensor itself if
    that is None. So the base gets a new history, a `CopySlices(base, x, source)`, from which one edge
    leads to the old history and one to the source's. A write that `is_arithmetic(x, source)` needs none:
    the source was computed from `x`, so `x` takes over its `grad_fn` and `output_nr`.

    In both cases `base.rebased` grows by 1, which tells all views to make their nodes anew.

    Raises:
        RuntimeError: "a leaf Variable that requires grad is being used in an in-place operation." or
            "a view of a leaf Variable that ...": the write would turn a leaf that requires a gradient
            into a result.
    """
    x, source = args
    base = x if x.base is None else x.base
    if base.is_leaf and base.requires_grad:
        what = "a leaf Variable" if x is base else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    keep_old(x, source)
    node = None if is_arithmetic(x, source) else CopySlices(base, x, source)
    below(op, args)
    if node is None:
        x.grad_fn, x.output_nr = source.grad_fn, source.output_nr
    else:
        attach([base], node)
    base.rebased += 1
    return x


def write_unless_one_of_several(op: Operation, args: tuple[Any, ...], below: Function) -> Tensor:
    """Record a write, but none into a view that a function returned beside others, such as a part of `split`.

    Raises:
        RuntimeError: in PyTorch such a view has one node together with the others, which a write can't
            replace.
    """
    x = args[0]
    if x.one_of_several:
        name, place = x.one_of_several
        what = "A view was created in no_grad mode"
        if x.grad_fn is not None:
            what = f"Output {place} of {node_name(name).removesuffix('Backward0')} is a view"
        when = " with grad mode enabled" if x.grad_fn is None else ""
        raise RuntimeError(
            f"{what} and is being modified inplace{when}. This view is the output of a function that returns multiple "
            "views. Such functions do not allow the output views to be modified inplace. You should replace the "
            "inplace operation by an out-of-place one."
        )
    return record_write(op, args, below)


def keep_old(x: Tensor, source: Tensor) -> None:
    """If the source was computed from `x` in its first place, and its node keeps `x`: let it keep a copy instead.

    `x.mul_(y)` is about to overwrite what the derivative of its product needs.
    """
    node = source.grad_fn
    if not isinstance(node, OperationNode):
        return
    first = node.inputs[0][0]
    kept = node.values.get(first)
    if isinstance(kept, Kept) and kept.tensor is x:
        old = clone(detach(x))
        old.grad_fn, old.output_nr = x.grad_fn, x.output_nr
        node.values[first] = Rules.kept(old, False)


def is_arithmetic(x: Tensor, source: Tensor) -> bool:
    """Whether a whole tensor is overwritten by what an operation made of it in its first place, as `x.add_(y)` does."""
    node = source.grad_fn
    return x.base is None and isinstance(node, OperationNode) and bool(node.edges) and node.edges[0] == edge_of(x)


def current_history(x: Tensor) -> Node | None:
    """The node of a tensor. A view whose base got a new one since it was taken has one made for it.

    Its operation is the same walk over the base as it is now.
    """
    base = x.base
    if base is not None and x.rebased != base.rebased:
        x.rebased = base.rebased
        if base.requires_grad:
            walk = (x.shape, x.strides, x.offset)
            attach([x], OperationNode(OPERATIONS["as_strided"], (base, *walk), x))
    return x.node


class CopySlices(Node):
    """The node of a write into `view`, of which `base` is the base, or which is the base itself.

    Its first edge leads to the history of the base, its second to that of the source.
    """

    def __init__(self, base: Tensor, view: Tensor, source: Tensor) -> None:
        name = "torch::autograd::CopyBackwards" if view is base else "torch::autograd::CopySlices"
        super().__init__(name, [edge_of(base), edge_of(source)])
        self.base_walk = (base.shape, base.strides, base.offset)
        self.view_walk = (view.shape, view.strides, view.offset)
        self.length = len(base.storage)

    def apply(self, *grads: Tensor | None) -> Sequence[Tensor | None]:
        """The gradients of the base before the write, and of the source; None for both if None arrives.

        What was overwritten gets zeros, all other places of the base the gradient that arrives. The
        source gets the gradient at the places of the view. `self.laid_out(g)` is a copy of a gradient,
        laid out like the storage of the base, so that `as_strided(..., *self.view_walk)` finds the
        view's places in it.
        """
        (g,) = grads
        if g is None:
            return [None, None]
        before = self.laid_out(g)
        copy_(as_strided(before, *self.view_walk), zeros(self.view_walk[0], dtype=g.dtype, device=g.device))
        return [before, as_strided(self.laid_out(g), *self.view_walk)]

    def laid_out(self, g: Tensor) -> Tensor:
        """A copy of a gradient, each number at the place in its storage where the base has its own."""
        storage = zeros((self.length,), dtype=g.dtype, device=g.device)
        whole = as_strided(storage, *self.base_walk)
        return copy_(whole, g)


def _set_history(x: Tensor, node: Node | None) -> None:
    x.node = node


def _data(x: Tensor) -> Tensor:
    """The same numbers, but writes to them aren't counted: a storage of its own on the same memory."""
    return Tensor(Storage(x.storage.flat), x.shape, x.strides, x.offset)


Rules.kept = SavedTensor
Rules.write = staticmethod(write_unless_one_of_several)
Tensor.node = None
Tensor.grad_fn = property(current_history, _set_history)
Tensor.data = property(_data, Tensor.data.fset)
