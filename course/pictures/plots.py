"""Pictures with axes: curves, decision regions, small images."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from course.image import Picture
from course.pictures.theme import (
    CARD,
    COLOURS,
    INK,
    MARKERS,
    QUIET,
    SIZE,
    TEXT,
    VERMILLION,
    axes,
    colours,
    numbers,
    publish,
    shade,
    styled,
    tint,
)

_LINE = 1.35 * SIZE  # points between the middles of two labels


def curves(
    lines: Mapping[str, Any],
    x: Any = None,
    *,
    xlabel: str,
    ylabel: str,
    log: str = "",
    marks: Mapping[str, float] | None = None,
    alt: str | None = None,
) -> Picture:
    """Lines with a label at their end: `curves({"train": losses}, xlabel="epoch", ylabel="loss (nats)")`.

    `x` is common to all lines, from 1 up unless given; a value may also be a pair (x, y). `log` names the logarithmic
    axes: "x", "y" or "xy". `marks` are dotted vertical lines with their names. What is no finite number leaves a gap.
    """
    with styled():
        panel, ends, told, whole = axes(), [], [], True
        panel.set(xlabel=xlabel, ylabel=ylabel)
        if "x" in log:
            panel.set_xscale("log")
        if "y" in log:
            panel.set_yscale("log")
        for place, (name, colour) in enumerate(zip(lines, colours(list(lines)), strict=True)):
            given = lines[name]
            xs, ys = given if isinstance(given, tuple) else (x, given)
            ys = numbers(ys).astype(float)
            xs = np.arange(1, len(ys) + 1) if xs is None else numbers(xs)
            whole &= xs.dtype.kind in "iu"
            marker = MARKERS[place % len(MARKERS)]
            every = max(1, -(-len(ys) // 15))
            panel.plot(xs, ys, color=colour, marker=marker, markevery=every, linewidth=1.6)
            drawn = np.isfinite(ys) & ((ys > 0) | ("y" not in log))
            if drawn.any():
                ends.append((name, shade(colour), float(xs[drawn][-1]), float(ys[drawn][-1])))
            told.append(f"{name}: {_course(ys)}.")
        for name, at in (marks or {}).items():
            panel.axvline(at, color=QUIET, linestyle=":", zorder=0)
            panel.annotate(name, (at, 1), (3, 0), xycoords=("data", "axes fraction"), textcoords="offset points")
            told.append(f"{name} at {at:g}.")
        if "x" not in log:
            panel.xaxis.set_major_locator(MaxNLocator(integer=whole, steps=[1, 2, 5, 10]))
        _label(panel, ends)
    return publish(panel, alt or f"{ylabel} over {xlabel}. {' '.join(told)}")


def _label(panel: Axes, ends: list[tuple[str, str, float, float]]) -> None:
    """Names the lines at the right edge, at the heights of their ends but apart; one that ends early, where it ends."""
    figure = panel.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    low, high = panel.get_window_extent().intervaly
    line = _LINE * figure.dpi / 72
    look: dict[str, Any] = {"textcoords": "offset points", "va": "center_baseline"}
    farthest = max((panel.transData.transform(end[2:])[0] for end in ends), default=0.0)
    early = [end for end in ends if panel.transData.transform(end[2:])[0] < farthest - 3 * line]
    for name, colour, x, y in early:
        panel.annotate(name, (x, y), (8, 0), "data", color=colour, **look)
    ends = sorted((end for end in ends if end not in early), key=lambda end: end[3])
    heights: list[float] = []
    for *_, x, y in ends:
        height = panel.transData.transform((x, y))[1]
        heights.append(max([height, *(each + line for each in heights[-1:])]))
    excess = max(0.0, heights[-1] - high) if heights else 0.0
    for place in range(len(heights) - 1, -1, -1):  # what was pushed out at the top pushes back
        limit = heights[place + 1] - line if place + 1 < len(heights) else heights[place] - excess
        heights[place] = min(heights[place], limit)
    for (name, colour, _, _), height in zip(ends, heights, strict=True):
        at = (height - low) / (high - low)
        panel.annotate(name, (1, at), (6, 0), "axes fraction", color=colour, **look)


def _course(values: np.ndarray[Any, Any]) -> str:
    """The course of a line in words. What is not whole has two digits: machines differ in the later ones."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return "no finite value"
    form = ",.0f" if (finite == finite.round()).all() else ".2g"
    first, last, low, high = (format(each, form) for each in (values[0], values[-1], finite.min(), finite.max()))
    said, ends = f"from {first} to {last}", {first, last}
    said += f", lowest {low}" * (low not in ends) + f", highest {high}" * (high not in ends)
    return said


