"""How every operation runs: a call goes down a stack of layers, to a kernel on arrays.

A layer sees each call of each operation. It may look at the arguments, change them, refuse them, do
something with the result, or answer without going further down. Chapters push their layers on top of those
that are there:

    autocast (22) > tracer (08) > autograd (06) > one device (05) > the kernel (02)
"""

# 02 · Tensors and storage
from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any

import numpy as np

from .tensor import Tensor, from_array

Function = Callable[..., Any]
Layer = Callable[["Operation", tuple[Any, ...], Function], Any]

LAYERS: list[Layer] = []
"""What a call passes on its way to the kernel; the last one comes first."""

OPERATIONS: dict[str, Operation] = {}
"""Every operation by its name."""


class Operation:
    """One operation: its name, its kernel, and how the kernel is run on tensors.

    Args:
        kernel: what computes; its parameters are the operation's.
        run: `run(operation, arguments)` gives the kernel what it wants and makes a tensor of what it
            returns.
        name: the kernel's own if there is none.
    """

    def __init__(self, kernel: Function, run: Callable[[Operation, tuple[Any, ...]], Any], name: str = "") -> None:
        self.kernel, self.run = kernel, run
        self.name = self.__name__ = name or kernel.__name__
        self.__doc__ = kernel.__doc__
        self.signature = inspect.signature(kernel)
        self.parameters = tuple(self.signature.parameters)
        OPERATIONS[self.name] = self
        setattr(Tensor, self.name, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return descend(len(LAYERS), self, self.bind(args, kwargs))

    def __get__(self, instance: Any, owner: Any) -> Any:
        """As an attribute of a tensor, an operation is a method."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters, with the defaults."""
        if len(args) == len(self.parameters) and not kwargs:
            return args
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())


def descend(depth: int, op: Operation, args: tuple[Any, ...]) -> Any:
    """Run the operation from the layer at this depth down; below the last layer is the kernel."""
    if depth == 0:
        with np.errstate(all="ignore"):  # 1 / 0 is inf, without a warning
            return op.run(op, args)
    return LAYERS[depth - 1](op, args, partial(descend, depth - 1))


def layer(function: Layer) -> Layer:
    """Push a layer: `function(op, args, below)`, where `below(op, args)` goes on downwards."""
    LAYERS.append(function)
    return function


def operation(kernel: Function) -> Operation:
    """Declare an operation whose kernel takes arrays in the place of tensors and returns an array."""
    return Operation(kernel, run_on_arrays)


def run_on_arrays(op: Operation, args: tuple[Any, ...]) -> Tensor:
    """Call the kernel on the arrays of the tensors."""
    return from_array(op.kernel(*map(arrays_of, args)))


def arrays_of(argument: Any) -> Any:
    """A tensor's array; of a list or tuple, those of the tensors in it; anything else as it is."""
    if isinstance(argument, Tensor):
        return argument.array
    if isinstance(argument, (list, tuple)):
        return type(argument)(map(arrays_of, argument)) if type(argument) in (list, tuple) else argument
    return argument


def tensors_in(args: tuple[Any, ...]) -> list[Tensor]:
    """The tensors among the arguments, and in the lists and tuples among them."""
    found: list[Tensor] = []
    for argument in args:
        if isinstance(argument, Tensor):
            found.append(argument)
        elif isinstance(argument, (list, tuple)):
            found += [each for each in argument if isinstance(each, Tensor)]
    return found


def method(function: Function) -> Function:
    """Make a function that is made of other operations a method of tensors, too."""
    setattr(Tensor, function.__name__, function)
    return function
