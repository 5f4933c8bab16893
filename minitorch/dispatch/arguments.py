"""Which argument of a call isn't what the signature of its op asks for, in the words of PyTorch's parser.

PyTorch looks at every argument before an op runs. That takes time, so here only a call that has failed is looked at:
whatever the kernel made of a wrong argument, the error is the parser's.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.dispatch.op import Op
from minitorch.dispatch.promotion import is_number
from minitorch.dispatch.schema import ALIASES, REQUIRED
from minitorch.dtypes import dtype
from minitorch.layout import memory_format
from minitorch.random import Generator
from minitorch.size import first_wrong, is_whole, kind_name, no_size
from minitorch.tensor import Tensor


def wrong_argument(op: Op, args: Sequence[Any], kwargs: dict[str, Any], in_place: bool = False) -> TypeError | None:
    """The error for the first argument whose type isn't that of its parameter; None if there is none.

    The form `in_place` is a method, whose errors count positions without `self`.
    """
    called = (op.aten if isinstance(op.aten, str) else op.name).lstrip("_") + "_" * in_place
    if len(args) > op.schema.keyword_only_from:
        return None
    given = dict(enumerate(args[: op.schema.count]))
    for name, value in kwargs.items():
        position = next(
            (op.schema.positions[each] for each in (name, *ALIASES.get(name, ())) if each in op.schema.positions), None
        )
        if position is not None:
            given.setdefault(position, value)
    for position, name in enumerate(op.schema.parameters):
        value = given.get(position, op.schema.defaults[position])
        if value is REQUIRED:
            return None  # the error is that it is missing
        if value is op.schema.defaults[position]:
            continue
        place = position + (not in_place) if position < len(args) else 0
        wrong = _mismatch(called, name, op.kernel.__annotations__.get(name, ""), value, place)
        if wrong is not None and not (op.types.takes_numbers and is_number(value)):
            return wrong
    return None


def wrong_in_call(
    function: Callable[..., Any], called: str, args: Sequence[Any], kwargs: dict[str, Any], tensors_only: bool
) -> TypeError | None:
    """The same for a function that is written with other ops, and the error for what is missing; of some only the
    tensors are looked at.
    """
    parameters = inspect.signature(function).parameters
    given = {**dict(zip(parameters, args, strict=False)), **kwargs}
    missing = [
        f'"{name}"'
        for name, each in parameters.items()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD and name not in given
    ]
    if missing and not tensors_only:
        s = "s" * (len(missing) == 1)
        return TypeError(f"{called}() missing {len(missing)} required positional argument{s}: {', '.join(missing)}")
    for place, (name, parameter) in enumerate(parameters.items(), 1):
        kind = str(function.__annotations__.get(name, "")).replace("Tensor", "Array")
        if name not in given or given[name] is parameter.default or (tensors_only and kind != "Array"):
            continue
        wrong = _mismatch(called, name, kind, given[name], place if place <= len(args) else 0)
        if wrong is not None:
            return wrong
    return None


def _mismatch(called: str, name: str, annotation: str, value: Any, place: int) -> TypeError | None:
    """The error for one argument, which stands at this place, or at 0 as a keyword."""
    kind, optional, _ = annotation.partition(" | None")
    if (value is None and (optional or kind == "Dims")) or (value.__class__ is bool and kind.endswith("| bool")):
        return None
    if kind in _INTS and not (place and kind in _CHECKED):
        apart = not isinstance(value, (tuple, list))
        sizes = (value,) if apart else value
        if first_wrong(sizes) is not None or (apart and kind not in _ONE_TOO):
            return no_size(called, sizes, place, apart, name)
    fits, wanted = _KINDS.get(f"{kind}?" if optional else kind) or _KINDS.get(kind) or (_anything, "")
    if fits(value):
        return None
    public = "input" if name == "self" else name.rstrip("_")
    where = f" (position {place})" if place else ""
    return TypeError(f"{called}(): argument '{public}'{where} must be {wanted}, not {kind_name(value)}")


def with_numbers(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments with numbers for the 0-d tensors that stand where a number is wanted; None if there are none.

    PyTorch's parser reads a tensor that requires no gradient as a number, and one of integers as an int.
    """
    if len(args) > op.schema.count:
        return None
    kinds = op.kernel.__annotations__
    read = [_as_number(kinds.get(name, ""), value) for name, value in zip(op.schema.parameters, args, strict=False)]
    named = {name: _as_number(kinds.get(name, ""), value) for name, value in kwargs.items()}
    same = all(map(operator.is_, read, args)) and all(map(operator.is_, named.values(), kwargs.values()))
    return None if same else (read, named)


def _as_number(annotation: str, value: Any) -> Any:
    kind = annotation.partition(" | None")[0]
    if kind not in _NUMBERS or not isinstance(value, Tensor) or not _is_double(value):
        return value
    return value.item() if kind not in _WHOLE or is_whole(value) else value


def _anything(value: Any) -> bool:
    return True


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or getattr(value, "is_sparse", False)


def _is_number(value: Any) -> bool:
    return _is_double(value) or (hasattr(value, "__float__") and not isinstance(value, Tensor))


def _is_operand(value: Any) -> bool:
    return _is_tensor(value) or _is_number(value)


def _is_double(value: Any) -> bool:
    return is_number(value) or (isinstance(value, Tensor) and not value.dim() and not value.requires_grad)


def _is_dtype(value: Any) -> bool:
    return isinstance(value, dtype) or value in (bool, int, float, complex)


def _is_int(value: Any) -> bool:
    if isinstance(value, Tensor):
        return _is_double(value) and is_whole(value)
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _instance(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Array": (_is_tensor, "Tensor"),
    "Array | Number": (_is_operand, "Tensor"),
    "int": (_is_int, "int"),
    "Double": (_is_double, "float"),
    "float": (_is_number, "Number"),
    "float?": (_is_number, "float"),
    "Number": (_is_number, "Number"),
    "str": (_instance(str), "str"),
    "bool": (_instance(bool), "bool"),
    "Generator": (_instance(Generator), "torch.Generator"),
    "dtype": (_is_dtype, "torch.dtype"),
    "DType": (_is_dtype, "torch.dtype"),
    "memory_format": (_instance(memory_format), "torch.memory_format"),
}
"""By a parameter's annotation, with a question mark if it may be None: what it takes, and how errors call that."""

_INTS = {"Dims", "Dims | bool", "Sequence[int]", "Variadic", "int | Sequence[int]"}
"""Annotations of several integers."""

_ONE_TOO = _INTS - {"Sequence[int]"}
"""Those of them for which one integer may be given."""

_WHOLE = {"int", "int | Sequence[int]"}
_NUMBERS = {"Number", "float", "Double"} | _WHOLE
"""Annotations of parameters for which a 0-d tensor may stand."""

_CHECKED = {"Variadic", "int | Sequence[int]"}
"""Those of them that are checked before the op runs, where they are given by position."""
