"""Writes and the graph: kept values notice them, and a write is recorded like any other operation."""

# 07 · Backward in depth
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import as_strided, clone, copy_, zeros
from ..dispatch import OPERATIONS, Function, Operation
from ..settings import TYPE_NAMES
from ..tensor import Storage, Tensor, extend
from .node import Node, attach, detach, edge_of
from .recording import Kept, OperationNode, Rules, node_name


class SavedTensor(Kept):
    """A kept tensor that refuses to be used when its numbers have changed since: the gradient would be wrong."""

    def give_back(self, node: Node) -> Tensor:
        """What `super().give_back(node)` gives, if nobody has written to the tensor since."""
        if self.tensor.storage.version != self.version:
            raise RuntimeError(modified(self, node))
        return super().give_back(node)


def modified(saved: SavedTensor, node: Node) -> str:
    """What PyTorch says of a saved tensor that was written to: its type and shape, who made it, and both versions."""
    x = saved.tensor
    maker = node if saved.is_result else x.grad_fn
    made_by = "" if maker is None else f", which is output {saved.number} of {operation_of(maker)},"
    found = f"[torch.{TYPE_NAMES[x.dtype.name]}Tensor {list(x.shape)}]{made_by} is at version {x.storage.version};"
    hint = "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with"
    return (
        f"one of the variables needed for gradient computation has been modified by an inplace operation: {found} "
        f"expected version {saved.version} instead. {hint} torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def operation_of(node: Node) -> str:
    """What a node differentiates: "Mul" for `MulBackward0`."""
    stem, backward, overload = node.name().rpartition("Backward")
    return stem + overload.removeprefix("0") if backward else overload


def record_write(op: Operation, args: tuple[Any, ...], below: Function) -> Tensor:
    """Copy a source into a tensor by `below(op, args)`, record that, and return the tensor."""
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
    """Record a write, but none into a view that a function returned beside others, such as a part of `split`."""
    x = args[0]
    if x.one_of_several:
        name, place = x.one_of_several
        what = "A view was created in no_grad mode"
        if x.grad_fn is not None:
            what = f"Output {place} of {node_name(name).removesuffix('Backward0')} is a view"
        when = " with grad mode enabled" if x.grad_fn is None else ""
        several = "This view is the output of a function that returns multiple views. Such functions do not allow"
        advice = "You should replace the inplace operation by an out-of-place one."
        told = f"{several} the output views to be modified inplace. {advice}"
        raise RuntimeError(f"{what} and is being modified inplace{when}. {told}")
    return record_write(op, args, below)


def keep_old(x: Tensor, source: Tensor) -> None:
    """Let the node of `x.mul_(y)` keep a copy of x, which is about to be overwritten and which it needs."""
    node = source.grad_fn
    if not isinstance(node, OperationNode):
        return
    first = node.inputs[0][0]
    kept = node.values.get(first)
    if isinstance(kept, Kept) and kept.tensor is x:
        old = clone(detach(x))
        old.node, old.output_nr = x.grad_fn, x.output_nr
        node.values[first] = Rules.kept(old, False)


def is_arithmetic(x: Tensor, source: Tensor) -> bool:
    """Whether a whole tensor is overwritten by what an operation made of it in its first place, as `x.add_(y)` does."""
    node = source.grad_fn
    return x.base is None and isinstance(node, OperationNode) and bool(node.edges) and node.edges[0] == edge_of(x)


def current_history(x: Tensor) -> Node | None:
    """The node of a tensor. A view whose base got a new one gets one: a view of the base as it is now."""
    base = x.base
    if base is not None and x.rebased != base.rebased:
        x.rebased = base.rebased
        if base.requires_grad:
            geometry = (x.shape, x.strides, x.offset)
            attach([x], OperationNode(OPERATIONS["as_strided"], (base, *geometry), x))
    return x.node


class CopySlices(Node):
    """The node of a write into `view`, or into `base` itself: its edges lead to the base's history and the source's."""

    def __init__(self, base: Tensor, view: Tensor, source: Tensor) -> None:
        name = "torch::autograd::CopyBackwards" if view is base else "torch::autograd::CopySlices"
        super().__init__(name, [edge_of(base), edge_of(source)])
        self.base_geometry = (base.shape, base.strides, base.offset)
        self.view_geometry = (view.shape, view.strides, view.offset)
        self.length = len(base.storage)

    def apply(self, *grads: Tensor | None) -> Sequence[Tensor | None]:
        """The gradients of the base before the write, and of the source; None for both if None arrives."""
        (g,) = grads
        if g is None:
            return [None, None]
        before = self.laid_out(g)
        copy_(as_strided(before, *self.view_geometry), zeros(self.view_geometry[0], dtype=g.dtype, device=g.device))
        return [before, as_strided(self.laid_out(g), *self.view_geometry)]

    def laid_out(self, g: Tensor) -> Tensor:
        """A copy of a gradient, each number at the place in its storage where the base has its own."""
        storage = zeros((self.length,), dtype=g.dtype, device=g.device)
        whole = as_strided(storage, *self.base_geometry)
        return copy_(whole, g)


extend(Rules, kept=SavedTensor, write=staticmethod(write_unless_one_of_several))
extend(
    Tensor,
    grad_fn=property(current_history, Tensor.grad_fn.fset),
    # Writes to `.data` aren't counted: it has a storage of its own on the same memory.
    data=property(lambda x: Tensor(Storage(x.storage.flat), x.shape, x.strides, x.offset), Tensor.data.fset),
)
