"""A function that a transform differentiates, as autograd recorded it.

The arguments are new to autograd: aliases of those given, so that a gradient with respect to them is none with respect
to another tensor on the same memory, nor to the same tensor in an outer transform. Inside `vmap`, autograd records what
happens to the values of all examples; there each example gets arguments of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autograd.engine import count_dependencies
from minitorch.autograd.grad_mode import inference_mode
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.node import AccumulateGrad, gradient_edge
from minitorch.autograd.passes import grad
from minitorch.dispatch.batched import Batched, levels, lowered, raised
from minitorch.dispatch.layers import without
from minitorch.dtypes import FLOATING
from minitorch.tensor import Tensor
from minitorch.utils._pytree import tree_flatten, tree_map, tree_unflatten


class Tape:
    """One run of a function, recorded.

    Args:
        inputs: a tree of tensors with respect to which it is differentiated.

    Attributes:
        inputs: the same tree of new tensors, for the function to be called with.
        sources: its leaves as autograd knows them: with all examples of the running `vmap`s.
        own: the tensors that only this transform knows, among them the sources.
    """

    def __init__(self, inputs: Any) -> None:
        self.recorded = grad_mode.enabled
        self.levels = levels()
        leaves, self.spec = tree_flatten(inputs)
        self.sources = [self._new(each) for each in leaves]
        self.own = list(self.sources)
        self.inputs = tree_unflatten([self.seen(each) for each in self.sources], self.spec)

    def _new(self, tensor: Any) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
        if tensor._dtype.category < FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        value = self.whole(tensor)
        with without(self.levels), inference_mode(False):
            if value.is_inference():
                value = value.clone()
            if value.requires_grad and self.recorded:
                return value.view_as(value)
            return value.detach().requires_grad_()

    def whole(self, tensor: Tensor) -> Tensor:
        """A tensor with all examples first."""
        return lowered(tensor, self.levels)

    def seen(self, value: Tensor) -> Tensor:
        """A tensor with all examples first as the function sees it."""
        return raised(value, self.levels)

    def run(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """What the function returns, recorded whatever the mode is outside."""
        with inference_mode(False):
            return function(*args)

    def released(self, tree: Any) -> Any:
        """Results as they are known outside: with a history if it leads to other tensors than the inputs."""
        return tree_map(lambda each: self._released(each) if isinstance(each, Tensor) else each, tree)

    def _released(self, tensor: Tensor) -> Tensor:
        return tensor if self.recorded and self.leads_outside(self.whole(tensor)) else tensor.detach()

    def leads_outside(self, value: Tensor) -> bool:
        """Whether a whole tensor depends on one that requires a gradient outside of the transform."""
        while isinstance(value, Batched):
            value = value._value
        edge = gradient_edge(value) if value.requires_grad else None
        return edge is not None and any(
            node.__class__ is AccumulateGrad and not any(node.variable is each for each in self.own)
            for node in count_dependencies([edge[0]])
        )

    def is_reached_from(self, value: Tensor) -> bool:
        """Whether a whole tensor depends on the inputs."""
        if not value.requires_grad:
            return False
        found = grad([value], self.sources, [value.new_zeros(value.shape)], True, allow_unused=True)
        return any(each is not None for each in found)

    def gradients(
        self, outputs: Sequence[Tensor], weights: Sequence[Tensor], inputs: Sequence[Tensor], create_graph: bool
    ) -> list[Tensor]:
        """The gradients of whole tensors with respect to others, zeros where there are none."""
        pairs = [pair for pair in zip(outputs, weights, strict=True) if pair[0].requires_grad]
        if not pairs:
            return [each.new_zeros(each.shape) for each in inputs]
        recorded, given = zip(*pairs, strict=True)
        with inference_mode(False):
            found = grad(recorded, inputs, given, True, create_graph, allow_unused=True)
        return [
            each.new_zeros(each.shape) if gradient is None else gradient
            for gradient, each in zip(found, inputs, strict=True)
        ]
