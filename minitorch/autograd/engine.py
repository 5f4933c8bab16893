"""The engine: walks the graph from its roots to its leaves and applies the chain rule at every node.

The order is PyTorch's: a node runs once all gradients it will ever receive have arrived; of the nodes that could run,
the one recorded last comes first, and a leaf's AccumulateGrad comes before all. Nothing here recurses, so the length of
a graph is bounded by memory alone. A gradient that arrives in the shape of a broadcast is summed to its input's
(`sum_to_size`).
Source: https://pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from minitorch.arrays import gpus
from minitorch.arrays.quiet import NOISE
from minitorch.autograd.differentiable import UNTRACKED
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.hooks import run_between, run_hooks, run_post_accumulate_hooks, run_tensor_hooks
from minitorch.autograd.node import AccumulateGrad, Edge, Gradients, Node, accumulator
from minitorch.autograd.ownership import hand_on, let_go, show
from minitorch.dispatch import layers
from minitorch.layout import contiguous_format, is_dense

if TYPE_CHECKING:
    from minitorch.devices import device
    from minitorch.dtypes import dtype
    from minitorch.tensor import Tensor

Compute = Callable[[Any], Gradients]

OBSERVERS: list[Callable[[Node, Compute, Any], Gradients]] = []
"""Called with each node that is to run, the function that runs it, and its gradients: anomaly mode, the profiler."""

_accumulating = threading.RLock()


class Pass:
    """A backward pass under way, as `current.of_thread`: in a thread that runs one inside another, the inner one."""

    __slots__ = ("__weakref__", "callbacks", "create_graph", "needed", "outer", "recorded", "roots")

    def __init__(self, roots: Sequence[tuple[Edge, Tensor]] = (), create_graph: bool = False) -> None:
        self.roots, self.create_graph = roots, create_graph
        self.callbacks: list[Callable[[], Any]] = []
        self.needed: Collection[Node] | None = None

    def __enter__(self) -> Pass:
        self.outer, current.of_thread = current.of_thread, self
        self.recorded = grad_mode.asked
        grad_mode.set(self.create_graph, grad_mode.inference)
        return self

    def __exit__(self, *error: object) -> None:
        current.of_thread = self.outer
        grad_mode.set(self.recorded, grad_mode.inference)

    def runs(self, node: Node) -> bool:
        """Whether the pass runs this node, or has run it."""
        return node in (count_dependencies(edge[0] for edge, _ in self.roots) if self.needed is None else self.needed)


class Current(threading.local):
    """The backward pass that each thread is in."""

    of_thread: Pass | None = None


current = Current()


def count_dependencies(roots: Iterable[Node]) -> dict[Node, int]:
    """For every node that can be reached from the roots: how many edges of reachable nodes lead to it."""
    dependencies = dict.fromkeys(roots, 0)
    unvisited = list(dependencies)
    to_leaves: dict[int, Edge] = {}
    while unvisited:
        edges = unvisited.pop()._edges
        for number, edge in enumerate(edges):
            if edge is None:
                continue
            if edge.__class__ is not tuple:
                leaf = id(edge)
                if leaf not in to_leaves:
                    to_leaves[leaf] = accumulator(edge), 0
                edge = edges[number] = to_leaves[leaf]  # type: ignore[index]
            node = edge[0]
            if node in dependencies:
                dependencies[node] += 1
            else:
                dependencies[node] = 1
                unvisited.append(node)
    return dependencies


def topological_order(roots: Iterable[Node]) -> list[Node]:
    """The nodes that can be reached from the roots, every node before the nodes that its gradients go to.

    Gradients go to what was recorded before: the node recorded last comes first. Only leaves don't know when they are
    needed; their AccumulateGrad comes as soon as no other node is left that has a gradient for it.
    """
    dependencies = count_dependencies(roots)
    order: list[Node] = []
    operations: list[Node] = []
    for node, count in dependencies.items():
        if node.__class__ is not AccumulateGrad:
            operations.append(node)
        elif count == 0:
            order.append(node)
    operations.sort(key=_number, reverse=True)
    for node in operations:
        order.append(node)
        for edge in node._edges:
            if edge is not None and edge[0].__class__ is AccumulateGrad:
                leaf = edge[0]
                dependencies[leaf] -= 1
                if not dependencies[leaf]:
                    order.append(leaf)
    return order


_number = operator.attrgetter("sequence_number")


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
    total = variable._grad
    if total is None:
        if not may_keep or grad_mode.enabled or not _fits(variable, grad):
            variable._grad = _copy_for(variable, grad)
        else:
            variable._grad = grad if grad._base is None else grad._alias()
    elif grad_mode.enabled:
        variable._grad = total + grad
    else:
        _add_to(total, grad)


def _add_to(total: Tensor, grad: Tensor) -> None:
    """total += grad, where nothing is recorded. Two arrays of one kind are just added."""
    array = total._array
    if (
        not gpus.in_use  # which compute where they are
        and total._dtype is grad._dtype
        and total._device is grad._device
        and total._dtype.is_native
        and total._bits == grad._bits
        and total._counter is not UNTRACKED
        and array.shape == grad._array.shape
        and 0 not in array.strides
    ):
        try:  # noqa: SIM105 - a context manager would take as long as the sum
            array += grad._array
        except NOISE:
            pass  # by then the sum is there
        total._bump_version()
    else:
        total.add_(grad)


def _fits(variable: Tensor, grad: Tensor) -> bool:
    """Whether a gradient lies in memory as the leaf's should: like the leaf if that is dense, otherwise row by row."""
    if grad._array.strides == variable._array.strides:
        return True
    return not is_dense(variable._array) and grad.is_contiguous()


