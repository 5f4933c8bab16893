"""What runs in the sandbox: the setup once, then for each exercise a fork of this process with the learner's cells.

Commands come by standard input and results leave by standard output, a line of JSON each, before anything of the
learner's runs. Then both are moved to descriptors that no program started here inherits, and what is printed is lost.

Its first command is `{"setup", "loaded", "package", "refused", "limits", "scratch", "alone"}`; then one comes for each
exercise: `{"nonce", "solution", "check", "names", "package", "parts", "only", "reveal", "needed", "record"}`. It
answers each with `{"nonce", "phase", "error", "called", "shown", "used"}`. The phases of an exercise are "solution",
"check" and "ended"; "setup" comes before the first.
"""

import contextlib
import importlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from course import check
from course.authoring import assemble
from course.grading.reach import Reach, Record
from course.grading.witness import Witness
from course.learner import package
from course.learner.guard import Guard
from course.learner.scope import Names
from course.reports.printable import ANSI, MAX_MESSAGE
from course.sandbox import confine

Send = Callable[..., None]


class Shell(InteractiveShell):
    """IPython without a terminal, a history or tracebacks."""

    def enable_gui(self, gui: Any = None) -> None:
        """There is nothing to enable."""

    def showtraceback(self, *arguments: Any, **keywords: Any) -> None:
        """Nobody reads it."""

    showsyntaxerror = showtraceback


def main() -> None:
    """Serve until the commands end."""
    commands, send = _take_over()
    first = json.loads(commands.readline())
    confine.limit(first["limits"])
    confine.die_with_parent()
    confine.hide()  # what forks from this process cannot look into it
    _refuse(first["refused"])
    _offer(first["package"])
    reach = Reach()
    shell = _shell()
    error = ""
    for text in first["setup"]:
        error = error or _run(shell, text)
    for name in first["loaded"]:
        importlib.import_module(name)
    guard = Guard(shell.user_ns)
    _silence()
    send(nonce="", phase="setup", error=error)
    for line in commands:
        job = json.loads(line)
        if job["parts"]:
            assemble.compiled(first["package"])  # here, so that each fork has it
        if not hasattr(os, "fork"):  # Windows: the judge starts a process for each exercise
            _exercise(job, first["setup"], shell, guard, reach, send)
            os._exit(0)
        child = os.fork()
        if child == 0:
            commands.close()
            with contextlib.suppress(BaseException):
                _exercise(job, first["setup"], shell, guard, reach, send)
            os._exit(0)
        os.waitpid(child, 0)
        _clean(child, first["scratch"], first["alone"])
        send(nonce=job["nonce"], phase="ended")


def _exercise(job: dict[str, Any], setup: list[str], shell: Shell, guard: Guard, reach: Reach, send: Send) -> None:
    """Run the learner's cell and then the check, on names that the learner's code did not reach."""
    if hasattr(os, "setsid"):
        os.setsid()
    confine.die_with_parent()
    confine.hide(False)
    _offer(job["package"])
    guard = Guard(guard.names)
    flags, compiled = shell.compile.flags, compile
    if job["needed"] is not None:
        reach.restrict(job["needed"])
    record = Record(reach) if job["record"] else None
    if job["parts"]:
        shell.user_ns["__builtins__"] = Names(job["parts"], lambda: job["package"])
    sys.setprofile(record)
    send(nonce=job["nonce"], phase="solution", error=_run(shell, job["solution"]))
    guard.restore()
    witness, space = Witness(record), shell.user_ns
    found = {name: space[name] for name in job["names"] if name in space}
    for value in found.values():
        witness.watch(value, space)
    shown: list[Any] = []
    check.deliver, check.made, check._CELLS[:] = shown.append, witness.watch_part, [job["solution"]]
    check.setup, check.only, check.reveal = setup, job["only"], job["reveal"]
    error = ""
    try:
        code = compiled(job["check"], "<check>", "exec", flags)
        with witness.watching():
            exec(code, guard.names | found)
    except BaseException as raised:
        error = _message(raised)
    send(
        nonce=job["nonce"],
        phase="check",
        error=error,
        called=witness.called,
        shown=shown[:2],
        used=record.units() if record else [],
    )


def _take_over() -> tuple[Any, Send]:
    """Where the commands come from, and what sends a result."""
    commands, results = os.fdopen(os.dup(0), "rb"), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    dumps, write = json.dumps, os.write

    def send(**message: Any) -> None:
        text = dumps(message).encode() + b"\n"
        while text:
            text = text[write(results, text) :]

    return commands, send


def _silence() -> None:
    """From now on nothing is heard: until here, standard error says why the sandbox does not work."""
    os.dup2(1, 2)


def _refuse(names: list[str]) -> None:
    """Make these packages impossible to import, and nothing importable that the sandbox was not given."""
    sys.path[:] = [place for place in sys.path if any(map(Path(place).is_relative_to, _given_places()))]

    class Refusing:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> None:
            if name.partition(".")[0] in names:
                raise ModuleNotFoundError(f"No module named {name.partition('.')[0]!r}")

    sys.meta_path.insert(0, Refusing)


def _given_places() -> Iterator[str]:
    yield from (sys.prefix, sys.base_prefix, *os.environ["PYTHONPATH"].split(os.pathsep))


def _offer(files: dict[str, str] | None) -> None:
    """Make `mytorch` this package, held in memory."""
    if files is not None:
        package.given = files
        assemble.offer(files)


def _shell() -> Shell:
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.cache_size = 0
    shell: Shell = Shell.instance(config=config)
    shell.user_ns.pop("exit", None)
    shell.user_ns.pop("quit", None)
    return shell


def _run(shell: Shell, text: str) -> str:
    """Run a cell as a notebook does; what it raised, or nothing."""
    run: Any = shell.run_cell  # its module has no type hints
    result = run(text, store_history=False)
    raised = result.error_before_exec or result.error_in_exec
    return "" if raised is None else _message(raised)


def _message(raised: BaseException) -> str:
    try:
        text = f"{type(raised).__name__}: {raised}"
    except BaseException:  # its text is the learner's code too
        text = type(raised).__name__
    return ANSI.sub("", text)[:MAX_MESSAGE]


def _clean(child: int, scratch: list[str], alone: bool) -> None:
    """End what the exercise started, and remove what it wrote."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if alone:
            os.kill(-1, signal.SIGKILL)  # all processes but this one and the namespace's first
        else:
            os.killpg(child, signal.SIGKILL)
    for folder in scratch:
        for entry in os.scandir(folder):
            if any(Path(place).is_relative_to(entry.path) for place in (sys.prefix, sys.base_prefix)):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


if __name__ == "__main__":
    main()
