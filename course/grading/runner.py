"""Runs exercises in the sandbox and says what came of them; no learner's code runs and no value is read here."""

import contextlib
import functools
import json
import queue
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from course.authoring.assemble import REFUSED, Files
from course.check import SEED_VARIABLE
from course.grading import compare
from course.grading.bundle import Bundle
from course.grading.compare import Heard
from course.grading.judge import Hear
from course.grading.reach import LAYERS
from course.learner.package import VARIABLE
from course.sandbox import outside
from course.sandbox.outside import Limits, SandboxError

_START_SECONDS = 300  # for the imports and the setup, which are not the learner's
_END_SECONDS = 60  # for removing what an exercise left
_LAST_SECONDS = 30  # for the last words of a process that has ended, and for the end of one that says nothing more
_MAX_LINE = 8 << 20  # bytes of one message


@dataclass(frozen=True)
class Task:
    """What runs for one exercise.

    `names` are what the check takes from the learner; `parts` are those that it is about, of which `only` some are
    theirs if it names some.
    `packages`, `setup` and `shared` (the mytorch of the setup) are the same for tasks that share a process; `package`
    is the mytorch of this one, if it is another. Of what could do an exercise, the answer can reach what is `needed`,
    or all of it if that is None. Of the course's own answers, `reveal` shows secret values, and `record` tells what
    they use.
    """

    exercise: str
    solution: str
    check: str
    names: tuple[str, ...]
    parts: tuple[str, ...]
    only: tuple[str, ...]
    packages: Path
    setup: tuple[str, ...]
    shared: Files
    package: Files | None
    needed: tuple[str, ...] | None = None
    reveal: bool = False
    record: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    `status`: shown, error or timeout; `solution`: what the learner's cell itself came to; `heard`: what the check said.
    """

    status: str
    message: str = ""
    solution: str = ""
    heard: Heard | None = None


def run(
    tasks: Iterable[Task],
    seed: int,
    limits: Limits,
    stop: threading.Event,
    hear: Hear,
    expected: Mapping[str, Bundle],
    start: "Start | None" = None,
) -> dict[str, Outcome]:
    """Run the tasks, one after the other; none costs another its outcome.

    Args:
        tasks: the exercises.
        seed: of the checks.
        limits: what they may use.
        stop: set, it ends what runs.
        hear: reads what they say.
        expected: what their checks should show.
        start: gives a sandbox for a task and those with the same packages; it is a new one unless that is given.

    Raises:
        SandboxError: the sandbox could not be started, or the setup raised.
    """
    deadline = time.monotonic() + limits.wall_seconds
    waiting = sorted(tasks, key=lambda task: str(task.packages))
    outcomes: dict[str, Outcome] = {}
    while waiting and not stop.is_set():
        if time.monotonic() >= deadline:
            late = Outcome("timeout", "the whole run took too long")
            return outcomes | {task.exercise: late for task in waiting}
        with start(waiting[0]) if start else started(waiting[0], seed, limits, stop) as process:
            packages = waiting[0].packages
            while waiting and waiting[0].packages == packages and process.is_usable and time.monotonic() < deadline:
                task = waiting.pop(0)
                outcomes[task.exercise] = process.run(task, deadline, hear, expected.get(task.exercise))
    return outcomes


class Started:
    """A started process, and its messages. Once it broke a rule it is of no use."""

    def __init__(self, process: outside.Process, limits: Limits, stop: threading.Event) -> None:
        self.process, self.limits, self.stop = process, limits, stop
        self.is_usable = True
        self.closed = threading.Event()
        self._lines: queue.Queue[bytes] = queue.Queue(maxsize=2)
        threading.Thread(target=self._read, daemon=True).start()

    def run(self, task: Task, deadline: float, hear: Hear, expected: Bundle | None) -> Outcome:
        nonce = secrets.token_hex(16)  # what an earlier exercise left behind cannot speak for this one
        about = {
            "solution": task.solution,
            "check": task.check,
            "names": task.names,
            "package": task.package,
            "parts": task.parts,
            "only": task.only,
            "reveal": task.reveal,
            "needed": task.needed,
            "record": task.record,
        }
        self.send({"nonce": nonce, **about})
        solution = self.phase("solution", nonce, deadline, hear, None)
        if isinstance(solution, Outcome):
            return replace(solution, message=f"the solution cell: {solution.message}")
        raised = f"the solution cell: {solution.error}" if solution.error else ""
        check = self.phase("check", nonce, deadline, hear, expected)
        if isinstance(check, Outcome):
            return replace(check, message=raised or check.message)
        self.is_usable = _phase(self.receive(nonce, time.monotonic() + _END_SECONDS, hear)) == "ended"
        if check.error:
            return Outcome("error", raised or check.error)
        return Outcome("shown", solution=raised, heard=check)

    def phase(self, phase: str, nonce: str, deadline: float, hear: Hear, expected: Bundle | None) -> Heard | Outcome:
        """What is said at the end of a phase; or what came of the task, if nothing is."""
        said = self.receive(nonce, min(deadline, time.monotonic() + self.limits.cell_seconds), hear, expected)
        if said is not None and said.phase == phase:
            return said
        self.is_usable = _phase(said) == "ended"
        if said is not None or self.process.popen.poll() is not None:
            return Outcome("error", "the cell ended the Python process")
        if time.monotonic() >= deadline:
            return Outcome("timeout", "the whole run took too long")
        return Outcome("timeout", f"stopped after {self.limits.cell_seconds:g} seconds")

    def send(self, message: dict[str, Any]) -> None:
        """Send a message, without waiting for who may never read it."""
        threading.Thread(target=self._write, args=(json.dumps(message).encode() + b"\n",), daemon=True).start()

    def receive(self, nonce: str, deadline: float, hear: Hear, expected: Bundle | None = None) -> Heard | None:
        """The next message about an exercise; None if there is none until the deadline, or ever."""
        has_ended = False
        while not self.stop.is_set() and (left := deadline - time.monotonic()) > 0:
            if not has_ended and self.process.popen.poll() is not None:  # what it said may still be on its way
                has_ended, deadline = True, min(deadline, time.monotonic() + _LAST_SECONDS)
            try:
                line = self._lines.get(timeout=min(left, 0.2))
            except queue.Empty:
                continue
            if not line:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.popen.wait(_LAST_SECONDS)
                return None
            if nonce.encode() in line and (said := hear(line, expected)) is not None and said.nonce == nonce:
                return said
        return None

    def _read(self) -> None:
        """Put the lines into the queue, which is short: who says more than is asked for waits."""
        stream = self.process.popen.stdout
        assert stream is not None
        line = b"start"
        while line:
            try:
                line = stream.readline(_MAX_LINE)
            except (OSError, ValueError):  # closed at the end
                line = b""
            while not self.closed.is_set():
                with contextlib.suppress(queue.Full):
                    self._lines.put(line, timeout=0.2)
                    break

    def _write(self, line: bytes) -> None:
        stream = self.process.popen.stdin
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):  # it ended: nothing will be received
            stream.write(line)
            stream.flush()


@contextmanager
def started(task: Task, seed: int, limits: Limits, stop: threading.Event) -> Iterator[Started]:
    """A new sandbox with the packages and the setup of a task.

    Raises:
        SandboxError: it could not be started, or the setup raised.
    """
    variables = {SEED_VARIABLE: str(seed), VARIABLE: ""}
    with outside.process("course.sandbox.inside", task.packages, variables, limits) as process:
        running = Started(process, limits, stop)
        first = {
            "setup": task.setup,
            "loaded": [LAYERS] if (task.packages / LAYERS.replace(".", "/")).is_dir() else [],
            "package": task.shared,
            "refused": [name for name in REFUSED if not (task.packages / name).is_dir()],
            "limits": process.limits,
            "scratch": process.scratch,
            "alone": process.alone,
        }
        running.send(first)
        said = running.receive("", time.monotonic() + _START_SECONDS, functools.partial(compare.hear, keep=True))
        if stop.is_set():
            running.is_usable = False
        elif said is None:
            raise SandboxError(f"the sandbox could not be started: {process.complaint() or 'no answer'}")
        elif said.error:
            raise SandboxError(f"a setup cell raised {said.error}")
        try:
            yield running
        finally:
            running.closed.set()


Start = Callable[[Task], AbstractContextManager[Started]]
"""What gives a sandbox for a task."""


def _phase(said: Heard | None) -> str:
    return said.phase if said else ""
