"""Hooks that see the gradients at the border of a module."""

# 09 · Modules and parameters
from __future__ import annotations

from typing import Any

from ..autograd import Function, is_grad_enabled
from ..dispatch import Function as Callback
from ..tensor import Tensor


class BackwardHookFunction(Function):
    """The identity. Its node stands where gradients leave or enter a module."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """The arguments as they are."""
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients as they are."""
        return grads


class Call:
    """One call of a module, between two borders: gradients come in at the outputs, and leave at the inputs."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grad_output: tuple[Any, ...] = ()
        self.waits_for_inputs = False

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, behind a border that shows their gradients to the hooks."""

        def gradients_leave(grad_input: tuple[Any, ...], _: Any) -> tuple[Any, ...]:
            return self.run_hooks(grad_input)

        watched = through_border(args, gradients_leave)
        self.waits_for_inputs = watched is not args
        return watched

    def leave(self, result: Any) -> Any:
        """The result, behind a border that keeps its gradients for the hooks.

        If no input requires a gradient, there is nothing to wait for: the hooks run there.
        """

        def gradients_come(going_on: tuple[Any, ...], grad_output: tuple[Any, ...]) -> tuple[Any, ...]:
            self.grad_output = grad_output
            if not self.waits_for_inputs:
                self.run_hooks((None,))
            return going_on

        if isinstance(result, tuple):
            return through_border(result, gradients_come)
        return through_border((result,), gradients_come)[0]

    def run_hooks(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        """Call each hook; what one returns, unless None, takes the place of `grad_input`."""
        for hook in list(self.module._backward_hooks.values()):
            changed = hook(self.module, grad_input, self.grad_output)
            grad_input = grad_input if changed is None else changed
        return grad_input


def through_border(values: tuple[Any, ...], show: Callback) -> tuple[Any, ...]:
    """The values, with those that require a gradient behind a border.

    In the backward pass `show(grads, arrived)` is called with two tuples that have an entry for each
    value: the gradients that go on, zeros where none arrived, and those that arrived, None where none did;
    both None for what requires no gradient. It returns what goes on. Without a value that requires a
    gradient they come back as they are.
    """
    places = [place for place, each in enumerate(values) if isinstance(each, Tensor) and each.requires_grad]
    if not places or not is_grad_enabled():
        return values
    behind = BackwardHookFunction.apply(*(values[place] for place in places))

    def spread(grads: Any) -> tuple[Any, ...]:
        by_place = dict(zip(places, grads, strict=True))
        return tuple(by_place.get(place) for place in range(len(values)))

    def hook(grads: Any, arrived: Any) -> tuple[Any, ...]:
        going_on = show(spread(grads), spread(arrived))
        return tuple(going_on[place] for place in places)

    behind[0].grad_fn.register_hook(hook)
    replaced = dict(zip(places, behind, strict=True))
    return tuple(replaced.get(place, each) for place, each in enumerate(values))
