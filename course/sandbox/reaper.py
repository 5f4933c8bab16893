"""Starts a program, and ends with it all that it started: also when whoever started this was killed meanwhile.

`python -I -S reaper.py PROGRAM…`. Linux gives the orphans of a process to the nearest ancestor that asked for them, so
nothing that a learner's code detached gets away. Bubblewrap's sandboxes need none of this: their first process dies.

Source: https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html
"""

import contextlib
import ctypes
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def run(program: list[str]) -> int:
    """Run a program and end what it leaves; its exit code, which is negative if a signal ended it."""
    starter, signals = os.getppid(), {signal.SIGTERM, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # SIGTERM comes once for each thread of the starter's
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != starter:  # it ended before it was asked about
        return -signal.SIGTERM
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execv(program[0], program)
    os.close(0)  # who reads and writes at the other ends waits for the program alone
    os.close(1)
    status = None
    while status is None and signal.sigwait(signals) == signal.SIGCHLD:
        status = _ended(child)
    _end_descendants()
    return -signal.SIGTERM if status is None else os.waitstatus_to_exitcode(status)


def _ended(child: int) -> int | None:
    """How a child ended, if it has; orphans that have ended are forgotten."""
    while (ended := os.waitpid(-1, os.WNOHANG))[0] not in (0, child):
        pass
    return ended[1] if ended[0] else None


def _end_descendants() -> None:
    """Kill them until there are none: some may fork meanwhile, and the orphans of others come to this process."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for process in _descendants():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.01)


def _descendants() -> set[int]:
    """The children of this process, theirs, and so on."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # it may have ended meanwhile
            parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    found, above = set[int](), {os.getpid()}
    while above := {process for process, parent in parents.items() if parent in above} - found:
        found |= above
    return found


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    code = run(sys.argv[1:])
    if code < 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.kill(os.getpid(), -code)
    sys.exit(code)
