"""The schema that a function's annotations describe.

Source: https://docs.pytorch.org/docs/stable/library.html#torch.library.infer_schema
"""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Iterable
from types import NoneType, UnionType
from typing import Any, Union

from minitorch.devices import device
from minitorch.dtypes import dtype
from minitorch.tensor import Tensor

BASES: dict[Any, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType", device: "Device",
    int | float | bool: "Scalar",
}  # fmt: skip
IN_LISTS = {"Tensor", "Tensor?", "SymInt", "float", "bool"}
RETURNED = {"Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"}


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """The schema of a function whose parameters and result are annotated, such as "(Tensor x, SymInt n=2) -> Tensor".

    Args:
        mutates_args: the names of the tensors that the function writes to, or "unknown": then all of them.
        op_name: the operator's name, put before the schema.

    Raises:
        ValueError: a parameter or the result has no annotation, or one that schemas have no type for; a default that
            schemas can't write; a name in `mutates_args` that isn't the name of a tensor parameter.
    """
    signature = inspect.signature(prototype_function)

    def refuse(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    hints = _hints(prototype_function)
    names = [*signature.parameters]
    unknown = set() if mutates_args == "unknown" else set(mutates_args) - set(names)
    if unknown:
        raise refuse(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
            "names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    parts: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        if parameter.annotation is parameter.empty:
            raise refuse(f"Parameter {name} must have a type annotation.")
        kind = _named(hints[name])
        if kind is None:
            raise refuse(f"Parameter {name} has unsupported type {hints[name]}. The valid types are: {_valid()}.")
        is_tensor = kind.startswith("Tensor")
        if mutates_args != "unknown" and name in mutates_args and not is_tensor:
            raise refuse(
                f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
            )
        if is_tensor and (mutates_args == "unknown" or name in mutates_args):
            kind = kind.replace("Tensor", f"Tensor(a{names.index(name)}!)", 1)
        parts.append(f"{kind} {name}{_default(parameter, refuse)}")
    if signature.return_annotation is signature.empty:
        raise refuse("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(parts)}) -> {_returned(hints.get('return'), refuse)}"


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function, those that are text looked up."""
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError) as error:
        raise ValueError(
            f"infer_schema(func): Unsupported type annotation: {error}. It is not a type. "
            f"Got func with signature {inspect.signature(function)})"
        ) from None


def _named(hint: Any) -> str | None:
    """A schema's name for a type, None where there is none."""
    if hint in BASES:
        return BASES[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (list, collections.abc.Sequence) and len(arguments) == 1:
        item = _named(arguments[0])
        return f"{item}[]" if item in IN_LISTS else None
    if origin in (Union, UnionType) and NoneType in arguments:
        rest = tuple(each for each in arguments if each is not NoneType)
        kind = _named(Union[rest])  # noqa: UP007  of a tuple
        return f"{kind}?" if kind is not None and kind not in ("Tensor[]", "Tensor?[]") else None
    return None


def _valid() -> str:
    singles = ", ".join(getattr(each, "__name__", str(each)) for each in BASES)
    return (
        f"{singles}, lists of Tensor, Optional[Tensor], int, float and bool, and Optional of all but lists of tensors"
    )


def _default(parameter: inspect.Parameter, refuse: Callable[[str], ValueError]) -> str:
    """The default of a parameter as schemas write it, with the sign before it."""
    value = parameter.default
    if value is parameter.empty:
        return ""
    if value is None or isinstance(value, (int, float, bool)):
        return f"={value}"
    if isinstance(value, (str, device)):
        return f'="{value}"'
    if isinstance(value, dtype):
        return f"={str(value).removeprefix('torch.')}"
    raise refuse(
        f"Parameter {parameter.name} has an unsupported default value type {type(value)}. Please file an issue on "
        "GitHub so we can prioritize this."
    )


def _returned(hint: Any, refuse: Callable[[str], ValueError]) -> str:
    """The results of a function as schemas write them."""
    if hint is None or hint is NoneType:
        return "()"
    several = typing.get_origin(hint) is tuple
    kinds = [_named(each) for each in (typing.get_args(hint) if several else [hint])]
    for each, kind in zip(typing.get_args(hint) if several else [hint], kinds, strict=True):
        if kind not in RETURNED:
            raise refuse(f"Return has unsupported type {each}. The valid types are: {sorted(RETURNED)}.")
    return f"({', '.join(map(str, kinds))})" if several else str(kinds[0])
