"""Tensors of subclasses, and what an operation on them returns.

Source: https://docs.pytorch.org/docs/stable/notes/extending.html#subclassing-torch-tensor
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch import overriding
from minitorch.dispatch.declaration import METHODS, composite
from minitorch.ops.views.shape import alias
from minitorch.tensor import Tensor, _as_subclass


@composite(variants="method", asks=False)
def as_subclass(self: Tensor, cls: type) -> Tensor:
    """Returns a view of the same memory, shape and dtype as an object of `cls`, which operations on it return too."""
    overriding.surround()
    with overriding.asking(False, overriding.state.modes):  # or the class that it had would be asked
        view: Tensor = alias(self)
    instance = _as_subclass(view, cls)
    instance.__dict__.update(view.__dict__)
    return instance


@composite(variants="method", asks=False)
def _detached(self: Tensor) -> Tensor:
    """What `detach` returns of a tensor whose class may override functions."""
    if overriding.state.asks_classes and overriding.overrides(self):
        return overriding.handled(Tensor.detach, [self], (self,), {})
    return self._alias()


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Tensor:
    """A leaf of a subclass of Tensor on the memory of `data`."""
    if not issubclass(cls, Tensor):
        raise TypeError(f"_make_subclass(): argument 'cls' must be a subclass of Tensor, not {cls}")
    overriding.surround()
    return _as_subclass(Tensor.detach(data), cls).requires_grad_(require_grad)


def _make_wrapper_subclass(cls: type, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor without memory, whose operations `__torch_dispatch__` runs. Raises NotImplementedError."""
    raise NotImplementedError("minitorch has no __torch_dispatch__, for which wrapper subclasses are made")


def converted(result: Any, cls: type) -> Any:
    """A result, or the tensors in a tuple or list of results, as objects of a subclass."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else as_subclass(result, cls)
    if isinstance(result, (tuple, list)):
        build = getattr(type(result), "_make", type(result))  # a namedtuple's
        return build([converted(each, cls) for each in result])
    return result


def _torch_function(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Runs a function of tensors and returns its results as objects of this class.

    A subclass overrides this method to do something else. Returns NotImplemented for other subclasses, which are asked
    then.
    """
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    with overriding.asking(False, overriding.state.modes):
        return converted(func(*args, **(kwargs or {})), cls)


METHODS["__torch_function__"] = classmethod(_torch_function)  # type: ignore[assignment]
METHODS["_make_subclass"] = staticmethod(_make_subclass)
METHODS["_make_wrapper_subclass"] = staticmethod(_make_wrapper_subclass)
