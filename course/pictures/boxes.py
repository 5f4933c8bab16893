"""Boxes and arrows: graphs of any nodes as Mermaid, and the layers that a call goes through."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from course.image import Picture
from course.pictures.canvas import LETTER, Canvas
from course.pictures.theme import COLOURS, INK, QUIET, TEXT, shade, tint

if TYPE_CHECKING:
    from minitorch.viz import Mermaid


def graph(
    *roots: Any,
    children: Callable[[Any], Iterable[Any]],
    label: Callable[[Any], str],
    kind: Callable[[Any], str] | None = None,
    alt: str | None = None,
) -> Mermaid:
    """The graph of all that `children` reaches from the roots, which stand at the bottom, as in `viz.graph`.

    `children(node)` gives what the node was made from: nodes, or pairs (node, text at the arrow); `None` is passed
    over. `label(node)` may have several lines. `kind(node)` is "leaf", "op", "result", "saved" or "module"; unless
    given, roots are results, nodes without children leaves, all others ops. A node is recognised by its identity.
    """
    # Here, so that pictures can be drawn before minitorch is imported, and without it.
    from minitorch.viz.mermaid import ROUND, SQUARE, Flowchart, Mermaid

    chart, found, known, arrows = Flowchart(), list(roots), {id(root) for root in roots}, []
    for node in found:
        given = [each if isinstance(each, tuple) else (each, "") for each in children(node)]
        under = [(child, text) for child, text in given if child is not None]
        usual = "result" if any(node is root for root in roots) else "op" if under else "leaf"
        look = kind(node) if kind else usual
        chart.box(id(node), label(node).split("\n"), ROUND if look in ("leaf", "result") else SQUARE, look, None)
        for child, text in under:
            if id(child) not in known:
                known.add(id(child))
                found.append(child)
            arrows.append((id(child), text, id(node)))
    first, *rest = chart.draw().source.split("\n")
    # Not the chart's arrows, which it draws once: what a node uses twice has two.
    for start, text, end in arrows:
        shown = text.replace('"', "#quot;")
        rest.append(f"    {chart.names[start]} -->" + f'|"{shown}"|' * bool(text) + f" {chart.names[end]}")
    names = ", ".join(" ".join(label(root).split()) for root in roots)
    told = alt or f"Graph that ends in {names}: nodes {len(found)}, arrows {len(arrows)}."
    return Mermaid("\n".join([first, f"    accTitle: {' '.join(told.split())}", *rest]))


def layers(
    stack: Mapping[str, str] | Sequence[str],
    *,
    call: str = "",
    path: Collection[str] | None = None,
    kernels: Sequence[str] = (),
    chosen: str = "",
    result: str = "",
    alt: str | None = None,
) -> Picture:
    """A stack of layers, from the top down, and the path of a call through it to a kernel at the bottom.

    `stack` gives each layer its name and a note about what it does. The layers in `path` act, all of them unless given;
    the call passes the others by. `kernels` stand side by side under the stack; `chosen` is the one that computes.
    """
    notes = dict(stack) if isinstance(stack, Mapping) else dict.fromkeys(stack, "")
    acting = set(notes) if path is None else set(path)
    if unknown := (acting - set(notes)) | ({chosen} - {"", *kernels}):
        raise ValueError(f"no such layer or kernel: {', '.join(sorted(unknown))}")
    canvas, down = Canvas(), 1.0
    widths = [len(each) * LETTER + 1.0 for each in kernels]
    width = max([len(name) * LETTER + 3 for name in notes] + [sum(widths) + 0.4 * (len(kernels) - 1), 6.0])
    width = max(width, 0.4 + (len(call) + len(result)) * (LETTER + 0.02) + 1.0)
    middle = down
    if call:
        canvas.text(0.4, -1.1, call, weight="bold")
    for place, (name, note) in enumerate(notes.items()):
        y, acts = 1.7 * place, name in acting
        fill, edge = (tint(COLOURS["data"], 0.25), COLOURS["data"]) if acts else ("none", QUIET)
        canvas.box(0, y, width, 1.1, fill, edge, "-" if acts else "--")
        canvas.text(width / 2, y + 0.55, name, colour=INK if acts else TEXT, ha="center")
        if note:
            canvas.text(width + 0.5, y + 0.55, note)
    bottom, target = 1.7 * len(notes), middle
    x = (width - sum(widths) - 0.4 * (len(kernels) - 1)) / 2 if kernels else 0.0
    for name, wide in zip(kernels, widths, strict=True):
        here = name == chosen
        fill, edge = (tint(COLOURS["weight"], 0.3), COLOURS["weight"]) if here else ("none", QUIET)
        canvas.box(x, bottom, wide, 1.1, fill, edge, "-" if here else "--")
        canvas.text(x + wide / 2, bottom + 0.55, name, colour=INK if here else TEXT, ha="center")
        target = x + wide / 2 if here else target
        x += wide + 0.4
    _route(
        canvas,
        notes,
        acting,
        (middle, width - max(1.0, len(result) * (LETTER + 0.02) / 2)),
        target,
        bool(kernels),
        result,
    )
    told = [f"The call {call} goes down {len(notes)} layers." if call else f"{len(notes)} layers, from the top:"]
    for name, note in notes.items():
        told.append(f"{name}{f' ({note})' if note else ''} {'acts' if name in acting else 'is passed by'};")
    told.append(f"kernels {', '.join(kernels)}, of which {chosen or 'none'} computes." * bool(kernels))
    return canvas.publish(alt or " ".join(told).rstrip(" ;") + f" The result: {result}." * bool(result))


def _route(
    canvas: Canvas,
    notes: Mapping[str, str],
    acting: set[str],
    lanes: tuple[float, float],
    target: float,
    kernels: bool,
    result: str,
) -> None:
    """The way down on the left and back up on the right, with a dot in each layer that acts."""
    down, up = lanes
    colour, at = shade(COLOURS["result"]), -0.75
    for place, name in enumerate(notes):
        if name in acting:
            dot = 1.7 * place + 0.55
            canvas.arrow((down, at), (down, dot - 0.1), colour)
            canvas.axes.plot(down, dot, "o", color=colour, clip_on=False, zorder=4)
            at = dot
    back = [(up, at), (up, -0.75)]
    if kernels:
        end = 1.7 * len(notes)
        canvas.line([(down, at), (down, end - 0.45), (target - 0.25, end - 0.05)], colour)
        back = [(target + 0.25, end), (up, end - 0.45), (up, -0.75)]
    if result:
        canvas.line(back, colour)
        canvas.text(up, -1.1, result, ha="center", weight="bold")
