"""Generator expressions in captured code: they run as far as somebody asks for their values, as in Python.

Source: torch/_dynamo/variables/functions.py, `LocalGeneratorObjectVariable`
"""

from __future__ import annotations

import dis

from minitorch._dynamo.machine import Frame
from minitorch._dynamo.values import Known, Steps, Value


class GeneratorFrame(Frame):
    """The frame of a generator expression, which stops at each value."""

    finished = False

    def RETURN_GENERATOR(self, step: dis.Instruction) -> None:
        self.push(Known(None))

    def YIELD_VALUE(self, step: dis.Instruction) -> None:
        self.result = self.pop()
        self.push(Known(None))  # what `send` would give

    def RETURN_VALUE(self, step: dis.Instruction) -> None:
        super().RETURN_VALUE(step)
        self.finished = True


class Generated(Steps):
    """The values of a generator expression, none of which exists before it is asked for."""

    def __init__(self, frame: GeneratorFrame) -> None:
        super().__init__([])
        self._frame = frame

    def next(self) -> Value | None:
        if self._frame.finished:
            return None
        self._frame.result = None
        value = self._frame.run()
        return None if self._frame.finished else value

    def rest(self) -> list[Value]:
        return list(iter(self.next, None))
