"""Runs exercises in the sandbox and says what came of them; no learner's code runs and no value is read here."""

import contextlib
import json
import queue
import secrets
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from course import variables
from course.checks.bundle import Bundle
from course.grading.compare import Heard
from course.grading.judge import Hear
from course.grading.reach import LAYERS
from course.sandbox import launch
from course.sandbox.launch import Limits, SandboxError
from course.source.assemble import REFUSED, Files

_START_SECONDS = 300  # for the imports and the setup, which are not the learner's
_END_SECONDS = 10  # for the end of a run that has shown its values; its sandbox is ended otherwise
_LAST_SECONDS = 30  # for the last words of a process that has ended, and for the end of one that says nothing more
_MAX_LINE = 8 << 20  # bytes of one message


@dataclass(frozen=True)
class Task:
    """What runs for one exercise.

    `names` are what the check takes from the learner; `parts` are those that it is about, of which `only` some are
    theirs if it names some.
    `packages`, `setup` and `shared` (the mytorch of the setup) are the same for tasks that share a process; `package`
    is the mytorch of this one, if it is another. `seed` is what the check draws its inputs from. `variants` are the
    answers that the learner's tests are tried on, which the learner's process never holds. Of what could do an
    exercise, the answer can reach what is `needed`, or all of it if that is None. Of the course's own answers, `reveal`
    shows secret values, and `record` tells what they use.
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
    seed: int
    variants: tuple[str, ...] = ()
    needed: tuple[str, ...] | None = None
    reveal: bool = False
    record: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    `status`: shown, error or timeout; `solution`: what the learner's cell itself came to; `heard`: what the check said,
    and `line` how it said it.
    """

    status: str
    message: str = ""
    solution: str = ""
    heard: Heard | None = None
    line: bytes = b""


Start = Callable[[Task], AbstractContextManager["Started"]]
"""What gives a sandbox for a task and those with the same packages."""


def run(
    tasks: Iterable[Task], start: Start, seconds: float, deadline: float, hear: Hear, expected: Mapping[str, Bundle]
) -> dict[str, Outcome]:
    """Run the tasks, one after the other; none costs another its outcome.

    Args:
        tasks: the exercises.
        start: gives sandboxes.
        seconds: how long a cell may run.
        deadline: by `time.monotonic`; what has not run by then is late.
        hear: reads what they say.
        expected: what their checks should show.

    Raises:
        SandboxError: the sandbox could not be started, or the setup raised.
    """
    waiting = sorted(tasks, key=lambda task: str(task.packages))
    outcomes: dict[str, Outcome] = {}
    while waiting:
        if time.monotonic() >= deadline:
            late = Outcome("timeout", "the whole run took too long")
            return outcomes | {task.exercise: late for task in waiting}
        with start(waiting[0]) as process:
            packages = waiting[0].packages
            while waiting and waiting[0].packages == packages and process.is_usable and time.monotonic() < deadline:
                task = waiting.pop(0)
                outcomes[task.exercise] = process.run(task, seconds, deadline, hear, expected.get(task.exercise))
            if process.stop.is_set():
                break
    return outcomes


