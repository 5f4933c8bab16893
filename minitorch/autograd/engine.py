"""The engine: walks the graph from its roots to its leaves and applies the chain rule at every node.

The order is PyTorch's: a node runs once all gradients it will ever receive have arrived; of the nodes that could run,
the one recorded last comes first, and a leaf's AccumulateGrad comes before all. Nothing here recurses, so the length of
a graph is bounded by memory alone.
Source: https://pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history
"""

from __future__ import annotations

import functools
import heapq
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from minitorch.autograd.grad_mode import set_grad_enabled
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.hooks import run_between, run_hooks, run_post_accumulate_hooks, run_tensor_hooks
from minitorch.autograd.node import AccumulateGrad, Edge, Gradients, Node
from minitorch.layout import contiguous_format, is_dense

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

Compute = Callable[[Any], Gradients]

OBSERVERS: list[Callable[[Node, Compute, Any], Gradients]] = []
"""Called with each node that is to run, the function that runs it, and its gradients: anomaly mode, the profiler."""

_accumulating = threading.RLock()


class Pass:
    """A backward pass under way, as `current.of_thread`: in a thread that runs one inside another, the inner one."""

    __slots__ = ("__weakref__", "callbacks", "needed", "outer", "roots")

    def __init__(self, roots: Sequence[Node]) -> None:
        self.roots = roots
        self.callbacks: list[Callable[[], Any]] = []
        self.needed: Collection[Node] | None = None

    def __enter__(self) -> Pass:
        self.outer, current.of_thread = current.of_thread, self
        return self

    def __exit__(self, *error: object) -> None:
        current.of_thread = self.outer

    def runs(self, node: Node) -> bool:
        """Whether the pass runs this node, or has run it."""
        return node in (count_dependencies(self.roots) if self.needed is None else self.needed)


class Current(threading.local):
    """The backward pass that each thread is in."""

    of_thread: Pass | None = None


current = Current()


def count_dependencies(roots: Iterable[Node]) -> dict[Node, int]:
    """For every node that can be reached from the roots: how many edges of reachable nodes lead to it."""
    dependencies = dict.fromkeys(roots, 0)
    unvisited = list(dependencies)
    while unvisited:
        for edge in unvisited.pop().edges:
            if edge is not None:
                node = edge[0]
                if node in dependencies:
                    dependencies[node] += 1
                else:
                    dependencies[node] = 1
                    unvisited.append(node)
    return dependencies


