"""The nodes of the graph that autograd records.

A node stands for one executed op. Its edges lead to the nodes that made its inputs, or for a leaf to the
`AccumulateGrad` that fills the leaf's `.grad`. Source: https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from minitorch.autograd import engine  # which needs this file: it is looked into when a pass ends
from minitorch.autograd.anomaly_mode import anomaly
from minitorch.autograd.differentiable import Differentiable
from minitorch.autograd.hooks import NodeHooks, RemovableHandle
from minitorch.autograd.ownership import show, spare_memory
from minitorch.autograd.saved import FREED, KEEPERS, PUSHED, SavedTensor, SavedTensors, default_hooks
from minitorch.dispatch.formulas import ARGUMENT, PLAIN, RESULT, SHAPE, STRIDE
from minitorch.size import Size

if TYPE_CHECKING:
    from minitorch.devices import device
    from minitorch.dispatch.op import Op
    from minitorch.dispatch.plan import Plan
    from minitorch.dtypes import dtype
    from minitorch.tensor import Tensor

Edge = tuple["Node", int]
Gradients = Sequence["Tensor | None"]

numbering: Iterator[int] = itertools.count()
"""Where nodes draw their sequence numbers."""


class Node:
    """A backward function. Calling it maps the gradients of its outputs to the gradients of its inputs.

    `edges[i]` is the (node, output number) that made input i, or None where input i needs no gradient. Where input i is
    a leaf, `_edges` has the leaf itself until somebody asks for the edge: few graphs of the many recorded are walked.
    `outputs[k]` is the (shape, dtype, device) of output k, which a gradient of it must have too.
    Nodes are numbered in the order in which they were recorded.
    """

    __slots__ = ("__dict__", "__weakref__", "_edges", "outputs", "sequence_number")

    _edges: Sequence[Any]

    hooks: NodeHooks | None = None
    """What users registered on this node, or on the tensors it made. On the class, since hardly a node has any."""
    written_view: weakref.ref[Node] | None = None
    """The history of the view that the op wrote to, if it wrote to one: its saved result has that history."""

    def __init__(self, edges: Sequence[Edge | None], outputs: Sequence[tuple[tuple[int, ...], dtype, device]]) -> None:
        self._edges = edges
        self.outputs = outputs
        self.sequence_number = next(numbering)
        if anomaly.enabled:
            self.metadata.update(anomaly.origin())

    @property
    def edges(self) -> Sequence[Edge | None]:
        edges = self._edges
        for each in edges:
            if each is not None and each.__class__ is not tuple:
                self._edges = edges = [settled(each) for each in edges]
                break
        return edges

    @edges.setter
    def edges(self, edges: Sequence[Edge | None]) -> None:
        self._edges = edges

    def name(self) -> str:
        """PyTorch's name of the node, such as "MulBackward0"."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that this one sends its gradients to, one for each input: (None, 0) where none is needed."""
        return tuple(edge or (None, 0) for edge in self.edges)

    @property
    def requires_grad(self) -> bool:
        return True

    @property
    def metadata(self) -> dict[str, Any]:
        """For the user's notes; in anomaly mode it tells where the node was recorded."""
        if "_metadata" not in self.__dict__:
            self.__dict__["_metadata"] = {}
        return self.__dict__["_metadata"]

    @property
    def _input_metadata(self) -> tuple[GradientMetadata, ...]:
        return tuple(GradientMetadata(Size(each[0]), *each[1:]) for each in self.outputs if each)

    def _sequence_nr(self) -> int:
        return self.sequence_number

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has `hook(grad_inputs, grad_outputs)` called after the node has run; a tuple it returns replaces grad_inputs.

        Source: https://pytorch.org/docs/stable/generated/torch.autograd.graph.Node.register_hook.html
        """
        return RemovableHandle(NodeHooks.of(self).after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has `hook(grad_outputs)` called before the node runs; a tuple it returns replaces grad_outputs.

        Source: https://pytorch.org/docs/stable/generated/torch.autograd.graph.Node.register_prehook.html
        """
        return RemovableHandle(NodeHooks.of(self).before, hook)

    def apply(self, grads: Gradients) -> Gradients:
        """The gradients of the inputs, one for each edge, given one (or None) for each output."""
        raise NotImplementedError

    def __call__(self, *grads: Tensor | None) -> Any:
        result = self.apply(grads)
        show(result)
        return result[0] if len(result) == 1 else tuple(result)

    def release(self) -> None:
        """Drops what was saved for the backward pass."""

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"


class GradientMetadata(NamedTuple):
    """What the gradient of one output of a node must be like."""

    shape: Size
    dtype: Any
    device: Any


class AccumulateGrad(Node):
    """Where the graph ends: the engine adds what arrives here to the `.grad` of a leaf."""

    __module__ = "builtins"  # as of all nodes of ops
    __slots__ = ("variable",)

    _edges = ()
    variable: Tensor

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def _sequence_nr(self) -> int:
        return 2**64 - 1  # before everything that was recorded

    def apply(self, grads: Gradients) -> Gradients:
        return engine.accumulate(self, list(grads))


_new = object.__new__


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The one AccumulateGrad of a leaf. The leaf holds it weakly, so that the two don't keep each other alive."""
    known = leaf._accumulator
    node = None if known is None else known()
    if node is None:
        node = _new(AccumulateGrad)
        node.outputs = ((leaf._array.shape, leaf._dtype, leaf._device),)
        node.sequence_number = next(numbering)
        node.variable = leaf
        leaf._accumulator = weakref.ref(node)
    return node


