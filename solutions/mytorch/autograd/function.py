"""Operations whose backward is written by hand."""

# 07b · Vector–Jacobian products
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from .. import Tensor, zeros
from .grad_mode import no_grad
from .node import Mode, Node, attach, detach, edge_of
from .recording import RELEASED, Rules, already_released


class Context:
    """What `forward` passes to `backward`: attributes as you like, and tensors through `save_for_backward`."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.needs_input_grad = tuple(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        self.to_save: tuple[Tensor | None, ...] = ()
        self.node: weakref.ref[FunctionNode] | None = None  # the node holds this context; both would hold each other

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `backward`; like all that nodes keep, they are checked for later writes."""
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors that were kept."""
        node = None if self.node is None else self.node()
        return () if node is None else node.saved_tensors()


class Function:
    """A differentiable operation: write `forward` and `backward`, as static methods, and call `apply`."""

    @staticmethod
    def forward(ctx: Context, *args: Any) -> Any:
        """Compute a tensor or a tuple of tensors; nothing in it is recorded."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Context, *grads: Any) -> Any:
        """Compute a gradient, or None, for each argument of `forward`, from one for each result."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function "
            "to use it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run `forward`, and leave a node behind if a tensor among the arguments requires a gradient."""
        ctx = Context(args)
        with no_grad():
            returned = cls.forward(ctx, *args)
        results = returned if isinstance(returned, tuple) else (returned,)
        if Mode.enabled and any(ctx.needs_input_grad):
            # A result that is an argument becomes a tensor of its own: the argument keeps its history.
            results = tuple(detach(x) if any(x is arg for arg in args) else x for x in results)
            node = FunctionNode(cls, ctx, args)
            attach([x for x in results if x.is_floating_point()], node)
            node.keep(ctx.to_save, results)
            ctx.node = weakref.ref(node)
        return results if isinstance(returned, tuple) else results[0]


class FunctionNode(Node):
    """The node of a `Function`: calls its `backward`."""

    def __init__(self, function: type[Function], ctx: Context, args: tuple[Any, ...]) -> None:
        edges = [edge_of(arg) if isinstance(arg, Tensor) else None for arg in args]
        super().__init__(f"{function.__name__}Backward", edges)
        self.function, self.ctx = function, ctx
        self.kept: Any = ()

    def keep(self, tensors: tuple[Tensor | None, ...], results: tuple[Tensor, ...]) -> None:
        """Keep what `forward` asked for; results without their history."""
        self.kept = tuple(None if x is None else Rules.kept(x, any(x is each for each in results)) for x in tensors)

    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was kept."""
        if self.kept is RELEASED:
            raise already_released()
        return tuple(None if each is None else each.give_back(self) for each in self.kept)

    def apply(self, *grads: Tensor | None) -> Sequence[Tensor | None]:
        """Call `backward`, with zeros for gradients that never came."""
        given = [
            zeros(shape, dtype=dtype, device=device) if grad is None else grad
            for grad, (shape, dtype, device) in zip(grads, self.outputs, strict=True)
        ]
        returned = self.function.backward(self.ctx, *given)
        found = returned if isinstance(returned, tuple) else (returned,)
        expected = len(self.edges)
        if len(found) < expected or any(grad is not None for grad in found[expected:]):
            counts = f"(expected {expected}, got {len(found)})"
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients {counts}")
        for place, (grad, edge) in enumerate(zip(found, self.edges, strict=False)):
            if grad is not None and edge is not None:
                check_shape(self.name(), place, grad.shape, edge[0].outputs[edge[1]][0])
        return found[:expected]

    def release(self) -> None:
        """Forget the tensors that were kept, if there are any."""
        self.kept = RELEASED if self.kept else ()


def check_shape(name: str, place: int, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Refuse a gradient that is not what a tensor of the shape `wanted` was broadcast to."""
    inner = found[len(found) - len(wanted) :] if len(found) >= len(wanted) else None
    if inner is None or any(want not in (1, length) for length, want in zip(inner, wanted, strict=True)):
        shapes = f"got {list(found)} but expected shape compatible with {list(wanted)}"
        raise RuntimeError(f"Function {name} returned an invalid gradient at index {place} - {shapes}")
