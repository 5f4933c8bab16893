"""`course watch`, in a terminal of its own: what it says to saves and to keys."""

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import nbformat
import pytest

from course.files import CODE, Course
from course.learner import practice

pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals of this kind")
import termios  # noqa: E402

NOTEBOOK = "01_fixture.ipynb"


class Terminal:
    """A program's terminal: what it shows, and its keys."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor, self.shown = descriptor, ""

    def wait_for(self, text: str, seconds: float = 240) -> str:
        """Read until the text comes; what came before it, and it, are taken."""
        end = time.monotonic() + seconds
        while text not in self.shown:
            ready, _, _ = select.select([self.descriptor], [], [], max(0, end - time.monotonic()))
            assert ready, f"{text!r} did not come: {self.shown}"
            self.shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(self.descriptor, 4096).decode())
        before, found, self.shown = self.shown.partition(text)
        return before + found

    def press(self, key: str) -> None:
        os.write(self.descriptor, key.encode())


@pytest.fixture
def terminal(own_course: Course) -> Iterator[tuple[Terminal, Any, int]]:
    """The terminal of a watched course, the process, and the descriptor that the process has."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "course", "--root", str(own_course.root), "watch"]
    environment = {**os.environ, "PYTHONPATH": str(CODE), "COLUMNS": "200", "TERM": "xterm"}
    environment.pop("MINITORCH_COURSE_MYTORCH", None)
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as process:
        try:
            yield Terminal(master), process, slave
        finally:
            process.kill()
            os.close(slave)
            os.close(master)


@pytest.mark.turns(8)
def test_saves_and_keys(
    own_course: Course, submission: Callable[..., Any], terminal: tuple[Terminal, Any, int], monkeypatch: Any
) -> None:
    shown, process, slave = terminal
    usual = termios.tcgetattr(slave)
    shown.wait_for("n next · h hint · l list · c check all · q quit")
    shown.wait_for("Next: predict_strides in exercises/01_fixture.ipynb")
    assert not termios.tcgetattr(slave)[3] & termios.ICANON  # keys count without a new line
    shown.press("n")
    shown.wait_for("Next: predict_strides")
    shown.press("h")
    shown.wait_for("predict_strides: Hint 1 of")

    def save(**answers: str) -> None:
        """As Jupyter does: beside the file, and renamed."""
        path = own_course.exercises / NOTEBOOK
        draft = own_course.exercises / f".~{NOTEBOOK}"
        nbformat.write(submission(**answers), draft)
        draft.rename(path)

    mean = practice.find(own_course, "running_mean").name
    save(predict_strides="prediction = (12, 4, 1)", running_mean="def running_mean(values):\n    return 1 / 0")
    shown.wait_for("01_fixture.ipynb is saved")
    said = shown.wait_for("Next: predict_strides")
    assert "✗ predict_strides" in said and "the strides of the array before it was transposed" in said
    assert f"✗ {mean}" in said and "✓" not in said
    save(predict_strides="prediction = (12, 1, 4)", running_mean="def running_mean(values):\n    return 1 / 0")
    said = shown.wait_for("Next: contiguous_strides")
    assert "✓ predict_strides" in said and f"✗ {mean}" in said
    assert practice.is_kept(own_course, practice.find(own_course, "predict_strides"))
    shown.press("h")  # about what has just failed
    shown.wait_for(f"{mean}: Hint 1 of")
    shown.press("l")
    shown.wait_for("1/8")
    shown.press("c")
    shown.wait_for(f"{mean}: error")
    shown.wait_for("1 of 8")
    shown.press("?")
    shown.wait_for("n next")
    shown.press("q")
    assert process.wait(60) == 0
    assert termios.tcgetattr(slave) == usual
