"""Derivatives of operators that users define: one autograd function for each operator.

Source: https://docs.pytorch.org/docs/stable/library.html#torch.library.register_autograd
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dispatch.overriding import flat
from minitorch.library.conversion import with_defaults
from minitorch.tensor import Tensor

if TYPE_CHECKING:
    from minitorch.library.operators import OpOverload


_NO_AUTOGRAD = (
    "{}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through it. This "
    "may lead to silently incorrect behavior. This behavior is deprecated and will be removed in a future version of "
    "PyTorch. If your operator is differentiable, please ensure you have registered an autograd kernel to the correct "
    "Autograd key (e.g. DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). If your operator is not "
    "differentiable, or to squash this warning and use the previous behavior, please register "
    "torch::CppFunction::makeFallthrough() to DispatchKey::Autograd."
)


class GradientFormula:
    """How the gradient of an operator is computed: the functions that `register_autograd` got.

    Args:
        backward: called with a context and the gradients of the results; returns one for each argument by position.
        setup_context: called with the context, `inputs`, `output`, and `keyword_only_inputs` where there are some.
    """

    def __init__(
        self, backward: Callable[..., Any] | None = None, setup_context: Callable[..., Any] | None = None
    ) -> None:
        self.backward, self.setup_context = backward, setup_context
        self.function: type[Function] | None = None

    @property
    def differentiates(self) -> bool:
        """Whether a backward pass gets through."""
        return self.backward is not None

    def applies(self, args: Sequence[Any]) -> bool:
        """Whether a call is recorded: autograd is on, and an argument by position needs a gradient."""
        return grad_mode.enabled and any(
            isinstance(each, Tensor) and each.requires_grad
            for value in args
            for each in (value if isinstance(value, list) else (value,))
        )

    def apply(self, operator: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The operator's results, recorded as one node."""
        if self.function is None:
            self.function = _function(operator, self)
        call = OperatorCall(args, kwargs)
        results = self.function.apply(
            call, *(each for value in args for each in (value if isinstance(value, list) else (value,)))
        )
        return list(results) if call.is_list else results


class AutogradKernel(GradientFormula):
    """A kernel of the key Autograd: it records as it likes, and calls the operator below autograd itself."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        super().__init__()
        self.kernel = kernel

    @property
    def differentiates(self) -> bool:
        return True

    def apply(self, operator: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self.kernel(*args, **kwargs)


class Unrecorded(GradientFormula):
    """No kernel for autograd: what the operator's own kernel records is used, with a warning in the backward pass."""

    def apply(self, operator: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        results = operator.compute(args, kwargs)

        def warn(grad: Tensor) -> None:
            warnings.warn(_NO_AUTOGRAD.format(operator.name()), stacklevel=1)

        for each in flat([results]):
            if isinstance(each, Tensor) and each.requires_grad and not any(each is arg for arg in flat(args)):
                each.register_hook(warn)
        return results


UNRECORDED = Unrecorded()


class OperatorCall:
    """What the function of an operator gets beside tensors: where lists of them were, and the other arguments."""

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.kwargs = kwargs
        self.lengths = [len(each) if isinstance(each, list) else None for each in args]
        self.is_list = False

    def nested(self, values: Sequence[Any]) -> list[Any]:
        """Flat values in the lists that the arguments were in."""
        rest = iter(values)
        return [next(rest) if n is None else [next(rest) for _ in range(n)] for n in self.lengths]


def _function(operator: OpOverload, formula: GradientFormula) -> type[Function]:
    """The autograd function of an operator, named as PyTorch names it."""

    def forward(ctx: Any, call: OperatorCall, *flat: Any) -> Any:
        args = call.nested(flat)
        results = operator.compute(args, call.kwargs)
        call.is_list = isinstance(results, list)
        ctx.call = call
        if formula.setup_context is not None:
            inputs, keywords = with_defaults(operator._schema, args, call.kwargs)
            given = {"keyword_only_inputs": keywords} if keywords else {}
            formula.setup_context(ctx=ctx, inputs=inputs, output=results, **given)
        return tuple(results) if call.is_list else results

    def backward(ctx: Any, *grads: Any) -> Any:
        if formula.backward is None:
            raise RuntimeError(
                f"Trying to backward through {operator} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        call, needed = ctx.call, ctx.needs_input_grad
        ctx.needs_input_grad = tuple(call.nested(needed[1:]))
        try:
            found = formula.backward(ctx, list(grads)) if call.is_list else formula.backward(ctx, *grads)
        finally:
            ctx.needs_input_grad = needed
        gradients = found if isinstance(found, tuple) else (found,)
        flat: list[Any] = []
        for n, each in zip(call.lengths, gradients, strict=False):
            flat += [each] if n is None else [None] * n if each is None else list(each)
        return None, *flat, *gradients[len(call.lengths) :]

    name = f"GeneratedBackwardFor_{operator.namespace}_{operator.overloadpacket.__name__}_{operator._overloadname}"
    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
