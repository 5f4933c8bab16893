"""The printed form of an array of numbers, character for character PyTorch's."""

# 01 · Global settings
from __future__ import annotations

from typing import Any

import numpy as np

from .settings import PrintOptions, settings


class Formatter:
    """How the numbers of one array are written, all of them alike: notation, digits, width."""

    def __init__(self, numbers: Any, options: PrintOptions) -> None:
        self.options = options
        self.is_floating_point = numbers.dtype.kind not in "biu"
        self.whole, self.scientific, self.width = True, False, 1
        if not self.is_floating_point:
            self.width = max((len(str(number)) for number in numbers.ravel().tolist()), default=1)
            return
        finite = numbers[np.isfinite(numbers) & (numbers != 0)].astype(np.float64)
        if finite.size:
            self.whole = bool((finite == np.ceil(finite)).all())
            self.scientific = needs_scientific(finite) if options.sci_mode is None else options.sci_mode
        self.width = max((len(self.write(number)) for number in finite.tolist()), default=1)

    def write(self, number: float) -> str:
        """One number as text, without padding."""
        if not self.is_floating_point:
            return str(number)
        if self.scientific:
            return f"{number:.{self.options.precision}e}"
        if self.whole:
            return f"{number:.0f}." if np.isfinite(number) else f"{number}"
        return f"{number:.{self.options.precision}f}"

    def __call__(self, number: float) -> str:
        return self.write(number).rjust(self.width)


def needs_scientific(finite: Any) -> bool:
    """Whether PyTorch prints these finite numbers, none of them 0, in scientific notation."""
    largest, smallest = np.abs(finite).max(), np.abs(finite).min()
    return bool(largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4)


def format_array(numbers: Any, indent: int = 0) -> str:
    """The nested brackets of an array; `indent` is how many characters stand before the first of them."""
    options = settings.print
    summarize = numbers.size > options.threshold
    return _brackets(numbers, indent, summarize, Formatter(edges(numbers, options) if summarize else numbers, options))


def edges(numbers: Any, options: PrintOptions) -> Any:
    """The elements that a summary shows: `options.edgeitems` at each end of every dimension."""
    for axis, length in enumerate(numbers.shape):
        if length > 2 * options.edgeitems:
            kept = [*range(options.edgeitems), *range(length - options.edgeitems, length)]
            numbers = numbers.take(kept, axis)
    return numbers


def _brackets(numbers: Any, indent: int, summarize: bool, write: Formatter) -> str:
    options, length = settings.print, len(numbers) if numbers.ndim else 0
    if numbers.ndim == 0:
        return write(numbers.item())
    shown: list[Any] = list(range(length))
    if summarize and length > 2 * options.edgeitems:
        shown[options.edgeitems : length - options.edgeitems] = [None]
    if numbers.ndim == 1:
        row = numbers.tolist()
        texts = [" ..." if place is None else write(row[place]) for place in shown]
        per_line = max(1, (options.linewidth - indent) // (write.width + 2))
        lines = [", ".join(texts[start : start + per_line]) for start in range(0, len(texts), per_line)] or [""]
        return f"[{(',' + line_break(1, indent)).join(lines)}]"
    parts = ["..." if place is None else _brackets(numbers[place], indent + 1, summarize, write) for place in shown]
    return f"[{(',' + line_break(numbers.ndim - 1, indent)).join(parts)}]"


def line_break(lines: int, indent: int) -> str:
    """The break between two rows: as many new lines as the rows have dimensions, then up to below the bracket."""
    return "\n" * lines + " " * (indent + 1)


def add_suffixes(body: str, suffixes: list[str], indent: int) -> str:
    """Append what is worth saying of a tensor (`dtype=…`, `grad_fn=…`), each on a new line where it no longer fits."""
    text, position = body, len(body) - (body.rfind("\n") + 1) + 2
    for suffix in suffixes:
        if position + len(suffix) + 2 > settings.print.linewidth:
            text, position = f"{text},\n{' ' * indent}{suffix}", indent + len(suffix)
        else:
            text, position = f"{text}, {suffix}", position + len(suffix) + 2
    return text
