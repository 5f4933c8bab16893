"""A picture that the reader moves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ipywidgets

from course.image import Picture


class Slider:
    """Sliders above a picture. A notebook that has no kernel shows the picture as it was first drawn."""

    def __init__(self, draw: Callable[..., Picture], choices: Mapping[str, Sequence[Any]], start: Mapping[str, Any]):
        self.draw = draw
        chosen = {name: start.get(name, values[0]) for name, values in choices.items()}
        self.first = draw(**chosen)
        wide = ipywidgets.Layout(width="420px")
        self.controls = {
            name: ipywidgets.SelectionSlider(
                options=[(f"{each:g}" if isinstance(each, float) else str(each), each) for each in values],
                value=chosen[name],
                description=name,
                layout=wide,
            )
            for name, values in choices.items()
        }
        # HTML and not an Output: what goes through an Output widget ends in the cell where nobody shows the widget.
        self.shown = ipywidgets.HTML(self.first.html)
        for control in self.controls.values():
            control.observe(self.redraw, "value")
        self.box = ipywidgets.VBox([*self.controls.values(), self.shown])

    @property
    def places(self) -> Iterator[Picture]:
        """The picture at each place of the sliders, the last of them moving fastest."""
        options = ([value for _, value in control.options] for control in self.controls.values())
        return (self.draw(**dict(zip(self.controls, chosen, strict=True))) for chosen in itertools.product(*options))

    def redraw(self, change: Any = None) -> None:
        """Draws the picture for where the sliders are."""
        self.shown.value = self.draw(**{name: control.value for name, control in self.controls.items()}).html

    @property
    def alt(self) -> str:
        """The first picture's text, and what can be moved."""
        moves = [f"{name} from {each.options[0][0]} to {each.options[-1][0]}" for name, each in self.controls.items()]
        return f"{self.first.alt} A slider moves {', '.join(moves)}."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        still = Picture(self.first.png, self.alt)._repr_mimebundle_()
        live: dict[str, Any] = self.box._repr_mimebundle_()
        return {**live, **still}

    def __repr__(self) -> str:
        return self.alt


def slider(draw: Callable[..., Picture], /, start: Mapping[str, Any] | None = None, **choices: Sequence[Any]) -> Slider:
    """Sliders for the arguments of `draw`, which makes the picture: `slider(picture_at, step=range(10))`.

    `start` says where a slider is first, at its first choice unless given; the notebook keeps that picture. `draw` must
    give the same picture for the same values: it runs again and again, in any order.
    """
    return Slider(draw, choices, start or {})
