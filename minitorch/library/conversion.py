"""Arguments and results of operators, converted to the types of their schema as PyTorch's dispatcher converts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.devices import device
from minitorch.dtypes import dtype
from minitorch.layout import layout, memory_format
from minitorch.library.schema import Argument, FunctionSchema, Type
from minitorch.random import Generator
from minitorch.tensor import Tensor

KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,), "Layout": (layout,), "MemoryFormat": (memory_format,), "Generator": (Generator,),
}  # fmt: skip
"""The types whose values are passed on as they are."""


class UncastableError(Exception):
    """A value is not of a type; the text says why."""


def bound(schema: FunctionSchema, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, converted: those by position, without defaults at the end, and those that are keywords
    only.

    Raises:
        RuntimeError: an argument is missing, given twice, unknown or not of its type.
    """
    by_position = [each for each in schema.arguments if not each.kwarg_only]
    if len(args) > len(by_position):
        raise RuntimeError(
            f"{schema.name}() expected at most {len(by_position)} argument(s) but received {len(args)} argument(s). "
            f"Declaration: {schema}"
        )
    given = dict(zip((each.name for each in by_position), args, strict=False))
    missing = [each for each in schema.arguments if not each.has_default_value() and each.name not in (*given, *kwargs)]
    if missing:
        raise RuntimeError(f"{schema.name}() is missing value for argument '{missing[0].name}'. Declaration: {schema}")
    for name in kwargs:
        if name in given:
            raise RuntimeError(f"Argument '{name}' specified both as positional and keyword argument. Schema: {schema}")
        if all(name != each.name for each in schema.arguments):
            raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{schema.name}'. Schema: {schema}")
    given |= kwargs
    values = {
        each.name: _converted(schema, each, place, given[each.name])
        for place, each in enumerate(schema.arguments)
        if each.name in given
    }
    last = max((place for place, each in enumerate(by_position) if each.name in values), default=-1)
    positional = [values.get(each.name, each.default_value) for each in by_position[: last + 1]]
    keywords = [each.name for each in schema.arguments if each.kwarg_only and each.name in values]
    return positional, {name: values[name] for name in keywords}


def with_defaults(
    schema: FunctionSchema, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same with all defaults filled in."""
    by_position = [each for each in schema.arguments if not each.kwarg_only]
    rest = tuple(each.default_value for each in by_position[len(args) :])
    keywords = {each.name: kwargs.get(each.name, each.default_value) for each in schema.arguments if each.kwarg_only}
    return (*args, *rest), keywords


def _converted(schema: FunctionSchema, argument: Argument, place: int, value: Any) -> Any:
    try:
        return converted(argument.type, value)
    except UncastableError as reason:
        raise RuntimeError(
            f"{schema.name}() Expected a value of type '{argument.type}' for argument '{argument.name}' but instead "
            f"found type '{type(value).__name__}'.\nPosition: {place}\nValue: {value!r}\nDeclaration: {schema}\n"
            f"{reason}"
        ) from None


def converted(kind: Type, value: Any) -> Any:
    """A value as one of a type: numbers of tensors without dimensions are read, sequences become lists.

    Raises:
        UncastableError: it can't be one.
    """
    if kind.is_optional:
        return None if value is None else converted(kind.item, value)
    if kind.is_list:
        if isinstance(value, (list, tuple)):
            return [converted(kind.item, each) for each in value]
        if kind.size and not isinstance(value, Tensor):
            return [converted(kind.item, value)] * kind.size
        raise _uncastable(value)
    return _CONVERTERS.get(kind.base, _as_it_is(kind.base))(value)


def _uncastable(value: Any) -> UncastableError:
    if not isinstance(value, (Tensor, bool, int, float, str, list, tuple, type(None))):
        return UncastableError(f"Cast error details: Unable to cast {value} to the type")
    return UncastableError(
        f"Cast error details: Unable to cast Python instance of type {type(value)} to C++ type '?' "
        "(#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
    )


def _tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise UncastableError(f"Cast error details: Unable to cast {value} to Tensor")
    return value


def _number(*kinds: type) -> Callable[[Any], Any]:
    """What makes the first of these types of a value of any of them, or of a tensor that holds one number."""

    def convert(value: Any) -> Any:
        if isinstance(value, Tensor) and value.numel() == 1:
            value = value.item()
        if not isinstance(value, kinds):
            raise _uncastable(value)
        return kinds[0](value)

    return convert


def _scalar(value: Any) -> Any:
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise UncastableError(f"Cast error details: Cannot cast {value} to number")
    return value


def _device(value: Any) -> device:
    if not isinstance(value, (str, device)):
        raise _uncastable(value)
    return device(value)


def _dtype(value: Any) -> dtype:
    if not isinstance(value, dtype):
        raise _uncastable(value)
    return value


def _as_it_is(base: str) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if not isinstance(value, KINDS[base]):
            raise _uncastable(value)
        return value

    return convert


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "Tensor": _tensor, "Scalar": _scalar, "ScalarType": _dtype, "Device": _device, "bool": _number(bool, int),
    "int": _number(int), "SymInt": _number(int), "float": _number(float, int), "complex": _number(complex, float, int),
}  # fmt: skip


def returned(schema: FunctionSchema, result: Any) -> Any:
    """What a kernel returned, as the results of the schema.

    Raises:
        RuntimeError: None was expected, or a tensor.
        TypeError: several results were expected and it is no sequence, or one of another length.
    """
    kinds = [each.type for each in schema.returns]
    if not kinds:
        if result is not None:
            raise RuntimeError(
                f"Expected PythonKernelHolder for {schema.name} to return None but it returned something else instead."
            )
        return None
    if len(kinds) == 1:
        return _result(kinds[0], result)
    if not isinstance(result, (list, tuple)):
        raise TypeError(f"Object of type '{type(result).__name__}' is not an instance of 'sequence'")
    if len(result) != len(kinds):
        raise RuntimeError(
            f"Expected PythonKernelHolder for {schema.name} to return {len(kinds)} values but it returned "
            f"{len(result)}."
        )
    return tuple(map(_result, kinds, result))


def _result(kind: Type, value: Any) -> Any:
    try:
        return converted(kind, value)
    except UncastableError as reason:
        raise RuntimeError(str(reason).removeprefix("Cast error details: ")) from None
