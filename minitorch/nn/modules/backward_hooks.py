"""How a module's backward hooks see gradients: through nodes that stand at its border, or its output's own node.

Source: https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.tensor import Tensor

Hook = Callable[..., Any]


class BackwardHookFunction(Function):
    """The identity. It stands at the border of a module, so that hooks of its node see the gradients that cross it."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*(each for each in args if not each.requires_grad))
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return grads


class BackwardHook:
    """One call of a module, between two nodes: one sees the gradients of its outputs, one those of its inputs."""

    def __init__(self, module: Any, hooks: Sequence[Hook], pre_hooks: Sequence[Hook]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: Any = None
        self.inputs: list[int] | None = None
        self.outputs: list[int] | None = None
        self.input_count = self.output_count = 0

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        args, self.inputs = _through_identity(args, self._at_inputs)
        self.input_count = len(args)
        return args

    def watch_outputs(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                f"but received {type(result)}",
                stacklevel=4,
            )
        values, self.outputs = _through_identity(result if isinstance(result, tuple) else (result,), self._at_outputs)
        self.output_count = len(values)
        return values if isinstance(result, tuple) else values[0]

    def _at_outputs(self, _: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        assert self.outputs is not None
        seen: Any = _spread(self.outputs, grads, self.output_count)
        for hook in self.pre_hooks:
            replaced = hook(self.module, seen)
            if replaced is None:
                continue
            if len(replaced) != self.output_count:
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(replaced)}, but expected {self.output_count}"
                )
            seen = replaced
        self.grad_outputs = seen
        if self.inputs is None:
            self._without_input_gradients()
        return tuple(seen[index] for index in self.outputs)

    def _without_input_gradients(self) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details.",
            stacklevel=5,
        )
        for hook in self.hooks:
            replaced = hook(self.module, (None,) * self.input_count, self.grad_outputs)
            if replaced is not None and not (isinstance(replaced, tuple) and all(each is None for each in replaced)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None "
                    "for all gradients."
                )
        self.grad_outputs = None

    def _at_inputs(self, grads: tuple[Any, ...], _: Any) -> tuple[Any, ...] | None:
        if self.grad_outputs is None or self.inputs is None:
            return None  # the gradients came past the outputs, as those of second derivatives do
        seen: Any = _spread(self.inputs, grads, self.input_count)
        for hook in self.hooks:
            replaced = hook(self.module, seen, self.grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != self.input_count:
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(replaced)}, but expected {self.input_count}"
                )
            seen = replaced
        self.grad_outputs = None
        return tuple(seen[index] for index in self.inputs)


def _spread(indices: Sequence[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """A tuple of `count` with the values at the indices and None elsewhere."""
    spread: list[Any] = [None] * count
    for index, value in zip(indices, values, strict=True):
        spread[index] = value
    return tuple(spread)


def _through_identity(values: tuple[Any, ...], observe: Hook) -> tuple[tuple[Any, ...], list[int] | None]:
    """The values with their tensors led through a node whose gradients `observe` sees, and where these are.

    Where no gradient can come the values are left alone, and there is no node to say where.
    """
    indices = [index for index, each in enumerate(values) if isinstance(each, Tensor)]
    if not (grad_mode.enabled and any(values[index].requires_grad for index in indices)):
        return values, None
    tensors = BackwardHookFunction.apply(*(values[index] for index in indices))
    node = next(each.grad_fn for each in tensors if each.grad_fn is not None)

    def hook(inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> Any:  # whose name errors tell
        return observe(inputs, outputs)

    node.register_hook(hook)
    replaced = list(values)
    for index, tensor in zip(indices, tensors, strict=True):
        replaced[index] = tensor
    kind: Any = type(values)  # a named tuple stays one
    return (tuple(replaced) if kind is tuple else kind(*replaced)), indices


def watch_node(module: Any, hooks: Sequence[Hook], inputs: Any, result: Any) -> None:
    """Has `hook(module, grad_input, grad_output)` called with the gradients of the node of the (first) output."""
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(functools.partial(hook, module))
    if not _sees_all(inputs, result, node):
        warnings.warn(
            "Using a non-full backward hook is deprecated and will be removed in future versions. This hook will be "
            "missing some gradients. Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=5,
        )


def _sees_all(inputs: Any, result: Any, node: Any) -> bool:
    """Whether all gradients of the module's inputs and outputs are those of the node."""
    outputs, given = _tensors(result), _tensors(inputs)
    if outputs is None or given is None:
        return False
    before = {each.grad_fn for each in given} - {None}
    return {each.grad_fn for each in outputs} - {None} == {node} and before == {each for each, _ in node.next_functions}


def _tensors(values: Any) -> tuple[Tensor, ...] | None:
    """A tensor or a tuple of tensors as a tuple; None for anything else."""
    values = (values,) if isinstance(values, Tensor) else values
    return values if isinstance(values, tuple) and all(isinstance(each, Tensor) for each in values) else None
