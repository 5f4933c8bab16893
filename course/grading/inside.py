"""What runs in the sandbox: the setup once, then for each exercise a fork of this process with the learner's cells.

Commands come by standard input and results leave by standard output. Its first command is `{"setup", "loaded",
"package", "compiles", "refused", "limits", "runs", "bytes"}`; then one comes for each exercise: `{"nonce", "seed",
"solution", "check", "names", "package", "parts", "only", "reveal", "needed", "record"}`. A command is its length in
eight bytes, and JSON. Before that of an exercise stand its variants in the same form, or a length of 0.

It answers with lines of JSON, `{"nonce", "phase", "error", "called", "shown", "used"}`. The phases are "setup" and, for
each exercise, "solution", "check" and "ended". A line that an exercise wrote begins with `>`: only the others are this
process's own words.

How exercises run (`runs`):

- "apart": each in a fork that shares nothing with this process or another exercise (`course.sandbox.namespaces`).
- "forked": each in a fork, for the course's own answers.
- "once": one exercise, in this process.

A command is read where the exercise runs, and nowhere else. So this process never holds the text of an answer, nor the
parts of mytorch that another exercise is about, and a fork's memory has nothing of another run.
"""

import contextlib
import importlib
import json
import os
import select
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from traceback import walk_tb
from types import CodeType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from course import check, variables
from course.checks.printable import ANSI, MAX_MESSAGE
from course.grading.calls import Witness
from course.grading.guard import Guard
from course.grading.reach import Reach, Record
from course.learner import lines, package, ran
from course.learner.scope import Names
from course.sandbox import confine, namespaces, seccomp
from course.source import assemble
from course.variants import ServedVariants

Send = Callable[..., None]
_CHUNK = 1 << 16
_NOT_APART = 70  # an exit code
_SOON = 5.0  # seconds: a check that failed so soon runs once more, to say what the answer gave it


class Shell(InteractiveShell):
    """IPython without a terminal, a history or tracebacks."""

    def enable_gui(self, gui: Any = None) -> None:
        """There is nothing to enable."""

    def showtraceback(self, *arguments: Any, **keywords: Any) -> None:
        """Nobody reads it."""

    showsyntaxerror = showtraceback


def main() -> None:
    """Serve until the commands end."""
    commands, results = _take_over()
    first = _command(commands)
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
    if first["compiles"]:
        assemble.compiled(first["package"])  # here, so that each fork has it
    guard = Guard(shell.user_ns)
    _silence()
    _sender(results)(nonce="", phase="setup", error=error)

    def exercise(target: int, prefix: bytes) -> None:
        if first["runs"] != "forked" and seccomp.available():
            namespaces.drop_capabilities()
            seccomp.restrict(network=first["runs"] == "apart")
        with contextlib.suppress(BaseException):
            served = _variants(commands)
            job = _command(commands)
            os.close(commands)
            _exercise(job, served, first["setup"], shell, guard, reach, _sender(target, prefix))
        os._exit(0)

    while _is_waiting(commands):
        if first["runs"] == "once":
            exercise(results, b">")
        source, target = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(source)
            os.close(results)
            if first["runs"] == "apart":
                _enter(first["bytes"])
            os.setsid()
            _close_the_standard_files()
            exercise(target, b"")
        os.close(target)
        status = _relay(source, results, child)
        fault = "a run could not be set apart" if os.waitstatus_to_exitcode(status) == _NOT_APART else ""
        _sender(results)(nonce="", phase="ended", error=fault)


def _enter(bytes_each: int) -> None:
    try:
        namespaces.enter(bytes_each)
    except OSError:
        os._exit(_NOT_APART)


def _exercise(
    job: dict[str, Any],
    served: ServedVariants | None,
    setup: list[str],
    shell: Shell,
    guard: Guard,
    reach: Reach,
    send: Send,
) -> None:
    """Run the learner's cell and then the check, on names that the learner's code did not reach."""
    confine.die_with_parent()
    confine.hide(False)
    os.environ[variables.SEED] = str(job["seed"])
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

    def deliver(bundle: dict[str, Any], dumps: Callable[..., str] = json.dumps) -> None:
        dumps(bundle)  # here, so that its exception is reported as the answer's
        shown.append(bundle)

    check.deliver, check.made, check.runs[:] = deliver, witness.watch_part, [ran.CellRun(job["solution"])]
    check.setup, check.only, check.reveal, check.served = setup, job["only"], job["reveal"], served
    error, began = "", time.monotonic()
    try:
        code = compiled(job["check"], "<check>", "exec", flags)
        with witness.watching():
            exec(code, guard.names | found)
    except BaseException as raised:
        error = _message(raised, job["solution"])
        if not (job["parts"] or job["reveal"]) and _is_the_checks(raised, space) and time.monotonic() - began < _SOON:
            with contextlib.suppress(BaseException):  # the name of a type may be the learner's code, too
                error = ran.failed(ran.gave(found, lambda: _again(code, guard.names | found)), error)[:MAX_MESSAGE]
    send(
        nonce=job["nonce"],
        phase="check",
        error=error,
        called=witness.called,
        shown=shown[:2],
        used=record.units() if record else [],
    )


