"""Small arrays as coloured cells with their numbers, and shapes as they broadcast."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.path import Path

from course.image import Picture
from course.pictures.canvas import LETTER, Canvas, width_of
from course.pictures.theme import CARD, INK, QUIET, TEXT, VERMILLION, colours, numbers, shade, tint, words

Index = tuple[int, ...]
Place = tuple[int, Index]
"""An element of one of the arrays drawn: the array's number, from 0, and the element's index."""

_GAP = 0.9


def grid(array: Any, highlight: Any = None, title: str = "", *, alt: str | None = None) -> Picture:
    """An array as cells, those highlighted where the mask is true. Rows go down; of three dimensions, the first goes
    to the right. Raises ValueError for more dimensions than three.
    """
    return grids((title, array, highlight), alt=alt)


def grids(*items: Any, arrows: Iterable[tuple[Place, Place]] = (), alt: str | None = None) -> Picture:
    """Arrays side by side, with signs between: `grids(("a", a), "+", ("b", b), "=", ("a + b", a + b))`.

    An item is an array, (title, array), (title, array, mask) or a sign; the sign "↓" begins a new row of the picture.
    An arrow leads from an element of one array to one of an array further down or further right:
    `arrows=[((0, (1, 2)), (1, (0,)))]`; both elements are highlighted. Raises ValueError for an arrow that goes back.
    """
    arrows = list(arrows)
    rows: list[list[str | _Block]] = [[]]
    blocks: list[_Block] = []
    for item in items:
        if isinstance(item, str) and item == "↓":
            rows.append([])
        elif isinstance(item, str):
            rows[-1].append(item)
        else:
            title, array, mask = (*item, None)[:3] if isinstance(item, tuple) else ("", item, None)
            blocks.append(_Block(title, array, mask))
            rows[-1].append(blocks[-1])
    for block, colour in zip(blocks, colours([block.title or f" {i}" for i, block in enumerate(blocks)]), strict=True):
        block.colour = colour
    for number, index in (end for arrow in arrows for end in arrow):
        blocks[number].ends.add(tuple(index))
    canvas, y = Canvas(), 0.0
    for number, row in enumerate(rows):
        height = max(block.rows for block in row if isinstance(block, _Block))
        _row(canvas, row, y, height, gap=2.2 if arrows and len(rows) == 1 else _GAP, beside=bool(arrows and number))
        y += height + (2.2 if arrows else 1.4)
    for (one, start), (other, end) in arrows:
        _arrow(canvas, blocks[one], tuple(start), blocks[other], tuple(end))
    told = [item if isinstance(item, str) else item.told() for row in rows for item in row]
    told += [f"{blocks[one].called(a)} goes to {blocks[other].called(b)}." for (one, a), (other, b) in arrows]
    return canvas.publish(alt or " ".join(told))


def _row(canvas: Canvas, row: list[str | _Block], y: float, height: float, gap: float, beside: bool) -> None:
    """Draws arrays and signs side by side, the titles above them or, out of the arrows' way, beside them."""
    x = 0.0
    for item in row:
        if isinstance(item, str):
            x += len(item) * LETTER / 2
            canvas.text(x - gap / 2, y + height / 2, item, ha="center")
            x += len(item) * LETTER / 2
        else:
            item.draw(canvas, x, y + (height - item.rows) / 2, beside)
            title = len(item.title) * (LETTER + 0.02)
            x += (item.width + title if beside else max(item.width, title)) + gap


