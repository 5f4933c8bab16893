"""The pictures of the lessons: the views and numbers they show, and what a notebook keeps of them."""

from __future__ import annotations

import html
import io
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from PIL import Image

import minitorch
from course import pictures
from course.image import DENSITY, without_pixels
from course.learner.share import Definition, Ownership
from course.pictures import plots, theme
from course.pictures.canvas import UNIT
from course.pictures.package import package_map
from course.pictures.theme import colours

NUMBERS = np.arange(24).reshape(2, 3, 4)
VIEWS = {
    "all": NUMBERS,
    "transposed": NUMBERS.transpose(2, 0, 1),
    "cut": NUMBERS[1, 1:, ::2],
    "backwards": NUMBERS[:, ::-1, 3],
    "expanded": np.broadcast_to(NUMBERS[0, 0], (2, 4)),
    "one": NUMBERS[1:2, 0, 0],
}


@pytest.mark.turns(8)
@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_a_view_visits_the_elements_in_their_order(view: np.ndarray[Any, Any]) -> None:
    visits = pictures.strided_view(view).places()
    assert NUMBERS.ravel()[visits].tolist() == view.ravel().tolist()
    assert f"visits cells {' '.join(map(str, visits))}." in pictures.storage(NUMBERS, {"view": view}).alt


def test_a_tensor_shows_its_whole_storage() -> None:
    tensor = minitorch.arange(6).reshape(2, 3)
    told = pictures.storage(tensor[1], {"row": tensor[1], "t": tensor.t()}, version=3).alt
    assert told.startswith("Storage of 6 cells: 0 1 2 3 4 5. Version 3. row: shape (3,), stride (1,), offset 3,")
    assert "t: shape (3, 2), stride (1, 3), offset 0, visits cells 0 3 1 4 2 5." in told


def test_a_view_that_leaves_the_storage_is_refused() -> None:
    with pytest.raises(ValueError, match="leaves the storage of 6 cells"):
        pictures.storage(range(6), {"too far": ((2, 3), (3, 1), 1)})


@pytest.mark.parametrize("shapes", [((8, 1, 6, 1), (7, 1, 5)), ((3,), (2, 3)), ((), (2, 1), (0,)), ((2, 3), (2,))])
def test_shapes_broadcast_as_numpys_do(shapes: tuple[tuple[int, ...], ...]) -> None:
    told = pictures.broadcast(*shapes).alt
    try:
        expected = f"The result has shape {np.broadcast_shapes(*shapes)}."
    except ValueError:
        expected = "They don't fit at dim -1: 2 and 3."
    assert told.endswith(expected)


def test_arrows_are_told_and_go_forward() -> None:
    source, target = [5, 6], [[0], [5]]
    told = pictures.grids(("source", source), "↓", ("target", target), arrows=[((0, (0,)), (1, (1, 0)))]).alt
    assert told.endswith("target of shape (2, 1): 0; 5. source[0] goes to target[1, 0].")
    with pytest.raises(ValueError, match="further down"):
        pictures.grids(source, "↓", target, arrows=[((1, (0, 0)), (0, (0,)))])


def test_curves_tell_their_ends_and_what_is_not_finite() -> None:
    told = pictures.curves(
        {"falls": [3.0, 0.125, 1.0], "explodes": [1.0, 5.5, np.inf], "counts": [1, 1000, 2000]},
        xlabel="epoch",
        ylabel="loss (nats)",
        log="y",
    ).alt
    assert "falls: from 3 to 1, lowest 0.12." in told
    assert "explodes: from 1 to inf, highest 5.5." in told
    assert "counts: from 1 to 2,000." in told


def test_a_decision_counts_the_points_on_their_side() -> None:
    points, labels = [[0, 0], [1, 0], [2, 0], [3, 0]], [0, 1, 1, 0]
    for predict in (lambda at: at[:, :1] - 0.5, lambda at: minitorch.tensor(at)[:, 0] > 0.5):
        told = pictures.decision(predict, points, labels).alt
        assert told == "2 points of class 0 and 2 of class 1; 3 of 4 lie on their side of the decision."