def topological_order(roots: Iterable[Node]) -> list[Node]:
    """The nodes that can be reached from the roots, every node before the nodes that its gradients go to.

    Among the nodes whose turn could be next, an AccumulateGrad comes first and then the node recorded last.
    """
    dependencies = count_dependencies(roots)
    ready = [(_priority(node), node) for node, count in dependencies.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        node = heapq.heappop(ready)[1]
        order.append(node)
        for edge in node.edges:
            if edge is not None:
                dependencies[edge[0]] -= 1
                if dependencies[edge[0]] == 0:
                    heapq.heappush(ready, (_priority(edge[0]), edge[0]))
    return order


def _priority(node: Node) -> tuple[bool, int]:
    return not isinstance(node, AccumulateGrad), -node.sequence_number


def sum_to_size(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Undoes a broadcast: the sum of `grad` over the dimensions that were stretched to reach its shape."""
    leading = grad.dim() - len(shape)
    stretched = [leading + d for d, size in enumerate(shape) if size == 1 and grad.shape[leading + d] != 1]
    summed: Tensor = grad
    if stretched:
        summed = grad.sum([*range(leading), *stretched], keepdim=True)
    elif leading:
        return grad.sum(list(range(leading)))
    return summed.reshape(shape) if leading else summed


def accumulate_grad(variable: Tensor, grad: Tensor, may_keep: bool) -> None:
    """Adds `grad` to `variable.grad`.

    The first gradient becomes `.grad` itself where nobody else can see it (`may_keep`), otherwise a copy does. Later
    ones are added in place, so that whoever holds `.grad` sees the sum; under `create_graph` they make a new tensor.
    Source: https://pytorch.org/docs/stable/autograd.html#default-gradient-layouts
    """
    if variable._grad is None:
        keeps = may_keep and not grad_mode.enabled
        variable._grad = grad._alias() if keeps else _copy_for(variable, grad)
    elif grad_mode.enabled:
        variable._grad = variable._grad + grad
    else:
        variable._grad.add_(grad)


def _fits(variable: Tensor, grad: Tensor) -> bool:
    """Whether a gradient lies in memory as the leaf's should: like the leaf if that is dense, otherwise row by row."""
    if grad._array.strides == variable._array.strides:
        return True
    return not is_dense(variable._array) and grad.is_contiguous()


def _copy_for(variable: Tensor, grad: Tensor) -> Tensor:
    if grad.shape != variable.shape or not is_dense(variable._array):
        return grad.clone(memory_format=contiguous_format)
    copy: Tensor = grad.new_empty_strided(variable.shape, variable.stride()).copy_(grad)
    return copy


def run(
    roots: Sequence[tuple[Edge, Tensor]],
    keep_graph: bool,
    create_graph: bool,
    targets: Collection[Edge] | None = None,
    accumulate_leaves: bool = True,
) -> dict[Edge, Tensor]:
    """Sends the gradients at the roots through the graph.

    With `targets`, only nodes on a path to one of these edges run, and the gradients that travel along the target edges
    are returned; leaves accumulate when `accumulate_leaves` says so. Otherwise all leaves accumulate.
    """
    pending: dict[Node, list[Tensor | None]] = {}
    captured: dict[Edge, Tensor] = {}
    observed = bool(OBSERVERS)
    with set_grad_enabled(create_graph), Pass([node for (node, _), _ in roots]) as this:
        for (node, number), grad in roots:
            _receive(pending, node, number, grad)
        order = topological_order(pending)
        needed = this.needed = None if targets is None else _nodes_towards(targets, order)
        order.reverse()
        while order:
            node = order.pop()
            grads = pending.pop(node, None)
            if needed is not None and node not in needed:
                continue
            if grads is None:
                grads = [None] * len(node.outputs)
            ends = needed is not None and not any(edge is not None and edge[0] in needed for edge in node.edges)
            if targets is not None and not ends:
                _capture(node, grads, targets, captured)  # where the gradient goes on, hooks change it later
            hooks = node.hooks
            if hooks is not None:
                run_tensor_hooks(hooks, grads)
            if node.__class__ is AccumulateGrad:
                _finish(node, grads, targets, captured, accumulate_leaves)
                continue
            if ends:
                _capture(node, grads, targets or (), captured)
                continue
            results = list(_compute(node, grads) if observed or hooks is not None else node.apply(grads))
            del grads
            if not keep_graph:
                node.release()
            for edge in reversed(node.edges):
                grad = results.pop()  # type: ignore[assignment]
                if edge is not None and grad is not None:
                    _receive(pending, edge[0], edge[1], grad, node, len(results))
                del grad
        for callback in this.callbacks:
            callback()
    return captured


def queue_callback(callback: Callable[[], Any]) -> None:
    """Has a function called at the end of the backward pass that runs. Raises RuntimeError where none does."""
    if current.of_thread is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    current.of_thread.callbacks.append(callback)


def _compute(node: Node, grads: list[Tensor | None]) -> Gradients:
    """Runs a node, its hooks, and who observes it."""
    compute = node.apply if node.hooks is None else functools.partial(run_between, node.hooks, node)
    for observer in OBSERVERS:
        compute = functools.partial(observer, node, compute)
    return compute(grads)


def _receive(
    pending: dict[Node, list[Tensor | None]],
    node: Node,
    number: int,
    grad: Tensor,
    giver: Node | None = None,
    index: int = 0,
) -> None:
    """Makes a gradient fit the output it belongs to, and adds it to those that have arrived there.

    Raises RuntimeError where it doesn't fit: then `giver` computed it wrongly, as gradient number `index`.
    """
    shape, dtype = node.outputs[number]
    if grad._array.shape != shape:
        _check_expandable(shape, grad._array.shape, giver, index)
        grad = sum_to_size(grad, shape)
    if grad._dtype is not dtype:
        grad = grad.real if grad._dtype.is_complex and not dtype.is_complex else grad
        grad = grad.to(dtype)
    arrived = pending.get(node)
    if arrived is None:
        arrived = pending[node] = [None] * len(node.outputs)
    before = arrived[number]
    arrived[number] = grad if before is None else before + grad


def _check_expandable(shape: tuple[int, ...], found: tuple[int, ...], giver: Node | None, index: int) -> None:
    aligned = zip(reversed(shape), reversed(found), strict=False)
    if len(shape) > len(found) or any(size not in (1, wide) for size, wide in aligned):
        maker = "" if giver is None else giver.name()
        raise RuntimeError(
            f"Function {maker} returned an invalid gradient at index {index} - got {list(found)} but expected shape "
            f"compatible with {list(shape)}"
        )


def _nodes_towards(targets: Collection[Edge], order: list[Node]) -> set[Node]:
    """The nodes from which a target can be reached, the targets' own included."""
    needed = {node for node, _ in targets}
    for node in reversed(order):
        if any(edge is not None and edge[0] in needed for edge in node.edges):
            needed.add(node)
    return needed


def _capture(node: Node, grads: list[Tensor | None], targets: Collection[Edge], captured: dict[Edge, Tensor]) -> None:
    for number, grad in enumerate(grads):
        if grad is not None and (node, number) in targets:
            captured[node, number] = grad


def _finish(
    node: Any,
    grads: list[Tensor | None],
    targets: Collection[Edge] | None,
    captured: dict[Edge, Tensor],
    accumulate_leaves: bool,
) -> None:
    """What happens at a leaf: its hooks, then its `.grad`."""
    if node.variable._hooks:
        run_hooks(node.variable._hooks, grads, 0)
    if targets is not None:
        _capture(node, grads, targets, captured)
    if accumulate_leaves and (OBSERVERS or node.hooks is not None):
        _compute(node, grads)
    elif accumulate_leaves:
        accumulate(node, grads)


def accumulate(node: AccumulateGrad, grads: list[Tensor | None]) -> Gradients:
    """What an AccumulateGrad computes: nothing, but it adds the gradient, which it takes from the list, to the leaf's.

    Threads that come to one leaf at the same time take turns.
    """
    grad = grads.pop()
    variable = node.variable
    if grad is None or not variable.requires_grad:
        return ()
    # Two references: the local name and the argument of getrefcount. A third is somebody who would see the sum grow.
    unshared = sys.getrefcount(grad) == 2 and _fits(variable, grad)
    with _accumulating:
        accumulate_grad(variable, grad, unshared)
    if variable._post_accumulate_hooks:
        run_post_accumulate_hooks(variable)
    return ()