def decision(
    predict: Callable[[np.ndarray[Any, Any]], Any],
    points: Any,
    labels: Any,
    *,
    xlabel: str = "first coordinate",
    ylabel: str = "second coordinate",
    alt: str | None = None,
) -> Picture:
    """Two classes of points in the plane, and on which side of the decision each lies.

    `predict` gets a NumPy array of float32 pairs (n, 2), and gives n scores, (n,) or (n, 1): above 0 is class 1.
    `labels` are 0 and 1. Points on the wrong side have a ring.
    """
    where, classes = numbers(points).astype(np.float32), numbers(labels).reshape(-1) > 0
    (left, bottom), (right, top) = where.min(0) - 0.4, where.max(0) + 0.4
    across = np.meshgrid(np.linspace(left, right, 160), np.linspace(bottom, top, 120))

    def scores(pairs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return numbers(predict(pairs.astype(np.float32))).astype(float).reshape(len(pairs))

    field = scores(np.stack([each.ravel() for each in across], 1)).reshape(across[0].shape)
    right_side = (scores(where) > 0) == classes
    with styled():
        panel = axes(4.6, 3.6)
        panel.set(xlabel=xlabel, ylabel=ylabel, aspect="equal")
        zero, one = COLOURS["data"], COLOURS["result"]
        panel.contourf(*across, field > 0, levels=[-0.5, 0.5, 1.5], colors=[tint(zero, 0.2), tint(one, 0.2)])
        if field.min() < 0 < field.max():
            panel.contour(*across, field, levels=[0.0], colors=INK, linewidths=1.2)
        for each, colour, marker in ((False, zero, "o"), (True, one, "^")):
            chosen = where[classes == each]
            panel.plot(*chosen.T, marker, color=colour, markeredgecolor=CARD, markersize=6, label=f"class {int(each)}")
        look: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": INK, "markersize": 11}
        if not right_side.all():
            panel.plot(*where[~right_side].T, "o", label="wrong side", **look)
        for handle in panel.legend(loc="center left", bbox_to_anchor=(1, 0.5)).legend_handles:
            if isinstance(handle, Line2D) and handle.get_label() == "wrong side":
                handle.set_markeredgecolor(TEXT)  # the field is light, the page may be dark
    said = f"{classes.size - classes.sum()} points of class 0 and {classes.sum()} of class 1; "
    return publish(panel, alt or said + f"{right_side.sum()} of {classes.size} lie on their side of the decision.")


def images(
    shown: Sequence[Any],
    titles: Sequence[Any] = (),
    *,
    wrong: Collection[int] = (),
    columns: int = 10,
    alt: str | None = None,
) -> Picture:
    """Small grey images (height, width) in rows of `columns`, dark where they are high, each with its title. The places
    in `wrong` have a frame and a cross at their title.
    """
    rows = -(-len(shown) // columns)
    with styled():
        width = min(columns, len(shown))
        figure = Figure(figsize=(0.8 * width, (1.1 if titles else 0.8) * rows), layout="constrained")
        panels = figure.subplots(rows, width, squeeze=False).ravel()
        for place, panel in enumerate(panels):
            panel.set(xticks=[], yticks=[])
            panel.spines[["left", "bottom", "top", "right"]].set_visible(place in wrong)
            panel.spines[:].set(color=VERMILLION, linewidth=2)
            if place < len(shown):
                panel.imshow(numbers(shown[place]), cmap="gray_r")
            if place < len(titles):
                panel.set_title(f"{titles[place]}" + " ✗" * (place in wrong), loc="center")
    told = f"{len(shown)} images" + f": {', '.join(map(str, titles))}" * bool(titles) + "."
    named = [str(titles[place]) if titles else str(place) for place in sorted(wrong)]
    return publish(figure, alt or told + f" Marked as wrong: {', '.join(named)}." * bool(named))
