"""Schemas: what an operator takes and returns, in the language of PyTorch's native_functions.yaml.

For instance `mylib::scale(Tensor x, float factor=1., *, int[]? dims=None) -> Tensor`. `(a!)` behind a type says that
the operator writes to the argument.
Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

NAMES = {"SymInt": "int", "Scalar": "number", "ScalarType": "int"}
"""What types are called in errors and by `str` of an argument's type, where it differs."""

BASES = {
    "Tensor", "int", "SymInt", "float", "bool", "str", "Scalar", "ScalarType", "Device", "Layout", "MemoryFormat",
    "Generator", "complex",
}  # fmt: skip
_TYPE = re.compile(r"(?P<base>\w+)(\((?P<alias>\w+)(?P<write>!)?\))?(?P<marks>(\[\d*\]|\?)*)")
_NAME = re.compile(r"(?:(?P<space>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?")


@dataclass(frozen=True)
class Type:
    """A type of a schema: a base with marks, for instance `Tensor` and `[]?` for an optional list of tensors."""

    base: str
    marks: str = ""

    @property
    def is_optional(self) -> bool:
        """Whether None is a value."""
        return self.marks.endswith("?")

    @property
    def is_list(self) -> bool:
        """Whether values are lists."""
        return "[" in self.marks

    @property
    def item(self) -> Type:
        """The type of a list's items, or of what is not None."""
        shorter = self.marks[:-1] if self.is_optional else self.marks[: self.marks.rindex("[")]
        return Type(self.base, shorter)

    @property
    def size(self) -> int | None:
        """How many items a list has when one number is given for all: 2 in `int[2]`."""
        count = re.search(r"\[(\d+)\]", self.marks)
        return int(count[1]) if count else None

    def __str__(self) -> str:
        if self.is_optional:
            return f"Optional[{self.item}]"
        return f"List[{self.item}]" if self.is_list else NAMES.get(self.base, self.base)


@dataclass(frozen=True)
class AliasInfo:
    """That an argument or result shares memory: the name of the set, and whether it is written to."""

    name: str
    is_write: bool


@dataclass(frozen=True)
class Argument:
    """A parameter or a result: `name`, `type`, `default_value`, `kwarg_only` and `alias_info` are PyTorch's names."""

    name: str
    type: Type
    alias_info: AliasInfo | None = None
    default_value: Any = None
    kwarg_only: bool = False
    default: str = ""

    def has_default_value(self) -> bool:
        """Whether a call may leave the argument out."""
        return bool(self.default)

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to the argument."""
        return self.alias_info is not None and self.alias_info.is_write

    def __str__(self) -> str:
        alias = "" if self.alias_info is None else f"({self.alias_info.name}{'!' * self.alias_info.is_write})"
        text = f"{self.type.base}{alias}{self.type.marks}"
        return " ".join(filter(None, [text, self.name])) + (f"={self.default}" if self.default else "")


@dataclass(frozen=True)
class FunctionSchema:
    """What an operator takes and returns."""

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes to one of its arguments."""
        return any(each.is_write for each in self.arguments)

    @property
    def is_functional(self) -> bool:
        """Whether no argument is written to and no result shares memory with one."""
        return all(each.alias_info is None for each in (*self.arguments, *self.returns))

    def __str__(self) -> str:
        parts = [str(each) for each in self.arguments]
        star = next((place for place, each in enumerate(self.arguments) if each.kwarg_only), None)
        if star is not None:
            parts.insert(star, "*")
        returns = ", ".join(map(str, self.returns))
        overload = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{overload}({', '.join(parts)}) -> {returns if len(self.returns) == 1 else f'({returns})'}"


def parsed(text: str, namespace: str = "") -> FunctionSchema:
    """The schema that a text such as "foo(Tensor x) -> Tensor" describes; its name gets the namespace.

    Raises:
        RuntimeError: the text is no schema.
    """
    head, opening, rest = text.strip().partition("(")
    found = _NAME.fullmatch(head.strip())
    inside, closing, returned = _closed(rest)
    arrow, _, result = returned.strip().partition("->")
    if not found or not opening or not closing or arrow or not result.strip():
        raise RuntimeError(f"expected a schema such as 'foo(Tensor x) -> Tensor' but found:\n{text}\n")
    space = found["space"] or namespace
    name = f"{space}::{found['name']}" if space else found["name"]
    return FunctionSchema(
        name, found["overload"] or "", tuple(_arguments(inside, text)), tuple(_returns(result.strip(), text))
    )


def _closed(text: str) -> tuple[str, str, str]:
    """What stands before the bracket that closes a list of arguments, the bracket, and what follows."""
    depth, quote = 1, ""
    for place, each in enumerate(text):
        if quote or each in "'\"":
            quote = "" if each == quote else quote or each
        else:
            depth += (each == "(") - (each == ")")
        if not depth:
            return text[:place], ")", text[place + 1 :]
    return text, "", ""


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand in no brackets and no quotes."""
    depth, quote, part = 0, "", ""
    for each in text:
        if quote or each in "'\"":
            quote = "" if each == quote else quote or each
        else:
            depth += (each in "([") - (each in ")]")
        if each == "," and not depth and not quote:
            yield part.strip()
            part = ""
        else:
            part += each
    if part.strip():
        yield part.strip()


def _typed(text: str, whole: str) -> tuple[Argument, str]:
    """An argument without name and default, and the text behind its type."""
    found = _TYPE.match(text)
    if not found or found["base"] not in BASES:
        raise RuntimeError(f"Unknown type specifier: {text.split()[0] if text.split() else text!r} in\n{whole}\n")
    alias = AliasInfo(found["alias"], bool(found["write"])) if found["alias"] else None
    return Argument("", Type(found["base"], found["marks"]), alias), text[found.end() :].strip()


def _arguments(text: str, whole: str) -> Iterator[Argument]:
    kwarg_only = False
    for part in _split(text):
        if part == "*":
            kwarg_only = True
            continue
        argument, rest = _typed(part, whole)
        name, _, default = (each.strip() for each in rest.partition("="))
        if not name.isidentifier():
            raise RuntimeError(f"expected the name of an argument but found {rest!r} in\n{whole}\n")
        value = _value(default, argument.type)
        yield replace(
            argument,
            name=name,
            kwarg_only=kwarg_only,
            default_value=value,
            default=_shown(value, argument.type, default),
        )


def _returns(text: str, whole: str) -> Iterator[Argument]:
    for part in _split(text[1:-1] if text.startswith("(") else text):
        argument, name = _typed(part, whole)
        yield replace(argument, name=name)


def _value(default: str, kind: Type) -> Any:
    """The value that a default's text stands for."""
    if default in ("", "None"):
        return None
    if default in ("True", "False"):
        return default == "True"
    if default[0] in "'\"[-+.0123456789":
        value = ast.literal_eval(default)
        if kind.is_list and not isinstance(value, list):
            return [value] * (kind.size or 1)
        return float(value) if kind.base == "float" and not kind.is_list else value
    return default


def _shown(value: Any, kind: Type, text: str) -> str:
    """A default as PyTorch prints it: strings in double quotes, whole floats with a point."""
    if isinstance(value, str) and text[0] in "'\"":
        return f'"{value}"'
    if isinstance(value, float) and kind.base == "float":
        digits = f"{value:.17g}"
        return f"{digits}." if digits.lstrip("-").isdigit() else digits
    return text
