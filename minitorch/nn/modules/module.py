"""Module: the base class of everything that has parameters.

Its tensors and submodules are found by assignment: `self.weight = Parameter(...)` is enough. How it is called, and all
of its hooks, are in `hooks`; how a whole tree takes a state dict in, in `state_dict`.
Source: https://pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

# ruff: noqa: I001 - names stand side by side
from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn.modules.conversion import conversion
from minitorch.nn.modules.hooks import (
    ModuleHooks, _WrappedHook, buffer_registration_hooks, module_registration_hooks, no_hooks,
    parameter_registration_hooks, register_module_backward_hook, register_module_buffer_registration_hook,
    register_module_forward_hook, register_module_forward_pre_hook, register_module_full_backward_hook,
    register_module_full_backward_pre_hook, register_module_module_registration_hook,
    register_module_parameter_registration_hook, registered,
)  # fmt: skip
from minitorch.nn.modules.state_dict import EXTRA_STATE, _IncompatibleKeys, load, load_tensor
from minitorch.nn.parameter import Buffer, Parameter, is_lazy
from minitorch.ops.creation.filled import empty_like
from minitorch.settings import typename
from minitorch.tensor import Tensor

__all__ = [
    "Module", "_IncompatibleKeys", "_WrappedHook", "register_module_backward_hook",
    "register_module_buffer_registration_hook", "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip

Self = TypeVar("Self", bound="Module")

_UNREACHED = (
    "Reached a code path in Module.{}_extra_state() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)


def _forward_unimplemented(self: Any, *input: Any) -> None:
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(ModuleHooks):
    """A part of a model: it owns parameters, buffers and submodules, and maps inputs to outputs in `forward`."""

    training: bool
    call_super_init: bool = False
    dump_patches: bool = False
    _version: int = 1
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

    # What lies below, by path

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as "layers.0.linear". Raises AttributeError when there is none."""
        module: Any = self
        for name in target.split(".") if target else []:
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replaces the module at a path; without `strict`, adds it where there is none."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path. Raises AttributeError when there is none."""
        parameter: Any = self._at(target)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path. Raises AttributeError when there is none."""
        buffer: Tensor = self._at(target)
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    def _at(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return getattr(module, name)

    # What lies below, one after the other

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it with their paths, each once unless `remove_duplicate=False`."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The submodules that belong to this module directly, with their names, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The submodules that belong to this module directly."""
        for _, module in self.named_children():
            yield module

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their paths, each once unless `remove_duplicate=False`."""
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters of this module and, with `recurse`, of those below it."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their paths."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers of this module and, with `recurse`, of those below it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _named_members(
        self,
        members: Callable[[Module], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules: Iterable[tuple[str, Module]] = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            for name, member in members(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    # Saving and loading

    def get_extra_state(self) -> Any:
        """What a subclass wants in its state dict besides tensors; only called where a subclass defines it."""
        raise RuntimeError(_UNREACHED.format("get"))

    def set_extra_state(self, state: Any) -> None:
        """Takes back what `get_extra_state` gave."""
        raise RuntimeError(_UNREACHED.format("set"))

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._persistent_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if getattr(type(self), "get_extra_state", None) is not Module.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _persistent_state(self) -> dict[str, Tensor]:
        """This module's own parameters and persistent buffers, without those that are None."""
        buffers = {name: each for name, each in self._buffers.items() if name not in self._non_persistent_buffers_set}
        return {name: each for name, each in {**self._parameters, **buffers}.items() if each is not None}

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by their full names, detached unless `keep_vars`, not copied."""
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination, prefix = destination or given["destination"], prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # maps the prefix of each module to its version
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies the tensors of a state dict into the parameters and buffers of the same names.

        With `assign` the tensors of the dict themselves become the parameters. Returns the names that the dict
        lacks and those that it has too many. Raises RuntimeError for shapes that differ and, with `strict`, for these
        names.
        """
        return load(self, state_dict, strict, assign)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = self._persistent_state()
        for name, target in own.items():
            key = prefix + name
            if key in state_dict:
                assign = "assign_to_params_buffers" in local_metadata
                error = load_tensor(self, name, key, target, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + EXTRA_STATE
        if getattr(type(self), "set_extra_state", None) is not Module.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else own):
                        unexpected_keys.append(key)

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
