"""The package as a map: a row for each file, a box for each definition, the learner's in colour."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Rectangle

from course.image import Picture
from course.pictures.canvas import LETTER, Canvas
from course.pictures.theme import BLUE, GREEN, QUIET, TEXT

if TYPE_CHECKING:
    from course.learner.share import Definition, Ownership

_WIDTH = 0.07  # of a line of code, in units
_HEIGHT = 0.62
_LOOKS = {"graded": (BLUE, "yours, asked for by an exercise"), "free": (GREEN, "yours, written freely")}


def package_map(share: Ownership) -> Picture:
    """Every definition of mytorch as a box, as wide as it has lines of code, in the file and the chapter it stands in.

    A filled box is the learner's. Of the others, those with a strong outline are asked for by an exercise.
    """
    canvas = Canvas()
    order = sorted(share.definitions, key=lambda each: (each.chapter, each.file))
    left = max(len(each.file) for each in order) * LETTER * 0.8 + 1.6
    for row, ((chapter, file), group) in enumerate(itertools.groupby(order, lambda each: (each.chapter, each.file))):
        canvas.text(0, row * 0.8 + _HEIGHT / 2, chapter, colour=QUIET)
        canvas.text(1.2, row * 0.8 + _HEIGHT / 2, file.removesuffix(".py"))
        x = left
        for each in group:
            _box(canvas, x, row * 0.8, each)
            x += each.lines * _WIDTH + 0.06
    bottom = (row + 1.4) * 0.8
    for place, (colour, text) in enumerate(_LOOKS.values()):
        canvas.axes.add_patch(Rectangle((place * 10, bottom), 0.5, _HEIGHT, facecolor=colour, clip_on=False))
        canvas.text(place * 10 + 0.8, bottom + _HEIGHT / 2, text)
    return canvas.publish(str(share))


def _box(canvas: Canvas, x: float, y: float, each: Definition) -> None:
    edge, line = (TEXT, 2.0) if each.kind == "graded" else (QUIET, 1.2)
    colour = _LOOKS[each.kind][0] if each.is_mine else "none"
    look: dict[str, Any] = {"facecolor": colour, "edgecolor": colour if each.is_mine else edge, "linewidth": line}
    canvas.axes.add_patch(Rectangle((x, y), each.lines * _WIDTH, _HEIGHT, clip_on=False, **look))
