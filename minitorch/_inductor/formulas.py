"""Elementwise kernels as formulas: run on symbols instead of arrays, a kernel shows what it computes.

A kernel is declared once, as a function of an array module `xp` and arrays. Here it gets a module and arrays that only
record which of NumPy's functions it calls, so the formula of a compiled loop is the kernel's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from minitorch._inductor.rows import of_rows
from minitorch._inductor.steps import Step, Value
from minitorch.arrays.loops import FLOATS

INLINE: Final = {
    "add": "{} + {}", "subtract": "{} - {}", "multiply": "{} * {}", "true_divide": "{} / {}", "negative": "-{}",
    "absolute": "abs({})", "square": "{0} * {0}", "equal": "{} == {}", "not_equal": "{} != {}", "less": "{} < {}",
    "less_equal": "{} <= {}", "greater": "{} > {}", "greater_equal": "{} >= {}", "isnan": "{0} != {0}",
    "bitwise_and": "{} & {}", "bitwise_or": "{} | {}", "where": "{1} if {0} else {2}",
}  # fmt: skip
"""NumPy's functions that one instruction computes, rounded as NumPy rounds, and what a loop says for each."""

CALLED: Final = frozenset((
    "arccos", "arcsin", "arctan", "ceil", "clip", "cos", "cosh", "exp", "expm1", "floor", "log", "log1p", "maximum",
    "minimum", "power", "reciprocal", "sin", "sinh", "sqrt", "tan", "tanh",
))  # fmt: skip
"""Those that NumPy's own inner loops compute: compiled code calls these by `kernels.loops.inner.elementwise(name)`."""

THREE: Final = ("clip", "where")
"""Those with three operands."""

MASKS: Final = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan"))
"""Those whose results are booleans."""

BOOLEAN: Final = np.dtype(bool)
LARGEST: Final = 2**24
"""Up to here, float32 has every integer."""

Operand = str | int | float


class NotAFormulaError(Exception):
    """A kernel does more than calling these functions on arrays of one floating point type."""


REFUSALS: Final = (NotAFormulaError, AttributeError, TypeError, ValueError, RuntimeError)
"""What a kernel raises on symbols if it isn't such a formula: they lack most of what arrays have."""


class Line(NamedTuple):
    """One call: the name of its result, the NumPy function, and the operands: numbers, or names of arrays and lines."""

    name: str
    function: str
    operands: tuple[Operand, ...]


class Symbol:
    """Stands for an array in a kernel: a dtype, and the name of the array or line whose value it has at the moment.

    The name is None as long as nothing has been written into new memory.
    """

    shape, ndim, size = (0,), 1, 0  # empty: that a compiled loop of the kernel leaves to the formula

    def __init__(self, lines: list[Line], dtype: Any, name: str | None) -> None:
        self.lines, self.dtype, self.name = lines, dtype, name

    def __bool__(self) -> bool:
        raise NotAFormulaError("a branch on the elements of an array")

    __hash__ = object.__hash__

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        """The symbol itself, which has the type already."""
        if np.dtype(dtype) != self.dtype:
            raise NotAFormulaError(f"a conversion to {dtype}")
        return Symbol(self.lines, self.dtype, self.name) if copy else self


class SymbolicNumPy:
    """The module `xp` of a kernel that runs on symbols."""

    is_host = False  # nothing is computed in blocks
    ndarray = Symbol
    inf, nan, pi = np.inf, np.nan, np.pi

    def __getattr__(self, name: str) -> Callable[..., Symbol]:
        name = {"abs": "absolute", "divide": "true_divide"}.get(name, name)
        if name not in INLINE and name not in CALLED:
            raise NotAFormulaError(f"xp.{name}")
        count = 3 if name in THREE else getattr(np, name).nin

        def function(*operands: Any, out: Symbol | None = None) -> Symbol:
            *given, out = operands if len(operands) == count + 1 else (*operands, out)
            if len(given) != count:
                raise NotAFormulaError(f"xp.{name} of {len(given)} operands")
            return add_line(name, given, out)

        return function

    def empty_like(self, x: Symbol) -> Symbol:
        """Memory for elements of the same type."""
        return Symbol(x.lines, x.dtype, None)


def add_line(function: str, operands: Sequence[Any], out: Symbol | None = None) -> Symbol:
    """Adds the line of a call. Returns its result: a new symbol, or `out`, which has that value from now on."""
    symbols = [each for each in operands if isinstance(each, Symbol)]
    masks = [each for each in symbols if each.dtype == BOOLEAN]
    types = {each.dtype for each in symbols} - {BOOLEAN}
    if function.startswith("bitwise"):
        fits = len(masks) == len(operands)
    elif function == "where":
        fits = len(types) == len(masks) == 1 and masks[0] is operands[0]
    else:
        fits = len(types) == 1 and not masks
    if not fits:
        raise NotAFormulaError(f"{function} of these types")
    lines = symbols[0].lines
    line = Line(f"t{len(lines)}", function, tuple([_operand(each) for each in operands]))
    lines.append(line)
    if out is None:
        return Symbol(lines, types.pop() if types and function not in MASKS else BOOLEAN, line.name)
    out.name = line.name
    return out


def _operand(value: Any) -> Operand:
    if isinstance(value, Symbol) and value.name is not None:
        return value.name
    if type(value) is float or (type(value) is int and abs(value) <= LARGEST):
        return value
    raise NotAFormulaError(f"an operand {value!r}")


def _operator(function: str, order: int = 1, in_place: bool = False) -> Callable[..., Symbol]:
    """An operator of symbols; with -1 its operands come the other way round, as in `2 - x`."""

    def call(*operands: Any) -> Symbol:
        return add_line(function, operands[::order], operands[0] if in_place else None)

    return call


for _name, _function in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide"}.items():
    setattr(Symbol, f"__{_name}__", _operator(_function))
    setattr(Symbol, f"__r{_name}__", _operator(_function, -1))
    setattr(Symbol, f"__i{_name}__", _operator(_function, in_place=True))
for _name, _function in {
    "neg": "negative", "and": "bitwise_and", "or": "bitwise_or", "eq": "equal", "ne": "not_equal", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}.items():  # fmt: skip
    setattr(Symbol, f"__{_name}__", _operator(_function))


class Formula(NamedTuple):
    """What steps compute, line by line, and for each of their results the name of its line."""

    lines: list[Line]
    results: dict[str, str]


def formula_of(steps: Sequence[Step]) -> Formula:
    """The formula of elementwise steps and of those that go through rows. Raises NotAFormulaError if one has none."""
    lines: list[Line] = []
    results: dict[str, str] = {}

    def symbol(value: Value) -> Symbol:
        if (dtype := value.fake.dtype.numpy) not in FLOATS:
            raise NotAFormulaError(f"a tensor of {dtype}")
        return Symbol(lines, dtype, results.get(value.name, value.name))

    for step in steps:
        row, operands = of_rows(step) or (None, step.args)
        args = [symbol(each) if isinstance(each, Value) else each for each in operands]
        given = {each.name for each in args if isinstance(each, Symbol)}
        try:
            made = step.op.kernel(SymbolicNumPy(), *args) if row is None else add_line(row, args)
        except REFUSALS as reason:
            raise NotAFormulaError(str(reason)) from None
        (result,) = step.results
        name = made.name if isinstance(made, Symbol) and made.dtype == symbol(result).dtype else None
        if name is None or name in given:
            raise NotAFormulaError(f"{step.op.name} returns something else")
        results[result.name] = name
    return Formula(lines, results)
