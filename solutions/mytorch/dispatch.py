"""How every operation runs: a call goes down a stack of layers, each of which may change it, to a kernel on arrays."""

# 02b · Types and dispatch
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from inspect import Parameter, Signature
from types import MethodType
from typing import Any

import numpy as np

from .tensor import Tensor, from_array

Function = Callable[..., Any]

LAYERS: dict[str, Function | None] = {
    "autocast": None,  # 22: computes in 16 bits where that is safe
    "trace": None,  # 08: notes what runs
    "record": None,  # 06: leaves the graph behind
    "device": None,  # 05: wants all tensors on one device
}
"""The stack, in the order of PyTorch's dispatcher: a call comes in at the top, the kernel is below. See `fill`."""

OPERATIONS: dict[str, Operation] = {}
"""Every operation by its name."""

FUNCTIONS: dict[str, Function] = {}
"""What tensors have as methods, operations and functions made of them: the package has it as functions, too."""


@np.errstate(all="ignore")  # 1 / 0 is inf, without a warning
def run_kernel(op: Operation, args: tuple[Any, ...]) -> Any:
    """What is below the last layer: check the arguments, and run the kernel."""
    if op.check is not None:
        op.check(*args)
    return op.run(op, args)


class Stack:
    """Where a call comes in: the first layer that is filled, each bound to what is below it."""

    top: Function = staticmethod(run_kernel)


def fill(place: str, function: Function | None) -> None:
    """Fill a place with a layer, `function(op, args, below)`, or empty it with None; `below(op, args)` goes on."""
    LAYERS[place] = function
    below: Function = run_kernel
    for each in reversed(LAYERS.values()):
        if each is not None:
            below = partial(each, below=below)
    Stack.top = staticmethod(below)


def layer(place: str) -> Callable[[Function], Function]:
    """Fill a place of the stack with the function below: `@layer("record")`."""

    def decorate(function: Function) -> Function:
        fill(place, function)
        return function

    return decorate


class Operation:
    """One operation: a kernel, whose parameters are the operation's, and how it is run on tensors."""

    elementwise = False
    check: Function | None = None  # raises PyTorch's error for arguments that don't fit

    def __init__(
        self, kernel: Function, run: Function, name: str = "", check: Function | None = None, writes: bool = False
    ) -> None:
        self.kernel, self.run, self.writes = kernel, run, writes  # whether it overwrites its first tensor
        if check is not None:
            self.check = check
        self.name = self.__name__ = name or kernel.__name__
        self.__doc__ = kernel.__doc__
        self.parameters = parameters_of(kernel)
        defaults = getattr(kernel, "__defaults__", None) or ()
        self.defaults = dict(zip(reversed(self.parameters), reversed(defaults), strict=False))
        OPERATIONS[self.name] = FUNCTIONS[self.name] = self
        setattr(Tensor, self.name, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != len(self.parameters):
            args = self.bind(args, kwargs)
        return Stack.top(self, args)

    def __get__(self, instance: Any, owner: Any) -> Any:
        """As an attribute of a tensor, an operation is a method."""
        return self if instance is None else MethodType(self, instance)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters, with the defaults."""
        known = {**self.defaults, **dict(zip(self.parameters, args, strict=False)), **kwargs}
        if len(known) == len(self.parameters) >= len(args) and kwargs.keys().isdisjoint(self.parameters[: len(args)]):
            return tuple(map(known.get, self.parameters))
        named = [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=self.defaults.get(name, Parameter.empty))
            for name in self.parameters
        ]
        try:
            return Signature(named).bind(*args, **kwargs).args
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None


def parameters_of(function: Function) -> tuple[str, ...]:
    """The names of a function's parameters, which `inspect.signature` finds in ten times the time; none of NumPy's."""
    code = getattr(function, "__code__", None)
    return code.co_varnames[: code.co_argcount] if code else ()


def operation(kernel: Function, check: Function | None = None) -> Operation:
    """Declare an operation whose kernel takes arrays in the place of tensors and returns an array."""
    return Operation(kernel, run_on_arrays, check=check)


def checked(check: Function) -> Callable[[Function], Operation]:
    """Declare such an operation whose arguments a check looks at first: `@checked(check_index)`."""
    return partial(operation, check=check)


def run_on_arrays(op: Operation, args: tuple[Any, ...]) -> Tensor:
    """Call the kernel on the arrays of the tensors."""
    return from_array(op.kernel(*map(arrays_of, args)))


def arrays_of(argument: Any) -> Any:
    """A tensor's array; of a list or tuple, those of the tensors in it; anything else as it is."""
    if isinstance(argument, Tensor):
        return argument.array
    if type(argument) in (list, tuple):
        return type(argument)(map(arrays_of, argument))
    return argument


def replace(argument: Any, change: Function) -> Any:
    """An argument with `change(each)` in the place of each thing in it; lists and tuples stay what they are."""
    if type(argument) in (list, tuple):
        return type(argument)(replace(each, change) for each in argument)
    return change(argument)


def tensors_in(args: Sequence[Any]) -> list[Tensor]:
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
    FUNCTIONS[function.__name__] = function
    setattr(Tensor, function.__name__, function)
    return function


def composite(function: Function) -> Function:
    """Have autocast (22) see a function made of operations as one operation, as `linear` is one in PyTorch."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        layer = LAYERS["autocast"]
        if layer is None:
            return function(*args, **kwargs)

        def below(_: Any, cast: tuple[Any, ...]) -> Any:
            return function(*cast[: len(args)], **dict(zip(kwargs, cast[len(args) :], strict=True)))

        return layer(function, (*args, *kwargs.values()), below)

    return call
