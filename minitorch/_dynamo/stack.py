"""How the instructions of Python 3.11 are read: their names, arguments and places.

Source: https://docs.python.org/3.11/library/dis.html
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from types import CodeType

VERSION = (3, 11)


@functools.cache
def instructions(code: CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    """The instructions of a function, and the index of each by its offset."""
    found = [each for each in dis.get_instructions(code) if each.opname not in ("CACHE", "EXTENDED_ARG")]
    places = {each.offset: index for index, each in enumerate(found)}
    extended = [each.offset for each in dis.get_instructions(code) if each.opname == "EXTENDED_ARG"]
    for offset in reversed(extended):  # a jump may go to the prefix of an instruction
        places[offset] = places[min(place for place in places if place > offset)]
    return found, places


def refused(code: CodeType) -> str | None:
    """Why a function can't be captured whatever it does, or None."""
    if sys.version_info[:2] != VERSION:
        return f"capture reads the bytecode of Python 3.11, not {sys.version_info[0]}.{sys.version_info[1]}"
    if code.co_name != "<genexpr>" and code.co_flags & (
        inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    ):
        return "generators and coroutines are not captured"
    return None
