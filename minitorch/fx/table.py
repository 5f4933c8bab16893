"""A table as the package `tabulate` prints it, which PyTorch uses for `print_tabular`.

Source: https://github.com/astanin/python-tabulate, format "simple".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table(rows: Sequence[Sequence[Any]], headers: Sequence[str]) -> str:
    """The rows below their headers, aligned to the left."""
    cells = [[str(each) for each in row] for row in rows]
    widths = [max([len(header) + 2, *(len(row[i]) for row in cells)]) for i, header in enumerate(headers)]
    lines = [headers, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
