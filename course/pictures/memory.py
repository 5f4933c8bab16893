"""Storage as a row of cells, and strided views of it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from course.image import Picture
from course.pictures.canvas import Canvas, width_of
from course.pictures.theme import CARD, INK, QUIET, colours, numbers, shade, tint, words

MOST = 40
"""More cells or steps than this can't be read."""


class StridedView(NamedTuple):
    """How a view goes through its storage: where it starts, and how far each dimension steps."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    def places(self) -> list[int]:
        """The places in the storage, in the order of the elements."""
        indices = itertools.product(*map(range, self.shape))
        return [self.offset + sum(i * s for i, s in zip(index, self.stride, strict=True)) for index in indices]


def strided_view(view: Any) -> StridedView:
    """The geometry of a tensor of either library, of a NumPy array over the memory of its base, or of three values."""
    if isinstance(view, np.ndarray):
        start = _base(view).__array_interface__["data"][0]
        offset = (view.__array_interface__["data"][0] - start) // view.itemsize
        return StridedView(view.shape, tuple(step // view.itemsize for step in view.strides), offset)
    if isinstance(view, tuple):
        shape, stride, offset = view
        return StridedView(tuple(shape), tuple(stride), offset)
    return StridedView(tuple(view.shape), tuple(view.stride()), int(view.storage_offset()))


def storage(
    flat: Any, views: Mapping[str, Any] | None = None, *, version: int | None = None, alt: str | None = None
) -> Picture:
    """The storage as a row of cells, and under it the places of each view: `storage(t, {"t": t, "t.t()": t.t()})`.

    `flat` holds the numbers of the storage: a flat sequence, or a tensor of either library or a NumPy array, whose
    whole storage is drawn. A view is a tensor, a NumPy array, or (shape, stride, offset). Arrows above the row go to
    the right, those below to the left; dashed ones start the next row of the view.

    Raises ValueError for more than 40 cells or steps, and for a view that leaves the storage.
    """
    row = _flat(flat)
    steps = {name: strided_view(view) for name, view in (views or {}).items()}
    visits = {name: each.places() for name, each in steps.items()}
    if max([len(row), *map(len, visits.values())]) > MOST:
        raise ValueError(f"a picture of storage has room for {MOST} cells and as many steps")
    for name, places in visits.items():
        if not all(0 <= place < len(row) for place in places):
            raise ValueError(f"the view {name} leaves the storage of {len(row)} cells")
    texts = words(row)
    told = [f"Storage of {len(row)} cells: {' '.join(texts)}."]
    told += [f"Version {version}."] * (version is not None)
    canvas, width = Canvas(), width_of([*texts, str(len(row) - 1)])
    canvas.text(-0.4, 0.5, "storage", ha="right")
    for place, text in enumerate(texts):
        canvas.text((place + 0.5) * width, -0.4, str(place), colour=QUIET, ha="center")
        canvas.cell(place * width, 0, text, CARD, width=width)
    if version is not None:
        canvas.text(len(row) * width + 0.4, 0.5, f"version {version}")
    y, rows = 1.0, False
    for colour, (name, each) in zip(colours(list(steps)), steps.items(), strict=True):
        y = _lane(canvas, y, width, texts, name, each, colour)
        rows |= len(visits[name]) > each.shape[-1] if each.shape else False
        told.append(
            f"{name}: shape {each.shape}, stride {each.stride}, offset {each.offset}, "
            f"visits cells {' '.join(map(str, visits[name]))}."
        )
    if rows:
        canvas.text(0, y + 0.5, "dashed: on to the next row", colour=QUIET)
    return canvas.publish(alt or " ".join(told))


def _lane(canvas: Canvas, y: float, width: float, texts: list[str], name: str, each: StridedView, colour: str) -> float:
    """Draws one view's places below y, and gives the y at which it ends."""
    places = each.places()
    jumps = list(itertools.pairwise(places))
    up = max([0.35, *(_height(start, end) for start, end in jumps if end >= start)])
    down = max([0.0, *(_height(start, end) for start, end in jumps if end < start)])
    top = y + up + 0.5
    for place, text in enumerate(texts):
        seen = place in places
        fill, ink = (tint(colour, 0.3), INK) if seen else ("none", QUIET)
        edge = {"edgecolor": shade(colour), "zorder": 2} if seen else {"edgecolor": QUIET}
        canvas.cell(place * width, top, text, fill, width=width, ink=ink, **edge)
    row_length = each.shape[-1] if each.shape else 1
    for count, (start, end) in enumerate(jumps, 1):
        line = (0, (3, 2)) if count % row_length == 0 else "-"
        middle = (start + 0.5) * width
        if start == end:
            canvas.loop(middle, top, 0.6, shade(colour))
            continue
        side = 1 if end > start else -1
        edge_y, bend = (top, -_height(start, end)) if side > 0 else (top + 1, _height(start, end))
        ends = (middle + side * 0.13, edge_y), ((end + 0.5) * width - side * 0.13, edge_y)
        canvas.arrow(*ends, shade(colour), (0, bend), line)  # type: ignore[arg-type]
    if places:
        side = -1 if places[1:2] < places[:1] and len(places) > 1 else 1  # beside the arrows
        canvas.axes.plot(
            (places[0] + 0.5) * width - side * 0.26, top + 1.22, "^", color=shade(colour), clip_on=False, zorder=3
        )
    canvas.text(-0.4, top + 0.5, name, colour=shade(colour), ha="right", weight="bold")
    facts = f"shape {each.shape}\nstride {each.stride}\noffset {each.offset}"
    canvas.text(len(texts) * width + 0.4, top + 0.5, facts, linespacing=1.3)
    return max(top + 1 + down, top + 1.4)


def _height(start: int, end: int) -> float:
    return 0.6 if start == end else 0.3 + 0.12 * min(abs(end - start), 8)


def _flat(values: Any) -> np.ndarray[Any, Any]:
    if isinstance(values, np.ndarray):
        base = _base(values)
        return np.ndarray((base.size,), values.dtype, base, strides=(values.itemsize,))
    if hasattr(values, "untyped_storage"):
        values = values.detach()
        return numbers(values.as_strided((values.untyped_storage().nbytes() // values.element_size(),), (1,), 0))
    if hasattr(values, "storage"):
        values = values.storage.flat
    return numbers(values).reshape(-1)


def _base(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
