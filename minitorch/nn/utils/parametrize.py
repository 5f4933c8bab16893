"""Parameters that are computed from others whenever they are read.

A parametrized tensor is a property of the module, whose class becomes a subclass of its own for that. What is trained,
`original`, moves to `module.parametrizations.<name>`, a list of modules through which it runs.
Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.register_parametrization.html
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn.modules.container import ModuleDict, ModuleList
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.tensor import Tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache: dict[tuple[int, str], Tensor] = {}
_caching = 0


@contextmanager
def cached() -> Iterator[None]:
    """Inside, a parametrized tensor is computed when first read and then kept until the outermost block ends.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.cached.html
    """
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order in which they run, and its unconstrained `original`.

    Where the first one's `right_inverse` returns several tensors they are `original0`, `original1`, … instead.
    Raises ValueError for results that are no tensors or change shape or dtype, unless `unsafe`.
    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.ParametrizationList.html
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # then the tensor itself is the unconstrained one
                        new = module.right_inverse(new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            self._adopt(original, new)
        else:
            self._adopt_several(original, new)
        if not unsafe:
            _check_tensor("A parametrization must return a tensor. Got {}.", result := self())
            for word, before, after in (("dtype", dtype, result.dtype), ("shape", shape, result.shape)):
                if before != after:
                    raise ValueError(
                        f"Registering a parametrization may not change the {word} of the tensor, unless `unsafe` flag "
                        f"is enabled.\nunparametrized {word}: {before}\nparametrized {word}: {after}"
                    )

    def _adopt(self, original: Tensor, new: Tensor) -> None:
        for word, before, after in (("dtype", original.dtype, new.dtype), ("device", original.device, new.device)):
            if before != after:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {word}.\n"
                    f"original.{word}: {before}\nright_inverse(original).{word}: {after}"
                )
        with no_grad():
            original.set_(new)
        _register(self, "original", original)

    def _adopt_several(self, original: Tensor, new: Sequence[Any]) -> None:
        for i, each in enumerate(new):
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(each).__name__}."
                )
            if isinstance(original, Parameter):
                each = Parameter(each, original.requires_grad)
            _register(self, f"original{i}", each.requires_grad_(original.requires_grad))

    def _originals(self) -> list[Tensor]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    @no_grad()
    def right_inverse(self, value: Any) -> None:
        """Sets `original` so that the parametrized tensor becomes `value`.

        Raises RuntimeError where a parametrization has no `right_inverse`, ValueError where it returns something else
        than at registration.
        """
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
            value = module.right_inverse(value)
        if self.is_tensor:
            _check_tensor("`right_inverse` should return a tensor. Got {}", value)
            if value.dtype != self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {value.dtype} "
                    f"while `original` has dtype {self.original.dtype}"
                )
            self.original.set_(value)
            return
        if not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
        if len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                f"Got a sequence of length {len(value)}."
            )
        for i, (original, each) in enumerate(zip(self._originals(), value, strict=True)):
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {i} of type {type(each).__name__}."
                )
            if original.dtype != each.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {each.dtype} "
                    f"while `original{i}` has dtype {original.dtype}"
                )
            original.set_(each)

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        first, *rest = self
        result: Tensor = first(*self._originals())
        for module in rest:
            result = module(result)
        return result


def _check_tensor(message: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(message.format(type(value).__name__))


def _deepcopy(self: Module, memo: dict[int, Any]) -> Module:
    replica = self.__new__(type(self))
    memo[id(self)] = replica
    replica.__dict__ = copy.deepcopy(self.__dict__, memo)
    return replica


def _getstate(self: Module) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _subclass(module: Module) -> None:
    """Gives a module a class of its own, in which its parametrized tensors can be properties."""
    kind = type(module)
    members: dict[str, Any] = {"__getstate__": _getstate}
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _make_property(module: Module, name: str) -> None:
    def get(self: Module) -> Tensor:
        if not _caching:
            return self.parametrizations[name]()
        key = (id(module), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def set_original(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set_original))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Has `module.<tensor_name>` computed by `parametrization` from now on; registered again, by one after the other.

    A `right_inverse` of the parametrization says what the unconstrained tensor starts as, and makes the parametrized
    one assignable. Raises ValueError where there is no such tensor and where its shape or dtype would change, unless
    `unsafe`.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_kept(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _subclass(module)
            module.parametrizations = ModuleDict()
        _make_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_kept(module: Module, name: str, parametrization: Any) -> None:
    """Raises ValueError where a further parametrization, or its right inverse, changes the dtype or the shape."""
    before = getattr(module, name)
    after = parametrization(before)
    _check_tensor("A parametrization must return a tensor. Got {}.", after)
    for word in ("dtype", "shape"):
        if getattr(before, word) != getattr(after, word):
            raise ValueError(
                f"Registering a parametrization may not change the {word} of the tensor, unless the `unsafe` flag is "
                f"enabled.\nmodule.{name}.{word}: {getattr(before, word)}\n"
                f"parametrization(module.{name}).{word}: {getattr(after, word)}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    _check_tensor("parametrization.right_inverse must return a tensor. Got: {}", inverse)
    for word in ("dtype", "shape"):
        if getattr(before, word) != getattr(inverse, word):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {word} as module.{name}, "
                f"unless the `unsafe` flag is enabled.\nmodule.{name}.{word}: {getattr(before, word)}\n"
                f"returned {word}: {getattr(inverse, word)}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the tensor of that name, or any where none is given, is parametrized."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a tensor an ordinary one again: with the value that it had, or else with that of `original`.

    Raises ValueError where it is not parametrized, and for several originals without `leave_parametrized`.
    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.remove_parametrizations.html
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Gives another module the parametrizations of one tensor, or of all, and their originals: both share them.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.transfer_parametrizations_and_params.html
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for original in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            setattr(target, original, getattr(source, original))
    return to_module
