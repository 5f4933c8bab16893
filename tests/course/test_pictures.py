"""The pictures of the lessons: the walks and numbers they show, and what a notebook keeps of them."""

from __future__ import annotations

import html
import io
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from PIL import Image

import minitorch
from course import pictures
from course.image import without_pixels
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


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_a_walk_visits_the_elements_in_their_order(view: np.ndarray[Any, Any]) -> None:
    visits = pictures.walk(view).visits()
    assert NUMBERS.ravel()[visits].tolist() == view.ravel().tolist()
    assert f"visits cells {' '.join(map(str, visits))}." in pictures.storage(NUMBERS, {"view": view}).alt


def test_a_tensor_shows_its_whole_storage() -> None:
    tensor = minitorch.arange(6).reshape(2, 3)
    told = pictures.storage(tensor[1], {"row": tensor[1], "t": tensor.t()}, version=3).alt
    assert told.startswith("Storage of 6 cells: 0 1 2 3 4 5. Version 3. row: shape (3,), stride (1,), offset 3,")
    assert "t: shape (3, 2), stride (1, 3), offset 0, visits cells 0 3 1 4 2 5." in told


def test_a_walk_that_leaves_the_storage_is_refused() -> None:
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
