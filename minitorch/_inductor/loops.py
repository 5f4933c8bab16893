"""A formula as the source of a loop that Numba compiles.

The loop goes through blocks of the elements that stay in the first-level cache. In a block, lines that are one
instruction each make an inner loop of their own, in which their values stay in registers; between these, NumPy's own
inner loops compute the other functions, as they do in `kernels/loops`, so the bits are those of eager mode.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from minitorch._inductor.formulas import CALLED, INLINE, MASKS, Line, Operand
from minitorch._inductor.rows import FILES
from minitorch.arrays import Shape
from minitorch.arrays.loops import cache_folder

CACHE: Final = 2**15
"""The bytes of the first-level cache, which the arrays of a block share."""


def path_of(source: str) -> str:
    """The file of generated source, which need not exist."""
    return os.path.join(cache_folder(), f"generated_{hashlib.sha256(source.encode()).hexdigest()[:16]}.py")


@functools.cache
def compiled(source: str) -> Callable[..., None]:
    """The compiled `loop` of generated source; its machine code is kept on disk. Raises ImportError without Numba."""
    path = path_of(source)
    if not os.path.exists(path):
        with tempfile.NamedTemporaryFile("w", dir=cache_folder(), suffix=".tmp", delete=False) as file:
            file.write(source)
        os.replace(file.name, path)
    name = f"minitorch_{os.path.basename(path)[:-3]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # Numba looks for a cached function's module
    spec.loader.exec_module(module)
    loop: Callable[..., None] = module.loop
    return loop


def source_of(
    lines: Sequence[Line], arrays: Mapping[str, Shape], outputs: Mapping[str, str], dtype: Any, by_rows: bool = False
) -> str:
    """The source of a module with `loop(*arrays)`, whose arguments have one dtype and as many dimensions.

    Args:
        lines: what is computed.
        arrays: the shapes of what is read and written, which are broadcast together.
        outputs: for each array that is written, the name of the line whose values it gets.
        by_rows: whether blocks are whole rows of the last dimension, which some lines need.
    """
    return _Writer(lines, arrays, outputs, dtype, by_rows).text()


def needed(lines: Sequence[Line], outputs: Collection[str]) -> list[Line]:
    """The lines on which the outputs depend."""
    read: set[Operand] = {*outputs}
    found = []
    for line in reversed(lines):
        if line.name in read:
            found.append(line)
            read.update(line.operands)
    return found[::-1]


def in_segments(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines in an order in which few inner loops are needed: each is a list of inline lines, or one call."""
    segments: list[list[Line]] = []
    while lines:
        waiting = {line.name for line in lines}
        inline = []
        for line in lines:
            if line.function in INLINE and waiting.isdisjoint(line.operands):
                inline.append(line)
                waiting.remove(line.name)
        calls = [line for line in lines if line.function not in INLINE and waiting.isdisjoint(line.operands)]
        segments += [*([inline] if inline else []), *([line] for line in calls)]
        done = {line.name for line in (*inline, *calls)}
        lines = [line for line in lines if line.name not in done]
    return segments