def _arrow(canvas: Canvas, one: _Block, start: Index, other: _Block, end: Index) -> None:
    """Leads from element to element beside the numbers on the way, and turns between the arrays."""
    (x0, y0), (x1, y1) = one.corner(start), other.corner(end)
    if one.y + one.rows < other.y:
        shift = 0.14 * (y0 - one.y) / one.rows
        x0, x1 = x0 + one.cell_width * (0.86 - shift), x1 + other.cell_width * 0.5
        x1 -= other.cell_width * 0.36 * (y1 > other.y)
        y0, leave, enter, y1 = y0 + 0.9, one.y + one.rows, other.y, y1 + 0.06
        half = (leave + enter) / 2 + 0.2
        points = [(x0, y0), (x0, leave), (x0, half), (x1, half), (x1, enter - 0.05), (x1, y1)]
    elif one.x + one.width < other.x:
        y0, y1 = y0 + 0.82, y1 + 0.5
        y1 += 0.32 * (x1 > other.x)
        x0, leave, enter, x1 = x0 + one.cell_width * 0.9, one.x + one.width, other.x, x1 + 0.06
        half = (leave + enter) / 2
        points = [(x0, y0), (leave, y0), (half, y0), (half, y1), (enter - 0.05, y1), (x1, y1)]
    else:
        raise ValueError("an arrow leads from an array to one further down or further right")
    codes = [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    canvas.curve(points, codes, shade(one.colour), "-")


class _Block:
    """One array as it is drawn."""

    def __init__(self, title: str, array: Any, mask: Any) -> None:
        self.title, self.colour = title, TEXT
        self.array = numbers(array)
        if self.array.ndim > 3:
            raise ValueError(f"an array with {self.array.ndim} dimensions has no picture as a grid")
        self.mask = np.broadcast_to(False if mask is None else numbers(mask), self.array.shape).copy()
        self.cells = self.array.reshape((1,) * (3 - self.array.ndim) + self.array.shape)
        self.texts = np.array(words(self.array), dtype=object).reshape(self.cells.shape)
        self.cell_width = width_of(self.texts.ravel().tolist())
        self.layers, self.rows, self.columns = self.cells.shape
        self.width = self.layers * self.columns * self.cell_width + (self.layers - 1) * 0.4
        self.ends: set[Index] = set()
        self.x = self.y = 0.0

    def draw(self, canvas: Canvas, x: float, y: float, beside: bool) -> None:
        self.x, self.y = x, y
        corner = (x + self.width + 0.3, y + 0.5) if beside else (x, y - 0.45)
        canvas.text(corner[0], corner[1], self.title, colour=shade(self.colour), weight="bold")
        mask = self.mask.copy()
        for end in self.ends:
            mask[end] = True
        for place in np.ndindex(self.cells.shape):
            marked = mask.reshape(self.cells.shape)[place]
            look: dict[str, Any] = {"edgecolor": TEXT, "linewidth": 2, "zorder": 2} if marked else {}
            fill = tint(self.colour, 0.55 if marked else 0.18)
            left, top = self.corner(place)
            canvas.cell(left, top, str(self.texts[place]), fill, width=self.cell_width, **look)

    def corner(self, place: Index) -> tuple[float, float]:
        layer, row, column = (0,) * (3 - len(place)) + tuple(place)
        return self.x + (layer * self.columns + column) * self.cell_width + layer * 0.4, self.y + row

    def called(self, place: Index) -> str:
        return f"{self.title or 'the array'}[{', '.join(map(str, place))}]"

    def told(self) -> str:
        rows = "; ".join(" ".join(row) for layer in self.texts for row in layer)
        marked = [str(place) for place in np.argwhere(self.mask).tolist()]
        told = f"{self.title or 'An array'} of shape {self.array.shape}: {rows}."
        return told + f" Marked: {', '.join(marked)}." * bool(marked)


def broadcast(*shapes: Sequence[int], names: Sequence[str] = (), alt: str | None = None) -> Picture:
    """Shapes aligned from the right, and what they broadcast to. Stretched sizes are hatched, dimensions that a shape
    lacks are dashed. Sizes that don't fit are marked, and then there is no result.
    """
    names = names or ["abcdef"[i] for i in range(len(shapes))]
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    columns = [{size for size in column if size != 1} for column in zip(*padded, strict=True)]
    result = [next(iter(sizes), 1) if len(sizes) < 2 else None for sizes in columns]
    canvas, told = Canvas(), []
    width = width_of([f"{size} → {total}" for row in padded for size, total in zip(row, result, strict=True)])
    for place in range(rank):
        canvas.text((place + 0.5) * width, -0.4, f"dim {place - rank}", colour=QUIET, ha="center")
    for y, (name, colour, shape, sizes) in enumerate(zip(names, colours(list(names)), shapes, padded, strict=True)):
        canvas.text(-0.4, 1.25 * y + 0.5, f"{name} {tuple(shape)}", colour=shade(colour), ha="right", weight="bold")
        stretched = []
        for place, (size, total) in enumerate(zip(sizes, result, strict=True)):
            missing, stretch = place < rank - len(shape), size == 1 and total not in (1, None)
            look: dict[str, Any] = {"linestyle": (0, (3, 2))} if missing else {}
            fill = CARD if missing else tint(colour, 0.3)
            if stretch:
                look |= {"hatch": "////", "edgecolor": tint(colour, 0.7)}
                stretched.append(f"dim {place - rank} {'added as' if missing else 'stretched to'} {total}")
            text = f"1 → {total}" if stretch else str(size)
            canvas.cell(place * width, 1.25 * y, "", fill, width=width, **look)
            back = {"facecolor": fill, "edgecolor": "none", "pad": 1.5} if stretch else None
            canvas.text((place + 0.5) * width, 1.25 * y + 0.5, text, colour=INK, ha="center", bbox=back, zorder=4)
        told.append(f"{name} has shape {tuple(shape)}" + f" ({', '.join(stretched)})" * bool(stretched) + ".")
    y_result = 1.25 * len(shapes) + 0.3
    canvas.text(-0.4, y_result + 0.5, "no result" if None in result else "result", ha="right", weight="bold")
    for place, (total, clash) in enumerate(zip(result, columns, strict=True)):
        wrong = total is None
        text = " ≠ ".join(map(str, sorted(clash))) if wrong else str(total)
        look = {"edgecolor": VERMILLION, "linewidth": 2.4, "zorder": 3} if wrong else {}
        canvas.cell(place * width, y_result, text, CARD, width=width, **look)
    clashes = [
        f"dim {p - rank}: {' and '.join(map(str, sorted(columns[p])))}" for p in range(rank) if result[p] is None
    ]
    told.append(f"They don't fit at {', '.join(clashes)}." if clashes else f"The result has shape {tuple(result)}.")
    return canvas.publish(alt or " ".join(told))
