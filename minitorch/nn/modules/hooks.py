"""Functions of the user that run around a module's forward and backward.

Source: https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.hooks import RemovableHandle
from minitorch.nn.modules.node_hooks import watch_node
from minitorch.tensor import Tensor

if TYPE_CHECKING:
    from minitorch.nn.modules.module import Module

Hook = Callable[..., Any]


Hooks = OrderedDict[int, Hook]
"""Hooks by number, in the order in which they run."""
Marks = OrderedDict[int, bool]
"""The numbers of hooks that want something special."""

forward_pre_hooks: Hooks = OrderedDict()
forward_hooks: Hooks = OrderedDict()
forward_hooks_with_kwargs: Marks = OrderedDict()
forward_hooks_always_called: Marks = OrderedDict()
backward_pre_hooks: Hooks = OrderedDict()
backward_hooks: Hooks = OrderedDict()
node_backward_hooks: Hooks = OrderedDict()
module_registration_hooks: Hooks = OrderedDict()
buffer_registration_hooks: Hooks = OrderedDict()
parameter_registration_hooks: Hooks = OrderedDict()
"""The hooks of all modules. A module's own are its attributes: they are pickled, so types and names are PyTorch's."""


def register(hooks: Hooks, hook: Hook, prepend: bool = False, marks: Sequence[Marks] = ()) -> RemovableHandle:
    """Puts a hook last, or first, and its number into `marks`."""
    handle = RemovableHandle(hooks, hook, marks)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _chosen(marks: Marks, wanted: bool) -> tuple[Marks, ...]:
    return (marks,) if wanted else ()


def registered(hooks: Hooks, module: Module, name: str, value: Any) -> Any:
    """What becomes of a value that is about to be registered, after the global hooks for that have seen it."""
    for hook in hooks.values():
        result = hook(module, name, value)
        if result is not None:
            value = result
    return value


class ModuleHooks:
    """The part of Module that has hooks: how they are registered, and a call that runs them."""

    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Marks
    _forward_hooks_always_called: Marks
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Marks
    _backward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _is_full_backward_hook: bool | None
    forward: Callable[..., Any]

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Has `hook(module, args)` called before forward; what it returns, unless None, replaces the arguments.

        `with_kwargs`: `hook(module, args, kwargs)`, which returns None or both. `prepend`: before all other hooks.
        """
        return register(
            self._forward_pre_hooks, hook, prepend, _chosen(self._forward_pre_hooks_with_kwargs, with_kwargs)
        )

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Has `hook(module, args, output)` called after forward; what it returns, unless None, replaces the output.

        `with_kwargs`: `hook(module, args, kwargs, output)`. `always_call`: also when forward raises.
        """
        marks = (
            *_chosen(self._forward_hooks_with_kwargs, with_kwargs),
            *_chosen(self._forward_hooks_always_called, always_call),
        )
        return register(self._forward_hooks, hook, prepend, marks)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Has `hook(module, grad_input, grad_output)` called once the gradients of the module's inputs are known.

        What it returns, unless None, replaces `grad_input`. Both are tuples, None for what is no tensor.
        """
        return self._register_backward(hook, True, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Has `hook(module, grad_output)` called before the module's backward; a result replaces `grad_output`."""
        return register(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Has `hook(module, grad_input, grad_output)` called with the gradients of the output's node alone; deprecated.

        What it returns, unless None, replaces `grad_input`: the gradients of what the last operation took.
        """
        return self._register_backward(hook, False)

    def _register_backward(self, hook: Hook, full: bool, prepend: bool = False) -> RemovableHandle:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = full
        return register(self._backward_hooks, hook, prepend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or backward_hooks
            or backward_pre_hooks
            or forward_hooks
            or forward_pre_hooks
            or node_backward_hooks
        ):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = None
        called: set[int] = set()
        try:
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            backward = BackwardHook.of(self)
            if backward is not None:
                args = backward.watch_inputs(args)
            result = self.forward(*args, **kwargs)
            for hooks in (forward_hooks, self._forward_hooks):
                for number, hook in list(hooks.items()):
                    called.add(number)
                    replaced = self._call_forward_hook(number, hook, args, kwargs, result)
                    result = result if replaced is None else replaced
            result = result if backward is None else backward.watch_outputs(result)
            own = {} if self._is_full_backward_hook else self._backward_hooks
            on_node = [*node_backward_hooks.values(), *own.values()]
            if on_node:
                watch_node(self, on_node, args, result)
            return result
        except Exception:
            for hooks, always in (
                (forward_hooks, forward_hooks_always_called),
                (self._forward_hooks, self._forward_hooks_always_called),
            ):
                for number in [number for number in hooks if number in always and number not in called]:
                    try:
                        replaced = self._call_forward_hook(number, hooks[number], args, kwargs, result)
                        result = result if replaced is None else replaced
                    except Exception as error:
                        warnings.warn(
                            f"{'global ' if hooks is forward_hooks else ''}module forward hook with "
                            "``always_call=True`` "
                            f"raised an exception that was silenced as another error was raised in forward: {error}",
                            stacklevel=2,
                        )
            raise

    def _call_forward_hook(self, number: int, hook: Hook, args: Any, kwargs: dict[str, Any], result: Any) -> Any:
        if number in self._forward_hooks_with_kwargs or number in forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_forward_pre_hooks(self, args: Any, kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for hooks in (forward_pre_hooks, self._forward_pre_hooks):
            for number, hook in list(hooks.items()):
                if number not in self._forward_pre_hooks_with_kwargs:
                    replaced = hook(self, args)
                    if replaced is not None:
                        args = replaced if isinstance(replaced, tuple) else (replaced,)
                    continue
                replaced = hook(self, args, kwargs)
                if replaced is not None:
                    if not (isinstance(replaced, tuple) and len(replaced) == 2):
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                            f"{replaced}."
                        )
                    args, kwargs = replaced
        return args, kwargs


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

    @classmethod
    def of(cls, module: Any) -> BackwardHook | None:
        own = module._backward_hooks if module._is_full_backward_hook else {}
        hooks = [*backward_hooks.values(), *own.values()]
        pre_hooks = [*backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        return cls(module, hooks, pre_hooks) if hooks or pre_hooks else None

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


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """`register_forward_pre_hook` for all modules."""
    return register(forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """`register_forward_hook` for all modules."""
    marks = (*_chosen(forward_hooks_with_kwargs, with_kwargs), *_chosen(forward_hooks_always_called, always_call))
    return register(forward_hooks, hook, marks=marks)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """`register_full_backward_pre_hook` for all modules."""
    return register(backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """`register_full_backward_hook` for all modules."""
    return _register_for_all(backward_hooks, node_backward_hooks, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """`register_backward_hook` for all modules; deprecated."""
    return _register_for_all(node_backward_hooks, backward_hooks, hook)


def _register_for_all(hooks: Hooks, other_kind: Hooks, hook: Hook) -> RemovableHandle:
    if other_kind:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )
    return register(hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Has `hook(module, name, submodule)` called when any module gets a submodule; a result replaces it."""
    return register(module_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Has `hook(module, name, buffer)` called when any module gets a buffer; a result replaces it."""
    return register(buffer_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Has `hook(module, name, parameter)` called when any module gets a parameter; a result replaces it."""
    return register(parameter_registration_hooks, hook)
