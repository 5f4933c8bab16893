"""The backward pass: from a result back to the leaves, each node once, after all that lead to it."""

# 06 · The computation graph
from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from .. import Tensor, dtype, ones_like
from ..checks import refuse
from ..dispatch import method
from .node import AccumulateGrad, Edge, Mode, Node, edge_of

Buffers = dict[Node, list[Tensor | None]]
"""The gradients that have arrived at a node, one place for each of its outputs."""

Visit = Callable[[Node, list[Tensor | None]], Sequence[Tensor | None]]
"""What runs a node: takes the gradients of its outputs, gives those of its edges."""


def count_arrivals(roots: Iterable[Node]) -> dict[Node, int]:
    """How many edges lead to each node that can be reached from the roots, the roots included."""
    arrivals = dict.fromkeys(roots, 0)
    unvisited = list(arrivals)
    while unvisited:
        for edge in unvisited.pop().edges:
            if edge is None:
                continue
            node, _ = edge
            if node not in arrivals:
                arrivals[node] = 0
                unvisited.append(node)
            arrivals[node] += 1
    return arrivals


def fit(grad: Tensor, shape: tuple[int, ...], dtype: dtype) -> Tensor:
    """Bring a gradient to the shape and type of what it is the gradient of."""
    if grad.shape != shape:
        if added := tuple(range(grad.ndim - len(shape))):
            grad = grad.sum(added)
        if stretched := tuple(dim for dim, length in enumerate(shape) if length != grad.shape[dim]):
            grad = grad.sum(stretched, keepdim=True)
    return grad if grad.dtype is dtype else grad.to(dtype)


def arrive(buffers: Buffers, edge: Edge, grad: Tensor) -> None:
    """Add a gradient to those that have arrived at this output of a node, in its shape and type, on its device."""
    node, number = edge
    waiting = buffers.setdefault(node, [None] * len(node.outputs))
    shape, dtype, device = node.outputs[number]
    grad = fit(grad, shape, dtype)
    if grad.device != device:  # the gradient of a CPU scalar that an operation moved to a GPU
        grad = grad.to(device)
    before = waiting[number]
    waiting[number] = grad if before is None else before + grad


def run_backward(roots: Sequence[Edge], grads: Sequence[Tensor], visit: Visit) -> None:
    """Carry gradients backwards through the graph, from the roots on: each node makes new ones of its own."""
    arrivals = count_arrivals([node for node, _ in roots])
    buffers: Buffers = {}
    for root, grad in zip(roots, grads, strict=True):
        arrive(buffers, root, grad)
    ready = [node for node, count in arrivals.items() if count == 0]
    heapq.heapify(ready)
    while ready:
        node = heapq.heappop(ready)
        arrived = buffers.pop(node, [None] * len(node.outputs))
        for edge, gradient in zip(node.edges, visit(node, arrived), strict=True):
            if edge is None:
                continue
            if gradient is not None:
                arrive(buffers, edge, gradient)
            arrivals[edge[0]] -= 1
            if arrivals[edge[0]] == 0:
                heapq.heappush(ready, edge[0])


ON_ARRIVAL: list[Callable[[Node, list[Tensor | None]], None]] = []
"""What is done with the gradients of a node's results before the node runs; may change them in the list."""

AFTER_RUN: list[Callable[[Node, list[Tensor | None], list[Tensor | None]], None]] = []
"""What is done when a node has run, with the gradients of its inputs (first) and those of its results."""


def retain(node: Node, grads: list[Tensor | None]) -> None:
    """Keep the gradient of those results that asked for it."""
    for number, tensor in node.retained.items():
        if (grad := grads[number]) is not None:
            tensor.grad = grad.clone() if tensor.grad is None else tensor.grad + grad


ON_ARRIVAL.append(retain)


def start(tensors: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> tuple[list[Edge], list[Tensor]]:
    """Where a backward pass starts, and with which gradients: 1 for a tensor of one element, if none is given."""
    edges, grads = [], []
    for place, (tensor, gradient) in enumerate(zip(tensors, gradients, strict=True)):
        edge = edge_of(tensor)
        if edge is None:
            raise RuntimeError(f"element {place} of tensors does not require grad and does not have a grad_fn")
        if gradient is None:
            if tensor.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = ones_like(tensor)
        elif gradient.shape != tensor.shape:
            found = f"grad_output[{place}] has a shape of {gradient.shape}"
            raise RuntimeError(f"Mismatch in shape: {found} and output[{place}] has a shape of {tensor.shape}.")
        edges.append(edge)
        grads.append(gradient)
    return edges, grads


def differentiate(
    edges: list[Edge], grads: list[Tensor], targets: Collection[Edge], keep: bool, record: bool
) -> dict[Edge, Tensor]:
    """Run the nodes these edges lead to; return the gradients of the targets, or add to `.grad` if there are none."""
    found: dict[Edge, Tensor] = {}

    def visit(node: Node, arrived: list[Tensor | None]) -> Sequence[Tensor | None]:
        for look in ON_ARRIVAL:
            look(node, arrived)
        if targets:
            for number, grad in enumerate(arrived):
                if grad is not None and (node, number) in targets:
                    found[node, number] = grad
            if isinstance(node, AccumulateGrad):
                return []
        results = list(node.apply(*arrived))
        for see in AFTER_RUN:
            see(node, results, arrived)
        if not keep:
            node.release()
        return results

    outer, Mode.enabled = Mode.enabled, record
    try:
        run_backward(edges, grads, visit)
    finally:
        Mode.enabled = outer
    return found


@method
def backward(
    x: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False
) -> None:
    """Add the derivative of `x`, times `gradient` (1 for a single number), to the `.grad` of its leaves."""
    edges, grads = start([x], [gradient])
    differentiate(edges, grads, (), create_graph if retain_graph is None else retain_graph, create_graph)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """The derivatives of the outputs with respect to the inputs, added up over the outputs. `.grad` stays as it is."""
    outputs, inputs = as_list(outputs), as_list(inputs)
    given = [None] * len(outputs) if grad_outputs is None else as_list(grad_outputs)
    edges, grads = start(outputs, given)
    wanted = [edge for x in inputs if (edge := edge_of(x)) is not None]
    refuse(len(wanted) < len(inputs), "One of the differentiated Tensors does not require grad")
    found = differentiate(edges, grads, wanted, create_graph if retain_graph is None else retain_graph, create_graph)
    results = tuple(found.get(edge) for edge in wanted)
    unused = [place for place, each in enumerate(results) if each is None]
    if unused and not allow_unused:
        told = f"The differentiated Tensor at index {unused[0]} appears to not have been used in the graph."
        raise RuntimeError(f"{told} Set allow_unused=True if this is the desired behavior.")
    return results


def as_list(given: Any) -> list[Any]:
    """One tensor, or several."""
    return [given] if isinstance(given, Tensor) or given is None else list(given)
