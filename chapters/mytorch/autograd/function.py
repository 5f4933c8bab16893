"""Operations whose backward is written by hand."""

# 07 · Backward in depth
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..creation import zeros
from ..tensor import Tensor
from .grad_mode import no_grad
from .node import Mode, Node, attach, detach, edge_of
from .recording import RELEASED, Rules


class Context:
    """What `forward` passes to `backward`: attributes as you like, and tensors through `save_for_backward`.

    `needs_input_grad` has a boolean for each argument of `forward`.
    """

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.needs_input_grad = tuple(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        self.to_save: tuple[Tensor | None, ...] = ()
        self.node: weakref.ref[FunctionNode] | None = None  # the node holds this context; both would hold each other

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors: inputs, results, or others. What an input or a result holds is checked for later writes."""
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors that were kept.

        Raises:
            RuntimeError: an earlier backward pass has released them, or one was written to since.
        """
        node = None if self.node is None else self.node()
        return () if node is None else node.saved_tensors()


class Function:
    """A differentiable operation: write two static methods, and call `apply`.

    `forward(ctx, *args)` computes a tensor or a tuple of tensors; nothing in it is recorded.
    `backward(ctx, *grads)` takes a gradient for each result and gives one for each argument of `forward`,
    None for what has none. It is recorded when the backward pass is, so that it can be differentiated if
    it is made of operations.
    """

    @staticmethod
    def forward(ctx: Context, *args: Any) -> Any:
        """Compute the results."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Context, *grads: Any) -> Any:
        """Compute the gradients of the arguments."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function"
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run `forward`, and leave a node behind if a tensor among the arguments requires a gradient.

        A result that is one of the arguments is made a tensor of its own, so that the argument keeps its
        history.
        """
        ctx = Context(args)
        with no_grad():
            returned = cls.forward(ctx, *args)
        results = returned if isinstance(returned, tuple) else (returned,)
        if Mode.enabled and any(ctx.needs_input_grad):
            results = tuple(detach(x) if any(x is arg for arg in args) else x for x in results)
            node = FunctionNode(cls, ctx, args)
            attach([x for x in results if x.is_floating_point()], node)
            node.keep(ctx.to_save, results)
            ctx.node = weakref.ref(node)
        return results if isinstance(returned, tuple) else results[0]


class FunctionNode(Node):
    """The node of a `Function`: calls its `backward`."""

    def __init__(self, function: type[Function], ctx: Context, args: tuple[Any, ...]) -> None:
        super().__init__(
            f"{function.__name__}Backward", [edge_of(arg) if isinstance(arg, Tensor) else None for arg in args]
        )
        self.function, self.ctx = function, ctx
        self.kept: Any = ()

    def keep(self, tensors: tuple[Tensor | None, ...], results: tuple[Tensor, ...]) -> None:
        """Keep what `forward` asked for; results without their history."""
        self.kept = tuple(
            None if each is None else Rules.kept(each, any(each is result for result in results)) for each in tensors
        )

    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was kept."""
        if self.kept is RELEASED:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
                "if you need to access saved tensors after calling backward."
            )
        return tuple(None if each is None else each.give_back(self) for each in self.kept)

    def apply(self, *grads: Tensor | None) -> Sequence[Tensor | None]:
        """Call `backward`, with zeros for gradients that never came.

        Raises:
            RuntimeError: it returned another number of gradients than `forward` has arguments (more are
                fine if the rest are None), or one whose shape is not that of its argument and cannot be
                broadcast from it.
        """
        given = [
            zeros(shape, dtype=dtype, device=device) if grad is None else grad
            for grad, (shape, dtype, device) in zip(grads, self.outputs, strict=True)
        ]
        returned = self.function.backward(self.ctx, *given)
        found = returned if isinstance(returned, tuple) else (returned,)
        expected = len(self.edges)
        if len(found) < expected or any(grad is not None for grad in found[expected:]):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients "
                f"(expected {expected}, got {len(found)})"
            )
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
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index {place} - got {list(found)} but expected shape "
            f"compatible with {list(wanted)}"
        )
