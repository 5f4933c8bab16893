"""Functions of the user that run around a module's forward and backward.

Source: https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook
"""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from minitorch.autograd.hooks import RemovableHandle
from minitorch.nn.modules.backward_hooks import BackwardHook, watch_node

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


def no_hooks() -> dict[str, Any]:
    """The attributes of a module that has no hooks."""
    return {
        "_backward_pre_hooks": OrderedDict(),
        "_backward_hooks": OrderedDict(),
        "_is_full_backward_hook": None,
        "_forward_hooks": OrderedDict(),
        "_forward_hooks_with_kwargs": OrderedDict(),
        "_forward_hooks_always_called": OrderedDict(),
        "_forward_pre_hooks": OrderedDict(),
        "_forward_pre_hooks_with_kwargs": OrderedDict(),
        "_state_dict_hooks": OrderedDict(),
        "_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_post_hooks": OrderedDict(),
    }


def registered(hooks: Hooks, module: Module, name: str, value: Any) -> Any:
    """What becomes of a value that is about to be registered, after the global hooks for that have seen it."""
    for hook in hooks.values():
        result = hook(module, name, value)
        if result is not None:
            value = result
    return value


class _WrappedHook:
    """A hook before loading, and the module that it is called with, if it is; it doesn't keep the module alive."""

    def __init__(self, hook: Hook, module: Any = None) -> None:
        self.__setstate__({"hook": hook, "with_module": module is not None, "module": module})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


_WrappedHook.__module__ = "minitorch.nn.modules.module"  # its name in files


class ModuleHooks:
    """The part of Module that has hooks: how they are registered, and a call that runs those around it."""

    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Marks
    _forward_hooks_always_called: Marks
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Marks
    _backward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _is_full_backward_hook: bool | None
    _compiled_call_impl: Callable[..., Any] | None = None  # see `Module.compile`
    _state_dict_hooks: Hooks
    _state_dict_pre_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks
    _load_state_dict_post_hooks: Hooks
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

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Has `hook(module, prefix, keep_vars)` called before `state_dict` is filled."""
        return register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Has `hook(module, state_dict, prefix, local_metadata)` called after; it may change the dict."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return register(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Has `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`
        called before this module's tensors are loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        return register(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Has `hook(module, incompatible_keys)` called after this module is loaded; it may change the two lists."""
        return register(self._load_state_dict_post_hooks, hook)

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
            or (node_backward_hooks or self._compiled_call_impl)
        ):
            return self.forward(*args, **kwargs)
        return (self._compiled_call_impl or self._call_with_hooks)(*args, **kwargs)

    def _call_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        result = None
        called: set[int] = set()
        try:
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            backward = self._watching_backward()
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

    def _watching_backward(self) -> BackwardHook | None:
        own = self._backward_hooks if self._is_full_backward_hook else {}
        hooks = [*backward_hooks.values(), *own.values()]
        pre_hooks = [*backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        return BackwardHook(self, hooks, pre_hooks) if hooks or pre_hooks else None

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
