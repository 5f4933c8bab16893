"""A learner's first ten minutes, in a real browser: a lesson runs, an exercise is typed in, its check turns green."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = pytest.mark.needs("browser")

ROOT = Path(__file__).parents[2]
CHAPTER = "06_computation_graph"
EXERCISE, FUNCTION = "graph_fit", "fit"
SCREENSHOTS = os.environ.get("MINITORCH_SCREENSHOTS")  # a folder that keeps what the browser showed


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a JupyterLab on a copy of the course, and the copy."""
    home = tmp_path_factory.mktemp("lab")
    for folder in ("notebooks", "exercises", "solutions/mytorch"):
        shutil.copytree(ROOT / folder, home / folder)
    shutil.copytree(home / "exercises/.pristine", home / "exercises", dirs_exist_ok=True)  # nothing is solved
    for path in (home / "notebooks" / f"{CHAPTER}.ipynb", home / "exercises" / f"{CHAPTER}.ipynb"):
        without_outputs(path)  # what the browser shows must have been computed there
    settings = {
        "notebook-extension/tracker": {"windowingMode": "none"},  # or cells out of sight are not in the page
        "apputils-extension/notification": {"fetchNews": "false"},
    }
    for name, values in settings.items():
        path = home / "settings/@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(values))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"),
        *(
            "--IdentityProvider.token=",
            f"--ServerApp.root_dir={home}",
            "--LabApp.news_url=",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ),
    ]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MINITORCH_COURSE")}
    environment = {
        **inherited,
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "PYTHONPATH": str(ROOT),
    }
    log = home / "lab.log"
    with log.open("w") as out, subprocess.Popen(command, cwd=home, env=environment, stdout=out, stderr=out) as server:
        try:
            address = f"http://127.0.0.1:{port}/lab"
            _wait_for(address, server, log)
            yield address, home
        finally:
            server.terminate()


def without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, path)


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(address, timeout=60).close()
            return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"JupyterLab does not answer:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def page(lab: tuple[str, Path]) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=options)
        yield browser.new_page(viewport={"width": 1280, "height": 1000})
        browser.close()


def open_notebook(page: Any, address: str, path: str) -> None:
    page.goto(f"{address}/tree/{path}?reset", timeout=300_000)
    page.wait_for_selector(".jp-NotebookPanel:visible .jp-CodeCell", timeout=300_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=300_000)


def run_all(page: Any) -> None:
    """Runs the notebook from its menu, and waits until the last code cell has its number."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    wait_until_idle(page)


def wait_until_idle(page: Any) -> None:
    page.wait_for_function(
        """() => {
            const prompts = [...document.querySelectorAll('.jp-NotebookPanel .jp-CodeCell .jp-InputPrompt')];
            return prompts.every(each => !each.textContent.includes('*'));
        }""",
        timeout=300_000,
    )
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=300_000)


def screenshot(page: Any, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"))


def test_the_lesson_runs_from_top_to_bottom(page: Any, lab: tuple[str, Path]) -> None:
    open_notebook(page, lab[0], f"notebooks/{CHAPTER}.ipynb")
    run_all(page)
    notebook = nbformat.read(ROOT / "notebooks" / f"{CHAPTER}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    folded = sum(cell.metadata.get("jupyter", {}).get("source_hidden", False) for cell in code)  # these show no prompt
    raising = sum("raises-exception" in cell.metadata.get("tags", ()) for cell in code)
    prompts = page.locator(".jp-CodeCell .jp-InputPrompt").all_inner_texts()
    assert sum(any(digit.isdigit() for digit in prompt) for prompt in prompts) >= len(code) - folded
    assert page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.error']").count() == raising
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
    stub.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(solution)
    page.keyboard.press("Shift+Enter")
    wait_until_idle(page)
    page.keyboard.press("Shift+Enter")
    wait_until_idle(page)
    verdict = page.locator(".jp-OutputArea-output", has_text="✓ Right")
    verdict.first.wait_for(timeout=300_000)
    assert EXERCISE in verdict.first.inner_text()
    verdict.first.scroll_into_view_if_needed()
    screenshot(page, "exercise")
    assert list((lab[1] / "my").glob(f"{EXERCISE}*")), "the solution was not kept"