def test_a_node_is_drawn_once_and_each_use_of_it() -> None:
    children = {"end": [("square", "1"), None], "square": [("s", "3"), ("s", "3")], "s": []}
    source = pictures.graph("end", children=children.__getitem__, label=str).source
    assert source.count('["square"]') == source.count('(["s"])') == 1
    assert source.count('-->|"3"|') == 2
    assert "accTitle: Graph that ends in end: nodes 3, arrows 3." in source


def test_only_a_known_layer_acts() -> None:
    told = pictures.layers(["autocast", "autograd"], call="x + y", path=["autograd"]).alt
    assert "autocast is passed by; autograd acts" in told
    with pytest.raises(ValueError, match="no such layer or kernel: autogard"):
        pictures.layers(["autocast", "autograd"], path=["autogard"])


DRAWN: dict[str, Callable[[], pictures.Picture]] = {
    "storage": lambda: pictures.storage([0.5], {"loop": ((3,), (0,), 0), "empty": ((0,), (1,), 0)}),
    "grid": lambda: pictures.grid([[True, False]], [[True, False]], "mask"),
    "broadcast": lambda: pictures.broadcast((2, 3), (2,)),
    "curves": lambda: pictures.curves({"nothing": [np.nan, np.nan]}, xlabel="step", ylabel="loss (nats)"),
    "decision": lambda: pictures.decision(lambda at: at[:, 0], [[0, 1], [1, 0]], [0, 1]),
    "images": lambda: pictures.images(np.eye(8)[None].repeat(3, 0), [1, 2, 3], wrong=[2], columns=2),
    "layers": lambda: pictures.layers(["a"], call="f()", kernels=["b"], chosen="b", result="z"),
    "publish": lambda: pictures.publish(pyplot.subplots()[0], "an empty figure"),
}


@pytest.mark.parametrize("draw", DRAWN.values(), ids=list(DRAWN))
def test_a_picture_leaves_no_figure_and_no_setting_behind(draw: Callable[[], pictures.Picture]) -> None:
    pyplot.close("all")  # what another test left open
    with matplotlib.rc_context({"font.size": 7.0}):
        picture = draw()
        assert matplotlib.rcParams["font.size"] == 7.0
    assert pyplot.get_fignums() == []
    assert Image.open(io.BytesIO(picture.png)).size[0] == pytest.approx(2 * picture.size[0], abs=1)
    assert picture.alt in html.unescape(picture.html)


def test_notebooks_are_compared_by_the_text_alternative_alone() -> None:
    one, other = pictures.grid([1]), pictures.grid([[100, 200]])
    told = 'x < 3 & "y" > 1'
    assert one.png != other.png and one.size != other.size
    same = [without_pixels(pictures.Picture(each.png, told).html) for each in (one, other)]
    assert same[0] == same[1] and html.escape(told) in same[0]
    assert without_pixels(one.html) != without_pixels(other.html)


