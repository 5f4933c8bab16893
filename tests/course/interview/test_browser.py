"""The interview in JupyterLab, in a real browser: keys, what is saved, and what a reload leaves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from course.interview.asking import SURE
from tests.course.in_browser import lab, open_notebook, page, screenshot, type_into

__all__ = ["lab", "page"]  # fixtures
pytestmark = pytest.mark.needs("browser")

BEGIN = "from course.interview import notebook\n\nnotebook.show(['estimate', 'debug'], minutes=22, seed=1)"
BOX = ".interview-file textarea"


def press(page: Any, text: str) -> None:
    page.locator(".interview-room").get_by_role("button", name=text, exact=True).click()


def lines(page: Any, *keys: str) -> str:
    """What the box holds after these keys; longer ones are typed."""
    page.locator(BOX).fill("")
    for key in keys:
        if key in ("Enter", "Tab", "Shift+Tab", "ArrowUp", "Shift+ArrowUp"):
            page.keyboard.press(key)
        else:
            page.keyboard.type(key)
    return str(page.locator(BOX).input_value())


@pytest.mark.turns(8)
def test_keys_files_and_a_reload(page: Any, lab: tuple[str, Path]) -> None:
    address, home = lab
    open_notebook(page, address, "notebooks/25_mock_interview.ipynb")
    type_into(page, page.locator(".jp-CodeCell", has_text="notebook.show()"), BEGIN)
    line = page.locator(".interview-line input")
    line.click()
    page.keyboard.type("2*3*4")
    page.keyboard.press("Enter")
    page.get_by_text("isn't one number").wait_for(timeout=300_000)
    assert line.input_value() == "2*3*4"
    line.fill("7")
    page.keyboard.press("Enter")
    press(page, SURE[2])
    press(page, "Go on")
    box = page.locator(BOX)
    box.wait_for(timeout=300_000)
    clock = page.locator(".interview .left").first
    assert re.fullmatch("19|20", clock.evaluate("it => getComputedStyle(it, '::after').getPropertyValue('--minutes')"))
    assert lines(page, "if x:", "Enter", "y", "Enter", "z") == "if x:\n    y\n    z"
    assert lines(page, "a", "Tab", "b", "Enter", "Tab", "c", "Shift+Tab") == "a   b\nc"
    assert lines(page, "a", "Enter", "b", "Shift+ArrowUp", "Tab") == "    a\n    b"
    screenshot(page, "interview")
    box.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Check it"
    box.fill("written = 1")
    (path,) = (home / "my/interview").glob("*.py")  # whichever program it was
    page.wait_for_timeout(3000)
    assert path.read_text() == "written = 1"
    page.locator("a.interview-open").click()
    page.locator(".jp-FileEditor .cm-content", has_text="written = 1").wait_for(timeout=300_000)
    open_notebook(page, address, "notebooks/25_mock_interview.ipynb")
    type_into(page, page.locator(".jp-CodeCell", has_text="notebook.show("), BEGIN)
    box.wait_for(timeout=300_000)
    assert box.input_value() == "written = 1"
