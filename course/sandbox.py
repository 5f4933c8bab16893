"""The limits that a learner's code runs under.

They keep an accident (an endless loop, a fork bomb, a full disk) from harming the machine. They do not keep hostile
code from reading what the grader can read: the report says "trusted submissions only".
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

DESCRIPTION = "resource limits and timeouts only: trusted submissions only"
_TOKEN = "MINITORCH_COURSE_RUN"


@dataclass(frozen=True)
class Limits:
    """What one submission may use."""

    cell_seconds: int = 60
    wall_seconds: int = 900
    cpu_seconds: int = 900
    memory_bytes: int = 8 << 30
    file_bytes: int = 256 << 20
    processes: int = 256


@dataclass(frozen=True)
class Ended:
    """How a command ended: `returncode` is None if it ran past the wall-clock limit."""

    returncode: int | None
    output: str
    seconds: float


def confine(command: list[str], limits: Limits) -> list[str]:
    """The command that runs `command` under the limits."""
    return [sys.executable, "-m", "course.sandbox", json.dumps(asdict(limits)), *command]


def run(command: list[str], folder: Path, environment: dict[str, str], limits: Limits) -> Ended:
    """Run a command under the limits, in a process group of its own; leave no process of it behind."""
    token = uuid.uuid4().hex
    started = time.monotonic()
    log = folder / "output.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(
            confine(command, limits),
            cwd=folder,
            env={**environment, _TOKEN: token},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            returncode = process.wait(timeout=limits.wall_seconds)
        except subprocess.TimeoutExpired:
            returncode = None
        finally:
            _kill(process.pid, token)
            process.wait()
    with log.open("rb") as output:
        output.seek(max(0, log.stat().st_size - 20_000))
        return Ended(returncode, output.read().decode(errors="replace"), time.monotonic() - started)


def _kill(group: int, token: str) -> None:
    """Kill the process group, and what left it: a kernel has a group of its own, but inherits the token."""
    if os.name != "nt":
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.killpg(group, signal.SIGKILL)
    while _sweep(token):  # again, as long as something forks while we kill
        pass


def _sweep(token: str) -> int:
    killed = 0
    for process in psutil.process_iter():
        try:
            if process.environ().get(_TOKEN) == token:
                process.kill()
                killed += 1
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # gone meanwhile, or another user's
    return killed


def _apply(limits: Limits) -> None:
    if os.name == "nt":
        return
    import resource

    mine = [
        process for process in psutil.process_iter(["uids", "num_threads"]) if process.info["uids"].real == os.getuid()
    ]
    running = sum(process.info["num_threads"] or 0 for process in mine)  # the limit counts all threads of the user
    wanted = {
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NPROC: running + limits.processes,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


if __name__ == "__main__":
    _apply(Limits(**json.loads(sys.argv[1])))
    os.execvp(sys.argv[2], sys.argv[2:])
