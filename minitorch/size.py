"""The shape of a tensor. Source: https://pytorch.org/docs/stable/size.html"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, Self, SupportsIndex, overload


class _SizeType(type):
    """Prints the class as PyTorch prints its own."""

    def __repr__(cls) -> str:
        return "<class 'torch.Size'>"


class Size(tuple[int, ...], metaclass=_SizeType):
    """A tuple of ints that prints as `torch.Size([2, 3])` and stays a Size when sliced or joined."""

    __slots__ = ()
    __module__ = "minitorch"  # where programs and pickles look for it

    def __new__(cls, sizes: Iterable[Any] = ()) -> Self:
        """Raises TypeError for what isn't an iterable of ints."""
        given = tuple(sizes)
        for position, size in enumerate(given):
            if not isinstance(size, int) and not is_whole(size):  # bools are ints to torch.Size
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {position} is '{type(size).__name__}')")
        return super().__new__(cls, map(operator.index, given))

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> Size: ...
    def __getitem__(self, index: Any, /) -> Any:
        item = super().__getitem__(index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other: Any, /) -> Size:
        return Size(super().__add__(tuple(other)))

    def __radd__(self, other: Any, /) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times: SupportsIndex, /) -> Size:
        return Size(super().__mul__(times))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Size, (tuple(self),))


def is_whole(size: Any) -> bool:
    """Whether a number, or a tensor, is an integer; bools are none."""
    try:
        as_int(size)
    except TypeError:
        return False
    return True


def as_int(value: Any) -> int:
    """An argument that must be an integer. Raises TypeError for anything else: `dispatch.arguments` says of which."""
    if isinstance(value, bool):
        raise TypeError("an integer must be int, not bool")
    return operator.index(value)


def kind_name(value: Any) -> str:
    """What PyTorch's errors call the class of an argument: those that are written in C by their module too."""
    kind = type(value)
    module = {"minitorch": "torch"}.get(kind.__module__.partition(".")[0], kind.__module__)
    in_c = not kind.__flags__ & _HEAP_TYPE or (module == "torch" and kind.__name__ in _IN_C)
    return f"{module}.{kind.__name__}" if in_c and module != "builtins" else kind.__name__


_HEAP_TYPE = 1 << 9
_IN_C = ("device", "dtype", "layout", "memory_format", "Size")


def check_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front. Raises IndexError when there is no such dimension (a 0-dim tensor counts as
    1-dim).
    """
    if dim.__class__ is bool or not hasattr(dim, "__index__"):
        raise TypeError(f"a dimension must be int, not {type(dim).__name__}")  # `errors` says of which argument
    span = max(ndim, 1)
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return operator.index(dim) % span


def each_dim(dims: Iterable[Any], ndim: int) -> tuple[int, ...]:
    """Several dimensions counted from the front: only the first may not be a bool."""
    return (*[check_dim(operator.index(dim) if place else dim, ndim) for place, dim in enumerate(dims)],)


def checked_ints(function: str, sizes: Sequence[Any], position: int = 1, name: str = "size") -> tuple[int, ...]:
    """Integers given as one sequence or one by one. Raises TypeError for anything else, and for a bool at the front."""
    if not sizes:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{name}"')
    whole = sizes
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    elif len(sizes) > 1 and isinstance(sizes[0], (tuple, list)):
        raise _too_many(function, position, len(sizes))
    if not sizes or sizes[0].__class__ is not bool:
        try:
            return tuple(map(operator.index, sizes))
        except TypeError:
            pass
    raise no_size(function, sizes, position, whole is sizes, name)


def _too_many(function: str, position: int, given: int) -> TypeError:
    return TypeError(f"{function}() takes {position} positional argument{'s' * (position > 1)} but {given} were given")


def first_wrong(sizes: Sequence[Any]) -> int | None:
    """The position of the first of several sizes that is refused. PyTorch refuses a bool at the front only."""
    return next((i for i, each in enumerate(sizes) if not is_whole(each) and not (i and isinstance(each, bool))), None)


def no_size(function: str, sizes: Sequence[Any], position: int, apart: bool, name: str) -> TypeError:
    """The error for sizes of which not all are integers; `apart` tells that they weren't given as one sequence, and
    `position` is 0 for a keyword.
    """
    place = first_wrong(sizes) or 0
    kind = kind_name(sizes[place])
    if apart and position and not place and len(sizes) > 1:
        return _too_many(function, position, len(sizes))
    if place:
        return TypeError(
            f"{function}(): argument '{name}' failed to unpack the object at pos {place + 1} with error \"type must be "
            f'tuple of ints,but got {kind}"'
        )
    if not position:
        return TypeError(
            f"{function}(): argument '{name}' must be tuple of ints, not {kind if apart else type(sizes).__name__}"
        )
    found = f"not {kind}" if apart else f"but found element of type {kind} at pos 0"
    return TypeError(f"{function}(): argument '{name}' (position {position}) must be tuple of ints, {found}")