def test_a_slider_redraws_and_keeps_its_first_picture() -> None:
    moved = pictures.slider(lambda size: pictures.grid(range(size), title="x"), start={"size": 2}, size=[1, 2, 3])
    moved.controls["size"].value = 3
    assert "x of shape (3,): 0 1 2." in moved.shown.value
    stored = moved._repr_mimebundle_()
    assert stored["text/plain"] == "x of shape (2,): 0 1. A slider moves size from 1 to 3."
    assert "x of shape (2,): 0 1." in stored["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in stored


def test_an_assigned_name_keeps_its_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course.pictures.theme._assigned", {})
    pictures.assign(w="data")
    chosen = colours(["x", "w", "y", "x"])
    assert chosen[1] == pictures.COLOURS["data"]
    assert chosen[0] == chosen[3] and len(set(chosen)) == 3


PAGES = ["#ffffff", "#212121"]  # the grounds of JupyterLab's themes


def contrast(one: Any, other: Any) -> float:
    """Source: https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio"""

    def luminance(colour: Any) -> float:
        linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in to_rgb(colour)]
        return float(np.dot((0.2126, 0.7152, 0.0722), linear))

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("page", PAGES)
def test_what_is_drawn_shows_on_both_themes(page: str) -> None:
    """A contrast of 3:1, as https://www.w3.org/TR/WCAG21/#non-text-contrast asks."""
    for colour in (theme.TEXT, theme.QUIET, *theme.COLOURS.values(), *map(theme.shade, theme.COLOURS.values())):
        assert contrast(colour, page) >= 3, colour


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("kind", ["graded", "free"])
def test_an_empty_box_of_the_map_has_an_outline_that_shows(page: str, kind: str) -> None:
    """A box that the picture's middle goes through, from its left side to its right one, at the size it is shown in."""
    share = Ownership([Definition("mytorch.x:f", "x.py", "02", 40, kind, False)])
    drawn = Image.open(io.BytesIO(package_map(share).png)).convert("RGBA")
    ground = Image.new("RGBA", drawn.size, page)
    shown = np.asarray(Image.alpha_composite(ground, drawn).reduce(DENSITY).convert("RGB")) / 255
    inch = 96
    row = shown[round((0.62 / 2 * UNIT + 0.12) * inch)]
    found = [place for place, colour in enumerate(row) if contrast(colour, page) >= 3]
    width = 40 * 0.07 * UNIT * inch
    assert any(abs(right - left - width) < 3 for left in found for right in found)


def test_a_picture_has_no_ground() -> None:
    picture = pictures.curves({"train": [3, 2, 1]}, xlabel="epoch", ylabel="loss (nats)")
    image = Image.open(io.BytesIO(picture.png)).convert("RGBA")
    alpha = np.asarray(image)[..., 3]
    assert alpha[0, 0] == alpha[-1, -1] == 0 and alpha.max() == 255


def test_what_a_lesson_writes_into_its_own_figure_shows_on_both_themes() -> None:
    axes = pictures.axes()
    (line,) = axes.plot([1, 2], label="one")
    said, legend = axes.text(1, 1, "here"), axes.legend()
    pictures.publish(axes, alt="A line.")
    assert [said.get_color(), legend.get_texts()[0].get_color()] == [theme.TEXT] * 2
    assert not legend.get_frame_on() and line.get_color() in theme.COLOURS.values()


def test_panels_share_a_figure_and_are_shown_together() -> None:
    top, below = pictures.panels(2, 1, 3, 2, sharex=True)
    top.plot([1, 7])
    assert top.get_xlim() == below.get_xlim() and top.get_ylim() != below.get_ylim()
    assert top.get_position().y0 > below.get_position().y0
    wide = pictures.publish(pictures.panels(1, 2, 6, 2)[0], alt="Two empty panels.")
    narrow = pictures.publish(pictures.axes(3, 2), alt="An empty panel.")
    width = [Image.open(io.BytesIO(each.png)).width for each in (wide, narrow)]
    assert width[0] > 1.8 * width[1]


def test_the_frame_of_axes_that_a_lesson_makes_itself_shows_on_both_themes() -> None:
    figure = pyplot.figure()
    axes = figure.subplots()
    pictures.publish(figure, alt="Nothing.")
    lines = [axes.spines["left"].get_edgecolor(), axes.get_xticklines()[0].get_color()]
    assert [theme.to_hex(each) for each in lines] == [theme.QUIET] * 2


def test_the_ring_in_the_legend_of_a_decision_shows_on_both_themes(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[Any] = []
    monkeypatch.setattr(plots, "publish", lambda panel, alt: published.append(panel))
    pictures.decision(lambda pairs: pairs[:, 0], [[-1.0, 0.0], [1.0, 0.0], [2.0, 0.0]], [0, 1, 0])
    (panel,) = published
    ring = panel.get_legend().legend_handles[-1]
    assert (ring.get_label(), ring.get_markeredgecolor()) == ("wrong side", theme.TEXT)


def test_a_legend_whose_letters_have_a_colour_can_be_published() -> None:
    axes = pictures.axes()
    axes.plot([1, 2], label="one")
    legend = axes.legend(labelcolor="gray")
    pictures.publish(axes, alt="A line.")
    assert theme.to_hex(legend.get_texts()[0].get_color()) == "#808080"
