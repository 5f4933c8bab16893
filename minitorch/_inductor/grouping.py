"""Which steps are computed together: elementwise ones whose results have one shape, and softmax and its kin.

Their operands may be smaller. Dimensions that all arrays of a group have, or lack, together become one, so that a chain
of an image and a vector of its channels goes through three dimensions, and most chains go through one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from minitorch._inductor.formulas import Formula, NotAFormulaError, formula_of
from minitorch._inductor.rows import of_rows
from minitorch._inductor.steps import Step, Value, replaced
from minitorch.arrays import Shape

ROW: Final = 64
"""The elements of a row from which on a loop through rows takes less time than NumPy."""


class Group(NamedTuple):
    """Steps that are computed together: elementwise ones with results of one shape and dtype, or others.

    `formula` is what a compiled loop computes in their place, None where there is none.
    """

    steps: list[Step]
    is_elementwise: bool
    formula: Formula | None

    @property
    def read(self) -> dict[str, Value]:
        """The arrays that the group reads and doesn't make, by name."""
        made = {each.name for step in self.steps for each in step.results}
        return {each.name: each for step in self.steps for each in step.arrays if each.name not in made}

    @property
    def by_rows(self) -> bool:
        """Whether one of the steps goes through rows, which a loop has to have whole then."""
        return any(of_rows(step) is not None for step in self.steps)

    @property
    def size(self) -> int:
        """The elements of each result."""
        return self.steps[0].results[0].fake.numel()


def grouped(steps: Sequence[Step], needed: Collection[str], in_loops: bool = False) -> list[Group]:
    """The steps in groups. A step joins an earlier group of its kind if what it reads exists by then.

    With `in_loops`, steps with and without a formula make separate groups. A formula of a single line has no loop,
    which would be no faster than the kernel.

    Args:
        needed: the names of the results that are returned.
    """
    if in_loops:
        steps = _without_expansions(steps, needed)
    members: list[list[Step]] = []
    keys: list[Any] = []
    last: dict[Any, int] = {}  # for each kind of step, the position of its last group
    made: dict[str, int] = {}  # for each result, the position of its group
    for step in steps:
        key = _key(step, in_loops)
        position = last.get(key, -1) if key is not None or keys[-1:] == [None] else -1
        if position < max([made.get(each.name, 0) for each in step.arrays], default=0):
            position = last[key] = len(members)
            members.append([])
            keys.append(key)
        members[position].append(step)
        made.update((each.name, position) for each in step.results)
    return [_group(key, each) for key, each in zip(keys, members, strict=True)]


def _group(key: Any, steps: list[Step]) -> Group:
    found = formula_of(steps) if key is not None and key[-1] else None
    return Group(steps, key is not None, found if found is not None and len(found.lines) > 1 else None)


def _key(step: Step, in_loops: bool) -> Any:
    """Shape, dtype, and with `in_loops` whether there is a formula; None for a step that isn't elementwise.

    Nor is one, here, whose arrays aren't contiguous, or which goes through short rows. In a loop, steps that go through
    rows are like elementwise ones.
    """
    first = step.results[0].fake
    by_rows = in_loops and of_rows(step) is not None
    if not (step.op.memory.elementwise or by_rows) or step.is_tuple or not step.arrays:
        return None
    if not all(each.fake.is_contiguous() for each in (*step.arrays, *step.results)):
        return None
    shapes = [tuple(each.fake.shape) for each in (*step.results, *step.arrays)]
    if not all(_fits(each, shapes[0]) for each in shapes):  # a loss, which adds up what it computes
        return None
    shape, *_ = folded([*shapes, shapes[0][-1:]] if by_rows else shapes)
    if (by_rows or len(shape) > 1) and shape[-1] < ROW:
        return None
    return tuple(first.shape), first.dtype, in_loops and has_formula(step)


def _fits(shape: Shape, into: Shape) -> bool:
    """Whether an array is broadcast to a shape, or has it already."""
    pairs = zip(reversed(shape), reversed(into), strict=False)
    return len(shape) <= len(into) and all(size in (1, other) for size, other in pairs)


def has_formula(step: Step) -> bool:
    """Whether a loop can compute the step."""
    try:
        formula_of([step])
    except NotAFormulaError:
        return False
    return True


def _without_expansions(steps: Sequence[Step], needed: Collection[str]) -> list[Step]:
    """The steps, of which those with a formula read what has been expanded: a loop broadcasts it anyway."""
    sources: dict[str, Value] = {}
    found = []
    for step in steps:
        if step.op.name == "expand":
            sources[step.results[0].name] = sources.get(step.args[0].name, step.args[0])
        else:
            args = replaced(step.args, lambda each: sources.get(each.name, each) if isinstance(each, Value) else each)
            direct = step._replace(args=args)
            key = _key(direct, in_loops=True)
            step = direct if key is not None and key[-1] else step
        found.append(step)
    read = {each.name for step in found for each in step.arrays} | {*needed}
    return [step for step in found if step.op.name != "expand" or step.results[0].name in read]


def folded(shapes: Sequence[Shape]) -> list[Shape]:
    """The shapes of arrays that are broadcast to the first one, in as few dimensions as possible, at least one."""
    ndim = len(shapes[0])
    before: list[bool] | None = None
    found: list[tuple[int, ...]] = []  # for each dimension, its size in every shape
    for sizes in zip(*((1,) * (ndim - len(each)) + tuple(each) for each in shapes), strict=True):
        whole = [size == sizes[0] for size in sizes]
        if sizes[0] == 1:
            continue
        if whole == before:
            found[-1] = tuple(one * other for one, other in zip(found[-1], sizes, strict=True))
        else:
            found.append(sizes)
        before = whole
    return list(zip(*found, strict=True)) if found else [(1,)] * len(shapes)
