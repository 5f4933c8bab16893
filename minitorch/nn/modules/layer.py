"""Layers that are declared by their arguments."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, TypeVar, dataclass_transform

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module

T = TypeVar("T")


class Declared(Module):
    """A module whose class attributes are stated like arguments: `class MaxPool2d(_MaxPoolNd, n=2)`."""

    def __init_subclass__(cls, **attributes: Any) -> None:
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)


class Layer(Declared):
    """A module that keeps what it is made with.

    Under `@layer` it is declared like a dataclass: the annotated names are the constructor's parameters, in order, and
    attributes. Those annotated as `InitVar` are parameters only. `__post_init__` checks and completes them.
    """

    n: ClassVar[int]
    """The number of dimensions that are not batch or channels, of layers that there are for one, two and three."""
    shown: ClassVar[str | None] = None
    """The names that the repr shows, all arguments unless it says which."""
    _arguments: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        module = super().__new__(cls)
        Module.__init__(module)  # the constructor of a dataclass calls no other
        return module

    def extra_repr(self) -> str:
        names = self._arguments if self.shown is None else self.shown.split()
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)


class Applied(Layer):
    """A layer that calls a function of `nn.functional` with its input and its arguments.

    The function is named, and looked up at each call: who replaces it replaces it here too.
    """

    function: ClassVar[str]

    def forward(self, input: Any) -> Any:
        return getattr(F, self.function)(input, *[getattr(self, name) for name in self._arguments])


@dataclass_transform(eq_default=False, field_specifiers=(dataclasses.field,))
def layer(cls: type[T]) -> type[T]:
    """Gives a Layer the constructor that its annotated names say."""
    made: Any = dataclasses.dataclass(eq=False, repr=False)(cls)
    made._arguments = tuple(each.name for each in dataclasses.fields(made))
    annotations = made.__init__.__annotations__
    for name in annotations.keys() - {*made._arguments, "return"}:
        annotations[name] = annotations[name].removeprefix("InitVar[").removesuffix("]")
        if name in vars(cls):
            delattr(cls, name)  # the default is the parameter's: a buffer or parameter may have the name
    return made
