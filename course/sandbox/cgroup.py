"""Control groups: what all processes of a submission may use together, where this process may make such a group."""

import contextlib
import functools
import os
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "course-grade-"


@functools.cache
def available() -> bool:
    """Whether memory and processes can be limited in total."""
    try:
        with limited(1 << 30, 16) as folders:
            return bool(folders)
    except OSError:
        return False


@contextmanager
def limited(memory_bytes: int, processes: int) -> Iterator[list[Path]]:
    """Folders of a new group, gone with all its processes when the context is closed; none where there can be none.

    A process joins by writing its id into each folder's `cgroup.procs`.
    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html and .../cgroup-v1/memory.html
    """
    made: list[Path] = []
    try:
        try:
            for place, limits in _places(memory_bytes, processes):
                _forget_stale(place)
                folder = place / f"{_PREFIX}{os.getpid()}-{uuid.uuid4().hex[:12]}"
                folder.mkdir()
                made.append(folder)
                for name, value in limits.items():
                    (folder / name).write_text(value)
        except OSError:
            _remove(made)
            made = []
        yield made
    finally:
        end(made)
        _remove(made)


def end(folders: list[Path]) -> None:
    """Kill every process of a group."""
    deadline = time.monotonic() + 60
    while (alive := {int(line) for folder in folders for line in _read(folder / "cgroup.procs")}) and (
        time.monotonic() < deadline
    ):
        for process in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def _places(memory_bytes: int, processes: int) -> list[tuple[Path, dict[str, str]]]:
    """Where groups can be made below this process's own, with the files that hold the limits."""
    own = [line.split(":", 2) for line in _read(Path("/proc/self/cgroup"))]
    root = Path("/sys/fs/cgroup")
    of_version_1 = {"memory": {"memory.limit_in_bytes": str(memory_bytes)}, "pids": {"pids.max": str(processes)}}
    places = [
        (root / name / path.lstrip("/"), of_version_1[name])
        for _, names, path in own
        for name in names.split(",")
        if name in of_version_1
    ]
    if places:
        return places if len(places) == len(of_version_1) else []
    unified = next((root / path.lstrip("/") for number, _, path in own if number == "0"), None)
    if unified is None or not {"memory", "pids"} <= set(" ".join(_read(unified / "cgroup.subtree_control")).split()):
        return []
    limits = {"memory.max": str(memory_bytes), "memory.oom.group": "1", "pids.max": str(processes)}
    return [(unified, limits)]


def _forget_stale(place: Path) -> None:
    """Remove the groups of graders that were killed."""
    for folder in place.glob(f"{_PREFIX}*"):
        if not Path(f"/proc/{folder.name.removeprefix(_PREFIX).partition('-')[0]}").exists():
            _remove([folder])


def _remove(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _read(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
