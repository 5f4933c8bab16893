"""A predicted value as people type it: `[4, 6, 1]`, `4 6 1`, `float32`, `a`, `six`, `true false` or `2*10*20`."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from course.interview import numerals, tasks
from course.interview.prompts import code
from course.parsed import parsed

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_BETWEEN = re.compile(r"(?<=[\w.)\]\"'])\s+(?=[\w.([\"'+-])")
_WORD = re.compile(r"(?<![\w.:])(?!True\b|False\b|None\b)[A-Za-z_][\w.:]*")
_FLOAT = re.compile(r"\b(?:torch\.)?(b?)f(?:p|loat)?(16|32|64)\b", re.IGNORECASE)
_PREFIXED = re.compile(r"\btorch\.(?=u?int\d|bool\b)")
_AND = re.compile(r"\s*(?:,\s*)?(?:\band\b|[&;])\s*")
_LABEL = re.compile(r"(?<![^\s,;\[])(?:[a-z]\s*[:)]|\d{1,2}\s*:|[A-Za-z_]\w*\s*=(?!=))")
_NUMBERED = re.compile(r"(?<![^\s,;\[])\d{1,2}\)")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!,?\d)")
_THOUSANDS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*[kK]\b")
_YES_OR_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_MEGABYTES = ("MB", "megabytes")
_DOTS = re.compile(r"…|\.\.\.|\betc\b")


def units(task: str) -> list[str]:
    """The units in which a task asks for its numbers: MB of `How many MB …?`."""
    asked = re.findall(r"\bhow many (\w+)", task, re.IGNORECASE)
    return [*asked, *_MEGABYTES] if {"MB", "megabytes"} & {*asked} else asked


def read(text: str, wanted: Any = None, units: Sequence[str] = ()) -> str:
    """A typed value as Python writes it. Commas, brackets and quotes may be missing.

    Args:
        wanted: the correct value, if it is known. Only its type counts.
        units: what may stand behind a number.

    Raises:
        ValueError: it is no value, or none of this type.
    """
    given = re.sub(r"\b(true|false)\b", lambda word: word[0].capitalize(), text.strip())
    given = _PREFIXED.sub("", _FLOAT.sub(lambda name: f"{name[1].lower()}float{name[2]}", given))
    if isinstance(wanted, bool | int | float | list | tuple) and not _words(wanted) and "{" not in given:
        if _LABEL.search(given) or not _several(wanted):  # elsewhere, a comma stands between two values
            given = _GROUPED.sub(lambda number: number[0].replace(",", ""), given)
        given = given if "(" in given else _NUMBERED.sub(" ", given)
        given = _THOUSANDS.sub(lambda number: f"{1000 * float(number[1]):.15g}", numerals.digits(given))
        if units:
            given = re.sub(rf"(?<=\d)\s*(?:{'|'.join(units)})\b", "", given)
        given = _AND.sub(", ", _LABEL.sub(" ", given)).strip()
        if any(isinstance(each, bool) for each in (wanted if isinstance(wanted, list | tuple) else [wanted])):
            given = _YES_OR_NO.sub(lambda word: str(word[0].lower() == "yes"), given)
    if _DOTS.search(given):
        raise ValueError(f"{code(text.strip())} leaves values open: write each of them")
    commas = _BETWEEN.sub(", ", given)
    quoted = commas if re.search("[\"']", given) else _WORD.sub(lambda word: repr(word[0]), commas)
    for each in (given, commas, quoted):
        try:
            value = literal(each)
        except ValueError:
            continue
        return _fitting(list(value) if isinstance(value, tuple) else value, wanted, text)
    if tasks.is_value(given):  # such as `math.log(2)`, which the check carries out
        return given
    raise ValueError(
        f"{code(text.strip())} isn't a value such as 12, [3, 4] or 'float32'. "
        "Of several, write one behind the other: 3 4 5"
    )


def _fitting(value: Any, wanted: Any, text: str) -> str:
    """The value's text, if it can be one of the wanted type.

    Raises:
        ValueError: it can't.
    """
    if isinstance(wanted, dict) and isinstance(value, list) and len(value) == len(wanted):
        value = dict(zip(wanted, value, strict=True))
    if wanted is not None and not _words(wanted) and (words := _words(value)):
        raise ValueError(
            f"{code(words[0])} is a word, and {'numbers are' if _several(wanted) else 'a number is'} asked for"
        )
    if isinstance(wanted, str) and not _words(value):
        raise ValueError(f"{code(text.strip())} is a number, and a word or a letter is asked for")
    return repr(value)


def _words(value: Any) -> list[str]:
    """The strings in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | set):
        return [word for each in value for word in _words(each)]
    return [value] if isinstance(value, str) else []


def _several(value: Any) -> bool:
    return isinstance(value, list | tuple | dict | set)


def literal(text: str) -> Any:
    """The value of a text without names and calls; sums and products of numbers are carried out.

    Raises:
        ValueError: it isn't one.
    """
    try:
        body = parsed(text.strip()).body
        if len(body) == 1 and isinstance(body[0], ast.Expr):
            return _value(body[0].value)
    except (SyntaxError, TypeError, ArithmeticError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from error
    raise ValueError(f"{text.strip()} isn't one value")


def _value(node: ast.expr) -> Any:
    match node:
        case ast.BinOp(left, sign, right) if type(sign) in _OPERATORS:
            one, other = _value(left), _value(right)
            if isinstance(one, int | float) and isinstance(other, int | float):
                return _OPERATORS[type(sign)](one, other)
        case ast.List(elements):
            return [_value(each) for each in elements]
        case ast.Tuple(elements):
            return tuple(_value(each) for each in elements)
        case ast.Dict(keys, elements) if all(keys):
            return {_value(key): _value(each) for key, each in zip(keys, elements, strict=True) if key is not None}
    return ast.literal_eval(node)
