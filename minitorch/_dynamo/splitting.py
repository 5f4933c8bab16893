"""Where a function is split: a graph ends before an instruction that capture can't carry out.

PyTorch splits at calls, comparisons, indexing and assignments to attributes and items, and at conditional jumps. If
another instruction breaks the graph, the graph ends where the stack was last empty, and the rest runs eagerly. Nothing
is split in `try` and `with` blocks, and in a loop the whole function runs eagerly.
Source: torch/_dynamo/symbolic_convert.py, `break_graph_if_unsupported`, `generic_jump` and `step_graph_break`
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from minitorch._dynamo.exc import Break
from minitorch._dynamo.liveness import exception_table, live_names
from minitorch._dynamo.machine import Frame
from minitorch._dynamo.results import Writer
from minitorch._dynamo.resuming import MOST_VARIABLES, origin, resume_code, step_code
from minitorch._dynamo.stack import instructions
from minitorch._dynamo.values import Function, Null, Value

if TYPE_CHECKING:
    from minitorch._dynamo.capture import Capture

TAKES: dict[str, Callable[[int], int]] = {
    "CALL": lambda arg: arg + 2,
    "CALL_FUNCTION_EX": lambda arg: 3 + (arg & 1),
    "STORE_ATTR": lambda arg: 2,
    "STORE_GLOBAL": lambda arg: 1,
    "STORE_SUBSCR": lambda arg: 3,
    "BINARY_SUBSCR": lambda arg: 2,
    "COMPARE_OP": lambda arg: 2,
}
"""How many values an instruction takes from the stack, of those at which a function is split."""

FRAMES = {"locals", "vars", "dir", "eval", "exec", "super", "_getframe", "currentframe"}
"""Names of functions that look at the frame of the function which calls them: it isn't split."""


class Stop(NamedTuple):
    """Where a second capture ends the graph: before which of the function's own instructions, counted as they run.

    With `rest_is_eager`, the rest of the function isn't captured.
    """

    number: int
    reason: str
    where: str
    rest_is_eager: bool


class Reached(Exception):  # noqa: N818 - no error: the graph ends here
    """Execution has come to where the graph is to end."""


class Split(NamedTuple):
    """What follows a graph.

    Args:
        stop: why the graph ends.
        step: the code of the instruction that broke the graph, or None.
        calls: whether the instruction calls the first value that it takes.
        pushes: whether it puts a value on the stack.
        next, jump: the code of the rest after the instruction; after a jump that is taken, if it is a jump.
        jumps_if: the condition for which the jump is taken, or None if the instruction is none.
        keeps: whether a jump that is taken leaves the condition on the stack.
        scope: the globals of the function.
    """

    stop: Stop
    step: CodeType | None
    calls: bool
    pushes: bool
    next: CodeType
    jump: CodeType | None
    jumps_if: bool | None
    keeps: bool
    scope: dict[str, Any]


class RootFrame(Frame):
    """The frame of the function that is compiled, which knows where it can be split."""

    def __init__(self, capture: Capture, function: Function, variables: dict[str, Value], stop: Stop | None) -> None:
        super().__init__(capture, function, variables)
        self.stop = stop
        self.count = 0
        self.checkpoint: int | None = None
        code = self.code
        names = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self.whole = bool(FRAMES & {*code.co_names}) or len(names) + code.co_stacksize > MOST_VARIABLES
        self.blocks = [(start, end) for start, end, *_ in exception_table(code)]

    def before(self, step: dis.Instruction) -> None:
        """Ends the graph here if it was found that it must. Raises Reached."""
        self.count += 1
        if self.stop is not None and self.count == self.stop.number:
            raise Reached
        if not self.stack and self.capture.calls > 1 and self._is_outside(step):
            self.checkpoint = self.count

    def _is_outside(self, step: dis.Instruction) -> bool:
        """Whether the function may be split here."""
        return not self.whole and not any(start <= step.offset < end for start, end in self.blocks)

    @property
    def current(self) -> dis.Instruction:
        """The instruction that runs, or would be next."""
        return instructions(self.code)[0][self.at]

    def where_to_stop(self, error: Break) -> Stop | None:
        """Where the graph must end so that the instruction which breaks it runs in Python; None if it can't."""
        if self.result is not None or self.stop is not None:
            return None
        step = instructions(self.code)[0][self.at - 1]
        if self._is_outside(step) and (step.opname in TAKES or _condition(step) is not None):
            return None if self._is_in_loop(step) else Stop(self.count, error.reason, error.where, False)
        return Stop(self.checkpoint, error.reason, error.where, True) if self.checkpoint else None

    def _is_in_loop(self, step: dis.Instruction) -> bool:
        """Whether a jump before the next return goes back to before this instruction: PyTorch's heuristic."""
        for each in instructions(self.code)[0][self.at :]:
            if each.opname == "RETURN_VALUE":
                return False
            if each.opcode in dis.hasjrel and each.argval < step.offset:
                return True
        return False

    def split(self, writer: Writer) -> tuple[Split, str]:
        """What follows the graph, and an expression for the values which that needs: those that the instruction takes,
        those that the rest needs, and the cells.
        """
        assert self.stop is not None
        step, stop = self.current, self.stop
        taken, pushes, condition = 0, 0, None
        targets = [self.at]
        if not stop.rest_is_eager:
            condition = _condition(step)
            taken = 1 if condition is not None else TAKES[step.opname](step.arg or 0)
            pushes = int(condition is None and not step.opname.startswith("STORE"))
            targets = [self.at + 1] if condition is None else [self.at + 1, self.places[step.argval]]
        below, consumed = self.stack[: len(self.stack) - taken], self.stack[len(self.stack) - taken :]
        slots = tuple(not isinstance(each, Null) for each in consumed)
        stack = tuple(not isinstance(each, Null) for each in below)
        live = frozenset().union(*(live_names(self.code, each) for each in targets))
        names = tuple(name for name in self.code.co_varnames if name in live and name in self.variables)
        original, _ = origin(self.code, 0)
        cells = [*original.co_cellvars, *original.co_freevars]
        names = tuple(name for name in names if name not in cells)
        keeps = step.opname.endswith("OR_POP")
        kept = [*(self.variables[name] for name in names), *(each for each in below if not isinstance(each, Null))]
        parts = [
            [writer.text(each) for each in consumed if not isinstance(each, Null)],
            [writer.text(each) for each in kept],
            [writer.cell(self.cells[name]) for name in cells],
        ]
        line = (step.positions.lineno if step.positions else None) or self.code.co_firstlineno

        def rest(target: int, pushed: int) -> CodeType:
            steps = instructions(self.code)[0]
            original, offset = origin(self.code, steps[target].offset)
            return resume_code(original, original.co_filename, offset, names, (*stack, *(True,) * pushed), line)

        found = Split(
            stop=stop,
            step=None if stop.rest_is_eager else step_code(self.code, step, slots, self.names),
            calls=step.opname.startswith("CALL"),
            pushes=bool(pushes),
            next=rest(targets[0], pushes),
            jump=rest(targets[1], int(keeps)) if condition is not None else None,
            jumps_if=condition,
            keeps=keeps,
            scope=self.function.scope.names,
        )
        return found, "".join(f"({''.join(f'{each}, ' for each in part)}), " for part in parts)


def _condition(step: dis.Instruction) -> bool | None:
    """The truth of a value for which an instruction jumps; None of other instructions."""
    if "JUMP" not in step.opname or "NONE" in step.opname:
        return None
    return True if "IF_TRUE" in step.opname else False if "IF_FALSE" in step.opname else None
