"""The kernel that notebooks run in: this interpreter, one thread, no user settings, and a fixed hash seed."""

import os
import sys
from pathlib import Path
from typing import Any

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

from course.check import SEED_VARIABLE
from course.files import CODE

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV")
_MATPLOTLIB = Path.home() / ".cache" / "minitorch-course" / "matplotlib"


class KernelSpecs(KernelSpecManager):
    """Gives this interpreter's kernel, whatever name a notebook asks for and whatever is installed for the user."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(**{**get_kernel_dict(), "metadata": {}})


def manager_options(folder: Path) -> dict[str, Any]:
    """Arguments of a `KernelManager` whose files and sockets lie in `folder`."""
    options: dict[str, Any] = {"kernel_spec_manager": KernelSpecs(), "connection_file": str(folder / "kernel.json")}
    if os.name != "nt":  # sockets in a folder of our own: no two kernels ever race for a port
        options |= {"transport": "ipc", "ip": str(folder / "socket")}
    return options


def environment(folder: Path, seed: int, path: Path) -> dict[str, str]:
    """The environment of a kernel: the least it needs, the seed of its checks, and `path` on the import path."""
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
    )
    return {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        **threads,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        "HOME": str(folder),
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLCONFIGDIR": str(_MATPLOTLIB),  # not the user's settings, but kept: its list of fonts takes seconds to make
        "TMPDIR": str(folder),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys((str(CODE), str(path)))),
        "PYTHONHASHSEED": "0",
        SEED_VARIABLE: str(seed),
    }