def _is_the_checks(raised: BaseException, space: dict[str, Any]) -> bool:
    """Whether a check raised by itself, not the learner's code in `space` nor a part of mytorch that is not written."""
    own = isinstance(raised, NotImplementedError) or any(f.f_globals is space for f, _ in walk_tb(raised.__traceback__))
    return not own


def _again(code: CodeType, names: dict[str, Any]) -> None:
    with contextlib.suppress(BaseException):
        exec(code, names)


def _take_over() -> tuple[int, int]:
    """Where the commands come from and where results go: no longer what programs started here inherit."""
    commands, results = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return commands, results


def _close_the_standard_files() -> None:
    """Open them anew: what is set on an open file would be seen by all that inherit it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in (0, 1, 2):
        os.dup2(nothing, file)
    os.close(nothing)


def _is_waiting(commands: int) -> bool:
    """Wait for a command without reading it; False at their end."""
    if not hasattr(select, "poll"):  # Windows: one exercise alone comes
        return True
    poll = select.poll()
    poll.register(commands, select.POLLIN)
    return any(event & select.POLLIN for _, event in poll.poll())


def _command(commands: int) -> dict[str, Any]:
    """Read the next command, and not a byte more."""
    (length,) = struct.unpack("<Q", _read(commands, 8))
    command: dict[str, Any] = json.loads(_read(commands, length))
    return command


def _variants(commands: int) -> ServedVariants | None:
    """The variants that an exercise's tests are tried on; they are read where they live, and nowhere else."""
    (length,) = struct.unpack("<Q", _read(commands, 8))
    return ServedVariants(lambda: [str(each) for each in json.loads(_read(commands, length))]) if length else None


def _read(file: int, length: int) -> bytes:
    """So many bytes.

    Raises:
        EOFError: there are no more.
    """
    pieces = []
    while length and (piece := os.read(file, min(length, 1 << 20))):
        pieces.append(piece)
        length -= len(piece)
    if length:
        raise EOFError("a command that ends too early")
    return b"".join(pieces)


def _sender(file: int, prefix: bytes = b"") -> Send:
    """What sends a result there, however the names it needs are changed meanwhile."""
    dumps, write = json.dumps, _write

    def send(**message: Any) -> None:
        write(file, prefix + dumps(message).encode() + b"\n")

    return send


def _write(file: int, text: bytes, write: Callable[[int, bytes], int] = os.write) -> None:
    while text:
        text = text[write(file, text) :]


def _relay(source: int, results: int, child: int) -> int:
    """Send on what an exercise writes, each line marked as its, until it has ended; nothing of it is read here.

    Returns:
        How its process ended, as `os.waitpid` says it.
    """
    is_at_start, ended = True, (0, 0)
    while True:
        if not select.select([source], [], [], 0 if ended[0] else 0.02)[0]:
            if ended[0]:  # somebody whom it left behind holds the pipe, and has nothing more to say
                break
            ended = os.waitpid(child, os.WNOHANG)
        elif text := os.read(source, _CHUNK):
            marked = (b">" if is_at_start else b"") + text[:-1].replace(b"\n", b"\n>") + text[-1:]
            is_at_start = text.endswith(b"\n")
            _write(results, marked)
        else:
            break
    os.close(source)
    if not is_at_start:
        _write(results, b"\n")
    return (ended if ended[0] else os.waitpid(child, 0))[1]


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
    return "" if raised is None else _message(raised, text)


def _message(raised: BaseException, answer: str) -> str:
    """What an answer raised, and in which of its lines."""
    try:
        text = f"{type(raised).__name__}: {raised}"
    except BaseException:  # its text is the learner's code too
        text = type(raised).__name__
    with contextlib.suppress(BaseException):  # so may the file that its line is read from
        text = text[: MAX_MESSAGE - 200] + lines.raised_in(raised, answer)
    return ANSI.sub("", text)[:MAX_MESSAGE]


if __name__ == "__main__":
    main()