class Started:
    """A started process, and its messages. Once it broke a rule, or has run what it can run, it is of no use."""

    def __init__(self, process: launch.Process, runs: str, stop: threading.Event) -> None:
        self.process, self.runs, self.stop = process, runs, stop
        self.is_usable = True
        self._heard = b""
        self.closed = threading.Event()
        self._lines: queue.Queue[bytes] = queue.Queue(maxsize=2)
        threading.Thread(target=self._read, daemon=True).start()

    def run(self, task: Task, seconds: float, deadline: float, hear: Hear, expected: Bundle | None) -> Outcome:
        nonce = secrets.token_hex(16)
        about = {
            "solution": task.solution,
            "check": task.check,
            "names": task.names,
            "package": task.package,
            "parts": task.parts,
            "only": task.only,
            "seed": task.seed,
            "reveal": task.reveal,
            "needed": task.needed,
            "record": task.record,
        }
        self.send([*task.variants], {"nonce": nonce, **about})
        self.is_usable = False  # until it says that the run has ended
        solution = self.phase("solution", nonce, seconds, deadline, hear, None)
        if isinstance(solution, Outcome):
            return replace(solution, message=f"the solution cell: {solution.message}")
        raised = f"the solution cell: {solution.error}" if solution.error else ""
        check = self.phase("check", nonce, seconds, deadline, hear, expected)
        if isinstance(check, Outcome):
            return replace(check, message=raised or check.message)
        if self.runs != "once":
            self.receive(nonce, min(deadline, time.monotonic() + _END_SECONDS), _deaf)
        if check.error:
            return Outcome("error", raised or check.error)
        return Outcome("shown", solution=raised, heard=check, line=self._heard if check.wrong else b"")

    def phase(
        self, phase: str, nonce: str, seconds: float, deadline: float, hear: Hear, expected: Bundle | None
    ) -> Heard | Outcome:
        """What is said at the end of a phase; or what came of the task, if nothing is."""
        said = self.receive(nonce, min(deadline, time.monotonic() + seconds), hear, expected)
        if said is not None and said.phase == phase:
            return said
        if said is not None or self.is_usable or self.process.popen.poll() is not None:
            return Outcome("error", "the cell ended the Python process")
        if time.monotonic() >= deadline:
            return Outcome("timeout", "the whole run took too long")
        return Outcome("timeout", f"stopped after {seconds:g} seconds")

    def send(self, *messages: Any) -> None:
        """Send messages, of which empty ones are just a length of 0, without waiting for who may never read them."""
        texts = [json.dumps(message).encode() if message else b"" for message in messages]
        framed = b"".join(struct.pack("<Q", len(text)) + text for text in texts)
        threading.Thread(target=self._write, args=(framed,), daemon=True).start()

    def ready(self, deadline: float) -> str | None:
        """What the setup raised, or nothing; None if there is no answer."""
        line = self._line(deadline)
        return None if line is None else str(json.loads(line)["error"])

    def receive(self, nonce: str, deadline: float, hear: Hear, expected: Bundle | None = None) -> Heard | None:
        """The next message of an exercise; None if it has ended, or says nothing until the deadline.

        Raises:
            SandboxError: the sandbox has a fault.
        """
        while (line := self._line(deadline)) is not None:
            if not line.startswith(b">"):
                if self.runs == "once":  # nobody but the exercise speaks here
                    continue
                said = json.loads(line)
                self.is_usable = said["phase"] == "ended" and not said["error"]
                if said["error"]:
                    raise SandboxError(said["error"])
                return None
            if nonce.encode() in line and (heard := hear(line[1:], expected)) is not None and heard.nonce == nonce:
                self._heard = line[1:]
                return heard
        return None

    def _line(self, deadline: float) -> bytes | None:
        """The next line; None if there is none until the deadline, or ever."""
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
            return line
        return None

    def _read(self) -> None:
        """Put the lines into the queue, which is short: who says more than is asked for waits."""
        stream = self.process.popen.stdout
        assert stream is not None
        line = b"start"
        while line:
            try:
                line = _whole(stream)
            except (OSError, ValueError):  # closed at the end
                line = b""
            while not self.closed.is_set():
                with contextlib.suppress(queue.Full):
                    self._lines.put(line, timeout=0.2)
                    break

    def _write(self, text: bytes) -> None:
        stream = self.process.popen.stdin
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):  # it ended: nothing will be received
            stream.write(text)
            stream.flush()


@contextmanager
def started(
    task: Task, limits: Limits, stop: threading.Event, is_trusted: bool = False, nests: bool = True
) -> Iterator[Started]:
    """A new sandbox with the packages and the setup of a task.

    Args:
        task: one of those that it will run.
        limits: what it may use.
        stop: set, it ends what runs.
        is_trusted: it will run the course's own answers, and nothing else.
        nests: let it set each run apart, where this machine can.

    Raises:
        SandboxError: it could not be started, or the setup raised.
    """
    environment = {variables.SEED: str(task.seed), variables.MYTORCH: ""}
    with launch.process("course.grading.inside", task.packages, environment, limits, nests) as process:
        runs = "apart" if process.nests else "forked" if is_trusted and launch.can_fork() else "once"
        running = Started(process, runs, stop)
        first = {
            "setup": task.setup,
            "loaded": [LAYERS] if (task.packages / LAYERS.replace(".", "/")).is_dir() else [],
            "package": task.shared,
            "compiles": bool(task.parts),
            "refused": [name for name in REFUSED if not (task.packages / name).is_dir()],
            "limits": process.limits,
            "runs": runs,
            "bytes": limits.disk_bytes,
        }
        running.send(first)
        raised = running.ready(time.monotonic() + _START_SECONDS)
        if stop.is_set():
            running.is_usable = False
        elif raised is None:
            raise SandboxError(f"the sandbox could not be started: {process.complaint() or 'no answer'}")
        elif raised:
            raise SandboxError(f"a setup cell raised {raised}")
        try:
            yield running
        finally:
            running.closed.set()


def _whole(stream: IO[bytes]) -> bytes:
    """A line, or of one that is too long the beginning; what comes after that is lost."""
    line = more = stream.readline(_MAX_LINE)
    while len(more) == _MAX_LINE and not more.endswith(b"\n"):
        more = stream.readline(_MAX_LINE)
    return line


def _deaf(line: bytes, expected: Bundle | None) -> None:
    """Hear nothing: whatever an exercise says after its check."""
