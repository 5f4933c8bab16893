"""The environment of a process that runs cells: one thread, no user settings, and a fixed hash seed."""

import os
import sys
from pathlib import Path

_KEPT = (
    "PATH",
    "OPENBLAS_CORETYPE",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    "VIRTUAL_ENV",
)
MATPLOTLIB = Path.home() / ".cache" / "minitorch-course" / "matplotlib"


def plain_environment(folder: str) -> dict[str, str]:
    """What the environment of every process with cells has in common; `folder` is its home."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    return {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        **dict.fromkeys(threads, "1"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        **dict.fromkeys(("HOME", "TMPDIR"), folder),
        "IPYTHONDIR": os.path.join(folder, "ipython"),
        "PYTHONHASHSEED": "0",
    }