def settled(edge: Any) -> Edge | None:
    """An edge, also where a leaf still stands in its place."""
    return (accumulator(cast("Tensor", edge)), 0) if isinstance(edge, Differentiable) else edge


def gradient_edge(tensor: Tensor) -> Edge | None:
    """The edge along which a gradient of `tensor` travels; None when it needs no gradient."""
    node = tensor._grad_fn if tensor._base is None else tensor.grad_fn
    if node is not None:
        return node, tensor._output_nr
    return (accumulator(tensor), 0) if tensor._requires_grad else None


def _saved(source: int, value: Any) -> Any:
    """What a node keeps of an argument: the tensor itself or the one fact about it that a formula asks for, or of each
    tensor in a sequence.
    """
    if isinstance(value, Differentiable):
        if source == ARGUMENT:
            return SavedTensor(cast("Tensor", value), False)
        if source == SHAPE:
            return value._array.shape
        return cast("Tensor", value).stride() if source == STRIDE else value._dtype
    if isinstance(value, (list, tuple)):
        tensors = [None if each is None else _saved(source, each) for each in value]
        return SavedTensors(tensors) if source == ARGUMENT else tensors
    return () if source == SHAPE else value  # a number where a tensor could be


MANY = 2**15
"""From more elements on, overwriting a gradient saves more time than finding out whether it may be overwritten."""


class OpNode(Node):
    """The node of a declared op: it runs the op's formulas on what they asked to be saved.

    Each op has a subclass for each name that PyTorch gives its node.
    """

    __slots__ = ("_plan", "_saved")

    op: ClassVar[Op]
    full_name: ClassVar[str]

    def __init__(self, plan: Plan, args: Sequence[Any], results: Sequence[Tensor]) -> None:
        # Plain loops, and no calls for what most nodes have: recording is what small ops spend most of their time on.
        self._plan = plan
        if len(results) == 1:
            (result,) = results
            self.outputs = ((result._array.shape, result._dtype, result._device),)
        else:
            self.outputs = [(each._array.shape, each._dtype, each._device) for each in results]
        edges: list[Any] = []
        self._edges = edges
        for position in plan.edges:
            if position is None:
                edges.append(None)
                continue
            each = args[position]
            if each._base is not None:
                edges.append(gradient_edge(each))
            elif (node := each._grad_fn) is None:
                edges.append(each)
            else:
                edges.append((node, each._output_nr))
        if plan.sequence is not None:
            self._edges = [gradient_edge(each) for each in args[plan.sequence]]
        self.sequence_number = next(numbering)  # after the edges, since a view's history may be recorded anew for them
        if anomaly.enabled:
            self.metadata.update(anomaly.origin())
        saved: list[Any] = []
        self._saved = saved
        for source, index in plan.keeps:
            if source == PLAIN:
                saved.append(args[index])
            elif source == RESULT:
                saved.append(SavedTensor(results[index], results[index]._dtype.is_differentiable) if results else None)
            elif source == ARGUMENT and isinstance(args[index], Differentiable):
                saved.append(SavedTensor(args[index], False))
            elif source == SHAPE and isinstance(args[index], Differentiable):
                saved.append(args[index]._array.shape)
            else:
                saved.append(_saved(source, args[index]))
        if PUSHED and default_hooks.pairs:
            for each in saved:
                if isinstance(each, KEEPERS):
                    each.pack_by_default(self)

    def save_results(self, results: Sequence[Tensor]) -> None:
        """Completes a node that was recorded before its op wrote to its results."""
        self.outputs = [(each._array.shape, each._dtype, each._device) for each in results]
        for slot, (source, index) in enumerate(self._plan.saved):
            if source == RESULT:
                self._saved[slot] = kept = SavedTensor(results[index], True)
                kept.output_number = index
                if PUSHED and default_hooks.pairs:
                    kept.pack_by_default(self)

    def name(self) -> str:
        return self.full_name

    def apply(self, grads: Gradients) -> Gradients:
        plan, grad = self._plan, grads[0]
        gradients: list[Tensor | None] = [None] * len(self._edges)
        if grad is None and all(each is None for each in grads):
            return gradients
        for slot in plan.passed_on:
            gradients[slot] = grad
        if not plan.calls and len(plan.passed_on) == 1:
            return gradients  # where one place kept the gradient, one place keeps it
        memory = None
        if plan.overwrites and grad is not None and grad._array.size > MANY:
            memory = spare_memory(grad)
        if plan.saves_tensors:
            if len(self._saved) < len(plan.saved):
                raise RuntimeError(FREED)
            given = []
            for each in self._saved:
                kept = each.__class__ is SavedTensor or each.__class__ is SavedTensors
                given.append(each.unpack(self) if kept else each)
            given += (None, memory, (), grads, grad)
        else:
            given = [*self._saved, None, memory, (), grads, grad]
        for formula, take, slots, needs in plan.calls:
            given[-3] = needs
            result = formula(*take(given))
            if slots is None:
                gradients = list(result)
            elif len(slots) == 1:
                gradients[slots[0]] = result
            else:
                for slot, each in zip(slots, result, strict=True):
                    gradients[slot] = each
        for result in gradients:  # as in hand_on, without a call: of what arrived, only `grad` goes on
            if result is not None and (result is not grad or result._holders):
                result._holders += 1
        if grad is not None and grad._holders:
            grad._holders -= 1
        return gradients

    def release(self) -> None:
        plan = self._plan
        if not plan.saves_tensors:
            return
        if plan.may_save_number and not any(isinstance(each, SavedTensor) for each in self._saved):
            return  # nothing but a number, such as lerp's weight
        self._saved = self._saved[: plan.kept]
