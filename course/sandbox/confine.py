"""What a process does to itself before it meets anything of a learner's."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4  # linux/prctl.h


def limit(limits: dict[str, int]) -> None:
    """Set limits, by the names of `resource`; not on Windows, which has none."""
    if os.name == "nt":
        return
    import resource

    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def die_with_parent() -> None:
    """End this process when the one that started it ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def hide(hidden: bool = True) -> None:
    """Keep processes of the same user from looking into this one."""
    _prctl(_PR_SET_DUMPABLE, not hidden)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
