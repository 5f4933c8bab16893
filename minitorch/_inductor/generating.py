"""Straight-line Python over arrays: neighbouring elementwise ops go through memory together, block by block.

A block's intermediate results stay in the cache, so a chain of ops reads its inputs and writes its outputs once. Each
element is computed by the kernels of eager mode, in the same order, so the bits are the same. Where Numba is installed
and its time pays, a compiled loop takes the place of such a chain (`loops.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from minitorch._dynamo import logs
from minitorch._inductor import loops
from minitorch._inductor.formulas import Formula
from minitorch._inductor.grouping import Group, folded, grouped
from minitorch._inductor.steps import DRAWS, Step, Value, leaves, replaced
from minitorch.arrays import Shape
from minitorch.arrays.blocks import CACHE, LIVE
from minitorch.arrays.loops import CALL, COMPILE, mode, pay, why_off
from minitorch.arrays.quiet import quiet, quietly
from minitorch.devices import cpu
from minitorch.kernels.loops.threads import PART, by_parts

BLOCK = CACHE // (4 * LIVE)
"""The elements of a block, which fits in the cache if they are float32."""

DIRECT = {
    "add": "xp.add({}, {})", "mul": "xp.multiply({}, {})", "neg": "xp.negative({})", "tanh": "xp.tanh({})",
    "exp": "xp.exp({})", "log": "xp.log({})", "sin": "xp.sin({})", "cos": "xp.cos({})", "sqrt": "xp.sqrt({})",
}  # fmt: skip
"""Ops whose kernel is this call if further arguments have their defaults: it stands in the code itself."""


class Source:
    """The source of a function, and its constants."""

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self.lines: list[str] = []
        self.loops: list[str] = []  # the sources of compiled loops
        self.scope: dict[str, Any] = {"xp": cpu.xp, "__name__": "minitorch._inductor.generated", **constants}

    def constant(self, value: Any) -> str:
        """A constant's name, or its literal."""
        if type(value) in (int, float, str, bool, type(None)) and value == value and _is_finite(value):
            return repr(value)
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def argument(self, value: Any) -> str:
        """An argument of a call: an array's name, a constant, or a list of these."""
        if isinstance(value, Value):
            return value.name
        if type(value) in (list, tuple) and any(isinstance(each, Value) for each in leaves(value)):
            return f"({', '.join(map(self.argument, value))},)"
        return self.constant(value)

    def call(self, step: Step) -> str:
        """A kernel call."""
        args = [self.argument(each) for each in step.args]
        if step.op.writes.edits:  # its kernel overwrites its first array
            args[0] = f"{args[0]}.copy()"
        template = DIRECT.get(step.op.name)
        if template is not None and _has_defaults(step, template.count("{}")):
            return template.format(*args)
        name = f"k_{step.op.name}"
        self.scope[name] = step.op.kernel
        return f"{name}(xp, {', '.join(args)})"

    def compiled(self, draws: bool) -> Callable[..., Any]:
        """The function. Where NumPy raises, it runs once more, which one that `draws` random numbers must not."""
        exec(compile("\n".join(self.lines), "<output code>", "exec"), self.scope)
        run = self.scope["run"]
        return quiet()(run) if draws else partial(quietly, run)


def _is_finite(value: Any) -> bool:
    """Whether a number can be written as a literal."""
    return not isinstance(value, float) or abs(value) != float("inf")


def _has_defaults(step: Step, operands: int) -> bool:
    """Whether all arguments after the operands have their defaults."""
    return list(step.args[operands:]) == list(step.op.schema.defaults_from[operands])


