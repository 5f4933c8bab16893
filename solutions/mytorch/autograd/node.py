"""What an operation leaves behind: a node of the graph, with edges to the nodes that made its inputs."""

# 06 · The computation graph
from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import count

from ..settings import device, dtype
from ..tensor import HISTORY_NOTES, Tensor

Edge = tuple["Node", int]
"""Where a gradient goes: to a node, and to which of its outputs it belongs."""

_numbers = count()


class Mode:
    """Whether operations are recorded."""

    enabled = True


class Node:
    """One step backwards: takes the gradients of an operation's results, gives those of its inputs.

    `edges` has an entry for each input: where its gradient goes, or None if it needs none. `outputs` holds
    shape, type and device of each result, which a gradient is brought to before it is used. Nodes are
    numbered as they are recorded.
    """

    def __init__(self, name: str, edges: Sequence[Edge | None]) -> None:
        self._name = name
        self.edges = list(edges)
        self.outputs: list[tuple[tuple[int, ...], dtype, device]] = []
        self.retained: dict[int, Tensor] = {}  # results that want to keep their gradient, by number
        self.sequence_number: float = next(_numbers)

    def name(self) -> str:
        """The name that PyTorch gives to such a node."""
        return self._name

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges as PyTorch shows them."""
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    def apply(self, *grads: Tensor | None) -> Sequence[Tensor | None]:
        """The gradients of the inputs, one for each edge."""
        raise NotImplementedError

    def release(self) -> None:
        """Forget what was kept for the backward pass."""

    def __lt__(self, other: Node) -> bool:
        """Whether this node is first where both are ready: the one recorded later is."""
        return self.sequence_number > other.sequence_number

    def __repr__(self) -> str:
        return f"<{self._name.rpartition('::')[2]}>"


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to a leaf's `.grad`. It runs as soon as it can."""

    def __init__(self, leaf: Tensor) -> None:
        super().__init__("torch::autograd::AccumulateGrad", [])
        self.leaf = leaf
        self.outputs = [(leaf.shape, leaf.dtype, leaf.device)]
        self.sequence_number = float("inf")

    def apply(self, *grads: Tensor | None) -> Sequence[Tensor | None]:
        """Add the gradient to `.grad`: in place, unless the addition itself is recorded."""
        (grad,) = grads
        if grad is not None:
            self.leaf.grad = accumulated(self.leaf.grad, grad)
        return []


def accumulated(old: Tensor | None, grad: Tensor) -> Tensor:
    """A gradient with what was there before. The first is a copy: several tensors may have been given the same one."""
    if old is None:
        return grad.clone()
    return old + grad if Mode.enabled else old.add_(grad)


def edge_of(x: Tensor) -> Edge | None:
    """Where the gradient of a tensor goes: to the node that made it, to its `.grad` if it is a leaf, or nowhere."""
    if x.grad_fn is not None:
        return x.grad_fn, x.output_nr
    if not x.requires_grad:
        return None
    node = None if x.accumulator is None else x.accumulator()
    if node is None:
        node = AccumulateGrad(x)
        x.accumulator = weakref.ref(node)  # the graph keeps the node alive; the leaf only finds it again
    return node, 0


def attach(results: Sequence[Tensor], node: Node) -> None:
    """Make tensors the results of a node."""
    for result in results:
        result.grad_fn, result.output_nr = node, len(node.outputs)
        node.outputs.append((result.shape, result.dtype, result.device))


# What a tensor knows of its history. Of a tensor that nobody computed all of it is as here.
Tensor.grad = None
Tensor.grad_fn = None
Tensor.output_nr = 0
Tensor.accumulator = None
Tensor._requires_grad = False


def _set_requires_grad(x: Tensor, flag: bool) -> None:
    if x.grad_fn is not None and not flag:
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
            "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        )
    if flag and not x.dtype.is_floating_point:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    x._requires_grad = flag


def requires_grad_(x: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask for gradients, or no longer."""
    x.requires_grad = requires_grad
    return x


def retain_grad(x: Tensor) -> None:
    """Keep the gradient of a tensor that is no leaf in its `.grad`, too."""
    if not x.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if x.grad_fn is not None:
        x.grad_fn.retained[x.output_nr] = x


def detach(x: Tensor) -> Tensor:
    """The same numbers without history: a tensor on the same storage that requires no gradient."""
    return Tensor(x.storage, x.shape, x.strides, x.offset)


def _set_data(x: Tensor, other: Tensor) -> None:
    x.__dict__.pop("array", None)
    x.storage, x.shape, x.strides, x.offset = other.storage, other.shape, other.strides, other.offset


def _notes(x: Tensor) -> list[str]:
    if x.grad_fn is not None:
        return [f"grad_fn={x.grad_fn!r}"]
    return ["requires_grad=True"] if x.requires_grad else []


Tensor.requires_grad = property(lambda x: x._requires_grad or x.grad_fn is not None, _set_requires_grad)
Tensor.is_leaf = property(lambda x: x.grad_fn is None)
Tensor.requires_grad_ = requires_grad_
Tensor.retain_grad = retain_grad
Tensor.retains_grad = property(lambda x: x.grad_fn is not None and x.grad_fn.retained.get(x.output_nr) is x)
Tensor.detach = detach
Tensor.data = property(detach, _set_data)
HISTORY_NOTES.append(_notes)
