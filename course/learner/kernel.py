"""The kernel that notebooks run in: this interpreter, one thread, no user settings, and a fixed hash seed."""

import os
import sys
from pathlib import Path
from typing import Any

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

from course.check import SEED_VARIABLE
from course.files import CODE
from course.learner.package import VARIABLE

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
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


class KernelSpecs(KernelSpecManager):
    """Gives this interpreter's kernel, whatever name a notebook asks for and whatever is installed for the user."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(**{**get_kernel_dict(), "metadata": {}})


def manager_options(folder: Path) -> dict[str, Any]:
    """Arguments of a `KernelManager` whose files and sockets lie in `folder`."""
    options: dict[str, Any] = {
        "kernel_spec_manager": KernelSpecs(),
        "connection_file": str(folder / "kernel.json"),
    }
    if os.name != "nt":  # sockets in a folder of our own: no two kernels ever race for a port
        options |= {"transport": "ipc", "ip": str(folder / "socket")}
    return options


def environment(folder: Path, seed: int, path: Path, package: Path) -> dict[str, str]:
    """The environment of a kernel.

    Args:
        folder: where its temporary files go.
        seed: of its checks.
        path: a folder on the import path.
        package: the folder of the package mytorch, which is on the import path too.
    """
    return plain_environment(str(folder)) | {
        "MPLCONFIGDIR": str(MATPLOTLIB),  # not the user's settings, but kept: its list of fonts takes seconds to make
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(map(str, (CODE, path, package.parent)))),
        SEED_VARIABLE: str(seed),
        VARIABLE: str(package),
    }


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
