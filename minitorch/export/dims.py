"""Which sizes of an exported program's inputs may change.

Source: https://docs.pytorch.org/docs/stable/export.html#torch.export.dynamic_shapes.Dim
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minitorch._dynamo.exc import UserError
from minitorch.fx.experimental.symbolic_shapes import ConstraintViolationError
from minitorch.tensor import Tensor


class DimHint:
    """What is asked of a size: `Dim.AUTO`, `Dim.DYNAMIC` or `Dim.STATIC`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"DimHint({self.name})"


class Dim:
    """A size with a name, which may change between bounds. Sizes with the same name are equal.

    Args:
        name: an identifier.
        min, max: the bounds, which are possible sizes.

    Raises:
        AssertionError: the bounds are in the wrong order, or the name is no identifier.
    """

    AUTO, DYNAMIC, STATIC = DimHint("AUTO"), DimHint("DYNAMIC"), DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.__name__, self.min, self.max = name, 0 if min is None else min, max
        if max is not None and max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={self.min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")

    def __repr__(self) -> str:
        return f"Dim('{self.__name__}', min={self.min}{'' if self.max is None else f', max={self.max}'})"


def by_source(arguments: Mapping[str, Any], dynamic_shapes: Any) -> dict[str, dict[int, Any]]:
    """What is asked of each dimension, by the source of the tensor.

    Raises:
        ConstraintViolationError: the example's size is outside the bounds of its `Dim`.
        UserError: the structure is not that of the arguments, or two definitions have one name.
    """
    if not dynamic_shapes:
        return {}
    names = list(arguments)
    if isinstance(dynamic_shapes, Mapping) and set(dynamic_shapes) != set(names):
        raise UserError(
            "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
            f"{names} of `inputs`, but here they are {list(dynamic_shapes)}. Alternatively, you could also ignore arg "
            "names entirely and specify `dynamic_shapes` as a list/tuple matching `inputs`."
        )
    if not isinstance(dynamic_shapes, Mapping):
        _check_length("", names, dynamic_shapes)
        dynamic_shapes = dict(zip(names, dynamic_shapes, strict=True))
    found: dict[str, dict[int, Any]] = {}
    for name, asked in dynamic_shapes.items():
        _collect(arguments[name], asked, f"L[{name!r}]", found)
    _check_definitions(found)
    return found


def _check_length(where: str, inputs: Sequence[Any], shapes: Sequence[Any]) -> None:
    if len(inputs) != len(shapes):
        raise UserError(
            "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
            f"`inputs{where}` has {len(inputs)} elements, but `dynamic_shapes{where}` has {len(shapes)} elements"
        )


def _collect(value: Any, asked: Any, source: str, found: dict[str, dict[int, Any]]) -> None:
    if asked is None:
        return
    if isinstance(value, Tensor):
        dims = asked if isinstance(asked, Mapping) else dict(enumerate(asked))
        for dim, each in dims.items():
            size = value.shape[dim]
            if isinstance(each, Dim) and not each.min <= size <= (size if each.max is None else each.max):
                most = "int_oo" if each.max is None else each.max
                raise ConstraintViolationError(f"{size} not in range [{max(each.min, 2)}, {most}]")
        found[source] = {dim: each for dim, each in dims.items() if each is not None and each is not Dim.STATIC}
    elif isinstance(value, Mapping):
        for key, each in value.items():
            _collect(each, asked.get(key), f"{source}[{key!r}]", found)
    elif isinstance(value, (list, tuple)):
        _check_length(source[3:], value, asked)
        for place, each in enumerate(value):
            _collect(each, asked[place], f"{source}[{place}]", found)


def _check_definitions(found: dict[str, dict[int, Any]]) -> None:
    known: dict[str, Dim] = {}
    for dims in found.values():
        for each in dims.values():
            if isinstance(each, Dim):
                first = known.setdefault(each.__name__, each)
                if (first.min, first.max) != (each.min, each.max):
                    raise UserError(
                        f"Found different definitions {first} and {each} for the same symbolic dimension {each}!"
                    )
