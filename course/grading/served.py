"""A process in a sandbox that reads what learners wrote, for a grader that does not; `serve` is what runs in it."""

import contextlib
import json
import secrets
import shutil
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from course.files import CODE
from course.sandbox import launch
from course.sandbox.launch import Limits, SandboxError

_SECONDS = 120.0  # for one request
_START_SECONDS = 300.0  # for the start, which is no learner's
_COMMON = ("grading/serve", "checks/printable", "sandbox/confine")
_LIMITS = Limits(disk_bytes=0, processes=8)


class Served:
    """A process that answers requests; it is started when it is first needed, and again if a request broke it."""

    def __init__(self, module: str, files: Sequence[str], first: Any = None, most_bytes: int = 1 << 18) -> None:
        """
        Args:
            module: what runs, of `course.grading`; it calls `serve`.
            files: the files of the course that it needs, besides its own.
            first: what it is told first.
            most_bytes: of an answer.
        """
        self.module, self._first, self._most_bytes = module, json.dumps(first).encode() + b"\n", most_bytes
        self._files = (f"grading/{module}", *files, *_COMMON)
        self._end = ExitStack()
        self._process: launch.Process | None = None

    def ask(self, about: Any, content: bytes) -> Any:
        """What it answers, which a learner may have chosen; None if it ended, took too long, or broke a rule.

        Args:
            about: the request, from this side.
            content: what a learner wrote.

        Raises:
            SandboxError: the process could not be started.
        """
        while True:
            is_new = self._process is None
            process = self._process or self._start()
            token = secrets.token_hex(16)  # whatever an earlier request did cannot answer for this one
            request = {"token": token, "size": len(content), "about": about, "alone": process.alone}
            answer = self._exchange(process, json.dumps(request).encode() + b"\n" + content, _SECONDS)
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                said = json.loads(answer)
                if said["token"] == token:
                    return said["told"]
            self.close()
            if is_new:  # else an earlier request may have broken it
                return None

    def close(self) -> None:
        """End the process."""
        self._process = None
        self._end.close()

    def _start(self) -> launch.Process:
        folder = Path(self._end.enter_context(tempfile.TemporaryDirectory(prefix="course-")))
        for name in self._files:
            target = folder / "course" / f"{name}.py"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CODE / "course" / f"{name}.py", target)
        process = self._end.enter_context(launch.process(f"course.grading.{self.module}", folder, {}, _LIMITS))
        if not self._exchange(process, self._first, _START_SECONDS):
            complaint = process.complaint() or "no answer"
            self.close()
            raise SandboxError(f"the sandbox that reads what learners wrote could not be started: {complaint}")
        self._process = process
        return process

    def _exchange(self, process: launch.Process, request: bytes, seconds: float) -> bytes:
        """Send a request and read a line; nothing if the process ended, as it does if it takes too long."""
        assert process.popen.stdin is not None and process.popen.stdout is not None
        timer = threading.Timer(seconds, process.popen.kill)
        timer.start()
        try:
            with contextlib.suppress(OSError):  # it ended
                process.popen.stdin.write(request)
                process.popen.stdin.flush()
            return process.popen.stdout.readline(self._most_bytes)
        finally:
            timer.cancel()
