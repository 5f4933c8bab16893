"""Every notebook in a real browser: `make browser`, or with TURN a sixth of them.

A lesson runs from top to bottom, raises only what it means to raise and shows its pictures, and a slider moves one. In
a notebook of exercises a wrong answer is typed, then the right one, and the verdicts are read. The folder that
MINITORCH_SCREENSHOTS names keeps a picture of each in the light and in the dark theme.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.nbval_plugin import missing_packages
from course.notebooks.notebook import exercise_of, role
from tests.course.in_browser import (
    ROOT,
    SCREENSHOTS,
    lab,
    open_notebook,
    page,
    run_all,
    shown,
    type_into,
    wait_until_idle,
)
from tests.turn import in_turn, this_turn

__all__ = ["lab", "page"]  # fixtures
pytestmark = pytest.mark.needs("browser")

SIXTH = 6
TALLEST = 16_000  # pixels that Chromium draws of one page


CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
PICTURES = ".jp-OutputArea-output img"
MIMES = ("text/html", "image/png", "image/svg+xml", "text/vnd.mermaid")


@pytest.fixture(autouse=True)
def alone(page: Any) -> Iterator[None]:
    """After each notebook its kernel is ended."""
    yield
    page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")


def errors(cells: list[Any]) -> list[tuple[int, str]]:
    """Which cells raise what."""
    code = [(place, cell) for place, cell in enumerate(cells) if cell["cell_type"] == "code"]
    return [
        (place, output["ename"])
        for place, cell in code
        for output in cell["outputs"]
        if output["output_type"] == "error"
    ]


def photograph(page: Any, name: str) -> None:
    """The whole notebook, in both themes."""
    if not SCREENSHOTS:
        return
    size = page.viewport_size
    page.locator(".jp-NotebookPanel:visible .jp-WindowedPanel-outer").evaluate("each => each.scrollTo(0, 0)")
    height = page.locator(".jp-NotebookPanel:visible .jp-WindowedPanel-outer").evaluate("each => each.scrollHeight")
    page.set_viewport_size({"width": size["width"], "height": min(height + 200, TALLEST)})
    for theme in ("Dark", "Light"):
        page.evaluate(f"window.jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}})")
        page.wait_for_selector(f"body[data-jp-theme-name='JupyterLab {theme}']", state="attached", timeout=60_000)
        page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=60_000)  # shown while a theme loads
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}-{theme.lower()}.png"))
    page.set_viewport_size(size)


def move(page: Any, slider: Any) -> None:
    """To its end, or to its beginning where it is elsewhere; what is shown changes."""
    look = f"() => [...document.querySelectorAll({PICTURES!r})].map(each => each.src).join()"
    before = page.evaluate(look)
    track, handle, readout = (slider.locator(each) for each in (".noUi-base", ".noUi-handle", ".widget-readout"))
    track.scroll_into_view_if_needed()
    shown = readout.inner_text()
    at_start = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemin")
    track.click(position={"x": track.bounding_box()["width"] - 1 if at_start else 1, "y": 1}, force=True)
    page.wait_for_function(f"before => ({look})() !== before", arg=before, timeout=120_000)
    wait_until_idle(page)
    assert readout.inner_text() != shown


@pytest.mark.parametrize("chapter", in_turn(CHAPTERS, SIXTH, this_turn()))
def test_a_lesson(page: Any, lab: tuple[str, Path], chapter: str) -> None:
    if missing := missing_packages(ROOT / "notebooks" / f"{chapter}.ipynb"):
        pytest.skip(missing)
    built = nbformat.read(ROOT / "notebooks" / f"{chapter}.ipynb", as_version=4)
    code = [cell for cell in built.cells if cell.cell_type == "code"]
    data = [output.get("data", {}) for cell in code for output in cell.outputs]
    pictures = sum("<img " in str(each) or any(mime in each for mime in MIMES[1:]) for each in data)
    open_notebook(page, lab[0], f"notebooks/{chapter}.ipynb")
    run_all(page)
    assert errors(shown(page)) == errors(built.cells)
    page.wait_for_function(f"document.querySelectorAll({PICTURES!r}).length >= {pictures}", timeout=120_000)
    drawn = f"[...document.querySelectorAll({PICTURES!r})].every(each => each.complete && each.naturalWidth > 0)"
    page.wait_for_function(drawn, timeout=120_000)
    sliders = page.locator(".widget-slider:visible")
    if any("slider" in cell.source.lower() for cell in code):
        sliders.first.wait_for(timeout=120_000)
        move(page, sliders.first)
    photograph(page, f"lesson-{chapter}")


@pytest.mark.parametrize("chapter", in_turn(CHAPTERS, SIXTH, this_turn()))
def test_an_exercise(page: Any, lab: tuple[str, Path], chapter: str) -> None:
    """The first one: its symptom is a value, or a function."""
    path = ROOT / "exercises" / ".pristine" / f"{chapter}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    place, stub = next((place, cell) for place, cell in enumerate(cells) if role(cell) == "solution")
    solved = nbformat.read(ROOT / "solutions" / f"{chapter}.ipynb", as_version=4).cells
    name = exercise_of(stub)
    right = next(cell.source for cell in solved if role(cell) == "solution" and exercise_of(cell) == name)
    about = next(cell for cell in solved if role(cell) == "task" and exercise_of(cell) == name)
    wrong = about.metadata["minitorch"]["mutants"][0]["source"]
    open_notebook(page, lab[0], f"exercises/{chapter}.ipynb")
    run_all(page)  # the setup; it stops at the first exercise, which is not answered yet
    cell = page.locator(".jp-NotebookPanel:visible .jp-Cell").nth(place)
    type_into(page, cell, wrong)
    verdict = page.locator(".jp-OutputArea-output", has_text="✗ Not yet")
    verdict.first.wait_for(timeout=120_000)
    type_into(page, cell, right)
    verdict = page.locator(".jp-OutputArea-output", has_text=f"✓ Right ({name})")
    verdict.first.wait_for(timeout=120_000)
    assert page.locator(".jp-OutputArea-output", has_text="✗ Not yet").count() == 0
    photograph(page, f"exercise-{chapter}")
