"""The shape of a tensor. Source: https://pytorch.org/docs/stable/size.html"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, Self, SupportsIndex, overload


class Size(tuple[int, ...]):
    """A tuple of ints that prints as `torch.Size([2, 3])` and stays a Size when sliced or joined."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Self:
        """Raises TypeError for what isn't an iterable of ints."""
        given = tuple(sizes)
        for position, size in enumerate(given):
            if not _is_whole(size):
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


def _is_whole(size: Any) -> bool:
    """Whether a number, or a tensor, is an integer."""
    try:
        operator.index(size)
    except TypeError:
        return False
    return True
