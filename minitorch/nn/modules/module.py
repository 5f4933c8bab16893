"""Module: the base class of everything that has parameters.

Its tensors and submodules are found by assignment: `self.weight = Parameter(...)` is enough. How it is called, and all
of its hooks, are in `hooks`; how it is saved and loaded, in `state_dict`; how to get to what lies below it, in `tree`.
Source: https://pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

# ruff: noqa: I001 - names stand side by side
from __future__ import annotations

import itertools
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn.modules.conversion import conversion
from minitorch.nn.modules.hooks import (
    _WrappedHook, buffer_registration_hooks, module_registration_hooks, no_hooks,
    parameter_registration_hooks, register_module_backward_hook, register_module_buffer_registration_hook,
    register_module_forward_hook, register_module_forward_pre_hook, register_module_full_backward_hook,
    register_module_full_backward_pre_hook, register_module_module_registration_hook,
    register_module_parameter_registration_hook, registered,
)  # fmt: skip
from minitorch.nn.modules.state_dict import _EXTRA_STATE_KEY_SUFFIX, ModuleState, _IncompatibleKeys
from minitorch.nn.modules.tree import ModuleTree
from minitorch.nn.parameter import Buffer, Parameter, is_lazy
from minitorch.ops.creation.filled import empty_like
from minitorch.settings import typename
from minitorch.tensor import Tensor

__all__ = [
    "_EXTRA_STATE_KEY_SUFFIX", "Module", "_IncompatibleKeys", "_WrappedHook", "register_module_backward_hook",
    "register_module_buffer_registration_hook", "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip

Self = TypeVar("Self", bound="Module")


def _forward_unimplemented(self: Any, *input: Any) -> None:
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(ModuleTree, ModuleState):
    """A part of a model: it owns parameters, buffers and submodules, and maps inputs to outputs in `forward`.

    A call runs the hooks and `forward`, and returns what that returns, tensors of any shape. Assigning a Parameter, a
    Buffer or a Module to an attribute registers it. Raises AttributeError for an assignment before `Module.__init__`,
    TypeError for arguments of the constructor, NotImplementedError for a call without a `forward`.
    """

    training: bool
    call_super_init: bool = False
    dump_patches: bool = False
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        self.__dict__.update(_without_anything())  # not by assignment, which looks at these very dicts
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    # Registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Makes `param` (None: none yet) a parameter of this module, reachable as an attribute."""
        self._check_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                    "required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                    "forward() method."
                )
            param = registered(parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Makes `tensor` a buffer: state that is not trained. Only persistent buffers are in the state dict."""
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = registered(buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Makes `module` a submodule, reachable as an attribute."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = registered(module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: str, owner: str) -> None:
        if owner not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            got = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{got}')
        if not name:
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[owner]:
            raise KeyError(f"attribute '{name}' already exists")

    # Attributes

    def __getattr__(self, name: str) -> Any:
        attributes = self.__dict__
        for owner in ("_parameters", "_buffers", "_modules"):
            if owner in attributes and name in attributes[owner]:
                return attributes[owner][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        parameters, modules, buffers = (attributes.get(each) for each in ("_parameters", "_modules", "_buffers"))
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, parameters)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, modules)
            modules[name] = registered(module_registration_hooks, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = registered(module_registration_hooks, self, name, value)
        elif buffers is not None and name in buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                    "expected)"
                )
            persistent = name not in self._non_persistent_buffers_set
            self.register_buffer(name, value, value.persistent if isinstance(value, Buffer) else persistent)
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        else:
            super().__setattr__(name, value)

    def _forget(self, name: str, new_owner: dict[str, Any]) -> None:
        """Removes what `name` meant until now, unless it is in `new_owner`."""
        for owner in (self.__dict__, self._parameters, self._buffers, self._modules):
            if owner is not new_owner:
                owner.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for owner in (self._parameters, self._buffers, self._modules):
            if name in owner:
                del owner[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    # What happens to the whole tree

    def apply(self: Self, fn: Callable[[Module], None]) -> Self:
        """Calls `fn` with every module below this one, and with this one last."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replaces the memory of every parameter, its gradient, and every buffer by `fn` of it."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            with no_grad():
                gradient = parameter._grad
                parameter.data = fn(parameter)
                if gradient is not None:
                    gradient.data = fn(gradient)
        for name, buffer in self._buffers.items():
            if is_lazy(buffer):
                buffer.data = fn(buffer)  # type: ignore[union-attr, arg-type]
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Moves all parameters and buffers to a device, floating point ones to a dtype too.

        Takes what `Tensor.to` takes, a memory format for those of four and five dimensions. Raises RuntimeError for
        `copy`, TypeError for a dtype that is not floating point or complex.
        """
        return self._apply(conversion(*args, **kwargs))

    def to_empty(self: Self, *, device: Any, recurse: bool = True) -> Self:
        """Moves all parameters and buffers to a device without copying their values."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse)

    def type(self: Self, dst_type: Any) -> Self:
        """Casts all parameters and buffers to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def cpu(self: Self) -> Self:
        """Moves all parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self: Self, device: Any = None) -> Self:
        """Moves all parameters and buffers to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def float(self: Self) -> Self:
        """Casts all floating point parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self: Self) -> Self:
        """Casts all floating point parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self: Self) -> Self:
        """Casts all floating point parameters and buffers to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self: Self) -> Self:
        """Casts all floating point parameters and buffers to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def train(self: Self, mode: bool = True) -> Self:
        """Sets training mode, in which dropout drops and batch normalization uses the batch, or evaluation mode."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Self) -> Self:
        """Sets evaluation mode."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Has all parameters take part in autograd, or none."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or fills them with zeros."""
        for parameter in self.parameters():
            if parameter._grad is None:
                continue
            if set_to_none:
                parameter._grad = None
            elif parameter._grad.grad_fn is not None:
                parameter._grad.detach_().zero_()
            else:
                parameter._grad.requires_grad_(False).zero_()

    def share_memory(self: Self) -> Self:
        """Moves all parameters and buffers to memory that processes can share."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Has calls of this module compiled, as `torch.compile` compiles it; its keys and type stay as they are."""
        self._compiled_call_impl = import_module("minitorch._dynamo.compiling").in_place(self, *args, **kwargs)

    # Printing and pickling

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What a subclass says about itself between the parentheses of its repr."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if len(own) == 1 and not children:
            return f"{self._get_name()}({own[0]})"
        if not own and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(itertools.chain(own, children)) + "\n)"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**_without_anything(), **state})  # an older version may have had fewer attributes


def _without_anything() -> dict[str, Any]:
    """The attributes of a module that has no parameters, no hooks and so on."""
    return {
        "training": True,
        "_parameters": {},
        "_buffers": {},
        "_non_persistent_buffers_set": set(),
        **no_hooks(),
        "_modules": {},
    }


def _addindent(s_: str, numSpaces: int) -> str:
    """All lines but the first and the empty ones moved right."""
    first, *rest = s_.split("\n")
    return "\n".join([first, *(" " * numSpaces + line if line.strip() else "" for line in rest)])
