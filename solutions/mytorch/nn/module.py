"""Module: what has parameters, and maps inputs to outputs in `forward`."""

# 09 · Modules and parameters
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from ..autograd import no_grad
from ..autograd.hooks import RemovableHandle
from ..dispatch import Function
from ..settings import dtype as DType
from ..tensor import Tensor
from .backward_hooks import Call
from .parameter import Parameter, UninitializedParameter
from .words import indented, refused, type_of, written

Self = TypeVar("Self", bound="Module")
Members = dict[str, Any]


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The names that a state dict lacked, and those that the module has no place for."""

    def __repr__(self) -> str:
        return super().__repr__() if any(self) else "<All keys matched successfully>"


class Module:
    """The base of all layers and models.

    A parameter, module or buffer that is assigned to an attribute is entered in one of three tables,
    `_parameters`, `_modules` and `_buffers`, and not in `__dict__`. Everything else follows from the
    tables: the names, the state dict, `to`, `train`.
    """

    training: bool

    def __init__(self) -> None:
        self.__dict__.update(training=True, _parameters={}, _modules={}, _buffers={}, _not_saved=set())
        self.__dict__.update(_forward_pre_hooks={}, _forward_hooks={}, _backward_hooks={})

    # Registration

    def __setattr__(self, name: str, value: Any) -> None:
        """Enter a value in the table it belongs to, or in `__dict__` like any attribute.

        A `Parameter` goes into `self._parameters`, a `Module` into `self._modules`, and the name leaves
        the other tables and `__dict__`. For any other value, a name that is in a table stays there: in
        `self._buffers` the value may be a tensor or None, in the other two only None. A module can't take
        the name of a parameter; the reverse is allowed.

        Raises:
            AttributeError: "cannot assign parameters before Module.__init__() call" (or "module"): no
                tables yet.
            TypeError: the name is in a table that this value can't be in; the message is
                `refused(name, value, table)`.
        """
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
        """What a table holds; Python asks here for what it finds neither in `__dict__` nor in the class."""
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
        self.check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type_of(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make `tensor` a buffer: state that isn't trained. One that isn't persistent is not in the state dict."""
        self.check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type_of(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        (self._not_saved.discard if persistent else self._not_saved.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Make `module` a submodule of this name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type_of(module)} is not a Module subclass")
        self.check_name("module", name, self._modules)
        self._modules[name] = module

    register_module = add_module

    def check_name(self, kind: str, name: str, table: Members) -> None:
        """Refuse a name with a dot, an empty one, and one that means something else already."""
        if "." in name or not name:
            found = f", got: {name}" if kind == "module" else ""
            raise KeyError(
                f'{kind} name can\'t contain "."{found}' if name else f'{kind} name can\'t be empty string ""'
            )
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    # Names

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module, named `prefix`, and all below it, each before those below it: ("layers.0", module).

        A module that can be reached in two ways comes once, under its first name, unless
        `remove_duplicate` is False.
        `memo` holds those that have come already. If `remove_duplicate`, each module is added to it.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def named_members(
        self, members: Callable[[Module], Members], prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        """What `members(module)` holds, of this module and, if `recurse`, of all below it, by full names.

        An entry that is None has no name. A member that occurs twice comes once, under its first name,
        unless `remove_duplicate` is False.
        """
        seen = set()
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for name, member in members(module).items():
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their names; one that is shared comes once."""
        return self.named_members(lambda module: module._parameters, prefix, recurse, remove_duplicate)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their names."""
        return self.named_members(lambda module: module._buffers, prefix, recurse, remove_duplicate)

    def named_children(self) -> Iterator[tuple[str, Module]]:
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
        """The module of a full name such as "layers.0"."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
        return module

    # State

    def saved_members(self) -> Members:
        """This module's own parameters and persistent buffers."""
        return self._parameters | {name: each for name, each in self._buffers.items() if name not in self._not_saved}

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Tensor]:
        """All parameters and persistent buffers by their full names. They share the module's memory.

        `saved_members` is what to take of each module. A tensor that has two names is in it twice. Tensors
        are detached, unless `keep_vars`.
        """
        named = self.named_members(Module.saved_members, "", True, False)
        return OrderedDict((prefix + name, tensor if keep_vars else tensor.detach()) for name, tensor in named)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> _IncompatibleKeys:
        """Copy the tensors of a state dict into the parameters and buffers of the same names.

        Returns the names that the dict lacks, and those that it has too many. What fits is loaded, even if
        an error is raised: `load(name, target, source)` loads one tensor and returns "", or says what is
        wrong.

        Raises:
            RuntimeError: "Error(s) in loading state_dict for Linear:" and, each on a line of its own that
                begins with a tab, what is wrong. If `strict`, 'Missing key(s) in state_dict: "bias". '
                comes first, then 'Unexpected key(s) in state_dict: "scale", "shift". '; what `load` says
                follows.
        """
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

    def apply(self: Self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` with every module below this one, and with this one last."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self: Self, fn: Callable[[Tensor], Tensor]) -> Self:
        """Give every parameter, its gradient and every buffer what `fn` returns; parameters stay the same objects."""
        for module in self.modules():
            for parameter in module.parameters(recurse=False):
                parameter.data = fn(parameter.data)
                if parameter.grad is not None:
                    parameter.grad.data = fn(parameter.grad.data)
            for name, buffer in module._buffers.items():
                module._buffers[name] = None if buffer is None else fn(buffer)
        return self

    def to(self: Self, target: Any = None, dtype: Any = None, *, device: Any = None) -> Self:
        """Move parameters and buffers to a device, those of floating-point numbers to a type; returns this module."""
        where, type_ = (device, target) if isinstance(target, DType) else (device if target is None else target, dtype)
        if type_ is not None and not type_.is_floating_point:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={type_}"
            )
        return self._apply(lambda x: x.to(where, type_ if x.is_floating_point() else None))

    def cpu(self: Self) -> Self:
        """Move everything to the CPU."""
        return self.to("cpu")

    def cuda(self: Self, device: Any = None) -> Self:
        """Move everything to a GPU, the current one if none is named."""
        return self._apply(lambda x: x.cuda(device))

    def float(self: Self) -> Self:
        """Floating-point numbers become float32."""
        return self._apply(lambda x: x.float() if x.is_floating_point() else x)

    def double(self: Self) -> Self:
        """Floating-point numbers become float64."""
        return self._apply(lambda x: x.double() if x.is_floating_point() else x)

    def half(self: Self) -> Self:
        """Floating-point numbers become float16."""
        return self._apply(lambda x: x.half() if x.is_floating_point() else x)

    def train(self: Self, mode: bool = True) -> Self:
        """Set training mode, which dropout and batch normalization look at, or evaluation mode."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: Self) -> Self:
        """Set evaluation mode."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Have all parameters take part in autograd, or none."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
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
        """Run `forward` between the hooks.

        First each of `self._forward_pre_hooks` is called as `hook(self, args)`. What it returns, unless
        None, takes the place of the arguments; what is no tuple is the only argument. After
        `forward(*args, **kwargs)` each of `self._forward_hooks` is called as `hook(self, args, result)`;
        what it returns, unless None, takes the place of the result. Both are dicts of hooks in the order
        of registration. A hook may remove itself.

        If there are `self._backward_hooks`, `call = Call(self)` watches the gradients: the arguments of
        `forward` and its hooks are `call.enter(args)`, and what is returned is `call.leave(result)`.
        """
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
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        Both are tuples. What the hook returns, unless None, takes the place of `grad_input`.
        """
        return RemovableHandle(self._backward_hooks, hook)

    # Printing

    def extra_repr(self) -> str:
        """What a subclass says of itself between the parentheses."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        return written(type(self).__name__, self.extra_repr(), lines)


def load(name: str, target: Tensor, source: Any) -> str:
    """Copy a tensor of a state dict into the module's; returns what is wrong, or "" if nothing is."""
    if not isinstance(source, Tensor):
        return (
            f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(source)}"
        )
    if isinstance(target, UninitializedParameter):
        target.materialize(source.shape)
    if target.shape != source.shape:
        return (
            f"size mismatch for {name}: copying a param with shape {source.shape} from checkpoint, the shape in "
            f"current model is {target.shape}."
        )
    with no_grad():
        target.copy_(source)
    return ""
