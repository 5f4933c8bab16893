"""What the transforms share: which arguments are differentiated, and what is checked of inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.tensor import Tensor
from minitorch.utils._pytree import tree_leaves, tree_map

Argnums = int | tuple[int, ...]


def _place(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def places_of(argnums: Argnums, count: int) -> list[int]:
    """The positions of the arguments that are differentiated. Raises RuntimeError for what names none of `count`."""
    if isinstance(argnums, int):
        return [_place(argnums, count)]
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    places = [_place(each, count) for each in argnums]
    if len(set(places)) < len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return places


def chosen(args: Sequence[Any], argnums: Argnums) -> Any:
    """The argument that is differentiated, or the tuple of those that are."""
    found = tuple(args[place] for place in places_of(argnums, len(args)))
    return found[0] if isinstance(argnums, int) else found


def replaced(args: Sequence[Any], argnums: Argnums, new: Any) -> tuple[Any, ...]:
    """All arguments, with others in the place of `chosen(args, argnums)`."""
    result = list(args)
    places = places_of(argnums, len(args))
    for place, each in zip(places, (new,) if isinstance(argnums, int) else new, strict=True):
        result[place] = each
    return tuple(result)


def check_real(function: str, tree: Any, what: str) -> None:
    """Raises RuntimeError for a complex tensor."""
    for number, each in enumerate(tree_leaves(tree)):
        if isinstance(each, Tensor) and each.is_complex():
            raise RuntimeError(
                f"{function}: Expected all {what} to be real but received complex tensor at flattened input idx: "
                f"{number}"
            )


def check_outputs(call: str, leaves: Sequence[Any]) -> None:
    """Raises RuntimeError unless a function returned tensors, and at least one."""
    if not leaves:
        raise RuntimeError(f"{call}: Expected f to be a function that has non-empty output (got output = [])")
    for each in leaves:
        if not isinstance(each, Tensor):
            raise RuntimeError(
                f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(each)}"
            )


def split_aux(call: str, outputs: Any, has_aux: bool) -> tuple[Any, Any]:
    """The output, and what a function returned beside it. Raises RuntimeError where that should be and isn't."""
    if not has_aux:
        return outputs, None
    if not (isinstance(outputs, tuple) and len(outputs) == 2):
        raise RuntimeError(f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return outputs


class _Leaf:
    def __repr__(self) -> str:
        return "*"


def shape_of(tree: Any) -> str:
    """How errors show the structure of a tree: with stars for its leaves."""
    return repr(tree_map(lambda leaf: _Leaf(), tree))
