"""`__torch_function__`: what subclasses of Tensor, other classes and modes do in place of a function of tensors.

They are asked about the public functions that a program calls: one layer around the ops asks about ops, and functions
that are made of ops ask before they run (`announce`). The layer is put around all threads by the first tensor of a
subclass, or the first mode, so that programs without them pay next to nothing. Objects that are no tensors are also
asked where a function would refuse them.
Source: https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-python-api
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minitorch.autograd.engine import current
from minitorch.dispatch import layers
from minitorch.dispatch.op import Op
from minitorch.tensor import Tensor


class State(threading.local):
    """What one thread asks at present."""

    modes: tuple[Any, ...] = ()
    asks_classes = True


state = State()
around = False
"""Whether the layer is around the ops."""


def surround() -> None:
    """Puts the layer around the ops of all threads, if it is not there yet."""
    global around
    if not around:
        around = True
        layers.surround(ask)


def withdraw() -> None:
    """Takes the layer away again, for tests that count what a call costs without it."""
    global around
    if around:
        around = False
        layers.withdraw(ask)


@contextmanager
def asking(classes: bool, modes: tuple[Any, ...]) -> Iterator[None]:
    """Whether classes are asked inside the block, and which modes."""
    before = state.asks_classes, state.modes
    state.asks_classes, state.modes = classes, modes
    try:
        yield
    finally:
        state.asks_classes, state.modes = before


def disabled(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that override nothing, such as Parameter."""
    return NotImplemented


def overrides(value: Any) -> bool:
    """Whether an object's class overrides functions: it has a `__torch_function__`, and is no plain tensor."""
    kind = type(value)
    if kind is Tensor:
        return False
    method = getattr(kind, "__torch_function__", None)
    return method is not None and getattr(method, "__func__", method) is not disabled


def asked(value: Any) -> bool:
    """Whether a function has to ask this object's class itself, because none of its ops does."""
    return type(value) is not Tensor and state.asks_classes and overrides(value)


def relevant(values: Iterable[Any]) -> list[Any]:
    """The first object of each class that overrides functions, subclasses before their bases."""
    found: list[Any] = []
    for value in values:
        if overrides(value) and type(value) not in map(type, found):
            place = next((i for i, each in enumerate(found) if isinstance(value, type(each))), len(found))
            found.insert(place, value)
    return found


def flat(args: Iterable[Any]) -> Iterator[Any]:
    """Arguments, and the elements of those that are sequences."""
    for each in args:
        if isinstance(each, (tuple, list)):
            yield from each
        else:
            yield each


def handled(function: Callable[..., Any], objects: Sequence[Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What the innermost mode, or the first of the objects that has an answer, does in place of a function.

    Raises:
        TypeError: all of them returned NotImplemented.
    """
    types = tuple(map(type, objects))
    if state.modes:
        *others, mode = state.modes
        with asking(state.asks_classes, tuple(others)):
            result = mode.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for each in objects:
        result = each.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(function, "__name__", function)
    refused = "\n".join(f"  - tensor subclass {each}" for each in types)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
        f"{refused}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def ask(op: Op, args: Sequence[Any], below: layers.Below) -> Any:
    """The layer: hands a call to the modes and to the classes of its arguments, or goes on."""
    if current.of_thread is not None:  # PyTorch's derivatives don't ask either
        return below(op, args)
    objects = relevant(flat(args)) if state.asks_classes else []
    if not objects and not state.modes:
        return below(op, args)
    inner = layers.stack.layers
    layers.stack.layers = (*inner, ask)  # what they call is handed to the others
    try:
        return handled(_function(op, below), objects, *_as_called(op, args))
    finally:
        layers.stack.layers = inner


def announce(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the modes and the classes of the arguments do in place of a function that is made of ops.

    Returns NotImplemented where nobody is asked, so that the function runs. Where the layer is left out, in derivatives
    and within ops, nobody is.
    """
    if current.of_thread is not None or ask not in layers.stack.layers:
        return NotImplemented
    objects = relevant(flat((*args, *kwargs.values()))) if state.asks_classes else []
    return handled(function, objects, args, kwargs) if objects or state.modes else NotImplemented


def announced(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function made of ops, which asks the modes and classes before it runs."""

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if around and (result := announce(public, args, kwargs)) is not NotImplemented:
            return result
        return function(*args, **kwargs)

    return public


def handle_refused(error: Exception, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What the objects that are no tensors do in place of a function that refused them with an error.

    Returns NotImplemented where there are none, or where the error isn't about types.
    """
    if not isinstance(error, (AttributeError, TypeError)):
        return NotImplemented
    objects = [each for each in relevant(flat((*args, *kwargs.values()))) if not isinstance(each, Tensor)]
    return handled(function, objects, tuple(args), kwargs) if objects else NotImplemented


def _function(op: Op, below: layers.Below) -> Callable[..., Any]:
    """The public function of a call, by which `__torch_function__` tells functions apart."""
    function = op.functions.get(getattr(below, "__name__", ""))
    if function is not None:
        return function

    def private(*args: Any, **kwargs: Any) -> Any:
        return below(op, op.schema.bind(args, kwargs))

    private.__name__ = private.__qualname__ = op.name
    return private


def _as_called(op: Op, args: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as a program would pass them: without defaults at the end, and by name where they must be."""
    positional = list(args[: op.schema.keyword_only_from])
    while len(positional) > op.schema.required and positional[-1] is op.schema.defaults[len(positional) - 1]:
        positional.pop()
    named = zip(op.schema.parameters, op.schema.defaults, args, strict=False)
    rest = list(named)[op.schema.keyword_only_from :]
    return tuple(positional), {name: value for name, default, value in rest if value is not default}
