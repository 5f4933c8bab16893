"""Which variables the rest of a function may still read, so that a graph need not return the others.

Source: torch/_dynamo/bytecode_analysis.py, `livevars_analysis`
"""

from __future__ import annotations

import dis
import functools
from types import CodeType
from typing import Any

from minitorch._dynamo.stack import instructions

ENDS = ("RETURN_VALUE", "RAISE_VARARGS", "RERAISE")
JUMPS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
READS = ("LOAD_FAST", "DELETE_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "LOAD_CLASSDEREF", "DELETE_DEREF")


def exception_table(code: CodeType) -> list[Any]:
    """The ranges of a code object that have handlers: (start, end, target, depth, lasti), in bytes."""
    table: list[Any] = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return table


@functools.cache
def _live(code: CodeType) -> list[frozenset[str]]:
    """The names that are live before each instruction, as the least fixed point of the data-flow equations."""
    steps, places = instructions(code)
    following: list[list[int]] = []
    for at, step in enumerate(steps):
        targets = [] if step.opname in (*ENDS, *JUMPS) else [at + 1]
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            targets.append(places[step.argval])
        targets += [places[target] for start, end, target, *_ in exception_table(code) if start <= step.offset < end]
        following.append([each for each in targets if each < len(steps)])
    live: list[frozenset[str]] = [frozenset()] * len(steps)
    changed = True
    while changed:
        changed = False
        for at in reversed(range(len(steps))):
            now = frozenset().union(*(live[each] for each in following[at]))
            if steps[at].opname in READS:
                now |= {steps[at].argval}
            elif steps[at].opname == "STORE_FAST":
                now -= {steps[at].argval}
            if now != live[at]:
                live[at], changed = now, True
    return live


def live_names(code: CodeType, index: int) -> frozenset[str]:
    """The variables that may be read from an instruction on, before they are assigned."""
    return _live(code)[index]