class Code:
    """Generated code, which a call runs. It is generated anew, with compiled loops, as soon as these pay.

    Args:
        steps: what is computed.
        inputs: the arrays that it is called with.
        outputs: the arrays that it returns.
        constants: arrays that are the same in every call, by name.
        at_once: compile the loops before the first call.
        writes: the arrays whose elements it puts into inputs at the end, by these inputs' names.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        constants: Mapping[str, Any],
        at_once: bool = False,
        writes: Mapping[str, Value] = MappingProxyType({}),
    ) -> None:
        self._parts = steps, inputs, outputs, constants, writes
        self._run, self.text = generated(*self._parts)
        needed = {each.name for each in (*outputs, *writes.values())}
        groups = grouped(steps, needed, in_loops=True) if mode != "0" else []
        found = [each for each in groups if each.formula is not None]
        self._work = sum(len(each.formula.lines) * (each.size + CALL) for each in found if each.formula is not None)
        self._computed = 0
        self._waits = bool(found)
        if at_once and found:
            self._compile()

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        if self._waits:
            self._computed += self._work
            if pay(self._work, self._computed, COMPILE):
                self._compile()
        result: tuple[Any, ...] = self._run(*arrays)
        return result

    def _compile(self) -> None:
        self._waits = False
        if why_off() is None:
            with suppress(ImportError):  # a Numba that doesn't know this NumPy
                self._run, self.text = generated(*self._parts, way="loops")
                logs.output_code(self.text)


def generated(
    steps: Sequence[Step],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    constants: Mapping[str, Any],
    writes: Mapping[str, Value] = MappingProxyType({}),
    way: Literal["straight", "blocks", "loops"] = "blocks",
) -> tuple[Callable[..., Any], str]:
    """A function of the inputs' arrays that returns the outputs', and its source.

    Args:
        way: how elementwise steps are computed: "straight", one after the other; "blocks", together for each block of
            large arrays; "loops", together in compiled loops, or else in blocks.
    """
    source = Source(constants)
    source.lines.append(f"def run({', '.join(each.name for each in inputs)}):")
    returned = {each.name for each in (*outputs, *writes.values())}
    groups = [Group([*steps], False, None)] if way == "straight" else grouped(steps, returned, in_loops=way == "loops")
    for place, group in enumerate(groups):
        later = {each.name for following in groups[place + 1 :] for step in following.steps for each in step.arrays}
        later |= returned
        needed = {each.name for step in group.steps for each in step.results if each.name in later}
        if group.formula is not None:
            lines = looped(source, group, group.formula, needed, later) if needed else []
        elif group.is_elementwise and len(group.steps) > 1 and group.size > BLOCK:
            lines = blocked(source, group, needed)
        else:
            lines = straight(source, group.steps, later)
        source.lines += [f"    {line}" for line in lines]
    source.lines += [f"    {name}[...] = {value.name}" for name, value in writes.items()]
    names = ", ".join(each.name for each in outputs)
    source.lines.append(f"    return ({names}{',' if outputs else ''})")
    draws = any(step.op.name in DRAWS for step in steps)
    return source.compiled(draws), "\n".join([*source.lines, *source.loops])


def straight(source: Source, steps: Sequence[Step], later: set[str]) -> list[str]:
    """One line a step. A result that is read for the last time is dropped, so that its memory serves the next one."""
    lines = []
    for place, step in enumerate(steps):
        call = source.call(step)
        first = step.results[0]
        line = f"{first.name} = {call if first.fake.ndim else f'xp.asarray({call})'}"
        if step.is_tuple:
            line = f"{', '.join(each.name for each in step.results)}, = map(xp.asarray, {call})"
        read = {each.name for following in steps[place + 1 :] for each in following.arrays}
        lines.append(line + dropped([each.name for each in step.arrays], read | later))
    return lines


def dropped(read: Iterable[str], later: set[str]) -> str:
    """The end of a line that drops the results among what it has read, unless they are needed later."""
    dead = [name for name in dict.fromkeys(read) if name[0] == "v" and name not in later]
    return f"; {' = '.join(dead)} = None" if dead else ""


def blocked(source: Source, group: Group, needed: set[str]) -> list[str]:
    """A loop over blocks of the elements; what is needed later is written into arrays."""
    steps, read = group.steps, group.read
    whole = tuple(steps[0].results[0].fake.shape)
    shape, *shapes = folded([whole, *(tuple(each.fake.shape) for each in read.values())])
    block = max(BLOCK * shape[0] // group.size, 1)
    own = {step.results[0].name for step in steps}
    lines = [f"f_{name} = {name}.reshape({each})" for name, each in zip(read, shapes, strict=True)]
    for step in steps:
        (result,) = step.results
        if result.name in needed:
            lines.append(f"f_{result.name} = xp.empty({shape}, {source.constant(result.fake.dtype.numpy)})")
    lines.append(f"for start in range(0, {shape[0]}, {block}):")
    for name, own_shape in zip(read, shapes, strict=True):
        lines.append(f"    b_{name} = f_{name}" + (f"[start : start + {block}]" if own_shape[0] == shape[0] else ""))
    names = {name: f"b_{name}" for name in (*read, *own)}
    for place, step in enumerate(steps):
        name = step.results[0].name
        args = replaced(
            step.args, lambda each: each._replace(name=names[each.name]) if isinstance(each, Value) else each
        )
        following = {each.name for later in steps[place + 1 :] for each in later.arrays}
        for each in step.arrays:  # a block that is read for the last time gives its name, and so its memory, away
            if each.name in own and each.name not in following:
                names[name] = names[each.name]
        lines.append(f"    {names[name]} = {source.call(step._replace(args=args))}")
        if name in needed:
            lines.append(f"    f_{name}[start : start + {block}] = {names[name]}")
    lines += [f"{name} = f_{name}.reshape({whole})" for name in own if name in needed]
    return lines


def looped(source: Source, group: Group, formula: Formula, needed: set[str], later: set[str]) -> list[str]:
    """A call of a compiled loop, which writes what is needed later into new arrays.

    The arrays of which threads take parts come first, and then those that all parts share.
    """
    fake = group.steps[0].results[0].fake
    whole, dtype = tuple(fake.shape), fake.dtype.numpy
    read, made = dict(sorted(group.read.items())), dict.fromkeys(sorted(needed), whole)
    row = [whole[-1:]] if group.by_rows else []  # one more array, which keeps the last dimension by itself
    shape, *shapes = folded([whole, *(tuple(each.fake.shape) for each in read.values()), *row])
    inputs = dict(zip(read, shapes, strict=False))
    outputs = {name: formula.results[name] for name in made}
    shared = {name: each for name, each in inputs.items() if each[0] != shape[0]}
    parted = {name: each for name, each in inputs.items() if name not in shared} | dict.fromkeys(outputs, shape)
    text = loops.source_of(formula.lines, parted | shared, outputs, dtype, group.by_rows)
    name = f"loop_{len(source.loops)}"
    source.scope[name] = loops.compiled(text)
    source.loops.append(f"\n# {name}\n{text}")
    shown = {each: tuple(value.fake.shape) for each, value in read.items()} | made
    flat = {each: _reshaped(each, shown[each], to) for each, to in (parted | shared).items()}
    called = f"{name}({', '.join(flat.values())})"
    if group.size >= 2 * PART and not (group.by_rows and len(shape) == 1):
        source.scope["by_parts"] = by_parts
        parts = ", ".join(flat[each] for each in parted)
        called = f"by_parts({', '.join([name, f'({parts},)', *(flat[each] for each in shared)])})"
    return [*(f"{each} = xp.empty({whole}, {source.constant(dtype)})" for each in made), called + dropped(read, later)]


def _reshaped(name: str, shape: Shape, to: Shape) -> str:
    return name if shape == to else f"{name}.reshape({'-1' if len(to) == 1 else to})"
