"""Code objects for what follows a graph break: the instruction that breaks the graph, and the rest of the function.

The rest is the function's own bytecode with a prefix that restores the stack and jumps to where execution goes on; its
variables and the stack are parameters, and its cells are free variables. Source: torch/_dynamo/resume_execution.py,
and https://github.com/python/cpython/blob/3.11/Objects/locations.md, exception_handling_notes.txt for the tables.
"""

from __future__ import annotations

import dis
import functools
import inspect
import opcode
from collections.abc import Iterable
from opcode import opmap
from types import CodeType

from minitorch._dynamo.liveness import exception_table

NO_LOCATION, LONG_LOCATION = 15, 14
STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
MOST_VARIABLES = 255
"""An index above takes an instruction more, which would move all jumps."""

ORIGINS: dict[CodeType, tuple[CodeType, int]] = {}
"""Of a resume function's code, the function's own code and the length of the prefix before it, in bytes."""


def origin(code: CodeType, offset: int) -> tuple[CodeType, int]:
    """The user's code object and the offset in it, of an instruction that may be in a resume function."""
    original, length = ORIGINS.get(code, (code, 0))
    return original, offset - length


def words(name: str, arg: int = 0) -> bytes:
    """An instruction with its argument, its prefixes and its cache."""
    code = opmap[name]
    prefixes = b"".join(bytes((opmap["EXTENDED_ARG"], arg >> shift & 255)) for shift in (24, 16, 8) if arg >> shift)
    caches: int = opcode._inline_cache_entries[code]  # type: ignore[attr-defined]
    return prefixes + bytes((code, arg & 255)) + bytes(2 * caches)


def stacked(slots: Iterable[bool], first: int) -> bytes:
    """Instructions that push parameters, from the first one given, and nulls where a slot is False."""
    found = b""
    for is_value in slots:
        found += words("LOAD_FAST", first) if is_value else words("PUSH_NULL")
        first += is_value
    return found


@functools.cache
def resume_code(
    code: CodeType, filename: str, offset: int, names: tuple[str, ...], stack: tuple[bool, ...], line: int
) -> CodeType:
    """The function from an instruction on.

    Args:
        code: the user's function.
        filename: its file, by which equal functions differ.
        offset: where it goes on, in bytes.
        names: the variables that have values, which are its first parameters.
        stack: whether each position of the stack has a value, which is a parameter, or a null.
        line: the line of the graph break, for the name.
    """
    cells = (*code.co_cellvars, *code.co_freevars)
    parameters = (*names, *(f"___stack{place}" for place in range(sum(stack))))
    others = [name for name in code.co_varnames if name not in names and name not in cells]
    variables = (*parameters, *others)
    places = {name: place for place, name in enumerate((*variables, *cells))}
    body = bytearray(code.co_code)
    for place in range(0, len(body), 2):
        if body[place] in dis.haslocal or body[place] in dis.hasfree:
            body[place + 1] = places[code._varname_from_oparg(body[place + 1])]  # type: ignore[attr-defined]
    prefix = (words("COPY_FREE_VARS", len(cells)) if cells else b"") + words("RESUME")
    prefix += stacked(stack, len(names)) + words("JUMP_FORWARD", offset // 2)
    units = len(prefix) // 2
    nowhere = b"".join(_entry(NO_LOCATION, min(8, units - done)) for done in range(0, units, 8))
    result = code.replace(
        co_code=prefix + bytes(body), co_linetable=nowhere + code.co_linetable,
        co_exceptiontable=_moved(code, units), co_argcount=len(parameters), co_posonlyargcount=0, co_kwonlyargcount=0,
        co_nlocals=len(variables), co_varnames=variables, co_cellvars=(), co_freevars=cells,
        co_stacksize=max(code.co_stacksize, len(stack) + 1), co_flags=code.co_flags & ~STARRED,
        co_name=f"torch_dynamo_resume_in_{code.co_name}_at_{line}",
    )  # fmt: skip
    ORIGINS[result] = (code, len(prefix))
    return result


def step_code(code: CodeType, step: dis.Instruction, slots: tuple[bool, ...], names: tuple[str, ...]) -> CodeType:
    """A function of the values that an instruction takes from the stack: it carries the instruction out.

    It returns what the instruction pushes, and of a conditional jump whether the condition is false. To tracebacks and
    warnings it is the user's function in the same line.
    """
    body = words("RESUME") + stacked(slots, 0)
    if names:
        body += words("KW_NAMES", next(i for i, each in enumerate(code.co_consts) if each == names))
    if step.opname == "CALL":
        body += words("PRECALL", step.arg or 0)
    body += words("UNARY_NOT") if "JUMP" in step.opname else words(step.opname, step.arg or 0)
    if step.opname.startswith("STORE"):
        body += words("LOAD_CONST", len(code.co_consts))
    body += words("RETURN_VALUE")
    parameters = tuple(f"___stack{place}" for place in range(sum(slots)))
    line = step.positions.lineno if step.positions else None
    return code.replace(
        co_code=body, co_consts=(*code.co_consts, None), co_linetable=_located(len(body) // 2, step),
        co_firstlineno=line or code.co_firstlineno, co_exceptiontable=b"", co_argcount=len(parameters),
        co_posonlyargcount=0, co_kwonlyargcount=0, co_nlocals=len(parameters), co_varnames=parameters, co_cellvars=(),
        co_freevars=(), co_stacksize=len(slots) + 2, co_flags=inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS,
    )  # fmt: skip


def _entry(kind: int, units: int) -> bytes:
    return bytes((0x80 | kind << 3 | units - 1,))


def _located(units: int, step: dis.Instruction) -> bytes:
    """A table of locations in which everything is where an instruction is."""
    at = step.positions
    known = at is not None and None not in (at.lineno, at.end_lineno, at.col_offset, at.end_col_offset)
    numbers = (0, at.end_lineno - at.lineno, at.col_offset + 1, at.end_col_offset + 1) if known else ()  # type: ignore[operator, union-attr]
    place = b"".join(_little(each) for each in numbers)
    kind = LONG_LOCATION if known else NO_LOCATION
    return b"".join(_entry(kind, min(8, units - done)) + place for done in range(0, units, 8))


def _little(value: int) -> bytes:
    """A number of the table of locations: six bits a byte, the lowest first."""
    found = b""
    while value > 63:
        found += bytes((0x40 | value & 63,))
        value >>= 6
    return found + bytes((value,))


def _moved(code: CodeType, units: int) -> bytes:
    """The exception table of code that has moved: six bits a byte, the highest first; bit 7 begins an entry."""
    table = b""
    for start, end, target, depth, lasti in exception_table(code):
        entry = b""
        for value in (start // 2 + units, (end - start) // 2, target // 2 + units, depth << 1 | lasti):
            groups = [value >> shift & 63 for shift in (24, 18, 12, 6) if value >> shift]
            entry += bytes(0x40 | each for each in groups) + bytes((value & 63,))
        table += bytes((entry[0] | 0x80,)) + entry[1:]
    return table
