"""A learner's first ten minutes, in a real browser: a lesson runs, an exercise is typed in, its check turns green."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyterlab.commands import get_app_dir
from jupyterlab_server.settings_utils import _get_overrides

from tests.course.in_browser import ROOT, lab, open_notebook, page, run_all, screenshot, type_into, wait_until_idle

__all__ = ["lab", "page"]  # fixtures
pytestmark = [pytest.mark.needs("browser"), pytest.mark.turns(8, together=True)]

CHAPTER = "06_computation_graph"
EXERCISE, FUNCTION = "graph_fit", "fit"


def test_the_lesson_runs_from_top_to_bottom(page: Any, lab: tuple[str, Path]) -> None:
    open_notebook(page, lab[0], f"notebooks/{CHAPTER}.ipynb")
    run_all(page)
    notebook = nbformat.read(ROOT / "notebooks" / f"{CHAPTER}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    folded = sum(cell.metadata.get("jupyter", {}).get("source_hidden", False) for cell in code)  # these show no prompt
    raising = sum("raises-exception" in cell.metadata.get("tags", ()) for cell in code)
    prompts = page.locator(".jp-CodeCell .jp-InputPrompt").all_inner_texts()
    assert sum(any(digit.isdigit() for digit in prompt) for prompt in prompts) >= len(code) - folded
    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == raising
    drawn = page.locator(".jp-RenderedMermaid img").first
    drawn.wait_for(timeout=300_000)
    assert drawn.evaluate("image => image.naturalWidth") > 0
    drawn.scroll_into_view_if_needed()
    screenshot(page, "lesson")


def test_an_exercise_is_typed_in_and_its_check_turns_green(page: Any, lab: tuple[str, Path]) -> None:
    cells = {
        cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source
        for cell in nbformat.read(ROOT / "solutions" / f"{CHAPTER}.ipynb", as_version=4).cells
    }
    solution = cells[EXERCISE]
    open_notebook(page, lab[0], f"exercises/{CHAPTER}.ipynb")
    run_all(page)  # stops at the first exercise that is not solved
    stub = page.locator(".jp-CodeCell", has_text=f"def {FUNCTION}").filter(has_text="YOUR CODE HERE")
    type_into(page, stub, solution)
    verdict = page.locator(".jp-OutputArea-output", has_text="✓ Right")
    verdict.first.wait_for(timeout=300_000)
    assert EXERCISE in verdict.first.inner_text()
    verdict.first.scroll_into_view_if_needed()
    screenshot(page, "exercise")
    assert list((lab[1] / "my").glob(f"{EXERCISE}*")), "the solution was not kept"


def dialog(page: Any, button: str) -> str:
    """Press a button of the dialog that comes; what the dialog says."""
    shown = page.locator(".jp-Dialog-content")
    shown.wait_for(timeout=300_000)
    said = str(shown.inner_text())
    shown.get_by_role("button", name=button).click()
    shown.wait_for(state="detached", timeout=300_000)
    return said


def test_buttons_give_a_hint_the_next_exercise_and_one_as_it_was(page: Any, lab: tuple[str, Path]) -> None:
    """In the notebook of the test before, whose exercise is solved."""
    solved = page.locator(".jp-CodeCell", has_text=f"def {FUNCTION}").first
    solved.locator(".cm-content").click()
    wait_until_idle(page)
    page.get_by_role("button", name="Hint").click()
    hint = page.locator(".jp-NotebookPanel:visible .course-hint")
    for number in (1, 2, 3):
        hint.filter(has_text=f"Hint {number} of").wait_for(timeout=60_000)
        page.get_by_role("button", name="Hint", exact=True).click()
    hint.filter(has_text="That was the last hint").wait_for(timeout=60_000)
    assert hint.inner_text().startswith("Exercise ") and "`" not in hint.inner_text()
    assert hint.locator("code").count(), "the hint's Markdown was not rendered"
    screenshot(page, "hint")
    hint.get_by_role("button").click()
    hint.wait_for(state="detached")
    green = page.locator(".jp-OutputArea-output", has_text="✓ Right").locator("div[style*=color]")
    assert green.count(), "Right is not green"
    trusted = (
        "window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model).filter(each => each.trusted)"
    )
    trusted += ".map(each => each.id)"
    before = page.evaluate(trusted)
    assert before
    page.get_by_role("button", name="Reset").click()
    assert dialog(page, "Reset").startswith("Exercise ")
    page.locator(".jp-CodeCell", has_text=f"def {FUNCTION}").filter(has_text="YOUR CODE HERE").wait_for(timeout=300_000)
    assert not list((lab[1] / "my").glob(f"{EXERCISE}*"))
    (copy,) = (lab[1] / "my" / "backups").glob(f"{CHAPTER}-*.ipynb")
    assert "YOUR CODE HERE" not in next(
        cell.source for cell in nbformat.read(copy, as_version=4).cells if f"def {FUNCTION}" in cell.source
    )
    page.wait_for_function(f"before => before.every(id => {trusted}.includes(id))", arg=before, timeout=60_000)
    screenshot(page, "buttons")
    page.get_by_role("button", name="Next").click()
    first = page.locator(".jp-NotebookPanel:visible .jp-Cell.jp-mod-active", has_text="YOUR CODE HERE")
    page.get_by_role("tab", name="00_welcome.ipynb").wait_for(timeout=300_000)
    first.wait_for(timeout=300_000)
    page.get_by_text("A lesson comes before these exercises").wait_for(timeout=60_000)
    screenshot(page, "next")


def test_a_verdict_is_in_sight_and_buttons_are_about_the_check_that_failed(page: Any, lab: tuple[str, Path]) -> None:
    """Shift-Enter goes on to the next exercise, and a check's values may fill the screen."""
    open_notebook(page, lab[0], "exercises/00_welcome.ipynb")
    page.set_viewport_size({"width": 1280, "height": 560})
    body = "def squared_distance(a, b):\n    return ((a - b) ** 2)"
    answer = page.locator(".jp-CodeCell", has_text="def squared_distance").first
    hint = page.locator(".jp-NotebookPanel:visible .course-hint")
    for ending, sign, title in ((".mean()", "✗ Not yet", "A squared distance"), (".sum()", "✓ Right", "Three more")):
        type_into(page, answer, body + ending)
        verdict = page.locator(".jp-NotebookPanel:visible .jp-OutputArea-output", has_text=sign)
        verdict.wait_for(timeout=60_000)
        if sign == "✓ Right":  # the hint that was asked for in between is about a solved exercise now
            hint.filter(has_text="A squared distance").wait_for(state="detached", timeout=10_000)
        page.wait_for_function(
            """each => {
                const scroller = each.closest(".jp-WindowedPanel-outer").getBoundingClientRect();
                return each.getBoundingClientRect().top >= scroller.top - 1;
            }""",
            arg=verdict.element_handle(),
            timeout=10_000,
        )
        screenshot(page, f"verdict{ending}")
        page.get_by_role("button", name="Hint", exact=True).click()
        hint.filter(has_text=title).wait_for(timeout=60_000)
    page.set_viewport_size({"width": 1280, "height": 1000})


