"""The nodes of the graph that autograd records.

A node stands for one executed op. Its edges lead to the nodes that made its inputs, or for a leaf to the
`AccumulateGrad` that fills the leaf's `.grad`. Source: https://pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from minitorch.autograd.saved import FREED, KEEPERS, PUSHED, SavedTensor, SavedTensors, default_hooks
from minitorch.ops.plan import ARGUMENT, GRAD, MASK, RESULT, SHAPE, STRIDE
from minitorch.size import Size
from minitorch.tensor import Tensor

if TYPE_CHECKING:
    from minitorch.autograd.hooks import NodeHooks, RemovableHandle
    from minitorch.dtypes import dtype
    from minitorch.ops.declaration import Op
    from minitorch.ops.plan import Plan

Edge = tuple["Node", int]
Gradients = Sequence["Tensor | None"]

numbering: Iterator[int] = itertools.count()
"""Where nodes draw their sequence numbers. Anomaly mode puts one in its place whose numbers know who drew them."""


class Node:
    """A backward function. Calling it maps the gradients of its outputs to the gradients of its inputs.

    `edges[i]` is the (node, output number) that made input i, or None where input i needs no gradient;
    `outputs[k]` is the (shape, dtype) of output k, which a gradient of it must have too.
    Nodes are numbered in the order in which they were recorded.
    """

    __slots__ = ("__dict__", "__weakref__", "edges", "outputs", "sequence_number")

    hooks: NodeHooks | None = None
    """What users registered on this node, or on the tensors it made. On the class, since hardly a node has any."""

    def __init__(self, edges: Sequence[Edge | None], outputs: Sequence[tuple[tuple[int, ...], dtype]]) -> None:
        self.edges = edges
        self.outputs = outputs
        self.sequence_number = next(numbering)

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
            self.__dict__["_metadata"] = getattr(self.sequence_number, "metadata", dict)()
        return self.__dict__["_metadata"]

    @property
    def _input_metadata(self) -> tuple[GradientMetadata, ...]:
        return tuple(GradientMetadata(Size(each[0]), each[1]) for each in self.outputs if each)

    def _sequence_nr(self) -> int:
        return self.sequence_number

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has `hook(grad_inputs, grad_outputs)` called after the node has run; a tuple it returns replaces grad_inputs.

        Source: https://pytorch.org/docs/stable/generated/torch.autograd.graph.Node.register_hook.html
        """
        from minitorch.autograd.hooks import NodeHooks, RemovableHandle

        return RemovableHandle(NodeHooks.of(self).after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has `hook(grad_outputs)` called before the node runs; a tuple it returns replaces grad_outputs.

        Source: https://pytorch.org/docs/stable/generated/torch.autograd.graph.Node.register_prehook.html
        """
        from minitorch.autograd.hooks import NodeHooks, RemovableHandle

        return RemovableHandle(NodeHooks.of(self).before, hook)

    def apply(self, grads: Gradients) -> Gradients:
        """The gradients of the inputs, one for each edge, given one (or None) for each output."""
        raise NotImplementedError

    def __call__(self, *grads: Tensor | None) -> Any:
        result = self.apply(grads)
        return result[0] if len(result) == 1 else tuple(result)

    def release(self) -> None:
        """Drops what was saved for the backward pass."""

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"


class GradientMetadata(NamedTuple):
    """What the gradient of one output of a node must be like."""

    shape: Size
    dtype: Any


class AccumulateGrad(Node):
    """Where the graph ends: the engine adds what arrives here to the `.grad` of a leaf."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        self.edges = ()
        self.outputs = ((variable._array.shape, variable._dtype),)
        self.sequence_number = next(numbering)
        self.variable = variable

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def _sequence_nr(self) -> int:
        return 2**64 - 1  # before everything that was recorded

    def apply(self, grads: Gradients) -> Gradients:
        from minitorch.autograd.engine import accumulate

        return accumulate(self, list(grads))


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The one AccumulateGrad of a leaf. The leaf holds it weakly, so that the two don't keep each other alive."""
    node = None if leaf._accumulator is None else leaf._accumulator()
    if node is None:
        node = AccumulateGrad(leaf)
        leaf._accumulator = weakref.ref(node)
    return node


def gradient_edge(tensor: Tensor) -> Edge | None:
    """The edge along which a gradient of `tensor` travels; None when it needs no gradient."""
    node = tensor._grad_fn if tensor._base is None else tensor.grad_fn
    if node is not None:
        return node, tensor._output_nr
    return (accumulator(tensor), 0) if tensor._requires_grad else None


def _saved(source: int, tensor: Tensor) -> Any:
    """The tensor itself, or the one fact about it that a formula asks for."""
    if source == ARGUMENT:
        return SavedTensor(tensor, False)
    if source == SHAPE:
        return tensor._array.shape
    return tensor.stride() if source == STRIDE else tensor._dtype


def check_saved(plan: Plan, args: Sequence[Any]) -> None:
    """Raises RuntimeError where one of the arguments that would be saved can't be: a tensor of inference mode."""
    for source, index in plan.saved:
        if source == ARGUMENT and isinstance(args[index], Tensor):
            SavedTensor(args[index], False)


class OpNode(Node):
    """The node of a declared op: it runs the op's formulas on what they asked to be saved.

    Each op has a subclass for each name that PyTorch gives its node.
    """

    __slots__ = ("_plan", "_saved")

    op: ClassVar[Op]
    full_name: ClassVar[str]

    def __init__(self, plan: Plan, args: Sequence[Any], results: Sequence[Tensor]) -> None:
        op = self.op
        self.sequence_number = next(numbering)
        self.outputs = [(each._array.shape, each._dtype) for each in results]
        self._plan = plan
        if op.gradient_sequence is None:
            self.edges = [None if position is None else gradient_edge(args[position]) for position in plan.edges]
        else:
            self.edges = [gradient_edge(each) for each in args[op.gradient_sequence]]
        saved: list[Any] = [args[index] for index in plan.plain]
        for source, index in plan.others:
            if source == RESULT:
                saved.append(SavedTensor(results[index], results[index]._dtype.is_differentiable) if results else None)
                continue
            value = args[index]
            if isinstance(value, Tensor):
                saved.append(_saved(source, value))
            elif index in op.sequences:
                tensors = [None if each is None else _saved(source, each) for each in value]
                saved.append(SavedTensors(tensors) if source == ARGUMENT else tensors)
            else:
                saved.append(() if source == SHAPE else value)  # a number where a tensor could be
        self._saved = saved
        if PUSHED and default_hooks.pairs:
            for each in saved:
                if isinstance(each, KEEPERS):
                    each.pack_by_default(self)

    def save_results(self, results: Sequence[Tensor]) -> None:
        """Completes a node that was recorded before its op wrote to its results."""
        self.outputs = [(each._array.shape, each._dtype) for each in results]
        for slot, (source, index) in enumerate(self._plan.saved):
            if source == RESULT:
                self._saved[slot] = kept = SavedTensor(results[index], True)
                kept.output_number = index
                if PUSHED and default_hooks.pairs:
                    kept.pack_by_default(self)

    def name(self) -> str:
        return self.full_name

    def apply(self, grads: Gradients) -> Gradients:
        if grads[0] is None and all(each is None for each in grads):
            return [None] * len(self.edges)
        saved = self._unpack()
        gradients: list[Tensor | None] = [None] * len(self.edges)
        for formula, sources, slots, needs in self._plan.calls:
            values = []
            for kind, index in sources:
                if kind < GRAD:
                    values.append(saved[index])
                else:
                    values.append(grads[0] if kind == GRAD else needs if kind == MASK else grads)
            result = formula(*values)
            if slots is None:
                gradients = list(result)
            elif len(slots) == 1:
                gradients[slots[0]] = result
            else:
                for slot, each in zip(slots, result, strict=True):
                    gradients[slot] = each
        return gradients

    def _unpack(self) -> list[Any]:
        if len(self._saved) < len(self._plan.saved):
            raise RuntimeError(FREED)
        if not self._plan.saves_tensors:
            return self._saved
        return [
            each.unpack(self) if each.__class__ is SavedTensor or each.__class__ is SavedTensors else each
            for each in self._saved
        ]

    def release(self) -> None:
        plan = self._plan
        if not plan.saves_tensors:
            return
        if plan.may_save_number and not any(isinstance(each, SavedTensor) for each in self._saved):
            return  # nothing but a number, such as lerp's weight
        self._saved = self._saved[: plan.kept]
