"""Asking whether and how a class overrides functions of tensors, for libraries whose functions do the same.

Source: https://docs.pytorch.org/docs/stable/torch.overrides.html
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from minitorch.dispatch import overriding
from minitorch.dispatch.declaration import METHODS, NAMESPACES
from minitorch.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "get_default_nowrap_functions", "get_ignored_functions",
    "get_overridable_functions", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "redispatch_torch_function",
    "resolve_name", "wrap_torch_function",
]  # fmt: skip


class TorchFunctionMode:
    """A context in which each function of tensors is handed to `__torch_function__(func, types, args, kwargs)` of this
    object.

    Inside that method the mode is off, while modes around it stay on. So what a function such as `linear` is made of
    isn't handed over. PyTorch also hands over attributes that are read, and a few methods such as `size` and `item`.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        overriding.surround()
        overriding.state.modes = (*overriding.state.modes, self)
        return self

    def __exit__(self, *exception: object) -> None:
        overriding.state.modes = overriding.state.modes[:-1]


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@contextmanager
def disabled_classes() -> Iterator[None]:
    """Inside the block subclasses of Tensor are like plain tensors: `torch._C.DisableTorchFunctionSubclass`."""
    with overriding.asking(False, overriding.state.modes):
        yield


@contextmanager
def disabled() -> Iterator[None]:
    """The same for modes too: `torch._C.DisableTorchFunction`."""
    with overriding.asking(False, ()):
        yield


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is on or the class of one of the objects overrides functions, so that a function must ask them."""
    if overriding.state.modes:
        return True
    return overriding.state.asks_classes and any(map(overriding.overrides, relevant_args))


def has_torch_function_unary(argument: Any) -> bool:
    """`has_torch_function` of one object."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """`has_torch_function` of objects given one by one."""
    return has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What a mode, or the class of one of the objects, does in place of the function `public_api`.

    Raises TypeError if none of them has an implementation.
    """
    return overriding.handled(public_api, overriding.relevant(relevant_args), args, kwargs)


def redispatch_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Calls the function, for modes that go on to the next."""
    return func(*args, **(kwargs or {}))


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Has a Python function ask the objects that `dispatcher` picks from its arguments."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor, or its class has a `__torch_function__`."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


@functools.cache
def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that can be overridden, by the module or class they are found in."""
    importlib.import_module("minitorch.nn.functional")
    places = {name: "minitorch" if name == "torch" else f"minitorch.{name}" for name in NAMESPACES}
    functions: dict[Any, list[Callable[..., Any]]] = {
        importlib.import_module(places[name]): list(dict.fromkeys(NAMESPACES[name].values())) for name in NAMESPACES
    }
    functions[Tensor] = [method for method in METHODS.values() if inspect.isfunction(method)]
    return functions


def get_ignored_functions() -> set[Callable[..., Any]]:
    """The functions that can't be overridden although they are public: none that a class would want to."""
    return set()


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """The functions whose results stay plain tensors: attributes don't go through `__torch_function__`."""
    return set()


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor."""
    return func in get_overridable_functions()[Tensor]


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name by which a function that can be overridden is reached, such as "torch.add"; None for others."""
    for place, functions in get_overridable_functions().items():
        if f in functions:
            owner = "torch.Tensor" if place is Tensor else place.__name__.replace("minitorch", "torch")
            return f"{owner}.{f.__name__}"
    return None
