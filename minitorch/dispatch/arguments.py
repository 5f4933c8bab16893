"""Which argument of a call isn't what the signature of its op asks for, in the words of PyTorch's parser.

PyTorch looks at every argument before an op runs. That takes time, so here only a call that has failed is looked at:
whatever the kernel made of a wrong argument, the error is the parser's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.dispatch.op import ALIASES, REQUIRED, Op
from minitorch.dispatch.promotion import is_number
from minitorch.dtypes import dtype
from minitorch.layout import memory_format
from minitorch.random import Generator
from minitorch.size import is_whole, no_size
from minitorch.tensor import Tensor


def wrong_argument(op: Op, args: Sequence[Any], kwargs: dict[str, Any], in_place: bool = False) -> TypeError | None:
    """The error for the first argument whose type isn't that of its parameter; None if there is none.

    The form `in_place` is a method, whose errors count positions without `self`.
    """
    called = op.name.lstrip("_") + "_" * in_place
    if len(args) > op.keyword_only_from:
        return None
    given = dict(enumerate(args[: op.count]))
    for name, value in kwargs.items():
        position = next((op.positions[each] for each in (name, *ALIASES.get(name, ())) if each in op.positions), None)
        if position is not None:
            given.setdefault(position, value)
    for position, name in enumerate(op.parameters):
        value = given.get(position, op.defaults[position])
        if value is REQUIRED:
            return None  # the error is that it is missing
        kind, optional, _ = op.kernel.__annotations__.get(name, "").partition(" | None")
        place = position + (not in_place) if position < len(args) else 0
        if (value is None and (optional or kind == "Dims")) or value is op.defaults[position]:
            continue
        if kind in _INTS and not (place and kind in _CHECKED):
            apart = not isinstance(value, (tuple, list))
            sizes = (value,) if apart else value
            if not all(map(is_whole, sizes)) or (apart and kind not in _ONE_TOO):
                return no_size(called, sizes, place, apart, name)
        fits, wanted = _KINDS.get(f"{kind}?" if optional else kind) or _KINDS.get(kind) or (_anything, "")
        if not fits(value) and not (op.takes_numbers and is_number(value)):
            public = "input" if name == "self" else name.rstrip("_")
            where = f" (position {place})" if place else ""
            return TypeError(f"{called}(): argument '{public}'{where} must be {wanted}, not {type(value).__name__}")
    return None


def _anything(value: Any) -> bool:
    return True


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or getattr(value, "is_sparse", False)


def _is_number(value: Any) -> bool:
    return is_number(value) or _is_tensor(value) or (hasattr(value, "__float__") and not isinstance(value, str))


def _is_double(value: Any) -> bool:
    return is_number(value) or (isinstance(value, Tensor) and not value.dim() and not value.requires_grad)


def _is_dtype(value: Any) -> bool:
    return isinstance(value, dtype) or value in (bool, int, float, complex)


def _has_index(value: Any) -> bool:
    return hasattr(value, "__index__")


def _instance(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Array": (_is_tensor, "Tensor"),
    "Array | Number": (_is_number, "Tensor"),
    "int": (_has_index, "int"),
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

_INTS = {"Dims", "Sequence[int]", "Variadic", "int | Sequence[int]"}
"""Annotations of several integers."""

_ONE_TOO = _INTS - {"Sequence[int]"}
"""Those of them for which one integer may be given."""

_CHECKED = {"Variadic", "int | Sequence[int]"}
"""Those of them that are checked before the op runs, where they are given by position."""
