"""The sandbox that a submission runs in, and what it may use.

With bubblewrap the code sees the system's programs and libraries, this Python, the packages that it is given and a
small `/tmp`; nothing else of the machine, no network and no other process. Without it, Linux's Landlock keeps it from
reading and writing anything else. Where there is neither, there are limits and timeouts only, which do not keep hostile
code from what the grader can read and do. The reports say "trusted submissions only" in both cases.
"""

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from course.sandbox import cgroup, landlock, namespaces, reaper, seccomp
from course.sandbox.environment import MATPLOTLIB, plain_environment
from course.source.assemble import REFUSED

PACKAGES = "/course"  # where the given packages are in the sandbox
TEMPORARY = "/tmp"
_TOKEN = "MINITORCH_COURSE_RUN"
_NOBODY = "65534"
_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SETTINGS = ("alternatives", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_JOIN = 'while [ "$1" != -- ]; do echo $$ > "$1"; shift; done; shift; exec "$@"'


class SandboxError(Exception):
    """The sandbox, or what is not the learner's in it, does not work."""


@dataclass(frozen=True)
class Limits:
    """What one submission may use: a cell, all together, a process, and all its processes.

    Without any `disk_bytes` nothing can be written.
    """

    cell_seconds: float = 60
    wall_seconds: float = 900
    cpu_seconds: int = 900
    memory_bytes: int = 8 << 30
    file_bytes: int = 256 << 20
    processes: int = 256
    total_memory_bytes: int = 4 << 30
    disk_bytes: int = 256 << 20

    @property
    def of_a_process(self) -> dict[str, int]:
        """The limits that a process sets for itself, by the names of `resource`."""
        return {"AS": self.memory_bytes, "CPU": self.cpu_seconds, "FSIZE": self.file_bytes, "CORE": 0}


def trouble() -> str:
    """Why submissions of people that one does not trust cannot be graded here; empty if they can."""
    if reason := _without_bubblewrap():
        return reason
    if not cgroup.available() and os.getuid() == 0:
        return "root's processes are limited by control groups alone, and there are none that can be written"
    return ""


def description() -> str:
    """What stands between a submission and this machine, for the reports."""
    if has_bubblewrap():
        totals = "" if cgroup.available() else "; no control groups: memory is limited for each process alone"
        return f"sandboxed with bubblewrap{totals}"
    if has_landlock():
        return f"Landlock{' and seccomp' if seccomp.available() else ''}: trusted submissions only"
    return "resource limits and timeouts only: trusted submissions only"


def can_fork() -> bool:
    """Whether a process can make a copy of itself; Windows has no such call."""
    return hasattr(os, "fork")


def has_bubblewrap() -> bool:
    """Whether bubblewrap is installed and can make such a sandbox here."""
    return not _without_bubblewrap()


@functools.cache
def _without_bubblewrap() -> str:
    """Why there is no sandbox of bubblewrap's; empty if there is."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed (on Debian and Ubuntu: apt install bubblewrap)"
    command = [*_bubblewrap(None, Limits(), False), sys.executable, "-c", "pass"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    said = done.stderr.strip().splitlines()
    told = said[-1] if said else f"it ended with exit code {done.returncode}"
    return f"bubblewrap cannot make a sandbox here: {told}" if done.returncode else ""


@functools.cache
def can_nest() -> bool:
    """Whether a process in bubblewrap's sandbox can set its forks apart: many can then run on one warm process.

    A fork's `/tmp` is new, so it would lose a Python that is installed there.
    """
    is_covered = any(path.is_relative_to(folder) for path in interpreter() for folder in namespaces.FOLDERS)
    if is_covered or not has_bubblewrap() or not seccomp.available():
        return False
    program = Path(namespaces.__file__).read_text(encoding="utf-8")
    command = [*_bubblewrap(None, Limits(), True), sys.executable, "-I", "-c", program]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@functools.cache
def has_landlock() -> bool:
    """Whether this kernel can keep a process from reading and writing files."""
    if not landlock.version():
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = [*_landlock(Path(folder), folder), sys.executable, "-c", "pass"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


@dataclass
class Process:
    """A Python module that runs in the sandbox, and what it says on standard error when it cannot start."""

    popen: subprocess.Popen[bytes]
    errors: IO[bytes]
    limits: dict[str, int]  # that it has to set for itself, by the names of `resource`
    alone: bool = False  # whether it sees no process but its own
    nests: bool = False  # whether it can set a fork apart, in namespaces of its own

    def end(self) -> None:
        """Kill it and all that it started; with bubblewrap the kernel does, since its first process dies."""
        if os.name != "nt":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.kill()
        self.popen.wait()

    def complaint(self) -> str:
        """The last lines of standard error."""
        self.errors.seek(0)
        return self.errors.read()[-500:].decode(errors="replace").strip()


@contextmanager
def process(
    module: str, packages: Path, variables: dict[str, str], limits: Limits, nests: bool = False
) -> Iterator[Process]:
    """Run a module of `packages` in the sandbox; nothing of it is left when the context is closed.

    Args:
        packages: the folder that holds what the module can import besides what is installed.
        variables: of its environment.
        limits: what it may use.
        nests: let it set its forks apart (`course.sandbox.namespaces`), where this machine can.
    """
    token = uuid.uuid4().hex
    with (
        tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as name,
        tempfile.TemporaryFile() as errors,
        cgroup.limited(limits.total_memory_bytes, limits.processes) as groups,
    ):
        python = [sys.executable, "-P", "-m", module]
        alone = has_bubblewrap()
        nests = nests and alone and can_nest()
        if alone:
            command, folder = [*_bubblewrap(packages, limits, nests), *python], "/"
            place, work = PACKAGES, TEMPORARY
        else:
            command, folder = [*_reaper(), *(_landlock(packages, name) if has_landlock() else []), *python], name
            place, work = str(packages), name
        environment = plain_environment(work) | {"PYTHONPATH": place, _TOKEN: token} | variables
        if groups:
            joined = [str(group / "cgroup.procs") for group in groups]
            command = ["/bin/sh", "-c", _JOIN, "sh", *joined, "--", *command]
        pipe = subprocess.PIPE
        popen = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=errors, start_new_session=True
        )
        own = limits.of_a_process | ({} if groups else {"NPROC": _threads_of_this_user() + limits.processes})
        running = Process(popen, errors, own, alone, nests)
        try:
            yield running
        finally:
            running.end()
            cgroup.end(groups)
            if not alone and not groups:
                while _sweep(token):  # again, as long as something forks while we kill
                    pass
            # Only now: whoever reads them waits as long as anything holds their other end, and closing waits for that.
            for stream in (popen.stdin, popen.stdout):
                with contextlib.suppress(OSError):  # what was not sent yet is lost
                    if stream is not None:
                        stream.close()


def _bubblewrap(packages: Path | None, limits: Limits, nests: bool) -> list[str]:
    """The start of a command that runs in a sandbox of its own."""
    options = ["--unshare-all", "--unshare-user", "--new-session", "--die-with-parent"]
    options += ["--cap-drop", "ALL", "--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"]
    for path in (Path("/", name) for name in _SYSTEM):
        if path.is_symlink():
            options += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            options += _shown(path)
    options += [word for name in _SETTINGS if (path := Path("/etc", name)).exists() for word in _shown(path)]
    size = ["--size", str(limits.disk_bytes or 1 << 12)]
    options += ["--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", "/dev/shm"]
    # What nests writes to its own /proc, and has each run see a copy that is read-only.
    options += [] if nests else ["--disable-userns", "--remount-ro", "/proc"]
    options += ["--remount-ro", "/dev", *size, "--tmpfs", TEMPORARY]
    options += [word for path in interpreter() if not path.is_relative_to("/usr") for word in _shown(path)]
    options += [word for path in _installed() for word in ("--tmpfs", str(path), "--remount-ro", str(path))]
    if MATPLOTLIB.is_dir():
        options += ["--ro-bind", str(MATPLOTLIB), "/matplotlib"]
    if packages is not None:
        options += ["--ro-bind", str(packages), PACKAGES]
    if not limits.disk_bytes:
        options += ["--remount-ro", "/dev/shm", "--remount-ro", TEMPORARY]
    return ["bwrap", *options, "--remount-ro", "/", "--chdir", TEMPORARY]


def _landlock(packages: Path, work: str) -> list[str]:
    """The start of a command that can read what one in a sandbox sees, and write to one folder."""
    hidden = [path.resolve() for path in _installed()]
    whole = [*(Path("/", name) for name in _SYSTEM), *interpreter()]
    named = [Path("/etc", name) for name in _SETTINGS] + [Path("/dev", name) for name in _DEVICES]
    seen = [path for each in whole for path in _around(each.resolve(), hidden)] + [*named, MATPLOTLIB, packages]
    rules = {
        "read": [str(path) for path in dict.fromkeys(seen) if path.exists()],
        "names": [str(path) for path in whole if path.is_dir()],
        "write": [work, os.devnull],
    }
    return [sys.executable, "-I", "-S", str(landlock.__file__), json.dumps(rules)]


def _reaper() -> list[str]:
    """The start of a command whose processes all end with this one; nothing where the kernel isn't Linux."""
    return [sys.executable, "-I", "-S", str(reaper.__file__)] if sys.platform == "linux" else []


def _around(folder: Path, hidden: list[Path]) -> Iterator[Path]:
    """A folder, or what is in it but for what is hidden."""
    if not any(path.is_relative_to(folder) for path in hidden):
        yield folder
    elif folder not in hidden:
        for inner in folder.iterdir():
            if not inner.is_symlink():  # what it leads to is allowed, or not, under its own name
                yield from _around(inner, hidden)


def interpreter() -> list[Path]:
    """The folders of this Python: what it was made of, and the virtual environment; also where links to them lead."""
    places = [Path(place) for place in (sys.base_prefix, sys.prefix)]
    return list(dict.fromkeys([place.resolve() for place in places] + places))


def _shown(path: Path) -> list[str]:
    return ["--ro-bind", str(path), str(path)]


def _installed() -> Iterator[Path]:
    """The folders of installed packages that hold answers: PyTorch's, and this project's if it is installed whole.

    They may lie in any site-packages that the sandbox shows, whatever an import finds first: a grader that runs from a
    clone may have a wheel beside it.
    """
    shown = [Path("/usr"), Path("/usr/local"), *interpreter()]
    places = {found for root in shown for found in root.glob("lib*/python3*/*-packages")} | {*map(Path, sys.path)}
    for folder in sorted(place / name for place in places for name in (*REFUSED, "course")):
        if folder.is_dir() and any(folder.is_relative_to(root) for root in shown):
            yield from {folder, folder.resolve()}


def _threads_of_this_user() -> int:
    """What the limit of processes counts, where there is no control group."""
    names = [process.info for process in psutil.process_iter(["username", "num_threads"])]
    return sum(each["num_threads"] or 0 for each in names if each["username"] == psutil.Process().username())


def _sweep(token: str) -> int:
    """Kill what carries the token in its environment; how many there were."""
    killed = 0
    for each in psutil.process_iter():
        try:
            if each.environ().get(_TOKEN) == token:
                each.kill()
                killed += 1
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # gone meanwhile, or another user's
    return killed
