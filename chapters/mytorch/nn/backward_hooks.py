"""Hooks that see the gradients at the border of a module."""

# 09 · Modules and parameters
from __future__ import annotations

from typing import Any

from ..autograd import Function, is_grad_enabled
from ..dispatch import Function as Callback
from ..tensor import Tensor


class BackwardHookFunction(Function):
    """The identity. Its node stands where gradients leave or enter a module."""

    forward = staticmethod(lambda ctx, *args: args)
    backward = staticmethod(lambda ctx, *grads: grads)


class Call:
    """One call of a module, between two borders: gradients come in at the outputs, and leave at the inputs."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grad_output: tuple[Any, ...] = ()
        self.waits_for_inputs = False

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, behind a border that shows their gradients to the hooks."""
        watched = through_border(args, lambda grad_input, _: self.run_hooks(grad_input))
        self.waits_for_inputs = watched is not args
        return watched

    def leave(self, result: Any) -> Any:
        """The result, behind a border that keeps its gradients for the hooks, and runs them if no input has one."""

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
    """The values, behind a node that asks `show(grads, arrived)` which gradients go on; as they are if none does."""
    places = [place for place, each in enumerate(values) if isinstance(each, Tensor) and each.requires_grad]
    if not places or not is_grad_enabled():
        return values
    behind = BackwardHookFunction.apply(*(values[place] for place in places))

    def spread(watched: Any, others: tuple[Any, ...]) -> tuple[Any, ...]:
        by_place = dict(zip(places, watched, strict=True))
        return tuple(by_place.get(place, other) for place, other in enumerate(others))

    def hook(grads: Any, arrived: Any) -> tuple[Any, ...]:
        nothing = (None,) * len(values)
        going_on = show(spread(grads, nothing), spread(arrived, nothing))
        return tuple(going_on[place] for place in places)

    behind[0].grad_fn.register_hook(hook)
    return spread(behind, values)
