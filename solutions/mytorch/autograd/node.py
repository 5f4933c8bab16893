"""What an operation leaves behind: a node of the graph, with edges to the nodes that made its inputs."""

# 06 · The computation graph
from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import count
from threading import local

from ..checks import refuse
from ..settings import device, dtype
from ..tensor import HISTORY_NOTES, Tensor, extend

Edge = tuple["Node", int]
"""Where a gradient goes: to a node, and to which of its outputs it belongs."""

_numbers = count()


class ThreadMode(local):
    """Whether operations are recorded: each thread has a mode of its own, which is on at first."""

    enabled = True


Mode = ThreadMode()


class Node:
    """One step backwards: takes the gradients of an operation's results, gives those of its inputs."""

    sequence_number: float  # in the order of recording

    def __init__(self, name: str, edges: Sequence[Edge | None]) -> None:
        self._name, self.edges = name, edges  # an edge for each input, or None if it needs no gradient
        self.outputs: list[tuple[tuple[int, ...], dtype, device]] = []  # what the gradient of each result must fit
        self.retained: dict[int, Tensor] = {}  # results that want to keep their gradient, by number
        self.sequence_number = next(_numbers)

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
        return f"<{self.name().rpartition('::')[2]}>"


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to a leaf's `.grad`. It runs as soon as it can."""

    def __init__(self, leaf: Tensor) -> None:
        super().__init__("torch::autograd::AccumulateGrad", ())
        self.leaf = leaf
        self.outputs = [(leaf.shape, leaf.dtype, leaf.device)]
        self.sequence_number = float("inf")

    def apply(self, *grads: Tensor | None) -> Sequence[Tensor | None]:
        """Add the gradient to `.grad`: in place, unless the addition itself is recorded."""
        (grad,) = grads
        if grad is not None:
            self.leaf.grad = accumulated(self.leaf.grad, grad)
        return ()


def accumulated(old: Tensor | None, grad: Tensor) -> Tensor:
    """A gradient with what was there before. The first is a copy: several tensors may have been given the same one."""
    if old is None:
        return grad.clone()
    return old + grad if Mode.enabled else old.add_(grad)


def edge_of(x: Tensor) -> Edge | None:
    """Where the gradient of a tensor goes: to the node that made it, to its `.grad` if it is a leaf, or nowhere."""
    if (node := x.grad_fn) is not None:
        return node, x.output_nr
    if not x._requires_grad:
        return None
    node = None if x.accumulator is None else x.accumulator()
    if node is None:
        node = AccumulateGrad(x)
        x.accumulator = weakref.ref(node)  # the graph keeps the node alive; the leaf only finds it again
    return node, 0


def attach(results: Sequence[Tensor], node: Node) -> None:
    """Make tensors the results of a node."""
    for result in results:
        result.node, result.output_nr = node, len(node.outputs)
        node.outputs.append((result.shape, result.dtype, result.device))


def set_requires_grad(x: Tensor, flag: bool) -> None:
    """Ask for gradients or no longer, where that can be asked."""
    if x.grad_fn is not None and not flag:
        advice = "use a computed variable in a subgraph that doesn't require differentiation use var_no_grad"
        rule = "you can only change requires_grad flags of leaf variables."
        raise RuntimeError(f"{rule} If you want to {advice} = var.detach().")
    refuse(flag and not x.dtype.is_floating_point, "only Tensors of floating point dtype can require gradients")
    x._requires_grad = flag


def requires_grad_(x: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask for gradients, or no longer."""
    x.requires_grad = requires_grad
    return x


def retain_grad(x: Tensor) -> None:
    """Keep the gradient of a tensor that is no leaf in its `.grad`, too."""
    refuse(not x.requires_grad, "can't retain_grad on Tensor that has requires_grad=False")
    if x.grad_fn is not None:
        x.grad_fn.retained[x.output_nr] = x


def detach(x: Tensor) -> Tensor:
    """The same numbers without history: a tensor on the same storage that requires no gradient."""
    return Tensor(x.storage, x.shape, x.strides, x.offset)


def set_data(x: Tensor, other: Tensor) -> None:
    """Give a tensor the storage of another, and its view of it."""
    x.__dict__.pop("array", None)
    Tensor.__init__(x, other.storage, other.shape, other.strides, other.offset)


def notes(x: Tensor) -> list[str]:
    """What a printed tensor says of its history."""
    if x.grad_fn is not None:
        return [f"grad_fn={x.grad_fn!r}"]
    return ["requires_grad=True"] if x.requires_grad else []


HISTORY_NOTES.append(notes)

# What a tensor knows of its history. Of a tensor that nobody computed all of it is as here. `node` is what is stored;
# `grad_fn` is how it is read, which chapter 07 changes for views whose base was written to.
extend(Tensor, grad=None, node=None, output_nr=0, accumulator=None, _requires_grad=False)
extend(
    Tensor,
    grad_fn=property(lambda x: x.node, lambda x, node: setattr(x, "node", node)),
    is_leaf=property(lambda x: x.grad_fn is None),
    requires_grad=property(lambda x: x._requires_grad or x.grad_fn is not None, set_requires_grad),
    requires_grad_=requires_grad_,
    retain_grad=retain_grad,
    retains_grad=property(lambda x: x.grad_fn is not None and x.grad_fn.retained.get(x.output_nr) is x),
    detach=detach,
    data=property(detach, set_data),
)
