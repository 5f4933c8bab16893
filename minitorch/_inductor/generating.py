"""Straight-line Python over arrays: neighbouring elementwise ops go through memory together, block by block.

A block's intermediate results stay in the cache, so a chain of ops reads its inputs and writes its outputs once. Each
element is computed by the kernels of eager mode, in the same order, so the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from minitorch._inductor.steps import Step, Value
from minitorch.arrays.blocks import CACHE, LIVE
from minitorch.arrays.quiet import quietly
from minitorch.devices import cpu

BLOCK = CACHE // (4 * LIVE)
"""The elements of a block."""

DIRECT = {
    "add": "xp.add({}, {})", "mul": "xp.multiply({}, {})", "neg": "xp.negative({})", "tanh": "xp.tanh({})",
    "exp": "xp.exp({})", "log": "xp.log({})", "sin": "xp.sin({})", "cos": "xp.cos({})", "sqrt": "xp.sqrt({})",
}  # fmt: skip
"""Ops whose kernel is this call for arrays of at most two dimensions, if further arguments have their defaults."""


class Source:
    """The source of a function, and its constants."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"xp": cpu.xp, "__name__": "minitorch._inductor.generated"}

    def constant(self, value: Any) -> str:
        """A constant's name, or its literal."""
        if type(value) in (int, float, str, bool, type(None)) and value == value and _is_finite(value):
            return repr(value)
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def call(self, step: Step) -> str:
        """A kernel call."""
        args = [each.name if isinstance(each, Value) else self.constant(each) for each in step.args]
        template = DIRECT.get(step.op.name)
        if template is not None and _is_default(step, template.count("{}")):
            return template.format(*args)
        name = f"k_{step.op.name}"
        self.scope[name] = step.op.kernel
        return f"{name}(xp, {', '.join(args)})"

    def compiled(self) -> Callable[..., Any]:
        """The function."""
        exec(compile("\n".join(self.lines), "<output code>", "exec"), self.scope)
        return partial(quietly, self.scope["run"])


def _is_finite(value: Any) -> bool:
    """Whether a number can be written as a literal."""
    return not isinstance(value, float) or abs(value) != float("inf")


def _is_default(step: Step, operands: int) -> bool:
    """Whether a kernel is called as the template of its op says."""
    flat = all(each.fake.ndim < 3 for each in step.args if isinstance(each, Value))
    return flat and list(step.args[operands:]) == list(step.op.schema.defaults_from[operands])


def generated(
    steps: Sequence[Step], inputs: Sequence[Value], outputs: Sequence[Value], in_blocks: bool = True
) -> tuple[Callable[..., Any], str]:
    """A function of the inputs' arrays that returns the outputs', and its source."""
    source = Source()
    source.lines.append(f"def run({', '.join(each.name for each in inputs)}):")
    done = 0
    for group in [list(group) for _, group in groupby(steps, key=_kind)]:
        done += len(group)
        later = {each.name for step in steps[done:] for each in step.args if isinstance(each, Value)}
        later |= {each.name for each in outputs}
        needed = {each.name for step in group for each in step.results if each.name in later}
        large = in_blocks and _kind(group[0]) is not None and group[0].results[0].fake.numel() > BLOCK
        lines = blocked(source, group, needed) if large else straight(source, group, later)
        source.lines += [f"    {line}" for line in lines]
    names = ", ".join(each.name for each in outputs)
    source.lines.append(f"    return ({names}{',' if outputs else ''})")
    return source.compiled(), "\n".join(source.lines)


def _kind(step: Step) -> Any:
    """Steps of the same kind, one after the other, make a loop: elementwise ones over arrays of one shape."""
    shape = step.results[0].fake.shape
    arrays = [each for each in step.args if isinstance(each, Value)]
    same = all(each.fake.shape == shape and each.fake.is_contiguous() for each in arrays)
    return tuple(shape) if step.op.memory.elementwise and not step.is_tuple and arrays and same else None


def straight(source: Source, steps: Sequence[Step], later: set[str]) -> list[str]:
    """One line a step. What is read for the last time is dropped, so that its memory serves the next result."""
    lines = []
    for place, step in enumerate(steps):
        call = source.call(step)
        first = step.results[0]
        line = f"{first.name} = {call if first.fake.ndim else f'xp.asarray({call})'}"
        if step.is_tuple:
            line = f"{', '.join(each.name for each in step.results)}, = map(xp.asarray, {call})"
        read = {each.name for following in steps[place + 1 :] for each in following.args if isinstance(each, Value)}
        dead = dict.fromkeys(each.name for each in step.args if isinstance(each, Value) and each.name[0] == "v")
        names = [name for name in dead if name not in read and name not in later]
        lines.append(f"{line}; {' = '.join(names)} = None" if names else line)
    return lines


def blocked(source: Source, steps: Sequence[Step], needed: set[str]) -> list[str]:
    """A loop over blocks of the elements; what is needed later is written into arrays."""
    size, shape = steps[0].results[0].fake.numel(), tuple(steps[0].results[0].fake.shape)
    own = {step.results[0].name for step in steps}
    read = dict.fromkeys(
        each.name for step in steps for each in step.args if isinstance(each, Value) and each.name not in own
    )
    lines = [f"f_{name} = {name}.reshape(-1)" for name in read]
    for step in steps:
        (result,) = step.results
        if result.name in needed:
            lines.append(f"f_{result.name} = xp.empty({size}, {source.constant(result.fake.dtype.numpy)})")
    lines.append(f"for start in range(0, {size}, {BLOCK}):")
    lines += [f"    b_{name} = f_{name}[start : start + {BLOCK}]" for name in read]
    names = {name: f"b_{name}" for name in (*read, *own)}
    for place, step in enumerate(steps):
        name = step.results[0].name
        args = tuple(Value(names[each.name], each.fake) if isinstance(each, Value) else each for each in step.args)
        following = {each.name for later in steps[place + 1 :] for each in later.args if isinstance(each, Value)}
        for each in step.args:  # a block that is read for the last time gives its name, and so its memory, away
            if isinstance(each, Value) and each.name in own and each.name not in following:
                names[name] = names[each.name]
        lines.append(f"    {names[name]} = {source.call(step._replace(args=args))}")
        if name in needed:
            lines.append(f"    f_{name}[start : start + {BLOCK}] = {names[name]}")
    lines += [f"{name} = f_{name}.reshape({shape})" for name in own if name in needed]
    return lines