def test_a_check_judges_what_is_on_the_screen_and_buttons_wait_for_the_kernel(page: Any, lab: tuple[str, Path]) -> None:
    """In a notebook with another name, whose setup cells nobody runs."""
    name = "Kapitel sechs ü.ipynb"
    (lab[1] / "exercises" / f"{CHAPTER}.ipynb").rename(lab[1] / "exercises" / name)
    open_notebook(page, lab[0], f"exercises/{name}")
    stub = page.locator(".jp-CodeCell", has_text=f"def {FUNCTION}").filter(has_text="YOUR CODE HERE")
    solution = next(
        cell.source
        for cell in nbformat.read(ROOT / "solutions" / f"{CHAPTER}.ipynb", as_version=4).cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == EXERCISE
    )
    type_into(page, stub, solution)
    verdict = page.locator(".jp-OutputArea-output", has_text="✓ Right")
    verdict.first.wait_for(timeout=300_000)
    answer = page.locator(".jp-CodeCell", has_text=f"def {FUNCTION}").first
    answer.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\n# not run")
    page.evaluate(
        """async id => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = notebook.widgets.findIndex(cell => cell.model.id === id);
            await window.jupyterapp.commands.execute('notebook:run-cell');
        }""",
        f"{EXERCISE}-check",
    )
    page.locator(".jp-OutputArea-output", has_text="has changed since it ran").wait_for(timeout=60_000)
    screenshot(page, "changed")

    kernel = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
    page.evaluate(f"void {kernel}.requestExecute({{ code: 'import time; time.sleep(600)' }})")
    page.wait_for_function(f"{kernel}.status === 'busy'")
    page.get_by_role("button", name="Hint").click()
    assert "The kernel is busy with a cell." in dialog(page, "Ok")
    page.evaluate(f"{kernel}.interrupt()")
    page.wait_for_function(f"{kernel}.status === 'idle'")
    page.get_by_role("button", name="Reset").click()
    dialog(page, "Reset")
    stub.wait_for(timeout=60_000)
    assert not (lab[1] / "exercises" / f"{CHAPTER}.ipynb").exists()


def test_a_notebook_that_nobody_touched_counts_as_saved(page: Any, lab: tuple[str, Path]) -> None:
    """JupyterLab writes what the kernel says of itself into a notebook, once it knows."""
    for path in ("notebooks/06_computation_graph.ipynb", "exercises/01_global_settings.ipynb"):
        open_notebook(page, lab[0], path)
        is_changed = page.evaluate(
            """async () => {
                const { context } = window.jupyterapp.shell.currentWidget;
                await context.sessionContext.ready;
                await context.sessionContext.session.kernel.info;
                await new Promise(done => setTimeout(done));
                return context.model.dirty;
            }"""
        )
        assert not is_changed, path


def test_lab_shows_no_news() -> None:
    """The setting is one that JupyterLab has; where nothing is set, it asks."""
    settings = ROOT / "course" / "jupyter" / "share" / "jupyter" / "lab" / "settings"
    overrides, _ = _get_overrides(str(settings))
    plugin = "@jupyterlab/apputils-extension:notification"
    assert overrides == {plugin: {"fetchNews": "false"}}
    schemas = Path(get_app_dir()) / "schemas" / "@jupyterlab" / "apputils-extension"
    schema = json.loads((schemas / "notification.json").read_text(encoding="utf-8"))["properties"]["fetchNews"]
    assert schema["default"] == "none" and "false" in str(schema["oneOf"])


def test_a_box_for_long_values_has_room_for_one_line(page: Any, lab: tuple[str, Path]) -> None:
    open_notebook(page, lab[0], "exercises/01_global_settings.ipynb")
    run_all(page)
    box = page.locator(".jp-mod-outputsScrolled .jp-Cell-outputArea", has_text="Not answered yet").first
    box.wait_for(timeout=300_000)
    line = box.locator(".jp-OutputArea-output pre").first
    bottoms = [each.evaluate("each => each.getBoundingClientRect().bottom") for each in (box, line)]
    assert bottoms[0] - bottoms[1] >= 5, bottoms
    heights = page.locator(".jp-mod-outputsScrolled .jp-Cell-outputArea").evaluate_all(
        "all => all.map(each => each.clientHeight)"
    )
    assert 0 in heights, "a check that wasn't run has an empty box"