class _Writer:
    """Writes one loop."""

    def __init__(
        self,
        lines: Sequence[Line],
        arrays: Mapping[str, Shape],
        outputs: Mapping[str, str],
        dtype: Any,
        by_rows: bool,
    ) -> None:
        self.arrays, self.outputs, self.dtype, self.by_rows = arrays, outputs, dtype, by_rows
        self.shape = arrays[next(iter(outputs))]
        self.segments = in_segments(needed(lines, outputs.values()))
        self.masks = {line.name for line in lines if line.function in MASKS or line.function.startswith("bitwise")}
        self.numbers: dict[Operand, str] = {}
        # The block in which the values of an input or a line are: of several outputs that get a line, the first one's.
        self.stored = {line: f"b_{name}" for name, line in reversed([*outputs.items()])}
        self.stored |= {name: f"b_{name}" for name in arrays if name not in outputs}
        # Arrays of which an inner loop reads a single element.
        self.single = {f"b_{name}" for name, shape in arrays.items() if shape[-1] != self.shape[-1]}
        self.scratch = 0  # how many blocks of memory are needed besides those of the arrays

    def text(self) -> str:
        """The module."""
        body = [line for place in range(len(self.segments)) for line in self._segment(place)]
        for name, line in self.outputs.items():
            if self.stored[line] != f"b_{name}":  # a second array with the same values
                body.append(f"b_{name}[:] = {self.stored[line]}")
        block = max(CACHE // (self.dtype.itemsize * (len(self.arrays) + self.scratch)) // 64, 1) * 64
        if self.by_rows or (block > self.shape[-1] and len(self.shape) > 1):
            block = self.shape[-1]
        functions = sorted({line.function for segment in self.segments for line in segment})
        called = [each for each in functions if each in CALLED]
        rows_of = [f"from minitorch.kernels.loops.{FILES[each]} import {each}" for each in functions if each in FILES]
        first = next(iter(self.outputs))
        kind = f"{self.dtype}[{':,' * (len(self.shape) - 1)}::1]"
        rows = [f"for i{axis} in range({first}.shape[{axis}]):" for axis in range(len(self.shape) - 1)]
        inner = [
            f"for start in range(0, {first}.shape[{len(rows)}], {block}):",
            *(f"    b_{name} = {name}[{self._index(shape, block)}]" for name, shape in self.arrays.items()),
            f"    n = b_{first}.size",
            *(f"    s{i} = memory[{i * block} : {i * block} + n]" for i in range(self.scratch)),
            *(f"    {line}" for line in body),
        ]
        lines = [
            "import numpy as np",
            "",
            "from minitorch.kernels.loops.compiling import compiled_for",
            "from minitorch.kernels.loops.inner import elementwise",
            *rows_of,
            "",
            *(f'{name} = elementwise("{name}")' for name in called),
            *(f"{name} = np.{self.dtype}({_literal(value)})" for value, name in self.numbers.items()),
            "",
            "",
            f'@compiled_for("void({", ".join([kind] * len(self.arrays))})")',
            f"def loop({', '.join(self.arrays)}):",
            f"    memory = np.empty({self.scratch * block}, np.{self.dtype})",
            *(f"    {'    ' * axis}{line}" for axis, line in enumerate(rows)),
            *(f"    {'    ' * len(rows)}{line}" for line in inner),
        ]
        return "\n".join(lines) + "\n"

    def _index(self, shape: Shape, block: int) -> str:
        """Where a block of an array is: its row, and in this the elements, or the only one."""
        row = [f"i{axis}" if size == self.shape[axis] else "0" for axis, size in enumerate(shape[:-1])]
        return ", ".join([*row, f"start : start + {block}" if shape[-1] == self.shape[-1] else "0"])

    def _segment(self, place: int) -> list[str]:
        """The text of a segment, whose values are stored if later segments read them, or an output gets them."""
        segment = self.segments[place]
        later = {each for following in self.segments[place + 1 :] for line in following for each in line.operands}
        own = {line.name for line in segment}
        if segment[0].function not in INLINE:
            (line,) = segment
            operands = [self._operand(each, own, "") for each in line.operands]
            if line.function in FILES:  # unlike NumPy's loops, it reads its operands after it has begun to write
                later |= {*line.operands}
            into = [self._store(line.name, later)]
            if line.function == "log_softmax_row":
                into.append(self._store(f"powers of {line.name}", later | {line.name}))
            return [f"{line.function}({', '.join([*operands, *into])})"]
        text = ["for i in range(n):"]
        for line in segment:
            operands = [self._operand(each, own, "[i]") for each in line.operands]
            text.append(f"    {line.name} = {INLINE[line.function].format(*operands)}")
        kept = [line.name for line in segment if line.name in later or line.name in self.outputs.values()]
        return text + [f"    {self._store(name, later)}[i] = {name}" for name in kept]

    def _operand(self, value: Operand, own: Collection[str], index: str) -> str:
        if not isinstance(value, str):
            return self.numbers.setdefault(value, f"c{len(self.numbers)}")
        if value in own:
            return value
        text = self.stored[value]
        text = text if text in self.single else text + index
        return f"({text} != 0)" if value in self.masks else text

    def _store(self, name: str, later: Collection[Operand]) -> str:
        """The block for the values of a line: that of an output, or a scratch block that no line in `later` reads."""
        if name not in self.stored:
            taken = {memory for line, memory in self.stored.items() if line in later}
            free = next(i for i in range(self.scratch + 1) if f"s{i}" not in taken)
            self.scratch = max(self.scratch, free + 1)
            self.stored[name] = f"s{free}"
        return self.stored[name]


def _literal(value: Operand) -> str:
    """A number as Python source. Infinities and NaN have no literals."""
    text = repr(value)
    return text if text[-1].isdigit() else f'float("{text}")'
