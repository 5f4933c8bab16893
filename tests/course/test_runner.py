"""What the judge hears of a process, however slow the machine is."""

import functools
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from course.checks.bundle import Bundle
from course.grading import compare, runner
from course.grading.compare import Heard
from course.grading.judge import Hear
from course.grading.runner import Started, Task
from course.sandbox.launch import Process

SAYS = {"nonce": "n", "phase": "check", "error": "", "called": False, "shown": []}


class Slow(Started):
    """One whose lines come later than the judge looks for them."""

    def _read(self) -> None:
        self.process.popen.wait()
        time.sleep(1)
        super()._read()


class Fast(Started):
    """One that has said everything already, and notes until when it would be heard."""

    until = 0.0
    phases: Sequence[str] = ("solution", "check", "")

    def receive(self, nonce: str, deadline: float, hear: Hear, expected: Bundle | None = None) -> Heard | None:
        self.until, (phase, *self.phases) = deadline, self.phases
        return Heard(nonce, phase, wrong="") if phase else None


def test_a_run_that_does_not_end_costs_no_more_than_the_submission_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_END_SECONDS", 3600)
    deadline = time.monotonic() + 60
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as popen,
    ):
        running = Fast(Process(popen, errors, {}), "apart", threading.Event())
        nothing = Task("x", "", "", (), (), (), Path(), (), {}, None, 0)
        outcome = running.run(nothing, 30, deadline, lambda line, expected: None, None)
    assert (outcome.status, running.until, running.is_usable) == ("shown", deadline, False)


def test_what_a_process_said_last_is_heard_after_its_end() -> None:
    command = [sys.executable, "-c", f"print({json.dumps(f'>{json.dumps(SAYS)}')})"]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE) as popen,
    ):
        running = Slow(Process(popen, errors, {}), "once", threading.Event())
        hear = functools.partial(compare.hear, keep=True)
        said = running.receive("n", time.monotonic() + 300, hear)
        assert said is not None and said.phase == "check"
        assert running.receive("n", time.monotonic() + 300, hear) is None