def _copy_for(variable: Tensor, grad: Tensor) -> Tensor:
    if grad.shape != variable.shape or not is_dense(variable._array):
        return grad.clone(memory_format=contiguous_format)
    return grad.new_empty_strided(variable.shape, variable.stride()).copy_(grad)


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
    with Pass(roots, create_graph) as this:
        for index, ((node, number), grad) in enumerate(roots):
            grad._holders = 0  # it is the caller's
            _receive(pending, node, number, grad, None, index)
        order = topological_order(pending)
        needed = this.needed = None if targets is None else _nodes_towards(targets, order)
        order.reverse()
        while order:
            node = order.pop()
            grads = pending.pop(node, None)
            if needed is not None and node not in needed:
                for each in grads or ():
                    let_go(each)
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
                if targets is None and hooks is None and not observed and not node.variable._hooks:
                    accumulate(node, grads)
                else:
                    _finish(node, grads, targets, captured, accumulate_leaves)
                continue
            if ends:
                _capture(node, grads, targets or (), captured)
                continue
            results = list(_compute(node, grads)) if observed or hooks is not None else node.apply(grads)
            if results.__class__ is not list:  # a node makes its list anew
                results = list(results)
            del grads
            if not keep_graph:
                node.release()
            for edge in reversed(node._edges):
                grad = results.pop()  # type: ignore[assignment]
                if edge is not None and grad is not None:
                    to, number = edge
                    if to not in pending and to.outputs == ((grad._array.shape, grad._dtype, grad._device),):
                        pending[to] = [grad]  # as most gradients come: to a node of one output, and fitting
                    else:
                        _receive(pending, to, number, grad, node, len(results))
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

    It is gradient number `index` of those that `giver` computed; of the roots', if that is None.
    """
    output = node.outputs[number]
    if (grad._array.shape, grad._dtype, grad._device) != output:
        grad = _fitted(grad, *output, giver, index)
    arrived = pending.get(node)
    if arrived is None:
        arrived = pending[node] = [None] * len(node.outputs)
    before = arrived[number]
    if before is None:
        arrived[number] = grad
        return
    total = before._array
    if (
        before._holders == 1
        and before._storage is None  # nobody else sees this sum, or its memory
        and total.base is None
        and before._dtype.is_native
        and not (before._bits or grad._bits or grad_mode.enabled or gpus.in_use or layers.count)
    ):
        try:  # noqa: SIM105
            total += grad._array
        except NOISE:
            pass  # as in _add_to
        if grad._holders:
            grad._holders -= 1
    else:
        arrived[number] = both = before + grad
        hand_on((before, grad), (both,))


def _fitted(
    grad: Tensor, shape: tuple[int, ...], dtype: dtype, device: device, giver: Node | None, index: int
) -> Tensor:
    """A gradient in the shape and dtype, and on the device, of its output. Raises RuntimeError if it can't be."""
    given = grad
    if grad._array.shape != shape:
        _check_expandable(shape, grad._array.shape, giver, index)
        grad = sum_to_size(grad, shape)
    if grad._dtype is not dtype:
        grad = grad.real if grad._dtype.is_complex and not dtype.is_complex else grad
        grad = grad.to(dtype)
    if grad._device is not device:
        if grad._array.ndim:
            raise _invalid(giver, index, f"expected device {device} but got {grad.device}")
        grad = grad.to(device)  # of a number of the CPU that was used on a GPU
    hand_on((given,), (grad,))
    return grad


def _check_expandable(shape: tuple[int, ...], found: tuple[int, ...], giver: Node | None, index: int) -> None:
    aligned = zip(reversed(shape), reversed(found), strict=False)
    if len(shape) > len(found) or any(size not in (1, wide) for size, wide in aligned):
        raise _invalid(giver, index, f"got {list(found)} but expected shape compatible with {list(shape)}")


def _invalid(giver: Node | None, index: int, why: str) -> RuntimeError:
    """The error for a gradient that doesn't fit, which came from a node, or from the user."""
    maker = "" if giver is None else f"Function {giver.name()} returned an "
    return RuntimeError(f"{maker}invalid gradient at index {index} - {why}")


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
            show((grad,))
            captured[node, number] = grad


def _finish(
    node: Any,
    grads: list[Tensor | None],
    targets: Collection[Edge] | None,
    captured: dict[Edge, Tensor],
    accumulate_leaves: bool,
) -> None:
    """What happens at a leaf: its hooks, then its `.grad`."""
    if hooks := node.variable._hooks:
        run_hooks(hooks, grads, 0)
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
    if grad is None or not (variable._requires_grad or variable.requires_grad):
        return ()
    with _accumulating:
        accumulate_grad(variable, grad, grad._holders == 1)
    if grad._holders:
        grad._holders -= 1
    if variable._post_accumulate_hooks:
        run_post_accumulate_hooks(variable)
    return ()
