"""Module: what has parameters, and maps inputs to outputs in `forward`."""

# 09 · Modules and parameters
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partialmethod
from typing import Any, NamedTuple, Self

from ..autograd import no_grad
from ..autograd.hooks import RemovableHandle
from ..checks import refuse
from ..dispatch import Function
from ..settings import dtype as DType
from ..settings import float16, float32, float64
from ..tensor import Tensor
from .backward_hooks import Call
from .parameter import Parameter, UninitializedParameter
from .words import indented, refused, unregistered, written

Named = Iterator[tuple[str, Any]]
"""Full names, such as "layers.0.weight", each with what it names."""


class _IncompatibleKeys(NamedTuple):
    """The names that a state dict lacked, and those that the module has no place for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        keys = f"missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys}"
        return f"_IncompatibleKeys({keys})" if any(self) else "<All keys matched successfully>"


class Module:
    """The base of all layers and models: parameters, modules and buffers are entered in three tables, by name."""

    def __init__(self) -> None:
        self.__dict__.update(training=True, _parameters={}, _modules={}, _buffers={}, _not_saved=set())
        self.__dict__.update(_forward_pre_hooks={}, _forward_hooks={}, _backward_hooks={})

    # Registration

    def __setattr__(self, name: str, value: Any) -> None:
        """Store a value in the table that it belongs to, or in `__dict__` as an ordinary attribute."""
        for table, kind in (("_parameters", Parameter), ("_modules", Module), ("_buffers", ())):
            if isinstance(value, kind):
                if table not in self.__dict__:
                    what = "parameters" if kind is Parameter else "module"
                    raise AttributeError(f"cannot assign {what} before Module.__init__() call")
                for place in (self.__dict__, self._parameters, self._modules, self._buffers):
                    if place is not self.__dict__[table]:
                        place.pop(name, None)
                self.__dict__[table][name] = value
                return
            if name in self.__dict__.get(table, ()):
                if value is not None and not (table == "_buffers" and isinstance(value, Tensor)):
                    raise TypeError(refused(name, value, table))
                self.__dict__[table][name] = value
                return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """Look a name up in the tables; Python calls this only for names that ordinary lookup doesn't find."""
        for table in ("_parameters", "_modules", "_buffers"):
            if name in self.__dict__.get(table, ()):
                return self.__dict__[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._modules, self._buffers):
            if name in table:
                del table[name]
                return
        object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Make `param` a parameter of this name; None is a place for one that this module doesn't have."""
        self._register("parameter", name, param, Parameter)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make `tensor` a buffer: state that isn't trained. One that isn't persistent is not in the state dict."""
        self._register("buffer", name, tensor, Tensor)
        (self._not_saved.discard if persistent else self._not_saved.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Make `module` a submodule of this name."""
        self._register("module", name, module, Module)

    register_module = add_module

    def _register(self, kind: str, name: str, value: Any, type_: type) -> None:
        """Enter a value of this type, or None, in the table of its kind. A name with a dot can't be registered."""
        table = getattr(self, f"_{kind}s")
        refuse(not (value is None or isinstance(value, type_)), unregistered(kind, name, value), TypeError)
        refuse(not name, f'{kind} name can\'t be empty string ""', KeyError)
        found = f", got: {name}" if kind == "module" else ""
        refuse("." in name, f'{kind} name can\'t contain "."{found}', KeyError)
        refuse(hasattr(self, name) and name not in table, f"attribute '{name}' already exists", KeyError)
        table[name] = value

    # Names

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Named:
        """Yield this module, named `prefix`, and all its descendants as pairs ("layers.0", module), parents first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def named_members(self, members: Function, prefix: str, recurse: bool, remove_duplicate: bool) -> Named:
        """Yield the entries of `members(module)` for this module and, if `recurse`, its descendants, by full names."""
        seen = set()
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for name, member in members(module).items():
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Named:
        """All parameters with their names; one that is shared comes once."""
        return self.named_members(lambda module: module._parameters, prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Named:
        """All buffers with their names."""
        return self.named_members(lambda module: module._buffers, prefix, recurse, remove_duplicate)

    def named_children(self) -> Named:
        """The modules directly below this one."""
        return self.named_members(lambda module: module._modules, "", False, True)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, as an optimizer takes them."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def children(self) -> Iterator[Module]:
        """The modules directly below this one."""
        return (module for _, module in self.named_children())

    def get_submodule(self, target: str) -> Module:
        """Return the module with a full name such as "layers.0"; for an empty name, this module."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    # State

    def saved_members(self) -> dict[str, Any]:
        """Return this module's own parameters and persistent buffers in one dict."""
        return self._parameters | {name: each for name, each in self._buffers.items() if name not in self._not_saved}

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Tensor]:
        """Return all parameters and persistent buffers by their full names. They share the module's memory."""
        named = self.named_members(Module.saved_members, "", True, False)
        return OrderedDict((prefix + name, tensor if keep_vars else tensor.detach()) for name, tensor in named)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> _IncompatibleKeys:
        """Copy the tensors of a state dict into the parameters and buffers of the same names."""
        own = self.state_dict(keep_vars=True)
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        errors = [load(name, target, state_dict[name]) for name, target in own.items() if name in state_dict]
        if strict:
            for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
                listed = ", ".join(f'"{name}"' for name in names)
                errors.insert(0, f"{kind} key(s) in state_dict: {listed}. " if names else "")
        if any(errors):
            listed = "\n\t".join(filter(None, errors))
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing, unexpected)

    # The whole tree at once

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` with every descendant of this module, and with the module itself last. Returns this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor]) -> Self:
        """Give every parameter, its gradient and every buffer what `fn` returns; parameters stay the same objects."""
        for module in self.modules():
            for parameter in module.parameters(recurse=False):
                parameter.data = fn(parameter.data)
                if parameter.grad is not None:
                    parameter.grad.data = fn(parameter.grad.data)
            for name, buffer in module._buffers.items():
                module._buffers[name] = None if buffer is None else fn(buffer)
        return self

    def to(self, target: Any = None, dtype: Any = None, *, device: Any = None) -> Self:
        """Move parameters and buffers to a device, those of floating-point numbers to a type; returns this module."""
        where, type_ = (device, target) if isinstance(target, DType) else (device if target is None else target, dtype)
        if type_ is not None and not type_.is_floating_point:
            wanted = "floating point or complex dtypes"
            raise TypeError(f"nn.Module.to only accepts {wanted}, but got desired dtype={type_}")
        return self._apply(lambda x: x.to(where, type_ if x.is_floating_point() else None))

    cpu = partialmethod(to, "cpu")
    half = partialmethod(to, float16)
    float = partialmethod(to, float32)
    double = partialmethod(to, float64)

    def cuda(self, device: Any = None) -> Self:
        """Move everything to a GPU, the current one if none is named."""
        return self._apply(lambda x: x.cuda(device))

    def train(self, mode: bool = True) -> Self:
        """Set training mode, which dropout and batch normalization look at, or evaluation mode."""
        for module in self.modules():
            module.training = mode
        return self

    eval = partialmethod(train, False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Have all parameters take part in autograd, or none."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or fill them with zeros if `set_to_none` is false."""
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    # Calling

    def forward(self, *args: Any) -> Any:
        """What a subclass computes."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` between the hooks."""
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        call = Call(self) if self._backward_hooks else None
        args = args if call is None else call.enter(args)
        result = self.forward(*args, **kwargs)
        for hook in list(self._forward_hooks.values()):
            changed = hook(self, args, result)
            result = result if changed is None else changed
        return result if call is None else call.leave(result)

    def register_forward_pre_hook(self, hook: Function) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; what it returns, unless None, are the arguments."""
        return RemovableHandle(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Function) -> RemovableHandle:
        """Call `hook(module, args, result)` after `forward`; what it returns, unless None, is the result."""
        return RemovableHandle(self._forward_hooks, hook)

    def register_full_backward_hook(self, hook: Function) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` in the backward pass; what it returns, unless None, goes on."""
        return RemovableHandle(self._backward_hooks, hook)

    # Printing

    _shown: tuple[str, ...] = ()
    """The options that the printed form shows."""

    def extra_repr(self) -> str:
        """What stands between the parentheses: "name=value" for each option; of a parameter, whether there is one."""
        options = {name: getattr(self, name) for name in self._shown}
        options |= {name: options[name] is not None for name in options if name in self._parameters}
        return ", ".join(f"{name}={value!r}" for name, value in options.items())

    def __repr__(self) -> str:
        lines = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        return written(type(self).__name__, self.extra_repr(), lines)


def load(name: str, target: Tensor, source: Any) -> str:
    """Copy the tensor `source` of a state dict into the module's own, `target`; returns "" or an error message."""
    if not isinstance(source, Tensor):
        wanted = "torch.Tensor or Tensor-like object from checkpoint"
        return f'While copying the parameter named "{name}", expected {wanted} but received {type(source)}'
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        shapes = f"shape {source.shape} from checkpoint, the shape in current model is {target.shape}"
        return f"size mismatch for {name}: copying a param with {shapes}."
    with no_grad():
        target.copy_(source)
    return ""
