"""A sheet for pictures made of cells, boxes and arrows. A unit is the height of a cell; y grows downwards."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.path import Path

from course.image import Picture
from course.pictures.theme import INK, QUIET, TEXT, publish, styled

UNIT = 0.36  # inches
LETTER = 0.245  # the width of a letter, in units


class Canvas:
    """What is drawn decides how large the picture becomes."""

    def __init__(self) -> None:
        with styled():
            self.figure = Figure(figsize=(UNIT, UNIT))
            self.figure.set_layout_engine("none")
            self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, 1), ylim=(1, 0))
        self.axes.axis("off")

    def cell(
        self, x: float, y: float, text: str, fill: str = "none", *, width: float = 1, ink: str = INK, **look: Any
    ) -> None:
        """A cell with its upper left corner at (x, y)."""
        look = {"edgecolor": QUIET, "linewidth": 0.9, **look}
        self.axes.add_patch(Rectangle((x, y), width, 1, facecolor=fill, clip_on=False, **look))
        self.text(x + width / 2, y + 0.5, text, colour=ink, ha="center")

    def box(self, x: float, y: float, width: float, height: float, fill: str, edge: str, line: str = "-") -> None:
        """A box with round corners."""
        shape = "round,pad=0,rounding_size=0.2"
        look: dict[str, Any] = {"facecolor": fill, "edgecolor": edge, "linestyle": line, "linewidth": 1.2}
        self.axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, clip_on=False, **look))

    def text(self, x: float, y: float, text: str, *, colour: str = TEXT, ha: str = "left", **look: Any) -> None:
        """Text whose middle is at the height y."""
        with styled():
            self.axes.text(
                x, y, text, color=colour, ha=ha, va="center_baseline", clip_on=False, **{"zorder": 4, **look}
            )

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        colour: str,
        bend: tuple[float, float] = (0, 0),
        line: str = "-",
    ) -> None:
        """An arrow, bent by moving the middle of its way."""
        middle = ((start[0] + end[0]) / 2 + 2 * bend[0], (start[1] + end[1]) / 2 + 2 * bend[1])
        self.curve([start, middle, end], [Path.MOVETO, Path.CURVE3, Path.CURVE3], colour, line)

    def line(self, points: list[tuple[float, float]], colour: str) -> None:
        """An arrow along straight lines."""
        self.curve(points, [Path.MOVETO, *[Path.LINETO] * (len(points) - 1)], colour, "-")

    def loop(self, x: float, y: float, height: float, colour: str) -> None:
        """An arrow that leaves upwards and comes back."""
        points = [(x - 0.14, y), (x - 0.4, y - height * 1.3), (x + 0.4, y - height * 1.3), (x + 0.14, y)]
        self.curve(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4], colour, "-")

    def curve(self, points: list[tuple[float, float]], codes: list[Any], colour: str, line: str) -> None:
        path = Path(points, codes)
        look: dict[str, Any] = {"color": colour, "linestyle": line, "linewidth": 1.3, "mutation_scale": 9}
        arrow = FancyArrowPatch(path=path, arrowstyle="-|>", clip_on=False, shrinkA=0, shrinkB=0, zorder=3, **look)
        self.axes.add_patch(arrow)

    def publish(self, alt: str) -> Picture:
        return publish(self.figure, alt)


def width_of(texts: list[str]) -> float:
    """How wide a cell is that holds any of these texts."""
    return max([1.0, *(len(text) * LETTER + 0.4 for text in texts)])
