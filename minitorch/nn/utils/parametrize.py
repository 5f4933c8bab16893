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

from minitorch import Tensor, no_grad
from minitorch.nn.modules.container import ModuleDict, ModuleList
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

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
        self.is_tensor = not isinstance(new, Sequence)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            _check(_INVERSE, new, dtype=original.dtype, device=original.device)
            with no_grad():
                original.set_(new)
            _register(self, "original", original)
        for i, each in enumerate(() if self.is_tensor else new):
            _check(_INVERSE, each)
            made = Parameter(each, original.requires_grad) if isinstance(original, Parameter) else each
            _register(self, f"original{i}", made.requires_grad_(original.requires_grad))
        if not unsafe:
            _check("A parametrization", self(), dtype=dtype, shape=shape)

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
        values = [value] if self.is_tensor else value
        if not isinstance(values, Sequence) or len(values) != self.ntensors:
            raise ValueError(f"{_INVERSE} must return a sequence of tensors of length {self.ntensors}.")
        for original, each in zip(self._originals(), values, strict=True):
            _check(_INVERSE, each, dtype=original.dtype)
            original.set_(each)

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        first, *rest = self
        result: Tensor = first(*self._originals())
        for module in rest:
            result = module(result)
        return result


_INVERSE = "The `right_inverse` of a parametrization"


def _check(what: str, result: Any, **before: Any) -> None:
    """Raises ValueError unless `what` has returned a tensor that has these attributes still."""
    if not isinstance(result, Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(result).__name__}.")
    for word, value in before.items():
        if getattr(result, word) != value:
            raise ValueError(
                f"{what} may not change the {word} of the tensor, unless `unsafe` allows it: it was {value} and has "
                f"become {getattr(result, word)}."
            )


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
    _check("A parametrization", after, dtype=before.dtype, shape=before.shape)
    if hasattr(parametrization, "right_inverse"):
        with suppress(NotImplementedError):
            _check(_INVERSE, parametrization.right_inverse(after), dtype=before.dtype, shape=before.shape)


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
