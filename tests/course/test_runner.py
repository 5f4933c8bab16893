"""What the judge hears of a process, however slow the machine is."""

import functools
import json
import subprocess
import sys
import tempfile
import threading
import time

from course.grading import compare
from course.grading.runner import Started
from course.sandbox.outside import Process

SAYS = {"nonce": "n", "phase": "check", "error": "", "called": False, "shown": []}


class Slow(Started):
    """One whose lines come later than the judge looks for them."""

    def _read(self) -> None:
        self.process.popen.wait()
        time.sleep(1)
        super()._read()


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
