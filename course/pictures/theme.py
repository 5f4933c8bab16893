"""What all pictures have in common: one palette, one font size, no ground of their own.

A picture is transparent: what it draws has a contrast of 3:1 or more on a light page and on a dark one.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import same_color, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from PIL import Image

from course.image import DENSITY, Picture

# Okabe and Ito's palette, which people with any colour vision can tell apart: https://jfly.uni-koeln.de/color/
# Its orange, blue of the sky and purple are darkened until they show on white.
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#c46d9c"
ORANGE, SKY = "#c28600", "#3d98cf"
INK, CARD = "#1a1a1a", "#ffffff"
"""Text on what is filled, and the fill of a cell without a colour."""
TEXT, QUIET = "#767676", "#808080"
"""Text on the page, and lines that matter less."""

COLOURS: dict[str, str] = {
    "data": BLUE,
    "result": VERMILLION,
    "weight": GREEN,
    "index": PURPLE,
    "gradient": ORANGE,
    "saved": SKY,
}
"""Colours by the role that a tensor has. Tensors without a role take them in this order."""

_SHADES = 128  # few enough to make a notebook a third as large, and no eye sees it
MARKERS = "os^Dvx"
SIZE = 10.5  # points: 14 pixels, as JupyterLab's text

_SETTINGS: Any = {
    "font.size": SIZE,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is the same everywhere
    "axes.labelsize": SIZE,
    "axes.titlesize": SIZE,
    "axes.titlelocation": "left",
    "xtick.labelsize": SIZE,
    "ytick.labelsize": SIZE,
    "legend.fontsize": SIZE,
    "legend.frameon": False,
    "figure.titlesize": SIZE,
    "figure.figsize": (6, 3.2),
    "figure.facecolor": "none",
    "figure.constrained_layout.use": True,
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": QUIET,
    "axes.labelcolor": TEXT,
    "text.color": TEXT,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": TEXT,
    "ytick.labelcolor": TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=list(COLOURS.values()), marker=list(MARKERS)),
    "lines.markersize": 5,
    "hatch.linewidth": 0.8,
}
_assigned: dict[str, str] = {}


def style() -> None:
    """Gives matplotlib the course's settings, for figures that a lesson draws itself."""
    matplotlib.rcParams.update(_SETTINGS)


@contextmanager
def styled() -> Iterator[None]:
    """The course's settings while one picture is drawn, whatever the notebook has set."""
    with matplotlib.rc_context(_SETTINGS):
        yield


def assign(roles: Mapping[str, str] | None = None, /, **more: str) -> None:
    """Gives names their colours in all pictures from here on: `assign(w="weight", x="data")`.

    A value is a role of `COLOURS` or a colour. Raises ValueError for what is neither.
    """
    for name, role in {**(roles or {}), **more}.items():
        _assigned[name] = to_hex(COLOURS.get(role, role))


def colours(names: list[str]) -> list[str]:
    """A colour for each name: the assigned one, else the first that no other name here has."""
    free = [each for each in COLOURS.values() if each not in {_assigned.get(name) for name in names}]
    free = free or list(COLOURS.values())
    unassigned = [name for name in dict.fromkeys(names) if name not in _assigned]
    chosen = {name: free[place % len(free)] for place, name in enumerate(unassigned)}
    return [_assigned[name] if name in _assigned else chosen[name] for name in names]


def tint(colour: str, strength: float = 0.22) -> str:
    """A light version of a colour, on which ink reads well."""
    red, green, blue = (strength * each + 1 - strength for each in to_rgb(colour))
    return to_hex((red, green, blue))


def shade(colour: str) -> str:
    """A colour as text on the page: as dark as `TEXT`, or as it is where it is darker."""
    luminance = _luminance(colour)
    factor = min(1.0, _luminance(TEXT) / luminance) if luminance else 1.0
    red, green, blue = (each * factor ** (1 / 2.2) for each in to_rgb(colour))
    return to_hex((red, green, blue))


def _luminance(colour: str) -> float:
    """Source: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance"""
    linear = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in to_rgb(colour))
    return sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def axes(width: float = 6.0, height: float = 3.2) -> Axes:
    """The axes of a new figure, sizes in inches of 96 pixels. `publish(axes, alt)` shows it."""
    with styled():
        return Figure(figsize=(width, height), layout="constrained").subplots()


def panels(rows: int, columns: int, width: float, height: float, **shared: Any) -> list[Axes]:
    """The axes of a new figure with several panels, row by row. `publish` shows all of them, given any one."""
    with styled():
        figure = Figure(figsize=(width, height), layout="constrained")
        return list(figure.subplots(rows, columns, squeeze=False, **shared).flat)


def publish(figure: Figure | Axes, alt: str) -> Picture:
    """A matplotlib figure as a picture, with the text that says what it shows. The figure is closed."""
    figure = figure.get_figure(root=True) if isinstance(figure, Axes) else figure  # type: ignore[assignment]
    assert isinstance(figure, Figure)
    drawn, packed = io.BytesIO(), io.BytesIO()
    for text in figure.findobj(Text, include_self=False):
        if same_color(text.get_color(), "black"):  # matplotlib's own, of what was written outside of `styled`
            text.set_color(TEXT)
    for spine in (each for axes in figure.axes for each in axes.spines.values()):
        if same_color(spine.get_edgecolor(), "black"):
            spine.set_edgecolor(QUIET)
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        for line in axis.get_ticklines():
            if same_color(line.get_color(), "black"):
                line.set_color(QUIET)
    for legend in figure.findobj(Legend, include_self=False):
        legend.set_frame_on(False)
    with styled():
        figure.savefig(drawn, dpi=96 * DENSITY, format="png", transparent=True, bbox_inches="tight", pad_inches=0.12)
    pyplot.close(figure)  # or IPython would show a figure of pyplot's a second time
    _with_palette(np.asarray(Image.open(drawn))).save(packed, "png", optimize=True)
    return Picture(packed.getvalue(), " ".join(alt.split()))


def _with_palette(pixels: np.ndarray[Any, Any]) -> Image.Image:
    """The image in its most frequent colours; a pixel of another colour takes the nearest."""
    found, place, count = np.unique(pixels.reshape(-1, 4).view(np.uint32), return_inverse=True, return_counts=True)
    colour = found.view(np.uint8).reshape(-1, 4)
    chosen = colour[np.argsort(-count, kind="stable")[:_SHADES]]
    seen, shown = (each * np.maximum(each[:, 3:], 1.0) / 255 for each in (colour, chosen))  # by alpha, as on a page
    nearest = (np.square(shown).sum(1) - 2 * seen @ shown.T).argmin(1)
    image = Image.fromarray(nearest.astype(np.uint8)[place].reshape(pixels.shape[:2]))
    image.putpalette(chosen.tobytes(), "RGBA")
    return image


def numbers(values: Any) -> np.ndarray[Any, Any]:
    """Numbers as an array: of NumPy's, of a tensor of either library, of lists."""
    values = values.detach() if hasattr(values, "detach") else values
    return np.asarray(values.tolist() if hasattr(values, "tolist") else values)


def words(array: np.ndarray[Any, Any]) -> list[str]:
    """Each number of an array as short text, row by row."""
    if array.dtype.kind in "fc":
        return [f"{each:.3g}" for each in array.ravel().tolist()]
    return [str(each) for each in array.ravel().tolist()]
