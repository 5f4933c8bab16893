"""JupyterLab in a real browser: what the tests of it share."""

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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
SCREENSHOTS = os.environ.get("MINITORCH_SCREENSHOTS")  # a folder that keeps what the browser showed


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a JupyterLab on a copy of the course, and the copy."""
    home = tmp_path_factory.mktemp("lab")
    for folder in ("notebooks", "exercises", "solutions/mytorch"):
        shutil.copytree(ROOT / folder, home / folder)
    shutil.copytree(home / "exercises/.pristine", home / "exercises", dirs_exist_ok=True)  # nothing is solved
    for path in (*home.glob("notebooks/*.ipynb"), *home.glob("exercises/*.ipynb")):
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
            "--LabApp.expose_app_in_browser=True",
        ),
    ]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MINITORCH_COURSE")}
    environment = {
        **inherited,
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_PATH": str(ROOT / "course" / "jupyter" / "share" / "jupyter"),  # the buttons
        "PYTHONPATH": str(ROOT),
    }
    log = home / "lab.log"
    with log.open("w") as out, subprocess.Popen(command, cwd=home, env=environment, stdout=out, stderr=out) as server:
        try:
            address = f"http://127.0.0.1:{port}/lab"
            wait_for(address, server, log)
            yield address, home
        finally:
            server.terminate()


def without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, path)


def wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a Jupyter server answers, or fail with the end of its log."""
    for _ in range(600):
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(address, timeout=60).close()
            return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"Jupyter does not answer:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def page(lab: tuple[str, Path]) -> Iterator[Any]:
    with new_page() as made:
        yield made


@contextmanager
def new_page() -> Iterator[Any]:
    """A page in Chromium."""
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
    """Runs the notebook, and waits until all that runs has run."""
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    wait_until_idle(page)
    # Outputs come on a channel of their own: the end of a later request says that they are there.
    kernel = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
    page.evaluate(f"{kernel}.requestExecute({{code: '', silent: true}}).done.then(() => null)")


def shown(page: Any) -> list[dict[str, Any]]:
    """The cells as the browser has them, with their outputs."""
    cells: list[dict[str, Any]] = page.evaluate("window.jupyterapp.shell.currentWidget.content.model.toJSON().cells")
    return cells


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


def type_into(page: Any, cell: Any, text: str) -> None:
    """Put a text in the place of what a cell holds, and run the cell and the one below it."""
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)
    for _ in range(2):
        page.keyboard.press("Shift+Enter")
        wait_until_idle(page)
