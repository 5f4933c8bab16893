"""The judge: it reads what learners' processes say, in a sandbox of its own that holds nothing and reaches nothing."""

import contextlib
import json
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from course.files import CODE
from course.grading import compare
from course.grading.bundle import Bundle
from course.grading.compare import Heard
from course.sandbox import outside
from course.sandbox.outside import Limits, SandboxError

Hear = Callable[[bytes, Bundle | None], Heard | None]
"""Reads a message, and compares what it shows with the expected values if there are any."""

_SECONDS = 120.0  # for one message
_MAX_ANSWER = 1 << 18  # bytes
_NEEDED = ("grading/bundle", "grading/compare", "grading/mistakes", "reports/printable", "sandbox/confine")
_LIMITS = Limits(disk_bytes=0, processes=8)


class Comparer:
    """A process that reads and compares; it is started when it is first needed, and again if a message broke it."""

    def __init__(self) -> None:
        self._end = ExitStack()
        self._process: outside.Process | None = None

    def hear(self, line: bytes, expected: Bundle | None) -> Heard | None:
        """Read a message; None if it is none, or if it cannot be read.

        Raises:
            SandboxError: the process could not be started.
        """
        if not outside.can_fork():
            return compare.hear(line, expected)
        token = secrets.token_hex(16)  # whatever an earlier message did cannot answer for this one
        process = self._process or self._start()
        about = {"token": token, "size": len(line), "expected": expected, "alone": process.alone}
        answer = self._exchange(process, json.dumps(about).encode() + b"\n" + line)
        try:
            told = json.loads(answer)
            if told["token"] == token:
                return told["heard"] and _checked(**told["heard"])
        except (ValueError, KeyError, TypeError):
            pass
        self.close()
        return None

    def close(self) -> None:
        """End the process."""
        self._process = None
        self._end.close()

    def _start(self) -> outside.Process:
        folder = Path(self._end.enter_context(tempfile.TemporaryDirectory(prefix="course-")))
        for name in _NEEDED:
            target = folder / "course" / f"{name}.py"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CODE / "course" / f"{name}.py", target)
        process = self._end.enter_context(outside.process("course.grading.compare", folder, {}, _LIMITS))
        if not self._exchange(process, b""):
            complaint = process.complaint() or "no answer"
            self.close()
            raise SandboxError(f"the judge's sandbox could not be started: {complaint}")
        self._process = process
        return process

    def _exchange(self, process: outside.Process, request: bytes) -> bytes:
        """Send a request and read a line; nothing if the process ended, as it does if it takes too long."""
        assert process.popen.stdin is not None and process.popen.stdout is not None
        timer = threading.Timer(_SECONDS, process.popen.kill)
        timer.start()
        try:
            with contextlib.suppress(OSError):  # it ended
                process.popen.stdin.write(request)
                process.popen.stdin.flush()
            return process.popen.stdout.readline(_MAX_ANSWER)
        finally:
            timer.cancel()


def _checked(**told: Any) -> Heard:
    """What the process answered, if it is what it should be.

    Raises:
        TypeError: it is not.
    """
    heard = Heard(**told)
    texts = (heard.nonce, heard.phase, heard.error, heard.wrong or "")
    if not all(isinstance(text, str) for text in texts) or heard.called not in (True, False, None) or heard.shown:
        raise TypeError("the judge's answer is of another form")
    return heard
